"""Lines that are tried where the first witness does not do, read off the text of the spec.

Nothing here needs to be believed: those that the kernel does not show are left out (`found`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, islice, product

from aligncheck.kernel.witness import LoopWitness, Witness, own
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.contract import contract_of
from aligncheck.search.witness import added_up, line_costs
from aligncheck.search.witness.guess import goes_on, marks_of, placed_in_arms, placed_records
from aligncheck.search.witness.leaders import Leaders
from aligncheck.search.witness.residues import Residues
from aligncheck.search.witness.scans import (
    chosen_by,
    limits_in,
    named,
    tells_output,
    tests_of_head,
    told_by,
    where_a_flag_is,
    without_lengths,
)
from aligncheck.search.witness.totals import (
    COST,
    ONE,
    ZERO,
    counted,
    either,
    ends_of,
    implied,
    low_of,
    plus,
    total,
)

RECORDS = n.Name("$records")
PLACE = "$place"
"""Stands for the place of an answer, for a moment."""
MANY = 12
"""So many bounds of the cost are tried for one loop."""


def with_more(spec: n.Mechanism, witness: Witness) -> Witness:
    """The witness with these lines."""
    lines, leaders = MoreLines(spec), Leaders(spec)
    loops = []
    for k, known in enumerate(witness.loops):
        early = dict.fromkeys((*known.early, *lines.early(k), *leaders.lines(k, False)))
        both = dict.fromkeys((*known.invariants, *lines.both(k), *leaders.lines(k, True)))
        later = dict.fromkeys((*known.later, *lines.later(k)))
        loops.append(LoopWitness(tuple(early), tuple(both), known.measure, known.chance, tuple(later)))
    chosen = [
        s for s in spec.body if isinstance(s, n.Assign) and isinstance(s.value, n.Gather) and s.value.where
    ]
    more = tuple(n.Number(Fraction(at)) for at in range(1, len(chosen) + 1))
    promises = tuple(dict.fromkeys((*witness.promises, *lines.told_by_count())))
    return replace(witness, loops=tuple(loops), indices=witness.indices + more, promises=promises)


def costs_where_they_differ(spec: n.Mechanism) -> tuple[n.Expr | None, ...]:
    """What lines cost: nothing but at the answers that move, where adjacency says which."""
    found: list[n.Expr | None] = []
    drawn = line_costs.draws_of(spec)
    for line, cost in zip(walk.shifts_in(spec.align), line_costs.costs_of(spec), strict=True):
        parts = line_costs.by_list(spec, line, drawn.get(line.name)) if cost is not None else []
        there = [_where_it_differs(line, group, part if len(parts) > 1 else cost) for group, part in parts]
        found.append(
            plus(each for each in there if each is not None) if there and None not in there else cost
        )
    return tuple(found)


def _where_it_differs(line: n.Shift, group: n.Queries, cost: n.Expr | None) -> n.Expr | None:
    """The cost at the answers of a list that move."""
    place, several = _place(line, group), _places(line, group)
    if cost is None or not group.adjacency.ways or place is None:
        return None
    marks = marks_of(group)
    if len(several) > 1:
        each = (total(cost).times(Fraction(1, len(several)))).expression()
        tests = (n.Compare("==", at, mark) for at, mark in product(several, marks))
        return plus(n.Conditional(test, each, ZERO) for test in tests)
    there = tuple(
        at if (own := _owned(mark, line, group)) is None else n.Logic("and", (at, own))
        for mark, at in ((mark, _looks_at(mark, line, place, group)) for mark in marks)
    )
    return n.Conditional(there[0] if len(there) == 1 else n.Logic("or", there), cost, ZERO)


def _places(line: n.Shift, group: n.Queries) -> list[n.Expr]:
    """At which answers a line looks, but for sums."""
    parts = list(walk.subexpressions(line.value)) if line.index is not None else []
    if any(isinstance(part, n.Gather) for part in parts):
        return []
    at = (part.index for part in parts if isinstance(part, n.Index) and part.base in group.names)
    return list(dict.fromkeys(at))


def _looks_at(mark: n.Expr, line: n.Shift, place: n.Expr, group: n.Queries) -> n.Expr:
    """Whether a line looks at an answer: at a place, or in a sum over a part of the list."""
    sums = [e for e in walk.subexpressions(line.value) if isinstance(e, n.Gather) and e.function == "sum"]
    for start, end in (ends for e in sums for ends in _parts_in(e, group)):
        return n.Logic("and", (n.Compare("<=", start, mark), n.Compare("<", mark, end)))
    return n.Compare("==", place, mark)


def _place(line: n.Shift, group: n.Queries) -> n.Expr | None:
    """At which answer a line looks."""
    for part in walk.subexpressions(line.value) if line.index is not None else ():
        if isinstance(part, n.Gather):
            if part.function == "sum":
                return None
            break
        if isinstance(part, n.Index) and part.base in group.names:
            return part.index
    return line.index


class MoreLines(Residues):
    """Of one spec."""

    # --- of every run ---

    def early(self, k: int) -> Iterator[n.Expr]:
        """Lines of every run on D."""
        loop, inside = self.loops[k], self.inside[k]
        for test in tests_of_head(loop):
            for s in inside:
                if isinstance(s, n.Assign) and test.left == n.Name(s.name):
                    step = added_up.added_to(s)
                    if step is not None:
                        yield n.Compare("<=", test.left, n.Binary("+", test.right, step))
        for s in inside:
            if isinstance(s, n.Sample) and s.index is not None:
                drawn = n.Name(f"$drawn_{s.name}")
                reached = self._at_head(k, self._reached(s, s.index, k))
                yield n.Compare("<=", drawn, reached)
                if len(self._chain(s)) > 1:
                    yield n.Compare("==", drawn, reached)
                yield n.Name(f"$dense_{s.name}")
        yield from self._taken(k)
        yield from self._added_up(k)
        yield from self._left_at(k)
        yield from self._records(k)
        yield from self._claimed(k)
        yield from self._up_to_limits(k)
        yield from self._held_places(k)
        yield from self._until_a_flag(k)
        yield from self._of_two_values(k)
        yield from self.early_by_classes(k)
        yield from self._cells_until_a_flag(k)
        if isinstance(loop, n.While):
            yield from self._while_it_counts(k, loop)

    def _until_a_flag(self, k: int) -> Iterator[n.Expr]:
        """What counts the rounds, again and again, or until a flag changes."""
        for x, turn in added_up.turning(self.spec, self.loops[k], self._index(k)):
            yield from (n.Compare("==", n.Name(x), turn), n.Compare("<", n.Name(x), turn.right))
        loop, rounds = self.loops[k], total(self._index(k)) - total(low_of(self.loops[k]))
        for x in self.counters(k) if isinstance(loop, n.For) else ():
            start = added_up.value_before(self.spec, loop, x)
            if start is not None:
                counted = n.Compare("==", n.Name(x), (total(start) + rounds).expression())
                yield from where_a_flag_is(self._truths(k).values(), counted)

    def _cells_until_a_flag(self, k: int) -> Iterator[n.Expr]:
        """How many records there are where inner loops leave one for each draw, until a flag changes."""
        *outer, _ = self._around(k)
        for s in self.inside[k]:
            if isinstance(s, n.Sample) and s.index is not None and len(self._chain(s)) > 1:
                reached = self._at_head(k, self._reached(s, s.index, k))
                yield from where_a_flag_is(self._truths(k).values(), n.Compare("==", RECORDS, reached))
        for x, up in self._truths(k).items() if outer else ():
            kept = n.Compare("==", RECORDS, n.Name(own("head", outer[-1], RECORDS.ident)))
            before = line_costs.resolved(up, {x: n.Name(own("head", outer[-1], x))})
            yield from where_a_flag_is((before,), kept)

    def _taken(self, k: int) -> Iterator[n.Expr]:
        """What is taken of what is left of a budget: something, and less than that."""
        for s in self.inside[k]:
            e = s.value if isinstance(s, n.Assign) else ZERO
            if isinstance(s, n.Assign) and isinstance(e, n.Binary) and e.op == "-":
                left, part = e.left, e.right
                if left == n.Name(s.name) and named(part) in self._changed(k):
                    yield from (n.Compare("<", ZERO, part), n.Compare("<", part, left))

    def _added_up(self, k: int) -> Iterator[n.Expr]:
        """What starts at 0, and is divided by then, or scales noise: it is above 0 after a round."""
        loop = self.loops[k]
        names = self.scaling
        added = (s for s in self.inside[k] if isinstance(s, n.Assign) and s.name in names)
        for s in added if isinstance(loop, n.For) else ():
            if added_up.value_before(self.spec, loop, s.name) == ZERO:
                first = n.Compare("==", self._index(k), low_of(loop))
                yield either(first, n.Compare("<", ZERO, n.Name(s.name)))

    def _left_at(self, k: int) -> Iterator[n.Expr]:
        """Where a loop inside was left that counts up to a limit, if that is kept."""
        places = {
            x: ends_of(loop.over)[1]
            for j, loop in enumerate(self.loops)
            if isinstance(loop, n.For) and k in self._around(j)[:-1]
            for x in self._places(j)
        }
        for given in (s for s in self.inside[k] if isinstance(s, n.Assign) and s.name not in places):
            if walk.names_in(given.value) & places.keys():
                yield n.Compare("<=", n.Name(given.name), line_costs.resolved(given.value, places))
        tests = (t for s in self.inside[k] if isinstance(s, n.While) for t in walk.conjuncts_of(s.test))
        for test in (t for t in tests if isinstance(t, n.Compare) and t.op == "<"):
            for s in self.inside[k]:
                if isinstance(s, n.Assign) and s.value == test.left:
                    yield n.Compare("<=", n.Name(s.name), test.right)

    def _reached(self, draw: n.Sample, index: n.Expr, k: int) -> n.Expr:
        """The index at which a round of a loop draws first: inner loops are where they start."""
        for inner in reversed(self._chain(draw)):
            if inner == k:
                break
            index = line_costs.resolved(index, {named(self._index(inner)): low_of(self.loops[inner])})
            if isinstance(self.loops[inner], n.While):
                index = line_costs.resolved(index, dict.fromkeys(self._changed(inner), ZERO))
        return index

    def _drawn_up_to(self, line: n.Shift, k: int) -> Iterator[n.Expr]:
        """The same of a line's draws at places of a table."""
        for s in self.inside[k]:
            if isinstance(s, n.Sample) and s.name == line.name and isinstance(s.index, n.Binary):
                yield self._reached(s, s.index, k)

    def _while_it_counts(self, k: int, loop: n.While) -> Iterator[n.Expr]:
        """Of a `while` that draws by a counter: where that is, and what was drawn."""
        up = self.flags(k)
        for x in self.counters(k):
            first = added_up.value_before(self.spec, loop, x)
            if first is not None:
                yield n.Compare("<=", first, n.Name(x))
        for test in goes_on(loop):
            if isinstance(test, n.Compare) and test.op == "<=":
                yield n.Compare("<=", test.left, n.Binary("+", test.right, ONE))
            if isinstance(test, n.Compare) and test.op == "!=":
                yield from (n.Compare(op, test.left, test.right) for op in ("<=", ">="))
            if isinstance(test, n.Compare) and test.op in (">=", ">"):
                least = n.Binary("-", test.right, ONE) if test.op == ">=" else test.right
                yield n.Compare("<=", least, test.left)
            if isinstance(test, n.Compare) and test.op == "<":
                yield n.Compare("<=", test.left, test.right)
                yield from (n.Logic("or", (test, n.Unary("not", flag))) for flag in up)
        for s in self.inside[k]:
            if isinstance(s, n.Sample) and s.index is not None:
                drawn, least = n.Name(f"$drawn_{s.name}"), n.Name(f"$least_{s.name}")
                at = self._at_head(k, s.index)
                none = n.Logic("and", (n.Compare("==", drawn, least), n.Compare("<=", drawn, at)))
                yield n.Logic("or", (none, n.Compare("<", at, least)))
                for flag in up:
                    yield n.Logic("or", (flag, none, n.Compare("<", at, least)))
                    following = n.Binary("+", at, ONE)
                    yield n.Compare("<=", drawn, n.Conditional(flag, following, at))

    def _records(self, k: int) -> Iterator[n.Expr]:
        """How many records there are: as many as there were rounds."""
        if not isinstance(self.loops[k], n.For) or len(self._around(k)) > 1:
            return
        index = self._index(k)
        steady = [
            s.name for s in self.loops[k].body if isinstance(s, n.Assign) and added_up.added_to(s) == ONE
        ]
        for x in steady:
            yield n.Compare("==", n.Name(x), index)
        for before in range(k):
            for x in (s.name for s in self.loops[before].body if isinstance(s, n.Assign)):
                if x in self.counters(before) and x not in self._changed(k):
                    yield n.Compare("==", RECORDS, n.Binary("+", n.Name(x), index))

    def _claimed(self, k: int) -> Iterator[n.Expr]:
        """Where the claim counts records: that those with a tag are no more than the rounds, nor than all."""
        claimed = walk.claimed_in(self.spec.claim)[0]
        if any(isinstance(e, n.OutCount) for e in walk.subexpressions(claimed)):
            index, low = self._index(k), low_of(self.loops[k])
            for tag in dict.fromkeys(s.tag for s in self.inside[k] if isinstance(s, n.Emit)):
                count = n.Name(f"$count_{tag}")
                yield n.Compare("<=", count, index if low == ZERO else n.Binary("-", index, low))
                yield n.Compare("<=", count, RECORDS)

    # --- of both runs ---

    def both(self, k: int) -> Iterator[n.Expr]:
        """Lines of both runs."""
        for x in self._carried(k):
            values = [s.value for s in self.assigned if s.name == x]
            read = {y for v in values for y in walk.names_in(without_lengths(v))}
            released = (f.value for s in self.inside[k] if isinstance(s, n.Emit) for f in s.fields)
            if x in self._truths(k) or not read & self.unequal or n.Name(x) in released:
                yield n.Compare("==", n.Name(x, True), n.Name(x))
        for bound in self.costs(k):
            yield n.Compare("<=", COST, bound)
        claim = self.spec.privacy
        yield n.Compare("<=", COST, added_up.claimed_so_far(claim, f"of_{k}", self._index(k)))
        yield from added_up.sums_of_terms(self.spec, self.loops[k], self._index(k), f"of_{k}")
        yield from self._sorted_here(k)
        yield from self._scanned(k)
        yield from self._held_apart(k)
        yield from self._released(k)
        yield from self._read_at_head(k)
        yield from self.by_classes(k)
        yield from self.bounded_sums(k)

    def _told_late(self) -> set[str]:
        """Tags that an alignment asks for at draws of a loop that releases no such record."""
        found: set[str] = set()
        for s in self.everything:
            if isinstance(s, n.Sample) and self._chain(s):
                lines = (line for line in walk.shifts_in(self.spec.align) if line.name == s.name)
                parts = (e for line in lines if line.guard for e in walk.subexpressions(line.guard))
                asked = {e.tag for e in parts if isinstance(e, n.OutIs)}
                inside = self.inside[self._chain(s)[-1]]
                found |= asked - {e.tag for e in inside if isinstance(e, n.Emit)}
        return found

    def _released(self, k: int) -> Iterator[n.Expr]:
        """How often a tag was released that draws of an earlier loop are moved for."""
        tags = {s.tag for s in self.inside[k] if isinstance(s, n.Emit)} & self._told_late()
        if not isinstance(self.loops[k], n.For) or not tags:
            return
        flags = self._truths(k)
        limits = [test for s in self.inside[k] if isinstance(s, n.Assign) for test in limits_in(s.value)]
        for tag in sorted(tags):
            count = n.Name(f"$count_{tag}")
            many = added_up.released_so_far(tag, f"of_{k}", n.OverRange(ZERO, self._index(k)))
            yield n.Compare("<=", many, count)
            for x, limit in limits:
                yield n.Compare("<=", count, limit)
                yield from where_a_flag_is(flags.values(), n.Compare("==", count, x))
                yield from where_a_flag_is(flags.values(), n.Compare("<", x, limit))

    def later(self, k: int) -> Iterator[n.Expr]:
        """What the output has from here on: nothing where a flag is up."""
        for up in self.flags(k):
            yield n.Logic("or", (n.Unary("not", up), n.Compare("==", n.OutCount(None), RECORDS)))
        yield from self.told_by_count()
        yield from self._to_be_left(k)
        chosen = dict.fromkeys(e for line in walk.shifts_in(self.spec.align) for e in chosen_by(line))
        stops = isinstance(self.loops[k], n.While) or any(isinstance(s, n.Break) for s in self.inside[k])
        keeps = stops or self._truths(k)
        for place in chosen if keeps and any(tells_output(e) for e in chosen) else ():
            not_before = n.Unary("not", self._before(k, place))
            yield not_before
            yield from where_a_flag_is(self._truths(k).values(), not_before)
            for x in dict.fromkeys((*self._places(k), *self.counters(k))):
                yield from where_a_flag_is(self._truths(k).values(), n.Compare("==", place, n.Name(x)))
        yield from self._released_at_last(k)
        if isinstance(self.loops[k], n.While):
            for place in chosen:
                for index in dict.fromkeys(self._at_head(k, at) for _, at in self._drawn_by(k)):
                    yield n.Compare(">=", place, index)
                    for up in self.flags(k):
                        yield n.Logic("or", (n.Unary("not", up), n.Compare("==", place, index)))
        if stops:
            for there, told, variable in dict.fromkeys(self._told_to_be(k)):
                yield there
                yield implied(there, n.Compare(">=", told, variable))
                for up in self.flags(k):
                    yield n.Logic("or", (n.Unary("not", up), implied(there, n.Compare("==", told, variable))))

    def told_by_count(self) -> Iterator[n.Expr]:
        """That a record of which a guard reads a field is there, with such a field, if there are so many."""
        emits = [s for s in self.everything if isinstance(s, n.Emit)]
        for parts in (
            walk.conjuncts_of(line.guard) for line in walk.shifts_in(self.spec.align) if line.guard
        ):
            counts = [e for e in parts if isinstance(e, n.Compare) and n.OutCount(None) in (e.left, e.right)]
            read = [e for part in parts for e in walk.subexpressions(part) if isinstance(e, n.OutField)]
            for count, field in product(counts, dict.fromkeys(read)):
                tags = dict.fromkeys(s.tag for s in emits if field.field in [f.name for f in s.fields])
                yield from (implied(count, n.OutIs(field.index, tag)) for tag in tags)

    def _released_at_last(self, k: int) -> Iterator[n.Expr]:
        """What a record after the loop tells, where a flag is up that nothing takes down: what is kept now.
        And that a round that it tells, under a test of the record, is none before this one.
        """
        loop = self.loops[k]
        ends = low_of(loop), ends_of(loop.over)[1] if isinstance(loop, n.For) else None
        told = dict.fromkeys(
            each for line in walk.shifts_in(self.spec.align) for each in told_by(line, *ends)
        )
        fields = [(at, f) for at, emit in placed_records(self.spec) if told for f in emit.fields]
        for up, (at, f) in product(self.flags(k), fields):
            if walk.names_in(f.value) <= {*self._changed(k)}:
                yield implied(up, n.Compare("==", n.OutField(at, f.name), f.value))
        arms = [(at, emit, f) for at, emit in placed_in_arms(self.spec) if told for f in emit.fields]
        for up, (at, emit, f) in product(self.flags(k), arms):
            if walk.names_in(f.value) <= {*self._changed(k)} and not isinstance(f.value, n.Name):
                there = n.Logic("and", (up, n.OutIs(at, emit.tag)))
                yield implied(there, n.Compare("==", n.OutField(at, f.name), f.value))
        for place, test in told:
            not_before = implied(test, n.Unary("not", self._before(k, place)))
            yield not_before
            for state in self._found(k):
                yield either(state, not_before)
                yield from (either(state, part) for part in walk.conjuncts_of(test))
                yield from (either(state, n.Compare("==", place, n.Name(x))) for x in self._places(k))

    def _to_be_left(self, k: int) -> Iterator[n.Expr]:
        """That a round leaves a record, where each round of a loop around draws several and leaves one."""
        outer = self._around(k)[0]
        loop, emits = self.loops[outer], [s for s in self.inside[outer] if isinstance(s, n.Emit)]
        rows = any(isinstance(s, n.Sample) and len(self._chain(s)) > 1 for s in self.inside[outer])
        if rows and len(emits) == 1 and emits[0] in loop.body and isinstance(loop, n.For):
            there = n.OutIs(RECORDS, emits[0].tag)
            over = n.Compare(">=", self._index(k), ends_of(loop.over)[1])
            yield n.Logic("or", (over, there)) if k == outer else there

    def _told_to_be(self, k: int) -> Iterator[tuple[n.Expr, n.OutField, n.Name]]:
        """Whether a record tells what a loop changes, as a guard asks; and that it is there."""
        for line in walk.shifts_in(self.spec.align):
            for part in walk.subexpressions(line.guard) if line.guard is not None else ():
                if isinstance(part, n.Compare) and part.op == "==":
                    for told, x in ((part.left, part.right), (part.right, part.left)):
                        own = {*self._changed(k), named(self._index(k))}
                        if isinstance(told, n.OutField) and named(x) in own:
                            tags = [s.tag for s in self.everything if isinstance(s, n.Emit)]
                            yield n.OutIs(told.index, tags[-1]), told, n.Name(named(x))

    # --- what was paid ---

    def costs(self, k: int) -> list[n.Expr]:
        """Bounds of what was paid before a round of a loop: of each line of a draw up to there, how
        often it was on, times what it costs.
        """
        lines = list(walk.shifts_in(self.spec.align))
        found = [*self._by_rows(k, lines), *self._where_told(lines, False), *self._by_classes(k, lines)]
        one_way = any(g.adjacency.one_way for g in self.groups)
        found += self._where_told(lines, True) if one_way else ()
        found += [
            e for last in dict.fromkeys((k, self._around(k)[0])) for e in self._paid_up_to(last, k, lines)
        ]
        if any(list(self._told_to_be(each)) for each in range(len(self.loops))):
            found += self._once_a_round(k, lines, False)
            if one_way:
                found += self._once_a_round(k, lines, True)
        if len(lines) == 1:
            often = self._how_often(lines[0], k)
            found += [_times(how, self.spec.privacy) for how in often if how != self._index(k)]
        return list(dict.fromkeys(found))[:MANY]

    def _paid_up_to(self, last: int, k: int, lines: list[n.Shift]) -> Iterator[n.Expr]:
        """What was paid before a round of a loop for draws up to the end of this one, or of one around it."""
        parts: list[list[n.Expr]] = []
        here = {id(s) for s in self.inside[last]}
        end = max((at for at, s in enumerate(self.everything) if id(s) in here), default=-1)
        seen: set[tuple[str, tuple[int, ...]]] = set()
        for s in self.everything[: end + 1]:
            if isinstance(s, n.Sample) and (s.name, tuple(self._chain(s))) not in seen:
                seen.add((s.name, tuple(self._chain(s))))
                for line in (line for line in lines if line.name == s.name):
                    parts.append(list(islice(self._paid(line, s, k), MANY)))
            elif isinstance(s, n.Invoke) and not self._chain(s):
                parts.append(self._called(s))
        yield from (plus(each) for each in islice(product(*parts), MANY if all(parts) else 0))

    def _by_classes(self, k: int, lines: list[n.Shift]) -> Iterator[n.Expr]:
        """What was paid where each loop so far looks at every so many answers, or at all again and again."""
        here = {id(s) for s in self.inside[self._around(k)[0]]}
        end = max((at for at, s in enumerate(self.everything) if id(s) in here), default=-1)
        paid: list[list[n.Expr]] = []
        for s in (s for s in self.everything[: end + 1] if isinstance(s, n.Sample)):
            for line in (line for line in lines if line.name == s.name):
                inner, costs = self._chain(s)[-1:], list(islice(self._unit(line, s), 1))
                often: list[n.Expr] = [ONE]
                if inner:
                    often = list(self.often_by_classes(line, inner[0], over=inner[0] != k))
                paid.append([_times(how, cost) for how in often for cost in costs])
        if any(len(self._chain(s)) for s in self.everything if isinstance(s, n.Sample)):
            yield from (plus(each) for each in islice(product(*paid), MANY if all(paid) else 0))

    def _where_told(self, lines: list[n.Shift], cautious: bool) -> Iterator[n.Expr]:
        """What was paid where of each list of draws one is moved, which a record tells: once it is drawn."""
        paid: list[n.Expr] = []
        for line in lines:
            draws = [s for s in self.everything if isinstance(s, n.Sample) and s.name == line.name]
            cost, told = (
                next((c for s in draws for c in self._unit(line, s, cautious)), None),
                list(_told_by(line)),
            )
            if cost is None or (line.index is not None and not told):
                return
            drawn = n.Name(f"$drawn_{line.name}")
            where = None if line.index is None else n.Compare("<", told[0], drawn)
            paid.append(cost if where is None else n.Conditional(where, cost, ZERO))
        if any(isinstance(each, n.Conditional) for each in paid):
            yield plus(paid)

    def _read_at_head(self, k: int) -> Iterator[n.Expr]:
        """What the draws are moved by that the head of a `while` reads: these were made before."""
        loop = self.loops[k]
        read = walk.subexpressions(loop.test) if isinstance(loop, n.While) else iter(())
        for draw in (e for e in read if isinstance(e, n.Index) and not e.primed):
            moved: n.Expr = draw
            for line in (line for line in walk.shifts_in(self.spec.align) if line.name == draw.base):
                here = {named(line.index or ZERO): draw.index}
                value = line_costs.resolved(line.value, here)
                if line.guard is not None:
                    value = n.Conditional(line_costs.resolved(line.guard, here), value, ZERO)
                moved = n.Binary("-" if line.op == "-=" else "+", moved, value)
            if moved is not draw:
                yield n.Compare("==", replace(draw, primed=True), moved)

    def _by_rows(self, k: int, lines: list[n.Shift]) -> Iterator[n.Expr]:
        """What was paid where each round of a loop draws several, in loops of its own: for the one that its
        record tells, for those that a list of the round holds, or for all; and for others, which are moved
        for themselves.
        """
        outer, *inner = self._around(k)
        paid: list[n.Expr] = []
        several = False
        body = list(self.loops[outer].body)
        here = next((at for at, s in enumerate(body) if inner and s is self.loops[inner[-1]]), len(body))
        for at, stmt in enumerate(body[: here + 1]):
            for s in (s for s in walk.statements_in((stmt,)) if isinstance(s, n.Sample)):
                for line in (line for line in lines if line.name == s.name):
                    cost = next(self._unit(line, s), None)
                    often = [(ONE, ONE)] if stmt is s else list(self._often_in_a_round(line, stmt, k))
                    if cost is None or not often:
                        return
                    several |= stmt is not s
                    paid += [_times(now if at == here else all_, cost) for now, all_ in often]
        if several and not inner:
            yield total(n.Binary("*", self._index(k), plus(paid))).expression()
        elif several:
            yield plus((n.Name(f"$head_{outer}_alignment_cost"), *paid))

    def _often_in_a_round(self, line: n.Shift, stmt: n.Stmt, k: int) -> Iterator[tuple[n.Expr, n.Expr]]:
        """How often a line was on in a loop of a round, up to where that is now, and in all."""
        lists = {e.selection for e in walk.subexpressions(line.guard or ZERO) if isinstance(e, n.Member)}
        lists &= walk.selected_around(line.name, self.spec.body)
        for s in (s for s in self.everything if isinstance(s, n.Assign) and s.name in lists):
            if isinstance(s.value, n.Gather) and s.value.count is not None:
                yield n.Index(f"$below_{s.name}", self._index(k)), s.value.count
        for e in _told_by(line):
            yield counted(n.Compare("<", replace(e, index=RECORDS), self._index(k))), ONE
        if line.guard is None and isinstance(stmt, n.For):
            yield self._index(k), ends_of(stmt.over)[1]

    def _once_a_round(self, k: int, lines: list[n.Shift], cautious: bool) -> Iterator[n.Expr]:
        """What was paid where each line costs once in a round: of a loop inside once its flag is up."""
        *around, _ = self._around(k)
        paid: dict[bool, list[n.Expr]] = {True: [], False: []}
        for s in self.inside[around[-1] if around else k]:
            for line in (line for line in lines if isinstance(s, n.Sample) and line.name == s.name):
                units = self._unit(line, s, cautious) if isinstance(s, n.Sample) else iter(())
                paid[any(s is each for each in self.inside[k])] += islice(units, 1)
        if not around:
            alone = [s for s in self.everything if isinstance(s, n.Sample) and not self._chain(s)]
            of = ((line, s) for s in alone for line in lines if line.name == s.name)
            once = [cost for line, s in of for cost in islice(self._unit(line, s, cautious), 1)]
            yield plus((*once, _times(self._index(k), plus(paid[True]))))
        for up in self.flags(k) if around else ():
            before = n.Name(f"$head_{around[-1]}_alignment_cost")
            yield plus((before, *paid[False], n.Conditional(up, plus(paid[True]), ZERO)))

    def _paid(self, line: n.Shift, draw: n.Sample, k: int) -> Iterator[n.Expr]:
        chain = self._chain(draw)
        for cost in self._unit(line, draw):
            if not chain:
                yield cost
                continue
            inner = chain[-1]
            if inner in self._around(k):
                yield from self._paid_by_list(line, draw, inner)
                if line.guard is None and named(line.index or ZERO) in walk.names_in(cost):
                    one = line_costs.resolved(cost, {named(line.index or ZERO): n.Name(f"of_{inner}")})
                    over = n.OverRange(ZERO, self._index(inner))
                    yield added_up.so_far(one, None, f"of_{inner}", over)
                    yield added_up.product_so_far(one, f"of_{inner}", over)
                for how in self._how_often(line, inner):
                    yield _times(how, self._at_differing(cost, line, how))
            else:
                often = self._how_often(line, k) if k in chain and line.guard is None else iter(())
                yield from (_times(how, cost) for how in (*self._after(line, inner), *often))

    def _paid_by_list(self, line: n.Shift, draw: n.Sample, k: int) -> Iterator[n.Expr]:
        """What a line costs before a round where it reads lists that move on their own."""
        for defined in self._values(draw) if line.guard is None else ():
            parts = line_costs.by_list(self.spec, line, defined)
            if len(parts) > 1 and all(group.adjacency.ways for group, _ in parts):
                marks = [marks_of(group) for group, _ in parts]
                often = [plus(counted(self._before(k, mark)) for mark in each) for each in marks]
                costs = zip(often, (cost for _, cost in parts), strict=True)
                yield plus(_times(how, cost) for how, cost in costs if cost is not None)

    def _called(self, call: n.Invoke) -> list[n.Expr]:
        """What a call costs, by the claim of what is called."""
        called = [contract_of(use).mechanism for use in self.spec.uses if use.name == call.mechanism]
        given = {a.name: a.value for a in call.arguments}
        claims = [line_costs.resolved(m.most or m.privacy, given) for m in called]
        return [line_costs.resolved(line_costs.repeated(c, call.rounds), self.defined) for c in claims]

    def _unit(self, line: n.Shift, draw: n.Sample, cautious: bool = False) -> Iterator[n.Expr]:
        """What a line costs; with a scale that the program changes, what it costs with each of them."""
        for defined in self._values(draw):
            cost = line_costs.cost_of(self.spec, line, defined, cautious)
            if cost is not None:
                yield cost

    def _values(self, draw: n.Sample) -> Iterator[n.Sample]:
        """The draw with the values of the variables in its scale."""
        names = {x for a in draw.args for x in walk.names_in(a)} - self.defined.keys()
        here = {x for k in self._chain(draw) for x in self._changed(k)}
        done = {x for k in range(len(self.loops)) for x in self._changed(k)} - here
        names -= done  # what a loop before has added up has one value here, which has no other name
        given = {x: dict.fromkeys(s.value for s in self.assigned if s.name == x) for x in sorted(names)}
        given = {x: values for x, values in given.items() if values}
        for each in product(*given.values()):
            known = {**self.defined, **dict(zip(given, each, strict=True))}
            args = [line_costs.resolved(line_costs.resolved(a, known), self.defined) for a in draw.args]
            ways = [args]
            if isinstance(args[0], n.Conditional):
                ways = [[args[0].then, *args[1:]], [args[0].otherwise, *args[1:]]]
            yield from (replace(draw, args=tuple(way)) for way in ways)

    def _at_differing(self, cost: n.Expr, line: n.Shift, how: n.Expr) -> n.Expr:
        """The cost at the answer that differs, where that is counted."""
        if (
            isinstance(how, n.Conditional)
            and isinstance(how.test, n.Compare)
            and isinstance(line.index, n.Name)
        ):
            at = how.test.left
            if isinstance(at, n.Name) and at.ident.startswith("$"):
                return line_costs.resolved(cost, {line.index.ident: at})
        return cost

    def _sorted_by(self, k: int) -> Iterator[tuple[str, n.Expr]]:
        """The round that an index of an inner loop, or of a set, belongs to, where its test says that; or a
        place, by its column.
        """
        index = self._index(k)
        yield from ((PLACE, n.Binary("%", n.Name(PLACE), wide)) for wide in dict.fromkeys(self.columns(k)))
        tests: list[tuple[n.Expr, set[str]]] = []
        for j in (j for j, loop in enumerate(self.loops) if k in self._around(j)[:-1]):
            turns = dict(added_up.turning(self.spec, self.loops[j], self._index(j)))
            for s, given in added_up.in_words_of_head(self.loops[j].body, turns):
                asked = [b.test for b in s.branches] if isinstance(s, n.If) else []
                tests += [(line_costs.resolved(test, given), {named(self._index(j))}) for test in asked]
        for e in (e for e in walk.expressions_of(self.inside[k]) if isinstance(e, n.Gather)):
            arms = [c.test for c in walk.subexpressions(e.body) if isinstance(c, n.Conditional)]
            tests += [(test, {e.index}) for test in (*([e.where] if e.where is not None else []), *arms)]
        for test, names in tests:
            for place in _solved(test, index):
                inside = {e.ident for e in walk.subexpressions(place) if isinstance(e, n.Name)}
                yield from ((name, place) for name in sorted(inside & names))

    def _sorted_here(self, k: int) -> Iterator[n.Expr]:
        """That what a loop inside adds up is the same, unless an answer that moves belongs to the round."""
        for j in self._around(k)[:-1]:
            for name, place in self._sorted_by(j):
                groups = (g for g in self.groups if name in (named(self._index(k)), PLACE))
                for mark in chain.from_iterable(map(marks_of, groups)):
                    there = n.Compare("==", line_costs.resolved(place, {name: mark}), self._index(j))
                    for x in self._carried(k):
                        yield n.Logic("or", (there, n.Compare("==", n.Name(x, True), n.Name(x))))

    def _starts(self, k: int, group: n.Queries) -> Iterator[n.Expr]:
        """Where the answers start that a round looks at in a loop inside, by a test there, or in a set."""
        found: dict[n.Expr | None, None] = {}
        for j in (j for j in range(len(self.loops)) if k in self._around(j)[:-1]):
            own = named(self._index(j))
            for e in walk.expressions_of(self.inside[j]):
                if isinstance(e, n.Index) and e.base in group.names:
                    found[line_costs.resolved(e.index, {own: low_of(self.loops[j])})] = None
                if isinstance(e, n.Compare) and e.op in ("<=", "<") and named(e.right) == own:
                    found[e.left if e.op == "<=" else n.Binary("+", e.left, ONE)] = None
        for e in (e for e in walk.expressions_of(self.inside[k]) if isinstance(e, n.Gather)):
            found |= {start: None for start, _ in _parts_in(e, group)}
        yield from (e for e in found if e is not None and named(self._index(k)) in walk.names_in(e))

    def _windows(self, line: n.Shift, k: int, group: n.Queries) -> Iterator[tuple[n.Expr, n.Expr]]:
        """Where the part of a list ends that a line adds up, and how wide it is: the same in each round, in
        which it is one answer further on.
        """
        index, own = self._index(k), named(line.index or ZERO)
        for e in walk.subexpressions(line.value):
            for ends in _parts_in(e, group) if isinstance(e, n.Gather) and e.function == "sum" else ():
                start, end = (total(line_costs.resolved(each, {own: index})) for each in ends)
                if named(index) not in (end - start).names() | (end - total(index)).names():
                    yield end.expression(), (end - start).expression()

    def _how_often(self, line: n.Shift, k: int) -> Iterator[n.Expr]:
        """How often a line was on before a round."""
        if line.index is not None and not isinstance(line.index, n.Name):
            yield counted(self._before(k, line.index))
        elif line.guard is None:
            for group in self.groups:
                if group.adjacency.in_all and group.sensitivity is not None:
                    moved = f"$moved_{group.names[0]}"
                    here = (self._drawn_at(k),) if isinstance(self.loops[k], n.While) else ()
                    for reached in (*self._drawn_up_to(line, k), *here):
                        yield n.Binary("/", n.Index(moved, reached), group.sensitivity)
                    if self._before(k, ZERO).op == ">":
                        so_far = n.Index(moved, (total(self._drawn_at(k)) + total(ONE)).expression())
                        rest = n.Binary("-", group.sensitivity, so_far)
                        yield n.Binary("/", rest, group.sensitivity)
                if group.adjacency.ways and (
                    {*group.names} & walk.names_in(line.value) or len(self.groups) == 1
                ):
                    marks = marks_of(group)
                    owned = [(mark, _owned(mark, line, group)) for mark in marks]
                    if any(owner is not None for _, owner in owned):
                        tests = ((self._before(k, m), *([o] if o else [])) for m, o in owned)
                        yield plus([counted(n.Logic("and", each)) for each in tests])
                    yield plus([counted(self._before(k, mark)) for mark in marks])
                    for reached in self._drawn_up_to(line, k):
                        yield plus([counted(n.Compare("<", mark, reached)) for mark in marks])
                    yield from self._passed(line, group, marks, k)
                    for start in self._starts(k, group):
                        yield plus([counted(n.Compare("<", mark, start)) for mark in marks])
                    for end, wide in self._windows(line, k, group):
                        yield plus(_within(end, mark, wide) for mark in marks)
                    for name, place in self._sorted_by(k):
                        there = [line_costs.resolved(place, {name: mark}) for mark in marks]
                        yield plus([counted(self._before(k, each)) for each in there])
            yield self._index(k)
            yield from self._told_by_calls(k)
        if line.guard is None:
            return
        ways = line.guard.args if isinstance(line.guard, n.Logic) and line.guard.op == "or" else (line.guard,)
        options = [list(self._often(way, line, k)) for way in ways]
        yield from (plus(each) for each in product(*options))

    def _passed(self, line: n.Shift, group: n.Queries, marks: list[n.Name], k: int) -> Iterator[n.Expr]:
        """How often the answers that move were looked at before a round, where a line does not look at that
        of its own index alone: at one other, or at several, some of which may come from the end.
        """
        place, several = _place(line, group), _places(line, group)
        if not isinstance(line.index, n.Name) or (place in (None, line.index) and len(several) < 2):
            return
        tests: list[n.Expr] = []
        for each in several if len(several) > 1 else [place] if place is not None else []:
            now = self._at_head(k, line_costs.resolved(each, {line.index.ident: self._index(k)}))
            falls = total(each).parts.get(((line.index, 1),), Fraction(0)) < 0
            for mark in marks:
                test = replace(self._before(k, mark), right=now)
                tests.append(replace(test, left=test.right, right=test.left) if falls else test)
        part = n.Number(Fraction(1, max(len(several), 1)))
        yield plus(n.Conditional(test, part, ZERO) for test in tests)

    def _told_by_calls(self, k: int) -> Iterator[n.Expr]:
        """In how many rounds so far a record of a call, that with the round's number, had a tag."""
        index, own = self._index(k), f"of_{k}"
        tests = (b.test for s in self.inside[k] if isinstance(s, n.If) for b in s.branches)
        for part in (part for test in tests for part in walk.conjuncts_of(test)):
            if isinstance(part, n.OutIs) and part.of != "out" and part.index == index:
                here = n.Conditional(replace(part, index=n.Name(own)), ONE, ZERO)
                yield added_up.so_far(here, None, own, n.OverRange(ZERO, index))

    def _often(self, way: n.Expr, line: n.Shift, k: int) -> Iterator[n.Expr]:
        index, parts = self._index(k), walk.conjuncts_of(way)
        for part in parts:
            if isinstance(part, n.OutIs):
                for also in parts:
                    if (
                        isinstance(also, n.Compare)
                        and also.op == "<"
                        and named(also.left) in self._changed(k)
                    ):
                        below = n.Binary("-", also.right, ONE)
                        yield n.Call("min", (n.Name(f"$count_{part.tag}"), below))
                if not any(isinstance(s, n.Emit) and s.tag == part.tag for s in self.inside[k]):
                    yield added_up.released_so_far(part.tag, f"of_{k}", n.OverRange(ZERO, index))
                    continue
                yield n.Name(f"$count_{part.tag}")
                yield from (n.Name(x) for x in self.counters(k))
                yield from self.counted_down(k)
                yield from (counted(up) for up in self.flags(k))
            if isinstance(part, n.Compare) and part.op == "==" and line.index in (part.left, part.right):
                before = self._before(k, part.right if part.left == line.index else part.left)
                made = (s for s in self.inside[k] if isinstance(s, n.Sample) and s.name == line.name)
                at = dict.fromkeys(s.index or index for s in made)
                yield from (counted(replace(before, right=e)) for e in at or (index,))
                yield from (counted(up) for up in self.flags(k))

    def _after(self, line: n.Shift, k: int) -> Iterator[n.Expr]:
        """How often a line was on in a loop that is over."""
        for group in (g for g in self.groups if line.guard is None and g.adjacency.ways):
            owners = [_owned(mark, line, group) for mark in marks_of(group)]
            if None not in owners:
                yield plus(counted(owner) for owner in owners if owner is not None)
        for how in self._how_often(line, k):
            loop = self.loops[k]
            if isinstance(how, n.Gather) and isinstance(loop, n.For):
                yield replace(how, over=n.OverRange(ZERO, ends_of(loop.over)[1]))
            elif not walk.names_in(how) & {named(self._index(k))}:
                yield how
            elif not isinstance(how, n.Name):
                yield ONE


