"""No verified spec is violated on random legal pairs of databases, and no spec's replay breaks down.

The interpreter shares no code with the checker: a spec that is VERIFIED but violated here would be unsound.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from random_pairs import replays

from aligncheck.check import check
from aligncheck.source import Source
from aligncheck.syntax import nodes
from aligncheck.syntax.parse import parse, read_source
from aligncheck.syntax.walk import has_densities

GENERAL = {"range_alarm", "noisy_topk_gap_exp", "noisy_topk_gap_exp_monotone", "hybrid_topk_gap_exp"}
"""Verified by the general theorem: their shifts depend on their own draws."""
SPECS = sorted((Path(__file__).parents[2] / "specs").glob("*.dp"))


def read(path: Path) -> tuple[Source, nodes.Mechanism]:
    source = read_source(str(path))
    return source, check(source, parse(source))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_verified_specs_are_violated_by_no_pair(path: Path) -> None:
    source, mechanism = read(path)
    if mechanism.expect is None or mechanism.expect.verdict != "verified":
        pytest.skip("expects no proof")
    if has_densities(mechanism.body):
        pytest.skip("draws by densities: there is no alignment to replay")
    finished = 0
    for done in replays(mechanism, seed=len(source.text)):
        assert done.violations == (), done.scenario
        assert done.cycle == () or path.stem in GENERAL, done.scenario
        finished += done.claim is not None
    assert finished >= 3
