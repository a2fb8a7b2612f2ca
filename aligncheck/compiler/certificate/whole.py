"""The certificate of a mechanism and of all that it calls: made from what was proved, or derived again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from aligncheck import __version__
from aligncheck.compiler.certificate.make import plan_of
from aligncheck.compiler.certificate.plans import plan_from, written
from aligncheck.compiler.certificate.proof import Plan, ProofError, Rendered, Subject, rendered
from aligncheck.compiler.certificate.scripts import Script
from aligncheck.compiler.certificate.solvers import Solver, answers, versions
from aligncheck.compiler.certificate.text import MAKER, MODE, SCRIPT, Section, spec_title
from aligncheck.compiler.forms import Form, NoFormError, form_of
from aligncheck.compiler.modes import Mode
from aligncheck.language.check import check
from aligncheck.language.diagnostics import fault
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.contract import Contract, contract_of, with_contract
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.unparse import unparse_claim
from aligncheck.search.discharge.density import DensityFindings
from aligncheck.search.discharge.establish import Findings
from aligncheck.search.relational.paths import TooManyPathsError
from aligncheck.search.relational.selection import UnsupportedError
from aligncheck.verdict import NAMES, Verified

CLAIM = "claim"
PLAN = "plan"
FORM = "conditions of form"


@dataclass(frozen=True, slots=True)
class Proven:
    """A verified mechanism, its spec, and what was established about it."""

    mechanism: Mechanism
    source: Source
    findings: Findings | DensityFindings


@dataclass(frozen=True, slots=True)
class File:
    """A spec: its path, relative to the folder of the one that is certified, and its text."""

    path: str
    text: str

    @property
    def section(self) -> Section:
        lines = self.text.split("\n")
        return Section(spec_title(self.path, self.text), tuple(lines))


@dataclass(frozen=True)
class Certified:
    """One mechanism's part of a certificate."""

    mechanism: Mechanism
    plan: Plan
    rendered: Rendered

    @property
    def sections(self) -> tuple[Section, ...]:
        name = self.mechanism.name
        sides = tuple(side.line for side in self.rendered.sides)
        return (
            Section(f"{CLAIM} of {name}", (unparse_claim(self.mechanism),)),
            Section(f"{PLAN} of {name}", tuple(written(self.plan))),
            Section(f"{FORM} of {name}", sides),
            *(script_section(name, n, s) for n, s in enumerate(self.rendered.scripts, 1)),
        )


def script_section(name: str, number: int, script: Script) -> Section:
    """A script, with the answer that is expected to each of its questions in the title."""
    title = f"{SCRIPT} {number} of {name}: {len(script.questions)} x {script.expected}"
    return Section(title, tuple(script.text.removesuffix("\n").split("\n")))


# --- specs ------------------------------------------------------------------------------------------------


def files_of(mechanism: Mechanism, source: Source) -> tuple[File, ...]:
    """The specs of a mechanism and of all that it calls, itself first, by paths relative to its own."""
    found: dict[str, File] = {}

    def visit(each: Mechanism, path: str, text: str) -> None:
        if path in found:
            return
        found[path] = File(path, text)
        for use in each.uses:
            contract = contract_of(use)
            visit(contract.mechanism, _beside(path, use.path), contract.source.text)

    visit(mechanism, os.path.basename(source.path), source.text)
    return tuple(found.values())


def _beside(path: str, other: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(path), other)).replace(os.sep, "/")


def read_again(files: Iterable[File]) -> tuple[Mechanism, Source]:
    """The first of the specs, parsed and checked; what it calls is taken from the other ones.

    Raises SpecError.
    """
    texts = {file.path: Source(file.path, file.text) for file in files}
    first = next(iter(texts.values()))

    def read(path: str) -> Source:
        known = texts.get(_beside("", path))
        if known is None:
            message = f"the certificate does not hold the spec `{path}`"
            raise fault(Source(path, ""), "unreadable", message, Span(0, 0))
        return known

    return check(first, parse(first), read), first


