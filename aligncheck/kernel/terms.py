"""Small helpers for Z3 terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import z3

from aligncheck.number_terms import Truth, one, taken_apart, wrapped

Term: TypeAlias = Any
"""A Z3 term; the library has no types of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Anatomy:
    """A term: which operation it is (`kind`, as Z3 numbers them), of what; whether it is a `symbol`, that is
    a constant or an application that no theory interprets; whether it contains a choice (`if`) or a formula.
    """

    term: Term
    kind: int
    parts: tuple[Anatomy, ...]
    symbol: bool
    choice: bool


def anatomy(term: Term) -> Anatomy:
    """What a term is made of. To ask Z3 takes a hundred times as long as to look it up."""
    term = one(term)
    if term.anatomy is None:
        kind, pieces = taken_apart(term)
        parts, symbol = tuple(map(anatomy, pieces)), kind == z3.Z3_OP_UNINTERPRETED
        choice = kind == z3.Z3_OP_ITE or (z3.is_bool(term) and not symbol) or any(p.choice for p in parts)
        term.anatomy = Anatomy(term, kind, parts, symbol, choice)
    known: Anatomy = term.anatomy
    return known


def subterms(term: Term) -> Iterator[Anatomy]:
    """A term and all that it is made of, each once."""
    seen: set[Anatomy] = set()
    stack = [anatomy(term)]
    while stack:
        one = stack.pop()
        if one not in seen:
            seen.add(one)
            yield one
            stack.extend(one.parts)


def same(one: Term, other: Term) -> bool:
    """Whether two terms are one."""
    return bool(one.ast.value == other.ast.value)


def both(*parts: Term) -> Term:
    """The conjunction of one or more formulas."""
    return _joined(z3.Z3_mk_and, z3.Z3_OP_TRUE, parts)


def either(*parts: Term) -> Term:
    """The disjunction of one or more formulas."""
    return _joined(z3.Z3_mk_or, z3.Z3_OP_FALSE, parts)


def _joined(maker: Any, neutral: int, parts: tuple[Term, ...]) -> Term:
    kept = [p for p in parts if anatomy(p).kind != neutral]
    if len(kept) < 2:
        return kept[0] if kept else parts[0]
    ctx = parts[0].ctx
    return ctx.term(maker(ctx.ctx, len(kept), (z3.Ast * len(kept))(*(p.ast for p in kept))), Truth)


def implies(condition: Term, conclusion: Term) -> Term:
    """`conclusion` where `condition` holds."""
    if anatomy(condition).kind == z3.Z3_OP_TRUE:
        return conclusion
    ctx = condition.ctx
    return ctx.term(z3.Z3_mk_implies(ctx.ctx, condition.ast, conclusion.ast), Truth)


def real(term: Term) -> Term:
    """The same number, as a real one."""
    if isinstance(term, z3.IntNumRef):
        return term.ctx.rational(term.as_long())
    return wrapped(z3.Z3_mk_int2real(term.ctx.ctx, term.ast), term.ctx) if z3.is_int(term) else term


def floor(term: Term) -> Term:
    """The greatest whole number that is not above a real one."""
    return wrapped(z3.Z3_mk_real2int(term.ctx.ctx, term.ast), term.ctx)


def alike(*terms: Term) -> tuple[Term, ...]:
    """The same values, of one sort: if any is a real number, all are."""
    return terms if len(set(map(z3.is_int, terms))) == 1 else tuple(map(real, terms))


def absolute(term: Term) -> Term:
    """The size of a number."""
    return z3.If(term >= 0, term, -term)
