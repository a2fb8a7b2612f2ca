"""Lists of answers as whole numbers of steps of a lattice, rounded down; exactly, and mostly by whole arrays.

A float is the shortest decimal that names it (see `decimals`), which is off by at most 2^-53 of its size. So
the whole part of its quotient by the step is that of the float itself, but where it is near a whole number.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime.decimals import as_read, step_below
from aligncheck.runtime.digits import FITS, Integers, fitting
from aligncheck.runtime.vectors import ExactVector, vector_of, whole_numbers

_CHUNK = 1 << 16
_DIGITS = 15
_EXACT = 2.0**52
"""Below so many steps, a float's whole part and what is left are computed exactly."""


def steps_below(values: Iterable[Fraction | float], step: Fraction) -> Integers:
    """How many steps each number is from 0, rounded down. The numbers are finite; `step` is positive."""
    array = as_array(values)
    match array.dtype.kind:
        case "i":
            return _scaled(array, step)
        case "f":
            steps = np.empty(len(array), dtype=np.int64)
            for start in range(0, len(array), _CHUNK):
                some = _of_floats(array[start : start + _CHUNK], step)
                if some.dtype == object:
                    steps = steps.astype(object, copy=False)
                steps[start : start + _CHUNK] = some
            return fitting(steps)
        case _:
            return fitting(_one_by_one(array.tolist(), step))


def as_read_all(values: Iterable[Fraction | float]) -> ExactVector:
    """The numbers as they are read (see `decimals`)."""
    array = as_array(values)
    if array.dtype.kind == "i":
        return ExactVector(array, Fraction(1))
    found = _decimals(array) if array.dtype.kind == "f" else None
    return vector_of([as_read(value) for value in array.tolist()]) if found is None else found


def _decimals(array: NDArray[np.float64]) -> ExactVector | None:
    """Floats that are decimals of at most 15 digits, with as many places as any of them has.

    No two such decimals name the same float: what names it, over 10^places, is what it is read as.
    """
    for places in range(_DIGITS + 1):
        per = 10**places
        with np.errstate(over="ignore"):
            multiples = np.rint(array * per)
        if not (np.abs(multiples) < 10.0**_DIGITS).all():
            return None
        if (multiples / per == array).all():
            return ExactVector(multiples.astype(np.int64), Fraction(1, per))
    return None


def as_array(values: Iterable[Fraction | float]) -> NDArray[Any]:
    """The numbers as an array: of `int64` that fit in 62 bits, of floats, or else of objects."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "f":
            return values.astype(np.float64, copy=False)
        if values.dtype.kind in "iu" and (not len(values) or _fits(values)):
            return values.astype(np.int64, copy=False)
        return values.astype(object)
    listed = list(values)
    kinds = {type(value) for value in listed}
    if kinds == {float}:
        return np.array(listed, dtype=np.float64)
    if kinds == {int} and max(max(listed), -min(listed)) < FITS:
        return np.array(listed, dtype=np.int64)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def _fits(array: NDArray[Any]) -> bool:
    return max(int(array.max()), -int(array.min())) < FITS


def _scaled(array: NDArray[Any], step: Fraction) -> Integers:
    if not len(array):
        return array
    largest = max(int(array.max()), -int(array.min()), 1)
    if max(largest * step.denominator, step.numerator) >= FITS:
        array = array.astype(object)
    product = array if step.denominator == 1 else array * step.denominator
    return fitting(product if step.numerator == 1 else product // step.numerator)


def _of_floats(array: NDArray[np.float64], step: Fraction) -> Integers:
    """⌊x d / n⌋ = ⌊(w d + ⌊r d⌋) / n⌋ for a step of n/d, x being the sum of a whole number w and r.

    Rounding, and reading x as a decimal, put the inner product off by a few units of 2^-53 |x| d: where that
    might matter, and where anything might not fit, the number is taken on its own. Whole x are read as they
    are, and so are those that are decimals of at most 15 digits.
    """
    top, per = step.numerator, step.denominator
    plain = np.abs(array) < _EXACT / per if per < _EXACT else np.zeros(len(array), dtype=np.bool_)
    if top >= FITS or not plain.any():
        return _one_by_one(array.tolist(), step)
    some = np.where(plain, array, 0.0)
    rest, whole = np.modf(some)  # towards 0: so the rest is exact
    inner = rest * per
    steps: Integers = whole.astype(np.int64) * per + np.floor(inner).astype(np.int64)
    single = ~plain
    if rest.any():
        off = (np.abs(some) * per + 1) * 2.0**-50
        nearest = np.rint(inner)
        close = np.flatnonzero((np.abs(inner - nearest) <= off) & (rest != 0))
        multiples = whole[close].astype(np.int64) * per + nearest[close].astype(np.int64)
        named = _are_decimals(multiples, per) & (multiples / per == some[close])
        steps[close[named]] = multiples[named]
        single[close[~named]] = True
    if top != 1:
        steps //= top
    places = np.flatnonzero(single)
    if len(places):
        exact = _one_by_one(array[places].tolist(), step)
        if exact.dtype == object:
            steps = steps.astype(object)
        steps[places] = exact
    return steps


def _are_decimals(multiples: NDArray[np.int64], per: int) -> NDArray[np.bool_]:
    """Which of these over `per` are decimals of at most 15 digits: of such, no two name the same float."""
    named = np.asarray(np.abs(multiples) < _largest_decimal(per))
    others = np.flatnonzero(~named)
    if len(others):
        common = np.gcd(multiples[others], per)
        bottoms, which = np.unique(per // common, return_inverse=True)
        largest = np.array([_largest_decimal(bottom) for bottom in bottoms.tolist()], dtype=np.int64)
        named[others] = np.abs(multiples[others]) // common < largest[which]
    return named


def _largest_decimal(bottom: int) -> int:
    """Numbers below this over `bottom`, in lowest terms, are decimals of at most 15 digits; 0: none is."""
    places = next((m for m in range(_DIGITS + 1) if 10**m % bottom == 0), None)
    return 0 if places is None else 10**_DIGITS // (10**places // bottom)


def _one_by_one(values: list[Any], step: Fraction) -> Integers:
    return whole_numbers([step_below(value, step) for value in values])
