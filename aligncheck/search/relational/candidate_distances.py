"""Candidates about how far variables are on D' from D."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from aligncheck.search.relational.ir import (
    ZERO,
    Nature,
    Term,
    add,
    and_,
    atoms,
    eq,
    fn,
    implies,
    le,
    lt,
    mul,
    neg,
    not_,
    or_,
    sub,
    substitute,
)
from aligncheck.search.relational.labels import Key, Ledger
from aligncheck.search.relational.loop import Loop
from aligncheck.search.relational.paths import Segment
from aligncheck.search.relational.simplify import (
    OF_NOISE,
    decided,
    distinct,
    fixed_by,
    flag_sum,
    simplified,
    sizes,
)
from aligncheck.search.relational.theory import prefix


@dataclass(frozen=True)
class Distances:
    """For one loop head."""

    loop: Loop

    def equal_distances(self) -> list[Term]:
        """Second stage: distances that are 0 or equal to a closed form."""
        found: list[Term] = []
        for name, d in self.loop.private():
            found += [eq(d, form) for form in (ZERO, *self._closed_forms(name))]
        return distinct(found)

    def bounded_distances(self, kept: list[Term]) -> list[Term]:
        """Third stage: what else may be said of the distances that no kept equality fixes."""
        fixed = fixed_by(kept)
        found: list[Term] = []
        for name, d in self.loop.private():
            if d not in fixed:
                found += self._distance_bounds(name, d)
        apart = [d for _, d in self.loop.private() if d not in fixed][:3]
        for size in range(2, len(apart) + 1):
            for together in combinations(apart, size):
                found += self._walked_sizes(add(*(fn("abs", d) for d in together)))
        return distinct(found)

    def _distance_bounds(self, name: Key, d: Term) -> list[Term]:
        forms = self._closed_forms(name)
        found = [implies(t, eq(d, form)) for t in self.loop.guards for form in (ZERO, *forms)]
        bounds = distinct([*self.loop.bounds, *(size for f in forms for size in sizes(f))])
        for b in bounds:
            found += [le(d, b), le(neg(b), d)]
        for guard in self._phases:
            found.append(implies(guard, eq(d, ZERO)))
            for b in bounds[:4]:
                found += [implies(guard, c) for c in (le(d, b), le(b, d), le(neg(b), d), le(d, neg(b)))]
        return [*found, le(ZERO, d), le(d, ZERO), *self._walked_distances(d)]

    @cached_property
    def _phases(self) -> list[Term]:
        """Before, at the start of, and after the round whose index the output shows and the alignment names;
        after it, as long as a variable holds that index (design, section 8).
        """
        if self.loop.cut.counter is None or not self.loop.named_rounds:
            return []
        at, first = self.loop.cut.counter, self.loop.cut.env[Ledger.LOW].left
        found: list[Term] = [eq(at, first)]
        for index in self.loop.named_rounds:
            found += [le(at, index), lt(index, at)]
            found += [and_((le(first, index), lt(index, at), eq(v, index))) for v in self.loop.index_holders]
        return found

    def _closed_forms(self, name: Key) -> list[Term]:
        """The distance at the entries and at the end of the rounds, in terms of this loop head."""
        found: list[Term] = []
        for path in (*self.loop.entries, *self.loop.rounds):
            form = self._restated(path.env[name].distance, path)
            if form is not None and form != ZERO:
                found.append(form)
        return distinct(found)[:6]

    def _restated(self, term: Term, path: Segment) -> Term | None:
        """A term at the end of a path in terms of the loop head's symbols, or None.

        A counter's old value is its new value less its growth.
        """
        table: dict[Term, Term] = {}
        if path in self.loop.rounds:
            for (_, symbol), step in zip(self.loop.numbers(), self.loop.growth(path), strict=True):
                if step is not None and step != ZERO:
                    table[symbol] = sub(symbol, step)
        known = decided(path)
        restated = simplified(substitute(substitute(term, known), table))
        return restated if self._speakable(restated) else None

    def _speakable(self, term: Term) -> bool:
        own = {s for pair in self.loop.cut.fresh.values() for s in atoms((pair.left,))}
        return all(
            a in own
            or (a not in self.loop.changing and a.kind not in (*OF_NOISE, Nature.EXTREMUM, Nature.DATA))
            for a in atoms((term,))
        )

    def _walked_distances(self, d: Term) -> list[Term]:
        found: list[Term] = []
        theory = self.loop.analysis.theory
        for group, q, t in self.loop.groups():
            if group.adjacency.ways:
                places = theory.place(q)
                passed = [lt(place, t) for place in places]
                found.append(or_((*passed, eq(d, ZERO))))
                for place, seen_it in zip(places, passed, strict=True):
                    there = theory.distance(q, place)
                    others = [s for s in passed if s != seen_it]
                    found += [implies(seen_it, eq(d, there)), implies(seen_it, eq(d, neg(there)))]
                    found += [or_((not_(seen_it), *others, eq(d, there)))]
                    found += [or_((eq(d, ZERO), eq(d, there)))]
                if len(places) == 2:
                    both = add(*(theory.distance(q, p) for p in places))
                    found += [implies(and_(passed), eq(d, both))]
                    found += [
                        or_((*(not_(s) for s in passed), le(fn("abs", d), b))) for b in self.loop.bounds
                    ]
            elif not group.adjacency.in_all and not group.adjacency.free:
                if group.adjacency.one_way:
                    up, down = theory.directions(group)
                    found += [implies(up, le(ZERO, d)), implies(down, le(d, ZERO))]
                for b in self.loop.bounds:
                    found += [le(d, mul(b, t)), le(neg(mul(b, t)), d)]
        return [*found, *self._walked_sizes(fn("abs", d))]

    def _walked_sizes(self, size: Term) -> list[Term]:
        """A size, bounded by what the walk over the answers has passed."""
        found: list[Term] = []
        for group, q, t in self.loop.groups():
            if group.adjacency.ways:
                passed = [lt(place, t) for place in self.loop.analysis.theory.place(q)]
                found += [le(size, flag_sum(passed, b)) for b in self.loop.bounds]
            elif group.adjacency.in_all:
                found.append(le(size, prefix(q, t)))
        sums = [prefix(q, t) for g, q, t in self.loop.groups() if g.adjacency.in_all]
        return [*found, le(size, add(*sums))] if len(sums) > 1 else found
