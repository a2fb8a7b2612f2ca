"""What a proof must choose, by search: invariants, the route, how each `while` loop ends.

Not trusted: `whole.obligations_with` makes of the choices the list of all that must be decided, the
invariants themselves included, and `establish` decides that list. A wrong choice leaves something open.
"""

from __future__ import annotations

from collections.abc import Callable

from aligncheck.language.source import Source
from aligncheck.search.discharge.houdini import Houdini
from aligncheck.search.discharge.prove import Decided, Open
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.discharge.whole import Choices, author_lines
from aligncheck.search.obligations.alignment import in_order, within_claim
from aligncheck.search.obligations.inductive import inductive_by_invariant
from aligncheck.search.obligations.obligation import Invariants
from aligncheck.search.obligations.running import loops_end
from aligncheck.search.relational.labels import AtHead, Ledger
from aligncheck.search.relational.paths import Analysis
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import App, Sym, atoms


def choices_for(analysis: Analysis, smt: Smt, decided: Decided, source: Source) -> Choices:
    """Choices with which everything is proved, if such are found: Lemma 1 where every shift depends on
    earlier noise only, else Theorem 4.
    """

    def enough(found: Invariants) -> bool:
        claims = within_claim(analysis, analysis.theory.claim, found, source)
        return not any(isinstance(outcome, Open) for outcome in decided.all(claims))

    given = {number: [term for term, _ in lines] for number, lines in author_lines(analysis).items()}
    found = Houdini(analysis, smt).run(given, enough)
    invariants = _fewer(analysis, found, decided, enough)
    ends = loops_end(analysis, invariants)
    return Choices(
        "acyclic" if decided.holds(in_order(analysis, source)) else "injective",
        tuple(next((n for n, way in enumerate(ways) if decided.holds(way)), len(ways)) for _, ways in ends),
        invariants,
    )


def _fewer(
    analysis: Analysis, invariants: Invariants, decided: Decided, enough: Callable[[Invariants], bool]
) -> Invariants:
    """One bound on the cost, where a program with one loop needs no more: each is one more to be shown."""
    if len(invariants) != 1:
        return invariants
    ((number, terms),) = invariants.items()
    bounds = sorted((t for t in terms if any(map(_is_cost, atoms((t,))))), key=lambda t: len(spell(t)))
    rest = tuple(t for t in terms if t not in bounds)
    for bound in bounds if len(bounds) > 1 else ():
        fewer = {number: (*rest, bound)}
        wanted = [o for _, t, o in inductive_by_invariant(analysis, fewer) if t == bound]
        if enough(fewer) and decided.holds(wanted):
            return fewer
    return invariants


def _is_cost(atom: Sym | App) -> bool:
    return isinstance(atom.label, AtHead) and atom.label.key is Ledger.COST
