"""The search as a whole: from a mechanism to a certified violation, or to the strongest ratio seen."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from aligncheck.exact import Undecided, Undefined
from aligncheck.interpreter import Inputs, Stopped
from aligncheck.refute.candidates import legal, neighbours, parameter_choices, starting_databases
from aligncheck.refute.certify import certified
from aligncheck.refute.claims import claim_for
from aligncheck.refute.cuts import with_cuts
from aligncheck.refute.events import Event
from aligncheck.refute.measure import Meter
from aligncheck.refute.outputs import outputs_of
from aligncheck.refute.parting import parting_pair
from aligncheck.refute.probability import OutOfTime
from aligncheck.refute.search import Candidate, Scored, best_neighbour, climbed, grown, score, unit_of
from aligncheck.refute.violation import Attempt, Finding, Grown, Kind, NoViolation, Violation
from aligncheck.scenario import Scenario
from aligncheck.syntax import nodes
from aligncheck.syntax.nodes import Mechanism

SECONDS = 4.0
"""How long a search takes at most, the certificate included, unless the caller says otherwise."""
_RESERVE = 0.25
"""The share of the time that is kept for the certificate and what comes with it."""
LONGEST = 10
_SURVEYED = (1, 2, 3, 4, 5)
"""Lengths whose outputs are looked at one by one; longer inputs grow from shorter ones."""
_RUNS = 30
_OUTPUTS = 10
"""So many different outputs are looked at for each database."""
_CLIMBERS = 3
_WORTH = 0.01
"""Longer inputs are tried for as long as each adds this much, in units of the claim."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What is fixed, and where to look first.

    `fixed` are values of public inputs. `hints` are pairs of databases to look at first, such as those on
    which a proof failed; they need not be legal. `seconds` bounds the search.
    """

    fixed: Inputs = ()
    hints: tuple[Scenario, ...] = ()
    seconds: float = SECONDS


def load() -> None:
    """Imports all that a search needs, so that processes forked afterwards need not."""
    import flint  # noqa: F401
    import sympy  # noqa: F401


def refute(mechanism: Mechanism, aim: Aim) -> Finding:
    """A certified violation of the claim of a checked mechanism, or the strongest ratio that was seen.

    Nothing that is known of a proof is used: a verified mechanism is searched like any other.
    """
    end = time.monotonic() + aim.seconds
    meter = Meter(mechanism, end - _RESERVE * aim.seconds)
    hunt = _Hunt(meter)
    with suppress(OutOfTime):
        hunt.search(aim)
    for scored in hunt.ranked():
        if not scored.violates:
            break
        meter.deadline = end
        violation = certified(mechanism, scored.candidate, end)
        if violation is not None:
            return _with_family(mechanism, violation, hunt.by_length, end)
    return NoViolation(hunt.attempt(), meter.asked, tuple(meter.left_out))


class _Hunt:
    """A search under way: the best candidates so far, overall and for each length of the input."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._mechanism = meter.mechanism
        self.by_length: dict[int, Scored] = {}
        self._found: list[Scored] = []

    def ranked(self) -> list[Scored]:
        """The best first; of equal ones the shorter input."""
        best = sorted(self.by_length.items(), key=lambda pair: (-pair[1].score, pair[0]))
        return [scored for _, scored in best]

    def attempt(self) -> Attempt | None:
        """The strongest ratio."""
        for scored in self.ranked():
            scenario, event = scored.candidate.scenario, scored.candidate.event
            try:
                claim = claim_for(self._mechanism, scenario, event)
            except (Stopped, Undecided, Undefined):
                continue
            return Attempt(scenario, event, scored.level, claim)
        return None

    @property
    def _best(self) -> Scored | None:
        return max(self.by_length.values(), key=lambda scored: scored.score, default=None)

    def _consider(self, scored: Scored | None) -> None:
        if scored is None:
            return
        length = _length(scored.candidate.scenario)
        held = self.by_length.get(length)
        if held is None or scored.score > held.score:
            self.by_length[length] = scored

    def _is_over(self) -> bool:
        """Whether the worst was found: an output that is impossible on D'."""
        return self._best is not None and self._best.level == math.inf

    def search(self, aim: Aim) -> None:
        """Look at short inputs, then longer ones. Raises `OutOfTime`."""
        for hint in aim.hints:
            if legal(self._mechanism, hint):
                self._survey(Scenario(hint.parameters, hint.data, hint.data_prime))
        fixed = dict(aim.fixed)
        lengths = _SURVEYED if _has_lists(self._mechanism) else (1,)
        choices = {length: parameter_choices(self._mechanism, length, fixed) for length in lengths}
        for length in lengths:
            for parameters in choices[length][:1]:
                self._look(length, parameters)
                if self._is_over():
                    return
            if self._best is not None and self._best.violates and length >= 2:
                break
        if self._best is None or not self._best.violates:
            self._stray(choices)
        self._lengthen()

    def _stray(self, choices: dict[int, list[Inputs]]) -> None:
        """Other parameters."""
        for number in range(1, max(map(len, choices.values()), default=0)):
            for length in choices:
                if length <= 3 and number < len(choices[length]):
                    self._look(length, choices[length][number])
                    if self._best is not None and self._best.violates:
                        return

    def _look(self, length: int, parameters: Inputs) -> None:
        starts = starting_databases(self._mechanism, length, parameters)
        parting = parting_pair(self._mechanism, starts[0]) if starts else None
        for start in (*starts[:1], *([] if parting is None else [parting]), *starts[1:]):
            self._survey(start)
            if self._is_over():
                return

    def _survey(self, start: Scenario) -> None:
        """Look at the outputs on a database and its neighbours; follow the best ones."""
        found: list[Scored] = []
        pairs = neighbours(self._mechanism, start) if start.data == start.data_prime else [start]
        for event in self._events(start, pairs):
            scored = best_neighbour(self._meter, start, event)
            patterns = (score(self._meter, Candidate(pair, event)) for pair in pairs[:2])
            best = max(
                (one for one in (scored, *patterns) if one is not None),
                key=lambda one: one.score,
                default=None,
            )
            if best is None:
                continue
            best = with_cuts(self._meter, best)
            self._consider(best)
            found.append(best)
            if best.level == math.inf:
                return
        found.sort(key=lambda scored: -scored.score)
        for scored in found[:_CLIMBERS]:
            self._consider(climbed(self._meter, scored))
            if self._is_over():
                return

    def _events(self, start: Scenario, pairs: Sequence[Scenario]) -> Iterator[Event]:
        unit = unit_of(self._mechanism, start)
        seen: dict[Event, None] = {}
        for output in outputs_of(self._mechanism, pairs[0] if pairs else start, runs=_RUNS)[:_OUTPUTS]:
            seen.setdefault(output.free())
            if output.continuous:
                seen.setdefault(output.around(unit / 64))
        yield from seen

    def _lengthen(self) -> None:
        """Longer inputs, from the best of each length."""
        if not _has_lists(self._mechanism):
            return
        while (best := self._best) is not None and self._meter.time_left() > 0:
            length = _length(best.candidate.scenario)
            if length >= LONGEST:
                return
            tried = [
                scored
                for candidate in grown(self._mechanism, best.candidate)
                if legal(self._mechanism, candidate.scenario)
                and (scored := score(self._meter, candidate)) is not None
            ]
            if not tried:
                return
            longer = climbed(self._meter, max(tried, key=lambda scored: scored.score))
            self._consider(longer)
            if longer.score < best.score + _WORTH:
                return


