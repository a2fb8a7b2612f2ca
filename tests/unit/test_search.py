"""The search for a concrete violation: what it finds is real, and it never makes one up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from small_specs import INPUTS, mechanism, spec

from aligncheck.effort import Effort
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.conditions import Condition
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.replay import replay
from aligncheck.search.failing import counterexamples
from aligncheck.search.failing.draws import draws_are_told
from aligncheck.search.witness.sorting import with_sorts

ONE_ANSWER = "x : query, sensitivity 1\nb : real where b >= 0\neps : real where eps > 0"
ALL = [c for c in Condition if c not in (Condition.TERMINATES, Condition.HYPOTHESES)]


def found(
    condition: Condition, program: str, align: str = "", inputs: str = ONE_ANSWER, steps: int = 15_000
) -> counterexamples.FailingRun | None:
    """A violation of a condition, if that is the first that is found."""
    source = spec(program, align, inputs)
    made = check(source, parse(source))
    small = counterexamples.SmallInputs(made, with_sorts(made, Witness()), any_will_do=False)
    violation = counterexamples.find_violation(small, condition, Effort(20, steps))
    return violation if violation is not None and violation.condition is condition else None


@pytest.mark.parametrize("condition", ALL, ids=lambda c: c.id)
def test_finds_nothing_wrong_with_what_is_right(condition: Condition) -> None:
    program = """
        n = 0
        eta ~ Exp(2/eps)
        for i, x in q:
          invariant n == i
          xi[i] ~ Lap(4/eps)
          n = n + 1
          if x + xi[i] >= eta:
            emit top(i)
            break
          else: emit below(i)
    """
    align = "eta += 1\nxi[i] += 1 + q[i] - q'[i] when out[i] is top"
    assert found(condition, program, align, INPUTS, steps=1_000) is None


def test_a_violation_is_small_and_points_at_the_place() -> None:
    program, align = "eta ~ Lap(1/eps)\nemit value(2*x + eta)", "eta += 2*x - 2*x'"
    violation = found(Condition.COST, program, align)
    assert violation is not None
    assert violation.condition is Condition.COST
    scenario = violation.counterexample.scenario
    assert all(isinstance(v, Fraction) and abs(v) <= 4 for _, v in (*scenario.data, *scenario.data_prime))
    assert spec(program, align, ONE_ANSWER).text_of(violation.span) == "eps"


def test_a_violation_replays() -> None:
    program = "eta ~ Lap(b/eps)\nemit value(x + eta)"
    source = spec(program, "eta += x - x'", ONE_ANSWER)
    violation = found(Condition.SCALES, program, "eta += x - x'")
    assert violation is not None
    done = replay(check(source, parse(source)), violation.counterexample.scenario)
    assert Condition.SCALES in {v.condition for v in done.violations}
    assert dict(violation.counterexample.scenario.parameters)["b"] == 0


@pytest.mark.parametrize(
    ("value", "fails"),
    [
        ("x - x' + out[0].value - out[0].value", False),
        ("floor(out[0].value)", False),
        ("clip(out[0].value, 1, 2)", True),
        ("1 when eta >= out[0].value", True),
        ("1 when eta >= out[0].value or eta < out[0].value", False),
    ],
)
def test_a_shift_that_reads_a_release_has_to_follow_it(value: str, fails: bool) -> None:
    program = "eta ~ Lap(1/eps)\nemit value(x + eta)\nxi ~ Lap(1/eps)\nif xi >= 0: emit top\nelse: emit low"
    align = f"eta += x - x'\nxi += {value}"
    failing = found(Condition.COUNTABLE, program, align, steps=2_000)
    assert (failing is not None) is fails


def test_no_time_finds_nothing() -> None:
    assert found(Condition.SCALES, "eta ~ Lap(b/eps)\nemit value(x + eta)", steps=0) is None


def test_what_the_replay_does_not_confirm_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppose that the question to the solver is nonsense: its models violate nothing."""
    monkeypatch.setattr(counterexamples._Search, "_formulas", lambda self, question, models: [])
    monkeypatch.setattr(counterexamples, "_OTHERS", ())
    program = "eta ~ Lap(1/eps)\nemit value(x + eta)"
    assert found(Condition.COST, program, "eta += x - x'") is None
    assert found(Condition.OUTPUT, program, "eta += x - x'") is None


