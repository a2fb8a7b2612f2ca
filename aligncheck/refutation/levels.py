"""How much of its claim an event uses up: the level that its two probabilities show.

Of a claim in ε beside δ it is the ε for which P(M(D) in E) = e^ε P(M(D') in E) + δ, that is ln((P - δ)/P').
Of a claim in ρ it is the greatest of d/α over some orders α > 1, where d is the Rényi divergence of order α
between the two answers to whether E happened: that is post-processing, so d is at most αρ.
"""

from __future__ import annotations

from math import exp, expm1, inf, log, log1p

ORDERS = tuple(1 + 2.0**power for power in range(-10, 13))
"""The orders that are tried."""


def level(on_d: float, on_d_prime: float, delta: float, *, concentrated: bool) -> float:
    """About, from the logarithms of two probabilities, the first of which is the greater."""
    if concentrated:
        return max((divergence(on_d, on_d_prime, order) / order for order in ORDERS), default=0.0)
    if delta == 0:
        return on_d - on_d_prime
    left = exp(on_d) - delta
    return log(left) - on_d_prime if left > 0 else 0.0


def best_order(on_d: float, on_d_prime: float) -> float:
    """The order of which the level is greatest."""
    return max(ORDERS, key=lambda order: divergence(on_d, on_d_prime, order) / order)


def divergence(on_d: float, on_d_prime: float, order: float) -> float:
    """The Rényi divergence between coins with these probabilities, given by their logarithms, about."""
    if on_d_prime == -inf:
        return inf if on_d > -inf else 0.0
    terms = [order * on_d + (1 - order) * on_d_prime]
    if on_d < 0 and on_d_prime < 0:
        terms.append(order * log(-expm1(on_d)) + (1 - order) * log(-expm1(on_d_prime)))
    greatest = max(terms)
    return (greatest + log1p(sum(exp(term - greatest) for term in terms) - 1)) / (order - 1)
