"""Prints what gaps gain on item counts, beside the theory: `python tests/bench/gaps.py` (not a test).

The set-up is that of the dissertation, section 5.8: counting queries, which are monotone; k from 2 to 24;
a total budget of 0.7 (`--eps` takes others, as Figure 2 of the VLDB paper at k = 10). With `--set-up vldb`
it is that of the VLDB paper, section 7: mechanisms for any queries, the split 1 : (2k)^(2/3), the 95 %
quantile as threshold. The mechanisms are compiled from verified specs, the noise is seeded. Four questions:

* Half of the budget selects k answers, by top-k or sparse vector with gap; the other half measures
  them with Laplace noise. By how much does the mean squared error fall where the gaps are used as well?
* How many answers does adaptive sparse vector give for the budget with which sparse vector gives k?
* How much of that budget is left when adaptive sparse vector has given k answers?
* How many of the answers are above the threshold in truth, and how many of those above it are answered?
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aligncheck.compiler.modes import RunMode
from aligncheck.execute.load import CheckedSpec, load
from aligncheck.runtime import FloatingNoise, GapNoise, Mechanism

PROJECT = Path(__file__).parents[2]
SPECS, OWN = PROJECT / "specs", PROJECT / "tests" / "bench" / "specs"
DATA = tuple(PROJECT / "tests" / "data" / f"{name}_counts.csv" for name in ("T10I4D100K", "groceries"))
EPS = 0.7
INSTALL = "the plot needs matplotlib, which is not installed: pip install 'aligncheck[plot]'"


@dataclass(frozen=True, slots=True)
class Noise:
    """A noise family and the mechanisms with it: top-k with gap, sparse vector with gap, its adaptive form.

    `family` is the variance of a draw over that of a Laplace draw of the same scale; `factor` is 1 for
    counts, 2 for any queries, whose noise has twice the scale.
    """

    name: str
    family: float
    topk: Path
    svt: Path
    adaptive: Path
    factor: int = 1

    @property
    def ratio(self) -> float:
        """Var(noise of the selection of top-k)/Var(noise of the measurements), half of the budget each."""
        return self.family * self.factor**2


COUNTS = (
    Noise(
        "Laplace",
        1.0,
        SPECS / "noisy_topk_gap_monotone.dp",
        OWN / "svt_with_gap_theta_monotone.dp",
        SPECS / "adaptive_svt_theta_monotone.dp",
    ),
    Noise(
        "exponential",
        0.5,
        SPECS / "noisy_topk_gap_exp_monotone.dp",
        OWN / "svt_with_gap_exponential_monotone.dp",
        OWN / "adaptive_svt_exponential_monotone.dp",
    ),
)
ANY_QUERIES = (
    Noise(
        "Laplace",
        1.0,
        SPECS / "noisy_topk_gap.dp",
        OWN / "svt_with_gap_theta.dp",
        SPECS / "adaptive_svt_theta.dp",
        factor=2,
    ),
    Noise(
        "exponential",
        0.5,
        SPECS / "noisy_topk_gap_exp.dp",
        SPECS / "svt_with_gap_exponential.dp",
        SPECS / "adaptive_svt_exponential.dp",
        factor=2,
    ),
)
SET_UPS = {"dissertation": COUNTS, "vldb": ANY_QUERIES}


# --- theory -----------------------------------------------------------------------------------------------


def topk_theory(k: int, ratio: float) -> float:
    """The fall of the mean squared error by the gaps of top-k, `ratio` being Var(selection)/Var(measurement).

    (k-1)/(2k) for ratio 1, (2k-2)/(3k) for 1/2. Source: dissertation, Corollary 5.9.1.
    """
    return 1 - (1 + ratio * k) / (k + ratio * k)


def svt_theory(k: int, family: float, factor: int = 1) -> float:
    """The same for sparse vector with the best split. Source: dissertation, section 5.4.3; for any queries
    (`factor` 2) the VLDB paper, section 6.2.
    """
    spread = family * math.pow(1 + math.pow(factor * k, 2 / 3), 3)
    return k**2 / (spread + k**2)


def best_split(k: int, factor: int = 1) -> float:
    """The threshold's share of the budget. Source: dissertation, section 5.4.1."""
    return 1 / (1 + math.pow(factor * k, 2 / 3))


