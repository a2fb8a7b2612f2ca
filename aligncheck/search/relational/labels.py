"""What a symbol stands for, and what the environment of a symbolic run keeps: each kind of thing is a class.

A plain string is a name of the spec (a variable, a parameter, the answers on D) or a mark that some module
makes for itself. Whoever wants to know what a symbol is matches its label; the text of one is for reports and
for solvers only, and two labels never share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from aligncheck.language.adjacencies import Way as Way
from aligncheck.language.families import Family
from aligncheck.search.relational.interned import Interned

# --- what the environment keeps besides variables of the program --------------------------------------------


class Ledger(Enum):
    """One number each: the cost of the alignment so far, how many records there are, the range of the loop
    that is being run, the round it is in, and the number of the round where the loop has no index.
    """

    COST = "#cost"
    RECORDS = "#out"
    LOW = "#low"
    HIGH = "#high"
    COUNTER = "#counter"
    ROUND = "#round"


@dataclass(frozen=True, eq=False)
class Counted(metaclass=Interned):
    """How many records with a tag there are."""

    tag: str


@dataclass(frozen=True, eq=False)
class DrawAt(metaclass=Interned):
    """A draw, by the text of its index (`order_key`) on D, or of that on D' (`primed`)."""

    name: str
    index: str
    primed: bool


@dataclass(frozen=True, eq=False)
class LastDraw(metaclass=Interned):
    """The draw at the greatest index so far, in both runs."""

    name: str


@dataclass(frozen=True, eq=False)
class Latest(metaclass=Interned):
    """The greatest index at which a variable was drawn, -1 before the first draw."""

    name: str


@dataclass(frozen=True, eq=False)
class Each(metaclass=Interned):
    """What an ended loop drew at each index, with the loop's counter for it."""

    name: str


@dataclass(frozen=True, eq=False)
class Stretch(metaclass=Interned):
    """The first index at which an ended loop drew, and the end of its range."""

    name: str


@dataclass(frozen=True, eq=False)
class Calls(metaclass=Interned):
    """How often a call was made before its latest execution, -1 before the first one."""

    call: str


@dataclass(frozen=True, eq=False)
class CalleeInput(metaclass=Interned):
    """What an input of the callee got (of a list: its length)."""

    call: str
    argument: str


Key: TypeAlias = str | Ledger | Counted | DrawAt | LastDraw | Latest | Each | Stretch | Calls | CalleeInput
"""What the environment keeps; a string is a variable of the program."""


def is_bookkeeping(key: Key) -> bool:
    """Whether the proof itself counts it, alike in both runs: that they agree is shown, not guessed."""
    match key:
        case str() | DrawAt() | LastDraw() | Ledger.LOW | Ledger.HIGH:
            return False
        case Ledger() | Counted() | Latest() | Each() | Stretch() | Calls() | CalleeInput():
            return True


# --- what symbols stand for ---------------------------------------------------------------------------------


class Side(Enum):
    """On D, on D', or how far from the value on D the one on D' is."""

    ON_D = "on D"
    ON_D_PRIME = "on D'"
    APART = "apart"


@dataclass(frozen=True, eq=False)
class AtHead(metaclass=Interned):
    """What the environment keeps where a round of a loop, by its number, begins."""

    key: Key
    loop: int
    side: Side


@dataclass(frozen=True, eq=False)
class Apart(metaclass=Interned):
    """How far an answer is on D' from D."""

    query: str


@dataclass(frozen=True, eq=False)
class DrawOnD(metaclass=Interned):
    """A draw on D."""

    name: str
    family: Family


@dataclass(frozen=True, eq=False)
class Unsettled(metaclass=Interned):
    """How far the alignment moves a draw that it has not moved yet."""

    name: str


@dataclass(frozen=True, eq=False)
class ListLength(metaclass=Interned):
    """How many entries a list of the inputs has."""

    name: str


@dataclass(frozen=True, eq=False)
class PublicFunction(metaclass=Interned):
    """A function of which nothing is known."""

    name: str


@dataclass(frozen=True, eq=False)
class DifferingIndex(metaclass=Interned):
    """The index at which an answer differs."""

    way: Way
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Which(metaclass=Interned):
    """Which list of several the differing answer belongs to, as a number."""

    way: Way
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Direction(metaclass=Interned):
    """That all answers of a group go up, or that all go down."""

    way: Way
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Order(metaclass=Interned):
    """That q <= q', or q >= q', at every index."""

    query: str
    op: str


@dataclass(frozen=True, eq=False)
class Total(metaclass=Interned):
    """The sum of |q' - q| over all indices."""

    query: str


@dataclass(frozen=True, eq=False)
class Prefix(metaclass=Interned):
    """The same over the indices below one."""

    query: str


@dataclass(frozen=True, eq=False)
class RecordIs(metaclass=Interned):
    """That a record of the output has a tag."""

    tag: str


@dataclass(frozen=True, eq=False)
class RecordField(metaclass=Interned):
    """What a record of the output has in a field."""

    field: str


@dataclass(frozen=True, eq=False)
class RecordCount(metaclass=Interned):
    """How many records the output has, with a tag or (None) in all."""

    tag: str | None


Omega: TypeAlias = RecordIs | RecordField | RecordCount


@dataclass(frozen=True, eq=False)
class Extremum(metaclass=Interned):
    """A maximum or minimum, by its name in the program or by a number."""

    of: str | int
    primed: bool


