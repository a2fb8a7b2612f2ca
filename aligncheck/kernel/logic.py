"""Facts and goals, and how Z3 decides whether a goal follows.

Kinds of facts are told apart, because the main danger is to argue in a circle. Each may rest on those before
it:

RUN    true of every run on D, and of every run on D', that has come this far;
TOLD   true of every complete run on D, by the records that it releases;
WHOLE  true of every complete run on D whose draws are outside a null set;
PRIME  true of the run on D' with the aligned draws, once all obligations before this fact are proved;
TWIN   true of any second run on D that the alignment takes to the same run on D' (general route only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import Any, TypeAlias

import z3

from aligncheck.kernel.relax import Relaxed
from aligncheck.kernel.terms import Term, is_symbol, subterms


class Kind(Enum):
    """See above."""

    RUN = "run"
    TOLD = "told"
    WHOLE = "whole"
    PRIME = "prime"
    TWIN = "twin"


@dataclass(frozen=True, slots=True)
class Fact:
    """A formula; it holds for all whole numbers in the place of `variables`."""

    kind: Kind
    formula: Term
    variables: tuple[Term, ...] = ()


Confirm: TypeAlias = Callable[[Sequence[Term], bool, str], bool]
"""Asked about each answer of Z3 on which a decision rests: formulas, whether they can be true together, and
what is decided. Where it does not agree, nothing is decided: so another solver has its say.
"""

Place: TypeAlias = tuple[int, int]
"""A function symbol (its id) and the number of one of its arguments."""

ATTEMPTS = (
    (0, True, False, 100_000),
    (1, True, False, 400_000),
    (1, False, False, 1_500_000),
    (1, False, True, 300_000),
    (2, True, False, 500_000),
    (2, False, False, 2_000_000),
    (3, False, False, 3_000_000),
)
"""What is tried in turn: rounds of instances; whether only the closest hypotheses are used; whether whole
numbers are relaxed to real ones; and how much Z3 may do, in its own count (`rlimit`), the same everywhere.
"""
FEW = ATTEMPTS[:3]
"""The first of them, for what may well not follow."""
INSTANCES, OF_ONE_FACT = 3000, 150
"""So many instances are used at most, and so many of one fact in one round."""


@dataclass
class Decider:
    """Asks Z3. What is unknown or takes too many steps is not proved.

    Why any choice of hypotheses and instances is sound: each is implied by the facts, so a goal that follows
    from them follows from the facts. Quantifiers are never given to Z3 in a proof, so that its answer does
    not depend on its heuristics for them.
    """

    confirm: Confirm | None = None
    asked: int = 0
    steps: int = 0
    _relaxed: Relaxed = field(default_factory=Relaxed)
    _shapes: dict[int, tuple[Term, frozenset[int], tuple[tuple[Place, Term], ...]]] = field(
        default_factory=dict
    )

    def follows(
        self,
        facts: Sequence[Fact],
        goal: Term,
        about: str = "",
        attempts: Sequence[tuple[int, bool, bool, int]] = ATTEMPTS,
    ) -> int | None:
        """The steps of a proof of the goal from the facts; None where none was found. `about` says in words
        what is asked.
        """
        if z3.is_true(z3.simplify(goal)) and self._confirmed([z3.Not(goal)], False, about):
            return 0
        self.asked += 1
        ground = [f.formula for f in facts if not f.variables]
        general = [f for f in facts if f.variables]
        spent = 0
        found: dict[int, list[Term]] = {}
        for rounds, near, relaxed, limit in attempts:
            if rounds not in found:
                found[rounds] = ground + self._instances(ground, general, goal, rounds)
            hypotheses = found[rounds]
            if near:
                hypotheses = self._closest(hypotheses, goal)
            proved, steps = self._ask(hypotheses, goal, limit, relaxed, about)
            spent += steps
            if proved:
                return spent
        return None

    def _ask(
        self, hypotheses: Iterable[Term], goal: Term, limit: int, relaxed: bool, about: str
    ) -> tuple[bool, int]:
        if relaxed:
            hypotheses, goal = [self._relaxed.of(h) for h in hypotheses], self._relaxed.of(goal)
        solver = z3.Solver(ctx=goal.ctx)
        solver.set("rlimit", limit)
        solver.set("random_seed", 0)
        formulas = [*hypotheses, z3.Not(goal)]
        solver.add(*formulas)
        proved = solver.check() == z3.unsat
        total = int(solver.statistics().get_key_value("rlimit count"))
        steps, self.steps = total - self.steps, total  # Z3 counts for the whole context
        return proved and self._confirmed(formulas, False, about), steps

    def satisfiable(self, facts: Iterable[Fact], values: Sequence[Term], ctx: Any) -> bool:
        """Whether Z3 finds a model of all facts (of general ones as quantified formulas) and of `values`."""
        solver = z3.Solver(ctx=ctx)
        solver.set("rlimit", ATTEMPTS[-1][-1])
        general = [z3.ForAll(list(f.variables), f.formula) if f.variables else f.formula for f in facts]
        formulas = [*general, *values]
        solver.add(*formulas)
        return bool(solver.check() == z3.sat) and self._confirmed(formulas, True, "the declarations")

    def _confirmed(self, formulas: Sequence[Term], satisfiable: bool, about: str) -> bool:
        return self.confirm is None or self.confirm(formulas, satisfiable, about)

    # --- which hypotheses ---------------------------------------------------------------------------------

    def _shape(self, formula: Term) -> tuple[Term, frozenset[int], tuple[tuple[Place, Term], ...]]:
        """The symbols of a formula, and the whole numbers to which they are applied."""
        known = self._shapes.get(formula.get_id())
        if known is None:
            symbols, uses = set(), []
            for term in subterms(formula):
                if is_symbol(term):
                    name = term.decl().get_id()
                    symbols.add(name)
                    for at, argument in enumerate(term.children()):
                        if z3.is_int(argument):
                            uses.append(((name, at), argument))
            known = self._shapes[formula.get_id()] = (formula, frozenset(symbols), tuple(uses))
        return known

    def _closest(self, ground: list[Term], goal: Term) -> list[Term]:
        """The hypotheses that have no symbol but those of the goal."""
        wanted = self._shape(goal)[1]
        return [h for h in ground if self._shape(h)[1] <= wanted]

    def _instances(self, ground: list[Term], general: list[Fact], goal: Term, rounds: int) -> list[Term]:
        """Instances of general facts, where a symbol that is applied to the variable has an argument."""
        found: list[Term] = []
        if not general:
            return found
        places: dict[Place, dict[int, Term]] = {}
        for formula in (goal, *ground):
            self._note(places, formula)
        done: set[tuple[int, ...]] = set()
        for _ in range(rounds):
            fresh: list[Term] = []
            for number, fact in enumerate(general):
                before = len(fresh)
                for choice in product(*self._choices(fact, places)):
                    if len(fresh) - before >= OF_ONE_FACT:
                        break
                    key = (number, *(c.get_id() for c in choice))
                    if key not in done and len(found) + len(fresh) < INSTANCES:
                        done.add(key)
                        fresh.append(z3.substitute(fact.formula, *zip(fact.variables, choice, strict=True)))
            for formula in fresh:
                self._note(places, formula)
            found += fresh
            if not fresh:
                break
        return found

    def _note(self, places: dict[Place, dict[int, Term]], formula: Term) -> None:
        for place, argument in self._shape(formula)[2]:
            places.setdefault(place, {})[argument.get_id()] = argument

    def _choices(self, fact: Fact, places: dict[Place, dict[int, Term]]) -> list[list[Term]]:
        uses = self._shape(fact.formula)[2]
        choices = []
        for variable in fact.variables:
            triggers = [place for place, argument in uses if z3.eq(argument, variable)]
            terms: dict[int, Term] = {}
            for place in triggers:
                terms.update(places.get(place, {}))
            choices.append(list(terms.values()))
        return choices
