"""The run that costs most: what an alignment proves is bounded by it from below, for a verdict and for the
search for the least claim.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from aligncheck.judge import Judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning import exact
from aligncheck.meaning.interpreter import Draw
from aligncheck.meaning.replay import Replay
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.databases import legal
from aligncheck.synthesis.formulas import times
from aligncheck.synthesis.put_in import with_claim
from aligncheck.synthesis.runs import NO_RUN, StoredPair, pair_of, pairs
from aligncheck.verdict import DearestRun, FileResult, Verified

RUNS = 400
_FEW = 100
"""So many runs are made for a verdict."""
ONE_PROOF = 6_000
"""Steps of an `Effort` for a proof that a search asks for: a loop that keeps the best and the second takes
5,000, what is not decided mostly more than twice as many.
"""


@dataclass(frozen=True)
class CostOfRun:
    """What a stored run costs: in all, of the claim, and how far each variable is moved in all."""

    pair: StoredPair
    replay: Replay
    share: Fraction
    moved: dict[str, Fraction]


def verified(judge: Judge, source: Source) -> bool:
    """Whether a text is verified, with so many steps; what is no spec is not."""
    if judge.limit.is_over:
        return False
    judge = replace(judge, limit=judge.limit.part(steps=ONE_PROOF))
    try:
        return isinstance(judge.verdict(check(source, parse(source)), source), Verified)
    except SpecError:
        return False


def costs(mechanism: n.Mechanism) -> list[CostOfRun]:
    """The stored runs that come to their end on both sides with one output, and what they cost."""
    return list(islice(costs_of(mechanism), RUNS))


def costs_of(mechanism: n.Mechanism) -> Iterator[CostOfRun]:
    """The same, each made when it is asked for."""
    for pair in pairs(mechanism):
        run = _cost_of(mechanism, pair)
        if run is not None:
            yield run


def _cost_of(mechanism: n.Mechanism, pair: StoredPair) -> CostOfRun | None:
    try:
        done = pair.replayed(mechanism)
    except NO_RUN:
        return None
    if any(each.condition.id != "cost" for each in done.violations):
        return None
    share = _share(done.cost, done.claim if done.most is None else done.most)
    return None if share is None else CostOfRun(pair, done, share, _moved(done))


def dearest(mechanism: n.Mechanism, runs: Iterable[CostOfRun]) -> DearestRun | None:
    """The first of the runs that cost most; one that costs the whole claim ends the search. Where none does,
    that one with more rounds: some claims are only approached.
    """
    most: CostOfRun | None = None
    for run in runs:
        if most is None or run.share > most.share:
            most = run
        if most.share == 1:
            break
    if most is None or most.share == 0:
        return None
    if most.share < 1:
        most = max((most, *_longer(mechanism, most.pair.scenario)), key=lambda run: run.share)
    drawn = tuple((draw.key, draw.value) for draw in most.pair.run.draws)
    return DearestRun(replace(most.pair.scenario, noise=drawn), most.share)


def _longer(mechanism: n.Mechanism, scenario: Scenario) -> Iterator[CostOfRun]:
    """The runs with one of the whole numbers ten times as large."""
    whole = {i.name for i in mechanism.inputs if isinstance(i, n.Parameter) and i.sort is n.Sort.INT}
    for at, (name, value) in enumerate(scenario.parameters):
        if name in whole and isinstance(value, Fraction):
            other = (*scenario.parameters[:at], (name, 10 * value), *scenario.parameters[at + 1 :])
            longer = replace(scenario, parameters=other)
            pair = pair_of(mechanism, longer) if legal(mechanism, longer) else None
            run = None if pair is None else _cost_of(mechanism, pair)
            if run is not None:
                yield run


def with_dearest(result: FileResult, deadline: float) -> FileResult:
    """A result that says, where it is VERIFIED, how much of the claim is needed: the dearest of a few runs
    and, where that costs less than the claim, the claim of its share, if it is verified as text. Runs and
    steps are counted: a busy machine says the same, or nothing where the time is over.
    """
    if not isinstance(result.verdict, Verified) or not isinstance(result.verdict.mechanism.claim, n.Pure):
        return result
    mechanism = result.verdict.mechanism
    found = dearest(mechanism, islice(costs_of(mechanism), _FEW))
    if time.monotonic() > deadline:
        return result
    smaller = None
    if found is not None and found.share < 1:
        text = times(mechanism.privacy if mechanism.most is None else mechanism.most, found.share)
        judge = Judge(deadline, explain=False, search=False)
        smaller = text if verified(judge, with_claim(Source(result.path, result.text), text)) else None
    return replace(result, verdict=replace(result.verdict, dearest=found, smaller=smaller))


def _share(cost: exact.Number, claim: exact.Number | None) -> Fraction | None:
    if claim is None or exact.sign(claim) <= 0:
        return None
    try:
        share = exact.divide(cost, claim)
    except NO_RUN:
        return None
    return share if isinstance(share, Fraction) else None


def _moved(done: Replay) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for step in done.steps:
        if isinstance(step.on_d, Draw) and isinstance(step.shift, Fraction):
            found[step.on_d.name] = found.get(step.on_d.name, Fraction(0)) + abs(step.shift)
    return found
