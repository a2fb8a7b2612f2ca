"""Terms of Z3 that know their sort, each of which is one object.

The classes of Z3's library ask Z3 for the sort of both sides of each operation, of the result, and of each
argument of a function, count who holds each object, and ask after each call whether there was an error, all
of which takes longer than the operation. These make the same terms. A context holds its terms as long as
there is one, so no other term gets the address of one; whether there was an error is asked where a term is
new.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import z3

z3.z3.Z3_DEBUG = False  # as `python -O` does: what its wrapper asserts, Z3 refuses itself, in less time


def _bare(name: str, *takes: Any, gives: Any = z3.Ast) -> Callable[..., Any]:
    """A function of Z3 itself, of a context and more: what is called by the library's of that name."""
    (librarys,) = getattr(z3, f"Z3_{name}").__defaults__
    address: Any = ctypes.cast(librarys.f, ctypes.c_void_p).value
    return ctypes.CFUNCTYPE(gives, ctypes.c_void_p, *takes)(address)


_ONE, _COUNT = (ctypes.c_void_p,), ctypes.c_uint
_TWO, _MANY = _ONE * 2, (_COUNT, *_ONE)
_sort, _app_decl = _bare("get_sort", *_ONE), _bare("get_app_decl", *_ONE)
_ast_kind, _decl_kind, _size = (
    _bare(name, *_ONE, gives=_COUNT) for name in ("get_ast_kind", "get_decl_kind", "get_app_num_args")
)
_part, _numeral = _bare("get_app_arg", *_ONE, _COUNT), _bare("mk_numeral", ctypes.c_char_p, *_ONE)
_hold, _let_go = (_bare(name, *_ONE, gives=None) for name in ("inc_ref", "dec_ref"))
_apply, _error = _bare("mk_app", *_ONE, *_MANY), _bare("get_error_code", gives=_COUNT)


class OneTerm:
    """The one object for a term, and what was looked up of it."""

    anatomy: Any = None

    def __init__(self, ast: Any, ctx: Any) -> None:
        self.ast, self.ctx = ast, ctx

    def __del__(self, let_go: Callable[..., None] = _let_go) -> None:
        if self.ctx.ctx is not None:
            let_go(self.ctx.ctx, self.ast)


class Truth(OneTerm, z3.BoolRef):  # type: ignore[misc]
    """A formula."""


class NumberTerm(OneTerm, z3.ArithRef):  # type: ignore[misc]
    """A number that knows whether it is whole."""

    def __init__(self, ast: Any, ctx: Any, whole: bool) -> None:
        super().__init__(ast, ctx)
        self.whole = whole

    def is_int(self) -> bool:
        return self.whole

    def sort(self) -> Any:
        return self.ctx.sorts[self.whole]


class RealNumeral(NumberTerm, z3.RatNumRef):  # type: ignore[misc]
    """A real numeral."""


class WholeNumeral(NumberTerm, z3.IntNumRef):  # type: ignore[misc]
    """A whole numeral."""


NUMBERS = tuple(
    (partial(NumberTerm, whole=bool(whole)), partial(numeral, whole=bool(whole)))
    for whole, numeral in enumerate((RealNumeral, WholeNumeral))
)
"""What makes a term, and a numeral, that is a real number, or a whole one."""


