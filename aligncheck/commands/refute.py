"""`aligncheck refute`: certified violations as text or JSON, or agreement with `expect refuted` lines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aligncheck.commands.checking import spec_files
from aligncheck.commands.named import assigned
from aligncheck.commands.refuting import Job, refuting

if TYPE_CHECKING:
    from aligncheck.expect import Comparison
    from aligncheck.refutation.findings import Refutation


def refute(
    paths: Sequence[str],
    *,
    eps: str | None = None,
    settings: Sequence[str] = (),
    timeout: float | None = None,
    jobs: int | None = None,
    as_json: bool = False,
    expecting: bool = False,
) -> int:
    """Prints what was found in each file, and a count where there are several. Returns the worst status.

    `expecting`: instead, see `expect`.
    """
    if expecting:
        return expect(paths, timeout=timeout, jobs=jobs, as_json=as_json)
    start = time.monotonic()
    files = spec_files(paths)
    values = assigned("--set", [*([] if eps is None else [f"eps={eps}"]), *settings])
    with refuting([Job(file, values, timeout) for file in files], jobs=jobs) as work:
        from aligncheck.commands.screen import Screen, counted, print_json
        from aligncheck.refutation.findings import exit_status, name_of
        from aligncheck.report.refutation import refutation_document, render_refutation
        from aligncheck.verdict import worst_status

        seen: list[Refutation] = []
        screen = None if as_json else Screen()
        for refutation in work:
            seen.append(refutation)
            if screen is not None:
                screen.show(render_refutation(refutation))
    if screen is None:
        print_json(refutation_document(seen))
    elif len(files) > 1:
        names = [name_of(refutation.outcome) for refutation in seen]
        screen.show(counted(names, sorted({*names}), start))
    return worst_status(exit_status(refutation.outcome) for refutation in seen)


def expect(paths: Sequence[str], *, timeout: float | None, jobs: int | None, as_json: bool) -> int:
    """Prints whether those files, and only those, are refuted that expect it. Returns 0 if so, else 1."""
    start = time.monotonic()
    files = spec_files(paths)
    with refuting([Job(file, {}, timeout) for file in files], jobs=jobs) as work:
        from aligncheck.commands.screen import agreement, print_json
        from aligncheck.expect import compare_refutation
        from aligncheck.report.refutation import refutation_document

        def printed(seen: list[Refutation], comparisons: list[Comparison]) -> None:
            print_json(refutation_document(seen, comparisons))

        return agreement(work, compare_refutation, start, printed if as_json else None)
