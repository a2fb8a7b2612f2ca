"""Exact reals of the engine: rationals and combinations of irrational numbers."""

from __future__ import annotations

import pytest
import sympy
from flint import arb, ctx, fmpq

from aligncheck.meaning import exact
from aligncheck.refutation.irrationals import (
    Dependent,
    Surd,
    apply,
    ceiling,
    divide,
    floor,
    of_expr,
    open_parameter,
    sign,
    to_ball,
    to_exact,
    to_expr,
)

ROOT = apply("sqrt", fmpq(2))


def test_combinations_collapse_to_rationals() -> None:
    assert not isinstance(ROOT + fmpq(1, 2) - ROOT, Surd)
    assert not isinstance(ROOT * ROOT, Surd)
    assert apply("sqrt", fmpq(8)) == 2 * ROOT
    assert ROOT / fmpq(2) == 1 / ROOT
    assert apply("ln", apply("exp", fmpq(-1, 3))) == fmpq(-1, 3)


def test_order_mixes_with_rationals() -> None:
    assert fmpq(7, 5) < ROOT < fmpq(3, 2)
    assert max(fmpq(1), ROOT) is ROOT
    assert sign(ROOT - fmpq(14142135623730950488, 10**19)) == 1
    assert (floor(ROOT), ceiling(-ROOT)) == (1, -1)


def test_an_identity_is_not_decided_by_rounding() -> None:
    nested = of_expr(sympy.sqrt(3 + 2 * sympy.sqrt(2)))
    assert sign(nested - 1 - ROOT) == 0


def test_division_by_zero_is_undefined() -> None:
    with pytest.raises(exact.Undefined):
        divide(fmpq(1), ROOT - ROOT)


def test_enclosures_follow_the_precision() -> None:
    for bits in (64, 256):
        with ctx.workprec(bits):
            ball = to_ball(ROOT + 1)
            assert (ball - 1) ** 2 - 2 < arb(2) ** (8 - bits)
            assert ((ball - 1) ** 2).contains(2)


def test_there_and_back() -> None:
    number = ROOT * fmpq(3, 4) - apply("exp", fmpq(1)) + 5
    assert of_expr(to_expr(number)) == number
    assert exact.compare(to_exact(number), exact.add(to_exact(number), exact.ZERO)) == 0


def test_signs_that_hold_for_all_values_of_an_open_parameter() -> None:
    eps = open_parameter("eps")
    assert sign(eps * fmpq(-1, 2)) == -1
    assert sign(3 / eps) == 1
    fall = apply("exp", -eps / fmpq(2))
    assert sign(1 - fall) == 1
    assert sign(fall - 1) == -1
    assert sign(eps - eps * 1) == 0
    assert apply("ln", fall) == -eps / fmpq(2)
    for open_ in (eps - 1, fall - fmpq(1, 2), 2 / eps - 1):
        with pytest.raises(Dependent):
            sign(open_)
