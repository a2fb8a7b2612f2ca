"""Aligned noise: what the `align` section makes of the noise of one run, exactly.

A shift may read aligned noise that comes later, and what a set gives in the complete run on D'. So each
aligned draw is worked out when it is first needed, in whatever order this asks for. Where there is no order,
a draw needs its own value: that violates `acyclic`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from aligncheck.language.conditions import Condition
from aligncheck.language.families import Moves, Slope
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes, walk
from aligncheck.language.unparse import unparse_expr
from aligncheck.meaning import exact
from aligncheck.meaning.exact import ZERO, Number, Undecided, Value
from aligncheck.meaning.interpreter import (
    Assigned,
    CallKey,
    CallSite,
    Deferred,
    Draw,
    DrawSite,
    EmittedRecord,
    Fault,
    Finished,
    Input,
    Invoked,
    Machine,
    NoiseKey,
    Origin,
    Reading,
    Round,
    Run,
    RunScope,
    Selected,
    State,
    Stopped,
    Tally,
    chance_of,
    integer_of,
    number_of,
    outside_support,
    rate_of,
    released,
    selects,
    state_of,
    truth_of,
    value_text,
    variable_text,
)
from aligncheck.meaning.scenario import (
    CallNoise,
    Scenario,
    ScenarioError,
    call_source,
    check_scenario,
    execute,
    impossible_noise,
    machine_on_d,
    numbers_of,
)


@dataclass(frozen=True, slots=True)
class BrokenCondition:
    """A condition that this pair of runs violates, where, and how (in the spec's words)."""

    condition: Condition
    span: Span
    message: str


def run_on_d(mechanism: nodes.Mechanism, scenario: Scenario, limit: int) -> tuple[Run, Machine]:
    """The run on D, with the callees executed. Raises `ScenarioError` and `Undecided` as `replay` does."""
    reasons = check_scenario(mechanism, scenario)
    if walk.has_densities(mechanism.body):
        reasons = ["the mechanism draws by densities: it has no alignment to replay"]
    if reasons:
        raise ScenarioError(reasons)
    return _run_of_legal(mechanism, scenario, limit)


def _run_of_legal(mechanism: nodes.Mechanism, scenario: Scenario, limit: int) -> tuple[Run, Machine]:
    """The same, of a scenario that was checked."""
    machine = machine_on_d(mechanism, scenario, limit, call_source(scenario.calls, limit))
    run = machine.run()
    if impossible := impossible_noise(run):
        raise ScenarioError(impossible)
    return run, machine


def called_pair(on_d: Invoked, on_d_prime: CallSite, callee: nodes.Mechanism) -> Scenario:
    """What a callee gets on D and on D', without its noise. Raises `ScenarioError` where public inputs
    differ.
    """
    private = {name for item in callee.inputs if isinstance(item, nodes.Queries) for name in item.names}
    others = dict(on_d_prime.given)
    public = tuple((name, value) for name, value in on_d.given if name not in private)
    for name, value in public:
        if not same_input(value, others[name]):
            text = f"`{name}` is {value_text(value)} on D, {value_text(others[name])} on D'"
            raise ScenarioError([f"`{on_d.mechanism}` is called where {text}"])
    data = tuple((name, value) for name, value in on_d.given if name in private)
    return Scenario(public, data, tuple((name, others[name]) for name, _ in data))


def same_input(one: Input, other: Input) -> bool:
    """Whether two inputs are equal."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(exact.same, one, other))
    return not isinstance(one, tuple) and not isinstance(other, tuple) and exact.same(one, other)


def _not_covered(on_d: Invoked, on_d_prime: CallSite, callee: nodes.Mechanism) -> str | None:
    """Why the theorem of a callee says nothing of what it gets on D and on D', or None."""
    try:
        reasons = check_scenario(callee, called_pair(on_d, on_d_prime, callee))
    except ScenarioError as differing:
        return differing.reasons[0]
    if not reasons:
        return None
    return f"`{on_d.mechanism}` is called with what its proof does not cover: {reasons[0]}"


# --- what names mean --------------------------------------------------------------------------------------

_Environment: TypeAlias = tuple[Mapping[str, State], Mapping[str, Origin]]
_Held: TypeAlias = tuple[State, Origin | None]
"""What a variable holds, and the noise in it."""


class _AlignScope(RunScope):
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
        prime: RunScope,
        output: tuple[EmittedRecord, ...],
        environment: _Environment,
        bound: Mapping[str, Value],
    ) -> None:
        super().__init__(inputs, tally)
        self.variables, self.origins = dict(environment[0]), dict(environment[1])
        self.bound = dict(bound)
        self.read = prime.read
        self.functions = prime.functions
        self._noise = noise
        self._prime = prime
        self._output = output

    def drawn(self, key: NoiseKey) -> Number | None:
        return self._noise(key)

    def whole(self, name: str, primed: bool = False) -> tuple[Value, ...] | None:
        return self._prime.whole(name) if primed else super().whole(name)

    def selected(self, name: str, primed: bool = False) -> Selected | None:
        return self._prime.selected(name) if primed else super().selected(name)

    def value(self, node: nodes.Name) -> Value:
        if not node.primed:
            return super().value(node)
        plain = nodes.Name(node.ident, span=node.span)
        return super().value(plain) if node.ident in self.bound else self._prime.value(plain)

    def entry(self, node: nodes.Index, index: int) -> Value:
        if node.primed:
            return self._prime.entry(nodes.Index(node.base, node.index, span=node.span), index)
        return super().entry(node, index)

    def output(self, node: nodes.Node) -> tuple[EmittedRecord, ...]:
        return self._output


