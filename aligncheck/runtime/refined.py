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
from typing import Any, TypeAlias

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


class RefinedNumber:
    """A whole number, and a linear combination of what draws leave below the lattice, in units.

    It is compared exactly. Numbers with digits that nobody has drawn have no `float` and no product:
    operations other than those of linear combinations raise `NumericError`.
    """

    __slots__ = ("steps", "terms", "unit")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, steps: int, unit: Fraction, terms: Mapping[Draw, int]) -> None:
        """`unit` is positive; `terms` maps draws to coefficients other than 0, of which there is one."""
        self.steps = steps
        self.unit = unit
        self.terms = terms

    def bounds(self, count: int) -> tuple[int, int]:
        """The number is strictly between these, in units / 2^count, by `count` digits of each draw."""
        low = self.steps << count
        width = 0
        for (rests, place), coefficient in self.terms.items():
            digits = rests.digits(place, count) if count else 0
            if coefficient > 0:
                low += coefficient * digits
                width += coefficient
            else:
                low += coefficient * (digits + 1)
                width -= coefficient
        return low, low + width

    def rounded_down(self, step: Fraction) -> Fraction:
        """The greatest multiple of a positive step that is not above the number."""
        top, bottom = self.unit.numerator * step.denominator, self.unit.denominator * step.numerator
        # With fewer digits it is only known to be in an open interval which is longer than a step, and has a
        # multiple of the step inside.
        enough = ((top * sum(map(abs, self.terms.values())) - 1) // bottom).bit_length()
        for more in _MORE[len(self.terms) > 1 :]:
            count = enough + more
            low, high = self.bounds(count)
            least, most = low * top // (bottom << count), (high * top - 1) // (bottom << count)
            if least == most:
                return Fraction(least * step.numerator, step.denominator)
        raise NumericError("the digits of noise do not end")

    def sign(self) -> int:
        """1 or -1: the number is 0 with probability 0."""
        for count in _MORE:
            low, high = self.bounds(count)
            if low >= 0:
                return 1
            if high <= 0:
                return -1
        raise NumericError("the digits of noise do not end")

    # --- linear combinations ------------------------------------------------------------------------------

    def __add__(self, other: object) -> Any:
        if isinstance(other, RefinedNumber):
            return self._plus(other, 1)
        if isinstance(other, int | Fraction):
            return self._moved(other.numerator, other.denominator)
        return _refused_or_unknown(other)

    __radd__ = __add__

    def __neg__(self) -> RefinedNumber:
        return RefinedNumber(-self.steps, self.unit, {draw: -c for draw, c in self.terms.items()})

    def __pos__(self) -> RefinedNumber:
        return self

    def __sub__(self, other: object) -> Any:
        if isinstance(other, RefinedNumber):
            return self._plus(other, -1)
        if isinstance(other, int | Fraction):
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
        return refined(self.steps + sign * other.steps, unit, terms)

    def _moved(self, top: int, bottom: int) -> RefinedNumber:
        """The sum with a rational number."""
        up, down = top * self.unit.denominator, bottom * self.unit.numerator
        steps, rest = divmod(up, down)
        if not rest:
            return RefinedNumber(self.steps + steps, self.unit, self.terms)
        common = math.gcd(up, down)
        factor = down // common
        terms = {draw: c * factor for draw, c in self.terms.items()}
        unit = Fraction(common, bottom * self.unit.denominator)
        return RefinedNumber(self.steps * factor + up // common, unit, terms)

    def __mul__(self, other: object) -> Any:
        match other:
            case int() | Fraction():
                if not other:
                    return Fraction(0)
                factor = Fraction(other)
                scaled = RefinedNumber(self.steps, self.unit * abs(factor), self.terms)
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
        return RefinedNumber(self.steps * factor, unit, {draw: c * factor for draw, c in self.terms.items()})

    # --- decisions ----------------------------------------------------------------------------------------

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

    def __bool__(self) -> bool:
        return True  # it is 0 with probability 0

    def __abs__(self) -> RefinedNumber:
        return -self if self.sign() < 0 else self

    def __floor__(self) -> int:
        return self.rounded_down(Fraction(1)).numerator

    def _compared(self, other: object, holds: Callable[[Any, int], bool]) -> Any:
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


def refined(steps: int, unit: Fraction, terms: Mapping[Draw, int]) -> RefinedNumber | Fraction:
    """The number with these coefficients, none of them 0: a `Fraction` where there are none."""
    return RefinedNumber(steps, unit, terms) if terms else steps * unit


def sign_of(number: RefinedNumber | Fraction | int) -> int:
    """-1, 0 or 1."""
    if isinstance(number, RefinedNumber):
        return number.sign()
    return (number > 0) - (number < 0)


def common_step(a: Fraction, b: Fraction) -> Fraction:
    """The greatest number of which both are multiples."""
    top = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(top, a.denominator * b.denominator)


def _refused_or_unknown(other: object) -> Any:
    if isinstance(other, float):
        raise NumericError("noisy numbers are exact: no arithmetic with a float")
    return NotImplemented
