"""Breaks off calls of foreign code that do not return."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from aligncheck.workers import is_lost

_AGAIN = 0.01
"""Seconds after which an alarm rings again that came at a bad moment."""


class TookTooLong(BaseException):
    """A call was broken off. Not an `Exception`, so that the code that hangs does not catch it."""


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[Callable[[], None]]:
    """Raises TookTooLong in the block, `seconds` after it was entered or what it gives was last called.

    It reaches Python code and what waits (sleep, input). Native code that computes on and on notices only
    at its end: for that, processes have deadlines of their own. Does nothing outside of the main thread, and
    where the system has no timers.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def break_off(number: int, frame: FrameType | None) -> None:
        if is_lost(frame):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
            return
        raise TookTooLong

    def again() -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    usual = signal.signal(signal.SIGALRM, break_off)
    try:
        again()
        yield again
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
