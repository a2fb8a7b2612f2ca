"""How an index is chosen: the greatest values (`argmax`, `argmin`, `top`, `upto`, as statements of the top
level; lists also in each round of a loop), or one at random, in proportion to weights (`Choose`). And maxima
that the alignment looks ahead to, logarithms of sums of weights, logistic numbers.

What is selected is a part of what the stronger mechanism releases, so the alignment may use it like a tag. A
draw by a stated density is a coordinate of the theorem that stays as it is. It costs by how much the
logarithm of its density, at the point that is drawn, is greater on D than on D'. See docs/kernel.md, section
11.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import z3

from aligncheck.kernel.align import Aligner
from aligncheck.kernel.answer import Reject
from aligncheck.kernel.evaluate import ABOVE, divided
from aligncheck.kernel.logic import FEW, Kind
from aligncheck.kernel.sets import EXTREMA, PLACES, Folded, Opened
from aligncheck.kernel.state import Mode, Path, Scope, Selection
from aligncheck.kernel.symbols import Told
from aligncheck.kernel.terms import Term, absolute, anatomy, both, either, implies, real, same, subterms
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.weights import choice_by_noise, log_of


class Selecting(Aligner):
    """Selections, and maxima that are looked ahead to."""

    def prepare_selections(self, path: Path) -> None:
        """Symbols for every selection, and for the maxima that an earlier draw's alignment reads."""
        self.looked_ahead: dict[str, n.Gather] = {}
        drawn: set[str] = set()
        for stmt in self.spec.body:
            drawn |= {d.name for d in walk.statements_in((stmt,)) if isinstance(d, n.Sample)}
            if not isinstance(stmt, n.Assign) or stmt.name not in self.settled:
                continue
            x, g = stmt.name, stmt.value
            if not isinstance(g, n.Gather) or self.as_choice(stmt) is not None:
                continue
            if g.function in (*PLACES, *n.SELECTING):
                path.selections[x] = self._symbols_of(x, g)
            elif g.function in EXTREMA and x in self._read_for(drawn):
                self.looked_ahead[x] = g

    def as_choice(self, stmt: n.Assign) -> n.Choose | None:
        """The draw by weights that stands for the greatest with noise like Gumbel's, in a claim in δ or ρ."""
        fixed = self.settled | self.public.keys()
        once = self.averaged and stmt.name in self.settled
        return choice_by_noise(self.spec, stmt, fixed) if once else None

    def _read_for(self, drawn: set[str]) -> set[str]:
        """The names that lines for these noise variables read."""
        items = [i for i in self.spec.align if drawn & {line.name for line in walk.shifts_in((i,))}]
        return {x for e in walk.align_expressions(tuple(items)) for x in walk.names_in(e)}

    def _symbols_of(self, x: str, g: n.Gather) -> Selection:
        s, told = self.symbols, Told(False)
        single = g.function in ("argmax", "argmin")
        if single != (g.count is None):
            raise Reject("form", g.span, "a number of indices belongs to `top` and `upto`")
        count = s.integer(1) if single else s.constant(f"len({x})", s.INT, told)
        names = (f"{x}[]", f"place in {x}", f"below in {x}")
        at, place, below = (s.function(name, (s.INT,), s.INT, told) for name in names)
        return Selection(x, g, single, count, at, place, below, s.constant(f"other than {x}", s.INT, told))

    # --- what align may read before it is computed ----------------------------------------------------------

    def look_ahead(self, path: Path) -> None:
        """What holds of selections in complete runs; then the maxima, which are functions of draws of the
        first level (shown where these draws are read, once it is known what lines mean by the maxima).

        The statements that compute these come later: of the variables they read only those have their values
        already that are assigned once.
        """
        kept = path.values
        path.values = {x: pair for x, pair in kept.items() if x in self.settled}
        scope = self.scope(Mode.ALIGN, path, self.spec.span)
        for w in path.selections.values():
            try:
                low, high = self.ends(w.gather.over, scope)
                wanted = self._wanted(w, scope)
                path.fact(Kind.WHOLE, self._counted(w, wanted))
                self._shape(w, low, high, path, Kind.WHOLE)
                if self.general:
                    found = self.opened(w.gather, self.scope(Mode.RELATION, path, w.gather.span))
                    for variables, formula in self._law(w, found, wanted):
                        path.fact(Kind.WHOLE, formula, variables)
            except Reject:  # it depends on what has no value yet; then this is known after the statement only
                continue
        levels, modes = (Mode.LEVEL,) * 3, (Mode.ALIGN, Mode.ALIGN, Mode.TWIN)
        for reading, (x, g) in product((levels, modes), self.looked_ahead.items()):
            scopes = (self.scope(reading[run], path, g.span).of(run) for run in self.runs)
            path.late[x] = tuple(self.gathered(g, replace(scope, computed=True)) for scope in scopes)
        path.values = kept
        self.discharge(path)

    def begin_round(self, body: tuple[n.Stmt, ...], path: Path) -> None:
        """A round of a loop begins: it has lists of its own, which lines for its draws may read before they
        are made. All that is known of them on this path speaks of this round.

        Sound: the stronger mechanism releases the lists of all rounds, so which list a round has is a part of
        the output, like a selection of the top level; and a complete run that begins a round makes its list,
        since no `break` stands before. Source: section 7 of docs/kernel.md. Breaks if: what is said of a
        draw by the list of this round is believed of a draw of another one.
        """
        for x, g in walk.selected_in_round(body, self.spec.body).items():
            made = replace(self._symbols_of(x, g), since={**path.ghosts})
            path.selections = {**path.selections, x: made}
            self.look_ahead(path)

    def _wanted(self, w: Selection, scope: Scope) -> Term:
        """How many indices are selected: so many, or at most so many (`upto`)."""
        count = w.gather.count
        return self.symbols.integer(1) if count is None else self.whole_number(count, scope)

    def _counted(self, w: Selection, wanted: Term) -> Term:
        return both(w.count >= 0, w.count <= wanted if w.gather.function == "upto" else w.count == wanted)

    def _shape(self, w: Selection, low: Term, high: Term, path: Path, kind: Kind) -> None:
        """What holds of any list of `count` different indices in a range."""
        r, j = self.arbitrary("r", "j")
        chosen = both(r >= 0, r < w.count)
        path.fact(kind, implies(chosen, both(low <= w.at(r), w.at(r) < high)), (r,))
        if not w.single:
            path.fact(kind, implies(chosen, w.place(w.at(r)) == r), (r,))
        here = both(low <= j, j < high)
        step = w.below(j + 1) == w.below(j) + z3.If(w.member(j), self.symbols.integer(1), self.symbols.zero)
        path.fact(kind, implies(here, step), (j,))
        some = both(w.below(j) >= 0, w.below(j) <= w.count)
        path.fact(kind, implies(both(low <= j, j <= high), some), (j,))
        path.fact(kind, w.below(low) == 0)
        left = both(low <= w.other, w.other < high, z3.Not(w.member(w.other)))
        path.fact(kind, implies(both(w.count >= 0, w.count < high - low), left))

    # --- the statement --------------------------------------------------------------------------------------

    def select(self, path: Path, stmt: n.Assign) -> None:
        """Runs a selection on both runs: it exists on D; on D' the same list is what the statement gives. In
        a round it is then known what the lines made of the draws of this round.

        `law(run)` characterises the list: its indices are in the set, each comes before the next and before
        every index of the set that is left out; and `upto` leaves out one only if the list is full. Shown for
        arbitrary places and indices on D'. Ties: see `_never_tie`.
        """
        w = path.selections[stmt.name]
        place, scopes = stmt.span, self.in_runs(stmt, path)
        wanted, again = (self._wanted(w, scope) for scope in scopes[:2])
        if w.gather.count is not None:
            path.oblige("output", place, f"{stmt.name}: the same count on D'", wanted == again)
        sets = []
        for scope in scopes:
            sets.append(self.opened(w.gather, scope))
            if scope.run == 0:
                self._enough(w, wanted, sets[0], scope)
                self._shape(w, sets[0].low, sets[0].high, path, Kind.RUN)
                path.fact(Kind.RUN, self._counted(w, wanted))
        if w.since:
            here = {**path.selections, w.name: replace(w, since={})}
            self.everywhere(replace(path, selections=here), w.since)
        if self._own_draws(sets[0]):
            self._never_tie(sets, path)
        laws = [list(self._law(w, found, wanted)) for found in sets]
        for _, formula in laws[1]:
            path.oblige("output", place, f"{stmt.name} is the same on D'", formula)
        for law, kind in zip(laws, (Kind.RUN, Kind.PRIME, Kind.TWIN), strict=False):
            for variables, formula in law:
                path.fact(kind, formula, variables)
        path.selections[w.name] = replace(w, made=True)
        if w.single:
            path.values[stmt.name] = (w.at(self.symbols.zero),) * len(self.runs)

    def _enough(self, w: Selection, wanted: Term, found: Opened, scope: Scope) -> None:
        """That there are as many indices as are selected."""
        match w.gather.function:
            case "argmax" | "argmin":
                self.exists(w.gather, found, scope)
            case "top" if w.gather.where is None:
                many = z3.If(found.low <= found.high, found.high - found.low, self.symbols.zero)
                enough = both(wanted >= 0, wanted <= many)
                self.demand(scope, enough, f"{w.name} selects from enough indices")
            case "upto":
                self.demand(scope, wanted >= 0, f"{w.name} selects no negative number of indices")
            case _:
                raise Reject("language", w.gather.span, "`top` of a filtered set")

    def _law(self, w: Selection, found: Opened, wanted: Term) -> Iterator[tuple[tuple[Term, ...], Term]]:
        r, t, b = self.arbitrary("r", "t", "b")
        down = w.gather.function == "argmin"

        def beats(x: Term, y: Term) -> Term:
            one, other = found.at(x).body, found.at(y).body
            return either(one < other if down else one > other, both(one == other, x < y))

        chosen = both(r >= 0, r < w.count)
        left = both(found.at(b).within, z3.Not(w.member(b)))
        yield (r,), implies(chosen, found.at(w.at(r)).within)
        if not w.single:
            yield (r, t), implies(both(chosen, r < t, t < w.count), beats(w.at(r), w.at(t)))
        yield (r, b), implies(both(chosen, left), beats(w.at(r), b))
        if w.gather.function == "upto":
            yield (b,), implies(left, w.count == wanted)

    def _own_draws(self, found: Opened) -> bool:
        """Whether each compared value is a part without noise, and a continuous draw that belongs to its
        index added to it or subtracted.
        """
        j, body = found.j, found.body
        draws = self.symbols.draws(body)
        if len(draws) != 1:
            return False
        own, role = draws[0]
        noise = self.noise[role.noise]
        if role.run != 0 or noise.family.discrete or not same(own, noise.symbols[0](j)):
            return False
        rest = z3.substitute(body, (own, self.symbols.none))
        if not self.symbols.noise_free(rest) or self.symbols.numbers_told(rest):
            return False
        return any(self.decider.follows([], body == e) is not None for e in (rest + own, rest - own))

    def _never_tie(self, sets: list[Opened], path: Path) -> None:
        """No two values are equal, outside a null set of draws: for two indices, equality fixes one draw by
        the other, and there are countably many pairs. On D' too, since the alignment is triangular with
        unit determinant on each of countably many pieces (that order is shown where the draws are moved):
        what it maps into a null set is a null set. Where the order is not shown (the general route),
        nothing is known of ties on D'.
        """
        a, b = self.arbitrary("a", "b")
        kinds = {0: Kind.WHOLE, 2: Kind.TWIN} if self.general else {0: Kind.WHOLE, 1: Kind.PRIME}
        for run, kind in kinds.items():
            one, other = sets[run].at(a), sets[run].at(b)
            both_in = both(one.within, other.within, a != b)
            path.fact(kind, implies(both_in, one.body != other.body), (a, b))


