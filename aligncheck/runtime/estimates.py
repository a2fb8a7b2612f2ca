"""What a released gap tells about the answer: an estimate, its standard error, a lower confidence bound.

A gap is an answer with noise less a threshold with noise, so gap + threshold estimates the answer. All of
this is computed from the output and from public numbers, so it costs no privacy.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.runtime.errors import ParameterError
from aligncheck.runtime.reals import Real, nearest_float, softplus


@dataclass(frozen=True, slots=True)
class GapNoise:
    """The noise X of a gap: the answer's less the threshold's, two independent draws, less its mean.

    Attributes:
        answer_scale: the scale of the noise that was added to the answer, in the unit of the answers.
        threshold_scale: the scale of the noise that was added to the threshold, in the same unit.
        one_sided: False for Laplace noise, True for exponential noise.

    Raises:
        ParameterError: a scale is not positive and finite.
    """

    answer_scale: Real
    threshold_scale: Real
    one_sided: bool = False

    def __post_init__(self) -> None:
        for name in ("answer_scale", "threshold_scale"):
            if not 0 < getattr(self, name) < math.inf:
                raise ParameterError(name, "must be positive and finite")

    @property
    def mean(self) -> Real:
        """The mean of the answer's draw less the threshold's: what X has been made free of."""
        return self.answer_scale - self.threshold_scale if self.one_sided else 0

    @property
    def standard_deviation(self) -> float:
        """In the unit of the answers. Exp(scale) has variance scale**2, Lap(scale) twice that. Infinite where
        no float is that large.
        """
        draws = math.hypot(*self._scales())
        return nearest_float(self._in_answers(draws if self.one_sided else math.sqrt(2) * draws))

    def probability_at_most(self, t: float) -> float:
        """P(X <= t), for t in the unit of the answers.

        Source: for Laplace noise Lemma 7 of the VLDB paper (Lemma 5.4 of the dissertation), whose P(X >= -t)
        is the same by symmetry, and whose rates are one over these scales. For exponential noise it is the
        distribution of a difference of two exponential variables (an asymmetric Laplace distribution).
        """
        t = t if math.isinf(t) else nearest_float(Fraction(t) / Fraction(self._unit))
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
        if self.one_sided:
            return self._in_answers(self._one_sided_margin(confidence))
        doubt = min(confidence, 1 - confidence)
        return self._in_answers(math.copysign(self._quantile(doubt), confidence - 0.5))

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
class Estimate:
    """A true answer as a released gap tells it: `value` is gap + threshold, in the unit of the answers.

    `resolution` is the step of the lattice on which the noise was drawn, 0 where there is none.

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
    which is right as well. Source: dissertation, Theorem 5.14.

    Raises:
        ParameterError: the unit is not positive, or the gap negative.
    """
    size = _in_units(gap, unit)
    if size < 0:
        raise ParameterError("gap", "must not be negative")
    return 2 * math.exp(-size) / (1 + math.exp(-size))


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
