"""The command line: arguments and exit statuses. Each subcommand is imported only when it runs.

`aligncheck --help` must be instant, so nothing here imports more than `argparse` at the top.
"""

from __future__ import annotations

import argparse
import os
import sys

from aligncheck import __version__
from aligncheck.commands import CommandError
from aligncheck.commands.telling import tell

TYPE_CHECKING = False  # as `typing` has it, whose import would be a tenth of the start-up time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TypeAlias, TypedDict

    class _HelpTexts(TypedDict):
        description: str
        epilog: str
        formatter_class: type[argparse.HelpFormatter]

    _Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"

STATUSES = """\
exit status:
  0  verified
  1  the alignment fails: a run that violates a condition was found
  2  error: no spec that can be checked, or the command cannot be carried out
  3  unknown: neither a proof nor a violation was found
With several files the worst counts: 2, then 1, then 3, then 0."""

DEFAULT_TIMEOUT = 60.0

_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_BROKEN_PIPE = 141  # 128 + SIGPIPE


def main(arguments: list[str] | None = None) -> int:
    """Runs one command line (without the program's name) and returns its status; whatever happens is told.

    With ALIGNCHECK_TRACEBACK set, an unexpected exception is raised instead.
    """
    _prepare_standard_streams()
    as_json = False
    try:
        try:
            parser = _parser()
            args = parser.parse_args(arguments)
            as_json = getattr(args, "as_json", False)
            status = _help(parser) if args.command is None else _carry_out(args)
        except SystemExit as exit_:  # from argparse: help was shown, or an argument is wrong
            status = exit_.code if isinstance(exit_.code, int) else 2
        sys.stdout.flush()
    except CommandError as error:
        tell(f"aligncheck: error: {error}", *([] if error.help is None else [error.help]), error=True)
        if as_json:
            _tell_as_json(str(error), error.help)
        return 2
    except KeyboardInterrupt:
        tell("aligncheck: interrupted", error=True)
        return _INTERRUPTED
    except BrokenPipeError:
        _abandon_standard_output()
        return _BROKEN_PIPE
    except OSError as error:
        # Commands turn what they cannot read into CommandErrors: this is standard output, full or gone.
        _abandon_standard_output()
        tell(f"aligncheck: error: cannot write the output: {error.strerror or error}", error=True)
        return 2
    except Exception as error:
        if os.environ.get("ALIGNCHECK_TRACEBACK"):
            raise
        kind, text = type(error).__name__, " ".join(str(error).split())
        message = f"internal error: {kind}: {text} (this is a bug in aligncheck)"
        help_ = "Set ALIGNCHECK_TRACEBACK=1 to see where it happened."
        tell(f"aligncheck: {message}", help_, error=True)
        if as_json:
            _tell_as_json(message, help_)
        return 3
    return status


def _tell_as_json(message: str, help_: str | None) -> None:
    """The document of a command that could not be carried out: whoever asked for JSON gets some."""
    import json

    found = {"version": __version__, "results": [], "error": {"message": message, "help": help_}}
    tell(*json.dumps(found, indent=2, ensure_ascii=True).split("\n"))


def _prepare_standard_streams() -> None:
    """Gives every standard stream somewhere to go, and every letter a way to be written."""
    # A stream that the caller closed would lend its number to the next pipe, and be written to.
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(spare)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - for the rest of the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A report may hold letters that the terminal's encoding lacks: better an escape than a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _abandon_standard_output() -> None:
    """Keeps the interpreter from writing once more, at exit, to where it has just failed to write."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _carry_out(args: argparse.Namespace) -> int:
    """Calls the command's function with what was given, by the names of its parameters."""
    given = vars(args)
    module, function = given.pop("carried_out_by").split(".")
    del given["command"]
    from importlib import import_module

    status: int = getattr(import_module(f"aligncheck.commands.{module}"), function)(**given)
    return status


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of seconds (more than 0, at most 86400)")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of processes (1 to 1024)")
    return int(text)


