"""Verdicts: frozen values that say exactly what was established, and how they fold into one.

No solver, no printing: the kernel supplies outcomes, `judge` folds them here, `report` draws the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic, Label
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span

if TYPE_CHECKING:
    from aligncheck.kernel.answer import Accepted
    from aligncheck.kernel.witness import Witness
    from aligncheck.language.syntax.nodes import Mechanism
    from aligncheck.meaning.exact import Number
    from aligncheck.meaning.exact_density import Weighed
    from aligncheck.meaning.replay import Replay
    from aligncheck.meaning.scenario import Scenario


class Status(Enum):
    """What became of an obligation or a condition.

    PROVED: holds for every parameter, input and noise. FAILED: a run that violates it was found and replayed
    with exact arithmetic. UNKNOWN: neither; nothing is claimed.
    """

    PROVED = "proved"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ObligationReport:
    """One thing that was to be shown, in the spec's words, where, and what became of it. What the kernel
    decided took `steps` of its solver (0: the terms themselves show it).
    """

    condition: Condition
    text: str
    span: Span
    status: Status
    how: str
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class ConditionReport:
    """One condition: the worst status of its obligations, and how they were discharged."""

    condition: Condition
    status: Status
    how: str
    obligations: tuple[ObligationReport, ...] = ()


def shown_by(accepted: Accepted) -> tuple[ConditionReport, ...]:
    """What the kernel decided, condition by condition."""
    groups: dict[str, list[ObligationReport]] = {c.id: [] for c in Condition}
    conditions = {c.id: c for c in Condition}
    for d in accepted.decisions:
        how = f"{d.steps:,} steps" if d.steps else "by the terms themselves"
        report = ObligationReport(
            conditions[d.condition], d.sentence, d.place, Status.PROVED, how, steps=d.steps
        )
        groups[d.condition].append(report)
    return tuple(_shown(conditions[name], reports) for name, reports in groups.items() if reports)


def _shown(condition: Condition, reports: list[ObligationReport]) -> ConditionReport:
    """A single decision is said as it is; of several, how many."""
    how = reports[0].text if len(reports) == 1 else f"{len(reports)} decisions"
    return ConditionReport(condition, Status.PROVED, how, tuple(reports))


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A concrete violation, already replayed with exact arithmetic.

    `scenario` is the run (parameters, D, D', noise), `replay` both runs step by step. For a violation that
    takes two noise vectors on one database (draws, injective) `second` is the other run.
    """

    scenario: Scenario
    replay: Replay
    second: Scenario | None = None


@dataclass(frozen=True, slots=True)
class DensityExample:
    """Draws that D and D' give too different densities, both computed with exact arithmetic.

    `scenario` is the pair of databases, without noise; `drawn` the index or the number of each draw;
    `on_d` and `on_d_prime` what these draws release there and the logarithm of their density.
    """

    scenario: Scenario
    drawn: tuple[tuple[str, Number], ...]
    on_d: Weighed
    on_d_prime: Weighed
    claim: Number


@dataclass(frozen=True, slots=True)
class DearestRun:
    """The run that costs most of those that were tried, replayed with exact arithmetic: `share` of the claim,
    or of its bound. It bounds from below what this alignment proves.
    """

    scenario: Scenario
    share: Fraction


@dataclass(frozen=True, slots=True)
class Verified:
    """ε-DP for every input, parameter and ε in the declared ranges, with real-valued (or lattice) noise as
    written.

    It says nothing about floating point, side channels, or whether the declared sensitivity is right.
    `accepted` is what the kernel decided of the mechanism with `witness`, which holds those of its callees:
    it is all that a verdict rests on. `dearest` is a run that shows how much of the claim is needed, and
    `smaller` a claim that is verified as well; both only where a reader is to be told.
    """

    mechanism: Mechanism
    witness: Witness
    accepted: Accepted
    dearest: DearestRun | None = None
    smaller: str | None = None

    @property
    def conditions(self) -> tuple[ConditionReport, ...]:
        """What was decided, condition by condition."""
        return shown_by(self.accepted)


@dataclass(frozen=True, slots=True)
class AlignmentFails:
    """This alignment does not prove the claim: a concrete run violates `condition`.

    The mechanism may still be private under another alignment. `advice` holds what would pass instead
    (another adjacency, another ε), each of them itself verified; where there is none `help` says what the
    condition asks for. A mechanism that draws by densities has no alignment; `densities` then holds an
    example instead of `counterexample`.
    """

    mechanism: Mechanism
    condition: Condition
    message: str
    primary: Label
    counterexample: Counterexample | None
    conditions: tuple[ConditionReport, ...]
    invariants: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    densities: DensityExample | None = None
    help: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Not decided: no proof and no violation. `condition` is the first undecided one (None when the check as
    a whole stopped).
    """

    mechanism: Mechanism | None
    condition: Condition | None
    message: str
    primary: Label | None
    conditions: tuple[ConditionReport, ...] = ()
    invariants: tuple[str, ...] = ()
    help: str | None = None


@dataclass(frozen=True, slots=True)
class Error:
    """The input is no spec that can be checked: the first fault, and those further ones that stand for
    themselves.
    """

    diagnostic: Diagnostic
    further: tuple[Diagnostic, ...] = ()


Verdict: TypeAlias = Verified | AlignmentFails | Unknown | Error

NAMES: dict[type, str] = {
    Verified: "VERIFIED",
    AlignmentFails: "ALIGNMENT FAILS",
    Unknown: "UNKNOWN",
    Error: "ERROR",
}
_EXIT: dict[type, int] = {Verified: 0, AlignmentFails: 1, Error: 2, Unknown: 3}
_SEVERITY: dict[int, int] = {0: 0, 3: 1, 1: 2, 2: 3}


def name_of(verdict: Verdict) -> str:
    """The verdict's name as users see it."""
    return NAMES[type(verdict)]


def exit_status(verdict: Verdict) -> int:
    """0 VERIFIED, 1 ALIGNMENT FAILS, 2 ERROR, 3 UNKNOWN."""
    return _EXIT[type(verdict)]


def worst_status(statuses: Iterable[int]) -> int:
    """The exit status for several files: bad input over failure over unknown over verified."""
    return max(statuses, key=lambda status: _SEVERITY[status], default=0)


@dataclass(frozen=True, slots=True)
class FileResult:
    """What `verify` says of one file: `path` as the user typed it, seconds from reading to verdict."""

    path: str
    verdict: Verdict
    seconds: float
    text: str = field(default="", repr=False)

    @property
    def mechanism(self) -> str | None:
        """The mechanism's name, where the file could be read that far."""
        match self.verdict:
            case Error():
                return None
            case Unknown(mechanism=None):
                return None
            case Verified(mechanism=m) | AlignmentFails(mechanism=m) | Unknown(mechanism=m):
                if m is None:
                    raise InternalError("a verdict without its mechanism")
                return m.name
