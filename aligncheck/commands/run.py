"""`aligncheck run`: a verified mechanism on a column of a CSV file."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from aligncheck.commands import CommandError
from aligncheck.commands.checking import Checking, one_file
from aligncheck.commands.screen import Screen, report_result
from aligncheck.execute import NotVerified, RunError, run_file
from aligncheck.report.release import execution_document, render_execution
from aligncheck.verdict import Result, Verdict, exit_status


def run(
    path: str,
    *,
    data: str | None,
    column: str | None,
    label: str | None,
    settings: Sequence[str],
    functions: Sequence[str],
    seed: int | None,
    as_json: bool,
    timeout: float,
) -> int:
    """Prints what a run released. Returns 0, or the verdict's exit status where a spec is not verified.

    Raises CommandError where the run cannot be carried out.
    """
    checked: list[Result] = []

    def verify(spec: str) -> Verdict:
        with Checking([spec], timeout=timeout, jobs=1) as results:
            checked.extend(results)
        return checked[0].verdict

    try:
        execution = run_file(
            one_file(path),
            data,
            column,
            _assigned("--set", settings, "NAME=VALUE"),
            seed,
            verify=verify,
            label=label,
            functions=_assigned("--function", functions, "NAME=FILE.py:FUNCTION"),
        )
    except NotVerified as error:
        report_result(Screen(error=True), checked[0], verbose=False)
        print(f"aligncheck: not run: {error.message}", file=sys.stderr)
        return exit_status(error.verdict)
    except RunError as error:
        raise CommandError(
            error.message if error.help is None else f"{error.message}\n{error.help}"
        ) from None
    if as_json:
        json.dump(execution_document(execution), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Screen().show(render_execution(execution))
    return 0


def _assigned(option: str, texts: Sequence[str], form: str) -> dict[str, str]:
    """What an option that may be given several times says of each name."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"`{option} {text}` is not of the form {form}")
        if name.strip() in found:
            raise CommandError(f"`{name.strip()}` is set twice")
        found[name.strip()] = value.strip()
    return found
