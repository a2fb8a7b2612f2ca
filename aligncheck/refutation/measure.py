"""What a search asks: probabilities and claims, each worked out once, with what could not be worked out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax.nodes import Mechanism, Pure
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Number, Undecided, Undefined
from aligncheck.meaning.interpreter import Inputs, Stopped
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.claims import granted_for, level
from aligncheck.refutation.enclosure import Ball, NotComputable
from aligncheck.refutation.events import Event
from aligncheck.refutation.probability import probability, shapes

_BITS = 64
"""The precision of a search; a certificate has its own."""
_HEAVIER = 10
"""So many steps more count for a probability where a claim has a δ, or is in ρ: scales are irrational there,
and noise has no closed form.
"""
_RAREST = 1 << 16
"""Binary digits of a probability, at the most."""
_MANY = 200
_PATIENCE = 4
_SLOW = 0.5
_LONG = 1_000
"""Seconds, or where only steps are counted steps, after which one probability is given up in a search."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A claim about: ε beside δ, or ρ."""

    amount: float
    delta: float
    concentrated: bool

    def level(self, on_d: float, on_d_prime: float) -> float:
        """See `claims.level`."""
        return level(on_d, on_d_prime, self.delta, concentrated=self.concentrated)


class Meter:
    """Measures candidates of one mechanism until an effort is spent, then raises `OutOfTime`; so it does
    after `most` probabilities, and where several in a row take too long.
    """

    def __init__(self, mechanism: Mechanism, effort: Effort, most: int | None = None) -> None:
        self.mechanism = mechanism
        self.effort = effort
        self._most = most
        self._too_long = 0
        self.asked = 0
        self.left_out: dict[str, None] = {}
        self.unlisted: dict[str, None] = {}
        self._known: dict[tuple[Inputs, Inputs, Event], float | None] = {}

    def _for_one(self) -> Effort:
        """What one probability may take."""
        return self.effort.part(steps=_LONG) if self.effort.is_counted else self.effort.part(_SLOW)

    def log_probability(self, parameters: Inputs, data: Inputs, event: Event) -> float | None:
        """ln P(M(data) ∈ event) about; -inf where the event is impossible; None where it is not computable.

        Raises `OutOfTime`.
        """
        key = (parameters, data, event)
        if key not in self._known:
            self._known[key] = self._measured(parameters, data, event)
        return self._known[key]

    def _measured(self, parameters: Inputs, data: Inputs, event: Event) -> float | None:
        if self._most is not None and self.asked >= self._most:
            raise OutOfTime
        self.effort.step()
        if not isinstance(self.mechanism.claim, Pure):
            self.effort.spend(_HEAVIER)
        self.asked += 1
        inputs = {**dict(parameters), **dict(data)}
        try:
            ball = probability(self.mechanism, inputs, event, precision=_BITS, effort=self._for_one())
        except NotComputable as error:
            self.left_out[error.reason] = None
            return None
        except OutOfTime:
            if self.effort.is_over:
                raise
            self._gave_up()
            return None
        except (Undecided, Undefined) as error:
            self.left_out[str(error)] = None
            return None
        self._too_long = 0
        return logarithm(ball)

    def _gave_up(self) -> None:
        """Notes that something took too long; after a few times in a row, the search is over."""
        self.left_out["some probabilities took too long"] = None
        self._too_long += 1
        if self._too_long > _PATIENCE:
            raise OutOfTime

    def outputs(self, parameters: Inputs, data: Inputs, most: int) -> list[Event]:
        """The discrete outputs, at most `most`, the likeliest first; none where they cannot be listed.

        Raises `OutOfTime`.
        """
        inputs = {**dict(parameters), **dict(data)}
        try:
            found = shapes(self.mechanism, inputs, precision=_BITS, effort=self._for_one(), most=_MANY)
        except OutOfTime:
            if self.effort.is_over:
                raise
            self._gave_up()
            return []
        except NotComputable as error:
            self.unlisted[error.reason] = None
            return []
        except (Undecided, Undefined):
            return []
        return [event for event, _ in sorted(found, key=lambda pair: -pair[1].upper)[:most]]

    def claim(self, scenario: Scenario, event: Event) -> Allowance | None:
        """The claim about; None where it has no value."""
        try:
            granted = granted_for(self.mechanism, scenario, event)
            delta = approximately(granted.delta)
            return Allowance(approximately(granted.amount), delta, granted.concentrated)
        except (Stopped, Undecided, Undefined):
            return None


def logarithm(ball: Ball) -> float | None:
    """ln P about; -inf where the event is impossible; None where the enclosure is too wide to say even
    whether the event is possible, or it is so rare that numbers grow: in the tail of Gaussian noise there is
    no end.
    """
    if ball.is_zero:
        return -inf
    if not ball.is_positive or ball.upper.denominator.bit_length() > _RAREST:
        return None
    return _log((ball.lower + ball.upper) / 2)


def _log(value: Fraction) -> float:
    """ln of a positive number that may be too small for a float."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return log(float(value / Fraction(2) ** exponent)) + exponent * log(2)


def approximately(number: Number) -> float:
    """A float close to a number, for comparisons that need not be exact."""
    return float(number) if isinstance(number, Fraction) else float(exact.decimal(number, 17))
