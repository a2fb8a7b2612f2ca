"""A weaker question that is easier to decide: whole numbers become real ones, and every application and every
operation on whole numbers alone becomes an unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from aligncheck.kernel.terms import Term, is_symbol

_BUILD: dict[int, Callable[..., Term]] = {
    z3.Z3_OP_AND: z3.And,
    z3.Z3_OP_OR: z3.Or,
    z3.Z3_OP_NOT: z3.Not,
    z3.Z3_OP_IMPLIES: z3.Implies,
    z3.Z3_OP_ITE: z3.If,
    z3.Z3_OP_ADD: lambda *a: z3.Sum(*a),
    z3.Z3_OP_MUL: lambda *a: z3.Product(*a),
    z3.Z3_OP_SUB: lambda first, *rest: first - z3.Sum(*rest),
    z3.Z3_OP_UMINUS: lambda a: -a,
    z3.Z3_OP_DIV: lambda a, b: a / b,
    z3.Z3_OP_LE: lambda a, b: a <= b,
    z3.Z3_OP_LT: lambda a, b: a < b,
    z3.Z3_OP_GE: lambda a, b: a >= b,
    z3.Z3_OP_GT: lambda a, b: a > b,
    z3.Z3_OP_EQ: lambda a, b: a == b,
    z3.Z3_OP_DISTINCT: lambda *a: z3.Distinct(*a),
}


class Relaxed:
    """Formulas over real and truth unknowns, one for each term that is not looked into.

    Why sound: every interpretation of the old formulas gives values to the unknowns under which the new ones
    have the same truth. So if the new goal follows from the new hypotheses for all values, the old one
    follows from the old.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[Term, Term]] = {}

    def of(self, term: Term) -> Term:
        """The relaxed term."""
        known = self.known.get(term.get_id())
        if known is None:
            known = self.known[term.get_id()] = (term, self._made(term))
        return known[1]

    def _made(self, term: Term) -> Term:
        if z3.is_int_value(term):
            return z3.RealVal(term.as_long(), term.ctx)
        if z3.is_rational_value(term) or z3.is_true(term) or z3.is_false(term):
            return term
        kind: Any = term.decl().kind()
        if kind == z3.Z3_OP_TO_REAL:
            return self.of(term.arg(0))
        if kind in _BUILD and not is_symbol(term):
            return _BUILD[kind](*(self.of(a) for a in term.children()))
        name = f"relaxed!{term.get_id()}"
        return z3.Bool(name, term.ctx) if z3.is_bool(term) else z3.Real(name, term.ctx)
