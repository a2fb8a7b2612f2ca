"""The same mechanism in all modes: outputs are distributed alike, but for a step of the lattice."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frequencies import UNLIKELY
from oracle import compiled
from scipy import stats

from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source

SPECS = Path(__file__).parents[2] / "specs"
RUNS = 250
FIELDS = 6
"""How many of the numbers that a run releases are compared."""

COUNTS, REALS = [3, 1, 2, 4], [1.25, 0.5, 2, 1]
CASES: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
    ("adaptive_svt", {"T": 1, "k": 2, "eps": 4}, {"q": REALS}),
    ("adaptive_svt_geometric", {"T": 1, "k": 2, "eps": 4, "theta": "1/2"}, {"q": COUNTS}),
    ("exponential_mechanism", {"Delta": 1, "eps": 2}, {"u": REALS}),
    ("noisy_max_exp_discrete", {"m": 1, "g": 1, "eps": 2}, {"q": COUNTS}),
    ("noisy_max_gap", {"eps": 2}, {"q": REALS}),
    ("noisy_max_loop", {"eps": 2}, {"q": REALS}),
    ("noisy_topk_gap_exp", {"k": 2, "eps": 4}, {"q": REALS}),
    ("smart_sum", {"M": 2, "eps": 2}, {"q": REALS}),
    ("topk_with_measures_exp", {"k": 2, "eps": 4}, {"q": REALS}),
]

Runs = list[tuple[str, list[float]]]


def runs(stem: str, parameters: Mapping[str, Any], data: Mapping[str, Any], mode: RunMode) -> Runs:
    """The tags and the numbers of each run, rounded as floats must be; seeds differ from mode to mode."""
    source = read_source(str(SPECS / f"{stem}.dp"))
    made: Any = compiled(check(source, parse(source)), mode)
    first = 1000 * list(RunMode).index(mode)
    found = []
    for seed in range(first, first + RUNS):
        records = made(**parameters, testing_seed=seed)(**data).records
        numbers = [round(float(getattr(r, f.name)), 6) for r in records for f in dataclasses.fields(r)]
        found.append((" ".join(r.tag for r in records), numbers))
    return found


def tags_agree(some: Runs, others: Runs) -> bool:
    counts = [Counter(tags for tags, _ in each) for each in (some, others)]
    table = np.array([[each[tags] for tags in sorted({*counts[0], *counts[1]})] for each in counts])
    common = table.sum(axis=0) >= 10
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return table.shape[1] == 1 or bool(stats.chi2_contingency(table).pvalue > UNLIKELY)


@pytest.mark.filterwarnings("ignore::aligncheck.runtime.errors.UnsafeFloatWarning")
@pytest.mark.parametrize(("stem", "parameters", "data"), CASES, ids=[stem for stem, _, _ in CASES])
def test_modes_agree(stem: str, parameters: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    plain = runs(stem, parameters, data, RunMode.FLOAT)
    for mode in (RunMode.LATTICE, RunMode.REFINED):
        exact = runs(stem, parameters, data, mode)
        assert tags_agree(exact, plain)
        for place in range(FIELDS):
            some, others = ([n[place] for _, n in each if len(n) > place] for each in (exact, plain))
            if min(len(some), len(others)) >= 50:
                assert stats.ks_2samp(some, others).pvalue > UNLIKELY
