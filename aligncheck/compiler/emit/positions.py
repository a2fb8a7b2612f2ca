"""Which records answer a query that the output itself determines.

A record's label (the name of the query it is about) may be shown beside it only where the index of that query
is a function of the output. Otherwise the label would release more than was proved private: where only some
rounds of a loop emit, the position of a record says nothing about the round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from aligncheck.compiler.emit.indices import IndicesOf, vector_of
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import statements_in


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """How many records a block may release: where it ends, and where it leaves the loop around it."""

    ends: frozenset[float]
    breaks: frozenset[float]

    @classmethod
    def of(cls, body: tuple[nodes.Stmt, ...]) -> RecordCounts:
        ends, breaks = frozenset({0.0}), frozenset[float]()
        for statement in body:
            part = cls.of_statement(statement)
            breaks |= {a + b for a in ends for b in part.breaks}
            ends = frozenset(a + b for a in ends for b in part.ends)
        return cls(ends, breaks)

    @classmethod
    def of_statement(cls, statement: nodes.Stmt) -> RecordCounts:
        match statement:
            case nodes.Emit():
                return cls(frozenset({1}), frozenset())
            case nodes.Break():
                return cls(frozenset(), frozenset({0}))
            case nodes.If():
                arms = [cls.of(arm) for arm in statement.arms]
                return cls(
                    frozenset().union(*(arm.ends for arm in arms)),
                    frozenset().union(*(arm.breaks for arm in arms)),
                )
            case nodes.For(body=inner) | nodes.While(body=inner) if emits_in(inner):
                return cls(frozenset({math.inf}), frozenset())
            case nodes.Assign() | nodes.Invoke() | nodes.Sampling() | nodes.Repeat() | nodes.Pass():
                return cls(frozenset({0}), frozenset())

    @property
    def fixed(self) -> float | None:
        """How many there are at the end, if that is always the same number."""
        return min(self.ends) if len(self.ends) == 1 and math.inf not in self.ends else None

    @property
    def tell_the_round(self) -> bool:
        """Whether the records of a loop with this body tell which round each is of, and where it broke."""
        return self.are_paced and not {0, self.fixed} <= self.breaks

    @property
    def are_paced(self) -> bool:
        """Whether the number of records so far tells the round of a loop with this body."""
        return bool(self.fixed) and max(self.breaks, default=0) <= (self.fixed or 0)


def emits_in(body: tuple[nodes.Stmt, ...]) -> bool:
    """Whether a block releases anything."""
    return any(isinstance(s, nodes.Emit) for s in statements_in(body))


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
            if all(map(_is_public, around)) and RecordCounts.of(statement.body).are_paced:
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


def _is_public(statement: nodes.Stmt) -> bool:
    """Whether the number of records a statement emits is public: fixed, or fixed for each entry of a list."""
    if isinstance(statement, nodes.For) and isinstance(statement.over, nodes.OverQueries):
        return not emits_in(statement.body) or records_of_round(statement.body) is not None
    return RecordCounts.of_statement(statement).fixed is not None


def records_of_round(body: tuple[nodes.Stmt, ...]) -> float | None:
    """How many records each round of a loop with this body releases, if that is always the same number and
    no round leaves the loop.
    """
    leaves = any(isinstance(s, nodes.Break) for s in statements_in(body))
    return None if leaves else RecordCounts.of(body).fixed
