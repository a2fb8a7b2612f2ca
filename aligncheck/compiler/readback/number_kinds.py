"""What kind of Python number an expression gives: where `/` is exact, and where `~` and `&` mean logic.

`/` of two Python ints is a float. So one side must be certain to be a `Fraction` (or, where the module
computes so, a float or a number with digits yet to be drawn), for which it is exact division.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from aligncheck.compiler.forms import shared
from aligncheck.language.syntax import nodes, rewrite
from aligncheck.language.syntax.nodes import Expr

AS_REAL, AS_INT = "as a fraction", "as an integer"
"""The same number as another kind of Python number: no words of the language."""


class NumberKind(Enum):
    """INT is certainly an int, REAL certainly none; NUMBER may be either."""

    INT = "int"
    REAL = "real"
    NUMBER = "number"
    BOOL = "bool"


KINDS = {nodes.Sort.REAL: NumberKind.REAL, nodes.Sort.INT: NumberKind.INT, nodes.Sort.BOOL: NumberKind.BOOL}

Given: TypeAlias = "tuple[str, NumberKind | Expr]"
"""A name (of a variable, a list's entries, `f()` for what a function gives) and what it is set to."""


def kinds_of(given: Iterable[Given]) -> dict[str, NumberKind]:
    """The kind of each name: all that may be in it."""
    entries = tuple(given)
    of: dict[str, NumberKind] = {}
    for _ in range(3 * len(entries) + 1):  # each name rises at most twice
        before = dict(of)
        for name, value in entries:
            kind = value if isinstance(value, NumberKind) else kind_of(value, of)
            if kind is not None:
                of[name] = join((kind, of.get(name, kind)))
        if of == before:
            break
    return of


def join(kinds: Iterable[NumberKind | None]) -> NumberKind:
    """What holds all of these."""
    distinct = set(kinds) - {None}
    (one, *more) = distinct or {NumberKind.NUMBER}
    return NumberKind.NUMBER if more or one is None else one


def kind_of(expr: Expr, of: Mapping[str, NumberKind]) -> NumberKind | None:
    """The kind of a value; None where it is not known yet."""
    match expr:
        case nodes.Number(value=value):
            return NumberKind.INT if value.denominator == 1 else NumberKind.REAL
        case nodes.Boolean() | nodes.Compare() | nodes.Logic() | nodes.OutIs() | nodes.Member():
            return NumberKind.BOOL
        case nodes.Unary(op="not"):
            return NumberKind.BOOL
        case nodes.Name(ident=ident) | nodes.Index(base=ident):
            return NumberKind.INT if "#" in ident else of.get(ident)
        case nodes.Call(function=function, args=args):
            if function in ("floor", "len", AS_INT):
                return NumberKind.INT
            if function in ("abs", "min", "max", "clip"):
                return join(kind_of(each, of) for each in args)
            return of.get(f"{function}()", NumberKind.REAL)
        case nodes.Unary(operand=operand):
            return kind_of(operand, of)
        case nodes.Binary(op="/"):
            return NumberKind.REAL
        case nodes.Binary(op="**", left=left):
            return kind_of(left, of)
        case nodes.Binary(left=left, right=right):
            kinds = {kind_of(left, of), kind_of(right, of)}
            return None if None in kinds else NumberKind.REAL if NumberKind.REAL in kinds else join(kinds)
        case nodes.Conditional(then=then, otherwise=otherwise):
            return join((kind_of(then, of), kind_of(otherwise, of)))
        case nodes.OutField(field=name, of=call):
            return of.get(f"{call}.{name}", NumberKind.NUMBER)
        case nodes.OutCount():
            return NumberKind.INT
        case nodes.Gather(function="max" | "min" | "sum" | nodes.LISTING as function, body=body):
            kind = kind_of(body, of)
            return NumberKind.NUMBER if function == "sum" and kind is not NumberKind.INT else kind
        case nodes.Gather(function=function):
            return NumberKind.REAL if function == nodes.LOG_SUM else NumberKind.INT


def constant(expr: Expr) -> Fraction | None:
    """The value of an expression without names; None where it has one, or no value."""
    return shared.constant(rewrite.bottom_up(expr, _unmarked))


def _unmarked(expr: Expr) -> Expr:
    return expr.args[0] if isinstance(expr, nodes.Call) and expr.function in (AS_REAL, AS_INT) else expr
