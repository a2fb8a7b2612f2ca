"""The exact sources of noise: probabilities at extreme rates, sums on a lattice, what low bits give away."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from frequencies import UNLIKELY, check
from numpy.typing import NDArray
from recorded_noise import RecordedNoise
from scipy import stats

from aligncheck.runtime import FloatingNoise, NumericError
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise
from aligncheck.runtime.rationals import sqrt
from aligncheck.runtime.vectors import ExactVector

RATES = [Fraction(1, 7000), Fraction(2, 3), Fraction(40)]
"""Steps of the lattice over the scale; more of them in `test_runtime_exact`, for the samplers themselves."""
FEW = 2000
GAMMA = Fraction(1, 8)
Source = LatticeNoise | RefinedNoise
Make = Callable[[Fraction, int], Source]


@pytest.fixture(params=[LatticeNoise, RefinedNoise])
def make(request: pytest.FixtureRequest) -> Make:
    """Either source, by its step and seed."""
    kind = request.param
    return lambda gamma, seed: kind(gamma, SeededBits(seed))


def bins(starts: Sequence[int], below: Callable[[int], float]) -> dict[Hashable, float]:
    """How probable it is to lie in the i-th interval, the first of which has no lower end."""
    parts = [0.0, *map(below, starts), 1.0]
    return {i: q - p for i, (p, q) in enumerate(itertools.pairwise(parts))}


def places(draws: Sequence[Any], step: Fraction | int, starts: Sequence[int]) -> Counter[Hashable]:
    """Draws are multiples of the step."""
    steps = [Fraction(draw) / step for draw in draws]
    assert all(x.denominator == 1 for x in steps)
    return Counter(sum(x >= start for start in starts) for x in steps)


def one_sided_starts(rate: float) -> list[int]:
    return sorted({math.ceil(-math.log1p(-i / 12) / rate) for i in range(1, 12)} | {1, 2, 3})


def geometric_below(rate: float) -> Callable[[int], float]:
    return lambda end: -math.expm1(-rate * end)


def laplace_below(rate: float) -> Callable[[int], float]:
    """P(X < end) for P(X = x) proportional to exp(-rate |x|): 1 - P(X >= 1) on the right of 0."""
    tail = math.exp(-rate) / (1 + math.exp(-rate))

    def below(end: int) -> float:
        if end <= 0:
            return tail * math.exp(-rate * -end)
        return 1 - tail * math.exp(-rate * (end - 1))

    return below


def one_and_many(one: Callable[[], Any], many: Callable[[int], Sequence[Any]]) -> list[list[Any]]:
    return [[one() for _ in range(FEW)], list(many(FEW))]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_discrete_noise_of_both_sources(make: Make, rate: Fraction) -> None:
    noise, step = make(GAMMA, 1), Fraction(3, 4)
    scale, starts = step / rate, one_sided_starts(float(rate))
    expected = bins(starts, geometric_below(float(rate)))
    for draws in one_and_many(
        lambda: noise.discrete_exponential(scale, step),
        lambda count: noise.discrete_exponentials(scale, step, count),
    ):
        check(places(draws, step, starts), expected, FEW)
    for draws in one_and_many(
        lambda: noise.geometric_of_rate(rate), lambda count: noise.geometrics_of_rate(rate, count)
    ):
        assert {type(draw) for draw in draws} == {int}
        check(places(draws, 1, starts), expected, FEW)
    both = [*(-start for start in reversed(starts)), 0, *starts]
    expected = bins(both, laplace_below(float(rate)))
    for draws in one_and_many(
        lambda: noise.discrete_laplace(scale, step), lambda count: noise.discrete_laplaces(scale, step, count)
    ):
        check(places(draws, step, both), expected, FEW)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_noise_on_a_lattice_and_its_refinement_rounded_down(make: Make, rate: Fraction) -> None:
    """One-sided noise rounded down is geometric; Laplace noise is not discrete Laplace, nor symmetric."""
    scale, starts = GAMMA / rate, one_sided_starts(float(rate))
    both = [*(-start for start in reversed(starts)), 0, *starts]
    noise = make(GAMMA, 2)
    for draws in one_and_many(
        lambda: noise.exponential(scale), lambda count: noise.exponentials(scale, count)
    ):
        rounded = [refined(noise, x) for x in draws]
        check(places(rounded, GAMMA, starts), bins(starts, geometric_below(float(rate))), FEW)
    below = laplace_below(float(rate)) if isinstance(noise, LatticeNoise) else real_below(float(rate))
    for draws in one_and_many(lambda: noise.laplace(scale), lambda count: noise.laplaces(scale, count)):
        rounded = [refined(noise, x) for x in draws]
        check(places(rounded, GAMMA, both), bins(both, below), FEW)


def refined(noise: Source, x: Any) -> Any:
    """As it would be released, but with no digits of its own."""
    released = noise.released(x)
    assert isinstance(released, Fraction)
    return released


def real_below(rate: float) -> Callable[[int], float]:
    return lambda end: math.exp(rate * end) / 2 if end < 0 else 1 - math.exp(-rate * end) / 2


@pytest.mark.parametrize("p", [Fraction(1, 10**9), Fraction(1, 3), Fraction(3, 4), Fraction(999, 1000), 1])
def test_failures_before_a_success(make: Make, p: Fraction | int) -> None:
    rate = -math.log1p(-float(p)) if p < 1 else 1000.0
    starts = one_sided_starts(rate)
    noise = make(GAMMA, 3)
    for draws in one_and_many(lambda: noise.geometric(p), lambda count: noise.geometrics(p, count)):
        assert {type(draw) for draw in draws} == {int}
        check(places(draws, 1, starts), bins(starts, geometric_below(rate)), FEW)


def test_integer_steps_give_integers(make: Make) -> None:
    noise = make(GAMMA, 4)
    assert type(noise.discrete_laplace(Fraction(5), 2)) is int
    assert type(noise.discrete_exponential(Fraction(5), 2)) is int
    for many in (noise.discrete_laplaces(5, 2, 50), noise.discrete_exponentials(5, 2, 50)):
        assert {type(x) for x in many} == {int}
        assert all(x % 2 == 0 for x in many)
    for none in (0, -1):
        assert list(noise.geometrics(1, none)) == list(noise.geometrics_of_rate(1, none)) == []
        assert list(noise.discrete_laplaces(5, 2, none)) == list(noise.laplaces(5, none)) == []


# --- sums on a lattice ------------------------------------------------------------------------------------


def probabilities(rate: float, reach: int) -> NDArray[np.float64]:
    """Of the multiples -reach, …, reach of the step."""
    x = np.arange(-reach, reach + 1)
    return np.asarray(np.tanh(rate / 2) * np.exp(-rate * np.abs(x)))


def test_sums_on_a_lattice() -> None:
    """An answer and two kinds of noise on lattices of different steps: entry by entry, and as one sum."""
    noise, reach = LatticeNoise(Fraction(1, 2), SeededBits(5)), 80
    q = noise.answers([Fraction(13, 4)] * FEW)
    total: ExactVector = q + noise.laplaces(1, FEW) - 2 * noise.discrete_laplaces(1, Fraction(1, 3), FEW)  # type: ignore[operator]
    assert total.unit == Fraction(1, 6)
    halves, thirds = probabilities(0.5, reach), probabilities(1 / 3, reach)
    expected: dict[Hashable, float] = {"beyond": 0.0}
    for i, j in itertools.product(range(-reach, reach + 1), repeat=2):
        steps = 18 + 3 * i - 4 * j  # sixths
        key: Hashable = steps if abs(steps - 18) <= 24 else "beyond"
        expected[key] = expected.get(key, 0.0) + halves[i + reach] * thirds[j + reach]
    expected["beyond"] += 1 - math.fsum(expected.values())
    seen: Counter[Hashable] = Counter()
    for x in total:
        steps = x * 6
        assert steps.denominator == 1
        seen[steps if abs(steps - 18) <= 24 else "beyond"] += 1
    check(seen, expected, FEW)
    parts = [noise.laplace(Fraction(1, 2)) for _ in range(4 * FEW)]
    sums = [sum(parts[i::FEW]) for i in range(FEW)]
    variance = 4 * (Fraction(1, 2) ** 2) * 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2
    found = math.fsum(float(x) ** 2 for x in sums) / FEW
    assert abs(found / float(variance) - 1) < 5 * math.sqrt(3 / FEW)


# --- choices and what is refused --------------------------------------------------------------------------


def test_choices(make: Make) -> None:
    weights = [
        (3, Fraction(1), Fraction(0)),
        (5, Fraction(1, 2), Fraction(1)),
        (9, Fraction(4), Fraction(-2)),
    ]
    shares = {i: float(factor) * math.exp(float(log)) for i, factor, log in weights}
    total = math.fsum(shares.values())
    expected: dict[Hashable, float] = {i: share / total for i, share in shares.items()}
    noise = make(GAMMA, 6)
    check(Counter(noise.weighted_choice(iter(weights)) for _ in range(FEW)), expected, FEW)
    plain = Counter(noise.choice((i, Fraction(i, 2)) for i in range(3)) for _ in range(FEW))
    exps = [math.exp(i / 2) for i in range(3)]
    check(plain, {i: e / math.fsum(exps) for i, e in enumerate(exps)}, FEW)  # type: ignore[arg-type]
    with pytest.raises(NumericError, match="no index"):
        noise.choice([])
    for wrong in (0.5, noise.laplace(1) if isinstance(noise, RefinedNoise) else 0.25):
        with pytest.raises(NumericError, match="a weight must be an exact number"):
            noise.choice([(0, wrong), (1, Fraction(1))])
    for factor, problem in ((0, "positive"), (Fraction(-1), "not|positive"), (0.5, "an int or a Fraction")):
        with pytest.raises(NumericError, match=f"a weight must.*({problem})"):
            noise.weighted_choice([(1, Fraction(1), Fraction(0)), (0, factor, Fraction(0))])
    floats = FloatingNoise(seed=7)
    check(Counter(floats.weighted_choice(iter(weights)) for _ in range(FEW)), expected, FEW)


def test_what_is_refused(make: Make) -> None:
    noise = make(GAMMA, 8)
    noise.discrete_laplace(Fraction(1, 2), Fraction(3, 4))
    refused: list[Callable[[], object]] = [
        lambda: noise.laplace(0),
        lambda: noise.exponential(Fraction(-1)),
        lambda: noise.laplaces(0.5, 3),
        lambda: noise.exponentials(math.inf, 3),
        lambda: noise.discrete_laplace(1, 0),
        lambda: noise.discrete_exponential(1, -1),
        lambda: noise.geometric(Fraction(3, 2)),
        lambda: noise.geometric(0),
        lambda: noise.geometric_of_rate(0),
        lambda: noise.logistic_at(Fraction(0), Fraction(0)),
        # Equal to what was drawn with before, but floats.
        lambda: noise.discrete_laplace(0.5, Fraction(3, 4)),
        lambda: noise.discrete_laplace(Fraction(1, 2), 0.75),
    ]
    for call in refused:
        with pytest.raises(NumericError):
            call()
    for gamma in (0, Fraction(-1)):
        with pytest.raises(NumericError, match="step of a lattice"):
            make(gamma, 9)  # type: ignore[arg-type]


def test_scales_with_irrational_factors_are_never_below_their_values() -> None:
    """The rate that is drawn with, per unit of length, is at most 1 over the scale: by squares, exactly."""
    rates: list[Fraction] = []

    class Watched(RefinedNoise):
        def exponential(self, scale: Any) -> Any:
            drawn = super().exponential(scale)
            ((rests, _),) = drawn.terms
            rates.append(rests.events.rate / drawn.unit)
            return drawn

    noise = Watched(Fraction(1), SeededBits(10))
    for n in (2, 3, 5, 7, 11):
        noise.exponential(sqrt(n))
        noise.exponential(1 / sqrt(n))
    for n, (up, down) in zip((2, 3, 5, 7, 11), zip(rates[::2], rates[1::2], strict=True), strict=True):
        assert up**2 * n < 1 < (up * (1 + Fraction(1, 2**60))) ** 2 * n
        assert down**2 < n < (down * (1 + Fraction(1, 2**60))) ** 2


def test_seeds_repeat_and_are_marked(make: Make) -> None:
    first, again, other = make(GAMMA, 11), make(GAMMA, 11), make(GAMMA, 12)
    assert first.remark == "not private (seeded)"

    def drawn(noise: Source) -> list[Any]:
        many = [noise.released(x) for x in noise.laplaces(3, 5)]
        return [*many, noise.released(noise.exponential(3)), noise.geometric(Fraction(1, 9))]

    assert drawn(first) == drawn(again) != drawn(other)
    assert LatticeNoise(GAMMA).remark is None


def test_sources_for_experiments_and_tests_do_the_same() -> None:
    floats = FloatingNoise(seed=13)
    assert floats.answers([Fraction(1, 2), 3]) == [0.5, 3.0]
    assert floats.answers(np.array([0.25])) == [0.25]
    assert floats.released(0.5) == 0.5
    assert {type(x) for x in floats.geometrics_of_rate(Fraction(1, 2), 9)} == {int}
    assert all(x >= 0 and x % 2 == 0 for x in floats.discrete_exponentials(3, 2, 50))
    mean = math.fsum(floats.geometric_of_rate(Fraction(1, 10)) for _ in range(FEW)) / FEW
    assert abs(mean - 1 / math.expm1(0.1)) < 5 * 10 / math.sqrt(FEW)
    tape = RecordedNoise([4, 5, 6, Fraction(1, 2)])
    assert tape.answers([0.5, 1]) == [Fraction(1, 2), 1]
    assert [tape.geometric_of_rate(1), *tape.discrete_exponentials(2, 1, 2)] == [4, 5, 6]
    assert tape.discrete_exponential(2, Fraction(1, 2)) == tape.released(Fraction(1, 2)) == Fraction(1, 2)
    assert [drawn.family for drawn in tape.drawn] == ["Geo", "DExp", "DExp", "DExp"]


# --- what low bits give away ------------------------------------------------------------------------------


def reachable(y: float, answer: float) -> bool:
    """Whether `FloatingNoise` has bits with which an answer and a Laplace draw of scale 1 add up to y."""
    near = round(math.exp(-abs(y - answer)) * 2**53)
    magnitudes = (-math.log(u * 2.0**-53) for u in range(max(near - 16, 1), min(near + 16, 2**53) + 1))
    return any(y in (answer + x, answer - x) for x in magnitudes)


@pytest.mark.parametrize(("answer", "other"), [(0.0, 1.0), (1.0, 0.0)])
def test_low_bits_of_floats_tell_neighbours_apart(answer: float, other: float) -> None:
    """Mironov's attack: many an output has a low bit that no draw could have made of the other answer."""
    noise = FloatingNoise(seed=14)
    outputs = [answer + noise.laplace(1) for _ in range(FEW)]
    assert all(reachable(y, answer) for y in outputs)
    assert sum(not reachable(y, other) for y in outputs) > FEW // 10


