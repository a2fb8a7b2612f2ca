"""From a checked spec that draws by stated densities to outcomes: see `obligations.density` for the rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.search.discharge.algebra import canonical, ratio
from aligncheck.search.discharge.establish import declarations_hold
from aligncheck.search.discharge.prove import Decided, Open, Outcome, Proved, decide, decide_all
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.discharge.whole import clauses_of, obligations_of_densities
from aligncheck.search.obligations.density import (
    Factor,
    densities_bound_privacy,
    factors_of,
    joins,
    lemma_on,
)
from aligncheck.search.relational.density import Choice, Densities, Released, densities_of
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import Sym, atoms, scaled
from aligncheck.search.relational.theory import Theory
from aligncheck.verdict import CostPart

ROUTE = "density"


@dataclass(frozen=True)
class DensityFindings:
    """Everything that was established about a mechanism that draws by densities."""

    theory: Theory
    smt: Smt
    densities: Densities
    factors: tuple[Factor, ...]
    outcomes: tuple[Outcome, ...]
    route: str = ROUTE

    def open(self) -> tuple[Open, ...]:
        """The obligations that were not proved."""
        return tuple(o for o in self.outcomes if isinstance(o, Open))


def establish_densities(mechanism: Mechanism, source: Source, deadline: float) -> DensityFindings:
    """Every obligation of the rule, decided.

    Raises UnsupportedError for a program that the rule has no terms for.
    """
    theory = Theory(mechanism)
    smt = Smt(theory, deadline=deadline)
    densities = densities_of(theory)
    decided = Decided(smt)
    pairs = list(_joined(densities, decided))
    outcomes = [
        *decide_all(*clauses_of(theory)),
        *decided.all(obligations_of_densities(densities, pairs, source)),
        decide(declarations_hold(theory), smt),
    ]
    return DensityFindings(theory, smt, densities, factors_of(densities, pairs), tuple(outcomes))


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


_SHARES = tuple(Fraction(n, d) for n, d in ((1, 8), (1, 6), (1, 4), (1, 3), (1, 2), (2, 3), (3, 4)))


def density_parts(findings: DensityFindings) -> tuple[CostPart, ...]:
    """What each factor of the density costs: the least of a few shares of the claim that is proved to bound
    it. Where none is, or they exceed the claim together, one line says that all of them cost the claim.
    """
    shares = [_share(findings, factor) for factor in findings.factors]
    known = [share for share in shares if share is not None]
    if len(known) == len(shares) and sum(known) <= 1:
        return tuple(
            _part(findings, f.names, f, s) for f, s in zip(findings.factors, known, strict=True) if s
        )
    names = ", ".join(factor.names for factor in findings.factors)
    whole = _part(findings, names, findings.factors[0], Fraction(1))
    return (replace(whole, times="together"),)


def _share(findings: DensityFindings, factor: Factor) -> Fraction | None:
    for share in (Fraction(0), *_SHARES, Fraction(1)):
        wanted = densities_bound_privacy(findings.densities, (factor,), scaled(findings.theory.claim, share))
        if isinstance(decide(wanted, findings.smt), Proved):
            return share
    return None


def _part(findings: DensityFindings, names: str, factor: Factor, share: Fraction) -> CostPart:
    claim = findings.theory.claim
    amount = canonical(scaled(claim, share))
    return CostPart(names, spell(amount), spell(ratio(amount, claim)), "once", factor.draws[0].draw.span)


def rules_used(findings: DensityFindings) -> tuple[str, ...]:
    """The rules of all obligations, and the lemmas behind the bounds of the factors."""
    lemmas = [name for factor in findings.factors for name in factor.lemmas]
    wholes = findings.densities.wholes.meanings
    read = [a for a in atoms(factor.bound for factor in findings.factors) if a in wholes]
    lemmas += [lemma_on(wholes[a]).__name__ for a in read if isinstance(a, Sym)]
    return tuple(dict.fromkeys([*(o.obligation.rule for o in findings.outcomes), *lemmas]))
