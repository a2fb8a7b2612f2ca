"""Events: sets of outputs of which the probability is asked. Frozen values; nothing heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from aligncheck.meaning import exact
from aligncheck.meaning.exact import Number, Value

_MOST_SHOWN = 12
"""Alternatives that are written out."""


@dataclass(frozen=True, slots=True)
class Between:
    """A released number lies in an interval, ends included; an end that is None is unbounded."""

    low: Number | None
    high: Number | None


@dataclass(frozen=True, slots=True)
class Exactly:
    """A released value is this one: a number, a truth value, an index."""

    value: int | Value


Constraint: TypeAlias = Between | Exactly


@dataclass(frozen=True, slots=True)
class RecordPattern:
    """One record with this tag. Fields that are not named are free."""

    tag: str
    fields: tuple[tuple[str, Constraint], ...] = ()


@dataclass(frozen=True, slots=True)
class CompleteOutput:
    """Complete: the run ends, and releases exactly these records in this order.

    Otherwise a prefix: the run releases these records first, whatever it does afterwards (ends, raises,
    releases more). A record is released at its `emit`.
    """

    records: tuple[RecordPattern, ...]
    complete: bool = True

    def with_fields(self, place: int, fields: tuple[tuple[str, Constraint], ...]) -> CompleteOutput:
        """With these constraints on one of its records instead."""
        new = RecordPattern(self.records[place].tag, fields)
        return CompleteOutput((*self.records[:place], new, *self.records[place + 1 :]), self.complete)

    def cut(self, place: int, name: str, *part: Constraint) -> CompleteOutput:
        """With this constraint on one field of a record instead, or with none."""
        rest = tuple(pair for pair in self.records[place].fields if pair[0] != name)
        return self.with_fields(place, (*rest, *((name, each) for each in part)))


@dataclass(frozen=True, slots=True)
class Raises:
    """The run does not end: a partial operation is undefined, a variable is drawn twice, a scale is not
    positive. What it has released until then is left open.
    """


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these outputs, no two of which can be the same (see `disjoint`)."""

    outputs: tuple[CompleteOutput, ...]


Event: TypeAlias = CompleteOutput | Raises | OneOf


def disjoint(one: CompleteOutput, other: CompleteOutput) -> bool:
    """Whether no run can end in both: as far as that is plain from how many records there are, their tags,
    and values that differ.
    """
    if not (one.complete and other.complete):
        return False
    if len(one.records) != len(other.records):
        return True
    pairs = list(zip(one.records, other.records, strict=True))
    return any(left.tag != right.tag or _differ(left, right) for left, right in pairs)


def _differ(left: RecordPattern, right: RecordPattern) -> bool:
    """Whether a field has two values: numbers that are rational, truth values, indices."""
    others = dict(right.fields)
    for name, part in left.fields:
        match part, others.get(name):
            case Exactly(value=Fraction() | int() as value), Exactly(value=Fraction() | int() as wanted):
                if value != wanted:
                    return True
            case _:
                pass
    return False


def describe(event: Event) -> str:
    """The event for people: `bottom, top(1/2 <= gap < 1), …`."""
    match event:
        case Raises():
            return "the run raises an error"
        case OneOf(outputs=outputs):
            shown = [f"[{describe(output)}]" for output in outputs[:_MOST_SHOWN]]
            more = len(outputs) - len(shown)
            return "one of: " + ", ".join([*shown, *([f"… {more} more"] if more else [])])
        case CompleteOutput(records=(), complete=True):
            return "no record"
        case CompleteOutput(records=records, complete=complete):
            shown = [_record(record) for record in records]
            return ", ".join(shown if complete else [*shown, "…"])


def _record(record: RecordPattern) -> str:
    if not record.fields:
        return record.tag
    return f"{record.tag}({', '.join(_field(name, value) for name, value in record.fields)})"


def _field(name: str, constraint: Constraint) -> str:
    match constraint:
        case Exactly(value=value):
            return f"{name} = {_text(value)}"
        case Between(low=None, high=None):
            return f"any {name}"
        case Between(low=low, high=None):
            return f"{name} >= {_text(low)}"
        case Between(low=None, high=high):
            return f"{name} <= {_text(high)}"
        case Between(low=low, high=high):
            return f"{_text(low)} <= {name} <= {_text(high)}"


def _text(value: int | Value | None) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction) and len(str(value)) > 12:
        return f"~ {exact.decimal(value, 6)}"
    return str(value)