def blue(measured: Sequence[float], gaps: Sequence[float], ratio: float) -> list[float]:
    """The best linear unbiased estimates of k answers from measurements and the k - 1 gaps between them.

    `ratio` is Var(noise of the selection)/Var(noise of the measurements). Source: dissertation, Theorem 5.9.
    """
    k = len(measured)
    shared = sum(measured) + sum((k - r) * gap for r, gap in enumerate(gaps, 1))
    estimates, above = [], 0.0
    for r, alpha in enumerate(measured):
        estimates.append((shared + ratio * k * alpha - k * above) / ((1 + ratio) * k))
        above += gaps[r] if r < len(gaps) else 0.0
    return estimates


# --- measurements -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over runs, and its standard error."""

    value: float
    error: float

    @classmethod
    def mean(cls, values: Sequence[float]) -> Measured:
        if not values:
            return cls(math.nan, math.nan)
        mean = math.fsum(values) / len(values)
        spread = math.fsum((x - mean) ** 2 for x in values)
        return cls(mean, math.sqrt(spread) / len(values))

    @classmethod
    def fall(cls, before: Sequence[float], after: Sequence[float]) -> Measured:
        """1 - sum(after)/sum(before), with one entry per run in both; the error to first order."""
        total = math.fsum(before)
        kept = math.fsum(after) / total
        spread = math.fsum((a - kept * b) ** 2 for a, b in zip(after, before, strict=True))
        return cls(1 - kept, math.sqrt(spread) / total)

    def percent(self) -> str:
        return f"{100 * self.value:5.1f} ± {100 * self.error:3.1f}"


@dataclass(frozen=True, slots=True)
class Adaptive:
    """What sparse vector and its adaptive form released for one k; shares and counts are means over runs.

    `left` and `left_half` are the shares of the budget left after k answers, with the best split and with
    half of the budget for the threshold, over the runs that gave k answers; `short` is the share of the rest.
    """

    svt: Measured
    top: Measured
    mid: Measured
    more: Measured
    left: Measured
    left_half: Measured
    short: float
    quality_svt: Quality
    quality: Quality


@dataclass(frozen=True, slots=True)
class Quality:
    """How well what was answered agrees with what is above the threshold in truth, in means over runs. `f` is
    the F-measure, the harmonic mean of precision and recall.
    """

    precision: Measured
    recall: Measured
    f: Measured

    @classmethod
    def mean(cls, runs: Sequence[tuple[float, float, float]]) -> Quality:
        precision, recall, f = zip(*runs, strict=True) if runs else ((), (), ())
        return cls(Measured.mean(precision), Measured.mean(recall), Measured.mean(f))

    def percents(self) -> str:
        return "  ".join(f"{100 * each.value:5.1f}" for each in (self.precision, self.recall, self.f))


@dataclass(frozen=True, slots=True)
class Row:
    """All measurements for one data set, one noise family and one k."""

    k: int
    eps: float
    topk: Measured
    svt: Measured
    adaptive: Adaptive


@dataclass(frozen=True, slots=True)
class Compiled:
    """The generated classes of a noise family."""

    noise: Noise
    topk: Any
    svt: Any
    adaptive: Any


def compiled(noise: Noise) -> Compiled:
    """Checks and compiles the specs; they run only if they are verified."""
    classes: list[type[Mechanism]] = [load(str(p), _checked) for p in (noise.topk, noise.svt, noise.adaptive)]
    return Compiled(noise, *classes)


def _checked(path: str) -> CheckedSpec:
    """The mode matters little, since the noise that is drawn here is seeded, and in floats."""
    from aligncheck.pipeline import Options, verify_file

    return CheckedSpec(verify_file(path, Options(timeout=300, explain=False)).verdict, RunMode.LATTICE)


def measured_rows(
    made: Compiled,
    counts: Sequence[int],
    settings: Sequence[tuple[int, float]],
    runs: int,
    seed: int,
    jobs: int,
) -> list[Row]:
    """A row for each k and eps, each seeded by its k, in processes that inherit the compiled classes."""
    global _inherited
    if jobs == 1:
        return [measure(made, counts, k, eps, runs, seed + k) for k, eps in settings]
    _inherited = made
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        tasks = [(counts, k, eps, runs, seed + k) for k, eps in settings]
        return pool.starmap(_measure_inherited, tasks, chunksize=1)


_inherited: Compiled | None = None


def _measure_inherited(counts: Sequence[int], k: int, eps: float, runs: int, seed: int) -> Row:
    assert _inherited is not None
    return measure(_inherited, counts, k, eps, runs, seed)


