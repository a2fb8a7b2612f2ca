"""Many runs of a generated mechanism at once.

A generated program computes with whatever its noise source gives it. Here that is a `Lane`: one number for
each of many runs. Arithmetic acts on all of them; where the program asks whether a comparison holds and runs
differ, they are parted, and the program starts again for either part, on the noise that it had. So it is
executed once for each path that some run takes (and once for each place where they part), and a run's noise
is what it would have drawn alone.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime import NumericError, Result
from aligncheck.runtime.noise import FloatingNoise, Noise, OneByOne, chance
from aligncheck.runtime.reals import at_least
from aligncheck.runtime.refined import BySign
from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.outputs import ABSENT, LONGEST, NUMBER, Outputs

Values: TypeAlias = NDArray[np.float64]

_FEWEST_RUNS_PER_PATH = 8
"""With fewer runs for each path, on average, calling the mechanism once per run is as fast."""


_MOST_DRAWS = 50_000_000
"""Random numbers that are kept at once, at most (9 bytes each)."""


_LONGEST_TABLE = 1 << 20


class TooManyPaths(Exception):  # noqa: N818 - the caller has another way
    """The program cannot be run by paths, or it would not pay."""


class Lane(BySign):
    """A number for each run that takes the current path. Comparisons part the runs (see `_Split`)."""

    __slots__ = ("_split", "values")
    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(self, values: Values, split: _Split) -> None:
        self.values = values
        self._split = split

    def __float__(self) -> float:
        raise TooManyPaths("the program needs a single number")

    def __index__(self) -> int:
        """How many rounds a repeated call makes at most; runs are parted by that."""
        (number,) = self._split.agreed(lambda: self.values.astype(np.intp)[:, None])
        return number

    def __add__(self, other: object) -> Lane:
        return self._with(operator.add, other)

    __radd__ = __add__

    def __mul__(self, other: object) -> Lane:
        return self._with(operator.mul, other)

    __rmul__ = __mul__

    def __sub__(self, other: object) -> Lane:
        return self._with(operator.sub, other)

    def __rsub__(self, other: object) -> Lane:
        return self._with(lambda mine, given: given - mine, other)

    def __truediv__(self, other: object) -> Lane:
        return self._with(operator.truediv, other)

    def __neg__(self) -> Lane:
        return Lane(-self.values, self._split)

    def __abs__(self) -> Lane:
        return Lane(np.abs(self.values), self._split)

    def __floor__(self) -> Lane:
        return Lane(np.floor(self.values), self._split)

    def __bool__(self) -> bool:
        return self._compared(0, operator.ne)

    def places_of_greatest(self, values: list[Any], count: int) -> list[int]:
        """Where the `count` greatest of these numbers stand; runs are parted by that."""
        if count == 0:
            return []

        def places() -> NDArray[np.intp]:
            rows = self._rows(values)
            if count == 1:
                return np.asarray(np.argmax(rows, axis=1)[:, None])
            return np.asarray(np.argsort(-rows, axis=1, kind="stable")[:, :count])

        return self._split.agreed(places)

    def greatest(self, values: list[Any]) -> Lane:
        """The greatest of these numbers, in each run."""
        return Lane(np.max(self._rows(values), axis=1), self._split)

    def _rows(self, values: list[Any]) -> Values:
        rows = np.empty((len(self.values), len(values)))
        for place, value in enumerate(values):
            rows[:, place] = _operand(value, self._split)
        return rows

    def _with(self, function: Callable[[Any, Any], Any], other: object) -> Lane:
        return Lane(function(self.values, _operand(other, self._split)), self._split)

    def _compared(self, other: object, holds: Callable[[Any, Any], Any]) -> bool:
        return self._split.answer(lambda: holds(self.values, _operand(other, self._split)))


def _operand(other: object, split: _Split) -> Any:
    match other:
        case Lane():
            split.check(other)
            return other.values
        case bool() | int() | float():
            return float(other)
        case Fraction():
            return other.numerator / other.denominator
        case np.generic():
            return other.item()
        case _:
            raise TooManyPaths(f"no arithmetic with a {type(other).__name__}")


class _Other(BaseException):
    """Runs were parted: the path goes on with fewer of them, so it starts again (not an error to catch)."""


class _Split:
    """The runs that take one path: their numbers, and the answers to what was asked on the way."""

    def __init__(self, runs: NDArray[np.intp], answers: tuple[tuple[int, ...], ...]) -> None:
        self.runs = runs
        self.answers = answers
        self.parts: list[_Split] = []
        self._asked = 0

    def answer(self, ask: Callable[[], NDArray[np.bool_]]) -> bool:
        """The answer of all runs. Raises _Other, with `parts` set, where they differ."""
        if self._asked == len(self.answers):
            found = ask()
            holding = int(np.count_nonzero(found))
            if 0 < holding < len(self.runs):
                found = np.asarray(found, dtype=np.bool_)
                self._part([((1,), found), ((0,), ~found)])
            self.answers = (*self.answers, (int(holding > 0),))
        self._asked += 1
        return bool(self.answers[self._asked - 1][0])

    def agreed(self, ask: Callable[[], NDArray[np.intp]]) -> list[int]:
        """The row of integers that all runs have. Raises _Other, with `parts` set, where they differ."""
        if self._asked == len(self.answers):
            distinct, which = np.unique(ask(), axis=0, return_inverse=True)
            which = which.ravel()
            if len(distinct) > 1:
                self._part([(tuple(row.tolist()), which == i) for i, row in enumerate(distinct)])
            self.answers = (*self.answers, tuple(distinct[0].tolist()))
        self._asked += 1
        return list(self.answers[self._asked - 1])

    def _part(self, parts: list[tuple[tuple[int, ...], NDArray[np.bool_]]]) -> None:
        self.parts = [_Split(self.runs[where], (*self.answers, answer)) for answer, where in parts]
        raise _Other

    def check(self, lane: Lane) -> None:
        if lane._split is not self:
            raise TooManyPaths("a number of another execution was kept")


class _LaneNoise(FloatingNoise):
    """The noise of one execution: standard exponential draws and signs of all runs, by their place in it."""

    laplaces, exponentials = OneByOne.laplaces, OneByOne.exponentials

    def __init__(self, split: _Split, tape: _Tape) -> None:
        self.remark = "not private (many runs at once)"
        self.begun = True
        self._split = split
        self._tape = tape
        self._next = 0

    def laplace(self, scale: Any) -> Any:
        magnitudes, signs = self._tape.draw(self._place(), self._split.runs)
        return Lane(np.where(signs, magnitudes, -magnitudes) * at_least(scale), self._split)

    def gumbel(self, scale: Any) -> Any:
        return Lane(-np.log(self._positive_unit()) * at_least(scale), self._split)

    def gaussian(self, scale: Any) -> Any:
        # As FloatingNoise does, with an angle that is uniform as exp(-E) is for a unit exponential E.
        radius, angle = np.sqrt(2 * self._unit()), 2 * np.pi * np.exp(-self._unit())
        return Lane(radius * np.cos(angle) * at_least(scale), self._split)

    def uniform(self, scale: Any) -> Any:
        return Lane(np.exp(-self._unit()) * at_least(scale), self._split)

    def bernoulli(self, p: Any) -> Any:
        return Lane((np.exp(-self._unit()) < _operand(chance(p), self._split)) * 1.0, self._split)

    def bernoulli_of_log_odds(self, log_odds: Any) -> Any:
        # As FloatingNoise does, with a uniform number as exp(-E) is for a unit exponential E.
        likely = 1 / (1 + np.exp(np.minimum(-_operand(log_odds, self._split), 700.0)))
        return Lane((np.exp(-self._unit()) < likely) * 1.0, self._split)

    def discrete_gaussian(self, scale: Any, step: Any) -> Any:
        # By inversion. Beyond nine deviations there is less than 1e-18.
        deviation = 1 / self._rate(scale, step)
        end = math.ceil(9 * deviation) + 1
        if end > _LONGEST_TABLE:
            raise TooManyPaths("a table of too many steps")
        steps = np.arange(-end, end + 1)
        below = np.cumsum(np.exp(-((steps / deviation) ** 2) / 2))
        drawn = np.searchsorted(below, np.exp(-self._unit()) * below[-1])
        return Lane((np.minimum(drawn, 2 * end) - end) * float(step), self._split)

    def choice(self, logs: Iterable[tuple[int, Any]]) -> int:
        # As FloatingNoise does: the greatest sum with Gumbel noise.
        indices, scores = [], []
        for index, log in logs:
            indices.append(index)
            scores.append(Lane(-np.log(self._positive_unit()), self._split).__add__(log))
        if not scores:
            raise NumericError("no index is eligible")
        return indices[scores[0].places_of_greatest(scores, 1)[0]]

    def logistic_at(self, location: Any, scale: Any, low: Any = None) -> Any:
        exponential = self._positive_unit()
        log_odds = exponential + np.log(-np.expm1(-exponential))
        width = at_least(scale)
        if low is None:
            return Lane(width * log_odds, self._split).__add__(location)
        distance = (location - low) / scale
        shift = np.logaddexp(0.0, distance.values if isinstance(distance, Lane) else float(distance))
        return Lane(width * np.logaddexp(0.0, log_odds + shift), self._split).__add__(low)

    def _unit_exponential(self) -> Any:
        return Lane(self._unit(), self._split)

    def _failures(self, rate: float) -> Any:
        if not rate > 0:
            raise NumericError("a noise scale is too large for a float")
        return Lane(np.floor(self._unit() / rate), self._split)

    def _place(self) -> int:
        self._next += 1
        return self._next - 1

    def _unit(self) -> Values:
        return self._tape.draw(self._place(), self._split.runs)[0]

    def _positive_unit(self) -> Values:
        return np.maximum(self._unit(), 2.0**-60)


class _Tape:
    """Draws, made when they are first asked for: `draw(i, …)` is the i-th of every run, on any path."""

    def __init__(self, runs: int, seed: np.random.SeedSequence) -> None:
        self._runs = runs
        self._generator = np.random.default_rng(seed)
        self._drawn: list[tuple[Values, NDArray[np.bool_]]] = []

    def draw(self, place: int, runs: NDArray[np.intp]) -> tuple[Values, NDArray[np.bool_]]:
        """Standard exponential numbers, and fair signs."""
        if place * self._runs >= _MOST_DRAWS:
            raise TooManyPaths("too many draws")
        while place >= len(self._drawn):
            bits = np.unpackbits(np.frombuffer(self._generator.bytes(-(-self._runs // 8)), np.uint8))
            drawn = self._generator.standard_exponential(self._runs)
            self._drawn.append((drawn, bits[: self._runs].astype(np.bool_)))
        magnitudes, signs = self._drawn[place]
        if len(runs) == self._runs:
            return magnitudes, signs
        return magnitudes[runs], signs[runs]


@dataclass(frozen=True, slots=True)
class _Path:
    """What the runs of one path released: categories and numbers, in order."""

    runs: NDArray[np.intp]
    entries: tuple[str | float | Values, ...]


def run_lanes(
    execute: Callable[[Noise], Result[Any]], runs: int, seed: np.random.SeedSequence, name: str
) -> Outputs:
    """The outputs of `runs` independent runs of a mechanism, by executing each path once.

    `execute` runs the mechanism with a noise source; all that is random in it must come from there.

    Raises:
        TooManyPaths: it pays no more than single runs, or the program cannot be run so.
    """
    tape = _Tape(runs, seed)
    waiting = [_Split(np.arange(runs), ())]
    paths: list[_Path] = []
    executed = 0
    while waiting:
        split = waiting.pop()
        executed += 1
        if executed * _FEWEST_RUNS_PER_PATH > runs + 64 * _FEWEST_RUNS_PER_PATH:
            raise TooManyPaths("too many paths")
        try:
            result = execute(_LaneNoise(split, tape))
        except _Other:
            waiting += split.parts
            continue
        except (TypeError, AttributeError, ValueError) as error:
            # No fault of the mechanism: single runs will tell, if there is one.
            raise TooManyPaths(str(error)) from None
        paths.append(_Path(split.runs, tuple(_entries(result))))
    return _outputs(paths, runs, name)


def _entries(result: Result[Any]) -> Iterable[str | float | Values]:
    for record in result.records:
        yield repr(record.tag)
        for field in dataclasses.fields(record):
            yield _entry(getattr(record, field.name))


def _entry(value: object) -> str | float | Values:
    match value:
        case Lane(values=values):
            return values
        case bool() | np.bool_():
            return repr(bool(value))
        case int() | float() | Fraction() | np.generic():
            return float(value)
        case _:
            raise TooManyPaths(f"a record holds a {type(value).__name__}")


def _outputs(paths: list[_Path], runs: int, name: str) -> Outputs:
    width = max(len(path.entries) for path in paths)
    if width > LONGEST:
        raise CannotTest(f"`{name}` released {width} tags and fields: at most {LONGEST} can be tested")
    labels = tuple(dict.fromkeys(entry for path in paths for entry in path.entries if isinstance(entry, str)))
    codes = np.full((runs, width), ABSENT, dtype=np.int16, order="F")
    numbers_ = np.full((runs, width), np.nan, order="F")
    for path in paths:
        for place, entry in enumerate(path.entries):
            if isinstance(entry, str):
                codes[path.runs, place] = labels.index(entry)
                continue
            codes[path.runs, place] = NUMBER
            numbers_[path.runs, place] = entry
    if np.isnan(numbers_[codes == NUMBER]).any():
        raise CannotTest(f"`{name}` released NaN")
    return Outputs(runs, numbers_, codes, labels, listed=True)
