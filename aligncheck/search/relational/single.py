"""Statements that neither branch nor loop, in both runs of one path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import Emit, Expr, Gather, Indices, Invoke, Sample
from aligncheck.language.syntax.walk import align_expressions, names_in, shifts_in
from aligncheck.search.relational import family_facts, ir, labels, maxima
from aligncheck.search.relational.applied import applied_in
from aligncheck.search.relational.callees import AlignedCall, GivenScope, Listed, made, shifted, size_between
from aligncheck.search.relational.path_state import State
from aligncheck.search.relational.paths import Assumed, Drawing, Emission, Required, Selected
from aligncheck.search.relational.scopes import DrawScope, ProgramScope
from aligncheck.search.relational.settled import SettledSymbol
from aligncheck.search.relational.shift import shift_of
from aligncheck.search.relational.theory import Theory, count_of
from aligncheck.search.relational.to_terms import Partial, TermEvaluator

T = TypeVar("T")


ENOUGH = "there are enough indices to choose from"


@dataclass(frozen=True)
class Single:
    """`omega` are the parts of the output of which the alignment speaks; `remembered` the noise that is read
    after the round that draws it.
    """

    theory: Theory
    omega: frozenset[labels.Omega]
    remembered: frozenset[str]

    @property
    def mechanism(self) -> nodes.Mechanism:
        return self.theory.mechanism

    def pair(self, expr: Expr, state: State) -> ir.Pair:
        """The value in both runs; what must be defined becomes an event."""
        pair = ir.Pair(*self._in_both(lambda evaluator: evaluator.term(expr), state))
        state.events += self._made((expr,), state)
        return pair

    def _in_both(self, meaning: Callable[[TermEvaluator], T], state: State) -> tuple[T, T]:
        """What an expression of the program means in either run. What must be defined, and what public
        functions are given, become events.
        """
        on_d, on_d_prime = (
            TermEvaluator(ProgramScope(self.theory, state.env, side)) for side in (False, True)
        )
        found = meaning(on_d), meaning(on_d_prime)
        state.events += [Required(p, False) for p in on_d.partial]
        state.events += [Required(p, True) for p in on_d_prime.partial]
        state.events += applied_in(on_d, on_d_prime)
        return found

    def _made(self, exprs: Iterable[Expr], state: State) -> list[Assumed]:
        """That the calls have been made of which expressions speak: a static check has seen to it."""
        names = {n for expr in exprs for n in names_in(expr)} & self.theory.calls.keys()
        return [Assumed(made(n, state.env[labels.Calls(n)].left)) for n in sorted(names)]

    def sample(self, stmt: Sample, state: State) -> None:
        index = None if stmt.index is None else self.pair(stmt.index, state)
        args = tuple(self.pair(a, state) for a in stmt.args)
        left = family_facts.draw(
            stmt.family, stmt.name, None if index is None else index.left, tuple(a.left for a in args)
        )
        right = family_facts.draw(
            stmt.family, stmt.name, None if index is None else index.right, tuple(a.right for a in args)
        )
        position = ir.ZERO if index is None else index.left
        at = None if index is None else index.left
        own = DrawScope.at(self.theory, state.env, stmt.name, at, left.value)
        moving = [item for item in self.mechanism.align if stmt.name in {s.name for s in shifts_in((item,))}]
        state.events += self._made(align_expressions(tuple(moving)), state)
        shift, lines, partial = shift_of(self.mechanism.align, stmt.name, position, own, self.theory)
        state.events += [Required(p, True) for p in partial]
        before = state.env[labels.Latest(stmt.name)].left
        fixed = state.made
        state.events.append(
            Drawing(stmt.name, stmt.family, index, args, left, right, shift, before, fixed, stmt.span, lines)
        )
        state.made = fixed.then(SettledSymbol(left.symbol, stmt.name))
        drawn = ir.Pair(left.value, ir.add(left.value, shift))
        if index is None:
            state.env[stmt.name] = drawn
        else:
            state.env[labels.DrawAt(stmt.name, ir.order_key(index.left), False)] = drawn
            state.env[labels.DrawAt(stmt.name, ir.order_key(index.right), True)] = drawn
        state.env[labels.Latest(stmt.name)] = ir.same(position)
        if stmt.name in self.remembered:
            state.env[labels.LastDraw(stmt.name)] = drawn
        spent = family_facts.tossed(drawn, args[0]) if stmt.family.coin else None
        spent = ir.mul(ir.fn("abs", shift), left.inverse_alpha) if spent is None else spent
        state.env[labels.Ledger.COST] = ir.same(ir.add(state.env[labels.Ledger.COST].left, spent))

    def invoke(self, stmt: Invoke, state: State) -> None:
        """A call spends the callee's claim; what it releases is the same in both runs."""
        use = next(u for u in self.mechanism.uses if u.name == stmt.mechanism)
        contract = contract_of(use)
        declared = {
            name: item
            for item in contract.mechanism.inputs
            for name in (item.names if isinstance(item, nodes.Queries) else (item.name,))
        }
        values: dict[str, ir.Pair] = {}
        lists: dict[str, Listed] = {}
        for argument in stmt.arguments:
            item = declared[argument.name]
            if isinstance(item, nodes.PublicVector) or (isinstance(item, nodes.Queries) and item.vector):
                lists[argument.name] = self._listed(argument.value, state)
                state.env[labels.CalleeInput(stmt.name, argument.name)] = lists[argument.name].length
            else:
                values[argument.name] = self.pair(argument.value, state)
                if not isinstance(item, nodes.Queries):
                    state.env[labels.CalleeInput(stmt.name, argument.name)] = values[argument.name]
        claims: list[ir.Term] = []
        for primed in (False, True):
            evaluator = TermEvaluator(GivenScope(values, lists, None, primed))
            claims.append(evaluator.term(contract.claim))
            partial = [replace(p, span=stmt.span) for p in evaluator.partial]
            state.events += [Required(p, primed) for p in partial]
        number = ir.add(state.env[labels.Calls(stmt.name)].left, ir.ONE)
        spent = ir.Pair(claims[0], claims[1])
        state.events.append(
            AlignedCall(
                stmt.name, use, number, MappingProxyType(values), MappingProxyType(lists), spent, stmt
            )
        )
        state.env[labels.Calls(stmt.name)] = ir.same(number)
        state.events.append(Assumed(made(stmt.name, number)))
        state.made = state.made.then(SettledSymbol(made(stmt.name, number), stmt.name))
        state.env[labels.Ledger.COST] = ir.same(ir.add(state.env[labels.Ledger.COST].left, spent.left))

    def _listed(self, value: Expr, state: State) -> Listed:
        """A list that a call is given: one of the inputs, or an expression for each index."""
        binder = ir.Sym("entry", ir.TermSort.INT, ir.Nature.GHOST)
        if isinstance(value, nodes.Name):
            length = ir.same(self.theory.length(value.ident))
            sides = [self.theory.entry(value.ident, binder, primed) for primed in (False, True)]
            return Listed(length, binder, ir.Pair(sides[0], sides[1]))
        if not isinstance(value, Gather):
            raise InternalError("a list that no set gives")

        def entries(evaluator: TermEvaluator) -> tuple[ir.Term, ir.Term]:
            meaning = evaluator.gathered(value)
            if not isinstance(value.over, Indices):
                ends = ir.le(meaning.low, meaning.high)
                evaluator.partial.append(Partial(ends, value.span, "the range does not end early"))
            body = ir.substitute(meaning.body, {meaning.binder: binder})
            return size_between(meaning.low, meaning.high), shifted(meaning.low, binder, body)

        (length_on_d, entry_on_d), (other_length, other_entry) = self._in_both(entries, state)
        return Listed(ir.Pair(length_on_d, other_length), binder, ir.Pair(entry_on_d, other_entry))

    def gather(self, name: str, expr: Gather, state: State) -> list[State]:
        """A maximum or a selection that has a name: in both runs, with what must be defined."""

        def meant(evaluator: TermEvaluator) -> maxima.Gathered:
            meaning = self.theory.with_candidates(evaluator.gathered(expr))
            if meaning.enough() != ir.TRUE:
                evaluator.partial.append(Partial(meaning.enough(), expr.span, ENOUGH))
            return meaning

        sides = self._in_both(meant, state)
        if expr.function in ("max", "min"):
            self._extremum(name, sides[0], sides[1], state)
        elif self.theory.is_concrete:
            return self._select_concretely(name, sides[0], sides[1], expr.span, state)
        else:
            self._select(name, sides[0], sides[1], expr.span, state)
        return [state]

    def _extremum(self, name: str, left: maxima.Gathered, right: maxima.Gathered, state: State) -> None:
        symbols = [maxima.extremum(name, primed) for primed in (False, True)]
        for symbol, meaning in zip(symbols, (left, right), strict=True):
            if self.theory.is_concrete:
                value, some = maxima.concrete_extremum(meaning)
                state.events.append(Assumed(ir.implies(some, ir.eq(symbol, value))))
            else:
                self.theory.registry.define_extremum(symbol, meaning)
        state.env[name] = ir.Pair(symbols[0], symbols[1])
        state.made = state.made.then(*(SettledSymbol(symbol) for symbol in symbols))

    def _select(
        self, name: str, left: maxima.Gathered, right: maxima.Gathered, span: Span, state: State
    ) -> None:
        """Both runs select alike (an obligation), so that what is selected becomes a part of ω."""
        self.theory.registry.define_selection(name, left)
        state.events.append(Selected(name, left, right, span))
        state.env[name] = ir.same(maxima.chosen(name) if left.count is None else maxima.size_of(name))

    def _select_concretely(
        self, name: str, left: maxima.Gathered, right: maxima.Gathered, span: Span, state: State
    ) -> list[State]:
        """The same in a concrete run; it forks over how many indices D selects, if that is open."""
        count = maxima.concrete_count(left)
        ones, _ = maxima.concrete_ranks(left, count)
        others, _ = maxima.concrete_ranks(right, count)
        picks = tuple(ir.Pair(a, b) for a, b in zip(ones, others, strict=True))
        sizes = range(count + 1) if left.partial else (count,)
        done: list[State] = []
        for size in sizes:
            each = state.fork() if left.partial else state
            each.events += [Assumed(f) for f in maxima.concrete_facts(name, left, ones, size)]
            each.events.append(Selected(name, left, right, span, picks))
            each.env[name] = ir.same(maxima.chosen(name) if left.count is None else ir.const(size))
            done.append(each)
        return done

    def emit(self, stmt: Emit, state: State) -> None:
        position = state.env[labels.Ledger.RECORDS].left
        fields = tuple((f.name, self.pair(f.value, state), f.span) for f in stmt.fields)
        state.events.append(Emission(position, stmt.tag, fields, stmt.span))
        state.events += [Assumed(f) for f in self._record_facts(stmt.tag, fields, position)]
        state.env[labels.Ledger.RECORDS] = ir.same(ir.add(position, ir.ONE))
        counted = labels.Counted(stmt.tag)
        if counted in state.env:
            state.env[counted] = ir.same(ir.add(state.env[counted].left, ir.ONE))

    def _record_facts(
        self, tag: str, fields: tuple[tuple[str, ir.Pair, Span], ...], position: ir.Term
    ) -> list[ir.Term]:
        """ω is what the run on D emits: record number `position` has this tag and these numbers."""
        facts: list[ir.Term] = []
        for label in sorted(self.omega, key=labels.text_of):
            match label:
                case labels.RecordIs(other):
                    here = ir.App(label, (position,), ir.TermSort.BOOL, ir.Nature.OMEGA)
                    facts.append(here if other == tag else ir.not_(here))
                case labels.RecordField(own):
                    facts += [_field_fact(label, position, p.left) for name, p, _ in fields if name == own]
                case labels.RecordCount():
                    pass
        if labels.RecordCount(None) in self.omega:
            facts.append(ir.lt(position, count_of(None)))
        return facts


def _field_fact(label: labels.RecordField, position: ir.Term, value: ir.Term) -> ir.Term:
    sort = ir.sort_of(value)
    if sort is ir.TermSort.BOOL:
        return ir.iff(ir.App(label, (position,), ir.TermSort.BOOL, ir.Nature.OMEGA), value)
    return ir.eq(ir.App(label, (position,), ir.TermSort.REAL, ir.Nature.OMEGA), value)
