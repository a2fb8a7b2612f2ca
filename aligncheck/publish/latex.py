"""A document as LaTeX: the theorem, the algorithm, the proof (with amsthm, algorithmicx, booktabs)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from aligncheck.language.printable import printable
from aligncheck.language.syntax import nodes
from aligncheck.publish import sheet as s
from aligncheck.publish.mathematics import algorithm, code, drawn, math, name, plain
from aligncheck.report.lines import expanded

_PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[T1]{fontenc}
\usepackage[a4paper,margin=26mm]{geometry}
\usepackage{textcomp,amsmath,amssymb,amsthm,algorithm,booktabs,longtable,array}
\usepackage[noend]{algpseudocode}
\makeatletter
\newcommand{\specline}[1]{\setcounter{ALG@line}{\numexpr#1-1\relax}}
\makeatother
\newtheorem{theorem}{Theorem}
\setlength{\parindent}{0pt}\setlength{\parskip}{4pt}\emergencystretch=3em
"""


def latex_text(sheet: s.Sheet) -> str:
    """A whole document, with a final line end."""
    lines = [_PREAMBLE + "\\begin{document}", *_blocks(sheet.blocks), "\\end{document}"]
    return "\n".join(lines) + "\n"


def _blocks(blocks: Iterable[s.Block]) -> Iterator[str]:
    for block in blocks:
        yield from _block(block)


def _prose(sentence: str) -> str:
    return s.written(sentence, plain, code)


def _block(block: s.Block) -> Iterator[str]:
    match block:
        case s.Masthead(title=title, verdict=verdict, about=about, path=path):
            yield f"\\begin{{center}}\\Large\\textbf{{{plain(printable(title))}}}\\\\\\normalsize"
            yield f"{plain(verdict)}\\\\"
            yield f"\\texttt{{{plain(printable(path))}}}\\end{{center}}"
            yield _prose(about)
        case s.SectionHead(title=title):
            yield f"\\section*{{{plain(printable(title))}}}"
        case s.Paragraph(text=text, kind=kind):
            said = {"note": "\\emph{Note.} ", "help": "\\emph{Help.} "}.get(kind, "")
            yield f"{said}{_prose(text)}\n"
        case s.FactList(rows=rows):
            yield "\\begin{description}"
            yield from (f"\\item[{plain(one)}] {_prose(text)}" for one, text in rows)
            yield "\\end{description}"
        case s.Grid():
            yield from _grid(block)
        case s.Listing():
            yield from _listing(block)
        case s.Theorem(claim=claim, neighbours=neighbours):
            said = " ".join(map(_prose, (s.begun(claim), *neighbours)))
            yield f"\\begin{{theorem}}{said}\\end{{theorem}}"
        case s.ProofStep():
            yield from _step(block)
        case s.BarChart():
            yield from _chart(block)
        case s.Beside(left=left, right=right):
            yield from _blocks((*left, *right))
        case s.Playground():
            pass  # it moves, which a page on paper does not


def _step(step: s.ProofStep) -> Iterator[str]:
    """What was decided, sentences that are the same once with all their lines."""
    item = f" (condition {step.lemma})" if step.lemma else ""
    yield f"\\paragraph{{{plain(step.condition)}{item}.}} {_prose(s.begun(step.says))}."
    said: list[str] = []
    by_sentence = sorted(step.decisions, key=lambda one: [d[1] for d in step.decisions].index(one[1]))
    for sentence, group in groupby(by_sentence, key=lambda one: one[1]):
        lines = sorted({line for line, _, _ in group})
        said.append(f"\\item {_prose(sentence)} (line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))})")
    if said:
        yield "\\begin{itemize}\\setlength{\\itemsep}{0pt}"
        yield from said
        yield "\\end{itemize}"


_NARROW = 50
"""Characters of a row that fits on a line as it is; columns of wider tables wrap."""


def _grid(grid: s.Grid) -> Iterator[str]:
    columns = len(grid.head)
    share = f"{(1 - 0.028 * (columns - 1)) / columns:.3f}"  # of the line; the rest is between columns
    kinds = [
        ">{\\raggedleft\\arraybackslash}" if at in grid.figures else ">{\\raggedright\\arraybackslash}"
        for at in range(columns)
    ]
    whole = [row for row in (grid.head, *grid.rows) if len(row) == columns]
    narrow = sum(max(map(len, column)) for column in zip(*whole, strict=True)) < _NARROW
    spec = "".join(
        ("r" if at in grid.figures else "l") if narrow else f"{kinds[at]}p{{{share}\\linewidth}}"
        for at in range(columns)
    )
    if grid.title:
        yield f"\\par\\emph{{{_prose(grid.title)}}}"
    yield f"{{\\small\\begin{{longtable}}{{@{{}}{spec}@{{}}}}\\toprule"
    yield " & ".join(map(_prose, grid.head)) + "\\\\\\midrule\\endhead"
    for row in grid.rows:
        if len(row) < columns:
            yield f"\\multicolumn{{{columns}}}{{@{{}}l}}{{{_prose(row[0])}}}\\\\"
            continue
        yield " & ".join(_cell(cell, at in grid.code) for at, cell in enumerate(row)) + "\\\\"
    yield "\\bottomrule\\end{longtable}}"


def _cell(cell: str, is_code: bool) -> str:
    if not is_code or not cell:
        return _prose(cell)
    breaking = re.sub(r"(?<=[(,])", r"\\allowbreak{}", plain(printable(cell)))
    return f"\\texttt{{{breaking}}}"


def _listing(listing: s.Listing) -> Iterator[str]:
    mechanism = listing.mechanism
    if mechanism is None:
        yield "\\begin{flushleft}\\ttfamily\\small"
        yield from (f"{plain(expanded(line))}\\\\" for line in listing.source.lines if line.strip())
        yield "\\end{flushleft}"
        return
    moved: dict[str, list[str]] = {}
    shifts = [item for item in mechanism.align if isinstance(item, nodes.Shift)]
    for shift in shifts:
        guard = f" when ${math(shift.guard)}$" if shift.guard is not None else ""
        sign = {"+=": "\\mathrel{+}=", "-=": "\\mathrel{-}=", "=": "="}[shift.op]
        told = f"${drawn(shift.name, shift.index)} {sign} {math(shift.value)}${guard}"
        moved.setdefault(shift.name, []).append(told)
    simple = len(shifts) == len(mechanism.align) <= _FEW
    yield f"\\begin{{algorithm}}[H]\\caption{{\\textsc{{{plain(mechanism.name)}}}}}\\begin{{algorithmic}}[1]"
    public = [f"${name(one)}$" for item in mechanism.inputs for one in item.names]
    yield f"\\Require {', '.join(public) or 'nothing'}"
    yield from algorithm(listing.source, mechanism, moved if simple else {})
    yield "\\end{algorithmic}\\end{algorithm}"


_FEW = 4
"""Lines of an alignment that stand beside the draws; of more, or of cases, there is only the table."""


def _chart(chart: s.BarChart) -> Iterator[str]:
    most = max((bar.high for bar in chart.bars), default=0.0) or 1.0
    yield f"\\par\\emph{{{_prose(chart.title)}}}"
    yield "\\begin{flushleft}"
    for bar in chart.bars:
        width = (bar.low + bar.high) / 2 / most * 0.9
        yield f"{plain(bar.label)}: {plain(bar.text)}\\\\\\rule{{{width:.4f}\\linewidth}}{{6pt}}\\\\"
    yield "\\end{flushleft}"
