"""Runs a function on many items in worker processes, under a deadline per item that is enforced from outside.

Solvers do not always honour their own limits, and native code can crash. So an item that overruns is killed
with its worker, a worker that dies takes only its item with it, and no worker outlives the parent. Nothing
here knows of specs: function, items and results are the caller's (all picklable, the function importable).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from types import MappingProxyType, TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")

_DEEP_RESULTS = 20_000
"""Recursion limit for pickling: a result that nests as deeply as the parser allows must still get through."""


@dataclass(frozen=True, slots=True)
class Done(Generic[Value]):
    """The function returned `value`."""

    value: Value
    seconds: float


@dataclass(frozen=True, slots=True)
class Raised:
    """The function raised: `error` is its type and message on one line, `trace` the traceback's text."""

    error: str
    trace: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The item was not done within the deadline; its worker was killed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Died:
    """The worker ended without an answer. `how` says how: an exit status or a signal's name."""

    how: str
    seconds: float


Outcome: TypeAlias = Done[Value] | Raised | TimedOut | Died


@dataclass(slots=True)
class _Worker:
    """A process, our end of its pipe, and the item that it works on (None while idle)."""

    process: BaseProcess
    pipe: connection.Connection
    index: int | None = None
    since: float = 0.0


class Supervision(Generic[Item, Value]):
    """Work in progress: a context manager, and an iterator of `(index of the item, outcome)` as items finish.

    The workers start in `__enter__`, so that the caller can do something useful (such as an import) before it
    asks for the first outcome. Leaving the context kills whatever still runs.

    `deadline` is wall-clock seconds per item, from when a worker is given it (a fresh worker's imports
    included). `memory`, where the system can bound it, is each worker's address space in bytes. Enter and
    leave in the same thread: on Linux a worker dies with the thread that started it.
    """

    def __init__(
        self,
        function: Callable[[Item], Value],
        items: Sequence[Item],
        *,
        deadline: float,
        jobs: int,
        memory: int | None = None,
    ) -> None:
        if deadline <= 0:
            raise ValueError(f"deadline must be positive, got {deadline}")
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, got {jobs}")
        self._function = function
        self._items = items
        self._deadline = deadline
        self._memory = memory
        self._wanted = min(jobs, len(items))
        self._next = 0
        self._open = 0
        self._workers: list[_Worker] = []

    def __enter__(self) -> Supervision[Item, Value]:
        try:
            for _ in range(self._wanted):
                self._start_worker()
        except BaseException:
            self._kill_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill_all()

    def __iter__(self) -> Iterator[tuple[int, Outcome[Value]]]:
        while self._open:
            yield from self._wait()

    def _start_worker(self) -> None:
        context = _context()
        ours, theirs = context.Pipe()
        # A forked worker inherits our ends of all pipes; it must close them, or none would see that we died.
        inherited = (*(w.pipe for w in self._workers), ours) if context.get_start_method() == "fork" else ()
        process = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(self._function, theirs, inherited, os.getpid(), self._memory), daemon=True
        )
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        self._hand_out(worker)

    def _hand_out(self, worker: _Worker) -> None:
        """Gives an idle worker the next item, or lets it end where none is left."""
        if self._next == len(self._items):
            self._retire(worker)
            return
        worker.index, worker.since = self._next, time.monotonic()
        self._next += 1
        self._open += 1
        with contextlib.suppress(OSError):  # it may have died: then the next wait sees its pipe closed
            worker.pipe.send(self._items[worker.index])

    def _wait(self) -> Iterator[tuple[int, Outcome[Value]]]:
        """Blocks until an item is done, lost or overdue, and yields what there is to tell."""
        now = time.monotonic()
        patience = min(w.since + self._deadline - now for w in self._workers)
        ready = connection.wait([w.pipe for w in self._workers], max(0.0, patience))
        for worker in tuple(self._workers):
            index, seconds = worker.index, time.monotonic() - worker.since
            assert index is not None
            outcome: Outcome[Value]
            if worker.pipe in ready or worker.pipe.poll():
                outcome, usable = self._receive(worker, seconds)
            elif seconds >= self._deadline:
                outcome, usable = TimedOut(seconds), False
            else:
                continue
            self._open -= 1
            if usable:
                self._hand_out(worker)
            else:
                self._retire(worker)
                if self._next < len(self._items):
                    self._start_worker()
            yield index, outcome

    def _receive(self, worker: _Worker, seconds: float) -> tuple[Outcome[Value], bool]:
        """A worker's answer, and whether the worker can be given another item."""
        try:
            answer: tuple[Done[Value] | Raised, bool] = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(1.0)
            return Died(_ending(worker.process.exitcode), seconds), False
        return answer

    def _retire(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        _kill(worker)

    def _kill_all(self) -> None:
        while self._workers:
            _kill(self._workers.pop())
        self._open = 0


def in_order(finished: Iterable[tuple[int, Value]]) -> Iterator[tuple[int, Value]]:
    """The same pairs by ascending index from 0, each as soon as all before it are there."""
    waiting: dict[int, Value] = {}
    following = 0
    for index, outcome in finished:
        waiting[index] = outcome
        while following in waiting:
            yield following, waiting.pop(following)
            following += 1


def _context() -> BaseContext:
    """Fork where there is one: a forked worker starts in a millisecond and shares what is imported."""
    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if "fork" in methods else "spawn")


