"""Numbers that are known between bounds as close as one asks: logarithms of sums of exponentials, logistic
noise and Gumbel noise. Each is a `RefinedNumber`: a whole number and a rest, whose digits are worked out on
demand.

Logistic noise is made by inversion of a uniform number v whose digits are drawn on demand. With no cut it is
t + s ln(v/(1 - v)). Given that it is above a cut c it is c + s y with

    y = ln(1 + (1/v - 1) (1 + exp(T))),    T = (t - c)/s:

the chance to be above c + s z is 1/(1 + exp(z - T)), and its quotient by that for z = 0 is v where z is y.
So y falls with v and rises with T, which gives its bounds. Gumbel noise of scale 1 is -ln(-ln v), since the
chance that this is at most x is that of v <= exp(-exp(-x)); it rises with v.

Digits end: y is irrational with probability 1; and so is, for rational numbers a, the logarithm of a sum of
exp(a) with more than one term (Lindemann and Weierstrass: a sum of exp(a) equals exp(r) for a rational r only
where all a are r, and there is one of them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeAlias

from aligncheck.runtime.bits import Bits
from aligncheck.runtime.errors import SelectionError
from aligncheck.runtime.reals import Real
from aligncheck.runtime.reals import log_sum_exp_of as of_floats
from aligncheck.runtime.refined import RefinedNumber, Rests
from aligncheck.runtime.thresholds import agreed, exp_bounds

Bounds: TypeAlias = Callable[[int], tuple[int, int]]
"""Whole numbers at most and at least a number times 2^precision, ever closer for larger precisions."""

_SPARE = 16


class BoundedRest(Rests):
    """The rest above the whole part of a number that is known between bounds."""

    __slots__ = ("_bounds", "_whole")

    def __init__(self, bounds: Bounds, whole: int) -> None:
        self._known = {}
        self._bounds = bounds
        self._whole = whole

    def _longer(self, value: int, known: int, count: int) -> int:
        return agreed(self._bounds, count) - (self._whole << count)


def bounded(bounds: Bounds) -> RefinedNumber:
    """An irrational number between bounds."""
    whole = agreed(bounds, 0)
    return RefinedNumber(whole, Fraction(1), {(BoundedRest(bounds, whole), 0): 1})


def log_sum_exp_of(values: Iterable[Real]) -> Real | RefinedNumber:
    """The logarithm of the sum of the exponentials of rational numbers; a float where a source of noise for
    tests made one of them a float.

    Raises:
        SelectionError: there is no value.
        NumericError: one is a noisy number.
    """
    found = list(values)
    if not found:
        raise SelectionError("no index is eligible")
    if not all(isinstance(value, int | Fraction) for value in found):
        return of_floats(found)
    greatest = max(found)
    below = sorted(Fraction(greatest - value) for value in found)[1:]
    if not below:
        return Fraction(greatest)

    def bounds(precision: int) -> tuple[int, int]:
        working = precision + _SPARE + len(below).bit_length()
        each = [exp_bounds(distance, working) for distance in below]
        low, high = ((1 << working) + sum(part) for part in zip(*each, strict=True))
        one = 1 << working
        return ln_bounds(Fraction(low, one), precision)[0], ln_bounds(Fraction(high, one), precision)[1]

    total: RefinedNumber = bounded(bounds) + Fraction(greatest)
    return total


def draw(
    location: Fraction | RefinedNumber, scale: Fraction, low: Fraction | RefinedNumber | None, bits: Bits
) -> RefinedNumber:
    """One draw of logistic noise, given that it is above `low`, if there is one."""
    uniform = _Uniform(bits)
    if low is None:

        def plain(precision: int) -> tuple[int, int]:
            least, most = uniform.between(precision + _SPARE)
            return ln_bounds(least / (1 - least), precision)[0], ln_bounds(most / (1 - most), precision)[1]

        drawn: RefinedNumber = bounded(plain) * scale + location
        return drawn
    at: Fraction | RefinedNumber = (location - low) / scale

    def cut(precision: int) -> tuple[int, int]:
        least, most = uniform.between(precision + _SPARE)
        one, other = at.between(precision + _SPARE) if isinstance(at, RefinedNumber) else (at, at)
        return _above(most, one, precision)[0], _above(least, other, precision)[1]

    above: RefinedNumber = bounded(cut) * scale + low
    return above


def gumbel(bits: Bits) -> RefinedNumber:
    """One draw of Gumbel noise of scale 1."""
    uniform = _Uniform(bits)

    def bounds(precision: int) -> tuple[int, int]:
        ends = []
        for v in uniform.between(precision + _SPARE):
            working = precision + v.denominator.bit_length()  # in which -ln v is not 0
            for end in ln_bounds(v, working):
                ends += [-most for most in ln_bounds(Fraction(-end, 1 << working), precision)]
        return min(ends), max(ends)

    return bounded(bounds)


class _Uniform:
    """A uniform number from 0 to 1, of which more and more digits are drawn."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self._value = self._known = 0

    def between(self, count: int) -> tuple[Fraction, Fraction]:
        """Bounds inside of (0, 1) that are 2^-count apart or less."""
        while self._known < count or self._value in (0, (1 << self._known) - 1):
            self._value = self._value << 64 | int.from_bytes(self._bits.draw(8), "little")
            self._known += 64
        one = 1 << self._known
        return Fraction(self._value, one), Fraction(self._value + 1, one)


