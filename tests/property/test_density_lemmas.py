"""The lemmas about sums of exponentials and logistic densities: numerically at random, and as identities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from aligncheck.search.discharge.values import value_of
from aligncheck.search.obligations import lemmas
from aligncheck.search.relational.labels import Bound
from aligncheck.search.relational.selection import Gathered
from aligncheck.search.relational.terms import (
    FALSE,
    TRUE,
    ZERO,
    App,
    Const,
    Kind,
    Pair,
    Sort,
    Sym,
    Term,
    atoms,
    const,
    substitute,
)

NUMBERS = st.fractions(-20, 20, max_denominator=64)
MARGIN = Fraction(1, 10**9)
"""Sums of exponentials are computed in floats, and rounded away from the claim by this much."""


def log_sum_exp(values: Sequence[Fraction]) -> Fraction:
    greatest = max(values)
    return Fraction(float(greatest) + math.log(math.fsum(math.exp(v - greatest) for v in values)))


def log_logistic(x: float, t: float) -> float:
    return -(x - t) - 2 * softplus(-(x - t))


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def pair(left: float | Fraction, right: float | Fraction) -> Pair:
    return Pair(Const(Fraction(left)), Const(Fraction(right)))


def number(term: Term) -> Fraction:
    found = value_of(term, {})
    assert isinstance(found, Fraction)
    return found


# --- sums of exponentials -----------------------------------------------------------------------------------

A, B = Sym("A", Sort.REAL, Kind.STATE), Sym("B", Sort.REAL, Kind.STATE)
J = Sym(Bound("j"), Sort.INT, Kind.GHOST)


def the_set(size: int, label: str) -> Gathered:
    return Gathered(None, J, ZERO, const(size), TRUE, App(label, (J,), Sort.REAL, Kind.DATA))


def instance(a: Sequence[Fraction], b: Sequence[Fraction], move: Fraction) -> list[Term]:
    """What the lemma says of these numbers, for each choice of its two indices."""
    said = lemmas.log_sum_exp_moves_between(A, the_set(len(a), "a"), B, the_set(len(b), "b"))
    indices = [x for x in atoms((said,)) if isinstance(x, Sym) and x.kind is Kind.GHOST]
    assert len(indices) == 2
    found = []
    for places in product(range(len(a)), repeat=2):
        chosen = substitute(said, {i: const(p) for i, p in zip(indices, places, strict=True)})
        values: dict[Term, Term] = {A: ZERO, B: Const(move)}
        for label, numbers in (("a", a), ("b", b)):
            for place, value in enumerate(numbers):
                values[App(label, (const(place),), Sort.REAL, Kind.DATA)] = Const(value)
        found.append(substitute(chosen, values))
    return found


LISTS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=4)


@given(LISTS)
def test_a_sum_moves_between_the_moves_of_its_terms(terms: list[tuple[Fraction, Fraction]]) -> None:
    a, b = [x for x, _ in terms], [y for _, y in terms]
    move = log_sum_exp(b) - log_sum_exp(a)
    # Where all terms move alike, the sum moves as they do: rounding must not decide.
    ends = min(y - x for x, y in terms), max(y - x for x, y in terms)
    assert ends[0] - MARGIN <= move <= ends[1] + MARGIN
    assert TRUE in instance(a, b, min(max(move, ends[0]), ends[1]))


@given(LISTS)
def test_no_number_outside_of_these_moves_is_admitted(terms: list[tuple[Fraction, Fraction]]) -> None:
    a, b = [x for x, _ in terms], [y for _, y in terms]
    beyond = max(y - x for x, y in terms) + MARGIN
    below = min(y - x for x, y in terms) - MARGIN
    assert set(instance(a, b, beyond)) == set(instance(a, b, below)) == {FALSE}


def test_nothing_is_said_of_an_empty_sum() -> None:
    assert lemmas.log_sum_exp_moves_between(A, the_set(0, "a"), B, the_set(0, "b")) == TRUE


@given(LISTS.flatmap(lambda terms: st.tuples(st.just(terms), st.integers(0, len(terms) - 1))))
def test_how_far_a_choice_moves(drawn: tuple[list[tuple[Fraction, Fraction]], int]) -> None:
    terms, chosen = drawn
    a, b = [float(x) for x, _ in terms], [float(y) for _, y in terms]
    p, p_prime = (math.exp(w[chosen]) / math.fsum(map(math.exp, w)) for w in (a, b))
    weights = pair(terms[chosen][0], terms[chosen][1])
    totals = pair(log_sum_exp([x for x, _ in terms]), log_sum_exp([y for _, y in terms]))
    moved = number(lemmas.choice_moves(weights, totals))
    assert float(moved) == pytest.approx(math.log(p_prime / p), abs=1e-9)


# --- logistic densities -------------------------------------------------------------------------------------

REALS = st.floats(-30, 30)


@given(REALS, REALS, REALS)
def test_a_logistic_density_moves_no_further_than_its_location(x: float, t: float, other: float) -> None:
    bound = float(number(lemmas.logistic_moves_with_its_location(pair(t, other))))
    assert abs(log_logistic(x, other) - log_logistic(x, t)) <= bound + 1e-9


@given(st.floats(1e-6, 60), REALS, REALS)
def test_nor_does_a_truncated_one(x: float, t: float, other: float) -> None:
    bound = float(number(lemmas.truncated_logistic_moves_with_its_location(pair(t, other))))
    one, two = (log_logistic(x, location) + softplus(-location) for location in (t, other))
    assert abs(two - one) <= bound + 1e-9


def test_below_the_cut_a_truncated_one_would_move_further() -> None:
    """Why x > 0 is needed: at x = -20 the derivative comes near -2."""
    one, two = (log_logistic(-20, location) + softplus(-location) for location in (-15.0, -14.0))
    assert abs(two - one) > 1.9


def test_the_derivatives_are_as_stated() -> None:
    x, t = sympy.symbols("x t", real=True)

    def s(z: sympy.Expr) -> sympy.Expr:
        return 1 / (1 + sympy.exp(-z))

    density = sympy.exp(-(x - t)) / (1 + sympy.exp(-(x - t))) ** 2
    whole = sympy.diff(sympy.log(density), t)
    assert sympy.simplify((whole - (1 - 2 * s(t - x))).rewrite(sympy.exp)) == 0
    assert sympy.simplify((whole - sympy.tanh((x - t) / 2)).rewrite(sympy.exp)) == 0
    cut = sympy.diff(sympy.log(density / s(t)), t)
    assert sympy.simplify((cut - (s(t) - 2 * s(t - x))).rewrite(sympy.exp)) == 0
    # The probability above the cut, by the antiderivative s(x - t) of the density.
    assert sympy.simplify(sympy.diff(s(x - t), x) - density) == 0
    assert sympy.simplify((1 - s(-t)) - s(t)) == 0


def test_the_probability_of_a_choice_cancels_the_cut() -> None:
    own, others = sympy.symbols("own others", positive=True)
    odds = sympy.log(own) - sympy.log(others)
    probability = own / (own + others)
    above = 1 / (1 + sympy.exp(-odds))
    assert sympy.simplify(probability - above) == 0


@given(NUMBERS, NUMBERS)
def test_the_cut_is_paid_for_only_at_the_odds(location: Fraction, odds: Fraction) -> None:
    same = lemmas.choice_makes_up_for_the_cut(pair(location, odds), pair(location, odds))
    other = lemmas.choice_makes_up_for_the_cut(pair(location, odds), pair(location, odds + 1))
    assert same == TRUE
    assert other == FALSE
