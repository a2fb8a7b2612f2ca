"""Runs a function on many items, in processes under limits that are enforced from outside.

Solvers do not always honour their own limits, and native code can crash. So an item that overruns its time or
its memory is killed, a process that dies takes only its item with it, and no process outlives the parent.
Libraries keep state: each item has a process of its own, unless the caller says that what one leaves behind
does not change another's result. Nothing here knows of specs: function, items and results are the caller's
(all picklable, the function importable).
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from types import FrameType, MappingProxyType, TracebackType
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
class OutOfMemory:
    """The item needed more memory than it may have, or than there is; its worker was killed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Died:
    """The worker ended without an answer. `how` says how: an exit status or a signal's name."""

    how: str
    seconds: float


Lost: TypeAlias = Raised | TimedOut | OutOfMemory | Died
"""What may become of an item other than a value."""

Outcome: TypeAlias = Done[Value] | Lost

_AGAIN = 0.01
"""Seconds after which an alarm rings again that came at a bad moment."""
_LOOK = 0.1
"""Seconds between two looks at how much memory the workers use."""


_KEPT = 64 << 20
"""So many bytes that were given back a process keeps."""
_SMALL = 1 / 4
"""A process that uses no more of its memory than this is given another item."""


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process, our end of its pipe, the number of its item, since when it has it, how many it had."""

    process: BaseProcess
    pipe: connection.Connection
    index: int
    since: float
    before: int = 0


class Supervision(Generic[Item, Value]):
    """Work in progress: a context manager, and an iterator of `(index of the item, outcome)` as items finish.

    The first processes start in `__enter__`, so that the caller can do something useful (such as an import)
    before it asks for the first outcome. Leaving the context kills whatever still runs.

    `deadline` is wall-clock seconds per item, its process's start included. `memory` is how many bytes each
    process may use: on Linux of what is resident, which is looked at from outside; where the system can bound
    it, its address space is bounded by twice as much, since libraries reserve more than they use. `warm_up`
    is called on entry where several items are to be forked: what it imports, they share. A process does at
    most `together` items, one after the other, and no more once it has grown large; one that is lost in a
    process that did others is tried again in a new one, unless time was what it lacked. Enter and leave in
    the same thread: on Linux a process dies with the thread that started it.
    """

    def __init__(
        self,
        function: Callable[[Item], Value],
        items: Sequence[Item],
        *,
        deadline: float,
        jobs: int,
        memory: int | None = None,
        warm_up: Callable[[], object] | None = None,
        together: int = 1,
    ) -> None:
        if deadline <= 0:
            raise ValueError(f"deadline must be positive, got {deadline}")
        if jobs < 1 or together < 1:
            raise ValueError(f"jobs must be at least 1, got {jobs}, {together} together")
        self._function = function
        self._items = items
        self._deadline = deadline
        self._jobs = jobs
        self._memory = memory
        self._warm_up = warm_up
        self._together = together
        self._context = _context()
        self._left = deque(range(len(items)))
        self._workers: list[_Worker] = []

    def __enter__(self) -> Supervision[Item, Value]:
        if self._warm_up is not None and len(self._items) > 1 and self._context.get_start_method() == "fork":
            self._warm_up()
        try:
            self._start_more()
        except BaseException:
            self._kill_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill_all()

    def __iter__(self) -> Iterator[tuple[int, Outcome[Value]]]:
        while self._workers:
            now = time.monotonic()
            patience = min(worker.since + self._deadline - now for worker in self._workers)
            if self._memory is not None:
                patience = min(patience, _LOOK)
            connection.wait([worker.pipe for worker in self._workers], max(0.0, patience))
            for worker in tuple(self._workers):
                outcome = self._outcome(worker)
                if outcome is not None:
                    self._workers.remove(worker)
                    again = worker.before > 0 and isinstance(outcome, OutOfMemory | Died)
                    if again:
                        self._left.appendleft(worker.index)
                    if not self._goes_on(worker, outcome):
                        _kill(worker)
                        self._start_more()
                    if not again:
                        yield worker.index, outcome

    def _goes_on(self, worker: _Worker, outcome: Outcome[Value]) -> bool:
        """Gives a process another item, if it may have one and there is one: not after an item that may have
        been broken off.
        """
        if not self._left or worker.before + 1 >= self._together or not isinstance(outcome, Done | Raised):
            return False
        if outcome.seconds > self._deadline / 2:
            return False
        if self._memory is not None and _resident(worker.process.pid) > _SMALL * self._memory:
            return False
        index = self._left[0]
        try:
            worker.pipe.send(self._items[index])
        except OSError:  # it has died since
            return False
        self._left.popleft()
        self._workers.append(replace(worker, index=index, since=time.monotonic(), before=worker.before + 1))
        return True

    def _start_more(self) -> None:
        while len(self._workers) < self._jobs and self._left:
            ours, theirs = self._context.Pipe()
            index = self._left.popleft()
            arguments = (self._function, self._items[index], theirs, os.getpid(), self._memory)
            process = self._context.Process(target=_serve, args=arguments, daemon=True)  # type: ignore[attr-defined]
            since = time.monotonic()
            process.start()
            theirs.close()  # its only holder is now the process: when that dies, our end tells
            self._workers.append(_Worker(process, ours, index, since))

    def _outcome(self, worker: _Worker) -> Outcome[Value] | None:
        """What has become of a worker's item; None while it works on it."""
        seconds = time.monotonic() - worker.since
        if not worker.pipe.poll():
            if self._memory is not None and _resident(worker.process.pid) > self._memory:
                return OutOfMemory(seconds)
            return TimedOut(seconds) if seconds >= self._deadline else None
        try:
            outcome: Done[Value] | Raised | OutOfMemory = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(1.0)
            return Died(_ending(worker.process.exitcode), seconds)
        return outcome

    def _kill_all(self) -> None:
        while self._workers:
            _kill(self._workers.pop())


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


