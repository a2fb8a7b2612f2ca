"""What a mechanism's declarations say of its inputs: what its own proof assumes, and what a caller shows.

Trusted. Both are the same conditions (rule 17), made here once: `theory.Theory` reads the names as the
mechanism's own inputs and assumes them, `obligations.calls` reads them as the arguments of a call and asks
for them. Only how far answers move together has two sides, one in either place: what is assumed speaks of
ghosts (where the one answer stands that moves; whether all go up), what is shown does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from aligncheck.language.syntax.nodes import Expr, Input, Mechanism, Number, PublicVector, Queries, Sort
from aligncheck.language.syntax.walk import lists_per_answer, names_in
from aligncheck.search.relational.ir import ZERO, IsInt, Term, div, implies, le


class Reading(Protocol):
    """What the names in declarations mean: in the mechanism itself, or at a call of it."""

    def value(self, name: str, index: Term | None, primed: bool) -> Term:
        """A scalar, or the entry of a list at an index, on D or on D' (`primed`)."""
        ...

    def clause(self, expr: Expr, index: Term | None, primed: bool) -> Term:
        """An expression of a declaration; `i` is the index."""
        ...

    def length(self, name: str) -> Term:
        """How many entries a list has."""
        ...

    def legal(self, name: str, index: Term | None) -> Term:
        """That an index is one of a list; true for a scalar."""
        ...


@dataclass(frozen=True, slots=True)
class Said:
    """A condition that a declaration states, in words `text`. `IsInt` for values that are whole numbers."""

    holds: Term
    text: str


def names_of(item: Input) -> tuple[str, ...]:
    """The names that one declaration declares."""
    return item.names if isinstance(item, Queries) else (item.name,)


def inputs_of(mechanism: Mechanism) -> dict[str, Input]:
    """Every declared name with its declaration."""
    return {name: item for item in mechanism.inputs for name in names_of(item)}


def about_entries(expr: Expr, inputs: dict[str, Input]) -> bool:
    """Whether a clause speaks of one entry at a time, the one at `i`."""
    return "i" not in inputs and "i" in names_in(expr)


def is_list(item: Input) -> bool:
    """Whether a declaration declares lists."""
    return isinstance(item, PublicVector) or (isinstance(item, Queries) and item.vector)


def step_of(item: Input) -> Expr | None:
    """Of what every value is a multiple: the lattice's step; 1 for whole numbers; None if of nothing."""
    if isinstance(item, Queries) and item.lattice is not None:
        return item.lattice
    return Number(Fraction(1)) if item.sort is Sort.INT else None


def of_lists(item: Input, inputs: dict[str, Input], at: Reading) -> Iterator[Said]:
    """What is declared of the lists as such: their lengths."""
    for name in names_of(item) if is_list(item) else ():
        yield Said(le(ZERO, at.length(name)), f"`{name}` has a length")
        for base in lists_per_answer(item, inputs) if isinstance(item, Queries) else ():
            enough = le(at.length(name), at.length(base))
            yield Said(enough, f"`{base}` has an entry for each of `{name}`")


def of_all(item: Input, inputs: dict[str, Input], at: Reading, primed: bool) -> Iterator[Said]:
    """A clause that speaks of no single entry: it holds though a list be empty."""
    if item.where is not None and not about_entries(item.where, inputs):
        yield Said(at.clause(item.where, None, primed), _where(names_of(item)[0], item, primed))


def of_one(
    item: Input, name: str, index: Term | None, inputs: dict[str, Input], at: Reading, primed: bool
) -> Iterator[Said]:
    """What is declared of a single value: at an index of the list, if it is one."""
    which = _side(item, primed)
    legal = at.legal(name, index)
    step = step_of(item)
    if step is not None:
        steps = div(at.value(name, index, primed), at.clause(step, index, False))
        what = "a whole number" if isinstance(step, Number) else "a multiple of its step"
        yield Said(IsInt(steps), f"`{name}` is {what}{which}")
    if isinstance(item, Queries) and item.range is not None:
        value = at.value(name, index, primed)
        low, high = (at.clause(e, index, False) for e in item.range)
        for bound in (le(low, value), le(value, high)):
            yield Said(implies(legal, bound), f"`{name}` lies in its range{which}")
    if item.where is not None and about_entries(item.where, inputs):
        yield Said(implies(legal, at.clause(item.where, index, primed)), _where(name, item, primed))


def _where(name: str, item: Input, primed: bool) -> str:
    return f"the `where` clause of `{name}` holds{_side(item, primed)}"


def _side(item: Input, primed: bool) -> str:
    return (" on D'" if primed else " on D") if isinstance(item, Queries) else ""
