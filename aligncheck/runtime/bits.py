"""Uniform random bits, from which every exact draw is made; and uniform integers.

All of it is in whole numbers. How long a draw takes, and how many bits it reads, depends on what is drawn.
"""

from __future__ import annotations

import os
import random
from typing import Protocol


class Bits(Protocol):
    """A source of independent fair bits."""

    @property
    def remark(self) -> str | None:
        """Why a run with these bits is not private whatever was proved, or None."""

    @property
    def used(self) -> bool:
        """Whether any were drawn."""

    def draw(self, count: int) -> bytes:
        """The next `count` bytes."""


class SystemBits:
    """Random bits from the operating system."""

    remark: str | None = None
    used = False

    def draw(self, count: int) -> bytes:
        self.used = True
        return os.urandom(count)


class SeededBits:
    """Repeatable bits, for tests: whoever knows the seed can take the noise off again."""

    remark: str | None = "not private (seeded)"
    used = False

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def draw(self, count: int) -> bytes:
        self.used = True
        return self._random.randbytes(count)


def below(bound: int, bits: Bits) -> int:
    """A uniform integer in 0, …, bound - 1, for `bound` at least 1.

    It takes just enough bits and draws afresh where they make too large a number: less than every other time.
    """
    width = (bound - 1).bit_length()
    length = (width + 7) // 8
    while True:
        drawn = int.from_bytes(bits.draw(length), "little") & ((1 << width) - 1)
        if drawn < bound:
            return drawn
