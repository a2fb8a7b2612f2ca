"""The rows of the adjacencies: what they allow and imply, against their definitions at all small moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
import z3
from test_kernel_layers import prepared

from aligncheck.language.adjacencies import Adjacency
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.scenario import Scenario, check_scenario

Moves = Sequence[Fraction]
SIZES = [Fraction(s, 3) for s in (-3, -1, 0, 1, 3)]
ALL_MOVES = [tuple(m) for length in (1, 3) for m in itertools.product(SIZES, repeat=length)]
ALL_MOVES.append((Fraction(2, 3), Fraction(-2, 3), Fraction(0)))

MEANING: dict[Adjacency, Callable[[Moves], bool]] = {
    Adjacency.ALL: lambda m: True,
    Adjacency.ONE: lambda m: sum(x != 0 for x in m) <= 1,
    Adjacency.TWO: lambda m: sum(x != 0 for x in m) <= 2,
    Adjacency.MONOTONE: lambda m: min(m) >= 0 or max(m) <= 0,
    Adjacency.MOVED: lambda m: sum(x > 0 for x in m) <= 1 and sum(x < 0 for x in m) <= 1,
    Adjacency.L1: lambda m: sum(map(abs, m)) <= 1,
    Adjacency.L2: lambda m: sum(x * x for x in m) <= 1,
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


SHARING: dict[str, Callable[[Moves], bool]] = {
    "one, same index as q": lambda m: bool({*m[:1], *m[2:3]} == {0} or {*m[1:2], *m[3:4]} == {0}),
    "moved, same index as q": lambda m: (
        not any(
            (sign * m[0] > 0 or sign * m[2] > 0) and (sign * m[1] > 0 or sign * m[3] > 0) for sign in (1, -1)
        )
    ),
    "one, same direction as q": lambda m: (
        m[0] * m[1] == 0 == m[2] * m[3] and (min(m[:4]) >= 0 or max(m[:4]) <= 0)
    ),
    "one, same direction as n": lambda m: (
        m[0] * m[1] == 0 == m[2] * m[3] and (min(m[2:]) >= 0 or max(m[2:]) <= 0)
    ),
    "one, same index as q, same direction as n": lambda m: (
        bool({*m[:1], *m[2:3]} == {0} or {*m[1:2], *m[3:4]} == {0}) and (min(m[2:]) >= 0 or max(m[2:]) <= 0)
    ),
}
"""What may move by 1 at most: q[0], q[1], s[0], s[1] and n, where `s` shares an index or a direction."""


@pytest.mark.parametrize("words", SHARING)
def test_what_is_shared_is_one_choice_for_all(words: str) -> None:
    """Exactly these pairs are neighbours, for replays and for the kernel."""
    lines = (
        "n : query, sensitivity 1",
        f"q : queries, sensitivity 1, adjacency {words.partition(',')[0]}",
        f"s : queries, sensitivity 1, adjacency {words}",
    )
    kernel, path = prepared("\n".join((*lines, "eps : real where eps > 0")))
    solver = z3.Solver(ctx=kernel.symbols.ctx)
    solver.add(*(z3.ForAll([*f.variables], f.formula) if f.variables else f.formula for f in path.facts))
    solver.add(kernel.lengths["q"] == 2, kernel.lengths["s"] == 2)
    places = [(name, i) for name in "qs" for i in range(2)] + [("n", 0)]
    solver.add(*(kernel.lists[name][0](i) == 0 for name, i in places))
    for m in itertools.product(map(Fraction, (-1, 0, 1)), repeat=5):
        if m[0] and m[1] and "one" in words:
            continue
        prime = (("q", m[:2]), ("s", m[2:4]), ("n", m[4]))
        zeros = (("q", (Fraction(0),) * 2), ("s", (Fraction(0),) * 2), ("n", Fraction(0)))
        scenario = Scenario((("eps", Fraction(1)),), zeros, prime)
        assert (not check_scenario(kernel.spec, scenario)) is SHARING[words](m), m
        solver.push()
        solver.add(*(kernel.lists[x][1](i) == int(v) for (x, i), v in zip(places, m, strict=True)))
        assert (solver.check() == z3.sat) is SHARING[words](m), m
        solver.pop()


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
