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
    """The spec without signs and negations that cancel; its lines add to their draws where they can, and one
    line says what several under the same guard add to one.
    """
    spec = rewrite.everywhere(spec, lambda e: rewrite.bottom_up(e, _plain))
    return replace(spec, align=_items(spec.align))


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
        case _:
            return e


def _items(items: tuple[n.AlignItem, ...]) -> tuple[n.AlignItem, ...]:
    found = list[n.AlignItem]()
    for item in map(_item, items):
        at = next((k for k, other in enumerate(found) if _together(other, item)), None)
        if at is None:
            found.append(item)
        elif isinstance(first := found[at], n.Shift) and isinstance(item, n.Shift):
            found[at] = replace(
                first, value=_plain(n.Binary("+", first.value, item.value, span=first.value.span))
            )
    return tuple(found)


def _together(one: n.AlignItem, other: n.AlignItem) -> bool:
    """Whether both lines add to one draw under one guard."""
    if not isinstance(one, n.Shift) or not isinstance(other, n.Shift):
        return False
    return one.op == "+=" and replace(one, value=other.value) == other


def _item(item: n.AlignItem) -> n.AlignItem:
    match item:
        case n.CaseSplit(cases=cases, otherwise=otherwise):
            arms = tuple(replace(c, items=_items(c.items)) for c in cases)
            return replace(item, cases=arms, otherwise=_items(otherwise))
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
