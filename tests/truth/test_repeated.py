"""Calls that are repeated: what their theorem says of random distributions, and random specs."""

from __future__ import annotations

import random
from fractions import Fraction

from repeated import drawn, verdict_on

SAMPLE = (2, 3, 7, 10)


def _masses(rng: random.Random, count: int) -> list[Fraction]:
    parts = [rng.choice((1, 1, 2, 5, 40, 900)) for _ in range(count)]
    return [Fraction(part, sum(parts)) for part in parts]


def _of_last_round(
    masses: list[Fraction], passing: set[int], gamma: Fraction, most: int | None
) -> list[Fraction]:
    """The chance of each to be what the last round releases, followed from round to round."""
    ends = sum(m * (1 if r in passing else gamma) for r, m in enumerate(masses))
    if most is None:
        return [m * (1 if r in passing else gamma) / ends for r, m in enumerate(masses)]
    found, alive = [Fraction(0)] * len(masses), Fraction(1)
    for number in range(most):
        for r, m in enumerate(masses):
            found[r] += alive * m * (1 if r in passing or number + 1 == most else gamma)
        alive *= 1 - ends
    return found


def test_a_repeated_call_loses_twice_its_claim_at_most_and_what_a_cap_adds(exhaustive: bool) -> None:
    rng = random.Random(3)
    for _ in range(9000 if exhaustive else 300):
        count = rng.randint(2, 5)
        one, other = _masses(rng, count), _masses(rng, count)
        passing = {r for r in range(count) if rng.random() < 0.5}
        gamma, most = Fraction(1, rng.choice((1, 2, 9, 1000))), rng.choice((None, None, 1, 2, 7, 60))
        factor = max(max(a / b, b / a) for a, b in zip(one, other, strict=True))
        laws = [_of_last_round(each, passing, gamma, most) for each in (one, other)]
        assert all(sum(law) == 1 for law in laws)
        lost = max(max(a / b, b / a) for a, b in zip(*laws, strict=True))
        s = gamma * (most or 0)
        assert lost <= factor**2 * (1 + (Fraction(2) / (s * (2 + s)) if s else 0))


def test_twice_is_needed() -> None:
    """Randomized response until it says yes: that it gave up."""
    laws = ([Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 10), Fraction(9, 10)])
    one, other = (_of_last_round(law, {1}, Fraction(1, 1000), None)[0] for law in laws)
    assert 80 < one / other <= 81


def test_what_is_verified_keeps_its_claim(exhaustive: bool) -> None:
    made = [drawn(random.Random(seed)) for seed in (range(400) if exhaustive else SAMPLE)]
    verified = [one for one in made if verdict_on(one) == "VERIFIED"]
    for one in verified:
        assert one.is_private, f"{one.text}\nloses {one.apart}"
    assert len(verified) >= len(made) / 5
    assert any(not one.is_private for one in made)
