"""Selections inside other expressions get a name of their own, so that one rule proves them all."""

from __future__ import annotations

from dataclasses import replace

from aligncheck.language.syntax.nodes import (
    Assign,
    Binary,
    Call,
    Compare,
    Conditional,
    Emit,
    Expr,
    Gather,
    If,
    Index,
    Literal,
    Logic,
    Mechanism,
    Member,
    Name,
    OfOutput,
    Sample,
    Stmt,
    Unary,
)
from aligncheck.language.syntax.walk import (
    expressions_in,
    names_in,
    own_expressions,
    parts_of,
    statements_in,
    with_part,
)


def hoisted(mechanism: Mechanism) -> Mechanism:
    """The mechanism with `x = argmax(…)` before each statement at the top level that has `argmax(…)` inside.

    It means the same: expressions have no effects, and `x` is a new name. Left alone are `and`, `or` and
    conditionals, whose parts are not always evaluated, and statements inside of blocks.
    """
    body: list[Stmt] = []
    taken = {name for e in expressions_in(mechanism) for name in names_in(e)}
    taken |= {s.name for s in statements_in(mechanism.body) if isinstance(s, Assign | Sample)}
    for stmt in mechanism.body:
        before, changed = _one(stmt, taken)
        body += [*before, changed]
    return replace(mechanism, body=tuple(body))


def _one(stmt: Stmt, taken: set[str]) -> tuple[list[Stmt], Stmt]:
    before: list[Stmt] = []
    if not isinstance(stmt, Assign | Emit | Sample | If):
        return before, stmt
    if isinstance(stmt, Assign) and isinstance(stmt.value, Gather):
        return before, stmt
    first = own_expressions(stmt)[:1] if isinstance(stmt, If) else own_expressions(stmt)
    for found in [g for e in first for g in _always_selected(e)]:
        name = next(n for k in range(1, len(taken) + 2) if (n := f"{found.function}{k}") not in taken)
        taken.add(name)
        before.append(Assign(name, found, span=found.span))
        stmt = _replaced(stmt, found, Name(name, span=found.span))
    return before, stmt


def _always_selected(expr: Expr) -> list[Gather]:
    """The selections in an expression that are evaluated whenever it is."""
    match expr:
        case Gather(function="argmax" | "argmin"):
            return [expr]
        case Gather() | Conditional() | Logic():
            return []
        case Literal() | Name() | Index() | Call() | Unary() | Binary() | Compare() | Member() | OfOutput():
            return [g for part in parts_of(expr) for g in _always_selected(part)]


def _replaced(stmt: Assign | Emit | Sample | If, part: Expr, other: Expr) -> Assign | Emit | Sample | If:
    match stmt:
        case Assign(value=value):
            return replace(stmt, value=with_part(value, part, other))
        case Emit(fields=fields):
            return replace(
                stmt, fields=tuple(replace(f, value=with_part(f.value, part, other)) for f in fields)
            )
        case Sample(index=index, args=args):
            return replace(
                stmt,
                index=None if index is None else with_part(index, part, other),
                args=tuple(with_part(a, part, other) for a in args),
            )
        case If(branches=branches):
            first = replace(branches[0], test=with_part(branches[0].test, part, other))
            return replace(stmt, branches=(first, *branches[1:]))
