"""What a proof must establish: one value per obligation, with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Span
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.calls import Called
from aligncheck.search.relational.paths import (
    Analysis,
    Assumed,
    Claimed,
    Cut,
    Decision,
    Drawing,
    Emission,
    Path,
    Required,
    Selected,
)
from aligncheck.search.relational.terms import App, Sym, Term, same_value


@dataclass(frozen=True)
class Independent:
    """`term` does not depend on any of `of`; with `value_only`, only outside the tests of conditionals."""

    term: Term
    of: frozenset[Term]
    value_only: bool = False


@dataclass(frozen=True)
class Integral:
    """`term` is an integer wherever the hypotheses hold."""

    term: Term


@dataclass(frozen=True)
class Impossible:
    """Two runs that `why` describes never give the same output; decided by the form of the paths alone."""

    holds: bool
    why: str


Goal: TypeAlias = Term | Independent | Integral | Impossible


@dataclass(frozen=True)
class Obligation:
    """`hypotheses` imply `goal`.

    `text` says the goal in the spec's words, `rule` names the inference rule (its reason is the docstring of
    the function of that name under `obligations`), `span` is what to point at when it fails, `related`
    further places. The first `shared` hypotheses are those of all obligations of the same path, so that they
    can be decided together.
    """

    condition: Condition
    hypotheses: tuple[Term, ...]
    goal: Goal
    text: str
    span: Span
    rule: str
    shared: int = 0
    related: tuple[tuple[Span, str], ...] = ()


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


def run_on_d(path: Path, stop: int | None = None) -> tuple[Term, ...]:
    """That the run on D takes this path (up to event `stop`): its arms, its draws in their support, what it
    emits.
    """
    found: list[Term] = []
    for event in path.events[:stop]:
        match event:
            case Decision():
                found.append(event.holds(False))
            case Drawing():
                found += event.left.support
            case Assumed(fact):
                found.append(fact)
            case Called() | Applied() | Selected() | Emission() | Required() | Claimed():
                pass
    return tuple(found)


def run_on_d_prime(path: Path, stop: int | None = None) -> tuple[Term, ...]:
    """That the run on D' takes the same visible arms and emits the same numbers (up to event `stop`).

    Sound: the `output` obligations prove both, in order, each from the ones before it.
    """
    found: list[Term] = []
    for event in path.events[:stop]:
        match event:
            case Decision(hidden=False):
                found.append(event.holds(True))
            case Emission(fields=fields):
                found += [same_value(pair) for _, pair, _ in fields if pair.left != pair.right]
            case (
                Decision()
                | Drawing()
                | Called()
                | Applied()
                | Selected()
                | Required()
                | Assumed()
                | Claimed()
            ):
                pass
    return tuple(found)


def context(analysis: Analysis, path: Path, invariants: Invariants) -> tuple[Term, ...]:
    """What holds at the start of a path."""
    return known_at(analysis, analysis.cuts[path.origin], invariants)


def variable_of(event: Drawing) -> str:
    """A draw as reports call it."""
    return event.name if event.index is None else f"{event.name}[...]"


def own_symbol(event: Drawing) -> Sym | App:
    """The symbol of a draw's own value."""
    return event.left.symbol
