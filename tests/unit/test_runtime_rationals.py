"""Functions of rational numbers against decimal arithmetic, and answers rounded down to a lattice."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from aligncheck.runtime import NumericError
from aligncheck.runtime.bits import SeededBits, SystemBits
from aligncheck.runtime.decimals import as_read, step_below
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise, short_rate
from aligncheck.runtime.rationals import (
    exp,
    ln,
    ln_down,
    ln_up,
    log2,
    one_minus_exp,
    sqrt,
    sqrt_down,
    sqrt_up,
)
from aligncheck.runtime.rounding import steps_below

DIGITS = 100
CLOSE = Decimal(2) ** -90


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


POSITIVE = [
    *(Fraction(n) for n in (2, 3, 10, 5000, 10**60)),
    *(Fraction(n, d) for n, d in ((1, 3), (22, 7), (7, 10**12), (2**64 - 1, 2**64), (2**64 + 1, 2**64))),
    *(1 + Fraction(sign, 10**40) for sign in (1, -1)),
    *(Fraction(n, d) for n, d in ((3, 4), (3, 2), (1, 10**60), (10**30 + 1, 10**30))),
]
FUNCTIONS: list[tuple[Callable[[Any], Fraction], Callable[[Decimal], Decimal]]] = [
    (sqrt, lambda x: x.sqrt()),
    (ln, lambda x: x.ln()),
    (log2, lambda x: x.ln() / Decimal(2).ln()),
]


@pytest.mark.parametrize("x", POSITIVE, ids=str)
def test_roots_and_logarithms(x: Fraction) -> None:
    with localcontext() as context:
        context.prec = DIGITS + 100
        for function, wanted in FUNCTIONS:
            exact = wanted(decimal(x))
            assert abs(decimal(function(x)) / exact - 1) < CLOSE if exact else function(x) == 0


@pytest.mark.parametrize("x", POSITIVE, ids=str)
def test_roots_and_logarithms_rounded_one_way(x: Fraction) -> None:
    pairs = ((sqrt_down, sqrt_up, Decimal.sqrt, 2 * x / (1 + x)), (ln_down, ln_up, Decimal.ln, 1 - 1 / x))
    with localcontext() as context:
        context.prec = DIGITS + 100
        for down, up, wanted, least in pairs:
            exact = wanted(decimal(x))
            low, high = decimal(down(x)), decimal(up(x))
            assert low <= exact <= high
            assert high - low < CLOSE * abs(exact)
            assert down(x) >= least
        assert sqrt_down(x * x) == sqrt_up(x * x) == x


@pytest.mark.parametrize("size", [x for x in POSITIVE if x < 6000], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_exponentials(size: Fraction, sign: int) -> None:
    x = sign * size
    with localcontext() as context:
        context.prec = DIGITS + 200
        assert abs(decimal(exp(x)) / decimal(x).exp() - 1) < CLOSE
        assert abs(decimal(one_minus_exp(x)) / (1 - decimal(x).exp()) - 1) < CLOSE


@pytest.mark.parametrize("size", [x for x in (*POSITIVE, Fraction(1, 2), Fraction(0)) if x < 6000], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_both_ways_to_the_exponential_agree_to_the_last_digit(size: Fraction, sign: int) -> None:
    """A proof takes `1 - exp(x)` for one minus the value of `exp(x)`, and knows which tests that settles."""
    assert one_minus_exp(sign * size) == 1 - exp(sign * size)


def test_what_is_rational_stays_exact() -> None:
    assert sqrt(Fraction(9, 4)) == Fraction(3, 2)
    assert sqrt(0) == ln(1) == one_minus_exp(0) == log2(1) == 0
    assert exp(0) == 1
    assert [log2(Fraction(1, 8)), log2(2**70)] == [-3, 70]
    assert {type(f) for f in (sqrt(4), exp(0), log2(4), ln(1))} == {Fraction}


def test_floors_of_roots_and_binary_logarithms_are_exact() -> None:
    """Next to whole numbers, closer than any approximation is."""
    rng = random.Random(4)
    for _ in range(200):
        off = Fraction(rng.choice([1, -1]), 2 ** rng.randint(2, 400))
        x = Fraction(2) ** rng.randint(-300, 300) * (1 + off)
        floor = math.floor(log2(x))
        assert Fraction(2) ** floor <= x < Fraction(2) ** (floor + 1)
        n = rng.getrandbits(rng.randint(1, 300)) + 1
        for square in (n * n + off, n * n + 1, n * n - Fraction(1, 3)):
            assert math.floor(sqrt(square)) ** 2 <= square < (math.floor(sqrt(square)) + 1) ** 2
            assert abs(sqrt(square) ** 2 / square - 1) < Fraction(1, 2**89)


def test_approximations_are_long_and_always_the_same() -> None:
    """So that a scale that is computed with them is known to be one."""
    rng = random.Random(1)
    for _ in range(200):
        x = Fraction(rng.randint(1, 10**6), rng.randint(1, 10**4))
        for function in (sqrt, ln, log2, one_minus_exp, exp):
            value = function(min(x, Fraction(20)))
            assert value == function(min(x, Fraction(20)))
            short = max(value.numerator.bit_length(), value.denominator.bit_length()) < 90
            assert not short or function in (sqrt, log2, ln)
            if short:
                assert value**2 == min(x, Fraction(20)) or function is not sqrt


@pytest.mark.parametrize("function", [sqrt, exp, ln, log2, one_minus_exp])
def test_arguments_that_are_refused(function: Callable[[Any], Fraction]) -> None:
    for wrong in (0.5, "1", None, RefinedNoise(Fraction(1), SeededBits(1)).laplace(1)):
        with pytest.raises(NumericError, match="exact function"):
            function(wrong)


def test_values_that_are_refused() -> None:
    with pytest.raises(NumericError, match="negative"):
        sqrt(-1)
    for logarithm in (ln, log2):
        for x in (0, -3):
            with pytest.raises(NumericError, match="not positive"):
                logarithm(x)
    for x in (10**9, -(10**9)):
        with pytest.raises(NumericError, match="too large"):
            exp(x)
        with pytest.raises(NumericError, match="too large"):
            one_minus_exp(x)


def test_no_float_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sqrt", "exp", "log", "log2", "expm1", "log1p"):
        monkeypatch.delattr(math, name)
    monkeypatch.setattr(Fraction, "__float__", None)
    for value in (sqrt(2), ln(3), log2(3), exp(Fraction(1, 3)), one_minus_exp(-1)):
        assert value != 0


# --- scales -----------------------------------------------------------------------------------------------


def test_long_rates_are_taken_down_a_little() -> None:
    rng = random.Random(2)
    for _ in range(500):
        rate = Fraction(rng.getrandbits(rng.randint(1, 200)) + 1, rng.getrandbits(rng.randint(1, 200)) + 1)
        short = short_rate(rate)
        if max(rate.numerator, rate.denominator) < 2**64:
            assert short == rate
        else:
            assert rate * (1 - Fraction(1, 2**62)) < short < rate * (1 - Fraction(1, 2**66))
            odd = short.numerator // (short.numerator & -short.numerator)
            assert max(odd.bit_length(), 73) == 73


# --- answers ----------------------------------------------------------------------------------------------

STEPS = [
    Fraction(*p) for p in ((1, 1024), (1, 10), (3, 7), (5, 1), (1, 10**12), (10**30, 1), (1, 10**25), (7, 3))
]


def numbers(seed: int) -> list[float]:
    rng = random.Random(seed)
    kinds: list[Callable[[], float]] = [
        lambda: rng.gauss(0, 100),
        lambda: rng.randint(-100, 100) / 10,
        lambda: float(rng.randint(-5, 5)),
        lambda: rng.gauss(0, 1) * 10.0 ** rng.randint(-300, 300),
        lambda: rng.randint(-2000, 2000) / 1024,
        lambda: rng.gauss(0, 1e15),
        lambda: math.nextafter(rng.randint(-50, 50) / 7 * 3, rng.choice([math.inf, -math.inf])),
        lambda: rng.choice([1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, -0.0]),
    ]
    return [rng.choice(kinds)() for _ in range(300)]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_lists_are_rounded_as_single_numbers_are(step: Fraction) -> None:
    """All at once or one by one; a float is a decimal, on every lattice."""
    for seed, limit in ((1, math.inf), (2, 1e10), (3, 1.0)):
        floats = [x for x in numbers(seed) if abs(x) < limit]
        exact = [Fraction(repr(x)) for x in floats]
        wanted = [math.floor(x / step) for x in exact]
        assert [step_below(x, step) for x in floats] == wanted
        assert steps_below(floats, step).tolist() == wanted
        assert steps_below(np.array(floats), step).tolist() == wanted
        assert steps_below(exact, step).tolist() == wanted
        mixed: list[Fraction | float] = [*floats[:9], *exact[9:], 3, -4]
        assert steps_below(mixed, step).tolist() == [*wanted, *(math.floor(n / step) for n in (3, -4))]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_whole_answers_of_any_type(step: Fraction) -> None:
    given = [-(2**31), -7, 0, 1, 255]
    wanted = [math.floor(n / step) for n in given]
    assert steps_below(given, step).tolist() == wanted
    for kind in (np.int64, np.int32, np.dtype(">i8")):
        assert steps_below(np.array(given, dtype=kind), step).tolist() == wanted
    large = [2**64 - 1, 2**63, 5]
    assert steps_below(np.array(large, dtype=np.uint64), step).tolist() == [
        math.floor(n / step) for n in large
    ]
    assert steps_below([10**30, 1], step).tolist() == [math.floor(n / step) for n in (10**30, 1)]
    assert steps_below([], step).tolist() == steps_below(np.array([]), step).tolist() == []


def test_neighbours_stay_neighbours() -> None:
    """Lemma 4.2 of the secure-implementation paper: rounding down keeps a distance that γ divides."""
    rng = random.Random(3)
    for step in (Fraction(1, 1024), Fraction(1, 10), Fraction(1, 3)):
        values = [Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 10**4)) for _ in range(200)]
        moved = [v + Fraction(rng.randint(-1000, 1000), 1000) for v in values]
        apart = abs(steps_below(values, step) - steps_below(moved, step))
        assert apart.max() <= 1 / step


def test_answers_as_sources_hold_them() -> None:
    gamma = Fraction(1, 4)
    given: list[Fraction | float] = [Fraction(1, 3), 2, 0.3]
    lattice, refined = LatticeNoise(gamma, SeededBits(4)), RefinedNoise(gamma, SeededBits(4))
    assert list(lattice.answers(given)) == list(refined.answers(given)) == [gamma, 2, gamma]
    assert list(refined.answers(given, exact=True)) == [Fraction(1, 3), 2, Fraction(3, 10)]
    assert list(refined.answers(np.array([3, 4]), exact=True)) == [3, 4]
    assert [source.answer(0.3) for source in (lattice, refined)] == [gamma, gamma]
    assert refined.answer(0.3, exact=True) == Fraction(3, 10)
    rng = random.Random(8)
    for places in (0, 1, 2, 6, 14, 15, 17):
        some = [rng.randint(-(10**15), 10**15) / 10**places for _ in range(20)]
        for floats in (
            some,
            [*some, 0.0],
            [*some, 1e300],
            [*some, 5e-324],
            [*some, 0.1 + 0.2],
            [1e15, 1e-15],
        ):
            assert list(refined.answers(floats, exact=True)) == [as_read(value) for value in floats]
            assert [as_read(value) for value in floats] == [Fraction(repr(value)) for value in floats]
    kept = np.array([0.3, 0.9])
    refined.answers(kept)
    assert kept.tolist() == [0.3, 0.9]


@pytest.mark.parametrize("signed", [False, True])
def test_noise_asked_for_one_by_one_is_distributed_as_single_draws(signed: bool) -> None:
    """Blocks included: the share of each value is within five standard deviations of its probability."""
    noise, count, rate = LatticeNoise(Fraction(1), SeededBits(5)), 20_000, 0.5
    draw = noise.laplace if signed else noise.exponential
    drawn = Counter(int(draw(2)) for _ in range(count))
    for value in range(-3 if signed else 0, 4):
        p = math.exp(-rate * abs(value)) * (math.tanh(rate / 2) if signed else 1 - math.exp(-rate))
        assert abs(drawn[value] - count * p) < 5 * math.sqrt(count * p)


def test_a_forked_process_makes_its_own_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = LatticeNoise(Fraction(1), SystemBits())
    for _ in range(20):
        noise.laplace(1000)
    block = list(noise._recent[0].with_sign._block)
    assert block
    monkeypatch.setattr("os.getpid", lambda: -1)
    seen = [noise.laplace(1000) for _ in range(len(block))]
    assert [abs(x) for x in seen] != [x >> 1 for x in block[::-1]]
