"""Private answers as generated mechanisms take them: lists, tuples, NumPy arrays, pandas Series and, where a
table is declared, DataFrames, two-dimensional arrays and lists of rows.

Types, dtypes, shapes and lengths are public, and may be refused. Values are private, and never decide whether
a run raises: each one is mapped to a number that can be computed with, always in the same way.

* A float is the shortest decimal that names it (see `decimals`); other numbers are what they are. Kinds of
  numbers that are not certain to be converted without rounding (`Decimal`, `longdouble`, `mpf`) are refused.
* What is missing is a value: NaN, None, and pandas' NA and NaT are 0 alike (a truth value: False).
* Infinities, and values beyond ±`LARGEST`, saturate there.
* Values outside a declared range become the nearer end of it.
* Values off a declared lattice, and fractions where integers are declared, are rounded down. Where that could
  take neighbours further apart than is declared, only integers are taken (`whole`), by their type; and what
  is missing, whatever its type, since a list of integers may hold that.

Missing and infinite values are no numbers that an adjacency could speak of: they stand for the numbers that
they become. Neighbours by the numbers so read stay neighbours under all that follows. Saturation and ranges
move no two numbers apart and keep their order, so that they suit every adjacency. Rounding keeps the order
and a distance that is a multiple of the step, so it suits all but `l1`, where `compiler.forms.lattice` sees
to it that it is not done. `check` of a generated mechanism raises where one of these rules would change an
answer. Answers are copied, never changed.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, cast

from aligncheck.runtime.decimals import LARGEST, Number, as_read, floor_of
from aligncheck.runtime.errors import AnswersError, ParameterError
from aligncheck.runtime.parameters import Entries, boolean, is_time
from aligncheck.runtime.reals import Real

_REALS, _INTEGERS, _BOOLEANS = "iuf", "iu", "b"
"""The kinds of dtypes that hold what is asked for."""

_MISSING = ("NAType", "NaTType", "MaskedConstant")
"""Types of pandas and NumPy whose only value stands for one that is missing."""

Labels: TypeAlias = tuple[Hashable, ...]

Sizes: TypeAlias = tuple[int, int]
"""The rows and the columns of a table."""

Bound: TypeAlias = "Real | Callable[[int], Real] | None"
"""An end of a declared range or a declared step: a number, or one for each index."""

T = TypeVar("T")


class Declared(TypedDict, total=False):
    """What is declared of answers: the ends of their range and the step of their lattice; that only types of
    integers are taken (`whole`); the lengths of public lists that must have an entry for every answer; and
    the rows and columns of a table, of which the cells are read row by row.
    """

    low: Bound
    high: Bound
    step: Bound
    whole: bool
    entries: Mapping[str, int]
    table: Sizes


class Answers(Protocol):
    """One number per query: a list, a tuple, a one-dimensional NumPy array or a pandas Series. Of a table: a
    list of rows, a two-dimensional array or a DataFrame; or the cells row by row in one list, as calls and
    columns of files have them.
    """

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class Labelled:
    """Answers with the names of their queries, for callers without pandas. Both have the same length."""

    values: Sequence[Any]
    labels: Labels

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)


@dataclass(frozen=True, slots=True)
class CleanedAnswers(Generic[T]):
    """A list of answers that was read and cleaned: numbers of one kind, and the names of the queries, if they
    have names. `values` is a NumPy array where an array was given that needed no more than that.
    """

    values: Sequence[T]
    labels: Labels | None = None

    def __len__(self) -> int:
        return len(self.values)


def labels_of(values: Answers) -> Labels | None:
    """The names of the queries: a Series' index, or what `Labelled` carries; None for lists and arrays."""
    if isinstance(values, Labelled | Entries):
        return values.labels
    index = getattr(values, "index", None)
    return None if index is None or callable(index) else tuple(index)


# --- what a run reads -------------------------------------------------------------------------------------


def real_answers(name: str, values: Answers, **declared: Unpack[Declared]) -> CleanedAnswers[Number]:
    """A list of real answers, cleaned.

    Raises:
        AnswersError: too long, not one-dimensional (a table: of another size), or of a type that does not
            hold numbers alone.
    """
    read, labels = _read(name, values, _REALS, declared)
    domain = _Domain.of(declared)
    if (cleaned := _reals_at_once(name, read, domain)) is not None:
        return CleanedAnswers(cleaned, labels)
    return CleanedAnswers([domain.real(i, value) for i, value in enumerate(_numbers(name, read))], labels)


