"""Certificates: whatever is edited is found and named, nothing in them is believed, and they are small."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from random_terms import ATOMS, NUMBERS, P, Tree, built, formulas, rational

from aligncheck import __version__
from aligncheck.compiler.certificate import check as checking
from aligncheck.compiler.certificate import solvers
from aligncheck.compiler.certificate.check import Checked, check_file
from aligncheck.compiler.certificate.make import plan_of
from aligncheck.compiler.certificate.notation import NotationError, names_of, read, write
from aligncheck.compiler.certificate.plans import plan_from, written
from aligncheck.compiler.certificate.proof import Plan, ProofError, Subject, rendered, sorted_out
from aligncheck.compiler.certificate.proof import batches_of as batches
from aligncheck.compiler.certificate.scripts import Printer, Script
from aligncheck.compiler.certificate.solvers import Reply, ScriptError, SlowError, Solver, answers
from aligncheck.compiler.certificate.text import (
    FORMAT,
    OPENING,
    FormatError,
    attached,
    detached,
    digest,
    script_files,
)
from aligncheck.compiler.certificate.whole import Certified, File, read_again
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import Mode
from aligncheck.kernel.verdict import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.pipeline import Options, certify_file
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.density import establish_densities
from aligncheck.search.discharge.establish import establish
from aligncheck.search.discharge.smt import Answer
from aligncheck.search.discharge.whole import Choices
from aligncheck.search.relational.terms import ZERO, App, Kind, Sort, Term, is_number, lt
from aligncheck.verdict import Verified

SPECS = Path(__file__).parents[2] / "specs"
Z3 = [Solver.Z3]


def compiled(path: Path, mode: Mode) -> str:
    """The module for a spec, as `aligncheck compile` writes it."""
    done = certify_file(str(path), Options(explain=False), mode)
    assert isinstance(done.result.verdict, Verified), done.result.verdict
    assert done.form is not None, done.problem
    return attached(emit_python(done.result.verdict, mode), done.sections)


@cache
def generated(name: str, mode: Mode = Mode.FLOAT) -> str:
    """The module for a spec of the corpus; by default in the mode for which the proof is that of the spec."""
    return compiled(SPECS / f"{name}.dp", mode)


def checked(text: str, solvers: list[Solver] = Z3) -> Checked:
    return check_file(text, solvers, emit_python)


def parts_named(text: str) -> list[str]:
    """The parts of the file in which faults were found."""
    return [fault.part for fault in checked(text).faults]


def forged(text: str, old: str, new: str) -> str:
    """The file with a change, and with a digest that fits."""
    parts = detached(text.replace(old, new))
    return attached(parts.code, parts.sections)


# --- what was compiled is accepted ------------------------------------------------------------------------

LOOP, NONLINEAR, CALLS, DENSITIES = "partial_sum", "clipped_sum", "exponential_then_measure", "deviation"
SAMPLE = ("clipped_sum", "exponential_mechanism_gap", "noisy_max_masked")
"""`tests/corpus/test_solvers.py` asks about all of them."""


@pytest.mark.parametrize("name", SAMPLE)
def test_two_solvers_agree_on_what_was_compiled(name: str) -> None:
    pytest.importorskip("cvc5")
    found = checked(generated(name), [Solver.Z3, Solver.CVC5])
    assert (found.faults, found.disagreements) == ((), ())
    assert found.questions > 0
    assert found.sides > 0


def test_adaptive_svt_is_small_and_quick_to_decide() -> None:
    text = generated("adaptive_svt", Mode.LATTICE)
    assert len(text.encode()) <= 50_000
    assert checked(text).faults == ()
    seconds = []
    for _ in range(3):
        start = time.process_time()
        checked(text)
        seconds.append(time.process_time() - start)
    assert min(seconds) <= 0.5


def test_compiling_again_gives_the_same_bytes() -> None:
    """In another process, in which sets of texts have another order."""
    code = (
        "import sys; from aligncheck.pipeline import *; from aligncheck.compiler.modes import Mode\n"
        "from aligncheck.compiler.certificate.text import attached\n"
        "from aligncheck.compiler.emit.python import emit_python\n"
        "done = certify_file(sys.argv[1], Options(explain=False), Mode.LATTICE)\n"
        "text = attached(emit_python(done.result.verdict, Mode.LATTICE), done.sections)\n"
        "sys.stdout.buffer.write(text.encode())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "adaptive_svt.dp"],
        cwd=SPECS,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(SPECS.parent)},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == generated("adaptive_svt", Mode.LATTICE)


def test_what_this_process_did_before_changes_nothing() -> None:
    path = SPECS / "histogram_moved.dp"
    first = compiled(path, Mode.FLOAT)
    compiled(SPECS / "svt.dp", Mode.FLOAT)
    assert compiled(path, Mode.FLOAT) == first


def test_the_clock_decides_at_most_that_there_is_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    source = read_source(str(SPECS / "partial_sum.dp"))
    mechanism = check(source, parse(source))
    findings = establish(mechanism, source)
    assert not findings.smt.hurried
    findings.smt.deadline = time.monotonic() - 1
    assert findings.smt.implied((), lt(ZERO, NUMBERS[0]), 10).answer is Answer.UNKNOWN
    with pytest.raises(ProofError, match="ran out of time"):
        plan_of(Subject.of(mechanism, source), findings, None)

    monkeypatch.setattr(solvers, "_SECONDS", 0)
    with pytest.raises(SlowError):
        solvers.cores("(set-logic QF_LRA)(declare-const x Real)", ["(assert (! (< x 0) :named n0))"])


def test_what_comes_to_one_question_is_asked_once() -> None:
    scripts = [s for s in detached(generated("adaptive_svt", Mode.LATTICE)).sections if "SMT-LIB" in s.title]
    named = asked = 0
    for script in scripts:
        count = int(script.title.rpartition(": ")[2].split(" x ")[0])
        assert script.text.count("(check-sat)") == count
        group: list[str] = []
        for line in script.lines:
            named += line.startswith("; ")
            if "(check-sat)" in line:
                assert line not in group
                group.append(line)
                asked += 1
            elif line == "(pop 1)":
                group = []
    assert named > 1.2 * asked > 60


def test_the_obligations_are_those_of_the_search() -> None:
    source = read_source(str(SPECS / "adaptive_svt.dp"))
    mechanism = check(source, parse(source))
    findings = establish(mechanism, source)
    subject = Subject.of(mechanism, source)
    derived = {o for o, _ in subject.obligations(Plan(findings.choices))}
    assert {o.obligation for o in findings.outcomes} - derived == {
        o.obligation for o in findings.outcomes if o.obligation.rule == "declarations_hold"
    }


def test_every_mechanism_that_is_called_is_certified_too() -> None:
    titles = [section.title for section in detached(generated(CALLS)).sections]
    assert sum(title.startswith("spec ") for title in titles) == 2
    assert sum(title.startswith("plan of ") for title in titles) == 2
    assert sum(title.startswith("claim of ") for title in titles) == 2


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


def test_a_chain_of_calls_is_certified(tmp_path: Path) -> None:
    (tmp_path / "one.dp").write_text(ONE)
    (tmp_path / "two.dp").write_text(CALLING.format(name="two", callee="one", file="one"))
    (tmp_path / "three.dp").write_text(CALLING.format(name="three", callee="two", file="two"))
    assert checked(compiled(tmp_path / "three.dp", Mode.FLOAT)).faults == ()


def test_mechanisms_of_one_name_in_two_files_are_certified(tmp_path: Path) -> None:
    (tmp_path / "first.dp").write_text(ONE)
    (tmp_path / "second.dp").write_text(CALLING.format(name="two", callee="one", file="first"))
    (tmp_path / "third.dp").write_text(CALLING.format(name="one", callee="two", file="second"))
    text = compiled(tmp_path / "third.dp", Mode.FLOAT)
    assert [s.title for s in detached(text).sections].count("plan of one") == 2
    assert checked(text).faults == ()
    later = text.rindex("#: plan of one")
    edited = text[:later] + text[later:].replace("#| route acyclic", "#| route injective", 1)
    assert parts_named(edited) != []


# --- whatever is edited is found and named ----------------------------------------------------------------


@pytest.mark.parametrize(("name", "step"), [(LOOP, 7), (CALLS, 40)])
def test_a_changed_byte_in_any_line_is_found(name: str, step: int) -> None:
    text = generated(name)
    lines = text.split("\n")
    for number in range(1, len(lines), step):
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
        ("#: claim of partial_sum\n#| eps", "#: claim of partial_sum\n#| eps/2", "claim of partial_sum"),
        ("#| route acyclic", "#| route injective", "conditions of form"),
        ("#| invariant 1 ", "#| invariant 2 ", "plan of partial_sum"),
        ("#| (assert ", "#| (assert true) (assert ", "SMT-LIB script 1 of partial_sum"),
        (" (check-sat)", " (check-sat) ", "SMT-LIB script 1 of partial_sum"),
        ("#: conditions of form of", "#: conditions of", "conditions of partial_sum"),
        (" ; fresh, line", " ; fresh, lime", "conditions of form of partial_sum"),
        ("made by\n#| aligncheck 0", "made by\n#| aligncheck 1", "digest"),
        ("made by\n#| aligncheck", "made by\n#| alligncheck", "made by"),
        ("#: digest\n#| sha256 ", "#: digest\n#| sha256 0", "digest"),
        (f"#: {OPENING}", "#: certificate, format 1", "certificate"),
        ("decides all of this", "decides most of this", "certificate"),
    ],
)
def test_the_part_that_was_edited_is_named(old: str, new: str, part: str) -> None:
    text = generated(LOOP)
    assert old in text
    assert any(named.startswith(part) for named in parts_named(text.replace(old, new, 1)))


def test_the_line_that_was_edited_is_named() -> None:
    text = generated(LOOP)
    line = next(i for i, t in enumerate(text.split("\n"), 1) if t.startswith("#| (declare-const"))
    lines = text.split("\n")
    lines[line - 1] += "!"
    (fault,) = checked("\n".join(lines)).faults
    assert fault.line == line


def test_what_another_version_wrote_is_called_that() -> None:
    text = generated(LOOP)
    (fault,) = checked(text.replace(OPENING, "certificate, format 1")).faults
    assert fault.message == (
        f"the certificate is written in format 1, by aligncheck {__version__}; "
        f"this version reads format {FORMAT}: compile it again"
    )
    assert text.split("\n")[(fault.line or 0) - 1] == f"#: {OPENING}"
    old = forged(text, f"made by\n#| aligncheck {__version__}", "made by\n#| aligncheck 0.0.1")
    assert checked(old).faults == ()
    said = f"(the file was made by aligncheck 0.0.1, this is {__version__}: compile it again)"
    for faulty in (
        forged(old, " ; fresh, line", " ; fresh, lime"),
        forged(old, "noise.laplace(", "noise.Laplace("),
    ):
        assert all(fault.message.endswith(said) for fault in checked(faulty).faults)
        assert checked(faulty).faults


@pytest.mark.parametrize("text", ["", "print('mine')\n", f"\n\n\n#: {OPENING}\n"])
def test_a_file_without_a_certificate_fails(text: str) -> None:
    assert parts_named(text) == ["certificate"]


def test_dropping_or_adding_a_section_is_found() -> None:
    parts = detached(generated(LOOP))
    for sections in (parts.sections[:-1], (*parts.sections, parts.sections[-1]), parts.sections[1:]):
        assert parts_named(attached(parts.code, sections)) != []


# --- whoever writes a digest that fits is not believed either ---------------------------------------------


def test_a_smaller_claim_is_not_accepted() -> None:
    assert parts_named(forged(generated(LOOP), "privacy eps", "privacy eps/2")) != []


def test_code_that_differs_from_the_spec_is_not_accepted() -> None:
    assert parts_named(forged(generated(LOOP), "noise.laplace(", "noise.laplace(2 *")) == ["code"]


def test_code_behind_a_carriage_return_in_a_comment_is_found() -> None:
    """To Python a lone carriage return ends a comment, so that what follows is code."""
    parts = detached(generated(LOOP))
    spec = next(s for s in parts.sections if s.title.startswith("spec "))
    lines = [line + "  # c\rhidden = True" if "privacy" in line else line for line in spec.lines]
    title = f"{spec.title.rpartition(' ')[0]} {digest(chr(10).join(lines))}"
    sections = [replace(s, title=title, lines=tuple(lines)) if s is spec else s for s in parts.sections]
    text = attached(parts.code, sections)
    (fault,) = checked(text).faults
    assert (fault.part, fault.line) == ("certificate", text[: text.index("\r")].count("\n") + 1)


def test_a_proof_does_not_carry_over_to_a_broken_mechanism() -> None:
    """All that follows from a false claim is written as it should be: only the solver objects."""
    parts = detached(generated(LOOP))
    spec = next(s for s in parts.sections if s.title.startswith("spec "))
    plan = next(s for s in parts.sections if s.title.startswith("plan "))
    text = spec.text.replace("privacy eps\n", "privacy eps/2\n")
    assert text != spec.text
    mechanism, source = read_again([File("partial_sum.dp", text)])
    subject = Subject.of(mechanism, source)
    found = plan_from([line for line in plan.lines if not line.startswith("group ")], subject)
    grouped = batches(sorted_out(subject, found).questions, found)
    kept = [Printer(batch.smt).everything(batch) for batch, _ in grouped]
    found = replace(found, kept=tuple(kept))
    part = Certified(mechanism, found, rendered(Subject.of(mechanism, source), found))
    code = emit_python(Verified(mechanism, Witness(), Accepted("acyclic", ())), Mode.FLOAT)
    whole = attached(code, [*parts.sections[:2], File("partial_sum.dp", text).section, *part.sections])
    messages = [fault.message for fault in checked(whole).faults]
    assert any(m.startswith("z3 says sat, not unsat: cost") for m in messages), messages


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("witness true eps", "does not follow"),
        ("witness 1/2 nobody", "no symbol `nobody`"),
        ("invariant 9 true", "9"),
        ("invariant 1 (< nobody 1)", "no symbol `nobody`"),
        ("joined a b", "does not follow"),
        ("length 7/3", "cannot stand here"),
        ("ways 0", "ways to end"),
        ("sets 0-999999", "too many"),
        ("group 1 / 99999 /", "groups"),
        ("group 1 / 0.1.1 /", "no number"),
        ("magic", "no word of a plan"),
    ],
)
def test_a_plan_with_something_else_in_it_is_refused(line: str, message: str) -> None:
    text = generated(LOOP)
    fault = checked(forged(text, "#| route acyclic\n", f"#| route acyclic\n#| {line}\n")).faults[0]
    assert message in fault.message
    assert fault.part == "plan of partial_sum"


def test_invariants_speak_of_what_is_fixed_while_the_loop_runs() -> None:
    """Of a draw inside the loop an invariant would be shown for one value and used for the next."""
    source = read_source(str(SPECS / "adaptive_svt.dp"))
    mechanism = check(source, parse(source))
    subject = Subject.of(mechanism, source)
    assert subject.paths is not None
    everywhere = names_of(t for p in subject.paths.paths for v in p.env.values() for t in (v.left, v.right))
    drawn = {d.left.symbol.name for p in subject.paths.paths if p.origin == 1 for d in p.drawings()}
    assert drawn & set(everywhere)
    assert not drawn & set(subject.names_at(1))


# --- solvers ----------------------------------------------------------------------------------------------


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Lets cvc5 say so to every question."""

    def said(script: Script, solver: Solver) -> tuple[Reply, ...]:
        if solver is Solver.Z3:
            return answers(script, solver)
        return tuple(Reply(solver, question, answer) for question in script.questions)

    monkeypatch.setattr(checking, "answers", said)


