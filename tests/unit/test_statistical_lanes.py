"""Compiled mechanisms, many runs at once: each run does what it would do alone with the same noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import compiled
from small_specs import named

from aligncheck.runtime import FloatingNoise, argmax_of
from aligncheck.runtime.reals import at_least, at_most
from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.compiled import Compiled, _may_differ
from aligncheck.statistical.event_choice import choose
from aligncheck.statistical.lanes import TooManyPaths, _Tape, run_lanes
from aligncheck.statistical.outputs import NUMBER, Outputs, outputs_of

SPECS = Path(__file__).parents[2] / "specs"
Q = [1.0, 2.0, 0.0, 1.0, 3.0]


def made(stem: str, **parameters: Any) -> Any:
    return compiled(named(stem))(**parameters)


class TapeNoise:
    """The draws of one run, as plain floats: written down again, so that it can disagree."""

    remark: str | None = "not private (tape)"

    def __init__(self, tape: _Tape, run: int) -> None:
        self._tape, self._run, self._next = tape, np.array([run]), 0

    def answer(self, value: Fraction | float, exact: bool = False) -> float:
        return float(value)

    def answers(self, values: Iterable[Fraction | float], exact: bool = False) -> list[float]:
        return [float(value) for value in values]

    def released(self, value: Any) -> Any:
        return value

    def inside(self) -> TapeNoise:
        return self

    def _draw(self) -> tuple[float, bool]:
        magnitudes, signs = self._tape.draw(self._next, self._run)
        self._next += 1
        return float(magnitudes[0]), bool(signs[0])

    def laplace(self, scale: Any) -> float:
        magnitude, positive = self._draw()
        return magnitude * at_least(scale) if positive else -magnitude * at_least(scale)

    def exponential(self, scale: Any) -> float:
        return self._draw()[0] * at_least(scale)

    def geometric(self, p: Any) -> int:
        return math.floor(self._draw()[0] / -math.log1p(-at_most(p)))

    def geometric_of_rate(self, rate: Any) -> int:
        return math.floor(self._draw()[0] / at_most(rate))

    def discrete_laplace(self, scale: Any, step: Any) -> Any:
        rate = at_most(step / scale)
        return step * (math.floor(self._draw()[0] / rate) - math.floor(self._draw()[0] / rate))

    def choice(self, logs: Iterable[tuple[int, Any]]) -> int:
        return argmax_of((index, log - math.log(self._draw()[0])) for index, log in logs)

    def logistic_at(self, location: Any, scale: Any, low: Any = None) -> float:
        """By inversion of the conditional distribution: P(X > x | X > low) = exp(-E)."""
        exponential = self._draw()[0]
        if low is None:
            return float(location + scale * math.log(math.expm1(exponential)))
        below = math.exp((low - location) / scale)
        return float(location + scale * math.log(math.exp(exponential) * (1 + below) - 1))

    def laplaces(self, scale: Any, count: int) -> list[Any]:
        return [self.laplace(scale) for _ in range(count)]

    def exponentials(self, scale: Any, count: int) -> list[Any]:
        return [self.exponential(scale) for _ in range(count)]

    def geometrics(self, p: Any, count: int) -> list[int]:
        return [self.geometric(p) for _ in range(count)]

    def discrete_laplaces(self, scale: Any, step: Any, count: int) -> list[Any]:
        return [self.discrete_laplace(scale, step) for _ in range(count)]


def rows(outputs: Outputs) -> list[list[Any]]:
    assert outputs.codes is not None
    numbers_of_runs = np.full(outputs.codes.shape, np.nan) if outputs.numbers is None else outputs.numbers
    found = []
    for codes, numbers in zip(outputs.codes.tolist(), numbers_of_runs.tolist(), strict=True):
        row = [
            number if code == NUMBER else outputs.labels[code]
            for code, number in zip(codes, numbers, strict=True)
            if code != -1
        ]
        found.append(row)
    return found


CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("adaptive_svt", {"T": 1, "k": 2, "eps": 2}, Q),
    ("svt_with_gap_geometric", {"T": 1, "k": 1, "eps": 1}, [1, 2, 0, 1, 3]),
    ("noisy_max", {"eps": 1}, Q),
    ("noisy_max_loop", {"eps": 1}, Q),
    ("noisy_topk_gap", {"k": 2, "eps": 1}, Q),
    ("noisy_topk_gap_exp", {"k": 2, "eps": 1}, Q),
    ("noisy_max_discrete", {"m": 1, "g": 1, "eps": 1}, [1, 2, 0, 1, 3]),
    ("exponential_mechanism", {"Delta": 1, "eps": 1}, Q),
    ("exponential_mechanism_gap", {"Delta": 1, "eps": 1}, Q),
    ("smart_sum", {"M": 2, "eps": 1}, Q),
    ("histogram", {"eps": 1}, Q),
    ("redrawn_count", {"low": 0, "high": 3, "p": "1/2", "eps": 4}, 1.0),
    ("broken/noisy_min_exp", {"eps": 1}, Q),
]


@pytest.mark.parametrize(("stem", "parameters", "q"), CASES, ids=[stem for stem, _, _ in CASES])
def test_each_run_does_what_it_would_do_alone(stem: str, parameters: dict[str, Any], q: Any) -> None:
    runs, seed = 300, np.random.SeedSequence(5)
    mechanism = made(stem, **parameters)
    together = rows(run_lanes(lambda noise: mechanism.with_noise(noise)(q), runs, seed, "f"))
    tape = _Tape(runs, seed)
    for run in range(0, runs, 7):
        alone = rows(outputs_of([mechanism.with_noise(TapeNoise(tape, run))(q)], "f"))[0]
        assert len(together[run]) == len(alone)
        for ours, theirs in zip(together[run], alone, strict=True):
            assert ours == (theirs if isinstance(theirs, str) else pytest.approx(theirs, rel=1e-9, abs=1e-9))


def test_draws_are_as_those_of_the_runtime() -> None:
    """Counts of the index that wins, beside those of single runs."""
    runs = 4_000
    mechanism = made("noisy_max", eps=1)
    together = Counter(row[-1] for row in rows(Compiled(mechanism).run(Q, runs, np.random.SeedSequence(1))))
    noise = FloatingNoise(1)
    alone = Counter(mechanism.with_noise(noise)(Q).records[0].index for _ in range(runs))
    for index in range(len(Q)):
        deviation = math.sqrt(together[index] + alone[index])
        assert abs(together[index] - alone[index]) < 4.5 * deviation


def test_a_program_that_needs_single_numbers_is_run_once_per_run() -> None:
    def peeking(noise: Any) -> Any:
        return float(noise.laplace(1))

    with pytest.raises(TooManyPaths, match="single number"):
        run_lanes(peeking, 100, np.random.SeedSequence(1), "f")


def test_a_program_that_parts_all_runs_is_run_once_per_run() -> None:
    result = made("noisy_max", eps=1, testing_seed=1)(Q)

    def counting(noise: Any) -> Any:
        draw, steps = noise.laplace(100), 0
        while steps < 1_000 and draw > steps / 10:
            steps += 1
        return result

    with pytest.raises(TooManyPaths, match="too many paths"):
        run_lanes(counting, 2_000, np.random.SeedSequence(1), "f")


def test_whole_floats_are_integers_where_the_spec_has_such() -> None:
    """Under `l1` a mechanism takes no floats for integers."""
    mechanism = Compiled(made("laplace_discrete", Delta=1, eps=1))
    assert mechanism.run([1.0, 2.0], 10, np.random.SeedSequence(1)).runs == 10
    with pytest.raises(CannotTest, match=r"`q\[0\]` must be an integer"):
        mechanism.run([1.5], 10, np.random.SeedSequence(1))


def test_equal_seeds_give_equal_runs() -> None:
    mechanism = Compiled(made("adaptive_svt", T=1, k=1, eps=1))
    a, b, c = (mechanism.run(Q, 500, np.random.SeedSequence(seed)) for seed in (1, 1, 2))
    assert rows(a) == rows(b) != rows(c)


@pytest.mark.parametrize(
    ("stem", "parameters", "pair"),
    [
        ("broken/histogram_wrong_scale", {"eps": Fraction(1, 2)}, ([1.0] * 3, [2.0, 1.0, 1.0])),
        ("broken/noisy_max_half_noise", {"eps": 1}, ([1.0] * 5, [2.0, 0.0, 0.0, 0.0, 0.0])),
    ],
)
def test_broken_specs_compiled_all_the_same_show_it(stem: str, parameters: dict[str, Any], pair: Any) -> None:
    mechanism = Compiled(made(stem, **parameters))
    first, second = (mechanism.run(q, 20_000, np.random.SeedSequence(i)) for i, q in enumerate(pair))
    (choice,) = choose(first, second, [(float(parameters["eps"]), 0.0)])
    assert choice is not None
    assert choice.score > 5


@pytest.mark.parametrize("adjacency", ["all", "any", "one", "moved", None])
def test_one_answer_may_move(adjacency: str | None) -> None:
    assert _may_differ([0.0, 1.0], adjacency, 1.0)


def test_an_adjacency_that_is_not_known_is_no_accusation() -> None:
    with pytest.raises(CannotTest, match="under `near`"):
        _may_differ([0.0, 1.0], "near", 1.0)
