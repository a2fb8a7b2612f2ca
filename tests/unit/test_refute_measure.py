"""Logarithms of probabilities, as a search asks for them."""

from fractions import Fraction
from math import inf, log

import pytest

from aligncheck.refutation.enclosure import Ball
from aligncheck.refutation.measure import logarithm


def test_what_is_too_rare_is_out_of_reach() -> None:
    rare, rarer = (Fraction(1, 2**digits) for digits in (60_000, 70_000))
    assert logarithm(Ball(rare, rare)) == pytest.approx(-60_000 * log(2))
    assert logarithm(Ball(rarer, rarer)) is None
    assert logarithm(Ball(Fraction(0), rare)) is None
    assert logarithm(Ball(Fraction(0), Fraction(0))) == -inf
