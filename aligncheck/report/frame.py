"""The source lines that a message is about, with carets under the right columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from aligncheck.language.diagnostics import Label
from aligncheck.language.internal import InternalError
from aligncheck.language.printable import printable
from aligncheck.language.source import Source
from aligncheck.report.lines import Canvas, expanded, prose

_RULE = "blue"


@dataclass(frozen=True, slots=True)
class Frame:
    """A message and the places it is about. `kind` and `code` make the head: `error[unknown-name]: …`."""

    kind: str
    code: str
    message: str
    style: str
    primary: Label | None
    related: tuple[Label, ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()
    """Lines below the source, each with its name: `= to prove: …`."""


def frame_lines(canvas: Canvas, source: Source | None, frame: Frame) -> Iterator[Text]:
    """The head, where it is, the source lines with what is marked in them, and the remarks."""
    yield from canvas.hanging(
        Text(f"{frame.kind}[{frame.code}]: ", style=f"bold {frame.style}"), prose(frame.message, "bold")
    )
    gutter = 2
    if source is not None and frame.primary is not None:
        places = sorted(_places(source, frame))
        gutter = max(2, len(str(places[-1].line)))
        line, column = source.position(frame.primary.span.start)
        yield Text.assemble((" " * gutter + "--> ", _RULE), f"{printable(source.path)}:{line}:{column}")
        yield _bar(gutter)
        yield from _source_lines(canvas, source, places, gutter, frame.style)
        if frame.remarks:
            yield _bar(gutter)
    for name, text in frame.remarks:
        head = Text.assemble((" " * gutter + " = ", _RULE), (f"{name}: ", "bold"))
        yield from canvas.hanging(head, prose(text))


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """A label on its line; `start` and `end` count cells of the line as it is shown."""

    line: int
    start: int
    end: int
    primary: bool
    text: str


def _places(source: Source, frame: Frame) -> Iterator[_Place]:
    if frame.primary is None:
        raise InternalError("a frame that shows no place")
    for label in (frame.primary, *frame.related):
        number, column = source.position(label.span.start)
        line = source.line(number)
        until = min(len(line.rstrip()), column - 1 + label.span.end - label.span.start)
        start, end = (cell_len(expanded(line[:stop])) for stop in (column - 1, max(until, column - 1)))
        yield _Place(number, start, max(end, start + 1), label is frame.primary, label.text)


def _source_lines(
    canvas: Canvas, source: Source, places: Sequence[_Place], gutter: int, style: str
) -> Iterator[Text]:
    shown = 0
    for number in sorted({place.line for place in places}):
        if shown and number > shown + 1:
            yield Text(" " * (gutter + 1) + ":", style=_RULE)
        shown = number
        here = [place for place in places if place.line == number]
        room = canvas.width - gutter - 3
        text, cut = _window(expanded(source.line(number)), min(place.start for place in here), room)
        yield Text.assemble((f"{number:>{gutter}} | ", _RULE), text)
        for place in here:
            mark_style = f"bold {style}" if place.primary else "bold blue"
            yield from _marks(canvas, place, gutter, cut, room, mark_style)


def _window(line: str, at: int, room: int) -> tuple[str, int]:
    """The part of a long line around the cell `at`, and how many cells are cut off before it."""
    if cell_len(line) <= room:
        return line, 0
    cut = max(0, at - room // 3)
    shown, cell = "", 0
    for character in line:
        width = cell_len(character)
        # One cell at each cut end is for the ellipsis; a wide character across the cut becomes a space.
        if cell >= cut + (cut > 0) and cell + width <= cut + room - 1:
            shown += character
        elif cell < cut + (cut > 0) < cell + width:
            shown += " " * (cell + width - cut - (cut > 0))
        cell += width
    return ("…" if cut else "") + shown + ("…" if cell > cut + room else ""), cut


def _marks(canvas: Canvas, place: _Place, gutter: int, cut: int, room: int, style: str) -> Iterator[Text]:
    start = max(0, min(place.start - cut, room - 1))
    length = max(1, min(place.end - cut, room) - start)
    marks = ("^" if place.primary else "-") * length
    text = prose(place.text, style)
    bar = Text(" " * gutter + " | ", style=_RULE)
    if text.cell_len <= room - start - length - 1:
        yield Text.assemble(bar, " " * start, (marks, style), " ", text)
        return
    yield Text.assemble(bar, " " * start, (marks, style))
    indent = min(start, max(0, room - max(24, room // 2)))
    for line in canvas.wrapped(text, room - indent):
        yield Text.assemble(bar, " " * indent, line)


def _bar(gutter: int) -> Text:
    return Text(" " * (gutter + 1) + "|", style=_RULE)
