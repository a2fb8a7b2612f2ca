"""What a search finds for a proof: the paths of a mechanism and the invariants of its loops.

Not trusted: the kernel decides with what is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aligncheck.effort import Effort
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.search.discharge.algebra import common_unit
from aligncheck.search.discharge.houdini import Houdini
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.obligations.inductive import end_values, fixed_ones, premises
from aligncheck.search.obligations.obligation import Invariants, Sequent
from aligncheck.search.obligations.on_path import within_claim
from aligncheck.search.relational.analysis import analyse
from aligncheck.search.relational.callees import AlignedCall
from aligncheck.search.relational.hoist import hoisted
from aligncheck.search.relational.ir import App, Nature, Sym, Term, atoms, order_key, substitute
from aligncheck.search.relational.labels import AtHead, Ledger
from aligncheck.search.relational.paths import Analysis
from aligncheck.search.relational.scopes import at_head
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.theory import Theory
from aligncheck.search.relational.to_terms import TermEvaluator
from aligncheck.search.relational.told import with_first_record, with_later_records

MILLISECONDS = 2_000
"""How long the solver may think about one question."""


@dataclass(frozen=True)
class Chosen:
    """What was found out about one mechanism: its paths, and invariants of its loops.

    `smt` has translated its terms already, so that further questions about them are cheap.
    """

    theory: Theory
    smt: Smt
    analysis: Analysis
    invariants: Invariants

    def keeps(self, claim: Term, most: Term | None, given: tuple[Term, ...] = ()) -> bool:
        """Whether the invariants show that the cost stays within a claim, and this within its bound, where
        `given` holds.
        """
        return _within(self.analysis, self.smt, self.invariants, claim, most, given)


def paths_of(mechanism: Mechanism) -> Analysis:
    """The paths of a checked mechanism. Raises TooManyPathsError, UnsupportedError."""
    return analyse(Theory(hoisted(mechanism)))


def choose(paths: Analysis, effort: Effort) -> Chosen:
    """The choices for a mechanism with such paths, with such an effort. Raises UnsupportedError."""
    theory = paths.theory
    smt = Smt(theory, effort=effort)
    analysis = with_first_record(with_later_records(paths))
    _measure_costs(analysis, smt)

    def enough(found: Invariants) -> Invariants | None:
        return _enough(analysis, smt, found)

    return Chosen(theory, smt, analysis, Houdini(analysis, smt).run(_author_lines(analysis), enough))


def holds(smt: Smt, wanted: Iterable[Sequent], given: tuple[Term, ...] = ()) -> bool:
    """Whether all of them are shown; those after the first that is not are not asked for."""
    return all(_implied(smt, (*o.hypotheses, *given), o.goal) for o in wanted)


def _implied(smt: Smt, hypotheses: tuple[Term, ...], goal: Term) -> bool:
    return smt.implied(hypotheses, goal, MILLISECONDS).answer is Answer.VALID


def _within(
    analysis: Analysis,
    smt: Smt,
    found: Invariants,
    claim: Term,
    most: Term | None,
    given: tuple[Term, ...] = (),
) -> bool:
    wanted = (o for path in analysis.paths for o in within_claim(analysis, path, claim, found, most))
    return holds(smt, wanted, given)


def _enough(analysis: Analysis, smt: Smt, invariants: Invariants) -> Invariants | None:
    """As many of the invariants as show the claim: of bounds on the cost only one, where a program with one
    loop needs no more, since each is one more to be shown. None where all of them do not.
    """
    theory = analysis.theory

    def suffices(some: Invariants) -> bool:
        return _within(analysis, smt, some, theory.claim, theory.most)

    if len(invariants) != 1:
        return invariants if suffices(invariants) else None
    ((number, terms),) = invariants.items()
    bounds = sorted((t for t in terms if any(map(_is_cost, atoms((t,))))), key=lambda t: len(spell(t)))
    rest = tuple(t for t in terms if t not in bounds)
    for k, bound in enumerate(bounds if len(bounds) > 1 else ()):
        if k == 1 and not suffices(invariants):
            return None
        fewer = {number: (*rest, bound)}
        if suffices(fewer) and _preserved(analysis, smt, fewer, bound):
            return fewer
    return invariants if len(bounds) > 1 or suffices(invariants) else None


def _preserved(analysis: Analysis, smt: Smt, invariants: Invariants, term: Term) -> bool:
    """Whether every way to a loop's head establishes one of its invariants."""
    return all(
        bool(fixed_ones(analysis, path.target, [term]))
        and _implied(smt, premises(analysis, path, invariants), substitute(term, end_values(analysis, path)))
        for path in analysis.paths
        if path.target is not None
    )


def _is_cost(atom: Sym | App) -> bool:
    return isinstance(atom.label, AtHead) and atom.label.key is Ledger.COST


def _measure_costs(analysis: Analysis, smt: Smt) -> None:
    """Costs are counted in the greatest common unit of the rates 1/α of the aligned draws and of what calls
    spend, where parameters alone decide these.
    """
    rates = {d.left.inverse_alpha for p in analysis.paths for d in p.drawings() if d.lines}
    rates |= {e.spent.left for p in analysis.paths for e in p.events if isinstance(e, AlignedCall)}
    public = all(isinstance(a, Sym) and a.kind is Nature.PARAMETER for a in atoms(rates))
    unit = common_unit(sorted(rates, key=order_key)) if public else None
    if unit is not None:
        heads = [cut.fresh[Ledger.COST].left for cut in analysis.cuts if Ledger.COST in cut.fresh]
        smt.measure([s for s in heads if isinstance(s, Sym)], unit)


def _author_lines(analysis: Analysis) -> dict[int, list[Term]]:
    """The author's invariants at each loop head."""
    found: dict[int, list[Term]] = {}
    for cut in analysis.cuts:
        if cut.loop is not None and cut.loop.invariants:
            scope = at_head(analysis.theory, cut.loop, cut.env, cut.counter)
            found[cut.number] = [TermEvaluator(scope).term(e) for e in cut.loop.invariants]
    return found
