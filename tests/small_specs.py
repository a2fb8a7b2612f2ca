"""Small specs written inside a test, and what the checker's stages make of them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.pipeline import Options, verify_source
from aligncheck.verdict import AlignmentFails, Unknown, Verdict, name_of

SPECS = Path(__file__).parents[1] / "specs"
INPUTS = """
    q : queries, sensitivity 1
    k : int where k >= 1
    eps : real where eps > 0
"""


def spec(program: str, align: str = "", inputs: str = INPUTS, privacy: str = "eps") -> Source:
    """A whole spec around a program."""
    parts = [
        "mechanism small",
        "input\n" + _block(inputs),
        f"privacy {privacy}",
        "program\n" + _block(program),
        *(["align\n" + _block(align)] if align else []),
    ]
    return Source("small.dp", "\n\n".join(parts) + "\n")


def _block(text: str) -> str:
    return indent(dedent(text).strip("\n"), "  ")


def mechanism(program: str, align: str = "", inputs: str = INPUTS, privacy: str = "eps") -> Mechanism:
    """The checked syntax tree."""
    source = spec(program, align, inputs, privacy)
    return check(source, parse(source))


def checked(path: Path | str) -> Mechanism:
    """The same of a file."""
    source = read_source(str(path))
    return check(source, parse(source))


def named(stem: str) -> Mechanism:
    """The same of one of the specs that come with aligncheck."""
    return checked(SPECS / f"{stem}.dp")


def verdict_of(source: Source, seconds: float = 20.0, explain: bool = True) -> Verdict:
    """The verdict of the whole pipeline; `explain`: with advice, which takes its time to find."""
    return verify_source(source, Options(timeout=seconds, explain=explain))


def outcome(verdict: Verdict) -> str:
    """In the words of an `expect` line."""
    match verdict:
        case AlignmentFails(condition=c) | Unknown(condition=c) if c is not None:
            return f"{name_of(verdict).lower()} at {c.id}"
        case _:
            return name_of(verdict).lower()
