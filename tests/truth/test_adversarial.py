"""The kernel accepts nothing that is wrong, whatever a witness says. `adversarial.py` counts more of it."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from adversarial import BAD, GENERATED, KEPT, QUICK, attacks, must_not_be_accepted

from aligncheck.kernel import logic
from aligncheck.kernel.answer import Accepted

SAMPLE, ALL_OF_THEM = {BAD: 6, GENERATED: 20, KEPT: 8}, {BAD: 5000, GENERATED: 60_000, KEPT: 10_000}
FIRST = 34
"""Of which the kernel decides quickly."""


@pytest.mark.parametrize("of", SAMPLE)
def test_no_lie_is_believed(of: str, exhaustive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    count = (ALL_OF_THEM if exhaustive else SAMPLE)[of]
    if not exhaustive:
        monkeypatch.setattr(logic, "ANEW", QUICK)
    kinds: Counter[bool] = Counter()
    for one in islice(attacks(FIRST, count, of), count):
        assert one.wrong is None, f"{one.name}\n{one.text}\n{one.witness}\n{one.wrong}"
        kinds[isinstance(one.answer, Accepted)] += 1
    assert kinds[False] >= count / 3


def test_there_is_much_that_must_not_be_accepted() -> None:
    assert len(must_not_be_accepted()) >= 150
