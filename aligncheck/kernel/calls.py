"""Calls of other mechanisms, by what the kernel itself has accepted of them.

Why sound: a call draws what it releases from a distribution that, for neighbouring arguments, differs by a
factor of at most exp(its claim). In the chain rule it is one more coordinate, which the alignment leaves as
it is; what is known of it later is a function of that coordinate. See docs/kernel.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import Any

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.logic import Fact, Kind
from aligncheck.kernel.run import Runner
from aligncheck.kernel.sorts import fields_of
from aligncheck.kernel.state import Called, Path, Scope
from aligncheck.kernel.symbols import Held
from aligncheck.kernel.terms import Term, both, either, implies, real, same
from aligncheck.kernel.witness import Witness
from aligncheck.kernel.world import World
from aligncheck.language.adjacencies import Way
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import names_in, statements_in

NUMBER = "the argument is the same on D and D'"


@dataclass(frozen=True)
class Callee:
    """What was proved of a mechanism, in the symbols of `inner`; `assumed` is what its proof assumed of
    inputs.
    """

    spec: n.Mechanism
    inner: World
    assumed: tuple[Fact, ...]
    claim: Term
    length: Term | None
    within: tuple[tuple[str, Term | None, Term | None], ...]


@dataclass
class Actual:
    """The arguments: what stands for each symbol of the callee, on D and on D'."""

    constants: list[tuple[Term, Term]]
    other_constants: list[tuple[Term, Term]]
    functions: list[tuple[Any, Term]]
    other_functions: list[tuple[Any, Term]]

    def put(self, term: Term, run: int) -> Term:
        """A term of the callee for these arguments; with `run` 0 those of D stand for those of D' as well."""
        functions = self.other_functions if run else self.functions
        constants = self.other_constants if run else self.constants
        term = z3.substitute_funs(term, *functions) if functions else term
        return z3.substitute(term, *constants) if constants else term


