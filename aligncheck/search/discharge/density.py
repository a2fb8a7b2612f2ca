"""From a checked spec that draws by stated densities to outcomes: see `obligations.density` for the rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.search.discharge.establish import declarations_hold
from aligncheck.search.discharge.prove import Decided, Open, Outcome, decide, decide_all
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.discharge.whole import clauses_of, obligations_of_densities
from aligncheck.search.obligations.density import (
    Factor,
    factors_of,
    joins,
)
from aligncheck.search.relational.density import Choice, Densities, Released, densities_of
from aligncheck.search.relational.theory import Theory

ROUTE = "density"


@dataclass(frozen=True)
class ChosenDensities:
    """What was found out about a mechanism that draws by densities before any obligation is decided. `pairs`
    are draws that are one factor of the density.
    """

    theory: Theory
    smt: Smt
    densities: Densities
    decided: Decided
    pairs: tuple[tuple[Choice, Released], ...]
    route: ClassVar[str] = ROUTE

    @property
    def factors(self) -> tuple[Factor, ...]:
        return factors_of(self.densities, self.pairs)


@dataclass(frozen=True)
class DensityFindings(ChosenDensities):
    """The same, and what became of each obligation."""

    outcomes: tuple[Outcome, ...]

    def open(self) -> tuple[Open, ...]:
        """The obligations that were not proved."""
        return tuple(o for o in self.outcomes if isinstance(o, Open))


def choose_densities(mechanism: Mechanism, deadline: float) -> ChosenDensities:
    """The choices of a proof. Raises UnsupportedError for a program that the rule has no terms for."""
    theory = Theory(mechanism)
    smt = Smt(theory, deadline=deadline)
    densities = densities_of(theory)
    decided = Decided(smt)
    return ChosenDensities(theory, smt, densities, decided, tuple(_joined(densities, decided)))


def establish_densities(mechanism: Mechanism, source: Source, deadline: float) -> DensityFindings:
    """Chooses, and decides every obligation of the rule. Raises what `choose_densities` raises."""
    return established_densities(choose_densities(mechanism, deadline), source)


def established_densities(chosen: ChosenDensities, source: Source) -> DensityFindings:
    """Every obligation of the rule, decided, with these choices."""
    theory, smt, densities, pairs = chosen.theory, chosen.smt, chosen.densities, chosen.pairs
    outcomes = [
        *decide_all(*clauses_of(theory)),
        *chosen.decided.all(obligations_of_densities(densities, pairs, source)),
        decide(declarations_hold(theory), smt),
    ]
    return DensityFindings(theory, smt, densities, chosen.decided, pairs, tuple(outcomes))


def _joined(densities: Densities, decided: Decided) -> Iterator[tuple[Choice, Released]]:
    """Each choice with the first truncated number that lies at the logarithm of its odds."""
    left = [d for d in densities.draws if isinstance(d, Released) and d.low is not None]
    for choice in densities.draws:
        if not isinstance(choice, Choice):
            continue
        for released in left:
            if decided.holds([joins(densities, choice, released)]):
                left = [d for d in left if d is not released]
                yield choice, released
                break
