"""Draws by stated densities: an index in proportion to weights (`Choose`), and logistic numbers.

Such a draw is a coordinate of the theorem that stays as it is. It costs by how much the logarithm of its
density, at the point that is drawn, is greater on D than on D'. See docs/kernel.md, section 11.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.evaluate import ABOVE, divided
from aligncheck.kernel.logic import FEW, Kind
from aligncheck.kernel.selection import Selecting
from aligncheck.kernel.sets import Folded, Opened
from aligncheck.kernel.state import Mode, Path, Scope
from aligncheck.kernel.terms import Term, absolute, anatomy, both, either, implies, real, same, subterms
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.weights import log_of


class Choosing(Selecting):
    """Draws that are not moved, and logarithms of sums of exponentials."""

    def prepare_draws(self) -> None:
        """No sum has been met yet."""
        self.summed: dict[int, Folded] = {}
        self.log_odds: tuple[list[Term], list[Term]] = ([], [])

    # --- logarithms of sums -------------------------------------------------------------------------------

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
            self.summed[id(g)] = one
        elif id(g) in self.summed:
            self._set_apart(self.summed[id(g)], one, scope.path)
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

    # --- draws --------------------------------------------------------------------------------------------

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
            self.log_odds[scope.run].append(odds)
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
        odds = self.log_odds[run]
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
