"""Right specs in many hands' styles: other names, other statements, another order; all must be verified."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.report.cost import invariants_of
from aligncheck.verdict import Verified

FOLDER = Path(__file__).parents[1] / "specs" / "styles"
SPECS = sorted(FOLDER.glob("*.dp"))


def test_there_are_many() -> None:
    assert len(SPECS) >= 90


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_is_verified(path: Path) -> None:
    source = read_source(str(path))
    mechanism = check(source, parse(source))
    verdict = judge(mechanism, source, time.monotonic() + 60, explain=False, search=False)
    assert isinstance(verdict, Verified), verdict


def test_what_is_said_of_later_records_is_told_with_the_proof() -> None:
    source = read_source(str(next(path for path in SPECS if path.stem == "at_index_only")))
    verdict = judge(check(source, parse(source)), source, time.monotonic() + 60, explain=False, search=False)
    assert isinstance(verdict, Verified)
    assert "loop 1: len(out) <= $records or out[$records].value >= i" in invariants_of(verdict)
