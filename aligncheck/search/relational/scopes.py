"""What names mean in a program, at the head of a loop and in an alignment line."""

from __future__ import annotations

from dataclasses import dataclass

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import For, Gather, OutCount, OutField, OutIs, Sample, While
from aligncheck.language.syntax.walk import names_in, statements_in
from aligncheck.search.relational import family_facts, ir, labels, maxima
from aligncheck.search.relational.blocks import tags_with
from aligncheck.search.relational.callees import Records, sorts_released
from aligncheck.search.relational.paths import Env
from aligncheck.search.relational.sums import concrete_sum
from aligncheck.search.relational.theory import Theory, count_of


@dataclass(frozen=True)
class ProgramScope:
    """Names in the program: inputs and variables, on D or on D' (`side`)."""

    theory: Theory
    env: Env
    side: bool

    def name(self, ident: str, primed: bool, span: Span) -> ir.Term:
        value = self.env.get(ident)
        if value is not None:
            return value.right if primed or self.side else value.left
        if ident == "alignment_cost":
            return self.env[labels.Ledger.COST].left
        item = self.theory.inputs[ident]
        if isinstance(item, nodes.Queries):
            return self.theory.answer(ident, None, primed or self.side)
        return self.theory.parameter(ident)

    def entry(self, base: str, index: ir.Term, primed: bool, span: Span) -> tuple[ir.Term, ir.Term]:
        right = primed or self.side
        if base in self.theory.gathers:
            return maxima.pick(base, index), ir.and_((ir.le(ir.ZERO, index), ir.lt(index, self.length(base))))
        if base not in self.theory.inputs:
            cell = self.env.get(labels.DrawAt(base, ir.order_key(index), self.side))
            if cell is None:
                several = self._drawn(base, index, right) or self._among(base, index, right)
                if several is not None:
                    return several
                # A draw of an earlier round: only the last one is remembered.
                if labels.LastDraw(base) not in self.env:
                    raise maxima.UnsupportedError(span, f"a draw of `{base}` that was made elsewhere")
                place = self.env[labels.Latest(base)].left
                drawn = self.env[labels.LastDraw(base)]
                return (drawn.right if right else drawn.left), ir.and_(
                    (ir.eq(index, place), ir.le(ir.ZERO, place))
                )
            return (cell.right if right else cell.left), ir.TRUE
        size = self.theory.length(base)
        legal = self.theory.legal(base, index)
        if self.theory.is_concrete and isinstance(size, ir.Const) and _is_released(index):
            return self._entry_among(base, index, int(size.value), right), legal
        return self.theory.entry(base, index, right), legal

    def _entry_among(self, base: str, index: ir.Term, size: int, right: bool) -> ir.Term:
        """In a concrete run: the entry of a list at an index that a call released."""
        found: ir.Term = ir.ZERO
        for place in range(size):
            found = ir.ite(
                ir.eq(index, ir.const(place)), self.theory.entry(base, ir.const(place), right), found
            )
        return found

    def _drawn(self, base: str, index: ir.Term, right: bool) -> tuple[ir.Term, ir.Term] | None:
        """A draw of a loop that has ended, where the loop made one in every round."""
        each, span = self.env.get(labels.Each(base)), self.env.get(labels.Stretch(base))
        if each is None or span is None:
            return None
        table: dict[ir.Term, ir.Term] = {_counter_in(each): index}
        value = ir.substitute(each.right if right else each.left, table)
        return value, ir.and_((ir.le(span.left, index), ir.lt(index, span.right)))

    def _among(self, base: str, index: ir.Term, right: bool) -> tuple[ir.Term, ir.Term] | None:
        """In a concrete run: the draw at an index that is no plain number, or at which there was none."""
        if not self.theory.is_concrete:
            return None
        found: ir.Term = ir.ZERO
        there: list[ir.Term] = []
        for name, cell in self.env.items():
            if isinstance(name, labels.DrawAt) and name.name == base and not name.primed:
                here = ir.eq(index, ir.const(int(name.index)))
                found = ir.ite(here, cell.right if right else cell.left, found)
                there.append(here)
        return found, ir.or_(there)

    def length(self, base: str) -> ir.Term:
        if base in self.theory.calls:
            return self._released(OutCount(None, base), None)[0]
        if base not in self.theory.gathers:
            return self.theory.length(base)
        return self.env[base].left if base in self.env else maxima.size_of(base)

    def member(self, selection: str, index: ir.Term) -> ir.Term:
        return maxima.member(selection, index)

    def applied(self, function: str, args: list[ir.Term]) -> ir.Term:
        return self.theory.applied(function, args)

    def gathered(self, expr: Gather, meaning: maxima.Gathered) -> tuple[ir.Term, ir.Term]:
        if expr.function == "sum":
            whole = isinstance(meaning.low, ir.Const) and isinstance(meaning.high, ir.Const)
            return (concrete_sum(meaning) if whole else self.theory.sums.symbol(meaning)), ir.TRUE
        if expr.function not in ("max", "min"):
            return self._index_gathered(expr, meaning)
        if self.theory.is_concrete:
            return maxima.concrete_extremum(meaning)
        meaning = self.theory.with_candidates(meaning)
        return self.theory.registry.anonymous(meaning, expr), meaning.enough()

    def ordered(self, left: str, op: str) -> ir.Term | None:
        return self.theory.ordered(left, op)

    def _records(self, call: str) -> Records:
        """What the latest execution of a call released."""
        invoked = self.theory.calls[call]
        contract = contract_of(next(u for u in self.theory.mechanism.uses if u.name == invoked.mechanism))
        given = {
            k.argument: v for k, v in self.env.items() if isinstance(k, labels.CalleeInput) and k.call == call
        }
        number = self.env[labels.Calls(call)].left
        return Records(call, number, contract, sorts_released(self.theory.mechanism, call), given)

    def _released(self, expr: OutIs | OutField | OutCount, place: ir.Term | None) -> tuple[ir.Term, ir.Term]:
        """A part of what a call released, and when it is there."""
        records, released = self._records(expr.of), self.theory.released
        released.learn(records.length(), records.facts())
        if isinstance(expr, OutCount):
            return self._length_of(records) if expr.tag is None else records.count(expr.tag), ir.TRUE
        if place is None:
            raise InternalError("a record without its number")
        for tag in records.tags:
            released.learn(records.has(tag, place), records.facts_at(place))
        if isinstance(expr, OutIs):
            return records.has(expr.tag, place), ir.TRUE
        value = records.value(expr.field, place)
        released.learn(value, records.facts_at(place))
        return value, records.has_field(expr.field, place)

    def _length_of(self, records: Records) -> ir.Term:
        """How many records a call released, which a concrete run must know as a number."""
        exact = records.how_many()
        return exact if isinstance(exact, ir.Const) else records.length()

    def omega(self, expr: OutIs | OutField | OutCount, index: ir.Term | None) -> tuple[ir.Term, ir.Term]:
        if expr.of != "out":
            return self._released(expr, index)
        match expr:
            case OutIs(tag=tag):
                if index is None:
                    raise InternalError("a record without its number")
                return ir.App(labels.RecordIs(tag), (index,), ir.TermSort.BOOL, ir.Nature.OMEGA), ir.TRUE
            case OutField(field=name):
                if index is None:
                    raise InternalError("a record without its number")
                sort = ir.TermSort.BOOL if name in self.theory.truth_fields else ir.TermSort.REAL
                tags = tags_with(self.theory.mechanism, name)
                there = ir.or_(
                    ir.App(labels.RecordIs(t), (index,), ir.TermSort.BOOL, ir.Nature.OMEGA) for t in tags
                )
                return ir.App(labels.RecordField(name), (index,), sort, ir.Nature.OMEGA), there
            case OutCount(tag=tag):
                return count_of(tag), ir.TRUE

    def _index_gathered(self, expr: Gather, meaning: maxima.Gathered) -> tuple[ir.Term, ir.Term]:
        raise maxima.UnsupportedError(
            expr.span, f"`{expr.function}` elsewhere than in an assignment of its own"
        )


