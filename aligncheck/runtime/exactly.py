"""Exact draws, one at a time, by whole numbers alone: `digits` makes many at once.

A geometric variable has probability proportional to q^x on x = 0, 1, 2, … That is a product over the binary
digits of x, so that these are independent: digit j is 1 with probability q^N / (1 + q^N), N = 2^j. For the
same reason the quotient by 2^J is geometric with q^(2^J) in the place of q, and independent of the digits
below J. So the J lowest digits are drawn one by one, up to where that power is at most exp(-2); then the
quotient, which is 0 six times out of seven or more often, by counting successes of that probability.

Rates are rational numbers; a float is refused, since it rarely is the number that was meant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from aligncheck.runtime.bits import Bits, below
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.thresholds import Event, Power, Threshold, event_of, exp_bounds

_FIRST_BITS = 64
_LONGEST_DENOMINATOR = 512

LOG2_E = 26613026195688644983
"""The binary logarithm of e in units of 2^-64, rounded down."""


@dataclass(frozen=True, slots=True)
class Geometric:
    """The events that make up a geometric draw: the low digits, the lowest first, and one more success."""

    digits: tuple[Event, ...]
    more: Event

    @staticmethod
    def of_rate(rate: Fraction | int) -> Geometric:
        """Probability (1 - exp(-rate)) exp(-rate x) on x = 0, 1, 2, …

        Raises:
            NumericError: the rate is no `int` or `Fraction`, or not positive.
        """
        return _of_rate(rational(rate, "a rate"))

    @staticmethod
    def of_chance(p: Fraction | int) -> Geometric:
        """Probability (1 - p)^x p: the failures before the first success.

        Raises:
            NumericError: `p` is no `int` or `Fraction`, not positive, or greater than 1.
        """
        chance = rational(p, "a success probability")
        if chance > 1:
            raise NumericError("a success probability must be at most 1")
        return _of_chance(chance)

    def draw(self, bits: Bits) -> int:
        """One draw."""
        length = len(self.digits)
        drawn = bits.draw(length + 1)
        value = 0
        for place, event in enumerate(self.digits):
            byte = drawn[place]
            if byte < event.byte or (byte == event.byte and event.settled(bits)):
                value |= 1 << place
        quotient, more = 0, self.more.happens_by(drawn[length], bits)
        while more:
            quotient += 1
            more = self.more.happens(bits)
        return value | quotient << length


def rational(value: object, name: str, *, positive: bool = True) -> Fraction:
    """The same number as a `Fraction`.

    Raises:
        NumericError: it is no `int` or `Fraction`, or negative, or (where it must be positive) zero.
    """
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise NumericError(f"{name} must be an int or a Fraction, not {type(value).__name__}")
    if value < 0 or (positive and value == 0):
        raise NumericError(f"{name} must {'be positive' if positive else 'not be negative'}")
    return Fraction(value)


def choice(weights: Sequence[tuple[Fraction, Fraction]], bits: Bits) -> int:
    """A place, with probability proportional to factor * exp(log) of the pair (factor, log) there.

    Each weight is bounded by a power of 2, which is less than four times as large, or is not among the larger
    ones; a place is drawn by these bounds, and kept with the probability weight / bound.

    Factors are positive.

    Raises:
        NumericError: there is no pair.
    """
    if not weights:
        raise NumericError("no index is eligible")
    greatest = max(log for _, log in weights)
    sizes = [
        _size_of(factor) - size for (factor, _), size in zip(weights, _sizes(weights, greatest), strict=True)
    ]
    least = max(sizes) - _FIRST_BITS - len(sizes).bit_length()
    sizes = [max(size, least) for size in sizes]
    places: dict[int, list[int]] = {}
    for place, size in enumerate(sizes):
        places.setdefault(size, []).append(place)
    total = sum(len(some) << (size - least) for size, some in places.items())
    while True:
        drawn = below(total, bits)
        for size, some in places.items():
            if drawn < len(some) << (size - least):
                place = some[drawn >> (size - least)]
                break
            drawn -= len(some) << (size - least)
        factor, log = weights[place]
        if happens(factor / Fraction(2) ** size, greatest - log, bits):
            return place


def _size_of(factor: Fraction) -> int:
    """The least s for which 2^s is at least a positive number."""
    top, bottom = factor.numerator, factor.denominator
    if top == bottom:
        return 0
    size = top.bit_length() - bottom.bit_length()
    return size + (top << max(-size, 0) > bottom << max(size, 0))


def _sizes(weights: Sequence[tuple[Fraction, Fraction]], greatest: Fraction) -> Iterator[int]:
    """The greatest s, or nearly, for which exp(log - greatest) is at most 2^-s, for each logarithm."""
    per = 1
    for _, log in weights:
        if per % log.denominator:
            per = math.lcm(per, log.denominator)
        if per.bit_length() > _LONGEST_DENOMINATOR:  # private, and perhaps of any kind: then one by one
            for _, each in weights:
                distance = greatest - each
                yield distance.numerator * LOG2_E // distance.denominator >> 64
            return
    most = greatest.numerator * (per // greatest.denominator)
    for _, log in weights:
        yield (most - log.numerator * (per // log.denominator)) * LOG2_E // per >> 64


def happens(factor: Fraction, exponent: Fraction, bits: Bits) -> bool:
    """True with probability factor * exp(-exponent), which is at most 1."""
    spare = max(factor.numerator.bit_length() - factor.denominator.bit_length() + 1, 0)

    def bounds(precision: int) -> tuple[int, int]:
        low, high = exp_bounds(exponent, precision + spare)
        scale = factor.denominator << spare
        return low * factor.numerator // scale, -(-high * factor.numerator // scale)

    return happens_within(bounds, bits)


def happens_within(bounds: Callable[[int], tuple[int, int]], bits: Bits) -> bool:
    """True with a probability of which bounds are known, as closely as asked.

    `bounds(precision)` are whole numbers at most and at least the probability times 2^precision.
    """
    return happens_from(bounds, int.from_bytes(bits.draw(_FIRST_BITS // 8), "little"), _FIRST_BITS, bits)


def happens_from(bounds: Callable[[int], tuple[int, int]], drawn: int, precision: int, bits: Bits) -> bool:
    """The same, where the first `precision` binary digits of the uniform number that decides are `drawn`;
    `precision` is a multiple of 8.
    """
    while True:
        low, high = bounds(precision)
        if drawn < low:
            return True
        if drawn >= high:
            return False
        drawn = drawn << precision | int.from_bytes(bits.draw(precision // 8), "little")
        precision *= 2


@lru_cache(maxsize=256)
def _of_rate(rate: Fraction) -> Geometric:
    length = _digits_for(rate)
    digits = (event_of(Threshold(rate * (1 << j), odds=True)) for j in range(length))
    return Geometric(tuple(digits), event_of(Threshold(rate * (1 << length))))


@lru_cache(maxsize=256)
def _of_chance(p: Fraction) -> Geometric:
    length = _digits_for(p)  # (1 - p)^N is at most exp(-p N)
    digits = (event_of(Power(1 - p, j, odds=True)) for j in range(length))
    return Geometric(tuple(digits), event_of(Power(1 - p, length)))


def _digits_for(rate: Fraction) -> int:
    """The least J for which rate 2^J is 2 or more."""
    enough = 2 / rate
    return (-(-enough.numerator // enough.denominator) - 1).bit_length()
