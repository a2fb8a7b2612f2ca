"""Lines that are tried where the first witness does not do, read off the text of the spec.

Nothing here needs to be believed: those that the kernel does not show are left out (`found`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product

from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.contract import contract_of
from aligncheck.search.witness import added_up, line_costs
from aligncheck.search.witness.added_up import ONE, ZERO

COST, RECORDS = n.Name("alignment_cost"), n.Name("$records")
MANY = 12
"""So many bounds of the cost are tried for one loop."""


def with_more(spec: n.Mechanism, witness: Witness) -> Witness:
    """The witness with these lines."""
    lines = MoreLines(spec)
    loops = []
    for k, known in enumerate(witness.loops):
        early = dict.fromkeys((*known.early, *lines.early(k)))
        both = dict.fromkeys((*known.invariants, *lines.both(k)))
        later = dict.fromkeys((*known.later, *lines.later(k)))
        loops.append(LoopWitness(tuple(early), tuple(both), known.measure, known.chance, tuple(later)))
    chosen = [
        s for s in spec.body if isinstance(s, n.Assign) and isinstance(s.value, n.Gather) and s.value.where
    ]
    more = tuple(n.Number(Fraction(at)) for at in range(1, len(chosen) + 1))
    return replace(witness, loops=tuple(loops), indices=witness.indices + more)


def costs_where_they_differ(spec: n.Mechanism) -> tuple[n.Expr | None, ...]:
    """What lines cost: nothing but at the answers that move, where adjacency says which."""
    found: list[n.Expr | None] = []
    for line, cost in zip(walk.shifts_in(spec.align), line_costs.costs_of(spec), strict=True):
        group = next((g for g in _groups(spec) if {*g.names} & walk.names_in(line.value)), None)
        place = None if group is None else _place(line, group)
        if cost is not None and group is not None and group.adjacency.ways and place is not None:
            marks = (n.Name(f"${way.mark}_{group.names[0]}") for way in group.adjacency.ways)
            there = tuple(n.Compare("==", place, mark) for mark in marks)
            test = there[0] if len(there) == 1 else n.Logic("or", there)
            cost = n.Conditional(test, cost, ZERO)
        found.append(cost)
    return tuple(found)


def _place(line: n.Shift, group: n.Queries) -> n.Expr | None:
    """At which answer a line looks."""
    for part in walk.subexpressions(line.value) if line.index is not None else ():
        if isinstance(part, n.Gather):
            break
        if isinstance(part, n.Index) and part.base in group.names:
            return part.index
    return line.index


def _groups(spec: n.Mechanism) -> list[n.Queries]:
    return [item for item in spec.inputs if isinstance(item, n.Queries)]


class MoreLines:
    """Of one spec."""

    def __init__(self, spec: n.Mechanism) -> None:
        self.spec = spec
        self.loops = [s for s in walk.statements_in(spec.body) if isinstance(s, n.For | n.While)]
        self.inside = [list(walk.statements_in(loop.body)) for loop in self.loops]
        self.everything = list(walk.statements_in(spec.body))
        self.assigned = [s for s in self.everything if isinstance(s, n.Assign)]
        self.defined = line_costs.definitions(spec)
        self.groups = _groups(spec)
        private = {x for g in self.groups for x in g.names}
        draws = {s.name for s in self.everything if isinstance(s, n.Sample)}
        entries = {
            s.over.item for s in self.loops if isinstance(s, n.For) and isinstance(s.over, n.OverQueries)
        }
        self.unequal = private | draws | entries
        """What is not the same in both runs."""

    # --- what an expression is made of ---

    def _around(self, k: int) -> list[int]:
        """The loops around a loop, the outermost first, and itself."""
        loop = self.loops[k]
        return [j for j, inside in enumerate(self.inside) if any(s is loop for s in inside)] + [k]

    def _chain(self, stmt: n.Stmt) -> list[int]:
        """The loops around a statement, the outermost first."""
        return [j for j, inside in enumerate(self.inside) if any(s is stmt for s in inside)]

    def _index(self, k: int) -> n.Expr:
        """What tells a round from others: the index; of a `while` a variable that it draws by."""
        loop = self.loops[k]
        if isinstance(loop, n.For):
            return n.Name(f"$round_{k}" if loop.index is None else loop.index)
        return next(iter(self._drawn_by(k)), n.Name(f"$round_{k}"))

    def _drawn_by(self, k: int) -> Iterator[n.Name]:
        """Variables of a `while` that are the index of a draw."""
        for s in self.inside[k]:
            if isinstance(s, n.Sample) and isinstance(s.index, n.Name) and s.index.ident in self._changed(k):
                yield s.index

    def _before(self, k: int, place: n.Expr) -> n.Expr:
        """That a round was before this one, by its place."""
        index = self._index(k)
        downwards = isinstance(self.loops[k], n.While) and any(
            isinstance(s, n.Assign)
            and n.Name(s.name) == index
            and isinstance(s.value, n.Binary)
            and s.value.op == "-"
            for s in self.inside[k]
        )
        return n.Compare(">" if downwards else "<", place, index)

    def _changed(self, k: int) -> list[str]:
        return list(dict.fromkeys(s.name for s in self.inside[k] if isinstance(s, n.Assign)))

    def flags(self, k: int) -> list[tuple[n.Expr, n.Expr]]:
        """Variables that a loop sets to a truth value, and where they have it."""
        found = {}
        for s in self.inside[k]:
            if isinstance(s, n.Assign) and isinstance(s.value, n.Boolean):
                name = n.Name(s.name)
                found[s.name] = (name, name if s.value.value else n.Unary("not", name))
        return list(found.values())

    def counters(self, k: int) -> list[str]:
        """Variables that a loop changes by 1 at a time, upwards."""
        found: dict[str, bool] = {}
        for s in self.inside[k]:
            if isinstance(s, n.Assign):
                up = s.value == n.Binary("+", n.Name(s.name), ONE)
                found[s.name] = found.get(s.name, True) and up
        return [x for x, up in found.items() if up]

    # --- of every run ---

    def early(self, k: int) -> Iterator[n.Expr]:
        """Lines of every run on D."""
        loop, inside = self.loops[k], self.inside[k]
        for test in _tests_of_head(loop):
            for s in inside:
                if isinstance(s, n.Assign) and test.left == n.Name(s.name):
                    step = added_up.added_to(s)
                    if step is not None:
                        yield n.Compare("<=", test.left, n.Binary("+", test.right, step))
        for s in inside:
            if isinstance(s, n.Sample) and s.index is not None:
                yield n.Compare("<=", n.Name(f"$drawn_{s.name}"), self._reached(s, s.index, k))
        yield from self._records(k)
        yield from self._claimed(k)
        yield from self._up_to_limits(k)
        if isinstance(loop, n.While):
            yield from self._while_it_counts(k, loop)

    def _reached(self, draw: n.Sample, index: n.Expr, k: int) -> n.Expr:
        """The index at which a round of a loop draws first: inner loops are where they start."""
        for inner in reversed(self._chain(draw)):
            if inner == k:
                break
            index = line_costs.resolved(index, {_name(self._index(inner)): _low(self.loops[inner])})
        return index

    def _drawn_up_to(self, line: n.Shift, k: int) -> Iterator[n.Expr]:
        """The same of a line's draws at places of a table."""
        for s in self.inside[k]:
            if isinstance(s, n.Sample) and s.name == line.name and isinstance(s.index, n.Binary):
                yield self._reached(s, s.index, k)

    def _up_to_limits(self, k: int) -> Iterator[n.Expr]:
        """What is compared with a limit where a flag is set: below it as long as the flag is not."""
        flags = [s.name for s in self.inside[k] if isinstance(s, n.Assign) and _is_truth(s.value)]
        for x, limit in dict.fromkeys(each for s in self.inside[k] for each in _limits_of(s)):
            if flags and _name(x) in self._changed(k):
                yield n.Compare("<=", x, limit)
                for flag in dict.fromkeys(flags):
                    yield n.Logic("or", (n.Name(flag), n.Compare("<", x, limit)))

    def _while_it_counts(self, k: int, loop: n.While) -> Iterator[n.Expr]:
        """Of a `while` that draws by a counter: where that is, and what was drawn."""
        up = [flag for _, flag in self.flags(k)]
        for x in self.counters(k):
            first = added_up.value_before(self.spec, loop, x)
            if first is not None:
                yield n.Compare("<=", first, n.Name(x))
        for test in _all_of(loop.test):
            if isinstance(test, n.Compare) and test.op == "<=":
                yield n.Compare("<=", test.left, n.Binary("+", test.right, ONE))
            if isinstance(test, n.Compare) and test.op == "<":
                yield n.Compare("<=", test.left, test.right)
                yield from (n.Logic("or", (test, n.Unary("not", flag))) for flag in up)
        for s in self.inside[k]:
            if isinstance(s, n.Sample) and s.index is not None:
                drawn, least = n.Name(f"$drawn_{s.name}"), n.Name(f"$least_{s.name}")
                none = n.Logic("and", (n.Compare("==", drawn, least), n.Compare("<=", drawn, s.index)))
                yield n.Logic("or", (none, n.Compare("<", s.index, least)))
                for flag in up:
                    following = n.Binary("+", s.index, ONE)
                    yield n.Compare("<=", drawn, n.Conditional(flag, following, s.index))

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
            index, low = self._index(k), _low(self.loops[k])
            for tag in dict.fromkeys(s.tag for s in self.inside[k] if isinstance(s, n.Emit)):
                count = n.Name(f"$count_{tag}")
                yield n.Compare("<=", count, index if low == ZERO else n.Binary("-", index, low))
                yield n.Compare("<=", count, RECORDS)

    # --- of both runs ---

    def both(self, k: int) -> Iterator[n.Expr]:
        """Lines of both runs."""
        for x in self._changed(k):
            values = [s.value for s in self.assigned if s.name == x]
            if not any(walk.names_in(v) & self.unequal for v in values):
                yield n.Compare("==", n.Name(x, True), n.Name(x))
        for bound in self.costs(k):
            yield n.Compare("<=", COST, bound)
        claim = self.spec.privacy
        yield n.Compare("<=", COST, added_up.claimed_so_far(claim, f"of_{k}", self._index(k)))
        yield from added_up.sums_of_terms(self.spec, self.loops[k], self._index(k), f"of_{k}")
        yield from self._scanned(k)
        yield from self._released(k)

    def _scanned(self, k: int) -> Iterator[n.Expr]:
        """Of a loop that looks for the best: once it is found it stays, and its value is ahead by a move."""
        index = self._index(k)
        places = [s.name for s in self.inside[k] if isinstance(s, n.Assign) and s.value == index]
        values = {s.name for s in self.inside[k] if isinstance(s, n.Assign)} - {*places}
        if not places or any(isinstance(s, n.Sample) for s in self.inside[k]):
            return
        lines = [line for line in walk.shifts_in(self.spec.align) if line.guard is not None]
        sizes = [g.sensitivity for g in self.groups if g.sensitivity is not None]
        for x in places:
            for value in values:
                apart = n.Binary("-", n.Name(value, True), n.Name(value))
                for size in sizes:
                    yield n.Compare("<=", apart, size)
                    yield n.Compare("<=", n.Unary("-", apart), size)
            for line in lines:
                for chosen in _chosen(line):
                    at = n.Logic("and", (n.Compare("<", chosen, index), n.Compare("==", n.Name(x), chosen)))
                    elsewhere = n.Unary("not", at)
                    yield n.Logic("or", (elsewhere, n.Compare("==", n.Name(x, True), n.Name(x))))
                    for value in values:
                        apart = n.Binary("-", n.Name(value, True), n.Name(value))
                        for size in sizes:
                            yield n.Logic("or", (elsewhere, n.Compare("<=", size, apart)))

    def _told_late(self) -> set[str]:
        """Tags that an alignment asks for at draws of a loop that releases no such record."""
        found: set[str] = set()
        for s in self.everything:
            if isinstance(s, n.Sample) and self._chain(s):
                lines = (line for line in walk.shifts_in(self.spec.align) if line.name == s.name)
                asked = {e.tag for line in lines if line.guard is not None for e in _tags(line.guard)}
                inside = self.inside[self._chain(s)[-1]]
                found |= asked - {e.tag for e in inside if isinstance(e, n.Emit)}
        return found

    def _released(self, k: int) -> Iterator[n.Expr]:
        """How often a tag was released that draws of an earlier loop are moved for."""
        tags = {s.tag for s in self.inside[k] if isinstance(s, n.Emit)} & self._told_late()
        if not isinstance(self.loops[k], n.For) or not tags:
            return
        flags = [s.name for s in self.inside[k] if isinstance(s, n.Assign) and _is_truth(s.value)]
        limits = [test for s in self.inside[k] if isinstance(s, n.Assign) for test in _limits(s.value)]
        for tag in sorted(tags):
            count = n.Name(f"$count_{tag}")
            many = added_up.released_so_far(tag, f"of_{k}", n.OverRange(ZERO, self._index(k)))
            yield n.Compare("<=", many, count)
            for x, limit in limits:
                yield n.Compare("<=", count, limit)
                for flag in dict.fromkeys(flags):
                    yield n.Logic("or", (n.Name(flag), n.Compare("==", count, x)))
                    yield n.Logic("or", (n.Name(flag), n.Compare("<", x, limit)))

    def later(self, k: int) -> Iterator[n.Expr]:
        """What the output has from here on: nothing where a flag is up."""
        for _, up in self.flags(k):
            yield n.Logic("or", (n.Unary("not", up), n.Compare("==", n.OutCount(None), RECORDS)))
        if isinstance(self.loops[k], n.While):
            for place in (place for line in walk.shifts_in(self.spec.align) for place in _chosen(line)):
                for index in dict.fromkeys(self._drawn_by(k)):
                    yield n.Compare(">=", place, index)
                    for _, up in self.flags(k):
                        yield n.Logic("or", (n.Unary("not", up), n.Compare("==", place, index)))

    # --- what was paid ---

    def costs(self, k: int) -> list[n.Expr]:
        """Bounds of what was paid before a round of a loop: of each line of a draw up to there, how
        often it was on, times what it costs.
        """
        parts: list[list[n.Expr]] = []
        lines = list(walk.shifts_in(self.spec.align))
        here = {id(s) for s in self.inside[k]}
        last = max((at for at, s in enumerate(self.everything) if id(s) in here), default=-1)
        seen: set[tuple[str, tuple[int, ...]]] = set()
        for s in self.everything[: last + 1]:
            if isinstance(s, n.Sample) and (s.name, tuple(self._chain(s))) not in seen:
                seen.add((s.name, tuple(self._chain(s))))
                for line in (line for line in lines if line.name == s.name):
                    parts.append(list(islice(self._paid(line, s, k), MANY)))
            elif isinstance(s, n.Invoke) and not self._chain(s):
                parts.append(self._called(s))
        found = [_sum(each) for each in islice(product(*parts), 4 * MANY)] if all(parts) else []
        if len(lines) == 1:
            often = self._how_often(lines[0], k)
            found += [_times(how, self.spec.privacy) for how in often if how != self._index(k)]
        return list(dict.fromkeys(found))[:MANY]

    def _paid(self, line: n.Shift, draw: n.Sample, k: int) -> Iterator[n.Expr]:
        chain = self._chain(draw)
        for cost in self._unit(line, draw):
            if not chain:
                yield cost
                continue
            inner = chain[-1]
            if inner in self._around(k):
                if line.guard is None and _name(line.index or ZERO) in walk.names_in(cost):
                    one = line_costs.resolved(cost, {_name(line.index or ZERO): n.Name(f"of_{inner}")})
                    yield added_up.so_far(one, None, f"of_{inner}", n.OverRange(ZERO, self._index(inner)))
                for how in self._how_often(line, inner):
                    yield _times(how, self._at_differing(cost, line, how))
            else:
                yield from (_times(how, cost) for how in self._after(line, inner))

    def _called(self, call: n.Invoke) -> list[n.Expr]:
        """What a call costs, by the claim of what is called."""
        called = [contract_of(use).mechanism for use in self.spec.uses if use.name == call.mechanism]
        given = {a.name: a.value for a in call.arguments}
        return [
            line_costs.resolved(line_costs.resolved(m.most or m.privacy, given), self.defined) for m in called
        ]

    def _unit(self, line: n.Shift, draw: n.Sample) -> Iterator[n.Expr]:
        """What a line costs; with a scale that the program changes, what it costs with each of them."""
        for defined in self._values(draw):
            cost = line_costs.cost_of(self.spec, line, defined)
            if cost is not None:
                yield cost

    def _values(self, draw: n.Sample) -> Iterator[n.Sample]:
        """The draw with the values of the variables in its scale."""
        names = {x for a in draw.args for x in walk.names_in(a)} - self.defined.keys()
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
        """The round that an inner loop's index belongs to, where its test says that."""
        index = self._index(k)
        inner = {_name(self._index(j)) for j in range(len(self.loops)) if k in self._around(j)[:-1]}
        for s in self.inside[k]:
            for test in (branch.test for branch in s.branches) if isinstance(s, n.If) else ():
                if isinstance(test, n.Compare) and test.op == "==" and index in (test.left, test.right):
                    place = test.right if test.left == index else test.left
                    yield from ((name, place) for name in sorted(walk.names_in(place) & inner))

    def _how_often(self, line: n.Shift, k: int) -> Iterator[n.Expr]:
        """How often a line was on before a round."""
        if line.index is not None and not isinstance(line.index, n.Name):
            yield _where(self._before(k, line.index))
        elif line.guard is None:
            for group in self.groups:
                if group.adjacency.in_all and group.sensitivity is not None:
                    for reached in self._drawn_up_to(line, k):
                        moved = n.Index(f"$moved_{group.names[0]}", reached)
                        yield n.Binary("/", moved, group.sensitivity)
                if group.adjacency.ways and (
                    {*group.names} & walk.names_in(line.value) or len(self.groups) == 1
                ):
                    marks = [n.Name(f"${way.mark}_{group.names[0]}") for way in group.adjacency.ways]
                    yield _sum([_where(self._before(k, mark)) for mark in marks])
                    for reached in self._drawn_up_to(line, k):
                        yield _sum([_where(n.Compare("<", mark, reached)) for mark in marks])
                    place = _place(line, group)
                    if isinstance(line.index, n.Name) and place is not None and place != line.index:
                        now = line_costs.resolved(place, {line.index.ident: self._index(k)})
                        yield _sum([_where(n.Compare("<", mark, now)) for mark in marks])
                    for name, place in self._sorted_by(k):
                        there = [line_costs.resolved(place, {name: mark}) for mark in marks]
                        yield _sum([_where(self._before(k, each)) for each in there])
            yield self._index(k)
        if line.guard is None:
            return
        ways = line.guard.args if isinstance(line.guard, n.Logic) and line.guard.op == "or" else (line.guard,)
        options = [list(self._often(way, line, k)) for way in ways]
        yield from (_sum(each) for each in product(*options))

    def _often(self, way: n.Expr, line: n.Shift, k: int) -> Iterator[n.Expr]:
        index = self._index(k)
        for part in way.args if isinstance(way, n.Logic) and way.op == "and" else (way,):
            if isinstance(part, n.OutIs):
                if not any(isinstance(s, n.Emit) and s.tag == part.tag for s in self.inside[k]):
                    yield added_up.released_so_far(part.tag, f"of_{k}", n.OverRange(ZERO, index))
                    continue
                yield n.Name(f"$count_{part.tag}")
                yield from (n.Name(x) for x in self.counters(k))
                yield from (_where(up) for _, up in self.flags(k))
            if isinstance(part, n.Compare) and part.op == "==" and line.index in (part.left, part.right):
                yield _where(self._before(k, part.right if part.left == line.index else part.left))
                yield from (_where(up) for _, up in self.flags(k))

    def _after(self, line: n.Shift, k: int) -> Iterator[n.Expr]:
        """How often a line was on in a loop that is over."""
        for how in self._how_often(line, k):
            loop = self.loops[k]
            if isinstance(how, n.Gather) and isinstance(loop, n.For):
                yield replace(how, over=n.OverRange(ZERO, _high(loop)))
            elif not walk.names_in(how) & {_name(self._index(k))}:
                yield how
            elif not isinstance(how, n.Name):
                yield ONE


