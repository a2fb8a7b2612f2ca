"""The stages in order: text, tree, AST, paths, obligations, outcomes, verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aligncheck.diagnostics import SpecError
from aligncheck.verdict import Error, Result, Unknown, Verdict, Verified

if TYPE_CHECKING:
    from aligncheck.certificate.text import Section
    from aligncheck.source import Source
    from aligncheck.syntax.nodes import Mechanism


@dataclass(frozen=True, slots=True)
class Options:
    """How to check: seconds for one file, and whether to work out what a verdict does not need but a reader
    does (the shares of the cost; what would pass instead).
    """

    timeout: float = 60.0
    explain: bool = True


def load_stages() -> None:
    """Imports all that a check needs, so that processes forked afterwards need not."""
    import aligncheck.advice
    import aligncheck.check
    import aligncheck.discharge.search
    import aligncheck.judge
    import aligncheck.syntax.parse
    import aligncheck.syntax.read  # noqa: F401


def verify_file(path: str, options: Options) -> Result:
    """Reads and checks one spec; bad input becomes the verdict ERROR."""
    from aligncheck.syntax.read import read_source

    start = time.perf_counter()
    text = ""
    try:
        source = read_source(path)
        text = source.text
        verdict = verify_source(source, options)
    except SpecError as error:
        # Its source is what could be read of a file that is no UTF-8.
        verdict, text = Error(error.diagnostic), error.source.text
    return Result(path, verdict, time.perf_counter() - start, text)


def certify_file(path: str, options: Options) -> tuple[Result, tuple[Section, ...]]:
    """The same, with the sections of the certificate where the verdict is VERIFIED; a proof that cannot be
    decided again from its text leaves it UNKNOWN.
    """
    from aligncheck.certificate.proof import ProofError
    from aligncheck.certificate.whole import certificate_of
    from aligncheck.check import check
    from aligncheck.judge import judge_in_full
    from aligncheck.syntax.parse import parse
    from aligncheck.syntax.read import read_source

    start = time.perf_counter()
    text = ""
    sections: tuple[Section, ...] = ()
    verdict: Verdict
    try:
        source = read_source(path)
        text = source.text
        mechanism = check(source, parse(source))
        verdict, proven = judge_in_full(mechanism, source, time.monotonic() + options.timeout)
        if isinstance(verdict, Verified):
            sections = certificate_of(verdict.mechanism, source, proven)
    except SpecError as error:
        verdict, text = Error(error.diagnostic), error.source.text
    except ProofError as error:
        message = f"the proof has no certificate: {error}"
        verdict = Unknown(mechanism, None, message, None, help="an `invariant` line may make it easier")
    return Result(path, verdict, time.perf_counter() - start, text), sections


def verify_source(source: Source, options: Options) -> Verdict:
    """Parses and checks a spec. Raises SpecError for bad input."""
    from aligncheck.check import check
    from aligncheck.syntax.parse import parse

    return verify(check(source, parse(source)), source, options)


def verify(mechanism: Mechanism, source: Source, options: Options) -> Verdict:
    """The verdict on a checked mechanism. Raises SpecError for what only the proof can see (contradictory
    `where` clauses).
    """
    from aligncheck.judge import judge

    return judge(mechanism, source, time.monotonic() + options.timeout, options.explain)
