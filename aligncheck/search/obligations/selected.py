"""Condition iv, output, for what `argmax` and `top` select."""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.search.relational import ir
from aligncheck.search.relational.maxima import chosen, member, pick, size_of
from aligncheck.search.relational.paths import Selected


def same_selection(event: Selected) -> Iterator[ir.Term]:
    """That both runs select the same indices, in the same order: every index that the run on D selects may be
    selected on D', comes there before every index that may be selected and was not, and the selected ones
    keep their order; where fewer than `count` are selected, no other index may be.
    """
    name, there = event.name, event.right
    i, j = (ir.Sym(letter, ir.TermSort.INT, ir.Nature.GHOST) for letter in ("one", "other"))
    if event.picks:
        for pair in event.picks:
            yield ir.eq(pair.left, pair.right)
        if there.count is not None and not there.partial:
            yield ir.eq(ir.const(len(event.picks)), there.count)
    elif there.count is None:
        winner = chosen(name)
        yield there.inside(winner)
        yield ir.implies(there.inside(j), there.beats(winner, j))
    else:
        if there.partial:
            fewer = ir.and_((ir.lt(size_of(name), there.count), ir.not_(member(name, j))))
            yield ir.le(size_of(name), there.count)
            yield ir.implies(fewer, ir.not_(there.inside(j)))
        else:
            yield ir.eq(size_of(name), there.count)
        yield ir.implies(member(name, i), there.inside(i))
        yield ir.implies(
            ir.and_((member(name, i), there.inside(j), ir.not_(member(name, j)))), there.beats(i, j)
        )
        ranks = ir.and_((ir.le(ir.ZERO, i), ir.lt(i, j), ir.lt(j, size_of(name))))
        yield ir.implies(ranks, there.beats(pick(name, i), pick(name, j)))
