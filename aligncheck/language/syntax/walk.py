"""Plain traversals of the abstract syntax."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from aligncheck.language.adjacencies import Shared
from aligncheck.language.syntax import nodes as n


def parts_of(expr: n.Expr) -> tuple[n.Expr, ...]:
    """The direct subexpressions, in the order of the text but for the ends of a range, which come last."""
    match expr:
        case n.Index(index=index) | n.OutIs(index=index) | n.OutField(index=index) | n.Member(index=index):
            return (index,)
        case n.Call(args=args) | n.Logic(args=args):
            return args
        case n.Unary(operand=operand):
            return (operand,)
        case n.Binary(left=left, right=right) | n.Compare(left=left, right=right):
            return (left, right)
        case n.Conditional(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case n.Gather(count=count, body=body, over=over, where=where):
            ends = (over.low, over.high) if isinstance(over, n.OverRange) else ()
            return (*(e for e in (count, body, where) if e is not None), *ends)
        case n.Literal() | n.Name() | n.OutCount():
            return ()


def with_parts(expr: n.Expr, parts: tuple[n.Expr, ...]) -> n.Expr:
    """The expression with other direct subexpressions, as many as `parts_of` gives and in that order."""
    match expr:
        case n.Index() | n.OutIs() | n.OutField() | n.Member():
            (index,) = parts
            return replace(expr, index=index)
        case n.Call() | n.Logic():
            return replace(expr, args=parts)
        case n.Unary():
            (operand,) = parts
            return replace(expr, operand=operand)
        case n.Binary() | n.Compare():
            left, right = parts
            return replace(expr, left=left, right=right)
        case n.Conditional():
            test, then, otherwise = parts
            return replace(expr, test=test, then=then, otherwise=otherwise)
        case n.Gather(count=count, over=over, where=where):
            given = iter(parts)
            count = next(given) if count is not None else None
            body = next(given)
            where = next(given) if where is not None else None
            if isinstance(over, n.OverRange):
                over = replace(over, low=next(given), high=next(given))
            return replace(expr, count=count, body=body, over=over, where=where)
        case n.Literal() | n.Name() | n.OutCount():
            return expr


def subexpressions(expr: n.Expr) -> Iterator[n.Expr]:
    """The expression and all below it."""
    yield expr
    for part in parts_of(expr):
        yield from subexpressions(part)


def conjuncts_of(expr: n.Expr | None) -> tuple[n.Expr, ...]:
    """What a condition is the conjunction of, itself if it is none; nothing where there is no condition."""
    if isinstance(expr, n.Logic) and expr.op == "and":
        return tuple(part for arg in expr.args for part in conjuncts_of(arg))
    return () if expr is None else (expr,)


def conjunction(parts: Sequence[n.Expr]) -> n.Expr | None:
    """The condition that all of these hold, which stands where the first one does; None for none."""
    flat = tuple(part for each in parts for part in conjuncts_of(each))
    return parts[0] if len(parts) == 1 else n.Logic("and", flat, span=parts[0].span) if parts else None


def with_part(expr: n.Expr, part: n.Expr, other: n.Expr) -> n.Expr:
    """The expression with one of its subexpressions (that very object) replaced."""
    if expr is part:
        return other
    return with_parts(expr, tuple(with_part(each, part, other) for each in parts_of(expr)))


def names_in(expr: n.Expr) -> frozenset[str]:
    """Every identifier that an expression mentions, indexed bases included, but without the indices of sets,
    which mean something inside their sets only.
    """
    found: set[str] = set()
    bound: set[str] = set()
    for e in subexpressions(expr):
        match e:
            case n.Name(ident=ident) | n.Index(base=ident) | n.Member(selection=ident):
                found.add(ident)
            case n.OutIs(of=of) | n.OutField(of=of) | n.OutCount(of=of) if of != "out":
                found.add(of)
            case n.Gather(index=index, over=over):
                # No name that is visible around a set is the index of the set: nothing free is lost.
                bound.add(index)
                if isinstance(over, n.Indices):
                    found.add(over.base)
            case n.Literal() | n.Call() | n.Operator() | n.OfOutput():
                pass
    return frozenset(found - bound)


def names_set(stmt: n.Stmt) -> tuple[str, ...]:
    """The names that a statement itself gives a value, or an entry of a list of values."""
    match stmt:
        case n.Assign() | n.Invoke() | n.Sampling():
            return (stmt.name,)
        case n.For(index=index, over=over):
            item = (over.item,) if isinstance(over, n.OverQueries) else ()
            return item if index is None else (index, *item)
        case n.If() | n.While() | n.Emit() | n.Empty():
            return ()


def gathered_in_full(body: tuple[n.Stmt, ...]) -> dict[str, n.Gather]:
    """The variables whose only assignment is a `Gather` at the top level of the program.

    They have one value in a complete run, so that `align` may use them also where they are not yet assigned.
    """
    given = [name for stmt in statements_in(body) for name in names_set(stmt)]
    return {
        stmt.name: stmt.value
        for stmt in body
        if isinstance(stmt, n.Assign) and isinstance(stmt.value, n.Gather) and stmt.value.function != "sum"
        if given.count(stmt.name) == 1
    }


def selected_in_round(body: tuple[n.Stmt, ...], whole: tuple[n.Stmt, ...]) -> dict[str, n.Gather]:
    """The lists (`top`, `upto`) that each round of a loop with this body selects, in a program in which they
    are given no other value: before what may leave the loop, and under no test.
    """
    given = [name for stmt in statements_in(whole) for name in names_set(stmt)]
    found: dict[str, n.Gather] = {}
    for s in takewhile(lambda s: not any(isinstance(e, n.Break) for e in statements_in((s,))), body):
        if isinstance(s, n.Assign) and isinstance(s.value, n.Gather) and given.count(s.name) == 1:
            found |= {s.name: s.value} if s.value.function in n.SELECTING else {}
    return found


def selected_around(noise: str, whole: tuple[n.Stmt, ...]) -> set[str]:
    """The lists that the rounds select in which all draws of a noise variable are made: lines for these may
    read the list of their own round, also before it is selected.
    """
    loops = [s.body for s in statements_in(whole) if isinstance(s, n.For | n.While)]
    drawn = {s.span for s in statements_in(whole) if isinstance(s, n.Sample) and s.name == noise}
    around = [body for body in loops if drawn <= {s.span for s in statements_in(body)}]
    return {name for body in around for name in selected_in_round(body, whole)}


def lists_per_answer(group: n.Queries, inputs: Container[str] = ()) -> tuple[str, ...]:
    """The public lists that the clauses of a group index by `i`: they must have an entry for every answer."""
    clauses = [e for e in (group.sensitivity, group.lattice, *(group.range or ())) if e is not None]
    found = {
        e.base
        for clause in clauses
        for e in subexpressions(clause)
        if isinstance(e, n.Index) and e.index == n.Name("i") and "i" not in inputs
    }
    return tuple(sorted(found)) if group.vector else ()


def together(inputs: Iterable[n.Input], what: Shared) -> list[list[n.Queries]]:
    """The lines of private answers, those that share an index, or a direction, with each other in one class.
    A line shares it with the line above it that has the name, and so with all that this one shares it with; a
    name that no line above has says nothing here, which leaves more pairs of inputs (`check` refuses it).
    """
    classes: list[list[n.Queries]] = []
    for item in inputs:
        if isinstance(item, n.Queries):
            other = item.same_index if what is Shared.INDEX else item.same_direction
            known = (c for c in classes if other and any(other.ident in line.names for line in c))
            if (home := next(known, None)) is not None:
                home.append(item)
            else:
                classes.append([item])
    return classes


def sharing(inputs: Iterable[n.Input], group: n.Queries, what: Shared) -> list[n.Queries]:
    """The lines that share it with this one, in the order of declaration; at least this one itself."""
    return next(lines for lines in together(inputs, what) if group in lines)


def can_share(lines: list[n.Queries], what: Shared) -> bool:
    """Whether each of several lines has it, and those that share an index have one adjacency."""
    alike = what is Shared.DIRECTION or len({line.adjacency for line in lines}) == 1
    return len(lines) == 1 or (
        alike and all(line.adjacency.shares(what, line.vector, len(line.names)) for line in lines)
    )


def statements_in(body: tuple[n.Stmt, ...]) -> Iterator[n.Stmt]:
    """The statements of a block and of all blocks inside it, in source order."""
    for stmt in body:
        yield stmt
        match stmt:
            case n.If(branches=branches, otherwise=otherwise):
                for branch in branches:
                    yield from statements_in(branch.body)
                yield from statements_in(otherwise)
            case n.For(body=inner) | n.While(body=inner):
                yield from statements_in(inner)
            case n.Simple():
                pass


def own_expressions(stmt: n.Stmt) -> tuple[n.Expr, ...]:
    """The expressions of a statement itself, not of the blocks inside it."""
    match stmt:
        case n.Assign(value=value):
            return (value,)
        case n.Invoke(arguments=arguments, rounds=rounds):
            return (*(a.value for a in arguments), *rounds_of(rounds))
        case n.Sample(index=index, args=args):
            return args if index is None else (index, *args)
        case n.Choose(weights=weights):
            return (weights,)
        case n.Logistic(location=location, scale=scale, low=low):
            return (location, scale) if low is None else (location, scale, low)
        case n.If(branches=branches):
            return tuple(b.test for b in branches)
        case n.For(over=n.OverRange(low=low, high=high), invariants=invariants):
            return (low, high, *invariants)
        case n.For(over=n.OverQueries(), invariants=invariants):
            return invariants
        case n.While(test=test, invariants=invariants):
            return (test, *invariants)
        case n.Emit(fields=fields):
            return tuple(f.value for f in fields)
        case n.For() | n.Empty():
            return ()


def expressions_of(statements: Iterable[n.Stmt]) -> Iterator[n.Expr]:
    """Every expression and subexpression of statements themselves, not of the blocks inside them."""
    return (e for s in statements for top in own_expressions(s) for e in subexpressions(top))


def rounds_of(rounds: n.Rounds | None) -> tuple[n.Expr, ...]:
    """The expressions of what repeats a call."""
    if rounds is None:
        return ()
    return (rounds.test, rounds.chance, *((rounds.most,) if rounds.most is not None else ()))


def has_densities(body: tuple[n.Stmt, ...]) -> bool:
    """Whether a program draws by stated densities: it is then proved by these, and has no alignment."""
    return any(isinstance(stmt, n.Choose | n.Logistic) for stmt in statements_in(body))


def has_coins(body: tuple[n.Stmt, ...]) -> bool:
    """Whether some draw is a coin, whose chance may be private."""
    return any(isinstance(stmt, n.Sample) and stmt.family.coin for stmt in statements_in(body))


def shifts_in(items: tuple[n.AlignItem, ...]) -> Iterator[n.Shift]:
    """The alignment's lines, those inside case splits included."""
    return (line for line, _ in shifts_in_cases(items))


