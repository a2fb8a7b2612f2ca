"""The replay of one alignment on two databases, with exact arithmetic.

`replay` runs D, which fixes the output ω, then D' with the aligned noise η' = η + shift, each shift evaluated
where its variable is drawn; it lists every condition of the lemma that this concrete pair of runs violates. A
counterexample is shown to a person only if it is confirmed here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import takewhile
from random import Random
from types import MappingProxyType
from typing import TypeVar

from aligncheck.language.conditions import Condition
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import renews, rounds_of, shifts_in, statements_in
from aligncheck.language.unparse import unparse_expr
from aligncheck.meaning import exact, interpreter
from aligncheck.meaning.alignment import Alignment, BrokenCondition, run_on_d, same_input
from aligncheck.meaning.exact import ZERO, Number, Undecided, Value
from aligncheck.meaning.scenario import Scenario

T = TypeVar("T")

# --- what both runs did -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairedStep:
    """The same step on both runs; None where only one run takes it.

    For a draw on D' that D makes too, `shift` is η' - η and `cost` the alignment cost up to and including it;
    `unmoved` says why a line with a guard does not move it.
    """

    on_d: interpreter.Step | None
    on_d_prime: interpreter.Step | None
    shift: Number | None = None
    cost: Number | None = None
    unmoved: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """Both runs side by side.

    `cost` is the sum of |η' - η|/α over the draws that both runs make; `claim` the value of the `privacy`
    line for the output of D (None where it has none), and `most` that of its bound, if it gives one. Where
    the run on D does not finish there is no output, hence no alignment: the noise on D' is then the noise on
    D. `parted` is the number of the step at which the runs take other ways, if they do.

    `cycle` are draws of which the shift of each reads the next one, on D or aligned, and that of the last one
    the first (one draw: its shift reads itself); () where there are none, and the shifts of this pair
    have an order. Arms of tests and selections of the program are no readings: the output has to show them. A
    cycle is no violation by itself, since an alignment with one may be one-to-one all the same; but where a
    draw needs its own aligned value, it has none, and `acyclic` is violated.
    """

    scenario: Scenario
    run_d: interpreter.Run
    run_d_prime: interpreter.Run
    steps: tuple[PairedStep, ...]
    cost: Number
    claim: Number | None
    parted: int | None
    violations: tuple[BrokenCondition, ...]
    cycle: tuple[interpreter.NoiseKey, ...] = ()
    most: Number | None = None

    def violates(self, condition: Condition) -> bool:
        """Whether this condition is among the violations."""
        return any(violation.condition is condition for violation in self.violations)


# --- the replay -------------------------------------------------------------------------------------------


def replay(
    mechanism: nodes.Mechanism,
    scenario: Scenario,
    limit: int = interpreter.STEP_LIMIT,
    on_d: tuple[interpreter.Run, interpreter.Machine] | None = None,
) -> Replay:
    """Run D, then D' with the aligned noise, and list what this pair of runs violates. `on_d` is what
    `run_on_d` gave for the same scenario, whatever the alignment was: then D is not run again.

    Where values are equal, in a selection or a test, only those conditions count that noise beside it
    violates, too: with continuous noise ties have probability 0, and an alignment may do anything with them.

    Raises `ScenarioError` where the scenario is not legal (`check_scenario`, or noise on D outside of its
    support) and `Undecided` where exact arithmetic cannot decide.
    """
    done, tied = _replayed(mechanism, scenario, limit, on_d)
    if not tied or not done.violations:
        return done
    if all(draw.family.discrete for draw in done.run_d.draws):
        return done
    wanted, kept = {one.condition for one in done.violations}, set[Condition]()
    for near in beside(scenario, done.run_d):
        kept |= {one.condition for one in _replayed(mechanism, near, limit)[0].violations}
        if kept >= wanted:
            break
    return replace(done, violations=tuple(one for one in done.violations if one.condition in kept))


_TRIES, _NEAR = 24, Fraction(1, 10**6)


def beside(scenario: Scenario, run_d: interpreter.Run) -> Iterator[Scenario]:
    """Scenarios with slightly other noise wherever noise is continuous: a few directions, always the same."""
    chance = Random(0)
    for _ in range(_TRIES):
        noise: dict[interpreter.NoiseKey, Value] = dict(scenario.noise)
        for draw in run_d.draws:
            if not draw.family.discrete:
                least = 1 if draw.family.one_sided else -1000
                noise[draw.key] = exact.add(draw.value, _NEAR * Fraction(chance.randint(least, 1000), 1000))
        yield replace(scenario, noise=tuple(noise.items()))


def _replayed(
    mechanism: nodes.Mechanism,
    scenario: Scenario,
    limit: int,
    on_d: tuple[interpreter.Run, interpreter.Machine] | None = None,
) -> tuple[Replay, bool]:
    """The replay as it is, and whether a run or the alignment met equal values."""
    run_d, machine_d = on_d or run_on_d(mechanism, scenario, limit)
    alignment = Alignment(mechanism, scenario, run_d, machine_d, limit)
    run_d_prime = alignment.run()
    steps = side_by_side(run_d, run_d_prime, alignment.shifts, alignment.unmoved, alignment.cost_of)
    cost = next((step.cost for step in reversed(steps) if step.cost is not None), ZERO)
    # A claim with a δ or in ρ averages over runs: of one run it says nothing.
    told_of_one = isinstance(run_d.ended, interpreter.Finished) and isinstance(mechanism.claim, nodes.Pure)
    claim = _value(alignment.claim) if told_of_one else None
    most = _value(alignment.most) if told_of_one else None
    parted = _parting(steps)
    pair = _Pair(mechanism, run_d, run_d_prime, steps, parted, alignment.not_covered)
    # Invariants relate two runs that go the same way: past the step where they part, these say nothing.
    broken = (found for at, found in alignment.broken_invariants if parted is None or at <= parted)
    # Where the output differs, that is what is wrong.
    unsettled = alignment.unsettled() if same_output(run_d, run_d_prime) else ()
    told = cost if alignment.cost_is_told else None
    done = Replay(
        scenario,
        run_d,
        run_d_prime,
        steps,
        cost,
        None if isinstance(claim, BrokenCondition) else claim,
        parted,
        (*_violations(pair, told, claim), *_bound_violation(mechanism, claim, most), *unsettled, *broken),
        alignment.cycle(),
        None if isinstance(most, BrokenCondition) else most,
    )
    return done, run_d.tied or run_d_prime.tied or alignment.tied


def _value(of_output: Callable[[], T]) -> T | BrokenCondition:
    try:
        return of_output()
    except interpreter.Stopped as stopped:
        if not isinstance(stopped.ended, interpreter.Fault):
            raise
        return BrokenCondition(Condition.DEFINED, stopped.ended.span, stopped.ended.reason)


def side_by_side(
    run_d: interpreter.Run,
    run_d_prime: interpreter.Run,
    shifts: Mapping[interpreter.NoiseKey, Number] = MappingProxyType({}),
    unmoved: Mapping[interpreter.NoiseKey, str] = MappingProxyType({}),
    cost_of: Callable[[interpreter.NoiseKey], Number] = lambda _: ZERO,
) -> tuple[PairedStep, ...]:
    """Match the steps of two runs in order: the same draw, or the same statement in the same round.

    `shifts` are those of the draws, as far as the second run's noise is the aligned noise of the first;
    `unmoved` says of some why a line does not move them, `cost_of` what each costs.
    """
    others = run_d_prime.steps
    together = takewhile(
        lambda both: _place(both[0]) == _place(both[1]), zip(run_d.steps, others, strict=False)
    )
    pairs: list[tuple[interpreter.Step | None, interpreter.Step | None]] = list(together)
    reached = len(pairs)
    places: dict[object, list[int]] = {}
    for number, step in enumerate(others[reached:], reached):
        places.setdefault(_place(step), []).append(number)
    for step in run_d.steps[reached:]:
        numbers = places.get(_place(step), [])
        position = bisect_left(numbers, reached)
        if position == len(numbers):
            pairs.append((step, None))
            continue
        pairs += [(None, other) for other in others[reached : numbers[position]]]
        pairs.append((step, others[numbers[position]]))
        reached = numbers[position] + 1
    pairs += [(None, other) for other in others[reached:]]
    return tuple(_with_costs(pairs, shifts, unmoved, cost_of))


def _place(step: interpreter.Step) -> object:
    return step.key if isinstance(step, interpreter.Draw) else (type(step), step.span, step.loop)


def _with_costs(
    pairs: list[tuple[interpreter.Step | None, interpreter.Step | None]],
    shifts: Mapping[interpreter.NoiseKey, Number],
    unmoved: Mapping[interpreter.NoiseKey, str],
    cost_of: Callable[[interpreter.NoiseKey], Number],
) -> Iterator[PairedStep]:
    cost: Number = ZERO
    for left, right in pairs:
        if isinstance(left, interpreter.Invoked) and isinstance(right, interpreter.Invoked):
            if _given_alike(left, right):
                left = replace(left, spent=ZERO)
            cost = exact.add(cost, left.spent)
            yield PairedStep(left, right, None, cost)
        elif isinstance(right, interpreter.Draw) and right.key in shifts:
            shift = shifts[right.key]
            cost = exact.add(cost, cost_of(right.key))
            yield PairedStep(left, right, shift, cost, unmoved.get(right.key, ""))
        else:
            yield PairedStep(left, right)


def _given_alike(left: interpreter.Invoked, right: interpreter.Invoked) -> bool:
    """Whether a call gets the same in both runs: then what it releases has one distribution, and is free."""
    return all(same_input(one, other) for (_, one), (_, other) in zip(left.given, right.given, strict=True))


def _parting(steps: tuple[PairedStep, ...]) -> int | None:
    for number, step in enumerate(steps):
        match step.on_d, step.on_d_prime:
            case interpreter.TakenTest(holds=left), interpreter.TakenTest(holds=right) if left is not right:
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
    run_d: interpreter.Run
    run_d_prime: interpreter.Run
    steps: tuple[PairedStep, ...]
    parted: int | None
    not_covered: Mapping[interpreter.CallKey, str | None]

    @property
    def parting_test(self) -> interpreter.TakenTest | None:
        """The test that holds on one run only, if that is how the runs part."""
        step = None if self.parted is None else self.steps[self.parted].on_d
        return step if isinstance(step, interpreter.TakenTest) else None


def _violations(
    pair: _Pair, cost: Number | None, claim: Number | BrokenCondition | None
) -> Iterator[BrokenCondition]:
    for one, which in ((pair.run_d, "D"), (pair.run_d_prime, "D'")):
        if isinstance(one.ended, interpreter.Fault):
            yield BrokenCondition(one.ended.condition, one.ended.span, f"on {which}: {one.ended.reason}")
    if not isinstance(pair.run_d.ended, interpreter.Finished):
        return
    yield from _call_violations(pair)
    difference = _output_violation(pair)
    yield from _draw_violations(pair, together=difference is None)
    if difference is not None:
        yield difference
    elif same_output(pair.run_d, pair.run_d_prime):
        yield from _count_violation(pair)
    if isinstance(claim, BrokenCondition):
        yield claim
    elif cost is not None and claim is not None and exact.compare(cost, claim) > 0:
        message = f"the alignment costs {cost}, more than {claim}"
        yield BrokenCondition(Condition.COST, pair.mechanism.privacy.span, message)


def _bound_violation(
    mechanism: nodes.Mechanism, claim: Number | BrokenCondition | None, most: Number | BrokenCondition | None
) -> Iterator[BrokenCondition]:
    """A claim that speaks of the output is at most its bound, whatever the output."""
    if isinstance(most, BrokenCondition):
        yield most
    elif (
        most is not None and not isinstance(claim, BrokenCondition | None) and exact.compare(claim, most) > 0
    ):
        if mechanism.most is None:
            raise InternalError("a bound without a value")
        message = f"for this output the claim is {claim}, more than its bound {most}"
        yield BrokenCondition(Condition.COST, mechanism.most.span, message)


def _call_violations(pair: _Pair) -> Iterator[BrokenCondition]:
    """Calls that do not get on D' what the called mechanism's theorem asks for."""
    for step in pair.steps if pair.parted is None else pair.steps[: pair.parted]:
        left, right = step.on_d, step.on_d_prime
        if not isinstance(left, interpreter.Invoked) or not isinstance(right, interpreter.Invoked):
            continue
        reason = pair.not_covered[left.key]
        if reason is not None:
            yield BrokenCondition(Condition.CALLS, left.span, reason)
        yield from _round_violations(pair.mechanism, left, right)


def _round_violations(
    mechanism: nodes.Mechanism, left: interpreter.Invoked, right: interpreter.Invoked
) -> Iterator[BrokenCondition]:
    """What ends the rounds of a call that is repeated, where that is another number, or truth, on D'."""
    calls = (s for s in statements_in(mechanism.body) if isinstance(s, nodes.Invoke) and s.span == left.span)
    test, *limits = rounds_of(next(calls).rounds) or (None,)
    for e, one, other in zip((*limits, test), left.rounds, right.rounds, strict=False):
        if e is not None and not exact.same(one, other):
            values = f"{interpreter.value_text(one)} on D and {interpreter.value_text(other)} on D'"
            yield BrokenCondition(Condition.CALLS, e.span, f"`{unparse_expr(e)}` is {values}")