def _tests_of_head(loop: n.For | n.While) -> Iterator[n.Compare]:
    """What holds where a round goes on: `v <= E` or `v < E`."""
    first = loop.body[0] if loop.body else None
    tests: list[n.Expr] = []
    if isinstance(loop, n.While):
        tests = list(_all_of(loop.test))
    elif isinstance(first, n.If) and isinstance(first.branches[0].body[0], n.Break):
        test = first.branches[0].test
        if isinstance(test, n.Unary) and test.op == "not":
            tests = list(_all_of(test.operand))
    for test in tests:
        if isinstance(test, n.Compare) and test.op in ("<", "<=") and isinstance(test.left, n.Name):
            yield test


def _all_of(test: n.Expr) -> tuple[n.Expr, ...]:
    return test.args if isinstance(test, n.Logic) and test.op == "and" else (test,)


def _low(loop: n.For | n.While) -> n.Expr:
    over = loop.over if isinstance(loop, n.For) else None
    return over.low if isinstance(over, n.OverRange) else ZERO


def _high(loop: n.For) -> n.Expr:
    return loop.over.high if isinstance(loop.over, n.OverRange) else n.Call("len", (n.Name(loop.over.base),))


def _chosen(line: n.Shift) -> Iterator[n.Expr]:
    """The E of a guard `E == i`."""
    for part in walk.subexpressions(line.guard) if line.guard is not None else ():
        if isinstance(part, n.Compare) and part.op == "==" and line.index in (part.left, part.right):
            yield part.right if part.left == line.index else part.left