def test_where_clauses_are_kept() -> None:
    inputs = "x : query, sensitivity 1\nb : real where b > 1/4 and b < 1/2\neps : real where eps > 0"
    violation = found(Condition.COST, "eta ~ Lap(b/eps)\nemit value(x + eta)", "eta += x - x'", inputs)
    if violation is not None:
        b = dict(violation.counterexample.scenario.parameters)["b"]
        assert isinstance(b, Fraction)
        assert Fraction(1, 4) < b < Fraction(1, 2)


def test_a_violation_in_a_later_round_needs_a_longer_list() -> None:
    program = "for i, x in q:\n  xi[i] ~ Lap(1/eps)\n  emit count(x + xi[i])"
    inputs = "q : queries, sensitivity 1\neps : real where eps > 0"
    violation = found(Condition.COST, program, "xi[i] += q[i] - q'[i]", inputs)
    assert violation is not None
    (answers,) = [v for name, v in violation.counterexample.scenario.data if name == "q"]
    assert isinstance(answers, tuple)
    assert len(answers) == 2


SOME = "q : queries, sensitivity 1\neps : real where eps > 0 and len(q) >= 1"
NOISY = "for i, x in q:\n  eta[i] ~ Lap(2/eps)\n"
CHOSEN = NOISY + "w = argmax(q[i] + eta[i] for i in q)\n"


def test_a_shift_that_needs_its_own_aligned_draw() -> None:
    program = CHOSEN + "best = max(q[i] + eta[i] for i in q)\nemit chosen(w)"
    violation = found(Condition.ACYCLIC, program, "eta[i] += best' - best when i == w", SOME)
    assert violation is not None
    assert violation.condition is Condition.ACYCLIC
    assert "depends on itself" in violation.message
    others = program.replace("for i in q)\nemit", "for i in q where i != w)\nemit")
    assert found(Condition.ACYCLIC, others, "eta[i] += best' - best when i == w", SOME, 2) is None


@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        ("w = argmax(p[i] for i in q)\nemit v(p[w])", "p : vector\n" + SOME),
        ("w = top(k, i for i in q)\nemit v(w[0])", "k : int where k >= 1\n" + SOME),
        (CHOSEN + "emit chosen(w)", SOME.replace(" and len(q) >= 1", "")),
        ("for i in range(1, len(q)):\n  eta[i] ~ Lap(1)\nm = max(eta[i] for i in q)\nemit v(m)", SOME),
    ],
    ids=["lists of different lengths", "more than there are", "an empty list", "a draw that was never made"],
)
def test_what_selections_leave_undefined(program: str, inputs: str) -> None:
    assert found(Condition.DEFINED, program, inputs=inputs) is not None


@pytest.mark.parametrize(
    ("condition", "program"),
    [
        (Condition.DRAWS, "if w > 0: nu ~ Lap(1)\nemit done"),
        (Condition.SCALES, "nu ~ Lap(w + 1)\nemit done"),
        (Condition.SCALES, "s = 1\nif w > 0: s = 2\nnu ~ Lap(s)\nemit done"),
    ],
    ids=["a draw", "a scale", "a scale by way of a branch"],
)
def test_what_a_selection_decides_that_is_not_shown(condition: Condition, program: str) -> None:
    violation = found(condition, CHOSEN + program, "eta[i] += q[i] - q'[i]", SOME)
    assert violation is not None
    assert violation.counterexample.second is not None
    shown = program.replace("done", "chosen(w)")
    assert found(condition, CHOSEN + shown, "eta[i] += q[i] - q'[i]", SOME, 2) is None


def test_runs_are_tried_where_the_solver_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterexamples.SmallInputs, "asked", lambda *arguments, **more: None)
    violation = found(Condition.OUTPUT, CHOSEN + "emit chosen(w)", "eta[i] += 0", SOME)
    assert violation is not None
    scenario = violation.counterexample.scenario
    assert all(value != 0 for _, value in scenario.noise), "draws that do not matter are left out"
    assert found(Condition.OUTPUT, CHOSEN + "emit chosen(w)", "eta[i] += 2 when i == w", SOME, 2) is None


