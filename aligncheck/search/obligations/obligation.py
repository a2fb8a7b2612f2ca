"""What must hold of a run, or of every path: one value for each implication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aligncheck.language.conditions import Condition
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.callees import AlignedCall
from aligncheck.search.relational.ir import Term, same_value
from aligncheck.search.relational.paths import (
    Analysis,
    ArmTaken,
    Assumed,
    Claimed,
    Cut,
    Drawing,
    Emission,
    Required,
    Segment,
    Selected,
)


@dataclass(frozen=True)
class Sequent:
    """`hypotheses` imply `goal`, a part of `condition`. The first `shared` hypotheses are those of all
    obligations of the same path, so that they can be asked about together.
    """

    condition: Condition
    hypotheses: tuple[Term, ...]
    goal: Term
    shared: int = 0


Invariants: TypeAlias = Mapping[int, tuple[Term, ...]]
"""The invariants found for each cut point."""


def known_at(analysis: Analysis, cut: Cut, invariants: Invariants) -> tuple[Term, ...]:
    """What holds at a cut point: its invariants, those of the cut points that enclose it, and the facts of
    the way in.

    Sound: the symbols of an enclosing cut point are fixed while the inner loop runs, so what held of them
    still holds.
    """
    found: list[Term] = [*cut.facts]
    here: Cut | None = cut
    while here is not None:
        found += invariants.get(here.number, ())
        here = analysis.cuts[here.parent] if here.parent is not None else None
    return tuple(dict.fromkeys(found))


def run_on_d(path: Segment, stop: int | None = None) -> tuple[Term, ...]:
    """That the run on D takes this path (up to event `stop`): its arms, its draws in their support, what it
    emits.
    """
    found: list[Term] = []
    for event in path.events[:stop]:
        match event:
            case ArmTaken():
                found.append(event.holds(False))
            case Drawing():
                found += event.left.support
            case Assumed(fact):
                found.append(fact)
            case AlignedCall() | Applied() | Selected() | Emission() | Required() | Claimed():
                pass
    return tuple(found)


def run_on_d_prime(path: Segment, stop: int | None = None) -> tuple[Term, ...]:
    """That the run on D' takes the same visible arms and emits the same numbers (up to event `stop`).

    Sound: the `output` obligations prove both, in order, each from the ones before it.
    """
    found: list[Term] = []
    for event in path.events[:stop]:
        match event:
            case ArmTaken(hidden=False):
                found.append(event.holds(True))
            case Emission(fields=fields):
                found += [same_value(pair) for _, pair, _ in fields if pair.left != pair.right]
            case (
                ArmTaken()
                | Drawing()
                | AlignedCall()
                | Applied()
                | Selected()
                | Required()
                | Assumed()
                | Claimed()
            ):
                pass
    return tuple(found)


def context(analysis: Analysis, path: Segment, invariants: Invariants) -> tuple[Term, ...]:
    """What holds at the start of a path."""
    return known_at(analysis, analysis.cuts[path.origin], invariants)
