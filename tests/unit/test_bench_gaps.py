"""The benchmark of the gaps: its estimator and its theory, its measurements on a small scale, its plot."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import gaps
import numpy as np
import pytest
from oracle import as_if_verified

from aligncheck.compiler.modes import RunMode
from aligncheck.execute.load import CheckedSpec
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.runtime import FloatingNoise


@pytest.mark.parametrize("ratio", [1.0, 0.5, 4.0])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_estimate_is_that_of_weighted_least_squares(k: int, ratio: float) -> None:
    """The unknowns are the answers and the noise of the selection, which the gaps tie together exactly."""
    rng = np.random.default_rng(k)
    measured, released = rng.normal(size=k), rng.normal(size=k - 1)
    step = np.eye(k)[:-1] - np.eye(k)[1:]
    weight = 1e9  # nearly exactly
    rows = np.block(
        [
            [np.eye(k), np.zeros((k, k))],
            [step * weight, step * weight],
            [np.zeros((k, k)), np.eye(k) / ratio**0.5],
        ]
    )
    right = np.concatenate([measured, released * weight, np.zeros(k)])
    best = np.linalg.lstsq(rows, right, rcond=None)[0][:k]
    assert gaps.blue(list(measured), list(released), ratio) == pytest.approx(list(best), abs=1e-6)


def test_the_theory_is_that_of_the_papers() -> None:
    for k in (2, 10, 24):
        assert gaps.topk_theory(k, 1) == pytest.approx((k - 1) / (2 * k))
        assert gaps.topk_theory(k, 0.5) == pytest.approx((2 * k - 2) / (3 * k))
        assert gaps.topk_theory(k, 4) == pytest.approx(1 - (4 * k + 1) / (5 * k))
    assert gaps.svt_theory(10**9, 1) == pytest.approx(1 / 2, abs=1e-3)
    assert gaps.svt_theory(10**9, 0.5) == pytest.approx(2 / 3, abs=1e-3)
    assert gaps.svt_theory(10**9, 1, 2) == pytest.approx(1 / 5, abs=1e-3)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The mechanisms, compiled as if they were verified: proofs take longer than all the rest."""

    def checked(path: str) -> CheckedSpec:
        source = read_source(path)
        return CheckedSpec(as_if_verified(check(source, parse(source))), RunMode.LATTICE)

    monkeypatch.setattr(gaps, "_checked", checked)


def test_the_gain_is_near_the_theory(small: None) -> None:
    """On answers that are far apart, so that what is selected does not depend on the noise."""
    k, runs = 3, 600
    for noise in (*gaps.COUNTS, *gaps.ANY_QUERIES[:1]):
        n = 30 if noise.factor == 1 else 70  # k are above the 95 % quantile, too
        counts = [10_000 * (n - i) for i in range(n)]
        made = gaps.compiled(noise)
        source, rng = FloatingNoise(1), random.Random(1)
        topk = gaps.topk_fall(made, counts, k, runs, source)
        assert abs(topk.value - gaps.topk_theory(k, noise.ratio)) < 4 * topk.error < 0.3
        svt = gaps.svt_fall(made, counts, k, runs // 3, source, rng)
        assert abs(svt.value - gaps.svt_theory(k, noise.family, noise.factor)) < 4 * svt.error < 0.4
        adaptive = gaps.adaptivity(made, counts, k, 20, source, rng)
        assert adaptive.svt.value == k
        assert adaptive.left.value <= (1 - gaps.best_split(k, noise.factor)) / 2 + 1e-9
        assert adaptive.left_half.value <= 1 / 4 + 1e-9


def test_the_table_and_the_plot(
    small: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_run = ["--runs", "2", "--ks", "2", "--jobs", "1", "--data", str(gaps.DATA[1])]
    gaps.main(small_run)
    assert "groceries: 169 counts" in capsys.readouterr().out
    with monkeypatch.context() as patch:
        patch.setattr(gaps, "find_spec", lambda name: None)
        with pytest.raises(SystemExit) as stopped:
            gaps.main([*small_run, "--plot", str(tmp_path / "gaps.png")])
    assert stopped.value.code == 2
    assert "pip install 'aligncheck[plot]'" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    gaps.main([*small_run, "--plot", str(tmp_path / "gaps.svg")])
    assert (tmp_path / "gaps.svg").read_text("utf-8").startswith("<?xml")
