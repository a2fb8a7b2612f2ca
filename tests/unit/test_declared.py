"""What a proof assumes of its inputs and what a caller shows: the same for every adjacency, by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import pytest
from small_specs import mechanism

from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import Contract
from aligncheck.language.syntax.nodes import Invoke, Use
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.obligations.composition import calls_are_covered
from aligncheck.search.relational.analysis import analyse
from aligncheck.search.relational.callees import AlignedCall, Listed
from aligncheck.search.relational.ir import (
    TRUE,
    ZERO,
    Nature,
    Pair,
    Sym,
    Term,
    TermSort,
    const,
    eq,
    ite,
    same,
    substitute,
)
from aligncheck.search.relational.theory import Theory

BINDER = Sym("entry", TermSort.INT, Nature.GHOST)
MEANS: dict[str, Callable[[Sequence[int]], bool]] = {
    "all": lambda moves: all(abs(d) <= 1 for d in moves),
    "one": lambda moves: all(abs(d) <= 1 for d in moves) and sum(map(bool, moves)) <= 1,
    "monotone": lambda moves: all(0 <= d <= 1 for d in moves) or all(-1 <= d <= 0 for d in moves),
    "moved": lambda moves: all(abs(d) <= 1 for d in moves) and max(moves.count(1), moves.count(-1)) <= 1,
}
MOVES = [m for n in range(4) for m in product((-1, 0, 1), repeat=n)] + [(2,), (0, -2), (2, -2)]


def callee(adjacency: str) -> Theory:
    inputs = f"q : queries, sensitivity 1, adjacency {adjacency}\nd : real where len(q) <= d"
    return Theory(mechanism("emit done", inputs=inputs, privacy="0"))


@pytest.mark.parametrize("adjacency", MEANS)
def test_what_is_assumed_of_moves_is_what_the_adjacency_means(adjacency: str) -> None:
    theory = callee(adjacency)
    smt = Smt(theory, whole=True)
    for moves in MOVES:
        pinned = [eq(theory.distance("q", const(i)), const(d)) for i, d in enumerate(moves)]
        reply = smt.satisfiable([*pinned, eq(theory.length("q"), const(len(moves)))], 5_000)
        assert reply.answer is not Answer.UNKNOWN
        assert (reply.model is not None) == MEANS[adjacency](moves), moves


def shown(adjacency: str, moves: Sequence[int], bound: int) -> bool:
    """Whether all that is asked of a call holds that gives answers which move so, and `d` = bound."""
    theory = callee(adjacency)
    analysis = analyse(theory)
    there: Term = ZERO
    for place, move in enumerate(moves):
        there = ite(eq(BINDER, const(place)), const(move), there)
    given = Listed(same(const(len(moves))), BINDER, Pair(ZERO, there))
    text = Source("callee.dp", "callee")
    span = theory.mechanism.span
    use = Use("callee", "callee.dp", Contract(theory.mechanism, text, "VERIFIED"), span=span)
    call = AlignedCall(
        "r",
        use,
        ZERO,
        {"d": same(const(bound))},
        {"q": given},
        same(ZERO),
        Invoke("r", "callee", (), span=span),
    )
    (path,) = analysis.paths
    places = [const(n) for n in range(-1, len(moves) + 1)]
    one, other = (Sym(name, TermSort.INT, Nature.GHOST) for name in ("one", "other"))
    return all(
        canonical(substitute(wanted.goal, {one: i, other: j})) == TRUE
        for wanted in calls_are_covered(analysis, replace(path, events=(call,)))
        for i, j in product(places, repeat=2)
    )


@pytest.mark.parametrize("adjacency", MEANS)
def test_what_a_caller_shows_is_what_the_adjacency_means(adjacency: str) -> None:
    for moves in MOVES:
        assert shown(adjacency, moves, bound=3) == MEANS[adjacency](moves), moves


def test_a_clause_without_an_index_is_shown_of_empty_lists_too() -> None:
    assert shown("all", (), bound=0)
    assert not shown("all", (), bound=-1)
    assert not shown("all", (0, 0), bound=1)
