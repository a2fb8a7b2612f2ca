"""Selection and noise on whole arrays: what `selection` and `noise` do one number at a time.

The only part of the runtime that needs NumPy; generated modules import it where they work on arrays. An array
holds floats where its list does, else Python numbers as objects: then each operation is Python's own, exact
for fractions and for integers of any size; lists that are `ExactVector`s stay what they are. Functions give
Python numbers back, never NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime.errors import SelectionError
from aligncheck.runtime.extremes import check_count
from aligncheck.runtime.reals import Real
from aligncheck.runtime.vectors import ExactVector, chosen_from, exact_operand

Array: TypeAlias = Any
"""One value per index: an `ExactVector`; or an `NDArray` of floats, or of Python numbers as objects."""

Mask: TypeAlias = Any
"""Which indices are eligible: an array of truth values."""


class ManyRuns(Protocol):
    """A number that stands for many runs, with which a test may run a program once for all of them.

    Which of several is the greatest differs from run to run, so such a number is asked for it.
    """

    def places_of_greatest(self, values: list[Any], count: int) -> list[int]:
        """Where the `count` greatest stand, the greatest first, of equal ones the lower place first."""
        ...

    def greatest(self, values: list[Any]) -> Real:
        """The greatest of these, in each run."""
        ...


def vector(values: Sequence[Real] | Sequence[bool], length: int | None = None) -> Array:
    """A list as an array; its first `length` entries, if that is given.

    Raises:
        IndexError: there are fewer.
    """
    if length is not None:
        if length > len(values):
            raise IndexError(f"a list of {len(values)} entries is too short: {length} are needed")
        kept = max(length, 0)
        values = values.prefix(kept) if isinstance(values, ExactVector) else values[:kept]
    if isinstance(values, ExactVector):
        return values
    array = np.array(values)
    native = len(values) > 0 and array.dtype in (np.float64, np.bool_)
    return array if native else np.array(values, dtype=object)


def indices(length: int) -> Array:
    """0, 1, 2, … for comparisons with each index."""
    return np.arange(length)


def members(selected: Sequence[int], length: int) -> Mask:
    """Which of the indices below `length` are among the selected ones."""
    mask = np.zeros(max(length, 0), dtype=np.bool_)
    mask[[index for index in selected if 0 <= index < length]] = True
    return mask


def minimum(*operands: Array | Real) -> Array:
    """At each index the least of these: arrays of one length, and numbers."""
    return reduce(_lesser, operands)


def maximum(*operands: Array | Real) -> Array:
    """At each index the greatest of these: arrays of one length, and numbers."""
    return reduce(_greater, operands)


def clipped(values: Array | Real, low: Array | Real, high: Array | Real) -> Array:
    """`clip` at each index: arrays of one length, and numbers."""
    return maximum(low, minimum(values, high))


def argmax(values: Array, where: Mask | None = None) -> int:
    """The lowest index at which the greatest value is taken. Raises `SelectionError` where there is none."""
    if isinstance(values, ExactVector):
        if not _eligible_count(values, where):
            raise SelectionError("no index is eligible")
        return values.ranked(where, 1)[0]
    chosen = _eligible(values, where)
    many = _many_runs(values[chosen])
    place = (
        np.argmax(values[chosen]) if many is None else many.places_of_greatest(values[chosen].tolist(), 1)[0]
    )
    return int(chosen[place])


def argmin(values: Array, where: Mask | None = None) -> int:
    """The lowest index at which the least value is taken. Raises `SelectionError` where there is none."""
    if isinstance(values, ExactVector):
        return argmax(-values, where)
    chosen = _eligible(values, where)
    if _many_runs(values[chosen]) is not None:
        return argmax(-values, where)
    return int(chosen[np.argmin(values[chosen])])


def greatest(values: Array, where: Mask | None = None) -> Real:
    """The greatest value. Raises `SelectionError` where there is none."""
    if isinstance(values, ExactVector):
        exactly: Real = values[argmax(values, where)]
        return exactly
    eligible = values[_eligible(values, where)]
    many = _many_runs(eligible)
    found: Real = values.item(argmax(values, where)) if many is None else many.greatest(eligible.tolist())
    return found


def least(values: Array, where: Mask | None = None) -> Real:
    """The least value. Raises `SelectionError` where there is none."""
    if isinstance(values, ExactVector):
        exactly: Real = values[argmin(values, where)]
        return exactly
    if _many_runs(values[_eligible(values, where)]) is not None:
        return -greatest(-values, where)
    found: Real = values.item(argmin(values, where))
    return found


def top(count: int, values: Array, where: Mask | None = None) -> list[int]:
    """The indices of the `count` greatest values, the greatest first, of equal ones the lower index first.

    Raises:
        SelectionError: `count` is negative, or fewer indices are eligible.
    """
    check_count(count, _eligible_count(values, where))
    if isinstance(values, ExactVector):
        return values.ranked(where, count)
    chosen = _all(values, where)
    many = _many_runs(values[chosen])
    if many is not None:
        return [int(chosen[place]) for place in many.places_of_greatest(values[chosen].tolist(), count)]
    # A stable sort keeps the order of equal values, and negating keeps which ones are equal.
    order = np.argsort(-values[chosen], kind="stable")
    return [int(index) for index in chosen[order[:count]]]


def upto(count: int, values: Array, where: Mask | None = None) -> list[int]:
    """The same, but all indices where fewer than `count` are eligible.

    Raises:
        SelectionError: `count` is negative.
    """
    return top(min(count, _eligible_count(values, where)), values, where)


def _many_runs(values: Array) -> ManyRuns | None:
    """The first value, where it is no single number."""
    first = values.item(0) if values.dtype == object and len(values) else None
    return first if hasattr(first, "places_of_greatest") else None


def exponentials(words: bytes, scale: float) -> list[float]:
    """One-sided exponential noise by inversion, one draw from each 8 random bytes.

    That is `-scale * ln(u)` for u uniform on the multiples of 2^-53 in (0, 1].
    """
    return _listed(_exponentials(_numbers(words), scale))


def laplaces(words: bytes, scale: float) -> list[float]:
    """Laplace noise, one draw from each 8 random bytes: `exponentials` with a sign from a bit of its own."""
    numbers = _numbers(words)
    signs = np.where(numbers & np.uint64(1), 1.0, -1.0)
    return _listed(signs * _exponentials(numbers, scale))


def _listed(draws: NDArray[np.float64]) -> list[float]:
    listed: list[float] = draws.tolist()
    return listed


def _greater(a: Any, b: Any) -> Array:
    lengths = [len(x) for x in (a, b) if isinstance(x, ExactVector)]
    if not lengths:
        return np.asarray(np.maximum(a, b))
    left, right = (exact_operand(x, lengths[0]) for x in (a, b))
    return chosen_from(left >= right, left, right)


def _lesser(a: Any, b: Any) -> Array:
    if isinstance(a, ExactVector) or isinstance(b, ExactVector):
        return -_greater(-a, -b)
    return np.asarray(np.minimum(a, b))


def _numbers(words: bytes) -> NDArray[np.uint64]:
    return np.frombuffer(words, dtype="<u8").astype(np.uint64)


def _exponentials(numbers: NDArray[np.uint64], scale: float) -> NDArray[np.float64]:
    uniform = ((numbers >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53
    with np.errstate(over="ignore"):
        return -np.log(uniform) * scale


def _eligible(values: Array, where: Mask | None) -> NDArray[np.intp]:
    chosen = _all(values, where)
    if not len(chosen):
        raise SelectionError("no index is eligible")
    return chosen


def _eligible_count(values: Array, where: Mask | None) -> int:
    return len(values) if where is None else int(np.count_nonzero(where))


def _all(values: Array, where: Mask | None) -> NDArray[np.intp]:
    """The eligible indices, rising."""
    return np.arange(len(values)) if where is None else np.flatnonzero(where)
