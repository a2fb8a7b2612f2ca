"""Piecewise exponential polynomials of one variable: densities, indicators, and what integration makes of
them.

On each piece the function is a sum of terms `c * (x - a)**m * exp(r * (x - a))`, with an anchor `a`, exact
rates `r` and coefficients `c` that are balls (or SymPy expressions, for closed forms). Cuts and anchors are
exact, so shifting a function changes no coefficient, and no two cuts are ever confused by rounding.

A function is `continuous` (pieces meet in points, which have measure zero) or lives on the integers: then a
piece from one cut to the next covers the integers from the first one up to but without the second one, and
integrals are sums.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby
from math import comb
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from flint import arb, arb_poly, fmpq

from aligncheck.language.internal import InternalError
from aligncheck.refutation.irrationals import (
    Dependent,
    Real,
    Surd,
    ceiling,
    common_measure,
    sign,
    to_ball,
    to_expr,
)

Coefficient: TypeAlias = Any
"""A ball, or a SymPy expression."""
Terms: TypeAlias = dict[tuple[int, int], Coefficient]
"""(number of the rate, power) -> coefficient."""
ManyTerms: TypeAlias = dict[tuple[tuple[int, ...], tuple[int, ...]], Coefficient]
"""The same of several variables: numbers of the rates, and powers, one for each variable."""
AffineForm: TypeAlias = tuple[tuple[Any, ...], Real]
"""Coefficients, one for each variable (int or fmpq), and a constant."""
_K = TypeVar("_K")


class Diverges(Exception):  # noqa: N818 - it is an answer
    """An integral has a term that does not fall at infinity."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A function near an anchor."""

    anchor: Real
    terms: Terms


@dataclass(frozen=True, slots=True, eq=False)
class Piecewise:
    """`pieces[i]` (None: zero) lies between `cuts[i - 1]` and `cuts[i]`; cuts rise strictly."""

    cuts: tuple[Real, ...]
    pieces: tuple[Piece | None, ...]
    continuous: bool

    @property
    def is_zero(self) -> bool:
        """Whether it is zero everywhere."""
        return all(piece is None for piece in self.pieces)

    @property
    def is_plain(self) -> bool:
        """Whether it is 1 on an interval (a line, a half-line) and 0 elsewhere."""
        held = [piece for piece in self.pieces if piece is not None]
        return len(held) == 1 and len(self.cuts) <= 2 and held[0] is ONE


ZERO_RATE = 0
ONE = Piece(fmpq(0), {(ZERO_RATE, 0): 1})
"""The constant 1, the same object wherever it stands."""


