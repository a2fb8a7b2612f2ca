"""Public parameters of generated mechanisms: converted, checked, and refused with the argument's name."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Self, SupportsIndex, TypeAlias, TypeVar

from aligncheck.runtime.errors import MechanismError, ParameterError

RealLike: TypeAlias = Fraction | float | str
"""What a real parameter may be given as: `Fraction(1, 2)`, `1`, `0.5`, `"1/2"`, `"0.5"`."""

IntLike: TypeAlias = SupportsIndex
"""What an int parameter may be given as."""

_Given = TypeVar("_Given")
_Kept = TypeVar("_Kept")

_TEXT = re.compile(
    r"\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,4})?\s*|\s*[-+]?\d+\s*/\s*\d+\s*", re.IGNORECASE | re.ASCII
)
_LONGEST_TEXT = 1_000
_LARGEST_EXPONENT = 400

_LONG_BITS = 64
"""Denominators above this are those of irrational numbers, approximated (`rationals`)."""

_WRITTEN_BITS = 4096
"""Numbers are written out up to this many bits, about 1,200 digits."""


class Entries(tuple[_Kept, ...]):
    """A public vector, with the names of its entries if it was a Series."""

    labels: tuple[Hashable, ...] | None

    def __new__(cls, values: Iterable[_Kept], labels: tuple[Hashable, ...] | None = None) -> Self:
        made = super().__new__(cls, values)
        made.labels = labels
        return made


def real(name: str, value: RealLike) -> Fraction:
    """A real parameter as an exact rational.

    A float is read as the shortest decimal that names it (see `decimals`).

    Raises:
        ParameterError: no number, not finite, or a text of another form than `2`, `0.5`, `1e-3`, `1/2`.
    """
    given: object = value
    match given:
        case bool():
            raise ParameterError(name, "must be a number, not a truth value")
        case str():
            return _real_of_text(name, given)
        case _ if is_time(given):
            raise ParameterError(name, f"must be a number, not {_kind(given)}")
        case numbers.Rational():
            return Fraction(int(given.numerator), int(given.denominator))
        case numbers.Real():
            number = float(given)
            if not math.isfinite(number):
                raise ParameterError(name, "must be finite")
            return Fraction(repr(number))
        case _:
            raise ParameterError(name, f"must be a number, not {_kind(given)}")


def integer(name: str, value: IntLike | str) -> int:
    """An int parameter.

    Raises:
        ParameterError: no integer. Floats are refused, 3.0 as well.
    """
    if isinstance(value, str):
        number = _real_of_text(name, value)
        if number.denominator != 1:
            raise ParameterError(name, f"must be an integer, not `{value.strip()}`")
        return number.numerator
    if isinstance(value, bool):
        raise ParameterError(name, "must be an integer, not a truth value")
    if is_time(value):
        raise ParameterError(name, f"must be an integer, not {_kind(value)}")
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        raise ParameterError(name, f"must be an integer, not {_kind(value)}") from None


def boolean(name: str, value: object) -> bool:
    """A bool parameter: True or False (also NumPy's), nothing that is merely truthy.

    Raises:
        ParameterError: anything else.
    """
    # NumPy's truth values are recognised by name: the runtime does not import NumPy.
    kind: type[object] = type(value)
    if kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")):
        return bool(value)
    raise ParameterError(name, f"must be True or False, not {_kind(value)}")


def reals(name: str, values: Iterable[RealLike]) -> tuple[Fraction, ...]:
    """A public vector of reals. Raises `ParameterError`, naming the entry."""
    return _vector(name, values, real)


def integers(name: str, values: Iterable[IntLike]) -> tuple[int, ...]:
    """A public vector of ints. Raises `ParameterError`, naming the entry."""
    return _vector(name, values, integer)


def booleans(name: str, values: Iterable[bool]) -> tuple[bool, ...]:
    """A public vector of bools. Raises `ParameterError`, naming the entry."""
    return _vector(name, values, boolean)


def or_default(name: str, given: _Given | None, value: Callable[[], _Given]) -> _Given:
    """What a parameter was given as, or its default where that is None. An irrational default, which the
    exact modes have to 90 bits, is taken as floats are: the decimal that names the nearest of them.

    Raises:
        ParameterError: the default has no value for the other parameters.
    """
    if given is not None:
        return given
    try:
        found = value()
        if isinstance(found, Fraction) and found.denominator.bit_length() > _LONG_BITS:
            found = Fraction(repr(float(found)))  # type: ignore[assignment]
    except (ArithmeticError, MechanismError) as error:
        raise ParameterError(name, f"has no default here, and must be given: {error}") from None
    return found


def require(holds: bool, name: str, value: object, where: str) -> None:
    """Refuses a parameter outside its `where` clause.

    Raises:
        ParameterError: `holds` is false.
    """
    if holds:
        return
    if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", where):
        raise ParameterError(name, f"is declared where `{where}`, which does not hold")
    raise ParameterError(name, f"must satisfy `{where}`, but is {shown(value)}")


def _vector(name: str, values: Iterable[_Given], entry: Callable[[str, _Given], _Kept]) -> tuple[_Kept, ...]:
    if isinstance(values, str | bytes | set | frozenset | dict):
        raise ParameterError(name, f"must be a list of values, not {_kind(values)}")
    try:
        entries = list(values)
    except TypeError:
        raise ParameterError(name, f"must be a list of values, not {_kind(values)}") from None
    index = getattr(values, "index", None)
    labels = None if index is None or callable(index) else tuple(index)
    return Entries((entry(f"{name}[{i}]", value) for i, value in enumerate(entries)), labels)


def _real_of_text(name: str, text: str) -> Fraction:
    if len(text) > _LONGEST_TEXT or not _TEXT.fullmatch(text):
        raise ParameterError(name, f"must be a number such as `2`, `0.5`, `1e-3` or `1/2`, not `{text[:40]}`")
    _, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > _LARGEST_EXPONENT:
        raise ParameterError(name, f"has an exponent beyond {_LARGEST_EXPONENT}")
    try:
        return Fraction("".join(text.split()))
    except ZeroDivisionError:
        raise ParameterError(name, "has denominator 0") from None


def is_time(value: object) -> bool:
    """Whether this is a span of time, which NumPy counts among its integers: its unit is not said, and one of
    them is no number.
    """
    return getattr(getattr(value, "dtype", None), "kind", None) == "m"


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def shown(value: object) -> str:
    """A parameter as messages have it. Python refuses to write integers of more than 4,300 digits."""
    if isinstance(value, tuple):
        return f"({', '.join(shown(v) for v in value[:8])}{', …' if len(value) > 8 else ''})"
    if isinstance(value, int | Fraction):
        top, bottom = value.as_integer_ratio()
        if max(top.bit_length(), bottom.bit_length()) > _WRITTEN_BITS:
            return "a number of very many digits"
    return str(value)
