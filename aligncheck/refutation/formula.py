"""Probabilities in closed form, one parameter being left open.

The same integration with SymPy expressions as coefficients. Wherever the order of two breakpoints, or a
branch of the program, depends on the parameter, there is no single formula, and None is returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aligncheck.effort import Effort
from aligncheck.language.syntax import nodes
from aligncheck.meaning import exact
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.events import Event
from aligncheck.refutation.execution import Execution
from aligncheck.refutation.integration import Integration
from aligncheck.refutation.irrationals import Dependent, open_parameter
from aligncheck.refutation.piecewise import Calculus


def closed_form(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: Event,
    *,
    name: str = "eps",
    effort: Effort | None = None,
) -> Any | None:
    """P(M(inputs) in event) with the parameter `name` left open, which is positive wherever the claim holds:
    a SymPy expression, a sum of terms. None where it would not hold for all positive values, and outside of
    the class. Raises `OutOfTime`.
    """
    import sympy

    check = (effort or Effort()).step
    opened = {name: open_parameter(name)}
    total = sympy.S.Zero
    try:
        integration = Integration(check, Calculus(symbolic=True))
        for way in Execution(mechanism, inputs, event, check, opened).ways():
            found = integration.probability(way)
            if found is not None:
                total += found
            check()
    except (Dependent, exact.Undecided, exact.Undefined, NotComputable):
        return None
    return _short(sympy.powsimp(sympy.expand(total)))


def _short(expr: Any) -> Any:
    """A sum of terms; where there are denominators, one factored fraction in the powers of an exponential."""
    import sympy

    powers = expr.atoms(sympy.exp)
    rates = {sympy.expand(power.args[0]).as_coeff_Mul() for power in powers}
    if expr.is_polynomial(*powers, *expr.free_symbols) or len({rest for _, rest in rates}) != 1:
        return expr
    base = sympy.Dummy(positive=True)
    (rest,) = {rest for _, rest in rates}
    unit = sympy.gcd_list([abs(rate) for rate, _ in rates])
    replaced = expr.xreplace(
        {power: base ** (sympy.expand(power.args[0]).as_coeff_Mul()[0] / unit) for power in powers}
    )
    return sympy.factor(replaced).xreplace({base: sympy.exp(unit * rest)})
