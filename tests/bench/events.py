"""The events of the dissertation's Table 4-2, beside those that `aligncheck test` chooses.

python tests/bench/events.py: for each incorrect mechanism the printed event and pair of inputs, the loss that
500,000 runs on these show with 99 % confidence, and what our own event and pair show. eps = 1.5 as there. Its
t is the Hamming distance to the output without noise, here on the second input (T = 1, N = 1).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import table
from numpy.typing import NDArray

from aligncheck.statistical.pvalue import least_loss

HERE = Path(__file__).parent
EPS, RUNS, BATCH = 1.5, 500_000, 25_000
Truths = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Printed:
    """A row of the table: whether each of many outputs is in the event, given the second input."""

    function: str
    adjacency: str
    event: str
    first: list[int]
    second: list[int]
    holds: Callable[[Any, NDArray[np.float64]], Truths]


def differs_at(count: int) -> Callable[[Any, NDArray[np.float64]], Truths]:
    """At so many places from the output without noise; one that stops there is compared as far as it goes."""

    def holds(output: Any, second: NDArray[np.float64]) -> Truths:
        plain, shown = second >= 1, np.ma.getmaskarray(output)
        if shown.any():  # N = 1: up to the first that is above
            plain = np.where(np.arange(len(plain)) <= plain.argmax(), plain, False)
            ends = ~shown.all(axis=0) & (np.arange(len(plain)) <= plain.argmax())
            same = (np.ma.filled(output, False) == plain) & (shown == ~ends)
            return np.asarray((~same).sum(axis=1) == count)
        return np.asarray((output != plain).sum(axis=1) == count)

    return holds


def late_and_small(output: Any, second: NDArray[np.float64]) -> Truths:
    """Nine times False, then a number from -2.4 to 2.4."""
    falses, value = output
    return np.asarray((falses == 9) & (np.abs(np.ma.filled(value, 9.0)) < 2.4))


ONES, X = [1] * 10, ([1] * 5 + [0] * 5, [0] * 5 + [1] * 5)
ROWS = (
    Printed(
        "noisy_max_value_exponential", "all", "ω < 1", [1] * 5, [0] * 5, lambda out, _: np.asarray(out < 1)
    ),
    Printed(
        "histogram_wrong_scale",
        "one",
        "ω[0] < 1",
        [1] * 5,
        [2, *[1] * 4],
        lambda out, _: np.asarray(out[:, 0] < 1),
    ),
    Printed("isvt1", "all", "t(ω) = 0", ONES, [0] * 5 + [2] * 5, differs_at(0)),
    Printed("isvt2", "all", "t(ω) = 9", *X, differs_at(9)),
    Printed("isvt3", "all", "t(ω) = 0", *X, differs_at(0)),
    Printed("isvt4", "all", "9 False, -2.4 < ω[9] < 2.4", ONES, [0] * 10, late_and_small),
)


def counts(row: Printed, runs: int, seed: int) -> tuple[int, int]:
    """How often the printed event is seen on each input."""
    rng, second = np.random.default_rng(seed), np.array(row.second, dtype=np.float64)
    seen = [0, 0]
    for k, data in enumerate((row.first, row.second)):
        for _ in range(0, runs, BATCH):
            outputs = getattr(table, row.function)(np.array(data, dtype=np.float64), EPS, BATCH, rng)
            seen[k] += int(row.holds(outputs, second).sum())
    return seen[0], seen[1]


def shown(row: Printed, runs: int = RUNS, seed: int = 1) -> tuple[int, int, float]:
    """The counts, and the loss that the printed event shows, in the direction in which there is more."""
    first, second = counts(row, runs, seed)
    more, less = max(first, second), min(first, second)
    return first, second, least_loss(more, less, runs, 0.01, np.random.SeedSequence(seed))


def main() -> None:
    print("| mechanism | event there | inputs there | seen | loss | our event | our inputs | loss |")
    print("|---|---|---|---|---|---|---|---|")
    for row in ROWS:
        first, second, loss = shown(row)
        command = [
            sys.executable,
            "-m",
            "aligncheck",
            "test",
            f"{HERE / 'table.py'}:{row.function}",
            "--json",
        ]
        options = ["--eps", str(EPS), "--adjacency", row.adjacency, "--seed", "0"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)
        ours = found["claimed"]
        pair, other = (
            " / ".join("".join(f"{x:g}" for x in data) for data in two)
            for two in ((row.first, row.second), (ours["D"], ours["D_prime"]))
        )
        event = ours["event"].replace("False", "F").replace("True", "T")
        print(
            f"| {row.function} | {row.event} | {pair} | {first:,}, {second:,} | {loss:.2f} "
            f"| {event} | {other} | {found['least_loss']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
