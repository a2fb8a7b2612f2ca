"""Condition iv, output, for what `argmax` and `top` select; and that ω shows it where φ speaks of it."""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Span
from aligncheck.search.obligations.obligation import (
    Impossible,
    Invariants,
    Obligation,
    context,
    run_on_d,
    run_on_d_prime,
)
from aligncheck.search.relational.paths import Analysis, Selected
from aligncheck.search.relational.selection import chosen, member, pick, size_of
from aligncheck.search.relational.shown import is_shown, selections_in
from aligncheck.search.relational.terms import (
    ZERO,
    Kind,
    Sort,
    Sym,
    Term,
    and_,
    const,
    eq,
    implies,
    le,
    lt,
    not_,
)
from aligncheck.search.relational.visible import Visible


def same_selection(analysis: Analysis, invariants: Invariants) -> list[Obligation]:
    """Both runs select the same indices, in the same order.

    Claim: with `i` and `j` generic: every index that the run on D selects may be selected on D', comes there
    before every index that may be selected and was not, and the selected ones keep their order; for `upto`,
    where fewer than `count` are selected, no other index may be selected.
    Why sound: `Gathered.beats` is a total order of the indices. A list of `count` indices of the set that is
    sorted by it, and of which each comes before every other index of the set, is what `top` gives; for
    `argmax` the one index comes before all others. Generic indices are symbols of which nothing is assumed,
    so the claim holds for all.
    Source: VLDB paper, Lemmas 8 and 11; design, section 2.
    """
    found: list[Obligation] = []
    for path in analysis.paths:
        known = (*context(analysis, path, invariants), *run_on_d(path))
        for place, event in enumerate(path.events):
            if isinstance(event, Selected):
                hypotheses = (*known, *run_on_d_prime(path, place))
                found += [
                    Obligation(
                        Condition.OUTPUT, hypotheses, goal, text, event.span, "same_selection", len(known)
                    )
                    for goal, text in _claims(event)
                ]
    return found


def _claims(event: Selected) -> Iterator[tuple[Term, str]]:
    name, there = event.name, event.right
    i, j = (Sym(letter, Sort.INT, Kind.GHOST) for letter in ("one", "other"))
    if event.picks:
        for pair in event.picks:
            yield eq(pair.left, pair.right), f"`{name}` is the same on D and D'"
        if there.count is not None and not there.partial:
            yield eq(const(len(event.picks)), there.count), f"as many are selected as `{name}` on D and D'"
    elif there.count is None:
        winner = chosen(name)
        yield there.inside(winner), f"`{name}` may be chosen on D' too"
        yield (
            implies(there.inside(j), there.beats(winner, j)),
            f"`{name}` comes before every other index on D' too",
        )
    else:
        if there.partial:
            fewer = and_((lt(size_of(name), there.count), not_(member(name, j))))
            yield le(size_of(name), there.count), f"`{name}` are not too many on D' either"
            yield (
                implies(fewer, not_(there.inside(j))),
                f"where there is room, no other index may be selected on D' than `{name}`",
            )
        else:
            yield eq(size_of(name), there.count), f"as many are selected as `{name}` on D and D'"
        yield implies(member(name, i), there.inside(i)), f"each of `{name}` may be selected on D' too"
        divided = and_((member(name, i), there.inside(j), not_(member(name, j))))
        yield (
            implies(divided, there.beats(i, j)),
            f"each of `{name}` comes before every index outside of it on D' too",
        )
        ranks = and_((le(ZERO, i), lt(i, j), lt(j, size_of(name))))
        yield (
            implies(ranks, there.beats(pick(name, i), pick(name, j))),
            f"`{name}` has the same order on D'",
        )


def released_selections(analysis: Analysis, visible: Visible) -> list[Obligation]:
    """Rules 4 and 5: where a shift speaks of a selection, the output shows the selection.

    Claim: on every complete way through the program a record carries what `argmax` selected; what `top`
    selected is carried, rank by rank, by the rounds of a loop over all ranks.
    Why needed: what was selected depends on noise, and a local alignment may use it only as a part of ω.
    """
    if analysis.theory.is_concrete:
        return []
    spoken = selections_in(d.shift for p in analysis.paths for d in p.drawings())
    found = _draws_told(analysis, visible)
    for name in sorted(spoken):
        event = next(
            (e for p in analysis.paths for e in p.events if isinstance(e, Selected) and e.name == name), None
        )
        span = event.span if event is not None else analysis.theory.mechanism.span
        shown = is_shown(analysis, name)
        found.append(
            Obligation(
                Condition.ACYCLIC,
                (),
                Impossible(shown, "records carry what is selected"),
                f"the output shows `{name}`, of which the alignment speaks",
                span,
                "released_selections",
            )
        )
    return found


def _draws_told(analysis: Analysis, visible: Visible) -> list[Obligation]:
    """Conditions ii and iii: what decides over draws and their distributions is a part of the output.

    Claim: a selection that a noise scale speaks of, or a test or a loop's bound before further draws, is one
    that the output shows.
    Source: Lemma 1, conditions ii and iii.
    """
    wrong: dict[tuple[Condition, Span], str] = {}
    for path in analysis.paths:
        for event in path.drawings():
            for name in selections_in(a.left for a in event.args):
                wrong[Condition.SCALES, event.span] = name
            for name in selections_in([event.position]):
                wrong[Condition.DRAWS, event.span] = name
        if path.drawings() or visible.draws_after(path):
            for decision in path.decisions():
                for name in selections_in([decision.test.left]):
                    wrong[Condition.DRAWS, decision.span] = name
    return [
        Obligation(
            condition,
            (),
            Impossible(is_shown(analysis, name), "records carry what is selected"),
            f"the output shows `{name}`, on which the draws depend",
            span,
            "released_selections",
        )
        for (condition, span), name in wrong.items()
    ]
