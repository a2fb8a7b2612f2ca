"""Noise that is given, for runs of compiled mechanisms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from aligncheck.runtime.decimals import as_read
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.noise import OneByOne
from aligncheck.runtime.reals import Real, Step, ln, one_minus_exp, softplus, to_float


@dataclass(frozen=True, slots=True)
class RecordedDraw:
    """One draw that was asked for: its family by the spec's name (`Lap`), its arguments, the value given."""

    family: str
    args: tuple[Real, ...]
    value: Real


class RecordedNoise(OneByOne):
    """Draws that are read from a tape, in order; answers stay exact. For tests and for replaying a given run.

    `drawn` lists what was asked for so far. Values are given back as they are, inside the support or not.
    """

    remark: str | None = "not private (recorded noise)"

    def __init__(self, tape: Iterable[Fraction | int]) -> None:
        self._tape = iter(tape)
        self.drawn: list[RecordedDraw] = []

    @property
    def begun(self) -> bool:
        return bool(self.drawn)

    def answer(self, value: Fraction | float, exact: bool = False) -> Real:
        return as_read(value)

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> list[Real]:
        return [as_read(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]

    def released(self, value: Real) -> Real:
        return value

    def inside(self) -> Self:
        return self

    def laplace(self, scale: Real) -> Real:
        return self._next("Lap", scale)

    def exponential(self, scale: Real) -> Real:
        return self._next("Exp", scale)

    def cauchy(self, scale: Real) -> Real:
        return self._next("Cauchy", scale)

    def gaussian(self, scale: Real) -> Real:
        return self._next("Gauss", scale)

    def gumbel(self, scale: Real) -> Real:
        return self._next("Gumbel", scale)

    def staircase(self, eps: Real, width: Real, gamma: Real) -> Real:
        return self._next("Staircase", eps, width, gamma)

    def uniform(self, scale: Real) -> Real:
        return self._next("Uniform", scale)

    def bernoulli(self, p: Real) -> int:
        return int(self._next("Bernoulli", p))

    def bernoulli_of_log_odds(self, log_odds: Real) -> int:
        return self.bernoulli(one_minus_exp(-softplus(to_float(log_odds))))

    def geometric(self, p: Real) -> int:
        return int(self._next("Geo", p))

    def geometric_of_rate(self, rate: Real) -> int:
        return self.geometric(one_minus_exp(-rate))

    def discrete_exponential(self, scale: Real, step: Step) -> Step:
        value = self._next("DExp", scale, step)
        return int(value) if isinstance(step, int) else value

    def discrete_laplace(self, scale: Real, step: Step) -> Step:
        value = self._next("DLap", scale, step)
        return int(value) if isinstance(step, int) else value

    def discrete_gaussian(self, scale: Real, step: Step) -> Step:
        value = self._next("DGauss", scale, step)
        return int(value) if isinstance(step, int) else value

    def choice(self, logs: Iterable[tuple[int, Real]]) -> int:
        return int(self._next("Choose", *(log for _, log in logs)))

    def weighted_choice(self, weights: Iterable[tuple[int, Real, Real]]) -> int:
        return self.choice((index, ln(factor) + log) for index, factor, log in weights)

    def logistic(self, scale: Real) -> Real:
        return self._next("Logistic", scale)

    def logistic_at(self, location: Real, scale: Real, low: Real | None = None) -> Real:
        return self._next("Logistic", location, scale, *(() if low is None else (low,)))

    def _next(self, family: str, *args: Real) -> Real:
        value = next(self._tape, None)
        if value is None:
            raise NumericError(f"the recorded noise ends before draw {len(self.drawn) + 1}")
        drawn = RecordedDraw(family, args, Fraction(value))
        self.drawn.append(drawn)
        return drawn.value
