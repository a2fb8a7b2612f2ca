"""What the ways of a mechanism release: discrete outputs, and the densities of the numbers beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import ctx, fmpq

from aligncheck.language.syntax import nodes
from aligncheck.meaning.interpreter import Function, Input
from aligncheck.refutation import irrationals
from aligncheck.refutation.elimination import Elimination, Tangled, scaled
from aligncheck.refutation.enclosure import Ball, NotComputable, Tail
from aligncheck.refutation.events import CompleteOutput, Event, Exactly, Raises, RecordPattern
from aligncheck.refutation.execution import Execution, SymbolicPath
from aligncheck.refutation.integration import Integration, enclosed, split
from aligncheck.refutation.irrationals import Real, sign
from aligncheck.refutation.piecewise import Piecewise
from aligncheck.refutation.symbolic import Affine, Deferred, Extreme, Opaque, Shaped

Check = Callable[[], None]


# --- discrete outputs ---------------------------------------------------------------------------------------


def grouped(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    functions: Mapping[str, Function] | None,
    precision: int,
    check: Check,
    most: int,
) -> list[tuple[Event, Ball]]:
    """See `probability.shapes`."""
    ways: list[SymbolicPath] = []
    for way in Execution(mechanism, inputs, None, functions, check).ways():
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
    found = [(event, enclosed(held, precision, check)) for event, held in groups.items()]
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


# --- densities ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Density:
    """The density of one released number in one way: that of `form` is `function`, and the number is
    `form / by + constant`.
    """

    function: Piecewise
    by: Real
    constant: Real

    def at(self, cut: Real) -> Real:
        """The released number at a value of the form."""
        return cut * (1 / fmpq(self.by)) + self.constant


def density_of(integration: Integration, way: SymbolicPath, value: Affine, check: Check) -> Density | None:
    """The density of an affine number in one way; None where the way is impossible. Raises `Tangled`."""
    restricted, alone = split(way)
    if alone or any(way.noises[v].alone for v in value.coefficients):
        raise Tangled("noise without a density that integrates")
    factors, kinds = integration.part(way, restricted, value.coefficients).factors()
    form, by = scaled(value.coefficients, lambda v: way.noises[v].lattice)
    elimination = Elimination(integration.calculus, check)
    function = elimination.marginal(factors, kinds, form)
    return None if function.is_zero else Density(function, by, value.constant)


# --- tails --------------------------------------------------------------------------------------------------


def tail_of(
    mechanism: nodes.Mechanism,
    inputs: Mapping[str, Input],
    event: CompleteOutput,
    place: tuple[int, str, bool],
    functions: Mapping[str, Function] | None,
    precision: int,
    check: Check,
) -> Tail | None:
    """See `probability.tail`; `place` is the record, the field, and whether the lower tail is asked for."""
    record, name, below = place
    best: tuple[Real, int, Any] | None = None
    with ctx.workprec(precision):
        integration = Integration(check)
        for way in Execution(mechanism, inputs, event, functions, check, collect=True).ways():
            if record >= len(way.released):
                raise NotComputable("the event has no such record")
            value = dict(way.released[record].fields).get(name)
            if isinstance(value, bool) or value is None:
                raise NotComputable(f"`{name}` is no number")
            if not _is_noisy(value):
                continue
            if not isinstance(value, Affine):
                raise NotComputable(f"`{name}` is not an affine function of noise")
            found = _leading(integration, way, value, below, check)
            best = found if best is None else best if found is None else _sum(best, found)
        if best is None:
            return None
        rate, power, factor = best
        if not factor > 0:
            raise NotComputable("the leading coefficient was not settled")
        low, high = (_exact(end) for end in (factor.lower(), factor.upper()))
        return Tail(irrationals.to_exact(rate), power, (low, high))


def _exact(value: Any) -> Fraction:
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _sum(one: tuple[Real, int, Any], other: tuple[Real, int, Any]) -> tuple[Real, int, Any]:
    """The greater of two tails, or their sum where they fall alike."""
    order = sign(one[0] - other[0]) or other[1] - one[1]
    if order == 0:
        return one[0], one[1], one[2] + other[2]
    return one if order < 0 else other


def _leading(
    integration: Integration, way: SymbolicPath, value: Affine, below: bool, check: Check
) -> tuple[Real, int, Any] | None:
    """Rate, power and coefficient of the tail of the probability in one way; None where it ends.

    On the last piece the density is a sum of c * y**m * exp(r*y); of its integral from x on the term with the
    greatest r, and of these the one with the greatest m, leads.
    """
    try:
        density = density_of(integration, way, value, check)
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
