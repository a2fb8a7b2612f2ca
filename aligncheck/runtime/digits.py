"""Exact geometric and discrete Laplace draws, many at once: made as in `exactly`, digit by digit.

Each event compares a uniform byte with the leading 8 binary digits of its probability, and reads further bits
only where the two are equal. No draw depends on a float.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime.bits import Bits
from aligncheck.runtime.exactly import Geometric
from aligncheck.runtime.thresholds import Event

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


def draws(sampler: Geometric, count: int, bits: Bits) -> Integers:
    """`count` independent draws."""
    return _in_chunks(count, lambda some: _draws(sampler, some, bits))


def two_sided(sampler: Geometric, count: int, bits: Bits) -> Integers:
    """`count` independent integers, as `exactly.two_sided` draws them."""
    return _in_chunks(count, lambda some: _two_sided(sampler, some, bits))


def fitting(values: Integers) -> Integers:
    """The same numbers, as Python's where some do not fit."""
    if values.dtype == object or not len(values):
        return values
    largest = max(int(values.max()), -int(values.min()))
    return values if largest < FITS else values.astype(object)


def _in_chunks(count: int, draw: Callable[[int], Integers]) -> Integers:
    """So that what is needed besides stays in a processor's cache."""
    drawn: Integers = np.empty(max(count, 0), dtype=np.int64)
    for start in range(0, count, _CHUNK):
        some = draw(min(_CHUNK, count - start))
        if some.dtype == object:
            drawn = drawn.astype(object, copy=False)
        drawn[start : start + len(some)] = some
    return drawn


def _two_sided(sampler: Geometric, count: int, bits: Bits) -> Integers:
    drawn = _draws(sampler, count, bits)
    redo: Any = np.arange(count)
    while len(redo):
        again = drawn if len(redo) == count else _draws(sampler, len(redo), bits)
        if again.dtype == object:
            drawn = drawn.astype(object, copy=False)
        sign = signs(len(redo), bits)
        drawn[redo] = sign * again
        redo = redo[(sign < 0) & (again == 0)]  # zero has no sign: count it once
    return drawn


def _draws(sampler: Geometric, count: int, bits: Bits) -> Integers:
    length = len(sampler.digits)
    quotient = _quotients(sampler.more, count, bits)
    limbs = [sampler.digits[start : start + _LIMB] for start in range(0, length, _LIMB)]
    low = _low(limbs[0], count, bits) if limbs else np.zeros(count, dtype=np.int64)
    if length + int(quotient.max(initial=0)).bit_length() <= _LIMB:
        return low | (quotient << length)
    wide = low.astype(object)
    for place, limb in enumerate(limbs[1:], start=1):
        wide |= _low(limb, count, bits).astype(object) << (_LIMB * place)
    return wide | (quotient.astype(object) << length)


def _quotients(more: Event, count: int, bits: Bits) -> NDArray[np.int64]:
    quotients = np.zeros(count, dtype=np.int64)
    going = np.flatnonzero(happenings(more, count, bits))
    while len(going):
        quotients[going] += 1
        going = going[happenings(more, len(going), bits)]
    return quotients


def _low(events: Sequence[Event], count: int, bits: Bits) -> NDArray[np.int64]:
    """Digits as numbers; eight of them are put together as bytes first, which moves less memory."""
    total = np.zeros(count, dtype=np.int64)
    for start in range(0, len(events), 8):
        byte = np.zeros(count, dtype=np.uint8)
        for place, event in enumerate(events[start : start + 8]):
            byte |= happenings(event, count, bits).view(np.uint8) << np.uint8(place)
        total |= byte.astype(np.int64) << start
    return total


def signs(count: int, bits: Bits) -> NDArray[np.int64]:
    """`count` fair choices between 1 and -1."""
    packed = np.frombuffer(bits.draw((count + 7) // 8), dtype=np.uint8)
    return np.where(np.unpackbits(packed, count=count), -1, 1)
