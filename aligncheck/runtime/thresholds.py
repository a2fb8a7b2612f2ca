"""Probabilities that are no rational numbers, as exactly as is asked: their binary digits, by whole numbers.

A Bernoulli draw compares a uniform number, bit by bit, with its probability. That needs as many digits of the
probability as of the uniform number, rounded down for certain: each is computed between two bounds, the more
closely the longer these disagree. exp(-x) is transcendental for rational x other than 0, so that in the end
they agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from aligncheck.runtime.bits import Bits

_SPARE = 16
_WORTH_MULTIPLYING = 4096
_WORD = (1 << 64) - 1


class Probability(Protocol):
    """A number from 0 to 1 by its binary digits."""

    def leading(self, count: int) -> int:
        """The first `count` binary digits after the point: the probability times 2^count, rounded down."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The probability exp(-x), or, with `odds`, exp(-x) / (1 + exp(-x)) = 1 / (1 + exp(x)); x is positive."""

    exponent: Fraction
    odds: bool = False

    def leading(self, count: int) -> int:
        """The first `count` binary digits after the point: the probability times 2^count, rounded down."""
        return agreed(self.bounds, count)

    def bounds(self, precision: int) -> tuple[int, int]:
        """Integers at most and at least the probability times 2^precision; their distance is a few units."""
        low, high = exp_bounds(self.exponent, precision)
        return odds_bounds(low, high, precision) if self.odds else (low, high)


@dataclass(frozen=True, slots=True)
class Power:
    """The probability q^N for N = 2^`doublings`, or, with `odds`, q^N / (1 + q^N); q is from 0 to below 1.

    Such a number may have finitely many digits: 1/3 as odds, or any power of 1/2. As odds it has where N is 1
    only: for odd a and b, a^N + b^N leaves the remainder 2 by 4 and is no power of 2 unless both are 1. Those
    are worked out as they are. Of the powers, bounds that are close enough give all digits.
    """

    base: Fraction
    doublings: int
    odds: bool = False

    def leading(self, count: int) -> int:
        """The first `count` binary digits after the point: the probability times 2^count, rounded down."""
        length = self.base.denominator.bit_length() << self.doublings
        if self.doublings == 0 or length <= _WORTH_MULTIPLYING:
            power = self.base ** (1 << self.doublings)
            exact = power / (1 + power) if self.odds else power
            return (exact.numerator << count) // exact.denominator
        return agreed(self.bounds, count)

    def bounds(self, precision: int) -> tuple[int, int]:
        """Integers at most and at least the probability times 2^precision; their distance is a few units."""
        low, high = power_bounds(self.base, self.doublings, precision)
        return odds_bounds(low, high, precision) if self.odds else (low, high)


@dataclass(frozen=True, slots=True)
class Event:
    """What happens with a probability; of this the leading digits: the first 8, and the 64 thereafter."""

    probability: Probability
    byte: int
    word: int

    @staticmethod
    def of(probability: Probability) -> Event:
        leading = probability.leading(72)
        return Event(probability, leading >> 64, leading & _WORD)

    def happens(self, bits: Bits) -> bool:
        """Whether it happens: by a uniform number whose digits are read until they differ."""
        return self.happens_by(bits.draw(1)[0], bits)

    def happens_by(self, drawn: int, bits: Bits) -> bool:
        """The same, where the first 8 digits are drawn already."""
        return drawn < self.byte if drawn != self.byte else self.settled(bits)

    def settled(self, bits: Bits) -> bool:
        """The same, where the first 8 digits are those of the probability."""
        drawn = int.from_bytes(bits.draw(8), "little")
        return drawn < self.word if drawn != self.word else self.settled_late(bits)

    def settled_late(self, bits: Bits) -> bool:
        """The same, where the first 72 digits are: 64 more at a time."""
        known = 72
        while True:
            known += 64
            drawn, digits = int.from_bytes(bits.draw(8), "little"), self.probability.leading(known) & _WORD
            if drawn != digits:
                return drawn < digits


@lru_cache(maxsize=4096)
def event_of(probability: Threshold | Power) -> Event:
    """The event, whose digits are worked out once."""
    return Event.of(probability)


def agreed(bounds: Callable[[int], tuple[int, int]], count: int) -> int:
    """The first `count` binary digits of a number between bounds that come ever closer."""
    precision = count + _SPARE
    while True:
        low, high = bounds(precision)
        if low >> (precision - count) == high >> (precision - count):
            return low >> (precision - count)
        precision *= 2


def odds_bounds(low: int, high: int, precision: int) -> tuple[int, int]:
    """Integers at most and at least y / (1 + y) 2^precision, y 2^precision being between `low` and `high`."""
    one = 1 << precision  # the quotient rises with y
    return (low << precision) // (one + low), -((-high << precision) // (one + high))


@lru_cache(maxsize=1024)
def power_bounds(base: Fraction, doublings: int, precision: int) -> tuple[int, int]:
    """Integers at most and at least base^(2^doublings) 2^precision, for 0 <= base < 1.

    Where p = 1 - base is small, the first M = 2^known powers need no squaring: base^M lies from 1 - Mp to
    exp(-Mp) <= 1/(1 + Mp) (Bernoulli's inequality), which are (Mp)^2 apart at most, less than a unit. Each
    squaring about doubles the distance of the bounds, for which as many more bits are kept.
    """
    p = 1 - base
    size = p.denominator.bit_length() - p.numerator.bit_length() - 1  # p < 2^-size
    known = max(0, min(doublings, 2 * size - precision - doublings - _SPARE))
    working = precision + doublings - known + _SPARE
    low = ((p.denominator - (p.numerator << known)) << working) // p.denominator
    high = low + 2
    for _ in range(doublings - known):
        low, high = squared_bounds(low, high, working)
    extra = working - precision
    return low >> extra, -(-high >> extra)


@lru_cache(maxsize=1024)
def exp_bounds(x: Fraction, precision: int) -> tuple[int, int]:
    """Integers at most and at least exp(-x) 2^precision, for x >= 0.

    The series is summed at x / 2^h, which is at most 2^-8, and the bounds are squared h times; each squaring
    about doubles their distance, for which as many more bits are kept.
    """
    if x >= precision:
        return 0, 1  # exp(-x) < 2^-x
    halvings = (-(-x.numerator // x.denominator)).bit_length() + 8
    working = precision + halvings + _SPARE
    low, high = series_bounds(x / (1 << halvings), working)
    for _ in range(halvings):
        low, high = squared_bounds(low, high, working)
    extra = working - precision
    return low >> extra, -(-high >> extra)


def squared_bounds(low: int, high: int, precision: int) -> tuple[int, int]:
    """Integers at most and at least y^2 2^precision, for y >= 0, y 2^precision between `low` and `high`."""
    return (low * low) >> precision, -((-high * high) >> precision)


def series_bounds(x: Fraction, precision: int) -> tuple[int, int]:
    """Integers at most and at least exp(-x) 2^precision, for 0 <= x <= 1/2.

    Terms x^k/k! alternate and fall, so that the rest after a term lies between 0 and the next.
    """
    term_low = term_high = total_low = total_high = 1 << precision
    k = 0
    while term_high > 1:
        k += 1
        divisor = k * x.denominator
        term_low = (term_low * x.numerator) // divisor
        term_high = -((-term_high * x.numerator) // divisor)
        if k % 2:
            total_low, total_high = total_low - term_high, total_high - term_low
        else:
            total_low, total_high = total_low + term_low, total_high + term_high
    # The next term is at most 1: the terms fall.
    return total_low - 1, min(total_high + 1, 1 << precision)
