"""Calls of verified mechanisms: what they are given, in terms, and what may be assumed of what they release.

What a call releases are symbols that both runs share, as parts of ω are: the proof is of the mechanism that
releases them, too (see `obligations.calls`). Each execution of a call has its own number, so that symbols of
two rounds of a loop are never confused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aligncheck.language.check.sort_inference import called_fields
from aligncheck.language.check.symbol_table import symbols_of
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.contract import Contract
from aligncheck.language.syntax.nodes import (
    Emit,
    Expr,
    Gather,
    Invoke,
    Mechanism,
    OutCount,
    OutField,
    OutIs,
    Use,
)
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.relational.ir import (
    TRUE,
    ZERO,
    App,
    Nature,
    Pair,
    Sym,
    Term,
    TermSort,
    add,
    and_,
    eq,
    implies,
    le,
    lt,
    not_,
    or_,
    sub,
    substitute,
)
from aligncheck.search.relational.labels import CallRelease, ReleaseAspect
from aligncheck.search.relational.maxima import Gathered
from aligncheck.search.relational.to_terms import TermEvaluator


def made(call: str, number: Term) -> App:
    """That an execution of a call was made."""
    return App(CallRelease(call, ReleaseAspect.MADE, ""), (number,), TermSort.BOOL, Nature.RELEASE)


def execution_of(part: Sym | App) -> App | None:
    """Of a part of what a call released: that the execution which released it was made. On this the part
    rests besides its place; the execution itself rests on all that came before it.
    """
    if not isinstance(part.label, CallRelease) or not isinstance(part, App):
        return None
    execution = made(part.label.call, part.args[0])
    return None if execution == part else execution


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as an argument: its length and its entries in both runs, at the index `binder`."""

    length: Pair
    binder: Sym
    entries: Pair

    def at(self, index: Term, primed: bool) -> Term:
        """The entry at an index that the list has."""
        return substitute(self.entries.right if primed else self.entries.left, {self.binder: index})


@dataclass(frozen=True)
class AlignedCall:
    """A call of a verified mechanism: what its inputs get in both runs, and what the call spends.

    `values` are its scalar inputs, `lists` its lists; `number` tells the executions of this call apart.
    """

    name: str
    use: Use
    number: Term
    values: Mapping[str, Pair]
    lists: Mapping[str, Listed]
    spent: Pair
    statement: Invoke

    @property
    def span(self) -> Span:
        """The call's place."""
        return self.statement.span


@dataclass(frozen=True)
class GivenScope:
    """What the callee's names mean at a call: its inputs, in one run; `i` is the index of a clause."""

    values: Mapping[str, Pair]
    lists: Mapping[str, Listed]
    index: Term | None
    primed: bool = False

    def name(self, ident: str, primed: bool, span: Span) -> Term:
        if ident == "i" and ident not in self.values:
            if self.index is None:
                raise InternalError("an entry without its index")
            return self.index
        value = self.values[ident]
        return value.right if primed or self.primed else value.left

    def entry(self, base: str, index: Term, primed: bool, span: Span) -> tuple[Term, Term]:
        within = and_((le(ZERO, index), lt(index, self.length(base))))
        return self.lists[base].at(index, primed or self.primed), within

    def length(self, base: str) -> Term:
        return self.lists[base].length.left

    def ordered(self, left: str, op: str) -> Term | None:
        return None

    def omega(self, expr: OutIs | OutField | OutCount, index: Term | None) -> tuple[Term, Term]:
        raise InternalError("an input clause cannot mention the output")

    def applied(self, function: str, args: list[Term]) -> Term:
        raise InternalError("an input clause applies no functions of one's own")

    def member(self, selection: str, index: Term) -> Term:
        raise InternalError("an input clause cannot mention a selection")

    def gathered(self, expr: Gather, meaning: Gathered) -> tuple[Term, Term]:
        raise InternalError("an input clause has no maximum over a set: the callee was verified")


@dataclass(frozen=True)
class _KeptScope(GivenScope):
    """The same from an environment, which keeps scalars and the lengths of lists."""

    lengths: Mapping[str, Pair] = field(default_factory=dict)

    def length(self, base: str) -> Term:
        return self.lengths[base].left


