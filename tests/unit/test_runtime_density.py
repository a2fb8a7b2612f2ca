"""Draws by densities as they are executed, against exact probabilities and closed forms; fixed seeds."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from oracle import compiled
from recorded_noise import RecordedNoise
from small_specs import named as mechanism

from aligncheck.compiler.modes import RunMode
from aligncheck.meaning.exact_density import weigh
from aligncheck.runtime import FloatingNoise, ParameterError, logistic, rationals
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.errors import NumericError, SelectionError
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise
from aligncheck.runtime.logistic import log_sum_exp_of as exact_log_sum_exp_of
from aligncheck.runtime.reals import Real, log_sum_exp_of

SPECS = Path(__file__).parents[2] / "specs"
N = 8_000


def check_frequencies(counts: Counter[int], probabilities: Sequence[float]) -> None:
    """Each within 4.5 standard errors."""
    assert set(counts) <= set(range(len(probabilities)))
    for index, p in enumerate(probabilities):
        assert abs(counts[index] / N - p) < 4.5 * math.sqrt(p * (1 - p) / N) + 1e-12, index


def check_distribution(values: list[float], cdf: Any) -> None:
    """Kolmogorov and Smirnov's distance, at a level of about 1 in 10^4."""
    ranked = sorted(values)
    distance = max(
        max(cdf(x) - i / len(ranked), (i + 1) / len(ranked) - cdf(x)) for i, x in enumerate(ranked)
    )
    assert distance < 2.2 / math.sqrt(len(ranked))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


# --- the samplers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "logs", [[0.0], [0.0, 0.0], [-1.0, 2.0, 0.5], [Fraction(7), Fraction(5)], [1000.0, 1001.0], [-2e6, -2e6]]
)
def test_a_choice_has_the_probabilities_of_its_weights(logs: list[Real]) -> None:
    noise = FloatingNoise(seed=11)
    counts = Counter(noise.choice(enumerate(logs)) for _ in range(N))
    greatest = max(logs)
    weights = [math.exp(float(log - greatest)) for log in logs]
    check_frequencies(counts, [w / sum(weights) for w in weights])


def test_nothing_to_choose_from_is_refused() -> None:
    with pytest.raises(SelectionError):
        FloatingNoise(seed=1).choice([])


@pytest.mark.parametrize(("location", "scale"), [(0, 1), (-3.5, 2.0), (Fraction(1, 2), Fraction(1, 10))])
def test_a_whole_logistic_number(location: Real, scale: Real) -> None:
    noise = FloatingNoise(seed=12)
    values = [float(noise.logistic_at(location, scale)) for _ in range(N)]
    check_distribution(values, lambda x: sigmoid((x - float(location)) / float(scale)))


@pytest.mark.parametrize(
    ("location", "scale", "low"), [(0, 1, 0), (3.0, 1.0, 0), (-4.0, 1.0, 0), (2, 3, -1), (-1, 0.5, 5)]
)
def test_a_logistic_number_that_is_cut_off(location: Real, scale: Real, low: Real) -> None:
    noise = FloatingNoise(seed=13)
    values = [float(noise.logistic_at(location, scale, low)) for _ in range(N)]
    assert min(values) > low
    below = sigmoid((float(low) - float(location)) / float(scale))

    def cdf(x: float) -> float:
        return (sigmoid((x - float(location)) / float(scale)) - below) / (1 - below)

    check_distribution(values, cdf)


@pytest.mark.parametrize("theta", [-2.0, 0.0, 1.5])
def test_the_mean_of_a_gap_is_that_of_the_dissertation(theta: float) -> None:
    """Theorem 5.13: (1 + exp(-theta)) ln(1 + exp(theta))."""
    noise = FloatingNoise(seed=14)
    values = [float(noise.logistic_at(theta, 1, 0)) for _ in range(N)]
    mean = sum(values) / N
    error = math.sqrt(sum((v - mean) ** 2 for v in values)) / N
    assert abs(mean - (1 + math.exp(-theta)) * math.log1p(math.exp(theta))) < 4.5 * error


@pytest.mark.parametrize("theta", [-1e6, -800.0, 800.0, 1e6])
def test_far_locations_neither_overflow_nor_collapse(theta: float) -> None:
    noise = FloatingNoise(seed=15)
    values = [float(noise.logistic_at(theta, 1, 0)) for _ in range(2000)]
    mean = sum(values) / len(values)
    # Far below the cut an exponential variable is left, far above it the logistic one.
    assert all(math.isfinite(v) and v > 0 for v in values)
    assert abs(mean - max(theta, 1.0)) < 0.2


