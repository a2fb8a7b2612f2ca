"""Candidates for a violation: values of the parameters, and neighbouring databases.

Nothing here is trusted. `legal` decides whether a pair may be used at all: by `check_scenario`, the exact
function that replays use, so that no candidate breaks a declaration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice, product
from typing import TypeAlias

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Mechanism, Sort
from aligncheck.language.syntax.walk import names_in, statements_in, subexpressions
from aligncheck.meaning import exact
from aligncheck.meaning.choices import allowed, constants_of
from aligncheck.meaning.exact import Undecided, Undefined, Value
from aligncheck.meaning.interpreter import Input, Inputs, RunScope, Stopped, evaluate, number_of
from aligncheck.meaning.scenario import (
    Place,
    Scenario,
    answer,
    broken_where,
    check_scenario,
    entries,
    with_answer,
)

MOST_CHOICES = 24
"""So many choices of the parameters are offered for one length."""
_WHOLE = 3
"""So many whole numbers are set together."""
_CONSTANTS = 6
"""So many numbers of the program are tried."""
_FAR = 3
"""The shapes come to numbers that are no larger."""
_SMALL = 64
"""Defaults are tried as the nearest number with a denominator up to this."""
_FINE = 4096
"""Irrational bounds are rounded down to such a fraction: a move by that is legal, too."""
_RANKS = 5
"""A choice strays from the preferred values by so many places in all, at most."""

_REALS = tuple(Fraction(text) for text in ("0", "1", "1/2", "2", "1/4", "4", "-1", "1/8"))
_POSITIVE = tuple(Fraction(text) for text in ("1", "1/2", "1/4", "2", "1/8", "4", "7/4"))
_CHANCES = (Fraction(1, 50), Fraction(1, 1000), Fraction(1, 8))
"""For what a δ is made of."""
_SIDES = (Fraction(3, 4), Fraction(1, 10))
"""Before the usual values, for what the chance of a coin is made of."""
_INTEGERS = tuple(Fraction(value) for value in (0, 1, 2, 3, -1))
_COUNTS = tuple(Fraction(value) for value in (1, 2, 3, 4))
_TRUTHS = (True, False)


@dataclass(frozen=True, slots=True)
class Spot:
    """One private answer: where it is, and its declaration."""

    place: Place
    group: nodes.Queries

    @property
    def index(self) -> int | None:
        """Its index; None for a single answer."""
        return self.place[1]


PublicInput: TypeAlias = nodes.Parameter | nodes.PublicVector
Moves: TypeAlias = Mapping[Place, Fraction]
"""How far answers move from D to D'; those not named stay."""


def legal(mechanism: Mechanism, scenario: Scenario) -> bool:
    """Whether the declarations allow this pair: ranges, lattices, `where` clauses, and adjacency."""
    try:
        return not check_scenario(mechanism, scenario)
    except (Undecided, Undefined):
        return False


# --- parameters -------------------------------------------------------------------------------------------


def parameter_choices(mechanism: Mechanism, length: int, fixed: Mapping[str, Input]) -> list[Inputs]:
    """Values for the public inputs, the plainest first, with lists of `length` entries; `fixed` are kept.

    `where` clauses hold as far as they can be told without the answers: `legal` has the last word. Then those
    in which one number is one that the program compares something with; where the usual values are outside
    of the declared ranges, Z3 gives others.
    """
    choices = _Choices(mechanism, length, fixed)
    found = choices.held(choices.usual())
    if not found:
        ranges = choices.within_ranges()
        wider = [list(dict.fromkeys(each)) for each in zip(*(dict(r).values() for r in ranges), strict=True)]
        return list(dict.fromkeys((*ranges, *choices.held(wider)))) if ranges else []
    found = [*choices.with_defaults(found[0]), *found]
    for changes in (choices.whole_numbers(), choices.constants()):
        plainest = found[0]
        for changed in changes:
            chosen = tuple((name, changed.get(name, value)) for name, value in plainest)
            if chosen not in found and choices.hold(chosen):
                found.append(chosen)
    return found


