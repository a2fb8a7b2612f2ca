"""What a certificate holds: the mode, the spec and those that it calls, the witness for the form that runs.

The form is not written down: `compiler.forms`, which is trusted, derives it from the spec and the mode.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from aligncheck import __version__
from aligncheck.compiler.certificate.solvers import Solver, versions
from aligncheck.compiler.certificate.text import MAKER, MODE, WITNESS, Section, spec_title
from aligncheck.compiler.modes import RunMode
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.diagnostics import fault
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.search.witness.witness_json import written


@dataclass(frozen=True, slots=True)
class File:
    """A spec: its path, relative to the folder of the one that is certified, and its text."""

    path: str
    text: str

    @property
    def section(self) -> Section:
        lines = self.text.split("\n")
        return Section(spec_title(self.path, self.text), tuple(lines))


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


# --- witnesses --------------------------------------------------------------------------------------------


def certificate_of(
    mechanism: Mechanism, source: Source, mode: RunMode, witness: Witness
) -> tuple[Section, ...]:
    """The sections of the certificate of a mechanism whose form for a mode the kernel accepts with the
    witness.
    """
    maker = Section(MAKER, (f"aligncheck {__version__}, {versions([Solver.Z3])}",))
    how = Section(MODE, (mode.value,))
    lines = tuple(written(witness, indent=1).split("\n"))
    return (maker, how, *(f.section for f in files_of(mechanism, source)), Section(WITNESS, lines))
