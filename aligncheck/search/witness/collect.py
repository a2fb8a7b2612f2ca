"""The kernel's own run over a program, with nothing decided: what it would ask is written down instead.

Not trusted, and no part of what decides: `kernel.decide` makes a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from aligncheck.kernel.answer import Line, Reject
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.logic import Decider, Fact, Kind
from aligncheck.kernel.state import Mode, Obligation, Path
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.terms import Term
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.rewrite import statements
from aligncheck.language.syntax.walk import align_expressions, claimed_in, statements_in, subexpressions

PATHS = 512
"""So many ways through a program are looked at."""


class TooManyPathsError(Exception):
    """There are more ways through a program than the limit, which it carries."""


@dataclass(frozen=True)
class Arrival:
    """A way to a loop's head, or to the end: what is known there, and what has to hold: of lines by line, and
    else that the cost is within the claim.
    """

    facts: tuple[Fact, ...]
    goals: dict[Line, Term]
    claims: tuple[Term, ...] = ()


@dataclass
class Collected:
    """All ways; which line of the witness a fact is of, or a formula wherever it is known; the lines that
    mean nothing.
    """

    arrivals: list[Arrival] = field(default_factory=list)
    lines: dict[Fact, Line] = field(default_factory=dict)
    said: dict[int, tuple[Term, Line]] = field(default_factory=dict)
    senseless: set[Line] = field(default_factory=set)
    rejected: Reject | None = None


def collected(spec: n.Mechanism, witness: Witness, symbols: Symbols) -> Collected:
    """What the kernel asks about the spec with this witness; `symbols` hold its terms. Raises
    TooManyPathsError.
    """
    kernel = Collector(_without_unread(spec, witness), witness, Decider(), symbols)
    kernel.found = Collected()
    try:
        kernel.judged()
    except Reject as refusal:
        kernel.found.rejected = refusal
    return kernel.found


def _without_unread(spec: n.Mechanism, witness: Witness) -> n.Mechanism:
    """The spec without those fields of its records that no line reads: what they are tells nothing about
    lines, and of products takes the solver long. Where a list of draws, or a set, is read in one the
    record stays: general facts have instances there.
    """
    lines = (e for loop in witness.loops for e in (*loop.early, *loop.invariants, *loop.later))
    tops = (*align_expressions(spec.align), *claimed_in(spec.claim), *witness.promises, *lines)
    read = {e.field for top in tops for e in subexpressions(top) if isinstance(e, n.OutField)}
    read |= {name for name, _, _ in witness.within}
    drawn = {s.name for s in statements_in(spec.body) if isinstance(s, n.Sample)}

    def tells(e: n.Expr) -> bool:
        return isinstance(e, n.Gather) or (isinstance(e, n.Index) and e.base in drawn)

    def fewer(stmt: n.Stmt) -> n.Stmt:
        if not isinstance(stmt, n.Emit):
            return stmt
        if any(tells(e) for f in stmt.fields for e in subexpressions(f.value)):
            return stmt
        kept = (f for f in stmt.fields if f.name in read)
        return replace(stmt, fields=tuple(kept))

    return replace(spec, body=statements(spec.body, fewer))


class Collector(Kernel):
    """One run."""

    found: Collected

    def judged_alone(self, spec: n.Mechanism, witness: Witness) -> None:
        """Callees were judged before."""

    def hypotheses(self, path: Path) -> None:
        """Nothing is asked."""

    def decide(self, path: Path, facts: list[Fact], o: Obligation) -> None:
        """Writes down what is asked of a line."""
        if o.line is not None:
            self.found.arrivals.append(Arrival(self._known(facts), {o.line: o.goal}))

    def discharge(self, path: Path) -> None:
        """Writes down what is asked of lines, and of the claim."""
        goals = {o.line: o.goal for o in path.pending if o.line is not None}
        ends = {self.spec.claim.span, *(e.span for e in claimed_in(self.spec.claim))}
        claims = tuple(o.goal for o in path.pending if o.condition == "cost" and o.place in ends)
        if goals or claims:
            facts = self._known(f for f in path.facts if f.kind is not Kind.TWIN)
            self.found.arrivals.append(Arrival(facts, goals, claims))
        path.pending, path.settled = [], len(path.facts)
        if len(self.found.arrivals) > PATHS:
            raise TooManyPathsError(PATHS)

    def later(self, lines: tuple[n.Expr, ...], path: Path, place: Span, number: int = -1) -> list[Obligation]:
        """Remembers which facts are those of lines about the rest of the output."""
        made = []
        for at, e in enumerate(lines):
            line = (number, "later", at)
            try:
                term = self.truth(e, self.scope(Mode.RELATION, path, place))
            except Reject:
                self.found.senseless.add(line)
                continue
            self.found.said.setdefault(id(term), (term, line))
            made.append(Obligation("invariant", place, "", term, 0, line))
        return made

    def _known(self, facts: Iterable[Fact]) -> tuple[Fact, ...]:
        known = tuple(facts)
        for f in known:
            if id(f.formula) in self.found.said:
                self.found.lines[f] = self.found.said[id(f.formula)][1]
        return known

    def emitted(self, stmt: n.Node, name: str, value: Term, path: Path) -> None:
        """Asks for each bound by itself."""
        facts = tuple(f for f in path.facts if f.kind is Kind.RUN)
        for at, (field_name, low, high) in enumerate(self.witness.within):
            end = low if high is None else high
            if field_name == name and end is not None:
                try:
                    bound = self.number(end, self.scope(Mode.CLAUSE, path, stmt.span))
                except Reject:
                    self.found.senseless.add((-1, "within", at))
                    continue
                goal = bound <= value if high is None else value < bound
                self.found.arrivals.append(Arrival(facts, {(-1, "within", at): goal}))

    # --- lines ----------------------------------------------------------------------------------------------

    def establish(self, stmt: n.For | n.While, hints: LoopWitness, path: Path) -> None:
        """Asks for those lines that mean something."""
        early: dict[Line, Term] = {}
        known = 0
        for line, kind, term in self._terms(stmt, hints, path):
            if kind is Kind.RUN:
                early[line] = term
                known = len(path.facts)  # with what defines its sets
            else:
                path.oblige("invariant", stmt.span, "", term, line)
        if early:
            facts = tuple(f for f in path.facts[:known] if f.kind is Kind.RUN)
            self.found.arrivals.append(Arrival(facts, early))

    def assume(self, stmt: n.For | n.While, hints: LoopWitness, path: Path) -> None:
        """Remembers which facts are those of lines. What they say may become known by itself later on."""
        for line, kind, term in self._terms(stmt, hints, path):
            fact = Fact(kind, term)
            path.facts.append(fact)
            self.found.lines[fact] = line

    def _terms(
        self, stmt: n.For | n.While, hints: LoopWitness, path: Path
    ) -> Iterator[tuple[Line, Kind, Term]]:
        for at, (kind, mode, e) in enumerate(self.lines(stmt, hints)):
            line = (self.loops[id(stmt)], mode.value, at)
            try:
                yield line, kind, self.truth(e, self.scope(mode, path, e.span))
            except Reject:
                self.found.senseless.add(line)
