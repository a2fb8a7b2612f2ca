"""`aligncheck run`: a verified mechanism on a column of a CSV file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aligncheck.commands import CommandError
from aligncheck.commands.check import decided, tell_faults
from aligncheck.commands.checking import certified, one_file
from aligncheck.commands.named import assigned
from aligncheck.commands.screen import Screen, print_json, report_result
from aligncheck.commands.telling import tell
from aligncheck.compiler.modes import RunMode
from aligncheck.execute.cannot_run import NoSafeMode, NotChecked, NotVerified, RunError
from aligncheck.execute.load import CheckedSpec
from aligncheck.execute.runner import run_file
from aligncheck.report.release import execution_document, render_execution
from aligncheck.verdict import FileResult, Verified, exit_status

_SAFE = {
    RunMode.LATTICE: "it is not proved on a lattice",
    RunMode.REFINED: "its noise cannot be drawn as finely as its decisions need",
}
"""The modes that a proof covers, in the order in which they are tried, and what it means that one is not."""


def runnable(spec: str, timeout: float, how: RunMode | None) -> tuple[FileResult, CheckedSpec]:
    """The result for a spec, and how it may run: in the mode `how`, or the first that a proof covers."""
    problems = []
    first, *more = tuple(_SAFE) if how is None else (how,)
    done = certified(spec, timeout, first)
    for each in (*more, None):
        if done.form is not None or not isinstance(done.result.verdict, Verified):
            return done.result, CheckedSpec(done.result.verdict, first)
        problems.append(f"{_SAFE.get(first, 'cannot run')} ({done.problem})")
        if each is not None:
            first, done = each, certified(spec, timeout, each)
    return done.result, CheckedSpec(done.result.verdict, None, ", and ".join(problems))


def run(
    path: str,
    *,
    data: str | None,
    column: str | None,
    label: str | None,
    settings: Sequence[str],
    functions: Sequence[str],
    seed: int | None,
    mode: str | None = None,
    gamma: str | None = None,
    as_json: bool,
    timeout: float,
    deciding: bool = False,
) -> int:
    """Prints what a run released. Returns 0, or the verdict's exit status where a spec is not verified; that
    of UNKNOWN where it is, but in no form that can run; that of `check` where a module fails its check.

    `deciding`: the proof of a module is decided first, as that of a spec always is. `mode` is how it
    computes; None: on a lattice if that is proved, else refined. `gamma` is the step of the lattice; None:
    what the mechanism takes if nothing is said.

    Raises CommandError where the run cannot be carried out.
    """
    checked: list[FileResult] = []
    how = None if mode is None else RunMode(mode)

    def check(spec: str) -> CheckedSpec:
        result, found = runnable(spec, timeout, how)
        checked[:] = [result]
        return found

    def decide(text: str) -> None:
        if tell_faults(path, decided(text, ("z3",), timeout)):
            raise NotChecked(path)

    try:
        execution = run_file(
            one_file(path),
            data,
            column,
            assigned("--set", settings),
            seed,
            check=check,
            decide=decide if deciding else None,
            mode=how,
            gamma=gamma,
            label=label,
            functions=assigned("--function", functions, "NAME=FILE.py:FUNCTION"),
        )
    except NotVerified as error:
        report_result(Screen(error=True), checked[0], verbose=False)
        tell(f"aligncheck: not run: {error.message}", error=True)
        return exit_status(error.verdict)
    except NoSafeMode as error:
        tell(f"aligncheck: not run: {error.message}", f"  {error.help}", error=True)
        return error.exit_status
    except NotChecked as error:
        tell(f"aligncheck: not run: {error.message}", error=True)
        return error.exit_status
    except RunError as error:
        raise CommandError(error.message, error.help) from None
    sys.set_int_max_str_digits(0)  # what was released is shown, however long it is
    if as_json:
        print_json(execution_document(execution))
    else:
        Screen().show(render_execution(execution))
    return 0
