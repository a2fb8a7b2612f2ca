"""Checks a generated file: nothing in it is believed, all of it is derived or decided again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from aligncheck import __version__
from aligncheck.compiler.certificate.plans import PlanError
from aligncheck.compiler.certificate.proof import ProofError, Subject
from aligncheck.compiler.certificate.scripts import Script
from aligncheck.compiler.certificate.solvers import Reply, ScriptError, Solver, answers
from aligncheck.compiler.certificate.text import (
    MAKER,
    MODE,
    Attached,
    FormatError,
    Section,
    detached,
    digest,
    first_difference,
    spec_named,
)
from aligncheck.compiler.certificate.whole import (
    PLAN,
    Certified,
    File,
    derived,
    form_again,
    read_again,
)
from aligncheck.compiler.modes import Mode
from aligncheck.kernel.verdict import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import contract_of, with_contract
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.verdict import NAMES, Verified

Emit = Callable[[Verified, Mode], str]
"""The code of a verified mechanism for a mode."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong: in which `part` of the file, at which of its lines (None: as a whole), and how."""

    part: str
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two solvers that decide one question differently: a bug in one of them, or in a translation."""

    part: str
    question: str
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of a check. `spec` is what the file says it was made of and `form` is what was proved and
    runs, None where they could not be read; `mode` is how the code computes; `questions` were decided by each
    of the solvers, `sides` by form; `seconds` is what all of this took.
    """

    spec: Mechanism | None
    form: Mechanism | None
    mode: Mode | None
    questions: int
    sides: int
    seconds: float
    faults: tuple[Fault, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()


def check_file(text: str, solvers: Sequence[Solver], emit: Emit) -> Checked:
    """Checks the text of a generated file. Raises SolverMissingError, never anything about the file."""
    start = time.perf_counter()
    made = ""
    try:
        parts = detached(text)
        made = parts.sections[0].text.partition(",")[0] if parts.sections else ""
        checking = _Checking(parts, tuple(solvers), emit)
        checking.run()
        checked = checking.result(time.perf_counter() - start)
    except FormatError as error:
        fault = Fault("certificate", error.line, str(error))
        checked = Checked(None, None, None, 0, 0, time.perf_counter() - start, (fault,))
    except _HopelessError as error:
        checked = Checked(None, None, None, 0, 0, time.perf_counter() - start, (error.fault,))
    return replace(checked, faults=tuple(_of_its_time(fault, made) for fault in checked.faults))


def _of_its_time(fault: Fault, made: str) -> Fault:
    """A fault, said of what another version may have had a right to write."""
    if not made.startswith("aligncheck ") or made == f"aligncheck {__version__}":
        return fault
    then = f"(the file was made by {made}, this is {__version__}: compile it again)"
    return replace(fault, message=f"{fault.message} {then}")


class _HopelessError(Exception):
    """A fault after which nothing more can be said."""

    def __init__(self, part: str, line: int | None, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(part, line, message)


class _Checking:
    """One check, part by part."""

    def __init__(self, parts: Attached, solvers: tuple[Solver, ...], emit: Emit) -> None:
        self.parts = parts
        self.solvers = solvers
        self.emit = emit
        self.faults: list[Fault] = []
        self.disagreements: list[Disagreement] = []
        self.questions = self.sides = 0
        self.mechanism: Mechanism | None = None
        self.form: Mechanism | None = None
        self.mode: Mode | None = None

    def result(self, seconds: float) -> Checked:
        faults = tuple(self.faults)
        if not faults and not self.parts.intact:
            faults = (Fault("digest", None, "the digest is not that of the file"),)
        return Checked(
            self.mechanism,
            self.form,
            self.mode,
            self.questions,
            self.sides,
            seconds,
            faults,
            tuple(self.disagreements),
        )

    def run(self) -> None:
        maker, mode, files = self._files()
        self.mode = mode
        try:
            self.mechanism, _ = read_again(files)
            self.form, source = form_again(files, mode)
        except SpecError as error:
            raise self._bad_spec(error) from None
        except ProofError as error:
            raise _HopelessError(MODE, None, str(error)) from None
        certified = list(self._proofs(self.form, source))
        wanted = [
            maker,
            Section(MODE, (mode.value,)),
            *(f.section for f in files),
            *(s for part in certified for s in part.sections),
        ]
        self._compare(wanted)
        if not self.faults:  # scripts are decided from the file's text, which is the one that was derived
            for part in certified:
                self._decide(part)
        self._code(self.mechanism, mode, certified[-1].plan.choices.route)

    # --- specs --------------------------------------------------------------------------------------------

    def _files(self) -> tuple[Section, Mode, list[File]]:
        first, *rest = self.parts.sections or (Section("", ()),)
        if first.title != MAKER or len(first.lines) != 1:
            raise _HopelessError("certificate", first.line or None, f"a section `{MAKER}` must come first")
        if not re.fullmatch(r"aligncheck [0-9a-z.+]+, Z3 [0-9.]+", first.lines[0], re.ASCII):
            self.faults.append(Fault(MAKER, first.line + 1, "these are no versions"))
        modes = {each.value: each for each in Mode}
        if not rest or rest[0].title != MODE or rest[0].text not in modes:
            line = rest[0].line if rest else first.line
            raise _HopelessError(
                "certificate", line, f"a section `{MODE}` must come next, with one of {', '.join(modes)}"
            )
        files: list[File] = []
        for section in rest[1:]:
            named = spec_named(section.title)
            if named is None:
                break
            file = File(named[0], section.text)
            if digest(file.text) != named[1]:
                part, message = f"spec {file.path}", "the spec's text does not have the digest in its title"
                self.faults.append(Fault(part, section.line, message))
            files.append(file)
        if not files:
            raise _HopelessError("certificate", first.line, "there is no section `spec … sha256 …`")
        return Section(MAKER, first.lines), modes[rest[0].text], files

    def _bad_spec(self, error: SpecError) -> _HopelessError:
        path, place = error.source.path, error.diagnostic.primary.span.start
        section = next((s for s in self.parts.sections if (spec_named(s.title) or "?")[0] == path), None)
        line = None if section is None else section.line + error.source.position(place)[0]
        return _HopelessError(f"spec {path}", line, error.diagnostic.message)

    # --- proofs -------------------------------------------------------------------------------------------

    def _proofs(self, mechanism: Mechanism, source: Source) -> Iterator[Certified]:
        at: list[Section] = []

        def plan(subject: Subject) -> Iterable[str]:
            title = f"{PLAN} of {subject.mechanism.name}"
            after = at[-1].line if at else 0  # mechanisms in two files may have one name
            found = next((s for s in self.parts.sections if s.title == title and s.line > after), None)
            if found is None:
                raise _HopelessError("certificate", None, f"the section `{title}` is missing")
            at.append(found)
            return found.lines

        try:
            yield from derived(mechanism, source, plan)
        except PlanError as error:
            raise _HopelessError(at[-1].title, at[-1].line + 1 + error.place, str(error)) from None
        except ProofError as error:
            section = at[-1] if at else Section("certificate", ())
            raise _HopelessError(section.title, section.line or None, str(error)) from None

    def _compare(self, wanted: Sequence[Section]) -> None:
        """Every section stands in the file as it was derived."""
        found = self.parts.sections
        for one, other in zip(found, wanted, strict=False):
            if one.title != other.title:
                message = f"here `{other.title}` was to come"
                self.faults.append(Fault(one.title, one.line, message))
                return
            place = first_difference(one.lines, other.lines)
            if place is not None:
                what = f"`{other.lines[place]}`" if place < len(other.lines) else "nothing more"
                line = one.line + 1 + place
                self.faults.append(Fault(one.title, line, f"does not follow from the spec: {_cut(what)}"))
        for section in found[len(wanted) :]:
            self.faults.append(Fault(section.title, section.line, "this section is too many"))
        for section in wanted[len(found) :]:
            self.faults.append(Fault(section.title, None, "this section is missing"))

    def _decide(self, part: Certified) -> None:
        name = part.mechanism.name
        for side in part.rendered.sides:
            self.sides += 1
            if not side.holds:
                self.faults.append(
                    Fault(f"conditions of form of {name}", None, f"does not hold: {side.text}")
                )
        for script in part.rendered.scripts:
            self._decide_script(script)

    def _decide_script(self, script: Script) -> None:
        try:
            replies = [answers(script, solver) for solver in self.solvers]
        except ScriptError as error:
            self.faults.append(Fault(script.title, None, str(error)))
            return
        self.questions += len(script.questions)
        for question, *given in zip(script.questions, *replies, strict=True):
            said = {reply.answer for reply in given}
            if {"sat", "unsat"} <= said:
                self.disagreements.append(Disagreement(script.title, question, tuple(given)))
                continue
            for reply in given:
                if reply.answer != script.expected:
                    message = f"{reply.solver.value} says {reply.answer}, not {script.expected}: {question}"
                    self.faults.append(Fault(script.title, None, message))

    # --- code ---------------------------------------------------------------------------------------------

    def _code(self, mechanism: Mechanism, mode: Mode, route: str) -> None:
        """The code is what this version generates; only its text is looked at."""
        wanted = self.emit(Verified(_believed(mechanism), Witness(), Accepted(route, ())), mode).split("\n")
        found = self.parts.code.split("\n")
        place = first_difference(found, wanted)
        if place is not None:
            what = f"`{wanted[place]}`" if place < len(wanted) else "nothing more"
            message = f"not what is generated from the spec: {_cut(what)}"
            self.faults.append(Fault("code", place + 1, message))


def _believed(mechanism: Mechanism) -> Mechanism:
    """The mechanism with callees that count as verified: only a text is made of it, to be compared."""
    for use in mechanism.uses:
        contract = contract_of(use)
        proved = replace(contract, mechanism=_believed(contract.mechanism), verdict=NAMES[Verified])
        mechanism = with_contract(mechanism, use.name, proved)
    return mechanism


def _cut(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:157]}..."
