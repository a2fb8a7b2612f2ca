"""The value of a term under a model: used to drop candidates that a counterexample refutes, and to ground
formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from aligncheck.search.relational import ir


def value_of(term: ir.Term, model: Mapping[ir.Term, Fraction | bool]) -> Fraction | bool | None:
    """The exact value, or None where the model leaves it open or it is irrational."""
    match term:
        case ir.Const(value):
            return value
        case ir.Truth(truth):
            return truth
        case ir.Sym() | ir.App():
            return model.get(term)
        case ir.Add(parts, constant):
            total = constant
            for part, factor in parts:
                v = value_of(part, model)
                if v is None:
                    return None
                total += factor * v
            return total
        case ir.Mul(args):
            product = Fraction(1)
            for arg in args:
                v = value_of(arg, model)
                if v is None:
                    return None
                product *= v
            return product
        case ir.Div(left, right):
            a, b = value_of(left, model), value_of(right, model)
            return None if a is None or not b else Fraction(a) / b
        case ir.Fn(name, args):
            values = [value_of(a, model) for a in args]
            if any(v is None for v in values):
                return None
            folded = ir.fn(name, *(ir.Const(Fraction(v)) for v in values if v is not None))
            return folded.value if isinstance(folded, ir.Const) else None
        case ir.Ite(test, then, otherwise):
            t = value_of(test, model)
            return None if t is None else value_of(then if t else otherwise, model)
        case ir.Cmp(op, left, right):
            a, b = value_of(left, model), value_of(right, model)
            if a is None or b is None:
                return None
            return a < b if op == "<" else a <= b if op == "<=" else a == b
        case ir.Not(arg):
            v = value_of(arg, model)
            return None if v is None else not v
        case ir.And(args):
            return _all([value_of(a, model) for a in args])
        case ir.Or(args):
            negated = _all([None if (v := value_of(a, model)) is None else not v for a in args])
            return None if negated is None else not negated
        case ir.IsInt(arg):
            v = value_of(arg, model)
            return None if v is None else Fraction(v).denominator == 1


def near(term: ir.Term) -> ir.Term:
    """The term with irrational constants replaced by near rationals: for searches, whose results others
    confirm.
    """

    table: dict[ir.Term, ir.Term] = {}
    for t in ir.subterms((term,)):
        if isinstance(t, ir.Fn) and t.name in ("sqrt", "exp", "ln", "log2"):
            arg = near(t.args[0])
            if isinstance(arg, ir.Const):
                function = {"sqrt": math.sqrt, "exp": math.exp, "ln": math.log, "log2": math.log2}[t.name]
                try:
                    value = function(float(arg.value))
                except (ValueError, OverflowError):
                    continue
                table[t] = ir.Const(Fraction(value).limit_denominator(1 << 20))
    return ir.substitute(term, table)


def _all(values: list[Fraction | bool | None]) -> bool | None:
    if any(v is False for v in values):
        return False
    return None if any(v is None for v in values) else True
