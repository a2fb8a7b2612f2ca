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
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.contract import Contract
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.relational import ir
from aligncheck.search.relational.labels import CallRelease, ReleaseAspect
from aligncheck.search.relational.maxima import Gathered, UnsupportedError
from aligncheck.search.relational.to_terms import TermEvaluator


def made(call: str, number: ir.Term) -> ir.App:
    """That an execution of a call was made."""
    return ir.App(CallRelease(call, ReleaseAspect.MADE, ""), (number,), ir.TermSort.BOOL, ir.Nature.RELEASE)


def execution_of(part: ir.Sym | ir.App) -> ir.App | None:
    """Of a part of what a call released: that the execution which released it was made. On this the part
    rests besides its place; the execution itself rests on all that came before it.
    """
    if not isinstance(part.label, CallRelease) or not isinstance(part, ir.App):
        return None
    execution = made(part.label.call, part.args[0])
    return None if execution == part else execution


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as an argument: its length and its entries in both runs, at the index `binder`."""

    length: ir.Pair
    binder: ir.Sym
    entries: ir.Pair

    def at(self, index: ir.Term, primed: bool) -> ir.Term:
        """The entry at an index that the list has."""
        return ir.substitute(self.entries.right if primed else self.entries.left, {self.binder: index})


@dataclass(frozen=True)
class AlignedCall:
    """A call of a verified mechanism: what its inputs get in both runs, and what the call spends.

    `values` are its scalar inputs, `lists` its lists; `number` tells the executions of this call apart.
    """

    name: str
    use: n.Use
    number: ir.Term
    values: Mapping[str, ir.Pair]
    lists: Mapping[str, Listed]
    spent: ir.Pair
    statement: n.Invoke

    @property
    def span(self) -> Span:
        """The call's place."""
        return self.statement.span


@dataclass(frozen=True)
class GivenScope:
    """What the callee's names mean at a call: its inputs, in one run; `i` is the index of a clause."""

    values: Mapping[str, ir.Pair]
    lists: Mapping[str, Listed]
    index: ir.Term | None
    primed: bool = False

    def name(self, ident: str, primed: bool, span: Span) -> ir.Term:
        if ident == "i" and ident not in self.values:
            if self.index is None:
                raise InternalError("an entry without its index")
            return self.index
        value = self.values[ident]
        return value.right if primed or self.primed else value.left

    def entry(self, base: str, index: ir.Term, primed: bool, span: Span) -> tuple[ir.Term, ir.Term]:
        within = ir.and_((ir.le(ir.ZERO, index), ir.lt(index, self.length(base))))
        return self.lists[base].at(index, primed or self.primed), within

    def length(self, base: str) -> ir.Term:
        return self.lists[base].length.left

    def ordered(self, left: str, op: str) -> ir.Term | None:
        return None

    def omega(
        self, expr: n.OutIs | n.OutField | n.OutCount, index: ir.Term | None
    ) -> tuple[ir.Term, ir.Term]:
        raise InternalError("an input clause cannot mention the output")

    def applied(self, function: str, args: list[ir.Term]) -> ir.Term:
        raise UnsupportedError(n.NOWHERE, "a public function in what a called mechanism declares")

    def member(self, selection: str, index: ir.Term) -> ir.Term:
        raise InternalError("an input clause cannot mention a selection")

    def gathered(self, expr: n.Gather, meaning: Gathered) -> tuple[ir.Term, ir.Term]:
        raise UnsupportedError(expr.span, "a set in the claim of what is called")


@dataclass(frozen=True)
class _KeptScope(GivenScope):
    """The same from an environment, which keeps scalars and the lengths of lists."""

    lengths: Mapping[str, ir.Pair] = field(default_factory=dict)

    def length(self, base: str) -> ir.Term:
        return self.lengths[base].left


