"""Certificates: whatever is edited is found and named, nothing in them is believed, and they are small."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import z3
from compile_all import compiled
from kernel_cases import decide

from aligncheck import __version__
from aligncheck import compile as compile_spec
from aligncheck.compiler.certificate import questions
from aligncheck.compiler.certificate.checker import CheckedFile, check_file
from aligncheck.compiler.certificate.questions import Kept
from aligncheck.compiler.certificate.smtlib import WordlessError, script
from aligncheck.compiler.certificate.solvers import Solver, by_cvc5
from aligncheck.compiler.certificate.text import (
    FORMAT,
    OPENING,
    WITNESS,
    FormatError,
    Section,
    attached,
    detached,
    spec_named,
    spec_title,
)
from aligncheck.compiler.certificate.whole import File
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import RunMode
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.language.check import check
from aligncheck.language.internal import InternalError
from aligncheck.language.syntax.nodes import NOWHERE
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.pipeline import Options, certify_file
from aligncheck.search.witness.witness_json import read
from aligncheck.verdict import Verified

SPECS = Path(__file__).parents[2] / "specs"
Z3 = [Solver.Z3]


@cache
def generated(name: str, mode: RunMode = RunMode.FLOAT) -> str:
    """The module for a spec of the corpus; by default in the mode for which the proof is that of the spec."""
    return compiled(SPECS / f"{name}.dp", mode)


def checked(text: str, solvers: list[Solver] = Z3) -> CheckedFile:
    return check_file(text, solvers)


def test_no_module_is_made_that_check_would_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    written = emit_python

    def changed(verified: Verified, mode: RunMode) -> str:
        return written(verified, mode).replace("noise.laplace(1 / ", "noise.laplace(2 / ")

    assert "noise.laplace(1 / eps)" in compile_spec(SPECS / "histogram.dp", mode="float")
    monkeypatch.setattr("aligncheck.compiler.emit.python.emit_python", changed)
    with pytest.raises(InternalError, match="is not read back"):
        compile_spec(SPECS / "histogram.dp", mode="float")


def parts_named(text: str) -> list[str]:
    """The parts of the file in which faults were found."""
    return [fault.part for fault in checked(text).faults]


def forged(text: str, old: str, new: str) -> str:
    """The file with a change, and with digests that fit."""
    assert old in text
    parts = detached(text.replace(old, new))
    sections = []
    for section in parts.sections:
        named = spec_named(section.title)
        title = section.title if named is None else spec_title(named[0], section.text)
        sections.append(replace(section, title=title))
    return attached(parts.code, sections)


def with_witness(text: str, witness: str) -> str:
    """The file with another witness, and with digests that fit."""
    parts = detached(text)
    section = Section(WITNESS, tuple(witness.split("\n")))
    return attached(parts.code, [section if s.title == WITNESS else s for s in parts.sections])


def witness_in(text: str) -> str:
    (section,) = (s for s in detached(text).sections if s.title == WITNESS)
    return section.text


# --- what was compiled is accepted ------------------------------------------------------------------------

LOOP, CALLS = "partial_sum", "topk_with_measures"


def test_a_certificate_is_the_spec_and_little_else() -> None:
    """`tests/compile_all.py --all` prints all sizes."""
    path = Path(__file__).parents[2] / "mechanisms"
    for name in ("adaptive_svt", CALLS):
        text = (path / f"{name}.py").read_text("utf-8")
        parts = detached(text)
        specs = sum(len(s.text.encode()) for s in parts.sections if spec_named(s.title) is not None)
        assert len(text.encode()) - len(parts.code.encode()) - specs <= 3_000
        assert len(witness_in(text)) <= 2_000


def test_compiling_again_gives_the_same_bytes() -> None:
    """In another process, in which sets of texts have another order."""
    code = (
        "import sys; from pathlib import Path; from compile_all import compiled\n"
        "from aligncheck.compiler.modes import RunMode\n"
        "sys.stdout.buffer.write(compiled(Path(sys.argv[1]), RunMode.FLOAT).encode())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"{LOOP}.dp"],
        cwd=SPECS,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": f"{SPECS.parent}:{SPECS.parent / 'tests'}"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == generated(LOOP)


ONE = """\
mechanism one
input
  x : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(1/eps)
  emit answer(value = x + eta)
