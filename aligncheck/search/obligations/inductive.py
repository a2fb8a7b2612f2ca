"""What the search for invariants assumes and asks where a path comes to a loop's head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aligncheck.language.internal import InternalError
from aligncheck.search.obligations.obligation import Invariants, context, run_on_d, run_on_d_prime
from aligncheck.search.relational.ir import AT_A_LOOP_HEAD, Nature, Sym, Term, atoms
from aligncheck.search.relational.paths import Analysis, Segment


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
        if all(a in known for a in atoms((term,)) if a.kind in AT_A_LOOP_HEAD or a.kind is Nature.UNSETTLED)
    ]


def premises(analysis: Analysis, path: Segment, invariants: Invariants) -> tuple[Term, ...]:
    """What may be assumed at the end of a path."""
    return (*context(analysis, path, invariants), *run_on_d(path), *run_on_d_prime(path))


def end_values(analysis: Analysis, path: Segment) -> dict[Term, Term]:
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
