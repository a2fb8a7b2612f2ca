"""Normal forms of numeric terms: quotients of polynomials over the rationals, by FLINT.

Trusted: a wrong normal form could make a wrong proof. The arithmetic is FLINT's; this module only says which
subterms are atoms (symbols, and functions that are no polynomials) and cancels common factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from aligncheck.search.relational.ir import (
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
    Mul,
    Not,
    Or,
    Sym,
    Term,
    Truth,
    add,
    children,
    is_number,
    mul,
    order_key,
    rebuilt,
    scaled,
    sub,
    summands,
)

Poly = Any
"""A `flint.fmpq_mpoly`; the library ships no types."""

Exponents: TypeAlias = tuple[int, ...]
"""The powers of a monomial's atoms."""


@dataclass(frozen=True, slots=True)
class Quotient:
    """`numerator / denominator` in the polynomial ring over `atoms`, without common factors; the denominator
    is primitive and its leading coefficient is positive, so that equal rational functions are equal values.
    """

    atoms: tuple[Term, ...]
    numerator: Poly
    denominator: Poly


@lru_cache(maxsize=100_000)
def canonical(term: Term) -> Term:
    """An equal term in which every atom's arguments are in normal form, so that equal atoms look equal."""
    if not is_number(term):
        return rebuilt(term, canonical)
    match term:
        case Const() | Sym():
            return term
        case App() | Fn() | Ite():
            inner = rebuilt(term, canonical)
            return inner if isinstance(inner, App | Fn | Ite) else canonical(inner)
        case Truth() | Add() | Mul() | Div() | Cmp() | Not() | And() | Or() | IsInt():
            parts, constant = summands(term)
            if all(isinstance(part, Sym | App) for part, _ in parts):  # linear: its own normal form
                return add(Const(constant), *(scaled(canonical(part), factor) for part, factor in parts))
            return _as_term(quotient(term))


@lru_cache(maxsize=100_000)
def quotient(term: Term) -> Quotient:
    """The normal form of a numeric term. Division is that of the field of rational functions: a zero divisor
    is excluded by the `defined` obligations, not here.
    """
    ready = _inner(term)
    atoms = tuple(sorted(_atoms(ready), key=order_key))
    context = fmpq_mpoly_ctx.get([f"x{i}" for i in range(len(atoms))], Ordering.lex)
    generators = dict(zip(atoms, context.gens(), strict=True))
    top, bottom = _fraction(ready, generators, context.constant(1))
    return _reduced(atoms, top, bottom)


def _inner(term: Term) -> Term:
    """The term with the atoms at its polynomial surface made canonical."""
    match term:
        case Add() | Mul() | Div():
            return rebuilt(term, _inner)
        case Const() | Truth() | Sym() | App() | Fn() | Ite() | Cmp() | Not() | And() | Or() | IsInt():
            return canonical(term)


def _atoms(term: Term) -> set[Term]:
    match term:
        case Const():
            return set()
        case Add() | Mul() | Div():
            return set().union(*(_atoms(c) for c in children(term)))
        case Truth() | Sym() | App() | Fn() | Ite() | Cmp() | Not() | And() | Or() | IsInt():
            return {term}


def _fraction(term: Term, generators: dict[Term, Poly], one: Poly) -> tuple[Poly, Poly]:
    match term:
        case Const(value):
            return one * fmpq(value.numerator, value.denominator), one
        case Add(parts, constant):
            top, bottom = one * fmpq(constant.numerator, constant.denominator), one
            for part, factor in parts:
                a, b = _fraction(part, generators, one)
                a = a * fmpq(factor.numerator, factor.denominator)
                if b == bottom:
                    top = top + a
                else:
                    top, bottom = top * b + a * bottom, bottom * b
            return top, bottom
        case Mul(args):
            top, bottom = one, one
            for arg in args:
                a, b = _fraction(arg, generators, one)
                top, bottom = top * a, bottom * b
            return top, bottom
        case Div(left, right):
            a, b = _fraction(left, generators, one)
            c, d = _fraction(right, generators, one)
            if c == 0:
                return one, one * 0
            return a * d, b * c
        case Truth() | Sym() | App() | Fn() | Ite() | Cmp() | Not() | And() | Or() | IsInt():
            return generators[term], one


