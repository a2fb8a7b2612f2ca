"""Noisy-Top-K-with-Gap under exponential noise, on a lattice and with whole numbers only.

What comes out has the distribution of the algorithm with real-valued noise, each gap rounded down to the
lattice: Algorithm 2 of Ding and others, *A Floating-Point Secure Implementation of the Report Noisy Max with
Gap Mechanism*. Their Algorithm 4 does the same, and draws noise on ever finer lattices until no two of the
greatest are tied. That can be left out:

* Exponential noise, rounded down, is geometric, and its rest is independent of that (Lemma 5.5). So, given
  all noisy answers on the lattice, the rests are independent, continuous and distributed alike.
* The rests decide between answers that are equal on the lattice, and whether a gap is one step less than on
  the lattice: ⌊a - b⌋ = ⌊a⌋ - ⌊b⌋, less 1 where the rest of a is the lesser one (Lemma 5.8).
* Either asks for the order of the rests alone, and each order of them has the same probability.

Only answers not less than the last of the `count` + 1 greatest on the lattice need a rest: as in the paper,
the others are dropped early. Nothing here knows what is private: the caller answers for sensitivities, for
rounding the answers (Lemma 4.2) and for the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime.bits import Bits
from aligncheck.runtime.digits import fitting, geometrics, integers
from aligncheck.runtime.errors import SelectionError
from aligncheck.runtime.exactly import rational


@dataclass(frozen=True, slots=True)
class Leaders:
    """Where the greatest noisy answers are, the greatest first, and by how many steps each leads the next."""

    indices: tuple[int, ...]
    gaps: tuple[int, ...]


def leaders_with_gaps(
    answers: Sequence[int] | NDArray[Any], count: int, rate: Fraction | int, bits: Bits
) -> Leaders:
    """The `count` greatest of `answers` after exponential noise on each, and their gaps, rounded down.

    Answers are whole numbers, in steps of the lattice; `rate` is the length of a step over the scale of the
    noise: ε γ / (2 k) in the paper, for answers of sensitivity 1.

    Raises:
        SelectionError: `count` is negative, or there are not more answers: the last gap needs one more.
        NumericError: the rate is no `int` or `Fraction`, or not positive.
        TypeError: an answer is no whole number.
    """
    theta = rational(rate, "a rate")
    if not 0 <= count < len(answers):
        raise SelectionError(f"cannot select {count} of {len(answers)} indices with gaps")
    noisy = fitting(integers(answers) + geometrics(theta, len(answers), bits))
    last = len(noisy) - 1 - count
    pool = np.flatnonzero(noisy >= np.partition(noisy, last)[last])
    values, rests = noisy[pool], _distinct(len(pool), bits)
    order = np.argsort(rests)[::-1]
    order = order[np.argsort(-values[order], kind="stable")][: count + 1]
    values, rests = values[order], rests[order]
    gaps = values[:-1] - values[1:] - (rests[:-1] < rests[1:])
    return Leaders(tuple(pool[order[:-1]].tolist()), tuple(gaps.tolist()))


def _distinct(count: int, bits: Bits) -> NDArray[np.uint64]:
    """Numbers in random order, each order with the same probability: drawn afresh if two are equal."""
    while True:
        drawn = np.frombuffer(bits.draw(8 * count), dtype="<u8").astype(np.uint64)
        if len(np.unique(drawn)) == count:
            return drawn
