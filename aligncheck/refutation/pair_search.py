"""The search for a pair of databases and an event whose probabilities differ most.

Everything here is a heuristic that may miss: it only proposes. What a candidate is worth is the exact
probabilities' ratio, by `Meter`; whether its databases are neighbours, `legal` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Adjacency
from aligncheck.meaning.exact import add
from aligncheck.meaning.interpreter import Input, Inputs
from aligncheck.meaning.scenario import Place, Scenario, answer, numbers_at, with_answer, with_answers
from aligncheck.refutation.databases import (
    Spot,
    grain,
    legal,
    moved,
    spots_of,
    step_at,
    swapped,
)
from aligncheck.refutation.events import (
    Between,
    CompleteOutput,
    Constraint,
    Event,
    Exactly,
    OneOf,
    RecordPattern,
    disjoint,
)
from aligncheck.refutation.measure import Meter

_WORTH = 2e-3
"""A gain of less than this, in units of the claim, is not followed."""
_SMALLEST = Fraction(1, 8)
_LARGEST = Fraction(1 << 12)
_FINER = [Fraction(2) ** power for power in range(3, -5, -1)]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A legal pair of databases with parameters, and an event."""

    scenario: Scenario
    event: Event


@dataclass(frozen=True, slots=True)
class Scored:
    """`level` is what the event shows (see `claims`), about; infinite where no claim would do. `claim` is the
    ε, or the ρ, that was claimed.
    """

    candidate: Candidate
    level: float
    claim: float

    @property
    def score(self) -> float:
        """The level in units of the claim."""
        return self.level / self.claim if self.claim > 0 else self.level * 1e6

    @property
    def violates(self) -> bool:
        """Whether it seems to violate the claim; a small excess may be rounding."""
        return self.level > self.claim + 1e-9


def score(meter: Meter, candidate: Candidate) -> Scored | None:
    """The candidate with D and D' in the order in which the first is the likelier; None where neither run can
    end in the event, or the probabilities are out of reach.
    """
    scenario, event = candidate.scenario, candidate.event
    on_d = meter.log_probability(scenario.parameters, scenario.data, event)
    on_d_prime = meter.log_probability(scenario.parameters, scenario.data_prime, event)
    claim = meter.claim(scenario, event)
    if on_d is None or on_d_prime is None or claim is None:
        return None
    if on_d == on_d_prime == -math.inf:
        return None
    if on_d < on_d_prime:
        return Scored(Candidate(swapped(scenario), event), claim.level(on_d_prime, on_d), claim.amount)
    return Scored(candidate, claim.level(on_d, on_d_prime), claim.amount)


def best_neighbour(meter: Meter, scenario: Scenario, event: Event) -> Scored | None:
    """The neighbour of D under which the event seems rarest, from the effect of each single move.

    Effects of moves are added up, which is exact where the probability is a product; for `adjacency all` this
    takes n + 3 probabilities instead of 3^n.
    """
    base = meter.log_probability(scenario.parameters, scenario.data, event)
    if base is None or base == -math.inf:
        return None
    effects = dict(_effects(meter, scenario, event, base))
    found = [
        scored
        for moves in _joint_moves(meter.mechanism, scenario, effects)
        if legal(meter.mechanism, pair := moved(scenario, moves))
        and (scored := score(meter, Candidate(pair, event))) is not None
    ]
    return max(found, key=lambda scored: scored.score, default=None)


def _effects(
    meter: Meter, scenario: Scenario, event: Event, base: float
) -> Iterator[tuple[tuple[Spot, Fraction], float]]:
    for spot in spots_of(meter.mechanism, scenario.data):
        step = step_at(spot, scenario.parameters)
        for move in (step, -step) if step else ():
            pair = moved(scenario, {spot.place: move})
            if not legal(meter.mechanism, pair):
                continue
            after = meter.log_probability(pair.parameters, pair.data_prime, event)
            if after is None:
                continue
            yield (spot, move), base - after
            back = moved(scenario, {spot.place: -move})
            if after != base and legal(meter.mechanism, back):
                # Mostly the way back has the opposite effect; where it has not, the climb will tell.
                yield (spot, -move), after - base
                break


