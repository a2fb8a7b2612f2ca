"""Top-k with gaps under refined noise, and its plain transcription, against exact probabilities."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from frequencies import UNLIKELY, check
from numpy.typing import NDArray
from scipy import integrate, stats
from top_with_gap import top_with_gap

from aligncheck.runtime import Real, SelectionError
from aligncheck.runtime.arrays import greatest, members, top, vector
from aligncheck.runtime.bits import Bits, SeededBits, SystemBits
from aligncheck.runtime.exact_noise import RefinedNoise


class Leaders(NamedTuple):
    """Where the greatest noisy answers are, the greatest first, and by how much each leads the next."""

    indices: tuple[int, ...]
    gaps: tuple[Real, ...]


Run = Callable[[Sequence[int], int, Fraction], Leaders]


def leaders(answers: Sequence[int] | NDArray[Any], k: int, rate: Fraction | int, bits: Bits) -> Leaders:
    """What the generated mechanism does, on a lattice with step 1."""
    noise = RefinedNoise(Fraction(1), bits)
    q = noise.answers(answers)
    eta = noise.exponentials(1 / Fraction(rate), len(q))
    winners = top(k, vector(q) + vector(eta))
    best = greatest(vector(q) + vector(eta), where=~members(winners, len(q)))
    values = [*(q[w] + eta[w] for w in winners), best]
    return Leaders(tuple(winners), tuple(noise.released(a - b) for a, b in pairwise(values)))


def fast(seed: int) -> Run:
    bits = SeededBits(seed)
    return lambda answers, k, rate: leaders(answers, k, rate, bits)


def plain(seed: int, M: int = 10) -> Run:
    uniform = random.Random(seed).randrange

    def run(answers: Sequence[int], k: int, rate: Fraction) -> Leaders:
        chosen = top_with_gap(answers, k, rate.numerator, rate.denominator, uniform, M=M)
        indices, gaps = zip(*chosen, strict=True)
        return Leaders(indices, gaps)

    return run


RUNS = [
    pytest.param(lambda: fast(1), 2500, id="fast"),
    pytest.param(lambda: plain(3), 2500, id="plain"),
    pytest.param(lambda: plain(2, M=2), 2500, id="plain-2"),
]


def winners(answers: Sequence[int], rate: float, most: int) -> dict[Hashable, float]:
    """How probable each winner and gap (up to `most`) is for k = 1 and real-valued noise: by integration."""

    def leads(i: int, gap: int) -> float:
        others = [answer for j, answer in enumerate(answers) if j != i]
        start, bend = max(others), answers[i] - gap

        def density(z: float) -> float:
            below = [-math.expm1(-rate * (z - q)) for q in others]
            here = [rate * math.exp(-rate * (z - q)) for q in others]
            of_greatest = math.fsum(
                here[j] * math.prod(below[:j] + below[j + 1 :]) for j in range(len(others))
            )
            return of_greatest * math.exp(-rate * max(z - bend, 0))

        middle = max(start, bend)
        head = integrate.quad(density, start, middle)[0] if middle > start else 0.0
        return float(head + integrate.quad(density, middle, math.inf, epsabs=1e-11)[0])

    found: dict[Hashable, float] = {}
    for i in range(len(answers)):
        tails = [*(leads(i, gap) for gap in range(most + 1)), 0.0]
        found |= {(i, gap): tails[gap] - tails[gap + 1] for gap in range(most + 1)}
    return found


@pytest.mark.parametrize(("make", "count"), RUNS)
@pytest.mark.parametrize(
    ("answers", "rate"),
    [((0, 1, 3), Fraction(7, 10)), ((2, 2, 0, 1), Fraction(3, 2)), ((0, 6), Fraction(1, 3))],
)
def test_one_winner(make: Callable[[], Run], count: int, answers: tuple[int, ...], rate: Fraction) -> None:
    run, most = make(), 12
    seen: Counter[Hashable] = Counter()
    for _ in range(count):
        found = run(answers, 1, rate)
        seen[found.indices[0], min(found.gaps[0], most)] += 1
    check(seen, winners(answers, float(rate), most), count)


@pytest.mark.parametrize(("make", "count"), RUNS)
@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(2)])
def test_order_and_gaps_of_equal_answers(make: Callable[[], Run], count: int, rate: Fraction) -> None:
    """By Rényi: orders are equally probable, the i-th gap is exponential with i times the rate, alone."""
    run, n, k, most = make(), 3, 2, (5, 3)
    seen: Counter[Hashable] = Counter()
    for _ in range(count):
        found = run([4] * n, k, rate)
        seen[found.indices, *map(min, found.gaps, most)] += 1

    def gap(i: int, value: int) -> float:
        step = math.exp(-float(rate) * (i + 1))
        return step**value * (1 if value == most[i] else 1 - step)

    expected: dict[Hashable, float] = {
        (order, first, second): gap(0, first) * gap(1, second) / 6
        for order in itertools.permutations(range(n), k)
        for first in range(most[0] + 1)
        for second in range(most[1] + 1)
    }
    check(seen, expected, count)


@pytest.mark.parametrize(("make", "count"), [(lambda: fast(4), 600), (lambda: plain(5), 300)])
def test_gaps_of_many_equal_answers(make: Callable[[], Run], count: int) -> None:
    """The same on a larger case with many ties: each gap, the places, and the sum of all gaps."""
    run, n, k, rate = make(), 60, 8, Fraction(1, 20)
    found = [run([0] * n, k, rate) for _ in range(count)]
    for i in range(k):
        step, most = math.exp(-float(rate) * (i + 1)), 40 // (i + 1)
        expected: dict[Hashable, float] = {g: step**g * (1 - step) for g in range(most)}
        expected[most] = step**most
        check(Counter(min(one.gaps[i], most) for one in found), expected, count)
    places: Counter[Hashable] = Counter(index for one in found for index in one.indices)
    check(places, dict.fromkeys(range(n), 1 / n), count * k)


def test_fast_and_plain_agree_on_a_heavy_tail() -> None:
    answers = [2000 // (rank * rank) for rank in range(1, 61)]
    rate, k, count = Fraction(1, 60), 4, 1200
    samples = [[run(answers, k, rate) for _ in range(count)] for run in (fast(6), plain(7))]
    for place in range(k):
        table = np.array(
            [np.bincount([min(one.indices[place], 12) for one in runs], minlength=13) for runs in samples]
        )
        assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > UNLIKELY
        gaps = [[float(one.gaps[place]) for one in runs] for runs in samples]
        assert stats.ks_2samp(*gaps).pvalue > UNLIKELY


def test_answers_of_any_size() -> None:
    far = 10**40
    found = leaders([0, far, -far, 5 * far], 3, Fraction(1, 10**20), SeededBits(8))
    assert found.indices == (3, 1, 0)
    assert [round(gap / far) for gap in found.gaps] == [4, 1, 1]
    assert {type(value) for value in found.indices} == {int}
    assert {type(value) for value in found.gaps} == {Fraction}
    edge = [2**62 - 1, 2**62 - 2, -(2**63)]
    found = leaders(edge, 2, 50, SeededBits(9))
    assert found.indices == (0, 1)
    assert found.gaps[0] in (0, 1)  # what is left of the noise may take a gap below its whole number
    assert found.gaps[1] - 3 * 2**62 in (-3, -2)


def test_noise_far_below_the_lattice_breaks_ties() -> None:
    bits = SeededBits(10)
    found = [leaders([3, 3, 3], 2, 10**30, bits) for _ in range(60)]
    assert {one.gaps for one in found} == {(0, 0)}
    assert len({one.indices for one in found}) == 6


def test_arrays_and_lists_give_the_same_and_stay_as_they_are() -> None:
    answers = np.array([5, 9, 1, 7])
    kept = answers.copy()
    found = leaders(answers, 2, Fraction(1, 9), SeededBits(11))
    assert found == leaders(answers.tolist(), 2, Fraction(1, 9), SeededBits(11))
    assert np.array_equal(answers, kept)
    assert leaders(answers, 0, 1, SystemBits()) == Leaders((), ())


@pytest.mark.parametrize(("answers", "k"), [([1], 1), ([1, 2], 2), ([1, 2], -1), ([1, 2], 3)])
def test_counts_that_are_refused(answers: list[int], k: int) -> None:
    with pytest.raises(SelectionError):
        leaders(answers, k, 1, SystemBits())
