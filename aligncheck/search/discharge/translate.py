"""Terms to a solver's formulas: one translation in full, and a linear abstraction of it.

Trusted. In the full translation a comparison becomes a polynomial one: denominators are multiplied out where
the parameters' ranges decide their sign. In the linear one, every product of unknowns, and every product of
an unknown with a coefficient that is no number, is a variable of its own. The abstraction has more models, so
"no counterexample" in it is a proof; a counterexample in it means nothing, and the full translation is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from aligncheck.language.internal import InternalError
from aligncheck.search.discharge import algebra, z3build
from aligncheck.search.relational import ir

Signs = Callable[[ir.Term], int]
"""1 or -1 where the parameters' ranges decide the sign of a term over parameters; 0 where they do not."""


@dataclass
class Translator:
    """One translation, with its variables and what it has translated so far.

    `whole` gives integer symbols Z3's integers (for concrete models); otherwise they are reals with the
    tightening `a < b iff a + 1 <= b`, which holds of integers. `build` is the module that makes formulas:
    `z3build` for Z3, `smtlib` for texts.
    """

    signs: Signs
    whole: bool = False
    linear: bool = False
    build: Any = z3build
    variables: dict[ir.Term, Any] = field(default_factory=dict)
    _products: dict[tuple[ir.Term | None, ir.Term | None], Any] = field(default_factory=dict)
    _inverses: dict[ir.Term, Any] = field(default_factory=dict)
    _truths: dict[ir.Term, tuple[Any, tuple[Any, ...]]] = field(default_factory=dict)
    _sides: list[Any] = field(default_factory=list)

    def assertion(self, term: ir.Term) -> list[Any]:
        """Formulas that together say that a term holds."""
        value, sides = self._translated(term)
        return [value, *sides]

    def _translated(self, term: ir.Term) -> tuple[Any, tuple[Any, ...]]:
        """The formula, and side conditions that hold anyway (definitions of auxiliary variables,
        integrality).
        """
        known = self._truths.get(term)
        if known is None:
            outer, self._sides = self._sides, []
            value = self._encode(term)
            known = self._truths[term] = (value, tuple(self._sides))
            self._sides = outer
        return known

    def _truth(self, term: ir.Term) -> Any:
        value, sides = self._translated(term)
        self._sides.extend(sides)
        return value

    def _encode(self, term: ir.Term) -> Any:
        match term:
            case ir.Truth(value):
                return self.build.truth(value)
            case ir.Not(arg):
                return self.build.negation(self._truth(arg))
            case ir.And(args):
                return self.build.both([self._truth(a) for a in args])
            case ir.Or(args):
                return self.build.either([self._truth(a) for a in args])
            case ir.Ite(test, then, otherwise):
                return self.build.choice(self._truth(test), self._truth(then), self._truth(otherwise))
            case ir.Cmp():
                return self._comparison(term)
            case ir.IsInt(arg) if self.whole:
                return self.build.is_integer(self._cleared(algebra.quotient(arg)))
            case ir.Sym() | ir.App():
                return self.variable(term)
            case ir.Const() | ir.Add() | ir.Mul() | ir.Div() | ir.Fn() | ir.IsInt():
                raise InternalError(f"not a truth: {term}")

    def _comparison(self, term: ir.Cmp) -> Any:
        left, right, op = term.left, term.right, term.op
        whole = ir.sort_of(left) is ir.TermSort.INT and ir.sort_of(right) is ir.TermSort.INT
        if whole and op == "==" and not self.whole:
            return self.build.both(
                [self._truth(ir.Cmp("<=", left, right)), self._truth(ir.Cmp("<=", right, left))]
            )
        if whole and op == "<":
            left, op = ir.add(left, ir.ONE), "<="
        value = self._difference(ir.sub(left, right))
        if op == "==":
            return self.build.is_zero(value)
        if op == "<":
            return self.build.below_zero(value)
        if whole and not self.whole:
            # An integer is at most 0 or at least 1.
            gap = self._difference(ir.sub(ir.sub(left, right), ir.ONE))
            self._sides.append(
                self.build.either([self.build.at_most_zero(value), self.build.at_least_zero(gap)])
            )
        return self.build.at_most_zero(value)

    def _difference(self, term: ir.Term) -> Any:
        """A number with the sign of a term. A sum of symbols with rational factors, which most are, is
        written as it is: that is its normal form, and it has no factor over parameters.
        """
        parts, constant = ir.summands(term)
        if all(isinstance(part, ir.Sym | ir.App) for part, _ in parts):
            terms = [
                self.build.product([self.build.number(factor), self._number(part)]) for part, factor in parts
            ]
            return self.build.total([*terms, self.build.number(constant)] if constant or not terms else terms)
        return self._signed(algebra.quotient(term))

    def _signed(self, form: algebra.Quotient) -> Any:
        """A number with the sign of the quotient, without factors over parameters whose sign is known."""
        form, negative = self._reduced(form)
        value = self._abstracted(form) if self.linear else self._cleared(form)
        return self.build.product([self.build.number(Fraction(-1)), value]) if negative else value

    def _reduced(self, form: algebra.Quotient) -> tuple[algebra.Quotient, bool]:
        """The form over its common factor (over parameters), and whether that is negative; as it is where its
        sign is not known.
        """
        content = algebra.parameter_content(form, _is_parameter)
        if content is None:
            return form, False
        known = self.signs(algebra.polynomial_term(content, form.atoms))
        if known == 0:
            return form, False
        return algebra.Quotient(form.atoms, form.numerator / content, form.denominator), known < 0

    # --- linear -------------------------------------------------------------------------------------------

    def _abstracted(self, form: algebra.Quotient) -> Any:
        """Σ c·v, each v a symbol or a variable that stands for a product, for a coefficient, or for both."""
        total: list[Any] = []
        for factor, coefficient, product in algebra.split_monomials(form, _is_parameter):
            unknown = self._opaque(coefficient, product)
            number = self.build.number(factor)
            total.append(number if unknown is None else self.build.product([number, unknown]))
        return self.build.total(total)

    def _opaque(self, coefficient: ir.Term | None, product: ir.Term | None) -> Any:
        if coefficient is None and product is None:
            return None
        if product is not None and not ir.is_number(product):
            raise InternalError("a truth stands where a number is wanted")
        if coefficient is None and isinstance(product, ir.Sym | ir.App):
            return self.variable(product)
        if product is None and isinstance(coefficient, ir.Sym):
            return self.variable(coefficient)
        if coefficient is None and product is not None and not isinstance(product, ir.Mul):
            return self.variable(product)
        variable = self._auxiliary(self._products, (coefficient, product))
        if product is None and coefficient is not None:
            sign = self.signs(coefficient)
            if sign:
                known = self.build.above_zero if sign > 0 else self.build.below_zero
                self._sides.append(known(variable))
        return variable

    # --- full ---------------------------------------------------------------------------------------------

    def _cleared(self, form: algebra.Quotient) -> Any:
        """The quotient with its denominator multiplied out where its sign is known from the parameters'
        ranges.
        """
        top = self._polynomial(form.numerator, form.atoms)
        if form.denominator == 1:
            return top
        unit, factors = form.denominator.factor()
        sign = -1 if algebra.as_fraction(unit) < 0 else 1
        for factor, power in factors:
            known = self.signs(algebra.polynomial_term(factor, form.atoms))
            if known == 0:
                return self.build.product([top, self._inverse(form)])
            sign *= known if int(power) % 2 else 1
        return top if sign == 1 else self.build.product([self.build.number(Fraction(-1)), top])

    def _inverse(self, form: algebra.Quotient) -> Any:
        """A variable r with `denominator * r = 1` wherever the denominator is not 0."""
        bottom = self._polynomial(form.denominator, form.atoms)
        r = self._auxiliary(
            self._inverses, algebra.canonical(algebra.polynomial_term(form.denominator, form.atoms))
        )
        build = self.build
        one = build.number(Fraction(1))
        inverse = build.equal(build.product([bottom, r]), one)
        self._sides.append(build.either([build.is_zero(bottom), inverse]))
        return r

    def _polynomial(self, poly: Any, atoms: tuple[ir.Term, ...]) -> Any:
        total: list[Any] = []
        for exponents, coefficient in poly.terms():
            factors = [
                self._number(atom) for atom, e in zip(atoms, exponents, strict=True) for _ in range(int(e))
            ]
            total.append(self.build.product([self.build.number(algebra.as_fraction(coefficient)), *factors]))
        return self.build.total(total)

    def _number(self, atom: ir.Term) -> Any:
        if not ir.is_number(atom):
            raise InternalError("a truth stands where a number is wanted")
        variable = self.variable(atom)
        return (
            self.build.to_real(variable) if self.whole and ir.sort_of(atom) is ir.TermSort.INT else variable
        )

    def _auxiliary(self, table: dict[Any, Any], key: Any) -> Any:
        """A real variable that stands for what the key says; keys are terms, compared as such."""
        known = table.get(key)
        if known is None:
            letter = "p" if table is self._products else "r"
            known = table[key] = self.build.real(f"{letter}{len(table)}")
        return known

    def variable(self, atom: ir.Term) -> Any:
        """The solver's variable of an atom."""
        known = self.variables.get(atom)
        if known is None:
            name = f"v{len(self.variables)}"
            sort = ir.sort_of(atom)
            if sort is ir.TermSort.BOOL:
                known = self.build.boolean(name)
            elif sort is ir.TermSort.INT and self.whole:
                known = self.build.integer(name)
            else:
                known = self.build.real(name)
            self.variables[atom] = known
        return known


def _is_parameter(atom: ir.Term) -> bool:
    """Whether an atom is fixed by the public parameters alone."""
    stack = [atom]
    while stack:
        t = stack.pop()
        if isinstance(t, ir.Sym):
            if t.kind is not ir.Nature.PARAMETER:
                return False
        elif isinstance(t, ir.App | ir.Ite):
            return False
        else:
            stack.extend(ir.children(t))
    return True
