"""Witnesses for claims in ε and δ, or in ρ, and for those with coins, read off the text of a spec: what calls
and draws cost, added up.

Nothing here needs to be believed: lines that the kernel does not show are left out (`shown_lines`), and what
is left is put to the kernel itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from itertools import product as product_of

from aligncheck.effort import Effort
from aligncheck.kernel.witness import LoopWitness, Witness, own
from aligncheck.language.families import Slope
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.weights import log_of
from aligncheck.search.witness import added_up, line_costs
from aligncheck.search.witness.added_up import primed
from aligncheck.search.witness.candidates import Candidates
from aligncheck.search.witness.found import shown_lines
from aligncheck.search.witness.guess import marks_of, measures
from aligncheck.search.witness.line_costs import half_square, product, repeated, resolved
from aligncheck.search.witness.more_lines import MoreLines
from aligncheck.search.witness.plain import plain
from aligncheck.search.witness.sorting import kernel_sorts, with_sorts
from aligncheck.search.witness.stretches import Stretches
from aligncheck.search.witness.totals import COST, ONE, ZERO, ends_of, length_of, low_of, plus, size_of, total

DELTA = n.Name("$delta")
_NAMED = n.Assign | n.Invoke
MANY = 24
"""So many bounds of the cost are tried for one loop, and so many of the whole."""


def witnesses(spec: n.Mechanism, callees: Mapping[str, Witness], effort: Effort) -> Iterator[Witness]:
    """Witnesses to try: costs as they are claimed; and for a claim of ε and δ in ρ, with each bound of the
    whole. Then the same with what is known of all values. Raises TooManyPathsError.
    """
    bare = plain(spec)
    first = list(_witnesses(bare, callees))
    yield from _paid_first(spec, first, effort)
    stretches = Stretches(bare)
    every = [Candidates(bare, stretches, k) for k in range(len(stretches.loops))]
    more = [[e for g in c.values() if g.early for e in g.lines] for c in every]
    further = []
    for witness in first if any(more) else ():
        pairs = zip(witness.loops, more, strict=True)
        loops = (replace(w, early=tuple(dict.fromkeys((*w.early, *lines)))) for w, lines in pairs)
        further.append(replace(witness, loops=tuple(loops)))
    yield from _paid_first(spec, further, effort)


def _paid_first(spec: n.Mechanism, tried: Iterable[Witness], effort: Effort) -> Iterator[Witness]:
    """Those with which the claim follows, then the others: all with those lines only that are shown."""
    others = []
    for witness in tried:
        found = shown_lines(spec, with_sorts(spec, witness), effort)
        if found.paid:
            yield found.witness
        else:
            others.append(found.witness)
    yield from others


def _witnesses(spec: n.Mechanism, callees: Mapping[str, Witness]) -> Iterator[Witness]:
    called = {type(contract_of(use).mechanism.claim) for use in spec.uses}
    drawn = {s.family.row.slope for s in walk.statements_in(spec.body) if isinstance(s, n.Sample)}
    if not isinstance(spec.claim, n.Approximate):
        for coin in _coins(spec):
            yield _witness(spec, callees, isinstance(spec.claim, n.Concentrated), None, coin)
    elif n.Concentrated not in called and Slope.SIGMA not in drawn:
        yield _witness(spec, callees, squares=False, rho=None)
    if isinstance(spec.claim, n.Approximate):
        found = _Costs(spec, squares=True)
        public = {x for i in spec.inputs for x in i.names}
        bounds = [e for e in dict.fromkeys(found.whole()) if walk.names_in(e) <= public]
        slacks = list(_slacks(spec.claim.delta)) if n.Approximate in called else [None]
        for bound, slack in islice(product_of(bounds, slacks), MANY):
            yield replace(_witness(spec, callees, squares=True, rho=bound), slack=slack)


def _slacks(delta: n.Expr) -> Iterator[n.Expr]:
    """What the conversion may take of a δ, where calls take the rest."""
    terms = [part for part, plus in walk.signed_terms(delta) if plus]
    yield from reversed(terms) if len(terms) > 1 else ()
    yield n.Binary("/", delta, n.Number(Fraction(2)))


def promised(spec: n.Mechanism, witness: Witness) -> Witness:
    """The witness with how many records there are, if that follows from the text, and bounds of indices."""
    stmts = list(walk.statements_in(spec.body))
    chosen = {s.name: (ZERO, ends_of(s.weights.over)[1]) for s in stmts if isinstance(s, n.Choose)}
    fields = (f for s in stmts if isinstance(s, n.Emit) for f in s.fields)
    told = {f.name: f.value.ident for f in fields if isinstance(f.value, n.Name) and f.value.ident in chosen}
    within = tuple((f, *chosen[told[f]]) for f in sorted(told))
    loops = [s for s in stmts if isinstance(s, n.For | n.While)]
    made = tuple(
        replace(kept, early=(*kept.early, n.Compare("==", n.Name("$records"), n.Name(loop.index))))
        if isinstance(loop, n.For) and loop.index is not None and _records(loop.body) == ONE
        else kept
        for loop, kept in zip(loops, witness.loops, strict=True)
    )
    return replace(witness, loops=made, length=_records(spec.body), within=within)


def _records(body: Iterable[n.Stmt]) -> n.Expr | None:
    """How many records a block releases: None where a test decides that."""
    found: list[n.Expr] = []
    for stmt in body:
        inside = tuple(walk.statements_in((stmt,)))
        if not any(isinstance(s, n.Emit) for s in inside):
            continue
        each = _records(stmt.body) if isinstance(stmt, n.For) else ONE if isinstance(stmt, n.Emit) else None
        if each is None or any(isinstance(s, n.Break) for s in inside):
            return None
        found.append(_times(length_of(stmt.over), each) if isinstance(stmt, n.For) else each)
    return plus(found)


def _coins(spec: n.Mechanism) -> Iterator[tuple[n.Expr, n.Expr]]:
    """What a coin may cost, where on D it has the chance of one arm and on D' that of the other, and the
    other way round: all that is claimed; by the chances of both sides; or what a power of e in its chance
    bounds.
    """
    claimed = spec.claim.epsilon if isinstance(spec.claim, n.Pure) else ZERO
    yield claimed, claimed
    chances = list(_chances(spec).values())
    arms = [e for p in chances for e in walk.subexpressions(p) if isinstance(e, n.Conditional)]
    for e in dict.fromkeys(arms):
        up, down = (
            n.Binary("-", *(log_of(x) for x in each))
            for each in ((e.then, e.otherwise), (_rest(e.otherwise), _rest(e.then)))
        )
        yield up, down
        yield n.Unary("-", down), n.Unary("-", up)
    powers = (e for p in chances for e in walk.subexpressions(p) if isinstance(e, n.Call))
    for power in dict.fromkeys(e.args[0] for e in powers if e.function == "exp"):
        yield power, power


def _chances(spec: n.Mechanism) -> dict[n.Sample, n.Expr]:
    """The chance of each coin, in words of what its round began with."""
    stmts = added_up.with_values(spec.body, {})
    return {s: resolved(s.args[0], known) for s, known in stmts if isinstance(s, n.Sample) and s.family.coin}


def _rest(chance: n.Expr) -> n.Expr:
    """The chance of the other side."""
    if isinstance(chance, n.Binary) and (chance.op, chance.left) == ("-", ONE):
        return chance.right
    if not isinstance(chance, n.Binary) or chance.op != "/":
        return n.Binary("-", ONE, chance)
    side, whole = chance.left, chance.right
    if isinstance(whole, n.Binary) and whole.op == "+" and side in (whole.left, whole.right):
        return replace(chance, left=whole.right if side == whole.left else whole.left)
    return replace(chance, left=(total(whole) - total(side)).expression())


def _witness(
    spec: n.Mechanism,
    callees: Mapping[str, Witness],
    squares: bool,
    rho: n.Expr | None,
    coin: tuple[n.Expr, n.Expr] = (ZERO, ZERO),
) -> Witness:
    costs = _Costs(spec, squares, coin)
    loops = tuple(
        LoopWitness(
            tuple(costs.known_at(k, costs.early(k))),
            tuple(costs.known_at(k, costs.both(k))),
            next(iter(measures(loop)), None) if isinstance(loop, n.While) else None,
        )
        for k, loop in enumerate(costs.loops)
    )
    return Witness(loops, sample=_sample(spec), callees=callees, rho=rho)


def _sample(spec: n.Mechanism) -> tuple[tuple[str, Fraction], ...]:
    """Values for what is declared beside logarithms: 1/2 for a δ and in a logarithm, and 1 for the rest."""
    delta = walk.names_in(spec.claim.delta) if isinstance(spec.claim, n.Approximate) else frozenset()
    clauses = [i.where for i in spec.inputs if isinstance(i, n.Parameter) and i.where is not None]
    logs = {
        e: [p for p in walk.subexpressions(e) if isinstance(p, n.Call) and p.function == "ln"]
        for e in clauses
    }
    delta |= {x for inside in logs.values() for p in inside for x in walk.names_in(p)}
    names = sorted({x for e, inside in logs.items() if inside for x in walk.names_in(e)})
    return tuple((x, Fraction(1, 2 if x in delta else 1)) for x in names)


class _Costs(MoreLines):
    """Lines about one spec."""

    def __init__(self, spec: n.Mechanism, squares: bool, coin: tuple[n.Expr, n.Expr] = (ZERO, ZERO)) -> None:
        super().__init__(spec)
        self.squares, self.coin, self.chances = squares, coin, _chances(spec)
        self.sorts = kernel_sorts(spec)
        self.uses = {use.name: contract_of(use).mechanism for use in spec.uses}
        self.drawn = {s.name: s for s in self.everything if isinstance(s, n.Sample)}
        self.public = {i.name for i in spec.inputs if not isinstance(i, n.Queries)}
        self.public |= {s.index for s in self.everything if isinstance(s, n.For) and s.index is not None}

    # --- one statement ---

    def _price(self, stmt: n.Stmt) -> n.Expr:
        """What a call or a draw costs each time."""
        if isinstance(stmt, n.Invoke):
            claim = self.uses[stmt.mechanism].claim
            given = {a.name: resolved(a.value, self.defined) for a in stmt.arguments}
            first = resolved(walk.claimed_in(claim)[0 if not isinstance(claim, n.Pure) else -1], given)
            first = resolved(repeated(first, stmt.rounds), self.defined)
            return half_square(first) if self.squares and not isinstance(claim, n.Concentrated) else first
        if isinstance(stmt, n.Sample) and stmt.family.coin:
            known = walk.names_in(self.chances[stmt]) <= self.public | self.drawn.keys()
            moved = any(line.name == stmt.name for line in walk.shifts_in(self.spec.align))
            return ZERO if known and not moved else self.coin[0]
        if isinstance(stmt, n.Sample):
            return plus(
                self._moved(line) for line in walk.shifts_in(self.spec.align) if line.name == stmt.name
            )
        return ZERO

    def _moved(self, line: n.Shift) -> n.Expr:
        draw = self.drawn[line.name]
        draw = replace(draw, args=tuple(resolved(a, self.defined) for a in draw.args))
        cost = line_costs.cost_of(self.spec, line, draw)
        return ZERO if cost is None else half_square(cost) if self.squares else cost

    def _delta(self, stmt: n.Stmt) -> n.Expr:
        """The δ of a call."""
        if isinstance(stmt, n.Invoke) and isinstance(claim := self.uses[stmt.mechanism].claim, n.Approximate):
            return resolved(claim.delta, {a.name: resolved(a.value, self.defined) for a in stmt.arguments})
        return ZERO

    # --- loops ---

    def known_at(self, k: int, lines: Iterable[n.Expr]) -> Iterator[n.Expr]:
        """Those lines, each once, that speak of nothing but what has a value at the head of a loop."""
        first = {s.name: at for at, s in reversed(list(enumerate(self.everything))) if isinstance(s, _NAMED)}
        here = next(at for at, s in enumerate(self.everything) if s is self.loops[k])
        late = {x for x, at in first.items() if at > here and x not in self.drawn}
        return (line for line in dict.fromkeys(lines) if not walk.names_in(line) & late)

    def early(self, k: int) -> Iterator[n.Expr]:
        """Lines of every run: numbers that are never negative, besides those of all claims."""
        yield from super().early(k)
        loop, index = self.loops[k], self._index(k)
        for s in self.inside[k]:
            if isinstance(s, n.Sample) and isinstance(loop, n.For) and s.index == n.Name(loop.index or ""):
                yield n.Compare("==", n.Name(f"$drawn_{s.name}"), index)
        for x in self._changed(k):
            yield n.Compare(">=", n.Name(x), ZERO)
        branches = (b.test for s in self.inside[k] if isinstance(s, n.If) for b in s.branches)
        for test in (e for whole in branches for e in walk.subexpressions(whole)):
            if isinstance(test, n.Compare) and test.op in ("<", "<=", ">", ">="):
                sides = (test.left, test.right) if test.op in ("<", "<=") else (test.right, test.left)
                terms = walk.signed_terms(n.Binary("-", *sides))
                for part in (e for e, plus in terms if plus and isinstance(e, n.Name)):
                    if part.ident in self._changed(k):
                        yield n.Compare("<=", part, plus(e for e, plus in terms if not plus))

    def both(self, k: int) -> Iterator[n.Expr]:
        """Lines of both runs: variables that are the same, and what was paid so far."""
        for x in self._changed(k):
            yield n.Compare("==", n.Name(x, True), n.Name(x))
        paid = dict.fromkeys(self._paid_before(k))
        yield from (n.Compare("<=", COST, bound) for bound in islice(paid, MANY))
        yield from (n.Compare("<=", DELTA, bound) for bound in self._deltas(k))
        yield from added_up.sums_of_terms(self.spec, self.loops[k], self._index(k), f"of_{k}")
        yield from self._sorted_here(k)

    def _paid_before(self, k: int) -> Iterator[n.Expr]:
        loop = self.loops[k]
        before = (self._price(s) for s in self.everything if isinstance(s, n.Invoke))
        singly = dict.fromkeys(before) if len(self._around(k)) == 1 else {}
        paying, left = self._rounds(k, loop.body), any(isinstance(s, n.Break) for s in self.inside[k])
        for start in dict.fromkeys((self._start(k, COST, self._price), *singly)):
            for each in paying:
                for grown in self._grown(k, each):
                    yield plus((start, grown))
            if left or not paying:  # the round that pays may be the last
                yield start
        start = self._start(k, COST, self._price)
        budgets = [x for x in self._changed(k) if self.sorts.get(x) is n.Sort.REAL]
        for x in budgets:
            yield plus((start, n.Name(x)))
        if len(self._around(k)) == 1:
            for x in budgets:
                yield from (n.Binary("-", bound, n.Name(x)) for bound in walk.claimed_in(self.spec.claim)[:1])

    def _deltas(self, k: int) -> Iterator[n.Expr]:
        deltas = dict.fromkeys(d for s in self.inside[k] if (d := self._delta(s)) != ZERO)
        start = self._start(k, DELTA, self._delta)
        for one in deltas or [ZERO]:
            yield from (plus((start, grown)) for grown in self._counted(k, one))

    def _start(self, k: int, ledger: n.Name, price: object) -> n.Expr:
        """What was paid before the loop: since the head of the loop around it, if there is one."""
        around = self._around(k)[:-1]
        body = self.loops[around[-1]].body if around else self.spec.body
        before: list[n.Stmt] = []
        for stmt in body:
            if stmt is self.loops[k] or any(s is self.loops[k] for s in walk.statements_in((stmt,))):
                break
            before.append(stmt)
        spent = plus(self._of(before, price))
        if not around:
            return spent
        kept = n.Name(own("head", around[-1], ledger.ident))
        return plus((kept, spent))

    def _of(self, body: Iterable[n.Stmt], price: object) -> Iterator[n.Expr]:
        """What a block costs in all: loops in it as often as they have rounds."""
        if not callable(price):
            return
        for stmt in body:
            match stmt:
                case n.For(over=over, body=inner):
                    rounds, one = length_of(over), plus(self._of(inner, price))
                    sizes = [size_of(x) for g in self.groups for x in g.names]
                    told = one == self.coin[0] and any(self._told(self.loops.index(stmt)))
                    often = self._walked(one) if rounds in sizes else [_times(rounds, one)]
                    yield from self.coin if told else often
                case n.If():
                    yield from (e for arm in stmt.arms for e in self._of(arm, price))
                case n.While():
                    pass
                case n.Simple():
                    yield price(stmt)

    def _rounds(self, k: int, body: tuple[n.Stmt, ...]) -> list[n.Expr]:
        """What a round may cost: all of it, or that of its calls which is made besides those made in each
        round, or one of its draws; or, if that changes, what is claimed.
        """
        each_time = [s for s in body if isinstance(s, n.Invoke)]
        always = plus(map(self._price, each_time))
        others = (s for s in self.inside[k] if isinstance(s, n.Invoke) and s not in each_time)
        draws = (self._price(s) for s in self.inside[k] if isinstance(s, n.Sample))
        single = [*(plus((always, self._price(s))) for s in others), *draws]
        found = dict.fromkeys((plus(self._of(body, self._price)), *single))
        changing = {*self._changed(k), *walk.names_in(self._index(k))}
        if any(walk.names_in(e) & changing for e in found):
            found |= dict.fromkeys(walk.claimed_in(self.spec.claim)[:1])
        return [e for e in found if e != ZERO]

    def _grown(self, k: int, each: n.Expr) -> Iterator[n.Expr]:
        """What the rounds so far cost, if one costs so much."""
        yield from self._counted(k, each)
        for both in self._told(k):
            costs = self.coin if each == self.coin[0] else (each, each)
            yield plus(n.Conditional(test, cost, ZERO) for test, cost in zip(both, costs, strict=True))
        index = self._index(k)
        counts = isinstance(self.loops[k], n.For) or index in [n.Name(x) for x in self.counters(k)]
        for group in self.groups:
            first = group.names[0]
            marks = marks_of(group)
            for seen in zip(*(self._seen(k, group, mark) for mark in marks), strict=True):
                yield plus(n.Conditional(test, each, ZERO) for test in seen)
            if group.sensitivity is not None and group.adjacency.together and counts:
                word, power = ("squares", -2) if group.adjacency.in_squares else ("moved", -1)
                yield product((each, 1), (group.sensitivity, power), (n.Index(f"${word}_{first}", index), 1))

    def _told(self, k: int) -> Iterator[tuple[n.Expr, n.Expr]]:
        """On D and on D', whether the round was before this one whose coin has another chance than all
        others: a private number is its index.
        """
        index, private = self._index(k), frozenset(x for g in self.groups for x in g.names)
        coins = (s for s in self.inside[k] if isinstance(s, n.Sample) and s.family.coin)
        for e in (e for s in coins for e in walk.subexpressions(self.chances[s])):
            if isinstance(e, n.Compare) and e.op == "==" and index in (e.left, e.right):
                here = e.right if e.left == index else e.left
                if walk.names_in(here) & private:
                    yield n.Compare("<", here, index), n.Compare("<", primed(here, private), index)

    def _seen(self, k: int, group: n.Queries, mark: n.Expr) -> Iterator[n.Expr]:
        """Tests whether an answer was looked at before a round: by its place, by where the list starts that a
        call gets, by its column, or by the group that it is sorted into.
        """
        index = self._index(k)
        if isinstance(self.loops[k], n.For) or index in [n.Name(x) for x in self.counters(k)]:
            yield n.Compare("<", mark, index)
        calls = [s for s in self.inside[k] if isinstance(s, n.Invoke)]
        size = size_of(group.names[0])
        within = (n.Compare("<=", ZERO, mark), n.Compare("<", mark, size))
        for name, place in self._sorted_by(k) if calls else ():
            yield n.Logic("and", (*within, n.Compare("<", resolved(place, {name: mark}), index)))
        for value in (resolved(a.value, self.defined) for s in calls for a in s.arguments):
            if not isinstance(value, n.Gather) or not isinstance(value.over, n.OverRange):
                continue
            yield n.Compare("<", mark, value.over.low)
            yield n.Compare(">=", mark, value.over.high)
            for part in walk.subexpressions(value.body):
                if isinstance(part, n.Index) and part.base in group.names:
                    yield from _in_column(mark, part.index, value.index)
                    ends = (resolved(part.index, {value.index: e}) for e in (value.over.low, value.over.high))
                    yield from map(n.Compare, ("<", ">="), (mark, mark), ends)
                if isinstance(part, n.Compare) and index in (part.left, part.right) and part.op == "==":
                    sorted_by = part.right if part.left == index else part.left
                    there = resolved(sorted_by, {value.index: mark})
                    yield n.Logic("and", (*within, n.Compare("<", there, index)))

    def _counted(self, k: int, each: n.Expr) -> Iterator[n.Expr]:
        loop, index = self.loops[k], self._index(k)
        if isinstance(loop, n.For):
            yield _times(length_of(n.OverRange(low_of(loop), index)), each)
        for x in self.counters(k):
            yield _times(n.Name(x), each)

    def _walked(self, each: n.Expr) -> Iterator[n.Expr]:
        """What a loop over the answers costs in all."""
        for group in self.groups:
            ways = len(group.adjacency.ways)
            if ways:
                yield _times(n.Number(Fraction(ways)), each)
            elif group.adjacency.together:
                yield each
            else:
                yield _times(size_of(group.names[0]), each)
            return

    def whole(self) -> Iterator[n.Expr]:
        """What the whole may cost."""
        yield plus(self._of(self.spec.body, self._price))
        for k, loop in enumerate(self.loops):
            for x in self.counters(k):
                for e in walk.subexpressions(loop.test) if isinstance(loop, n.While) else ():
                    if isinstance(e, n.Compare) and e.left == n.Name(x):
                        yield from (_times(e.right, each) for each in self._rounds(k, loop.body))
        for s in self.everything:
            for branch in s.branches if isinstance(s, n.If) else ():
                for e in walk.subexpressions(branch.test):
                    if isinstance(e, n.Compare) and isinstance(e.left, n.Name):
                        prices = dict.fromkeys(self._price(t) for t in self.everything)
                        yield from (_times(e.right, one) for one in prices if one != ZERO)
                        yield e.right


def _in_column(mark: n.Expr, place: n.Expr, row: str) -> Iterator[n.Expr]:
    """That an answer stands in a column before this one, or after it, of a table with rows in a list."""
    signed = walk.signed_terms(place)
    for at, (e, _) in enumerate(signed):
        if isinstance(e, n.Binary) and e.op == "*" and row in walk.names_in(e):
            width = e.right if row in walk.names_in(e.left) else e.left
            rest = signed[:at] + signed[at + 1 :]
            column = plus(part if plus else n.Unary("-", part) for part, plus in rest)
            for op in ("<", ">"):
                there = n.Compare(op, n.Binary("%", mark, width), column)
                yield n.Logic("and", (n.Compare("<", ZERO, width), there))


def _times(how: n.Expr, each: n.Expr) -> n.Expr:
    if ZERO in (how, each):
        return ZERO
    return each if how == ONE else how if each == ONE else product((how, 1), (each, 1))
