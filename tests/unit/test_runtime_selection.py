"""Selection at run time: ties, sets, what is refused; on arrays and one by one alike."""

from __future__ import annotations

import random
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from aligncheck.runtime import SelectionError, argmax_of, argmin_of, max_of, min_of, top_of, upto_of
from aligncheck.runtime.arrays import argmax, argmin, greatest, indices, least, members, top, upto, vector

NUMBERS: list[list[Any]] = [
    [1.0, 3.0, 3.0, -2.0, -2.0, 3.0],
    [Fraction(1), Fraction(3), Fraction(3), Fraction(-2), Fraction(-2), Fraction(3)],
    [1.0, Fraction(3), 3.0, Fraction(-2), -2.0, 3.0],
]


@pytest.mark.parametrize("values", NUMBERS)
def test_of_equal_values_the_lowest_index_counts(values: list[Any]) -> None:
    scores = list(enumerate(values))
    assert argmax(vector(values)) == argmax_of(scores) == 1
    assert argmin(vector(values)) == argmin_of(scores) == 3
    assert greatest(vector(values)) == max_of(values) == 3
    assert least(vector(values)) == min_of(values) == -2
    assert top(4, vector(values)) == top_of(4, scores) == [1, 2, 5, 0]
    assert top(6, vector(values)) == top_of(6, scores) == [1, 2, 5, 0, 3, 4]
    assert top(0, vector(values)) == top_of(0, scores) == []


def test_arrays_and_generators_agree_on_random_sets() -> None:
    rng = random.Random(1)
    for _ in range(500):
        length = rng.randint(1, 7)
        exact = [Fraction(rng.randint(-2, 2), 2) for _ in range(length)]
        eligible = [rng.random() < 0.7 for _ in range(length)]
        chosen = [i for i in range(length) if eligible[i]]
        count = rng.randint(0, len(chosen))
        for values in (exact, [float(x) for x in exact]):
            where = vector(eligible)
            scores = [(i, values[i]) for i in chosen]
            assert top(count, vector(values), where) == top_of(count, scores)
            assert upto(count, vector(values), where) == upto_of(count, scores) == top_of(count, scores)
            more = count + len(chosen)
            everything = top_of(len(chosen), scores)
            assert upto(more, vector(values), where) == upto_of(more, scores) == everything
            assert top_of(count, scores) == sorted(chosen, key=lambda i: (-values[i], i))[:count]
            if chosen:
                assert argmax(vector(values), where) == argmax_of(scores)
                assert argmin(vector(values), where) == argmin_of(scores)
                assert greatest(vector(values), where) == max_of(values[i] for i in chosen)
                assert least(vector(values), where) == min_of(values[i] for i in chosen)


def test_selections_are_python_numbers() -> None:
    floats, exact = vector([1.0, 2.0]), vector([Fraction(1), Fraction(2)])
    assert type(greatest(floats)) is float
    assert type(least(exact)) is Fraction
    assert type(argmax(floats)) is int
    assert [type(index) for index in top(2, floats)] == [int, int]


def test_arrays_compute_as_python_does() -> None:
    """Whatever is no list of floats keeps its own arithmetic."""
    assert list(vector([2**70, 1]) * 2**70) == [2**140, 2**70]
    assert list(vector([2**62, 1]) * 4) == [2**64, 4]
    assert list(vector([Fraction(1, 3)]) * Fraction(3)) == [1]
    tenth = Fraction(1, 10)
    assert list(vector([0.1]) > tenth) == [True]  # as floats they would be equal
    assert list(vector([0.5, 0.25]) * tenth) == [0.5 * tenth, 0.25 * tenth]
    assert vector([True, False]).dtype == np.bool_
    with pytest.raises(ZeroDivisionError):
        vector([1.0]) / vector([Fraction(0)])


def test_lists_are_cut_to_the_set_and_never_stretched() -> None:
    assert list(vector([1.0, 2.0, 3.0], 2)) == [1.0, 2.0]
    assert list(vector([1.0, 2.0], -1)) == []
    with pytest.raises(IndexError, match="a list of 1 entries is too short: 2 are needed"):
        vector([1.0], 2)


def test_sets_by_index_and_by_membership() -> None:
    assert list(indices(3) != 1) == [True, False, True]
    assert list(members([2, 0], 4)) == [True, False, True, False]
    assert list(~members([5, 1], 2)) == [True, False]  # 5 is no index of the set
    assert list(~vector([])) == []


@pytest.mark.parametrize("count", [-1, 3])
def test_too_few_indices(count: int) -> None:
    message = rf"cannot select {count} (of 2 )?indices"
    with pytest.raises(SelectionError, match=message):
        top(count, vector([1.0, 2.0]))
    with pytest.raises(SelectionError, match=message):
        top_of(count, [(0, 1.0), (1, 2.0)])


def test_not_even_up_to_a_negative_number_is_selected() -> None:
    with pytest.raises(SelectionError, match="cannot select -1 indices"):
        upto(-1, vector([1.0, 2.0]))
    with pytest.raises(SelectionError, match="cannot select -1 indices"):
        upto_of(-1, [(0, 1.0), (1, 2.0)])


def test_an_empty_set_has_no_greatest_value() -> None:
    nobody, values = vector([False]), vector([1.0])
    for call in (
        lambda: argmax(values, nobody),
        lambda: argmin(values, nobody),
        lambda: greatest(values, nobody),
        lambda: least(values, nobody),
        lambda: argmax(vector([])),
        lambda: argmax_of([]),
        lambda: argmin_of([]),
        lambda: max_of(iter(())),
        lambda: min_of(iter(())),
    ):
        with pytest.raises(SelectionError, match="no index is eligible"):
            call()


def test_the_runtime_is_there_without_numpy() -> None:
    """Only mechanisms that work on arrays pay for its import."""
    code = "import sys, aligncheck.runtime; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
