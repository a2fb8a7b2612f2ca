"""Right specs in many hands' styles: other names, other statements, another order; all must be verified."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from aligncheck.judge import with_proved_callees
from aligncheck.language.check import check
from aligncheck.language.syntax.contract import Contract
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.search.discharge.establish import establish

FOLDER = Path(__file__).parents[1] / "specs" / "styles"
SPECS = sorted(FOLDER.glob("*.dp"))
PROVED: dict[str, Contract] = {}
"""What was proved of mechanisms that are called."""


def test_there_are_many() -> None:
    assert len(SPECS) >= 90


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_is_verified(path: Path) -> None:
    source = read_source(str(path))
    mechanism = with_proved_callees(check(source, parse(source)), source, time.monotonic() + 60, PROVED)
    findings = establish(mechanism, source)
    assert [o.obligation.text for o in findings.open()] == []
