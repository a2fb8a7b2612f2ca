"""The test of a function: probe it, choose an event, test that on fresh runs (dissertation, Algorithm 1).

The function is called only in supervised processes, after a first of these has shown that it can be imported
and called: one that hangs or crashes ends as a message. Every portion of the work has a seed of its own, so
results do not depend on how many processes share it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from aligncheck.statistical.compiled import Compiled
from aligncheck.statistical.errors import CannotTest
from aligncheck.statistical.events import Event, holds
from aligncheck.statistical.outputs import Outputs, joined
from aligncheck.statistical.patience import TookTooLong, patience
from aligncheck.statistical.patterns import Pair
from aligncheck.statistical.pvalue import least_loss, log_pvalue
from aligncheck.statistical.results import Finding, Level, Tested
from aligncheck.statistical.selection import Choice, choose
from aligncheck.statistical.target import BATCH, Setup, target
from aligncheck.workers import Died, Done, Raised, Supervision, TimedOut

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the stage, how many portions of it are done, and how many there are."""

PORTION = 50_000
"""Runs of one portion of a final test."""

_PROBED = 24
"""Runs that are repeated with one seed, to see whether it repeats them, and timed."""

_FEW_RUNS = 3
"""Runs on each input that show whether it can be run at all."""

_SLACK = 20.0
"""How many times as long as the probe suggests a portion may take before it is stopped."""

_BATCHES_PER_PROCESS = 3

_FIRST_SHARE = 5
"""The first share of the runs for choosing is one in so many…"""

_FEWEST_FIRST = 5_000
"""…and not fewer than these."""

_PLAIN = 8.0
"""Standard deviations by which inputs differ plainly."""

_FEWEST_LEADERS = 3
"""Pairs that get all of the runs for choosing, at each level, or a quarter of them."""

_SELECTING, _TESTING, _THINNING, _PROBING = range(4)
"""First entries of the seeds' keys: nothing is drawn twice."""

