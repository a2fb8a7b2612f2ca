"""What must be proved: one module per part of Lemma 1; `all_obligations` collects them."""

from __future__ import annotations

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source
from aligncheck.search.obligations.alignment import (
    countably_many,
    in_order,
    one_to_one,
    stays_in_support,
    within_claim,
)
from aligncheck.search.obligations.calls import calls_are_covered, claims_not_negative, no_look_ahead
from aligncheck.search.obligations.draws import count_is_known, drawn_once, same_index, scales_are_public
from aligncheck.search.obligations.obligation import Invariants, Obligation, context, run_on_d
from aligncheck.search.obligations.output import same_arms_and_records
from aligncheck.search.obligations.running import operations_defined
from aligncheck.search.obligations.selection import released_selections, same_selection
from aligncheck.search.relational.paths import Analysis
from aligncheck.search.relational.terms import Term
from aligncheck.search.relational.visible import Visible

ORDER = (
    Condition.HYPOTHESES,
    Condition.DEFINED,
    Condition.FRESH,
    Condition.SCALES,
    Condition.DRAWS,
    Condition.COUNTABLE,
    Condition.ACYCLIC,
    Condition.INJECTIVE,
    Condition.SUPPORT,
    Condition.CALLS,
    Condition.OUTPUT,
    Condition.COST,
    Condition.TERMINATES,
    Condition.INVARIANT,
)
"""The order in which conditions are looked at: the first that fails names the failure."""


def obligations_of(
    analysis: Analysis, claim: Term, invariants: Invariants, source: Source
) -> list[Obligation]:
    """Every obligation that is a single implication (termination and the general route have alternatives of
    their own).
    """
    visible = Visible(analysis)
    complete = [
        (*context(analysis, path, invariants), *run_on_d(path))
        for path in analysis.paths
        if path.target is None
    ]
    return [
        *operations_defined(analysis, invariants, source),
        *drawn_once(analysis, invariants, source),
        *scales_are_public(analysis, invariants, visible, source),
        *count_is_known(analysis, visible, source),
        *same_index(analysis, invariants, visible, source),
        *countably_many(analysis, visible, source),
        *released_selections(analysis, visible),
        *in_order(analysis, source),
        *no_look_ahead(analysis),
        *calls_are_covered(analysis, invariants, source),
        *stays_in_support(analysis, invariants, source),
        *same_selection(analysis, invariants),
        *same_arms_and_records(analysis, invariants, source),
        *within_claim(analysis, claim, invariants, source),
        *claims_not_negative(analysis.theory, complete, source),
    ]


__all__ = ["ORDER", "Invariants", "Obligation", "obligations_of", "one_to_one"]
