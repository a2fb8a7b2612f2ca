"""Exact real arithmetic for the interpreter: rationals, and closed expressions for roots and logarithms.

Rationals are `Fraction`s and never touch a heavy library, nor do numbers with one square root. Any other
irrational number is a SymPy expression without symbols; its sign is decided by a rigorous enclosure (ball
arithmetic, growing precision), and a zero only by an algebraic identity. What neither settles raises
`Undecided`: nothing here is ever decided by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

_LARGEST_BITS = 100_000
"""Above this many bits a number is refused: `x = x*x` in a loop must not hang."""
_LARGEST_RADICAND_BITS = 2_048
_LARGEST_ROOT_BITS = 64
_LARGEST_SYMBOLIC = 300
"""Above this many operations no symbolic identity is tried."""
_PRECISIONS = (64, 256)
_LAST_PRECISION = 4_096
_KEPT = 1_024
"""What was found out of so many irrational numbers is kept: runs on small inputs meet few, again and again.
"""


class Undecided(Exception):  # noqa: N818 - it is an answer, the third one
    """A number is too large, or a sign was not settled: callers count the run as not confirmed."""


class Undefined(Exception):  # noqa: N818 - as above
    """An operation has no value: division by 0, a root of a negative number, … The text is the reason."""


@dataclass(frozen=True, slots=True)
class Irrational:
    """An exact real number that is not a `Fraction`: `expr` is a SymPy expression without free symbols.

    Equality here is structural; `compare` decides equality of numbers.
    """

    expr: Any

    def __str__(self) -> str:
        return str(self.expr).replace("log(", "ln(")


class WithRoot(Irrational):
    """`rational + factor*sqrt(radicand)`, the factor not 0 and the radicand a positive integer that is no
    square. All that is done with numbers of one radicand is done with fractions.
    """

    __slots__ = ("factor", "radicand", "rational")

    rational: Fraction
    factor: Fraction
    radicand: int

    def __init__(self, rational: Fraction, factor: Fraction, radicand: int) -> None:
        for name, value in (("rational", rational), ("factor", factor), ("radicand", radicand)):
            object.__setattr__(self, name, value)

    @property
    def expr(self) -> Any:
        """The number as a SymPy expression."""
        import sympy

        return _expr(self.rational) + _expr(self.factor) * sympy.sqrt(self.radicand)

    def sign(self) -> int:
        """Of two parts with different signs the one with the larger square decides; the squares differ, since
        the root is irrational.
        """
        one, other = (self.rational > 0) - (self.rational < 0), (self.factor > 0) - (self.factor < 0)
        if one in (0, other):
            return other
        return one if self.rational**2 > self.factor**2 * self.radicand else other

    def floor(self) -> Fraction:
        """Of (m + x)/d with whole m and d, which has the integer part of (m + the integer part of x)/d."""
        d = math.lcm(self.rational.denominator, self.factor.denominator)
        root = math.isqrt((self.factor.numerator * d // self.factor.denominator) ** 2 * self.radicand)
        whole = self.rational.numerator * d // self.rational.denominator
        return Fraction((whole + (root if self.factor > 0 else -root - 1)) // d)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithRoot) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Fraction, Fraction, int]:
        return self.rational, self.factor, self.radicand

    def __reduce__(self) -> Any:
        return WithRoot, self._parts()


Number: TypeAlias = Fraction | Irrational
Value: TypeAlias = Fraction | bool | Irrational

ZERO = Fraction(0)
ONE = Fraction(1)


# --- arithmetic -------------------------------------------------------------------------------------------


def add(a: Number, b: Number) -> Number:
    """a + b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _bounded(a + b)
    if (both := _with_one_root(a, b)) is not None:
        (p, q), (r, s), radicand = both
        return _rooted(p + r, q + s, radicand)
    return _number(_expr(a) + _expr(b))


def negative(a: Number) -> Number:
    """-a."""
    if isinstance(a, WithRoot):
        return WithRoot(-a.rational, -a.factor, a.radicand)
    return -a if isinstance(a, Fraction) else _number(-a.expr)


def subtract(a: Number, b: Number) -> Number:
    """a - b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _bounded(a - b)
    return add(a, negative(b))


def multiply(a: Number, b: Number) -> Number:
    """a * b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _bounded(a * b)
    if (both := _with_one_root(a, b)) is not None:
        (p, q), (r, s), radicand = both
        return _rooted(p * r + q * s * radicand, p * s + q * r, radicand)
    return _number(_expr(a) * _expr(b))


