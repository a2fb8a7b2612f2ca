"""What a search for a violation comes to: a certified violation, or the strongest ratio that was seen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from aligncheck.meaning.exact import Number
from aligncheck.meaning.interpreter import Run
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.enclosure import Ball
from aligncheck.refutation.events import Event


class LossKind(Enum):
    """How far privacy is lost.

    FINITE: the certified factor is more than exp(claim); whether it has a bound is not said. IMPOSSIBLE: the
    event is possible on D and impossible on D', so no ε suffices. RARER: the tail of a
    released number falls faster on D' than on D, by exact rates, so no ε suffices. GROWS: the certified level
    grew with the number of answers, each adding about as much, on the lengths listed; of longer inputs that
    says nothing.
    """

    FINITE = "finite"
    IMPOSSIBLE = "impossible"
    RARER = "rarer"
    GROWS = "grows"


@dataclass(frozen=True, slots=True)
class Grown:
    """One member of a family: what it is (`n = 3`, `40 away`), and its certified level."""

    what: str
    level: Fraction


@dataclass(frozen=True, slots=True)
class ClosedForms:
    """Closed forms in ε: the ratio of the probabilities, and where it is more than exp(claim), as texts."""

    name: str
    ratio: str
    violated: str | None


@dataclass(frozen=True, slots=True)
class Trace:
    """A run on D that ends in the event, and the run on D' with the same noise."""

    on_d: Run
    on_d_prime: Run


@dataclass(frozen=True, slots=True)
class Violation:
    """P(M(D) ∈ E) > exp(claim) P(M(D') ∈ E) + δ, with rigorous bounds on both probabilities; or, where
    `delta` is None, a divergence of more than the claim, which is a ρ (see `claims`).

    `scenario` holds the parameters, D and D', which are adjacent as declared. `level` is a rational number
    below ln((P - δ)/P'), None where P' is 0: every smaller ε is violated, too, at that δ. `trace` is how E
    arises, where such a run was found.
    """

    scenario: Scenario
    event: Event
    on_d: Ball
    on_d_prime: Ball
    claim: Number
    level: Fraction | None
    kind: LossKind
    family: tuple[Grown, ...] = ()
    formula: ClosedForms | None = None
    trace: Trace | None = None
    delta: Number | None = Fraction(0)


@dataclass(frozen=True, slots=True)
class StrongestSeen:
    """The strongest ratio that was seen, not more than the claim: `level` is close to ln((P - δ)/P'), and
    `certified` a rational number below it by rigorous bounds, where these were found. Where `delta` is None
    these are divergences, in units of ρ.
    """

    scenario: Scenario
    event: Event
    level: float
    claim: Number
    certified: Fraction | None = None
    delta: Number | None = Fraction(0)


class Ended(Enum):
    """What ended a search: nothing was left to try, its steps were used up, or the time."""

    THROUGH = "through"
    STEPS = "steps"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Searched:
    """What was searched: so many choices of the public inputs, and pairs of databases to start from, of up to
    `longest` answers in a list, in so many steps (see `Effort`).
    """

    choices: int
    databases: int
    longest: int
    steps: int
    ended: Ended


@dataclass(frozen=True, slots=True)
class NoViolation:
    """No violation was found. This claims nothing: another event or database may violate privacy.

    `tried` counts pairs of probabilities; `left_out` says what could not be computed, in the spec's words.
    `looked` is False where no inputs were found that the declarations allow.
    """

    strongest: StrongestSeen | None
    tried: int
    searched: Searched
    left_out: tuple[str, ...] = ()
    looked: bool = True


Finding: TypeAlias = Violation | NoViolation
