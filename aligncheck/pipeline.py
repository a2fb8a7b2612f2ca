"""The stages in order: text, tree, AST, paths, obligations, outcomes, verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aligncheck.effort import Effort
from aligncheck.language.diagnostics import SpecError
from aligncheck.verdict import AlignmentFails, Error, FileResult, Unknown, Verdict, Verified

if TYPE_CHECKING:
    from aligncheck.compiler.certificate.text import Section
    from aligncheck.compiler.forms import Form
    from aligncheck.compiler.modes import RunMode
    from aligncheck.judge import Known
    from aligncheck.language.source import Source
    from aligncheck.language.syntax.nodes import Mechanism


@dataclass(frozen=True, slots=True)
class Options:
    """How to check: seconds for one file, whether to work out what a verdict does not need but a reader does
    (the shares of the cost; what would pass instead), and how many steps of an `Effort` it may take.
    """

    timeout: float = 60.0
    explain: bool = True
    steps: int | None = None


def load_stages() -> None:
    """Imports all that a check needs, so that processes forked afterwards need not."""
    import aligncheck.judge
    import aligncheck.language.check.further
    import aligncheck.search.advice
    import aligncheck.search.failing.counterexamples
    import aligncheck.search.failing.exceeding  # noqa: F401 - else linters drop all
    from aligncheck.language.syntax.grammar import grammar
    from aligncheck.meaning.exact import load

    grammar()
    load()


def verify_file(path: str, options: Options, known: Known | None = None) -> FileResult:
    """Reads and checks one spec; bad input becomes the verdict ERROR. `known` as in `verify`."""
    from aligncheck.language.check.further import checked
    from aligncheck.language.syntax.read import read_source

    start = time.perf_counter()
    text = ""
    try:
        source = read_source(path)
        text = source.text
        verdict = verify(checked(source), source, options, known)
    except SpecError as error:
        # Its source is what could be read of a file that is no UTF-8.
        verdict, text = Error(error.diagnostic, error.further), error.source.text
    return FileResult(path, verdict, time.perf_counter() - start, text)


@dataclass(frozen=True, slots=True)
class Certification:
    """The result for a spec, and the form of it that runs. `form` is its proof and `sections` are those of
    its certificate; where a VERIFIED spec has none, `problem` says why, as the end of a sentence.
    """

    result: FileResult
    form: Verified | None = None
    sections: tuple[Section, ...] = ()
    problem: str | None = None


def certify_file(path: str, options: Options, mode: RunMode) -> Certification:
    """Reads and checks one spec and, where it is VERIFIED, the form of it that runs in a mode; bad input
    becomes the verdict ERROR. What this process did before does not change the certificate.
    """
    from aligncheck.judge import judge
    from aligncheck.language.check.further import checked
    from aligncheck.language.syntax.read import read_source

    start = time.perf_counter()
    deadline = time.monotonic() + options.timeout
    try:
        source = read_source(path)
        verdict: Verdict = judge(checked(source), source, deadline, explain=False)
    except SpecError as error:
        seconds = time.perf_counter() - start
        verdict = Error(error.diagnostic, error.further)
        return Certification(FileResult(path, verdict, seconds, error.source.text))
    done = Certification(FileResult(path, verdict, time.perf_counter() - start, source.text))
    if isinstance(verdict, Verified):
        done = _certified(verdict, source, mode, deadline, done)
    return replace(done, result=replace(done.result, seconds=time.perf_counter() - start))


def _certified(
    verified: Verified, source: Source, mode: RunMode, deadline: float, done: Certification
) -> Certification:
    """The certificate of the form that runs, which the kernel must accept as well."""
    from aligncheck.compiler.certificate.whole import certificate_of
    from aligncheck.compiler.forms import NoFormError, form_of
    from aligncheck.judge import judge
    from aligncheck.search.witness.enough import with_needs

    try:
        form = form_of(verified.mechanism, source, mode)
        proof: Verdict = verified
        if not form.same:
            proof = judge(form.mechanism, form.source, deadline, explain=False, search=False)
    except NoFormError as error:
        line, _ = source.position(error.span.start)
        return replace(done, problem=f"line {line}: {error.why}")
    except SpecError as error:
        return replace(done, problem=error.diagnostic.message)
    if not isinstance(proof, Verified):
        return replace(done, problem=_problem(proof, form))
    if not proof.accepted.decisions:
        return replace(done, problem="the kernel did not decide it")
    proof = replace(proof, witness=with_needs(proof.mechanism, proof.witness))
    sections = certificate_of(verified.mechanism, source, mode, proof.witness)
    return replace(done, form=proof, sections=sections)


def _problem(verdict: Verdict, form: Form) -> str:
    match verdict:
        case Unknown(message=message, primary=label) if label is not None:
            return f"{message} (`{' '.join(form.source.text_of(label.span).split())}`)"
        case Unknown(message=message):
            return message
        case Verified() | AlignmentFails() | Error():
            return "it is not proved"


def verify_source(source: Source, options: Options) -> Verdict:
    """Parses and checks a spec. Raises SpecError for bad input."""
    from aligncheck.language.check import check
    from aligncheck.language.syntax.parse import parse

    return verify(check(source, parse(source)), source, options)


def verify(mechanism: Mechanism, source: Source, options: Options, known: Known | None = None) -> Verdict:
    """The verdict on a checked mechanism; `known` are what other files called, and now what this one calls,
    too: each text is judged once. Raises SpecError for what only the proof can see (contradictory `where`
    clauses).
    """
    from aligncheck.judge import Judge

    limit = Effort(steps=options.steps)
    deadline = time.monotonic() + options.timeout
    hopeful = mechanism.expect is not None and mechanism.expect.verdict == "verified"
    early = not options.explain and not hopeful
    patience = max(1, round(options.timeout / Options().timeout))
    known = {} if known is None else known
    judge = Judge(deadline, options.explain, early=early, known=known, limit=limit, patience=patience)
    return judge.verdict(mechanism, source)
