"""Cleaning of whole arrays of answers: what `answers` does number by number."""

from __future__ import annotations

from typing import Any

import numpy as np


def cleaned_array(values: Any) -> Any:
    """A one-dimensional array of integers or floats of at most 64 bits, copied where anything changes: NaN is
    0, infinities are the largest and the least float.
    """
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array.astype(array.dtype.newbyteorder("="), copy=True)
    return np.nan_to_num(array.astype(np.float64), copy=False, nan=0.0)


def floors(values: Any) -> list[int]:
    """Such an array, cleaned, with fractions rounded down, as Python's integers."""
    cleaned = cleaned_array(values)
    if cleaned.dtype.kind in "iu":
        listed: list[int] = cleaned.tolist()
        return listed
    whole = np.floor(cleaned)
    if (np.abs(whole) < 2.0**62).all():
        return floors(whole.astype(np.int64))
    return [int(value) for value in whole.tolist()]
