"""Condition iv, output, for what `argmax` and `top` select."""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.search.relational.ir import (
    ZERO,
    Nature,
    Sym,
    Term,
    TermSort,
    and_,
    const,
    eq,
    implies,
    le,
    lt,
    not_,
)
from aligncheck.search.relational.maxima import chosen, member, pick, size_of
from aligncheck.search.relational.paths import Selected


def same_selection(event: Selected) -> Iterator[Term]:
    """That both runs select the same indices, in the same order: every index that the run on D selects may be
    selected on D', comes there before every index that may be selected and was not, and the selected ones
    keep their order; where fewer than `count` are selected, no other index may be.
    """
    name, there = event.name, event.right
    i, j = (Sym(letter, TermSort.INT, Nature.GHOST) for letter in ("one", "other"))
    if event.picks:
        for pair in event.picks:
            yield eq(pair.left, pair.right)
        if there.count is not None and not there.partial:
            yield eq(const(len(event.picks)), there.count)
    elif there.count is None:
        winner = chosen(name)
        yield there.inside(winner)
        yield implies(there.inside(j), there.beats(winner, j))
    else:
        if there.partial:
            fewer = and_((lt(size_of(name), there.count), not_(member(name, j))))
            yield le(size_of(name), there.count)
            yield implies(fewer, not_(there.inside(j)))
        else:
            yield eq(size_of(name), there.count)
        yield implies(member(name, i), there.inside(i))
        yield implies(and_((member(name, i), there.inside(j), not_(member(name, j)))), there.beats(i, j))
        ranks = and_((le(ZERO, i), lt(i, j), lt(j, size_of(name))))
        yield implies(ranks, there.beats(pick(name, i), pick(name, j)))
