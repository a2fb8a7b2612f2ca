"""Sums over sets of indices of any size: functions of what their terms speak of; no more is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from aligncheck.search.relational.ir import (
    ZERO,
    App,
    Nature,
    Sym,
    Term,
    TermSort,
    add,
    atoms,
    ite,
    sort_of,
    substitute,
)
from aligncheck.search.relational.labels import SumForm
from aligncheck.search.relational.maxima import Gathered, expanded

_PUBLIC = (Nature.PARAMETER, Nature.OMEGA)


@dataclass
class Sums:
    """The forms of sums met so far. Two sums of one form over equal numbers are equal: that is all that a
    proof may use.
    """

    forms: dict[tuple[Term, ...], int] = field(default_factory=dict)

    def symbol(self, meaning: Gathered) -> Term:
        """The symbol of a sum, with everything that it depends on besides its index as arguments: an index of
        a set around it, what changes from round to round of a loop.

        Why sound: at a fixed point of the run the symbols that stand at the index (`q(j)`) are fixed
        functions, and what else occurs is an argument. So the sum is a function of the arguments, and the
        form names the function; to put another index in an argument's place is to put it into the sum.
        """
        parts = (meaning.low, meaning.high, meaning.where, meaning.body)
        free = [a for a in meaning.free if not (isinstance(a, App) and meaning.binder in atoms((a,)))]
        marks: dict[Term, Sym] = {
            atom: Sym(f"${place}", sort_of(atom), Nature.GHOST) for place, atom in enumerate(free)
        }
        table: dict[Term, Term] = {meaning.binder: Sym("$index", TermSort.INT, Nature.GHOST), **marks}
        form = tuple(substitute(part, table) for part in parts)
        number = self.forms.setdefault(form, len(self.forms))
        left = atoms(form)
        arguments = tuple(atom for atom, mark in marks.items() if mark in left)
        at_index = [a for a in atoms(parts) if isinstance(a, App) and a not in free]
        kind = Nature.OMEGA if all(a.kind in _PUBLIC for a in at_index) else Nature.SUM
        sort = TermSort.INT if sort_of(meaning.body) is TermSort.INT else TermSort.REAL
        return App(SumForm(number), arguments, sort, kind)

    def hidden_in(self, symbol: Sym | App) -> tuple[Term, ...] | None:
        """What the sum of a symbol is made of, besides the symbol's arguments; None for any other symbol."""
        return next((form for form, number in self.forms.items() if symbol.label == SumForm(number)), None)


def concrete_sum(meaning: Gathered) -> Term:
    """The sum of a set with constant bounds."""
    _, inside, values = expanded(meaning)
    return add(*(ite(here, value, ZERO) for here, value in zip(inside, values, strict=True)))
