"""A spec as people would write it: what is read off its text should not depend on signs and brackets.

A witness for it is one for the spec as it stands, line by line; whether that is so the kernel decides.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk
from aligncheck.search.witness.totals import ONE, Amount, total

NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
OTHER_END = {"argmin": "argmax", "argmax": "argmin", "min": "max", "max": "min"}


def plain(spec: n.Mechanism) -> n.Mechanism:
    """The spec without signs and negations that cancel; its lines add to their draws where they can, and one
    line says what several under the same guard add to one.
    """
    spec = rewrite.everywhere(spec, lambda e: rewrite.bottom_up(e, _plain))
    return replace(spec, align=_items(spec.align))


def _plain(e: n.Expr) -> n.Expr:
    if isinstance(e, n.Unary):
        return _unary(e)
    if isinstance(e, n.Binary):
        return _binary(e)
    if isinstance(e, n.Compare) and e.op in ("==", "!="):
        for one, other in ((e.left, e.right), (e.right, e.left)):
            if isinstance(other, n.Boolean):
                return one if other.value is (e.op == "==") else _plain(n.Unary("not", one, span=e.span))
    if isinstance(e, n.Gather) and e.function in OTHER_END and _negative(e.body):
        other = replace(e, function=OTHER_END[e.function], body=_operand(e.body))
        return n.Unary("-", other, span=e.span) if e.function in ("min", "max") else other
    return e


def _negative(e: n.Expr) -> bool:
    return isinstance(e, n.Unary) and e.op == "-"


def _operand(e: n.Expr) -> n.Expr:
    return e.operand if isinstance(e, n.Unary) else e


def _unary(e: n.Unary) -> n.Expr:
    inner = e.operand
    if isinstance(inner, n.Unary) and inner.op == e.op:
        return inner.operand
    if isinstance(inner, n.Binary) and inner.op == "-" and e.op == "-":
        return _plain(n.Binary("-", inner.right, inner.left, span=e.span))
    if isinstance(inner, n.Compare) and e.op == "not" and not _of_lists(inner):
        return replace(inner, op=NEGATED[inner.op])
    return e


def _of_lists(test: n.Compare) -> bool:
    """Whether it may be a comparison of all answers with those on D'."""
    sides = (test.left, test.right)
    return (
        all(isinstance(e, n.Name) for e in sides)
        and len({e.ident for e in sides if isinstance(e, n.Name)}) == 1
    )


def _binary(e: n.Binary) -> n.Expr:
    if e.op in ("+", "-") and _negative(e.right):
        return replace(e, op="-" if e.op == "+" else "+", right=_operand(e.right))
    if e.op == "+" and _negative(e.left):
        return replace(e, op="-", left=e.right, right=_operand(e.left))
    if e.op == "*":
        for one, other in ((e.left, e.right), (e.right, e.left)):
            if isinstance(other, n.Binary) and other.op == "/" and other.left == ONE:
                return replace(e, op="/", left=one, right=other.right)
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


def _of_cell(test: n.Logic, index: n.Name) -> n.Expr:
    """`R == floor(i/m) and C == i % m` of an index i as `R*m + C == i`."""
    sides = [(e, *each) for e in test.args if isinstance(e, n.Compare) for each in _equal_sides(e)]
    for row, e, at in sides:
        for column, other, rest in sides:
            wide = (
                rest.right if isinstance(rest, n.Binary) and rest.op == "%" and rest.left == index else None
            )
            if wide is not None and at == n.Call("floor", (n.Binary("/", index, wide),)):
                place = n.Binary("+", n.Binary("*", e, wide), other)
                left = tuple(part for part in test.args if part not in (row, column))
                one = replace(row, left=place, right=index)
                return replace(test, args=(*left, one)) if left else one
    return test


def _equal_sides(e: n.Compare) -> tuple[tuple[n.Expr, n.Expr], ...]:
    return ((e.left, e.right), (e.right, e.left)) if e.op == "==" else ()


def _solved(line: n.Shift) -> n.Shift:
    """The line with `E - c == i` in its guard for `E == i + c`, with the index of its draw alone."""

    def alone(e: n.Expr) -> n.Expr:
        if isinstance(e, n.Logic) and e.op == "and" and isinstance(line.index, n.Name):
            return _of_cell(e, line.index)
        if not isinstance(e, n.Compare) or e.op != "==" or not isinstance(line.index, n.Name):
            return e
        parts = dict((total(e.left) - total(e.right)).parts)
        own = parts.pop(((line.index, 1),), Fraction(0))
        if line.index in (e.left, e.right) or abs(own) != 1 or line.index.ident in Amount(parts).names():
            return e
        return replace(e, left=Amount(parts).times(-own).expression(), right=line.index)

    return line if line.guard is None else replace(line, guard=rewrite.bottom_up(line.guard, alone))


def _item(item: n.AlignItem) -> n.AlignItem:
    if isinstance(item, n.Shift):
        item = _solved(item)
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