def shown(program: str, align: str = "", inputs: str = ONE_ANSWER) -> Condition | None:
    """What a few runs show before anything is proved."""
    made = mechanism(program, align, inputs)
    small = counterexamples.SmallInputs(made, with_sorts(made, Witness()), any_will_do=True)
    run = counterexamples.shown_by_runs(small, counterexamples.few_runs(made), Effort(20))
    return None if run is None else run.condition


@pytest.mark.parametrize(
    ("program", "align", "condition"),
    [
        ("eta ~ Lap(1/eps)\nemit value(x + eta)", "eta += x - x'", None),
        ("eta ~ Lap(1/(2*eps))\nemit value(x + eta)", "eta += x - x'", Condition.COST),
        ("eta ~ Lap(1/eps)\nemit value(x + eta)", "", Condition.OUTPUT),
        ("eta ~ Exp(1/eps)\nemit value(x + eta)", "eta += x - x'", Condition.SUPPORT),
    ],
)
def test_a_few_runs_show_what_no_proof_gets_around(
    program: str, align: str, condition: Condition | None
) -> None:
    assert shown(program, align) is condition


def test_runs_do_not_say_what_the_kernel_may_do_without() -> None:
    """The literal lemma asks for equal scales and draws, the kernel for less."""
    assert shown("eta ~ Lap(1 + abs(x))\nemit done", "eta += 0") is None
    assert shown("if x > 0:\n  eta ~ Lap(1/eps)\nemit done") is None


def test_runs_of_two_faults_do_not_say_which_comes_first() -> None:
    assert shown("eta ~ Lap(1/(2*eps))\nemit value(2*x + eta)", "eta += x - x'") is None


def test_what_stands_before_the_end_is_named_before_what_runs_are_compared_by() -> None:
    """A draw that is impossible on D', and costs too much."""
    program = "eta ~ Exp(1/(2*eps))\nemit value(x + eta)"
    assert shown(program, "eta += x - x'") is Condition.SUPPORT
    assert counterexamples.few_runs(mechanism(program, "eta += x - x'", ONE_ANSWER)).violating.keys() >= {
        Condition.COST
    }


@pytest.mark.parametrize(
    ("program", "condition"),
    [
        ("eta ~ Lap(0)\nemit value(x + eta)", Condition.SCALES),
        ("eta ~ Lap(1/eps)\neta ~ Lap(1/eps)\nemit done", Condition.FRESH),
        ("emit value(1/(x - x))", Condition.DEFINED),
    ],
)
def test_a_fault_on_d_leaves_nothing_to_accept(program: str, condition: Condition) -> None:
    assert shown(program) is condition


def test_runs_that_do_not_end_are_left_alone() -> None:
    program = "n = 1\nwhile n > 0:\n  n = n/2\nemit value(x)"
    assert shown(program) is None
    assert counterexamples.few_runs(mechanism(program, "", ONE_ANSWER)).endless


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("for i, y in q:\n  eta[i] ~ Lap(1)\n  if y + eta[i] > 0: emit top\n  else: emit low", True),
        (
            "for i, y in q:\n  eta[i] ~ Lap(1)\n  if y + eta[i] > 0:\n    emit top\n    break\n  emit low",
            True,
        ),
        ("xi ~ Lap(1)\nif xi > 0:\n  eta ~ Lap(1)\n  emit top\nelse: emit low", True),
        ("xi ~ Lap(1)\nif xi > 0:\n  eta ~ Lap(1)\nemit top", False),
        ("for i, y in q:\n  eta[i] ~ Lap(1)\n  if y + eta[i] > 0: break\nemit done", False),
        ("w = argmax(q[j] for j in q)\neta[w] ~ Lap(1)\nemit done", False),
    ],
    ids=["each round", "the last round", "an arm", "a hidden arm", "hidden rounds", "an index"],
)
def test_draws_that_the_tags_tell(program: str, told: bool) -> None:
    assert draws_are_told(mechanism(program, "", SOME).body) is told
