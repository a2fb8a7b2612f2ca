"""Exact sources of noise: on a lattice, and real-valued with digits that are drawn on demand.

All in whole numbers and fractions. A scale with long numerators or denominators, as an irrational number's
approximation has, is raised a little (see `short_rate`), so that rounding never makes noise smaller.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from aligncheck.runtime import cauchy, gaussian, logistic
from aligncheck.runtime.bits import Bits, SystemBits, below
from aligncheck.runtime.decimals import as_read, step_below
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.exactly import Geometric, choice, rational
from aligncheck.runtime.gaussian import DiscreteGaussian
from aligncheck.runtime.noise import chance, on_stairs, several
from aligncheck.runtime.reals import Real, Step
from aligncheck.runtime.refined import DigitEvents, Draw, RefinedNumber, Rests, common_step
from aligncheck.runtime.thresholds import Power, Threshold, event_of

if TYPE_CHECKING:
    from aligncheck.runtime.vectors import ExactVector

_FINER = 256
_WIDE_FROM = 1 << 12
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

    Args:
        one: makes one draw.
        sampler: makes several, by the function of `digits` that is called `many`.
    """

    def __init__(self, one: Callable[[Bits], int], many: str, sampler: Geometric | DiscreteGaussian) -> None:
        self._one = one
        self._many = many
        self._sampler = sampler
        self._asked = 0
        self._block: list[int] = []
        self._process = 0

    def next(self, bits: Bits) -> int:
        """One draw."""
        if self._block and self._process == os.getpid():
            return self._block.pop()
        self._asked += 1
        if self._asked <= _SINGLE:
            return self._one(bits)
        from aligncheck.runtime import digits

        size = min(_BLOCK, _SINGLE << (self._asked - _SINGLE))
        made = getattr(digits, self._many)(self._sampler, size, bits)
        self._block, self._process = made.tolist(), os.getpid()
        return self._block.pop()


class _Scaled:
    """How noise with a scale is drawn on a lattice: steps, and the digits below them."""

    def __init__(self, scale: Real, step: Real) -> None:
        width = rational(scale, "a noise scale")
        self.rate = rate = short_rate(rational(step, "the step of discrete noise") / width)
        self.scale = scale
        self.step = step
        self.steps = steps = Geometric.of_rate(rate)
        self.below = DigitEvents(rate)
        self.in_wide = DigitEvents(rate * (1 << len(steps.digits)))
        self.one_sided = _OneByOne(steps.draw, "draws", steps)
        self.with_sign = _OneByOne(lambda bits: steps.draw(bits) << 1 | below(2, bits), "with_signs", steps)

    def two_sided(self, bits: Bits) -> int:
        """An integer whose size is distributed as a geometric draw would be, if 0 were not counted twice."""
        while True:
            drawn = self.with_sign.next(bits)
            if drawn != 1:  # zero has no sign: count it once
                return -(drawn >> 1) if drawn & 1 else drawn >> 1

    @cached_property
    def normal(self) -> DiscreteGaussian:
        """Gaussian noise with the scale as its standard deviation, on the steps."""
        return DiscreteGaussian.of_variance(1 / self.rate**2)

    @cached_property
    def normal_one(self) -> _OneByOne:
        return _OneByOne(self.normal.draw, "gaussians", self.normal)

    def is_for(self, scale: Real, step: Real) -> bool:
        return _same(self.scale, scale) and _same(self.step, step)


def _same(a: Real, b: Real) -> bool:
    """Of exact numbers: `==` takes longer, and takes others for the same."""
    return a is b or (type(a) is type(b) and a.as_integer_ratio() == b.as_integer_ratio())


