"""The exact samplers: digits of probabilities against decimal arithmetic, draws against closed forms."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from aligncheck.runtime import NumericError, digits
from aligncheck.runtime.bits import Bits, SeededBits, SystemBits, below
from aligncheck.runtime.digits import draws, fitting, happenings
from aligncheck.runtime.exactly import LOG2_E, Geometric, choice, happens_within
from aligncheck.runtime.thresholds import (
    Event,
    Power,
    Threshold,
    exp_bounds,
    power_bounds,
    series_bounds,
    squared_bounds,
)
from aligncheck.runtime.vectors import whole_numbers

RATES = [
    Fraction(1, 10**9),
    Fraction(1, 16_000),
    Fraction(22, 7000),
    Fraction(1, 3),
    Fraction(1),
    Fraction(5, 2),
    Fraction(7),
    Fraction(1000),
]
MANY, FEW = 30_000, 2_000


def geometric(rate: Fraction | int, bits: Bits) -> int:
    return Geometric.of_rate(rate).draw(bits)


def geometrics(rate: Fraction | int, count: int, bits: Bits) -> Any:
    return draws(Geometric.of_rate(rate), count, bits)


def discrete_laplaces(rate: Fraction | int, count: int, bits: Bits) -> Any:
    return digits.two_sided(Geometric.of_rate(rate), count, bits)


UNLIKELY = 1e-4


class ScriptedBits:
    """Bytes that are given one after the other."""

    remark: str | None = "not private (scripted)"
    used = True

    def __init__(self, *pieces: bytes) -> None:
        self.rest = b"".join(pieces)

    def draw(self, count: int) -> bytes:
        assert len(self.rest) >= count
        drawn, self.rest = self.rest[:count], self.rest[count:]
        return drawn


def word(value: int) -> bytes:
    return value.to_bytes(8, "little")


# --- probabilities ----------------------------------------------------------------------------------------


def digits_by_decimals(x: Fraction, count: int, *, odds: bool) -> int:
    with localcontext() as context:
        context.prec = 60 + count
        power = (-Decimal(x.numerator) / Decimal(x.denominator)).exp()
        value = power / (1 + power) if odds else power
        return int(value * 2**count)


@pytest.mark.parametrize("odds", [False, True])
def test_digits_of_probabilities(odds: bool) -> None:
    rng = random.Random(1)
    drawn = [Fraction(rng.randint(1, 10**9), rng.randint(1, 10 ** rng.randint(1, 12))) for _ in range(40)]
    for x in [*RATES, *drawn, Fraction(1, 10**30), Fraction(355, 113)]:
        if x > 5000:
            continue
        for count in (1, 8, 72, 136, 700):
            assert Threshold(x, odds).leading(count) == digits_by_decimals(x, count, odds=odds), (x, count)


@pytest.mark.parametrize("x", [Fraction(0), *RATES])
@pytest.mark.parametrize("precision", [1, 8, 200])
def test_bounds_are_close_and_on_the_right_side(x: Fraction, precision: int) -> None:
    low, high = exp_bounds(x, precision)
    exact = digits_by_decimals(x, precision, odds=False)
    assert low <= exact <= exact + (x > 0) <= high <= low + 2


def test_each_step_of_the_bounds_is_rounded_outwards() -> None:
    rng = random.Random(2)
    drawn = [(Fraction(rng.randint(0, 500), 1000), rng.randint(3, 14)) for _ in range(1500)]
    # In the last two a term is one unit exactly, so that the next is what rounding leaves no room for.
    for x, precision in [*drawn, (Fraction(1, 4), 2), (Fraction(1, 4), 5)]:
        low, high = series_bounds(x, precision)
        exact = Decimal(2**precision) * (-Decimal(x.numerator) / x.denominator).exp()
        assert low <= exact <= high
        squares = squared_bounds(low, high, precision)
        assert squares[0] <= Fraction(low**2, 2**precision) <= Fraction(high**2, 2**precision) <= squares[1]


def test_probabilities_of_extreme_exponents() -> None:
    assert Threshold(Fraction(10**400)).leading(10_000) == 0
    assert Threshold(Fraction(1, 10**400)).leading(1000) == 2**1000 - 1
    assert Threshold(Fraction(1, 10**400), odds=True).leading(1000) == 2**999 - 1
    assert Threshold(Fraction(1000)).leading(1442) == 0 < Threshold(Fraction(1000)).leading(1443)


POWERS = [
    Fraction(1, 2),
    Fraction(1, 3),
    Fraction(3, 4),
    Fraction(10**9 - 1, 10**9),
    Fraction(2, 7),
    Fraction(0),
]


@pytest.mark.parametrize("base", POWERS, ids=str)
@pytest.mark.parametrize("odds", [False, True])
def test_digits_of_powers(base: Fraction, odds: bool) -> None:
    """Powers of 1/2, and 1/3 as odds, have finitely many digits; in small and large powers."""
    for doublings in (0, 1, 5, 11):
        power = base ** (1 << doublings)
        exact = power / (1 + power) if odds else power
        for count in (1, 8, 72, 136, 3000):
            assert Power(base, doublings, odds).leading(count) == math.floor(exact * 2**count)


def test_digits_of_powers_that_nobody_multiplies_out() -> None:
    base = Fraction(10**9 - 1, 10**9)
    for doublings in (25, 30, 36):
        with localcontext() as context:
            context.prec = 100
            power = (Decimal(2**doublings) * (Decimal(base.numerator) / base.denominator).ln()).exp()
            for odds, exact in ((False, power), (True, power / (1 + power))):
                assert Power(base, doublings, odds).leading(72) == int(exact * 2**72)
    low, high = power_bounds(base, 30, 200)
    assert 0 < high - low <= 3
    for size, doublings, precision in itertools.product((1, 5, 20, 60), (0, 1, 4, 7), (1, 40, 100)):
        base = 1 - Fraction(3, 2**size + 3)
        low, high = power_bounds(base, doublings, precision)
        assert low <= base ** (1 << doublings) * 2**precision <= high <= low + 3
    # Exact powers of 1/2 that are too long to be multiplied out end, as every one of their digits is known.
    assert Power(Fraction(1, 2), 13).leading(2**13) == 1
    assert Power(Fraction(1, 2), 13).leading(2**13 - 1) == 0
    assert Power(Fraction(1, 2**5000 - 1), 0, odds=True).leading(5000) == 1


def test_the_logarithm_of_e() -> None:
    with localcontext() as context:
        context.prec = 60
        assert int(2**64 / Decimal(2).ln()) == LOG2_E


# --- events -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [Fraction(1, 10**9), Fraction(1, 3), Fraction(3), Fraction(40)])
@pytest.mark.parametrize("odds", [False, True])
def test_an_event_compares_bytes_with_its_probability(x: Fraction, odds: bool) -> None:
    probability = Threshold(x, odds)
    event, digits = Event.of(probability), probability.leading(200)
    byte, first, second, third = (digits >> 192, *((digits >> shift) % 2**64 for shift in (128, 64, 0)))
    plain = [one for one in range(256) if one != byte]
    assert list(happenings([event], 255, ScriptedBits(bytes(plain)))[0]) == [one < byte for one in plain]
    # Where the digits read so far are those of the probability, later ones decide, for each draw on its own.
    words = [word(first - 1), word(first), word(first + 1), word(first)]
    later = [word(second - 1), word(second), word(third + 1)]
    bits = ScriptedBits(bytes([byte] * 4), *words, *later)
    assert list(happenings([event], 4, bits)[0]) == [True, True, False, False]
    assert not bits.rest


def test_uniform_integers_are_uniform_on_all_bytes() -> None:
    for bound in (2, 3, 7, 128, 200, 255):
        drawn = []
        for byte in range(256):
            bits = ScriptedBits(bytes([byte]), b"\0")
            drawn.append(below(bound, bits))
            if not bits.rest:  # refused, and drawn afresh
                drawn.pop()
        assert {drawn.count(value) for value in range(bound)} == {len(drawn) // bound}
    assert below(1, ScriptedBits()) == 0
    assert below(2**64 + 1, ScriptedBits(b"\xff" * 9, word(0), b"\1")) == 2**64


def test_sources_say_whether_they_are_private() -> None:
    assert SystemBits().remark is None
    assert SeededBits(1).remark == "not private (seeded)"
    assert SeededBits(1).draw(64) == SeededBits(1).draw(64) != SeededBits(2).draw(64)
    assert SystemBits().draw(64) != SystemBits().draw(64)
    assert len(SystemBits().draw(3)) == 3


# --- draws ------------------------------------------------------------------------------------------------


def check_bins(draws: Sequence[int] | Iterable[int], bins: Sequence[tuple[int, float]]) -> None:
    """A chi-square test: bins are given by what each begins with, and its probability."""
    found = np.array([int(draw) for draw in draws], dtype=object)
    starts = [start for start, _ in bins]
    places = np.searchsorted(np.array(starts, dtype=object), found, side="right")
    assert places.min() > 0
    observed = np.bincount(places.astype(int), minlength=len(bins) + 1)[1:]
    expected = np.array([probability for _, probability in bins]) * len(found)
    assert abs(expected.sum() - len(found)) < 1e-6 * len(found)
    rare = expected < 8
    assert observed[rare].sum() <= stats.poisson.ppf(1 - UNLIKELY, max(expected[rare].sum(), 1e-300))
    if (~rare).sum() > 1:
        scaled = expected[~rare] * observed[~rare].sum() / expected[~rare].sum()
        assert stats.chisquare(observed[~rare], scaled).pvalue > UNLIKELY


def geometric_bins(rate: float, parts: int = 24) -> list[tuple[int, float]]:
    """Bins of about equal probability, as far as whole numbers allow."""
    starts = sorted({math.ceil(-math.log1p(-i / parts) / rate) for i in range(parts)} | {1, 2})
    survival = [*(math.exp(-rate * start) for start in starts), 0.0]
    return [(start, survival[i] - survival[i + 1]) for i, start in enumerate(starts)]


def laplace_bins(rate: float) -> list[tuple[int, float]]:
    zero = math.tanh(rate / 2)
    right = [(start + 1, p * (1 - zero) / 2) for start, p in geometric_bins(rate, 12)]
    ends = [start - 1 for start, _ in right[1:]]
    left = [(-end, p) for end, (_, p) in zip(ends, right, strict=False)]
    return [(-(10**60), right[-1][1]), *reversed(left), (0, zero), *right]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_geometric(rate: Fraction) -> None:
    bins = geometric_bins(float(rate))
    check_bins([geometric(rate, bits) for bits in [SeededBits(1)] for _ in range(FEW)], bins)
    check_bins(geometrics(rate, MANY, SeededBits(2)), bins)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_discrete_laplace(rate: Fraction) -> None:
    check_bins(discrete_laplaces(rate, MANY, SeededBits(4)), laplace_bins(float(rate)))


@pytest.mark.parametrize("rate", RATES[:5], ids=str)
@pytest.mark.parametrize("modulus", [2, 8, 10])
def test_remainders_are_truncated_geometric(rate: Fraction, modulus: int) -> None:
    """Lemma 5.6 of the secure-implementation paper; with it, the low digits are as they should be."""
    r = math.exp(-float(rate))
    total = math.fsum(r**m for m in range(modulus))
    bins = [(m, r**m / total) for m in range(modulus)]
    check_bins(geometrics(rate, MANY, SeededBits(5)) % modulus, bins)


def test_draws_one_after_the_other_are_independent() -> None:
    rate = Fraction(1, 40)
    for drawn in (geometrics(rate, MANY, SeededBits(6)), abs(discrete_laplaces(rate, MANY, SeededBits(7)))):
        parts = np.searchsorted(np.quantile(drawn, [0.25, 0.5, 0.75]), np.asarray(drawn))
        table = np.histogram2d(parts[:-1], parts[1:], bins=4)[0]
        assert stats.chi2_contingency(table).pvalue > UNLIKELY


CHANCES = [
    Fraction(1, 10**9),
    Fraction(1, 16_000),
    *(Fraction(n, 12) for n in (1, 4, 6, 8, 9, 11)),
    Fraction(1),
]


@pytest.mark.parametrize("p", CHANCES, ids=str)
def test_failures_before_the_first_success(p: Fraction) -> None:
    bins = geometric_bins(-math.log1p(-float(p))) if p < 1 else [(0, 1.0), (1, 0.0)]
    sampler = Geometric.of_chance(p)
    check_bins([sampler.draw(bits) for bits in [SeededBits(13)] for _ in range(FEW)], bins)
    check_bins(draws(sampler, MANY, SeededBits(14)), bins)


def test_a_chance_like_exp_minus_2000_has_digits_that_are_fair_coins_but_for_the_highest() -> None:
    p = Fraction(1, 2**2885)
    sampler = Geometric.of_chance(p)
    assert [len(sampler.digits), sampler.digits[0].byte, sampler.digits[0].word] == [2886, 127, 2**64 - 1]
    assert Fraction(1, 100) < sampler.draw(SeededBits(1)) * p < 10


CHOICES: list[list[tuple[Fraction, Fraction]]] = [
    [(Fraction(1), Fraction(0))],
    [(Fraction(1), Fraction(7)), (Fraction(1), Fraction(5)), (Fraction(1), Fraction(13, 2))],
    [(Fraction(1, 7), Fraction(0)), (Fraction(10**9), Fraction(-20)), (Fraction(3, 10**6), Fraction(12))],
    [(Fraction(3), Fraction(10**30)), (Fraction(5), Fraction(10**30)), (Fraction(10**40), Fraction(0))],
    [(Fraction(1), Fraction(-i, 3)) for i in range(40)],
    [(Fraction(1), Fraction(i, 10**60 + i)) for i in range(12)],
    [(Fraction(1), Fraction(-60)), *[(Fraction(10**24), Fraction(-60 - 54))] * 3],
]


@pytest.mark.parametrize("weights", CHOICES)
def test_choices_have_the_probabilities_of_their_weights(weights: list[tuple[Fraction, Fraction]]) -> None:
    bits = SeededBits(15)
    greatest = max(log for _, log in weights)
    shares = [float(factor) * math.exp(float(log - greatest)) for factor, log in weights]
    chosen = [choice(weights, bits) for _ in range(2 * FEW)]
    check_bins(chosen, [(place, share / math.fsum(shares)) for place, share in enumerate(shares)])


def test_a_choice_reads_little_whatever_the_weights() -> None:
    """Also where one index has nearly all of the probability, or where weights are far apart."""

    class Counted(SeededBits):
        read = 0

        def draw(self, count: int) -> bytes:
            self.read += count
            return super().draw(count)

    bits = Counted(16)
    one = Fraction(1)
    for weights in (
        [(one, Fraction(0)), *[(one, Fraction(-30))] * 500],
        [(one, Fraction(-(10**9) * i)) for i in range(500)],
        [(Fraction(10) ** (4 * i - 1000), Fraction(-9 * i)) for i in range(500)],
    ):
        for _ in range(20):
            choice(weights, bits)
    assert bits.read < 60 * 40


def test_choices_that_are_refused() -> None:
    with pytest.raises(NumericError, match="no index"):
        choice([], SystemBits())


def test_an_event_between_bounds_is_settled_by_further_bits() -> None:
    """1/3 by bounds that say as little as they may."""

    def bounds(precision: int) -> tuple[int, int]:
        third = 2**precision // 3
        return third - 2, third + 3

    tie = (2**64 // 3).to_bytes(8, "little")
    assert happens_within(bounds, ScriptedBits(word(2**64 // 3 - 3)))
    assert not happens_within(bounds, ScriptedBits(word(2**64 // 3 + 3)))
    assert happens_within(bounds, ScriptedBits(tie, word(2**62)))
    assert not happens_within(bounds, ScriptedBits(tie, word(2**63)))
    assert not happens_within(bounds, ScriptedBits(tie, tie, tie, word(2**64 - 1)))

    def close(precision: int) -> tuple[int, int]:
        return 2**precision // 3, 2**precision // 3 + 1

    assert happens_within(close, ScriptedBits(tie, word(2**64 // 3 - 1)))
    assert not happens_within(close, ScriptedBits(tie, word(2**64 // 3 + 1)))
    bits = SeededBits(17)
    hits = sum(happens_within(bounds, bits) for _ in range(FEW))
    assert stats.binomtest(hits, FEW, 1 / 3).pvalue > UNLIKELY


@pytest.mark.parametrize("exponent", [15, 19, 40])
def test_draws_of_any_size(exponent: int) -> None:
    """Numbers that fit in 64 bits no longer, or only at times."""
    rate = Fraction(1, 10**exponent)
    drawn = geometrics(rate, 3000, SeededBits(10))
    check_bins(drawn, geometric_bins(float(rate)))
    check_bins(drawn % 8, [(m, 1 / 8) for m in range(8)])
    check_bins(drawn // 2**40 % 8, [(m, 1 / 8) for m in range(8)])
    check_bins(discrete_laplaces(rate, 3000, SeededBits(11)), laplace_bins(float(rate)))
    assert type(drawn.tolist()[0]) is int


def test_more_draws_than_are_made_at_once() -> None:
    drawn = geometrics(Fraction(1, 2), 150_000, SeededBits(12))
    assert drawn.shape == (150_000,)
    for part in (drawn[: 1 << 16], drawn[1 << 16 : 1 << 17], drawn[1 << 17 :]):
        check_bins(part, geometric_bins(0.5))
    for count in (0, -1):
        assert len(geometrics(1, count, SystemBits())) == len(discrete_laplaces(1, count, SystemBits())) == 0


@pytest.mark.parametrize("rate", [0, -1, Fraction(-1, 3), 0.5, math.nan, True, "1", None])
def test_rates_that_are_refused(rate: Any) -> None:
    with pytest.raises(NumericError, match="a rate must"):
        Geometric.of_rate(rate)


def test_probabilities_that_are_refused() -> None:
    for p in (0, -1, Fraction(3, 2), 0.5, True):
        with pytest.raises(NumericError, match="a success probability must"):
            Geometric.of_chance(p)  # type: ignore[arg-type]


def test_whole_numbers_of_any_size() -> None:
    for values in ([2**62], [-(2**62)], [2**64, -1], [-(2**63)]):
        assert whole_numbers(values).dtype == object
        assert whole_numbers(values).tolist() == values
    assert whole_numbers([2**62 - 1]).dtype == whole_numbers([]).dtype == np.int64
    assert fitting(np.array([2**62, 0])).dtype == fitting(np.array([0, -(2**62)])).dtype == object
