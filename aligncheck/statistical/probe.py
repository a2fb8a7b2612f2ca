"""The first runs of a function: whether it can be run, how fast, and where its random numbers come from."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

import numpy as np

from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.compiled import Compiled
from aligncheck.statistical.outputs import Outputs, joined
from aligncheck.statistical.plan import Bar, Plan, SeedStream, seed_of, setup_of
from aligncheck.statistical.results import Randomness
from aligncheck.statistical.target import Target, run_strictly, target
from aligncheck.statistical.work import outcome_value, quiet
from aligncheck.workers import Supervision, TimedOut, TookTooLong, stopped_after

_BATCH = 2_500
_REPEATED = 24
_MOST_REPEATED = 400
_SOON = 0.05
_FEW = 3


@dataclass(frozen=True, slots=True)
class Probe:
    """What the first runs told.

    Attributes:
        how: how the function is run, for people.
        batched: whether one call makes many runs.
        seconds: for one run.
        claim: the level that the function says it has, if any: eps and delta.
        by_paths: whether a generated mechanism can be run once for each path.
        randomness: where its random numbers come from.
    """

    how: str
    batched: bool
    seconds: float
    claim: Bar | None
    by_paths: bool
    randomness: Randomness


def probe(plan: Plan) -> Probe:
    """Makes the first runs, in a process of their own.

    Raises:
        CannotTest: the function cannot be imported or called, hangs, or its outputs cannot be read.
    """
    first = _runs(plan)
    if first.repeats:
        return first.probe
    # Its randomness is not ours. Does another process see the same?
    kept = _same(first.sample, _runs(plan).sample)
    return dataclasses.replace(first.probe, randomness="kept" if kept else "fresh")


@dataclass(frozen=True, slots=True)
class _FirstRuns:
    """`sample` are the first runs of all; `repeats` says that they came again with the same seed."""

    probe: Probe
    sample: Outputs
    repeats: bool


def _runs(plan: Plan) -> _FirstRuns:
    with Supervision(_first_runs, [plan], deadline=3 * plan.timeout + 2, jobs=1) as work:
        ((_, outcome),) = work
    if isinstance(outcome, TimedOut):
        raise CannotTest(
            f"`{plan.setup.reference}` did not return from its first runs in {outcome.seconds:.0f} s",
            "allow more time with `--timeout`",
        )
    found: _FirstRuns = outcome_value(plan, outcome)
    return found


def _first_runs(plan: Plan) -> _FirstRuns | CannotTest:
    """In a worker."""
    try:
        with quiet():
            return _first_runs_here(plan)
    except CannotTest as error:
        return error


def _first_runs_here(plan: Plan) -> _FirstRuns:
    first = plan.pairs[0]
    try:
        with stopped_after(plan.timeout, TookTooLong):
            tested = target(setup_of(plan, first))
    except TookTooLong:
        module = plan.setup.reference.module
        raise CannotTest(f"`{module}` was not imported within {plan.timeout:g} s") from None
    if isinstance(tested, Compiled):
        for pair in plan.pairs:
            tested.require_neighbours(pair)
    by_paths = isinstance(tested, Compiled) and tested.runs_by_paths(
        first.first, seed_of(plan, SeedStream.PROBING, 0)
    )
    plan = dataclasses.replace(plan, setup=dataclasses.replace(plan.setup, by_paths=by_paths))
    tested = target(setup_of(plan, first))
    sample, repeats, seconds = _repeated(plan, tested)
    everywhere = [
        target(setup_of(plan, pair)).run(database, _FEW, seed_of(plan, SeedStream.PROBING, 2, index, side))
        for index, pair in enumerate(plan.pairs)
        for side, database in enumerate((pair.first, pair.second))
    ]
    whole = joined([sample, *everywhere], plan.setup.reference.name)  # all of one shape
    if whole.only_raises:
        run_strictly(tested, first.first, seed_of(plan, SeedStream.PROBING, 1))
    found = Probe(tested.how, tested.batched, seconds, tested.claim(first.first), by_paths, "seeded")
    return _FirstRuns(found, sample, repeats)


def _repeated(plan: Plan, tested: Target) -> tuple[Outputs, bool, float]:
    """Some runs, whether the same seed gives the same again, and the seconds of one."""
    database, seed = plan.pairs[0].first, seed_of(plan, SeedStream.PROBING, 1)
    count = _BATCH if tested.batched else _REPEATED
    sample = tested.run(database, count, seed)
    start = time.perf_counter()
    repeats = _same(sample, tested.run(database, count, seed))
    seconds = (time.perf_counter() - start) / count
    if not tested.batched and seconds * _MOST_REPEATED < _SOON:
        # So few runs of, say, a truth value may be alike by chance.
        sample = tested.run(database, _MOST_REPEATED, seed)
        repeats = repeats and _same(sample, tested.run(database, _MOST_REPEATED, seed))
    return sample, repeats, seconds


def _same(a: Outputs, b: Outputs) -> bool:
    return (
        a.labels == b.labels
        and _same_array(a.numbers, b.numbers, equal_nan=True)
        and _same_array(a.codes, b.codes, equal_nan=False)
    )


def _same_array(
    a: np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None,
    b: np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None,
    *,
    equal_nan: bool,
) -> bool:
    if a is None or b is None:
        return a is b
    return bool(np.array_equal(a, b, equal_nan=equal_nan))
