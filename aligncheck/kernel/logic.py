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

AT_ONCE, MODEL = (2, 250_000), 3_000_000
ANEW = ((1, 1_500_000), (3, 3_000_000))
"""How often instances are made of general facts, from terms of the question and of such instances; and how
much Z3 may do for one question, in its own count (`rlimit`), the same everywhere. First a question is put to
a solver that still knows what was asked before, then by itself.
"""
FEW = ANEW[:1]
"""For what may well not follow."""


class Stack:
    """A solver with facts one upon the other; those that two questions have in common stay."""

    def __init__(self, ctx: Any) -> None:
        self.solver = _solver(z3.SimpleSolver, ctx, *AT_ONCE)
        self.facts: list[Fact] = []

    def hold(self, facts: list[Fact], terms: list[Term]) -> Any:
        """The solver, with just these facts."""
        same = 0
        for one, other in zip(self.facts, facts, strict=False):
            if one is not other:
                break
            same += 1
        self.solver.pop(len(self.facts) - same)
        for term in terms[same:]:
            self.solver.push()
            self.solver.add(term)
        self.facts = facts
        return self.solver


def _solver(kind: Any, ctx: Any, rounds: int, limit: int) -> Any:
    """A solver that takes only such instances of general facts as their triggers allow.

    Z3 reads how many rounds of them there may be from its global settings, when a solver is made.
    """
    for name in ("smt.qi.eager_threshold", "smt.qi.lazy_threshold"):
        z3.set_param(name, float(rounds))
    solver = kind(ctx=ctx)
    solver.set("mbqi", False)
    solver.set("auto_config", False)
    solver.set("random_seed", 0)
    solver.set("rlimit", limit)
    return solver


COUNT = "rlimit count"
"""Z3's name for the number of its steps."""


@dataclass
class Decider:
    """Asks Z3. What is unknown or takes too many steps is not proved.

    General facts are quantified formulas with triggers: Z3 takes an instance where a symbol that is applied
    to the variable stands applied to a term of the question, and looks for no others. Whichever it takes, a
    goal that follows from them follows from the facts.
    """

    confirm: Confirm | None = None
    asked: int = 0
    steps: int = 0
    _stacks: dict[bool, Stack] = field(default_factory=dict)
    _general: dict[int, tuple[Fact, Term]] = field(default_factory=dict)

    def follows(
        self,
        facts: Sequence[Fact],
        goal: Term,
        about: str = "",
        anew: Sequence[tuple[int, int]] | None = None,
    ) -> int | None:
        """The steps of a proof of the goal from the facts; None where none was found. `about` says in words
        what is asked. `anew` is tried where the solver that knows the facts fails: `ANEW`, if not given.
        """
        not_so = z3.Not(goal)
        if z3.is_true(z3.simplify(goal)) and self._confirmed([not_so], False, about):
            return 0
        self.asked += 1
        early = all(f.kind is Kind.RUN for f in facts)
        if early not in self._stacks:
            self._stacks[early] = Stack(goal.ctx)
        # What most questions have in common comes first.
        ordered = [f for late in (False, True) for f in facts if (f.kind is Kind.PRIME) is late]
        terms = [self._term(f) for f in ordered]
        solver = self._stacks[early].hold(ordered, terms)
        solver.push()
        proved, spent = self._ask(solver, [not_so])
        solver.pop()
        for rounds, limit in ANEW if anew is None else anew:
            if proved or (proved is False and rounds <= AT_ONCE[0]):
                continue  # so few rounds would find no more
            proved, steps = self._ask(_solver(z3.Solver, goal.ctx, rounds, limit), [*terms, not_so])
            spent += steps
        return spent if proved and self._confirmed([*terms, not_so], False, about) else None

    def _ask(self, solver: Any, formulas: list[Term]) -> tuple[bool | None, int]:
        """Whether the formulas contradict each other; None if Z3 gave up before it was through."""
        solver.add(*formulas)
        answer = solver.check()
        through = answer == z3.sat or solver.reason_unknown() == "(incomplete quantifiers)"
        proved = True if answer == z3.unsat else False if through else None
        counts = solver.statistics()  # of which the one that is wanted is among the last
        total = next(int(v) for k, v in map(counts.__getitem__, reversed(range(len(counts)))) if k == COUNT)
        steps, self.steps = total - self.steps, total  # Z3 counts for the whole context
        return proved, steps

    def satisfiable(self, facts: Iterable[Fact], values: Sequence[Term], ctx: Any) -> bool:
        """Whether Z3 finds a model of all facts (of general ones for all numbers) and of `values`."""
        solver = z3.Solver(ctx=ctx)
        solver.set("rlimit", MODEL)
        general = [z3.ForAll(list(f.variables), f.formula) if f.variables else f.formula for f in facts]
        formulas = [*general, *values]
        solver.add(*formulas)
        return bool(solver.check() == z3.sat) and self._confirmed(formulas, True, "the declarations")

    def _confirmed(self, formulas: Sequence[Term], satisfiable: bool, about: str) -> bool:
        return self.confirm is None or self.confirm(formulas, satisfiable, about)

    def _term(self, fact: Fact) -> Term:
        """A fact as a formula for Z3: a general one with its triggers."""
        if not fact.variables:
            return fact.formula
        known = self._general.get(id(fact))
        if known is None:
            named = {v.get_id(): v for t in subterms(fact.formula) if is_symbol(t) for v in t.children()}
            loose = [v for v in fact.variables if v.get_id() not in named]
            bound = [v for v in fact.variables if v.get_id() in named]
            parts = [_triggered(bound, each) for each in _at_equals(fact.formula, loose)]
            term = parts[0] if len(parts) == 1 else z3.And(z3.BoolVal(True, fact.formula.ctx), *parts)
            known = self._general[id(fact)] = (fact, term)
        return known[1]


def _triggered(variables: list[Term], formula: Term) -> Term:
    """A formula for all values of variables, each of which a symbol in it is applied to."""
    if not variables:
        return formula
    uses = [t for t in subterms(formula) if is_symbol(t) and not _chooses(t)]
    triggers = [[t for t in uses if any(z3.eq(v, a) for a in t.children())] for v in variables]
    together = {frozenset(t.get_id() for t in each): each for each in product(*triggers)}
    return z3.ForAll(variables, formula, patterns=[z3.MultiPattern(*each) for each in together.values()])


def _chooses(term: Term) -> bool:
    """Whether a term contains a choice (`if`) or a formula, which Z3 takes in no trigger."""
    return any(z3.is_app_of(t, z3.Z3_OP_ITE) or (z3.is_bool(t) and not is_symbol(t)) for t in subterms(term))


def _at_equals(formula: Term, variables: list[Term]) -> list[Term]:
    """Instances of "for all i: if i == E": for that E."""
    if not variables:
        return [formula]
    sides = [p.children() for p in subterms(formula) if z3.is_eq(p)]
    choices = [[b for a, b in sides if z3.eq(a, v)] for v in variables]
    return [z3.substitute(formula, *zip(variables, each, strict=True)) for each in product(*choices)]
