"""Exact numbers, one per index, with which programs compute at once: whole numbers of a common step.

In refined mode each may depend, besides, on what draws leave below the lattice (see `refined`). Decisions are
made for all indices by whole numbers; only where these leave one open are digits drawn.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime.digits import FITS, LIMB, Integers, ManyRests, fitting
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.refined import BySign, Draw, RefinedNumber, Rests, common_step, refined, sign_of

_LONGEST_DENOMINATOR = 512
_FIRST_DIGITS = (4, 8, 16, 32)
"""How many digits are looked at for many entries at once."""

_FEW = 4
_GROUPS = 512

Key: TypeAlias = tuple[Rests, int | None]
"""Which draws a term is of: one for all indices, by its place; or (None) the i-th for the i-th index, of
`ManyRests`."""

Coefficients: TypeAlias = Any
"""Whole numbers: an array, or one for all indices."""


class ExactVector(BySign, Sequence[Any]):
    """Numbers steps[i] * unit, and for each term coefficient[i] * unit * (what its draw leaves).

    Entries are `Fraction`s, or `RefinedNumber`s where there are terms. Vectors are not changed once made.
    """

    __slots__ = ("_last", "steps", "terms", "unit")
    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(
        self, steps: Integers, unit: Fraction, terms: Mapping[Key, Coefficients] | None = None
    ) -> None:
        """`unit` is positive; `steps` are what `digits.fitting` gives."""
        self.steps = steps
        self.unit = unit
        self.terms = terms or {}
        self._last: tuple[object, Any] = (None, None)

    # --- as a sequence ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: Any) -> Any:
        last, entry = self._last  # gaps to the next one read each entry twice in a row
        if last == index and type(last) is type(index):
            return entry
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        entry = self._entry(index)
        self._last = index, entry
        return entry

    def _entry(self, index: Any) -> Any:
        place = operator.index(index)
        step = self.steps.item(place)
        if not self.terms:
            return Fraction(step * self.unit.numerator, self.unit.denominator)
        draws = self._draws_at(place if place >= 0 else place + len(self))
        if isinstance(step, int):
            return refined(step, self.unit, draws)
        return refined(0, self.unit, draws) + step * self.unit

    def __iter__(self) -> Iterator[Any]:
        if self.terms:
            return (self[i] for i in range(len(self)))
        top, bottom = self.unit.numerator, self.unit.denominator
        if bottom == 1:  # of whole numbers in half the time
            return (Fraction(step * top) for step in self.steps.tolist())
        return (Fraction(step * top, bottom) for step in self.steps.tolist())

    def prefix(self, length: int) -> ExactVector:
        """The first `length` entries."""
        terms = {key: c if isinstance(c, int) else c[:length] for key, c in self.terms.items()}
        return ExactVector(self.steps[:length], self.unit, terms)

    def _draws_at(self, index: int) -> dict[Draw, int]:
        found: dict[Draw, int] = {}
        for (rests, place), coefficients in self.terms.items():
            c = coefficients if isinstance(coefficients, int) else coefficients.item(index)
            draw = rests, index if place is None else place
            total = found.get(draw, 0) + c
            if total:
                found[draw] = total
            else:
                found.pop(draw, None)
        return found

    # --- linear combinations ------------------------------------------------------------------------------

    def __neg__(self) -> ExactVector:
        return ExactVector(-self.steps, self.unit, {key: -c for key, c in self.terms.items()})

    def __add__(self, other: object) -> Any:
        operand = _operand(other, len(self))
        return NotImplemented if operand is None else self._plus(operand)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        operand = _operand(other, len(self))
        return NotImplemented if operand is None else self._plus(-operand)

    def _plus(self, operand: ExactVector) -> ExactVector:
        unit, mine, given = _in_common(self, operand)
        terms = dict(mine.terms)
        for key, coefficients in given.terms.items():
            terms[key] = _added(terms[key], coefficients) if key in terms else coefficients
        terms = {key: c for key, c in terms.items() if np.any(c)}
        return ExactVector(_added(mine.steps, given.steps), unit, terms)

    def __rsub__(self, other: object) -> Any:
        return -self + other

    def __mul__(self, other: object) -> Any:
        if isinstance(other, int | Fraction):
            return self._times(Fraction(other))
        operand = _operand(other, len(self))
        if operand is None:
            return NotImplemented
        if operand.terms and self.terms:
            raise NumericError("a product of two noisy numbers has no exact form")
        noisy, factors = (operand, self.steps) if operand.terms else (self, operand.steps)
        terms = {key: multiplied(c, factors) for key, c in noisy.terms.items()}
        steps = multiplied(noisy.steps, factors)
        return ExactVector(steps, self.unit * operand.unit, {key: c for key, c in terms.items() if np.any(c)})

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, int | Fraction):
            return self._times(1 / Fraction(other))
        operand = _operand(other, len(self))
        if operand is None:
            return NotImplemented
        return self * operand.reciprocals()

    def __rtruediv__(self, other: object) -> Any:
        return self.reciprocals() * other

    def reciprocals(self) -> ExactVector:
        """One over each entry. Raises `NumericError` where entries are noisy."""
        if self.terms:
            raise NumericError("nothing can be divided by a noisy number exactly")
        return vector_of([1 / value for value in self])

    def _times(self, factor: Fraction) -> ExactVector:
        if factor == 0:
            return ExactVector(np.zeros(len(self), dtype=np.int64), Fraction(1))
        scaled = ExactVector(self.steps, self.unit * abs(factor), self.terms)
        return scaled if factor > 0 else -scaled

    def __abs__(self) -> ExactVector:
        return chosen_from(self >= 0, self, -self)

    # --- decisions ----------------------------------------------------------------------------------------

    def _compared(self, other: object, holds: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, int | Fraction):
            return holds(self._signs_beside(Fraction(other)), 0)
        difference = self - other
        if difference is NotImplemented:
            return NotImplemented
        return holds(difference._signs_beside(Fraction(0)), 0)

    def _signs_beside(self, number: Fraction) -> NDArray[np.int8]:
        """The sign of each entry less the number."""
        steps = number / self.unit
        signs, apart = _signs(*self.bounds(), steps)
        undecided = np.flatnonzero((signs == 0) & apart)
        for digits in _FIRST_DIGITS:
            if not len(undecided):
                break
            found, _ = _signs(*self.bounds_at(undecided, digits), steps * (1 << digits))
            signs[undecided] = found
            undecided = undecided[found == 0]
        for index in undecided.tolist():  # it may be the number itself, where draws cancel
            signs[index] = sign_of(self[index] - number)
        return signs

    def bounds_at(self, places: NDArray[np.intp], digits: int) -> tuple[Integers, Integers]:
        """What `bounds` are at these places, in units / 2^digits, by so many digits of each draw."""
        steps, terms = multiplied(self.steps[places], 1 << digits), {}
        for key, coefficients in self.terms.items():
            terms[key] = c = coefficients if isinstance(coefficients, int) else coefficients[places]
            if digits:
                steps = _added(steps, multiplied(_digits_of(key, places, digits), c))
        return ExactVector(steps, self.unit, terms).bounds()

    def bounds(self) -> tuple[Integers, Integers]:
        """Whole numbers of units at most and at least what each entry is, whatever its draws leave."""
        low, high, slack = self._bounds_apart()
        return low, _added(high, slack)

    def _bounds_apart(self) -> tuple[Integers, Integers, int]:
        """The same, but for a number that the second ones lack; mostly without making an array."""
        low = high = self.steps
        down = slack = 0
        for coefficients in self.terms.values():
            if isinstance(coefficients, int):
                down += min(coefficients, 0)
                slack += abs(coefficients)
            else:
                low = _added(low, np.minimum(coefficients, 0))
                high = _added(high, np.maximum(coefficients, 0))
        return (low, high, slack) if down == 0 else (_added(low, down), _added(high, down), slack)

    def ranked(self, where: NDArray[np.bool_] | None, count: int) -> list[int]:
        """The indices of the `count` greatest entries among those `where` the mask holds, the greatest first,
        of equal ones the lower index first. There are that many.
        """
        if count <= 0:
            return []
        own = self._without_common_draws()
        low, high, slack = own._bounds_apart()
        reached = _reached(low if where is None else low[where], count)
        possible = high >= _plain(reached - slack)
        pool = np.flatnonzero(possible if where is None else possible & where)
        return own._ordered(pool, count) if len(pool) > 1 else [pool.item(0)]

    def _ordered(self, places: NDArray[np.intp], count: int) -> list[int]:
        """The first `count` of the places by falling entries, of equal ones the lower place first.

        Places are given rising.
        Digits are drawn until no two bounds overlap. Those that stay open long, as where the same draws make
        two entries equal, are compared by themselves.
        """
        undecided = np.arange(len(places))
        for digits in _FIRST_DIGITS if self.terms else (0,):
            if not len(undecided):
                break
            # Lists of places that are not in order yet follow each other: what is in one is above what is in
            # the next. So all are sorted at once, by lower bounds, with lists broken where upper ones allow.
            low, high = self.bounds_at(places[undecided], digits)
            order = np.argsort(-low, kind="stable")
            places[undecided] = places[undecided][order]
            low, high = low[order], high[order]
            highest = np.maximum.accumulate(high[::-1])[::-1]
            starts = np.flatnonzero(np.append(True, highest[1:] <= low[:-1]))
            sizes = np.diff(np.append(starts, len(undecided)))
            among = np.repeat((sizes > 1) & (undecided[starts] < count), sizes)
            # As many lower bounds as there are places to fill are not below this one.
            undecided = undecided[among & (high >= low[np.count_nonzero(undecided < count) - 1])]
        rest = sorted(places[undecided].tolist())
        entries = {place: self[place] for place in rest}
        places[undecided] = sorted(rest, key=entries.__getitem__, reverse=True)
        self._draw_ahead(places[:count])
        listed: list[int] = places[:count].tolist()
        return listed

    def _draw_ahead(self, places: NDArray[np.intp]) -> None:
        """Digits down to a unit, and a few more: entries that were chosen are mostly compared or rounded."""
        for (rests, _), coefficients in self.terms.items():
            digits = _size(coefficients).bit_length() + _FEW
            if isinstance(rests, ManyRests) and digits <= LIMB:
                rests.many(places, digits)

    def _without_common_draws(self) -> ExactVector:
        """The same order, without what is added to all entries alike."""
        terms = {key: c for key, c in self.terms.items() if key[1] is None or not isinstance(c, int)}
        return ExactVector(self.steps, self.unit, terms)


def vector_of(values: Sequence[Fraction | int]) -> ExactVector:
    """A vector of rational numbers.

    Where their common denominator is very long, they are kept as they are.
    """
    per = 1
    for value in values:
        per = math.lcm(per, value.denominator)
        if per.bit_length() > _LONGEST_DENOMINATOR:
            return ExactVector(np.array([Fraction(v) for v in values], dtype=object), Fraction(1))
    return ExactVector(
        whole_numbers([v.numerator * (per // v.denominator) for v in values]), Fraction(1, per)
    )


def whole_numbers(values: list[int]) -> Integers:
    """An array of them, as Python's numbers where some do not fit."""
    try:
        return fitting(np.array(values, dtype=np.int64))
    except OverflowError:
        return np.array(values, dtype=object)


