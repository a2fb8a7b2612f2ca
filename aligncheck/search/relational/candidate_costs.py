"""Candidates about the cost of the alignment so far: by counters, by tests, by what a walk has passed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

from aligncheck.language.internal import InternalError
from aligncheck.language.syntax.nodes import Queries
from aligncheck.search.relational.ir import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Add,
    App,
    Ite,
    Sym,
    Term,
    add,
    atoms,
    const,
    div,
    fn,
    ite,
    le,
    lt,
    mul,
    not_,
    same,
    scaled,
    sub,
    substitute,
    subterms,
)
from aligncheck.search.relational.labels import Apart, LastDraw, Latest, Ledger
from aligncheck.search.relational.loop import Loop
from aligncheck.search.relational.maxima import chosen, is_extremum, passed, witness_of
from aligncheck.search.relational.paths import Drawing, Segment
from aligncheck.search.relational.simplify import (
    DISTANCES,
    cases,
    decided,
    distinct,
    fixed_by,
    flag_sum,
    less_extrema,
    noisy,
    parts_of,
    simplified,
    spent_by_calls,
    unsigned,
)
from aligncheck.search.relational.theory import prefix

LIMIT = 400
"""At most so many candidates for one loop; templates come in order of usefulness."""
_COMBINED = 4
"""Of so many draws that a round moves, all sizes are combined."""


@dataclass(frozen=True)
class Costs:
    """For one loop head."""

    loop: Loop

    def costs(self) -> list[Term]:
        """Fourth stage: bounds on the accumulated cost by counters and by what the walk over the answers has
        passed.
        """
        return self._bounded_cost(self._plain_starts, [(ZERO, g) for g in (ZERO, *self._growths)])

    def further_costs(self, kept: list[Term]) -> list[Term]:
        """Last stage, where that was not enough: costs that are paid only while a test holds, and costs still
        owed.
        """
        tested = self._tested_starts()
        grown: list[tuple[Term, Term]] = [(ZERO, g) for g in (ZERO, *self._growths)]
        return [
            *self.costs(),
            *self._bounded_cost(tested, grown),
            *self._bounded_cost(self._plain_starts, self._owed(fixed_by(kept))),
        ]

    def _bounded_cost(self, starts: list[Term], terms: list[tuple[Term, Term]]) -> list[Term]:
        """`alignment_cost + owed <= start + grown`."""
        if Ledger.COST not in self.loop.cut.fresh:
            return []
        spent = self.loop.cut.fresh[Ledger.COST].left
        return distinct(le(add(spent, owed), add(start, grown)) for start in starts for owed, grown in terms)

    @cached_property
    def _plain_starts(self) -> list[Term]:
        """The cost at the entry, in each of its cases."""
        values = [simplified(substitute(p.env[Ledger.COST].left, decided(p))) for p in self.loop.entries]
        if any(not self.loop.stable(v) for v in values):
            return []
        return distinct([*values, *(b for v in values for b in cases(v))])[:4]

    def _tested_starts(self) -> list[Term]:
        """The cost at the entry, paid only while a test of the program holds."""
        changing = [t for t in self.loop.guards if any(a in self.loop.changing for a in atoms((t,)))]
        return [ite(test, value, ZERO) for value in self._plain_starts if value != ZERO for test in changing][
            :12
        ]

    @cached_property
    def _round_costs(self) -> list[list[Term]]:
        """For each round, what its draws and calls may cost: a few public bounds, smallest first."""
        return [
            [
                add(own, inner, spent_by_calls(p))
                for own in self._options([d for d in p.drawings() if d.lines], p)
                for inner in self._inner_costs(p)
            ]
            for p in self.loop.rounds
        ]

    def _inner_costs(self, path: Segment) -> list[Term]:
        """What the loops inside a round may cost together: one draw's cost each, or one for every inner
        round.
        """
        found: list[Term] = [ZERO]
        here = path.origin
        while here != self.loop.cut.number:
            cut = self.loop.analysis.cuts[here]
            inner = Costs(Loop(self.loop.analysis, cut))
            once = distinct(c for costs in inner._round_costs for c in costs if c != ZERO)[:4]
            if cut.counter is not None:
                rounds = sub(cut.env[Ledger.HIGH].left, cut.env[Ledger.LOW].left)
                once += [mul(rounds, c) for c in once]
            if once:
                found = [add(a, b) for a in found for b in once]
            here = cut.enclosing[-1]
        return found[:8]

    def _options(self, events: list[Drawing], path: Segment) -> list[Term]:
        choices: list[list[Term]] = []
        for event in events:
            rate = event.left.inverse_alpha
            sizes = [mul(s, rate) for s in self.shift_sizes(event.shift, path)]
            choices += [sizes] if sizes and sizes != [ZERO] else []
        if len(choices) <= _COMBINED:
            combined = [add(*parts) for parts in product(*choices)]
        else:  # the draws of a round mostly move alike: the first size of each, the second of each, ...
            most = max(len(sizes) for sizes in choices)
            combined = [add(*(sizes[min(k, len(sizes) - 1)] for sizes in choices)) for k in range(most)]
        return distinct(c for c in combined if not noisy(c))[:8] or [ZERO]

    def shift_sizes(self, shift: Term, path: Segment) -> list[Term]:
        """Public bounds on |shift|: for each case the constant part, the sensitivities, their sum."""
        shift = self.loop.resolved(shift, path)
        found: list[Term] = []
        for leaf in cases(shift):
            found += self._leaf_sizes(leaf)
        return distinct(found)

    def _leaf_sizes(self, leaf: Term) -> list[Term]:
        parts, constant = (leaf.parts, leaf.constant) if isinstance(leaf, Add) else (((leaf, 1),), 0)
        registry = self.loop.analysis.theory.registry
        parts, apart = less_extrema(tuple((t, Fraction(k)) for t, k in parts), registry)
        public: list[Term] = [const(constant)] if constant else []
        moved: list[Term] = [scaled(b, k) for k in apart for b in self.loop.bounds[:1]]
        for part, factor in parts:
            term = scaled(part, factor)
            if any(a.kind in DISTANCES for a in atoms((term,))):
                bound = self._distance_bound(term)
                if bound is None:
                    return []
                moved.append(bound)
            elif not noisy(term):
                public.append(term)
            else:
                return []
        fixed = fn("abs", add(*public)) if public else ZERO
        fixed = unsigned(fixed)
        move = add(*moved) if moved else ZERO
        single = distinct(moved)[:2]
        return distinct([fixed, *single, move, *(add(fixed, m) for m in single), add(fixed, move)])

    def _distance_bound(self, term: Term) -> Term | None:
        """A bound on a multiple of one answer's distance, or of one variable's."""
        table: dict[Term, Term] = {}
        theory = self.loop.analysis.theory
        for atom in atoms((term,)):
            if atom.kind not in DISTANCES:
                continue
            group = theory.inputs.get(atom.label.query) if isinstance(atom.label, Apart) else None
            index = atom.args[0] if isinstance(atom, App) else None
            if isinstance(group, Queries):
                bound = theory.size(group, index)
                if group.lattice is not None:
                    bound = div(bound, theory.input_term(group.lattice, index))
                table[atom] = bound
            elif self.loop.bounds:
                table[atom] = self.loop.bounds[0]
            else:
                return None
        bounded = substitute(term, table)
        return unsigned(bounded)

    @cached_property
    def _growths(self) -> list[Term]:
        """Σ b (x - x0) over one, two or three counters, or what the walk over the answers has paid."""
        found: list[Term] = []
        counters = self._counters()
        for size in (1, 2, 3):
            for some in combinations(counters, size):
                found += self._combined(some)
        found += self._walked_costs()
        return found[: LIMIT // 2]

    def _counters(self) -> list[tuple[Term, list[Term]]]:
        """(x - x0, growth of x in each round), for variables whose growth is public and fixed."""
        found = []
        for name, symbol in self.loop.numbers():
            start = self.loop.start(name)
            if start is None or noisy(start.left) or isinstance(name, Latest | LastDraw):
                continue
            if name == Ledger.RECORDS and self.loop.record_clocks:
                continue
            steps = self.loop.steps[name]
            if not any(noisy(s) for s in steps) and any(s != ZERO for s in steps):
                found.append((sub(symbol, start.left), steps))
        return [*found, *self._flags()]

    def _flags(self) -> list[tuple[Term, list[Term]]]:
        """Truths that the loop changes from what they are at the entry, counted as 0 before and 1 after."""
        found: list[tuple[Term, list[Term]]] = []
        for name, pair in self.loop.cut.fresh.items():
            start = self.loop.start(name)
            if isinstance(pair.left, Sym) and start in (same(FALSE), same(TRUE)):
                before, after = (ZERO, ONE) if start == same(FALSE) else (ONE, ZERO)
                count = ite(pair.left, after, before)
                steps = [
                    simplified(substitute(sub(ite(p.env[name].left, after, before), count), decided(p)))
                    for p in self.loop.rounds
                ]
                if any(s != ZERO for s in steps) and not any(noisy(s) for s in steps):
                    found.append((count, steps))
        return found

    def _combined(self, chosen: tuple[tuple[Term, list[Term]], ...]) -> list[Term]:
        rates: list[list[Term]] = []
        for position, (_, steps) in enumerate(chosen):
            others = [s for k, (_, s) in enumerate(chosen) if k != position]
            own = [
                div(cost, steps[r])
                for r in range(len(self.loop.rounds))
                if steps[r] != ZERO and all(o[r] == ZERO for o in others)
                for cost in self._round_costs[r]
                if cost != ZERO
            ]
            own = [rate for rate in own if self.loop.stable(rate)]
            if not own:
                return []
            rates.append(distinct(own)[: 8 if len(chosen) == 1 else 3])
        return [
            add(*(mul(rate, grown) for rate, (grown, _) in zip(combo, chosen, strict=True)))
            for combo in product(*rates)
        ]

    def _site_rates(self) -> list[Term]:
        """1/α of every aligned draw in the loop whose scale the loop does not change."""
        return distinct(
            d.left.inverse_alpha
            for p in (*self.loop.rounds, *self.loop.leaving)
            for d in p.drawings()
            if d.lines and self.loop.stable(d.left.inverse_alpha)
        )[:4]

    def _sums_of_rates(self) -> list[Term]:
        rates = self._site_rates()
        found = [add(*c) for size in (1, 2) for c in combinations(rates, size)]
        return distinct([*found, *(scaled(r, 2) for r in rates)])

    def _walked_costs(self) -> list[Term]:
        """What is paid when the differing answer is passed, or per unit of the distance walked over."""
        found: list[Term] = []
        theory = self.loop.analysis.theory
        for group, q, t in self.loop.groups():
            if group.adjacency.ways:
                passed = [lt(place, t) for place in theory.place(q)]
                paid = [c for costs in self._round_costs for c in costs if c != ZERO and self.loop.stable(c)]
                paid += [mul(rate, b) for rate in self._sums_of_rates() for b in self.loop.bounds]
                found += [flag_sum(passed, amount) for amount in distinct(paid)]
            elif group.adjacency.in_all:
                found += [mul(rate, prefix(q, t)) for rate in self._sums_of_rates()]
        return [*found, *self._selected_costs()]

    def _selected_costs(self) -> list[Term]:
        """What is paid when the loop passes the selected index, or for each of the selected ones."""
        registry = self.loop.analysis.theory.registry
        if self.loop.cut.counter is None or (registry.is_empty and not self.loop.named_rounds):
            return []
        paid = distinct(c for costs in self._round_costs for c in costs if c != ZERO and self.loop.stable(c))
        at = self.loop.cut.counter
        named = dict.fromkeys([*(chosen(name) for name in registry.argmaxima), *self.loop.named_rounds])
        ones = [flag_sum([lt(index, at)], c) for index in named for c in paid]
        several = [mul(c, passed(name, at)) for name in registry.selections for c in paid]
        return [*ones, *several, *self._exchanged(several, paid)]

    def _exchanged(self, several: list[Term], paid: list[Term]) -> list[Term]:
        """In a case of the alignment one selected index, or the only one, pays nothing, and another one pays
        in its place.
        """
        registry = self.loop.analysis.theory.registry
        if self.loop.cut.counter is None:
            raise InternalError("a loop without a counter")
        at = self.loop.cut.counter
        shifts = [d.shift for p in self.loop.rounds for d in p.drawings()]
        spoken = atoms(shifts)
        instead = [s for s in registry.indices if s in spoken]
        spared = [witness_of(s) for s in registry.extrema if s in spoken and not registry.is_noisy(s)]
        tests = [part for t in subterms(shifts) if isinstance(t, Ite) for part in (t.test, *parts_of(t.test))]
        cases = distinct(
            t for t in tests if at not in atoms((t,)) and any(is_extremum(a) for a in atoms((t,)))
        )[:3]
        alone = [
            mul(c, ite(case, ite(lt(s, at), ONE, ZERO), ite(lt(chosen(name), at), ONE, ZERO)))
            for name in registry.argmaxima
            for c in paid[:2]
            for s in instead[:2]
            for test in cases
            for case in (test, not_(test))
        ]
        return alone + [
            add(whole, mul(c, ite(case, sub(ite(lt(s, at), ONE, ZERO), ite(lt(w, at), ONE, ZERO)), ZERO)))
            for whole, c in zip(several, paid, strict=False)
            for s in instead[:2]
            for w in spared[:2]
            for test in cases
            for case in (test, not_(test))
        ]

    def _owed(self, fixed: set[Term]) -> list[tuple[Term, Term]]:
        """A variable that still differs will have to be paid for: cost + rate·|distance| is bounded
        instead.
        """
        walked = self._walked_costs()
        return [
            (mul(rate, fn("abs", d)), grown)
            for _, d in self.loop.private()
            if d not in fixed
            for rate in self._site_rates()
            for grown in walked
        ][: LIMIT // 2]
