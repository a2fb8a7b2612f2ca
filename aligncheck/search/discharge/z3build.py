"""Z3 formulas made through its C interface: z3py's own operators check and convert their arguments each time,
which costs more than the solving. The callers' terms are well-sorted by construction.

Only this module knows z3's low-level names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from typing import Any

import z3
from z3 import z3core

_apart: ContextVar[Any] = ContextVar("_apart", default=None)


def context() -> Any:
    """The context to which all formulas and solvers belong that are made now."""
    return _apart.get() or z3.main_ctx()


@contextmanager
def apart() -> Iterator[None]:
    """Lets everything within belong to a context of its own: which model Z3 finds, and which core, depends on
    what was asked before in the same one, too. Formulas cannot be carried in or out.
    """
    token = _apart.set(z3.Context())
    try:
        yield
    finally:
        _apart.reset(token)
        _number.cache_clear()


def _array(args: Sequence[Any]) -> Any:
    return (z3.Ast * len(args))(*(a.ast for a in args))


def number(value: Fraction) -> Any:
    """A rational constant, of sort real."""
    return _number(value, context())


@lru_cache(maxsize=4096)
def _number(value: Fraction, where: Any) -> Any:
    return z3.RealVal(f"{value.numerator}/{value.denominator}", where)


def real(name: str) -> Any:
    """A real variable."""
    return z3.Real(name, context())


def integer(name: str) -> Any:
    """An integer variable."""
    return z3.Int(name, context())


def boolean(name: str) -> Any:
    """A truth variable."""
    return z3.Bool(name, context())


def truth(value: bool) -> Any:
    """True or false."""
    return z3.BoolVal(value, context())


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
    where = context()
    return z3.ArithRef(z3core.Z3_mk_add(where.ref(), len(args), _array(args)), where)


def product(args: Sequence[Any]) -> Any:
    """A product of reals."""
    if len(args) == 1:
        return args[0]
    where = context()
    return z3.ArithRef(z3core.Z3_mk_mul(where.ref(), len(args), _array(args)), where)


def at_most_zero(value: Any) -> Any:
    """value <= 0."""
    where = context()
    zero = number(Fraction(0))
    return z3.BoolRef(z3core.Z3_mk_le(where.ref(), value.ast, zero.ast), where)


def at_least_zero(value: Any) -> Any:
    """value >= 0."""
    where = context()
    zero = number(Fraction(0))
    return z3.BoolRef(z3core.Z3_mk_ge(where.ref(), value.ast, zero.ast), where)


def below_zero(value: Any) -> Any:
    """value < 0."""
    where = context()
    zero = number(Fraction(0))
    return z3.BoolRef(z3core.Z3_mk_lt(where.ref(), value.ast, zero.ast), where)


def above_zero(value: Any) -> Any:
    """value > 0."""
    return value > 0


def is_zero(value: Any) -> Any:
    """value = 0."""
    where = context()
    zero = number(Fraction(0))
    return z3.BoolRef(z3core.Z3_mk_eq(where.ref(), value.ast, zero.ast), where)


def both(args: Sequence[Any]) -> Any:
    """A conjunction."""
    where = context()
    return z3.BoolRef(z3core.Z3_mk_and(where.ref(), len(args), _array(args)), where)


def either(args: Sequence[Any]) -> Any:
    """A disjunction."""
    where = context()
    return z3.BoolRef(z3core.Z3_mk_or(where.ref(), len(args), _array(args)), where)


def negation(arg: Any) -> Any:
    """not arg."""
    where = context()
    return z3.BoolRef(z3core.Z3_mk_not(where.ref(), arg.ast), where)


def add_all(solver: Any, formulas: Iterable[Any]) -> None:
    """Asserts formulas."""
    where = context().ref()
    for formula in formulas:
        z3core.Z3_solver_assert(where, solver.solver, formula.ast)


def limit(solver: Any, milliseconds: int, steps: int) -> None:
    """Bounds a solver's next checks, in time and in Z3's resource units (0 would mean no bound)."""
    params = z3.ParamsRef(context())
    params.set("timeout", milliseconds)
    params.set("rlimit", steps)
    z3core.Z3_solver_set_params(context().ref(), solver.solver, params.params)


def steps_of(solver: Any) -> int:
    """Z3's resource units for all that was asked in this context so far."""
    counts = solver.statistics()  # the one that is wanted is among the last
    found = map(counts.__getitem__, reversed(range(len(counts))))
    return next((int(value) for key, value in found if key == "rlimit count"), 0)
