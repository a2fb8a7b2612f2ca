"""Candidates for the lines of a witness, read off the text of the program.

Nothing here needs to be believed: a wrong candidate costs time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, product

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.search.witness.guess import marks_of
from aligncheck.search.witness.line_costs import primes, resolved
from aligncheck.search.witness.scans import is_truth, tells_output
from aligncheck.search.witness.stretches import RECORDS, Passage, Stretches, distinct
from aligncheck.search.witness.totals import (
    COST,
    ONE,
    ZERO,
    Amount,
    added,
    counted,
    either,
    equal,
    implied,
    length_of,
    less,
    low_of,
    total,
)


@dataclass(frozen=True)
class Group:
    """Lines of which each says all that those after it say; `early`: of every run on D."""

    early: bool
    lines: tuple[n.Expr, ...]


def negative(e: n.Expr) -> n.Expr:
    """The number below 0."""
    return total(e).times(Fraction(-1)).expression()


class Candidates:
    """For one loop."""

    def __init__(self, spec: n.Mechanism, stretches: Stretches, k: int) -> None:
        self.spec, self.all, self.k = spec, stretches, k
        self.stmt = stretches.loops[k]
        self.low = low_of(self.stmt)
        self.rounds, self.entries = stretches.rounds[k], stretches.entries[k]
        self.changed = stretches.changed(k)
        self.variables = [x for x in self.changed if x in stretches.read[k]]
        given = [s for s in walk.statements_in(self.stmt.body) if isinstance(s, n.Assign)]
        self.truths = {s.name for s in given if is_truth(s.value)}
        self.at = n.Name(stretches.index_of(k))
        body = list(walk.statements_in(spec.body))
        self.noise = {s.name: s for s in reversed(body) if isinstance(s, n.Sample)}
        self.groups = [i for i in spec.inputs if isinstance(i, n.Queries)]
        self.private = {x for g in self.groups for x in g.names}
        self.given = {x: self._starts(x) for x in (*self.changed, self.at.ident)}
        self.steps = {x: self._steps(x) for x in (*self.changed, self.at.ident)}

    # --- what the text tells ------------------------------------------------------------------------------

    def _starts(self, x: str) -> list[n.Expr]:
        if x == self.at.ident:
            return [self.low] if isinstance(self.stmt, n.For) else []
        found = [self.all.at_entry(self.k, w, x) for w in self.entries]
        return list(dict.fromkeys(total(e).expression() for e in found if e is not None))

    def _steps(self, x: str) -> list[Amount]:
        return [total(w.value(x)) - total(n.Name(x)) for w in self.rounds]

    def noisy(self, e: n.Expr) -> bool:
        """Whether a draw is in an expression, or an answer."""
        if isinstance(e, n.Call) and e.function == "len":
            return False
        own = {getattr(e, "ident", ""), getattr(e, "base", "")} & (self.noise.keys() | self.private)
        return bool(own) or isinstance(e, n.Gather) or any(map(self.noisy, walk.parts_of(e)))

    def stable(self, e: n.Expr) -> bool:
        """Whether the loop changes nothing in it."""
        return not walk.names_in(e) & {*self.changed, self.at.ident}

    def fixed(self, x: str) -> bool:
        """Whether every round adds a public number that stays the same."""
        steps = [s.expression() for s in self.steps[x]]
        return bool(steps) and all(self.stable(s) and not self.noisy(s) for s in steps)

    def start(self, x: str) -> n.Expr | None:
        """The value at the entry, if it is one, and public."""
        found = self.given[x]
        return found[0] if len(found) == 1 and not self.noisy(found[0]) else None

    @cached_property
    def counters(self) -> list[str]:
        """What grows by fixed amounts."""
        found = [x for x in (self.at.ident, *self.changed) if self.fixed(x) and self.start(x) is not None]
        return [x for x in found if any(s.parts for s in self.steps[x])]

    @cached_property
    def tests(self) -> list[n.Expr]:
        """What the rounds ask, of what no draw is in, at the head."""
        found: dict[n.Expr, None] = {}
        for way in (*self.rounds, *self.all.leaving[self.k]):
            for test, _ in way.tests:
                if not self.noisy(test) and not tells_output(test):
                    found[test] = None
        return list(found)

    # --- values -------------------------------------------------------------------------------------------

    def values(self) -> Iterator[Group]:
        """Of the program's own values."""
        yield from (Group(True, (e,)) for e in self._truths())
        for left, right in (pair for test in self.tests for pair in _orders(test)):
            yield Group(True, (less(left, right),))
        for x in self.variables:
            name, start = n.Name(x), self.start(x)
            if x in self.truths:
                continue
            known = [step.number for step in self.steps[x] if step.number is not None]
            if start is not None and not any(step < 0 for step in known):
                yield Group(True, (less(start, name),))
            if start is not None and not any(step > 0 for step in known):
                yield Group(True, (less(name, start),))
            if start != ZERO:
                yield Group(True, (n.Compare("<", ZERO, name), less(ZERO, name)))
        records = self.start(RECORDS) if RECORDS in self.changed else None
        if records is not None:
            none = less(n.Name(RECORDS), records)
            if not any(step.number for step in self.steps[RECORDS]):
                yield Group(True, (none,))
            yield from (Group(True, (none, either(flag, none))) for flag in (*self._raised(), *self._kept()))
            if records != ZERO:
                first = less(n.Name(RECORDS), ZERO)
                flags = (n.Unary("not", e) for e in self.tests if not isinstance(e, n.Compare))
                yield from (Group(True, (either(flag, first),)) for flag in flags)
            yield from self._each_time(records)
        yield from self._relations()
        yield from self._carried(records)
        yield from self._holders()

    def _each_time(self, records: n.Expr) -> Iterator[Group]:
        """Which rounds left a record: all, up to a test."""
        rounds = total(self.at) - total(self.low)
        as_many = equal(n.Name(RECORDS), (total(records) + rounds).expression())
        for test in self.tests if isinstance(self.stmt, n.For) else ():
            yield Group(True, (either(test, as_many),))
            yield Group(True, (implied(test, as_many),))

    def _truths(self) -> Iterator[n.Expr]:
        for x in self.variables:  # what was so where a loop around started its round, and is not undone
            start, given = self.given[x], {w.value(x) for w in self.rounds} - {n.Name(x)}
            before = start[0] if len(start) == 1 else ZERO
            if isinstance(before, n.Name) and len(given) == 1 and isinstance(value := given.pop(), n.Boolean):
                up = (
                    (n.Name(x), before)
                    if value.value
                    else (n.Unary("not", n.Name(x)), n.Unary("not", before))
                )
                yield implied(up[1], up[0])
        if not isinstance(self.stmt, n.For):
            return
        first = equal(self.at, self.low)
        for x in self.variables:
            if any(isinstance(e, n.Boolean) for e in self.given[x]):
                yield equal(n.Name(x), first)
                yield equal(n.Name(x), n.Compare("<", self.low, self.at))

    def _relations(self) -> Iterator[Group]:
        """What grows in step, or at most as fast."""
        for one, other in combinations(self.counters, 2):
            tags = sum(x.startswith("$count_") for x in (one, other))
            if tags == 2 or (tags and {RECORDS, self.at.ident} & {one, other}):
                continue
            x0, y0 = self.start(one), self.start(other)
            if x0 is None or y0 is None:
                continue
            x, y = (total(n.Name(one)) - total(x0)), (total(n.Name(other)) - total(y0))
            pairs = list(zip(self.steps[one], self.steps[other], strict=True))
            ratios = [a.over(b) for a, b in pairs if a.parts and b.parts]
            if not ratios:
                continue
            y = y * ratios[0]
            if self.at.ident == one or (one != RECORDS and other == RECORDS):
                x, y = y, x
            left, right = x.expression(), y.expression()
            if all(a == b * ratios[0] for a, b in pairs):
                yield Group(True, (equal(left, right),))
            elif ratios[0].number is not None:
                yield Group(True, (less(left, right),))
                yield Group(True, (less(right, left),))

    def _carried(self, records: n.Expr | None) -> Iterator[Group]:
        """What loops inside count up from where they left off: as many as there are records."""
        inside = list(walk.statements_in(self.stmt.body))
        if records is None or not any(isinstance(s, n.For | n.While) for s in inside):
            return
        sizes = [each for loop in inside if isinstance(loop, n.For | n.While) for each in _sizes(loop)]
        for x in self.variables:
            up = n.Binary("+", n.Name(x), ONE)
            values = [s.value for s in inside if isinstance(s, n.Assign) and s.name == x]
            start = self.start(x)
            if start is not None and all(value == up for value in values):
                rounds = total(n.Name(x)) - total(start)
                yield Group(True, (equal(n.Name(RECORDS), (total(records) + rounds).expression()),))
        rounds = total(self.at) - total(self.low)
        for size, test in sizes if isinstance(self.stmt, n.For) else ():
            each = equal(n.Name(RECORDS), (total(records) + rounds * total(size)).expression())
            yield Group(True, (each, implied(test, each)))

    def _holders(self) -> Iterator[Group]:
        """Variables that hold the index of some round."""
        if not isinstance(self.stmt, n.For):
            return
        first = equal(self.at, self.low)
        for x in self.held:
            name = n.Name(x)
            yield Group(True, (either(n.Compare("<", name, self.at), first),))
            yield Group(True, (less(self.low, name), either(less(self.low, name), first)))
            start = self.start(x)
            for side in (name, n.Name(x, True)):
                if isinstance(start, n.Number | n.Unary):
                    yield Group(side == name, (equal(equal(side, start), first),))
                yield Group(side == name, (either(n.Compare("<", side, self.at), first),))

    @property
    def held(self) -> list[str]:
        """Variables that some round sets to the index of the loop."""
        return [x for x in self.variables if any(w.values.get(x) == self.at for w in self.rounds)]

    # --- draws --------------------------------------------------------------------------------------------

    def draws(self) -> Iterator[Group]:
        """Which draws were made where a round starts."""
        inner = [s for s in walk.statements_in(self.stmt.body) if isinstance(s, n.Sample)]
        for s in inner:
            if s.index is None:
                continue
            drawn = n.Name(f"$drawn_{s.name}")
            whole = [x for x in self.counters if all(step.number is not None for step in self.steps[x])]
            ints = [n.Name(x) for x in whole if x[0] != "$" and x != self.at.ident]
            same = [equal(drawn, s.index)] if self.stable_but_index(s.index) else []
            latest = [equal(n.Binary("-", drawn, ONE), v) for v in ints]
            exact = (*same, *latest, *(equal(drawn, v) for v in ints))
            for e in (s.index, self.at, n.Binary("+", s.index, ONE)):
                yield Group(True, (*exact, less(drawn, e)))
            yield Group(True, (n.Name(f"$dense_{s.name}"),))

    def stable_but_index(self, e: n.Expr) -> bool:
        """Whether it is made of what there is at the head."""
        inputs = {x for item in self.spec.inputs for x in item.names}
        return walk.names_in(e) <= {*self.changed, self.at.ident, *inputs}

    # --- distances ----------------------------------------------------------------------------------------

    def same_values(self) -> Iterator[Group]:
        """What both runs agree on."""
        yield from (Group(False, (equal(n.Name(x, True), n.Name(x)),)) for x in self.variables)

    def distances(self) -> Iterator[Group]:
        """How far variables are apart."""
        for x in self.numbers:
            d = n.Binary("-", n.Name(x, True), n.Name(x))
            forms = self._forms(x)
            yield Group(False, tuple(equal(d, f) for f in forms))
            for f in dict.fromkeys((*forms, ZERO)):
                for t in self.tests:
                    for test in (t, n.Unary("not", t)):
                        yield Group(False, (implied(test, equal(d, f)),))
            bounds = self.sizes
            for alike in _multiples(bounds):
                yield Group(False, tuple(less(d, b) for b in alike))
                yield Group(False, tuple(less(negative(b), d) for b in alike))
            yield Group(False, (less(ZERO, d),))
            yield Group(False, (less(d, ZERO),))
            yield from self._phases(d, bounds)
            yield from self._walked(d, n.Call("abs", (d,)))
        for x, y in list(combinations(self.numbers, 2))[:6]:
            apart = [n.Binary("-", n.Name(each, True), n.Name(each)) for each in (x, y)]
            size = n.Binary("+", *(n.Call("abs", (each,)) for each in apart))
            yield from self._sizes_walked(size)

    @property
    def numbers(self) -> list[str]:
        """Variables that hold no truth values."""
        return [x for x in self.variables if x not in self.truths]

    def _forms(self, x: str) -> list[n.Expr]:
        """What a variable's distance is where it comes from."""
        found: dict[n.Expr, None] = {}
        for way in (*self.entries, *self.rounds):
            value = way.values.get(x)
            if value is not None:
                apart = self.apart(value, way)
                if apart is not None and apart.parts:
                    e = apart.expression()
                    if not self.noisy(e) and not primes(e):
                        found[self.all.told(self.k, way.origin, e) if way in self.entries else e] = None
        return list(found)[:4]

    def apart(self, e: n.Expr, way: Passage) -> Amount | None:
        """How far a value is on D' from D: answers have primes there, draws move by their lines."""
        moved = {d.stmt.name: d for d in way.draws}

        def other(part: n.Expr) -> n.Expr:
            x = part.ident if isinstance(part, n.Name) else part.base if isinstance(part, n.Index) else ""
            if x in moved:
                on = [line for line, _ in moved[x].cases[0] if self._on(line, way)]
                return added([total(part), *(self._moves(line, part) for line in on)]).expression()
            if isinstance(part, n.Name) and (x in self.private or x in self.variables):
                return n.Name(x, True)
            if isinstance(part, n.Index) and x in self.private:
                return n.Index(x, part.index, True)
            return walk.with_parts(part, tuple(other(p) for p in walk.parts_of(part)))

        return total(other(e)) - total(e)

    def _on(self, line: n.Shift, way: Passage) -> bool:
        return line.guard is None or way.truth(line.guard) is not False

    def _moves(self, line: n.Shift, part: n.Expr) -> Amount:
        value = line.value
        if isinstance(line.index, n.Name) and isinstance(part, n.Index):
            value = resolved(value, {line.index.ident: part.index})
        return total(value).times(Fraction(-1 if line.op == "-=" else 1))

    @property
    def sizes(self) -> list[n.Expr]:
        """Public numbers that may bound a distance."""
        found = [g.sensitivity for g in self.groups if g.sensitivity is not None]
        found += [total(s).times(Fraction(2)).expression() for s in found]
        shifts = [line.value for line in self.all.lines]
        for value in shifts:
            found += [e for e in [_size(value)] if e is not None]
        for x in self.variables:
            found += [n.Number(abs(s.number)) for s in self.steps[x] if s.number]
        claim = self.spec.most or self.spec.privacy
        for line, cost in zip(self.all.lines, self.all.costs, strict=True):
            if cost is not None and line.name in self.noise:
                found.append((total(claim) * total(self.noise[line.name].args[0])).expression())
        return [e for e in dict.fromkeys(found) if self.stable(e) and not self.noisy(e)][:8]

    @property
    def named(self) -> list[n.Expr]:
        """The indices with which guards of the alignment compare that of the loop."""
        found: dict[n.Expr, None] = {}
        for line in self.all.lines:
            own = line.index if isinstance(line.index, n.Name) else None
            for e in walk.subexpressions(line.guard) if line.guard is not None else ():
                if isinstance(e, n.Compare) and e.op == "==" and own is not None and own in (e.left, e.right):
                    side = e.right if e.left == own else e.left
                    if self.stable(side):
                        found[side] = None
        return list(found)[:3]

    def _phases(self, d: n.Expr, bounds: list[n.Expr]) -> Iterator[Group]:
        """Before, at, and after the round whose index the output shows and the alignment names."""
        shown = [e for e in self.named if isinstance(e, n.OutField)]
        if not isinstance(self.stmt, n.For) or not shown or not self.held:
            return
        when: list[n.Expr] = [equal(self.at, self.low)]
        for index in shown:
            when += [less(self.at, index), n.Compare("<", index, self.at)]
            for x in self.held:
                ways = (less(self.low, index), n.Compare("<", index, self.at), equal(n.Name(x), index))
                when.append(n.Logic("and", ways))
        for guard in when:
            none = implied(guard, equal(d, ZERO))
            for c in ([less(d, b) for b in bounds[:4]], [less(negative(b), d) for b in bounds[:4]]):
                yield Group(False, (none, *(implied(guard, e) for e in c)))
            for b in bounds[:4]:
                for e in (less(b, d), less(d, negative(b))):
                    yield Group(False, (implied(guard, e),))

    def _walked(self, d: n.Expr, size: n.Expr) -> Iterator[Group]:
        for g, q in self.walks:
            first = g.names[0]
            places = marks_of(g)
            passed: list[n.Expr] = [n.Compare("<", p, self.at) for p in places]
            if places and g.sensitivity is not None:
                yield Group(False, (either(*passed, equal(d, ZERO)),))
                for place, seen in zip(places, passed, strict=True):
                    there = n.Binary("-", n.Index(q, place, True), n.Index(q, place))
                    yield Group(False, (either(equal(d, ZERO), equal(d, there)),))
                    yield Group(False, (implied(seen, equal(d, there)),))
                    yield Group(False, (implied(seen, equal(d, negative(there))),))
                    others = [s for s in passed if s != seen]
                    if others:
                        yield Group(False, (either(n.Unary("not", seen), *others, equal(d, there)),))
                if len(places) == 2:
                    both = added(
                        total(n.Index(q, p, True)) - total(n.Index(q, p)) for p in places
                    ).expression()
                    yield Group(False, (implied(n.Logic("and", tuple(passed)), equal(d, both)),))
            elif places or g.adjacency.in_all or g.adjacency.free:
                continue
            elif g.sensitivity is not None:
                if g.adjacency.one_way:
                    up = n.Name(f"$rises_{first}")
                    yield Group(False, (implied(up, less(ZERO, d)),))
                    yield Group(False, (either(up, less(d, ZERO)),))
                reach = (total(g.sensitivity) * (total(self.at) - total(self.low))).expression()
                yield Group(False, (less(d, reach),))
                yield Group(False, (less(negative(reach), d),))
        yield from self._sizes_walked(size)

    def _sizes_walked(self, size: n.Expr) -> Iterator[Group]:
        """The size of a distance, or of several, by what moved so far."""
        for g, q in self.walks:
            if g.adjacency.ways and g.sensitivity is not None:
                passed = [n.Compare("<", p, self.at) for p in marks_of(g)]
                for alike in _multiples(self.sizes):
                    sums = (_flags(passed, total(b)).expression() for b in alike)
                    yield Group(False, tuple(less(size, e) for e in sums))
            elif g.adjacency.in_all:
                yield Group(False, (less(size, n.Index(f"$moved_{q}", self.at)),))
        moved = [n.Index(f"$moved_{q}", self.at) for g, q in self.walks if g.adjacency.in_all]
        if len(moved) > 1:
            yield Group(False, (less(size, added(map(total, moved)).expression()),))

    @property
    def walks(self) -> list[tuple[n.Queries, str]]:
        """The lists whose answers are read at the index of the loop."""
        read: dict[str, None] = {}
        if isinstance(self.stmt, n.For) and isinstance(self.stmt.over, n.OverQueries):
            read[self.stmt.over.base] = None
        lines = (e for top in walk.align_expressions(self.spec.align) for e in walk.subexpressions(top))
        for e in chain(walk.expressions_of(walk.statements_in(self.stmt.body)), lines):
            if isinstance(e, n.Index) and e.base in self.private:
                read[e.base] = None
        return [(g, q) for q in read for g in self.groups if q in g.names and g.vector]

    # --- costs --------------------------------------------------------------------------------------------

    def costs(self) -> Iterator[n.Expr]:
        """Bounds of the cost so far."""
        for grown in chain([Amount()], self._growths()):
            for start in self._cost_starts():
                yield less(COST, (start + grown).expression())

    def owed(self) -> Iterator[n.Expr]:
        """The same, with what variables that differ will cost."""
        for x in self.numbers:
            d = n.Call("abs", (n.Binary("-", n.Name(x, True), n.Name(x)),))
            for rate in self._rates():
                for grown in self._walked_costs():
                    for start in self._cost_starts():
                        yield less((total(COST) + total(d) * rate).expression(), (start + grown).expression())

    def _cost_starts(self) -> list[Amount]:
        found: dict[n.Expr, Amount] = {}
        for way in self.entries:
            base: n.Expr
            if way.after is not None:
                base = n.Name(f"$head_{way.after}_alignment_cost")
            else:
                base = n.Name(f"$head_{way.origin}_alignment_cost") if way.origin >= 0 else ZERO
            for cost in way.costs_since():
                e = self.all.told(self.k, way.origin, cost.expression())
                if not self.noisy(e):
                    whole = total(base) + total(e)
                    found[whole.expression()] = whole
        return list(found.values())[:4]

    def _round_costs(self) -> list[list[Amount]]:
        return [[c for c in w.costs() if not self.noisy(c.expression())][:8] for w in self.rounds]

    def _growths(self) -> Iterator[Amount]:
        yield from distinct((g for x in self.variables if self._budget(x) for g in self._spent_with(x)), 8)
        yield from self._walked_costs()
        counts = [(x, total(n.Name(x)) - total(self.start(x) or ZERO), self.steps[x]) for x in self.counters]
        counts += list(self._flagged())
        per_round = self._round_costs()
        for size in (1, 2, 3):
            for some in combinations(counts, size):
                rates: list[tuple[Amount, ...]] = []
                for place, (_, _, each) in enumerate(some):
                    others = [s for k, (_, _, s) in enumerate(some) if k != place]
                    own = [
                        cost.over(each[r])
                        for r in range(len(self.rounds))
                        if each[r].parts and not any(o[r].parts for o in others)
                        for cost in per_round[r]
                        if cost.parts
                    ]
                    own = [c for c in own if self.stable(c.expression())]
                    rates.append(distinct(own, 6 if size == 1 else 3))
                for combo in product(*rates):
                    yield added(rate * grown for rate, (_, grown, _) in zip(combo, some, strict=True))

    def _spent_with(self, x: str) -> Iterator[Amount]:
        """What grows, or falls, by a part of what each round costs: a variable, or 1 over it."""
        start, one = self.start(x), total(ONE)
        for told in (lambda e: e, one.over) if start not in (None, ZERO) else (lambda e: e,):
            for way, spent in zip(self.rounds, self._round_costs(), strict=True):
                before, after = told(total(n.Name(x))), told(total(way.value(x)))
                for rate in (cost.over(after - before) for cost in spent if (after - before).parts):
                    if start is not None and rate.parts and self.stable(rate.expression()):
                        yield rate * (before - told(total(start)))

    def _budget(self, x: str) -> bool:
        """Whether a variable grows by what is no number."""
        return any(s.number is None for s in self.steps[x])

    def _flagged(self) -> Iterator[tuple[str, Amount, list[Amount]]]:
        """Truths that the loop changes once, and tests of what it holds that a round may change."""
        for flag, x in self._raised().items():
            now = [w.value(x) for w in self.rounds]
            changes = [isinstance(value, n.Boolean) and value != self.given[x][0] for value in now]
            yield x, total(counted(flag)), [total(ONE) if each else Amount() for each in changes]
        for side, x in self._kept().items():
            held = walk.names_in(side) & {*self.variables} - {*self.counters}
            moved = [any(x in w.values for x in held) for w in self.rounds]
            yield x, total(counted(side)), [total(ONE) if each else Amount() for each in moved]

    def _kept(self) -> dict[n.Expr, str]:
        """Tests of what a loop holds, and their contraries, by a variable."""
        found: dict[n.Expr, str] = {}
        for test in (e for e in self.tests if isinstance(e, n.Compare)):
            held = walk.names_in(test) & {*self.variables} - {*self.counters}
            found |= dict.fromkeys((test, n.Unary("not", test)), min(held)) if held else {}
        return found

    def _raised(self) -> dict[n.Expr, str]:
        """Whether a truth is another one than at the entry, by its variable."""
        starts = {x: self.given[x][0] for x in self.variables if len(self.given[x]) == 1}
        truths = {x: e.value for x, e in starts.items() if isinstance(e, n.Boolean)}
        return {n.Unary("not", n.Name(x)) if value else n.Name(x): x for x, value in truths.items()}

    def _rates(self) -> tuple[Amount, ...]:
        """What a unit costs, for every draw in the loop that is moved."""
        found: list[Amount] = []
        for way in (*self.rounds, *self.all.leaving[self.k]):
            for draw in way.draws:
                if any(draw.lines) and draw.args and draw.stmt.family.row.slope.name == "SCALE":
                    rate = total(ONE).over(total(draw.args[0]))
                    if self.stable(rate.expression()) and not self.noisy(rate.expression()):
                        found.append(rate)
        few = distinct(found, 4)
        twice = (a.times(Fraction(2)) for a in few)
        return distinct((*few, *(a + b for a, b in combinations(few, 2)), *twice), 8)

    def _walked_costs(self) -> Iterator[Amount]:
        spent = (c for costs in self._round_costs() for c in costs if c.parts)
        paid = distinct((c for c in spent if self.stable(c.expression())), 6)
        for g, q in self.walks:
            if g.adjacency.ways and g.sensitivity is not None:
                marks = [n.Compare("<", mark, self.at) for mark in marks_of(g)]
                more = [r * total(b) for r in self._rates() for b in self.sizes[:2]]
                for amount in distinct([*paid, *more], 12):
                    yield _flags(marks, amount)
            elif g.adjacency.in_all:
                for rate in self._rates():
                    yield rate * total(n.Index(f"$moved_{q}", self.at))
        yield from self._selected(paid)

    def _selected(self, paid: Sequence[Amount]) -> Iterator[Amount]:
        """What is paid when the loop passes what was selected."""
        several = self._selections()
        yield from self._exchanged(several, paid[:1])
        for index in self._chosen():
            for c in paid:
                yield c * total(self._passed(index))
        for w in several:
            for c in paid:
                yield c * total(n.Index(f"$below_{w}", self.at))

    def _chosen(self) -> list[n.Expr]:
        single = [
            n.Name(s.name)
            for s in self.spec.body
            if isinstance(s, n.Assign)
            and isinstance(s.value, n.Gather)
            and s.value.function in ("argmax", "argmin")
        ]
        return list(dict.fromkeys([*single, *self.named]))

    def _selections(self) -> list[str]:
        """The lists of the top level, and of the rounds around."""
        around = (s.body for s in self.all.loops if any(self.stmt is e for e in walk.statements_in(s.body)))
        return [
            s.name
            for s in chain(self.spec.body, *around)
            if isinstance(s, n.Assign) and isinstance(s.value, n.Gather) and s.value.function in n.SELECTING
        ]

    def _exchanged(self, several: list[str], paid: Sequence[Amount]) -> Iterator[Amount]:
        """In a case of the alignment one selected index pays nothing, and another one pays in its place."""
        for split in (item for item in self.spec.align if isinstance(item, n.CaseSplit)):
            case = split.cases[0].test
            inside = list(walk.align_expressions(split.otherwise))
            spared = [
                (e, n.Gather(f"arg{e.function}", None, e.body, e.index, e.over, e.where))
                for e in dict.fromkeys(p for top in inside for p in walk.subexpressions(top))
                if isinstance(e, n.Gather) and e.function in ("max", "min")
            ]
            contrary = n.Unary("not", case)
            for (_, index), other, c, w in product(spared, self.named, paid, several):
                swap = (total(self._passed(other)) - total(self._passed(index))).expression()
                moved = total(n.Index(f"$below_{w}", self.at))
                yield c * (moved + total(n.Conditional(contrary, swap, ZERO)))
            for chosen, other, test, c in product(self._chosen(), self.named, (contrary, case), paid):
                if chosen != other:
                    yield c * total(n.Conditional(test, self._passed(other), self._passed(chosen)))

    def _passed(self, index: n.Expr) -> n.Expr:
        """1 where the loop has passed an index."""
        return counted(n.Compare("<", index, self.at))