def _runs(text: str) -> int:
    if not text.isdecimal() or not 100 <= int(text) <= 100_000_000:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of runs (100 to 100000000)")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 30:
        raise argparse.ArgumentTypeError(f"`{text}` is not a seed (a whole number of at most 30 digits)")
    return int(text)


def _adjacency(text: str) -> str:
    from aligncheck.language.adjacencies import Adjacency

    known = [each.value for each in Adjacency if each.row.patterns]
    if text not in known:
        raise argparse.ArgumentTypeError(f"`{text}` is not an adjacency ({', '.join(known)})")
    return text


def _between(low: float, high: float, what: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = low
        if not low < value < high:
            raise argparse.ArgumentTypeError(
                f"`{text}` is not {what} (more than {low:g}, less than {high:g})"
            )
        return value

    return read


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help as it is written here, 80 columns wide: asking the terminal would cost another import."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=79)


class _Parser(argparse.ArgumentParser):
    """Errors as the rest of the program prints them, with a pointer to the help instead of the usage."""

    def error(self, message: str) -> NoReturn:
        tell(f"aligncheck: error: {message}", f"See `{self.prog} --help`.", error=True)
        sys.exit(2)

    def print_help(self, file: object = None) -> None:
        """Unlike the original, lets `main` know when the output cannot be written."""
        print(self.format_help(), end="")


_BRING = "  aligncheck examples --copy .          brings the files that are named here\n"
"""The first of the examples of a command's help: with it they run as printed, in any folder."""

_PROGRAM = f"""\
Proves that small randomized mechanisms are differentially private, by checking
a randomness alignment, or shows why the alignment does not prove it.

examples:
{_BRING}  aligncheck new my_svt --python
  aligncheck verify my_svt.dp
  aligncheck verify specs/adaptive_svt.dp
  aligncheck verify --expect specs/broken/isvt*.dp
  aligncheck compile specs/svt.dp -o svt.py
  aligncheck explain cost

{STATUSES}"""

_VERIFY = f"""\
Checks each mechanism's alignment: a verdict per file, and for each condition
of the lemma how it was discharged. VERIFIED holds for every input, parameter
and epsilon in the declared ranges.

examples:
{_BRING}  aligncheck verify specs/adaptive_svt.dp
  aligncheck verify specs/sparse.dp specs/svt_with_gap.dp --jobs 2
  aligncheck verify specs/sparse.dp --json > verdicts.json
  aligncheck verify --expect specs/broken/isvt*.dp    against the `expect` lines

{STATUSES}
With --expect: 0 if every file does what its `expect` line says, otherwise 1."""

_REFUTE = f"""\
Searches for a real violation of the claim: parameters, neighbouring databases D
and D', and an event E with P(M(D) in E) > exp(claim) P(M(D') in E), and δ
more where that is claimed; or, against a claim in ρ, with a Rényi divergence
that is too great. Both probabilities are enclosed rigorously, so REFUTED is
about the mechanism, not about its alignment. NO VIOLATION FOUND claims nothing.

examples:
{_BRING}  aligncheck refute specs/broken/isvt3.dp
  aligncheck refute specs/broken/isvt3.dp --set N=2
  aligncheck refute specs/broken/histogram_wrong_scale.dp --eps 1/2 --json
  aligncheck refute --expect specs/broken/isvt1.dp

exit status:
  0  no violation found: nothing is claimed
  1  refuted
  2  error: no spec that can be searched, or the command cannot be carried out
  3  unknown: the search was stopped from outside
With several files the worst counts: 2, then 1, then 3, then 0.
With --expect: 0 if those files are refuted, and only those, that expect it."""

_COMPILE = f"""\
Verifies the spec and writes it as a Python module that imports only
aligncheck's small runtime. The module runs on exact numbers: the spec's form on
a lattice is verified too. It carries a certificate of that: see `aligncheck
check`. A spec that is not VERIFIED is refused, with the reason and the
verdict's exit status; so is one whose form is not, with what can be done
instead.

Before anything is written, a short search (in steps, not seconds) tries to
refute what was proved. If it does, one of the two is wrong: nothing is written,
and a report is asked for.

With --check nothing is written: OUT.py is compared with what would be written
now. A module that was compiled before its spec was changed passes `aligncheck
check`, which looks at the module alone, but not this.

examples:
{_BRING}  aligncheck compile specs/svt.dp -o svt.py
  aligncheck compile specs/svt.dp       prints the module
  aligncheck compile specs/noisy_max_exp.dp --mode refined
  aligncheck compile --check specs/svt.dp svt.py

exit status:
  0  written; with --check: OUT.py is what would be written now
  1  the alignment fails; with --check: OUT.py is not what would be written now,
     and what has changed is printed
  2  error: no spec that can be checked, or the command cannot be carried out
  3  unknown: neither a proof nor a violation was found, or no form of what is
     VERIFIED can run in this mode
  5  a contradiction inside aligncheck: VERIFIED, and refuted"""

_CHECK = f"""\
Checks a module that `aligncheck compile` wrote, and believes nothing in it: the
form that runs is derived from the spec in its certificate, the kernel decides
afresh whether the witness there shows it to be private, and the code is read
back and must be that form. What was edited is named, and what is proved is
printed in full, with what it rests on. The digest at the end of a module finds
accidents only; this finds intent.

examples:
{_BRING}  aligncheck check mechanisms/adaptive_svt.py
  aligncheck check mechanisms/svt_with_gap.py --solver z3

exit status:
  0  spec, claim, proof and code belong together, and the proof holds
  1  failed: something does not, or was not decided, or is missing
  2  error: there is nothing to check, or the solver is not installed
  4  two solvers contradict each other: a bug in one of them

The kernel asks Z3. With `--solver cvc5` or `both` each answer on which its
decision rests is asked of cvc5 too, as SMT-LIB text, and counts only if cvc5
gives it as well. It is an optional part: pip install 'aligncheck[cvc5]'"""

_RUN = f"""\
Runs a spec (verified first) or a module made by `aligncheck compile` on the
numbers of a CSV column, and prints the released records and the privacy that
they cost. Beside a record that says which answer it is about stands the name of
that item, from the first column of text, or the one that `--label` names: the
names of the items are taken to be public.

A module runs only if its digest is that of its text, which is compared before
anything in it is executed. That finds accidents (a slip, a broken copy) and not
intent: whoever edits a module can make its digest fit. Only --check, or
`aligncheck check`, finds that; without it the output says `not checked`.

examples:
{_BRING}  aligncheck run specs/adaptive_svt.dp --data counts.csv --column count \\
      --set T=1000 --set k=5 --set eps=1
  aligncheck run specs/noisy_max_gap.dp --data counts.csv --label item \\
      --set eps=1
  aligncheck run mechanisms/adaptive_svt.py --data counts.csv \\
      --set T=1000 --set k=5 --set eps=1/2 --check

exit status:
  0  the mechanism ran
  1  not run: the alignment of the spec fails, or the module fails --check
  2  error: the run cannot be carried out; the module was changed since it was
     compiled
  3  not run: the spec's verdict is unknown, or no form of it can run

Numbers are exact: 0.1 is 1/10. With --seed the noise can be repeated, so the
output is not private: for tests and examples only."""

_TEST = f"""\
Tests whether a Python function is as private as it claims: runs it many times
on pairs of neighbouring inputs, chooses an event that tells them apart, and
tests that event on other runs. The outcome is statistical evidence with its
p-value, never a verdict: no evidence claims nothing.

MODULE is an importable name or the path of a .py file. The function's first
parameter is the private input, by default a list of numbers. If it has a
parameter `size`, it is called once for many runs and returns an array whose
first axis is the run. A parameter `rng`, `generator`, `random_state` or `seed`
is given what makes the test repeatable. Classes that `aligncheck compile` made
can be tested as they are.

examples:
{_BRING}  aligncheck test mine.py:noisy_max --eps 0.7
  aligncheck test mine.py:svt --eps 0.7 --set T=1 --runs 20000 --selection 5000
  aligncheck test mine.py:histogram --set eps=0.7 --eps 0.2:2.2:0.1
  aligncheck test mine.py:histogram --eps 0.7 --spec specs/histogram.dp
  aligncheck test mine.py:histogram --eps 0.7 --adjacency one
  aligncheck test mine.py:mean_age --eps 1 --pair '[30, 40]' '[30, 90]'

exit status:
  0  no evidence against the claim (which claims nothing), or no dependence
     of the output on the input
  1  evidence against the claim
  2  error: nothing that could be tested"""

_SHOW = f"""\
Prints the spec with syntax colours; beside each draw stands how the alignment
shifts it. With --mode, prints instead the form in which it would run:
a spec that can be verified like any other.

examples:
{_BRING}  aligncheck show specs/adaptive_svt.dp
  aligncheck show specs/adaptive_svt.dp --mode lattice > on_lattice.dp

exit status:
  0  shown
  2  error: the file is no spec
  3  there is no form for that mode"""

_ALIGN = f"""\
Finds an alignment with which the spec is verified, whatever its own `align`
section says, and prints it. Candidates are made of the program's own
expressions; concrete runs rule most of them out, and only the verdict of
`verify` on the finished text counts. How much is tried is counted, so that every
machine finds the same. That none is found says nothing of privacy.

examples:
{_BRING}  aligncheck align specs/svt.dp
  aligncheck align specs/svt.dp --write     puts it into the file

exit status:
  0  found, and verified
  2  error: no spec that can be checked, or the file cannot be written
  3  none was found among those that were tried"""

_CLAIM = f"""\
Prints the least claim that the alignment of a spec proves, of the multiples of its
own claim, each verified as text before it is shown; the run that costs most says
whether less can be proved by this alignment. Where it is found, also a claim by
the scales of the noise, and one for any other scales. With --accuracy, how far the
noise can put off what the spec tests, selects and releases.

examples:
{_BRING}  aligncheck claim specs/noisy_max.dp
  aligncheck claim --accuracy specs/above_threshold.dp

exit status:
  0  found, and verified
  2  error: no spec that can be checked
  3  none was found"""

_FIX = f"""\
Repairs a spec whose alignment fails: another alignment, or the smallest factor on
the scales, or on the claim, with which it is verified. Each repair is verified
before it is shown, as a diff.

examples:
{_BRING}  aligncheck fix specs/broken/noisy_max_half_noise.dp
  aligncheck fix specs/broken/noisy_max_half_noise.dp --write     applies the first repair

exit status:
  0  repaired, or verified as it is
  2  error: no spec that can be checked, or the file cannot be written
  3  no repair was found"""

_TUNE = f"""\
Prints what minimises the variance of a released number: the value of a parameter
between 0 and 1, the share of the budget that something gets, or else the scales of
the noise in it, so that the claim still holds. The variance is computed from the
program; the spec must be verified, for every value of the parameter, and is
verified anew with the scales.

examples:
{_BRING}  aligncheck tune specs/adaptive_svt_theta.dp --minimise top.gap --over theta
{_BRING}  aligncheck tune specs/svt_with_gap.dp --minimise top.gap

exit status:
  0  found
  1  the alignment of the spec fails
  2  error: no spec that can be checked, or the variance is no such formula
  3  the spec is not decided"""

_EXPLAIN = f"""\
Says what a condition of the proof demands, why it matters, where it comes from,
how it typically fails and what to do then; what a statement, an adjacency or a
noise family means; when an error is reported. `language` is the reference.
Without a name: the list of conditions.

Of a spec: its proof as papers write it, condition by condition, with the cost
of each line; or the two runs on which it fails, side by side, and a certified
violation if there is one. As one self-contained page, as LaTeX (algorithmicx,
booktabs) or as Markdown, which is printed where no file is named.

examples:
{_BRING}  aligncheck explain
  aligncheck explain cost
  aligncheck explain monotone
  aligncheck explain unknown-name
  aligncheck explain language
  aligncheck explain specs/svt.dp --html svt.html --latex svt.tex

exit status:
  0  explained
  2  error: nothing is called that, or it is no spec that can be checked"""

_COMPARE = f"""\
Two specs side by side: the lines that differ, both verdicts, and what was found
of each: the proof, or the runs on which it fails, and a certified violation if
there is one. Printed, or as one self-contained page.

examples:
{_BRING}  aligncheck compare specs/svt.dp specs/broken/isvt1.dp --html svt.html

exit status:
  0  compared
  2  error: one is no spec that can be checked"""

_EXAMPLES = """\
The specs that come with aligncheck, correct and broken: lists them, prints one,
or copies them. What `--copy` brings without a name is all: specs/, with the
reference of the language, mechanisms/ (compiled ones), counts.csv, mine.py.
A file that is there already is left alone, and is an error if it differs.

examples:
  aligncheck examples
  aligncheck examples svt_with_gap
  aligncheck examples broken/isvt1 --copy .
  aligncheck examples --copy everything

exit status:
  0  listed, printed or copied
  2  error: there is no such example, or a file is in the way"""

_NEW = """\
Writes NAME.dp: a sparse vector technique of 25 lines that verifies, or with
--from one of the examples under that name, with the specs that it calls. With
--python also test_NAME.py, which pytest runs.

examples:
  aligncheck new my_svt
  aligncheck new my_gap --from svt_with_gap --python

exit status:
  0  written
  2  error: no such example, no name for a mechanism, or a file is in the way"""

_COMPLETION = """\
Prints a script that completes commands, options and file names (by shtab).

examples:
  aligncheck completion bash > aligncheck.bash     then: . ./aligncheck.bash
  aligncheck completion zsh > _aligncheck          into a folder of $fpath"""


def _parser() -> _Parser:
    parser = _Parser(prog="aligncheck", **_help_texts(_PROGRAM))
    parser.add_argument("--version", action="version", version=f"aligncheck {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for declare in (
        _declare_verify,
        _declare_refute,
        _declare_compile,
        _declare_check,
        _declare_run,
        _declare_test,
        _declare_align,
        _declare_claim,
        _declare_fix,
        _declare_tune,
        _declare_show,
        _declare_explain,
        _declare_compare,
        _declare_examples,
        _declare_new,
        _declare_completion,
    ):
        declare(commands)
    commands.choices["completion"].set_defaults(parser=parser)
    return parser


def _help(parser: _Parser) -> int:
    parser.print_help()
    return 2


def _declare_verify(commands: _Commands) -> None:
    parser = _declare(
        commands, "verify", "verify.verify", "prove specs, or show why they are not proved", _VERIFY
    )
    _add_paths(parser)
    _add_json(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="also paths, invariants, obligations")
    parser.add_argument(
        "--expect", action="store_true", dest="expecting", help="compare verdicts with the `expect` lines"
    )
    parser.add_argument(
        "--refute",
        action="store_true",
        dest="refuting",
        help="where the proof fails, search for a real violation",
    )
    parser.add_argument(
        "--lint",
        dest="lints",
        action="append",
        default=[],
        choices=["units"],
        help="also what may be meant, but looks wrong: units, sums of an answer and a count",
    )
    _add_timeout(parser)
    _add_jobs(parser, "files to check at once")


def _declare_refute(commands: _Commands) -> None:
    parser = _declare(
        commands, "refute", "refute.refute", "search for a certified violation of privacy", _REFUTE
    )
    _add_paths(parser)
    parser.add_argument("--eps", metavar="VALUE", help="the value of the parameter `eps`: as --set eps=VALUE")
    _add_settings(parser)
    _add_json(parser)
    parser.add_argument(
        "--expect", action="store_true", dest="expecting", help="compare with the `expect refuted` lines"
    )
    _add_search_time(parser, "to search each file")
    _add_jobs(parser, "files to search at once")


def _declare_compile(commands: _Commands) -> None:
    parser = _declare(
        commands, "compile", "compile.compile_", "turn a verified spec into a Python module", _COMPILE
    )
    _add_file(parser)
    parser.add_argument("out", nargs="?", metavar="OUT.py", help="where to write (default: print it)")
    parser.add_argument("-o", "--output", metavar="OUT.py", help="the same")
    parser.add_argument(
        "--check",
        action="store_true",
        dest="comparing",
        help="write nothing: is OUT.py what would be written now?",
    )
    parser.add_argument("--force", action="store_true", help="overwrite also what was not generated")
    parser.add_argument(
        "--mode",
        choices=("lattice", "refined", "float"),
        help="how it computes: on a lattice; with real-valued noise, drawn as finely as needed; in floating "
        "point, which is unsafe (default: lattice; with --check as OUT.py does)",
    )
    parser.add_argument("--smt", metavar="DIR", help="also write the kernel's questions as SMT-LIB 2 files")
    _add_timeout(parser)


def _declare_check(commands: _Commands) -> None:
    parser = _declare(
        commands, "check", "check.check", "decide a compiled module's certificate afresh", _CHECK
    )
    _add_file(parser, "OUT.py", "a generated module")
    parser.add_argument(
        "--solver", choices=("z3", "cvc5", "both"), default="z3", help="who decides (default: %(default)s)"
    )
    _add_timeout(parser)


def _declare_run(commands: _Commands) -> None:
    parser = _declare(commands, "run", "run.run", "run a verified mechanism on a column of a CSV file", _RUN)
    _add_file(parser, what="a spec (.dp) or a generated module (.py)")
    parser.add_argument("--data", metavar="CSV", help="the private data: a CSV file with a header")
    parser.add_argument("--column", metavar="C", help="the column that holds the answers")
    parser.add_argument(
        "--label", metavar="C", help="the column that names the items (default: text, or an id)"
    )
    _add_settings(parser)
    parser.add_argument(
        "--function",
        dest="functions",
        action="append",
        default=[],
        metavar="NAME=FILE.py:FUNCTION",
        help="where a public function of the spec is; once for each",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="repeatable noise: not private")
    parser.add_argument(
        "--mode",
        choices=("lattice", "refined", "float"),
        help="how it computes (default: on a lattice if that is proved, else refined; `float` is unsafe)",
    )
    parser.add_argument(
        "--gamma",
        metavar="G",
        help="the step of the lattice, which must divide the sensitivities (default: at most 1/1024)",
    )
    parser.add_argument(
        "--check",
        dest="deciding",
        action="store_true",
        help="decide a module's proof first and compare its code, as `aligncheck check` does; of a spec the "
        "proof is always decided",
    )
    _add_json(parser, "a table")
    _add_timeout(parser)


def _declare_test(commands: _Commands) -> None:
    parser = _declare(
        commands, "test", "test.test", "statistical evidence against a Python function's claim", _TEST
    )
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="what to test")
    what = parser.add_argument_group("what is tested")
    what.add_argument(
        "--eps",
        metavar="LEVELS",
        help="0.7, or a sweep: 0.2,0.7,1.5 or START:STOP:STEP; a single level is also given to the parameter "
        "`eps` or `epsilon` (default: the claim)",
    )
    what.add_argument(
        "--claim",
        type=_between(0, 1000, "a level"),
        metavar="E",
        help="the claimed level (default: a single `--eps`, else the function's own `eps`)",
    )
    what.add_argument(
        "--delta",
        type=_between(0, 1, "a delta"),
        metavar="D",
        help="what is tested is (eps, delta)-privacy; also given to the parameter `delta` (default: what a "
        "compiled mechanism claims, else 0)",
    )
    _add_settings(what, "an argument")
    what.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=V,V",
        help="an argument for which the best of some values is looked for",
    )
    what.add_argument(
        "--spec",
        metavar="SPEC",
        help="a spec that describes the function: arguments that are not set are chosen for each pair of "
        "inputs, so that noise is small and the runs part often (default: the spec of a generated module)",
    )
    inputs = parser.add_argument_group("private inputs")
    inputs.add_argument(
        "--database", metavar="NAME", help="the parameter that takes the private input (default: the first)"
    )
    inputs.add_argument(
        "--adjacency",
        type=_adjacency,
        metavar="ADJACENCY",
        default="all",
        help="neighbours differ in all answers (`all`), in `one`, in at most `two`, in all upwards or all "
        "downwards (`monotone`), or one up and one down (`moved`; default: all)",
    )
    inputs.add_argument(
        "--sensitivity",
        type=_between(0, 1e12, "a sensitivity"),
        default=1.0,
        metavar="S",
        help="by how much an answer differs (default: 1)",
    )
    inputs.add_argument(
        "--length", default="5,10", metavar="N,N", help="how many answers (default: %(default)s)"
    )
    inputs.add_argument(
        "--pair",
        dest="pairs",
        nargs=2,
        action="append",
        default=[],
        metavar=("D", "D'"),
        help="two neighbouring inputs of your own, as JSON, instead of the above; repeatable",
    )
    inputs.add_argument("--array", action="store_true", help="give lists of numbers as NumPy arrays")
    work = parser.add_argument_group("how hard")
    work.add_argument(
        "--runs", type=_runs, default=500_000, metavar="N", help="for the test (default: %(default)s)"
    )
    work.add_argument(
        "--selection",
        type=_runs,
        default=100_000,
        metavar="N",
        help="for choosing the event (default: %(default)s)",
    )
    work.add_argument(
        "--alpha",
        type=_between(0, 0.5, "a level of significance"),
        default=0.01,
        metavar="A",
        help="p-values up to this are evidence (default: %(default)s)",
    )
    work.add_argument(
        "--seed", type=_seed, metavar="N", help="repeats a result (default: a new one, printed)"
    )
    _add_jobs(work, "processes")
    work.add_argument(
        "--timeout",
        type=_seconds,
        default=20.0,
        metavar="S",
        help="seconds after which a call counts as hanging (default: %(default)g)",
    )
    work.add_argument("--plot", metavar="FILE", help="draw the p-values of a sweep: a .png or .svg file")
    _add_json(work)


