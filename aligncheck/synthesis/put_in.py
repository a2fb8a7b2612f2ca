"""Other sections in the text of a spec; all the rest of the text, comments too, stays as it is."""

from __future__ import annotations

import re

from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.layout import SECTIONS
from aligncheck.language.syntax.unparse import unparse_alignment

_HEAD = re.compile(rf"(?:{'|'.join(SECTIONS)})\b")


def with_alignment(source: Source, items: tuple[n.AlignItem, ...]) -> Source:
    """The spec with this `align` section in place of its own, or before `expect`."""
    lines = unparse_alignment(items).split("\n") if items else []
    return with_section(source, "align", ["align", *(f"  {line}" for line in lines)])


def with_section(source: Source, name: str, section: list[str]) -> Source:
    """The spec with other lines for a section, which is put in where it is missing."""
    text = source.text.splitlines()
    heads = [(at, match.group()) for at, line in enumerate(text) if (match := _HEAD.match(line))]
    place = next((at for at, head in heads if head == name), None)
    if place is not None:
        end = next((at for at, _ in heads if at > place), len(text))
        while end > place + 1 and (not text[end - 1].strip() or text[end - 1].startswith("#")):
            end -= 1
        made = [*text[:place], *section, *text[end:]]
    else:
        later = SECTIONS[SECTIONS.index(name) + 1 :]
        end = next((at for at, head in heads if head in later), len(text))
        while end and (not text[end - 1].strip() or text[end - 1].startswith("#")):
            end -= 1
        rest = text[end:]
        gap = [""] if rest and rest[0].strip() else []
        made = [*text[:end], "", *section, *gap, *rest]
    return Source(source.path, "\n".join(made) + "\n")
