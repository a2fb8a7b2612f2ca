"""`aligncheck align` and its kin: what a spec lacks, as text that has been verified."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aligncheck.commands import CommandError
from aligncheck.commands.checking import GRACE, Answer, alone, one_file, why_lost
from aligncheck.commands.telling import tell
from aligncheck.effort import Effort
from aligncheck.language.files import opened
from aligncheck.workers import Done

if TYPE_CHECKING:
    from aligncheck.language.diagnostics import Diagnostic
    from aligncheck.language.source import Source
    from aligncheck.synthesis.accuracy import Accuracy
    from aligncheck.synthesis.least import LeastClaim
    from aligncheck.synthesis.repair import Repair
    from aligncheck.synthesis.tune import BestScales, BestSplit
    from aligncheck.verdict import FileResult

STEPS = 60_000
"""Of an `Effort`, for a whole search: half a minute on a quiet machine, and the same outcome on any."""
_PATIENCE = 600.0
"""Seconds after which the clock ends what counts steps."""


def align(path: str, *, timeout: float | None, write: bool) -> int:
    """Prints an `align` section with which the spec is verified, or writes it into the file. Returns 0; 2
    where there is no spec; 3 where none was found, which says nothing of privacy.
    """
    from aligncheck.synthesis.find import FoundAlignment, NoAlignment, find_alignment

    before = _bytes(path)
    match in_worker(find_alignment, path, timeout):
        case FoundAlignment(items=items, source=source, tally=tally):
            from aligncheck.language.unparse import unparse_alignment

            section = unparse_alignment(items)
            tell("align", *(f"  {line}" for line in section.split("\n") if line))
            told = [
                f"verified; {tally.alignments:,} tried, {tally.proofs} put to proof ({tally.seconds:.1f} s)"
            ]
            if write:
                _write_spec(path, before, source.text)
                told.append(f"written to `{path}`")
            tell("", *told)
            return 0
        case NoAlignment(tally=tally, ended=ended):
            tell(none_among(tally.alignments, ended), error=True)
            return 3


def _bytes(path: str) -> bytes:
    try:
        with opened(one_file(path)) as file:
            return file.read()
    except OSError as error:
        raise CommandError(f"cannot read `{path}`: {error.strerror}") from error


def _write_spec(path: str, before: bytes, text: str) -> None:
    """Writes a spec with the line ends and the byte order mark that the file has. Raises CommandError where
    it holds something else than before the search.
    """
    from aligncheck.commands.compile import replace_file

    if _bytes(path) != before:
        raise CommandError(f"`{path}` was changed during the search: nothing is written", "run it again")
    mark = "\ufeff" if before.startswith(codecs.BOM_UTF8) else ""
    replace_file(path, mark + (text.replace("\n", "\r\n") if b"\r\n" in before else text))


def none_among(tried: int, ended: str) -> str:
    """What is said where nothing was found."""
    why = f" ({ended})" if ended else ""
    return f"none among {tried:,} alignments is verified{why}: the mechanism may still be private"


_LEAST = 0.2
"""A search for a hint needs some seconds: it counts its steps, and has the time that the file has left."""


def hint(result: FileResult, timeout: float) -> tuple[str, ...]:
    """What is said of other alignments under a verdict: one that is verified, or that there is none among so
    many; nothing where the file's own is verified, or where there can be none. `timeout` is the file's own.
    """
    from aligncheck.report.terminal import an_alignment_may_mend
    from aligncheck.verdict import AlignmentFails, Unknown

    verdict = result.verdict
    if not isinstance(verdict, AlignmentFails | Unknown) or verdict.mechanism is None:
        return ()
    # Not before: it costs a verified spec as much as its check.
    from aligncheck.synthesis.find import LATE, SHORT, FoundAlignment, NoAlignment, find_alignment

    if not an_alignment_may_mend(verdict):
        return ()
    left = timeout - result.seconds
    if left < _LEAST:
        return ()
    try:
        found = in_worker(find_alignment, result.path, left, SHORT)
    except (CommandError, SystemExit):
        return ()
    match found:
        case FoundAlignment(items=items):
            from aligncheck.language.unparse import unparse_alignment

            lines = (f"  {line}" for line in unparse_alignment(items).split("\n") if line)
            return "another alignment is verified (`aligncheck align --write` puts it into the file):", *lines
        case NoAlignment(tally=tally, ended=ended) if tally.alignments and ended != LATE:
            return (f"note: {none_among(tally.alignments, '')}",)
        case _:
            return ()


def in_worker(function: Callable[..., Answer], path: str, timeout: float | None, *more: object) -> Answer:
    """What a function makes of a spec and an effort, and of what is given besides, in a process under limits.
    Raises CommandError where it makes nothing of it, or there is no formula; SystemExit, after it was printed
    what is wrong, where there is no spec.
    """
    outcome = alone(_caught, (function, one_file(path), timeout, more), (timeout or _PATIENCE) + GRACE)
    if not isinstance(outcome, Done):
        raise CommandError(*why_lost(outcome, "search"))
    found, wrong = outcome.value
    if isinstance(wrong, str):
        raise CommandError(wrong)
    if wrong is not None:
        from aligncheck.commands.screen import Screen
        from aligncheck.report.terminal import render_diagnostic

        Screen(error=True).show(render_diagnostic(*wrong))
        raise SystemExit(2)
    answer: Answer = found
    return answer


def _caught(
    job: tuple[Callable[..., Any], str, float | None, tuple[object, ...]],
) -> tuple[Any, tuple[Source, Diagnostic] | str | None]:
    """In a worker: what a function gives, or what is wrong."""
    from aligncheck.language.diagnostics import SpecError
    from aligncheck.language.syntax.read import read_source
    from aligncheck.synthesis.formulas import NoFormulaError

    function, path, timeout, more = job
    try:
        return function(read_source(path), Effort(timeout, STEPS), *more), None
    except SpecError as error:
        return None, (error.source, error.diagnostic)
    except NoFormulaError as error:
        return None, str(error)


# --- claims and repairs -------------------------------------------------------------------------------------


def claim(path: str, *, timeout: float | None, accuracy: bool) -> int:
    """Prints the least claim that the alignment of a spec proves; instead of it, bounds on what noise does
    (`accuracy`). Returns 0; 2 where there is no spec; 3 where none was found.
    """
    from aligncheck.synthesis.least import least_claim

    if accuracy:
        return _print_accuracy(path, timeout)
    found = in_worker(least_claim, path, timeout)
    if found.least is None and found.formulas:
        others = (f"also `privacy {each}`, which is less for some inputs" for each in found.formulas[1:])
        tell(f"privacy {found.formulas[0]}", *others, "", f"no multiple of `{found.claim}` is verified")
        return 0
    if found.least is None:
        tell(f"no multiple of `{found.claim}` is verified with this alignment", error=True)
        return 3
    state = "is verified" if found.verified else "is not verified"
    tell(f"privacy {found.least}", "", f"`privacy {found.claim}` {state}; {_least(found)}")
    for formula in found.formulas:
        if formula != found.least:
            tell(f"also verified, and less for some inputs: `privacy {formula}`")
    if found.free:
        claims = " and ".join(f"`{each}`" for each in found.free)
        tell(f"for other scales s of the noise: {claims}{_together(found)}")
    return 0


def _together(found: LeastClaim) -> str:
    """What is said of several claims, and of those that grow with the number of answers."""
    several = "; all hold, so the least counts" if len(found.free) > 1 else ""
    return several + ("; it grows with the number of answers" if "len(" in found.free[0] else "")


def _print_accuracy(path: str, timeout: float | None) -> int:
    """Prints bounds on what the noise of a spec does to its tests, selections and released numbers. Returns
    0; 2 where there is no spec, or no such formula.
    """
    found = in_worker(_accuracy, path, timeout)
    tell(f"with probability at least 1 - {found.beta}, all together:", "")
    for bound in found.bounds:
        tell(f"  `{bound.place}` is {bound.what} {bound.alpha}")
    if found.left_out:
        tell("", *(f"  no bound for `{place}`" for place in found.left_out))
    return 0


def _accuracy(source: Source, effort: Effort) -> Accuracy:
    """In a worker."""
    from aligncheck.language.check import check
    from aligncheck.language.syntax.parse import parse
    from aligncheck.synthesis.accuracy import accuracy_of

    return accuracy_of(check(source, parse(source)))


def _least(found: LeastClaim) -> str:
    """Whether the claim that was found is the least, by the run that costs most."""
    from aligncheck.report.cost import dearest_text

    if found.dearest is None or found.factor is None:
        return "no run tells whether it is the least"
    return dearest_text(replace(found.dearest, share=found.dearest.share / found.factor))


def fix(path: str, *, timeout: float | None, write: bool) -> int:
    """Prints repairs of a spec as diffs, each verified; writes the first one into the file. Returns 0; 2
    where there is no spec; 3 where no repair was found.
    """
    before = _bytes(path)
    source, ways = in_worker(_fix, path, timeout)
    if ways is None:
        tell(f"`{path}` is verified as it is")
        return 0
    if not ways:
        tell("no repair is verified: the mechanism may still be private", error=True)
        return 3
    from aligncheck.synthesis.repair import diff

    for repair in ways:
        tell(f"verified with {repair.what}:", "", *diff(source, repair.source), "")
    if write:
        _write_spec(path, before, ways[0].source.text)
        tell(f"written to `{path}`: {ways[0].what}")
    return 0


def _fix(source: Source, effort: Effort) -> tuple[Source, list[Repair] | None]:
    """In a worker; None: verified as it is."""
    from aligncheck.judge import Judge
    from aligncheck.synthesis.dearest import verified
    from aligncheck.synthesis.repair import repairs

    found = list(repairs(source, effort))
    judge = Judge(math.inf, explain=False, search=False, limit=Effort(effort.seconds_left(), STEPS))
    holds = not found and verified(judge, source)
    return source, None if holds else found


def tune(path: str, *, timeout: float | None, minimise: str, over: str | None) -> int:
    """Prints the value of a parameter, or the scales, that minimise the variance of `TAG.FIELD`. Returns 0; 1
    or 3 where the spec is not verified; 2 where there is no spec, or no such formula.
    """
    tag, dot, field = minimise.partition(".")
    if not dot or not tag or not field:
        raise CommandError(f"`--minimise {minimise}` is not of the form TAG.FIELD")
    found = in_worker(_tune, path, timeout, timeout or _PATIENCE, tag, field, over)
    if isinstance(found, int):
        tell(f"`{path}` is not verified: nothing is known to hold for other splits", error=True)
        return found
    if isinstance(found, tuple):
        from aligncheck.synthesis.repair import diff

        before, best = found
        tell(*diff(before, best.source), "", f"the variance of `{minimise}` is then {best.variance}")
        tell("verified with these scales; noise that is not in it keeps its own")
        return 0
    tell(f"{found.parameter} = {found.value}", "", f"the variance of `{minimise}` is then {found.variance}")
    tell(f"in general {found.formula}", "verified for every value of it, so for this one")
    return 0


def _tune(
    source: Source, effort: Effort, seconds: float, tag: str, field: str, over: str | None
) -> BestSplit | tuple[Source, BestScales] | int:
    """In a worker; the status of a verdict that is not VERIFIED."""
    from aligncheck.pipeline import Options, verify_source
    from aligncheck.synthesis.tune import best_scales, best_split
    from aligncheck.verdict import Verified, exit_status

    verdict = verify_source(source, Options(timeout=seconds, explain=False))
    if not isinstance(verdict, Verified):
        return exit_status(verdict)
    if over is None:
        return source, best_scales(source, effort, tag, field)
    return best_split(verdict.mechanism, tag, field, over)
