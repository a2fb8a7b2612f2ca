"""Faults after the first one: a line at fault is taken out, or an unknown name made a number, and the rest is
read again.

Only what does not follow from an earlier fault is told: nothing about names in a line that was taken out, and
nothing that only a whole spec can be at fault for. It explains an error and decides nothing.
"""

from __future__ import annotations

import re

from aligncheck.language.check import check
from aligncheck.language.diagnostics import Diagnostic, SpecError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse

MOST = 10
"""So many faults are told of one file."""
_LARGEST = 10_000
"""In a longer text only the first one is told: reading it again and again would take long."""
_NAMES = re.compile(
    "(unknown|bad|unexpected)-.*|draw-in-expression|list-as-value|noise-index|duplicate-name|reserved-name|assigned-.*|not-public|scope"
)
"""Codes of faults in a text that can be read, of which each stands for itself."""
_WHOLE = re.compile("too-.*|.*-section|section-order|empty-file")
"""Codes of faults of a text as a whole, after which no line can be looked at by itself."""
_DECLARED = re.compile(r"[^\W\d]\w*")
_WORD = re.compile(r"\w+")
_CLOSING = re.compile(r"[)\]]")
_OPENING = re.compile(r"[(\[]")


def checked(source: Source) -> Mechanism:
    """What a text says, if it makes sense. Raises SpecError with all that is at fault in it."""
    try:
        return check(source, parse(source))
    except SpecError as error:
        raise SpecError(error.source, error.diagnostic, further(error)) from None


def further(error: SpecError) -> tuple[Diagnostic, ...]:
    """The faults beside the first one of a spec, in the order of their places."""
    text, told, gone, taken = error.source.text, [error.diagnostic], set[str](), set[int | Span]()
    while len(told) < MOST and len(text) <= _LARGEST and not _WHOLE.fullmatch(error.diagnostic.code):
        span = error.diagnostic.primary.span
        line, word = error.source.position(span.start)[0], error.source.text_of(span)
        plain = word.isidentifier() and text[span.end : span.end + 1] not in ("[", "'", "′")
        if error.diagnostic.code == "unknown-name" and plain and span not in taken:
            gone.add(word)
            taken.add(span)
            text = text[: span.start] + "1".ljust(len(word)) + text[span.end :]
        else:
            left = None if line in taken else _without(text, line)
            if left is None:
                break
            kept = set(_WORD.findall(left.split("\n")[line - 1]))
            gone |= _given_in(error.source.line(line)) - kept
            taken.add(line)
            text = left
        found = _fault(Source(error.source.path, text))
        if found is None:
            break
        error, readable = found
        words = set(_WORD.findall(error.source.text_of(error.diagnostic.primary.span)))
        whole = _WHOLE.fullmatch(error.diagnostic.code)
        if not whole and not words & gone and (not readable or _NAMES.fullmatch(error.diagnostic.code)):
            told.append(error.diagnostic)
    return tuple(sorted(told[1:], key=lambda one: one.primary.span.start))


def _fault(source: Source) -> tuple[SpecError, bool] | None:
    """The first fault of a text, and whether the text can be read in spite of it."""
    readable = False
    try:
        mechanism = parse(source)
        readable = True
        check(source, mechanism)
    except SpecError as error:
        return error, readable
    return None


def _given_in(line: str) -> set[str]:
    """The names that a line may give a meaning to: what stands before its value, its noise or its fields."""
    head = line if line.lstrip().startswith("for ") else re.split("[=~(+]", line, maxsplit=1)[0]
    return set(_WORD.findall(head))


def _without(text: str, number: int) -> str | None:
    """The text with another line in the place of this one, as long and as deep; None where nothing can stand
    there.
    """
    lines = text.split("\n")
    line = lines[number - 1]
    body = line.partition("#")[0].strip()
    if not body or len(_OPENING.findall(body)) != len(_CLOSING.findall(body)):
        return None
    indent = _depth(line)
    opens = next((_depth(each) for each in lines[number:] if each.strip()), 0) > indent
    section = next(
        (each.split()[0] for each in reversed(lines[:number]) if each.strip() and not _depth(each)), ""
    )
    other = _instead(body, section, opens) if indent else _SECTIONS.get(section)
    if other is not None and not opens and len(other) > len(line) - indent:
        other = ""  # `pass` is longer than `n++`
    if other is None or len(other) > len(line) - indent:
        return None
    lines[number - 1] = (line[:indent] + other).ljust(len(line))
    return "\n".join(lines)


_SECTIONS = {"privacy": "privacy 1", "expect": "", "mechanism": "mechanism m"}


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _instead(body: str, section: str, opens: bool) -> str:
    """What may stand in the place of an indented line."""
    name = _DECLARED.match(body)
    if section == "input" and name is not None:
        return f"{name[0]}:queries,sensitivity 1" if "queries" in body else f"{name[0]}:int"
    if not opens:
        return "pass" if section == "program" else ""
    if section == "align":
        return "case true:"
    return "elif true:" if body.startswith("el") else "if true:"
