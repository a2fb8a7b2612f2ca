"""What a spec claims for an event (the ε that must not be exceeded, beside a δ; or the ρ), and how much of it
the event uses up: the level that its two probabilities show.

Of a claim in ε beside δ it is the ε for which P(M(D) in E) = e^ε P(M(D') in E) + δ, that is ln((P - δ)/P').
Of a claim in ρ it is the greatest of d/α over some orders α > 1, where d is the Rényi divergence of order α
between the two answers to whether E happened: that is post-processing, so d is at most αρ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, log, log1p

from aligncheck.language.syntax import nodes
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Number
from aligncheck.meaning.interpreter import EmittedRecord, RunScope, number_of
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.events import CompleteOutput, Event

_NO_STATEMENT = nodes.Emit("", ())


class _Released(RunScope):
    """A scope in which `out` has known tags."""

    def __init__(self, scenario: Scenario, records: tuple[EmittedRecord, ...]) -> None:
        super().__init__(scenario.on_d)
        self._records = records

    def output(self, node: nodes.Node) -> tuple[EmittedRecord, ...]:
        return self._records


@dataclass(frozen=True, slots=True)
class Granted:
    """What a claim grants an event: ε beside δ, or, where it is `concentrated`, ρ."""

    amount: Number
    delta: Number = Fraction(0)
    concentrated: bool = False


def granted_for(mechanism: nodes.Mechanism, scenario: Scenario, event: Event) -> Granted:
    """What the `privacy` line grants an event, on inputs that are legal. Raises `Stopped`."""
    match mechanism.claim:
        case nodes.Pure():
            return Granted(claim_for(mechanism, scenario, event))
        case nodes.Approximate(epsilon=epsilon, delta=delta):
            scope = _Released(scenario, ())
            return Granted(number_of(epsilon, scope), number_of(delta, scope))
        case nodes.Concentrated(rho=rho):
            return Granted(number_of(rho, _Released(scenario, ())), concentrated=True)


def claim_for(mechanism: nodes.Mechanism, scenario: Scenario, event: Event) -> Number:
    """The ε that a pure claim grants an event, on inputs that are legal.

    A claim that depends on the output (its record count, its tags) is the same for all outputs of an event
    that names every record; for any other event its bound is what counts. Raises `Stopped` where the line has
    no value.
    """
    if mechanism.most is None:
        return number_of(mechanism.privacy, _Released(scenario, ()))
    if isinstance(event, CompleteOutput) and event.complete:
        records = tuple(EmittedRecord(pattern.tag, (), _NO_STATEMENT) for pattern in event.records)
        own = number_of(mechanism.privacy, _Released(scenario, records))
        most = number_of(mechanism.most, _Released(scenario, ()))
        return own if exact.compare(own, most) <= 0 else most
    return number_of(mechanism.most, _Released(scenario, ()))


# --- levels -----------------------------------------------------------------------------------------------

ORDERS = tuple(1 + 2.0**power for power in range(-10, 13))
"""The orders that are tried."""


def level(on_d: float, on_d_prime: float, delta: float, *, concentrated: bool) -> float:
    """About, from the logarithms of two probabilities, the first of which is the greater."""
    if concentrated:
        return max((divergence(on_d, on_d_prime, order) / order for order in ORDERS), default=0.0)
    if delta == 0:
        return on_d - on_d_prime
    left = exp(on_d) - delta
    return log(left) - on_d_prime if left > 0 else 0.0


def best_order(on_d: float, on_d_prime: float) -> float:
    """The order of which the level is greatest."""
    return max(ORDERS, key=lambda order: divergence(on_d, on_d_prime, order) / order)


def divergence(on_d: float, on_d_prime: float, order: float) -> float:
    """The Rényi divergence between coins with these probabilities, given by their logarithms, about."""
    if on_d_prime == -inf:
        return inf if on_d > -inf else 0.0
    terms = [order * on_d + (1 - order) * on_d_prime]
    if on_d < 0 and on_d_prime < 0:
        terms.append(order * log(-expm1(on_d)) + (1 - order) * log(-expm1(on_d_prime)))
    greatest = max(terms)
    return (greatest + log1p(sum(exp(term - greatest) for term in terms) - 1)) / (order - 1)
