"""Z3 formulas made through its C interface: z3py's own operators check and convert their arguments each time,
which costs more than the solving. The callers' terms are well-sorted by construction.

Only this module knows z3's low-level names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import z3
from z3 import z3core


def _context() -> Any:
    return z3.main_ctx()


def _array(args: Sequence[Any]) -> Any:
    return (z3.Ast * len(args))(*(a.ast for a in args))


@lru_cache(maxsize=4096)
def number(value: Fraction) -> Any:
    """A rational constant, of sort real."""
    return z3.RealVal(f"{value.numerator}/{value.denominator}")


def real(name: str) -> Any:
    """A real variable."""
    return z3.Real(name)


def integer(name: str) -> Any:
    """An integer variable."""
    return z3.Int(name)


def boolean(name: str) -> Any:
    """A truth variable."""
    return z3.Bool(name)


def truth(value: bool) -> Any:
    """True or false."""
    return z3.BoolVal(value)


def to_real(value: Any) -> Any:
    """An integer as a real."""
    return z3.ToReal(value)


def is_integer(value: Any) -> Any:
    """That a real is an integer."""
    return z3.IsInt(value)


def choice(test: Any, then: Any, otherwise: Any) -> Any:
    """`then` where the test holds, else `otherwise`."""
    return z3.If(test, then, otherwise)


def equal(left: Any, right: Any) -> Any:
    """left = right."""
    return left == right


def total(args: Sequence[Any]) -> Any:
    """A sum of reals."""
    if not args:
        return number(Fraction(0))
    if len(args) == 1:
        return args[0]
    context = _context()
    return z3.ArithRef(z3core.Z3_mk_add(context.ref(), len(args), _array(args)), context)


def product(args: Sequence[Any]) -> Any:
    """A product of reals."""
    if len(args) == 1:
        return args[0]
    context = _context()
    return z3.ArithRef(z3core.Z3_mk_mul(context.ref(), len(args), _array(args)), context)


def at_most_zero(value: Any) -> Any:
    """value <= 0."""
    context = _context()
    zero = number(Fraction(0))
    return z3.BoolRef(z3core.Z3_mk_le(context.ref(), value.ast, zero.ast), context)


def at_least_zero(value: Any) -> Any:
    """value >= 0."""
    context = _context()
    zero = number(Fraction(0))
    return z3.BoolRef(z3core.Z3_mk_ge(context.ref(), value.ast, zero.ast), context)


def below_zero(value: Any) -> Any:
    """value < 0."""
    context = _context()
    zero = number(Fraction(0))
    return z3.BoolRef(z3core.Z3_mk_lt(context.ref(), value.ast, zero.ast), context)


def above_zero(value: Any) -> Any:
    """value > 0."""
    return value > 0


def is_zero(value: Any) -> Any:
    """value = 0."""
    context = _context()
    zero = number(Fraction(0))
    return z3.BoolRef(z3core.Z3_mk_eq(context.ref(), value.ast, zero.ast), context)


def both(args: Sequence[Any]) -> Any:
    """A conjunction."""
    context = _context()
    return z3.BoolRef(z3core.Z3_mk_and(context.ref(), len(args), _array(args)), context)


def either(args: Sequence[Any]) -> Any:
    """A disjunction."""
    context = _context()
    return z3.BoolRef(z3core.Z3_mk_or(context.ref(), len(args), _array(args)), context)


def negation(arg: Any) -> Any:
    """not arg."""
    context = _context()
    return z3.BoolRef(z3core.Z3_mk_not(context.ref(), arg.ast), context)


def add_all(solver: Any, formulas: Iterable[Any]) -> None:
    """Asserts formulas."""
    context = _context().ref()
    for formula in formulas:
        z3core.Z3_solver_assert(context, solver.solver, formula.ast)


def limit(solver: Any, milliseconds: int, steps: int) -> None:
    """Bounds a solver's next checks, in time and in Z3's resource units (0 would mean no bound)."""
    params = z3.ParamsRef()
    params.set("timeout", milliseconds)
    params.set("rlimit", steps)
    z3core.Z3_solver_set_params(_context().ref(), solver.solver, params.params)


def is_true_in(model: Any, formula: Any) -> bool:
    """Whether a model decides that a formula is true; what it leaves open is not."""
    context = _context().ref()
    value = (z3.Ast * 1)()
    if not z3core.Z3_model_eval(context, model.model, formula.ast, False, value):
        return False
    return bool(z3core.Z3_get_bool_value(context, value[0]) == z3.Z3_L_TRUE)