Item = TypeVar("Item")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to test and how hard.

    Attributes:
        setup: the function and its arguments.
        pairs: the inputs to choose from.
        levels: the values of eps to test; None for the level that the function claims.
        claim: the level that counts as a violation; None for the only one of `levels`, or the function's own.
        selection: runs on each input of each pair for choosing the event.
        runs: runs on each input for the final test.
        alpha: the level of significance, between 0 and 1.
        seed: of everything.
        jobs: processes.
        timeout: seconds after which a call, or the module's import, counts as never returning.
    """

    setup: Setup
    pairs: tuple[Pair, ...]
    levels: tuple[float, ...] | None
    claim: float | None
    selection: int
    runs: int
    alpha: float
    seed: int
    jobs: int
    timeout: float


def run_test(plan: Plan, progress: Progress) -> Tested:
    """Tests a function.

    Raises:
        CannotTest: it cannot be called, hangs, is deterministic, or its outputs cannot be read.
    """
    start = time.monotonic()
    probe = _probe(plan)
    claim, levels = _levels(plan, probe)
    # A batch has the time of one call, or what the first, smaller ones suggest that it needs.
    patient = max(plan.timeout, _SLACK * probe.seconds * BATCH)
    setup = dataclasses.replace(plan.setup, by_paths=probe.by_paths, patience=patient)
    plan = dataclasses.replace(plan, setup=setup)
    tested = sorted({0.0, claim, *levels})
    chosen = _select(plan, probe, tested, progress)
    found = _final(plan, probe, tested, chosen, progress)
    by_eps = {level.eps: level for level in found}
    claimed, independence = by_eps[claim], by_eps[0.0]
    rising = tuple(by_eps[eps] for eps in sorted({claim, *levels}))
    return Tested(
        name=str(plan.setup.reference),
        settings=plan.setup.settings,
        how=probe.how,
        claim=claim,
        claimed=claimed,
        levels=rising,
        independence=independence,
        finding=_finding(claimed, independence, plan.alpha),
        alpha=plan.alpha,
        least_loss=least_loss(
            claimed.seen_first,
            claimed.seen_second,
            plan.runs,
            plan.alpha,
            _seed(plan, _THINNING, len(tested)),
        ),
        violated_up_to=_violated_up_to(rising, plan.alpha),
        pairs=len(plan.pairs),
        selection=plan.selection,
        runs=plan.runs,
        seed=plan.seed,
        repeatable=probe.repeatable,
        seconds=time.monotonic() - start,
    )


def _finding(claimed: Level, independence: Level, alpha: float) -> Finding:
    if claimed.rejected(alpha):
        return "evidence"
    return "no evidence" if independence.rejected(alpha) else "no dependence"


def _violated_up_to(levels: Sequence[Level], alpha: float) -> float | None:
    greatest = None
    for level in levels:
        if not level.rejected(alpha):
            break
        greatest = level.eps
    return greatest


def _levels(plan: Plan, probe: _Probe) -> tuple[float, tuple[float, ...]]:
    """The claim, and the levels to test."""
    levels = plan.levels or ()
    claim = plan.claim
    if claim is None:
        claim = levels[0] if len(levels) == 1 else probe.claim
    if claim is None:
        what = "which of these levels the function claims" if levels else "at which level to test"
        raise CannotTest(f"it is not said {what}", "--claim VALUE" if levels else "--eps VALUE")
    if not claim >= 0:
        raise CannotTest(f"a claim of {claim:g} is no privacy level")
    return claim, levels or (claim,)


def _seed(plan: Plan, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(plan.seed, spawn_key=key)


def _setup(plan: Plan, pair: Pair) -> Setup:
    return dataclasses.replace(plan.setup, settings=(*plan.setup.settings, *pair.settings))


# --- the probe ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Probe:
    """What the first runs told.

    `seconds` is for one run; `claim` the level that the function says it has, if any.
    """

    how: str
    seconds: float
    claim: float | None
    repeatable: bool
    by_paths: bool


def _probe(plan: Plan) -> _Probe:
    with Supervision(_probed, [plan], deadline=3 * plan.timeout + 2, jobs=1) as work:
        for _, outcome in work:
            match outcome:
                case TimedOut(seconds=seconds):
                    raise CannotTest(
                        f"`{plan.setup.reference}` did not return from its first runs in {seconds:.0f} s",
                        "allow more time with `--timeout`",
                    )
                case _:
                    found: _Probe = _value(plan, outcome)
                    return found
    raise AssertionError("one item has one outcome")


def _probed(plan: Plan) -> _Probe | CannotTest:
    try:
        return _probe_here(plan)
    except CannotTest as error:
        return error


def _probe_here(plan: Plan) -> _Probe:
    """In a worker: every input is run a few times; runs on the first one are timed and repeated."""
    setup, first = plan.setup, plan.pairs[0]
    try:
        with patience(plan.timeout):
            tested = target(_setup(plan, first))
    except TookTooLong:
        raise CannotTest(f"`{setup.reference.module}` was not imported within {plan.timeout:g} s") from None
    by_paths = True
    if isinstance(tested, Compiled):
        by_paths = tested.runs_by_paths(first.first, _seed(plan, _PROBING))
        setup = dataclasses.replace(setup, by_paths=by_paths)
        tested = target(dataclasses.replace(setup, settings=(*setup.settings, *first.settings)))
    count = BATCH // 10 if tested.batched else _PROBED
    seed = _seed(plan, _PROBING, 0)
    shapes = [tested.run(first.first, count, seed)]
    start = time.perf_counter()
    repeatable = _same(shapes[0], tested.run(first.first, count, seed))
    seconds = (time.perf_counter() - start) / count
    for index, pair in enumerate(plan.pairs):
        own = target(dataclasses.replace(setup, settings=(*setup.settings, *pair.settings)))
        shapes += [
            own.run(database, _FEW_RUNS, _seed(plan, _PROBING, index, side))
            for side, database in enumerate((pair.first, pair.second))
        ]
    joined(shapes, setup.reference.name)
    return _Probe(tested.how, seconds, tested.claim(first.first), repeatable, by_paths)


def _same(a: Outputs, b: Outputs) -> bool:
    def equal(x: Any, y: Any) -> bool:
        return (x is None and y is None) or np.array_equal(x, y, equal_nan=True)

    same_codes = (a.codes is None and b.codes is None) or np.array_equal(
        a.codes if a.codes is not None else [], b.codes if b.codes is not None else []
    )
    return equal(a.numbers, b.numbers) and same_codes and a.labels == b.labels


# --- choosing an event --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Selection:
    plan: Plan
    pair: int
    runs: int
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Selected:
    """For each level the best event of a pair; and whether outputs vary on an input, or between the two."""

    choices: tuple[Choice | None, ...]
    varies: bool
    alike: bool
    listed: bool


_Candidate: TypeAlias = tuple[int, Choice, bool]
"""A pair's number, an event, and whether outputs are lists."""


