"""The meaning of the language, exactly: one run of a mechanism on one database with given noise.

No solver and no rounding: values are rationals, or exact irrational numbers where a root, an exponential or a
logarithm needs one. Generated code is tested against `run`, and `meaning.replay` compares two runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key
from itertools import count, pairwise
from types import MappingProxyType
from typing import NoReturn, TypeAlias, TypeVar

from aligncheck.language.conditions import Condition
from aligncheck.language.families import Family, Lattice, Moves, Slope
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import Contract, contract_of
from aligncheck.language.syntax.walk import claimed_in, names_in
from aligncheck.meaning import exact
from aligncheck.meaning.exact import ONE, Number, Undecided, Value

NoiseKey: TypeAlias = tuple[str, int | None]
"""A noise variable: its name and the index of the draw (None for scalar noise)."""
CallKey: TypeAlias = tuple[str, int]
"""One execution of a call: the name that its records get, and the execution's number, from 0."""
Input: TypeAlias = Value | tuple[Value, ...]
_V = TypeVar("_V")
Inputs: TypeAlias = tuple[tuple[str, Input], ...]
Loop: TypeAlias = tuple[tuple[str, Value], ...]
Selected: TypeAlias = tuple[int, ...]
"""What `top` and `upto` give: a list of indices, the first one first. Variables hold it; records never do."""
Function: TypeAlias = Callable[[tuple[Value, ...]], Value]
"""A public function of a spec."""
Leaf: TypeAlias = nodes.Name | nodes.Index | nodes.Gather
"""What an evaluation reads as a whole: a name, an entry, or a set (but not what the set reads inside)."""

STEP_LIMIT = 10_000


# --- what one run did -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EmittedRecord:
    """One record of the output."""

    tag: str
    fields: tuple[tuple[str, Value], ...]
    statement: nodes.Emit = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call of a mechanism released: execution `number` (from 0) of this call."""

    number: int
    records: tuple[EmittedRecord, ...]


State: TypeAlias = Value | Selected | Returned
"""What a program variable may hold."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One comparison of a test as it came out, with the exact values of both sides."""

    expression: nodes.Compare
    left: Value
    right: Value
    holds: bool


@dataclass(frozen=True, slots=True)
class DrawSite:
    """A draw that is about to happen, and its family's arguments: what a noise source is asked.

    `environment` holds the program variables as they were at the draw; shifts are evaluated in it.
    """

    name: str
    index: int | None
    family: Family
    args: tuple[Number, ...]
    span: Span
    loop: Loop
    environment: Mapping[str, State] = field(compare=False, repr=False)

    @property
    def key(self) -> NoiseKey:
        """The name and the index."""
        return self.name, self.index


@dataclass(frozen=True, slots=True)
class Draw(DrawSite):
    """A draw that was made."""

    value: Number


@dataclass(frozen=True, slots=True)
class TakenTest:
    """One `if`, `elif` or `while` test (`kind`).

    `compared` are its comparisons in the order of evaluation, but for those inside a set; `leaves` the values
    of what it read.
    """

    kind: str
    test: nodes.Expr
    holds: bool
    compared: tuple[Compared, ...]
    leaves: tuple[tuple[Leaf, State], ...]
    span: Span
    loop: Loop


@dataclass(frozen=True, slots=True)
class Assigned:
    """One assignment; `expression` is its right-hand side."""

    name: str
    value: State
    span: Span
    loop: Loop
    expression: nodes.Expr = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Emitted:
    """One record, as it was appended to the output."""

    record: EmittedRecord
    span: Span
    loop: Loop


@dataclass(frozen=True, slots=True)
class Invoked:
    """One call of a mechanism: what its inputs got, what it released, and the ε, or the ρ, that it spent.

    `rounds` are, for one that is repeated, the chance to stop, the most rounds if there is such a number, and
    whether the test holds of what the last round released; `dropped` is what the rounds released for which it
    does not hold.
    """

    name: str
    mechanism: str
    given: Inputs
    returned: Returned
    spent: Number
    span: Span
    loop: Loop
    rounds: tuple[Value, ...] = ()
    dropped: tuple[Returned, ...] = ()

    @property
    def key(self) -> CallKey:
        """The name and the number of this execution."""
        return self.name, self.returned.number


Step: TypeAlias = Draw | TakenTest | Assigned | Invoked | Emitted
"""`span` is the statement's (of a test: the test's); `loop` the index variables of the enclosing loops."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The run reached the end of the program."""


@dataclass(frozen=True, slots=True)
class StepLimit:
    """The run was cut off: nothing is known about how it goes on."""

    limit: int


@dataclass(frozen=True, slots=True)
class Fault:
    """The run stopped at something without a meaning.

    `condition` is DEFINED (an undefined operation), FRESH (a variable drawn twice), SCALES (a scale that is
    not positive) or, of aligned noise only, ACYCLIC (a draw that needs its own value).
    """

    condition: Condition
    span: Span
    reason: str


