"""The search for a concrete violation: what it finds is real, and it never makes one up."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from small_specs import INPUTS, spec

from aligncheck.check import check
from aligncheck.conditions import Condition
from aligncheck.discharge import search
from aligncheck.discharge.search import Violation, find_violation
from aligncheck.replay import replay
from aligncheck.syntax.parse import parse

ONE_ANSWER = "x : query, sensitivity 1\nb : real where b >= 0\neps : real where eps > 0"
ALL = [c for c in Condition if c not in (Condition.TERMINATES, Condition.HYPOTHESES)]


def found(
    condition: Condition, program: str, align: str = "", inputs: str = ONE_ANSWER, seconds: float = 5
) -> Violation | None:
    source = spec(program, align, inputs)
    return find_violation(check(source, parse(source)), source, condition, time.monotonic() + seconds)


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
    assert found(condition, program, align, INPUTS) is None


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


def test_no_time_finds_nothing() -> None:
    assert found(Condition.SCALES, "eta ~ Lap(b/eps)\nemit value(x + eta)", seconds=-1) is None


def test_what_the_replay_does_not_confirm_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppose that the question to the solver is nonsense: its models violate nothing."""
    monkeypatch.setattr(search._Search, "_questions", lambda self, path, analysis: iter([()]))
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
