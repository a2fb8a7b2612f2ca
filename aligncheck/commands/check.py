"""`aligncheck check`: a generated module against its certificate; `run --check` asks the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aligncheck.commands import CommandError
from aligncheck.commands.checking import alone, one_file, text_of, why_lost
from aligncheck.commands.telling import tell
from aligncheck.language.internal import InternalError
from aligncheck.workers import Died, Done, OutOfMemory, Raised, TimedOut

if TYPE_CHECKING:
    from aligncheck.compiler.certificate.checker import CheckedFile

DISAGREE = 4
"""The exit status where two solvers contradict each other."""

_MISSING = "SolverMissingError"


def check(path: str, *, solver: str, timeout: float) -> int:
    """Prints what became of the check. Returns 0, 1 where it failed, or `DISAGREE`.

    Raises CommandError where there is nothing to check, or a solver is not installed.
    """
    text = text_of(one_file(path))
    solvers = ("z3", "cvc5") if solver == "both" else (solver,)
    status, lines = check_lines(path, decided(text, solvers, timeout), " and ".join(solvers))
    tell(*lines)
    return status


def decided(text: str, solvers: Sequence[str], timeout: float) -> CheckedFile | str:
    """What became of the check of a module's text; where it did not come to an end, why.

    Raises CommandError where a solver is not installed.
    """
    outcome = alone(_check, (text, solvers), timeout)
    match outcome:
        case Done(value=checked):
            return checked
        case Raised(error=error) if error.partition(":")[0].endswith(_MISSING):
            raise CommandError(error.partition(": ")[2])
        case Raised() | TimedOut() | OutOfMemory() | Died():
            return "; ".join(why_lost(outcome, "check"))


def _check(job: tuple[str, Sequence[str]]) -> CheckedFile:
    """In a worker."""
    from aligncheck.compiler.certificate.checker import check_file
    from aligncheck.compiler.certificate.solvers import Solver

    text, solvers = job
    return check_file(text, [Solver(name) for name in solvers])


def check_lines(path: str, checked: CheckedFile | str, solvers: str) -> tuple[int, list[str]]:
    """The status (0, 1, or `DISAGREE`), and what is told: each fault, or what was proved."""
    if isinstance(checked, str):
        return 1, [f"FAILED  {path}: {checked}"]
    lines = []
    if checked.disagreement:
        replies = ", ".join(f"{r.solver.value} says {r.answer}" for r in checked.disagreement)
        lines.append(f"SOLVERS DISAGREE  {path}: {replies}: {checked.disagreement[0].question}")
    for fault in checked.faults:
        place = path if fault.line is None else f"{path}:{fault.line}"
        lines.append(f"FAILED  {place}: {fault.part}: {fault.message}")
    if lines:
        return (DISAGREE if checked.disagreement else 1), lines
    return 0, _what_was_proved(path, checked, solvers)


def tell_faults(path: str, checked: CheckedFile | str) -> int:
    """Prints on standard error a line for each fault. Returns 0 where there is none, 1, or `DISAGREE`."""
    status, lines = check_lines(path, checked, "")
    if status:
        tell(*lines, error=True)
    return status


def _what_was_proved(path: str, checked: CheckedFile, solvers: str) -> list[str]:
    from aligncheck.language.unparse import private_as
    from aligncheck.report.statement import statement, trusted

    spec, form, mode, accepted = checked.spec, checked.form, checked.mode, checked.accepted
    if spec is None or form is None or mode is None or accepted is None:
        raise InternalError("a check without faults has decided everything")
    steps = sum(decision.steps for decision in accepted.decisions)
    return [
        f"CHECKED  {path}: `{spec.name}` is {private_as(spec)}",
        *statement(spec, form, mode),
        *trusted(),
        f"  the kernel made {len(accepted.decisions)} decisions by {solvers} ({steps:,} steps of Z3), in "
        f"{checked.seconds:.2f} s; spec, claim, proof and code belong together",
    ]
