"""The kernel's own run over all that may happen on inputs of fixed lengths, with nothing decided: what it
would ask is written down, for who looks for a run in which it is false.

Not trusted, and no part of what decides: `kernel.decide` makes a kernel of its own. Loops are run through
round by round, so no witness is needed but for the route and for sorts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

import z3

from aligncheck.effort import Effort
from aligncheck.kernel.align import Move
from aligncheck.kernel.answer import Reject
from aligncheck.kernel.calls import Actual
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.form import well_formed
from aligncheck.kernel.logic import Decider, Fact, Kind
from aligncheck.kernel.run import Exits, Go
from aligncheck.kernel.state import Mode, Obligation, Path, RecordList, Scope
from aligncheck.kernel.symbols import Symbols, Told
from aligncheck.kernel.terms import Term, real
from aligncheck.kernel.witness import Witness
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import shifts_in, subexpressions

SURE = (Kind.RUN, Kind.TOLD, Kind.WHOLE)
"""What is known of the run on D."""
DEEP = 20_000
"""The calls that many rounds take."""
OF_A_STATEMENT, OF_A_TRIAL = 2, 30
"""The steps of an effort that a statement takes; and what comes before the first."""
TERMS = 8
"""So many terms that are looked at for the first time are one step more."""
ROUNDS = 150
"""A loop that goes on after so many may have no end."""
PATHS = 100
"""So many ways through a program are looked at."""


@dataclass
class Course(Path):
    """A path that remembers the draws, the calls and the tests on it, and the tags of what was released;
    `over` where no run goes on.
    """

    drawn: list[tuple[str, Term | None]] = field(default_factory=list)
    scaled: list[Term] = field(default_factory=list)
    called: list[tuple[str, RecordList]] = field(default_factory=list)
    taken: list[tuple[Span, bool]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    over: bool = False


@dataclass(frozen=True)
class Asked:
    """What must hold on a way: where the facts hold, each goal that stands beside what is known of the run on
    D' by then.
    """

    condition: str
    facts: tuple[Fact, ...]
    goals: tuple[tuple[tuple[Fact, ...], Term], ...]
    way: Course


@dataclass
class Trial(Kernel):
    """One run for fixed `numbers`, and lists that are so long (`sized`), with at most so many rounds of a
    `while`. `fixed` are the symbols that have values, and these; a loop may be `endless`.
    """

    numbers: Mapping[str, Fraction | bool] = field(default_factory=dict)
    sized: Mapping[str, int] = field(default_factory=dict)
    effort: Effort = field(default_factory=Effort)
    most: int = 0
    fixed: list[tuple[Term, Term]] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)
    complete: list[Course] = field(default_factory=list)
    endless: bool = False
    terms: int = 0

    def spend(self, steps: int) -> None:
        """Counts steps of the effort, and the terms that were made since."""
        before, self.terms = self.terms, len(self.symbols.ctx.nodes)
        self.effort.spend(steps + (self.terms - before) // TERMS)

    def run(self) -> None:
        """Goes through all ways. Raises Reject where the inputs have no terms."""
        self.runs = (0, 1, 2) if self.general else (0, 1)
        path = Course()
        self.prepare_inputs(path)
        for name, value in self.numbers.items():
            self.fixed.append((self.public[name], self._constant(self.public[name], value)))
        for name, size in self.sized.items():
            self.fixed.append((self.lengths[name], self.symbols.integer(size)))
        self.prepare_selections(path)
        self.prepare_loops()
        self._start(path)
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(max(usual, DEEP))
        try:
            self.block(self.spec.body, path, Exits(self._end, None), top=True)
        except (_EnoughError, RecursionError):
            return
        finally:
            sys.setrecursionlimit(usual)

    def _constant(self, symbol: Term, value: Fraction | bool) -> Term:
        if isinstance(value, bool):
            return z3.BoolVal(value, self.symbols.ctx)
        if z3.is_int(symbol):
            return self.symbols.integer(int(value))
        return self.symbols.ctx.rational(value)

    def closed(self, term: Term) -> Term:
        """The term with the values that are fixed."""
        return z3.simplify(z3.substitute(term, *self.fixed) if self.fixed else term)

    def _whole(self, term: Term, place: Span) -> int:
        found = self.closed(term)
        if not z3.is_int_value(found):
            raise Reject("language", place, "a range that the inputs do not give")
        return int(found.as_long())

    # --- what is asked ------------------------------------------------------------------------------------

    def judged_alone(self, spec: n.Mechanism, witness: Witness) -> None:
        """Callees were judged before."""

    def hypotheses(self, path: Path) -> None:
        """The inputs are given."""

    def foresee(self, path: Path) -> None:
        """Nothing is decided."""

    def decide(self, path: Path, facts: list[Fact], o: Obligation) -> None:
        """Writes it down; what goes on from here are runs in which it holds."""
        if o.condition not in ("hypotheses", "terminates") and isinstance(path, Course):
            self._asks(o.condition, tuple(facts), [((), o.goal)], path)
            path.fact(Kind.RUN, o.goal)

    def discharge(self, path: Path) -> None:
        """All is asked at the end of a run."""

    def _asks(
        self, condition: str, facts: tuple[Fact, ...], goals: list[tuple[tuple[Fact, ...], Term]], way: Course
    ) -> None:
        open_ = [(known, goal) for known, goal in goals if not z3.is_true(self.closed(goal))]
        if open_:
            kept = replace(
                way, drawn=[*way.drawn], called=[*way.called], facts=[], pending=[], known=set(), values={}
            )
            self.questions.append(Asked(condition, facts, tuple(open_), kept))

    def _end(self, path: Path) -> None:
        """A complete run."""
        super()._end(path)
        if not isinstance(path, Course):
            return
        facts = tuple(f for f in path.facts if f.kind in SURE)
        by_condition: dict[str, list[tuple[tuple[Fact, ...], Term]]] = {}
        for o in path.pending:
            kinds = (Kind.PRIME, Kind.TWIN) if o.condition == "injective" else (Kind.PRIME,)
            before = enumerate(path.facts)
            known = (f for at, f in before if f.kind in kinds and (at < o.position or f.kind is Kind.TWIN))
            by_condition.setdefault(o.condition, []).append((tuple(known), o.goal))
        for condition, goals in by_condition.items():
            self._asks(condition, facts, goals, path)
        self.complete.append(path)
        if len(self.complete) >= PATHS:
            raise _EnoughError

    # --- statements ---------------------------------------------------------------------------------------

    def block(self, body: tuple[n.Stmt, ...], path: Path, exits: Exits, top: bool = False) -> None:
        """The same; a way ends at what has no terms."""
        if isinstance(path, Course) and path.over:
            return
        self.spend(OF_A_STATEMENT)
        if self.effort.is_over:
            raise _EnoughError
        with suppress(Reject):
            super().block(body, path, exits, top)

    def look_ahead(self, path: Path) -> None:
        """The same, as far as there are terms."""
        values = path.values
        try:
            super().look_ahead(path)
        except Reject:
            path.values = values

    def draw(self, stmt: n.Sample, path: Path) -> None:
        """Remembers the draw."""
        super().draw(stmt, path)
        if isinstance(path, Course):
            path.drawn.append((stmt.name, None if stmt.index is None else path.made[-1][1]))
            path.scaled.append(path.made[-1][2])

    def released(self, actual: Actual) -> None:
        """Remembers what the call, or its last round, released."""
        super().released(actual)
        if isinstance(actual.path, Course):
            actual.path.called.append((actual.stmt.name, actual.path.calls[actual.stmt.name]))

    def emit(self, stmt: n.Emit, path: Path) -> None:
        """Remembers the tag."""
        super().emit(stmt, path)
        if isinstance(path, Course):
            path.tags.append(stmt.tag)

    def take(self, path: Path, tests: tuple[Term, ...], holds: bool, e: n.Expr, what: str) -> None:
        """Remembers the test."""
        super().take(path, tests, holds, e, what)
        if isinstance(path, Course):
            path.taken.append((e.span, holds))
            path.over = path.over or z3.is_false(self.closed(tests[0] if holds else z3.Not(tests[0])))

    def loop(self, stmt: n.For | n.While, path: Path, go_on: Go) -> None:
        """Round by round: as many as the inputs say, and where they do not, few."""
        brought = self._brought(stmt, self.loops[id(stmt)])
        first, last = 0, self.symbols.zero
        if isinstance(stmt, n.For):
            low, last = self._bounds(stmt, path)
            first, last = self._whole(low, stmt.span), self.closed(last)

        def leave(p: Path) -> None:
            self._leave(p, brought)
            go_on(p)

        def head(p: Path, at: int) -> None:
            i = self.symbols.integer(at)
            if isinstance(stmt, n.For):
                p.values[brought[0]] = (i,) * len(self.runs)
            self._claimed_at(stmt, p)
            no = p.copy()
            if isinstance(stmt, n.While):
                tests = self.tested(stmt.test, p)
                no = p.copy()
                self.take(no, tests, False, stmt.test, "the test of the loop")
                self.take(p, tests, True, stmt.test, "the test of the loop")
                goes_on = self.closed(tests[0])
            else:
                goes_on = self.closed(i < last)
                no.fact(Kind.RUN, z3.Not(goes_on))
                p.fact(Kind.RUN, goes_on)
                if isinstance(stmt.over, n.OverQueries):
                    entry = self.lists[stmt.over.base]
                    p.values[stmt.over.item] = tuple(entry[run](i) for run in self.runs)
            if not z3.is_true(goes_on):
                leave(no)
            elif at >= first + ROUNDS:
                self.endless = True
                raise _EnoughError
            if z3.is_true(goes_on) or (not z3.is_false(goes_on) and at < first + self.most):
                self.begin_round(stmt.body, p)
                self.block(stmt.body, p, Exits(lambda q: again(q, at), leave))

        def again(p: Path, at: int) -> None:
            self._leave(p, brought)
            head(p, at + 1)

        head(path, first)

    def _claimed_at(self, stmt: n.For | n.While, path: Path) -> None:
        """The author's invariants."""
        for e in stmt.invariants:
            with suppress(Reject):
                term = self.truth(e, self.scope(Mode.RELATION, path, e.span))
                path.oblige("invariant", e.span, "", term)

    # --- the alignment ------------------------------------------------------------------------------------

    def _line(self, line: n.Shift, at: Term, scope: Scope) -> Move:
        """What a line adds, whatever it reads."""
        try:
            return super()._line(line, at, scope)
        except Reject:
            if line.op != "=":
                raise
            inside = self._at(line, at, scope)
            if line.guard is not None:
                inside = inside.under(self.truth(line.guard, replace(inside, testing=True)))
            new = real(self.number(line.value, inside))
            return Move(inside.guard, new - self.noise[line.name].symbols[scope.run](at))

    def shift(self, x: str, at: Term, path: Path, place: Span) -> list[Move]:
        """Asks whether a released number really enters the shift."""
        moves = super().shift(x, at, path, place)
        total = self.total(moves)
        if any(role == Told(True) for _, role in self.symbols.leaves(total)):
            path.oblige("countable", place, "", total == 0)
        return moves

    def countable(self, term: Term, place: Span) -> None:
        """Not asked."""

    def of_the_past(self, term: Term, place: Span) -> None:
        """Not asked."""


class _EnoughError(Exception):
    pass


def trial(
    spec: n.Mechanism,
    witness: Witness,
    numbers: Mapping[str, Fraction | bool],
    sizes: Mapping[str, int],
    most: int,
    effort: Effort,
) -> Trial:
    """All ways through a spec for such inputs. Raises Reject. `witness` has the route and the sorts."""
    bare = Witness(route=witness.route, callees=witness.callees, sorts=witness.sorts, rho=witness.rho)
    found = Trial(well_formed(spec), bare, Decider(), Symbols(), numbers=numbers, sized=sizes)
    found.effort, found.most = effort, most
    found.spend(OF_A_TRIAL)
    found.run()
    found.spend(0)
    return found


def moved_lines(spec: n.Mechanism) -> dict[str, n.Shift]:
    """The first line for each noise variable."""
    found: dict[str, n.Shift] = {}
    for line in shifts_in(spec.align):
        found.setdefault(line.name, line)
    return found


def tells_numbers(line: n.Shift) -> bool:
    """Whether a line reads a field of the output."""
    return any(isinstance(e, n.OutField) for e in subexpressions(line.value))