def _joint_moves(
    mechanism: nodes.Mechanism, scenario: Scenario, effects: dict[tuple[Spot, Fraction], float]
) -> list[dict[Place, Fraction]]:
    """Moves of several answers at once that each adjacency allows: those that make the event rarer, and those
    that make it likelier.
    """
    groups = list(dict.fromkeys(spot.group for spot, _ in effects))
    rows: list[dict[Place, Fraction]] = []
    for sign in (1, -1):
        row: dict[Place, Fraction] = {}
        for group in groups:
            own = {key: sign * effect for key, effect in effects.items() if key[0].group == group}
            row |= {spot.place: move for spot, move in _chosen(group.adjacency, own)}
        if any(group.same_index or group.same_direction for group in groups):
            row = _in_turn(mechanism, scenario, {key: sign * effect for key, effect in effects.items()})
        if row and row not in rows:
            rows.append(row)
    return rows


def _in_turn(
    mechanism: nodes.Mechanism, scenario: Scenario, effects: dict[tuple[Spot, Fraction], float]
) -> dict[Place, Fraction]:
    """Where lines move together: one move after the other, the most worth first, as long as that is legal."""
    row: dict[Place, Fraction] = {}
    for spot, move in sorted(effects, key=effects.__getitem__, reverse=True):
        more = {**row, spot.place: move}
        worth = effects[spot, move] > 0 or not row
        if worth and spot.place not in row and legal(mechanism, moved(scenario, more)):
            row = more
    return row


def _chosen(adjacency: Adjacency, effects: dict[tuple[Spot, Fraction], float]) -> list[tuple[Spot, Fraction]]:
    ups = [key for key in effects if key[1] > 0]
    downs = [key for key in effects if key[1] < 0]

    def best(keys: list[tuple[Spot, Fraction]]) -> list[tuple[Spot, Fraction]]:
        return [max(keys, key=effects.__getitem__)] if keys else []

    def worth(keys: list[tuple[Spot, Fraction]]) -> list[tuple[Spot, Fraction]]:
        return [key for key in keys if effects[key] > 0]

    if adjacency.one_way:
        sides = [worth(ups), worth(downs)]
        return max(sides, key=lambda keys: sum(effects[key] for key in keys))
    if not adjacency.ways and not adjacency.together:
        spots = dict.fromkeys(spot for spot, _ in effects)
        return worth([key for spot in spots for key in best([k for k in effects if k[0] == spot])])
    chosen: list[tuple[Spot, Fraction]] = []
    for key in sorted(effects, key=effects.__getitem__, reverse=True):
        signs = [move > 0 for _, move in (*chosen, key)]
        elsewhere = all(key[0] != spot for spot, _ in chosen)
        if elsewhere and adjacency.allows(sum(signs), len(signs) - sum(signs)):
            chosen += [key] if effects[key] > 0 or not chosen else []
    return chosen


_SPREADS = (8, 64)


def apart(mechanism: nodes.Mechanism, scenario: Scenario, factor: int) -> Scenario:
    """The pair with every answer further by `factor` times its own move, on D and D' alike."""
    for spot in spots_of(mechanism, scenario.data):
        if numbers := numbers_at(scenario, spot.place):
            left, right = numbers
            by = factor * (right - left)
            scenario = with_answers(scenario, spot.place, left + by, right + by)
    return scenario


def spread(meter: Meter, best: Scored) -> Scored:
    """The best of a candidate and those whose answers lie further in the direction in which they move.

    Far out, each move changes the probability by as much as its noise allows: most violations are at their
    worst there.
    """
    for factor in _SPREADS:
        further = apart(meter.mechanism, best.candidate.scenario, factor)
        if not legal(meter.mechanism, further):
            break
        found = score(meter, Candidate(further, best.candidate.event))
        if found is None or found.score <= best.score + _WORTH / 4:
            break
        best = found
    return best


# --- local search -----------------------------------------------------------------------------------------


