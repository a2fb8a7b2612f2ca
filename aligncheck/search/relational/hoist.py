"""Selections inside other expressions get a name of their own, so that one rule proves them all."""

from __future__ import annotations

from dataclasses import replace

from aligncheck.language.syntax import nodes, walk


def hoisted(mechanism: nodes.Mechanism) -> nodes.Mechanism:
    """The mechanism with `x = argmax(…)` before each statement at the top level that has `argmax(…)` inside.

    It means the same: expressions have no effects, and `x` is a new name. Left alone are `and`, `or` and
    conditionals, whose parts are not always evaluated, and statements inside of blocks.
    """
    body: list[nodes.Stmt] = []
    taken = {name for e in walk.expressions_in(mechanism) for name in walk.names_in(e)}
    taken |= {
        s.name for s in walk.statements_in(mechanism.body) if isinstance(s, nodes.Assign | nodes.Sample)
    }
    for stmt in mechanism.body:
        before, changed = _one(stmt, taken)
        body += [*before, changed]
    return replace(mechanism, body=tuple(body))


def _one(stmt: nodes.Stmt, taken: set[str]) -> tuple[list[nodes.Stmt], nodes.Stmt]:
    before: list[nodes.Stmt] = []
    if not isinstance(stmt, nodes.Assign | nodes.Emit | nodes.Sample | nodes.If):
        return before, stmt
    if isinstance(stmt, nodes.Assign) and isinstance(stmt.value, nodes.Gather):
        return before, stmt
    first = walk.own_expressions(stmt)[:1] if isinstance(stmt, nodes.If) else walk.own_expressions(stmt)
    for found in [g for e in first for g in _always_selected(e)]:
        name = next(n for k in range(1, len(taken) + 2) if (n := f"{found.function}{k}") not in taken)
        taken.add(name)
        before.append(nodes.Assign(name, found, span=found.span))
        stmt = _replaced(stmt, found, nodes.Name(name, span=found.span))
    return before, stmt


def _always_selected(expr: nodes.Expr) -> list[nodes.Gather]:
    """The selections in an expression that are evaluated whenever it is."""
    match expr:
        case nodes.Gather(function="argmax" | "argmin"):
            return [expr]
        case nodes.Gather() | nodes.Conditional() | nodes.Logic():
            return []
        case (
            nodes.Literal()
            | nodes.Name()
            | nodes.Index()
            | nodes.Call()
            | nodes.Unary()
            | nodes.Binary()
            | nodes.Compare()
            | nodes.Member()
            | nodes.OfOutput()
        ):
            return [g for part in walk.parts_of(expr) for g in _always_selected(part)]


def _replaced(
    stmt: nodes.Assign | nodes.Emit | nodes.Sample | nodes.If, part: nodes.Expr, other: nodes.Expr
) -> nodes.Assign | nodes.Emit | nodes.Sample | nodes.If:
    match stmt:
        case nodes.Assign(value=value):
            return replace(stmt, value=walk.with_part(value, part, other))
        case nodes.Emit(fields=fields):
            return replace(
                stmt, fields=tuple(replace(f, value=walk.with_part(f.value, part, other)) for f in fields)
            )
        case nodes.Sample(index=index, args=args):
            return replace(
                stmt,
                index=None if index is None else walk.with_part(index, part, other),
                args=tuple(walk.with_part(a, part, other) for a in args),
            )
        case nodes.If(branches=branches):
            first = replace(branches[0], test=walk.with_part(branches[0].test, part, other))
            return replace(stmt, branches=(first, *branches[1:]))
