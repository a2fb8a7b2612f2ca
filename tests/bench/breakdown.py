"""Prints where exact top-k spends its time: `python tests/bench/breakdown.py` (not a test).

Tables 5 and 6 of the secure-implementation paper, for its own algorithm as plain Python
(tests/top_with_gap.py, with early pruning and M = 10) and for the mechanism that `aligncheck compile
--mode refined` makes of the same: parts of the time, how many candidates are left after each pass, how often
each sampler is called. Answers are the 41,270 synthetic counts of exact.py.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import secrets
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import exact
import top_with_gap
from exact import EPS, GAMMA, REFINEMENT, STEPS, CountingBits, N, counts


@dataclass(slots=True)
class Watch:
    """What a run of the plain algorithm did: calls of its parts, pools, and when each pass ended."""

    calls: Counter[str] = field(default_factory=Counter)
    pools: list[int] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)


def watched(k: int) -> tuple[Watch, float, float]:
    """A run of the plain algorithm, its start and its end. Its parts count their calls meanwhile."""
    watch, parts = Watch(), {}

    def counting(name: str) -> Any:
        part = parts[name] = getattr(top_with_gap, name)

        def counted(*args: Any) -> Any:
            watch.calls[name] += 1
            return part(*args)

        return counted

    def uniform(below: int) -> int:
        watch.calls["uniform"] += 1
        return secrets.randbelow(below)

    def pruned(noisy: list[tuple[int, int]], k: int) -> list[tuple[int, int]]:
        pool: list[tuple[int, int]] = parts["pruned"](noisy, k)
        watch.pools.append(len(pool))
        watch.passes.append(time.perf_counter())
        return pool

    parts["pruned"] = top_with_gap.pruned
    answers = (counts(N) * STEPS).tolist()
    rate = Fraction(EPS, 2 * k * STEPS)
    for name in ("geometric", "bernoulli_exp"):
        setattr(top_with_gap, name, counting(name))
    top_with_gap.pruned = pruned
    try:
        start = time.perf_counter()
        top_with_gap.top_with_gap(answers, k, rate.numerator, rate.denominator, uniform, M=REFINEMENT)
        return watch, start, time.perf_counter()
    finally:
        for name, part in parts.items():
            setattr(top_with_gap, name, part)


def plain(k: int, rounds: int) -> tuple[str, Watch]:
    """Milliseconds for the possible top k, for ties, for gaps: medians; and one of the runs."""
    runs = [watched(k) for _ in range(rounds)]
    parts = [(w.passes[0] - start, w.passes[-1] - w.passes[0], end - w.passes[-1]) for w, start, end in runs]
    medians = [1000 * statistics.median(column) for column in zip(*parts, strict=True)]
    return " | ".join(f"{ms:.2f}" for ms in medians), runs[0][0]


def compiled_parts(mechanism: Any, k: int, most: int = 12) -> tuple[list[str], int]:
    """The runtime's functions by time of their own, with their calls; and how many random bytes were read."""
    answers = counts(N)
    mechanism(k=k, eps=EPS, gamma=GAMMA)(answers)  # warm
    profile = cProfile.Profile()
    profile.runcall(lambda: mechanism(k=k, eps=EPS, gamma=GAMMA)(answers))
    stats: Any = pstats.Stats(profile)
    rows = sorted(stats.stats.items(), key=lambda row: -row[1][2])[:most]
    bits = CountingBits()
    exact.selection(answers, k, bits)
    lines = [
        f"| `{Path(file).stem}.{name}` | {calls} | {1000 * own:.2f} | {1000 * whole:.2f} |"
        for (file, _, name), (_, calls, own, whole, _) in rows
    ]
    return lines, bits.count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--k", type=int, nargs="+", default=[25, 50, 100, 200, 400, 800])
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    print("| k | possible top k, ms | ties, ms | gaps, ms | pools | geometric | Bernoulli | uniform |")
    print("|---|---|---|---|---|---|---|---|")
    for k in chosen.k:
        parts, run = plain(k, chosen.rounds)
        pools = ", ".join(map(str, run.pools))
        calls = " | ".join(f"{run.calls[name]:,}" for name in ("geometric", "bernoulli_exp", "uniform"))
        print(f"| {k} | {parts} | {pools} | {calls} |", flush=True)
    mechanism = exact.compiled()
    for k in (chosen.k[0], chosen.k[-1]):
        lines, read = compiled_parts(mechanism, k)
        print(f"\nk = {k}, compiled, profiled (slower than it is); {read:,} random bytes for the selection")
        print("| function | calls | own ms | with what it calls, ms |\n|---|---|---|---|")
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
