"""Decides obligations. The only place that makes a `Proved`.

Trusted, as is all that `aligncheck.trusted` lists.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from aligncheck.search.discharge.algebra import (
    canonical,
    dependencies,
    is_integral,
    leaves,
    value_dependencies,
)
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.obligations.obligation import Impossible, Independent, Integral, Obligation
from aligncheck.search.relational.terms import (
    FALSE,
    Term,
    Truth,
    and_,
    implies,
)

MILLISECONDS = 2_000
"""How long the solver may think about one obligation."""


SEVERAL = 5
"""So many obligations with the same hypotheses make a question of their own worthwhile."""


@dataclass(frozen=True, slots=True)
class Proved:
    """The obligation holds. `how` names the decision procedure."""

    obligation: Obligation
    how: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Open:
    """The obligation was not proved. `refuted` says that it does not follow from its hypotheses (which may be
    too weak: an invariant that was not found); otherwise the solver gave up.
    """

    obligation: Obligation
    refuted: bool
    seconds: float


Outcome: TypeAlias = Proved | Open


def decide(obligation: Obligation, smt: Smt) -> Outcome:
    """Proves an obligation, or leaves it open."""
    start = time.perf_counter()
    how, proved, refuted = _decided(obligation, smt)
    seconds = time.perf_counter() - start
    return Proved(obligation, how, seconds) if proved else Open(obligation, refuted, seconds)


def _decided(obligation: Obligation, smt: Smt) -> tuple[str, bool, bool]:
    """How, whether the goal is proved, and whether it is known to fail."""
    goal = obligation.goal
    if isinstance(goal, Term):
        if goal == Truth(True):
            return "identity", True, False
        answer = smt.implied(obligation.hypotheses, goal, MILLISECONDS).answer
        return "Z3", answer is Answer.VALID, answer is Answer.INVALID
    match goal:
        case Impossible(holds=holds, why=why):
            return why, holds, not holds
        case Independent(term=term, of=of, value_only=value_only):
            found = value_dependencies(term) if value_only else dependencies(term)
            return "normal form", not (found & {canonical(a) for a in of}), True
        case Integral(term=term):
            return "integer polynomial", _integral(term, obligation.hypotheses, smt), False


@dataclass
class Decided:
    """What was decided of one mechanism's obligations, each once: a search may ask beforehand what the whole
    list asks again.
    """

    smt: Smt
    _known: dict[Obligation, Outcome] = field(default_factory=dict)

    def all(self, obligations: Iterable[Obligation]) -> list[Outcome]:
        """The outcome of each obligation, in their order; equal ones have one."""
        distinct = list(dict.fromkeys(obligations))
        new = [o for o in distinct if o not in self._known]
        self._known.update((outcome.obligation, outcome) for outcome in decide_all(new, self.smt))
        return [self._known[o] for o in distinct]

    def holds(self, obligations: Iterable[Obligation]) -> bool:
        """Whether all of them are proved; those after the first open one are not asked for."""
        return all(isinstance(outcome, Proved) for o in obligations for outcome in self.all([o]))


def decide_all(obligations: Iterable[Obligation], smt: Smt) -> list[Outcome]:
    """Decides many obligations, those with common hypotheses together: all of them, or those of the path.

    Why sound: `H implies (E1 implies G1) and (E2 implies G2)` holds exactly if `H, E1` imply `G1` and `H, E2`
    imply `G2`. What is not proved so is decided on its own.
    """
    distinct = list(dict.fromkeys(obligations))
    groups: dict[tuple[Term, ...], list[Obligation]] = {}
    alike = Counter(o.hypotheses for o in distinct)
    for o in distinct:
        common = o.hypotheses if alike[o.hypotheses] >= SEVERAL else o.hypotheses[: o.shared]
        groups.setdefault(common, []).append(o)
    decided: dict[Obligation, Outcome] = {}
    for hypotheses, members in groups.items():
        start = time.perf_counter()
        proved = _together(hypotheses, members, smt)
        share = (time.perf_counter() - start) / max(1, len(proved))
        for o in members:
            decided[o] = Proved(o, "Z3", share) if o in proved else decide(o, smt)
    return [decided[o] for o in distinct]


def _together(hypotheses: tuple[Term, ...], members: list[Obligation], smt: Smt) -> set[Obligation]:
    """Those of the obligations that were proved at once."""
    claims = {
        o: implies(and_(o.hypotheses[len(hypotheses) :]), o.goal)
        for o in members
        if not isinstance(o.goal, Impossible | Independent | Integral | Truth)
    }
    if len(claims) < 2:
        return set()
    goals = {claim: claim for claim in claims.values()}
    proved = set(smt.survivors(hypotheses, goals, MILLISECONDS)[0])
    return {o for o, claim in claims.items() if claim in proved}


def _integral(term: Term, hypotheses: tuple[Term, ...], smt: Smt) -> bool:
    """Every case of the term is an integer by its form, or cannot occur."""
    return all(
        is_integral(value) or smt.implied((*hypotheses, given), FALSE, MILLISECONDS).answer is Answer.VALID
        for given, value in leaves(term)
    )
