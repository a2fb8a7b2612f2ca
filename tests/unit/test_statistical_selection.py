"""Events: what is chosen for each type of output, that counts are right, and how often nothing is accused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from aligncheck.statistical.event_choice import choose
from aligncheck.statistical.features import columns_of
from aligncheck.statistical.output_events import (
    AnyOf,
    Count,
    Difference,
    Distance,
    Entry,
    Event,
    Feature,
    Overall,
    WholeOutput,
    Within,
    describe,
    feature_values,
    holds,
)
from aligncheck.statistical.outputs import Outputs, outputs_of, outputs_of_batch
from aligncheck.statistical.pvalue import log_pvalue

N = 20_000
ROWS: list[list[Any]] = [[False, False, 2.5], [True, 1.5, -2.0], [False], [], [True, True, True, 4.0]]


def test_features() -> None:
    outputs = outputs_of(ROWS, "f")
    nan = math.nan
    cases: list[tuple[Feature, list[float]]] = [
        (Entry(1), [nan, 1.5, nan, nan, nan]),
        (Entry(9), [nan] * 5),
        (Difference(1, 2), [nan, 3.5, nan, nan, nan]),
        (Overall.LAST, [2.5, -2.0, nan, nan, 4.0]),
        (Overall.AVERAGE, [2.5, -0.25, nan, nan, 4.0]),
        (Overall.LEAST, [2.5, -2.0, nan, nan, 4.0]),
        (Overall.GREATEST, [2.5, 1.5, nan, nan, 4.0]),
        (Overall.LENGTH, [3, 3, 1, 0, 4]),
        (Count("True"), [0, 1, 0, 0, 3]),
        (Count("'x'"), [0] * 5),
        (Distance(("False", None)), [2, 2, 1, 2, 4]),
    ]
    for feature, wanted in cases:
        np.testing.assert_array_equal(feature_values(feature, outputs), wanted, err_msg=str(feature))


def test_numbers_that_share_noise_are_compared_across_what_stands_between() -> None:
    """Names of fields stand between the numbers, and another number does."""
    noise = np.random.default_rng(1).normal(size=400)
    for gap in ({}, {"other": 3.5}):
        both = [outputs_of([{"a": x + e, **gap, "b": e} for e in noise.tolist()], "f") for x in (0, 1)]
        conditions = [column.condition(0, 1) for column in columns_of(*both)]
        assert any(isinstance(c, Within) and c.feature == Difference(1, 3 + 2 * len(gap)) for c in conditions)


def test_features_of_numbers_alone_are_those_of_the_same_numbers_beside_categories() -> None:
    rows = [[1.0, 4.0], [3.0, -1.0]]
    alone, beside = outputs_of(rows, "f"), outputs_of([*rows, [False]], "f")
    for feature in (
        Entry(1),
        Overall.LAST,
        Overall.AVERAGE,
        Overall.LEAST,
        Overall.GREATEST,
        Overall.LENGTH,
        Count("False"),
        Distance((None,)),
    ):
        np.testing.assert_array_equal(feature_values(feature, alone), feature_values(feature, beside)[:2])


def test_events_hold_where_they_should() -> None:
    outputs = outputs_of(ROWS, "f")
    cases: list[tuple[Event, list[int]]] = [
        ((Within(Overall.LENGTH, 1.0, 3.5),), [1, 1, 1, 0, 0]),
        ((Within(Overall.LAST, -math.inf, 2.5),), [0, 1, 0, 0, 0]),
        ((WholeOutput(("False", "False", None)),), [1, 0, 0, 0, 0]),
        ((WholeOutput(("True", 1.5, None)),), [0, 1, 0, 0, 0]),
        ((WholeOutput(()),), [0, 0, 0, 1, 0]),
        ((AnyOf((WholeOutput(()), Within(Overall.LENGTH, 1.0, 1.5))),), [0, 0, 1, 1, 0]),
        ((AnyOf(()),), [0] * 5),
        ((WholeOutput(("False",) * 9),), [0] * 5),
        ((Within(Count("True"), 1.0, math.inf), Within(Overall.LAST, 3.0, math.inf)), [0, 0, 0, 0, 1]),
    ]
    for event, wanted in cases:
        assert holds(event, outputs).tolist() == [bool(x) for x in wanted], event


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ((Within(Entry(2), -math.inf, 1.0),), "output[2] < 1"),
        ((Within(Entry(2), 0.5, math.inf),), "output[2] >= 0.5"),
        ((Within(Overall.AVERAGE, 0.5, 2.0),), "0.5 <= average < 2"),
        ((Within(Overall.LENGTH, 3.0, float(np.nextafter(3, 9))),), "length = 3"),
        ((Within(Overall.LENGTH, 3.0, float(np.nextafter(5, 9))),), "3 <= length <= 5"),
        ((Within(Overall.LAST, float(np.nextafter(0, 9)), 2.5),), "0 < last number < 2.5"),
        ((WholeOutput(("True", None, 3.0)),), "output = [True, a number, 3]"),
        ((AnyOf((WholeOutput(()), WholeOutput(("True",)))),), "one of: output = [], output = [True]"),
        (
            (Within(Count("'top'"), 1.0, math.inf), Within(Overall.LEAST, -math.inf, 0.0)),
            "count of 'top' >= 1 and least number < 0",
        ),
    ],
)
def test_descriptions(event: Event, text: str) -> None:
    assert describe(event, listed=True) == text


def test_single_outputs_have_no_places() -> None:
    assert describe((Within(Entry(0), 1.0, 2.0),), listed=False) == "1 <= output < 2"
    assert describe((WholeOutput(("True",)),), listed=False) == "output = True"


# --- what is chosen -----------------------------------------------------------------------------------------

Sampler = Callable[[np.random.Generator, bool], Any]


def laplace(rng: np.random.Generator, *shape: int) -> Any:
    return rng.laplace(size=(N, *shape))


def number(rng: np.random.Generator, changed: bool) -> Any:
    return rng.laplace(size=N) + changed


def vector(rng: np.random.Generator, changed: bool) -> Any:
    return laplace(rng, 4) + np.array([0, 0, changed, 0])


def spread_out(rng: np.random.Generator, changed: bool) -> Any:
    """Only all numbers together tell."""
    return laplace(rng, 8) + 0.4 * changed


def index(rng: np.random.Generator, changed: bool) -> Any:
    return rng.choice(3, size=N, p=[0.7, 0.2, 0.1] if changed else [0.2, 0.3, 0.5])


def words(rng: np.random.Generator, changed: bool) -> Any:
    return rng.choice(["yes", "no"], size=N, p=[0.8, 0.2] if changed else [0.3, 0.7])


def flags(rng: np.random.Generator, changed: bool) -> Any:
    return rng.random((N, 6)) < (0.7 if changed else 0.4)


def ragged(rng: np.random.Generator, changed: bool) -> Any:
    above = rng.random((N, 6)) < (0.7 if changed else 0.2)
    return np.ma.array(above, mask=np.cumsum(above, axis=1) - above >= 1)


def mixed(rng: np.random.Generator, changed: bool) -> Any:
    """The number tells only where the flag is set."""
    flag = rng.random(N) < 0.2
    return flag, laplace(rng) + np.where(flag, 3.0 * changed, 0.0)


def hole(rng: np.random.Generator, changed: bool) -> Any:
    return rng.exponential(size=N) + 0.5 * changed


def atom(rng: np.random.Generator, changed: bool) -> Any:
    """Clipped, so that a single value has a probability of its own."""
    return np.clip(rng.laplace(size=N) + changed, -1.0, 3.0)


def at_times_infinite(rng: np.random.Generator, changed: bool) -> Any:
    return np.where(rng.random(N) < 0.3, np.inf, number(rng, changed))


def heavy_tailed(rng: np.random.Generator, changed: bool) -> Any:
    return rng.standard_cauchy(N) ** 3 + changed


SAMPLERS: list[Sampler] = [
    *(number, vector, spread_out, index, words, flags, ragged, mixed, hole, atom),
    *(at_times_infinite, heavy_tailed),
]


def drawn(sampler: Sampler, rng: np.random.Generator, changed: bool) -> Outputs:
    return outputs_of_batch(sampler(rng, changed), N, "f")


def test_with_a_delta_categories_are_put_together() -> None:
    """Each of six is a little likelier, by 0.02; what is likelier by 0.08 and more is a set of them."""
    rng = np.random.default_rng(2)
    shares = np.array([0.1] * 6 + [0.08] * 5)

    def sampled(changed: bool) -> Outputs:
        p = shares if not changed else shares - np.array([0.02] * 6 + [-0.024] * 5)
        return outputs_of_batch(np.array(list("abcdefghijk"))[rng.choice(11, N, p=p)], N, "f")

    (choice,) = choose(sampled(False), sampled(True), [(0.0, 0.08)])
    assert choice is not None
    assert isinstance(choice.event[0], AnyOf)
    c1, c2 = (
        int(holds(choice.event, sampled(changed)).sum()) for changed in (choice.swapped, not choice.swapped)
    )
    assert log_pvalue(c1, c2, N, 0.0, rng, 0.08) < math.log(1e-6)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_difference_is_found_and_confirmed_on_other_runs(sampler: Sampler) -> None:
    rng = np.random.default_rng(1)
    (choice,) = choose(drawn(sampler, rng, False), drawn(sampler, rng, True), [(0.3, 0.0)])
    assert choice is not None
    c1, c2 = (int(holds(choice.event, drawn(sampler, rng, changed)).sum()) for changed in (False, True))
    if choice.swapped:
        c1, c2 = c2, c1
    assert log_pvalue(c1, c2, N, 0.3, rng) < math.log(1e-6), describe(choice.event, listed=True)


def test_what_only_happens_together_is_found() -> None:
    rng = np.random.default_rng(1)
    (choice,) = choose(drawn(mixed, rng, False), drawn(mixed, rng, True), [(1.0, 0.0)])
    assert choice is not None
    assert len(choice.event) == 2


def test_differences_in_opposite_directions_are_added_up() -> None:
    """Half of the flags rise and half fall a little: the distance to what one input favours shows it best."""

    def sampled(rng: np.random.Generator, changed: bool) -> Outputs:
        chance = np.where(np.arange(10) < 5, 0.4, 0.6) if changed else np.where(np.arange(10) < 5, 0.6, 0.4)
        return outputs_of_batch(rng.random((N, 10)) < chance, N, "f")

    rng = np.random.default_rng(1)
    (choice,) = choose(sampled(rng, False), sampled(rng, True), [(2.0, 0.0)])
    assert choice is not None
    (condition,) = choice.event
    assert isinstance(condition, Within)
    assert condition.feature in (
        Distance(("True",) * 5 + ("False",) * 5),
        Distance(("False",) * 5 + ("True",) * 5),
    )
    assert choice.score > 5


def test_a_hole_in_the_support_is_found_at_a_high_level() -> None:
    rng = np.random.default_rng(1)
    (choice,) = choose(drawn(hole, rng, False), drawn(hole, rng, True), [(4.0, 0.0)])
    assert choice is not None
    assert not choice.swapped
    assert holds(choice.event, drawn(hole, rng, True)).sum() == 0


def test_too_rare_events_are_not_chosen() -> None:
    rare = outputs_of([1.0] * 20 + [0.0] * (N - 20), "f")
    none = outputs_of([0.0] * N, "f")
    (choice,) = choose(rare, none, [(2.0, 0.0)])
    # 20 of 20,000 are fewer than 0.001 e^2 of them (footnote 3 of section 4.3.3).
    assert choice is None or int(holds(choice.event, rare).sum()) > 20


def test_equal_outputs_give_no_evidence() -> None:
    """On the border of the hypothesis, an event chosen on some runs is rarely significant on others."""
    rng = np.random.default_rng(3)
    n, repeats, eps, alpha = 1_000, 150, 0.5, 0.1
    p = math.exp(eps) / (1 + math.exp(eps))  # randomized response, which is exactly eps-private

    def runs(truth: bool) -> Outputs:
        lies = rng.random((n, 3)) >= p
        return outputs_of_batch(np.concatenate([lies[:, :1] ^ truth, lies[:, 1:]], axis=1), n, "f")

    accused = 0
    for _ in range(repeats):
        (choice,) = choose(runs(False), runs(True), [(eps, 0.0)])
        assert choice is not None
        c1, c2 = (int(holds(choice.event, runs(truth != choice.swapped)).sum()) for truth in (False, True))
        accused += log_pvalue(c1, c2, n, eps, rng) <= math.log(alpha)
    assert accused <= binom.ppf(1 - 1e-4, repeats, alpha)
