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