class Calling(Runner):
    """Calls."""

    def prepare_calls(self) -> None:
        """No callee has been judged yet."""
        self.callees: dict[str, Callee] = {}

    def accepted(self, spec: n.Mechanism, witness: Witness) -> Callee:
        """Judges a callee by itself; then gives it symbols among those of the caller. Raises Reject."""
        raise NotImplementedError

    def invoke(self, stmt: n.Invoke, path: Path) -> None:
        """A call: its arguments are what the callee's proof assumed; it costs what the callee claims."""
        callee = self._callee(stmt)
        actual = self._arguments(stmt, callee, path)
        for fact in callee.assumed:
            arbitrary = [(v, self.index("i")) for v in fact.variables]
            formula = z3.substitute(fact.formula, *arbitrary) if arbitrary else fact.formula
            text = f"{stmt.mechanism} gets what its proof covers"
            # With D twice: then the call is defined, and ends, in every run. With D and D': it is private.
            self.prove(path, "calls", stmt.span, text, actual.put(formula, 0), (Kind.RUN,))
            path.oblige("calls", stmt.span, text, actual.put(formula, 1))
        path.ghosts["alignment_cost"] = path.ghosts["alignment_cost"] + actual.put(callee.claim, 0)
        self.counted(stmt.name, stmt.span, callee.spec.most or callee.spec.privacy)
        path.calls[stmt.name] = self._released(stmt, callee, actual, path)

    def _callee(self, stmt: n.Invoke) -> Callee:
        if stmt.mechanism not in self.callees:
            use = next((u for u in self.spec.uses if u.name == stmt.mechanism), None)
            if use is None or use.contract is None:
                raise Reject("calls", stmt.span, f"nothing is known of `{stmt.mechanism}`")
            witness = self.witness.callees.get(use.name, Witness())
            try:
                callee = self.accepted(use.contract.mechanism, witness)
            except Reject as refusal:
                reason = (
                    f"`{use.name}` was not accepted ({refusal.answer.condition}: {refusal.answer.reason})"
                )
                raise Reject("calls", use.span, reason) from None
            self.decided("calls", use.span, f"`{use.name}` was accepted by itself")
            self.callees[stmt.mechanism] = callee
        return self.callees[stmt.mechanism]

    # --- arguments ----------------------------------------------------------------------------------------

    def _arguments(self, stmt: n.Invoke, callee: Callee, path: Path) -> Actual:
        given = {a.name: a.value for a in stmt.arguments}
        inputs = [x for i in callee.spec.inputs for x in (i.names if isinstance(i, n.Queries) else (i.name,))]
        if sorted(inputs) != sorted(a.name for a in stmt.arguments):
            raise Reject("form", stmt.span, f"`{stmt.mechanism}` takes other arguments")
        actual = Actual([], [], [], [])
        for item in callee.spec.inputs:
            match item:
                case n.Parameter(name=name, sort=sort):
                    self._scalar(stmt, callee.inner.public[name], given[name], sort, True, actual, path)
                case n.PublicVector(name=name, sort=sort):
                    self._list(stmt, callee, name, given[name], sort, True, actual, path)
                case n.Queries(names=names, sort=sort, vector=vector):
                    for name in names:
                        if vector:
                            self._list(stmt, callee, name, given[name], sort, False, actual, path)
                        else:
                            self._single(stmt, callee, name, given[name], sort, actual, path)
                    self._pass_marks(stmt, callee, item, [given[name] for name in names], actual)
        self._pass_steps(callee, actual)
        return actual

    def _pair(self, stmt: n.Invoke, e: n.Expr, sort: n.Sort, path: Path, scope: Scope) -> tuple[Term, Term]:
        one, other = (self.as_sort(stmt, self.value(e, path, run, scope), sort) for run in (0, 1))
        return one, other

    def _scalar(
        self, stmt: n.Invoke, symbol: Term, e: n.Expr, sort: n.Sort, public: bool, actual: Actual, path: Path
    ) -> None:
        one, other = self._pair(stmt, e, sort, path, self.program(stmt))
        if public:
            path.oblige("calls", stmt.span, NUMBER, one == other)
        actual.constants.append((symbol, one))
        actual.other_constants.append((symbol, one))

    def _single(
        self, stmt: n.Invoke, callee: Callee, name: str, e: n.Expr, sort: n.Sort, actual: Actual, path: Path
    ) -> None:
        pair = self._pair(stmt, e, sort, path, self.program(stmt))
        self._functions(callee, name, pair, actual)

    def _functions(self, callee: Callee, name: str, bodies: tuple[Term, Term], actual: Actual) -> None:
        """The callee's list, as functions of the index (a de Bruijn variable in the bodies, if any)."""
        on_d, on_other, _ = callee.inner.lists[name]
        actual.functions.append((on_d, bodies[0]))
        actual.other_functions.append((on_d, bodies[0]))
        if not same(on_d(0), on_other(0)):
            actual.functions.append((on_other, bodies[0]))
            actual.other_functions.append((on_other, bodies[1]))

    def _list(
        self,
        stmt: n.Invoke,
        callee: Callee,
        name: str,
        e: n.Expr,
        sort: n.Sort,
        public: bool,
        actual: Actual,
        path: Path,
    ) -> None:
        i, scope = self.index("i"), self.program(stmt)
        if isinstance(e, n.Name) and not e.primed and e.ident in self.lists and e.ident not in self.single:
            terms = [self.as_sort(stmt, f(i), sort) for f in self.lists[e.ident][:2]]
            length = self.lengths[e.ident]
        elif isinstance(e, n.Gather) and e.function == n.LISTING and e.where is None and e.count is None:
            terms, length = self._listed(stmt, e, i, sort, path, scope)
        else:
            raise Reject("form", stmt.span, f"`{name}` of `{stmt.mechanism}` is a list")
        if public:
            inside = both(i >= 0, i < length)
            path.oblige("calls", stmt.span, NUMBER, implies(inside, terms[0] == terms[1]))
        place = z3.Var(0, self.symbols.INT)
        bodies = [z3.substitute(t, (i, place)) for t in terms]
        self._functions(callee, name, (bodies[0], bodies[1]), actual)
        symbol = callee.inner.lengths[name]
        actual.constants.append((symbol, length))
        actual.other_constants.append((symbol, length))

    def _listed(
        self, stmt: n.Invoke, g: n.Gather, i: Term, sort: n.Sort, path: Path, scope: Scope
    ) -> tuple[list[Term], Term]:
        """`list(E for j in …)`: entry i is E at the i-th index; it has the same length on D and D'."""
        terms, ends = [], []
        for run in (0, 1):
            j = self.generic(0)
            body, low, high = self.entry(g, j, path, run, scope)
            terms.append(z3.substitute(self.as_sort(stmt, body, sort), (j, low + i)))
            ends.append((low, high))
        for one, other in zip(*ends, strict=True):
            path.oblige("calls", stmt.span, NUMBER, one == other)
        low, high = ends[0]
        return terms, z3.If(low <= high, high - low, self.symbols.zero)

    def _pass_marks(
        self, stmt: n.Invoke, callee: Callee, item: n.Queries, given: list[n.Expr], actual: Actual
    ) -> None:
        """Which answers move is for the caller to say: those that move in the one group that the arguments
        read. The callee's `ways` are taken for the caller's in order: a choice as good as any, since what the
        callee assumes of them is shown.
        """
        read = {x for e in given for x in self.lists if x in names_in(e) and x in self.private}
        groups = [g for g in self.spec.inputs if isinstance(g, n.Queries) and read & set(g.names)]
        if len(groups) != 1:
            return
        theirs, ours = item.names[0], groups[0].names[0]
        instead = dict(zip(item.adjacency.ways, cycle(groups[0].adjacency.ways), strict=False))
        words = [("rises", "rises")]
        for way in Way:
            own = instead.get(way, way)
            words += [(f"{way.mark}{end}", f"{own.mark}{end}") for end in ("", "_owner")]
        for inner, outer in words:
            if f"${inner}_{theirs}" not in callee.inner.marks or f"${outer}_{ours}" not in self.marks:
                continue
            pair = (callee.inner.marks[f"${inner}_{theirs}"], self.marks[f"${outer}_{ours}"])
            actual.constants.append(pair)
            actual.other_constants.append(pair)
        place = z3.Var(0, self.symbols.INT)
        for name, e in zip(item.names, given, strict=True):
            theirs, ours = f"$moved_{name}", f"$moved_{e.ident}" if isinstance(e, n.Name) else ""
            if theirs in callee.inner.moved:  # which nothing is, of D and D
                actual.functions.append((callee.inner.moved[theirs], self.symbols.none))
                if ours in self.moved:
                    actual.other_functions.append((callee.inner.moved[theirs], self.moved[ours](place)))

    def _pass_steps(self, callee: Callee, actual: Actual) -> None:
        """How many steps of the callee's lattice an answer counts: a guess; what it must be is shown."""
        for functions in (actual.functions, actual.other_functions):
            for symbol, body in list(functions):
                step = callee.inner.lattice.get(symbol.get_id())
                if step is not None:
                    counted = callee.inner.whole[symbol.get_id()]
                    functions.append((counted, self.steps(body, actual.put(step, 0))))

    # --- what it released ---------------------------------------------------------------------------------

    def _released(self, stmt: n.Invoke, callee: Callee, actual: Actual, path: Path) -> Called:
        """New symbols, the same on D and D', and what the callee's own proof tells of them in every run."""
        s, x = self.symbols, stmt.name
        length = s.constant(f"len({x})", s.INT, Held())
        tag = s.function(f"tag of {x}", (s.INT,), s.INT, Held())
        sorts = fields_of(callee.spec)
        fields = {f: s.function(f"{x}.{f}", (s.INT,), self.sort(sort), Held()) for f, sort in sorts.items()}
        path.fact(Kind.RUN, length >= 0)
        if callee.length is not None:
            path.fact(Kind.RUN, length == actual.put(callee.length, 0))
        r = self.index("r")
        inside = both(r >= 0, r < length)
        tags, having = records_of(callee.spec)
        path.fact(
            Kind.RUN, implies(inside, either(s.false, *(tag(r) == at for at in range(len(tags))))), (r,)
        )
        for f, low, high in (bounds for bounds in callee.within if bounds[0] in fields):
            numbers = [tags.index(t) for t in having[f]]
            there = both(inside, either(s.false, *(tag(r) == at for at in numbers)))
            value = real(fields[f](r))
            for bound, above in ((low, True), (high, False)):
                if bound is not None:
                    end = real(actual.put(bound, 0))
                    path.fact(Kind.RUN, implies(there, end <= value if above else value < end), (r,))
        return Called(length, tag, fields)

    def called_tags(self, of: str) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
        """The tags of what a call released, and which have a field."""
        for s in statements_in(self.spec.body):
            if isinstance(s, n.Invoke) and s.name == of and s.mechanism in self.callees:
                return records_of(self.callees[s.mechanism].spec)
        raise Reject("calls", self.spec.span, f"nothing was released by `{of}` yet")


def records_of(spec: n.Mechanism) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The tags that a mechanism's records have, and for each field the tags that have it."""
    emits = [s for s in statements_in(spec.body) if isinstance(s, n.Emit)]
    tags = tuple(dict.fromkeys(e.tag for e in emits))
    having: dict[str, tuple[str, ...]] = {}
    for e in emits:
        for f in e.fields:
            having[f.name] = tuple(dict.fromkeys((*having.get(f.name, ()), e.tag)))
    return tags, having
