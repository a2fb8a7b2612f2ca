"""The test of a function, from its first runs to what was found (dissertation, Algorithm 1).

The function is called only in supervised processes, after a first of these has shown that it can be imported
and called: one that hangs or crashes ends as a message. Every portion of the work has a seed of its own, so
results do not depend on how many processes share it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass

from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.plan import SLACK, Bar, Plan, Progress, SeedStream, seed_of
from aligncheck.statistical.probe import Probe, probe
from aligncheck.statistical.pvalue import least_loss
from aligncheck.statistical.results import Finding, Level, Tested
from aligncheck.statistical.rounds import tested_levels
from aligncheck.statistical.target import BATCH
from aligncheck.statistical.work import Processes, here


def run_test(plan: Plan, progress: Progress) -> Tested:
    """Tests a function.

    Raises:
        CannotTest: it cannot be called, hangs, is deterministic, or its outputs cannot be read.
    """
    start = time.monotonic()
    first = probe(plan)
    claim, delta, levels = _levels(plan, first)
    # A batch has the time of one call, or what the first, smaller ones suggest that it needs.
    patience = max(plan.timeout, SLACK * first.seconds * (BATCH if first.batched else 1))
    setup = dataclasses.replace(plan.setup, by_paths=first.by_paths, patience=patience)
    plan = dataclasses.replace(plan, setup=setup)
    tested = sorted({(0.0, 0.0), *((eps, delta) for eps in (claim, *levels))})
    found = _tested(plan, first, tuple(tested), progress)
    by_bar = {(level.eps, level.delta): level for level in found}
    claimed, independence = by_bar[claim, delta], by_bar[0.0, 0.0]
    rising = tuple(by_bar[eps, delta] for eps in sorted({claim, *levels}))
    seed = seed_of(plan, SeedStream.THINNING, len(tested))
    return Tested(
        name=str(plan.setup.reference),
        settings=plan.setup.settings,
        how=first.how,
        claim=claim,
        claimed=claimed,
        levels=rising,
        independence=independence,
        finding=_finding(claimed, independence, plan.alpha),
        alpha=plan.alpha,
        least_loss=least_loss(claimed.seen_first, claimed.seen_second, plan.runs, plan.alpha, seed, delta),
        violated_up_to=_violated_up_to(rising, plan.alpha),
        pairs=len(plan.pairs),
        selection=plan.selection,
        runs=plan.runs,
        seed=plan.seed,
        randomness=first.randomness,
        seconds=time.monotonic() - start,
    )


def _tested(plan: Plan, first: Probe, levels: tuple[Bar, ...], progress: Progress) -> list[Level]:
    """The test at each level.

    A function that keeps a random generator would draw the same in each process, and those are no independent
    runs: all of its runs are made in one.
    """
    if first.randomness != "kept":
        work = Processes(plan, progress, shared=first.randomness == "seeded")
        return tested_levels(plan, levels, first.seconds, work)
    runs = 2 * len(plan.pairs) * plan.selection + 2 * min(len(levels), len(plan.pairs)) * plan.runs
    alone = Processes(dataclasses.replace(plan, jobs=1), progress, shared=False)
    item = _All(plan, levels, first.seconds)
    (found,) = alone(_at_once, [item], first.seconds * runs, "testing, in one process")
    return found


@dataclass(frozen=True, slots=True)
class _All:
    plan: Plan
    levels: tuple[Bar, ...]
    seconds: float


def _at_once(item: _All) -> list[Level]:
    """In a worker."""
    return tested_levels(item.plan, item.levels, item.seconds, here)


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


def _levels(plan: Plan, first: Probe) -> tuple[float, float, tuple[float, ...]]:
    """The claim, its delta, and the levels to test."""
    levels = plan.levels or ()
    own, delta = first.claim or (None, 0.0)
    if plan.delta is not None:
        delta = plan.delta
    claim = plan.claim
    if claim is None:
        claim = levels[0] if len(levels) == 1 else own
    if claim is None:
        what = "which of these levels the function claims" if levels else "at which level to test"
        raise CannotTest(f"it is not said {what}", "--claim VALUE" if levels else "--eps VALUE")
    if not claim >= 0:
        raise CannotTest(f"a claim of {claim:g} is no privacy level")
    return claim, delta, levels or (claim,)
