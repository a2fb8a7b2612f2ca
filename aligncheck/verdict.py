"""Verdicts: frozen values that say exactly what was established, and how they fold into one.

No solver, no printing: `discharge` supplies outcomes, `pipeline` folds them here, `report` draws the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic, Label
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span

if TYPE_CHECKING:
    from aligncheck.kernel.verdict import Accepted
    from aligncheck.kernel.witness import Witness
    from aligncheck.language.syntax.nodes import Mechanism
    from aligncheck.meaning.density import Weighed
    from aligncheck.meaning.exact import Number
    from aligncheck.meaning.replay import Replay, Scenario


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
    """One obligation as it was decided: what was to be proved (in the spec's words), where, how and in how
    long.
    """

    condition: Condition
    text: str
    span: Span
    status: Status
    how: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ConditionReport:
    """One condition: the worst status of its obligations, how they were discharged, and seconds spent on
    them.
    """

    condition: Condition
    status: Status
    how: str
    seconds: float
    obligations: tuple[ObligationReport, ...] = ()


@dataclass(frozen=True, slots=True)
class CostPart:
    """One noise variable's or call's part of the cost: `amount` bounds what one draw costs, also as `share`
    of the claim (of its bound, if it has one), `times` says how often it is paid. What cannot be told apart
    is one part, which costs that much `together`. In every run the parts that are paid add up to at least
    the cost of the alignment and to at most the claim.

    All are texts in the spec's notation, for example `2*e1`, `1/(4*k)`, `per top`.
    """

    name: str
    amount: str
    share: str
    times: str
    span: Span


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found on the way: for `-v` and the certificate.

    `paths` and `invariants` are texts in the spec's notation; `rules` names the inference rules used; `route`
    is `acyclic` (Lemma 1), `injective` (Theorem 4) or `density` (a bound on the ratio of densities).
    `cost_bound` is the claim, `cost_most` the public bound on a claim that depends on the output.
    """

    route: str
    cost: tuple[CostPart, ...]
    cost_bound: str
    invariants: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    cost_most: str | None = None


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
class Verified:
    """ε-DP for every input, parameter and ε in the declared ranges, with real-valued (or lattice) noise as
    written.

    It says nothing about floating point, side channels, or whether the declared sensitivity is right.
    `accepted` is what the kernel decided of the mechanism with `witness`, which holds those of its callees.
    """

    mechanism: Mechanism
    conditions: tuple[ConditionReport, ...]
    proof: Proof
    witness: Witness | None = None
    accepted: Accepted | None = None


@dataclass(frozen=True, slots=True)
class AlignmentFails:
    """This alignment does not prove the claim: a concrete run violates `condition`.

    The mechanism may still be private under another alignment. `advice` holds what would pass instead
    (another adjacency, another ε), each of them itself verified. A mechanism that draws by densities has no
    alignment; `densities` then holds an example instead of `counterexample`.
    """

    mechanism: Mechanism
    condition: Condition
    message: str
    primary: Label
    related: tuple[Label, ...]
    counterexample: Counterexample | None
    conditions: tuple[ConditionReport, ...]
    proof: Proof | None = None
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    densities: DensityExample | None = None


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
    proof: Proof | None = None
    help: str | None = None


@dataclass(frozen=True, slots=True)
class Error:
    """The input is no spec that can be checked."""

    diagnostic: Diagnostic


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
class Result:
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
