"""Exact probabilities beside simulation, on random mechanisms and on specs of the corpus; all outputs sum to
1.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest
from random_mechanisms import random_inputs, random_mechanism
from random_pairs import scenarios
from simulation import agrees, event_near, in_event, simulated

from aligncheck.check import check
from aligncheck.check.link import Linker
from aligncheck.diagnostics import SpecError
from aligncheck.interpreter import Input, StepLimit
from aligncheck.refute.events import describe
from aligncheck.refute.probability import Ball, NotComputable, probability, shapes
from aligncheck.syntax.nodes import Mechanism
from aligncheck.syntax.parse import parse, read_source

SPECS = Path(__file__).parents[2] / "specs"
NAMES = sorted(path.relative_to(SPECS).as_posix() for path in SPECS.rglob("*.dp"))
SELECTING = (
    "hybrid_topk_gap",
    "hybrid_sparse_gap",
    "noisy_topk_gap",
    "exponential_mechanism_gap",
    "svt_discrete",
)
ENDLESS = ("ask_until_above.dp", "broken/halving_without_end.dp")
"""A loop without a bound has infinitely many outputs."""
RUNS = 200


def loaded(name: str) -> Mechanism:
    source = read_source(str(SPECS / name))
    return check(source, Linker(check).linked(source, parse(source)))


def sum_of(balls: list[Ball]) -> Ball:
    return Ball(sum((b.lower for b in balls), Fraction(0)), sum((b.upper for b in balls), Fraction(0)))


def check_events(mechanism: Mechanism, inputs: Mapping[str, Input], seed: int) -> tuple[int, int]:
    """Compares some events; how many were compared, and how many are not computed."""
    chance = random.Random(seed)
    runs = simulated(mechanism, inputs, RUNS, seed)
    compared = refused = 0
    for run in runs[:4]:
        if isinstance(run.ended, StepLimit):
            continue
        event = event_near(run, chance)
        try:
            found = probability(mechanism, inputs, event)
        except NotComputable:
            refused += 1
            continue
        hits = sum(in_event(other, event) for other in runs)
        assert agrees(hits, RUNS, found), (describe(event), hits / RUNS, float(found), inputs)
        assert found.upper - found.lower < Fraction(1, 10**9)
        compared += 1
    return compared, refused


@pytest.mark.parametrize("part", range(4))
def test_random_mechanisms_agree_with_simulation(part: int) -> None:
    compared = refused = 0
    for seed in range(10 * part, 10 * part + 10):
        chance = random.Random(seed)
        mechanism, inputs = random_mechanism(chance), random_inputs(chance)
        done, left = check_events(mechanism, inputs, seed)
        compared, refused = compared + done, refused + left
    assert compared > 3 * refused


def test_random_mechanisms_sum_to_one() -> None:
    computed = 0
    for seed in range(100, 160):
        chance = random.Random(seed)
        mechanism, inputs = random_mechanism(chance), random_inputs(chance)
        try:
            whole = sum_of([ball for _, ball in shapes(mechanism, inputs)])
        except NotComputable:
            continue
        computed += 1
        assert whole.lower <= 1 <= whole.upper < 1 + Fraction(1, 10**9), seed
    assert computed > 45


@pytest.mark.parametrize("name", NAMES)
def test_outputs_sum_to_one(name: str) -> None:
    try:
        mechanism = loaded(name)
    except SpecError:
        pytest.skip("a spec with an error")
    for scenario in islice(scenarios(mechanism, seed=5), 2):
        inputs = dict(scenario.parameters + scenario.data)
        if name in ENDLESS:
            with pytest.raises(NotComputable, match="too many steps"):
                shapes(mechanism, inputs)
            continue
        found = shapes(mechanism, inputs)
        whole = sum_of([ball for _, ball in found])
        assert whole.lower <= 1 <= whole.upper < 1 + Fraction(1, 10**9)
        assert len({event for event, _ in found}) == len(found)


@pytest.mark.parametrize("name", SELECTING)
def test_selections_of_the_corpus_agree_with_simulation(name: str) -> None:
    mechanism = loaded(f"{name}.dp")
    (scenario,) = islice((s for s in scenarios(mechanism, seed=3) if _long_enough(s.data)), 1)
    compared, refused = check_events(mechanism, dict(scenario.parameters + scenario.data), seed=8)
    assert compared > 0
    assert refused == 0


def _long_enough(data: tuple[tuple[str, Input], ...]) -> bool:
    return all(len(value) == 3 for _, value in data if isinstance(value, tuple))