def _declare_show(commands: _Commands) -> None:
    parser = _declare(
        commands, "show", "show.show", "print a spec with its alignment beside the lines it moves", _SHOW
    )
    _add_file(parser)
    parser.add_argument(
        "--mode",
        choices=("lattice", "refined"),
        help="print the form in which it would run, as a spec: what `compile` proves as well",
    )


def _declare_align(commands: _Commands) -> None:
    parser = _declare(
        commands, "align", "improve.align", "find an alignment with which a spec is verified", _ALIGN
    )
    _add_file(parser)
    _add_write(parser, "alignment")
    _add_search_time(parser, "to search")


def _declare_claim(commands: _Commands) -> None:
    parser = _declare(
        commands, "claim", "improve.claim", "find the least claim that an alignment proves", _CLAIM
    )
    _add_file(parser)
    parser.add_argument("--accuracy", action="store_true", help="print how far noise puts things off instead")
    _add_search_time(parser, "to search")


def _declare_fix(commands: _Commands) -> None:
    parser = _declare(commands, "fix", "improve.fix", "repair a spec whose alignment fails", _FIX)
    _add_file(parser)
    _add_write(parser, "first repair")
    _add_search_time(parser, "to search")


def _declare_tune(commands: _Commands) -> None:
    parser = _declare(commands, "tune", "improve.tune", "find the best split of a budget", _TUNE)
    _add_file(parser)
    parser.add_argument("--minimise", required=True, metavar="TAG.FIELD", help="the released number")
    parser.add_argument(
        "--over", metavar="NAME", help="the parameter, `where 0 < NAME < 1` (default: the scales themselves)"
    )
    _add_search_time(parser, "to search")


