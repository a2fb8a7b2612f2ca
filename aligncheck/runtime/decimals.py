"""How numbers are read, in every mode and whatever holds them: a float is the shortest decimal that names it.

So 0.1 is 1/10, as it is in a spec, and 0.7 and 0.8 are 1/10 apart. Of two floats the larger one is read as
the larger number, since decimals that name different floats are ordered as these are; whole floats up to 2^53
in size are read as they are. Integers and fractions are the numbers that they are.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = "int | Fraction | float"

LARGEST = int(Fraction(repr(sys.float_info.max)))
"""The largest float, as it is read: 1.7976931348623157e308, to which larger answers saturate."""

_WHOLE = 2.0**53


def as_read(value: Number) -> Fraction:
    """The number that a finite number is read as."""
    if isinstance(value, float):
        number = float(value)  # of a subclass as well
        if _is_short(number) and number.is_integer():
            return Fraction(int(number))
        name = repr(number)
        if "e" in name:
            return Fraction(name)
        whole, _, places = name.partition(".")  # which `Fraction` would take twice as long to read
        return Fraction(int(whole + places), 10 ** len(places))
    return Fraction(value)


def step_below(value: Number, step: Fraction) -> int:
    """How many steps a finite number, as it is read, is from 0, rounded down."""
    number = as_read(value)
    return number.numerator * step.denominator // (number.denominator * step.numerator)


def floor_of(value: Number) -> int:
    """The same, rounded down. Between whole numbers that are floats no decimal leaves its float's gap."""
    if isinstance(value, float) and not _is_short(value):
        return math.floor(as_read(value))
    return math.floor(value)


def _is_short(value: float) -> bool:
    """Whether all whole numbers around it are floats."""
    return -_WHOLE < value < _WHOLE
