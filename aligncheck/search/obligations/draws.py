"""Conditions ii and iii for the draws themselves: their number, their independence, their scales."""

from __future__ import annotations

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source, Span
from aligncheck.search.obligations.obligation import (
    Goal,
    Impossible,
    Independent,
    Integral,
    Invariants,
    Obligation,
    context,
    run_on_d,
    run_on_d_prime,
)
from aligncheck.search.obligations.output import quoted
from aligncheck.search.relational.paths import Analysis, Drawing, Path
from aligncheck.search.relational.terms import ZERO, Sort, Term, eq, le, lt, sort_of
from aligncheck.search.relational.visible import Visible


def count_is_known(analysis: Analysis, visible: Visible, source: Source) -> list[Obligation]:
    """Condition ii: ω determines which variables are drawn.

    Claim: two runs with the same ω draw the same variables at the same indices.
    Why sound: `Visible` lists every pair of paths from one cut point that ω may not tell apart and that draw
    differently, or of which one goes on drawing where the other stops. If there is none, reading ω from the
    left determines the path up to differences that draw nothing.
    Source: Lemma 1, condition ii.
    """
    confusable = visible.confusable()
    if not confusable:
        span = analysis.theory.mechanism.span
        drawings = [e for p in analysis.paths for e in p.drawings()]
        return [
            Obligation(
                Condition.DRAWS,
                (),
                Impossible(True, "tags, constant fields or indices tell all paths apart"),
                "the output determines which variables are drawn",
                drawings[0].span if drawings else span,
                "count_is_known",
            )
        ]
    found = []
    for p, q, why in confusable[:4]:
        span = _parting(p, q) or analysis.theory.mechanism.span
        found.append(
            Obligation(
                Condition.DRAWS,
                (),
                Impossible(False, why),
                f"the output tells whether `{quoted(source, span)}` held",
                span,
                "count_is_known",
            )
        )
    return found


def _parting(p: Path, q: Path) -> Span | None:
    for a, b in zip(p.decisions(), q.decisions(), strict=False):
        if a.taken != b.taken:
            return a.span
    return None


def same_index(
    analysis: Analysis, invariants: Invariants, visible: Visible, source: Source
) -> list[Obligation]:
    """Condition ii for indexed noise: both runs draw at the same index, so that H and H' have the same
    entries; and ω determines it, as it does which paths are taken (`count_is_known`).
    """
    found = []
    for path in analysis.paths:
        known = (*context(analysis, path, invariants), *run_on_d(path))
        for place, event in enumerate(path.events):
            if not isinstance(event, Drawing) or event.index is None:
                continue
            name = quoted(source, event.span)
            if event.index.left != event.index.right:
                found.append(
                    Obligation(
                        Condition.DRAWS,
                        (*known, *run_on_d_prime(path, place)),
                        eq(event.index.left, event.index.right),
                        f"`{name}` draws at the same index on D and D'",
                        event.span,
                        "same_index",
                        len(known),
                    )
                )
            hidden = visible.unknown_in(event.position, path)
            if hidden:
                found.append(
                    Obligation(
                        Condition.DRAWS,
                        (),
                        Independent(event.position, hidden),
                        f"the output determines the index at which `{name}` draws",
                        event.span,
                        "same_index",
                    )
                )
    return found


def drawn_once(analysis: Analysis, invariants: Invariants, source: Source) -> list[Obligation]:
    """Condition iii, independence (rule 7): no variable is drawn twice.

    Claim: at every draw the index is a natural number greater than that of every earlier draw of the
    variable.
    Why sound: then all indices differ, so each entry of H is one draw. Scalar noise has index 0 and the
    greatest index before the first draw is -1, so a second draw of it fails. Not complete: indices that go
    down, or jump, fail although they may never repeat.
    Source: Lemma 1, condition iii.
    """
    found = []
    for path in analysis.paths:
        start = context(analysis, path, invariants)
        for place, event in enumerate(path.events):
            if not isinstance(event, Drawing):
                continue
            hypotheses = (*start, *run_on_d(path, place))
            text = f"`{quoted(source, event.span)}` draws a variable that was not drawn before"
            goals: list[Goal] = [lt(event.before, event.position), le(ZERO, event.position)]
            if sort_of(event.position) is not Sort.INT:
                goals.append(Integral(event.position))
            found += [
                Obligation(Condition.FRESH, hypotheses, g, text, event.span, "drawn_once", len(start))
                for g in goals
            ]
    return found


def scales_are_public(
    analysis: Analysis, invariants: Invariants, visible: Visible, source: Source
) -> list[Obligation]:
    """Condition iii, the scales (rule 6): legal, the same on D and D', functions of ω and public inputs.

    Claim: the distribution of each draw is the same in both runs, with α > 0.
    Why sound: legality is proved where the draw happens on D; equality of every argument in both runs is
    proved; that ω determines it is read off the normal form. Then `ln f(x)/f(y) <= |x - y|/α` with one α.
    Source: Lemma 1, condition iii; dissertation, Definition 5.4 and Table 5-1.
    """
    found = [
        Obligation(
            Condition.SCALES,
            (),
            Impossible(
                False, "two paths that the output does not tell apart draw from different distributions"
            ),
            f"the output determines the scale in `{quoted(source, event.span)}`",
            event.span,
            "scales_are_public",
        )
        for _, _, event in visible.rescaled()[:2]
    ]
    for path in analysis.paths:
        start = context(analysis, path, invariants)
        whole = (*start, *run_on_d(path))
        for place, event in enumerate(path.events):
            if not isinstance(event, Drawing):
                continue
            before = (*start, *run_on_d(path, place))
            name = quoted(source, event.span)
            positive = f"the scale in `{name}` is positive"
            found += [
                Obligation(
                    Condition.SCALES, before, valid, positive, event.span, "scales_are_public", len(start)
                )
                for valid in event.left.valid
            ]
            for arg in event.args:
                found += _argument(event, arg.left, arg.right, path, place, whole, visible, name)
    return found


def _argument(
    event: Drawing,
    left: Term,
    right: Term,
    path: Path,
    place: int,
    whole: tuple[Term, ...],
    visible: Visible,
    name: str,
) -> list[Obligation]:
    found = []
    if left != right:
        found.append(
            Obligation(
                Condition.SCALES,
                (*whole, *run_on_d_prime(path, place)),
                eq(left, right),
                f"the scale in `{name}` is the same on D and D'",
                event.span,
                "scales_are_public",
                len(whole),
            )
        )
    hidden = visible.unknown_in(left, path)
    if hidden:
        found.append(
            Obligation(
                Condition.SCALES,
                (),
                Independent(left, hidden),
                f"the scale in `{name}` is determined by public inputs and the output",
                event.span,
                "scales_are_public",
            )
        )
    return found
