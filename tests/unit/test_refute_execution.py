"""The ways through a program: how many, what restricts them, and that laziness hides nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from small_specs import mechanism, spec

from aligncheck.language.syntax.contract import Contract
from aligncheck.language.syntax.nodes import Argument, Assign, Invoke, Mechanism, Name, Number, OutField, Use
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation.events import CompleteOutput, Event, Exactly, Raises, RecordPattern
from aligncheck.refutation.execution import Execution, SymbolicPath
from aligncheck.refutation.probability import probability

F = Fraction


def answers(*values: int) -> dict[str, Input]:
    return {"q": tuple(map(F, values)), "k": F(2), "eps": F(1)}


def ways(program: Mechanism, event: Event | None, *values: int) -> list[SymbolicPath]:
    return list(Execution(program, answers(*values), event, lambda: None).ways())


def chosen(*indices: int) -> CompleteOutput:
    return CompleteOutput(tuple(RecordPattern("chosen", (("index", Exactly(i)),)) for i in indices))


TOP = mechanism(
    """
    for i, x in q: xi[i] ~ Lap(1/eps)
    w = top(k, q[i] + xi[i] for i in q)
    best = max(q[i] + xi[i] for i in q where i not in w)
    for r in range(k):
      j = w[r]
      if r < k - 1:
        emit chosen(index = j, gap = q[j] + xi[j] - q[w[r + 1]] - xi[w[r + 1]])
      else:
        emit chosen(index = j, gap = q[j] + xi[j] - best)
    """
)


def test_an_order_is_a_chain_and_the_others_meet_its_end_only() -> None:
    (way,) = ways(TOP, chosen(2, 0), 0, 1, 2, 3, 4)
    assert set(way.restricted) == {((0, 1), (2, -1)), *(((0, 1), (other, -1)) for other in (1, 3, 4))}


def test_without_an_event_every_order_is_a_way() -> None:
    assert len(ways(TOP, None, 0, 1, 2, 3)) == 4 * 3


def test_records_that_do_not_fit_are_dropped_at_once() -> None:
    long = mechanism(
        """
        for i, x in q:
          xi[i] ~ Lap(1)
          if x + xi[i] > 0: emit top
          else: emit bottom
        """
    )
    fitting = CompleteOutput((RecordPattern("bottom"),) * 8)
    (way,) = ways(long, fitting, *range(8))
    assert len(way.restricted) == 8
    assert len(ways(long, None, 0, 1, 2)) == 8


def test_what_is_known_is_not_asked_again() -> None:
    twice = mechanism("a ~ Exp(1)\nif a > 1 or a > 2: emit yes\nif a >= 0 and a <= 1: emit no")
    assert len(ways(twice, None, 0)) == 2


def test_selections_over_the_same_values_share_what_is_decided() -> None:
    both = mechanism(
        """
        for i, x in q: xi[i] ~ Lap(1)
        one = top(1, q[i] + xi[i] for i in q)
        two = top(2, q[i] + xi[i] for i in q)
        emit chosen(index = two[0])
        emit chosen(index = two[1])
        emit shared(first = two[0] in one, second = two[1] in one, same = one[0] == two[0])
        """
    )
    for way in ways(both, None, 0, 1, 2):
        assert dict(way.released[2].fields) == {"first": True, "second": False, "same": True}


def test_a_maximum_that_nobody_reads_may_still_be_undefined() -> None:
    hidden = mechanism(
        """
        for i, x in q: xi[i] ~ Lap(1)
        w = argmax(q[i] + xi[i] for i in q)
        m = max(xi[i]/(q[i] - 1) for i in q where i != w)
        emit chosen(index = w)
        """
    )
    # Only if index 1, whose answer is 1, is the winner, nobody divides by 0.
    won = probability(hidden, answers(0, 1, 0), chosen(1))
    assert won.lower > 0
    assert probability(hidden, answers(0, 1, 0), chosen(0)).is_zero
    raised = probability(hidden, answers(0, 1, 0), Raises())
    assert abs(1 - won.lower - raised.lower) < F(1, 10**20)
    empty = mechanism(
        """
        for i, x in q: xi[i] ~ Lap(1)
        w = argmax(q[i] + xi[i] for i in q)
        m = max(xi[i] for i in q where i != w)
        emit chosen(index = w)
        """
    )
    assert probability(empty, answers(3), Raises()).lower == 1


def test_the_value_of_an_index_that_does_not_pass_is_not_needed() -> None:
    guarded = mechanism(
        """
        for i, x in q: xi[i] ~ Lap(1)
        w = upto(1, xi[i]/(q[i] - 1) for i in q where q[i] > 1 + 0*xi[i])
        emit chosen(index = len(w))
        """
    )
    assert probability(guarded, answers(1, 0), chosen(0)).lower == 1
    assert probability(guarded, answers(1, 2), chosen(1)).lower == 1


@pytest.mark.parametrize(("op", "count"), [(">=", 1), (">", 0)])
def test_thresholds_keep_strictness_on_a_lattice(op: str, count: int) -> None:
    """All the noise is the same draw, so that every margin is 0."""
    level = mechanism(
        f"a ~ Geo(1/2)\nw = upto(5, q[i] + a for i in q where q[i] + a {op} a)\nemit chosen(index = len(w))"
    )
    assert probability(level, answers(0), chosen(count)).lower == 1


def test_threshold_selections_agree_with_their_definition() -> None:
    """Of two geometric variables the one that is greater and above a third: all pairs, by hand."""
    above = mechanism(
        """
        t ~ Geo(1/2)
        for i, x in q: xi[i] ~ Geo(1/2)
        w = upto(1, xi[i] for i in q where xi[i] >= t)
        if len(w) == 1:
          emit chosen(index = w[0])
        else:
          emit none
        """
    )
    mass = [F(1, 2 ** (n + 1)) for n in range(60)]
    first = sum(mass[a] * mass[b] * mass[t] for a in range(60) for b in range(a + 1) for t in range(a + 1))
    found = probability(above, answers(0, 0), chosen(0))
    assert abs(found.lower - first) < F(1, 2**50)
    none = probability(above, answers(0, 0), CompleteOutput((RecordPattern("none"),)))
    second = sum(mass[b] * mass[a] * mass[t] for b in range(60) for a in range(b) for t in range(b + 1))
    assert abs(1 - none.lower - first - second) < F(1, 2**50)


def test_calls_are_executed_in_place() -> None:
    """Their noise is their own, though it has the same name."""
    inner = mechanism("eta ~ Lap(1)\nif q[0] + eta > 0: emit said(value = eta)\nelse: emit said(value = 5)")
    outer = mechanism("eta ~ Lap(1)\ny = 0\nif eta + y > 0: emit yes\nelse: emit no")
    arguments = tuple(Argument(n, Name(n)) for n in ("q", "k", "eps"))
    call = Invoke("got", "inner", arguments)
    read = Assign("y", OutField(Number(F(0)), "value", of="got"))
    use = Use("inner", "inner.dp", contract=Contract(inner, spec("pass")))
    whole = replace(outer, uses=(use,), body=(call, outer.body[0], read, outer.body[2]))
    # The sum of a positive Laplace number and another one is positive with probability 3/4.
    found = probability(whole, answers(0), CompleteOutput((RecordPattern("yes"),)))
    assert float(found) == pytest.approx(0.5 * 0.75 + 0.5 * (1 - math.exp(-5) / 2))
