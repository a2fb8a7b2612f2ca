"""A spec in the making: what parts of random specs have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import TypeAlias

BRANCH, LOOP, STATE, INVARIANT = "branches", "loops", "state through loops", "invariants"
SELECTION, NESTED, CALL, DENSITY = "selections", "nested sets", "calls", "densities"
CANCEL, AHEAD, OWN = "shifts that cancel", "look-ahead shifts", "shifts by own noise"
SEARCH, FLAG, BUDGET, LEADER, TABLE = "searches that go on", "flags", "budgets", "leaders", "tables"
REPEAT, APPROXIMATE, CONCENTRATED = "repeated calls", "claims in δ", "claims in ρ"
CONSTRUCTS = (
    *(BRANCH, LOOP, STATE, INVARIANT, SELECTION, NESTED, CANCEL, AHEAD, OWN, CALL, DENSITY),
    *(SEARCH, FLAG, BUDGET, LEADER, TABLE, REPEAT, APPROXIMATE, CONCENTRATED),
)


@dataclass(slots=True)
class Draft:
    """A spec in the making; `place` is the number of the next record, None where it is not known."""

    chance: Random
    inputs: dict[str, str] = field(default_factory=dict)
    adjacency: str = "all"
    least: int = 1
    lengths: str = ""
    program: list[str] = field(default_factory=list)
    align: list[str] = field(default_factory=list)
    cost: Fraction = Fraction(0)
    each: Fraction = Fraction(0)
    plus: Fraction = Fraction(0)
    callees: dict[str, str] = field(default_factory=dict)
    constructs: set[str] = field(default_factory=set)
    names: int = 0
    place: int | None = 0
    continuous: bool = False

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def pick(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def likely(self, share: float) -> bool:
        return self.chance.random() < share

    def paid(self, share: Fraction | None = None, each: bool = False) -> Fraction:
        """A share of the budget: 1 or 1/2; `each`: for every answer."""
        found = Fraction(1, self.chance.choice((1, 1, 2))) if share is None else share
        if each:
            self.each += found
        else:
            self.cost += found
        return found

    def noise(self, most: int | Fraction, share: Fraction, one_sided: bool = False) -> str:
        """A family, with a scale at which moves of `most` cost `share`."""
        scale = Fraction(most) / share
        text = (
            f"{scale.numerator}/eps"
            if scale.denominator == 1
            else f"{scale.numerator}/({scale.denominator}*eps)"
        )
        if self.continuous:
            if one_sided or self.likely(0.6):
                return f"{'Exp' if one_sided else 'Lap'}({text})"
            gamma = self.chance.choice(("1/4", "1/2", "2/3"))
            return f"Logistic({text})" if self.likely(0.5) else f"Staircase({share}*eps, {most}, {gamma})"
        if one_sided and self.likely(0.3):
            return f"Geo(1 - exp(-({1 / scale}*eps)))"
        return f"{'DExp' if one_sided else 'DLap'}({text})"

    def a(self) -> str:
        """A private bit."""
        self.inputs["a"] = "a : query, sensitivity 1, range [0, 1], lattice 1"
        return "a"

    def one(self) -> str:
        """One private answer."""
        if self.likely(0.5):
            return self.a()
        self.q("all")
        return "q[0]"

    def q(self, *adjacencies: str, least: int = 1) -> None:
        """Private answers, with one of these adjacencies."""
        if "q" not in self.inputs:
            self.adjacency = self.pick(*adjacencies)
        self.inputs["q"] = ""
        self.least = max(self.least, least)

    def released(self, records: int) -> None:
        self.place = None if self.place is None else self.place + records

    def guard(self, tag: str, at: int = 0) -> str:
        return f"out[{(self.place or 0) + at}] is {tag}"


Part: TypeAlias = Callable[[Draft], None]


def primed(text: str) -> str:
    """On D'."""
    return re.sub(r"\b(a\b(?!')|q(?=\[))", r"\1'", text)


def answer(d: Draft) -> tuple[str, int]:
    """A number computed from one private answer, and how far it may move."""
    x = d.one()
    shape, most = d.chance.choice(
        (
            ("{}", 1),
            ("{}", 1),
            ("2*{}", 2),
            ("-{}", 1),
            ("abs({})", 1),
            ("max({}, 1)", 1),
            ("clip({}, 0, 1)", 1),
        )
    )
    return shape.format(x), most


def within(x: str, ends: tuple[int, int]) -> str:
    low, high = ends
    return f"{x} == {low}" if low == high else f"{x} >= {low} and {x} <= {high}"


def alias(d: Draft, draw: str, array: str | None) -> str:
    """Another way to say what a draw is, by a maximum, a sum or a variable; or the draw itself."""
    b = d.name("best")
    over = f"{array}[j] for j in range(1)" if array else f"{draw} for j in range(1)"
    match d.chance.randrange(8):
        case 0 | 1:
            d.program.append(f"{b} = {d.pick('max', 'min')}({over})")
        case 2 if array:
            d.program += [f"{b} = max(max({array}[l] for l in range(0, j + 1)) for j in range(1))"]
            d.constructs.add(NESTED)
        case _:
            return draw
    d.constructs.add(SELECTION)
    return b


def redundant(d: Draft, own: str) -> str:
    """Nothing, or a term that cancels: of this draw, of another one, or of one that is yet to come."""
    if not d.likely(0.3):
        return ""
    d.constructs.add(CANCEL)
    drawn = re.findall(r"^(\w+) ~", "\n".join(d.program), flags=re.MULTILINE)
    x = d.chance.choice(drawn) if drawn and d.likely(0.7) else own
    if x.endswith("[i]") and "[i]" not in own:
        return ""
    if x != own and drawn.index(x) > (drawn.index(own) if own in drawn else len(drawn)):
        d.constructs.add(AHEAD)
    return " + " + nothing(d, x)


def nothing(d: Draft, x: str) -> str:
    """A term that mentions a draw and is 0 whatever it is."""
    return d.pick(
        f"{x} - {x}",
        f"{x}*(eps + 1) - {x}*eps - {x}",
        f"2*{x} - {x} - {x}",
        f"0*{x}",
        f"({x} + 1)*({x} - 1) - {x}*{x} + 1",
        f"({x} if {x} > 0 else {x}) - {x}",
        f"abs({x}) - max({x}, -{x})",
        f"min({x}, eps) + max({x}, eps) - {x} - eps",
        f"max({x} for j in range(1)) - {x}",
        f"(0 if {x} >= 1 else 0)",
    )


def invariant(d: Draft) -> list[str]:
    """A line of the author's: true, or not."""
    if not d.likely(0.35):
        return []
    d.constructs.add(INVARIANT)
    kept = [line.split(" = ")[0] for line in d.program if re.match(r"[a-z]\w* = 0$", line)]
    s = d.chance.choice(kept) if kept else "i"
    told = [
        f"{s} >= 0",
        f"{s} <= i",
        "i >= 0",
        "alignment_cost >= 0",
        "alignment_cost <= eps",
        "alignment_cost <= (i + 1)*eps",
        f"{s} == {s}",
    ]
    if kept:
        told += [f"{s}' == {s}", f"{s} == 0", f"abs({s}' - {s}) <= 1"]
    return [f"  invariant {d.chance.choice(told)}"]
