"""Witnesses that an author wrote: a file beside the spec, for what no search finds yet. As little believed
as any other.
"""

from __future__ import annotations

from pathlib import Path

from aligncheck.kernel.witness import Witness
from aligncheck.language.diagnostics import SpecError
from aligncheck.search.witness.text import read


def given(path: str) -> Witness | None:
    """What stands in `NAME.witness.json` beside the spec `NAME.dp`, if there is such a file and it is a
    witness.
    """
    file = Path(path).with_suffix(".witness.json")
    try:
        return read(file.read_text("utf-8")) if file.is_file() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SpecError):
        return None
