"""Violations beside a δ, and of claims in ρ: levels by formulas, sets of outputs by trying all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import pytest
from small_specs import mechanism

from aligncheck.effort import Effort
from aligncheck.meaning.exact import Undecided
from aligncheck.meaning.interpreter import Inputs
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.certify import certified, exceeds, level_of
from aligncheck.refutation.claims import ORDERS, Granted, divergence, granted_for, level
from aligncheck.refutation.enclosure import Ball, NotComputable
from aligncheck.refutation.events import (
    Between,
    CompleteOutput,
    Event,
    Exactly,
    OneOf,
    Raises,
    RecordPattern,
    describe,
    disjoint,
)
from aligncheck.refutation.measure import Meter
from aligncheck.refutation.pair_search import Candidate, score, united
from aligncheck.refutation.probability import probability, shapes
from aligncheck.refutation.refuter import Aim, refute
from aligncheck.refutation.violation import LossKind, Violation

HALF, ONE = Fraction(1, 2), Fraction(1)
DELTA = """
q : queries, sensitivity 1
eps : real where eps > 0
delta : real where delta > 0 and delta < 1
"""
RESPONSES = """
for i, x in q:
  eta[i] ~ Lap(1/eps)
  if x + eta[i] >= 1/2:
    emit yes
  else:
    emit no
