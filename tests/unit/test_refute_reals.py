"""Exact reals of the engine: rationals and combinations of irrational numbers."""

from __future__ import annotations

import pytest
import sympy
from flint import arb, ctx, fmpq

from aligncheck.meaning import exact
from aligncheck.refutation import irrationals

ROOT = irrationals.apply("sqrt", fmpq(2))


def test_combinations_collapse_to_rationals() -> None:
    assert not isinstance(ROOT + fmpq(1, 2) - ROOT, irrationals.Surd)
    assert not isinstance(ROOT * ROOT, irrationals.Surd)
    assert irrationals.apply("sqrt", fmpq(8)) == 2 * ROOT
    assert ROOT / fmpq(2) == 1 / ROOT
    assert irrationals.apply("ln", irrationals.apply("exp", fmpq(-1, 3))) == fmpq(-1, 3)


def test_order_mixes_with_rationals() -> None:
    assert fmpq(7, 5) < ROOT < fmpq(3, 2)
    assert max(fmpq(1), ROOT) is ROOT
    assert irrationals.sign(ROOT - fmpq(14142135623730950488, 10**19)) == 1
    assert (irrationals.floor(ROOT), irrationals.ceiling(-ROOT)) == (1, -1)


def test_an_identity_is_not_decided_by_rounding() -> None:
    nested = irrationals.of_expr(sympy.sqrt(3 + 2 * sympy.sqrt(2)))
    assert irrationals.sign(nested - 1 - ROOT) == 0


def test_division_by_zero_is_undefined() -> None:
    nested = irrationals.of_expr(sympy.sqrt(3 + 2 * sympy.sqrt(2)))
    with pytest.raises(exact.Undefined):
        1 / (nested - 1 - ROOT)


def test_enclosures_follow_the_precision() -> None:
    for bits in (64, 256):
        with ctx.workprec(bits):
            ball = irrationals.to_ball(ROOT + 1)
            assert (ball - 1) ** 2 - 2 < arb(2) ** (8 - bits)
            assert ((ball - 1) ** 2).contains(2)


def test_there_and_back() -> None:
    number = ROOT * fmpq(3, 4) - irrationals.apply("exp", fmpq(1)) + 5
    assert irrationals.of_expr(irrationals.to_expr(number)) == number
    assert (
        exact.compare(irrationals.to_exact(number), exact.add(irrationals.to_exact(number), exact.ZERO)) == 0
    )


def test_signs_that_hold_for_all_values_of_an_open_parameter() -> None:
    eps = irrationals.open_parameter("eps")
    assert irrationals.sign(eps * fmpq(-1, 2)) == -1
    assert irrationals.sign(3 / eps) == 1
    fall = irrationals.apply("exp", -eps / fmpq(2))
    assert irrationals.sign(1 - fall) == 1
    assert irrationals.sign(fall - 1) == -1
    assert irrationals.sign(eps - eps * 1) == 0
    assert irrationals.apply("ln", fall) == -eps / fmpq(2)
    for open_ in (eps - 1, fall - fmpq(1, 2), 2 / eps - 1):
        with pytest.raises(irrationals.Dependent):
            irrationals.sign(open_)
