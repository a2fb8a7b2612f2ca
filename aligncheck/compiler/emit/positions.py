"""Which records answer a query that the output itself determines.

A record's label (the name of the query it is about) may be shown beside it only where the index of that query
is a function of the output. Otherwise the label would release more than was proved private: where only some
rounds of a loop emit, the position of a record says nothing about the round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aligncheck.compiler.emit.indices import IndicesOf, vector_of
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import statements_in


@dataclass(frozen=True, slots=True)
class _BlockCount:
    """How many records a block emits.

    `ends` when it runs to its end (None: not always the same number), `breaks` at most when a `break` leaves
    the loop around it (None: no bound).
    """

    ends: int | None
    breaks: int | None = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """A record is about an answer of the query vector `base`: the one of this round of a loop, or the one
    whose index is the value of an expression plus `shift`.
    """

    base: str
    at: nodes.For | nodes.Expr
    shift: int = 0


def answered_queries(mechanism: nodes.Mechanism) -> Mapping[int, Answered]:
    """Which answer an `emit` is about, by the `id` of the `Emit` node; not all have one.

    Two rules. The record, as all with its tag and fields, holds the index itself, the loop's or one that was
    selected, here or by a mechanism that was called: `emit top(index = i)` (of several, the first). Or the
    loop over the queries is part of no other loop, each of its rounds emits the same positive number of
    records (a last round that breaks, at most as many), and how many records come before and after it is
    public: its place tells the round.
    """
    vectors = {n for q in mechanism.inputs if isinstance(q, nodes.Queries) and q.vector for n in q.names}
    found: dict[int, Answered] = {}
    for position, statement in enumerate(mechanism.body):
        if isinstance(statement, nodes.For) and (base := vector_of(statement, vectors)) is not None:
            around = (*mechanism.body[:position], *mechanism.body[position + 1 :])
            if all(map(_is_public, around)) and _paced(statement.body):
                answered = Answered(base, statement)
                found.update(
                    (id(s), answered) for s in statements_in(statement.body) if isinstance(s, nodes.Emit)
                )
    paced = set(found)
    indices = IndicesOf.all_of(mechanism)
    for statement in statements_in(mechanism.body):
        if isinstance(statement, nodes.Emit):
            for field in reversed(statement.fields):
                for each in indices:
                    if each.holds(field.value):
                        found[id(statement)] = Answered(each.base, field.value, each.shift)
    for loop in statements_in(mechanism.body):
        if isinstance(loop, nodes.For) and (base := vector_of(loop, vectors)) is not None:
            answered = Answered(base, loop)
            found.update((id(s), answered) for s in statements_in(loop.body) if _holds_index(s, loop.index))
    emits = [s for s in statements_in(mechanism.body) if isinstance(s, nodes.Emit)]
    alike = [[e for e in emits if _kind(e) == _kind(emit)] for emit in emits]
    for emit, others in zip(emits, alike, strict=True):
        # Else whether a record has a label would tell which statement released it.
        if id(emit) not in paced and not set.intersection(*(_fields(e, found.get(id(e))) for e in others)):
            found.pop(id(emit), None)
    return found


def _kind(emit: nodes.Emit) -> tuple[str, ...]:
    return (emit.tag, *(field.name for field in emit.fields))


def _fields(emit: nodes.Emit, answered: Answered | None) -> set[tuple[str, str, int]]:
    """The list, the fields that hold the index, and what must be added to them."""
    if answered is None:
        return set()
    at = answered.at
    index = nodes.Name(at.index or "") if isinstance(at, nodes.For) else at
    return {(answered.base, field.name, answered.shift) for field in emit.fields if field.value == index}


def _holds_index(statement: nodes.Stmt, index: str | None) -> bool:
    return isinstance(statement, nodes.Emit) and any(
        isinstance(f.value, nodes.Name) and f.value.ident == index for f in statement.fields
    )


def _paced(body: tuple[nodes.Stmt, ...]) -> bool:
    """Whether the number of records so far tells the round."""
    count = _count(body)
    return bool(count.ends) and count.breaks is not None and count.breaks <= (count.ends or 0)


def _is_public(statement: nodes.Stmt) -> bool:
    """Whether the number of records a statement emits is public: fixed, or fixed for each entry of a list."""
    if isinstance(statement, nodes.For) and isinstance(statement.over, nodes.OverQueries):
        body = statement.body
        breaks = any(isinstance(s, nodes.Break) for s in statements_in(body))
        return not any(isinstance(s, nodes.Emit) for s in statements_in(body)) or (
            _count(body).ends is not None and not breaks
        )
    return _of_statement(statement).ends is not None


def records_of_round(body: Iterable[nodes.Stmt]) -> int | None:
    """How many records each round of a loop with this body releases, if that is always the same number and
    no round leaves the loop.
    """
    found = tuple(body)
    leaves = any(isinstance(s, nodes.Break) for s in statements_in(found))
    return None if leaves else _count(found).ends


def _count(body: Iterable[nodes.Stmt]) -> _BlockCount:
    ends: int | None = 0
    breaks: int | None = 0
    for statement in body:
        part = _of_statement(statement)
        breaks = None if part.breaks is None or ends is None else _most(breaks, ends + part.breaks)
        ends = None if part.ends is None or ends is None else ends + part.ends
    return _BlockCount(ends, breaks)


def _of_statement(statement: nodes.Stmt) -> _BlockCount:
    match statement:
        case nodes.Emit():
            return _BlockCount(1)
        case nodes.If(branches=branches, otherwise=otherwise):
            arms = [_count(b.body) for b in branches] + [_count(otherwise)]
            lasting = {
                arm.ends
                for arm, body in zip(arms, _bodies(statement), strict=True)
                if not _always_breaks(body)
            }
            same = lasting.pop() if len(lasting) == 1 else (None if lasting else 0)
            most: int | None = 0
            for arm in arms:
                most = None if arm.breaks is None else _most(most, arm.breaks)
            return _BlockCount(same, most)
        case nodes.For(body=inner) | nodes.While(body=inner):
            silent = not any(isinstance(s, nodes.Emit) for s in statements_in(inner))
            return _BlockCount(0) if silent else _BlockCount(None, 0)
        case nodes.Assign() | nodes.Invoke() | nodes.Sampling() | nodes.Empty():
            return _BlockCount(0)


def _bodies(statement: nodes.If) -> list[tuple[nodes.Stmt, ...]]:
    return [b.body for b in statement.branches] + [statement.otherwise]


def _always_breaks(body: tuple[nodes.Stmt, ...]) -> bool:
    return any(
        isinstance(s, nodes.Break)
        or (isinstance(s, nodes.If) and bool(s.otherwise) and all(map(_always_breaks, _bodies(s))))
        for s in body
    )


def _most(a: int | None, b: int) -> int | None:
    return None if a is None else max(a, b)
