"""Numbers of which only a range is known: what noise is while a whole range of it is looked at at once.

`Number` is exact; a `Range` lies between two exact bounds. Every operation gives a range that holds all
values that the operation can have; a question that a range does not answer raises `Unsettled`, which names
the noise on which the answer depends.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import TypeAlias

Number: TypeAlias = int | Fraction
End: TypeAlias = int | Fraction | float
"""An exact number, or an infinity."""


@dataclass(slots=True, eq=False)
class Range:
    """A number from `low` to `high`, neither of which it is where `open`; `noise` has a bit for each draw on
    which it depends.
    """

    low: End
    high: End
    noise: int
    open: bool


Quantity: TypeAlias = Number | Range


class Unsettled(Exception):  # noqa: N818 - it asks for smaller ranges
    """The answer differs within the ranges of these draws; `near` is a difference whose sign decides."""

    def __init__(self, noise: int, near: Range | None = None) -> None:
        super().__init__()
        self.noise = noise
        self.near = near


def settled(x: Quantity) -> Number:
    """The one value of a quantity. Raises `Unsettled` where there are several."""
    if isinstance(x, Range):
        raise Unsettled(x.noise)
    return x


def noise_in(x: Quantity) -> int:
    """The draws on which a quantity depends."""
    return x.noise if isinstance(x, Range) else 0


def add(x: Quantity, y: Quantity) -> Quantity:
    """The same object where nothing is added: then `holds` knows that both are equal."""
    if isinstance(x, Range):
        if isinstance(y, Range):
            return Range(x.low + y.low, x.high + y.high, x.noise | y.noise, x.open or y.open)
        return Range(x.low + y, x.high + y, x.noise, x.open) if y else x
    if isinstance(y, Range):
        return Range(x + y.low, x + y.high, y.noise, y.open) if x else y
    return x + y


def negative(x: Quantity) -> Quantity:
    return Range(-x.high, -x.low, x.noise, x.open) if isinstance(x, Range) else -x


def subtract(x: Quantity, y: Quantity) -> Quantity:
    return add(x, negative(y))


def _product(x: End, y: End) -> End:
    return 0 if x == 0 or y == 0 else x * y


def multiply(x: Quantity, y: Quantity) -> Quantity:
    if not isinstance(x, Range):
        if not isinstance(y, Range):
            return x * y
        x, y = y, x
    if not isinstance(y, Range):
        if not y:
            return 0
        ends = sorted((_product(x.low, y), _product(x.high, y)))
        return Range(ends[0], ends[1], x.noise, x.open)
    products: list[End] = [_product(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    return Range(min(products), max(products), x.noise | y.noise, False)


def absolute(x: Quantity) -> Quantity:
    if not isinstance(x, Range):
        return x if x >= 0 else -x
    if x.low >= 0:
        return x
    if x.high <= 0:
        return negative(x)
    return Range(0, max(-x.low, x.high), x.noise, False)


def greatest(x: Quantity, y: Quantity) -> Quantity:
    if not isinstance(x, Range) and not isinstance(y, Range):
        return max(x, y)
    left, right = _ends(x), _ends(y)
    if left[0] >= right[1]:
        return x
    if right[0] >= left[1]:
        return y
    return Range(
        max(left[0], right[0]), max(left[1], right[1]), noise_in(x) | noise_in(y), _open(x) and _open(y)
    )


def least(x: Quantity, y: Quantity) -> Quantity:
    return negative(greatest(negative(x), negative(y)))


def _ends(x: Quantity) -> tuple[End, End]:
    return (x.low, x.high) if isinstance(x, Range) else (x, x)


def _open(x: Quantity) -> bool:
    return isinstance(x, Range) and x.open


def floor(x: Quantity) -> Quantity:
    if not isinstance(x, Range):
        return x // 1
    if isinf(x.low) or isinf(x.high):
        raise Unsettled(x.noise)
    low = x.low // 1
    if x.high // 1 == low or (x.open and x.high == low + 1):
        assert not isinstance(low, float), "finite"
        return low
    raise Unsettled(x.noise)


def holds(op: str, x: Quantity, y: Quantity) -> bool:
    """A comparison. Raises `Unsettled` where the ranges leave it open."""
    if not isinstance(x, Range) and not isinstance(y, Range):
        match op:
            case "==":
                return x == y
            case "!=":
                return x != y
            case "<":
                return x < y
            case "<=":
                return x <= y
            case ">":
                return x > y
            case ">=":
                return x >= y
            case _:
                raise ValueError(op)
    match op:
        case "!=":
            return not holds("==", x, y)
        case "<":
            return not holds(">=", x, y)
        case "<=":
            return not holds(">", x, y)
        case _:
            pass
    if x is y:
        return op in ("==", ">=")
    d = subtract(x, y)
    assert isinstance(d, Range), "one of both is a range"
    below = d.high < 0 or (d.open and d.high <= 0)
    above = d.low > 0 or (d.open and d.low >= 0)
    if above:
        return op != "=="
    if below:
        return False
    if op == ">=" and d.low >= 0:
        return True
    if op == ">" and d.high <= 0:
        return False
    raise Unsettled(d.noise, d)