def integer_answers(name: str, values: Answers, **declared: Unpack[Declared]) -> CleanedAnswers[int]:
    """A list of integer answers, cleaned: fractions are rounded down; with `whole`, types that may hold them
    are refused. Raises as `real_answers` does.
    """
    whole, domain = declared.get("whole", False), _Domain.of(declared)
    read, labels = _read(name, values, _INTEGERS if whole else _REALS, declared)
    if domain.free:
        return CleanedAnswers(_plain_integers(name, read, whole), labels)
    return CleanedAnswers(
        [domain.integer(i, value) for i, value in enumerate(_numbers(name, read, whole))], labels
    )


def boolean_answers(name: str, values: Answers, **declared: Unpack[Declared]) -> CleanedAnswers[bool]:
    """A list of truth values. Raises `AnswersError` as `real_answers` does."""
    read, labels = _read(name, values, _BOOLEANS, declared)
    if _dtype(read) is not None:
        return CleanedAnswers(read.tolist(), labels)
    return CleanedAnswers([boolean_answer(f"{name}[{i}]", value) for i, value in enumerate(read)], labels)


def real_answer(name: str, value: object, **declared: Unpack[Declared]) -> Number:
    """One real answer, cleaned. Raises `AnswersError` where its type is none of numbers."""
    return _Domain.of(declared).real(0, _number(name, value))


def integer_answer(name: str, value: object, **declared: Unpack[Declared]) -> int:
    """One integer answer, cleaned. Raises `AnswersError` where its type is none of numbers, or (`whole`) may
    hold fractions.
    """
    return _Domain.of(declared).integer(0, _number(name, value, declared.get("whole", False)))


def boolean_answer(name: str, value: object) -> bool:
    """One truth value. Raises `AnswersError` where its type is another."""
    if _is_missing(value):
        return False
    try:
        return boolean(name, value)
    except ParameterError as error:
        raise AnswersError(name, error.problem) from None


def real_stream(name: str, values: Iterable[object], **declared: Unpack[Declared]) -> Iterator[Number]:
    """Real answers one by one, each read when it is asked for, and cleaned.

    Raises:
        AnswersError: at once, so that no run has begun, if this is nothing that one can go through; when an
            answer is read whose type is none of numbers, or that has no entry in a list of `entries`.
    """
    domain = _Domain.of(declared)
    return (
        domain.real(i, _number(f"{name}[{i}]", value)) for i, value in _one_by_one(name, values, declared)
    )


def integer_stream(name: str, values: Iterable[object], **declared: Unpack[Declared]) -> Iterator[int]:
    """Integer answers one by one, `whole` as in `integer_answers`. Raises as `real_stream` does."""
    whole, domain = declared.get("whole", False), _Domain.of(declared)
    return (
        domain.integer(i, _number(f"{name}[{i}]", value, whole))
        for i, value in _one_by_one(name, values, declared)
    )


def boolean_stream(name: str, values: Iterable[object], **declared: Unpack[Declared]) -> Iterator[bool]:
    """Truth values one by one. Raises as `real_stream` does."""
    return (boolean_answer(f"{name}[{i}]", value) for i, value in _one_by_one(name, values, declared))


def _one_by_one(name: str, values: Iterable[object], declared: Declared) -> Iterator[tuple[int, object]]:
    if not isinstance(values, Iterable):
        raise AnswersError(name, f"must be an iterable of answers, not a {type(values).__name__}")

    def counted() -> Iterator[tuple[int, object]]:
        entries = declared.get("entries", {})
        for i, value in enumerate(values):
            _refuse_longer(name, i + 1, entries)
            yield i, value

    return counted()


# --- what `check` reads -----------------------------------------------------------------------------------


def checked_reals(name: str, values: Answers, **declared: Unpack[Declared]) -> list[Fraction]:
    """A list of real answers as they are read, exactly.

    Raises:
        AnswersError: as `real_answers` does, and naming the first value that is missing, not finite or too
            large. So whether it raises is not private.
    """
    read, _ = _read(name, values, _REALS, declared)
    return [_checked(f"{name}[{i}]", value) for i, value in enumerate(_numbers(name, read))]


def checked_real(name: str, value: object) -> Fraction:
    """One real answer as it is given. Raises as `checked_reals` does."""
    return _checked(name, _number(name, value))


