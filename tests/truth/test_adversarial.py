"""The kernel accepts nothing that is wrong, whatever a witness says. `adversarial.py` counts more of it."""

from __future__ import annotations

from collections import Counter

import pytest
from adversarial import QUICK, attacks, must_not_be_accepted

from aligncheck.kernel import logic
from aligncheck.kernel.answer import Accepted

SAMPLE, ALL_OF_THEM = (6, 2), (5000, 2000)


@pytest.mark.parametrize("on_generated", [False, True])
def test_no_lie_is_believed(on_generated: bool, exhaustive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    count = (ALL_OF_THEM if exhaustive else SAMPLE)[on_generated]
    if not exhaustive:
        monkeypatch.setattr(logic, "ANEW", QUICK)
    step = 1 if on_generated or exhaustive else len(must_not_be_accepted()) // count
    kinds: Counter[bool] = Counter()
    for place in range(count):
        for one in attacks(place * step, 1, on_generated):
            assert one.wrong is None, f"{one.name}\n{one.text}\n{one.witness}\n{one.wrong}"
            kinds[isinstance(one.answer, Accepted)] += 1
    assert kinds[False] >= count / 2


def test_there_is_much_that_must_not_be_accepted() -> None:
    assert len(must_not_be_accepted()) >= 150
