"""The probabilities of ranges of noise, in closed form and enclosed (ball arithmetic, 100 bits).

A draw is a whole number K times a step; for continuous noise it is K cells of a fixed width and a remainder
within the cell. K has a geometric law, but for logistic and staircase noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from math import floor, inf
from typing import Any, TypeAlias

from flint import arb, ctx
from intervals import Number, Range

Ball: TypeAlias = Any
"""An `arb`: a real number with a bound on its error."""
ctx.prec = 100
Cell: TypeAlias = tuple[float, float]
"""The least and the greatest K, whole numbers or infinite."""
ALL: Cell = (-inf, inf)
FROM_ZERO: Cell = (0, inf)


class Shape(Enum):
    """What a family looks like, but for its scale."""

    LATTICE = "on both sides of 0, symmetric about it"
    LATTICE_FROM_ZERO = "from 0 on"
    LINE = "continuous, on both sides of 0"
    LINE_FROM_ZERO = "continuous, from 0 on"
    LOGISTIC = "continuous, logistic"
    STAIRS = "continuous, staircase"
    GUMBEL = "continuous, of Gumbel's kind"
    GAUSS = "continuous, Gaussian"
    GAUSS_LATTICE = "Gaussian on a lattice"
    LOCATED = "continuous, logistic about a number, and perhaps above another one"

    @property
    def continuous(self) -> bool:
        return self not in (Shape.LATTICE, Shape.LATTICE_FROM_ZERO, Shape.GAUSS_LATTICE)

    @property
    def whole(self) -> Cell:
        return FROM_ZERO if self in (Shape.LATTICE_FROM_ZERO, Shape.LINE_FROM_ZERO) else ALL


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """The distribution of a draw: `rate` is how much ln P falls from one K to the next (on stairs, from one
    to the next: `stairs` is their width, and that of the higher part of each); of noise whose logarithm is
    not straight it is the step in units of the scale. `located`: about which number, and above which one.
    There is one object for each (`law_of`).
    """

    shape: Shape
    rate: Fraction
    step: Number
    stairs: tuple[Number, Number] | None = None
    located: tuple[Number, Number | None] | None = None

    def range_of(self, cell: Cell, noise: int) -> Number | Range:
        """What the draw can be in a cell."""
        low, high = cell
        if low == high and not self.shape.continuous:
            return int(low) * self.step
        ends = [k if abs(k) == inf else int(k) * self.step for k in (low, high + self.shape.continuous)]
        return Range(ends[0], ends[1], noise, self.shape.continuous)


@cache
def law_of(shape: Shape, scale: Number, step: Number) -> Law:
    """The law of this shape and scale on the multiples of the step."""
    return Law(shape, Fraction(step) / scale, step)


@cache
def law_on_stairs(eps: Number, width: Number, gamma: Number, step: Number) -> Law:
    """The law of staircase noise, by cells of the width `step`."""
    return Law(Shape.STAIRS, Fraction(eps), step, (width, width * gamma))


@cache
def law_at(location: Number, scale: Number, low: Number | None, step: Number) -> Law:
    """The law of a number that is logistic about `location`, given that it is above `low`."""
    return Law(Shape.LOCATED, Fraction(step) / Fraction(scale), step, located=(location, low))


def ball(x: Number) -> Ball:
    """An exact number as a ball."""
    return arb(x.numerator) / arb(x.denominator)


@cache
def mass(law: Law, cell: Cell) -> tuple[Ball, float]:
    """The probability that K is in a cell, and about how much that is."""
    low, high = cell
    t = ball(law.rate)
    above = ABOVE.get(law.shape)
    if above is not None:
        if law.shape is not Shape.GUMBEL and high < 0:  # nothing is near 1 there
            low, high = -high - 1, -low - 1
        total = _beyond(above, t, low) - _beyond(above, t, high + 1)
        return total, float(total)
    if law.shape is Shape.GAUSS_LATTICE:
        total = _gauss_on_lattice(t, low, high) / _gauss_on_lattice(t, -inf, inf)
        return total, float(total)
    if law.located is not None:
        least = law.located[1]
        total = _beyond_located(law, low, least) - _beyond_located(law, high + 1, least)
        return total, float(total)
    if law.shape is Shape.STAIRS:
        ends = [k if abs(k) == inf else int(k) * law.step for k in (low, high + 1)]
        total = sum((_on_stairs(law, max(a, 0), b) for a, b in (ends, [-ends[1], -ends[0]]) if b > 0), arb(0))
        return total, float(total)
    total = arb(0)
    if high >= 0:
        total += _geometric(t, max(low, 0), high)
    if law.shape is Shape.LATTICE:
        total += _geometric(t, max(-high, 1), -low) if low < 0 else 0
        total /= 1 + (-t).exp()
    elif law.shape is Shape.LINE:
        total += _geometric(t, max(-high - 1, 0), -low - 1) if low < 0 else 0
        total /= 2
    return total, float(total)


def _geometric(t: Ball, first: float, last: float) -> Ball:
    """The sum of (1 - r) r^k for k from `first` to `last`, r = exp(-t)."""
    start = (-t * int(first)).exp()
    return start if last == inf else start * -((-t * int(last - first + 1)).expm1())


def _above_logistic(x: Ball) -> Ball:
    return 1 / (1 + x.exp())


def _above_gauss(x: Ball) -> Ball:
    return (x / arb(2).sqrt()).erfc() / 2


def _above_gumbel(x: Ball) -> Ball:
    return -(-(-x).exp()).expm1()


ABOVE = {Shape.LOGISTIC: _above_logistic, Shape.GAUSS: _above_gauss, Shape.GUMBEL: _above_gumbel}
"""P(X >= x), for noise of scale 1."""


def _beyond(above: Callable[[Ball], Ball], t: Ball, k: float) -> Ball:
    """P(X >= k t)."""
    return arb(int(k < 0)) if abs(k) == inf else above(t * int(k))


def _beyond_located(law: Law, k: float, least: Number | None) -> Ball:
    """P(X >= k steps), given that X is above `least`."""
    assert law.located is not None
    scale, about = ball(Fraction(law.step) / law.rate), ball(law.located[0])

    def above(x: Number) -> Ball:
        return _above_logistic((ball(x) - about) / scale)

    if abs(k) == inf:
        return arb(int(k < 0))
    x = int(k) * law.step
    return above(x) if least is None else above(max(x, least)) / above(least)


def _gauss_on_lattice(t: Ball, low: float, high: float) -> Ball:
    """The sum of exp(-(k t)^2/2) for k from `low` to `high`; what is beyond 20 in size is enclosed."""
    most = int((20 / t).abs_upper().ceil().unique_fmpz()) + 1
    total = sum(
        ((-((t * k) ** 2) / 2).exp() for k in range(int(max(low, -most)), int(min(high, most)) + 1)), arb(0)
    )
    return total + arb(0, 1e-80)


def _on_stairs(law: Law, low: Any, high: Any) -> Ball:
    """P(low <= X < high) for 0 <= low < high: the area below the stairs, one by one, and the whole rest."""
    assert law.stairs is not None
    (width, part), fall = law.stairs, (-ball(law.rate)).exp()
    first, area = floor(low / width), arb(0)
    last = first + 1 if high == inf else floor(high / width) + 1
    for k in range(first, last):
        middle = k * width + part
        for a, b, height in ((k * width, middle, fall**k), (middle, (k + 1) * width, fall ** (k + 1))):
            area += ball(Fraction(max(min(b, high) - max(a, low), 0))) * height
    whole = (ball(Fraction(part)) + ball(Fraction(width - part)) * fall) / (1 - fall)
    return (area + (fall**last * whole if high == inf else 0)) / (2 * whole)


def halves(law: Law, cell: Cell, at: Number | None) -> tuple[Cell, Cell]:
    """A cell in two parts; if possible, they part at `at`."""
    low, high = cell
    if at is not None:
        k = floor(at / Fraction(law.step))
        if law.shape.continuous or (k * law.step == at and low < k):
            k -= 1
        if low <= k < high:
            return (low, k), (k + 1, high)
    half_life = max(1, round(0.7 / float(law.rate * (law.step / law.stairs[0] if law.stairs else 1))))
    if low == -inf:
        k = -1 if high == inf else int(high) - half_life
    elif high == inf:
        k = int(low) + half_life - 1
    else:
        k = floor((low + high) / 2)
    return (low, k), (k + 1, high)
