"""One way through a program as far as it has gone, and what is asked of it.

Where noise decides, `Fork` asks for the ways to be told apart. It is raised before anything has changed: the
statement is executed again in each of the states that the fork's assumptions lead to, and finds its question
answered there. So the ways are disjoint, and (up to events of probability 0, where continuous noise meets a
number exactly) they exhaust everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from flint import fmpq

from aligncheck.language.internal import InternalError
from aligncheck.refutation import irrationals, symbolic
from aligncheck.refutation.elimination import Form
from aligncheck.refutation.irrationals import Real, sign


@dataclass(frozen=True, slots=True)
class Assume:
    """A form lies in an interval."""

    form: Form
    interval: symbolic.Interval


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """The next entry of a selection is this index."""

    selection: symbolic.SymbolicSelection
    index: int


@dataclass(frozen=True, slots=True, eq=False)
class SelectionLength:
    """A selection has so many entries."""

    selection: symbolic.SymbolicSelection
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class WeightedChoice:
    """A draw by weights gave this index; `logs` are the logarithms of all weights, `place` its own place.

    `used`: the statement that draws it has been executed with it.
    """

    name: str
    index: int
    logs: tuple[Real, ...]
    place: int
    used: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LastRound:
    """A round of a call that is repeated was the last one. `kept`: the test holds of what it released;
    `passing` are the ways through one round (symbolic paths) for which it does. There are at most `most`
    rounds, and `chance` is that to stop after one for which it does not.
    """

    passing: tuple[Any, ...]
    chance: Real
    most: int | None
    kept: bool = False


Assumption: TypeAlias = Assume | Pick | SelectionLength | WeightedChoice


class Fork(Exception):  # noqa: N818 - it is a question
    """The run goes on in several ways: the assumptions exclude each other, and one of them holds."""

    def __init__(self, assumptions: list[Assumption]) -> None:
        super().__init__()
        self.assumptions = assumptions


class Faulted(Exception):  # noqa: N818 - it ends a way
    """The run raises here."""


class Needed(Exception):  # noqa: N818 - it is a question
    """The value of something matters that was to be left open."""


class PartialPath:
    """One way through the program, as far as it has gone."""

    __slots__ = ("chosen", "frame", "known", "out", "picked", "released", "selections", "steps", "todo")

    def __init__(self, frame: symbolic.CallFrame) -> None:
        self.frame = frame
        self.known = symbolic.Known()
        self.picked: dict[tuple[object, ...], symbolic.Picked] = {}
        self.selections: dict[tuple[object, ...], symbolic.SymbolicSelection] = {}
        self.chosen: tuple[WeightedChoice | LastRound, ...] = ()
        self.released: tuple[symbolic.ReturnedRecord, ...] = ()
        self.todo: Any = None
        self.out = 0
        self.steps = 0

    def copy(self) -> PartialPath:
        """A state that goes its own way. Frames that wait for a call are copied when they go on."""
        other = PartialPath(self.frame.copy())
        other.known = self.known.copy()
        other.picked = dict(self.picked)
        other.selections = dict(self.selections)
        other.chosen = self.chosen
        other.released = self.released
        other.todo, other.out, other.steps = self.todo, self.out, self.steps
        return other

    def assume(self, assumption: Assumption) -> bool:
        """Adds an assumption; False where it is impossible, or has probability 0."""
        match assumption:
            case Assume(form=form, interval=(low, high)):
                return self.known.narrow(form, low, high)
            case Pick(selection=selection, index=index):
                old = self.pick_of(selection)
                self.picked[selection.key] = symbolic.Picked((*old.entries, index), old.length)
            case SelectionLength(selection=selection, length=length):
                old = self.pick_of(selection)
                self.picked[selection.key] = symbolic.Picked(old.entries, length)
            case WeightedChoice():
                self.chosen = (*self.chosen, assumption)
        return True

    def answered(self) -> int | None:
        """The index that a draw by weights gave, where the fork about it has just been answered."""
        last = self.chosen[-1] if self.chosen else None
        if not isinstance(last, WeightedChoice) or last.used:
            return None
        self.chosen = (*self.chosen[:-1], replace(last, used=True))
        return last.index

    def pick_of(self, selection: symbolic.SymbolicSelection) -> symbolic.Picked:
        """What is decided of a selection."""
        self.selections[selection.key] = selection
        return self.picked.get(selection.key, symbolic.Picked())


# --- decisions --------------------------------------------------------------------------------------------


def decide(state: PartialPath, value: symbolic.Linear, op: str) -> bool:
    """Whether `value op 0`; op is < <= > >=. Raises `Fork` where that is open."""
    if not isinstance(value, symbolic.Affine):
        return symbolic.holds(value, op)
    known = state.known
    form, yes = known.half(value, op)
    _, no = known.half(value, {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[op])
    may, may_not = known.overlaps(form, yes), known.overlaps(form, no)
    if may and may_not:
        raise Fork([Assume(form, yes), Assume(form, no)])
    return may


def equal(state: PartialPath, value: symbolic.Linear) -> bool:
    """Whether `value` is 0. Of a form with continuous noise this has probability 0."""
    if not isinstance(value, symbolic.Affine):
        return sign(value) == 0
    found = state.known.point(value)
    if found is None:
        return False
    form, at = found
    known = state.known
    if not known.overlaps(form, (at, at)):
        return False
    if at is None:
        raise InternalError("an equation without a variable")
    others: list[symbolic.Interval] = [(None, at - 1), (at + 1, None)]
    open_ = [Assume(form, other) for other in others if known.overlaps(form, other)]
    if open_:
        raise Fork([Assume(form, (at, at)), *open_])
    return True


Condition: TypeAlias = bool | tuple[symbolic.Linear, str]
"""Decided, or `value op 0`."""


def condition(value: symbolic.Linear | symbolic.Shaped, op: str, bound: Real) -> Condition:
    """What `value op bound` means for the noise; op is < <= > >=.

    Exact: an increasing function is at least c where its argument is at least the least number at which it
    is, and so on. `floor` turns strictness around.
    """
    if not isinstance(value, symbolic.Shaped):
        return symbolic.minus(value, bound), op
    bound = (bound - value.offset) / value.scale
    if value.scale < 0:
        op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
    inner = value.inner
    upward = op in (">", ">=")
    match value.function:
        case "floor":
            # floor(x) >= c iff x >= ceil(c), floor(x) > c iff x >= floor(c) + 1, and their negations.
            at = fmpq(irrationals.floor(bound) + 1 if op in (">", "<=") else irrationals.ceiling(bound))
            return condition(inner, ">=" if upward else "<", at)
        case "exp":
            return upward if sign(bound) <= 0 else condition(inner, op, irrationals.apply("ln", bound))
        case "ln":
            return condition(inner, op, irrationals.apply("exp", bound))
        case "sqrt" | "square" if sign(bound) < 0 or (sign(bound) == 0 and op in (">=", "<")):
            return upward
        case "sqrt":
            return condition(inner, op, bound * bound)
        case "square":
            return condition(inner, op, irrationals.apply("sqrt", bound))
        case "quotient":
            # inner / below >= c iff inner - c*below >= 0, as below > 0.
            if value.below is None or not isinstance(inner, symbolic.Affine):
                raise InternalError("a quotient without its parts")
            return symbolic.minus(inner, symbolic.times(value.below, bound)), op
        case _:  # inverse: -1/x for x > 0, always negative
            if sign(bound) >= 0:
                return not upward
            return condition(inner, op, -1 / bound)


def compared(state: PartialPath, value: symbolic.Scalar, op: str, bound: Real) -> bool:
    """Whether `value op bound`. Raises `Fork`."""
    found = condition(value, op, bound)
    return found if isinstance(found, bool) else decide(state, *found)