Ended: TypeAlias = Finished | StepLimit | Fault


@dataclass(frozen=True, slots=True)
class Round:
    """The start of one round of a loop that carries `invariant` lines.

    `at` is the number of steps taken before it; `environment` holds the program variables.
    """

    statement: nodes.For | nodes.While = field(compare=False, repr=False)
    at: int
    loop: Loop
    environment: Mapping[str, State] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Run:
    """One run on one database: everything that happened, in order.

    `tied` says whether a selection had equal values to choose from, or a test equal ones to compare.
    """

    steps: tuple[Step, ...]
    output: tuple[EmittedRecord, ...]
    draws: tuple[Draw, ...]
    rounds: tuple[Round, ...]
    ended: Ended
    tied: bool = False


# --- expressions ------------------------------------------------------------------------------------------


class Stopped(Exception):  # noqa: N818 - it ends a run, which is no error
    """Ends a run; `run` catches it and tells it in `Run.ended`."""

    def __init__(self, ended: Fault | StepLimit) -> None:
        super().__init__()
        self.ended = ended


def undefined(node: nodes.Node, reason: str) -> NoReturn:
    """Stop the run: this operation has no value."""
    raise Stopped(Fault(Condition.DEFINED, node.span, reason))


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The noise in a variable: what was read to compute it, draws and other variables with noise in them."""

    of: tuple[Reading, ...]


Reading: TypeAlias = NoiseKey | Origin
CHOOSING = ("argmax", "argmin", *nodes.SELECTING)
"""What gives indices. A choice is no reading: like the arm that a test takes, the output has to show it."""


class Tally:
    """What a run has done so far: the steps taken, and whether it met equal values (`Run.tied`)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self.tied = False

    def step(self) -> None:
        """Count one more step; each index of a set is one, too. Raises `Stopped` past the limit."""
        self._taken += 1
        if self._taken > self._limit:
            raise Stopped(StepLimit(self._limit))


Deferred: TypeAlias = Callable[[], Number]
"""Noise that is worked out when it is first read."""


class RunScope:
    """What names mean during one run: inputs, program variables, the draws so far, indices of sets (`bound`).

    `leaves` and `compared` collect what an evaluation read and compared, `read` the noise in it; `tally`
    bounds the work.
    """

    def __init__(self, inputs: Mapping[str, Input], tally: Tally | None = None) -> None:
        self.inputs = inputs
        self.variables: dict[str, State] = {}
        self.draws: dict[NoiseKey, Number | Deferred] = {}
        self.bound: dict[str, Value] = {}
        self.functions: Mapping[str, Function] = {}
        self.tally = tally or Tally(STEP_LIMIT)
        self.compared: list[Compared] = []
        self.leaves: list[tuple[Leaf, State]] = []
        self.origins: dict[str, Origin] = {}
        self.read: dict[Reading, None] = {}

    def origin(self, name: str) -> Origin | None:
        """The noise in what a program variable holds, if there is any."""
        return self.origins.get(name)

    def variable(self, name: str) -> State | None:
        """What a program variable holds, if it holds anything here."""
        return self.variables.get(name)

    def drawn(self, key: NoiseKey) -> Number | None:
        """The value of a draw, if it has been made."""
        found = self.draws.get(key)
        if callable(found):
            found = self.draws[key] = found()
        return found

    def whole(self, name: str, primed: bool = False) -> tuple[Value, ...] | None:
        """The list that a name stands for, if it stands for one among the inputs."""
        found = self.inputs.get(name)
        return found if isinstance(found, tuple) else None

    def selected(self, name: str, primed: bool = False) -> Selected | None:
        """The list of indices that a name stands for, if it stands for one."""
        found = self.variable(name)
        return found if isinstance(found, tuple) else None

    def returned(self, name: str) -> tuple[EmittedRecord, ...] | None:
        """The records that a name stands for, if it stands for what a call released."""
        found = self.variable(name)
        return found.records if isinstance(found, Returned) else None

    def value(self, node: nodes.Name) -> Value:
        """The value of a scalar."""
        if node.primed:
            undefined(node, f"`{node.ident}'` means nothing outside of `align`")
        if node.ident in self.bound:
            return self.bound[node.ident]
        held = self.variable(node.ident)
        if isinstance(held, tuple):
            undefined(node, f"`{node.ident}` is a list of indices, not one value")
        if isinstance(held, Returned):
            undefined(node, f"`{node.ident}` is what a mechanism released, not one value")
        if held is not None:
            if (origin := self.origin(node.ident)) is not None:
                self.read[origin] = None
            return held
        if (drawn := self.drawn((node.ident, None))) is not None:
            self.read[node.ident, None] = None
            return drawn
        found = self.inputs.get(node.ident)
        if found is None or isinstance(found, tuple):
            undefined(node, f"`{node.ident}` has no value here")
        return found

    def entry(self, node: nodes.Index, index: int) -> Value:
        """Entry `index` of a list, an index that was selected, or the draw with this index."""
        if node.primed:
            undefined(node, f"`{node.base}'` means nothing outside of `align`")
        entries = self.whole(node.base)
        if entries is None and (indices := self.selected(node.base)) is not None:
            entries = tuple(map(Fraction, indices))
        if entries is not None:
            if not 0 <= index < len(entries):
                undefined(
                    node, f"index {index} is outside of `{node.base}`, which has {len(entries)} entries"
                )
            return entries[index]
        drawn = self.drawn((node.base, index))
        if drawn is None:
            undefined(node, f"`{node.base}[{index}]` has not been drawn here")
        self.read[node.base, index] = None
        return drawn

    def output(self, node: nodes.Node) -> tuple[EmittedRecord, ...]:
        """The output ω."""
        undefined(node, "`out` means nothing outside of `align`")


