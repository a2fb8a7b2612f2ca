"""A default outside of the range of its parameter, which every run would refuse.

It explains an error and proves nothing: a proof is for all values that are allowed, whatever the default is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aligncheck.language.syntax import rewrite
from aligncheck.language.syntax.nodes import Expr, Mechanism, Name, Parameter, Sort, Unary
from aligncheck.language.syntax.walk import names_in
from aligncheck.search.discharge.contradiction import satisfiable
from aligncheck.search.relational.maxima import UnsupportedError
from aligncheck.search.relational.theory import Theory


def misplaced(mechanism: Mechanism) -> tuple[Parameter, bool] | None:
    """The first parameter whose default is known to break its own `where` clause, and whether it does for all
    values of the others; None if none is known to.

    Where the clause speaks of others, too, a default that some of them allow is none: who gives the others
    gives this one. Parameters that have a default have it; what Z3 does not decide is not known.
    """
    defaults = {
        item.name: item.default
        for item in mechanism.inputs
        if isinstance(item, Parameter) and item.default is not None
    }

    def allowed(clause: Expr | None) -> bool | None:
        try:
            return satisfiable(Theory(_with(mechanism, defaults, clause)))
        except UnsupportedError:
            return None

    for item in mechanism.inputs:
        if not isinstance(item, Parameter) or item.default is None or item.where is None:
            continue
        if allowed(item.where) is False:
            if allowed(None) is not False:
                return item, True
        elif names_in(item.where) == {item.name}:
            broken = Unary("not", item.where, span=item.where.span)
            if allowed(broken) is True:
                return item, False
    return None


def _with(mechanism: Mechanism, defaults: Mapping[str, Expr], clause: Expr | None) -> Mechanism:
    """The mechanism where all parameters that have a default have it, with one clause more about them."""

    def given(e: Expr) -> Expr:
        return defaults.get(e.ident, e) if isinstance(e, Name) else e

    kept = [
        rewrite.declaration(item, lambda e: rewrite.bottom_up(e, given))
        for item in mechanism.inputs
        if not (isinstance(item, Parameter) and item.name in defaults)
    ]
    if clause is not None:
        kept.append(Parameter("#any", Sort.REAL, rewrite.bottom_up(clause, given), span=mechanism.span))
    return replace(mechanism, inputs=tuple(kept))
