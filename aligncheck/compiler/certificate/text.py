"""The text of a certificate: sections of lines that are comments to Python, at the end of a generated file.

`#: TITLE` begins a section, `#| ` stands before each of its lines. The first section names the format, the
last one holds the digest of everything before it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from urllib.parse import quote, unquote

_OPENING = "certificate, format "
FORMAT = 3
"""Counts the changes after which certificates that were written before are no longer accepted."""
OPENING = f"{_OPENING}{FORMAT}"
CLOSING = "digest"
MAKER = "made by"
MODE = "mode"
WITNESS = "witness"
ABOUT = ("`aligncheck check` decides afresh whether this is a proof: see its help. Every byte counts.",)

_TITLE = "#: "
_LINE = "#| "


class FormatError(Exception):
    """A text that is no certificate; `line` counts from 1 in the whole file, None where there is none."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class OtherFormatError(FormatError):
    """A certificate as another version writes it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A title and its lines; `line` is where the title stands in a file that was read."""

    title: str
    lines: tuple[str, ...]
    line: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def digest(text: str) -> str:
    """SHA-256, in hexadecimal, of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_SPEC = re.compile(r"spec (\S+) sha256 ([0-9a-f]{64})")


def spec_title(path: str, text: str) -> str:
    """The title of the section that holds a spec. A path is written as in a URL: none may end the line."""
    return f"spec {quote(path, errors='surrogateescape')} sha256 {digest(text)}"


def spec_named(title: str) -> tuple[str, str] | None:
    """The path and the digest in such a title; None where it is another one."""
    match = _SPEC.fullmatch(title)
    return None if match is None else (unquote(match[1], errors="surrogateescape"), match[2])


def attached(code: str, sections: Iterable[Section]) -> str:
    """The generated file: code, certificate and the digest of both."""
    whole = f"{code}\n\n{_written([Section(OPENING, ABOUT), *sections])}"
    return whole + _written([Section(CLOSING, (f"sha256 {digest(whole)}",))])


def _written(sections: Iterable[Section]) -> str:
    lines: list[str] = []
    for section in sections:
        lines.append(f"{_TITLE}{section.title}")
        lines += [f"{_LINE}{line}".rstrip(" ") if not line else f"{_LINE}{line}" for line in section.lines]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Attached:
    """A generated file that was read: its code, the certificate's sections between the first and the last
    one, and whether the digest is that of the rest.
    """

    code: str
    sections: tuple[Section, ...]
    intact: bool


def detached(text: str) -> Attached:
    """The parts of a generated file. Raises FormatError."""
    if "\r" in text:  # Python begins a new line there, also within what is a comment to us
        line = text.count("\n", 0, text.index("\r")) + 1
        raise FormatError("a carriage return, behind which code could hide", line)
    opening = f"\n\n\n{_TITLE}{OPENING}\n"
    if opening not in text:
        _refuse_other_formats(text)
    if text.count(opening) != 1:
        how = "no" if opening not in text else "more than one"
        raise FormatError(f"{how} certificate (`{_TITLE}{OPENING}` after two empty lines) is in this file")
    place = text.index(opening)
    code = text[: place + 1]
    first, *sections = _read(text[place + 3 :], code.count("\n") + 3)
    if not sections or sections[-1].title != CLOSING:
        raise FormatError(f"the certificate does not end with its `{CLOSING}`", text.count("\n"))
    if first.lines != ABOUT:
        raise FormatError("the first section of the certificate has been changed", first.line)
    last = sections.pop()
    before = text[: text.rindex(f"{_TITLE}{CLOSING}\n")]
    return Attached(code, tuple(sections), last.lines == (f"sha256 {digest(before)}",))


_OTHER = re.compile(rf"\n\n\n{_TITLE}{_OPENING}([0-9]+)\n", re.ASCII)
_MADE = re.compile(rf"\n{_TITLE}{MAKER}\n{re.escape(_LINE)}(aligncheck [0-9a-z.+]+), ", re.ASCII)


def _refuse_other_formats(text: str) -> None:
    """Raises OtherFormatError where that is all that is wrong at the certificate's beginning."""
    if (other := _OTHER.search(text)) is not None:
        made = _MADE.search(text, other.start())
        by = "another version" if made is None else made[1]
        raise OtherFormatError(
            f"the certificate is written in format {other[1]}, by {by}; this version reads format {FORMAT}: "
            "compile it again",
            text.count("\n", 0, other.end()),
        )


def _read(text: str, line: int) -> list[Section]:
    if not text.endswith("\n"):
        raise FormatError("the last line is not complete", line + text.count("\n"))
    found: list[tuple[str, int, list[str]]] = []
    for number, content in enumerate(text[:-1].split("\n"), line):
        if content.startswith(_TITLE):
            found.append((content.removeprefix(_TITLE), number, []))
        elif content == _LINE.rstrip():
            found[-1][2].append("")
        elif content.startswith(_LINE) and content != _LINE:
            found[-1][2].append(content.removeprefix(_LINE))
        else:
            raise FormatError("no line of a certificate", number)
    return [Section(title, tuple(lines), number) for title, number, lines in found]


def first_difference(found: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The place of the first line that differs; None where none does."""
    pairs = enumerate(zip_longest(found, wanted))
    return next((place for place, (one, other) in pairs if one != other), None)
