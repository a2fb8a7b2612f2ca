"""Exact probabilities of events: those of one event, of every discrete output, and how they fall at infinity.

The program is executed once on one concrete input with symbolic noise (`execution`): each way through it is a
conjunction of intervals for affine forms of the noise variables. The product of the densities is integrated
over such a region variable by variable (`elimination`), with coefficients in ball arithmetic, so that every
number that is returned encloses the true one. Heavy libraries are loaded when a probability is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

from flint import ctx, fmpq

from aligncheck.effort import Effort
from aligncheck.language.syntax import nodes
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation import irrationals
from aligncheck.refutation.elimination import Tangled
from aligncheck.refutation.enclosure import Ball, NotComputable, Tail
from aligncheck.refutation.events import (
    CompleteOutput,
    Event,
    Exactly,
    OneOf,
    Raises,
    RecordPattern,
    disjoint,
)
from aligncheck.refutation.execution import Execution, SymbolicPath
from aligncheck.refutation.integration import Integration, enclosed, fraction_of
from aligncheck.refutation.irrationals import Real, sign
from aligncheck.refutation.symbolic import Affine, Deferred, Extreme, Opaque, Shaped


def probability(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: Event,
    *,
    precision: int = 128,
    effort: Effort | None = None,
) -> Ball:
    """An enclosure of P(M(inputs) in event).

    `inputs` gives every input of the mechanism, public and private. Public functions are 0 or false
    everywhere, as in a `Scenario`. `precision` is in bits: the relative width is about 2**-precision but for
    cancellation. `effort` is what this may spend; None: as much as it takes. Raises
    `NotComputable` and `OutOfTime`; `ValueError` where an input has no value.
    """
    step = _steps_of(effort)
    outputs = event.outputs if isinstance(event, OneOf) else (event,)
    if isinstance(event, OneOf) and not all(disjoint(*pair) for pair in combinations(event.outputs, 2)):
        raise NotComputable("some of the outputs may be the same")
    ways = [way for each in outputs for way in Execution(mechanism, inputs, each, step).ways()]
    return enclosed(ways, precision, step)


def shapes(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    *,
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
    step = _steps_of(effort)
    ways: list[SymbolicPath] = []
    for way in Execution(mechanism, inputs, None, step).ways():
        ways.append(way)
        if len(ways) > 4 * most:
            raise NotComputable("there are too many outputs")
    noisy = {
        (_tags(way), record, name) for way in ways for record, name, value in _fields(way) if _is_noisy(value)
    }
    groups: dict[Event, list[SymbolicPath]] = {}
    for way in ways:
        groups.setdefault(_shape(way, noisy), []).append(way)
    if len(groups) > most:
        raise NotComputable("there are too many outputs")
    found = [(event, enclosed(held, precision, step)) for event, held in groups.items()]
    return [(event, ball) for event, ball in found if not ball.is_zero]


def _tags(way: SymbolicPath) -> tuple[str, ...]:
    return tuple(record.tag for record in way.released)


def _fields(way: SymbolicPath) -> Iterator[tuple[int, str, Any]]:
    for number, record in enumerate(way.released):
        for name, value in record.fields:
            yield number, name, value


def _is_noisy(value: Any) -> bool:
    return isinstance(value, Affine | Shaped | Extreme | Deferred | Opaque)


def _shape(way: SymbolicPath, noisy: set[tuple[tuple[str, ...], int, str]]) -> Event:
    if way.raised:
        return Raises()
    tags = _tags(way)
    return CompleteOutput(
        tuple(
            RecordPattern(
                record.tag,
                tuple(
                    (name, Exactly(value if isinstance(value, bool) else irrationals.to_exact(value)))
                    for name, value in record.fields
                    if (tags, number, name) not in noisy
                ),
            )
            for number, record in enumerate(way.released)
        )
    )


def tail(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: CompleteOutput,
    record: int,
    field: str,
    *,
    below: bool = False,
    precision: int = 128,
    effort: Effort | None = None,
) -> Tail | None:
    """How the probability of the event falls when the field of one record goes to infinity; None where it is
    0 from some point on. The pattern of that record leaves the field free.
    """
    step = _steps_of(effort)
    best: tuple[Real, int, Any] | None = None
    with ctx.workprec(precision):
        integration = Integration(step)
        for way in Execution(mechanism, inputs, event, step, collect=True).ways():
            if record >= len(way.released):
                raise NotComputable("the event has no such record")
            value = dict(way.released[record].fields).get(field)
            if isinstance(value, bool) or value is None:
                raise NotComputable(f"`{field}` is no number")
            if not _is_noisy(value):
                continue
            if not isinstance(value, Affine):
                raise NotComputable(f"`{field}` is not an affine function of noise")
            found = _leading(integration, way, value, below)
            best = found if best is None else best if found is None else _sum(best, found)
        if best is None:
            return None
        rate, power, factor = best
        if not factor > 0:
            raise NotComputable("the leading coefficient was not settled")
        low, high = (fraction_of(end) for end in (factor.lower(), factor.upper()))
        return Tail(irrationals.to_exact(rate), power, (low, high))


def _sum(one: tuple[Real, int, Any], other: tuple[Real, int, Any]) -> tuple[Real, int, Any]:
    """The greater of two tails, or their sum where they fall alike."""
    order = sign(one[0] - other[0]) or other[1] - one[1]
    if order == 0:
        return one[0], one[1], one[2] + other[2]
    return one if order < 0 else other


def _leading(
    integration: Integration, way: SymbolicPath, value: Affine, below: bool
) -> tuple[Real, int, Any] | None:
    """Rate, power and coefficient of the tail of the probability in one way; None where it ends.

    On the last piece the density is a sum of c * y**m * exp(r*y); of its integral from x on the term with the
    greatest r, and of these the one with the greatest m, leads.
    """
    try:
        density = integration.density_in(way, value)
    except Tangled as reason:
        raise NotComputable(str(reason)) from None
    if density is None:
        return None
    if not density.function.continuous:
        raise NotComputable("tails of lattice noise are not compared")
    upper = (density.by > 0) is not below
    piece = density.function.pieces[-1 if upper else 0]
    if piece is None:
        return None
    calculus = integration.calculus
    terms = calculus.moved(piece, fmpq(0))
    # With y = by * (x - constant), and the integral over y of the last (first) piece.
    primitive = calculus.integrated(terms, continuous=True)
    leading: tuple[Real, int, Any] | None = None
    for (rate, power), factor in primitive.items():
        r = calculus.value(rate) * abs(fmpq(density.by))
        falling = -r if upper else r
        if sign(falling) <= 0:
            raise NotComputable("the density does not fall")
        # The number grows by x beyond its constant c; y by |by| times that, upwards or downwards.
        moved = irrationals.to_ball(falling * (-density.constant if below else density.constant)).exp()
        scale = calculus.number(abs(fmpq(density.by)) ** power)
        signed = (
            integration.weight(way)
            * (-factor if upper else factor)
            * moved
            * scale
            * (1 if upper else (-1) ** power)
        )
        candidate = falling, power, signed
        if leading is None or sign(falling - leading[0]) < 0:
            leading = candidate
        elif sign(falling - leading[0]) == 0:
            leading = candidate if power > leading[1] else leading
    return leading


def _steps_of(effort: Effort | None) -> Callable[[], None]:
    return (Effort() if effort is None else effort).step
