"""Prints what exact noise costs: `python tests/bench/exact.py` (not a test).

The mechanism that `aligncheck compile --mode refined` makes of `noisy_topk_gap_exp` runs on 41,270 synthetic
counts with a heavy tail (as many queries as Kosarak has), ε = 1, γ = 0.1; so does what selects in it, without
cleaning of answers and without records. Beside it: the plain transcription that the tests use (M = 10; with
the operating system's bits, and with those of a seeded generator, which are cheaper), float noise in NumPy,
reading from the operating system as many random bytes as it does, and as many as all digits down to γ of all
noise take, which a sampler without refinement has to draw; and OpenDP where it is installed: its top k, which
has no gaps, is timed once and for few k only, since it takes minutes for many. All other sides of a ratio
take turns. Times are processor time, the operating system's share included, so that others on the machine do
not matter much. `--memory` instead measures 10^7 answers.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from aligncheck.execute.load import load
from aligncheck.runtime import Mechanism, Real
from aligncheck.runtime.arrays import greatest, members, top, vector
from aligncheck.runtime.bits import Bits, SystemBits
from aligncheck.runtime.digits import draws, two_sided
from aligncheck.runtime.exact_noise import RefinedNoise
from aligncheck.runtime.exactly import Geometric

sys.path.insert(0, str(Path(__file__).parents[1]))

from top_with_gap import top_with_gap

PROJECT = Path(__file__).parents[2]
SPEC = PROJECT / "specs" / "noisy_topk_gap_exp.dp"
N = 41_270
TOTAL = 990_002
EPS, STEPS, REFINEMENT = 1, 10, 10  # the last is the plain transcription's
GAMMA = Fraction(1, STEPS)
Work = Callable[[], object]

_OPENDP_K = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often all sides take turns (default: 5)")
    parser.add_argument("--k", type=int, nargs="+", default=[25, 50, 100, 200, 400, 800])
    parser.add_argument("--memory", action="store_true", help="measure memory with 10^7 answers instead")
    arguments = parser.parse_args()
    mechanism = compiled()
    if arguments.memory:
        print(_memory(mechanism, 10**7))
        return
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, {os.cpu_count()} processors")
    print(f"{N} answers, medians of {arguments.rounds} rounds, processor time\n")
    print(
        "| k | ms | selection, ms | plain / here | plain, seeded / here | here / NumPy "
        "| here / all digits' bytes | here / its bytes | OpenDP / here |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for k in arguments.k:
        print(_line(mechanism, k, arguments.rounds))
    print(f"\ndiscrete Laplace noise on each, scale 100 steps: {_laplace(arguments.rounds)}")


def compiled() -> type[Mechanism]:
    """The mechanism, verified and compiled as a user would do it."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "mechanism.py"
        # Long enough for a busy machine: the limit is in seconds by the clock.
        options = ["--mode", "refined", "--timeout", "600", "-o", str(output), str(SPEC)]
        command = [sys.executable, "-m", "aligncheck", "compile", *options]
        subprocess.run(command, check=True, cwd=PROJECT, capture_output=True)

        def unchecked(path: str) -> NoReturn:
            raise AssertionError(f"{path} is compiled already")

        return load(str(output), unchecked)


class CountingBits(SystemBits):
    """The operating system's bits, counted."""

    def __init__(self) -> None:
        self.count = 0

    def draw(self, count: int) -> bytes:
        self.count += count
        return super().draw(count)


def counts(n: int, total: int = TOTAL) -> NDArray[np.int64]:
    """Synthetic item counts: the r-th is total / r^1.1 rounded down; shuffled."""
    ranks = np.random.default_rng(1).permutation(n) + 1
    return (total / ranks**1.1).astype(np.int64)


def selection(answers: NDArray[np.int64], k: int, bits: Bits) -> tuple[list[int], Real]:
    """What the mechanism computes with arrays: who wins, and the best of the others."""
    noise = RefinedNoise(GAMMA, bits)
    q, eta = noise.answers(answers), noise.exponentials(Fraction(2 * k, EPS), len(answers))
    winners = top(k, vector(q) + vector(eta))
    return winners, greatest(vector(q) + vector(eta), where=~members(winners, len(q)))