def chosen_from(mask: NDArray[np.bool_], where: ExactVector, elsewhere: ExactVector) -> ExactVector:
    """At each index the entry of the first vector where the mask holds, else of the second."""
    unit, first, second = _in_common(where, elsewhere)
    terms: dict[Key, Coefficients] = {}
    for key in {**first.terms, **second.terms}:
        chosen: Any = np.where(mask, _plain(first.terms.get(key, 0)), _plain(second.terms.get(key, 0)))
        if chosen.any():
            terms[key] = chosen
    return ExactVector(np.where(mask, first.steps, second.steps), unit, terms)


def exact_operand(other: object, length: int) -> ExactVector:
    """A vector of this length: of vectors, arrays and numbers.

    Raises:
        ValueError: another length.
        NumericError: a float.
        TypeError: no numbers.
    """
    operand = _operand(other, length)
    if operand is None:
        raise TypeError(f"exact numbers: no arithmetic with a {type(other).__name__}")
    if len(operand) == length:
        return operand
    steps = np.full(length, operand.steps.item(0), dtype=operand.steps.dtype)
    return ExactVector(steps, operand.unit, operand.terms)


def _operand(other: object, length: int) -> ExactVector | None:
    """The same; a number may come as a vector of one entry."""
    match other:
        case ExactVector():
            found = other
        case bool() | np.bool_():
            return None
        case int() | Fraction():
            value = Fraction(other)
            unit = Fraction(abs(value.numerator) or 1, value.denominator)
            return ExactVector(whole_numbers([math.floor(value / unit)]), unit)
        case np.integer():
            return _operand(int(other), length)
        case RefinedNumber():
            number = other.in_units()
            terms: dict[Key, Coefficients] = dict(number.terms.items())
            return ExactVector(whole_numbers([number.steps]), number.unit, terms)
        case float() | np.floating():
            raise NumericError("exact numbers: no arithmetic with a float")
        case np.ndarray() if other.dtype.kind in "iO":
            found = vector_of(
                [value if isinstance(value, int) else Fraction(value) for value in other.tolist()]
            )
        case np.ndarray() if other.dtype.kind == "f":
            raise NumericError("exact numbers: no arithmetic with floats")
        case _:
            return None
    if len(found) != length:
        raise ValueError(f"vectors of {length} and {len(found)} entries")
    return found


