"""Specs of which something untrue was once said beside the verdict; each has an `expect` line."""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck.expect import compare
from aligncheck.pipeline import Options, verify_file

FOLDER = Path(__file__).parents[1] / "specs" / "statements"
SPECS = sorted(FOLDER.glob("*.dp"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_agrees_with_its_expectation(path: Path) -> None:
    compared = compare(verify_file(str(path), Options(timeout=20)))
    assert compared.agrees, (compared.wanted, compared.got, compared.why)
