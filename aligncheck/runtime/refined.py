"""Real-valued noise of which only as many digits are drawn as decisions ask for.

An exponential variable is γ (N + U): N is geometric, and U, from 0 to 1, is independent of it (Lemma 5.5 of
Ding and others, *A Floating-Point Secure Implementation of the Report Noisy Max with Gap Mechanism*). With θ
the length γ of a step over the scale, the density of U is proportional to exp(-θ u), a product over the
binary digits of u: so these are independent, and the j-th is 1 with probability 1 / (1 + exp(θ / 2^j)). A
comparison draws digits until its outcome is certain, almost surely finitely many; what was drawn stays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Self, TypeAlias

from aligncheck.runtime.bits import Bits
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.thresholds import Event, Threshold, event_of

_MORE = (0, *(4 << doublings for doublings in range(40)))
"""So many more digits of each draw are looked at, until they suffice: nobody sees the last, of terabits."""


class DigitEvents:
    """That the first, second, … digit of a U is 1, for one rate θ per step."""

    __slots__ = ("_known", "rate")

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        self._known: list[Event] = []

    def between(self, start: int, end: int) -> list[Event]:
        """Those of the digits after the first `start`, up to the one numbered `end`."""
        while len(self._known) < end:
            halved = self.rate / (2 << len(self._known))
            self._known.append(event_of(Threshold(halved, odds=True)))
        return self._known[start:end]


class Rests:
    """The numbers U of draws with one rate, by their places: digits are drawn when they are asked for."""

    __slots__ = ("_bits", "_known", "events")

    def __init__(self, events: DigitEvents, bits: Bits) -> None:
        self.events = events
        self._bits = bits
        self._known: dict[int, tuple[int, int]] = {}

    def digits(self, place: int, count: int) -> int:
        """The first `count` binary digits of a draw after the point, read as a whole number."""
        value, known = self._known.get(place, (0, 0))
        if known >= count:
            return value >> (known - count)
        value = self._longer(value, known, count)
        self._known[place] = value, count
        return value

    def _longer(self, value: int, known: int, count: int) -> int:
        drawn = self._bits.draw(count - known)
        for event, byte in zip(self.events.between(known, count), drawn, strict=True):
            value = value << 1 | event.happens_by(byte, self._bits)
        return value


Draw: TypeAlias = tuple[Rests, int]
"""One U: where its digits are kept, and its place there."""


class BySign:
    """Compares with `_compared`, which says whether the sign of the difference with another number holds (or
    whether the number itself holds with the other one).
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: object) -> Any:
        return self._compared(other, operator.lt)

    def __le__(self, other: object) -> Any:
        return self._compared(other, operator.le)

    def __gt__(self, other: object) -> Any:
        return self._compared(other, operator.gt)

    def __ge__(self, other: object) -> Any:
        return self._compared(other, operator.ge)

    def __eq__(self, other: object) -> Any:
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, operator.ne)

    def __pos__(self) -> Self:
        return self

    def _compared(self, other: object, holds: Callable[[Any, Any], Any]) -> Any:
        raise NotImplementedError


