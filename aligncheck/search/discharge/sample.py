"""Small scenarios at random: where the solver finds no run in time, one may turn up by trying.

The choices come from a fixed seed, so that a verdict is the same every time. Whether a scenario is legal, and
what it violates, is for `replay` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from random import Random

from aligncheck.language.internal import InternalError
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning.exact import Value
from aligncheck.meaning.interpreter import CallKey, Inputs, NoiseKey
from aligncheck.meaning.scenario import CallNoise, Scenario
from aligncheck.search.relational.theory import Ground

_VALUES = (0, 0, 1, -1, 2, -2)
_MOVES = (-1, 0, 1)


def scenarios(
    mechanism: nodes.Mechanism, parameters: dict[str, Ground], lengths: dict[str, int], random: Random
) -> Iterator[Scenario]:
    """Without end: small answers that move by at most 1, small noise. Many are no legal pairs."""
    while True:
        public: list[tuple[str, Value | tuple[Value, ...]]] = []
        data: list[tuple[str, Value | tuple[Value, ...]]] = []
        prime: list[tuple[str, Value | tuple[Value, ...]]] = []
        for item in mechanism.inputs:
            match item:
                case nodes.Parameter():
                    public.append((item.name, parameters[item.name]))
                case nodes.PublicVector():
                    public.append((item.name, _public(item, lengths[item.name], random)))
                case nodes.Queries():
                    moves = random.choice(((-1,), (1,), (-1, 1), _MOVES, (0, 0, 0, random.choice(_MOVES))))
                    for name in item.names:
                        size = lengths[name] if item.vector else 1
                        left = [Fraction(random.choice(_VALUES)) for _ in range(size)]
                        right = [value + random.choice(moves) for value in left]
                        data.append((name, tuple(left) if item.vector else left[0]))
                        prime.append((name, tuple(right) if item.vector else right[0]))
        length = max(lengths.values(), default=0)
        noise, calls = _noise(mechanism, length, random), _calls(mechanism, length, random)
        yield Scenario(tuple(public), tuple(data), tuple(prime), noise, calls)


def simpler_scenarios(scenario: Scenario) -> Iterator[Callable[[Scenario], Scenario]]:
    """Steps that each make one number simpler: a draw is 0 (all those of a call), an answer does not move, an
    answer is 0 on D.
    """
    for call, _ in scenario.calls:
        yield partial(_quiet, call=call)
    for key, _ in scenario.noise:
        yield partial(_without, key=key)
    for place, (_, values) in enumerate(scenario.data):
        for index in range(len(values) if isinstance(values, tuple) else 1):
            yield partial(_unmoved, place=place, index=index)
            yield partial(_from_zero, place=place, index=index)


def _without(scenario: Scenario, key: NoiseKey) -> Scenario:
    return replace(scenario, noise=tuple(n for n in scenario.noise if n[0] != key))


def _quiet(scenario: Scenario, call: CallKey) -> Scenario:
    return replace(scenario, calls=tuple(c for c in scenario.calls if c[0] != call))


def _unmoved(scenario: Scenario, place: int, index: int) -> Scenario:
    """The answer on D' is that on D."""
    left = _answer(scenario.data, place, index)
    return replace(scenario, data_prime=_put(scenario.data_prime, place, index, left))


def _from_zero(scenario: Scenario, place: int, index: int) -> Scenario:
    """The answer on D is 0, and moves as far as it did."""
    move = _answer(scenario.data_prime, place, index) - _answer(scenario.data, place, index)
    return replace(
        scenario,
        data=_put(scenario.data, place, index, Fraction(0)),
        data_prime=_put(scenario.data_prime, place, index, move),
    )


def _answer(inputs: Inputs, place: int, index: int) -> Fraction:
    values = inputs[place][1]
    value = values[index] if isinstance(values, tuple) else values
    if not isinstance(value, Fraction):
        raise InternalError("a value that was not drawn")
    return value


def _put(inputs: Inputs, place: int, index: int, value: Fraction) -> Inputs:
    name, values = inputs[place]
    new = (*values[:index], value, *values[index + 1 :]) if isinstance(values, tuple) else value
    return (*inputs[:place], (name, new), *inputs[place + 1 :])


def _public(item: nodes.PublicVector, size: int, random: Random) -> tuple[Value, ...]:
    if item.sort is nodes.Sort.BOOL:
        return tuple(random.random() < 1 / 2 for _ in range(size))
    return tuple(Fraction(random.choice((1, 1, 2, 0))) for _ in range(size))


def _noise(mechanism: nodes.Mechanism, length: int, random: Random) -> tuple[tuple[NoiseKey, Value], ...]:
    found: dict[NoiseKey, Value] = {}
    for draw in statements_in(mechanism.body):
        if isinstance(draw, nodes.Sample):
            for index in (None,) if draw.index is None else range(length + 1):
                value = random.choice(_VALUES)
                found[draw.name, index] = Fraction(abs(value) if draw.family.one_sided else value)
    return tuple(found.items())


def _calls(mechanism: nodes.Mechanism, length: int, random: Random) -> tuple[tuple[CallKey, CallNoise], ...]:
    """Noise of what is called, in each of as many executions as a loop over the answers may make."""
    callees = {use.name: contract_of(use).mechanism for use in mechanism.uses}
    calls = [s for s in statements_in(mechanism.body) if isinstance(s, nodes.Invoke)]
    return tuple(
        ((call.name, number), CallNoise(_noise(callee, length, random), (), _calls(callee, length, random)))
        for call in calls
        for callee in (callees[call.mechanism],)
        for number in range(length + 1)
    )
