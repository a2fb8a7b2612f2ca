"""Other projects' programs as they are written there (a suite, and one of each kind of the others), and
small ones as people write them, each beside one that is not private.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from aligncheck.expect import expectation_in
from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.verdict import Verified

PEERS = Path(__file__).parents[1] / "specs" / "peers"
KINDS = (
    "dpfinder/alg2",
    "dpgen/sparse_vector_inverse",
    "freegap/gap_svt_estimates",
    "freegap/gap_topk_estimates",
    "freegap/hybrid_topk",
    "sampcert/MaxBin",
    "shadowdp/prefixsum",
)
WRITTEN = sorted((PEERS.parent / "written").glob("*.dp"))
SPECS = [*sorted((PEERS / "checkdp").glob("*.dp")), *(PEERS / f"{kind}.dp" for kind in KINDS), *WRITTEN]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_is_verified_if_it_is_private(path: Path) -> None:
    wanted = expectation_in(path.read_text("utf-8"))
    source = read_source(str(path))
    verdict = judge(check(source, parse(source)), source, time.monotonic() + 60, explain=False, search=False)
    assert wanted is not None
    assert isinstance(verdict, Verified) == (wanted.verdict == "verified"), verdict
