"""The order of the sections, looked at before anything inside them: most slips of layout show here."""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.language.diagnostics import Label, fault
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.layout import SECTIONS, Lexeme
from aligncheck.language.syntax.wording.mistakes import HEADS, ORDER, no_section, other_head

REPEATED = ("use", "fun")
"""One line each, as many as there are, in any order."""
TWICE = "expect"
"""One line for the proof, one for the refutation."""

REQUIRED = ("mechanism", "privacy", "program")

_SECOND = {
    "mechanism": 'one file holds one mechanism; where one calls the other write `use NAME from "FILE"`',
    "privacy": "one mechanism makes one claim",
}


def check_sections(source: Source, lexemes: tuple[Lexeme, ...], *, whole: bool) -> None:
    """Raises SpecError for a section that is unknown, given twice, out of place, or missing in the end."""
    seen: dict[str, Lexeme] = {}
    lines = list(_outer_lines(lexemes))
    there = {first.text for first, _ in lines}
    for first, second in lines:
        word = first.text
        if first.type != "NAME" or word not in SECTIONS:
            if not seen and second.type == "NAME" and word in HEADS and "mechanism" not in there:
                raise other_head(source, first, second)
            raise no_section(source, first, second, last=next(reversed(seen), None))
        if word in seen and word not in (*REPEATED, TWICE):
            related = (Label(seen[word].span, "first here"),)
            message = f"there are two sections `{word}`"
            raise fault(
                source,
                "duplicate-section",
                message,
                first.span,
                related=related,
                help=_SECOND.get(word, "join them"),
            )
        later = [name for name in seen if _place(name) > _place(word)]
        if later:
            raise fault(
                source,
                "section-order",
                f"`{word}` stands after `{later[0]}`",
                first.span,
                related=(Label(seen[later[0]].span, f"`{later[0]}` is here"),),
                help=ORDER,
            )
        _none_missing(source, there, before=word, place=first.span)
        seen[word] = first
    if whole:
        end = len(source.text.rstrip())
        _none_missing(source, there, before=None, place=Span(end, end))


def _place(section: str) -> int:
    return SECTIONS.index(REPEATED[0] if section in REPEATED else section)


def _outer_lines(lexemes: tuple[Lexeme, ...]) -> Iterator[tuple[Lexeme, Lexeme]]:
    """The first two lexemes of every line that is not indented."""
    depth = 0
    at_start = True
    for position, lexeme in enumerate(lexemes[:-1]):
        match lexeme.type:
            case "INDENT":
                depth += 1
            case "DEDENT":
                depth -= 1
            case "NEWLINE":
                at_start = True
            case _:
                if at_start and depth == 0:
                    yield lexeme, lexemes[position + 1]
                at_start = False


def _none_missing(source: Source, there: set[str], before: str | None, place: Span) -> None:
    passed = SECTIONS[: SECTIONS.index(before)] if before is not None else SECTIONS
    for name in passed:
        if name in REQUIRED and name not in there:
            example = {"mechanism": "mechanism NAME", "privacy": "privacy eps", "program": "program"}[name]
            where = f" before `{before}`" if before is not None else ""
            raise fault(
                source, "missing-section", f"there is no `{name}`{where}", place, help=f"add `{example}`"
            )
