"""Lines about loops that look for something: what they hold, once it is found and before, and how far that is
apart on D and D'.

Nothing here needs to be believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.search.witness import added_up, line_costs
from aligncheck.search.witness.stretches import read_from
from aligncheck.search.witness.totals import ONE, ZERO, low_of, total


class Scans:
    """Lines about one spec."""

    def __init__(self, spec: n.Mechanism) -> None:
        self.spec = spec
        self.loops = [s for s in walk.statements_in(spec.body) if isinstance(s, n.For | n.While)]
        self.inside = [list(walk.statements_in(loop.body)) for loop in self.loops]
        self.everything = list(walk.statements_in(spec.body))
        self.assigned = [s for s in self.everything if isinstance(s, n.Assign)]
        self.defined = line_costs.definitions(spec)
        self.read = read_from(spec)
        self.two_valued = _two_valued(self.assigned)
        self.groups = [item for item in spec.inputs if isinstance(item, n.Queries)]
        private = {x for g in self.groups for x in g.names}
        self.noise = {s.name for s in self.everything if isinstance(s, n.Sample)}
        entries = {
            s.over.item for s in self.loops if isinstance(s, n.For) and isinstance(s.over, n.OverQueries)
        }
        self.unequal = private | self.noise | entries
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
        return next(self._drawn_by(k), (n.Name(f"$round_{k}"), ZERO))[0]

    def _drawn_by(self, k: int) -> Iterator[tuple[n.Name, n.Expr]]:
        """Variables of a `while` that tell the index of a draw, or of one that is read; and that index."""
        found: dict[tuple[n.Name, n.Expr], None] = {}
        for s in self.inside[k]:
            read = walk.expressions_of((s,))
            at = [s.index] if isinstance(s, n.Sample) else []
            for e in (*at, *(e.index for e in read if isinstance(e, n.Index) and e.base in self.noise)):
                changed = sorted(walk.names_in(e) & {*self._changed(k)}) if e is not None else []
                if e is not None and len(changed) == 1:
                    found[n.Name(changed[0]), e] = None
        yield from sorted(found, key=lambda each: each[0] != each[1])

    def _drawn_at(self, k: int) -> n.Expr:
        """Where a round draws, in words of the head."""
        own = (at for x, at in self._drawn_by(k) if x == self._index(k))
        return self._index(k) if isinstance(self.loops[k], n.For) else self._at_head(k, next(own, ZERO))

    def _at_head(self, k: int, e: n.Expr, index: n.Expr | None = None) -> n.Expr:
        """An expression of a round's index, or another one, in words of the head, where a round steps before
        it draws or reads.
        """
        index, loop = index or self._index(k), self.loops[k]
        for s in loop.body if isinstance(loop, n.While) else ():
            read = walk.expressions_of((s,))
            if isinstance(s, n.Assign) and n.Name(s.name) == index:
                return total(line_costs.resolved(e, {s.name: s.value})).expression()
            if any(isinstance(part, n.Index) for part in read):
                break
        return e

    def _before(self, k: int, place: n.Expr) -> n.Compare:
        """That a round was before this one, by its place."""
        index = self._index(k)
        downwards = isinstance(self.loops[k], n.While) and any(
            isinstance(s, n.Assign)
            and n.Name(s.name) == index
            and isinstance(s.value, n.Binary)
            and s.value.op == "-"
            for s in self.inside[k]
        )
        return n.Compare(">" if downwards else "<", place, self._drawn_at(k))

    def _changed(self, k: int) -> list[str]:
        return list(dict.fromkeys(s.name for s in self.inside[k] if isinstance(s, n.Assign)))

    def _carried(self, k: int) -> list[str]:
        """Those of which a later round, or what follows, may read what they hold at the head."""
        return [x for x in self._changed(k) if x in self.read[k]]

    def flags(self, k: int) -> list[n.Expr]:
        """Where variables have a truth value that a loop sets them to; either one where a test is kept."""
        found: dict[n.Expr, None] = {}
        truths = self._truths(k)
        for s in self.inside[k]:
            if isinstance(s, n.Assign) and s.name in truths:
                up = truths[s.name]
                kept: tuple[bool, ...] = (True, False)
                if isinstance(s.value, n.Boolean):
                    kept = (s.value.value,)
                elif isinstance(up, n.Compare):
                    kept = (s.value == up.right,)
                found |= dict.fromkeys(up if value else n.Unary("not", up) for value in kept)
        return list(found)

    def counters(self, k: int) -> list[str]:
        """Variables that a loop changes by 1 at a time, upwards."""
        return self._stepped(k, "+")

    def counted_down(self, k: int) -> Iterator[n.Expr]:
        """By how much variables have fallen that a loop changes by 1 at a time, downwards."""
        for x in self._stepped(k, "-"):
            start = added_up.value_before(self.spec, self.loops[self._around(k)[0]], x)
            if start is not None:
                yield (total(start) - total(n.Name(x))).expression()

    def _stepped(self, k: int, op: str) -> list[str]:
        found: dict[str, bool] = {}
        for s in self.inside[k]:
            if isinstance(s, n.Assign):
                found[s.name] = found.get(s.name, True) and s.value == n.Binary(op, n.Name(s.name), ONE)
        return [x for x, steps in found.items() if steps]

    def _up_to_limits(self, k: int) -> Iterator[n.Expr]:
        """What is compared with a limit where a flag is set: below it as long as the flag is not."""
        flags = self._truths(k)
        for x, limit in dict.fromkeys(each for s in self.inside[k] for each in limits_of(s)):
            if flags and named(x) in self._changed(k):
                yield n.Compare("<=", x, limit)
                yield from where_a_flag_is(flags.values(), n.Compare("<", x, limit))

    def _places(self, k: int) -> dict[str, n.Expr]:
        """Variables that hold a round of a loop, or an expression of it."""
        index = named(self._index(k))
        return {
            s.name: s.value
            for s in self.inside[k]
            if isinstance(s, n.Assign) and index in walk.names_in(s.value) and s.name != index
            if added_up.is_public(self.spec, line_costs.resolved(s.value, {index: ZERO}))
        }

    def _held_places(self, k: int) -> Iterator[n.Expr]:
        """What such a variable holds: a round before this one, unless this is the first; what it held before
        the loop, until a flag changes.
        """
        index, loop = self._index(k), self.loops[k]
        first = (
            added_up.value_before(self.spec, loop, named(index))
            if isinstance(loop, n.While)
            else low_of(loop)
        )
        for x, now in self._places(k).items():
            before = replace(self._before(k, n.Name(x)), right=self._at_head(k, now))
            yield before
            if first is not None:
                yield n.Logic("or", (before, n.Compare("==", index, first)))
            kept = added_up.value_before(self.spec, loop, x)
            if kept is not None:
                yield from where_a_flag_is(self._truths(k).values(), n.Compare("==", n.Name(x), kept))

    def _truths(self, k: int) -> dict[str, n.Expr]:
        """Variables that a loop sets to a truth value, or to one of two numbers, and where they are up."""
        found: dict[str, n.Expr] = {}
        carried = self._carried(k)
        for s in (s for s in self.inside[k] if isinstance(s, n.Assign) and s.name in carried):
            if is_truth(s.value):
                found[s.name] = n.Name(s.name)
            elif s.name in self.two_valued:
                found[s.name] = n.Compare("==", n.Name(s.name), self.two_valued[s.name][1])
        return found

    def _of_two_values(self, k: int) -> Iterator[n.Expr]:
        """That such a variable is one of its two numbers."""
        for x in dict.fromkeys(x for x in self._carried(k) if x in self.two_valued):
            yield n.Logic("or", tuple(n.Compare("==", n.Name(x), each) for each in self.two_valued[x]))

    def _found(self, k: int) -> Iterator[n.Expr]:
        """Flags, and tests of a round that ask whether such a variable holds one; and their contraries."""
        yield from (e for up in self._truths(k).values() for e in (up, n.Unary("not", up)))
        places = self._places(k).keys()
        public = {i.name for i in self.spec.inputs if not isinstance(i, n.Queries)}
        for top in (b.test for s in self.inside[k] if isinstance(s, n.If) for b in s.branches):
            for test in walk.conjuncts_of(top):
                read = walk.names_in(without_lengths(test)) - public
                if isinstance(test, n.Compare) and read and read <= places:
                    yield from (test, n.Unary("not", test))

    def _scanned(self, k: int) -> Iterator[n.Expr]:
        """Of a loop that looks for the best: once it is found it stays, and its value is ahead by a move. It
        is told by the round, or by an expression of it that `places` hold.
        """
        places = self._places(k)
        values = {*self._carried(k)} - {*places, *self._truths(k), named(self._index(k))}
        lines = [line for line in walk.shifts_in(self.spec.align) if line.guard is not None]
        sizes = [g.sensitivity for g in self.groups if g.sensitivity is not None]
        for x, now in places.items():
            for value in sorted(values):
                apart = n.Binary("-", n.Name(value, True), n.Name(value))
                for size in sizes:
                    yield n.Compare("<=", apart, size)
                    yield n.Compare("<=", n.Unary("-", apart), size)
            for line in lines:
                for chosen in chosen_by(line):
                    before = replace(self._before(k, chosen), right=self._at_head(k, now))
                    at = n.Logic("and", (before, n.Compare("==", n.Name(x), chosen)))
                    elsewhere = n.Unary("not", at)
                    yield n.Logic("or", (elsewhere, n.Compare("==", n.Name(x, True), n.Name(x))))
                    for value in sorted(values):
                        apart = n.Binary("-", n.Name(value, True), n.Name(value))
                        for size in sizes:
                            yield n.Logic("or", (elsewhere, n.Compare("<=", size, apart)))

    def _held_apart(self, k: int) -> Iterator[n.Expr]:
        """How far what a loop sets by a draw is apart: by what the draw is moved, throughout or while a flag
        is down.
        """
        flags = self._truths(k)
        for x in self._carried(k) if flags else ():
            if x in flags:
                continue
            read = {y for s in self.assigned if s.name == x for y in walk.names_in(s.value)}
            moves = (line.value for line in walk.shifts_in(self.spec.align) if line.name in read)
            for by in dict.fromkeys(e for e in moves if added_up.is_public(self.spec, e)):
                apart = n.Compare("==", n.Binary("-", n.Name(x, True), n.Name(x)), by)
                yield from (apart, *where_a_flag_is(flags.values(), apart))


def tests_of_head(loop: n.For | n.While) -> Iterator[n.Compare]:
    """What holds where a round goes on: `v <= E` or `v < E`."""
    first = loop.body[0] if loop.body else None
    tests: list[n.Expr] = []
    if isinstance(loop, n.While):
        tests = list(walk.conjuncts_of(loop.test))
    elif isinstance(first, n.If) and isinstance(first.branches[0].body[0], n.Break):
        test = first.branches[0].test
        if isinstance(test, n.Unary) and test.op == "not":
            tests = list(walk.conjuncts_of(test.operand))
    for test in tests:
        if isinstance(test, n.Compare) and test.op in ("<", "<=") and isinstance(test.left, n.Name):
            yield test


def chosen_by(line: n.Shift) -> Iterator[n.Expr]:
    """The E of a guard `E == i`."""
    for part in walk.subexpressions(line.guard) if line.guard is not None else ():
        if isinstance(part, n.Compare) and part.op == "==" and line.index in (part.left, part.right):
            yield part.right if part.left == line.index else part.left


def told_by(line: n.Shift, low: n.Expr, high: n.Expr | None) -> Iterator[tuple[n.Expr, n.Expr]]:
    """The E and the rest of a guard `E == i and REST` that ask for what is released; without a rest that E is
    a round at all, from `low` up to below `high`.
    """
    parts = walk.conjuncts_of(line.guard)
    for place in chosen_by(line):
        rest = [part for part in parts if tells_output(part) and line.index not in _sides(part)]
        if tells_output(place):
            if not rest:
                yield place, n.Compare(">=", place, low)
                if high is not None:
                    yield place, n.Compare("<", place, high)
            else:
                yield place, rest[0] if len(rest) == 1 else n.Logic("and", tuple(rest))


def _sides(e: n.Expr) -> tuple[n.Expr, ...]:
    return (e.left, e.right) if isinstance(e, n.Compare) else ()


def is_truth(e: n.Expr) -> bool:
    return isinstance(e, n.Boolean | n.Compare | n.Logic) or (isinstance(e, n.Unary) and e.op == "not")


def _two_valued(assigned: Iterable[n.Assign]) -> dict[str, tuple[n.Expr, n.Expr]]:
    """Variables that are set to two numbers, and to nothing else; the lesser one first."""
    given: dict[str, list[n.Expr]] = {}
    for s in assigned:
        given.setdefault(s.name, []).append(s.value)
    found: dict[str, tuple[n.Expr, n.Expr]] = {}
    for x, values in given.items():
        numbers = sorted({e.value for e in values if isinstance(e, n.Number)})
        if len(numbers) == 2 and all(isinstance(e, n.Number) for e in values):
            found[x] = n.Number(numbers[0]), n.Number(numbers[1])
    return found


def where_a_flag_is(flags: Iterable[n.Expr], line: n.Expr) -> Iterator[n.Expr]:
    """A line that holds unless a flag is up, or unless it is down."""
    for flag in dict.fromkeys(flags):
        yield n.Logic("or", (flag, line))
        yield n.Logic("or", (n.Unary("not", flag), line))


def limits_of(stmt: n.Stmt) -> Iterator[tuple[n.Expr, n.Expr]]:
    """The same in what a statement asks, or sets."""
    for e in walk.own_expressions(stmt) if isinstance(stmt, n.If | n.Assign) else ():
        yield from limits_in(e)


def limits_in(e: n.Expr) -> Iterator[tuple[n.Expr, n.Expr]]:
    """Variables that are compared with a limit, and these limits."""
    for part in walk.subexpressions(e):
        if isinstance(part, n.Compare) and part.op in ("==", ">=", "<") and isinstance(part.left, n.Name):
            yield part.left, part.right


def named(e: n.Expr) -> str:
    return e.ident if isinstance(e, n.Name) else ""


def tells_output(e: n.Expr) -> bool:
    return any(isinstance(part, n.OfOutput) for part in walk.subexpressions(e))


def without_lengths(e: n.Expr) -> n.Expr:
    """An expression that reads what this one reads, but for the lists of which it asks the length."""
    if isinstance(e, n.Call) and e.function == "len":
        return ZERO
    return walk.with_parts(e, tuple(map(without_lengths, walk.parts_of(e))))
