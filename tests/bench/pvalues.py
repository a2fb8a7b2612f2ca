"""Prints how often a gap beside a wrong choice misleads: `python tests/bench/pvalues.py` (not a test).

The set-up is that of the dissertation, section 5.8.4: utilities are 100 counts, eps is so small that the
exponential mechanism often misses the best one. Where it does, how often is the p-value of Theorem 5.14,
2/(1 + e^gap), at most the significance (Figure 5-9)? It must be no more often than that. And the mean of the
gap beside Theorem 5.13, (1 + e^-theta) ln(1 + e^theta), theta being the location for the winner of each run.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gaps
from gaps import DATA, SPECS, read_counts

from aligncheck.execute.load import load
from aligncheck.runtime import FloatingNoise, choice_p_value, expected_choice_gap

SPEC = SPECS / "exponential_mechanism_gap.dp"
LEVELS = (0.05, 0.01)
UTILITIES = 100


def location(utilities: Sequence[float], winner: int, eps: float, sensitivity: float = 1) -> float:
    """theta of Algorithm 21: the winner's scaled utility less the logarithm of the others' weights."""
    scaled = [eps * u / (2 * sensitivity) for u in utilities]
    others = [s for i, s in enumerate(scaled) if i != winner]
    top = max(others)
    return scaled[winner] - top - math.log(math.fsum(math.exp(s - top) for s in others))


@dataclass(frozen=True, slots=True)
class Row:
    """Of n runs: how many missed the best utility; of those the shares with a p-value of at most each level;
    the mean gap, its standard error, and the mean of what Theorem 5.13 says for the winners.
    """

    missed: int
    wrong: tuple[float, ...]
    gap: float
    error: float
    theory: float


def measure(made: Any, utilities: Sequence[int], eps: float, runs: int, source: FloatingNoise) -> Row:
    mechanism, best = made(Delta=1, eps=eps), max(utilities)
    theory = [expected_choice_gap(location(utilities, i, eps)) for i in range(len(utilities))]
    released, expected, misleading = [], [], []
    for _ in range(runs):
        (record,) = mechanism.with_noise(source)(utilities).records
        released.append(float(record.gap))
        expected.append(theory[record.index])
        if utilities[record.index] < best:
            misleading.append(choice_p_value(released[-1]))
    shares = tuple(
        sum(p <= level for p in misleading) / len(misleading) if misleading else math.nan for level in LEVELS
    )
    return Row(
        len(misleading),
        shares,
        statistics.fmean(released),
        statistics.stdev(released) / math.sqrt(runs),
        statistics.fmean(expected),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--data", type=Path, default=DATA[0], help="CSV with a column `count`")
    parser.add_argument("--spread", default="1,2,4,8,16", help="eps times the largest utility")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    counts = read_counts(chosen.data)
    utilities = random.Random(chosen.seed).sample(counts, min(UTILITIES, len(counts)))
    made = load(str(SPEC), gaps._checked)
    what = f"{len(utilities)} counts of {chosen.data.stem}, largest {max(utilities)}"
    print(f"{what}, {chosen.runs} runs for each eps")
    print("| eps | not the best | of these p <= 0.05 | p <= 0.01 | mean gap | Theorem 5.13 |")
    print("|---|---|---|---|---|---|")
    for spread in map(float, chosen.spread.split(",")):
        eps = spread / max(utilities)
        row = measure(made, utilities, eps, chosen.runs, FloatingNoise(chosen.seed))
        five, one = row.wrong
        print(
            f"| {eps:.2g} | {row.missed} | {100 * five:.2f} % | {100 * one:.2f} %"
            f" | {row.gap:.4f} ± {row.error:.4f} | {row.theory:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
