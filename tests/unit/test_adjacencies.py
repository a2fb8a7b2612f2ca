"""The rows of the adjacencies: what they allow and imply, against their definitions at all small moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from aligncheck.language.adjacencies import Adjacency
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.scenario import Scenario, check_scenario

Moves = Sequence[Fraction]
SIZES = [Fraction(s, 3) for s in (-3, -1, 0, 1, 3)]
ALL_MOVES = [tuple(m) for length in (1, 3, 4) for m in itertools.product(SIZES, repeat=length)]

MEANING: dict[Adjacency, Callable[[Moves], bool]] = {
    Adjacency.ALL: lambda m: True,
    Adjacency.ONE: lambda m: sum(x != 0 for x in m) <= 1,
    Adjacency.TWO: lambda m: sum(x != 0 for x in m) <= 2,
    Adjacency.MONOTONE: lambda m: min(m) >= 0 or max(m) <= 0,
    Adjacency.MOVED: lambda m: sum(x > 0 for x in m) <= 1 and sum(x < 0 for x in m) <= 1,
    Adjacency.L1: lambda m: sum(map(abs, m)) <= 1,
    Adjacency.ANY: lambda m: True,
}
"""Which moves of at most 1 each are those of neighbours, for Δ = 1."""
DECLARED = [each for each in Adjacency if not each.free]


def spec(adjacency: Adjacency) -> n.Mechanism:
    head = f"mechanism t\ninput\n  q : queries, sensitivity 1, adjacency {adjacency.value}\n"
    return parse(Source("t.dp", f"{head}privacy 1\nprogram\n  pass\n"))


@pytest.mark.parametrize("adjacency", Adjacency, ids=lambda each: each.value)
def test_moves_fit_as_defined(adjacency: Adjacency) -> None:
    for moves in ALL_MOVES:
        moved = [float(x) for x in moves if x]
        assert adjacency.fits(moved, 1.0) is MEANING[adjacency](moves), moves


@pytest.mark.parametrize("adjacency", DECLARED, ids=lambda each: each.value)
def test_pairs_of_runs_are_neighbours_as_defined(adjacency: Adjacency) -> None:
    mechanism = spec(adjacency)
    for moves in ALL_MOVES:
        zeros = (Fraction(0),) * len(moves)
        scenario = Scenario((), (("q", zeros),), (("q", tuple(moves)),))
        assert bool(not check_scenario(mechanism, scenario)) is MEANING[adjacency](moves), moves


@pytest.mark.parametrize(
    ("one", "other"), list(itertools.product(Adjacency, repeat=2)), ids=lambda each: each.value
)
def test_one_implies_another_where_all_its_moves_are_the_others(one: Adjacency, other: Adjacency) -> None:
    if one.free or other.free:
        assert one.implies(other) is (one is other)
        return
    found = all(MEANING[other](moves) for moves in ALL_MOVES if MEANING[one](moves))
    assert one.implies(other) is found


def test_limits_say_how_many_may_move() -> None:
    assert Adjacency.TWO.limits == ((0, 2),)
    assert Adjacency.MOVED.limits == ((1, 1), (-1, 1))
    assert Adjacency.ONE.limits == ((0, 1),)
    for each in (Adjacency.ONE, Adjacency.TWO, Adjacency.MOVED):
        for ups, downs in itertools.product(range(4), repeat=2):
            moves = [Fraction(1)] * ups + [Fraction(-1)] * downs or [Fraction(0)]
            assert each.allows(ups, downs) is MEANING[each](moves)


def test_a_step_between_neighbours_covers_its_distance() -> None:
    """OpenDP's L1 over integers: from any list to any other, in as many steps as the map counts."""
    for adjacency, delta in itertools.product((Adjacency.ONE, Adjacency.TWO), (1, 2, 3)):
        found = adjacency.metric(True, True, Fraction(delta))
        assert found is not None
        assert found[0] == "l1"
        assert found[1] is not None
        for moves in itertools.product(range(4), repeat=3):
            left, steps = list(moves), 0
            while any(left):
                may = sorted(range(3), key=left.__getitem__)[-len(adjacency.ways) :]
                for place in may:
                    left[place] -= min(left[place], delta)
                steps += 1
            assert steps <= -(-sum(moves) // found[1])
    assert Adjacency.TWO.metric(True, False, Fraction(1)) is None
