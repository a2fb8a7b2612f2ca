"""Which facts are enough for a question: the kernel is told, where a proof among all takes long.

Nothing here is believed: the kernel asks again, with these facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from aligncheck.kernel.answer import Accepted, Reject
from aligncheck.kernel.decide import decide, judged
from aligncheck.kernel.logic import ANEW, ENOUGH, Decider, Fact, Kind, instances
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.terms import Term, subterms
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import expressions_of, names_in, statements_in

EASY, FEWER = 60_000, (150_000, 400_000)
"""What a question may take that the kernel is told nothing of; what one with fewer facts may, and all that
are asked to find it.
"""
SIMPLE = (1, 200_000)
"""The same for a question that is easy with few facts."""


def with_needs(spec: n.Mechanism, witness: Witness) -> Witness:
    """A witness that the kernel accepts, with what makes its hard questions easier, and those of its callees;
    the same witness where the kernel does not accept that.
    """
    called = {use.name: use.contract.mechanism for use in spec.uses if use.contract is not None}
    inner = {name: with_needs(called[name], w) for name, w in witness.callees.items() if name in called}
    told, symbols, finder = replace(witness, callees={**witness.callees, **inner}), Symbols(), Finder()
    try:
        judged(spec, told, finder, symbols)
    except Reject:
        return witness
    finally:
        symbols.ctx.forget()
    known = {**finder.needs, **finder.found}
    told = replace(told, needs=tuple((number, *known[number]) for number in sorted(known)))
    return told if isinstance(decide(spec, told), Accepted) else witness


def with_products(spec: n.Mechanism, witness: Witness) -> Witness:
    """The witness, where a spec multiplies or divides what may differ between D and D', with fewer facts as
    needs of the questions for which these are enough: with all of them a product may take longer than a file
    has.
    """
    if not multiplies(spec):
        return witness
    finder, symbols = Products(), Symbols()
    try:
        judged(spec, witness, finder, symbols)
    except Reject:
        pass
    finally:
        symbols.ctx.forget()
    return replace(witness, needs=tuple((number, *facts) for number, facts in finder.found.items()))


def multiplies(spec: n.Mechanism) -> bool:
    """Whether two numbers that answers or noise are in are multiplied, or divided."""
    body = list(statements_in(spec.body))
    moving = {s.name for s in body if isinstance(s, n.Sample)}
    moving |= {name for item in spec.inputs if isinstance(item, n.Queries) for name in item.names}
    moving |= {s.over.item for s in body if isinstance(s, n.For) and isinstance(s.over, n.OverQueries)}
    while new := {s.name for s in body if isinstance(s, n.Assign) and names_in(s.value) & moving} - moving:
        moving |= new

    def product(e: n.Expr) -> bool:
        if not isinstance(e, n.Binary) or e.op not in ("*", "/", "**") or not names_in(e.left) & moving:
            return False
        return e.op == "**" or bool(names_in(e.right) & moving)

    return any(map(product, expressions_of(body)))


@dataclass
class Finder(Decider):
    """`found` is what it found to be enough for questions that take many steps."""

    found: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def proof(
        self, facts: Sequence[Fact], not_so: Term, anew: Sequence[tuple[int, int]]
    ) -> tuple[Sequence[Fact], int] | None:
        """See `Decider`."""
        start, shown = self.steps, super().proof(facts, not_so, anew)
        if shown is None or shown[1] <= EASY or self.number in self.needs:
            return shown
        for rounds, limit in (*ANEW, ENOUGH):
            core = self._needed(facts, not_so, rounds, limit)
            if core:
                few = self._fewer(core, not_so)
                self.found[self.number] = tuple(at for at, fact in enumerate(facts) if fact in few)
                return few, self.steps - start
        return shown

    def _needed(self, facts: Sequence[Fact], not_so: Term, rounds: int, limit: int) -> list[Fact]:
        """Those of the facts that a proof used; none if none is found."""
        import z3

        solver = instances(z3.SimpleSolver, not_so.ctx, rounds, limit, case_split=3, unsat_core=True)
        names = [z3.Bool(f"needed!{at}", not_so.ctx) for at in range(len(facts))]
        for name, fact in zip(names, facts, strict=True):
            solver.assert_and_track(self.term(fact), name)
        if not self.contradict(solver, [not_so]):
            return []
        core = {name.get_id() for name in solver.unsat_core()}
        return [fact for name, fact in zip(names, facts, strict=True) if name.get_id() in core]

    def _fewer(self, facts: list[Fact], not_so: Term) -> list[Fact]:
        """Leaves out facts, many at a time first, until that leaves an easier question, or takes long."""
        end, size = self.steps + FEWER[1], len(facts)
        while size and self.steps < end:
            at = 0 if size < len(facts) else size  # first with all of them
            while at <= len(facts) and self.steps < end:
                fewer = facts[:at] + facts[at + size :]
                if self.shows(fewer, not_so, ENOUGH[0], FEWER[0]):
                    return fewer
                at += size
            size //= 2
        return facts


@dataclass
class Products(Finder):
    """Decides nothing: `found` are the questions for which fewer facts are enough. Of what is released, what
    is known of the run on D' alone, about no index in general; of costs, all that is of no other sum.
    """

    def follows(
        self,
        facts: Sequence[Fact],
        goal: Term,
        about: str = "",
        anew: Sequence[tuple[int, int]] | None = None,
    ) -> int | None:
        """See `Decider`."""
        self.number += anew != ()
        few: tuple[int, ...] = ()
        if anew is None and about.startswith("output"):
            few = tuple(at for at, f in enumerate(facts) if f.kind is Kind.PRIME and not f.variables)
        elif anew is None and about.startswith("cost"):
            own = _sums(goal)
            few = tuple(at for at, f in enumerate(facts) if own and _sums(f.formula) <= own)
        if 0 < len(few) < len(facts):
            import z3

            core = self._needed([facts[at] for at in few], z3.Not(goal), *SIMPLE)
            if core:
                self.found[self.number] = tuple(at for at in few if facts[at] in core)
        return 0


def _sums(term: Term) -> frozenset[str]:
    """The sums over sets that a term reads."""
    names = (t.term.decl().name() for t in subterms(term) if t.symbol)
    return frozenset(name for name in names if name.startswith("sum!"))
