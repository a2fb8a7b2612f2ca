"""Exact probabilities of events: what a search asks, and what it may get. The work is done below.

The program is executed once on one concrete input with symbolic noise (`execution`): each way through it is a
conjunction of intervals for affine forms of the noise variables. The product of the densities is integrated
over such a region variable by variable (`elimination`), with coefficients in ball arithmetic, so that every
number that is returned encloses the true one. Heavy libraries are loaded when a probability is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.meaning.interpreter import Function, Input
from aligncheck.refutation.effort import Effort
from aligncheck.refutation.events import Event, Outputs

if TYPE_CHECKING:
    from aligncheck.meaning.exact import Number


class NotComputable(Exception):  # noqa: N818 - it is an answer
    """The mechanism, or the event, leaves the class whose probabilities are computed exactly.

    That is: products, remainders and higher powers of noise, and noise times an irrational number; a scale,
    an index or a count that is computed from noise (a selection's index is fine); noise that is added to, or
    compared with, other noise after `floor`, `exp`, `ln`, `sqrt`, a square or a quotient; public functions,
    where they are given, of noisy numbers; logistic numbers beside other noise; more than a few noise
    variables that all constrain each other, or lattices whose steps have no small common multiple; runs that
    may go on without an end, as long as the event does not end them.
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

    def contains(self, value: Fraction) -> bool:
        """Whether `value` lies in the enclosure."""
        return self.lower <= value <= self.upper


def log_ratio(one: Ball, other: Ball) -> float:
    """ln(P/P') about, from the midpoints, for a search; inf where only P' is 0, nan where both are."""
    top, bottom = one.lower + one.upper, other.lower + other.upper
    if bottom == 0:
        return math.nan if top == 0 else math.inf
    return -math.inf if top == 0 else _log(top) - _log(bottom)


def _log(value: Fraction) -> float:
    """ln of a positive number that may be too small, or too large, for a float."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(float(value / Fraction(2) ** exponent)) + exponent * math.log(2)


def probability(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: Event,
    *,
    functions: Mapping[str, Function] | None = None,
    precision: int = 128,
    effort: Effort | None = None,
) -> Ball:
    """An enclosure of P(M(inputs) in event).

    `inputs` gives every input of the mechanism, public and private. `functions` are the public functions of
    the spec; without it they are 0 or false everywhere, as in a `Scenario`. `precision` is in bits: the
    relative width is about 2**-precision but for cancellation. `effort` is what this may spend; None: as much
    as it takes. Raises `NotComputable` and `OutOfTime`; `ValueError` where an input has no value.
    """
    from aligncheck.refutation.execution import Execution
    from aligncheck.refutation.integration import enclosed

    step = _steps_of(effort)
    ways = list(Execution(mechanism, inputs, event, functions, step).ways())
    return enclosed(ways, precision, step)


def shapes(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    *,
    functions: Mapping[str, Function] | None = None,
    precision: int = 128,
    effort: Effort | None = None,
    most: int = 2_000,
) -> list[tuple[Event, Ball]]:
    """Every discrete output with its probability, and `Raises` where that is possible.

    These events are disjoint and exhaust everything: their probabilities sum to 1. In a pattern, fields that
    are determined by the discrete choices of the run are `Exactly`, noisy ones are left free; a field that is
    an atom in one way through the program and noisy in another is free in both. Impossible ones are left out.
    Raises `NotComputable` where there are more than `most`, and as `probability` does.
    """
    from aligncheck.refutation.outcomes import grouped

    return grouped(mechanism, inputs, functions, precision, _steps_of(effort), most)


@dataclass(frozen=True, slots=True)
class Formula:
    """A probability as a function of one parameter, for all its positive values: a SymPy expression in the
    (positive) symbol `name`.
    """

    expression: Any
    name: str


def closed_form(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: Event,
    *,
    name: str = "eps",
    functions: Mapping[str, Function] | None = None,
    effort: Effort | None = None,
) -> Formula | None:
    """P(M(inputs) in event) with the parameter `name` left open, which is positive wherever the claim holds.

    None where the order of breakpoints, or a branch of the program, depends on it, and outside of the class.
    Raises `OutOfTime`.
    """
    from aligncheck.refutation.formula import formula

    found = formula(mechanism, inputs, event, name, functions, _steps_of(effort))
    return None if found is None else Formula(found, name)


@dataclass(frozen=True, slots=True)
class Tail:
    """P(field > x) ~ coefficient * x**power * exp(-rate*x) as x goes to infinity (below: P(field < -x)).

    `rate` is exact; `coefficient` is an enclosure of a positive number.
    """

    rate: Number
    power: int
    coefficient: tuple[Fraction, Fraction]


def tail(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: Outputs,
    record: int,
    field: str,
    *,
    below: bool = False,
    functions: Mapping[str, Function] | None = None,
    precision: int = 128,
    effort: Effort | None = None,
) -> Tail | None:
    """How the probability of the event falls when the field of one record goes to infinity; None where it is
    0 from some point on. The pattern of that record leaves the field free.
    """
    from aligncheck.refutation.outcomes import tail_of

    place = record, field, below
    return tail_of(mechanism, inputs, event, place, functions, precision, _steps_of(effort))


def _steps_of(effort: Effort | None) -> Callable[[], None]:
    return (Effort() if effort is None else effort).step
