"""Random coins and choices: what is VERIFIED loses no more than it claims, all its probabilities counted."""

from __future__ import annotations

import random

from coins import drawn, verdict_on

SAMPLE = 8


def test_what_is_verified_keeps_its_claim(exhaustive: bool) -> None:
    rng = random.Random(2)
    made = [drawn(rng) for _ in range(600 if exhaustive else SAMPLE)]
    verified = [one for one in made if verdict_on(one) == "VERIFIED"]
    for one in verified:
        assert one.is_private, f"{one.text}\nloses {one.apart}"
    assert len(verified) >= SAMPLE / 4
    assert any(not one.is_private for one in made)
