"""Questions to Z3. Its words stop here; `unknown` stays unknown (design, rule 1).

Trusted. A question is `hypotheses imply goal`; Z3 is asked for a counterexample, first in a linear
abstraction, then in full. Limits are counted in Z3's own steps, so that an answer does not depend on how busy
the machine is; seconds are only a second fence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import z3

from aligncheck.effort import Effort
from aligncheck.search.discharge.algebra import Quotient, canonical, polynomial_term, quotient
from aligncheck.search.discharge.facts import Facts
from aligncheck.search.discharge.translate import Translator
from aligncheck.search.discharge.z3build import (
    add_all,
    context,
    limit,
    steps_of,
)
from aligncheck.search.relational import ir
from aligncheck.search.relational.theory import Theory

STEPS_PER_MILLISECOND = 2_500
"""Z3 resource units per millisecond of a limit: about its speed on a quiet machine."""
MANY = 120
"""With more formulas than this about sets, a question has so many cases that the general solver is faster."""
_STEP = 1_000
"""So many of these units are one step of an `Effort`."""
PATIENCE = 50
"""The fence in seconds stands this many times further out than the steps: a slow machine finds what a fast
one does.
"""
_PATIENCE_FOR_MODELS = 5
"""The same for questions that ask for a model, which no proof rests on."""


class Answer(Enum):
    """VALID: no counterexample exists. INVALID: Z3 found one. UNKNOWN: Z3 gave up or ran out of steps."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