def _tags(e: n.Expr) -> Iterator[n.OutIs]:
    return (part for part in walk.subexpressions(e) if isinstance(part, n.OutIs))


def _is_truth(e: n.Expr) -> bool:
    return isinstance(e, n.Boolean | n.Compare | n.Logic) or (isinstance(e, n.Unary) and e.op == "not")


def _limits_of(stmt: n.Stmt) -> Iterator[tuple[n.Expr, n.Expr]]:
    """The same in what a statement asks, or sets."""
    for e in walk.own_expressions(stmt) if isinstance(stmt, n.If | n.Assign) else ():
        yield from _limits(e)


def _limits(e: n.Expr) -> Iterator[tuple[n.Expr, n.Expr]]:
    """Variables that are compared with a limit, and these limits."""
    for part in walk.subexpressions(e):
        if isinstance(part, n.Compare) and part.op in ("==", ">=") and isinstance(part.left, n.Name):
            yield part.left, part.right


def _name(e: n.Expr) -> str:
    return e.ident if isinstance(e, n.Name) else ""


def _where(test: n.Expr) -> n.Expr:
    """1 where it holds, else 0."""
    return n.Conditional(test, ONE, ZERO)


def _times(how: n.Expr, cost: n.Expr) -> n.Expr:
    if how == ONE:
        return cost
    if isinstance(how, n.Binary) and how.op == "+":
        return n.Binary("+", _times(how.left, cost), _times(how.right, cost))
    if isinstance(how, n.Conditional) and how.then == ONE and how.otherwise == ZERO:
        return n.Conditional(how.test, cost, ZERO)
    return n.Binary("*", cost, how)


def _sum(parts: Iterable[n.Expr]) -> n.Expr:
    whole: n.Expr | None = None
    for part in parts:
        whole = part if whole is None else n.Binary("+", whole, part)
    return ZERO if whole is None else whole
