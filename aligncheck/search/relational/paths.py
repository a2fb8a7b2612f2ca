"""Relational symbolic execution: a spec becomes the paths between its cut points.

Both runs, on D and on D' with the aligned noise, are executed side by side. Every value is a pair of terms. A
cut point stands at the start, at the head of every loop, and at the end; a path leads from one to the next
without passing a third. At a loop head the variables that the loop changes become fresh symbols, so that a
path from a loop head speaks of *every* round (design, section 2: nothing is unrolled).

An `if` is *visible* if an arm emits, draws, breaks or loops, or if its test is the same term in both runs; it
forks the path, and both runs must take the same arm (obligation `output`). Any other `if` is hidden: the path
forks over the arms that the run on D may take, while the run on D' takes its own arm, as a conditional term.

`Unroll` replaces the loop heads by a fixed number of rounds. It serves only the search for concrete
counterexamples, never a proof.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from aligncheck.language.families import Family
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import (
    Assign,
    Break,
    Choose,
    Emit,
    Expr,
    For,
    Gather,
    If,
    Index,
    Indices,
    Invoke,
    Logistic,
    OutCount,
    OutField,
    OutIs,
    OverQueries,
    OverRange,
    Pass,
    Sample,
    Stmt,
    While,
)
from aligncheck.language.syntax.walk import (
    align_expressions,
    expressions_in,
    names_in,
    own_expressions,
    parts_of,
    shifts_in,
    statements_in,
    subexpressions,
    with_part,
)
from aligncheck.search.relational import noise
from aligncheck.search.relational.alignment import shift_of
from aligncheck.search.relational.applied import Applied, applied_in
from aligncheck.search.relational.calls import (
    Called,
    GivenScope,
    Listed,
    Records,
    made,
    shifted,
    size_between,
    sorts_released,
)
from aligncheck.search.relational.evaluate import Evaluator, Partial
from aligncheck.search.relational.labels import (
    AtHead,
    Calls,
    Cell,
    Counted,
    Each,
    Given,
    Key,
    Last,
    Latest,
    Ledger,
    Omega,
    RecordCount,
    RecordField,
    RecordIs,
    Side,
    Stretch,
    Unsettled,
    is_bookkeeping,
    text_of,
)
from aligncheck.search.relational.selection import (
    Gathered,
    UnsupportedError,
    chosen,
    concrete_count,
    concrete_extremum,
    concrete_facts,
    concrete_ranks,
    extremum,
    member,
    pick,
    size_of,
)
from aligncheck.search.relational.settled import NOTHING, Entry, Made, common
from aligncheck.search.relational.sums import concrete_sum
from aligncheck.search.relational.terms import (
    ONE,
    TRUE,
    ZERO,
    App,
    Const,
    Kind,
    Pair,
    Sort,
    Sym,
    Term,
    Truth,
    add,
    and_,
    atoms,
    const,
    eq,
    fn,
    iff,
    implies,
    ite,
    le,
    lt,
    mul,
    not_,
    or_,
    same,
    sort_of,
    substitute,
)
from aligncheck.search.relational.theory import Theory, count_of

T = TypeVar("T")

# --- events -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """A test and the arm that the run on D takes; the run on D' may take another arm of a hidden one.

    `loop` is the number of the loop whose own test it is, if it is one.
    """

    test: Pair
    taken: bool
    span: Span
    hidden: bool = False
    loop: int | None = None

    def holds(self, primed: bool) -> Term:
        """That the run on D takes this arm, or that the run on D' does (which a hidden test leaves open)."""
        if primed and self.hidden:
            return TRUE
        value = self.test.right if primed else self.test.left
        return value if self.taken else not_(value)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A draw: its index, its distribution in both runs, the draw on D and its shift.

    `before` is the greatest index at which the variable was drawn before, `made` what is fixed when it is
    drawn, `lines` the alignment's lines for it.
    """

    name: str
    family: Family
    index: Pair | None
    args: tuple[Pair, ...]
    left: noise.Draw
    right: noise.Draw
    shift: Term
    before: Term
    made: Made
    span: Span
    lines: tuple[Span, ...]

    @property
    def position(self) -> Term:
        """The index on D; 0 for scalar noise."""
        return ZERO if self.index is None else self.index.left

    @property
    def cost(self) -> Term:
        """|shift|/α."""
        return mul(fn("abs", self.shift), self.left.inverse_alpha)


@dataclass(frozen=True, slots=True)
class Emission:
    """A record: its place in the output, its tag and its fields."""

    position: Term
    tag: str
    fields: tuple[tuple[str, Pair, Span], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Selected:
    """An `argmax` or `top`: what is selected among in either run.

    `picks`, only in a concrete run, are the selected indices in order.
    """

    name: str
    left: Gathered
    right: Gathered
    span: Span
    picks: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True)
class Required:
    """A partial operation in either run."""

    partial: Partial
    primed: bool


@dataclass(frozen=True, slots=True)
class Assumed:
    """A fact that both runs share by construction (the bound of a loop over a finite input)."""

    fact: Term


@dataclass(frozen=True, slots=True)
class Claimed:
    """An author's invariant at the start of a concrete round; only when unrolled."""

    fact: Term
    span: Span


Event: TypeAlias = Decision | Drawing | Called | Applied | Selected | Emission | Required | Assumed | Claimed
Env: TypeAlias = dict[Key, Pair]


