"""Condition iv, output: with the aligned noise the run on D' gives the same ω."""

from __future__ import annotations

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source, Span
from aligncheck.search.obligations.obligation import (
    Invariants,
    Obligation,
    context,
    run_on_d,
    run_on_d_prime,
)
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.calls import Called
from aligncheck.search.relational.paths import (
    Analysis,
    Assumed,
    Claimed,
    Decision,
    Drawing,
    Emission,
    Path,
    Required,
    Selected,
)
from aligncheck.search.relational.terms import Term, eq, same_value


def same_arms_and_records(analysis: Analysis, invariants: Invariants, source: Source) -> list[Obligation]:
    """One obligation per visible test and per released value.

    Claim: for every noise vector for which the run on D takes a path, the run on D' with the aligned noise
    takes the same path and emits the same records, so the whole outputs agree.
    Why sound: by induction along the path. Each test is decided alike given that all earlier tests were, and
    each record has the same tag by its place in the program and equal fields. All tests of the run on D may
    be assumed, the later ones too: the alignment φ_ω is only ever applied to noise for which the run on D is
    complete. Loop exits and breaks are tests like all others, so the lengths agree as well (rule 8).
    Source: Lemma 1, condition iv; Definition 4 (local alignment). Breaks if a test could emit or draw without
    being visible; `blocks.is_visible` decides that.
    """
    found: list[Obligation] = []
    for path in analysis.paths:
        known = (*context(analysis, path, invariants), *run_on_d(path))
        for place, event in enumerate(path.events):
            match event:
                case Decision(hidden=False):
                    hypotheses = (*known, *run_on_d_prime(path, place))
                    found.append(_test(event, hypotheses, source, len(known)))
                case Emission():
                    hypotheses = (*known, *run_on_d_prime(path, place))
                    found += _record(event, hypotheses, len(known))
                case (
                    Decision()
                    | Drawing()
                    | Called()
                    | Applied()
                    | Selected()
                    | Required()
                    | Assumed()
                    | Claimed()
                ):
                    pass
        found += _shared(analysis, path, (*known, *run_on_d_prime(path)), len(known))
    return found


def _test(event: Decision, hypotheses: tuple[Term, ...], source: Source, shared: int) -> Obligation:
    what = "holds" if event.taken else "fails"
    return Obligation(
        Condition.OUTPUT,
        hypotheses,
        event.holds(True),
        f"where `{quoted(source, event.span)}` {what} on D it {what} on D'",
        event.span,
        "same_arms_and_records",
        shared,
    )


def _record(event: Emission, hypotheses: tuple[Term, ...], shared: int) -> list[Obligation]:
    found = []
    for name, pair, span in event.fields:
        found.append(
            Obligation(
                Condition.OUTPUT,
                hypotheses,
                same_value(pair),
                f"`{event.tag}` releases the same `{name}` on D and D'",
                span,
                "same_arms_and_records",
                shared,
                related=((event.span, "released here"),),
            )
        )
    return found


def _shared(analysis: Analysis, path: Path, hypotheses: tuple[Term, ...], shared: int) -> list[Obligation]:
    """A loop's index starts, and the proof's own counters stand, at the same number in both runs."""
    if path.target is None:
        return []
    cut = analysis.cuts[path.target]
    found = []
    for name, pair in cut.fresh.items():
        value = path.env[name]
        if pair.left == pair.right and value.left != value.right and cut.loop is not None:
            found.append(
                Obligation(
                    Condition.OUTPUT,
                    hypotheses,
                    eq(value.left, value.right),
                    "the loop's index is the same on D and D'",
                    cut.loop.span,
                    "same_arms_and_records",
                    shared,
                )
            )
    return found


def quoted(source: Source, span: Span) -> str:
    """What the spec says there, on one line and not too long."""
    text = " ".join(source.text_of(span).split())
    return text if len(text) <= 60 else text[:57] + "..."
