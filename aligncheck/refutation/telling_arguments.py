"""Arguments with which a mechanism's runs on two given databases are likely to be told apart.

What adds noise gets the value that adds least; what adds none is chosen so that the two runs, without noise,
part as often as possible. These are choices and claim nothing.

Source: Ding's dissertation, section 4.3.4, Algorithm 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

from aligncheck.language.syntax.nodes import Mechanism, Parameter, Queries
from aligncheck.meaning.exact import Undecided, Undefined, decimal
from aligncheck.meaning.interpreter import Input, Inputs, Stopped, run
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.databases import legal, parameter_choices
from aligncheck.refutation.parting import parting_places

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
    best: tuple[tuple[Fraction, int], Inputs] | None = None
    for parameters in parameter_choices(mechanism, length, fixed):
        start = Scenario(parameters, tuple(first.items()), tuple(second.items()))
        noise = _noise(mechanism, parameters, first) if legal(mechanism, start) else None
        if noise is None:
            continue
        found, parted = parting_places(mechanism, start, frozenset(fixed)) or (parameters, 0)
        rank = (noise, -parted)
        if best is None or rank < best[0]:
            best = rank, found
    return None if best is None else best[1]


def _noise(mechanism: Mechanism, parameters: Inputs, data: Mapping[str, Input]) -> Fraction | None:
    """The greatest scale of a draw in the run without noise; None where it does not come to its end."""
    try:
        done = run(mechanism, parameters, data, lambda site: Fraction(0))
    except (Stopped, Undecided, Undefined):
        return None
    scales = [draw.args[0] for draw in done.draws if draw.args]
    return max((Fraction(decimal(scale)) for scale in scales), default=Fraction(0))


def parameters_of(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of its public numbers."""
    return tuple(item.name for item in mechanism.inputs if isinstance(item, Parameter))
