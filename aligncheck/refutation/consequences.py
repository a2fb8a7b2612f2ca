"""What a certified violation means: whether some ε would do, how the level grows, how the event arises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Undecided, Undefined
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.certify import certified
from aligncheck.refutation.databases import swapped
from aligncheck.refutation.enclosure import NotComputable, Tail
from aligncheck.refutation.events import Between, CompleteOutput, Event, Exactly
from aligncheck.refutation.pair_search import Candidate, Scored, length_of, unit_of
from aligncheck.refutation.probability import tail
from aligncheck.refutation.ratio import formula_of
from aligncheck.refutation.trace import trace_of
from aligncheck.refutation.violation import Grown, LossKind, Violation

_FAR = (4, 16, 64, 256)
"""How far out the levels of a family are certified, in units."""


def explained(
    mechanism: Mechanism, violation: Violation, others: Sequence[Scored], effort: Effort
) -> Violation:
    """The violation with all that can be said about it with that effort.

    `others` are the best candidates for other lengths. Of claims with a δ, or in ρ, a run that ends in the
    event is all.
    """
    if not isinstance(mechanism.claim, nodes.Pure):
        return replace(violation, trace=trace_of(mechanism, violation.scenario, violation.event, effort))
    if violation.kind is LossKind.FINITE:
        violation = _without_bound(mechanism, violation, effort) or violation
    violation = replace(violation, trace=trace_of(mechanism, violation.scenario, violation.event, effort))
    if violation.kind is LossKind.FINITE:
        violation = _by_length(mechanism, violation, others, effort)
    return replace(violation, formula=formula_of(mechanism, violation, effort))


# --- no finite ε ------------------------------------------------------------------------------------------


def _without_bound(mechanism: Mechanism, violation: Violation, effort: Effort) -> Violation | None:
    """The violation as one of a family without a bound, where the tails of a released number show that.

    P(number > x) falls as x**power * exp(-rate*x) on either database. If it falls faster on D', the ratio
    grows beyond every bound with x; if D' has no tail, it is infinite from some x on.
    """
    scenario = violation.scenario
    for event, place, name in _numbers(mechanism, violation.event):
        for below in (False, True):
            try:
                tails = [
                    tail(mechanism, inputs, event, place, name, below=below, effort=effort)
                    for inputs in (scenario.on_d, scenario.on_d_prime)
                ]
                order = _heavier(tails[0], tails[1])
            except (NotComputable, OutOfTime, Undecided, Undefined):
                continue
            if order:
                heavier = scenario if order > 0 else swapped(scenario)
                family = list(_farther(mechanism, heavier, event, (place, name, below), effort))
                if family:
                    return _worst(family)
    return None


def _numbers(mechanism: Mechanism, event: Event) -> Iterator[tuple[CompleteOutput, int, str]]:
    """The event with one of its numbers set free, for each number that is not fixed."""
    if not isinstance(event, CompleteOutput):
        return
    emits = {s.tag: s for s in statements_in(mechanism.body) if isinstance(s, nodes.Emit)}
    for place, record in enumerate(event.records):
        fixed = {name for name, part in record.fields if isinstance(part, Exactly)}
        for field in emits[record.tag].fields:
            if field.name not in fixed:
                yield event.cut(place, field.name), place, field.name


def _heavier(one: Tail | None, other: Tail | None) -> int:
    """1 where the first tail is heavier beyond every factor, -1 where the second one is, otherwise 0."""
    if one is None or other is None:
        return (one is not None) - (other is not None)
    order = exact.compare(other.rate, one.rate)
    return order or (one.power > other.power) - (one.power < other.power)


def _farther(
    mechanism: Mechanism,
    scenario: Scenario,
    event: CompleteOutput,
    place: tuple[int, str, bool],
    effort: Effort,
) -> Iterator[tuple[Fraction, Violation]]:
    """Certified violations with the number further and further out."""
    record, name, below = place
    unit = unit_of(mechanism, scenario)
    for factor in _FAR:
        x = factor * unit
        part = Between(None, -x) if below else Between(x, None)
        found = certified(mechanism, Candidate(scenario, event.cut(record, name, part)), effort)
        if found is not None:
            yield (-x if below else x), found


def _worst(family: list[tuple[Fraction, Violation]]) -> Violation:
    """The last member of the family, as one of it."""
    impossible = [member for _, member in family if member.kind is LossKind.IMPOSSIBLE]
    if impossible:
        return impossible[0]
    members = tuple(Grown(f"from {x} on", found.level) for x, found in family if found.level is not None)
    return replace(family[-1][1], kind=LossKind.RARER, family=members)


# --- longer inputs ----------------------------------------------------------------------------------------


def _by_length(
    mechanism: Mechanism, violation: Violation, others: Iterable[Scored], effort: Effort
) -> Violation:
    """The violation with the certified levels of other lengths, and whether these keep growing."""
    if violation.level is None:
        return violation
    levels: dict[int, Fraction] = {length_of(violation.scenario): violation.level}
    for scored in others:
        if scored.candidate.scenario.parameters != violation.scenario.parameters:
            continue
        other = certified(mechanism, scored.candidate, effort)
        if other is not None and other.level is not None:
            length = length_of(other.scenario)
            levels[length] = max(other.level, levels.get(length, other.level))
    if len(levels) < 3:
        return violation
    family = tuple(Grown(f"n = {length}", levels[length]) for length in sorted(levels))
    kind = LossKind.GROWS if _keeps_growing(levels) else violation.kind
    return replace(violation, family=family, kind=kind)


def _keeps_growing(levels: dict[int, Fraction]) -> bool:
    """Whether the last steps are about as large as those before: with a bound they would get smaller."""
    lengths = sorted(levels)
    steps = [(levels[b] - levels[a]) / (b - a) for a, b in pairwise(lengths)]
    return len(steps) >= 2 and min(steps) > 0 and steps[-1] >= Fraction(3, 4) * max(steps[:-1])
