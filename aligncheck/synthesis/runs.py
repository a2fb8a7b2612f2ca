"""Concrete pairs of runs, against which candidates are held before anything is proved.

The run on D does not depend on the alignment and is made once. The seed and the number of runs are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from random import Random

from aligncheck.language.families import Lattice
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning import exact
from aligncheck.meaning.alignment import run_on_d
from aligncheck.meaning.exact import Undecided, Undefined, Value
from aligncheck.meaning.interpreter import (
    Draw,
    Finished,
    Inputs,
    Machine,
    NoiseKey,
    Run,
    RunScope,
    Stopped,
    number_of,
)
from aligncheck.meaning.replay import Replay, replay
from aligncheck.meaning.scenario import Scenario, ScenarioError
from aligncheck.refutation import databases

SIZE = 150
"""So many pairs are kept."""
_TRIES = 900
_IN_VAIN = 20
"""So many runs at the start that do not come to their end show that others will not, either."""
_LENGTHS = (2, 1, 3)
_CHOICES = 6
_STEPS = 2_000
_LEVELS = (0, 0, 1, -1, 2, -2)
_NEAR = (0, 0, 1, -1, 2, -2)
_FAR = (0, 1, -1, 3, -3, 64, -64)

NO_RUN = (ScenarioError, Undecided, Undefined, Stopped, RecursionError, ZeroDivisionError)
"""What a run may raise that has no value."""


@dataclass(frozen=True)
class StoredPair:
    """One pair of databases with noise, and the run on D; `memo` is what is known of candidates on it."""

    scenario: Scenario
    run: Run
    machine: Machine
    drawn: frozenset[str]
    memo: dict[object, bool] = field(default_factory=dict)

    def replayed(self, mechanism: n.Mechanism) -> Replay:
        """Both runs, with the alignment of a mechanism. Raises one of `NO_RUN`."""
        return replay(mechanism, self.scenario, _STEPS, (self.run, self.machine))

    def breaks(self, mechanism: n.Mechanism) -> bool:
        """Whether the alignment of a mechanism violates a condition here; False where that cannot be told."""
        try:
            return bool(self.replayed(mechanism).violations)
        except NO_RUN:
            return False

    def ever(self, mechanism: n.Mechanism, name: str) -> bool:
        """Whether the one line of the alignment moves any draw of a variable by something else than 0; True
        where that cannot be told.
        """
        try:
            done = self.replayed(mechanism)
        except NO_RUN:
            return True
        seen = {step.on_d_prime.key for step in done.steps if isinstance(step.on_d_prime, Draw)}
        whole = {draw.key for draw in self.run.draws if draw.name == name} <= seen
        moves = any(
            step.shift for step in done.steps if isinstance(step.on_d, Draw) and step.on_d.name == name
        )
        return moves or not whole


def pair_of(mechanism: n.Mechanism, scenario: Scenario) -> StoredPair | None:
    """The run on D of a legal scenario that comes to its end, or None."""
    try:
        run, machine = run_on_d(mechanism, scenario, _STEPS)
    except NO_RUN:
        return None
    if not isinstance(run.ended, Finished):
        return None
    return StoredPair(scenario, run, machine, frozenset(draw.name for draw in run.draws))


def some_pairs(mechanism: n.Mechanism, size: int = SIZE) -> list[StoredPair]:
    """Up to `size` of the `pairs`."""
    return list(islice(pairs(mechanism), size))


def pairs(mechanism: n.Mechanism) -> Iterator[StoredPair]:
    """Pairs, each made when it is asked for: answers and noise are small multiples of the sensitivity, so
    that ties and equal sums occur, and some noise is far out.
    """
    found = False
    for number, scenario in enumerate(_scenarios(mechanism, Random(0))):
        if number >= (_TRIES if found else _IN_VAIN):
            break
        pair = pair_of(mechanism, scenario)
        if pair is not None:
            found = True
            yield pair


def _scenarios(mechanism: n.Mechanism, chance: Random) -> Iterator[Scenario]:
    starts = [
        (length, start)
        for length in _LENGTHS
        for parameters in databases.parameter_choices(mechanism, length, {})[:_CHOICES]
        for start in databases.starting_databases(mechanism, length, parameters)[:1]
    ]
    while starts:
        length, start = chance.choice(starts)
        yield _varied(mechanism, start, length, chance)


def _varied(mechanism: n.Mechanism, start: Scenario, length: int, chance: Random) -> Scenario:
    """A pair around a database: other answers where these are legal, a neighbour, noise."""
    spots = databases.spots_of(mechanism, start.data)
    steps = {(spot.name, spot.index): databases.step_at(spot, start.parameters) for spot in spots}
    data = start.data
    for spot in spots:
        step = steps[spot.name, spot.index]
        data = databases.with_answer(data, spot, _answer(spot, start.parameters, step, chance, data))
    pair = Scenario(start.parameters, data, data)
    if not databases.legal(mechanism, pair):
        pair = start
    signs = _signs(spots, chance)
    moves = {
        key: sign * step for (key, step), sign in zip(steps.items(), signs, strict=True) if sign and step
    }
    other = databases.moved(pair, moves)
    if any(spot.group.same_index or spot.group.same_direction for spot in spots):
        other = chance.choice(databases.neighbours(mechanism, pair) or [pair])
    unit = max(steps.values(), default=Fraction(1)) or Fraction(1)
    noise = tuple(_noise(mechanism, start.parameters, unit, length, chance))
    return Scenario(pair.parameters, other.data, other.data_prime, noise)


def _answer(spot: databases.Spot, parameters: Inputs, step: Fraction, chance: Random, data: Inputs) -> Value:
    if spot.group.adjacency.free and spot.group.range is not None:
        ends = [number_of(end, RunScope(dict(parameters))) for end in spot.group.range]
        return chance.choice(ends)
    held = dict(data)[spot.name]
    value = held[spot.index] if isinstance(held, tuple) and spot.index is not None else held
    if isinstance(value, tuple | bool):
        return Fraction(0)
    return exact.add(value, (step or Fraction(1)) * chance.choice(_LEVELS))


def _signs(spots: list[databases.Spot], chance: Random) -> list[int]:
    """Which answers go up and down, as the adjacency of their group allows."""
    found: list[int] = []
    for group in dict.fromkeys(spot.group for spot in spots):
        count = sum(spot.group is group or spot.group == group for spot in spots)
        few = 1 if group.adjacency.together else len(group.adjacency.ways)
        style = chance.choice(((1,), (-1,), (1, -1), (0, 1), (0, -1), (0, 1, -1)))
        signs = [chance.choice(style) for _ in range(count)]
        if few:
            ways = [way.sign or chance.choice((1, -1)) for way in group.adjacency.ways] or [
                chance.choice((1, -1))
            ]
            places = chance.sample(range(count), min(count, len(ways)))
            signs = [0] * count
            for place, sign in zip(places, ways, strict=False):
                signs[place] = sign
        elif group.adjacency.one_way:
            up = chance.choice((1, -1))
            signs = [up * abs(sign) for sign in signs]
        found += signs
    return found


def _noise(
    mechanism: n.Mechanism, parameters: Inputs, unit: Fraction, length: int, chance: Random
) -> Iterator[tuple[NoiseKey, Value]]:
    seen: set[str] = set()
    for s in statements_in(mechanism.body):
        if not isinstance(s, n.Sample) or s.name in seen:
            continue
        seen.add(s.name)
        grain = _grain(s, parameters)
        for index in (None,) if s.index is None else range(length + 2):
            size = unit * chance.choice(_FAR if chance.random() < 0.3 else _NEAR)
            value = size if grain is None else Fraction(round(size / grain)) * grain
            value = abs(value) if s.family.one_sided else value
            yield (s.name, index), (value % 2 if s.family.coin else value)


def _grain(s: n.Sample, parameters: Inputs) -> Fraction | None:
    match s.family.row.lattice:
        case Lattice.NONE:
            return None
        case Lattice.WHOLE:
            return Fraction(1)
        case Lattice.STEP:
            try:
                step = number_of(s.args[1], RunScope(dict(parameters)))
            except NO_RUN:
                return Fraction(1)
            return step if isinstance(step, Fraction) and step > 0 else Fraction(1)
