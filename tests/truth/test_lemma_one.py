"""Lemma 1 replayed, for every verified spec of the repository; and that replays find what is wrong.

Neither interpreter nor replay shares code with the prover: a spec that is VERIFIED but has a fault here would
be unsound. (What the generator yields is replayed in `brute`; `tests/corpus` runs `refute` on every spec.)
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from brute import checked
from draft import Draft, Part
from generated import no_guard, no_shift, other_shift, other_sign, written
from lemma_one import Looked, determinant, faults, first_fault
from parts_deceptive import crossed, merged
from small_specs import checked as read

from aligncheck.expect import expectation_in
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.syntax.walk import has_densities

GENERAL = {
    "range_alarm",
    "noisy_topk_gap_exp",
    "noisy_topk_gap_exp_monotone",
    "hybrid_topk_gap_exp",
    "exponential_mechanism_gumbel",
}
"""Verified by the general theorem: their shifts depend on their own draws."""
SPECS = Path(__file__).parents[2] / "specs"


AVERAGED = [path for path in sorted(SPECS.glob("delta/*.dp")) if "\nalign\n  " in path.read_text("utf-8")]
"""Claims in δ and ρ with an alignment: all but what it costs is asked of it as of others."""
VERIFIED = [
    path
    for path in sorted(SPECS.glob("*.dp")) + AVERAGED
    if "\nexpect verified" in path.read_text("utf-8")
    and not has_densities(parse(read_source(str(path))).body)
]
"""Those that draw by densities have no alignment; `test_density_rule` looks at their densities."""


FEWER_IMAGES = {"online_pmw_redrawn": 4, "noisy_max_random_ties": 3}
"""Specs whose runs seldom come to an end with all draws, or have few that are moved, so that fewer images are
compared.
"""
FEWER_RUNS = {"private_selection": 7, "redrawn_count": 7}
"""Specs without noise of their own: one run for each pair."""


@pytest.mark.parametrize("path", VERIFIED, ids=lambda path: path.stem)
def test_a_verified_alignment_has_no_fault(path: Path, exhaustive: bool) -> None:
    mechanism = read(path)
    looked = Looked()
    found = list(faults(mechanism, len(path.stem), looked, 20 if exhaustive else 1))
    assert not found, str(found[0])
    assert looked.finished >= FEWER_RUNS.get(path.stem, 10)
    assert looked.images >= FEWER_IMAGES.get(path.stem, FEWER_RUNS.get(path.stem, 8))
    assert looked.cycles == 0 or path.stem in GENERAL


SHOWN_AS = {"injective": ("one image for two noise vectors", "volumes change")}
"""How a condition is named that a replay does not know by its own name."""
NOT_SHOWN = {
    "cyclic_shifts": "a collision that only a search for it finds",
    "noisy_topk_gap_exp_published": "likewise",
    "noisy_topk_gap_discrete": "ties of few noise vectors",
    "svt_sensitivity_two": "needs answers that move by 2 just beside the threshold",
    "staircase_l1": "needs two answers that move at once",
    "released_gap_shift": "condition v is about uncountably many runs",
}
FAILING = {
    path: expected.at
    for path in sorted((SPECS / "broken").glob("*.dp"))
    if (expected := expectation_in(path.read_text("utf-8"))) is not None
    and expected.verdict == "alignment fails"
    and expected.at is not None
    and path.stem not in NOT_SHOWN
    and "~ Choose(" not in path.read_text("utf-8")
}


@pytest.mark.parametrize("path", FAILING, ids=lambda path: path.stem)
def test_a_broken_alignment_shows_its_fault(path: Path) -> None:
    condition = FAILING[path]
    shown = SHOWN_AS.get(condition, (condition,))
    found = islice(faults(read(path), 1, Looked(), 20), 60)
    assert any(fault.what.startswith(shown) for fault in found)


def test_a_changed_alignment_shows_a_fault() -> None:
    """A shift is left out, has the other sign, is larger or unguarded: nearly always a run shows a fault."""
    tried = shown = 0
    for path in VERIFIED[::6]:
        text = path.read_text("utf-8").partition("\nexpect ")[0] + "\n"
        for change in (no_shift, other_sign, other_shift, no_guard):
            source = Source(str(path), change(text, Random(1)))
            try:
                mechanism = check(source, parse(source))
            except SpecError:
                continue
            if source.text != text:
                tried += 1
                shown += first_fault(mechanism, 1, effort=2) is not None
    assert tried >= 30
    assert shown >= 0.9 * tried


MANY_TO_ONE: tuple[Part, ...] = (merged, crossed)


@pytest.mark.parametrize("part", MANY_TO_ONE, ids=lambda part: part.__name__)
def test_many_to_one_is_noticed(part: Part) -> None:
    found = [
        first_fault(mechanism, seed, effort=4) for seed in range(10) if (mechanism := made_of(part, seed))
    ]
    assert sum(fault is not None and "one image" in fault.what for fault in found) >= len(found) / 2


def test_a_change_of_volume_is_noticed() -> None:
    """Half of what the noise is: one-to-one, and not private."""
    text = (
        "mechanism halved\ninput\n  a : query, sensitivity 1\n  eps : real where eps > 0\nprivacy eps\n"
        "program\n  n ~ Lap(1/eps)\n  if n > -1 and n < 1:\n    emit yes\n  else:\n    emit no\n"
        "align\n  n -= n/2 when n > -1 and n < 1\n"
    )
    mechanism = check(Source("halved.dp", text), parse(Source("halved.dp", text)))
    found = [fault.what for fault in faults(mechanism, 0, Looked(), 2)]
    assert "volumes change by a factor of 1/2" in found


def test_determinants() -> None:
    def of(*rows: tuple[int, ...]) -> Fraction:
        return determinant([list(map(Fraction, row)) for row in rows])

    assert of((2,)) == 2
    assert of((0, 1), (1, 0)) == -1
    assert of((1, 2, 3), (4, 5, 6), (7, 8, 10)) == -3
    assert of((1, 2), (2, 4)) == 0


def made_of(part: Part, seed: int) -> nodes.Mechanism | None:
    draft = Draft(Random(seed))
    part(draft)
    try:
        return checked(written(draft))
    except SpecError:
        return None