def test_a_disagreement_is_an_error_of_its_own_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "sat")
    found = checked(generated(LOOP), [Solver.Z3, Solver.CVC5])
    assert found.faults == ()
    assert {r.answer for d in found.disagreements for r in d.replies} == {"sat", "unsat"}


def test_what_one_solver_does_not_decide_is_no_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "unknown")
    found = checked(generated(LOOP), [Solver.Z3, Solver.CVC5])
    assert found.disagreements == ()
    assert all(fault.message.startswith("cvc5 says unknown") for fault in found.faults)
    assert found.faults


def test_a_script_that_cannot_be_read_is_no_proof() -> None:
    script = Script("odd", ("(set-logic QF_LRA)", "(assert (< nobody 0)) (check-sat)"), ("a question",))
    with pytest.raises(ScriptError):
        answers(script, Solver.Z3)


def test_exported_scripts_need_nothing_else() -> None:
    files = dict(script_files(detached(generated(LOOP)).sections))
    assert len(files) > 2
    for name, text in files.items():
        assert name.startswith("partial_sum-")
        assert "(set-logic QF_" in text
        assert text.count("(push 1)") == text.count("(pop 1)")


def test_a_proof_that_is_not_decided_from_its_text_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> Any:
        raise ProofError("not decided from its text: something")

    monkeypatch.setattr("aligncheck.compiler.certificate.whole.plan_of", fails)
    done = certify_file(str(SPECS / "partial_sum.dp"), Options(explain=False), Mode.REFINED)
    assert isinstance(done.result.verdict, Verified)
    assert (done.form, done.sections) == (None, ())
    assert done.problem == "the proof has no certificate: not decided from its text: something"