def form_again(files: Iterable[File], mode: Mode) -> tuple[Mechanism, Source]:
    """The form that runs, of the first of the specs. Raises SpecError; ProofError where there is none."""
    try:
        form = form_of(*read_again(files), mode)
    except NoFormError as error:
        raise ProofError(f"the spec has no form for the mode `{mode.value}`: {error.why}") from None
    return form.mechanism, form.source


def in_order(mechanism: Mechanism, source: Source) -> Iterator[tuple[str, Mechanism, Source]]:
    """A mechanism and all that it calls, each once, by the paths of their specs; callees first."""
    seen: set[str] = set()

    def visit(each: Mechanism, text: Source, path: str) -> Iterator[tuple[str, Mechanism, Source]]:
        if path in seen:
            return
        seen.add(path)
        for use in each.uses:
            contract = contract_of(use)
            yield from visit(contract.mechanism, contract.source, _beside(path, use.path))
        yield path, each, text

    yield from visit(mechanism, source, os.path.basename(source.path))


# --- proofs -----------------------------------------------------------------------------------------------


def certificate_of(
    mechanism: Mechanism, source: Source, mode: Mode, form: Form, proven: Iterable[Proven]
) -> tuple[Section, ...]:
    """The sections of the certificate of a mechanism whose `form` for a mode was verified, with what was
    `proven` of that and its callees.

    Raises ProofError where what was proved cannot be decided again from its text.
    """
    files = files_of(mechanism, source)
    findings = {(p.mechanism.name, p.source.text): p.findings for p in proven}
    relied_on = {c.source.text: c for c in _contracts(form.mechanism)}

    def plan(subject: Subject) -> tuple[str, ...]:
        text = subject.source.text
        known = findings.get((subject.mechanism.name, text))
        if known is None:
            raise ProofError(f"`{subject.mechanism.name}` was not proved")
        return tuple(written(plan_of(subject, known, relied_on.get(text))))

    parts = []
    for part in derived(*form_again(files, mode), plan):
        undecided = next((why for why in _undecided(part)), None)
        if undecided is not None:
            raise ProofError(f"not decided from its text: {undecided}")
        parts.append(part)
    maker = Section(MAKER, (f"aligncheck {__version__}, {versions([Solver.Z3])}",))
    how = Section(MODE, (mode.value,))
    return (maker, how, *(f.section for f in files), *(s for part in parts for s in part.sections))


def _contracts(mechanism: Mechanism) -> Iterator[Contract]:
    for use in mechanism.uses:
        contract = contract_of(use)
        yield contract
        yield from _contracts(contract.mechanism)


def _undecided(part: Certified) -> Iterator[str]:
    yield from (side.text for side in part.rendered.sides if not side.holds)
    for script in part.rendered.scripts:
        for reply in answers(script, Solver.Z3):
            if reply.answer != script.expected:
                yield reply.question


def derived(
    mechanism: Mechanism, source: Source, plan: Callable[[Subject], Iterable[str]]
) -> Iterator[Certified]:
    """The parts of a certificate, callees first; `plan` gives the lines of each one's plan, if its subject is
    as it should be. Raises ProofError.
    """
    contracts: dict[str, Contract] = {}
    for path, each, text in in_order(mechanism, source):
        for use in each.uses:
            each = with_contract(each, use.name, contracts[_beside(path, use.path)])
        try:
            subject = Subject.of(each, text)
            lines = tuple(plan(subject))
            # The same subject has told its names: what is printed may not depend on what was asked before.
            subject = Subject.of(each, text)
        except TooManyPathsError:
            raise ProofError("the program has too many paths") from None
        except UnsupportedError as error:
            raise ProofError(f"no rule for {error}") from None
        read = plan_from(lines, subject)
        part = Certified(each, read, rendered(subject, read))
        contracts[path] = Contract(each, text, NAMES[Verified], read.length, read.bounds)
        yield part
