"""How often outcomes were seen, against their exact probabilities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping

import numpy as np
from scipy import stats

UNLIKELY = 1e-4
"""A test with right probabilities fails for as small a part of all seeds."""


def check(observed: Counter[Hashable], expected: Mapping[Hashable, float], count: int) -> None:
    """A chi-square test; what is expected less than eight times is put together."""
    assert abs(math.fsum(expected.values()) - 1) < 1e-6
    assert set(observed) <= set(expected)
    common = [key for key, p in expected.items() if p * count >= 8]
    rest = 1 - math.fsum(expected[key] for key in common)
    times = [observed[key] for key in common]
    seen, wanted = [*times, count - sum(times)], [*(expected[key] * count for key in common), rest * count]
    if wanted[-1] < 8:
        seen[-2:], wanted[-2:] = [sum(seen[-2:])], [sum(wanted[-2:])]
    if len(seen) > 1:
        assert stats.chisquare(seen, np.array(wanted) * count / sum(wanted)).pvalue > UNLIKELY
