"""Integrals over general polyhedra, for the few variables that elimination leaves entangled.

The integrand is cut into cells: a conjunction of affine inequalities, and on it a sum of terms, coefficient
times a monomial times the exponential of a linear form. A variable is integrated out of a cell by cases:
which of its upper bounds is the least, which of its lower bounds the greatest. On the integers sums take the
place of integrals, and ties between bounds go to the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any, TypeAlias

from flint import fmpq

from aligncheck.refutation.irrationals import Real, floor, sign, simple
from aligncheck.refutation.piecewise import ONE, AffineForm, Calculus, Coefficient, ManyTerms, Piecewise

Row: TypeAlias = AffineForm
"""Where a form is >= 0."""

MOST_CELLS = 20_000


class TooMany(Exception):  # noqa: N818 - it is an answer
    """There are more cells than is sensible, or a lattice form has coefficients other than 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """Where the rows are >= 0, the integrand is the sum of the terms."""

    rows: tuple[Row, ...]
    terms: ManyTerms


class Cells:
    """One integral over several variables, all continuous or all integers."""

    def __init__(self, calculus: Calculus, size: int, continuous: bool, check: Callable[[], None]) -> None:
        self._calculus = calculus
        self._size = size
        self._continuous = continuous
        self._check = check
        self._made = 0

    def integral(self, factors: Sequence[tuple[Mapping[int, Any], Piecewise]]) -> Coefficient | None:
        """The integral of a product of functions of linear forms; None where no cell is left.

        Raises `TooMany`, `Diverges`.
        """
        total: Coefficient | None = None
        for cell in self._cells(factors):
            for value in self._integrated(cell, tuple(range(self._size))):
                total = value if total is None else total + value
        return total

    # --- the cells ------------------------------------------------------------------------------------------

    def _cells(self, factors: Sequence[tuple[Mapping[int, Any], Piecewise]]) -> Iterator[Cell]:
        """A cell for each choice of pieces."""
        calculus = self._calculus
        choices = []
        for form, function in factors:
            vector = tuple(form.get(variable, 0) for variable in range(self._size))
            held = []
            for number, piece in enumerate(function.pieces):
                if piece is None:
                    continue
                rows: list[Row] = []
                if number:
                    rows.append((vector, -function.cuts[number - 1]))
                if number < len(function.cuts):
                    # On the integers a piece ends before its cut.
                    end = function.cuts[number] - (0 if self._continuous else 1)
                    rows.append((tuple(-x for x in vector), end))
                terms = None if piece is ONE else calculus.expanded(vector, piece.anchor, piece.terms)
                held.append((rows, terms))
            choices.append(held)
        one: ManyTerms = {((0,) * self._size, (0,) * self._size): 1}
        for chosen in product(*choices):
            self._count()
            tidied = self._tidied([row for held, _ in chosen for row in held])
            if tidied is None:
                continue
            terms = one
            for _, more in chosen:
                if more is not None:
                    terms = self._calculus.multiplied_in_all(terms, more)
            yield Cell(tidied, terms)

    def _tidied(self, rows: list[Row]) -> tuple[Row, ...] | None:
        """The rows without those that others imply at sight; None where they contradict each other at sight.

        Of a continuous cell nothing is lost with a null set, so an interval of one point counts as empty.
        """
        tightest: dict[tuple[Any, ...], Real] = {}
        for coefficients, constant in rows:
            first = next((x for x in coefficients if x != 0), None)
            if first is None:
                if sign(constant) < 0:
                    return None
                continue
            if self._continuous and first not in (1, -1):
                by = 1 / abs(fmpq(first))
                coefficients, constant = tuple(simple(x * by) for x in coefficients), constant * by
            if not self._continuous and (common := gcd(*coefficients)) > 1:
                # An integer form is >= 0 wherever its quotient by the common factor is.
                coefficients = tuple(x // common for x in coefficients)
                constant = floor(constant / fmpq(common))
            if coefficients not in tightest or constant < tightest[coefficients]:
                tightest[coefficients] = constant
        for coefficients, constant in tightest.items():
            opposite = tightest.get(tuple(-x for x in coefficients))
            if opposite is not None:
                width = sign(constant + opposite)
                if width < 0 or (width == 0 and self._continuous):
                    return None
        return tuple(tightest.items())

    def _count(self) -> None:
        self._made += 1
        if self._made > MOST_CELLS:
            raise TooMany
        if self._made % 64 == 0:
            self._check()

    # --- one variable after the other -----------------------------------------------------------------------

    def _integrated(self, cell: Cell, left: tuple[int, ...]) -> Iterator[Coefficient]:
        self._count()
        if not left:
            yield from cell.terms.values()
            return
        # The variable with the fewest bounds gives the fewest cases.
        variable = min(left, key=lambda v: sum(row[v] != 0 for row, _ in cell.rows))
        rest = tuple(v for v in left if v != variable)
        for smaller in self._without(cell, variable):
            yield from self._integrated(smaller, rest)

    def _without(self, cell: Cell, variable: int) -> Iterator[Cell]:
        free = [row for row in cell.rows if row[0][variable] == 0]
        lower = [self._bound(row, variable) for row in cell.rows if row[0][variable] > 0]
        upper = [self._bound(row, variable) for row in cell.rows if row[0][variable] < 0]
        primitive = self._calculus.integrated_in(cell.terms, variable, self._continuous)
        if not lower:
            self._calculus.check_falls(cell.terms, variable, 1)
        if not upper:
            self._calculus.check_falls(cell.terms, variable, -1)
        for bounds, others, direction in ((upper, lower, -1), (lower, upper, 1)):
            for number, bound in enumerate(bounds):
                rows = list(free)
                for i, other in enumerate(bounds):
                    if i != number:
                        # The first of equal bounds is the one that counts.
                        gap = 1 if i < number and not self._continuous else 0
                        rows.append(_between(bound, other, direction, gap))
                rows += [_between(bound, other, -direction, 0) for other in others]
                tidied = self._tidied(rows)
                if tidied is not None:
                    end = bound
                    if direction < 0 and not self._continuous:
                        end = bound[0], bound[1] + 1
                    terms = self._calculus.substituted(primitive, variable, end, -direction)
                    yield Cell(tidied, terms)

    def _bound(self, row: Row, variable: int) -> Row:
        """The affine form that the variable is bounded by where the row is >= 0."""
        coefficients, constant = row
        by = -1 / fmpq(coefficients[variable])
        if not self._continuous and by not in (1, -1):
            raise TooMany
        rest = tuple(0 if v == variable else simple(x * by) for v, x in enumerate(coefficients))
        return rest, constant * by


def _between(bound: Row, other: Row, direction: int, gap: int) -> Row:
    """bound <= other - gap for an upper bound (direction -1), bound >= other + gap for a lower one."""
    if direction < 0:
        bound, other = other, bound
    coefficients = tuple(simple(a - b) for a, b in zip(bound[0], other[0], strict=True))
    return coefficients, bound[1] - other[1] - gap
