"""Searches for violations in supervised processes and turns whatever becomes of them into outcomes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aligncheck.commands import CommandError
from aligncheck.commands.checking import MEMORY, processors, why_lost
from aligncheck.verdict import AlignmentFails, Unknown
from aligncheck.workers import Done, Outcome, Supervision, TooLongError, in_order, stopped_after

if TYPE_CHECKING:
    from aligncheck.language.source import Source
    from aligncheck.language.syntax.nodes import Mechanism
    from aligncheck.meaning.interpreter import Input, Inputs
    from aligncheck.meaning.scenario import Scenario
    from aligncheck.pipeline import Options
    from aligncheck.refutation.findings import Refutation
    from aligncheck.refutation.violation import NoViolation, Violation
    from aligncheck.verdict import FileResult, Verdict

STEPS = 25_000
"""How much is searched for each file by default: so many steps, the same on every machine (see `Effort`)."""
BACKSTOP = 180.0
"""Seconds after which the clock ends a search that counts steps: many times what these take at rest."""
GRACE = 5.0
"""Seconds that a search may overrun its time (imports, the last probability) before it is killed: it ends by
itself, and says what it has seen.
"""
_FIRST = 0.7
"""The share of the search on its own; then a proof is tried, and followed where it fails."""
_PROOF, _PROOF_STEPS = 0.2, 8_000
"""The share of the time for that proof, and its steps where these are counted."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file, the values that are set (as texts), and pairs of databases to look at first.

    `seconds`: how long to search by the clock; None to count steps. `tried`: a proof has been tried before,
    so that it is not tried again.
    """

    path: str
    settings: Mapping[str, str]
    seconds: float | None
    hints: tuple[Scenario, ...] = field(default=())
    tried: bool = False

    @property
    def limit(self) -> float:
        """The seconds that it may take at most."""
        return BACKSTOP if self.seconds is None else self.seconds


@contextmanager
def refuting(work: Sequence[Job], *, jobs: int | None) -> Iterator[Iterator[Refutation]]:
    """The searches for some files: their outcomes, in order. The work starts on entry.

    Raises CommandError where a file has no parameter that is set, or not one with such values.
    """
    with Supervision(
        _refute,
        work,
        deadline=max((job.limit for job in work), default=1.0) + GRACE,
        jobs=jobs or processors(),
        memory=MEMORY,
        warm_up=_load,
    ) as outcomes:
        yield (_refutation_of(work[index].path, outcome) for index, outcome in in_order(iter(outcomes)))


def _load() -> None:
    from aligncheck.pipeline import load_stages
    from aligncheck.refutation.refuter import load

    load_stages()
    load()


def _refutation_of(path: str, outcome: Outcome[Refutation]) -> Refutation:
    from aligncheck.refutation.findings import Refutation, Unfinished

    if not isinstance(outcome, Done):
        return Refutation(path, None, Unfinished("; ".join(why_lost(outcome, "search"))), outcome.seconds)
    found = outcome.value.outcome
    if isinstance(found, Unfinished) and found.refused:
        raise CommandError(found.message)
    return outcome.value


# --- in a worker ------------------------------------------------------------------------------------------


def _refute(job: Job) -> Refutation:
    from aligncheck.language.check.further import checked
    from aligncheck.language.diagnostics import SpecError
    from aligncheck.language.syntax.read import read_source
    from aligncheck.refutation.findings import Refutation, Unfinished
    from aligncheck.refutation.violation import NoViolation
    from aligncheck.search.attempt import refuse_default

    start = time.monotonic()
    text = ""
    try:
        source = read_source(job.path)
        text = source.text
        mechanism = checked(source)
        refuse_default(mechanism, source)
        fixed = _fixed(mechanism, job.settings)
    except SpecError as error:
        seconds = time.monotonic() - start
        return Refutation(job.path, None, error.diagnostic, seconds, error.source.text, (), error.further)
    except CommandError as error:
        return Refutation(job.path, None, Unfinished(str(error), True), time.monotonic() - start, text)
    outcome, advice = _searched(mechanism, source, fixed, job, start + job.limit)
    if isinstance(outcome, NoViolation) and not outcome.looked and job.settings:
        given = ", ".join(f"{name} = {value}" for name, value in job.settings.items())
        message = f"`{mechanism.name}`: no inputs were found that its declarations allow, with {given}"
        return Refutation(job.path, None, Unfinished(message, True), time.monotonic() - start, text)
    return Refutation(job.path, mechanism, outcome, time.monotonic() - start, text, advice)


def _searched(
    mechanism: Mechanism, source: Source, fixed: Inputs, job: Job, end: float
) -> tuple[Violation | NoViolation, tuple[str, ...]]:
    from aligncheck.pipeline import Options
    from aligncheck.refutation.refuter import Aim, refute
    from aligncheck.refutation.violation import Violation

    def searched(hints: tuple[Scenario, ...], share: float, seconds: float) -> Violation | NoViolation:
        steps = round(share * STEPS) if job.seconds is None else None
        return refute(mechanism, Aim(fixed, hints, seconds, steps=steps))

    share = 1.0 if job.tried else _FIRST
    first = searched(job.hints, share, share * (end - time.monotonic()))
    if job.tried:
        return first, ()

    def proof(explain: bool) -> Verdict | None:
        left = end - time.monotonic()
        if job.seconds is None:
            return _verdict(mechanism, source, Options(left, explain, _PROOF_STEPS))
        return _verdict(mechanism, source, Options(min(_PROOF * job.seconds, left), explain))

    if isinstance(first, Violation):
        return first, advice_of(proof(explain=True))
    hint = hint_of(proof(explain=False))
    left = end - time.monotonic()
    if hint is None or left < 0.2:
        return first, ()
    second = searched((hint,), 1 - _FIRST, left)
    if isinstance(second, Violation):
        return second, advice_of(proof(explain=True))
    return (first if first.strongest is not None else second), ()


def _verdict(mechanism: Mechanism, source: Source, options: Options) -> Verdict | None:
    """What a proof comes to in a short time; None where it meets something that it refuses."""
    from aligncheck.language.diagnostics import SpecError
    from aligncheck.pipeline import verify

    if options.timeout < 0.1:
        return None
    try:
        with stopped_after(options.timeout):
            return verify(mechanism, source, options)
    except (SpecError, TooLongError):
        return None


def refuted_after(result: FileResult) -> Refutation | None:
    """What a search finds where a proof failed, starting from what it failed for. The file is read again:
    what is found of another text than the proof was tried of is not said.
    """
    if not isinstance(result.verdict, AlignmentFails | Unknown):
        return None
    hint = hint_of(result.verdict)
    job = Job(result.path, {}, None, () if hint is None else (hint,), tried=True)
    with refuting([job], jobs=1) as work:
        found = next(work)
    if found.text and result.text and found.text != result.text:
        from aligncheck.refutation.findings import Refutation, Unfinished

        changed = Unfinished("the file was changed while it was checked: run the command again")
        return Refutation(result.path, None, changed, found.seconds, result.text)
    return found


def hint_of(verdict: Verdict | None) -> Scenario | None:
    """The databases on which a proof failed."""

    if not isinstance(verdict, AlignmentFails):
        return None
    example = verdict.counterexample or verdict.densities
    return None if example is None else example.scenario


def advice_of(verdict: Verdict | None) -> tuple[str, ...]:
    """What would be proved instead."""

    return verdict.advice if isinstance(verdict, AlignmentFails) else ()


def _fixed(mechanism: Mechanism, settings: Mapping[str, str]) -> Inputs:
    """The values that are set, by name. Raises CommandError for a name or a value that does not fit."""
    from fractions import Fraction

    from aligncheck.execute.cannot_run import RunError
    from aligncheck.execute.settings import value_of
    from aligncheck.language.syntax.nodes import Parameter, PublicVector
    from aligncheck.runtime import ParameterInfo

    public = {item.name: item for item in mechanism.inputs if isinstance(item, Parameter | PublicVector)}
    found: list[tuple[str, Input]] = []
    for name, text in settings.items():
        if name not in public:
            known = ", ".join(f"`{each}`" for each in public) or "none"
            raise CommandError(f"`{mechanism.name}` has no parameter `{name}` (it has {known})")
        item = public[name]
        info = ParameterInfo(name, name, item.sort.value, isinstance(item, PublicVector))
        try:
            value = value_of(info, text)
        except RunError as error:
            raise CommandError(error.message) from None
        if isinstance(value, list):
            found.append((name, tuple(one if isinstance(one, bool) else Fraction(one) for one in value)))
        else:
            found.append((name, value if isinstance(value, bool) else Fraction(value)))
    return tuple(found)
