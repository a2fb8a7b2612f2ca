"""A document as Markdown, for issues and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from aligncheck.language.printable import printable
from aligncheck.publish import sheet as s
from aligncheck.report.lines import expanded
from aligncheck.report.listing import shifts_by_line

_MARKUP = re.compile(r"([\\*_<>\[\]|#~])")


def markdown_text(sheet: s.Sheet) -> str:
    """The whole text, with a final line end."""
    return "\n\n".join(_blocks(sheet.blocks)) + "\n"


def _blocks(blocks: Iterable[s.Block]) -> Iterator[str]:
    for block in blocks:
        yield from _block(block)


def _prose(sentence: str) -> str:
    """A sentence in which only code is markup."""
    return s.written(sentence, lambda part: _MARKUP.sub(r"\\\1", part), "`{}`".format)


def _code(cell: str) -> str:
    """A cell that holds code; a column would end at a bar even there."""
    shown = printable(cell).replace("|", "\\|")
    return f"`{shown}`" if shown.strip() and "`" not in shown else _MARKUP.sub(r"\\\1", shown)


def _block(block: s.Block) -> Iterator[str]:
    match block:
        case s.Masthead(title=title, verdict=verdict, about=about, path=path):
            yield f"# {_prose(title)}: {_prose(verdict)}"
            yield f"{_code(path)}{'  ' if about else ''}{_prose(about)}"
        case s.SectionHead(title=title):
            yield f"## {_prose(title)}"
        case s.Paragraph(text=text, kind=kind):
            quoted = {"note": "> Note: ", "help": "> Help: ", "wrong": "> "}.get(kind, "")
            yield f"{quoted}{_prose(text)}"
        case s.FactList(rows=rows):
            yield "\n".join(f"- **{_prose(name)}**: {_prose(text)}" for name, text in rows)
        case s.Grid():
            yield from _grid(block)
        case s.Listing():
            yield _listing(block)
        case s.Theorem(claim=claim, neighbours=neighbours):
            yield f"**Theorem.** {_prose(s.begun(claim))} {' '.join(map(_prose, neighbours))}"
        case s.ProofStep(condition=condition, lemma=lemma, says=says, status=status, decisions=decisions):
            item = f" (condition {lemma})" if lemma else ""
            yield f"**{condition}**{item}: {status}. {_prose(s.begun(says))}."
            yield "\n".join(
                f"- Line {line}: {_prose(text)}{f' ({how})' if how else ''}" for line, text, how in decisions
            )
        case s.BarChart(title=title, bars=bars):
            listed = "\n".join(f"- {_prose(bar.label)}: {_prose(bar.text)}" for bar in bars)
            yield f"{_prose(title)}:\n\n{listed}"
        case s.Beside(left=left, right=right):
            yield from _blocks((*left, *right))
        case s.Playground():
            pass  # it moves, which a page on paper does not


def _grid(grid: s.Grid) -> Iterator[str]:
    if grid.title:
        yield f"*{_prose(grid.title)}*"
    rules = ["--:" if number in grid.figures else "---" for number in range(len(grid.head))]
    rows = [[_prose(cell) for cell in grid.head], rules]
    for row in grid.rows:
        if len(row) < len(grid.head):
            rows.append([_prose(row[0]), *[""] * (len(grid.head) - 1)])
        else:
            rows.append([_code(cell) if n in grid.code else _prose(cell) for n, cell in enumerate(row)])
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _listing(listing: s.Listing) -> str:
    """The text with line numbers, the shifts after an arrow."""
    source, mechanism = listing.source, listing.mechanism
    shifts = shifts_by_line(source, mechanism) if mechanism is not None else {}
    lines = []
    for number, line in enumerate(source.lines, start=1):
        if number == len(source.lines) and not line:
            break
        moved = "".join(f"   → {shift.plain}" for shift in shifts.get(number, ()))
        sign = ">" if number in listing.marked else " "
        lines.append(f"{sign}{number:>3}  {expanded(line)}{moved}".rstrip())
    longest = max((len(run) for run in re.findall("`+", source.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *lines, fence])
