"""Loop invariants: the largest subset of the candidates that is inductive (Houdini).

Not trusted: what is returned is a choice, and the kernel decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aligncheck.language.internal import InternalError
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.obligations.inductive import end_values, fixed_ones, premises
from aligncheck.search.obligations.obligation import Invariants, known_at
from aligncheck.search.relational.candidate_costs import LIMIT
from aligncheck.search.relational.candidates import Pool
from aligncheck.search.relational.ir import TRUE, Term, substitute
from aligncheck.search.relational.paths import Analysis, Segment

MILLISECONDS = 300
"""How long to try one candidate on one path; a candidate that takes longer is dropped."""


@dataclass
class Houdini:
    """Infers the invariants of all loops of a mechanism at once."""

    analysis: Analysis
    smt: Smt
    kept: dict[int, list[Term]] = field(default_factory=dict)
    settled: dict[int, set[Term]] = field(default_factory=dict)

    def run(
        self, given: Mapping[int, list[Term]], enough: Callable[[Invariants], Invariants | None]
    ) -> Invariants:
        """The inductive subset of the candidates. `given` are the author's invariants, tried like all others,
        in every stage since they may need what a later one finds.

        In stages, so that what one equality implies is never tried: values, then equal distances, then bounds
        on the distances that are left, then costs; further costs where these are not `enough`, which says
        what of them is.
        """
        loops = [cut.number for cut in self.analysis.cuts if cut.loop is not None]
        pools = {number: Pool(self.analysis, self.analysis.cuts[number]) for number in loops}
        stages: list[Callable[[int], list[Term]]] = [
            lambda n: pools[n].values(),
            lambda n: pools[n].equal_distances(),
            lambda n: pools[n].bounded_distances(self.kept[n]),
            lambda n: pools[n].costs(),
            lambda n: pools[n].further_costs(self.kept[n]),
        ]
        self.kept = {number: [] for number in loops}
        for stage in stages:
            if stage is stages[-1] and (found := enough(self._found())) is not None:
                return found
            for number in loops:
                tried = [*given.get(number, []), *stage(number)[:LIMIT]]
                new = dict.fromkeys(fixed_ones(self.analysis, number, map(canonical, tried)))
                self.kept[number] = list(dict.fromkeys([*self.kept[number], *new]))
            self._sweep()
        return enough(self._found()) or self._found()

    def _found(self) -> Invariants:
        return {number: tuple(terms) for number, terms in self.kept.items()}

    def _sweep(self) -> None:
        """Drop new candidates until every path preserves all that are left; what earlier stages kept stays
        proved.
        """
        seen: dict[int, tuple[Term, ...]] = {}
        nonlinear: dict[int, set[Term]] = {}
        changed = True
        while changed:
            changed = False
            for place, path in enumerate(self.analysis.paths):
                if path.target is None or seen.get(place) == (assumed := self._known(path)):
                    continue  # what is left was shown to follow from these same invariants
                seen[place] = assumed
                changed |= self._filter(path, nonlinear.setdefault(place, set()))
        self.settled = {n: set(terms) for n, terms in self.kept.items()}

    def _filter(self, path: Segment, nonlinear: set[Term]) -> bool:
        """Drop the new candidates of the path's target that this path does not establish; whether any was
        dropped. `nonlinear` collects what the linear abstraction did not show: it will not when less is
        assumed.
        """
        if path.target is None:
            raise InternalError("a path that ends at no cut")
        settled = self.settled.get(path.target, set())
        new = [c for c in self.kept[path.target] if c not in settled]
        if not new:
            return False
        hypotheses = self._hypotheses(path)
        table = end_values(self.analysis, path)
        claims = {c: canonical(substitute(c, table)) for c in new}
        assumed = {canonical(h) for h in hypotheses}
        undecided = {c: claim for c, claim in claims.items() if claim != TRUE and claim not in assumed}
        false = self._refuted(undecided, hypotheses, nonlinear)
        if false:
            self.kept[path.target] = [c for c in self.kept[path.target] if c not in false]
        return bool(false)

    def _hypotheses(self, path: Segment) -> tuple[Term, ...]:
        return premises(self.analysis, path, self._found())

    def _known(self, path: Segment) -> tuple[Term, ...]:
        """What the invariants that are left say at the start of a path."""
        return known_at(self.analysis, self.analysis.cuts[path.origin], self._found())

    def _refuted(
        self, claims: Mapping[Term, Term], hypotheses: tuple[Term, ...], nonlinear: set[Term] | None = None
    ) -> set[Term]:
        """The candidates whose claims were not shown to follow: all are asked for at once, those left open
        one by one.
        """
        if not claims:
            return set()
        implied, left = self.smt.survivors(hypotheses, claims, 2 * MILLISECONDS, nonlinear)
        implied += [
            c for c in left if self.smt.implied(hypotheses, claims[c], MILLISECONDS).answer is Answer.VALID
        ]
        return set(claims) - set(implied)
