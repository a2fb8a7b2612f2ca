"""What `reals` computes with floats, in rational numbers: for the exact modes.

Results are exact where they are rational. Else they are approximations, off by less than one part in 2^90,
and always the same for the same argument; their denominators or numerators are long (over 90 bits), by which
`exact_noise` tells a scale that was approximated. Roots and binary logarithms lie between the same whole
numbers as their approximations do, so that `floor` of them is exact.

Proofs know of these approximations that they lie between two bounds of the function (`enclosed` in
`compiler.forms.rational`). Near the points where those meet there are more digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.logistic import ln_bounds, log_sum_exp_of
from aligncheck.runtime.reals import Real, rational_root
from aligncheck.runtime.thresholds import exp_bounds

__all__ = [
    "exp",
    "ln",
    "ln_down",
    "ln_up",
    "log2",
    "log_sum_exp_of",
    "one_minus_exp",
    "sqrt",
    "sqrt_down",
    "sqrt_up",
]

_BITS = 96
_LARGEST_EXPONENT = 1 << 16
_CANCELS = Fraction(1, 2)
"""Below this size of x, exp(x) is worked out from 1 - exp(-x)."""


def sqrt(x: Real) -> Fraction:
    """The square root.

    Raises:
        NumericError: x is negative, or no rational number.
    """
    number = _rational(x)
    if (root := _rational_root(number)) is not None:
        return root
    # Rounded down, and to an odd number of units that divide 1: so no whole number is reached or left behind.
    size = _size(number) // 2
    found = _approximated(
        lambda bits: math.isqrt((number.numerator << (2 * bits)) // number.denominator),
        size,
        digits=max(_BITS, size + 8, 2 * _close(number) + 8),
    )
    return max(2 * number / (1 + number), min((1 + number) / 2, found))


def sqrt_down(x: Real) -> Fraction:
    """At most the square root, and off by less than one part in 2^90; no less than 2 x/(1 + x).

    Raises:
        NumericError: x is negative, or no rational number; also below.
    """
    number = _rational(x)
    low, _ = _root_bounds(number)
    return max(2 * number / (1 + number), low)


def sqrt_up(x: Real) -> Fraction:
    """At least the square root, and off by less than one part in 2^90."""
    return _root_bounds(_rational(x))[1]


def _root_bounds(number: Fraction) -> tuple[Fraction, Fraction]:
    if (root := _rational_root(number)) is not None:
        return root, root
    unit = 1 << max(_BITS - _size(number) // 2, 0)
    units = math.isqrt(number.numerator * unit**2 // number.denominator)
    return Fraction(units, unit), Fraction(units + 1, unit)


def _rational_root(number: Fraction) -> Fraction | None:
    if number < 0:
        raise NumericError("square root of a negative number")
    return rational_root(number)


def ln_down(x: Real) -> Fraction:
    """At most the natural logarithm, and off by less than one part in 2^90; no less than 1 - 1/x.

    Raises:
        NumericError: x is not positive, or no rational number; also below.
    """
    number = _positive(x)
    return max(1 - 1 / number, _ln_bounds(number)[0])


def ln_up(x: Real) -> Fraction:
    """At least the natural logarithm, and off by less than one part in 2^90."""
    return _ln_bounds(_positive(x))[1]


def _ln_bounds(number: Fraction) -> tuple[Fraction, Fraction]:
    if number == 1:
        return Fraction(0), Fraction(0)
    digits = _BITS + _close(number)
    low, high = ln_bounds(number, digits)
    return Fraction(low, 1 << digits), Fraction(high, 1 << digits)


def exp(x: Real) -> Fraction:
    """e to the power x.

    Raises:
        NumericError: x is larger than 65,536 in size, or no rational number.
    """
    number = _exponent(x)
    return 1 / _exp(-number) if number < 0 else _exp(number)


def one_minus_exp(x: Real) -> Fraction:
    """1 - e to the power x: `1 - exp(x)` to the last digit, since a proof takes the one for the other.

    Raises:
        NumericError: as for `exp`.
    """
    return 1 - exp(x)


def _exp(number: Fraction) -> Fraction:
    """Of a number that is not negative. Small ones are worked out from 1 - exp(-x), so that what the result
    is above 1 is as close as the result itself.
    """
    if number == 0:
        return Fraction(1)
    if number >= _CANCELS:
        small = _approximated(lambda bits: exp_bounds(number, bits)[1], -math.ceil(number * 3 / 2))
        return max(1 + number, _odd(1 / small))
    size = _size(number)
    less = _approximated(lambda bits: (1 << bits) - exp_bounds(number, bits)[0], size - 1, _BITS - size)
    return max(1 + number, 1 + _odd(less / (1 - less), digits=_BITS - size))


def ln(x: Real) -> Fraction:
    """The natural logarithm.

    Raises:
        NumericError: x is not positive, or no rational number.
    """
    number = _positive(x)
    if number == 1:
        return Fraction(0)
    digits = _BITS + _close(number)
    found = _approximated(lambda bits: ln_bounds(number, bits)[0], _size_of_ln(number), digits)
    return max(1 - 1 / number, min(number - 1, found))


def log2(x: Real) -> Fraction:
    """The logarithm to base 2: exact for powers of 2.

    Raises:
        NumericError: x is not positive, or no rational number.
    """
    number = _positive(x)
    up, down = number.numerator.bit_length() - 1, number.denominator.bit_length() - 1
    if number.numerator == 1 << up and number.denominator == 1 << down:
        return Fraction(up - down)
    low, high = sorted((ln(number), 2 * ln(number)))  # between which it is, and so between their bounds
    found = max(low, min(high, _odd(ln(number) / ln(Fraction(2)))))
    floor = up - down if number.numerator << down >= number.denominator << up else up - down - 1
    if math.floor(found) == floor:
        return found
    # Off by a little, found lies on the other side of the whole number next to it.
    return _odd(Fraction(floor), 1) if found < floor else _odd(Fraction(floor + 1), -1)


def _rational(x: Real) -> Fraction:
    if not isinstance(x, int | Fraction):
        raise NumericError(f"an exact function of a {type(x).__name__}")
    return Fraction(x)


def _positive(x: Real) -> Fraction:
    number = _rational(x)
    if number <= 0:
        raise NumericError("logarithm of a number that is not positive")
    return number


def _exponent(x: Real) -> Fraction:
    number = _rational(x)
    if abs(number) > _LARGEST_EXPONENT:
        raise NumericError("`exp` of a number that is too large")
    return number


def _size(number: Fraction) -> int:
    """A power of 2 that is close: 2^size is at most twice the number, and at least a quarter of it."""
    return number.numerator.bit_length() - number.denominator.bit_length()


def _close(number: Fraction) -> int:
    """How many binary digits a number agrees with 1 in, about; not negative."""
    return max(-_size(abs(number - 1)), 0) if number != 1 else 0


def _approximated(in_units: Callable[[int], int], size: int, digits: int = _BITS) -> Fraction:
    """A number from its value in units of 2^-bits, off by a few of them; 2^size is not far above it."""
    bits = max(digits + 8 - size, 8)
    return _odd(Fraction(in_units(bits), 1 << bits), digits=digits)


def _odd(number: Fraction, more: int = 0, digits: int = _BITS) -> Fraction:
    """The number to as many binary digits, the last of which is 1: so it stays long, whatever it is.

    It is rounded down; then `more` of the last digits are added.
    """
    shift = digits - _size(abs(number) or Fraction(1))
    scaled = math.floor(number * 2**shift) if shift >= 0 else math.floor(number / 2**-shift)
    return Fraction(scaled | 1 if more == 0 else scaled + more) / Fraction(2) ** shift


def _size_of_ln(number: Fraction) -> int:
    """The same for the logarithm: that of a number close to 1 is about what the number is off by."""
    return min(_size(abs(number - 1)), 0) - 2
