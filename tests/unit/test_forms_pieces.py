"""What the forms rest on: whole multiples, constants, rates, clauses; each beside arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from small_specs import mechanism

from aligncheck.compiler.forms.clauses import of_lengths, speaks_of_values, without_values
from aligncheck.compiler.forms.lattice import AnswerReading, reading_of
from aligncheck.compiler.forms.rational import rate_of, rounded_down
from aligncheck.compiler.forms.refinable import refuse_noise_that_is_not_drawn, refuse_what_cannot_be_refined
from aligncheck.compiler.forms.shared import NoFormError, constant, fresh
from aligncheck.compiler.modes import RunMode
from aligncheck.language.syntax import nodes as n
from aligncheck.language.unparse import unparse
from aligncheck.meaning.interpreter import RunScope, evaluate
from aligncheck.runtime.exact_noise import RefinedNoise
from aligncheck.search.witness.witness_json import expression

K = [Fraction(k) for k in (1, 2, 3)]
G = [Fraction(1, 3), Fraction(1), Fraction(5, 2)]
PROGRAM = "eta ~ Lap(1/eps)\nemit noisy(q[0] + eta)"


@pytest.mark.parametrize(
    ("sensitivity", "lattice"),
    [
        *product(
            ("g", "2 * g", "k * g", "g + k * g", "-g", "g / 2", "k", "g * g", "0 * g", "k * k * g"), ("g",)
        ),
        *product(("g", "2 * g", "k * g", "g / 2", "g / k"), ("g / 2", "g / k", "2 * g")),
        *product(("1/2", "1", "3", "k", "2/3"), ("1/2", "1/3", "1", "2")),
    ],
)
def test_rounding_keeps_neighbours_where_the_step_divides_the_sensitivity(
    sensitivity: str, lattice: str
) -> None:
    """For all parameters: wherever answers are rounded to a step, their bound is a whole number of steps."""
    spec = mechanism(
        PROGRAM,
        inputs=f"""
            k : int where k >= 1
            g : real where g > 0
            q : queries, sensitivity {sensitivity}, lattice {lattice}
            eps : real where eps > 0
        """,
    )
    (item,) = (i for i in spec.inputs if isinstance(i, n.Queries))
    if reading_of(item, spec) is AnswerReading.ROUNDED:
        for k, g in product(K, G):
            scope = RunScope({"k": k, "g": g})
            assert item.sensitivity is not None
            assert item.lattice is not None
            bound, step = evaluate(item.sensitivity, scope), evaluate(item.lattice, scope)
            assert isinstance(bound, Fraction)
            assert isinstance(step, Fraction)
            assert (bound / step).denominator == 1


def test_a_sum_of_moves_is_never_rounded() -> None:
    """Each of many answers may move by a step, and the sum by as many."""
    spec = mechanism(PROGRAM, inputs="q : queries, sensitivity 1, adjacency l1\neps : real where eps > 0")
    (item,) = (i for i in spec.inputs if isinstance(i, n.Queries))
    assert reading_of(item, spec) is AnswerReading.EXACT


@pytest.mark.parametrize("text", ["1 + 2 * 3", "-(1/4)", "2/3/4", "1 - 1/3"])
def test_constants_are_computed(text: str) -> None:
    assert constant(expression(text)) == evaluate(expression(text), RunScope({}))


@pytest.mark.parametrize("text", ["x", "1/(2 - 2)", "x - x"])
def test_what_is_no_constant(text: str) -> None:
    assert constant(expression(text)) is None


def test_a_new_name_is_new() -> None:
    taken = frozenset({"x", "x_2", "x_3"})
    assert fresh("x", taken) not in taken
    assert fresh("y", taken) == "y"


@pytest.mark.parametrize(
    ("text", "rate"), [("1 - exp(-x)", 2.0), ("1 - exp(-(x/2))", 1.0), ("1 - exp(x)", -2.0)]
)
def test_a_rate_is_that_of_the_chance(text: str, rate: float) -> None:
    found = rate_of(expression(text))
    assert found is not None
    value = evaluate(found, RunScope({"x": Fraction(2)}))
    assert isinstance(value, Fraction)
    assert value == rate
    assert -math.expm1(-value) == pytest.approx(-math.expm1(-rate))


@pytest.mark.parametrize("text", ["1/2", "2 - exp(-x)", "exp(-x)", "1 + exp(-x)", "1 - ln(x)"])
def test_what_has_no_rate(text: str) -> None:
    assert rate_of(expression(text)) is None


def test_what_is_rounded_down_exactly() -> None:
    assert rounded_down(expression("floor(sqrt(x))")) == ("sqrt", expression("x"))
    for text in ("sqrt(x)", "floor(x)", "floor(exp(x))", "floor(1 + sqrt(x))"):
        assert rounded_down(expression(text)) is None


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("len(q) >= 2", True),
        ("k >= 1", True),
        ("q[0] >= 1", False),
        ("len(q) >= 2 or q[0] >= 1", False),
        ("max(q[j] for j in q) <= 1", False),
        ("max(j for j in q) <= 1", False),
        ("k <= len(q) + 1", True),
    ],
)
def test_which_clauses_speak_of_lengths_alone(text: str, public: bool) -> None:
    assert of_lengths(expression(text), {"q"}) is public


def test_clauses_about_values_are_dropped_and_no_others() -> None:
    spec = mechanism(
        PROGRAM,
        inputs="""
            q : queries, sensitivity 1 where len(q) >= 2 and q[i] >= 0
            eps : real where eps > 0
        """,
    )
    assert speaks_of_values(spec)
    bare = without_values(spec)
    assert not speaks_of_values(bare)
    assert [i.where is None for i in bare.inputs] == [True, False]
    assert "len(q) >= 2" in unparse(bare)


@pytest.mark.parametrize("value", ["eta * eta", "exp(eta)"])
def test_digits_that_nobody_drew_have_no_products(value: str) -> None:
    with pytest.raises(NoFormError):
        refuse_what_cannot_be_refined(mechanism(f"eta ~ Lap(1/eps)\nemit noisy({value})"), RunMode.REFINED)
    with pytest.raises(NoFormError):  # it has no steps on a lattice either
        refuse_what_cannot_be_refined(mechanism(f"eta ~ Uniform(1)\nemit noisy({value})"), RunMode.LATTICE)
    refuse_what_cannot_be_refined(mechanism(f"eta ~ Lap(1/eps)\nemit noisy({value})"), RunMode.LATTICE)
    refuse_what_cannot_be_refined(mechanism("eta ~ Lap(1/eps)\nemit noisy(2 * eta + q[0])"), RunMode.REFINED)


def test_noise_for_which_a_mode_has_no_sampler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mechanism("eta ~ Cauchy(1/eps)\nemit noisy(q[0] + eta)")
    for mode in (RunMode.REFINED, RunMode.FLOAT):
        refuse_noise_that_is_not_drawn(spec, mode)
    monkeypatch.delattr(RefinedNoise, "cauchys")
    with pytest.raises(NoFormError, match="`Cauchy` noise has no sampler"):
        refuse_noise_that_is_not_drawn(spec, RunMode.REFINED)
