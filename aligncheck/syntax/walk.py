"""Plain traversals of the abstract syntax."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from aligncheck.syntax.nodes import (
    AlignItem,
    Assign,
    Binary,
    Break,
    Call,
    CaseSplit,
    Compare,
    Conditional,
    Emit,
    Expr,
    For,
    If,
    Index,
    Logic,
    Mechanism,
    Name,
    OutField,
    OutIs,
    OverQueries,
    OverRange,
    Parameter,
    Pass,
    PublicVector,
    Queries,
    Sample,
    Shift,
    Stmt,
    Unary,
    While,
)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions."""
    match expr:
        case Index(index=index) | OutIs(index=index) | OutField(index=index):
            return (index,)
        case Call(args=args) | Logic(args=args):
            return args
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Conditional(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case _:
            return ()


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The expression and all below it."""
    yield expr
    for part in parts_of(expr):
        yield from subexpressions(part)


def with_part(expr: Expr, part: Expr, other: Expr) -> Expr:
    """The expression with one of its subexpressions (that very object) replaced."""
    if expr is part:
        return other

    def go(e: Expr) -> Expr:
        return with_part(e, part, other)

    match expr:
        case Index(index=index) | OutIs(index=index) | OutField(index=index):
            return replace(expr, index=go(index))
        case Call(args=args) | Logic(args=args):
            return replace(expr, args=tuple(go(a) for a in args))
        case Unary(operand=operand):
            return replace(expr, operand=go(operand))
        case Binary(left=left, right=right) | Compare(left=left, right=right):
            return replace(expr, left=go(left), right=go(right))
        case Conditional(test=test, then=then, otherwise=otherwise):
            return replace(expr, test=go(test), then=go(then), otherwise=go(otherwise))
        case _:
            return expr


def names_in(expr: Expr) -> frozenset[str]:
    """Every identifier that an expression mentions, indexed bases included."""
    found: set[str] = set()
    for e in subexpressions(expr):
        match e:
            case Name(ident=ident) | Index(base=ident):
                found.add(ident)
            case _:
                pass
    return frozenset(found)


def lists_per_answer(group: Queries, inputs: Container[str]) -> tuple[str, ...]:
    """The public lists that the clauses of a group index by `i`: they must have an entry for every answer."""
    clauses = [e for e in (group.sensitivity, group.lattice, *(group.range or ())) if e is not None]
    found = {
        e.base
        for clause in clauses
        for e in subexpressions(clause)
        if isinstance(e, Index) and e.index == Name("i") and "i" not in inputs
    }
    return tuple(sorted(found)) if group.vector else ()


def statements_in(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """The statements of a block and of all blocks inside it, in source order."""
    for stmt in body:
        yield stmt
        match stmt:
            case If(branches=branches, otherwise=otherwise):
                for branch in branches:
                    yield from statements_in(branch.body)
                yield from statements_in(otherwise)
            case For(body=inner) | While(body=inner):
                yield from statements_in(inner)
            case _:
                pass


def own_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement itself, not of the blocks inside it."""
    match stmt:
        case Assign(value=value):
            return (value,)
        case Sample(index=index, args=args):
            return args if index is None else (index, *args)
        case If(branches=branches):
            return tuple(b.test for b in branches)
        case For(over=OverRange(low=low, high=high), invariants=invariants):
            return (low, high, *invariants)
        case For(over=OverQueries(), invariants=invariants):
            return invariants
        case While(test=test, invariants=invariants):
            return (test, *invariants)
        case Emit(fields=fields):
            return tuple(f.value for f in fields)
        case For() | Break() | Pass():
            return ()


def shifts_in(items: tuple[AlignItem, ...]) -> Iterator[Shift]:
    """The alignment's lines, those inside case splits included."""
    for item in items:
        match item:
            case Shift():
                yield item
            case CaseSplit(cases=cases, otherwise=otherwise):
                for case in cases:
                    yield from shifts_in(case.items)
                yield from shifts_in(otherwise)


def align_expressions(items: tuple[AlignItem, ...]) -> Iterator[Expr]:
    """The expressions of an alignment, without their subexpressions."""
    for item in items:
        match item:
            case Shift(index=index, value=value, guard=guard):
                yield from (e for e in (index, value, guard) if e is not None)
            case CaseSplit(cases=cases, otherwise=otherwise):
                for case in cases:
                    yield case.test
                    yield from align_expressions(case.items)
                yield from align_expressions(otherwise)


def expressions_in(mechanism: Mechanism) -> Iterator[Expr]:
    """Every expression and subexpression of a spec."""
    tops: list[Expr] = [mechanism.privacy]
    for item in mechanism.inputs:
        match item:
            case Parameter(where=where) | PublicVector(where=where):
                tops += [where] if where is not None else []
            case Queries():
                tops += [e for e in (item.sensitivity, item.lattice, item.where) if e is not None]
                tops += list(item.range or ())
    for stmt in statements_in(mechanism.body):
        tops += own_expressions(stmt)
    tops += align_expressions(mechanism.align)
    for top in tops:
        yield from subexpressions(top)