def evaluate(expr: nodes.Expr, scope: RunScope) -> Value:
    """The value of an expression. Raises `Stopped` where it has none."""
    match expr:
        case nodes.Name():
            found = scope.value(expr)
            scope.leaves.append((expr, found))
            return found
        case nodes.Index():
            found = scope.entry(expr, integer_of(expr.index, scope, "an index"))
            scope.leaves.append((expr, found))
            return found
        case nodes.Binary():
            return _arithmetic(expr, scope)
        case nodes.Number(value=value):
            return value
        case nodes.Boolean(value=truth):
            return truth
        case nodes.Call():
            return _call(expr, scope)
        case nodes.Unary(op="not", operand=operand):
            return not truth_of(operand, scope)
        case nodes.Unary(operand=operand):
            return exact.negative(number_of(operand, scope))
        case nodes.Compare():
            return _comparison(expr, scope)
        case nodes.Logic(op=op, args=args):
            decisive = op == "or"
            return decisive if any(truth_of(arg, scope) is decisive for arg in args) else not decisive
        case nodes.Conditional(test=test, then=then, otherwise=otherwise):
            return evaluate(then if truth_of(test, scope) else otherwise, scope)
        case nodes.OutIs(tag=tag):
            record = _record(expr, scope)
            return record is not None and record.tag == tag
        case nodes.OutField():
            return _released(expr, scope)
        case nodes.OutCount(tag=None):
            return Fraction(len(_records(expr, scope)))
        case nodes.OutCount(tag=tag):
            return Fraction(sum(record.tag == tag for record in _records(expr, scope)))
        case nodes.Gather():
            gathered = _gathered(expr, scope)
            scope.leaves.append((expr, gathered))
            return gathered
        case nodes.Member(index=index, selection=name):
            indices = _selection(expr, name, scope)
            scope.leaves.append((nodes.Name(name), indices))
            return integer_of(index, scope, "an index") in indices


def state_of(expr: nodes.Expr, scope: RunScope) -> State:
    """The value of the right-hand side of an assignment, where `top` and `upto` may stand, too."""
    if isinstance(expr, nodes.Gather) and expr.function in nodes.SELECTING:
        return _top(expr, scope)
    return evaluate(expr, scope)


def selects(expr: nodes.Expr) -> bool:
    """Whether an expression gives indices of a set."""
    return isinstance(expr, nodes.Gather) and expr.function in CHOOSING


def number_of(expr: nodes.Expr, scope: RunScope) -> Number:
    """The value of a numeric expression."""
    value = evaluate(expr, scope)
    if isinstance(value, bool):
        undefined(expr, "a number is needed here, not a truth value")
    return value


def truth_of(expr: nodes.Expr, scope: RunScope) -> bool:
    """The value of a test."""
    value = evaluate(expr, scope)
    if not isinstance(value, bool):
        undefined(expr, "a truth value is needed here, not a number")
    return value


def integer_of(expr: nodes.Expr, scope: RunScope, what: str) -> int:
    """The value of an expression that must be an integer; `what` names it for the message."""
    value = number_of(expr, scope)
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    if not exact.is_integer(value):
        undefined(expr, f"{what} must be an integer, not {value}")
    return int(exact.floor(value))


def _arithmetic(expr: nodes.Binary, scope: RunScope) -> Number:
    left, right = number_of(expr.left, scope), number_of(expr.right, scope)
    try:
        return _OPERATIONS[expr.op](left, right)
    except exact.Undefined as reason:
        undefined(expr, str(reason))


_OPERATIONS: dict[str, Callable[[Number, Number], Number]] = {
    "+": exact.add,
    "-": exact.subtract,
    "*": exact.multiply,
    "/": exact.divide,
    "%": exact.modulo,
    "**": exact.power,
}


