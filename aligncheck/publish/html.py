"""A document as one self-contained page: no script, no font and no picture from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from aligncheck.language.printable import printable
from aligncheck.publish import sheet as s
from aligncheck.report.lines import expanded
from aligncheck.report.listing import coloured, noise_of, shifts_by_line

if TYPE_CHECKING:
    from rich.text import Text

_CLASSES = {
    "dim italic": "comment",
    "yellow": "string",
    "cyan": "number",
    "bold magenta": "section",
    "magenta": "word",
    "blue": "declared",
    "bold blue": "family",
    "bold green": "noise",
}


def html_page(sheet: s.Sheet, around: str = "") -> str:
    """The whole page; `around` is HTML above the main part."""
    wide = any(isinstance(block, s.Beside) for block in sheet.blocks)
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{text(sheet.title)}</title>",
        f"<style>{STYLE.read_text('utf-8')}</style></head>",
        f'<body class="aligncheck{" wide" * wide}">{around}<main>',
        *html_of(sheet.blocks),
        "</main></body></html>",
    )
    return "\n".join(lines) + "\n"


STYLE = Path(__file__).with_name("page.css")
"""The style of a page, and of what a site shows of it."""


def html_of(blocks: Iterable[s.Block], *, anchors: bool = True) -> Iterator[str]:
    """The blocks, each as HTML. Lines of a listing can be linked to as `L12`, if it is the only one."""
    blocks = list(blocks)
    listed = [block for block in blocks if isinstance(block, s.Listing)]
    yield from (_block(block, anchors=anchors and len(listed) == 1) for block in blocks)


def text(plain: str) -> str:
    """Text as it may stand in HTML, also in an attribute."""
    return escape(printable(plain))


def prose(sentence: str) -> str:
    """A sentence; what stands between backticks becomes code."""
    return s.written(sentence, escape, lambda part: f"<code>{escape(part)}</code>")


def _block(block: s.Block, *, anchors: bool) -> str:
    match block:
        case s.Masthead(title=title, verdict=verdict, tone=tone, about=about, path=path):
            said = f"<p>{prose(about)}</p>" if about else ""
            return (
                f'<h1>{text(title)}</h1><p class="verdict {tone}">{text(verdict)}</p>'
                f'<p class="path"><code>{text(path)}</code></p>{said}'
            )
        case s.SectionHead(title=title):
            return f"<h2>{text(title)}</h2>"
        case s.Paragraph(text=sentence, kind=kind):
            return f'<p class="{kind}">{prose(sentence)}</p>' if kind else f"<p>{prose(sentence)}</p>"
        case s.FactList(rows=rows):
            items = "".join(f"<dt>{text(name)}</dt><dd>{prose(said)}</dd>" for name, said in rows)
            return f"<dl>{items}</dl>"
        case s.Grid():
            return _grid(block)
        case s.Listing():
            return _listing(block, anchors)
        case s.Theorem(claim=claim, neighbours=neighbours):
            said = "".join(f"<p>{prose(sentence)}</p>" for sentence in neighbours)
            first = prose(s.begun(claim))
            return f'<div class="theorem"><p><strong>Theorem.</strong> {first}</p>{said}</div>'
        case s.ProofStep():
            return _step(block, anchors)
        case s.BarChart():
            return _chart(block)
        case s.Beside(left=left, right=right):
            halves = ("".join(_block(one, anchors=False) for one in half) for half in (left, right))
            return '<div class="beside">' + "".join(f"<div>{half}</div>" for half in halves) + "</div>"
        case s.Playground(programs=programs):
            files = (STYLE.with_name(name) for name in ("playground.js", "playground_page.js"))
            data = json.dumps(programs).replace("<", "\\u003c")  # so that nothing in it ends the element
            return _PLAY.format(data=data, script="\n".join(file.read_text("utf-8") for file in files))


_PLAY = """<section class="play" id="play" hidden aria-labelledby="play-title">
<h2 id="play-title">Try it</h2>
<p id="play-choice"><label for="play-which">Mechanism</label> <select id="play-which"></select></p>
<p id="play-verdict"></p>
<div class="summary">
<p id="play-status" role="status"></p>
<p id="play-cost-text"></p>
<div class="meter" aria-hidden="true"><div id="play-cost"></div><div id="play-claim"></div></div>
</div>
<div class="split"><div>
<div class="buttons" id="play-presets" role="group" aria-label="Where to begin"></div>
<form id="play-controls" onsubmit="return false" aria-label="Inputs and noise"></form>
</div><div>
<dl><dt>on D</dt><dd><code id="play-out"></code></dd>
<dt>on D'</dt><dd><code id="play-out-prime"></code></dd></dl>
<div class="scroll" id="play-runs" role="group" tabindex="0" aria-label="Both runs, step by step"></div>
</div></div>
<script type="application/json" id="play-data">{data}</script>
</section>
<noscript><p class="note">With JavaScript, this page has sliders for inputs and noise.</p></noscript>
<script>{script}</script>"""


def _grid(grid: s.Grid) -> str:
    columns = range(len(grid.head))
    kinds = [" ".join((*["code"] * (n in grid.code), *["figures"] * (n in grid.figures))) for n in columns]
    rows = []
    for number, row in enumerate(grid.rows):
        mark = ' class="marked"' if number in grid.marked else ""
        if len(row) == 1 < len(grid.head):
            rows.append(f'<tr{mark}><td colspan="{len(grid.head)}" class="quiet">{prose(row[0])}</td></tr>')
            continue
        shown = (_code_cell(cell) if n in grid.code and cell else prose(cell) for n, cell in enumerate(row))
        cells = (f"<td{_class(kind)}>{cell}</td>" for kind, cell in zip(kinds, shown, strict=True))
        rows.append(f"<tr{mark}>{''.join(cells)}</tr>")
    flush = [_class("figures" if n in grid.figures else "") for n in columns]
    head = "".join(f'<th scope="col"{flush[n]}>{prose(grid.head[n])}</th>' for n in columns)
    caption = f"<caption>{prose(grid.title)}</caption>" if grid.title else ""
    table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return _scrolled(table, grid.title or "Table")


_LONG = 32


def _code_cell(cell: str) -> str:
    """What is short stays on one line."""
    return f"<code{_class('short' if len(cell) <= _LONG else '')}>{text(cell)}</code>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _scrolled(inner: str, label: str, kind: str = "") -> str:
    """What may be wider than a phone scrolls by itself, also from the keyboard."""
    name = text(label.replace("`", ""))
    return f'<div class="scroll{kind}" role="group" tabindex="0" aria-label="{name}">{inner}</div>'


def _listing(listing: s.Listing, anchors: bool) -> str:
    """Numbered lines; what moves a draw stands to its right, in one column; on a narrow screen below it."""
    source, mechanism = listing.source, listing.mechanism
    noise = noise_of(mechanism) if mechanism is not None else frozenset[str]()
    shifts = shifts_by_line(source, mechanism) if mechanism is not None else {}
    margin = max((len(expanded(source.line(number))) for number in shifts), default=0) + 3
    rows = []
    for number, line in enumerate(source.lines, start=1):
        if number == len(source.lines) and not line:
            break  # the file's final line end
        place = f' id="L{number}"' if anchors else ""
        name = f'<a href="#L{number}">{number}</a>' if anchors else str(number)
        shown = _spans(coloured(expanded(line), noise))
        room = margin - len(expanded(line))
        for shift in shifts.get(number, ()):
            shown += (
                f'<span class="pad">{" " * room}</span><span class="moved">→ {text(shift.plain)}\n</span>'
            )
            room = margin
        mark = ' class="marked"' if number in listing.marked else ""
        rows.append(f'<tr{place}{mark}><td class="n">{name}</td><td>{shown}</td></tr>')
    table = f'<table role="presentation"><tbody>{"".join(rows)}</tbody></table>'
    return _scrolled(table, f"The spec {source.path}, line by line", " listing")


def _spans(line: Text) -> str:
    parts, at = [], 0
    for span in sorted(line.spans):
        if not str(span.style):
            continue
        parts.append(escape(line.plain[at : span.start]))
        kind = _CLASSES[str(span.style)]
        parts.append(f'<span class="{kind}">{escape(line.plain[span.start : span.end])}</span>')
        at = span.end
    return "".join(parts) + escape(line.plain[at:])


def _step(step: s.ProofStep, anchors: bool) -> str:
    item = f" (condition {text(step.lemma)})" if step.lemma else ""
    head = f'<h3>{text(step.condition)}{item}: <span class="good">{text(step.status)}</span></h3>'
    items = "".join(
        f"<li>{_place(line, anchors)}{prose(said)}{_how(how)}</li>" for line, said, how in step.decisions
    )
    return f'<div class="step">{head}<p>{prose(s.begun(step.says))}.</p><ul>{items}</ul></div>'


def _how(how: str) -> str:
    return f' <span class="how">({text(how)})</span>' if how else ""


def _place(line: int, anchors: bool) -> str:
    name = f'<a href="#L{line}">Line {line}</a>' if anchors else f"Line {line}"
    return f"{name}: "


_ROW, _THICK = 70, 16


def _chart(chart: s.BarChart) -> str:
    """Bars as long as their probabilities are, the longest as wide as there is room."""
    most = max((bar.high for bar in chart.bars), default=0.0) or 1.0
    said = "; ".join(f"{bar.label}: {bar.text}" for bar in chart.bars)
    bars = "".join(_bar(bar, number * _ROW, most) for number, bar in enumerate(chart.bars))
    height = len(chart.bars) * _ROW
    return (
        f"<figure><figcaption>{prose(chart.title)}</figcaption>"
        f'<svg width="100%" height="{height}" role="img" aria-label="{text(said)}">{bars}</svg></figure>'
    )


def _bar(bar: s.Bar, top: int, most: float) -> str:
    shown = max(50 * (bar.low + bar.high) / most, 0.3 if bar.high else 0)
    return (
        f'<text x="0" y="{top + 16}">{text(bar.label)}</text>'
        f'<text x="0" y="{top + 34}">{text(bar.text)}</text>'
        f'<rect class="track" x="0" y="{top + 42}" width="100%" height="{_THICK}"/>'
        f'<rect class="bar" x="0" y="{top + 42}" width="{shown:.3f}%" height="{_THICK}"/>'
    )
