"""What is looked at in the outputs of two inputs: features of each run, put into cells."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, starmap
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aligncheck.statistical import output_events
from aligncheck.statistical.outputs import ABSENT, NUMBER, Numbers, Outputs

Cells: TypeAlias = NDArray[np.intp]

_PREVIEW = 4_096
"""Runs of either input from which cells are made."""

_LONG_PREVIEW = 20_000
"""Runs from which is told what either input favours."""

_FEW = 24
"""A feature with at most so many values has a cell for each value."""

_EXACT = 2.0**52
"""Below this, floats tell neighbouring whole numbers apart."""

_STEPS = 4_096
"""Steps of a table by which cells are found."""

_UNEVEN = 1e6
"""How many times as far apart as usual the outermost ends may lie for such a table."""

_MOST_PLACES = 64
_MOST_DIFFERENCES = 8
_FEW_PLACES = 4
_MOST_CATEGORIES = 24
_MOST_OUTPUTS = 200

_TAILS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075)
_SHARES = np.array([*_TAILS, *np.linspace(0.1, 0.9, 25), *(1 - share for share in reversed(_TAILS))])


@dataclass(frozen=True, slots=True)
class Column:
    """Each run's cell, on either input.

    Attributes:
        cells: two arrays, one entry per run; -1 for a run in no cell.
        size: how many cells there are.
        condition: the event of being in the cells from one place up to, not including, another.
        ordered: intervals of cells mean something; else only single cells do.
        few: a cell for each value: fit to be combined with a column of numbers.
        crossed: a column of numbers that is worth combining with others.
    """

    cells: tuple[Cells, Cells]
    size: int
    condition: Callable[[int, int], output_events.Condition]
    ordered: bool
    few: bool
    crossed: bool


def columns_of(first: Outputs, second: Outputs, *, singles: bool = False) -> list[Column]:
    """The columns for the outputs of runs on two inputs, by their type (section 4.3.3, cases 1 to 5).

    Each list's length, the count of each category, Hamming distances to the most frequent output of either
    input and to what either favours at each place (the dissertation takes the output without noise, which a
    black box does not give), whole outputs (`singles`: of one entry, too), each number, and the average,
    least, greatest and last one.
    """
    both = (first, second)
    columns: list[Column] = []
    if (singles or max(first.width, second.width) > 1) and _is_discrete(both):
        columns.append(_whole_outputs(first, second))
    for feature in _discrete_features(both):
        columns += _column(feature, both, crossed=False)
    numeric = list(_numeric_features(both))
    entries = sum(isinstance(feature, output_events.Entry) for feature in numeric)
    for feature in numeric:
        columns += _column(
            feature,
            both,
            crossed=entries <= _FEW_PLACES
            or not isinstance(feature, output_events.Entry | output_events.Difference),
        )
    return columns


def _column(
    feature: output_events.Feature, both: tuple[Outputs, Outputs], *, crossed: bool
) -> Iterator[Column]:
    """The feature's column, if the feature takes more than one value."""
    values = (output_events.feature_values(feature, both[0]), output_events.feature_values(feature, both[1]))
    there = [~np.isnan(x) for x in values]
    some = np.concatenate([x[:_PREVIEW][t[:_PREVIEW]] for x, t in zip(values, there, strict=True)])
    if not len(some):
        return
    single, counts = np.unique(some, return_counts=True)
    few = len(single) <= _FEW
    lows, highs = _bounds_of_values(single) if few else _bounds_of_ends(some, single, counts)
    if len(lows) < 2 and bool(np.all(there[0])) and bool(np.all(there[1])):
        return
    small = few and abs(single[0]) < _EXACT
    counting = small and bool(np.array_equal(single, math.floor(single[0]) + np.arange(len(single))))

    def cells_of(x: Numbers) -> Cells:
        if counting:  # quicker than a search
            return np.asarray(np.clip(np.floor(x - single[0]), 0, len(single) - 1), dtype=np.intp)
        return locate(x)

    locate = _locator(np.array(lows[1:]))
    cells = []
    for x, t in zip(values, there, strict=True):
        found = np.full(len(x), -1, dtype=np.intp)
        if t.all():
            found = cells_of(x)
        else:
            found[t] = cells_of(x[t])
        cells.append(found)
    if few:
        lows, highs = [-math.inf, *lows[1:]], [*highs[:-1], math.inf]

    def condition(start: int, stop: int) -> output_events.Condition:
        return output_events.Within(feature, lows[start], highs[stop - 1])

    yield Column((cells[0], cells[1]), len(lows), condition, ordered=True, few=few, crossed=crossed)


