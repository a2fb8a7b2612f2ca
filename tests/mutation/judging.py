"""Whether mutants are verified: many at once, each under a deadline."""

from __future__ import annotations

import ctypes
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from aligncheck.judge import Known
from aligncheck.language.source import Source
from aligncheck.pipeline import load_stages
from aligncheck.workers import Done, Outcome, Raised, Supervision

TOGETHER = 8
"""How many tasks share a process."""


GRACE = 3.0
"""Seconds more than its deadline after which a proof that ignores it is broken off."""

PATIENCE = 20.0
"""Seconds more than twice its deadlines after which a process that cannot be broken off is killed."""


CALLEES = 300.0
"""Seconds for the proofs of what a task calls."""


@dataclass(frozen=True, slots=True)
class Task:
    """The text of a spec, and the seconds that its proof may take."""

    text: str
    seconds: float


VERIFIED, REFUSED, OPEN = "verified", "refused", "open"

FOLDER = Path(__file__).parents[2] / "specs"
"""Where the specs are that mutants call."""

PROVED: Known = {}
"""What was proved of mechanisms that are called, by file: proved once, before processes part."""


def judgement(task: Task) -> str:
    """`VERIFIED`; `REFUSED` where the text makes no sense to the static checks; else `OPEN`.

    No search for a counterexample: that is what `verify` does next.
    """
    from aligncheck.judge import Judge
    from aligncheck.language.check import check
    from aligncheck.language.diagnostics import SpecError
    from aligncheck.language.syntax.parse import parse
    from aligncheck.verdict import Verified

    source = Source(str(FOLDER / "mutant"), task.text)
    try:
        with _broken_off(task.seconds + GRACE):
            mechanism = check(source, parse(source))
            found = Judge(time.monotonic() + task.seconds, False, False, known=PROVED).verdict(
                mechanism, source
            )
            return VERIFIED if isinstance(found, Verified) else OPEN
    except SpecError:
        return REFUSED
    except _Late:
        return OPEN
    except ctypes.ArgumentError as error:
        if _Late.__name__ not in str(error):  # what is raised while arguments are converted arrives so
            raise
        return OPEN


class _Late(BaseException):
    """The proof ignores its deadline. No `Exception`, so that nothing on the way catches it."""


@contextmanager
def _broken_off(seconds: float) -> Iterator[None]:
    """Raises `_Late` in the block after so many seconds (in the main thread, and not within native code)."""

    def late(number: int, frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def judgements(tasks: Sequence[Task], jobs: int) -> dict[int, str]:
    """The judgement of each task by its place.

    Tasks share processes, since a new one costs as much as a small proof; those that were together when a
    process had to be killed are judged again, each on its own. Raises AssertionError where the checker breaks
    down.
    """
    count = -(-len(tasks) // TOGETHER)
    found: dict[int, str] = {}
    for places in ([range(i, len(tasks), count) for i in range(count)], [[i] for i in range(len(tasks))]):
        left = [batch for batch in places if not set(batch) <= set(found)]
        patience = PATIENCE + 2 * max((sum(tasks[i].seconds for i in batch) for batch in left), default=0.0)
        work = Supervision(
            _judged,
            [[tasks[i] for i in batch] for batch in left],
            deadline=patience,
            jobs=jobs,
            warm_up=lambda: _prepared(tasks),
        )
        with work:
            for place, outcome in work:
                found |= zip(left[place], _settled(outcome, len(left[place])), strict=False)
    return found


def _prepared(tasks: Sequence[Task]) -> None:
    """What tasks have in common: the stages of the checker, and the proofs of what they call."""
    from aligncheck.judge import Judge
    from aligncheck.language.check import check
    from aligncheck.language.diagnostics import SpecError
    from aligncheck.language.syntax.parse import parse

    load_stages()
    for text in {task.text for task in tasks if "\nuse " in task.text}:
        source = Source(str(FOLDER / "mutant"), text)
        with suppress(SpecError):  # then its judgement says so
            Judge(time.monotonic() + CALLEES, False, False, known=PROVED).with_callees(
                check(source, parse(source)), source
            )


def _judged(tasks: list[Task]) -> list[str]:
    """In a process of its own, where the solver counts its steps: so a slow machine comes to the same
    judgements.
    """
    return [judgement(task) for task in tasks]


def _settled(outcome: Outcome[list[str]], size: int) -> list[str]:
    """The judgements of a batch; none where its process was killed, unless it held a single task."""
    match outcome:
        case Done(value=value):
            return value
        case Raised(error=error, trace=trace):
            raise AssertionError(f"{error}\n{trace}")
        case _:
            return [OPEN] if size == 1 else []
