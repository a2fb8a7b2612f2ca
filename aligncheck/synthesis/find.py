"""The search for an alignment: candidates in a fixed order, held against stored runs, the rest given to
`judge`.

An alignment that violates a condition on one pair of runs cannot be verified, so runs only save proofs: what
is found is the first in the order that is verified. How much is tried is counted, not timed.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from aligncheck.effort import Effort
from aligncheck.judge import Judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import has_densities
from aligncheck.search.attempt import refuse_contradiction
from aligncheck.search.table_lines import all_as_cells
from aligncheck.synthesis import runs
from aligncheck.synthesis.dearest import ONE_PROOF
from aligncheck.synthesis.put_in import with_alignment
from aligncheck.synthesis.reading import ONE, ProgramReading
from aligncheck.synthesis.runs import SIZE, StoredPair, pair_of
from aligncheck.synthesis.templates import LineChoice, Lines, candidates, exchanges
from aligncheck.verdict import AlignmentFails, Verdict, Verified

_FEW = 300
_GROUPS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """How much is tried at most: alignments, and proofs; how many pairs of runs are stored; whether the runs
    that failed proofs come with are used, too; how many steps of an `Effort` it takes, if there is a bound.
    """

    alignments: int = 30_000
    proofs: int = 40
    pairs: int = SIZE
    learns: bool = True
    steps: int | None = None


FULL = SearchEffort()
SHORT = SearchEffort(alignments=1_000, proofs=4, pairs=80, learns=False, steps=6_000)
"""For a hint beside a verdict."""


@dataclass
class SearchTally:
    """What a search has done."""

    alignments: int = 0
    proofs: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class FoundAlignment:
    """A verified alignment, and the text of the spec with it."""

    items: Lines
    source: Source
    verdict: Verified
    tally: SearchTally


@dataclass(frozen=True)
class NoAlignment:
    """None of those that were tried is verified, which says nothing of privacy. `ended`: why no more were
    tried.
    """

    tally: SearchTally
    ended: str


LATE = "the time was over"


class _Over(Exception):  # noqa: N818 - the end of the search, no error
    pass


def find_alignment(
    source: Source, limit: Effort, effort: SearchEffort = FULL
) -> FoundAlignment | NoAlignment:
    """An alignment of a spec, whatever its own `align` section says.

    Raises SpecError for what is no spec, for calls of what is not VERIFIED, and, where nothing is found, for
    declarations that no inputs satisfy.
    """
    bare = with_alignment(source, ())
    mechanism = check(bare, parse(bare))
    start = time.monotonic()
    search = _AlignmentSearch(bare, mechanism, limit, effort)
    try:
        found = search.run()
    except _Over as over:
        found = NoAlignment(search.tally, str(over))
    search.tally.seconds = time.monotonic() - start
    if isinstance(found, NoAlignment):
        refuse_contradiction(mechanism, bare)
    return found


class _AlignmentSearch:
    def __init__(self, source: Source, mechanism: n.Mechanism, limit: Effort, effort: SearchEffort) -> None:
        self.source = source
        self.effort = effort
        self.tally = SearchTally()
        self.spent = limit.part(steps=effort.steps)
        self.judge = Judge(math.inf, explain=False, search=effort.learns, limit=self.spent)
        self.mechanism, _ = self.judge.with_callees(mechanism, source)

    def run(self) -> FoundAlignment | NoAlignment:
        if has_densities(self.mechanism.body):
            return NoAlignment(self.tally, "it draws by densities, which have no alignment")
        reading = ProgramReading(self.mechanism)
        self.names = list(reading.sites)
        if not self.names and not reading.calls:
            return NoAlignment(self.tally, "it draws no noise")
        self.options = [list(self._legal(candidates(reading, reading.sites[name]))) for name in self.names]
        self.pairs = list(islice(runs.pairs(self.mechanism), self.effort.pairs))
        one_way = [group for group in reading.groups if group.adjacency.one_way and group.vector]
        whole = list(exchanges(reading)) if any(s.family.upward for s in reading.sites.values()) else []
        if one_way or whole:
            found = self._together(_FEW) or self._whole(whole)
            found = found or (self._each_way(one_way[0].names[0]) if one_way else None)
        else:
            found = None
        return found or self._together(None) or NoAlignment(self.tally, "")

    def _legal(self, options: list[LineChoice]) -> Iterator[LineChoice]:
        """Those that the language allows."""
        for each in options:
            try:
                check(self.source, replace(self.mechanism, align=each.items))
            except SpecError:
                continue
            yield each

    # --- orders -------------------------------------------------------------------------------------------

    def _combined(self) -> Iterator[tuple[int, ...]]:
        """One candidate for each variable, by their ranks together."""
        start = (0,) * len(self.options)
        heap = [(self._rank(start), start)]
        seen = {start}
        while heap:
            _, chosen = heapq.heappop(heap)
            yield chosen
            for at, number in enumerate(chosen):
                if number + 1 < len(self.options[at]):
                    other = (*chosen[:at], number + 1, *chosen[at + 1 :])
                    if other not in seen:
                        seen.add(other)
                        heapq.heappush(heap, (self._rank(other), other))

    def _rank(self, chosen: tuple[int, ...]) -> int:
        return sum(options[number].rank for options, number in zip(self.options, chosen, strict=True))

    def _items(self, chosen: tuple[int, ...]) -> Lines:
        return tuple(
            item
            for options, number in zip(self.options, chosen, strict=True)
            for item in options[number].items
        )

    def _together(self, most: int | None) -> FoundAlignment | None:
        chosen = islice(self._combined(), most)
        return self._first(self._items(each) for each in chosen if self._passes(each, self.pairs))

    def _whole(self, whole: list[Lines]) -> FoundAlignment | None:
        def breaks(items: Lines) -> bool:
            self._count()
            return any(self._breaks(items, pair) for pair in self.pairs)

        return self._first(items for items in whole if not breaks(items))

    def _first(self, passing: Iterator[Lines]) -> FoundAlignment | None:
        found = (self._proved(items, self.pairs) for items in passing)
        return next((each for each in found if isinstance(each, FoundAlignment)), None)

    def _each_way(self, name: str) -> FoundAlignment | None:
        """One alignment where all answers go up and another where they go down: found apart, proved
        together.
        """
        pools = [[p for p in self.pairs if _rises(p, name)], [p for p in self.pairs if not _rises(p, name)]]
        orders = [self._combined(), self._combined()]
        passed: list[list[tuple[int, ...]]] = [[], []]
        tried: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
        for size in _GROUPS:
            for side in (0, 1):
                while len(passed[side]) < size and (chosen := next(orders[side], None)) is not None:
                    if self._passes(chosen, pools[side]):
                        passed[side].append(chosen)
            both = [(up, down) for up in passed[0] for down in passed[1] if (up, down) not in tried]
            both.sort(key=lambda each: self._rank(each[0]) + self._rank(each[1]))
            for up, down in both:
                tried.add((up, down))
                if up not in passed[0] or down not in passed[1]:
                    continue
                test = n.Compare("<=", n.Name(name), n.Name(name, True))
                split = n.CaseSplit((n.Case(test, self._items(up)),), self._items(down))
                found = self._proved((split,), None)
                if isinstance(found, FoundAlignment):
                    return found
                if found is not None:
                    side = 0 if _rises(found, name) else 1
                    pools[side].insert(0, found)
                    passed[side] = [each for each in passed[side] if self._passes(each, pools[side])]
        return None

    # --- runs ---------------------------------------------------------------------------------------------

    def _count(self) -> None:
        self.tally.alignments += 1
        if self.spent.is_late:
            raise _Over(LATE)
        if self.tally.alignments > self.effort.alignments or self.spent.is_over:
            raise _Over("so many are tried at most")

    def _passes(self, chosen: tuple[int, ...], pairs: list[StoredPair]) -> bool:
        """Whether no stored pair rules a choice out; what ruled one out is asked earlier the next time."""
        self._count()
        for place, pair in enumerate(pairs):
            on = zip(self.names, self.options, chosen, strict=True)
            key = tuple(
                self._active(options[number], pair) for name, options, number in on if name in pair.drawn
            )
            if key not in pair.memo:
                pair.memo[key] = self._breaks(self._items(chosen), pair)
            if pair.memo[key]:
                pairs.insert(place // 2, pairs.pop(place))
                return False
        return True

    def _active(self, candidate: LineChoice, pair: StoredPair) -> Lines:
        """The lines that may be on in a pair of runs: lines whose guard holds at no draw move nothing
        there.
        """
        return tuple(item for item in candidate.items if self._may_be_on(item, pair))

    def _may_be_on(self, item: n.AlignItem, pair: StoredPair) -> bool:
        if not isinstance(item, n.Shift) or item.guard is None:
            return True
        key = (item.name, item.guard)
        if key not in pair.memo:
            pair.memo[key] = pair.ever(
                replace(self.mechanism, align=(replace(item, op="+=", value=ONE),)), item.name
            )
        return pair.memo[key]

    def _breaks(self, items: Lines, pair: StoredPair) -> bool:
        self.spent.spend(1)
        return pair.breaks(replace(self.mechanism, align=items))

    # --- proofs -------------------------------------------------------------------------------------------

    def _proved(self, items: Lines, pairs: list[StoredPair] | None) -> FoundAlignment | StoredPair | None:
        """The text with this alignment, if it is verified; else the pair that shows why not, if there is one,
        which joins `pairs`.
        """
        if self.tally.proofs >= self.effort.proofs:
            raise _Over("so many proofs are tried at most")
        self.tally.proofs += 1
        written = all_as_cells(self.mechanism, items)
        text = with_alignment(self.source, written)
        verdict = self._verdict(text)
        if isinstance(verdict, Verified):
            return FoundAlignment(written, text, verdict, self.tally)
        shown = verdict.counterexample if isinstance(verdict, AlignmentFails) else None
        pair = None if shown is None or not self.effort.learns else pair_of(self.mechanism, shown.scenario)
        if pair is not None and pair.breaks(replace(self.mechanism, align=items)):
            if pairs is not None:
                pairs.insert(0, pair)
            return pair
        return None

    def _verdict(self, text: Source) -> Verdict | None:
        judge = replace(self.judge, limit=self.spent.part(steps=ONE_PROOF))
        try:
            return judge.verdict(check(text, parse(text)), text)
        except SpecError:
            return None


def _rises(pair: StoredPair, name: str) -> bool:
    """Whether every answer is at least as large on D', as `q <= q'` says."""
    before, after = (dict(data)[name] for data in (pair.scenario.data, pair.scenario.data_prime))
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return True
    numbers = zip(before, after, strict=True)
    return all(x <= y for x, y in numbers if isinstance(x, Fraction) and isinstance(y, Fraction))
