"""The whole statement that a compiled module's proof is about, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from aligncheck.compiler.emit.describe import chosen_queries, guarantee
from aligncheck.compiler.modes import RunMode
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.unparse import unparse_claim, unparse_input
from aligncheck.trusted import CHECKED_BY, RUN_BY, lines_of

_HOW = {
    RunMode.LATTICE: "lattice: proved and run on a lattice, in exact arithmetic, in this form, "
    "for every step",
    RunMode.REFINED: "refined: real-valued noise, drawn as finely as each decision needs, exactly",
    RunMode.FLOAT: "float: proved for real-valued noise, run in floating point, which no proof covers: "
    "UNSAFE",
}
_FIXED = "lattice: proved and run on a lattice, in exact arithmetic; it is the declared one"


def statement(spec: Mechanism, form: Mechanism, mode: RunMode) -> Iterator[str]:
    """What was proved: the claim, what it holds for, which data are neighbours, and how the code computes.

    `spec` is what the author wrote, `form` what was proved and runs. Inputs stand as specs declare them, with
    sensitivity, adjacency, lattice, range and `where` clause.
    """
    yield from _part("title", [" ".join(spec.doc.split())] if spec.doc else [])
    yield from _part("claim", guarantee(spec))
    yield from _part("stream", [] if mode is RunMode.FLOAT else chosen_queries(form))
    yield from _part("inputs", _inputs(spec))
    stepped = any(item not in spec.inputs for item in form.inputs)
    yield from _part("mode", [_FIXED if mode is RunMode.LATTICE and not stepped else _HOW[mode]])
    if form.inputs != spec.inputs or form.claim != spec.claim:
        yield from _part("form", [*_inputs(form), f"privacy {unparse_claim(form)}"])


def trusted() -> Iterator[str]:
    """What must be believed, with lines of code as they are now: for the proof, and for running as proved."""
    lines: list[str] = []
    seen: list[str] = []
    beside = {
        "for the proof: Z3, Lark, Python, and in lines of code": CHECKED_BY,
        "for running: Python, NumPy, random bits of the system, and in lines of code": RUN_BY,
    }
    for lead, groups in beside.items():
        said = []
        for does, parts in groups.items():
            said.append(f"{lines_of(parts, seen):,} {does}")
            seen += parts
        lines += [lead, f"  {', '.join(said)}"]
    yield from _part("trusted", lines)


def _part(title: str, lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"  {title if number == 0 else '':<8}{line}"


def _inputs(mechanism: Mechanism) -> list[str]:
    functions = [
        f"fun {function.name}({', '.join(sort.value for sort in function.args)}) : {function.result.value}"
        for function in mechanism.functions
    ]
    return [*map(unparse_input, mechanism.inputs), *functions] or ["none"]
