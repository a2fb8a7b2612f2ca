"""Terms to Z3 and back. Z3's words stop here; `unknown` stays unknown (design, rule 1).

Trusted. A question is `hypotheses imply goal`; Z3 is asked for a counterexample. Everything that is no polynomial
(roots, exponentials, absolute values, conditionals, symbols at an index) becomes a variable of its own, with the
facts that define or bound it; so an answer "no counterexample" over the weaker facts is a proof.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from itertools import combinations
from typing import Any

import z3

from aligncheck.discharge.algebra import Quotient, as_fraction, canonical, polynomial_term, quotient
from aligncheck.discharge.values import value_of
from aligncheck.relational.terms import (
    ONE,
    TRUE,
    ZERO,
    And,
    App,
    Cmp,
    Fn,
    IsInt,
    Ite,
    Kind,
    Not,
    Or,
    Sort,
    Sym,
    Term,
    Truth,
    add,
    and_,
    eq,
    iff,
    implies,
    le,
    lt,
    mul,
    neg,
    not_,
    or_,
    sort_of,
    sub,
    subterms,
)
from aligncheck.relational.theory import Theory


class Answer(Enum):
    """VALID: no counterexample exists. INVALID: Z3 found one. UNKNOWN: Z3 gave up or ran out of time."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


