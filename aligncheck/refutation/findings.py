"""What `refute` says of one file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from aligncheck.language.diagnostics import Diagnostic
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.refutation.violation import NoViolation, Violation


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The search was stopped from outside, or failed; nothing is claimed.

    `refused`: it was not even begun, since the mechanism has no such parameters.
    """

    message: str
    refused: bool = False


Outcome: TypeAlias = Violation | NoViolation | Unfinished | Diagnostic


@dataclass(frozen=True, slots=True)
class Refutation:
    """What became of one file: `path` as the user typed it, `seconds` from reading to outcome.

    REFUTED is certified. NO VIOLATION FOUND claims nothing. `advice` holds what would be private instead, as
    far as that was proved; `further`, after a diagnostic, those faults that stand for themselves.
    """

    path: str
    mechanism: Mechanism | None
    outcome: Outcome
    seconds: float
    text: str = field(default="", repr=False)
    advice: tuple[str, ...] = ()
    further: tuple[Diagnostic, ...] = ()


def name_of(outcome: Outcome) -> str:
    """The outcome as users see it."""
    match outcome:
        case Violation():
            return "REFUTED"
        case NoViolation():
            return "NO VIOLATION FOUND"
        case Unfinished():
            return "UNKNOWN"
        case Diagnostic():
            return "ERROR"


def exit_status(outcome: Outcome) -> int:
    """1 REFUTED, 0 NO VIOLATION FOUND, 2 ERROR, 3 UNKNOWN."""
    match outcome:
        case Violation():
            return 1
        case NoViolation():
            return 0
        case Unfinished():
            return 3
        case Diagnostic():
            return 2
