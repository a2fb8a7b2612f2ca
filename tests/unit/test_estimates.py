"""The noise of a gap, its quantiles, and the bounds that they give for answers."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aligncheck.runtime import Estimate, FloatingNoise, GapNoise, ParameterError

DRAWS = 40_000
SCALES = [(1.0, 1.0), (1.0, 3.0), (4.0, 0.5), (Fraction(240, 7), Fraction(20, 7))]
scales = st.floats(0.01, 100.0)
confidences = st.floats(0.001, 0.999)


def lemma_7(t: float, e0: float, e1: float) -> float:
    """P(xi - eta >= -t) as the papers write it, e0 and e1 being one over the scales of eta and xi."""
    if e0 == e1:
        return 1 - (2 + e0 * t) / 4 * math.exp(-e0 * t)
    return 1 - (e0**2 * math.exp(-e1 * t) - e1**2 * math.exp(-e0 * t)) / (2 * (e0**2 - e1**2))


@given(st.floats(0, 300.0), scales, scales)
def test_the_closed_form_of_the_papers(t: float, answer: float, threshold: float) -> None:
    e0, e1 = 1 / threshold, 1 / answer
    if e0 != e1 and abs(e0 - e1) < 1e-3 * e0:
        return  # there the papers' form loses its digits
    assert GapNoise(answer, threshold).probability_at_most(t) == pytest.approx(lemma_7(t, e0, e1), abs=1e-10)


def test_close_rates_are_as_equal_ones() -> None:
    equal = GapNoise(2.0, 2.0).probability_at_most(3.0)
    assert equal == pytest.approx(lemma_7(3.0, 0.5, 0.5), abs=1e-15)
    assert GapNoise(2.0, math.nextafter(2.0, 3.0)).probability_at_most(3.0) == pytest.approx(equal, abs=1e-15)


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize(("answer", "threshold"), SCALES)
def test_draws_follow_it(answer: Fraction, threshold: Fraction, one_sided: bool) -> None:
    noise = FloatingNoise(5)
    many = noise.exponentials if one_sided else noise.laplaces
    mean = answer - threshold if one_sided else 0
    pairs = zip(many(answer, DRAWS), many(threshold, DRAWS), strict=True)
    drawn = [float(xi - eta - mean) for xi, eta in pairs]
    gap = GapNoise(answer, threshold, one_sided)
    assert math.sqrt(sum(x * x for x in drawn) / DRAWS) == pytest.approx(gap.standard_deviation, rel=0.03)
    for confidence in (0.05, 0.3, 0.5, 0.8, 0.95, 0.99):
        margin = gap.margin(confidence)
        share = sum(x <= margin for x in drawn) / DRAWS
        assert abs(share - confidence) < 4 * math.sqrt(confidence * (1 - confidence) / DRAWS)


@given(confidences, scales, scales, st.booleans())
def test_the_margin_inverts_the_distribution(
    confidence: float, answer: float, threshold: float, one_sided: bool
) -> None:
    noise = GapNoise(answer, threshold, one_sided)
    assert noise.probability_at_most(noise.margin(confidence)) == pytest.approx(confidence, abs=1e-9)


def test_a_known_bound() -> None:
    """Rates 1 and 1: (2 + t)/4 exp(-t) = 1/20 at t = 2.9968..., by hand."""
    estimate = Estimate(Fraction(12), GapNoise(1, 1))
    assert estimate.lower_bound(0.95) == pytest.approx(12 - GapNoise(1, 1).margin(0.95))
    assert (2 + estimate.noise.margin(0.95)) / 4 * math.exp(-estimate.noise.margin(0.95)) == pytest.approx(
        0.05
    )
    assert estimate.lower_bound(0.99) < estimate.lower_bound(0.95) < estimate.lower_bound(0.5) == 12
    assert estimate.standard_error == pytest.approx(2)


def test_what_is_no_noise_and_no_confidence() -> None:
    for scale in (0, -1, math.inf, math.nan):
        with pytest.raises(ParameterError, match="`answer_scale` must be positive"):
            GapNoise(scale, 1)
    for confidence in (0, 1, 1.5, math.nan):
        with pytest.raises(ParameterError, match="`confidence` must lie between 0 and 1"):
            Estimate(0.0, GapNoise(1, 1)).lower_bound(confidence)


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("power", [-400, 400])
def test_scales_beyond_the_floats(power: int, one_sided: bool) -> None:
    """Of the same shape as others; what no float holds is infinite, or 0, and a bound is none too high."""
    unit = Fraction(10) ** power
    noise, plain = GapNoise(2 * unit, unit, one_sided), GapNoise(2, 1, one_sided)
    assert noise.exact_margin(0.9) == pytest.approx(plain.exact_margin(0.9) * unit)
    edge = math.inf if power > 0 else 0.0
    assert (noise.standard_deviation, noise.margin(0.9)) == (edge, edge)
    assert noise.probability_at_most(1.0) == pytest.approx(plain.probability_at_most(0.0) if power > 0 else 1)
    assert Estimate(unit, noise).lower_bound(0.99) == (-math.inf if power > 0 else 0.0)
    assert Estimate(9 * unit, noise).lower_bound(0.5) == (sys.float_info.max if power > 0 else 0.0)


def test_one_scale_beyond_the_floats_beside_the_other() -> None:
    noise = GapNoise(Fraction(10) ** 400, 1)
    assert float(noise.exact_margin(0.9) / Fraction(10) ** 400) == pytest.approx(-math.log(0.2))
    assert GapNoise(Fraction(1, 10**400), 1).margin(0.9) == pytest.approx(-math.log(0.2))


def test_a_gap_above_the_floats_has_a_bound() -> None:
    estimate = Estimate(Fraction(10) ** 400, GapNoise(1, 1))
    assert estimate.lower_bound() == sys.float_info.max
    assert estimate.standard_error == pytest.approx(2)
    assert Estimate(-(Fraction(10) ** 400), GapNoise(1, 1)).lower_bound() == -math.inf


def masses(rate: float, one_sided: bool) -> dict[int, float]:
    """A geometric or discrete Laplace number: whole numbers with masses proportional to exp(-rate abs(x))."""
    weights = {x: math.exp(-rate * abs(x)) for x in range(0 if one_sided else -400, 401)}
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize(
    ("answer", "threshold"), [(0.7, 0.7), (2.5, 0.4), (0.3, 1.0), (1.0, 1.0 + 1e-12), (99.0, 0.5)]
)
def test_discrete_noise_beside_its_masses(answer: float, threshold: float, one_sided: bool) -> None:
    """In steps of 1/8, for rates of the two draws."""
    step, a, b = Fraction(1, 8), masses(answer, one_sided), masses(threshold, one_sided)
    noise = GapNoise(step / Fraction(answer), step / Fraction(threshold), one_sided, step)
    whole: dict[int, float] = {}
    for x, p in a.items():
        for y, q in b.items():
            whole[x - y] = whole.get(x - y, 0.0) + p * q
    mean = sum(x * p for x, p in whole.items())
    assert float(noise.mean / step) == pytest.approx(mean, abs=1e-9)
    variance = sum((x - mean) ** 2 * p for x, p in whole.items())
    assert noise.standard_deviation == pytest.approx(math.sqrt(variance) / 8, rel=1e-9)
    for place in range(-12, 13):
        below = sum(p for x, p in whole.items() if x <= place)
        assert noise.probability_at_most(place * step - Fraction(noise.mean)) == pytest.approx(
            below, abs=1e-12
        )
    for confidence in (0.01, 0.3, 0.5, 0.9, 0.999):
        k = (noise.exact_margin(confidence) + Fraction(noise.mean)) / step
        assert k.denominator == 1
        assert sum(p for x, p in whole.items() if x < k) < confidence + 1e-12
        assert sum(p for x, p in whole.items() if x <= k) > confidence - 1e-12


def test_discrete_noise_of_very_many_or_very_few_steps() -> None:
    fine, real = GapNoise(10**20, 3, step=1), GapNoise(10**20, 3)
    assert fine.exact_margin(0.9) == real.exact_margin(0.9) + 2
    assert fine.standard_deviation == real.standard_deviation
    assert GapNoise(Fraction(1, 10**9), Fraction(1, 10**9), True, 1).exact_margin(0.9) == 0
    with pytest.raises(ParameterError, match="`step` must not be negative"):
        GapNoise(1, 1, step=-1)
