"""Prints how far estimates from gaps are off: `python tests/bench/estimates.py` (not a test).

Compiled mechanisms in their exact modes, with seeded bits, on answers that are far apart, so that which are
released does not depend on the noise: then an estimate is unbiased, has the standard error that it names, and
its lower bound holds as often as its noise says (more often than the confidence, where noise is discrete).
Gaps between ranks a and b are set beside 16 k²/ε² (VLDB paper, section 5.1).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / "tests"))

from compile_all import SPECS, compiled  # noqa: E402 - runs as a script, beside the package

from aligncheck.compiler.modes import RunMode  # noqa: E402
from aligncheck.runtime import Estimate  # noqa: E402

CONFIDENCE = 0.95
APART = 10_000
THRESHOLD = (
    "svt_with_gap_geometric",
    "adaptive_svt_geometric",
    "adaptive_svt_geometric_monotone",
    "svt_discrete",
)
HYBRIDS = ("hybrid_topk_gap", "hybrid_topk_gap_exp", "hybrid_topk_gap_monotone", "hybrid_sparse_gap")
RANKS = ("noisy_topk_gap", "noisy_topk_gap_exp", "noisy_topk_gap_monotone")
ANSWERS = [5 * APART, APART, 4 * APART, 2 * APART, 3 * APART]


def class_of(name: str) -> Any:
    text = compiled(SPECS / f"{name}.dp", RunMode.LATTICE if "svt" in name else RunMode.REFINED)
    space: dict[str, Any] = {"__name__": f"generated {name}"}
    exec(compile(text, f"{name}.py", "exec", dont_inherit=True), space)
    return next(v for v in reversed(space.values()) if isinstance(v, type) and hasattr(v, "spec"))


def estimates(name: str, runs: int) -> Iterator[tuple[float, Estimate]]:
    """True answers (or differences of them) with their estimates."""
    cls = class_of(name)
    few = APART * 5 // 2  # three answers are above it
    given = {"T": few, "t": few, "m": 1, "g": 1, "k": 4 if name in HYBRIDS else 3, "eps": 1}
    wanted = {p.keyword: given[p.name] for p in cls.spec.parameters if p.name in given}
    for seed in range(runs):
        result = cls(**wanted, testing_seed=seed + (crc32(name.encode()) << 20))(ANSWERS)
        if name in RANKS:
            yield 2 * APART, result.gap_between(1, 3)
            continue
        for place, (record, estimate) in enumerate(zip(result.records, result.estimates, strict=True)):
            index = getattr(record, "index", place) - (name in HYBRIDS and "topk" in name)
            if estimate is not None:
                yield ANSWERS[index], estimate  # the first: those of one run share the threshold's noise
                break


def row(name: str, found: Iterable[tuple[float, Estimate]]) -> str:
    errors, held, claimed = [], [], []
    for truth, estimate in found:
        errors.append((float(estimate.value) - truth) / estimate.standard_error)
        held.append(estimate.lower_bound(CONFIDENCE) <= truth)
        claimed.append(estimate.noise.probability_at_most(estimate.noise.exact_margin(CONFIDENCE)))
    n = len(errors)
    mean, variance = sum(errors) / n, sum(e * e for e in errors) / n
    off = f"{mean:+.3f} ± {1 / math.sqrt(n):.3f} | {variance:.3f}"
    shares = (f"{100 * sum(each) / n:.1f} %" for each in (held, claimed))
    return f"| {name} | {estimate.standard_error:.2f} | {off} | {' | '.join(shares)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print("| spec | standard error | mean error in those | mean square | bounds held | should hold |")
    print("|---|---|---|---|---|---|")
    for name in (*THRESHOLD, *HYBRIDS, *RANKS):
        print(row(name, estimates(name, runs)), flush=True)


if __name__ == "__main__":
    main()