def measure(made: Compiled, counts: Sequence[int], k: int, eps: float, runs: int, seed: int) -> Row:
    source, rng = FloatingNoise(seed), random.Random(seed)
    return Row(
        k,
        eps,
        topk_fall(made, counts, k, runs, source, eps),
        svt_fall(made, counts, k, runs, source, rng, eps),
        adaptivity(made, counts, k, runs, source, rng, eps),
    )


def topk_fall(
    made: Compiled, counts: Sequence[int], k: int, runs: int, source: FloatingNoise, eps: float = EPS
) -> Measured:
    """Half of the budget each. For counts the spec spends eps/2 at its parameter eps, and has the scale
    2k/eps, that of the measurements; for any queries it spends its parameter.
    """
    mechanism = made.topk(k=k, eps=eps / made.noise.factor)
    before, after = [], []
    for _ in range(runs):
        records = mechanism.with_noise(source)(counts).records
        true = [counts[record.index] for record in records]
        measured = [q + float(xi) for q, xi in zip(true, source.laplaces(2 * k / eps, k), strict=True)]
        gaps = [float(record.gap) for record in records[:-1]]
        before.append(_error(measured, true))
        after.append(_error(blue(measured, gaps, made.noise.ratio), true))
    return Measured.fall(before, after)


def svt_fall(
    made: Compiled,
    counts: Sequence[int],
    k: int,
    runs: int,
    source: FloatingNoise,
    rng: random.Random,
    eps: float = EPS,
) -> Measured:
    theta, half, factor = best_split(k, made.noise.factor), eps / 2, made.noise.factor
    gap = GapNoise(factor * k / ((1 - theta) * half), 1 / (theta * half), made.noise.family < 1)
    of_gap, of_measured = gap.standard_deviation**2, 2 * (2 * k / eps) ** 2
    before, after = [], []
    for _ in range(runs):
        T = threshold(made.noise, counts, k, rng)
        records = made.svt(T=T, k=k, theta=theta, eps=half).with_noise(source)(counts).records
        found = [(counts[i], float(r.gap) + T) for i, r in enumerate(records) if r.tag == "top"]
        if not found:
            continue
        true = [q for q, _ in found]
        measured = [
            q + float(xi) for q, xi in zip(true, source.laplaces(2 * k / eps, len(true)), strict=True)
        ]
        weighted = [
            (alpha / of_measured + estimate / of_gap) / (1 / of_measured + 1 / of_gap)
            for alpha, (_, estimate) in zip(measured, found, strict=True)
        ]
        before.append(_error(measured, true))
        after.append(_error(weighted, true))
    return Measured.fall(before, after)


def adaptivity(
    made: Compiled,
    counts: Sequence[int],
    k: int,
    runs: int,
    source: FloatingNoise,
    rng: random.Random,
    eps: float = EPS,
) -> Adaptive:
    theta = best_split(k, made.noise.factor)
    svt, top, mid, left, left_half = [], [], [], [], []
    quality_svt, quality = [], []
    for _ in range(runs):
        T = threshold(made.noise, counts, k, rng)
        plain = made.svt(T=T, k=k, theta=theta, eps=eps).with_noise(source)(counts).records
        adaptive = made.adaptive(T=T, k=k, theta=theta, eps=eps).with_noise(source)(counts).records
        halved = made.adaptive(T=T, k=k, theta=0.5, eps=eps).with_noise(source)(counts).records
        svt.append(sum(record.tag == "top" for record in plain))
        top.append(sum(record.tag == "top" for record in adaptive))
        mid.append(sum(record.tag == "mid" for record in adaptive))
        left += _left(adaptive, k, theta, eps)
        left_half += _left(halved, k, 0.5, eps)
        quality_svt += _quality(plain, counts, T)
        quality += _quality(adaptive, counts, T)
    both = [t + m for t, m in zip(top, mid, strict=True)]
    return Adaptive(
        svt=Measured.mean(svt),
        top=Measured.mean(top),
        mid=Measured.mean(mid),
        more=Measured.mean([a - b for a, b in zip(both, svt, strict=True)]),
        left=Measured.mean(left),
        left_half=Measured.mean(left_half),
        short=1 - len(left) / runs,
        quality_svt=Quality.mean(quality_svt),
        quality=Quality.mean(quality),
    )


