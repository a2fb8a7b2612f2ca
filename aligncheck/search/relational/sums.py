"""Sums over sets of indices of any size: functions of what their terms speak of; no more is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from aligncheck.search.relational import ir
from aligncheck.search.relational.labels import SumForm
from aligncheck.search.relational.maxima import Gathered, expanded

_PUBLIC = (ir.Nature.PARAMETER, ir.Nature.OMEGA)


@dataclass
class Sums:
    """The forms of sums met so far. Two sums of one form over equal numbers are equal: that is all that a
    proof may use.
    """

    forms: dict[tuple[ir.Term, ...], int] = field(default_factory=dict)

    def symbol(self, meaning: Gathered) -> ir.Term:
        """The symbol of a sum, with everything that it depends on besides its index as arguments: an index of
        a set around it, what changes from round to round of a loop.

        Why sound: at a fixed point of the run the symbols that stand at the index (`q(j)`) are fixed
        functions, and what else occurs is an argument. So the sum is a function of the arguments, and the
        form names the function; to put another index in an argument's place is to put it into the sum.
        """
        parts = (meaning.low, meaning.high, meaning.where, meaning.body)
        free = [a for a in meaning.free if not (isinstance(a, ir.App) and meaning.binder in ir.atoms((a,)))]
        marks: dict[ir.Term, ir.Sym] = {
            atom: ir.Sym(f"${place}", ir.sort_of(atom), ir.Nature.GHOST) for place, atom in enumerate(free)
        }
        table: dict[ir.Term, ir.Term] = {
            meaning.binder: ir.Sym("$index", ir.TermSort.INT, ir.Nature.GHOST),
            **marks,
        }
        form = tuple(ir.substitute(part, table) for part in parts)
        number = self.forms.setdefault(form, len(self.forms))
        left = ir.atoms(form)
        arguments = tuple(atom for atom, mark in marks.items() if mark in left)
        at_index = [a for a in ir.atoms(parts) if isinstance(a, ir.App) and a not in free]
        kind = ir.Nature.OMEGA if all(a.kind in _PUBLIC for a in at_index) else ir.Nature.SUM
        sort = ir.TermSort.INT if ir.sort_of(meaning.body) is ir.TermSort.INT else ir.TermSort.REAL
        return ir.App(SumForm(number), arguments, sort, kind)

    def hidden_in(self, symbol: ir.Sym | ir.App) -> tuple[ir.Term, ...] | None:
        """What the sum of a symbol is made of, besides the symbol's arguments; None for any other symbol."""
        return next((form for form, number in self.forms.items() if symbol.label == SumForm(number)), None)


def concrete_sum(meaning: Gathered) -> ir.Term:
    """The sum of a set with constant bounds."""
    _, inside, values = expanded(meaning)
    return ir.add(*(ir.ite(here, value, ir.ZERO) for here, value in zip(inside, values, strict=True)))
