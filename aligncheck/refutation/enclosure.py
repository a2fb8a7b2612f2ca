"""What is known of a probability: an enclosure, how it falls at infinity, or that it is out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes

if TYPE_CHECKING:
    from aligncheck.meaning.exact import Number


class NotComputable(Exception):  # noqa: N818 - it is an answer
    """The mechanism, or the event, leaves the class whose probabilities are computed exactly.

    That is: products, remainders and higher powers of noise, and noise times an irrational number; a scale,
    an index or a count that is computed from noise (a selection's index is fine); noise that is added to, or
    compared with, other noise after `floor`, `exp`, `ln`, `sqrt`, a square or a quotient;
    logistic numbers beside other noise; more than a few noise variables that all constrain each other, or
    lattices whose steps have no small common multiple; runs that may go on without an end, as long as the
    event does not end them.
    """

    def __init__(self, reason: str, span: Span = nodes.NOWHERE) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


@dataclass(frozen=True, slots=True)
class Ball:
    """A rigorous enclosure of a probability: `lower <= P <= upper`, both exact, within [0, 1]."""

    lower: Fraction
    upper: Fraction

    @property
    def is_zero(self) -> bool:
        """Whether the event is proved to have probability 0."""
        return self.upper == 0

    @property
    def is_positive(self) -> bool:
        """Whether the event is proved to be possible."""
        return self.lower > 0

    def __float__(self) -> float:
        """A number close to P, for a search: never used to certify."""
        return float((self.lower + self.upper) / 2)


@dataclass(frozen=True, slots=True)
class Tail:
    """P(field > x) ~ coefficient * x**power * exp(-rate*x) as x goes to infinity (below: P(field < -x)).

    `rate` is exact; `coefficient` is an enclosure of a positive number.
    """

    rate: Number
    power: int
    coefficient: tuple[Fraction, Fraction]