class NumberContext(z3.Context):  # type: ignore[misc]
    """Where such terms are: all by their addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[int, Any] = {}
        self.sorts = z3.RealSort(self), z3.IntSort(self)
        made = *NUMBERS, (Truth, Truth)
        self.kinds = dict(zip((s.ast.value for s in (*self.sorts, z3.BoolSort(self))), made, strict=True))

    def forget(self) -> None:
        """Lets go of all terms, which hold the context, as it holds them."""
        for term in self.nodes.values():
            term.anatomy = None
        self.nodes.clear()

    def term(self, ast: Any, kind: Callable[[Any, Any], OneTerm]) -> Any:
        """The one object for what was just made, which is of this kind."""
        known = self.nodes.get(ast.value)
        if known is None:
            if (error := _error(self.ctx)) != z3.Z3_OK:
                raise z3.Z3Exception(z3.Z3_get_error_msg(self.ctx, error))
            _hold(self.ctx, ast)
            known = self.nodes[ast.value] = kind(ast, self)
        return known

    def integer(self, value: int) -> Any:
        """A whole number."""
        return self.term(_numeral(self.ctx, str(value).encode(), self.sorts[1].ast), NUMBERS[1][1])

    def rational(self, value: object) -> Any:
        """A real number: a whole one, a fraction, or the text of one."""
        return self.term(_numeral(self.ctx, str(value).encode(), self.sorts[0].ast), NUMBERS[0][1])


def wrapped(ast: Any, ctx: Any) -> Any:
    """A term as an object of Python: what the library's function does, which asks Z3 for more."""
    if not isinstance(ctx, NumberContext):
        return _LIBRARYS(ast, ctx)
    if (known := ctx.nodes.get(ast.value)) is None:
        kind, sort = _ast_kind(ctx.ctx, ast), ctx.kinds.get(_sort(ctx.ctx, ast).value)
        if sort is not None and kind in (z3.Z3_APP_AST, z3.Z3_NUMERAL_AST):
            return ctx.term(ast, sort[kind == z3.Z3_NUMERAL_AST])
        known = ctx.nodes[ast.value] = _LIBRARYS(ast, ctx)
        known.anatomy = None
    return known


_LIBRARYS, z3.z3._to_expr_ref = z3.z3._to_expr_ref, wrapped


def one(term: Any) -> Any:
    """The one object for a term, which the library may have made another one for."""
    return term if isinstance(term, OneTerm) else wrapped(term.ast, term.ctx)


def taken_apart(term: Any) -> tuple[int, list[Any]]:
    """Which operation a term is, and of what."""
    ref, ast = term.ctx.ctx, term.ast
    if _ast_kind(ref, ast) not in (z3.Z3_APP_AST, z3.Z3_NUMERAL_AST):
        return z3.Z3_OP_INTERNAL, []
    parts = (_part(ref, ast, at) for at in range(_size(ref, ast)))
    return _decl_kind(ref, _app_decl(ref, ast)), [wrapped(part, term.ctx) for part in parts]


def _of_one_sort(librarys: Callable[[Any, object], Any], make: Callable[..., Any], truth: bool) -> Any:
    """An operator of the library, of a number and another one of its sort; what else there is it converts."""

    def operator(self: Any, other: Any) -> Any:
        ctx, whole = self.ctx, self.whole
        if type(other) is int:
            other = (ctx.integer if whole else ctx.rational)(other)
        elif not isinstance(other, NumberTerm) or other.whole is not whole:
            return librarys(self, other)
        made = make(ctx.ctx, self.ast, other.ast)
        return ctx.term(made, Truth if truth else NUMBERS[whole][0])

    return operator


def _joined(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda ctx, *asts: make(ctx, len(asts), (z3.Ast * len(asts))(*asts))


_MAKE = {f"__{name}__": _bare(f"mk_{name}", *_TWO) for name in ("eq", "lt", "le", "gt", "ge")}
_MAKE |= {f"__{name}__": _joined(_bare(f"mk_{name}", *_MANY)) for name in ("add", "sub", "mul")}
_MAKE["__ne__"] = _joined(_bare("mk_distinct", *_MANY))
for _name, _make in _MAKE.items():
    _truth = _name not in ("__add__", "__sub__", "__mul__")
    setattr(NumberTerm, _name, _of_one_sort(getattr(NumberTerm, _name), _make, _truth))


class FunctionSymbol(z3.FuncDeclRef):  # type: ignore[misc]
    """A function symbol that knows the sorts of its arguments."""

    def __init__(self, made: Any, domain: tuple[Any, ...]) -> None:
        super().__init__(made.ast, made.ctx)
        self.takes = domain
        self.gives, _ = self.ctx.kinds[self.range().ast.value]

    def __call__(self, *args: Any) -> Any:
        fits = (isinstance(a, NumberTerm) and a.sort() is s for a, s in zip(args, self.takes, strict=False))
        if len(args) != len(self.takes) or not all(fits):
            return super().__call__(*args)
        asts = (z3.Ast * len(args))(*(a.ast for a in args))
        return self.ctx.term(_apply(self.ctx.ctx, self.ast, len(args), asts), self.gives)