align
  eta += x - x'
"""
CALLING = """\
mechanism {name}
use {callee} from "{file}.dp"
input
  x : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  r = {callee}(x = x, eps = eps)
  emit answer(value = r[0].value)
align
"""


@pytest.fixture(scope="module")
def calling(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A mechanism that calls one that calls one; the first and the last have one name."""
    folder = tmp_path_factory.mktemp("calling")
    (folder / "first.dp").write_text(ONE)
    (folder / "second.dp").write_text(CALLING.format(name="two", callee="one", file="first"))
    (folder / "third.dp").write_text(CALLING.format(name="one", callee="two", file="second"))
    return compiled(folder / "third.dp", RunMode.FLOAT)


def test_all_that_is_called_is_in_the_certificate(calling: str) -> None:
    files = [named[0] for s in detached(calling).sections if (named := spec_named(s.title))]
    assert files == ["third.dp", "second.dp", "first.dp"]
    assert checked(calling).faults == ()


# --- whatever is edited is found and named ----------------------------------------------------------------


def test_a_changed_byte_in_any_line_is_found() -> None:
    text = generated(LOOP)
    lines = text.split("\n")
    for number in range(1, len(lines), 17):
        line = lines[number - 1]
        place = (7 * number) % max(1, len(line))
        changed = line[:place] + ("~" if line[place : place + 1] != "~" else "-") + line[place + 1 :]
        found = checked("\n".join([*lines[: number - 1], changed, *lines[number:]]))
        assert found.faults, (number, line, changed)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("noise.laplace", "noise.Laplace", "code"),
        ("#| privacy eps", "#| privacy eps/2", "spec partial_sum.dp"),
        ("#: witness", "#: witnesses", "certificate"),
        ('#|  "loops"', '#|  "lopps"', "witness"),
        ("#: mode\n#| float", "#: mode\n#| boat", "mode"),
        ("made by\n#| aligncheck 0", "made by\n#| aligncheck 1", "digest"),
        ("made by\n#| aligncheck", "made by\n#| alligncheck", "made by"),
        ("#: digest\n#| sha256 ", "#: digest\n#| sha256 0", "digest"),
        (f"#: {OPENING}", "#: certificate, format 1", "certificate"),
        ("decides afresh", "decides already", "certificate"),
    ],
)
def test_the_part_that_was_edited_is_named(old: str, new: str, part: str) -> None:
    text = generated(LOOP)
    assert old in text
    assert part in parts_named(text.replace(old, new, 1))


def test_what_another_version_wrote_is_called_that() -> None:
    text = generated(LOOP)
    for old in ("1", "2"):
        (fault,) = checked(text.replace(OPENING, f"certificate, format {old}")).faults
        assert fault.message == (
            f"the certificate is written in format {old}, by aligncheck {__version__}; "
            f"this version reads format {FORMAT}: compile it again"
        )
        assert text.split("\n")[(fault.line or 0) - 1] == f"#: {OPENING}"
    then = forged(text, f"made by\n#| aligncheck {__version__}", "made by\n#| aligncheck 0.0.1")
    assert checked(then).faults == ()
    (fault,) = checked(forged(then, "noise.laplace(", "noise.Laplace(")).faults
    assert fault.message.endswith(
        f"(the file was made by aligncheck 0.0.1, this is {__version__}: compile it again)"
    )


@pytest.mark.parametrize("text", ["", "print('mine')\n", f"\n\n\n#: {OPENING}\n", "\x00" * 1000])
def test_a_file_without_a_certificate_fails(text: str) -> None:
    assert parts_named(text) == ["certificate"]