def shifts_in_cases(
    items: tuple[n.AlignItem, ...], around: tuple[n.Expr | None, ...] = ()
) -> Iterator[tuple[n.Shift, tuple[n.Expr | None, ...]]]:
    """The same, each with the tests of the cases that it stands in; None: `otherwise`."""
    for item in items:
        match item:
            case n.Shift():
                yield item, around
            case n.CaseSplit(cases=cases, otherwise=otherwise):
                for case in cases:
                    yield from shifts_in_cases(case.items, (*around, case.test))
                yield from shifts_in_cases(otherwise, (*around, None))


def signed_terms(expr: n.Expr) -> list[tuple[n.Expr, bool]]:
    """The terms of a sum, from left to right, and whether they are added (or subtracted)."""
    found, stack = list[tuple[n.Expr, bool]](), [(expr, True)]
    while stack:
        e, plus = stack.pop()
        if isinstance(e, n.Binary) and e.op in ("+", "-"):
            stack += [(e.right, plus is (e.op == "+")), (e.left, plus)]
        elif isinstance(e, n.Unary) and e.op == "-":
            stack.append((e.operand, not plus))
        else:
            found.append((e, plus))
    return found


def moved_by(line: n.Shift) -> n.Expr:
    """The draw that a line is for, as an expression."""
    return n.Name(line.name) if line.index is None else n.Index(line.name, line.index)


