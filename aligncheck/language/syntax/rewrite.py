"""Specs with other expressions and statements in the same places."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Expr
from aligncheck.language.syntax.walk import parts_of, rounds_of, with_parts

OnExpr = Callable[[Expr], Expr]
"""What stands in the place of a whole expression, its parts included."""

OnStmt = Callable[[nodes.Stmt], nodes.Stmt]
OnBlock = Callable[[tuple[nodes.Stmt, ...]], tuple[nodes.Stmt, ...]]


def bottom_up(expr: Expr, change: OnExpr) -> Expr:
    """The expression with `change` done at every part, the innermost first."""
    return change(with_parts(expr, tuple(bottom_up(part, change) for part in parts_of(expr))))


def with_other(expr: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with another part wherever one stands."""
    return bottom_up(expr, lambda part: new if part == old else part)


def statements(body: Iterable[nodes.Stmt], change: OnStmt) -> tuple[nodes.Stmt, ...]:
    """The block with `change` done at every statement, those inside before those around them."""

    def inside(block: tuple[nodes.Stmt, ...]) -> tuple[nodes.Stmt, ...]:
        return statements(block, change)

    return tuple(change(with_blocks(each, inside)) for each in body)


def with_blocks(statement: nodes.Stmt, change: OnBlock) -> nodes.Stmt:
    """The statement with `change` done at the blocks right inside it."""
    match statement:
        case nodes.If(branches=branches, otherwise=otherwise):
            arms = tuple(replace(b, body=change(b.body)) for b in branches)
            return replace(statement, branches=arms, otherwise=change(otherwise))
        case nodes.For(body=inner) | nodes.While(body=inner):
            return replace(statement, body=change(inner))
        case nodes.Simple():
            return statement


def repeated(rounds: nodes.Rounds | None, change: OnExpr) -> nodes.Rounds | None:
    """What repeats a call, if anything does, with other expressions."""
    if rounds is None:
        return None
    test, chance, *most = map(change, rounds_of(rounds))
    return nodes.Rounds(test, chance, *most, span=rounds.span)


def own(statement: nodes.Stmt, change: OnExpr) -> nodes.Stmt:
    """The statement with other expressions of its own; the blocks inside it stay as they are."""
    match statement:
        case nodes.Assign(value=value):
            return replace(statement, value=change(value))
        case nodes.Invoke(arguments=arguments, rounds=rounds):
            given = tuple(replace(a, value=change(a.value)) for a in arguments)
            return replace(statement, arguments=given, rounds=repeated(rounds, change))
        case nodes.Sample(index=index, args=args):
            index = None if index is None else change(index)
            return replace(statement, index=index, args=tuple(map(change, args)))
        case nodes.Choose(weights=weights):
            changed = change(weights)
            if not isinstance(changed, nodes.Gather):
                raise TypeError("the weights of a choice are a set")
            return replace(statement, weights=changed)
        case nodes.Logistic(location=location, scale=scale, low=low):
            return replace(
                statement,
                location=change(location),
                scale=change(scale),
                low=None if low is None else change(low),
            )
        case nodes.If(branches=branches):
            return replace(statement, branches=tuple(replace(b, test=change(b.test)) for b in branches))
        case nodes.For(over=over, invariants=invariants):
            if isinstance(over, nodes.OverRange):
                over = replace(over, low=change(over.low), high=change(over.high))
            return replace(statement, over=over, invariants=tuple(map(change, invariants)))
        case nodes.While(test=test, invariants=invariants):
            return replace(statement, test=change(test), invariants=tuple(map(change, invariants)))
        case nodes.Emit(fields=fields):
            return replace(statement, fields=tuple(replace(f, value=change(f.value)) for f in fields))
        case nodes.Break() | nodes.Pass():
            return statement


def alignment(items: Iterable[nodes.AlignItem], change: OnExpr) -> tuple[nodes.AlignItem, ...]:
    """The alignment with other expressions; the binder of a line stays as it is."""

    def one(item: nodes.AlignItem) -> nodes.AlignItem:
        match item:
            case nodes.Shift(index=index, value=value, guard=guard):
                if index is not None and not isinstance(index, nodes.Name):
                    index = change(index)
                guard = None if guard is None else change(guard)
                return replace(item, index=index, value=change(value), guard=guard)
            case nodes.CaseSplit(cases=cases, otherwise=otherwise):
                arms = tuple(replace(c, test=change(c.test), items=alignment(c.items, change)) for c in cases)
                return replace(item, cases=arms, otherwise=alignment(otherwise, change))

    return tuple(one(item) for item in items)


def declaration(item: nodes.Input, change: OnExpr) -> nodes.Input:
    """The declaration with other expressions."""

    def maybe(expr: Expr | None) -> Expr | None:
        return None if expr is None else change(expr)

    match item:
        case nodes.Parameter():
            return replace(item, where=maybe(item.where), default=maybe(item.default))
        case nodes.PublicVector():
            return replace(item, where=maybe(item.where))
        case nodes.Queries(range=interval):
            return replace(
                item,
                sensitivity=maybe(item.sensitivity),
                lattice=maybe(item.lattice),
                range=None if interval is None else (change(interval[0]), change(interval[1])),
                where=maybe(item.where),
            )


def claimed(claim: nodes.Claim, change: OnExpr) -> nodes.Claim:
    """The claim with other expressions."""
    match claim:
        case nodes.Pure(epsilon=epsilon, most=most):
            return replace(claim, epsilon=change(epsilon), most=None if most is None else change(most))
        case nodes.Approximate(epsilon=epsilon, delta=delta):
            return replace(claim, epsilon=change(epsilon), delta=change(delta))
        case nodes.Concentrated(rho=rho):
            return replace(claim, rho=change(rho))


def everywhere(mechanism: nodes.Mechanism, change: OnExpr) -> nodes.Mechanism:
    """The mechanism with `change` done at every expression: of inputs, claim, program and alignment."""
    return replace(
        mechanism,
        inputs=tuple(declaration(item, change) for item in mechanism.inputs),
        claim=claimed(mechanism.claim, change),
        body=statements(mechanism.body, lambda s: own(s, change)),
        align=alignment(mechanism.align, change),
    )
