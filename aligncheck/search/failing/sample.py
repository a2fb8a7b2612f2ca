"""Small scenarios at random: where the solver finds no run in time, one may turn up by trying.

The choices come from a fixed seed, so that a verdict is the same every time. Whether a scenario is legal, and
what it violates, is for `replay` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil, floor
from random import Random
from typing import TypeAlias

from aligncheck.language.adjacencies import Adjacency, Shared
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.walk import names_in, statements_in, together
from aligncheck.meaning import interpreter
from aligncheck.meaning.choices import Ground
from aligncheck.meaning.exact import Undecided, Value
from aligncheck.meaning.scenario import CallNoise, Place, Scenario, entries, numbers_at, with_answers

_VALUES = (0, 0, 1, -1, 2, -2)
_FAR = (0, 1, -1, 3, -3, 64, -64)
"""Noise of which some is far out."""
_TRIES = 8
_SIZES = (Fraction(1), Fraction(2), Fraction(4))
"""Of draws: what is easy to read."""


def scenarios(
    mechanism: nodes.Mechanism,
    parameters: Mapping[str, Ground],
    lengths: Mapping[str, int],
    random: Random,
    far: bool = False,
) -> Iterator[Scenario]:
    """Without end: small answers that move by as much as they may, small noise (or, if `far`, some that is
    not). Not all are legal pairs.
    """
    while True:
        public: dict[str, interpreter.Input] = {}
        data: dict[str, interpreter.Input] = {}
        prime: dict[str, interpreter.Input] = {}
        for item in mechanism.inputs:
            match item:
                case nodes.Parameter():
                    public[item.name] = parameters[item.name]
                case nodes.PublicVector():
                    public[item.name] = _public(item, lengths[item.name], random)
                case nodes.Queries():
                    pass
        seeds: dict[tuple[str, ...], float] = {}
        for lines in (each for what in Shared for each in together(mechanism.inputs, what) if len(each) > 1):
            seed = next((seeds[x.names] for x in lines if x.names in seeds), random.random())
            seeds |= {line.names: seed for line in lines}  # what moves together is chosen alike
        for item in mechanism.inputs:
            if isinstance(item, nodes.Queries):
                chance = Random(seeds[item.names]) if item.names in seeds else random
                left, right = _answers(item, public, lengths, random, chance)
                data |= left
                prime |= right
        length = max(lengths.values(), default=0)
        noise = _noise(mechanism, public, length, random, (*_VALUES, *_FAR) if far else _VALUES)
        calls = _calls(mechanism, public, length, random)
        yield Scenario(tuple(public.items()), tuple(data.items()), tuple(prime.items()), noise, calls)


def _answers(
    item: nodes.Queries,
    public: Mapping[str, interpreter.Input],
    lengths: Mapping[str, int],
    random: Random,
    chance: Random,
) -> tuple[dict[str, interpreter.Input], dict[str, interpreter.Input]]:
    """The answers of one group on D and on D'."""
    places = [(name, i) for name in item.names for i in range(lengths[name] if item.vector else 1)]
    signs = _signs(item.adjacency, len(places), chance)
    pairs = [_answer_pair(item, public, i, s, random) for (_, i), s in zip(places, signs, strict=True)]
    sides: list[dict[str, interpreter.Input]] = []
    for side in (0, 1):
        values: dict[str, list[Value]] = {name: [] for name in item.names}
        for (name, _), pair in zip(places, pairs, strict=True):
            values[name].append(pair[side])
        sides.append({name: tuple(v) if item.vector else v[0] for name, v in values.items()})
    return sides[0], sides[1]


def _signs(adjacency: Adjacency, count: int, random: Random) -> list[int]:
    """Which answers go up (1) or down (-1), as the adjacency allows: one of them, all one way, any."""
    for _ in range(_TRIES):
        way = random.choice((1, -1))
        kind = random.randrange(4)
        if kind == 0:
            moved = random.randrange(count) if count else 0
            signs = [way if place == moved else 0 for place in range(count)]
        elif kind == 1:
            signs = [way] * count
        else:
            signs = [random.choice((1, -1, 0) if kind == 2 else (1, -1)) for _ in range(count)]
        if adjacency.free or adjacency.allows(signs.count(1), signs.count(-1)):
            return signs
    return [0] * count