Model = dict[Term, Fraction | bool]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, its model if there is one and was asked for, and the seconds it took."""

    answer: Answer
    model: Model | None
    seconds: float


@dataclass
class Smt:
    """Asks Z3 about the terms of one mechanism. `whole` gives integer symbols Z3's integers (for concrete models);
    otherwise they are reals with the tightening `a < b iff a + 1 <= b`, which holds of integers and suffices."""

    theory: Theory
    whole: bool = False
    deadline: float | None = None
    queries: int = 0
    _variables: dict[Term, Any] = field(default_factory=dict)
    _truths: dict[Term, Any] = field(default_factory=dict)
    _facts: dict[Term, tuple[Term, ...]] = field(default_factory=dict)
    _atoms: dict[Term, tuple[Term, ...]] = field(default_factory=dict)
    _pairs: dict[tuple[Term, Term], tuple[Term, ...]] = field(default_factory=dict)
    _signs: dict[str, int] = field(default_factory=dict)
    _sides: list[Any] = field(default_factory=list)
    _sides_of: dict[Term, list[Any]] = field(default_factory=dict)

    # --- questions ----------------------------------------------------------------------------------------

    def implied(
        self, hypotheses: Iterable[Term], goal: Term, milliseconds: int, model: bool = False
    ) -> Reply:
        """Whether the theory's facts and the hypotheses imply the goal."""
        start = time.perf_counter()
        target = canonical(goal)
        if target == Truth(True):
            return Reply(Answer.VALID, None, time.perf_counter() - start)
        assumed = [canonical(h) for h in hypotheses]
        if Truth(False) in assumed:
            return Reply(Answer.VALID, None, time.perf_counter() - start)
        return self._ask([*assumed, not_(target)], milliseconds, model, start)

    def satisfiable(
        self, facts: Iterable[Term], milliseconds: int, limits: tuple[int, int] | None = None
    ) -> Reply:
        """Whether the facts have a model: INVALID with the model if so, VALID if there is none.

        `limits` = (size, denominator) asks for a readable one: every number at most `size` in absolute value and
        a multiple of 1/`denominator`.
        """
        start = time.perf_counter()
        wanted = [canonical(f) for f in facts]
        if Truth(False) in wanted:
            return Reply(Answer.VALID, None, 0.0)
        return self._ask(wanted, milliseconds, True, start, limits)

    def survivors(
        self, hypotheses: Iterable[Term], claims: Mapping[Term, Term], milliseconds: int
    ) -> tuple[list[Term], bool]:
        """The keys of the claims that no counterexample found so far refutes, and whether they are all implied.

        One solver is kept: each counterexample drops every claim that it refutes, until there is none.
        """
        left = dict(claims)
        terms = [canonical(h) for h in hypotheses]
        negated = {key: not_(claim) for key, claim in left.items()}
        closed = self._closed([*terms, *negated.values()])
        loose = set(negated.values())
        solver = z3.Solver()
        for term in closed:
            if term not in loose or term in terms:
                solver.add(self._truth(term))
            else:
                self._truth(term)
            solver.add(*self._sides_of[term])
        flags = {key: z3.Bool(f"wrong{i}") for i, key in enumerate(left)}
        for key, claim in negated.items():
            solver.add(z3.Implies(flags[key], self._truth(claim)), *self._sides_of[claim])
        solver.add(z3.Or(list(flags.values())))
        while left:
            self.queries += 1
            solver.set("timeout", self._within(milliseconds))
            result = solver.check()
            if result == z3.unsat:
                return list(left), True
            if result != z3.sat:
                return list(left), False
            model = self._model(solver.model(), closed)
            wrong = [k for k in left if value_of(claims[k], model) is False]
            if not wrong:
                return list(left), False
            for key in wrong:
                solver.add(z3.Not(flags[key]))
                del left[key]
        return [], True

    def _within(self, milliseconds: int) -> int:
        """The time for one query, cut to what is left until the deadline (at least 1)."""
        if self.deadline is None:
            return milliseconds
        return max(1, min(milliseconds, int((self.deadline - time.monotonic()) * 1000)))

    def _ask(
        self,
        terms: list[Term],
        milliseconds: int,
        model: bool,
        start: float,
        limits: tuple[int, int] | None = None,
    ) -> Reply:
        if self.deadline is not None:
            left = int((self.deadline - time.monotonic()) * 1000)
            if left <= 0:
                return Reply(Answer.UNKNOWN, None, time.perf_counter() - start)
            milliseconds = min(milliseconds, left)
        self.queries += 1
        closed = self._closed(terms)
        solver = z3.Solver()
        solver.set("timeout", milliseconds)
        for term in closed:
            solver.add(self._truth(term))
            for side in self._sides_of.get(term, ()):
                solver.add(side)
        if limits is not None:
            for bound in self._readable(closed, limits):
                solver.add(bound)
        result = solver.check()
        if result == z3.unknown and not self.whole:
            again = z3.Tactic("qfnra-nlsat").solver()
            again.set("timeout", milliseconds)
            again.add(solver.assertions())
            result, solver = again.check(), again
        answer = _answer(result)
        found = self._model(solver.model(), closed) if model and answer is Answer.INVALID else None
        return Reply(answer, found, time.perf_counter() - start)

    # --- facts about atoms --------------------------------------------------------------------------------

    def _closed(self, terms: list[Term]) -> list[Term]:
        """The terms, the base facts, and the facts about every atom in them, until nothing new occurs."""
        done: dict[Term, None] = {}
        seen: set[Term] = set()
        atoms: dict[Term, None] = {}
        queue: list[Term] = [*terms, *(canonical(b) for b in self.theory.base)]
        while queue:
            while queue:
                term = queue.pop()
                if term in seen:
                    continue
                seen.add(term)
                if isinstance(term, And):
                    queue.extend(term.args)
                    continue
                if term == TRUE:
                    continue
                done[term] = None
                for atom in self._atoms_in(term):
                    if atom not in atoms:
                        atoms[atom] = None
                        queue.extend(self._facts_of(atom))
            queue.extend(t for t in self._pair_facts(list(atoms)) if t not in seen)
        return list(done)

    def _atoms_in(self, term: Term) -> tuple[Term, ...]:
        known = self._atoms.get(term)
        if known is None:
            known = tuple(t for t in subterms((term,)) if isinstance(t, Sym | App | Fn | Ite))
            self._atoms[term] = known
        return known

    def _facts_of(self, atom: Term) -> tuple[Term, ...]:
        known = self._facts.get(atom)
        if known is None:
            match atom:
                case Sym() | App():
                    raw: tuple[Term, ...] = self.theory.facts(atom)
                case Fn():
                    raw = function_facts(atom)
                case Ite() if sort_of(atom) is not Sort.BOOL:
                    raw = (
                        implies(atom.test, eq(atom, atom.then)),
                        or_((atom.test, eq(atom, atom.otherwise))),
                    )
                case _:
                    raw = ()
            known = tuple(canonical(f) for f in raw)
            self._facts[atom] = known
        return known

    def _pair_facts(self, atoms: list[Term]) -> Iterator[Term]:
        """Equal arguments give equal values (Ackermann); exp is increasing; prefix sums grow."""
        groups: dict[str, list[App | Fn]] = {}
        for atom in atoms:
            if isinstance(atom, App | Fn) and not (isinstance(atom, Fn) and atom.name == "abs"):
                groups.setdefault(atom.name, []).append(atom)
        for group in groups.values():
            for pair in combinations(group, 2):
                known = self._pairs.get(pair)
                if known is None:
                    known = self._pairs[pair] = tuple(canonical(f) for f in self._facts_of_pair(*pair))
                yield from known

    def _facts_of_pair(self, a: App | Fn, b: App | Fn) -> Iterator[Term]:
        if isinstance(a, Fn) and a.name == "exp":
            yield iff(lt(a.args[0], b.args[0]), lt(a, b))
            return
        alike = and_(eq(x, y) for x, y in zip(a.args, b.args, strict=True))
        yield implies(alike, iff(a, b) if sort_of(a) is Sort.BOOL else eq(a, b))
        yield from self.theory.pairwise([x for x in (a, b) if isinstance(x, App)])

    # --- translation --------------------------------------------------------------------------------------

    def _truth(self, term: Term) -> Any:
        known = self._truths.get(term)
        if known is None:
            outer, self._sides = self._sides, []
            known = self._encode(term)
            self._truths[term] = known
            self._sides_of[term] = self._sides
            self._sides = outer
        self._sides.extend(self._sides_of[term])
        return known

    def _encode(self, term: Term) -> Any:
        match term:
            case Truth(value):
                return z3.BoolVal(value)
            case Not(arg):
                return z3.Not(self._truth(arg))
            case And(args):
                return z3.And([self._truth(a) for a in args])
            case Or(args):
                return z3.Or([self._truth(a) for a in args])
            case Ite(test, then, otherwise):
                return z3.If(self._truth(test), self._truth(then), self._truth(otherwise))
            case Cmp():
                return self._comparison(term)
            case IsInt(arg) if self.whole:
                return z3.IsInt(self._cleared(quotient(arg)))
            case Sym() | App():
                return self._variable(term)
            case _:
                raise AssertionError(f"not a truth: {term}")

    def _comparison(self, term: Cmp) -> Any:
        left, right, op = term.left, term.right, term.op
        whole = sort_of(left) is Sort.INT and sort_of(right) is Sort.INT
        if whole and op == "==" and not self.whole:
            return z3.And(self._truth(Cmp("<=", left, right)), self._truth(Cmp("<=", right, left)))
        if whole and op == "<":
            left, op = add(left, ONE), "<="
        value = self._cleared(quotient(sub(left, right)))
        if op == "==":
            return value == 0
        if op == "<":
            return value < 0
        if whole and not self.whole:
            # An integer is at most 0 or at least 1.
            gap = self._cleared(quotient(sub(sub(left, right), ONE)))
            self._sides.append(z3.Or(value <= 0, gap >= 0))
        return value <= 0

    def _cleared(self, form: Quotient) -> Any:
        """The quotient with its denominator multiplied out where its sign is known from the parameters' ranges."""
        top = self._polynomial(form.numerator, form.atoms)
        if form.denominator == 1:
            return top
        sign = 1
        unit, factors = form.denominator.factor()
        if as_fraction(unit) < 0:
            sign = -1
        for factor, power in factors:
            if int(power) % 2 == 1 or not self._nonzero(factor, form.atoms):
                known = self._sign(factor, form.atoms)
                if known == 0:
                    return top * self._inverse(form)
                sign *= known if int(power) % 2 else 1
        return top * sign

    def _nonzero(self, factor: Any, atoms: tuple[Term, ...]) -> bool:
        return self._sign(factor, atoms) != 0

    def _sign(self, factor: Any, atoms: tuple[Term, ...]) -> int:
        """1 or -1 where the parameters' ranges decide the sign of a factor, 0 where they do not."""
        term = polynomial_term(factor, atoms)
        key = repr(term)
        known = self._signs.get(key)
        if known is None:
            self._signs[key] = 0  # while it is being decided
            known = 0
            if _only_parameters(term):
                for sign, claim in ((1, lt(ZERO, term)), (-1, lt(term, ZERO))):
                    if self._decided(claim):
                        known = sign
                        break
            self._signs[key] = known
        return known

    def _decided(self, claim: Term) -> bool:
        plain = [b for b in self.theory.base if _without_division(b)]
        closed: list[Term] = []
        queue = [canonical(c) for c in (not_(claim), *plain)]
        while queue:
            term = queue.pop()
            if term in closed:
                continue
            closed.append(term)
            for atom in subterms((term,)):
                if isinstance(atom, Fn | Sym):
                    queue.extend(f for f in self._facts_of(atom) if _without_division(f))
        solver = z3.Solver()
        solver.set("timeout", 500)
        for term in closed:
            solver.add(self._truth(term), *self._sides_of.get(term, ()))
        return bool(solver.check() == z3.unsat)

    def _inverse(self, form: Quotient) -> Any:
        """A variable r with `denominator * r = 1` wherever the denominator is not 0."""
        bottom = self._polynomial(form.denominator, form.atoms)
        key = canonical(polynomial_term(form.denominator, form.atoms))
        name = Sym(f"1/({key!r})", Sort.REAL, Kind.GHOST)
        r = self._variable(name)
        self._sides.append(z3.Or(bottom == 0, bottom * r == 1))
        return r

    def _polynomial(self, poly: Any, atoms: tuple[Term, ...]) -> Any:
        total: list[Any] = []
        for exponents, coefficient in poly.terms():
            c = as_fraction(coefficient)
            product: Any = z3.RealVal(f"{c.numerator}/{c.denominator}")
            for atom, e in zip(atoms, exponents, strict=True):
                for _ in range(int(e)):
                    product = product * self._number(atom)
            total.append(product)
        return z3.Sum(total) if total else z3.RealVal(0)

    def _number(self, atom: Term) -> Any:
        variable = self._variable(atom)
        return z3.ToReal(variable) if variable.sort() == z3.IntSort() else variable

    def _variable(self, atom: Term) -> Any:
        known = self._variables.get(atom)
        if known is None:
            name = f"v{len(self._variables)}"
            sort = sort_of(atom)
            if sort is Sort.BOOL:
                known = z3.Bool(name)
            elif sort is Sort.INT and self.whole:
                known = z3.Int(name)
            else:
                known = z3.Real(name)
            self._variables[atom] = known
        return known

    # --- models -------------------------------------------------------------------------------------------

    def _readable(self, terms: list[Term], limits: tuple[int, int]) -> Iterator[Any]:
        size, denominator = limits
        for atom in subterms(terms):
            if isinstance(atom, Sym | App) and sort_of(atom) is not Sort.BOOL:
                variable = self._variable(atom)
                yield variable <= size
                yield variable >= -size
                if sort_of(atom) is Sort.REAL and _chosen(atom):
                    yield z3.IsInt(variable * denominator)

    def _model(self, model: Any, terms: list[Term]) -> Model:
        found: Model = {}
        for atom in subterms(terms):
            if not isinstance(atom, Sym | App):
                continue
            value = model.eval(self._variable(atom), model_completion=True)
            if z3.is_bool(value):
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


