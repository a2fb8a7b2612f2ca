"""What all forms need: the mechanisms of a spec, their names, constants, and the refusal."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from fractions import Fraction

from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import Expr, Mechanism
from aligncheck.language.syntax.walk import expressions_in, names_in, names_set, statements_in

IRRATIONAL = ("sqrt", "exp", "ln", "log2")
"""Functions whose values are irrational for most rational arguments. They rise."""


class NoFormError(Exception):
    """A mechanism has no form for a mode; the message says why, as the end of a sentence."""

    def __init__(self, why: str, span: Span) -> None:
        super().__init__(why)
        self.why = why
        self.span = span


def chain(mechanism: Mechanism) -> Iterator[Mechanism]:
    """The mechanism and all that it calls, callees after their callers."""
    yield mechanism
    for use in mechanism.uses:
        yield from chain(contract_of(use).mechanism)


def names_of(mechanism: Mechanism) -> frozenset[str]:
    """Every name that stands anywhere in a spec."""
    found = {n for e in expressions_in(mechanism) for n in names_in(e)}
    found |= {e.index for e in expressions_in(mechanism) if isinstance(e, nodes.Gather)}
    for item in mechanism.inputs:
        found.update(item.names)
    found.update(f.name for f in mechanism.functions)
    found.update(u.name for u in mechanism.uses)
    found.update(name for s in statements_in(mechanism.body) for name in names_set(s))
    return frozenset(found)


def fresh(wanted: str, taken: frozenset[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def constant(expr: Expr) -> Fraction | None:
    """The value of an expression without names; None where it has one, or where it has no value."""
    if isinstance(expr, nodes.Number):
        return expr.value
    if isinstance(expr, nodes.Unary) and expr.op == "-":
        value_ = constant(expr.operand)
        return None if value_ is None else -value_
    if isinstance(expr, nodes.Binary) and expr.op in _ARITHMETIC:
        pair = constant(expr.left), constant(expr.right)
        if pair[0] is None or pair[1] is None or (expr.op == "/" and pair[1] == 0):
            return None
        return _ARITHMETIC[expr.op](pair[0], pair[1])
    return None


_ARITHMETIC: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
