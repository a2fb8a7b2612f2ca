"""Selections: how they are made of candidates, and what it means that one begins with certain entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from aligncheck.refutation.irrationals import sign
from aligncheck.refutation.symbolic import Affine, Contender, Known, Linear, SymbolicSelection, minus, times


def differ(one: Linear, other: Linear) -> bool:
    """Whether two numbers are not the same."""
    difference = minus(one, other)
    return isinstance(difference, Affine) or sign(difference) != 0


def selection_of(
    found: list[tuple[int, Linear]],
    most: int | None,
    direction: int,
    threshold: Linear | None = None,
    strict: bool = False,
) -> SymbolicSelection:
    """The selection among found values; `direction` -1 takes the least first."""
    candidates = tuple(Contender(index, times(value, direction)) for index, value in found)
    key = tuple((c.index, _key(c.value)) for c in candidates)
    bound = (most, strict, _key(threshold))
    return SymbolicSelection(
        (key, bound if threshold is not None else None), candidates, most, threshold, strict, direction
    )


def first_of(selection: SymbolicSelection) -> Contender:
    """The first of candidates without noise."""
    return max(selection.candidates, key=lambda candidate: candidate.value)


def value_at(selection: SymbolicSelection, index: int) -> Linear:
    """The value of the candidate with an index, as the selection carries it."""
    return next(candidate.value for candidate in selection.candidates if candidate.index == index)


# --- order ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """`above - below >= 0`, or > 0 where it is strict."""

    above: Linear
    below: Linear
    strict: bool


def edges(selection: SymbolicSelection, entries: tuple[int, ...], length: int | None) -> Iterator[Edge]:
    """What it means that a selection begins with these entries.

    A value comes before another one if it is greater, or equal with a lower index: a total order, so it is
    enough to compare neighbours, and the last entry with what is left.
    """
    values = {candidate.index: candidate.value for candidate in selection.candidates}
    for above, below in pairwise(entries):
        yield Edge(values[above], values[below], above > below)
    left = [index for index in values if index not in entries]
    threshold = selection.threshold
    if threshold is None:
        if entries:
            last = entries[-1]
            yield from (Edge(values[last], values[index], last > index) for index in left)
        return
    if entries:
        yield Edge(values[entries[-1]], threshold, selection.strict)
    if length is None:
        return
    if entries and length == selection.most:
        last = entries[-1]
        yield from (Edge(values[last], values[index], last > index) for index in left)
    elif selection.most != 0:
        yield from (Edge(threshold, values[index], not selection.strict) for index in left)


def reduced(edges: list[Edge], known: Known) -> Iterable[Edge]:
    """The edges without those that others imply: what is left is a chain or a tree wherever one is enough.

    Sound because an edge is left out only if a path of edges that stay leads from its upper to its lower end,
    and, where strictness matters, a strict edge is on it.
    """
    keys = [(_key(edge.above), _key(edge.below)) for edge in edges]
    nodes_of: dict[object, list[int]] = {}
    for number, (above, _) in enumerate(keys):
        nodes_of.setdefault(above, []).append(number)
    kept = set(range(len(edges)))
    if len({above for above, _ in keys}) < 2:
        return edges
    for number, (above, below) in enumerate(keys):
        kept.discard(number)
        lattice = _on_lattice(edges[number], known)
        if not _reaches(above, below, nodes_of, keys, kept, edges, edges[number].strict and lattice):
            kept.add(number)
    return [edges[number] for number in sorted(kept)]


def _key(value: Linear) -> object:
    return value.key if isinstance(value, Affine) else str(value)


def _on_lattice(edge: Edge, known: Known) -> bool:
    difference = minus(edge.above, edge.below)
    return isinstance(difference, Affine) and all(map(known.is_lattice, difference.coefficients))


def _reaches(
    start: object,
    goal: object,
    nodes_of: Mapping[object, list[int]],
    keys: list[tuple[object, object]],
    kept: set[int],
    edges: list[Edge],
    strict: bool,
) -> bool:
    seen: set[tuple[object, bool]] = set()
    waiting = [(start, not strict)]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        here, enough = at
        if here == goal and enough:
            return True
        waiting += [
            (keys[number][1], enough or edges[number].strict)
            for number in nodes_of.get(here, ())
            if number in kept
        ]
    return False
