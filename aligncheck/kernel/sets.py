"""Sets of indices: the greatest and the least value, the index at which it is taken, and sums.

The symbol of a set is a function of all indices around it; private answers and noise in it are those of the
run it is evaluated for, and it is evaluated anew for each run. What is known of it are general formulas over
the indices, under the guard for which it was shown to exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.evaluate import Evaluator
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.state import Mode, Path, Scope
from aligncheck.kernel.symbols import Defined
from aligncheck.kernel.terms import Term, anatomy, both, either, implies, real, same, subterms
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in

GREATEST = ("max", "argmax")
PLACES = ("argmax", "argmin")
EXTREMA = ("max", "min", *PLACES)
KINDS = (Kind.RUN, Kind.TOLD, Kind.WHOLE, Kind.PRIME)


class Sets(Evaluator):
    """Values of set expressions."""

    def prepare_sets(self) -> None:
        """No set has been met yet."""
        self.called = {s.name for s in statements_in(self.spec.body) if isinstance(s, n.Invoke)}
        self.late_places: dict[str, tuple[Term, ...]] = {}
        self.pool: list[Term] = []
        self.made_sets: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.totals: list[tuple[tuple[Any, ...], Term, Callable[[Term], Term]]] = []

    def generic(self, depth: int) -> Term:
        """An arbitrary whole number: the index of a set with `depth` indices around it. No fact is ever
        stated of it but for all numbers in its place, so that one symbol serves all sets of that depth.
        """
        while len(self.pool) <= depth:
            self.pool.append(self.index("j"))
        return self.pool[depth]

    def another(self, taken: tuple[Term, ...]) -> Term:
        """An arbitrary whole number that is none of those around a place."""
        return next(g for g in map(self.generic, count()) if not any(same(g, x) for x in taken))

    def ends(self, over: n.Indices | n.OverRange, path: Path, run: int, scope: Scope) -> tuple[Term, Term]:
        """The first index of a range, and the one after the last."""
        match over:
            case n.Indices(base=base):
                if base not in self.lists or base in self.single:
                    raise Reject("form", over.span, f"`{base}` is no list")
                return self.symbols.zero, self.lengths[base]
            case n.OverRange(low=low, high=high):
                return self.whole_number(low, path, run, scope), self.whole_number(high, path, run, scope)

    def inside(
        self,
        over: n.Indices | n.OverRange,
        where: n.Expr | None,
        name: str,
        j: Term,
        path: Path,
        run: int,
        scope: Scope,
    ) -> tuple[Term, Term, Term]:
        """That `j` is in a set, and the two ends of its range."""
        low, high = self.ends(over, path, run, scope)
        within = both(low <= j, j < high)
        if where is not None:
            tested = replace(scope.binding(name, j, True).under(within), testing=True)
            within = both(within, self.truth(where, path, run, tested))
        return within, low, high

    def opened(
        self, g: n.Gather, j: Term, path: Path, run: int, scope: Scope
    ) -> tuple[Term, Term, Term, Term]:
        """That `j` is in the set, the value there as a real number, and the ends of the range."""
        within, body, low, high = self._opened(g, j, path, run, scope)
        if z3.is_bool(body):
            self.ill_sorted(g, "a number is needed here")
        return within, real(body), low, high

    def _opened(
        self, g: n.Gather, j: Term, path: Path, run: int, scope: Scope
    ) -> tuple[Term, Term, Term, Term]:
        used = {name for name, _ in scope.bound}
        named = (self.public, self.lists, self.noise, self.functions, self.called, path.values, used)
        if any(g.index in names for names in named):
            raise Reject("form", g.span, f"`{g.index}` has a meaning around this set")
        within, low, high = self.inside(g.over, g.where, g.index, j, path, run, scope)
        body = self.value(g.body, path, run, scope.binding(g.index, j, True).under(within))
        return within, body, low, high

    def entry(self, g: n.Gather, j: Term, path: Path, run: int, scope: Scope) -> tuple[Term, Term, Term]:
        """The value of `list(E for j in …)` at an index, and the ends of the range."""
        _, body, low, high = self._opened(g, j, path, run, scope)
        return body, low, high

    def gathered(self, g: n.Gather, path: Path, run: int, scope: Scope) -> Term:
        """The value of a set expression."""
        if scope.mode is Mode.LEVEL:
            j = self.another(scope.generic)
            within, body, _, _ = self.opened(g, j, path, run, scope)
            if g.function in EXTREMA:  # its terms tell what it depends on
                value, place = self._extremum_symbols(g.function, within, body, j)
                return place if g.function in PLACES else value
            return self.held(g.function, self.symbols.REAL)
        if g.function == n.LOG_SUM:
            return self.log_sum(g, path, run, scope)
        if g.function not in (*EXTREMA, "sum") or g.count is not None:
            raise Reject(
                "language", g.span, f"`{g.function}` stands alone on the right of `=`, at the top level"
            )
        j = self.another(scope.generic)
        places = replace(scope, testing=scope.testing or g.function in PLACES)
        within, body, low, high = self.opened(g, j, path, run, places)
        if g.function == "sum":
            return self._total(within, body, low, high, j, path, scope)
        self._exists(g, within, low, high, j, path, run, scope)
        value, place = self._extremum_symbols(g.function, within, body, j)
        self.define_extremum(g.function, within, body, value, place, j, path, self.kind(scope, run), scope)
        return place if g.function in PLACES else value

    def log_sum(self, g: n.Gather, path: Path, run: int, scope: Scope) -> Term:
        """The logarithm of a sum of exponentials: in the layer of densities."""
        raise NotImplementedError

    # --- maxima -------------------------------------------------------------------------------------------

    def _exists(
        self, g: n.Gather, within: Term, low: Term, high: Term, j: Term, path: Path, run: int, scope: Scope
    ) -> None:
        """That the set is not empty; some of a few candidates is in it. A program's set on D' is not asked
        for: the same operation was shown to be defined in every run on every input. All else is decided at
        once, before anything is stated of the extremum.
        """
        if self.kind(scope, run) is Kind.TWIN or (scope.mode is Mode.PROGRAM and run == 1):
            return
        some = self.some_index(within, low, high, j, path)
        # What is defined is a fact of some kind: it must not rest on a kind that is known later.
        kinds = KINDS[: KINDS.index(self.kind(scope, run)) + 1]
        goal = implies(scope.guard, some)
        self.prove(path, "defined", scope.place, f"{g.function} over at least one index", goal, kinds)

    def some_index(self, within: Term, low: Term, high: Term, j: Term, path: Path) -> Term:
        """That one of some candidates is in a set."""
        candidates = [low, high - 1, *(w.other for w in self.selections.values())]
        candidates += [p for p in self.public.values() if z3.is_int(p)]
        candidates += [places[1] for places in self.late_places.values()]
        scope = Scope(Mode.RELATION, self.symbols.true, self.spec.span)
        candidates += [self.whole_number(e, path, 0, scope) for e in self.witness.indices]
        return either(self.symbols.false, *(z3.substitute(within, (j, c)) for c in candidates))

    def around(self, j: Term, *terms: Term) -> tuple[Term, ...]:
        """The arbitrary indices that the terms of a set contain besides its own, whether its scope knows them
        to be arbitrary or whoever asks makes them so: its symbol is a function of these. All else in the
        terms is fixed on a path, and has another symbol where it may be another thing.
        """
        inside = {t for term in terms for t in subterms(term)} - {anatomy(j)}
        return tuple(g for g in self.indices if anatomy(g) in inside)

    def _extremum_symbols(self, function: str, within: Term, body: Term, j: Term) -> tuple[Term, Term]:
        """The symbols of one set: the same for the same set, since its terms say all about it."""
        s, around = self.symbols, self.around(j, within, body)
        family = "greatest" if function in GREATEST else "least"
        # The index of the set, under one name wherever the set stands; none of the indices around it has it.
        own = self.another(around)
        within, body = (z3.substitute(term, (j, own)) for term in (within, body))
        key = (family, *map(anatomy, (within, body, *around)))
        if key not in self.made_sets:
            domain, role = tuple(s.INT for _ in around), Defined((within, body))
            value, place = s.function(family, domain, s.REAL, role), s.function("place", domain, s.INT, role)
            self.made_sets[key] = (value, place)
        value, place = self.made_sets[key]
        return value(*around), place(*around)

    def define_extremum(
        self,
        function: str,
        within: Term,
        body: Term,
        value: Term,
        place: Term,
        j: Term,
        path: Path,
        kind: Kind,
        scope: Scope,
    ) -> None:
        """What holds of an extremum of a set that is not empty: it is taken, at the least such index, and
        never exceeded.
        """
        at_place = z3.substitute(both(within, body == value), (j, place))
        beyond = body <= value if function in GREATEST else body >= value
        self.state(path, kind, scope, at_place)
        self.state(path, kind, scope, implies(within, both(beyond, implies(j < place, body != value))), j)

    # --- sums ---------------------------------------------------------------------------------------------

    def _total(
        self, within: Term, body: Term, low: Term, high: Term, j: Term, path: Path, scope: Scope
    ) -> Term:
        """The sum over a set: the last of the sums up to an index. These equations define a function of the
        terms, so they hold in every run; and two sums over one range are equal unless their terms differ
        somewhere.
        """
        s, term = self.symbols, z3.If(within, body, self.symbols.none)
        around = self.around(j, term, low, high)
        key = ("sum", *map(anatomy, (term, low, high, *around)))
        if key not in self.made_sets:
            up_to = s.function("sum", (*(s.INT for _ in around), s.INT), s.REAL, Defined((term, low, high)))
            self.made_sets[key] = (up_to,)
        up_to = self.made_sets[key][0]
        variables = scope.generic
        path.fact(Kind.RUN, up_to(*around, low) == 0, variables)
        step = up_to(*around, j + 1) == up_to(*around, j) + term
        path.fact(Kind.RUN, implies(both(low <= j, j < high), step), (*variables, j))
        value = up_to(*around, z3.If(high < low, low, high))
        for others, other, term_at in self.totals:
            if others == key[2:] and not same(other, value):
                role = Defined((term, term_at(j)))
                at = s.function("differs", tuple(s.INT for _ in around), s.INT, role)(*around)
                apart = both(low <= at, at < high, z3.substitute(term, (j, at)) != term_at(at))
                path.fact(Kind.RUN, either(value == other, apart), variables)
        if not any(same(other, value) for _, other, _ in self.totals):
            self.totals.append((key[2:], value, lambda at: z3.substitute(term, (j, at))))
        return value
