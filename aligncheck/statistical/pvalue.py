"""The p-value of Algorithm 2 of the dissertation: binomial thinning, then Fisher's exact test.

Needs SciPy (`scipy.special` alone: its import takes a third of that of `scipy.stats`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

REPEATS = 100
"""How often the thinning is repeated for one p-value."""

_WIDE = 12.0
"""Standard deviations of a hypergeometric variable beyond which its tail (below 1e-30) is left out."""


def log_pvalue(c1: int, c2: int, n: int, eps: float, rng: np.random.Generator, delta: float = 0.0) -> float:
    """The natural logarithm of a p-value for the hypothesis that p1 <= e^eps p2 + delta.

    `c1` and `c2` are how often an event was seen in `n` independent runs on either input, and p1 and p2 its
    probabilities there.

    Claim: under the hypothesis, the p-value is at most x with probability at most x, for every x.
    Why: thinned by e^-eps, c1 is binomial with p1 e^-eps <= p2 (Lemma 4.1), for which Fisher's p-value is
    valid. The thinning is repeated and the p-values are averaged, as in section 4.3.2, which steadies the
    result. A mean of valid p-values need not be valid, but twice the mean is (Rüschendorf 1982; Vovk and
    Wang, *Combining p-values via averaging*, Biometrika 107(4)), so that is returned.

    With a delta, d = delta e^-eps: the hypothesis is that p1 e^-eps <= p2 + d. Each run on the second input
    is counted as if the event were seen with the probability d/(1 + d), whatever was seen; then the event is
    counted with the probability (p2 + d)/(1 + d). c1 is thinned by e^-eps/(1 + d), and both are binomial.
    """
    if eps == 0 and delta == 0:
        return float(log_fisher(np.array([c1]), np.array([c2]), n)[0])
    more = delta * math.exp(-eps)
    thinned = rng.binomial(c1, math.exp(-eps) / (1 + more), size=REPEATS)
    others = np.full(REPEATS, c2) + (rng.binomial(n - c2, more / (1 + more), size=REPEATS) if delta else 0)
    # Equal counts have equal p-values: each is computed once.
    counts, often = np.unique(np.stack([thinned, others]), axis=1, return_counts=True)
    logs = log_fisher(counts[0], counts[1], n)
    greatest = float(logs.max())
    mean = greatest + math.log(float(np.sum(often * np.exp(logs - greatest))) / REPEATS)
    return min(0.0, mean + math.log(2))


def log_fisher(c1: NDArray[np.int64], c2: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """ln P(X >= c1) for X hypergeometric: s = c1 + c2 drawn from 2n, of which n are marked.

    The p-value of Fisher's exact test that c1 of n is no more likely than c2 of n (section 4.2.1).
    """
    return np.array([_log_tail(int(a), int(a + b), n) for a, b in zip(c1, c2, strict=True)])


def _log_tail(c: int, s: int, n: int) -> float:
    from scipy.special import gammaln

    least, most = max(0, s - n), min(n, s)
    if c <= least:
        return 0.0
    spread = math.sqrt(s * max(2 * n - s, 0) / (4 * (2 * n - 1))) if n > 1 else 1.0
    reach = int(_WIDE * spread) + 50
    first = max(c, least, s // 2 - reach)  # the mean is s/2
    last = min(most, max(first, s // 2) + reach)

    def choose(m: int, k: int) -> float:
        return float(gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1))

    start = choose(n, first) + choose(n, s - first) - choose(2 * n, s)
    k = np.arange(first, last, dtype=np.float64)
    # P(X = k+1) / P(X = k)
    ratios = np.log((n - k) * (s - k)) - np.log((k + 1) * (n - s + k + 1))
    logs = start + np.concatenate(([0.0], np.cumsum(ratios)))
    greatest = float(logs.max())
    return min(0.0, greatest + math.log(float(np.sum(np.exp(logs - greatest)))))


def least_loss(
    c1: int, c2: int, n: int, alpha: float, seed: np.random.SeedSequence, delta: float = 0.0
) -> float:
    """A lower confidence bound, at the level 1 - alpha, for ln((p1 - delta)/p2): the test inverted, to about
    0.001.

    0 where not even p1 > p2 + delta is shown. Each level is thinned by random numbers of its own from one
    seed.
    """

    bound = math.log(alpha)

    def rejected(eps: float) -> bool:
        return log_pvalue(c1, c2, n, eps, np.random.default_rng(seed), delta) <= bound

    if not rejected(0.0):
        return 0.0
    low, high = 0.0, math.log(max(c1, 2)) + 1.0
    while high - low > 0.001:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low