def _draw_violations(pair: _Pair, together: bool) -> Iterator[BrokenCondition]:
    """Scales that differ and aligned noise that is impossible.

    Where the outputs differ, nothing is said of draws past the step at which the runs part: their states have
    nothing to do with each other, and the outputs are what is wrong.
    """
    on_d = {draw.key: draw for draw in pair.run_d.draws}
    renewed = {line.name for line in shifts_in(pair.mechanism.align) if renews(line)}
    for step in pair.steps if together or pair.parted is None else pair.steps[: pair.parted]:
        right = step.on_d_prime
        if not isinstance(right, interpreter.Draw) or right.key not in on_d:
            continue
        variable, left = interpreter.variable_text(right.key), on_d[right.key]
        if not _same_distribution(left, right):
            message = f"`{variable}` is {_distribution(left)} on D and {_distribution(right)} on D'"
            yield BrokenCondition(Condition.SCALES, right.span, message)
            continue
        reason = interpreter.outside_support(right.family, right.args, right.value)
        if reason is None and right.key[0] not in renewed and isinstance(pair.mechanism.claim, nodes.Pure):
            reason = interpreter.moved_at_no_price(left, right.value)
        if reason is not None:
            yield BrokenCondition(Condition.SUPPORT, right.span, f"the aligned `{variable}`: {reason}")


