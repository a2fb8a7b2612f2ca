"""The verdict does not depend on how a spec is written: on names, order or the form of expressions."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from rewriting import Choose, renamed, reordered, rewritten

from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.unparse import unparse
from aligncheck.pipeline import Options, verify_source
from aligncheck.verdict import AlignmentFails, Unknown, name_of

PROJECT = Path(__file__).parents[2]
ALL = sorted(path.relative_to(PROJECT).as_posix() for path in (PROJECT / "specs").rglob("*.dp"))
SECONDS = 60.0


@cache
def spec(path: str) -> n.Mechanism | None:
    """The spec, or None where the file is none (some broken ones are refused by the parser)."""
    try:
        return parse(read_source(str(PROJECT / path)))
    except SpecError:
        return None


def outcome(mechanism: n.Mechanism, path: str) -> str:
    """The verdict and the condition, as an `expect` line says them; calls are found from the spec's place."""
    source = Source(str(PROJECT / path), unparse(mechanism))
    try:
        verdict = verify_source(source, Options(timeout=SECONDS, explain=False))
    except SpecError as error:
        return f"error at {error.diagnostic.code}"
    name = name_of(verdict).lower()
    match verdict:
        case AlignmentFails(condition=condition) | Unknown(condition=condition) if condition is not None:
            return f"{name} at {condition.id}"
        case _:
            return name


def expected(mechanism: n.Mechanism) -> str:
    assert mechanism.expect is not None
    at = mechanism.expect.at
    return mechanism.expect.verdict + (f" at {at}" if at else "")


def everything(mechanism: n.Mechanism, choose: Choose) -> n.Mechanism:
    """Other names, another order and other forms at once."""
    return renamed(reordered(rewritten(mechanism, choose), choose), choose)


SPECS = [path for path in ALL if spec(path) is not None]
REPEATED = settings.default is not None and settings.default.derandomize
FEW, SHARE = (1, 44) if REPEATED else (25, 100)
"""How many examples of how many in a hundred specs: each takes as long as the spec's check.
`--hypothesis-profile=explore` looks at more.
"""


FAILS_TWICE = {
    "specs/broken/svt_sensitivity_two.dp": {"alignment fails at output", "alignment fails at cost"},
    "specs/exponential_mechanism_gumbel.dp": {"unknown at output"},
    "specs/hybrid_topk_gap_exp.dp": {"unknown at cost"},
    "specs/hybrid_topk_gap_monotone.dp": {"unknown at cost"},
    "specs/noisy_topk_gap_exp_monotone.dp": {"unknown at cost"},
    "specs/broken/noisy_topk_gap_exp_published.dp": {"unknown at acyclic"},
    "specs/rappor.dp": {"unknown at cost"},
    "specs/svt_with_measures_split.dp": {"unknown at cost"},
}
"""Two conditions fail; which one the kernel meets first is a matter of how the spec is written. And six
specs whose questions are at the limits of the solver, or of the search for a run: some ways to write them are
not decided.
"""


@pytest.mark.parametrize("path", [path for path in SPECS if crc32(path.encode()) % 100 < SHARE])
@settings(max_examples=FEW, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**16))
def test_another_way_to_write_a_spec_gets_the_same_verdict(path: str, seed: int, exhaustive: bool) -> None:
    """Choices come from a seed: Hypothesis itself would begin with the spec as it is written."""
    if not exhaustive and any(text.startswith("unknown") for text in FAILS_TWICE.get(path, ())):
        pytest.skip("needs --exhaustive: whatever it gets is right")
    mechanism = spec(path)
    assert mechanism is not None
    chance = random.Random(f"{path} {seed}")
    variant = everything(mechanism, chance.randrange)
    note(unparse(variant))
    got, wanted = outcome(variant, path), expected(mechanism)
    assert got == wanted or (path in FAILS_TWICE and got in FAILS_TWICE[path])


SETS = ["hybrid_topk_gap_exp", "noisy_topk_gap_exp", "noisy_topk_gap_exp_monotone"]
"""Witnesses that speak of maxima for which the spec has no name."""

LOOPS = ["dyadic_sums", "hybrid_topk_gap", "noisy_topk_gap", "smart_sum"]


@pytest.mark.parametrize("name", [*SETS, *LOOPS])
def test_witnesses_are_found_whatever_the_names_and_the_order(name: str, exhaustive: bool) -> None:
    if name in SETS[::2] and not exhaustive:
        pytest.skip("needs --exhaustive")
    path, choose = f"specs/{name}.dp", random.Random(name).randrange
    mechanism = spec(path)
    assert mechanism is not None
    variant = renamed(reordered(mechanism, choose), choose)
    assert variant != mechanism
    assert outcome(variant, path) == "verified"


def test_variants_differ_in_every_way() -> None:
    """Else the test above would say little."""
    mechanism = spec("specs/adaptive_svt.dp")
    assert mechanism is not None
    for way in (renamed, reordered, rewritten):
        assert way(mechanism, random.Random(0).randrange) != mechanism
        assert way(mechanism, lambda _: 0) == mechanism or way is renamed
