"""What the composition theorem (docs/kernel.md) asks of each call on a path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.search.obligations.obligation import Sequent, context, run_on_d, run_on_d_prime
from aligncheck.search.relational import ir
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.callees import AlignedCall, GivenScope
from aligncheck.search.relational.declared import inputs_of, names_of, of_all, of_lists, of_one
from aligncheck.search.relational.paths import Analysis, Segment
from aligncheck.search.relational.to_terms import TermEvaluator

_GENERIC = tuple(ir.Sym(letter, ir.TermSort.INT, ir.Nature.GHOST) for letter in ("one", "other", "third"))
_I, _J = _GENERIC[:2]


def calls_are_covered(analysis: Analysis, path: Segment) -> Iterator[Sequent]:
    """That each call gets what its callee's proof covers, and each function the same in both runs."""
    start = context(analysis, path, {})
    known = (*start, *run_on_d(path))
    for place, event in enumerate(path.events):
        both = (*known, *run_on_d_prime(path, place))
        if isinstance(event, Applied):
            yield Sequent(Condition.CALLS, both, event.goal, len(known))
        elif isinstance(event, AlignedCall):
            call = _Call(analysis, event)
            for goal in map(call.grounded, call.claims()):
                yield Sequent(Condition.CALLS, both, goal, len(known))
            before = (*start, *run_on_d(path, place))
            for goal in map(call.grounded, call.ranges()):
                yield Sequent(Condition.CALLS, before, goal, len(start))


