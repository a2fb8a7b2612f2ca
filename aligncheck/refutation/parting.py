"""Databases on which the two runs part as often as possible, asked of Z3.

Noise is kept as small as can be: it is 0 in both runs. Whole-number parameters and sizes are as chosen;
places (thresholds) and, unless they are given, the answers on D and D' are left to the solver, within small
bounds. Each test of the
program, in each round, and each selection that comes out differently on D and D' is a soft constraint
(Ding's dissertation, section 4.3.4). What comes back is a candidate like any other: `legal` has the last
word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, assert_never

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import (
    Mechanism,
    Sort,
)
from aligncheck.meaning.choices import constants_of
from aligncheck.meaning.interpreter import Inputs, Stopped
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.databases import Spot, answer, grain, legal, spots_of, step_at, with_answer

_BOUND = 6
"""Answers and places lie within so many steps of 0, or of the largest number in a test of the program."""
_ROUNDS = 8
_ROUNDS_FOR = 16
_MILLISECONDS = 300
_SOLVER_STEPS = 200_000
"""What bounds the solver: the clock, or where only steps are counted its own count of them."""


class _NotFollowed(Exception):  # noqa: N818 - it is an answer
    """The program has something that is not followed here."""


def parting_pair(mechanism: Mechanism, start: Scenario, *, timed: bool = True) -> Scenario | None:
    """A legal pair with the lengths and the whole numbers of `start`, or None where none is found in time; if
    not `timed`, in so many steps of the solver.
    """
    import z3

    try:
        asked = _PartingQuestion(mechanism, start)
        solver = z3.Optimize()
        if timed:
            solver.set("timeout", _MILLISECONDS)
        else:
            solver.set("rlimit", _SOLVER_STEPS)
        solver.add(*asked.hard)
        for apart in asked.apart():
            solver.add_soft(apart, 1)
        for plain in asked.plain:
            solver.add_soft(plain, "1/20")
        if solver.check() != z3.sat:
            return None
        found = asked.scenario(solver.model())
    except (_NotFollowed, Stopped, z3.Z3Exception):
        return None
    return found if found.data != found.data_prime and legal(mechanism, found) else None


def parting_places(
    mechanism: Mechanism, start: Scenario, settled: Collection[str]
) -> tuple[Inputs, int] | None:
    """The parameters of `start` with other places, but for `settled` ones, so that the runs on its D and D'
    part as often as possible; and how often. None where the program is not followed.

    Source: dissertation, Algorithm 4 (the arguments that affect no noise).
    """
    import z3

    try:
        asked = _PartingQuestion(mechanism, start, settled=settled, given=True)
        solver = z3.Optimize()
        solver.set("rlimit", _SOLVER_STEPS)
        solver.add(*asked.hard)
        apart = list(asked.apart())
        for each in apart:
            solver.add_soft(each, 1)
        for plain in asked.plain:
            solver.add_soft(plain, "1/20")
        if solver.check() != z3.sat:
            return None
        model = solver.model()
        parted = sum(z3.is_true(model.eval(z3.And(each, True), model_completion=True)) for each in apart)
        return asked.scenario(model).parameters, parted
    except (_NotFollowed, Stopped, z3.Z3Exception):
        return None


@dataclass(slots=True)
class _Run:
    """One run with all noise 0: what the variables hold, and how each test came out, and when."""

    inputs: dict[str, Any]
    variables: dict[str, Any] = field(default_factory=dict)
    drawn: set[str] = field(default_factory=set)
    bound: dict[str, Any] = field(default_factory=dict)
    tests: dict[object, tuple[Any, Any]] = field(default_factory=dict)
    rounds: tuple[int, ...] = ()


class _PartingQuestion:
    """The unknowns, what they must satisfy (`hard`), and what makes them easy to read (`plain`). Parameters
    that are `settled` are known; so are the answers if they are `given`.
    """

    def __init__(
        self, mechanism: Mechanism, start: Scenario, *, settled: Collection[str] = (), given: bool = False
    ) -> None:
        import z3

        self._z3 = z3
        self._mechanism = mechanism
        self._start = start
        self.hard: list[Any] = []
        self.plain: list[Any] = []
        held = [value for _, value in start.parameters if isinstance(value, Fraction)]
        self._spots = spots_of(mechanism, start.data)
        databases = (start.data, start.data_prime)
        known = [answer(data, spot) for data in databases for spot in self._spots] if given else []
        self._far = max(map(_size, (*constants_of(mechanism), *held, *known)), default=Fraction(0))
        self._places = self._open_places(settled)
        self._sides: list[dict[tuple[str, int | None], Any]] = [
            {
                (spot.name, spot.index): answer(data, spot) if given else self._answer(spot, mark)
                for spot in self._spots
            }
            for data, mark in zip(databases, ("", "'"), strict=True)
        ]
        if not given:
            self._adjacent()
        public = {**dict(start.parameters), **self._places}
        self._runs = [_Run({**public, **self._lists(side)}) for side in self._sides]
        for run in self._runs:
            _Executor(z3, run).block(mechanism.body, True)

    def _open_places(self, settled: Collection[str]) -> dict[str, Any]:
        """Real parameters without a range that are not `settled`."""
        found: dict[str, Any] = {}
        for item in self._mechanism.inputs:
            if not isinstance(item, nodes.Parameter) or item.name in settled:
                continue
            if item.sort is Sort.REAL and item.where is None:
                found[item.name] = self._z3.Real(item.name)
                bound = str(_BOUND + self._far)
                self.hard += [found[item.name] >= f"-{bound}", found[item.name] <= bound]
                self.plain.append(found[item.name] == 0)
        return found

    def _answer(self, spot: Spot, mark: str) -> Any:
        """An unknown answer: a whole number of half steps, or of steps of its lattice."""
        z3 = self._z3
        count = z3.Int(f"{spot.name}{mark}[{spot.index}]")
        unit = self._unit(spot)
        bound = 2 * _BOUND + math.ceil(self._far / unit)
        self.hard += [count >= -bound, count <= bound]
        if not mark:
            self.plain.append(count == 0)
        return z3.ToReal(count) * z3.RealVal(str(unit))

    def _unit(self, spot: Spot) -> Fraction:
        step = step_at(spot, self._start.parameters) or Fraction(1)
        return grain(spot, self._start.parameters) or step / 2

    def _adjacent(self) -> None:
        """Necessary conditions of adjacency, group by group."""
        z3 = self._z3
        for group in dict.fromkeys(spot.group for spot in self._spots):
            own = [spot for spot in self._spots if spot.group is group]
            moves = [
                self._sides[1][spot.name, spot.index] - self._sides[0][spot.name, spot.index] for spot in own
            ]
            for spot, move in zip(own, moves, strict=True):
                bound = z3.RealVal(str(step_at(spot, self._start.parameters)))
                self.hard += [move <= bound, move >= -bound]
                self.plain.append(z3.Or(move == bound, move == -bound))
            ups, downs = (z3.Sum([z3.If(test(move), 1, 0) for move in moves]) for test in (_above, _below))
            counts = {0: ups + downs, 1: ups, -1: downs}
            if group.adjacency.together:
                self.hard.append(counts[0] <= 1)
            if group.adjacency.one_way:
                self.hard.append(z3.Or(ups == 0, downs == 0))
            self.hard += [counts[sign] <= most for sign, most in group.adjacency.limits]

    def _lists(self, side: Mapping[tuple[str, int | None], Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in self._start.data:
            if isinstance(value, tuple):
                found[name] = tuple(side[name, index] for index in range(len(value)))
            else:
                found[name] = side[name, None]
        return found

    def apart(self) -> Iterator[Any]:
        """For each test and selection that both runs may come to: that it comes out differently."""
        left, right = (run.tests for run in self._runs)
        for key, (guard, result) in left.items():
            if key in right:
                other_guard, other = right[key]
                yield self._z3.And(guard, other_guard, result != other)

    def scenario(self, model: Any) -> Scenario:
        """The pair that a model stands for."""

        def number(term: Any) -> Fraction:
            if isinstance(term, Fraction):
                return term
            value = model.eval(term, model_completion=True)
            return Fraction(int(value.numerator_as_long()), int(value.denominator_as_long()))

        parameters: Inputs = tuple(
            (name, number(self._places[name]) if name in self._places else value)
            for name, value in self._start.parameters
        )
        databases = []
        for side in self._sides:
            data = self._start.data
            for spot in self._spots:
                data = with_answer(data, spot, number(side[spot.name, spot.index]))
            databases.append(data)
        return Scenario(parameters, databases[0], databases[1])


def _size(value: Any) -> Fraction:
    return abs(value) if isinstance(value, Fraction) else Fraction(0)


def _above(move: Any) -> Any:
    return move > 0


def _below(move: Any) -> Any:
    return move < 0


class _Executor:
    """Follows a program with values that are numbers, truth values or terms; both ways of a test merge."""

    def __init__(self, z3: Any, run: _Run) -> None:
        self._z3 = z3
        self._run = run

    def block(self, body: Sequence[nodes.Stmt], guard: Any) -> Any:
        """The condition under which the block ends in a `break`."""
        broken: Any = False
        for statement in body:
            here = self._and(guard, self._not(broken))
            broken = self._or(broken, self._and(here, self._statement(statement, here)))
        return broken

    def _statement(self, statement: nodes.Stmt, guard: Any) -> Any:
        match statement:
            case nodes.Assign(name=name, value=value):
                self._assign(name, self._value(value, guard), guard)
            case nodes.Sample(name=name, index=None):
                self._run.variables[name] = Fraction(0)
            case nodes.Sample(name=name):
                self._run.drawn.add(name)
            case nodes.If():
                return self._if(statement, guard)
            case nodes.For():
                self._for(statement, guard)
            case nodes.While():
                self._while(statement, guard)
            case nodes.Break():
                return True
            case nodes.Emit(fields=fields):
                for part in fields:
                    self._value(part.value, guard)
            case nodes.Pass():
                pass
            case nodes.Invoke() | nodes.Choose() | nodes.Logistic():
                raise _NotFollowed
        return False

    def _assign(self, name: str, value: Any, guard: Any) -> None:
        held = self._run.variables.get(name)
        merged = guard is not True and held is not None and not isinstance(value, list)
        self._run.variables[name] = self._either(guard, value, held) if merged else value

    def _if(self, statement: nodes.If, guard: Any) -> Any:
        left: Any = False
        rest = guard
        for branch in statement.branches:
            test = self._tested(branch.test, rest)
            left = self._or(left, self.block(branch.body, self._and(rest, test)))
            rest = self._and(rest, self._not(test))
        return self._or(left, self.block(statement.otherwise, rest))

    def _tested(self, test: nodes.Expr, guard: Any) -> Any:
        result = self._value(test, guard)
        self._run.tests[test.span, self._run.rounds] = (guard, result)
        return result

    def _for(self, statement: nodes.For, guard: Any) -> None:
        match statement.over:
            case nodes.OverQueries(base=base):
                item: str | None = statement.over.item
                rounds = list(enumerate(self._run.inputs[base][:_ROUNDS_FOR]))
            case nodes.OverRange(low=low, high=high):
                item = None
                indices = range(self._whole(low, guard), self._whole(high, guard))
                rounds = [(i, None) for i in indices[:_ROUNDS_FOR]]  # there may be a billion
            case _:
                assert_never(statement.over)
        outer = self._run.rounds
        for number, entry in rounds:
            self._run.rounds = (*outer, number)
            if statement.index is not None:
                self._run.variables[statement.index] = Fraction(number)
            if item is not None:
                self._run.variables[item] = entry
            guard = self._and(guard, self._not(self.block(statement.body, guard)))
        self._run.rounds = outer

    def _while(self, statement: nodes.While, guard: Any) -> None:
        outer = self._run.rounds
        for number in range(_ROUNDS):
            self._run.rounds = (*outer, number)
            guard = self._and(guard, self._tested(statement.test, guard))
            if guard is False:
                break
            guard = self._and(guard, self._not(self.block(statement.body, guard)))
        self._run.rounds = outer

    # --- expressions ---

    def _value(self, expr: nodes.Expr, guard: Any) -> Any:
        match expr:
            case nodes.Number(value=value) | nodes.Boolean(value=value):
                return value
            case nodes.Name(ident=name):
                return self._named(name)
            case nodes.Index(base=base, index=index):
                return self._entry(base, self._value(index, guard))
            case nodes.Unary(op="not", operand=operand):
                return self._not(self._value(operand, guard))
            case nodes.Unary(operand=operand):
                return self._number(self._value(operand, guard), lambda value: -value)
            case nodes.Binary():
                return self._arithmetic(expr, guard)
            case nodes.Compare(op=op, left=left, right=right):
                return _COMPARE[op](*self._both(self._value(left, guard), self._value(right, guard)))
            case nodes.Logic(op=op, args=args):
                result: Any = op == "and"
                for arg in args:
                    value = self._value(arg, guard)
                    result = self._and(result, value) if op == "and" else self._or(result, value)
                return result
            case nodes.Conditional(test=test, then=then, otherwise=otherwise):
                return self._either(
                    self._value(test, guard), self._value(then, guard), self._value(otherwise, guard)
                )
            case nodes.Call(function=function, args=args):
                return self._called(function, args, guard)
            case nodes.Gather():
                return self._gathered(expr, guard)
            case nodes.Member() | nodes.OfOutput():
                raise _NotFollowed

    def _named(self, name: str) -> Any:
        for held in (self._run.bound, self._run.variables, self._run.inputs):
            if name in held:
                return held[name]
        raise _NotFollowed

    def _entry(self, base: str, index: Any) -> Any:
        if base in self._run.drawn:
            return Fraction(0)
        entries = self._run.variables.get(base, self._run.inputs.get(base))
        if not isinstance(entries, list | tuple) or not entries:
            raise _NotFollowed
        if isinstance(index, Fraction | int):
            if not 0 <= index < len(entries):
                raise _NotFollowed
            return entries[int(index)]
        chosen = entries[-1]
        for number in range(len(entries) - 1):
            chosen = self._either(index == number, entries[number], chosen)
        return chosen

    def _arithmetic(self, expr: nodes.Binary, guard: Any) -> Any:
        left, right = self._value(expr.left, guard), self._value(expr.right, guard)
        fixed = isinstance(left, Fraction) and isinstance(right, Fraction)
        match expr.op:
            case "+" | "-" | "*":
                left, right = self._both(left, right)
                return left + right if expr.op == "+" else left - right if expr.op == "-" else left * right
            case "/" if isinstance(right, Fraction) and right:
                return self._number(left, lambda value: value * self._lifted(1 / right, value))
            case "%" if fixed and right:
                return left % right
            case "**" if isinstance(right, Fraction) and right.denominator == 1 and right >= 0:
                result: Any = Fraction(1)
                for _ in range(int(right)):
                    result = self._both(result, left)[0] * self._both(result, left)[1]
                return result
            case _:
                raise _NotFollowed

    def _called(self, function: str, args: Sequence[nodes.Expr], guard: Any) -> Any:
        if function == "len" and isinstance(args[0], nodes.Name):
            entries = self._named(args[0].ident)
            return Fraction(len(entries))
        values = [self._value(arg, guard) for arg in args]
        match function:
            case "abs":
                return self._either(self._less(values[0], Fraction(0)), self._negated(values[0]), values[0])
            case "max" | "min":
                return self._extreme(function, values)
            case "clip":
                return self._extreme("max", [self._extreme("min", [values[0], values[2]]), values[1]])
            case _ if all(isinstance(value, Fraction) for value in values):
                return _scalar(function, values)
            case _:
                raise _NotFollowed

    def _extreme(self, function: str, values: Sequence[Any]) -> Any:
        best = values[0]
        for value in values[1:]:
            further = self._less(best, value) if function == "max" else self._less(value, best)
            best = self._either(further, value, best)
        return best

    def _gathered(self, expr: nodes.Gather, guard: Any) -> Any:
        indices, values, allowed = self._at_indices(expr, guard)
        match expr.function:
            case "sum":
                total: Any = Fraction(0)
                for value, there in zip(values, allowed, strict=True):
                    pair = self._both(total, self._either(there, value, Fraction(0)))
                    total = pair[0] + pair[1]
                return total
            case "max" | "min":
                place = self._best(expr.function, values, allowed)
                return self._picked(place, values)
            case "argmax" | "argmin":
                place = self._best(expr.function[3:], values, allowed)
                winner = self._picked(place, [Fraction(index) for index in indices])
                self._run.tests[expr.span, self._run.rounds] = (guard, self._lifted_whole(winner))
                return winner
            case "top" | "upto" if expr.count is not None:
                found = []
                for rank in range(min(self._whole(expr.count, guard), len(values))):
                    place = self._best("max", values, allowed)
                    winner = self._picked(place, [Fraction(index) for index in indices])
                    key = (expr.span, (*self._run.rounds, rank))
                    self._run.tests[key] = (guard, self._lifted_whole(winner))
                    found.append(winner)
                    allowed = [
                        self._and(there, self._not(self._equal(place, number)))
                        for number, there in enumerate(allowed)
                    ]
                return found
            case _:
                raise _NotFollowed

    def _at_indices(self, expr: nodes.Gather, guard: Any) -> tuple[list[int], list[Any], list[Any]]:
        match expr.over:
            case nodes.Indices(base=base):
                indices = list(range(len(self._named(base))))
            case nodes.OverRange(low=low, high=high):
                indices = list(range(self._whole(low, guard), self._whole(high, guard)))
            case _:
                assert_never(expr.over)
        if not indices:
            raise _NotFollowed
        outer = dict(self._run.bound)
        values, allowed = [], []
        for index in indices:
            self._run.bound[expr.index] = Fraction(index)
            values.append(self._value(expr.body, guard))
            allowed.append(True if expr.where is None else self._value(expr.where, guard))
        self._run.bound = outer
        return indices, values, allowed

    def _best(self, function: str, values: Sequence[Any], allowed: Sequence[Any]) -> Any:
        """The place of the extreme among those allowed; 0 where none is."""
        place: Any = Fraction(0)
        best, found = values[0], allowed[0]
        for number in range(1, len(values)):
            pair = (best, values[number]) if function == "max" else (values[number], best)
            further = self._less(*pair)
            take = self._and(allowed[number], self._or(self._not(found), further))
            place = self._either(take, Fraction(number), place)
            best = self._either(take, values[number], best)
            found = self._or(found, allowed[number])
        return place

    def _picked(self, place: Any, values: Sequence[Any]) -> Any:
        chosen = values[-1]
        for number in range(len(values) - 1):
            chosen = self._either(self._equal(place, number), values[number], chosen)
        return chosen

    # --- values that may be terms ---

    def _whole(self, expr: nodes.Expr, guard: Any) -> int:
        value = self._value(expr, guard)
        if not isinstance(value, Fraction) or value.denominator != 1:
            raise _NotFollowed
        return int(value)

    def _lifted(self, value: Any, like: Any) -> Any:
        if isinstance(value, Fraction) and not isinstance(like, Fraction):
            return self._z3.RealVal(str(value))
        return value

    def _lifted_whole(self, value: Any) -> Any:
        return self._z3.RealVal(str(value)) if isinstance(value, Fraction) else value

    def _both(self, left: Any, right: Any) -> tuple[Any, Any]:
        for value in (left, right):
            if isinstance(value, bool | list | tuple):
                if isinstance(left, bool) and isinstance(right, bool):
                    break
                if isinstance(value, list | tuple):
                    raise _NotFollowed
        return self._lifted(left, right), self._lifted(right, left)

    def _number(self, value: Any, change: Callable[[Any], Any]) -> Any:
        return change(value)

    def _negated(self, value: Any) -> Any:
        return -value

    def _less(self, left: Any, right: Any) -> Any:
        one, other = self._both(left, right)
        return one < other

    def _equal(self, left: Any, right: int) -> Any:
        if isinstance(left, Fraction):
            return left == right
        return left == self._z3.RealVal(right)

    def _either(self, test: Any, then: Any, otherwise: Any) -> Any:
        if isinstance(test, bool):
            return then if test else otherwise
        if isinstance(then, bool) or isinstance(otherwise, bool):
            return self._z3.If(test, then, otherwise)
        if isinstance(then, list | tuple) or isinstance(otherwise, list | tuple):
            raise _NotFollowed
        return self._z3.If(test, self._lifted_whole(then), self._lifted_whole(otherwise))

    def _and(self, left: Any, right: Any) -> Any:
        if left is True or right is False:
            return right
        if right is True or left is False:
            return left
        return self._z3.And(left, right)

    def _or(self, left: Any, right: Any) -> Any:
        if left is False or right is True:
            return right
        if right is False or left is True:
            return left
        return self._z3.Or(left, right)

    def _not(self, value: Any) -> Any:
        return not value if isinstance(value, bool) else self._z3.Not(value)


def _scalar(function: str, values: Sequence[Fraction]) -> Fraction:
    """A function of numbers, about: where its result decides, the pair is only a guess anyway."""
    import math

    close = {
        "floor": lambda x: math.floor(x),
        "sqrt": math.sqrt,
        "exp": math.exp,
        "ln": math.log,
        "log2": math.log2,
    }
    try:
        return Fraction(close[function](values[0])).limit_denominator(4096)
    except (ValueError, OverflowError, KeyError):
        raise _NotFollowed from None


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