@dataclass(frozen=True, eq=False)
class ExtremalIndex(metaclass=Interned):
    """An index at which a maximum without a name is taken."""

    of: int


@dataclass(frozen=True, eq=False)
class AttainedAt(metaclass=Interned):
    """The index at which what a symbol stands for is taken."""

    of: Label


@dataclass(frozen=True, eq=False)
class SelectedIndex(metaclass=Interned):
    """The index that `argmax` or `argmin` selects."""

    selection: str


@dataclass(frozen=True, eq=False)
class Size(metaclass=Interned):
    """How many indices a selection holds."""

    selection: str


@dataclass(frozen=True, eq=False)
class IsSelected(metaclass=Interned):
    """That an index is among the selected ones."""

    selection: str


@dataclass(frozen=True, eq=False)
class Ranked(metaclass=Interned):
    """The index at a rank."""

    selection: str


@dataclass(frozen=True, eq=False)
class Below(metaclass=Interned):
    """How many selected indices are smaller than an index."""

    selection: str


OfSelection: TypeAlias = SelectedIndex | Size | IsSelected | Ranked | Below


class ReleaseAspect(Enum):
    """What is said of a call's release: that the call was made, how many records it has in all or with a tag,
    that one has a tag, what one has in a field.
    """

    MADE = "made"
    LENGTH = "len"
    COUNT = "count"
    IS = "is"
    FIELD = "field"


@dataclass(frozen=True, eq=False)
class CallRelease(metaclass=Interned):
    """A part of what a call released; `name` is the tag or the field."""

    call: str
    part: ReleaseAspect
    name: str


@dataclass(frozen=True, eq=False)
class SumForm(metaclass=Interned):
    """A sum over a set, by the number of its form."""

    number: int


@dataclass(frozen=True, eq=False)
class BoundIndex(metaclass=Interned):
    """The index that a set runs over."""

    name: str


@dataclass(frozen=True, eq=False)
class Copy(metaclass=Interned):
    """The same in a second run."""

    of: Label


Label: TypeAlias = (
    str
    | AtHead
    | Apart
    | DrawOnD
    | Unsettled
    | ListLength
    | PublicFunction
    | DifferingIndex
    | Which
    | Direction
    | Order
    | Total
    | Prefix
    | RecordIs
    | RecordField
    | RecordCount
    | Extremum
    | ExtremalIndex
    | AttainedAt
    | SelectedIndex
    | Size
    | IsSelected
    | Ranked
    | Below
    | CallRelease
    | SumForm
    | BoundIndex
    | Copy
)


def text_of(label: Label) -> str:
    """A text that no other label has."""
    match label:
        case str():
            return label
        case AtHead(key, loop, side):
            text = f"{_text_of_key(key)}@{loop}"
            return f"d:{text}" if side is Side.APART else f"{text}'" if side is Side.ON_D_PRIME else text
        case Apart(query):
            return f"d:{query}"
        case DrawOnD(name, family):
            return name + family.row.mark
        case Unsettled(name):
            return f"d:unsettled:{name}"
        case ListLength(name):
            return f"len({name})"
        case PublicFunction(name):
            return f"fun:{name}"
        case DifferingIndex(way, names):
            return f"place:{way.value}:{','.join(names)}"
        case Which(way, names):
            return f"which:{way.value}:{','.join(names)}"
        case Direction(way, names):
            return f"{way.value}:{','.join(names)}"
        case Order(query, op):
            return f"{'le' if op == '<=' else 'ge'}:{query}"
        case Total(query):
            return f"total:{query}"
        case Prefix(query):
            return f"prefix:{query}"
        case RecordIs(tag):
            return f"out:is:{tag}"
        case RecordField(name):
            return f"out:field:{name}"
        case RecordCount(tag):
            return "out:len" if tag is None else f"out:count:{tag}"
        case Extremum(of, primed):
            return f"val:{'#' if isinstance(of, int) else ''}{of}" + ("'" if primed else "")
        case ExtremalIndex(number):
            return f"idx:#{number}"
        case AttainedAt(inner):
            return f"{text_of(inner)}~where"
        case SelectedIndex(selection):
            return f"sel:{selection}"
        case Size(selection):
            return f"size:{selection}"
        case IsSelected(selection):
            return f"in:{selection}"
        case Ranked(selection):
            return f"at:{selection}"
        case Below(selection):
            return f"passed:{selection}"
        case CallRelease(call, part, name):
            return f"call:{call}:{part.value}" + (f":{name}" if name else "")
        case SumForm(number):
            return f"sum:{number}"
        case BoundIndex(name):
            return f"{name}~of"
        case Copy(inner):
            return f"{text_of(inner)}~"


def _text_of_key(key: Key) -> str:
    match key:
        case str():
            return key
        case Ledger():
            return key.value
        case Counted(tag):
            return f"#out:count:{tag}"
        case DrawAt(name, index, primed):
            return f"{name}[{index}]" + ("'" if primed else "")
        case LastDraw(name):
            return f"#last:{name}"
        case Latest(name):
            return f"#latest:{name}"
        case Each(name):
            return f"#each:{name}"
        case Stretch(name):
            return f"#span:{name}"
        case Calls(call):
            return f"#call:{call}"
        case CalleeInput(call, argument):
            return f"#given:{call}:{argument}"