def _in_common(a: ExactVector, b: ExactVector) -> tuple[Fraction, ExactVector, ExactVector]:
    """Both with one unit."""
    if a.unit == b.unit:
        return a.unit, a, b
    unit = common_step(a.unit, b.unit)
    return unit, _rescaled(a, unit), _rescaled(b, unit)


def _rescaled(vector: ExactVector, unit: Fraction) -> ExactVector:
    factor = int(vector.unit / unit)
    if factor == 1:
        return vector
    terms = {key: multiplied(c, factor) for key, c in vector.terms.items()}
    return ExactVector(multiplied(vector.steps, factor), unit, terms)


def _added(a: Coefficients, b: Coefficients) -> Coefficients:
    """The sum: each fits in 62 bits or is an object, so that the sum of any two fits in 64."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return _fitting(_plain(a) + _plain(b))


def multiplied(a: Coefficients, b: Coefficients) -> Coefficients:
    """The product, of Python's numbers where some do not fit."""
    if isinstance(a, int) and isinstance(b, int):  # one for all indices stays one
        return a * b
    a, b = _plain(a), _plain(b)
    if _size(a) * _size(b) >= FITS:
        a, b = (x if isinstance(x, int) else x.astype(object) for x in (a, b))
    return a * b


def _plain(values: Coefficients) -> Coefficients:
    """What an `int64` array may be combined with: a whole number that does not fit makes an object."""
    if isinstance(values, int) and abs(values) >= FITS:
        return np.array([values], dtype=object)
    return values


