"""Faults after the first one: what is at fault is mended as far as may be guessed, or taken out, and the text
is read again.

Only what does not follow from an earlier fault is told: nothing about names in a line that was taken out, and
nothing about names at all where a section was guessed. It explains an error and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from aligncheck.language.check import check
from aligncheck.language.diagnostics import Diagnostic, Label, SpecError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.layout import SECTIONS
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.wording.faults import nearest

MOST = 10
"""So many faults are told of one file."""
_LARGEST = 10_000
"""In a longer text only the first one is told: reading it again and again would take long."""
_NAMES = re.compile(
    "(unknown|bad|unexpected)-.*|draw-in-expression|list-as-value|noise-index|duplicate-name|reserved-name|assigned-.*|not-public|scope"
)
"""Codes of faults in a text that can be read, of which each stands for itself."""
_WHOLE = re.compile("too-.*|empty-file")
"""Codes of faults of a text as a whole, after which no line can be looked at by itself."""
_DECLARED = re.compile(r"[^\W\d]\w*")
_WORD = re.compile(r"\w+")
_CLOSING = re.compile(r"[)\]]")
_OPENING = re.compile(r"[(\[]")
_QUOTED = re.compile(r"`(\w+)`")
_BLANK = re.compile(r"[ \t]*(#.*)?")
_LAYOUT = re.compile(".*(section|indent|indentation)")
"""Codes of faults of which one line has one."""
_STEPS = 30
"""So many times a text is read again."""
_INSTEAD = {"mechanism": "mechanism m", "privacy": "privacy 1", "program": "program\n  pass"}
"""What may stand for a section that has to be there."""


def checked(source: Source) -> Mechanism:
    """What a text says, if it makes sense. Raises SpecError with all that is at fault in it."""
    try:
        return check(source, parse(source))
    except SpecError as error:
        raise SpecError(error.source, error.diagnostic, further(error)) from None


def further(error: SpecError) -> tuple[Diagnostic, ...]:
    """The faults beside the first one of a spec, in the order of their places."""
    text = error.source.text
    if len(text) > _LARGEST:
        return ()
    found = _faults(Draft(error.source.path, f"{text}\n", (*range(len(text) + 1), len(text))))
    told = {one.primary.span: one for one in islice(found, MOST)}
    told.pop(error.diagnostic.primary.span, None)
    return tuple(told[span] for span in sorted(told))


@dataclass(frozen=True)
class Draft:
    """A text after some changes. `at` is where each character, and the end, stood before them; what was put
    in has the complement (`~`) of the place that it was put at.
    """

    path: str
    text: str
    at: tuple[int, ...]

    def put(self, start: int, end: int, new: str) -> Draft:
        """The draft with other text in a place."""
        at = (*self.at[:start], *(~self.place(start),) * len(new), *self.at[end:])
        return replace(self, text=self.text[:start] + new + self.text[end:], at=at)

    def place(self, at: int) -> int:
        """Where something stood, or was put in, before all changes."""
        return max(self.at[at], ~self.at[at])

    def is_made(self, span: Span) -> bool:
        """Whether nothing at a place stood there before."""
        return span.start < span.end and all(each < 0 for each in self.at[span.start : span.end])

    def moved(self, start: int, end: int, to: int) -> Draft:
        """The draft with a part of it further up or down, at a place outside of the part."""
        low, high = min(start, to), max(end, to)
        order = (*range(low), *self._between(low, high, start, end), *range(high, len(self.text)))
        return replace(
            self,
            text="".join(self.text[each] for each in order),
            at=(*(self.at[each] for each in order), self.at[-1]),
        )

    def _between(self, low: int, high: int, start: int, end: int) -> Iterator[int]:
        parts = (range(start, end), range(low, start), range(end, high))
        for part in parts if low < start else (parts[2], parts[0]):
            yield from part

    def only(self, start: int, end: int) -> Draft:
        """A part of the draft."""
        return replace(self, text=self.text[start:end], at=self.at[start : end + 1])

    def told(self, one: Diagnostic) -> Diagnostic:
        """A fault of the draft, at its places before all changes."""
        related = tuple(self._label(each) for each in one.related)
        return replace(one, primary=self._label(one.primary), related=related)

    def _label(self, label: Label) -> Label:
        start, end = label.span.start, label.span.end
        first = self.place(start)
        last = self.place(end - 1) + 1 if end > start else first
        return replace(label, span=Span(first, max(first, last)))

    # --- lines ---

    def lines(self) -> list[Span]:
        """The lines with their ends; nothing stands after the last."""
        found, start = [], 0
        for line in self.text.split("\n")[:-1]:
            found.append(Span(start, start + len(line) + 1))
            start += len(line) + 1
        return found

    def of(self, span: Span) -> str:
        return self.text[span.start : span.end]

    def below(self, start: int) -> list[Span]:
        """The lines after the one that begins at a place, without those that say nothing."""
        return [
            line for line in self.lines() if line.start > start and not _BLANK.fullmatch(self.of(line)[:-1])
        ]

    def block(self, start: int) -> Span:
        """A line in the first column at a place, with all lines below that belong to it."""
        after = (line.start for line in self.below(start) if not self.depth(line))
        return Span(start, next(after, len(self.text)))

    def depth(self, line: Span) -> int:
        """How far a line is indented."""
        text = self.of(line)
        return len(text) - len(text.lstrip())


@dataclass
class _Known:
    """What follows from the faults so far: the names that are at fault, or all; the lines whose layout was
    told; what was mended, by its place, its code and its words.
    """

    gone: set[str] = field(default_factory=set)
    all_names: bool = False
    laid_out: set[int] = field(default_factory=set)
    mended: set[tuple[int, str, str]] = field(default_factory=set)


def _faults(draft: Draft, gone: Iterable[str] = ()) -> Iterator[Diagnostic]:
    """The faults of a text, the first one first; none that follows from another, or is about names that are
    `gone`.
    """
    known = _Known(set(gone))
    for number in range(_STEPS):
        found = _fault(draft)
        if found is None:
            return
        one, readable = found
        at = one.primary.span.start
        if number == 0 or _is_new(draft, one, readable, known):
            yield draft.told(one)
        if one.code == "duplicate-section" and draft.of(one.primary.span) == "mechanism":
            yield from _faults(draft.only(0, at), known.gone)
            yield from _faults(draft.only(at, len(draft.text)), known.gone)
            return
        place = (draft.place(at), one.code, draft.of(one.primary.span))
        other = None if _WHOLE.fullmatch(one.code) or place in known.mended else _mended(draft, one, known)
        if other is None:
            return
        known.mended.add(place)
        if _LAYOUT.fullmatch(one.code):
            known.laid_out.add(_line_at(draft, at))
        draft = other


def _is_new(draft: Draft, one: Diagnostic, readable: bool, known: _Known) -> bool:
    """Whether a fault stands for itself."""
    if _WHOLE.fullmatch(one.code) or draft.is_made(one.primary.span):
        return False
    if set(_WORD.findall(draft.of(one.primary.span))) & known.gone:
        return False
    if _LAYOUT.fullmatch(one.code) and _line_at(draft, one.primary.span.start) in known.laid_out:
        return False
    return not readable or (not known.all_names and _NAMES.fullmatch(one.code) is not None)


def _line_at(draft: Draft, place: int) -> int:
    """Where the line of a place began before all changes."""
    return draft.place(draft.text.rfind("\n", 0, place) + 1)


def _fault(draft: Draft) -> tuple[Diagnostic, bool] | None:
    """The first fault of a text, and whether the text can be read in spite of it; None where there is none,
    or one of another file.
    """
    source, readable = Source(draft.path, draft.text), False
    try:
        mechanism = parse(source)
        readable = True
        check(source, mechanism)
    except SpecError as error:
        return (error.diagnostic, readable) if error.source == source else None
    return None


def _mended(draft: Draft, one: Diagnostic, known: _Known) -> Draft | None:
    """The text without a fault; None where nothing can be guessed."""
    span = one.primary.span
    word = draft.of(span)
    begins = span.start == 0 or draft.text[span.start - 1] == "\n"
    plain = word.isidentifier() and draft.text[span.end : span.end + 1] not in ("[", "'", "′", ".")
    match one.code:
        case "unknown-name" if plain:
            known.gone.add(word)
            return draft.put(span.start, span.end, "1")
        case "unknown-section" | "missing-section" | "section-order" | "duplicate-section":
            return _with_sections(draft, one, known)
        case "missing-indent" if begins:
            return _indented(draft, span.start)
        case "unexpected-indent" | "inconsistent-indentation":
            return _outdented(draft, span.start)
        case "mixed-indentation":
            return _without_tabs(draft)
        case _:
            return _without(draft, span.start, known, closed=one.code != "unclosed-bracket")


def _with_sections(draft: Draft, one: Diagnostic, known: _Known) -> Draft | None:
    """A misspelt section as it was meant, one that is missing put in, one that is given again joined to the
    first, one out of place moved.
    """
    span = one.primary.span
    word, block = draft.of(span), draft.block(span.start)
    meant = _QUOTED.findall(nearest(word, SECTIONS) or "") if word.isidentifier() else []
    if one.code == "unknown-section" or (meant and word not in SECTIONS):
        known.all_names |= not meant
        return draft.put(span.start, span.end if meant else block.end, meant[0] if meant else "")
    if one.code == "missing-section":
        missing = next((name for name in _QUOTED.findall(one.message) if name in SECTIONS), "mechanism")
        known.all_names |= missing == "program"
        head = draft.text.find("\nmechanism ", span.start)
        if missing == "mechanism" and head >= 0:
            return draft.put(span.start, head + 1, "")
        if word not in SECTIONS and span.start < len(draft.text.rstrip()):
            return None
        return draft.put(span.start, span.start, f"\n{_INSTEAD[missing]}\n")
    first = draft.block(one.related[0].span.start)
    if one.code == "section-order":
        return draft.moved(block.start, block.end, first.start)
    if word == "privacy":
        return draft.put(block.start, block.end, "")
    body = draft.text.index("\n", span.start) + 1
    joined = draft.put(span.start, body, "")
    end = block.end - (body - span.start)
    return joined.moved(span.start, end, first.end) if first.end < span.start < end else joined


def _indented(draft: Draft, start: int) -> Draft:
    """The text with a line indented as its section is, and with those that follow up to the next section."""
    before = [line for line in draft.lines() if line.start < start]
    heads = [number for number, line in enumerate(before) if not draft.depth(line)]
    depths = [draft.depth(line) for line in before[heads[-1] + 1 :]] if heads else []
    whole, by = not any(depths), next((each for each in depths if each), 2)
    lines = [line for line in draft.lines() if line.start == start]
    for line in draft.below(start):
        if not draft.depth(line) and draft.of(line).split()[0] in SECTIONS:
            break
        if whole or not draft.depth(line):
            lines.append(line)
    for line in reversed(lines):
        draft = draft.put(line.start, line.start, " " * by)
    return draft


def _outdented(draft: Draft, place: int) -> Draft:
    """The text with a line indented as the one before it is, and those below it with it, as far as they are
    indented as much.
    """
    start = draft.text.rfind("\n", 0, place) + 1
    (line,) = (each for each in draft.lines() if each.start == start)
    before = [each for each in draft.lines() if each.start < start and draft.of(each).strip()]
    by = draft.depth(line) - (draft.depth(before[-1]) if before else 0)
    lines = [line]
    for each in draft.below(start):
        if draft.depth(each) < draft.depth(line):
            break
        lines.append(each)
    for each in reversed(lines):
        cut = each.start + max(0, by)
        draft = draft.put(each.start, cut, " " * max(0, -by))
    return draft


def _without_tabs(draft: Draft) -> Draft | None:
    """The text indented by spaces; None where it does not tell how far."""
    for width in (4, 2, 8):
        other = draft
        for line in reversed(draft.lines()):
            depth = draft.depth(line)
            indent = draft.text[line.start : line.start + depth].rstrip("\n")
            other = other.put(line.start, line.start + len(indent), indent.replace("\t", " " * width))
        found = _fault(other)
        if found is None or not _LAYOUT.fullmatch(found[0].code):
            return other
    return None


def _without(draft: Draft, place: int, known: _Known, closed: bool) -> Draft | None:
    """The text with another line in the place of one, and of those that brackets, which may not be `closed`,
    join to it; None where nothing can stand there.
    """
    start = draft.text.rfind("\n", 0, place) + 1
    (line,) = (each for each in draft.lines() if each.start == start)
    body, end, depth = _body(draft.of(line)), line.end, draft.depth(line)
    below = draft.below(start)
    while below and (_open(body) > 0 if closed else draft.depth(below[0]) > depth and not body.endswith(":")):
        body, end = f"{body} {_body(draft.of(below[0]))}", below.pop(0).end
    if not body or (closed and _open(body)):
        return None
    opens = bool(below) and draft.depth(below[0]) > depth
    heads = [
        each
        for each in draft.lines()
        if each.start <= start and not draft.depth(each) and _body(draft.of(each))
    ]
    section = _body(draft.of(heads[-1])).split()[0] if heads else ""
    other = _instead(body, section, opens) if depth else _SECTIONS.get(section, section.strip(":"))
    known.gone |= _given_in(body) - set(_WORD.findall(other))
    return draft.put(start + depth, end - 1, other)


def _body(line: str) -> str:
    """What a line says."""
    return line.partition("#")[0].strip()


def _open(body: str) -> int:
    """How many brackets are open after a text."""
    return len(_OPENING.findall(body)) - len(_CLOSING.findall(body))


def _given_in(line: str) -> set[str]:
    """The names that a line may give a meaning to: what stands before its value, its noise or its fields."""
    head = line if line.lstrip().startswith("for ") else re.split("[=~(+]", line, maxsplit=1)[0]
    return set(_WORD.findall(head))


_SECTIONS = {"privacy": "privacy 1", "mechanism": "mechanism m", "expect": "", "use": "", "fun": ""}


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
