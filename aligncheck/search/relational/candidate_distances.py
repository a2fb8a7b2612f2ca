"""Candidates about how far variables are on D' from D."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from aligncheck.search.relational import ir, simplify
from aligncheck.search.relational.labels import Key, Ledger
from aligncheck.search.relational.loop import Loop
from aligncheck.search.relational.paths import Segment
from aligncheck.search.relational.theory import prefix


@dataclass(frozen=True)
class Distances:
    """For one loop head."""

    loop: Loop

    def equal_distances(self) -> list[ir.Term]:
        """Second stage: distances that are 0 or equal to a closed form."""
        found: list[ir.Term] = []
        for name, d in self.loop.private():
            found += [ir.eq(d, form) for form in (ir.ZERO, *self._closed_forms(name))]
        return simplify.distinct(found)

    def bounded_distances(self, kept: list[ir.Term]) -> list[ir.Term]:
        """Third stage: what else may be said of the distances that no kept equality fixes."""
        fixed = simplify.fixed_by(kept)
        found: list[ir.Term] = []
        for name, d in self.loop.private():
            if d not in fixed:
                found += self._distance_bounds(name, d)
        apart = [d for _, d in self.loop.private() if d not in fixed][:3]
        for size in range(2, len(apart) + 1):
            for together in combinations(apart, size):
                found += self._walked_sizes(ir.add(*(ir.fn("abs", d) for d in together)))
        return simplify.distinct(found)

    def _distance_bounds(self, name: Key, d: ir.Term) -> list[ir.Term]:
        forms = self._closed_forms(name)
        found = [ir.implies(t, ir.eq(d, form)) for t in self.loop.guards for form in (ir.ZERO, *forms)]
        bounds = simplify.distinct([*self.loop.bounds, *(size for f in forms for size in simplify.sizes(f))])
        for b in bounds:
            found += [ir.le(d, b), ir.le(ir.neg(b), d)]
        for guard in self._phases:
            found.append(ir.implies(guard, ir.eq(d, ir.ZERO)))
            for b in bounds[:4]:
                found += [
                    ir.implies(guard, c)
                    for c in (ir.le(d, b), ir.le(b, d), ir.le(ir.neg(b), d), ir.le(d, ir.neg(b)))
                ]
        return [*found, ir.le(ir.ZERO, d), ir.le(d, ir.ZERO), *self._walked_distances(d)]

    @cached_property
    def _phases(self) -> list[ir.Term]:
        """Before, at the start of, and after the round whose index the output shows and the alignment names;
        after it, as long as a variable holds that index (design, section 8).
        """
        if self.loop.cut.counter is None or not self.loop.named_rounds:
            return []
        at, first = self.loop.cut.counter, self.loop.cut.env[Ledger.LOW].left
        found: list[ir.Term] = [ir.eq(at, first)]
        for index in self.loop.named_rounds:
            found += [ir.le(at, index), ir.lt(index, at)]
            found += [
                ir.and_((ir.le(first, index), ir.lt(index, at), ir.eq(v, index)))
                for v in self.loop.index_holders
            ]
        return found

    def _closed_forms(self, name: Key) -> list[ir.Term]:
        """The distance at the entries and at the end of the rounds, in terms of this loop head."""
        found: list[ir.Term] = []
        for path in (*self.loop.entries, *self.loop.rounds):
            form = self._restated(path.env[name].distance, path)
            if form is not None and form != ir.ZERO:
                found.append(form)
        return simplify.distinct(found)[:6]

    def _restated(self, term: ir.Term, path: Segment) -> ir.Term | None:
        """A term at the end of a path in terms of the loop head's symbols, or None.

        A counter's old value is its new value less its growth.
        """
        table: dict[ir.Term, ir.Term] = {}
        if path in self.loop.rounds:
            for (_, symbol), step in zip(self.loop.numbers(), self.loop.growth(path), strict=True):
                if step is not None and step != ir.ZERO:
                    table[symbol] = ir.sub(symbol, step)
        known = simplify.decided(path)
        restated = simplify.simplified(ir.substitute(ir.substitute(term, known), table))
        return restated if self._speakable(restated) else None

    def _speakable(self, term: ir.Term) -> bool:
        own = {s for pair in self.loop.cut.fresh.values() for s in ir.atoms((pair.left,))}
        return all(
            a in own
            or (
                a not in self.loop.changing
                and a.kind not in (*simplify.OF_NOISE, ir.Nature.EXTREMUM, ir.Nature.DATA)
            )
            for a in ir.atoms((term,))
        )

    def _walked_distances(self, d: ir.Term) -> list[ir.Term]:
        found: list[ir.Term] = []
        theory = self.loop.analysis.theory
        for group, q, t in self.loop.groups():
            if group.adjacency.ways:
                places = theory.place(q)
                passed = [ir.lt(place, t) for place in places]
                found.append(ir.or_((*passed, ir.eq(d, ir.ZERO))))
                for place, seen_it in zip(places, passed, strict=True):
                    there = theory.distance(q, place)
                    others = [s for s in passed if s != seen_it]
                    found += [
                        ir.implies(seen_it, ir.eq(d, there)),
                        ir.implies(seen_it, ir.eq(d, ir.neg(there))),
                    ]
                    found += [ir.or_((ir.not_(seen_it), *others, ir.eq(d, there)))]
                    found += [ir.or_((ir.eq(d, ir.ZERO), ir.eq(d, there)))]
                if len(places) == 2:
                    both = ir.add(*(theory.distance(q, p) for p in places))
                    found += [ir.implies(ir.and_(passed), ir.eq(d, both))]
                    found += [
                        ir.or_((*(ir.not_(s) for s in passed), ir.le(ir.fn("abs", d), b)))
                        for b in self.loop.bounds
                    ]
            elif not group.adjacency.in_all and not group.adjacency.free:
                if group.adjacency.one_way:
                    up, down = theory.directions(group)
                    found += [ir.implies(up, ir.le(ir.ZERO, d)), ir.implies(down, ir.le(d, ir.ZERO))]
                for b in self.loop.bounds:
                    found += [ir.le(d, ir.mul(b, t)), ir.le(ir.neg(ir.mul(b, t)), d)]
        return [*found, *self._walked_sizes(ir.fn("abs", d))]

    def _walked_sizes(self, size: ir.Term) -> list[ir.Term]:
        """A size, bounded by what the walk over the answers has passed."""
        found: list[ir.Term] = []
        for group, q, t in self.loop.groups():
            if group.adjacency.ways:
                passed = [ir.lt(place, t) for place in self.loop.analysis.theory.place(q)]
                found += [ir.le(size, simplify.flag_sum(passed, b)) for b in self.loop.bounds]
            elif group.adjacency.in_all:
                found.append(ir.le(size, prefix(q, t)))
        sums = [prefix(q, t) for g, q, t in self.loop.groups() if g.adjacency.in_all]
        return [*found, ir.le(size, ir.add(*sums))] if len(sums) > 1 else found
