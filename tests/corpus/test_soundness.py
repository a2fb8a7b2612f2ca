"""Specs that once fooled the checker, or tried to: none may ever be VERIFIED (each says why at its head)."""

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
    result = verify_file(str(path), Options(timeout=20, explain=False))
    verdict = result.verdict
    assert not isinstance(verdict, Verified)
    if isinstance(verdict, Unknown):
        assert verdict.condition is not None, verdict.message
    if expectation_of(result) is not None:
        assert compare(result).agrees, compare(result)