def _answer_pair(
    item: nodes.Queries, public: Mapping[str, interpreter.Input], index: int, sign: int, random: Random
) -> tuple[Value, Value]:
    """One answer on D and on D'."""
    if item.sort is nodes.Sort.BOOL:
        return (sign < 0, sign > 0) if sign else (random.random() < 1 / 2,) * 2
    ends = None if item.range is None else [rational(end, public, index) for end in item.range]
    if ends is not None and item.adjacency.free:
        return random.choice(ends), random.choice(ends)
    step = Fraction(item.sort is nodes.Sort.INT)
    if item.lattice is not None:
        step = rational(item.lattice, public, index)
    left = random.choice(_VALUES) * (step or Fraction(1))
    if ends is not None:
        left = random.choice((ends[0], ends[1], max(ends[0], min(ends[1], left))))
    size = Fraction(0) if item.sensitivity is None else rational(item.sensitivity, public, index)
    right = left + sign * (size // step * step if step else size)
    return left, right if ends is None else max(ends[0], min(ends[1], right))


def rational(expr: nodes.Expr, public: Mapping[str, interpreter.Input], index: int) -> Fraction:
    """What an expression over the public inputs is at an index; 0 for an irrational number, which no small
    database has, and for what is not known yet.
    """
    try:
        value = interpreter.number_of(expr, interpreter.RunScope({**public, "i": Fraction(index)}))
    except (interpreter.Stopped, Undecided):
        return Fraction(0)
    return value if isinstance(value, Fraction) else Fraction(0)


def shorter_scenarios(scenario: Scenario) -> Iterator[Callable[[Scenario], Scenario]]:
    """Steps that each leave out an entry of all lists, the last ones first."""
    lists = [v for _, v in (*scenario.parameters, *scenario.data) if isinstance(v, tuple)]
    for at in reversed(range(max(map(len, lists), default=0))):
        yield partial(_shorter, at=at)


def simpler_scenarios(scenario: Scenario) -> Iterator[Callable[[Scenario], Scenario]]:
    """Steps that each make one number simpler: a draw is 0 (all those of a call) or a small whole number, an
    answer does not move, is 0 on D, or a whole number on both.
    """
    for call, _ in scenario.calls:
        yield partial(_quiet, call=call)
    for key, _ in scenario.noise:
        yield partial(_without, key=key)
        for size in _SIZES:
            yield partial(_smaller, key=key, size=size)
    for name, values in scenario.data:
        for index, value in entries(values):
            for change in (_unmoved, _from_zero, _whole) if isinstance(value, Fraction) else ():
                yield partial(_changed, place=(name, index), change=change)


def _without(scenario: Scenario, key: interpreter.NoiseKey) -> Scenario:
    return replace(scenario, noise=tuple(n for n in scenario.noise if n[0] != key))


def _shorter(scenario: Scenario, at: int) -> Scenario:
    """All lists, and the draws with an index, without one entry."""

    def cut(inputs: interpreter.Inputs) -> interpreter.Inputs:
        return tuple((x, v[:at] + v[at + 1 :] if isinstance(v, tuple) else v) for x, v in inputs)

    return replace(
        scenario,
        parameters=cut(scenario.parameters),
        data=cut(scenario.data),
        data_prime=cut(scenario.data_prime),
        noise=tuple(
            ((x, i - 1 if i is not None and i > at else i), v) for (x, i), v in scenario.noise if i != at
        ),
    )


def _smaller(scenario: Scenario, key: interpreter.NoiseKey, size: Fraction) -> Scenario:
    """A draw that is greater, or a fraction, has this size."""
    value = dict(scenario.noise).get(key)
    if not isinstance(value, Fraction) or (abs(value) <= size and value.denominator == 1):
        return scenario
    new = size if value > 0 else -size
    return replace(scenario, noise=tuple((k, new if k == key else v) for k, v in scenario.noise))


def _quiet(scenario: Scenario, call: interpreter.CallKey) -> Scenario:
    return replace(scenario, calls=tuple(c for c in scenario.calls if c[0] != call))


_Pair: TypeAlias = tuple[Fraction, Fraction]


def _changed(scenario: Scenario, place: Place, change: Callable[[Fraction, Fraction], _Pair]) -> Scenario:
    numbers = numbers_at(scenario, place)
    return scenario if numbers is None else with_answers(scenario, place, *change(*numbers))


def _unmoved(left: Fraction, right: Fraction) -> _Pair:
    """The answer on D' is that on D."""
    return left, left


def _from_zero(left: Fraction, right: Fraction) -> _Pair:
    """The answer on D is 0, and moves as far as it did."""
    return Fraction(0), right - left


def _whole(left: Fraction, right: Fraction) -> _Pair:
    """The answer on D is the nearest whole number, and moves by the next one."""
    move, near = right - left, Fraction(round(left))
    return near, near + (ceil(move) if move > 0 else floor(move))


def _public(item: nodes.PublicVector, size: int, random: Random) -> tuple[Value, ...]:
    if item.sort is nodes.Sort.BOOL:
        return tuple(random.random() < 1 / 2 for _ in range(size))
    return tuple(Fraction(random.choice((1, 1, 2, 0))) for _ in range(size))


def _noise(
    mechanism: nodes.Mechanism,
    public: Mapping[str, interpreter.Input],
    length: int,
    random: Random,
    among: Sequence[int] = _VALUES,
) -> tuple[tuple[interpreter.NoiseKey, Value], ...]:
    found: dict[interpreter.NoiseKey, Value] = {}
    for draw in statements_in(mechanism.body):
        if isinstance(draw, nodes.Sample):
            step = _step(draw, public)
            for index in (None,) if draw.index is None else range(length + 1):
                value = random.choice(among) * step
                value = abs(value) if draw.family.one_sided else value
                found[draw.name, index] = value % 2 if draw.family.coin else value
    return tuple(found.items())


def _step(draw: nodes.Sample, public: Mapping[str, interpreter.Input]) -> Fraction:
    """The step of noise on a lattice, where the inputs alone say it."""
    known = draw.family.stepped and names_in(draw.args[1]) <= public.keys()
    return (rational(draw.args[1], public, 0) if known else Fraction(0)) or Fraction(1)


def _calls(
    mechanism: nodes.Mechanism, public: Mapping[str, interpreter.Input], length: int, random: Random
) -> tuple[tuple[interpreter.CallKey, CallNoise], ...]:
    """Noise of what is called, in each of as many executions as a loop over the answers may make."""
    callees = {use.name: contract_of(use).mechanism for use in mechanism.uses}
    calls = [s for s in statements_in(mechanism.body) if isinstance(s, nodes.Invoke)]
    return tuple(
        (
            (call.name, number),
            CallNoise(_noise(callee, {}, length, random), (), _calls(callee, {}, length, random)),
        )
        for call in calls
        for callee in (callees[call.mechanism],)
        for number in range(length + 1)
    )
