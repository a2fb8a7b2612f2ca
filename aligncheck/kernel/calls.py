"""Calls of other mechanisms, by what the kernel itself has accepted of them.

Why sound: a call draws what it releases from a distribution that, for neighbouring arguments, differs by a
factor of at most exp(its claim). In the chain rule it is one more coordinate, which the alignment leaves as
it is; what is known of it later is a function of that coordinate. See docs/kernel.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.logic import Fact, Kind
from aligncheck.kernel.run import Runner, bounds
from aligncheck.kernel.state import Path, RecordList
from aligncheck.kernel.symbols import Held
from aligncheck.kernel.terms import Term, both, implies, same
from aligncheck.kernel.witness import Witness
from aligncheck.language.adjacencies import Shared, Way
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import names_in, sharing

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

    def prepare_calls(self) -> None:
        """No callee has been judged yet."""
        self.callees: dict[str, Callee] = {}

    def invoke(self, stmt: n.Invoke, path: Path) -> None:
        """A call: its arguments are what the callee's proof assumed; it costs what the callee claims."""
        actual = Actual(stmt, self._callee(stmt), path)
        self._arguments(actual)
        callee = actual.callee
        for fact in callee.assumed:
            arbitrary = [(v, self.index("i")) for v in fact.variables]
            formula = z3.substitute(fact.formula, *arbitrary) if arbitrary else fact.formula
            text = f"{stmt.mechanism} gets what its proof covers"
            # With D twice: then the call is defined, and ends, in every run. With D and D': it is private.
            self.prove(path, "calls", stmt.span, text, actual.put(formula, 0))
            path.oblige("calls", stmt.span, text, actual.put(formula, 1))
        self._charge(stmt, callee, [actual.put(each, 0) for each in callee.claimed], path)
        path.calls[stmt.name] = self._released(actual)

    def _charge(self, stmt: n.Invoke, callee: Callee, claimed: list[Term], path: Path) -> None:
        """What a call costs: the ε that it claims, and its δ; or in ρ what it claims, or half the square of
        an ε.
        """
        price, spent, rho = claimed[0], path.ghosts, self.concentrated
        match callee.spec.claim:
            case n.Pure(epsilon=epsilon, most=most):
                price = self.square(price) / 2 if rho else price
                self.counted(stmt.name, stmt.span, None if rho else most or epsilon)
            case n.Approximate(epsilon=epsilon) if self.averaged and not rho:
                spent["$delta"] = spent["$delta"] + claimed[1]
                self.counted(stmt.name, stmt.span, epsilon)
            case n.Concentrated(rho=amount) if rho:
                self.counted(stmt.name, stmt.span, amount)
            case n.Approximate() | n.Concentrated():
                text = "does not add up with the rest: ε and δ add up, or ρ and halves of squares of ε"
                raise Reject("cost", stmt.span, f"what `{stmt.mechanism}` claims {text}")
        spent["alignment_cost"] = spent["alignment_cost"] + price

    def _callee(self, stmt: n.Invoke) -> Callee:
        if stmt.mechanism not in self.callees:
            use = next((u for u in self.spec.uses if u.name == stmt.mechanism), None)
            if use is None or use.contract is None:
                raise Reject("calls", stmt.span, f"nothing is known of `{stmt.mechanism}`")
            witness = self.witness.callees.get(use.name, Witness())
            try:
                callee = self.accepted(use.contract.mechanism, witness)
            except Reject as refusal:
                raise Reject("calls", use.span, f"`{use.name}` was not accepted ({refusal})") from None
            self.decided("calls", use.span, f"`{use.name}` was accepted by itself")
            self.callees[stmt.mechanism] = callee
        return self.callees[stmt.mechanism]

    # --- arguments ----------------------------------------------------------------------------------------

    def _arguments(self, actual: Actual) -> None:
        stmt, callee = actual.stmt, actual.callee
        given = {a.name: a.value for a in stmt.arguments}
        inputs = [x for i in callee.spec.inputs for x in (i.names if isinstance(i, n.Queries) else (i.name,))]
        if sorted(inputs) != sorted(a.name for a in stmt.arguments):
            raise Reject("form", stmt.span, f"`{stmt.mechanism}` takes other arguments")
        for item in callee.spec.inputs:
            names = item.names if isinstance(item, n.Queries) else (item.name,)
            for name in names:
                self._argument(actual, item, name, given[name])
            if isinstance(item, n.Queries):
                self._pass_marks(actual, item, [given[name] for name in names])
        self._pass_steps(actual)

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

    def _pass_marks(self, actual: Actual, item: n.Queries, given: list[n.Expr]) -> None:
        """Which answers move is for the caller to say: those that move in the one group that the arguments
        read, or in those that share their index. The callee's `ways` are taken for the caller's in order: a
        choice as good as any, since what the callee assumes of them is shown.
        """
        read = {x for e in given for x in self.lists if x in names_in(e) and x in self.private}
        groups = [g for g in self.spec.inputs if isinstance(g, n.Queries) and read & set(g.names)]
        if not groups or any(g not in sharing(self.spec.inputs, groups[0], Shared.INDEX) for g in groups):
            return
        theirs, ours = item.names[0], groups[0].names[0]
        instead = dict(zip(item.adjacency.ways, cycle(groups[0].adjacency.ways), strict=False))
        words = [("rises", "rises")]
        for way in Way:
            own = instead.get(way, way)
            words += [(f"{way.mark}{end}", f"{own.mark}{end}") for end in ("", "_owner")]
        inner = actual.callee.inner
        for word, own_word in words:
            their_mark, mark = inner.marks.get(f"${word}_{theirs}"), self.marks.get(f"${own_word}_{ours}")
            if their_mark is not None and mark is not None:
                actual.constants.append((their_mark, mark, mark))
        for name, e in zip(item.names, given, strict=True):
            for part in ("moved", "squares"):
                below = inner.moved.get(f"${part}_{name}")
                if below is not None:  # which is 0 of D and D
                    own = self.moved.get(f"${part}_{e.ident}", below) if isinstance(e, n.Name) else below
                    actual.functions.append((below, self.symbols.none, own(z3.Var(0, self.symbols.INT))))

    def _pass_steps(self, actual: Actual) -> None:
        """How many steps of the callee's lattice an answer counts: a guess; what it must be is shown."""
        inner = actual.callee.inner
        for symbol, *bodies in list(actual.functions):
            step = inner.lattice.get(symbol.get_id())
            if step is not None:
                one, other = (self.steps(body, actual.put(step, 0)) for body in bodies)
                actual.functions.append((inner.whole[symbol.get_id()], one, other))

    # --- what it released ---------------------------------------------------------------------------------

    def _released(self, actual: Actual) -> RecordList:
        """New symbols, the same on D and D', and what the callee's own proof tells of them in every run."""
        callee, path, r = actual.callee, actual.path, self.index("r")
        sorts = {f: symbol.range() for f, symbol in callee.inner.out.fields.items()}
        made = self.records(actual.stmt.name, callee.spec, sorts, lambda _: Held())
        path.fact(Kind.RUN, made.length >= 0)
        if callee.length is not None:
            path.fact(Kind.RUN, made.length == actual.put(callee.length, 0))
        inside = both(r >= 0, r < made.length)
        path.fact(Kind.RUN, implies(inside, made.tagged(r, made.tags)), (r,))
        for f, low, high in (each for each in callee.within if each[0] in made.fields):
            ends = (None if e is None else actual.put(e, 0) for e in (low, high))
            for known in bounds(made.fields[f](r), *ends):
                path.fact(Kind.RUN, implies(made.tagged(r, made.having[f]), known), (r,))
        return made
