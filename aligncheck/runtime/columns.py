"""Cleaning of whole arrays of answers: what `answers` does number by number."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from aligncheck.runtime.decimals import LARGEST, as_read, floor_of


def cleaned_array(values: Any) -> Any:
    """A one-dimensional array of integers or floats of at most 64 bits, copied where anything changes: NaN is
    0, infinities are the largest and the least float.
    """
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        held = np.promote_types(array.dtype, np.int64)  # of floats where it holds more, of any order of bytes
        return array.astype(held if held.kind == "i" else np.uint64, copy=True)
    return np.nan_to_num(array.astype(np.float64), copy=False, nan=0.0)


def within(values: Any, low: Fraction | None, high: Fraction | None) -> Any:
    """A cleaned array with what is beyond an end of a range replaced by that end; None where it is no number
    that the array can hold, as floats are read (see `decimals`).
    """
    for end, nearer in ((high, np.minimum), (low, np.maximum)):
        if end is not None:
            held = _held(end, values.dtype)
            if held is None:
                return None
            values = nearer(values, held)
    return values


def _held(number: Fraction, dtype: np.dtype[Any]) -> Any:
    """The number as an entry of such an array."""
    if dtype.kind == "f":
        nearest = float(max(Fraction(-LARGEST), min(number, Fraction(LARGEST))))
        return nearest if as_read(nearest) == number else None
    limits = np.iinfo(dtype)
    fits = number.denominator == 1 and limits.min <= number <= limits.max
    return dtype.type(int(number)) if fits else None


def floors(values: Any) -> list[int]:
    """Such an array, cleaned, with fractions rounded down, as Python's integers."""
    cleaned = cleaned_array(values)
    if cleaned.dtype.kind in "iu":
        listed: list[int] = cleaned.tolist()
        return listed
    whole = np.floor(cleaned)
    if (np.abs(whole) < 2.0**53).all():
        return floors(whole.astype(np.int64))
    return [floor_of(value) for value in cleaned.tolist()]
