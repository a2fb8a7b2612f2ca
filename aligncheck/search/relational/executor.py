"""Executes a program over sets of path states.

An `if` is *visible* if an arm emits, draws, breaks or loops, or if its test is the same term in both runs; it
forks the path, and both runs must take the same arm (obligation `output`). Any other `if` is hidden: the path
forks over the arms that the run on D may take, while the run on D' takes its own arm, as a conditional term.

`Unroll` replaces the loop heads by a fixed number of rounds. It serves only the search for concrete
counterexamples, never a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import (
    Assign,
    Break,
    Choose,
    Emit,
    Expr,
    For,
    Gather,
    If,
    Invoke,
    Logistic,
    OverQueries,
    OverRange,
    Pass,
    Sample,
    Stmt,
    While,
)
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.relational import ir, paths
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.arms import applied, guarded, is_primed, merged
from aligncheck.search.relational.blocks import branched, is_visible, omega_of, read_later
from aligncheck.search.relational.heads import Guess, Heads, drawn_everywhere
from aligncheck.search.relational.labels import (
    Calls,
    Counted,
    Each,
    Key,
    LastDraw,
    Latest,
    Ledger,
    RecordCount,
    text_of,
)
from aligncheck.search.relational.path_state import ARMS_LIMIT, PATH_LIMIT, State, Unroll, decided_before
from aligncheck.search.relational.scopes import at_head
from aligncheck.search.relational.settled import SettledSymbol
from aligncheck.search.relational.single import Single
from aligncheck.search.relational.theory import Theory, count_of
from aligncheck.search.relational.to_terms import TermEvaluator


class PathExecutor:
    """One execution of a program."""

    def __init__(
        self,
        theory: Theory,
        unroll: Unroll | None,
        guess: Guess,
    ) -> None:
        self.theory = theory
        self.mechanism = theory.mechanism
        self.unroll = unroll
        self.heads = Heads(guess)
        self.single = Single(theory, frozenset(omega_of(self.mechanism)), read_later(self.mechanism))
        self.paths: list[paths.Segment] = []
        self.broken: list[list[State]] = []
        self.crowded = False  # so many states already that hidden arms merge
        self.private = False  # inside an arm that the run on D' may not take

    def run(self) -> paths.Analysis:
        self.theory.registry.clear()
        self.theory.released.table.clear()
        start: dict[Key, ir.Pair] = {Ledger.COST: ir.same(ir.ZERO), Ledger.RECORDS: ir.same(ir.ZERO)}
        for label in self.single.omega:
            if isinstance(label, RecordCount) and label.tag is not None:
                start[Counted(label.tag)] = ir.same(ir.ZERO)
        for stmt in statements_in(self.mechanism.body):
            if isinstance(stmt, Sample):
                start[Latest(stmt.name)] = ir.same(ir.const(-1))
                if stmt.name in self.single.remembered:
                    start[LastDraw(stmt.name)] = ir.same(ir.ZERO)
            if isinstance(stmt, Invoke):
                start[Calls(stmt.name)] = ir.same(ir.const(-1))
        self.heads.cuts.append(paths.Cut(0, None, MappingProxyType(start)))
        for state in self.block(self.mechanism.body, [State(0, dict(start), [])]):
            self.finish(state, None)
        changing = {a for c in self.heads.cuts for v in c.fresh.values() for a in ir.atoms((v.left, v.right))}
        self.theory.registry.forget(frozenset(changing))
        return paths.Analysis(self.theory, tuple(self.heads.cuts), tuple(self.paths), self.single.omega)

    def finish(self, state: State, target: int | None) -> None:
        limit = self.unroll.limit if self.unroll else PATH_LIMIT
        if len(self.paths) >= limit:
            raise paths.TooManyPathsError(limit)
        if target is None:
            state.events.extend(self._final(state))
        self.paths.append(
            paths.Segment(state.origin, target, tuple(state.events), MappingProxyType(state.env))
        )

    def _final(self, state: State) -> Iterator[paths.Event]:
        """At the end, the counts of ω are what was counted."""
        for label in sorted(self.single.omega, key=text_of):
            if isinstance(label, RecordCount):
                counted = Ledger.RECORDS if label.tag is None else Counted(label.tag)
                yield paths.Assumed(ir.eq(count_of(label.tag), state.env[counted].left))

    # --- blocks and branches ------------------------------------------------------------------------------

    def block(self, body: tuple[Stmt, ...], states: list[State]) -> list[State]:
        limit = self.unroll.limit if self.unroll else PATH_LIMIT
        for stmt in body:
            states = self.statement(stmt, states)
            if len(states) > limit or not (self.unroll is None or self.unroll.allows(states)):
                raise paths.TooManyPathsError(limit)
        return states

    def statement(self, stmt: Stmt, states: list[State]) -> list[State]:
        match stmt:
            case Assign(value=Gather()) if self.theory.gathers.get(stmt.name) is stmt.value:
                return [s for state in states for s in self.single.gather(stmt.name, stmt.value, state)]
            case Assign():
                as_branch = branched(stmt)
                if as_branch is not None and len(states) < ARMS_LIMIT:
                    return self.statement(as_branch, states)
                for state in states:
                    state.env[stmt.name] = self.single.pair(stmt.value, state)
                return states
            case Invoke():
                for state in states:
                    self.single.invoke(stmt, state)
                return states
            case Sample():
                for state in states:
                    self.single.sample(stmt, state)
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
                    self.single.emit(stmt, state)
                return states
            case Break():
                self.broken[-1].extend(states)
                return []
            case Choose() | Logistic():
                raise InternalError("draws by densities have a proof rule of their own")
            case Pass():
                return states

    def conditional(self, stmt: If, state: State) -> list[State]:
        if self.private or not is_visible((stmt,)):
            return self._hidden(stmt.branches, stmt.otherwise, state)
        return self._fork(stmt, state)

    def _fork(self, stmt: If, state: State) -> list[State]:
        done: list[State] = []
        rest: State | None = state
        for branch in stmt.branches:
            if rest is None:
                break
            yes, rest = self.decide(branch.test, rest)
            if yes is not None:
                done += self.block(branch.body, [yes])
        if rest is not None:
            done += self.block(stmt.otherwise, [rest])
        return done

    def decide(self, test: Expr, state: State, loop: int | None = None) -> tuple[State | None, State | None]:
        """The state split by a visible test; an arm that a constant test excludes is None."""
        value = self.single.pair(test, state)
        return self.split(value, test.span, state, loop)

    def split(
        self, value: ir.Pair, span: Span, state: State, loop: int | None = None
    ) -> tuple[State | None, State | None]:
        if isinstance(value.left, ir.Truth) and value.left == value.right:
            return (state, None) if value.left.value else (None, state)
        known = decided_before(value, state)
        if known is not None:
            return (state, None) if known else (None, state)
        other = state.fork()
        state.events.append(paths.ArmTaken(value, True, span, loop=loop))
        other.events.append(paths.ArmTaken(value, False, span, loop=loop))
        return state, other

    def _hidden(
        self, branches: tuple[nodes.Branch, ...], otherwise: tuple[Stmt, ...], state: State
    ) -> list[State]:
        """Arms that only assign. All states that come back have the same values in the run on D'."""
        if not branches:
            return self.block(otherwise, [state])
        branch = branches[0]
        test = self.single.pair(branch.test, state)
        if test.left == test.right and not self.private and not self.crowded:
            yes, no = self.split(test, branch.test.span, state)
            done = self.block(branch.body, [yes]) if yes is not None else []
            return done + (self._hidden(branches[1:], otherwise, no) if no is not None else [])
        return self._private_arms(test, branch, branches[1:], otherwise, state)

    def _private_arms(
        self,
        test: ir.Pair,
        branch: nodes.Branch,
        branches: tuple[nodes.Branch, ...],
        otherwise: tuple[Stmt, ...],
        state: State,
    ) -> list[State]:
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
            name: ir.ite(test.right, taken[0].env[name].right, passed[0].env[name].right)
            for name in taken[0].env
            if name in passed[0].env
        }
        primed = [guarded(e, test.right) for e in taken[0].events if is_primed(e)]
        primed += [guarded(e, ir.not_(test.right)) for e in passed[0].events if is_primed(e)]
        if self.crowded or len(taken) + len(passed) > ARMS_LIMIT:
            return [merged(test, taken, passed, right, state, primed)]
        done: list[State] = []
        for arms, other, holds in ((taken, passed, True), (passed, taken, False)):
            for arm in arms:
                decision = paths.ArmTaken(test, holds, branch.test.span, hidden=True)
                own = [e for e in arm.events if not is_primed(e) and not isinstance(e, Applied)]
                env = {name: ir.Pair(arm.env[name].left, value) for name, value in right.items()}
                alike = applied(test, holds, arm, other[0])
                events = [*state.events, decision, *own, *alike, *primed]
                done.append(State(state.origin, env, events, state.made))
        return done

    # --- loops --------------------------------------------------------------------------------------------

    def loop_for(self, stmt: For, states: list[State]) -> list[State]:
        for state in states:
            low, high = self._bounds(stmt, state)
            state.env[Ledger.LOW], state.env[Ledger.HIGH] = low, high
            state.env[Ledger.COUNTER] = low
        if self.unroll is not None:
            return self._rounds_for(stmt, states)
        return self._cut_loop(stmt, states)

    def _bounds(self, stmt: For, state: State) -> tuple[ir.Pair, ir.Pair]:
        match stmt.over:
            case OverQueries(base=base):
                return ir.same(ir.ZERO), ir.same(self.theory.length(base))
            case OverRange(low=low, high=high):
                return self.single.pair(low, state), self.single.pair(high, state)

    def _enter(self, stmt: For, state: State, counter: ir.Term) -> None:
        """Bind the loop's index and item."""
        if stmt.index is not None:
            state.env[stmt.index] = ir.same(counter)
        if isinstance(stmt.over, OverQueries):
            base = stmt.over.base
            state.env[stmt.over.item] = ir.Pair(
                self.theory.entry(base, counter, False), self.theory.entry(base, counter, True)
            )

    def loop_while(self, stmt: While, states: list[State]) -> list[State]:
        if self.unroll is not None:
            return self._rounds_while(stmt, states)
        return self._cut_loop(stmt, states)

    def _cut_loop(self, stmt: For | While, states: list[State]) -> list[State]:
        if not states:
            return []
        number = len(self.heads.cuts)
        cut = self.heads.head(stmt, states, number)
        self.heads.cuts.append(cut)
        for state in states:
            self.finish(state, number)
        self.heads.around.append(number)
        head = State(number, dict(cut.env), [], cut.made)
        if isinstance(stmt, For):
            if cut.counter is None:
                raise InternalError("a loop without a counter")
            within = ir.Pair(
                ir.lt(cut.counter, head.env[Ledger.HIGH].left),
                ir.lt(cut.counter, head.env[Ledger.HIGH].right),
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
                state.env[Ledger.COUNTER] = ir.same(ir.add(cut.counter, ir.ONE))
                state.env[Ledger.LOW], state.env[Ledger.HIGH] = cut.env[Ledger.LOW], cut.env[Ledger.HIGH]
            self.finish(state, number)
        self.heads.around.pop()
        broken = self.broken.pop()
        if outside is not None and not broken:
            whole = drawn_everywhere(cut, ends)
            outside.env.update(whole)
            drawn = {e.name: e.left.symbol for s in ends for e in s.events if isinstance(e, paths.Drawing)}
            ended = [n for n in drawn if Each(n) in whole and self._draws_no_more(n)]
            outside.made = outside.made.then(*(SettledSymbol(drawn[n], n, whole=True) for n in ended))
        leaving = ([outside] if outside is not None else []) + broken
        return [self._left(stmt, state) for state in leaving]

    def _draws_no_more(self, name: str) -> bool:
        """Whether no draw of a variable comes after the loop that has just ended: it is the only statement
        that draws it, and no loop around it runs it again.
        """
        statements = statements_in(self.mechanism.body)
        return (
            not self.heads.around and sum(isinstance(s, Sample) and s.name == name for s in statements) == 1
        )

    def _left(self, stmt: For | While, state: State) -> State:
        """After a loop its index and item are gone."""
        if isinstance(stmt, For):
            for name in [stmt.index, stmt.over.item if isinstance(stmt.over, OverQueries) else None]:
                if name is not None:
                    state.env.pop(name, None)
        return state

    # --- concrete rounds, for counterexamples only --------------------------------------------------------

    def _rounds_for(self, stmt: For, states: list[State]) -> list[State]:
        leaving: list[State] = []
        for state in states:
            low, high = state.env[Ledger.LOW].left, state.env[Ledger.HIGH].left
            if not (isinstance(low, ir.Const) and isinstance(high, ir.Const)):
                continue  # a bound that depends on data is no concrete run; other obligations speak of it
            current = [state]
            self.broken.append([])
            for i in range(int(low.value), int(high.value)):
                for s in current:
                    self._claim(stmt, s, ir.const(i))
                    self._enter(stmt, s, ir.const(i))
                current = self.block(stmt.body, current)
            leaving += current + self.broken.pop()
        return [self._left(stmt, s) for s in leaving]

    def _claim(self, stmt: For | While, state: State, counter: ir.Term | None = None) -> None:
        for expr in stmt.invariants:
            fact = TermEvaluator(at_head(self.theory, stmt, state.env, counter)).term(expr)
            state.events.append(paths.Claimed(fact, expr.span))

    def _rounds_while(self, stmt: While, states: list[State]) -> list[State]:
        if self.unroll is None:
            raise InternalError("only concrete runs are unrolled")
        leaving: list[State] = []
        current = states
        self.broken.append([])
        for _ in range(self.unroll.rounds + 1):
            inside: list[State] = []
            for state in current:
                self._claim(stmt, state)
                yes, no = self.decide(stmt.test, state)
                inside += [yes] if yes is not None else []
                leaving += [no] if no is not None else []
            current = self.block(stmt.body, inside)
            if not current:
                break
        return leaving + self.broken.pop()
