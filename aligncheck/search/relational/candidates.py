"""Candidates for loop invariants: templates filled with what the paths do. Nothing here is believed.

`discharge.houdini` keeps the largest subset that holds at every entry and is preserved by every round, so a
wrong candidate costs time, never soundness (design, sections 2 and 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, product

from aligncheck.language.internal import InternalError
from aligncheck.language.syntax.nodes import (
    Adjacency,
    Expr,
    If,
    Index,
    Name,
    Queries,
    Sample,
    While,
)
from aligncheck.language.syntax.walk import names_in, statements_in, subexpressions
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.calls import Called
from aligncheck.search.relational.evaluate import Evaluator
from aligncheck.search.relational.labels import Apart, Key, Last, Latest, Ledger
from aligncheck.search.relational.paths import (
    Analysis,
    Assumed,
    Claimed,
    Cut,
    Decision,
    Drawing,
    Emission,
    Path,
    ProgramScope,
    Required,
    Selected,
)
from aligncheck.search.relational.selection import Registry, chosen, is_extremum, passed, witness_of
from aligncheck.search.relational.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Add,
    And,
    App,
    Cmp,
    Const,
    Div,
    Fn,
    IsInt,
    Ite,
    Kind,
    Mul,
    Not,
    Or,
    Pair,
    Sort,
    Sym,
    Term,
    Truth,
    add,
    and_,
    atoms,
    const,
    div,
    eq,
    fn,
    iff,
    implies,
    ite,
    le,
    lt,
    mul,
    neg,
    not_,
    or_,
    rebuilt,
    same,
    scaled,
    sort_of,
    sub,
    substitute,
    subterms,
)
from aligncheck.search.relational.theory import prefix

LIMIT = 400
"""At most so many candidates for one loop; templates come in order of usefulness."""
_COMBINED = 4
"""Of so many draws that a round moves, all sizes are combined."""


@dataclass(frozen=True)
class Pool:
    """The candidates for one loop head."""

    analysis: Analysis
    cut: Cut

    def values(self) -> list[Term]:
        """First stage: the program's own values, which variables both runs share, where noise was
        drawn last.
        """
        return _distinct([*self._equal_truths(), *self._values(), *self._indices()])

    def equal_distances(self) -> list[Term]:
        """Second stage: distances that are 0 or equal to a closed form."""
        found: list[Term] = []
        for name, d in self._private():
            found += [eq(d, form) for form in (ZERO, *self._closed_forms(name))]
        return _distinct(found)

    def bounded_distances(self, kept: list[Term]) -> list[Term]:
        """Third stage: what else may be said of the distances that no kept equality fixes."""
        fixed = _fixed_by(kept)
        found: list[Term] = []
        for name, d in self._private():
            if d not in fixed:
                found += self._distance_bounds(name, d)
        apart = [d for _, d in self._private() if d not in fixed][:3]
        for size in range(2, len(apart) + 1):
            for together in combinations(apart, size):
                found += self._walked_sizes(add(*(fn("abs", d) for d in together)))
        return _distinct(found)

    def costs(self) -> list[Term]:
        """Fourth stage: bounds on the accumulated cost by counters and by what the walk over the answers has
        passed.
        """
        return self._bounded_cost(self._plain_starts, [(ZERO, g) for g in (ZERO, *self._growths)])

    def further_costs(self, kept: list[Term]) -> list[Term]:
        """Last stage, where that was not enough: costs that are paid only while a test holds, and costs still
        owed.
        """
        tested = self._tested_starts()
        grown: list[tuple[Term, Term]] = [(ZERO, g) for g in (ZERO, *self._growths)]
        return [
            *self.costs(),
            *self._bounded_cost(tested, grown),
            *self._bounded_cost(self._plain_starts, self._owed(_fixed_by(kept))),
        ]

    def _bounded_cost(self, starts: list[Term], terms: list[tuple[Term, Term]]) -> list[Term]:
        """`alignment_cost + owed <= start + grown`."""
        if Ledger.COST not in self.cut.fresh:
            return []
        spent = self.cut.fresh[Ledger.COST].left
        return _distinct(le(add(spent, owed), add(start, grown)) for start in starts for owed, grown in terms)

    # --- what the paths do --------------------------------------------------------------------------------

    @cached_property
    def entries(self) -> list[Path]:
        return [p for p in self.analysis.paths if p.target == self.cut.number and not self._inside(p)]

    @cached_property
    def rounds(self) -> list[Path]:
        return [p for p in self.analysis.paths if p.target == self.cut.number and self._inside(p)]

    def _inside(self, path: Path) -> bool:
        return self.analysis.within(path.origin, self.cut)

    @cached_property
    def _changing(self) -> frozenset[Term]:
        found: set[Term] = set()
        for pair in self.cut.fresh.values():
            found.update(atoms((pair.left, pair.right)))
        return frozenset(found)

    def _stable(self, term: Term) -> bool:
        """Whether a term speaks only of symbols that the loop does not change."""
        return not any(a in self._changing for a in atoms((term,)))

    def _start(self, name: Key) -> Pair | None:
        """The value at every entry, where there is but one."""
        values = {p.env[name] for p in self.entries if name in p.env}
        return next(iter(values)) if len(values) == 1 else None

    def _numbers(self) -> list[tuple[Key, Sym]]:
        """The numeric variables that the loop changes, by name, with their symbols on D."""
        return [
            (name, pair.left)
            for name, pair in self.cut.fresh.items()
            if isinstance(pair.left, Sym) and pair.left.sort is not Sort.BOOL and name != Ledger.COST
        ]

    @cached_property
    def _steps(self) -> dict[Key, list[Term]]:
        """How much each numeric variable grows in each round."""
        return {
            name: [sub(p.env[name].left, symbol) for p in self.rounds] for name, symbol in self._numbers()
        }

    @cached_property
    def _clocks(self) -> list[Term]:
        """Integer symbols at this loop head: loop indices and counters (the number of records only if no
        other is the same).
        """
        return [
            s
            for n, s in self._numbers()
            if s.sort is Sort.INT
            and not isinstance(n, Latest | Last)
            and not (n == Ledger.RECORDS and self._record_clocks)
        ]

    @cached_property
    def _walks(self) -> list[tuple[str, Term]]:
        """(q, t): the answers of q are visited at index t, a symbol of this loop head."""
        found: list[tuple[str, Term]] = []
        for path in (*self.rounds, *self._leaving):
            for atom in atoms(_terms_of(path)):
                if isinstance(atom, App) and isinstance(atom.label, Apart) and atom.args[0] in self._clocks:
                    found.append((atom.label.query, atom.args[0]))
        return list(dict.fromkeys(found))

    @cached_property
    def _leaving(self) -> list[Path]:
        return [p for p in self.analysis.paths if p.origin == self.cut.number and p.target != self.cut.number]

    def _groups(self) -> list[tuple[Queries, str, Term]]:
        inputs = self.analysis.theory.inputs
        return [(inputs[q], q, t) for q, t in self._walks if isinstance(inputs[q], Queries)]  # type: ignore[misc]

    @cached_property
    def _bounds(self) -> list[Term]:
        """Public numbers that may bound a distance."""
        theory = self.analysis.theory
        found = [s for s in theory.sizes if not _mentions_generic(s)]
        paid = [
            div(theory.claim, d.left.inverse_alpha)
            for p in self.analysis.paths
            for d in p.drawings()
            if d.lines
        ]
        paid = [b for b in _distinct(paid) if self._stable(b) and not _noisy(b)][:4]
        steps = [s for steps in self._steps.values() for s in steps if isinstance(s, Const) and s != ZERO]
        own = [fn("abs", s) for s in steps if self._private()]
        return _distinct([*found, *(scaled(s, 2) for s in found), *paid, *own[:2]])

    # --- truths and distances -----------------------------------------------------------------------------

    def _equal_truths(self) -> list[Term]:
        return [
            iff(pair.left, pair.right)
            for pair in self.cut.fresh.values()
            if sort_of(pair.left) is Sort.BOOL and pair.left != pair.right
        ]

    def _private(self) -> list[tuple[Key, Term]]:
        """Numeric variables with a distance of their own."""
        return [
            (name, pair.distance)
            for name, pair in self.cut.fresh.items()
            if sort_of(pair.left) is not Sort.BOOL and pair.left != pair.right
        ]

    def _distance_bounds(self, name: Key, d: Term) -> list[Term]:
        forms = self._closed_forms(name)
        found = [implies(t, eq(d, form)) for t in self._guards for form in (ZERO, *forms)]
        sizes = _distinct([*self._bounds, *(size for f in forms for size in _sizes(f))])
        for b in sizes:
            found += [le(d, b), le(neg(b), d)]
        for guard in self._phases:
            found.append(implies(guard, eq(d, ZERO)))
            for b in sizes[:4]:
                found += [implies(guard, c) for c in (le(d, b), le(b, d), le(neg(b), d), le(d, neg(b)))]
        return [*found, le(ZERO, d), le(d, ZERO), *self._walked_distances(d)]

    @cached_property
    def _phases(self) -> list[Term]:
        """Before, at the start of, and after the round whose index the output shows and the alignment names;
        after it, as long as a variable holds that index (design, section 8).
        """
        if self.cut.counter is None or not self._named_rounds:
            return []
        at, first = self.cut.counter, self.cut.env[Ledger.LOW].left
        found: list[Term] = [eq(at, first)]
        for index in self._named_rounds:
            found += [le(at, index), lt(index, at)]
            found += [and_((le(first, index), lt(index, at), eq(v, index))) for v in self._index_holders]
        return found

    @cached_property
    def _named_rounds(self) -> list[Term]:
        """The indices with which an alignment's guard compares the loop's own."""
        at = self.cut.counter
        return _distinct(
            side
            for p in self.rounds
            for d in p.drawings()
            for t in subterms((d.shift,))
            if isinstance(t, Cmp) and t.op == "==" and at in (t.left, t.right)
            for side in (t.left, t.right)
            if side != at and self._stable(side) and not _noisy(side)
        )[:2]

    @cached_property
    def _index_holders(self) -> list[Term]:
        """Variables that some round sets to the loop's index."""
        return [
            s for name, s in self._numbers() if any(p.env[name].left == self.cut.counter for p in self.rounds)
        ]

    def _closed_forms(self, name: Key) -> list[Term]:
        """The distance at the entries and at the end of the rounds, in terms of this loop head."""
        found: list[Term] = []
        for path in (*self.entries, *self.rounds):
            form = self._restated(path.env[name].distance, path)
            if form is not None and form != ZERO:
                found.append(form)
        return _distinct(found)[:6]

    def _restated(self, term: Term, path: Path) -> Term | None:
        """A term at the end of a path in terms of the loop head's symbols, or None.

        A counter's old value is its new value less its growth.
        """
        table: dict[Term, Term] = {}
        if path in self.rounds:
            for (_, symbol), step in zip(self._numbers(), self._growth(path), strict=True):
                if step is not None and step != ZERO:
                    table[symbol] = sub(symbol, step)
        known = _decided(path)
        restated = _simplified(substitute(substitute(term, known), table))
        return restated if self._speakable(restated) else None

    def _growth(self, path: Path) -> list[Term | None]:
        place = self.rounds.index(path)
        steps = [self._steps[name][place] for name, _ in self._numbers()]
        return [s if self._stable(s) and not _noisy(s) else None for s in steps]

    def _speakable(self, term: Term) -> bool:
        own = {s for pair in self.cut.fresh.values() for s in atoms((pair.left,))}
        return all(
            a in own or (a not in self._changing and a.kind not in (*_OF_NOISE, Kind.EXTREMUM, Kind.DATA))
            for a in atoms((term,))
        )

    def _walked_distances(self, d: Term) -> list[Term]:
        found: list[Term] = []
        theory = self.analysis.theory
        for group, q, t in self._groups():
            match group.adjacency:
                case Adjacency.ONE | Adjacency.MOVED:
                    places = theory.place(q)
                    passed = [lt(place, t) for place in places]
                    found.append(or_((*passed, eq(d, ZERO))))
                    for place, seen_it in zip(places, passed, strict=True):
                        there = theory.distance(q, place)
                        others = [s for s in passed if s != seen_it]
                        found += [implies(seen_it, eq(d, there)), implies(seen_it, eq(d, neg(there)))]
                        found += [or_((not_(seen_it), *others, eq(d, there)))]
                        found += [or_((eq(d, ZERO), eq(d, there)))]
                    if len(places) == 2:
                        both = add(*(theory.distance(q, p) for p in places))
                        found += [implies(and_(passed), eq(d, both))]
                        found += [
                            or_((*(not_(s) for s in passed), le(fn("abs", d), b))) for b in self._bounds
                        ]
                case Adjacency.ALL | Adjacency.MONOTONE:
                    if group.adjacency is Adjacency.MONOTONE:
                        up, down = theory.directions(group)
                        found += [implies(up, le(ZERO, d)), implies(down, le(d, ZERO))]
                    for b in self._bounds:
                        found += [le(d, mul(b, t)), le(neg(mul(b, t)), d)]
                case Adjacency.ANY:
                    pass
                case Adjacency.L1:
                    pass
        return [*found, *self._walked_sizes(fn("abs", d))]

    def _walked_sizes(self, size: Term) -> list[Term]:
        """A size, bounded by what the walk over the answers has passed."""
        found: list[Term] = []
        for group, q, t in self._groups():
            match group.adjacency:
                case Adjacency.ONE | Adjacency.MOVED:
                    passed = [lt(place, t) for place in self.analysis.theory.place(q)]
                    found += [le(size, _flag_sum(passed, b)) for b in self._bounds]
                case Adjacency.L1:
                    found.append(le(size, prefix(q, t)))
                case Adjacency.ALL | Adjacency.MONOTONE | Adjacency.ANY:
                    pass
        sums = [prefix(q, t) for g, q, t in self._groups() if g.adjacency is Adjacency.L1]
        return [*found, le(size, add(*sums))] if len(sums) > 1 else found

    # --- the program's own values -------------------------------------------------------------------------

    @cached_property
    def _guards(self) -> list[Term]:
        """The program's tests, and those of the alignment's guards that can be said here, at this loop
        head.
        """
        found: list[Term] = []
        for expr in self._spoken_tests():
            try:
                test = Evaluator(ProgramScope(self.analysis.theory, self.cut.env, False)).term(expr)
            except KeyError:
                continue
            if isinstance(test, Truth) or any(self._is_noise(a) for a in atoms((test,))):
                continue
            for part in (test, *_parts_of(test)):
                found += [part, not_(part)]
        return _distinct(found)[:24]

    def _is_noise(self, atom: Sym | App) -> bool:
        """Whether noise enters a symbol, other than by what the loop head keeps."""
        if isinstance(atom, Sym) and atom.kind is Kind.EXTREMUM:
            return self.analysis.theory.registry.is_noisy(atom)
        return atom.kind in _OF_NOISE

    def _spoken_tests(self) -> Iterable[Expr]:
        noise = {s.name for s in statements_in(self.analysis.theory.mechanism.body) if isinstance(s, Sample)}
        known = {*self.cut.env, *self.analysis.theory.inputs}
        for stmt in statements_in(self.analysis.theory.mechanism.body):
            tests = [b.test for b in stmt.branches] if isinstance(stmt, If) else []
            if isinstance(stmt, While):
                tests = [stmt.test]
            for test in tests:
                names = names_in(test)
                if names <= known and not names & noise and not _indexes(test):
                    yield test

    def _values(self) -> list[Term]:
        found: list[Term] = []
        for test in self._guards:
            found.append(test)
            if isinstance(test, Cmp) and test.op == "<":
                found.append(le(test.left, test.right))
            if isinstance(test, Cmp) and test.op == "==":
                left, right = test.left, test.right
                found += [le(left, right), lt(left, right), le(right, left), lt(right, left)]
        found += self._limits()
        for name, symbol in self._numbers():
            start = self._start(name)
            if start is not None and self._stable(start.left) and not _noisy(start.left):
                rises, falls = _directions(self._steps[name])
                found += [le(start.left, symbol)] * (not falls) + [le(symbol, start.left)] * (not rises)
                if start.left == ZERO and not falls:
                    continue
            found.append(le(ZERO, symbol))
            if symbol.sort is Sort.REAL:
                found.append(lt(ZERO, symbol))
        found += self._relations()
        if self.cut.counter is not None:
            at, first = self.cut.counter, self.cut.env[Ledger.LOW].left
            for v in self._index_holders:
                found += [or_((c, eq(at, first))) for c in (lt(v, at), le(first, v)) if v != at]
            found += self._unset(at, first)
            for pair in self.cut.fresh.values():
                if sort_of(pair.left) is Sort.BOOL:
                    found += [iff(pair.left, eq(at, first)), iff(pair.left, lt(first, at))]
            high, low = self.cut.env[Ledger.HIGH].left, self.cut.env[Ledger.LOW].left
            found += [le(self.cut.counter, high), le(low, self.cut.counter)]
            if low != ZERO or isinstance(high, Add):
                found.append(le(self.cut.counter, ite(le(low, high), high, low)))
        return found

    def _unset(self, at: Term, first: Term) -> list[Term]:
        """A variable that some round sets to the loop's index has its first value, a number that is no index,
        before the first round only: in either run.
        """
        found: list[Term] = []
        for name, symbol in self._numbers():
            start = self._start(name)
            if symbol in self._index_holders and start is not None and isinstance(start.left, Const):
                pair = self.cut.fresh[name]
                for side in dict.fromkeys((pair.left, pair.right)):
                    found += [iff(eq(side, start.left), eq(at, first)), or_((lt(side, at), eq(at, first)))]
        return found

    def _limits(self) -> list[Term]:
        """A counter that grows only while a part of some test says that it is below a limit."""
        return [le(t.left, t.right if t.op == "<" else add(t.right, ONE)) for t in self._limit_tests]

    @cached_property
    def _limit_tests(self) -> list[Cmp]:
        """The parts of tests that hold a variable below a number that the loop does not change."""
        counters = {symbol for _, symbol in self._numbers()}
        parts = _distinct(
            part
            for p in self.rounds
            for d in p.decisions()
            for part in (d.test.left, *_parts_of(d.test.left))
        )
        return [
            part
            for part in parts
            if isinstance(part, Cmp) and part.op in ("<", "<=")
            if part.left in counters and self._stable(part.right) and not _noisy(part.right)
        ]

    def _relations(self) -> list[Term]:
        """Variables that grow in step: x - x0 = c (y - y0), or at most."""
        found: list[Term] = []
        numbers = [n for n in self._numbers() if not isinstance(n[0], Latest | Last)]
        for (a, x), (b, y) in combinations(numbers, 2):
            x0, y0 = self._start(a), self._start(b)
            if x0 is None or y0 is None or _noisy(x0.left) or _noisy(y0.left):
                continue
            ratio = self._ratio(self._steps[a], self._steps[b])
            if ratio is None:
                continue
            grown = mul(ratio, sub(y, y0.left))
            in_step = all(s == mul(ratio, t) for s, t in zip(self._steps[a], self._steps[b], strict=True))
            if in_step:
                found.append(eq(sub(x, x0.left), grown))
            elif isinstance(ratio, Const):
                found += [le(sub(x, x0.left), grown), le(grown, sub(x, x0.left))]
                if x.sort is y.sort is Sort.INT:
                    guards = [*self._flag_guards, *self._limit_tests[:2]]
                    found += [implies(g, eq(sub(x, x0.left), grown)) for g in guards]
        return found

    @cached_property
    def _flag_guards(self) -> list[Term]:
        """Tests of truth variables: what holds only until a flag changes."""
        return [
            g for g in self._guards if isinstance(g, Sym) or (isinstance(g, Not) and isinstance(g.arg, Sym))
        ]

    def _ratio(self, first: list[Term], second: list[Term]) -> Term | None:
        for a, b in zip(first, second, strict=True):
            if not (self._stable(a) and self._stable(b)) or _noisy(a) or _noisy(b):
                return None
            if b != ZERO and a != ZERO:
                return div(a, b)
        return None

    def _indices(self) -> list[Term]:
        """Where noise was drawn last: before a clock, or never."""
        found: list[Term] = []
        for name, pair in self.cut.fresh.items():
            if not isinstance(name, Latest):
                continue
            found.append(eq(pair.left, const(-1)))
            for t in self._clocks:
                found += [lt(pair.left, t), le(pair.left, t), eq(pair.left, t)]
        return found

    # --- costs --------------------------------------------------------------------------------------------

    @cached_property
    def _plain_starts(self) -> list[Term]:
        """The cost at the entry, in each of its cases."""
        values = [_simplified(substitute(p.env[Ledger.COST].left, _decided(p))) for p in self.entries]
        if any(not self._stable(v) for v in values):
            return []
        return _distinct([*values, *(b for v in values for b in _cases(v))])[:4]

    def _tested_starts(self) -> list[Term]:
        """The cost at the entry, paid only while a test of the program holds."""
        changing = [t for t in self._guards if any(a in self._changing for a in atoms((t,)))]
        return [ite(test, value, ZERO) for value in self._plain_starts if value != ZERO for test in changing][
            :12
        ]

    @cached_property
    def _round_costs(self) -> list[list[Term]]:
        """For each round, what its draws and calls may cost: a few public bounds, smallest first."""
        return [
            [
                add(own, inner, _spent_by_calls(p))
                for own in self._options([d for d in p.drawings() if d.lines], p)
                for inner in self._inner_costs(p)
            ]
            for p in self.rounds
        ]

    def _inner_costs(self, path: Path) -> list[Term]:
        """What the loops inside a round may cost together: one draw's cost each, or one for every inner
        round.
        """
        found: list[Term] = [ZERO]
        here = path.origin
        while here != self.cut.number:
            cut = self.analysis.cuts[here]
            inner = Pool(self.analysis, cut)
            once = _distinct(c for costs in inner._round_costs for c in costs if c != ZERO)[:4]
            if cut.counter is not None:
                rounds = sub(cut.env[Ledger.HIGH].left, cut.env[Ledger.LOW].left)
                once += [mul(rounds, c) for c in once]
            if once:
                found = [add(a, b) for a in found for b in once]
            here = cut.enclosing[-1]
        return found[:8]

    def _options(self, events: list[Drawing], path: Path) -> list[Term]:
        choices: list[list[Term]] = []
        for event in events:
            rate = event.left.inverse_alpha
            sizes = [mul(s, rate) for s in self.shift_sizes(event.shift, path)]
            choices += [sizes] if sizes and sizes != [ZERO] else []
        if len(choices) <= _COMBINED:
            combined = [add(*parts) for parts in product(*choices)]
        else:  # the draws of a round mostly move alike: the first size of each, the second of each, ...
            most = max(len(sizes) for sizes in choices)
            combined = [add(*(sizes[min(k, len(sizes) - 1)] for sizes in choices)) for k in range(most)]
        return _distinct(c for c in combined if not _noisy(c))[:8] or [ZERO]

    @cached_property
    def _record_clocks(self) -> list[Term]:
        """Symbols that always equal the number of records so far: `out[i]` then speaks of this round's
        record.
        """
        if Ledger.RECORDS not in self.cut.fresh:
            return []
        start, steps = self._start(Ledger.RECORDS), self._steps[Ledger.RECORDS]
        return [
            symbol
            for name, symbol in self._numbers()
            if name != Ledger.RECORDS
            and self._start(name) == start
            and self._grows_alike(self._steps[name], steps)
        ]

    def _grows_alike(self, steps: list[Term], records: list[Term]) -> bool:
        """Whether a variable grows by 1 in every round that emits one record."""
        return all(s == ONE for s, r in zip(steps, records, strict=True) if r == ONE) and ONE in records

    def _truths(self, path: Path) -> dict[Term, Term]:
        """What a path decides about ω and its tests, also said with the loop's own index."""
        known = self._truths_of.get(id(path))
        if known is None:
            known = _decided(path)
            out = self.cut.fresh.get(Ledger.RECORDS)
            if out is not None:
                for clock in self._record_clocks:
                    known |= {substitute(t, {out.left: clock}): v for t, v in known.items()}
            self._truths_of[id(path)] = known
        return known

    @cached_property
    def _truths_of(self) -> dict[int, dict[Term, Term]]:
        """By path, each of which the analysis keeps alive."""
        return {}

    def resolved(self, shift: Term, path: Path) -> Term:
        """A shift with the tests decided that its path decides."""
        truths = self._truths(path)
        return _simplified(substitute(_simplified(substitute(shift, truths)), truths))

    def shift_sizes(self, shift: Term, path: Path) -> list[Term]:
        """Public bounds on |shift|: for each case the constant part, the sensitivities, their sum."""
        shift = self.resolved(shift, path)
        found: list[Term] = []
        for leaf in _cases(shift):
            found += self._leaf_sizes(leaf)
        return _distinct(found)

    def _leaf_sizes(self, leaf: Term) -> list[Term]:
        parts, constant = (leaf.parts, leaf.constant) if isinstance(leaf, Add) else (((leaf, 1),), 0)
        registry = self.analysis.theory.registry
        parts, apart = _less_extrema(tuple((t, Fraction(k)) for t, k in parts), registry)
        public: list[Term] = [const(constant)] if constant else []
        moved: list[Term] = [scaled(b, k) for k in apart for b in self._bounds[:1]]
        for part, factor in parts:
            term = scaled(part, factor)
            if any(a.kind in _DISTANCES for a in atoms((term,))):
                bound = self._distance_bound(term)
                if bound is None:
                    return []
                moved.append(bound)
            elif not _noisy(term):
                public.append(term)
            else:
                return []
        fixed = fn("abs", add(*public)) if public else ZERO
        fixed = _unsigned(fixed)
        move = add(*moved) if moved else ZERO
        single = _distinct(moved)[:2]
        return _distinct([fixed, *single, move, *(add(fixed, m) for m in single), add(fixed, move)])

    def _distance_bound(self, term: Term) -> Term | None:
        """A bound on a multiple of one answer's distance, or of one variable's."""
        table: dict[Term, Term] = {}
        theory = self.analysis.theory
        for atom in atoms((term,)):
            if atom.kind not in _DISTANCES:
                continue
            group = theory.inputs.get(atom.label.query) if isinstance(atom.label, Apart) else None
            index = atom.args[0] if isinstance(atom, App) else None
            if isinstance(group, Queries):
                bound = theory.size(group, index)
                if group.lattice is not None:
                    bound = div(bound, theory.input_term(group.lattice, index))
                table[atom] = bound
            elif self._bounds:
                table[atom] = self._bounds[0]
            else:
                return None
        bounded = substitute(term, table)
        return _unsigned(bounded)

    @cached_property
    def _growths(self) -> list[Term]:
        """Σ b (x - x0) over one, two or three counters, or what the walk over the answers has paid."""
        found: list[Term] = []
        counters = self._counters()
        for size in (1, 2, 3):
            for some in combinations(counters, size):
                found += self._combined(some)
        found += self._walked_costs()
        return found[: LIMIT // 2]

    def _counters(self) -> list[tuple[Term, list[Term]]]:
        """(x - x0, growth of x in each round), for variables whose growth is public and fixed."""
        found = []
        for name, symbol in self._numbers():
            start = self._start(name)
            if start is None or _noisy(start.left) or isinstance(name, Latest | Last):
                continue
            if name == Ledger.RECORDS and self._record_clocks:
                continue
            steps = self._steps[name]
            if not any(_noisy(s) for s in steps) and any(s != ZERO for s in steps):
                found.append((sub(symbol, start.left), steps))
        return [*found, *self._flags()]

    def _flags(self) -> list[tuple[Term, list[Term]]]:
        """Truths that the loop changes from what they are at the entry, counted as 0 before and 1 after."""
        found: list[tuple[Term, list[Term]]] = []
        for name, pair in self.cut.fresh.items():
            start = self._start(name)
            if isinstance(pair.left, Sym) and start in (same(FALSE), same(TRUE)):
                before, after = (ZERO, ONE) if start == same(FALSE) else (ONE, ZERO)
                count = ite(pair.left, after, before)
                steps = [
                    _simplified(substitute(sub(ite(p.env[name].left, after, before), count), _decided(p)))
                    for p in self.rounds
                ]
                if any(s != ZERO for s in steps) and not any(_noisy(s) for s in steps):
                    found.append((count, steps))
        return found

    def _combined(self, chosen: tuple[tuple[Term, list[Term]], ...]) -> list[Term]:
        rates: list[list[Term]] = []
        for position, (_, steps) in enumerate(chosen):
            others = [s for k, (_, s) in enumerate(chosen) if k != position]
            own = [
                div(cost, steps[r])
                for r in range(len(self.rounds))
                if steps[r] != ZERO and all(o[r] == ZERO for o in others)
                for cost in self._round_costs[r]
                if cost != ZERO
            ]
            own = [rate for rate in own if self._stable(rate)]
            if not own:
                return []
            rates.append(_distinct(own)[: 8 if len(chosen) == 1 else 3])
        return [
            add(*(mul(rate, grown) for rate, (grown, _) in zip(combo, chosen, strict=True)))
            for combo in product(*rates)
        ]

    def _site_rates(self) -> list[Term]:
        """1/α of every aligned draw in the loop whose scale the loop does not change."""
        return _distinct(
            d.left.inverse_alpha
            for p in (*self.rounds, *self._leaving)
            for d in p.drawings()
            if d.lines and self._stable(d.left.inverse_alpha)
        )[:4]

    def _sums_of_rates(self) -> list[Term]:
        rates = self._site_rates()
        found = [add(*c) for size in (1, 2) for c in combinations(rates, size)]
        return _distinct([*found, *(scaled(r, 2) for r in rates)])

    def _walked_costs(self) -> list[Term]:
        """What is paid when the differing answer is passed, or per unit of the distance walked over."""
        found: list[Term] = []
        theory = self.analysis.theory
        for group, q, t in self._groups():
            match group.adjacency:
                case Adjacency.ONE | Adjacency.MOVED:
                    passed = [lt(place, t) for place in theory.place(q)]
                    paid = [c for costs in self._round_costs for c in costs if c != ZERO and self._stable(c)]
                    paid += [mul(rate, b) for rate in self._sums_of_rates() for b in self._bounds]
                    found += [_flag_sum(passed, amount) for amount in _distinct(paid)]
                case Adjacency.L1:
                    found += [mul(rate, prefix(q, t)) for rate in self._sums_of_rates()]
                case Adjacency.ALL | Adjacency.MONOTONE | Adjacency.ANY:
                    pass
        return [*found, *self._selected_costs()]

    def _selected_costs(self) -> list[Term]:
        """What is paid when the loop passes the selected index, or for each of the selected ones."""
        registry = self.analysis.theory.registry
        if self.cut.counter is None or (registry.is_empty and not self._named_rounds):
            return []
        paid = _distinct(c for costs in self._round_costs for c in costs if c != ZERO and self._stable(c))
        at = self.cut.counter
        named = dict.fromkeys([*(chosen(name) for name in registry.argmaxima), *self._named_rounds])
        ones = [_flag_sum([lt(index, at)], c) for index in named for c in paid]
        several = [mul(c, passed(name, at)) for name in registry.selections for c in paid]
        return [*ones, *several, *self._exchanged(several, paid)]

    def _exchanged(self, several: list[Term], paid: list[Term]) -> list[Term]:
        """In a case of the alignment one selected index, or the only one, pays nothing, and another one pays
        in its place.
        """
        registry = self.analysis.theory.registry
        if self.cut.counter is None:
            raise InternalError("a loop without a counter")
        at = self.cut.counter
        shifts = [d.shift for p in self.rounds for d in p.drawings()]
        spoken = atoms(shifts)
        instead = [s for s in registry.indices if s in spoken]
        spared = [witness_of(s) for s in registry.extrema if s in spoken and not registry.is_noisy(s)]
        tests = [
            part for t in subterms(shifts) if isinstance(t, Ite) for part in (t.test, *_parts_of(t.test))
        ]
        cases = _distinct(
            t for t in tests if at not in atoms((t,)) and any(is_extremum(a) for a in atoms((t,)))
        )[:3]
        alone = [
            mul(c, ite(case, ite(lt(s, at), ONE, ZERO), ite(lt(chosen(name), at), ONE, ZERO)))
            for name in registry.argmaxima
            for c in paid[:2]
            for s in instead[:2]
            for test in cases
            for case in (test, not_(test))
        ]
        return alone + [
            add(whole, mul(c, ite(case, sub(ite(lt(s, at), ONE, ZERO), ite(lt(w, at), ONE, ZERO)), ZERO)))
            for whole, c in zip(several, paid, strict=False)
            for s in instead[:2]
            for w in spared[:2]
            for test in cases
            for case in (test, not_(test))
        ]

    def _owed(self, fixed: set[Term]) -> list[tuple[Term, Term]]:
        """A variable that still differs will have to be paid for: cost + rate·|distance| is bounded
        instead.
        """
        walked = self._walked_costs()
        return [
            (mul(rate, fn("abs", d)), grown)
            for _, d in self._private()
            if d not in fixed
            for rate in self._site_rates()
            for grown in walked
        ][: LIMIT // 2]


# --- small functions on terms -----------------------------------------------------------------------------


def _distinct(terms: Iterable[Term]) -> list[Term]:
    return [t for t in dict.fromkeys(terms) if not isinstance(t, Truth)]


def _directions(steps: list[Term]) -> tuple[bool, bool]:
    """Whether some round surely raises a variable, and whether some surely lowers it."""
    constants = [s.value for s in steps if isinstance(s, Const)]
    return any(c > 0 for c in constants), any(c < 0 for c in constants)


def _parts_of(test: Term) -> tuple[Term, ...]:
    """The operands of a conjunction or disjunction."""
    return test.args if isinstance(test, And | Or) else ()


def _fixed_by(kept: list[Term]) -> set[Term]:
    """What a kept equality fixes."""
    equations = [t for t in kept if isinstance(t, Cmp) and t.op == "=="]
    return {t.left for t in equations} | {t.right for t in equations}


def _flag_sum(flags: list[Term], amount: Term) -> Term:
    return mul(amount, add(*(ite(f, ONE, ZERO) for f in flags)))


def _terms_of(path: Path) -> list[Term]:
    found: list[Term] = []
    for event in path.events:
        if isinstance(event, Drawing):
            found.append(event.shift)
    for decision in path.decisions():
        found.append(decision.test.right)
    for emission in path.emissions():
        found += [pair.right for _, pair, _ in emission.fields]
    found += [pair.right for pair in path.env.values()]
    return found


_OF_NOISE = (Kind.NOISE, Kind.PLACE, Kind.SUM, Kind.UNSETTLED)
_DISTANCES = (Kind.DISTANCE, Kind.DRIFT)


def _noisy(term: Term) -> bool:
    kinds = (*_OF_NOISE, *_DISTANCES, Kind.EXTREMUM, Kind.DATA)
    return any(a.kind in kinds for a in atoms((term,)))


def _mentions_generic(term: Term) -> bool:
    return Sym("i", Sort.INT, Kind.GHOST) in atoms((term,))


def _indexes(expr: Expr) -> bool:
    return any(isinstance(e, Index) or (isinstance(e, Name) and e.primed) for e in subexpressions(expr))


def _decided(path: Path) -> dict[Term, Term]:
    """The tests that a path decides, and the parts of ω that it fixes."""
    table: dict[Term, Term] = {}
    for event in path.events:
        match event:
            case Decision():
                for part in _implied_parts(event.holds(False)):
                    table[part] = TRUE
                    table[not_(part)] = FALSE
            case Assumed(Not(arg)):
                table[arg] = FALSE
            case Assumed(Cmp("==", App(kind=Kind.OMEGA) as atom, value)):
                table[atom] = value
            case Assumed(fact):
                table[fact] = TRUE
            case Drawing() | Called() | Applied() | Selected() | Emission() | Required() | Claimed():
                pass
    return table


def _implied_parts(test: Term) -> Iterable[Term]:
    """A test that holds, and what holds with it: operands of a conjunction or of a denied disjunction."""
    yield test
    if isinstance(test, And):
        for arg in test.args:
            yield from _implied_parts(arg)
    if isinstance(test, Not) and isinstance(test.arg, Or):
        for arg in test.arg.args:
            yield from _implied_parts(not_(arg))


def _simplified(term: Term) -> Term:
    """The term folded anew, so that decided tests disappear; each part once, as often as it occurs."""
    memo: dict[Term, Term] = {}

    def go(part: Term) -> Term:
        done = memo.get(part)
        if done is None:
            done = memo[part] = rebuilt(part, go)
        return done

    return go(term)


def _cases(term: Term) -> list[Term]:
    """The values of a term in its cases (at most 8, among the first 64)."""
    return _distinct(islice(_leaves(term), 64))[:8] or [ZERO]


def _leaves(term: Term) -> Iterator[Term]:
    split = next((t for t in subterms((term,)) if isinstance(t, Ite)), None)
    if split is None:
        yield term
    else:
        for arm in (split.then, split.otherwise):
            yield from _leaves(substitute(term, {split: arm}))


def _sizes(form: Term) -> list[Term]:
    """Public sizes that a closed form may take."""
    return [_unsigned(fn("abs", leaf)) for leaf in _cases(form) if not _noisy(leaf)]


def _less_extrema(
    parts: tuple[tuple[Term, Fraction], ...], registry: Registry
) -> tuple[tuple[tuple[Term, Fraction], ...], list[Fraction]]:
    """A sum without its maxima, and how often each may move: once for a pair `c·best' - c·best`, once for a
    maximum of distances.
    """
    extrema = [(t, k) for t, k in parts if is_extremum(t)]
    noisy = [k for t, k in extrema if isinstance(t, Sym) and registry.is_noisy(t)]
    if sorted(k for k in noisy if k > 0) != sorted(-k for k in noisy if k < 0):
        return parts, []
    apart = [abs(k) for t, k in extrema if isinstance(t, Sym) and not registry.is_noisy(t)]
    return tuple(p for p in parts if p not in extrema), [*(k for k in noisy if k > 0), *apart]


def _unsigned(term: Term) -> Term:
    """A term with the absolute values and signs of its parts dropped: an upper bound for positive parts."""
    match term:
        case Fn("abs", (arg,)):
            return _unsigned(arg)
        case Const(value):
            return Const(abs(value))
        case Add(parts, constant):
            return add(Const(abs(constant)), *(scaled(_unsigned(t), abs(k)) for t, k in parts))
        case Mul(args):
            return mul(*(_unsigned(a) for a in args))
        case Truth() | Sym() | App() | Div() | Fn() | Ite() | Cmp() | Not() | And() | Or() | IsInt():
            return term


def _spent_by_calls(path: Path) -> Term:
    """What the calls of a round spend, where public numbers say it."""
    spent = [e.spent.left for e in path.events if isinstance(e, Called)]
    return add(*(s for s in spent if not _noisy(s))) if spent else ZERO
