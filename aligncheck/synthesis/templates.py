"""LineChoice lines for each noise variable, made of the program's own expressions, the likeliest first.

The main template has no coefficients. keep(E): for each linear expression E that is released, tested or
selected by, the noise in E that is drawn last moves by the rest of E on D minus the rest on D', so that E
stays. Noise that is drawn earlier moves by 0, Δ or 2Δ, up or down. Guards are what the program itself emits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import TypeAlias

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.rewrite import with_other
from aligncheck.language.syntax.walk import (
    claimed_in,
    expressions_of,
    names_in,
    statements_in,
    subexpressions,
)
from aligncheck.search.witness.guess import placed_records
from aligncheck.search.witness.leaders import Leaders
from aligncheck.search.witness.scans import is_truth
from aligncheck.search.witness.totals import ZERO
from aligncheck.synthesis.reading import (
    ONE,
    SELECTIONS,
    EmitPlace,
    LinearForm,
    NoiseSite,
    NoiseUse,
    ProgramReading,
    added,
    gathers_inline,
    own_names,
)

Lines: TypeAlias = tuple[n.AlignItem, ...]
TWO = n.Number(Fraction(2))
_OF_TWO = 1
"""Lines of this rank at most are put together."""


@dataclass(frozen=True, slots=True)
class LineChoice:
    """Lines for one variable. The lower its `rank`, the earlier it is tried."""

    rank: int
    items: Lines


@dataclass(frozen=True, slots=True)
class _ShiftValue:
    """A shift, its rank, and the use that it is made from."""

    rank: int
    shift: n.Expr
    use: NoiseUse | None


@dataclass(frozen=True, slots=True)
class _LineGuard:
    """A test (None: always), its rank, and the tags of the records that it is about."""

    rank: int
    test: n.Expr | None
    tags: tuple[str, ...] | None = None


def candidates(reading: ProgramReading, site: NoiseSite) -> list[LineChoice]:
    """The lines that may move a variable, none at all included, by rank."""
    if site.family.coin:
        return [LineChoice(0, ()), *(LineChoice(1, (line,)) for line in _turned(reading, site))]
    own = list(_OwnLines(reading, site).made())
    found: dict[Lines, int] = {}
    for rank, items in own:
        found[items] = min(rank, found.get(items, rank))
    return [LineChoice(rank, items) for items, rank in sorted(found.items(), key=lambda each: each[1])]


def _turned(reading: ProgramReading, site: NoiseSite) -> Iterator[n.Shift]:
    """A coin is turned over where an answer moves: the one at its own index, of a list."""
    own = n.Name(site.name) if site.index is None else n.Index(site.name, site.index)
    for group in reading.groups:
        for x in group.names:
            if group.vector and site.index is not None:
                moves = n.Compare("!=", n.Index(x, site.index), n.Index(x, site.index, True))
            elif group.vector:
                continue
            else:
                moves = n.Compare("!=", n.Name(x), n.Name(x, True))
            yield n.Shift(site.name, site.index, "=", n.Binary("-", ONE, own), moves)


# --- values -------------------------------------------------------------------------------------------------


class _OwnLines:
    """The candidates of one variable."""

    def __init__(self, reading: ProgramReading, site: NoiseSite) -> None:
        self.reading = reading
        self.site = site
        self.sizes = sizes(reading, site)
        self.keeps: list[tuple[n.Expr | None, NoiseUse]] = []
        self.moved: list[tuple[n.Expr | None, NoiseUse]] = []
        self.threshold = False
        self.signs: set[int] = set()
        for use in reading.uses:
            self._keep(use)
        self.selections = [
            (name, gather)
            for name, gather in reading.gathers.items()
            if gather.function in SELECTIONS and site.name in names_in(gather)
        ]

    def made(self) -> Iterator[tuple[int, Lines]]:
        """Ranks and lines."""
        yield (3 if self.threshold else 2), ()
        yield from ((0, (line,)) for line in self._ahead())
        guards = guards_for(self.reading, self.site, [name for name, _ in self.selections])
        by_tag: dict[str, list[tuple[int, n.Shift]]] = {}
        for value in self._values():
            for guard in guards:
                rank, line = self._rank(value, guard), self._line("+=", value.shift, guard.test)
                yield rank, (line,)
                if value.use is not None and value.use.kind == "test" and rank <= _OF_TWO:
                    for tag in set(value.use.tags) & set(guard.tags or ()):
                        by_tag.setdefault(tag, []).append((rank, line))
        # One draw that several tests read: which of them held tells how it moves.
        for (one, some), (other, more) in combinations(sorted(by_tag.items()), 2):
            for (r, line), (s, beside) in product(some, more):
                if one != other and line.guard != beside.guard:
                    yield r + s, (line, beside)
        for size in self.sizes:
            for guard in guards:
                if guard.test is not None and not isinstance(guard.test, n.Unary) and not self.selections:
                    up = self._line("+=", size, guard.test)
                    yield 7 + guard.rank, (up, self._line("-=", size, n.Unary("not", guard.test)))

    def _line(self, op: str, value: n.Expr, test: n.Expr | None) -> n.Shift:
        return n.Shift(self.site.name, self.site.index, op, value, test)

    def _rank(self, value: _ShiftValue, guard: _LineGuard) -> int:
        use = value.use
        if guard.test is None:
            told = self.threshold or (use is not None and use.kind in ("emit", "assign"))
            return value.rank + (0 if told else 3) + (3 if self.selections else 0)
        rank = value.rank + guard.rank + (3 if self.threshold else 0)
        beside = guard.tags is None or use is None or use.kind not in ("test", "emit")
        return rank if beside or set(guard.tags or ()) & set(use.tags if use else ()) else rank + 4

    def _keep(self, use: NoiseUse) -> None:
        """What keeps an expression in which this noise is the one that is drawn last."""
        mine = [place for place in use.noise if place.name == self.site.name]
        if not mine:
            return
        last = max(use.noise, key=lambda place: self.reading.sites[place.name].position)
        if use.kind == "test":
            up = mine[0].coefficient > 0
            self.signs.add(1 if up == (last.name == self.site.name) else -1)
        if last.name != self.site.name:
            self.threshold = True
            return
        rest: LinearForm = {}
        data: LinearForm = {}
        for part, k in use.form.items():
            if part == mine[0].part or any(part == other.part for other in mine[1:]):
                continue
            here = self._at_own_index(part, mine[0].index, use)
            # Another draw of the same variable is a rival: its difference is not ours to keep.
            if any(other.index is not None and other.index in subexpressions(here) for other in mine[1:]):
                continue
            here = self.reading.available(self.site, self.reading.by_answers(self.site, here))
            for e, times in self.reading.form(here).items() if here != part else ((here, Fraction(1)),):
                share = k / mine[0].coefficient * times
                rest[e] = rest.get(e, Fraction(0)) + share
                if not self.reading.noisy(names_in(e)):
                    data[e] = data.get(e, Fraction(0)) + share
        self.keeps.append((self.reading.lost(rest), use))
        self.moved.append((self.reading.lost(data), use))

    def _at_own_index(self, part: n.Expr, index: n.Expr | None, use: NoiseUse) -> n.Expr:
        binder = self.site.index
        if index is None or binder is None:
            return part
        if use.within is not None and index == n.Name(use.within.index):
            return with_other(part, n.Name(use.within.index), binder)
        return with_other(part, index, binder)

    def _values(self) -> list[_ShiftValue]:
        found = [*self._extrema(), *(_ShiftValue(0, e, use) for e, use in self.keeps if e is not None)]
        pairs = zip(self.moved, self.keeps, strict=True)
        found += [_ShiftValue(2, e, use) for (e, use), (kept, _) in pairs if e is not None and e != kept]
        for size in self.sizes:
            for made in (self.keeps, self.moved):
                for e, use in made:
                    rank = 1 if use.kind in ("test", "set") else 6
                    last = [place for place in use.noise if place.name == self.site.name]
                    sign = -1 if use.kind == "test" and last[0].coefficient < 0 else 1
                    found.append(_ShiftValue(rank, _moved_by(e, sign, size), use))
                    if made is self.keeps:
                        found.append(_ShiftValue(rank + 4, _moved_by(e, -sign, size), use))
            twice = n.Binary("*", TWO, size) if size != ONE else TWO
            for sign in (1, -1):
                # The way that makes tests hold, for noise drawn last in them; against it for a threshold.
                likely = sign in self.signs if self.signs else sign == 1
                once = 4 if not likely else 0 if self.threshold else 3
                found.append(_ShiftValue(once, _moved_by(None, sign, size), None))
                found.append(_ShiftValue(3 if likely else 6, _moved_by(None, sign, twice), None))
        if self.site.family.upward:
            found += [_ShiftValue(1, n.Call("max", (e, ZERO)), use) for e, use in self.keeps if e is not None]
            found += self._shares()
        unique: dict[tuple[n.Expr, tuple[str, ...]], _ShiftValue] = {}
        for value in sorted(found, key=lambda each: each.rank):
            unique.setdefault((value.shift, value.use.tags if value.use else ()), value)
        return list(unique.values())

    def _shares(self) -> Iterator[_ShiftValue]:
        """Of several one-sided noises in one released number each may take what points its way."""
        for use in self.reading.uses:
            mine = [place for place in use.noise if place.name == self.site.name]
            if len(use.noise) > 1 and mine and use.kind in ("emit", "assign"):
                data = {
                    self.reading.available(self.site, part): k / mine[0].coefficient
                    for part, k in use.form.items()
                    if not names_in(part) & self.reading.sites.keys()
                }
                moved = self.reading.lost(data)
                if moved is not None:
                    yield _ShiftValue(0, n.Call("max", (moved, ZERO)), None)

    def _extrema(self) -> Iterator[_ShiftValue]:
        """What is selected by keeps its distance to the greatest (least) of the others, which moves, too."""
        best = [name for name, gather in self.reading.gathers.items() if gather.function in ("max", "min")]
        for name in best:
            for e, use in (*self.keeps, *self.moved):
                if use.kind == "set" and (e is None or name not in names_in(e)):
                    yield _ShiftValue(1, _some(added(e, _difference(n.Name(name, True), n.Name(name)))), use)
        for gather in gathers_inline(self.reading.mechanism):
            named = self.site.name in names_in(gather)
            if gather.function in ("max", "min") and named and gather.where is not None:
                fresh = self.reading.fresh("l", "m", "p", "s")
                other = with_index(gather, fresh)
                moved = _difference(self.reading.primed(other, noise=False), other)
                for e, use in self.moved:
                    if use.kind == "set":
                        yield _ShiftValue(1, _some(added(e, moved)), use)

    def _ahead(self) -> Iterator[n.Shift]:
        """The same where a loop keeps the best so far, which a record tells, and more is released."""
        spec, index = self.reading.mechanism, self.site.index
        leaders, records = Leaders(spec), placed_records(spec)
        fields = [(n.OutField(at, f.name), f.value) for at, emit in records for f in emit.fields]
        held = [k for k in range(len(leaders.loops)) if leaders.keeps(k)] if index is not None else []
        for k, (told, value) in product(held, fields):
            places = [n.Name(x) for x in leaders.places(k)]
            others = any(self.reading.noisy(names_in(e)) for _, e in fields if e not in places)
            for g in leaders.selections(k) if value in places and others else ():
                rival = self.reading.fresh("l", "m", "p", "s")
                body = with_other(g.body, n.Name(g.index), n.Name(rival))
                left = n.Compare("!=", n.Name(rival), told)
                most = n.Gather(g.function.removeprefix("arg"), None, body, rival, _of_list(g), left)
                data = {
                    e: t for e, t in self.reading.form(g.body).items() if self.site.name not in names_in(e)
                }
                own = {with_other(e, n.Name(g.index), _some(index)): t for e, t in data.items()}
                moved = _difference(self.reading.primed(most, noise=False), most)
                value = _some(added(self.reading.lost(own), moved))
                yield self._line("+=", value, n.Compare("==", _some(index), told))


def _of_list(g: n.Gather) -> n.Indices | n.OverRange:
    """What a set runs over: all of a list, where its range is that."""
    over = g.over
    whole = isinstance(over, n.OverRange) and over.low == ZERO and isinstance(over.high, n.Call)
    if whole and isinstance(over, n.OverRange) and isinstance(over.high, n.Call):
        (of,) = over.high.args
        return n.Indices(of.ident) if isinstance(of, n.Name) else over
    return over


def _some(e: n.Expr | None) -> n.Expr:
    return ZERO if e is None else e


def _moved_by(e: n.Expr | None, sign: int, size: n.Expr) -> n.Expr:
    if sign > 0:
        return _some(added(size, e))
    return n.Unary("-", size) if e is None else n.Binary("-", e, size)


def _difference(left: n.Expr, right: n.Expr) -> n.Expr:
    return n.Binary("-", left, right)


def with_index(gather: n.Gather, index: str) -> n.Gather:
    """The set with another name for its index, and none for its entries."""
    old, new = n.Name(gather.index), n.Name(index)
    where = None if gather.where is None else with_other(gather.where, old, new)
    over = replace(gather.over, item=None) if isinstance(gather.over, n.Indices) else gather.over
    return replace(gather, body=with_other(gather.body, old, new), where=where, index=index, over=over)


def sizes(reading: ProgramReading, site: NoiseSite) -> list[n.Expr]:
    """How far answers move: declared sensitivities, widths of `clip`; where there is none, half of what the
    claim affords.
    """
    found: list[n.Expr] = []
    for group in reading.groups:
        size = group.sensitivity
        if size is not None and "i" in names_in(size):
            size = None if site.index is None else with_other(size, n.Name("i"), site.index)
        found += [] if size is None else [size]
    free = any(group.adjacency.free for group in reading.groups)
    for e in expressions_of(statements_in(reading.mechanism.body)):
        ends = e.args[1:] if isinstance(e, n.Call) and e.function == "clip" and (free or not found) else ()
        if ends and not any(map(reading.moves, ends)):
            found.append(_difference(ends[1], ends[0]))
    if not found:
        first, *_ = claimed_in(reading.mechanism.claim)
        half = n.Binary("/", n.Binary("*", first, site.scale), TWO)
        found.append(half)
    return list(dict.fromkeys(found))


# --- guards -------------------------------------------------------------------------------------------------


def guards_for(reading: ProgramReading, site: NoiseSite, selections: Iterable[str]) -> list[_LineGuard]:
    """When a line may be on: always, where the draw is selected, and as the records say that the program
    emits.
    """
    found = [_LineGuard(0, None)]
    for name in selections:
        gather = reading.gathers[name]
        one = gather.function not in n.SELECTING
        index = _some(site.index)
        found.append(_LineGuard(0, n.Compare("==", index, n.Name(name)) if one else n.Member(index, name)))
    chosen = [guard.test for guard in found if guard.test is not None]
    if len(chosen) > 1:
        found.append(_LineGuard(0, n.Logic("or", tuple(chosen))))
    found += _by_records(reading, site)
    found += _by_tests(reading, site)
    return list(dict.fromkeys(found))


def _by_records(reading: ProgramReading, site: NoiseSite) -> Iterator[_LineGuard]:
    tags: dict[str, n.Expr] = {}
    truths: dict[tuple[n.Expr, str], None] = {}
    for emit in reading.emits:
        inside = bool(site.loops) and emit.loops[: len(site.loops)] == site.loops
        inside = inside or any(reading.reads(site, loop) for loop in emit.loops)
        if site.loops and not inside:
            yield from _told_after(reading, site, emit)
            continue
        if (site.loops and site.index is None) or (emit.loops and not site.loops):
            continue
        yield from _counted(reading, site, emit)
        yield from _after_rounds(reading, site, emit)
        record = _record(reading, site, emit)
        tag = emit.statement.tag
        tags.setdefault(tag, record)
        others = sum(each.statement.tag == tag for each in reading.emits) != 1
        for each in emit.statement.fields:
            field = n.OutField(record, each.name)
            if site.loops and isinstance(each.value, n.Number) and (others or len(reading.emits) == 1):
                yield _LineGuard(0, n.Compare("==", field, each.value), (tag,))
            if site.loops and each.value == site.index and site.index is not None:
                first = n.Compare("==", n.OutField(ZERO, each.name), site.index)
                yield _LineGuard(1, n.Logic("and", (n.OutIs(ZERO, tag), first)), (tag,))
            if _is_truth(reading, each.value):
                truths.setdefault((record, each.name))
            yield from _bounded(reading, emit, each.value, field)
    if len(tags) > 1:
        for tag, record in tags.items():
            yield _LineGuard(0, n.OutIs(record, tag), (tag,))
            yield _LineGuard(3, n.Unary("not", n.OutIs(record, tag)))
    for record, name in truths:
        yield _LineGuard(0, n.OutField(record, name))
        yield _LineGuard(1, n.Unary("not", n.OutField(record, name)))


def _counted(reading: ProgramReading, site: NoiseSite, emit: EmitPlace) -> Iterator[_LineGuard]:
    """A record of some rounds only, which the program itself counts, and which shows the round."""
    if not site.loops or site.index is None:
        return
    for number in reading.counted_with(emit):
        for each in emit.statement.fields:
            if each.value == site.index:
                shown = n.Compare("==", n.OutField(number, each.name), site.index)
                tag = emit.statement.tag
                yield _LineGuard(0, n.Logic("and", (n.OutIs(number, tag), shown)), (tag,))


def _after_rounds(reading: ProgramReading, site: NoiseSite, emit: EmitPlace) -> Iterator[_LineGuard]:
    """A record of each round, after the rounds of another loop, which the program counts."""
    before = any(
        other.loops and other.loops != emit.loops and other.position < site.position
        for other in reading.emits
    )
    if not before or not site.loops or site.index is None:
        return
    for name, values in reading.assigned.items():
        up = n.Binary("+", n.Name(name), ONE)
        if set(values) == {ZERO, up} and max(reading.assigned_at[name]) < site.position:
            number = n.Binary("+", n.Name(name), site.index)
            yield _LineGuard(0, n.OutIs(number, emit.statement.tag), (emit.statement.tag,))


def _told_after(reading: ProgramReading, site: NoiseSite, emit: EmitPlace) -> Iterator[_LineGuard]:
    """A record after the loop that shows an index."""
    before = _emitted_before(reading, emit.position)
    for each in emit.statement.fields:
        held = reading.assigned.get(each.value.ident, ()) if isinstance(each.value, n.Name) else ()
        index = any(isinstance(e, n.Name) and e.ident in reading.loop_indices for e in held)
        chosen = any(isinstance(e, n.Gather) and e.function.startswith("arg") for e in (each.value, *held))
        if site.index is not None and (index or chosen or each.value == site.index):
            shown: n.Expr = n.Compare("==", n.OutField(before, each.name), site.index)
            tag = emit.statement.tag
            if any(other.statement.tag != tag for other in reading.emits):
                shown = n.Logic("and", (n.OutIs(before, tag), shown))
            yield _LineGuard(0, shown)


def _emitted_before(reading: ProgramReading, position: int) -> n.Number:
    return n.Number(Fraction(sum(each.position < position and not each.loops for each in reading.emits)))


def _record(reading: ProgramReading, site: NoiseSite, emit: EmitPlace) -> n.Expr:
    """The number of the record that a draw comes with."""
    if not site.loops or site.index is None:
        return _emitted_before(reading, emit.position)
    before = _emitted_before(reading, emit.loops[0] if emit.loops else site.position)
    return n.Binary("+", site.index, before) if before.value else site.index


def _is_truth(reading: ProgramReading, e: n.Expr) -> bool:
    if isinstance(e, n.Name):
        return any(_is_truth(reading, value) for value in reading.assigned.get(e.ident, ()) if value != e)
    return is_truth(e)


def _bounded(reading: ProgramReading, emit: EmitPlace, value: n.Expr, field: n.Expr) -> Iterator[_LineGuard]:
    """A released number that a test of the program holds against a public one."""
    several = sum(each.statement.tag == emit.statement.tag for each in reading.emits) > 1
    for chosen, number in emit.arms:
        for at, branch in enumerate(chosen.branches[: number + 1]):
            test = branch.test
            if (
                several
                and isinstance(test, n.Compare)
                and test.left == value
                and not reading.moves(test.right)
            ):
                told = n.Compare(test.op, field, test.right)
                yield _LineGuard(0, told if at == number else n.Unary("not", told))
    for test in reading.tests:
        if (
            isinstance(test, n.Compare)
            and test.left == value
            and isinstance(value, n.Name)
            and not reading.moves(test.right)
        ):
            yield _LineGuard(1, n.Compare(test.op, field, test.right))


def _by_tests(reading: ProgramReading, site: NoiseSite) -> Iterator[_LineGuard]:
    """Tests of the program without noise, under which the draw is used; a counter's public limit."""
    for statement in statements_in(reading.mechanism.body):
        if not isinstance(statement, n.If):
            continue
        for branch in statement.branches:
            test = branch.test
            inside = any(site.name in own_names(s) for s in statements_in(branch.body))
            if (
                inside
                and not site.loops
                and names_in(test) & reading.assigned.keys()
                and not reading.noisy(names_in(test))
            ):
                yield _LineGuard(0, test)
            if isinstance(test, n.Compare) and test.op in (">=", "==") and site.index is not None:
                counter, limit = names_in(test.left), names_in(test.right)
                counts = counter <= reading.assigned.keys() - reading.moving and limit <= reading.inputs
                if counts and isinstance(test.left, n.Name) and isinstance(test.right, n.Name):
                    yield _LineGuard(1, n.Compare("<", site.index, test.right))


