"""Chances and weights as a mechanism that runs is given them: by a logarithm, and what is no exponential."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from aligncheck.language.syntax.nodes import Binary, Call, Conditional, Expr, Number, Unary
from aligncheck.language.syntax.weights import log_of

_ZERO = Number(Fraction(0))


def factor_and_log(log: Expr) -> tuple[Expr | None, Expr | None]:
    """A factor and a logarithm, which make up the weight whose logarithm `log_of` gave: factor * exp(log).

    None stands for the factor 1, or the logarithm 0.
    """
    if isinstance(log, Call) and log.function == "ln":
        return log.args[0], None
    if isinstance(log, Binary) and log.op in ("+", "-"):
        op = log.op
        (factor, first), (other, second) = factor_and_log(log.left), factor_and_log(log.right)
        if factor is None and other is None:
            return None, log
        times = "*" if op == "+" else "/"
        return _joined(times, factor, other, Number(Fraction(1))), _joined(
            op, first, second, Number(Fraction(0))
        )
    return None, log


def _joined(op: str, left: Expr | None, right: Expr | None, neutral: Number) -> Expr | None:
    if right is None:
        return left
    if left is None and op in "+*":
        return right
    return Binary(op, neutral if left is None else left, right)


def log_odds_of(p: Expr) -> Expr | None:
    """ln(p/(1 - p)) of a chance that is written as A/(A + B), each of the two being 1 or an exponential; of
    one by cases, by cases. None for any other.
    """
    match p:
        case Conditional(then=then, otherwise=otherwise):
            arms = log_odds_of(then), log_odds_of(otherwise)
            if arms[0] is None or arms[1] is None:
                return None
            return replace(p, then=arms[0], otherwise=arms[1])
        case Binary(op="/", left=side, right=Binary(op="+", left=one, right=other)) if side in (one, other):
            log, rest = _exponent(side), _exponent(other if side == one else one)
            if log is None or rest is None:
                return None
            if log == _ZERO:
                return rest.operand if isinstance(rest, Unary) else Unary("-", rest, span=p.span)
            return log if rest == _ZERO else Binary("-", log, rest, span=p.span)
    return None


def _exponent(power: Expr) -> Expr | None:
    """The logarithm of 1, or of an exponential."""
    is_one = isinstance(power, Number) and power.value == 1
    return log_of(power) if is_one or (isinstance(power, Call) and power.function == "exp") else None
