"""Lines about loops that keep the greatest of the values so far, where it was, and the second.

Nothing here needs to be believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk
from aligncheck.search.witness import added_up, line_costs
from aligncheck.search.witness.guess import placed_records
from aligncheck.search.witness.scans import Scans, named
from aligncheck.search.witness.totals import ONE, ZERO, ends_of, implied, low_of, total

ENDS = (("max", "argmax"), ("min", "argmin"))


class Leaders(Scans):
    """Of one spec. A loop is looked at if it compares or keeps what is made of a draw at its index, and
    keeps the index. All names and tests are the author's: each variable may hold any of this.
    """

    def keeps(self, k: int) -> bool:
        """Whether the loop is such a one."""
        kept = self._places(k) or self._left_out(k)
        return len(self._around(k)) == 1 and bool(kept) and bool(self._values(k))

    def _left_out(self, k: int) -> list[str]:
        """Variables with the one index that a loop leaves out, which was found before."""
        tests = (b.test for s in self.inside[k] if isinstance(s, n.If) for b in s.branches)
        parts = (e for test in tests for e in walk.subexpressions(test))
        sides = ((e.left, e.right) for e in parts if isinstance(e, n.Compare) and e.op in ("==", "!="))
        index, given = self._index(k), {s.name for s in self.assigned} - {*self._changed(k)}
        found = (named(y if x == index else x) for x, y in sides if index in (x, y))
        return [x for x in dict.fromkeys(found) if x in given]

    def places(self, k: int) -> list[str]:
        """Variables that hold a round."""
        return list(self._places(k))

    def _values(self, k: int) -> list[n.Expr]:
        """What is made of a round's draw, and compared or kept: a function of the index, `$at`."""
        own = f"at_{k}"
        drawn = {s.name for s in self.everything if isinstance(s, n.Sample) and s.index is not None}
        changed, given = {*self._changed(k)} - {named(self._index(k))}, dict[str, n.Expr]()
        loop = self.loops[k]
        if isinstance(loop, n.For) and isinstance(loop.over, n.OverQueries):
            given[loop.over.item] = n.Index(loop.over.base, self._index(k))
        found: dict[n.Expr, None] = {}
        for s in self.inside[k]:
            sides = [s.value] if isinstance(s, n.Assign) else []
            tests = [b.test for b in s.branches] if isinstance(s, n.If) else []
            sides += [
                side
                for test in tests
                for e in walk.subexpressions(test)
                if isinstance(e, n.Compare)
                for side in (e.left, e.right)
            ]
            for side in sides:
                e = line_costs.resolved(side, given)
                if self._draws(e, k) & drawn and not walk.names_in(e) & changed:
                    found[line_costs.resolved(e, {named(self._index(k)): n.Name(own)})] = None
            if isinstance(s, n.Assign) and s in loop.body and n.Name(s.name) != self._index(k):
                given[s.name] = line_costs.resolved(s.value, given)
        return list(found)

    def _draws(self, e: n.Expr, k: int) -> set[str]:
        """What is read at the index of a loop."""
        parts = walk.subexpressions(e)
        return {p.base for p in parts if isinstance(p, n.Index) and p.index == self._index(k)}

    def _ends(self, k: int) -> tuple[tuple[str, str], ...]:
        """Whether the greatest or the least is looked for: where all tests are `>`, the greatest."""
        tests = [b.test for s in self.inside[k] if isinstance(s, n.If) for b in s.branches]
        ops = {e.op for t in tests for e in walk.subexpressions(t) if isinstance(e, n.Compare)}
        return ENDS[:1] if ops <= {">", ">=", "=="} else ENDS

    def _so_far(self, k: int) -> tuple[n.OverRange, n.Expr, n.Expr]:
        """The rounds so far; that there was none, and that there was one at most."""
        loop = self.loops[k]
        index, first = self._at_head(k, self._index(k)), low_of(loop)
        if isinstance(loop, n.While):
            first = added_up.value_before(self.spec, loop, named(self._index(k))) or ZERO
            first = total(line_costs.resolved(index, {named(self._index(k)): first})).expression()
        drawn = {s.name for s in self.inside[k] if isinstance(s, n.Sample)}
        alone = (s for s in self.spec.body if isinstance(s, n.Sample) and s.name in drawn)
        first = next((s.index for s in alone if s.index is not None), first)
        down = self._before(k, ZERO).op == ">"
        for e in (added_up.value_before(self.spec, loop, p) for p in self._places(k)):
            if e is not None and total(_following(e, -1 if down else 1)) == total(first):
                first = e if (total(e).number or 0) >= 0 else first  # it leads before the first round
        if down:
            over = n.OverRange(_following(index), _following(first))
            return over, n.Compare(">=", index, first), n.Compare(">=", index, n.Binary("-", first, ONE))
        over = n.OverRange(first, index)
        return over, n.Compare("<=", index, first), n.Compare("<=", index, n.Binary("+", first, ONE))

    def lines(self, k: int, primed: bool) -> Iterator[n.Expr]:
        """What the variables hold on D, or on D'."""
        if not self.keeps(k):
            return
        over, none, few = self._so_far(k)
        places = [n.Name(x, primed) for x in self._places(k)]
        held = [n.Name(x, primed) for x in self._changed(k) if x not in self._places(k)]
        before = {s.name for s in self.assigned if all(s is not each for each in self.inside[k])}
        held = [x for x in held if x.ident in before and x.ident not in self._truths(k)]
        for p, test in product(places, (none, few)):
            yield n.Logic("or", (test, _between(over.low, p, over.high)))
            start = added_up.value_before(self.spec, self.loops[k], p.ident)
            if start is not None:
                yield implied(test, n.Compare("==", p, start))
        at = f"at_{k}"
        for body in (self._in_run(v, primed) for v in self._values(k)):
            for end, argument in self._ends(k):
                for p in places:
                    yield _unless(none, p, n.Gather(argument, None, body, at, over, None))
                    for other in (n.Compare("!=", n.Name(at), x) for x in places if x != p):
                        yield _unless(few, p, n.Gather(argument, None, body, at, over, other))
                for x in held:
                    yield _unless(none, x, n.Gather(end, None, body, at, over, None))
                    for p in places:
                        others = n.Compare("!=", n.Name(at), p)
                        second = n.Gather(end, None, body, at, over, others)
                        yield _unless(few, x, second)
                        ahead = line_costs.resolved(body, {at: p})
                        sides = (ahead, second) if end == "max" else (second, ahead)
                        yield _unless(few, x, n.Binary("-", *sides))
            for x in held:
                for p in places:
                    yield _unless(none, x, line_costs.resolved(body, {at: p}))
        yield from self._of_the_others(k, held, primed)

    def _of_the_others(self, k: int, held: list[n.Name], primed: bool) -> Iterator[n.Expr]:
        """What variables hold of all rounds but one that was found before; and flags, that there was none."""
        over, none, few = self._so_far(k)
        chosen, at = {s.name for s in self.assigned if isinstance(s.value, n.Gather)}, f"at_{k}"
        for left_out in (n.Name(x, primed and x not in chosen) for x in self._left_out(k)):
            alone = n.Logic("or", (none, n.Logic("and", (few, n.Compare("==", left_out, over.low)))))
            for flag in (_primed(up, primed) for up in self._truths(k).values()):
                yield n.Compare("==", flag, alone)
            others = n.Compare("!=", n.Name(at), left_out)
            for body, (end, argument) in product(self._values(k), self._ends(k)):
                ends = (
                    n.Gather(f, None, self._in_run(body, primed), at, over, others) for f in (end, argument)
                )
                yield from (_unless(alone, x, g) for g in ends for x in held)

    def _in_run(self, e: n.Expr, primed: bool) -> n.Expr:
        names = (*(x for g in self.groups for x in g.names), *self.noise)
        return added_up.primed(e, frozenset(names)) if primed else e

    def _rounds(self, k: int) -> n.OverRange | None:
        """All rounds of a loop."""
        loop, over = self.loops[k], self._so_far(k)[0]
        if isinstance(loop, n.For):
            return n.OverRange(over.low, ends_of(loop.over)[1])
        tests = (
            t for t in walk.conjuncts_of(loop.test) if isinstance(t, n.Compare) and t.left == self._index(k)
        )
        return next((n.OverRange(t.right, over.high) for t in tests if t.op == ">="), None)

    def selections(self, k: int) -> Iterator[n.Gather]:
        """What a loop selects."""
        over = self._rounds(k) if self.keeps(k) else None
        if over is not None:
            for value in self._values(k):
                for _, argument in self._ends(k):
                    yield n.Gather(argument, None, value, f"at_{k}", over, None)


