"""Right specs in many hands' styles: other names, other statements, another order; all must be verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck.check import check
from aligncheck.discharge.establish import establish
from aligncheck.syntax.parse import parse, read_source

FOLDER = Path(__file__).parents[1] / "specs" / "styles"
SPECS = sorted(FOLDER.glob("*.dp"))


def test_there_are_many() -> None:
    assert len(SPECS) >= 90


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_is_verified(path: Path) -> None:
    source = read_source(str(path))
    findings = establish(check(source, parse(source)), source)
    assert [o.obligation.text for o in findings.open()] == []