class Calculus:
    """Arithmetic with terms: a table of rates, and how coefficients are made. One for each computation."""

    def __init__(self, symbolic: bool = False) -> None:
        self.symbolic = symbolic
        self._values: list[Real] = [fmpq(0)]
        self._balls: list[Any] = [arb(0)]
        self._signs: list[int] = [0]
        self._known: dict[Real, int] = {fmpq(0): 0}
        self.plus = cache(self._plus)
        self.times = cache(self._times)
        self.primitive = cache(self._primitive)
        self._unit = cache(self._found_unit)
        self._multiple = cache(lambda step, times: self.rate(step * times))

    # --- rates and coefficients ---------------------------------------------------------------------------

    def rate(self, value: Real) -> int:
        """The number of a rate."""
        found = self._known.get(value)
        if found is None:
            for number, known in enumerate(self._values):
                if isinstance(value, Surd) and isinstance(known, Surd) and _equal(known, value):
                    found = number
                    break
            else:
                ball, order = self.number(value), sign(value)  # either may raise, or be broken off
                found = len(self._values)
                self._values.append(value)
                self._balls.append(ball)
                self._signs.append(order)
            self._known[value] = found
        return found

    @property
    def size(self) -> int:
        """How many rates are known."""
        return len(self._values)

    def _plus(self, one: int, other: int) -> int:
        """The sum of two rates."""
        if one == 0 or other == 0:
            return one or other
        return self.rate(self._values[one] + self._values[other])

    def _times(self, rate: int, factor: Real) -> int:
        """A rate times a rational number."""
        if rate == 0 or factor == 1:
            return rate
        return self.rate(self._values[rate] * factor)

    def sign(self, rate: int) -> int:
        """The sign of a rate."""
        return self._signs[rate]

    def value(self, rate: int) -> Real:
        """A rate itself."""
        return self._values[rate]

    def number(self, value: Real) -> Coefficient:
        """A number as a coefficient."""
        return to_expr(value) if self.symbolic else to_ball(value)

    def exp(self, rate: int, by: Real) -> Coefficient:
        """exp(rate * by)."""
        if self.symbolic:
            import sympy

            return sympy.exp(to_expr(self._values[rate]) * to_expr(by))
        value = self._values[rate]
        if isinstance(value, Surd) or isinstance(by, Surd):
            return (self._balls[rate] * to_ball(by)).exp()
        return to_ball(value * by).exp()

    # --- terms ----------------------------------------------------------------------------------------------

    def moved(self, piece: Piece, anchor: Real) -> Terms:
        """The terms of a piece around another anchor."""
        by = anchor - piece.anchor
        if piece is ONE or by == 0:
            return piece.terms
        moved: Terms = {}
        for (rate, power), factor in piece.terms.items():
            scaled = factor if rate == 0 else factor * self.exp(rate, by)
            if power == 0:
                put(moved, (rate, 0), scaled)
                continue
            step = self.number(by)
            for j in range(power + 1):
                put(moved, (rate, j), scaled * comb(power, j) * step ** (power - j))
        return moved

    def multiplied(self, one: Terms, other: Terms) -> Terms:
        """The product of two sums of terms around the same anchor."""
        product: Terms = {}
        plus = self.plus
        for (rate, power), factor in one.items():
            for (rate2, power2), factor2 in other.items():
                key = (plus(rate, rate2), power + power2)
                value = factor * factor2
                product[key] = product[key] + value if key in product else value
        return product

    def _primitive(self, rate: int, power: int, continuous: bool) -> list[tuple[int, Coefficient]]:
        """F with F' = y**power * exp(rate*y) (or F(y+1) - F(y) = that), as (power, factor) of exp(rate*y)."""
        return (self._antiderivative if continuous else self._antidifference)(rate, power)

    def _antiderivative(self, rate: int, power: int) -> list[tuple[int, Coefficient]]:
        if rate == 0:
            return [(power + 1, self.number(fmpq(1, power + 1)))]
        r = self.number(self._values[rate])
        factor = self.number(fmpq(1)) / r
        found = [(power, factor)]
        for j in range(power, 0, -1):
            factor = -factor * j / r
            found.append((j - 1, factor))
        return found

    def _antidifference(self, rate: int, power: int) -> list[tuple[int, Coefficient]]:
        """Coefficients p_j of a polynomial P with exp(rate) * P(y+1) - P(y) = y**power, from the top down."""
        top = power + (rate == 0)
        coefficients: dict[int, Coefficient] = {}
        growth = self.exp(rate, fmpq(1))
        for j in range(top, -1, -1):
            if rate == 0:
                # The coefficient of y**(j-1) determines p_j; p_0 is free.
                if j == 0:
                    break
                wanted = self.number(fmpq(int(j - 1 == power)))
                higher = sum((p * comb(i, j - 1) for i, p in coefficients.items()), self.number(fmpq(0)))
                coefficients[j] = (wanted - higher) / j
            else:
                wanted = self.number(fmpq(int(j == power)))
                higher = sum((p * comb(i, j) for i, p in coefficients.items()), self.number(fmpq(0)))
                coefficients[j] = (wanted - growth * higher) / (growth - 1)
        return list(coefficients.items())

    def integrated(self, terms: Terms, continuous: bool) -> Terms:
        """An antiderivative (antidifference) of a sum of terms."""
        result: Terms = {}
        for (rate, power), factor in terms.items():
            for j, share in self.primitive(rate, power, continuous):
                put(result, (rate, j), factor * share)
        return result

    def at(self, terms: Terms, y: Real) -> Coefficient:
        """The value of a sum of terms at a distance y from the anchor."""
        total = self.number(fmpq(0))
        if y == 0:
            for (_, power), factor in terms.items():
                if power == 0:
                    total = total + factor
            return total
        step = self.number(y)
        for (rate, power), factor in terms.items():
            value = factor if rate == 0 else factor * self.exp(rate, y)
            total = total + (value if power == 0 else value * step**power)
        return total

    # --- terms in several variables -------------------------------------------------------------------------

    def expanded(self, vector: tuple[Any, ...], anchor: Real, terms: Terms) -> ManyTerms:
        """Terms in L - anchor as terms in the variables of L, the form with these coefficients."""
        result: ManyTerms = {}
        for (rate, power), factor in terms.items():
            rates = tuple(self.times(rate, x) if x != 0 else 0 for x in vector)
            scaled = factor if rate == 0 else factor * self.exp(rate, -anchor)
            for powers, share in self._powers(vector, self.number(-anchor), power).items():
                put(result, (rates, powers), scaled * share)
        return result

    def multiplied_in_all(self, one: ManyTerms, other: ManyTerms) -> ManyTerms:
        """The product of two sums of terms."""
        plus = self.plus
        result: ManyTerms = {}
        for (rates, powers), factor in one.items():
            for (rates2, powers2), factor2 in other.items():
                key = (
                    tuple(map(plus, rates, rates2)),
                    tuple(a + b for a, b in zip(powers, powers2, strict=True)),
                )
                put(result, key, factor * factor2)
        return result

    def check_falls(self, terms: ManyTerms, variable: int, wanted: int) -> None:
        """Raises `Diverges` for a term whose rate in a variable has not the sign that is wanted."""
        if any(self._signs[rates[variable]] != wanted for rates, _ in terms):
            raise Diverges

    def integrated_in(self, terms: ManyTerms, variable: int, continuous: bool) -> ManyTerms:
        """An antiderivative (antidifference) in one variable."""
        result: ManyTerms = {}
        for (rates, powers), factor in terms.items():
            for j, share in self.primitive(rates[variable], powers[variable], continuous):
                put(result, (rates, (*powers[:variable], j, *powers[variable + 1 :])), factor * share)
        return result

    def substituted(self, terms: ManyTerms, variable: int, end: AffineForm, direction: int) -> ManyTerms:
        """The terms with an affine form in the place of the variable, times the direction."""
        vector, constant = end
        result: ManyTerms = {}
        for (rates, powers), factor in terms.items():
            rate, power = rates[variable], powers[variable]
            scaled = factor if direction > 0 else -factor
            if rate != 0:
                scaled = scaled * self.exp(rate, constant)
            moved = tuple(
                0 if v == variable else (old if x == 0 or rate == 0 else self.plus(old, self.times(rate, x)))
                for v, (old, x) in enumerate(zip(rates, vector, strict=True))
            )
            cleared = tuple(0 if v == variable else p for v, p in enumerate(powers))
            if power == 0:
                put(result, (moved, cleared), scaled)
                continue
            for more, share in self._powers(vector, self.number(constant), power).items():
                key = moved, tuple(a + b for a, b in zip(cleared, more, strict=True))
                put(result, key, scaled * share)
        return result

    def _powers(
        self, vector: tuple[Any, ...], constant: Coefficient, power: int
    ) -> dict[tuple[int, ...], Coefficient]:
        """The monomials of (vector * x + constant) ** power."""
        by_rest: dict[tuple[tuple[int, ...], int], Coefficient] = {((), power): 1}
        for x in vector:
            following: dict[tuple[tuple[int, ...], int], Coefficient] = {}
            for (powers, rest), factor in by_rest.items():
                for i in range(rest + 1 if x != 0 else 1):
                    share = factor * comb(rest, i)
                    if i:
                        share = share * self.number(fmpq(x) ** i)
                    following[(*powers, i), rest - i] = share
            by_rest = following
        found: dict[tuple[int, ...], Coefficient] = {}
        for (powers, rest), factor in by_rest.items():
            put(found, powers, factor * constant**rest if rest else factor)
        return found

    # --- functions ------------------------------------------------------------------------------------------

    def product(self, functions: Sequence[Piecewise]) -> Piecewise:
        """The product of functions of the same variable."""
        if len(functions) == 1:
            return functions[0]
        continuous = functions[0].continuous
        cuts = merged([function.cuts for function in functions])
        pieces: list[Piece | None] = []
        at = [0] * len(functions)
        for number in range(len(cuts) + 1):
            if number:
                for i, function in enumerate(functions):
                    if at[i] < len(function.cuts) and function.cuts[at[i]] == cuts[number - 1]:
                        at[i] += 1
            held = [function.pieces[at[i]] for i, function in enumerate(functions)]
            pieces.append(self._of_all(held, cuts, number))
        return tidied(cuts, pieces, continuous)

    def _of_all(self, held: list[Piece | None], cuts: Sequence[Real], number: int) -> Piece | None:
        real = []
        for piece in held:
            if piece is None:
                return None
            if piece is not ONE:
                real.append(piece)
        if not real:
            return ONE
        if len(real) == 1:
            return real[0]
        anchor = cuts[number - 1] if number else (cuts[0] if cuts else real[0].anchor)
        terms = [self.moved(piece, anchor) for piece in real]
        if len(terms) > 2 and not self.symbolic:
            found = self._as_polynomials(terms)
            if found is not None:
                return Piece(anchor, found)
        # Short factors first: the sums stay small for as long as can be.
        while len(terms) > 1:
            terms.sort(key=len)
            terms.append(self.multiplied(terms.pop(0), terms.pop(0)))
        return Piece(anchor, terms[0])

    def _as_polynomials(self, factors: list[Terms]) -> Terms | None:
        """The product where all rates are multiples of one rate, and all powers 0: then the factors are
        polynomials in its exponential. None elsewhere.
        """
        if any(power for terms in factors for _, power in terms):
            return None
        unit = self._unit(frozenset(rate for terms in factors for rate, _ in terms))
        if unit is None:
            return None
        step, degree = unit
        product, least = arb_poly([1]), 0
        for terms in factors:
            low = min(degree[rate] for rate, _ in terms)
            dense: list[Coefficient] = [0] * (max(degree[rate] for rate, _ in terms) - low + 1)
            for (rate, _), factor in terms.items():
                dense[degree[rate] - low] = factor
            product, least = product * arb_poly(dense), least + low
        return {
            (self._multiple(step, least + i), 0): factor
            for i, factor in enumerate(product.coeffs())
            if not factor.is_zero()
        }

    def _found_unit(self, rates: frozenset[int]) -> tuple[Real, dict[int, int]] | None:
        """The greatest rate of which all are multiples, and the multiples; None where these are large."""
        values = {rate: self._values[rate] for rate in rates}
        if any(isinstance(value, Surd) for value in values.values()):
            return None
        step = common_measure(values.values())
        if step == 0:
            return None
        degree = {rate: int((value / step).p) for rate, value in values.items()}
        return (step, degree) if max(map(abs, degree.values())) <= 60 else None

    def total(self, function: Piecewise) -> Coefficient:
        """The integral (sum) over everything. Raises `Diverges`."""
        total = self.number(fmpq(0))
        for low, high in self._piece_totals(function, self._primitives_of(function), True, True):
            total = total + high - low
        return total

    def _primitives_of(self, function: Piecewise) -> list[Terms | None]:
        return [
            None if piece is None else self.integrated(piece.terms, function.continuous)
            for piece in function.pieces
        ]

    def _falls(self, terms: Terms, wanted: int) -> None:
        if any(self._signs[rate] != wanted for rate, _ in terms):
            raise Diverges

    def window(self, function: Piecewise, low: Real | None, high: Real | None) -> Piecewise:
        """F(t), the integral of `function` from t + low to t + high; None is infinite.

        Sound because on each piece of F both ends stay within one piece of the function, or at infinity, and
        the integral is the sum of the differences of antiderivatives over the pieces between.
        """
        primitives = self._primitives_of(function)
        ends = [end for end in (low, high) if end is not None]
        cuts = merged([tuple(cut - end for cut in function.cuts) for end in ends])
        bounds = self._piece_totals(function, primitives, low is None, high is None)
        pieces: list[Piece | None] = []
        first, last = 0, 0 if high is not None else len(function.pieces) - 1
        for number in range(len(cuts) + 1):
            if number:
                here = cuts[number - 1]
                if low is not None and first < len(function.cuts) and function.cuts[first] == here + low:
                    first += 1
                if high is not None and last < len(function.cuts) and function.cuts[last] == here + high:
                    last += 1
            anchor = cuts[number - 1] if number else (cuts[0] if cuts else fmpq(0))
            ends_in = (first, low), (last, high)
            pieces.append(self._window_piece(function, primitives, bounds, anchor, *ends_in))
        return tidied(cuts, pieces, function.continuous)

    def _piece_totals(
        self, function: Piecewise, primitives: list[Terms | None], open_low: bool, open_high: bool
    ) -> list[tuple[Coefficient, Coefficient]]:
        """For each piece the values of its antiderivative at its two cuts; 0 at infinity."""
        found = []
        nothing = self.number(fmpq(0))
        for number, (piece, primitive) in enumerate(zip(function.pieces, primitives, strict=True)):
            if piece is None or primitive is None:
                found.append((nothing, nothing))
                continue
            low = high = nothing
            if number:
                low = self.at(primitive, function.cuts[number - 1] - piece.anchor)
            elif open_low:
                self._falls(piece.terms, 1)
            if number < len(function.cuts):
                high = self.at(primitive, function.cuts[number] - piece.anchor)
            elif open_high:
                self._falls(piece.terms, -1)
            found.append((low, high))
        return found

    def _window_piece(
        self,
        function: Piecewise,
        primitives: list[Terms | None],
        bounds: list[tuple[Coefficient, Coefficient]],
        anchor: Real,
        start: tuple[int, Real | None],
        stop: tuple[int, Real | None],
    ) -> Piece | None:
        first, low = start
        last, high = stop
        terms: Terms = {}
        constant = None
        for number in range(first, last + 1):
            primitive = primitives[number]
            if primitive is None:
                continue
            piece = function.pieces[number]
            if piece is None:
                raise InternalError("a piece that is everywhere 0")
            if number == last and high is not None:
                for key, factor in self.moved(Piece(piece.anchor - high, primitive), anchor).items():
                    put(terms, key, factor)
            else:
                constant = bounds[number][1] if constant is None else constant + bounds[number][1]
            if number == first and low is not None:
                for key, factor in self.moved(Piece(piece.anchor - low, primitive), anchor).items():
                    put(terms, key, -factor)
            else:
                constant = -bounds[number][0] if constant is None else constant - bounds[number][0]
        if constant is not None and constant != 0:
            put(terms, (ZERO_RATE, 0), constant)
        return Piece(anchor, terms) if terms else None

    def swept(self, groups: Sequence[tuple[Real, Piecewise]]) -> Piecewise:
        """F(v), the integral over u of the product of f(u - s*v) over the pairs (s, f). Raises `Diverges`.

        The cuts are lines u = s*v + h. Between neighbouring crossings of lines their order is fixed, so F is
        the sum over the strips between neighbouring lines of an integral whose ends are affine in v.
        """
        continuous = groups[0][1].continuous
        lines = [(slope, cut) for slope, function in groups for cut in function.cuts]
        crossings = merged(
            [
                ((h2 - h) * (1 / fmpq(s - s2)),)
                for i, (s, h) in enumerate(lines)
                for s2, h2 in lines[i + 1 :]
                if s != s2
            ]
        )
        cuts: list[Real] = []
        pieces: list[Piece | None] = []
        for number in range(len(crossings) + 1):
            low = crossings[number - 1] if number else None
            high = crossings[number] if number < len(crossings) else None
            inside = _between(low, high)
            if low is not None:
                cut = low if continuous else ceiling(low)
                if cuts and cuts[-1] == cut:
                    pieces.pop()  # no integer lies in the piece before
                else:
                    cuts.append(cut)
            anchor = (
                cuts[-1] if cuts else (fmpq(0) if high is None else high if continuous else ceiling(high))
            )
            pieces.append(self._strips(groups, lines, inside, anchor))
        return tidied(tuple(cuts), pieces, continuous)

    def _strips(
        self,
        groups: Sequence[tuple[Real, Piecewise]],
        lines: list[tuple[Real, Real]],
        inside: Real,
        anchor: Real,
    ) -> Piece | None:
        placed = sorted(((slope * inside + cut, slope, cut) for slope, cut in lines), key=itemgetter(0))
        total: Terms = {}
        for number in range(len(placed) + 1):
            low = placed[number - 1] if number else None
            high = placed[number] if number < len(placed) else None
            if low is not None and high is not None and low[0] == high[0] and low[1] == high[1]:
                continue
            u = _between(low[0] if low else None, high[0] if high else None)
            held = []
            for slope, function in groups:
                piece = function.pieces[bisect_right(function.cuts, u - slope * inside)]
                if piece is None:
                    break
                if piece is not ONE:
                    held.append((slope, piece))
            else:
                self._strip(total, held, low, high, anchor, groups[0][1].continuous)
        return Piece(anchor, total) if total else None

    def _strip(
        self,
        total: Terms,
        held: list[tuple[Real, Piece]],
        low: tuple[Real, Real, Real] | None,
        high: tuple[Real, Real, Real] | None,
        anchor: Real,
        continuous: bool,
    ) -> None:
        """Adds the integral over one strip: in y = u - a and z = v - anchor the integrand is a sum of
        y**j exp(rho y) z**l exp(sigma z).
        """
        if held:
            base = held[0][0] * anchor + held[0][1].anchor
        else:
            end = low or high
            base = fmpq(0) if end is None else end[1] * anchor + end[2]
        terms: ManyTerms = {((0, 0), (0, 0)): 1}
        for slope, piece in held:
            start = slope * anchor + piece.anchor - base
            terms = self.multiplied_in_all(terms, self.expanded((1, -slope), start, piece.terms))
        primitive = self.integrated_in(terms, 0, continuous)
        for end, direction in ((high, 1), (low, -1)):
            if end is None:
                self.check_falls(terms, 0, -direction)
                continue
            _, slope, cut = end
            there = (0, slope), slope * anchor + cut - base
            for (rates, powers), value in self.substituted(primitive, 0, there, direction).items():
                put(total, (rates[1], powers[1]), value)

    # --- changes of the variable ----------------------------------------------------------------------------

    def stretched(self, function: Piecewise, factor: Real) -> Piecewise:
        """g(x) = f(factor * x), the factor not being 0; on the integers it is 1 or -1."""
        if factor == 1:
            return function
        if not (function.continuous or factor == -1):
            raise InternalError("masses are stretched")
        shift = 0 if function.continuous else 1
        # On the integers, -x lies in [b, c) where x lies in [1 - c, 1 - b).
        cuts = [cut / factor if function.continuous else shift - cut for cut in function.cuts]
        pieces = [
            piece if piece is None or piece is ONE else self._turned(piece, factor, function.continuous)
            for piece in function.pieces
        ]
        if factor < 0:
            cuts.reverse()
            pieces.reverse()
        return Piecewise(tuple(cuts), tuple(pieces), function.continuous)

    def _turned(self, piece: Piece, factor: Real, continuous: bool) -> Piece:
        terms: Terms = {}
        scale = self.number(fmpq(factor))
        for (rate, power), value in piece.terms.items():
            put(terms, (self.times(rate, factor), power), value * scale**power)
        return Piece(piece.anchor / factor if continuous else -piece.anchor, terms)


