"""Sets of indices: the greatest and the least value, the index at which it is taken, and sums.

The symbol of a set is a function of all indices around it; private answers and noise in it are those of the
run it is evaluated for, and it is evaluated anew for each run. What is known of it are general formulas over
the indices, under the guard for which it was shown to exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.evaluate import NAMED, OPERATIONS, Evaluator
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.state import Mode, Path, Scope
from aligncheck.kernel.symbols import Defined
from aligncheck.kernel.terms import (
    Term,
    absolute,
    alike,
    anatomy,
    both,
    either,
    implies,
    real,
    same,
    subterms,
)
from aligncheck.kernel.witness import own
from aligncheck.language.syntax import nodes as n

GREATEST = ("max", "argmax")
PLACES = ("argmax", "argmin")
EXTREMA = ("max", "min", *PLACES)


@dataclass(frozen=True, slots=True)
class Opened:
    """A set as one run sees it. The index `j` is in it where `within` holds: between `low` and `high`, and
    where it is `chosen`; `body` is the value there.
    """

    j: Term
    within: Term
    body: Term
    low: Term
    high: Term
    chosen: Term

    def at(self, i: Term) -> Opened:
        """The same, at another index."""
        within, body = (z3.substitute(term, (self.j, i)) for term in (self.within, self.body))
        return replace(self, j=i, within=within, body=body)


@dataclass(frozen=True, slots=True)
class Folded:
    """What the values of a set come to: a sum, or its logarithm, the greatest or the least. `place` is an
    index of the set: that of the extremum, of a value that is as small as the sum tells, or any.
    """

    value: Term
    place: Term
    over: Opened


class Sets(Evaluator):
    """Values of set expressions."""

    log_sum: Callable[[n.Gather, Scope], Term]
    """The logarithm of a sum of exponentials: in the layer of densities."""

    def another(self, taken: tuple[Term, ...]) -> Term:
        """An arbitrary whole number that is none of those around a place: the index of a set there."""
        names = (f"j{k}" for k in range(len(taken) + 1))
        return next(j for x in names for j in self.arbitrary(x) if not any(same(j, t) for t in taken))

    def ends(self, over: n.Indices | n.OverQueries | n.OverRange, scope: Scope) -> tuple[Term, Term]:
        """The first index of a range, and the one after the last."""
        match over:
            case n.Indices(base=base) | n.OverQueries(base=base):
                if base not in self.lists or base in self.single:
                    raise Reject("form", over.span, f"`{base}` is no list")
                return self.symbols.zero, self.lengths[base]
            case n.OverRange(low=low, high=high):
                return self.whole_number(low, scope), self.whole_number(high, scope)

    def opened(self, g: n.Gather, scope: Scope, number: bool = True) -> Opened:
        """A set as one run sees it, and its values (real ones, if they must be numbers)."""
        used = {name for name, _ in scope.bound}
        named = (self.public, self.lists, self.noise, self.functions, self.called, scope.path.values, used)
        if any(g.index in names for names in named):
            raise Reject("form", g.span, f"`{g.index}` has a meaning around this set")
        j, (low, high) = self.another(scope.generic), self.ends(g.over, scope)
        within, chosen = both(low <= j, j < high), self.symbols.true
        scope = scope.binding(g.index, j, True)
        if g.where is not None:
            chosen = self.truth(g.where, replace(scope.under(within), testing=True))
            within = both(within, chosen)
        body = (self.number if number else self.value)(g.body, scope.under(within))
        found = Opened(j, within, real(body) if number else body, low, high, chosen)
        return self._named(found, scope.path) if g.function in (*EXTREMA, *n.SELECTING) else found

    def _named(self, found: Opened, path: Path) -> Opened:
        """The set with another name for its index where no symbol is applied to that itself, as in `eta[r*n +
        j]`: what is known for all indices is used at those that have such a name (see `Decider`).
        """
        j, inside = anatomy(found.j), [*subterms(found.within), *subterms(found.body)]
        if j not in subterms(found.body) or any(t.symbol and j in t.parts for t in inside):
            return found
        name = self.whole_rule(NAMED, found.j)
        path.fact(Kind.RUN, name == found.j, (found.j,))
        return replace(found.at(name), j=found.j)

    def gathered(self, g: n.Gather, scope: Scope) -> Term:
        """The value of a set expression."""
        if g.function == n.LOG_SUM and scope.mode is not Mode.LEVEL:
            return self.log_sum(g, scope)
        if scope.mode is not Mode.LEVEL and (g.function not in (*EXTREMA, "sum") or g.count is not None):
            text = f"`{g.function}` stands alone on the right of `=`, under no test, and before any `break`"
            raise Reject("language", g.span, text)
        if g.function == "sum":  # where only is asked what it depends on, its terms tell that
            found, asked = self._summands(g, scope), scope.mode is Mode.LEVEL
            return real(self._up_to(found)(found.high)) if asked else self._total(found, scope)
        found = self.opened(g, replace(scope, testing=scope.testing or g.function in PLACES))
        if g.function not in EXTREMA:
            return self.held(g.function, self.symbols.REAL)
        one = self.folded("greatest" if g.function in GREATEST else "least", found)
        if scope.mode is not Mode.LEVEL:  # where only is asked what it depends on: its terms tell that
            self.exists(g, found, scope)
            self.define_extremum(g.function, one, self.kind(scope), scope)
        return one.place if g.function in PLACES else one.value

    # --- maxima -------------------------------------------------------------------------------------------

    def exists(self, g: n.Gather, found: Opened, scope: Scope) -> None:
        """That the set is not empty; some of a few candidates is in it. A program's set on D' is not asked
        for: the same operation was shown to be defined in every run on every input. All else is decided at
        once, before anything is stated of the extremum.
        """
        kind = self.kind(scope)
        if kind is Kind.TWIN or (scope.mode is Mode.PROGRAM and scope.run == 1):
            return
        candidates = [found.low, found.high - 1, *(w.other for w in scope.path.selections.values())]
        candidates += [p for p in self.public.values() if z3.is_int(p)]
        candidates += self.taken_at
        relation = self.scope(Mode.RELATION, scope.path, self.spec.span)
        candidates += [self.whole_number(e, relation) for e in self.witness.indices]
        some = either(self.symbols.false, *(found.at(c).within for c in candidates))
        # What is defined is a fact of this kind: it must not rest on a kind that is known later.
        text = f"{g.function} over at least one index"
        self.prove(scope.path, "defined", scope.place, text, implies(scope.guard, some), kind)

    def around(self, j: Term, *terms: Term) -> tuple[Term, ...]:
        """The arbitrary indices that the terms of a set contain besides its own, whether its scope knows them
        to be arbitrary or whoever asks makes them so: its symbol is a function of these. All else in the
        terms is fixed on a path, and has another symbol where it may be another thing.
        """
        inside = {t for term in terms for t in subterms(term)} - {anatomy(j)}
        return tuple(g for g in self.indices if anatomy(g) in inside)

    def folded(self, word: str, found: Opened) -> Folded:
        """The symbols of one set: the same for the same set, since its terms say all about it."""
        s, around = self.symbols, self.around(found.j, found.within, found.body)
        # The index of the set, under one name wherever the set stands; none of the indices around it has it.
        named = found.at(self.another(around))
        value = self.of_set(word, s.REAL, around, named.within, named.body)
        place = self.of_set(f"place of the {word}", s.INT, around, named.within, named.body)
        if not around and not any(same(place, other) for other in self.taken_at):
            self.taken_at.append(place)
        return Folded(value, place, found)

    def of_set(self, word: str, sort: Any, around: tuple[Term, ...], *parts: Term) -> Term:
        """A symbol of a set: a function of the indices around it, the same for the same parts."""
        domain, role = tuple(self.symbols.INT for _ in around), Defined(parts)
        key = (word, *map(anatomy, (*parts, *around)))
        return self.kept(key, lambda: self.symbols.function(word, domain, sort, role))(*around)

    def define_extremum(self, function: str, one: Folded, kind: Kind, scope: Scope) -> None:
        """What holds of an extremum of a set that is not empty: it is taken, at the least such index, and
        never exceeded.
        """
        there, j, body = one.over.at(one.place), one.over.j, one.over.body
        beyond = body <= one.value if function in GREATEST else body >= one.value
        self.state(kind, scope, both(there.within, there.body == one.value))
        first = implies(j < one.place, body != one.value)
        self.state(kind, scope, implies(one.over.within, both(beyond, first)), j)

    # --- sums ---------------------------------------------------------------------------------------------

    def added(self, op: str, sums: tuple[n.Gather, n.Gather], scope: Scope) -> Term:
        """Two sums over one range, added or subtracted: the sum of their terms, added or subtracted. (What D
        and D' are apart is left as it is: of that is said more, and of the two sums.)
        """
        one, other = (self._summands(g, scope) for g in sums)
        if self.symbols.runs_of(one.body) != self.symbols.runs_of(other.body):
            return OPERATIONS[op](*(self._total(each, scope) for each in (one, other)))
        together = replace(one, body=OPERATIONS[op](*alike(one.body, other.body)))
        parts = alike(*(self._up_to(each)(each.high) for each in (one, other)))
        scope.path.fact(Kind.RUN, self._up_to(together)(one.high) == OPERATIONS[op](*parts), scope.generic)
        return self._total(together, scope)

    def _summands(self, g: n.Gather, scope: Scope) -> Opened:
        """A set with the terms of its sum: whole numbers if they may be, and 0 for what is not chosen."""
        found, s = self.opened(g, scope), self.symbols
        whole = z3.is_app_of(found.body, z3.Z3_OP_TO_REAL)
        body, none = (found.body.arg(0), s.zero) if whole else (found.body, s.none)
        return replace(found, body=z3.If(found.chosen, body, none))

    def _up_to(self, found: Opened) -> Callable[[Term], Term]:
        """The sum of the terms up to an index."""
        inner = self.around(found.j, found.body, found.low)
        parts = (found.at(self.another(inner)).body, found.low)
        domain, role = (self.symbols.INT,) * (len(inner) + 1), Defined(parts)
        key = ("sum", *map(anatomy, (*parts, *inner)))
        made = self.kept(key, lambda: self.symbols.function("sum", domain, found.body.sort(), role))
        return lambda end: made(*inner, end)

    def _total(self, found: Opened, scope: Scope) -> Term:
        """The sum over a set, by the sums up to an index, which are the same wherever a range ends. These
        equations define a function of the terms, so they hold in every run. Over some range what is not
        positive has a term that is not, and what is negative a negative one. Of whole numbers it is a whole
        number. A count is no further from 0 than the range is long, or has a term further from 0 than 1.
        """
        s, j, low, high, term = self.symbols, found.j, found.low, found.high, found.body
        around, up_to = self.around(j, term, low, high), self._up_to(found)
        value, of_end = up_to(high), [g for g in scope.generic if same(high, g + 1)]

        def known(formula: Term, *more: Term) -> None:
            """For all indices around it; also where the end of the range is called by a name."""
            scope.path.fact(Kind.RUN, formula, (*scope.generic, *more))
            for g in of_end:
                [end] = self.arbitrary("end")
                named = z3.substitute(formula, (high, end), (g, end - 1))
                scope.path.fact(Kind.RUN, named, (*scope.generic, *more, end))

        known(both(up_to(low) == 0, implies(high <= low, value == 0)))
        step = up_to(j + 1) == up_to(j) + term
        known(implies(both(low <= j, j < high), step), j)

        def place(word: str, *more: Term) -> Term:
            return self.of_set(word, s.INT, around, term, low, high, *more)

        one = Folded(value, place("least"), replace(found, within=both(low <= j, j < high)))
        least, beyond = one.over.at(one.place), one.over.at(place("beyond"))
        such = both(least.within, least.body <= 0, either(value >= 0, least.body < 0))
        known(either(value > 0, high <= low, such))
        far = both(beyond.within, absolute(beyond.body) > 1)
        if _counts(term):
            known(either(high <= low, absolute(value) <= high - low, far))
        totals: list[Folded] = self.kept(("totals", *map(anatomy, (low, high, *around))), list)
        totals += [one] * all(not same(o.value, value) for o in totals)
        runs, read = self.symbols.runs_of(term), self._read_in(term)
        others = [o for o in totals if not same(o.value, value) and self._read_in(o.over.body) == read]
        for other in (o for o in others if not runs or runs != self.symbols.runs_of(o.over.body)):
            apart = (f"apart {number}" for number in range(4 + len(self.sizes)))
            places = [place(word, other.over.at(j).body) for word in apart]
            for formula in self._apart(one, other, places):
                known(formula, j)
        return real(value)

    def _read_in(self, term: Term) -> set[str]:
        """The lists that a term reads, in any run."""
        symbols = {leaf.decl().get_id() for leaf, _ in self.symbols.leaves(term)}
        return {x for x, runs in self.lists.items() if not symbols.isdisjoint(f.get_id() for f in runs)}

    @property
    def sizes(self) -> dict[str, Any]:
        """For lists whose answers move by so much in all, how far those below an index do."""
        return {x: self.moved[own("moved", x)] for x in self.lists if own("moved", x) in self.moved}

    def _apart(self, one: Folded, other: Folded, places: list[Term]) -> Iterator[Term]:
        """Two sums over one range are apart by what their terms are apart at the places where they are: none,
        one, two, or three and more, of which no more is said than answers move at. And by no more than the
        range's length times what one of the terms is apart; and than the answers of a list in the range move
        in all, unless the terms do further at one of them, which need not be one for all lists. Only what
        adjacency may need is said, so nothing of two sums of answers, or draws, of one run, or of two that
        read different lists.
        """
        apart, low, high, j = one.value - other.value, one.over.low, one.over.high, one.over.j
        ways = [g.adjacency for g in self.spec.inputs if isinstance(g, n.Queries)]
        here, many = [one.over.at(p) for p in places], min(2, sum(len(way.ways) for way in ways))
        steps = [at.body - other.over.at(at.j).body for at in here]
        known, so_far = apart == 0, self.symbols.none
        for k, (at, step) in enumerate(zip(here[: many + 1], steps, strict=False)):
            there = both(at.within, step != 0, *(at.j != q for q in places[:k]))
            yield either(known, there)
            if k < many:
                differ = one.over.body != other.over.at(j).body
                yield implies(both(one.over.within, differ, *(j != q for q in places[:k])), there)
            so_far = so_far + step
            known = either(z3.Not(there), apart == so_far)
        far, most, *further = (absolute(x) for x in (apart, *steps[3:]))
        if any(not way.ways and not way.in_all for way in ways):
            yield either(apart == 0, both(here[3].within, far <= (high - low) * most))
        for (x, moved), at, step in zip(self.sizes.items(), here[4:], further, strict=True):
            on_d, on_other, _ = self.lists[x]
            inside = both(low >= 0, low <= high, high <= self.lengths[x])
            beyond = both(at.within, step > absolute(real(on_other(at.j)) - real(on_d(at.j))))
            yield implies(inside, either(far <= moved(high) - moved(low), beyond))


def _counts(term: Term) -> bool:
    """Whether it is one of some numbers that are written out, or whole."""
    if z3.is_app_of(term, z3.Z3_OP_ITE):
        return all(map(_counts, term.children()[1:]))
    return bool(z3.is_int(term) or z3.is_rational_value(term))
