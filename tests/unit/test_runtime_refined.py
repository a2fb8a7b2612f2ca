"""Refined numbers: their digits against exact probabilities, what they decide against all of their digits."""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from frequencies import UNLIKELY, check
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from aligncheck.runtime import NumericError
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.digits import ManyRests, draws, without_digits
from aligncheck.runtime.exact_noise import RefinedNoise
from aligncheck.runtime.exactly import Geometric
from aligncheck.runtime.refined import DigitEvents, RefinedNumber, Rests, common_step, sign_of

RATES = [Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(7), Fraction(1000)]
MANY_DIGITS = 300
COUNT = 3000


class ScriptedBits:
    """Bytes that are given one after the other."""

    remark: str | None = "not private (scripted)"
    used = True

    def __init__(self, rest: bytes) -> None:
        self.rest = rest

    def draw(self, count: int) -> bytes:
        assert len(self.rest) >= count
        drawn, self.rest = self.rest[:count], self.rest[count:]
        return drawn


# --- digits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_digits_of_rests(rate: Fraction) -> None:
    """U has a density proportional to exp(-θ u): by the first three digits, and by the last of twelve."""
    rests = Rests(DigitEvents(rate), SeededBits(1))
    drawn = [rests.digits(place, 12) for place in range(COUNT)]
    theta = float(rate)
    shares = [math.exp(-theta * part / 8) for part in range(8)]
    expected: dict[Hashable, float] = {part: share / math.fsum(shares) for part, share in enumerate(shares)}
    check(Counter(value >> 9 for value in drawn), expected, COUNT)
    shares = [math.exp(-theta * part / 4096) for part in range(8)]
    expected = {part: share / math.fsum(shares) for part, share in enumerate(shares)}
    check(Counter(value & 7 for value in drawn), expected, COUNT)


def test_digits_stay_as_they_were_drawn() -> None:
    for lengths in itertools.permutations((0, 3, 70, 200)):
        rests = Rests(DigitEvents(Fraction(2, 3)), SeededBits(2))
        known = {(place, n): rests.digits(place, n) for n in lengths for place in (0, 5)}
        for (place, n), value in known.items():
            assert rests.digits(place, n) == value == rests.digits(place, 200) >> (200 - n)
        assert known[0, 200] != known[5, 200]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_digits_of_many_decide_as_those_of_one(rate: Fraction) -> None:
    """On the same bytes, which many read the last digit first; and whichever were known before."""
    tape = random.Random(3).randbytes(200)
    events = DigitEvents(rate)
    tape = bytes(byte for byte in tape if all(byte != event.byte for event in events.between(0, 62)))[:62]
    one = Rests(events, ScriptedBits(tape))
    many = ManyRests(events, ScriptedBits(tape[::-1]), 5)
    assert many.many(np.array([3]), len(tape)).tolist() == [one.digits(3, len(tape))]
    many = ManyRests(events, SeededBits(4), 50)
    singles = {place: many.digits(place, count) for place, count in ((7, 3), (8, 62), (9, 100), (11, 0))}
    some = np.array([2, 7, 8, 9, 11, 49])
    known = many.many(some, 40).tolist()
    assert [known[1] >> 37, known[2], known[3]] == [singles[7], singles[8] >> 22, singles[9] >> 60]
    assert many.many(some, 5).tolist() == [value >> 35 for value in known]
    assert [value >> 40 for value in many.many(some, 80).tolist()] == known
    # In their order, so that they are drawn ahead.
    every = [many.digits(place, 45) for place in range(50)]
    assert [every[place] >> 5 for place in some] == known
    assert [many.digits(place, 90) >> 45 for place in range(50)] == every


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(1, 500), Fraction(1, 3), Fraction(7)], ids=str)
def test_steps_of_two_scales_and_their_digits_are_the_draws_of_steps(rate: Fraction) -> None:
    sampler, count = Geometric.of_rate(rate), 2000
    length, bits = len(sampler.digits), SeededBits(5)
    steps = without_digits(sampler, count, bits)
    rests = ManyRests(DigitEvents(rate * (1 << length)), bits, count)
    drawn = steps + (rests.many(np.arange(count), length) if length else 0)
    assert drawn.tolist() == draws(sampler, count, SeededBits(5)).tolist()


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_digits_of_many_rests(rate: Fraction) -> None:
    """As for single ones; drawn at once, and by single numbers in their order."""
    theta = float(rate)
    shares = [math.exp(-theta * part / 8) for part in range(8)]
    expected: dict[Hashable, float] = {part: share / math.fsum(shares) for part, share in enumerate(shares)}
    for at_once in (False, True):
        rests = ManyRests(DigitEvents(rate), SeededBits(6), COUNT)
        first = rests.many(np.arange(COUNT), 2).tolist() if at_once else []
        drawn = [rests.digits(place, 12) for place in range(COUNT)]
        assert not at_once or [value >> 10 for value in drawn] == first
        check(Counter(value >> 9 for value in drawn), expected, COUNT)


