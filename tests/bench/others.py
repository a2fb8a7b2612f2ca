"""Mechanisms of other libraries, as `aligncheck test` takes them: needs opendp and diffprivlib.

aligncheck test tests/bench/others.py:opendp_laplace --eps 1 --adjacency one
aligncheck test tests/bench/others.py:diffprivlib_laplace --eps 1 --adjacency one --runs 50000
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@cache
def _opendp_measurement(scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    return space >> dp.m.then_laplace(scale=scale)


def opendp_laplace(queries: NDArray[np.float64], eps: float, size: int) -> NDArray[np.float64]:
    """OpenDP's vector-valued Laplace mechanism; `size` runs on the answers are one on all copies of them."""
    released = _opendp_measurement(1 / eps)(np.tile(queries, size).tolist())
    return np.array(released).reshape(size, len(queries))


def diffprivlib_laplace(queries: list[float], eps: float, random_state: Any) -> float:
    """diffprivlib's Laplace mechanism on the first answer."""
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=eps, sensitivity=1, random_state=random_state)
    return float(mechanism.randomise(queries[0]))
