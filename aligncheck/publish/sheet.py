"""What a document about a spec consists of. Frozen values; who draws them decides how they look.

A `Prose` is a sentence in which `code` stands between backticks; nothing in it is markup, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from aligncheck.language.printable import printable
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism

Prose: TypeAlias = str

_CODE = re.compile(r"`([^`\n]+)`")


def written(sentence: Prose, plain: Callable[[str], str], code: Callable[[str], str]) -> str:
    """A sentence by how text and code are written."""
    parts = _CODE.split(printable(sentence.replace("\n", " ")))
    return "".join(code(part) if at % 2 else plain(part) for at, part in enumerate(parts))


def begun(sentence: Prose) -> Prose:
    """What begins a sentence, with a capital letter."""
    return sentence[0].upper() + sentence[1:]


@dataclass(frozen=True, slots=True)
class Masthead:
    """What the document is about, and what was found; `tone` is `good`, `bad` or `open`."""

    title: str
    verdict: str
    tone: str
    about: Prose
    path: str


@dataclass(frozen=True, slots=True)
class SectionHead:
    """The title of what follows."""

    title: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences. `kind` is empty, `note`, `help` or `wrong`."""

    text: Prose
    kind: str = ""


@dataclass(frozen=True, slots=True)
class FactList:
    """Names, each with what it is."""

    rows: tuple[tuple[str, Prose], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. Columns in `code` hold code, those in `figures` are set flush right; rows in `marked` are
    where something is wrong. A row of a single cell says what was left out.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Prose, ...], ...]
    code: frozenset[int] = frozenset()
    figures: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Listing:
    """A spec with the lines of its alignment beside the draws that they move. `mechanism` is None where the
    text could not be read; `marked` are lines to look at, by their numbers.
    """

    source: Source
    mechanism: Mechanism | None
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Theorem:
    """What was proved: the claim, and which data are neighbours."""

    name: str
    claim: Prose
    neighbours: tuple[Prose, ...]


@dataclass(frozen=True, slots=True)
class ProofStep:
    """A condition, the item of the lemma that it is (or empty), what it says, what became of it, and what was
    decided: the line of the spec, a sentence, and how.
    """

    condition: str
    lemma: str
    says: Prose
    status: str
    decisions: tuple[tuple[int, Prose, str], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A probability, between two bounds; `text` is the interval, rounded outwards."""

    label: str
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Probabilities to compare. What they are is said by `title`."""

    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """Two things to compare, each with its name."""

    left: tuple[Block, ...]
    right: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Playground:
    """Mechanisms whose inputs and noise a reader moves, each as JSON (see `playground`)."""

    programs: tuple[Mapping[str, Any], ...]


Block: TypeAlias = (
    Masthead
    | SectionHead
    | Paragraph
    | FactList
    | Grid
    | Listing
    | Theorem
    | ProofStep
    | BarChart
    | Beside
    | Playground
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A document: its title, and the blocks from top to bottom."""

    title: str
    blocks: tuple[Block, ...]
