"""Outputs of many runs: what is a number, what a category, what cannot be read, and batches."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.features import columns_of
from aligncheck.statistical.outputs import ABSENT, NUMBER, Outputs, joined, outputs_of, outputs_of_batch


class Colour(enum.Enum):
    RED = 1


@dataclass
class Pair:
    index: int
    gap: float


def test_numbers() -> None:
    found = outputs_of([1, 2.5, Fraction(1, 2), Decimal("0.25"), np.float32(4), np.int64(3)], "f")
    assert found.codes is None
    assert not found.listed
    assert found.numbers is not None
    assert found.numbers[:, 0].tolist() == [1, 2.5, 0.5, 0.25, 4, 3]


def test_categories() -> None:
    found = outputs_of([True, "a", None, Colour.RED, np.bool_(True)], "f")
    assert found.numbers is None
    assert found.codes is not None
    assert [found.labels[code] for code in found.codes[:, 0]] == [
        "True",
        "'a'",
        "None",
        repr(Colour.RED),
        "True",
    ]


def test_lists_of_several_lengths_and_kinds() -> None:
    found = outputs_of([[False, False, 2.5], [False], []], "f")
    assert found.listed
    assert found.codes is not None
    assert found.numbers is not None
    assert found.codes.tolist() == [[0, 0, NUMBER], [0, ABSENT, ABSENT], [ABSENT] * 3]
    assert np.isnan(found.numbers).tolist() == [[True, True, False], [True] * 3, [True] * 3]


@pytest.mark.parametrize(
    "value",
    [
        [1, [2, (3,)]],
        (1, 2, 3),
        np.array([1, 2, 3]),
        np.array([[1, 2, 3]]),
        {"a": 1, "b": [2, 3]},
        Pair(2, 0.5),
    ],
)
def test_nested_values_are_read_in_order(value: Any) -> None:
    found = outputs_of([value, value], "f")
    assert found.numbers is not None
    numbers = found.numbers[0][~np.isnan(found.numbers[0])]
    assert numbers.tolist() == ([2, 0.5] if isinstance(value, Pair) else [1, 2, 3])


def test_infinities_are_the_greatest_and_the_least() -> None:
    for most in (math.inf, 10**5000, Fraction(10**400, 3), Decimal("1e400")):
        for found in (
            outputs_of([most, -most, 0.0], "f"),
            outputs_of_batch(np.array([most, -most, 0.0], dtype=object), 3, "f"),
        ):
            assert found.numbers is not None
            assert np.argsort(found.numbers[:, 0]).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, math.nan], "`f` returned NaN"),
        ([[1.0], [math.nan]], "`f` returned NaN"),
        ([1.0, [1.0]], "`f` returned outputs of different shapes"),
        ([object(), object()], "`f` returned a object"),
        ([1j], "`f` returned a complex"),
        ([{1, 2}], "`f` returned a set"),
        (
            [np.zeros((2, 2)), np.zeros((2, 3))],
            r"`f` returned arrays of different shapes: \(2, 2\), \(2, 3\)",
        ),
        ([[0.0] * 3000], "`f` returned 3000 entries"),
    ],
)
def test_what_cannot_be_read(values: list[Any], message: str) -> None:
    with pytest.raises(CannotTest, match=message):
        outputs_of(values, "f")


@pytest.mark.parametrize(
    ("batch", "singles"),
    [
        (np.array([1.5, 2.5]), [1.5, 2.5]),
        (np.array([1, 2]), [1, 2]),
        (np.array([[True, False], [False, False]]), [[True, False], [False, False]]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]]), [[1.0], [3.0, 4.0]]),
        ([[True, 1.0], [False]], [[True, 1.0], [False]]),
        ((np.array([True, False]), np.array([[1.0], [2.0]])), [[True, 1.0], [False, 2.0]]),
        ({"flag": np.array([True, False]), "x": np.array([1.0, 2.0])}, [[True, 1.0], [False, 2.0]]),
    ],
)
def test_a_batch_is_read_as_its_runs(batch: Any, singles: list[Any]) -> None:
    a, b = outputs_of_batch(batch, 2, "f"), outputs_of(singles, "f")
    assert a.listed == b.listed
    assert shown(a) == shown(b)


def shown(outputs: Outputs) -> list[list[Any]]:
    """Each run's entries, whatever the codes are."""
    rows: list[list[Any]] = []
    for run in range(outputs.runs):
        row: list[Any] = []
        for place in range(outputs.width):
            code = NUMBER if outputs.codes is None else outputs.codes[run, place]
            if code == NUMBER and outputs.numbers is not None:
                row.append(float(outputs.numbers[run, place]))
            elif code != ABSENT:
                row.append(outputs.labels[code])
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (np.zeros(3), r"called with size=2, `f` returned an array of shape \(3,\)"),
        (np.float64(1), r"called with size=2, `f` returned an array of shape \(\)"),
        ((), r"called with size=2, `f` returned an array of shape \(\)"),
        (np.array([1.0, math.nan]), "`f` returned NaN"),
        (np.array([1j, 2j]), "`f` returned an array of type complex128"),
    ],
)
def test_bad_batches(batch: Any, message: str) -> None:
    with pytest.raises(CannotTest, match=message):
        outputs_of_batch(batch, 2, "f")


def test_joining_parts_with_other_categories_and_lengths() -> None:
    parts: list[list[Any]] = [[[True, 1.0]], [["x"], [False, 2.0, 3.0]], [[1.0, 2.0]]]
    whole = joined([outputs_of(part, "f") for part in parts], "f")
    assert shown(whole) == [["True", 1.0], ["'x'"], ["False", 2.0, 3.0], [1.0, 2.0]]
    with pytest.raises(CannotTest, match="different shapes"):
        joined([outputs_of([1.0], "f"), outputs_of([[1.0]], "f")], "f")


def test_lists_without_end_are_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(CannotTest, match="lists within lists without end"):
        outputs_of([endless], "f")


def test_infinities_have_cells() -> None:
    found = outputs_of([math.inf, -math.inf, math.inf, 1.0], "f")
    (column,) = columns_of(found, found)
    assert len(set(column.cells[0].tolist())) == 3
