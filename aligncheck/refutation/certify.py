"""From a candidate to a certificate: the only place where a `Violation` is made.

Both probabilities are enclosed anew, at a precision that grows until the enclosures decide; the comparison is
made with the bounds that count against the violation: the lower one on D, the upper one on D', and an upper
bound of what is claimed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Number, Undecided, Undefined
from aligncheck.meaning.interpreter import Stopped
from aligncheck.refutation.claims import Granted, best_order, granted_for
from aligncheck.refutation.databases import legal
from aligncheck.refutation.enclosure import Ball, NotComputable
from aligncheck.refutation.pair_search import Candidate
from aligncheck.refutation.probability import probability
from aligncheck.refutation.violation import LossKind, StrongestSeen, Violation

_PRECISIONS = (128, 256, 512)
_FINE = 1 << 64


def certified(mechanism: Mechanism, candidate: Candidate, effort: Effort) -> Violation | None:
    """The violation that a candidate is, or None where it is none, or none that can be certified in time.

    *Claim*: P(M(D) ∈ E) > exp(ε) P(M(D') ∈ E) + δ, so the mechanism is not (ε, δ)-DP (in a pure claim δ is
    0); or the Rényi divergence of some order α between the two answers to whether E happened, which are
    post-processing, is more than αρ, so it is not ρ-zCDP. *Why sound*: D and D' are legal inputs and
    adjacent (`check_scenario`, exact); the bounds on the probabilities are rigorous (`probability`); what is
    claimed is bounded from above.
    """
    scenario, event = candidate.scenario, candidate.event
    if not legal(mechanism, scenario):
        return None
    try:
        claim = granted_for(mechanism, scenario, event)
        for precision in _PRECISIONS:
            on_d, on_d_prime = _both(mechanism, candidate, precision, effort)
            if exceeds(on_d, on_d_prime, claim):
                level = level_of(on_d, on_d_prime, claim)
                kind = LossKind.IMPOSSIBLE if level is None else LossKind.FINITE
                return Violation(
                    scenario, event, on_d, on_d_prime, claim.amount, level, kind, delta=_delta(claim)
                )
    except (NotComputable, OutOfTime, Stopped, Undecided, Undefined):
        return None
    return None


def seen(mechanism: Mechanism, candidate: Candidate, level: float, effort: Effort) -> StrongestSeen:
    """The strongest ratio, close to exp(`level`), with what is certified of it where that is possible.

    Raises `Stopped`, `Undecided` or `Undefined` where there is no claim for its event.
    """
    scenario, event = candidate.scenario, candidate.event
    claim = granted_for(mechanism, scenario, event)
    try:
        on_d, on_d_prime = _both(mechanism, candidate, _PRECISIONS[0], effort)
        sure = level_of(on_d, on_d_prime, claim) if legal(mechanism, scenario) else None
    except (NotComputable, OutOfTime, Stopped, Undecided, Undefined):
        sure = None
    return StrongestSeen(scenario, event, level, claim.amount, sure, _delta(claim))


def _delta(claim: Granted) -> Number | None:
    return None if claim.concentrated else claim.delta


def _both(mechanism: Mechanism, candidate: Candidate, precision: int, effort: Effort) -> tuple[Ball, Ball]:
    """The probabilities on D and on D'."""
    left, right = (
        probability(mechanism, inputs, candidate.event, precision=precision, effort=effort)
        for inputs in (candidate.scenario.on_d, candidate.scenario.on_d_prime)
    )
    return left, right


def exceeds(on_d: Ball, on_d_prime: Ball, claim: Granted) -> bool:
    """Whether the claim is exceeded for every P in the first enclosure and every P' in the second."""
    import flint

    if claim.concentrated:
        try:
            level = level_of(on_d, on_d_prime, claim)
        except Undecided:
            return False
        return level is None or level > exact.rational_above(claim.amount)
    left = on_d.lower - exact.rational_above(claim.delta)
    if on_d_prime.is_zero:
        return left > 0
    with flint.ctx.workprec(256):
        factor = _ball(exact.rational_above(claim.amount)).exp()
        return bool(_ball(left) > factor * _ball(on_d_prime.upper))


def level_of(on_d: Ball, on_d_prime: Ball, claim: Granted) -> Fraction | None:
    """A rational number below the level that is shown (see `claims`), for ε by less than 2^-60 or so but for
    the widths of the enclosures; None where there is no bound.

    Raises `Undecided` where P may be 0, or not more than δ.
    """
    import flint

    left = on_d.lower - exact.rational_above(claim.delta)
    if not left > 0:
        raise Undecided("the event may be impossible, or no likelier than δ")
    if on_d_prime.is_zero:
        return None
    with flint.ctx.workprec(128):
        shown = (
            _divergence(on_d.lower, on_d_prime.upper)
            if claim.concentrated
            else (_ball(left) / _ball(on_d_prime.upper)).log()
        )
        lowest = (shown * _FINE).lower().floor().unique_fmpz()
        if lowest is None:
            raise Undecided("the ratio is out of reach")
        return Fraction(int(lowest), _FINE)


def _divergence(p: Fraction, q: Fraction) -> Any:
    """d/α for the Rényi divergence d of order α between coins with these probabilities, for an α of which it
    is great. It rises with p and falls with q where p >= q, since then both coins come apart.
    """
    if p < q or q == 1:
        raise Undecided("the event is no likelier")
    exact_order = Fraction(best_order(_log(p), _log(q)))
    order, one, other = _ball(exact_order), _ball(p), _ball(q)
    moment = one**order * other ** (1 - order)
    if p < 1:
        moment += (1 - one) ** order * (1 - other) ** (1 - order)
    return moment.log() / (order - 1) / order


def _log(value: Fraction) -> float:
    return float(_ball(value).log())


def _ball(value: Fraction) -> Any:
    import flint

    return flint.arb(flint.fmpq(value.numerator, value.denominator))