@pytest.mark.parametrize(("first", "second"), [(0.0, 1.0), (0.1 + 0.2, 1.3), (1 / 3, -2 / 3)])
def test_exact_outputs_are_the_same_multiples_of_the_step_for_neighbours(
    make: Make, first: float, second: float
) -> None:
    """Every multiple near the answers comes out for both, by probabilities that differ by at most exp(ε)."""
    gamma, eps, count = Fraction(1, 4), 1.0, 6000
    seen = []
    for seed, answer in ((15, first), (16, second)):
        noise = make(gamma, seed)
        outputs = [noise.released(x) for x in noise.answers([answer] * count) + noise.laplaces(1, count)]
        assert all((Fraction(y) / gamma).denominator == 1 for y in outputs)
        seen.append(Counter(outputs))
    near = [y * gamma for y in range(-8, 9)]
    for mine, others in (seen, seen[::-1]):
        assert set(near) <= set(mine)
        for y in near:
            # Conditionally on their sum, the first count is binomial with a share of at most this.
            share = math.exp(eps) / (1 + math.exp(eps))
            together = mine[y] + others[y]
            assert stats.binomtest(mine[y], together, share, alternative="greater").pvalue > UNLIKELY


def test_answers_off_the_lattice_are_released_on_it() -> None:
    """Its probabilities are those of real-valued noise, rounded down afterwards."""
    gamma, count = Fraction(1, 2), 3000
    for exact in (0.1, 0.35):
        noise = RefinedNoise(gamma, SeededBits(17))
        values: Any = noise.answers([exact] * count, exact=True) + noise.laplaces(1, count)
        ends = range(-5, 6)
        below = bins(ends, lambda end, exact=exact: real_below(1.0)(end / 2 - exact))  # type: ignore[misc]
        check(places([noise.released(x) for x in values], gamma, ends), below, count)
