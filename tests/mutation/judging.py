"""Whether mutants are verified: many at once, each under a deadline."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aligncheck.pipeline import load_stages
from aligncheck.source import Source
from aligncheck.workers import Done, Outcome, Raised, Supervision

PATIENCE = 20.0
"""Seconds more than its deadline after which a process that ignores it is killed."""


@dataclass(frozen=True, slots=True)
class Task:
    """The text of a spec, and the seconds that its proof may take."""

    text: str
    seconds: float


VERIFIED, REFUSED, OPEN = "verified", "refused", "open"


def judgement(task: Task) -> str:
    """`VERIFIED`; `REFUSED` where the text makes no sense to the static checks; else `OPEN`.

    No search for a counterexample: that is what `verify` does next.
    """
    from aligncheck.check import check
    from aligncheck.diagnostics import SpecError
    from aligncheck.discharge.establish import establish
    from aligncheck.syntax.parse import parse

    source = Source("mutant", task.text)
    try:
        mechanism = check(source, parse(source))
    except SpecError:
        return REFUSED
    found = establish(mechanism, source, time.monotonic() + task.seconds)
    return OPEN if found.open() else VERIFIED


def judgements(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, str]]:
    """The judgement of each task by its place, as they come in.

    Raises AssertionError where the checker breaks down.
    """
    patience = PATIENCE + 2 * max(task.seconds for task in tasks)
    with Supervision(judgement, tasks, deadline=patience, jobs=jobs, warm_up=load_stages) as work:
        for place, outcome in work:
            yield place, _settled(outcome, tasks[place].text)


def _settled(outcome: Outcome[str], text: str) -> str:
    match outcome:
        case Done(value=value):
            return value
        case Raised(error=error, trace=trace):
            raise AssertionError(f"{error}\n{trace}\n{text}")
        case _:
            return OPEN
