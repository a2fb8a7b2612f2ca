"""The exact density of what a mechanism draws by weights and stated densities.

This is what `Choose` and `Logistic` mean: the density, with respect to the counting measure for an index and
the Lebesgue measure for a number, is the product of those of the draws, each given the ones before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.weights import log_of
from aligncheck.meaning import exact, interpreter
from aligncheck.meaning.exact import ZERO, Number


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the given draws release, and the logarithm of their joint density; nothing and None where that is
    0.
    """

    output: tuple[interpreter.EmittedRecord, ...]
    log_density: Number | None


def weigh(
    mechanism: nodes.Mechanism,
    inputs: interpreter.Inputs,
    drawn: Mapping[str, Number],
    limit: int = interpreter.STEP_LIMIT,
) -> Weighed:
    """Run a mechanism on one database with given draws.

    `drawn` holds the chosen index or the number for each draw by a density. Raises `Stopped` where the run
    has no meaning (a weight that is not positive, nothing to choose from), `Undecided` where exact arithmetic
    cannot decide.
    """
    parts: list[Number] = []

    def value_of(draw: interpreter.ByDensity, scope: interpreter.RunScope) -> Number:
        value = drawn[draw.name]
        part = log_density(draw, value, scope)
        if part is None:
            raise _Impossible
        parts.append(part)
        return value

    machine = interpreter.Machine(mechanism, dict(inputs), lambda _: ZERO, limit, densities=value_of)
    try:
        run = machine.run()
    except _Impossible:
        return Weighed((), None)
    if isinstance(run.ended, interpreter.Fault):
        raise interpreter.Stopped(run.ended)
    return Weighed(run.output, exact.total(parts))


class _Impossible(Exception):  # noqa: N818 - it ends a run, which is no error
    """The given draws have density 0."""


def log_density(draw: interpreter.ByDensity, value: Number, scope: interpreter.RunScope) -> Number | None:
    """The logarithm of the density of one draw at `value`; None where it is 0."""
    match draw:
        case nodes.Choose(weights=weights):
            return _log_probability(weights, value, scope)
        case nodes.Logistic():
            return _log_logistic(draw, value, scope)


def log_weights(weights: nodes.Gather, scope: interpreter.RunScope) -> list[tuple[int, Number]]:
    """The logarithm of the weight of each index that may be chosen."""
    found = interpreter.at_each_index(replace(weights, body=log_of(weights.body)), scope)
    if not found:
        interpreter.undefined(weights, "there is nothing to choose from")
    return found


def _log_probability(weights: nodes.Gather, value: Number, scope: interpreter.RunScope) -> Number | None:
    logs = log_weights(weights, scope)
    own = [log for index, log in logs if value == index]
    if not own:
        return None
    return exact.subtract(own[0], exact.log_sum_exp(log for _, log in logs))


def _log_logistic(draw: nodes.Logistic, value: Number, scope: interpreter.RunScope) -> Number | None:
    location, scale = interpreter.number_of(draw.location, scope), interpreter.number_of(draw.scale, scope)
    if exact.sign(scale) <= 0:
        interpreter.undefined(draw.scale, f"the scale is {scale}, which is not positive")

    def standard(number: Number) -> Number:
        return exact.divide(exact.subtract(number, location), scale)

    def softplus(number: Number) -> Number:
        """ln(1 + exp(number))."""
        return exact.log_sum_exp((ZERO, number))

    minus_z = exact.negative(standard(value))
    half = exact.negative(softplus(minus_z))
    parts = [minus_z, half, half, exact.negative(exact.ln(scale))]
    if draw.low is not None:
        low = interpreter.number_of(draw.low, scope)
        if exact.compare(value, low) <= 0:
            return None
        # The number is above `low` with probability 1/(1 + exp((low - location)/scale)).
        parts.append(softplus(standard(low)))
    return exact.total(parts)