# --- what they decide -------------------------------------------------------------------------------------


def exact(number: RefinedNumber | Fraction) -> tuple[Fraction, Fraction]:
    """A number with many more digits than any decision needs, and how far it may be off."""
    if isinstance(number, Fraction):
        return number, Fraction(0)
    value, off = number.steps * number.unit + Fraction(number.top, number.bottom), Fraction(0)
    for (rests, place), coefficient in number.terms.items():
        digit = Fraction(1, 1 << MANY_DIGITS)
        value += coefficient * number.unit * rests.digits(place, MANY_DIGITS) * digit
        off += abs(coefficient) * number.unit * digit
    return value, off


def drawn_numbers(seed: int, count: int) -> list[Any]:
    """Noise of small scales, where digits matter, and of large ones."""
    noise = RefinedNoise(Fraction(1, 2), SeededBits(seed))
    scales = [Fraction(1, 100), Fraction(1, 3), Fraction(5)]
    return [noise.laplace(scales[i % 3]) if i % 2 else noise.exponential(scales[i % 3]) for i in range(count)]


SMALL = st.builds(Fraction, st.integers(-12, 12), st.sampled_from([1, 2, 3, 7]))


@settings(max_examples=80)
@given(
    st.integers(0, 2**20), st.lists(SMALL, min_size=3, max_size=3), SMALL, SMALL, st.sampled_from([1, 3, 10])
)
def test_decisions_agree_with_all_digits(
    seed: int, weights: list[Fraction], constant: Fraction, other: Fraction, per: int
) -> None:
    number = sum(w * d for w, d in zip(weights, drawn_numbers(seed, 3), strict=True)) + constant
    step = Fraction(2, per)
    floor, down = math.floor(number), (number if isinstance(number, RefinedNumber) else None)
    compared = [f(number, other) for f in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq)]
    size, lesser, clipped = abs(number), min(number, other), max(other, min(number, other + 1))
    rounded = down.rounded_down(step) if down is not None else None
    value, off = exact(number)
    for bound in (value, value + off):
        assert floor == math.floor(bound)
        assert rounded is None or rounded == math.floor(bound / step) * step
        assert compared == [bound < other, bound <= other, bound > other, bound >= other, bound == other]
        assert sign_of(number - other) == (bound > other) - (bound < other)
    for found, wanted in ((size, abs(value)), (lesser, min(value, other))):
        assert abs(exact(found)[0] - wanted) <= off
    assert abs(exact(clipped)[0] - max(other, min(value, other + 1))) <= off


def test_equal_numbers_are_found_equal_without_digits() -> None:
    a, b, c = drawn_numbers(4, 3)
    assert (a + b) - (b + a) == 0
    assert a + b == b + a
    assert a * 2 == a + a
    assert not a != a + 0  # noqa: SIM202
    assert a / 3 * 3 == a
    assert -(a - b) == b - a
    assert a - Fraction(1, 7) + b - c + Fraction(1, 7) == a + b - c
    assert type(a - a) is type(a * 0) is Fraction
    assert a != b
    assert abs(-a) == abs(a)
    assert bool(a)
    assert +a is a


def test_a_decision_draws_few_digits() -> None:
    class Counted(SeededBits):
        read = 0

        def draw(self, count: int) -> bytes:
            self.read += count
            return super().draw(count)

    bits = Counted(5)
    noise = RefinedNoise(Fraction(1), bits)
    drawn = [noise.laplace(Fraction(1, 2)) for _ in range(200)]
    before = bits.read
    for a, b in itertools.pairwise(drawn):
        assert (a < b) is not (a > b)
    assert bits.read - before < 200 * 8
    before = bits.read
    assert [a < b for a, b in itertools.pairwise(drawn)] == [b > a for a, b in itertools.pairwise(drawn)]
    assert bits.read == before


def test_noise_on_its_own_is_rounded_to_its_lattice_without_digits() -> None:
    bits = ScriptedBits(b"\0" * 100)
    drawn = RefinedNumber(5, Fraction(1, 2), {(Rests(DigitEvents(Fraction(1)), bits), 0): 1})
    assert drawn.rounded_down(Fraction(1, 2)) == Fraction(5, 2)
    assert drawn >= Fraction(5, 2)
    assert -drawn <= Fraction(-5, 2)
    assert drawn < 3
    assert len(bits.rest) == 100
    assert math.floor(drawn * 2) == 5
    assert math.floor(drawn) == 2
    assert (-drawn).rounded_down(Fraction(1, 2)) == -3
    assert len(bits.rest) == 100


