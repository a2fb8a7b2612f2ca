"""Noisy-Top-K-with-Gap as it is written down, in plain Python: what the runtime's fast version is tested by.

Ding and others, *A Floating-Point Secure Implementation of the Report Noisy Max with Gap Mechanism*,
Algorithm 4 with early query pruning and Algorithm 5, which rests on Algorithm 1 of Canonne, Kamath, Steinke,
*The discrete Gaussian for differential privacy*. In whole numbers; it shares no code with the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Uniform = Callable[[int], int]
"""A uniform integer below its argument, such as `secrets.randbelow`."""


def bernoulli_exp(u: int, t: int, uniform: Uniform) -> bool:
    """True with probability exp(-u/t), for 0 <= u <= t: Algorithm 1."""
    k = 1
    while uniform(t * k) < u:
        k += 1
    return k % 2 == 1


def geometric(s: int, t: int, uniform: Uniform) -> int:
    """Failures before the first success, of probability 1 - exp(-s/t): Algorithm 5."""
    while True:
        u = uniform(t)
        if bernoulli_exp(u, t, uniform):
            break
    v = 0
    while bernoulli_exp(1, 1, uniform):
        v += 1
    return (u + t * v) // s


def top_with_gap(
    answers: Sequence[int], k: int, s: int, t: int, uniform: Uniform, *, M: int = 10
) -> list[tuple[int, int]]:
    """Index and gap of the k greatest, in steps of the lattice, one of which is s/t scales of the noise long.

    Needs more than k answers.
    """
    noisy = [(answer + geometric(s, t, uniform), i) for i, answer in enumerate(answers)]
    pool = pruned(noisy, k)
    steps = 1
    while any(pool[i][0] == pool[i + 1][0] for i in range(len(pool) - 1)):
        steps *= M
        pool = pruned([(value * M + geometric(s, t * steps, uniform) % M, i) for value, i in pool], k)
    x = shuffled(k + 1, uniform)
    return [
        (pool[i][1], (pool[i][0] - pool[i + 1][0] - (1 if x[i] < x[i + 1] else 0)) // steps) for i in range(k)
    ]


def pruned(noisy: list[tuple[int, int]], k: int) -> list[tuple[int, int]]:
    """Those that are among the k + 1 greatest or tied with the last of these, the greatest first."""
    ranked = sorted(noisy, reverse=True)
    last = ranked[k][0]
    return [pair for pair in ranked if pair[0] >= last]


def shuffled(count: int, uniform: Uniform) -> list[int]:
    """A random permutation: Fisher and Yates."""
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = uniform(i + 1)
        order[i], order[j] = order[j], order[i]
    return order
