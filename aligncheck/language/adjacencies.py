"""How neighbouring data may differ: one row for each adjacency, which the rest of the package asks.

What VERIFIED rests on is said by `Bound`, `ways` and `one_way`; the rest is how it is said, tried, measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any


class Bound(Enum):
    """What the declared sensitivity Δ bounds. EACH: the size of each answer's move. TOTAL: the sum of the
    sizes of all moves in the group. SQUARES: the root of the sum of their squares. RANGE: there is no Δ;
    answers are any numbers of the declared range.
    """

    EACH = "each"
    TOTAL = "total"
    SQUARES = "squares"
    RANGE = "range"


class Way(Enum):
    """Which answer of a group differs: the (first) differing one, a second one, the one that goes down, or
    the one that goes up; up and down for all answers of a group, too.
    """

    ONE = "one"
    DOWN = "down"
    UP = "up"
    SECOND = "second"

    @property
    def sign(self) -> int:
        """1 where it goes up, -1 where it goes down, 0 where it may do either."""
        return {"down": -1, "up": 1}.get(self.value, 0)

    @property
    def mark(self) -> str:
        """What the kernel calls its place."""
        return "differing" if self is Way.ONE else self.value

    @property
    def text(self) -> str:
        """What a reader is told."""
        texts = {Way.ONE: "the differing index", Way.SECOND: "the second differing index"}
        return texts.get(self, f"the index that goes {self.value}")


class Shared(Enum):
    """What two lines of declarations share, if one says so: there is one choice of it for both. INDEX: the
    places of the answers that move. DIRECTION: up or down, for all that move.
    """

    INDEX = "index"
    DIRECTION = "direction"


@dataclass(frozen=True, slots=True)
class AdjacencyRow:
    """One adjacency.

    Attributes:
        word: its name in the language.
        bound: what the sensitivity bounds.
        differ: how neighbours differ, in words, with `{group}` for the answers and `{bound}` for Δ.
        patterns: those of `statistical.patterns` whose pairs are neighbours and worth trying.
        ways: one answer for each of these may move, in its direction, and no other one; empty: all may.
        one_way: all that move go up, or all go down.
    """

    word: str
    bound: Bound
    differ: str
    patterns: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    one_way: bool = False


_ONE = ("one above", "one below")


class Adjacency(Enum):
    """How D and D' may differ in a declared group of queries, by the word of the language."""

    _value_: str

    ALL = AdjacencyRow(
        "all",
        Bound.EACH,
        "each answer of {group} differs by at most {bound}",
        (
            *_ONE,
            "one above, rest below",
            "one below, rest above",
            "half half",
            "all above",
            "all below",
            "x shape",
        ),
    )

    ONE = AdjacencyRow(
        "one", Bound.EACH, "one answer of {group} differs, by at most {bound}", _ONE, ways=(Way.ONE,)
    )
    """A single, unknown answer."""

    TWO = AdjacencyRow(
        "two",
        Bound.EACH,
        "at most two answers of {group} differ, each by at most {bound}",
        (*_ONE, "two above", "two below", "one above, one below", "one moved"),
        ways=(Way.ONE, Way.SECOND),
    )
    """Two unknown answers at most, each in any direction: a record that is replaced, in counts of overlapping
    or disjoint bins of which each record is in one.
    """

    MONOTONE = AdjacencyRow(
        "monotone",
        Bound.EACH,
        "each answer of {group} differs by at most {bound}, all of them up or all of them down",
        (*_ONE, "half above", "half below", "all above", "all below"),
        one_way=True,
    )

    MOVED = AdjacencyRow(
        "moved",
        Bound.EACH,
        "one answer of {group} goes down and another one up, each by at most {bound}",
        ("one above, one below", "one moved"),
        ways=(Way.DOWN, Way.UP),
    )

    L1 = AdjacencyRow("l1", Bound.TOTAL, "the answers of {group} differ by at most {bound} in all")

    L2 = AdjacencyRow(
        "l2",
        Bound.SQUARES,
        "the squares of how far the answers of {group} differ add up to at most the square of {bound}",
    )

    ANY = AdjacencyRow("any", Bound.RANGE, "{group} may differ in any way within the declared range")
    """The local model: two arbitrary values."""

    def __new__(cls, row: AdjacencyRow) -> Adjacency:
        member = object.__new__(cls)
        member._value_ = row.word
        return member

    def __init__(self, row: AdjacencyRow) -> None:
        self.row = row

    @property
    def in_all(self) -> bool:
        """Whether Δ bounds the sum of all moves."""
        return self.row.bound is Bound.TOTAL

    @property
    def in_squares(self) -> bool:
        """Whether Δ bounds the root of the sum of the squares of all moves."""
        return self.row.bound is Bound.SQUARES

    @property
    def together(self) -> bool:
        """Whether Δ bounds all moves together, so that one of that size leaves no room for others."""
        return self.in_all or self.in_squares

    @property
    def free(self) -> bool:
        """Whether answers move as they like within a declared range, and there is no Δ."""
        return self.row.bound is Bound.RANGE

    @property
    def one_way(self) -> bool:
        """Whether all answers that move go the same way."""
        return self.row.one_way

    @property
    def ways(self) -> tuple[Way, ...]:
        """The answers that may move, if only so many may."""
        return self.row.ways

    @property
    def limits(self) -> tuple[tuple[int, int], ...]:
        """How many answers may move: at most `most` up (1), down (-1), or in either direction (0), as pairs
        (direction, most). With these, answers that move can be matched with the `ways` (Hall's theorem).
        """
        total = len(self.ways)
        ups, downs = (sum(way.sign * sign >= 0 for way in self.ways) for sign in (1, -1))
        said = ((0, total, ups + downs > total), (1, ups, ups < total), (-1, downs, downs < total))
        return tuple((sign, most) for sign, most, needed in said if needed)

    def allows(self, ups: int, downs: int) -> bool:
        """Whether so many answers may go up and down, each by as much as one answer may move."""
        return self.allows_at(range(ups), range(-downs, 0))

    def allows_at(self, ups: Collection[Any], downs: Collection[Any]) -> bool:
        """The same of places; lists that share their index may go up and down at one."""
        places = {0: {*ups, *downs}, 1: {*ups}, -1: {*downs}}
        if self.together:
            return len(places[0]) <= 1
        return all(len(places[sign]) <= most for sign, most in self.limits) and not (
            self.one_way and ups and downs
        )

    def shares(self, what: Shared, vector: bool, names: int) -> bool:
        """Whether a line with so many names, of lists (`vector`) or of single answers, can share it: an
        index, if it is one list with places; a direction, if all that move on this line go one way anyhow.
        """
        if self.together or self.free:
            return False
        if what is Shared.INDEX:
            return bool(self.ways) and vector and names == 1
        return self.one_way or len(self.ways) == 1 or (not vector and names == 1)

    def implies(self, other: Adjacency) -> bool:
        """Whether data that differ as this one says differ as the other one says, with one Δ."""
        if self is other or self.free or other.free:
            return self is other
        if self.in_all and other.in_squares:  # no sum of squares is more than the square of the sum
            return True
        counts = itertools.product(range(4), repeat=2)  # three stand for any more: no limit is that high
        some = [each for each in counts if self.together or self.allows(*each)]
        return all(other.allows(*each) for each in some)

    @property
    def narrower(self) -> tuple[Adjacency, ...]:
        """The simple ones that imply this one: all answers go one way, or a single one moves."""
        simple = (a for a in Adjacency if a.one_way or len(a.ways) == 1)
        return tuple(
            sorted((a for a in simple if a is not self and a.implies(self)), key=lambda a: len(a.ways))
        )

    def metric(self, vector: bool, whole: bool, step: Fraction) -> tuple[str, Fraction | None] | None:
        """OpenDP's metric (`linf`, `monotone linf`, `l1`, `absolute`, `discrete`) and the distance that one
        step between neighbours can always cover (None: any), for a list (`vector`) or one answer, of integers
        (`whole`) or reals; None where no metric of OpenDP says how many answers move, or which go up and
        which down. `step` is Δ, for integers rounded down.

        One or two answers over integers: L1. At distance d at most d units move, one in a step, or two if two
        answers may move and Δ >= 2: whether these two are in one answer or in two.
        """
        if self.free:
            return "discrete", None
        if any(way.sign for way in self.ways):
            return None
        if not vector:
            return "absolute", step
        if self.in_squares:
            return None
        if self.in_all:
            return "l1", step
        if self.ways:
            return ("l1", min(step, Fraction(len(self.ways)))) if whole else None
        return ("monotone linf" if self.one_way else "linf"), step

    def fits(self, moves: list[float], most: float) -> bool:
        """Whether the answers that move may move by these numbers (other than 0), Δ being `most`."""
        if self.free:
            return True
        if self.in_all:
            return math.fsum(map(abs, moves)) <= most
        if self.in_squares:
            return math.fsum(move * move for move in moves) <= most * most
        ups = sum(move > 0 for move in moves)
        return all(abs(move) <= most for move in moves) and self.allows(ups, len(moves) - ups)
