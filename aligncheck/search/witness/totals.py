"""Sums of products of expressions, with equal parts added up and cancelled; and what lines are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial, reduce
from math import prod
from typing import TypeAlias

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.unparse import unparse_expr

Product: TypeAlias = tuple[tuple[n.Expr, int], ...]
"""Expressions to powers, in the order of their text."""


ZERO, ONE = n.Number(Fraction(0)), n.Number(Fraction(1))
COST = n.Name("alignment_cost")


def less(one: n.Expr, other: n.Expr) -> n.Expr:
    """At most."""
    return n.Compare("<=", one, other)


def equal(one: n.Expr, other: n.Expr) -> n.Expr:
    """The same."""
    return n.Compare("==", one, other)


def either(*ways: n.Expr) -> n.Expr:
    """One of these."""
    return n.Logic("or", ways)


def implied(test: n.Expr, e: n.Expr) -> n.Expr:
    """Where the test holds."""
    no = test.operand if isinstance(test, n.Unary) else n.Unary("not", test)
    return either(no, e)


def counted(test: n.Expr) -> n.Expr:
    """1 where it holds, else 0."""
    return n.Conditional(test, ONE, ZERO)


def plus(parts: Iterable[n.Expr]) -> n.Expr:
    """The sum, as it is written."""
    left = [part for part in parts if part != ZERO]
    return reduce(partial(n.Binary, "+"), left) if left else ZERO


def size_of(name: str) -> n.Expr:
    """How many entries a list has."""
    return n.Call("len", (n.Name(name),))


def ends_of(over: n.Indices | n.OverQueries | n.OverRange) -> tuple[n.Expr, n.Expr]:
    """The first index of a range, and the one behind its last."""
    return (over.low, over.high) if isinstance(over, n.OverRange) else (ZERO, size_of(over.base))


def low_of(loop: n.For | n.While) -> n.Expr:
    """Where a loop starts."""
    return ends_of(loop.over)[0] if isinstance(loop, n.For) else ZERO


def length_of(over: n.Indices | n.OverQueries | n.OverRange) -> n.Expr:
    """How many indices a range has."""
    low, high = ends_of(over)
    return high if low == ZERO else n.Binary("-", high, low)


@dataclass(frozen=True)
class Amount:
    """A sum of products times numbers."""

    parts: Mapping[Product, Fraction] = field(default_factory=dict)

    def __add__(self, other: Amount) -> Amount:
        found = dict(self.parts)
        for product, factor in other.parts.items():
            found[product] = found.get(product, Fraction(0)) + factor
        return Amount({p: k for p, k in found.items() if k})

    def __sub__(self, other: Amount) -> Amount:
        return self + other.times(Fraction(-1))

    def times(self, factor: Fraction) -> Amount:
        """A multiple."""
        return Amount({p: k * factor for p, k in self.parts.items()} if factor else {})

    def __mul__(self, other: Amount) -> Amount:
        result = Amount()
        for a, k in self.parts.items():
            result += Amount({_joined(a, b): k * m for b, m in other.parts.items()})
        return result

    def over(self, other: Amount) -> Amount:
        """The quotient; what is no single product, nor a multiple, stays as it is, below the line."""
        if len(other.parts) == 1:
            ((product, factor),) = other.parts.items()
            return self * Amount({tuple((e, -k) for e, k in product): 1 / factor})
        times = {k / other.parts.get(p, -k) for p, k in self.parts.items()}
        if len(times) == 1 and self.parts.keys() == other.parts.keys():
            return Amount({(): times.pop()})
        return self * Amount({((other.expression(), -1),): Fraction(1)})

    @property
    def number(self) -> Fraction | None:
        """Its value, if it is a number."""
        return self.parts.get((), Fraction(0)) if self.parts.keys() <= {()} else None

    def names(self) -> frozenset[str]:
        """All names in it."""
        return frozenset(x for p in self.parts for e, _ in p for x in walk.names_in(e))

    def expression(self) -> n.Expr:
        """It as an expression."""
        whole: n.Expr | None = None
        for product, factor in self.parts.items():
            part = product_of(product, abs(factor))
            if whole is None:
                whole = part if factor > 0 else n.Unary("-", part)
            else:
                whole = n.Binary("+" if factor > 0 else "-", whole, part)
        return whole if whole is not None else ZERO


def total(e: n.Expr) -> Amount:
    """An expression as a sum."""
    if isinstance(e, n.Number):
        return Amount({(): e.value} if e.value else {})
    if isinstance(e, n.Unary) and e.op == "-":
        return total(e.operand).times(Fraction(-1))
    if isinstance(e, n.Binary) and e.op in ("+", "-", "*", "/"):
        one, other = total(e.left), total(e.right)
        if e.op in ("+", "-"):
            return one + other if e.op == "+" else one - other
        if e.op == "*" or other.parts:
            return one * other if e.op == "*" else one.over(other)
    if isinstance(e, n.Binary) and e.op == "**" and isinstance(e.right, n.Number) and e.right.value % 1 == 0:
        return prod((total(e.left) for _ in range(int(e.right.value))), start=Amount({(): Fraction(1)}))
    return Amount({((e, 1),): Fraction(1)})


def added(parts: Iterable[Amount]) -> Amount:
    """The sum of all."""
    return sum(parts, Amount())


def _joined(one: Product, other: Product) -> Product:
    powers: dict[n.Expr, int] = {}
    for e, k in (*one, *other):
        powers[e] = powers.get(e, 0) + k
    return tuple(sorted(((e, k) for e, k in powers.items() if k), key=lambda each: unparse_expr(each[0])))


def product_of(product: Iterable[tuple[n.Expr, int]], factor: Fraction) -> n.Expr:
    """The product of a number, and of expressions to powers, as it is written."""
    product = tuple(product)
    above = [e for e, k in product for _ in range(k)]
    below = [e for e, k in product for _ in range(-k)]
    top = _multiplied(factor.numerator, above)
    if not below and factor.denominator == 1:
        return top
    return n.Binary("/", top, _multiplied(factor.denominator, below))


def _multiplied(number: int, factors: list[n.Expr]) -> n.Expr:
    parts = ([n.Number(Fraction(number))] if number != 1 or not factors else []) + factors
    return reduce(partial(n.Binary, "*"), parts)
