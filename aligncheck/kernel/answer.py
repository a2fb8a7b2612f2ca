"""What the kernel answers: accepted, with the list of its decisions, or rejected, with one reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from aligncheck.language.source import Span
from aligncheck.language.syntax.nodes import Expr

Line: TypeAlias = tuple[int, str, int]
"""A line of a witness: the number of the loop, `early` or `invariants`, and the number of the line."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that was decided: the condition it belongs to, its place in the spec, what was shown, and the
    steps (the solver's own count) that this took; 0 where the terms themselves show it.
    """

    condition: str
    place: Span
    sentence: str
    steps: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the cost, as it was counted: the draw or call `name` costs at most `amount` each time when
    the alignment's line, or the call, at `place` moves or makes it (a call's amount is in the inputs of what
    is called); None: each time exactly what it costs. What is counted adds up to at most the claim.
    """

    name: str
    place: Span
    amount: Expr | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """Every condition of the theorem named by `route` was decided; see docs/kernel.md."""

    route: str
    decisions: tuple[Decision, ...]
    cost: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """The first thing that was not shown, or that the kernel has no rule for (condition `language`), or a
    tree that is no spec (condition `form`). `line` is the line of the witness that was not shown, if it is
    one.
    """

    condition: str
    place: Span
    reason: str
    line: Line | None = None


class Reject(Exception):  # noqa: N818 - an answer, no error of the program
    """Ends a decision at once. A refusal is always this exception and never an obligation: facts that
    contradict each other could make an obligation hold.
    """

    def __init__(self, condition: str, place: Span, reason: str, line: Line | None = None) -> None:
        super().__init__(f"{condition}: {reason}")
        self.answer = Rejected(condition, place, reason, line)
