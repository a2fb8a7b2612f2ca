"""Reads generated code back."""

from __future__ import annotations

from aligncheck.compiler.modes import Mode
from aligncheck.compiler.readback.module import Read, read_module
from aligncheck.compiler.readback.patterns import ReadError
from aligncheck.compiler.readback.same import same_program
from aligncheck.language.syntax.nodes import Mechanism

__all__ = ["Read", "ReadError", "program_runs", "read_module", "same_program"]


def program_runs(code: str, spec: Mechanism, form: Mechanism, mode: Mode) -> None:
    """Returns where a module runs the form of a spec, in a mode. Raises ReadError otherwise."""
    read = read_module(code, on_lattice=len(form.inputs) > len(spec.inputs))
    if read.mode is not mode:
        raise ReadError(read.line, f"computes in the mode `{read.mode.value}`, not `{mode.value}`")
    same_program(spec, form, read)
