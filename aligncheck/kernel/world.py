"""What stands still while the kernel goes through a program: symbols of inputs, noise and output, and all
decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from aligncheck.kernel.answer import Part, Reject
from aligncheck.kernel.logic import Decider, Fact, Kind
from aligncheck.kernel.state import Mode, Obligation, Path, RecordList, Scope
from aligncheck.kernel.symbols import Drawn, Given, Held, Role, Rule, Symbols, Told
from aligncheck.kernel.terms import Anatomy, Term, anatomy, implies
from aligncheck.kernel.witness import RECORDS, Witness, own
from aligncheck.language.adjacencies import Way
from aligncheck.language.families import Family
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in


@dataclass(frozen=True)
class NoiseVariable:
    """A noise variable: its family, and its draws on D and on D' as functions of the index. On a lattice
    `whole` counts the steps of a draw on D.
    """

    family: Family
    symbols: tuple[Any, ...]
    whole: tuple[Any, ...]


@dataclass
class World:
    """Everything that does not change along a path."""

    spec: n.Mechanism
    witness: Witness
    decider: Decider
    symbols: Symbols = field(default_factory=Symbols)
    decisions: dict[tuple[str, Span, str], int] = field(default_factory=dict)
    parts: dict[Part, None] = field(default_factory=dict)
    public: dict[str, Term] = field(default_factory=dict)
    lists: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    lengths: dict[str, Term] = field(default_factory=dict)
    single: set[str] = field(default_factory=set)
    marks: dict[str, Term] = field(default_factory=dict)
    moved: dict[str, Any] = field(default_factory=dict)
    whole: dict[int, Any] = field(default_factory=dict)
    lattice: dict[int, Term] = field(default_factory=dict)
    noise: dict[str, NoiseVariable] = field(default_factory=dict)
    functions: dict[str, tuple[n.Function, Any]] = field(default_factory=dict)
    sorts: dict[str, n.Sort] = field(default_factory=dict)
    settled: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    rules: dict[str, Any] = field(default_factory=dict)
    indices: list[Term] = field(default_factory=list)
    taken_at: list[Term] = field(default_factory=list)
    quotients: list[Term] = field(default_factory=list)
    apart: list[Term] = field(default_factory=list)
    moduli: dict[Anatomy, Term] = field(default_factory=dict)
    made: dict[tuple[object, ...], Any] = field(default_factory=dict)
    runs: tuple[int, ...] = (0, 1)

    @property
    def averaged(self) -> bool:
        """Whether the claim averages over outputs: what is done may then depend on earlier ones only."""
        return not isinstance(self.spec.claim, n.Pure)

    @property
    def concentrated(self) -> bool:
        """Whether costs are added up in ρ: see section 14 of docs/kernel.md."""
        converted = isinstance(self.spec.claim, n.Approximate) and self.witness.rho is not None
        return converted or isinstance(self.spec.claim, n.Concentrated)

    # --- decisions ----------------------------------------------------------------------------------------

    def decided(self, condition: str, place: Span, sentence: str, steps: int = 0) -> None:
        """Writes down a decision: once, with the steps that it took on all paths."""
        about = (condition, place, sentence)
        self.decisions[about] = self.decisions.get(about, 0) + steps

    def counted(self, name: str, place: Span, amount: n.Expr | None) -> None:
        """Writes down how a part of the cost is counted."""
        self.parts[Part(name, place, amount)] = None

    def prove(
        self, path: Path, condition: str, place: Span, text: str, goal: Term, upto: Kind = Kind.RUN
    ) -> None:
        """Decides now, from what is known on the path so far, up to this kind. Raises Reject."""
        question = Obligation(condition, place, text, goal, len(path.facts))
        self.decide(path, [f for f in path.facts if f.kind <= upto], question)

    def discharge(self, path: Path) -> None:
        """Decides all that is pending. Raises Reject."""
        # What most questions have in common comes first: what was known the last time, in any order.
        facts = list(enumerate(path.facts))
        facts[path.settled :] = sorted(facts[path.settled :], key=lambda each: max(each[1].kind, Kind.WHOLE))
        for o in path.pending:
            self.decide(path, o.usable(facts), o)
        path.pending, path.settled, path.foreseen = [], len(path.facts), 0

    def foresee(self, path: Path) -> None:
        """Where ways part: what is pending and follows by now is decided once, and not on each of them."""
        facts = list(enumerate(path.facts))
        for o in path.pending[path.foreseen :]:
            steps = self.decider.follows(o.usable(facts), o.goal, f"{o.condition}: {o.sentence}", ())
            if steps is not None:
                self.decided(o.condition, o.place, o.sentence, steps)
        path.foreseen = len(path.pending)

    def decide(self, path: Path, facts: list[Fact], o: Obligation) -> None:
        """Decides an obligation of a path from facts. Raises Reject."""
        steps = self.decider.follows(facts, o.goal, f"{o.condition}: {o.sentence}")
        if steps is None:
            raise Reject(o.condition, o.place, f"not shown: {o.sentence}", o.line)
        self.decided(o.condition, o.place, o.sentence, steps)

    def scope(self, mode: Mode, path: Path, place: Span, generic: tuple[Term, ...] = ()) -> Scope:
        """Where an expression is read, with no test around it."""
        return Scope(mode, path, self.symbols.true, place, generic=generic)

    def state(self, kind: Kind, scope: Scope, formula: Term, *more: Term) -> None:
        """A fact that holds wherever the scope is, for all indices around it and for `more`; unless it is
        known to hold anywhere.
        """
        if (kind, anatomy(formula)) not in scope.path.known:
            scope.path.fact(kind, implies(scope.guard, formula), (*scope.generic, *more))

    # --- symbols ------------------------------------------------------------------------------------------

    def sort(self, sort: n.Sort) -> Any:
        """Z3's sort."""
        s = self.symbols
        return {n.Sort.REAL: s.REAL, n.Sort.INT: s.INT, n.Sort.BOOL: s.BOOL}[sort]

    def kept(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        """Symbols that are made once, and the same whenever one asks under this key."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def index(self, name: str) -> Term:
        """An arbitrary whole number."""
        index = self.symbols.constant(name, self.symbols.INT, Given())
        self.indices.append(index)
        return index

    def arbitrary(self, *names: str) -> list[Term]:
        """Arbitrary whole numbers. No fact is ever stated of them but for all numbers in their place, so that
        one serves many facts, and what is stated twice is one formula.
        """
        return [self.kept(("arbitrary", x), partial(self.index, x)) for x in names]

    def held(self, name: str, sort: Any) -> Term:
        """A value of which nothing is known; it may depend on every draw so far."""
        return self.symbols.constant(name, sort, Held())

    def declare_noise(self) -> None:
        """Symbols for every noise variable, which has one family."""
        s = self.symbols
        for stmt in (each for each in statements_in(self.spec.body) if isinstance(each, n.Sample)):
            x, family = stmt.name, stmt.family
            if x not in self.noise:
                roles = [Drawn(x, run) for run in range(3)]
                drawn = tuple(s.function(x + "'" * role.run, (s.INT,), s.REAL, role) for role in roles)
                whole = tuple(s.function(f"steps of {x}", (s.INT,), s.INT, role) for role in roles)
                self.noise[x] = NoiseVariable(family, drawn, whole)
                if family.discrete:
                    self.whole |= {drawn[run].get_id(): whole[run] for run in (0, 2)}
            elif self.noise[x].family is not family:
                raise Reject("language", stmt.span, f"`{x}` is drawn from two families")

    def declare_functions(self) -> None:
        """A symbol for every public function: the same function on D and D'. What is called has those of the
        caller that are declared alike: its proof holds for any functions.
        """
        given, self.functions = self.functions, {}
        for f in self.spec.functions:
            domain = tuple(self.sort(a) for a in f.args)
            known = given.get(f.name)
            symbol = self.symbols.function(f.name, domain, self.sort(f.result), Rule())
            self.functions[f.name] = known if known is not None and known[0] == f else (f, symbol)

    def output(self) -> RecordList:
        """Symbols for the whole output."""
        s = self.symbols
        kept = {f.name: self.sorts.get(own("field", f.name)) for e in _emits(self.spec) for f in e.fields}
        sorts = {name: self.sort(sort) for name, sort in kept.items() if sort is not None}
        made = self.records("out", self.spec, sorts, lambda sort: Told(sort == s.REAL))
        counts = {own("count", t): s.constant(f"out.count({t})", s.INT, Told(False)) for t in made.tags}
        return replace(made, counts={RECORDS: made.length} | counts)

    def records(
        self, name: str, spec: n.Mechanism, sorts: dict[str, Any], role: Callable[[Any], Role]
    ) -> RecordList:
        """Symbols for the records of a mechanism; nothing is told of a field without a sort."""
        s, having = self.symbols, dict[str, tuple[str, ...]]()
        for e in _emits(spec):
            for f in e.fields:
                having[f.name] = tuple(dict.fromkeys((*having.get(f.name, ()), e.tag)))
        length = s.constant(f"len({name})", s.INT, role(s.INT))
        tag = s.function(f"tag of {name}", (s.INT,), s.INT, role(s.INT))
        fields = {f: s.function(f"{name}.{f}", (s.INT,), sort, role(sort)) for f, sort in sorts.items()}
        return RecordList(length, tag, fields, tuple(dict.fromkeys(e.tag for e in _emits(spec))), having)


def marks_of(way: Way, first: str) -> tuple[str, str]:
    """The names of the place of an answer that moves in a group, and of which of its lists that is in."""
    return own(way.mark, first), own("owner", way.mark, first)


def _emits(spec: n.Mechanism) -> list[n.Emit]:
    """What releases records."""
    return [s for s in statements_in(spec.body) if isinstance(s, n.Emit)]