class _Ahead(RunScope):
    """The state of the run on D' at some place, which that run may not have come to yet."""

    def __init__(
        self,
        inputs: Mapping[str, Input],
        tally: Tally,
        held: Callable[[str], _Held | None],
        noise: Callable[[NoiseKey], Number | None],
    ) -> None:
        super().__init__(inputs, tally)
        self._held = held
        self._noise = noise

    def variable(self, name: str) -> State | None:
        held = self._held(name)
        return None if held is None else held[0]

    def origin(self, name: str) -> Origin | None:
        held = self._held(name)
        return None if held is None else held[1]

    def drawn(self, key: NoiseKey) -> Number | None:
        return self._noise(key)


# --- aligned noise ----------------------------------------------------------------------------------------


class _Cycle(Stopped):
    """A draw that needs its own aligned value."""


_MOST_NAMED = 4
_SHIFT_STEPS = 20
"""All shifts of a run together may range over this many times as many indices as one run may take steps."""


class Alignment:
    """The noise source of the run on D': η' = η + shift, as the `align` section says.

    The noise function H of D is total: a draw that is not listed, or that D does not reach, is 0. A variable
    that D does not draw keeps its value on D', since there is no place on D to evaluate its shift in.

    What a set gives on D', `best'`, is evaluated with the aligned noise before the run on D' comes to it. The
    set may be what was not selected (`where i not in winners`), and to select needs the very noise that is
    being aligned. An output that shows the selection fixes it for both runs: that of D is then used, and
    `unsettled` tells afterwards where the run on D' selects something else.

    Callees are executed on D' too, with the noise to which their own alignments take their noise on D, where
    their theorems cover what they get. Elsewhere, and where they draw by densities, they keep that noise.

    `shifts` are those worked out so far, `reads` the noise that each of them read, on D or aligned, `unmoved`
    why the first line with a guard that does not hold does not move a draw; `not_covered` says of the calls
    that both runs make why their theorems say nothing of them, or None.
    """

    def __init__(
        self, mechanism: nodes.Mechanism, scenario: Scenario, run_d: Run, machine_d: Machine, limit: int
    ) -> None:
        self._mechanism = mechanism
        self._machine_d = machine_d
        self._inputs, self._inputs_prime = scenario.on_d, scenario.on_d_prime
        self._parameters = frozenset(name for name, _ in scenario.parameters)
        self._given = numbers_of(scenario.noise)
        self._limit = limit
        self._calls_on_d = {step.key: step for step in run_d.steps if isinstance(step, Invoked)}
        self._call_noise = dict(scenario.calls)
        self._sampled = {s.name for s in walk.statements_in(mechanism.body) if isinstance(s, nodes.Sample)}
        self._on_d = {draw.key: draw for draw in run_d.draws}
        self._output = run_d.output
        self._finished = isinstance(run_d.ended, Finished)
        gathered = walk.gathered_in_full(mechanism.body)
        self._gathered_on_d = {
            step.name: step.value
            for step in run_d.steps
            if isinstance(step, Assigned) and step.name in gathered
        }
        self._gathered_origins = {
            name: origin for name, origin in machine_d.scope.origins.items() if name in gathered
        }
        self._of_rounds = _lists_of_rounds(mechanism, run_d)
        self._gathers = {
            statement.name: number
            for number, statement in enumerate(mechanism.body)
            if isinstance(statement, nodes.Assign) and statement.name in gathered
        }
        self._functions = scenario.applied(mechanism)
        self._function_values = scenario.functions
        self._machine = Machine(
            mechanism,
            self._inputs_prime,
            self._source,
            limit,
            self._at_round,
            self._released,
            self._functions,
        )
        self._rounds = {(one.statement.span, one.loop): one for one in run_d.rounds}
        self._tally = Tally(limit * _SHIFT_STEPS)
        self._sites: dict[NoiseKey, DrawSite] = {}
        self._ahead: dict[int, _Held] = {}
        self._assumed: dict[str, State] = {}
        self._open: dict[NoiseKey | int, Span] = {}
        self._not_counted: list[NoiseKey] = []
        self._cost: Number = ZERO
        renewing = [line for line in walk.shifts_in(mechanism.align) if walk.renews(line)]
        self._renewed = {line.name for line in renewing}
        self._exchanged = {line.name for line in renewing if line.name not in walk.names_in(line.value)}
        self._stretched: dict[NoiseKey, Number] = {}
        self._replaced: set[NoiseKey] = set()
        self._taken: set[Reading] = set()
        self._plain = True
        self._around: tuple[NoiseKey, ...] = ()
        self.reads: dict[NoiseKey, dict[Reading, None]] = {}
        self.shifts: dict[NoiseKey, Number] = {}
        self.unmoved: dict[NoiseKey, str] = {}
        self.not_covered: dict[CallKey, str | None] = {}
        self.broken_invariants: list[tuple[int, BrokenCondition]] = []

    @cached_property
    def _writes(self) -> list[set[str]]:
        """The variables that each statement of the program writes."""
        return [
            {name for inner in walk.statements_in((statement,)) for name in walk.names_set(inner)}
            for statement in self._mechanism.body
        ]

    def run(self) -> Run:
        """The run on D', with the aligned noise."""
        return self._machine.run()

    def claim(self) -> Number:
        """The value of the `privacy` line, which may count records of the output of D. Raises `Stopped`."""
        return self._of_output(self._mechanism.privacy)

    def most(self) -> Number | None:
        """The value of the bound on the claim, if it has one. Raises `Stopped`."""
        return None if self._mechanism.most is None else self._of_output(self._mechanism.most)

    def _of_output(self, expr: nodes.Expr) -> Number:
        return number_of(expr, self._scope(({}, {}), {}, self._machine.scope))

    @property
    def tied(self) -> bool:
        """Whether a selection or test in a shift, or for one, met equal values."""
        return self._tally.tied

    def cycle(self) -> tuple[NoiseKey, ...]:
        """Draws of which the shift of each reads the next one, and that of the last one the first; or ()."""
        return self._around or _cycle_in(self.reads)

    def unsettled(self) -> Iterator[BrokenCondition]:
        """Selections on D' other than those that the aligned noise was worked out with."""
        for name, assumed in self._assumed.items():
            found = self._machine.scope.variables[name]
            if found != assumed:
                message = (
                    f"the aligned noise needs `{name}'`, which needs the aligned noise: with "
                    f"{value_text(assumed)} for it, the run on D' gives {value_text(found)}"
                )
                span = self._mechanism.body[self._gathers[name]].span
                yield BrokenCondition(Condition.ACYCLIC, span, message)

    def _released(self, site: CallSite) -> tuple[EmittedRecord, ...]:
        """What a callee releases on D'.

        Raises `Undecided` where it releases something else than on D although its theorem covers the call: by
        that theorem the noise for which this happens has probability 0 (ties).
        """
        on_d, callee = self._calls_on_d.get(site.key), site.contract.mechanism
        noise = self._call_noise.get(site.key, CallNoise())
        if on_d is not None:
            self.not_covered[site.key] = _not_covered(on_d, site, callee)
        if on_d is None or self.not_covered[site.key] is not None:
            return execute(site, noise, self._limit)
        if walk.has_densities(callee.body):
            records = execute(site, noise, self._limit)
        else:
            pair = replace(
                called_pair(on_d, site, callee),
                noise=noise.noise,
                calls=noise.calls,
                functions=self._function_values,
            )
            ones, machine = _run_of_legal(callee, pair, self._limit)
            records = released(site, Alignment(callee, pair, ones, machine, self._limit).run())
        if records != on_d.returned.records:
            raise Undecided(f"`{callee.name}` releases something else with its aligned noise")
        return records

    # --- aligned noise ------------------------------------------------------------------------------------

    def _noise_on_d(self, key: NoiseKey) -> Number | None:
        return self._given.get(key, ZERO) if key[0] in self._sampled else None

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
            self.reads[key] = {}
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
        self._around = tuple(key for key in (chain[first], *around) if not isinstance(key, int))
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
        if not isinstance(statement, nodes.Assign):
            raise InternalError("this statement is not evaluated ahead")
        return statement.name

    # --- the state of the run on D' -----------------------------------------------------------------------

    def _prime_at(self, draw: Draw) -> RunScope:
        """The state of the run on D' at a draw, and what sets give in that run when it is complete."""
        site = self._sites.get(draw.key)

        def held(name: str) -> _Held | None:
            if site is not None and name in site.environment:
                return site.environment[name], self._machine.origins_at[site.key].get(name)
            if name in self._gathers:
                return self._value_ahead(self._gathers[name])
            return None if site is not None else self._state_before(self._place(draw), name, inside=True)

        scope = _Ahead(self._inputs_prime, self._tally, held, self._aligned)
        scope.functions = self._functions
        scope.read = self.reads[draw.key]
        return scope

    def _place(self, draw: Draw) -> int:
        """The number of the statement of the program that makes a draw, or has it in its block."""
        body = self._mechanism.body
        return next(
            number
            for number, statement in enumerate(body)
            if any(
                isinstance(inner, nodes.Sample) and (inner.name, inner.span) == (draw.name, draw.span)
                for inner in walk.statements_in((statement,))
            )
        )

    def _state_before(self, place: int, name: str, inside: bool = False) -> _Held | None:
        """What a variable holds when D' comes to statement `place` (or is `inside` its block).

        Raises `Undecided` where only the run itself can tell, and has not come there yet.
        """
        reached = self._machine.reached
        writers = [number for number in range(place) if name in self._writes[number]]
        overwritten = any(name in writes for writes in self._writes[place : reached + 1])
        if writers and not overwritten and writers[-1] < reached:
            return self._held_now(name)
        in_block = writers and not isinstance(self._mechanism.body[writers[-1]], nodes.Assign)
        if overwritten or in_block or (inside and name in self._writes[place]):
            raise Undecided(f"`{name}'` is needed at another place than the run on D' is at")
        return self._value_ahead(writers[-1]) if writers else None

    def _held_now(self, name: str) -> _Held | None:
        state = self._machine.scope.variables.get(name)
        return None if state is None else (state, self._machine.scope.origins.get(name))

    def _value_ahead(self, number: int) -> _Held:
        """The value that assignment `number` of the program gives on D', whether or not D' has come to it."""
        statement = self._mechanism.body[number]
        if not isinstance(statement, nodes.Assign):
            raise InternalError("a block is not evaluated ahead")
        if number < self._machine.reached and statement.name in self._gathers:
            now = self._held_now(statement.name)
            if now is None:
                raise InternalError("an assignment that was passed has a value")
            return now
        if number not in self._ahead:
            if number in self._open:
                raise self._cycle(number)
            self._open[number] = statement.span
            try:
                self._ahead[number] = self._evaluated_ahead(number, statement)
            finally:
                del self._open[number]
        return self._ahead[number]

    def _evaluated_ahead(self, number: int, statement: nodes.Assign) -> _Held:
        def held(name: str) -> _Held | None:
            return self._state_before(number, name)

        scope = _Ahead(self._inputs_prime, self._tally, held, self._aligned)
        scope.functions = self._functions
        try:
            value = state_of(statement.value, scope)
        except _Cycle:
            if not selects(statement.value) or statement.name not in self._gathers:
                raise
            self._around = ()
            value = self._assumed[statement.name] = self._gathered_on_d[statement.name]
        return value, None if selects(statement.value) else Origin(tuple(scope.read))

    # --- lines of the alignment ---------------------------------------------------------------------------

    def _at_round(self, prime: Round) -> None:
        """Evaluate the author's invariants, on both runs, where a round starts that both runs reach."""
        on_d = self._rounds.get((prime.statement.span, prime.loop))
        if on_d is None or not self._finished:
            return
        for key in self._not_counted:
            self._aligned(key)
            if key in self.shifts:
                self._cost = exact.add(self._cost, self.cost_of(key))
        self._not_counted.clear()
        environment = {**on_d.environment, "alignment_cost": self._cost}
        for invariant in prime.statement.invariants:
            if self._renewed and "alignment_cost" in walk.names_in(invariant):
                continue  # what the kernel counts is a bound there, which this run need not attain
            wrong = _broken(invariant, self._scope((environment, {}), {}, self._machine.scope))
            if wrong is not None:
                rounds = ", ".join(f"{name} = {value_text(value)}" for name, value in prime.loop)
                found = BrokenCondition(
                    Condition.INVARIANT, invariant.span, f"{wrong} in the round with {rounds}"
                )
                self.broken_invariants.append((prime.at, found))

    def _shifts(self, items: tuple[nodes.AlignItem, ...], draw: Draw) -> Iterator[Number]:
        for item in items:
            match item:
                case nodes.Shift():
                    if item.name == draw.name:
                        yield self._shift(item, draw)
                case nodes.CaseSplit():
                    # A split that does not move this variable is passed over: its test may mean nothing here.
                    if any(shift.name == draw.name for shift in walk.shifts_in((item,))):
                        yield from self._shifts(self._arm(item, draw), draw)

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
            self.unmoved.setdefault(draw.key, self._why_not(line.guard, scope))
            return ZERO
        self._plain &= self._is_plain(line)
        if line.op == "=":
            return self._replacement(line, draw, scope)
        value = number_of(line.value, scope)
        return exact.negative(value) if line.op == "-=" else value

    def _why_not(self, guard: nodes.Expr, scope: _AlignScope) -> str:
        """What makes a guard false, for who reads the runs."""
        if isinstance(guard, nodes.OutIs) and guard.of == "out":
            number = integer_of(guard.index, scope, "an index")
            there = 0 <= number < len(self._output)
            what = f"is `{self._output[number].tag}`" if there else "is not there"
            return f"`out[{number}]` {what}"
        return f"not `{unparse_expr(guard)}`"

    def _replacement(self, line: nodes.Shift, draw: Draw, scope: RunScope) -> Number:
        """The shift of a line that gives the new value itself. It depends on its own draw, unless the line
        reads that draw to add to it.
        """
        reads = self.reads[draw.key]
        before = dict(reads)
        reads.clear()
        value = number_of(line.value, scope)
        adds_to_it = draw.key in reads
        if walk.renews(line) and not adds_to_it:
            self._replaced.add(draw.key)
            self._taken.update(reads)
        if adds_to_it:
            del reads[draw.key]
        else:
            reads[draw.key] = None
        reads |= before
        if walk.renews(line):
            self._plain &= draw.key not in self._stretched
            self._stretched[draw.key] = self._stretch(line, scope)
        return exact.subtract(value, draw.value)

    @property
    def cost_is_told(self) -> bool:
        """Whether the Jacobian is the product that `cost_of` takes it for: each draw in another's place is
        that draw and no more noise, draws whose place is taken are in other places themselves, and the rest
        have an order, by which their rows are triangular.
        """
        others = {key: reads for key, reads in self.reads.items() if key not in self._replaced}
        changed = self._plain and self._taken <= self._replaced
        return not self._renewed or (changed and not _cycle_in(others))

    def _is_plain(self, line: nodes.Shift) -> bool:
        """Whether a new value reads its own draw at one place, or one draw that takes its place and no other;
        and what is added to such a draw does not read it, or any.
        """
        names = (e for e in walk.subexpressions(line.value) if isinstance(e, nodes.Name | nodes.Index))
        read = [e.ident if isinstance(e, nodes.Name) else e.base for e in names]
        counted = self._sampled if line.name in self._exchanged else {line.name}
        wanted = 1 if line.op == "=" else 0
        return line.name not in self._renewed or sum(x in counted for x in read) == wanted

    def _stretch(self, line: nodes.Shift, scope: RunScope) -> Number:
        """ln |r| where the draw is divided by r, which is what its Jacobian costs; 0 where another draw takes
        its place.
        """
        own = walk.moved_by(line)
        for term, _ in walk.signed_terms(line.value):
            match term:
                case nodes.Binary(op="/", left=left, right=by) if left == own:
                    return self._ln(number_of(by, scope))
                case nodes.Binary(op="*", left=left, right=right) if own in (left, right):
                    return exact.negative(self._ln(number_of(right if left == own else left, scope)))
                case _ if term == own:  # subtracted
                    return ZERO
                case nodes.Name(ident=x, primed=False) | nodes.Index(base=x, primed=False) if (
                    x in self._sampled and x != line.name
                ):
                    if line.name in self._exchanged:
                        return ZERO
        self._plain = False
        return ZERO

    def _ln(self, factor: Number) -> Number:
        size = exact.absolute(factor)
        if exact.sign(size) == 0:
            self._plain = False
            return ZERO
        return exact.ln(size)

    def cost_of(self, key: NoiseKey) -> Number:
        """What a draw costs that the alignment moves, or whose chance is another on D'."""
        draw = self._on_d[key]
        if draw.family.coin:
            return _coin_cost(
                draw, self.shifts[key], self._sites[key].args if key in self._sites else draw.args
            )
        cost = _draw_cost(draw, self.shifts[key], bool(self._renewed))
        return exact.add(cost, self._stretched.get(key, ZERO))

    def _binder(self, line: nodes.Shift) -> str | None:
        if isinstance(line.index, nodes.Name) and line.index.ident not in self._parameters:
            return line.index.ident
        return None

    def _scope_at(self, draw: Draw, bound: Mapping[str, Value]) -> _AlignScope:
        variables = {**self._gathered_on_d, **draw.environment, **self._of_rounds.get(draw.key, {})}
        origins = {**self._gathered_origins, **self._machine_d.origins_at[draw.key]}
        return self._scope((variables, origins), bound, self._prime_at(draw))

    def _scope(self, environment: _Environment, bound: Mapping[str, Value], prime: RunScope) -> _AlignScope:
        return _AlignScope(
            self._inputs, self._tally, self._noise_on_d, prime, self._output, environment, bound
        )