def _fitting(values: Coefficients) -> Coefficients:
    return values if isinstance(values, int) else fitting(values)


def _size(values: Coefficients) -> int:
    """The largest absolute value, rounded up."""
    if isinstance(values, int):
        return abs(values)
    if not len(values):
        return 0
    largest: int = max(math.ceil(values.max()), -math.floor(values.min()))
    return largest


def _digits_of(key: Key, places: NDArray[np.intp], count: int) -> Coefficients:
    """So many digits of what the term is of, at these places."""
    match key:
        case (ManyRests() as rests, None):
            return rests.many(places, count)
        case (rests, int() as place):
            return rests.digits(place, count)
        case (rests, _):
            return whole_numbers([rests.digits(place, count) for place in places.tolist()])


def _signs(low: Integers, high: Integers, number: Fraction) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """The signs of entries less the number, 0 where that is open as well; and which are not known exactly.

    An entry lies strictly between its bounds, unless these are equal and it is both.
    """
    down: Fraction | int = number
    up: Fraction | int = number
    if low.dtype != object:  # objects may be fractions
        down, up = math.floor(number), math.ceil(number)
    above, below = np.asarray(low >= up, dtype=np.int8), np.asarray(high <= down, dtype=np.int8)
    return above - below, np.asarray(low != high)


def _reached(low: Integers, count: int) -> int:
    """A number that at least `count` of these are not below; mostly not far below the greatest such one.

    It is that for the maxima of groups, of which there are more than `count`: sorting all takes long.
    """
    width = len(low) // max(8 * count, _GROUPS)
    maxima = low[: len(low) // width * width].reshape(width, -1).max(axis=0) if width > 1 else low.copy()
    maxima.partition(len(maxima) - count)
    reached: int = maxima.item(len(maxima) - count)
    return reached