# --- cut points and paths ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """The start (`loop` None) or a loop head.

    `env` holds every variable's value there; `fresh` the variables that stand for themselves (each with the
    symbol of its value on D and, unless both runs share it, of its distance or value on D'); `facts` what the
    only path into the loop established about symbols that never change again. `parent` is the cut point from
    which all ways into the loop come, or else the loop around it: its invariants speak of symbols that are
    fixed by then. `enclosing` are the loops around this one, by the syntax. `made` is what is fixed there
    whichever way leads there; the draws of earlier rounds only by the symbols in `fresh`, which rest on them.
    """

    number: int
    loop: For | While | None
    env: Env
    fresh: Env = field(default_factory=dict)
    facts: tuple[Term, ...] = ()
    counter: Sym | None = None
    parent: int | None = None
    enclosing: tuple[int, ...] = ()
    made: Made = NOTHING

    @property
    def label(self) -> str:
        """How reports call it."""
        return "start" if self.loop is None else f"loop {self.number}"


@dataclass(frozen=True)
class Path:
    """From one cut point to the next (`target` None: to the end of the program)."""

    origin: int
    target: int | None
    events: tuple[Event, ...]
    env: Env

    def decisions(self) -> tuple[Decision, ...]:
        """The visible tests on the way."""
        return tuple(e for e in self.events if isinstance(e, Decision))

    def drawings(self) -> tuple[Drawing, ...]:
        """The draws on the way."""
        return tuple(e for e in self.events if isinstance(e, Drawing))

    def emissions(self) -> tuple[Emission, ...]:
        """The records on the way."""
        return tuple(e for e in self.events if isinstance(e, Emission))


@dataclass(frozen=True)
class Analysis:
    """All cut points and all paths between them."""

    theory: Theory
    cuts: tuple[Cut, ...]
    paths: tuple[Path, ...]
    omega: frozenset[Omega]

    def within(self, number: int, loop: Cut) -> bool:
        """Whether a cut point is the head of a loop, or of one inside it."""
        return number == loop.number or loop.number in self.cuts[number].enclosing


class TooManyPathsError(Exception):
    """The program has more paths than the limit; carries the limit. Unrolled, it may also take too long."""


@dataclass(frozen=True, slots=True)
class Unroll:
    """Rounds to allow for a `while` loop, how many paths to follow, and until when (`time.monotonic()`), in a
    concrete search.
    """

    rounds: int
    limit: int
    until: float = math.inf

    def allows(self, states: list[_State]) -> bool:
        """Whether so many runs, as long as these, are still followed."""
        longest = max((len(state.events) for state in states), default=0)
        return len(states) <= self.limit and longest <= LONGEST_RUN and time.monotonic() <= self.until


@dataclass
class _State:
    """One path under construction; `made` is all that is fixed by now."""

    origin: int
    env: Env
    events: list[Event]
    made: Made = NOTHING

    def fork(self) -> _State:
        return _State(self.origin, dict(self.env), list(self.events), self.made)


PATH_LIMIT = 2048
LONGEST_RUN = 1000
"""So many events of a run that is unrolled are followed: `range(10000)` takes its time."""
ARMS_LIMIT = 16
"""So many arms of one hidden `if` are told apart; beyond that they merge into conditional terms."""


def analyse(theory: Theory) -> Analysis:
    """The cut points and paths of a mechanism, for every length and parameter.

    Raises TooManyPathsError.
    """
    return _settled(theory, None)


def unrolled(theory: Theory, unroll: Unroll) -> Analysis:
    """Complete runs only, for grounded parameters and lengths.

    Raises TooManyPathsError.
    """
    return _settled(theory, unroll)


def _settled(theory: Theory, unroll: Unroll | None) -> Analysis:
    """Execute until what was assumed of loop-head variables is what the paths bring."""
    guess = _Guess()
    while True:
        analysis = _Machine(theory, unroll, guess).run()
        found = _Guess(
            guess.real | _not_whole(analysis),
            guess.apart | _not_shared(analysis),
        )
        if found == guess:
            _check_names(analysis)
            return analysis
        guess = found


def _check_names(analysis: Analysis) -> None:
    """Two symbols never share a name: every table in the proof may rely on it."""
    meaning: dict[str, Sym | App] = {}
    for path in analysis.paths:
        values = [t for v in path.env.values() for t in (v.left, v.right)]
        facts = [e.fact for e in path.events if isinstance(e, Assumed)]
        for atom in atoms([*values, *facts, *(d.test.right for d in path.decisions())]):
            known = meaning.setdefault(atom.name, atom)
            alike = (known.label, type(known), known.sort, known.kind) == (
                atom.label,
                type(atom),
                atom.sort,
                atom.kind,
            )
            if not alike:
                raise InternalError(f"two symbols are called {atom.name}")


@dataclass(frozen=True, slots=True)
class _Guess:
    """What one execution assumes: which loop-head variables are no integers, and which the runs do not share.

    It is right if the paths bear it out.
    """

    real: frozenset[tuple[int, Key]] = frozenset()
    apart: frozenset[tuple[int, Key]] = frozenset()


def _not_shared(analysis: Analysis) -> frozenset[tuple[int, Key]]:
    """Variables taken to have one value in both runs at a loop head to which some path brings two terms.

    Why the guess is sound once nothing is found: every way into the loop brings the same term for both runs,
    over symbols that both runs share, and by induction over the rounds the values are the same.
    """
    return frozenset(
        (path.target, name)
        for path in analysis.paths
        if path.target is not None
        for name, pair in analysis.cuts[path.target].fresh.items()
        if pair.left == pair.right and not is_bookkeeping(name)
        if name in path.env and path.env[name].left != path.env[name].right
    )


def _not_whole(analysis: Analysis) -> frozenset[tuple[int, Key]]:
    """Variables taken for integers at a loop head to which some path brings another number."""
    found: set[tuple[int, Key]] = set()
    for path in analysis.paths:
        if path.target is None:
            continue
        for name, pair in analysis.cuts[path.target].fresh.items():
            value = path.env.get(name)
            if value is None or sort_of(pair.left) is not Sort.INT:
                continue
            if Sort.INT is not sort_of(value.left) or Sort.INT is not sort_of(value.right):
                found.add((path.target, name))
    return frozenset(found)


ENOUGH = "there are enough indices to choose from"


def _read_later(mechanism: nodes.Mechanism) -> frozenset[str]:
    """The indexed noise that some place may read after the round that draws it; the rest need not be carried
    from round to round.

    A place reads it in its own round if it stands behind the drawing, in the same block or in an arm of an
    `if` there, and gives the index as the drawing does.
    """
    later: set[str] = set()
    complete: set[str] = set()

    def visit(body: tuple[Stmt, ...], drawn: set[tuple[str, Expr | None]]) -> None:
        """Statements in their order; `drawn` are the draws that this round has made by then on every way."""
        for stmt in body:
            read = {
                (e.base, e.index)
                for top in own_expressions(stmt)
                for e in subexpressions(top)
                if isinstance(e, Index)
            }
            later.update(base for base, _ in read - drawn if base not in complete)
            match stmt:
                case Sample(name=name, index=index):
                    drawn.add((name, index))
                case Assign(name=name):
                    moved = {d for d in drawn if d[1] is not None and name in names_in(d[1])}
                    drawn -= moved
                case If(branches=branches, otherwise=otherwise):
                    for arm in (*(b.body for b in branches), otherwise):
                        visit(arm, set(drawn))
                    changed, _, _ = changed_in((stmt,))
                    drawn -= {d for d in drawn if d[1] is not None and changed & names_in(d[1])}
                case For(body=inner) | While(body=inner):
                    visit(inner, set())
                    complete.update(_drawn_in_every_round(stmt))
                    changed, _, _ = changed_in((stmt,))
                    drawn -= {d for d in drawn if d[1] is not None and changed & names_in(d[1])}
                case Invoke() | Choose() | Logistic() | Emit() | Break() | Pass():
                    pass

    visit(mechanism.body, set())
    for expr in align_expressions(mechanism.align):
        later.update(e.base for e in subexpressions(expr) if isinstance(e, Index) and e.base not in complete)
    return frozenset(later)


def _drawn_in_every_round(loop: For | While) -> set[str]:
    """What a loop that no `break` leaves draws in each round at its own index."""
    if not isinstance(loop, For) or any(isinstance(s, Break) for s in _of_one_loop(loop.body)):
        return set()
    at = [s for s in loop.body if isinstance(s, Sample) and isinstance(s.index, nodes.Name)]
    return {s.name for s in at if s.index == nodes.Name(loop.index or "")}


def _of_one_loop(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, If):
            for branch in stmt.branches:
                yield from _of_one_loop(branch.body)
            yield from _of_one_loop(stmt.otherwise)


def is_visible(body: Iterable[Stmt]) -> bool:
    """Whether a block does more than assign."""
    return any(
        isinstance(s, Emit | Sample | Invoke | Break | For | While) for s in statements_in(tuple(body))
    )


def changed_in(body: tuple[Stmt, ...]) -> tuple[frozenset[str], frozenset[str], bool]:
    """Variables assigned, noise drawn, and whether a record is emitted, in a block."""
    assigned: set[str] = set()
    drawn: set[str] = set()
    emits = False
    for stmt in statements_in(body):
        match stmt:
            case Assign(name=name):
                assigned.add(name)
            case Sample(name=name):
                drawn.add(name)
            case For(index=index, over=over):
                assigned |= {index} if index else set()
                assigned |= {over.item} if isinstance(over, OverQueries) else set()
            case Emit():
                emits = True
            case Invoke() | Choose() | Logistic() | If() | While() | Break() | Pass():
                pass
    return frozenset(assigned), frozenset(drawn), emits


class _Machine:
    """Executes a program over sets of path states."""

    def __init__(
        self,
        theory: Theory,
        unroll: Unroll | None,
        guess: _Guess,
    ) -> None:
        self.theory = theory
        self.mechanism = theory.mechanism
        self.unroll = unroll
        self.guess = guess
        self.cuts: list[Cut] = []
        self.paths: list[Path] = []
        self.omega = frozenset(_omega_labels(self.mechanism))
        self.remembered = _read_later(self.mechanism)
        self.broken: list[list[_State]] = []
        self.around: list[int] = []
        self.crowded = False  # so many states already that hidden arms merge
        self.private = False  # inside an arm that the run on D' may not take

    def run(self) -> Analysis:
        self.theory.registry.clear()
        self.theory.released.table.clear()
        start: Env = {Ledger.COST: same(ZERO), Ledger.RECORDS: same(ZERO)}
        for label in self.omega:
            if isinstance(label, RecordCount) and label.tag is not None:
                start[Counted(label.tag)] = same(ZERO)
        for stmt in statements_in(self.mechanism.body):
            if isinstance(stmt, Sample):
                start[Latest(stmt.name)] = same(const(-1))
                if stmt.name in self.remembered:
                    start[Last(stmt.name)] = same(ZERO)
            if isinstance(stmt, Invoke):
                start[Calls(stmt.name)] = same(const(-1))
        self.cuts.append(Cut(0, None, start))
        for state in self.block(self.mechanism.body, [_State(0, dict(start), [])]):
            self.finish(state, None)
        changing = {a for c in self.cuts for v in c.fresh.values() for a in atoms((v.left, v.right))}
        self.theory.registry.forget(frozenset(changing))
        return Analysis(self.theory, tuple(self.cuts), tuple(self.paths), self.omega)

    def finish(self, state: _State, target: int | None) -> None:
        limit = self.unroll.limit if self.unroll else PATH_LIMIT
        if len(self.paths) >= limit:
            raise TooManyPathsError(limit)
        if target is None:
            state.events.extend(self._final(state))
        self.paths.append(Path(state.origin, target, tuple(state.events), state.env))

    def _final(self, state: _State) -> Iterator[Event]:
        """At the end, the counts of ω are what was counted."""
        for label in sorted(self.omega, key=text_of):
            if isinstance(label, RecordCount):
                counted = Ledger.RECORDS if label.tag is None else Counted(label.tag)
                yield Assumed(eq(count_of(label.tag), state.env[counted].left))

    # --- blocks and statements ----------------------------------------------------------------------------

    def block(self, body: tuple[Stmt, ...], states: list[_State]) -> list[_State]:
        limit = self.unroll.limit if self.unroll else PATH_LIMIT
        for stmt in body:
            states = self.statement(stmt, states)
            if len(states) > limit or not (self.unroll is None or self.unroll.allows(states)):
                raise TooManyPathsError(limit)
        return states

    def statement(self, stmt: Stmt, states: list[_State]) -> list[_State]:
        match stmt:
            case Assign(value=Gather()) if self.theory.gathers.get(stmt.name) is stmt.value:
                return [s for state in states for s in self.gather(stmt.name, stmt.value, state)]
            case Assign():
                branched = _branched(stmt)
                if branched is not None and len(states) < ARMS_LIMIT:
                    return self.statement(branched, states)
                for state in states:
                    state.env[stmt.name] = self.pair(stmt.value, state)
                return states
            case Invoke():
                for state in states:
                    self.invoke(stmt, state)
                return states
            case Sample():
                for state in states:
                    self.sample(stmt, state)
                return states
            case If():
                self.crowded = len(states) >= ARMS_LIMIT
                return [s for state in states for s in self.conditional(stmt, state)]
            case For():
                return self.loop_for(stmt, states)
            case While():
                return self.loop_while(stmt, states)
            case Emit():
                for state in states:
                    self.emit(stmt, state)
                return states
            case Break():
                self.broken[-1].extend(states)
                return []
            case Choose() | Logistic():
                raise InternalError("draws by densities have a proof rule of their own")
            case Pass():
                return states

    def pair(self, expr: Expr, state: _State) -> Pair:
        """The value in both runs; what must be defined becomes an event."""
        pair = Pair(*self._in_both(lambda evaluator: evaluator.term(expr), state))
        state.events += self._made((expr,), state)
        return pair

    def _in_both(self, meaning: Callable[[Evaluator], T], state: _State) -> tuple[T, T]:
        """What an expression of the program means in either run. What must be defined, and what public
        functions are given, become events.
        """
        on_d, on_d_prime = (Evaluator(ProgramScope(self.theory, state.env, side)) for side in (False, True))
        found = meaning(on_d), meaning(on_d_prime)
        state.events += [Required(p, False) for p in on_d.partial]
        state.events += [Required(p, True) for p in on_d_prime.partial]
        state.events += applied_in(on_d, on_d_prime)
        return found

    def _made(self, exprs: Iterable[Expr], state: _State) -> list[Assumed]:
        """That the calls have been made of which expressions speak: a static check has seen to it."""
        names = {n for expr in exprs for n in names_in(expr)} & self.theory.calls.keys()
        return [Assumed(made(n, state.env[Calls(n)].left)) for n in sorted(names)]

    def conditional(self, stmt: If, state: _State) -> list[_State]:
        if self.private or not is_visible((stmt,)):
            return self._hidden(stmt.branches, stmt.otherwise, state)
        return self._fork(stmt, state)

    def _fork(self, stmt: If, state: _State) -> list[_State]:
        done: list[_State] = []
        rest: _State | None = state
        for branch in stmt.branches:
            if rest is None:
                break
            yes, rest = self.decide(branch.test, rest)
            if yes is not None:
                done += self.block(branch.body, [yes])
        if rest is not None:
            done += self.block(stmt.otherwise, [rest])
        return done

    def decide(
        self, test: Expr, state: _State, loop: int | None = None
    ) -> tuple[_State | None, _State | None]:
        """The state split by a visible test; an arm that a constant test excludes is None."""
        value = self.pair(test, state)
        return self.split(value, test.span, state, loop)

    def split(
        self, value: Pair, span: Span, state: _State, loop: int | None = None
    ) -> tuple[_State | None, _State | None]:
        if isinstance(value.left, Truth) and value.left == value.right:
            return (state, None) if value.left.value else (None, state)
        known = _decided_before(value, state)
        if known is not None:
            return (state, None) if known else (None, state)
        other = state.fork()
        state.events.append(Decision(value, True, span, loop=loop))
        other.events.append(Decision(value, False, span, loop=loop))
        return state, other

    def _hidden(
        self, branches: tuple[nodes.Branch, ...], otherwise: tuple[Stmt, ...], state: _State
    ) -> list[_State]:
        """Arms that only assign. All states that come back have the same values in the run on D'."""
        if not branches:
            return self.block(otherwise, [state])
        branch = branches[0]
        test = self.pair(branch.test, state)
        if test.left == test.right and not self.private and not self.crowded:
            yes, no = self.split(test, branch.test.span, state)
            done = self.block(branch.body, [yes]) if yes is not None else []
            return done + (self._hidden(branches[1:], otherwise, no) if no is not None else [])
        return self._private_arms(test, branch, branches[1:], otherwise, state)

    def _private_arms(
        self,
        test: Pair,
        branch: nodes.Branch,
        branches: tuple[nodes.Branch, ...],
        otherwise: tuple[Stmt, ...],
        state: _State,
    ) -> list[_State]:
        """The path forks over the arms of the run on D; the run on D' takes its own arm, as a conditional
        term.
        """
        outer, self.private = self.private, True
        crowded = self.crowded
        yes, no = state.fork(), state.fork()
        yes.events, no.events = [], []
        taken = self.block(branch.body, [yes])
        passed = self._hidden(branches, otherwise, no)
        self.private, self.crowded = outer, crowded
        right = {
            name: ite(test.right, taken[0].env[name].right, passed[0].env[name].right)
            for name in taken[0].env
            if name in passed[0].env
        }
        primed = [_guarded(e, test.right) for e in taken[0].events if _is_primed(e)]
        primed += [_guarded(e, not_(test.right)) for e in passed[0].events if _is_primed(e)]
        if self.crowded or len(taken) + len(passed) > ARMS_LIMIT:
            return [_merged(test, taken, passed, right, state, primed)]
        done: list[_State] = []
        for arms, other, holds in ((taken, passed, True), (passed, taken, False)):
            for arm in arms:
                decision = Decision(test, holds, branch.test.span, hidden=True)
                own = [e for e in arm.events if not _is_primed(e) and not isinstance(e, Applied)]
                env = {name: Pair(arm.env[name].left, value) for name, value in right.items()}
                applied = _applied(test, holds, arm, other[0])
                events = [*state.events, decision, *own, *applied, *primed]
                done.append(_State(state.origin, env, events, state.made))
        return done

    def sample(self, stmt: Sample, state: _State) -> None:
        index = None if stmt.index is None else self.pair(stmt.index, state)
        args = tuple(self.pair(a, state) for a in stmt.args)
        left = noise.draw(
            stmt.family, stmt.name, None if index is None else index.left, tuple(a.left for a in args)
        )
        right = noise.draw(
            stmt.family, stmt.name, None if index is None else index.right, tuple(a.right for a in args)
        )
        position = ZERO if index is None else index.left
        at = None if index is None else index.left
        own = _DrawScope.at(self.theory, state.env, stmt.name, at, left.value)
        moving = [item for item in self.mechanism.align if stmt.name in {s.name for s in shifts_in((item,))}]
        state.events += self._made(align_expressions(tuple(moving)), state)
        shift, lines, partial = shift_of(self.mechanism.align, stmt.name, position, own, self.theory)
        state.events += [Required(p, True) for p in partial]
        before = state.env[Latest(stmt.name)].left
        fixed = state.made
        state.events.append(
            Drawing(stmt.name, stmt.family, index, args, left, right, shift, before, fixed, stmt.span, lines)
        )
        state.made = fixed.then(Entry(left.symbol, stmt.name))
        drawn = Pair(left.value, add(left.value, shift))
        if index is None:
            state.env[stmt.name] = drawn
        else:
            state.env[Cell(stmt.name, index.left, False)] = drawn
            state.env[Cell(stmt.name, index.right, True)] = drawn
        state.env[Latest(stmt.name)] = same(position)
        if stmt.name in self.remembered:
            state.env[Last(stmt.name)] = drawn
        spent = mul(fn("abs", shift), left.inverse_alpha)
        state.env[Ledger.COST] = same(add(state.env[Ledger.COST].left, spent))

    def invoke(self, stmt: Invoke, state: _State) -> None:
        """A call spends the callee's claim; what it releases is the same in both runs."""
        use = next(u for u in self.mechanism.uses if u.name == stmt.mechanism)
        contract = contract_of(use)
        declared = {
            name: item
            for item in contract.mechanism.inputs
            for name in (item.names if isinstance(item, nodes.Queries) else (item.name,))
        }
        values: dict[str, Pair] = {}
        lists: dict[str, Listed] = {}
        for argument in stmt.arguments:
            item = declared[argument.name]
            if isinstance(item, nodes.PublicVector) or (isinstance(item, nodes.Queries) and item.vector):
                lists[argument.name] = self._listed(argument.value, state)
                state.env[Given(stmt.name, argument.name)] = lists[argument.name].length
            else:
                values[argument.name] = self.pair(argument.value, state)
                if not isinstance(item, nodes.Queries):
                    state.env[Given(stmt.name, argument.name)] = values[argument.name]
        claims: list[Term] = []
        for primed in (False, True):
            evaluator = Evaluator(GivenScope(values, lists, None, primed))
            claims.append(evaluator.term(contract.claim))
            partial = [replace(p, span=stmt.span) for p in evaluator.partial]
            state.events += [Required(p, primed) for p in partial]
        number = add(state.env[Calls(stmt.name)].left, ONE)
        spent = Pair(claims[0], claims[1])
        state.events.append(Called(stmt.name, use, number, values, lists, spent, stmt))
        state.env[Calls(stmt.name)] = same(number)
        state.events.append(Assumed(made(stmt.name, number)))
        state.made = state.made.then(Entry(made(stmt.name, number), stmt.name))
        state.env[Ledger.COST] = same(add(state.env[Ledger.COST].left, spent.left))

    def _listed(self, value: Expr, state: _State) -> Listed:
        """A list that a call is given: one of the inputs, or an expression for each index."""
        binder = Sym("entry", Sort.INT, Kind.GHOST)
        if isinstance(value, nodes.Name):
            length = same(self.theory.length(value.ident))
            sides = [self.theory.entry(value.ident, binder, primed) for primed in (False, True)]
            return Listed(length, binder, Pair(sides[0], sides[1]))
        if not isinstance(value, Gather):
            raise InternalError("a list that no set gives")

        def entries(evaluator: Evaluator) -> tuple[Term, Term]:
            meaning = evaluator.gathered(value)
            if not isinstance(value.over, Indices):
                ends = le(meaning.low, meaning.high)
                evaluator.partial.append(Partial(ends, value.span, "the range does not end early"))
            body = substitute(meaning.body, {meaning.binder: binder})
            return size_between(meaning.low, meaning.high), shifted(meaning.low, binder, body)

        (length_on_d, entry_on_d), (other_length, other_entry) = self._in_both(entries, state)
        return Listed(Pair(length_on_d, other_length), binder, Pair(entry_on_d, other_entry))

    def gather(self, name: str, expr: Gather, state: _State) -> list[_State]:
        """A maximum or a selection that has a name: in both runs, with what must be defined."""

        def meant(evaluator: Evaluator) -> Gathered:
            meaning = self.theory.with_candidates(evaluator.gathered(expr))
            if meaning.enough() != TRUE:
                evaluator.partial.append(Partial(meaning.enough(), expr.span, ENOUGH))
            return meaning

        sides = self._in_both(meant, state)
        if expr.function in ("max", "min"):
            self._extremum(name, sides[0], sides[1], state)
        elif self.theory.is_concrete:
            return self._select_concretely(name, sides[0], sides[1], expr.span, state)
        else:
            self._select(name, sides[0], sides[1], expr.span, state)
        return [state]

    def _extremum(self, name: str, left: Gathered, right: Gathered, state: _State) -> None:
        symbols = [extremum(name, primed) for primed in (False, True)]
        for symbol, meaning in zip(symbols, (left, right), strict=True):
            if self.theory.is_concrete:
                value, some = concrete_extremum(meaning)
                state.events.append(Assumed(implies(some, eq(symbol, value))))
            else:
                self.theory.registry.define_extremum(symbol, meaning)
        state.env[name] = Pair(symbols[0], symbols[1])
        state.made = state.made.then(*(Entry(symbol) for symbol in symbols))

    def _select(self, name: str, left: Gathered, right: Gathered, span: Span, state: _State) -> None:
        """Both runs select alike (an obligation), so that what is selected becomes a part of ω."""
        self.theory.registry.define_selection(name, left)
        state.events.append(Selected(name, left, right, span))
        state.env[name] = same(chosen(name) if left.count is None else size_of(name))

    def _select_concretely(
        self, name: str, left: Gathered, right: Gathered, span: Span, state: _State
    ) -> list[_State]:
        """The same in a concrete run; it forks over how many indices D selects, if that is open."""
        count = concrete_count(left)
        ones, _ = concrete_ranks(left, count)
        others, _ = concrete_ranks(right, count)
        picks = tuple(Pair(a, b) for a, b in zip(ones, others, strict=True))
        sizes = range(count + 1) if left.partial else (count,)
        done: list[_State] = []
        for size in sizes:
            each = state.fork() if left.partial else state
            each.events += [Assumed(f) for f in concrete_facts(name, left, ones, size)]
            each.events.append(Selected(name, left, right, span, picks))
            each.env[name] = same(chosen(name) if left.count is None else const(size))
            done.append(each)
        return done

    def emit(self, stmt: Emit, state: _State) -> None:
        position = state.env[Ledger.RECORDS].left
        fields = tuple((f.name, self.pair(f.value, state), f.span) for f in stmt.fields)
        state.events.append(Emission(position, stmt.tag, fields, stmt.span))
        state.events += [Assumed(f) for f in self._record_facts(stmt.tag, fields, position)]
        state.env[Ledger.RECORDS] = same(add(position, ONE))
        counted = Counted(stmt.tag)
        if counted in state.env:
            state.env[counted] = same(add(state.env[counted].left, ONE))

    def _record_facts(
        self, tag: str, fields: tuple[tuple[str, Pair, Span], ...], position: Term
    ) -> list[Term]:
        """ω is what the run on D emits: record number `position` has this tag and these numbers."""
        facts: list[Term] = []
        for label in sorted(self.omega, key=text_of):
            match label:
                case RecordIs(other):
                    here = App(label, (position,), Sort.BOOL, Kind.OMEGA)
                    facts.append(here if other == tag else not_(here))
                case RecordField(own):
                    facts += [_field_fact(label, position, p.left) for name, p, _ in fields if name == own]
                case RecordCount():
                    pass
        if RecordCount(None) in self.omega:
            facts.append(lt(position, count_of(None)))
        return facts

    # --- loops --------------------------------------------------------------------------------------------

    def loop_for(self, stmt: For, states: list[_State]) -> list[_State]:
        for state in states:
            low, high = self._bounds(stmt, state)
            state.env[Ledger.LOW], state.env[Ledger.HIGH] = low, high
            state.env[Ledger.COUNTER] = low
        if self.unroll is not None:
            return self._rounds_for(stmt, states)
        return self._cut_loop(stmt, states)

    def _bounds(self, stmt: For, state: _State) -> tuple[Pair, Pair]:
        match stmt.over:
            case OverQueries(base=base):
                return same(ZERO), same(self.theory.length(base))
            case OverRange(low=low, high=high):
                return self.pair(low, state), self.pair(high, state)

    def _enter(self, stmt: For, state: _State, counter: Term) -> None:
        """Bind the loop's index and item."""
        if stmt.index is not None:
            state.env[stmt.index] = same(counter)
        if isinstance(stmt.over, OverQueries):
            base = stmt.over.base
            state.env[stmt.over.item] = Pair(
                self.theory.entry(base, counter, False), self.theory.entry(base, counter, True)
            )

    def loop_while(self, stmt: While, states: list[_State]) -> list[_State]:
        if self.unroll is not None:
            return self._rounds_while(stmt, states)
        return self._cut_loop(stmt, states)

    def _cut_loop(self, stmt: For | While, states: list[_State]) -> list[_State]:
        if not states:
            return []
        number = len(self.cuts)
        cut = self._head(stmt, states, number)
        self.cuts.append(cut)
        for state in states:
            self.finish(state, number)
        self.around.append(number)
        head = _State(number, dict(cut.env), [], cut.made)
        if isinstance(stmt, For):
            if cut.counter is None:
                raise InternalError("a loop without a counter")
            within = Pair(
                lt(cut.counter, head.env[Ledger.HIGH].left), lt(cut.counter, head.env[Ledger.HIGH].right)
            )
            inside, outside = self.split(within, stmt.span, head, number)
            if inside is not None:
                self._enter(stmt, inside, cut.counter)
        else:
            inside, outside = self.decide(stmt.test, head, number)
        self.broken.append([])
        ends = self.block(stmt.body, [inside]) if inside is not None else []
        for state in ends:
            if cut.counter is not None:
                state.env[Ledger.COUNTER] = same(add(cut.counter, ONE))
                state.env[Ledger.LOW], state.env[Ledger.HIGH] = cut.env[Ledger.LOW], cut.env[Ledger.HIGH]
            self.finish(state, number)
        self.around.pop()
        broken = self.broken.pop()
        if outside is not None and not broken:
            whole = _drawn_everywhere(cut, ends)
            outside.env.update(whole)
            drawn = {e.name: e.left.symbol for s in ends for e in s.events if isinstance(e, Drawing)}
            ended = [n for n in drawn if Each(n) in whole and self._draws_no_more(n)]
            outside.made = outside.made.then(*(Entry(drawn[n], n, whole=True) for n in ended))
        leaving = ([outside] if outside is not None else []) + broken
        return [self._left(stmt, state) for state in leaving]

    def _draws_no_more(self, name: str) -> bool:
        """Whether no draw of a variable comes after the loop that has just ended: it is the only statement
        that draws it, and no loop around it runs it again.
        """
        statements = statements_in(self.mechanism.body)
        return not self.around and sum(isinstance(s, Sample) and s.name == name for s in statements) == 1

    def _left(self, stmt: For | While, state: _State) -> _State:
        """After a loop its index and item are gone."""
        if isinstance(stmt, For):
            for name in [stmt.index, stmt.over.item if isinstance(stmt.over, OverQueries) else None]:
                if name is not None:
                    state.env.pop(name, None)
        return state

    def _head(self, stmt: For | While, states: list[_State], number: int) -> Cut:
        """The loop head: what the loop changes, or what differs between the ways in, becomes a fresh
        symbol.
        """
        assigned, drawn, emits = changed_in(stmt.body)
        changed: set[Key] = {*assigned, *drawn}
        called = {s.name for s in statements_in(stmt.body) if isinstance(s, Invoke)}
        if called:
            changed |= {Ledger.COST, *(Calls(n) for n in called)}
        if drawn:
            changed |= {Ledger.COST, *(ghost for n in drawn for ghost in (Latest(n), Last(n)))}
        if emits:
            changed |= {Ledger.RECORDS, *(k for k in states[0].env if isinstance(k, Counted))}
        env: Env = {}
        fresh: Env = {}
        counter = Sym(AtHead(_index_name(stmt), number, Side.ON_D), Sort.INT, Kind.COUNTER)
        for name in states[0].env:
            values = [s.env.get(name) for s in states]
            first = values[0]
            if first is None or any(v is None for v in values):
                continue
            match name:
                case Ledger.COUNTER:
                    continue
                case Given(call) if call in called:
                    continue
                case Cell(variable) if variable in drawn:
                    continue
                case Each(variable) | Stretch(variable):
                    if variable not in drawn and all(v == first for v in values):
                        env[name] = first
                    continue
                case str() | Ledger() | Counted() | Cell() | Last() | Latest() | Calls() | Given():
                    pass
            if name not in changed and all(v == first for v in values):
                env[name] = first
                continue
            env[name] = fresh[name] = self._fresh(name, number, [v for v in values if v is not None])
        if isinstance(stmt, For):
            env[Ledger.COUNTER] = fresh[Ledger.COUNTER] = same(counter)
        origins = {s.origin for s in states}
        parent = states[0].origin if len(origins) == 1 else (self.around[-1] if self.around else None)
        facts = self.cuts[parent].facts if parent is not None else ()
        if len(states) == 1:
            facts += _established(states[0])
        index = counter if isinstance(stmt, For) else None
        executed = (Entry(made(n, fresh[Calls(n)].left), n) for n in called)
        carried = (Entry(a) for v in fresh.values() for a in atoms((v.left, v.right)))
        fixed = common(s.made for s in states).without(drawn | called).then(*executed, *carried)
        return Cut(number, stmt, env, fresh, facts, index, parent, tuple(self.around), fixed)

    def _fresh(self, name: Key, number: int, values: list[Pair]) -> Pair:
        sorts = {sort_of(t) for v in values for t in (v.left, v.right)}
        here, there, apart = (AtHead(name, number, side) for side in Side)
        shared = is_bookkeeping(name) or (number, name) not in self.guess.apart
        if sorts == {Sort.BOOL}:
            truth = Sym(here, Sort.BOOL, Kind.STATE)
            return same(truth) if shared else Pair(truth, Sym(there, Sort.BOOL, Kind.PRIMED))
        whole = sorts == {Sort.INT} and (number, name) not in self.guess.real
        sort = Sort.INT if whole else Sort.REAL
        left = Sym(here, sort, Kind.LEDGER if is_bookkeeping(name) else Kind.STATE)
        if shared:
            return same(left)
        return Pair(left, add(left, Sym(apart, sort, Kind.DRIFT)))

    # --- concrete rounds, for counterexamples only --------------------------------------------------------

    def _rounds_for(self, stmt: For, states: list[_State]) -> list[_State]:
        leaving: list[_State] = []
        for state in states:
            low, high = state.env[Ledger.LOW].left, state.env[Ledger.HIGH].left
            if not (isinstance(low, Const) and isinstance(high, Const)):
                continue  # a bound that depends on data is no concrete run; other obligations speak of it
            current = [state]
            self.broken.append([])
            for i in range(int(low.value), int(high.value)):
                for s in current:
                    self._claim(stmt, s, const(i))
                    self._enter(stmt, s, const(i))
                current = self.block(stmt.body, current)
            leaving += current + self.broken.pop()
        return [self._left(stmt, s) for s in leaving]

    def _claim(self, stmt: For | While, state: _State, counter: Term | None = None) -> None:
        for expr in stmt.invariants:
            fact = Evaluator(at_head(self.theory, stmt, state.env, counter)).term(expr)
            state.events.append(Claimed(fact, expr.span))

    def _rounds_while(self, stmt: While, states: list[_State]) -> list[_State]:
        if self.unroll is None:
            raise InternalError("only concrete runs are unrolled")
        leaving: list[_State] = []
        current = states
        self.broken.append([])
        for _ in range(self.unroll.rounds + 1):
            inside: list[_State] = []
            for state in current:
                self._claim(stmt, state)
                yes, no = self.decide(stmt.test, state)
                inside += [yes] if yes is not None else []
                leaving += [no] if no is not None else []
            current = self.block(stmt.body, inside)
            if not current:
                break
        return leaving + self.broken.pop()


