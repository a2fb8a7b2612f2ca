"""Pairs of inputs: those of Table 4-1, and that they are neighbours."""

from __future__ import annotations

import pytest

from aligncheck.language.adjacencies import Adjacency
from aligncheck.statistical.patterns import ADJACENCIES, InputPair, pairs, varied

TABLE = {  # dissertation, Table 4-1; "All Above & All Below" once each way
    "one above": ([1, 1, 1, 1, 1], [2, 1, 1, 1, 1]),
    "one below": ([1, 1, 1, 1, 1], [0, 1, 1, 1, 1]),
    "one above, rest below": ([1, 1, 1, 1, 1], [2, 0, 0, 0, 0]),
    "one below, rest above": ([1, 1, 1, 1, 1], [0, 2, 2, 2, 2]),
    "half half": ([1, 1, 1, 1, 1], [0, 0, 0, 2, 2]),
    "all above": ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
    "all below": ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
    "x shape": ([1, 1, 0, 0, 0], [0, 0, 1, 1, 1]),
}


def test_the_table() -> None:
    found = {pair.pattern: (pair.first, pair.second) for pair in pairs(Adjacency.ALL, 1.0, [5])}
    assert found == TABLE


def are_neighbours(adjacency: Adjacency, sensitivity: float, pair: InputPair) -> bool:
    differences = [b - a for a, b in zip(pair.first, pair.second, strict=True)]
    moved = [d for d in differences if d != 0]
    if not all(abs(d) <= sensitivity for d in moved):
        return False
    match adjacency:
        case Adjacency.ALL:
            return True
        case Adjacency.ONE:
            return len(moved) == 1
        case Adjacency.TWO:
            return 1 <= len(moved) <= 2
        case Adjacency.MONOTONE:
            return all(d > 0 for d in moved) or all(d < 0 for d in moved)
        case Adjacency.MOVED:
            return sorted(moved) == [-sensitivity, sensitivity]
        case Adjacency.L1 | Adjacency.L2 | Adjacency.ANY:
            return False


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_pairs_are_neighbours_and_differ(adjacency: Adjacency) -> None:
    for length in range(1, 13):
        found = pairs(adjacency, 2.5, [length])
        assert found or (adjacency, length) == (Adjacency.MOVED, 1)
        for pair in found:
            assert len(pair.first) == len(pair.second) == length
            assert pair.first != pair.second
            assert are_neighbours(adjacency, 2.5, pair), pair


LENGTHS = [1, 2, 2, 5]


def test_no_pair_comes_twice() -> None:
    found = [
        frozenset([tuple(pair.first), tuple(pair.second)]) for pair in pairs(Adjacency.ALL, 1.0, [1, 2, 2, 5])
    ]
    assert len(found) == len(set(found))


def test_every_combination_of_varied_arguments() -> None:
    some = pairs(Adjacency.ONE, 1.0, [3])
    found = varied(some, {"T": ["0", "1"], "N": ["1", "2", "3"]})
    assert len(found) == 6 * len(some)
    assert {pair.settings for pair in found} == {(("T", T), ("N", N)) for T in "01" for N in "123"}
