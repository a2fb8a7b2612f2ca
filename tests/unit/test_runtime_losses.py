"""Conversions of privacy losses: beside public accountants and exact arithmetic, never below the truth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from aligncheck.runtime import ParameterError, losses

ACCOUNTED = [
    ("0.5", "1e-6", 5.22153444453017, 4.8865541174622),
    ("0.0001", "1e-6", 0.05372712063485988, 0.048906415967544),
    ("0.01", "1e-9", 0.8101744678675343, 0.76821171279586),
    ("3", "1e-5", 13.774455066669612, 12.870661783462),
    ("0.1", "0.01", 0.9787547576255943, 0.79219583609957),
    ("50", "1e-12", 122.734604859781, 119.58840871231),
    ("0.125", "1e-30", 5.822627679844895, 5.7182965818081),
]
"""ρ, δ, the tight ε by OpenDP 0.16.0 (and, to 12 digits, dp-accounting 0.6.0), what Gaussian noise has: by
`tests/bench/accountants.py`.
"""
CLOSE = "1.0000000000000000000000001"


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    before, ctx.prec = ctx.prec, 300
    yield
    ctx.prec = before


def exactly(number: Fraction | str) -> Any:
    value = Fraction(number)
    return arb(fmpq(value.numerator, value.denominator))


@pytest.mark.parametrize(("rho", "delta", "accounted", "gaussian"), ACCOUNTED)
def test_of_rho_in_epsilon_and_delta(rho: str, delta: str, accounted: float, gaussian: float) -> None:
    tight, simple = losses.tight_epsilon_of(rho, delta), losses.epsilon_of(rho, delta)
    assert float(tight) == pytest.approx(accounted, rel=1e-12)
    assert gaussian < tight < simple
    # Rounded up, by very little.
    exact = exactly(rho) + 2 * (exactly(rho) * -exactly(delta).log()).sqrt()
    assert exact < exactly(simple) < exact * exactly(CLOSE)

    def at(order: float) -> Any:
        a = arb(order)
        return a * exactly(rho) + (-exactly(delta).log() - a.log()) / (a - 1) + (1 - 1 / a).log()

    middle = 1 + math.sqrt(-math.log(float(Fraction(delta))) / float(Fraction(rho)))
    least = min((at(1 + (middle - 1) * 2 ** (i / 2000)) for i in range(-3000, 1000, 4)), key=float)
    assert least * (1 - 1e-6) < exactly(tight) < least
    # The three say the same.
    assert float(losses.tight_delta_of(rho, tight)) == pytest.approx(float(Fraction(delta)), rel=1e-12)
    assert float(losses.concentrated_within(tight, delta)) == pytest.approx(float(Fraction(rho)), rel=1e-12)
    assert losses.tight_epsilon_of(losses.concentrated_within(1, delta), delta) <= 1 + Fraction(1, 10**9)


def test_ends_of_the_range() -> None:
    tiny, huge = Fraction(1, 10**300), 1 << 16
    assert (
        losses.epsilon_of(0, "1/2") == losses.tight_epsilon_of(0, "1/2") == losses.tight_delta_of(0, 1) == 0
    )
    assert 0 < losses.tight_epsilon_of(tiny, tiny) <= losses.epsilon_of(tiny, tiny) < Fraction(1, 10**140)
    assert huge < losses.tight_epsilon_of(huge, tiny) <= losses.epsilon_of(huge, tiny) < 3 * huge
    assert losses.tight_delta_of(huge, 0) == 1
    assert 0 < losses.tight_delta_of(tiny, huge) < tiny
    assert losses.concentrated_within(0, "1/10") >= 0
    assert losses.advanced(0, 10, "1/2") == losses.advanced(1, 0, "1/2") == 0
    calls: list[Callable[[], object]] = [
        lambda: losses.epsilon_of(-1, "1/2"),
        lambda: losses.epsilon_of(1, 0),
        lambda: losses.tight_epsilon_of(1, 1),
        lambda: losses.tight_delta_of(1 << 17, 1),
        lambda: losses.advanced(1, -1, "1/2"),
    ]
    for call in calls:
        with pytest.raises(ParameterError):
            call()


def divergence(order: Fraction, p: list[Any], q: list[Any]) -> Any:
    return sum(a ** exactly(order) * b ** (1 - exactly(order)) for a, b in zip(p, q, strict=True)).log() / (
        exactly(order) - 1
    )


def test_pure_losses_are_concentrated() -> None:
    """Rényi divergences of randomized responses."""
    for epsilon, order in itertools.product(
        (Fraction(1, 10), Fraction(1), Fraction(4)), (Fraction(101, 100), Fraction(2), Fraction(20))
    ):
        high = exactly(epsilon).exp()
        rho = losses.concentrated(losses.PureLoss(epsilon))
        assert rho is not None
        response = [high / (1 + high), 1 / (1 + high)]
        assert divergence(order, response, response[::-1]) <= exactly(order * rho)
    assert losses.concentrated(losses.ApproximateLoss(Fraction(1), Fraction(0))) == Fraction(1, 2)
    assert losses.concentrated(losses.ApproximateLoss(Fraction(1), Fraction(1, 9))) is None


def test_advanced_composition_is_above_the_least_there_is() -> None:
    """That of randomized responses: by the exact hockey-stick divergence of their number of agreements."""
    epsilon, calls, slack = Fraction(1, 10), 100, Fraction(1, 10**6)
    claimed = losses.advanced(epsilon, calls, slack)
    exact = (2 * calls * -exactly(slack).log()).sqrt() * exactly(epsilon)
    exact += calls * exactly(epsilon) * (exactly(epsilon).exp() - 1)
    assert exact < exactly(claimed) < exact * exactly(CLOSE)
    share = exactly(epsilon).exp() / (1 + exactly(epsilon).exp())

    def delta(level: Any) -> Any:
        total = arb(0)
        for agreeing in range(calls + 1):
            p, q = (
                math.comb(calls, agreeing) * a**agreeing * (1 - a) ** (calls - agreeing)
                for a in (share, 1 - share)
            )
            excess = p - exactly(level).exp() * q
            total += excess if excess > 0 else 0
        return total

    assert delta(claimed) < exactly(slack) < delta(claimed / 2)
    # Dwork and Roth's formula for one run is above ε only by what it is.
    assert losses.advanced(epsilon, 1, Fraction(1, 2)) > epsilon


def test_groups() -> None:
    assert losses.of_group(losses.PureLoss(Fraction(1, 3)), 3) == losses.PureLoss(Fraction(1))
    assert losses.of_group(losses.ConcentratedLoss(Fraction(1, 3)), 3) == losses.ConcentratedLoss(Fraction(3))
    delta = Fraction(1, 1000)
    found = losses.of_group(losses.ApproximateLoss(Fraction(1), delta), 3)
    assert isinstance(found, losses.ApproximateLoss)
    assert found.epsilon == 3
    exact = exactly(delta) * (1 + arb(1).exp() + arb(2).exp())
    assert exact < exactly(found.delta) < exact * exactly(CLOSE)
    assert losses.of_group(losses.ApproximateLoss(Fraction(1), delta), 1) == losses.ApproximateLoss(
        Fraction(1), delta
    )
    assert losses.of_group(losses.ApproximateLoss(Fraction(1), delta), 0) == losses.ApproximateLoss(
        Fraction(0), Fraction(0)
    )
    assert losses.of_group(losses.ApproximateLoss(Fraction(1), delta), 10**9) == losses.ApproximateLoss(
        Fraction(10**9), Fraction(1)
    )
