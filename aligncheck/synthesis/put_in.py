"""Other sections in the text of a spec; all the rest of the text, and all comments, stay as they are."""

from __future__ import annotations

import re
from collections.abc import Callable

from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.layout import SECTIONS
from aligncheck.language.syntax.walk import statements_in
from aligncheck.language.unparse import unparse_alignment

_HEAD = re.compile(rf"(?:{'|'.join(SECTIONS)})\b")


def with_alignment(source: Source, items: tuple[n.AlignItem, ...]) -> Source:
    """The spec with this `align` section in place of its own, or before `expect`."""
    lines = unparse_alignment(items).split("\n") if items else []
    return with_section(source, "align", ["align", *(f"  {line}" for line in lines)])


def with_claim(source: Source, claim: str) -> Source:
    """The spec with another `privacy` line."""
    return with_section(source, "privacy", [f"privacy {claim}"])


def with_scales(source: Source, mechanism: n.Mechanism, scale: Callable[[n.Sample], str | None]) -> Source:
    """The spec with another scale of each draw; None for the same."""
    text = source.text
    drawn = [s for s in statements_in(mechanism.body) if isinstance(s, n.Sample)]
    for s in sorted(drawn, key=lambda each: -each.args[0].span.start):
        span, other = s.args[0].span, scale(s)
        text = text if other is None else text[: span.start] + other + text[span.end :]
    return Source(source.path, text)


def with_section(source: Source, name: str, section: list[str]) -> Source:
    """The spec with other lines for a section, which is put in where it is missing."""
    text = source.text.splitlines()
    heads = [(at, match.group()) for at, line in enumerate(text) if (match := _HEAD.match(line))]
    place = next((at for at, head in heads if head == name), None)
    if place is not None:
        end = next((at for at, _ in heads if at > place), len(text))
        while end > place + 1 and (not text[end - 1].strip() or text[end - 1].startswith("#")):
            end -= 1
        made = [*text[:place], *_with_comments(section, text[place:end]), *text[end:]]
    else:
        later = SECTIONS[SECTIONS.index(name) + 1 :]
        end = next((at for at, head in heads if head in later), len(text))
        while end and (not text[end - 1].strip() or text[end - 1].startswith("#")):
            end -= 1
        rest = text[end:]
        gap = [""] if rest and rest[0].strip() else []
        made = [*text[:end], "", *section, *gap, *rest]
    return Source(source.path, "\n".join(made) + "\n")


def _with_comments(section: list[str], old: list[str]) -> list[str]:
    """The section with the comments of the one that it replaces: at its first line, and below that."""
    _, sign, told = old[0].partition("#")
    own = [line for line in old[1:] if line.lstrip().startswith("#")]
    return [f"{section[0]}  #{told}" if sign else section[0], *own, *section[1:]]
