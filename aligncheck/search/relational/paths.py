"""What relational symbolic execution of a spec gives: paths between cut points, with the events on them.

Both runs, on D and on D' with the aligned noise, are executed side by side. Every value is a pair of terms. A
cut point stands at the start, at the head of every loop, and at the end; a path leads from one to the next
without passing a third. At a loop head the variables that the loop changes become fresh symbols, so that a
path from a loop head speaks of *every* round (design, section 2: nothing is unrolled).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from aligncheck.language.families import Family
from aligncheck.language.source import Span
from aligncheck.language.syntax.nodes import For, While
from aligncheck.search.relational import family_facts
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.callees import AlignedCall
from aligncheck.search.relational.ir import TRUE, ZERO, Pair, Sym, Term, fn, mul, not_
from aligncheck.search.relational.labels import Key, Omega
from aligncheck.search.relational.maxima import Gathered
from aligncheck.search.relational.settled import NOTHING, Made
from aligncheck.search.relational.theory import Theory
from aligncheck.search.relational.to_terms import Partial

# --- events -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArmTaken:
    """A test and the arm that the run on D takes; the run on D' may take another arm of a hidden one.

    `loop` is the number of the loop whose own test it is, if it is one.
    """

    test: Pair
    taken: bool
    span: Span
    hidden: bool = False
    loop: int | None = None

    def holds(self, primed: bool) -> Term:
        """That the run on D takes this arm, or that the run on D' does (which a hidden test leaves open)."""
        if primed and self.hidden:
            return TRUE
        value = self.test.right if primed else self.test.left
        return value if self.taken else not_(value)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A draw: its index, its distribution in both runs, the draw on D and its shift.

    `before` is the greatest index at which the variable was drawn before, `made` what is fixed when it is
    drawn, `lines` the alignment's lines for it.
    """

    name: str
    family: Family
    index: Pair | None
    args: tuple[Pair, ...]
    left: family_facts.DrawFacts
    right: family_facts.DrawFacts
    shift: Term
    before: Term
    made: Made
    span: Span
    lines: tuple[Span, ...]

    @property
    def position(self) -> Term:
        """The index on D; 0 for scalar noise."""
        return ZERO if self.index is None else self.index.left

    @property
    def cost(self) -> Term:
        """|shift|/α."""
        return mul(fn("abs", self.shift), self.left.inverse_alpha)


@dataclass(frozen=True, slots=True)
class Emission:
    """A record: its place in the output, its tag and its fields."""

    position: Term
    tag: str
    fields: tuple[tuple[str, Pair, Span], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Selected:
    """An `argmax` or `top`: what is selected among in either run.

    `picks`, only in a concrete run, are the selected indices in order.
    """

    name: str
    left: Gathered
    right: Gathered
    span: Span
    picks: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True)
class Required:
    """A partial operation in either run."""

    partial: Partial
    primed: bool


@dataclass(frozen=True, slots=True)
class Assumed:
    """A fact that both runs share by construction (the bound of a loop over a finite input)."""

    fact: Term


@dataclass(frozen=True, slots=True)
class Claimed:
    """An author's invariant at the start of a concrete round; only when unrolled."""

    fact: Term
    span: Span


Event: TypeAlias = (
    ArmTaken | Drawing | AlignedCall | Applied | Selected | Emission | Required | Assumed | Claimed
)
Env: TypeAlias = Mapping[Key, Pair]
"""What is kept at a point of a path."""


# --- cut points and paths ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """The start (`loop` None) or a loop head.

    `env` holds every variable's value there; `fresh` the variables that stand for themselves (each with the
    symbol of its value on D and, unless both runs share it, of its distance or value on D'); `facts` what the
    only path into the loop established about symbols that never change again. `parent` is the cut point from
    which all ways into the loop come, or else the loop around it: its invariants speak of symbols that are
    fixed by then. `enclosing` are the loops around this one, by the syntax. `made` is what is fixed there
    whichever way leads there; the draws of earlier rounds only by the symbols in `fresh`, which rest on them.
    """

    number: int
    loop: For | While | None
    env: Env
    fresh: Env = field(default_factory=lambda: MappingProxyType({}))
    facts: tuple[Term, ...] = ()
    counter: Sym | None = None
    parent: int | None = None
    enclosing: tuple[int, ...] = ()
    made: Made = NOTHING

    @property
    def label(self) -> str:
        """How reports call it."""
        return "start" if self.loop is None else f"loop {self.number}"


@dataclass(frozen=True)
class Segment:
    """From one cut point to the next (`target` None: to the end of the program)."""

    origin: int
    target: int | None
    events: tuple[Event, ...]
    env: Env

    def decisions(self) -> tuple[ArmTaken, ...]:
        """The visible tests on the way."""
        return tuple(e for e in self.events if isinstance(e, ArmTaken))

    def drawings(self) -> tuple[Drawing, ...]:
        """The draws on the way."""
        return tuple(e for e in self.events if isinstance(e, Drawing))

    def emissions(self) -> tuple[Emission, ...]:
        """The records on the way."""
        return tuple(e for e in self.events if isinstance(e, Emission))


@dataclass(frozen=True)
class Analysis:
    """All cut points and all paths between them."""

    theory: Theory
    cuts: tuple[Cut, ...]
    paths: tuple[Segment, ...]
    omega: frozenset[Omega]

    def within(self, number: int, loop: Cut) -> bool:
        """Whether a cut point is the head of a loop, or of one inside it."""
        return number == loop.number or loop.number in self.cuts[number].enclosing


class TooManyPathsError(Exception):
    """The program has more paths than the limit; carries the limit. Unrolled, it may also take too long."""
