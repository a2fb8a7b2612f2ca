"""What a released gap tells about the answer: an estimate, its standard error, a lower confidence bound.

A gap is an answer with noise less a threshold with noise, so gap + threshold estimates the answer; between
two answers with noise it estimates how far they are apart. All of this is computed from the output and from
public numbers, so it costs no privacy.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.runtime.errors import ParameterError
from aligncheck.runtime.rationals import exp
from aligncheck.runtime.reals import Real, nearest_float, softplus

_FINE = 2.0**-40
"""Noise with a scale of more steps than one over this is taken for noise on the reals, less than two steps
away from it.
"""
_COARSE = 100
"""Noise with a scale of less than one part in so many of a step is 0: with all but 1 part in 10^43."""


@dataclass(frozen=True, slots=True)
class GapNoise:
    """The noise X of a gap: the answer's less the threshold's, two independent draws, less its mean.

    Attributes:
        answer_scale: the scale of the noise that was added to the answer, in the unit of the answers.
        threshold_scale: the scale of the noise that was added to the threshold, in the same unit.
        one_sided: False for Laplace noise, True for exponential noise.
        step: 0 for noise on the reals; else both draws are multiples of it, with masses proportional to
            exp(-abs(x)/scale): discrete Laplace or geometric noise.

    Raises:
        ParameterError: a scale is not positive and finite, or the step negative.
    """

    answer_scale: Real
    threshold_scale: Real
    one_sided: bool = False
    step: Real = 0

    def __post_init__(self) -> None:
        for name in ("answer_scale", "threshold_scale"):
            if not 0 < getattr(self, name) < math.inf:
                raise ParameterError(name, "must be positive and finite")
        if not 0 <= self.step < math.inf:
            raise ParameterError("step", "must not be negative")

    @property
    def mean(self) -> Real:
        """The mean of the answer's draw less the threshold's: what X has been made free of. On steps it is a
        rational number near it, off by less than one part in 2^90.
        """
        if not self.one_sided:
            return 0
        if not self.step:
            return self.answer_scale - self.threshold_scale
        return self._mean_of(self.answer_scale) - self._mean_of(self.threshold_scale)

    def _mean_of(self, scale: Real) -> Fraction:
        """Of a geometric draw: a/(1 - a) steps, where a = exp(-step/scale)."""
        rate = Fraction(self.step) / Fraction(scale)
        return Fraction(0) if rate > _COARSE else Fraction(self.step) / (exp(rate) - 1)

    @property
    def standard_deviation(self) -> float:
        """In the unit of the answers. Exp(scale) has variance scale**2, Lap(scale) twice that. Infinite where
        no float is that large.
        """
        if (steps := self._steps()) is not None:
            return nearest_float(Fraction(steps.standard_deviation) * Fraction(self.step))
        draws = math.hypot(*self._scales())
        return nearest_float(self._in_answers(draws if self.one_sided else math.sqrt(2) * draws))

    def probability_at_most(self, t: Real) -> float:
        """P(X <= t), for t in the unit of the answers.

        Source: for Laplace noise Lemma 7 of the VLDB paper (Lemma 5.4 of the dissertation), whose P(X >= -t)
        is the same by symmetry, and whose rates are one over these scales. For exponential noise it is the
        distribution of a difference of two exponential variables (an asymmetric Laplace distribution).
        """
        if isinstance(t, float) and math.isinf(t):
            return float(t > 0)
        if (steps := self._steps()) is not None:
            return steps.at_most(math.floor((Fraction(t) + Fraction(self.mean)) / Fraction(self.step)))
        t = nearest_float(Fraction(t) / Fraction(self._unit))
        if math.isinf(t):
            return float(t > 0)
        if self.one_sided:
            return self._one_sided_at_most(t)
        return 1 - self._tail(t) if t >= 0 else self._tail(-t)

    def margin(self, confidence: float) -> float:
        """The least t with P(X <= t) >= confidence, up to rounding, in the unit of the answers; infinite
        where no float is that large.

        Raises:
            ParameterError: `confidence` is not strictly between 0 and 1.
        """
        return nearest_float(self.exact_margin(confidence))

    def exact_margin(self, confidence: float) -> Fraction:
        """The same, however large. Raises as `margin` does."""
        if not 0 < confidence < 1:
            raise ParameterError("confidence", f"must lie between 0 and 1, but is {confidence}")
        if (steps := self._steps()) is not None:
            return steps.margin(confidence) * Fraction(self.step) - Fraction(self.mean)
        if self.one_sided:
            margin = self._one_sided_margin(confidence)
        else:
            doubt = min(confidence, 1 - confidence)
            margin = math.copysign(self._quantile(doubt), confidence - 0.5)
        return self._in_answers(margin) + 2 * Fraction(self.step)

    def _steps(self) -> _Steps | None:
        """The noise in steps; None on the reals, and where steps are so fine that it is nearly so."""
        if not self.step:
            return None
        rates = [Fraction(self.step) / Fraction(scale) for scale in (self.answer_scale, self.threshold_scale)]
        answer, threshold = (nearest_float(min(rate, Fraction(_COARSE))) for rate in rates)
        return None if min(answer, threshold) < _FINE else _Steps(answer, threshold, self.one_sided)

    @property
    def _unit(self) -> Real:
        """The larger scale. What follows is computed in it, since scales need not be near any float."""
        return max(self.answer_scale, self.threshold_scale)

    def _scales(self) -> tuple[float, float]:
        """Both scales in this unit, so that none is more than 1. Beside that one, the least normal float
        stands for all that is less.
        """
        return tuple(  # type: ignore[return-value]
            max(nearest_float(Fraction(scale) / Fraction(self._unit)), sys.float_info.min)
            for scale in (self.answer_scale, self.threshold_scale)
        )

    def _in_answers(self, t: float) -> Fraction:
        return Fraction(t) * Fraction(self._unit)

    def _tail(self, t: float) -> float:
        """P(X > t) of Laplace noise, for t >= 0.

        With rates a <= b: exp(-a t)/2 * (1 + a**2/(a + b) * (1 - exp(-(b - a) t))/(b - a)), and the last
        quotient is t where a = b. So written, no digits are lost where the rates are close.
        """
        a, b = sorted(1 / scale for scale in self._scales())
        quotient = t if a == b else -math.expm1(-(b - a) * t) / (b - a)
        return math.exp(-a * t) / 2 * (1 + a * (a / (a + b)) * quotient)

    def _quantile(self, probability: float) -> float:
        """The t >= 0 with P(X > t) = probability <= 1/2, by bisection down to neighbouring floats."""
        if self._tail(0.0) <= probability:
            return 0.0
        low, high = 0.0, 1.0
        while self._tail(high) > probability:
            low, high = high, 2 * high
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if self._tail(middle) > probability else (low, middle)
        return high

    def _one_sided_at_most(self, t: float) -> float:
        answer, threshold, mean = self._means()
        z = t + mean
        if z >= 0:
            return 1 - answer / (answer + threshold) * math.exp(-z / answer)
        return threshold / (answer + threshold) * math.exp(z / threshold)

    def _one_sided_margin(self, confidence: float) -> float:
        answer, threshold, mean = self._means()
        doubt = 1 - confidence
        if doubt * (answer + threshold) <= answer:
            return -answer * math.log(doubt * (answer + threshold) / answer) - mean
        return threshold * math.log(confidence * (answer + threshold) / threshold) - mean

    def _means(self) -> tuple[float, float, float]:
        """Of the answer's draw, of the threshold's, of their difference; that of Exp(scale) is its scale."""
        answer, threshold = self._scales()
        return answer, threshold, answer - threshold


@dataclass(frozen=True, slots=True)
class _Steps:
    """A - B for two independent whole numbers with masses proportional to exp(-rate*abs(x)), on x >= 0 where
    they are one-sided. `answer` is the rate of A, `threshold` that of B.
    """

    answer: float
    threshold: float
    one_sided: bool

    @property
    def standard_deviation(self) -> float:
        """A geometric draw has variance a/(1 - a)^2; a discrete Laplace draw is the difference of two."""
        draws = sum(math.exp(-rate) / math.expm1(-rate) ** 2 for rate in (self.answer, self.threshold))
        return math.sqrt(draws if self.one_sided else 2 * draws)

    def at_most(self, k: int) -> float:
        """P(A - B <= k)."""
        return 1 - self._tail(k + 1)

    def margin(self, confidence: float) -> int:
        """The least k with P(A - B <= k) >= confidence, by bisection."""
        doubt, reach = 1 - confidence, 1
        while self._tail(reach + 1) > doubt or self._tail(1 - reach) <= doubt:
            reach *= 2
        low, high = -reach, reach
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._tail(middle + 1) > doubt else (low, middle)
        return high

    def _tail(self, k: int) -> float:
        """P(A - B >= k)."""
        if k >= 1:
            return self._upper(k, self.answer, self.threshold)
        return 1 - self._upper(1 - k, self.threshold, self.answer)

    def _upper(self, k: int, one: float, other: float) -> float:
        """P(X - Y >= k) for k >= 1, with the rates of X and Y; a and b are exp of less these.

        One-sided: the sum over Y = j of (1 - b) b^j a^(k + j) is a^k (1 - b)/(1 - ab). Else the sum over
        m >= k of the masses of X - Y, which are (1 - a)(1 - b)/((1 + a)(1 + b)) times (a^m + b^m) ab/(1 - ab)
        + (a^m + a^(m - 1) b + … + b^m): those with X and -Y of other signs, and those between.
        """
        a, b, not_a, not_b = math.exp(-one), math.exp(-other), -math.expm1(-one), -math.expm1(-other)
        not_both = -math.expm1(-one - other)
        if self.one_sided:
            return math.exp(-one * k) * not_b / not_both
        if one > other:
            return self._upper(k, other, one)
        # The sum of the last terms over m >= k: (g(a) - g(b))/(a - b), where g(x) = x^(k + 1)/(1 - x).
        apart, n = other - one, k + 1
        powers = n if apart == 0 else math.expm1(-n * apart) / math.expm1(-apart)
        between = math.exp(-one * k) * powers / not_a + math.exp(-other * n) / (not_a * not_b)
        outer = (math.exp(-one * k) / not_a + math.exp(-other * k) / not_b) * a * b / not_both
        return not_a * not_b / ((1 + a) * (1 + b)) * (outer + between)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A true answer as a released gap tells it: `value` is gap + threshold, in the unit of the answers. Or
    how far two answers are apart (`Result.gap_between`).

    `resolution` is the step of the lattice on which the noise was drawn, 0 where there is none, and where it
    was discrete noise, whose step `noise` has.

    Source: VLDB paper, section 6.2; dissertation, section 5.4.3.
    """

    value: Real
    noise: GapNoise
    resolution: Fraction = Fraction(0)

    @property
    def standard_error(self) -> float:
        """The standard deviation of `value` as an estimate, in the unit of the answers."""
        return self.noise.standard_deviation

    def lower_bound(self, confidence: float = 0.95) -> float:
        """A number that the true answer is at least, with this confidence: the value less the noise's margin.

        It is too high with probability 1 - confidence for an answer that is chosen in advance. A gap is
        released only where it is not negative. That it is released **and** its bound is too high has at most
        this probability; but of the bounds that are released a larger share may be too high, if many answers
        lie near the threshold or below it. For bounds that hold together for all m answers that were tested,
        take the confidence 1 - (1 - confidence)/m.

        On a lattice the bound is lower by two of its steps. Exponential noise rounded down to the lattice is
        geometric, and Laplace noise the difference of two such draws; so the gap's noise on the lattice is
        less than two steps away from noise with the distribution that the margin is of. Rounding the answer
        down only makes the bound safer.

        Source: Lemma 7 of the VLDB paper; Lemma 5.4 of the dissertation.

        Raises:
            ParameterError: `confidence` is not strictly between 0 and 1.
        """
        margin = self.noise.exact_margin(confidence)
        if isinstance(self.value, float) and not math.isfinite(self.value):
            return min(self.value, sys.float_info.max)
        # Of what is above all floats the largest of them is a bound, too.
        return min(nearest_float(Fraction(self.value) - 2 * self.resolution - margin), sys.float_info.max)