def test_a_file_is_taken_apart_as_it_was_put_together() -> None:
    text = generated(LOOP)
    parts = detached(text)
    assert parts.intact
    assert attached(parts.code, parts.sections) == text
    with pytest.raises(FormatError):
        detached(text + "x = 1\n")


def test_dropping_adding_or_exchanging_sections_is_found() -> None:
    parts = detached(generated(LOOP))
    maker, mode, spec, witness = parts.sections
    assert parts_named(attached(parts.code, (maker, mode, spec, witness))) == []
    for left in range(4):
        assert parts_named(attached(parts.code, parts.sections[:left] + parts.sections[left + 1 :])) != []
    for more in (maker, mode, spec, witness, Section("plan", ("true",))):
        assert parts_named(attached(parts.code, (*parts.sections, more))) != []
    assert parts_named(attached(parts.code, (mode, maker, spec, witness))) == ["certificate"]
    assert parts_named(attached(parts.code, (maker, mode, witness, spec))) == ["certificate"]


# --- whoever writes a digest that fits is not believed either ---------------------------------------------


def test_no_spec_stands_beside_the_one_that_is_proved(calling: str) -> None:
    """Who reads the file takes the first one for it, whatever its text is."""
    text = generated("laplace")
    parts = detached(text)
    place, named = next(
        (i, n) for i, s in enumerate(parts.sections) if (n := spec_named(s.title)) is not None
    )
    smaller = parts.sections[place].text.replace("privacy eps", "privacy eps/2")
    for path in (named[0], "other.dp"):
        more = Section(spec_title(path, smaller), tuple(smaller.split("\n")))
        for at in (place, place + 1):
            sections = [*parts.sections[:at], more, *parts.sections[at:]]
            assert "certificate" in parts_named(attached(parts.code, sections))
    assert not parts_named(calling)


def test_a_smaller_claim_is_not_accepted() -> None:
    found = checked(forged(generated(LOOP), "privacy eps", "privacy eps/2"))
    assert "the kernel does not accept it: cost" in found.faults[0].message
    assert found.accepted is None


@pytest.mark.parametrize(
    ("old", "new"),
    [("noise.laplace(", "noise.laplace(2 *"), ("sum_ + ", "sum_ - "), ("class ", "import os\nclass ")],
)
def test_a_program_that_differs_from_the_spec_is_not_accepted(old: str, new: str) -> None:
    assert parts_named(forged(generated(LOOP), old, new)) == ["code"]


def test_the_code_of_one_mode_with_the_certificate_of_another_is_not_accepted() -> None:
    """The form is derived for the mode that the certificate names."""
    text = generated(LOOP)
    assert "code" in parts_named(forged(text, "#: mode\n#| float", "#: mode\n#| refined"))
    found = checked(forged(text, "#: mode\n#| float", "#: mode\n#| lattice"))
    assert found.faults
    assert found.form is not None
    assert found.form.inputs != (found.spec.inputs if found.spec else None)


def test_code_behind_a_carriage_return_in_a_comment_is_found() -> None:
    """To Python a lone carriage return ends a comment, so that what follows is code."""
    parts = detached(generated(LOOP))
    lines = [
        File("partial_sum.dp", s.text.replace("privacy eps", "privacy eps  # c\rhidden = True")).section
        if spec_named(s.title)
        else s
        for s in parts.sections
    ]
    text = attached(parts.code, lines)
    (fault,) = checked(text).faults
    assert (fault.part, fault.line) == ("certificate", text[: text.index("\r")].count("\n") + 1)


def test_the_witness_of_another_spec_is_not_accepted() -> None:
    text, other = generated("adaptive_svt"), generated("earlier_noise_shift")
    found = checked(with_witness(text, witness_in(other)))
    assert [fault.part for fault in found.faults] == ["witness"]
    assert parts_named(with_witness(other, witness_in(text))) == ["witness"]


