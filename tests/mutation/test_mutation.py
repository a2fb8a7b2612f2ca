"""Small changes of verified specs are not verified, unless a predicate or a person says why they are private.

A mutant is one small step from a private spec, usually out of privacy, so whatever is verified without being
justified points at a hole in the checker. A mutant that is private but not verified is no failure. The sample
that runs here is fixed; `survey.py` runs all mutants, of all specs or of some, and says what the table lacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from classes import class_of
from judging import OPEN, REFUSED, VERIFIED, Task, judgements
from mutants import Mutant
from random_pairs import replays
from survivors import Justified, is_private, justified, mutants, sample, specs

from aligncheck.check import check
from aligncheck.source import Source
from aligncheck.syntax.parse import parse
from aligncheck.syntax.unparse import unparse

JOBS = 2
EFFORT = 3600
SECONDS = 3.0
"""For the proof of a mutant; one that takes longer counts as not verified."""
PATIENT = 60.0
"""For what must be verified."""


@pytest.fixture(scope="module")
def judged() -> list[tuple[Mutant, str]]:
    """The sample, and what became of it."""
    chosen = sample(EFFORT)
    found = dict(judgements([Task(unparse(m.mechanism), SECONDS) for m in chosen], JOBS))
    return [(mutant, found[place]) for place, mutant in enumerate(chosen)]


def test_a_thousand_mutants_get_as_far_as_the_proof(judged: list[tuple[Mutant, str]]) -> None:
    outcomes = Counter(outcome for _, outcome in judged)
    assert outcomes[OPEN] + outcomes[VERIFIED] >= 1000, outcomes
    assert outcomes[OPEN] > outcomes[VERIFIED], outcomes


def test_every_spec_and_every_rule_has_mutants_in_the_sample(judged: list[tuple[Mutant, str]]) -> None:
    assert {mutant.spec for mutant, _ in judged} == set(specs())
    everywhere = {mutant.rule for ofspec in mutants().values() for mutant in ofspec.values()}
    assert {mutant.rule for mutant, _ in judged} == everywhere


def test_the_specs_themselves_are_verified() -> None:
    whole = [Task(unparse(mechanism), PATIENT) for mechanism in specs().values()]
    found = dict(judgements(whole, JOBS))
    assert {name: found[place] for place, name in enumerate(specs())} == dict.fromkeys(specs(), VERIFIED)


def test_every_survivor_is_justified(judged: list[tuple[Mutant, str]]) -> None:
    survivors = [mutant for mutant, outcome in judged if outcome == VERIFIED]
    assert [(m.spec, m.rule, m.change) for m in survivors if not is_private(m)] == []


def test_every_listed_survivor_survives(judged: list[tuple[Mutant, str]]) -> None:
    """What was cut short is tried again, with patience."""
    listed = [m for m, outcome in judged if (m.spec, m.change) in justified() and outcome != VERIFIED]
    if not listed:
        return
    again = dict(judgements([Task(unparse(m.mechanism), PATIENT) for m in listed], JOBS))
    assert [(m.spec, m.change) for place, m in enumerate(listed) if again[place] != VERIFIED] == []


@pytest.mark.parametrize("entry", justified().values(), ids=lambda entry: f"{entry.spec}: {entry.change}")
def test_what_is_listed_needs_it_and_no_pair_of_databases_contradicts(entry: Justified) -> None:
    """Listed are mutants that exist and that no class admits; their replays show no violation."""
    known: Mapping[str, Mutant] = mutants().get(entry.spec, {})
    assert entry.change in known, "there is no such mutant any more"
    mutant = known[entry.change]
    assert class_of(specs()[entry.spec], mutant.mechanism) is None, "a class says so already"
    source = Source(entry.change, unparse(mutant.mechanism))
    for done in replays(check(source, parse(source)), seed=len(entry.change)):
        assert done.violations == (), done.scenario


def test_a_mutant_that_makes_no_sense_is_refused_and_not_counted() -> None:
    mutant = mutants()["histogram"]["eta[i] ~ Lap(1/eps) => nothing"]
    ((_, outcome),) = judgements([Task(unparse(mutant.mechanism), SECONDS)], 1)
    assert outcome == REFUSED
