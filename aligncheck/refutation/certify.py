"""From a candidate to a certificate: the only place where a `Violation` is made.

Both probabilities are enclosed anew, at a precision that grows until the enclosures decide; the comparison is
made with the bounds that count against the violation: the lower one on D, the upper one on D', and an upper
bound of exp(claim).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Number, Undecided, Undefined
from aligncheck.meaning.interpreter import Inputs, Stopped
from aligncheck.refutation.claims import claim_for
from aligncheck.refutation.databases import legal
from aligncheck.refutation.enclosure import Ball, NotComputable
from aligncheck.refutation.events import Event
from aligncheck.refutation.pair_search import Candidate
from aligncheck.refutation.probability import probability
from aligncheck.refutation.violation import LossKind, StrongestSeen, Violation

_PRECISIONS = (128, 256, 512)
_FINE = 1 << 64


def certified(mechanism: Mechanism, candidate: Candidate, effort: Effort) -> Violation | None:
    """The violation that a candidate is, or None where it is none, or none that can be certified in time.

    *Claim*: P(M(D) ∈ E) > exp(claim) P(M(D') ∈ E), so the mechanism is not claim-DP. *Why sound*: D and D'
    are legal inputs and adjacent (`check_scenario`, exact); the bounds on the probabilities are rigorous
    (`probability`); exp(claim) is bounded from above.
    """
    scenario, event = candidate.scenario, candidate.event
    if not legal(mechanism, scenario):
        return None
    try:
        claim = claim_for(mechanism, scenario, event)
        for precision in _PRECISIONS:
            on_d, on_d_prime = (
                _probability(mechanism, scenario.parameters, data, event, precision, effort)
                for data in (scenario.data, scenario.data_prime)
            )
            if exceeds(on_d, on_d_prime, claim):
                level = level_of(on_d, on_d_prime)
                kind = LossKind.IMPOSSIBLE if level is None else LossKind.FINITE
                return Violation(scenario, event, on_d, on_d_prime, claim, level, kind)
    except (NotComputable, OutOfTime, Stopped, Undecided, Undefined):
        return None
    return None


def seen(mechanism: Mechanism, candidate: Candidate, level: float, effort: Effort) -> StrongestSeen:
    """The strongest ratio, close to exp(`level`), with what is certified of it where that is possible.

    Raises `Stopped`, `Undecided` or `Undefined` where there is no claim for its event.
    """
    scenario, event = candidate.scenario, candidate.event
    claim = claim_for(mechanism, scenario, event)
    try:
        on_d, on_d_prime = (
            _probability(mechanism, scenario.parameters, data, event, _PRECISIONS[0], effort)
            for data in (scenario.data, scenario.data_prime)
        )
        sure = level_of(on_d, on_d_prime) if legal(mechanism, scenario) else None
    except (NotComputable, OutOfTime, Stopped, Undecided, Undefined):
        sure = None
    return StrongestSeen(scenario, event, level, claim, sure)


def _probability(
    mechanism: Mechanism, parameters: Inputs, data: Inputs, event: Event, precision: int, effort: Effort
) -> Ball:
    inputs = {**dict(parameters), **dict(data)}
    return probability(mechanism, inputs, event, precision=precision, effort=effort)


def exceeds(on_d: Ball, on_d_prime: Ball, claim: Number) -> bool:
    """Whether P > exp(claim) P' for every P in the first enclosure and every P' in the second."""
    import flint

    if on_d_prime.is_zero:
        return on_d.is_positive
    with flint.ctx.workprec(256):
        factor = _ball(_above(claim)).exp()
        return bool(_ball(on_d.lower) > factor * _ball(on_d_prime.upper))


def level_of(on_d: Ball, on_d_prime: Ball) -> Fraction | None:
    """A rational number below ln(P/P'), by less than 2^-60 or so but for the widths of the enclosures; None
    where P' is 0, so that there is no bound.

    Raises `Undecided` where P may be 0.
    """
    import flint

    if on_d_prime.is_zero:
        return None
    if not on_d.is_positive:
        raise Undecided("the event may be impossible")
    with flint.ctx.workprec(128):
        ratio = (_ball(on_d.lower) / _ball(on_d_prime.upper)).log()
        lowest = (ratio * _FINE).lower().floor().unique_fmpz()
        if lowest is None:
            raise Undecided("the ratio is out of reach")
        return Fraction(int(lowest), _FINE)


def _above(number: Number) -> Fraction:
    """A rational number that is at least this one."""
    if isinstance(number, Fraction):
        return number
    return Fraction(exact.floor(exact.multiply(number, Fraction(_FINE))) + 1, _FINE)


def _ball(value: Fraction) -> Any:
    import flint

    return flint.arb(flint.fmpq(value.numerator, value.denominator))
