"""Supervised workers: order, deadlines, deaths, memory, and nothing left behind."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest

from aligncheck import workers
from aligncheck.workers import (
    Died,
    Done,
    OutOfMemory,
    Raised,
    Supervision,
    TimedOut,
    TooLongError,
    in_order,
    is_lost,
    stopped_after,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and fork")


def square(x: int) -> int:
    return x * x


def first_last(item: tuple[int, Path]) -> int:
    """The first item ends after the last one, which leaves a mark."""
    x, mark = item
    if x == 2:
        mark.touch()
    while x == 0 and not mark.exists():
        time.sleep(0.01)
    time.sleep(0.3 if x == 0 else 0.0)
    return x


def misbehave(how: str) -> object:
    """What a worker may do to us, by name."""
    faulthandler.disable()  # these crashes are meant; their stacks would only fill the log
    match how:
        case "sleep":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1000)
        case "spin":
            while True:
                pass
        case "exit":
            os._exit(7)
        case "segfault":
            ctypes.string_at(0)
        case "abort":
            os.abort()
        case "raise":
            raise ValueError("two\nlines")
        case "sys.exit":
            sys.exit(5)
        case "too much memory at once":
            return len(bytearray(1 << 40))
        case "more and more memory":
            kept: list[bytes] = []
            while True:
                kept.append(b"1" * (1 << 20))
        case "unpicklable":
            return lambda: None
        case "print":
            os.write(1, b"noise from a library\n")
            print("more noise", flush=True)
            return "printed"
        case "read only":
            return MappingProxyType({"x": 1})
        case "deep":
            nest: tuple[object, ...] = ()
            for _ in range(1500):
                nest = (nest,)
            return nest
        case _:
            pass
    return how


@pytest.mark.parametrize("how", ["too much memory at once", "more and more memory"])
def test_an_item_that_takes_too_much_memory_is_stopped_and_the_others_go_on(how: str) -> None:
    limit = 1 << 29
    with Supervision(misbehave, ["a", how, "b"], deadline=60, jobs=1, memory=limit) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    assert isinstance(outcomes[1], OutOfMemory)
    assert outcomes[1].seconds < 30
    assert [o.value for o in outcomes if isinstance(o, Done)] == ["a", "b"]


def test_results_come_back_in_input_order() -> None:
    items = list(range(20))
    with Supervision(square, items, deadline=20, jobs=2) as work:
        outcomes = list(in_order(work))
    assert [index for index, _ in outcomes] == items
    assert [outcome.value for _, outcome in outcomes if isinstance(outcome, Done)] == [x * x for x in items]


def test_results_are_there_as_they_finish(tmp_path: Path) -> None:
    items = [(x, tmp_path / "mark") for x in range(3)]
    with Supervision(first_last, items, deadline=20, jobs=2) as work:
        assert [index for index, _ in work] == [1, 2, 0]


BEFORE: list[str] = []


def with_what_was_there_before(name: str) -> list[str]:
    BEFORE.append(name)
    return BEFORE


def test_no_item_sees_what_another_left_behind() -> None:
    with Supervision(with_what_was_there_before, ["a", "b", "c"], deadline=20, jobs=1) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    assert [o.value for o in outcomes if isinstance(o, Done)] == [["a"], ["b"], ["c"]]


def test_items_share_a_process_where_the_caller_lets_them() -> None:
    with Supervision(with_what_was_there_before, list("abcde"), deadline=20, jobs=1, together=3) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    assert [len(o.value) for o in outcomes if isinstance(o, Done)] == [1, 2, 3, 1, 2]


def test_a_process_that_grew_large_gets_no_more_items(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def resident(pid: int) -> int:
        seen.append(pid)
        return 1 << 31 if pid == seen[0] else 1 << 20

    monkeypatch.setattr(workers, "_resident", resident)
    with Supervision(own_pid, ["grows", "a", "b"], deadline=20, jobs=1, together=3, memory=1 << 32) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    first, second, third = (o.value for o in outcomes if isinstance(o, Done))
    assert first == seen[0]
    assert first != second == third


def own_pid(_: str) -> int:
    return os.getpid()


def test_what_others_left_in_a_process_costs_no_item() -> None:
    """One that dies or runs out of memory after others is tried again by itself; one that hangs is not."""
    with Supervision(worse_each_time, list("abc"), deadline=20, jobs=1, together=3) as work:
        assert [o.value for _, o in in_order(work) if isinstance(o, Done)] == ["a", "b", "c"]
    with Supervision(misbehave, ["a", "exit", "b", "sleep", "c"], deadline=0.5, jobs=1, together=5) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    assert [type(o) for o in outcomes] == [Done, Died, Done, TimedOut, Done]


def worse_each_time(name: str) -> str:
    BEFORE.append(name)
    return name if len(BEFORE) < 3 else os._exit(7)


@pytest.mark.parametrize(("items", "shared"), [(["a", "b"], ["warm"]), (["a"], [])])
def test_several_items_share_what_was_warmed_up(
    monkeypatch: pytest.MonkeyPatch, items: list[str], shared: list[str]
) -> None:
    monkeypatch.setitem(globals(), "BEFORE", [])
    warm = partial(with_what_was_there_before, "warm")
    with Supervision(with_what_was_there_before, items, deadline=20, jobs=2, warm_up=warm) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    assert [o.value for o in outcomes if isinstance(o, Done)] == [[*shared, item] for item in items]


def test_no_items() -> None:
    none: list[int] = []
    with Supervision(square, none, deadline=1, jobs=2) as work:
        assert list(work) == []


@pytest.mark.parametrize("how", ["sleep", "spin"])
def test_an_item_that_overruns_is_killed_and_the_others_go_on(how: str) -> None:
    start = time.monotonic()
    with Supervision(misbehave, ["a", how, "b", "c"], deadline=0.5, jobs=1) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    assert time.monotonic() - start < 5
    assert isinstance(outcomes[1], TimedOut)
    assert outcomes[1].seconds == pytest.approx(0.5, abs=0.4)
    assert [o.value for o in outcomes if isinstance(o, Done)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("how", "ending"), [("exit", "exit status 7"), ("segfault", "SIGSEGV"), ("abort", "SIGABRT")]
)
def test_a_dead_worker_costs_its_item_only(how: str, ending: str) -> None:
    with Supervision(misbehave, [how, "a", how, "b"], deadline=20, jobs=2) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    dead = [outcomes[0], outcomes[2]]
    assert [o.how for o in dead if isinstance(o, Died)] == [ending, ending]
    assert [o.value for o in outcomes if isinstance(o, Done)] == ["a", "b"]


@pytest.mark.parametrize(
    ("how", "error"), [("raise", "ValueError: two lines"), ("sys.exit", "SystemExit: 5")]
)
def test_an_exception_is_an_outcome(how: str, error: str) -> None:
    with Supervision(misbehave, [how, "a"], deadline=20, jobs=1, memory=1 << 32) as work:
        outcomes = [outcome for _, outcome in in_order(work)]
    first, second = outcomes
    assert isinstance(first, Raised)
    assert first.error == error
    assert "misbehave" in first.trace
    assert isinstance(second, Done)


def test_a_result_that_cannot_be_sent_is_an_outcome() -> None:
    with Supervision(misbehave, ["unpicklable", "a"], deadline=20, jobs=1) as work:
        first, second = (outcome for _, outcome in in_order(work))
    assert isinstance(first, Raised)
    assert isinstance(second, Done)


def test_a_read_only_mapping_gets_through() -> None:
    with Supervision(misbehave, ["read only"], deadline=20, jobs=1) as work:
        [(_, outcome)] = list(work)
    assert isinstance(outcome, Done)
    assert outcome.value == {"x": 1}


def test_a_deeply_nested_result_gets_through() -> None:
    with Supervision(misbehave, ["deep"], deadline=20, jobs=1) as work:
        [(_, outcome)] = list(work)
    assert isinstance(outcome, Done)


def test_what_a_worker_prints_stays_off_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    with Supervision(misbehave, ["print"], deadline=20, jobs=1) as work:
        [(_, outcome)] = list(work)
    assert isinstance(outcome, Done)
    out, _ = capfd.readouterr()
    assert out == ""


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="deadline"):
        Supervision(square, [1], deadline=0, jobs=1)
    with pytest.raises(ValueError, match="jobs"):
        Supervision(square, [1], deadline=1, jobs=0)


def test_leaving_early_kills_the_workers(tmp_path: Path) -> None:
    with Supervision(misbehave, ["a", "sleep", "sleep"], deadline=60, jobs=2) as work:
        next(iter(work))
        pids = [worker.process.pid for worker in work._workers]
    assert len(pids) == 2
    assert not any(_alive(pid) for pid in pids if pid is not None)


_PARENT = """
    import os, signal, sys, time
    from aligncheck.workers import Supervision

    def work(item):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(os.path.join(sys.argv[1], str(item)), "w") as file:
            file.write(str(os.getpid()))
        while True:
            time.sleep(1000)

    try:
        with Supervision(work, [0, 1], deadline=100, jobs=2) as supervision:
            list(supervision)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize(
    ("blow", "status"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, -15, marks=pytest.mark.skipif(sys.platform != "linux", reason="prctl")),
        pytest.param(signal.SIGKILL, -9, marks=pytest.mark.skipif(sys.platform != "linux", reason="prctl")),
    ],
)
def test_no_worker_outlives_its_parent(tmp_path: Path, blow: signal.Signals, status: int) -> None:
    script = tmp_path / "parent.py"
    script.write_text(textwrap.dedent(_PARENT))
    notes = tmp_path / "pids"
    notes.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(notes)], stderr=subprocess.DEVNULL)
    pids = _wait_for(
        lambda: [int(f.read_text() or 0) for f in notes.iterdir()], lambda p: len(p) == 2 and all(p)
    )
    parent.send_signal(blow)
    assert parent.wait(10) == status
    _wait_for(lambda: [pid for pid in pids if _alive(pid)], lambda alive: not alive)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return sys.platform != "linux"
    return state != "Z"  # an orphan that nobody has collected yet is dead all the same


def _wait_for(read: Callable[[], list[int]], good: Callable[[list[int]], bool]) -> list[int]:
    end = time.monotonic() + 10.0
    while not good(value := read()):
        assert time.monotonic() < end, value
        time.sleep(0.02)
    return value


def test_an_exception_in_a_finalizer_would_be_lost() -> None:
    seen: list[bool] = []

    class Finalized:
        def __del__(self) -> None:
            seen.append(is_lost(sys._getframe()))

    Finalized()
    seen.append(is_lost(sys._getframe()))
    assert seen == [True, False]


def test_an_alarm_within_another_leaves_it_ringing() -> None:
    def spin(inner: float) -> None:
        with contextlib.suppress(TooLongError), stopped_after(inner):
            time.sleep(40)
        time.sleep(40)

    start = time.monotonic()
    for inner in (0.02, 50.0):
        with pytest.raises(TooLongError), stopped_after(0.1):
            spin(inner)
    assert time.monotonic() - start < 40
