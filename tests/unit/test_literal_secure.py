"""The secure implementation's Algorithms 2 to 5, transcribed line by line, on the same noise.

Algorithm 4 has no continuous noise: its geometric numbers are here those that Lemmas 5.4 to 5.7 make of the
exponential ones, the digits of these to base M, and its shuffle is the order of what is left over.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from oracle import compiled
from recorded_noise import RecordedNoise
from top_with_gap import bernoulli_exp, geometric, shuffled

from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.verdict import Verified

SPECS = Path(__file__).parents[2] / "specs"
M = 3
Q = list[Fraction]
Chosen = list[tuple[int, Fraction]]
F = Fraction


def down(x: Fraction, step: Fraction) -> Fraction:
    return F(math.floor(x / step) * step)


def greatest(count: int, values: Q) -> list[int]:
    return sorted(range(len(values)), key=lambda i: (-values[i], i))[:count]


def tied(values: Q, places: list[int]) -> bool:
    return len({values[j] for j in places}) < len(places)


def algorithm_2(q: Q, X: Q, k: int, gamma: Fraction) -> Chosen:
    """The ideal one: gaps of Algorithm 1, rounded down."""
    noisy = [down(a, gamma) + x for a, x in zip(q, X, strict=True)]
    j = greatest(k + 1, noisy)
    return [(a, down(noisy[a] - noisy[b], gamma)) for a, b in itertools.pairwise(j)]


def algorithm_3(q: Q, X: Q, k: int, gamma: Fraction) -> tuple[Chosen, int]:
    """The intermediate one, and how often it refined; fewer than k + 2 answers are all of them."""
    noisy = [a + x for a, x in zip(q, X, strict=True)]
    rounded = [down(x, gamma) for x in noisy]
    j, t, step = greatest(k + 2, rounded), 0, gamma
    while tied(rounded, j):
        t, step = t + 1, step / M
        rounded = [down(x, step) for x in noisy]
        j = greatest(k + 2, rounded)
    return [(a, down(noisy[a] - noisy[b], gamma)) for a, b in itertools.pairwise(j[: k + 1])], t


def algorithm_4(
    q: Q,
    k: int,
    gamma: Fraction,
    geo: Callable[[int, int], int],
    shuffle: Callable[[list[int], int], list[int]],
) -> Chosen:
    """The secure one. `geo(i, t)` is Y_t for answer i, `shuffle(j, t)` is x for the winners j."""
    rounded = [a + gamma * geo(i, 0) for i, a in enumerate(q)]
    j, t, step = greatest(k + 2, rounded), 0, gamma
    while tied(rounded, j):
        t, step = t + 1, step / M
        rounded = [a + step * (geo(i, t) % M) for i, a in enumerate(rounded)]
        j = greatest(k + 2, rounded)
    x = shuffle(j[: k + 1], t)
    gaps = []
    for i in range(k):
        gap = rounded[j[i]] - rounded[j[i + 1]]
        gaps.append((j[i], down(gap - step if x[i] < x[i + 1] else gap, gamma)))
    return gaps


def test_algorithms_2_to_4_and_the_compiled_module_agree_on_the_same_noise() -> None:
    source = read_source(str(SPECS / "noisy_topk_gap_exp.dp"))
    cls: Any = compiled(check(source, parse(source)))
    some, refined, gamma = random.Random(4), 0, F(1)
    for _ in range(150):
        n = some.randint(3, 7)
        k = some.randint(1, n - 1)
        q = [F(some.randint(0, 6)) for _ in range(n)]
        X = [F(x, 3**6) for x in some.sample(range(6 * 3**6), n)]
        if tied([a + x for a, x in zip(q, X, strict=True)], list(range(n))):
            continue  # of probability 0

        def digit(i: int, t: int, X: Q = X) -> int:
            return int(X[i] * M**t // gamma)

        def rests(j: list[int], t: int, X: Q = X) -> list[int]:
            left = [X[i] - down(X[i], gamma / M**t) for i in j]
            return [sum(other < rest for other in left) for rest in left]

        ideal = algorithm_2(q, X, k, gamma)
        third, times = algorithm_3(q, X, k, gamma)
        assert ideal == third == algorithm_4(q, k, gamma, digit, rests)
        records = cls(k=k, eps=1).with_noise(RecordedNoise(X))(q).records
        assert [(r.index, down(r.gap, gamma)) for r in records] == ideal
        refined += times > 0
    assert 30 < refined < 149


def exactly(draw: Callable[[Callable[[int], int]], int], most: int) -> dict[int, Fraction]:
    """The probabilities of what `draw` gives, over all sequences of at most `most` uniform numbers."""
    found: dict[int, Fraction] = {}
    open_ = [((), F(1))]  # type: list[tuple[tuple[int, ...], Fraction]]
    while open_:
        given, p = open_.pop()
        rest = iter(given)
        ends: list[int] = []

        def uniform(below: int, rest: Any = rest, ends: list[int] = ends) -> int:
            value = next(rest, None)
            if value is None:
                ends.append(below)
                raise StopIteration
            return int(value)

        try:
            value = draw(uniform)
        except StopIteration:
            if len(given) < most:
                open_ += [((*given, v), p / ends[0]) for v in range(ends[0])]
            continue
        found[value] = found.get(value, F(0)) + p
    return found


def test_bernoulli_numbers_and_shuffles_have_the_printed_probabilities() -> None:
    """Algorithms 23 and 24 of the dissertation, by all their draws."""
    for u, t in ((0, 1), (1, 1), (2, 5)):
        found = exactly(lambda uniform, u=u, t=t: int(bernoulli_exp(u, t, uniform)), 5)  # type: ignore[misc]
        assert abs(float(found[1]) - math.exp(-u / t)) <= 1 - float(sum(found.values())) + 1e-12
        assert sum(found.values()) > F(99, 100)
    orders = exactly(lambda uniform: int("".join(map(str, shuffled(3, uniform)))), 3)
    assert orders == dict.fromkeys((12, 21, 102, 120, 201, 210), F(1, 6))


def printed_geometric(s: int, t: int, uniform: Callable[[int], int]) -> int:
    """Algorithm 5; dissertation, Algorithm 25."""
    D, U = False, 0
    while not D:
        U = uniform(t)
        D = bernoulli_exp(U, t, uniform)
    V = 0
    while True:
        A = bernoulli_exp(1, 1, uniform)
        if not A:
            break
        V += 1
    return (U + t * V) // s


def test_geometric_numbers_are_those_of_algorithm_5() -> None:
    """On the same uniform numbers; and they fall as e^(-s/t)."""
    for s, t in ((1, 1), (1, 3), (2, 5)):
        ours, printed = (random.Random(5).randrange for _ in range(2))
        counts = [0] * 400
        for _ in range(3000):
            found = geometric(s, t, ours)
            assert found == printed_geometric(s, t, printed)
            counts[found] += 1
        for m in range(3):
            p = (1 - math.exp(-s / t)) * math.exp(-m * s / t)
            assert abs(counts[m] / 3000 - p) < 4.5 * math.sqrt(p * (1 - p) / 3000)


SHUFFLE = """mechanism shuffled
input
  q : queries, sensitivity 1, adjacency all
  eps : real where eps > 0
privacy eps
program
  for i, x in q:
    u[i] ~ Uniform(1)
  order = top(len(q), u[i] for i in q)
  for r in range(len(q)):
    emit at(index = order[r])
"""


def test_a_random_order_in_a_spec_is_verified_and_is_that_of_its_uniform_numbers() -> None:
    source = Source("shuffled.dp", SHUFFLE)
    verdict = judge(check(source, parse(source)), source, time.monotonic() + 30)
    assert isinstance(verdict, Verified)
    cls: Any = compiled(verdict.mechanism)
    for order in itertools.permutations(range(4)):
        u = [F(3 - order.index(i), 4) for i in range(4)]
        records = cls(eps=1).with_noise(RecordedNoise(u))([5, 5, 5, 5]).records
        assert tuple(r.index for r in records) == order