def test_sums_of_exponentials_at_any_size() -> None:
    assert log_sum_exp_of([Fraction(0), Fraction(0)]) == pytest.approx(math.log(2))
    assert log_sum_exp_of([1e6, 1e6 - 1]) == pytest.approx(1e6 + math.log1p(math.exp(-1)))
    assert log_sum_exp_of([-1e6]) == -1e6
    assert log_sum_exp_of([0.0, -1e9]) == 0.0
    assert log_sum_exp_of(iter([3, 3])) == pytest.approx(3 + math.log(2))
    with pytest.raises(SelectionError):
        log_sum_exp_of([])


@pytest.mark.parametrize(
    ("location", "low"), [(0, None), (3, None), (0, 0), (4, 0), (-4, 0), (1, Fraction(5, 2))]
)
def test_exact_logistic_noise_has_its_distribution(location: int, low: Fraction | int | None) -> None:
    noise, count = RefinedNoise(Fraction(1, 1024), SeededBits(41)), 1000
    drawn = [noise.logistic_at(Fraction(location), Fraction(2), low) for _ in range(count)]
    values = [float(x.rounded_down(Fraction(1, 2**40))) for x in drawn]
    cut = 0.0 if low is None else sigmoid((float(low) - location) / 2)
    check_distribution(values, lambda x: (sigmoid((x - location) / 2) - cut) / (1 - cut))
    assert low is None or min(values) > low


def test_digits_of_logistic_noise_are_those_of_one_number() -> None:
    """However they are asked for: of a fixed uniform number they follow from its digits."""
    locations: list[Any] = [Fraction(0), Fraction(1000), Fraction(-1000), exact_log_sum_exp_of([1, 2]) - 3]
    for location in locations:
        one, two = (logistic.draw(location, Fraction(1), Fraction(0), SeededBits(7)) for _ in range(2))
        fine = two.rounded_down(Fraction(1, 2**200))
        for bits in (0, 3, 50, 200):
            step = Fraction(1, 2**bits)
            assert one.rounded_down(step) == math.floor(fine / step) * step
        assert one > fine
        assert one < fine + Fraction(1, 2**200)


def test_exact_logarithms_of_sums() -> None:
    assert exact_log_sum_exp_of([Fraction(7, 3)]) == Fraction(7, 3)
    some: list[list[Fraction | int]] = [[0, 0], [1, 2, Fraction(5, 2)], [10**6, 10**6 - 1], [0, -(10**9)]]
    for values in some:
        found: Any = exact_log_sum_exp_of(values)
        near = float(found.rounded_down(Fraction(1, 2**60)))
        assert near == pytest.approx(log_sum_exp_of(values), rel=1e-15)
        assert found > max(values)
    with pytest.raises(SelectionError):
        exact_log_sum_exp_of([])
    with pytest.raises(NumericError):
        exact_log_sum_exp_of([RefinedNoise(Fraction(1)).laplace(1)])


@pytest.mark.parametrize(
    "x", [Fraction(1), Fraction(2), Fraction(1, 3), Fraction(10**30, 7), 1 + Fraction(1, 10**30)]
)
def test_bounds_of_logarithms(x: Fraction) -> None:
    low, high = logistic.ln_bounds(x, 300)
    assert low <= rationals.ln(x) * 2**300 + 2**210
    assert high >= rationals.ln(x) * 2**300 - 2**210
    assert 0 <= high - low <= 8


# --- generated mechanisms -----------------------------------------------------------------------------------


def test_the_choice_against_its_exact_probabilities() -> None:
    spec = mechanism("exponential_mechanism")
    utilities = [0, 3, 1]
    made: Any = compiled(spec)(Delta=1, eps=1)  # type: ignore[call-arg]
    noise = FloatingNoise(seed=21)
    counts = Counter(made.with_noise(noise)(utilities).records[0].index for _ in range(N))
    given = (("Delta", Fraction(1)), ("eps", Fraction(1)), ("u", tuple(map(Fraction, utilities))))
    logs = [weigh(spec, given, {"winner": Fraction(i)}).log_density for i in range(3)]
    check_frequencies(counts, [math.exp(float(x.expr) if hasattr(x, "expr") else x) for x in logs])  # type: ignore[union-attr, arg-type]


@pytest.mark.parametrize("name", ["exponential_mechanism_gap", "exponential_mechanism_gumbel"])
def test_the_choice_and_its_gap_together(name: str) -> None:
    """The joint density is that of a logistic number: P(index, gap > g) = s(theta - g) (Theorem 5.19), for
    Algorithm 21 and for Algorithm 22.
    """
    utilities, cuts = [0.0, 3.0, 1.0], (0.0, 0.5, 2.0)
    made: Any = compiled(mechanism(name), RunMode.FLOAT)(Delta=1, eps=1)  # type: ignore[call-arg]
    noise, count = FloatingNoise(seed=22), N // 2
    records = [made.with_noise(noise)(utilities).records[0] for _ in range(count)]
    scores = [u / 2 for u in utilities]
    for index in range(3):
        others = log_sum_exp_of([s for j, s in enumerate(scores) if j != index])
        for cut in cuts:
            p = sigmoid(scores[index] - others - cut)
            share = sum(r.index == index and r.gap > cut for r in records) / count
            assert abs(share - p) < 4.5 * math.sqrt(p * (1 - p) / count)