# --- texts ------------------------------------------------------------------------------------------------

ENTRY = App("q", (NUMBERS[0],), Sort.REAL, Kind.DATA)
NAMES = names_of([*NUMBERS, P, ENTRY])


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(formulas(rational(ATOMS, size=4)))
def test_terms_are_read_back(tree: Tree) -> None:
    term = canonical(built(tree))
    assert canonical(read(write(term), NAMES)) == term


@pytest.mark.parametrize(
    "text",
    [
        *("", "(", ")", "a b", "(< a)", "(+ a p)", "(@ q a a)", "(@ q p)", "(@ a)", "q", "(nonsense a)"),
        *("1/0", "()", "(not a)", "(if a a a)", "(and a p)", "|a", "(mod a)"),
        *("(" * 5000, "(not " * 500 + "p" + ")" * 500),
    ],
)
def test_what_is_no_term_is_refused(text: str) -> None:
    with pytest.raises(NotationError):
        read(text, NAMES)


def test_names_may_hold_anything_but_bars() -> None:
    odd: Term = App("len(q) of 'x'", (ENTRY,), Sort.INT, Kind.PARAMETER)
    assert read(write(odd), names_of([odd])) == odd
    assert is_number(odd)


@pytest.mark.parametrize("name", [LOOP, DENSITIES, "exponential_mechanism_gap"])
def test_plans_are_read_back(name: str) -> None:
    parts = detached(generated(name))
    files = [File(s.title.split(" ")[1], s.text) for s in parts.sections if s.title.startswith("spec ")]
    lines = next(s.lines for s in parts.sections if s.title.startswith("plan "))
    plan = plan_from(lines, Subject.of(*read_again(files)))
    assert tuple(written(plan)) == lines


