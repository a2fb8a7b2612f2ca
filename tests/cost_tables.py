"""What a cost table says of one replayed run: that no draw and no call costs more than its lines say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning import exact
from aligncheck.meaning.exact import ZERO, Number
from aligncheck.meaning.interpreter import Draw, Finished, Invoked, RunScope, State, number_of
from aligncheck.meaning.replay import Replay
from aligncheck.report.cost import EXACT, CostPart

SETS = re.compile(r"\b(arg)?(max|min)\(.* for ")
"""Amounts that ask where a maximum is taken may look ahead, and at D': no run has them yet."""


def value(text: str, variables: Mapping[str, State], inputs: Mapping[str, object]) -> Number:
    """The value of an amount, which is written as in a spec."""
    spec = parse(Source("amount", f"mechanism m\nprivacy {text}\nprogram\n  emit x\n"))
    scope = RunScope(inputs)  # type: ignore[arg-type]
    scope.variables = dict(variables)
    return number_of(spec.privacy, scope)


def agrees(parts: Sequence[CostPart], done: Replay) -> bool:
    """Checks a table against a run; False where the run tells nothing (no output, or another one on D').

    Every draw that moves and every call has a line, and costs at most what its lines say together.
    """
    if not isinstance(done.run_d.ended, Finished) or done.violations or done.claim is None:
        return False
    inputs = {**dict(done.scenario.parameters), **dict(done.scenario.data)}
    before: Number = ZERO
    for step in done.steps:
        made = step.on_d
        if step.cost is None or not isinstance(made, Draw | Invoked):
            continue
        paid, before = exact.subtract(step.cost, before), step.cost
        own = [part for part in parts if part.name.split("[")[0].split(" =")[0] == made.name]
        assert own or exact.sign(paid) == 0, step
        # Draws that take each other's place are paid for together: a run's steps have each by itself.
        exchanged = any("in the place of" in part.times for part in own)
        if not exchanged and not any(part.amount == EXACT or SETS.search(part.amount) for part in own):
            variables = made.environment if isinstance(made, Draw) else {}
            most = exact.total([value(part.amount, variables, inputs) for part in own])
            assert exact.compare(paid, most) <= 0, (paid, most, done.scenario)
    return True
