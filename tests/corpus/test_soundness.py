"""Specs that once fooled the checker, or tried to: none may ever be VERIFIED (each says why at its head).

Beside them those that break the letter of Lemma 1 only and are private, by the kernel's theorem: each with a
neighbour, one line apart, that is not private.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck.expect import compare, expectation_of
from aligncheck.pipeline import Options, verify_file
from aligncheck.verdict import Unknown, Verified

FOLDER = Path(__file__).parents[1] / "specs" / "soundness"
SPECS = sorted(FOLDER.glob("*.dp"))


def test_there_are_some() -> None:
    assert len(SPECS) >= 20


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_is_never_verified(path: Path) -> None:
    result = verify_file(str(path), Options(timeout=60, explain=False))
    verdict = result.verdict
    assert not isinstance(verdict, Verified)
    if isinstance(verdict, Unknown):
        assert verdict.condition is not None, verdict.message
    if expectation_of(result) is not None:
        assert compare(result).agrees, compare(result)


PRIVATE = FOLDER.parent / "private"
NAMES = sorted(path.stem.removesuffix("_ok") for path in PRIVATE.glob("*_ok.dp"))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_private_is_verified_and_its_neighbour_is_not(name: str) -> None:
    texts = [(PRIVATE / f"{name}_{which}.dp").read_text("utf-8") for which in ("ok", "bad")]
    good, bad = (
        [line for line in text.splitlines() if not line.startswith(("#", "expect"))] for text in texts
    )
    assert sum(one != other for one, other in zip(good, bad, strict=True)) == 1
    for which in ("ok", "bad"):
        result = verify_file(str(PRIVATE / f"{name}_{which}.dp"), Options(timeout=60, explain=False))
        assert isinstance(result.verdict, Verified) is (which == "ok"), result.verdict
        assert compare(result).agrees, compare(result)