@dataclass(frozen=True)
class _Call:
    """One call and what must be shown of it."""

    analysis: Analysis
    event: AlignedCall

    @property
    def callee(self) -> nodes.Mechanism:
        return contract_of(self.event.use).mechanism

    @cached_property
    def declared(self) -> dict[str, nodes.Input]:
        return inputs_of(self.callee)

    def ranges(self) -> Iterator[ir.Term]:
        """On D: what the callee declares of its inputs holds for what it is given. Only what comes before the
        call may be assumed here: what is known of the records that it releases rests on this.
        """
        for item in self.callee.inputs:
            yield from (said.holds for said in of_lists(item, self.declared, self))
            yield from self._domain(item, False)

    def claims(self) -> Iterator[ir.Term]:
        """In both runs: public arguments are equal, private ones adjacent as the callee declares."""
        for item in self.callee.inputs:
            match item:
                case nodes.Parameter(name=name):
                    yield ir.same_value(self.event.values[name])
                case nodes.PublicVector(name=name):
                    length = self.event.lists[name].length
                    yield ir.same_value(length)
                    entries = ir.Pair(*(self.value(name, _I, primed) for primed in (False, True)))
                    yield ir.implies(self.legal(name, _I), ir.same_value(entries))
                case nodes.Queries():
                    yield from self._adjacent(item)

    def _adjacent(self, group: nodes.Queries) -> Iterator[ir.Term]:
        for name in group.names:
            if group.vector:
                length = self.event.lists[name].length
                yield ir.eq(length.left, length.right)
            yield from self._moves_within(group, name)
        yield from self._domain(group, True)
        yield from self._jointly(group)

    def _domain(self, item: nodes.Input, primed: bool) -> Iterator[ir.Term]:
        """What is declared of the values on D or on D' (`primed`), as the callee's proof assumes it."""
        yield from (said.holds for said in of_all(item, self.declared, self, primed))
        for name in names_of(item):
            yield from (said.holds for said in of_one(item, name, _I, self.declared, self, primed))

    def _moves_within(self, group: nodes.Queries, name: str) -> Iterator[ir.Term]:
        if group.sensitivity is None or group.adjacency.in_all:
            return
        bound, move = self.clause(group.sensitivity, _I, False), self._move(name, _I)
        within = ir.and_((ir.le(ir.neg(bound), move), ir.le(move, bound)))
        yield ir.implies(self.legal(name, _I), within)

    def _jointly(self, group: nodes.Queries) -> Iterator[ir.Term]:
        """How the moves of a group's answers go together, for two generic ones."""
        if group.adjacency.in_all:
            yield self._total(group)
            return
        if group.adjacency.one_way:
            for a, b in product(group.names, repeat=2):
                if a != b or group.vector:
                    one, other = self._move(a, _I), self._move(b, _J)
                    legal = ir.and_((self.legal(a, _I), self.legal(b, _J)))
                    yield ir.implies(ir.and_((legal, ir.lt(ir.ZERO, one))), ir.le(ir.ZERO, other))
        for sign, most in group.adjacency.limits:
            for names in product(group.names, repeat=most + 1):
                if group.vector or len(set(names)) == len(names):
                    yield self._not_all(list(zip(names, _GENERIC, strict=False)), sign)

    def _not_all(self, answers: list[tuple[str, ir.Term]], sign: int) -> ir.Term:
        """That of answers at different places not all move in a direction."""
        legal = [self.legal(*each) for each in answers]
        apart = [ir.not_(ir.eq(i, j)) for (a, i), (b, j) in combinations(answers, 2) if a == b]
        moves = [self._move(*each) for each in answers]
        moved = [
            ir.not_(ir.eq(m, ir.ZERO)) if sign == 0 else ir.lt(ir.ZERO, m) if sign > 0 else ir.lt(m, ir.ZERO)
            for m in moves
        ]
        return ir.implies(ir.and_((*legal, *apart)), ir.not_(ir.and_(moved)))

    def _total(self, group: nodes.Queries) -> ir.Term:
        """Adjacency `l1` speaks of a sum over all answers: passed on only from a whole group of inputs of
        which as much, or that only one answer moves, is declared.
        """
        given = {a.name: a.value for a in self.event.statement.arguments}
        names = [v.ident for n in group.names if isinstance(v := given[n], nodes.Name)]
        own = {id(self.analysis.theory.inputs.get(n)): self.analysis.theory.inputs.get(n) for n in names}
        mine = next(iter(own.values()), None)
        passed = len(names) == len(group.names) == len(set(names)) and len(own) == 1
        if not passed or not isinstance(mine, nodes.Queries) or mine.sensitivity is None:
            return ir.FALSE
        if group.sensitivity is None:
            raise InternalError("answers without a sensitivity")
        if mine.adjacency.in_all:
            total = self.analysis.theory.input_term(mine.sensitivity, None)
            return ir.le(total, self.clause(group.sensitivity, _I, False))
        if len(mine.adjacency.ways) == 1:
            size = self.analysis.theory.size(mine, _I)
            # The one answer that moves may be in any list of the group, and the lists may differ in length.
            legal = ir.or_(self.legal(n, _I) for n in group.names)
            return ir.implies(legal, ir.le(size, self.clause(group.sensitivity, _I, False)))
        return ir.FALSE

    def grounded(self, goal: ir.Term) -> ir.Term:
        """In a concrete run a goal about generic indices, at all indices that there are."""
        if not self.analysis.theory.is_concrete:
            return goal
        lengths = [each.length.left for each in self.event.lists.values()]
        most = max((int(n.value) for n in lengths if isinstance(n, ir.Const)), default=0)
        present = [each for each in _GENERIC if each in ir.atoms((goal,))]
        places = product(range(most), repeat=len(present))
        some: Iterator[dict[ir.Term, ir.Term]] = (
            dict(zip(present, map(ir.const, place), strict=True)) for place in places
        )
        return ir.and_(ir.substitute(goal, each) for each in some) if most else goal

    # --- terms --------------------------------------------------------------------------------------------

    def value(self, name: str, index: ir.Term | None, primed: bool) -> ir.Term:
        """What the call gives as an input, in one run: a scalar, or the entry of a list."""
        if name in self.event.lists:
            return self.event.lists[name].at(index if index is not None else _I, primed)
        pair = self.event.values[name]
        return pair.right if primed else pair.left

    def clause(self, expr: nodes.Expr, index: ir.Term | None, primed: bool) -> ir.Term:
        """An expression of a declaration, with what the call gives in the place of the inputs."""
        return TermEvaluator(GivenScope(self.event.values, self.event.lists, index, primed)).term(expr)

    def length(self, name: str) -> ir.Term:
        """How long the list is that the call gives: on D, and as is shown on D'."""
        return self.event.lists[name].length.left

    def legal(self, name: str, index: ir.Term | None) -> ir.Term:
        """That an index is one of a list."""
        if name not in self.event.lists or index is None:
            return ir.TRUE
        return ir.and_((ir.le(ir.ZERO, index), ir.le(ir.add(index, ir.ONE), self.length(name))))

    def _move(self, name: str, index: ir.Term) -> ir.Term:
        return ir.sub(self.value(name, index, True), self.value(name, index, False))


def called_in(path: Segment) -> tuple[AlignedCall, ...]:
    """The calls on a path."""
    return tuple(e for e in path.events if isinstance(e, AlignedCall))