def at_head(theory: Theory, loop: For | While, env: Env, counter: ir.Term | None) -> ProgramScope:
    """Names in an `invariant` line, at the head of its loop: the index is that of the round about to
    begin.
    """
    if isinstance(loop, For) and loop.index is not None and counter is not None:
        env = {**env, loop.index: ir.same(counter)}
    return ProgramScope(theory, env, False)


@dataclass(frozen=True)
class DrawScope(ProgramScope):
    """Names in an alignment line, at the draw that it moves: the draw itself has only its value on D."""

    @classmethod
    def at(
        cls,
        theory: Theory,
        env: Env,
        drawn: str,
        index: ir.Term | None,
        value: ir.Term,
    ) -> DrawScope:
        """The scope at the draw `drawn[index]`, whose value on D is `value`."""
        key: labels.Key = drawn if index is None else labels.DrawAt(drawn, ir.order_key(index), False)
        return cls(theory, {**env, key: ir.Pair(value, ir.add(value, _unsettled(drawn, index)))}, False)

    def name(self, ident: str, primed: bool, span: Span) -> ir.Term:
        if ident not in self.env and ident in self.theory.gathers:
            return self._foreseen(ident, self.theory.gathers[ident], primed)
        if ident not in self.env and ident not in self.theory.inputs and ident != "alignment_cost":
            return self._later(ident, None, primed, span)
        return super().name(ident, primed, span)

    def entry(self, base: str, index: ir.Term, primed: bool, span: Span) -> tuple[ir.Term, ir.Term]:
        if base in self.theory.gathers:
            return super().entry(base, index, primed, span)
        if base not in self.theory.inputs and labels.DrawAt(base, ir.order_key(index), False) not in self.env:
            drawn = self._drawn(base, index, primed)
            return drawn if drawn is not None else (self._later(base, index, primed, span), ir.TRUE)
        return super().entry(base, index, primed, span)

    def _index_gathered(self, expr: Gather, meaning: maxima.Gathered) -> tuple[ir.Term, ir.Term]:
        """An index at which a maximum is taken, in an alignment: it depends on noise."""
        if expr.function == "top":
            raise maxima.UnsupportedError(expr.span, "`top` in an alignment")
        if self.theory.is_concrete:
            ranks, some = maxima.concrete_ranks(meaning, 1)
            return ranks[0], some
        meaning = self.theory.with_candidates(meaning)
        return self.theory.registry.anonymous_index(meaning, expr), meaning.enough()

    def _foreseen(self, name: str, expr: Gather, primed: bool) -> ir.Term:
        """What a variable will hold later in the complete run: a part of ω, or a maximum over noise."""
        if expr.function not in ("max", "min"):
            return maxima.chosen(name)
        return maxima.extremum(name, primed)

    def _later(self, name: str, index: ir.Term | None, primed: bool, span: Span) -> ir.Term:
        """A draw that has not happened yet: the `acyclic` obligation must find an order in which it comes
        first. Of its aligned value nothing is known here.

        Raises UnsupportedError where its value is not known to be this: drawn in several ways, or on a
        lattice whose step the program computes.
        """
        ways = {
            (s.family, s.args[1:])  # the scale is no part of a value; a lattice's step is
            for s in statements_in(self.theory.mechanism.body)
            if isinstance(s, Sample) and s.name == name
        }
        if len(ways) != 1:
            raise maxima.UnsupportedError(span, f"a later draw of `{name}`, which is drawn in several ways")
        ((family, steps),) = ways
        if any(not names_in(step) <= self.theory.inputs.keys() for step in steps):
            raise maxima.UnsupportedError(span, f"a later draw of `{name}`, whose step the program computes")
        args = (ir.ONE, *(self.theory.input_term(step, None) for step in steps))
        value = family_facts.draw(family, name, index, args).value
        return ir.add(value, _unsettled(name, index)) if primed else value


def _unsettled(name: str, index: ir.Term | None) -> ir.Term:
    """How far the alignment moves a draw that it is about to move, or that comes later: nothing is assumed of
    it. Draws at two indices may be moved by two numbers.
    """
    if index is None:
        return ir.Sym(labels.Unsettled(name), ir.TermSort.REAL, ir.Nature.UNSETTLED)
    return ir.App(labels.Unsettled(name), (index,), ir.TermSort.REAL, ir.Nature.UNSETTLED)


def _counter_in(each: ir.Pair) -> ir.Term:
    """The loop counter at which a remembered draw stands: on a lattice it is a step times a symbol."""
    (drawn,) = draws_in(each.left)
    return drawn.args[0]


def draws_in(term: ir.Term) -> list[ir.App]:
    return [a for a in ir.atoms((term,)) if isinstance(a, ir.App) and a.kind is ir.Nature.NOISE]


def _is_released(index: ir.Term) -> bool:
    return any(a.kind is ir.Nature.RELEASE for a in ir.atoms((index,)))
