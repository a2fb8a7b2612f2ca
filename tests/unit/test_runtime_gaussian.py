"""Gaussian noise: the rejection by exact numbers, draws against exact probabilities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from frequencies import check
from recorded_noise import RecordedNoise

from aligncheck.runtime import FloatingNoise, NumericError
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.digits import gaussians
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise
from aligncheck.runtime.gaussian import TABLED, DiscreteGaussian, keeping
from aligncheck.statistical.lanes import run_lanes

VARIANCES = [Fraction(1, 30), Fraction(22, 7), Fraction(10**9, 3), Fraction(10**40)]
MANY, FEW = 20_000, 400
ENDS = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5, 2.5)
"""In deviations."""


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_what_is_drawn_and_kept_has_the_probabilities_of_the_discrete_gaussian(variance: Fraction) -> None:
    """Exactly: minus the logarithm of the product is x^2/(2v), up to a constant."""
    sampler = DiscreteGaussian.of_variance(variance)
    assert (sampler.width - 1) ** 2 <= variance < sampler.width**2
    for size in (0, 1, 2, 7, sampler.width, 5 * sampler.width + 1):
        missing = Fraction(size, sampler.width) + sampler.exponent(size) - Fraction(size**2) / (2 * variance)
        assert missing == variance / (2 * sampler.width**2)


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_the_table_encloses_what_is_kept(variance: Fraction) -> None:
    sampler = DiscreteGaussian.of_variance(variance)
    low, high = keeping(sampler)
    top = math.floor(variance / sampler.width)
    with localcontext() as context:
        context.prec = 60
        for place in range(0, len(low), 1 + len(low) // 300):
            first, last = place * sampler.part, (place + 1) * sampler.part - 1
            for size in {first, (first + last) // 2, last, *({top, top + 1} if first <= top < last else ())}:
                exponent = sampler.exponent(size)
                exact = (-Decimal(exponent.numerator) / exponent.denominator).exp() * 2**TABLED
                assert low[place] <= exact <= high[place]
    assert (low[-1], high[-1]) == (0, 1)
    assert len(low) < 4000
    assert sum(map(int.__sub__, high, low)) < len(low) * 2**TABLED / 64, "it decides nearly always"


def exact_masses(variance: Fraction) -> dict[Hashable, float]:
    """Of all whole numbers that are probable, by decimal arithmetic; those beyond hardly count."""
    end = 8 * math.isqrt(math.ceil(variance)) + 8
    weights = {x: math.exp(-x * x / (2 * float(variance))) for x in range(-end, end + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def normal_masses() -> dict[Hashable, float]:
    below = [0.0, *((1 + math.erf(end / math.sqrt(2))) / 2 for end in ENDS), 1.0]
    return {i: below[i + 1] - below[i] for i in range(len(ENDS) + 1)}


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_draws(variance: Fraction) -> None:
    """Where there are many steps to a deviation, sums are integrals (to 1e-9: Poisson's formula)."""
    sampler = DiscreteGaussian.of_variance(variance)
    singly = [sampler.draw(bits) for bits in [SeededBits(1)] for _ in range(FEW)]
    for drawn in (gaussians(sampler, MANY, SeededBits(2)).tolist(), singly):
        if variance < 100:
            check(Counter[Hashable](drawn), exact_masses(variance), len(drawn))
        else:
            deviation = math.sqrt(variance)
            places = np.searchsorted([end * deviation - 0.5 for end in ENDS], np.array(drawn, dtype=float))
            check(Counter[Hashable](places.tolist()), normal_masses(), len(drawn))
    assert len(gaussians(sampler, 0, SeededBits(1))) == 0


def test_a_tie_with_the_table_is_settled_by_further_digits() -> None:
    """For the probability e^-x, of which the first digits are drawn."""
    sampler = DiscreteGaussian.of_variance(Fraction(22, 7))
    low, high = keeping(sampler)
    hits = [sampler.kept(5, low[5], bits) for bits in [SeededBits(3)] for _ in range(4 * FEW)]
    assert high[5] - low[5] <= 2
    with localcontext() as context:
        context.prec = 60
        exponent = sampler.exponent(5)
        share = (-Decimal(exponent.numerator) / exponent.denominator).exp() * 2**TABLED - low[5]
    check(Counter[Hashable](hits), {True: float(share), False: 1 - float(share)}, 4 * FEW)


SOURCES: dict[str, Callable[[], Any]] = {
    "lattice": lambda: LatticeNoise(Fraction(1, 64), SeededBits(4)),
    "refined": lambda: RefinedNoise(Fraction(1, 64), SeededBits(4)),
    "float": lambda: FloatingNoise(4),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources(name: str) -> None:
    noise, scale, count = SOURCES[name](), Fraction(5, 2), 2 * FEW
    half = Fraction(1, 128) if name == "lattice" else 0
    draws = [noise.gaussian(scale) for _ in range(FEW)] + list(noise.gaussians(scale, FEW))
    check(
        Counter[Hashable](sum(x > Fraction(end) * scale - half for end in ENDS) for x in draws),
        normal_masses(),
        count,
    )
    draws = [noise.discrete_gaussian(3, 2) for _ in range(FEW)] + [*noise.discrete_gaussians(3, 2, FEW)]
    assert {type(x) for x in draws} == {int}
    check(Counter[Hashable](x // 2 for x in draws), exact_masses(Fraction(9, 4)), count)


def test_many_runs_at_once() -> None:
    class Run:
        records = ()

    seen: dict[str, Any] = {}

    def execute(noise: Any) -> Any:
        seen["gaussian"], seen["discrete"] = noise.gaussian(2).values, noise.discrete_gaussian(3, 2).values
        return Run()

    run_lanes(execute, 4000, np.random.SeedSequence(1), "f")
    places = np.searchsorted(2 * np.array(ENDS), seen["gaussian"])
    check(Counter[Hashable](places.tolist()), normal_masses(), 4000)
    check(Counter[Hashable]((seen["discrete"] / 2).astype(int).tolist()), exact_masses(Fraction(9, 4)), 4000)


def test_later_digits_are_fair() -> None:
    noise = RefinedNoise(Fraction(1, 2**40), SeededBits(5))
    draws = [Fraction(noise.released(noise.gaussian(1))) for _ in range(4 * FEW)]
    low = [math.floor(abs(draw) * 2**40) & 7 for draw in draws]
    check(Counter[Hashable](low), dict.fromkeys(range(8), 1 / 8), 4 * FEW)


def test_recorded_and_refused() -> None:
    noise = RecordedNoise([1, 2])
    assert (noise.gaussian(3), noise.discrete_gaussian(3, 1)) == (1, 2)
    assert [draw.family for draw in noise.drawn] == ["Gauss", "DGauss"]
    for wrong in (0, -1, 0.5):
        with pytest.raises(NumericError, match="a variance must"):
            DiscreteGaussian.of_variance(wrong)  # type: ignore[arg-type]
