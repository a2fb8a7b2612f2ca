"""Sequential composition: what a call of a verified mechanism adds to the proof, and what it asks for.

Claim: a program that draws noise, aligned as its spec says, and calls verified mechanisms is ε-DP, if along
every run the costs of its shifts and the claims of its calls add up to at most ε, and all other conditions
hold where every call releases the same on D and D'.

Why sound: take the mechanism M+ that releases, besides its records, what every call released, and which way
it went; M forgets some of that (post-processing). Think of a call as one more random variable, o. Its law μ
depends on its arguments. Where the arguments that are public are equal in both runs and the private ones
are adjacent as the callee declares, the callee's own theorem says μ_D(S) <= exp(c) μ_D'(S) for every S,
with c its claim at these arguments. The alignment leaves o as it is. Fix one of the countably many
alignments φ_ω. As every shift depends on variables that come earlier, the probability that M+ runs through
a set of outputs is an integral over the variables in their order, the last one innermost. From the inside
out, replace each one: noise by its aligned value, at a factor of at most exp(|shift|/α) (Lemma 1), a call
on D by the same call on D', at a factor of at most exp(c), since ∫ g dμ_D <= exp(c) ∫ g dμ_D' for every g
>= 0. The factors multiply to at most exp(ε) along every run, because the cost and the claims were added up
along it. A call's arguments, its claim among them, may depend on everything that came earlier (adaptive
composition).

Breaks if a shift looks ahead past a call (the order of integration would be lost: `no_look_ahead`), if a
call's private argument is not adjacent as declared, or if the callee's theorem does not hold at the
arguments. Source: adaptive sequential composition and post-processing (Dwork and Roth, The algorithmic
foundations of differential privacy, Theorems 3.14 and 2.1); Lemma 1 for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from aligncheck.conditions import Condition
from aligncheck.internal import InternalError
from aligncheck.obligations.obligation import (
    Goal,
    Impossible,
    Independent,
    Integral,
    Invariants,
    Obligation,
    context,
    run_on_d,
    run_on_d_prime,
    same_value,
    variable_of,
)
from aligncheck.obligations.output import quoted
from aligncheck.relational.calls import Called, GivenScope
from aligncheck.relational.evaluate import Evaluator
from aligncheck.relational.paths import Analysis, Applied, Path
from aligncheck.relational.settled import open_in
from aligncheck.relational.terms import (
    ONE,
    TRUE,
    ZERO,
    Const,
    Kind,
    Pair,
    Sort,
    Sym,
    Term,
    add,
    and_,
    const,
    div,
    eq,
    implies,
    le,
    lt,
    neg,
    not_,
    or_,
    sub,
    substitute,
)
from aligncheck.source import Source
from aligncheck.syntax.contract import contract_of
from aligncheck.syntax.nodes import Adjacency, Name, Parameter, PublicVector, Queries
from aligncheck.syntax.walk import lists_per_answer

_I, _J = (Sym(letter, Sort.INT, Kind.GHOST) for letter in ("one", "other"))


def calls_are_covered(analysis: Analysis, invariants: Invariants, source: Source) -> list[Obligation]:
    """What the composition theorem above asks of each call."""
    found: list[Obligation] = []
    for path in analysis.paths:
        known = (*context(analysis, path, invariants), *run_on_d(path))
        start = context(analysis, path, invariants)
        for place, event in enumerate(path.events):
            if isinstance(event, Applied):
                found.append(
                    Obligation(
                        Condition.CALLS,
                        (*known, *run_on_d_prime(path, place)),
                        same_value(event.argument),
                        f"`{event.function}` is given the same on D and D'",
                        event.span,
                        "calls_are_covered",
                        len(known),
                    )
                )
            if not isinstance(event, Called):
                continue
            both = (*known, *run_on_d_prime(path, place))
            call = _Call(analysis, event)
            for goal, text in call.claims():
                goal = call.grounded(goal)
                text = f"`{quoted(source, event.span)}`: {text}"
                found.append(
                    Obligation(Condition.CALLS, both, goal, text, event.span, "calls_are_covered", len(known))
                )
            for goal, text in call.ranges():
                goal = call.grounded(goal)
                text = f"`{quoted(source, event.span)}`: {text}"
                found.append(
                    Obligation(
                        Condition.CALLS,
                        (*start, *run_on_d(path, place)),
                        goal,
                        text,
                        event.span,
                        "calls_are_covered",
                        len(start),
                    )
                )
    return found


def no_look_ahead(analysis: Analysis) -> list[Obligation]:
    """In a program with calls every shift depends on earlier noise only, as the argument above needs."""
    if not any(isinstance(e, Called) for p in analysis.paths for e in p.events):
        return []
    found = []
    for path in analysis.paths:
        for event in path.drawings():
            ahead = open_in((event.shift,), analysis.theory.hidden_in, event.made)
            if ahead:
                found.append(
                    Obligation(
                        Condition.ACYCLIC,
                        (),
                        Independent(event.shift, ahead),
                        f"beside calls, the shift of `{variable_of(event)}` depends on earlier noise only",
                        event.lines[0] if event.lines else event.span,
                        "no_look_ahead",
                    )
                )
    return found


@dataclass(frozen=True)
class _Call:
    """One call and what must be shown of it."""

    analysis: Analysis
    event: Called

    def ranges(self) -> Iterator[tuple[Goal, str]]:
        """On D: what the callee declares of its inputs holds for what it is given. Only what comes before the
        call may be assumed here: what is known of the records that it releases rests on this.
        """
        mechanism = contract_of(self.event.use).mechanism
        name = self.event.use.name
        yield Impossible(True, "its own check"), f"`{name}` is verified"
        for item in mechanism.inputs:
            if isinstance(item, Queries):
                for name in item.names:
                    yield from self._domain(item, name, False)
                continue
            if isinstance(item, Parameter) and item.sort.value == "int":
                yield Integral(self.event.values[item.name].left), f"`{item.name}` is a whole number"
            if item.where is not None:
                legal = self._legal(item.name) if isinstance(item, PublicVector) else TRUE
                holds = self._at(False, _I).term(item.where)
                yield implies(legal, holds), f"the `where` clause of `{item.name}` holds"

    def claims(self) -> Iterator[tuple[Goal, str]]:
        """In both runs: public arguments are equal, private ones adjacent as the callee declares."""
        for item in contract_of(self.event.use).mechanism.inputs:
            match item:
                case Parameter(name=name):
                    yield same_value(self.event.values[name]), f"`{name}` is the same on D and D'"
                case PublicVector(name=name):
                    length = self.event.lists[name].length
                    yield same_value(length), f"`{name}` is as long on D as on D'"
                    yield (
                        implies(self._legal(name), same_value(Pair(*self._entries(name, _I)))),
                        f"`{name}` is the same on D and D'",
                    )
                case Queries():
                    yield from self._adjacent(item)

    def _adjacent(self, group: Queries) -> Iterator[tuple[Goal, str]]:
        for name in group.names:
            if group.vector:
                length = self.event.lists[name].length
                yield eq(length.left, length.right), f"`{name}` is as long on D as on D'"
            yield from self._domain(group, name, True)
            yield from self._moves_within(group, name)
        yield from self._jointly(group)

    def _domain(self, group: Queries, name: str, primed: bool) -> Iterator[tuple[Goal, str]]:
        """What is declared of single answers, on D or on D' (`primed`)."""
        legal = self._legal(name) if group.vector else TRUE
        which = "D'" if primed else "D"
        value = self._value(group, name, _I, primed)
        if group.vector and not primed:
            length = self.event.lists[name].length.left
            yield le(ZERO, length), f"`{name}` has a length"
            for base in lists_per_answer(group, self.event.values):
                enough = le(length, self.event.lists[base].length.left)
                yield enough, f"`{base}` has an entry for each of `{name}`"
        if group.range is not None:
            low, high = (self._at(False, _I).term(e) for e in group.range)
            within = and_((le(low, value), le(value, high)))
            yield implies(legal, within), f"`{name}` lies in its range on {which}"
        if group.lattice is not None:
            step = self._at(False, _I).term(group.lattice)
            yield Integral(div(value, step)), f"`{name}` is a multiple of its step on {which}"
        if group.sort.value == "int":
            yield Integral(value), f"`{name}` is whole on {which}"
        if group.where is not None:
            holds = self._at(primed, _I).term(group.where)
            yield implies(legal, holds), f"the `where` clause of `{name}` holds on {which}"

    def _moves_within(self, group: Queries, name: str) -> Iterator[tuple[Goal, str]]:
        if group.sensitivity is None or group.adjacency is Adjacency.L1:
            return
        legal = self._legal(name) if group.vector else TRUE
        bound, move = self._at(False, _I).term(group.sensitivity), self._move(group, name, _I)
        within = and_((le(neg(bound), move), le(move, bound)))
        yield implies(legal, within), f"`{name}` moves by at most its sensitivity"

    def _jointly(self, group: Queries) -> Iterator[tuple[Goal, str]]:
        """How the moves of a group's answers go together, for two generic ones."""
        text = f"answers move as adjacency `{group.adjacency.value}` says"
        if group.adjacency in (Adjacency.ALL, Adjacency.ANY):
            return
        if group.adjacency is Adjacency.L1:
            yield self._total(group), text
            return
        for a, b in product(group.names, repeat=2):
            one, other = self._move(group, a, _I), self._move(group, b, _J)
            legal = and_((self._legal(a, _I), self._legal(b, _J))) if group.vector else TRUE
            apart = TRUE if a != b else not_(eq(_I, _J))
            if a == b and not group.vector:
                continue
            match group.adjacency:
                case Adjacency.ONE:
                    yield implies(and_((legal, apart, not_(eq(one, ZERO)))), eq(other, ZERO)), text
                case Adjacency.MONOTONE:
                    yield implies(and_((legal, lt(ZERO, one))), le(ZERO, other)), text
                case Adjacency.MOVED:
                    both = [and_((lt(ZERO, one), lt(ZERO, other))), and_((lt(one, ZERO), lt(other, ZERO)))]
                    yield implies(and_((legal, apart)), and_(not_(x) for x in both)), text

    def _total(self, group: Queries) -> Goal:
        """Adjacency `l1` speaks of a sum over all answers: passed on only from a whole group of inputs of
        which as much, or that only one answer moves, is declared.
        """
        given = {a.name: a.value for a in self.event.statement.arguments}
        names = [v.ident for n in group.names if isinstance(v := given[n], Name)]
        own = {id(self.analysis.theory.inputs.get(n)): self.analysis.theory.inputs.get(n) for n in names}
        mine = next(iter(own.values()), None)
        passed = len(names) == len(group.names) == len(set(names)) and len(own) == 1
        if not passed or not isinstance(mine, Queries) or mine.sensitivity is None:
            return Impossible(False, "only a whole group of inputs can be passed on")
        if group.sensitivity is None:
            raise InternalError("answers without a sensitivity")
        if mine.adjacency is Adjacency.L1:
            total = self.analysis.theory.input_term(mine.sensitivity, None)
            return le(total, self._at(False, _I).term(group.sensitivity))
        if mine.adjacency is Adjacency.ONE:
            size = self.analysis.theory.size(mine, _I)
            # The one answer that moves may be in any list of the group, and the lists may differ in length.
            legal = or_(self._legal(n) for n in group.names) if group.vector else TRUE
            return implies(legal, le(size, self._at(False, _I).term(group.sensitivity)))
        return Impossible(False, "the sum of all moves is not bounded by the declarations")

    def grounded(self, goal: Goal) -> Goal:
        """In a concrete run a goal about generic indices, at all indices that there are."""
        if not self.analysis.theory.is_concrete or isinstance(goal, Impossible | Independent | Integral):
            return goal
        lengths = [each.length.left for each in self.event.lists.values()]
        most = max((int(n.value) for n in lengths if isinstance(n, Const)), default=0)
        pairs = product(range(most), repeat=2)
        return and_(substitute(goal, {_I: const(i), _J: const(j)}) for i, j in pairs) if most else goal

    # --- terms --------------------------------------------------------------------------------------------

    def _at(self, primed: bool, index: Term) -> Evaluator:
        return Evaluator(GivenScope(self.event.values, self.event.lists, index, primed))

    def _legal(self, name: str, index: Term = _I) -> Term:
        return and_((le(ZERO, index), le(add(index, ONE), self.event.lists[name].length.left)))

    def _entries(self, name: str, index: Term) -> tuple[Term, Term]:
        return self.event.lists[name].at(index, False), self.event.lists[name].at(index, True)

    def _value(self, group: Queries, name: str, index: Term, primed: bool) -> Term:
        if group.vector:
            return self.event.lists[name].at(index, primed)
        pair = self.event.values[name]
        return pair.right if primed else pair.left

    def _move(self, group: Queries, name: str, index: Term) -> Term:
        return sub(self._value(group, name, index, True), self._value(group, name, index, False))


def called_in(path: Path) -> tuple[Called, ...]:
    """The calls on a path."""
    return tuple(e for e in path.events if isinstance(e, Called))
