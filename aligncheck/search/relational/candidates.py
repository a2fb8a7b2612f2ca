"""Candidates for loop invariants: templates filled with what the paths do. Nothing here is believed.

`discharge.houdini` keeps the largest subset that holds at every entry and is preserved by every round, so a
wrong candidate costs time, never soundness (design, sections 2 and 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aligncheck.search.relational.candidate_costs import Costs
from aligncheck.search.relational.candidate_distances import Distances
from aligncheck.search.relational.candidate_values import Values
from aligncheck.search.relational.ir import Term
from aligncheck.search.relational.loop import Loop
from aligncheck.search.relational.paths import Analysis, Cut, Segment


@dataclass(frozen=True)
class Pool:
    """The candidates for one loop head, in stages."""

    analysis: Analysis
    cut: Cut

    @cached_property
    def loop(self) -> Loop:
        return Loop(self.analysis, self.cut)

    @cached_property
    def _costs(self) -> Costs:
        return Costs(self.loop)

    def values(self) -> list[Term]:
        """First stage: the program's own values, which variables both runs share, where noise was
        drawn last.
        """
        return Values(self.loop).values()

    def equal_distances(self) -> list[Term]:
        """Second stage: distances that are 0 or equal to a closed form."""
        return Distances(self.loop).equal_distances()

    def bounded_distances(self, kept: list[Term]) -> list[Term]:
        """Third stage: what else may be said of the distances that no kept equality fixes."""
        return Distances(self.loop).bounded_distances(kept)

    def costs(self) -> list[Term]:
        """Fourth stage: bounds on the accumulated cost by counters and by what the walk over the answers has
        passed.
        """
        return self._costs.costs()

    def further_costs(self, kept: list[Term]) -> list[Term]:
        """Last stage, where that was not enough: costs that are paid only while a test holds, and costs still
        owed.
        """
        return self._costs.further_costs(kept)

    def resolved(self, shift: Term, path: Segment) -> Term:
        """A shift with the tests decided that its path decides."""
        return self.loop.resolved(shift, path)

    def shift_sizes(self, shift: Term, path: Segment) -> list[Term]:
        """Public bounds on |shift|."""
        return self._costs.shift_sizes(shift, path)