def _parts_in(g: n.Gather, group: n.Queries) -> Iterator[tuple[n.Expr, n.Expr]]:
    """Where the parts of a list start and end, without gaps, over which a set is."""
    for e in walk.subexpressions(g.body):
        if isinstance(e, n.Index) and e.base in group.names:
            start, end = (total(line_costs.resolved(e.index, {g.index: x})) for x in ends_of(g.over))
            if (total(e.index) - total(n.Name(g.index))).names().isdisjoint({g.index}):
                yield start.expression(), end.expression()


def _owned(mark: n.Name, line: n.Shift, group: n.Queries) -> n.Expr | None:
    """That an answer that moves is in the list that a line reads, where a declaration has several."""
    read = [at for at, x in enumerate(group.names) if x in walk.names_in(line.value)]
    if len(group.names) < 2 or len(read) != 1:
        return None
    return n.Compare("==", n.Name(f"$owner_{mark.ident[1:]}"), n.Number(Fraction(read[0])))


def _solved(test: n.Expr, index: n.Expr) -> Iterator[n.Expr]:
    """The only index, from 0 up to below a modulus if there is one, for which a test holds."""
    if not isinstance(test, n.Compare) or test.op != "==":
        return
    for one, other in ((test.left, test.right), (test.right, test.left)):
        if one == index:
            yield other
        if isinstance(one, n.Binary) and one.op == "%":
            rest = total(one.left) - total(other)
            times = rest.parts.get(((index, 1),), Fraction(0))
            rest = rest - total(index).times(times)
            modulo = n.Binary("%", rest.expression(), one.right)
            if index not in walk.subexpressions(rest.expression()) and times == -1:
                yield modulo
            if index not in walk.subexpressions(rest.expression()) and times == 1:
                up = n.Binary("-", one.right, modulo)
                yield n.Conditional(n.Compare("==", modulo, ZERO), ZERO, up)


def _told_by(line: n.Shift) -> Iterator[n.OutField]:
    """The fields of records that a guard compares with something."""
    for part in walk.subexpressions(line.guard) if line.guard is not None else ():
        if isinstance(part, n.Compare) and part.op == "==":
            yield from (e for e in (part.left, part.right) if isinstance(e, n.OutField))


def _within(end: n.Expr, mark: n.Expr, wide: n.Expr) -> n.Expr:
    """In how many rounds before this one a place was in what ends here, in the round before one further back,
    and so on.
    """
    reached = (total(end) - total(mark) - total(ONE)).expression()
    return n.Call("max", (ZERO, n.Call("min", (reached, wide))))


def _times(how: n.Expr, cost: n.Expr) -> n.Expr:
    if how == ONE:
        return cost
    if isinstance(how, n.Binary) and how.op == "+":
        return n.Binary("+", _times(how.left, cost), _times(how.right, cost))
    if isinstance(how, n.Conditional) and isinstance(how.then, n.Number) and how.otherwise == ZERO:
        part = cost if how.then == ONE else total(cost).times(how.then.value).expression()
        return n.Conditional(how.test, part, ZERO)
    return n.Binary("*", cost, how)