# --- whole alignments ---------------------------------------------------------------------------------------


def exchanges(reading: ProgramReading) -> Iterator[Lines]:
    """One-sided selection with gaps: where the winners would have to move down, the best of the others moves
    up instead (dissertation, section 5.5.2, with the loser that is largest under D; see docs/design.md,
    section 1).
    """
    for chosen, gather in reading.gathers.items():
        if gather.function not in ("top", "upto", "argmax"):
            continue
        for best, other in reading.gathers.items():
            drawn = [name for name in reading.sites if name in names_in(gather.body)]
            same = other.function == "max" and other.body == with_index(gather, other.index).body
            if same and len(drawn) == 1 and reading.sites[drawn[0]].binder is not None:
                yield from _exchanged(reading, reading.sites[drawn[0]], chosen, gather, best)


def _exchanged(
    reading: ProgramReading, site: NoiseSite, chosen: str, gather: n.Gather, best: str
) -> Iterator[Lines]:
    index = _some(site.index)
    one = gather.function == "argmax"
    form = {part: k for part, k in reading.form(gather.body).items() if site.name not in names_in(part)}

    def moved(at: n.Expr) -> n.Expr:
        return _some(
            reading.lost({with_other(part, n.Name(gather.index), at): k for part, k in form.items()})
        )

    def inside(at: n.Expr) -> n.Expr:
        return n.Compare("==", at, n.Name(chosen)) if one else n.Member(at, chosen)

    def outside(at: n.Expr) -> n.Expr:
        return n.Compare("!=", at, n.Name(chosen)) if one else n.Unary("not", n.Member(at, chosen))

    winner, loser = (reading.fresh(*each) for each in (("w", "p"), ("l", "m")))
    others = replace(with_index(gather, loser), count=None, where=outside(n.Name(loser)))
    raised = replace(others, function="max", body=reading.primed(others.body, noise=False))
    gained = _difference(raised, n.Name(best))
    first = replace(others, function="argmax")
    least: n.Expr = replace(
        gather,
        function="min",
        count=None,
        body=moved(n.Name(winner)),
        index=winner,
        where=inside(n.Name(winner)),
    )
    for fall in (moved(n.Name(chosen)), least) if one else (least,):
        test = n.Compare(">=", _some(added(fall, gained)), ZERO)
        up = n.Shift(site.name, index, "+=", _some(added(moved(index), gained)), inside(index))
        kept = n.Shift(site.name, index, "+=", _difference(moved(index), fall), inside(index))
        lifted = n.Shift(
            site.name, index, "+=", _difference(moved(index), fall), n.Compare("==", index, first)
        )
        alone = one and fall is not least
        yield (n.CaseSplit((n.Case(test, (up,)),), (lifted,) if alone else (kept, lifted)),)