def _declare_explain(commands: _Commands) -> None:
    parser = _declare(
        commands,
        "explain",
        "explain.explain",
        "explain a spec, a condition, a word of the language or an error",
        _EXPLAIN,
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="for example `cost`, `monotone`, `language`; or a spec"
    )
    _add_documents(parser)


def _declare_compare(commands: _Commands) -> None:
    parser = _declare(
        commands, "compare", "publish.compare", "put a correct spec beside a broken one", _COMPARE
    )
    parser.add_argument("one", metavar="A", help="a spec")
    parser.add_argument("other", metavar="B", help="another one")
    _add_documents(parser)


def _add_documents(parser: _Parser) -> None:
    for kind, what in ("html", "a page"), ("latex", "LaTeX"), ("markdown", "Markdown"):
        parser.add_argument(f"--{kind}", metavar="OUT", help=f"write {what}")
    _add_timeout(parser)


def _declare_examples(commands: _Commands) -> None:
    parser = _declare(
        commands,
        "examples",
        "examples.examples",
        "list, print or copy the specs that come with aligncheck",
        _EXAMPLES,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="one of the list")
    parser.add_argument(
        "--copy", dest="folder", metavar="FOLDER", help="copy it there, or all of them (`.`: into this one)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite also files that differ")


def _declare_new(commands: _Commands) -> None:
    parser = _declare(commands, "new", "examples.new", "write a spec to start from", _NEW)
    parser.add_argument("name", metavar="NAME", help="the mechanism's name")
    parser.add_argument("--from", dest="origin", metavar="EXAMPLE", help="one of `aligncheck examples`")
    parser.add_argument("--python", action="store_true", help="also a test for pytest")
    parser.add_argument("--force", action="store_true", help="overwrite also files that differ")


