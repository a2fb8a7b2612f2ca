"""`aligncheck verify`: verdicts as text or JSON, or their agreement with the files' `expect` lines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aligncheck.commands.checking import checking, spec_files

if TYPE_CHECKING:
    from aligncheck.commands.screen import Screen
    from aligncheck.refutation.findings import Refutation
    from aligncheck.verdict import FileResult


def verify(
    paths: Sequence[str],
    *,
    timeout: float,
    jobs: int | None,
    as_json: bool,
    verbose: bool,
    expecting: bool,
    refuting: bool,
    lints: Sequence[str],
) -> int:
    """Prints a report per file, and a count where there are several. Returns the worst verdict's status.

    `refuting`: where the proof fails, a violation is searched for, and what comes of it is printed beside the
    verdict. A certified violation of what was not decided counts as a failure. `lints`: what is looked at
    besides, by name, which changes no verdict. `expecting`: instead, see `expect`.
    """
    if expecting:
        return expect(paths, timeout=timeout, jobs=jobs, as_json=as_json)
    from aligncheck.commands.refuting import refuted_after

    start = time.monotonic()
    files = spec_files(paths)
    with checking(files, timeout=timeout, jobs=jobs, verbose=verbose) as results:
        from aligncheck.commands.screen import Screen, counted, report_json, report_result
        from aligncheck.verdict import NAMES, exit_status, name_of, worst_status

        seen: list[FileResult] = []
        screen = None if as_json else Screen()
        refuted: list[Refutation | None] = []
        for result in results:
            seen.append(result)
            refuted.append(refuted_after(result) if refuting else None)
            if screen is not None:
                report_result(screen, result, verbose)
                if "units" in lints:
                    _tell_units(screen, result)
                _tell_alignment(screen, result, timeout)
                if (found := refuted[-1]) is not None:
                    from aligncheck.report.refutation import render_refutation

                    screen.show(render_refutation(found))
    if screen is None:
        report_json(seen, refutations=refuted if refuting else None, units="units" in lints)
    elif len(files) > 1:
        screen.show(counted([name_of(result.verdict) for result in seen], NAMES.values(), start))
    statuses = [exit_status(result.verdict) for result in seen]
    return worst_status([*statuses, *(1 for found in refuted if found is not None and _is_refuted(found))])


def _tell_units(screen: Screen, result: FileResult) -> None:
    from aligncheck.language.source import Source
    from aligncheck.report.terminal import mixed_units_of, render_warning

    for each in mixed_units_of(result):
        screen.show(render_warning(Source(result.path, result.text), each))


def _tell_alignment(screen: Screen, result: FileResult, timeout: float) -> None:
    """Another alignment, where that of the file fails or is missing: what was found in a small part of the
    time.
    """
    from aligncheck.commands.improve import hint

    told = hint(result, timeout)
    if told:
        screen.show("\n".join((*told, "")))


def _is_refuted(refutation: Refutation) -> bool:
    from aligncheck.refutation.violation import Violation

    return isinstance(refutation.outcome, Violation)


def expect(paths: Sequence[str], *, timeout: float, jobs: int | None, as_json: bool) -> int:
    """Prints whether each file's verdict is the one it expects. Returns 0 if all are, otherwise 1."""
    start = time.monotonic()
    files = spec_files(paths)
    with checking(files, timeout=timeout, jobs=jobs, explain=False) as results:
        from aligncheck.commands.screen import agreement, report_json
        from aligncheck.expect import compare

        return agreement(results, compare, start, report_json if as_json else None)