def _sizes(loop: n.For | n.While) -> Iterator[tuple[n.Expr, n.Expr]]:
    """How many rounds a loop has that counts from 0 while a test holds, and that test."""
    match loop:
        case n.While(test=n.Logic(op="and", args=tests)):
            for each in tests:
                if isinstance(each, n.Compare) and each.op == "<" and isinstance(each.left, n.Name):
                    yield from ((each.right, other) for other in tests if other != each)
        case n.For(over=over, body=(n.If(branches=(n.Branch(test=ends, body=(n.Break(),)),)), *_)):
            yield total(length_of(over)).expression(), n.Unary("not", ends)
        case n.For() | n.While():
            pass


def _multiples(bounds: list[n.Expr]) -> list[list[n.Expr]]:
    """Bounds that differ by a number, together."""
    found: dict[frozenset[object], list[n.Expr]] = {}
    for b in bounds:
        found.setdefault(frozenset(total(b).parts), []).append(b)
    return list(found.values())


def _flags(tests: Iterable[n.Expr], amount: Amount) -> Amount:
    return added(total(counted(t)) * amount for t in tests)


def _size(value: n.Expr) -> n.Expr | None:
    number = total(value).number
    return None if number is None else n.Number(abs(number))


def _orders(test: n.Expr) -> list[tuple[n.Expr, n.Expr]]:
    """The two sides of a comparison, either of which may be the lesser one."""
    return [(test.left, test.right), (test.right, test.left)] if isinstance(test, n.Compare) else []
