"""Checks a generated file: nothing in it is believed.

Its specs are parsed, the form that runs is derived from them, the kernel decides whether the witness shows
that form to be private, and the program is read back and must be that form.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aligncheck import __version__
from aligncheck.compiler.certificate.questions import DisagreementError, SecondSolver, SolverReply
from aligncheck.compiler.certificate.solvers import Solver
from aligncheck.compiler.certificate.text import (
    MAKER,
    MODE,
    WITNESS,
    Attached,
    FormatError,
    Section,
    detached,
    digest,
    spec_named,
)
from aligncheck.compiler.certificate.whole import File, files_of, read_again
from aligncheck.compiler.forms import Form, NoFormError, form_of
from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback import ReadError, program_runs
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.decide import decide
from aligncheck.kernel.witness import Witness
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.search.witness.sorting import with_sorts
from aligncheck.search.witness.witness_json import WitnessError, read


@dataclass(frozen=True, slots=True)
class FileFault:
    """What is wrong: in which `part` of the file, at which of its lines (None: as a whole), and how."""

    part: str
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """What became of a check. `spec` is what the file says it was made of and `form` is what was proved and
    runs, None where they could not be read; `mode` is how the code computes; `accepted` is what the kernel
    decided; `seconds` is what all of this took. `disagreement` holds two solvers' answers to one question
    that contradict each other: a bug in one of them, or in a translation.
    """

    spec: Mechanism | None
    form: Mechanism | None
    mode: RunMode | None
    accepted: Accepted | None
    seconds: float
    faults: tuple[FileFault, ...] = ()
    disagreement: tuple[SolverReply, ...] = ()


def check_file(text: str, solvers: Sequence[Solver]) -> CheckedFile:
    """Checks the text of a generated file. Raises SolverMissingError, never anything about the file."""
    start = time.perf_counter()
    made = ""
    checking = _Checking(tuple(solvers))
    try:
        parts = detached(text)
        made = parts.sections[0].text.partition(",")[0] if parts.sections else ""
        checking.run(parts)
    except FormatError as error:
        checking.faults.append(FileFault("certificate", error.line, str(error)))
    except _HopelessError as error:
        checking.faults.append(error.fault)
    faults = tuple(_of_its_time(fault, made) for fault in checking.faults)
    return replace(checking.result, faults=faults, seconds=time.perf_counter() - start)


def _of_its_time(fault: FileFault, made: str) -> FileFault:
    """A fault, said of what another version may have had a right to write."""
    if not made.startswith("aligncheck ") or made == f"aligncheck {__version__}":
        return fault
    then = f"(the file was made by {made}, this is {__version__}: compile it again)"
    return replace(fault, message=f"{fault.message} {then}")


class _HopelessError(Exception):
    """A fault after which nothing more can be said."""

    def __init__(self, part: str, line: int | None, message: str) -> None:
        super().__init__(message)
        self.fault = FileFault(part, line, message)


class _Checking:
    """One check, part by part."""

    def __init__(self, solvers: tuple[Solver, ...]) -> None:
        self.solvers = solvers
        self.faults: list[FileFault] = []
        self.result = CheckedFile(None, None, None, None, 0)

    def run(self, parts: Attached) -> None:
        """Raises _HopelessError."""
        mode, files, last = self._sections(parts.sections)
        spec, form = self._form(parts.sections, files, mode)
        self.result = replace(self.result, spec=spec, form=form.mechanism, mode=mode)
        accepted = self._decide(form, _witness(last))
        self.result = replace(self.result, accepted=accepted)
        if accepted is not None:
            self.faults += program_faults(parts.code, spec, form.mechanism, mode)
        if not self.faults and not parts.intact:
            self.faults.append(FileFault("digest", None, "the digest is not that of the file"))

    def _sections(self, sections: tuple[Section, ...]) -> tuple[RunMode, tuple[File, ...], Section]:
        """What stands in the sections: who made it, the mode, the specs, the witness, and nothing else."""
        left = list(sections)
        maker = _next(left, MAKER)
        if not re.fullmatch(r"aligncheck [0-9a-z.+]+, Z3 [0-9.]+", maker.text, re.ASCII):
            self.faults.append(FileFault(MAKER, maker.line + 1, "these are no versions"))
        how = _next(left, MODE)
        modes = {each.value: each for each in RunMode}
        if how.text not in modes:
            raise _HopelessError(MODE, how.line + 1, f"this is none of {', '.join(modes)}")
        files = []
        while left and (named := spec_named(left[0].title)) is not None:
            file = File(named[0], left[0].text)
            if digest(file.text) != named[1]:
                message = "the spec's text does not have the digest in its title"
                self.faults.append(FileFault(f"spec {file.path}", left[0].line, message))
            files.append(file)
            left.pop(0)
        if not files:
            raise _HopelessError("certificate", how.line, "there is no section `spec … sha256 …`")
        last = _next(left, WITNESS)
        for section in left:
            self.faults.append(FileFault(section.title, section.line, "this section is too many"))
        return modes[how.text], tuple(files), last

    def _form(
        self, sections: Sequence[Section], files: Sequence[File], mode: RunMode
    ) -> tuple[Mechanism, Form]:
        """The spec, and the form of it that runs in the mode."""
        try:
            spec, source = read_again(files)
            if files_of(spec, source) != tuple(files):
                self.faults.append(
                    FileFault("certificate", None, "it holds a spec that nothing calls, or twice")
                )
            return spec, form_of(spec, source, mode)
        except SpecError as error:
            path, place = error.source.path, error.diagnostic.primary.span.start
            section = next((s for s in sections if (spec_named(s.title) or "?")[0] == path), None)
            line = None if section is None else section.line + error.source.position(place)[0]
            raise _HopelessError(f"spec {path}", line, error.diagnostic.message) from None
        except NoFormError as error:
            message = f"the spec has no form for this mode: {error.why}"
            raise _HopelessError(MODE, None, message) from None

    def _decide(self, form: Form, witness: Witness) -> Accepted | None:
        """What the kernel says; with a second solver, only what that solver decides as well counts."""
        second = SecondSolver() if Solver.CVC5 in self.solvers else None
        try:
            answer = decide(form.mechanism, with_sorts(form.mechanism, witness), second)
        except DisagreementError as error:
            self.result = replace(self.result, disagreement=error.replies)
            return None
        if isinstance(answer, Accepted):
            return answer
        undecided = None if second is None else second.undecided
        self.faults.append(FileFault(WITNESS, None, _why(form, answer, undecided)))
        return None


def _next(left: list[Section], title: str) -> Section:
    if not left or left[0].title != title:
        here = "the end" if not left else f"`{left[0].title[:80]}`"
        line = left[0].line or None if left else None
        raise _HopelessError("certificate", line, f"the section `{title}` is missing here: {here} follows")
    return left.pop(0)


def _witness(section: Section) -> Witness:
    try:
        return read(section.text)
    except WitnessError as error:
        raise _HopelessError(WITNESS, section.line or None, str(error)) from None


def _why(form: Form, rejected: Rejected, undecided: SolverReply | None) -> str:
    said = " ".join(form.source.text_of(rejected.place).split()) if rejected.place.end else ""
    where = f" (`{_cut(said)}`)" if said else ""
    more = "" if undecided is None else f"; {undecided.solver.value} says unknown: {undecided.question}"
    return f"the kernel does not accept it: {rejected.condition}: {rejected.reason}{where}{more}"


# --- the program ------------------------------------------------------------------------------------------


def program_faults(code: str, spec: Mechanism, form: Mechanism, mode: RunMode) -> tuple[FileFault, ...]:
    """Where the program, read back, is not the form of the spec that was accepted (see `readback`)."""
    try:
        program_runs(code, spec, form, mode)
    except ReadError as error:
        return (FileFault("code", error.line, _cut(str(error))),)
    return ()


def _cut(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:157]}..."
