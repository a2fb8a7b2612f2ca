"""Runs with refined noise beside runs on the same noise with all of its digits: the same decisions are made.

The lattice is far coarser than the noise here, so that most decisions need digits below it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle import compiled
from recorded_noise import RecordedNoise

from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.exact_noise import RefinedNoise
from aligncheck.runtime.refined import RefinedNumber

SPECS = Path(__file__).parents[2] / "specs"
GAMMA = Fraction(1)
DIGITS = 200
RUNS = 40
ANSWERS = [3, 1, 2, 3, 2, 0, 3, 1]
CASES: list[tuple[str, Mapping[str, Any]]] = [
    ("adaptive_svt", {"T": 2, "k": 3, "eps": 90}),
    ("noisy_max_gap", {"eps": 9}),
    ("noisy_max_loop", {"eps": 9}),
    ("noisy_topk_gap", {"k": 3, "eps": 20}),
    ("noisy_topk_gap_exp", {"k": 3, "eps": 20}),
    ("numeric_sparse", {"T": 2, "N": 3, "eps": 60}),
    ("smart_sum", {"M": 2, "eps": 9}),
]


class Kept(RefinedNoise):
    """Remembers its draws in order."""

    def __init__(self, seed: int) -> None:
        super().__init__(GAMMA, SeededBits(seed))
        self.drawn: list[RefinedNumber] = []

    def exponential(self, scale: Any) -> Any:
        self.drawn.append(super().exponential(scale))
        return self.drawn[-1]

    def laplace(self, scale: Any) -> Any:
        self.drawn.append(super().laplace(scale))
        return self.drawn[-1]

    def exponentials(self, scale: Any, count: int) -> Any:
        many = super().exponentials(scale, count)
        self.drawn += many
        return many

    def laplaces(self, scale: Any, count: int) -> Any:
        many = super().laplaces(scale, count)
        self.drawn += many
        return many

    def tape(self) -> list[Fraction]:
        """The draws with as many digits as nobody has asked for."""
        return [complete(number) for number in self.drawn]


def complete(number: RefinedNumber) -> Fraction:
    value = Fraction(number.steps)
    for (rests, place), coefficient in number.terms.items():
        value += coefficient * Fraction(rests.digits(place, DIGITS), 1 << DIGITS)
    return value * number.unit + Fraction(number.top, number.bottom)


def released(record: Any) -> list[Any]:
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


@pytest.mark.parametrize(("stem", "parameters"), CASES, ids=[stem for stem, _ in CASES])
def test_refined_runs_decide_as_all_digits_do(stem: str, parameters: Mapping[str, Any]) -> None:
    source = read_source(str(SPECS / f"{stem}.dp"))
    made: Any = compiled(check(source, parse(source)), RunMode.REFINED)
    outputs = set()
    for seed in range(RUNS):
        kept = Kept(seed)
        found = made(**parameters, gamma=GAMMA).with_noise(kept)(ANSWERS).records
        tape = RecordedNoise(kept.tape())
        wanted = made(**parameters, gamma=GAMMA).with_noise(tape)(ANSWERS).records
        assert [record.tag for record in found] == [record.tag for record in wanted]
        for mine, exact in zip(found, wanted, strict=True):
            for got, number in zip(released(mine), released(exact), strict=True):
                assert got in (number, math.floor(number / GAMMA) * GAMMA)
                assert isinstance(got, int) or got == number or (got / GAMMA).denominator == 1
        outputs.add(str([(record.tag, *released(record)) for record in found]))
    assert len(outputs) > 2
