"""Logarithms of weights, which are what a choice by weights is computed with and proved by; and choices by
weights that are written as the greatest with noise.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import expressions_in, names_in, signed_terms, statements_in, with_part

_ZERO = n.Number(Fraction(0))


def log_of(weight: n.Expr) -> n.Expr:
    """An expression for the natural logarithm of a weight: `E` for `exp(E)`, sums for products.

    It is undefined where a factor is not positive, also where the weight is positive all the same.
    """
    if isinstance(weight, n.Call) and weight.function == "exp" and len(weight.args) == 1:
        return weight.args[0]
    if isinstance(weight, n.Number) and weight.value == 1:
        return n.Number(Fraction(0), span=weight.span)
    if isinstance(weight, n.Binary) and weight.op in ("*", "/"):
        op = "+" if weight.op == "*" else "-"
        return n.Binary(op, log_of(weight.left), log_of(weight.right), span=weight.span)
    if isinstance(weight, n.Conditional):
        return replace(weight, then=log_of(weight.then), otherwise=log_of(weight.otherwise))
    return n.Call("ln", (weight,), span=weight.span)


def choice_by_noise(spec: n.Mechanism, stmt: n.Assign, fixed: Collection[str]) -> n.Choose | None:
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
    if not isinstance(g, n.Gather) or g.function not in ("argmax", "argmin"):
        return None
    body, up = tuple(statements_in(spec.body)), g.function == "argmax"
    for x in (e for e, plus in signed_terms(g.body) if plus is up and isinstance(e, n.Index)):
        named = (e for e in expressions_in(spec) if isinstance(e, n.Index | n.Name))
        own = x.index == n.Name(g.index) and sum(x.base in names_in(e) for e in named) == 1
        match [s for s in body if isinstance(s, n.Sample) and s.name == x.base]:
            case [n.Sample(args=(b,), family=family)] if own and family.row.max_stable:
                given = [s.value for s in body if isinstance(s, n.Assign) and n.Name(s.name) == b]
                b = given[0] if len(given) == 1 else b
                rest = with_part(g.body, x, _ZERO)
                log = n.Binary("/", rest if up else n.Unary("-", rest), b)
                if names_in(b) <= set(fixed):
                    return n.Choose(stmt.name, replace(g, function="Choose", body=n.Call("exp", (log,))))
    return None
