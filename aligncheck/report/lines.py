"""Laying out lines of text by hand, so that a report looks the same in a terminal, a pipe and a golden file.

Widths are terminal cells: a wide character takes two, a combining mark none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from aligncheck.language.printable import printable

_CODE = re.compile(r"`[^`\n]+`")
_NARROWEST = 40


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where lines go: `width` is in cells."""

    console: Console
    width: int

    def wrapped(self, text: Text, width: int) -> list[Text]:
        """The text in lines of at most `width` cells, broken between words where that is possible."""
        lines = text.wrap(self.console, max(1, width), overflow="fold", no_wrap=False)
        for line in lines:
            line.rstrip()
        return list(lines)

    def hanging(self, head: Text, body: Text) -> Iterator[Text]:
        """`head` and, beside it, the wrapped body."""
        indent = head.cell_len
        for number, line in enumerate(self.wrapped(body, max(16, self.width - indent)) or [Text()]):
            yield Text.assemble(head if number == 0 else " " * indent, line)

    def facts(self, facts: Iterable[tuple[str, Text]]) -> Iterator[Text]:
        """Each text beside its name, the texts below each other."""
        told = list(facts)
        width = max(len(name) for name, _ in told)
        for name, text in told:
            yield from self.hanging(Text(f"  {name:<{width}}  ", style="bold"), text)

    def table(self, rows: Sequence[Sequence[Text]], flexible: set[int], indent: int) -> Iterator[Text]:
        """See `columns`: the lines of all rows, so far to the right."""
        for block in columns(Canvas(self.console, self.width - indent), rows, frozenset(flexible)):
            yield from (Text.assemble(" " * indent, line) for line in block)

    def told(self, name: str, *texts: str) -> Iterator[Text]:
        """Each sentence behind its name, such as `note`; help is green."""
        for text in texts:
            head = Text(f"{name}: ", style="bold green" if name == "help" else "bold")
            yield from self.hanging(head, prose(text))


@dataclass(frozen=True, slots=True)
class Lines:
    """Something rich can print: asked for its lines once the width is known."""

    draw: Callable[[Canvas], Iterable[Text]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.draw(Canvas(console, max(_NARROWEST, options.max_width))):
            line.no_wrap = True
            line.overflow = "ignore"
            line.rstrip()
            yield line


def prose(text: str, style: str = "") -> Text:
    """A sentence, with its `code` set off. Line ends and control characters become spaces."""
    result = Text(printable(text.replace("\n", " ")), style=style)
    for found in _CODE.finditer(result.plain):
        result.stylize("bold cyan", found.start(), found.end())
    return result


def expanded(line: str, tab: int = 4) -> str:
    """A source line as it is shown: tabs become spaces up to the next multiple of `tab` cells."""
    if "\t" not in line:
        return printable(line)
    shown = ""
    for piece in re.split("(\t)", line):
        shown += " " * (tab - cell_len(shown) % tab) if piece == "\t" else printable(piece)
    return shown


def columns(
    canvas: Canvas, rows: Sequence[Sequence[Text]], flexible: frozenset[int], gap: int = 2
) -> Iterator[list[Text]]:
    """A table without rules: the lines of each row. `flexible` columns share what is left, and wrap."""
    if not rows:
        return
    natural = [max(row[number].cell_len for row in rows) for number in range(len(rows[0]))]
    widths = _fitted(natural, flexible, canvas.width - gap * (len(natural) - 1))
    for row in rows:
        cells = [canvas.wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        yield [_beside(cells, widths, number, gap) for number in range(max(map(len, cells), default=1) or 1)]


def _beside(cells: Sequence[list[Text]], widths: Sequence[int], number: int, gap: int) -> Text:
    line = Text()
    for cell, width in zip(cells, widths, strict=True):
        part = cell[number] if number < len(cell) else Text()
        line.append_text(part)
        line.append(" " * (width - part.cell_len + gap))
    line.rstrip()
    return line


def _fitted(natural: list[int], flexible: frozenset[int], available: int) -> list[int]:
    """Natural widths where they fit; else the flexible columns are cut, the widest first."""
    widths = list(natural)
    while sum(widths) > available and flexible:
        widest = max(flexible, key=lambda number: widths[number])
        if widths[widest] <= 8:
            break
        widths[widest] -= 1
    return widths
