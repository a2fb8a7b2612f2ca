"""The p-value: against SciPy, and how often it accuses where there is nothing to accuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from aligncheck.statistical.pvalue import REPEATS, least_loss, log_fisher, log_pvalue


@pytest.mark.parametrize(
    ("c1", "c2", "n"),
    [
        (100_000, 100_000, 500_000),
        (101_000, 100_000, 500_000),
        (99_000, 100_000, 500_000),
        (500, 400, 500_000),
        (10, 0, 500_000),
        (0, 10, 500_000),
        (499_999, 499_990, 500_000),
        (7, 3, 10),
        (10, 0, 10),
        (0, 0, 10),
        (10, 10, 10),
        (1, 0, 1),
    ],
)
def test_fishers_test_is_scipys(c1: int, c2: int, n: int) -> None:
    (ours,) = log_fisher(np.array([c1]), np.array([c2]), n)
    assert math.exp(ours) == pytest.approx(hypergeom.sf(c1 - 1, 2 * n, n, c1 + c2), rel=1e-6)


def test_pvalues_smaller_than_any_float() -> None:
    (ours,) = log_fisher(np.array([500_000]), np.array([0]), 500_000)
    # All marked ones are drawn: one way of C(2n, n).
    assert ours == pytest.approx(-(math.lgamma(1_000_001) - 2 * math.lgamma(500_001)), rel=1e-9)


def test_without_thinning_it_is_fishers() -> None:
    rng = np.random.default_rng(0)
    assert log_pvalue(60, 40, 100, 0.0, rng) == log_fisher(np.array([60]), np.array([40]), 100)[0]


def test_it_is_twice_the_mean_over_thinned_counts() -> None:
    thinned = np.random.default_rng(5).binomial(80, math.exp(-0.5), size=REPEATS)
    mean = float(np.mean([hypergeom.sf(c - 1, 200, 100, c + 30) for c in thinned]))
    assert math.exp(log_pvalue(80, 30, 100, 0.5, np.random.default_rng(5))) == pytest.approx(
        2 * mean, rel=1e-6
    )


@pytest.mark.parametrize(
    ("eps", "delta", "p2"),
    [(0.0, 0.0, 0.3), (0.5, 0.0, 0.05), (0.5, 0.0, 0.55), (0.5, 0.05, 0.1), (0.0, 0.02, 0.0)],
)
def test_type_1_error(eps: float, delta: float, p2: float) -> None:
    """On the border of the hypothesis, p1 = e^eps p2 + delta, a p-value up to x has probability at most x."""
    n, repeats = 300, 200 if delta else 600
    rng = np.random.default_rng(7)
    first = rng.binomial(n, min(1.0, math.exp(eps) * p2 + delta), size=repeats)
    second = rng.binomial(n, p2, size=repeats)
    values = [log_pvalue(int(a), int(b), n, eps, rng, delta) for a, b in zip(first, second, strict=True)]
    for alpha in (0.01, 0.05, 0.2):
        often = sum(value <= math.log(alpha) for value in values)
        # Were the chance alpha, more than this would be seen once in 10,000 times.
        assert often <= binom.ppf(1 - 1e-4, repeats, alpha), alpha


def test_it_accuses_where_there_is_something() -> None:
    rng = np.random.default_rng(0)
    assert log_pvalue(2_700, 1_000, 10_000, 0.7, rng) < math.log(1e-6)
    assert log_pvalue(1_000, 2_700, 10_000, 0.7, rng) == pytest.approx(0.0, abs=1e-9)
    # e^0.7 0.1 is 0.201: 0.27 is more than that and 0.05, not than that and 0.09.
    assert log_pvalue(27_000, 10_000, 100_000, 0.7, rng, 0.05) < math.log(1e-6)
    assert log_pvalue(27_000, 10_000, 100_000, 0.7, rng, 0.09) > math.log(0.9)
    assert log_pvalue(15_000, 0, 500_000, 5.0, rng, 0.01) < math.log(1e-3)


def test_the_least_loss() -> None:
    seed = np.random.SeedSequence(3)
    bound = least_loss(200_000, 90_000, 500_000, 0.01, seed)
    assert math.log(20 / 9) - 0.03 < bound < math.log(20 / 9)
    assert math.log(15 / 9) - 0.03 < least_loss(200_000, 90_000, 500_000, 0.01, seed, 0.1) < math.log(15 / 9)
    assert least_loss(90_000, 90_000, 500_000, 0.01, seed) == 0.0
    assert least_loss(0, 0, 500_000, 0.01, seed) == 0.0
    assert 8 < least_loss(200_000, 0, 500_000, 0.01, seed) < math.log(200_000)


def test_the_least_loss_is_rarely_too_great() -> None:
    rng = np.random.default_rng(11)
    n, p1, p2, repeats = 400, 0.5, 0.2, 60
    too_great = sum(
        least_loss(int(a), int(b), n, 0.1, np.random.SeedSequence(i)) > math.log(p1 / p2)
        for i, (a, b) in enumerate(
            zip(rng.binomial(n, p1, repeats), rng.binomial(n, p2, repeats), strict=True)
        )
    )
    assert too_great <= binom.ppf(1 - 1e-4, repeats, 0.1)
