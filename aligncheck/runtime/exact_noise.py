"""Exact sources of noise: on a lattice, and real-valued with digits that are drawn on demand.

All in whole numbers and fractions. A scale with long numerators or denominators, as an irrational number's
approximation has, is raised a little (see `short_rate`), so that rounding never makes noise smaller.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, overload

from aligncheck.runtime import cauchy
from aligncheck.runtime.bits import Bits, SystemBits, below
from aligncheck.runtime.decimals import as_read, step_below
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.exactly import Geometric, choice, rational, two_sided
from aligncheck.runtime.reals import Real
from aligncheck.runtime.refined import DigitEvents, RefinedNumber, Rests

if TYPE_CHECKING:
    from aligncheck.runtime.digits import Integers
    from aligncheck.runtime.vectors import ExactVector

_LONG = 64
_RAISED = 72
_KEPT = 8
_SINGLE = 16
_BLOCK = 1 << 10
"""The first draws with a scale are made singly, then in blocks that grow up to this size."""


def short_rate(rate: Fraction) -> Fraction:
    """A rate at most as large, by less than one part in 2^63, and the same where it is short.

    Approximations of irrational numbers are long (see `rationals`) and off by less than one part in 2^90
    each: what this takes off covers some millions of them.
    """
    top, bottom = rate.numerator, rate.denominator
    if max(top.bit_length(), bottom.bit_length()) <= _LONG:
        return rate
    shift = _RAISED - (top.bit_length() - bottom.bit_length())
    scaled = (top << shift) // bottom if shift >= 0 else top // (bottom << -shift)
    return Fraction(scaled - (1 << (_RAISED - _LONG))) / Fraction(2) ** shift


class _OneByOne:
    """Draws of one kind for a program that asks for one at a time: made in blocks once it has asked for some.

    Each is given once. A process that is forked in the middle of a run makes its own, so that no two
    processes share noise.
    """

    def __init__(self, sampler: Geometric, *, signed: bool) -> None:
        self._sampler = sampler
        self._signed = signed
        self._asked = 0
        self._block: list[int] = []
        self._process = 0

    def next(self, bits: Bits) -> int:
        """A number of steps: as `two_sided` draws it where it is `signed`, else as the sampler does."""
        if self._block and self._process == os.getpid():
            return self._block.pop()
        self._asked += 1
        if self._asked <= _SINGLE:
            return two_sided(self._sampler, bits) if self._signed else self._sampler.draw(bits)
        from aligncheck.runtime import digits

        many = digits.two_sided if self._signed else digits.draws
        size = min(_BLOCK, _SINGLE << (self._asked - _SINGLE))
        self._block, self._process = many(self._sampler, size, bits).tolist(), os.getpid()
        return self._block.pop()


@dataclass(frozen=True, slots=True)
class _Scaled:
    """How noise with a scale is drawn on a lattice: steps, and the digits below them."""

    scale: Real
    step: Real
    steps: Geometric
    below: DigitEvents
    one_sided: _OneByOne
    two_sided: _OneByOne


class _ExactNoise:
    """What both sources share: noise that is discrete in the spec already, and how answers are held."""

    def __init__(self, gamma: Fraction, bits: Bits | None = None) -> None:
        if not gamma > 0:
            raise NumericError("the step of a lattice must be positive")
        self.gamma = Fraction(gamma)
        self._bits = SystemBits() if bits is None else bits
        self.remark: str | None = self._bits.remark
        self._recent: list[_Scaled] = []

    @property
    def begun(self) -> bool:
        return self._bits.used

    def _scaled(self, scale: Real, step: Real) -> _Scaled:
        """Made anew only where it was not made before: programs draw with few scales, but in turns."""
        for known in self._recent:
            same = known.scale == scale and known.step == step
            if same and type(known.scale) is type(scale) and type(known.step) is type(step):
                return known
        width = rational(scale, "a noise scale")
        rate = short_rate(rational(step, "the step of discrete noise") / width)
        steps = Geometric.of_rate(rate)
        sides = _OneByOne(steps, signed=False), _OneByOne(steps, signed=True)
        made = _Scaled(scale, step, steps, DigitEvents(rate), *sides)
        self._recent = [made, *self._recent[: _KEPT - 1]]
        return made

    def geometric(self, p: Real) -> int:
        return Geometric.of_chance(_shortened(p, "a success probability")).draw(self._bits)

    def geometrics(self, p: Real, count: int) -> list[int]:
        return self._listed(Geometric.of_chance(_shortened(p, "a success probability")), count)

    def geometric_of_rate(self, rate: Real) -> int:
        return Geometric.of_rate(_shortened(rate, "a rate")).draw(self._bits)

    def geometrics_of_rate(self, rate: Real, count: int) -> list[int]:
        return self._listed(Geometric.of_rate(_shortened(rate, "a rate")), count)

    def _listed(self, sampler: Geometric, count: int) -> list[int]:
        if count <= 0:
            return []
        from aligncheck.runtime.digits import draws

        drawn: list[int] = draws(sampler, count, self._bits).tolist()
        return drawn

    @overload
    def discrete_laplace(self, scale: Real, step: int) -> int: ...
    @overload
    def discrete_laplace(self, scale: Real, step: Real) -> Real: ...
    def discrete_laplace(self, scale: Real, step: Real) -> Real:
        return step * self._scaled(scale, step).two_sided.next(self._bits)

    @overload
    def discrete_exponential(self, scale: Real, step: int) -> int: ...
    @overload
    def discrete_exponential(self, scale: Real, step: Real) -> Real: ...
    def discrete_exponential(self, scale: Real, step: Real) -> Real:
        return step * self._scaled(scale, step).one_sided.next(self._bits)

    def discrete_laplaces(self, scale: Real, step: Real, count: int) -> Sequence[Any]:
        from aligncheck.runtime.digits import two_sided

        return self._multiples(two_sided(self._scaled(scale, step).steps, count, self._bits), step)

    def discrete_exponentials(self, scale: Real, step: Real, count: int) -> Sequence[Any]:
        from aligncheck.runtime.digits import draws

        return self._multiples(draws(self._scaled(scale, step).steps, count, self._bits), step)

    def _multiples(self, steps: Integers, step: Real) -> Sequence[Any]:
        from aligncheck.runtime.vectors import ExactVector

        return (
            [step * x for x in steps.tolist()]
            if isinstance(step, int)
            else ExactVector(steps, Fraction(step))
        )

    def choice(self, logs: Iterable[tuple[int, Real]]) -> int:
        one = Fraction(1)
        return self._chosen([(index, one, _rational(log)) for index, log in logs])

    def weighted_choice(self, weights: Iterable[tuple[int, Real, Real]]) -> int:
        return self._chosen(
            [(index, rational(factor, "a weight"), _rational(log)) for index, factor, log in weights]
        )

    def _chosen(self, weights: list[tuple[int, Fraction, Fraction]]) -> int:
        return weights[choice([(factor, log) for _, factor, log in weights], self._bits)][0]

    def logistic(self, location: Real, scale: Real, low: Real | None = None) -> Real:
        raise NumericError("logistic noise has no exact sampler")

    def _floored(self, value: Fraction | float) -> Fraction:
        return step_below(value, self.gamma) * self.gamma

    def _floored_all(self, values: Iterable[Fraction | float]) -> ExactVector:
        from aligncheck.runtime.rounding import steps_below
        from aligncheck.runtime.vectors import ExactVector

        return ExactVector(steps_below(values, self.gamma), self.gamma)


class LatticeNoise(_ExactNoise):
    """Discrete noise on the multiples of γ, where the spec has real-valued noise; answers are rounded down.

    Args:
        gamma: γ, the step.
        bits: uniform random bits: the operating system's, if not given.
    """

    def answer(self, value: Fraction | float, exact: bool = False) -> Fraction:
        return self._floored(value)

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> ExactVector:
        return self._floored_all(values)

    def released(self, value: Real) -> Real:
        return value

    def inside(self) -> Self:
        return self

    def laplace(self, scale: Real) -> Real:
        return self.discrete_laplace(scale, self.gamma)

    def exponential(self, scale: Real) -> Real:
        return self.discrete_exponential(scale, self.gamma)

    def cauchy(self, scale: Real) -> Real:
        raise NumericError("Cauchy noise has no discrete form")

    def laplaces(self, scale: Real, count: int) -> Sequence[Real]:
        return self.discrete_laplaces(scale, self.gamma, count)

    def exponentials(self, scale: Real, count: int) -> Sequence[Real]:
        return self.discrete_exponentials(scale, self.gamma, count)

    def cauchys(self, scale: Real, count: int) -> Sequence[Real]:
        raise NumericError("Cauchy noise has no discrete form")


class RefinedNoise(_ExactNoise):
    """Real-valued noise, drawn as far as decisions need it; released numbers are rounded down to γ.

    Arguments are those of `LatticeNoise`.
    """

    def answer(self, value: Fraction | float, exact: bool = False) -> Fraction:
        return as_read(value) if exact else self._floored(value)

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> ExactVector:
        if not exact:
            return self._floored_all(values)
        from aligncheck.runtime.rounding import as_array
        from aligncheck.runtime.vectors import ExactVector, vector_of

        array = as_array(values)
        if array.dtype.kind == "i":
            return ExactVector(array, Fraction(1))
        return vector_of([as_read(value) for value in array.tolist()])

    def released(self, value: Real) -> Real:
        given: object = value
        return given.rounded_down(self.gamma) if isinstance(given, RefinedNumber) else value

    def inside(self) -> RefinedNoise:
        return _CalledNoise(self)

    def laplace(self, scale: Real) -> Any:
        drawn = self.exponential(scale)
        return -drawn if below(2, self._bits) else drawn

    def exponential(self, scale: Real) -> Any:
        scaled = self._scaled(scale, self.gamma)
        return RefinedNumber(
            scaled.one_sided.next(self._bits), self.gamma, {(Rests(scaled.below, self._bits), 0): 1}
        )

    def cauchy(self, scale: Real) -> Any:
        whole, first = cauchy.draw(self._bits)
        unit = 1 / short_rate(1 / rational(scale, "a noise scale"))
        drawn = RefinedNumber(whole, unit, {(cauchy.UniformRests({0: first}, self._bits), 0): 1})
        return -drawn if below(2, self._bits) else drawn

    def laplaces(self, scale: Real, count: int) -> Sequence[Any]:
        from aligncheck.runtime.digits import draws, signs
        from aligncheck.runtime.vectors import ExactVector

        scaled = self._scaled(scale, self.gamma)
        steps = draws(scaled.steps, count, self._bits)
        coefficients = signs(len(steps), self._bits)
        steps *= coefficients
        return ExactVector(steps, self.gamma, {(Rests(scaled.below, self._bits), None): coefficients})

    def exponentials(self, scale: Real, count: int) -> Sequence[Any]:
        from aligncheck.runtime.digits import draws
        from aligncheck.runtime.vectors import ExactVector

        scaled = self._scaled(scale, self.gamma)
        steps = draws(scaled.steps, count, self._bits)
        return ExactVector(steps, self.gamma, {(Rests(scaled.below, self._bits), None): 1})

    def cauchys(self, scale: Real, count: int) -> Sequence[Any]:
        return [self.cauchy(scale) for _ in range(count)]


class _CalledNoise(RefinedNoise):
    """That of a mechanism which another one calls. Nothing is rounded on the way in or out: the proof of the
    caller is about the numbers themselves. A bound on what was released may not hold of a rounded number, and
    γ need not divide the sensitivity that the caller passes on.
    """

    def __init__(self, outer: RefinedNoise) -> None:
        super().__init__(outer.gamma, outer._bits)
        self._recent = outer._recent

    def answer(self, value: Fraction | float, exact: bool = False) -> Fraction:
        return super().answer(value, exact=True)

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> ExactVector:
        return super().answers(values, exact=True)

    def released(self, value: Real) -> Real:
        return value

    def inside(self) -> RefinedNoise:
        return self


def _rational(value: Real) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, int):
        raise NumericError(f"a weight must be an exact number, not a {type(value).__name__}")
    return Fraction(value)


def _shortened(rate: Real, name: str) -> Fraction:
    return short_rate(rational(rate, name))
