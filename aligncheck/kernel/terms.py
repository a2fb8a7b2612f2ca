"""Small helpers for Z3 terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import z3

Term: TypeAlias = Any
"""A Z3 term; the library has no types of its own."""


def both(*parts: Term) -> Term:
    """The conjunction of one or more formulas."""
    kept = [p for p in parts if not z3.is_true(p)]
    if not kept:
        return parts[0]
    return kept[0] if len(kept) == 1 else z3.And(*kept)


def either(*parts: Term) -> Term:
    """The disjunction of one or more formulas."""
    kept = [p for p in parts if not z3.is_false(p)]
    if not kept:
        return parts[0]
    return kept[0] if len(kept) == 1 else z3.Or(*kept)


def implies(condition: Term, conclusion: Term) -> Term:
    """`conclusion` where `condition` holds."""
    return conclusion if z3.is_true(condition) else z3.Implies(condition, conclusion)


def real(term: Term) -> Term:
    """The same number, as a real one."""
    if z3.is_int_value(term):
        return z3.RealVal(term.as_long(), term.ctx)
    return z3.ToReal(term) if z3.is_int(term) else term


def absolute(term: Term) -> Term:
    """The size of a number."""
    return z3.If(term >= 0, term, -term)


def subterms(term: Term) -> Iterator[Term]:
    """A term and all that it is made of, each once."""
    seen: set[int] = set()
    stack = [term]
    while stack:
        one = stack.pop()
        if one.get_id() not in seen:
            seen.add(one.get_id())
            yield one
            stack.extend(one.children())


def is_symbol(term: Term) -> bool:
    """Whether a term is a constant or an application that no theory interprets."""
    return bool(z3.is_app(term)) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED
