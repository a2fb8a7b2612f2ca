"""Pairs of neighbouring inputs that are worth trying (Table 4-1 of the dissertation)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from aligncheck.language.adjacencies import Adjacency

ADJACENCIES = tuple(each for each in Adjacency if each.row.patterns)
"""Those of which there are patterns."""


@dataclass(frozen=True, slots=True)
class InputPair:
    """Two neighbouring inputs, D and D', and the name of their pattern.

    `settings` are arguments of the function that were varied for this pair, as text by name; `offered` are
    those that a search has chosen for it, where the function has such parameters.
    """

    pattern: str
    first: Any
    second: Any
    settings: tuple[tuple[str, str], ...] = ()
    offered: tuple[tuple[str, str], ...] = ()


def pairs(adjacency: Adjacency, sensitivity: float, lengths: Sequence[int]) -> tuple[InputPair, ...]:
    """The patterns that respect an adjacency, each once for every length, equal ones left out.

    Answers are lists of floats, in the unit of the sensitivity; lengths must be at least 1.

    Source: dissertation, Table 4-1 and section 4.3.4 (lengths 5 and 10). "All Above & All Below" is two
    patterns here. For `monotone`, where the table has none of its own, half of the answers rise or fall; for
    `moved` one rises and another falls; for `two` these and two alike.
    """
    found: dict[tuple[tuple[float, ...], tuple[float, ...]], InputPair] = {}
    for length in lengths:
        for pattern, first, second in _patterns(length):
            if pattern not in adjacency.row.patterns:
                continue
            D, D_prime = ([sensitivity * entry for entry in entries] for entries in (first, second))
            key = (tuple(D), tuple(D_prime))
            if D_prime != D and (key[1], key[0]) not in found:
                found.setdefault(key, InputPair(pattern, D, D_prime))
    return tuple(found.values())


def varied(some: Sequence[InputPair], values: Mapping[str, Sequence[str]]) -> tuple[InputPair, ...]:
    """Each pair with each combination of the values that arguments are to take."""
    combinations = list(itertools.product(*(values[name] for name in values)))
    return tuple(
        InputPair(pair.pattern, pair.first, pair.second, tuple(zip(values, chosen, strict=True)))
        for chosen in combinations
        for pair in some
    )


_Pattern: TypeAlias = tuple[str, list[float], list[float]]


def _patterns(length: int) -> Iterator[_Pattern]:
    ones, half = [1.0] * length, length // 2
    yield "one above", ones, [2.0, *ones[1:]]
    yield "one below", ones, [0.0, *ones[1:]]
    if length >= 2:
        yield "two above", ones, [2.0, 2.0, *ones[2:]]
        yield "two below", ones, [0.0, 0.0, *ones[2:]]
        yield "one above, one below", ones, [2.0, 0.0, *ones[2:]]
        yield "one moved", [1.0, *[0.0] * (length - 1)], [0.0, 1.0, *[0.0] * (length - 2)]
    yield "one above, rest below", ones, [2.0, *[0.0] * (length - 1)]
    yield "one below, rest above", ones, [0.0, *[2.0] * (length - 1)]
    yield "half half", ones, [0.0] * (length - half) + [2.0] * half
    yield "half above", ones, [1.0] * (length - half) + [2.0] * half
    yield "half below", ones, [1.0] * (length - half) + [0.0] * half
    yield "all above", ones, [2.0] * length
    yield "all below", ones, [0.0] * length
    # Half of the answers, rounded down, fall while the rest rise; Table 4-2 has the same form at length 10.
    yield "x shape", [1.0] * half + [0.0] * (length - half), [0.0] * half + [1.0] * (length - half)
