"""Whether a generated file is what would be generated now, and if not, what has changed: `compile --check`.

Nothing is decided here: what is compared was proved, and written, by the same run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from aligncheck.compiler.certificate.text import (
    MAKER,
    MODE,
    Attached,
    FormatError,
    Section,
    detached,
    first_difference,
    spec_named,
)
from aligncheck.compiler.modes import RunMode

_LONGEST = 120


def mode_of(text: str) -> RunMode | None:
    """The mode for which a file was generated; None where it does not say."""
    try:
        named = {section.title: section.text for section in detached(text).sections}
    except FormatError:
        return None
    return next((mode for mode in RunMode if mode.value == named.get(MODE)), None)


def changes(path: str, found: str, spec: str, text: str, wanted: str | None) -> list[str]:
    """What has changed since the file at `path`, whose text is `found`, was generated: sentences, none where
    it is current. Of what follows from one another only the first is told.

    `spec` is the path of the spec and `text` what it says now, `wanted` the file that is generated from it
    now; None where it cannot be, so that only the spec is compared.
    """
    try:
        parts = detached(found)
    except FormatError as error:
        return [f"{path}{'' if error.line is None else f':{error.line}'}: {error}"]
    edited = [] if parts.intact else [f"{path}: changed after it was compiled (its digest does not fit)"]
    if wanted is None:
        return edited + list(_specs(spec, _specs_in(parts.sections), {os.path.basename(spec): text}))
    now = detached(wanted)
    specs = list(_specs(spec, _specs_in(parts.sections), _specs_in(now.sections)))
    return edited + (specs or list(_rest(path, parts, now)))


def _specs_in(sections: Iterable[Section]) -> dict[str, str]:
    """The texts of the specs in a certificate, by their paths relative to the folder of the first one."""
    return {named[0]: s.text for s in sections if (named := spec_named(s.title)) is not None}


def _specs(spec: str, then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    folder = os.path.dirname(spec)
    for name, text in now.items():
        place = os.path.join(folder, name)
        if name not in then:
            yield f"{place}: the module was not compiled from this spec"
            continue
        lines, others = text.split("\n"), then[name].split("\n")
        number = first_difference(lines, others)
        if number is not None:
            yield f"{place}:{number + 1}: now {_line(lines, number)}, compiled from {_line(others, number)}"


def _rest(path: str, then: Attached, now: Attached) -> Iterator[str]:
    """Differences of what is made of the same specs; who made them does not matter."""
    lines, others = then.code.split("\n"), now.code.split("\n")
    number = first_difference(lines, others)
    if number is not None:
        yield f"{path}:{number + 1}: {_line(lines, number)}, where now {_line(others, number)} is generated"
        return
    for one, other in zip(then.sections, now.sections, strict=False):
        number = first_difference(one.lines, other.lines)
        if one.title != other.title:
            yield f"{path}:{one.line}: `{_cut(one.title)}`, where now `{_cut(other.title)}` follows"
            return
        if one.title != MAKER and number is not None:
            text = f"{_line(one.lines, number)}, where now {_line(other.lines, number)} follows"
            yield f"{path}:{one.line + 1 + number}: {one.title}: {text}"
            return
    if len(then.sections) != len(now.sections):
        yield f"{path}: {len(then.sections)} sections of a certificate, where now {len(now.sections)} follow"


def _line(lines: list[str] | tuple[str, ...], number: int) -> str:
    return f"`{_cut(lines[number].strip())}`" if number < len(lines) else "nothing more"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
