"""Arguments with which a mechanism's runs on two given databases are likely to be told apart.

What adds noise gets the value that adds least; what adds none is chosen so that the two runs, without noise,
part as often as possible. These are choices and claim nothing.

Source: Ding's dissertation, section 4.3.4, Algorithm 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise
from typing import TypeAlias

from aligncheck.language.syntax.nodes import SELECTING, Gather, Mechanism, Parameter, Queries, Sort
from aligncheck.meaning.exact import Undecided, Undefined, decimal
from aligncheck.meaning.interpreter import Assigned, Input, Inputs, Run, Stopped, TakenTest, run
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.databases import legal, parameter_choices

Database: TypeAlias = Mapping[str, Fraction | tuple[Fraction, ...]]
"""The private inputs, by name."""


def spread(mechanism: Mechanism, answers: Sequence[Fraction]) -> Database | None:
    """A list of answers as the private inputs of a mechanism, in their order: one for each single answer, and
    equal shares of the others for the lists, what is left over going nowhere. None where there are too few.
    """
    private = private_inputs(mechanism)
    lists = sum(vector for _, vector in private)
    rest = iter(answers)
    share = (len(answers) - len(private) + lists) // lists if lists else 0
    if not private or len(answers) < len(private):
        return None
    return {name: tuple(islice(rest, share)) if vector else next(rest) for name, vector in private}


def private_inputs(mechanism: Mechanism) -> tuple[tuple[str, bool], ...]:
    """The names of its private inputs, and whether they are lists."""
    groups = [item for item in mechanism.inputs if isinstance(item, Queries)]
    return tuple((name, group.vector) for group in groups for name in group.names)


def telling_arguments(
    mechanism: Mechanism, first: Database, second: Database, fixed: Mapping[str, Input]
) -> Inputs | None:
    """The public inputs for D and D', `fixed` ones included; None where none are found that the declarations
    allow.
    """
    length = max((len(each) for each in first.values() if isinstance(each, tuple)), default=1)
    starts = (
        Scenario(parameters, tuple(first.items()), tuple(second.items()))
        for parameters in parameter_choices(mechanism, length, fixed)
    )
    noises = {
        start: noise
        for start in starts
        if legal(mechanism, start) and (noise := _noise(mechanism, start)) is not None
    }
    if not noises:
        return None
    least = min(noises.values())
    placed = [_with_places(mechanism, start, fixed) for start, noise in noises.items() if noise == least]
    return max(placed, key=lambda each: _parted(mechanism, each)).parameters


def _noise(mechanism: Mechanism, start: Scenario) -> Fraction | None:
    """The greatest scale of a draw in the run without noise; None where it does not come to its end."""
    done = _quietly(mechanism, start.parameters, start.data)
    if done is None:
        return None
    scales = [draw.args[0] for draw in done.draws if draw.args]
    return max((Fraction(decimal(scale)) for scale in scales), default=Fraction(0))


def _with_places(mechanism: Mechanism, start: Scenario, fixed: Mapping[str, Input]) -> Scenario:
    """With other places (numbers without a range, such as thresholds), one after the other: among the answers
    and halfway between them, where the runs part most often.
    """
    values = {x for _, held in (*start.data, *start.data_prime) for x in _numbers(held)}
    ordered = sorted(values)
    between = [(low + high) / 2 for low, high in pairwise(ordered)]
    for item in mechanism.inputs:
        place = isinstance(item, Parameter) and item.sort is Sort.REAL and item.where is None
        if isinstance(item, Parameter) and place and item.name not in fixed:
            tried = [start, *(_placed(start, item.name, x) for x in (*ordered, *between))]
            start = max(tried, key=lambda each: _parted(mechanism, each))
    return start


def _numbers(held: Input) -> tuple[Fraction, ...]:
    values = held if isinstance(held, tuple) else (held,)
    return tuple(x for x in values if isinstance(x, Fraction))


def _placed(start: Scenario, name: str, value: Fraction) -> Scenario:
    return replace(start, parameters=tuple((n, value if n == name else x) for n, x in start.parameters))


def _parted(mechanism: Mechanism, pair: Scenario) -> int:
    """How many tests and selections come out differently in the two runs without noise."""
    runs = [_quietly(mechanism, pair.parameters, data) for data in (pair.data, pair.data_prime)]
    if runs[0] is None or runs[1] is None:
        return -1
    left, right = (_outcomes(done) for done in runs if done is not None)
    return sum(result != right[place] for place, result in left.items() if place in right)


def _outcomes(done: Run) -> dict[object, object]:
    """How each test and each selection came out, by its place and its rounds."""
    found: dict[object, object] = {}
    for step in done.steps:
        if isinstance(step, TakenTest):
            found[step.span, step.loop] = step.holds
        elif isinstance(step, Assigned) and isinstance(step.expression, Gather):
            chosen = step.expression.function in (*SELECTING, "argmax", "argmin")
            found[step.span, step.loop] = step.value if chosen else None
    return found


def _quietly(mechanism: Mechanism, parameters: Inputs, data: Inputs) -> Run | None:
    """The run without noise; None where it does not come to its end."""
    try:
        return run(mechanism, parameters, dict(data), lambda site: Fraction(0))
    except (Stopped, Undecided, Undefined):
        return None


def parameters_of(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of its public numbers."""
    return tuple(item.name for item in mechanism.inputs if isinstance(item, Parameter))
