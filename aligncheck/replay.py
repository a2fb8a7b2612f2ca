"""The replay of one alignment on two databases, with exact arithmetic.

`replay` runs D, which fixes the output ω, then D' with the aligned noise η' = η + shift, each shift evaluated
where its variable is drawn; it lists every condition of the lemma that this concrete pair of runs violates. A
counterexample is shown to a person only if it is confirmed here.

A shift may read aligned noise that comes later, and what a set gives in the complete run on D'. So each
aligned draw is worked out when it is first needed, in whatever order this asks for. Where there is no order,
a draw needs its own value: that violates `acyclic`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from types import MappingProxyType
from typing import assert_never

from aligncheck import exact
from aligncheck.conditions import Condition
from aligncheck.exact import ZERO, Irrational, Number, Undecided, Value
from aligncheck.interpreter import (
    STEP_LIMIT,
    Assigned,
    Compared,
    Decision,
    Deferred,
    Draw,
    DrawSite,
    Emitted,
    Fault,
    Finished,
    Input,
    Machine,
    NoiseKey,
    NoiseSource,
    Record,
    Round,
    Run,
    Scope,
    Selected,
    State,
    Step,
    StepLimit,
    Stopped,
    Tally,
    integer_of,
    number_of,
    outside_support,
    rate_of,
    run,
    state_of,
    truth_of,
    value_text,
    variable_text,
)
from aligncheck.scenario import Scenario, ScenarioError, check_scenario
from aligncheck.source import Span
from aligncheck.syntax import nodes
from aligncheck.syntax.walk import gathered_in_full, shifts_in, statements_in

__all__ = [
    "Assigned",
    "Compared",
    "Decision",
    "Draw",
    "DrawSite",
    "Emitted",
    "Fault",
    "Finished",
    "Irrational",
    "PairedStep",
    "Record",
    "Replay",
    "Run",
    "Scenario",
    "ScenarioError",
    "StepLimit",
    "Undecided",
    "Value",
    "Violation",
    "aligned",
    "check_scenario",
    "draw_count",
    "image",
    "replay",
    "run",
    "same_output",
    "side_by_side",
]

# --- what both runs did -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairedStep:
    """The same step on both runs; None where only one run takes it.

    For a draw on D' that D makes too, `shift` is η' - η and `cost` the alignment cost up to and including it.
    """

    on_d: Step | None
    on_d_prime: Step | None
    shift: Number | None = None
    cost: Number | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """A condition that this pair of runs violates, where, and how (in the spec's words)."""

    condition: Condition
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Replay:
    """Both runs side by side.

    `cost` is the sum of |η' - η|/α over the draws that both runs make; `claim` the value of the `privacy`
    line (None where it has none). Where the run on D does not finish there is no output, hence no alignment:
    the noise on D' is then the noise on D. `parted` is the number of the step at which the runs take other
    ways, if they do.
    """

    scenario: Scenario
    run_d: Run
    run_d_prime: Run
    steps: tuple[PairedStep, ...]
    cost: Number
    claim: Number | None
    parted: int | None
    violations: tuple[Violation, ...]

    def violates(self, condition: Condition) -> bool:
        """Whether this condition is among the violations."""
        return any(violation.condition is condition for violation in self.violations)


# --- the alignment ----------------------------------------------------------------------------------------


class _AlignScope(Scope):
    """What names mean in `align`, where a variable is drawn.

    Unprimed: program variables as they were at this draw on D, what sets give in the complete run on D, and
    the whole noise of that run. Primed: what they mean in `prime`. Names in `bound` are the index of the draw
    and indices of sets, which both runs share.
    """

    def __init__(
        self,
        inputs: Mapping[str, Input],
        tally: Tally,
        noise: Callable[[NoiseKey], Number | None],
        prime: Scope,
        output: tuple[Record, ...],
        environment: Mapping[str, State],
        bound: Mapping[str, Value],
    ) -> None:
        super().__init__(inputs, tally)
        self.variables = dict(environment)
        self.bound = dict(bound)
        self._noise = noise
        self._prime = prime
        self._output = output

    def drawn(self, key: NoiseKey) -> Number | None:
        return self._noise(key)

    def whole(self, node: nodes.Name) -> tuple[Value, ...] | None:
        return self._prime.whole(_plain(node)) if node.primed else super().whole(node)

    def selected(self, node: nodes.Name) -> Selected | None:
        return self._prime.selected(_plain(node)) if node.primed else super().selected(node)

    def value(self, node: nodes.Name) -> Value:
        if node.primed and node.ident not in self.bound:
            return self._prime.value(_plain(node))
        return super().value(_plain(node))

    def entry(self, node: nodes.Index, index: int) -> Value:
        if node.primed:
            return self._prime.entry(nodes.Index(node.base, node.index, span=node.span), index)
        return super().entry(node, index)

    def output(self, node: nodes.Node) -> tuple[Record, ...]:
        return self._output


def _plain(node: nodes.Name) -> nodes.Name:
    return nodes.Name(node.ident, span=node.span)


class _Ahead(Scope):
    """The state of the run on D' at some place, which that run may not have come to yet."""

    def __init__(
        self,
        inputs: Mapping[str, Input],
        tally: Tally,
        variable: Callable[[str], State | None],
        noise: Callable[[NoiseKey], Number | None],
    ) -> None:
        super().__init__(inputs, tally)
        self._variable = variable
        self._noise = noise

    def variable(self, name: str) -> State | None:
        return self._variable(name)

    def drawn(self, key: NoiseKey) -> Number | None:
        return self._noise(key)


class _Cycle(Stopped):
    """A draw that needs its own aligned value."""


_SELECTING = ("argmax", "argmin", "top")
_MOST_NAMED = 4
_SHIFT_STEPS = 20
"""All shifts of a run together may range over this many times as many indices as one run may take steps."""


class _Alignment:
    """The noise source of the run on D': η' = η + shift, as the `align` section says.

    The noise function H of D is total: a draw that is not listed, or that D does not reach, is 0. A variable
    that D does not draw keeps its value on D', since there is no place on D to evaluate its shift in.

    What a set gives on D', `best'`, is evaluated with the aligned noise before the run on D' comes to it. The
    set may be what was not selected (`where i not in winners`), and to select needs the very noise that is
    being aligned. An output that shows the selection fixes it for both runs: that of D is then used, and
    `unsettled` tells afterwards where the run on D' selects something else without any effect on the output.
    """

    def __init__(self, mechanism: nodes.Mechanism, scenario: Scenario, run_d: Run, limit: int) -> None:
        self._mechanism = mechanism
        self._inputs: dict[str, Input] = {**dict(scenario.parameters), **dict(scenario.data)}
        self._inputs_prime: dict[str, Input] = {**dict(scenario.parameters), **dict(scenario.data_prime)}
        self._parameters = frozenset(name for name, _ in scenario.parameters)
        self._given = _given(scenario)
        self._noise_names = frozenset(
            statement.name
            for statement in statements_in(mechanism.body)
            if isinstance(statement, nodes.Sample)
        )
        self._on_d = {draw.key: draw for draw in run_d.draws}
        self._output = run_d.output
        self._finished = isinstance(run_d.ended, Finished)
        gathered = gathered_in_full(mechanism.body)
        self._gathered_on_d = {
            step.name: step.value
            for step in run_d.steps
            if isinstance(step, Assigned) and step.name in gathered
        }
        self._writes = [_written((statement,)) for statement in mechanism.body]
        self._gathers = {
            statement.name: number
            for number, statement in enumerate(mechanism.body)
            if isinstance(statement, nodes.Assign) and statement.name in gathered
        }
        self._machine = Machine(mechanism, self._inputs_prime, self._source, limit, self._at_round)
        self._rounds = {(one.statement.span, one.loop): one for one in run_d.rounds}
        self._tally = Tally(limit * _SHIFT_STEPS)
        self._sites: dict[NoiseKey, DrawSite] = {}
        self._ahead: dict[int, State] = {}
        self._assumed: dict[str, State] = {}
        self._open: dict[NoiseKey | int, Span] = {}
        self._not_counted: list[NoiseKey] = []
        self._cost: Number = ZERO
        self.shifts: dict[NoiseKey, Number] = {}
        self.broken_invariants: list[tuple[int, Violation]] = []

    def run(self) -> Run:
        return self._machine.run()

    def claim(self) -> Number:
        """The value of the `privacy` line, which may count records of the output of D. Raises `Stopped`."""
        return number_of(self._mechanism.privacy, self._scope({}, {}, self._machine.scope))

    @property
    def tied(self) -> bool:
        """Whether a selection in a shift, or for one, had a tie to break."""
        return self._tally.tied

    def unsettled(self, run_d: Run, run_d_prime: Run) -> Iterator[Violation]:
        """Selections on D' other than those that the aligned noise was worked out with, though the output is
        the same.
        """
        if not self._assumed or not same_output(run_d, run_d_prime):
            return
        for name, assumed in self._assumed.items():
            found = self._machine.scope.variables[name]
            if found != assumed:
                message = (
                    f"the aligned noise needs `{name}'`, which needs the aligned noise: with "
                    f"{value_text(assumed)} for it, the run on D' gives {value_text(found)}"
                )
                span = self._mechanism.body[self._gathers[name]].span
                yield Violation(Condition.ACYCLIC, span, message)

    # --- aligned noise ------------------------------------------------------------------------------------

    def _noise_on_d(self, key: NoiseKey) -> Number | None:
        return self._given.get(key, ZERO) if key[0] in self._noise_names else None

    def _source(self, site: DrawSite) -> Deferred:
        self._sites[site.key] = site
        self._not_counted.append(site.key)
        return lambda: _known(self._aligned(site.key))

    def _aligned(self, key: NoiseKey) -> Number | None:
        """The aligned value of a draw, whether or not D' has made it; None where neither run makes it."""
        before = self._given.get(key, ZERO)
        draw = self._on_d.get(key)
        if draw is None or not self._finished:
            return before if key in self._sites else None
        if key not in self.shifts:
            if key in self._open:
                raise self._cycle(key)
            self._open[key] = draw.span
            try:
                self.shifts[key] = exact.total(self._shifts(self._mechanism.align, draw))
            finally:
                del self._open[key]
        return exact.add(before, self.shifts[key])

    def _cycle(self, again: NoiseKey | int) -> _Cycle:
        """What is being worked out and needs `again`, which is being worked out, too."""
        chain = list(self._open)
        chain = chain[chain.index(again) :]
        first = next(place for place, key in enumerate(chain) if not isinstance(key, int))
        around = [*chain[first + 1 :], *chain[:first]]
        named = [f"`{self._name(key)}'`" for key in around[:_MOST_NAMED]]
        by_way = (
            f", by way of {', '.join(named)}{', …' if len(around) > _MOST_NAMED else ''}" if named else ""
        )
        reason = f"the aligned `{self._name(chain[first])}` depends on itself{by_way}"
        return _Cycle(Fault(Condition.ACYCLIC, self._open[chain[first]], reason))

    def _name(self, key: NoiseKey | int) -> str:
        if not isinstance(key, int):
            return variable_text(key)
        statement = self._mechanism.body[key]
        assert isinstance(statement, nodes.Assign), "only assignments are evaluated ahead"
        return statement.name

    # --- the state of the run on D' -----------------------------------------------------------------------

    def _prime_at(self, draw: Draw) -> Scope:
        """The state of the run on D' at a draw, and what sets give in that run when it is complete."""
        site = self._sites.get(draw.key)

        def variable(name: str) -> State | None:
            if site is not None and name in site.environment:
                return site.environment[name]
            if name in self._gathers:
                return self._value_ahead(self._gathers[name])
            return None if site is not None else self._state_before(self._place(draw), name, inside=True)

        return _Ahead(self._inputs_prime, self._tally, variable, self._aligned)

    def _place(self, draw: Draw) -> int:
        """The number of the statement of the program that makes a draw, or has it in its block."""
        body = self._mechanism.body
        return next(
            number
            for number, statement in enumerate(body)
            if any(
                isinstance(inner, nodes.Sample) and (inner.name, inner.span) == (draw.name, draw.span)
                for inner in statements_in((statement,))
            )
        )

    def _state_before(self, place: int, name: str, inside: bool = False) -> State | None:
        """What a variable holds when D' comes to statement `place` (or is `inside` its block).

        Raises `Undecided` where only the run itself can tell, and has not come there yet.
        """
        reached = self._machine.reached
        writers = [number for number in range(place) if name in self._writes[number]]
        overwritten = any(name in writes for writes in self._writes[place : reached + 1])
        if writers and not overwritten and writers[-1] < reached:
            return self._machine.scope.variables.get(name)
        in_block = writers and not isinstance(self._mechanism.body[writers[-1]], nodes.Assign)
        if overwritten or in_block or (inside and name in self._writes[place]):
            raise Undecided(f"`{name}'` is needed at another place than the run on D' is at")
        return self._value_ahead(writers[-1]) if writers else None

    def _value_ahead(self, number: int) -> State:
        """The value that assignment `number` of the program gives on D', whether or not D' has come to it."""
        statement = self._mechanism.body[number]
        assert isinstance(statement, nodes.Assign), "blocks are not evaluated ahead"
        if number < self._machine.reached and statement.name in self._gathers:
            return self._machine.scope.variables[statement.name]
        if number not in self._ahead:
            if number in self._open:
                raise self._cycle(number)
            self._open[number] = statement.span
            try:
                self._ahead[number] = self._evaluated_ahead(number, statement)
            finally:
                del self._open[number]
        return self._ahead[number]

    def _evaluated_ahead(self, number: int, statement: nodes.Assign) -> State:
        def variable(name: str) -> State | None:
            return self._state_before(number, name)

        try:
            return state_of(statement.value, _Ahead(self._inputs_prime, self._tally, variable, self._aligned))
        except _Cycle:
            selects = isinstance(statement.value, nodes.Gather) and statement.value.function in _SELECTING
            if not selects or statement.name not in self._gathers:
                raise
            self._assumed[statement.name] = self._gathered_on_d[statement.name]
            return self._gathered_on_d[statement.name]

    # --- lines of the alignment ---------------------------------------------------------------------------

    def _at_round(self, prime: Round) -> None:
        """Evaluate the author's invariants, on both runs, where a round starts that both runs reach."""
        on_d = self._rounds.get((prime.statement.span, prime.loop))
        if on_d is None or not self._finished:
            return
        for key in self._not_counted:
            self._aligned(key)
            if key in self.shifts:
                self._cost = exact.add(self._cost, _draw_cost(self._on_d[key], self.shifts[key]))
        self._not_counted.clear()
        environment = {**on_d.environment, "alignment_cost": self._cost}
        for invariant in prime.statement.invariants:
            wrong = _broken(invariant, self._scope(environment, {}, self._machine.scope))
            if wrong is not None:
                rounds = ", ".join(f"{name} = {value_text(value)}" for name, value in prime.loop)
                found = Violation(Condition.INVARIANT, invariant.span, f"{wrong} in the round with {rounds}")
                self.broken_invariants.append((prime.at, found))

    def _shifts(self, items: tuple[nodes.AlignItem, ...], draw: Draw) -> Iterator[Number]:
        for item in items:
            match item:
                case nodes.Shift():
                    if item.name == draw.name:
                        yield self._shift(item, draw)
                case nodes.CaseSplit():
                    # A split that does not move this variable is passed over: its test may mean nothing here.
                    if any(shift.name == draw.name for shift in shifts_in((item,))):
                        yield from self._shifts(self._arm(item, draw), draw)
                case _:
                    assert_never(item)

    def _arm(self, split: nodes.CaseSplit, draw: Draw) -> tuple[nodes.AlignItem, ...]:
        scope = self._scope_at(draw, {})
        for case in split.cases:
            self._open[draw.key] = case.test.span
            if truth_of(case.test, scope):
                return case.items
        return split.otherwise

    def _shift(self, line: nodes.Shift, draw: Draw) -> Number:
        """How much this line adds to this draw."""
        self._open[draw.key] = line.span
        binder = self._binder(line)
        bound = {} if binder is None or draw.index is None else {binder: Fraction(draw.index)}
        scope = self._scope_at(draw, bound)
        if binder is None:
            index = None if line.index is None else integer_of(line.index, scope, "an index")
            if index != draw.index:
                return ZERO
        if line.guard is not None and not truth_of(line.guard, scope):
            return ZERO
        value = number_of(line.value, scope)
        match line.op:
            case "+=":
                return value
            case "-=":
                return exact.negative(value)
            case _:
                return exact.subtract(value, draw.value)

    def _binder(self, line: nodes.Shift) -> str | None:
        if isinstance(line.index, nodes.Name) and line.index.ident not in self._parameters:
            return line.index.ident
        return None

    def _scope_at(self, draw: Draw, bound: Mapping[str, Value]) -> _AlignScope:
        environment = {**self._gathered_on_d, **draw.environment}
        return self._scope(environment, bound, self._prime_at(draw))

    def _scope(
        self, environment: Mapping[str, State], bound: Mapping[str, Value], prime: Scope
    ) -> _AlignScope:
        return _AlignScope(
            self._inputs, self._tally, self._noise_on_d, prime, self._output, environment, bound
        )


def _written(body: tuple[nodes.Stmt, ...]) -> frozenset[str]:
    """The program variables that statements, their blocks included, may give a value."""
    found: set[str] = set()
    for statement in statements_in(body):
        match statement:
            case nodes.Assign(name=name):
                found.add(name)
            case nodes.For(index=index, over=over):
                found |= {index} if index is not None else set()
                found |= {over.item} if isinstance(over, nodes.OverQueries) else set()
            case _:
                pass
    return frozenset(found)


def _known(value: Number | None) -> Number:
    assert value is not None, "a draw that D' makes has a value"
    return value


def _broken(invariant: nodes.Expr, scope: Scope) -> str | None:
    try:
        return None if truth_of(invariant, scope) else "this line does not hold"
    except Stopped as stopped:
        reason = stopped.ended.reason if isinstance(stopped.ended, Fault) else "it is too long"
        return f"this line has no value ({reason})"


def _given(scenario: Scenario) -> dict[NoiseKey, Number]:
    return {key: value for key, value in scenario.noise if not isinstance(value, bool)}


# --- the replay -------------------------------------------------------------------------------------------


def replay(mechanism: nodes.Mechanism, scenario: Scenario, limit: int = STEP_LIMIT) -> Replay:
    """Run D, then D' with the aligned noise, and list what this pair of runs violates.

    Where a selection has a tie to break, only those conditions count that noise beside it violates, too: with
    continuous noise ties have probability 0, and an alignment may do anything with them.

    Raises `ScenarioError` where the scenario is not legal (`check_scenario`, or noise on D outside of its
    support) and `Undecided` where exact arithmetic cannot decide.
    """
    done, tied = _replayed(mechanism, scenario, limit)
    if not tied or not done.violations:
        return done
    kept = {
        violation.condition
        for beside in _beside(scenario, done.run_d)
        for violation in _replayed(mechanism, beside, limit)[0].violations
    }
    return replace(done, violations=tuple(one for one in done.violations if one.condition in kept))


_TRIES, _NEAR = 6, Fraction(1, 10**6)


def _beside(scenario: Scenario, run_d: Run) -> Iterator[Scenario]:
    """Scenarios with slightly other noise wherever noise is continuous: a few directions, always the same."""
    chance = Random(0)
    for _ in range(_TRIES):
        noise: dict[NoiseKey, Value] = dict(scenario.noise)
        for draw in run_d.draws:
            if draw.family in (nodes.Family.LAPLACE, nodes.Family.EXPONENTIAL):
                least = 1 if draw.family is nodes.Family.EXPONENTIAL else -1000
                noise[draw.key] = exact.add(draw.value, _NEAR * Fraction(chance.randint(least, 1000), 1000))
        yield replace(scenario, noise=tuple(noise.items()))


def _replayed(mechanism: nodes.Mechanism, scenario: Scenario, limit: int) -> tuple[Replay, bool]:
    """The replay as it is, and whether a selection had a tie to break."""
    run_d = _run_on_d(mechanism, scenario, limit)
    alignment = _Alignment(mechanism, scenario, run_d, limit)
    run_d_prime = alignment.run()
    steps = side_by_side(run_d, run_d_prime, alignment.shifts)
    cost = next((step.cost for step in reversed(steps) if step.cost is not None), ZERO)
    claim = _claim(alignment) if isinstance(run_d.ended, Finished) else None
    parted = _parting(steps)
    pair = _Pair(mechanism, run_d, run_d_prime, steps, parted)
    # Invariants relate two runs that go the same way: past the step where they part, these say nothing.
    broken = (found for at, found in alignment.broken_invariants if parted is None or at <= parted)
    done = Replay(
        scenario,
        run_d,
        run_d_prime,
        steps,
        cost,
        None if isinstance(claim, Violation) else claim,
        parted,
        (*_violations(pair, cost, claim), *alignment.unsettled(run_d, run_d_prime), *broken),
    )
    return done, run_d.tied or run_d_prime.tied or alignment.tied


def _run_on_d(mechanism: nodes.Mechanism, scenario: Scenario, limit: int) -> Run:
    reasons = check_scenario(mechanism, scenario)
    if reasons:
        raise ScenarioError(reasons)
    given = _given(scenario)
    source: NoiseSource = lambda site: given.get(site.key, ZERO)  # noqa: E731 - one expression, typed
    run_d = run(mechanism, scenario.parameters, scenario.data, source, limit)
    impossible = [
        f"`{variable_text(draw.key)}` on D: {reason}"
        for draw in run_d.draws
        if (reason := outside_support(draw.family, draw.args, draw.value)) is not None
    ]
    if impossible:
        raise ScenarioError(impossible)
    return run_d


def _claim(alignment: _Alignment) -> Number | Violation:
    try:
        return alignment.claim()
    except Stopped as stopped:
        if not isinstance(stopped.ended, Fault):
            raise
        return Violation(Condition.DEFINED, stopped.ended.span, stopped.ended.reason)


def side_by_side(
    run_d: Run, run_d_prime: Run, shifts: Mapping[NoiseKey, Number] = MappingProxyType({})
) -> tuple[PairedStep, ...]:
    """Match the steps of two runs in order: the same draw, or the same statement in the same round.

    `shifts` are those of the draws, as far as the second run's noise is the aligned noise of the first.
    """
    others = run_d_prime.steps
    places: dict[object, list[int]] = {}
    for number, step in enumerate(others):
        places.setdefault(_place(step), []).append(number)
    pairs: list[tuple[Step | None, Step | None]] = []
    reached = 0
    for step in run_d.steps:
        numbers = places.get(_place(step), [])
        position = bisect_left(numbers, reached)
        if position == len(numbers):
            pairs.append((step, None))
            continue
        pairs += [(None, other) for other in others[reached : numbers[position]]]
        pairs.append((step, others[numbers[position]]))
        reached = numbers[position] + 1
    pairs += [(None, other) for other in others[reached:]]
    return tuple(_with_costs(pairs, run_d, shifts))


def _place(step: Step) -> object:
    return step.key if isinstance(step, Draw) else (type(step), step.span, step.loop)


def _with_costs(
    pairs: list[tuple[Step | None, Step | None]], run_d: Run, shifts: Mapping[NoiseKey, Number]
) -> Iterator[PairedStep]:
    on_d = {draw.key: draw for draw in run_d.draws}
    cost: Number = ZERO
    for left, right in pairs:
        if isinstance(right, Draw) and right.key in shifts:
            shift = shifts[right.key]
            cost = exact.add(cost, _draw_cost(on_d[right.key], shift))
            yield PairedStep(left, right, shift, cost)
        else:
            yield PairedStep(left, right)


def _draw_cost(draw: Draw, shift: Number) -> Number:
    """|shift|/α; without a shift the rate, which may be irrational, is never computed."""
    if exact.sign(shift) == 0:
        return ZERO
    return exact.multiply(exact.absolute(shift), rate_of(draw.family, draw.args))


def _parting(steps: tuple[PairedStep, ...]) -> int | None:
    for number, step in enumerate(steps):
        match step.on_d, step.on_d_prime:
            case Decision(holds=left), Decision(holds=right) if left is not right:
                return number
            case (None, _) | (_, None):
                return number
            case _:
                pass
    return None


# --- violations -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    mechanism: nodes.Mechanism
    run_d: Run
    run_d_prime: Run
    steps: tuple[PairedStep, ...]
    parted: int | None

    @property
    def parting_test(self) -> Decision | None:
        """The test that holds on one run only, if that is how the runs part."""
        step = None if self.parted is None else self.steps[self.parted].on_d
        return step if isinstance(step, Decision) else None


def _violations(pair: _Pair, cost: Number, claim: Number | Violation | None) -> Iterator[Violation]:
    for one, which in ((pair.run_d, "D"), (pair.run_d_prime, "D'")):
        if isinstance(one.ended, Fault):
            yield Violation(one.ended.condition, one.ended.span, f"on {which}: {one.ended.reason}")
    if not isinstance(pair.run_d.ended, Finished):
        return
    difference = _output_violation(pair)
    yield from _draw_violations(pair, together=difference is None)
    if difference is not None:
        yield difference
    elif same_output(pair.run_d, pair.run_d_prime):
        yield from _count_violation(pair)
    if isinstance(claim, Violation):
        yield claim
    elif claim is not None and exact.compare(cost, claim) > 0:
        message = f"the alignment costs {cost}, more than {claim}"
        yield Violation(Condition.COST, pair.mechanism.privacy.span, message)


def _draw_violations(pair: _Pair, together: bool) -> Iterator[Violation]:
    """Scales that differ and aligned noise that is impossible.

    Where the outputs differ, nothing is said of draws past the step at which the runs part: their states have
    nothing to do with each other, and the outputs are what is wrong.
    """
    on_d = {draw.key: draw for draw in pair.run_d.draws}
    for step in pair.steps if together or pair.parted is None else pair.steps[: pair.parted]:
        right = step.on_d_prime
        if not isinstance(right, Draw) or right.key not in on_d:
            continue
        variable, left = variable_text(right.key), on_d[right.key]
        if not _same_distribution(left, right):
            message = f"`{variable}` is {_distribution(left)} on D and {_distribution(right)} on D'"
            yield Violation(Condition.SCALES, right.span, message)
        elif (reason := outside_support(right.family, right.args, right.value)) is not None:
            yield Violation(Condition.SUPPORT, right.span, f"the aligned `{variable}`: {reason}")


def _same_distribution(left: Draw, right: Draw) -> bool:
    return left.family is right.family and all(
        exact.same(before, after) for before, after in zip(left.args, right.args, strict=True)
    )


def _distribution(draw: Draw) -> str:
    return f"{draw.family.value}({', '.join(str(value) for value in draw.args)})"


def _count_violation(pair: _Pair) -> Iterator[Violation]:
    on_d, on_d_prime = draw_count(pair.run_d), draw_count(pair.run_d_prime)
    if on_d == on_d_prime or pair.parted is None:
        return
    step = pair.steps[pair.parted].on_d or pair.steps[pair.parted].on_d_prime
    assert step is not None
    message = f"the same output comes with {on_d} draws on D and {on_d_prime} on D'"
    yield Violation(Condition.DRAWS, step.span, message)


def _output_violation(pair: _Pair) -> Violation | None:
    """The first record that differs; where the runs part before it, the test at which they do so."""
    difference = _first_difference(pair.run_d, pair.run_d_prime)
    if difference is None:
        return None
    test = pair.parting_test
    emitted_before = sum(isinstance(step.on_d, Emitted) for step in pair.steps[: pair.parted])
    if test is None or emitted_before > difference.record:
        return Violation(Condition.OUTPUT, difference.span, difference.message)
    sides = "true on D, false on D'" if test.holds else "false on D, true on D'"
    return Violation(Condition.OUTPUT, test.span, f"this test is {sides}; {difference.message}")


@dataclass(frozen=True, slots=True)
class _Difference:
    span: Span
    message: str
    record: int


def _first_difference(run_d: Run, run_d_prime: Run) -> _Difference | None:
    """Where the outputs differ, or None.

    A run that was cut off, or stopped at a fault, might have emitted more: that it is shorter says nothing.
    """
    for number, (left, right) in enumerate(zip(run_d.output, run_d_prime.output, strict=False)):
        if (found := _record_difference(left, right)) is not None:
            span, message = found
            return _Difference(span, f"record {number}: {message}", number)
    short, long = sorted((run_d, run_d_prime), key=lambda one: len(one.output))
    number = len(short.output)
    if number == len(long.output) or not isinstance(short.ended, Finished):
        return None
    extra = long.output[number]
    which, other = ("D", "D'") if long is run_d else ("D'", "D")
    message = f"record {number} (`{extra.tag}`) exists on {which} but not on {other}"
    return _Difference(extra.statement.span, message, number)


def _record_difference(left: Record, right: Record) -> tuple[Span, str] | None:
    if left.tag != right.tag:
        return left.statement.span, f"`{left.tag}` on D, `{right.tag}` on D'"
    if [name for name, _ in left.fields] != [name for name, _ in right.fields]:
        return left.statement.span, "its fields on D are not its fields on D'"
    for part, (name, value), (_, other) in zip(left.statement.fields, left.fields, right.fields, strict=True):
        if not exact.same(value, other):
            return part.span, f"`{name}` is {value_text(value)} on D, {value_text(other)} on D'"
    return None


# --- what others confirm with runs ------------------------------------------------------------------------


def same_output(run_a: Run, run_b: Run) -> bool:
    """Whether both runs finished with the same records, in tags, fields and values. Raises `Undecided`."""
    return (
        isinstance(run_a.ended, Finished)
        and isinstance(run_b.ended, Finished)
        and _first_difference(run_a, run_b) is None
    )


def draw_count(run: Run) -> int:
    """How many random variables the run used."""
    return len(run.draws)


def aligned(replayed: Replay) -> tuple[tuple[NoiseKey, Number], ...]:
    """The aligned noise of a replay: every draw of the run on D', in the order in which D' draws."""
    return tuple((draw.key, draw.value) for draw in replayed.run_d_prime.draws)


def image(mechanism: nodes.Mechanism, scenario: Scenario) -> tuple[tuple[NoiseKey, Number], ...]:
    """The noise to which the alignment takes the noise of `scenario`; raises as `replay` does."""
    return aligned(replay(mechanism, scenario))
