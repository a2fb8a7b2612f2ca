"""The ratio of both probabilities as a formula in ε, where they integrate in closed form.

A closed form is the same integration with SymPy expressions as coefficients. Wherever the order of two
breakpoints, or a branch of the program, depends on the parameter, there is no single formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Mechanism, Sample
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning.exact import Undecided, Undefined
from aligncheck.meaning.interpreter import Input, Stopped
from aligncheck.refutation.claims import claim_for
from aligncheck.refutation.databases import legal
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.events import Event
from aligncheck.refutation.execution import Execution
from aligncheck.refutation.integration import Integration
from aligncheck.refutation.irrationals import Dependent, open_parameter
from aligncheck.refutation.measure import approximately
from aligncheck.refutation.piecewise import Calculus
from aligncheck.refutation.violation import ClosedForms, Violation

NAME = "eps"
_LONGEST = 110
"""Formulas of more characters than this say less than numbers do."""
_SECONDS = 3.0
_LARGEST = 120
"""Expressions of more operations are left alone."""
_RANGE = tuple(Fraction(2) ** Fraction(power) for power in range(-5, 5))


def formula_of(mechanism: Mechanism, violation: Violation, effort: Effort) -> ClosedForms | None:
    """The ratio as a function of the parameter `eps`; None where there is no such parameter, or no readable
    closed form.
    """
    scenario = violation.scenario
    if violation.level is None or NAME not in dict(scenario.parameters) or _on_lattice(mechanism):
        return None
    effort = effort.part(seconds=_SECONDS)
    try:
        parts = [
            closed_form(mechanism, inputs, violation.event, name=NAME, effort=effort)
            for inputs in (scenario.on_d, scenario.on_d_prime)
        ]
    except OutOfTime:
        return None
    if parts[0] is None or parts[1] is None:
        return None
    if parts[0].count_ops() + parts[1].count_ops() > _LARGEST:
        return None
    ratio = _divided(parts[0], parts[1])
    text = str(ratio).replace("**", "^").replace("log(", "ln(")
    if len(text) > _LONGEST:
        return None
    return ClosedForms(NAME, text, _violated(mechanism, violation, ratio))


def _on_lattice(mechanism: Mechanism) -> bool:
    """Whether there is discrete noise: sums over it have long closed forms, which take long."""
    return any(isinstance(s, Sample) and s.family.discrete for s in statements_in(mechanism.body))


# --- one probability --------------------------------------------------------------------------------------


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
    except (Dependent, Undecided, Undefined, NotComputable):
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


# --- their ratio ------------------------------------------------------------------------------------------


def _divided(on_d: Any, on_d_prime: Any) -> Any:
    """The quotient of two sums of exponentials: one term where they are proportional.

    SymPy's own simplification looks for common factors of polynomials in exp(eps/n), whose degrees are those
    of the numbers in the databases; that may take for ever.
    """
    import sympy

    sums = [sorted(_terms(one), key=_size) for one in (on_d, on_d_prime)]
    if len(sums[0]) == len(sums[1]):
        quotients = {sympy.powsimp(top / bottom) for top, bottom in zip(*sums, strict=True)}
        if len(quotients) == 1:
            return quotients.pop()
    # The largest terms in front: they tell the level that the ratio tends to.
    top, bottom = (sympy.Add(*(sympy.powsimp(term / terms[-1]) for term in terms)) for terms in sums)
    return sympy.powsimp(sums[0][-1] / sums[1][-1]) * top / bottom


def _terms(expression: Any) -> list[Any]:
    import sympy

    return [sympy.powsimp(term) for term in sympy.Add.make_args(sympy.expand(expression))]


def _size(term: Any) -> float:
    """A number by which proportional sums are in the same order: a term at some eps, by its logarithm."""
    import sympy

    value = term.subs({symbol: sympy.Rational(7, 5) for symbol in term.free_symbols})
    return float(sympy.log(abs(value)).evalf(15))


def _violated(mechanism: Mechanism, violation: Violation, ratio: Any) -> str | None:
    """For which ε the event violates the claim, about: where the logarithm of the ratio crosses it."""

    def excess(eps: float) -> float | None:
        return _excess(mechanism, violation, ratio, eps)

    found = [(float(eps), excess(float(eps))) for eps in _RANGE]
    known = [(eps, value) for eps, value in found if value is not None]
    crossings = [
        (_crossing(excess, low, high), before > 0)
        for (low, before), (high, after) in pairwise(known)
        if (before > 0) is not (after > 0)
    ]
    if len(known) < len(_RANGE) or len(crossings) > 1:
        return None
    if not crossings:
        return "every eps that was tried, from 1/32 to 16" if known[0][1] > 0 else None
    at, below = crossings[0]
    return f"eps {'<' if below else '>'} {at:.4g}"


def _excess(mechanism: Mechanism, violation: Violation, ratio: Any, eps: float) -> float | None:
    """By how much ln of the ratio is above the claim at some ε; None where ε is not allowed."""
    import sympy

    exact_eps = Fraction(eps).limit_denominator(1 << 20)
    scenario = replace(
        violation.scenario,
        parameters=tuple(
            (name, exact_eps if name == NAME else value) for name, value in violation.scenario.parameters
        ),
    )
    if not legal(mechanism, scenario):
        return None
    try:
        claim = approximately(claim_for(mechanism, scenario, violation.event))
        value = ratio.subs(sympy.Symbol(NAME, positive=True), sympy.Float(eps, 60))
        value = value.subs(sympy.Symbol(NAME), sympy.Float(eps, 60))
        found = sympy.log(value).evalf(20)
    except (Stopped, Undecided, Undefined):
        return None
    return float(found) - claim if found.is_real else None


def _crossing(excess: Callable[[float], float | None], low: float, high: float) -> float:
    sign = (excess(low) or 0.0) > 0
    for _ in range(30):
        middle = math.sqrt(low * high)
        if ((excess(middle) or 0.0) > 0) is sign:
            low = middle
        else:
            high = middle
    return low