"""


def exactly(value: Fraction) -> Ball:
    return Ball(value, value)


def test_levels() -> None:
    p, q = math.log(0.5), math.log(0.1)
    assert level(p, q, 0.0, concentrated=False) == pytest.approx(math.log(5))
    assert level(p, q, 0.2, concentrated=False) == pytest.approx(math.log(3))
    assert level(p, q, 0.6, concentrated=False) == 0.0
    assert divergence(p, q, 2.0) == pytest.approx(math.log(0.25 / 0.1 + 0.25 / 0.9))
    assert divergence(0.0, q, 2.0) == pytest.approx(-q)
    assert divergence(p, -math.inf, 2.0) == math.inf
    best = max(divergence(p, q, order) / order for order in ORDERS)
    assert level(p, q, 0.0, concentrated=True) == pytest.approx(best)
    # A coin that lands on D as on D' shows nothing.
    assert level(p, p, 0.0, concentrated=True) == pytest.approx(0.0, abs=1e-12)


def test_what_is_certified_is_below() -> None:
    tenth = Fraction(1, 10)
    beside = Granted(ONE, Fraction(1, 5))
    assert exceeds(exactly(HALF), exactly(tenth), beside)
    assert not exceeds(exactly(HALF), exactly(tenth), Granted(ONE, Fraction(1, 4)))
    assert exceeds(exactly(Fraction(3, 10)), exactly(Fraction(0)), beside)
    assert not exceeds(exactly(Fraction(1, 5)), exactly(Fraction(0)), beside), "equal is not more"
    found = level_of(exactly(HALF), exactly(tenth), beside)
    assert found is not None
    assert 0 <= math.log(3) - float(found) < 1e-12
    with pytest.raises(Undecided):
        level_of(exactly(tenth), exactly(tenth), beside)
    rho = Granted(ONE, concentrated=True)
    shown = level_of(exactly(HALF), exactly(tenth), rho)
    assert shown is not None
    assert float(shown) == pytest.approx(level(math.log(0.5), math.log(0.1), 0.0, concentrated=True))
    for claim in (shown - Fraction(1, 10**9), shown + Fraction(1, 10**9)):
        assert exceeds(exactly(HALF), exactly(tenth), Granted(claim, concentrated=True)) is (claim < shown)
    assert exceeds(exactly(tenth), exactly(Fraction(0)), rho)
    assert not exceeds(exactly(Fraction(0)), exactly(Fraction(0)), rho)


def on(first: list[int], second: list[int], delta: Fraction = Fraction(1, 50)) -> Scenario:
    data = [(("q", tuple(map(Fraction, answers))),) for answers in (first, second)]
    return Scenario((("eps", ONE), ("delta", delta)), data[0], data[1])


def sets(events: list[CompleteOutput]) -> Iterator[tuple[CompleteOutput, ...]]:
    for size in range(2, len(events) + 1):
        yield from combinations(events, size)


def test_the_set_of_outputs_that_shows_most() -> None:
    """Beside a great δ: of all sets of outputs of three responses."""
    of = mechanism(RESPONSES, inputs=DELTA, privacy="eps delta delta")
    scenario = on([0, 0, 0], [1, 1, 1], Fraction(2, 5))
    meter = Meter(of, Effort())
    events = meter.outputs(scenario.parameters, scenario.data, 100)
    best = united(meter, scenario, events)
    assert best is not None
    assert isinstance(best.candidate.event, OneOf)
    assert len(best.candidate.event.outputs) == 4, "no more than one `yes`"

    def chances(data: Inputs) -> dict[Event, float]:
        found = shapes(of, {**dict(scenario.parameters), **dict(data)})
        return {event: float(ball) for event, ball in found}

    left, right = chances(scenario.data), chances(scenario.data_prime)
    complete = [event for event in events if isinstance(event, CompleteOutput)]
    levels = [
        math.log((p - 0.4) / sum(right[event] for event in some))
        for some in sets(complete)
        if (p := sum(left[event] for event in some)) > 0.4
    ]
    assert best.level == pytest.approx(max(levels))
    single = max(s.level for event in events if (s := score(meter, Candidate(scenario, event))) is not None)
    assert best.level > single + 0.3


def test_outputs_that_may_be_the_same_are_not_added_up() -> None:
    one = CompleteOutput((RecordPattern("v", (("x", Exactly(ONE)),)),))
    other = CompleteOutput((RecordPattern("v", (("x", Exactly(HALF)),)),))
    near = CompleteOutput((RecordPattern("v", (("x", Between(None, ONE)),)),))
    begun = CompleteOutput((RecordPattern("w"),), complete=False)
    assert disjoint(one, other)
    assert disjoint(one, CompleteOutput(()))
    assert not any(disjoint(one, each) for each in (near, begun, one))
    assert describe(OneOf((one, CompleteOutput(())))) == "one of: [v(x = 1)], [no record]"
    of = mechanism(RESPONSES, inputs=DELTA, privacy="eps delta delta")
    yes = CompleteOutput((RecordPattern("yes"),))
    inputs = {**dict(on([0], [1]).parameters), "q": (Fraction(0),)}
    with pytest.raises(NotComputable, match="may be the same"):
        probability(of, inputs, OneOf((yes, yes)))
    no = CompleteOutput((RecordPattern("no"),))
    whole = probability(of, inputs, OneOf((yes, no)))
    assert whole.lower <= 1 <= whole.upper
    assert not isinstance(Raises(), OneOf)


def test_a_claim_that_is_just_too_small_is_refuted_and_one_that_holds_is_not() -> None:
    """Laplace noise of half the scale: δ is 1 - exp(-ε/2), 0.3935 at ε = 1."""
    of = mechanism("eta ~ Lap(1/(2*eps))\nemit value(q[0] + eta)", inputs=DELTA, privacy="eps delta delta")
    fixed: Inputs = (("eps", ONE), ("delta", Fraction(39, 100)))
    found = refute(of, Aim(fixed, seconds=None, probabilities=600, any_will_do=True))
    assert isinstance(found, Violation)
    assert (found.delta, found.kind) == (Fraction(39, 100), LossKind.FINITE)
    assert found.trace is not None
    again = certified(of, Candidate(found.scenario, found.event), Effort())
    assert again is not None
    assert again.level == found.level
    fixed = (("eps", ONE), ("delta", Fraction(2, 5)))
    assert not isinstance(refute(of, Aim(fixed, seconds=None, probabilities=200)), Violation)


def test_a_claim_in_rho() -> None:
    inputs = "q : queries, sensitivity 1\neps : real where eps > 0"
    for privacy, wrong in (("eps**2/4 zcdp", True), ("eps**2/2 zcdp", False)):
        of = mechanism("eta ~ Lap(1/eps)\nemit value(q[0] + eta)", inputs=inputs, privacy=privacy)
        found = refute(of, Aim((("eps", ONE),), seconds=None, probabilities=300, any_will_do=True))
        assert isinstance(found, Violation) is wrong
        if isinstance(found, Violation):
            assert found.delta is None
            assert granted_for(of, found.scenario, found.event) == Granted(Fraction(1, 4), concentrated=True)