def function_facts(atom: Fn) -> tuple[Term, ...]:
    """What is known of a function that is no polynomial, at one argument.

    abs, sqrt, floor and mod are defined by these facts (up to integrality); exp, ln and log2 only bounded: the
    sign facts and the tangent at the fixed point, `exp x >= 1 + x` and `ln x <= x - 1`. Each is a
    theorem of elementary analysis, so assuming it is sound.
    """
    x = atom.args[0]
    match atom.name:
        case "abs":
            return (
                implies(le(ZERO, x), eq(atom, x)),
                implies(le(x, ZERO), eq(atom, neg(x))),
            )
        case "sqrt":
            return (implies(le(ZERO, x), and_((le(ZERO, atom), eq(mul(atom, atom), x)))),)
        case "exp":
            return (
                lt(ZERO, atom),
                iff(lt(ZERO, x), lt(ONE, atom)),
                iff(lt(x, ZERO), lt(atom, ONE)),
                le(add(ONE, x), atom),
            )
        case "ln":
            return (
                implies(
                    lt(ZERO, x),
                    and_(
                        (
                            iff(lt(ONE, x), lt(ZERO, atom)),
                            iff(lt(x, ONE), lt(atom, ZERO)),
                            le(atom, sub(x, ONE)),
                        )
                    ),
                ),
            )
        case "log2":
            return (
                implies(
                    lt(ZERO, x),
                    and_((iff(lt(ONE, x), lt(ZERO, atom)), iff(lt(x, ONE), lt(atom, ZERO)))),
                ),
            )
        case "floor":
            return (le(atom, x), lt(x, add(atom, ONE)))
        case "mod":
            m = atom.args[1]
            return (
                implies(
                    lt(ZERO, m),
                    and_(
                        (
                            le(ZERO, atom),
                            lt(atom, m),
                            implies(and_((le(ZERO, x), lt(x, m))), eq(atom, x)),
                        )
                    ),
                ),
            )
        case _:
            return ()


def _only_parameters(term: Term) -> bool:
    return all(
        a.kind is Kind.PARAMETER and isinstance(a, Sym) for a in subterms((term,)) if isinstance(a, Sym | App)
    )


def _without_division(term: Term) -> bool:
    from aligncheck.relational.terms import Div

    return not any(isinstance(t, Div) for t in subterms((canonical(term),)))


def _chosen(atom: Term) -> bool:
    """Numbers that a person reads in a model: inputs and noise, not what follows from them."""
    return isinstance(atom, Sym | App) and atom.kind in (
        Kind.PARAMETER,
        Kind.DATA,
        Kind.DISTANCE,
        Kind.NOISE,
    )