def climbed(meter: Meter, start: Scored, *, rounds: int = 6) -> Scored:
    """The best candidate that changes of one thing at a time lead to: where an answer lies (on D and D'
    alike), where an interval lies, which way an answer moves, whether an interval is open to one side.
    """
    best = start
    steps: dict[object, Fraction] = {}
    for _ in range(rounds):
        before = best.score
        for coordinate in _coordinates(best.candidate, meter.mechanism):
            best = _along(meter, best, coordinate, steps)
            if best.level == math.inf:
                return best
        if best.score < before + _WORTH:
            best = _varied(meter, best, _other_kinds(meter.mechanism, best.candidate))
            if best.level == math.inf:
                return best
        if best.score < before + _WORTH:
            return best
    return best


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an event, by the number of its record."""

    record: int
    name: str


@dataclass(frozen=True, slots=True)
class _Coordinate:
    """What can be pushed either way, an answer or an interval; `unit` is its natural length."""

    key: Place | _Field
    unit: Fraction


def _along(meter: Meter, best: Scored, coordinate: _Coordinate, steps: dict[object, Fraction]) -> Scored:
    step = steps.get(coordinate.key, Fraction(4))
    if step < _SMALLEST:
        return best
    for sign in (1, -1):
        found = _pushed(meter, best, coordinate, sign * step)
        if found is None:
            continue
        while step < _LARGEST and found.level < math.inf:
            step *= 2
            further = _pushed(meter, found, coordinate, sign * step)
            if further is None:
                break
            found = further
        steps[coordinate.key] = step / 2
        return found
    steps[coordinate.key] = step / 4
    return best


def sharpened(meter: Meter, best: Scored) -> Scored:
    """The best candidate that ever smaller moves of its intervals lead to. Beside a δ, or under a claim in ρ,
    an event is not the better the farther out it lies.
    """
    for step in _FINER:
        better: Scored | None = best
        while better is not None and best.level < math.inf:
            best = better
            better = next(
                (
                    found
                    for coordinate in _coordinates(best.candidate, meter.mechanism)
                    if isinstance(coordinate.key, _Field)
                    for sign in (1, -1)
                    if (found := _pushed(meter, best, coordinate, sign * step)) is not None
                ),
                None,
            )
    return best


def _pushed(meter: Meter, best: Scored, coordinate: _Coordinate, factor: Fraction) -> Scored | None:
    candidate = _moved_along(best.candidate, coordinate.key, factor * coordinate.unit)
    if candidate is None or not legal(meter.mechanism, candidate.scenario):
        return None
    found = score(meter, candidate)
    return found if found is not None and found.score > best.score + _WORTH / 4 else None


def _varied(meter: Meter, best: Scored, others: Iterable[Candidate]) -> Scored:
    for other in others:
        if legal(meter.mechanism, other.scenario):
            found = score(meter, other)
            if found is not None and found.score > best.score + _WORTH / 4:
                best = found
                if best.level == math.inf:
                    return best
    return best


def unit_of(mechanism: nodes.Mechanism, scenario: Scenario) -> Fraction:
    """A length on which probabilities change: the largest sensitivity, or 1."""
    steps = (step_at(spot, scenario.parameters) for spot in spots_of(mechanism, scenario.data))
    return max(steps, default=Fraction(0)) or Fraction(1)


def _coordinates(candidate: Candidate, mechanism: nodes.Mechanism) -> list[_Coordinate]:
    scenario = candidate.scenario
    unit = unit_of(mechanism, scenario)
    found = [
        _Coordinate(spot.place, step)
        for spot in spots_of(mechanism, scenario.data)
        if not spot.group.adjacency.free and (step := _on_grain(unit, grain(spot, scenario.parameters)))
    ]
    if isinstance(candidate.event, CompleteOutput):
        for place, record in enumerate(candidate.event.records):
            for name, part in record.fields:
                if isinstance(part, Between):
                    found.append(_Coordinate(_Field(place, name), unit))
    return found


def _on_grain(unit: Fraction, step: Fraction | None) -> Fraction:
    # Steps go down to 1/8 of a unit.
    return unit if step is None else max(step, unit // step * step) / _SMALLEST


def _moved_along(candidate: Candidate, key: Place | _Field, by: Fraction) -> Candidate | None:
    """The candidate with an answer, on D and D' alike, or an interval elsewhere; None where there is none."""
    if not isinstance(key, _Field):
        numbers = numbers_at(candidate.scenario, key)
        if numbers is None:
            return None
        elsewhere = (number + by for number in numbers)
        return replace(candidate, scenario=with_answers(candidate.scenario, key, *elsewhere))
    event = candidate.event
    if not isinstance(event, CompleteOutput) or key.record >= len(event.records):
        return None
    part = dict(event.records[key.record].fields).get(key.name)
    if not isinstance(part, Between):
        return None
    low, high = (None if end is None else add(end, by) for end in (part.low, part.high))
    return replace(candidate, event=_instead(event, key.record, key.name, Between(low, high)))


def _instead(event: CompleteOutput, place: int, name: str, part: Constraint) -> CompleteOutput:
    """The event with another constraint in the place of one."""
    return event.with_fields(place, tuple({**dict(event.records[place].fields), name: part}.items()))


