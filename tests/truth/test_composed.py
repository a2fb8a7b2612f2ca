"""Random claims in ε and δ, and in ρ: what is VERIFIED is contradicted by no exact divergence."""

from __future__ import annotations

from composed import judged

SAMPLE = 8


def test_what_is_verified_is_not_contradicted(exhaustive: bool) -> None:
    found = [judged(seed) for seed in range(600 if exhaustive else SAMPLE)]
    for verified, against, made in found:
        assert not (verified and against), f"{made.spec}\n{against[0]}"
    assert sum(verified for verified, _, _ in found) >= SAMPLE / 4
    assert sum(bool(against) for _, against, _ in found) >= SAMPLE / 4
