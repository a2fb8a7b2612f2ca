"""Whole arrays of answers are cleaned as single numbers are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from aligncheck.runtime.columns import cleaned_array, floors, within
from aligncheck.runtime.decimals import LARGEST, floor_of
from aligncheck.runtime.errors import ParameterError
from aligncheck.runtime.functions import boolean_function, has_tag, integer_function, real_function
from aligncheck.runtime.result import Record

FLOATS = [0.0, -0.0, 0.1, -0.1, 2.5, -2.5, 2.0**52 + 0.5, -(2.0**52) - 0.5, 2.0**53, 1e300, -1e300, 5e-324]


@pytest.mark.parametrize("more", [[], [1e16 + 2], [math.inf, -math.inf, math.nan]])
def test_floors_are_those_of_each_number(more: list[float]) -> None:
    cleaned = [0.0 if math.isnan(x) else max(-float(LARGEST), min(x, float(LARGEST))) for x in FLOATS + more]
    found = floors(np.array(FLOATS + more))
    assert found == [floor_of(x) for x in cleaned]
    assert all(type(x) is int for x in found)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_whole_numbers_stay(kind: type[np.integer]) -> None:
    limits = np.iinfo(kind)
    given = np.array([limits.min, 0, 1, limits.max], dtype=kind)
    assert floors(given) == [int(x) for x in given]
    assert not np.shares_memory(cleaned_array(given), given)


def test_a_range_is_kept_or_left_to_single_numbers() -> None:
    """No end is rounded: where an array cannot hold it, nothing is done."""
    wanted = [0.1, 0.1, 2.0, 2.5]
    assert within(np.array([-1.0, 0.1, 2.0, 9.0]), Fraction(1, 10), Fraction(5, 2)).tolist() == wanted
    assert within(np.array([-5, 3, 9]), Fraction(0), Fraction(4)).tolist() == [0, 3, 4]
    assert within(np.array([1, 2]), Fraction(1, 2), None) is None
    assert within(np.array([1.0]), Fraction(1, 3), None) is None
    assert within(np.array([1, 2]), None, Fraction(2**70)) is None


def test_what_a_function_gives_is_exact_or_refused() -> None:
    assert real_function("f", lambda x: 0.1 * x)(1) == Fraction(1, 10)
    assert integer_function("f", lambda x: x + 1)(2) == 3
    assert boolean_function("f", lambda x: x > 1)(2) is True
    for wrong in (
        lambda: real_function("f", 3),  # type: ignore[arg-type]
        lambda: real_function("f", lambda: math.nan)(),
        lambda: integer_function("f", lambda: 1.0)(),
        lambda: boolean_function("f", lambda: 1)(),
    ):
        with pytest.raises(ParameterError):
            wrong()


def test_a_record_that_is_not_there_has_no_tag() -> None:
    @dataclass(frozen=True)
    class Noisy(Record):
        tag = "noisy"

    records = [Noisy()]
    assert has_tag(records, 0, "noisy")
    assert not any(has_tag(records, *each) for each in ((0, "other"), (1, "noisy"), (-1, "noisy")))