def renews(line: n.Shift) -> bool:
    """Whether a line puts something else in the place of its draw, which does not stay a part of it."""
    return line.op == "=" and (moved_by(line), True) not in signed_terms(line.value)


def align_expressions(items: tuple[n.AlignItem, ...]) -> Iterator[n.Expr]:
    """The expressions of an alignment, without their subexpressions."""
    for item in items:
        match item:
            case n.Shift(index=index, value=value, guard=guard):
                yield from (e for e in (index, value, guard) if e is not None)
            case n.CaseSplit(cases=cases, otherwise=otherwise):
                for case in cases:
                    yield case.test
                    yield from align_expressions(case.items)
                yield from align_expressions(otherwise)


def claimed_in(claim: n.Claim) -> tuple[n.Expr, ...]:
    """The expressions of a claim, without their subexpressions."""
    match claim:
        case n.Pure(epsilon=epsilon, most=most):
            return (epsilon,) if most is None else (epsilon, most)
        case n.Approximate(epsilon=epsilon, delta=delta):
            return (epsilon, delta)
        case n.Concentrated(rho=rho):
            return (rho,)


def expressions_in(mechanism: n.Mechanism) -> Iterator[n.Expr]:
    """Every expression and subexpression of a spec."""
    tops = list(claimed_in(mechanism.claim))
    for item in mechanism.inputs:
        match item:
            case n.Parameter(where=where) | n.PublicVector(where=where):
                tops += [where] if where is not None else []
            case n.Queries():
                tops += [e for e in (item.sensitivity, item.lattice, item.where) if e is not None]
                tops += list(item.range or ())
    for stmt in statements_in(mechanism.body):
        tops += own_expressions(stmt)
    tops += align_expressions(mechanism.align)
    for top in tops:
        yield from subexpressions(top)
