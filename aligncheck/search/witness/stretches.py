"""What a program does between two loop heads, read off its text: values in terms of those at the first one.

Nothing here needs to be believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from aligncheck.kernel.witness import own
from aligncheck.language.families import Slope
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.search.witness.line_costs import costs_of, definitions, moved_at_most, repeated, resolved
from aligncheck.search.witness.totals import ONE, ZERO, Amount, added, length_of, total

MANY = 64
"""So many ways are followed at once, and so many sums of costs are told apart."""
_FEW = 6

RECORDS = "$records"
Loop = n.For | n.While


@dataclass(frozen=True)
class MovedDraw:
    """A draw: its arguments and its index, and what its lines cost there, in each case of the alignment."""

    stmt: n.Sample
    args: tuple[n.Expr, ...]
    index: n.Expr | None
    cases: tuple[tuple[tuple[n.Shift, Amount | None], ...], ...]

    @property
    def lines(self) -> Iterator[n.Shift]:
        """Those of all cases."""
        return (line for case in self.cases for line, _ in case)


@dataclass(frozen=True)
class Passage:
    """From the head of loop `origin` (-1: the start) so far. `values` are those that changed, by name; None
    is not known. `spent` is what calls and inner loops cost, each of them one of several amounts.
    """

    origin: int
    values: Mapping[str, n.Expr] = field(default_factory=dict)
    tests: tuple[tuple[n.Expr, bool], ...] = ()
    draws: tuple[MovedDraw, ...] = ()
    tags: tuple[str, ...] = ()
    spent: tuple[Amount, ...] = (Amount(),)
    after: int | None = None
    since: tuple[Amount, ...] = (Amount(),)

    def value(self, name: str) -> n.Expr:
        """What a name stands for."""
        return self.values.get(name, n.Name(name))

    def chosen(self, e: n.Expr) -> n.Expr:
        """An expression of which the choices are made that the tests here settle."""
        e = walk.with_parts(e, tuple(map(self.chosen, walk.parts_of(e))))
        held = dict(self.tests).get(e.test) if isinstance(e, n.Conditional) else None
        if held is None or not isinstance(e, n.Conditional):
            return e
        return e.then if held else e.otherwise

    def costs(self) -> tuple[Amount, ...]:
        """What this may have cost."""
        return _sums(self.spent, self._moved(self.draws))

    def costs_since(self) -> tuple[Amount, ...]:
        """The same since the last inner loop."""
        return _sums(self.since, self._moved(self.draws))

    def _moved(self, draws: tuple[MovedDraw, ...]) -> tuple[Amount, ...]:
        found: tuple[Amount, ...] = (Amount(),)
        for draw in draws:
            found = _sums(found, distinct([c for case in draw.cases for c in self._of_lines(case)]))
        return found

    def _of_lines(self, lines: tuple[tuple[n.Shift, Amount | None], ...]) -> list[Amount]:
        sure, open_ = Amount(), []
        for line, cost in lines:
            on = True if line.guard is None else self.truth(line.guard)
            if cost is None or on is False:
                continue
            if on:
                sure += cost
            else:
                open_.append(cost)
        options = [sure, *(sure + c for c in open_)]
        return [*options, added([sure, *open_])] if len(open_) > 1 else options

    def truth(self, e: n.Expr) -> bool | None:
        """Whether a test of the alignment holds, where this stretch tells: records are taken for its own."""
        if isinstance(e, n.OutIs) and e.of == "out" and self.tags:
            return e.tag in self.tags
        if isinstance(e, n.Unary) and e.op == "not":
            found = self.truth(e.operand)
            return None if found is None else not found
        if isinstance(e, n.Logic):
            each, decides = [self.truth(a) for a in e.args], e.op == "or"
            return decides if decides in each else None if None in each else not decides
        known = resolved(e, self.values)
        return next((held for test, held in self.tests if test == known), None)


def read_from(spec: n.Mechanism) -> list[frozenset[str]]:
    """For each loop the names of which the value at its head may be read later on: of others, which a round
    gives a value before it reads it, no line helps. What the alignment reads is always among them.
    """
    asked = (*walk.align_expressions(spec.align), *walk.claimed_in(spec.claim))
    always = frozenset(x for e in asked for x in walk.names_in(e))
    found: dict[int, frozenset[str]] = {}

    def before(body: tuple[n.Stmt, ...], after: frozenset[str], left: frozenset[str]) -> frozenset[str]:
        """What is read from a block on, where that is read which follows, or where it leaves its loop."""
        for stmt in reversed(body):
            own_names = frozenset(x for e in walk.own_expressions(stmt) for x in walk.names_in(e))
            match stmt:
                case n.Break():
                    after = left
                case n.Assign(name=name):
                    after = after - {name} | own_names
                case n.If():
                    after = own_names.union(*(before(arm, after, left) for arm in stmt.arms))
                case n.For(body=inner) | n.While(body=inner):
                    head, known = after | own_names, frozenset[str]()
                    while head != known:
                        known, head = head, head | before(inner, head, after)
                    found[id(stmt)] = after = head
                case n.Simple():
                    after |= own_names
        return after

    before(spec.body, always, always)
    loops = (s for s in walk.statements_in(spec.body) if isinstance(s, n.For | n.While))
    return [found[id(loop)] | always for loop in loops]


def _sums(one: tuple[Amount, ...], other: tuple[Amount, ...]) -> tuple[Amount, ...]:
    return distinct((a + b for a in one for b in other), MANY)


def distinct(found: Iterable[Amount], most: int | None = None) -> tuple[Amount, ...]:
    """Each once, only the first of them if there is a most."""
    kept: list[Amount] = []
    for each in found:
        if len(kept) == most:
            break
        if each not in kept:
            kept.append(each)
    return tuple(kept)


class Stretches:
    """All stretches of one program."""

    def __init__(self, spec: n.Mechanism) -> None:
        self.spec = spec
        self.loops = [s for s in walk.statements_in(spec.body) if isinstance(s, n.For | n.While)]
        self.numbers = {id(s): k for k, s in enumerate(self.loops)}
        self.costs = costs_of(spec)
        self.defined = definitions(spec)
        self.read = read_from(spec)
        self.lines = list(walk.shifts_in(spec.align))
        known = {id(line): cost for line, cost in zip(self.lines, self.costs, strict=True)}
        self.cases = [[(line, known[id(line)]) for line in case] for case in _cases(spec.align)][:MANY]
        groups = [item for item in spec.inputs if isinstance(item, n.Queries)]
        moves = any(g.adjacency.ways or g.adjacency.in_all for g in groups)
        self.kinds = (True, False) if moves else (True,)  # where one answer moves a line may cost less
        self.entries: dict[int, list[Passage]] = {k: [] for k in range(len(self.loops))}
        self.rounds: dict[int, list[Passage]] = {k: [] for k in range(len(self.loops))}
        self.leaving: dict[int, list[Passage]] = {k: [] for k in range(len(self.loops))}
        self.ends = self._run(spec.body, [Passage(-1)])[0]

    # --- names --------------------------------------------------------------------------------------------

    def index_of(self, k: int) -> str:
        """What the kernel calls the index of a loop."""
        stmt = self.loops[k]
        return stmt.index if isinstance(stmt, n.For) and stmt.index is not None else f"$round_{k}"

    def changed(self, k: int) -> list[str]:
        """The variables, and what is counted, that a loop changes."""
        found: dict[str, None] = {}
        for s in walk.statements_in(self.loops[k].body):
            if isinstance(s, n.Assign):
                found[s.name] = None
            if isinstance(s, n.Emit):
                found[RECORDS] = found[f"$count_{s.tag}"] = None
        return list(found)

    def at_entry(self, k: int, entry: Passage, x: str) -> n.Expr | None:
        """The value of a name at the entry to a loop, in words of its head."""
        value = entry.values.get(x)
        if value is None:
            value = n.Name(x) if entry.origin >= 0 else ZERO if x[0] == "$" else None
        return None if value is None else self.told(k, entry.origin, value)

    def told(self, k: int, origin: int, e: n.Expr) -> n.Expr:
        """An expression in words of the head `origin` in those of the head of a loop."""
        changed = {*self.changed(k), self.index_of(k)}
        known = {x: n.Name(own("head", origin, x)) for x in changed} if origin >= 0 else {}
        return resolved(e, known)

    # --- running ------------------------------------------------------------------------------------------

    def _run(self, body: tuple[n.Stmt, ...], ways: list[Passage]) -> tuple[list[Passage], list[Passage]]:
        """Those that reach the end of a block, and those that leave by `break`."""
        left: list[Passage] = []
        for stmt in body:
            ways = ways[:MANY]
            match stmt:
                case n.If(branches=branches, otherwise=otherwise):
                    done: list[Passage] = []
                    for branch in branches:
                        inner = [_tested(w, branch.test, True) for w in ways]
                        some, out = self._run(branch.body, inner)
                        done, left = done + some, left + out
                        ways = [_tested(w, branch.test, False) for w in ways]
                    some, out = self._run(otherwise, ways)
                    ways, left = done + some, left + out
                case n.For() | n.While():
                    ways = self._looped(stmt, ways)
                case n.Break():
                    return [], left + ways
                case n.Assign(value=value):
                    tests = [e.test for e in walk.subexpressions(value) if isinstance(e, n.Conditional)]
                    for test in tests:
                        ways = [_tested(w, test, held) for w in ways for held in (True, False)]
                    ways = [self._step(stmt, w) for w in ways]
                case n.Simple() | n.Sampling() | n.Repeat() | n.Pass():
                    ways = [self._step(stmt, w) for w in ways]
        return ways, left

    def _step(self, stmt: n.Stmt, way: Passage) -> Passage:
        match stmt:
            case n.Assign(name=x, value=value):
                return replace(way, values={**way.values, x: way.chosen(resolved(value, way.values))})
            case n.Sample(name=x, index=index, args=args):
                cases = tuple(
                    tuple(
                        (line, self._cost(cost if told else None, stmt, way))
                        for line, cost in case
                        if line.name == x
                    )
                    for told in self.kinds
                    for case in self.cases
                )
                at = None if index is None else resolved(index, way.values)
                made = MovedDraw(stmt, tuple(resolved(a, way.values) for a in args), at, cases)
                return replace(way, draws=(*way.draws, made))
            case n.Emit(tag=tag):
                values = dict(way.values)
                for x in (RECORDS, f"$count_{tag}"):
                    values[x] = (
                        (total(way.value(x)) + total(ONE)).expression()
                        if x in values
                        else (n.Binary("+", n.Name(x), ONE) if way.origin >= 0 else ONE)
                    )
                return replace(way, values=values, tags=(*way.tags, tag))
            case n.Invoke(mechanism=called, arguments=arguments, rounds=rounds):
                use = next((u for u in self.spec.uses if u.name == called), None)
                contract = None if use is None else use.contract
                if contract is None:
                    return way
                given = {a.name: resolved(a.value, way.values) for a in arguments}
                claimed = contract.mechanism.claim
                bounds = walk.claimed_in(claimed)
                claim = resolved(bounds[-1 if isinstance(claimed, n.Pure) else 0], given)
                cost = (total(resolved(repeated(claim, rounds), way.values)),)
                return replace(way, spent=_sums(way.spent, cost), since=_sums(way.since, cost))
            case n.If() | n.Repeat() | n.Sampling() | n.Empty():
                return way

    def _cost(self, cost: n.Expr | None, draw: n.Sample, way: Passage) -> Amount | None:
        """What a line costs at most; where that is not told, as much as an answer that moves most."""
        if cost is not None:
            return total(resolved(_cheapest(cost), way.values))
        sizes = [moved_at_most(item) for item in self.spec.inputs if isinstance(item, n.Queries)]
        size = next((each for each in sizes if each is not None), None)
        if size is None or draw.family.row.slope is not Slope.SCALE:
            return None
        return total(size).over(total(resolved(draw.args[0], way.values)))

    def _looped(self, stmt: Loop, ways: list[Passage]) -> list[Passage]:
        k = self.numbers[id(stmt)]
        self.entries[k] += ways
        start = Passage(k, self.defined)
        if isinstance(stmt, n.While):
            start = _tested(start, stmt.test, True)
        rounds, leaving = self._run(stmt.body, [start])
        index = self.index_of(k)
        if isinstance(stmt, n.For):
            rounds = [
                replace(r, values={**r.values, index: n.Binary("+", n.Name(index), ONE)}) for r in rounds
            ]
        self.rounds[k] = rounds
        self.leaving[k] = leaving
        held = {x: n.Name(own("head", k, x)) for x in self.changed(k)}
        spent = self._often(stmt, distinct([c for r in (*rounds, *leaving) for c in r.costs()]))
        outs = [
            Passage(k, {**self.defined, **held}),
            *(replace(w, values={**held, **w.values}) for w in leaving),
        ]
        found: list[Passage] = []
        for way in ways[:_FEW]:
            for out in outs[:_FEW]:
                values = {x: self._kept(k, e) for x, e in out.values.items()}
                found.append(
                    Passage(
                        way.origin,
                        {**way.values, **values},
                        way.tests,
                        tags=(*way.tags, *out.tags),
                        spent=_sums(way.costs(), spent) if way.origin >= 0 else (Amount(),),
                        after=k,
                        since=distinct([total(self._kept(k, c.expression())) for c in out.costs()]),
                    )
                )
        return found

    def _kept(self, k: int, e: n.Expr) -> n.Expr:
        """An expression in words of a loop's head in those of what comes after the loop."""
        names = {*self.changed(k), self.index_of(k)}
        return resolved(e, {x: n.Name(own("head", k, x)) for x in names})

    def _often(self, stmt: Loop, once: tuple[Amount, ...]) -> tuple[Amount, ...]:
        """What all rounds of an inner loop may cost: as much as one, or each the same."""
        some = [c for c in once if c.parts][:4]
        often = total(length_of(stmt.over)) if isinstance(stmt, n.For) else None
        return (Amount(), *some, *((c * often for c in some) if often is not None else ()))


def _tested(way: Passage, test: n.Expr, held: bool) -> Passage:
    return replace(way, tests=(*way.tests, *_known(resolved(test, way.values), held)))


def _known(test: n.Expr, held: bool) -> Iterator[tuple[n.Expr, bool]]:
    yield test, held
    if isinstance(test, n.Unary) and test.op == "not":
        yield from _known(test.operand, not held)
    if isinstance(test, n.Logic) and (test.op == "and") is held:
        for each in test.args:
            yield from _known(each, held)


def _cheapest(cost: n.Expr) -> n.Expr:
    """Of a cost that is nothing at one index what it is elsewhere."""
    return cost.otherwise if isinstance(cost, n.Conditional) else cost


def _cases(items: tuple[n.AlignItem, ...]) -> list[list[n.Shift]]:
    """The lines that are used together."""
    found: list[list[n.Shift]] = [[]]
    for item in items:
        more = [[item]] if isinstance(item, n.Shift) else []
        if isinstance(item, n.CaseSplit):
            more = [c for arm in (*(each.items for each in item.cases), item.otherwise) for c in _cases(arm)]
        found = [[*one, *other] for one in found for other in more][:MANY]
    return found