def _branched(stmt: Assign) -> If | None:
    """`x = f(a if c else b)` as `if c: x = f(a) else: x = f(b)`, so that both ways of writing it are proved
    alike.
    """
    found = next((e for e in _always_evaluated(stmt.value) if isinstance(e, nodes.Conditional)), None)
    if found is None:
        return None
    arms = [replace(stmt, value=with_part(stmt.value, found, part)) for part in (found.then, found.otherwise)]
    return If((nodes.Branch(found.test, (arms[0],), span=found.span),), (arms[1],), span=stmt.span)


def _drawn_everywhere(cut: Cut, ends: list[_State]) -> Env:
    """What a loop that has run to its end drew at each of its indices: for each variable of which every round
    makes one draw, at the loop's counter, with one distribution's symbol and one shift, that speak of nothing
    else that the loop changes.

    Why sound: the rounds are those with the counter in [low, high), and no round leaves the loop early.
    """
    if cut.counter is None or cut.env[Ledger.LOW].left != cut.env[Ledger.LOW].right:
        return {}
    if cut.env[Ledger.HIGH].left != cut.env[Ledger.HIGH].right:
        return {}
    changing = {a for v in cut.fresh.values() for a in atoms((v.left, v.right))} - {cut.counter}
    made = [{e.name: e for e in s.events if isinstance(e, Drawing)} for s in ends]
    found: Env = {}
    for name in sorted(made[0]) if made else ():
        draws = [m.get(name) for m in made]
        values = {(d.left.value, d.right.value, d.shift, d.index) for d in draws if d is not None}
        if None in draws or len(values) != 1:
            continue
        value, other, shift, index = next(iter(values))
        plain = len(_draws_in(value)) == 1 and value == other and index == same(cut.counter)
        once = all(sum(isinstance(e, Drawing) and e.name == name for e in s.events) == 1 for s in ends)
        if plain and once and not changing & atoms((value, shift)):
            found[Each(name)] = Pair(value, add(value, shift))
            found[Stretch(name)] = Pair(cut.env[Ledger.LOW].left, cut.env[Ledger.HIGH].left)
    return found


