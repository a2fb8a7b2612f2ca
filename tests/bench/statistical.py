"""Times of `aligncheck test` on the mechanisms of the dissertation's Table 4-3, beside the times given there.

Run it on an idle machine: python tests/bench/statistical.py
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Row:
    """A mechanism of table.py, its adjacency, the seconds of Table 4-3; whether it keeps what it claims."""

    function: str
    adjacency: str
    seconds: float
    private: bool


ROWS = (
    Row("noisy_max", "all", 4.32, True),
    Row("noisy_max_value", "all", 9.49, False),
    Row("noisy_max_exponential", "all", 4.25, True),
    Row("noisy_max_value_exponential", "all", 8.70, False),
    Row("histogram", "one", 10.39, True),
    Row("histogram_wrong_scale", "one", 11.28, False),
    Row("svt", "all", 1.99, True),
    Row("isvt1", "all", 1.62, False),
    Row("isvt2", "all", 4.56, False),
    Row("isvt3", "all", 2.56, False),
    Row("isvt4", "all", 22.97, False),
)

AIM = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eps", default="0.7", help="claimed and tested (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="of which the median is shown")
    args = parser.parse_args()
    print(f"eps = {args.eps}, 500,000 runs for the test, 100,000 for selection; seconds, start-up included;")
    print("cpu: of all processes together, which a busy machine changes less")
    columns = ("log10 p", "loss >=", "cpu", "seconds", "there", "ratio")
    print(f"{'mechanism':<30}{'finding':<13}" + "".join(f"{name:>10}" for name in columns))
    for row in ROWS:
        times, used = [], []
        found: dict[str, Any] = {}
        for seed in range(args.repeats):
            start, before = time.perf_counter(), cpu_seconds()
            command = [sys.executable, "-m", "aligncheck", "test", f"{HERE / 'table.py'}:{row.function}"]
            options = ["--eps", args.eps, "--adjacency", row.adjacency, "--seed", str(seed), "--json"]
            done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
            times.append(time.perf_counter() - start)
            used.append(cpu_seconds() - before)
            found = json.loads(done.stdout)
        seconds = statistics.median(times)
        power, loss = found["claimed"]["log10_p_value"], found["least_loss"]
        wrong = "  not as it should be" if (found["finding"] == "evidence") == row.private else ""
        slow = "  above the aim" if seconds > AIM else ""
        numbers = (
            f"{power:.1f}",
            f"{loss:.3f}",
            f"{statistics.median(used):.2f}",
            f"{seconds:.2f}",
            f"{row.seconds:.2f}",
            f"{row.seconds / seconds:.1f}",
        )
        line = f"{row.function:<30}{found['finding']:<13}" + "".join(f"{number:>10}" for number in numbers)
        print(line + wrong + slow, flush=True)


def cpu_seconds() -> float:
    """Of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
