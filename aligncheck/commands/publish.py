"""Documents about specs: `aligncheck explain SPEC` and `aligncheck compare`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from aligncheck.commands import CommandError
from aligncheck.commands.checking import checked_alone, one_file
from aligncheck.commands.telling import tell

if TYPE_CHECKING:
    from aligncheck.publish.sheet import Sheet
    from aligncheck.refutation.findings import Refutation
    from aligncheck.verdict import FileResult


def publish(path: str, *, timeout: float, **targets: str | None) -> int:
    """Writes what is found of a spec, or prints it as Markdown where no `targets` are given: files by the
    kinds of documents. Returns 0; 2 where the file is no spec that can be checked.
    """
    _keep(path, targets)
    result, refutation = judged(path, timeout)
    if _refused(result):
        return 2
    from aligncheck.publish.compose import spec_sheet

    sheet = spec_sheet(result, refutation)
    if any(targets.values()):
        _write(sheet, targets)
    else:
        from aligncheck.publish.markdown import markdown_text

        tell(*markdown_text(sheet).rstrip("\n").split("\n"))
    return 0


def compare(one: str, other: str, *, timeout: float, **targets: str | None) -> int:
    """Writes, or prints where no `targets` are given, which lines of two specs differ, and what is found of
    each. Returns 0; 2 where a file is no spec that can be checked.
    """
    for path in (one, other):
        _keep(path, targets)
    pair = (judged(one, timeout), judged(other, timeout))
    if sum(_refused(result) for result, _ in pair):
        return 2
    from aligncheck.publish.compose import comparison_sheet, differing_lines

    if any(targets.values()):
        _write(comparison_sheet(*pair), targets)
        return 0
    from aligncheck.commands.screen import Screen, report_result
    from aligncheck.report.refutation import render_refutation

    tell(f"- {one}", f"+ {other}", *differing_lines(pair[0][0].text, pair[1][0].text), "")
    screen = Screen()
    for result, refutation in pair:
        report_result(screen, result, False)
        if refutation is not None:
            screen.show(render_refutation(refutation))
    return 0


def judged(path: str, timeout: float) -> tuple[FileResult, Refutation | None]:
    """The verdict on a file and, where it is not VERIFIED, what a search for a violation finds."""
    from aligncheck.commands.refuting import refuted_after

    result = checked_alone(one_file(path), timeout)
    return result, refuted_after(result)


def _refused(result: FileResult) -> bool:
    from aligncheck.verdict import Error

    if not isinstance(result.verdict, Error):
        return False
    from aligncheck.commands.screen import Screen, report_result

    report_result(Screen(error=True), result, False)
    return True


def _keep(path: str, targets: Mapping[str, str | None]) -> None:
    """Refuses to write a document over a spec, through a link too, or over another one, before time is spent.
    Raises CommandError.
    """
    written: dict[str, str] = {}
    for target in filter(None, targets.values()):
        real = os.path.realpath(target)
        if target.endswith(".dp") or real.endswith(".dp") or real == os.path.realpath(path):
            raise CommandError(f"cannot write `{target}`: that is a spec")
        if os.path.isdir(target):
            raise CommandError(f"cannot write `{target}`: it is a folder")
        if real in written and os.path.isfile(real) == os.path.exists(real):
            raise CommandError(f"cannot write `{target}`: another document is written to `{written[real]}`")
        written[real] = target


def _write(sheet: Sheet, targets: Mapping[str, str | None]) -> None:
    from aligncheck.commands.compile import replace_file
    from aligncheck.publish.html import html_page
    from aligncheck.publish.latex import latex_text
    from aligncheck.publish.markdown import markdown_text

    drawn: dict[str, Callable[[Sheet], str]] = {
        "html": html_page,
        "latex": latex_text,
        "markdown": markdown_text,
    }
    for kind, target in targets.items():
        if target:
            replace_file(target, drawn[kind](sheet))
            tell(f"written to `{target}`")
