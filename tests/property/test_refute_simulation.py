"""Exact probabilities beside simulation, on random mechanisms and on specs of the corpus; all outputs sum to
1.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest
from random_mechanisms import random_inputs, random_mechanism
from random_pairs import scenarios
from simulation import agrees, approximate, event_near, in_event, simulated

from aligncheck.language.check import check
from aligncheck.language.check.link import Linker
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.nodes import Family, Mechanism
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.meaning.exact import Number
from aligncheck.meaning.interpreter import DrawSite, Input, StepLimit, run
from aligncheck.refutation.enclosure import Ball, NotComputable
from aligncheck.refutation.events import Event, describe
from aligncheck.refutation.probability import probability, shapes

SPECS = Path(__file__).parents[2] / "specs"
NAMES = sorted(
    path.relative_to(SPECS).as_posix() for sub in (".", "broken") for path in (SPECS / sub).glob("*.dp")
)
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
    for one in runs[:4]:
        if isinstance(one.ended, StepLimit):
            continue
        event = event_near(one, chance)
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


def enumerated(mechanism: Mechanism, inputs: Mapping[str, Input], event: Event) -> float:
    """The probability of an event by all noise with a mass that matters."""
    total = 0.0

    def follow(taken: tuple[Fraction, ...], weight: float) -> None:
        nonlocal total
        tape = iter(taken)
        asked: list[DrawSite] = []

        def draw(site: DrawSite) -> Number:
            asked.append(site)
            return next(tape, Fraction(0))

        done = run(mechanism, {}, inputs, draw)
        if len(asked) > len(taken):
            for value, mass in masses(asked[len(taken)]):
                if weight * mass > 1e-7:
                    follow((*taken, value), weight * mass)
        elif in_event(done, event):
            total += weight

    follow((), 1.0)
    return total


def masses(site: DrawSite) -> Iterator[tuple[Fraction, float]]:
    scale, *steps = map(approximate, site.args)
    if site.family is Family.GEOMETRIC:
        yield from ((Fraction(k), scale * (1 - scale) ** k) for k in range(12))
        return
    step = Fraction(steps[0]) if steps else Fraction(1)
    fall = math.exp(-float(step) / scale)
    yield from ((k * step, (1 - fall) / (1 + fall) * fall ** abs(k)) for k in range(-12, 13))


@pytest.mark.parametrize("part", range(2))
def test_lattice_mechanisms_agree_with_enumeration(part: int) -> None:
    compared = 0
    for seed in range(500 + 8 * part, 508 + 8 * part):
        chance = random.Random(seed)
        mechanism = random_mechanism(chance, ("Geo(7/8)", "DLap(1/2)", "DLap(1/4, 1/2)"))
        inputs = {**random_inputs(chance), "q": (Fraction(chance.randint(-1, 1), 2),)}
        for one in simulated(mechanism, inputs, 2, seed):
            event = event_near(one, chance)
            try:
                found = probability(mechanism, inputs, event)
            except NotComputable:
                continue
            assert float(found) == pytest.approx(enumerated(mechanism, inputs, event), abs=1e-4), seed
            compared += 1
    assert compared > 10


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


REFUSED = {
    **dict.fromkeys(ENDLESS, "too many steps"),
    "svt_with_measures_split.dp": "irrational",
    "exponential_mechanism_gumbel.dp": "no exponential",
    "broken/exponential_mechanism_gumbel_down.dp": "no exponential",
    "noisy_max_random_ties.dp": "no exponential",
    "broken/noisy_max_random_ties_moved.dp": "no exponential",
}
"""Those of which not all probabilities are computed, and why; one has noise that is scaled by a root."""


@pytest.mark.parametrize("name", NAMES)
def test_outputs_sum_to_one(name: str) -> None:
    try:
        mechanism = loaded(name)
    except SpecError:
        pytest.skip("a spec with an error")
    for scenario in islice(scenarios(mechanism, seed=5), 2):
        inputs = dict(scenario.parameters + scenario.data)
        try:
            found = shapes(mechanism, inputs)
        except NotComputable as why:
            if REFUSED.get(name, "nothing is refused") not in str(why):
                raise
            continue
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
