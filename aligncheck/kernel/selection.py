"""`argmax`, `argmin`, `top`, `upto` as statements of the top level: what is selected is a part of what the
stronger mechanism releases, so the alignment may use it like a tag. And maxima that the alignment looks
ahead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from aligncheck.kernel.align import Aligner
from aligncheck.kernel.answer import Reject
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.state import Mode, Path, Scope
from aligncheck.kernel.symbols import Defined, Given, Held, Rule, Told
from aligncheck.kernel.terms import Term, both, either, implies, same
from aligncheck.kernel.world import Selection
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import align_expressions, names_in, shifts_in, statements_in


class Selecting(Aligner):
    """Selections, and maxima that are looked ahead to."""

    def prepare_selections(self) -> None:
        """Symbols for every selection, and for the maxima that an earlier draw's alignment reads."""
        s = self.symbols
        self.late_places = {}
        self.looked_ahead: dict[str, n.Gather] = {}
        drawn: set[str] = set()
        for stmt in self.spec.body:
            drawn |= {d.name for d in statements_in((stmt,)) if isinstance(d, n.Sample)}
            if not isinstance(stmt, n.Assign) or not isinstance(stmt.value, n.Gather):
                continue
            x, g = stmt.name, stmt.value
            if x in self.settled and g.function in ("argmax", "argmin", *n.SELECTING):
                self.selections[x] = self._symbols_of(x, g)
                if self.selections[x].single:
                    self.late[x] = (self.selections[x].at(s.zero),) * 3
            elif x in self.settled and g.function in ("max", "min") and x in self._read_for(drawn):
                self.looked_ahead[x] = g
                marks = ("", "'", "''")
                self.late[x] = tuple(s.constant(x + mark, s.REAL, Held()) for mark in marks)
                places = (s.constant(f"place of {x}{mark}", s.INT, Held()) for mark in marks)
                self.late_places[x] = tuple(places)

    def _read_for(self, drawn: set[str]) -> set[str]:
        """The names that lines for these noise variables read."""
        found: set[str] = set()
        for item in self.spec.align:
            if drawn & {line.name for line in shifts_in((item,))}:
                for e in align_expressions((item,)):
                    found |= names_in(e)
        return found

    def _symbols_of(self, x: str, g: n.Gather) -> Selection:
        s, told = self.symbols, Told(False)
        single = g.function in ("argmax", "argmin")
        if single != (g.count is None):
            raise Reject("form", g.span, "a number of indices belongs to `top` and `upto`")
        return Selection(
            x,
            g,
            single,
            s.integer(1) if single else s.constant(f"len({x})", s.INT, told),
            s.function(f"{x}[]", (s.INT,), s.INT, told),
            s.function(f"place in {x}", (s.INT,), s.INT, told),
            s.function(f"below in {x}", (s.INT,), s.INT, told),
            s.constant(f"other than {x}", s.INT, told),
        )

    # --- what align may read before it is computed ----------------------------------------------------------

    def look_ahead(self, path: Path) -> None:
        """What holds of selections in complete runs; the aligned draws; then the maxima, which are functions
        of draws of the first level (shown where these draws are read).

        The statements that compute these come later: of the variables they read only those have their values
        already that are assigned once.
        """
        kept = path.values
        path.values = {x: pair for x, pair in kept.items() if x in self.settled}
        scope = Scope(Mode.ALIGN, self.symbols.true, self.spec.span)
        for w in self.selections.values():
            try:
                _, low, high = self.inside(
                    w.gather.over, None, w.gather.index, self.generic(0), path, 0, scope
                )
                if w.gather.count is not None:
                    k = self.whole_number(w.gather.count, path, 0, scope)
                    bound = w.count == k if w.gather.function == "top" else w.count <= k
                    path.fact(Kind.WHOLE, both(w.count >= 0, bound))
                self._shape(w, low, high, path, Kind.WHOLE)
                if self.general:
                    self._law_of_complete_runs(w, path)
            except Reject:  # it depends on what has no value yet; then this is known after the statement only
                continue
        if not self.general:
            self.everywhere(path)
        for x, g in self.looked_ahead.items():
            for run, kind in zip(self.runs, (Kind.WHOLE, Kind.PRIME, Kind.TWIN), strict=False):
                mode = Mode.TWIN if run == 2 else Mode.ALIGN
                scope = Scope(mode, self.symbols.true, g.span, computed=True)
                self._late_extremum(x, g, path, run, kind, scope)
        if self.general:
            self.everywhere_in_general(path)
        path.values = kept
        self.discharge(path)

    def _law_of_complete_runs(self, w: Selection, path: Path) -> None:
        """What the selection will be, where it is computed from draws and from variables that have their
        value already: every complete run executes the statement.
        """
        scope = Scope(Mode.RELATION, self.symbols.true, w.gather.span)
        j, count = self.generic(0), w.gather.count
        within, body, _, _ = self.opened(w.gather, j, path, 0, scope)
        wanted = None if count is None else self.whole_number(count, path, 0, scope)
        for variables, formula in self._law(w, within, body, j, wanted):
            path.fact(Kind.WHOLE, formula, variables)

    def _late_extremum(self, x: str, g: n.Gather, path: Path, run: int, kind: Kind, scope: Scope) -> None:
        """Defines the value of a maximum, in one run, by its set."""
        j = self.generic(0)
        within, body, low, high = self.opened(g, j, path, run, scope)
        if scope.mode is Mode.ALIGN and not self.symbols.noise_free(within):
            raise Reject("acyclic", g.span, f"the set of `{x}` depends on noise")
        self._exists(g, within, low, high, j, path, run, scope)
        value, place = self.late[x][run], self.late_places[x][run]
        self.define_extremum(g.function, within, body, value, place, j, path, kind, scope)

    def assign_late(self, x: str, path: Path, stmt: n.Assign) -> None:
        """The statement that computes a maximum which the alignment looked ahead to."""
        scope = Scope(Mode.PROGRAM, self.symbols.true, stmt.span)
        for run, kind in zip(self.runs, (Kind.RUN, Kind.PRIME, Kind.TWIN), strict=False):
            self._late_extremum(x, self.looked_ahead[x], path, run, kind, scope)
        path.values[x] = self.late[x][: len(self.runs)]

    def _shape(self, w: Selection, low: Term, high: Term, path: Path, kind: Kind) -> None:
        """What holds of any list of `count` different indices in a range."""
        r, j = self.index("r"), self.index("j")
        chosen = both(r >= 0, r < w.count)
        path.fact(kind, implies(chosen, both(low <= w.at(r), w.at(r) < high)), (r,))
        if not w.single:
            path.fact(kind, implies(chosen, w.place(w.at(r)) == r), (r,))
        here = both(low <= j, j < high)
        step = w.below(j + 1) == w.below(j) + z3.If(w.member(j), self.symbols.integer(1), self.symbols.zero)
        path.fact(kind, implies(here, step), (j,))
        path.fact(
            kind, implies(both(low <= j, j <= high), both(w.below(j) >= 0, w.below(j) <= w.count)), (j,)
        )
        path.fact(kind, w.below(low) == 0)
        left = both(low <= w.other, w.other < high, z3.Not(w.member(w.other)))
        path.fact(kind, implies(both(w.count >= 0, w.count < high - low), left))

    # --- the statement --------------------------------------------------------------------------------------

    def select(self, path: Path, stmt: n.Assign) -> None:
        """Runs a selection on both runs: it exists on D; on D' the same list is what the statement gives.

        `law(run)` characterises the list: its indices are in the set, each comes before the next and before
        every index of the set that is left out; and `upto` leaves out one only if the list is full. Shown for
        arbitrary places and indices on D'. Ties: see `_never_tie`.
        """
        w = self.selections[stmt.name]
        g, place = w.gather, stmt.span
        scope = Scope(Mode.PROGRAM, self.symbols.true, place)
        j = self.generic(0)
        wanted = None
        if g.count is not None:
            pair = [self.whole_number(g.count, path, run, scope) for run in (0, 1)]
            path.oblige("output", place, f"{stmt.name}: the same count on D'", pair[0] == pair[1])
            wanted = pair[0]
        withins, bodies, ends = [], [], []
        for run in self.runs:
            within, body, low, high = self.opened(g, j, path, run, scope)
            withins.append(within)
            bodies.append(body)
            ends.append((low, high))
            if run == 0:
                self._enough(w, wanted, within, low, high, j, path, scope)
                self._shape(w, low, high, path, Kind.RUN)
                if wanted is not None:
                    path.fact(Kind.RUN, w.count == wanted if g.function == "top" else w.count <= wanted)
                    path.fact(Kind.RUN, w.count >= 0)
        if self._own_draws(withins[0], bodies[0], j, path, stmt):
            self._never_tie(withins, bodies, j, path)
        for variables, formula in self._law(w, withins[0], bodies[0], j, wanted):
            path.fact(Kind.RUN, formula, variables)
        if self.general:
            for variables, formula in self._law(w, withins[2], bodies[2], j, wanted):
                path.fact(Kind.TWIN, formula, variables)
        for _, formula in self._law(w, withins[1], bodies[1], j, wanted):
            path.oblige("output", place, f"{stmt.name} is the same on D'", formula)
        for variables, formula in self._law(w, withins[1], bodies[1], j, wanted):
            path.fact(Kind.PRIME, formula, variables)
        path.selected.add(stmt.name)
        if w.single:
            path.values[stmt.name] = self.late[stmt.name][: len(self.runs)]

    def _enough(
        self,
        w: Selection,
        wanted: Term | None,
        within: Term,
        low: Term,
        high: Term,
        j: Term,
        path: Path,
        scope: Scope,
    ) -> None:
        """That there are as many indices as are selected."""
        match w.gather.function:
            case "argmax" | "argmin":
                self._exists(w.gather, within, low, high, j, path, 0, scope)
            case "top" if w.gather.where is None and wanted is not None:
                enough = both(wanted >= 0, wanted <= z3.If(low <= high, high - low, self.symbols.zero))
                self.demand(path, 0, scope, enough, f"{w.name} selects from enough indices")
            case "upto" if wanted is not None:
                self.demand(path, 0, scope, wanted >= 0, f"{w.name} selects no negative number of indices")
            case _:
                raise Reject("language", w.gather.span, "`top` of a filtered set")

    def _law(
        self, w: Selection, within: Term, body: Term, j: Term, wanted: Term | None
    ) -> Iterator[tuple[tuple[Term, ...], Term]]:
        r, t, b = self.index("r"), self.index("t"), self.index("b")
        at: Callable[[Term, Term], Term] = lambda term, i: z3.substitute(term, (j, i))  # noqa: E731
        down = w.gather.function == "argmin"

        def beats(x: Term, y: Term) -> Term:
            one, other = at(body, x), at(body, y)
            return either(one < other if down else one > other, both(one == other, x < y))

        chosen = both(r >= 0, r < w.count)
        left = both(at(within, b), z3.Not(w.member(b)))
        yield (r,), implies(chosen, at(within, w.at(r)))
        if not w.single:
            yield (r, t), implies(both(chosen, r < t, t < w.count), beats(w.at(r), w.at(t)))
        yield (r, b), implies(both(chosen, left), beats(w.at(r), b))
        if w.gather.function == "upto" and wanted is not None:
            yield (b,), implies(left, w.count == wanted)

    def _own_draws(self, within: Term, body: Term, j: Term, path: Path, stmt: n.Assign) -> bool:
        """Whether each compared value is a part without noise plus a continuous draw that belongs to its
        index.
        """
        draws = self.symbols.draws(body)
        if len(draws) != 1:
            return False
        own, role = draws[0]
        noise = self.noise[role.noise]
        if role.run != 0 or noise.family.discrete or not same(own, noise.symbols[0](j)):
            return False
        rest = z3.substitute(body, (own, self.symbols.none))
        if not all(
            isinstance(r, Given | Rule | Defined) or r == Told(False) for _, r in self.symbols.leaves(rest)
        ):
            return False
        return self.decider.follows([], body == rest + own) is not None

    def _never_tie(self, withins: list[Term], bodies: list[Term], j: Term, path: Path) -> None:
        """No two values are equal, outside a null set of draws: for two indices, equality fixes one draw by
        the other, and there are countably many pairs. On D' too, since the alignment is triangular with
        unit determinant on each of countably many pieces (that order is shown where the draws are moved):
        what it maps into a null set is a null set. Where the order is not shown (the general route),
        nothing is known of ties on D'.
        """
        a, b = self.index("a"), self.index("b")
        kinds = {0: Kind.WHOLE, 2: Kind.TWIN} if self.general else {0: Kind.WHOLE, 1: Kind.PRIME}
        for run, kind in kinds.items():
            within, body = withins[run], bodies[run]
            one, other = (z3.substitute(body, (j, x)) for x in (a, b))
            both_in = both(z3.substitute(within, (j, a)), z3.substitute(within, (j, b)), a != b)
            path.fact(kind, implies(both_in, one != other), (a, b))
