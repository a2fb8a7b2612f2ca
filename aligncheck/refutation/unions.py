"""Sets of outputs that show more of a loss together than one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate

from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.databases import swapped
from aligncheck.refutation.events import CompleteOutput, Event, OneOf, disjoint
from aligncheck.refutation.measure import Meter
from aligncheck.refutation.pair_search import Candidate, Scored, score


def united(meter: Meter, scenario: Scenario, events: Iterable[Event]) -> Scored | None:
    """The best set of two or more of these outputs, on these databases in either order; None without one.

    Among sets of one probability on D' the one of the greatest ratios has the greatest on D (Neyman and
    Pearson), so only the first so many by their ratios are tried.
    """
    apart: list[CompleteOutput] = []
    for event in events:
        if (
            isinstance(event, CompleteOutput)
            and event.complete
            and all(disjoint(event, each) for each in apart)
        ):
            apart.append(event)
    found = [
        one
        for pair in (scenario, swapped(scenario))
        if (chosen := _first_ones(meter, pair, apart))
        if (one := score(meter, Candidate(pair, OneOf(tuple(chosen))))) is not None
    ]
    return max(found, key=lambda one: one.score, default=None)


def _first_ones(meter: Meter, pair: Scenario, apart: Sequence[CompleteOutput]) -> list[CompleteOutput]:
    """The outputs of the greatest ratios, as many as show most; none where a single one does."""
    claim = meter.claim(pair, OneOf(()))
    if claim is None:
        return []
    measured = []
    for event in apart:
        logs = [meter.log_probability(pair.parameters, data, event) for data in (pair.data, pair.data_prime)]
        if logs[0] is not None and logs[1] is not None and logs[0] > -math.inf:
            measured.append((event, math.exp(logs[0]), math.exp(logs[1]), logs[0] - logs[1]))
    measured.sort(key=lambda each: -each[3])
    sums = zip(
        accumulate(each[1] for each in measured), accumulate(each[2] for each in measured), strict=True
    )
    levels = [claim.level(_log(p), _log(q)) if p > q else 0.0 for p, q in sums]
    best = max(range(len(levels)), key=levels.__getitem__, default=0)
    return [each[0] for each in measured[: best + 1]] if best else []


def _log(value: float) -> float:
    return math.log(min(value, 1.0)) if value > 0 else -math.inf
