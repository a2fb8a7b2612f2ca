"""How a budget is best split: the value of a public parameter that minimises the variance of a released
number.

The variance is computed from the program: the released number is a linear expression in independent noise,
and the variance of each noise follows from its scale. Nothing is known of any mechanism; the split holds for
the claim because the spec is verified for every value of the parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from aligncheck.language.families import Family, Lattice, Slope
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import names_in, statements_in
from aligncheck.synthesis.formulas import NoFormulaError, over_inputs, to_sympy
from aligncheck.synthesis.reading import ProgramReading


def _squares(family: Family) -> int | None:
    """The variance over the square of the scale, where the density is proportional to exp(-|x|/scale): 1 on
    x >= 0, 2 on all numbers; None for other families.
    """
    row = family.row
    if row.slope is not Slope.SCALE or row.lattice is not Lattice.NONE or row.tail is not None:
        return None
    return 1 if row.one_sided else 2


@dataclass(frozen=True, slots=True)
class BestSplit:
    """`parameter` = `value` minimises `variance`; both are formulas over the other inputs. `formula` is the
    variance for any value of the parameter.
    """

    parameter: str
    value: str
    variance: str
    formula: str


def variance_of(reading: ProgramReading, tag: str, field: str) -> Any:
    """The variance of `field` of the records `tag`, given the private answers. Raises NoFormulaError where
    there is no such field, it is no linear expression in noise, or its noise has no such variance.
    """
    import sympy

    values = [
        each.value
        for emit in reading.emits
        if emit.statement.tag == tag
        for each in emit.statement.fields
        if each.name == field
    ]
    if not values:
        raise NoFormulaError(f"no record `{tag}` has a field `{field}`")
    samples = [s for s in statements_in(reading.mechanism.body) if isinstance(s, n.Sample)]
    drawn = {s.name: s for s in samples}
    for variable in drawn:
        if len({(s.family, s.args) for s in samples if s.name == variable}) > 1:
            raise NoFormulaError(f"`{variable}` is drawn in more than one way")
    found: Any = sympy.Integer(0)
    seen = 0
    for part, k in reading.form(values[0]).items():
        name = part.ident if isinstance(part, n.Name) else part.base if isinstance(part, n.Index) else None
        if name not in drawn:
            if reading.noisy(names_in(part)):
                raise NoFormulaError(f"`{tag}.{field}` is no linear expression in noise")
            continue
        sample = drawn[name]
        squares = _squares(sample.family)
        if squares is None:
            raise NoFormulaError(f"no variance is known here of `{sample.family.value}` noise")
        seen += 1
        scale = to_sympy(over_inputs(reading, sample.args[0]))
        found += sympy.Rational(k.numerator, k.denominator) ** 2 * squares * scale**2
    if not seen:
        raise NoFormulaError(f"there is no noise in `{tag}.{field}`")
    return found


def best_split(mechanism: n.Mechanism, tag: str, field: str, parameter: str) -> BestSplit:
    """The value in (0, 1) of a parameter that minimises the variance of a released number.

    With θ = 1/(1 + u) a sum A/θ^2 + B/(1 - θ)^2 is least at a root of a polynomial in u, which SymPy solves.
    Raises NoFormulaError where the parameter is not declared `where 0 < θ < 1`, or there is not exactly one
    minimum.
    """
    import sympy

    reading = ProgramReading(mechanism)
    if not _is_share(mechanism, parameter):
        raise NoFormulaError(f"`{parameter}` must be declared `real where 0 < {parameter} < 1`")
    theta, u = sympy.Symbol(parameter, positive=True), sympy.Symbol("u", positive=True)
    variance = variance_of(reading, tag, field)
    if theta not in variance.free_symbols:
        raise NoFormulaError(f"the variance of `{tag}.{field}` does not depend on `{parameter}`")
    slope = sympy.together(sympy.diff(variance.subs(theta, 1 / (1 + u)), u))
    numerator = sympy.factor(sympy.numer(slope))
    roots = [root for root in sympy.solve(numerator, u) if root.is_positive]
    if len(roots) != 1:
        raise NoFormulaError("the variance has no minimum that can be written as a formula")
    value = sympy.simplify(1 / (1 + roots[0]))
    if not _least_there(variance, theta, value):
        raise NoFormulaError("the variance has no least value inside the range")
    least = sympy.simplify(variance.subs(theta, value))
    return BestSplit(parameter, str(value), str(least), str(sympy.simplify(variance)))


def _is_share(mechanism: n.Mechanism, parameter: str) -> bool:
    zero, one, name = n.Number(Fraction(0)), n.Number(Fraction(1)), n.Name(parameter)
    inside = n.Logic("and", (n.Compare("<", zero, name), n.Compare("<", name, one)))
    return any(
        isinstance(item, n.Parameter) and item.name == parameter and item.where == inside
        for item in mechanism.inputs
    )


def _least_there(variance: Any, theta: Any, value: Any) -> bool:
    """Whether the variance is smaller than at both sides, all other inputs being 2, and being 3."""
    for number in (2, 3):
        others = dict.fromkeys(variance.free_symbols - {theta}, number)
        at = value.subs(others)
        here, beside = variance.subs(others), (at / 2, (1 + at) / 2)
        if any(here.subs(theta, at).evalf(30) >= here.subs(theta, x).evalf(30) for x in beside):
            return False
    return True
