"""No adjacent pair and no output of a verified mechanism has densities further apart than the claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from random_densities import beyond_the_claim

from aligncheck.language.check import check
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.syntax.walk import has_densities

SPECS = Path(__file__).parents[2] / "specs"
WANTED = 30


def mechanisms(folder: Path) -> list[nodes.Mechanism]:
    sources = [read_source(str(path)) for path in sorted(folder.glob("exponential*.dp"))]
    found = [check(source, parse(source)) for source in sources]
    return [m for m in found if has_densities(m.body)]


@pytest.mark.parametrize("mechanism", mechanisms(SPECS), ids=lambda m: m.name)
def test_verified_mechanisms_keep_within_their_claim(mechanism: nodes.Mechanism) -> None:
    found = list(beyond_the_claim(mechanism, mechanism.name, WANTED))
    assert len(found) == WANTED, "too few pairs are adjacent"
    for beyond, scenario in found:
        assert beyond <= 1e-9, scenario


def test_the_test_can_fail() -> None:
    """The same search finds the broken ones."""
    broken = {m.name: m for m in mechanisms(SPECS / "broken")}
    mechanism = broken["exponential_mechanism_gap_monotone_all"]
    assert any(beyond > 0.1 for beyond, _ in beyond_the_claim(mechanism, "", 200))
