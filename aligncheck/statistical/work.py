"""Many portions of work, in supervised processes or one after the other in this one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.plan import SLACK, Plan, Progress, setup_of
from aligncheck.statistical.target import target
from aligncheck.workers import Died, Done, OutOfMemory, Raised, Supervision, TimedOut

_BATCHES_PER_PROCESS = 2

_LONG = 0.5
"""Seconds; items that take longer have a process each, so that progress is seen."""

Item = TypeVar("Item")
Value = TypeVar("Value")


class Work(Protocol):
    """Does a function for all items: their values, in order."""

    def __call__(
        self, function: Callable[[Item], Value], items: Sequence[Item], expected: float, stage: str
    ) -> list[Value]:
        """`expected` is how many seconds an item should take; the function must be importable."""
        ...


def here(
    function: Callable[[Item], Value], items: Sequence[Item], expected: float, stage: str
) -> list[Value]:
    """In this process, one after the other."""
    return [function(item) for item in items]


@dataclass(frozen=True, slots=True)
class Processes:
    """In `plan.jobs` processes. `shared`: the function's module is imported once, before they part."""

    plan: Plan
    progress: Progress
    shared: bool

    def __call__(
        self, function: Callable[[Item], Value], items: Sequence[Item], expected: float, stage: str
    ) -> list[Value]:
        """Raises CannotTest for what an item raised, for a process that died and for one that did not end."""
        plan = self.plan
        count = len(items) if expected > _LONG else min(len(items), _BATCHES_PER_PROCESS * plan.jobs)
        batches = [_Batch(function, tuple(items[start::count])) for start in range(count)]
        found: dict[int, Value] = {}
        self.progress(stage, 0, len(items))
        deadline = plan.timeout + SLACK * expected * -(-len(items) // max(count, 1))
        warm_up = self._import if self.shared else None
        with Supervision(_done, batches, deadline=deadline, jobs=plan.jobs, warm_up=warm_up) as work:
            import scipy.special  # noqa: F401 - meanwhile: the p-values need it, the workers do not

            for index, outcome in work:
                if isinstance(outcome, TimedOut):
                    raise CannotTest(
                        f"`{plan.setup.reference}` did not return: a portion of its runs was stopped after "
                        f"{outcome.seconds:.0f} s, {SLACK:g} times as long as its first runs suggest",
                        "if it is only slow at times, allow more with `--timeout`, or ask for fewer runs",
                    )
                values = outcome_value(plan, outcome)
                found.update(zip(range(index, len(items), count), values, strict=True))
                self.progress(stage, len(found), len(items))
        return [found[index] for index in range(len(items))]

    def _import(self) -> None:
        with quiet():
            target(setup_of(self.plan, self.plan.pairs[0]))


@dataclass(frozen=True, slots=True)
class _Batch(Generic[Item, Value]):
    """Items for one process, which starts slower than it works."""

    function: Callable[[Item], Value]
    items: tuple[Item, ...]


def _done(batch: _Batch[Item, Value]) -> list[Value] | CannotTest:
    """In a worker."""
    try:
        with quiet():
            return [batch.function(item) for item in batch.items]
    except CannotTest as error:
        return error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What a function or its module prints is dropped: it would be printed a million times, into a report."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def outcome_value(plan: Plan, outcome: Done[Any] | Raised | OutOfMemory | Died) -> Any:
    """What a worker returned.

    Raises:
        CannotTest: it returned one; its process died, or did not have enough memory.
    """
    name = plan.setup.reference
    match outcome:
        case Done(value=CannotTest() as error):
            raise error
        case Done(value=value):
            return value
        case OutOfMemory():
            raise CannotTest(
                f"the runs of `{name}` do not fit into memory", "ask for fewer runs, or shorter inputs"
            )
        case Raised(error=error, trace=trace):
            raise RuntimeError(f"{error}\n{trace}")
        case Died(how=how):
            advice = "if it was killed for its memory: ask for fewer runs, or shorter inputs"
            raise CannotTest(
                f"the process that ran `{name}` died: {how}", advice if how == "SIGKILL" else None
            )