class Choosing(Selecting):
    """Draws that are not moved, and logarithms of sums of exponentials."""

    # --- logarithms of sums ---------------------------------------------------------------------------------

    def log_sum(self, g: n.Gather, scope: Scope) -> Term:
        """`logsumexp(E for j in …)`; not in declarations, whose inputs could not be found then."""
        if scope.mode is Mode.CLAUSE:
            raise Reject("hypotheses", g.span, "`logsumexp` in a declaration")
        return self._log_sum(g, scope).value

    def _log_sum(self, g: n.Gather, scope: Scope) -> Folded:
        if scope.generic:
            raise Reject("language", g.span, "`logsumexp` inside a set")
        found = self.opened(g, scope)
        self.exists(g, found, scope)
        one = self._log_sum_over(found)
        self.state(self.kind(scope), scope, found.at(one.place).within)
        if scope.run == 0:
            self.made["summed", id(g)] = one
        elif ("summed", id(g)) in self.made:
            self._set_apart(self.made["summed", id(g)], one, scope.path)
        return one

    def _log_sum_over(self, found: Opened) -> Folded:
        """One symbol for each set, however its terms are written; `place` is in the set, if anything is."""
        within, body = z3.simplify(found.within), z3.simplify(found.body)
        return self.folded(n.LOG_SUM, replace(found, within=within, body=body))

    def _set_apart(self, one: Folded, two: Folded, path: Path) -> None:
        """Let A = ln Σ exp(a_j) over S, which is not empty, and B = ln Σ exp(b_j) over T. Some j of S is not
        in T, or has a_j - b_j >= A - B. (If none has, exp(a_j) < exp(A - B) exp(b_j) for all j of S, all of
        which are in T; so their sum exp(A) is less than exp(A - B) exp(B).)
        """
        for a, b in ((one, two), (two, one)):
            key = ("apart", anatomy(a.value), anatomy(b.value))
            at = self.kept(key, lambda: self.index("apart"))
            here, there = a.over.at(at), b.over.at(at)
            greater = here.body - there.body >= a.value - b.value
            some = a.over.at(a.place).within
            path.fact(Kind.RUN, implies(some, both(here.within, either(z3.Not(there.within), greater))))

    # --- draws ----------------------------------------------------------------------------------------------

    def choose(self, stmt: n.Choose, path: Path) -> None:
        """An index s, in proportion to weights exp(a_j), all positive (`log_of` demands it): on D and on D'
        it has the probability p with ln p = a_s - ln Σ exp(a_j). It must be in the set on D' too.

        Where the set has others, the odds of s are exp(o) with o = a_s - ln Σ exp(a_j) over the others, so p
        is also the chance that a logistic number with the location o is above 0.
        """
        g = replace(stmt.weights, body=log_of(stmt.weights.body))
        if g.function != "Choose" or g.count is not None:
            raise Reject("form", stmt.span, "an index is chosen by its weight")
        chosen = self.held(stmt.name, self.symbols.INT)
        costs: list[Term] = []
        totals: list[Folded] = []
        others: list[Folded] = []
        for scope, kind in zip(self.in_runs(stmt, path), (Kind.RUN, Kind.PRIME), strict=False):
            total = self._log_sum(g, scope)
            totals.append(total)
            there = total.over.at(chosen)
            if kind is Kind.PRIME:
                path.oblige("support", stmt.span, f"{stmt.name} may be chosen on D'", there.within)
            path.fact(kind, there.within)
            left = replace(total.over, within=both(total.over.within, total.over.j != chosen))
            others.append(self._log_sum_over(left))
            odds = there.body - others[-1].value
            self.kept(("odds", scope.run), list).append(odds)
            some = both(there.within, others[-1].over.at(others[-1].place).within)
            weight = there.body - total.value
            path.fact(Kind.RUN, implies(some, self.rules[ABOVE](odds) == weight))
            costs.append(weight)
        self._set_apart(others[0], others[1], path)
        if any(self._rearranged(totals[0], totals[1], path)):
            path.fact(Kind.RUN, totals[0].value == totals[1].value)
        cost = self._of_range(stmt, totals, path) if self.concentrated else costs[0] - costs[1]
        self._drawn(stmt, chosen, cost, path)

    def _of_range(self, stmt: n.Choose, totals: list[Folded], path: Path) -> Term:
        """What a choice costs in ρ: w²/8, where w is how far apart a_j - a'_j are for two indices of the set,
        at the most: for the two at which they are greatest and least. The set is the same on D'.
        """
        j, *ends = (self.index(word) for word in ("any", "greatest", "least"))
        (here, there), text = (t.over.at(j) for t in totals), f"{stmt.name} is one of the same on D'"
        path.oblige("support", stmt.span, text, here.within == there.within)
        pairs = [[t.over.at(end) for t in totals] for end in ends]
        path.fact(Kind.RUN, both(*(one.within for one, _ in pairs)))
        greatest, least = (one.body - other.body for one, other in pairs)
        return (greatest - least) * (greatest - least) / 8

    def _rearranged(self, one: Folded, other: Folded, path: Path) -> Iterator[bool]:
        """Whether both sets have the same weights, but that those at two indices have changed places: then
        they have the same sum. The two are a guess, what the index is compared with; that each index has the
        weight of the one in its place is shown for an arbitrary index.
        """
        known = [f for f in path.facts if f.kind is Kind.RUN]
        unit, j = self.symbols.ctx.rational(1), one.over.j
        for a, b in zip(*(_compared(each.over.body, j) for each in (one, other)), strict=False):
            x, y = (t if z3.is_int(t) else self.steps(t, unit) for t in (a, b))
            there = other.over.at(z3.If(j == x, y, z3.If(j == y, x, j)))
            goal = both(one.over.within == there.within, implies(there.within, one.over.body == there.body))
            yield self.decider.follows(known, goal, "the same weights in other places", FEW) is not None

    def logistic(self, stmt: n.Logistic, path: Path) -> None:
        """A number with the logistic density f, measured in `scale`, given that it is above `low`.

        ln f(x; t) = -(x - t) - 2 ln(1 + exp(-(x - t))) changes with t by tanh((x - t)/2), so by at most 1.
        The chance to be above 0 is s(t) = 1/(1 + exp(-t)), and ln f(x; t)/s(t) changes by s(t) - 2 s(t - x),
        which is between -s(t) and s(t) for x > 0. So where it is cut, the cost has two bounds: |t - t'|,
        and that with ln s(t')/s(t) besides, which a choice may pay for.
        """
        x = self.held(stmt.name, self.symbols.REAL)

        def pair(e: n.Expr) -> list[Term]:
            return [real(self.number(e, scope)) for scope in self.in_runs(stmt, path)[:2]]

        at, unit = pair(stmt.location), pair(stmt.scale)
        text = f"the scale of {stmt.name} is positive"
        self.prove(path, "scales", stmt.span, text, unit[0] > 0)
        path.oblige("scales", stmt.span, f"{stmt.name} has the same scale on D'", unit[0] == unit[1])
        low = [self.symbols.none] * 2 if stmt.low is None else pair(stmt.low)
        path.oblige("support", stmt.span, f"{stmt.name} is cut at the same place on D'", low[0] == low[1])
        path.fact(Kind.PRIME, both(unit[0] == unit[1], low[0] == low[1]))
        one, other = (self._location(divided(t - low[0], unit[0]), path, run) for run, t in enumerate(at))
        cost = absolute(one - other)
        if stmt.low is not None:
            path.fact(Kind.RUN, x > low[0])
            cut = self.rules[ABOVE](other) - self.rules[ABOVE](one)
            cost = cost + z3.If(cut < 0, cut, self.symbols.none)
        self._drawn(stmt, x, cost, path)

    def _location(self, term: Term, path: Path, run: int) -> Term:
        """The term, or the logarithm of the odds of a choice, where that is shown to be the same."""
        known = [f for f in path.facts if f.kind is Kind.RUN]
        about = "a number is cut where a choice pays for it"
        odds: list[Term] = self.kept(("odds", run), list)
        return next((o for o in odds if self.decider.follows(known, term == o, about, FEW) is not None), term)

    def _drawn(self, stmt: n.Choose | n.Logistic, drawn: Term, cost: Term, path: Path) -> None:
        path.values[stmt.name] = (drawn,) * len(self.runs)
        path.ghosts["alignment_cost"] = path.ghosts["alignment_cost"] + cost


def _compared(body: Term, j: Term) -> Iterator[Term]:
    """With what the index of a set is compared, that is the same for each index of the set."""
    equal = (each.term.children() for each in subterms(body) if each.kind == z3.Z3_OP_EQ)
    for pair in equal:
        for other, one in (pair, pair[::-1]):
            if same(real(one), real(j)) and not any(same(each.term, j) for each in subterms(other)):
                yield other
