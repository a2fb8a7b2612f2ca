"""Brute force beside exact probabilities: seeded runs of the interpreter, and how many are in an event."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction

from aligncheck.language.syntax import nodes
from aligncheck.meaning import exact, interpreter
from aligncheck.meaning.exact import Irrational, Number
from aligncheck.meaning.exact_density import log_weights
from aligncheck.refutation import events
from aligncheck.refutation.enclosure import Ball

STEPS = 2_000


def simulated(
    mechanism: nodes.Mechanism, inputs: Mapping[str, interpreter.Input], count: int, seed: int
) -> list[interpreter.Run]:
    """Independent runs; public functions are 0 or false, as without an interpretation."""
    chance = random.Random(seed)
    functions = {
        f.name: lambda _, f=f: False if f.result is nodes.Sort.BOOL else Fraction(0)
        for f in mechanism.functions
    }
    noise, densities = noise_from(chance), densities_from(chance)

    def goes_on(stop: Number) -> bool:
        return chance.random() >= approximate(stop)

    return [
        interpreter.Machine(
            mechanism, inputs, noise, STEPS, functions=functions, densities=densities, goes_on=goes_on
        ).run()
        for _ in range(count)
    ]


def approximate(value: Number) -> float:
    return float(exact.decimal(value, 17)) if isinstance(value, Irrational) else float(value)


def noise_from(chance: random.Random) -> interpreter.Noise:
    """Draws from the families; floats are exact rationals from there on."""

    def geometric(rate: float) -> int:
        return math.floor(-math.log(1 - chance.random()) / rate)

    def draw(site: interpreter.DrawSite) -> Number:
        scale, *steps = map(approximate, site.args)
        match site.family:
            case nodes.Family.LAPLACE:
                return Fraction(chance.expovariate(1 / scale) * chance.choice((-1, 1)))
            case nodes.Family.GAUSSIAN:
                return Fraction(chance.gauss(0, scale))
            case nodes.Family.DISCRETE_GAUSSIAN:
                wide = range(-round(9 * scale / steps[0]) - 9, round(9 * scale / steps[0]) + 10)
                (drawn,) = chance.choices(wide, [math.exp(-((x * steps[0] / scale) ** 2) / 2) for x in wide])
                assert isinstance(site.args[1], Fraction)
                return drawn * site.args[1]
            case nodes.Family.CAUCHY:
                return Fraction(scale * math.tan(math.pi * (chance.random() - 0.5)))
            case nodes.Family.STAIRCASE:
                width, gamma = map(approximate, site.args[1:])
                low = chance.random() * (gamma + (1 - gamma) * math.exp(-scale)) > gamma
                part = gamma + (1 - gamma) * chance.random() if low else gamma * chance.random()
                return Fraction(chance.choice((-1, 1)) * width * (geometric(scale) + part))
            case nodes.Family.LOGISTIC:
                odds = chance.random()
                return Fraction(scale * (math.log(odds) - math.log1p(-odds)))
            case nodes.Family.GUMBEL:
                return Fraction(-scale * math.log(chance.expovariate(1)))
            case nodes.Family.UNIFORM:
                return Fraction(scale * chance.random())
            case nodes.Family.BERNOULLI:
                return Fraction(int(chance.random() < scale))
            case nodes.Family.EXPONENTIAL:
                return Fraction(chance.expovariate(1 / scale))
            case nodes.Family.GEOMETRIC:
                return Fraction(geometric(-math.log1p(-scale)))
            case nodes.Family.DISCRETE_LAPLACE | nodes.Family.DISCRETE_EXPONENTIAL:
                rate = steps[0] / scale if steps else 1 / scale
                step = site.args[1] if steps else Fraction(1)
                assert isinstance(step, Fraction)
                less = 0 if site.family.one_sided else geometric(rate)
                return (geometric(rate) - less) * step

    return draw


def densities_from(chance: random.Random) -> interpreter.DensitySource:
    """Draws by weights, and logistic ones by rejection."""

    def draw(statement: interpreter.ByDensity, scope: interpreter.RunScope) -> Number:
        if isinstance(statement, nodes.Choose):
            logs = [(index, approximate(log)) for index, log in log_weights(statement.weights, scope)]
            most = max(log for _, log in logs)
            weights = [math.exp(log - most) for _, log in logs]
            return Fraction(chance.choices([index for index, _ in logs], weights)[0])
        location = approximate(interpreter.number_of(statement.location, scope))
        scale = approximate(interpreter.number_of(statement.scale, scope))
        low = -math.inf if statement.low is None else approximate(interpreter.number_of(statement.low, scope))
        while True:
            u = chance.uniform(1e-15, 1 - 1e-15)
            value = location + scale * math.log(u / (1 - u))
            if value > low:
                return Fraction(value)

    return draw


# --- events -------------------------------------------------------------------------------------------------


def event_near(run: interpreter.Run, chance: random.Random) -> events.Event:
    """An event that the run is in: some fields free, noisy numbers within an interval, sometimes a prefix."""
    if isinstance(run.ended, interpreter.Fault):
        return events.Raises()
    patterns = [
        events.RecordPattern(
            record.tag,
            tuple((name, _near(value, chance)) for name, value in record.fields if chance.random() < 0.75),
        )
        for record in run.output
    ]
    if patterns and chance.random() < 0.3:
        return events.CompleteOutput(tuple(patterns[: chance.randint(1, len(patterns))]), complete=False)
    return events.CompleteOutput(tuple(patterns))


def _near(value: exact.Value, chance: random.Random) -> events.Constraint:
    if isinstance(value, Irrational):
        value = Fraction(approximate(value))  # noise under a root, say
    if isinstance(value, bool):
        return events.Exactly(value)
    if value.denominator < 1_000:
        below = chance.choice((0, 0, 1))
        return events.Between(value - below, value) if chance.random() < 0.3 else events.Exactly(value)
    low, high = (Fraction(round(4 * value) + side * chance.randint(1, 8), 4) for side in (-1, 1))
    return chance.choice([events.Between(low, high), events.Between(low, None), events.Between(None, high)])


def in_event(run: interpreter.Run, event: events.Event) -> bool:
    """Whether a run is in the event, as `events` defines it."""
    match event:
        case events.OneOf(outputs=outputs):
            return any(in_event(run, each) for each in outputs)
        case events.Raises():
            return isinstance(run.ended, interpreter.Fault)
        case events.CompleteOutput(records=patterns, complete=complete):
            if complete and not (
                isinstance(run.ended, interpreter.Finished) and len(run.output) == len(patterns)
            ):
                return False
            return len(run.output) >= len(patterns) and all(
                record.tag == pattern.tag
                and all(_holds(dict(record.fields)[name], constraint) for name, constraint in pattern.fields)
                for record, pattern in zip(run.output, patterns, strict=False)
            )


def _holds(value: exact.Value, constraint: events.Constraint) -> bool:
    match constraint:
        case events.Exactly(value=wanted):
            if isinstance(wanted, int) and not isinstance(wanted, bool):
                wanted = Fraction(wanted)
            return exact.same(value, wanted)
        case events.Between(low=low, high=high):
            assert not isinstance(value, bool)
            above = low is None or exact.compare(value, low) >= 0
            return above and (high is None or exact.compare(value, high) <= 0)


def agrees(hits: int, runs: int, probability: Ball) -> bool:
    """Whether so many hits are credible: within five standard deviations, and none where it is impossible."""
    if probability.is_zero:
        return hits == 0
    p = float(probability)
    return abs(hits - runs * p) <= 5 * math.sqrt(runs * p * max(1 - p, 0)) + 3