def test_the_gap_beside_a_choice_runs_exactly() -> None:
    """The same probabilities, with exact numbers alone, in whatever unit the gap is released."""
    cls: Any = compiled(mechanism("exponential_mechanism_gap_monotone"), RunMode.REFINED)
    made = cls(Delta=1, eps=1)
    noise, count = RefinedNoise(Fraction(1, 1024), SeededBits(42)), 800
    records = [made.with_noise(noise)([0, 3, 1]).records[0] for _ in range(count)]
    assert all(type(r.gap) is Fraction and (r.gap * 1024).denominator == 1 and r.gap >= 0 for r in records)
    for index, cut in ((0, 0), (1, 0), (1, 1), (1, 3), (2, 0)):
        others = log_sum_exp_of([float(s) for j, s in enumerate([0, 3, 1]) if j != index])
        p = sigmoid([0, 3, 1][index] - others - cut)
        share = sum(r.index == index and r.gap >= cut for r in records) / count
        assert abs(share - p) < 4.5 * math.sqrt(p * (1 - p) / count)


@pytest.mark.parametrize(
    ("mode", "source"), [(RunMode.LATTICE, LatticeNoise), (RunMode.REFINED, RefinedNoise)]
)
def test_ties_are_broken_evenly(mode: RunMode, source: Any) -> None:
    """Lemma 4.1 of the secure-implementation paper: any of the indices that tie, with equal chances."""
    cls: Any = compiled(mechanism("noisy_max_random_ties"), mode)
    noise, count, q = source(Fraction(1, 1024), SeededBits(42)), 1500, (0, 0, 1)
    made, r = cls(eps=1), math.exp(-1 / 2)
    chances = [0.0] * 3
    for drawn in itertools.product(range(40), repeat=3):
        noisy = [answer + x for answer, x in zip(q, drawn, strict=True)]
        tied = [i for i, x in enumerate(noisy) if x == max(noisy)]
        for i in tied:
            chances[i] += (1 - r) ** 3 * r ** sum(drawn) / len(tied)
    found = Counter(made.with_noise(noise)(list(q)).records[0].index for _ in range(count))
    for i, p in enumerate(chances):
        assert abs(found[i] / count - p) < 4.5 * math.sqrt(p * (1 - p) / count)


def test_excluded_indices_are_never_chosen() -> None:
    made: Any = compiled(mechanism("exponential_mechanism_prior"))(  # type: ignore[call-arg]
        prior=[1, 2, 1, 1], ok=[True, True, False, True], one=0, two=1, eps=1
    )
    noise = FloatingNoise(seed=23)
    pairs = {tuple(r.index for r in made.with_noise(noise)([5, 0, 90, 1]).records) for _ in range(300)}
    assert all(2 not in pair and pair[0] != pair[1] for pair in pairs)
    assert len(pairs) == 6


def test_generated_code_asks_for_what_the_spec_says() -> None:
    made: Any = compiled(mechanism("exponential_mechanism_gap_monotone"), RunMode.FLOAT)(
        Delta=2, eps=Fraction(1, 2)
    )  # type: ignore[call-arg]
    noise = RecordedNoise([1, Fraction(9, 2)])
    (record,) = made.with_noise(noise)([4, 12, 8]).records
    assert (record.index, record.gap) == (1, Fraction(9, 2))
    choice, number = noise.drawn
    assert (choice.family, choice.args) == ("Choose", (1, 3, 2))
    assert number.family == "Logistic"
    ahead = 12 - 4 * math.log(math.exp(1) + math.exp(2))
    assert [float(x) for x in number.args] == pytest.approx([ahead, 4.0, 0.0])


def test_a_caller_runs_what_it_calls() -> None:
    run: Any = compiled(mechanism("exponential_then_measure"))(eps=200, testing_seed=24)  # type: ignore[call-arg]
    (record,) = run([3.0, 90.0, 5.0]).records
    assert record.index == 1
    assert abs(record.value - 90) < 1


def test_labels_and_ranges() -> None:
    made: Any = compiled(mechanism("exponential_mechanism"))(Delta=1, eps=50)  # type: ignore[call-arg]
    result = made(pd.Series([1, 90, 3], index=["milk", "bread", "salt"]))
    assert "bread" in str(result.to_frame())
    with pytest.raises(ParameterError):
        compiled(mechanism("exponential_mechanism"))(Delta=0, eps=1)  # type: ignore[call-arg]
