"""What is said of a noise family that is refused holds of its density."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from aligncheck.language.syntax.wording.refused import REFUSED_FAMILIES


def _student(x: float) -> float:
    return -2 * math.log1p(x * x / 3)  # three degrees of freedom


LOG_DENSITIES: dict[str, Callable[[float], float]] = {
    "normal": lambda x: -x * x / 2,
    "student": _student,
    "gamma": lambda x: math.log(x) - x if x > 0 else -math.inf,  # of shape 2
    "poisson": lambda x: -math.lgamma(x + 1) if x >= 0 else -math.inf,
}
"""Of scale 1, up to a constant."""


def _costs(log_density: Callable[[float], float], shift: float) -> list[float]:
    points = [x / 4 for x in range(-120, 121)]
    return [log_density(x) - log_density(x + shift) for x in points if log_density(x) > -math.inf]


@pytest.mark.parametrize("family", LOG_DENSITIES)
def test_a_bounded_cost_is_granted_where_there_is_one(family: str) -> None:
    why, _ = REFUSED_FAMILIES[family]
    bounded = all(max(_costs(LOG_DENSITIES[family], shift)) <= 1.2 * abs(shift) for shift in (-2, -1, 1, 2))
    assert bounded is (family == "student")
    assert ("has a bounded cost" in why) is bounded
