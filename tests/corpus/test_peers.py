"""Other projects' programs as they are written there (a sample of each suite), and small ones as people
write them, each beside one that is not private.
"""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from aligncheck.expect import expectation_in
from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.verdict import Verified

PEERS = Path(__file__).parents[1] / "specs" / "peers"
SAMPLE = (
    "checkdp/badnoisymax",
    "checkdp/badsparsevector1",
    "checkdp/noisymax",
    "checkdp/svt_decreasing",
    "dpfinder/alg2",
    "dpfinder/alg5",
    "dpgen/gap_sparse_vector",
    "dpgen/sparse_vector_inverse",
    "dpsniper/LaplaceParallel",
    "dpsniper/NoisyHist2",
    "dpsniper/ReportNoisyMax3",
    "dpsniper/TruncatedGeometric",
    "freegap/gap_svt_estimates",
    "freegap/gap_topk_estimates",
    "freegap/hybrid_svt",
    "freegap/hybrid_topk",
    "sampcert/BoundedMean",
    "sampcert/MaxBin",
    "shadowdp/prefixsum",
    "shadowdp/sparsevectorN",
    "statdp/SVT",
    "statdp/iSVT1",
    "statdp/iSVT3",
    "statdp/noisy_max_v2a",
)
"""Of each suite; `SVT` of the last one is proved on the general route. All: `tests/bench/peers.py`."""
WRITTEN = sorted((PEERS.parent / "written").glob("*.dp"))
SPECS = [*(PEERS / f"{name}.dp" for name in SAMPLE), *WRITTEN]


def test_the_sample_has_programs_of_each_suite() -> None:
    suites = {path.name for path in PEERS.iterdir() if path.is_dir()}
    assert {name.partition("/")[0] for name in SAMPLE} == suites


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_is_verified_if_it_is_private(path: Path) -> None:
    wanted = expectation_in(path.read_text("utf-8"))
    source = read_source(str(path))
    verdict = judge(check(source, parse(source)), source, time.monotonic() + 60, explain=False, search=False)
    assert wanted is not None
    assert isinstance(verdict, Verified) == (wanted.verdict == "verified"), verdict


@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 4), (3, 5)])
def test_the_table_of_truncated_geometric_noise_is_that_of_clipped_noise(k: int, n: int) -> None:
    """GeoSample as DP-Sniper has it, by whole numbers, beside `clip(c + eta, 0, n)` with `DLap` noise."""
    base, d = 2**k + 1, (2 ** (k + 1) + 1) * (2**k + 1) ** (n - 1)
    fall = Fraction(2**k, base)
    for c in range(n + 1):
        below = [2 ** (k * (c - z)) * base ** (n - (c - z)) for z in range(c)]
        beyond = [d - 2 ** (k * (z - c + 1)) * base ** (n - 1 - (z - c)) for z in range(c, n)]
        table = [Fraction(high - low, d) for low, high in pairwise([0, *below, *beyond, d])]
        at_an_end = [1 - fall if 0 < z < n else Fraction(1) for z in range(n + 1)]
        assert table == [fall ** abs(z - c) * at_an_end[z] / (1 + fall) for z in range(n + 1)]
