"""Both runs in lockstep, one path after the other: statements, tests, draws, records.

What is proved private is the mechanism that releases, besides its records, every test that the runs take
together and every selection; the spec's mechanism forgets these. So condition ii holds by construction: what
is released tells the path, and the path tells the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import z3

from aligncheck.kernel.align import Rate
from aligncheck.kernel.answer import Reject
from aligncheck.kernel.choosing import Choosing
from aligncheck.kernel.evaluate import EXP, divided, rest
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.state import Mode, Path, Scope
from aligncheck.kernel.terms import Term, absolute, both, either, implies, real, same, subterms
from aligncheck.kernel.witness import RECORDS, own
from aligncheck.language.families import Family, Lattice, Moves, Slope
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in

Go: TypeAlias = Callable[[Path], None]


@dataclass(frozen=True)
class Exits:
    """How a block is left: at its end, or by `break` (None outside of loops)."""

    done: Go
    leave: Go | None


class Runner(Choosing):
    """Statements."""

    invoke: Callable[[n.Invoke, Path], None]
    """A call: in the layer of calls."""

    loop: Callable[[n.For | n.While, Path, Go], None]
    """A loop: in the next layer."""

    def block(self, body: tuple[n.Stmt, ...], path: Path, exits: Exits, top: bool = False) -> None:
        """Runs statements; what comes after is run from each way out."""
        if not body:
            return exits.done(path)
        stmt, rest = body[0], body[1:]
        if top and _is_random(stmt):
            if not path.looked_ahead:
                path.looked_ahead = True
                self.look_ahead(path)
            self.everywhere(path)

        def go_on(p: Path) -> None:
            self.block(rest, p, exits, top)

        match stmt:
            case n.Break():
                if exits.leave is None:
                    raise Reject("form", stmt.span, "`break` outside of loops")
                return exits.leave(path)
            case n.If() if not _quiet(stmt):
                return self._arms(stmt, 0, path, Exits(go_on, exits.leave))
            case n.For() | n.While():
                return self.loop(stmt, path, go_on)
            case n.Pass():
                pass
            case n.Assign(value=n.Gather() as g) if (choice := self.as_choice(stmt)) is not None:
                self.opened(g, self.program(stmt, path))  # all that are compared are drawn
                self.choose(choice, path)
            case n.Assign(name=x) if x in path.selections:
                self.select(path, stmt)
            case n.Assign():
                self.assign(stmt, self.in_runs(stmt, path))
            case n.Sample():
                self.draw(stmt, path)
            case n.Emit():
                self.emit(stmt, path)
            case n.If():
                self.merge(stmt, self.in_runs(stmt, path))
            case n.Invoke():
                self.invoke(stmt, path)
            case n.Choose():
                self.choose(stmt, path)
            case n.Logistic():
                self.logistic(stmt, path)
        return go_on(path)

    def assign(self, stmt: n.Assign, scopes: list[Scope]) -> None:
        """`x = E`, each run for itself."""
        sort = self.sorts.get(stmt.name)
        if sort is None:
            raise Reject("form", stmt.span, f"`{stmt.name}` has no sort")
        values = tuple(self.as_sort(stmt, self.value(stmt.value, scope), sort) for scope in scopes)
        scopes[0].path.values[stmt.name] = values

    def emit(self, stmt: n.Emit, path: Path) -> None:
        """A record: its tag is told by the path; its fields are the same on both runs."""
        at = path.ghosts[RECORDS]
        for f in stmt.fields:
            pair = [self.value(f.value, scope) for scope in self.in_runs(stmt, path)]
            sort = self.sorts.get(own("field", f.name))
            one, other, *twin = pair if sort is None else (self.as_sort(stmt, v, sort) for v in pair)
            for again in twin:
                path.fact(Kind.TWIN, one == again)
            path.oblige("output", stmt.span, f"{stmt.tag}.{f.name} is the same on D'", one == other)
            if sort is not None:
                path.fact(Kind.TOLD, self.out.fields[f.name](at) == one)
            self.emitted(stmt, f.name, one, path)
        there = self.out.tagged(at, (stmt.tag,))
        path.fact(Kind.TOLD, there)
        path.ghosts[RECORDS] = at + 1
        counted = own("count", stmt.tag)
        path.ghosts[counted] = path.ghosts[counted] + 1
        path.fact(Kind.TOLD, path.ghosts[counted] <= self.out.counts[counted])

    def emitted(self, stmt: n.Node, name: str, value: Term, path: Path) -> None:
        """That a number in a record, or a number of records, is within the bounds that callers may use."""
        scope, text = self.scope(Mode.CLAUSE, path, stmt.span), f"{name} is within its bounds"
        for _, low, high in (each for each in self.witness.within if each[0] == name):
            ends = (None if e is None else self.number(e, scope) for e in (low, high))
            for goal in bounds(value, *ends):
                self.prove(path, "output", stmt.span, text, goal)

    # --- tests --------------------------------------------------------------------------------------------

    def tested(self, e: n.Expr, path: Path) -> tuple[Term, ...]:
        """A test in all runs."""
        return tuple(self.truth(e, scope) for scope in self.in_runs(e, path))

    def take(self, path: Path, tests: tuple[Term, ...], holds: bool, e: n.Expr, what: str) -> None:
        """The run on D finds a test to be `holds`; so must the one on D', and it is released."""
        one, other, *twin = (t if holds else z3.Not(t) for t in tests)
        path.fact(Kind.RUN, one)
        for again in twin:
            path.fact(Kind.TWIN, again)
        path.oblige("output", e.span, f"{what} {'holds' if holds else 'fails'} on D' as well", other)
        path.fact(Kind.PRIME, other)

    def _arms(self, stmt: n.If, at: int, path: Path, exits: Exits) -> None:
        """The arms of an `if` from one on: the run takes this one, or none before the next."""
        if at == len(stmt.branches):
            return self.block(stmt.otherwise, path, exits)
        test, body = stmt.branches[at].test, stmt.branches[at].body
        tests = self.tested(test, path)
        self.foresee(path)
        no = path.copy()
        self.take(path, tests, True, test, "the test")
        self.block(body, path, exits)
        self.take(no, tests, False, test, "the test")
        return self._arms(stmt, at + 1, no, exits)

    def merge(self, stmt: n.If, scopes: list[Scope]) -> None:
        """An `if` that only assigns: the runs need not agree. Each has its own value of every variable, and
        what is partial in an arm is evaluated under that run's own test.
        """
        path = scopes[0].path
        before = dict(path.values)
        arms: list[tuple[list[Term], dict[str, tuple[Term, ...]]]] = []
        for branch in stmt.branches:
            path.values = dict(before)
            tests = [self.truth(branch.test, scope) for scope in scopes]
            self._quietly(branch.body, [s.under(t) for s, t in zip(scopes, tests, strict=True)])
            arms.append((tests, path.values))
            scopes = [s.under(z3.Not(t)) for s, t in zip(scopes, tests, strict=True)]
        path.values = dict(before)
        self._quietly(stmt.otherwise, scopes)
        for tests, values in reversed(arms):
            merged = {}
            for x in values.keys() & path.values.keys():  # what has a value after each arm has one here
                pairs = zip(tests, values[x], path.values[x], strict=True)
                merged[x] = tuple(self.choice(stmt, test, one, other) for test, one, other in pairs)
            path.values = merged

    def _quietly(self, body: tuple[n.Stmt, ...], scopes: list[Scope]) -> None:
        for stmt in body:
            if isinstance(stmt, n.Assign):
                self.assign(stmt, scopes)
            elif isinstance(stmt, n.If):
                self.merge(stmt, scopes)

    # --- draws --------------------------------------------------------------------------------------------

    def draw(self, stmt: n.Sample, path: Path) -> None:
        """One draw: condition iii (fresh; scales positive, and the same on D and D' at this pair of runs,
        which is what the chain rule needs) and condition iv (order, support, cost).
        """
        x, place = stmt.name, stmt.span
        noise = self.noise[x]
        index, zero = stmt.index, self.symbols.zero
        scopes = self.in_runs(stmt, path)
        at, other_at, *twins = (zero if index is None else self.whole_number(index, s) for s in scopes)
        path.oblige("draws", place, f"{x}: the same index on D'", at == other_at)
        upto, least, dense = (path.ghosts[own(known, x)] for known in ("drawn", "least", "dense"))
        # What was drawn is from `least` up to, but without, `upto`: nothing as long as these are equal.
        fresh = either(at >= upto, both(at >= 0, at < least))
        self.prove(path, "fresh", place, f"{x} was not drawn before at this index", fresh)
        rate, step = self._distribution(stmt, path)
        one, other, again = (f(at) for f in noise.symbols)
        for run, kind in ((0, Kind.RUN), *((2, Kind.TWIN) for _ in twins)):
            if step is not None:
                path.fact(kind, noise.symbols[run](at) == step * real(noise.whole[run](at)))
            if stmt.family.one_sided:
                path.fact(kind, _in_support(stmt.family, noise.symbols[run](at)))
        for twin_at in twins:  # the twin run's draw, which the alignment takes to the same draw on D'
            path.fact(Kind.TWIN, at == twin_at)
            taken_to = again + self.total(self.moves(x, at, self.scope(Mode.TWIN, path, place).of(2)))
            path.fact(Kind.TWIN, other == taken_to)
        moves = self.shift(x, at, path, place)
        shift = self.total(moves)
        if step is not None:
            whole = step * real(self.steps(shift, step))
            path.oblige("support", place, f"{x} moves by whole steps", shift == whole)
        image = self.image(stmt, one, moves, path)
        path.fact(Kind.PRIME, other == image)
        if stmt.family.one_sided:
            text = f"the aligned {x} is {'0 or 1' if stmt.family.coin else 'not negative'}"
            path.oblige("support", place, text, _in_support(stmt.family, image))
        self._moved_as_it_may(stmt, shift, path)
        if stmt.family.row.slope is Slope.STAIRS:
            cost = self._climbed(stmt, shift, rate, path)
        else:
            pay = (stmt, at, moves, rate, path)
            cost = self._tossed(stmt, one, image, rate, path) if stmt.family.coin else self.charged(*pay)
        path.ghosts["alignment_cost"] = path.ghosts["alignment_cost"] + cost
        path.ghosts[own("least", x)] = z3.If(either(least == upto, at < least), at, least)
        path.ghosts[own("drawn", x)] = z3.If(at >= upto, at + 1, upto)
        path.ghosts[own("dense", x)] = both(dense, at == upto)
        path.made.append((x, at, divided(rate[1], rate[0]), step))

    def _moved_as_it_may(self, stmt: n.Sample, shift: Term, path: Path) -> None:
        """That the density falls no faster than its rate the way the draw is moved: see `Moves`."""
        moves = stmt.family.row.moves
        if self.concentrated and (stmt.family.one_sided or moves is Moves.UP):
            moves = Moves.NOT  # the other way, from D' to D, has no bound
        match moves:
            case Moves.BOTH:
                pass
            case Moves.UP:
                path.oblige("support", stmt.span, f"{stmt.name} is moved up only", shift >= 0)
            case Moves.NOT:
                path.oblige("support", stmt.span, f"{stmt.name} is not moved", shift == 0)

    def _distribution(self, stmt: n.Sample, path: Path) -> tuple[Rate, Term | None]:
        """How fast the density falls, and the step of its lattice: see `Slope` and `Lattice`. With a chance
        1 - exp(b) it falls by the factor exp(b) with each step, so at the rate -b.
        """
        place, x = stmt.span, stmt.name
        args = [[real(self.number(a, s)) for s in self.in_runs(stmt, path)[:2]] for a in stmt.args]
        for one, other in args:
            self.prove(path, "scales", place, f"what {x} is drawn with is positive", one > 0)
            if not stmt.family.coin or self.averaged:
                path.oblige("scales", place, f"what {x} is drawn with is the same on D'", one == other)
        unit = self.symbols.ctx.rational(1)
        step = {Lattice.NONE: None, Lattice.WHOLE: unit, Lattice.STEP: args[-1][0]}[stmt.family.row.lattice]
        match stmt.family.row.slope:
            case Slope.SCALE:
                return (unit, args[0][0]), step
            case Slope.CHANCE | Slope.ODDS:
                p, other = args[0]
                self.prove(path, "scales", place, f"{x} is drawn with a probability below 1", p < 1)
                if stmt.family.coin:
                    path.fact(Kind.PRIME, both(other > 0, other < 1))  # as is shown of every run
                    return (p, other), step
                rest = z3.simplify(1 - p)
                if not z3.is_app(rest) or not rest.decl().eq(self.rules[EXP]):
                    text = f"{stmt.family.value} takes a probability of the form 1 - exp(-a)"
                    raise Reject("language", place, text)
                return (-rest.arg(0), unit), step
            case Slope.STAIRS:
                self.prove(path, "scales", place, f"the third argument of {x} is below 1", args[2][0] < 1)
                return (args[0][0], args[1][0]), step
            case Slope.SIGMA:
                if not self.concentrated:
                    text = "costs no ε, but ρ, in a claim of `zcdp` or `delta`"
                    raise Reject("support", place, f"a move of {stmt.family.value} noise {text}")
                return (unit, args[0][0]), step

    def _climbed(self, stmt: n.Sample, shift: Term, stair: Rate, path: Path) -> Term:
        """What a move of staircase noise by at most its width costs: ε, and nothing where it stays. That is
        ε²/2 of ρ, as it may be moved both ways (Bun and Steinke 2016, Proposition 3.3).
        """
        eps, width = stair
        path.oblige("support", stmt.span, f"{stmt.name} moves by a stair at most", absolute(shift) <= width)
        self.counted(stmt.name, stmt.span, None)
        cost = self.square(eps) / 2 if self.concentrated else eps
        return z3.If(shift == 0, self.symbols.none, cost)

    def _tossed(self, stmt: n.Sample, one: Term, image: Term, chances: Rate, path: Path) -> Term:
        """What a coin costs: ln f(b; p)/f(b'; p') for the b' that b becomes and the p' of D', exactly, where
        f(1; p) is p and f(0; p) is 1 - p. So p may be private (but `averaged`), and is to be between 0 and 1.

        It is at most y where f(b; p) <= exp(y) f(b'; p'), since a logarithm rises: this is stated of each
        exp(y) in p (Duchi, Jordan, Wainwright, FOCS 2013, whose coin has a chance that rises with an answer).
        """
        p, other = chances
        if same(p, other) and same(one, z3.simplify(image)):
            return self.symbols.none
        self.counted(stmt.name, stmt.span, None)
        sides = ((one, p), (image, other))
        before, after = (z3.If(b == 1, c, rest(c)) for b, c in sides)
        cost = self.log(before) - self.log(after)
        for e in (t.term for t in subterms(p) if t.term.decl().eq(self.rules[EXP])):
            path.fact(Kind.PRIME, implies(before <= e * after, cost <= e.arg(0)))
        return cost


def _in_support(family: Family, value: Term) -> Term:
    """That a value is one of one-sided noise, or of a coin."""
    return both(value >= 0, value <= 1) if family.coin else value >= 0


def bounds(value: Term, low: Term | None, high: Term | None) -> list[Term]:
    """What low <= value < high says, where there are these."""
    known = [] if low is None else [real(low) <= real(value)]
    return known if high is None else [*known, real(value) < real(high)]


def _is_random(stmt: n.Stmt) -> bool:
    """Whether a statement draws, calls or selects."""
    return any(
        isinstance(s, n.Sample | n.Invoke) or (isinstance(s, n.Assign) and isinstance(s.value, n.Gather))
        for s in statements_in((stmt,))
    )


def _quiet(stmt: n.If) -> bool:
    """Whether all arms only assign, and select nothing."""
    return all(isinstance(s, n.Assign | n.If | n.Pass) for s in statements_in((stmt,)))