def test_what_has_no_exact_form_is_refused() -> None:
    a, b = drawn_numbers(6, 2)
    refused: list[Callable[[], object]] = [
        lambda: a * b,
        lambda: a / b,
        lambda: 1 / a,
        lambda: Fraction(1, 3) / a,
        lambda: a**2,
        lambda: 2**a,
        lambda: a % 1,
        lambda: 5 % a,
        lambda: float(a),
        lambda: math.exp(a),
        lambda: a + 0.5,
        lambda: 0.5 - a,
        lambda: a * 0.5,
        lambda: a / 0.5,
        lambda: a < 0.5,
    ]
    for operation in refused:
        with pytest.raises(NumericError):
            operation()
    for unknown in (lambda: a + "1", lambda: a < None, lambda: [] - a):
        with pytest.raises(TypeError):
            unknown()  # type: ignore[no-untyped-call]
    with pytest.raises(ZeroDivisionError):
        a / 0
    with pytest.raises(TypeError):
        hash(a)
    assert a != "1"
    assert "noisy" in repr(a)


def test_steps_in_common() -> None:
    assert common_step(Fraction(1, 6), Fraction(1, 4)) == Fraction(1, 12)
    assert common_step(Fraction(6), Fraction(4)) == 2
    assert common_step(Fraction(3, 2), Fraction(0)) == Fraction(3, 2)


# --- distributions ----------------------------------------------------------------------------------------


def laplace_below(x: float, scale: float) -> float:
    return math.exp(x / scale) / 2 if x < 0 else 1 - math.exp(-x / scale) / 2


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("step", [Fraction(1), Fraction(3, 10)])
def test_rounded_laplace(scale: Fraction, step: Fraction) -> None:
    """Rounded down to a lattice that has nothing to do with that of the draws."""
    noise = RefinedNoise(Fraction(1, 4), SeededBits(7))
    drawn = [noise.laplace(scale).rounded_down(step) / step for _ in range(COUNT)]
    ends = range(-15, 16)
    below = [0.0, *(laplace_below(float(end * step), float(scale)) for end in ends), 1.0]
    expected: dict[Hashable, float] = {i: q - p for i, (p, q) in enumerate(itertools.pairwise(below))}
    check(Counter(sum(x >= end for end in ends) for x in drawn), expected, COUNT)


@pytest.mark.parametrize("gamma", [Fraction(1, 1024), Fraction(1), Fraction(20)])
def test_the_lattice_makes_no_difference_to_the_noise(gamma: Fraction) -> None:
    """P(X - Y < 1) for exponential X and Laplace Y, on lattices far finer and coarser than both."""
    noise = RefinedNoise(gamma, SeededBits(8))
    hits = sum(noise.exponential(2) - noise.laplace(1) < 1 for _ in range(COUNT))
    # By P(Y > x - 1): for x <= 1 it is 1 - exp(x - 1)/2, else exp(1 - x)/2; X has density exp(-x/2)/2.
    near = 1 - math.exp(-1 / 2) - math.exp(-1) * (math.exp(1 / 2) - 1) / 2
    far = math.exp(1) / 4 * math.exp(-3 / 2) / (3 / 2)
    assert stats.binomtest(hits, COUNT, near + far).pvalue > UNLIKELY


@pytest.mark.parametrize("count", [COUNT, 4 * COUNT])
def test_many_draws_are_as_single_ones(count: int) -> None:
    """So many as are made in steps of the lattice, and as are made in steps of two scales."""
    noise: Any = RefinedNoise(Fraction(1, 20), SeededBits(9))
    for many in (noise.laplaces(1, count), -noise.exponentials(1, count), noise.exponentials(1, count)):
        (coefficients,) = many.terms.values()
        assert np.all(np.abs(coefficients) == (1 if count == COUNT else 64))
        steps = [x.rounded_down(Fraction(1, 4)) * 4 for x in many]
        both = min(steps) < 0 < max(steps)
        negative = max(steps) <= 0
        ends = range(-6, 7)

        def below(end: int, both: bool = both, negative: bool = negative) -> float:
            if both:
                return laplace_below(end / 4, 1)
            return min(math.exp(end / 4), 1.0) if negative else max(1 - math.exp(-end / 4), 0.0)

        parts = [0.0, *(below(end) for end in ends), 1.0]
        expected: dict[Hashable, float] = {i: q - p for i, (p, q) in enumerate(itertools.pairwise(parts))}
        check(Counter(sum(x >= end for end in ends) for x in steps), expected, count)
    assert len(noise.laplaces(1, 0)) == len(noise.exponentials(1, -1)) == 0
