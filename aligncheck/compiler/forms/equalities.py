"""Irrational numbers that are rational after all, or whose sign is that of a rational number.

Of numbers near two roots or logarithms nothing says which is larger, and what undoes a function undoes no
number near it. So what a run computes is written anew first, by equalities of real numbers that hold wherever
the left side is defined:

* ln(exp(x)) = x; exp(ln(x)) = x; ln(sqrt(x)) = ln(x)/2; sqrt(exp(x)) = exp(x/2); sqrt(x) sqrt(x) = x;
* ln(x) - ln(y) = ln(x/y), and so for log2; c f(x) - c f(y) = c (f(x) - f(y));
* exp(x) - exp(y) = exp(y) (exp(x - y) - 1);
* f(x) < f(y) where x < y, for all of them, since they rise;
* sqrt(x) - sqrt(y) = (x - y)/(sqrt(x) + sqrt(y)), where x and y are not equal, and c = sqrt(c^2) for c >= 0.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from aligncheck.compiler.forms.shared import IRRATIONAL, constant
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite

_LOGARITHMS = ("ln", "log2")
_ZERO, _ONE, _TWO = (n.Number(Fraction(k)) for k in (0, 1, 2))


def with_equalities(mechanism: n.Mechanism) -> n.Mechanism:
    """The mechanism with such numbers written anew in its program."""
    body = rewrite.statements(
        mechanism.body, lambda s: rewrite.own(s, lambda expr: rewrite.bottom_up(expr, _anew))
    )
    return mechanism if body == mechanism.body else replace(mechanism, body=body)


def _anew(expr: n.Expr) -> n.Expr:
    """An expression whose parts were written anew."""
    match expr:
        case n.Call(
            function=("ln" | "exp") as f, args=(n.Call(function=("ln" | "exp") as g, args=(x,)),)
        ) if f != g:
            return x
        case n.Call(function="ln", args=(n.Call(function="sqrt", args=(x,)),)):
            return _of("/", _call("ln", x, expr), _TWO, expr)
        case n.Call(function="sqrt", args=(n.Call(function="exp", args=(x,)),)):
            return _call("exp", _of("/", x, _TWO, expr), expr)
        case n.Binary(op="*", left=n.Call(function="sqrt") as left, right=right) if left == right:
            return left.args[0]
        case n.Binary(op="-", left=left, right=right):
            return _difference(left, right, expr)
        case n.Compare(left=n.Call(function=f, args=(x,)), right=n.Call(function=g, args=(y,))) if (
            f == g in IRRATIONAL
        ):
            return replace(expr, left=x, right=y)
    return expr


def _difference(left: n.Expr, right: n.Expr, at: n.Expr) -> n.Expr:
    match left, right:
        case n.Call(function=f, args=(x,)), n.Call(function=g, args=(y,)) if f == g in _LOGARITHMS:
            return _call(f, _of("/", x, y, at), at)
        case n.Call(function="exp", args=(x,)), n.Call(function="exp", args=(y,)):
            more = _call("exp", _anew(_of("-", x, y, at)), at)
            return _of("*", right, _of("-", more, _ONE, at), at)
        case n.Binary(op="*", left=c, right=x), n.Binary(op="*", left=d, right=y) if c == d:
            apart = _difference(x, y, at)
            return at if apart is at else _of("*", c, apart, at)
    one, other = _squared(left), _squared(right)
    if one is None or other is None or not any(isinstance(e, n.Call) for e in (left, right)):
        return at
    equal = n.Compare("==", one, other, span=at.span)
    apart = _of("/", _of("-", one, other, at), _of("+", left, right, at), at)
    return n.Conditional(equal, _ZERO, apart, span=at.span)


def _squared(root: n.Expr) -> n.Expr | None:
    """The square of a root, or of a constant that is not negative."""
    if isinstance(root, n.Call) and root.function == "sqrt":
        return root.args[0]
    value = constant(root)
    return None if value is None or value < 0 else n.Number(value * value, span=root.span)


def _of(op: str, left: n.Expr, right: n.Expr, at: n.Expr) -> n.Expr:
    return n.Binary(op, left, right, span=at.span)


def _call(function: str, x: n.Expr, at: n.Expr) -> n.Expr:
    return n.Call(function, (x,), span=at.span)
