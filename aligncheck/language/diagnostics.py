"""What is said about bad input: data only; `report.terminal` draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Never

from aligncheck.language.source import Source, Span


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the source and a short remark on it."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault of the input.

    `code` is a stable kebab-case id (`unknown-name`); `message` states the fault, lower-case, without a
    final stop, code in backticks; `primary` is the smallest span at fault; `help` says what to write instead.
    """

    code: str
    message: str
    primary: Label
    related: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None


class SpecError(Exception):
    """Bad input: carries its source, one `Diagnostic`, and others of the same text that stand for themselves.
    Commands that meet it exit with status 2.
    """

    def __init__(self, source: Source, diagnostic: Diagnostic, further: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(diagnostic.message)
        self.source = source
        self.diagnostic = diagnostic
        self.further = further


def fault(
    source: Source,
    code: str,
    message: str,
    span: Span,
    *,
    label: str = "",
    related: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    help: str | None = None,  # noqa: A002 - the name of the field it fills
) -> SpecError:
    """The error for one fault at one place, ready to be raised."""
    return SpecError(source, Diagnostic(code, message, Label(span, label), related, notes, help))


class Faults:
    """What looks at one source, and raises what is at fault in it."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def fault(self, code: str, message: str, span: Span, **more: Any) -> SpecError:
        """See `fault`."""
        return fault(self.source, code, message, span, **more)

    def fail(self, code: str, message: str, span: Span, **more: Any) -> Never:
        """Raises it."""
        raise self.fault(code, message, span, **more)
