"""How long a search goes on: by the clock, or by counting what it does, the same on every machine."""

from __future__ import annotations

import math
import time


class OutOfTime(Exception):  # noqa: N818 - it is an answer
    """The deadline has passed, or the steps are used up."""


class Effort:
    """What a search, or a part of one, may spend: seconds from now on, or steps, whichever ends first; None
    for as many as it takes.

    A step is a piece of work of about the same size, some tenths of a millisecond on a quiet machine: a
    probability that is asked, a fork of the program or a few of its statements, a variable that is
    integrated, some cells of a lattice, a thousand steps of Z3. With steps alone nothing depends on the
    clock.
    """

    def __init__(self, seconds: float | None = None, steps: int | None = None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._most = math.inf if steps is None else steps
        self._whole: Effort | None = None
        self.steps = 0

    def part(self, seconds: float | None = None, steps: int | None = None) -> Effort:
        """An effort within this one: what it spends counts for both."""
        found = Effort(seconds, steps)
        found._whole = self
        return found

    def share(self, part: float) -> Effort:
        """A part of the steps that are left here, if they are counted."""
        left = None if self._most == math.inf else max(0, round(part * (self._most - self.steps)))
        return self.part(steps=left)

    def spend(self, steps: int) -> None:
        """Counts work that is done, however much is left for it."""
        self.steps += steps
        if self._whole is not None:
            self._whole.spend(steps)

    def step(self) -> None:
        """Counts a step. Raises `OutOfTime` if that was one too many, here or in the whole."""
        self.steps += 1
        if self.steps > self._most or (self._end < math.inf and time.monotonic() > self._end):
            raise OutOfTime
        if self._whole is not None:
            self._whole.step()

    @property
    def is_over(self) -> bool:
        """Whether the next step will raise, here or in the whole."""
        here = self.steps >= self._most or time.monotonic() > self._end
        return here or (self._whole is not None and self._whole.is_over)

    def seconds_left(self) -> float:
        """Until the clock ends this, or the whole; infinite where no clock does."""
        whole = math.inf if self._whole is None else self._whole.seconds_left()
        return min(self._end - time.monotonic(), whole)

    @property
    def is_late(self) -> bool:
        """Whether the clock ended this, or the whole."""
        return self.seconds_left() < 0

    @property
    def is_counted(self) -> bool:
        """Whether a number of steps ends this, or the whole; the clock may, too."""
        return self._most < math.inf or (self._whole is not None and self._whole.is_counted)