Model = dict[ir.Term, Fraction | bool]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and its model if there is one and was asked for."""

    answer: Answer
    model: Model | None = None


@dataclass
class Smt:
    """Asks Z3 about the terms of one mechanism; `whole` is for concrete models (see `Translator`). Where the
    `effort` for all questions together is over, every answer is unknown.
    """

    theory: Theory
    whole: bool = False
    effort: Effort = field(default_factory=Effort)
    queries: int = 0
    _signs: dict[ir.Term, int] = field(default_factory=dict)
    _units: dict[ir.Term, ir.Term] = field(default_factory=dict)
    _asked: dict[ir.Term, ir.Term] = field(default_factory=dict)

    @cached_property
    def facts(self) -> Facts:
        return Facts(self.theory)

    @cached_property
    def full(self) -> Translator:
        return Translator(self.sign, self.whole)

    @cached_property
    def linear(self) -> Translator:
        return Translator(self.sign, False, linear=True)

    def measure(self, symbols: Iterable[ir.Sym], unit: ir.Term) -> None:
        """Measure what these symbols stand for in a unit from now on, if parameters alone decide that it is
        positive.

        Why sound: the symbols stand for arbitrary numbers, and every number is a multiple of a positive one.
        Why done: costs in the unit of their rates make most questions about costs linear.
        """
        if self.sign(unit) > 0:
            self._units = {s: ir.mul(unit, s) for s in symbols}
            self._asked.clear()

    def normal(self, term: ir.Term) -> ir.Term:
        """The normal form in which a term is asked about."""
        known = self._asked.get(term)
        if known is None:
            known = self._asked[term] = canonical(ir.substitute(term, self._units))
        return known

    # --- questions ----------------------------------------------------------------------------------------

    def implied(self, hypotheses: Iterable[ir.Term], goal: ir.Term, milliseconds: int) -> Reply:
        """Whether the theory's facts and the hypotheses imply the goal."""
        target = self.normal(goal)
        assumed = [self.normal(h) for h in hypotheses]
        if target == ir.TRUE or ir.FALSE in assumed:
            return Reply(Answer.VALID)
        if self._late():
            return Reply(Answer.UNKNOWN)
        asked = [*assumed, ir.not_(target)]
        if self.facts.has_sets:  # few questions need what sets mean, and it is long
            brief = [*asked, *self.facts.about(asked, sets=False)]
            if self._check(self._asking(self.linear, brief), milliseconds) == z3.unsat:
                return Reply(Answer.VALID)
        terms = [*asked, *self.facts.about(asked)]
        if self._check(self._asking(self.linear, terms), milliseconds) == z3.unsat:
            return Reply(Answer.VALID)
        return Reply(_answer(self._decided(terms, milliseconds)))

    def satisfiable(
        self, facts: Iterable[ir.Term], milliseconds: int, limits: tuple[int, int] | None = None
    ) -> Reply:
        """Whether the facts have a model: INVALID with the model if so, VALID if there is none.

        `limits` = (size, denominator) asks for a readable one: every number at most `size` in absolute value
        and a multiple of 1/`denominator`.
        """
        terms = [canonical(f) for f in facts]
        if ir.FALSE in terms:
            return Reply(Answer.VALID)
        if self._late():
            return Reply(Answer.UNKNOWN)
        terms += self.facts.about(terms)
        solver = self._asking(self.full, terms)
        if limits is not None:
            solver.add(*self._readable(terms, limits))
        answer = _answer(self._check(solver, milliseconds))
        model = self._model(solver.model(), self.full) if answer is Answer.INVALID else None
        return Reply(answer, model)

    def _formulas(self, translator: Translator, terms: Collection[ir.Term]) -> list[Any]:
        """The formulas that together say that terms hold, each once."""
        # Terms share side conditions; the translator keeps these alive, so that their ids stay apart.
        return list({id(f): f for term in terms for f in translator.assertion(term)}.values())

    def _asking(self, translator: Translator, terms: Collection[ir.Term]) -> Any:
        """A solver that is to find values for which terms hold."""
        return self._solver(translator, self._formulas(translator, terms), self._has_many_cases(terms))

    def _solver(self, translator: Translator, formulas: Iterable[Any], general: bool) -> Any:
        """The solver that answers most questions of a kind soonest: Z3's core for linear ones, which keeps
        what it learnt while claims are taken out, and for others the one for polynomials (it has no integers,
        and is slow where there are many cases) unless the `general` one is wanted. Z3's own choice of a
        solver is left out, as it goes by the clock, but for models.
        """
        if translator.whole:
            solver = z3.Solver(ctx=context())
        elif translator.linear or general:
            solver = z3.SimpleSolver(context())
        else:
            solver = self._polynomials.solver()
        add_all(solver, formulas)
        return solver

    @cached_property
    def _polynomials(self) -> Any:
        return z3.Tactic("qfnra-nlsat", context())

    def _check(self, solver: Any, milliseconds: int) -> Any:
        """Z3's answer within a number of steps."""
        self.queries += 1
        if self._late():
            return z3.unknown
        fence = (_PATIENCE_FOR_MODELS if self.whole else PATIENCE) * milliseconds / 1000
        clock = Effort(min(fence, self.effort.seconds_left()))
        steps = max(1, STEPS_PER_MILLISECOND * milliseconds)
        limit(solver, max(1, int(1000 * clock.seconds_left())), steps)
        before = steps_of(solver)
        answer = solver.check()
        stopped = answer == z3.unknown and clock.is_late
        # Z3 does not count all that it does: what the clock stops has cost the most there is.
        self.effort.spend(1 + (steps if stopped else steps_of(solver) - before) // _STEP)
        return answer

    def _late(self) -> bool:
        """Whether the effort is over, so that no question is even written down."""
        return self.effort.is_over

    def _has_many_cases(self, terms: Collection[ir.Term]) -> bool:
        """Whether a question is of those that the general solver answers sooner."""
        return self.facts.has_sets and len(terms) > MANY

    def _decided(self, terms: Collection[ir.Term], milliseconds: int) -> Any:
        """The answer of the solver that is tried first, or else of the other one."""
        formulas = self._formulas(self.full, terms)
        general = self._has_many_cases(terms)
        result = self._check(self._solver(self.full, formulas, general), milliseconds)
        if result != z3.unknown or self.whole:
            return result
        return self._check(self._solver(self.full, formulas, not general), milliseconds)

    # --- signs --------------------------------------------------------------------------------------------

    def sign(self, term: ir.Term) -> int:
        """1 or -1 where the parameters' ranges decide the sign of a term over parameters, 0 where they do
        not.
        """
        known = self._signs.get(term)
        if known is None:
            self._signs[term] = 0  # while it is being decided
            known = self._signs[term] = self._sign_of(term)
        return known

    def _sign_of(self, term: ir.Term) -> int:
        form = quotient(term)
        if form.denominator != 1:
            parts = [_piece(form, top=True), _piece(form, top=False)]
            return self.sign(parts[0]) * self.sign(parts[1])
        if not _only_parameters(term):
            return 0
        if self._follows(ir.lt(ir.ZERO, term)):
            return 1
        return -1 if self._follows(ir.lt(term, ir.ZERO)) else 0

    def _follows(self, claim: ir.Term) -> bool:
        """Whether the parameters' ranges imply a claim without divisions."""
        return bool(self._check(self._asking(self.full, self.sign_question(claim)), 200) == z3.unsat)

    def sign_question(self, claim: ir.Term) -> list[ir.Term]:
        """What cannot hold together if the parameters' ranges imply a claim without divisions."""
        base = [c for b in self.theory.base if _plain(c := canonical(b)) and _only_parameters(c)]
        terms = [canonical(ir.not_(claim)), *base]
        atoms = dict.fromkeys(a for t in terms for a in ir.subterms((t,)))
        return [*terms, *(f for a in atoms for f in self.facts.of(a) if _plain(f) and _only_parameters(f))]

    def signs(self) -> dict[ir.Term, int]:
        """The terms without divisions whose signs were asked for and are known: 1 or -1."""
        return {t: s for t, s in self._signs.items() if s and quotient(t).denominator == 1}

    # --- models -------------------------------------------------------------------------------------------

    def _readable(self, terms: list[ir.Term], limits: tuple[int, int]) -> Iterator[Any]:
        size, denominator = limits
        for atom in ir.subterms(terms):
            if isinstance(atom, ir.Sym | ir.App) and ir.sort_of(atom) is not ir.TermSort.BOOL:
                variable = self.full.variable(atom)
                yield variable <= size
                yield variable >= -size
                if ir.sort_of(atom) is ir.TermSort.REAL and _chosen(atom):
                    yield z3.IsInt(variable * denominator)

    def _model(self, model: Any, translator: Translator) -> Model:
        """The values of all symbols that have one; algebraic numbers to twelve digits."""
        found: Model = {}
        for atom, variable in translator.variables.items():
            if not isinstance(atom, ir.Sym | ir.App):
                continue
            value = model.eval(variable)
            if z3.is_bool(value):
                if z3.is_true(value) or z3.is_false(value):
                    found[atom] = bool(z3.is_true(value))
            elif z3.is_int_value(value):
                found[atom] = Fraction(value.as_long())
            elif z3.is_rational_value(value):
                found[atom] = Fraction(value.numerator_as_long(), value.denominator_as_long())
            elif z3.is_algebraic_value(value):
                near = value.approx(12)
                found[atom] = Fraction(near.numerator_as_long(), near.denominator_as_long())
        return found


def _answer(result: Any) -> Answer:
    if result == z3.unsat:
        return Answer.VALID
    return Answer.INVALID if result == z3.sat else Answer.UNKNOWN


def _piece(form: Quotient, top: bool) -> ir.Term:
    return polynomial_term(form.numerator if top else form.denominator, form.atoms)


def _only_parameters(term: ir.Term) -> bool:
    return all(
        a.kind is ir.Nature.PARAMETER and isinstance(a, ir.Sym)
        for a in ir.subterms((term,))
        if isinstance(a, ir.Sym | ir.App)
    )


def _plain(term: ir.Term) -> bool:
    """Whether a term is free of divisions."""
    return not any(isinstance(t, ir.Div) for t in ir.subterms((term,)))


def _chosen(atom: ir.Term) -> bool:
    """Numbers that a person reads in a model: inputs and noise, not what follows from them."""
    return isinstance(atom, ir.Sym | ir.App) and atom.kind in (
        ir.Nature.PARAMETER,
        ir.Nature.DATA,
        ir.Nature.DISTANCE,
        ir.Nature.NOISE,
    )
