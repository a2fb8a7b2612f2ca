"""Lemma 1 replayed: what a proof says of all runs, looked at on some, with exact arithmetic.

For small D and D' and noise (ties and extremes among it) the aligned noise must give the same output, at a
cost within the claim, and no other noise may be taken to the same place; where noise is continuous, the
alignment must keep volumes where it is smooth. This uses the interpreter and the replay alone, nothing of the
prover.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from random import Random
from typing import TypeAlias

from random_pairs import scenarios

from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Undecided, Value
from aligncheck.meaning.interpreter import Draw, Finished, NoiseKey
from aligncheck.meaning.replay import Replay, aligned, replay
from aligncheck.meaning.scenario import Scenario, ScenarioError

Noise: TypeAlias = tuple[tuple[NoiseKey, Fraction], ...]
"""All draws of a run, in order."""
PAIRS, CLOSELY = 16, 3
"""So many pairs of databases are looked at with one noise vector, so many of them with several."""
BESIDE, AIMED = 10, 10
LIMIT = 400
NEAR = (0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 9)
TINY = Fraction(1, 2**20)


@dataclass(frozen=True, slots=True)
class Fault:
    """What a proof rules out, and where it happens."""

    what: str
    scenario: Scenario

    def __str__(self) -> str:
        return f"{self.what}: {self.scenario}"


@dataclass(slots=True)
class Looked:
    """How much was looked at."""

    replays: int = 0
    finished: int = 0
    images: int = 0
    volumes: int = 0
    cycles: int = 0


def first_fault(
    mechanism: Mechanism, seed: int, looked: Looked | None = None, effort: int = 1
) -> Fault | None:
    """A fault of the alignment, if a run shows one; `effort` times as many pairs are looked at."""
    return next(faults(mechanism, seed, looked or Looked(), effort), None)


def faults(mechanism: Mechanism, seed: int, looked: Looked, effort: int = 1) -> Iterator[Fault]:
    """On some pairs of databases."""
    chance = Random(seed)
    closely = CLOSELY * effort
    for scenario in islice(scenarios(mechanism, seed), PAIRS * effort):
        pair = _Pair(mechanism, scenario, chance, looked)
        yield from pair.faults(closely > 0)
        closely -= bool(scenario.noise)


class _Pair:
    """One D and D', and the images of the noises looked at."""

    def __init__(self, mechanism: Mechanism, scenario: Scenario, chance: Random, looked: Looked) -> None:
        self._mechanism = mechanism
        self._scenario = scenario
        self._chance = chance
        self._looked = looked
        self._found: list[Fault] = []
        self._images: dict[Noise, Noise] = {}
        self._from: dict[Noise, Noise] = {}

    def faults(self, closely: bool) -> Iterator[Fault]:
        """Of the scenario's noise; `closely`: also of noise near 0, and of noise that others' shifts would
        take to the same place.
        """
        done = self._replayed(dict(self._scenario.noise))
        if done is None or not closely or not done.run_d.draws:
            yield from self._found
            return
        first = done.run_d.draws
        for _ in range(BESIDE):
            off = self._chance.random() < 0.75
            self._replayed({draw.key: self._near(draw, place, off) for place, draw in enumerate(first)})
        for candidate in self._aimed():
            self._replayed(candidate)
        for noise in list(self._images)[:2]:
            self._volume(noise, first)
        yield from self._found

    def _near(self, draw: Draw, place: int, off: bool) -> Fraction:
        """Small noise; continuous noise may be `off` the whole numbers, where tests change their minds."""
        size = Fraction(self._chance.choice(NEAR))
        if not draw.family.one_sided:
            size *= self._chance.choice((1, -1))
        if not draw.family.discrete:
            return size + Fraction(2 * place + 3, 256) if off else size
        if draw.family.stepped and isinstance(draw.args[1], Fraction):
            return size * draw.args[1]
        return size

    def _aimed(self) -> list[dict[NoiseKey, Fraction]]:
        """Where a shift that was seen would come from, to arrive at an image that was seen."""
        shifts = {
            tuple(g - h for (_, h), (_, g) in zip(noise, image, strict=True))
            for noise, image in self._images.items()
            if [key for key, _ in noise] == [key for key, _ in image]
        }
        every = [
            {key: value - by for (key, value), by in zip(image, shift, strict=True)}
            for image in self._from
            for shift in sorted(shifts)
            if len(shift) == len(image)
        ]
        new = [one for one in every if tuple(one.items()) not in self._images]
        return self._chance.sample(new, min(AIMED, len(new)))

    def _replayed(self, noise: Mapping[NoiseKey, Value]) -> Replay | None:
        """The replay with this noise, its faults noted; None where the noise is impossible or not decided."""
        scenario = replace(self._scenario, noise=tuple(noise.items()))
        try:
            done = replay(self._mechanism, scenario, LIMIT)
            self._looked.replays += 1
            self._found += [Fault(f"{v.condition.id}: {v.message}", scenario) for v in done.violations]
            self._looked.cycles += bool(done.cycle)
            if not isinstance(done.run_d.ended, Finished):
                return done
            self._looked.finished += 1
            if not done.violations:
                self._look_at(scenario, done)
        except (ScenarioError, Undecided):
            return None
        return done

    def _look_at(self, scenario: Scenario, done: Replay) -> None:
        here = _exact(tuple((draw.key, draw.value) for draw in done.run_d.draws))
        there = _exact(aligned(done))
        if here is None or there is None or not all(map(_in_general_position, done.run_d.draws)):
            return
        self._looked.images += 1
        self._images[here] = there
        before = self._from.setdefault(there, here)
        if before != here:
            text = ", ".join(f"{dict(noise)}" for noise in (before, here))
            self._found.append(Fault(f"one image for two noise vectors: {text}", scenario))

    def _image(self, noise: Noise) -> Noise | None:
        done = replay(self._mechanism, replace(self._scenario, noise=noise), LIMIT)
        return _exact(aligned(done))

    def _volume(self, noise: Noise, draws: tuple[Draw, ...]) -> None:
        """|det J| where the alignment is smooth: the same difference quotient at three distances."""
        moving = [draw.key for draw in draws if not draw.family.discrete]
        try:
            columns = [column for key in moving if (column := self._column(noise, key, moving)) is not None]
        except (ScenarioError, Undecided):
            return
        if not moving or len(columns) != len(moving):
            return
        self._looked.volumes += 1
        found = determinant(columns)
        if abs(found) != 1:
            scenario = replace(self._scenario, noise=noise)
            self._found.append(Fault(f"volumes change by a factor of {abs(found)}", scenario))

    def _column(self, noise: Noise, key: NoiseKey, rows: list[NoiseKey]) -> list[Fraction] | None:
        seen: list[list[Fraction]] = []
        base = self._images[noise]
        for by in (TINY, TINY / 2, -TINY):
            image = self._image(tuple((k, v + by if k == key else v) for k, v in noise))
            if image is None or [k for k, _ in image] != [k for k, _ in base]:
                return None
            moved = dict(image)
            if any(k not in moved for k in rows):
                return None
            seen.append([(moved[k] - dict(base)[k]) / by for k in rows])
        return seen[0] if seen[0] == seen[1] == seen[2] else None


def _in_general_position(draw: Draw) -> bool:
    """On a null set an alignment may do anything: continuous noise is to be off the numbers in tests."""
    return draw.family.discrete or not exact.is_multiple(draw.value, Fraction(1, 4))


def _exact(noise: tuple[tuple[NoiseKey, object], ...]) -> Noise | None:
    """None where a number is irrational."""
    found = tuple((key, value) for key, value in noise if isinstance(value, Fraction))
    return found if len(found) == len(noise) else None


def determinant(columns: list[list[Fraction]]) -> Fraction:
    """By elimination."""
    rows = [list(column) for column in columns]
    found = Fraction(1)
    for k in range(len(rows)):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k] != 0), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            found = -found
        found *= rows[k][k]
        for r in range(k + 1, len(rows)):
            factor = rows[r][k] / rows[k][k]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
    return found
