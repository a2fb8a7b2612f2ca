"""What must be believed: the one list, which the README and the tests read.

To believe a VERIFIED: `TRUSTED`, beside it Z3, Lark and Python. All else that has a part in `verify` finds a
witness, shows, or looks for failures: with it replaced by what confirms, guesses or returns nothing, nothing
wrong is VERIFIED, as `tests/corpus/test_sabotage.py` tries.

To believe of a compiled mechanism that it runs as proved: `RUNNING` as well, beside it the operating system's
random bits.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

TRUSTED: dict[str, str] = {
    "aligncheck.kernel": "decides, from a spec and a witness",
    "aligncheck.language.syntax": "the spec's text to its tree",
    "aligncheck.language.families": "what is known of each noise family",
    "aligncheck.language.check.link": "which spec a call means",
    "aligncheck.language.files": "what is read of a file",
    "aligncheck.language.source": "positions in a text",
    "aligncheck.language.internal": "the error for what earlier stages exclude",
    "aligncheck.language.diagnostics": "errors",
    "aligncheck.language.conditions": "the names of what is decided",
    "aligncheck.judge": "VERIFIED only of what the kernel accepted",
    "aligncheck.verdict": "verdicts, made of the kernel's decisions",
    "aligncheck.pipeline": "the stages in order",
}
"""Modules and packages, with what is believed of each."""

RUNNING: dict[str, str] = {
    "aligncheck.compiler.forms": "the form in which a spec runs, which the kernel decides as a spec",
    "aligncheck.compiler.modes": "the modes of running",
    "aligncheck.compiler.emit": "the form to Python",
    "aligncheck.runtime": "what a compiled mechanism calls: exact numbers, samplers, answers, results",
}
"""The same for running."""


def is_trusted(module: str) -> bool:
    """Whether a module of the package must be believed of a VERIFIED."""
    return any(module == name or module.startswith(f"{name}.") for name in TRUSTED)


def counted(names: Mapping[str, str]) -> dict[str, int]:
    """The lines of code behind each name of a list, counted now; see `code_lines`."""
    package = Path(__file__).parent
    found = {}
    for name in names:
        place = package.joinpath(*name.split(".")[1:])
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        found[name] = sum(code_lines(path) for path in files)
    return found


def code_lines(path: Path) -> int:
    """Lines that are neither empty, nor comments, nor inside docstrings."""
    text = path.read_text("utf-8")
    told = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(
        1 for at, line in lines if at not in told and line.strip() and not line.strip().startswith("#")
    )