def _declare_completion(commands: _Commands) -> None:
    parser = _declare(
        commands,
        "completion",
        "completion.completion",
        "print what a shell needs to complete commands",
        _COMPLETION,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), metavar="SHELL", help="bash, zsh or tcsh")


def _declare(commands: _Commands, name: str, by: str, summary: str, text: str) -> _Parser:
    """A command that a function of `commands` carries out, `by` its module and name."""
    parser = commands.add_parser(name, help=summary, **_help_texts(text))
    parser.set_defaults(carried_out_by=by)
    return parser


def _help_texts(text: str) -> _HelpTexts:
    """Above the arguments what a command does, below them the examples and all that follows."""
    about, examples, rest = text.partition("examples:\n")
    return {"description": about, "epilog": examples + rest, "formatter_class": _Help}


def _add_json(parser: argparse._ActionsContainer, other: str = "text") -> None:
    said = f"print one JSON document instead of {other}"
    parser.add_argument("--json", action="store_true", dest="as_json", help=said)


def _add_jobs(parser: argparse._ActionsContainer, what: str) -> None:
    parser.add_argument("--jobs", type=_count, metavar="N", help=f"{what} (default: one per processor)")


def _add_write(parser: _Parser, what: str) -> None:
    parser.add_argument("--write", action="store_true", help=f"put the {what} into the file")


def _add_paths(parser: _Parser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a spec, or a folder to search for *.dp")


def _add_file(parser: _Parser, metavar: str = "FILE", what: str = "the spec") -> None:
    parser.add_argument("path", metavar=metavar, help=what)


def _add_settings(parser: argparse._ActionsContainer, what: str = "a parameter's value") -> None:
    said = f"{what}; once for each"
    parser.add_argument(
        "--set", action="append", default=[], dest="settings", metavar="NAME=VALUE", help=said
    )


def _add_search_time(parser: _Parser, what: str) -> None:
    said = f"seconds {what} (default: a number of steps, the same on every machine)"
    parser.add_argument("--timeout", type=_seconds, metavar="S", help=said)


def _add_timeout(parser: _Parser) -> None:
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=DEFAULT_TIMEOUT,
        metavar="S",
        help="seconds for each file, then UNKNOWN (default: %(default)g)",
    )
