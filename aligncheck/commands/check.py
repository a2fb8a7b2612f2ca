"""`aligncheck check`: a generated module against its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aligncheck.commands import CommandError
from aligncheck.commands.checking import BUG, GRACE, MEMORY, one_file
from aligncheck.modes import Mode
from aligncheck.workers import Died, Done, Raised, Supervision, TimedOut

if TYPE_CHECKING:
    from aligncheck.certificate.check import Checked

DISAGREE = 4
"""The exit status where two solvers contradict each other."""

_HOW = {
    Mode.LATTICE: "proved and run on a lattice, in exact arithmetic",
    Mode.REFINED: "proved for real-valued noise, which is drawn as finely as each decision needs, exactly",
    Mode.FLOAT: "proved for real-valued noise, but run in floating point, which no proof covers: UNSAFE",
    None: "",
}

_LARGEST = 16 << 20
_MISSING = "SolverMissingError"


def check(path: str, *, solver: str, timeout: float) -> int:
    """Prints what became of the check. Returns 0, 1 where it failed, or `DISAGREE`.

    Raises CommandError where there is nothing to check, or a solver is not installed.
    """
    job = (_text(one_file(path)), ("z3", "cvc5") if solver == "both" else (solver,))
    work: Supervision[tuple[str, Sequence[str]], Checked] = Supervision(
        _check, [job], deadline=timeout + GRACE, jobs=1, memory=MEMORY
    )
    with work as outcomes:
        ((_, outcome),) = outcomes
    match outcome:
        case Done(value=checked):
            return _told(path, checked, " and ".join(job[1]))
        case TimedOut(seconds=seconds):
            return _failed(path, f"stopped after {seconds:.1f} s; allow more time with `--timeout`")
        case Raised(error=error) if error.partition(":")[0].endswith(_MISSING):
            raise CommandError(error.partition(": ")[2])
        case Raised(error=error) if error.startswith("MemoryError"):
            return _failed(path, "the check ran out of memory")
        case Raised(error=error):
            return _failed(path, f"internal error: {error} ({BUG})")
        case Died(how=how):
            return _failed(path, f"internal error: the process that checked this file died: {how} ({BUG})")


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise CommandError(f"cannot read `{path}`: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise CommandError(f"`{path}` is too large to be a generated module")
    return data.decode("utf-8", "surrogateescape")


def _check(job: tuple[str, Sequence[str]]) -> Checked:
    """In a worker."""
    from aligncheck.certificate.check import check_file
    from aligncheck.certificate.solvers import Solver
    from aligncheck.emit.python import emit_python

    text, solvers = job
    return check_file(text, [Solver(name) for name in solvers], emit_python)


def _told(path: str, checked: Checked, solvers: str) -> int:
    for disagreement in checked.disagreements:
        replies = ", ".join(f"{r.solver.value} says {r.answer}" for r in disagreement.replies)
        print(f"SOLVERS DISAGREE  {path}: {disagreement.part}: {replies}: {disagreement.question}")
    for fault in checked.faults:
        place = path if fault.line is None else f"{path}:{fault.line}"
        print(f"FAILED  {place}: {fault.part}: {fault.message}")
    if checked.disagreements:
        return DISAGREE
    if checked.faults:
        return 1
    print(f"CHECKED  {path}: `{checked.mechanism}` is `{checked.claim}`-differentially private")
    print(f"  {_HOW[checked.mode]}")
    decided = f"{checked.questions} questions decided by {solvers}, {checked.sides} conditions by their form"
    print(f"  {decided}, in {checked.seconds:.2f} s; spec, claim, proof and code belong together")
    return 0


def _failed(path: str, message: str) -> int:
    print(f"FAILED  {path}: {message}")
    return 1
