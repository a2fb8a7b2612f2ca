"""Calls of other mechanisms, by what the kernel itself has accepted of them.

Why sound: a call draws what it releases from a distribution that, for neighbouring arguments, differs by a
factor of at most exp(its claim). In the chain rule it is one more coordinate, which the alignment leaves as
it is; what is known of it later is a function of that coordinate. See docs/kernel.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.evaluate import divided
from aligncheck.kernel.logic import Fact, Kind
from aligncheck.kernel.run import Runner, bounds
from aligncheck.kernel.state import Path
from aligncheck.kernel.symbols import Held
from aligncheck.kernel.terms import Term, absolute, both, either, implies, real, same
from aligncheck.kernel.witness import DELTA, RECORDS, Witness, own
from aligncheck.kernel.world import marks_of
from aligncheck.language.adjacencies import Shared, Way
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import subexpressions, together

NUMBER = "the argument is the same on D and D'"


@dataclass(frozen=True)
class Callee:
    """What was proved of a mechanism, in the symbols of `inner`; `assumed` is what its proof assumed of
    inputs.
    """

    spec: n.Mechanism
    inner: Runner
    assumed: tuple[Fact, ...]
    claimed: tuple[Term, ...]
    length: Term | None
    within: tuple[tuple[str, Term | None, Term | None], ...]


@dataclass
class Actual:
    """A call with its arguments: what stands for each constant of the callee, and for each function of an
    index (then the index is a de Bruijn variable); once of D in both places, and once of D and D'.
    """

    stmt: n.Invoke
    callee: Callee
    path: Path
    constants: list[tuple[Term, Term, Term]] = field(default_factory=list)
    functions: list[tuple[Any, Term, Term]] = field(default_factory=list)

    def put(self, term: Term, run: int) -> Term:
        """A term of the callee for these arguments; with `run` 0 those of D stand for those of D' as well."""
        functions = [(symbol, pair[run]) for symbol, *pair in self.functions]
        constants = [(symbol, pair[run]) for symbol, *pair in self.constants]
        term = z3.substitute_funs(term, *functions) if functions else term
        return z3.substitute(term, *constants) if constants else term