def _resident(process: int | None) -> int:
    """The bytes of memory that a process uses; 0 where that is not known."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


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


def is_lost(frame: FrameType | None) -> bool:
    """Whether an exception that a signal raises in this frame would not arrive: within finalizers it is
    printed and dropped, and while ctypes converts an argument it turns into another one. A solver's context
    that is half made cannot be dropped without such a print.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("__del__", "remove", "from_param") or code.co_qualname == "Context.__init__":
            return True
        frame = frame.f_back
    return False


class TooLongError(Exception):
    """The time is over."""


class TookTooLong(BaseException):
    """Foreign code was broken off. Not an `Exception`, so that the code that hangs does not catch it."""


@contextlib.contextmanager
def stopped_after(seconds: float, error: type[BaseException] = TooLongError) -> Iterator[Callable[[], None]]:
    """Raises `error` so many seconds after it was entered, or what it gives was last called, where the system
    has such an alarm: what is stopped so is not always on time by itself. It reaches Python code and what
    waits; solvers, and native code that computes on and on, are interrupted when they come back. Within
    another such context both hold.
    """
    import threading

    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def ring(number: int, frame: FrameType | None) -> None:
        if is_lost(frame):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
            return
        raise error

    def again() -> None:
        signal.setitimer(signal.ITIMER_REAL, min(seconds, left) if left else seconds)

    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    before = signal.signal(signal.SIGALRM, ring)
    end = time.monotonic() + left
    again()
    try:
        yield again
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(end - time.monotonic(), _AGAIN))


# --- in the worker ------------------------------------------------------------------------------------------


def _serve(
    function: Callable[[Item], Value],
    item: Item,
    pipe: connection.Connection,
    parent: int,
    memory: int | None,
) -> None:
    """Sends what becomes of an item, and of others as long as it is given more."""
    gc.freeze()  # what was there before the fork stays shared: a collection would write to each object's page
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent cleans up
    _die_with(parent)
    _keep_off_standard_output()
    _keep_memory()
    if memory is not None:
        _bound_memory(2 * memory)
    with contextlib.suppress(OSError, EOFError):  # nobody listens any more
        while True:
            pipe.send_bytes(_pickled(_answer(function, item)))
            item = pipe.recv()


def _answer(function: Callable[[Item], Value], item: Item) -> Done[Value] | Raised | OutOfMemory:
    start = time.monotonic()
    try:
        return Done(function(item), time.monotonic() - start)
    except MemoryError:
        return OutOfMemory(time.monotonic() - start)
    except BaseException as error:
        return _raised(error, start)


def _raised(error: BaseException, start: float) -> Raised:
    line = " ".join("".join(traceback.format_exception_only(error)).split())
    return Raised(line, "".join(traceback.format_exception(error)), time.monotonic() - start)


def _pickled(answer: Done[Value] | Raised | OutOfMemory) -> bytes:
    ForkingPickler.register(MappingProxyType, _reduced)
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, _DEEP_RESULTS))
    try:
        return bytes(ForkingPickler.dumps(answer))
    except Exception as error:
        return bytes(ForkingPickler.dumps(_raised(error, time.monotonic())))
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


def _keep_memory() -> None:
    """Where the C library can be told so, it keeps for the next what a solver gave back: each context of Z3
    has a table of 8 MB, which the system would clear page by page each time.
    """
    if sys.platform == "linux":
        import ctypes

        trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, mallopt(3)
        with contextlib.suppress(AttributeError):  # not every C library has it
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(mmap_threshold, _KEPT // 2)
            mallopt(trim_threshold, _KEPT)


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