@pytest.mark.parametrize(
    "lies", ["false", "alignment_cost <= 0", "sum' == sum + 1", "alignment_cost < 0 - 1"]
)
@pytest.mark.parametrize("kind", ["early", "invariants"])
def test_an_invariant_that_is_false_is_not_accepted(kind: str, lies: str) -> None:
    false = f'{{"loops": [{{"{kind}": ["{lies}"]}}], "sample": {{"eps": "1"}}}}'
    found = checked(with_witness(generated(LOOP), false))
    assert "the kernel does not accept it" in found.faults[0].message


def test_a_witness_does_not_choose_what_is_proved(calling: str) -> None:
    """A callee that spends more than it claims is found, whatever its own part of the witness says."""
    lying = forged(calling, "eta ~ Lap(1/eps)", "eta ~ Lap(1/(2*eps))")
    found = checked(lying)
    assert "calls: `two` was not accepted" in found.faults[0].message
    assert "cost" in found.faults[0].message
    told = '{"callees": {"two": {"callees": {"one": {"length": "0", "within": [["value", "0", "1"]]}}}}}'
    assert parts_named(with_witness(calling, told)) == ["witness"]
    missing = detached(calling)
    without = [s for s in missing.sections if "first.dp" not in s.title]
    assert parts_named(attached(missing.code, without)) == ["spec third.dp"]


@pytest.mark.parametrize(
    ("witness", "message"),
    [
        ("", "no JSON text"),
        ("\x00\ud800", "no JSON text"),
        ("[" * 100_000, "no JSON text"),
        ('{"callees":' * 20_000, "no JSON text"),
        ("[]", "a dict is needed"),
        ('{"magic": 1}', "has no `magic`"),
        ('{"loops": 1}', "a list is needed"),
        ('{"loops": [{"early": [1]}]}', "a str is needed"),
        ('{"loops": [{"early": ["("]}]}', "never closed"),
        ('{"loops": [{"early": ["' + "(" * 5000 + '"]}]}', "early"),
        ('{"loops": [{"chance": ["x"]}]}', "3 parts are needed"),
        ('{"promises": ["true\\n  pass"]}', "one line"),
        ('{"sample": {"eps": "1e999999"}}', "no number"),
        ('{"sample": {"eps": "' + "9" * 10_000 + '"}}', "no number"),
        ('{"route": null}', "a str is needed"),
        ('{"route": "magic"}', "the kernel does not accept it: language"),
        ('{"callees": {"nobody": {"callees": []}}}', "a dict is needed"),
    ],
)
def test_what_is_no_witness_is_refused(witness: str, message: str) -> None:
    (fault,) = checked(with_witness(generated(LOOP), witness)).faults
    assert fault.part == "witness"
    assert message in fault.message, fault.message


def test_what_the_kernel_does_not_accept_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Rejected("language", NOWHERE, "no rule")
    monkeypatch.setattr("aligncheck.judge.decide", lambda *given: refused)
    done = certify_file(str(SPECS / f"{LOOP}.dp"), Options(explain=False), RunMode.REFINED)
    assert (done.form, done.sections) == (None, ())


# --- questions --------------------------------------------------------------------------------------------


def test_two_solvers_agree_on_what_was_compiled() -> None:
    """`tests/corpus/test_solvers.py` asks about more."""
    pytest.importorskip("cvc5")
    found = checked(generated(LOOP), [Solver.Z3, Solver.CVC5])
    assert (found.faults, found.disagreement) == ((), ())
    assert found.accepted is not None


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> CheckedFile:
    """A check in which cvc5 says so to every question."""
    monkeypatch.setattr(questions, "by_cvc5", lambda text, expected: answer)
    return checked(generated(LOOP), [Solver.CVC5])


def test_a_disagreement_is_an_error_of_its_own_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    found = answering(monkeypatch, "sat")
    assert found.faults == ()
    assert [reply.answer for reply in found.disagreement] == ["unsat", "sat"]
    assert found.accepted is None


