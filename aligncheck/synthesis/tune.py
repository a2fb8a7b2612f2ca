"""How a budget is best split: the value of a public parameter, or the scales, that minimise the variance of a
released number.

The variance is computed from the program: the released number is a linear expression in independent noise,
and the variance of each noise follows from its scale. Nothing is known of any mechanism; the split holds for
the claim because the spec is verified for every value of the parameter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from aligncheck.effort import Effort
from aligncheck.judge import Judge
from aligncheck.language.check import check
from aligncheck.language.check.scope import only_pure
from aligncheck.language.families import Family, Lattice, Slope
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import names_in, statements_in
from aligncheck.synthesis.dearest import verified
from aligncheck.synthesis.formulas import NoFormulaError, formula, rational, to_sympy
from aligncheck.synthesis.least import moved_at_most
from aligncheck.synthesis.put_in import with_scales
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

    found: Any = sympy.Integer(0)
    for sample, weight in _weights(reading, tag, field):
        found += rational(weight) * formula(reading, sample.args[0]) ** 2
    return found


def _weights(reading: ProgramReading, tag: str, field: str) -> list[tuple[n.Sample, Fraction]]:
    """The draws in a released number, and how often the square of the scale is in its variance."""
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
    found = []
    for part, k in reading.form(values[0]).items():
        name = part.ident if isinstance(part, n.Name) else part.base if isinstance(part, n.Index) else None
        if name not in drawn:
            if reading.noisy(names_in(part)):
                raise NoFormulaError(f"`{tag}.{field}` is no linear expression in noise")
            continue
        squares = _squares(drawn[name].family)
        if squares is None:
            raise NoFormulaError(f"no variance is known here of `{drawn[name].family.value}` noise")
        found.append((drawn[name], k**2 * squares))
    if not found:
        raise NoFormulaError(f"there is no noise in `{tag}.{field}`")
    return found


@dataclass(frozen=True, slots=True)
class BestScales:
    """`scales` of the noise, by variable, minimise `variance` subject to the claim of the spec; `source` is
    the spec with them, which is verified.
    """

    scales: tuple[tuple[str, str], ...]
    variance: str
    source: Source


def best_scales(source: Source, effort: Effort, tag: str, field: str) -> BestScales:
    """The scales that minimise the variance of a released number.

    *Claim*: of all scales with `sum c_v/s_v = B` the sum of `w_v s_v^2` is least at
    `s_v = c_v (1 + sum y_u)/(y_v B)` with `y_v = cbrt(c_v^2 w_v/(c_1^2 w_1))`, so `y_1 = 1`; it is then
    `(sum cbrt(c_v^2 w_v))^3/B^2`.
    *Why*: with the shares `x_v = c_v/s_v` it is the sum of `c_v^2 w_v/x_v^2`, which is convex and grows
    without bound at the ends; at the least point the slopes `c_v^2 w_v/x_v^3` are equal.
    Here `c_v` is how far v is moved in all, `w_v` how often the square of its scale is in the variance, and B
    the claim less what other noise costs, which stays as it is. Raises SpecError, and NoFormulaError where
    there is no such formula, or the spec with these scales is not verified.
    """
    import sympy

    mechanism = only_pure(source, check(source, parse(source)), "the search for scales")
    reading = ProgramReading(mechanism)
    weights: dict[str, Fraction] = {}
    for sample, weight in _weights(reading, tag, field):
        weights[sample.name] = weights.get(sample.name, Fraction(0)) + weight
    moved = None if mechanism.uses else moved_at_most(source, effort)
    if moved is None:
        raise NoFormulaError("no claim by free scales was found, which the budget is split by")
    if not weights.keys() & moved.keys() or weights.keys() - moved.keys():
        raise NoFormulaError(f"noise in `{tag}.{field}` is not moved, so that it costs nothing")
    samples = {s.name: s for s in statements_in(mechanism.body) if isinstance(s, n.Sample)}
    budget = to_sympy(mechanism.privacy if mechanism.most is None else mechanism.most)
    for name in moved.keys() - weights.keys():
        budget -= to_sympy(moved[name]) / formula(reading, samples[name].args[0])
    parts = {v: to_sympy(moved[v]) ** 2 * rational(weight) for v, weight in weights.items()}
    first = next(iter(parts))
    roots = {v: sympy.cbrt(sympy.cancel(part / parts[first])) for v, part in parts.items()}
    names = {v: reading.fresh(f"y_{v}") for v in parts}
    named = {v: 1 if root == 1 else sympy.Symbol(names[v], positive=True) for v, root in roots.items()}
    whole = sum(named.values())
    budget = sympy.cancel(budget)
    scales = {v: str(to_sympy(moved[v]) * whole / (named[v] * budget)) for v in parts}
    lines = [f"{names[v]} = {_root_text(root)}" for v, root in roots.items() if root != 1]
    text = _with_scales(source, mechanism, scales, lines)
    if not verified(Judge(math.inf, explain=False, search=False, limit=effort), text):
        raise NoFormulaError(
            f"the spec is not verified with the scales {_listed(scales)} where {_listed(lines)}"
        )
    least = sum(sympy.cbrt(part) for part in parts.values()) ** 3 / budget**2
    return BestScales(tuple(scales.items()), str(sympy.simplify(least)), text)


def _listed(parts: Iterable[str] | Mapping[str, str]) -> str:
    if isinstance(parts, Mapping):
        parts = [f"{name} ~ {scale}" for name, scale in parts.items()]
    return ", ".join(f"`{part}`" for part in parts)


def _root_text(root: Any) -> str:
    """The cube root as the text of a spec."""
    import sympy

    return str(root) if root.is_Rational else f"cbrt({sympy.cancel(root**3)})"


def _with_scales(
    source: Source, mechanism: n.Mechanism, scales: Mapping[str, str], lines: Sequence[str]
) -> Source:
    """The text with other scales, and lines before the first statement."""
    text = with_scales(source, mechanism, lambda s: scales.get(s.name)).text
    start = mechanism.body[0].span.start
    line = text.rindex("\n", 0, start) + 1
    before = text[line:start]
    return Source(source.path, text[:line] + "".join(f"{before}{each}\n" for each in lines) + text[line:])


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