def _other_kinds(mechanism: nodes.Mechanism, candidate: Candidate) -> Iterator[Candidate]:
    """The candidate with one thing of another kind: an answer that moves otherwise, a half-line instead of an
    interval, another number where one is discrete.
    """
    scenario = candidate.scenario
    for spot in spots_of(mechanism, scenario.data):
        step, left = step_at(spot, scenario.parameters), answer(scenario.data, spot.place)
        for move in (step, -step, Fraction(0), step / 2):
            if isinstance(left, Fraction) and left + move != answer(scenario.data_prime, spot.place):
                prime = with_answer(scenario.data_prime, spot.place, left + move)
                yield replace(candidate, scenario=replace(scenario, data_prime=prime))
    if isinstance(candidate.event, CompleteOutput):
        for place, record in enumerate(candidate.event.records):
            for name, part in record.fields:
                for other in _other_parts(part):
                    yield replace(candidate, event=_instead(candidate.event, place, name, other))


def _other_parts(part: Between | Exactly) -> Iterator[Between | Exactly]:
    match part:
        case Between(low=low, high=high):
            if low is not None:
                yield Between(low, None)
            if high is not None:
                yield Between(None, high)
            if isinstance(low, Fraction) and isinstance(high, Fraction):
                yield Between(low + (high - low) * Fraction(7, 16), high - (high - low) * Fraction(7, 16))
        case Exactly(value=value):
            if isinstance(value, Fraction):
                yield Exactly(value + 1)
                yield Exactly(value - 1)


def simplified(meter: Meter, best: Scored) -> Scored:
    """About as strong a candidate with smaller numbers: answers at 0, that do not move, or closer to 0."""
    least = best.score if best.level == math.inf else best.score - _WORTH / 8
    for spot in spots_of(meter.mechanism, best.candidate.scenario.data):
        for _ in range(_HALVINGS):
            other = _closer(meter, best, spot, least)
            if other is None:
                break
            best = other
    return best


_HALVINGS = 6


def _closer(meter: Meter, best: Scored, spot: Spot, least: float) -> Scored | None:
    """The candidate with one answer nearer to 0, if it is hardly weaker."""
    scenario = best.candidate.scenario
    numbers = numbers_at(scenario, spot.place)
    if numbers is None:
        return None
    left, move = numbers[0], numbers[1] - numbers[0]
    half = Fraction(int(left / 2))
    for value, by in ((Fraction(0), Fraction(0)), (left, Fraction(0)), (Fraction(0), move), (half, move)):
        other = with_answers(scenario, spot.place, value, value + by)
        if (abs(value), abs(by)) >= (abs(left), abs(move)) or not legal(meter.mechanism, other):
            continue
        found = score(meter, Candidate(other, best.candidate.event))
        if found is not None and found.score >= least:
            return found
    return None


# --- sets of outputs, which show more together than one by one ---------------------------------------------


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


# --- longer inputs ----------------------------------------------------------------------------------------


def length_of(scenario: Scenario) -> int:
    """How many answers the longest list has; 0 without lists."""
    return max((len(value) for _, value in scenario.data if isinstance(value, tuple)), default=0)


def grown(mechanism: nodes.Mechanism, candidate: Candidate) -> Iterator[Candidate]:
    """Candidates with one more answer: each answer in turn is there twice, with its record or without it."""
    scenario, event = candidate.scenario, candidate.event
    size = length_of(scenario)
    vectors = {item.name for item in mechanism.inputs if isinstance(item, nodes.PublicVector)}
    for index in reversed(range(size)):
        longer = Scenario(
            _doubled(scenario.parameters, index, vectors.__contains__),
            _doubled(scenario.data, index),
            _doubled(scenario.data_prime, index),
        )
        for events in _longer(event, index):
            yield Candidate(longer, events)


def _doubled(inputs: Inputs, index: int, chosen: Callable[[str], bool] = lambda _: True) -> Inputs:
    def double(value: Input) -> Input:
        if not isinstance(value, tuple) or index >= len(value):
            return value
        return (*value[: index + 1], *value[index:])

    return tuple((name, double(value) if chosen(name) else value) for name, value in inputs)


def _longer(event: Event, index: int) -> Iterator[Event]:
    yield event
    if not isinstance(event, CompleteOutput):
        return
    if index < len(event.records):
        yield replace(event, records=(*event.records[: index + 1], *event.records[index:]))
    shifted = replace(
        event,
        records=tuple(
            RecordPattern(record.tag, tuple((name, _shifted(part, index)) for name, part in record.fields))
            for record in event.records
        ),
    )
    if shifted != event:
        yield shifted


def _shifted(part: Between | Exactly, index: int) -> Between | Exactly:
    """An index after the one that is there twice is one more."""
    if isinstance(part, Exactly) and isinstance(part.value, Fraction) and part.value > index:
        return Exactly(part.value + 1)
    return part
