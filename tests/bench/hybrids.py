"""Prints what hybrids of sparse vector and top-k save: `python tests/bench/hybrids.py` (not a test).

The set-up is that of the dissertation, section 5.8.3: the 12th largest count as threshold, k from 2 to 24, a
budget of 0.7; the specs are those for any queries, under exponential noise as published, with the threshold's
share 1/(1 + (4k²)^(1/3)). Two questions: the percent of the budget that is left (Figure 5-7), and the mean of
the true answers of what was returned (Figure 5-8). Without noise, with m answers above the threshold and
k > m,

* hybrid top-k returns them and the threshold, and leaves 1 - (m + 1)/k;
* hybrid sparse vector leaves (1 - theta)(1 - m/k),

so that the former leaves more exactly where 1/k < theta(1 - m/k).
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gaps
from gaps import DATA, EPS, SPECS, ranked, read_counts

from aligncheck.execute.load import load
from aligncheck.runtime import FloatingNoise

RANK = 12
"""Of the threshold among the counts, from the largest."""


def share(k: int) -> float:
    """The best share of the threshold for any queries. Source: dissertation, section 5.4.1."""
    return 1 / (1 + math.cbrt(4 * k**2))


@dataclass(frozen=True, slots=True)
class Side:
    """A mechanism, its parameters at k and T, the indices of the answers in its records, and what is left
    of the budget, as a share, after t records at k.
    """

    name: str
    spec: Path
    parameters: Callable[[int, int], dict[str, float]]
    found: Callable[[Sequence[Any]], list[int]]
    left: Callable[[int, int], float]


def _of_stream(records: Sequence[Any]) -> list[int]:
    return [i for i, record in enumerate(records) if record.tag == "top"]


def _of_threshold_first(records: Sequence[Any]) -> list[int]:
    return [record.index - 1 for record in records if record.index > 0]


def _of_indices(records: Sequence[Any]) -> list[int]:
    return [record.index for record in records]


SIDES = (
    Side(
        "hybrid top-k",
        SPECS / "hybrid_topk_gap_exp.dp",
        lambda k, T: {"T": T, "k": k},
        _of_threshold_first,
        lambda k, t: 1 - t / k,
    ),
    Side(
        "hybrid sparse vector",
        SPECS / "hybrid_sparse_gap.dp",
        lambda k, T: {"T": T, "k": k, "theta": share(k)},
        _of_indices,
        lambda k, t: (1 - share(k)) * (1 - t / k),
    ),
    Side("top-k", SPECS / "noisy_topk_gap_exp.dp", lambda k, T: {"k": k}, _of_indices, lambda k, t: 0.0),
    Side(
        "sparse vector",
        SPECS / "svt_with_gap_exponential.dp",
        lambda k, T: {"T": T, "k": k, "theta": share(k)},
        _of_stream,
        lambda k, t: (1 - share(k)) * (1 - t / k),
    ),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Means over runs: the share of the budget that is left, and the true answers of what was returned."""

    left: float
    answer: float


def measure(side: Side, made: Any, counts: Sequence[int], k: int, runs: int, source: FloatingNoise) -> Row:
    mechanism = made(**side.parameters(k, ranked(counts, RANK)), eps=EPS)
    left, answers = [], []
    for _ in range(runs):
        records = mechanism.with_noise(source)(counts).records
        paid = [record for record in records if getattr(record, "tag", "") != "bottom"]
        found = side.found(records)
        left.append(side.left(k, len(paid)))
        if found:
            answers.append(statistics.fmean(counts[i] for i in found))
    return Row(statistics.fmean(left), statistics.fmean(answers) if answers else math.nan)


def noiseless(k: int, above: int = RANK) -> tuple[float, float]:
    """What hybrid top-k and hybrid sparse vector leave where `above` answers are far above the threshold and
    all others far below it.
    """
    if k <= above:
        return 0.0, 0.0
    return 1 - (above + 1) / k, (1 - share(k)) * (1 - above / k)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200, help="repetitions for each k (default: 200)")
    parser.add_argument("--ks", default="2,6,12,14,18,24")
    parser.add_argument("--data", type=Path, action="append", help="CSV with a column `count`")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    made = [load(str(side.spec), gaps._checked) for side in SIDES]
    for path in chosen.data or DATA:
        counts = read_counts(path)
        print(f"== {path.stem}: threshold {ranked(counts, RANK)}, eps = {EPS}, {chosen.runs} runs")
        print(
            "| k | " + " | ".join(f"{side.name}: left, answer" for side in SIDES) + " | left without noise |"
        )
        print("|---|" + "---|" * (len(SIDES) + 1))
        for k in map(int, chosen.ks.split(",")):
            rows = [
                measure(side, each, counts, k, chosen.runs, FloatingNoise(chosen.seed + k))
                for side, each in zip(SIDES, made, strict=True)
            ]
            cells = [f"{100 * row.left:.1f} %, {row.answer:,.0f}" for row in rows]
            one, other = noiseless(k)
            print(
                f"| {k} | " + " | ".join(cells) + f" | {100 * one:.1f} %, {100 * other:.1f} % |", flush=True
            )


if __name__ == "__main__":
    main()
