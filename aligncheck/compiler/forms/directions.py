"""Which way a root or a logarithm is rounded: so that scales and claims are greater than the formulas say,
the budgets of calls less, and conditions on parameters stronger.

The way is read off how a formula is written, with all factors taken for positive. Nothing rests on it: the
form holds the number that is computed, and is proved as it stands. Where the claim is a rational ε, a proof
needs no more of such numbers than their signs, and they stay as they are: costs are linear in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import IntEnum

from aligncheck.compiler.forms.shared import constant
from aligncheck.language.families import Slope
from aligncheck.language.syntax import nodes, rewrite, walk
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import Expr, Mechanism

_ROUNDED = ("sqrt", "ln")
_SIGNS = {"<": -1, "<=": -1, ">": 1, ">=": 1}


class _Way(IntEnum):
    """What is asked of a number: no more than the formula says, nothing, no less than it."""

    DOWN = -1
    ANY = 0
    UP = 1

    def turned(self, sign: int = -1) -> _Way:
        return _Way(self * sign)


def directed(mechanism: Mechanism) -> Mechanism:
    """The mechanism with `sqrt up(x)` or `sqrt down(x)`, and `ln` likewise, where it matters which: no spec
    may have such names.
    """
    if not _rounds(mechanism):
        return mechanism
    ways = _ways(mechanism)

    def statement(s: nodes.Stmt) -> nodes.Stmt:
        asked = [_rounded(e, way) for e, way in _asked(s, ways, mechanism)]
        given = iter(asked)
        return rewrite.own(s, lambda e: next(given)) if asked else s

    changed = with_said(mechanism, lambda e: _rounded(e, _Way.UP))
    return replace(changed, body=rewrite.statements(mechanism.body, statement))


def said_in(mechanism: Mechanism) -> tuple[Expr, ...]:
    """What a mechanism claims, and what it declares of its inputs."""
    return (*walk.claimed_in(mechanism.claim), *(i.where for i in mechanism.inputs if i.where is not None))


def with_said(mechanism: Mechanism, change: Callable[[Expr], Expr]) -> Mechanism:
    """The mechanism with all of this changed."""
    inputs = (replace(i, where=None if i.where is None else change(i.where)) for i in mechanism.inputs)
    return replace(mechanism, inputs=tuple(inputs), claim=rewrite.claimed(mechanism.claim, change))


def _rounds(mechanism: Mechanism) -> bool:
    """Whether what it claims or declares rests on such numbers: by a square, or in so many words."""
    spoken = (e for each in said_in(mechanism) for e in walk.subexpressions(each))
    return not isinstance(mechanism.claim, nodes.Pure) or any(
        isinstance(e, nodes.Call) and e.function in _ROUNDED for e in spoken
    )


def undirected(expr: Expr) -> Expr:
    """The expression as the spec has it."""

    def plain(e: Expr) -> Expr:
        return replace(e, function=e.function.partition(" ")[0]) if isinstance(e, nodes.Call) else e

    return rewrite.bottom_up(expr, plain)


def _rounded(expr: Expr, way: _Way) -> Expr:
    parts = tuple(_rounded(part, turn) for part, turn in _parts(expr, way))
    inner = walk.with_parts(expr, parts)
    if isinstance(inner, nodes.Call) and inner.function in _ROUNDED and way is not _Way.ANY:
        return replace(inner, function=f"{inner.function} {way.name.lower()}")
    return inner


def _parts(expr: Expr, way: _Way) -> Iterator[tuple[Expr, _Way]]:
    """The parts of a number, or of a condition that is asked to hold less often (UP), and what is asked of
    each.
    """
    match expr:
        case nodes.Binary(op="+" | "*", left=left, right=right):
            yield from ((left, way), (right, way))
        case nodes.Binary(op="-" | "/", left=left, right=right):
            yield from ((left, way), (right, way.turned()))
        case nodes.Binary(op="**", left=left, right=right):
            power = constant(right)
            sign = 0 if power is None else 1 if power > 0 else -1
            yield from ((left, way.turned(sign)), (right, _Way.ANY))
        case nodes.Unary(operand=operand):
            yield operand, way.turned()
        case nodes.Call(function="floor", args=(nodes.Call(function="sqrt", args=(x,)) as root,)):
            yield walk.with_parts(root, (x,)), _Way.ANY
        case nodes.Call(function="sqrt" | "ln" | "log2" | "exp" | "floor" | "min" | "max", args=args):
            yield from ((x, way) for x in args)
        case nodes.Compare(op=op, left=left, right=right):
            sign = -_SIGNS.get(op, 0)
            yield from ((left, way.turned(sign)), (right, way.turned(-sign)))
        case nodes.Logic(args=args):
            yield from ((x, way) for x in args)
        case nodes.Conditional(test=test, then=then, otherwise=otherwise):
            yield from ((test, _Way.ANY), (then, way), (otherwise, way))
        case (
            nodes.Literal()
            | nodes.ByName()
            | nodes.Call()
            | nodes.Binary()
            | nodes.Gather()
            | nodes.OfOutput()
        ):
            yield from ((part, _Way.ANY) for part in walk.parts_of(expr))


def _ways(mechanism: Mechanism) -> dict[str, _Way]:
    """What is asked of each variable: of one that is asked for both ways, nothing."""
    found: dict[str, set[_Way]] = {}
    while True:
        ways = {name: next(iter(of)) if len(of) == 1 else _Way.ANY for name, of in found.items()}
        before = sum(map(len, found.values()))
        for s in walk.statements_in(mechanism.body):
            for expr, way in _asked(s, ways, mechanism):
                _names(expr, way, found)
        if sum(map(len, found.values())) == before:
            return ways


def _names(expr: Expr, way: _Way, found: dict[str, set[_Way]]) -> None:
    if way is _Way.ANY:
        return
    if isinstance(expr, nodes.Name):
        found.setdefault(expr.ident, set()).add(way)
    for part, turn in _parts(expr, way):
        _names(part, turn, found)


def _asked(s: nodes.Stmt, ways: dict[str, _Way], mechanism: Mechanism) -> Iterator[tuple[Expr, _Way]]:
    """The expressions of a statement that privacy asks something of, in the order of `rewrite.own`; none
    where it asks nothing of any.
    """
    match s:
        case nodes.Assign(name=name, value=value):
            yield value, ways.get(name, _Way.ANY)
        case nodes.Invoke(mechanism=called, arguments=arguments, rounds=rounds):
            callee = next(contract_of(use).mechanism for use in mechanism.uses if use.name == called)
            asked: dict[str, set[_Way]] = {}
            for claimed in walk.claimed_in(callee.claim):
                _names(claimed, _Way.DOWN, asked)
            for each in arguments:
                of = asked.get(each.name, set())
                yield each.value, next(iter(of)) if len(of) == 1 else _Way.ANY
            yield from ((e, _Way.ANY) for e in walk.rounds_of(rounds))
        case nodes.Sample(family=family, index=index, args=args):
            if index is not None:
                yield index, _Way.ANY
            steep = family.row.slope in (Slope.CHANCE, Slope.STAIRS)
            yield from ((e, _Way.ANY if k else _Way.DOWN if steep else _Way.UP) for k, e in enumerate(args))
        case nodes.Choose() | nodes.Logistic() | nodes.If() | nodes.Repeat() | nodes.Emit() | nodes.Empty():
            return
