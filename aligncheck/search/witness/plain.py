"""A spec as people would write it: what is read off its text should not depend on signs and brackets.

A witness for it is one for the spec as it stands, line by line; whether that is so the kernel decides.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk

NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
OTHER_END = {"argmin": "argmax", "argmax": "argmin", "min": "max", "max": "min"}


def plain(spec: n.Mechanism) -> n.Mechanism:
    """The spec without signs and negations that cancel; its lines add to their draws where they can."""
    spec = rewrite.everywhere(spec, lambda e: rewrite.bottom_up(e, _plain))
    return replace(spec, align=tuple(map(_item, spec.align)))


def _plain(e: n.Expr) -> n.Expr:
    match e:
        case n.Unary(op="-", operand=n.Unary(op="-", operand=x)):
            return x
        case n.Unary(op="-", operand=n.Binary(op="-", left=a, right=b)):
            return _plain(n.Binary("-", b, a, span=e.span))
        case n.Unary(op="not", operand=n.Unary(op="not", operand=x)):
            return x
        case n.Unary(op="not", operand=n.Compare() as test):
            return replace(test, op=NEGATED[test.op])
        case n.Binary(op="+", left=a, right=n.Unary(op="-", operand=b)):
            return replace(e, op="-", left=a, right=b)
        case n.Binary(op="-", left=a, right=n.Unary(op="-", operand=b)):
            return replace(e, op="+", left=a, right=b)
        case n.Binary(op="+", left=n.Unary(op="-", operand=b), right=a):
            return replace(e, op="-", left=a, right=b)
        case n.Binary(op="*", left=a, right=n.Binary(op="/", left=n.Number(value=1), right=b)):
            return replace(e, op="/", left=a, right=b)
        case n.Binary(op="*", left=n.Binary(op="/", left=n.Number(value=1), right=b), right=a):
            return replace(e, op="/", left=a, right=b)
        case n.Gather(function=("argmin" | "argmax") as name, body=n.Unary(op="-", operand=body)):
            return replace(e, function=OTHER_END[name], body=body)
        case n.Gather(function=("min" | "max") as name, body=n.Unary(op="-", operand=body)):
            return n.Unary("-", replace(e, function=OTHER_END[name], body=body), span=e.span)
    return e


def _item(item: n.AlignItem) -> n.AlignItem:
    match item:
        case n.CaseSplit(cases=cases, otherwise=otherwise):
            arms = tuple(replace(c, items=tuple(map(_item, c.items))) for c in cases)
            return replace(item, cases=arms, otherwise=tuple(map(_item, otherwise)))
        case n.Shift(op="-="):
            return replace(item, op="+=", value=_plain(n.Unary("-", item.value, span=item.value.span)))
        case n.Shift(op="=") if not walk.renews(item):
            terms = walk.signed_terms(item.value)
            terms.remove((walk.moved_by(item), True))
            return replace(item, op="+=", value=_added(terms)) if terms else item
    return item


def _added(terms: list[tuple[n.Expr, bool]]) -> n.Expr:
    (first, plus), *rest = sorted(terms, key=lambda term: not term[1])
    start = first if plus else n.Unary("-", first, span=first.span)
    return reduce(lambda e, term: n.Binary("+" if term[1] else "-", e, term[0], span=e.span), rest, start)