class _Choices:
    """Values for the public inputs of a mechanism, with lists of one length."""

    def __init__(self, mechanism: Mechanism, length: int, fixed: Mapping[str, Input]) -> None:
        self._mechanism, self._length, self._fixed = mechanism, length, fixed
        self._public = [item for item in mechanism.inputs if not isinstance(item, nodes.Queries)]
        self._open = [
            item for item in self._public if isinstance(item, nodes.Parameter) and item.name not in fixed
        ]
        self._blank = dict(_blank(mechanism, length))

    def hold(self, chosen: Inputs) -> bool:
        """Whether all `where` clauses hold."""
        return all(_holds(item, {**self._blank, **dict(chosen)}) for item in self._public)

    def held(self, options: Sequence[Sequence[Input]]) -> list[Inputs]:
        """Choices among some options that satisfy the `where` clauses, the plainest first."""
        names = [item.name for item in self._public]
        made = (
            tuple((name, each[rank]) for name, each, rank in zip(names, options, ranks, strict=True))
            for ranks in _by_sum([len(each) for each in options])
        )
        return list(islice(filter(self.hold, made), MOST_CHOICES))

    def usual(self) -> list[list[Input]]:
        """What is tried for each input."""
        claim = self._mechanism.claim
        chances = names_in(claim.delta) if isinstance(claim, nodes.Approximate) else frozenset()
        sides = _sides(self._mechanism)
        return [
            [self._fixed[item.name]]
            if item.name in self._fixed
            else list(_CHANCES)
            if item.name in chances
            else [*(_SIDES if item.name in sides else ()), *_options(item, self._length, self._blank)]
            for item in self._public
        ]

    def with_defaults(self, plainest: Inputs) -> Iterator[Inputs]:
        """The plainest choice with the spec's defaults, as quotients of small numbers near them."""
        near, scope = dict(plainest), RunScope({**self._blank, **dict(plainest)})
        for item in self._open:
            if item.default is not None:
                with suppress(Stopped, Undecided, Undefined):
                    value = evaluate(item.default, scope)
                    near[item.name] = value if isinstance(value, bool) else _small(value)
        chosen = tuple(near.items())
        if chosen != plainest and self.hold(chosen):
            yield chosen

    def whole_numbers(self) -> Iterator[dict[str, Input]]:
        """All whole numbers 1, 2 or the number of answers: some programs come to the point only where one is
        small and another is not.
        """
        names = [item.name for item in self._open if item.sort is Sort.INT]
        few = 1 < len(names) <= _WHOLE
        for values in product(sorted({1, 2, self._length}), repeat=len(names)) if few else ():
            yield dict(zip(names, map(Fraction, values), strict=True))

    def constants(self) -> Iterator[dict[str, Input]]:
        """One number that the program compares something with."""
        for item in self._open:
            for constant in constants_of(self._mechanism)[:_CONSTANTS]:
                if item.sort is Sort.REAL or (item.sort is Sort.INT and constant.denominator == 1):
                    yield {item.name: constant}

    def within_ranges(self) -> list[Inputs]:
        """Choices that Z3 gives."""
        vectors = {item.name for item in self._public if isinstance(item, nodes.PublicVector)}

        def value(name: str, single: Value) -> Input:
            return self._fixed.get(name, (single,) * self._length if name in vectors else single)

        found = allowed(self._mechanism, _lengths(self._mechanism, self._length), self._fixed)
        names = [item.name for item in self._public]
        return list(dict.fromkeys(tuple((x, value(x, values[x])) for x in names) for values in found))


def _sides(mechanism: Mechanism) -> frozenset[str]:
    """The names that the chance of a coin is made of, without exponentials."""
    coins = (
        s.args[0] for s in statements_in(mechanism.body) if isinstance(s, nodes.Sample) and s.family.coin
    )
    plain = (p for p in coins if not any(isinstance(e, nodes.Call) for e in subexpressions(p)))
    return frozenset(name for p in plain for name in names_in(p))


def _small(value: exact.Number) -> Fraction:
    return Fraction(exact.decimal(value, digits=12)).limit_denominator(_SMALL)


def _lengths(mechanism: Mechanism, length: int) -> dict[str, int]:
    return {name: length for name, held in _blank(mechanism, length) if isinstance(held, tuple)} | {
        item.name: length for item in mechanism.inputs if isinstance(item, nodes.PublicVector)
    }


