"""Arms that only assign: the run on D takes one, the run on D' its own, as a conditional term."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aligncheck.language.internal import InternalError
from aligncheck.search.relational import paths
from aligncheck.search.relational.applied import Applied
from aligncheck.search.relational.callees import AlignedCall
from aligncheck.search.relational.ir import TRUE, Pair, Term, and_, implies, ite, not_
from aligncheck.search.relational.labels import Key
from aligncheck.search.relational.path_state import State


def is_primed(event: paths.Event) -> bool:
    return isinstance(event, paths.Required) and event.primed


def applied(test: Pair, holds: bool, arm: State, other: State, case: Term = TRUE) -> list[Applied]:
    """What is applied in the arms of a hidden `if` where the run on D takes one of them: that one, as it goes
    there, and the other, which it does not enter while the run on D' may.

    Any of the ways through the other arm will do: they differ in the run on D only.
    """
    found = [e.within(test, holds, case) for e in arm.events if isinstance(e, Applied)]
    return found + [e.within(test, not holds, case) for e in other.events if isinstance(e, Applied)]


def guarded(event: paths.Event, condition: Term) -> paths.Event:
    """A requirement inside an arm holds only where that arm is taken."""
    if not isinstance(event, paths.Required):
        raise InternalError("only requirements are guarded")
    partial = replace(event.partial, condition=implies(condition, event.partial.condition))
    return replace(event, partial=partial)


def _own(arm: State, condition: Term) -> Iterator[paths.Event]:
    """What must be defined in an arm where the run on D takes it. Its tests are in `condition`, what it
    applies in `_applied`, and that a call was made is known without it.
    """
    for event in arm.events:
        match event:
            case paths.Required(primed=False):
                yield guarded(event, condition)
            case paths.Required() | paths.ArmTaken() | Applied() | paths.Assumed():
                pass
            case paths.Drawing() | AlignedCall() | paths.Selected() | paths.Emission() | paths.Claimed():
                raise InternalError("a hidden arm does more than assign")


def merged(
    test: Pair,
    taken: list[State],
    passed: list[State],
    right: dict[Key, Term],
    state: State,
    primed: list[paths.Event],
) -> State:
    """All arms of the run on D in one state, as conditional terms; what must be defined is guarded."""

    def decisions(arm: State) -> Term:
        return and_(e.holds(False) for e in arm.events if isinstance(e, paths.ArmTaken))

    cases = [(and_((test.left, decisions(arm))), arm) for arm in taken]
    cases += [(and_((not_(test.left), decisions(arm))), arm) for arm in passed]
    made: list[paths.Event] = []
    for place, (condition, arm) in enumerate(cases):
        holds = place < len(taken)
        made += applied(test, holds, arm, (passed if holds else taken)[0], condition)
    env: dict[Key, Pair] = {}
    for name, value in right.items():
        left = cases[-1][1].env[name].left
        for condition, arm in reversed(cases[:-1]):
            left = ite(condition, arm.env[name].left, left)
        env[name] = Pair(left, value)
    own = [e for condition, arm in cases for e in _own(arm, condition)]
    return State(state.origin, env, [*state.events, *own, *made, *primed], state.made)
