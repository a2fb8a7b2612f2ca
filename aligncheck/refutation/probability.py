"""Exact probabilities of events: what a search asks, and what it may get. The work is done below.

The program is executed once on one concrete input with symbolic noise (`execution`): each way through it is a
conjunction of intervals for affine forms of the noise variables. The product of the densities is integrated
over such a region variable by variable (`elimination`), with coefficients in ball arithmetic, so that every
number that is returned encloses the true one. Heavy libraries are loaded when a probability is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from aligncheck.effort import Effort
from aligncheck.language.syntax import nodes
from aligncheck.meaning.interpreter import Function, Input
from aligncheck.refutation.enclosure import Ball, NotComputable, Tail
from aligncheck.refutation.events import CompleteOutput, Event, OneOf, disjoint
from aligncheck.refutation.execution import Execution
from aligncheck.refutation.formula import formula
from aligncheck.refutation.integration import enclosed
from aligncheck.refutation.outcomes import grouped, tail_of


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
    step = _steps_of(effort)
    outputs = event.outputs if isinstance(event, OneOf) else (event,)
    if isinstance(event, OneOf) and not all(disjoint(*pair) for pair in combinations(event.outputs, 2)):
        raise NotComputable("some of the outputs may be the same")
    ways = [way for each in outputs for way in Execution(mechanism, inputs, each, functions, step).ways()]
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
    found = formula(mechanism, inputs, event, name, functions, _steps_of(effort))
    return None if found is None else Formula(found, name)


def tail(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: CompleteOutput,
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
    place = record, field, below
    return tail_of(mechanism, inputs, event, place, functions, precision, _steps_of(effort))


def _steps_of(effort: Effort | None) -> Callable[[], None]:
    return (Effort() if effort is None else effort).step
