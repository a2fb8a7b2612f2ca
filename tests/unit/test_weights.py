"""Weights of a choice apart: into a factor, and the logarithm of the rest."""

from __future__ import annotations

from fractions import Fraction

import pytest

from aligncheck.language.odds import factor_and_log, log_odds_of
from aligncheck.language.syntax.nodes import Binary, Call, Expr, Name, Number
from aligncheck.language.syntax.weights import log_of
from aligncheck.language.unparse import unparse_expr
from aligncheck.search.witness.witness_json import expression

A, B, X, Y = (Name(name) for name in "abxy")


def exp(expr: Expr) -> Expr:
    return Call("exp", (expr,))


def times(left: Expr, right: Expr) -> Expr:
    return Binary("*", left, right)


def over(left: Expr, right: Expr) -> Expr:
    return Binary("/", left, right)


@pytest.mark.parametrize(
    ("weight", "factor", "log"),
    [
        (exp(X), None, "x"),
        (A, "a", None),
        (times(A, exp(X)), "a", "x"),
        (times(exp(X), A), "a", "x"),
        (times(times(A, exp(X)), B), "a*b", "x"),
        (over(A, B), "a/b", None),
        (over(exp(X), A), "1/a", "x"),
        (over(A, exp(X)), "a", "0 - x"),
        (times(exp(X), exp(Y)), None, "x + y"),
        (over(times(A, exp(X)), times(B, exp(Y))), "a/b", "x - y"),
        (times(Number(Fraction(1)), exp(X)), None, "0 + x"),
    ],
)
def test_factors_and_logarithms(weight: Expr, factor: str | None, log: str | None) -> None:
    found = [None if part is None else unparse_expr(part) for part in factor_and_log(log_of(weight))]
    assert found == [factor, log]


@pytest.mark.parametrize(
    ("p", "odds"),
    [
        ("1/(1 + exp(x))", "-x"),
        ("1/(1 + exp(-x))", "x"),
        ("exp(x)/(1 + exp(x))", "x"),
        ("exp(x)/(exp(x) + exp(y))", "x - y"),
        ("1/(1 + exp(x)) if b else exp(y)/(exp(y) + 1)", "-x if b else y"),
        ("1/(2 + exp(x))", None),
        ("a/(1 + a)", None),
        ("2*exp(x)/(1 + 2*exp(x))", None),
        ("1/(1 + (exp(x) if b else 2))", None),
        ("1/(1 + exp(x)) if b else 1/3", None),
    ],
)
def test_log_odds_of_chances(p: str, odds: str | None) -> None:
    found = log_odds_of(expression(p))
    assert (None if found is None else unparse_expr(found)) == odds