def _locator(ends: Numbers) -> Callable[[Numbers], Cells]:
    """How many ends are at most x: by a search, or where ends are not too uneven by a table, which is faster.

    By the table, an x within rounding of an end may be put on its other side.
    """
    width = float(ends[-1] - ends[0]) if len(ends) else 0.0
    if not 0 < width < _UNEVEN * float(np.median(np.diff(ends))):
        return lambda x: np.asarray(np.searchsorted(ends, x, side="right"), dtype=np.intp)
    start, step = ends[0], width / _STEPS
    # Steps 0 and _STEPS + 1 lie outside of the ends. What ends below a step is counted at once…
    edges = start + step * np.arange(-1, _STEPS + 1)
    below = np.searchsorted(ends, edges, side="right")
    below[0] = 0
    most = int(np.diff(below, append=len(ends)).max())
    following = np.append(ends, math.inf)

    def located(x: Numbers) -> Cells:
        found: Cells = below[np.clip((x - start) / step + 1, 0, _STEPS + 1).astype(np.intp)]
        for _ in range(most):  # …then come the ends within it
            found += x >= following[found]
        return found

    return located


def _bounds_of_values(single: Numbers) -> tuple[list[float], list[float]]:
    """A cell for each value. What lies between two values (none was seen there) is counted with the lower."""
    lows: list[float] = single.tolist()
    highs: list[float] = np.nextafter(single, math.inf).tolist()
    return lows, highs


def _bounds_of_ends(
    some: Numbers, single: Numbers, counts: NDArray[np.intp]
) -> tuple[list[float], list[float]]:
    """Cells between rounded quantiles; a value that is often repeated has a cell of its own."""
    quantiles = np.unique(np.sort(some)[np.round(_SHARES * (len(some) - 1)).astype(np.int64)])
    gaps = np.diff(quantiles, prepend=-math.inf, append=math.inf)
    ends = [_rounded(*pair) for pair in zip(quantiles, np.minimum(gaps[:-1], gaps[1:]) / 4, strict=True)]
    repeated = single[counts >= max(8, 0.004 * len(some))][:_FEW]
    atoms = {*repeated.tolist(), *np.nextafter(repeated, math.inf).tolist()}
    found = sorted({*ends, *atoms})
    return [-math.inf, *found], [*found, math.inf]


def _rounded(value: float, width: float) -> float:
    """`value` to a multiple of the greatest of 1, 2, 5 times a power of ten that is at most `width`."""
    if not 0 < width < math.inf:
        return float(value)
    power = 10.0 ** math.floor(math.log10(width))
    unit = max((step * power for step in (1, 2, 5) if step * power <= width), default=power)
    return float(f"{np.round(value / unit) * unit:.12g}")


# --- features -----------------------------------------------------------------------------------------------


