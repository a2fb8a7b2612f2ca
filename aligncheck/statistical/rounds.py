"""The two rounds of a test: an event is chosen, and then tested on fresh runs (Algorithms 1 and 3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.event_choice import Choice, choose
from aligncheck.statistical.output_events import Event, holds
from aligncheck.statistical.outputs import Outputs, joined
from aligncheck.statistical.plan import Bar, Plan, SeedStream, seed_of, setup_of
from aligncheck.statistical.pvalue import log_pvalue
from aligncheck.statistical.results import Level
from aligncheck.statistical.target import target
from aligncheck.statistical.work import Work

PORTION = 50_000
"""Runs of one portion of a final test."""

_FIRST_SHARE = 5
"""The first share of the runs for choosing is one in so many…"""

_FEWEST_FIRST = 5_000
"""…and not fewer than these."""

_PLAIN = 8.0
"""Standard deviations by which inputs differ plainly."""

_FEWEST_LEADERS = 3
"""Pairs that get all of the runs for choosing, at each level, or a quarter of them."""


def tested_levels(plan: Plan, levels: Sequence[Bar], seconds: float, work: Work) -> list[Level]:
    """The test at each level: one event for each, the best of all pairs, and its p-value.

    `levels` start with (0, 0), at which it is asked whether the inputs can be told apart at all; `seconds` is
    what one run should take.

    Raises:
        CannotTest: the function is deterministic, or as `Target.run` does.
    """
    chosen = _select(plan, levels, seconds, work)
    return _final(plan, levels, chosen, seconds, work)


# --- choosing an event --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Selection:
    plan: Plan
    pair: int
    runs: int
    levels: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class _Selected:
    """For each level the best event of a pair; and whether outputs vary on an input, or between the two."""

    choices: tuple[Choice | None, ...]
    varies: bool
    alike: bool
    listed: bool


_Candidate: TypeAlias = tuple[int, Choice, bool]
"""A pair's number, an event, and whether outputs are lists."""