def weighted(function: Piecewise, by: Coefficient) -> Piecewise:
    """The function times a number."""
    pieces = tuple(
        None if piece is None else Piece(piece.anchor, {k: c * by for k, c in piece.terms.items()})
        for piece in function.pieces
    )
    return Piecewise(function.cuts, pieces, function.continuous)


def shifted(function: Piecewise, by: Real) -> Piecewise:
    """g(x) = f(x + by)."""
    if by == 0:
        return function
    return Piecewise(
        tuple(cut - by for cut in function.cuts),
        tuple(
            piece if piece is None or piece is ONE else Piece(piece.anchor - by, piece.terms)
            for piece in function.pieces
        ),
        function.continuous,
    )


def indicator(low: Real | None, high: Real | None, continuous: bool = True) -> Piecewise:
    """1 from low to high; on the integers both ends are included. An empty interval gives zero."""
    if high is not None and not continuous:
        high = high + 1
    if low is not None and high is not None and not low < high:
        return Piecewise((), (None,), continuous)
    cuts = tuple(end for end in (low, high) if end is not None)
    pieces: list[Piece | None] = [ONE]
    if low is not None:
        pieces.insert(0, None)
    if high is not None:
        pieces.append(None)
    return Piecewise(cuts, tuple(pieces), continuous)


def merged(lists: Iterable[Sequence[Real]]) -> tuple[Real, ...]:
    """All numbers of several lists, rising, each once."""
    return tuple(number for number, _ in groupby(sorted(chain.from_iterable(lists))))


def tidied(cuts: Sequence[Real], pieces: Sequence[Piece | None], continuous: bool) -> Piecewise:
    """The function without cuts between zeros, or between ones."""
    kept_cuts: list[Real] = []
    kept = [pieces[0]]
    for cut, piece in zip(cuts, pieces[1:], strict=True):
        if piece is kept[-1] and (piece is None or piece is ONE):
            continue
        kept_cuts.append(cut)
        kept.append(piece)
    return Piecewise(tuple(kept_cuts), tuple(kept), continuous)


def put(terms: dict[_K, Coefficient], key: _K, value: Coefficient) -> None:
    """Adds a term."""
    terms[key] = terms[key] + value if key in terms else value


def _between(low: Real | None, high: Real | None) -> Real:
    if low is None:
        return fmpq(0) if high is None else high - 1
    return low + 1 if high is None else (low + high) / fmpq(2)


def _equal(one: Real, other: Real) -> bool:
    try:
        return sign(one - other) == 0
    except Dependent:
        return False  # different as functions of the parameter
