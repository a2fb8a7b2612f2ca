"""Concrete pairs of runs, against which candidates are held before anything is proved.

The run on D does not depend on the alignment and is made once. The seed and the number of runs are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from aligncheck.language.syntax import nodes as n
from aligncheck.meaning.alignment import run_on_d
from aligncheck.meaning.exact import Undecided, Undefined
from aligncheck.meaning.interpreter import Draw, Finished, Machine, Run, Stopped
from aligncheck.meaning.replay import Replay, replay
from aligncheck.meaning.scenario import Scenario, ScenarioError
from aligncheck.search.failing.counterexamples import INTEGERS, groundings, lists_of
from aligncheck.search.failing.sample import scenarios

SIZE = 150
"""So many pairs are kept."""
_TRIES = 900
_IN_VAIN = 20
"""So many runs at the start that do not come to their end show that others will not, either."""
_LENGTHS = (2, 1, 3)
_CHOICES = 6
_STEPS = 2_000

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


def pairs(mechanism: n.Mechanism) -> Iterator[StoredPair]:
    """Pairs, each made when it is asked for: answers and noise are small multiples of the sensitivity, so
    that ties and equal sums occur; in half of them some noise is far out.
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
        (parameters, lengths)
        for lengths in (dict.fromkeys(lists_of(mechanism), length) for length in _LENGTHS)
        for parameters in islice(groundings(mechanism, lengths, INTEGERS), _CHOICES)
    ]
    while starts:
        parameters, lengths = chance.choice(starts)
        yield next(scenarios(mechanism, parameters, lengths, chance, far=chance.random() < 1 / 2))