def _reduced(atoms: tuple[Term, ...], top: Poly, bottom: Poly) -> Quotient:
    if bottom == 0:
        raise ZeroDivisionError("division by a term that is always 0")
    common = top.gcd(bottom)
    if common != 0 and not common.is_constant():
        top, bottom = top / common, bottom / common
    lead = bottom.leading_coefficient()
    return Quotient(atoms, top / lead, bottom / lead)


def as_fraction(value: Any) -> Fraction:
    """A FLINT rational as a `Fraction`."""
    return Fraction(int(value.p), int(value.q))


def polynomial_term(poly: Poly, atoms: tuple[Term, ...]) -> Term:
    """A polynomial back as a term."""
    parts: list[Term] = []
    for exponents, coefficient in poly.terms():
        factors = [a for a, e in zip(atoms, exponents, strict=True) for _ in range(int(e))]
        parts.append(mul(Const(as_fraction(coefficient)), *factors))
    return add(*parts) if parts else ZERO


def split_monomials(
    form: Quotient, is_parameter: Callable[[Term], bool]
) -> list[tuple[Fraction, Term | None, Term | None]]:
    """The quotient as a sum of (number, coefficient, product).

    The coefficient is a product of parameters, or a quotient whose denominator does not divide its numerator
    in part, in normal form with leading coefficient 1; the product is one of other atoms; None stands for 1.
    A denominator that is not over parameters alone goes into the coefficient as it is.
    """
    found: list[tuple[Fraction, Term | None, Term | None]] = []
    context = form.numerator.context()
    for product, top in _by_product(form, [is_parameter(a) for a in form.atoms]):
        whole, rest, bottom = top, {}, form.denominator
        if bottom != 1:
            part = _reduced(form.atoms, context.from_dict(top), bottom)
            bottom = part.denominator
            whole, rest = (each.to_dict() for each in divmod(part.numerator, bottom))
        for exponents, number in whole.items():
            factors = [a for a, e in zip(form.atoms, exponents, strict=True) for _ in range(e)]
            found.append((as_fraction(number), mul(*factors) if factors else None, product))
        for exponents, number in rest.items():
            coefficient = _as_term(_reduced(form.atoms, context.from_dict({exponents: 1}), bottom))
            found.append((as_fraction(number), coefficient, product))
    return found


def _by_product(form: Quotient, fixed: Sequence[bool]) -> Iterator[tuple[Term | None, dict[Exponents, Any]]]:
    """The numerator as a sum of products of the atoms that are not `fixed`, each with its coefficient as a
    polynomial over the others.
    """
    groups: dict[Exponents, dict[Exponents, Any]] = {}
    for exponents, number in form.numerator.terms():
        outer = tuple(int(e) if f else 0 for e, f in zip(exponents, fixed, strict=True))
        inner = tuple(0 if f else int(e) for e, f in zip(exponents, fixed, strict=True))
        groups.setdefault(inner, {})[outer] = number
    for inner, coefficient in groups.items():
        factors = [a for a, e in zip(form.atoms, inner, strict=True) for _ in range(e)]
        yield (mul(*factors) if factors else None), coefficient


def parameter_content(form: Quotient, is_parameter: Callable[[Term], bool]) -> Poly | None:
    """The greatest common factor, over parameters, of a numerator that has other atoms; None where it is a
    number.
    """
    fixed = [is_parameter(a) for a in form.atoms]
    if all(fixed) or not any(fixed):
        return None
    context = form.numerator.context()
    groups: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for exponents, number in form.numerator.terms():
        outer = tuple(int(e) if f else 0 for e, f in zip(exponents, fixed, strict=True))
        inner = tuple(0 if f else int(e) for e, f in zip(exponents, fixed, strict=True))
        groups.setdefault(inner, {})[outer] = number
    common = None
    for part in groups.values():
        poly = context.from_dict(part)
        common = poly if common is None else common.gcd(poly)
        if common.is_constant():
            return None
    return common


def _as_term(value: Quotient) -> Term:
    top = polynomial_term(value.numerator, value.atoms)
    if value.denominator == 1:
        return top
    return Div(top, polynomial_term(value.denominator, value.atoms))


def equal(left: Term, right: Term) -> bool:
    """Whether two numeric terms are the same rational function of the same atoms (so equal wherever
    defined).
    """
    return bool(quotient(sub(left, right)).numerator == 0)


def ratio(left: Term, right: Term) -> Term:
    """`left / right` in normal form."""
    return canonical(Div(left, right))
