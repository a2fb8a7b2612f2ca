"""Where to cut the released numbers of an event: where their densities on D and D' differ most.

For a search: one execution gives what would take many probabilities. Nothing here certifies.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from flint import ctx, fmpq

from aligncheck.effort import OutOfTime
from aligncheck.language.internal import InternalError
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.exact import Number, Undecided, Undefined, add, compare, decimal, multiply
from aligncheck.meaning.interpreter import Input, Inputs
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation import irrationals
from aligncheck.refutation.elimination import Tangled, scaled
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.events import Between, CompleteOutput, Constraint, Event, Exactly
from aligncheck.refutation.execution import Execution, SymbolicPath
from aligncheck.refutation.integration import Density, Integration
from aligncheck.refutation.measure import Meter
from aligncheck.refutation.pair_search import Candidate, Scored, score, unit_of
from aligncheck.refutation.symbolic import Affine, Shaped
from aligncheck.refutation.trial_outputs import free_numbers, numbers_seen

_POINTS = 10
_NEAR = (0, 1, -1, 2, -2, 4, -4)
"""Steps from where a lattice field is likeliest."""
_FAR = (8, 64)
"""How far beyond the last kinks densities are compared, in units."""
_LOOKS, _SEEN = 30, 5
"""So many runs are looked at for numbers of which nothing else is known; so many of these are followed."""
_WORTH = 1e-4

_BITS = 64


# --- how the released numbers are distributed -------------------------------------------------------------


@dataclass(slots=True)
class Profile:
    """One field of one record: where its density has kinks (`points`), values that it takes with positive
    probability (`atoms`), the step of lattice noise, and whether `log_density` knows all of it.
    """

    points: list[Number] = field(default_factory=list)
    atoms: list[Number] = field(default_factory=list)
    lattice: Number | None = None
    known: bool = True
    parts: list[tuple[Any, Density, Any]] = field(default_factory=list)

    def log_density(self, x: Fraction) -> float:
        """ln of the density at x, together with the discrete parts of the shape; -inf where it is 0."""
        with ctx.workprec(_BITS):
            total: Any = 0
            for calculus, density, weight in self.parts:
                y = (fmpq(x.numerator, x.denominator) - density.constant) * fmpq(density.by)
                piece = density.function.pieces[bisect_right(density.function.cuts, y)]
                if piece is not None:
                    height = calculus.at(piece.terms, y - piece.anchor)
                    total = total + weight * height * irrationals.to_ball(abs(fmpq(density.by)))
            return float(total.log().mid()) if total > 0 else -math.inf


def profiles(
    mechanism: Mechanism, inputs: Mapping[str, Input], shape: CompleteOutput, check: Callable[[], None]
) -> dict[tuple[int, str], Profile]:
    """The profile of every number that the shape leaves free. Raises `NotComputable`, `OutOfTime`."""
    found: dict[tuple[int, str], Profile] = {}
    named = [{name for name, _ in record.fields} for record in shape.records]
    with ctx.workprec(_BITS):
        integration = Integration(check)
        for way in Execution(mechanism, inputs, shape, check, collect=True).ways():
            for place, record in enumerate(way.released[: len(named)]):
                for name, value in record.fields:
                    if name not in named[place] and not isinstance(value, bool):
                        profile = found.setdefault((place, name), Profile())
                        _add(profile, integration, way, value)
    return found


def _add(profile: Profile, integration: Integration, way: SymbolicPath, value: Any) -> None:
    if isinstance(value, Shaped):
        profile.known = False
        return
    if not isinstance(value, Affine):
        profile.atoms.append(irrationals.to_exact(value))
        return
    lattice = all(way.noises[variable].lattice for variable in value.coefficients)
    if lattice:
        by = scaled(value.coefficients, lambda _: True)[1]
        profile.lattice = irrationals.to_exact(1 / abs(fmpq(by)))
    try:
        density = integration.density_in(way, value)
    except (Tangled, NotComputable):
        profile.points.append(irrationals.to_exact(value.constant))
        profile.known = False
        return
    if density is not None:
        profile.points += [irrationals.to_exact(density.at(cut)) for cut in density.function.cuts]
        profile.parts.append((integration.calculus, density, integration.weight(way)))


# --- where to cut -----------------------------------------------------------------------------------------


def with_cuts(meter: Meter, best: Scored, *, atoms_only: bool = False) -> Scored:
    """The best of what comes of an event when its free numbers are cut to an interval, or to an atom: one
    number after the other, as far as there is time. Raises `OutOfTime` where there is none for the first.
    """
    first = best
    try:
        for better in _cut_in_turn(meter, first, atoms_only):
            best = better
    except OutOfTime:
        if best is first:
            raise
    return best


def _cut_in_turn(meter: Meter, best: Scored, atoms_only: bool) -> Iterator[Scored]:
    """Each better one. Raises `OutOfTime`."""
    event = best.candidate.event
    if not isinstance(event, CompleteOutput) or not event.records:
        return
    unit = unit_of(meter.mechanism, best.candidate.scenario)
    done: set[tuple[int, str]] = set()
    on_d, on_d_prime = _both(meter, best.candidate, event)
    while best.level < math.inf:
        if best.candidate.event is not event:
            event = best.candidate.event
            if not isinstance(event, CompleteOutput):
                raise InternalError("cutting keeps an event's kind")
            on_d, on_d_prime = _both(meter, best.candidate, event)
        left = [key for key in sorted({*on_d, *on_d_prime}) if key not in done]
        if not left:
            break
        done.add(left[0])
        pair = on_d.get(left[0], Profile()), on_d_prime.get(left[0], Profile())
        for part in _atoms(pair) if atoms_only else (*_atoms(pair), *_intervals(pair, unit)):
            found = score(meter, Candidate(best.candidate.scenario, event.cut(*left[0], part)))
            if found is not None and found.score > best.score + _WORTH:
                best = found
                yield best
                if best.level == math.inf:
                    return


def ties(meter: Meter, scenario: Scenario, event: CompleteOutput) -> list[CompleteOutput]:
    """The event with a number that is discrete noise at the first of its kinks, for each such number: there
    ties decide. Raises `OutOfTime`.
    """
    found = _profiles(meter, scenario.parameters, scenario.data, event)
    return [
        event.cut(place, name, Exactly(_sorted(profile.points)[0]))
        for (place, name), profile in sorted(found.items())
        if profile.lattice is not None and profile.points
    ]


def beside(meter: Meter, start: Scenario, event: Event) -> CompleteOutput | None:
    """The event with each free number on the likelier side of a place where its density has a kink: how moves
    of the answers change its probability says how they move the numbers. None where no number is free. Raises
    `OutOfTime`.
    """
    if not isinstance(event, CompleteOutput) or not free_numbers(meter.mechanism, event):
        return None
    found = _both(meter, Candidate(start, event), event)
    cut = event
    for place, name in sorted(found[0]):
        points = _sorted(found[0][place, name].points or found[0][place, name].atoms)
        if points:
            cut = cut.cut(place, name, Between(points[len(points) // 2], None))
    return cut if cut != event else None


def _both(
    meter: Meter, candidate: Candidate, event: CompleteOutput
) -> tuple[dict[tuple[int, str], Profile], dict[tuple[int, str], Profile]]:
    scenario = candidate.scenario
    found = (
        _profiles(meter, scenario.parameters, scenario.data, event),
        _profiles(meter, scenario.parameters, scenario.data_prime, event),
    )
    if free_numbers(meter.mechanism, event) > sum(map(_says_something, found[0].values())):
        _look(meter, candidate.scenario, event, found)
    return found


def _says_something(profile: Profile) -> bool:
    return bool(profile.points or profile.atoms)


def _look(
    meter: Meter,
    scenario: Scenario,
    event: CompleteOutput,
    found: tuple[dict[tuple[int, str], Profile], dict[tuple[int, str], Profile]],
) -> None:
    """Gives numbers whose densities nothing is known of, such as rounded ones, what a few runs release."""
    for _ in range(_LOOKS):
        meter.effort.step()
    for key, numbers in numbers_seen(meter.mechanism, scenario, event, runs=_LOOKS).items():
        if any(key in profiles and _says_something(profiles[key]) for profiles in found):
            continue
        values = _sorted([number for number, _ in numbers])
        spread = [values[place * (len(values) - 1) // (_SEEN - 1)] for place in range(_SEEN)]
        profile = Profile(points=_sorted(spread), known=False)
        if not all(continuous for _, continuous in numbers):
            profile.atoms = profile.points
        found[0][key] = profile


def _profiles(
    meter: Meter, parameters: Inputs, data: Inputs, event: CompleteOutput
) -> dict[tuple[int, str], Profile]:
    try:
        return profiles(meter.mechanism, {**dict(parameters), **dict(data)}, event, meter.effort.step)
    except (NotComputable, Undecided, Undefined):
        return {}


def _atoms(pair: tuple[Profile, Profile]) -> Iterator[Constraint]:
    """Values with positive probability; of lattice noise the likeliest, and those close to it."""
    for profile in pair:
        yield from (Exactly(atom) for atom in _sorted(profile.atoms)[:_POINTS])
        if profile.lattice is not None:
            for point in _sorted(profile.points)[:2]:
                for by in _NEAR:
                    yield Exactly(add(point, multiply(Fraction(by), profile.lattice)))


def _intervals(pair: tuple[Profile, Profile], unit: Fraction) -> Iterator[Constraint]:
    """The half-lines beyond all kinks; and where the densities differ most, a small interval, and the whole
    cell between two kinks. Where densities are not known, cells and small intervals by the kinks.
    """
    if pair[0].lattice is not None or pair[1].lattice is not None:
        return
    points = _sorted([*pair[0].points, *pair[1].points])[:_POINTS]
    if not points:
        return
    if not pair[0].known or not pair[1].known:
        yield from _everywhere(points, unit)
        return
    close = [Fraction(decimal(point, 17)) if not isinstance(point, Fraction) else point for point in points]
    places = [close[0] - far * unit for far in _FAR] + [close[-1] + far * unit for far in _FAR]
    for point in close:
        places += [point - unit / 128, point + unit / 128]
    ratios = {x: abs(ratio) for x in places if (ratio := _ratio(pair, x)) is not None}
    if not ratios:
        return
    # Of about equal ratios the place closest to the middle, which is likelier.
    top = max(ratios.values())
    x = min((x for x in ratios if ratios[x] >= top - 1e-6), key=lambda x: abs(x - close[0]))
    if x >= close[-1]:
        yield Between(points[-1], None)
        yield Between(x, None)
    elif x <= close[0]:
        yield Between(None, points[0])
        yield Between(None, x)
    else:
        after = next(place for place, point in enumerate(close) if point > x)
        yield Between(points[after - 1], points[after])
    yield Between(x - unit / 128, x + unit / 128)


def _ratio(pair: tuple[Profile, Profile], x: Fraction) -> float | None:
    """ln of the ratio of both densities; None where both are 0."""
    on_d, on_d_prime = (profile.log_density(x) for profile in pair)
    if on_d == on_d_prime == -math.inf:
        return None
    return on_d - on_d_prime


def _everywhere(points: list[Number], unit: Fraction) -> Iterator[Constraint]:
    yield Between(None, points[0])
    yield Between(points[-1], None)
    for far in _FAR:
        yield Between(add(points[-1], far * unit), None)
        yield Between(None, add(points[0], -far * unit))
    for point in points:
        yield Between(point, add(point, unit / 64))
        yield Between(add(point, -unit / 64), point)


def _sorted(points: list[Number]) -> list[Number]:
    """Rising, each number once."""
    rising = sorted(points, key=cmp_to_key(compare))
    return rising[:1] + [after for before, after in pairwise(rising) if compare(before, after) != 0]