def _lists_of_rounds(mechanism: nodes.Mechanism, run: Run) -> dict[NoiseKey, dict[str, State]]:
    """For each draw the lists that its round selects after it."""
    if not any(isinstance(step, Assigned) and isinstance(step.value, tuple) for step in run.steps):
        return {}
    around = {name: walk.selected_around(name, mechanism.body) for name in {draw.name for draw in run.draws}}
    later: dict[str, Assigned] = {}
    found: dict[NoiseKey, dict[str, State]] = {}
    for step in reversed(run.steps):
        if isinstance(step, Assigned):
            later[step.name] = step
        elif isinstance(step, Draw):
            next_ = (later[name] for name in around[step.name] if name in later)
            found[step.key] = {each.name: each.value for each in next_ if each.span.start > step.span.start}
    return found


def _known(value: Number | None) -> Number:
    if value is None:
        raise InternalError("a draw that D' makes has a value")
    return value


def _broken(invariant: nodes.Expr, scope: RunScope) -> str | None:
    try:
        return None if truth_of(invariant, scope) else "this line does not hold"
    except Stopped as stopped:
        reason = stopped.ended.reason if isinstance(stopped.ended, Fault) else "it is too long"
        return f"this line has no value ({reason})"


def _cycle_in(reads: Mapping[NoiseKey, Collection[Reading]]) -> tuple[NoiseKey, ...]:
    """The draws around a cycle of what reads what, by way of variables too; () where there is none."""
    done: set[Reading] = set()
    for start in reads:
        path: dict[Reading, Iterator[Reading]] = {start: iter(reads[start])}
        while path:
            last = next(reversed(path))
            following = next(path[last], None)
            if following is None:
                done.add(last)
                del path[last]
            elif following in path:
                around = list(path)
                return tuple(
                    found for found in around[around.index(following) :] if not isinstance(found, Origin)
                )
            elif following not in done:
                path[following] = iter(
                    following.of if isinstance(following, Origin) else reads.get(following, ())
                )
    return ()


