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
from aligncheck.search.relational import ir
from aligncheck.search.relational.operations import function_facts
from aligncheck.search.relational.theory import Theory

_ROUNDS = 24
"""So often facts about facts are looked up. Leaving a fact out is sound: less is then assumed."""


@dataclass
class Facts:
    """The facts about the atoms of one mechanism, each computed once."""

    theory: Theory
    _of_atom: dict[ir.Term, tuple[ir.Term, ...]] = field(default_factory=dict)
    _of_pair: dict[tuple[ir.Term, ir.Term], tuple[ir.Term, ...]] = field(default_factory=dict)
    _of_sets: dict[frozenset[ir.Term], tuple[ir.Term, ...]] = field(default_factory=dict)
    _atoms: dict[ir.Term, tuple[ir.Term, ...]] = field(default_factory=dict)

    @property
    def has_sets(self) -> bool:
        """Whether there are maxima or selections over sets, about which much may be said."""
        return not self.theory.registry.is_empty

    def about(self, terms: Iterable[ir.Term], *, sets: bool = True) -> list[ir.Term]:
        """The base facts and the facts about every atom of the terms, and of those facts, until nothing new
        occurs, or `_ROUNDS` times: a clause about `b[i - 1]` would go on without end.

        The terms themselves are not among the result: whoever asks says which of them to assume. Without
        `sets`, what maxima and selections over sets mean is left out.
        """
        found: dict[ir.Term, None] = {}
        atoms: dict[ir.Term, None] = {}
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
                if isinstance(fact, ir.And):
                    queue.extend(fact.args)
                elif fact not in found and fact != ir.TRUE:
                    found[fact] = None
                    new += self._atoms_in(fact)
        return list(found)

    def _atoms_in(self, term: ir.Term) -> tuple[ir.Term, ...]:
        known = self._atoms.get(term)
        if known is None:
            known = tuple(t for t in ir.subterms((term,)) if isinstance(t, ir.Sym | ir.App | ir.Fn | ir.Ite))
            self._atoms[term] = known
        return known

    def of(self, atom: ir.Term) -> tuple[ir.Term, ...]:
        """The facts about one atom."""
        known = self._of_atom.get(atom)
        if known is None:
            known = self._of_atom[atom] = _conjuncts(self._about(atom))
        return known

    def _about(self, atom: ir.Term) -> tuple[ir.Term, ...]:
        """Of what is no atom there are no facts."""
        match atom:
            case ir.Sym() | ir.App():
                return self.theory.facts(atom)
            case ir.Fn():
                return function_facts(atom)
            case ir.Ite(test, then, otherwise):
                if ir.sort_of(atom) is ir.TermSort.BOOL:
                    return ()
                return ir.implies(test, ir.eq(atom, then)), ir.or_((test, ir.eq(atom, otherwise)))
            case (
                ir.Const()
                | ir.Truth()
                | ir.Add()
                | ir.Mul()
                | ir.Div()
                | ir.Cmp()
                | ir.Not()
                | ir.And()
                | ir.Or()
                | ir.IsInt()
            ):
                return ()

    def _chosen(self, atoms: Iterable[ir.Term]) -> tuple[ir.Term, ...]:
        """What maxima and selections over sets mean, at the indices that occur."""
        registry = self.theory.registry
        if registry.is_empty:
            return ()
        present = frozenset(a for a in atoms if isinstance(a, ir.Sym | ir.App))
        known = self._of_sets.get(present)
        if known is None:
            in_order = sorted(present, key=ir.order_key)
            known = self._of_sets[present] = _conjuncts(registry.facts(in_order))
        return known

    def _pairs(self, atoms: list[ir.Term]) -> Iterator[ir.Term]:
        """Equal arguments give equal values (Ackermann); exp is increasing; prefix sums grow."""
        groups: dict[tuple[type, str, ir.TermSort], list[ir.App | ir.Fn]] = {}
        for atom in atoms:
            if isinstance(atom, ir.App | ir.Fn) and not (isinstance(atom, ir.Fn) and atom.name == "abs"):
                groups.setdefault((type(atom), atom.name, ir.sort_of(atom)), []).append(atom)
        for group in groups.values():
            for pair in combinations(group, 2):
                known = self._of_pair.get(pair)
                if known is None:
                    known = self._of_pair[pair] = _conjuncts(self._of_two(*pair))
                yield from known

    def _of_two(self, a: ir.App | ir.Fn, b: ir.App | ir.Fn) -> Iterator[ir.Term]:
        if isinstance(a, ir.Fn) and a.name == "exp":
            yield ir.iff(ir.lt(a.args[0], b.args[0]), ir.lt(a, b))
            return
        if isinstance(a, ir.Fn) and a.name == "floor":
            # Both are integers, and floor is increasing.
            x, y = a.args[0], b.args[0]
            yield ir.and_((ir.implies(ir.le(x, y), ir.le(a, b)), ir.implies(ir.le(y, x), ir.le(b, a))))
            yield ir.or_((ir.le(a, b), ir.le(ir.add(b, ir.ONE), a)))
            yield ir.or_((ir.le(a, ir.add(b, ir.ONE)), ir.le(ir.add(b, ir.add(ir.ONE, ir.ONE)), a)))
            yield ir.or_((ir.le(b, ir.add(a, ir.ONE)), ir.le(ir.add(a, ir.add(ir.ONE, ir.ONE)), b)))
            return
        alike = ir.and_(ir.eq(x, y) for x, y in zip(a.args, b.args, strict=True))
        yield ir.implies(alike, ir.iff(a, b) if ir.sort_of(a) is ir.TermSort.BOOL else ir.eq(a, b))
        yield from self.theory.pairwise([x for x in (a, b) if isinstance(x, ir.App)])


def _conjuncts(facts: Iterable[ir.Term]) -> tuple[ir.Term, ...]:
    """The facts in normal form, conjunctions taken apart."""
    found: list[ir.Term] = []
    for fact in facts:
        whole = canonical(fact)
        found.extend(whole.args if isinstance(whole, ir.And) else (whole,))
    return tuple(f for f in found if f != ir.TRUE)