@dataclass(frozen=True)
class Records:
    """What may be read of the records that one execution of a call released.

    `call` names the call, `number` tells its executions apart, `given` is what the callee's public scalars
    and the lengths of its lists were.
    """

    call: str
    number: ir.Term
    contract: Contract
    sorts: Mapping[str, ir.TermSort]
    given: Mapping[str, ir.Pair]

    @property
    def tags(self) -> list[str]:
        """The tags of the callee's records."""
        return sorted({e.tag for e in _emits(self.contract.mechanism)})

    def carrying(self, name: str) -> list[str]:
        """The tags whose records have a field."""
        found = _emits(self.contract.mechanism)
        return sorted({e.tag for e in found if any(f.name == name for f in e.fields)})

    def length(self) -> ir.Term:
        """How many records there are."""
        return ir.App(
            CallRelease(self.call, ReleaseAspect.LENGTH, ""),
            (self.number,),
            ir.TermSort.INT,
            ir.Nature.RELEASE,
        )

    def made(self) -> ir.App:
        """That the call was made, of what its callee's proof covers: before that nothing is known of it."""
        return made(self.call, self.number)

    def how_many(self) -> ir.Term:
        """The number of records, by the callee's inputs where these say it."""
        return self.length() if self.contract.length is None else self.term(self.contract.length)

    def fields(self, tag: str) -> list[str]:
        """The fields of a record."""
        emit = next(e for e in _emits(self.contract.mechanism) if e.tag == tag)
        return [f.name for f in emit.fields]

    def count(self, tag: str) -> ir.Term:
        """How many of them have a tag."""
        return ir.App(
            CallRelease(self.call, ReleaseAspect.COUNT, tag),
            (self.number,),
            ir.TermSort.INT,
            ir.Nature.RELEASE,
        )

    def has(self, tag: str, place: ir.Term) -> ir.App:
        """That the record at a place is there, with a tag."""
        return ir.App(
            CallRelease(self.call, ReleaseAspect.IS, tag),
            (self.number, place),
            ir.TermSort.BOOL,
            ir.Nature.RELEASE,
        )

    def value(self, name: str, place: ir.Term) -> ir.App:
        """A field of the record at a place."""
        return ir.App(
            CallRelease(self.call, ReleaseAspect.FIELD, name),
            (self.number, place),
            self.sorts[name],
            ir.Nature.RELEASE,
        )

    def has_field(self, name: str, place: ir.Term) -> ir.Term:
        """That the record at a place is there, with a field of this name."""
        return ir.or_(self.has(tag, place) for tag in self.carrying(name))

    def facts(self) -> Iterator[ir.Term]:
        """What is known of the number of records, once the call is made."""
        yield ir.le(ir.ZERO, self.length())
        if self.contract.length is not None:
            yield ir.implies(self.made(), ir.eq(self.length(), self.term(self.contract.length)))

    def facts_at(self, place: ir.Term) -> Iterator[ir.Term]:
        """What is known of the record at a place: an output is a sequence of records, each with one tag, and
        the callee's own proof bounds some of its numbers.
        """
        yield from self.facts()
        legal = ir.and_((self.made(), ir.le(ir.ZERO, place), ir.lt(place, self.length())))
        tags = self.tags
        for number, tag in enumerate(tags):
            yield ir.implies(ir.and_((self.made(), self.has(tag, place))), legal)
            for other in tags[number + 1 :]:
                yield ir.not_(ir.and_((self.has(tag, place), self.has(other, place))))
        yield ir.implies(legal, ir.or_(self.has(tag, place) for tag in tags))
        for bound in self.contract.bounds:
            value = self.value(bound.field, place)
            there = ir.and_((self.made(), self.has_field(bound.field, place)))
            if bound.low is not None:
                yield ir.implies(there, ir.le(self.term(bound.low), value))
            if bound.high is not None:
                yield ir.implies(there, ir.lt(value, self.term(bound.high)))

    def term(self, expr: n.Expr) -> ir.Term:
        """An expression in the callee's inputs."""
        return TermEvaluator(_KeptScope(self.given, {}, None, lengths=self.given)).term(expr)


@dataclass
class ReleaseFacts:
    """The facts about the symbols that calls release. A symbol for which two calls give different facts has
    none.
    """

    table: dict[ir.Term, tuple[ir.Term, ...] | None] = field(default_factory=dict)

    def learn(self, symbol: ir.Term, facts: Iterator[ir.Term]) -> None:
        """Notes what is known of a symbol."""
        known = tuple(f for f in facts if f != ir.TRUE)
        if self.table.setdefault(symbol, known) != known:
            self.table[symbol] = None

    def facts(self, symbol: ir.Term) -> tuple[ir.Term, ...]:
        """What is known of a symbol."""
        return self.table.get(symbol) or ()


def sorts_released(mechanism: n.Mechanism, call: str) -> dict[str, ir.TermSort]:
    """The sorts of the fields of what a call releases."""
    symbols = symbols_of(Source("", ""), mechanism)
    return {name: ir.TermSort(sort.value) for name, sort in called_fields(symbols, call).items()}


def _emits(mechanism: n.Mechanism) -> list[n.Emit]:
    return [s for s in statements_in(mechanism.body) if isinstance(s, n.Emit)]


def shifted(low: ir.Term, binder: ir.Sym, body: ir.Term) -> ir.Term:
    """The entry at an index from 0 of a list that runs over a range from `low`."""
    return ir.substitute(body, {binder: ir.add(low, binder)})


def size_between(low: ir.Term, high: ir.Term) -> ir.Term:
    """How many indices a range has that does not end before it starts."""
    return ir.sub(high, low)
