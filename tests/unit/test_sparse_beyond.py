"""Theorem 3 of the lecture, with δ > 0, does not hold for every ε: by certified bounds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from flint import ctx
from sparse_beyond import BITS, DELTA, of_calls, of_responses


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    before, ctx.prec = ctx.prec, BITS
    yield
    ctx.prec = before


def test_composed_responses_break_the_bound() -> None:
    assert 0.0346 < of_responses(Fraction(60)) < 0.0347
    assert of_responses(Fraction(37)) < 0.00021


def test_sparse_itself_breaks_it_far_beyond() -> None:
    epsilon, delta = of_calls(Fraction(27))
    assert 1638 < epsilon < 1639
    assert delta > float(DELTA)
    assert of_calls(Fraction(10))[1] < 1e-20
