"""Exact draws of Gaussian noise, in whole numbers: on a lattice, and with digits that are drawn on demand.

On the whole numbers, with probability proportional to exp(-x^2/(2v)), by Algorithm 3 of Canonne, Kamath,
Steinke, *The Discrete Gaussian for Differential Privacy* (NeurIPS 2020): discrete Laplace noise Y of scale
t = floor(sqrt(v)) + 1 is kept with the probability exp(-(|Y| - v/t)^2/(2v)). The product of exp(-|y|/t) with
this is exp(-y^2/(2v)) times a constant, exp(-v/(2t^2)), for any positive t.

On the reals, of scale 1, by rejection too (Karney, *Sampling exactly from the normal distribution*, ACM TOMS
42, 2016): the size is n + u, where n is geometric with the rate 1/2 and kept with the probability
exp(-n(n-1)/2), and u is uniform from 0 to 1, and both are kept with the probability exp(-u(2n+u)/2). The
product of exp(-n/2) with these is exp(-(n+u)^2/2). Of u digits are drawn until they decide, as in `cauchy`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from aligncheck.runtime.bits import Bits, below
from aligncheck.runtime.cauchy import more_digits
from aligncheck.runtime.exactly import Geometric, happens, happens_from, rational
from aligncheck.runtime.thresholds import exp_bounds

TABLED = 32
"""Tables hold so many binary digits."""

_BITS = 64
_PARTS = 128
_HALF = Geometric.of_rate(Fraction(1, 2))


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Probability proportional to exp(-x^2/(2 `variance`)) on the whole numbers.

    Attributes:
        width: t, the scale of what is drawn at first.
        sizes: draws |y| with probability proportional to exp(-|y|/t), 0 included.
    """

    variance: Fraction
    width: int
    sizes: Geometric

    @staticmethod
    def of_variance(variance: Fraction | int) -> DiscreteGaussian:
        """The sampler for a variance (of the density on the reals: on a lattice it is a little less).

        Raises:
            NumericError: the variance is no `int` or `Fraction`, or not positive.
        """
        return _of_variance(rational(variance, "a variance"))

    def draw(self, bits: Bits) -> int:
        """One draw."""
        while True:
            size, negative = self.sizes.draw(bits), below(2, bits)
            if not (negative and size == 0) and happens(Fraction(1), self.exponent(size), bits):
                return -size if negative else size

    def exponent(self, size: int) -> Fraction:
        """A draw of this size is kept with the probability exp(-exponent)."""
        return (size - self.variance / self.width) ** 2 / (2 * self.variance)

    def kept(self, size: int, drawn: int, bits: Bits) -> bool:
        """Whether one of this size is kept, by a uniform number whose first `TABLED` digits are `drawn`."""
        exponent = self.exponent(size)
        return happens_from(lambda precision: exp_bounds(exponent, precision), drawn, TABLED, bits)

    @property
    def part(self) -> int:
        """Sizes are tabled by their quotient by this number."""
        return max(self.width // _PARTS, 1)


@lru_cache(maxsize=256)
def _of_variance(variance: Fraction) -> DiscreteGaussian:
    width = math.isqrt(variance.numerator // variance.denominator) + 1
    return DiscreteGaussian(variance, width, Geometric.of_rate(Fraction(1, width)))


@lru_cache(maxsize=64)
def keeping(sampler: DiscreteGaussian) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Whole numbers at most, and at least, the probability to be kept times 2^`TABLED`, for all sizes with
    the same quotient by `part`; at the last place for that quotient and all above.
    """
    return tuple(zip(*_kept_by_part(sampler), strict=True))  # type: ignore[return-value]


def _kept_by_part(sampler: DiscreteGaussian) -> Iterator[tuple[int, int]]:
    """The probability rises with the size up to `top`, where it is 1, and falls from there on."""
    top = sampler.variance / sampler.width
    first = 0
    while True:
        last = first + sampler.part - 1
        ends = [exp_bounds(sampler.exponent(size), TABLED) for size in (first, last)]
        high = max(end for _, end in ends)
        if first > top and high == 1:
            yield 0, 1
            return
        yield min(end for end, _ in ends), 1 << TABLED if first < top < last else high
        first = last + 1


def draw(bits: Bits) -> tuple[int, tuple[int, int]]:
    """The size of one draw of scale 1: its whole part, and first digits of the rest with their number."""
    while True:
        whole = _HALF.draw(bits)
        if happens(Fraction(1), Fraction(whole * (whole - 1), 2), bits):
            digits = _kept(whole, bits)
            if digits is not None:
                return whole, digits


def _kept(whole: int, bits: Bits) -> tuple[int, int] | None:
    """First digits of u, or None where it is not kept: whether V < exp(-u (2n + u)/2) for a uniform V."""
    known, rest, drawn = 0, 0, 0
    while True:
        rest, drawn, known = more_digits(rest, _BITS, bits), more_digits(drawn, _BITS, bits), known + _BITS
        farther, nearer = (Fraction(u * ((whole << known + 1) + u), 2 << 2 * known) for u in (rest + 1, rest))
        if drawn + 1 <= exp_bounds(farther, known)[0]:
            return rest, known
        if drawn >= exp_bounds(nearer, known)[1]:
            return None
