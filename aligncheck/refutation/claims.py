"""What a spec claims for an event: the ε that must not be exceeded, beside a δ; or the ρ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

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
