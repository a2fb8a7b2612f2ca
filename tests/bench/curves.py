"""Draws Figures 4-2 to 4-4 of the dissertation: `python tests/bench/curves.py DIRECTORY` (not a test).

One plot for each mechanism of its Table 4-3 (table.py): the p-value against the level that is tested, one
curve for each claim 0.2, 0.7 and 1.5. Also prints up to which tested level each is rejected, beside where the
dissertation's text says that the line rises. As there, 500,000 runs for the test and 100,000 for choosing
the event, unless `--runs` and `--selection` say otherwise.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from statistical import ROWS
from statistical import Row as Mechanism

from aligncheck.language.adjacencies import Adjacency
from aligncheck.statistical.patterns import pairs
from aligncheck.statistical.plan import Plan, Setup
from aligncheck.statistical.reference import reference
from aligncheck.statistical.results import Tested
from aligncheck.statistical.tester import run_test

HERE = Path(__file__).parent
CLAIMS = (0.2, 0.7, 1.5)
COLOURS = ("#1f5a96", "#c25b12", "#3b7d3b")
BELOW_CLAIM = dict.fromkeys(CLAIMS, "just below the claim")
RISES: dict[str, dict[float, str]] = {
    "noisy_max": BELOW_CLAIM,
    "noisy_max_exponential": BELOW_CLAIM,
    "noisy_max_value": {0.2: "0.4", 0.7: "well above", 1.5: "well above"},
    "noisy_max_value_exponential": {0.2: "well above", 0.7: "beyond 2.2", 1.5: "beyond 2.2"},
    "histogram": BELOW_CLAIM,
    "histogram_wrong_scale": {0.2: "above", 0.7: "above", 1.5: "0.6"},
    "svt": dict.fromkeys(CLAIMS, "at the claim"),
    "isvt1": dict.fromkeys(CLAIMS, "beyond 2.2"),
    "isvt2": {0.2: "0.5", 0.7: "2.1", 1.5: "3.0"},
    "isvt3": {0.2: "0.3", 0.7: "1.1", 1.5: "2.3"},
    "isvt4": dict.fromkeys(CLAIMS, "above the claim"),
}
"""Where the line rises, as sections 4.4.1 to 4.4.3 of the dissertation say."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A mechanism that claims `claim`, tested at rising levels."""

    claim: float
    tested: Tested

    @property
    def rejected(self) -> str:
        """Up to which of the tested levels it is rejected."""
        found = self.tested.violated_up_to
        last = self.tested.levels[-1].eps
        return "none" if found is None else f"{found:g}" + (" (the last)" if found == last else "")


def levels(claim: float, step: float) -> tuple[float, ...]:
    """From `step` on, beyond the claim by as much again, and at least up to 2.2, as in the figures."""
    most = max(2.2, 2 * claim + 0.2)
    return tuple(round(step * i, 6) for i in range(1, math.floor(most / step + 1e-9) + 1))


def curve(mechanism: Mechanism, claim: float, step: float, runs: int, selection: int, jobs: int) -> Curve:
    (adjacency,) = (known for known in Adjacency if known.value == mechanism.adjacency)
    setup = Setup(reference(f"{HERE / 'table.py'}:{mechanism.function}"), (("eps", str(claim)),))
    plan = Plan(
        setup,
        pairs(adjacency, 1.0, (5, 10)),
        levels(claim, step),
        claim,
        selection,
        runs,
        alpha=0.01,
        seed=1,
        jobs=jobs,
        timeout=60.0,
    )
    return Curve(claim, run_test(plan, lambda stage, done, total: None))


def draw(mechanism: Mechanism, curves: list[Curve], target: Path) -> None:
    """Three curves in one plot, a dashed line at each claim."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "curves", "svg.fonttype": "none"})
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for each, colour in zip(curves, COLOURS, strict=True):
        tested = each.tested.levels
        axes.axvline(each.claim, color=colour, linestyle="--", linewidth=1)
        values = [math.exp(level.log_pvalue) for level in tested]
        axes.plot(
            [level.eps for level in tested],
            values,
            color=colour,
            marker="o",
            markersize=3,
            label=f"claim {each.claim:g}",
        )
    axes.set(
        xlabel="level eps that is tested", ylabel="p-value", ylim=(-0.03, 1.05), title=mechanism.function
    )
    axes.legend(loc="best", frameon=False)
    figure.savefig(target, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, help="where the plots go, one .svg for each mechanism")
    parser.add_argument("--runs", type=int, default=500_000)
    parser.add_argument("--selection", type=int, default=100_000)
    parser.add_argument("--step", type=float, default=0.1, help="between the tested levels (default: 0.1)")
    parser.add_argument("--only", action="append", choices=[row.function for row in ROWS])
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if find_spec("matplotlib") is None:
        parser.error("the plots need matplotlib, which is not installed: pip install 'aligncheck[plot]'")
    chosen.directory.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    print("| mechanism | claim | rejected up to | the line rises there at |\n|---|---|---|---|")
    for mechanism in ROWS:
        if chosen.only and mechanism.function not in chosen.only:
            continue
        curves = [
            curve(mechanism, claim, chosen.step, chosen.runs, chosen.selection, chosen.jobs)
            for claim in CLAIMS
        ]
        for each in curves:
            there = RISES[mechanism.function][each.claim]
            print(f"| {mechanism.function} | {each.claim:g} | {each.rejected} | {there} |", flush=True)
        draw(mechanism, curves, chosen.directory / f"{mechanism.function}.svg")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