def _each(one: str) -> Any:
    """The method that makes so many draws of a kind, one after the other, as a vector."""

    def several(self: object, *given: Any) -> ExactVector:
        *args, count = given
        return _together([getattr(self, one)(*args) for _ in range(count)])

    return several


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
            if known.is_for(scale, step):
                return known
        made = _Scaled(scale, step)
        self._recent = [made, *self._recent[: _KEPT - 1]]
        return made

    def bernoulli(self, p: Real) -> int:
        return int(event_of(Power(rational(chance(p), "a probability"), 0)).happens(self._bits))

    def bernoulli_of_log_odds(self, log_odds: Real) -> int:
        size = rational(abs(log_odds), "a logarithm of odds", positive=False)
        if size == 0:
            return below(2, self._bits)
        likely = not event_of(Threshold(size, odds=True)).happens(self._bits)
        return int(likely is (log_odds > 0))

    bernoullis, bernoullis_of_log_odds = map(several, ("bernoulli", "bernoulli_of_log_odds"))

    def geometric(self, p: Real) -> int:
        return Geometric.of_chance(_shortened(p, "a success probability")).draw(self._bits)

    def geometrics(self, p: Real, count: int) -> list[int]:
        return self._listed(lambda: Geometric.of_chance(_shortened(p, "a success probability")), count)

    def geometric_of_rate(self, rate: Real) -> int:
        return Geometric.of_rate(_shortened(rate, "a rate")).draw(self._bits)

    def geometrics_of_rate(self, rate: Real, count: int) -> list[int]:
        return self._listed(lambda: Geometric.of_rate(_shortened(rate, "a rate")), count)

    def _listed(self, sampler: Callable[[], Geometric], count: int) -> list[int]:
        if count <= 0:
            return []
        from aligncheck.runtime.digits import draws

        drawn: list[int] = draws(sampler(), count, self._bits).tolist()
        return drawn

    def discrete_laplace(self, scale: Real, step: Step) -> Step:
        return step * self._scaled(scale, step).two_sided(self._bits)

    def discrete_exponential(self, scale: Real, step: Step) -> Step:
        return step * self._scaled(scale, step).one_sided.next(self._bits)

    def discrete_gaussian(self, scale: Real, step: Step) -> Step:
        return step * self._scaled(scale, step).normal_one.next(self._bits)

    def discrete_laplaces(self, scale: Real, step: Real, count: int) -> Sequence[Any]:
        return self._multiples("two_sided", "steps", scale, step, count)

    def discrete_exponentials(self, scale: Real, step: Real, count: int) -> Sequence[Any]:
        return self._multiples("draws", "steps", scale, step, count)

    def discrete_gaussians(self, scale: Real, step: Real, count: int) -> Sequence[Any]:
        return self._multiples("gaussians", "normal", scale, step, count)

    def _multiples(self, many: str, sampler: str, scale: Real, step: Real, count: int) -> Sequence[Any]:
        """Draws by this function of `digits` and this sampler of the scale, of which nothing is asked where
        none are drawn.
        """
        from aligncheck.runtime import digits
        from aligncheck.runtime.vectors import ExactVector, whole_numbers

        steps = whole_numbers([])
        if count > 0:
            steps = getattr(digits, many)(getattr(self._scaled(scale, step), sampler), count, self._bits)
        if isinstance(step, int):
            return [step * x for x in steps.tolist()]
        return ExactVector(steps, Fraction(step))

    def choice(self, logs: Iterable[tuple[int, Real]]) -> int:
        one = Fraction(1)
        return self._chosen([(index, one, _rational(log)) for index, log in logs])

    def weighted_choice(self, weights: Iterable[tuple[int, Real, Real]]) -> int:
        return self._chosen(
            [(index, rational(factor, "a weight"), _rational(log)) for index, factor, log in weights]
        )

    def _chosen(self, weights: list[tuple[int, Fraction, Fraction]]) -> int:
        return weights[choice([(factor, log) for _, factor, log in weights], self._bits)][0]

    def uniform(self, scale: Real) -> Any:
        """A number that stays as it is drawn: its digits are drawn where it is compared, in every mode."""
        return RefinedNumber(0, _unit(scale), {(cauchy.UniformRests({}, self._bits), 0): 1})

    uniforms = _each("uniform")

    def released(self, value: Real) -> Real:
        given: object = value
        return given.rounded_down(self.gamma) if isinstance(given, RefinedNumber) else value

    def given(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def _floored(self, value: Fraction | float) -> Fraction:
        return step_below(value, self.gamma) * self.gamma

    def _floored_all(self, values: Iterable[Fraction | float]) -> ExactVector:
        from aligncheck.runtime.rounding import steps_below
        from aligncheck.runtime.vectors import ExactVector

        return ExactVector(steps_below(values, self.gamma), self.gamma)


def _on_lattice(discrete: str) -> Any:
    """The method that draws such noise in steps of γ."""

    def drawn(self: LatticeNoise, scale: Real, *count: int) -> Any:
        return getattr(self, discrete)(scale, self.gamma, *count)

    return drawn


def _no_lattice(what: str) -> Callable[..., Any]:
    def refuse(*args: Any) -> Any:
        raise NumericError(f"{what} has no discrete form")

    return refuse


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

    def inside(self) -> Self:
        return self

    laplace, laplaces = map(_on_lattice, ("discrete_laplace", "discrete_laplaces"))
    exponential, exponentials = map(_on_lattice, ("discrete_exponential", "discrete_exponentials"))
    gaussian, gaussians = map(_on_lattice, ("discrete_gaussian", "discrete_gaussians"))
    cauchy, cauchys = [_no_lattice("Cauchy noise")] * 2
    gumbel, gumbels = [_no_lattice("Gumbel noise")] * 2
    logistic, logistics, logistic_at = [_no_lattice("logistic noise")] * 3
    staircase, staircases = [_no_lattice("staircase noise")] * 2


class RefinedNoise(_ExactNoise):
    """Real-valued noise, drawn as far as decisions need it; released numbers are rounded down to γ.

    Arguments are those of `LatticeNoise`. The steps in which noise is drawn may be of any length. Those of
    single draws are so fine that comparing or rounding one seldom needs further digits. Those of thousands of
    draws are two scales or more: of most of these it matters only about how large they are.
    """

    def __init__(self, gamma: Fraction, bits: Bits | None = None) -> None:
        super().__init__(gamma, bits)
        self._fine = self.gamma / _FINER

    def answer(self, value: Fraction | float, exact: bool = False) -> Fraction:
        return as_read(value) if exact else self._floored(value)

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> ExactVector:
        if not exact:
            return self._floored_all(values)
        from aligncheck.runtime.rounding import as_read_all

        return as_read_all(values)

    def given(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function after rounding numbers with digits that nobody has drawn down to multiples of γ.

        It is a function of the numbers themselves, as a public function is: such a number is no multiple of a
        rational number (but with probability 0), all others stay as they are. A proof knows nothing of a
        public function but that it is one; and what it is given is what a release gives.
        """

        def called(*args: Any) -> Any:
            return function(
                *(a.rounded_down(self.gamma) if isinstance(a, RefinedNumber) else a for a in args)
            )

        return called

    def inside(self) -> RefinedNoise:
        return _CalledNoise(self)

    def laplace(self, scale: Real) -> Any:
        scaled = self._scaled(scale, self._fine)
        drawn = scaled.with_sign.next(self._bits)
        sign = -1 if drawn & 1 else 1
        return RefinedNumber(sign * (drawn >> 1), self._fine, {(Rests(scaled.below, self._bits), 0): sign})

    def exponential(self, scale: Real) -> Any:
        scaled = self._scaled(scale, self._fine)
        drawn = scaled.one_sided.next(self._bits)
        return RefinedNumber(drawn, self._fine, {(Rests(scaled.below, self._bits), 0): 1})

    def cauchy(self, scale: Real) -> Any:
        return self._of_size(cauchy.draw(self._bits), scale)

    def gaussian(self, scale: Real) -> Any:
        return self._of_size(gaussian.draw(self._bits), scale)

    def _of_size(self, size: tuple[int, tuple[int, int]], scale: Real) -> Any:
        whole, first = size
        drawn = RefinedNumber(whole, _unit(scale), {(cauchy.UniformRests({0: first}, self._bits), 0): 1})
        return -drawn if below(2, self._bits) else drawn

    def staircase(self, eps: Real, width: Real, gamma: Real) -> Any:
        all_of_it = rational(width, "a width")
        high = rational(gamma, "gamma") * all_of_it
        unit = common_step(high, all_of_it - high)  # the same for each draw
        start, length = (int(end / unit) for end in on_stairs(self, eps, width, gamma))
        size = RefinedNumber(start, unit, {(cauchy.UniformRests({}, self._bits), 0): length})
        return -size if below(2, self._bits) else size

    def gumbel(self, scale: Real) -> Any:
        return logistic.gumbel(self._bits) * _unit(scale)

    def logistic(self, scale: Real) -> Any:
        return logistic.draw(Fraction(0), _unit(scale), None, self._bits)

    def logistic_at(self, location: Any, scale: Real, low: Any = None) -> Any:
        return logistic.draw(location, rational(scale, "a noise scale"), low, self._bits)

    def laplaces(self, scale: Real, count: int) -> Sequence[Any]:
        return self._many(scale, count, signed=True)

    def exponentials(self, scale: Real, count: int) -> Sequence[Any]:
        return self._many(scale, count, signed=False)

    def _many(self, scale: Real, count: int, *, signed: bool) -> ExactVector:
        if count <= 0:
            return _together([])
        from aligncheck.runtime.digits import ManyRests, draws, signs, without_digits
        from aligncheck.runtime.vectors import ExactVector, multiplied

        scaled = self._scaled(scale, self.gamma)
        wide = count >= _WIDE_FROM
        steps = (without_digits if wide else draws)(scaled.steps, count, self._bits)
        rests = ManyRests(scaled.in_wide if wide else scaled.below, self._bits, len(steps))
        coefficient: Any = 1 << len(scaled.steps.digits) if wide else 1
        if signed:
            sign = signs(len(steps), self._bits)
            steps *= sign
            coefficient = multiplied(sign, coefficient)
        return ExactVector(steps, self.gamma, {(rests, None): coefficient})

    cauchys, gaussians, logistics = map(_each, ("cauchy", "gaussian", "logistic"))
    staircases, gumbels = map(_each, ("staircase", "gumbel"))


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


class _EachRests(Rests):
    """Those of single draws, by their places in a vector."""

    __slots__ = ("_each",)

    def __init__(self, each: list[Draw]) -> None:
        self._each = each

    def digits(self, place: int, count: int) -> int:
        rests, at = self._each[place]
        return rests.digits(at, count)


def _together(numbers: list[RefinedNumber]) -> ExactVector:
    """A vector of draws, each with one rest, in the same unit."""
    from aligncheck.runtime.vectors import ExactVector, whole_numbers

    unit = numbers[0].unit if numbers else Fraction(1)
    terms = [term for number in numbers for term in number.terms.items()]
    rests, coefficients = _EachRests([draw for draw, _ in terms]), whole_numbers([c for _, c in terms])
    return ExactVector(whole_numbers([x.steps for x in numbers]), unit, {(rests, None): coefficients})


def _unit(scale: Real) -> Fraction:
    """The scale, raised a little where it is long."""
    return 1 / short_rate(1 / rational(scale, "a noise scale"))


def _rational(value: Real) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, int):
        raise NumericError(f"a weight must be an exact number, not a {type(value).__name__}")
    return Fraction(value)


def _shortened(rate: Real, name: str) -> Fraction:
    return short_rate(rational(rate, name))
