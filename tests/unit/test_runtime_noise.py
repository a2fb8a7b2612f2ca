"""The samplers against closed forms, with fixed seeds; scales are never rounded down."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from recorded_noise import RecordedNoise

from aligncheck.runtime import FloatingNoise, NumericError
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise
from aligncheck.runtime.reals import at_least, at_most

N = 20_000


def moments(draw: Callable[[], Fraction | float]) -> tuple[float, float]:
    """Mean and variance of N draws."""
    values = [float(draw()) for _ in range(N)]
    mean = sum(values) / N
    return mean, sum((v - mean) ** 2 for v in values) / (N - 1)


def check_moments(
    draw: Callable[[], Fraction | float], mean: float, variance: float, kurtosis: float
) -> None:
    """Both within four standard errors; `kurtosis` is the fourth central moment over variance squared."""
    got_mean, got_variance = moments(draw)
    assert abs(got_mean - mean) < 4 * math.sqrt(variance / N)
    assert abs(got_variance - variance) < 4 * variance * math.sqrt((kurtosis - 1) / N)


@pytest.mark.parametrize("scale", [Fraction(1, 3), 1, 25.5])
def test_laplace(scale: Fraction | float) -> None:
    noise = FloatingNoise(seed=1)
    check_moments(lambda: noise.laplace(scale), 0, 2 * float(scale) ** 2, 6)


@pytest.mark.parametrize("scale", [Fraction(1, 3), 4.0])
def test_exponential(scale: Fraction | float) -> None:
    noise = FloatingNoise(seed=2)
    check_moments(lambda: noise.exponential(scale), float(scale), float(scale) ** 2, 9)
    assert min(noise.exponential(scale) for _ in range(1000)) >= 0


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 10), 0.9])
def test_geometric_counts_failures(p: Fraction | float) -> None:
    noise = FloatingNoise(seed=3)
    q = 1 - float(p)
    check_moments(lambda: noise.geometric(p), q / float(p), q / float(p) ** 2, 9 + float(p) ** 2 / q)
    draws = [noise.geometric(p) for _ in range(N)]
    assert {type(x) for x in draws} == {int}
    assert min(draws) == 0
    for x in range(3):
        mass = float(p) * q**x
        assert abs(draws.count(x) / N - mass) < 4 * math.sqrt(mass / N)


@pytest.mark.parametrize(("scale", "step"), [(2, 1), (Fraction(3, 2), Fraction(1, 2)), (Fraction(1, 2), 3)])
def test_discrete_laplace(scale: Fraction | float, step: int | Fraction) -> None:
    noise = FloatingNoise(seed=4)
    draws = [noise.discrete_laplace(scale, step) for _ in range(N)]
    assert {type(x) for x in draws} == {type(step)}
    assert all(Fraction(x) % step == 0 for x in draws)
    r = math.exp(-float(step / Fraction(scale)))
    for steps in range(-2, 3):
        mass = (1 - r) / (1 + r) * r ** abs(steps)
        assert abs(draws.count(steps * step) / N - mass) < 4 * math.sqrt(mass / N) + 1e-9
    mean = sum(map(float, draws)) / N
    variance = float(step) ** 2 * 2 * r / (1 - r) ** 2
    assert abs(mean) < 4 * math.sqrt(variance / N)


def in_turn(values: list[Fraction | float]) -> Callable[[], Fraction | float]:
    """Draws made at once, one after the other."""
    rest = iter(values)
    return lambda: next(rest)


@pytest.mark.parametrize("scale", [Fraction(1, 3), 25.5])
def test_many_draws_at_once(scale: Fraction | float) -> None:
    noise, s = FloatingNoise(seed=8), float(scale)
    check_moments(in_turn(noise.laplaces(scale, N)), 0, 2 * s**2, 6)
    check_moments(in_turn(noise.exponentials(scale, N)), s, s**2, 9)
    check_moments(in_turn([*noise.geometrics(Fraction(1, 2), N)]), 1, 2, 9.5)
    r = math.exp(-1)
    variance = 2 * r / (1 - r) ** 2
    assert abs(sum(noise.discrete_laplaces(1, 1, N)) / N) < 4 * math.sqrt(variance / N)


def test_signs_and_magnitudes_of_many_draws_are_independent() -> None:
    draws = [float(x) for x in FloatingNoise(seed=9).laplaces(1, N)]
    for half in ([x for x in draws if x > 0], [-x for x in draws if x < 0]):
        assert abs(len(half) - N / 2) < 2 * math.sqrt(N)
        assert abs(sum(half) / len(half) - 1) < 4 / math.sqrt(len(half))
    neighbours = sum(a * b for a, b in pairwise(draws)) / (N - 1)
    assert abs(neighbours) < 4 * 2 / math.sqrt(N)


def test_many_draws_are_python_numbers_and_may_be_none() -> None:
    noise = FloatingNoise()
    assert [type(x) for x in noise.laplaces(1, 2) + noise.exponentials(2.5, 1)] == [float] * 3
    assert [type(x) for x in [*noise.geometrics(0.5, 1), *noise.discrete_laplaces(1, 2, 1)]] == [int, int]
    for count in (0, -1):
        assert noise.laplaces(1, count) == noise.exponentials(1, count) == noise.geometrics(0.5, count) == []
    with pytest.raises(NumericError):
        noise.laplaces(0, 1)
    with pytest.raises(NumericError):
        noise.exponentials(Fraction(10**400), 1)
    assert (
        FloatingNoise(7).laplaces(1, 4) == FloatingNoise(7).laplaces(1, 4) != FloatingNoise(8).laplaces(1, 4)
    )
    assert FloatingNoise().laplaces(1, 4) != FloatingNoise().laplaces(1, 4)


def test_extreme_scales() -> None:
    noise = FloatingNoise(seed=5)
    assert noise.geometric(Fraction(1, 10**12)) > 10**8
    assert noise.geometric(1) == 0
    assert type(noise.discrete_laplace(10**15, 1)) is int
    for call in (
        lambda: noise.laplace(Fraction(10**400)),
        lambda: noise.laplace(0),
        lambda: noise.exponential(-1),
        lambda: noise.laplace(math.inf),
        lambda: noise.laplace(math.nan),
        lambda: noise.geometric(Fraction(3, 2)),
        lambda: noise.geometric(0),
        lambda: noise.discrete_laplace(1, 0),
        lambda: noise.discrete_laplace(Fraction(10**400), 1),
    ):
        with pytest.raises(NumericError):
            call()


def test_scales_are_never_rounded_down() -> None:
    rng = random.Random(6)
    for _ in range(2000):
        x = Fraction(rng.randint(1, 10**30), rng.randint(1, 10**30))
        assert Fraction(at_most(x)) <= x <= Fraction(at_least(x))
        assert at_least(x) <= at_most(x) * (1 + 2.0**-51)
    computed = 2 * math.sqrt(2)
    assert Fraction(at_least(computed)) ** 2 > 8
    assert Fraction(at_most(computed)) ** 2 < 8


def test_seeds_repeat_and_the_system_does_not() -> None:
    def draws(noise: FloatingNoise) -> list[float]:
        return [noise.laplace(1) for _ in range(4)]

    assert draws(FloatingNoise(7)) == draws(FloatingNoise(7)) != draws(FloatingNoise(8))
    assert draws(FloatingNoise()) != draws(FloatingNoise())
    assert FloatingNoise().remark is None
    assert FloatingNoise(7).remark == "not private (seeded)"


def test_a_tape_is_read_in_order_and_ends() -> None:
    noise = RecordedNoise([1, Fraction(1, 2), 3])
    assert [noise.laplace(2), noise.exponential(3), noise.geometric(Fraction(1, 2))] == [1, Fraction(1, 2), 3]
    assert [(d.family, d.args) for d in noise.drawn] == [
        ("Lap", (2,)),
        ("Exp", (3,)),
        ("Geo", (Fraction(1, 2),)),
    ]
    with pytest.raises(NumericError, match="ends before draw 4"):
        noise.laplace(1)


def test_many_draws_from_a_tape_are_single_ones() -> None:
    at_once, singly = (RecordedNoise(range(8)) for _ in range(2))
    half = Fraction(1, 2)
    assert at_once.laplaces(2, 3) == [singly.laplace(2) for _ in range(3)]
    assert at_once.exponentials(3, 2) == [singly.exponential(3) for _ in range(2)]
    assert at_once.geometrics(half, 1) == [singly.geometric(half)]
    assert at_once.discrete_laplaces(1, half, 2) == [singly.discrete_laplace(1, half) for _ in range(2)]
    assert at_once.drawn == singly.drawn
    assert at_once.laplaces(1, 0) == []


@pytest.mark.parametrize("source", [LatticeNoise, RefinedNoise])
def test_where_nothing_is_drawn_nothing_is_asked_of_a_scale(source: Callable[..., Any]) -> None:
    noise = source(Fraction(1, 8), SeededBits(1))
    for draw in (noise.laplaces, noise.exponentials, noise.gaussians, noise.geometrics):
        assert list(draw(Fraction(0), 0)) == []
        with pytest.raises(NumericError):
            draw(Fraction(0), 1)
    assert list(noise.discrete_laplaces(Fraction(0), 1, 0)) == []