def _select(plan: Plan, levels: Sequence[Bar], seconds: float, work: Work) -> list[_Candidate | None]:
    """For each level the pair and the event that promise most.

    Every pair gets a first share of the runs; all of them are for the pairs that then lead at some level. (At
    eps = 0, which only asks whether the inputs can be told apart, the first share will do.)
    """

    def found(pairs: Sequence[int], runs: int, wanted: Sequence[Bar], stage: str) -> dict[int, _Selected]:
        items = [_Selection(plan, index, runs, tuple(wanted)) for index in pairs]
        selected = work(_selected, items, seconds * 2 * runs, stage)
        return dict(zip(pairs, selected, strict=True))

    first = max(plan.selection // _FIRST_SHARE, min(plan.selection, _FEWEST_FIRST))
    early = found(range(len(plan.pairs)), first, levels, "comparing inputs")
    if not any(selected.varies for selected in early.values()):
        _require_constant(plan, early, first)
    leaders = max(_FEWEST_LEADERS, len(plan.pairs) // 4)
    kept = sorted({index for at in range(1, len(levels)) for index, _, _ in _ranked(early, at)[:leaders]})
    late = found(kept, plan.selection, levels, "choosing an event")
    best = [next(iter(_ranked(late, at)), None) for at in range(1, len(levels))]
    return [_dependence(early, best), *best]


def _dependence(early: Mapping[int, _Selected], best: Sequence[_Candidate | None]) -> _Candidate | None:
    """What is to be tested at eps = 0.

    A pair that is tested at another level as well needs no runs of its own: it will do if it differs plainly.
    """
    ranked = _ranked(early, 0)
    tested = {candidate[0] for candidate in best if candidate is not None}
    plain = (candidate for candidate in ranked if candidate[0] in tested and candidate[1].score >= _PLAIN)
    return next(plain, next(iter(ranked), None))


def _ranked(found: Mapping[int, _Selected], at: int) -> list[_Candidate]:
    """The pairs' events for one level, the best first."""
    candidates = [
        (index, choice, selected.listed)
        for index, selected in found.items()
        if (choice := selected.choices[at]) is not None
    ]
    return sorted(candidates, key=lambda candidate: -candidate[1].score)


def _require_constant(plan: Plan, found: Mapping[int, _Selected], runs: int) -> None:
    """Outputs never vary on one input: then they must be the same on every input, which is no violation."""
    for index, selected in found.items():
        pair = plan.pairs[index]
        if not selected.alike:
            raise CannotTest(
                f"`{plan.setup.reference.name}` is deterministic: all of {runs:,} runs on one input gave "
                f"one output, on D = {pair.first} another than on D' = {pair.second}",
                "it adds no noise, so it is private at no level; is this the function that you mean?",
            )


def _selected(item: _Selection) -> _Selected:
    """In a worker."""
    plan, pair = item.plan, item.plan.pairs[item.pair]
    own = target(setup_of(plan, pair))
    first, second = (
        own.run(database, item.runs, seed_of(plan, SeedStream.SELECTING, item.pair, side))
        for side, database in enumerate((pair.first, pair.second))
    )
    both = joined([first, second], plan.setup.reference.name)
    choices = choose(first, second, item.levels)
    return _Selected(tuple(choices), _varies(first) or _varies(second), not _varies(both), first.listed)


def _varies(outputs: Outputs) -> bool:
    """Whether two runs differ."""
    different = False
    if outputs.numbers is not None:
        there = ~np.isnan(outputs.numbers)
        first = np.where(there[0], outputs.numbers[0], 0.0)
        different = bool((np.where(there, outputs.numbers, 0.0) != first).any() or (there != there[0]).any())
    if outputs.codes is not None:
        different = different or bool((outputs.codes != outputs.codes[0]).any())
    return different


# --- the final test -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Portion:
    """Some runs on one input of a pair, and the events to be counted in them."""

    plan: Plan
    pair: int
    side: int
    number: int
    runs: int
    events: tuple[Event, ...]


def _final(
    plan: Plan, levels: Sequence[Bar], chosen: Sequence[_Candidate | None], seconds: float, work: Work
) -> list[Level]:
    wanted: dict[int, dict[Event, None]] = {}
    for candidate in chosen:
        if candidate is not None:
            wanted.setdefault(candidate[0], {})[candidate[1].event] = None
    portions = [
        _Portion(plan, pair, side, number, min(PORTION, plan.runs - number * PORTION), tuple(events))
        for pair, events in wanted.items()
        for side in (0, 1)
        for number in range(-(-plan.runs // PORTION))
    ]
    counted = work(_counted, portions, seconds * PORTION, "testing it")
    counts: dict[tuple[int, int, Event], int] = {}
    for portion, seen in zip(portions, counted, strict=True):
        for event, count in zip(portion.events, seen, strict=True):
            key = (portion.pair, portion.side, event)
            counts[key] = counts.get(key, 0) + count
    return [
        _level(plan, at, bar, candidate, counts)
        for at, (bar, candidate) in enumerate(zip(levels, chosen, strict=True))
    ]


def _level(
    plan: Plan, at: int, bar: Bar, candidate: _Candidate | None, counts: dict[tuple[int, int, Event], int]
) -> Level:
    if candidate is None:
        return Level(*bar, 0.0, None, None, 0, 0, plan.runs, False)
    index, choice, listed = candidate
    pair = plan.pairs[index]
    if choice.swapped:
        named = f"{pair.pattern}, reversed"
        pair = dataclasses.replace(pair, pattern=named, first=pair.second, second=pair.first)
    here, there = (counts[index, side, choice.event] for side in ((1, 0) if choice.swapped else (0, 1)))
    rng = np.random.default_rng(seed_of(plan, SeedStream.THINNING, at))
    value = log_pvalue(here, there, plan.runs, bar[0], rng, bar[1])
    return Level(*bar, value, pair, choice.event, here, there, plan.runs, listed)


def _counted(portion: _Portion) -> tuple[int, ...]:
    """In a worker: how often each event was seen."""
    plan, pair = portion.plan, portion.plan.pairs[portion.pair]
    outputs = target(setup_of(plan, pair)).run(
        (pair.first, pair.second)[portion.side],
        portion.runs,
        seed_of(plan, SeedStream.TESTING, portion.pair, portion.side, portion.number),
    )
    return tuple(int(holds(event, outputs).sum()) for event in portion.events)