def _always_evaluated(expr: Expr) -> Iterator[Expr]:
    """The expression and what is evaluated below it whenever it is; not the bodies of sets, which speak of
    their own index.
    """
    yield expr
    for part in _evaluated_with(expr):
        yield from _always_evaluated(part)


def _evaluated_with(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Gather():
            return ()
        case nodes.Conditional(test=test):
            return (test,)
        case nodes.Logic(args=args):
            return args[:1]
        case (
            nodes.Number()
            | nodes.Boolean()
            | nodes.Name()
            | Index()
            | nodes.Call()
            | nodes.Unary()
            | nodes.Binary()
            | nodes.Compare()
            | OutIs()
            | OutField()
            | OutCount()
            | nodes.Member()
        ):
            return tuple(parts_of(expr))


def _established(state: _State) -> tuple[Term, ...]:
    """What the way into a loop says about symbols that never change again, on both runs.

    Sound for D' because `output` obligations show that it takes the same arms.
    """
    facts: list[Term] = []
    for event in state.events:
        match event:
            case Decision():
                facts += [event.holds(False), event.holds(True)]
            case Assumed(fact):
                facts.append(fact)
            case Drawing(left=left):
                facts += [*left.support, *left.valid]
            case Called() | Applied() | Selected() | Emission() | Required() | Claimed():
                pass
    return tuple(dict.fromkeys(facts))


def _decided_before(test: Pair, state: _State) -> bool | None:
    """How a visible test comes out that the path has decided already, None where it has not.

    Why sound: on one path equal terms are equal values, so that no run on D takes the other arm; and that the
    run on D' took the first arm is an obligation of the earlier test (`same_arms_and_records`).
    """
    for event in state.events:
        if isinstance(event, Decision) and not event.hidden and event.test == test:
            return event.taken
    return None


def _is_primed(event: Event) -> bool:
    return isinstance(event, Required) and event.primed


def _applied(test: Pair, holds: bool, arm: _State, other: _State, case: Term = TRUE) -> list[Applied]:
    """What is applied in the arms of a hidden `if` where the run on D takes one of them: that one, as it goes
    there, and the other, which it does not enter while the run on D' may.

    Any of the ways through the other arm will do: they differ in the run on D only.
    """
    found = [e.within(test, holds, case) for e in arm.events if isinstance(e, Applied)]
    return found + [e.within(test, not holds, case) for e in other.events if isinstance(e, Applied)]


def _guarded(event: Event, condition: Term) -> Event:
    """A requirement inside an arm holds only where that arm is taken."""
    if not isinstance(event, Required):
        raise InternalError("only requirements are guarded")
    partial = replace(event.partial, condition=implies(condition, event.partial.condition))
    return replace(event, partial=partial)


def _own(arm: _State, condition: Term) -> Iterator[Event]:
    """What must be defined in an arm where the run on D takes it. Its tests are in `condition`, what it
    applies in `_applied`, and that a call was made is known without it.
    """
    for event in arm.events:
        match event:
            case Required(primed=False):
                yield _guarded(event, condition)
            case Required() | Decision() | Applied() | Assumed():
                pass
            case Drawing() | Called() | Selected() | Emission() | Claimed():
                raise InternalError("a hidden arm does more than assign")


def _merged(
    test: Pair,
    taken: list[_State],
    passed: list[_State],
    right: dict[Key, Term],
    state: _State,
    primed: list[Event],
) -> _State:
    """All arms of the run on D in one state, as conditional terms; what must be defined is guarded."""

    def decisions(arm: _State) -> Term:
        return and_(e.holds(False) for e in arm.events if isinstance(e, Decision))

    cases = [(and_((test.left, decisions(arm))), arm) for arm in taken]
    cases += [(and_((not_(test.left), decisions(arm))), arm) for arm in passed]
    applied: list[Event] = []
    for place, (condition, arm) in enumerate(cases):
        holds = place < len(taken)
        applied += _applied(test, holds, arm, (passed if holds else taken)[0], condition)
    env: Env = {}
    for name, value in right.items():
        left = cases[-1][1].env[name].left
        for condition, arm in reversed(cases[:-1]):
            left = ite(condition, arm.env[name].left, left)
        env[name] = Pair(left, value)
    own = [e for condition, arm in cases for e in _own(arm, condition)]
    return _State(state.origin, env, [*state.events, *own, *applied, *primed], state.made)


def _field_fact(label: RecordField, position: Term, value: Term) -> Term:
    sort = sort_of(value)
    if sort is Sort.BOOL:
        return iff(App(label, (position,), Sort.BOOL, Kind.OMEGA), value)
    return eq(App(label, (position,), Sort.REAL, Kind.OMEGA), value)


def _unsettled(name: str, index: Term | None) -> Term:
    """How far the alignment moves a draw that it is about to move, or that comes later: nothing is assumed of
    it. Draws at two indices may be moved by two numbers.
    """
    if index is None:
        return Sym(Unsettled(name), Sort.REAL, Kind.UNSETTLED)
    return App(Unsettled(name), (index,), Sort.REAL, Kind.UNSETTLED)


def _counter_in(each: Pair) -> Term:
    """The loop counter at which a remembered draw stands: on a lattice it is a step times a symbol."""
    (drawn,) = _draws_in(each.left)
    return drawn.args[0]


def _draws_in(term: Term) -> list[App]:
    return [a for a in atoms((term,)) if isinstance(a, App) and a.kind is Kind.NOISE]


def _is_released(index: Term) -> bool:
    return any(a.kind is Kind.RELEASE for a in atoms((index,)))


def _index_name(stmt: For | While) -> Key:
    return stmt.index if isinstance(stmt, For) and stmt.index is not None else Ledger.ROUND


def _omega_labels(mechanism: nodes.Mechanism) -> set[Omega]:
    """The parts of the output that the alignment mentions."""
    found: set[Omega] = set()
    for expr in expressions_in(mechanism):
        match expr:
            case OutIs(of=of) | OutField(of=of) | OutCount(of=of) if of != "out":
                pass
            case OutIs(tag=tag):
                found.add(RecordIs(tag))
            case OutField(field=name):
                found.add(RecordField(name))
                found |= {RecordIs(tag) for tag in tags_with(mechanism, name)}
            case OutCount(tag=tag):
                found.add(RecordCount(tag))
            case (
                nodes.Number()
                | nodes.Boolean()
                | nodes.Name()
                | Index()
                | nodes.Call()
                | nodes.Unary()
                | nodes.Binary()
                | nodes.Compare()
                | nodes.Logic()
                | nodes.Conditional()
                | Gather()
                | nodes.Member()
            ):
                pass
    return found | ({RecordCount(None)} if found else set())


def tags_with(mechanism: nodes.Mechanism, field_name: str) -> list[str]:
    """The tags whose records have a field of this name."""
    emits = [s for s in statements_in(mechanism.body) if isinstance(s, Emit)]
    return sorted({e.tag for e in emits if any(f.name == field_name for f in e.fields)})


# --- scopes -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProgramScope:
    """Names in the program: inputs and variables, on D or on D' (`side`)."""

    theory: Theory
    env: Env
    side: bool

    def name(self, ident: str, primed: bool, span: Span) -> Term:
        value = self.env.get(ident)
        if value is not None:
            return value.right if primed or self.side else value.left
        if ident == "alignment_cost":
            return self.env[Ledger.COST].left
        item = self.theory.inputs[ident]
        if isinstance(item, nodes.Queries):
            return self.theory.answer(ident, None, primed or self.side)
        return self.theory.parameter(ident)

    def entry(self, base: str, index: Term, primed: bool, span: Span) -> tuple[Term, Term]:
        right = primed or self.side
        if base in self.theory.gathers:
            return pick(base, index), and_((le(ZERO, index), lt(index, self.length(base))))
        if base not in self.theory.inputs:
            cell = self.env.get(Cell(base, index, self.side))
            if cell is None:
                several = self._drawn(base, index, right) or self._among(base, index, right)
                if several is not None:
                    return several
                # A draw of an earlier round: only the last one is remembered.
                if Last(base) not in self.env:
                    raise UnsupportedError(span, f"a draw of `{base}` that was made elsewhere")
                place = self.env[Latest(base)].left
                drawn = self.env[Last(base)]
                return (drawn.right if right else drawn.left), and_((eq(index, place), le(ZERO, place)))
            return (cell.right if right else cell.left), TRUE
        size = self.theory.length(base)
        legal = self.theory.legal(base, index)
        if self.theory.is_concrete and isinstance(size, Const) and _is_released(index):
            return self._entry_among(base, index, int(size.value), right), legal
        return self.theory.entry(base, index, right), legal

    def _entry_among(self, base: str, index: Term, size: int, right: bool) -> Term:
        """In a concrete run: the entry of a list at an index that a call released."""
        found: Term = ZERO
        for place in range(size):
            found = ite(eq(index, const(place)), self.theory.entry(base, const(place), right), found)
        return found

    def _drawn(self, base: str, index: Term, right: bool) -> tuple[Term, Term] | None:
        """A draw of a loop that has ended, where the loop made one in every round."""
        each, span = self.env.get(Each(base)), self.env.get(Stretch(base))
        if each is None or span is None:
            return None
        table: dict[Term, Term] = {_counter_in(each): index}
        value = substitute(each.right if right else each.left, table)
        return value, and_((le(span.left, index), lt(index, span.right)))

    def _among(self, base: str, index: Term, right: bool) -> tuple[Term, Term] | None:
        """In a concrete run: the draw at an index that is no plain number, or at which there was none."""
        if not self.theory.is_concrete:
            return None
        found: Term = ZERO
        there: list[Term] = []
        for name, cell in self.env.items():
            if isinstance(name, Cell) and name.name == base and not name.primed:
                here = eq(index, name.index)
                found = ite(here, cell.right if right else cell.left, found)
                there.append(here)
        return found, or_(there)

    def length(self, base: str) -> Term:
        if base in self.theory.calls:
            return self._released(OutCount(None, base), None)[0]
        if base not in self.theory.gathers:
            return self.theory.length(base)
        return self.env[base].left if base in self.env else size_of(base)

    def member(self, selection: str, index: Term) -> Term:
        return member(selection, index)

    def applied(self, function: str, args: list[Term]) -> Term:
        return self.theory.applied(function, args)

    def gathered(self, expr: Gather, meaning: Gathered) -> tuple[Term, Term]:
        if expr.function == "sum":
            whole = isinstance(meaning.low, Const) and isinstance(meaning.high, Const)
            return (concrete_sum(meaning) if whole else self.theory.sums.symbol(meaning)), TRUE
        if expr.function not in ("max", "min"):
            return self._index_gathered(expr, meaning)
        if self.theory.is_concrete:
            return concrete_extremum(meaning)
        meaning = self.theory.with_candidates(meaning)
        return self.theory.registry.anonymous(meaning, expr.span), meaning.enough()

    def ordered(self, left: str, op: str) -> Term | None:
        return self.theory.ordered(left, op)

    def _records(self, call: str) -> Records:
        """What the latest execution of a call released."""
        invoked = self.theory.calls[call]
        contract = contract_of(next(u for u in self.theory.mechanism.uses if u.name == invoked.mechanism))
        given = {k.argument: v for k, v in self.env.items() if isinstance(k, Given) and k.call == call}
        number = self.env[Calls(call)].left
        return Records(call, number, contract, sorts_released(self.theory.mechanism, call), given)

    def _released(self, expr: OutIs | OutField | OutCount, place: Term | None) -> tuple[Term, Term]:
        """A part of what a call released, and when it is there."""
        records, released = self._records(expr.of), self.theory.released
        released.learn(records.length(), records.facts())
        if isinstance(expr, OutCount):
            return self._length_of(records) if expr.tag is None else records.count(expr.tag), TRUE
        if place is None:
            raise InternalError("a record without its number")
        for tag in records.tags:
            released.learn(records.has(tag, place), records.facts_at(place))
        if isinstance(expr, OutIs):
            return records.has(expr.tag, place), TRUE
        value = records.value(expr.field, place)
        released.learn(value, records.facts_at(place))
        return value, records.has_field(expr.field, place)

    def _length_of(self, records: Records) -> Term:
        """How many records a call released, which a concrete run must know as a number."""
        exact = records.how_many()
        return exact if isinstance(exact, Const) else records.length()

    def omega(self, expr: OutIs | OutField | OutCount, index: Term | None) -> tuple[Term, Term]:
        if expr.of != "out":
            return self._released(expr, index)
        match expr:
            case OutIs(tag=tag):
                if index is None:
                    raise InternalError("a record without its number")
                return App(RecordIs(tag), (index,), Sort.BOOL, Kind.OMEGA), TRUE
            case OutField(field=name):
                if index is None:
                    raise InternalError("a record without its number")
                sort = Sort.BOOL if name in self.theory.truth_fields else Sort.REAL
                tags = tags_with(self.theory.mechanism, name)
                there = or_(App(RecordIs(t), (index,), Sort.BOOL, Kind.OMEGA) for t in tags)
                return App(RecordField(name), (index,), sort, Kind.OMEGA), there
            case OutCount(tag=tag):
                return count_of(tag), TRUE

    def _index_gathered(self, expr: Gather, meaning: Gathered) -> tuple[Term, Term]:
        raise UnsupportedError(expr.span, f"`{expr.function}` elsewhere than in an assignment of its own")


def at_head(theory: Theory, loop: For | While, env: Env, counter: Term | None) -> ProgramScope:
    """Names in an `invariant` line, at the head of its loop: the index is that of the round about to
    begin.
    """
    if isinstance(loop, For) and loop.index is not None and counter is not None:
        env = {**env, loop.index: same(counter)}
    return ProgramScope(theory, env, False)


@dataclass(frozen=True)
class _DrawScope(ProgramScope):
    """Names in an alignment line, at the draw that it moves: the draw itself has only its value on D."""

    @classmethod
    def at(
        cls,
        theory: Theory,
        env: Env,
        drawn: str,
        index: Term | None,
        value: Term,
    ) -> _DrawScope:
        """The scope at the draw `drawn[index]`, whose value on D is `value`."""
        key: Key = drawn if index is None else Cell(drawn, index, False)
        return cls(theory, {**env, key: Pair(value, add(value, _unsettled(drawn, index)))}, False)

    def name(self, ident: str, primed: bool, span: Span) -> Term:
        if ident not in self.env and ident in self.theory.gathers:
            return self._foreseen(ident, self.theory.gathers[ident], primed)
        if ident not in self.env and ident not in self.theory.inputs and ident != "alignment_cost":
            return self._later(ident, None, primed, span)
        return super().name(ident, primed, span)

    def entry(self, base: str, index: Term, primed: bool, span: Span) -> tuple[Term, Term]:
        if base in self.theory.gathers:
            return super().entry(base, index, primed, span)
        if base not in self.theory.inputs and Cell(base, index, False) not in self.env:
            drawn = self._drawn(base, index, primed)
            return drawn if drawn is not None else (self._later(base, index, primed, span), TRUE)
        return super().entry(base, index, primed, span)

    def _index_gathered(self, expr: Gather, meaning: Gathered) -> tuple[Term, Term]:
        """An index at which a maximum is taken, in an alignment: it depends on noise."""
        if expr.function == "top":
            raise UnsupportedError(expr.span, "`top` in an alignment")
        if self.theory.is_concrete:
            ranks, some = concrete_ranks(meaning, 1)
            return ranks[0], some
        meaning = self.theory.with_candidates(meaning)
        return self.theory.registry.anonymous_index(meaning, expr.span), meaning.enough()

    def _foreseen(self, name: str, expr: Gather, primed: bool) -> Term:
        """What a variable will hold later in the complete run: a part of ω, or a maximum over noise."""
        if expr.function not in ("max", "min"):
            return chosen(name)
        return extremum(name, primed)

    def _later(self, name: str, index: Term | None, primed: bool, span: Span) -> Term:
        """A draw that has not happened yet: the `acyclic` obligation must find an order in which it comes
        first. Of its aligned value nothing is known here.

        Raises UnsupportedError where its value is not known to be this: drawn in several ways, or on a
        lattice whose step the program computes.
        """
        ways = {
            (s.family, s.args[1:])  # the scale is no part of a value; a lattice's step is
            for s in statements_in(self.theory.mechanism.body)
            if isinstance(s, Sample) and s.name == name
        }
        if len(ways) != 1:
            raise UnsupportedError(span, f"a later draw of `{name}`, which is drawn in several ways")
        ((family, steps),) = ways
        if any(not names_in(step) <= self.theory.inputs.keys() for step in steps):
            raise UnsupportedError(span, f"a later draw of `{name}`, whose step the program computes")
        args = (ONE, *(self.theory.input_term(step, None) for step in steps))
        value = noise.draw(family, name, index, args).value
        return add(value, _unsettled(name, index)) if primed else value
