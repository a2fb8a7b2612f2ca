"""Private answers as generated mechanisms take them: lists, tuples, NumPy arrays, pandas Series.

They are copied, never changed. In this build unusable values (NaN, infinity, text) raise an error that names
their place; that an error occurs is itself not private.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from aligncheck.runtime.errors import AnswersError, ParameterError
from aligncheck.runtime.noise import Noise
from aligncheck.runtime.parameters import boolean
from aligncheck.runtime.reals import Real

Labels: TypeAlias = tuple[Hashable, ...]


class Answers(Protocol):
    """One number per query: a list, a tuple, a one-dimensional NumPy array or a pandas Series."""

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


def labels_of(values: Answers) -> Labels | None:
    """The names of the queries: a Series' index, or what `Labelled` carries; None for lists and arrays."""
    if isinstance(values, Labelled):
        return values.labels
    index = getattr(values, "index", None)
    return None if index is None or callable(index) else tuple(index)


def real_answers(name: str, values: Answers, noise: Noise) -> list[Real]:
    """A vector of real answers, as `noise` computes with them.

    Raises:
        AnswersError: empty, not one-dimensional, or an entry is no finite number.
    """
    return [noise.answer(_real(f"{name}[{i}]", value)) for i, value in enumerate(_entries(name, values))]


def exact_answers(name: str, values: Answers) -> list[Real]:
    """A vector of answers on a lattice, as fractions.

    A float is read as its shortest decimal, so that 0.3 is 3/10.

    Raises:
        AnswersError: as `real_answers` does.
    """
    return [exact_answer(f"{name}[{i}]", value) for i, value in enumerate(_entries(name, values))]


def integer_answers(name: str, values: Answers) -> list[int]:
    """A vector of integer answers; floats without a fraction are accepted.

    Raises:
        AnswersError: empty, not one-dimensional, or an entry is no integer.
    """
    return [_integer(f"{name}[{i}]", value) for i, value in enumerate(_entries(name, values))]


def real_answer(name: str, value: object, noise: Noise) -> Real:
    """One real answer. Raises `AnswersError` where it is no finite number."""
    return noise.answer(_real(name, value))


def exact_answer(name: str, value: object) -> Real:
    """One answer on a lattice, as a fraction. Raises `AnswersError` where it is no finite number."""
    number = _real(name, value)
    return Fraction(repr(float(number)) if isinstance(number, float) else number)


def integer_answer(name: str, value: object) -> int:
    """One integer answer. Raises `AnswersError` where it is none."""
    return _integer(name, value)


def boolean_answers(name: str, values: Answers) -> list[bool]:
    """A vector of truth values. Raises `AnswersError`, as `real_answers` does."""
    return [boolean_answer(f"{name}[{i}]", value) for i, value in enumerate(_entries(name, values))]


def boolean_answer(name: str, value: object) -> bool:
    """One truth value. Raises `AnswersError` where it is none."""
    try:
        return boolean(name, value)
    except ParameterError as error:
        raise AnswersError(name, error.problem) from None


def require_answers(holds: bool, name: str, condition: str) -> None:
    """Refuses answers that contradict their declaration (`where`, `range`, `lattice`, equal lengths).

    Raises:
        AnswersError: `holds` is false.
    """
    if not holds:
        raise AnswersError(name, f"must satisfy `{condition}`")


def is_multiple(value: Real, step: Real) -> bool:
    """Whether an answer is a multiple of a positive step, computed exactly."""
    return (Fraction(value) / Fraction(step)).denominator == 1


def _entries(name: str, values: Answers) -> list[object]:
    if isinstance(values, str | bytes | dict | set | frozenset):
        raise AnswersError(name, f"must be a list of numbers, not a {type(values).__name__}")
    if hasattr(values, "columns"):
        raise AnswersError(name, "must be one column, not a whole table: choose a column first")
    dimensions = getattr(values, "ndim", 1)
    if dimensions != 1:
        raise AnswersError(name, f"must be one-dimensional, but has {dimensions} dimensions")
    if not (hasattr(values, "__len__") and hasattr(values, "__iter__")):
        raise AnswersError(name, f"must be a list of numbers, not a {type(values).__name__}")
    # `tolist` gives Python numbers at once, where iterating would make one NumPy object after the other.
    entries = values.tolist() if hasattr(values, "tolist") else list(values)
    if not entries:
        raise AnswersError(name, "is empty: it must hold at least one answer")
    return entries


def _real(place: str, value: object) -> Fraction | float:
    match value:
        case float() if math.isfinite(value):
            return value
        case bool():
            raise AnswersError(place, "must be a number, not a truth value")
        case int():
            return value
        case Fraction():
            return value
        case numbers.Rational():
            return Fraction(int(value.numerator), int(value.denominator))
        case numbers.Real():
            number = float(value)
            if math.isfinite(number):
                return number
            raise AnswersError(place, "must be finite, not NaN or infinity")
    raise AnswersError(place, f"must be a number, not {_kind(value)}")


def _integer(place: str, value: object) -> int:
    number = _real(place, value)
    if number != math.floor(number):
        raise AnswersError(place, "must be an integer")
    return math.floor(number)


def _kind(value: object) -> str:
    return "missing" if value is None else f"a {type(value).__name__}"
