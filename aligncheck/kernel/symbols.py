"""What a symbol is: a role, given to it by the one place that makes it, and never read off its name or shape.

And the one function that tells what a term depends on: it looks through every definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

import z3

from aligncheck.kernel.terms import Anatomy, Term, anatomy, subterms
from aligncheck.number_terms import FunctionSymbol, NumberContext


@dataclass(frozen=True, slots=True)
class Given:
    """An input, on D or D', or an arbitrary whole number: nothing is drawn for it. A private answer is one of
    a `run`.
    """

    run: int | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """The draws of one noise variable, applied to an index: those on D (`run` 0) or the aligned ones (1)."""

    noise: str
    run: int


@dataclass(frozen=True, slots=True)
class Told:
    """A part of what the stronger mechanism releases; `number`: a real one, so that there are uncountably
    many.
    """

    number: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A variable at a loop head, or kept of the past: it depends on every draw that can precede it."""


@dataclass(frozen=True, slots=True)
class Defined:
    """A function of its arguments and of `parts`: a maximum, its place, a sum, a root."""

    parts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A fixed function of its arguments, the same for every input: `exp`, `ln`, a public function."""


Role: TypeAlias = Given | Drawn | Told | Held | Defined | Rule


@dataclass
class Symbols:
    """Makes every symbol, in a context of its own, so that answers do not depend on what was asked before.

    No two symbols have one name: each carries its number after a `!`, which no name in a spec can contain.
    """

    ctx: NumberContext = field(default_factory=NumberContext)
    _number: Iterator[int] = field(default_factory=count)
    _roles: dict[int, tuple[Any, Role]] = field(default_factory=dict)
    _leaves: dict[Anatomy, tuple[tuple[Term, Role], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.REAL, self.INT), self.BOOL = self.ctx.sorts, z3.BoolSort(self.ctx)
        self.true, self.false = z3.BoolVal(True, self.ctx), z3.BoolVal(False, self.ctx)
        self.zero, self.none = self.ctx.integer(0), self.ctx.rational(0)

    def function(self, name: str, domain: tuple[Any, ...], sort: Any, role: Role) -> Any:
        """A new function symbol."""
        number = next(self._number)
        made = FunctionSymbol(z3.Function(f"{name}!{number}", *domain, sort), domain)
        self._roles[made.get_id()] = (made, role)
        return made

    def constant(self, name: str, sort: Any, role: Role) -> Term:
        """A new constant."""
        return self.function(name, (), sort, role)()

    def integer(self, value: int) -> Term:
        """A whole number."""
        return self.ctx.integer(value)

    def role(self, term: Term) -> Role:
        """The role of a symbol; `Held`, of which the least is known, for one that was not made here."""
        known = self._roles.get(term.decl().get_id())
        return known[1] if known is not None else Held()

    def leaves(self, *terms: Term) -> tuple[tuple[Term, Role], ...]:
        """Every application of a symbol that terms depend on, definitions looked through."""
        return tuple(leaf for term in terms for leaf in self._of_one(term))

    def _of_one(self, term: Term) -> tuple[tuple[Term, Role], ...]:
        known = self._leaves.get(anatomy(term))
        if known is None:
            found: dict[Anatomy, tuple[Term, Role]] = {}
            stack = [term]
            while stack:
                for one in subterms(stack.pop()):
                    if one.symbol and one not in found:
                        role = self.role(one.term)
                        found[one] = (one.term, role)
                        if isinstance(role, Defined):
                            stack.extend(role.parts)
            known = self._leaves[anatomy(term)] = tuple(found.values())
        return known

    def noise_free(self, *terms: Term) -> bool:
        """Whether terms are made of inputs and of what is released: no draw is in them, or hidden."""
        return all(isinstance(role, Given | Told | Defined | Rule) for _, role in self.leaves(*terms))

    def numbers_told(self, term: Term) -> bool:
        """Whether a released real number is in a term."""
        return any(role == Told(True) for _, role in self.leaves(term))

    def runs_of(self, term: Term) -> set[int | None]:
        """The runs of which private answers or draws are in a term."""
        return {role.run for _, role in self.leaves(term) if isinstance(role, Drawn | Given)} - {None}

    def inputs_only(self, term: Term) -> bool:
        """Whether a term is made of inputs alone."""
        return all(isinstance(role, Given | Defined | Rule) for _, role in self.leaves(term))

    def draws(self, *terms: Term) -> tuple[tuple[Term, Drawn], ...]:
        """The draws that terms depend on."""
        return tuple((t, role) for t, role in self.leaves(*terms) if isinstance(role, Drawn))
