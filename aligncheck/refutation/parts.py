"""What is to be integrated, and how it is split up where elimination alone does not get through.

Components that share no variable are independent. Lattice forms whose coefficients differ in size become
forms with coefficients of one size in each residue class. A continuous variable among lattice ones is an
integer and a fraction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from math import lcm, prod

from flint import fmpq

from aligncheck.refutation.elimination import Form, on_integers, scaled
from aligncheck.refutation.irrationals import Real, ceiling, common_measure, floor
from aligncheck.refutation.piecewise import Calculus, Piecewise, indicator, merged, shifted, weighted
from aligncheck.refutation.symbolic import Interval, intersected

MOST_CLASSES = 64


@dataclass(frozen=True, slots=True, eq=False)
class IntegralPart:
    """The integral of the product of the densities (masses) over where all forms lie in their intervals."""

    densities: Mapping[int, Piecewise]
    restricted: Mapping[Form, Interval]

    def factors(self) -> tuple[list[tuple[Form, Piecewise]], dict[int, bool]]:
        """The functions of forms whose product is integrated, and which variables are continuous."""
        kinds = {variable: density.continuous for variable, density in self.densities.items()}
        factors: list[tuple[Form, Piecewise]] = [
            (((variable, 1),), density) for variable, density in self.densities.items()
        ]
        for form, (low, high) in self.restricted.items():
            factors.append((form, indicator(low, high, any(kinds[variable] for variable, _ in form))))
        return factors, kinds


def components(part: IntegralPart) -> Iterator[IntegralPart]:
    """The parts that share no variable."""
    group = {variable: {variable} for variable in part.densities}
    for form in part.restricted:
        joined = set().union(*(group[variable] for variable, _ in form))
        for variable in joined:
            group[variable] = joined
    seen: set[int] = set()
    for variable, members in group.items():
        if variable not in seen:
            seen |= members
            yield IntegralPart(
                {v: part.densities[v] for v in part.densities if v in members},
                {form: interval for form, interval in part.restricted.items() if form[0][0] in members},
            )


# --- lattices with different steps ----------------------------------------------------------------------


def classes(calculus: Calculus, part: IntegralPart) -> Iterator[IntegralPart] | None:
    """A part for each combination of residues: x = d*m + r. None where these do not help.

    Noise on lattices with different steps meets in forms like 2*a - b. In each class of b modulo 2 the form
    is 2*(a - m) - r, which is an inequality of a - m. The classes are disjoint and exhaust the integers.
    """
    if any(density.continuous for density in part.densities.values()):
        return None
    moduli = _moduli(list(part.densities), list(part.restricted))
    if moduli is None or prod(moduli.values()) == 1:
        return None
    return _each_class(calculus, part, moduli)


def _moduli(variables: list[int], forms: list[Form]) -> dict[int, int] | None:
    """For each variable the number of its classes, so that all coefficients of a form have one size."""
    moduli = dict.fromkeys(variables, 1)
    for _ in range(8):
        before = dict(moduli)
        for form in forms:
            sizes = {v: abs(int(fmpq(c).p)) * moduli[v] for v, c in form}
            if len(form) > 1:
                common = lcm(*sizes.values())
                for variable, size in sizes.items():
                    moduli[variable] *= common // size
        if prod(moduli.values()) > MOST_CLASSES:
            return None
        if moduli == before:
            return moduli
    return None


def _each_class(calculus: Calculus, part: IntegralPart, moduli: Mapping[int, int]) -> Iterator[IntegralPart]:
    for chosen in product(*(range(modulus) for modulus in moduli.values())):
        residues = dict(zip(moduli, chosen, strict=True))
        forms = []
        for form, (low, high) in part.restricted.items():
            shift = sum(c * residues[v] for v, c in form)
            ends = None if low is None else low - shift, None if high is None else high - shift
            forms.append(({v: c * moduli[v] for v, c in form}, ends))
        densities = {v: _thinned(calculus, f, moduli[v], residues[v]) for v, f in part.densities.items()}
        yield IntegralPart(densities, dict(_on_lattice(forms)))


def _thinned(calculus: Calculus, function: Piecewise, modulus: int, residue: int) -> Piecewise:
    """g(m) = f(modulus*m + residue)."""
    if modulus == 1:
        return function
    real = Piecewise(tuple(map(fmpq, function.cuts)), function.pieces, continuous=True)
    return on_integers(calculus.stretched(shifted(real, fmpq(residue)), fmpq(modulus)))


def _on_lattice(forms: Iterable[tuple[Mapping[int, int], Interval]]) -> Iterator[tuple[Form, Interval]]:
    """Canonical lattice forms with their intervals, those of equal forms intersected."""
    found: dict[Form, Interval] = {}
    for coefficients, (low, high) in forms:
        form, by = scaled(coefficients, lambda _: True)
        ends = tuple(None if end is None else end * by for end in (low, high))
        if by < 0:
            ends = ends[::-1]
        least = None if ends[0] is None else ceiling(ends[0])
        most = None if ends[1] is None else floor(ends[1])
        found[form] = intersected(found.get(form, (None, None)), (least, most))
    yield from found.items()


# --- a continuous variable among lattice ones -----------------------------------------------------------


def fractions(calculus: Calculus, part: IntegralPart) -> Iterator[IntegralPart] | None:
    """A part for each interval of the fraction f of the only continuous variable x = (m + f)/g, m an integer.

    Within such an interval each form's bound n*m + ... >= low - n*f rounds to the same integer, so f is
    independent of everything else, and m is a lattice variable whose masses are integrals over f. None where
    there is not exactly one continuous variable, or only that one.
    """
    continuous = [variable for variable, density in part.densities.items() if density.continuous]
    if len(continuous) != 1 or len(part.densities) == 1:
        return None
    (x,) = continuous
    forms = [_with_integers(form, interval, x) for form, interval in part.restricted.items()]
    sizes = [fmpq(form[x]) for form, _ in forms if x in form]
    return _each_fraction(calculus, part, x, common_measure(sizes), forms)


def _with_integers(form: Form, interval: Interval, x: int) -> tuple[dict[int, fmpq], Interval]:
    """A multiple of a form in which all coefficients but that of x are integers."""
    by = lcm(*(int(fmpq(c).q) for v, c in form if v != x))
    low, high = interval
    scaled_ = {v: fmpq(c) * by for v, c in form}
    return scaled_, (None if low is None else low * by, None if high is None else high * by)


def _each_fraction(
    calculus: Calculus, part: IntegralPart, x: int, unit: fmpq, forms: list[tuple[dict[int, fmpq], Interval]]
) -> Iterator[IntegralPart]:
    inner = []
    whole = []
    for form, ends in forms:
        times = int((form.get(x, fmpq(0)) / unit).p)
        whole.append((times, {v: int(c.p) if v != x else times for v, c in form.items()}, ends))
        inner += [cut for end in ends if end is not None and times for cut in _turns(end, times)]
    density = weighted(calculus.stretched(part.densities[x], 1 / unit), calculus.number(1 / unit))
    for low, high in pairwise(merged([(fmpq(0), fmpq(1)), tuple(inner)])):
        middle = (low + high) / fmpq(2)
        rounded = []
        for times, form_, (least, most) in whole:
            shift = middle * times
            rounded.append(
                (
                    form_,
                    (
                        None if least is None else ceiling(least - shift),
                        None if most is None else floor(most - shift),
                    ),
                )
            )
        densities = {
            v: f if v != x else _masses(calculus, density, low, high) for v, f in part.densities.items()
        }
        yield IntegralPart(densities, dict(_on_lattice(rounded)))


def _turns(end: Real, times: int) -> Iterator[Real]:
    """Where in (0, 1) the number end - times*f is an integer."""
    bounds = sorted((end, end - times))
    for integer in range(ceiling(bounds[0]), floor(bounds[1]) + 1):
        cut = (end - integer) / fmpq(times)
        if 0 < cut < 1:
            yield cut


def _masses(calculus: Calculus, density: Piecewise, low: Real, high: Real) -> Piecewise:
    """The integral of the density from m + low to m + high, as a function of the integer m.

    The density has its only cut at 0, so that no integral goes across it.
    """
    return on_integers(calculus.window(density, low, high))