def _call(expr: nodes.Call, scope: RunScope) -> Value:
    if expr.function == "len":
        (argument,) = expr.args
        if isinstance(argument, nodes.Name):
            returned = scope.returned(argument.ident)
            name = argument.ident, argument.primed
            for entries in (scope.whole(*name), scope.selected(*name), returned):
                if entries is not None:
                    return Fraction(len(entries))
        undefined(expr, "`len` takes the name of a list")
    if expr.function not in nodes.FUNCTIONS:
        function = scope.functions.get(expr.function)
        if function is None:
            undefined(expr, f"`{expr.function}` is not given")
        return function(tuple(evaluate(argument, scope) for argument in expr.args))
    values = [number_of(argument, scope) for argument in expr.args]
    try:
        return _apply(expr.function, values)
    except exact.Undefined as reason:
        undefined(expr, str(reason))


def _apply(function: str, values: list[Number]) -> Number:
    match function, values:
        case "min", _:
            return min(values, key=_ORDER)
        case "max", _:
            return max(values, key=_ORDER)
        case "clip", [x, low, high]:
            if exact.compare(low, high) > 0:
                raise exact.Undefined("the ends of `clip` are not in order")
            return min(max(x, low, key=_ORDER), high, key=_ORDER)
        case _:
            (value,) = values
            return _FUNCTIONS[function](value)


_FUNCTIONS: dict[str, Callable[[Number], Number]] = {
    "abs": exact.absolute,
    "floor": exact.floor,
    "sqrt": exact.sqrt,
    "exp": exact.exp,
    "ln": exact.ln,
    "log2": exact.log2,
}


_ORDER = cmp_to_key(exact.compare)


def _gathered(expr: nodes.Gather, scope: RunScope) -> Number:
    """The greatest or least value over a set, the least index at which it is taken, or a sum over it."""
    if expr.function in nodes.SELECTING:
        undefined(expr, f"`{expr.function}` gives a list of indices, not one value")
    found = at_each_index(expr, scope)
    if expr.function == "sum":
        return exact.total(value for _, value in found)
    if not found:
        undefined(expr, f"`{expr.function}` over no index")
    if expr.function == nodes.LOG_SUM:
        return exact.log_sum_exp(value for _, value in found)
    direction = 1 if expr.function in ("max", "argmax") else -1
    index, best = found[0]
    tied = False
    for other, value in found[1:]:
        order = exact.compare(value, best) * direction
        if order > 0:
            index, best = other, value
        tied = order == 0 or (tied and order < 0)
    if expr.function in ("max", "min"):
        return best
    scope.tally.tied |= tied
    return Fraction(index)


def _top(expr: nodes.Gather, scope: RunScope) -> Selected:
    function = f"`{expr.function}`"
    if expr.count is None:
        raise InternalError(f"{function} without a count")
    wanted = integer_of(expr.count, scope, f"the number of indices that {function} selects")
    if wanted < 0:
        undefined(expr, f"{function} is asked for {wanted} indices")
    found = at_each_index(expr, scope)
    if expr.function == "top" and len(found) < wanted:
        undefined(expr, f"{function} is asked for {wanted} indices, and there are only {len(found)}")
    # The sort is stable: of equal values the lower index stays first.
    ranked = sorted(found, key=lambda pair: _ORDER(pair[1]), reverse=True)
    near = pairwise(ranked[: wanted + 1])
    scope.tally.tied |= any(exact.compare(one, other) == 0 for (_, one), (_, other) in near)
    return tuple(index for index, _ in ranked[:wanted])


def at_each_index(expr: nodes.Gather, scope: RunScope) -> list[tuple[int, Number]]:
    """The values over a set, by rising index; each index counts as a step. Raises `Stopped`."""
    return _over_set(expr, scope, number_of)


def _over_set(
    expr: nodes.Gather, scope: RunScope, read: Callable[[nodes.Expr, RunScope], _V]
) -> list[tuple[int, _V]]:
    """The values of the body at the indices at which `where` holds, in the order of the indices.

    What is read and compared at single indices is not noted: the set is one leaf.
    """
    leaves, compared, outside = len(scope.leaves), len(scope.compared), scope.bound
    found = []
    try:
        for index in _indices(expr.over, scope):
            scope.tally.step()
            scope.bound = {**outside, expr.index: Fraction(index)}
            if expr.where is None or truth_of(expr.where, scope):
                found.append((index, read(expr.body, scope)))
    finally:
        scope.bound = outside
    del scope.leaves[leaves:], scope.compared[compared:]
    return found


def _indices(over: nodes.Indices | nodes.OverRange, scope: RunScope) -> range:
    match over:
        case nodes.Indices(base=base):
            entries = scope.whole(base)
            if entries is None:
                undefined(over, f"`{base}` is no list")
            return range(len(entries))
        case nodes.OverRange(low=low, high=high):
            return range(*(integer_of(bound, scope, "a bound of `range`") for bound in (low, high)))


def _selection(node: nodes.Node, name: str, scope: RunScope) -> Selected:
    found = scope.selected(name)
    if found is None:
        undefined(node, f"`{name}` is no list of indices here")
    return found


