"""The value of a term under a model: used to drop candidates that a counterexample refutes, and to ground
formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from aligncheck.search.relational.ir import (
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
    fn,
    substitute,
    subterms,
)


def value_of(term: Term, model: Mapping[Term, Fraction | bool]) -> Fraction | bool | None:
    """The exact value, or None where the model leaves it open or it is irrational."""
    match term:
        case Const(value):
            return value
        case Truth(truth):
            return truth
        case Sym() | App():
            return model.get(term)
        case Add(parts, constant):
            total = constant
            for part, factor in parts:
                v = value_of(part, model)
                if v is None:
                    return None
                total += factor * v
            return total
        case Mul(args):
            product = Fraction(1)
            for arg in args:
                v = value_of(arg, model)
                if v is None:
                    return None
                product *= v
            return product
        case Div(left, right):
            a, b = value_of(left, model), value_of(right, model)
            return None if a is None or not b else Fraction(a) / b
        case Fn(name, args):
            values = [value_of(a, model) for a in args]
            if any(v is None for v in values):
                return None
            folded = fn(name, *(Const(Fraction(v)) for v in values if v is not None))
            return folded.value if isinstance(folded, Const) else None
        case Ite(test, then, otherwise):
            t = value_of(test, model)
            return None if t is None else value_of(then if t else otherwise, model)
        case Cmp(op, left, right):
            a, b = value_of(left, model), value_of(right, model)
            if a is None or b is None:
                return None
            return a < b if op == "<" else a <= b if op == "<=" else a == b
        case Not(arg):
            v = value_of(arg, model)
            return None if v is None else not v
        case And(args):
            return _all([value_of(a, model) for a in args])
        case Or(args):
            negated = _all([None if (v := value_of(a, model)) is None else not v for a in args])
            return None if negated is None else not negated
        case IsInt(arg):
            v = value_of(arg, model)
            return None if v is None else Fraction(v).denominator == 1


def near(term: Term) -> Term:
    """The term with irrational constants replaced by near rationals: for searches, whose results others
    confirm.
    """

    table: dict[Term, Term] = {}
    for t in subterms((term,)):
        if isinstance(t, Fn) and t.name in ("sqrt", "exp", "ln", "log2"):
            arg = near(t.args[0])
            if isinstance(arg, Const):
                function = {"sqrt": math.sqrt, "exp": math.exp, "ln": math.log, "log2": math.log2}[t.name]
                try:
                    value = function(float(arg.value))
                except (ValueError, OverflowError):
                    continue
                table[t] = Const(Fraction(value).limit_denominator(1 << 20))
    return substitute(term, table)


def _all(values: list[Fraction | bool | None]) -> bool | None:
    if any(v is False for v in values):
        return False
    return None if any(v is None for v in values) else True
