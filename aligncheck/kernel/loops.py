"""Loops, by induction: the invariants hold where the head is reached; a round starts from any state with
them.
"""

from __future__ import annotations

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.calls import Calling
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.run import Exits, Go
from aligncheck.kernel.state import Mode, Obligation, Path
from aligncheck.kernel.terms import Term, both, either, real
from aligncheck.kernel.witness import DELTA, RECORDS, LoopWitness, own
from aligncheck.language.families import Slope
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in, subexpressions

Pairs = dict[str, tuple[Term, ...]]


def _remembers(e: n.Expr, loop: str = "") -> bool:
    """Whether a line speaks of an earlier loop head: what was there is kept for one run, not for its twin."""
    return any(isinstance(x, n.Name) and x.ident.startswith(own("head", loop)) for x in subexpressions(e))


class Looping(Calling):
    """`for` and `while`."""

    def prepare_loops(self) -> None:
        """The number of each loop, in the order of the text; whether an author's line speaks of the cost."""
        loops = [s for s in statements_in(self.spec.body) if isinstance(s, n.For | n.While)]
        self.loops = {id(s): k for k, s in enumerate(loops)}
        lines = [part for s in loops for e in s.invariants for part in subexpressions(e)]
        self.speaks_of_cost = any(isinstance(e, n.Name) and e.ident == "alignment_cost" for e in lines)
        if not loops:
            self.decided("terminates", self.spec.span, "there is no loop")
        if len(self.loops) != len(loops):
            raise Reject("form", self.spec.span, "one loop stands in two places")

    def loop(self, stmt: n.For | n.While, path: Path, go_on: Go) -> None:
        """Every way through a loop. See docs/kernel.md for the induction."""
        number = self.loops[id(stmt)]
        hints = self.witness.loops[number] if number < len(self.witness.loops) else LoopWitness()
        bounds = self._bounds(stmt, path) if isinstance(stmt, n.For) else ()
        brought = self._brought(stmt, number)
        if not path.values.keys().isdisjoint(brought):  # it would be another one after the loop
            raise Reject("form", stmt.span, "a loop brings a name that has a value around it")
        entry = self._entry(stmt, hints, path)
        if bounds:
            path.values[brought[0]] = (bounds[0],) * len(self.runs)
        self.establish(stmt, hints, path)
        self.discharge(path)
        self._forget(stmt, path)
        here: Pairs = {}
        if bounds:
            low, high = bounds
            i = self.held(brought[0], self.symbols.INT)
            here[brought[0]] = (i,) * len(self.runs)
            path.fact(Kind.RUN, both(low <= i, either(i <= high, i == low)))
            self.quotients.append(i)
            for y in self.moduli.values():
                self.may_be_quotient(i, y, path)
        path.values.update(here)
        self.assume(stmt, hints, path)
        paid = len(path.owed)
        self.owe(path, self.later(hints.later, path, stmt.span, number))
        self._remember(number, path)
        after = self._start_round(stmt, path, bounds, here)
        self.begin_round(stmt.body, path)
        ends = self._ending(stmt, hints, path, entry)

        def again(p: Path) -> None:
            self._leave(p, brought)
            ends(p)
            p.values.update({x: tuple(one + 1 for one in each) for x, each in here.items()})
            for owed in self.later(hints.later, p, stmt.span, number):
                p.fact(Kind.TOLD, owed.goal)
            self.pay(p, paid)
            self.establish(stmt, hints, p)
            self.discharge(p)

        def leave(p: Path) -> None:
            self._leave(p, brought)
            go_on(p)

        self.block(stmt.body, path, Exits(again, leave))
        self._leave(after, brought)
        go_on(after)

    def _remember(self, number: int, path: Path) -> None:
        """What invariants of later loops may call by `$head_K_NAME`."""
        values = {name: value for name, (value, *_) in path.values.items()}
        for name, term in {**path.ghosts, **values}.items():
            if not name.startswith(own("head", "")):
                path.ghosts[own("head", number, name)] = term

    def _brought(self, stmt: n.For | n.While, number: int) -> tuple[str, ...]:
        """The names that mean something in a loop only: its index, and an entry."""
        named = stmt.index if isinstance(stmt, n.For) else None
        entry = (stmt.over.item,) if isinstance(stmt, n.For) and isinstance(stmt.over, n.OverQueries) else ()
        return (own("round", number) if named is None else named, *entry)

    def _bounds(self, stmt: n.For, path: Path) -> tuple[Term, Term]:
        one, other = (self.ends(stmt.over, scope) for scope in self.in_runs(stmt, path)[:2])
        if isinstance(stmt.over, n.OverRange):
            for e, end, again in zip((stmt.over.low, stmt.over.high), one, other, strict=True):
                path.oblige("output", e.span, "the loop has the same bounds on D'", end == again)
        return one

    # --- induction ----------------------------------------------------------------------------------------

    def lines(self, stmt: n.For | n.While, hints: LoopWitness) -> list[tuple[Kind, Mode, n.Expr]]:
        """The invariants: early ones, those of both runs, and the author's."""
        early = [(Kind.RUN, Mode.EARLY, e) for e in hints.early]
        return early + [(Kind.PRIME, Mode.RELATION, e) for e in (*hints.invariants, *stmt.invariants)]

    def establish(self, stmt: n.For | n.While, hints: LoopWitness, path: Path) -> None:
        """That the invariants hold where the head is reached. Early ones follow from what is true of every
        run.
        """
        for at, (kind, mode, e) in enumerate(self.lines(stmt, hints)):
            line = (self.loops[id(stmt)], mode.value, at)
            try:
                term = self.truth(e, self.scope(mode, path, e.span))
                if kind is Kind.RUN:
                    self.prove(path, "invariant", stmt.span, "an invariant of every run on D", term)
            except Reject as refusal:
                answer = refusal.answer
                raise Reject(answer.condition, stmt.span, answer.reason, line) from None
            if kind is Kind.PRIME:
                path.oblige("invariant", stmt.span, "an invariant of both runs", term, line)

    def assume(self, stmt: n.For | n.While, hints: LoopWitness, path: Path) -> None:
        for kind, mode, e in self.lines(stmt, hints):
            scope = self.scope(mode, path, e.span)
            path.fact(kind, self.truth(e, scope))
            if kind is Kind.RUN and self.general and not _remembers(e):
                path.fact(Kind.TWIN, self.truth(e, scope.of(2)))

    def later(self, lines: tuple[n.Expr, ...], path: Path, place: Span, number: int = -1) -> list[Obligation]:
        """What the witness says here of all that a complete run has from here on.

        Sound by induction backwards over the start and the heads that a complete run comes by, which are
        finitely many: it is assumed (WHOLE) there, and shown from RUN and TOLD facts where the run is at an
        end, or comes back to the head of a loop around, with what is said there: that is of a later head. It
        is one and the same formula, since what is read of a path (`$records`) is another thing at its end.
        """
        scope, text = self.scope(Mode.RELATION, path, place), "what the witness says of what is still to come"
        goals = enumerate(self.truth(e, scope) for e in lines)
        return [Obligation("invariant", place, text, goal, 0, (number, "later", at)) for at, goal in goals]

    def owe(self, path: Path, made: list[Obligation]) -> None:
        """Takes it for granted, for now."""
        for owed in made:
            path.fact(Kind.WHOLE, owed.goal)
        path.owed += made

    def pay(self, path: Path, start: int) -> None:
        """Shows what was taken for granted since then."""
        for owed in path.owed[start:]:
            self.decide(path, [f for f in path.facts if f.kind <= Kind.TOLD], owed)

    def _forget(self, stmt: n.For | n.While, path: Path) -> None:
        """Any state in which a round may start: new symbols for all that the loop changes, on D and on D'.
        What is read of them later may depend on every draw so far.
        """
        inside = list(statements_in(stmt.body))
        for x in sorted({s.name for s in inside if isinstance(s, n.Assign)} & path.values.keys()):
            sort = path.values[x][0].sort()
            path.values[x] = tuple(self.held(x + "'" * run, sort) for run in self.runs)
        ghosts = set()
        for s in inside:
            match s:
                case n.Sample(name=x):
                    ghosts |= {"alignment_cost", own("drawn", x), own("least", x), own("dense", x)}
                case n.Emit(tag=tag):
                    ghosts |= {RECORDS, own("count", tag)}
                case n.Invoke(name=name):
                    ghosts |= {"alignment_cost", DELTA}
                    path.calls.pop(name, None)
                case n.Choose() | n.Logistic():
                    raise Reject("language", s.span, "draws by densities in a loop")
                case n.Assign() | n.If() | n.For() | n.While() | n.Break() | n.Pass():
                    pass
        for g in sorted(ghosts):
            path.ghosts[g] = self.held(g, path.ghosts[g].sort())
            if z3.is_int(path.ghosts[g]):  # all of these count from 0 upwards
                path.fact(Kind.RUN, path.ghosts[g] >= 0)
        path.made = []

    def _start_round(self, stmt: n.For | n.While, path: Path, ends: tuple[Term, ...], here: Pairs) -> Path:
        """Splits: a further round (`path`), or none, which is returned."""
        match stmt:
            case n.For(over=over):
                ((i, *_),), after = here.values(), path.copy()
                path.fact(Kind.RUN, i < ends[1])
                after.fact(Kind.RUN, i >= ends[1])
                if isinstance(over, n.OverQueries):
                    path.values[over.item] = tuple(self.lists[over.base][run](i) for run in self.runs)
                return after
            case n.While(test=test):
                tests, after = self.tested(test, path), path.copy()
                self.take(path, tests, True, test, "the test of the loop")
                self.take(after, tests, False, test, "the test of the loop")
                return after

    def _leave(self, path: Path, brought: tuple[str, ...]) -> None:
        for x in brought:
            path.values.pop(x, None)

    # --- termination (condition i) --------------------------------------------------------------------------

    def _entry(self, stmt: n.For | n.While, hints: LoopWitness, path: Path) -> list[Term]:
        """Threshold and least scale of a chance, where the loop is reached."""
        if isinstance(stmt, n.For) or hints.chance is None:
            return []
        scope, ends = self.program(stmt, path), (hints.chance.threshold, hints.chance.scale)
        threshold, least = (real(self.number(e, scope)) for e in ends)
        self.prove(path, "terminates", stmt.span, "the least scale is positive", least > 0)
        return [threshold, least]

    def _ending(self, stmt: n.For | n.While, hints: LoopWitness, path: Path, entry: list[Term]) -> Go:
        """What is to be shown of a round that leads back to the head. A measure is at least 0 in every round
        and falls by 1 or more, so there are at most as many rounds as it allows at the start, and one.

        A chance: in each round a fresh draw is above the threshold with a probability that is at least some p
        > 0, given all that was drawn before: its scale is at least the one at the entry, and threshold and
        least scale are values at the entry. If it is above, there is no further round; so n rounds have at
        most the probability (1 - p)^n.
        """
        place, measure, chance = stmt.span, hints.measure, hints.chance
        if isinstance(stmt, n.For):
            self.decided("terminates", place, "the loop runs over a finite range")
            return lambda _: None
        if measure is not None:
            if _remembers(measure, f"{self.loops[id(stmt)]}_"):  # which is another head in the next round
                raise Reject("terminates", place, "the measure speaks of the head where it falls")
            least = self.number(measure, self.scope(Mode.EARLY, path, place))
            self.prove(path, "terminates", place, "the measure is not negative in a round", least >= 0)

            def falls(p: Path) -> None:
                later = self.number(measure, self.scope(Mode.EARLY, p, place))
                self.prove(p, "terminates", place, "the measure falls in every round", later <= least - 1)

            return falls
        if chance is None:
            raise Reject("terminates", place, "nothing shows that the loop ends")
        return lambda p: self._chance(stmt, chance.noise, p, *entry)

    def _chance(self, stmt: n.While, x: str, path: Path, threshold: Term, least: Term) -> None:
        made = [(at, scale, step) for name, at, scale, step in path.made if name == x]
        row = self.noise[x].family.row if len(made) == 1 else None
        if row is None or row.slope is not Slope.SCALE or row.bounded:
            raise Reject("terminates", stmt.span, f"`{x}` is not drawn once in every round")
        at, scale, step = made[0]
        if step is not None and not self.symbols.inputs_only(step):
            raise Reject("terminates", stmt.span, f"the step of `{x}` is not fixed")
        self.prove(path, "terminates", stmt.span, f"{x} has at least this scale", scale >= least)
        again = path.copy()
        tests = self.truth(stmt.test, self.program(stmt.test, again))
        goal = either(z3.Not(tests), self.noise[x].symbols[0](at) <= threshold)
        text = f"no further round where {x} is above the threshold"
        self.prove(again, "terminates", stmt.span, text, goal)
