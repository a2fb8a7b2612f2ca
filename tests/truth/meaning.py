"""What a spec's program does, once more: an evaluator of its own, over ranges of noise.

It shares the syntax tree with the checker, and nothing else. Expressions and statements become Python
functions once for each mechanism; a run then takes the noise as cells (see `masses`) and either comes to an
end that is the same for all noise in these cells, or raises `Unsettled`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from math import floor as whole_below
from typing import Any, TypeAlias

from flint import arb
from intervals import (
    Number,
    Quantity,
    Unsettled,
    absolute,
    add,
    floor,
    greatest,
    holds,
    least,
    multiply,
    negative,
    settled,
    subtract,
)
from masses import Ball, Cell, Law, Shape, ball, law_at, law_of, law_on_stairs

from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.walk import names_in, statements_in

Key: TypeAlias = tuple[str, ...]
"""A draw: the calls around it, its name, its index."""
Record: TypeAlias = tuple[str, tuple[tuple[str, Any], ...]]
Inputs: TypeAlias = Mapping[str, Any]
"""Numbers, truth values, and tuples of them."""
WIDTH = Fraction(1, 4)
"""Of the cells of continuous noise."""
MOST_STEPS = 400


class Undefined(Exception):  # noqa: N818 - it ends a run
    """An operation has no value, or a draw no meaning."""


class Unsupported(Exception):  # noqa: N818 - nothing is wrong with it
    """Nothing is computed for this: densities with numbers, public functions, roots."""


class _Break(Exception):  # noqa: N818
    pass


@dataclass(frozen=True, slots=True)
class Weights:
    """The law of `Choose`, and of a coin: how likely each index is beside the others."""

    parts: tuple[tuple[int, Ball], ...]

    def share(self, index: int) -> Ball:
        """Its probability."""
        return dict(self.parts)[index] / sum((weight for _, weight in self.parts), arb(0))


@dataclass(slots=True)
class Machine:
    """One run: its noise by cells, and what was drawn so far and in which order. `known` are laws that depend
    on inputs alone, which runs on the same inputs share.
    """

    cells: Mapping[Key, Cell]
    known: dict[Span, Law] = field(default_factory=dict)
    laws: dict[Key, Law | Weights] = field(default_factory=dict)
    bits: dict[Key, int] = field(default_factory=dict)
    steps: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Unsupported("so many steps")

    def draw(self, key: Key, law: Law) -> Quantity:
        if key in self.laws:
            raise Undefined(f"{key} is drawn twice")
        bit = self.bits[key] = 1 << len(self.bits)
        self.laws[key] = law
        return law.range_of(self.cells.get(key, law.shape.whole), bit)

    def choose(self, key: Key, weights: Weights) -> int:
        bit = self.bits[key] = 1 << len(self.bits)
        self.laws[key] = weights
        cell = self.cells.get(key)
        if cell is None:
            raise Unsettled(bit)
        return int(cell[0])


@dataclass(slots=True)
class Frame:
    """What names mean: inputs, variables, indices, selections and what calls released; and the draws."""

    machine: Machine
    around: Key
    names: dict[str, Any]
    draws: dict[tuple[str, int], Quantity] = field(default_factory=dict)
    output: list[Record] = field(default_factory=list)


Valued: TypeAlias = Callable[[Frame], Any]
Done: TypeAlias = Callable[[Frame], None]


class Program:
    """A mechanism that can be run. Raises `Unsupported`."""

    def __init__(self, mechanism: n.Mechanism) -> None:
        self.mechanism = mechanism
        self._inputs = {
            name for d in mechanism.inputs for name in (d.names if isinstance(d, n.Queries) else (d.name,))
        }
        self._noise = {s.name for s in statements_in(mechanism.body) if isinstance(s, n.Sample)}
        self._callees = {
            use.name: Program(contract_of(use).mechanism) for use in mechanism.uses if use.contract
        }
        self._body = self._block(mechanism.body)

    def run(self, inputs: Inputs, machine: Machine, around: Key = ()) -> Frame:
        """Raises `Unsettled`, `Undefined`, `Unsupported`; the frame of an unsettled run is its argument."""
        frame = Frame(machine, around, dict(inputs))
        try:
            self._body(frame)
        except Unsettled as unsettled:
            unsettled.args = (tuple(frame.output),)
            raise
        return frame

    def truth(self, expr: n.Expr, inputs: Inputs) -> bool:
        """Of a clause."""
        return bool(self._expr(expr)(Frame(Machine({}), (), dict(inputs))))

    def number(self, expr: n.Expr, inputs: Inputs) -> Fraction:
        """Of a declaration."""
        return Fraction(settled(self._expr(expr)(Frame(Machine({}), (), dict(inputs)))))

    # --- statements ---------------------------------------------------------------------------------------

    def _block(self, body: tuple[n.Stmt, ...]) -> Done:
        parts = [self._statement(s) for s in body]

        def run(frame: Frame) -> None:
            for part in parts:
                part(frame)

        return run

    def _statement(self, s: n.Stmt) -> Done:
        match s:
            case n.Assign():
                value = self._expr(s.value)

                def assign(frame: Frame) -> None:
                    frame.machine.step()
                    frame.names[s.name] = value(frame)

                return assign
            case n.Sample():
                return self._sample(s)
            case n.Choose():
                return self._choose(s)
            case n.If():
                return self._if(s)
            case n.For():
                return self._for(s)
            case n.While():
                test, body = self._expr(s.test), self._block(s.body)

                def loop(frame: Frame) -> None:
                    try:
                        while test(frame):
                            frame.machine.step()
                            body(frame)
                    except _Break:
                        pass

                return loop
            case n.Emit():
                fields = [(f.name, self._expr(f.value)) for f in s.fields]

                def emit(frame: Frame) -> None:
                    frame.output.append((s.tag, tuple((name, value(frame)) for name, value in fields)))

                return emit
            case n.Invoke():
                return self._invoke(s)
            case n.Break():

                def leave(frame: Frame) -> None:
                    raise _Break

                return leave
            case n.Pass():
                return lambda frame: None
            case n.Logistic():
                return self._located(s)

    def _located(self, s: n.Logistic) -> Done:
        ends = [None if e is None else self._expr(e) for e in (s.location, s.scale, s.low)]

        def draw(frame: Frame) -> None:
            location, scale, low = (None if e is None else Fraction(settled(e(frame))) for e in ends)
            if scale is None or scale <= 0:
                raise Undefined("a scale that is not positive")
            law = law_at(location or Fraction(0), scale, low, WIDTH)
            frame.names[s.name] = frame.machine.draw((*frame.around, s.name), law)

        return draw

    def _sample(self, s: n.Sample) -> Done:
        coin = s.family is n.Family.BERNOULLI
        chance = self._expr(s.args[0]) if coin else None
        law = None if coin else self._law(s)
        index = None if s.index is None else self._expr(s.index)

        def sample(frame: Frame) -> None:
            at = None if index is None else _whole(index(frame))
            key = (*frame.around, s.name) if at is None else (*frame.around, s.name, str(at))
            value: Quantity
            if law is not None:
                value = frame.machine.draw(key, law(frame))
            elif chance is not None:
                value = _tossed(frame.machine, key, Fraction(settled(chance(frame))))
            if at is None:
                frame.names[s.name] = value
            else:
                frame.draws[s.name, at] = value

        return sample

    def _law(self, s: n.Sample) -> Callable[[Frame], Law]:
        if s.family is n.Family.GEOMETRIC:
            match s.args[0]:
                case n.Binary(
                    "-",
                    n.Number(value=Fraction(numerator=1, denominator=1)),
                    n.Call("exp", (n.Unary("-", power),)),
                ):
                    rate = self._expr(power)
                    return lambda frame: law_of(Shape.LATTICE_FROM_ZERO, 1 / _positive(rate(frame)), 1)
                case _:
                    raise Unsupported("a probability that is no exponential")
        shapes = {
            n.Family.LAPLACE: Shape.LINE,
            n.Family.EXPONENTIAL: Shape.LINE_FROM_ZERO,
            n.Family.LOGISTIC: Shape.LOGISTIC,
            n.Family.DISCRETE_LAPLACE: Shape.LATTICE,
            n.Family.DISCRETE_EXPONENTIAL: Shape.LATTICE_FROM_ZERO,
            n.Family.GUMBEL: Shape.GUMBEL,
            n.Family.GAUSSIAN: Shape.GAUSS,
            n.Family.DISCRETE_GAUSSIAN: Shape.GAUSS_LATTICE,
        }
        if s.family is n.Family.STAIRCASE:
            each = [self._expr(arg) for arg in s.args]
            return lambda frame: law_on_stairs(*(_plain(_positive(e(frame))) for e in each), WIDTH)
        if s.family not in shapes:
            raise Unsupported("noise without such a shape")
        shape = shapes[s.family]
        scale = self._expr(s.args[0])
        step = self._expr(s.args[1]) if s.family.stepped else lambda frame: WIDTH

        fixed = all(names_in(arg) <= self._inputs for arg in s.args)

        def law(frame: Frame) -> Law:
            known = None if frame.around else frame.machine.known.get(s.span)
            if known is None:
                width = _plain(_positive(step(frame)))
                known = law_of(shape, _plain(_positive(scale(frame))), width)
                if fixed and not frame.around:
                    frame.machine.known[s.span] = known
            return known

        return law

    def _choose(self, s: n.Choose) -> Done:
        members = self._members(s.weights)
        body = s.weights.body
        power = body.args[0] if isinstance(body, n.Call) and body.function == "exp" else None
        weight = self._expr(body if power is None else power)

        def choose(frame: Frame) -> None:
            parts = []
            for j in members(frame):
                frame.names[s.weights.index] = j
                value = Fraction(settled(weight(frame)))
                if power is None and value <= 0:
                    raise Undefined("a weight that is not positive")
                parts.append((j, ball(value) if power is None else ball(value).exp()))
            if not parts:
                raise Undefined("nothing to choose from")
            frame.names[s.name] = frame.machine.choose((*frame.around, s.name), Weights(tuple(parts)))

        return choose

    def _if(self, s: n.If) -> Done:
        arms = [(self._expr(b.test), self._block(b.body)) for b in s.branches]
        otherwise = self._block(s.otherwise)

        def branch(frame: Frame) -> None:
            frame.machine.step()
            for test, body in arms:
                if test(frame):
                    return body(frame)
            return otherwise(frame)

        return branch

    def _for(self, s: n.For) -> Done:
        body = self._block(s.body)
        over = s.over
        rounds: Callable[[Frame], range]
        item: str | None = None
        match over:
            case n.OverQueries():
                base, item = over.base, over.item
                rounds = lambda frame: range(len(frame.names[base]))  # noqa: E731
            case n.OverRange():
                rounds = self._range(over)

        def loop(frame: Frame) -> None:
            try:
                for i in rounds(frame):
                    frame.machine.step()
                    if s.index is not None:
                        frame.names[s.index] = i
                    if item is not None:
                        frame.names[item] = frame.names[base][i]
                    body(frame)
            except _Break:
                pass

        return loop

    def _invoke(self, s: n.Invoke) -> Done:
        callee = self._callees[s.mechanism]
        arguments = [(a.name, self._argument(a.value)) for a in s.arguments]

        rounds = s.rounds
        test = None if rounds is None else self._expr(rounds.test)
        ends = [] if rounds is None else [self._expr(rounds.chance)]
        ends += [] if rounds is None or rounds.most is None else [self._expr(rounds.most)]

        def invoke(frame: Frame) -> None:
            inputs = {name: value(frame) for name, value in arguments}
            here = (*frame.around, s.name)
            number = sum(1 for key in frame.machine.laws if key[: len(here)] == here)
            chance, *most = (Fraction(settled(e(frame))) for e in ends) if ends else (Fraction(1),)
            if not 0 < chance <= 1 or (most and most[0] < 1):
                raise Undefined("a chance to stop, or a number of rounds")
            for place in count():
                frame.machine.step()
                inner = callee.run(inputs, frame.machine, (*here, str(number), str(place)))
                frame.names[s.name] = inner.output
                if test is None or test(frame):
                    return
                last = most and place + 1 >= most[0]
                if last or _tossed(frame.machine, (*here, str(number), str(place), "stop"), chance):
                    frame.names[s.name] = []
                    return

        return invoke

    def _argument(self, e: n.Expr) -> Valued:
        if isinstance(e, n.Gather) and e.function == n.LISTING:
            members, body = self._members(e), self._expr(e.body)

            def listed(frame: Frame) -> tuple[Any, ...]:
                values = []
                for j in members(frame):
                    frame.names[e.index] = j
                    values.append(body(frame))
                return tuple(values)

            return listed
        return self._expr(e)

    # --- expressions --------------------------------------------------------------------------------------

    def _expr(self, e: n.Expr) -> Valued:
        match e:
            case n.Number(value=value):
                number = _plain(value)
                return lambda frame: number
            case n.Boolean(value=truth):
                return lambda frame: truth
            case n.Name(primed=True) | n.Index(primed=True):
                raise Unsupported("the other run")
            case n.Name(ident=name):
                return lambda frame: frame.names[name]
            case n.Index():
                return self._entry(e)
            case n.Call():
                return self._call(e)
            case n.Unary(op="-"):
                inner = self._expr(e.operand)
                return lambda frame: negative(inner(frame))
            case n.Unary():
                inner = self._expr(e.operand)
                return lambda frame: not inner(frame)
            case n.Binary():
                return self._binary(e)
            case n.Compare():
                op, left, right = e.op, self._expr(e.left), self._expr(e.right)
                return lambda frame: holds(op, left(frame), right(frame))
            case n.Logic():
                args = [self._expr(a) for a in e.args]
                if e.op == "and":
                    return lambda frame: all(arg(frame) for arg in args)
                return lambda frame: any(arg(frame) for arg in args)
            case n.Conditional():
                test, then, otherwise = self._expr(e.test), self._expr(e.then), self._expr(e.otherwise)
                return lambda frame: then(frame) if test(frame) else otherwise(frame)
            case n.OutIs():
                place = self._expr(e.index)
                return lambda frame: _record(frame, e.of, place(frame), total=True)[0] == e.tag
            case n.OutField():
                place = self._expr(e.index)
                return lambda frame: dict(_record(frame, e.of, place(frame))[1])[e.field]
            case n.OutCount():
                return lambda frame: sum(1 for tag, _ in _records(frame, e.of) if e.tag in (None, tag))
            case n.Gather():
                return self._gather(e)
            case n.Member():
                index = self._expr(e.index)
                return lambda frame: index(frame) in frame.names[e.selection]

    def _entry(self, e: n.Index) -> Valued:
        index, base = self._expr(e.index), e.base
        if base in self._noise:

            def drawn(frame: Frame) -> Any:
                at = _whole(index(frame))
                if (base, at) not in frame.draws:
                    raise Undefined(f"{base}[{at}] is not drawn")
                return frame.draws[base, at]

            return drawn

        def entry(frame: Frame) -> Any:
            at, entries = _whole(index(frame)), frame.names[base]
            if not 0 <= at < len(entries):
                raise Undefined(f"{base}[{at}]")
            return entries[at]

        return entry

    def _call(self, e: n.Call) -> Valued:
        if e.function == "len":
            (arg,) = e.args
            assert isinstance(arg, n.Name), "of a list"
            return lambda frame: len(frame.names[arg.ident])
        args = [self._expr(a) for a in e.args]
        match e.function:
            case "abs":
                return lambda frame: absolute(args[0](frame))
            case "floor":
                return lambda frame: floor(args[0](frame))
            case "max" | "min":
                pick = greatest if e.function == "max" else least

                def most(frame: Frame) -> Quantity:
                    found: Quantity = args[0](frame)
                    for arg in args[1:]:
                        found = pick(found, arg(frame))
                    return found

                return most
            case "clip":
                return lambda frame: greatest(args[1](frame), least(args[2](frame), args[0](frame)))
            case _:
                raise Unsupported(e.function)

    def _binary(self, e: n.Binary) -> Valued:
        left, right = self._expr(e.left), self._expr(e.right)
        match e.op:
            case "+":
                return lambda frame: add(left(frame), right(frame))
            case "-":
                return lambda frame: subtract(left(frame), right(frame))
            case "*":
                return lambda frame: multiply(left(frame), right(frame))
            case "/":

                def quotient(frame: Frame) -> Quantity:
                    above, below = left(frame), settled(right(frame))
                    if below == 0:
                        raise Undefined("division by 0")
                    return multiply(above, 1 / Fraction(below))

                return quotient
            case "%":

                def rest(frame: Frame) -> Number:
                    above, below = settled(left(frame)), settled(right(frame))
                    if below == 0:
                        raise Undefined("rest by 0")
                    return above - below * whole_below(Fraction(above) / below)

                return rest
            case "**":

                def power(frame: Frame) -> Quantity:
                    base: Quantity = left(frame)
                    found: Quantity = 1
                    for _ in range(_whole(right(frame))):
                        found = multiply(found, base)
                    return found

                return power
            case _:
                raise Unsupported(e.op)

    # --- sets ---------------------------------------------------------------------------------------------

    def _range(self, over: n.OverRange) -> Callable[[Frame], range]:
        low, high = self._expr(over.low), self._expr(over.high)
        return lambda frame: range(_whole(low(frame)), _whole(high(frame)))

    def _members(self, e: n.Gather) -> Callable[[Frame], list[int]]:
        """The indices of a set; the filter sees each as the set's index."""
        match e.over:
            case n.Indices(base=base):
                every: Callable[[Frame], range] = lambda frame: range(len(frame.names[base]))  # noqa: E731
            case n.OverRange():
                every = self._range(e.over)
        where = None if e.where is None else self._expr(e.where)

        def members(frame: Frame) -> list[int]:
            found = []
            for j in every(frame):
                frame.machine.step()
                frame.names[e.index] = j
                if where is None or where(frame):
                    found.append(j)
            return found

        return members

    def _gather(self, e: n.Gather) -> Valued:
        members, body = self._members(e), self._expr(e.body)
        wanted = None if e.count is None else self._expr(e.count)

        def values(frame: Frame) -> list[tuple[int, Quantity]]:
            found = []
            for j in members(frame):
                frame.names[e.index] = j
                found.append((j, body(frame)))
            return found

        def gather(frame: Frame) -> Any:
            of = values(frame)
            if e.function == "sum":
                total: Quantity = 0
                for _, value in of:
                    total = add(total, value)
                return total
            if wanted is not None:
                return _selected(of, _whole(wanted(frame)), e.function == "top")
            if not of:
                raise Undefined("a maximum of nothing")
            return _best(e.function, of)

        return gather


