"""Prints what it costs to use compiled mechanisms: `python tests/bench/use.py` (not a test).

Importing one, beside `import numpy`, in fresh processes that take turns; cleaning 41,270 answers (as many as
Kosarak has items) of each form; and adaptive sparse vector on a stream of queries, of which no record is
kept: seconds and the most memory at a time, for 10,000 to 100,000 queries; and noise on each of a list of
answers, all of which are released. Processor time, but for imports.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import RunMode
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.runtime import UnsafeFloatWarning, integer_answers, real_answers
from aligncheck.verdict import Verified

PROJECT = Path(__file__).parents[2]
N = 41_270
STREAMED = (10_000, 30_000, 100_000)
IMPORTED = ("adaptive_svt", "noisy_topk_gap")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="how often all sides take turns (default: 9)")
    rounds = parser.parse_args().rounds
    print_imports(rounds)
    print_cleaning(rounds)
    print_streams()
    print_releases(rounds)


def text_of(stem: str, mode: RunMode = RunMode.LATTICE) -> str:
    """The module; what is timed here does not depend on its proof."""
    source = read_source(str(PROJECT / "specs" / f"{stem}.dp"))
    return emit_python(Verified(check(source, parse(source)), Witness(), Accepted("acyclic", ())), mode)


def print_imports(rounds: int) -> None:
    print("| import | ms | beside `import numpy` |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for stem in IMPORTED:
            Path(folder, f"{stem}.py").write_text(text_of(stem), "utf-8")
        names = ("numpy", *IMPORTED)
        taken: dict[str, list[float]] = {name: [] for name in ("pass", *names)}
        for _ in range(rounds):
            for name, times in taken.items():
                times.append(_seconds("pass" if name == "pass" else f"import {name}", folder))
        bare = statistics.median(taken["pass"])
        numpy = statistics.median(taken["numpy"]) - bare
        for name in names:
            own = statistics.median(taken[name]) - bare
            print(f"| {name} | {1000 * own:.0f} | {own / numpy:.2f} |")


def _seconds(code: str, folder: str) -> float:
    start = time.perf_counter()
    environment = {"PYTHONPATH": f"{folder}:{PROJECT}", "PATH": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return time.perf_counter() - start


def print_cleaning(rounds: int) -> None:
    print("\n| 41,270 answers, cleaned | ms |\n|---|---|")
    floats = np.random.default_rng(1).normal(0, 1000, N)
    whole = floats.astype(np.int64)
    works: dict[str, Callable[[], object]] = {
        "float64 array": lambda: real_answers("q", floats),
        "float32 array": lambda: real_answers("q", floats.astype(np.float32)),
        "Series of floats": lambda: real_answers("q", series),
        "list of floats": lambda: real_answers("q", listed),
        "float64 array, in a range": lambda: real_answers("q", floats, low=-1000, high=1000),
        "int64 array, as integers": lambda: integer_answers("q", whole),
        "float64 array, as integers": lambda: integer_answers("q", floats),
        "list of integers": lambda: integer_answers("q", integers),
    }
    series, listed, integers = pd.Series(floats), floats.tolist(), whole.tolist()
    for name, work in works.items():
        print(f"| {name} | {1000 * min(_timed(work) for _ in range(rounds)):.1f} |")


def _timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def print_streams() -> None:
    print("\n| stream, mode | queries | s | µs each | most memory, kB |\n|---|---|---|---|---|")
    warnings.simplefilter("ignore", UnsafeFloatWarning)
    for mode in RunMode:
        module = _module("adaptive_svt", mode)
        cls: Any = getattr(module, f"{'Unsafe' if mode is RunMode.FLOAT else ''}AdaptiveSvtWithGap")
        for count in STREAMED:
            seconds = _timed(lambda made=cls, n=count: _drain(made, n))  # type: ignore[misc]
            tracemalloc.start()
            _drain(cls, count // 5)  # tracing takes most of the time
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            each = 1e6 * seconds / count
            print(f"| {mode.value} | {count:,} | {seconds:.2f} | {each:.0f} | {peak / 1000:.0f} |")


def print_releases(rounds: int) -> None:
    print(f"\n| Laplace noise on each of {N:,} answers | µs each |\n|---|---|")
    floats = np.random.default_rng(1).normal(0, 1000, N)
    real: Any = _module("laplace", RunMode.REFINED)
    discrete: Any = _module("laplace_discrete", RunMode.LATTICE)
    works: dict[str, Callable[[], object]] = {
        "real-valued, on integers": lambda: real.Laplace(Delta=1, eps=1)(floats.astype(np.int64)),
        "real-valued, on hundredths": lambda: real.Laplace(Delta=1, eps=1)(np.round(floats, 2)),
        "real-valued, on any floats": lambda: real.Laplace(Delta=1, eps=1)(floats),
        "discrete, on integers": lambda: discrete.LaplaceDiscrete(Delta=1, eps=1)(floats.astype(np.int64)),
    }
    for name, work in works.items():
        print(f"| {name} | {1e6 / N * min(_timed(work) for _ in range(rounds)):.1f} |")


def _module(stem: str, mode: RunMode) -> types.ModuleType:
    module = types.ModuleType(stem)
    sys.modules[stem] = module  # where dataclasses look
    exec(text_of(stem, mode), module.__dict__)
    return module


def _drain(cls: Any, queries: int) -> None:
    records = cls(T=10**6, k=5, eps=1).stream(itertools.repeat(0, queries))
    assert sum(1 for _ in records) == queries


if __name__ == "__main__":
    main()