def test_a_file_is_taken_apart_as_it_was_put_together() -> None:
    text = generated(LOOP)
    parts = detached(text)
    assert parts.intact
    assert attached(parts.code, parts.sections) == text
    with pytest.raises(FormatError):
        detached(text + "x = 1\n")


def plan_of_densities(path: Path) -> tuple[Subject, Plan, set[str]]:
    """A mechanism with stated densities, its plan, and the rules of the obligations that a search decides."""
    source = read_source(str(path))
    mechanism = check(source, parse(source))
    findings = establish_densities(mechanism, source, time.monotonic() + 60)
    pairs = [f.draws for f in findings.factors if len(f.draws) == 2]
    joined = tuple((one.draw.name, other.draw.name) for one, other in pairs)
    decided = {o.obligation.rule for o in findings.outcomes}
    return Subject.of(mechanism, source), Plan(Choices("density"), joined), decided


def test_densities_are_checked_for_all_that_a_search_decides() -> None:
    """The bound of a claim among it, which callers are charged."""
    above = Path(__file__).parents[1] / "specs" / "soundness" / "density_claim_above_bound.dp"
    for path in (above, SPECS / "exponential_mechanism_gap.dp"):
        subject, plan, decided = plan_of_densities(path)
        assert {o.rule for o, _ in subject.obligations(plan)} >= decided - {"declarations_hold"}
        assert ("claim_within_bound" in decided) == (path is above)


def test_a_density_counts_once() -> None:
    subject, plan, _ = plan_of_densities(SPECS / "exponential_mechanism_gap.dp")
    assert len(plan.joined) == 1
    with pytest.raises(ProofError, match="goes together with two others"):
        subject.obligations(replace(plan, joined=plan.joined * 2))