def _numeric_features(both: tuple[Outputs, Outputs]) -> Iterator[output_events.Feature]:
    """Case 3: each entry, differences (of any two if they are few, else of neighbours), and the average,
    least, greatest and last of several.
    """
    if all(outputs.numbers is None for outputs in both):
        return
    width = min(max(outputs.width for outputs in both), _MOST_PLACES)
    places = [place for place in range(width) if any(_has_number(outputs, place) for outputs in both)]
    yield from (output_events.Entry(place) for place in places)
    few = len(places) <= _FEW_PLACES  # labels may stand between numbers: neighbours are numbers
    yield from starmap(
        output_events.Difference,
        combinations(places, 2) if few else pairwise(places[: _MOST_DIFFERENCES + 1]),
    )
    overall = output_events.Overall
    if len(places) > 1:
        if max(_numbers_of_one_run(outputs) for outputs in both) > 1:
            yield from (overall.AVERAGE, overall.LEAST, overall.GREATEST)
        if any(outputs.codes is not None for outputs in both):
            yield overall.LAST


def _has_number(outputs: Outputs, place: int) -> bool:
    if outputs.numbers is None or place >= outputs.width:
        return False
    return outputs.codes is None or bool((outputs.codes[:, place] == NUMBER).any())


def _numbers_of_one_run(outputs: Outputs) -> int:
    """At most."""
    if outputs.numbers is None:
        return 0
    return int((~np.isnan(outputs.numbers[:_PREVIEW])).sum(axis=1).max())


def _discrete_features(both: tuple[Outputs, Outputs]) -> Iterator[output_events.Feature]:
    """Cases 1 and 2: lengths, counts of categories, distances to frequent outputs."""
    labels = tuple(dict.fromkeys((*both[0].labels, *both[1].labels)))
    ragged = any(outputs.codes is not None and bool((outputs.codes == ABSENT).any()) for outputs in both)
    if ragged or both[0].width != both[1].width:
        yield output_events.Overall.LENGTH
    yield from (output_events.Count(label) for label in labels[:_MOST_CATEGORIES])
    if labels and max(outputs.width for outputs in both) > 1:
        references = (*map(_most_frequent, both), _favoured(*both), _favoured(*reversed(both)))
        yield from (output_events.Distance(reference) for reference in dict.fromkeys(references))


def _favoured(first: Outputs, second: Outputs) -> tuple[str | None, ...]:
    """At each place what stands there more often in the first outputs than in the second, by the most."""
    kinds: tuple[str | None, ...] = (*dict.fromkeys((*first.labels, *second.labels)), None)
    shares = [[_shares(outputs, kind) for kind in kinds[-_MOST_CATEGORIES:]] for outputs in (first, second)]
    width = min(first.width, second.width, _MOST_PLACES)
    favours = np.array([[x[:width] - y[:width]] for x, y in zip(*shares, strict=True)])[:, 0]
    return tuple(kinds[-_MOST_CATEGORIES:][place] for place in np.argmax(favours, axis=0))


def _shares(outputs: Outputs, kind: str | None) -> Numbers:
    """At each place, the share of the first runs in which a category, or for None a number, stands there."""
    if outputs.codes is None:
        return np.full(outputs.width, float(kind is None))
    if kind is not None and kind not in outputs.labels:
        return np.zeros(outputs.width)
    code = NUMBER if kind is None else outputs.labels.index(kind)
    return np.asarray((outputs.codes[:_LONG_PREVIEW] == code).mean(axis=0))


def _most_frequent(outputs: Outputs) -> tuple[str | None, ...]:
    if outputs.codes is None:
        return (None,) * outputs.width
    some = outputs.codes[:_PREVIEW]
    keys, _ = _discrete_keys((dataclasses.replace(outputs, runs=len(some), numbers=None, codes=some),) * 2)
    _, at, counts = np.unique(keys[0], return_index=True, return_counts=True)
    row = some[at[np.argmax(counts)]]
    return tuple(None if code == NUMBER else outputs.labels[code] for code in row if code != ABSENT)


# --- whole outputs ------------------------------------------------------------------------------------------


def _is_discrete(both: tuple[Outputs, Outputs]) -> bool:
    """Whether outputs have a discrete part: categories, several lengths, or small integers."""
    if any(outputs.codes is not None for outputs in both):
        return True
    return any(_is_small_integer(place, both) for place in range(min(both[0].width, _MOST_PLACES)))


