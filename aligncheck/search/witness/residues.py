"""Lines about loops that look at answers which a remainder tells: every other one, those of a column, all of
them again and again; and about sums of answers that another sum bounds.

Nothing here needs to be believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.search.witness import added_up, line_costs
from aligncheck.search.witness.guess import marks_of
from aligncheck.search.witness.scans import Scans, named, without_lengths
from aligncheck.search.witness.totals import ONE, ZERO, Amount, counted, either, less, low_of, plus, total

Class = tuple[n.Expr, n.Expr, n.Expr]
"""A modulus and a remainder, which the places have that a loop looks at; and where it is now."""


class Residues(Scans):
    """Lines about one spec."""

    # --- every so many answers ---

    def _classes(self, k: int) -> list[Class]:
        """By the steps of a loop, by the places of the answers that it reads, and by its tests."""
        index, loop = self._index(k), self.loops[k]
        found: dict[Class, None] = {}
        for x, step, first in self._strides(k):
            for place in self._read_at(k):
                if named(x) not in (total(place) - total(x)).names():
                    rest = total(line_costs.resolved(place, {named(x): first})).expression()
                    found[step, _rest(rest, step), self._at_head(k, place, x)] = None
        for s in self.inside[k]:
            tests = (
                (e for b in s.branches for e in walk.subexpressions(b.test)) if isinstance(s, n.If) else ()
            )
            for e in (e for e in tests if isinstance(e, n.Compare) and e.op == "=="):
                if isinstance(e.left, n.Binary) and e.left.op == "%" and e.left.left == index:
                    found[e.left.right, e.right, self._drawn_at(k)] = None
        for place in self._read_at(k) if isinstance(loop, n.For) else ():
            column = Amount({p: x for p, x in total(place).parts.items() if (index, 1) not in p})
            by = (total(place) - column).over(total(index)).expression()
            if by not in (ZERO, ONE) and named(index) not in column.names():
                found[by, _rest(column.expression(), by), place] = None
        return [each for each in found if self._fixed(k, *each[:2])]

    def _strides(self, k: int) -> Iterator[tuple[n.Name, n.Expr, n.Expr]]:
        """What a `while` reads answers by, by how much it goes on, more than 1, and where it starts."""
        read = {x for place in self._read_at(k) for x in walk.names_in(place)}
        for x in (x for x in self._changed(k) if x in read and isinstance(self.loops[k], n.While)):
            values = [s.value for s in self.inside[k] if isinstance(s, n.Assign) and s.name == x]
            step = (total(values[0]) - total(n.Name(x))).number
            first = added_up.value_before(self.spec, self.loops[k], x)
            if len(values) == 1 and step is not None and step > 1 and first is not None:
                yield n.Name(x), n.Number(step), first

    def _fixed(self, k: int, *parts: n.Expr) -> bool:
        """Whether a loop changes nothing in expressions that no draw and no answer is in."""
        names = {x for e in parts for x in walk.names_in(without_lengths(e))}
        own = {e.index for e in walk.expressions_of(self.inside[k]) if isinstance(e, n.Gather)}
        own |= {s.index or "" for s in self.inside[k] if isinstance(s, n.For)}
        return not names & {*self._changed(k), named(self._index(k)), *own, *self.unequal}

    def _read_at(self, k: int) -> Iterator[n.Expr]:
        """At which places a loop reads private lists."""
        lists = {x for g in self.groups for x in g.names}
        for e in walk.expressions_of(self.inside[k]):
            if isinstance(e, n.Index) and e.base in lists:
                yield e.index

    def _passed_by(self, k: int, mark: n.Expr, by: n.Expr, now: n.Expr) -> n.Expr:
        """Whether the place of an answer of a class was before this round: of rows by their number."""
        if isinstance(by, n.Number):
            return n.Compare("<", mark, now)
        return n.Compare("<", _whole(mark, by), self._index(k))

    def early_by_classes(self, k: int) -> Iterator[n.Expr]:
        """Of every run: that a loop stays with its remainder."""
        for x, by, first in self._strides(k):
            yield n.Compare("==", n.Binary("%", x, by), _rest(first, by))

    def by_classes(self, k: int) -> Iterator[n.Expr]:
        """Of both runs: that sums are apart only if an answer that moves has such a place."""
        steps = {named(self._index(k)), *(x.ident for x, *_ in self._strides(k))}
        sums = [x for x in self._changed(k) if x not in steps]
        sizes = [(g, g.sensitivity) for g in self.groups if g.adjacency.ways and g.sensitivity is not None]
        for by, rest, now in self._classes(k) if sums else ():
            for group, size in sizes:
                marks = marks_of(group)
                inside = [n.Compare("==", n.Binary("%", mark, by), rest) for mark in marks]
                seen = [self._passed_by(k, mark, by, now) for mark in marks]
                passed = [n.Logic("and", each) for each in zip(seen, inside, strict=True)]
                most = plus(n.Conditional(test, size, ZERO) for test in passed)
                for x in sums:
                    yield either(*seen, n.Compare("==", n.Name(x, True), n.Name(x)))
                    yield either(*inside, n.Compare("==", n.Name(x, True), n.Name(x)))
                    yield less(_apart(x), most)

    def often_by_classes(self, line: n.Shift, k: int, over: bool) -> Iterator[n.Expr]:
        """How often a line was on before a round of a loop, or in one that is `over`."""
        groups = [g for g in self.groups if g.adjacency.ways and {*g.names} & walk.names_in(line.value)]
        for group in groups if line.guard is None and len(groups) == 1 else ():
            for by, rest, now in self._classes(k):
                tests: list[n.Expr] = []
                for mark in marks_of(group):
                    inside = n.Compare("==", n.Binary("%", mark, by), rest)
                    passed = n.Logic("and", (self._passed_by(k, mark, by, now), inside))
                    tests.append(inside if over else passed)
                yield plus(counted(test) for test in tests)
            for by, times in self._again(k):
                yield from ([times] if times is not None else []) if over else self._seen_again(k, by)

    def columns(self, k: int) -> Iterator[n.Expr]:
        """The widths of tables of which each round of a loop reads a column, in a loop inside or in a set."""
        inside = [s for s in self.inside[k] if isinstance(s, n.For) and s.index is not None]
        sets = [e for e in walk.expressions_of(self.inside[k]) if isinstance(e, n.Gather)]
        rows = dict.fromkeys([*(s.index or "" for s in inside), *(e.index for e in sets)])
        for place, row in product(dict.fromkeys(self._read_at(k)), rows):
            rest = total(place) - total(self._index(k))
            over = rest.over(total(n.Name(row))).expression()
            if row in rest.names() and not {row, named(self._index(k))} & walk.names_in(over):
                yield over

    # --- all answers again and again ---

    def _again(self, k: int) -> list[tuple[n.Expr, n.Expr | None]]:
        """The m of answers that are read at `i % m`, i the index of a loop, and how often all of them are."""
        loop = self.loops[k]
        over = loop.over if isinstance(loop, n.For) else None
        if not isinstance(over, n.OverRange) or over.low != ZERO:
            return []
        found: dict[tuple[n.Expr, n.Expr | None], None] = {}
        for e in (e for e in self._read_at(k) if isinstance(e, n.Binary) and e.op == "%"):
            if e.left == self._index(k) and self._fixed(k, e.right):
                times = total(over.high).over(total(e.right)).expression()
                parts = (part for part in walk.subexpressions(times) if isinstance(part, n.Binary))
                found[e.right, None if any(part.op == "/" for part in parts) else times] = None
        return list(found)

    def _seen_again(self, k: int, by: n.Expr) -> Iterator[n.Expr]:
        """How often the answers that move were read before a round."""
        rest = n.Binary("%", self._index(k), by)
        for group in (g for g in self.groups if len(g.adjacency.ways) == 1):
            (mark,) = marks_of(group)
            passed = n.Logic("and", (less(ZERO, mark), n.Compare("<", mark, rest)))
            yield n.Binary("+", _whole(self._index(k), by), counted(passed))

    # --- sums ---

    def bounded_sums(self, k: int) -> Iterator[n.Expr]:
        """That sums of answers are apart by no more than a public one that scales noise, or is divided by;
        and sums of sums by as much as one of them is in each round.
        """
        sizes = [g.sensitivity for g in self.groups if g.sensitivity is not None]
        given = {s.name: s.value for s in self.inside[k] if isinstance(s, n.Assign)}
        sums = {
            s.name for s in self.inside[k] if isinstance(s, n.Assign) and added_up.added_to(s) is not None
        }
        private = [x for x, e in given.items() if walk.names_in(e) & (self.unequal | self._private(k))]
        public = [x for x in given if x not in private and x in self.scaling]
        rounds = (total(self._index(k)) - total(low_of(self.loops[k]))).expression()
        for x in (x for x in private if x in sums):
            most: list[n.Expr] = [n.Name(y) for y in public]
            most += [rounds] if walk.names_in(given[x]) & sums.intersection(private) - {x} else []
            for bound in most:
                for size in dict.fromkeys(sizes):
                    yield less(_apart(x), (total(size) * total(bound)).expression())

    def _private(self, k: int) -> set[str]:
        """Variables of a loop that are made of answers, or of such variables."""
        found: set[str] = set()
        for _ in self.inside[k]:
            found |= {
                s.name
                for s in self.inside[k]
                if isinstance(s, n.Assign) and walk.names_in(s.value) & (self.unequal | found)
            }
        return found

    @property
    def scaling(self) -> set[str]:
        """The names in what is divided by, and in the scales of noise."""
        parts = (e for e in walk.expressions_of(self.everything) if isinstance(e, n.Binary))
        below = [e.right for e in parts if e.op == "/"]
        below += [scale for s in self.everything if isinstance(s, n.Sample) for scale in s.args]
        return {x for e in below for x in walk.names_in(e)}


def _rest(place: n.Expr, by: n.Expr) -> n.Expr:
    """A remainder, of numbers at once; what is added to rows that are so wide is a column."""
    if isinstance(place, n.Number) and isinstance(by, n.Number):
        return n.Number(place.value % by.value)
    return n.Binary("%", place, by) if isinstance(by, n.Number) else place


def _whole(e: n.Expr, by: n.Expr) -> n.Expr:
    return n.Call("floor", (n.Binary("/", e, by),))


def _apart(x: str) -> n.Expr:
    return n.Call("abs", (n.Binary("-", n.Name(x, True), n.Name(x)),))
