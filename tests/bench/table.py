"""The mechanisms of the dissertation's Table 4-3, for many runs at once.

Each takes a batch size and returns an array whose first axis is the run. Sources: Algorithms 5 to 15 there.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Masked: TypeAlias = "np.ma.MaskedArray[Any, Any]"


def _laplace(rng: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Floats:
    """The difference of two exponential variables is Laplace, and quicker than NumPy's own."""
    noise = rng.standard_exponential(shape)
    noise -= rng.standard_exponential(shape)
    noise *= scale
    return noise


def noisy_max(queries: Floats, eps: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Algorithm 5."""
    return np.asarray(
        np.argmax(queries + _laplace(rng, 2 / eps, (size, len(queries))), axis=1), dtype=np.int64
    )


def noisy_max_exponential(
    queries: Floats, eps: float, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Algorithm 6."""
    return np.asarray(
        np.argmax(queries + 2 / eps * rng.standard_exponential((size, len(queries))), axis=1), dtype=np.int64
    )


def noisy_max_value(queries: Floats, eps: float, size: int, rng: np.random.Generator) -> Floats:
    """Algorithm 7: the value instead of the index."""
    found: Floats = np.max(queries + _laplace(rng, 2 / eps, (size, len(queries))), axis=1)
    return found


def noisy_max_value_exponential(queries: Floats, eps: float, size: int, rng: np.random.Generator) -> Floats:
    """Algorithm 8."""
    found: Floats = np.max(queries + 2 / eps * rng.standard_exponential((size, len(queries))), axis=1)
    return found


def histogram(queries: Floats, eps: float, size: int, rng: np.random.Generator) -> Floats:
    """Algorithm 9."""
    return queries + _laplace(rng, 1 / eps, (size, len(queries)))


def histogram_wrong_scale(queries: Floats, eps: float, size: int, rng: np.random.Generator) -> Floats:
    """Algorithm 10: the scale is eps."""
    return queries + _laplace(rng, eps, (size, len(queries)))


def svt(
    queries: Floats, eps: float, size: int, rng: np.random.Generator, T: float = 1.0, N: int = 1
) -> Masked:
    """Algorithm 11."""
    noisy_T = T + _laplace(rng, 2 / eps, (size, 1))
    above = queries + _laplace(rng, 4 * N / eps, (size, len(queries))) >= noisy_T
    return _until(above, above, N)


def isvt1(
    queries: Floats, eps: float, size: int, rng: np.random.Generator, T: float = 1.0
) -> NDArray[np.bool_]:
    """Algorithm 12: no noise on the queries, no bound."""
    above: NDArray[np.bool_] = queries >= T + _laplace(rng, 2 / eps, (size, 1))
    return above


def isvt2(
    queries: Floats, eps: float, size: int, rng: np.random.Generator, T: float = 1.0
) -> NDArray[np.bool_]:
    """Algorithm 13: no bound."""
    noisy_T = T + _laplace(rng, 2 / eps, (size, 1))
    above: NDArray[np.bool_] = queries + _laplace(rng, 2 / eps, (size, len(queries))) >= noisy_T
    return above


def isvt3(
    queries: Floats, eps: float, size: int, rng: np.random.Generator, T: float = 1.0, N: int = 1
) -> Masked:
    """Algorithm 14: noise that ignores N."""
    noisy_T = T + _laplace(rng, 4 / eps, (size, 1))
    above = queries + _laplace(rng, 4 / (3 * eps), (size, len(queries))) >= noisy_T
    return _until(above, above, N)


def isvt4(
    queries: Floats, eps: float, size: int, rng: np.random.Generator, T: float = 1.0
) -> tuple[NDArray[np.int64], Masked]:
    """Algorithm 15 with N = 1: False for each answer below, then the noisy answer itself.

    Given as the number of Falses and the noisy answer, masked where there is none: that tells the same.
    """
    noisy_T = T + _laplace(rng, 2 / eps, (size, 1))
    noisy = _laplace(rng, 2 / eps, (size, len(queries)))
    noisy += queries
    above = noisy >= noisy_T
    first = np.argmax(above, axis=1)
    found = above[np.arange(size), first]
    value = np.ma.array(noisy[np.arange(size), first], mask=~found)
    return np.where(found, first, len(queries)), value


def _until(above: NDArray[np.bool_], answers: NDArray[np.bool_], N: int) -> Masked:
    """The answers up to and including the N-th that is above; later ones are masked."""
    before: NDArray[np.int32] = np.cumsum(above, axis=1, dtype=np.int32) - above
    return np.ma.array(answers, mask=before >= N)
