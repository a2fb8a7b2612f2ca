"""Terms of Z3 that are numbers and know their sort.

The classes of Z3's library ask Z3 for the sort of both sides of each operation, of the result, and of each
argument of a function, which takes longer than the operation. These make the same terms, in the same order:
Z3 numbers terms by that.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import z3

z3.z3.Z3_DEBUG = False  # as `python -O` does: what its wrapper asserts, Z3 refuses itself, in less time


class NumberTerm(z3.ArithRef):  # type: ignore[misc]
    """A number that knows whether it is whole."""

    def __init__(self, ast: Any, ctx: Any, whole: bool) -> None:
        super().__init__(ast, ctx)
        self.whole = whole

    def is_int(self) -> bool:
        return self.whole

    def is_real(self) -> bool:
        return not self.whole

    def sort(self) -> Any:
        return self.ctx.sorts[self.whole]


class RealNumeral(NumberTerm, z3.RatNumRef):  # type: ignore[misc]
    """A real numeral."""

    def as_fraction(self) -> Fraction:
        return Fraction(z3.Z3_get_numeral_string(self.ctx.ctx, self.ast))


class WholeNumeral(NumberTerm, z3.IntNumRef):  # type: ignore[misc]
    """A whole numeral."""


class NumberContext(z3.Context):  # type: ignore[misc]
    """Where such terms are."""

    def __init__(self) -> None:
        super().__init__()
        self.sorts = z3.RealSort(self), z3.IntSort(self)
        self.whole = {sort.ast.value: bool(at) for at, sort in enumerate(self.sorts)}

    def integer(self, value: int) -> Any:
        """A whole number."""
        return WholeNumeral(z3.Z3_mk_numeral(self.ctx, str(value), self.sorts[1].ast), self, True)

    def rational(self, value: object) -> Any:
        """A real number: a whole one, a fraction, or the text of one."""
        return RealNumeral(z3.Z3_mk_numeral(self.ctx, str(value), self.sorts[0].ast), self, False)


def wrapped(ast: Any, ctx: Any) -> Any:
    """A term as an object of Python: what the library's function does, which asks Z3 for more."""
    whole: Any = None
    if isinstance(ctx, NumberContext):
        whole = ctx.whole.get(z3.Z3_get_sort(ctx.ctx, ast).value)
    kind = None if whole is None else z3.Z3_get_ast_kind(ctx.ctx, ast)
    if kind == z3.Z3_APP_AST:
        return NumberTerm(ast, ctx, whole)
    if kind == z3.Z3_NUMERAL_AST:
        return (WholeNumeral if whole else RealNumeral)(ast, ctx, whole)
    return _LIBRARYS(ast, ctx)


_LIBRARYS, z3.z3._to_expr_ref = z3.z3._to_expr_ref, wrapped


def _of_one_sort(librarys: Callable[[Any, object], Any], make: Callable[..., Any], truth: bool) -> Any:
    """An operator of the library, of a number and another one of its sort; what else there is it converts."""

    def operator(self: Any, other: Any) -> Any:
        if type(other) is int:
            other = (self.ctx.integer if self.whole else self.ctx.rational)(other)
        elif not isinstance(other, NumberTerm) or other.whole is not self.whole:
            return librarys(self, other)
        made = make(self.ctx.ctx, self.ast, other.ast)
        return z3.BoolRef(made, self.ctx) if truth else NumberTerm(made, self.ctx, self.whole)

    return operator


def _of_two(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda ctx, *asts: make(ctx, 2, (z3.Ast * 2)(*asts))


for _name, _make, _truth in (
    ("__add__", _of_two(z3.Z3_mk_add), False),
    ("__sub__", _of_two(z3.Z3_mk_sub), False),
    ("__mul__", _of_two(z3.Z3_mk_mul), False),
    ("__eq__", z3.Z3_mk_eq, True),
    ("__ne__", _of_two(z3.Z3_mk_distinct), True),
    ("__lt__", z3.Z3_mk_lt, True),
    ("__le__", z3.Z3_mk_le, True),
    ("__gt__", z3.Z3_mk_gt, True),
    ("__ge__", z3.Z3_mk_ge, True),
):
    setattr(NumberTerm, _name, _of_one_sort(getattr(NumberTerm, _name), _make, _truth))


class FunctionSymbol(z3.FuncDeclRef):  # type: ignore[misc]
    """A function symbol that knows the sorts of its arguments."""

    def __init__(self, made: Any, domain: tuple[Any, ...]) -> None:
        super().__init__(made.ast, made.ctx)
        self.takes = domain

    def __call__(self, *args: Any) -> Any:
        fits = (isinstance(a, NumberTerm) and a.sort() is s for a, s in zip(args, self.takes, strict=False))
        if len(args) != len(self.takes) or not all(fits):
            return super().__call__(*args)
        asts = (z3.Ast * len(args))(*(a.ast for a in args))
        return wrapped(z3.Z3_mk_app(self.ctx.ctx, self.ast, len(args), asts), self.ctx)