def _tossed(machine: Machine, key: Key, chance: Fraction) -> int:
    """A coin, which is 1 with this chance."""
    if not 0 <= chance <= 1:
        raise Undefined("a chance below 0 or above 1")
    return 1 if chance == 1 else machine.choose(key, Weights(((1, ball(chance)), (0, ball(1 - chance)))))


def _best(function: str, of: list[tuple[int, Quantity]]) -> Quantity:
    index, best = of[0]
    for j, value in of[1:]:
        match function:
            case "max":
                best = greatest(best, value)
            case "min":
                best = least(best, value)
            case "argmax":
                if holds(">", value, best):
                    index, best = j, value
            case "argmin":
                if holds("<", value, best):
                    index, best = j, value
            case _:
                raise Unsupported(function)
    return index if function.startswith("arg") else best


def _selected(of: list[tuple[int, Quantity]], count: int, exactly: bool) -> tuple[int, ...]:
    if count < 0 or (exactly and count > len(of)):
        raise Undefined(f"the {count} greatest of {len(of)}")
    order: list[tuple[int, Quantity]] = []
    for j, value in of:
        place = 0
        while place < min(len(order), count) and not holds(">", value, order[place][1]):
            place += 1
        order.insert(place, (j, value))
    return tuple(j for j, _ in order[:count])


def _records(frame: Frame, of: str) -> list[Record]:
    if of == "out":
        return frame.output
    called: list[Record] = frame.names[of]
    return called


def _record(frame: Frame, of: str, place: Quantity, total: bool = False) -> Record:
    records, at = _records(frame, of), _whole(place)
    if 0 <= at < len(records):
        return records[at]
    if total:
        return "", ()
    raise Undefined(f"record {at} of {of}")


def _whole(x: Quantity) -> int:
    if type(x) is int:
        return x
    value = settled(x)
    if value != int(value):
        raise Undefined(f"{value} is no whole number")
    return int(value)


def _positive(x: Quantity) -> Fraction:
    value = Fraction(settled(x))
    if value <= 0:
        raise Undefined("a scale that is not positive")
    return value


def _plain(x: Fraction) -> Number:
    return x.numerator if x.denominator == 1 else x
