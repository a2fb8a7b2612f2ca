"""A spec in colour, each line of its alignment beside the draw that it moves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from aligncheck.language.adjacencies import Adjacency
from aligncheck.language.families import SPELLINGS
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import shifts_in_cases, statements_in
from aligncheck.language.unparse import unparse_expr, unparse_shift
from aligncheck.report.lines import Canvas, Lines, expanded

_SECTIONS = re.compile("mechanism|input|privacy|program|align|expect")
_STATEMENTS = re.compile(
    "if|elif|else|for|while|in|and|or|not|is|break|pass|emit|invariant|case|otherwise|when|where"
)
_DECLARED = re.compile(
    "|".join(
        (
            "real|int|bool|vector|query|queries|sensitivity|adjacency|lattice|range|default|same|as",
            *(each.value for each in Adjacency),
        )
    )
)
_FAMILIES = frozenset((*SPELLINGS, "Choose"))
_TOKEN = re.compile(
    r"""
      (?P<comment> \#.* )
    | (?P<string>  "[^"]*"? )
    | (?P<number>  (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? )
    | (?P<word>    [^\W\d]\w* )
    | (?P<other>   . )
    """,
    re.VERBOSE,
)
_NARROWEST_MARGIN = 26
_ARROW = "→ "


def render_spec(source: Source, mechanism: nodes.Mechanism) -> RenderableType:
    """The text of a spec with line numbers, and in the right margin the shifts of the draws of each line."""
    return Lines(lambda canvas: _lines(canvas, source, mechanism))


def _lines(canvas: Canvas, source: Source, mechanism: nodes.Mechanism) -> Iterator[Text]:
    noise = noise_of(mechanism)
    shifts = shifts_by_line(source, mechanism)
    gutter = len(str(len(source.lines)))
    margin = _margin(source, shifts, gutter)
    for number, line in enumerate(source.lines, start=1):
        if number == len(source.lines) and not line:
            break  # the file's final line end
        shown = Text.assemble((f"{number:>{gutter}}  ", "dim"), coloured(expanded(line), noise))
        yield from _with_margin(canvas, shown, shifts.get(number, []), margin, gutter)


def noise_of(mechanism: nodes.Mechanism) -> frozenset[str]:
    """The names that are drawn."""
    return frozenset(
        statement.name
        for statement in statements_in(mechanism.body)
        if isinstance(statement, nodes.Sample | nodes.Choose | nodes.Logistic)
    )


def _margin(source: Source, shifts: Mapping[int, list[Text]], gutter: int) -> int:
    """The cell at which the right margin starts: past the longest line that has one."""
    return (
        max((gutter + 2 + Text(expanded(source.line(number))).cell_len for number in shifts), default=0) + 3
    )


def _with_margin(canvas: Canvas, line: Text, shifts: list[Text], margin: int, gutter: int) -> Iterator[Text]:
    """The line, and its shifts beside it; below it where the terminal is too narrow for that."""
    if not shifts:
        yield line
        return
    beside = canvas.width - margin >= _NARROWEST_MARGIN
    start = margin if beside else gutter + 6
    column = Canvas(canvas.console, canvas.width - start)
    told = [part for shift in shifts for part in column.hanging(Text(_ARROW, "green"), shift)]
    if beside:
        yield Text.assemble(line, " " * (margin - line.cell_len), told.pop(0))
    else:
        yield line
    yield from (Text.assemble(" " * start, part) for part in told)


# --- the alignment, by line -------------------------------------------------------------------------------


def shifts_by_line(source: Source, mechanism: nodes.Mechanism) -> dict[int, list[Text]]:
    """For each line with a draw, the lines of the alignment that move it."""
    moved: dict[int, list[Text]] = {}
    for statement in statements_in(mechanism.body):
        if isinstance(statement, nodes.Sample):
            number, _ = source.position(statement.span.start)
            for line, cases in shifts_in_cases(mechanism.align):
                if line.name == statement.name and (line.index is None) is (statement.index is None):
                    told = ("otherwise: " if e is None else f"case {unparse_expr(e)}: " for e in cases)
                    shown = Text.assemble(("".join(told), "magenta"), (unparse_shift(line), "green"))
                    moved.setdefault(number, []).append(shown)
    return moved


# --- colours ----------------------------------------------------------------------------------------------


def coloured(line: str, noise: frozenset[str]) -> Text:
    """A line of a spec with the styles of its words; `noise` holds the names that are drawn."""
    result = Text()
    for found in _TOKEN.finditer(line):
        result.append(found.group(), _style(found, line, noise))
    return result


def _style(found: re.Match[str], line: str, noise: frozenset[str]) -> str:
    word, before = found.group(), line[: found.start()]
    match found.lastgroup:
        case "comment":
            return "dim italic"
        case "string":
            return "yellow"
        case "number":
            return "cyan"
        case "word" if not before and _SECTIONS.fullmatch(word):
            return "bold magenta"
        case "word" if _STATEMENTS.fullmatch(word):
            return "magenta"
        case "word" if before.startswith("privacy") and word in ("at", "most"):
            return "magenta"
        case "word" if ":" in before and _DECLARED.fullmatch(word):
            return "blue"
        case "word" if "~" in before and word in _FAMILIES:
            return "bold blue"
        case "word" if word in noise:
            return "bold green"
        case _:
            return ""
