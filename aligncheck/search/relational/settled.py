"""What a term depends on: the one place that answers it, for the order of draws, the second noise vector of
the general route, ties, the Jacobian and condition v alike.

`Made` is the noise that is fixed at a point of a path, as an explicit list in the order in which it came to
be. A symbol is `settled` there if everything on which its value may depend is in that list. The answer looks
through every definition; a symbol that has none depends on all noise that can precede it, so it is settled
only where it is listed itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from aligncheck.search.relational.ir import App, Nature, Sym, Term, atoms, rebuilt
from aligncheck.search.relational.labels import Copy

Definition: TypeAlias = Callable[[Sym | App], "tuple[Term, ...] | None"]
"""The terms that decide a symbol's value besides its arguments; None where none are kept."""


@dataclass(frozen=True, slots=True)
class SettledSymbol:
    """A symbol whose value is fixed, and the variable or call that it belongs to (None: to no single one).

    With `whole` it is a draw of a loop that has ended and stands for the draws at all indices: all draws that
    there ever are of the variable.
    """

    symbol: Sym | App
    owner: str | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """What is fixed at a point of a path, oldest first."""

    entries: tuple[SettledSymbol, ...] = ()

    def then(self, *entries: SettledSymbol) -> Made:
        """With what came to be fixed next."""
        new = tuple(e for e in dict.fromkeys(entries) if e not in self.entries)
        return Made((*self.entries, *new)) if new else self

    def without(self, owners: frozenset[str]) -> Made:
        """Less what belongs to variables and calls that are about to change."""
        return Made(tuple(e for e in self.entries if e.owner not in owners))

    def has(self, atom: Sym | App) -> bool:
        """Whether a symbol itself is listed, or stands at an index of a whole loop's draws."""
        return any(e.symbol == atom or (e.whole and e.symbol.label == atom.label) for e in self.entries)


NOTHING = Made()


def common(several: Iterable[Made]) -> Made:
    """What is fixed on each of several ways to one point."""
    first, *others = several
    return Made(tuple(e for e in first.entries if all(e in other.entries for other in others)))


GIVEN = (Nature.PARAMETER, Nature.DATA, Nature.DISTANCE, Nature.GHOST)
"""Inputs and generic indices: the same number whatever the noise."""

FREE = (*GIVEN, Nature.OMEGA)
"""With the parts of ω, of which an alignment may speak at any time (rule 4). The index of a round is not
among them: which round a loop was left in may depend on noise.
"""


def is_settled(
    atom: Sym | App, definition: Definition, made: Made = NOTHING, free: tuple[Nature, ...] = FREE
) -> bool:
    """Whether noise outside of `made` cannot change a symbol's value; what is `free` counts as no noise.

    Sound: a symbol that is listed was fixed by then. Any other is settled only if its arguments are, and all
    that its definition speaks of; a definition that leads back to itself settles nothing.
    """

    known: dict[Term, bool] = {}

    def settled(each: Sym | App) -> bool:
        if each not in known:
            known[each] = False  # for a definition that leads back here
            hidden = () if each.kind in free or made.has(each) else definition(each)
            if hidden is not None:
                arguments = each.args if isinstance(each, App) else ()
                known[each] = all(settled(a) for a in atoms((*arguments, *hidden)))
        return known[each]

    return settled(atom)


def open_in(terms: Iterable[Term], definition: Definition, made: Made = NOTHING) -> frozenset[Sym | App]:
    """The symbols of some terms that noise outside of `made` may change. Of a function of D, of public
    numbers or of ω at an index that noise may change it is the index that is given.
    """
    return frozenset(a for a in atoms(terms) if a.kind not in FREE and not is_settled(a, definition, made))


def copied(term: Term, definition: Definition, made: Made = NOTHING) -> Term:
    """A term in a second run that shares with the first what is settled, and nothing else: every other symbol
    has a copy of its own.

    Sound whatever the copies mean: of a copy without a definition nothing is known.
    """
    memo: dict[Term, Term] = {}

    def go(t: Term) -> Term:
        done = memo.get(t)
        if done is None:
            done = rebuilt(t, go)
            if isinstance(t, Sym | App) and not is_settled(t, definition, made):
                done = _renamed(done)
            memo[t] = done
        return done

    return go(term)


def _renamed(term: Term) -> Term:
    """The copy of a symbol. Functions of D, of public numbers and of ω are the same in every run."""
    if isinstance(term, Sym) and term.kind not in FREE:
        return Sym(Copy(term.label), term.sort, term.kind)
    if isinstance(term, App) and term.kind not in FREE:
        return App(Copy(term.label), term.args, term.sort, term.kind)
    return term
