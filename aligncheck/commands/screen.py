"""Prints what the `report` package makes: text in the colours that the terminal has, or JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from aligncheck.expect import Comparison
from aligncheck.language.printable import printable
from aligncheck.language.source import Source
from aligncheck.refutation.findings import Refutation
from aligncheck.verdict import FileResult


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves a closed pipe to `main`; the original exits with status 1, which is a verdict's."""
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Whatever a report took over from a file without `printable` (which it needs where widths count)."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = segment.text.split("\n")
                yield segment._replace(text="\n".join(map(printable, lines)))


class Screen:
    """Standard output or standard error. Wide lines are left alone, so a report reads the same everywhere."""

    def __init__(self, *, error: bool = False) -> None:
        self._console = _Console(stderr=error, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def show(self, what: RenderableType) -> None:
        self._console.print(what)


def report_result(screen: Screen, result: FileResult, verbose: bool) -> None:
    """Shows one file's verdict."""
    from aligncheck.report.terminal import render_result

    screen.show(render_result(result, Source(result.path, result.text), verbose))


def report_json(
    results: Sequence[FileResult],
    comparisons: Sequence[Comparison] | None = None,
    refutations: Sequence[Refutation | None] | None = None,
    units: bool = False,
) -> None:
    """Prints the one JSON document for all files."""
    from aligncheck.report.machine import diagnostic_document, document
    from aligncheck.report.terminal import mixed_units_of

    found = document(results, comparisons)
    if refutations is not None:
        from aligncheck.report.refutation import refutation_document

        for result, refutation in zip(found["results"], refutations, strict=True):
            one = [] if refutation is None else refutation_document([refutation])["results"]
            result["refutation"] = one[0] if one else None
    for result, one in zip(found["results"], results, strict=True) if units else ():
        source = Source(one.path, one.text)
        result["units"] = [diagnostic_document(source, each) for each in mixed_units_of(one)]
    print_json(found)


def counted(names: Sequence[str], order: Iterable[str], start: float) -> str:
    """How many files have which verdict; `start` as in `agreement`."""
    parts = ", ".join(f"{names.count(name)} {name}" for name in order if name in names)
    return f"{len(names)} files: {parts} ({time.monotonic() - start:.1f} s)"


def print_json(document: object) -> None:
    """Prints a document that is ready."""
    import json

    json.dump(document, sys.stdout, indent=2, ensure_ascii=True)
    sys.stdout.write("\n")


Found = TypeVar("Found", FileResult, Refutation)


def agreement(
    work: Iterable[Found],
    compare: Callable[[Found], Comparison],
    start: float,
    as_json: Callable[[list[Found], list[Comparison]], None] | None,
) -> int:
    """Prints whether each result is the one that its file expects, and how many are. Returns 0 or 1.

    `start`: a `time.monotonic()` value; `as_json` prints a document instead.
    """
    seen: list[Found] = []
    comparisons: list[Comparison] = []
    screen = None if as_json else Screen()
    for result in work:
        comparison = compare(result)
        seen.append(result)
        comparisons.append(comparison)
        if screen is not None:
            screen.show(_line(result.path, comparison))
    agreeing = sum(comparison.agrees for comparison in comparisons)
    if as_json is not None:
        as_json(seen, comparisons)
    elif screen is not None:
        screen.show(f"{agreeing} of {len(seen)} agree ({time.monotonic() - start:.1f} s)")
    return 0 if agreeing == len(seen) else 1


def _line(path: str, comparison: Comparison) -> str:
    """One line for a file that agrees, two for one that does not."""
    if comparison.agrees:
        return f"agrees     {path}: {comparison.got}"
    where = f"DISAGREES  {path}: expected {comparison.wanted}, got {comparison.got}"
    return f"{where}\n           {comparison.why}"