class Calling(Runner):
    """Calls."""

    accepted: Callable[[n.Mechanism, Witness], Callee]
    """Judges a callee by itself; then gives it symbols among those of the caller. Raises Reject."""

    def invoke(self, stmt: n.Invoke, path: Path) -> None:
        """A call: its arguments are what the callee's proof assumed; it costs what the callee claims, where
        they are apart.
        """
        callee, i = self.kept(("callee", stmt.mechanism), lambda: self._callee(stmt)), self.index("i")
        actual = Actual(stmt, callee, path)
        apart = self._arguments(actual, i)
        for fact in callee.assumed:
            arbitrary = [(v, self.index("i") if at else i) for at, v in enumerate(fact.variables)]
            formula = z3.substitute(fact.formula, *arbitrary) if arbitrary else fact.formula
            text = f"{stmt.mechanism} gets what its proof covers"
            # With D twice: then the call is defined, and ends, in every run. With D and D': it is private.
            self.prove(path, "calls", stmt.span, text, actual.put(formula, 0))
            path.oblige("calls", stmt.span, text, actual.put(formula, 1))
        claimed = [actual.put(each, 0) for each in callee.claimed]
        if stmt.rounds is not None:
            claimed = [self._repeated(stmt, stmt.rounds, callee.spec, claimed[0], path)]
        self._charge(stmt, callee, claimed, apart, path)
        self.released(actual)
        if stmt.rounds is not None:
            self._until(stmt, stmt.rounds.test, path)

    def _repeated(
        self, stmt: n.Invoke, rounds: n.Rounds, callee: n.Mechanism, price: Term, path: Path
    ) -> Term:
        """What a call costs that is made again until a test holds: twice its claim, whatever the chance to
        stop, and 2/(s(2 + s)) more where there are at most T rounds, with s = γT for the chance γ.

        Sound: section 8 of docs/kernel.md, for a chance above 0, T and test that are the same in both runs,
        the first two whatever is released: the records of a call come from one place, which is here. Source:
        Liu and Talwar, *Private Selection from Private Candidates*, STOC 2019, Algorithm 1. Breaks if: a
        round has its own chance to stop, or is told of: a public function knows what it was given.
        """
        if not isinstance(callee.claim, n.Pure):
            raise Reject("cost", rounds.span, f"`{stmt.mechanism}` is repeated, and claims more than an ε")
        asked = (e.function for e in subexpressions(rounds.test) if isinstance(e, n.Call))
        if callee.functions or any(f in self.functions for f in asked):
            raise Reject("language", rounds.span, "a public function would know of each round")
        scopes, most, text = self.in_runs(stmt, path)[:2], rounds.most, "a round has a chance to be the last"
        one, other = (real(self.number(rounds.chance, scope)) for scope in scopes)
        self.prove(path, "calls", rounds.chance.span, text, both(one > 0, one <= 1))
        path.oblige("calls", rounds.chance.span, f"{text}, the same on D and D'", one == other)
        if most is None:
            return 2 * price
        last, again = (real(self.whole_number(most, scope)) for scope in scopes)
        self.prove(path, "calls", most.span, "there is a round", last >= 1)
        path.oblige("calls", most.span, "there are at most as many rounds on D and on D'", last == again)
        return 2 * price + divided(self.symbols.none + 2, one * last * (2 + one * last))

    def _until(self, stmt: n.Invoke, test: n.Expr, path: Path) -> None:
        """What is left of the last round's records: all, if the test holds of them, or none. That it is one
        test on D and D' is shown of the records of any round, before anything else is known of them.
        """
        made, length = path.calls[stmt.name], self.held(f"len({stmt.name})", self.symbols.INT)
        holds, other = (self.truth(test, scope) for scope in self.in_runs(stmt, path)[:2])
        self.prove(path, "calls", test.span, "the test is the same on D and D'", holds == other, Kind.PRIME)
        path.fact(Kind.RUN, length == z3.If(holds, made.length, self.symbols.zero))
        path.calls[stmt.name] = replace(made, length=length)

    def _charge(self, stmt: n.Invoke, callee: Callee, claimed: list[Term], apart: Term, path: Path) -> None:
        """What a call costs with arguments that are apart: the ε that it claims, and its δ; or in ρ what it
        claims, or half the square of an ε, and a δ besides. With others it costs nothing.
        """
        price, spent, rho, none = claimed[0], path.ghosts, self.concentrated, self.symbols.none
        amount: n.Expr | None
        match callee.spec.claim:
            case n.Pure(epsilon=epsilon, most=most):
                amount = most or epsilon
            case n.Approximate(epsilon=amount) if isinstance(self.spec.claim, n.Approximate):
                spent[DELTA] = spent[DELTA] + z3.If(apart, claimed[1], none)
            case n.Concentrated(rho=amount) if rho:
                pass
            case n.Approximate() | n.Concentrated():
                text = "does not add up with the rest: ε and δ do, or ρ and half of ε², but a δ has no ρ"
                raise Reject("cost", stmt.span, f"what `{stmt.mechanism}` claims {text}")
        if rho and not isinstance(callee.spec.claim, n.Concentrated):
            price, amount = self.square(price) / 2, None
        self.counted(stmt.name, stmt.span, amount)
        spent["alignment_cost"] = spent["alignment_cost"] + z3.If(apart, price, none)

    def _callee(self, stmt: n.Invoke) -> Callee:
        use = next((u for u in self.spec.uses if u.name == stmt.mechanism), None)
        if use is None or use.contract is None:
            raise Reject("calls", stmt.span, f"nothing is known of `{stmt.mechanism}`")
        try:
            callee = self.accepted(use.contract.mechanism, self.witness.callees.get(use.name, Witness()))
        except Reject as refusal:
            raise Reject("calls", use.span, f"`{use.name}` was not accepted ({refusal})") from None
        if not {*callee.spec.functions} <= {*self.spec.functions}:
            raise Reject("calls", use.span, f"`{use.name}` takes public functions that are not declared")
        self.decided("calls", use.span, f"`{use.name}` was accepted by itself")
        return callee

    # --- arguments ----------------------------------------------------------------------------------------

    def _arguments(self, actual: Actual, i: Term) -> Term:
        """What stands for the callee's inputs; and whether it is apart, of which facts speak at i."""
        stmt, callee = actual.stmt, actual.callee
        given = {a.name: a.value for a in stmt.arguments}
        of = [(x, i) for i in callee.spec.inputs for x in i.names]
        if sorted(name for name, _ in of) != sorted(a.name for a in stmt.arguments):
            raise Reject("form", stmt.span, f"`{stmt.mechanism}` takes other arguments")
        for name, item in of:
            self._argument(actual, item, name, given[name])
        apart = self._pass_marks(actual, i)
        for item in callee.spec.inputs:
            if isinstance(item, n.Queries):
                self._pass_sums(actual, item, [given[name] for name in item.names])
        self._pass_steps(actual)
        return apart

    def _argument(self, actual: Actual, item: n.Input, name: str, e: n.Expr) -> None:
        """What stands for one input; a public one is the same on D and D'."""
        vector = isinstance(item, n.PublicVector) or (isinstance(item, n.Queries) and item.vector)
        i, inside, inner = self.index("i"), self.symbols.true, actual.callee.inner
        stmt, path = actual.stmt, actual.path
        if vector:
            terms, length = self._entries(actual, name, e, i)
            inside = both(i >= 0, i < length)
            actual.constants.append((inner.lengths[name], length, length))
        else:
            terms = [self.value(e, scope) for scope in self.in_runs(stmt, path)[:2]]
        one, other = (self.as_sort(stmt, term, item.sort) for term in terms)
        if not isinstance(item, n.Queries):
            path.oblige("calls", stmt.span, NUMBER, implies(inside, one == other))
        if isinstance(item, n.Parameter):
            actual.constants.append((inner.public[name], one, one))
            return
        on_d, on_other, _ = inner.lists[name]
        one, other = (z3.substitute(term, (i, z3.Var(0, self.symbols.INT))) for term in (one, other))
        actual.functions.append((on_d, one, one))
        if not same(on_d(0), on_other(0)):
            actual.functions.append((on_other, one, other))

    def _entries(self, actual: Actual, name: str, e: n.Expr, i: Term) -> tuple[list[Term], Term]:
        """The entry of a list at an index, on D and on D', and its length, which is the same. Of `list(E for
        j in …)` it is E at the i-th index.
        """
        if isinstance(e, n.Name) and not e.primed and e.ident in self.lists and e.ident not in self.single:
            return [f(i) for f in self.lists[e.ident][:2]], self.lengths[e.ident]
        stmt, path = actual.stmt, actual.path
        if not isinstance(e, n.Gather) or (e.function, e.where, e.count) != (n.LISTING, None, None):
            raise Reject("form", stmt.span, f"`{name}` of `{stmt.mechanism}` is a list")
        one, other = (self.opened(e, scope, number=False) for scope in self.in_runs(stmt, path)[:2])
        for end, again in ((one.low, other.low), (one.high, other.high)):
            path.oblige("calls", stmt.span, NUMBER, end == again)
        length = z3.If(one.low <= one.high, one.high - one.low, self.symbols.zero)
        return [found.at(found.low + i).body for found in (one, other)], length

    def _pass_marks(self, actual: Actual, i: Term) -> Term:
        """What the callee has symbols for: a place for each of its `ways` (a first one; for a second way a
        last one), and whether any answer goes up. Returns whether the arguments are apart at all.

        Sound, since all are chosen so for each pair of runs; what the callee assumes of them is shown. With
        arguments that are apart nowhere what a call releases has one distribution, so that the call is free:
        see section 8 of docs/kernel.md. Source: McSherry, *Privacy Integrated Queries*, SIGMOD 2009,
        Theorem 4. Breaks if: the callee reads something that is not compared here.
        """
        inner, inputs, apart = actual.callee.inner, actual.callee.spec.inputs, [self.symbols.false]
        for lines in together(inputs, Shared.INDEX):
            for way in lines[0].adjacency.ways or (Way.ONE,):
                marks = [inner.marks[mark] for mark in marks_of(way, lines[0].names[0])]
                apart.append(self._somewhere(actual, lines, way, i, marks))
        for lines in together(inputs, Shared.DIRECTION):
            rises = self._somewhere(actual, lines, Way.UP, i, [])
            actual.constants.append((inner.marks[own("rises", lines[0].names[0])], rises, rises))
        return either(*apart)

    def _somewhere(
        self, actual: Actual, lines: list[n.Queries], way: Way, i: Term, marks: list[Term]
    ) -> Term:
        """That arguments are apart in some way at a place, which is new and stands for the marks: of an
        arbitrary index i is stated that they are not apart there, or are at that place, and it comes first.
        """
        inner, lists = actual.callee.inner, [(at, x) for line in lines for at, x in enumerate(line.names)]
        place, owner = (self.held(f"{end}{way.mark}", self.symbols.INT) for end in ("", "owner_"))
        self.apart.append(place)
        actual.constants += [(mark, new, new) for mark, new in zip(marks, (place, owner), strict=False)]

        def apart(x: str, at: Term) -> Term:
            one, other = (f(at) for f in inner.lists[x][:2])
            moved = {-1: other < one, 0: one != other, 1: one < other}[way.sign]
            return actual.put(both(at >= 0, at < inner.lengths[x], moved), 1)

        there = either(*(both(owner == at, apart(x, place)) for at, x in lists))
        for at, x in lists:
            ends = [(owner, place), (self.symbols.integer(at), i)]
            low, high = reversed(ends) if way is Way.SECOND else ends
            first = either(low[0] < high[0], both(low[0] == high[0], low[1] <= high[1]))
            actual.path.fact(Kind.PRIME, implies(apart(x, i), both(there, first)))
        return there

    def _pass_sums(self, actual: Actual, item: n.Queries, given: list[n.Expr]) -> None:
        """How far the answers below an index move in all: as the caller knows it of the list, or by what the
        one at the place moves, if no other does. What the callee assumes of it is shown.
        """
        inner, i = actual.callee.inner, z3.Var(0, self.symbols.INT)
        at, owner = (inner.marks[mark] for mark in marks_of(Way.ONE, item.names[0]))
        for number, (name, e) in enumerate(zip(item.names, given, strict=True)):
            move = real(inner.lists[name][1](at)) - real(inner.lists[name][0](at))
            for part, size in (("moved", absolute(move)), ("squares", move * move)):
                below = inner.moved.get(own(part, name))
                if below is not None:  # which is 0 of D and D
                    known = self.moved.get(own(part, e.ident)) if isinstance(e, n.Name) else None
                    below_i = both(owner == number, at >= 0, at < inner.lengths[name], at < i)
                    single = z3.If(below_i, size, self.symbols.none)
                    with_own = actual.put(single, 1) if known is None else known(i)
                    actual.functions.append((below, self.symbols.none, with_own))

    def _pass_steps(self, actual: Actual) -> None:
        """How many steps of the callee's lattice an answer counts: a guess; what it must be is shown."""
        inner = actual.callee.inner
        for symbol, *bodies in list(actual.functions):
            step = inner.lattice.get(symbol.get_id())
            if step is not None:
                one, other = (self.steps(body, actual.put(step, 0)) for body in bodies)
                actual.functions.append((inner.whole[symbol.get_id()], one, other))

    # --- what it released ---------------------------------------------------------------------------------

    def released(self, actual: Actual) -> None:
        """New symbols, the same on D and D', and what the callee's own proof tells of them in every run: how
        many records there are, in all and with a tag (so many terms of a sum are 1), and what is in them.
        """
        callee, path, r = actual.callee, actual.path, self.index("r")
        sorts = {f: symbol.range() for f, symbol in callee.inner.out.fields.items()}
        made = self.records(actual.stmt.name, callee.spec, sorts, lambda _: Held())
        path.calls[actual.stmt.name] = made
        path.fact(Kind.RUN, made.length >= 0)
        if callee.length is not None:
            path.fact(Kind.RUN, made.length == actual.put(callee.length, 0))
        inside = both(r >= 0, r < made.length)
        path.fact(Kind.RUN, implies(inside, made.tagged(r, made.tags)), (r,))
        for f, low, high in callee.within:
            ends = [None if e is None else actual.put(e, 0) for e in (low, high)]
            for known in bounds(made.fields[f](r), *ends) if f in made.fields else ():
                path.fact(Kind.RUN, implies(made.tagged(r, made.having[f]), known), (r,))
            counted = {RECORDS: None} | {own("count", tag): tag for tag in made.tags}
            if f in counted:
                many = n.OutCount(counted[f], of=actual.stmt.name)
                for known in bounds(self.value(many, self.program(actual.stmt, path)), *ends):
                    path.fact(Kind.RUN, known)
