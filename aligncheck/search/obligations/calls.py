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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import (
    Expr,
    Input,
    Mechanism,
    Name,
    Parameter,
    PublicVector,
    Queries,
)
from aligncheck.search.obligations.obligation import (
    Goal,
    Impossible,
    Independent,
    Integral,
    Invariants,
    Obligation,
    context,
    run_on_d,
    run_on_d_prime,
    variable_of,
)
from aligncheck.search.obligations.output import quoted
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.calls import Called, GivenScope
from aligncheck.search.relational.declared import Said, inputs_of, names_of, of_all, of_lists, of_one
from aligncheck.search.relational.evaluate import Evaluator
from aligncheck.search.relational.paths import Analysis, Path
from aligncheck.search.relational.settled import open_in
from aligncheck.search.relational.terms import (
    ONE,
    TRUE,
    ZERO,
    Const,
    IsInt,
    Kind,
    Pair,
    Sort,
    Sym,
    Term,
    add,
    and_,
    atoms,
    const,
    eq,
    implies,
    le,
    lt,
    neg,
    not_,
    or_,
    same_value,
    sub,
    substitute,
)
from aligncheck.search.relational.theory import Theory

_GENERIC = tuple(Sym(letter, Sort.INT, Kind.GHOST) for letter in ("one", "other", "third"))
_I, _J = _GENERIC[:2]


