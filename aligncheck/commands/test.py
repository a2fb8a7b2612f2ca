"""`aligncheck test`: statistical evidence for or against the claim of any Python function."""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from aligncheck.commands import CommandError
from aligncheck.commands.checking import processors, progress_bar
from aligncheck.commands.named import assigned

if TYPE_CHECKING:
    from aligncheck.statistical.patterns import InputPair
    from aligncheck.statistical.plan import Progress, Setup

_NEEDED = ("numpy", "scipy")
_MOST_LEVELS = 200
_MOST_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TestingOptions:
    """The command line, as text where it needs more than a number to be read."""

    function: str
    eps: str | None
    claim: float | None
    delta: float | None
    spec: str | None
    settings: Sequence[str]
    vary: Sequence[str]
    database: str | None
    array: bool
    adjacency: str
    sensitivity: float
    length: str
    pairs: Sequence[tuple[str, str]]
    runs: int
    selection: int
    alpha: float
    seed: int | None
    jobs: int | None
    timeout: float
    plot: str | None
    as_json: bool


def test(**given: Any) -> int:
    """Prints what a test with such `TestingOptions` found. Returns 1 for evidence against the claim, else 0.

    Raises CommandError where there is nothing that can be tested, or something is not installed.
    """
    for library in _NEEDED:
        if find_spec(library) is None:
            raise CommandError(
                f"`aligncheck test` needs {library}, which is not installed:",
                "pip install 'aligncheck[statistics]'",
            )
    from aligncheck.statistical.cannot_test import CannotTest

    try:
        return _tested(TestingOptions(**given))
    except CannotTest as error:
        raise CommandError(error.message, error.advice) from None


def _tested(options: TestingOptions) -> int:
    from aligncheck.statistical.curve import check_plot, draw_curve
    from aligncheck.statistical.plan import Plan, Setup
    from aligncheck.statistical.reference import reference
    from aligncheck.statistical.tester import run_test

    levels = None if options.eps is None else levels_of(options.eps)
    if options.plot is not None:
        if levels is None or len(levels) < 2:
            raise CommandError("`--plot` draws a sweep: give several levels, such as --eps 0.2:2.2:0.1")
        check_plot(options.plot)
    setup = Setup(
        reference(options.function),
        tuple(assigned("--set", options.settings, of_spec=False).items()),
        options.database,
        levels[0] if levels is not None and len(levels) == 1 else options.claim,
        options.array,
        patience=options.timeout,
        delta=options.delta,
    )
    plan = Plan(
        setup,
        _with_arguments(_pairs(options), setup, options),
        levels,
        options.claim,
        options.selection,
        options.runs,
        options.alpha,
        secrets.randbits(32) if options.seed is None else options.seed,
        options.jobs or processors(),
        options.timeout,
        options.delta,
    )
    with _progress(not options.as_json) as progress:
        tested = run_test(plan, progress)
    if options.plot is not None:
        try:
            draw_curve(tested, options.plot)
        except OSError as error:
            raise CommandError(f"cannot write `{options.plot}`: {error.strerror or error}") from None
    _report(tested, options)
    return 1 if tested.finding == "evidence" else 0


def _with_arguments(
    pairs: tuple[InputPair, ...], setup: Setup, options: TestingOptions
) -> tuple[InputPair, ...]:
    """With arguments for what is neither set nor varied, where a spec describes the function."""
    from aligncheck.commands.offered import describing, with_arguments

    mechanism = describing(options.spec, setup.reference)
    if mechanism is None or (options.spec is None and options.pairs):
        return pairs
    given = dict(setup.settings)
    if setup.eps is not None:
        given.setdefault("eps", str(setup.eps))
    if setup.delta is not None:
        given.setdefault("delta", str(setup.delta))
    return with_arguments(pairs, mechanism, given)


def _report(tested: Any, options: TestingOptions) -> None:
    from aligncheck.commands.screen import Screen, print_json
    from aligncheck.report.statistical import render_tested, tested_document

    if options.as_json:
        print_json(tested_document(tested))
    else:
        Screen().show(render_tested(tested, options.plot))


def levels_of(text: str) -> tuple[float, ...]:
    """`0.7`, `0.2,0.7,1.5` or `START:STOP:STEP` (both ends belong to it), rising.

    Raises CommandError for anything else, and for levels that are not positive.
    """
    parts = text.split(":")
    if len(parts) == 3:
        start, stop, step = (_level(part, text) for part in parts)
        steps = math.floor(min(max((stop - start) / step + 1e-9, -1), _MOST_LEVELS))
        found = [float(f"{start + i * step:.12g}") for i in range(steps + 1)]
    elif len(parts) == 1:
        found = [_level(part, text) for part in text.split(",")]
    else:
        raise CommandError(f"`--eps {text}` is no level: write 0.7, or 0.2,0.7,1.5, or START:STOP:STEP")
    if not found or len(found) > _MOST_LEVELS:
        many = f"more than {_MOST_LEVELS} levels" if found else "no level"
        raise CommandError(f"`--eps {text}` is {many}: START:STOP:STEP rises from START")
    return tuple(sorted(set(found)))


def _level(part: str, text: str) -> float:
    try:
        level = float(part)
    except ValueError:
        level = math.nan
    if not 0 < level <= 100:
        raise CommandError(f"`--eps {text}`: `{part}` is no level (more than 0, at most 100)")
    return level


def _pairs(options: TestingOptions) -> tuple[InputPair, ...]:
    from aligncheck.statistical.patterns import ADJACENCIES, InputPair, pairs, varied

    if options.pairs:
        found = tuple(
            InputPair(f"given pair {number}", _json(first), _json(second))
            for number, (first, second) in enumerate(options.pairs, 1)
        )
        for pair in found:
            if pair.first == pair.second:
                raise CommandError(f"`--pair`: D and D' are both {pair.first}")
    else:
        (adjacency,) = (known for known in ADJACENCIES if known.value == options.adjacency)
        found = pairs(adjacency, options.sensitivity, _lengths(options.length))
        if not found:
            raise CommandError(f"no pair of inputs of length {options.length} is `{adjacency.value}`")
    values = {name: text.split(",") for name, text in assigned("--vary", options.vary, of_spec=False).items()}
    both = set(values) & set(assigned("--set", options.settings, of_spec=False))
    if both:
        raise CommandError(f"`{both.pop()}` is set by `--set` and by `--vary`")
    return varied(found, values) if values else found


def _json(text: str) -> Any:
    def finite(number: str) -> float:
        if not math.isfinite(float(number)):
            raise ValueError(number)
        return float(number)

    try:
        return json.loads(text, parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError):
        raise CommandError(
            f"`--pair`: `{text[:60]}` is no JSON value: write a number, or a list such as '[1, 0, 2]'"
        ) from None


def _lengths(text: str) -> list[int]:
    lengths = []
    for part in text.split(","):
        if not part.strip().isdecimal() or not 1 <= int(part) <= _MOST_LENGTH:
            raise CommandError(f"`--length {text}`: `{part}` is no length (1 to {_MOST_LENGTH})")
        lengths.append(int(part))
    return lengths


@contextlib.contextmanager
def _progress(wanted: bool) -> Iterator[Progress]:
    """A bar on standard error, if that is a terminal."""
    if not wanted or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda stage, done, total: None
        return
    with progress_bar() as show:
        show("first runs", 0, None)
        yield show