def checked_integers(name: str, values: Answers, **declared: Unpack[Declared]) -> list[int]:
    """A list of integer answers. Raises as `integer_answers` and `checked_reals` do, and where a value is no
    integer.
    """
    whole = declared.get("whole", False)
    read, _ = _read(name, values, _INTEGERS if whole else _REALS, declared)
    numbers_ = enumerate(_numbers(name, read, whole))
    return [_whole(f"{name}[{i}]", _checked(f"{name}[{i}]", value)) for i, value in numbers_]


def checked_integer(name: str, value: object, **declared: Unpack[Declared]) -> int:
    """One integer answer. Raises as `checked_integers` does."""
    return _whole(name, _checked(name, _number(name, value, declared.get("whole", False))))


def checked_booleans(name: str, values: Answers, **declared: Unpack[Declared]) -> list[bool]:
    """A list of truth values. Raises as `boolean_answers` does, and where one is missing."""
    read, _ = _read(name, values, _BOOLEANS, declared)
    return [checked_boolean(f"{name}[{i}]", value) for i, value in enumerate(read)]


def checked_boolean(name: str, value: object) -> bool:
    """One truth value. Raises as `checked_booleans` does."""
    if _is_missing(value):
        raise AnswersError(name, "is missing")
    return boolean_answer(name, value)


def require_answers(holds: bool, name: str, condition: str) -> None:
    """Refuses answers that contradict their declaration: of their values in `check` alone, of their number in
    a run as well.

    Raises:
        AnswersError: `holds` is false.
    """
    if not holds:
        raise AnswersError(name, f"must satisfy `{condition}`")


def is_multiple(value: Real, step: Real) -> bool:
    """Whether an answer is a multiple of a positive step, computed exactly."""
    return (Fraction(value) / Fraction(step)).denominator == 1


def _checked(place: str, value: Number) -> Fraction:
    if isinstance(value, float) and not math.isfinite(value):
        raise AnswersError(place, "must be finite, not missing, NaN or infinity")
    read = as_read(value)
    if not -LARGEST <= read <= LARGEST:
        raise AnswersError(place, "is larger than the largest float")
    return read


def _whole(place: str, value: Fraction) -> int:
    if value.denominator != 1:
        raise AnswersError(place, "must be an integer")
    return value.numerator


# --- cleaning ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Domain:
    """The declared range and lattice of answers."""

    low: Bound
    high: Bound
    step: Bound

    @staticmethod
    def of(declared: Declared) -> _Domain:
        return _Domain(declared.get("low"), declared.get("high"), declared.get("step"))

    @property
    def free(self) -> bool:
        return self.low is self.high is self.step is None

    def real(self, index: int, value: Number) -> Number:
        cleaned = _cleaned(value)
        if self.free:
            return cleaned
        cleaned = as_read(cleaned)
        if (step := _at(self.step, index)) is not None:
            cleaned = _down(cleaned, step)
        low, high = _at(self.low, index), _at(self.high, index)
        if high is not None and cleaned > high:
            cleaned = high if step is None else _down(high, step)
        if low is not None and cleaned < low:
            cleaned = low if step is None else -_down(-low, step)
        return cleaned

    def integer(self, index: int, value: Number) -> int:
        cleaned = floor_of(_cleaned(value))
        if self.free:
            return cleaned
        step = _at(self.step, index) or Fraction(1)
        whole = Fraction(step.numerator)  # the least integer that is a multiple of the step
        return math.floor(_Domain(self.low, self.high, whole).real(index, cleaned))


def _at(bound: Bound, index: int) -> Fraction | None:
    if bound is None:
        return None
    return Fraction(bound(index) if callable(bound) else bound)


def _down(value: Fraction, step: Fraction) -> Fraction:
    """The greatest multiple of a positive step that is at most the value."""
    return math.floor(value / step) * step


def _cleaned(value: Number) -> Number:
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return 0.0 if value != value else math.copysign(sys.float_info.max, value)
    return max(-LARGEST, min(value, LARGEST))


def _reals_at_once(name: str, read: Any, domain: _Domain) -> Sequence[Number] | None:
    """Answers cleaned as an array, where they are one and that gives the same numbers."""
    if _dtype(read) is None:
        return [_cleaned(value) for value in _numbers(name, read)] if domain.free else None
    if domain.step is not None or callable(domain.low) or callable(domain.high):
        return None
    from aligncheck.runtime.columns import cleaned_array, within

    cleaned: Sequence[Number] | None = within(cleaned_array(read), _at(domain.low, 0), _at(domain.high, 0))
    return cleaned


