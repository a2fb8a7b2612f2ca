"""Writes synthetic item counts: `python tests/bench/synthetic.py DIRECTORY` (not a test).

The papers measure on BMS-POS, Kosarak and T40I10D100K, which are not part of the project. These lists
have their numbers of items and no more transactions (dissertation, Table 5-3) and a heavy tail; all
else is chosen here: the r-th largest count is share * transactions * (1 + (r - 1)/knee)^-slope, rounded down,
and the items are in a seeded random order. What is measured on them is measured on synthetic data.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Shape:
    """A list of item counts: `share` of the transactions have the most frequent item."""

    name: str
    transactions: int
    items: int
    share: float
    knee: float
    slope: float

    def counts(self, seed: int = 1) -> list[int]:
        """Whole numbers from 0 to `transactions`, one for each item."""
        falling = [
            int(self.share * self.transactions * (1 + r / self.knee) ** -self.slope)
            for r in range(self.items)
        ]
        random.Random(seed).shuffle(falling)
        return falling


SHAPES = (
    Shape("synthetic_bms_pos", 515_597, 1_657, 0.4, 5, 1.2),
    Shape("synthetic_kosarak", 990_002, 41_270, 0.6, 1.5, 1.1),
    Shape("synthetic_t40i10d100k", 100_000, 942, 0.28, 150, 1.5),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="of the order of the items (default: 1)")
    chosen = parser.parse_args()
    for shape in SHAPES:
        target = chosen.directory / f"{shape.name}_counts.csv"
        lines = [f"{item},{count}" for item, count in enumerate(shape.counts(chosen.seed))]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("item,count\n" + "\n".join(lines) + "\n", encoding="utf-8")
        print(target)


if __name__ == "__main__":
    main()
