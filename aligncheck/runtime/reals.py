"""Numbers of a running mechanism: exact as long as they are rational, floating point after that.

Parameters arrive as `Fraction`s, so that budgets add up exactly; noise and answers are floats in this build.
A mixed operation gives a float.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias, TypeVar

from aligncheck.runtime.errors import NumericError, SelectionError

Real: TypeAlias = Fraction | float
"""A real number of the spec."""

Step = TypeVar("Step", int, Real)
"""A step, of which multiples are integers where it is one."""

_COMPUTED_SCALE_SLACK = 2.0**-40
"""How far a number that was computed in floats may be off, relatively: 4096 roundings of 2^-52 each."""


def sqrt(x: Real) -> Real:
    """The square root: exact where it is rational.

    Raises:
        NumericError: x is negative.
    """
    if x < 0:
        raise NumericError("square root of a negative number")
    root = rational_root(x) if isinstance(x, Fraction | int) else None
    return math.sqrt(to_float(x)) if root is None else root


def rational_root(x: Fraction | int) -> Fraction | None:
    """The square root of a number that is not negative, where it is rational."""
    top, bottom = math.isqrt(x.numerator), math.isqrt(x.denominator)
    return Fraction(top, bottom) if top * top == x.numerator and bottom * bottom == x.denominator else None


def exp(x: Real) -> Real:
    """e to the power x.

    Raises:
        NumericError: the result is too large for a float.
    """
    if x == 0:
        return Fraction(1)
    try:
        return math.exp(x)
    except OverflowError:
        raise NumericError("`exp` of a number that is too large") from None


def log_sum_exp_of(values: Iterable[Real]) -> float:
    """The logarithm of the sum of the exponentials of the values, at any size of these.

    Raises:
        SelectionError: there is no value.
    """
    found = list(values)
    if not found:
        raise SelectionError("no index is eligible")
    greatest = max(found)
    return to_float(greatest) + math.log(math.fsum(math.exp(max(value - greatest, -1000)) for value in found))


def softplus(x: float) -> float:
    """ln(1 + exp(x)), without overflow and without the cancellation of the plain formula."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def one_minus_exp(x: Real) -> Real:
    """1 - e to the power x, without the cancellation that the difference has for small x (`1 - exp(-e0)`)."""
    if x == 0:
        return Fraction(0)
    try:
        return -math.expm1(x)
    except OverflowError:
        raise NumericError("`exp` of a number that is too large") from None


def ln(x: Real) -> Real:
    """The natural logarithm.

    Raises:
        NumericError: x is not positive.
    """
    if x <= 0:
        raise NumericError("logarithm of a number that is not positive")
    if x == 1:
        return Fraction(0)
    if isinstance(x, Fraction):
        return math.log(x.numerator) - math.log(x.denominator)
    return math.log(x)


def log2(x: Real) -> Real:
    """The logarithm to base 2: exact for powers of 2.

    Raises:
        NumericError: x is not positive.
    """
    if x <= 0:
        raise NumericError("logarithm of a number that is not positive")
    if isinstance(x, Fraction | int):
        x = Fraction(x)
        up, down = x.numerator.bit_length() - 1, x.denominator.bit_length() - 1
        if x.numerator == 1 << up and x.denominator == 1 << down:
            return Fraction(up - down)
        return math.log2(x.numerator) - math.log2(x.denominator)
    return math.log2(x)


def absolute(x: Real) -> Real:
    """|x|, typed more closely than the built-in `abs` is."""
    return -x if x < 0 else x


def clip(x: Real, low: Real, high: Real) -> Real:
    """x, or the end of [low, high] that it lies beyond: max(low, min(x, high))."""
    return max(low, min(x, high))


def whole(x: Real) -> int:
    """A number that must be an integer (an index, the end of a range), as an int.

    Raises:
        NumericError: it is none.
    """
    if x != math.floor(x):
        raise NumericError("an index or a loop's end is no integer")
    return math.floor(x)


def at_least(x: Real) -> float:
    """The least float that is certainly not below x.

    A rational is rounded upwards; a float, which carries the error of its computation, is raised a little.

    Raises:
        NumericError: x is not positive, not finite, or too large for a float.
    """
    _check_positive(x)
    nearest = to_float(x)
    if isinstance(x, float):
        nearest *= 1 + _COMPUTED_SCALE_SLACK
        _check_positive(nearest)
        return nearest
    return nearest if _above(nearest, x) >= 0 else math.nextafter(nearest, math.inf)


def at_most(x: Real) -> float:
    """The greatest float that is certainly not above x; the counterpart of `at_least`. It may be 0."""
    _check_positive(x)
    nearest = to_float(x)
    if isinstance(x, float):
        return nearest * (1 - _COMPUTED_SCALE_SLACK)
    return nearest if _above(nearest, x) <= 0 else math.nextafter(nearest, 0.0)


def _above(nearest: float, x: Fraction) -> int:
    """A number with the sign of nearest - x, exactly; much faster than subtracting fractions."""
    top, bottom = nearest.as_integer_ratio()
    return top * x.denominator - x.numerator * bottom


def _check_positive(x: Real) -> None:
    if not x > 0 or x == math.inf:
        raise NumericError("a noise scale must be positive and finite")


def nearest_float(x: Real) -> float:
    """The nearest float, infinite where none is that large. For what is shown, and decides nothing."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def to_float(x: Real) -> float:
    """The nearest float.

    Raises:
        NumericError: x is too large for one.
    """
    try:
        return float(x)
    except OverflowError:
        raise NumericError("a number is too large for a float") from None