def _kill(worker: _Worker) -> None:
    worker.pipe.close()
    worker.process.kill()
    worker.process.join()
    worker.process.close()


def _ending(exitcode: int | None) -> str:
    if exitcode is None:
        return "closed its pipe"
    if exitcode >= 0:
        return f"exit status {exitcode}"
    try:
        return signal.Signals(-exitcode).name
    except ValueError:
        return f"signal {-exitcode}"


# --- in the worker ------------------------------------------------------------------------------------------


def _serve(
    function: Callable[[Item], Value],
    pipe: connection.Connection,
    inherited: tuple[connection.Connection, ...],
    parent: int,
    memory: int | None,
) -> None:
    """Answers items until the pipe is closed."""
    for end in inherited:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent cleans up
    _die_with(parent)
    _keep_off_standard_output()
    if memory is not None:
        _bound_memory(memory)
    while True:
        try:
            item: Item = pipe.recv()
        except (EOFError, OSError):
            return
        answer, usable = _answer(function, item)
        try:
            pipe.send_bytes(_pickled((answer, usable)))
        except OSError:
            return
        if not usable:
            return


def _answer(function: Callable[[Item], Value], item: Item) -> tuple[Done[Value] | Raised, bool]:
    start = time.monotonic()
    try:
        return Done(function(item), time.monotonic() - start), True
    except Exception as error:
        # Memory that ran out once would run out again.
        return _raised(error, start), not isinstance(error, MemoryError)
    except BaseException as error:  # SystemExit and the like: an answer, but not from a state to go on in
        return _raised(error, start), False


def _raised(error: BaseException, start: float) -> Raised:
    line = " ".join("".join(traceback.format_exception_only(error)).split())
    return Raised(line, "".join(traceback.format_exception(error)), time.monotonic() - start)


def _pickled(answer: tuple[Done[Value] | Raised, bool]) -> bytes:
    ForkingPickler.register(MappingProxyType, _reduced)
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, _DEEP_RESULTS))
    try:
        return bytes(ForkingPickler.dumps(answer))
    except Exception as error:
        return bytes(ForkingPickler.dumps((_raised(error, time.monotonic()), True)))
    finally:
        sys.setrecursionlimit(usual)


def _reduced(view: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    """How a read-only view of a mapping is pickled, which Python leaves out."""
    return _read_only, (dict(view),)


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


def _die_with(parent: int) -> None:
    """Makes sure that this process ends with its parent, even while native code holds the interpreter."""
    if sys.platform == "linux":
        import ctypes

        kill_on_parent_death = 1  # PR_SET_PDEATHSIG, prctl(2)
        ctypes.CDLL(None).prctl(kill_on_parent_death, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    else:
        _watch_parent()


def _watch_parent() -> None:
    """Does what a thread can: ends the process as soon as it gets to run."""
    import threading

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _keep_off_standard_output() -> None:
    """What native libraries print goes to standard error: standard output is the report's."""
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):
        os.dup2(2, 1)


def _bound_memory(limit: int) -> None:
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
