"""The normal form against SymPy, and what each function answers on small cases."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_terms import NUMBERS, A, B, M, N, Tree, X, Y, built, rational

from aligncheck.search.discharge.algebra import (
    canonical,
    equal,
    quotient,
    ratio,
)
from aligncheck.search.relational.ir import (
    ONE,
    Add,
    App,
    Const,
    Div,
    Mul,
    Nature,
    Term,
    TermSort,
    add,
    const,
    div,
    fn,
    ite,
    lt,
    mul,
    scaled,
    sub,
)

SYMBOLS = {s: sympy.Symbol(s.name, real=True) for s in NUMBERS}


def as_sympy(tree: Tree) -> Any:
    match tree:
        case ("sym", s):
            return SYMBOLS[s]
        case ("const", value):
            value = Fraction(value)
            return sympy.Rational(value.numerator, value.denominator)
        case ("add", a, b):
            return as_sympy(a) + as_sympy(b)
        case ("sub", a, b):
            return as_sympy(a) - as_sympy(b)
        case ("mul", a, b):
            return as_sympy(a) * as_sympy(b)
        case ("div", a, b):
            return as_sympy(a) / as_sympy(b)
        case _:
            raise AssertionError(tree)


def as_term(expr: Any) -> Term:
    """A SymPy rational function as a term, through the bare node types: nothing is folded on the way."""
    if expr.is_Rational:
        return Const(Fraction(int(expr.p), int(expr.q)))
    if expr.is_Symbol:
        return next(s for s, x in SYMBOLS.items() if x == expr)
    if expr.is_Add:
        return Add(tuple((as_term(a), Fraction(1)) for a in expr.args), Fraction(0))
    if expr.is_Mul:
        return Mul(tuple(as_term(a) for a in expr.args))
    assert expr.is_Pow
    power = int(expr.exp)
    base = Mul((as_term(expr.base),) * abs(power))
    return base if power > 0 else Div(ONE, base)


def sensible(tree: Tree) -> Any:
    expr = as_sympy(tree)
    assume(not expr.has(sympy.zoo, sympy.nan, sympy.oo))
    assume(not sympy.denom(sympy.together(expr)).equals(0))
    return expr


def term_of(tree: Tree) -> Term:
    try:
        term = built(tree)
        quotient(term)
    except ZeroDivisionError:
        assume(False)
    return term


@settings(max_examples=60)
@given(rational(size=6), rational(size=6))
def test_equal_says_what_sympy_says(first: Tree, second: Tree) -> None:
    expr, other = sensible(first), sensible(second)
    assert equal(term_of(first), term_of(second)) == (sympy.cancel(expr - other) == 0)


@settings(max_examples=60)
@given(rational(size=6), st.sampled_from([sympy.expand, sympy.factor, sympy.together, sympy.cancel]))
def test_other_forms_of_an_expression_have_the_same_normal_form(tree: Tree, rewrite: Any) -> None:
    expr = sensible(tree)
    term, other = term_of(tree), as_term(rewrite(expr))
    assert equal(term, other)
    assert canonical(term) == canonical(other)
    assert not equal(term, add(other, scaled(A, Fraction(1, 7))))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (div(sub(mul(X, X), mul(Y, Y)), sub(X, Y)), add(X, Y), True),
        (div(ONE, div(A, B)), div(B, A), True),
        (fn("abs", sub(X, Y)), fn("abs", sub(Y, X)), True),
        (fn("sqrt", add(X, X)), fn("sqrt", scaled(X, 2)), True),
        (fn("sqrt", X), X, False),
        (mul(fn("exp", A), fn("exp", B)), fn("exp", add(B, A)), True),
        (div(ONE, fn("exp", A)), fn("exp", scaled(A, -1)), True),
        (
            App("q", (add(N, ONE),), TermSort.REAL, Nature.DATA),
            App("q", (N,), TermSort.REAL, Nature.DATA),
            False,
        ),
        (
            App("q", (add(N, M, ONE),), TermSort.REAL, Nature.DATA),
            App("q", (add(ONE, M, N),), TermSort.REAL, Nature.DATA),
            True,
        ),
        (ite(lt(X, Y), X, Y), ite(lt(Y, X), Y, X), False),
    ],
)
def test_functions_are_atoms_with_normal_arguments(left: Term, right: Term, same: bool) -> None:
    assert equal(left, right) is same


def test_dividing_by_what_is_always_zero_is_an_error() -> None:
    nothing = sub(mul(add(X, Y), sub(X, Y)), sub(mul(X, X), mul(Y, Y)))
    with pytest.raises(ZeroDivisionError):
        quotient(div(ONE, nothing))


def test_ratio() -> None:
    assert ratio(div(A, const(4)), A) == Const(Fraction(1, 4))
