"""Condition iv for noise that a loop draws at every index, with shifts that look at maxima over all draws.

`two_levels` is the order of Lemma 1 for them, `families_one_to_one` the general route.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.search.obligations.obligation import (
    Impossible,
    Independent,
    Obligation,
    own_symbol,
    variable_of,
)
from aligncheck.search.relational.labels import Ledger
from aligncheck.search.relational.paths import Analysis, Cut, Drawing, Path
from aligncheck.search.relational.selection import Gathered, Registry
from aligncheck.search.relational.settled import copied, is_settled, open_in
from aligncheck.search.relational.terms import (
    FALSE,
    TRUE,
    App,
    Ite,
    Kind,
    Sort,
    Sym,
    Term,
    add,
    and_,
    atoms,
    children,
    eq,
    implies,
    le,
    lt,
    not_,
    or_,
    order_key,
    same,
    substitute,
)


def meaning_of(analysis: Analysis, atom: Term) -> Gathered | None:
    """What a symbol is the maximum of, if it is one."""
    return analysis.theory.registry.meaning_of(atom) if isinstance(atom, Sym) else None


def two_levels(
    analysis: Analysis,
    event: Drawing,
    ahead: frozenset[Term],
    values: bool = False,
    known: tuple[Term, ...] = (),
) -> list[Obligation]:
    """Condition iv, acyclic, where a shift reads a maximum over draws that come later.

    Claim: at a generic index of the maximum's set, the draws that its body reads there have shifts that read
    no noise, and the body reads no other maximum.
    Why sound: call those draws of the first level. They depend on nothing, so they may come first in the
    order; every other dependency is on a draw of the first level or on one that is drawn earlier, so there is
    no cycle. A draw whose own shift reads noise is not of the first level, hence not in the set: no shift
    reads its own draw. The facts that are used are about the run on D alone (`known`: what holds of ω).
    With `values` the tests of conditionals are left out, for the Jacobian.
    Source: Definition 5 (acyclic); VLDB paper, Lemma 10 and 12 (the unselected indices come first).
    """
    found = []
    for atom in sorted(ahead, key=order_key):
        meaning = meaning_of(analysis, atom)
        if meaning is None:
            raise InternalError("a set without a meaning")
        index = Sym("other", Sort.INT, Kind.GHOST)
        body = meaning.value(index)
        where = substitute(meaning.where, {meaning.binder: index})
        noisy = _noise_in(analysis)
        clear = [not_(reads(t, noisy)) for t in (where, meaning.low, meaning.high)]
        for read in sorted((a for a in atoms((body,)) if noisy(a)), key=order_key):
            there = reads(body, lambda a, read=read: a == read, values)  # type: ignore[misc]
            clear.append(implies(there, _unmoved_by_noise(analysis, read, index, values)))
        found.append(
            Obligation(
                Condition.INJECTIVE if values else Condition.ACYCLIC,
                (*known, meaning.inside(index)),
                and_(clear),
                f"the shift of `{variable_of(event)}` reads only noise whose own shift reads none",
                event.lines[0] if event.lines else event.span,
                "two_levels",
                related=((event.span, "drawn here"),),
            )
        )
    return found


def _noise_in(analysis: Analysis) -> Callable[[Term], bool]:
    """Whether noise may enter a symbol."""
    return lambda term: isinstance(term, Sym | App) and not is_settled(term, analysis.theory.hidden_in)


def _unmoved_by_noise(analysis: Analysis, read: Sym | App, index: Term, values: bool) -> Term:
    """That the shift of a draw, at an index of a set, reads no noise."""
    draws = [d for p in analysis.paths for d in p.drawings() if own_symbol(d).label == read.label]
    if not draws or (isinstance(read, App) and read.args != (index,)):
        return FALSE
    shifts = [
        d.shift if d.index is None else substitute(d.shift, {d.position: index})
        for d in draws
        if d.index is None or isinstance(d.position, Sym)
    ]
    if len(shifts) != len(draws):
        return FALSE
    return and_(not_(reads(s, _noise_in(analysis), values)) for s in shifts)


def reads(term: Term, wanted: Callable[[Term], bool], values: bool = False) -> Term:
    """A condition that holds wherever the term's value depends on a wanted symbol; conditionals are
    followed. With `values`, outside of their tests only.
    """
    if wanted(term):
        return TRUE
    if isinstance(term, Ite):
        return or_(
            (
                FALSE if values else reads(term.test, wanted),
                and_((term.test, reads(term.then, wanted, values))),
                and_((not_(term.test), reads(term.otherwise, wanted, values))),
            )
        )
    return or_(reads(child, wanted, values) for child in children(term))


# --- the general route ------------------------------------------------------------------------------------


_ONE = Sym("one", Sort.INT, Kind.GHOST)


@dataclass(frozen=True, slots=True)
class _Family:
    """What a loop draws at each index from `low` up to `high`; `event` stands at the loop's counter, the
    terms here at the generic index `_ONE`.
    """

    event: Drawing
    low: Term
    high: Term

    def within(self, index: Term) -> Term:
        return and_((le(self.low, index), lt(index, self.high)))

    def is_like(self, other: _Family) -> bool:
        """Whether one image stands for both: the same values, on the same lattice, moved alike."""
        a, b = self.event, other.event
        alike = (a.left.value, a.left.support, a.left.step) == (b.left.value, b.left.support, b.left.step)
        return alike and (a.shift, a.position) == (b.shift, b.position)

    @property
    def draw(self) -> Term:
        return self._at(self.event.left.value)

    @property
    def shift(self) -> Term:
        return self._at(self.event.shift)

    @property
    def support(self) -> tuple[Term, ...]:
        return tuple(self._at(fact) for fact in self.event.left.support)

    def _at(self, term: Term) -> Term:
        return substitute(term, {self.event.position: _ONE})


def families_one_to_one(analysis: Analysis) -> list[Obligation]:
    """The general route (Theorem 4) for noise that loops draw at every index, once each.

    Claim: two noise functions H and H~ for which the run on D selects alike, and whose images under the
    alignment are equal at every index, are equal at a generic index.
    Why sound: the selections are parts of ω, so φ_ω is only applied to noise with one selection; the images
    are compared at the generic index and at every index at which a maximum of either run is taken, each an
    instance of "the images are equal". A symbol's definition is true of its own run. All noise of the
    mechanism must be of this form, and is compared: then H is determined by its image. H and H~ share nothing
    that noise may enter (`copied`); a shift may only speak of draws and of maxima over them, not of what a
    loop carries on, whose definition is not at hand (`_families`). No maximum is defined by itself
    (`_well_founded`), so the definitions can be met. For the Jacobian see `_unit_triangular`. Ties are left
    out where they have probability 0: φ is then one-to-one outside of a null set.
    Source: section 8, conditions 2 and 4, Theorem 4; design, section 8.
    """
    events = tuple(e for p in analysis.paths for e in p.drawings())
    families = _families(analysis)
    if families is None or not _well_founded(analysis.theory.registry):
        return [_out_of_reach(e) for e in events]
    found: list[Obligation] = []
    for event in events:
        found.append(_equal_draws(analysis, families, event))
        found += _unit_triangular(analysis, event)
    return found


def _families(analysis: Analysis) -> dict[str, _Family] | None:
    """The families by name, or None where some noise is drawn in another way."""
    found: dict[str, _Family] = {}
    for path in analysis.paths:
        for event in path.drawings():
            cut = analysis.cuts[path.origin]
            if cut.counter is None:
                return None
            family = _Family(event, cut.env[Ledger.LOW].left, cut.env[Ledger.HIGH].left)
            if not _draws_everywhere(analysis, cut, path, family):
                return None
            if not found.setdefault(event.name, family).is_like(family):
                return None
    return found


def _draws_everywhere(analysis: Analysis, cut: Cut, path: Path, family: _Family) -> bool:
    """Whether every round of a loop that runs once and to its end makes this draw at its counter, on the same
    lattice, with a shift that speaks of draws and of maxima over them at most, between bounds that no noise
    enters.
    """
    event = family.event
    if cut.counter is None or cut.enclosing or event.index != same(cut.counter):
        return False
    own = [p for p in analysis.paths if p.origin == cut.number]
    rounds = [p for p in own if any(d.taken for d in p.decisions() if d.loop == cut.number)]
    names = [[e.name for e in p.drawings()] for p in rounds]
    changing = {a for v in cut.fresh.values() for a in atoms((v.left, v.right))} - {cut.counter}
    return (
        path.target == cut.number
        and all(p.target == cut.number for p in rounds)
        and all(n.count(event.name) == 1 for n in names)
        and not changing & atoms((event.shift, event.left.value, *event.left.support))
        and all(
            meaning_of(analysis, a) is not None or (isinstance(a, App) and a.kind is Kind.NOISE)
            for a in open_in((family.shift,), analysis.theory.hidden_in)
        )
        and not open_in((family.low, family.high), analysis.theory.hidden_in)
    )


def _well_founded(registry: Registry) -> bool:
    """Whether no maximum's definition leads back to the maximum.

    Why needed: an equation that a number must satisfy with itself may have no solution, and facts without a
    solution prove everything.
    """
    meanings = {**registry.extrema, **registry.indices}
    left = {
        symbol: {a for a in atoms((m.low, m.high, m.where, m.body)) if a in meanings}
        for symbol, m in meanings.items()
        if m is not None
    }
    while left:
        free = [symbol for symbol, others in left.items() if not others & left.keys()]
        if not free:
            return False
        for symbol in free:
            del left[symbol]
    return True


def _out_of_reach(event: Drawing) -> Obligation:
    return Obligation(
        Condition.INJECTIVE,
        (),
        Impossible(
            False,
            "needs loops that draw at each index, shifts that speak of draws and of maxima over them (not of "
            "what a loop carries on), and maxima that are not defined by themselves",
        ),
        "two noise vectors with the same output and the same image are equal",
        event.lines[0] if event.lines else event.span,
        "families_one_to_one",
        related=((event.span, "drawn here"),),
    )


def _equal_draws(analysis: Analysis, families: dict[str, _Family], event: Drawing) -> Obligation:
    registry = analysis.theory.registry
    second = _twin_of(analysis)
    places = [_ONE, *registry.places(), *second.places()]
    known: list[Term] = [families[event.name].within(_ONE)]
    for family in families.values():
        image = add(family.draw, family.shift)
        images = implies(family.within(_ONE), eq(image, copied(image, analysis.theory.hidden_in)))
        support = [(s, copied(s, analysis.theory.hidden_in)) for s in family.support]
        for fact in (images, *(each for both in support for each in both)):
            known += [substitute(fact, {_ONE: place}) for place in places]
    drawn = families[event.name].draw
    goal = eq(drawn, copied(drawn, analysis.theory.hidden_in))
    return Obligation(
        Condition.INJECTIVE,
        (*known, *_all_facts(second, [*known, goal])),
        goal,
        "two noise vectors with the same output and the same image are equal",
        event.lines[0] if event.lines else event.span,
        "families_one_to_one",
        related=((event.span, "drawn here"),),
    )


def _all_facts(registry: Registry, terms: list[Term]) -> list[Term]:
    """What the definitions of the second run say of the symbols that occur, and of those in what they say."""
    found: dict[Term, None] = {}
    while True:
        present = sorted(atoms([*terms, *found]), key=order_key)
        new = [f for f in registry.facts(present) if f not in found]
        if not new:
            return list(found)
        found.update(dict.fromkeys(new))


def _twin_of(analysis: Analysis) -> Registry:
    """The definitions of the second run: of the copies of the symbols, by copies of what they speak of."""
    registry = analysis.theory.registry

    def of(term: Term) -> Term:
        return copied(term, analysis.theory.hidden_in)

    def twin(meaning: Gathered | None) -> Gathered | None:
        if meaning is None:
            return None
        return replace(
            meaning,
            count=None if meaning.count is None else of(meaning.count),
            low=of(meaning.low),
            high=of(meaning.high),
            where=of(meaning.where),
            body=of(meaning.body),
        )

    def twins(table: dict[Sym, Gathered | None]) -> dict[Sym, Gathered | None]:
        """Symbols that no noise enters mean the same in both runs."""
        named = {of(symbol): twin(meaning) for symbol, meaning in table.items()}
        return {s: m for s, m in named.items() if isinstance(s, Sym)}

    return Registry(
        twins(registry.extrema),
        {name: twin(m) for name, m in registry.argmaxima.items()},
        {name: twin(m) for name, m in registry.selections.items()},
        twins(registry.indices),
    )


def _unit_triangular(analysis: Analysis, event: Drawing) -> list[Obligation]:
    """Condition 4 of the general theorem: |det J| = 1.

    Claim: outside of the tests of its conditionals, the shift of a draw reads only draws (through maxima)
    whose own shifts read none, again outside of tests.
    Why sound: there are finitely many pieces, one for each outcome of the tests and each choice of the
    indices at which the maxima are taken; inside a piece a maximum is the value at its index. With the draws
    that are read first, the Jacobian of a piece is triangular with ones on its diagonal. Lattice noise needs
    none of this.
    """
    if event.left.step is not None or not event.lines:
        return []
    shift = substitute(event.shift, {event.position: _ONE})
    read = frozenset(
        a
        for a in open_in((shift,), analysis.theory.hidden_in)
        if reads(shift, lambda b, a=a: a == b, values=True) != FALSE  # type: ignore[misc]
    )
    plain = frozenset(a for a in read if meaning_of(analysis, a) is None)
    found = [
        Obligation(
            Condition.INJECTIVE,
            (),
            Independent(shift, plain, value_only=True),
            f"the alignment of `{variable_of(event)}` is piecewise a translation",
            event.lines[0],
            "_unit_triangular",
        )
    ]
    return found + two_levels(analysis, event, read - plain, values=True)
