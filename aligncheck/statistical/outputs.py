"""What many runs returned, as columns: one row per run, one column per place in the output."""

from __future__ import annotations

import dataclasses
import enum
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aligncheck.runtime import Result
from aligncheck.runtime.reals import nearest_float
from aligncheck.statistical.cannot_test import CannotTest

Numbers = NDArray[np.float64]
Codes = NDArray[np.int16]

ABSENT, NUMBER = -1, -2
"""Codes for a place that the output does not reach, and for one that holds a number."""

LONGEST = 2_000
"""Entries of one output, at most."""


class Thrown:
    """What a run comes to that raises: an outcome as any other, told by the kind of the exception."""

    def __init__(self, error: BaseException) -> None:
        self.kind = type(error).__name__

    def __repr__(self) -> str:
        return f"{_RAISES}{self.kind}"


_RAISES = "raises "
_MOST_CATEGORIES = 30_000
_LARGEST = 1e300
_NUMERIC = frozenset({float, int, np.float64, np.float32, np.int64, np.int32})
_CATEGORICAL = frozenset({bool, str, type(None), np.bool_})


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of `runs` runs, which are lists of numbers and categories, or single ones.

    Arrays are in column-major order: what is asked of them goes column by column.

    Attributes:
        runs: how many.
        numbers: shape (runs, width): the number at each place, NaN where there is none; None if no output
            holds a number.
        codes: shape (runs, width): at each place the index of its category in `labels`, or `ABSENT`, or
            `NUMBER`; None if every place of every run holds a number.
        labels: the categories, as Python writes them (`True`, `'above'`, `None`).
        listed: whether the outputs are lists.
    """

    runs: int
    numbers: Numbers | None
    codes: Codes | None
    labels: tuple[str, ...]
    listed: bool

    @property
    def only_raises(self) -> bool:
        """Whether no run returned anything."""
        return bool(self.labels) and self.numbers is None and all(x.startswith(_RAISES) for x in self.labels)

    @property
    def width(self) -> int:
        """Entries of the longest output."""
        columns = self.numbers if self.codes is None else self.codes
        return 0 if columns is None else int(columns.shape[1])


def outputs_of(values: Sequence[Any], name: str) -> Outputs:
    """The outputs of single runs. `name` is the function's, for messages.

    Numbers are int, float, Fraction, Decimal and NumPy's; categories are bool, str, None and enumerations.
    Lists, tuples, arrays, dicts and dataclasses (records of generated mechanisms: the tag first) are read in
    order.

    Raises:
        CannotTest: NaN, single values beside lists, arrays of several shapes, or anything else.
    """
    values, listed = _entries_of_each(values, name)
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    width = int(lengths.max(initial=0))
    if width > LONGEST:
        raise CannotTest(f"`{name}` returned {width} entries: at most {LONGEST} can be tested")
    flat = list(chain.from_iterable(values))
    there = np.arange(width)[None, :] < lengths[:, None]
    numeric = np.fromiter(map(_is_number, flat), np.bool_, len(flat))
    found: Numbers | None = None
    if numeric.any():
        found = np.full((len(values), width), np.nan, order="F")
        places = np.zeros_like(there)
        places[there] = numeric
        found[places] = _floats([entry for entry, is_number in zip(flat, numeric, strict=True) if is_number])
        found = _usable(found, places, name)
    if numeric.all() and there.all() and width:
        return Outputs(len(values), found, None, (), listed)
    texts = [NUMBER if is_number else _label(entry) for entry, is_number in zip(flat, numeric, strict=True)]
    labels = tuple(dict.fromkeys(text for text in texts if isinstance(text, str)))
    code = {label: index for index, label in enumerate(labels)}
    codes = np.full(there.shape, ABSENT, dtype=np.int16, order="F")
    _check_categories(len(labels), name)
    codes[there] = [text if isinstance(text, int) else code[text] for text in texts]
    return Outputs(len(values), found, codes, labels, listed)


def outputs_of_batch(value: object, runs: int, name: str) -> Outputs:
    """The outputs of one call with `size=runs`.

    An array whose first axis is the run; or a tuple or dict of such arrays, side by side; or a list of the
    runs' outputs. Masked entries of a masked array were not released.

    Raises:
        CannotTest: the first axis has another length, or as `outputs_of` does.
    """
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list) and len(value) == runs:
        return outputs_of(value, name)
    if isinstance(value, tuple):
        parts = [_columns(part, runs, name) for part in value]
        if not parts:
            raise _wrong_size((), runs, name)
        return Outputs(runs, *_together([(part, part.width) for part in parts], 1, name), listed=True)
    return _columns(value, runs, name)


def joined(parts: Sequence[Outputs], name: str) -> Outputs:
    """The runs of all parts, in order. Raises CannotTest where lists stand beside single values."""
    if len(parts) == 1:
        return parts[0]
    listed = {part.listed for part in parts if not part.only_raises} or {False}
    _check_kinds(listed, name)
    width = max(part.width for part in parts)
    columns = _together([(part, width) for part in parts], 0, name)
    return Outputs(sum(part.runs for part in parts), *columns, listed == {True})


def _together(
    parts: Sequence[tuple[Outputs, int]], axis: int, name: str
) -> tuple[Numbers | None, Codes | None, tuple[str, ...]]:
    """Numbers, codes and labels of parts with widths, the parts one after the other along an axis."""
    labels = tuple(dict.fromkeys(label for part, _ in parts for label in part.labels))
    _check_categories(len(labels), name)
    codes = None
    if not all(part.codes is None and part.width == width for part, width in parts):
        codes = np.concatenate([_recoded(part, labels, width) for part, width in parts], axis)
    found = None
    if any(part.numbers is not None for part, _ in parts):
        found = np.concatenate([_widened(part, width) for part, width in parts], axis)
    return found, codes, labels


def _recoded(part: Outputs, labels: tuple[str, ...], width: int) -> Codes:
    if part.codes is not None and part.labels == labels and part.width == width:
        return part.codes
    codes = np.full((part.runs, width), ABSENT, dtype=np.int16, order="F")
    if part.codes is None:
        codes[:, : part.width] = NUMBER
        return codes
    # The two special codes index the table from its end.
    table = np.array([*map(labels.index, part.labels), NUMBER, ABSENT], dtype=np.int16)
    codes[:, : part.width] = table[part.codes]
    return codes


def _widened(part: Outputs, width: int) -> Numbers:
    if part.numbers is not None and part.width == width:
        return part.numbers
    wide = np.full((part.runs, width), np.nan, order="F")
    if part.numbers is not None:
        wide[:, : part.width] = part.numbers
    return wide


# --- single runs --------------------------------------------------------------------------------------------


def _entries_of_each(values: Sequence[Any], name: str) -> tuple[list[Sequence[Any]], bool]:
    kinds = set(map(type, values))
    if kinds <= _NUMERIC | _CATEGORICAL:
        return [(value,) for value in values], False
    if kinds <= {list, tuple} and _are_flat(values):
        return list(values), True
    shapes = {value.shape for value in values if isinstance(value, np.ndarray) and value.ndim > 1}
    if len(shapes) > 1:
        shown = ", ".join(map(str, sorted(shapes)[:3]))
        raise CannotTest(f"`{name}` returned arrays of different shapes: {shown}")
    listed = {_is_listed(value) for value in values if not isinstance(value, Thrown)} or {False}
    _check_kinds(listed, name)
    try:
        return [list(_entries(value, name)) for value in values], listed == {True}
    except RecursionError:
        raise CannotTest(f"`{name}` returned lists within lists without end") from None


def _are_flat(values: Sequence[Any]) -> bool:
    return set(map(type, chain.from_iterable(values))) <= _NUMERIC | _CATEGORICAL


def _is_listed(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return not isinstance(
        value, numbers.Number | Decimal | str | bytes | bool | np.generic | enum.Enum | None
    )


def _check_kinds(listed: set[bool], name: str) -> None:
    if len(listed) > 1:
        raise CannotTest(
            f"`{name}` returned outputs of different shapes: sometimes a list, sometimes a single value",
            "let it return a list each time: lists may differ in length",
        )


def _entries(value: Any, name: str) -> Iterator[Any]:
    match value:
        case np.ndarray():
            yield from value.ravel().tolist()
        case Thrown() | str() | None | bool() | float() | int() | Decimal() | enum.Enum() | np.generic():
            yield value
        case numbers.Real():
            yield value
        case Result():
            for record in value.records:
                yield record.tag
                for field in dataclasses.fields(record):
                    yield from _entries(getattr(record, field.name), name)
        case list() | tuple():
            for entry in value:
                yield from _entries(entry, name)
        case Mapping():
            for key, entry in value.items():
                yield str(key)
                yield from _entries(entry, name)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                yield from _entries(getattr(value, field.name), name)
        case _ if hasattr(value, "to_numpy"):
            yield from _entries(value.to_numpy(), name)
        case _:
            raise CannotTest(
                f"`{name}` returned a {type(value).__name__}, which cannot be read as an output",
                "let it return numbers, truth values, strings, or lists of these",
            )


def _is_number(entry: object) -> bool:
    kind = type(entry)
    if kind in _NUMERIC:
        return True
    if kind in _CATEGORICAL:
        return False
    return isinstance(entry, numbers.Real | Decimal) and not isinstance(entry, enum.Enum)


def _floats(entries: Sequence[Any]) -> list[float]:
    """Numbers as floats, infinite where no float is that large."""
    try:
        return list(map(float, entries))
    except OverflowError:
        return list(map(nearest_float, entries))


def _label(entry: object) -> str:
    return repr(bool(entry)) if isinstance(entry, np.bool_) else repr(entry)


def _usable(found: Numbers, places: NDArray[np.bool_] | None, name: str) -> Numbers:
    there = found if places is None else found[places]
    if np.isfinite(there).all():
        return found
    if np.isnan(there).any():
        raise CannotTest(f"`{name}` returned NaN, which no event can hold")
    return np.clip(found, -_LARGEST, _LARGEST)  # infinities stay the greatest and the least; NaN stays


def _check_categories(count: int, name: str) -> None:
    if count > _MOST_CATEGORIES:
        raise CannotTest(f"`{name}` returned more than {_MOST_CATEGORIES} different categories")


# --- batches ------------------------------------------------------------------------------------------------


def _columns(value: object, runs: int, name: str) -> Outputs:
    if isinstance(value, list) and len(value) == runs:
        return outputs_of(value, name)
    array: Any = value if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    if array.ndim == 0 or array.shape[0] != runs:
        raise _wrong_size(array.shape, runs, name)
    listed = array.ndim > 1
    array = array.reshape(runs, -1)
    if array.shape[1] > LONGEST:
        raise CannotTest(f"`{name}` returned {array.shape[1]} entries: at most {LONGEST} can be tested")
    masked = isinstance(array, np.ma.MaskedArray)
    there = ~np.ma.getmaskarray(array) if masked else None
    data = np.asarray(np.ma.getdata(array))
    if data.dtype.kind in "fiu":
        found = np.asfortranarray(data, dtype=np.float64)
        if data.dtype.kind == "f":
            found = _usable(found, there, name)
        if there is None or there.all():
            return Outputs(runs, found, None, (), listed)
        found = np.where(np.asfortranarray(there), found, np.nan)
        codes = np.where(np.asfortranarray(there), np.int16(NUMBER), np.int16(ABSENT))
        return Outputs(runs, found, codes, (), listed)
    if data.dtype.kind == "b":
        labels: tuple[str, ...] = ("False", "True")
        codes = np.asfortranarray(data, dtype=np.int16)
    elif data.dtype.kind in "SU":
        texts, inverse = np.unique(data, return_inverse=True)
        _check_categories(len(texts), name)
        labels, codes = (
            tuple(map(repr, texts.tolist())),
            np.asfortranarray(inverse.reshape(data.shape), dtype=np.int16),
        )
    elif data.dtype.kind == "O" and not masked:
        made = outputs_of(data.tolist(), name)
        return dataclasses.replace(made, listed=listed)
    else:
        raise CannotTest(
            f"`{name}` returned an array of type {data.dtype}, which cannot be read as outputs",
            "let it return numbers, truth values or strings",
        )
    if there is not None:
        codes[~there] = ABSENT
    return Outputs(runs, None, codes, labels, listed)


def _wrong_size(shape: tuple[int, ...], runs: int, name: str) -> CannotTest:
    return CannotTest(
        f"called with size={runs}, `{name}` returned an array of shape {shape}",
        "with `size`, the first axis of what it returns must be the run",
    )
