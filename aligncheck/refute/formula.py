"""Probabilities in closed form, one parameter being left open.

The same integration with SymPy expressions as coefficients. Wherever the order of two breakpoints, or a branch of the
program, depends on the parameter, there is no single formula, and None is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aligncheck import exact
from aligncheck.interpreter import Function, Input
from aligncheck.refute.events import Event
from aligncheck.refute.execution import Execution
from aligncheck.refute.integration import Integration
from aligncheck.refute.piecewise import Calculus
from aligncheck.refute.probability import NotComputable
from aligncheck.refute.reals import Dependent, open_parameter
from aligncheck.syntax import nodes


def formula(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: Event,
    name: str,
    functions: Mapping[str, Function] | None,
    check: Callable[[], None],
) -> Any | None:
    """The SymPy expression, a sum of terms; None where it would not hold for all positive values."""
    import sympy

    opened = {name: open_parameter(name)}
    total = sympy.S.Zero
    try:
        integration = Integration(check, Calculus(symbolic=True))
        for way in Execution(mechanism, inputs, event, functions, check, opened).ways():
            found = integration.probability(way)
            if found is not None:
                total += found
            check()
    except (Dependent, exact.Undecided, exact.Undefined, NotComputable):
        return None
    return sympy.powsimp(sympy.expand(total))
