"""Logarithms of weights, which are what a choice by weights is computed with and proved by; and choices by
weights that are written as the greatest with noise.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

from aligncheck.language.syntax.nodes import (
    Assign,
    Binary,
    Call,
    Choose,
    Conditional,
    Expr,
    Gather,
    Index,
    Mechanism,
    Name,
    Number,
    Sample,
    Unary,
)
from aligncheck.language.syntax.walk import expressions_in, names_in, signed_terms, statements_in, with_part

_ZERO = Number(Fraction(0))


def log_of(weight: Expr) -> Expr:
    """An expression for the natural logarithm of a weight: `E` for `exp(E)`, sums for products.

    It is undefined where a factor is not positive, also where the weight is positive all the same.
    """
    if isinstance(weight, Call) and weight.function == "exp" and len(weight.args) == 1:
        return weight.args[0]
    if isinstance(weight, Number) and weight.value == 1:
        return Number(Fraction(0), span=weight.span)
    if isinstance(weight, Binary) and weight.op in ("*", "/"):
        op = "+" if weight.op == "*" else "-"
        return Binary(op, log_of(weight.left), log_of(weight.right), span=weight.span)
    if isinstance(weight, Conditional):
        return replace(weight, then=log_of(weight.then), otherwise=log_of(weight.otherwise))
    return Call("ln", (weight,), span=weight.span)


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


def choice_by_noise(spec: Mechanism, stmt: Assign, fixed: Collection[str]) -> Choose | None:
    """The draw of j in proportion to exp(E/b) that may stand for `argmax(E + x[j] for j in …)`, where x has
    noise as Gumbel's, of one scale b, and nothing else reads x; `argmin` of the negative is the same. `fixed`
    has the names whose values stay.

    Sound, where the statement is run once, and all that are compared are drawn: given all that is drawn
    besides, the x[j] are independent, and E and b are fixed; E + x[j] is the greatest with probability
    exp(E/b)/Σ exp(E/b). As nothing else reads x, an index that is drawn so has one joint distribution with
    all else. Source: dissertation, Theorem 5.16; docs/kernel.md, section 14. Breaks if: b is another at some
    index, or another value depends on an x[j].
    """
    g = stmt.value
    if not isinstance(g, Gather) or g.function not in ("argmax", "argmin"):
        return None
    body, up = tuple(statements_in(spec.body)), g.function == "argmax"
    for x in (e for e, plus in signed_terms(g.body) if plus is up and isinstance(e, Index)):
        named = (e for e in expressions_in(spec) if isinstance(e, Index | Name))
        own = x.index == Name(g.index) and sum(x.base in names_in(e) for e in named) == 1
        match [s for s in body if isinstance(s, Sample) and s.name == x.base]:
            case [Sample(args=(b,), family=family)] if own and family.row.max_stable:
                given = [s.value for s in body if isinstance(s, Assign) and Name(s.name) == b]
                b = given[0] if len(given) == 1 else b
                rest = with_part(g.body, x, _ZERO)
                log = Binary("/", rest if up else Unary("-", rest), b)
                if names_in(b) <= set(fixed):
                    return Choose(stmt.name, replace(g, function="Choose", body=Call("exp", (log,))))
    return None


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
