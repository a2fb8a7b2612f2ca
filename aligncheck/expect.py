"""Compares a verdict with the file's `expect` line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aligncheck.language.diagnostics import Diagnostic
from aligncheck.language.syntax.nodes import Expectation, Mechanism
from aligncheck.refutation.findings import Refutation, Unfinished, name_of
from aligncheck.refutation.violation import NoViolation, Violation
from aligncheck.verdict import AlignmentFails, Error, FileResult, Unknown, Verdict, Verified

_LINE = re.compile(
    r"^expect[ \t]+(?P<verdict>[a-z ]+?)(?:[ \t]+at[ \t]+(?P<at>[\w-]+))?[ \t]*(?:#.*)?$", re.M
)
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether a verdict is the one expected: `wanted`, `got` in the words of `expect`, `why` the reason."""

    wanted: str
    got: str
    agrees: bool
    why: str


def compare(result: FileResult) -> Comparison:
    """Compares a result with its file's own expectation; a file that expects nothing disagrees.

    A file that expects nothing but `refuted` leaves open how its proof fails: a violation is searched for by
    `refute` (see `compare_refutation`).
    """
    wanted = expectation_of(result)
    got = _as_expectation(result.verdict)
    return Comparison(
        wanted="nothing (the file has no `expect` line)" if wanted is None else _words(wanted),
        got=_words(got),
        agrees=wanted is not None and _agree(wanted, got),
        why=_why(result.verdict),
    )


def _agree(wanted: Expectation, got: Expectation) -> bool:
    if wanted.verdict == "refuted":
        return got.verdict in ("alignment fails", "unknown")
    return wanted.verdict == got.verdict and _same_place(wanted.at, got.at)


def expects_refutation(mechanism: Mechanism) -> bool:
    """Whether a file has a line `expect refuted`."""
    return mechanism.also_refuted or (mechanism.expect is not None and mechanism.expect.verdict == "refuted")


def compare_refutation(refutation: Refutation) -> Comparison:
    """Whether a violation was found where the file expects one, and none where it does not.

    A file that cannot be searched agrees if that is the error that it expects.
    """
    got = name_of(refutation.outcome).lower()
    if refutation.mechanism is not None:
        wanted = "refuted" if expects_refutation(refutation.mechanism) else "no violation found"
    else:
        line = expectation_in(refutation.text or _text_of(refutation.path))
        wanted = "no violation found" if line is None else line.verdict
    return Comparison(wanted, got, wanted == got, _why_refuted(refutation))


def _why_refuted(refutation: Refutation) -> str:
    match refutation.outcome:
        case Violation():
            return "a violation was certified"
        case NoViolation(tried=tried):
            return f"{tried} probabilities were computed"
        case Unfinished(message=message):
            return message
        case Diagnostic() as diagnostic:
            return diagnostic.message


def _same_place(wanted: str | None, got: str | None) -> bool:
    """The same condition; `acyclic` also where the general route was tried in its place and failed at
    `injective`.
    """
    return wanted in (None, got) or (wanted, got) == ("acyclic", "injective")


def expectation_of(result: FileResult) -> Expectation | None:
    """What the file expects, from its syntax tree, or from its text where there is no tree."""
    match result.verdict:
        case Verified(mechanism=mechanism) | AlignmentFails(mechanism=mechanism):
            return mechanism.expect
        case Unknown(mechanism=mechanism) if mechanism is not None:
            return mechanism.expect
        case Unknown() | Error():
            return expectation_in(result.text or _text_of(result.path))


def expectation_in(text: str) -> Expectation | None:
    """The last `expect` line of a text that need not be a spec; `expect refuted` only if it has no other."""
    found = list(_LINE.finditer(text))
    found = [line for line in found if line["verdict"] != "refuted"] or found
    return Expectation(found[-1]["verdict"], found[-1]["at"]) if found else None


def _text_of(path: str) -> str:
    """Reads as much as there is to read of a file that is perhaps no text at all."""
    try:
        with open(path, "rb") as file:
            raw = file.read(_LARGEST)
    except OSError:
        return ""
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return raw.decode(encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _as_expectation(verdict: Verdict) -> Expectation:
    match verdict:
        case Verified():
            return Expectation("verified")
        case AlignmentFails(condition=condition):
            return Expectation("alignment fails", condition.id)
        case Unknown(condition=condition):
            return Expectation("unknown", condition.id if condition else None)
        case Error(diagnostic=diagnostic):
            return Expectation("error", diagnostic.code)


def _words(expectation: Expectation) -> str:
    return expectation.verdict if expectation.at is None else f"{expectation.verdict} at {expectation.at}"


def _why(verdict: Verdict) -> str:
    match verdict:
        case Verified():
            return "every condition was proved"
        case AlignmentFails(message=message) | Unknown(message=message):
            return message
        case Error(diagnostic=diagnostic):
            return diagnostic.message
