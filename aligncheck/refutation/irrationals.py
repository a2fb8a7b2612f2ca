"""Exact real numbers for the engine: rationals, and rational combinations of irrational ones.

Built on `meaning.exact`, and faster for what an integration does: adding, comparing, multiplying by
rationals. A `Surd` is a rational plus a combination of *atoms*, irrational numbers that SymPy tells apart.
Signs are decided by enclosures, zeros only structurally or by `exact.sign`, so nothing here is decided by
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any, TypeAlias

from flint import arb, ctx, fmpq

from aligncheck.meaning import exact
from aligncheck.meaning.exact import Irrational, Undecided


class Atom:
    """An irrational number, the only object for its SymPy expression; `rank` orders atoms.

    `open` atoms hold the symbol of a parameter that is left open and positive; they have no enclosure.
    """

    __slots__ = ("_balls", "expr", "open", "rank")

    def __init__(self, expr: Any, rank: int) -> None:
        self.expr = expr
        self.rank = rank
        self.open = bool(expr.free_symbols)
        self._balls: dict[int, Any] = {}

    def ball(self) -> Any:
        """An enclosure at the working precision."""
        found = self._balls.get(ctx.prec)
        if found is None:
            found = self._balls[ctx.prec] = exact._ball(self.expr)
        return found


class Dependent(Exception):  # noqa: N818 - it is an answer
    """A decision depends on a parameter that is left open."""


_ATOMS: dict[Any, Atom] = {}


def atom_of(expr: Any) -> Atom:
    """The atom for an expression."""
    found = _ATOMS.get(expr)
    if found is None:
        found = _ATOMS[expr] = Atom(expr, len(_ATOMS))
    return found


class Surd:
    """`rational` plus the sum of coefficient times atom over `terms`, which is not empty."""

    __slots__ = ("rational", "terms")

    def __init__(self, rational: Any, terms: tuple[tuple[Atom, Any], ...]) -> None:
        self.rational = rational
        self.terms = terms

    def __hash__(self) -> int:
        return hash((self.rational, self.terms))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Surd | fmpq | int):
            return NotImplemented
        return sign(self - other) == 0

    def __neg__(self) -> Surd:
        return Surd(-self.rational, tuple((atom, -factor) for atom, factor in self.terms))

    def __add__(self, other: Real) -> Real:
        if not isinstance(other, Surd):
            return Surd(self.rational + other, self.terms)
        factors = dict(self.terms)
        for atom, factor in other.terms:
            factors[atom] = factors[atom] + factor if atom in factors else factor
        return _combined(self.rational + other.rational, factors)

    __radd__ = __add__

    def __sub__(self, other: Real) -> Real:
        return self + -other

    def __rsub__(self, other: Any) -> Real:
        return -self + other

    def __mul__(self, other: Real) -> Real:
        if isinstance(other, Surd):
            return _slow("*", self, other)
        if other == 0:
            return fmpq(0)
        return Surd(self.rational * other, tuple((atom, factor * other) for atom, factor in self.terms))

    __rmul__ = __mul__

    def __truediv__(self, other: Real) -> Real:
        if isinstance(other, Surd):
            return _slow("/", self, other)
        return self * (1 / fmpq(other))

    def __rtruediv__(self, other: Any) -> Real:
        return _slow("/", fmpq(other), self)

    def __lt__(self, other: Real) -> bool:
        return sign(self - other) < 0

    def __le__(self, other: Real) -> bool:
        return sign(self - other) <= 0

    def __gt__(self, other: Real) -> bool:
        return sign(self - other) > 0

    def __ge__(self, other: Real) -> bool:
        return sign(self - other) >= 0

    def __repr__(self) -> str:
        return str(to_expr(self))

    @property
    def open(self) -> bool:
        """Whether a parameter that is left open occurs."""
        return any(atom.open for atom, _ in self.terms)


Real: TypeAlias = Any
"""fmpq | Surd (flint has no types for mypy). An `int` may stand for a rational in sums and products."""


def _combined(rational: Any, factors: dict[Atom, Any]) -> Real:
    terms = tuple(sorted(((a, f) for a, f in factors.items() if f != 0), key=lambda term: term[0].rank))
    return Surd(rational, terms) if terms else rational


def to_expr(value: Real) -> Any:
    """The SymPy expression of a number."""
    import sympy

    if not isinstance(value, Surd):
        value = fmpq(value)
        return sympy.Rational(int(value.p), int(value.q))
    return sympy.Add(to_expr(value.rational), *(to_expr(factor) * atom.expr for atom, factor in value.terms))


def of_expr(expr: Any) -> Real:
    """The number that a closed SymPy expression stands for."""
    import sympy

    rational: Any = fmpq(0)
    factors: dict[Atom, Any] = {}
    for term in sympy.Add.make_args(expr.expand()):
        factor, rest = term.as_coeff_Mul()
        if not factor.is_Rational:
            factor, rest = sympy.S.One, term
        number = fmpq(int(factor.p), int(factor.q))
        if rest == 1:
            rational += number
        else:
            atom = atom_of(rest)
            factors[atom] = factors[atom] + number if atom in factors else number
    return _combined(rational, factors)


def of_exact(value: exact.Number | int) -> Real:
    """A number of the interpreter."""
    if isinstance(value, Irrational):
        return _of_irrational(value)
    if isinstance(value, int):
        return fmpq(value)
    return fmpq(value.numerator, value.denominator)


@lru_cache(maxsize=4_096)
def _of_irrational(value: Irrational) -> Real:
    return of_expr(value.expr)


def to_exact(value: Real) -> exact.Number:
    """The number as the interpreter has it."""
    if isinstance(value, Surd):
        return Irrational(to_expr(value))
    value = fmpq(value)
    return Fraction(int(value.p), int(value.q))


@lru_cache(maxsize=4_096)
def _slow(op: str, a: Real, b: Real) -> Real:
    """A product or a quotient with irrational numbers, through SymPy. Raises `exact.Undefined`."""
    if op == "/":
        if sign(b) == 0:
            raise exact.Undefined("division by 0")
        return _checked(to_expr(a) / to_expr(b))
    return _checked(to_expr(a) * to_expr(b))


def _checked(expr: Any) -> Real:
    if expr.count_ops() > 300:
        raise Undecided("an irrational number has too many terms")
    return of_expr(expr)


def simple(value: Any) -> Any:
    """An int where a rational is one: ints are what forms are compared by."""
    if isinstance(value, int):
        return value
    return int(value.p) if value.q == 1 else value


def common_measure(values: Collection[Any]) -> Any:
    """The greatest rational number of which all these rationals (fmpq) are multiples; 0 where all are 0."""
    bottom = lcm(*(int(value.q) for value in values))
    return fmpq(gcd(*(int((value * bottom).p) for value in values)), bottom)


_BITS = 256


def sign(value: Real) -> int:
    """-1, 0 or 1. Raises `Undecided`, and `Dependent` where a parameter left open decides."""
    if not isinstance(value, Surd):
        return int(value > 0) - int(value < 0)
    if value.open:
        return _open_sign(value)
    found = _ball_sign(value)
    if found == 0:
        with ctx.workprec(_BITS):
            found = _ball_sign(value)
    return found or exact.sign(to_exact(value))


def _ball_sign(value: Surd) -> int:
    ball = to_ball(value)
    return int(ball > 0) - int(ball < 0)


def _open_sign(value: Surd) -> int:
    """The sign where it is the same for all positive values of the parameter.

    A positive atom lies in (0, infinity), one that is `exp` of something negative in (0, 1); the ends
    of these intervals are never reached, so a sum whose bound is 0 is not 0.
    """
    low: Any = value.rational
    high: Any = value.rational
    for atom, factor in value.terms:
        if not atom.expr.is_positive:
            raise Dependent
        most = 1 if atom.expr.func.__name__ == "exp" and atom.expr.args[0].is_negative else None
        share = None if most is None else factor
        if factor > 0:
            high = None if high is None or share is None else high + share
        else:
            low = None if low is None or share is None else low + share
    if low is not None and low >= 0:
        return 1
    if high is not None and high <= 0:
        return -1
    raise Dependent


def open_parameter(name: str) -> Real:
    """A positive parameter that is left open."""
    import sympy

    return of_expr(sympy.Symbol(name, positive=True))


def to_ball(value: Real) -> Any:
    """A ball around a number, at the working precision."""
    if not isinstance(value, Surd):
        return arb(value)
    total = arb(value.rational)
    for atom, factor in value.terms:
        total += arb(factor) * atom.ball()
    return total


def floor(value: Real) -> int:
    """The greatest integer that is at most a number."""
    if isinstance(value, Surd):
        if value.open:
            raise Dependent
        return int(exact.floor(to_exact(value)))
    return int(fmpq(value).floor())


def ceiling(value: Real) -> int:
    """The least integer that is at least a number."""
    return -floor(-value)


_FUNCTIONS: dict[str, Callable[[exact.Number], exact.Number]] = {
    "sqrt": exact.sqrt,
    "exp": exact.exp,
    "ln": exact.ln,
    "log2": exact.log2,
}


def apply(function: str, value: Real) -> Real:
    """A function of one number. Raises `exact.Undefined`, `Undecided` and `Dependent`."""
    if isinstance(value, Surd) and value.open:
        return _apply_open(function, value)
    return of_exact(_FUNCTIONS[function](to_exact(value)))


def _apply_open(function: str, value: Surd) -> Real:
    import sympy

    if function == "exp":
        return _checked(sympy.exp(to_expr(value)))
    if function == "ln" and sign(value) > 0:
        return _checked(sympy.expand_log(sympy.log(to_expr(value))))
    raise Dependent


def log_sum_exp(values: Iterable[Real]) -> Real:
    """The logarithm of a sum of exponentials."""
    return of_exact(exact.log_sum_exp(map(to_exact, values)))
