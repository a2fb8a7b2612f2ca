"""Exact draws, many at once: of geometric and discrete Laplace noise, made as in `exactly`, digit by digit;
of discrete Gaussian noise, as in `gaussian`; and of the digits of real-valued noise (see `refined`).

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
from aligncheck.runtime.gaussian import TABLED, DiscreteGaussian, keeping
from aligncheck.runtime.refined import DigitEvents, Rests
from aligncheck.runtime.thresholds import Event

Integers: TypeAlias = Any
"""Whole numbers: an array of `int64`, or of Python's as objects where some do not fit in 62 bits."""

FITS = 1 << 62
"""Arrays of `int64` hold numbers below this in size only, so that the sum of any two fits."""

LIMB = 62
"""So many digits, read as a whole number, fit into an entry of such an array."""

_CHUNK = 1 << 16
_FEW = 256
"""So few sizes are kept or not one by one, which needs no table."""
_IN_A_ROW = 16
_AHEAD = 1 << 10
"""Digits of single numbers, asked for in their order, are drawn for so many numbers ahead."""


def happenings(events: Sequence[Event], count: int, bits: Bits) -> NDArray[np.bool_]:
    """Whether events happen, `count` times each: a row for each event."""
    drawn = np.frombuffer(bits.draw(len(events) * count), dtype=np.uint8).reshape(len(events), count)
    leading = np.array([event.byte for event in events], dtype=np.uint8)[:, np.newaxis]
    happens: NDArray[np.bool_] = drawn < leading
    ties = np.flatnonzero(drawn == leading)
    if len(ties):
        happens.reshape(-1)[ties] = _settled([events[row] for row in (ties // count).tolist()], bits)
    return happens


def _settled(events: Sequence[Event], bits: Bits) -> NDArray[np.bool_]:
    """The same, for events whose first 8 bits decide nothing, once each."""
    drawn = np.frombuffer(bits.draw(8 * len(events)), dtype="<u8")
    words = np.array([event.word for event in events], dtype=np.uint64)
    happens: NDArray[np.bool_] = drawn < words
    for tie in np.flatnonzero(drawn == words).tolist():
        happens[tie] = events[tie].settled_late(bits)
    return happens


def draws(sampler: Geometric, count: int, bits: Bits) -> Integers:
    """`count` independent draws."""
    return _in_chunks(count, lambda some: _draws(sampler, some, bits))


def two_sided(sampler: Geometric, count: int, bits: Bits) -> Integers:
    """`count` independent integers whose sizes are as draws would be, if 0 were not counted twice."""
    return _in_chunks(count, lambda some: _two_sided(sampler, some, bits))


def gaussians(sampler: DiscreteGaussian, count: int, bits: Bits) -> Integers:
    """`count` independent draws of discrete Gaussian noise."""
    return _in_chunks(count, lambda some: _gaussians(sampler, some, bits))


def with_signs(sampler: Geometric, count: int, bits: Bits) -> Integers:
    """`count` independent draws, doubled, and to each a fair choice between 0 and 1."""
    drawn = draws(sampler, count, bits)
    return drawn << 1 | (signs(len(drawn), bits) < 0)


def without_digits(sampler: Geometric, count: int, bits: Bits) -> Integers:
    """`count` independent draws, with 0 for each of the digits that the sampler draws one by one."""
    return _in_chunks(count, lambda some: _without_digits(sampler, some, bits))


def fitting(values: Integers) -> Integers:
    """The same numbers, as Python's where some do not fit."""
    if values.dtype == object or not len(values):
        return values
    largest = max(int(values.max()), -int(values.min()))
    return values if largest < FITS else values.astype(object)


def _in_chunks(count: int, draw: Callable[[int], Integers]) -> Integers:
    """So that what is needed besides stays in a processor's cache."""
    if count <= _CHUNK:
        return draw(max(count, 0))
    drawn: Integers = np.empty(count, dtype=np.int64)
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


def _gaussians(sampler: DiscreteGaussian, count: int, bits: Bits) -> Integers:
    drawn: Any = np.zeros(count, dtype=np.int64)
    redo: Any = np.arange(count)
    while len(redo):
        again = _two_sided(sampler.sizes, len(redo), bits)
        if again.dtype == object:
            drawn = drawn.astype(object, copy=False)
        drawn[redo] = again
        redo = redo[~_kept(sampler, abs(again), bits)]
    return drawn


def _kept(sampler: DiscreteGaussian, sizes: Integers, bits: Bits) -> NDArray[np.bool_]:
    """Which are kept. Where the table does not decide, further digits do."""
    drawn = np.frombuffer(bits.draw(TABLED // 8 * len(sizes)), dtype="<u4").astype(np.int64)
    if len(sizes) <= _FEW:
        kept, open_ = np.zeros(len(sizes), dtype=np.bool_), np.arange(len(sizes))
    else:
        low, high = map(np.array, keeping(sampler))
        parts = np.minimum(sizes // sampler.part, len(low) - 1).astype(np.int64)
        kept = drawn < low[parts]
        open_ = np.flatnonzero(~kept & (drawn < high[parts]))
    for place in open_.tolist():
        kept[place] = sampler.kept(int(sizes[place]), drawn.item(place), bits)
    return kept


def _draws(sampler: Geometric, count: int, bits: Bits) -> Integers:
    drawn = _without_digits(sampler, count, bits)
    for start in range(0, len(sampler.digits), LIMB):
        low = _low(sampler.digits[start : start + LIMB], count, bits)
        drawn |= low if drawn.dtype == np.int64 else low.astype(object) << start
    return drawn


def _without_digits(sampler: Geometric, count: int, bits: Bits) -> Integers:
    length = len(sampler.digits)
    quotients = _quotients(sampler.more, count, bits)
    if length + int(quotients.max(initial=0)).bit_length() > LIMB:
        return quotients.astype(object) << length
    quotients <<= length
    return quotients


def _quotients(more: Event, count: int, bits: Bits) -> NDArray[np.int64]:
    quotients = np.zeros(count, dtype=np.int64)
    going = np.flatnonzero(happenings([more], count, bits))
    while len(going):
        quotients[going] += 1
        going = going[happenings([more], len(going), bits)[0]]
    return quotients


def _low(events: Sequence[Event], count: int, bits: Bits) -> NDArray[np.int64]:
    """Digits as numbers; eight of them are put together as bytes first, which moves less memory."""
    digits = happenings(events, count, bits).view(np.uint8)
    total = np.zeros(count, dtype=np.int64)
    for start in range(0, len(events), 8):
        byte = np.zeros(count, dtype=np.uint8)
        for place, row in enumerate(digits[start : start + 8]):
            byte |= row << np.uint8(place)
        total |= byte.astype(np.int64) << start
    return total


def signs(count: int, bits: Bits) -> NDArray[np.int64]:
    """`count` fair choices between 1 and -1."""
    packed = np.frombuffer(bits.draw((count + 7) // 8), dtype=np.uint8)
    return np.where(np.unpackbits(packed, count=count), -1, 1)


class ManyRests(Rests):
    """The same for the draws 0, …, length - 1: digits of many are drawn at once."""

    __slots__ = ("_counts", "_in_a_row", "_last", "_values")

    def __init__(self, events: DigitEvents, bits: Bits, length: int) -> None:
        super().__init__(events, bits)
        self._values = np.zeros(length, dtype=np.int64)
        self._counts = np.zeros(length, dtype=np.int8)
        self._last = self._in_a_row = 0

    def many(self, places: NDArray[np.intp], count: int) -> Integers:
        """The first `count` binary digits of the draws at these places, each read as a whole number."""
        if count > LIMB:
            return np.array([self.digits(place, count) for place in places.tolist()], dtype=object)
        self._draw(places, count)
        return self._values[places] >> (self._counts[places] - count)

    def digits(self, place: int, count: int) -> int:
        if count > LIMB:
            if place not in self._known:
                self._known[place] = self.digits(place, LIMB), LIMB
            return super().digits(place, count)
        if place != self._last:
            self._in_a_row = self._in_a_row + 1 if place == self._last + 1 else 0
            self._last = place
        known = self._counts.item(place)
        if known < count and self._in_a_row < _IN_A_ROW:
            self._values[place] = self._longer(self._values.item(place), known, count)
            self._counts[place] = known = count
        elif known < count:
            self._draw(np.arange(place, min(place + _AHEAD, len(self._values))), count)
            known = count
        return self._values.item(place) >> (known - count)

    def _draw(self, places: NDArray[np.intp], count: int) -> None:
        """Makes that many digits, and no more, known where fewer were."""
        known = self._counts[places]
        for start in np.unique(known[known < count]).tolist():
            some = places[known == start]
            low = _low(self.events.between(start, count)[::-1], len(some), self._bits)
            self._values[some] = self._values[some] << (count - start) | low
            self._counts[some] = count
