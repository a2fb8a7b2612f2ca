"""Events of outputs: what a final test counts, and what a report says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from aligncheck.statistical.outputs import ABSENT, NUMBER, Numbers, Outputs

_MOST_SHOWN = 40
"""Entries of an output that are written out."""

_MOST_ALTERNATIVES = 10
"""Alternatives that are written out."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The number at a place, from 0."""

    place: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The number at a place less the one at another: what noise that both share does not hide."""

    place: int
    other: int


class Overall(Enum):
    """A number for the whole output: one of its numbers, their mean, how many entries there are."""

    LAST = "last number"
    AVERAGE = "average"
    LEAST = "least number"
    GREATEST = "greatest number"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Count:
    """How many entries are of a category."""

    label: str


@dataclass(frozen=True, slots=True)
class Distance:
    """At how many places the output differs from a given one: the Hamming distance, a missing entry differs.

    `reference` holds categories; None stands for a number.
    """

    reference: tuple[str | None, ...]


Feature: TypeAlias = Entry | Difference | Overall | Count | Distance


@dataclass(frozen=True, slots=True)
class Within:
    """low <= feature < high; no output without that feature."""

    feature: Feature
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WholeOutput:
    """The whole output: at each place a category, a number, or None for any number."""

    entries: tuple[str | float | None, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of these holds."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Within | WholeOutput | AnyOf

Event: TypeAlias = tuple[Condition, ...]
"""All of these hold."""


def feature_values(feature: Feature, outputs: Outputs) -> Numbers:
    """The feature of each run, shape (runs,); NaN where an output does not have it."""
    match feature:
        case Entry(place=place):
            found = outputs.numbers
            return _none(outputs) if found is None or place >= outputs.width else found[:, place]
        case Difference(place=place, other=other):
            return feature_values(Entry(place), outputs) - feature_values(Entry(other), outputs)
        case Overall.LAST:
            return _last(outputs)
        case Overall.AVERAGE:
            return _average(outputs)
        case Overall.LEAST:
            return reduce(np.fmin, _columns(outputs))  # which leave out NaN
        case Overall.GREATEST:
            return reduce(np.fmax, _columns(outputs))
        case Overall.LENGTH:
            if outputs.codes is None:
                return np.full(outputs.runs, float(outputs.width))
            return _often(outputs.codes != ABSENT)
        case Count(label=label):
            code = _code(outputs, label)
            if outputs.codes is None or code is None:
                return np.zeros(outputs.runs)
            return _often(outputs.codes == code)
        case Distance(reference=reference):
            return _distances(outputs, reference)


def holds(event: Event, outputs: Outputs) -> NDArray[np.bool_]:
    """In which runs the event was seen, shape (runs,)."""
    seen = np.ones(outputs.runs, dtype=np.bool_)
    for condition in event:
        match condition:
            case Within(feature=feature, low=low, high=high):
                values = feature_values(feature, outputs)
                seen &= (values >= low) & (values < high)
            case WholeOutput(entries=entries):
                seen &= _equal(outputs, entries)
            case AnyOf(conditions=conditions):
                none = np.zeros(outputs.runs, dtype=np.bool_)
                seen &= reduce(np.logical_or, (holds((each,), outputs) for each in conditions), none)
    return seen


def _often(marks: NDArray[np.bool_]) -> Numbers:
    """How many are true in each row, adding column to column (rows are short)."""
    return np.asarray(np.add.reduce(marks, axis=1, dtype=np.int16), dtype=np.float64)


def _none(outputs: Outputs) -> Numbers:
    return np.full(outputs.runs, np.nan)


def _code(outputs: Outputs, label: str) -> int | None:
    return outputs.labels.index(label) if label in outputs.labels else None


def _columns(outputs: Outputs) -> list[Numbers]:
    found = outputs.numbers
    return [_none(outputs)] if found is None else [found[:, place] for place in range(found.shape[1])]


def _average(outputs: Outputs) -> Numbers:
    total, count = np.zeros(outputs.runs), np.zeros(outputs.runs)
    for column in _columns(outputs):
        there = ~np.isnan(column)
        np.add(total, column, out=total, where=there)
        count += there
    return np.divide(total, count, out=_none(outputs), where=count > 0)


def _last(outputs: Outputs) -> Numbers:
    last = _none(outputs)
    for column in _columns(outputs):
        np.copyto(last, column, where=~np.isnan(column))
    return last


def _distances(outputs: Outputs, reference: tuple[str | None, ...]) -> Numbers:
    if outputs.codes is None:
        differing = sum(label is not None for label in reference[: outputs.width])
        return np.full(outputs.runs, float(differing + abs(outputs.width - len(reference))))
    codes = [NUMBER if label is None else _code(outputs, label) for label in reference]
    width = max(outputs.width, len(codes))
    distance = np.zeros(outputs.runs, dtype=np.int16)
    for place in range(width):
        if place >= outputs.width:
            distance += 1
            continue
        wanted = codes[place] if place < len(codes) else ABSENT
        distance += 1 if wanted is None else outputs.codes[:, place] != wanted
    return distance.astype(np.float64)


def _equal(outputs: Outputs, entries: tuple[str | float | None, ...]) -> NDArray[np.bool_]:
    seen = np.ones(outputs.runs, dtype=np.bool_)
    for place in range(max(outputs.width, len(entries))):
        if place >= outputs.width:
            return np.zeros(outputs.runs, dtype=np.bool_)
        codes = None if outputs.codes is None else outputs.codes[:, place]
        match entries[place] if place < len(entries) else ABSENT:
            case None:
                seen &= True if codes is None else codes == NUMBER
            case str() as label:
                code = _code(outputs, label)
                seen &= False if codes is None or code is None else codes == code
            case float() as number:
                seen &= False if outputs.numbers is None else outputs.numbers[:, place] == number
            case _:
                seen &= False if codes is None else codes == ABSENT
    return seen


# --- what a report says -------------------------------------------------------------------------------------


def describe(event: Event, *, listed: bool) -> str:
    """`output[0] < 1`, `1 <= average < 2.5`, `output = [False, True]`; `listed` as of the outputs."""
    return " and ".join(_described(condition, listed) for condition in event) or "any output"


def _described(condition: Condition, listed: bool) -> str:
    match condition:
        case WholeOutput(entries=entries):
            return f"output = [{_entries(entries)}]" if listed else f"output = {_entries(entries)}"
        case AnyOf(conditions=conditions):
            shown = [_described(each, listed) for each in conditions[:_MOST_ALTERNATIVES]]
            more = len(conditions) - len(shown)
            return "one of: " + ", ".join([*shown, *([f"… {more} more"] if more else [])])
        case Within(feature=feature, low=low, high=high):
            name = _named(feature, listed)
            if high == np.nextafter(low, math.inf):
                return f"{name} = {_number(low)}"
            if math.isinf(low) and math.isinf(high):
                return f"there is {name}"
            if math.isinf(high):
                edge, sign = _edge(low, (">=", ">"))
                return f"{name} {sign} {edge}"
            edge, sign = _edge(high, ("<", "<="))
            if math.isinf(low):
                return f"{name} {sign} {edge}"
            lower, lower_sign = _edge(low, ("<=", "<"))
            return f"{lower} {lower_sign} {name} {sign} {edge}"


def _edge(bound: float, signs: tuple[str, str]) -> tuple[str, str]:
    """A bound and its sign; one just above a short number is written as that number, with the second sign."""
    before = float(np.nextafter(bound, -math.inf))
    if len(repr(before)) < len(repr(bound)) or before == 0:
        return _number(before), signs[1]
    return _number(bound), signs[0]


def _named(feature: Feature, listed: bool) -> str:
    match feature:
        case Entry(place=place):
            return f"output[{place}]" if listed else "output"
        case Difference(place=place, other=other):
            return f"output[{place}] - output[{other}]"
        case Overall():
            return feature.value
        case Count(label=label):
            return f"count of {label}"
        case Distance(reference=reference):
            return f"distance to [{_entries(reference)}]"


def _entries(entries: Sequence[str | float | None]) -> str:
    texts = ["a number" if e is None else _number(e) if isinstance(e, float) else e for e in entries]
    more = [f"… {len(texts) - _MOST_SHOWN} more"] if len(texts) > _MOST_SHOWN else []
    return ", ".join([*texts[:_MOST_SHOWN], *more])


def _number(value: float) -> str:
    return f"{int(value)}" if value == int(value) and abs(value) < 1e15 else repr(float(value))
