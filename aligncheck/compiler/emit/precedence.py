"""How tightly pieces of Python bind, so that parentheses stand where they are needed and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Precedence(IntEnum):
    """How tightly a piece of Python binds."""

    CONDITIONAL = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARE = 5
    BITS_OR = 6
    BITS_AND = 7
    SUM = 8
    PRODUCT = 9
    SIGN = 10
    POWER = 11
    ATOM = 12

    @property
    def above(self) -> Precedence:
        """The next tighter level."""
        return Precedence(self + 1)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of Python and its level."""

    text: str
    level: Precedence

    def at(self, least: Precedence) -> str:
        """The text, in parentheses where it binds more loosely than `least`."""
        return self.text if self.level >= least else f"({self.text})"
