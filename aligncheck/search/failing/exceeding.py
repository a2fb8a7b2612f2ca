"""The search for a concrete output whose density differs too much between D and D'.

Bounded and incomplete on purpose, like `search`: it never makes a proof. Whatever it gives back was confirmed
with exact arithmetic (`aligncheck.meaning.exact_density`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product
from typing import TypeAlias

from aligncheck.effort import Effort
from aligncheck.language.conditions import Condition
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Number, Undecided
from aligncheck.meaning.exact_density import Weighed, weigh
from aligncheck.meaning.interpreter import EmittedRecord, Input, RunScope, Stopped, number_of
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.search.failing.counterexamples import INTEGERS, groundings, lists_of
from aligncheck.search.failing.sample import rational
from aligncheck.verdict import DensityExample

_LENGTHS = (2, 3, 1)
_SPREADS = (Fraction(0), Fraction(8), Fraction(-8), Fraction(64))
"""How far the answers behind the first stand from it, in sensitivities."""
_NUMBERS = (Fraction(1), Fraction(64), Fraction(1, 16), Fraction(16), Fraction(-64))
"""Released numbers to look at."""
_GROUNDINGS = 4
_DATABASES = 160
_FEW = 8
_TRIES = 300
"""After so many outputs the search ends: they are counted, so that what it finds does not depend on how busy
the machine is.
"""

Named: TypeAlias = dict[str, Input]
Drawn: TypeAlias = dict[str, Number]


@dataclass(frozen=True, slots=True)
class Exceeding:
    """A confirmed violation, and the condition that it violates."""

    condition: Condition
    example: DensityExample


def find_exceeding(mechanism: nodes.Mechanism, first: Condition | None, effort: Effort) -> Exceeding | None:
    """An output whose density on D' is 0 (`support`) or differs by more than the claim allows (`cost`), or
    draws that release something else on D' (`output`); None where none was found with such an effort. What
    violates `first`, at which the kernel stopped, comes before all else.
    """
    other = None
    for scenario, drawn in islice(_candidates(mechanism), _TRIES):
        if effort.is_over:
            break
        found = _exceeding(mechanism, scenario, drawn)
        if found is not None and found.condition is first:
            return found
        other = other or found
    return other


def _adjacent_draws(mechanism: nodes.Mechanism, scenario: Scenario, few: bool) -> Iterator[Drawn]:
    """What may be drawn, if the databases are adjacent."""
    try:
        if not check_scenario(mechanism, scenario):
            yield from _drawn(mechanism, scenario, few)
    except Undecided:
        return


def _candidates(mechanism: nodes.Mechanism) -> Iterator[tuple[Scenario, Drawn]]:
    """Adjacent pairs of databases and what may be drawn; first a few of every kind, then more of each."""
    lists = lists_of(mechanism)
    for few in (True, False):
        for length in _LENGTHS if lists else (1,):
            lengths = dict.fromkeys(lists, length)
            for parameters in islice(groundings(mechanism, lengths, INTEGERS), 1 if few else _GROUNDINGS):
                found = _scenarios(mechanism, {**parameters}, length)
                for scenario in islice(found, _FEW if few else _DATABASES):
                    for drawn in _adjacent_draws(mechanism, scenario, few):
                        yield scenario, drawn


def _exceeding(mechanism: nodes.Mechanism, scenario: Scenario, drawn: Drawn) -> Exceeding | None:
    try:
        claim = number_of(mechanism.privacy, RunScope(dict((*scenario.parameters, *scenario.data))))
        on_d = weigh(mechanism, (*scenario.parameters, *scenario.data), drawn)
        on_d_prime = weigh(mechanism, (*scenario.parameters, *scenario.data_prime), drawn)
        if on_d.log_density is None:  # adjacency is symmetric
            on_d, on_d_prime = on_d_prime, on_d
            scenario = replace(scenario, data=scenario.data_prime, data_prime=scenario.data)
        condition = _violated(on_d, on_d_prime, claim)
    except (Stopped, Undecided):
        return None
    if condition is None:
        return None
    return Exceeding(condition, DensityExample(scenario, tuple(drawn.items()), on_d, on_d_prime, claim))


def _violated(on_d: Weighed, on_d_prime: Weighed, claim: Number) -> Condition | None:
    if on_d.log_density is None:
        return None
    if on_d_prime.log_density is None:
        return Condition.SUPPORT
    if not _same_records(on_d.output, on_d_prime.output):
        return Condition.OUTPUT
    apart = exact.subtract(on_d.log_density, on_d_prime.log_density)
    # No absolute value: a difference of 0 is hard to tell from a small one.
    sides = (apart, exact.negative(apart))
    return Condition.COST if any(exact.compare(side, claim) > 0 for side in sides) else None


def _same_records(one: tuple[EmittedRecord, ...], other: tuple[EmittedRecord, ...]) -> bool:
    if [r.tag for r in one] != [r.tag for r in other]:
        return False
    fields = [
        (a, b) for r, s in zip(one, other, strict=True) for a, b in zip(r.fields, s.fields, strict=True)
    ]
    return all(exact.same(a, b) for (_, a), (_, b) in fields)


# --- candidates -------------------------------------------------------------------------------------------


def _drawn(mechanism: nodes.Mechanism, scenario: Scenario, few: bool) -> Iterator[Drawn]:
    """Values for every draw."""
    longest = max((len(v) for _, v in scenario.data if isinstance(v, tuple)), default=1)
    pools: dict[str, tuple[Number, ...]] = {}
    for draw in statements_in(mechanism.body):
        if isinstance(draw, nodes.Choose):
            pools[draw.name] = tuple(Fraction(i) for i in range(1 if few else longest))
        elif isinstance(draw, nodes.Logistic):
            pools[draw.name] = _NUMBERS[:3] if few else _NUMBERS
    for values in product(*pools.values()):
        yield dict(zip(pools, values, strict=True))


def _scenarios(mechanism: nodes.Mechanism, parameters: Named, length: int) -> Iterator[Scenario]:
    """Pairs of small databases, with lists of one length; not all of them are adjacent."""
    groups = [item for item in mechanism.inputs if isinstance(item, nodes.Queries)]
    lists = [item for item in mechanism.inputs if isinstance(item, nodes.PublicVector)]
    entries: Named = {v.name: ((v.sort is nodes.Sort.BOOL or Fraction(1)),) * length for v in lists}
    public = {**parameters, **entries}
    pools = [_pairs(group, public, length) for group in groups]
    for chosen in product(*(islice(pool, _DATABASES) for pool in pools)):
        data: Named = {}
        data_prime: Named = {}
        for left, right in chosen:
            data |= left
            data_prime |= right
        yield Scenario(tuple(public.items()), tuple(data.items()), tuple(data_prime.items()))


def _pairs(group: nodes.Queries, public: Named, length: int) -> Iterator[tuple[Named, Named]]:
    """Answers of one group on D and on D': the first against the others first."""
    indices = range(length) if group.vector else range(1)
    ends = [_ends(group, public, index) for index in indices]
    if ends[0] is not None:
        bounds = [end for end in ends if end is not None]
        for left in product(*bounds):
            for right in product(*bounds):
                yield _named(group, left), _named(group, right)
        return
    sizes = [_sensitivity(group, public, index) for index in indices]
    for steps in _steps(length if group.vector else 1):
        for spread in _SPREADS:
            base = [spread * sizes[i] if i else Fraction(0) for i in indices]
            moved = [b + s * size for b, s, size in zip(base, steps, sizes, strict=True)]
            yield _named(group, tuple(base)), _named(group, tuple(moved))


def _steps(count: int) -> list[tuple[int, ...]]:
    """How the answers move, in sensitivities: the first against the rest, then everything else."""
    apart = [(1, *(-1,) * (count - 1)), (-1, *(1,) * (count - 1))]
    return [*apart, *(s for s in product((1, 0, -1), repeat=count) if s not in apart and any(s))]


def _named(group: nodes.Queries, values: tuple[Fraction, ...]) -> Named:
    return dict.fromkeys(group.names, values if group.vector else values[0])


def _ends(group: nodes.Queries, public: Named, index: int) -> tuple[Fraction, Fraction] | None:
    """The ends of the declared range, for adjacency `any`."""
    if group.sensitivity is not None or group.range is None:
        return None
    low, high = (rational(bound, public, index) for bound in group.range)
    return low, high


def _sensitivity(group: nodes.Queries, public: Named, index: int) -> Fraction:
    return Fraction(0) if group.sensitivity is None else rational(group.sensitivity, public, index)
