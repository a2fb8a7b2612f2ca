"""Small helpers for Z3 terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import z3

z3.z3.Z3_DEBUG = False  # as `python -O` does: what its wrapper asserts, Z3 refuses itself, in less time

Term: TypeAlias = Any
"""A Z3 term; the library has no types of its own."""


class Number(z3.ArithRef):  # type: ignore[misc]
    """A number that knows whether it is whole: the library's asks Z3 wherever that matters. It makes the
    same terms, in the same order, by which Z3 numbers them.
    """

    def __init__(self, ast: Any, ctx: Any, whole: bool) -> None:
        super().__init__(ast, ctx)
        self.whole = whole

    def is_int(self) -> bool:
        return self.whole

    def is_real(self) -> bool:
        return not self.whole

    def sort(self) -> Any:
        return self.ctx.sorts[self.whole]


class Rational(Number, z3.RatNumRef):  # type: ignore[misc]
    """A real numeral."""


class Integer(Number, z3.IntNumRef):  # type: ignore[misc]
    """A whole numeral."""


class Context(z3.Context):  # type: ignore[misc]
    """Where the terms of one decision are. It knows what each term is made of that was looked at: to ask Z3
    takes a hundred times as long. The table holds its terms, so that no other term gets the address of one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[int, Anatomy] = {}
        self.sorts = z3.RealSort(self), z3.IntSort(self)
        self.whole = {sort.ast.value: bool(at) for at, sort in enumerate(self.sorts)}

    def integer(self, value: int) -> Term:
        """A whole number."""
        return Integer(z3.Z3_mk_numeral(self.ctx, str(value), self.sorts[1].ast), self, True)

    def rational(self, value: object) -> Term:
        """A real number: a whole one, a fraction, or the text of one."""
        return Rational(z3.Z3_mk_numeral(self.ctx, str(value), self.sorts[0].ast), self, False)


def _wrapped(ast: Any, ctx: Any) -> Term:
    """A term as an object of Python: what the library's function does, which asks Z3 for more."""
    whole = ctx.whole.get(z3.Z3_get_sort(ctx.ctx, ast).value) if isinstance(ctx, Context) else None
    if whole is not None:
        match z3.Z3_get_ast_kind(ctx.ctx, ast):
            case z3.Z3_APP_AST:
                return Number(ast, ctx, whole)
            case z3.Z3_NUMERAL_AST:
                return (Integer if whole else Rational)(ast, ctx, whole)
    return _LIBRARYS(ast, ctx)


_LIBRARYS, z3.z3._to_expr_ref = z3.z3._to_expr_ref, _wrapped


def _of_one_sort(librarys: Callable[[Term, object], Term], make: Callable[..., Any], truth: bool) -> Any:
    """An operator of the library, of a number and another one of its sort; what else there is it converts."""

    def operator(self: Term, other: Any) -> Term:
        if type(other) is int:
            other = (self.ctx.integer if self.whole else self.ctx.rational)(other)
        elif not isinstance(other, Number) or other.whole is not self.whole:
            return librarys(self, other)
        made = make(self.ctx.ctx, self.ast, other.ast)
        return z3.BoolRef(made, self.ctx) if truth else Number(made, self.ctx, self.whole)

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
    setattr(Number, _name, _of_one_sort(getattr(Number, _name), _make, _truth))


class Function(z3.FuncDeclRef):  # type: ignore[misc]
    """A function symbol that knows the sorts of its arguments."""

    def __init__(self, made: Any, domain: tuple[Any, ...]) -> None:
        super().__init__(made.ast, made.ctx)
        self.takes = domain

    def __call__(self, *args: Any) -> Term:
        fits = (isinstance(a, Number) and a.sort() is s for a, s in zip(args, self.takes, strict=False))
        if len(args) != len(self.takes) or not all(fits):
            return super().__call__(*args)
        asts = (z3.Ast * len(args))(*(a.ast for a in args))
        return _wrapped(z3.Z3_mk_app(self.ctx.ctx, self.ast, len(args), asts), self.ctx)


