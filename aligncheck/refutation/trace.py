"""How an event arises: the likeliest noise with which the run on D ends in it, replayed on D and on D'.

The ways through the program that end in the event are regions of noise, bounded by linear inequalities; the
likeliest point of one of them minimises the sum of |noise|/scale, which Z3 does exactly. The runs that are
shown are the interpreter's own: one that does not end in the event is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax import nodes
from aligncheck.meaning import exact, interpreter
from aligncheck.meaning.exact import Number, Undecided, Undefined, Value
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.events import Between, CompleteOutput, Constraint, Event, Exactly, OneOf, Raises
from aligncheck.refutation.execution import Execution, SymbolicPath
from aligncheck.refutation.states import WeightedChoice
from aligncheck.refutation.violation import Trace

_WAYS = 12
_MILLISECONDS = 400
_ROOM = Fraction(1, 64)
"""Points keep this far from the edges of their region, where it is wide enough: ties would decide there."""


def trace_of(mechanism: nodes.Mechanism, scenario: Scenario, event: Event, effort: Effort) -> Trace | None:
    """A run on D that ends in the event, and the run on D' with the same noise; None where none is found."""
    for noise, chosen in _points(mechanism, scenario.on_d, event, effort):
        runs = [
            _run(mechanism, scenario, inputs, noise, chosen)
            for inputs in (scenario.on_d, scenario.on_d_prime)
        ]
        if runs[0] is not None and runs[1] is not None and ends_in(runs[0], event):
            return Trace(runs[0], runs[1])
    return None


def _points(
    mechanism: nodes.Mechanism, inputs: dict[str, interpreter.Input], event: Event, effort: Effort
) -> Iterator[tuple[list[Fraction], list[int]]]:
    """Noise in the order of the draws, and chosen indices: for each way the likeliest, the best way first."""
    try:
        execution = Execution(mechanism, inputs, event, effort.step)
        ways = list(islice(execution.ways(), _WAYS))
        found = [(point, way) for way in ways if (point := _likeliest(way, effort)) is not None]
    except (NotComputable, OutOfTime, interpreter.Stopped, Undecided, Undefined):
        return
    for (_, noise), way in sorted(found, key=lambda pair: pair[0][0]):
        yield noise, [one.index for one in way.chosen if isinstance(one, WeightedChoice)]


def _likeliest(way: SymbolicPath, effort: Effort) -> tuple[Fraction, list[Fraction]] | None:
    """The weight and the noise of the likeliest point of a region, away from its edges if possible."""
    import z3

    for room in (_ROOM, Fraction(1, 4096), Fraction(0)):
        left = int(min(_MILLISECONDS, 1000 * effort.seconds_left()))
        if left <= 10:
            return None
        solver = z3.Optimize()
        solver.set("timeout", left)
        variables = [
            (z3.Int if noise.lattice else z3.Real)(f"h{place}") for place, noise in enumerate(way.noises)
        ]
        weights = []
        for variable, noise in zip(variables, way.noises, strict=True):
            size = z3.Real(f"|{variable}|")
            middle = _rational(z3, noise.location) if noise.location is not None else z3.RealVal(0)
            solver.add(size >= variable - middle, size >= middle - variable)
            if noise.one_sided:
                solver.add(variable >= 0)
            if noise.bounded:
                solver.add(variable * _rational(z3, noise.rate) <= 1)
            weights.append(size * _rational(z3, noise.rate))
        for form, (low, high) in way.restricted.items():
            value = z3.Sum([_rational(z3, coefficient) * variables[place] for place, coefficient in form])
            margin = 0 if all(way.noises[place].lattice for place, _ in form) else z3.RealVal(str(room))
            if low is not None:
                solver.add(value >= _rational(z3, low) + margin)
            if high is not None:
                solver.add(value <= _rational(z3, high) - margin)
        total = z3.Sum(weights) if weights else z3.RealVal(0)
        solver.minimize(total)
        if solver.check() == z3.sat:
            model = solver.model()
            return _number(model, total), [_number(model, variable) for variable in variables]
    return None


def _rational(z3: Any, value: Any) -> Any:
    """An exact number as a term; an irrational one about."""
    from aligncheck.refutation.irrationals import Surd, to_ball

    if isinstance(value, Surd):
        return z3.RealVal(str(Fraction(float(to_ball(value).mid())).limit_denominator(10**9)))
    return z3.RealVal(str(value))


def _number(model: Any, term: Any) -> Fraction:
    return Fraction(model.eval(term, model_completion=True).as_string())


def _run(
    mechanism: nodes.Mechanism,
    scenario: Scenario,
    inputs: dict[str, interpreter.Input],
    noise: Sequence[Fraction],
    chosen: Sequence[int],
) -> interpreter.Run | None:
    """The run with noise in the order of the draws; where it draws more, the rest is 0. Lattice noise counts
    steps.
    """
    given = _Given(noise, chosen)
    machine = interpreter.Machine(
        mechanism,
        inputs,
        given.draw,
        interpreter.STEP_LIMIT,
        functions=scenario.applied(mechanism),
        densities=given.draw_by_density,
    )
    try:
        return machine.run()
    except (Undecided, Undefined, interpreter.Stopped):
        return None


class _Given:
    """Draws that are given, in order."""

    def __init__(self, noise: Sequence[Fraction], chosen: Sequence[int]) -> None:
        self._noise = iter(noise)
        self._chosen = iter(chosen)

    def draw(self, site: interpreter.DrawSite) -> Number:
        """A `Noise`. A coin is chosen."""
        if site.family.coin:
            return Fraction(next(self._chosen, 0))
        value = next(self._noise, Fraction(0))
        if site.family.stepped:
            return exact.multiply(value, site.args[1])
        return value

    def draw_by_density(self, statement: interpreter.ByDensity, scope: interpreter.RunScope) -> Number:
        """A `DensitySource`."""
        if isinstance(statement, nodes.Choose):
            return Fraction(next(self._chosen, 0))
        return next(self._noise, Fraction(0))


# --- whether a run ends in an event -----------------------------------------------------------------------


def ends_in(run: interpreter.Run, event: Event) -> bool:
    """Whether a run's outcome belongs to an event. Raises `Undecided`."""
    match event:
        case Raises():
            return isinstance(run.ended, interpreter.Fault)
        case OneOf(outputs=outputs):
            return any(ends_in(run, output) for output in outputs)
        case CompleteOutput(records=records, complete=complete):
            if complete and (
                not isinstance(run.ended, interpreter.Finished) or len(run.output) != len(records)
            ):
                return False
            if len(run.output) < len(records):
                return False
            return all(
                pattern.tag == record.tag
                and all(
                    _meets(dict(record.fields).get(name), constraint) for name, constraint in pattern.fields
                )
                for pattern, record in zip(records, run.output, strict=False)
            )


def _meets(value: Value | None, constraint: Constraint) -> bool:
    if value is None:
        return False
    match constraint:
        case Exactly(value=wanted):
            other = wanted if isinstance(wanted, bool) or not isinstance(wanted, int) else Fraction(wanted)
            return exact.same(value, other)
        case Between(low=low, high=high):
            if isinstance(value, bool):
                return False
            above = low is None or exact.compare(value, low) >= 0
            return above and (high is None or exact.compare(value, high) <= 0)