def divide(a: Number, b: Number) -> Number:
    """a / b. Raises `Undefined` where b is 0."""
    if sign(b) == 0:
        raise Undefined("division by 0")
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _bounded(a / b)
    if (both := _with_one_root(a, b)) is not None:
        _, (r, s), radicand = both
        norm = r**2 - s**2 * radicand  # not 0: b is not
        return multiply(a, _rooted(r / norm, -s / norm, radicand))
    return _number(_expr(a) / _expr(b))


def modulo(a: Number, b: Number) -> Number:
    """The remainder a - b*floor(a/b), with the sign of b. Raises `Undefined` where b is 0."""
    if sign(b) == 0:
        raise Undefined("remainder by 0")
    return subtract(a, multiply(b, floor(divide(a, b))))


def power(a: Number, b: Number) -> Number:
    """a ** b for an integer b; 0 ** 0 is 1. Raises `Undefined` for other b, and for 0 to a negative one."""
    if not isinstance(b, Fraction) or b.denominator != 1:
        raise Undefined("`**` takes an integer exponent")
    exponent = b.numerator
    if exponent < 0 and sign(a) == 0:
        raise Undefined("0 to a negative power")
    if isinstance(a, Fraction):
        if abs(exponent) * _bits(a) > _LARGEST_BITS and a not in (0, 1, -1):
            raise Undecided("a power is too large")
        return a**exponent
    if abs(exponent) > 1_000:
        raise Undecided("a power is too large")
    return _number(a.expr**exponent)


