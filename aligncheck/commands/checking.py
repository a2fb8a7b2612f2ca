"""Checks files in supervised processes and turns whatever becomes of them into results."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from aligncheck.commands import CommandError
from aligncheck.commands.telling import tell
from aligncheck.language.files import exists, opened
from aligncheck.workers import (
    Died,
    Done,
    Lost,
    Outcome,
    OutOfMemory,
    Raised,
    Supervision,
    TimedOut,
    TooLongError,
    in_order,
    stopped_after,
)

if TYPE_CHECKING:
    from aligncheck.compiler.modes import RunMode
    from aligncheck.judge import Known
    from aligncheck.pipeline import Certification
    from aligncheck.refutation.findings import Refutation
    from aligncheck.verdict import FileResult

Job = TypeVar("Job")
Answer = TypeVar("Answer")

GRACE = 1.0
"""Seconds that a check may overrun its timeout before it is killed: it ends by itself, with what it has by
then, at the latest after half of them, but for a solver's call."""

STEPS = 1_000
"""Steps of the search for a violation of a spec that is VERIFIED, and as many for the form of it that runs: a
seventh of a second each, on average. It finds 69 of the 81 violations that `specs/broken` expects.
"""

MEMORY = 3 << 30
"""Bytes of memory for each check."""

TOGETHER = 300
"""So many files one process checks at most: Z3's terms are in contexts of their own, and no state is kept but
what is known of callees, so that a file's result is the same whichever came before. Each fork costs up to
0.2 s of the system's time, for the pages that are copied and those that are new.
"""

_ACCEPTED: Known = {}
"""The callees that this process has accepted."""

_LARGEST = 16 << 20

BUG = "this is a bug in aligncheck"


def spec_files(paths: Sequence[str]) -> list[str]:
    """The files that `paths` name: files as they are, folders searched for `*.dp`; each once, folders sorted.

    Raises CommandError for a path that is not there and for a folder without specs.
    """
    missing = [path for path in paths if not exists(path)]
    if missing:
        raise CommandError("no such file or folder: " + ", ".join(f"`{path}`" for path in missing))
    found = [file for path in paths for file in (_specs_under(path) if os.path.isdir(path) else [path])]
    first: dict[str, str] = {}
    for file in found:
        first.setdefault(os.path.realpath(file), file)
    return list(first.values())


def one_file(path: str) -> str:
    """`path`, if it is a file. Raises CommandError otherwise."""
    if os.path.isdir(path):
        raise CommandError(f"`{path}` is a folder; this command takes one file")
    if not exists(path):
        raise CommandError(f"no such file: `{path}`")
    return path


def text_of(path: str) -> str:
    """The text of a file that may be a generated module. Raises CommandError."""
    try:
        with opened(path) as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise CommandError(f"cannot read `{path}`: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise CommandError(f"`{path}` is too large to be a generated module")
    return data.decode("utf-8", "surrogateescape")


def _specs_under(folder: str) -> list[str]:
    def refuse(error: OSError) -> None:
        raise CommandError(f"cannot read folder `{error.filename}`: {error.strerror}")

    found: list[str] = []
    for at, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(at, name) for name in files if name.endswith(".dp")]
    if not found:
        raise CommandError(f"no *.dp files in folder `{folder}`")
    return sorted(found)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def checking(
    files: Sequence[str], *, timeout: float, jobs: int | None, verbose: bool = False, explain: bool = True
) -> Iterator[Iterator[FileResult]]:
    """The check of some files: their results, in the order of the files. The work starts on entry."""
    work: Supervision[tuple[str, float, bool], FileResult] = Supervision(
        _verify,
        [(file, timeout, explain) for file in files],
        deadline=timeout + GRACE,
        jobs=jobs or processors(),
        memory=MEMORY,
        warm_up=_load,
        together=TOGETHER,
    )
    # Of what results are made: this process and its workers need it.
    import aligncheck.meaning.scenario
    import aligncheck.verdict  # noqa: F401 - else linters drop both

    with work as outcomes:
        yield _results(files, iter(outcomes), verbose)


def checked_alone(file: str, timeout: float) -> FileResult:
    """The result for one file."""
    with checking([file], timeout=timeout, jobs=1) as results:
        return next(iter(results))


def _results(
    files: Sequence[str], finished: Iterator[tuple[int, Outcome[FileResult]]], verbose: bool
) -> Iterator[FileResult]:
    """With several files and a terminal, a progress bar runs on standard error; then all results come after
    it, since a report printed meanwhile would break it.
    """
    if len(files) > 1 and sys.stderr.isatty():
        finished = iter(_with_progress_bar(finished, len(files)))
    for index, outcome in in_order(finished):
        if verbose and isinstance(outcome, Raised):
            tell(*outcome.trace.split("\n"), error=True)
        yield result_of(files[index], outcome)


def alone(function: Callable[[Job], Answer], job: Job, seconds: float) -> Outcome[Answer]:
    """What becomes of one job in a process under limits."""
    with Supervision(function, [job], deadline=seconds, jobs=1, memory=MEMORY) as outcomes:
        ((_, outcome),) = outcomes
    return outcome


