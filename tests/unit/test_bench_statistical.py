"""The mechanisms of the dissertation's Table 4-3: the incorrect ones are found out, the correct are not."""

from __future__ import annotations

import json

import pytest
from statistical import HERE, ROWS, Row

from aligncheck.cli import main


@pytest.mark.parametrize("row", ROWS, ids=[row.function for row in ROWS])
def test_the_finding_is_as_it_should_be(row: Row, capfd: pytest.CaptureFixture[str]) -> None:
    """With an eighth of the runs of the benchmark."""
    arguments = ["--eps", "0.7", "--adjacency", row.adjacency, "--runs", "60000", "--selection", "20000"]
    status = main(["test", f"{HERE / 'table.py'}:{row.function}", *arguments, "--seed", "1", "--json"])
    found = json.loads(capfd.readouterr().out)
    assert (status, found["finding"]) == ((0, "no evidence") if row.private else (1, "evidence"))
    # What one event shows is at most the mechanism's level.
    assert not row.private or found["least_loss"] <= 0.7
