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
    from typing import Any, NoReturn, TypeAlias, TypedDict

    class _HelpTexts(TypedDict):
        description: str
        epilog: str
        formatter_class: type[argparse.HelpFormatter]

    _Argument: TypeAlias = Callable[[argparse._ActionsContainer], object]
    _Command: TypeAlias = Callable[[argparse._SubParsersAction["_Parser"]], object]

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


def _reader(read: Callable[[str], float], fits: Callable[[float], bool], what: str) -> Callable[[str], float]:
    """What reads the number that an argument is."""

    def number(text: str) -> float:
        try:
            value = read(text)
        except ValueError:
            value = float("nan")
        if not fits(value):
            raise argparse.ArgumentTypeError(f"`{text}` is not {what}")
        return value

    return number


def _digits(text: str) -> int:
    return int(text if text.isdecimal() else "")


def _whole(low: int, high: int, what: str) -> Callable[[str], float]:
    return _reader(_digits, lambda value: low <= value <= high, f"a number of {what} ({low} to {high})")


def _between(low: float, high: float, what: str) -> Callable[[str], float]:
    told = f"{what} (more than {low:g}, less than {high:g})"
    return _reader(float, lambda value: low < value < high, told)


_seconds = _reader(
    float, lambda value: 0 < value <= 86_400, "a number of seconds (more than 0, at most 86400)"
)
_runs = _whole(100, 100_000_000, "runs")
_seed = _reader(_digits, lambda value: value < 10**30, "a seed (a whole number of at most 30 digits)")


def _adjacency(text: str) -> str:
    from aligncheck.language.adjacencies import Adjacency

    known = [each.value for each in Adjacency if each.row.patterns]
    if text not in known:
        raise argparse.ArgumentTypeError(f"`{text}` is not an adjacency ({', '.join(known)})")
    return text


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


# --- arguments ----------------------------------------------------------------------------------------------


def _argument(names: str, text: str, **how: Any) -> _Argument:
    """One that is given by one of its names, or by its place."""
    return lambda parser: parser.add_argument(*names.split(), help=text, **how)


def _option(names: str, metavar: str, text: str, **how: Any) -> _Argument:
    """One that brings a value."""
    return _argument(names, text, metavar=metavar, **how)


def _flag(names: str, text: str, **how: Any) -> _Argument:
    return _argument(names, text, action="store_true", **how)


def _each(name: str, dest: str, text: str, **how: Any) -> _Argument:
    """One that may be given several times."""
    return _argument(name, text, dest=dest, action="append", default=[], **how)


def _group(title: str, *arguments: _Argument) -> _Argument:
    """Several that stand together in the help."""

    def add(parser: argparse._ActionsContainer) -> None:
        group = parser.add_argument_group(title)
        for argument in arguments:
            argument(group)

    return add


def _file(what: str = "the spec", metavar: str = "FILE") -> _Argument:
    return _option("path", metavar, what)


def _json(other: str = "text") -> _Argument:
    return _flag("--json", f"print one JSON document instead of {other}", dest="as_json")


def _jobs(what: str) -> _Argument:
    return _option("--jobs", "N", f"{what} (default: one per processor)", type=_whole(1, 1024, "processes"))


def _write(what: str) -> _Argument:
    return _flag("--write", f"put the {what} into the file")


def _settings(what: str = "a parameter's value") -> _Argument:
    return _each("--set", "settings", f"{what}; once for each", metavar="NAME=VALUE")


def _timeout(what: str, default: float | None = None) -> _Argument:
    return _option("--timeout", "S", f"seconds {what}", type=_seconds, default=default)


def _search_time(what: str = "to search") -> _Argument:
    return _timeout(f"{what} (default: a number of steps, the same on every machine)")


_TIMEOUT = _timeout("for each file, then UNKNOWN (default: %(default)g)", DEFAULT_TIMEOUT)
_PATHS = _option("paths", "PATH", "a spec, or a folder to search for *.dp", nargs="+")
_FORCE = _flag("--force", "overwrite also files that differ")
_DOCUMENTS = (
    _option("--html", "OUT", "write a page"),
    _option("--latex", "OUT", "write LaTeX"),
    _option("--markdown", "OUT", "write Markdown"),
    _TIMEOUT,
)
_MODES = ("lattice", "refined", "float")


