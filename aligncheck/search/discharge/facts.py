"""What may be assumed of the atoms of a question: the theory's facts, and theorems about functions
(`relational.operations`).

Trusted. Everything that is no polynomial (roots, exponentials, absolute values, conditionals, symbols at an
index) is an atom: to the solver a variable of its own, with the facts given here, which define or bound it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.relational.ir import (
    ONE,
    TRUE,
    Add,
    And,
    App,
    Cmp,
    Const,
    Div,
    Fn,
    IsInt,
    Ite,
    Mul,
    Not,
    Or,
    Sym,
    Term,
    TermSort,
    Truth,
    add,
    and_,
    eq,
    iff,
    implies,
    le,
    lt,
    or_,
    order_key,
    sort_of,
    subterms,
)
from aligncheck.search.relational.operations import function_facts
from aligncheck.search.relational.theory import Theory

_ROUNDS = 24
"""So often facts about facts are looked up. Leaving a fact out is sound: less is then assumed."""


@dataclass
class Facts:
    """The facts about the atoms of one mechanism, each computed once."""

    theory: Theory
    _of_atom: dict[Term, tuple[Term, ...]] = field(default_factory=dict)
    _of_pair: dict[tuple[Term, Term], tuple[Term, ...]] = field(default_factory=dict)
    _of_sets: dict[frozenset[Term], tuple[Term, ...]] = field(default_factory=dict)
    _atoms: dict[Term, tuple[Term, ...]] = field(default_factory=dict)

    @property
    def has_sets(self) -> bool:
        """Whether there are maxima or selections over sets, about which much may be said."""
        return not self.theory.registry.is_empty

    def about(self, terms: Iterable[Term], *, sets: bool = True) -> list[Term]:
        """The base facts and the facts about every atom of the terms, and of those facts, until nothing new
        occurs, or `_ROUNDS` times: a clause about `b[i - 1]` would go on without end.

        The terms themselves are not among the result: whoever asks says which of them to assume. Without
        `sets`, what maxima and selections over sets mean is left out.
        """
        found: dict[Term, None] = {}
        atoms: dict[Term, None] = {}
        new = [a for term in terms for a in self._atoms_in(term)]
        queue = [canonical(b) for b in self.theory.base]
        for _ in range(_ROUNDS):
            met = [a for a in dict.fromkeys(new) if a not in atoms]
            atoms.update(dict.fromkeys(met))
            queue += [f for a in met for f in self.of(a)]
            if not queue:
                queue += [f for f in self._pairs(list(atoms)) if f not in found]
                queue += [f for f in self._chosen(atoms) if f not in found] if sets else []
            if not queue:
                break
            new = []
            while queue:
                fact = queue.pop()
                if isinstance(fact, And):
                    queue.extend(fact.args)
                elif fact not in found and fact != TRUE:
                    found[fact] = None
                    new += self._atoms_in(fact)
        return list(found)

    def _atoms_in(self, term: Term) -> tuple[Term, ...]:
        known = self._atoms.get(term)
        if known is None:
            known = tuple(t for t in subterms((term,)) if isinstance(t, Sym | App | Fn | Ite))
            self._atoms[term] = known
        return known

    def of(self, atom: Term) -> tuple[Term, ...]:
        """The facts about one atom."""
        known = self._of_atom.get(atom)
        if known is None:
            known = self._of_atom[atom] = _conjuncts(self._about(atom))
        return known

    def _about(self, atom: Term) -> tuple[Term, ...]:
        """Of what is no atom there are no facts."""
        match atom:
            case Sym() | App():
                return self.theory.facts(atom)
            case Fn():
                return function_facts(atom)
            case Ite(test, then, otherwise):
                if sort_of(atom) is TermSort.BOOL:
                    return ()
                return implies(test, eq(atom, then)), or_((test, eq(atom, otherwise)))
            case Const() | Truth() | Add() | Mul() | Div() | Cmp() | Not() | And() | Or() | IsInt():
                return ()

    def _chosen(self, atoms: Iterable[Term]) -> tuple[Term, ...]:
        """What maxima and selections over sets mean, at the indices that occur."""
        registry = self.theory.registry
        if registry.is_empty:
            return ()
        present = frozenset(a for a in atoms if isinstance(a, Sym | App))
        known = self._of_sets.get(present)
        if known is None:
            in_order = sorted(present, key=order_key)
            known = self._of_sets[present] = _conjuncts(registry.facts(in_order))
        return known

    def _pairs(self, atoms: list[Term]) -> Iterator[Term]:
        """Equal arguments give equal values (Ackermann); exp is increasing; prefix sums grow."""
        groups: dict[tuple[type, str, TermSort], list[App | Fn]] = {}
        for atom in atoms:
            if isinstance(atom, App | Fn) and not (isinstance(atom, Fn) and atom.name == "abs"):
                groups.setdefault((type(atom), atom.name, sort_of(atom)), []).append(atom)
        for group in groups.values():
            for pair in combinations(group, 2):
                known = self._of_pair.get(pair)
                if known is None:
                    known = self._of_pair[pair] = _conjuncts(self._of_two(*pair))
                yield from known

    def _of_two(self, a: App | Fn, b: App | Fn) -> Iterator[Term]:
        if isinstance(a, Fn) and a.name == "exp":
            yield iff(lt(a.args[0], b.args[0]), lt(a, b))
            return
        if isinstance(a, Fn) and a.name == "floor":
            # Both are integers, and floor is increasing.
            x, y = a.args[0], b.args[0]
            yield and_((implies(le(x, y), le(a, b)), implies(le(y, x), le(b, a))))
            yield or_((le(a, b), le(add(b, ONE), a)))
            yield or_((le(a, add(b, ONE)), le(add(b, add(ONE, ONE)), a)))
            yield or_((le(b, add(a, ONE)), le(add(a, add(ONE, ONE)), b)))
            return
        alike = and_(eq(x, y) for x, y in zip(a.args, b.args, strict=True))
        yield implies(alike, iff(a, b) if sort_of(a) is TermSort.BOOL else eq(a, b))
        yield from self.theory.pairwise([x for x in (a, b) if isinstance(x, App)])


def _conjuncts(facts: Iterable[Term]) -> tuple[Term, ...]:
    """The facts in normal form, conjunctions taken apart."""
    found: list[Term] = []
    for fact in facts:
        whole = canonical(fact)
        found.extend(whole.args if isinstance(whole, And) else (whole,))
    return tuple(f for f in found if f != TRUE)
