"""Privacy losses in three currencies, and what one says in another: ε, (ε, δ) and ρ (zero-concentrated).

Computed in rational numbers. What is not rational is rounded by less than one part in 2^90 (about 1e-27), so
that it claims less: bounds on a loss up, amounts within a bound down. Floats only choose the order α of a
bound that holds at each α.

Zero-concentrated differential privacy of ρ (ρ-zCDP): the Rényi divergence of each order α > 1 between what
neighbouring data release is at most αρ (Bun and Steinke, *Concentrated Differential Privacy:
Simplifications, Extensions, and Lower Bounds*, TCC 2016-B, Definition 1.1). Post-processing keeps all three.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from aligncheck.runtime.errors import ParameterError
from aligncheck.runtime.logistic import ln_bounds
from aligncheck.runtime.parameters import RealLike, real, shown
from aligncheck.runtime.thresholds import exp_bounds

_BITS = 96
_WORKING = 160
_LARGEST = 1 << 16
_LEAST = -(1 << 12)
"""Nothing is said of smaller powers of e than this one."""
_WIDEST = 150.0
_ROUNDS = 120


@dataclass(frozen=True, slots=True)
class PureLoss:
    """ε-differential privacy."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class ApproximateLoss:
    """(ε, δ)-differential privacy: P(M(D) in E) <= e^ε P(M(D') in E) + δ for every event E."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class ConcentratedLoss:
    """ρ-zCDP."""

    rho: Fraction


Loss: TypeAlias = PureLoss | ApproximateLoss | ConcentratedLoss

Amount: TypeAlias = tuple[Fraction, ...]
"""What a loss is in a currency: its number, or ε and δ."""


class Currency(Enum):
    """What losses are added up in."""

    EPSILON = "epsilon"
    EPSILON_DELTA = "epsilon and delta"
    RHO = "rho"

    def price(self, loss: Loss) -> Amount | None:
        """What a loss is in this currency; None where it has no price in it."""
        if self is Currency.RHO:
            rho = concentrated(loss)
            return None if rho is None else (rho,)
        if self is currency_of(loss):
            return amount_of(loss)
        return (loss.epsilon, Fraction(0)) if isinstance(loss, PureLoss) else None

    def written(self, amount: Sequence[object]) -> str:
        """As a spec claims it: `1/2`, `1/2 delta 1/1000`, `1/8 zcdp`."""
        match self:
            case Currency.EPSILON:
                return str(amount[0])
            case Currency.EPSILON_DELTA:
                return " delta ".join(map(str, amount))
            case Currency.RHO:
                return f"{amount[0]} zcdp"


KINDS: dict[Currency, type[Loss]] = {
    Currency.EPSILON: PureLoss,
    Currency.EPSILON_DELTA: ApproximateLoss,
    Currency.RHO: ConcentratedLoss,
}
"""How losses are claimed in each currency."""


def currency_of(loss: Loss) -> Currency:
    """The currency that a loss is claimed in."""
    return next(currency for currency, kind in KINDS.items() if isinstance(loss, kind))


def amount_of(loss: Loss) -> Amount:
    """What it is in that currency."""
    return tuple(getattr(loss, field.name) for field in dataclasses.fields(loss))


def concentrated(loss: Loss) -> Fraction | None:
    """The ρ that a loss implies: ε²/2 for ε (Bun and Steinke 2016, Proposition 1.4); none for δ > 0."""
    match loss:
        case PureLoss(epsilon=epsilon):
            return epsilon**2 / 2
        case ConcentratedLoss(rho=rho):
            return rho
        case ApproximateLoss(epsilon=epsilon, delta=delta):
            return epsilon**2 / 2 if delta == 0 else None


def epsilon_of(rho: RealLike, delta: RealLike) -> Fraction:
    """An ε for which ρ-zCDP implies (ε, δ)-privacy: ρ + 2 sqrt(ρ ln(1/δ)) (Bun and Steinke 2016, Proposition
    1.3), rounded up.

    Raises:
        ParameterError: ρ is negative or above 65,536, or δ is not between 0 and 1; also below.
    """
    amount, chance = _amount("rho", rho), _chance(delta)
    return _up(amount + 2 * _root(amount * -_ln(chance)[0]))


def tight_epsilon_of(rho: RealLike, delta: RealLike) -> Fraction:
    """A smaller one: αρ + ln(1/(αδ))/(α - 1) + ln(1 - 1/α) at the order α > 1 where it is least (Canonne,
    Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020, Corollary 13), rounded up.
    """
    amount, chance = _amount("rho", rho), _chance(delta)
    log, given = float(-_ln(chance)[0]), float(amount)

    def near(above: float, order: float) -> float:
        return order * given + (log - math.log(order)) / above - math.log1p(1 / above)

    above = _lowest(near)
    return max(
        Fraction(0), min(_up((1 + above) * amount + _besides(chance, above)), epsilon_of(amount, chance))
    )


def concentrated_within(epsilon: RealLike, delta: RealLike) -> Fraction:
    """The greatest ρ for which `tight_epsilon_of` is at most ε, rounded down: by the same formula, at the
    order where it is greatest.
    """
    claimed, chance = _amount("epsilon", epsilon), _chance(delta)
    log, level = float(-_ln(chance)[0]), float(claimed)

    def near(above: float, order: float) -> float:
        return ((log - math.log(order)) / above - math.log1p(1 / above) - level) / order

    above = _lowest(near)
    return max(Fraction(0), -_up((_besides(chance, above) - claimed) / (1 + above)))


def tight_delta_of(rho: RealLike, epsilon: RealLike) -> Fraction:
    """A δ for which ρ-zCDP implies (ε, δ)-privacy: exp((α-1)(αρ - ε)) (1 - 1/α)^α/(α - 1) at the order α > 1
    where it is least (Canonne, Kamath, Steinke 2020, Corollary 13), rounded up; at most 1.
    """
    amount, claimed = _amount("rho", rho), _amount("epsilon", epsilon)
    if amount == 0:
        return amount
    given, level = float(amount), float(claimed)

    def near(above: float, order: float) -> float:
        return above * (order * given - level) - order * math.log1p(1 / above) - math.log(above)

    above = _lowest(near)
    order = 1 + above
    log = above * (order * amount - claimed) + order * _ln(above / order)[1] - _ln(above)[0]
    return min(_up(_exp(log)), Fraction(1))


def advanced(epsilon: RealLike, calls: int, slack: RealLike) -> Fraction:
    """The ε of `calls` runs of ε-private (or (ε, δ)-private) mechanisms, each chosen by what earlier ones
    released: sqrt(2k ln(1/δ')) ε + kε(e^ε - 1), rounded up. It holds with δ', the `slack`, and each run's δ
    besides (Dwork and Roth, *The Algorithmic Foundations of Differential Privacy*, 2014, Theorem 3.20). ε and
    the number are fixed in advance; of fewer runs the missing ones release nothing.
    """
    each, chance = _amount("epsilon", epsilon), _chance(slack)
    if calls < 0:
        raise ParameterError("calls", f"must not be negative, but is {calls}")
    return _up(_root(-2 * calls * each**2 * _ln(chance)[0]) + calls * each * (_exp(each) - 1))


def of_group(loss: Loss, steps: int) -> Loss:
    """What a loss implies for data that are `steps` steps between neighbours apart: m ε; m² ρ (Bun and
    Steinke 2016, Proposition 1.9); m ε with δ (1 + e^ε + … + e^((m-1)ε)), rounded up, at most 1.
    """
    match loss:
        case PureLoss(epsilon=epsilon):
            return PureLoss(steps * epsilon)
        case ConcentratedLoss(rho=rho):
            return ConcentratedLoss(steps**2 * rho)
        case ApproximateLoss(epsilon=epsilon, delta=delta):
            grown, whole = _up(_exp(epsilon)), min(delta, Fraction(1)) if steps else Fraction(0)
            for _ in range(steps - 1):
                whole = min(_up(delta + grown * whole), Fraction(1))
                if whole == 1:
                    break
            return ApproximateLoss(steps * epsilon, whole)


def _besides(delta: Fraction, above: Fraction) -> Fraction:
    """At least ln(1/(αδ))/(α - 1) + ln(1 - 1/α), for α = 1 + `above`."""
    order = 1 + above
    return -(_ln(delta)[0] + _ln(order)[0]) / above + _ln(above / order)[1]


def _lowest(near: Callable[[float, float], float]) -> Fraction:
    """An α - 1 close to where a function of α - 1 and α is least: by thirds, on a logarithmic scale."""
    low, high = -_WIDEST, _WIDEST
    for _ in range(_ROUNDS):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        one, other = (near(math.exp(place), 1 + math.exp(place)) for place in (left, right))
        low, high = (low, right) if one <= other else (left, high)
    return Fraction(math.exp((low + high) / 2))


def _amount(name: str, value: RealLike) -> Fraction:
    number = real(name, value)
    if not 0 <= number <= _LARGEST:
        raise ParameterError(name, f"must be from 0 to {_LARGEST}, but is {shown(number)}")
    return number


def _chance(value: RealLike) -> Fraction:
    number = real("delta", value)
    if not 0 < number < 1:
        raise ParameterError("delta", f"must be between 0 and 1, but is {shown(number)}")
    return number


def _up(number: Fraction) -> Fraction:
    """To some significant binary digits, towards +∞."""
    if number == 0:
        return number
    unit = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - _BITS)
    return math.ceil(number / unit) * unit


def _ln(number: Fraction) -> tuple[Fraction, Fraction]:
    low, high = ln_bounds(number, _WORKING)
    return Fraction(low, 1 << _WORKING), Fraction(high, 1 << _WORKING)


def _root(number: Fraction) -> Fraction:
    """At least the square root."""
    digits = _WORKING + max(number.denominator.bit_length() - number.numerator.bit_length(), 0)
    return (
        Fraction(math.isqrt(math.ceil(number * (1 << 2 * digits)) - 1) + 1, 1 << digits) if number else number
    )


def _exp(number: Fraction) -> Fraction:
    """At least e to the power of it."""
    number = max(number, Fraction(_LEAST))
    digits = _WORKING + 2 * math.ceil(abs(number))
    low, high = (Fraction(end, 1 << digits) for end in exp_bounds(abs(number), digits))
    return 1 / low if number > 0 else high
