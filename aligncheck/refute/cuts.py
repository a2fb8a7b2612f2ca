"""Where to cut the released numbers of an event: at the kinks and the ends of their densities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from aligncheck.exact import Number, Undecided, Undefined, add, compare, multiply
from aligncheck.interpreter import Inputs
from aligncheck.refute.events import Between, Constraint, Exactly, Outputs, RecordPattern
from aligncheck.refute.measure import Meter
from aligncheck.refute.probability import Landmark, NotComputable, landmarks
from aligncheck.refute.search import Candidate, Scored, score, unit_of

_POINTS = 8
_NEAR = (0, 1, -1, 2, -2, 4, -4)
"""Steps from where a lattice field is likeliest."""
_WORTH = 1e-4


def with_cuts(meter: Meter, best: Scored, *, atoms_only: bool = False) -> Scored:
    """The best of what comes of an event when its free numbers are cut to a cell between two landmarks, or to
    an atom: one number after the other. Raises `OutOfTime`.
    """
    event = best.candidate.event
    if not isinstance(event, Outputs) or not event.records or not _is_free(event):
        return best
    scenario = best.candidate.scenario
    unit = unit_of(meter.mechanism, scenario)
    marks: dict[tuple[int, str], list[Landmark]] = {}
    for data in (scenario.data, scenario.data_prime):
        for mark in _landmarks(meter, scenario.parameters, data, event):
            marks.setdefault((mark.record, mark.field), []).append(mark)
    for (place, name), both in marks.items():
        for part in _parts(both, unit):
            if atoms_only and not isinstance(part, Exactly):
                continue
            held = best.candidate.event
            assert isinstance(held, Outputs)
            found = score(meter, Candidate(best.candidate.scenario, _cut(held, place, name, part)))
            if found is not None and found.score > best.score + _WORTH:
                best = found
                if best.level == math.inf:
                    return best
    return best


def _is_free(event: Outputs) -> bool:
    return not any(isinstance(part, Between) for record in event.records for _, part in record.fields)


def _landmarks(meter: Meter, parameters: Inputs, data: Inputs, event: Outputs) -> list[Landmark]:
    inputs = {**dict(parameters), **dict(data)}
    try:
        return landmarks(meter.mechanism, inputs, event, deadline=meter.deadline)
    except (NotComputable, Undecided, Undefined):
        return []


def _parts(marks: list[Landmark], unit: Fraction) -> Iterator[Constraint]:
    """Atoms and their neighbours on a lattice; cells between landmarks, the half-lines beyond them, also
    further out; and close to each landmark, on either side.
    """
    for mark in marks:
        yield from (Exactly(atom) for atom in mark.atoms[:_POINTS])
        if mark.lattice is not None:
            yield from (
                Exactly(add(point, multiply(Fraction(by), mark.lattice)))
                for by in _NEAR
                for point in mark.points[:2]
            )
    points = _sorted([point for mark in marks for point in mark.points])[:_POINTS]
    if points:
        yield Between(None, points[0], high_closed=False)
        yield Between(points[-1], None)
        for low, high in pairwise(points):
            yield Between(low, high, high_closed=False)
        for far in (8 * unit, 64 * unit):
            yield Between(add(points[-1], far), None)
            yield Between(None, add(points[0], -far))
        for point in points:
            yield Between(point, add(point, unit / 64))
            yield Between(add(point, -unit / 64), point)


def _sorted(points: list[Number]) -> list[Number]:
    found: list[Number] = []
    for point in points:
        place = 0
        while place < len(found) and compare(found[place], point) < 0:
            place += 1
        if place == len(found) or compare(found[place], point) != 0:
            found.insert(place, point)
    return found


def _cut(event: Outputs, place: int, name: str, part: Constraint) -> Outputs:
    record = event.records[place]
    fields = tuple(pair for pair in record.fields if pair[0] != name)
    new = RecordPattern(record.tag, (*fields, (name, part)))
    return Outputs((*event.records[:place], new, *event.records[place + 1 :]), event.complete)
