"""Where the two runs are: one path through the program, and the place from which an expression is read."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

import z3

from aligncheck.kernel.answer import Line
from aligncheck.kernel.logic import Fact, Kind
from aligncheck.kernel.terms import Anatomy, Term, anatomy, both, either, subterms
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n


class Mode(Enum):
    """Who reads.

    CLAUSE: a declaration or the claim. PROGRAM: a statement. ALIGN: a line of the alignment, or what it looks
    ahead to. LEVEL: the same, where only is asked what a line depends on. TWIN: the same, for the twin run.
    EARLY and RELATION: an invariant of the run on D, or of both; their words are those of `LoopWitness`.
    """

    CLAUSE = "clause"
    PROGRAM = "program"
    ALIGN = "align"
    LEVEL = "level"
    TWIN = "twin"
    EARLY = "early"
    RELATION = "invariants"


@dataclass(frozen=True, slots=True)
class Obligation:
    """`goal` must follow from the facts RUN, TOLD and WHOLE of the path, later ones included (it speaks of
    complete runs), and from those PRIME facts that stand before `position`.
    """

    condition: str
    place: Span
    sentence: str
    goal: Term
    position: int
    line: Line | None = None

    def usable(self, facts: list[tuple[int, Fact]]) -> list[Fact]:
        """Those of a path's facts, given with their places, from which it may follow, each formula once."""
        most = Kind.TWIN if self.condition == "injective" else Kind.PRIME
        kept = [f for at, f in facts if f.kind <= most and (at < self.position or f.kind is not Kind.PRIME)]
        return list({anatomy(f.formula): f for f in kept}.values())


@dataclass(frozen=True, slots=True)
class RecordList:
    """What is released in all, or by the last execution of a call: how many records, their tags (by number)
    and fields, which tags have a field, and how many records there are and have a tag, where that is kept.
    """

    length: Term
    tag: Any
    fields: dict[str, Any]
    tags: tuple[str, ...]
    having: dict[str, tuple[str, ...]]
    counts: dict[str, Term] = field(default_factory=dict)

    def tagged(self, at: Term, tags: tuple[str, ...]) -> Term:
        """That there is a record, and it has one of these tags."""
        numbers = [self.tags.index(t) for t in tags if t in self.tags]
        known = [self.tag(at) == k for k in numbers]
        return both(at >= 0, at < self.length, either(z3.BoolVal(False, at.ctx), *known))


@dataclass(frozen=True)
class Selection:
    """What `argmax`, `argmin`, `top` or `upto` selects: `at` gives the index at a place, `place` the place of
    an index, `below` how many selected indices are below one, `other` an index that is left out. That of a
    round knows what was drawn when the round began: `since`, else empty. `made`: the program came by it.
    """

    name: str
    gather: n.Gather
    single: bool
    count: Term
    at: Any
    place: Any
    below: Any
    other: Term
    since: dict[str, Term] = field(default_factory=dict)
    made: bool = False

    def member(self, j: Term) -> Term:
        """That an index is selected."""
        if self.single:
            return j == self.at(j.ctx.integer(0))
        place = self.place(j)
        return z3.And(place >= 0, place < self.count, self.at(place) == j)


@dataclass
class Path:
    """One way through both runs since the start. `values` are a variable's values on D and on D' (and in the
    twin run); `made` are the draws since the last loop head (name, index, scale, step); the ghosts
    `$drawn_X`, `$least_X` and `$dense_X` sum up all draws. `twins` says of noise variables where the twin
    run's draw is taken to, for all indices in the place of one. `owed` was taken for granted at loop heads on
    the way. Before the fact number `settled` nothing is pending; the first `foreseen`
    of what is pending were tried before.
    """

    values: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    ghosts: dict[str, Term] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    pending: list[Obligation] = field(default_factory=list)
    made: list[tuple[str, Term, Term, Term | None]] = field(default_factory=list)
    selections: dict[str, Selection] = field(default_factory=dict)
    calls: dict[str, RecordList] = field(default_factory=dict)
    known: set[tuple[Kind, Anatomy]] = field(default_factory=set)
    looked_ahead: bool = False
    late: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    twins: dict[str, tuple[Term, Term]] = field(default_factory=dict)
    settled: int = 0
    foreseen: int = 0
    owed: list[Obligation] = field(default_factory=list)

    def copy(self) -> Path:
        """The same place, to go on in another way."""
        return type(self)(**{f.name: copy(getattr(self, f.name)) for f in fields(self)})

    def fact(self, kind: Kind, formula: Term, variables: tuple[Term, ...] = ()) -> None:
        """Adds a fact, once."""
        key = (kind, anatomy(formula))
        if key not in self.known:
            self.known.add(key)
            inside = set(subterms(formula)) if variables else set()  # those that do not occur mean nothing
            self.facts.append(Fact(kind, formula, tuple(v for v in variables if anatomy(v) in inside)))

    def oblige(
        self, condition: str, place: Span, sentence: str, goal: Term, line: Line | None = None
    ) -> None:
        """Adds an obligation, to be decided when this stretch of the path is complete."""
        self.pending.append(Obligation(condition, place, sentence, goal, len(self.facts), line))


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression is read: on a path, for the run on D (`run` 0), on D' (1) or its twin (2). `bound`
    are the indices around it, in order: every symbol that is introduced below is a function of all of them.
    `generic` are those of which nothing but `guard` is known, so that facts hold for all of them. `guard` is
    what holds wherever the expression is evaluated. `testing`: only a truth value or a whole number is made
    of it. `computed`: the program itself computes it, in every complete run.
    """

    mode: Mode
    path: Path
    guard: Term
    place: Span
    run: int = 0
    bound: tuple[tuple[str, Term], ...] = ()
    generic: tuple[Term, ...] = ()
    testing: bool = False
    computed: bool = False

    def of(self, run: int) -> Scope:
        """The same place, for another run."""
        return replace(self, run=run)

    def under(self, condition: Term) -> Scope:
        """The scope where a condition holds as well."""
        return replace(self, guard=both(self.guard, condition))

    def binding(self, name: str, term: Term, generic: bool) -> Scope:
        """The scope with one more index."""
        return replace(self, bound=(*self.bound, (name, term)), generic=self.generic + (term,) * generic)
