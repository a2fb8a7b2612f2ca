"""One path under construction, and how many of them are followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from aligncheck.effort import Effort
from aligncheck.search.relational.ir import Pair
from aligncheck.search.relational.labels import Key
from aligncheck.search.relational.paths import ArmTaken, Event
from aligncheck.search.relational.settled import NOTHING, Made

PATH_LIMIT = 2048
LONGEST_RUN = 1000
"""So many events of a run that is unrolled are followed: `range(10000)` takes its time."""
ARMS_LIMIT = 16
"""So many arms of one hidden `if` are told apart; beyond that they merge into conditional terms."""


@dataclass
class State:
    """One path under construction; `made` is all that is fixed by now."""

    origin: int
    env: dict[Key, Pair]
    events: list[Event]
    made: Made = NOTHING

    def fork(self) -> State:
        return State(self.origin, dict(self.env), list(self.events), self.made)


@dataclass(frozen=True, slots=True)
class Unroll:
    """Rounds to allow for a `while` loop, how many paths to follow, and what that may spend, in a concrete
    search.
    """

    rounds: int
    limit: int
    effort: Effort = field(default_factory=Effort)

    def allows(self, states: list[State]) -> bool:
        """Whether so many runs, as long as these, are still followed."""
        longest = max((len(state.events) for state in states), default=0)
        self.effort.spend(len(states))
        return len(states) <= self.limit and longest <= LONGEST_RUN and not self.effort.is_over


def decided_before(test: Pair, state: State) -> bool | None:
    """How a visible test comes out that the path has decided already, None where it has not.

    Why sound: on one path equal terms are equal values, so that no run on D takes the other arm; and that the
    run on D' took the first arm is an obligation of the earlier test (`same_arms_and_records`).
    """
    for event in state.events:
        if isinstance(event, ArmTaken) and not event.hidden and event.test == test:
            return event.taken
    return None
