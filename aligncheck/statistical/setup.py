"""What is to be tested, and how it is called."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from aligncheck.statistical.reference import Reference


@dataclass(frozen=True, slots=True)
class Setup:
    """What is to be tested and how it is called: everything a worker needs to build the target.

    Attributes:
        reference: the function.
        settings: arguments as text, by name.
        offered: further arguments as text, chosen by a search; each is for a parameter of its name that the
            function has, if it is not set.
        database: the parameter that takes the private input; None for the first one.
        eps: for the parameter `eps` or `epsilon` where it is not among the settings.
        delta: for the parameter `delta`, likewise.
        array: plain functions get lists of numbers as NumPy arrays.
        by_paths: generated mechanisms are run once for each path (see `lanes`).
        patience: seconds after which a call of a plain function counts as never returning.
    """

    reference: Reference
    settings: tuple[tuple[str, str], ...] = ()
    database: str | None = None
    eps: float | None = None
    array: bool = False
    by_paths: bool = True
    patience: float = 60.0
    offered: tuple[tuple[str, str], ...] = ()
    delta: float | None = None


def value_of(text: str) -> Any:
    """An argument as written on a command line: a Python literal, `1/2`, `true`, or else the text itself."""
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    top, slash, bottom = text.partition("/")
    if slash:
        try:
            return float(top) / float(bottom)
        except (ValueError, ZeroDivisionError):
            return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text