class RefinedNumber(BySign):
    """A whole number and a linear combination of what draws leave below the lattice, in units; and a rational
    number besides.

    It is compared exactly. Numbers with digits that nobody has drawn have no `float` and no product:
    operations other than those of linear combinations raise `NumericError`.
    """

    __slots__ = ("bottom", "steps", "terms", "top", "unit")

    def __init__(
        self, steps: int, unit: Fraction, terms: Mapping[Draw, int], top: int = 0, bottom: int = 1
    ) -> None:
        """`unit` is positive; `terms` maps draws to coefficients other than 0, of which there is one. The
        rational number is top / bottom, which is faster than a `Fraction`; `bottom` is positive.
        """
        self.steps = steps
        self.unit = unit
        self.terms = terms
        self.top = top
        self.bottom = bottom

    def rounded_down(self, step: Fraction) -> Fraction:
        """The greatest multiple of a positive step that is not above the number."""
        # In steps, times `per`, a unit is `top` and the rational number is `shift`.
        (up, down), (numerator, denominator) = self.unit.as_integer_ratio(), step.as_integer_ratio()
        per = down * numerator * self.bottom
        top = up * denominator * self.bottom
        shift = self.top * down * denominator
        least, most = self._ends()
        steps = (least * top + shift) // per
        if most * top + shift <= (steps + 1) * per:
            return Fraction(steps * numerator, denominator)
        width = (most - least) * top
        # With fewer digits it is only known to be in an open interval which is longer than a step, and has a
        # multiple of the step inside.
        enough = ((width - 1) // per).bit_length()
        for more in _MORE[len(self.terms) > 1 or not enough :]:
            count = enough + more
            low = self._least(count) * top + (shift << count)
            steps = low // (per << count)
            if low + width <= (steps + 1) * per << count:
                return Fraction(steps * numerator, denominator)
        raise NumericError("the digits of noise do not end")

    def sign(self) -> int:
        """1 or -1: the number is 0 with probability 0."""
        up, down = self.unit.as_integer_ratio()
        top, shift = up * self.bottom, down * self.top
        least, most = self._ends()
        width = (most - least) * top
        for count in _MORE:
            low = self._least(count) * top + (shift << count)
            if low >= 0:
                return 1
            if low + width <= 0:
                return -1
        raise NumericError("the digits of noise do not end")

    def between(self, precision: int) -> tuple[Fraction, Fraction]:
        """Two numbers that it is between, at most 2^-precision apart."""
        least, most = self._ends()
        width = most - least
        count = precision + (-((-width * self.unit.numerator) // self.unit.denominator)).bit_length()
        besides, low = Fraction(self.top, self.bottom), self._least(count)
        return self.unit * low / (1 << count) + besides, self.unit * (low + width) / (1 << count) + besides

    def _least(self, count: int) -> int:
        """By `count` digits of each draw, and without the rational number, it is strictly between this and
        this and the distance of `_ends`, in units / 2^count.
        """
        low = self.steps << count
        for (rests, place), coefficient in self.terms.items():
            digits = rests.digits(place, count) if count else 0
            low += coefficient * (digits if coefficient > 0 else digits + 1)
        return low

    def _ends(self) -> tuple[int, int]:
        """The same by no digits: it is strictly between these, in units."""
        least = most = self.steps
        for coefficient in self.terms.values():
            if coefficient < 0:
                least += coefficient
            else:
                most += coefficient
        return least, most

    def in_units(self) -> RefinedNumber:
        """The same number, with no rational number besides."""
        if not self.top:
            return self
        besides = Fraction(self.top, self.bottom)
        unit = common_step(self.unit, besides)
        number = self._in_units(unit)
        return RefinedNumber(number.steps + int(besides / unit), unit, number.terms)

    # --- linear combinations ------------------------------------------------------------------------------

    def __add__(self, other: object) -> Any:
        if isinstance(other, (Fraction, int)):
            return self._moved(*other.as_integer_ratio())
        if isinstance(other, RefinedNumber):
            return self._plus(other, 1)
        return _refused_or_unknown(other)

    __radd__ = __add__

    def __neg__(self) -> RefinedNumber:
        terms = {draw: -c for draw, c in self.terms.items()}
        return RefinedNumber(-self.steps, self.unit, terms, -self.top, self.bottom)

    def __sub__(self, other: object) -> Any:
        if isinstance(other, RefinedNumber):
            return self._plus(other, -1)
        if isinstance(other, (Fraction, int)):
            return self._moved(-other.numerator, other.denominator)
        return _refused_or_unknown(other)

    def __rsub__(self, other: object) -> Any:
        return -self + other

    def _plus(self, other: RefinedNumber, sign: int) -> RefinedNumber | Fraction:
        """The sum with the other one, or (sign -1) the difference."""
        unit = self.unit
        if other.unit is not unit and other.unit != unit:
            unit = common_step(unit, other.unit)
            return self._in_units(unit)._plus(other._in_units(unit), sign)
        terms = dict(self.terms)
        for draw, coefficient in other.terms.items():
            total = terms.get(draw, 0) + sign * coefficient
            if total:
                terms[draw] = total
            else:
                del terms[draw]
        besides = _sum(self.top, self.bottom, sign * other.top, other.bottom)
        return refined(self.steps + sign * other.steps, unit, terms, *besides)

    def _moved(self, top: int, bottom: int) -> RefinedNumber:
        """The sum with a rational number."""
        return RefinedNumber(self.steps, self.unit, self.terms, *_sum(self.top, self.bottom, top, bottom))

    def __mul__(self, other: object) -> Any:
        match other:
            case int() | Fraction():
                if not other:
                    return Fraction(0)
                factor = Fraction(other)
                besides = _reduced(self.top * abs(factor.numerator), self.bottom * factor.denominator)
                scaled = RefinedNumber(self.steps, self.unit * abs(factor), self.terms, *besides)
                return scaled if factor > 0 else -scaled
            case RefinedNumber():
                raise NumericError("a product of two noisy numbers has no exact form")
            case _:
                return _refused_or_unknown(other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        match other:
            case int() | Fraction():
                return self * (1 / Fraction(other))
            case RefinedNumber():
                raise NumericError("a quotient of two noisy numbers has no exact form")
            case _:
                return _refused_or_unknown(other)

    def _in_units(self, unit: Fraction) -> RefinedNumber:
        """The same number; its unit is a multiple of the one given."""
        if unit == self.unit:
            return self
        factor = int(self.unit / unit)
        terms = {draw: c * factor for draw, c in self.terms.items()}
        return RefinedNumber(self.steps * factor, unit, terms, self.top, self.bottom)

    # --- decisions ----------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return True  # it is 0 with probability 0

    def __abs__(self) -> RefinedNumber:
        return -self if self.sign() < 0 else self

    def __floor__(self) -> int:
        return self.rounded_down(Fraction(1)).numerator

    def _compared(self, other: object, holds: Callable[[Any, int], Any]) -> Any:
        match other:
            case RefinedNumber() | int() | Fraction():
                return holds(sign_of(self - other), 0)
            case _:
                return _refused_or_unknown(other)

    # --- what has no exact form ---------------------------------------------------------------------------

    def __float__(self) -> float:
        raise NumericError("a noisy number has no float: not all of its digits are drawn")

    def __rtruediv__(self, other: object) -> Any:
        raise NumericError("nothing can be divided by a noisy number exactly")

    def __mod__(self, other: object) -> Any:
        raise NumericError("a noisy number has no exact remainder")

    __rmod__ = __mod__

    def __pow__(self, other: object) -> Any:
        raise NumericError("a power of a noisy number has no exact form")

    __rpow__ = __pow__

    def __repr__(self) -> str:
        return f"<a noisy number of {len(self.terms)} draws>"


def refined(
    steps: int, unit: Fraction, terms: Mapping[Draw, int], top: int = 0, bottom: int = 1
) -> RefinedNumber | Fraction:
    """The number with these coefficients, none of them 0: a `Fraction` where there are none."""
    if terms:
        return RefinedNumber(steps, unit, terms, top, bottom)
    return steps * unit + Fraction(top, bottom)


def sign_of(number: RefinedNumber | Fraction | int) -> int:
    """-1, 0 or 1."""
    if isinstance(number, RefinedNumber):
        return number.sign()
    return (number > 0) - (number < 0)


def common_step(a: Fraction, b: Fraction) -> Fraction:
    """The greatest number of which both are multiples."""
    top = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(top, a.denominator * b.denominator)


def _sum(top: int, bottom: int, more: int, per: int) -> tuple[int, int]:
    """Numerator and denominator of top / bottom + more / per."""
    if not top:
        return more, per
    return (top + more, bottom) if bottom == per else _reduced(top * per + more * bottom, bottom * per)


def _reduced(top: int, bottom: int) -> tuple[int, int]:
    common = math.gcd(top, bottom)
    return top // common, bottom // common


def _refused_or_unknown(other: object) -> Any:
    if isinstance(other, float):
        raise NumericError("noisy numbers are exact: no arithmetic with a float")
    return NotImplemented
