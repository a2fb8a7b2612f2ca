"""Logarithms of weights, which are what a choice by weights is computed with and proved by."""

from __future__ import annotations

from fractions import Fraction

from aligncheck.syntax.nodes import Binary, Call, Conditional, Expr, Number


def log_of(weight: Expr) -> Expr:
    """An expression for the natural logarithm of a weight: `E` for `exp(E)`, sums for products.

    It is undefined where a factor is not positive, also where the weight is positive all the same.
    """
    match weight:
        case Call(function="exp", args=(exponent,)):
            return exponent
        case Number(value=value) if value == 1:
            return Number(Fraction(0), span=weight.span)
        case Binary(op="*", left=left, right=right):
            return Binary("+", log_of(left), log_of(right), span=weight.span)
        case Binary(op="/", left=left, right=right):
            return Binary("-", log_of(left), log_of(right), span=weight.span)
        case Conditional(test=test, then=then, otherwise=otherwise):
            return Conditional(test, log_of(then), log_of(otherwise), span=weight.span)
        case _:
            return Call("ln", (weight,), span=weight.span)