def _same_distribution(left: interpreter.Draw, right: interpreter.Draw) -> bool:
    """Whether their arguments are equal; a coin may have another chance, which it pays for."""
    return left.family is right.family and all(
        left.family.coin or exact.same(before, after)
        for before, after in zip(left.args, right.args, strict=True)
    )


def _distribution(draw: interpreter.Draw) -> str:
    return f"{draw.family.value}({', '.join(str(value) for value in draw.args)})"


def _count_violation(pair: _Pair) -> Iterator[BrokenCondition]:
    on_d, on_d_prime = len(pair.run_d.draws), len(pair.run_d_prime.draws)
    if on_d == on_d_prime or pair.parted is None:
        return
    step = pair.steps[pair.parted].on_d or pair.steps[pair.parted].on_d_prime
    if step is None:
        raise InternalError("no draw that only one run makes")
    message = f"the same output comes with {on_d} draws on D and {on_d_prime} on D'"
    yield BrokenCondition(Condition.DRAWS, step.span, message)


def _output_violation(pair: _Pair) -> BrokenCondition | None:
    """The first record that differs; where the runs part before it, the test at which they do so."""
    difference = _first_difference(pair.run_d, pair.run_d_prime)
    if difference is None:
        return None
    test = pair.parting_test
    emitted_before = sum(isinstance(step.on_d, interpreter.Emitted) for step in pair.steps[: pair.parted])
    if test is None or emitted_before > difference.record:
        return BrokenCondition(Condition.OUTPUT, difference.span, difference.message)
    sides = "true on D, false on D'" if test.holds else "false on D, true on D'"
    return BrokenCondition(Condition.OUTPUT, test.span, f"this test is {sides}; {difference.message}")


