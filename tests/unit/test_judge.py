"""From outcomes to a verdict: which condition is named, what is reported, and what is refused."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_specs import outcome, spec, verdict_of

from aligncheck.effort import Effort
from aligncheck.judge import Known, judge
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.pipeline import Options, verify_file
from aligncheck.report.cost import cost_parts
from aligncheck.search.advice import _ties
from aligncheck.search.failing.counterexamples import ORDER
from aligncheck.verdict import AlignmentFails, Error, Status, Unknown, Verdict, Verified

ONE_ANSWER = "x : query, sensitivity 1\nk : int where k >= 1\neps : real where eps > 0"
LAPLACE = ("eta ~ Lap(1/eps)\nemit value(x + eta)", "eta += x - x'", ONE_ANSWER)


def test_verified_reports_every_condition_as_proved() -> None:
    verdict = verdict_of(spec(*LAPLACE))
    assert isinstance(verdict, Verified)
    reported = {r.condition for r in verdict.conditions}
    # Laplace noise may take any value, there is no call and no invariant line, and no general route.
    assert reported == set(Condition) - {
        Condition.SUPPORT,
        Condition.CALLS,
        Condition.INVARIANT,
        Condition.INJECTIVE,
    }
    assert all(r.status is Status.PROVED for r in verdict.conditions)
    assert all(o.status is Status.PROVED for r in verdict.conditions for o in r.obligations)
    assert verdict.accepted.route == "acyclic"
    ((name, amount, share, times),) = [(p.name, p.amount, p.share, p.times) for p in cost_parts(verdict)]
    assert (name, amount, share, times) == ("eta", "eps", "1", "once")


def test_the_general_route_is_named() -> None:
    verdict = verdict_of(
        spec(
            "eta ~ Lap(1/eps)\nif abs(x + eta) > k: emit outside\nelse: emit inside",
            """
            eta += 1 when out is outside and x + eta > 0
            eta -= 1 when out is outside and x + eta < 0
            eta += x - x' when out is inside
            """,
            ONE_ANSWER,
        )
    )
    assert isinstance(verdict, Verified)
    assert verdict.accepted.route == "injective"


def test_the_first_condition_in_order_names_the_failure() -> None:
    """Both the scale and the cost are wrong; the scale comes first."""
    both = "eta ~ Lap(x)\nemit value(x + eta)"
    verdict = verdict_of(spec(both, "eta += 3*(x - x')", ONE_ANSWER))
    assert isinstance(verdict, AlignmentFails)
    assert verdict.condition is Condition.SCALES
    assert ORDER.index(Condition.SCALES) < ORDER.index(Condition.COST)
    failed = [r.condition for r in verdict.conditions if r.status is Status.FAILED]
    assert failed == [Condition.SCALES]


def test_every_condition_has_a_place_in_the_order() -> None:
    assert set(ORDER) == set(Condition)
    assert len(ORDER) == len(set(ORDER))


def test_a_failure_points_and_tells() -> None:
    source = spec("eta ~ Lap(1/eps)\nemit value(2*x + eta)", "eta += 2*x - 2*x'", ONE_ANSWER)
    verdict = verdict_of(source)
    assert isinstance(verdict, AlignmentFails)
    assert source.text_of(verdict.primary.span) == "eps"
    assert "needs `privacy 2*eps`" in verdict.advice
    assert verdict.counterexample is not None


COUNTED = """
    count = 0
    eta ~ Lap(2/eps)
    for i, a in q:
      xi[i] ~ Lap(4*k/eps)
      if a + xi[i] >= eta:
        emit top
        count = count + 1
        if count >= k: break
      else: emit bottom