def floor(a: Number) -> Fraction:
    """The greatest integer that is at most a."""
    if isinstance(a, Fraction):
        return a if a.denominator == 1 else Fraction(a.numerator // a.denominator)
    if isinstance(a, WithRoot):
        return a.floor()
    for bits in (*_PRECISIONS, _LAST_PRECISION):
        low, high = _integer_bounds(a.expr, bits)
        if low == high:
            return Fraction(low)
        # The enclosure is narrow but straddles one integer: a may be that integer exactly.
        if high == low + 1 and sign(subtract(a, Fraction(high))) >= 0:
            return Fraction(high)
        if high == low + 1:
            return Fraction(low)
    raise Undecided(f"the integer part of {a} was not settled")


def rational_above(a: Number) -> Fraction:
    """A rational number that is at least this one, and less than 2^-64 away."""
    fine = Fraction(1 << 64)
    return a if isinstance(a, Fraction) else (floor(multiply(a, fine)) + 1) / fine


def rational_below(a: Number, fine: int) -> Fraction:
    """A rational number that is at most this one, and less than 1/fine away."""
    return a if isinstance(a, Fraction) else floor(multiply(a, Fraction(fine))) / fine


def absolute(a: Number) -> Number:
    """|a|."""
    return negative(a) if sign(a) < 0 else a


def sqrt(a: Number) -> Number:
    """The square root. Raises `Undefined` for a negative number."""
    if sign(a) < 0:
        raise Undefined("square root of a negative number")
    if isinstance(a, Fraction):
        top, bottom = math.isqrt(a.numerator), math.isqrt(a.denominator)
        if top * top == a.numerator and bottom * bottom == a.denominator:
            return Fraction(top, bottom)
        radicand = a.numerator * a.denominator
        if radicand.bit_length() <= _LARGEST_ROOT_BITS:
            return _square_root(radicand, Fraction(1, a.denominator))
    import sympy

    return _number(sympy.sqrt(_small(a)))


def exp(a: Number) -> Number:
    """The exponential."""
    if a == ZERO:
        return ONE
    import sympy

    return _number(sympy.exp(_small(a)))


def ln(a: Number) -> Number:
    """The natural logarithm. Raises `Undefined` for a number that is not positive."""
    if sign(a) <= 0:
        raise Undefined("logarithm of a number that is not positive")
    if a == ONE:
        return ZERO
    import sympy

    return _number(sympy.log(_small(a)))


def log2(a: Number) -> Number:
    """The logarithm to base 2. Raises `Undefined` for a number that is not positive."""
    if isinstance(a, Fraction) and a > 0:
        up, down = a.numerator.bit_length() - 1, a.denominator.bit_length() - 1
        if a == Fraction(2**up, 2**down):
            return Fraction(up - down)
    return divide(ln(a), ln(Fraction(2)))


# --- decisions --------------------------------------------------------------------------------------------


def sign(a: Number) -> int:
    """-1, 0 or 1. Raises `Undecided`."""
    if isinstance(a, Fraction):
        return (a.numerator > 0) - (a.numerator < 0)
    if isinstance(a, WithRoot):
        return a.sign()
    for bits in _PRECISIONS:
        if (found := _enclosed_sign(a.expr, bits)) is not None:
            return found
    if not _is_moderate(a.expr):
        raise Undecided("a number is too large")
    if _is_zero(a.expr):
        return 0
    if (found := _enclosed_sign(a.expr, _LAST_PRECISION)) is not None:
        return found
    raise Undecided(f"the sign of {a} was not settled")


def compare(a: Number, b: Number) -> int:
    """The sign of a - b. Raises `Undecided`."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        # Whole numbers compare five times as fast as fractions do.
        (p, q), (r, s) = a.as_integer_ratio(), b.as_integer_ratio()
        return (p * s > r * q) - (p * s < r * q)
    return 0 if a == b else sign(subtract(a, b))


def same(a: Value, b: Value) -> bool:
    """Whether two values are equal; a truth value never equals a number. Raises `Undecided`."""
    if isinstance(a, bool) or isinstance(b, bool):
        return isinstance(a, bool) and isinstance(b, bool) and a == b
    return compare(a, b) == 0


def is_integer(a: Number) -> bool:
    """Whether a is an integer. Raises `Undecided`."""
    return a.denominator == 1 if isinstance(a, Fraction) else compare(a, floor(a)) == 0


def is_multiple(a: Number, step: Number) -> bool:
    """Whether a is an integer times `step`, which is not 0. Raises `Undecided`."""
    return is_integer(divide(a, step))


def total(amounts: Iterable[Number]) -> Number:
    """The sum; 0 for nothing."""
    rational, others = ZERO, []
    for amount in amounts:
        if isinstance(amount, Fraction):
            rational = _bounded(rational + amount)
        else:
            others.append(amount.expr)
    if not others:
        return rational
    import sympy

    return _number(sympy.Add(_expr(rational), *others))


def log_sum_exp(values: Iterable[Number]) -> Number:
    """The logarithm of the sum of the exponentials of at least one value."""
    found = list(values)
    if len(found) == 1:
        return found[0]
    import sympy

    return _number(sympy.log(sympy.Add(*(sympy.exp(_small(value)) for value in found))))


def decimal(a: Number, digits: int = 4) -> str:
    """A decimal close to a, for people only: never used in a decision."""
    if isinstance(a, Fraction):
        if abs(a.numerator.bit_length() - a.denominator.bit_length()) < 900:
            return f"{float(a):.{digits}g}"
        # Beyond the floats: this module's exponents are of any size.
        context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
        quotient = context.divide(Decimal(a.numerator), Decimal(a.denominator))
        return str(quotient.normalize(context)).lower()
    import sympy

    return str(sympy.N(_expr(a), digits))


# --- numbers with one root ----------------------------------------------------------------------------------


def _with_one_root(
    a: Number, b: Number
) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction], int] | None:
    """Two numbers as `p + q*sqrt(c)` with one c; None where they are no such numbers."""
    one, other = _parts(a), _parts(b)
    radicands = {x.radicand for x in (a, b) if isinstance(x, WithRoot)}
    if len(radicands) != 1 or one is None or other is None:
        return None
    return one, other, radicands.pop()


def _parts(a: Number) -> tuple[Fraction, Fraction] | None:
    if isinstance(a, WithRoot):
        return a.rational, a.factor
    return (a, ZERO) if isinstance(a, Fraction) else None


def _rooted(rational: Fraction, factor: Fraction, radicand: int) -> Number:
    if factor == 0:
        return _bounded(rational)
    return WithRoot(_bounded(rational), _bounded(factor), radicand)


def _square_root(radicand: int, factor: Fraction) -> WithRoot:
    """`factor*sqrt(radicand)` of what is no square; small square factors are taken out, so that roots of one
    number by small squares have one radicand.
    """
    for prime in (2, 3, 5, 7, 11, 13):
        while radicand % prime**2 == 0:
            radicand, factor = radicand // prime**2, factor * prime
    return WithRoot(ZERO, factor, radicand)


# --- the SymPy side ---------------------------------------------------------------------------------------


def load() -> None:
    """Imports what irrational numbers need, a third of a second before the first one does."""
    import sympy  # noqa: F401


def _bits(a: Fraction) -> int:
    numerator, denominator = a.as_integer_ratio()
    return max(numerator.bit_length(), denominator.bit_length())


def _bounded(a: Fraction) -> Fraction:
    if _bits(a) > _LARGEST_BITS:
        raise Undecided("a number is too large")
    return a


def _expr(a: Number) -> Any:
    if isinstance(a, Irrational):
        return a.expr
    import sympy

    return sympy.Rational(a.numerator, a.denominator)


def _small(a: Number) -> Any:
    # SymPy looks for factors of a radicand; on thousands of digits that is slow.
    if isinstance(a, Fraction) and _bits(a) > _LARGEST_RADICAND_BITS:
        raise Undecided("a number is too large for a root, a power of e or a logarithm")
    return _expr(a)


@lru_cache(_KEPT)
def _number(expr: Any) -> Number:
    """The expression as a `Fraction` where SymPy sees that it is rational."""
    if expr.is_Rational:
        return _bounded(Fraction(int(expr.p), int(expr.q)))
    if expr.count_ops() > _LARGEST_SYMBOLIC:
        raise Undecided("an irrational number has too many terms")
    expanded = expr.expand()
    if expanded.is_Rational:
        return _bounded(Fraction(int(expanded.p), int(expanded.q)))
    return Irrational(expr)


@lru_cache(_KEPT)
def _enclosed_sign(expr: Any, bits: int) -> int | None:
    import flint

    with flint.ctx.workprec(bits):
        ball = _ball(expr)
        return 1 if ball > 0 else -1 if ball < 0 else None


def _is_moderate(expr: Any) -> bool:
    """Whether the value has a finite enclosure: towers of exponentials do not, and hang SymPy."""
    import flint

    with flint.ctx.workprec(_PRECISIONS[-1]):
        return bool(_ball(expr).is_finite())


def _integer_bounds(expr: Any, bits: int) -> tuple[int, int]:
    """The integer parts of both ends of an enclosure."""
    import flint

    with flint.ctx.workprec(bits):
        ball = _ball(expr)
        if not ball.is_finite():
            raise Undecided("a number is too large")
        low, high = ball.lower().floor().unique_fmpz(), ball.upper().floor().unique_fmpz()
        if low is None or high is None:
            raise Undecided("a number is too large")
        return int(low), int(high)


def _ball(expr: Any) -> Any:
    """A ball (midpoint and radius) that contains the value of a closed expression built by this module."""
    import flint
    import sympy

    if expr.is_Rational:
        return flint.arb(flint.fmpq(int(expr.p), int(expr.q)))
    if expr is sympy.E:
        return flint.arb(1).exp()
    arguments = [_ball(argument) for argument in expr.args]
    if expr.is_Add:
        return sum(arguments[1:], arguments[0])
    if expr.is_Mul:
        return math.prod(arguments[1:], start=arguments[0])
    if isinstance(expr, sympy.exp):
        return arguments[0].exp()
    if isinstance(expr, sympy.log):
        return arguments[0].log()
    if expr.is_Pow:
        return arguments[0] ** (int(expr.exp) if expr.exp.is_Integer else arguments[1])
    raise Undecided(f"no enclosure for {expr}")


@lru_cache(_KEPT)
def _is_zero(expr: Any) -> bool:
    """Whether an identity shows that the expression is 0; False says nothing."""
    import sympy

    if expr.count_ops() > _LARGEST_SYMBOLIC:
        return False
    try:
        # A number is 0 if e to its power is 1, in which logarithms that are added are gone.
        if sympy.cancel(sympy.exp(sympy.expand(expr)) - 1) == 0:
            return True
        logarithms = sympy.expand_log(sympy.expand(expr), factor=True)
        if sympy.cancel(sympy.expand(logarithms)) == 0:
            return True
        if not expr.is_algebraic or len(expr.atoms(sympy.Pow)) > 5:
            return False
        unknown = sympy.Dummy()
        return bool(sympy.minimal_polynomial(expr, unknown) == unknown)
    except (ArithmeticError, NotImplementedError, RecursionError, sympy.PolynomialError):
        return False  # SymPy gave up
