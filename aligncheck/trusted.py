"""What must be believed: the one list, which the README and the tests read.

To believe a VERIFIED: `TRUSTED`, beside it Z3, Lark and Python. All else that has a part in `verify` finds a
witness, shows, or looks for failures: with it replaced by what confirms, guesses or returns nothing, nothing
wrong is VERIFIED, as `tests/corpus/test_sabotage.py` tries.

To believe of a compiled mechanism that it runs as proved: `RUNNING` as well, beside it the operating system's
random bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

TRUSTED: dict[str, str] = {
    "aligncheck.kernel": "decides, from a spec and a witness",
    "aligncheck.number_terms": "Z3's terms, as its library makes them, but quicker",
    "aligncheck.language.syntax": "the spec's text to its tree",
    "aligncheck.language.adjacencies": "how neighbours may differ",
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

WORDING = "aligncheck.language.syntax.wording"
"""Not believed, though in one of these: what words errors makes no part of a tree, and who asks it raises."""

RUNNING: dict[str, str] = {
    "aligncheck.compiler.forms": "the form in which a spec runs, which the kernel decides as a spec",
    "aligncheck.language.unparse": "a form's text, and what a class says of itself",
    "aligncheck.language.odds": "chances by their logarithms",
    "aligncheck.compiler.modes": "the modes of running",
    "aligncheck.compiler.emit": "the form to Python; once a file is checked, `readback` alone",
    "aligncheck.compiler.readback": "Python to the form",
    "aligncheck.runtime": "what a compiled mechanism calls: exact numbers, samplers, answers, results",
}
"""The same for running."""


def is_trusted(module: str) -> bool:
    """Whether a module of the package must be believed of a VERIFIED."""
    return not _is_in(module, WORDING) and any(_is_in(module, name) for name in TRUSTED)


def _is_in(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


CHECKED_BY: dict[str, tuple[str, ...]] = {
    "are the kernel": ("aligncheck.kernel", "aligncheck.number_terms"),
    "read specs": tuple(name for name in TRUSTED if name.startswith("aligncheck.language.")),
    "derive the form that runs": (
        "aligncheck.compiler.forms",
        "aligncheck.language.unparse",
        "aligncheck.language.odds",
        "aligncheck.compiler.modes",
    ),
    "read the program back": ("aligncheck.compiler.readback",),
    "read the rest of the file": ("aligncheck.compiler.certificate",),
}
RUN_BY: dict[str, tuple[str, ...]] = {
    "sample": tuple(
        f"aligncheck.runtime.{name}"
        for name in (
            "bits",
            "cauchy",
            "digits",
            "exact_noise",
            "exactly",
            "gaussian",
            "logistic",
            "noise",
            "refined",
            "thresholds",
        )
    ),
    "are the rest of the runtime": ("aligncheck.runtime",),
}
"""What `check` rests on, and what running a checked module does: what lines of code do, and where they are. A
module counts once, where it is named first.
"""


def counted(names: Mapping[str, str]) -> dict[str, int]:
    """The lines of code behind each name of a list, counted now; see `code_lines`."""
    return {name: lines_of((name,)) for name in names}


def lines_of(names: Iterable[str], but: Iterable[str] = ()) -> int:
    """How many lines of code the modules and packages have, without those of `but` and what words errors."""
    left = {path for name in names for path in _files(name)}
    return sum(map(code_lines, left.difference(*map(_files, (*but, WORDING)))))


def _files(name: str) -> list[Path]:
    place = Path(__file__).parent.joinpath(*name.split(".")[1:])
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def code_lines(path: Path) -> int:
    """Lines that are neither empty, nor comments, nor inside docstrings: in this package these begin where a
    line does and end where one does, and no other texts of several lines begin there.
    """
    count, inside = 0, False
    for line in map(str.strip, path.read_text("utf-8").splitlines()):
        if inside:
            inside = not line.endswith('"""')
        elif line.startswith('"""'):
            inside = len(line) == 3 or not line.endswith('"""')
        else:
            count += bool(line) and not line.startswith("#")
    return count
