"""Functions for `aligncheck test`: two that keep their word, and one that does not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]


def noisy_max(queries: Counts, eps: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The index of the largest noisy answer; `size` runs at once."""
    noisy = queries + rng.laplace(scale=2 / eps, size=(size, len(queries)))
    return np.asarray(noisy.argmax(axis=1), dtype=np.int64)


def histogram(queries: Counts, eps: float, size: int, rng: np.random.Generator) -> Counts:
    """Every count with its own noise: private where one count moves, not where all do."""
    return queries + rng.laplace(scale=1 / eps, size=(size, len(queries)))


def svt(queries: list[float], eps: float, rng: np.random.Generator, T: float = 1, N: int = 1) -> list[bool]:
    """A sparse vector whose answers get no noise (Stoddard et al.): wrong. One run at a time."""
    noisy, out = T + rng.laplace(scale=2 / eps), list[bool]()
    for query in queries:
        out.append(query >= noisy)
        if sum(out) == N:
            break
    return out


def mean_age(ages: list[float], eps: float, rng: np.random.Generator) -> float:
    """The mean of ages from 0 to 100; that there are so many of them is public."""
    return float(np.clip(ages, 0, 100).mean() + rng.laplace(scale=100 / len(ages) / eps))
