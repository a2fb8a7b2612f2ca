"""Commands: what their options say, what becomes of what they ask for, and the status that comes of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.text import Text
from small_specs import mechanism

from aligncheck.commands import CommandError, checking, offered, run, screen, verify
from aligncheck.commands import check as checks
from aligncheck.commands import test as testing
from aligncheck.commands.named import assigned
from aligncheck.commands.telling import tell
from aligncheck.compiler.certificate.checker import CheckedFile, FileFault
from aligncheck.compiler.certificate.questions import SolverReply
from aligncheck.compiler.certificate.solvers import Solver
from aligncheck.compiler.modes import RunMode
from aligncheck.execute.cannot_run import NoSafeMode, NotChecked, RunError
from aligncheck.expect import Comparison
from aligncheck.kernel.answer import Accepted, Decision
from aligncheck.kernel.witness import Witness
from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.language.syntax.nodes import NOWHERE
from aligncheck.meaning.scenario import Scenario
from aligncheck.pipeline import Certification
from aligncheck.refutation import refuter
from aligncheck.refutation.enclosure import Ball
from aligncheck.refutation.events import CompleteOutput
from aligncheck.refutation.findings import Outcome as Found
from aligncheck.refutation.findings import Refutation
from aligncheck.refutation.violation import Ended, LossKind, NoViolation, Searched, Violation
from aligncheck.statistical import curve, tester
from aligncheck.statistical.patterns import InputPair
from aligncheck.statistical.plan import Plan
from aligncheck.verdict import FileResult, Unknown, Verdict, Verified
from aligncheck.workers import Died, Done, Lost, OutOfMemory, Raised, TimedOut, TooLongError

SMALL = mechanism("emit a()")
VERIFIED = Verified(SMALL, Witness(), Accepted("acyclic", ()))
UNKNOWN = Unknown(SMALL, Condition.COST, "not decided", None)
VIOLATION = Violation(
    Scenario((), (), ()),
    CompleteOutput(()),
    Ball(Fraction(1), Fraction(1)),
    Ball(Fraction(0), Fraction(0)),
    Fraction(1),
    None,
    LossKind.IMPOSSIBLE,
)
NOTHING = NoViolation(None, 1, Searched(1, 1, 0, 1, Ended.THROUGH))


def result(verdict: Verdict, path: str = "a.dp") -> FileResult:
    return FileResult(path, verdict, 0.25)


# --- options and files --------------------------------------------------------------------------------------


def test_what_is_given_to_names() -> None:
    assert assigned("--set", ["k = 5", "f=a=b", "ε=1"]) == {"k": "5", "f": "a=b", "eps": "1"}
    assert assigned("--set", ["ε=1"], of_spec=False) == {"ε": "1"}
    assert assigned("--set", ["k="]) == {"k": ""}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["k"], "`--set k` is not of the form NAME=VALUE"),
        (["=5"], "`--set =5` is not of the form NAME=VALUE"),
        (["k=5", " k=6"], "`k` is set twice"),
        (["eps=5", "ε=5"], "`eps` is set twice"),
    ],
)
def test_what_is_given_to_no_name_or_twice(texts: list[str], message: str) -> None:
    with pytest.raises(CommandError) as error:
        assigned("--set", texts)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("0.7", (0.7,)),
        ("1.5,0.2,1.5", (0.2, 1.5)),
        ("0.2:1.0:0.2", (0.2, 0.4, 0.6, 0.8, 1.0)),
        ("1:1.9:0.5", (1, 1.5)),
        ("1:1:1", (1,)),
    ],
)
def test_levels(text: str, levels: tuple[float, ...]) -> None:
    assert testing.levels_of(text) == levels


def test_how_many_levels_there_may_be() -> None:
    assert len(testing.levels_of("0.5:100:0.5")) == 200
    with pytest.raises(CommandError, match="is more than 200 levels"):
        testing.levels_of("0.5:100:0.4975")
    with pytest.raises(CommandError, match="is no level: START:STOP:STEP rises from START"):
        testing.levels_of("2:1:1")


@pytest.mark.parametrize(
    "text",
    ["0", "100.1", "inf", "nan", "x", "1,", "1:2", "1:2:0", "2:1:1", "1:100:0.1", "1:9:1e-320", "9:1:1e-320"],
)
def test_no_levels(text: str) -> None:
    with pytest.raises(CommandError, match=f"`--eps {text}`"):
        testing.levels_of(text)


def test_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b/z.dp", "b/a.dp", "b/.hidden/x.dp", "b/c/y.dp", "b/note.txt", "a.dp", "c/note.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    monkeypatch.chdir(tmp_path)
    os.symlink("a.dp", "again.dp")
    given = ["b/note.txt", "b", "b/a.dp", "a.dp", "again.dp"]
    assert checking.spec_files(given) == ["b/note.txt", "b/a.dp", "b/c/y.dp", "b/z.dp", "a.dp"]
    assert checking.one_file("a.dp") == "a.dp"
    for call, message in (
        (lambda: checking.spec_files(["a.dp", "x", "y"]), "no such file or folder: `x`, `y`"),
        (lambda: checking.spec_files(["c"]), r"no \*.dp files in folder `c`"),
        (lambda: checking.one_file("b"), "`b` is a folder; this command takes one file"),
        (lambda: checking.one_file("x"), "no such file: `x`"),
        (lambda: checking.text_of("b"), "cannot read `b`: Is a directory"),
    ):
        with pytest.raises(CommandError, match=message):
            call()
    assert checking.text_of("a.dp") == "text"
    monkeypatch.setattr(checking, "_LARGEST", 3)
    with pytest.raises(CommandError, match="is too large to be a generated module"):
        checking.text_of("a.dp")


# --- what becomes of a check --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lost", "message", "advice"),
    [
        (TimedOut(2.5), "stopped from outside after 2.5 s: the search overran its time limit", "--timeout"),
        (OutOfMemory(1), "the search ran out of memory (its limit is 3 GiB)", "simplify the spec"),
        (Raised("KeyError: 1", "", 1), "internal error: KeyError: 1 (this is a bug in aligncheck)", "report"),
        (Died("SIGKILL", 1), "the process that searched this file was killed (SIGKILL)", "--jobs"),
        (Died("SIGSEGV", 1), "internal error: the process that searched this file died: SIGSEGV", "report"),
    ],
)
def test_what_is_lost_decides_nothing_and_says_why(lost: Lost, message: str, advice: str) -> None:
    said, help_ = checking.why_lost(lost, "search")
    assert said.startswith(message)
    assert advice in help_
    undecided = checking.result_of("a.dp", lost)
    assert isinstance(undecided.verdict, Unknown)
    assert undecided.verdict.message == said.replace("search", "check")
    assert checking.result_of("a.dp", Done(result(VERIFIED), 1)) == result(VERIFIED)


def test_a_certificate_that_is_lost_is_of_nothing_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Certification(result(VERIFIED), VERIFIED)
    for outcome, kept in (
        (Done(made, 1), made),
        (TimedOut(1), Certification(checking.result_of("a.dp", TimedOut(1)))),
    ):
        monkeypatch.setattr(checking, "alone", lambda *_, it=outcome: it)
        assert checking.certified("a.dp", 1, RunMode.LATTICE) == kept


def test_a_verdict_is_kept_where_the_time_ends_while_more_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def over(*_: Any) -> FileResult:
        raise TooLongError

    monkeypatch.setattr("aligncheck.pipeline.verify_file", lambda *_: result(VERIFIED))
    monkeypatch.setattr("aligncheck.synthesis.dearest.with_dearest", over)
    assert checking._verify(("a.dp", 60.0, True)) == result(VERIFIED)
    monkeypatch.setattr("aligncheck.pipeline.verify_file", over)
    undecided = checking._verify(("a.dp", 60.0, False)).verdict
    assert isinstance(undecided, Unknown)
    assert undecided.message == "nothing had been decided when the time was over"


@pytest.mark.parametrize(
    ("found", "path"),
    [
        ((VIOLATION, NOTHING), "a.dp"),
        ((NOTHING, VIOLATION), "a.dp (its form for `lattice`)"),
        ((NOTHING, NOTHING), None),
    ],
)
def test_a_violation_is_searched_of_the_spec_and_of_the_form_that_runs(
    found: Sequence[Found], path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = replace(VERIFIED, mechanism=mechanism("emit b()"))
    outcomes = dict(zip((SMALL, form.mechanism), found, strict=True))
    monkeypatch.setattr(refuter, "refute", lambda mechanism, _: outcomes[mechanism])
    monkeypatch.setattr(checking, "alone", lambda function, job, _: Done(function(job), 0.1))
    certification = Certification(result(VERIFIED), form)
    monkeypatch.setattr("aligncheck.pipeline.certify_file", lambda *_: certification)
    done, violation = checking.certified_and_searched("a.dp", 1, RunMode.LATTICE)
    assert done == certification
    assert (None if violation is None else violation.path) == path


def test_nothing_is_searched_where_there_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refuter, "refute", lambda *_: VIOLATION)
    monkeypatch.setattr(checking, "alone", lambda function, job, _: Done(function(job), 0.1))
    for certification in (Certification(result(UNKNOWN)), Certification(result(VERIFIED), problem="no form")):
        monkeypatch.setattr("aligncheck.pipeline.certify_file", lambda *_, it=certification: it)
        assert checking.certified_and_searched("a.dp", 1, RunMode.LATTICE) == (certification, None)


# --- verify -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "found", "status"),
    [
        (VERIFIED, None, 0),
        (UNKNOWN, None, 3),
        (UNKNOWN, NOTHING, 3),
        (UNKNOWN, VIOLATION, 1),
    ],
)
def test_a_certified_violation_of_what_is_undecided_is_a_failure(
    verdict: Verdict,
    found: Found | None,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @contextlib.contextmanager
    def results(files: Sequence[str], **_: Any) -> Iterator[Iterator[FileResult]]:
        yield iter([result(verdict, path) for path in files])

    refutation = None if found is None else Refutation("a.dp", SMALL, found, 0.1)
    monkeypatch.setattr(verify, "checking", results)
    monkeypatch.setattr(verify, "spec_files", list)
    monkeypatch.setattr("aligncheck.commands.refuting.refuted_after", lambda _: refutation)
    monkeypatch.setattr("aligncheck.commands.improve.hint", lambda *_: ())
    usual: Any = {"timeout": 1.0, "jobs": 1, "verbose": False, "expecting": False, "lints": ()}
    assert verify.verify(["a.dp"], as_json=True, refuting=True, **usual) == status
    (document,) = json.loads(capsys.readouterr().out)["results"]
    assert (document["refutation"] is None) == (found is None)
    assert verify.verify(["a.dp", "b.dp"], as_json=False, refuting=False, **usual) == (
        0 if status == 0 else 3
    )
    out = capsys.readouterr().out
    assert "REFUTED" not in out
    assert f"2 files: 2 {'VERIFIED' if status == 0 else 'UNKNOWN'} (" in out


# --- check --------------------------------------------------------------------------------------------------

DECIDED = Accepted("acyclic", tuple(Decision("cost", NOWHERE, "it is so", steps) for steps in (700, 500)))
FAULTY = (FileFault("witness", None, "no proof"), FileFault("program", 7, "another name"))


def checked(**parts: Any) -> CheckedFile:
    usual: dict[str, Any] = {"spec": SMALL, "form": SMALL, "mode": RunMode.LATTICE, "accepted": DECIDED}
    return CheckedFile(**{**usual, "seconds": 0.5, **parts})


def replies(*answers: str) -> tuple[SolverReply, ...]:
    return tuple(
        SolverReply(s, "is it so", a) for s, a in zip((Solver.Z3, Solver.CVC5), answers, strict=True)
    )


@pytest.mark.parametrize(
    ("parts", "status", "lines"),
    [
        ({"faults": FAULTY}, 1, ["FAILED  m.py: witness: no proof", "FAILED  m.py:7: program: another name"]),
        (
            {"disagreement": replies("sat", "unsat"), "accepted": None},
            4,
            ["SOLVERS DISAGREE  m.py: z3 says sat, cvc5 says unsat: is it so"],
        ),
        (
            {"disagreement": replies("sat", "unsat"), "faults": FAULTY[:1]},
            4,
            [
                "SOLVERS DISAGREE  m.py: z3 says sat, cvc5 says unsat: is it so",
                "FAILED  m.py: witness: no proof",
            ],
        ),
    ],
)
def test_a_check_that_fails(
    parts: dict[str, Any], status: int, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert checks.check_lines("m.py", checked(**parts), "z3") == (status, lines)
    assert checks.tell_faults("m.py", checked(**parts)) == status
    assert capsys.readouterr() == ("", "\n".join([*lines, ""]))


def test_a_check_that_does_not() -> None:
    status, lines = checks.check_lines("m.py", checked(), "z3 and cvc5")
    assert (status, lines[0]) == (0, "CHECKED  m.py: `small` is `eps`-differentially private")
    assert lines[-1].startswith(
        "  the kernel made 2 decisions by z3 and cvc5 (1,200 steps of Z3), in 0.50 s;"
    )
    assert checks.tell_faults("m.py", checked()) == 0
    assert checks.check_lines("m.py", "it was stopped", "z3") == (1, ["FAILED  m.py: it was stopped"])
    with pytest.raises(InternalError):  # nothing is CHECKED that the kernel did not accept
        checks.check_lines("m.py", checked(accepted=None), "z3")


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Done(checked(), 1), checked()),
        (TimedOut(2), "stopped from outside after 2.0 s: the check overran its time limit; allow more time"),
        (Raised("ValueError: x", "", 1), "internal error: ValueError: x"),
    ],
)
def test_what_is_decided(outcome: Any, told: CheckedFile | str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "alone", lambda *_: outcome)
    found = checks.decided("text", ["z3"], 1)
    assert found == told if isinstance(told, CheckedFile) else str(found).startswith(told)


@pytest.mark.parametrize(("solver", "asked"), [("z3", ("z3",)), ("both", ("z3", "cvc5"))])
def test_the_solvers_that_are_asked(
    solver: str,
    asked: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "m.py").write_text("text")
    monkeypatch.setattr(checks, "decided", lambda *job: checked() if job == ("text", asked, 1) else str(job))
    assert checks.check(str(tmp_path / "m.py"), solver=solver, timeout=1) == 0
    assert f"2 decisions by {' and '.join(asked)} (" in capsys.readouterr().out


def test_a_solver_that_is_not_there_is_no_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    error = "aligncheck.compiler.certificate.solvers.SolverMissingError: cvc5 is not installed: pip"
    monkeypatch.setattr(checks, "alone", lambda *_: Raised(error, "", 1))
    with pytest.raises(CommandError, match=r"^cvc5 is not installed: pip$"):
        checks.decided("text", ["cvc5"], 1)


# --- run ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "runs_in", "mode", "tried"),
    [
        (None, {RunMode.LATTICE, RunMode.REFINED, RunMode.FLOAT}, RunMode.LATTICE, 1),
        (None, {RunMode.REFINED, RunMode.FLOAT}, RunMode.REFINED, 2),
        (None, {RunMode.FLOAT}, None, 2),
        (RunMode.REFINED, {RunMode.LATTICE, RunMode.REFINED}, RunMode.REFINED, 1),
        (RunMode.LATTICE, {RunMode.REFINED}, None, 1),
        (RunMode.FLOAT, {RunMode.LATTICE, RunMode.FLOAT}, RunMode.FLOAT, 1),
    ],
)
def test_a_spec_runs_in_the_first_mode_that_its_proof_covers_and_never_unasked_in_floats(
    how: RunMode | None,
    runs_in: set[RunMode],
    mode: RunMode | None,
    tried: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def certified(path: str, _timeout: float, mode: RunMode) -> Certification:
        asked.append(mode)
        form = VERIFIED if mode in runs_in else None
        return Certification(result(VERIFIED, path), form, problem=None if form else f"not in {mode.value}")

    monkeypatch.setattr(run, "certified", certified)
    found, spec = run.runnable("a.dp", 1, how)
    assert (found.verdict, spec.verdict, spec.mode, len(asked)) == (VERIFIED, VERIFIED, mode, tried)
    assert [f"not in {each.value}" in spec.problem for each in asked] == [mode is None] * tried


def test_what_is_not_verified_is_tried_in_no_other_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([Certification(result(UNKNOWN))])
    monkeypatch.setattr(run, "certified", lambda *_: next(answers))
    assert run.runnable("a.dp", 1, None)[1].verdict == UNKNOWN


class Released(Exception):  # noqa: N818 - no error
    """A run that was carried out."""


def ran(
    path: Path, monkeypatch: pytest.MonkeyPatch, ends: Exception | None, faults: Any = (), **given: Any
) -> int:
    """The status of a run of a module, which is released unless it ends so before, or fails its check."""
    path.write_text("text")

    def run_file(*_: Any, decide: Any, mode: RunMode | None, **__: Any) -> Any:
        assert mode is (RunMode.REFINED if "mode" in given else None)
        if decide is not None:
            decide("text")
        raise ends or Released

    monkeypatch.setattr(run, "run_file", run_file)
    monkeypatch.setattr(run, "decided", lambda *_: checked(faults=faults))
    usual: Any = {"data": None, "column": None, "label": None, "settings": (), "functions": (), "seed": None}
    return run.run(str(path), **{**usual, "as_json": True, "timeout": 1.0, **given})


@pytest.mark.parametrize(
    ("ends", "status", "told"),
    [
        (NoSafeMode("a.dp", "it is not proved"), 3, "not run: `a.dp` is VERIFIED, but it is not proved"),
        (NotChecked("a.dp"), 1, "not run: `a.dp` fails its check; nothing of it was executed"),
    ],
)
def test_why_nothing_was_run(
    ends: Exception,
    status: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ran(tmp_path / "m.py", monkeypatch, ends) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    with pytest.raises(CommandError, match="no data"):
        ran(tmp_path / "m.py", monkeypatch, RunError("no data"))


def test_a_module_is_decided_before_it_runs_where_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Released):
        ran(tmp_path / "m.py", monkeypatch, None, FAULTY, mode="refined")
    with pytest.raises(Released):
        ran(tmp_path / "m.py", monkeypatch, None, deciding=True)
    assert ran(tmp_path / "m.py", monkeypatch, None, FAULTY, deciding=True) == 1
    assert "witness: no proof" in capsys.readouterr().err


# --- test ---------------------------------------------------------------------------------------------------


def tried(monkeypatch: pytest.MonkeyPatch, finding: str = "evidence", **given: Any) -> tuple[int, Plan]:
    """The status of a test that ends with this finding, and the plan that its options make."""
    plans: list[Plan] = []

    def run_test(plan: Plan, _progress: Any) -> Any:
        plans.append(plan)
        return SimpleNamespace(finding=finding)

    monkeypatch.setattr(tester, "run_test", run_test)
    monkeypatch.setattr(testing, "_report", lambda *_: None)
    usual: dict[str, Any] = {"function": "m:f", "eps": None, "claim": None, "delta": None, "spec": None}
    usual |= {"settings": (), "vary": (), "database": None, "array": False, "adjacency": "one", "pairs": ()}
    usual |= {"sensitivity": 1.0, "length": "3", "runs": 10, "selection": 10, "alpha": 0.01, "seed": 1}
    usual |= {"jobs": 1, "timeout": 1.0, "plot": None, "as_json": True}
    return testing.test(**{**usual, **given}), plans[0]


@pytest.mark.parametrize(("finding", "status"), [("evidence", 1), ("no evidence", 0), ("no dependence", 0)])
def test_only_evidence_is_a_failure(finding: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried(monkeypatch, finding)[0] == status


@pytest.mark.parametrize(
    ("given", "eps", "levels", "claim"),
    [
        ({}, None, None, None),
        ({"eps": "2"}, 2, (2,), None),
        ({"eps": "2", "claim": 3.0}, 2, (2,), 3),
        ({"eps": "2,4", "claim": 3.0}, 3, (2, 4), 3),
        ({"eps": "2,4"}, None, (2, 4), None),
        ({"claim": 3.0}, 3, None, 3),
    ],
)
def test_the_function_is_given_the_single_level_or_the_claim(
    given: dict[str, Any],
    eps: float | None,
    levels: tuple[float, ...] | None,
    claim: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, plan = tried(monkeypatch, **given)
    assert (plan.setup.eps, plan.levels, plan.claim) == (eps, levels, claim)


def test_a_seed_is_kept_or_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried(monkeypatch, seed=0)[1].seed == 0
    assert len({tried(monkeypatch, seed=None)[1].seed for _ in range(8)}) > 1


def test_a_plot_is_of_several_levels_and_says_if_it_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def draw(_tested: Any, path: str) -> None:
        if path == "full.svg":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(curve, "check_plot", lambda _: None)
    monkeypatch.setattr(curve, "draw_curve", draw)
    assert tried(monkeypatch, eps="1,2", plot="x.svg")[0] == 1
    with pytest.raises(CommandError, match=r"cannot write `full\.svg`: No space left"):
        tried(monkeypatch, eps="1,2", plot="full.svg")


def test_pairs_of_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns of all lengths, or those that are given; for each value of what varies."""
    plan = tried(monkeypatch, length="1, 3", sensitivity=2.0)[1]
    assert {len(pair.first) for pair in plan.pairs} == {1, 3}
    moved = [
        abs(x - y) for pair in plan.pairs for x, y in zip(pair.first, pair.second, strict=True) if x != y
    ]
    assert moved == [2] * len(plan.pairs)  # one answer of each, by the sensitivity
    plan = tried(monkeypatch, pairs=[("1", "[2]"), ('{"a": 1}', "0")], vary=["T=1,2"])[1]
    found = [(pair.first, pair.second, pair.settings) for pair in plan.pairs]
    given = [(1, [2]), ({"a": 1}, 0)]
    assert sorted(found, key=str) == sorted(((*p, (("T", t),)) for p in given for t in "12"), key=str)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": [("1", "1.0")]}, "`--pair`: D and D' are both 1"),
        ({"pairs": [("-1e999", "1")]}, "`--pair`: `-1e999` is no JSON value"),
        ({"pairs": [("[" * 10**5, "1")]}, "is no JSON value"),
        ({"length": "1,201"}, "`--length 1,201`: `201` is no length"),
        ({"length": "²"}, "`--length ²`: `²` is no length"),
        ({"adjacency": "moved", "length": "1"}, "no pair of inputs of length 1 is `moved`"),
        ({"vary": ["T=1"], "settings": ["T=1"]}, "`T` is set by `--set` and by `--vary`"),
        ({"eps": "1", "plot": "x.svg"}, "`--plot` draws a sweep"),
        ({"function": "f"}, "`f` names no function"),
    ],
)
def test_what_cannot_be_planned(given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        tried(monkeypatch, **given)


# --- what is printed ----------------------------------------------------------------------------------------


def test_no_name_of_a_file_passes_for_a_line_or_a_colour_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    tell("a.dp\nVERIFIED", "\x1b[31mred", error=True)
    tell("two", "lines")
    assert capsys.readouterr() == (
        "two\nlines\n",
        "a.dp\N{REPLACEMENT CHARACTER}VERIFIED\n\N{REPLACEMENT CHARACTER}[31mred\n",
    )
    screen.Screen().show(Text("a\x1b[31mb [bold]c[/bold]\nd"))
    assert capsys.readouterr().out == "a\N{REPLACEMENT CHARACTER}[31mb [bold]c[/bold]\nd\n"


def test_verdicts_are_counted_in_their_order() -> None:
    counted = screen.counted(
        ["UNKNOWN", "VERIFIED", "UNKNOWN"], ["VERIFIED", "ERROR", "UNKNOWN"], time.monotonic()
    )
    assert counted.startswith("3 files: 1 VERIFIED, 2 UNKNOWN (")


AGREES, DIFFERS = (
    Comparison("verified", "verified", True, ""),
    Comparison("verified", "unknown", False, "why"),
)


@pytest.mark.parametrize(
    ("comparisons", "status", "counted"),
    [([], 0, "0 of 0 agree"), ([AGREES], 0, "1 of 1 agree"), ([DIFFERS, AGREES], 1, "1 of 2 agree")],
)
def test_one_file_that_disagrees_is_a_failure(
    comparisons: list[Comparison], status: int, counted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [result(VERIFIED, f"{number}.dp") for number in range(len(comparisons))]
    by_path = dict(zip([file.path for file in files], comparisons, strict=True))
    documents: list[Any] = []

    def agreement(as_json: Any) -> int:
        return screen.agreement(files, lambda file: by_path[file.path], time.monotonic(), as_json)

    assert agreement(lambda *both: documents.append(both)) == status
    assert documents == [(files, comparisons)]
    assert capsys.readouterr().out == ""
    assert agreement(None) == status
    *lines, last = capsys.readouterr().out.splitlines()
    assert last.startswith(counted)
    shown = {
        True: ["agrees     {}: verified"],
        False: ["DISAGREES  {}: expected verified, got unknown", "           why"],
    }
    assert lines == [line.format(path) for path, one in by_path.items() for line in shown[one.agrees]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1e99999999", "must be a number such as"),
        ("1e500", "has an exponent beyond 400"),
        ("1/0", "has denominator 0"),
        ("many", "must be a number such as"),
    ],
)
def test_values_of_parameters_are_numbers_that_can_be_computed_with(text: str, told: str) -> None:
    pair = InputPair("", [1, 1], [2, 1])
    with pytest.raises(CommandError, match=re.escape(f"`eps` {told}")):
        offered.with_arguments([pair], mechanism("emit a"), {"eps": text})
    with pytest.raises(CommandError, match="no arguments were found"):
        offered.with_arguments([replace(pair, first=[text, 1])], mechanism("emit a"), {})
