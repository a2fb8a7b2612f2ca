"""Lattice forms whose coefficients differ in size, by residues: x = d*m + r gives d classes of values of x.

Noise on lattices with different steps meets in forms like 2*a - b. In each class of b modulo 2 the form is
2*(a - m) - r, which is an inequality of a - m with coefficients 1 again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import gcd, lcm, prod

from flint import fmpq

from aligncheck.refute.elimination import Form, on_integers
from aligncheck.refute.piecewise import Calculus, Piecewise, indicator, shifted
from aligncheck.refute.reals import ceiling, floor
from aligncheck.refute.symbolic import Interval

MOST_CLASSES = 64


def classes(
    calculus: Calculus, densities: Mapping[int, Piecewise], restricted: Mapping[Form, Interval]
) -> Iterator[list[tuple[Form, Piecewise]]] | None:
    """The factors of the integrand for each combination of residues; None where these do not help.

    The classes are disjoint and exhaust the integers, so the sum over all of them is the probability.
    """
    moduli = _moduli(list(densities), list(restricted))
    if moduli is None or prod(moduli.values()) == 1:
        return None
    return _each(calculus, densities, restricted, moduli)


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


def _each(
    calculus: Calculus,
    densities: Mapping[int, Piecewise],
    restricted: Mapping[Form, Interval],
    moduli: Mapping[int, int],
) -> Iterator[list[tuple[Form, Piecewise]]]:
    variables = list(densities)
    for chosen in product(*(range(moduli[v]) for v in variables)):
        residues = dict(zip(variables, chosen, strict=True))
        factors: list[tuple[Form, Piecewise]] = [
            (((v, 1),), _thinned(calculus, densities[v], moduli[v], residues[v])) for v in variables
        ]
        for form, (low, high) in restricted.items():
            shift = sum(c * residues[v] for v, c in form)
            whole = {v: c * moduli[v] for v, c in form}
            common = gcd(*whole.values())
            factors.append(
                (
                    tuple((v, c // common) for v, c in whole.items()),
                    indicator(
                        None if low is None else ceiling(fmpq(low - shift, common)),
                        None if high is None else floor(fmpq(high - shift, common)),
                        continuous=False,
                    ),
                )
            )
        yield factors


def _thinned(calculus: Calculus, function: Piecewise, modulus: int, residue: int) -> Piecewise:
    """g(m) = f(modulus*m + residue)."""
    if modulus == 1:
        return function
    real = Piecewise(tuple(map(fmpq, function.cuts)), function.pieces, continuous=True)
    return on_integers(calculus.stretched(shifted(real, fmpq(residue)), fmpq(modulus)))
