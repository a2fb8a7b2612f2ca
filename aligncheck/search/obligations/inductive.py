"""Loop invariants: every way into a loop establishes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.search.obligations.obligation import (
    Impossible,
    Invariants,
    Obligation,
    context,
    run_on_d,
    run_on_d_prime,
)
from aligncheck.search.relational.paths import Analysis, Path
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import AT_A_LOOP_HEAD, Kind, Sym, Term, atoms, substitute

_NOT_FIXED = Impossible(False, "it speaks of numbers that are not fixed where it is to hold")


def inductive(analysis: Analysis, invariants: Invariants) -> list[Obligation]:
    """One obligation per invariant and per path into its loop.

    Claim: the invariants of all loops hold whenever the head of their loop is reached.
    Why sound: by induction over the paths that a run goes through one after the other. Each obligation
    assumes only the invariants at the path's start, in which the induction has come already, and that both
    runs take the path; that they do, and release the same, is what the `output` obligations show.
    Breaks if a path into the loop is missing from the analysis, or if an invariant speaks of a number that
    is not fixed yet when its loop's head is reached: it would be shown of one value and used of another. What
    a loop inside this one, or a later one, has at its head is such a number (`fixed_ones`).
    Source: Floyd, Assigning meanings to programs (1967); that both runs are followed at once: Lemma 1.
    """
    return [obligation for _, _, obligation in inductive_by_invariant(analysis, invariants)]


def inductive_by_invariant(
    analysis: Analysis, invariants: Invariants
) -> Iterator[tuple[int, Term, Obligation]]:
    """The same, each with the number of the loop and the invariant that it is about."""
    for path in analysis.paths:
        if path.target is None:
            continue
        cut = analysis.cuts[path.target]
        if cut.loop is None:
            raise InternalError("a cut that is no loop")
        shared, hypotheses = premises(analysis, path, invariants)
        table = end_values(analysis, path)
        believed = invariants.get(cut.number, ())
        fixed = set(fixed_ones(analysis, cut.number, believed))
        for term in believed:
            wanted = Obligation(
                Condition.INVARIANT,
                hypotheses,
                substitute(term, table) if term in fixed else _NOT_FIXED,
                f"`{spell(term)}` holds when {cut.label} is reached",
                cut.loop.span,
                "inductive",
                shared,
            )
            yield cut.number, term, wanted


def known_terms_at(analysis: Analysis, number: int) -> Iterator[Term]:
    """All that is fixed when a loop's head is reached, and until the loop ends: what its variables are there,
    and what they were where the loop comes from (see `known_at`).
    """
    place: int | None = number
    while place is not None:
        cut = analysis.cuts[place]
        for pair in (*cut.env.values(), *cut.fresh.values()):
            yield from (pair.left, pair.right)
        yield from cut.facts
        place = cut.parent


def fixed_ones(analysis: Analysis, number: int, terms: Iterable[Term]) -> list[Term]:
    """The terms that have one value from a loop's head on until the loop comes there again: of the symbols of
    loop heads they speak only of those known there, and of no shift that is not made.
    """
    known = atoms(known_terms_at(analysis, number))
    return [
        term
        for term in terms
        if all(a in known for a in atoms((term,)) if a.kind in AT_A_LOOP_HEAD or a.kind is Kind.UNSETTLED)
    ]


def premises(analysis: Analysis, path: Path, invariants: Invariants) -> tuple[int, tuple[Term, ...]]:
    """What may be assumed at the end of a path, and how much of it other obligations of the path share."""
    run = (*context(analysis, path, invariants), *run_on_d(path))
    return len(run), (*run, *run_on_d_prime(path))


def end_values(analysis: Analysis, path: Path) -> dict[Term, Term]:
    """What each loop-head symbol of the path's target is at the end of the path."""
    if path.target is None:
        raise InternalError("a path that ends at no cut")
    table: dict[Term, Term] = {}
    for name, pair in analysis.cuts[path.target].fresh.items():
        value = path.env[name]
        if isinstance(pair.left, Sym):
            table[pair.left] = value.left
        if pair.right != pair.left:
            if isinstance(pair.right, Sym):
                table[pair.right] = value.right
            else:
                table[pair.distance] = value.distance
    return table
