"""The symbolic run of a mechanism on one concrete input: every way through it that is compatible with an
event.

A `SymbolicPath` is a conjunction of intervals of affine forms, beside the choices made by weights. They
exclude each other, and together they are the event, up to a null set. What an event rules out is dropped at
the first record that differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from flint import fmpq

from aligncheck.language.families import Family, Slope
from aligncheck.language.internal import InternalError
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.weights import log_of
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Irrational
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation import irrationals, symbolic
from aligncheck.refutation.elimination import Form
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.evaluation import Evaluation
from aligncheck.refutation.events import Between, CompleteOutput, Constraint, Event, Exactly, Raises
from aligncheck.refutation.irrationals import Real, sign
from aligncheck.refutation.selections import edges, reduced
from aligncheck.refutation.states import (
    Assume,
    Faulted,
    Fork,
    LastRound,
    PartialPath,
    Pick,
    WeightedChoice,
    condition,
)

STEP_LIMIT = 3_000
MOST_WAYS = 50_000
"""So many ways are followed, those that the event rules out included."""
_FEW = 16
"""So many statements and operations count as a step of the search."""


@dataclass(frozen=True, slots=True)
class SymbolicPath:
    """One way through the program: the noise that it draws, and what restricts it.

    `released` are its records, where they were asked for; `raised` says how it ended.
    """

    noises: tuple[symbolic.NoiseLaw, ...]
    restricted: Mapping[Form, symbolic.Interval]
    chosen: tuple[WeightedChoice | LastRound, ...]
    released: tuple[symbolic.ReturnedRecord, ...]
    raised: bool


@dataclass(frozen=True, slots=True)
class _Block:
    statements: tuple[nodes.Stmt, ...]
    at: int
    rest: _Todo


@dataclass(frozen=True, slots=True)
class _Rounds:
    statement: nodes.For
    rounds: tuple[tuple[Real, Any], ...]
    at: int
    rest: _Todo


@dataclass(frozen=True, slots=True)
class _While:
    statement: nodes.While
    rest: _Todo


@dataclass(frozen=True, slots=True)
class _Return:
    statement: nodes.Invoke
    frame: symbolic.CallFrame
    rest: _Todo


@dataclass(frozen=True, slots=True)
class _Judge:
    """A round of a repeated call is over. `law` None: it is asked for the ways in which the test holds."""

    statement: nodes.Invoke
    rounds: nodes.Rounds
    law: LastRound | None
    rest: _Todo


_Todo: TypeAlias = _Block | _Rounds | _While | _Return | _Judge | None


class _Dropped(Exception):  # noqa: N818 - it ends a way
    """The event rules this way out."""


class Execution:
    """The ways through one mechanism. `event` None: all ways, each with what it releases.

    With `collect` extremes are settled in what is released, and it is told with an event, too.
    """

    def __init__(
        self,
        mechanism: nodes.Mechanism,
        inputs: Mapping[str, Input],
        event: Event | None,
        check: Callable[[], None],
        opened: Mapping[str, Real] | None = None,
        collect: bool = False,
    ) -> None:
        self._mechanism = mechanism
        missing = {name for declared in mechanism.inputs for name in declared.names} - set(inputs)
        if missing:
            raise ValueError(f"no value for `{min(missing)}`")
        self._inputs = {name: _internal(value) for name, value in inputs.items()} | dict(opened or {})
        self._event = event
        self._check = check
        self._forced = collect
        self._taken = 0

    def ways(self) -> Iterator[SymbolicPath]:
        """Every way. Raises `NotComputable`, `OutOfTime`."""
        frame = symbolic.CallFrame(self._mechanism, self._inputs)
        state = PartialPath(frame)
        state.todo = _Block(self._mechanism.body, 0, None)
        if isinstance(self._event, CompleteOutput) and not self._event.records and not self._event.complete:
            yield SymbolicPath((), {}, (), (), raised=False)
            return
        yield from self._from(state)

    def _from(self, state: PartialPath) -> Iterator[SymbolicPath]:
        waiting = [state]
        while waiting:
            state = waiting.pop()
            try:
                way = self._followed(state)
            except Fork as fork:
                self._taken += 1
                if self._taken > MOST_WAYS:
                    raise NotComputable("the program goes on in too many ways") from None
                self._check()
                for assumption in reversed(fork.assumptions):
                    other = state.copy()
                    if other.assume(assumption):
                        waiting.append(other)
                continue
            except exact.Undecided as reason:
                raise NotComputable(str(reason)) from None
            if way is not None:
                yield way

    def _followed(self, state: PartialPath) -> SymbolicPath | None:
        """The way that a state leads to, if it leads to one alone. Raises `Fork`."""
        wants_raise = isinstance(self._event, Raises)
        try:
            while state.todo is not None:
                self._advance(state)
            if wants_raise or (
                isinstance(self._event, CompleteOutput) and state.out < len(self._event.records)
            ):
                return None
            return _finished(state, raised=False)
        except _Dropped:
            return None
        except Faulted:
            return _finished(state, raised=True) if wants_raise or self._event is None else None

    # --- the program ----------------------------------------------------------------------------------------

    def _advance(self, state: PartialPath) -> None:
        """Executes the next statement, or starts the next round. Changes nothing where it raises `Fork`."""
        self._step(state)
        todo: _Todo = state.todo
        match todo:
            case _Block(statements=statements, at=at, rest=rest):
                if at == len(statements):
                    state.todo = rest
                else:
                    after = _Block(statements, at + 1, rest) if at + 1 < len(statements) else rest
                    self._statement(state, statements[at], after)
            case _Rounds(statement=statement, rounds=rounds, at=at, rest=rest):
                if at == len(rounds):
                    state.todo = rest
                    return
                index, item = rounds[at]
                if statement.index is not None:
                    state.frame.variables[statement.index] = index
                if isinstance(statement.over, nodes.OverQueries):
                    state.frame.variables[statement.over.item] = item
                state.todo = _Block(statement.body, 0, _Rounds(statement, rounds, at + 1, rest))
            case _While(statement=statement, rest=rest):
                if self._evaluation(state).truth(statement.test):
                    state.todo = _Block(statement.body, 0, todo)
                else:
                    state.todo = rest
            case _Return(statement=statement, frame=frame, rest=rest):
                records = state.frame.records
                state.frame = frame.copy()
                state.frame.variables[statement.name] = symbolic.SymbolicRelease(records)
                state.todo = rest
            case _Judge():
                self._judge(state, todo)
            case None:
                raise InternalError("a run that has ended goes on")

    def _step(self, state: PartialPath) -> None:
        state.steps += 1
        if state.steps % _FEW == 0:
            self._check()
        if state.steps > STEP_LIMIT:
            raise NotComputable("a way through the program takes too many steps")

    def _evaluation(self, state: PartialPath) -> Evaluation:
        return Evaluation(state, lambda: self._step(state))

    def _statement(self, state: PartialPath, statement: nodes.Stmt, after: _Todo) -> None:
        match statement:
            case nodes.Assign(name=name, value=value):
                state.frame.variables[name] = self._assigned(state, value)
            case nodes.Sample():
                self._sample(state, statement)
            case nodes.Choose():
                self._choose(state, statement)
            case nodes.Logistic():
                self._logistic(state, statement)
            case nodes.Emit():
                if self._emit(state, statement):
                    state.todo = None
                    return
            case nodes.If(branches=branches, otherwise=otherwise):
                evaluation = self._evaluation(state)
                body = next((b.body for b in branches if evaluation.truth(b.test)), otherwise)
                after = _Block(body, 0, after) if body else after
            case nodes.For():
                after = _Rounds(statement, tuple(self._rounds(state, statement.over)), 0, after)
            case nodes.While():
                after = _While(statement, after)
            case nodes.Break():
                after = _left(after)
            case nodes.Invoke():
                after = self._invoke(state, statement, after)
            case nodes.Pass():
                pass
        state.todo = after

    def _assigned(self, state: PartialPath, expr: nodes.Expr) -> Any:
        evaluation = self._evaluation(state)
        if not isinstance(expr, nodes.Gather):
            return evaluation.value(expr)
        if expr.function in nodes.SELECTING:
            return evaluation.selecting(expr)
        try:
            return evaluation.value(expr)
        except Fork as fork:
            if isinstance(fork.assumptions[0], Assume) or not _never_empty(state, evaluation, expr):
                raise
            return symbolic.Deferred(expr, state.frame.copy())

    def _rounds(
        self, state: PartialPath, over: nodes.OverQueries | nodes.OverRange
    ) -> Iterator[tuple[Real, Any]]:
        match over:
            case nodes.OverQueries(base=base):
                entries = state.frame.inputs.get(base)
                if not isinstance(entries, tuple):
                    raise Faulted
                for number, entry in enumerate(entries):
                    yield fmpq(number), entry
            case nodes.OverRange(low=low, high=high):
                evaluation = self._evaluation(state)
                start, stop = evaluation.integer(low), evaluation.integer(high)
                if stop - start > STEP_LIMIT:
                    raise NotComputable("a loop has too many rounds", over.span)
                for number in range(start, stop):
                    yield fmpq(number), fmpq(number)

    # --- draws ----------------------------------------------------------------------------------------------

    def _sample(self, state: PartialPath, statement: nodes.Sample) -> None:
        evaluation = self._evaluation(state)
        index = None if statement.index is None else evaluation.integer(statement.index)
        args = [evaluation.constant(argument, "what noise is drawn with") for argument in statement.args]
        key = statement.name, index
        if key in state.frame.draws:
            raise Faulted
        step = args[1] if statement.family.stepped else fmpq(1)
        if isinstance(step, irrationals.Surd):
            symbolic.never(statement, "the step of the noise is irrational")
        if statement.family.discrete and statement.family.row.slope is Slope.SIGMA:
            symbolic.never(statement, "no formula for this noise")
        if statement.family.coin:
            state.frame.draws[key] = self._tossed(state, key, args[0])
            return
        rate = _rate(statement.family, args) * step
        more = (args[0], args[2]) if statement.family.row.slope is Slope.STAIRS else ()
        variable = len(state.known.noises)
        state.known.noises.append(symbolic.NoiseLaw(*key, statement.family, rate, statement.span, more=more))
        state.frame.draws[key] = symbolic.Affine({variable: 1 if step == 1 else step}, fmpq(0))

    def _tossed(self, state: PartialPath, key: tuple[str, int | None], p: Real) -> fmpq:
        """A coin is chosen from 0 and 1, with the logarithms of their probabilities."""
        if (index := state.answered()) is not None:
            return fmpq(index)
        if sign(p) <= 0 or sign(1 - p) <= 0:
            raise Faulted
        logs = tuple(irrationals.apply("ln", chance) for chance in (1 - p, p))
        raise Fork([WeightedChoice(key[0], b, logs, b) for b in (0, 1)])

    def _choose(self, state: PartialPath, statement: nodes.Choose) -> None:
        if (index := state.answered()) is not None:
            state.frame.variables[statement.name] = fmpq(index)
            return
        evaluation = self._evaluation(state)
        weights = statement.weights
        indices: list[int] = []
        logs: list[Real] = []
        for index in evaluation.passing(weights):
            indices.append(index)
            logs.append(evaluation.constant(log_of(weights.body), "a weight"))
        if not indices:
            raise Faulted
        raise Fork([WeightedChoice(statement.name, i, tuple(logs), place) for place, i in enumerate(indices)])

    def _logistic(self, state: PartialPath, statement: nodes.Logistic) -> None:
        evaluation = self._evaluation(state)
        location = evaluation.constant(statement.location, "the location of a draw")
        scale = evaluation.constant(statement.scale, "the scale of a draw")
        if sign(scale) <= 0:
            raise Faulted
        low = None if statement.low is None else evaluation.constant(statement.low, "the bound of a draw")
        variable = len(state.known.noises)
        noise = symbolic.NoiseLaw(statement.name, None, None, 1 / scale, statement.span, location, low)
        state.known.noises.append(noise)
        if low is not None:
            state.known.narrow(((variable, 1),), low, None)
        state.frame.variables[statement.name] = symbolic.Affine({variable: 1}, fmpq(0))

    # --- calls ----------------------------------------------------------------------------------------------

    def _invoke(self, state: PartialPath, statement: nodes.Invoke, after: _Todo) -> _Todo:
        evaluation = self._evaluation(state)
        use = next(use for use in state.frame.mechanism.uses if use.name == statement.mechanism)
        callee = contract_of(use).mechanism
        given = {each.name: self._argument(state, evaluation, each.value) for each in statement.arguments}
        frame, inner = state.frame.copy(), symbolic.CallFrame(callee, given)
        if statement.rounds is not None:
            law = self._law(state, evaluation, statement, statement.rounds, inner)
            after = _Judge(statement, statement.rounds, law, after)
        state.frame = inner
        return _Block(callee.body, 0, _Return(statement, frame, after))

    def _law(
        self,
        state: PartialPath,
        evaluation: Evaluation,
        statement: nodes.Invoke,
        rounds: nodes.Rounds,
        inner: symbolic.CallFrame,
    ) -> LastRound:
        """How likely a round of a repeated call is to be the last one: one round is run by itself. Raises
        `NotComputable` where that depends on noise that was drawn before.
        """
        chance = evaluation.constant(rounds.chance, "the chance to stop")
        most = None if rounds.most is None else evaluation.integer(rounds.most)
        if sign(chance) <= 0 or sign(chance - 1) > 0 or (most is not None and most < 1):
            raise Faulted
        before, alone, start = len(state.known.noises), copy(self), PartialPath(inner.copy())
        alone._event, alone._forced = None, False
        start.known.noises = list(state.known.noises)
        judge = _Judge(statement, rounds, None, None)
        start.todo = _Block(inner.mechanism.body, 0, _Return(statement, state.frame.copy(), judge))
        passing = tuple(alone._from(start))
        earlier = (v < before for way in passing for form in way.restricted for v, _ in form)
        if any(way.raised for way in passing) or any(earlier):
            symbolic.never(statement, "the rounds of a call depend on noise that was drawn before")
        return LastRound(passing, chance, most)

    def _judge(self, state: PartialPath, todo: _Judge) -> None:
        """The test after a round that is to be the last one: where it does not hold, nothing is released."""
        kept = self._evaluation(state).truth(todo.rounds.test)
        if todo.law is None:
            if not kept:
                raise _Dropped
        else:
            state.chosen = (*state.chosen, replace(todo.law, kept=kept))
            if not kept:
                state.frame.variables[todo.statement.name] = symbolic.SymbolicRelease(())
        state.todo = todo.rest

    def _argument(self, state: PartialPath, evaluation: Evaluation, expr: nodes.Expr) -> Any:
        if isinstance(expr, nodes.Gather) and expr.function == nodes.LISTING:
            return evaluation.listed(expr)
        if isinstance(expr, nodes.Name):
            whole = state.frame.inputs.get(expr.ident)
            if isinstance(whole, tuple):
                return whole
        return evaluation.forced(evaluation.value(expr))

    # --- what is released -----------------------------------------------------------------------------------

    def _emit(self, state: PartialPath, statement: nodes.Emit) -> bool:
        """Whether all records of a prefix are there, so that the event has happened."""
        evaluation = self._evaluation(state)
        inside = state.frame.mechanism is not self._mechanism
        if inside or not isinstance(self._event, CompleteOutput):
            self._collect(state, statement, evaluation, inside)
            return False
        records = self._event.records
        if state.out >= len(records) or records[state.out].tag != statement.tag:
            # It may still raise here, which is none of the event either.
            raise _Dropped
        wanted = dict(records[state.out].fields)
        for part in statement.fields:
            constraint = wanted.pop(part.name, None)
            if constraint is None and not self._forced:
                evaluation.defined(part.value)
            elif constraint is not None:
                _require(state, evaluation, evaluation.value(part.value), constraint)
        if wanted:
            raise NotComputable(f"`{statement.tag}` has no field `{next(iter(wanted))}`", statement.span)
        if self._forced:
            self._collect(state, statement, evaluation, inside)
        state.out += 1
        return state.out == len(records) and not self._event.complete

    def _collect(
        self, state: PartialPath, statement: nodes.Emit, evaluation: Evaluation, inside: bool
    ) -> None:
        if isinstance(self._event, Raises) and not inside:
            for part in statement.fields:
                evaluation.defined(part.value)
            return
        fields = []
        forced = self._forced and not inside
        for part in statement.fields:
            value = evaluation.value(part.value) if forced or inside else evaluation.defined(part.value)
            if forced or isinstance(value, symbolic.Rank) or _is_index(value):
                value = evaluation.forced(value)
            fields.append((part.name, value))
        record = symbolic.ReturnedRecord(statement.tag, tuple(fields))
        if inside:
            state.frame.records = (*state.frame.records, record)
        else:
            state.released = (*state.released, record)


def _is_index(value: Any) -> bool:
    return isinstance(value, symbolic.Deferred) and value.expression.function.startswith("arg")


def _internal(value: Input | int) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_internal, value))
    return value if isinstance(value, bool) else irrationals.of_exact(value)


def _left(todo: _Todo) -> _Todo:
    """What comes after the innermost loop."""
    while isinstance(todo, _Block):
        todo = todo.rest
    if not isinstance(todo, _Rounds | _While):
        raise InternalError("only loops are left by `break`")
    return todo.rest


def _rate(family: Family, args: list[Any]) -> Any:
    """1/α, where the arguments are legal."""
    if any(sign(argument) <= 0 for argument in args):
        raise Faulted
    match family.row.slope:
        case Slope.SCALE | Slope.SIGMA:
            return 1 / args[0]
        case Slope.CHANCE:
            if sign(args[0] - 1) >= 0:
                raise Faulted
            return -irrationals.apply("ln", 1 - args[0])
        case Slope.STAIRS:
            if sign(args[2] - 1) >= 0:
                raise Faulted
            return 1 / args[1]
        case Slope.ODDS:
            raise InternalError("a coin has no rate")


def _left_out(state: PartialPath, expr: nodes.Gather) -> int | None:
    """How many indices at most a filter leaves out, where it leaves out what a selection holds."""
    where, index = expr.where, nodes.Name(expr.index)
    if isinstance(where, nodes.Unary) and where.op == "not":
        member = where.operand
        if isinstance(member, nodes.Member) and member.index == index:
            held = state.frame.variables.get(member.selection)
            return held.limit if isinstance(held, symbolic.SymbolicSelection) else None
    elif isinstance(where, nodes.Compare) and where.op == "!=" and where.left == index:
        other = where.right
        if isinstance(other, nodes.Name) and isinstance(
            state.frame.variables.get(other.ident), symbolic.Rank
        ):
            return 1
    return None


def _never_empty(state: PartialPath, evaluation: Evaluation, expr: nodes.Gather) -> bool:
    """Whether a set that leaves out the entries of a selection holds an index whatever these are, and the
    value of its body is defined at every index.
    """
    out = _left_out(state, expr)
    if out is None:
        return False
    count = 0
    try:
        for _ in evaluation.bindings(expr):
            evaluation.defined(expr.body)
            count += 1
    except (Fork, Faulted):
        return False
    return count > out


# --- what an event asks -------------------------------------------------------------------------------------


def _require(state: PartialPath, evaluation: Evaluation, value: Any, constraint: Constraint) -> None:
    """Restricts the state to where a released value is as the event wants it."""
    if (
        isinstance(constraint, Exactly)
        and isinstance(value, symbolic.Rank)
        and not isinstance(constraint.value, bool)
    ):
        _require_index(state, evaluation, value, constraint.value)
        return
    value = evaluation.forced(value)
    match constraint:
        case Exactly(value=wanted):
            if isinstance(value, bool) or isinstance(wanted, bool):
                if value is not wanted:
                    raise _Dropped
                return
            number = _internal(wanted)
            if isinstance(value, symbolic.Affine):
                found = state.known.point(symbolic.minus(value, number))
                if found is None or not state.known.narrow(found[0], found[1], found[1]):
                    raise _Dropped
            else:
                _require_order(state, value, ">=", number)
                _require_order(state, value, "<=", number)
        case Between(low=low, high=high):
            if isinstance(value, bool):
                raise _Dropped
            if low is not None:
                _require_order(state, value, ">=", _internal(low))
            if high is not None:
                _require_order(state, value, "<=", _internal(high))


def _require_index(
    state: PartialPath, evaluation: Evaluation, rank: symbolic.Rank, wanted: int | Fraction | Irrational
) -> None:
    entries = state.pick_of(rank.selection).entries
    if len(entries) < rank.place:
        evaluation.resolved(symbolic.Rank(rank.selection, rank.place - 1))
    if len(entries) > rank.place:
        if entries[rank.place] != wanted:
            raise _Dropped
        return
    found = [c.index for c in rank.selection.candidates if c.index == wanted and c.index not in entries]
    if not found:
        raise _Dropped
    state.assume(Pick(rank.selection, found[0]))


def _require_order(
    state: PartialPath, value: symbolic.Linear | symbolic.Shaped, op: str, bound: Real
) -> None:
    found = condition(value, op, bound)
    if isinstance(found, bool):
        if not found:
            raise _Dropped
        return
    inner, order = found
    if not isinstance(inner, symbolic.Affine):
        if not symbolic.holds(inner, order):
            raise _Dropped
        return
    form, (low, high) = state.known.half(inner, order)
    if not state.known.narrow(form, low, high):
        raise _Dropped


# --- the end of a way ---------------------------------------------------------------------------------------


def _finished(state: PartialPath, raised: bool) -> SymbolicPath | None:
    """The way, selections turned into intervals. Raises `Fork` where a selection has to be settled."""
    for key, selection in state.selections.items():
        picked = state.picked.get(key)
        if picked is not None and picked.length is not None and len(picked.entries) < picked.length:
            left = [c.index for c in selection.candidates if c.index not in picked.entries]
            raise Fork([Pick(selection, index) for index in left])
    known = state.known.copy()
    found = [
        edge
        for key, selection in state.selections.items()
        if key in state.picked
        for edge in edges(selection, state.picked[key].entries, state.picked[key].length)
    ]
    open_ = []
    for edge in found:
        difference = symbolic.minus(edge.above, edge.below)
        if isinstance(difference, symbolic.Affine):
            open_.append(edge)
        elif sign(difference) < 0 or (edge.strict and sign(difference) == 0):
            return None
    for edge in reduced(open_, known):
        form, (low, high) = known.half(symbolic.minus(edge.above, edge.below), ">" if edge.strict else ">=")
        if not known.narrow(form, low, high):
            return None
    return SymbolicPath(tuple(known.noises), known.intervals, state.chosen, state.released, raised)