def threshold(noise: Noise, counts: Sequence[int], k: int, rng: random.Random) -> int:
    """For counts one of those between the 2k-th and the 8k-th largest (dissertation, sections 5.8.1 and
    5.8.2); for any queries the 95 % quantile (VLDB paper, section 7).
    """
    if noise.factor > 1:
        return ranked(counts, math.ceil(len(counts) / 20))
    return ranked(counts, rng.randint(2 * k, min(8 * k, len(counts))))


def ranked(counts: Sequence[int], rank: int) -> int:
    """The `rank`-th largest, from 1."""
    return sorted(counts, reverse=True)[rank - 1]


def _error(estimates: Sequence[float], true: Sequence[int]) -> float:
    return sum((e - q) ** 2 for e, q in zip(estimates, true, strict=True))


def _left(records: Sequence[Any], k: int, theta: float, eps: float) -> list[float]:
    """The share of the budget that is left after the k-th answer; none where there are fewer."""
    used = [float(record.used) for record in records if record.tag != "bottom"]
    return [1 - theta - sum(used[:k]) / eps] if len(used) >= k else []


def _quality(records: Sequence[Any], counts: Sequence[int], T: int) -> list[tuple[float, float, float]]:
    """Precision, recall among all answers that are above the threshold, F-measure; none without answers."""
    found = [counts[i] >= T for i, record in enumerate(records) if record.tag != "bottom"]
    if not found:
        return []
    right, above = sum(found), sum(count >= T for count in counts)
    precision, recall = right / len(found), right / above
    return [(precision, recall, 2 * right / (len(found) + above))]


# --- output -----------------------------------------------------------------------------------------------


def table(noise: Noise, rows: Sequence[Row]) -> Iterator[str]:
    yield f"{noise.name} noise: percent by which the mean squared error falls; ± one standard error"
    yield "   k   top-k measured  theory    SVT measured  theory"
    for row in rows:
        topk, svt = topk_theory(row.k, noise.ratio), svt_theory(row.k, noise.family, noise.factor)
        yield (
            f"{row.k:4}    {row.topk.percent():>13}  {100 * topk:6.1f}"
            f"   {row.svt.percent():>13}  {100 * svt:6.1f}"
        )
    yield ""
    yield f"{noise.name} noise: answers above the threshold; percent of the budget left after k (at most);"
    yield "percent of the answers that are truly above, of those above that are answered, and the F-measure"
    yield (
        "   k   SVT  adaptive = top + mid    more         left (at most)   left at theta 1/2 (25)"
        "   fewer than k   precision, recall, F: SVT   adaptive"
    )
    for row in rows:
        a = row.adaptive
        most = 50 * (1 - best_split(row.k, noise.factor))
        yield (
            f"{row.k:4}  {a.svt.value:4.1f}"
            f"  {a.top.value + a.mid.value:8.1f} = {a.top.value:4.1f} + {a.mid.value:3.1f}"
            f"  {a.more.value:5.1f} ± {a.more.error:3.1f}   {a.left.percent():>12} ({most:4.1f})"
            f"     {a.left_half.percent():>12}       {100 * a.short:5.1f} %"
            f"          {a.quality_svt.percents()}   {a.quality.percents()}"
        )
    yield ""


Results = dict[tuple[str, str], list[Row]]
"""Rows by data set and noise."""


