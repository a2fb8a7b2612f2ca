"""Noisy-Top-K-with-Gap under exponential noise, on a lattice and with whole numbers only.

Ding and others, *A Floating-Point Secure Implementation of the Report Noisy Max with Gap Mechanism*,
Algorithm 4 with early query pruning: what comes out has the distribution of the algorithm with real-valued
noise (Algorithm 1 there), each gap rounded down to the lattice. Nothing here knows what is private: the
caller answers for sensitivities, for rounding the answers (Lemma 4.2) and for the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime.bits import Bits
from aligncheck.runtime.digits import FITS, Integers, fitting, geometrics, integers
from aligncheck.runtime.errors import SelectionError
from aligncheck.runtime.exactly import rational


@dataclass(frozen=True, slots=True)
class Leaders:
    """Where the greatest noisy answers are, the greatest first, and by how many steps each leads the next."""

    indices: tuple[int, ...]
    gaps: tuple[int, ...]


def leaders_with_gaps(
    answers: Sequence[int] | NDArray[Any],
    count: int,
    rate: Fraction | int,
    bits: Bits,
    *,
    refinement: int = 10,
) -> Leaders:
    """The `count` greatest of `answers` after exponential noise on each, and their gaps, rounded down.

    Answers are whole numbers, in steps of the lattice; `rate` is the length of a step over the scale of the
    noise: ε γ / (2 k) in the paper, for answers of sensitivity 1. Where answers are tied, more of their noise
    is drawn, on a lattice `refinement` times finer, as often as need be; this changes the time taken alone.

    Raises:
        SelectionError: `count` is negative, or there are not more answers: the last gap needs one more.
        NumericError: the rate is no `int` or `Fraction`, or not positive.
        TypeError: an answer is no whole number.
        ValueError: the refinement is less than 2, or 2^31 or more.
    """
    theta = rational(rate, "a rate")
    if not 2 <= refinement < 1 << 31:
        raise ValueError("a refinement must be at least 2 and less than 2^31")
    if not 0 <= count < len(answers):
        raise SelectionError(f"cannot select {count} of {len(answers)} indices with gaps")
    values = _plus(integers(answers), geometrics(theta, len(answers), bits))
    pool, values = _pruned(np.arange(len(values)), values, count + 1)
    steps = 1  # of the present lattice in one of the first
    while _tied(values):
        steps *= refinement
        finer = geometrics(theta / steps, len(values), bits) % refinement
        values = _plus(fitting(values, refinement) * refinement, finer)
        pool, values = _pruned(pool, values, count + 1)
    # What of the noise is left below the lattice comes in any order with equal probability (Lemma 5.8).
    rests = _distinct(count + 1, bits)
    gaps = _quotients(values[:-1] - values[1:] - (rests[:-1] < rests[1:]), steps)
    return Leaders(tuple(pool[:count].tolist()), tuple(gaps.tolist()))


def _pruned(pool: NDArray[np.intp], values: Integers, count: int) -> tuple[NDArray[np.intp], Integers]:
    """Those that may still be among the `count` greatest, the greatest first: the rest stays behind."""
    last = len(values) - count
    kept = np.flatnonzero(values >= np.partition(values, last)[last])
    order = kept[np.argsort(-values[kept])]
    return pool[order], values[order]


def _tied(values: Integers) -> bool:
    """Whether two of these, which fall, are equal."""
    return bool(np.any(values[:-1] == values[1:]))


def _plus(these: Integers, those: Integers) -> Integers:
    """Sums that do not overflow: each of both is less than `FITS` in size."""
    return fitting(these + those)


def _quotients(values: Integers, divisor: int) -> Integers:
    """Rounded down, by a divisor of any size."""
    return (values if divisor < FITS else values.astype(object)) // divisor


def _distinct(count: int, bits: Bits) -> NDArray[np.uint64]:
    """Numbers in random order, each order with the same probability: drawn afresh if two are equal."""
    while True:
        drawn = np.frombuffer(bits.draw(8 * count), dtype="<u8").astype(np.uint64)
        if len(np.unique(drawn)) == count:
            return drawn
