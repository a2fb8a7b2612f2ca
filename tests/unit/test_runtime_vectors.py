"""Exact vectors beside lists: of fractions, and of numbers whose digits are drawn on demand."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aligncheck.runtime import NumericError, SelectionError
from aligncheck.runtime.arrays import (
    argmax,
    argmin,
    clipped,
    greatest,
    least,
    maximum,
    minimum,
    top,
    upto,
    vector,
)
from aligncheck.runtime.bits import SeededBits
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise
from aligncheck.runtime.extremes import argmax_of, argmin_of, top_of
from aligncheck.runtime.vectors import ExactVector, exact_operand, vector_of

Numbers = list[Any]

FRACTIONS = st.builds(
    Fraction,
    st.integers(-60, 60) | st.integers(-(2**70), 2**70) | st.sampled_from([2**62, -(2**62), 2**62 - 1]),
    st.sampled_from([1, 1, 2, 3, 10, 1024]),
)
COMPARISONS: list[Callable[[Any, Any], Any]] = [
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


def noisy(values: Sequence[Fraction], seed: int, sided: int = 1) -> ExactVector:
    """The values with refined noise on each; γ is 1/2."""
    noise = RefinedNoise(Fraction(1, 2), SeededBits(seed))
    drawn = noise.laplaces(2, len(values)) if sided == 2 else noise.exponentials(3, len(values))
    found: ExactVector = vector_of(values) + drawn
    return found


def same(vector: Any, numbers: Sequence[Any]) -> None:
    """Entry by entry: refined numbers are the same if their difference has no draws left, and is 0."""
    assert isinstance(vector, ExactVector)
    assert len(vector) == len(numbers)
    for got, wanted in zip(vector, numbers, strict=True):
        difference = got - wanted
        assert isinstance(difference, Fraction)
        assert difference == 0


@st.composite
def pairs(draw: st.DrawFn) -> tuple[ExactVector, Numbers, ExactVector, Numbers, Fraction]:
    """Two vectors of one length, their entries, and a number that is often one of them."""
    count = draw(st.integers(1, 6))
    lists = [draw(st.lists(FRACTIONS, min_size=count, max_size=count)) for _ in range(2)]
    seed = draw(st.integers(0, 2**20))
    vectors = [
        noisy(values, seed + i, kind) if kind else vector_of(values)
        for i, (values, kind) in enumerate(zip(lists, draw(st.tuples(*[st.integers(0, 2)] * 2)), strict=True))
    ]
    number = draw(FRACTIONS | st.sampled_from(lists[0]))
    a, b = vectors
    return a, list(a), b, list(b), number


@settings(max_examples=60)
@given(pairs())
def test_linear_combinations(drawn: tuple[ExactVector, Numbers, ExactVector, Numbers, Fraction]) -> None:
    a, x, b, y, number = drawn
    same(a + b, [p + q for p, q in zip(x, y, strict=True)])
    same(a - b, [p - q for p, q in zip(x, y, strict=True)])
    same(-a, [-p for p in x])
    same(+a, x)
    same(a - a, [Fraction(0)] * len(x))
    for changed, wanted in ((a + number, number), (number + a, number), (a - number, -number)):
        same(changed, [p + wanted for p in x])
    same(number - a, [number - p for p in x])
    same(a * number, [p * number for p in x])
    same(3 * a, [p * 3 for p in x])
    if number:
        same(a / number, [p / number for p in x])
    same(a + b[0], [p + y[0] for p in x])
    same(b[0] - a, [y[0] - p for p in x])
    same((a - b) * 2 + b / 3 - a, [(p - q) * 2 + q / 3 - p for p, q in zip(x, y, strict=True)])
    same(a + np.array(y, dtype=object), [p + q for p, q in zip(x, y, strict=True)]) if not b.terms else None
    same(a.prefix(2), x[:2])
    assert len(a[:2]) == len(x[:2])


@settings(max_examples=60)
@given(pairs())
def test_comparisons_and_choices(drawn: tuple[ExactVector, Numbers, ExactVector, Numbers, Fraction]) -> None:
    a, x, b, y, number = drawn
    for compare in COMPARISONS:
        assert compare(a, b).tolist() == [compare(p, q) for p, q in zip(x, y, strict=True)]
        assert compare(a, number).tolist() == [compare(p, number) for p in x]
        assert compare(number, a).tolist() == [compare(number, p) for p in x]
        assert compare(a, y[0]).tolist() == [compare(p, y[0]) for p in x]
        assert compare(y[0], a).tolist() == [compare(y[0], p) for p in x]
    same(abs(a), [abs(p) for p in x])
    same(maximum(a, b), [max(p, q) for p, q in zip(x, y, strict=True)])
    same(minimum(a, number, b), [min(p, number, q) for p, q in zip(x, y, strict=True)])
    same(maximum(number, a), [max(p, number) for p in x])
    same(clipped(a, number - 1, number + 1), [max(number - 1, min(p, number + 1)) for p in x])
    # What is chosen has draws at some indices only.
    mixed, entries = maximum(a, b - 1), [max(p, q - 1) for p, q in zip(x, y, strict=True)]
    assert (mixed > number).tolist() == [p > number for p in entries]
    same(mixed - b, [p - q for p, q in zip(entries, y, strict=True)])


@settings(max_examples=60)
@given(pairs(), st.randoms(use_true_random=False))
def test_selections(
    drawn: tuple[ExactVector, Numbers, ExactVector, Numbers, Fraction], rng: random.Random
) -> None:
    a, x, b, y, _ = drawn
    mask = np.array([rng.random() < 0.7 for _ in x])
    mask[rng.randrange(len(x))] = True
    sum_, entries = a + b, [p + q for p, q in zip(x, y, strict=True)]
    plain, weights = vector_of(list(range(1, len(x) + 1))), range(1, len(x) + 1)
    cases = [
        (a, x),
        (sum_, entries),
        (a + y[0], [p + y[0] for p in x]),
        (a * plain - b * plain, [(p - q) * w for p, q, w in zip(x, y, weights, strict=True)]),
        (maximum(a, b - 1), [max(p, q - 1) for p, q in zip(x, y, strict=True)]),
    ]
    for values, numbers in cases:
        for where in (None, mask):
            scores = [(i, number) for i, number in enumerate(numbers) if where is None or where[i]]
            for count in range(len(scores) + 1):
                assert top(count, values, where) == top_of(count, scores)
            assert upto(99, values, where) == top_of(len(scores), scores)
            assert argmax(values, where) == argmax_of(scores)
            assert argmin(values, where) == argmin_of(scores)
            assert greatest(values, where) - numbers[argmax_of(scores)] == 0
            assert least(values, where) - numbers[argmin_of(scores)] == 0


@pytest.mark.parametrize("sided", [0, 1, 2])
def test_selections_of_few_of_many(sided: int) -> None:
    """Most entries are left out by the maxima of groups; noise on so many is made in steps of two scales."""
    rng = np.random.default_rng(sided)
    listed = [Fraction(n, 2) for n in rng.integers(0, 400, 4500).tolist()]
    values = noisy(listed, 9, sided) if sided else vector_of(listed)
    for where in (None, rng.random(4500) < 0.5, np.arange(4500) < 40, np.arange(4500) >= 4000):
        entries = [(i, x) for i, x in enumerate(values) if where is None or where[i]]
        order = top_of(len(entries), entries)
        for count in (1, 3, 30, 3000):
            assert upto(count, values, where) == order[:count]
        assert argmin(values, where) == argmin_of(entries)


def test_entries_of_different_widths_are_ranked() -> None:
    """One that may lie anywhere beside others that are known closely."""
    weights = [Fraction(w) for w in (1, 40, 1, 3, 0, 200, 0, 0, 5)]
    places = [Fraction(n, 2) for n in (30, -20, 31, 28, 29, -90, 29, 33, 30)]
    orders = set()
    for seed in range(40):
        values = noisy([Fraction(0)] * 9, seed, 1 + seed % 2) * vector_of(weights) + vector_of(places)
        order = top_of(9, enumerate(values))
        assert all(top(count, values) == order[:count] for count in range(10))
        assert order.index(4) < order.index(6)
        orders.add(tuple(order))
    assert len(orders) > 30


def test_one_draw_for_all_with_weights() -> None:
    """Entries may be equal although they are noisy; then the lower index comes first."""
    noise, orders = RefinedNoise(Fraction(1), SeededBits(3)), set()
    weights = [Fraction(w) for w in (2, 1, 2, -1, 0)]
    for _ in range(20):
        shared = noise.laplace(Fraction(1, 3))
        values = vector_of(weights) * shared
        entries = [w * shared for w in weights]
        same(values, entries)
        order = top_of(5, enumerate(entries))
        assert top(5, values) == order
        assert order.index(0) + 1 == order.index(2)
        assert argmax(values) == order[0]
        assert (values == 0).tolist() == [False, False, False, False, True]
        same(values / 2 - shared, [e / 2 - shared for e in entries])
        orders.add(tuple(order))
    assert len(orders) == 2


def test_comparisons_off_the_lattice() -> None:
    """Where whole steps leave it open, and where entries without noise are what they are compared with."""
    drawn = maximum(noisy([Fraction(0)] * 60, 12) / 8, Fraction(1, 24))
    entries = list(drawn)
    seen: set[tuple[object, bool]] = set()
    for number in (Fraction(n, 48) for n in range(-1, 9)):
        for compare in COMPARISONS:
            found = compare(drawn, number).tolist()
            assert found == [compare(entry, number) for entry in entries]
            seen.update((compare, outcome) for outcome in found)
    assert len(seen) == 2 * len(COMPARISONS)


def test_products_and_quotients_with_public_vectors() -> None:
    public = vector_of([Fraction(3), Fraction(-1, 2), Fraction(7)])
    drawn = noisy([Fraction(1)] * 3, 4)
    same(public * drawn, [p * d for p, d in zip(public, drawn, strict=True)])
    same(drawn * public, [p * d for p, d in zip(public, drawn, strict=True)])
    same(drawn / public, [d / p for p, d in zip(public, drawn, strict=True)])
    same(1 / public, [1 / p for p in public])
    large = vector_of([Fraction(2**40), Fraction(3)])
    assert list(large * large) == [2**80, 9]
    assert list(large * 0) == [0, 0]
    with pytest.raises(NumericError, match="product"):
        drawn * drawn
    for divided in (public, 1, drawn):
        with pytest.raises(NumericError, match="divided"):
            divided / drawn
    with pytest.raises(ZeroDivisionError):
        public / vector_of([Fraction(0)] * 3)
    with pytest.raises(ZeroDivisionError):
        public / 0


def test_numbers_of_any_size_do_not_overflow() -> None:
    edge = 2**62 - 1
    v = vector_of([Fraction(edge), Fraction(-edge)])
    assert v.steps.dtype == np.int64
    total = v + v + v
    assert list(total) == [3 * edge, -3 * edge]
    assert list(total - v - v) == list(v)
    assert list(v / 3 + Fraction(1, 7)) == [
        Fraction(edge, 3) + Fraction(1, 7),
        Fraction(-edge, 3) + Fraction(1, 7),
    ]
    assert (v < 10**40).all()
    assert argmax(v + 10**40) == 0
    assert list(vector_of([Fraction(10**400), Fraction(1, 10**200)])) == [10**400, Fraction(1, 10**200)]
    drawn = noisy([Fraction(0)] * 2, 5) * 10**30
    assert (drawn < 0).tolist() == [False, False]
    same(drawn + v - drawn, list(v))
    # On so fine a common lattice, also one coefficient for all entries does not fit.
    for sided in (1, 2):
        drawn, tiny = noisy([Fraction(0)] * 9, 6, sided), Fraction(1, 10**30)
        entries = [d + tiny for d in drawn]
        same(drawn + tiny, entries)
        same((drawn + tiny) * 2 + drawn, [e * 2 + d for e, d in zip(entries, drawn, strict=True)])
        same(maximum(drawn + tiny, 1), [max(e, 1) for e in entries])
        assert top(9, drawn + tiny) == top_of(9, enumerate(entries))
        assert (drawn + tiny > drawn).all()


@pytest.mark.parametrize("least", [Fraction(1, 10**15), Fraction(1, 10**20), Fraction(1, 10**40)])
def test_a_weight_of_all_draws_stays_one_at_any_size(least: Fraction) -> None:
    """One answer far off the lattice makes all weights large: that may not change whether a run raises."""
    noise = RefinedNoise(Fraction(1), SeededBits(1))
    shared, answers = noise.laplace(2), noise.answers([least, 0, 0, 0], exact=True)
    for _ in range(20):
        scores = answers + shared + (noise.exponentials(Fraction(1, 2), 4) + shared)
        assert all(isinstance(c, int) for c in scores.terms.values())
        assert top(4, scores) == top_of(4, list(enumerate(scores)))


def test_denominators_without_a_short_common_multiple() -> None:
    """The common denominator of many fractions may be as long as all of them together: it is not used."""
    rng = random.Random(6)
    values = [Fraction(rng.randint(-(10**20), 10**20), rng.randint(10**19, 10**20)) for _ in range(60)]
    plain, drawn = vector_of(values), noisy(values, 7)
    assert list(plain) == values
    assert list(plain - values[3]) == [v - values[3] for v in values]
    assert top(10, plain) == top_of(10, enumerate(values))
    assert top(60, drawn) == top_of(60, enumerate(drawn))
    assert (drawn > 1).tolist() == [d > 1 for d in drawn]


def test_as_sequences_and_arrays() -> None:
    v = vector_of([Fraction(1, 2), Fraction(3), Fraction(-2)])
    assert [v[0], v[-1], v[np.int64(1)]] == [Fraction(1, 2), -2, 3]
    assert {type(x) for x in (*v, v[0])} == {Fraction}
    assert v[1:] == [3, -2]
    assert vector(v) is v
    assert list(vector(v, 2)) == [Fraction(1, 2), 3]
    assert len(vector(v, 0)) == len(vector(v, -1)) == 0
    with pytest.raises(IndexError, match="too short"):
        vector(v, 4)
    for index in (3, -4):
        with pytest.raises(IndexError):
            v[index]
    with pytest.raises(TypeError):
        hash(v)
    drawn = noisy([Fraction(0)] * 3, 8)
    assert isinstance(drawn[-1] - drawn[2], Fraction)


def test_what_is_no_exact_number_is_refused() -> None:
    v = vector_of([Fraction(1), Fraction(2)])
    for other in (0.5, np.float64(1), np.array([0.5, 1.0])):
        with pytest.raises(NumericError, match="exact numbers"):
            v + other
        with pytest.raises(NumericError, match="exact numbers"):
            v < other  # noqa: B015
    with pytest.raises(ValueError, match="vectors of 2 and 3"):
        v + vector_of([Fraction(1)] * 3)
    for wrong in ("1", None, True, np.array([True, False])):
        with pytest.raises(TypeError):
            v + wrong
        with pytest.raises(TypeError, match="exact numbers"):
            exact_operand(wrong, 2)
    with pytest.raises(SelectionError, match="no index"):
        argmax(v, np.array([False, False]))
    for count in (-1, 3):
        with pytest.raises(SelectionError, match="cannot select"):
            top(count, v)


def test_vectors_of_answers_and_noise_have_few_units() -> None:
    noise = LatticeNoise(Fraction(1, 10), SeededBits(9))
    q = noise.answers([3, Fraction(1, 3), 0.3, -0.05])
    assert list(q) == [3, Fraction(3, 10), Fraction(3, 10), Fraction(-1, 10)]
    total = q + noise.laplaces(4, 4)
    assert isinstance(total, ExactVector)
    assert total.unit == Fraction(1, 10)
    assert total.steps.dtype == np.int64
    assert not total.terms


# --- answers of any kind ----------------------------------------------------------------------------------

EXTREMES: list[Fraction | float] = [
    *(0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 0.1, 1 / 3, 1e22, 1e-22),
    *(2.0**62, -(2.0**62), 2.0**63, 2.0**53 + 2, 2**62, 2**62 - 1, 2**64, -(2**63), 0, 1, 7),
    *(Fraction(2) ** 1024, -(Fraction(2) ** 1024), Fraction(1, 3), Fraction(10**50, 7**40)),
]
GAMMAS = [Fraction(1, 1024), Fraction(1, 10), Fraction(3), Fraction(1, 10**30), Fraction(10**25)]
NUMBERS = [
    *(Fraction(n) for n in (0, 1, 10**30, -(2**70))),
    *(Fraction(n, d) for n, d in ((-1, 3), (1, 10**40))),
]
STEPS: list[Callable[[Any, Any, Any, Fraction, Fraction], Any]] = [
    lambda v, q, noise, scale, c: v + noise.laplaces(scale, len(v)),
    lambda v, q, noise, scale, c: v - noise.exponentials(scale, len(v)),
    lambda v, q, noise, scale, c: v - noise.laplace(scale),
    lambda v, q, noise, scale, c: v * c,
    lambda v, q, noise, scale, c: c - v,
    lambda v, q, noise, scale, c: abs(v),
    lambda v, q, noise, scale, c: maximum(v, c),
    lambda v, q, noise, scale, c: minimum(v, q),
    lambda v, q, noise, scale, c: clipped(v, -5, 5),
    lambda v, q, noise, scale, c: v + vector_of([Fraction(1, i + 1) for i in range(len(v))]),
]


@pytest.mark.parametrize("kind", [LatticeNoise, RefinedNoise])
def test_no_answer_makes_a_run_fail_or_decide_wrongly(kind: Callable[[Fraction, SeededBits], Any]) -> None:
    rng = random.Random(7)
    for seed in range(200):
        noise = kind(rng.choice(GAMMAS), SeededBits(seed))
        answers = [rng.choice(EXTREMES) for _ in range(rng.randint(1, 5))]
        q = noise.answers(answers, exact=rng.random() < 0.5)
        v = q
        for step in rng.choices(STEPS, k=rng.randint(1, 4)):
            scale = rng.choice([Fraction(1), Fraction(1, 10**9), Fraction(10**40)])
            v = step(v, q, noise, scale, rng.choice(NUMBERS))
        entries = list(v)
        assert top(len(v), v) == top_of(len(v), enumerate(entries))
        assert greatest(v) - entries[argmax_of(enumerate(entries))] == 0
        for compare in COMPARISONS:
            assert compare(v, q).tolist() == [compare(x, y) for x, y in zip(entries, q, strict=True)]
            assert compare(v, 1).tolist() == [compare(x, 1) for x in entries]
            assert compare(v, v[0]).tolist() == [compare(x, entries[0]) for x in entries]
        for entry in entries:
            assert isinstance(noise.released(entry), Fraction)
        assert noise.choice((i, x / 4) for i, x in enumerate(q)) in range(len(q))
