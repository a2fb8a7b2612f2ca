"""The rows of the noise families: slopes against the densities, and what is drawn against the tails."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest
import sympy
from flint import arb
from frequencies import check
from recorded_noise import RecordedNoise
from scipy import stats

from aligncheck.language.families import SPELLINGS, Family, Lattice, Moves, Slope
from aligncheck.runtime import FloatingNoise
from aligncheck.runtime.arrays import argmax, vector
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.cauchy import UniformRests, draw
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.exact_noise import RefinedNoise
from aligncheck.runtime.noise import Noise

SCALE = 1.5
LOG_DENSITIES: dict[Family, Callable[[float, Any], Any]] = {
    Family.LAPLACE: lambda s, x: stats.laplace.logpdf(x, scale=s),
    Family.EXPONENTIAL: lambda s, x: stats.expon.logpdf(x, scale=s),
    Family.CAUCHY: lambda s, x: stats.cauchy.logpdf(x, scale=s),
    Family.GUMBEL: lambda s, x: stats.gumbel_r.logpdf(x, scale=s),
    Family.LOGISTIC: lambda s, x: stats.logistic.logpdf(x, scale=s),
    Family.UNIFORM: lambda s, x: stats.uniform.logpdf(x, scale=s),
    Family.GEOMETRIC: lambda p, x: stats.geom.logpmf(x + 1, p),
    Family.DISCRETE_LAPLACE: lambda s, x: stats.dlaplace.logpmf(x, 1 / s),
    Family.DISCRETE_EXPONENTIAL: lambda s, x: stats.geom.logpmf(x + 1, -np.expm1(-1 / s)),
    Family.GAUSSIAN: lambda s, x: stats.norm.logpdf(x, scale=s),
    Family.DISCRETE_GAUSSIAN: lambda s, x: stats.norm.logpdf(x, scale=s),  # up to a constant
}
"""By the first argument; on a lattice with the step 1."""


BOUNDED = [family for family in Family if family.row.slope in (Slope.SCALE, Slope.CHANCE)]
SQUARED = [family for family in Family if family.row.slope is Slope.SIGMA]


@pytest.mark.parametrize("family", BOUNDED, ids=lambda family: family.value)
def test_slopes_bound_the_ratio_of_densities_and_are_reached(family: Family) -> None:
    """For random arguments and moves of random draws, the way that is allowed; where another is not, the
    ratio grows. And on the reals no density is less nearer to 0.
    """
    rng = np.random.default_rng(7)
    for first in rng.uniform(0.05, 0.95, 6) if family.row.slope is Slope.CHANCE else rng.uniform(0.2, 6, 6):
        slope = 1 / first if family.row.slope is Slope.SCALE else -math.log1p(-first)
        x = np.concatenate((rng.uniform(-9, 9, 4000), [1, -1])) / slope
        moves = np.concatenate((rng.exponential(1, 4000) ** 3, [0, 0])) + 1e-3
        y = x + moves * rng.choice([-1, 1], len(x)) / slope
        if family.discrete:
            x, y = np.floor(x), np.floor(y)
        with np.errstate(over="ignore"):
            log_x, log_y = (LOG_DENSITIES[family](first, z) for z in (x, y))
        if family.row.lattice is Lattice.NONE:
            assert np.all(LOG_DENSITIES[family](first, x * rng.uniform(0, 1, len(x))) >= log_x - 1e-9)
        moved = (log_x > -inf) & (log_y > -inf) & (x != y)
        steep, up = (log_x[moved] - log_y[moved]) / np.abs(x - y)[moved], (y > x)[moved]
        allowed = {Moves.BOTH: steep, Moves.UP: steep[up], Moves.NOT: None}[family.row.moves]
        if allowed is not None:
            assert 0.95 * slope < allowed.max() < (1 + 1e-9) * slope
        if family.row.moves is Moves.UP:
            assert steep[~up].max() > 10 * slope


@pytest.mark.parametrize("family", [f for f in Family if f.row.size], ids=lambda family: family.value)
@pytest.mark.parametrize("chance", [Fraction(9, 10), Fraction(1, 7), Fraction(1, 10**6)])
def test_sizes_are_those_of_the_tails(family: Family, chance: Fraction) -> None:
    """No size is exceeded with a greater chance, and a smaller size is, unless a draw cannot be so large."""
    others = () if family.row.slope is Slope.SCALE else (Fraction(1, 2), Fraction(1, 3))
    assert family.row.size is not None
    size = float(family.row.size(sympy, sympy.Rational(*chance.as_integer_ratio()), *others))

    def exceeded(by: float) -> float:
        assert family.row.tail is not None
        arguments = [arb(x.numerator) / x.denominator for x in others]
        above, below = (family.row.tail(arb(x), *arguments) for x in (by, -by))
        return float(above if family.one_sided else above + 1 - below)

    assert exceeded(size) <= chance * (1 + 1e-9)
    assert exceeded(size - 1.01) > chance or family.bounded
    assert family is not Family.LOGISTIC or exceeded(size) == pytest.approx(float(chance))


def stairs(eps: float, width: float, gamma: float) -> list[tuple[float, float, float]]:
    """The ends and the density of the intervals from 0 on, as Geng and Viswanath write them."""
    b = math.exp(-eps)
    high = (1 - b) / (2 * width * (gamma + b * (1 - gamma)))
    each = ([(k, k + gamma, high * b**k), (k + gamma, k + 1, high * b ** (k + 1))] for k in range(80))
    return [(low * width, top * width, density) for pair in each for low, top, density in pair]


def test_a_move_on_stairs_by_at_most_their_width_costs_epsilon() -> None:
    rng = np.random.default_rng(7)
    for _ in range(6):
        eps, width, gamma = rng.uniform(0.5, 3), rng.uniform(0.2, 6), rng.uniform(0.05, 0.95)
        lows, tops, densities = map(np.array, zip(*stairs(eps, width, gamma), strict=True))
        assert 2 * ((tops - lows) * densities).sum() == pytest.approx(1)
        x = rng.uniform(-8, 8, 4000) * width
        y = x + rng.uniform(-1, 1, 4000) * width
        log_x, log_y = (np.log(densities[np.searchsorted(lows, abs(z), "right") - 1]) for z in (x, y))
        assert (log_x - log_y).max() == pytest.approx(eps)


@pytest.mark.parametrize("order", [1.5, 4.0])
@pytest.mark.parametrize("family", SQUARED, ids=lambda family: family.value)
def test_divergences_are_those_of_a_price_in_squares(family: Family, order: float) -> None:
    """Summed over a fine grid, which stands for the integral, or over the lattice itself."""
    step = 1.0 if family.discrete else 0.125
    points = [step * i for i in range(-400, 401)]
    log = LOG_DENSITIES[family](SCALE, np.array(points))
    for moved in (1.0, 2.0):
        other = LOG_DENSITIES[family](SCALE, np.array(points) - moved)
        terms = np.exp(order * log + (1 - order) * other).sum()
        divergence = math.log(terms / np.exp(log).sum()) / (order - 1)
        assert divergence == pytest.approx(order * moved**2 / (2 * SCALE**2), rel=1e-9)


@pytest.mark.parametrize("family", Family, ids=lambda family: family.value)
def test_rows_agree_with_each_other(family: Family) -> None:
    assert SPELLINGS[family.value] is family
    assert all(
        callable(getattr(kind, method))
        for kind in (Noise, FloatingNoise, RecordedNoise, RefinedNoise)
        for method in (family.row.sampler, f"{family.row.sampler}s")
    )
    twin = family.on_lattice
    if twin not in (None, family):
        assert twin is not None
        assert twin.on_reals is family
        shape = (twin.one_sided, twin.stepped, twin.exponential)
        assert shape == (family.one_sided, True, family.row.slope is Slope.SCALE)


COINS: list[tuple[str, Fraction | int, float]] = [
    ("bernoulli", Fraction(1, 3), 1 / 3),
    ("bernoulli", Fraction(255, 256), 255 / 256),
    ("bernoulli_of_log_odds", Fraction(3, 2), 1 / (1 + math.exp(-1.5))),
    ("bernoulli_of_log_odds", Fraction(-3, 2), 1 / (1 + math.exp(1.5))),
    ("bernoulli_of_log_odds", 0, 1 / 2),
]


@pytest.mark.parametrize("source", ["exact", "float"])
@pytest.mark.parametrize(("method", "given", "p"), COINS)
def test_coins(method: str, given: Fraction, p: float, source: str) -> None:
    noise = RefinedNoise(Fraction(1, 8), SeededBits(9)) if source == "exact" else FloatingNoise(seed=9)
    drawn = getattr(noise, method.replace("bernoulli", "bernoullis"))(given, 2000)
    check(Counter[Hashable](drawn), {1: p, 0: 1 - p}, 2000)
    assert getattr(RecordedNoise([1]), method)(given) == 1


@pytest.mark.parametrize("chance", [0, 1, Fraction(-1, 3), Fraction(3, 2)])
def test_a_coin_has_two_sides(chance: Fraction) -> None:
    for noise in (RefinedNoise(Fraction(1, 8), SeededBits(9)), FloatingNoise(seed=9)):
        with pytest.raises(NumericError):
            noise.bernoulli(chance)


# --- noise with digits of its own -------------------------------------------------------------------------

ENDS = (-20.0, -3.0, -1.5, -0.7, -0.2, 0.0, 0.1, 0.5, 1.25, 2.0, 2.5, 4.0, 50.0)


TAILED = [family for family in Family if family.row.tail is not None]


EPS, GAMMA = Fraction(2, 3), Fraction(1, 3)


def args_of(family: Family, scale: Fraction) -> tuple[Fraction, ...]:
    return (EPS, scale, GAMMA) if family is Family.STAIRCASE else (scale,)


def draws(noise: Noise, family: Family, scale: Fraction, count: int) -> Any:
    return getattr(noise, f"{family.row.sampler}s")(*args_of(family, scale), count)


def above(x: float, family: Family) -> float:
    tail = family.row.tail
    assert tail is not None
    return float(tail(arb(x), *((arb(2) / 3, arb(1) / 3) if family is Family.STAIRCASE else ())))


def of_intervals(family: Family) -> dict[Hashable, float]:
    tails = [1.0, *(above(x, family) for x in ENDS), 0.0]
    return {i: p - q for i, (p, q) in enumerate(itertools.pairwise(tails)) if p != q}


def test_tails() -> None:
    laws = (stats.cauchy, stats.gumbel_r, stats.logistic, stats.uniform, stats.norm)
    for family, law in zip([f for f in TAILED if f is not Family.STAIRCASE], laws, strict=True):
        assert [above(x, family) for x in ENDS] == pytest.approx(law.sf(ENDS))
    lows, tops, densities = map(np.array, zip(*stairs(float(EPS), 1, float(GAMMA)), strict=True))
    for x in ENDS:
        beyond = (np.maximum(tops - np.maximum(lows, abs(x)), 0) * densities).sum()
        assert above(x, Family.STAIRCASE) == pytest.approx(beyond if x > 0 else 1 - beyond)
    tail = Family.STAIRCASE.row.tail
    assert tail is not None
    astride = tail(arb(0, 0.25), arb(2) / 3, arb(1) / 3)  # a ball holds what it does for each number in it
    assert all(astride.contains(tail(arb(x), arb(2) / 3, arb(1) / 3)) for x in (-0.25, 0, 0.25))


@pytest.mark.parametrize("family", TAILED, ids=lambda family: family.value)
@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(10**25 + 1, 10**25)], ids=str)
def test_refined_noise_with_a_tail(scale: Fraction, family: Family) -> None:
    """Compared exactly, singly and as a vector; some digits are drawn for that."""
    noise = RefinedNoise(Fraction(1, 8), SeededBits(5))
    count = 1000 if family in (Family.GUMBEL, Family.LOGISTIC, Family.STAIRCASE) else 4000
    drawn = draws(noise, family, scale, count // 2)
    counted = sum((vector(drawn) > Fraction(end) * scale).astype(int) for end in ENDS)
    singly = [getattr(noise, family.row.sampler)(*args_of(family, scale)) for _ in range(count // 2)]
    counted = [*counted, *(sum(x > Fraction(end) * scale for end in ENDS) for x in singly)]
    check(Counter[Hashable](counted), of_intervals(family), count)


@pytest.mark.parametrize("family", TAILED, ids=lambda family: family.value)
def test_floating_noise_with_a_tail(family: Family) -> None:
    drawn = draws(FloatingNoise(3), family, Fraction(2), 4000)
    check(Counter(sum(x > 2 * end for end in ENDS) for x in drawn), of_intervals(family), 4000)


@pytest.mark.parametrize("family", TAILED, ids=lambda family: family.value)
def test_vectors_of_such_noise_are_added_to_answers_and_ranked(family: Family) -> None:
    noise = RefinedNoise(Fraction(1, 8), SeededBits(5))
    drawn = vector(noise.answers([0, 3, 0])) + vector(draws(noise, family, Fraction(1), 3))
    singly = [drawn[i] for i in range(3)]
    assert argmax(drawn) == max(range(3), key=singly.__getitem__)
    assert len(draws(noise, family, Fraction(1), 0)) == 0


def test_later_digits_of_cauchy_noise_are_fair() -> None:
    """Given the first ones, which decided whether it was kept."""
    bits = SeededBits(11)
    rests = UniformRests({place: draw(bits)[1] for place in range(4000)}, bits)
    known = [rests.digits(place, 70) for place in range(4000)]
    check(Counter(value & 7 for value in known), dict.fromkeys(range(8), 1 / 8), 4000)
    assert [rests.digits(place, 64) for place in range(4000)] == [value >> 6 for value in known]


def test_long_scales_are_raised() -> None:
    long = Fraction(10**40 + 1, 10**40 - 7)
    (unit,) = {abs(RefinedNoise(Fraction(1), SeededBits(1)).cauchy(long).unit) for _ in range(2)}
    assert long < unit < long * (1 + Fraction(1, 2**60))
