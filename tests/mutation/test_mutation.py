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
from judging import FOLDER, OPEN, REFUSED, VERIFIED, Task, judgements
from mutants import Mutant
from random_densities import beyond_the_claim
from random_pairs import replays
from survivors import Justified, is_private, justified, mutants, sample, specs

from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import has_densities
from aligncheck.language.unparse import unparse

JOBS = 2
EFFORT = 320
FEW, MANY = 39, 90
"""Of a spec without loops so many mutants are judged; the many need `--exhaustive`."""
SECONDS = 10.0
"""For the proof of a mutant; one that takes longer counts as not verified. Proofs of the sample take less, so
that on a machine as fast as this or faster no verdict depends on the clock."""
PATIENT = 300.0
"""For what must be verified: enough for slow machines; the solver gives up after steps, not time."""


def test_specs_themselves_are_verified() -> None:
    """Else a mutant that is not verified would say nothing; a few do (`tests/corpus` checks them all)."""
    chosen = list(specs())[::12]
    found = judgements([Task(unparse(specs()[name]), PATIENT) for name in chosen], JOBS)
    assert {name: found[place] for place, name in enumerate(chosen)} == dict.fromkeys(chosen, VERIFIED)


def test_the_sample_has_every_spec_and_every_rule() -> None:
    everywhere = {mutant.rule for of_spec in mutants().values() for mutant in of_spec.values()}
    assert {mutant.spec for mutant in sample(EFFORT, FEW)} == set(specs())
    assert {mutant.rule for mutant in sample(EFFORT, FEW)} == everywhere


NOT_YET = {
    (spec, change)
    for spec, changes in {
        "adaptive_svt_geometric": ["p2 = 1 - exp(-e2/2) => p2 = 1 - exp(-p1/2)"],
        "exponential_mechanism_gap_monotone": [
            "u : queries, sensitivity Delta, adjacency monotone"
            " => u : queries, sensitivity Delta, adjacency l1"
        ],
        "exponential_mechanism_prior": [
            f"{x} : int where 0 <= {x} < len(u) and {x} < len(ok) and ok[{x}]{more} "
            f"=> {x} : int where 0 <= {x} < len(u){bound} and ok[{x}]{more}"
            for x, more in (("one", ""), ("two", " and two != one"))
            for bound in ("", f" and {x} <= len(ok)", f" and {x} < len(ok) + 1")
        ],
        "masked_histogram": [
            "q : queries, sensitivity 1, adjacency one => q : queries, sensitivity 1, adjacency l1"
        ],
        "noisy_max_monotone": [
            "q : queries, sensitivity 1, adjacency monotone => q : queries, sensitivity 1, adjacency l1"
        ],
        "noisy_topk_gap": ["for i in range(len(q)): => for i in range(len(q) + 1):"],
        "smart_sum": ["M : int where M >= 1 => M : real where M >= 1"],
        "sparse": [
            "eta[0] ~ Lap(sigma) => eta[0] ~ Exp(sigma)",
            "eta[count] ~ Lap(sigma) => eta[count] ~ Exp(sigma)",
        ],
        "svt_monotone": [
            "xi[i] += q[i] - q'[i] when out[i].value => xi[i] += 2*(q[i] - q'[i]) when out[i].value"
        ],
        "svt_with_measures": ["done = 0 => done = 1"],
        "windowed_sum": [
            "q : queries, sensitivity 1, adjacency one => q : queries, sensitivity 1, adjacency l1",
            "beta : real where 0 < beta < 1 => beta : real where 0 < beta and eps < 1",
        ],
    }.items()
    for change in changes
}
"""Private mutants that the kernel does not accept: it has no rule, or the search no words, for them yet."""


def test_hundreds_of_mutants_are_not_verified_or_private(exhaustive: bool) -> None:
    """One test, so that parallel runs judge the sample once."""
    chosen = sample(EFFORT, MANY if exhaustive else FEW)
    found = judgements([Task(unparse(m.mechanism), SECONDS) for m in chosen], JOBS)
    survivors = [mutant for place, mutant in enumerate(chosen) if found[place] == VERIFIED]
    assert [(m.spec, m.rule, m.change) for m in survivors if not is_private(m)] == []

    outcomes = Counter(found.values())
    assert outcomes[OPEN] + outcomes[VERIFIED] >= (750 if exhaustive else 500), outcomes
    assert outcomes[OPEN] > outcomes[VERIFIED], outcomes

    # What is listed must survive: where the proof was cut short, it is tried again with patience.
    assert not {(m.spec, m.change) for m in survivors} & NOT_YET
    survive = [m for m in chosen if (m.spec, m.change) in set(justified()) - NOT_YET and m not in survivors]
    again = judgements([Task(unparse(m.mechanism), PATIENT) for m in survive], JOBS)
    assert not [(m.spec, m.change) for place, m in enumerate(survive) if again[place] != VERIFIED]


@pytest.mark.parametrize("entry", justified().values(), ids=lambda entry: f"{entry.spec}: {entry.change}")
def test_what_is_listed_needs_it_and_no_pair_of_databases_contradicts(entry: Justified) -> None:
    """Listed are mutants that exist and that no class admits; their replays show no violation."""
    known: Mapping[str, Mutant] = mutants().get(entry.spec, {})
    assert entry.change in known, "there is no such mutant any more"
    mutant = known[entry.change]
    assert class_of(specs()[entry.spec], mutant.mechanism) is None, "a class says so already"
    source = Source(str(FOLDER / "mutant"), unparse(mutant.mechanism))
    mechanism = check(source, parse(source))
    if mechanism.uses or mechanism.functions:
        return  # runs of calls are not drawn at random
    if not (mechanism.align or isinstance(mechanism.claim, nodes.Pure)):
        return  # an index by its weight, whose cost in ρ no run tells
    if has_densities(mechanism.body):
        for beyond, scenario in beyond_the_claim(mechanism, entry.change, wanted=5):
            assert beyond <= 1e-9, scenario
        return
    for done in replays(mechanism, seed=len(entry.change)):
        assert done.violations == (), done.scenario


def test_a_mutant_that_makes_no_sense_is_refused_and_not_counted() -> None:
    mutant = mutants()["histogram"]["eta[i] ~ Lap(1/eps) => nothing"]
    assert judgements([Task(unparse(mutant.mechanism), SECONDS)], 1) == {0: REFUSED}
