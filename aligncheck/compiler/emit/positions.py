"""Which records answer a query that the output itself determines.

A record's label (the name of the query it is about) may be shown beside it only where the index of that query
is a function of the output. Otherwise the label would release more than was proved private: where only some
rounds of a loop emit, the position of a record says nothing about the round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aligncheck.compiler.emit.indices import IndicesOf, vector_of
from aligncheck.compiler.readback.shown import RecordCount, is_fixed, kind_of
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import statements_in


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
            if all(map(is_fixed, around)) and RecordCount.of(statement.body).paced:
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
    alike = [[e for e in emits if kind_of(e) == kind_of(emit)] for emit in emits]
    for emit, others in zip(emits, alike, strict=True):
        # Else whether a record has a label would tell which statement released it.
        if id(emit) not in paced and not set.intersection(*(_fields(e, found.get(id(e))) for e in others)):
            found.pop(id(emit), None)
    return found


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


def records_of_round(body: tuple[nodes.Stmt, ...]) -> float | None:
    """How many records each round of a loop with this body releases, if that is always the same number and
    no round leaves the loop.
    """
    count = RecordCount.of(body)
    return min(count.ends) if len(count.ends) == 1 and not count.breaks else None