def plot(results: Results, noises: Sequence[Noise], eps: float, runs: int, target: Path) -> None:
    """One row of panels per data set: error with gaps of top-k and of SVT, answers, budget left."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "gaps"
    from matplotlib import pyplot

    names = list(dict.fromkeys(name for name, _ in results))
    figure, axes = pyplot.subplots(len(names), 4, figsize=(17, 4 * len(names)), squeeze=False)
    for name, panels in zip(names, axes, strict=True):
        for noise, colour in zip(noises, ("tab:blue", "tab:orange"), strict=True):
            rows = results.get((name, noise.name))
            if rows:
                _panels(panels, noise, rows, colour)
        for panel, title in zip(
            panels,
            (
                "top-k with measures",
                "sparse vector with measures",
                "answers above the threshold",
                "budget left after k answers",
            ),
            strict=True,
        ):
            panel.set_title(f"{name}: {title}", fontsize=10)
            panel.set_xlabel("k")
            panel.set_xticks([row.k for row in results[name, noises[0].name]])
            panel.set_ylim(bottom=0)
            panel.legend(fontsize=7)
        for panel in (*panels[:2], panels[3]):
            panel.set_ylabel(
                "percent of the budget" if panel is panels[3] else "fall of the squared error, %"
            )
    figure.suptitle(
        f"What the gaps gain: eps = {eps}, means of {runs} runs, lines are the theory", fontsize=11
    )
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


def _panels(panels: Any, noise: Noise, rows: Sequence[Row], colour: str) -> None:
    ks = [row.k for row in rows]
    theories: tuple[Callable[[int], float], ...] = (
        lambda k: topk_theory(k, noise.ratio),
        lambda k: svt_theory(k, noise.family, noise.factor),
    )
    falls = ([row.topk for row in rows], [row.svt for row in rows])
    for panel, theory, measured in zip(panels[:2], theories, falls, strict=True):
        panel.plot(ks, [100 * theory(k) for k in ks], color=colour, label=f"{noise.name}, theory")
        _points(panel, ks, measured, 100, "o", colour, noise.name)
    counts = panels[2]
    first = noise.name == "Laplace"
    shift = -0.35 if first else 0.35
    places = [k + shift for k in ks]
    tops = [row.adaptive.top.value for row in rows]
    counts.bar(places, tops, 0.6, color=colour, label=f"adaptive, {noise.name}: top")
    mids = [row.adaptive.mid.value for row in rows]
    counts.bar(places, mids, 0.6, bottom=tops, color=colour, alpha=0.4, label=f"adaptive, {noise.name}: mid")
    plain = [row.adaptive.svt.value for row in rows]
    counts.plot(places, plain, "k_", markersize=8, label=f"SVT, {noise.name}")
    left = panels[3]
    best = [50 * (1 - best_split(k, noise.factor)) for k in ks]
    if first:
        left.plot(ks, best, color="gray", label="at most, best split")
        left.plot(ks, [25] * len(ks), color="gray", linestyle=":", label="at most, theta 1/2")
    _points(left, ks, [row.adaptive.left for row in rows], 100, "o", colour, f"{noise.name}, best split")
    _points(left, ks, [row.adaptive.left_half for row in rows], 100, "x", colour, f"{noise.name}, theta 1/2")


def _points(
    panel: Any,
    ks: Sequence[int],
    measured: Sequence[Measured],
    unit: int,
    marker: str,
    colour: str,
    label: str,
) -> None:
    values, errors = [unit * m.value for m in measured], [unit * m.error for m in measured]
    panel.errorbar(ks, values, yerr=errors, fmt=marker, markersize=4, color=colour, label=label)


def read_counts(path: Path) -> list[int]:
    with open(path, encoding="utf-8", newline="") as file:
        return [int(row["count"]) for row in csv.DictReader(file)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="repetitions for each k (default: 1000)")
    parser.add_argument("--ks", default=",".join(map(str, range(2, 25, 2))), help="default: 2,4,…,24")
    parser.add_argument("--eps", default=str(EPS), help=f"budgets, as 0.1,0.7 (default: {EPS})")
    parser.add_argument("--set-up", choices=tuple(SET_UPS), default="dissertation")
    parser.add_argument(
        "--data", type=Path, action="append", help="CSV with a column `count` (default: both)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes; the numbers do not depend on it")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw a plot: .png or .svg")
    chosen = parser.parse_args(arguments)
    if chosen.plot is not None and find_spec("matplotlib") is None:
        parser.error(INSTALL)
    start = time.perf_counter()
    noises = SET_UPS[chosen.set_up]
    made = [compiled(noise) for noise in noises]
    ks = [int(k) for k in chosen.ks.split(",")]
    budgets = [float(eps) for eps in chosen.eps.split(",")]
    print(f"set-up: {chosen.set_up}, {chosen.runs} runs for each k, seed {chosen.seed}\n")
    results: Results = {}
    for path in chosen.data or DATA:
        counts = read_counts(path)
        name = path.stem.removesuffix("_counts")
        print(f"== {name}: {len(counts)} counts from {min(counts)} to {max(counts)}\n")
        for each in made:
            settings = [(k, eps) for eps in budgets for k in ks]
            rows = measured_rows(each, counts, settings, chosen.runs, chosen.seed, chosen.jobs)
            results[name, each.noise.name] = [row for row in rows if row.eps == budgets[0]]
            for eps in budgets:
                print(f"eps = {eps}")
                print("\n".join(table(each.noise, [row for row in rows if row.eps == eps])), flush=True)
    if chosen.plot is not None:
        plot(results, noises, budgets[0], chosen.runs, chosen.plot)
        print(f"plot: {chosen.plot}")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
