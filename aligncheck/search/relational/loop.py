"""What the paths into one loop head, around it and out of it do. Nothing here is believed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from aligncheck.language.syntax.nodes import Expr, If, Index, Name, Queries, Sample, While
from aligncheck.language.syntax.walk import names_in, statements_in, subexpressions
from aligncheck.search.relational import ir, simplify
from aligncheck.search.relational.labels import Apart, Key, LastDraw, Latest, Ledger
from aligncheck.search.relational.paths import Analysis, Cut, Drawing, Segment
from aligncheck.search.relational.scopes import ProgramScope
from aligncheck.search.relational.to_terms import TermEvaluator


@dataclass(frozen=True)
class Loop:
    """One loop head, with the paths of the whole program."""

    analysis: Analysis
    cut: Cut

    @cached_property
    def entries(self) -> list[Segment]:
        return [p for p in self.analysis.paths if p.target == self.cut.number and not self._inside(p)]

    @cached_property
    def rounds(self) -> list[Segment]:
        return [p for p in self.analysis.paths if p.target == self.cut.number and self._inside(p)]

    def _inside(self, path: Segment) -> bool:
        return self.analysis.within(path.origin, self.cut)

    @cached_property
    def changing(self) -> frozenset[ir.Term]:
        found: set[ir.Term] = set()
        for pair in self.cut.fresh.values():
            found.update(ir.atoms((pair.left, pair.right)))
        return frozenset(found)

    def stable(self, term: ir.Term) -> bool:
        """Whether a term speaks only of symbols that the loop does not change."""
        return not any(a in self.changing for a in ir.atoms((term,)))

    def start(self, name: Key) -> ir.Pair | None:
        """The value at every entry, where there is but one."""
        values = {p.env[name] for p in self.entries if name in p.env}
        return next(iter(values)) if len(values) == 1 else None

    def numbers(self) -> list[tuple[Key, ir.Sym]]:
        """The numeric variables that the loop changes, by name, with their symbols on D."""
        return [
            (name, pair.left)
            for name, pair in self.cut.fresh.items()
            if isinstance(pair.left, ir.Sym)
            and pair.left.sort is not ir.TermSort.BOOL
            and name != Ledger.COST
        ]

    @cached_property
    def steps(self) -> dict[Key, list[ir.Term]]:
        """How much each numeric variable grows in each round."""
        return {
            name: [ir.sub(p.env[name].left, symbol) for p in self.rounds] for name, symbol in self.numbers()
        }

    @cached_property
    def clocks(self) -> list[ir.Term]:
        """Integer symbols at this loop head: loop indices and counters (the number of records only if no
        other is the same).
        """
        return [
            s
            for n, s in self.numbers()
            if s.sort is ir.TermSort.INT
            and not isinstance(n, Latest | LastDraw)
            and not (n == Ledger.RECORDS and self.record_clocks)
        ]

    @cached_property
    def walks(self) -> list[tuple[str, ir.Term]]:
        """(q, t): the answers of q are visited at index t, a symbol of this loop head."""
        found: list[tuple[str, ir.Term]] = []
        for path in (*self.rounds, *self.leaving):
            for atom in ir.atoms(terms_of(path)):
                if isinstance(atom, ir.App) and isinstance(atom.label, Apart) and atom.args[0] in self.clocks:
                    found.append((atom.label.query, atom.args[0]))
        return list(dict.fromkeys(found))

    @cached_property
    def leaving(self) -> list[Segment]:
        return [p for p in self.analysis.paths if p.origin == self.cut.number and p.target != self.cut.number]

    def groups(self) -> list[tuple[Queries, str, ir.Term]]:
        inputs = self.analysis.theory.inputs
        return [(inputs[q], q, t) for q, t in self.walks if isinstance(inputs[q], Queries)]  # type: ignore[misc]

    @cached_property
    def bounds(self) -> list[ir.Term]:
        """Public numbers that may bound a distance."""
        theory = self.analysis.theory
        found = [s for s in theory.sizes if not simplify.mentions_generic(s)]
        paid = [
            ir.div(theory.claim, d.left.inverse_alpha)
            for p in self.analysis.paths
            for d in p.drawings()
            if d.lines
        ]
        paid = [b for b in simplify.distinct(paid) if self.stable(b) and not simplify.noisy(b)][:4]
        steps = [
            s for steps in self.steps.values() for s in steps if isinstance(s, ir.Const) and s != ir.ZERO
        ]
        own = [ir.fn("abs", s) for s in steps if self.private()]
        return simplify.distinct([*found, *(ir.scaled(s, 2) for s in found), *paid, *own[:2]])

    def private(self) -> list[tuple[Key, ir.Term]]:
        """Numeric variables with a distance of their own."""
        return [
            (name, pair.distance)
            for name, pair in self.cut.fresh.items()
            if ir.sort_of(pair.left) is not ir.TermSort.BOOL and pair.left != pair.right
        ]

    @cached_property
    def named_rounds(self) -> list[ir.Term]:
        """The indices with which an alignment's guard compares the loop's own."""
        at = self.cut.counter
        return simplify.distinct(
            side
            for p in self.rounds
            for d in p.drawings()
            for t in ir.subterms((d.shift,))
            if isinstance(t, ir.Cmp) and t.op == "==" and at in (t.left, t.right)
            for side in (t.left, t.right)
            if side != at and self.stable(side) and not simplify.noisy(side)
        )[:2]

    @cached_property
    def index_holders(self) -> list[ir.Term]:
        """Variables that some round sets to the loop's index."""
        return [
            s for name, s in self.numbers() if any(p.env[name].left == self.cut.counter for p in self.rounds)
        ]

    def growth(self, path: Segment) -> list[ir.Term | None]:
        place = self.rounds.index(path)
        steps = [self.steps[name][place] for name, _ in self.numbers()]
        return [s if self.stable(s) and not simplify.noisy(s) else None for s in steps]

    @cached_property
    def guards(self) -> list[ir.Term]:
        """The program's tests, and those of the alignment's guards that can be said here, at this loop
        head.
        """
        found: list[ir.Term] = []
        for expr in self._spoken_tests():
            try:
                test = TermEvaluator(ProgramScope(self.analysis.theory, self.cut.env, False)).term(expr)
            except KeyError:
                continue
            if isinstance(test, ir.Truth) or any(self.is_noise(a) for a in ir.atoms((test,))):
                continue
            for part in (test, *simplify.parts_of(test)):
                found += [part, ir.not_(part)]
        return simplify.distinct(found)[:24]

    def is_noise(self, atom: ir.Sym | ir.App) -> bool:
        """Whether noise enters a symbol, other than by what the loop head keeps."""
        if isinstance(atom, ir.Sym) and atom.kind is ir.Nature.EXTREMUM:
            return self.analysis.theory.registry.is_noisy(atom)
        return atom.kind in simplify.OF_NOISE

    def _spoken_tests(self) -> Iterable[Expr]:
        noise = {s.name for s in statements_in(self.analysis.theory.mechanism.body) if isinstance(s, Sample)}
        known = {*self.cut.env, *self.analysis.theory.inputs}
        for stmt in statements_in(self.analysis.theory.mechanism.body):
            tests = [b.test for b in stmt.branches] if isinstance(stmt, If) else []
            if isinstance(stmt, While):
                tests = [stmt.test]
            for test in tests:
                names = names_in(test)
                if names <= known and not names & noise and not indexes(test):
                    yield test

    @cached_property
    def limit_tests(self) -> list[ir.Cmp]:
        """The parts of tests that hold a variable below a number that the loop does not change."""
        counters = {symbol for _, symbol in self.numbers()}
        parts = simplify.distinct(
            part
            for p in self.rounds
            for d in p.decisions()
            for part in (d.test.left, *simplify.parts_of(d.test.left))
        )
        return [
            part
            for part in parts
            if isinstance(part, ir.Cmp) and part.op in ("<", "<=")
            if part.left in counters and self.stable(part.right) and not simplify.noisy(part.right)
        ]

    @cached_property
    def flag_guards(self) -> list[ir.Term]:
        """Tests of truth variables: what holds only until a flag changes."""
        return [
            g
            for g in self.guards
            if isinstance(g, ir.Sym) or (isinstance(g, ir.Not) and isinstance(g.arg, ir.Sym))
        ]

    @cached_property
    def record_clocks(self) -> list[ir.Term]:
        """Symbols that always equal the number of records so far: `out[i]` then speaks of this round's
        record.
        """
        if Ledger.RECORDS not in self.cut.fresh:
            return []
        start, steps = self.start(Ledger.RECORDS), self.steps[Ledger.RECORDS]
        return [
            symbol
            for name, symbol in self.numbers()
            if name != Ledger.RECORDS
            and self.start(name) == start
            and self._grows_alike(self.steps[name], steps)
        ]

    def _grows_alike(self, steps: list[ir.Term], records: list[ir.Term]) -> bool:
        """Whether a variable grows by 1 in every round that emits one record."""
        return (
            all(s == ir.ONE for s, r in zip(steps, records, strict=True) if r == ir.ONE) and ir.ONE in records
        )

    def truths(self, path: Segment) -> dict[ir.Term, ir.Term]:
        """What a path decides about ω and its tests, also said with the loop's own index."""
        known = self._truths_of.get(id(path))
        if known is None:
            known = simplify.decided(path)
            out = self.cut.fresh.get(Ledger.RECORDS)
            if out is not None:
                for clock in self.record_clocks:
                    known |= {ir.substitute(t, {out.left: clock}): v for t, v in known.items()}
            self._truths_of[id(path)] = known
        return known

    @cached_property
    def _truths_of(self) -> dict[int, dict[ir.Term, ir.Term]]:
        """By path, each of which the analysis keeps alive."""
        return {}

    def resolved(self, shift: ir.Term, path: Segment) -> ir.Term:
        """A shift with the tests decided that its path decides."""
        truths = self.truths(path)
        return simplify.simplified(ir.substitute(simplify.simplified(ir.substitute(shift, truths)), truths))


def terms_of(path: Segment) -> list[ir.Term]:
    found: list[ir.Term] = []
    for event in path.events:
        if isinstance(event, Drawing):
            found.append(event.shift)
    for decision in path.decisions():
        found.append(decision.test.right)
    for emission in path.emissions():
        found += [pair.right for _, pair, _ in emission.fields]
    found += [pair.right for pair in path.env.values()]
    return found


def indexes(expr: Expr) -> bool:
    return any(isinstance(e, Index) or (isinstance(e, Name) and e.primed) for e in subexpressions(expr))
