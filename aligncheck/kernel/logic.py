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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import product, takewhile
from typing import Any, TypeAlias

import z3

from aligncheck.kernel.terms import Anatomy, Term, anatomy, same, subterms


class Kind(IntEnum):
    """See above, in this order."""

    RUN = 0
    TOLD = 1
    WHOLE = 2
    PRIME = 3
    TWIN = 4


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A formula; it holds for all whole numbers in the place of `variables`. It is equal to itself only."""

    kind: Kind
    formula: Term
    variables: tuple[Term, ...] = ()


Facts: TypeAlias = Sequence[Fact]
Tries: TypeAlias = Sequence[tuple[int, int]]
"""Each with so many rounds of instances of general facts, and at most so much work."""
Confirm: TypeAlias = Callable[[Sequence[Term], bool, str], bool]
"""Asked about each answer of Z3 on which a decision rests: formulas, whether they can be true together, and
what is decided. Where it does not agree, nothing is decided: so another solver has its say.
"""

AT_ONCE, MODEL = (1, 100_000), (10, 3_000_000)
SIMPLIFIED = 0
ANEW = ((1, 1_500_000), (3, 3_000_000), (SIMPLIFIED, 1_500_000))
"""How often instances are made of general facts, from terms of the question and of such instances; and how
much Z3 may do for one question, in its own count (`rlimit`), the same everywhere. First a question is put to
a solver that still knows what was asked before, then by itself. `SIMPLIFIED` (one round) comes last: with
products it may work for long without counting, by accidents of the order in which things are named.
"""
FEW, ENOUGH = ((3, 250_000),), (3, 2_000_000)
"""For what may well not follow; and for a question of which the witness says what it needs."""


OPTIONS = {"mbqi": False, "auto_config": False, "random_seed": 0, "arith.nl.grobner": False}
SLOWLY, AT_LEAST = 100, 3_000
"""Options without what Z3 does not count. Other work with products it does not count either: so a question
also ends where it makes fewer steps than these in a millisecond, after at least so many milliseconds; on a
machine that is busy it makes hundreds.
"""


class Stack:
    """A solver with facts one upon the other; those that two questions have in common stay. Facts that came
    together go together, once more than those that were to stay.
    """

    def __init__(self, ctx: Any) -> None:
        self.solver = instances(z3.SimpleSolver, ctx, *AT_ONCE)
        self.levels: list[list[Fact]] = []

    def hold(self, facts: Facts, term: Callable[[Fact], Term]) -> Any:
        """The solver, with just these facts."""
        kept = at = 0
        for level in self.levels:
            if facts[at : at + len(level)] != level:
                break
            kept, at = kept + 1, at + len(level)
        pairs = zip(facts[at:], *self.levels[kept : kept + 1], strict=False)
        split = at + sum(1 for _ in takewhile(lambda pair: pair[0] is pair[-1], pairs))
        self.solver.pop(len(self.levels) - kept)
        del self.levels[kept:]
        for part in (facts[at:split], facts[split:]):
            if part:
                self.solver.push()
                _assert(self.solver, map(term, part))
                self.levels.append(list(part))
        return self.solver


def _assert(solver: Any, formulas: Iterable[Term]) -> None:
    """Adds formulas. (What the library does besides, to make formulas of all sorts of things, takes long.)"""
    for formula in formulas:
        z3.Z3_solver_assert(solver.ctx.ref(), solver.solver, formula.ast)


def instances(kind: Any, ctx: Any, rounds: int, limit: int, **more: int) -> Any:
    """A solver that takes only such instances of general facts as their triggers allow.

    Z3 reads how many rounds of them there may be from its global settings, when a solver is made.
    """
    for name in ("smt.qi.eager_threshold", "smt.qi.lazy_threshold"):
        z3.set_param(name, float(rounds))
    solver = kind(ctx=ctx)
    for option, value in {**OPTIONS, "rlimit": limit, "timeout": AT_LEAST + limit // SLOWLY, **more}.items():
        solver.set(option, value)
    return solver


def fresh_solver(ctx: Any, rounds: int, limit: int) -> Any:
    """A solver that chooses cases by what the question needs. `SIMPLIFIED`: one round after all was
    simplified, which may take away terms that instances are made of.
    """
    if rounds == SIMPLIFIED:
        return instances(z3.Solver, ctx, AT_ONCE[0], limit)
    return instances(z3.SimpleSolver, ctx, rounds, limit, case_split=3)


COUNT = "rlimit count"
"""Z3's name for the number of its steps."""