@dataclass(frozen=True, slots=True)
class _Difference:
    span: Span
    message: str
    record: int


def _first_difference(run_d: interpreter.Run, run_d_prime: interpreter.Run) -> _Difference | None:
    """Where the outputs differ, or None.

    A run that was cut off, or stopped at a fault, might have emitted more: that it is shorter says nothing.
    """
    for number, (left, right) in enumerate(zip(run_d.output, run_d_prime.output, strict=False)):
        if (found := _record_difference(left, right)) is not None:
            span, message = found
            return _Difference(span, f"record {number}: {message}", number)
    short, long = sorted((run_d, run_d_prime), key=lambda one: len(one.output))
    number = len(short.output)
    if number == len(long.output) or not isinstance(short.ended, interpreter.Finished):
        return None
    extra = long.output[number]
    which, other = ("D", "D'") if long is run_d else ("D'", "D")
    message = f"record {number} (`{extra.tag}`) exists on {which} but not on {other}"
    return _Difference(extra.statement.span, message, number)


def _record_difference(
    left: interpreter.EmittedRecord, right: interpreter.EmittedRecord
) -> tuple[Span, str] | None:
    if left.tag != right.tag:
        return left.statement.span, f"`{left.tag}` on D, `{right.tag}` on D'"
    if [name for name, _ in left.fields] != [name for name, _ in right.fields]:
        return left.statement.span, "its fields on D are not its fields on D'"
    for part, (name, value), (_, other) in zip(left.statement.fields, left.fields, right.fields, strict=True):
        if not exact.same(value, other):
            return (
                part.span,
                f"`{name}` is {interpreter.value_text(value)} on D, {interpreter.value_text(other)} on D'",
            )
    return None


# --- what others confirm with runs ------------------------------------------------------------------------


def same_output(run_a: interpreter.Run, run_b: interpreter.Run) -> bool:
    """Whether both runs finished with the same records, in tags, fields and values. Raises `Undecided`."""
    return (
        isinstance(run_a.ended, interpreter.Finished)
        and isinstance(run_b.ended, interpreter.Finished)
        and _first_difference(run_a, run_b) is None
    )


def aligned(replayed: Replay) -> tuple[tuple[interpreter.NoiseKey, Number], ...]:
    """The aligned noise of a replay: every draw of the run on D', in the order in which D' draws.

    Raises `Undecided` where that run stops before its end: its later noise may be anything.
    """
    if not isinstance(replayed.run_d_prime.ended, interpreter.Finished):
        raise Undecided("the run on D' does not come to its end")
    return tuple((draw.key, draw.value) for draw in replayed.run_d_prime.draws)
