"""Exact draws of Cauchy noise, in whole numbers: how many scales, and the first binary digits of the rest.

The size of standard Cauchy noise has a density proportional to 1/(1 + x^2) on x > 0. It is drawn by rejection
(von Neumann 1951) from x = n + u: u is uniform from 0 to 1, and n is 0 half of the time, and otherwise 1, 2,
… with probability 1/(n (n+1)): the whole part of the reciprocal of a uniform number. With m = 1 for n = 0 and
m = n (n+1) for others this has the density 1/(2 m), and 1/(1 + x^2) <= (6/5)/m: for n > 0 because of
5 n (n+1) <= 6 (1 + n^2), that is (n-2) (n-3) >= 0. So x is kept with the probability (5/6) m/(1 + x^2), which
happens two times out of three: (5/12) of the area π/2.

The uniform numbers are drawn until their digits decide. What these decide holds of a whole interval of u, so
that all later digits of u are fair and independent: `UniformRests` draws them when they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from aligncheck.runtime.bits import Bits
from aligncheck.runtime.refined import Rests

_BITS = 64


class UniformRests(Rests):
    """Numbers from 0 to 1 by their places, of which the first digits are given and the others fair."""

    __slots__ = ()

    def __init__(self, first: Mapping[int, tuple[int, int]], bits: Bits) -> None:
        """`first` maps a place to digits, read as a whole number, and how many they are."""
        self._bits = bits
        self._known = dict(first)

    def _longer(self, value: int, known: int, count: int) -> int:
        return more_digits(value, count - known, self._bits)


def draw(bits: Bits) -> tuple[int, tuple[int, int]]:
    """The size of one standard draw: its whole part, and first digits of the rest with their number."""
    while True:
        whole = 0 if bits.draw(1)[0] < 128 else _reciprocal(bits)
        digits = _kept(whole, bits)
        if digits is not None:
            return whole, digits


def _reciprocal(bits: Bits) -> int:
    """The whole part of 1/V for a uniform V from 0 to 1."""
    known, drawn = 0, 0
    while True:
        drawn, known = more_digits(drawn, _BITS, bits), known + _BITS
        one = 1 << known
        if drawn and one // (drawn + 1) == -(-one // drawn) - 1:
            return one // (drawn + 1)


def _kept(whole: int, bits: Bits) -> tuple[int, int] | None:
    """First digits of u, or None where x is not kept: whether V (1 + x^2) < (5/6) m for a uniform V."""
    limit = 5 * (whole * (whole + 1) or 1)
    known, rest, drawn = 0, 0, 0
    while True:
        rest, drawn, known = more_digits(rest, _BITS, bits), more_digits(drawn, _BITS, bits), known + _BITS
        x = whole << known | rest
        if 6 * (drawn + 1) * ((1 << 2 * known) + (x + 1) ** 2) <= limit << 3 * known:
            return rest, known
        if 6 * drawn * ((1 << 2 * known) + x**2) >= limit << 3 * known:
            return None


def more_digits(value: int, count: int, bits: Bits) -> int:
    """A whole number with `count` fair digits behind it."""
    length = (count + 7) // 8
    return value << count | int.from_bytes(bits.draw(length), "little") >> (8 * length - count)
