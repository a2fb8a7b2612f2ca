"""Plain traversals of the abstract syntax."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from aligncheck.language.syntax.nodes import (
    AlignItem,
    Assign,
    Binary,
    Call,
    CaseSplit,
    Choose,
    Compare,
    Conditional,
    Emit,
    Empty,
    Expr,
    For,
    Gather,
    If,
    Index,
    Indices,
    Invoke,
    Literal,
    Logic,
    Logistic,
    Mechanism,
    Member,
    Name,
    OfOutput,
    Operator,
    OutCount,
    OutField,
    OutIs,
    OverQueries,
    OverRange,
    Parameter,
    PublicVector,
    Queries,
    Sample,
    Sampling,
    Shift,
    Simple,
    Stmt,
    Unary,
    While,
)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in the order of the text but for the ends of a range, which come last."""
    match expr:
        case Index(index=index) | OutIs(index=index) | OutField(index=index) | Member(index=index):
            return (index,)
        case Call(args=args) | Logic(args=args):
            return args
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Conditional(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case Gather(count=count, body=body, over=over, where=where):
            ends = (over.low, over.high) if isinstance(over, OverRange) else ()
            return (*(e for e in (count, body, where) if e is not None), *ends)
        case Literal() | Name() | OutCount():
            return ()


def with_parts(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    """The expression with other direct subexpressions, as many as `parts_of` gives and in that order."""
    match expr:
        case Index() | OutIs() | OutField() | Member():
            (index,) = parts
            return replace(expr, index=index)
        case Call() | Logic():
            return replace(expr, args=parts)
        case Unary():
            (operand,) = parts
            return replace(expr, operand=operand)
        case Binary() | Compare():
            left, right = parts
            return replace(expr, left=left, right=right)
        case Conditional():
            test, then, otherwise = parts
            return replace(expr, test=test, then=then, otherwise=otherwise)
        case Gather(count=count, over=over, where=where):
            given = iter(parts)
            count = next(given) if count is not None else None
            body = next(given)
            where = next(given) if where is not None else None
            if isinstance(over, OverRange):
                over = replace(over, low=next(given), high=next(given))
            return replace(expr, count=count, body=body, over=over, where=where)
        case Literal() | Name() | OutCount():
            return expr


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The expression and all below it."""
    yield expr
    for part in parts_of(expr):
        yield from subexpressions(part)


def with_part(expr: Expr, part: Expr, other: Expr) -> Expr:
    """The expression with one of its subexpressions (that very object) replaced."""
    if expr is part:
        return other
    return with_parts(expr, tuple(with_part(each, part, other) for each in parts_of(expr)))


def names_in(expr: Expr) -> frozenset[str]:
    """Every identifier that an expression mentions, indexed bases included, but without the indices of sets,
    which mean something inside their sets only.
    """
    found: set[str] = set()
    bound: set[str] = set()
    for e in subexpressions(expr):
        match e:
            case Name(ident=ident) | Index(base=ident) | Member(selection=ident):
                found.add(ident)
            case OutIs(of=of) | OutField(of=of) | OutCount(of=of) if of != "out":
                found.add(of)
            case Gather(index=index, over=over):
                # No name that is visible around a set is the index of the set: nothing free is lost.
                bound.add(index)
                if isinstance(over, Indices):
                    found.add(over.base)
            case Literal() | Call() | Operator() | OfOutput():
                pass
    return frozenset(found - bound)


def gathered_in_full(body: tuple[Stmt, ...]) -> dict[str, Gather]:
    """The variables whose only assignment is a `Gather` at the top level of the program.

    They have one value in a complete run, so that `align` may use them also where they are not yet assigned.
    """
    given: list[str] = []
    for stmt in statements_in(body):
        match stmt:
            case Assign(name=name):
                given.append(name)
            case For(index=index, over=over):
                given += [index] if index is not None else []
                given += [over.item] if isinstance(over, OverQueries) else []
            case Invoke() | Sampling() | If() | While() | Emit() | Empty():
                pass
    return {
        stmt.name: stmt.value
        for stmt in body
        if isinstance(stmt, Assign) and isinstance(stmt.value, Gather) and stmt.value.function != "sum"
        if given.count(stmt.name) == 1
    }


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
            case Simple():
                pass


def own_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement itself, not of the blocks inside it."""
    match stmt:
        case Assign(value=value):
            return (value,)
        case Invoke(arguments=arguments):
            return tuple(a.value for a in arguments)
        case Sample(index=index, args=args):
            return args if index is None else (index, *args)
        case Choose(weights=weights):
            return (weights,)
        case Logistic(location=location, scale=scale, low=low):
            return (location, scale) if low is None else (location, scale, low)
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
        case For() | Empty():
            return ()


def has_densities(body: tuple[Stmt, ...]) -> bool:
    """Whether a program draws by stated densities: it is then proved by these, and has no alignment."""
    return any(isinstance(stmt, Choose | Logistic) for stmt in statements_in(body))


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
    tops: list[Expr] = [mechanism.privacy, *([] if mechanism.most is None else [mechanism.most])]
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