def _following(e: n.Expr, step: int = 1) -> n.Expr:
    return (total(e) + total(n.Number(Fraction(step)))).expression()


def _between(low: n.Expr, e: n.Expr, high: n.Expr) -> n.Expr:
    return n.Logic("and", (n.Compare("<=", low, e), n.Compare("<", e, high)))


def _primed(e: n.Expr, primed: bool) -> n.Expr:
    """What says that a flag is up, in one of the runs."""
    return rewrite.bottom_up(e, lambda x: replace(x, primed=primed) if isinstance(x, n.Name) else x)


def _unless(none: n.Expr, x: n.Expr, value: n.Expr) -> n.Expr:
    return n.Logic("or", (none, n.Compare("==", x, value)))


def with_selections(spec: n.Mechanism, witness: Witness) -> Iterator[Witness]:
    """The witness with what its loops are shown to select, made once more as a selection, which is released
    and has no ties; and that it is what a record tells.
    """
    leaders = Leaders(spec)
    told = [(place, f) for place, emit in placed_records(spec) for f in emit.fields]
    for k, loop in enumerate(witness.loops):
        parts = (e for line in loop.early for e in walk.subexpressions(line))
        shown = {e.function for e in parts if isinstance(e, n.Gather)}
        for g in leaders.selections(k):
            if shown & {g.function, g.function.removeprefix("arg")}:
                changed = (*witness.loops[:k], replace(loop, selection=g), *witness.loops[k + 1 :])
                own = n.Name(f"$selection_{k}")
                held = leaders.places(k)
                fields = [n.OutField(place, f.name) for place, f in told if named(f.value) in held]
                same: list[n.Expr] = [n.Compare("==", f, own) for f in fields]
                if isinstance(g.over, n.OverRange):
                    low, high = g.over.low, g.over.high
                    same += [_between(low, f, high) for f in fields]
                yield replace(witness, loops=changed, promises=(*witness.promises, *same))