def _whole_outputs(first: Outputs, second: Outputs) -> Column:
    """The most frequent outputs (of the first runs) by their discrete part: other numbers are free."""
    keys, small = _discrete_keys((first, second))
    preview = np.concatenate([found[:_PREVIEW] for found in keys])
    single, at, counts = np.unique(preview, return_index=True, return_counts=True)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST_OUTPUTS])
    known, at = single[frequent], at[frequent]

    def cells(found: NDArray[np.uint64]) -> Cells:
        place = np.searchsorted(known[1:], found, side="right")
        return np.where(known[place] == found, place, -1)

    def condition(start: int, stop: int) -> output_events.Condition:
        run, of_first = int(at[start]), min(_PREVIEW, first.runs)
        outputs, row = (first, run) if run < of_first else (second, run - of_first)
        return output_events.WholeOutput(tuple(_entries(outputs, row, small)))

    both = (cells(keys[0]), cells(keys[1]))
    return Column(both, len(frequent), condition, ordered=False, few=len(frequent) <= _FEW, crossed=False)


def _entries(outputs: Outputs, row: int, small: frozenset[int]) -> Iterator[str | float | None]:
    for place in range(outputs.width):
        code = NUMBER if outputs.codes is None else int(outputs.codes[row, place])
        if code == ABSENT:
            continue
        if code != NUMBER:
            yield outputs.labels[code]
        elif place in small and outputs.numbers is not None:
            yield float(outputs.numbers[row, place])
        else:
            yield None


def _discrete_keys(both: tuple[Outputs, Outputs]) -> tuple[list[NDArray[np.uint64]], frozenset[int]]:
    """One number per run for its discrete part, and the places whose numbers belong to that.

    Sums of a random number for each place and what stands there (Zobrist 1970): different parts have the same
    sum with a probability of about 2^-64.
    """
    width = max(outputs.width for outputs in both)
    labels = tuple(dict.fromkeys((*both[0].labels, *both[1].labels)))
    small = frozenset(p for p in range(min(width, _MOST_PLACES)) if _is_small_integer(p, both))
    generator = np.random.Generator(np.random.PCG64(1))
    table = generator.integers(1, 2**63, size=(width, len(labels) + 3), dtype=np.uint64)
    # Each row: a factor for integers; then the categories; at its end, where negative codes point, the rest.
    found = []
    for outputs in both:
        columns = [*(1 + labels.index(label) for label in outputs.labels), len(labels) + 1, len(labels) + 2]
        keys: NDArray[np.uint64] = np.zeros(outputs.runs, dtype=np.uint64)
        for place in range(width):
            own = table[place, columns]
            if place >= outputs.width:
                keys += own[ABSENT]
                continue
            keys += (
                own[NUMBER] if outputs.codes is None else np.take(own, outputs.codes[:, place], mode="wrap")
            )
            if place in small and outputs.numbers is not None:
                values = outputs.numbers[:, place]
                keys += np.where(np.isnan(values), 0.0, values).astype(np.uint64) * (2 * table[place, 0] + 1)
        found.append(keys)
    return found, small


def _is_small_integer(place: int, both: tuple[Outputs, Outputs]) -> bool:
    """Whether the numbers at a place are counting numbers, most of them small."""
    for outputs in both:
        if outputs.numbers is None or place >= outputs.width:
            continue
        values = outputs.numbers[:, place]
        values = values[~np.isnan(values)]
        if not bool(np.all(values[:_PREVIEW] == np.floor(values[:_PREVIEW]))):
            return False
        if len(values) and not bool(
            np.all(values >= 0)
            and np.all(values <= 1e6)
            and np.all(values == np.floor(values))
            and len(np.unique(values[:_PREVIEW])) <= _FEW
        ):
            return False
    return True
