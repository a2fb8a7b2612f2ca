"""Which event tells two inputs apart best (Algorithm 3 of the dissertation).

Whole families of events are counted at once: each run falls into one cell of a column, and the counts of all
intervals of cells come from one histogram. A candidate's score is how many standard deviations the thinned
count lies above the other one; ranked by it, candidates stand about as by their p-values, of which only that
of the final test is reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aligncheck.statistical.features import Column, columns_of
from aligncheck.statistical.output_events import AnyOf, Event
from aligncheck.statistical.outputs import Outputs
from aligncheck.statistical.plan import Bar

Counts: TypeAlias = NDArray[np.int64]
Places: TypeAlias = NDArray[np.intp]

LEAST_SHARE = 0.001
"""An event must be seen in this share of the runs, times e^eps (footnote 3 of section 4.3.3)…"""

_ENOUGH_SHARE = 0.25
"""…or in this one: for large eps the product exceeds all runs."""

_MOST_KEYS = 10
_MOST_NUMBERS = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """An event that is expected to be more than e^eps times as likely on one input as on the other.

    `swapped` says that it is the second input on which it is likelier; `score` is in standard deviations.
    """

    score: float
    event: Event
    swapped: bool


@dataclass(frozen=True, slots=True)
class _Family:
    """Candidates: how often each was seen on either input, and what the one at a place of this list is."""

    first: Counts
    second: Counts
    event: Callable[[int], Event]


def choose(first: Outputs, second: Outputs, levels: Sequence[Bar]) -> list[Choice | None]:
    """For each level the most promising event; None where none is frequent enough.

    `first` and `second` are the outputs of equally many runs on either input.
    """
    best: list[Choice | None] = [None] * len(levels)
    for family in _families(first, second, levels):
        total = family.first + family.second
        for index, bar in enumerate(levels):
            # With a delta, what is never seen on the other input may break the claim.
            eps = 0.0 if bar[1] else bar[0]
            share = min(math.log(LEAST_SHARE) + eps, math.log(_ENOUGH_SHARE))
            floor = math.exp(share) * first.runs
            frequent = np.flatnonzero(total >= floor)
            if not len(frequent):
                continue
            c1, c2 = family.first[frequent], family.second[frequent]
            for swapped in (False, True):
                scores = _scores(c2, c1, first.runs, bar) if swapped else _scores(c1, c2, first.runs, bar)
                at = int(np.argmax(scores))
                leader = best[index]
                if leader is None or scores[at] > leader.score:
                    best[index] = Choice(float(scores[at]), family.event(int(frequent[at])), swapped)
    return best


def _scores(c1: Counts, c2: Counts, n: int, bar: Bar) -> NDArray[np.float64]:
    """Counts vary like binomial ones, and so does what a delta adds to the second (see `log_pvalue`); 1 is
    added so that empty counts have a score as well.
    """
    eps, delta = bar
    thinned, more = c1 * math.exp(-eps), n * delta * math.exp(-eps)
    variance = thinned * (1 - thinned / n) + c2 * (1 - c2 / n) + 1.0 + more
    scores: NDArray[np.float64] = (thinned - c2 - more) / np.sqrt(variance)
    return scores


def _families(first: Outputs, second: Outputs, levels: Sequence[Bar]) -> Iterator[_Family]:
    """The search space by the type of the outputs (section 4.3.3, cases 1 to 5); where there is a delta,
    unions of categories as well.
    """
    united = any(delta for _, delta in levels)
    columns = _distinct(columns_of(first, second, singles=united))
    for column in columns:
        yield _intervals(column)
        if united and not column.ordered:
            yield _unions(column, first.runs, levels)
    keys = [column for column in columns if column.few][:_MOST_KEYS]
    spread = [column for column in columns if not column.few and column.crossed][:_MOST_NUMBERS]
    for key in keys:  # case 5: the cross product
        for column in spread:
            yield _crossed(key, column)


def _distinct(columns: Sequence[Column]) -> list[Column]:
    """Without those that part the runs as an earlier one does: the last number may be the only one."""
    found: list[Column] = []
    for column in columns:
        alike = (
            other.size == column.size
            and other.ordered == column.ordered
            and all(np.array_equal(a, b) for a, b in zip(other.cells, column.cells, strict=True))
            for other in found
        )
        if not any(alike):
            found.append(column)
    return found


def _intervals(column: Column) -> _Family:
    """All intervals of cells, or single cells where their order means nothing."""
    counts1, counts2 = (np.bincount(cells[cells >= 0], minlength=column.size) for cells in column.cells)
    if not column.ordered:
        return _Family(counts1, counts2, lambda at: (column.condition(at, at + 1),))
    starts, stops = _ranges(column.size)

    def event(at: int) -> Event:
        return (column.condition(int(starts[at]), int(stops[at])),)

    return _Family(_between(counts1, starts, stops), _between(counts2, starts, stops), event)


def _unions(column: Column, n: int, levels: Sequence[Bar]) -> _Family:
    """For each level the cells that are plainly more than e^eps times as likely on an input as on the other:
    no other event exceeds it by more.
    """
    counts1, counts2 = (np.bincount(cells[cells >= 0], minlength=column.size) for cells in column.cells)
    chosen = [
        tuple(np.flatnonzero(_scores(here, there, n, (eps, 0.0)) > 1).tolist())
        for eps, delta in levels
        if delta
        for here, there in ((counts1, counts2), (counts2, counts1))
    ]

    def event(at: int) -> Event:
        return (AnyOf(tuple(column.condition(cell, cell + 1) for cell in chosen[at])),)

    sums = [np.array([counts[list(cells)].sum() for cells in chosen]) for counts in (counts1, counts2)]
    return _Family(sums[0], sums[1], event)


def _crossed(key: Column, column: Column) -> _Family:
    """One cell of a discrete column together with an interval of another."""
    starts, stops = _ranges(column.size)
    tables = []
    for keys, cells in zip(key.cells, column.cells, strict=True):
        there = np.flatnonzero((keys >= 0) & (cells >= 0))
        table = np.bincount(keys[there] * column.size + cells[there], minlength=key.size * column.size)
        tables.append(_between(table.reshape(key.size, column.size), starts, stops).ravel())

    def event(at: int) -> Event:
        which, interval = divmod(at, len(starts))
        return (
            key.condition(which, which + 1),
            column.condition(int(starts[interval]), int(stops[interval])),
        )

    return _Family(tables[0], tables[1], event)


@lru_cache(maxsize=256)
def _ranges(size: int) -> tuple[Places, Places]:
    """All (start, stop) with 0 <= start < stop <= size."""
    starts, stops = np.triu_indices(size + 1, 1)
    return starts, stops


def _between(cells: Counts, starts: Places, stops: Places) -> Counts:
    """How many lie in the cells from each start up to its stop, along the last axis."""
    sums = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1), dtype=np.int64)
    np.cumsum(cells, axis=-1, out=sums[..., 1:])
    return np.asarray(sums[..., stops] - sums[..., starts])