def _coin_cost(draw: Draw, shift: Number, args: tuple[Number, ...]) -> Number:
    """ln f(b)/f'(b'), where f is the distribution on D and f' that on D', with these arguments; 0 where b' is
    no side of a coin, which is another fault.
    """
    value = exact.add(draw.value, shift)
    if outside_support(draw.family, args, value) is not None:
        return ZERO
    before, after = chance_of(draw.args[0], draw.value), chance_of(args[0], value)
    return ZERO if exact.same(before, after) else exact.ln(exact.divide(before, after))


def _draw_cost(draw: Draw, shift: Number, renewed: bool) -> Number:
    """|shift|/α; without a shift the rate, which may be irrational, is never computed.

    Where some line renews draws (divides them, or exchanges them: `renews`), densities are compared one for
    all, and there is the Jacobian (`_stretch`). Then this is the logarithm of the densities' quotient, or for
    Cauchy and Gumbel noise a bound from below: what is more than the claim is too much for Theorem 4, too.
    """
    if exact.sign(shift) == 0:
        return ZERO
    if draw.family.row.slope is Slope.STAIRS:
        return exact.negative(draw.args[0]) if renewed else draw.args[0]
    if renewed:
        rate = rate_of(draw.family, draw.args)
        if draw.family.row.moves is Moves.UP:  # see `Family.GUMBEL`
            left = exact.exp(exact.negative(exact.multiply(draw.value, rate)))
            return exact.subtract(exact.multiply(shift, rate), left)
        if draw.family.row.tail is not None:
            return exact.negative(exact.multiply(exact.absolute(shift), rate))
        farther = exact.subtract(exact.absolute(exact.add(draw.value, shift)), exact.absolute(draw.value))
        return exact.multiply(farther, rate)
    return exact.multiply(exact.absolute(shift), rate_of(draw.family, draw.args))
