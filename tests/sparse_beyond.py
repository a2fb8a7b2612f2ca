"""Sparse (lecture, Figure 2) where c > 8 ln(1/δ) and ε > 8 ln(1/δ): lower bounds of its δ, against Theorem 3.

    PYTHONPATH=tests python tests/sparse_beyond.py

Sparse runs AboveThreshold c times with ε₀ = ε/sqrt(8 c ln(1/δ)). First what composed randomized responses
with this ε₀ have, then what AboveThreshold itself has on one stream. There each call sees a block of queries:
six that lie 2/5 below the threshold on D and 3/5 above it on D', then one that lies 2/5 above it on D and 3/5
below it on D', and then, alike on both, ever larger answers until the call ends (the stream may be chosen by
what was released). Whether a call answers with six bottoms and then a top is a coin of its own, so δ is at
least the hockey-stick divergence of two binomial variables.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from flint import arb, ctx, fmpq

from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation.events import CompleteOutput, RecordPattern
from aligncheck.refutation.probability import probability

SPEC = Path(__file__).parents[1] / "specs" / "above_threshold.dp"
CALLS, DELTA = 100, Fraction(1, 100)
BOTTOMS = 6
NEAR, FAR = Fraction(2, 5), Fraction(3, 5)
BITS = 256


def exactly(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def divergence(p: Any, q: Any, calls: int, epsilon: Any) -> Any:
    """The greatest P(E) - e^ε Q(E), where P and Q are of how many of `calls` coins show heads: with p, q."""
    total = arb(0)
    for heads in range(calls + 1):
        excess = p**heads * (1 - p) ** (calls - heads) - epsilon.exp() * q**heads * (1 - q) ** (calls - heads)
        if excess > 0:
            total += math.comb(calls, heads) * excess
    return total


def growth(calls: int, delta: Fraction) -> Any:
    """ε/ε₀ = sqrt(8 c ln(1/δ))."""
    return (8 * calls * -exactly(delta).log()).sqrt()


def of_responses(epsilon: Fraction, calls: int = CALLS, delta: Fraction = DELTA) -> Any:
    """The δ of composed randomized responses at ε."""
    high = (exactly(epsilon) / growth(calls, delta)).exp()
    return divergence(high / (1 + high), 1 / (1 + high), calls, exactly(epsilon))


def of_calls(each: Fraction, calls: int = CALLS, delta: Fraction = DELTA) -> tuple[Any, Any]:
    """Sparse's ε for an ε₀ that is `each`, and a lower bound of its δ there."""
    source = read_source(str(SPEC))
    mechanism = check(source, parse(source))
    event = CompleteOutput((*[RecordPattern("bottom")] * BOTTOMS, RecordPattern("top")))

    def chance(bottom: Fraction, top: Fraction) -> Any:
        inputs: dict[str, Input] = {"f": (*[bottom] * BOTTOMS, top), "T": Fraction(0), "eps": each}
        found = probability(mechanism, inputs, event, precision=BITS)
        return exactly(found.lower).union(exactly(found.upper))

    epsilon = exactly(each) * growth(calls, delta)
    return epsilon, divergence(chance(-NEAR, NEAR), chance(FAR, -FAR), calls, epsilon)


def main() -> None:
    ctx.prec = BITS
    for epsilon in (20, 30, 37, 40, 50, 60):
        found = float(of_responses(Fraction(epsilon)))
        print(f"responses: c = {CALLS}, claimed δ = {float(DELTA):g}, ε = {epsilon}: δ = {found:.4g}")
    for each in (1, 10, 20, 25, 27, 30):
        level, found = of_calls(Fraction(each))
        print(f"Sparse: ε₀ = {each}, ε = {float(level):.1f}: δ at least {float(found):.4g}")


if __name__ == "__main__":
    main()