@dataclass
class Decider:
    """Asks Z3. What is unknown or takes too many steps is not proved.

    General facts are quantified formulas with triggers: Z3 takes an instance where a symbol that is applied
    to the variable stands applied to a term of the question, and looks for no others. Whichever it takes, a
    goal that follows from them follows from the facts. `known` are callees that were accepted before.
    """

    confirm: Confirm | None = None
    known: Sequence[tuple[object, object]] = ()
    needs: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    number: int = 0
    asked: int = 0
    steps: int = 0
    _stacks: dict[tuple[bool, bool, bool], Stack] = field(default_factory=dict)
    _general: dict[Fact, Term] = field(default_factory=dict)
    _shown: dict[Anatomy, list[set[Fact]]] = field(default_factory=dict)

    def follows(self, facts: Facts, goal: Term, about: str = "", anew: Tries | None = None) -> int | None:
        """The steps of a proof of the goal from the facts; None where none was found. `about` says in words
        what is asked. `anew` is tried where the solver that knows the facts fails: `ANEW`, if not given.
        `needs` says of the question with a number which of its facts are enough. What is foreseen only, with
        little work and nothing anew, has no number.

        Nothing is asked where the goal is one of the facts, or followed from some of them before. Where it
        followed on one way, first is asked whether what both ways know is enough: it is for others, then.
        """
        self.number += anew != ()
        known, shown = set(facts), self._shown.setdefault(anatomy(goal), [])
        if any(before <= known for before in shown) or any(same(f.formula, goal) for f in facts):
            return 0
        both = [f for f in facts if f in shown[0]] if len(shown) == 1 else []
        found: tuple[Facts, int] | None = ([], 0) if z3.is_true(z3.simplify(goal)) else None
        found = found or (self.proof(both, z3.Not(goal), ()) if both else None)
        found = found or self.proof(facts, z3.Not(goal), ANEW if anew is None else anew)
        if found is None or not self._confirmed([*map(self.term, found[0]), z3.Not(goal)], False, about):
            return None
        shown.append(set(found[0]))
        return found[1]

    def proof(self, facts: Facts, not_so: Term, anew: Tries) -> tuple[Facts, int] | None:
        """Facts that were shown to contradict a formula, and the steps it took."""
        self.asked += 1
        start = self.steps
        few = [facts[at] for at in self.needs.get(self.number, ()) if anew and 0 <= at < len(facts)]
        if few and self.shows(few, not_so, *ENOUGH):
            return few, self.steps - start
        kinds = {f.kind for f in facts}
        layer = (kinds <= {Kind.RUN}, kinds.isdisjoint({Kind.PRIME, Kind.TWIN}), bool(anew))
        if layer not in self._stacks:
            self._stacks[layer] = Stack(not_so.ctx)
        solver = self._stacks[layer].hold(facts, self.term)
        solver.push()
        proved = self.contradict(solver, [not_so])
        solver.pop()
        for rounds, limit in anew:
            if proved or (proved is False and rounds <= AT_ONCE[0]):
                continue  # so few rounds would find no more
            proved = self.shows(facts, not_so, rounds, limit)
        return (facts, self.steps - start) if proved else None

    def shows(self, facts: Facts, not_so: Term, rounds: int, limit: int) -> bool | None:
        """Whether facts contradict a formula, by a solver that knows no others."""
        return self.contradict(fresh_solver(not_so.ctx, rounds, limit), [*map(self.term, facts), not_so])

    def contradict(self, solver: Any, formulas: list[Term]) -> bool | None:
        """Whether the formulas contradict each other; None if Z3 gave up before it was through."""
        _assert(solver, formulas)
        answer = solver.check()
        through = answer == z3.sat or solver.reason_unknown() == "(incomplete quantifiers)"
        proved = True if answer == z3.unsat else False if through else None
        counts = solver.statistics()  # of which the one that is wanted is among the last
        pairs = map(counts.__getitem__, reversed(range(len(counts))))
        self.steps = next(int(v) for k, v in pairs if k == COUNT)  # Z3 counts for the whole context
        return proved

    def satisfiable(self, facts: Iterable[Fact], values: Sequence[Term], ctx: Any) -> bool:
        """Whether Z3 finds a model of all facts (of general ones for all numbers) and of `values`."""
        solver = instances(z3.Solver, ctx, *MODEL, mbqi=True, auto_config=True)
        general = [z3.ForAll(list(f.variables), f.formula) if f.variables else f.formula for f in facts]
        formulas = [*general, *values]
        solver.add(*formulas)
        return bool(solver.check() == z3.sat) and self._confirmed(formulas, True, "the declarations")

    def _confirmed(self, formulas: Sequence[Term], satisfiable: bool, about: str) -> bool:
        return self.confirm is None or self.confirm(formulas, satisfiable, about)

    def term(self, fact: Fact) -> Term:
        """A fact as a formula for Z3: a general one with its triggers."""
        if not fact.variables:
            return fact.formula
        known = self._general.get(fact)
        if known is None:
            named = {part for each in subterms(fact.formula) if each.symbol for part in each.parts}
            loose = [v for v in fact.variables if anatomy(v) not in named]
            bound = [v for v in fact.variables if anatomy(v) in named]
            parts = [_triggered(bound, each) for each in _at_equals(fact.formula, loose)]
            known = parts[0] if len(parts) == 1 else z3.And(z3.BoolVal(True, fact.formula.ctx), *parts)
            self._general[fact] = known
        return known


def _triggered(variables: list[Term], formula: Term) -> Term:
    """A formula for all values of variables, each of which a symbol in it is applied to. (Z3 takes no choice
    and no formula in a trigger.)
    """
    if not variables:
        return formula
    uses = [t for t in subterms(formula) if t.symbol and not t.choice]
    triggers = [[t for t in uses if anatomy(v) in t.parts] for v in variables]
    together = {frozenset(each): each for each in product(*triggers)}
    patterns = [z3.MultiPattern(*(t.term for t in each)) for each in together.values()]
    return z3.ForAll(variables, formula, patterns=patterns)


def _at_equals(formula: Term, variables: list[Term]) -> list[Term]:
    """Instances of "for all i: if i == E": for that E."""
    if not variables:
        return [formula]
    sides = [[part.term for part in t.parts] for t in subterms(formula) if t.kind == z3.Z3_OP_EQ]
    choices = [[b for a, b in sides if same(a, v)] for v in variables]
    return [z3.substitute(formula, *zip(variables, each, strict=True)) for each in product(*choices)]
