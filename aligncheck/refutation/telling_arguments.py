"""Arguments with which a mechanism's runs on two given databases are likely to be told apart.

What adds noise gets the value that adds least; what adds none is chosen so that the two runs, without noise,
part as often as possible. These are choices and claim nothing.

Source: Ding's dissertation, section 4.3.4, Algorithm 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from aligncheck.language.syntax.nodes import Mechanism, Parameter, Queries
from aligncheck.meaning.exact import Undecided, Undefined
from aligncheck.meaning.interpreter import Input, Inputs, Stopped, run
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.databases import legal, parameter_choices
from aligncheck.refutation.parting import parting_places


def private_list(mechanism: Mechanism) -> str | None:
    """The name of the only private input, if it is a list of numbers, so that patterns of answers fit it."""
    private = [item for item in mechanism.inputs if isinstance(item, Queries)]
    if len(private) != 1 or not private[0].vector or len(private[0].names) != 1:
        return None
    return private[0].names[0]


def telling_arguments(
    mechanism: Mechanism,
    first: tuple[Fraction, ...],
    second: tuple[Fraction, ...],
    fixed: Mapping[str, Input],
) -> Inputs | None:
    """The public inputs for the lists `first` and `second` (D and D', of one length), `fixed` ones included;
    None where none are found that the declarations allow. The mechanism has one private list.
    """
    name = private_list(mechanism)
    if name is None:
        return None
    best: tuple[tuple[Fraction, int], Inputs] | None = None
    for parameters in parameter_choices(mechanism, len(first), fixed):
        start = Scenario(parameters, ((name, first),), ((name, second),))
        noise = _noise(mechanism, parameters, {name: first}) if legal(mechanism, start) else None
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
    return max((scale for scale in scales if isinstance(scale, Fraction)), default=Fraction(0))


def parameters_of(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of its public numbers."""
    return tuple(item.name for item in mechanism.inputs if isinstance(item, Parameter))