@dataclass(frozen=True, slots=True)
class ChoiceGap:
    """What the gap beside a choice of the exponential mechanism tells (dissertation, Algorithms 21 and 22).

    Attributes:
        gap: the gap that was released, which is not negative.
        unit: the scale of its noise, in the same unit.
    """

    gap: Real
    unit: Real = 1

    @property
    def p_value(self) -> float:
        """How likely such a gap or a greater one is, at most, beside a choice that is not the best: that
        another answer has a larger score is refuted at this level. Source: dissertation, Theorem 5.14.
        """
        return choice_p_value(self.gap, self.unit)

    def expected_gap(self, location: Real) -> float:
        """The mean of the gap if it has this location, which is private: how large a gap is to be expected
        where the choice is ahead by so much. Source: dissertation, Theorem 5.13.
        """
        return expected_choice_gap(location, self.unit)


def choice_p_value(gap: Real, unit: Real = 1) -> float:
    """2/(1 + exp(gap)): how likely such a gap is, at most, beside a choice that is not the best.

    `gap` is what the exponential mechanism with gap releases, `unit` the scale of its logistic noise: 1 where
    the gap is eps/(2 Delta) times that of the utilities. A gap that was rounded down has a greater p-value,
    which is right as well, and so has one whose p-value is less than the smallest float above 0, which stands
    for it. Source: dissertation, Theorem 5.14.

    Raises:
        ParameterError: the unit is not positive, or the gap negative.
    """
    size = _in_units(gap, unit)
    if size < 0:
        raise ParameterError("gap", "must not be negative")
    return max(2 * math.exp(-size) / (1 + math.exp(-size)), math.nextafter(0, 1))


def expected_choice_gap(location: Real, unit: Real = 1) -> float:
    """The mean of the gap where its location is `location`: (1 + exp(-t)) ln(1 + exp(t)) units, with t the
    location in units. The location is private; this is for planning. Source: dissertation, Theorem 5.13.

    Raises:
        ParameterError: the unit is not positive.
    """
    t = _in_units(location, unit)
    if t < -_FAR:
        return nearest_float(unit)  # an exponential variable is left
    return nearest_float(unit) * (1 + math.exp(-t)) * softplus(t)


_FAR = 500.0


def _in_units(number: Real, unit: Real) -> float:
    if not unit > 0:
        raise ParameterError("unit", "must be positive")
    return nearest_float(number / unit if isinstance(number, float) else Fraction(number) / Fraction(unit))
