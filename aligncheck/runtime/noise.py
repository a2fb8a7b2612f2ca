"""Where the random numbers of a run come from.

A generated mechanism asks a `Noise` for its draws in the spec's order, one or several at a time, and
computes with what it gets; it knows nothing of floats or bits. The exact sources are in `exact_noise`.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Protocol, Self

from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.extremes import argmax_of
from aligncheck.runtime.reals import Real, Step, at_least, at_most, ln, softplus, to_float


class Noise(Protocol):
    """A source of independent draws, and the kind of number that answers become beside them."""

    @property
    def remark(self) -> str | None:
        """Why a run with this source is not private whatever was proved, or None."""

    @property
    def begun(self) -> bool:
        """Whether anything was drawn."""

    def answer(self, value: Fraction | float, exact: bool = False) -> Real:
        """A private answer as this source computes with it.

        An `exact` one is not rounded to a coarser lattice than its declaration has. Answers are finite.
        """

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> Sequence[Real]:
        """The same for a list or a one-dimensional NumPy array of numbers."""

    def released(self, value: Real) -> Fraction | float:
        """What the release of a number gives: the number, or as many of its digits as are fit for it."""

    def given(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A public function as a program may call it, with what this source draws among its arguments."""

    def inside(self) -> Noise:
        """The same source for a mechanism that this run calls: its answers come from the run, and what it
        releases goes back there.
        """

    def laplace(self, scale: Real) -> Real:
        """Density exp(-|x|/scale) / (2 scale) on the reals."""

    def exponential(self, scale: Real) -> Real:
        """Density exp(-x/scale) / scale on x >= 0."""

    def cauchy(self, scale: Real) -> Real:
        """Density proportional to 1 / (1 + (x/scale)^2) on the reals."""

    def gaussian(self, scale: Real) -> Real:
        """Density proportional to exp(-(x/scale)^2/2) on the reals."""

    def gumbel(self, scale: Real) -> Real:
        """Density exp(-z - exp(-z)) / scale with z = x/scale on the reals."""

    def logistic(self, scale: Real) -> Real:
        """Density exp(-z) / (scale (1 + exp(-z))^2) with z = x/scale on the reals."""

    def staircase(self, eps: Real, width: Real, gamma: Real) -> Real:
        """Density proportional to exp(-eps k), where k counts how many of width * gamma, width * (1 + gamma),
        width * (2 + gamma), … are at most |x|.
        """

    def uniform(self, scale: Real) -> Real:
        """Density 1 / scale from 0 to the scale."""

    def bernoulli(self, p: Real) -> int:
        """1 with probability p, and else 0."""

    def bernoulli_of_log_odds(self, log_odds: Real) -> int:
        """The same for p = 1 / (1 + exp(-log_odds))."""

    def geometric(self, p: Real) -> int:
        """Failures before the first success: probability (1-p)^x p on x = 0, 1, 2, …"""

    def geometric_of_rate(self, rate: Real) -> int:
        """The same for p = 1 - exp(-rate): probability proportional to exp(-rate x) on x = 0, 1, 2, …"""

    def discrete_exponential(self, scale: Real, step: Step) -> Step:
        """Probability proportional to exp(-x/scale) on the multiples x >= 0 of `step`."""

    def discrete_laplace(self, scale: Real, step: Step) -> Step:
        """Probability proportional to exp(-|x|/scale) on the multiples x of `step`."""

    def discrete_gaussian(self, scale: Real, step: Step) -> Step:
        """Probability proportional to exp(-(x/scale)^2/2) on the multiples x of `step`."""

    def choice(self, logs: Iterable[tuple[int, Real]]) -> int:
        """An index, with probability proportional to the exponential of the number beside it."""

    def weighted_choice(self, weights: Iterable[tuple[int, Real, Real]]) -> int:
        """The same for a positive factor and a logarithm: proportional to factor * exp(log)."""

    def logistic_at(self, location: Real, scale: Real, low: Real | None = None) -> Real:
        """The density of `logistic` with z = (x - location)/scale, given that x > `low`."""

    # Each of these makes `count` draws of what it is named after, in order; none where that is negative.

    def laplaces(self, scale: Real, count: int) -> Sequence[Real]: ...
    def exponentials(self, scale: Real, count: int) -> Sequence[Real]: ...
    def cauchys(self, scale: Real, count: int) -> Sequence[Real]: ...
    def gaussians(self, scale: Real, count: int) -> Sequence[Real]: ...
    def gumbels(self, scale: Real, count: int) -> Sequence[Real]: ...
    def logistics(self, scale: Real, count: int) -> Sequence[Real]: ...
    def staircases(self, eps: Real, width: Real, gamma: Real, count: int) -> Sequence[Real]: ...
    def uniforms(self, scale: Real, count: int) -> Sequence[Real]: ...
    def bernoullis(self, p: Real, count: int) -> list[int]: ...
    def bernoullis_of_log_odds(self, log_odds: Real, count: int) -> list[int]: ...
    def geometrics(self, p: Real, count: int) -> list[int]: ...
    def geometrics_of_rate(self, rate: Real, count: int) -> list[int]: ...
    def discrete_exponentials(self, scale: Real, step: Step, count: int) -> Sequence[Step]: ...
    def discrete_laplaces(self, scale: Real, step: Step, count: int) -> Sequence[Step]: ...
    def discrete_gaussians(self, scale: Real, step: Step, count: int) -> Sequence[Step]: ...


