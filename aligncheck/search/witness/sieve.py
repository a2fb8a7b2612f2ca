"""The greatest set of lines that follow from each other at every loop's head (Houdini), by the kernel's own
formulas.

Nothing here needs to be believed: the kernel decides about the lines that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Line
from aligncheck.kernel.logic import Decider, Fact, Stack, Tries, fresh_solver
from aligncheck.kernel.terms import Anatomy, Term, anatomy, both
from aligncheck.search.witness.collect import Arrival, Collected

STEPS, LONG = ((1, 200_000),), ((1, 1_000_000), (3, 1_000_000))
"""How often instances are made, and how many of Z3's steps one question may take: of many, and of few lines.
(Of those that are shown in the corpus none takes half of that.)
"""
OF_AN_EFFORT = 1_000
"""So many of them are one step of an `Effort`."""
COUNTED = {"arith.nl.optimize_bounds": False, "timeout": 20_000}
"""For solvers: without work with ever longer numbers, of which Z3 counts next to nothing; so the steps end a
question, the same on every machine. The clock is for what may still be left of such work.
"""
USUAL = 1
"""How Z3 chooses cases by itself: for many lines at once it is led less often into what it does not count."""
SLOWLY = ((3, 700_000),)
"""The same of lines that take more instances."""
FEW = 2
MOST = 20_000_000
"""So many steps for all questions about one set of lines."""


@dataclass
class Sieve(Decider):
    """Asks few steps of each question: a line that is not shown by then is dropped."""

    collected: Collected = field(default_factory=Collected)
    kept: set[Line] = field(default_factory=set)
    settled: set[Line] = field(default_factory=set)
    stack: Stack | None = None
    one_by_one: bool = False
    anew: Sequence[tuple[int, int]] = LONG
    spent: int = 0
    effort: Effort = field(default_factory=Effort)
    whole: bool = False
    _seen: dict[int, tuple[frozenset[Line], frozenset[Line]]] = field(default_factory=dict)
    _not_from: dict[tuple[Anatomy, Tries, bool], list[frozenset[Fact]]] = field(default_factory=dict)

    def add(self, lines: Iterable[Line], one_by_one: bool = False) -> None:
        """Tries more lines, with those that were kept."""
        lines = list(dict.fromkeys(lines))
        if one_by_one and len(lines) > 1:
            few = len(lines) <= FEW
            for line in lines:
                self._more({line}, one_by_one, LONG if few else STEPS)
        else:
            self._more(set(lines), one_by_one, LONG)

    def add_slowly(self, lines: Iterable[Line], anew: Sequence[tuple[int, int]] = SLOWLY) -> None:
        """Tries more lines, together, each by itself, with more instances of general facts."""
        self.whole = True
        self._more(set(lines), True, anew)
        self.whole = False

    def _more(self, lines: set[Line], one_by_one: bool, anew: Sequence[tuple[int, int]]) -> None:
        self.one_by_one, self.anew = one_by_one, anew
        self.settled = set(self.kept)
        self._seen.clear()
        self.kept |= lines - self.collected.senseless
        changed = True
        while changed:
            changed = False
            for place, arrival in enumerate(self.collected.arrivals):
                changed |= self._through(place, arrival)

    def _through(self, place: int, arrival: Arrival) -> bool:
        """Drops what one way does not show; whether there was any."""
        wanted = {line: goal for line, goal in arrival.goals.items() if line in self.kept - self.settled}
        assumed = frozenset(
            self.kept & {self.collected.lines[f] for f in arrival.facts if f in self.collected.lines}
        )
        seen = (assumed, frozenset(wanted))
        if not wanted or self._seen.get(place) == seen:
            return False
        false = self._not_shown(self.facts(arrival, self.kept), wanted)
        self.kept -= false
        self._seen[place] = (assumed - false, frozenset(wanted) - false) if not false & assumed else seen
        return bool(false)

    def facts(self, arrival: Arrival, lines: set[Line]) -> list[Fact]:
        """What is known on a way with these lines."""
        of = self.collected.lines
        return [f for f in arrival.facts if f not in of or of[f] in lines]

    def _not_shown(self, facts: list[Fact], goals: dict[Line, Term]) -> set[Line]:
        """A model in which all is so that is known, and not all goals are, shows which."""
        import z3

        if self.one_by_one:
            return {x for x, t in goals.items() if not self._shows(facts, t)}
        left, false = dict(goals), set[Line]()
        while left:
            verdict, model = self._model(facts, z3.Not(both(*left.values())))
            if verdict:
                return false
            some = {x for x, t in left.items() if model is not None and z3.is_false(model.eval(t, True))}
            if not some:
                some = {x for x, t in left.items() if not self._alone(facts, z3.Not(t))}
                return false | some
            false |= some
            left = {x: t for x, t in left.items() if x not in some}
        return false

    def _model(self, facts: Sequence[Fact], formula: Term) -> tuple[bool, Any]:
        """Whether a formula contradicts the facts; a model of them, if Z3 came to an end with one."""
        if self.is_over:
            return False, None
        if self.stack is None:
            self.stack = Stack(formula.ctx)
            self.stack.solver.set(case_split=USUAL, **COUNTED)
        solver = self.stack.hold(facts, self.term)
        solver.push()
        proved = self._counted(solver, [formula])
        model = solver.model() if proved is False else None
        solver.pop()
        return proved is True, model

    def _alone(self, facts: Sequence[Fact], formula: Term) -> bool:
        """Whether a formula contradicts the facts, if need be by a solver that knows no others."""
        shown, model = self._model(facts, formula)
        if shown or model is not None or self.is_over:
            return shown
        solver = fresh_solver(formula.ctx, *STEPS[0])
        solver.set(**COUNTED)
        return self._counted(solver, [*map(self.term, facts), formula]) is True

    @property
    def is_over(self) -> bool:
        """Whether all was spent."""
        return self.spent > MOST or self.effort.is_over

    def _counted(self, solver: Any, formulas: list[Term]) -> bool | None:
        before = self.steps
        proved = self.contradict(solver, formulas)
        self.spent += self.steps - before
        self.effort.spend(1 + (self.steps - before) // OF_AN_EFFORT)
        return proved

    def proof(
        self, facts: Sequence[Fact], not_so: Term, anew: Sequence[tuple[int, int]]
    ) -> tuple[Sequence[Fact], int] | None:
        """Gives up where a solver comes to an end with a model, unless it is `whole`: more instances may
        still exclude it.
        """
        before = self.steps
        shown, model = self._model(facts, not_so)
        proved = True if shown else None if model is None else False
        for rounds, limit in anew:
            if proved or self.is_over or (proved is False and not self.whole):
                break
            if proved is None or rounds > 1:
                solver = fresh_solver(not_so.ctx, rounds, limit)
                solver.set(**COUNTED)
                proved = self._counted(solver, [*map(self.term, facts), not_so])
        return (facts, self.steps - before) if proved else None

    # --- what is enough -------------------------------------------------------------------------------------

    def all_show(self, goals: Iterable[tuple[Arrival, Term]], lines: set[Line]) -> bool:
        """Whether goals follow on their ways with these lines."""
        return all(self._shows(self.facts(a, lines), g) for a, g in goals)

    def _shows(self, facts: list[Fact], goal: Term) -> bool:
        """Whether a goal follows. What did not from as many facts is not asked again."""
        known, key = frozenset(facts), (anatomy(goal), tuple(self.anew), self.whole)
        before = self._not_from.setdefault(key, [])
        if any(known <= more for more in before):
            return False
        shown = self.follows(facts, goal, anew=self.anew) is not None
        if not shown:
            before.append(known)
        return shown

    @property
    def claims(self) -> list[tuple[Arrival, Term]]:
        """That the cost is within the claim."""
        return [(a, g) for a in self.collected.arrivals for g in a.claims]

    def needed(self, bounds: list[Line]) -> set[Line] | None:
        """Of bounds on the cost, the first ones first, so many that they and the claim follow; None
        where all do not show the claim. (Without any the claim does not follow where there are some.)
        """
        others = self.kept - set(bounds)
        found, open_ = set[Line](), list(self.claims)
        while open_:
            arrival, goal = open_.pop()
            known = {self.collected.lines[f] for f in arrival.facts if f in self.collected.lines}
            some = [b for b in bounds if b in known & self.kept]
            if (found & known or not some) and self.all_show([(arrival, goal)], others | found):
                continue
            one = next((b for b in some if self.all_show([(arrival, goal)], others | found | {b})), None)
            more = {one} if one is not None else set(some)
            if one is None and not self.all_show([(arrival, goal)], self.kept):
                return None
            for b in sorted(more - found):
                open_ += [(a, a.goals[b]) for a in self.collected.arrivals if b in a.goals]
            found |= more
        return found
