"""What a test found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from aligncheck.statistical.output_events import Event
from aligncheck.statistical.patterns import InputPair

Finding: TypeAlias = Literal["evidence", "no evidence", "no dependence"]
"""Evidence against the claim; none, which claims nothing; or the outputs on D and on D' look alike."""


Randomness: TypeAlias = Literal["seeded", "fresh", "kept"]
"""Where random numbers come from: from our seeds; from the system, anew in each process; or from a generator
that the function's module keeps and that starts alike in each process, so that these repeat one another."""


@dataclass(frozen=True, slots=True)
class Level:
    """The test at one level eps.

    Attributes:
        eps, delta: the level: the hypothesis is P(M(D) in E) <= e^eps P(M(D') in E) + delta.
        log_pvalue: the natural logarithm of its p-value; 0 where there is no event to test.
        pair: D and D'; the event is expected more often on the first.
        event: E; None where no event was frequent enough.
        seen_first, seen_second: in how many of `runs` runs on D and on D' the event was seen.
        listed: whether the outputs are lists (for `describe`).
    """

    eps: float
    delta: float
    log_pvalue: float
    pair: InputPair | None
    event: Event | None
    seen_first: int
    seen_second: int
    runs: int
    listed: bool

    def rejected(self, alpha: float) -> bool:
        """Whether the p-value is at most alpha."""
        return self.log_pvalue <= math.log(alpha)

    @property
    def ratio(self) -> float:
        """The ratio of the two counts; infinite where the event was not seen on D'."""
        if self.seen_second == 0:
            return math.inf if self.seen_first else math.nan
        return self.seen_first / self.seen_second


@dataclass(frozen=True, slots=True)
class Tested:
    """The test of one function.

    Attributes:
        name: `MODULE:FUNCTION`.
        how: how it was run.
        claim: the level that is under test, and `claimed` the test there. All levels have its delta.
        levels: all levels that were tested, rising; more than one for a sweep.
        independence: the test at eps = 0, on the event that tells the inputs apart best.
        finding: the outcome at the claim.
        alpha: the level of significance.
        least_loss: with confidence 1 - alpha, ln((P(E on D) - delta)/P(E on D')) is at least this, for the
            event that was tested at the claim.
        violated_up_to: the greatest tested level up to which every level was rejected (None: not even the
            first). Tested in a fixed order, so the chance that it is wrong is at most alpha for all together.
        pairs: how many pairs of inputs the event was chosen from.
        selection, runs: runs on each input for choosing, and for the test of an event.
        seed: repeats the result, where `randomness` is `seeded`.
        randomness: where the function's random numbers came from (see `Randomness`).
        seconds: in all.
    """

    name: str
    settings: tuple[tuple[str, Any], ...]
    how: str
    claim: float
    claimed: Level
    levels: tuple[Level, ...]
    independence: Level
    finding: Finding
    alpha: float
    least_loss: float
    violated_up_to: float | None
    pairs: int
    selection: int
    runs: int
    seed: int
    randomness: Randomness
    seconds: float
