"""What must hold on one path of runs, condition by condition: a run for which it does not is a violation that
exact replay confirms.
"""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.language.conditions import Condition
from aligncheck.language.families import Moves
from aligncheck.search.obligations.composition import calls_are_covered
from aligncheck.search.obligations.obligation import (
    Invariants,
    Sequent,
    context,
    run_on_d,
    run_on_d_prime,
)
from aligncheck.search.obligations.selected import same_selection
from aligncheck.search.relational import ir, paths
from aligncheck.search.relational.labels import Ledger
from aligncheck.search.relational.settled import copied, open_in


def obligations_on(analysis: paths.Analysis, path: paths.Segment, condition: Condition) -> Iterator[Sequent]:
    """Those of one condition; none for conditions that no single pair of runs violates."""
    match condition:
        case Condition.CALLS:
            yield from calls_are_covered(analysis, path)
        case Condition.COST:
            yield from within_claim(analysis, path, analysis.theory.claim, {}, analysis.theory.most)
            yield from _not_negative(analysis, path)
        case Condition.INJECTIVE | Condition.ACYCLIC:
            yield from _one_to_one(analysis, path)
        case Condition.DEFINED | Condition.FRESH | Condition.SCALES:
            yield from _before(analysis, path, condition)
        case Condition.DRAWS | Condition.SUPPORT | Condition.OUTPUT:
            yield from _on_both(analysis, path, condition)
        case Condition.HYPOTHESES | Condition.COUNTABLE | Condition.TERMINATES | Condition.INVARIANT:
            pass


def _before(analysis: paths.Analysis, path: paths.Segment, wanted: Condition) -> Iterator[Sequent]:
    """What holds whenever the run on D comes so far: only the tests before may be assumed. Of the run on D'
    all of the run on D may be, too.
    """
    start = context(analysis, path, {})
    whole = (*start, *run_on_d(path))
    for place, event in enumerate(path.events):
        before = (*start, *run_on_d(path, place))
        both = (*whole, *run_on_d_prime(path, place))
        if isinstance(event, paths.Required) and wanted is Condition.DEFINED:
            hypotheses, shared = (both, len(whole)) if event.primed else (before, len(start))
            yield Sequent(wanted, hypotheses, event.partial.condition, shared)
        elif isinstance(event, paths.Drawing) and wanted is Condition.FRESH:
            goals = [ir.lt(event.before, event.position), ir.le(ir.ZERO, event.position)]
            goals += [ir.IsInt(event.position)] if ir.sort_of(event.position) is not ir.TermSort.INT else []
            yield from (Sequent(wanted, before, goal, len(start)) for goal in goals)
        elif isinstance(event, paths.Drawing) and wanted is Condition.SCALES:
            yield from (Sequent(wanted, before, valid, len(start)) for valid in event.left.valid)
            own = () if event.family.coin else event.args
            same = (ir.eq(a.left, a.right) for a in own if a.left != a.right)
            yield from (Sequent(wanted, both, goal, len(whole)) for goal in same)


def _on_both(analysis: paths.Analysis, path: paths.Segment, wanted: Condition) -> Iterator[Sequent]:
    """What holds on D' where the run on D takes the path and that on D' has come so far."""
    known = (*context(analysis, path, {}), *run_on_d(path))
    for place, event in enumerate(path.events):
        both = (*known, *run_on_d_prime(path, place))
        yield from (Sequent(wanted, both, goal, len(known)) for goal in _goals(event, wanted))


def _goals(event: paths.Event, wanted: Condition) -> Iterator[ir.Term]:
    if wanted is Condition.OUTPUT:
        if isinstance(event, paths.Selected):
            yield from same_selection(event)
        elif isinstance(event, paths.ArmTaken) and not event.hidden:
            yield event.holds(True)
        elif isinstance(event, paths.Emission):
            yield from (ir.same_value(pair) for _, pair, _ in event.fields)
    elif isinstance(event, paths.Drawing) and wanted is Condition.DRAWS:
        if event.index is not None and event.index.left != event.index.right:
            yield ir.eq(event.index.left, event.index.right)
    elif isinstance(event, paths.Drawing):
        if event.left.floor is not None:
            yield ir.le(event.left.floor, ir.add(event.left.value, event.shift))
        if event.family.coin:
            yield ir.le(ir.add(event.left.value, event.shift), ir.ONE)
        match event.family.row.moves:
            case Moves.BOTH:
                pass
            case Moves.UP:
                yield ir.le(ir.ZERO, event.shift)
            case Moves.NOT:
                yield ir.eq(event.shift, ir.ZERO)
        if event.left.step is not None:
            yield ir.IsInt(ir.div(event.shift, event.left.step))


def within_claim(
    analysis: paths.Analysis,
    path: paths.Segment,
    claim: ir.Term,
    invariants: Invariants,
    most: ir.Term | None,
) -> Iterator[Sequent]:
    """At the end of a run its cost is at most the claim, and that is at most its bound, if it has one."""
    if path.target is not None:
        return
    known = (*context(analysis, path, invariants), *run_on_d(path))
    if most is not None:
        yield Sequent(Condition.COST, known, ir.le(claim, most), len(known))
    both = (*known, *run_on_d_prime(path))
    yield Sequent(Condition.COST, both, ir.le(path.env[Ledger.COST].left, claim), len(known))


def _not_negative(analysis: paths.Analysis, path: paths.Segment) -> Iterator[Sequent]:
    """Nobody is given budget back."""
    known = (*context(analysis, path, {}), *run_on_d(path))
    claims = (analysis.theory.claim, analysis.theory.most)
    yield from (
        Sequent(Condition.COST, known, ir.le(ir.ZERO, c), len(known)) for c in claims if c is not None
    )


def _one_to_one(analysis: paths.Analysis, path: paths.Segment) -> Iterator[Sequent]:
    """Two noise vectors that take the path, or paths that differ from it in hidden arms only, give the same
    records and have the same image are equal. They share what is fixed at the path's start, and nothing else
    (`copied`).
    """
    events = path.drawings()
    hidden_in, start = analysis.theory.hidden_in, analysis.cuts[path.origin].made
    if not any(open_in((e.shift,), hidden_in, e.made) for e in events):
        return

    def other(term: ir.Term) -> ir.Term:
        return copied(term, hidden_in, start)

    for second in (p for p in analysis.paths if _shape(p) == _shape(path)):
        records = [
            ir.Pair(a.left, other(b.left))
            for e, f in zip(path.emissions(), second.emissions(), strict=True)
            for (_, a, _), (_, b, _) in zip(e.fields, f.fields, strict=True)
        ]
        draws = list(zip(events, second.drawings(), strict=True))
        hypotheses = (
            *context(analysis, path, {}),
            *run_on_d(path),
            *(other(t) for t in run_on_d(second)),
            *map(ir.same_value, records),
            *(ir.eq(ir.add(e.left.value, e.shift), other(ir.add(f.left.value, f.shift))) for e, f in draws),
        )
        goal = ir.and_(ir.eq(e.left.value, other(f.left.value)) for e, f in draws)
        yield Sequent(Condition.INJECTIVE, hypotheses, goal)


def _shape(path: paths.Segment) -> list[object]:
    """Where a path leads, which visible arms it takes, what it draws and how many fields it releases."""
    return [
        (path.origin, path.target),
        *((d.span, d.taken) for d in path.decisions() if not d.hidden),
        *((e.name, e.family) for e in path.drawings()),
        *(len(e.fields) for e in path.emissions()),
    ]
