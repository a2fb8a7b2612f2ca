"""No spec is both VERIFIED and REFUTED, and the probabilities of all outputs sum to 1, on random specs.

Whether a spec is verified is asked only where its alignment survives a few concrete runs: where one of these
breaks it, there is no proof (and `test_nothing_that_runs_break_is_proved` makes sure of that on a sample).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from random import Random

from random_specs import random_spec

from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.exact import Undecided
from aligncheck.meaning.interpreter import Input
from aligncheck.meaning.replay import replay
from aligncheck.meaning.scenario import ScenarioError
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.probability import shapes
from aligncheck.refutation.refuter import Aim, refute
from aligncheck.refutation.violation import Violation
from aligncheck.search.failing.sample import scenarios
from aligncheck.verdict import Verified

SPECS, MORE = 400, 40_000
RUNS = 20
PARAMETERS: dict[str, Fraction] = {"T": Fraction(0), "eps": Fraction(1)}


def specs(seeds: range) -> Iterator[tuple[int, Source, Mechanism]]:
    for seed in seeds:
        source = random_spec(Random(seed))
        try:
            yield seed, source, check(source, parse(source))
        except SpecError:
            continue


def survives(mechanism: Mechanism, seed: int) -> bool:
    """Whether no concrete run violates a condition of the alignment."""
    tried = scenarios(mechanism, dict(PARAMETERS), {"q": 2 + seed % 2}, Random(seed))
    for scenario in islice(tried, RUNS):
        try:
            if replay(mechanism, scenario).violations:
                return False
        except (ScenarioError, Undecided):
            continue
    return True


def is_verified(mechanism: Mechanism, source: Source) -> bool:
    try:
        return isinstance(judge(mechanism, source, time.monotonic() + 60, False, False), Verified)
    except SpecError:
        return False


def test_no_spec_is_both_verified_and_refuted(exhaustive: bool) -> None:
    seen: Counter[str] = Counter()
    for seed, source, mechanism in specs(range(MORE if exhaustive else SPECS)):
        seen["all"] += 1
        if not survives(mechanism, seed):
            continue
        budget = 400 if exhaustive else 30
        found = refute(mechanism, Aim(seconds=20, probabilities=budget, any_will_do=True))
        refuted = isinstance(found, Violation)
        seen["refuted"] += refuted
        # Of the others only some are asked about, to see that there are proofs among them.
        if refuted or exhaustive or seed % 3 == 0:
            verified = is_verified(mechanism, source)
            seen["verified"] += verified
            assert not (verified and refuted), (seed, source.text, found)
    assert seen["all"] >= 360
    assert seen["verified"] >= 3, "too few proofs for this to say anything"
    assert seen["refuted"] >= 1, "too few violations for this to say anything"


def test_the_probabilities_of_all_outputs_sum_to_1(exhaustive: bool) -> None:
    chance = Random(1)
    checked = 0
    for _, source, mechanism in specs(range(MORE if exhaustive else SPECS)):
        answers = tuple(Fraction(chance.randint(-2, 2)) for _ in range(chance.randint(2, 3)))
        inputs: dict[str, Input] = {**PARAMETERS, "eps": Fraction(chance.randint(1, 4), 2), "q": answers}
        try:
            found = shapes(mechanism, inputs, precision=64)
        except NotComputable:
            continue
        low = sum((ball.lower for _, ball in found), Fraction(0))
        high = sum((ball.upper for _, ball in found), Fraction(0))
        assert low <= 1 <= high, (source.text, inputs)
        assert high - low < Fraction(1, 10**9), (source.text, inputs)
        checked += 1
    assert checked > 360


def test_nothing_that_runs_break_is_proved() -> None:
    broken = 0
    for seed, source, mechanism in specs(range(1, 60, 2)):
        if not survives(mechanism, seed):
            broken += 1
            assert not is_verified(mechanism, source), source.text
    assert broken > 10