def _comparison(expr: nodes.Compare, scope: RunScope) -> bool:
    if isinstance(expr.left, nodes.Name) and isinstance(expr.right, nodes.Name):
        left_list, right_list = (scope.whole(e.ident, e.primed) for e in (expr.left, expr.right))
        if left_list is not None and right_list is not None:
            return len(left_list) == len(right_list) and all(
                _ordered(expr, a, b) for a, b in zip(left_list, right_list, strict=True)
            )
    left, right = evaluate(expr.left, scope), evaluate(expr.right, scope)
    holds = _ordered(expr, left, right)
    scope.compared.append(Compared(expr, left, right, holds))
    if not (scope.tally.tied or isinstance(left, bool)) and exact.same(left, right):
        # Of inputs and indices alone it is no tie.
        scope.tally.tied = bool(names_in(expr) - scope.inputs.keys() - scope.bound.keys())
    return holds


def _ordered(expr: nodes.Compare, left: Value, right: Value) -> bool:
    if expr.op == "==":
        return exact.same(left, right)
    if expr.op == "!=":
        return not exact.same(left, right)
    if isinstance(left, bool) or isinstance(right, bool):
        undefined(expr, f"`{expr.op}` compares numbers, not truth values")
    order = exact.compare(left, right)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[expr.op]


def _records(
    expr: nodes.OutIs | nodes.OutField | nodes.OutCount, scope: RunScope
) -> tuple[EmittedRecord, ...]:
    """The records of the output, or of what a call released."""
    if expr.of == "out":
        return scope.output(expr)
    found = scope.returned(expr.of)
    if found is None:
        undefined(expr, f"`{expr.of}` has not been called here")
    return found


def _record(expr: nodes.OutIs | nodes.OutField, scope: RunScope) -> EmittedRecord | None:
    index = integer_of(expr.index, scope, "the number of a record")
    output = _records(expr, scope)
    return output[index] if 0 <= index < len(output) else None


def _released(expr: nodes.OutField, scope: RunScope) -> Value:
    record = _record(expr, scope)
    fields = dict(record.fields) if record is not None else {}
    if expr.field not in fields:
        undefined(expr, f"the output has no such record with a field `{expr.field}`")
    return fields[expr.field]


# --- one run ----------------------------------------------------------------------------------------------


Noise: TypeAlias = Callable[[DrawSite], Number | Deferred]

ByDensity: TypeAlias = nodes.Choose | nodes.Logistic
DensitySource: TypeAlias = Callable[[ByDensity, RunScope], Number]
"""What gives the values of draws by a density; it is asked for each of them, in order."""


