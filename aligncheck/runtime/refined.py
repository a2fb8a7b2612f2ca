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
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from aligncheck.runtime.bits import Bits
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.thresholds import Event, Threshold, event_of

_FIRST_DIGITS = 4


class Rests:
    """The numbers U of draws with one rate θ per step, by their places: digits are drawn when asked for."""

    __slots__ = ("_bits", "_known", "_rate")

    def __init__(self, rate: Fraction, bits: Bits) -> None:
        self._rate = rate
        self._bits = bits
        self._known: dict[int, tuple[int, int]] = {}

    def digits(self, place: int, count: int) -> int:
        """The first `count` binary digits of a draw after the point, read as a whole number."""
        value, known = self._known.get(place, (0, 0))
        if known >= count:
            return value >> (known - count)
        for digit in range(known + 1, count + 1):
            value = value << 1 | self._event(digit).happens(self._bits)
        self._known[place] = value, count
        return value

    def _event(self, digit: int) -> Event:
        return event_of(Threshold(self._rate / (1 << digit), odds=True))


Draw: TypeAlias = tuple[Rests, int]
"""One U: where its digits are kept, and its place there."""


class RefinedNumber:
    """A rational number and a linear combination of what draws leave below the lattice.

    It is compared exactly. Numbers with digits that nobody has drawn have no `float` and no product:
    operations other than those of linear combinations raise `NumericError`.
    """

    __slots__ = ("_constant", "_terms", "_whole")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, constant: Fraction, terms: Mapping[Draw, Fraction]) -> None:
        """`terms` maps draws to coefficients other than 0; there is at least one (see `refined`)."""
        self._constant = constant
        self._terms = terms
        self._whole: tuple[int, int, tuple[tuple[Rests, int, int], ...]] | None = None

    @property
    def constant(self) -> Fraction:
        """The rational part."""
        return self._constant

    @property
    def terms(self) -> Mapping[Draw, Fraction]:
        """The draws that it depends on, with their coefficients."""
        return self._terms

    def bounds(self, count: int) -> tuple[int, int, int]:
        """Low, high, per: the number times `per` lies strictly between, by `count` digits of each draw."""
        low, per, terms = self._in_integers()
        low <<= count
        width = 0
        for rests, place, coefficient in terms:
            digits = rests.digits(place, count) if count else 0
            if coefficient > 0:
                low += coefficient * digits
                width += coefficient
            else:
                low += coefficient * (digits + 1)
                width -= coefficient
        return low, low + width, per << count

    def rounded_down(self, step: Fraction) -> Fraction:
        """The greatest multiple of a positive step that is not above the number."""
        for count in _counts():
            low, high, per = self.bounds(count)
            divisor = per * step.numerator
            least, most = low * step.denominator // divisor, (high * step.denominator - 1) // divisor
            if least == most:
                return least * step
        raise AssertionError("counts never end")

    def _in_integers(self) -> tuple[int, int, tuple[tuple[Rests, int, int], ...]]:
        """The same with a common denominator: numerator, denominator, and numerators of coefficients."""
        if self._whole is None:
            coefficients = self._terms.values()
            per = math.lcm(self._constant.denominator, *(c.denominator for c in coefficients))
            terms = tuple(
                (rests, place, c.numerator * (per // c.denominator))
                for (rests, place), c in self._terms.items()
            )
            self._whole = self._constant.numerator * (per // self._constant.denominator), per, terms
        return self._whole

    def _sign(self) -> int:
        for count in _counts():
            low, high, _ = self.bounds(count)
            if low >= 0:
                return 1
            if high <= 0:
                return -1
        raise AssertionError("counts never end")

    # --- linear combinations ------------------------------------------------------------------------------

    def __add__(self, other: object) -> Any:
        match other:
            case RefinedNumber():
                merged = dict(self._terms)
                for draw, coefficient in other._terms.items():
                    total = merged.get(draw, 0) + coefficient
                    if total:
                        merged[draw] = total
                    else:
                        del merged[draw]
                return refined(self._constant + other._constant, merged)
            case int() | Fraction():
                return RefinedNumber(self._constant + other, self._terms)
        return _refused_or_unknown(other)

    __radd__ = __add__

    def __neg__(self) -> RefinedNumber:
        return RefinedNumber(-self._constant, {draw: -c for draw, c in self._terms.items()})

    def __pos__(self) -> RefinedNumber:
        return self

    def __sub__(self, other: object) -> Any:
        match other:
            case RefinedNumber():
                return self + -other
            case int() | Fraction():
                return RefinedNumber(self._constant - other, self._terms)
        return _refused_or_unknown(other)

    def __rsub__(self, other: object) -> Any:
        match other:
            case int() | Fraction():
                return -self + other
        return _refused_or_unknown(other)

    def __mul__(self, other: object) -> Any:
        match other:
            case int() | Fraction():
                scaled = {draw: c * other for draw, c in self._terms.items()} if other else {}
                return refined(self._constant * other, scaled)
            case RefinedNumber():
                raise NumericError("a product of two noisy numbers has no exact form")
        return _refused_or_unknown(other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        match other:
            case int() | Fraction():
                return self * (1 / Fraction(other))
            case RefinedNumber():
                raise NumericError("a quotient of two noisy numbers has no exact form")
        return _refused_or_unknown(other)

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
        return -self if self._sign() < 0 else self

    def __floor__(self) -> int:
        return self.rounded_down(Fraction(1)).numerator

    def _compared(self, other: object, holds: Callable[[Any, int], bool]) -> Any:
        difference = self - other
        if difference is NotImplemented:
            return NotImplemented
        return holds(sign_of(difference), 0)

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
        return f"<a noisy number of {len(self._terms)} draws>"


def refined(constant: Fraction, terms: Mapping[Draw, Fraction]) -> RefinedNumber | Fraction:
    """The number with these coefficients, none of them 0: a `Fraction` where there are none."""
    return RefinedNumber(constant, terms) if terms else constant


def sign_of(number: RefinedNumber | Fraction | int) -> int:
    """-1, 0 or 1."""
    if isinstance(number, RefinedNumber):
        return number._sign()
    return (number > 0) - (number < 0)


def _counts() -> Iterator[int]:
    """How many digits of each draw are looked at, until they suffice."""
    yield 0
    count = _FIRST_DIGITS
    while True:
        yield count
        count *= 2


def _refused_or_unknown(other: object) -> Any:
    if isinstance(other, float):
        raise NumericError("noisy numbers are exact: no arithmetic with a float")
    return NotImplemented