def calls_are_covered(analysis: Analysis, invariants: Invariants, source: Source) -> list[Obligation]:
    """What the composition theorem above asks of each call."""
    found: list[Obligation] = []
    for path in analysis.paths:
        known = (*context(analysis, path, invariants), *run_on_d(path))
        start = context(analysis, path, invariants)
        for place, event in enumerate(path.events):
            if isinstance(event, Applied) and event.goal != TRUE:
                found.append(
                    Obligation(
                        Condition.CALLS,
                        (*known, *run_on_d_prime(path, place)),
                        event.goal,
                        event.text,
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


def claims_not_negative(
    theory: Theory, known: Iterable[tuple[Term, ...]], source: Source
) -> list[Obligation]:
    """What a mechanism claims, and the bound on that, is nowhere below 0: nobody is given budget back.

    Claim: for all inputs as declared; where the claim speaks of the output, for every complete run, of which
    `known` says what holds.
    Why needed: a caller adds the claims of what it calls to its own cost, in which they must not make up for
    something else. Then exp(claim) >= 1 too, so that a claim is one that (claim, 0)-DP can mean.
    """
    mechanism = theory.mechanism
    claims = [(theory.claim, mechanism.privacy.span)]
    if theory.most is not None and mechanism.most is not None:
        claims.append((theory.most, mechanism.most.span))
    return [
        Obligation(
            Condition.COST,
            hypotheses,
            le(ZERO, claim),
            f"the claim `{quoted(source, span)}` is never negative",
            span,
            "claims_not_negative",
        )
        for claim, span in claims
        for hypotheses in (known if any(a.kind is Kind.OMEGA for a in atoms((claim,))) else [()])
    ]


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

    @property
    def callee(self) -> Mechanism:
        return contract_of(self.event.use).mechanism

    @cached_property
    def declared(self) -> dict[str, Input]:
        return inputs_of(self.callee)

    def ranges(self) -> Iterator[tuple[Goal, str]]:
        """On D: what the callee declares of its inputs holds for what it is given. Only what comes before the
        call may be assumed here: what is known of the records that it releases rests on this.
        """
        yield Impossible(True, "its own check"), f"`{self.event.use.name}` is verified"
        for item in self.callee.inputs:
            yield from map(_goal, of_lists(item, self.declared, self))
            yield from self._domain(item, False)

    def claims(self) -> Iterator[tuple[Goal, str]]:
        """In both runs: public arguments are equal, private ones adjacent as the callee declares."""
        for item in self.callee.inputs:
            match item:
                case Parameter(name=name):
                    yield same_value(self.event.values[name]), f"`{name}` is the same on D and D'"
                case PublicVector(name=name):
                    length = self.event.lists[name].length
                    yield same_value(length), f"`{name}` is as long on D as on D'"
                    yield (
                        implies(
                            self.legal(name, _I),
                            same_value(Pair(*(self.value(name, _I, p) for p in (False, True)))),
                        ),
                        f"`{name}` is the same on D and D'",
                    )
                case Queries():
                    yield from self._adjacent(item)

    def _adjacent(self, group: Queries) -> Iterator[tuple[Goal, str]]:
        for name in group.names:
            if group.vector:
                length = self.event.lists[name].length
                yield eq(length.left, length.right), f"`{name}` is as long on D as on D'"
            yield from self._moves_within(group, name)
        yield from self._domain(group, True)
        yield from self._jointly(group)

    def _domain(self, item: Input, primed: bool) -> Iterator[tuple[Goal, str]]:
        """What is declared of the values on D or on D' (`primed`), as the callee's proof assumes it."""
        yield from map(_goal, of_all(item, self.declared, self, primed))
        for name in names_of(item):
            yield from map(_goal, of_one(item, name, _I, self.declared, self, primed))

    def _moves_within(self, group: Queries, name: str) -> Iterator[tuple[Goal, str]]:
        if group.sensitivity is None or group.adjacency.in_all:
            return
        bound, move = self.clause(group.sensitivity, _I, False), self._move(name, _I)
        within = and_((le(neg(bound), move), le(move, bound)))
        yield implies(self.legal(name, _I), within), f"`{name}` moves by at most its sensitivity"

    def _jointly(self, group: Queries) -> Iterator[tuple[Goal, str]]:
        """How the moves of a group's answers go together, for two generic ones."""
        text = f"answers move as adjacency `{group.adjacency.value}` says"
        if group.adjacency.in_all:
            yield self._total(group), text
            return
        if group.adjacency.one_way:
            for a, b in product(group.names, repeat=2):
                if a != b or group.vector:
                    one, other = self._move(a, _I), self._move(b, _J)
                    legal = and_((self.legal(a, _I), self.legal(b, _J)))
                    yield implies(and_((legal, lt(ZERO, one))), le(ZERO, other)), text
        for sign, most in group.adjacency.limits:
            for names in product(group.names, repeat=most + 1):
                if group.vector or len(set(names)) == len(names):
                    yield self._not_all(list(zip(names, _GENERIC, strict=False)), sign), text

    def _not_all(self, answers: list[tuple[str, Term]], sign: int) -> Goal:
        """That of answers at different places not all move in a direction."""
        legal = [self.legal(*each) for each in answers]
        apart = [not_(eq(i, j)) for (a, i), (b, j) in combinations(answers, 2) if a == b]
        moves = [self._move(*each) for each in answers]
        moved = [not_(eq(m, ZERO)) if sign == 0 else lt(ZERO, m) if sign > 0 else lt(m, ZERO) for m in moves]
        return implies(and_((*legal, *apart)), not_(and_(moved)))

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
        if mine.adjacency.in_all:
            total = self.analysis.theory.input_term(mine.sensitivity, None)
            return le(total, self.clause(group.sensitivity, _I, False))
        if len(mine.adjacency.ways) == 1:
            size = self.analysis.theory.size(mine, _I)
            # The one answer that moves may be in any list of the group, and the lists may differ in length.
            legal = or_(self.legal(n, _I) for n in group.names)
            return implies(legal, le(size, self.clause(group.sensitivity, _I, False)))
        return Impossible(False, "the sum of all moves is not bounded by the declarations")

    def grounded(self, goal: Goal) -> Goal:
        """In a concrete run a goal about generic indices, at all indices that there are."""
        if not self.analysis.theory.is_concrete or isinstance(goal, Impossible | Independent | Integral):
            return goal
        lengths = [each.length.left for each in self.event.lists.values()]
        most = max((int(n.value) for n in lengths if isinstance(n, Const)), default=0)
        present = [each for each in _GENERIC if each in atoms((goal,))]
        places = product(range(most), repeat=len(present))
        some: Iterator[dict[Term, Term]] = (
            dict(zip(present, map(const, place), strict=True)) for place in places
        )
        return and_(substitute(goal, each) for each in some) if most else goal

    # --- terms --------------------------------------------------------------------------------------------

    def value(self, name: str, index: Term | None, primed: bool) -> Term:
        """What the call gives as an input, in one run: a scalar, or the entry of a list."""
        if name in self.event.lists:
            return self.event.lists[name].at(index if index is not None else _I, primed)
        pair = self.event.values[name]
        return pair.right if primed else pair.left

    def clause(self, expr: Expr, index: Term | None, primed: bool) -> Term:
        """An expression of a declaration, with what the call gives in the place of the inputs."""
        return Evaluator(GivenScope(self.event.values, self.event.lists, index, primed)).term(expr)

    def length(self, name: str) -> Term:
        """How long the list is that the call gives: on D, and as is shown on D'."""
        return self.event.lists[name].length.left

    def legal(self, name: str, index: Term | None) -> Term:
        """That an index is one of a list."""
        if name not in self.event.lists or index is None:
            return TRUE
        return and_((le(ZERO, index), le(add(index, ONE), self.length(name))))

    def _move(self, name: str, index: Term) -> Term:
        return sub(self.value(name, index, True), self.value(name, index, False))


def _goal(said: Said) -> tuple[Goal, str]:
    """A declaration's condition, to be shown."""
    return (Integral(said.holds.arg) if isinstance(said.holds, IsInt) else said.holds), said.text


def called_in(path: Path) -> tuple[Called, ...]:
    """The calls on a path."""
    return tuple(e for e in path.events if isinstance(e, Called))