# --- commands -----------------------------------------------------------------------------------------------


def _parser() -> _Parser:
    parser = _Parser(prog="aligncheck", **_help_texts(_PROGRAM))
    parser.add_argument("--version", action="version", version=f"aligncheck {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for declare in _COMMANDS:
        declare(commands)
    commands.choices["completion"].set_defaults(parser=parser)
    return parser


def _help(parser: _Parser) -> int:
    parser.print_help()
    return 2


def _help_texts(text: str) -> _HelpTexts:
    """Above the arguments what a command does, below them the examples and all that follows."""
    about, examples, rest = text.partition("examples:\n")
    return {"description": about, "epilog": examples + rest, "formatter_class": _Help}


def _command(by: str, text: str, *arguments: _Argument) -> _Command:
    """A command that a function of `commands` carries out, `by` its module and name. The text begins with
    what is said of it in a list.
    """

    def declare(commands: argparse._SubParsersAction[_Parser]) -> None:
        summary, _, more = text.partition("\n\n")
        name = by.partition(".")[2].rstrip("_")
        parser = commands.add_parser(name, help=summary, **_help_texts(more))
        parser.set_defaults(carried_out_by=by)
        for argument in arguments:
            argument(parser)

    return declare


_TESTED = _group(
    "what is tested",
    _option(
        "--eps",
        "LEVELS",
        "0.7, or a sweep: 0.2,0.7,1.5 or START:STOP:STEP; a single level is also given to the parameter "
        "`eps` or `epsilon` (default: the claim)",
    ),
    _option(
        "--claim",
        "E",
        "the claimed level (default: a single `--eps`, else the function's own `eps`)",
        type=_between(0, 1000, "a level"),
    ),
    _option(
        "--delta",
        "D",
        "what is tested is (eps, delta)-privacy; also given to the parameter `delta` (default: what a "
        "compiled mechanism claims, else 0)",
        type=_between(0, 1, "a delta"),
    ),
    _settings("an argument"),
    _each(
        "--vary", "vary", "an argument for which the best of some values is looked for", metavar="NAME=V,V"
    ),
    _option(
        "--spec",
        "SPEC",
        "a spec that describes the function: arguments that are not set are chosen for each pair of "
        "inputs, so that noise is small and the runs part often (default: the spec of a generated module)",
    ),
)
_INPUTS = _group(
    "private inputs",
    _option("--database", "NAME", "the parameter that takes the private input (default: the first)"),
    _option(
        "--adjacency",
        "ADJACENCY",
        "neighbours differ in all answers (`all`), in `one`, in at most `two`, in all upwards or all "
        "downwards (`monotone`), or one up and one down (`moved`; default: all)",
        type=_adjacency,
        default="all",
    ),
    _option(
        "--sensitivity",
        "S",
        "by how much an answer differs (default: 1)",
        type=_between(0, 1e12, "a sensitivity"),
        default=1.0,
    ),
    _option("--length", "N,N", "how many answers (default: %(default)s)", default="5,10"),
    _each(
        "--pair",
        "pairs",
        "two neighbouring inputs of your own, as JSON, instead of the above; repeatable",
        nargs=2,
        metavar=("D", "D'"),
    ),
    _flag("--array", "give lists of numbers as NumPy arrays"),
)
_WORK = _group(
    "how hard",
    _option("--runs", "N", "for the test (default: %(default)s)", type=_runs, default=500_000),
    _option("--selection", "N", "for choosing the event (default: %(default)s)", type=_runs, default=100_000),
    _option(
        "--alpha",
        "A",
        "p-values up to this are evidence (default: %(default)s)",
        type=_between(0, 0.5, "a level of significance"),
        default=0.01,
    ),
    _option("--seed", "N", "repeats a result (default: a new one, printed)", type=_seed),
    _jobs("processes"),
    _timeout("after which a call counts as hanging (default: %(default)g)", 20.0),
    _option("--plot", "FILE", "draw the p-values of a sweep: a .png or .svg file"),
    _json(),
)

_COMMANDS = (
    _command(
        "verify.verify",
        f"""\
prove specs, or show why they are not proved

Checks each mechanism's alignment: a verdict per file, and for each condition
of the lemma how it was discharged. VERIFIED holds for every input, parameter
and epsilon in the declared ranges.

examples:
{_BRING}  aligncheck verify specs/adaptive_svt.dp
  aligncheck verify specs/sparse.dp specs/svt_with_gap.dp --jobs 2
  aligncheck verify specs/sparse.dp --json > verdicts.json
  aligncheck verify --expect specs/broken/isvt*.dp    against the `expect` lines

{STATUSES}
With --expect: 0 if every file does what its `expect` line says, otherwise 1.""",
        _PATHS,
        _json(),
        _flag("-v --verbose", "also paths, invariants, obligations"),
        _flag("--expect", "compare verdicts with the `expect` lines", dest="expecting"),
        _flag("--refute", "where the proof fails, search for a real violation", dest="refuting"),
        _each(
            "--lint",
            "lints",
            "also what may be meant, but looks wrong: units, sums of an answer and a count",
            choices=["units"],
        ),
        _TIMEOUT,
        _jobs("files to check at once"),
    ),
    _command(
        "refute.refute",
        f"""\
search for a certified violation of privacy

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
With --expect: 0 if those files are refuted, and only those, that expect it.""",
        _PATHS,
        _option("--eps", "VALUE", "the value of the parameter `eps`: as --set eps=VALUE"),
        _settings(),
        _json(),
        _flag("--expect", "compare with the `expect refuted` lines", dest="expecting"),
        _search_time("to search each file"),
        _jobs("files to search at once"),
    ),
    _command(
        "compile.compile_",
        f"""\
turn a verified spec into a Python module

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
  5  a contradiction inside aligncheck: VERIFIED, and refuted""",
        _file(),
        _option("out", "OUT.py", "where to write (default: print it)", nargs="?"),
        _option("-o --output", "OUT.py", "the same"),
        _flag("--check", "write nothing: is OUT.py what would be written now?", dest="comparing"),
        _flag("--force", "overwrite also what was not generated"),
        _argument(
            "--mode",
            "how it computes: on a lattice; with real-valued noise, drawn as finely as needed; in floating "
            "point, which is unsafe (default: lattice; with --check as OUT.py does)",
            choices=_MODES,
        ),
        _option("--smt", "DIR", "also write the kernel's questions as SMT-LIB 2 files"),
        _TIMEOUT,
    ),
    _command(
        "check.check",
        f"""\
decide a compiled module's certificate afresh

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
gives it as well. It is an optional part: pip install 'aligncheck[cvc5]'""",
        _file("a generated module", "OUT.py"),
        _argument(
            "--solver", "who decides (default: %(default)s)", choices=("z3", "cvc5", "both"), default="z3"
        ),
        _TIMEOUT,
    ),
    _command(
        "run.run",
        f"""\
run a verified mechanism on a column of a CSV file

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
output is not private: for tests and examples only.""",
        _file("a spec (.dp) or a generated module (.py)"),
        _option("--data", "CSV", "the private data: a CSV file with a header"),
        _option("--column", "C", "the column that holds the answers"),
        _option("--label", "C", "the column that names the items (default: text, or an id)"),
        _settings(),
        _each(
            "--function",
            "functions",
            "where a public function of the spec is; once for each",
            metavar="NAME=FILE.py:FUNCTION",
        ),
        _option("--seed", "N", "repeatable noise: not private", type=int),
        _argument(
            "--mode",
            "how it computes (default: on a lattice if that is proved, else refined; `float` is unsafe)",
            choices=_MODES,
        ),
        _option(
            "--gamma",
            "G",
            "the step of the lattice, which must divide the sensitivities (default: at most 1/1024)",
        ),
        _flag(
            "--check",
            "decide a module's proof first and compare its code, as `aligncheck check` does; of a spec the "
            "proof is always decided",
            dest="deciding",
        ),
        _json("a table"),
        _TIMEOUT,
    ),
    _command(
        "test.test",
        f"""\
statistical evidence against a Python function's claim

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
  2  error: nothing that could be tested""",
        _option("function", "MODULE:FUNCTION", "what to test"),
        _TESTED,
        _INPUTS,
        _WORK,
    ),
    _command(
        "improve.align",
        f"""\
find an alignment with which a spec is verified

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
  3  none was found among those that were tried""",
        _file(),
        _write("alignment"),
        _search_time(),
    ),
    _command(
        "improve.claim",
        f"""\
find the least claim that an alignment proves

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
  3  none was found""",
        _file(),
        _flag("--accuracy", "print how far noise puts things off instead"),
        _search_time(),
    ),
    _command(
        "improve.fix",
        f"""\
repair a spec whose alignment fails

Repairs a spec whose alignment fails: another alignment, or the smallest factor on
the scales, or on the claim, with which it is verified. Each repair is verified
before it is shown, as a diff.

examples:
{_BRING}  aligncheck fix specs/broken/noisy_max_half_noise.dp
  aligncheck fix specs/broken/noisy_max_half_noise.dp --write     applies the first repair

exit status:
  0  repaired, or verified as it is
  2  error: no spec that can be checked, or the file cannot be written
  3  no repair was found""",
        _file(),
        _write("first repair"),
        _search_time(),
    ),
    _command(
        "improve.tune",
        f"""\
find the best split of a budget

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
  3  the spec is not decided""",
        _file(),
        _option("--minimise", "TAG.FIELD", "the released number", required=True),
        _option("--over", "NAME", "the parameter, `where 0 < NAME < 1` (default: the scales themselves)"),
        _search_time(),
    ),
    _command(
        "show.show",
        f"""\
print a spec with its alignment beside the lines it moves

Prints the spec with syntax colours; beside each draw stands how the alignment
shifts it. With --mode, prints instead the form in which it would run:
a spec that can be verified like any other.

examples:
{_BRING}  aligncheck show specs/adaptive_svt.dp
  aligncheck show specs/adaptive_svt.dp --mode lattice > on_lattice.dp

exit status:
  0  shown
  2  error: the file is no spec
  3  there is no form for that mode""",
        _file(),
        _argument(
            "--mode",
            "print the form in which it would run, as a spec: what `compile` proves as well",
            choices=_MODES[:2],
        ),
    ),
    _command(
        "explain.explain",
        f"""\
explain a spec, a condition, a word of the language or an error

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
  2  error: nothing is called that, or it is no spec that can be checked""",
        _option("name", "NAME", "for example `cost`, `monotone`, `language`; or a spec", nargs="?"),
        *_DOCUMENTS,
    ),
    _command(
        "publish.compare",
        f"""\
put a correct spec beside a broken one

Two specs side by side: the lines that differ, both verdicts, and what was found
of each: the proof, or the runs on which it fails, and a certified violation if
there is one. Printed, or as one self-contained page.

examples:
{_BRING}  aligncheck compare specs/svt.dp specs/broken/isvt1.dp --html svt.html

exit status:
  0  compared
  2  error: one is no spec that can be checked""",
        _option("one", "A", "a spec"),
        _option("other", "B", "another one"),
        *_DOCUMENTS,
    ),
    _command(
        "examples.examples",
        """\
list, print or copy the specs that come with aligncheck

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
  2  error: there is no such example, or a file is in the way""",
        _option("name", "NAME", "one of the list", nargs="?"),
        _option("--copy", "FOLDER", "copy it there, or all of them (`.`: into this one)", dest="folder"),
        _FORCE,
    ),
    _command(
        "examples.new",
        """\
write a spec to start from

Writes NAME.dp: a sparse vector technique of 25 lines that verifies, or with
--from one of the examples under that name, with the specs that it calls. With
--python also test_NAME.py, which pytest runs.

examples:
  aligncheck new my_svt
  aligncheck new my_gap --from svt_with_gap --python

exit status:
  0  written
  2  error: no such example, no name for a mechanism, or a file is in the way""",
        _option("name", "NAME", "the mechanism's name"),
        _option("--from", "EXAMPLE", "one of `aligncheck examples`", dest="origin"),
        _flag("--python", "also a test for pytest"),
        _FORCE,
    ),
    _command(
        "completion.completion",
        """\
print what a shell needs to complete commands

Prints a script that completes commands, options and file names (by shtab).

examples:
  aligncheck completion bash > aligncheck.bash     then: . ./aligncheck.bash
  aligncheck completion zsh > _aligncheck          into a folder of $fpath""",
        _option("shell", "SHELL", "bash, zsh or tcsh", choices=("bash", "zsh", "tcsh")),
    ),
)