def _by_sum(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All tuples of places, those first that stray least from the front."""
    for total in range(_RANKS + 1):
        for ranks in product(*(range(min(size, total + 1)) for size in sizes)):
            if sum(ranks) == total:
                yield ranks


def _options(item: PublicInput, length: int, blank: Mapping[str, Input]) -> list[Input]:
    """The usual values. Sizes (what cannot be 0) start at 1; places, such as thresholds, at 0."""
    if isinstance(item, nodes.PublicVector):
        return _lists(item, length)
    is_size = not _holds(item, {**blank, item.name: Fraction(0)}, undecided=True)
    match item.sort:
        case Sort.BOOL:
            return list(_TRUTHS)
        case Sort.INT:
            return list(_COUNTS if is_size else _INTEGERS)
        case Sort.REAL:
            return list(_POSITIVE if is_size else _REALS)


def _lists(item: nodes.PublicVector, length: int) -> list[Input]:
    if item.sort is Sort.BOOL:
        mixed = tuple(index % 2 == 0 for index in range(length))
        return [(True,) * length, (False,) * length, mixed]
    rising = tuple(Fraction(index + 1) for index in range(length))
    return [(Fraction(1),) * length, (Fraction(0),) * length, rising]


def _holds(item: PublicInput, inputs: Mapping[str, Input], undecided: bool = False) -> bool:
    """Whether a `where` clause holds; `undecided` where it speaks of what has no value yet."""
    try:
        return not any(broken_where(item.name, item.where, inputs))
    except (Stopped, Undecided, Undefined):
        return undecided


def _blank(mechanism: Mechanism, length: int) -> Iterator[tuple[str, Input]]:
    for item in mechanism.inputs:
        if isinstance(item, nodes.Queries):
            for name in item.names:
                yield name, (Fraction(0),) * length if item.vector else Fraction(0)


# --- databases --------------------------------------------------------------------------------------------


def spots_of(mechanism: Mechanism, data: Inputs) -> list[Spot]:
    """Every private answer, in the order of the declarations."""
    held = dict(data)
    found: list[Spot] = []
    for item in mechanism.inputs:
        if isinstance(item, nodes.Queries):
            for name in item.names:
                found += [Spot((name, index), item) for index, _ in entries(held[name])]
    return found


def moved(scenario: Scenario, moves: Moves) -> Scenario:
    """The pair with D' made anew from D."""
    data_prime = scenario.data
    for place, move in moves.items():
        value = answer(scenario.data, place)
        if not isinstance(value, bool):
            data_prime = with_answer(data_prime, place, exact.add(value, move))
    return replace(scenario, data_prime=data_prime)


def swapped(scenario: Scenario) -> Scenario:
    """D and D' in each other's place: adjacency is symmetric."""
    return replace(scenario, data=scenario.data_prime, data_prime=scenario.data)


def step_at(spot: Spot, parameters: Inputs) -> Fraction:
    """The largest move that the declaration of a spot lets be tried: its sensitivity, on its lattice.

    For `adjacency any` it is the length of the declared range. 0 where there is none.
    """
    scope = RunScope({**dict(parameters), **({} if spot.index is None else {"i": Fraction(spot.index)})})
    try:
        if spot.group.adjacency.free:
            if spot.group.range is None:
                return Fraction(0)
            low, high = (exact.rational_below(number_of(bound, scope), _FINE) for bound in spot.group.range)
            size = high - low
        elif spot.group.sensitivity is None:
            return Fraction(0)
        else:
            size = exact.rational_below(number_of(spot.group.sensitivity, scope), _FINE)
        unit = grain(spot, parameters)
        return size if unit is None else size // unit * unit
    except (Stopped, Undecided, Undefined):
        return Fraction(0)


def grain(spot: Spot, parameters: Inputs) -> Fraction | None:
    """What every answer at a spot is a multiple of; None where answers are any real numbers."""
    if spot.group.lattice is not None:
        try:
            step = number_of(spot.group.lattice, RunScope(dict(parameters)))
        except Stopped:
            return None
        return step if isinstance(step, Fraction) and step > 0 else None
    return Fraction(1) if spot.group.sort is Sort.INT else None


# --- patterns ---------------------------------------------------------------------------------------------

_LEVELS: dict[str, tuple[int, ...]] = {"flat": (0,), "x": (1, 0), "x down": (-1, 0), "ramp": (0, 1, 2, 3, 4)}


def starting_databases(mechanism: Mechanism, length: int, parameters: Inputs) -> list[Scenario]:
    """Databases to start from, each still its own neighbour: all answers alike; two halves (the X shape of
    Ding's dissertation, Table 4-1); a staircase. In steps of the sensitivity, within ranges and lattices.
    """
    blank = tuple(_blank(mechanism, length))
    found = _shaped(mechanism, length, parameters, blank)
    if not found:
        # 0 is outside of what the declarations allow.
        for values in allowed(mechanism, _lengths(mechanism, length), dict(parameters)):
            base: Inputs = tuple(
                (name, (values[name],) * length if isinstance(held, tuple) else values[name])
                for name, held in blank
            )
            found = _shaped(mechanism, length, parameters, base)
            if found:
                break
    return found


def far_databases(mechanism: Mechanism, start: Scenario) -> Iterator[Scenario]:
    """All answers at a number that the program compares something with, where the shapes do not come."""
    for number in constants_of(mechanism)[:_CONSTANTS]:
        data = start.data
        for spot in spots_of(mechanism, data) if abs(number) > _FAR else ():
            data = with_answer(data, spot.place, number)
        there = Scenario(start.parameters, data, data)
        if data != start.data and legal(mechanism, there):
            yield there


def _shaped(mechanism: Mechanism, length: int, parameters: Inputs, base: Inputs) -> list[Scenario]:
    """The databases of all shapes that are legal, each answer so far from that of `base`."""
    found: dict[Inputs, Scenario] = {}
    spots = spots_of(mechanism, base)
    for shape in _LEVELS.values():
        data = base
        for spot in spots:
            place = 0 if spot.index is None else spot.index
            halves = len(shape) == 2
            level = shape[
                0 if halves and place < (length + 1) // 2 else (1 if halves else place % len(shape))
            ]
            here = answer(base, spot.place)
            data = with_answer(data, spot.place, _within(spot, parameters, here, level))
        scenario = Scenario(parameters, data, data)
        if legal(mechanism, scenario):
            found.setdefault(data, scenario)
    return list(found.values())


def _within(spot: Spot, parameters: Inputs, base: Value, level: int) -> Value:
    """An answer `level` sensitivities from `base`, or as close to that as the declared range allows."""
    if not isinstance(base, Fraction):
        return base
    step = step_at(spot, parameters) or grain(spot, parameters) or Fraction(1)
    value = base + level * step
    if spot.group.range is not None:
        scope = RunScope(dict(parameters))
        try:
            low, high = (exact.rational_below(number_of(bound, scope), _FINE) for bound in spot.group.range)
        except (Stopped, Undecided, Undefined):
            return value
        # In the local model the whole range is one step: D at one end, D' at the other.
        value = low if spot.group.adjacency.free else min(max(value, low), high)
    return value


def neighbours(mechanism: Mechanism, scenario: Scenario, share: Fraction = Fraction(1)) -> list[Scenario]:
    """Legal neighbours of D by the patterns of Table 4-1: one above, one below, one above and the rest below,
    and the reverse, half and half, all above, all below, alternating. Answers move by `share` of a step.
    """
    spots = spots_of(mechanism, scenario.data)
    steps = [step_at(spot, scenario.parameters) for spot in spots]
    if not spots:
        return []
    found: dict[Inputs, Scenario] = {}
    rows = _signs(len(spots), max(len(spot.group.adjacency.ways) for spot in spots))
    for signs in chain(rows, _at_one_index(spots)):
        moves = {
            spot.place: sign * step * share
            for spot, step, sign in zip(spots, steps, signs, strict=True)
            if sign and step
        }
        made = moved(scenario, moves)
        if made.data != made.data_prime and made.data_prime not in found and legal(mechanism, made):
            found[made.data_prime] = made
    return list(found.values())


def _at_one_index(spots: Sequence[Spot]) -> Iterator[tuple[int, ...]]:
    """Where lines share an index or a direction: the answers at one index, and single ones, go up or down,
    all of them or but for the first list, which goes the other way.
    """
    if any(spot.group.same_index or spot.group.same_direction for spot in spots):
        most = max(spot.index or 0 for spot in spots)
        for place, first in product(sorted({0, most // 2, most}), (1, -1)):
            row = [
                (first if spot.group is spots[0].group else 1) * (spot.index in (None, place))
                for spot in spots
            ]
            yield tuple(row)
            yield tuple(-sign for sign in row)


def _signs(count: int, few: int) -> Iterator[tuple[int, ...]]:
    """Which answers move up and down; each pattern comes with its mirror image. `few` may move at once."""
    half = (count + 1) // 2
    rows: list[tuple[int, ...]] = [(1,) * count]
    rows.append((1,) + (-1,) * (count - 1))
    rows.append((-1,) * half + (1,) * (count - half))
    rows.append((-1,) * (count - 1) + (1,))
    rows.append(tuple(1 if place % 2 == 0 else -1 for place in range(count)))
    for place in sorted({0, count - 1, count // 2}):
        rows.append(tuple(int(place == other) for other in range(count)))
    if count > 1:
        rows.append((1, -1) + (0,) * (count - 2))
        rows.append((1,) + (0,) * (count - 2) + (-1,))
    if 1 < few < count:
        rows += [(1,) * few + (0,) * (count - few), (0,) * (count - few) + (1,) * few]
    for row in rows:
        yield row
        yield tuple(-sign for sign in row)