def _plain_integers(name: str, read: Any, whole: bool) -> Sequence[int]:
    if _dtype(read) is None:
        numbers_ = list(_numbers(name, read, whole))
        if set(map(type, numbers_)) == {int} and min(numbers_) >= -LARGEST and max(numbers_) <= LARGEST:
            return numbers_  # type: ignore[return-value]
        return [floor_of(_cleaned(value)) for value in numbers_]
    from aligncheck.runtime.columns import floors

    return floors(read)


# --- reading ----------------------------------------------------------------------------------------------


def _read(name: str, values: Answers, kinds: str, declared: Declared) -> tuple[Any, Labels | None]:
    """The entries as a list, or as a NumPy array of one of these kinds of dtypes, and the queries' names."""
    if "table" in declared:
        values = _cells(name, values, kinds, declared["table"])
    labels = labels_of(values)
    given: Any = values.values if isinstance(values, Labelled) else values
    if isinstance(given, str | bytes | bytearray | Mapping | set | frozenset):
        raise AnswersError(name, f"must be a list of numbers, not a {type(given).__name__}")
    if hasattr(given, "columns"):
        raise AnswersError(name, "must be one column, not a whole table: choose a column first")
    dimensions = getattr(given, "ndim", 1)
    if dimensions != 1:
        raise AnswersError(name, f"must be one-dimensional, but has {dimensions} dimensions")
    if not (hasattr(given, "__len__") and hasattr(given, "__iter__")):
        raise AnswersError(name, f"must be a list of numbers, not a {type(given).__name__}")
    dtype = _dtype(given)
    if dtype is None:
        given = list(given)  # once: a type of its own may say another length, or give others the next time
    _refuse_longer(name, len(given), declared.get("entries", {}))
    if labels is not None and len(labels) != len(given):
        raise AnswersError(name, f"has {len(given)} answers and {len(labels)} labels")
    if dtype is None:
        return given, labels
    if not callable(getattr(given, "mask", callable)):  # a Series has a method of this name
        raise AnswersError(name, "is a masked array: fill in what is masked first")
    plain = type(dtype).__module__.partition(".")[0] == "numpy"
    if plain and dtype.kind == "O":
        return list(given), labels
    _refuse_dtype(name, dtype, kinds)
    if not plain:  # entries may be missing
        return list(given), labels
    return (given.to_numpy() if hasattr(given, "to_numpy") else given), labels


def _cells(name: str, values: Any, kinds: str, table: Sizes) -> Answers:
    """The cells of a table row by row, each row or column read as a list is; or what may be their list."""
    _, columns = table
    if hasattr(values, "columns"):
        if not hasattr(values, "iloc"):
            raise AnswersError(name, f"must be a list of rows, an array or a DataFrame, not {_kind(values)}")
        _refuse_sizes(name, values.shape, table)
        each = [_line(f"{name}[…][{c}]", values.iloc[:, c], kinds) for c in range(columns)]
        labels = tuple((row, column) for row in values.index for column in values.columns)
        return Labelled([cell for row in zip(*each, strict=True) for cell in row], labels)
    if getattr(values, "ndim", 1) == 2 and type(values).__module__.partition(".")[0] == "numpy":
        _refuse_sizes(name, values.shape, table)
        return cast(Answers, values.reshape(-1))
    listed = list(values) if _dtype(values) is None and hasattr(values, "__iter__") else []
    rows = [_is_row(each) for each in listed]
    if not any(rows):
        return cast(Answers, values)
    for i, row in enumerate(listed):
        if not rows[i]:
            raise AnswersError(f"{name}[{i}]", f"must be a row of the table, not {_kind(row)}")
        if len(row) != columns:
            raise AnswersError(f"{name}[{i}]", f"has {len(row)} entries, but the table has {columns} columns")
    _refuse_sizes(name, (len(listed), columns), table)
    order: Labels = next((named for row in listed if (named := labels_of(row)) is not None), ())
    return [cell for i, row in enumerate(listed) for cell in _in_order(f"{name}[{i}]", row, kinds, order)]


def _in_order(name: str, row: Answers, kinds: str, order: Labels) -> Iterable[Any]:
    """The entries of a row; of one with labels (a Series) in the order of the first such row's labels."""
    labels, cells = labels_of(row), _line(name, row, kinds)
    if labels is None or labels == order:
        return cells
    by_label = dict(zip(labels, cells, strict=True))
    if odd := by_label.keys() ^ set(order):
        raise AnswersError(name, f"must have the labels of the other rows, but {odd.pop()!r} is not in both")
    if len(by_label) < len(labels):
        raise AnswersError(name, "has a label twice, and another order than other rows")
    return [by_label[label] for label in order]


