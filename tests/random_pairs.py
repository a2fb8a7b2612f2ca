"""Random legal pairs of databases with random noise, replayed with exact arithmetic.

The interpreter shares no code with the checker: what is VERIFIED but violated on such a pair is a hole.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from aligncheck.language.syntax import nodes
from aligncheck.meaning import interpreter
from aligncheck.meaning.exact import Number, Undecided, Value
from aligncheck.meaning.replay import Replay, replay
from aligncheck.meaning.scenario import CallNoise, Scenario, check_scenario, simplest

F = Fraction
PAIRS, TRIES, LIMIT = 12, 400, 400


def scenarios(mechanism: nodes.Mechanism, seed: int) -> Iterator[Scenario]:
    """Random legal scenarios: small numbers, up to four answers, noise with many ties."""
    chance = random.Random(seed)
    for _ in range(TRIES):
        size = chance.randint(0, 4)
        parameters = tuple(
            (declared.name, public(declared, size, chance))
            for declared in mechanism.inputs
            if not isinstance(declared, nodes.Queries)
        )
        data: list[tuple[str, interpreter.Input]] = []
        prime: list[tuple[str, interpreter.Input]] = []
        for declared in mechanism.inputs:
            if isinstance(declared, nodes.Queries):
                for name, (left, right) in private(declared, size, chance).items():
                    data.append((name, left))
                    prime.append((name, right))
        legal = Scenario(parameters, tuple(data), tuple(prime))
        if not check_scenario(mechanism, legal):
            yield with_noise(mechanism, legal, chance)


def public(
    declared: nodes.Parameter | nodes.PublicVector, size: int, chance: random.Random
) -> interpreter.Input:
    if isinstance(declared, nodes.Parameter):
        return public_value(declared.sort, chance)
    return tuple(public_value(declared.sort, chance) for _ in range(size))


def public_value(sort: nodes.Sort, chance: random.Random) -> Value:
    if sort is nodes.Sort.BOOL:
        return chance.random() < 0.5
    if sort is nodes.Sort.INT:
        return F(chance.choice([0, 1, 1, 2, 3, -1]))
    return chance.choice([F(0), F(1, 4), F(1, 2), F(1), F(1), F(2), F(5)])


def private(
    declared: nodes.Queries, size: int, chance: random.Random
) -> dict[str, tuple[interpreter.Input, interpreter.Input]]:
    """Both databases' answers; `check_scenario` sorts out those that are not adjacent."""
    step = F(1) if declared.sort is nodes.Sort.INT else F(1, 2)
    favourite = chance.choice([F(0), F(1), F(-1)])
    where = chance.randrange(4)
    found: dict[str, tuple[interpreter.Input, interpreter.Input]] = {}
    for name in declared.names:
        left = [step * chance.choice([0, 0, 1, 2, 8, 200, -3]) for _ in range(size if declared.vector else 1)]
        moves = {
            nodes.Adjacency.ONE: [favourite * (number == where) for number in range(len(left))],
            nodes.Adjacency.MONOTONE: [favourite * chance.randint(0, 1) for _ in left],
            nodes.Adjacency.MOVED: [F((number == where) - (number == 0)) for number in range(len(left))],
            nodes.Adjacency.L1: [favourite * (number == where) for number in range(len(left))],
        }.get(declared.adjacency, [step * chance.choice([0, 1, -1, 2, -2]) for _ in left])
        right = [answer + move for answer, move in zip(left, moves, strict=True)]
        found[name] = (tuple(left), tuple(right)) if declared.vector else (left[0], right[0])
    return found


def with_noise(mechanism: nodes.Mechanism, legal: Scenario, chance: random.Random) -> Scenario:
    """Draw noise where the run on D asks for it, within its support, in what is called as well."""
    inputs = {**dict(legal.parameters), **dict(legal.data)}
    drawn, _ = noise_of_run(mechanism, inputs, legal.applied(mechanism), chance)
    return replace(legal, noise=drawn.noise, calls=drawn.calls)


def noise_of_run(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, interpreter.Input],
    functions: Mapping[str, interpreter.Function],
    chance: random.Random,
) -> tuple[CallNoise, interpreter.Run]:
    """One run with random noise, and that noise."""
    drawn: dict[interpreter.NoiseKey, Value] = {}
    chosen: list[tuple[str, Number]] = []
    calls: dict[interpreter.CallKey, CallNoise] = {}

    def source(site: interpreter.DrawSite) -> Number:
        value = random_noise(site, chance)
        drawn[site.key] = value
        return value

    def densities(statement: interpreter.ByDensity, scope: interpreter.RunScope) -> Number:
        if isinstance(statement, nodes.Choose):
            value: Number = F(
                chance.choice([index for index, _ in interpreter.at_each_index(statement.weights, scope)])
            )
        else:
            value = simplest(statement, scope)
        chosen.append((statement.name, value))
        return value

    def call(site: interpreter.CallSite) -> tuple[interpreter.EmittedRecord, ...]:
        calls[site.key], done = noise_of_run(site.contract.mechanism, dict(site.given), {}, chance)
        return interpreter.released(site, done)

    run = interpreter.Machine(
        mechanism, inputs, source, LIMIT, call_source=call, functions=functions, densities=densities
    ).run()
    return CallNoise(tuple(drawn.items()), tuple(chosen), tuple(calls.items())), run


def random_noise(site: interpreter.DrawSite, chance: random.Random) -> Number:
    size = chance.choice([0, 0, 1, 2, 50, 300])
    if site.family.bounded or site.family.coin:
        return F(size % 2 if site.family.coin else 0)
    step = site.args[1] if site.family.stepped else F(1) if site.family.one_sided else F(1, 2)
    assert isinstance(step, Fraction)
    return step * size * (1 if site.family.one_sided else chance.choice([1, -1]))


def replays(mechanism: nodes.Mechanism, seed: int) -> Iterator[Replay]:
    done = 0
    for scenario in scenarios(mechanism, seed):
        try:
            yield replay(mechanism, scenario, LIMIT)
        except Undecided:
            continue
        done += 1
        if done == PAIRS:
            return