@dataclass(frozen=True)
class Records:
    """What may be read of the records that one execution of a call released.

    `call` names the call, `number` tells its executions apart, `given` is what the callee's public scalars
    and the lengths of its lists were.
    """

    call: str
    number: Term
    contract: Contract
    sorts: Mapping[str, TermSort]
    given: Mapping[str, Pair]

    @property
    def tags(self) -> list[str]:
        """The tags of the callee's records."""
        return sorted({e.tag for e in _emits(self.contract.mechanism)})

    def carrying(self, name: str) -> list[str]:
        """The tags whose records have a field."""
        found = _emits(self.contract.mechanism)
        return sorted({e.tag for e in found if any(f.name == name for f in e.fields)})

    def length(self) -> Term:
        """How many records there are."""
        return App(
            CallRelease(self.call, ReleaseAspect.LENGTH, ""), (self.number,), TermSort.INT, Nature.RELEASE
        )

    def made(self) -> App:
        """That the call was made, of what its callee's proof covers: before that nothing is known of it."""
        return made(self.call, self.number)

    def how_many(self) -> Term:
        """The number of records, by the callee's inputs where these say it."""
        return self.length() if self.contract.length is None else self.term(self.contract.length)

    def fields(self, tag: str) -> list[str]:
        """The fields of a record."""
        emit = next(e for e in _emits(self.contract.mechanism) if e.tag == tag)
        return [f.name for f in emit.fields]

    def count(self, tag: str) -> Term:
        """How many of them have a tag."""
        return App(
            CallRelease(self.call, ReleaseAspect.COUNT, tag), (self.number,), TermSort.INT, Nature.RELEASE
        )

    def has(self, tag: str, place: Term) -> App:
        """That the record at a place is there, with a tag."""
        return App(
            CallRelease(self.call, ReleaseAspect.IS, tag),
            (self.number, place),
            TermSort.BOOL,
            Nature.RELEASE,
        )

    def value(self, name: str, place: Term) -> App:
        """A field of the record at a place."""
        return App(
            CallRelease(self.call, ReleaseAspect.FIELD, name),
            (self.number, place),
            self.sorts[name],
            Nature.RELEASE,
        )

    def has_field(self, name: str, place: Term) -> Term:
        """That the record at a place is there, with a field of this name."""
        return or_(self.has(tag, place) for tag in self.carrying(name))

    def facts(self) -> Iterator[Term]:
        """What is known of the number of records, once the call is made."""
        yield le(ZERO, self.length())
        if self.contract.length is not None:
            yield implies(self.made(), eq(self.length(), self.term(self.contract.length)))

    def facts_at(self, place: Term) -> Iterator[Term]:
        """What is known of the record at a place: an output is a sequence of records, each with one tag, and
        the callee's own proof bounds some of its numbers.
        """
        yield from self.facts()
        legal = and_((self.made(), le(ZERO, place), lt(place, self.length())))
        tags = self.tags
        for number, tag in enumerate(tags):
            yield implies(and_((self.made(), self.has(tag, place))), legal)
            for other in tags[number + 1 :]:
                yield not_(and_((self.has(tag, place), self.has(other, place))))
        yield implies(legal, or_(self.has(tag, place) for tag in tags))
        for bound in self.contract.bounds:
            value = self.value(bound.field, place)
            there = and_((self.made(), self.has_field(bound.field, place)))
            if bound.low is not None:
                yield implies(there, le(self.term(bound.low), value))
            if bound.high is not None:
                yield implies(there, lt(value, self.term(bound.high)))

    def term(self, expr: Expr) -> Term:
        """An expression in the callee's inputs."""
        return TermEvaluator(_KeptScope(self.given, {}, None, lengths=self.given)).term(expr)


@dataclass
class ReleaseFacts:
    """The facts about the symbols that calls release. A symbol for which two calls give different facts has
    none.
    """

    table: dict[Term, tuple[Term, ...] | None] = field(default_factory=dict)

    def learn(self, symbol: Term, facts: Iterator[Term]) -> None:
        """Notes what is known of a symbol."""
        known = tuple(f for f in facts if f != TRUE)
        if self.table.setdefault(symbol, known) != known:
            self.table[symbol] = None

    def facts(self, symbol: Term) -> tuple[Term, ...]:
        """What is known of a symbol."""
        return self.table.get(symbol) or ()


def sorts_released(mechanism: Mechanism, call: str) -> dict[str, TermSort]:
    """The sorts of the fields of what a call releases."""
    symbols = symbols_of(Source("", ""), mechanism)
    return {name: TermSort(sort.value) for name, sort in called_fields(symbols, call).items()}


def _emits(mechanism: Mechanism) -> list[Emit]:
    return [s for s in statements_in(mechanism.body) if isinstance(s, Emit)]


def shifted(low: Term, binder: Sym, body: Term) -> Term:
    """The entry at an index from 0 of a list that runs over a range from `low`."""
    return substitute(body, {binder: add(low, binder)})


def size_between(low: Term, high: Term) -> Term:
    """How many indices a range has that does not end before it starts."""
    return sub(high, low)
