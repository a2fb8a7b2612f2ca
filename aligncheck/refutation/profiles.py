"""How the released numbers of one shape are distributed: their densities at any point, atoms, and steps.

For a search: one execution gives what would take many probabilities. Nothing here certifies.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flint import ctx, fmpq

from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.exact import Number
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation import irrationals
from aligncheck.refutation.elimination import Tangled, scaled
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.events import CompleteOutput
from aligncheck.refutation.execution import Execution, SymbolicPath
from aligncheck.refutation.integration import Density, Integration
from aligncheck.refutation.symbolic import Affine, Shaped

_BITS = 64


@dataclass(slots=True)
class Profile:
    """One field of one record: where its density has kinks (`points`), values that it takes with positive
    probability (`atoms`), the step of lattice noise, and whether `log_density` knows all of it.
    """

    points: list[Number] = field(default_factory=list)
    atoms: list[Number] = field(default_factory=list)
    lattice: Number | None = None
    known: bool = True
    parts: list[tuple[Any, Density, Any]] = field(default_factory=list)

    def log_density(self, x: Fraction) -> float:
        """ln of the density at x, together with the discrete parts of the shape; -inf where it is 0."""
        with ctx.workprec(_BITS):
            total: Any = 0
            for calculus, density, weight in self.parts:
                y = (fmpq(x.numerator, x.denominator) - density.constant) * fmpq(density.by)
                piece = density.function.pieces[bisect_right(density.function.cuts, y)]
                if piece is not None:
                    height = calculus.at(piece.terms, y - piece.anchor)
                    total = total + weight * height * irrationals.to_ball(abs(fmpq(density.by)))
            return float(total.log().mid()) if total > 0 else -math.inf


def profiles(
    mechanism: Mechanism, inputs: Mapping[str, Input], shape: CompleteOutput, check: Callable[[], None]
) -> dict[tuple[int, str], Profile]:
    """The profile of every number that the shape leaves free. Raises `NotComputable`, `OutOfTime`."""
    found: dict[tuple[int, str], Profile] = {}
    named = [{name for name, _ in record.fields} for record in shape.records]
    with ctx.workprec(_BITS):
        integration = Integration(check)
        for way in Execution(mechanism, inputs, shape, check, collect=True).ways():
            for place, record in enumerate(way.released[: len(named)]):
                for name, value in record.fields:
                    if name not in named[place] and not isinstance(value, bool):
                        profile = found.setdefault((place, name), Profile())
                        _add(profile, integration, way, value)
    return found


def _add(profile: Profile, integration: Integration, way: SymbolicPath, value: Any) -> None:
    if not isinstance(value, Affine):
        if isinstance(value, Shaped):
            profile.known = False
        else:
            try:
                profile.atoms.append(irrationals.to_exact(value))
            except (TypeError, AttributeError):
                profile.known = False
        return
    lattice = all(way.noises[variable].lattice for variable in value.coefficients)
    if lattice:
        by = scaled(value.coefficients, lambda _: True)[1]
        profile.lattice = irrationals.to_exact(1 / abs(fmpq(by)))
    try:
        density = integration.density_in(way, value)
    except (Tangled, NotComputable):
        profile.points.append(irrationals.to_exact(value.constant))
        profile.known = False
        return
    if density is not None:
        profile.points += [irrationals.to_exact(density.at(cut)) for cut in density.function.cuts]
        profile.parts.append((integration.calculus, density, integration.weight(way)))