def _select(
    plan: Plan, probe: _Probe, levels: Sequence[float], progress: Progress
) -> list[_Candidate | None]:
    """For each level the pair and the event that promise most.

    Every pair gets a first share of the runs; all of them are for the pairs that then lead at some level. (At
    eps = 0, which only asks whether the inputs can be told apart, the first share will do.)
    """

    def found(pairs: Sequence[int], runs: int, wanted: Sequence[float], stage: str) -> dict[int, _Selected]:
        items = [_Selection(plan, index, runs, tuple(wanted)) for index in pairs]
        selected = _all(plan, _selected, items, probe.seconds * 2 * runs, stage, progress)
        return dict(zip(pairs, selected, strict=True))

    first = max(plan.selection // _FIRST_SHARE, min(plan.selection, _FEWEST_FIRST))
    early = found(range(len(plan.pairs)), first, levels, "comparing inputs")
    if not any(selected.varies for selected in early.values()):
        _require_constant(plan, early, first)
    leaders = max(_FEWEST_LEADERS, len(plan.pairs) // 4)
    kept = sorted({index for at in range(1, len(levels)) for index, _, _ in _ranked(early, at)[:leaders]})
    late = found(kept, plan.selection, levels, "choosing an event")
    best = [next(iter(_ranked(late, at)), None) for at in range(1, len(levels))]
    return [_dependence(early, best), *best]


def _dependence(early: Mapping[int, _Selected], best: Sequence[_Candidate | None]) -> _Candidate | None:
    """What is to be tested at eps = 0.

    A pair that is tested at another level as well needs no runs of its own: it will do if it differs plainly.
    """
    ranked = _ranked(early, 0)
    tested = {candidate[0] for candidate in best if candidate is not None}
    plain = (candidate for candidate in ranked if candidate[0] in tested and candidate[1].score >= _PLAIN)
    return next(plain, next(iter(ranked), None))


def _ranked(found: Mapping[int, _Selected], at: int) -> list[_Candidate]:
    """The pairs' events for one level, the best first."""
    candidates = [
        (index, choice, selected.listed)
        for index, selected in found.items()
        if (choice := selected.choices[at]) is not None
    ]
    return sorted(candidates, key=lambda candidate: -candidate[1].score)


def _require_constant(plan: Plan, found: Mapping[int, _Selected], runs: int) -> None:
    """Outputs never vary on one input: then they must be the same on every input, which is no violation."""
    for index, selected in found.items():
        pair = plan.pairs[index]
        if not selected.alike:
            raise CannotTest(
                f"`{plan.setup.reference.name}` is deterministic: all of {runs:,} runs on one input gave "
                f"one output, on D = {pair.first} another than on D' = {pair.second}",
                "it adds no noise, so it is private at no level; is this the function that you mean?",
            )


def _selected(item: _Selection) -> _Selected:
    """In a worker."""
    plan, pair = item.plan, item.plan.pairs[item.pair]
    own = target(_setup(plan, pair))
    first, second = (
        own.run(database, item.runs, _seed(plan, _SELECTING, item.pair, side))
        for side, database in enumerate((pair.first, pair.second))
    )
    both = joined([first, second], plan.setup.reference.name)
    choices = choose(first, second, item.levels)
    return _Selected(tuple(choices), _varies(first) or _varies(second), not _varies(both), first.listed)


def _varies(outputs: Outputs) -> bool:
    """Whether two runs differ."""
    different = False
    if outputs.numbers is not None:
        there = ~np.isnan(outputs.numbers)
        first = np.where(there[0], outputs.numbers[0], 0.0)
        different = bool((np.where(there, outputs.numbers, 0.0) != first).any() or (there != there[0]).any())
    if outputs.codes is not None:
        different = different or bool((outputs.codes != outputs.codes[0]).any())
    return different


# --- the final test -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Portion:
    """Some runs on one input of a pair, and the events to be counted in them."""

    plan: Plan
    pair: int
    side: int
    number: int
    runs: int
    events: tuple[Event, ...]


def _final(
    plan: Plan,
    probe: _Probe,
    levels: Sequence[float],
    chosen: Sequence[_Candidate | None],
    progress: Progress,
) -> list[Level]:
    wanted: dict[int, dict[Event, None]] = {}
    for candidate in chosen:
        if candidate is not None:
            wanted.setdefault(candidate[0], {})[candidate[1].event] = None
    portions = [
        _Portion(plan, pair, side, number, min(PORTION, plan.runs - number * PORTION), tuple(events))
        for pair, events in wanted.items()
        for side in (0, 1)
        for number in range(-(-plan.runs // PORTION))
    ]
    counted = _all(plan, _counted, portions, probe.seconds * PORTION, "testing it", progress)
    counts: dict[tuple[int, int, Event], int] = {}
    for portion, seen in zip(portions, counted, strict=True):
        for event, count in zip(portion.events, seen, strict=True):
            key = (portion.pair, portion.side, event)
            counts[key] = counts.get(key, 0) + count
    return [
        _level(plan, at, eps, candidate, counts)
        for at, (eps, candidate) in enumerate(zip(levels, chosen, strict=True))
    ]


def _level(
    plan: Plan,
    at: int,
    eps: float,
    candidate: _Candidate | None,
    counts: dict[tuple[int, int, Event], int],
) -> Level:
    if candidate is None:
        return Level(eps, 0.0, None, None, 0, 0, plan.runs, False)
    index, choice, listed = candidate
    pair = plan.pairs[index]
    if choice.swapped:
        pair = dataclasses.replace(pair, first=pair.second, second=pair.first)
    here, there = (counts[index, side, choice.event] for side in ((1, 0) if choice.swapped else (0, 1)))
    rng = np.random.default_rng(_seed(plan, _THINNING, at))
    value = log_pvalue(here, there, plan.runs, eps, rng)
    return Level(eps, value, pair, choice.event, here, there, plan.runs, listed)


def _counted(portion: _Portion) -> tuple[int, ...]:
    """In a worker: how often each event was seen."""
    plan, pair = portion.plan, portion.plan.pairs[portion.pair]
    outputs = target(_setup(plan, pair)).run(
        (pair.first, pair.second)[portion.side],
        portion.runs,
        _seed(plan, _TESTING, portion.pair, portion.side, portion.number),
    )
    return tuple(int(holds(event, outputs).sum()) for event in portion.events)


# --- supervised work ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Batch(Generic[Item, Value]):
    """Items for one process, which starts slower than it works."""

    function: Callable[[Item], Value]
    items: tuple[Item, ...]


def _all(
    plan: Plan,
    function: Callable[[Item], Value],
    items: Sequence[Item],
    expected: float,
    stage: str,
    progress: Progress,
) -> list[Value]:
    """The values of all items, in order; `expected` is how many seconds one of them should take."""

    def load_once() -> None:
        target(_setup(plan, plan.pairs[0]))  # imported before the processes part, so once for all

    count = min(len(items), _BATCHES_PER_PROCESS * plan.jobs)
    batches = [_Batch(function, tuple(items[start::count])) for start in range(count)]
    found: dict[int, Value] = {}
    progress(stage, 0, len(items))
    deadline = plan.timeout + _SLACK * expected * -(-len(items) // max(count, 1))
    with Supervision(_done, batches, deadline=deadline, jobs=plan.jobs, warm_up=load_once) as work:
        import scipy.special  # noqa: F401 - meanwhile: the p-values need it, the workers do not

        for index, outcome in work:
            if isinstance(outcome, TimedOut):
                raise CannotTest(
                    f"`{plan.setup.reference}` did not return: a portion of its runs was stopped after "
                    f"{outcome.seconds:.0f} s, {_SLACK:g} times as long as its first runs suggest",
                    "if it is only slow at times, allow more with `--timeout`, or ask for fewer runs",
                )
            found.update(zip(range(index, len(items), count), _value(plan, outcome), strict=True))
            progress(stage, len(found), len(items))
    return [found[index] for index in range(len(items))]


def _done(batch: _Batch[Item, Value]) -> list[Value] | CannotTest:
    """In a worker."""
    try:
        return [batch.function(item) for item in batch.items]
    except CannotTest as error:
        return error


def _value(plan: Plan, outcome: Done[Any] | Raised | Died) -> Any:
    name = plan.setup.reference
    match outcome:
        case Done(value=CannotTest() as error):
            raise error
        case Done(value=value):
            return value
        case Raised(error=error) if error.startswith("MemoryError"):
            raise CannotTest(
                f"the runs of `{name}` do not fit into memory", "ask for fewer runs, or shorter inputs"
            )
        case Raised(error=error, trace=trace):
            raise RuntimeError(f"{error}\n{trace}")
        case Died(how=how):
            raise CannotTest(f"the process that ran `{name}` died: {how}")
