"""What a spec claims for an event: the ε that must not be exceeded."""

from __future__ import annotations

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
        super().__init__({**dict(scenario.parameters), **dict(scenario.data)})
        self._records = records

    def output(self, node: nodes.Node) -> tuple[EmittedRecord, ...]:
        return self._records


def claim_for(mechanism: nodes.Mechanism, scenario: Scenario, event: Event) -> Number:
    """The ε that the `privacy` line grants an event, on inputs that are legal.

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
