"""The greatest and least of the values at a set of indices, and where they stand, for any kind of number.

Scores are pairs of an index and the value there, by rising index; of equal values the lower index comes
first. `aligncheck.runtime.arrays` does the same on whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import TypeVar

from aligncheck.runtime.errors import SelectionError
from aligncheck.runtime.reals import Real

Number = TypeVar("Number", int, Real)

_VALUE = itemgetter(1)


def max_of(values: Iterable[Number]) -> Number:
    """The greatest value. Raises `SelectionError` where there is none."""
    return max(_some(values))


def min_of(values: Iterable[Number]) -> Number:
    """The least value. Raises `SelectionError` where there is none."""
    return min(_some(values))


def argmax_of(scores: Iterable[tuple[int, Real]]) -> int:
    """The lowest index at which the greatest value is taken. Raises `SelectionError` where there is none."""
    index, _ = max(_some(scores), key=_VALUE)  # the first of equal ones
    return index


def argmin_of(scores: Iterable[tuple[int, Real]]) -> int:
    """The lowest index at which the least value is taken. Raises `SelectionError` where there is none."""
    index, _ = min(_some(scores), key=_VALUE)  # the first of equal ones
    return index


def top_of(count: int, scores: Iterable[tuple[int, Real]]) -> list[int]:
    """The indices of the `count` greatest values, the greatest first, of equal ones the lower index first.

    Raises:
        SelectionError: `count` is negative, or there are fewer values.
    """
    # A reversed sort is stable as well: equal values keep their order.
    ranked = sorted(scores, key=_VALUE, reverse=True)
    check_count(count, len(ranked))
    return [index for index, _ in ranked[:count]]


def upto_of(count: int, scores: Iterable[tuple[int, Real]]) -> list[int]:
    """The same, but all indices where there are fewer than `count`.

    Raises:
        SelectionError: `count` is negative.
    """
    some = list(scores)
    return top_of(min(count, len(some)), some)


def check_count(count: int, eligible: int) -> None:
    """Refuses to select a negative number of indices, or more than are eligible.

    Raises:
        SelectionError: if so.
    """
    if count < 0:
        raise SelectionError(f"cannot select {count} indices")
    if count > eligible:
        raise SelectionError(f"cannot select {count} of {eligible} indices")


Item = TypeVar("Item")


def _some(items: Iterable[Item]) -> list[Item]:
    found = list(items)
    if not found:
        raise SelectionError("no index is eligible")
    return found
