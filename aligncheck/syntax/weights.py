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


def factor_and_log(log: Expr) -> tuple[Expr | None, Expr | None]:
    """A factor and a logarithm, which make up the weight whose logarithm `log_of` gave: factor * exp(log).

    None stands for the factor 1, or the logarithm 0.
    """
    match log:
        case Call(function="ln", args=(weight,)):
            return weight, None
        case Binary(op="+" | "-" as op, left=left, right=right):
            (factor, first), (other, second) = factor_and_log(left), factor_and_log(right)
            if factor is None and other is None:
                return None, log
            times = "*" if op == "+" else "/"
            return _joined(times, factor, other, Number(Fraction(1))), _joined(
                op, first, second, Number(Fraction(0))
            )
        case _:
            return None, log


def _joined(op: str, left: Expr | None, right: Expr | None, neutral: Number) -> Expr | None:
    if right is None:
        return left
    if left is None and op in "+*":
        return right
    return Binary(op, neutral if left is None else left, right)