def _length(scenario: Scenario) -> int:
    return max((len(value) for _, value in scenario.data if isinstance(value, tuple)), default=0)


def _has_lists(mechanism: Mechanism) -> bool:
    return any(
        isinstance(item, nodes.PublicVector) or (isinstance(item, nodes.Queries) and item.vector)
        for item in mechanism.inputs
    )


# --- how the level grows ----------------------------------------------------------------------------------


def _with_family(
    mechanism: Mechanism, violation: Violation, by_length: dict[int, Scored], end: float
) -> Violation:
    """The violation with the certified levels of other lengths, and whether these grow without an end."""
    if violation.kind is not Kind.FINITE or violation.level is None:
        return violation
    levels: dict[int, Fraction] = {_length(violation.scenario): violation.level}
    for length, scored in by_length.items():
        if scored.candidate.scenario.parameters != violation.scenario.parameters:
            continue
        other = certified(mechanism, scored.candidate, end)
        if other is not None and other.level is not None:
            levels[length] = max(other.level, levels.get(length, other.level))
    if len(levels) < 3:
        return violation
    family = tuple(Grown(f"n = {length}", levels[length]) for length in sorted(levels))
    return replace(violation, family=family, kind=Kind.GROWS if _keeps_growing(levels) else violation.kind)


def _keeps_growing(levels: dict[int, Fraction]) -> bool:
    """Whether the last steps are about as large as those before: with a bound they would get smaller."""
    lengths = sorted(levels)
    steps = [(levels[b] - levels[a]) / (b - a) for a, b in pairwise(lengths)]
    return len(steps) >= 2 and min(steps) > 0 and steps[-1] >= Fraction(3, 4) * max(steps[:-1])