@dataclass(frozen=True, slots=True, eq=False)
class Anatomy:
    """A term: which operation it is (`kind`, as Z3 numbers them), of what; whether it is a `symbol`, that is
    a constant or an application that no theory interprets; whether it contains a choice (`if`) or a formula.
    """

    term: Term
    kind: int
    parts: tuple[Anatomy, ...]
    symbol: bool
    choice: bool


def anatomy(term: Term) -> Anatomy:
    """What a term is made of. Equal terms have one address as long as one of them is held."""
    known: Anatomy | None = term.ctx.nodes.get(term.ast.value)
    return known if known is not None else _looked_at(term)


def _looked_at(term: Term) -> Anatomy:
    ctx, ref, ast = term.ctx, term.ctx.ref(), term.ast
    kind, parts = z3.Z3_OP_INTERNAL, []
    if z3.is_app(term):
        kind = z3.Z3_get_decl_kind(ref, z3.Z3_get_app_decl(ref, ast))
        for at in range(z3.Z3_get_app_num_args(ref, ast)):
            part = z3.Z3_get_app_arg(ref, ast, at)
            known = ctx.nodes.get(part.value)
            parts.append(_looked_at(_wrapped(part, ctx)) if known is None else known)
    symbol = kind == z3.Z3_OP_UNINTERPRETED
    choice = kind == z3.Z3_OP_ITE or (z3.is_bool(term) and not symbol) or any(p.choice for p in parts)
    found = ctx.nodes[ast.value] = Anatomy(term, kind, tuple(parts), symbol, choice)
    return found


def subterms(term: Term) -> Iterator[Anatomy]:
    """A term and all that it is made of, each once."""
    seen: set[Anatomy] = set()
    stack = [anatomy(term)]
    while stack:
        one = stack.pop()
        if one not in seen:
            seen.add(one)
            yield one
            stack.extend(one.parts)


def same(one: Term, other: Term) -> bool:
    """Whether two terms are one."""
    return bool(one.ast.value == other.ast.value)


def both(*parts: Term) -> Term:
    """The conjunction of one or more formulas."""
    return _joined(z3.Z3_mk_and, z3.Z3_OP_TRUE, parts)


def either(*parts: Term) -> Term:
    """The disjunction of one or more formulas."""
    return _joined(z3.Z3_mk_or, z3.Z3_OP_FALSE, parts)


def _joined(maker: Any, neutral: int, parts: tuple[Term, ...]) -> Term:
    kept = [p for p in parts if anatomy(p).kind != neutral]
    if len(kept) < 2:
        return kept[0] if kept else parts[0]
    ctx = parts[0].ctx
    return z3.BoolRef(maker(ctx.ref(), len(kept), (z3.Ast * len(kept))(*(p.ast for p in kept))), ctx)


def implies(condition: Term, conclusion: Term) -> Term:
    """`conclusion` where `condition` holds."""
    if anatomy(condition).kind == z3.Z3_OP_TRUE:
        return conclusion
    ctx = condition.ctx
    return z3.BoolRef(z3.Z3_mk_implies(ctx.ref(), condition.ast, conclusion.ast), ctx)


def real(term: Term) -> Term:
    """The same number, as a real one."""
    if isinstance(term, z3.IntNumRef):
        return term.ctx.rational(term.as_long())
    return _wrapped(z3.Z3_mk_int2real(term.ctx.ctx, term.ast), term.ctx) if z3.is_int(term) else term


def floor(term: Term) -> Term:
    """The greatest whole number that is not above a real one."""
    return _wrapped(z3.Z3_mk_real2int(term.ctx.ctx, term.ast), term.ctx)


def alike(*terms: Term) -> tuple[Term, ...]:
    """The same values, of one sort: if any is a real number, all are."""
    return terms if len(set(map(z3.is_int, terms))) == 1 else tuple(map(real, terms))


def absolute(term: Term) -> Term:
    """The size of a number."""
    return z3.If(term >= 0, term, -term)
