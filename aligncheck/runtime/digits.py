"""Exact geometric and discrete Laplace draws, many at once.

A geometric variable with rate θ has probability proportional to exp(-θ x) on x = 0, 1, 2, … That is a
product over the binary digits of x, so that these are independent: digit j is 1 with probability
1 / (1 + exp(θ 2^j)). For the same reason the quotient by 2^J is geometric with rate θ 2^J and independent of
the digits below J. So the J lowest digits are drawn one by one, up to where the quotient's rate is 2 or more;
then the quotient, which is 0 six times out of seven or more often, by counting successes of probability
exp(-θ 2^J).

Each of these events compares a uniform byte with the leading 8 binary digits of its probability, and reads
further bits only where the two are equal. No draw depends on a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime.bits import Bits
from aligncheck.runtime.exactly import rational
from aligncheck.runtime.thresholds import Event, Threshold, event_of

Integers: TypeAlias = Any
"""Whole numbers: an array of `int64`, or of Python's as objects where some do not fit in 62 bits."""

FITS = 1 << 62
"""Arrays of `int64` hold numbers below this in size only, so that the sum of any two fits."""

_CHUNK = 1 << 16
_LIMB = 62


def happenings(event: Event, count: int, bits: Bits) -> NDArray[np.bool_]:
    """Whether an event happens, `count` times."""
    drawn = np.frombuffer(bits.draw(count), dtype=np.uint8)
    happens: NDArray[np.bool_] = drawn < event.byte
    ties = np.flatnonzero(drawn == event.byte)
    if len(ties):
        happens[ties] = _settled(event, len(ties), bits)
    return happens


def _settled(event: Event, count: int, bits: Bits) -> NDArray[np.bool_]:
    """The same, for those whose first 8 bits decide nothing."""
    drawn = np.frombuffer(bits.draw(8 * count), dtype="<u8")
    happens: NDArray[np.bool_] = drawn < np.uint64(event.word)
    for tie in np.flatnonzero(drawn == np.uint64(event.word)):
        happens[tie] = event.settled_late(bits)
    return happens


@dataclass(frozen=True, slots=True)
class _Geometric:
    """The events that make up a geometric draw: the low digits, the lowest first, and one more success."""

    digits: tuple[Event, ...]
    more: Event

    def draw(self, count: int, bits: Bits) -> Integers:
        quotient = self._quotient(count, bits)
        limbs = [self.digits[start : start + _LIMB] for start in range(0, len(self.digits), _LIMB)]
        low = _low(limbs[0], count, bits) if limbs else np.zeros(count, dtype=np.int64)
        if len(self.digits) + int(quotient.max(initial=0)).bit_length() <= _LIMB:
            return low | (quotient << len(self.digits))
        wide = low.astype(object)
        for place, limb in enumerate(limbs[1:], start=1):
            wide |= _low(limb, count, bits).astype(object) << (_LIMB * place)
        return wide | (quotient.astype(object) << len(self.digits))

    def _quotient(self, count: int, bits: Bits) -> NDArray[np.int64]:
        quotient = np.zeros(count, dtype=np.int64)
        going = np.flatnonzero(happenings(self.more, count, bits))
        while len(going):
            quotient[going] += 1
            going = going[happenings(self.more, len(going), bits)]
        return quotient


def geometrics(rate: Fraction | int, count: int, bits: Bits) -> Integers:
    """`count` independent draws with probability (1 - exp(-rate)) exp(-rate x) on x = 0, 1, 2, …

    Raises:
        NumericError: the rate is no `int` or `Fraction`, or not positive.
    """
    sampler = _sampler(rational(rate, "a rate"))
    draws: Integers = np.empty(max(count, 0), dtype=np.int64)
    for start in range(0, count, _CHUNK):  # so that what is needed besides stays in a processor's cache
        drawn = sampler.draw(min(_CHUNK, count - start), bits)
        if drawn.dtype == object:
            draws = draws.astype(object, copy=False)
        draws[start : start + len(drawn)] = drawn
    return draws


def discrete_laplaces(rate: Fraction | int, count: int, bits: Bits) -> Integers:
    """`count` independent draws with probability proportional to exp(-rate |x|) on the integers.

    Raises:
        NumericError: the rate is no `int` or `Fraction`, or not positive.
    """
    draws = geometrics(rate, count, bits)
    redo: Any = np.arange(len(draws))
    while len(redo):
        again = draws if len(redo) == len(draws) else geometrics(rate, len(redo), bits)
        if again.dtype == object:
            draws = draws.astype(object, copy=False)
        negative = signs(len(redo), bits)
        draws[redo] = np.where(negative, -again, again)
        redo = redo[negative & (again == 0)]  # zero has no sign: count it once
    return draws


def integers(values: Sequence[int] | NDArray[Any]) -> Integers:
    """A copy of whole numbers of any size, ready to be computed with.

    Raises:
        TypeError: one is no whole number.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "i":
        return fitting(values.astype(np.int64))
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if not all(type(value) is int for value in listed):
        raise TypeError("whole numbers are needed")
    try:
        return fitting(np.array(listed, dtype=np.int64))
    except OverflowError:
        return np.array(listed, dtype=object)


def fitting(values: Integers) -> Integers:
    """The same numbers, as Python's where some do not fit."""
    if values.dtype == object or not len(values):
        return values
    largest = max(int(values.max()), -int(values.min()))
    return values if largest < FITS else values.astype(object)


def _low(events: Sequence[Event], count: int, bits: Bits) -> NDArray[np.int64]:
    """Digits as numbers; eight of them are put together as bytes first, which moves less memory."""
    total = np.zeros(count, dtype=np.int64)
    for start in range(0, len(events), 8):
        byte = np.zeros(count, dtype=np.uint8)
        for place, event in enumerate(events[start : start + 8]):
            byte |= happenings(event, count, bits).view(np.uint8) << np.uint8(place)
        total |= byte.astype(np.int64) << start
    return total


def signs(count: int, bits: Bits) -> NDArray[np.bool_]:
    """`count` fair choices."""
    packed = np.frombuffer(bits.draw((count + 7) // 8), dtype=np.uint8)
    return np.unpackbits(packed, count=count).view(np.bool_)


@lru_cache(maxsize=64)
def _sampler(rate: Fraction) -> _Geometric:
    enough = 2 / rate
    length = (-(-enough.numerator // enough.denominator) - 1).bit_length()  # the least J with rate 2^J >= 2
    digits = (event_of(Threshold(rate * (1 << j), odds=True)) for j in range(length))
    return _Geometric(tuple(digits), event_of(Threshold(rate * (1 << length))))