def no_densities(draw: ByDensity, scope: RunScope) -> NoReturn:
    """Stops the run: a draw by a density has no noise that it is computed from."""
    undefined(draw, f"`{draw.name}` is drawn by a density, not computed from noise")


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call that is about to happen: execution `number` of the call that gives `name` its records.
    `functions` are the caller's, which declares those that are applied in what it calls.
    """

    name: str
    number: int
    contract: Contract
    given: Inputs
    span: Span
    functions: Mapping[str, Function] = field(compare=False, repr=False)

    @property
    def key(self) -> CallKey:
        """The name and the number."""
        return self.name, self.number


CallSource: TypeAlias = Callable[[CallSite], tuple[EmittedRecord, ...]]
"""What a called mechanism releases."""


def released(site: CallSite, done: Run) -> tuple[EmittedRecord, ...]:
    """What the run of a callee released; one that did not come to its end ends the run of its caller."""
    match done.ended:
        case Finished():
            return done.output
        case StepLimit():
            raise Stopped(done.ended)
        case Fault(reason=reason):
            raise Stopped(Fault(Condition.CALLS, site.span, f"`{site.contract.mechanism.name}`: {reason}"))


def run(
    mechanism: nodes.Mechanism,
    parameters: Mapping[str, Input] | Inputs,
    data: Mapping[str, Input] | Inputs,
    noise_source: Noise,
    limit: int = STEP_LIMIT,
    functions: Mapping[str, Function] = MappingProxyType({}),
) -> Run:
    """Run `mechanism` once, exactly. `noise_source` is asked for each draw, in order; `limit` bounds steps.
    Mechanisms that are called ask the same source. `functions` are the public functions of the spec.

    Faults end the run and are told in `Run.ended`; raises `Undecided` where exact arithmetic cannot decide.
    """
    inputs = {**dict(parameters), **dict(data)}
    return Machine(mechanism, inputs, noise_source, limit, functions=functions).run()


def _repeated(spent: Number, chance: Number, most: Number | None = None) -> Number:
    """What a call costs that is repeated: see section 8 of docs/kernel.md."""
    twice = exact.add(spent, spent)
    if most is None:
        return twice
    s, two = exact.multiply(chance, most), Fraction(2)
    return exact.add(twice, exact.divide(two, exact.multiply(s, exact.add(two, s))))


class Machine:
    """A run in progress: `scope` is its state, which a noise source and `at_round` may look at.

    `reached` is the number of the statement of the program, blocks not counted, that it is at; `origins_at`
    tells of each draw what noise was in the variables then. `goes_on` is asked with the chance to stop, after
    a round of a repeated call for which its test does not hold: by default each round is the last, so that
    the run is one whose calls are done in one round; what runs there are, and what they cost, is the same.
    """

    def __init__(
        self,
        mechanism: nodes.Mechanism,
        inputs: Mapping[str, Input],
        noise_source: Noise,
        limit: int,
        at_round: Callable[[Round], None] = lambda _: None,
        call_source: CallSource | None = None,
        functions: Mapping[str, Function] = MappingProxyType({}),
        densities: DensitySource = no_densities,
        goes_on: Callable[[Number], bool] = lambda _: False,
    ) -> None:
        self._mechanism = mechanism
        self.scope = RunScope(inputs, Tally(limit))
        self.scope.functions = functions
        self._limit = limit
        self._call_source = call_source or self._run_callee
        self._called: dict[str, int] = {}
        self.reached = 0
        self.origins_at: dict[NoiseKey, Mapping[str, Origin]] = {}
        self._noise_source = noise_source
        self._at_round = at_round
        self._densities, self._goes_on = densities, goes_on
        self._rounds: list[Round] = []
        self._steps: list[Step | DrawSite] = []
        self._loop: list[tuple[str, Value]] = []

    def run(self) -> Run:
        """Run to the end."""
        try:
            ended = self._program()
            steps, failed = self._settled()
        except RecursionError:
            raise Undecided("the program is nested too deeply") from None
        return Run(
            tuple(steps),
            tuple(step.record for step in steps if isinstance(step, Emitted)),
            tuple(step for step in steps if isinstance(step, Draw)),
            tuple(one for one in self._rounds if one.at <= len(steps)),
            failed or ended,
            self.scope.tally.tied,
        )

    def _program(self) -> Ended:
        try:
            for number, statement in enumerate(self._mechanism.body):
                self.reached = number
                if self._statement(statement):
                    break
        except Stopped as stopped:
            return stopped.ended
        return Finished()

    def _settled(self) -> tuple[list[Step], Fault | StepLimit | None]:
        """The steps with all noise worked out; a draw that has no value ends the run where it is made."""
        steps: list[Step] = []
        for step in self._steps:
            if isinstance(step, DrawSite):
                try:
                    steps.append(self._draw(step))
                except Stopped as stopped:
                    return steps, stopped.ended
            else:
                steps.append(step)
        return steps, None

    def _draw(self, site: DrawSite) -> Draw:
        value = self.scope.drawn(site.key)
        if value is None:
            raise InternalError("a draw that was made has a value")
        return Draw(*site.key, site.family, site.args, site.span, site.loop, site.environment, value)

    def _forget(self) -> None:
        self.scope.leaves.clear()
        self.scope.compared.clear()
        self.scope.read.clear()

    def _value(self, expr: nodes.Expr) -> Value:
        self._forget()
        return evaluate(expr, self.scope)

    def _block(self, body: tuple[nodes.Stmt, ...]) -> bool:
        """Whether the block ended in a `break`."""
        return any(self._statement(statement) for statement in body)

    def _statement(self, statement: nodes.Stmt) -> bool:
        self.scope.tally.step()
        match statement:
            case nodes.Assign(name=name, value=value):
                self._forget()
                result = state_of(value, self.scope)
                self.scope.variables[name] = result
                self._note_origin(name, value)
                self._steps.append(Assigned(name, result, statement.span, tuple(self._loop), value))
            case nodes.Invoke():
                self._invoke(statement)
            case nodes.Sample():
                self._sample(statement)
            case nodes.Choose() | nodes.Logistic():
                self._forget()
                self.scope.variables[statement.name] = self._densities(statement, self.scope)
            case nodes.If():
                return self._if(statement)
            case nodes.For():
                self._for(statement)
            case nodes.While():
                self._while(statement)
            case nodes.Emit():
                self._emit(statement)
            case nodes.Break():
                return True
            case nodes.Pass():
                pass
        return False

    def _invoke(self, statement: nodes.Invoke) -> None:
        use = next(use for use in self._mechanism.uses if use.name == statement.mechanism)
        contract = contract_of(use)
        given = tuple((each.name, self._argument(each.value)) for each in statement.arguments)
        claim = contract.mechanism.claim
        asked = contract.claim if isinstance(claim, nodes.Pure) else claimed_in(claim)[0]
        spent = number_of(asked, RunScope(dict(given), self.scope.tally))
        number = self._called.get(statement.name, 0)
        self._called[statement.name] = number + 1
        site = CallSite(statement.name, number, contract, given, statement.span, self.scope.functions)
        rounds: tuple[Value, ...] = ()
        dropped: list[Returned] = []
        if statement.rounds is not None:
            limits = self._limits_of(statement.rounds)
            spent = _repeated(spent, *limits)
            returned, holds = self._last_round(site, statement.rounds, dropped, *limits)
            rounds = (*limits, holds)
        else:
            returned = Returned(number, self._call_source(site))
        self.scope.variables[statement.name] = returned
        loop = tuple(self._loop)
        ended = rounds, tuple(dropped)
        made = Invoked(statement.name, use.name, given, returned, spent, statement.span, loop, *ended)
        self._steps.append(made)

    def _last_round(
        self,
        site: CallSite,
        rounds: nodes.Rounds,
        dropped: list[Returned],
        chance: Number,
        most: Number | None = None,
    ) -> tuple[Returned, bool]:
        """What a call that is repeated gives, and whether the test holds of what its last round released."""
        for number in count(1):
            self.scope.tally.step()
            returned = Returned(site.number, self._call_source(site))
            self.scope.variables[site.name] = returned
            if truth_of(rounds.test, self.scope):
                return returned, True
            dropped.append(returned)
            if number == most or not self._goes_on(chance):
                break
        return Returned(site.number, ()), False

    def _limits_of(self, rounds: nodes.Rounds) -> tuple[Number, ...]:
        """The chance to stop, and the most rounds if there is such a number."""
        chance = number_of(rounds.chance, self.scope)
        if exact.sign(chance) <= 0 or exact.compare(chance, ONE) > 0:
            raise Stopped(Fault(Condition.CALLS, rounds.chance.span, f"a chance of {chance} to stop"))
        if rounds.most is None:
            return (chance,)
        most = integer_of(rounds.most, self.scope, "the number of rounds")
        if most < 1:
            raise Stopped(Fault(Condition.CALLS, rounds.most.span, f"there are {most} rounds"))
        return chance, Fraction(most)

    def _argument(self, expr: nodes.Expr) -> Input:
        if isinstance(expr, nodes.Gather) and expr.function == nodes.LISTING:
            return tuple(value for _, value in _over_set(expr, self.scope, evaluate))
        whole = self.scope.whole(expr.ident) if isinstance(expr, nodes.Name) else None
        return whole if whole is not None else evaluate(expr, self.scope)

    def _run_callee(self, site: CallSite) -> tuple[EmittedRecord, ...]:
        """Runs the callee with noise from the same source."""
        callee = site.contract.mechanism
        return released(
            site,
            Machine(
                callee,
                dict(site.given),
                self._noise_source,
                self._limit,
                functions=site.functions,
                densities=self._densities,
                goes_on=self._goes_on,
            ).run(),
        )

    def _note_origin(self, name: str, value: nodes.Expr) -> None:
        if self.scope.read and not selects(value):
            self.scope.origins[name] = Origin(tuple(self.scope.read))
        else:
            self.scope.origins.pop(name, None)

    def _test(self, kind: str, test: nodes.Expr) -> bool:
        self._forget()
        holds = truth_of(test, self.scope)
        compared, leaves = tuple(self.scope.compared), tuple(self.scope.leaves)
        self._steps.append(TakenTest(kind, test, holds, compared, leaves, test.span, tuple(self._loop)))
        return holds

    def _if(self, statement: nodes.If) -> bool:
        for number, branch in enumerate(statement.branches):
            if self._test("elif" if number else "if", branch.test):
                return self._block(branch.body)
        return self._block(statement.otherwise)

    def _for(self, statement: nodes.For) -> None:
        for index, item in self._range(statement.over):
            self.scope.tally.step()
            if statement.index is not None:
                self.scope.variables[statement.index] = index
            if isinstance(statement.over, nodes.OverQueries):
                self.scope.variables[statement.over.item] = item
            self._loop.append((statement.index or "round", index))
            left = self._round(statement)
            self._loop.pop()
            if left:
                break

    def _while(self, statement: nodes.While) -> None:
        for number in count():
            self.scope.tally.step()
            self._loop.append(("round", Fraction(number)))
            left = not self._test("while", statement.test) or self._round(statement)
            self._loop.pop()
            if left:
                break

    def _round(self, statement: nodes.For | nodes.While) -> bool:
        """Whether the round ended in a `break`."""
        if statement.invariants:
            environment = MappingProxyType(dict(self.scope.variables))
            self._rounds.append(Round(statement, len(self._steps), tuple(self._loop), environment))
            self._at_round(self._rounds[-1])
        return self._block(statement.body)

    def _range(self, over: nodes.OverQueries | nodes.OverRange) -> Iterator[tuple[Fraction, Value]]:
        match over:
            case nodes.OverQueries(base=base):
                entries = self.scope.whole(base)
                if entries is None:
                    undefined(over, f"`{base}` is no list")
                for number, entry in enumerate(entries):
                    yield Fraction(number), entry
            case nodes.OverRange(low=low, high=high):
                start = integer_of(low, self.scope, "a bound of `range`")
                for number in range(start, integer_of(high, self.scope, "a bound of `range`")):
                    yield Fraction(number), Fraction(number)

    def _emit(self, statement: nodes.Emit) -> None:
        fields = tuple((part.name, self._value(part.value)) for part in statement.fields)
        record = EmittedRecord(statement.tag, fields, statement)
        self._steps.append(Emitted(record, statement.span, tuple(self._loop)))

    def _sample(self, statement: nodes.Sample) -> None:
        index = None if statement.index is None else integer_of(statement.index, self.scope, "an index")
        args = tuple(number_of(argument, self.scope) for argument in statement.args)
        key = (statement.name, index)
        if key in self.scope.draws:
            reason = f"`{variable_text(key)}` is drawn a second time"
            raise Stopped(Fault(Condition.FRESH, statement.span, reason))
        if (bad := _bad_scale(statement.family, args)) is not None:
            raise Stopped(Fault(Condition.SCALES, statement.span, bad))
        environment = MappingProxyType(dict(self.scope.variables))
        loop = tuple(self._loop)
        site = DrawSite(statement.name, index, statement.family, args, statement.span, loop, environment)
        self.origins_at[key] = MappingProxyType(dict(self.scope.origins))
        self.scope.draws[key] = self._noise_source(site)
        self._steps.append(site)


def variable_text(key: NoiseKey) -> str:
    """`eta` or `xi[3]`."""
    name, index = key
    return name if index is None else f"{name}[{index}]"


def value_text(value: State | Input | int) -> str:
    """The value as the language writes it: `1/2`, `true`, `16*sqrt(2)`; lists as `[2, 0]`."""
    if isinstance(value, Returned):
        return f"{len(value.records)} records"
    if isinstance(value, tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- noise ------------------------------------------------------------------------------------------------


def _bad_scale(family: Family, args: tuple[Number, ...]) -> str | None:
    """Why these arguments give no distribution, or None."""
    match family.row.slope:
        case Slope.SCALE | Slope.SIGMA:
            return _not_positive(family.arguments, args)
        case Slope.CHANCE | Slope.ODDS:
            (p,) = args
            if exact.sign(p) > 0 and exact.compare(p, ONE) < 0:
                return None
            return f"the success probability is {p}, which is not between 0 and 1"
        case Slope.STAIRS:
            if exact.compare(args[2], ONE) >= 0:
                return f"the {family.arguments[2]} is {args[2]}, which is not below 1"
            return _not_positive(family.arguments, args)


def _not_positive(names: tuple[str, ...], args: tuple[Number, ...]) -> str | None:
    for what, value in zip(names, args, strict=True):
        if exact.sign(value) <= 0:
            return f"the {what} is {value}, which is not positive"
    return None


def rate_of(family: Family, args: tuple[Number, ...]) -> Number:
    """1/α: the cost of a shift by 1 (condition iii, see `Slope`); of stairs ε/width."""
    match family.row.slope:
        case Slope.SCALE | Slope.SIGMA:
            return exact.divide(ONE, args[0])
        case Slope.CHANCE:
            return exact.negative(exact.ln(exact.subtract(ONE, args[0])))
        case Slope.STAIRS:
            return exact.divide(args[0], args[1])
        case Slope.ODDS:
            return exact.absolute(exact.ln(exact.divide(args[0], exact.subtract(ONE, args[0]))))


def chance_of(p: Number, side: Number) -> Number:
    """The probability of a side of a coin: p of 1, the rest of 0."""
    return exact.subtract(ONE, p) if exact.sign(side) == 0 else p


def moved_at_no_price(draw: Draw, value: Number) -> str | None:
    """Why no bound of the densities' quotient is known where a draw is moved to this value (see `Moves`)."""
    way = exact.compare(value, draw.value)
    if way and draw.family.row.slope is Slope.SIGMA:
        return "the density of Gaussian noise falls faster and faster: a move costs ρ, and no ε"
    if draw.family.row.slope is Slope.STAIRS:
        moved = exact.absolute(exact.subtract(value, draw.value))
        far = exact.compare(moved, draw.args[1]) > 0
        return f"`{draw.family.value}` noise is moved by its width at most" if far else None
    match draw.family.row.moves:
        case Moves.BOTH:
            return None
        case Moves.UP:
            return None if way >= 0 else f"`{draw.family.value}` noise is moved up only, or not at all"
        case Moves.NOT:
            return None if way == 0 else f"`{draw.family.value}` noise is never moved"


def outside_support(family: Family, args: tuple[Number, ...], value: Number) -> str | None:
    """Why the value is impossible under its distribution, or None."""
    if family.one_sided and exact.sign(value) < 0:
        return f"{value} is negative, and `{family.value}` noise is not"
    if family.bounded and exact.compare(value, args[0]) > 0:
        return f"{value} is more than {args[0]}, and `{family.value}` noise is not"
    if family.coin and exact.compare(value, ONE) > 0:
        return f"{value} is more than 1, and a coin is 0 or 1"
    match family.row.lattice:
        case Lattice.NONE:
            return None
        case Lattice.WHOLE:
            if exact.is_integer(value):
                return None
            return f"{value} is no integer, and `{family.value}` noise is"
        case Lattice.STEP:
            if exact.is_multiple(value, args[1]):
                return None
            return f"{value} is no multiple of the step {args[1]}"
