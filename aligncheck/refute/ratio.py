"""The ratio of both probabilities as a formula in ε, where they integrate in closed form."""

from __future__ import annotations

from typing import Any

from aligncheck.exact import Undecided, Undefined
from aligncheck.interpreter import Inputs
from aligncheck.refute.probability import NotComputable, OutOfTime, closed_form
from aligncheck.refute.violation import Formula, Violation
from aligncheck.syntax.nodes import Mechanism

NAME = "eps"
_LONGEST = 160
"""Formulas of more characters than this say less than numbers do."""


def formula_of(mechanism: Mechanism, violation: Violation, deadline: float) -> Formula | None:
    """The ratio as a function of the parameter `eps`; None where there is no such parameter, or no readable
    closed form.
    """
    scenario = violation.scenario
    if violation.level is None or NAME not in dict(scenario.parameters):
        return None
    parts = [
        _closed(mechanism, scenario.parameters, data, violation, deadline)
        for data in (scenario.data, scenario.data_prime)
    ]
    if parts[0] is None or parts[1] is None:
        return None
    return _ratio(parts[0], parts[1])


def _closed(
    mechanism: Mechanism, parameters: Inputs, data: Inputs, violation: Violation, deadline: float
) -> Any:
    try:
        found = closed_form(
            mechanism, {**dict(parameters), **dict(data)}, violation.event, name=NAME, deadline=deadline
        )
    except (NotComputable, OutOfTime, Undecided, Undefined):
        return None
    return None if found is None else found.expression


def _ratio(on_d: Any, on_d_prime: Any) -> Formula | None:
    import sympy

    ratio = sympy.simplify(on_d / on_d_prime)
    text = str(ratio).replace("**", "^").replace("log(", "ln(")
    return Formula(NAME, text, None) if len(text) <= _LONGEST else None