"""


def counted(claim: str) -> Verdict:
    """Of sparse vector, where the threshold costs `eps/2` and each `top` costs `eps/(2*k)`."""
    return verdict_of(spec(COUNTED, "eta += 1\nxi[i] += 2 when out[i] is top", privacy=claim))


def test_shares_are_those_of_the_bound() -> None:
    verdict = counted("eps/2 + eps*out.count(top)/(2*k) at most eps")
    assert isinstance(verdict, Verified)
    assert [part.share for part in cost_parts(verdict)] == ["1/2", "1/(2*k)"]


@pytest.mark.parametrize(
    ("claim", "needed"),
    [
        ("eps/2 + eps*out.count(top)/(2*k) at most eps/2", "eps/2 + eps*out.count(top)/(2*k) at most eps"),
        ("eps*len(out)/(2*k) at most eps", None),
        ("eps/4 + eps*out.count(top)/(4*k) at most eps/2", "eps/2 + eps*out.count(top)/(2*k) at most eps"),
    ],
)
def test_a_claim_of_the_output_fails_with_a_run_and_another_claim(claim: str, needed: str | None) -> None:
    verdict = counted(claim)
    assert isinstance(verdict, AlignmentFails)
    assert verdict.condition is Condition.COST
    assert verdict.counterexample is not None
    assert [text.split(" ", 1)[1].removeprefix("for ") for text in verdict.advice if "privacy" in text] == (
        [] if needed is None else [f"`privacy {needed}`"]
    )


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_is_unknown_and_never_a_verdict(seconds: float) -> None:
    """The kernel begins, and is interrupted at its first answer."""
    source = spec(*LAPLACE)
    verdict = judge(parse(source), source, time.monotonic() + seconds)
    assert isinstance(verdict, Unknown)
    assert verdict.message == "the kernel had not decided when the time was over"


def test_solver_doubt_is_never_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 1: with a solver that always gives up, only what needs no solver is proved."""
    from aligncheck.kernel.logic import Decider

    monkeypatch.setattr(Decider, "contradict", lambda self, *question: False)
    verdict = verdict_of(spec("eta ~ Lap(1/eps)\nemit value(x + eta)", "eta += x - x'", ONE_ANSWER))
    assert isinstance(verdict, Unknown)


REFUSED = {
    "contradictory-where": "x : query, sensitivity 1\nk : int where 1 < k and k < 2\neps : real",
    "bad-clause": "x : query, sensitivity k\nk : int\neps : real where eps > 0",
}


@pytest.mark.parametrize("code", REFUSED)
def test_declarations_that_cannot_be_met_are_refused(code: str) -> None:
    with pytest.raises(SpecError) as caught:
        verdict_of(spec("emit done", "", REFUSED[code]))
    assert caught.value.diagnostic.code == code


def test_too_many_paths_are_refused() -> None:
    program = "\n".join(f"if k > {n}: emit a\nelse: emit b" for n in range(12))
    with pytest.raises(SpecError) as caught:
        verdict_of(spec(program, "", ONE_ANSWER))
    assert caught.value.diagnostic.code == "too-many-paths"
    assert "as one in a loop" in (caught.value.diagnostic.help or "")
    loop = "for n in range(12):\n  if k > n: emit a\n  else: emit b"
    assert outcome(verdict_of(spec(loop, "", ONE_ANSWER))) == "verified"


def test_a_divisor_that_is_always_zero_is_no_crash() -> None:
    program = "y = 1/((k + 1)*(k + 1) - k*k - 2*k - 1)\neta ~ Lap(1/eps)\nemit value(x + eta + y)"
    assert outcome(verdict_of(spec(program, "eta += x - x'", ONE_ANSWER))) == "alignment fails at defined"


def test_a_file_that_is_not_there_is_an_error() -> None:
    result = verify_file("no/such/file.dp", Options())
    assert isinstance(result.verdict, Error)
    assert result.mechanism is None
    assert result.seconds >= 0


def test_help_comes_with_what_is_not_decided() -> None:
    verdict = verdict_of(spec("n = k\nwhile n > 0:\n  n = n/2\nemit done", "", ONE_ANSWER))
    assert isinstance(verdict, Unknown)
    assert verdict.condition is Condition.TERMINATES
    assert verdict.help is not None
    assert "move towards a bound" in verdict.help


LATTICE = (
    "u : queries, sensitivity 1, lattice g\ng : real where g > 0\neps : real where eps > 0 and len(u) >= 2"
)
WITH_GAP = """
for j in range(len(u)):
  z[j] ~ {}
best = argmax(u[j] + z[j] for j in u)
emit chosen(index = best, gap = u[best] + z[best] - max(u[j] + z[j] for j in u where j != best))
"""
GAP_KEPT = """
z[j] += (u[j] - u'[j] + max(u'[l] + z[l] for l in u where l != best)
         - max(u[l] + z[l] for l in u where l != best)) when j == best
"""


