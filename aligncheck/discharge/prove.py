"""Decides obligations. The only place that makes a `Proved`.

Trusted, with `algebra`, `smt` and `houdini`: whoever believes these four and the rules under `obligations` believes a
VERIFIED.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeAlias

from aligncheck.discharge.algebra import dependencies, is_integral, leaves, value_dependencies
from aligncheck.discharge.smt import Answer, Smt
from aligncheck.obligations.obligation import Impossible, Independent, Integral, Obligation
from aligncheck.relational.terms import FALSE, Term, Truth

MILLISECONDS = 2_000
"""How long the solver may think about one obligation."""


@dataclass(frozen=True, slots=True)
class Proved:
    """The obligation holds. `how` names the decision procedure."""

    obligation: Obligation
    how: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Open:
    """The obligation was not proved. `refuted` says that it does not follow from its hypotheses (which may be too weak:
    an invariant that was not found); otherwise the solver gave up."""

    obligation: Obligation
    refuted: bool
    seconds: float


Outcome: TypeAlias = Proved | Open


def decide(obligation: Obligation, smt: Smt) -> Outcome:
    """Proves an obligation, or leaves it open."""
    start = time.perf_counter()
    match obligation.goal:
        case Impossible(holds=holds, why=why):
            how, proved, refuted = why, holds, not holds
        case Independent(term=term, of=of, value_only=value_only):
            found = value_dependencies(term) if value_only else dependencies(term)
            how, proved, refuted = "normal form", not (found & of), True
        case Integral(term=term):
            how, proved, refuted = "integer polynomial", _integral(term, obligation.hypotheses, smt), False
        case Truth(value=True):
            how, proved, refuted = "identity", True, False
        case goal:
            reply = smt.implied(obligation.hypotheses, goal, MILLISECONDS)
            how, proved = "Z3", reply.answer is Answer.VALID
            refuted = reply.answer is Answer.INVALID
    seconds = time.perf_counter() - start
    return Proved(obligation, how, seconds) if proved else Open(obligation, refuted, seconds)


def _integral(term: Term, hypotheses: tuple[Term, ...], smt: Smt) -> bool:
    """Every case of the term is an integer by its form, or cannot occur."""
    return all(
        is_integral(value) or smt.implied((*hypotheses, given), FALSE, MILLISECONDS).answer is Answer.VALID
        for given, value in leaves(term)
    )
