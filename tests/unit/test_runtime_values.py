"""Numbers and parameters of the runtime."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from aligncheck import runtime
from aligncheck.runtime import NumericError, ParameterError


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("1/2", Fraction(1, 2)),
        (" 0.1 ", Fraction(1, 10)),
        ("-1e-3", Fraction(-1, 1000)),
        (0.1, Fraction(1, 10)),
        (3, Fraction(3)),
        (Fraction(2, 3), Fraction(2, 3)),
        (np.float64(0.25), Fraction(1, 4)),
        (np.int64(7), Fraction(7)),
    ],
)
def test_reals_are_kept_exactly(given: Any, kept: Fraction) -> None:
    got = runtime.real("x", given)
    assert (got, type(got)) == (kept, Fraction)


@pytest.mark.parametrize(
    "given", ["", "x", "1/0", "1e999999999", "1_000", "nan", "inf", "--1", "1/2/3", "9" * 2000]
)
def test_texts_that_are_no_numbers(given: str) -> None:
    with pytest.raises(ParameterError, match="`x`"):
        runtime.real("x", given)


@pytest.mark.parametrize("given", [math.nan, -math.inf, True, None, [1], 1j, np.array([1.0])])
def test_values_that_are_no_numbers(given: Any) -> None:
    with pytest.raises(ParameterError, match="`x`"):
        runtime.real("x", given)


def test_integers_and_truth_values() -> None:
    assert runtime.integer("k", np.int32(5)) == 5
    assert runtime.integer("k", "4/2") == 2
    assert runtime.integer("k", "12") == 12
    assert runtime.boolean("b", np.bool_(True)) is True
    for wrong in (1.0, "1.5", False, None):
        with pytest.raises(ParameterError, match="`k` must be an integer"):
            runtime.integer("k", wrong)  # type: ignore[arg-type]
    for wrong_truth in (1, "true", None):
        with pytest.raises(ParameterError, match="`b` must be True or False"):
            runtime.boolean("b", wrong_truth)


def test_vectors_name_the_entry() -> None:
    assert runtime.reals("b", np.array([0.5, 1])) == (Fraction(1, 2), Fraction(1))
    with pytest.raises(ParameterError, match=r"`b\[1\]`"):
        runtime.integers("b", [1, 2.5])  # type: ignore[list-item]
    for wrong in ("12", {1, 2}, 5):
        with pytest.raises(ParameterError, match="`b` must be a list"):
            runtime.reals("b", wrong)  # type: ignore[arg-type]


def test_functions_are_exact_where_they_can_be() -> None:
    exact = [
        (runtime.sqrt(Fraction(9, 4)), Fraction(3, 2)),
        (runtime.log2(Fraction(1, 8)), Fraction(-3)),
        (runtime.exp(0), Fraction(1)),
        (runtime.ln(1), Fraction(0)),
        (runtime.one_minus_exp(0), Fraction(0)),
        (runtime.clip(Fraction(5), Fraction(0), Fraction(1)), Fraction(1)),
    ]
    assert all(got == expected and type(got) is Fraction for got, expected in exact)
    assert runtime.sqrt(2) == math.sqrt(2)
    assert runtime.ln(Fraction(10**400)) == pytest.approx(400 * math.log(10))
    assert runtime.one_minus_exp(Fraction(-1, 10**20)) == pytest.approx(1e-20, rel=1e-12)


def test_undefined_operations_are_named() -> None:
    for call in (
        lambda: runtime.sqrt(-1),
        lambda: runtime.ln(0),
        lambda: runtime.log2(-2),
        lambda: runtime.exp(10**6),
        lambda: runtime.whole(Fraction(1, 2)),
    ):
        with pytest.raises(NumericError):
            call()


@pytest.mark.parametrize("value", [-(10**5000), Fraction(-1, 10**5000)], ids=["long", "fine"])
def test_messages_about_numbers_that_python_does_not_write_out(value: Fraction) -> None:
    for refusal in (
        lambda: runtime.require(value > 0, "eps", value, "eps > 0"),
        lambda: runtime.resolution(value, {"1": 1}),
        lambda: runtime.Budget(value),
    ):
        with pytest.raises(ParameterError, match="but is a number of very many digits"):
            refusal()
