"""What comes with the package beside its code: specs, their reference, compiled examples, data to run on.

An installed package has them in its folder `library`; a checkout where they are edited.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_PACKED = _PACKAGE / "library"
_CHECKOUT = {
    "specs": "specs",
    "mechanisms": "mechanisms",
    "mistakes.md": "docs/mistakes.md",
    "examples/mine.py": "docs/examples/mine.py",
    "examples/counts.csv": "tests/data/T10I4D100K_counts.csv",
}

COPIED = ("specs", "mechanisms", "examples/mine.py", "examples/counts.csv")
"""What `aligncheck examples --copy` copies, `examples/` taken off."""


def library(name: str) -> Path:
    """Where a part of the library is, by its name in an installed package. Raises FileNotFoundError."""
    places = (_PACKED / name, _PACKAGE.parent / _CHECKOUT.get(name, name))
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(f"`{name}` is missing from this installation of aligncheck")


def specs() -> dict[str, Path]:
    """The specs by their names: the correct ones of each folder first, each `broken/NAME` after them."""
    folder = library("specs")
    found = sorted(folder.rglob("*.dp"), key=lambda path: (len(path.parts), path.parent, path))
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in found}


def reference() -> str:
    """The language reference, as Markdown."""
    return (library("specs") / "README.md").read_text("utf-8")