def _is_row(value: object) -> bool:
    return hasattr(value, "__len__") and getattr(value, "ndim", 1) == 1 and not isinstance(value, str | bytes)


def _line(name: str, values: Answers, kinds: str) -> Iterable[Any]:
    """The entries of a row or a column."""
    read, _ = _read(name, values, kinds, {})
    return read if kinds == _BOOLEANS else _numbers(name, read, kinds == _INTEGERS)


def _refuse_sizes(name: str, shape: tuple[int, ...], table: Sizes) -> None:
    if shape != table:
        sizes = " and ".join(f"{n} {what}" for n, what in zip(shape, ("rows", "columns"), strict=True))
        raise AnswersError(name, f"has {sizes}, but must have {table[0]} and {table[1]}")


def _refuse_longer(name: str, length: int, entries: Mapping[str, int]) -> None:
    for other, most in entries.items():
        if length > most:
            raise AnswersError(name, f"must satisfy `len({name}) <= len({other})`")


def _dtype(read: Any) -> Any:
    return getattr(read, "dtype", None)


_HOLD = {
    _REALS: "integers or floats of at most 64 bits",
    _INTEGERS: "integers of at most 64 bits, since rounding could take neighbours further apart: convert "
    'them first, as by `.round().astype("int64")`',
    _BOOLEANS: "truth values",
}


def _refuse_dtype(name: str, dtype: Any, kinds: str) -> None:
    kind = getattr(dtype, "kind", None)
    if kind not in tuple(kinds) or (kind == "f" and getattr(dtype, "itemsize", 8) > 8):
        raise AnswersError(name, f"has the dtype {dtype}, but must hold {_HOLD[kinds]}")


def _numbers(name: str, read: Any, whole: bool = False) -> Iterable[Number]:
    """Entries as Python numbers; what raises are types alone."""
    if _dtype(read) is not None:
        listed: list[Number] = read.tolist()
        return listed
    if set(map(type, read)) <= ({int} if whole else {int, float}):
        return list(read)
    return [_number(f"{name}[{i}]", value, whole) for i, value in enumerate(read)]


def _number(place: str, value: object, whole: bool = False) -> Number:
    """A number of a known kind; not all are finite. Raises `AnswersError` by the type alone."""
    if _is_missing(value):
        return 0 if whole else math.nan
    if isinstance(value, bool):
        raise AnswersError(place, "must be a number, not a truth value")
    if isinstance(value, int):
        return int(value)
    if is_time(value):
        raise AnswersError(place, f"must be a number, not {_kind(value)}")
    if isinstance(value, numbers.Integral):
        return _converted(lambda: int(value))
    if whole:
        why = "since rounding could take neighbours further apart: convert it first"
        raise AnswersError(place, f"must be an integer, not {_kind(value)}, {why}")
    if isinstance(value, float):
        return float(value)  # of a subclass as well
    if type(value) is Fraction:
        return value
    if isinstance(value, numbers.Rational):
        return _converted(lambda: Fraction(int(value.numerator), int(value.denominator)))
    if isinstance(value, numbers.Real) and _fits_a_float(value):
        return _converted(lambda: float(value))
    if isinstance(value, numbers.Real | Decimal):
        why = "which may not fit a float: convert it first, to a float or exactly to a Fraction"
        raise AnswersError(place, f"must be an integer, a fraction or a float, not {_kind(value)}, {why}")
    raise AnswersError(place, f"must be a number, not {_kind(value)}")


def _converted(convert: Callable[[], Number]) -> Number:
    """A number of some other library; one that it cannot convert is treated as missing, whatever the
    reason.
    """
    try:
        return convert()
    except Exception:
        return math.nan


def _fits_a_float(value: object) -> bool:
    """Whether this is one of NumPy's floats of at most 64 bits."""
    if not isinstance(value, numbers.Real):
        return False
    dtype = _dtype(value)
    return getattr(dtype, "kind", None) == "f" and dtype.itemsize <= 8


def _is_missing(value: object) -> bool:
    """NaN of any type, or what stands for a missing entry whatever the type of the others.

    Recognised by name: the runtime does not import what they are from.
    """
    kind: type[object] = type(value)
    if kind.__name__ in _MISSING and kind.__module__.partition(".")[0] in ("numpy", "pandas"):
        return True
    return value is None or ((isinstance(value, float) or _fits_a_float(value)) and bool(value != value))


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
