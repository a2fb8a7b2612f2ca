"""Formulas over the inputs of a spec: to SymPy, which simplifies, and back to text that is a spec's."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.rewrite import with_other
from aligncheck.language.syntax.walk import names_in
from aligncheck.language.unparse import unparse_expr
from aligncheck.synthesis.reading import ProgramReading, literal

_ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}


class NoFormulaError(Exception):
    """The expression is no formula over public inputs; the message says why."""


def over_inputs(reading: ProgramReading, e: n.Expr) -> n.Expr:
    """The expression with definitions put in, so that it speaks of inputs only. Raises NoFormulaError."""
    public = reading.inputs - reading.private
    for _ in range(8):
        left = names_in(e) - public - reading.private
        if not left:
            break
        for name in sorted(left):
            values = reading.assigned.get(name, ())
            if len(values) != 1 or name in names_in(values[0]):
                raise NoFormulaError(f"`{name}` has no one value")
            e = with_other(e, n.Name(name), values[0])
    if names_in(e) - public - reading.private:
        raise NoFormulaError(f"`{unparse_expr(e)}` is not made of inputs")
    return e


def to_sympy(e: n.Expr) -> Any:
    """The formula in SymPy; all names are positive there. Raises NoFormulaError."""
    import sympy

    def made(x: n.Expr) -> Any:
        if isinstance(x, n.Number):
            return rational(x.value)
        if isinstance(x, n.Name):
            return sympy.Symbol(x.ident, positive=True)
        if isinstance(x, n.Unary) and x.op == "-":
            return -made(x.operand)
        if isinstance(x, n.Binary) and x.op in _ARITHMETIC:
            return _ARITHMETIC[x.op](made(x.left), made(x.right))
        if isinstance(x, n.Call) and x.function == "sqrt":
            return sympy.sqrt(made(x.args[0]))
        if isinstance(x, n.Call) and x.function == "len" and isinstance(x.args[0], n.Name):
            return sympy.Symbol(f"len({x.args[0].ident})", positive=True)
        raise NoFormulaError(f"`{unparse_expr(x)}` is no formula that can be simplified")

    return made(e)


def formula(reading: ProgramReading, e: n.Expr) -> Any:
    """The same of an expression with definitions in it."""
    return to_sympy(over_inputs(reading, e))


def rational(value: Fraction) -> Any:
    """A number in SymPy."""
    import sympy

    return sympy.Rational(value.numerator, value.denominator)


def simplified(parts: Iterable[n.Expr]) -> str:
    """The sum of formulas, as the text of a spec. Raises NoFormulaError."""
    import sympy

    return formula_text(sum((to_sympy(part) for part in parts), sympy.Integer(0)))


def formula_text(formula: Any) -> str:
    """A formula of SymPy as the text of a spec."""
    import sympy

    return str(sympy.expand(sympy.cancel(sympy.together(formula)), deep=False))


def times(claim: n.Expr, factor: Any) -> str:
    """A multiple of a claim: so many times (a Fraction) or, of a claim that is a formula, a formula times."""
    if not isinstance(factor, Fraction):
        return formula_text(factor * to_sympy(claim))
    multiple = n.Binary("*", literal(factor), claim)
    try:
        return simplified([multiple])
    except NoFormulaError:
        return unparse_expr(multiple if factor != 1 else claim)
