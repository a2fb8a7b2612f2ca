"""Near rationals for roots, exponentials and logarithms of numbers: for searches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import z3

from aligncheck.kernel.evaluate import EXP, LN, LOG2, ROOT
from aligncheck.kernel.terms import Term, subterms


class Near:
    """For the symbols of one kernel, by their names."""

    def __init__(self, rules: Mapping[str, Any]) -> None:
        known = {ROOT: math.sqrt, EXP: math.exp, LN: math.log, LOG2: math.log2}
        self._functions = {rules[name].get_id(): function for name, function in known.items()}

    def formula(self, term: Term) -> Term:
        """The term, simplified."""
        table = []
        for each in subterms(term):
            if not each.symbol or len(each.parts) != 1 or each.parts[0].kind != z3.Z3_OP_ANUM:
                continue
            function = self._functions.get(each.term.decl().get_id())
            if function is not None and z3.is_rational_value(each.term.arg(0)):
                try:
                    value = function(float(each.term.arg(0).as_fraction()))
                except (ValueError, OverflowError):
                    continue
                close = Fraction(value).limit_denominator(1 << 20)
                table.append((each.term, term.ctx.rational(close)))
        return self.formula(z3.simplify(z3.substitute(term, *table))) if table else term