def test_what_ties_cost_is_said_where_only_they_are_in_the_way(exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("takes many seconds: run with --exhaustive")
    verdict = verdict_of(spec(WITH_GAP.format("DLap(2/eps, g)"), GAP_KEPT, LATTICE))
    assert isinstance(verdict, AlignmentFails)
    assert verdict.condition is Condition.OUTPUT
    (ties,) = [text for text in verdict.advice if "delta" in text]
    assert "at most delta = eps*g*len(u)*len(u)/2 (VLDB paper, appendix A.2)" in ties


def test_the_bound_on_ties_counts_what_the_selection_runs_over() -> None:
    program = (
        "for j in range(4):\n  z[j] ~ DLap(2/eps, g)\nbest = argmax(z[j] for j in range(1, 4))\nemit a(best)"
    )
    (ties,) = _ties(parse(spec(program, "", LATTICE)), lambda *_: True, Effort())
    assert "at most delta = 9*eps*g/2 (" in ties


def test_ties_are_not_blamed_where_continuous_noise_fails_too() -> None:
    verdict = verdict_of(spec(WITH_GAP.format("DLap(2/eps, g)"), "z[j] += 1 when j == best", LATTICE))
    assert isinstance(verdict, AlignmentFails)
    assert not [text for text in verdict.advice if "delta" in text]


SECOND_CHANCE = """
eta ~ Lap(2/eps)
xi ~ Lap(2/eps)
if x + eta >= 0:
  emit answer(above = true)
elif x + xi >= 0:
  emit answer(above = true)
else:
  emit answer(above = false)
"""


def test_no_loop_is_given_advice_where_there_is_none() -> None:
    shifts = "{0} += 1 when out[0].above\n{0} -= 1 when not out[0].above"
    align = "\n".join(shifts.format(name) for name in ("eta", "xi"))
    verdict = verdict_of(spec(SECOND_CHANCE, align, "x : query, sensitivity 1\neps : real where eps > 0"))
    assert isinstance(verdict, Unknown)
    assert "loop" not in (verdict.help or "")


def test_what_a_check_needs_is_loaded_before_processes_are_forked() -> None:
    """Otherwise each of them imports it anew, which takes longer than most checks."""
    program = (
        "import sys; from aligncheck.pipeline import Options, load_stages, verify_file; load_stages(); "
        "before = set(sys.modules); verify_file('specs/broken/isvt1.dp', Options()); "
        "print(sorted(set(sys.modules) - before - {'encodings.utf_8_sig'}))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"


class SlowMachine:
    """A clock on which everything takes 12 times as long."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def monotonic(self) -> float:
        return self.start + 12 * (time.monotonic() - self.start)


def test_what_is_said_does_not_depend_on_how_busy_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(path: str) -> tuple[object, ...]:
        result = verify_file(path, Options(timeout=300)).verdict
        assert isinstance(result, AlignmentFails)
        # Which one of several runs Z3 gives depends on what it was asked before.
        return result.message, result.primary, result.advice, result.help

    paths = [f"specs/broken/{name}.dp" for name in ("isvt2", "noisy_max_half_noise", "svt_off_by_one")]
    quiet = [said(path) for path in paths]
    monkeypatch.setattr("aligncheck.effort.time", SlowMachine())
    assert [said(path) for path in paths] == quiet


def test_a_search_ends_where_its_steps_do() -> None:
    effort = Effort(steps=10)
    part = effort.part(steps=8)
    part.spend(4)
    assert part.share(0.5).part().seconds_left() == float("inf")
    over = [part.is_over, effort.is_over]
    part.share(0.5).spend(6)
    assert [*over, part.is_over, effort.is_over] == [False, False, True, True]


def test_runs_come_before_a_proof_about_products() -> None:
    """The kernel may not come to an end with such a question within the time."""
    path = Path(__file__).parents[1] / "specs" / "written" / "clipped_moments.dp"
    text = path.read_text("utf-8")
    for old, new in (
        ("square - mean*mean", "square - mean*s1"),
        ("clip(x[j], 0, C) for", "min(x[j], C) for"),
    ):
        assert isinstance(verdict_of(Source(str(path), text.replace(old, new))), AlignmentFails)


def test_what_two_files_call_is_judged_once_for_each_text(tmp_path: Path) -> None:
    inputs = """
        x : query, sensitivity 1
        eps : real where eps > 0
    """
    callee = spec("eta ~ Lap(1/eps)\nemit value(x + eta)", "eta += x - x'", inputs).text
    known: Known = {}

    def calling(called: str, name: str = "small") -> str:
        text = spec(f"y = {called}(x = x, eps = eps)\nemit value(y[0].value)", "", inputs).text
        return text.replace("mechanism small", f'mechanism {name}\n\nuse {called} from "{called}.dp"')

    def verdict(called: str, its: str = callee) -> Verdict:
        (tmp_path / "m.dp").write_text(its.replace("mechanism small", "mechanism m"), "utf-8")
        (tmp_path / "between.dp").write_text(calling("m", "between"), "utf-8")
        (tmp_path / "small.dp").write_text(calling(called), "utf-8")
        return verify_file(str(tmp_path / "small.dp"), Options(explain=False), known).verdict

    other = callee.replace("Lap(1/eps)", "Lap(1/(2*eps))")
    assert isinstance(verdict("m"), Verified)
    (judged,) = known.values()
    assert isinstance(verdict("m"), Verified)
    assert next(iter(known.values())) is judged
    assert isinstance(verdict("m", other), Error)
    assert isinstance(verdict("between"), Verified)
    assert isinstance(verdict("between", other), Error), "the same text calls another"
    assert len(known) == 2