def _above(v: Fraction, at: Fraction, precision: int) -> tuple[int, int]:
    """Bounds of y = ln(1 + (1/v - 1)(1 + exp(at))), which is at + ln(exp(-at) + (1/v - 1)(1 + exp(-at)))."""
    working = precision + _SPARE
    odds = 1 / v - 1
    rising = at > 0
    found = []
    for part in exp_bounds(abs(at), working):
        power = Fraction(part, 1 << working)
        inside = (power if rising else 1) + odds * (1 + power)
        found.append(ln_bounds(inside, precision) if inside > 0 else (0, 0))
    shift = at * (1 << precision) if rising else Fraction(0)
    low, high = found[0][0] + shift, found[1][1] + shift
    return max(low.numerator // low.denominator, 0), -(-high.numerator // high.denominator)


def ln_bounds(x: Fraction, precision: int) -> tuple[int, int]:
    """Integers at most and at least ln(x) 2^precision, for x > 0: k ln 2 + 2 artanh((m - 1)/(m + 1)) for
    x = 2^k m with m near 1.
    """
    shift = x.numerator.bit_length() - x.denominator.bit_length()
    mantissa = x / Fraction(2) ** shift  # above 1/2 and below 2
    working = precision + _SPARE + abs(shift).bit_length()
    z = (mantissa - 1) / (mantissa + 1)
    low, high = _artanh_bounds(abs(z), working)
    if z < 0:
        low, high = -high, -low
    two = _artanh_bounds(Fraction(1, 3), working)
    least, most = (shift * end for end in (two if shift >= 0 else reversed(two)))
    extra = working - precision
    return 2 * (low + least) >> extra, -(-2 * (high + most) >> extra)


def _artanh_bounds(z: Fraction, precision: int) -> tuple[int, int]:
    """Integers at most and at least artanh(z) 2^precision = (z + z^3/3 + z^5/5 + …) 2^precision, for
    0 <= z <= 1/3. After a term of at most 1 unit the rest, which falls by 9 each time, is at most 1 more.
    """
    low = (z.numerator << precision) // z.denominator
    high = -((-z.numerator << precision) // z.denominator)
    square_low, square_high = (low * low) >> precision, -((-high * high) >> precision)
    total_low = total_high = 0
    odd = 1
    while True:
        total_low += low // odd
        total_high -= -high // odd
        if high <= 1:
            return total_low, total_high + 1
        low, high = (low * square_low) >> precision, -((-high * square_high) >> precision)
        odd += 2
