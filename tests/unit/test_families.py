"""The rows of the noise families: slopes against the densities, and what is drawn against the tails."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction

import pytest
from flint import arb
from frequencies import check

from aligncheck.language.families import SPELLINGS, Family, Lattice, Moves, Slope
from aligncheck.runtime import FloatingNoise
from aligncheck.runtime.arrays import argmax, vector
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.cauchy import UniformRests, draw
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.exact_noise import RefinedNoise
from aligncheck.runtime.noise import Noise, RecordedNoise

SCALE = 1.5
CHANCE = 0.25

LOG_DENSITIES: dict[Family, Callable[[float], float]] = {
    Family.LAPLACE: lambda x: -abs(x) / SCALE,
    Family.EXPONENTIAL: lambda x: -x / SCALE,
    Family.CAUCHY: lambda x: -math.log1p((x / SCALE) ** 2),
    Family.GUMBEL: lambda x: -x / SCALE - math.exp(-x / SCALE),
    Family.UNIFORM: lambda x: 0.0,
    Family.GEOMETRIC: lambda x: x * math.log1p(-CHANCE),
    Family.DISCRETE_LAPLACE: lambda x: -abs(x) / SCALE,
    Family.DISCRETE_EXPONENTIAL: lambda x: -x / SCALE,
    Family.GAUSSIAN: lambda x: -((x / SCALE) ** 2) / 2,
    Family.DISCRETE_GAUSSIAN: lambda x: -((x / SCALE) ** 2) / 2,
}
"""Up to a constant, where they are not 0."""


BOUNDED = [family for family in Family if family.row.slope in (Slope.SCALE, Slope.CHANCE)]
SQUARED = [family for family in Family if family.row.slope is Slope.SIGMA]


@pytest.mark.parametrize("family", BOUNDED, ids=lambda family: family.value)
def test_slopes_bound_the_ratio_of_densities_and_are_reached(family: Family) -> None:
    step = 0.25 if family.row.lattice is Lattice.NONE else 1.0
    end = math.floor(SCALE / step) if family.bounded else 80
    points = [step * i for i in range(0 if family.one_sided else -80, end + 1)]
    slope = 1 / SCALE if family.row.slope is Slope.SCALE else -math.log1p(-CHANCE)
    log_density = LOG_DENSITIES[family]
    ways = {Moves.BOTH: (-1, 1), Moves.UP: (1,), Moves.NOT: ()}

    def steepest(way: int) -> float:
        pairs = ((x, y) for x in points for y in points if way * (y - x) > 0)
        return max((log_density(x) - log_density(y)) / abs(x - y) for x, y in pairs)

    allowed = ways[family.row.moves]
    if allowed:
        assert 0.98 * slope < max(map(steepest, allowed)) < (1 + 1e-9) * slope
    if family.row.moves is Moves.UP:
        assert steepest(-1) > 1e5 * slope


@pytest.mark.parametrize("order", [1.5, 4.0])
@pytest.mark.parametrize("family", SQUARED, ids=lambda family: family.value)
def test_divergences_are_those_of_a_price_in_squares(family: Family, order: float) -> None:
    """Summed over a fine grid, which stands for the integral, or over the lattice itself."""
    step = 1.0 if family.discrete else 0.125
    points = [step * i for i in range(-400, 401)]
    log = LOG_DENSITIES[family]
    for moved in (1.0, 2.0):
        terms = sum(math.exp(order * log(x) + (1 - order) * log(x - moved)) for x in points)
        divergence = math.log(terms / sum(math.exp(log(x)) for x in points)) / (order - 1)
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
    others = {each.row.mark for each in Family if each is not family}
    assert family.row.mark not in others


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


def above(x: float, family: Family) -> float:
    tail = family.row.tail
    assert tail is not None
    return float(tail(arb(x)))


def of_intervals(family: Family) -> dict[Hashable, float]:
    tails = [1.0, *(above(x, family) for x in ENDS), 0.0]
    return {i: p - q for i, (p, q) in enumerate(itertools.pairwise(tails)) if p != q}


def test_tails() -> None:
    cauchy, uniform, gumbel = Family.CAUCHY, Family.UNIFORM, Family.GUMBEL
    assert [above(x, cauchy) for x in (0, 1, -1)] == pytest.approx([1 / 2, 1 / 4, 3 / 4])
    assert [above(x, uniform) for x in (-1, 0, 0.25, 1, 2)] == [1, 1, 0.75, 0, 0]
    assert [above(-math.log(x), gumbel) for x in (1, 2)] == pytest.approx([1 - 1 / math.e, 1 - math.e**-2])


@pytest.mark.parametrize("family", TAILED, ids=lambda family: family.value)
@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(10**25 + 1, 10**25)], ids=str)
def test_refined_noise_with_a_tail(scale: Fraction, family: Family) -> None:
    """Compared exactly, singly and as a vector; some digits are drawn for that."""
    noise = RefinedNoise(Fraction(1, 8), SeededBits(5))
    count = 1000 if family is Family.GUMBEL else 4000
    drawn = getattr(noise, f"{family.row.sampler}s")(scale, count // 2)
    counted = sum((vector(drawn) > Fraction(end) * scale).astype(int) for end in ENDS)
    singly = [getattr(noise, family.row.sampler)(scale) for _ in range(count // 2)]
    counted = [*counted, *(sum(x > Fraction(end) * scale for end in ENDS) for x in singly)]
    check(Counter[Hashable](counted), of_intervals(family), count)


@pytest.mark.parametrize("family", TAILED, ids=lambda family: family.value)
def test_floating_noise_with_a_tail(family: Family) -> None:
    drawn = getattr(FloatingNoise(3), f"{family.row.sampler}s")(2, 4000)
    check(Counter(sum(x > 2 * end for end in ENDS) for x in drawn), of_intervals(family), 4000)


@pytest.mark.parametrize("family", TAILED, ids=lambda family: family.value)
def test_vectors_of_such_noise_are_added_to_answers_and_ranked(family: Family) -> None:
    noise = RefinedNoise(Fraction(1, 8), SeededBits(5))
    drawn = vector(noise.answers([0, 3, 0])) + vector(getattr(noise, f"{family.row.sampler}s")(1, 3))
    singly = [drawn[i] for i in range(3)]
    assert argmax(drawn) == max(range(3), key=singly.__getitem__)
    assert len(getattr(noise, f"{family.row.sampler}s")(1, 0)) == 0


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