def test_what_one_solver_does_not_decide_is_no_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    found = answering(monkeypatch, "unknown")
    assert found.disagreement == ()
    assert found.accepted is None
    assert all("cvc5 says unknown" in fault.message for fault in found.faults)
    assert found.faults


def test_every_answer_that_a_decision_rests_on_is_asked_again() -> None:
    """If just one of them is not confirmed, nothing is accepted."""
    source = read_source(str(SPECS / f"{LOOP}.dp"))
    spec = check(source, parse(source))
    witness = read(witness_in(generated(LOOP)))
    asked: set[str] = set()

    def doubting(doubted: str | None) -> Accepted | Rejected:
        def confirm(formulas: object, satisfiable: bool, about: str) -> bool:
            asked.add(about)
            return about != doubted

        return decide(spec, witness, confirm)

    answer = doubting(None)
    assert isinstance(answer, Accepted)
    assert {f"{d.condition}: {d.sentence}" for d in answer.decisions if d.steps} <= asked
    for doubted in sorted(asked):
        assert isinstance(doubting(doubted), Rejected), doubted


def test_a_question_is_decided_from_its_text_alone() -> None:
    source = read_source(str(SPECS / f"{LOOP}.dp"))
    kept = Kept()
    assert isinstance(decide(check(source, parse(source)), read(witness_in(generated(LOOP))), kept), Accepted)
    assert len(kept.questions) > 10
    where = z3.Context()
    for question in kept.questions:
        said = z3.Z3_eval_smtlib2_string(where.ref(), f"(reset)\n{question.text}").strip()
        assert said == question.expected, question.text


def test_formulas_are_written_as_the_standard_has_them() -> None:
    x, y = z3.Real("odd 'name'|"), z3.Int("let")
    f = z3.Function("f'!3", z3.IntSort(), z3.RealSort())
    i = z3.Int("i")
    shared = x + f(y)
    formulas = [
        z3.ForAll([i], z3.Implies(i >= 0, f(i) == 2)),
        z3.And(shared > z3.RealVal("-7/3"), z3.If(y % 2 == 0, shared, -shared) <= 5),
        z3.Sum([x]) + z3.ToReal(y) / 3 == 0,
    ]
    text = script(formulas, "a\nquestion", "sat")
    assert text.split("\n")[0] == "; sat: a question"
    assert text.count("(let ") >= 1
    again = z3.parse_smt2_string(text)
    solver = z3.Solver()
    names = {d.name().partition("!")[0]: d for a in again for d in _symbols(a)}
    assert set(names) == {"odd__name__", "let", "f_"}
    solver.add(z3.And(*again))
    assert solver.check() == z3.sat
    solver.add(names["let"]() > 0, names["f_"](names["let"]()) == 3)
    assert solver.check() == z3.unsat
    with pytest.raises(WordlessError):
        script([x**y > 0], "a power", "sat")


def test_another_solver_reads_what_is_written() -> None:
    pytest.importorskip("cvc5")
    x = z3.Real("x'")
    assert by_cvc5(script([x > 0, x < 0], "no", "unsat"), "unsat") == "unsat"
    assert by_cvc5(script([x > 0, z3.Sum([x]) < 1], "yes", "unsat"), "unsat") == "sat"
    assert by_cvc5("(assert (< nobody 0))", "unsat") == "unknown"


def _symbols(term: z3.ExprRef) -> set[z3.FuncDeclRef]:
    """The uninterpreted symbols in a formula."""
    if z3.is_quantifier(term):
        return _symbols(term.body())
    own = {term.decl()} if z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED else set()
    return own.union(*(_symbols(child) for child in term.children()))


def test_what_was_read_again_is_a_file_of_the_certificate() -> None:
    file = File("a b.dp", "mechanism m\n")
    assert spec_named(file.section.title) == ("a b.dp", spec_title("a b.dp", file.text).rpartition(" ")[2])
