"""What an execution asks of a program's text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.search.relational.labels import Key, Ledger, Omega, RecordCount, RecordField, RecordIs


def read_later(mechanism: n.Mechanism) -> frozenset[str]:
    """The indexed noise that some place may read after the round that draws it; the rest need not be carried
    from round to round.

    A place reads it in its own round if it stands behind the drawing, in the same block or in an arm of an
    `if` there, and gives the index as the drawing does.
    """
    later: set[str] = set()
    complete: set[str] = set()

    def visit(body: tuple[n.Stmt, ...], drawn: set[tuple[str, n.Expr | None]]) -> None:
        """Statements in their order; `drawn` are the draws that this round has made by then on every way."""
        for stmt in body:
            read = {
                (e.base, e.index)
                for top in walk.own_expressions(stmt)
                for e in walk.subexpressions(top)
                if isinstance(e, n.Index)
            }
            later.update(base for base, _ in read - drawn if base not in complete)
            match stmt:
                case n.Sample(name=name, index=index):
                    drawn.add((name, index))
                case n.Assign(name=name):
                    moved = {d for d in drawn if d[1] is not None and name in walk.names_in(d[1])}
                    drawn -= moved
                case n.If(branches=branches, otherwise=otherwise):
                    for arm in (*(b.body for b in branches), otherwise):
                        visit(arm, set(drawn))
                    changed, _, _ = changed_in((stmt,))
                    drawn -= {d for d in drawn if d[1] is not None and changed & walk.names_in(d[1])}
                case n.For(body=inner) | n.While(body=inner):
                    visit(inner, set())
                    complete.update(_drawn_in_every_round(stmt))
                    changed, _, _ = changed_in((stmt,))
                    drawn -= {d for d in drawn if d[1] is not None and changed & walk.names_in(d[1])}
                case n.Invoke() | n.Choose() | n.Logistic() | n.Emit() | n.Empty():
                    pass

    visit(mechanism.body, set())
    for expr in walk.align_expressions(mechanism.align):
        later.update(
            e.base for e in walk.subexpressions(expr) if isinstance(e, n.Index) and e.base not in complete
        )
    return frozenset(later)


def _drawn_in_every_round(loop: n.For | n.While) -> set[str]:
    """What a loop that no `break` leaves draws in each round at its own index."""
    if not isinstance(loop, n.For) or any(isinstance(s, n.Break) for s in _of_one_loop(loop.body)):
        return set()
    at = [s for s in loop.body if isinstance(s, n.Sample) and isinstance(s.index, n.Name)]
    return {s.name for s in at if s.index == n.Name(loop.index or "")}


def _of_one_loop(body: tuple[n.Stmt, ...]) -> Iterator[n.Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, n.If):
            for branch in stmt.branches:
                yield from _of_one_loop(branch.body)
            yield from _of_one_loop(stmt.otherwise)


def is_visible(body: Iterable[n.Stmt]) -> bool:
    """Whether a block does more than assign."""
    return any(
        isinstance(s, n.Emit | n.Sample | n.Invoke | n.Break | n.For | n.While)
        for s in walk.statements_in(tuple(body))
    )


def changed_in(body: tuple[n.Stmt, ...]) -> tuple[frozenset[str], frozenset[str], bool]:
    """Variables assigned, noise drawn, and whether a record is emitted, in a block."""
    assigned: set[str] = set()
    drawn: set[str] = set()
    emits = False
    for stmt in walk.statements_in(body):
        match stmt:
            case n.Assign(name=name):
                assigned.add(name)
            case n.Sample(name=name):
                drawn.add(name)
            case n.For(index=index, over=over):
                assigned |= {index} if index else set()
                assigned |= {over.item} if isinstance(over, n.OverQueries) else set()
            case n.Emit():
                emits = True
            case n.Invoke() | n.Choose() | n.Logistic() | n.If() | n.While() | n.Empty():
                pass
    return frozenset(assigned), frozenset(drawn), emits


def branched(stmt: n.Assign) -> n.If | None:
    """`x = f(a if c else b)` as `if c: x = f(a) else: x = f(b)`, so that both ways of writing it are proved
    alike.
    """
    found = next((e for e in _always_evaluated(stmt.value) if isinstance(e, n.Conditional)), None)
    if found is None:
        return None
    arms = [
        replace(stmt, value=walk.with_part(stmt.value, found, part)) for part in (found.then, found.otherwise)
    ]
    return n.If((n.Branch(found.test, (arms[0],), span=found.span),), (arms[1],), span=stmt.span)


def _always_evaluated(expr: n.Expr) -> Iterator[n.Expr]:
    """The expression and what is evaluated below it whenever it is; not the bodies of sets, which speak of
    their own index.
    """
    yield expr
    for part in _evaluated_with(expr):
        yield from _always_evaluated(part)


def _evaluated_with(expr: n.Expr) -> tuple[n.Expr, ...]:
    match expr:
        case n.Gather():
            return ()
        case n.Conditional(test=test):
            return (test,)
        case n.Logic(args=args):
            return args[:1]
        case (
            n.Literal()
            | n.Name()
            | n.Index()
            | n.Call()
            | n.Unary()
            | n.Binary()
            | n.Compare()
            | n.Member()
            | n.OfOutput()
        ):
            return tuple(walk.parts_of(expr))


def index_of(stmt: n.For | n.While) -> Key:
    return stmt.index if isinstance(stmt, n.For) and stmt.index is not None else Ledger.ROUND


def omega_of(mechanism: n.Mechanism) -> set[Omega]:
    """The parts of the output that the alignment mentions."""
    found: set[Omega] = set()
    for expr in walk.expressions_in(mechanism):
        match expr:
            case n.OutIs(of=of) | n.OutField(of=of) | n.OutCount(of=of) if of != "out":
                pass
            case n.OutIs(tag=tag):
                found.add(RecordIs(tag))
            case n.OutField(field=name):
                found.add(RecordField(name))
                found |= {RecordIs(tag) for tag in tags_with(mechanism, name)}
            case n.OutCount(tag=tag):
                found.add(RecordCount(tag))
            case n.Literal() | n.Name() | n.Index() | n.Call() | n.Operator() | n.Gather() | n.Member():
                pass
    return found | ({RecordCount(None)} if found else set())


def tags_with(mechanism: n.Mechanism, field_name: str) -> list[str]:
    """The tags whose records have a field of this name."""
    emits = [s for s in walk.statements_in(mechanism.body) if isinstance(s, n.Emit)]
    return sorted({e.tag for e in emits if any(f.name == field_name for f in e.fields)})