def certified(file: str, timeout: float, mode: RunMode) -> Certification:
    """The result for one file and, where it is VERIFIED and runs in this mode, its certificate."""
    from aligncheck.pipeline import Certification

    outcome = alone(_certify, (file, timeout, mode), timeout + GRACE)
    return outcome.value if isinstance(outcome, Done) else Certification(result_of(file, outcome))


def certified_and_searched(
    file: str, timeout: float, mode: RunMode
) -> tuple[Certification, Refutation | None]:
    """As `certified`, and a certified violation of what is VERIFIED, if a short search finds one: then one of
    the two is wrong. The search counts its steps, so that it finds the same on every machine.
    """
    from aligncheck.pipeline import Certification

    outcome = alone(_certify_and_search, (file, timeout, mode), timeout + 2 * GRACE)
    return outcome.value if isinstance(outcome, Done) else (Certification(result_of(file, outcome)), None)


def _certify_and_search(job: tuple[str, float, RunMode]) -> tuple[Certification, Refutation | None]:
    """In a worker."""
    done = _certify(job)
    return done, _contradiction(done, job[2])


def _contradiction(done: Certification, mode: RunMode) -> Refutation | None:
    """A violation of a spec that is VERIFIED, or of the form of it that runs."""
    from aligncheck.refutation.findings import Refutation
    from aligncheck.refutation.refuter import Aim, refute
    from aligncheck.refutation.violation import Violation
    from aligncheck.verdict import Verified

    spec, form = done.result.verdict, done.form
    if form is None or not isinstance(spec, Verified):
        return None
    proved = [(done.result.path, spec.mechanism)]
    if form.mechanism != spec.mechanism:
        proved.append((f"{done.result.path} (its form for `{mode.value}`)", form.mechanism))
    for path, mechanism in proved:
        start = time.perf_counter()
        found = refute(mechanism, Aim(seconds=None, steps=STEPS, any_will_do=True, explain=False))
        if isinstance(found, Violation):
            return Refutation(path, mechanism, found, time.perf_counter() - start)
    return None


def _certify(job: tuple[str, float, RunMode]) -> Certification:
    """In a worker."""
    from aligncheck.pipeline import Options, certify_file

    path, timeout, mode = job
    return certify_file(path, Options(timeout=timeout, explain=False), mode)


def _load() -> None:
    from aligncheck.pipeline import load_stages

    load_stages()


def _verify(job: tuple[str, float, bool]) -> FileResult:
    """In a worker."""
    from aligncheck.pipeline import Options, verify_file

    path, timeout, explain = job
    start, result = time.monotonic(), None
    try:
        with stopped_after(timeout + GRACE / 2):
            result = verify_file(path, Options(timeout=timeout, explain=explain), _ACCEPTED)
            if explain:
                from aligncheck.synthesis.dearest import with_dearest

                return with_dearest(result, start + timeout)
    except TooLongError:
        return result or _over(path, time.monotonic() - start)
    return result


def _over(path: str, seconds: float) -> FileResult:
    from aligncheck.verdict import FileResult, Unknown

    message = "nothing had been decided when the time was over"
    help_ = "allow more time with `--timeout`, or simplify the spec"
    return FileResult(path, Unknown(None, None, message, None, help=help_), seconds)


def result_of(path: str, outcome: Outcome[FileResult]) -> FileResult:
    """A file's result, also where its check did not get as far as a verdict: then UNKNOWN, saying why."""
    from aligncheck.verdict import FileResult, Unknown

    if isinstance(outcome, Done):
        return outcome.value
    message, help_ = why_lost(outcome, "check")
    return FileResult(path, Unknown(None, None, message, None, help=help_), outcome.seconds)


def why_lost(outcome: Lost, work: str) -> tuple[str, str]:
    """Why there is no result of the work (`check`, `search`) on a file, and what may help."""
    match outcome:
        case TimedOut(seconds=seconds):
            message = f"stopped from outside after {seconds:.1f} s: the {work} overran its time limit"
            return message, "allow more time with `--timeout`, or simplify the spec"
        case OutOfMemory():
            return f"the {work} ran out of memory (its limit is {MEMORY >> 30} GiB)", "simplify the spec"
        case Raised(error=error):
            help_ = "please report it together with the spec; `-v` prints where it happened"
            return f"internal error: {error} ({BUG})", help_
        case Died(how="SIGKILL"):
            message = f"the process that {work}ed this file was killed (SIGKILL)"
            return message, "the machine may have run out of memory: check fewer files at once with `--jobs`"
        case Died(how=how):
            message = f"internal error: the process that {work}ed this file died: {how} ({BUG})"
            return message, "please report it together with the spec"


def _with_progress_bar(finished: Iterator[Any], total: int) -> list[Any]:
    done = []
    with progress_bar() as show:
        show("checking", 0, total)
        for pair in finished:
            done.append(pair)
            show("checking", len(done), total)
    return done


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar on standard error: what shows a stage, what is done of it, and the whole if that is known."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # No refresh thread: workers are forked while the bar is up, and no thread may hold a lock at a fork.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    with bar:
        task = bar.add_task("", total=None)

        def show(stage: str, done: int, total: int | None) -> None:
            bar.update(task, description=stage, completed=done, total=total)
            bar.refresh()

        yield show
