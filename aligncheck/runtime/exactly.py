"""Exact draws, one at a time, by whole numbers alone and without ever computing an exponential.

Canonne, Kamath, Steinke, *The discrete Gaussian for differential privacy*, Algorithms 1 and 2. Rates are
rational numbers; a float is refused, since it rarely is the number that was meant. `digits` draws many.
"""

from __future__ import annotations

from fractions import Fraction

from aligncheck.runtime.bits import Bits, below
from aligncheck.runtime.errors import NumericError


def rational(value: Fraction | int, name: str, *, positive: bool = True) -> Fraction:
    """The same number as a `Fraction`.

    Raises:
        NumericError: it is no `int` or `Fraction`, or negative, or (where it must be positive) zero.
    """
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise NumericError(f"{name} must be an int or a Fraction, not {type(value).__name__}")
    if value < 0 or (positive and value == 0):
        raise NumericError(f"{name} must {'be positive' if positive else 'not be negative'}")
    return Fraction(value)


def bernoulli(p: Fraction | int, bits: Bits) -> bool:
    """True with probability `p`.

    Raises:
        NumericError: `p` is no rational number from 0 to 1.
    """
    chance = rational(p, "a probability", positive=False)
    if chance > 1:
        raise NumericError("a probability must be at most 1")
    return below(chance.denominator, bits) < chance.numerator


def bernoulli_exp(x: Fraction | int, bits: Bits) -> bool:
    """True with probability exp(-x), for x >= 0: by Algorithm 1.

    Raises:
        NumericError: `x` is no rational number, or negative.
    """
    exponent = rational(x, "an exponent", positive=False)
    whole = exponent.numerator // exponent.denominator
    while whole:  # as long as each of `whole` draws of exp(-1) comes true: rarely more than two
        if not _bernoulli_exp_to_one(1, 1, bits):
            return False
        whole -= 1
    return _bernoulli_exp_to_one(exponent.numerator % exponent.denominator, exponent.denominator, bits)


def geometric(rate: Fraction | int, bits: Bits) -> int:
    """Probability (1 - exp(-rate)) exp(-rate x) on x = 0, 1, 2, …: from Algorithm 2.

    Raises:
        NumericError: the rate is no rational number, or not positive.
    """
    theta = rational(rate, "a rate")
    s, t = theta.numerator, theta.denominator
    # Rate 1/t first: its remainder by t is uniform but for a factor exp(-u/t), its quotient has rate 1.
    while True:
        remainder = below(t, bits)
        if _bernoulli_exp_to_one(remainder, t, bits):
            break
    quotient = 0
    while _bernoulli_exp_to_one(1, 1, bits):
        quotient += 1
    return (remainder + t * quotient) // s


def discrete_laplace(rate: Fraction | int, bits: Bits) -> int:
    """Probability proportional to exp(-rate |x|) on the integers: Algorithm 2 (the scale is 1 / rate).

    Raises:
        NumericError: the rate is no rational number, or not positive.
    """
    while True:
        negative = below(2, bits) == 1
        magnitude = geometric(rate, bits)
        if magnitude or not negative:  # zero has no sign: count it once
            return -magnitude if negative else magnitude


def _bernoulli_exp_to_one(numerator: int, denominator: int, bits: Bits) -> bool:
    """True with probability exp(-x), for x = numerator / denominator from 0 to 1.

    Draws with probabilities x/1, x/2, x/3, … come true k times in a row with probability x^k/k!, so that the
    first failure is at an odd place with probability 1 - x + x^2/2 - …
    """
    place = 1
    while below(denominator * place, bits) < numerator:
        place += 1
    return place % 2 == 1