def several(one: str) -> Any:
    def several(self: object, *given: Any) -> list[Any]:
        *args, count = given
        draw = getattr(self, one)
        return [draw(*args) for _ in range(count)]

    return several


def chance(p: Real) -> Real:
    """The probability of a side of a coin, which is between 0 and 1."""
    if not 0 < p < 1:
        raise NumericError("the probability of a coin must be between 0 and 1")
    return p


def on_stairs(noise: Noise, eps: Real, width: Real, gamma: Real) -> tuple[Real, Real]:
    """The size of a draw of staircase noise: where the interval begins in which it is uniform, and how long
    that is (Geng and Viswanath 2014, Algorithm 1).
    """
    if not 0 < gamma < 1:
        raise NumericError("the higher part of a stair is less than all of it")
    stairs = noise.geometric_of_rate(eps)
    if noise.weighted_choice([(0, gamma, 0), (1, 1 - gamma, -eps)]):
        return (stairs + gamma) * width, (1 - gamma) * width
    return stairs * width, gamma * width


class OneByOne:
    """Of a `Noise` that draws several as it draws one, one after the other; its draws are plain numbers."""

    def given(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function itself."""
        return function

    laplaces, exponentials, cauchys = map(several, ("laplace", "exponential", "cauchy"))
    logistics, staircases = map(several, ("logistic", "staircase"))
    gaussians, gumbels, uniforms = map(several, ("gaussian", "gumbel", "uniform"))
    bernoullis, bernoullis_of_log_odds = map(several, ("bernoulli", "bernoulli_of_log_odds"))
    geometrics, geometrics_of_rate = map(several, ("geometric", "geometric_of_rate"))
    discrete_exponentials, discrete_laplaces = map(several, ("discrete_exponential", "discrete_laplace"))
    discrete_gaussians = several("discrete_gaussian")


class FloatingNoise(OneByOne):
    """Draws by inversion, in floats, from 53 random bits: for experiments, not for release.

    The low bits of such draws give answers away (Mironov, *On significance of the least significant bits for
    differential privacy*, CCS 2012). Scales are rounded up and success probabilities down, so that rounding
    them never makes the noise smaller. Geometric and discrete Laplace draws are integers times the step.

    `seed` None draws from the operating system; an int makes runs repeatable, hence not private.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._source: random.Random = secrets.SystemRandom() if seed is None else random.Random(seed)
        self.remark: str | None = None if seed is None else "not private (seeded)"
        self.begun = False

    @property
    def _bits(self) -> random.Random:
        self.begun = True
        return self._source

    def answer(self, value: Fraction | float, exact: bool = False) -> float:
        try:
            return float(value)
        except OverflowError:
            raise NumericError("an answer is too large for a float") from None

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> list[float]:
        if getattr(getattr(values, "dtype", None), "kind", None) == "f":
            floats: list[float] = values.tolist()  # type: ignore[attr-defined]
            return floats
        return [self.answer(value) for value in values]

    def released(self, value: Real) -> Real:
        return value

    def inside(self) -> Self:
        return self

    def laplace(self, scale: Real) -> float:
        magnitude = self._unit_exponential() * at_least(scale)
        return magnitude if self._bits.getrandbits(1) else -magnitude

    def exponential(self, scale: Real) -> float:
        return self._unit_exponential() * at_least(scale)

    def cauchy(self, scale: Real) -> float:
        # By inversion: P(|X| > x) is 1 - (2/π) arctan(x), so that |X| is tan(πu/2) for a uniform u.
        magnitude = math.tan(math.pi / 2 * (self._bits.getrandbits(53) + 0.5) * 2.0**-53) * at_least(scale)
        return magnitude if self._bits.getrandbits(1) else -magnitude

    def gaussian(self, scale: Real) -> float:
        # Box and Muller 1958: the square of the distance from 0 in the plane is twice a unit exponential.
        angle = 2 * math.pi * (self._bits.getrandbits(53) * 2.0**-53)
        return math.sqrt(2 * self._unit_exponential()) * math.cos(angle) * at_least(scale)

    def gumbel(self, scale: Real) -> float:
        return -math.log(self._positive_exponential()) * at_least(scale)

    def staircase(self, eps: Real, width: Real, gamma: Real) -> float:
        start, length = on_stairs(self, eps, width, gamma)
        size = to_float(start) + self.uniform(length)
        return size if self._bits.getrandbits(1) else -size

    def uniform(self, scale: Real) -> float:
        return self._bits.getrandbits(53) * 2.0**-53 * at_least(scale)

    def bernoulli(self, p: Real) -> int:
        return int(self._bits.random() < to_float(chance(p)))

    def bernoulli_of_log_odds(self, log_odds: Real) -> int:
        return int(self._bits.random() < 1 / (1 + math.exp(min(-to_float(log_odds), 700))))

    def geometric(self, p: Real) -> int:
        if p == 1:
            return 0
        if not p < 1:
            raise NumericError("a success probability must be at most 1")
        return self._failures(-math.log1p(-at_most(p)))

    def geometric_of_rate(self, rate: Real) -> int:
        return self._failures(at_most(rate))

    def discrete_exponential(self, scale: Real, step: Step) -> Step:
        return step * self._failures(self._rate(scale, step))

    def discrete_laplace(self, scale: Real, step: Step) -> Step:
        # The difference of two independent geometric variables with the same rate is discrete Laplace.
        rate = self._rate(scale, step)
        return step * (self._failures(rate) - self._failures(rate))

    def discrete_gaussian(self, scale: Real, step: Step) -> Step:
        # By rejection, as in `gaussian`.
        deviation = 1 / self._rate(scale, step)
        width = math.floor(deviation) + 1
        while True:
            drawn = self.discrete_laplace(width, 1)
            excess = (abs(drawn) - deviation * deviation / width) / deviation
            if excess * excess <= 2 * self._unit_exponential():
                return step * drawn

    def choice(self, logs: Iterable[tuple[int, Real]]) -> int:
        # The greatest of sums with independent standard Gumbel noise: probabilities as they should be at any
        # size of the logarithms (Gumbel 1954; Maddison, Tarlow, Minka, *A\* Sampling*, NIPS 2014).
        # ln(E) of a standard exponential E is minus such noise.
        return argmax_of((index, log - math.log(self._positive_exponential())) for index, log in logs)

    def weighted_choice(self, weights: Iterable[tuple[int, Real, Real]]) -> int:
        return self.choice((index, ln(factor) + log) for index, factor, log in weights)

    def logistic(self, scale: Real) -> float:
        return self.logistic_at(0, scale)

    def logistic_at(self, location: Real, scale: Real, low: Real | None = None) -> float:
        # By inversion of P(X > x | X > low) = exp(-E), E standard exponential. Without `low` this says that
        # exp(z) = exp(E) - 1; with it, that exp(y) = 1 + (exp(E) - 1)(1 + exp(t)) for y = (x - low)/scale
        # and t = (location - low)/scale.
        width = at_least(scale)
        exponential = self._positive_exponential()
        log_odds = exponential + math.log(-math.expm1(-exponential))
        if low is None:
            return to_float(location) + width * log_odds
        return to_float(low) + width * softplus(log_odds + softplus(to_float((location - low) / scale)))

    def laplaces(self, scale: Real, count: int) -> list[Real]:
        if count <= 0:
            return []
        from aligncheck.runtime.arrays import laplaces

        return [*laplaces(self._bits.randbytes(8 * count), at_least(scale))]

    def exponentials(self, scale: Real, count: int) -> list[Real]:
        if count <= 0:
            return []
        from aligncheck.runtime.arrays import exponentials

        return [*exponentials(self._bits.randbytes(8 * count), at_least(scale))]

    def _rate(self, scale: Real, step: Real) -> float:
        if not step > 0:
            raise NumericError("the step of discrete noise must be positive")
        rate = at_most(step / (Fraction(scale) if isinstance(scale, int) else scale))
        if not rate > 0:
            raise NumericError("a noise scale is too large for a float")
        return rate

    def _unit_exponential(self) -> float:
        """-ln(u) for u uniform on the multiples of 2^-53 in (0, 1]."""
        return -math.log((self._bits.getrandbits(53) + 1) * 2.0**-53)

    def _positive_exponential(self) -> float:
        """A unit exponential that is not 0, of which a logarithm is taken."""
        drawn = 0.0
        while drawn == 0.0:
            drawn = self._unit_exponential()
        return drawn

    def _failures(self, rate: float) -> int:
        """The integer part of an exponential variable with this rate is geometric with p = 1 - exp(-rate)."""
        if not rate > 0:
            raise NumericError("a noise scale is too large for a float")
        failures = self._unit_exponential() / rate
        if failures == math.inf:
            raise NumericError("a noise scale is too large for a float")
        return math.floor(failures)
