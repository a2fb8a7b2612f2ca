"""Source text and positions in it. Imports nothing of the package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of character offsets in a `Source`."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class Source:
    """A spec's text as it was read: `path` is what the user typed, `text` is decoded and has `\\n`
    line ends.
    """

    path: str
    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines, without their line ends; at least one."""
        return tuple(self.text.split("\n"))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        starts = [0]
        for line in self.lines[:-1]:
            starts.append(starts[-1] + len(line) + 1)
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; the column counts characters."""
        from bisect import bisect_right

        row = max(0, bisect_right(self._starts, offset) - 1)
        return row + 1, offset - self._starts[row] + 1

    def line(self, number: int) -> str:
        """The text of a line, from 1."""
        return self.lines[number - 1]

    def text_of(self, span: Span) -> str:
        """What the span covers."""
        return self.text[span.start : span.end]