def _line(mechanism: Any, k: int, rounds: int) -> str:
    answers = counts(N)
    listed, rate = (answers * STEPS).tolist(), Fraction(EPS, 2 * k * STEPS)
    counted, whole = CountingBits(), CountingBits()
    selection(answers, k, counted)
    draws(Geometric.of_rate(rate), N, whole)
    works: list[Work] = [
        lambda: mechanism(k=k, eps=EPS, gamma=GAMMA)(answers),
        lambda: selection(answers, k, SystemBits()),
        lambda: top_with_gap(listed, k, rate.numerator, rate.denominator, secrets.randbelow, M=REFINEMENT),
        lambda: top_with_gap(
            listed, k, rate.numerator, rate.denominator, random.Random(1).randrange, M=REFINEMENT
        ),
        lambda: _floats(answers, k),
        lambda: os.urandom(whole.count),
        lambda: os.urandom(counted.count),
    ]
    here, selecting, plain, seeded, floats, read_all, read = _times(works, rounds)
    peer = _opendp_top(listed, k) if k <= _OPENDP_K else None
    beside = f"{_seconds(peer) / here:.0f}" if peer else "not measured"
    return (
        f"| {k} | {here * 1000:.1f} | {selecting * 1000:.1f} | {plain / here:.0f} | {seeded / here:.0f} "
        f"| {here / floats:.1f} | {here / read_all:.1f} ({whole.count / 1000:.0f} kB) "
        f"| {here / read:.1f} ({counted.count / 1000:.0f} kB) | {beside} |"
    )


def _floats(answers: NDArray[np.int64], k: int) -> tuple[Any, Any]:
    """The textbook way, which is not safe: float noise, a partial sort, differences."""
    noisy = answers + np.random.default_rng().exponential(2.0 * k / EPS, len(answers))
    top = np.argpartition(-noisy, k)[: k + 1]
    top = top[np.argsort(-noisy[top])]
    return top[:k], -np.diff(noisy[top])


def _laplace(rounds: int) -> str:
    rate = Fraction(1, 100)
    answers = counts(N) * STEPS
    works: list[Work] = [lambda: answers + two_sided(Geometric.of_rate(rate), N, SystemBits())]
    peer = _opendp_laplace(answers.tolist(), 100.0)
    here, *other = _times([*works, *([peer] if peer else [])], rounds)
    beside = f", OpenDP {other[0] * 1000:.1f} ms (ratio {other[0] / here:.0f})" if other else ""
    return f"{here * 1000:.1f} ms{beside}"


def _opendp_laplace(answers: list[int], scale: float) -> Work | None:
    """OpenDP's discrete Laplace noise on each of a list of integers."""
    if find_spec("opendp") is None:
        return None
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement = space >> dp.m.then_laplace(scale=scale)
    return lambda: measurement(answers)


def _opendp_top(answers: list[int], k: int) -> Work | None:
    """OpenDP's noisy top-k (no gaps), where its version has it; else its noisy max, whose k is 1."""
    if find_spec("opendp") is None:
        return None
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=False)
    scale = 2.0 * k / EPS * STEPS
    if hasattr(dp.m, "then_noisy_top_k"):
        measurement = space >> dp.m.then_noisy_top_k(dp.max_divergence(), k=k, scale=scale)
    else:
        measurement = space >> dp.m.then_report_noisy_max_gumbel(scale=scale)
    return lambda: measurement(answers)


def _times(works: Sequence[Work], rounds: int) -> list[float]:
    """Median seconds of processor time of each; they take turns, and the first turn does not count."""
    turns = [[_seconds(work) for work in works] for _ in range(rounds + 1)][1:]
    return [statistics.median(column) for column in zip(*turns, strict=True)]


def _seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _memory(mechanism: Any, n: int) -> str:
    answers = counts(n)

    def draw() -> object:
        return mechanism(k=100, eps=EPS, gamma=GAMMA)(answers)

    seconds = _seconds(draw)
    tracemalloc.start()
    draw()
    _, peak = tracemalloc.get_traced_memory()
    return (
        f"{n} answers ({answers.nbytes / 1e6:.0f} MB), k = 100: {seconds:.1f} s, "
        f"at most {peak / 1e6:.0f} MB besides the answers"
    )


if __name__ == "__main__":
    main()
