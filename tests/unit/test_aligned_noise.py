"""The aligned noise of one pair of runs, exactly: values, costs, what reads what, and what calls get."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from small_specs import spec

from aligncheck.language.conditions import Condition
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning import exact
from aligncheck.meaning.alignment import Alignment, run_on_d, same_input
from aligncheck.meaning.exact import Number
from aligncheck.meaning.interpreter import NoiseKey
from aligncheck.meaning.scenario import Scenario

F = Fraction
A, B = ("a", None), ("b", None)
INPUTS = "q : queries, sensitivity 9\nk : int where k >= 1"
TWO = "a ~ Lap(1)\nb ~ Lap(2)\nemit done(v = a)"


def of_runs(
    program: str,
    align: str,
    noise: dict[NoiseKey, int],
    q: tuple[int, ...] = (0,),
    other: tuple[int, ...] = (0,),
) -> Alignment:
    """The alignment after the run on D'."""
    mechanism = parse(spec(program, align, INPUTS, "9"))
    data, data_prime = ((("q", tuple(map(F, answers))),) for answers in (q, other))
    drawn = tuple((key, F(value)) for key, value in noise.items())
    scenario = Scenario((("k", F(2)),), data, data_prime, drawn)
    run, machine = run_on_d(mechanism, scenario, 1_000)
    alignment = Alignment(mechanism, scenario, run, machine, 1_000)
    alignment.run()
    return alignment


@pytest.mark.parametrize(
    ("lines", "shifts", "costs"),
    [
        ("a += 1", (1, 0), (1, 0)),
        ("b -= 3", (0, -3), (0, F(3, 2))),
        ("a += 1\na -= 3 when k > 1\na += 9 when k > 2", (-2, 0), (2, 0)),
        ("case k > 2:\n  a += 1\ncase k > 1:\n  a += 2\notherwise:\n  a += 3", (2, 0), (2, 0)),
        ("b += a' - a\na += 5", (5, 5), (5, F(5, 2))),
        ("a += b' - b\nb += 1", (1, 1), (1, F(1, 2))),
        ("a += 2 when b < 0", (2, 0), (2, 0)),
        ("a += 2 when b' < 0\nb += 9", (0, 9), (0, F(9, 2))),
        ("a += out[0].v", (3, 0), (3, 0)),
        ("a = a + 1", (1, 0), (1, 0)),
        ("a = 1 - b + a", (5, 0), (5, 0)),
        ("a = b\nb = a", (-7, 7), (1, F(-1, 2))),
    ],
)
def test_shifts_and_costs(lines: str, shifts: tuple[int, ...], costs: tuple[int | Fraction, ...]) -> None:
    """Lines that hold add up; a new value is counted from the old one; of a case split the first case that
    holds is used. Where draws change places their densities are compared, else a move costs its size.
    """
    alignment = of_runs(TWO, lines, {A: 3, B: -4})
    assert tuple(alignment.shifts[key] for key in (A, B)) == shifts
    assert tuple(alignment.cost_of(key) for key in (A, B)) == costs


@pytest.mark.parametrize(
    ("noise", "line", "value", "cost"),
    [
        ("Lap(1)", "z = z/2", 4, exact.add(F(-2), exact.ln(F(2)))),
        ("Lap(1)", "z = 2*z", 4, exact.add(F(4), exact.ln(F(1, 2)))),
        ("Lap(1)", "z = z/2 + 3", 4, exact.add(F(1), exact.ln(F(2)))),
        ("DExp(1/2, 1)", "z += 2", 4, F(4)),
        ("Geo(1 - exp(-3))", "z += 2", 4, F(6)),
        ("Staircase(3, 1, 1/2)", "z += 1/2", 4, F(3)),
        ("Staircase(3, 1, 1/2)", "z += 0", 4, F(0)),
        ("Bernoulli(1/4)", "z = 1 - z", 1, exact.ln(F(1, 3))),
        ("Bernoulli(1/4)", "z = 1 - z", 0, exact.ln(F(3))),
        ("Bernoulli(1/4 + q[0]/2)", "z += 0", 1, exact.ln(F(1, 3))),
        ("Bernoulli(1/4 + q[0]/2)", "z += 0", 0, exact.ln(F(3))),
        ("Bernoulli(1/4 + q[0]/2)", "z = 1 - z", 0, F(0)),
        ("Bernoulli(1/4)", "z += 9", 0, F(0)),
    ],
)
def test_what_a_draw_costs_is_the_logarithm_of_a_quotient(
    noise: str, line: str, value: int, cost: Number
) -> None:
    """Of densities, with the Jacobian where the draw is divided; of chances, which may differ on D'."""
    alignment = of_runs(f"z ~ {noise}\nemit done", line, {("z", None): value}, (0,), (1,))
    assert exact.same(alignment.cost_of(("z", None)), cost)


@pytest.mark.parametrize(
    ("lines", "around"),
    [
        ("a += 1 when b > 0\nb += 1 when a > 0", {A, B}),
        ("a += 1 when a > 0", {A}),
        ("b += 1 when s > 0\na += 1 when b > 0", {A, B}),  # s is the a that was drawn
        ("b += 1 when s > 0\na += 1 when k > 0 or b > 0", set()),
        ("a = a*b\nb += 1 when a > 0", {A, B}),
        ("a = b\nb = a", {A, B}),
        ("a = a + b", set()),
        ("a = b + a\nb += a' - a", {A, B}),
    ],
)
def test_a_cycle_is_told_by_what_each_shift_read(lines: str, around: set[NoiseKey]) -> None:
    """On this run: a test that was not come to reads nothing. A draw that a line adds to is not read."""
    assert set(of_runs("a ~ Lap(1)\ns = a\nb ~ Lap(1)\nemit done", lines, {A: 1, B: 1}).cycle()) == around


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("a += 9 when b > 0\nb += 1 when a > 0", True),  # nothing is renewed: each move costs its size
        ("a = b\nb = a", True),
        ("a = b + 1\nb = a - 1", True),
        ("a = b + a/2\nb = a", False),
        ("a = b*b\nb = a", False),
        ("a = a/2", True),
        ("a = b'\nb = a", False),
        ("a = b + 1\nb += 1", False),
        ("a = a/2\na += 1 when k > 0", True),
        ("a = a/2\na += a", False),
        ("a = a/2\na = a/3", False),
        ("a = a/2 + b\nb += a' when b > 0", False),
    ],
)
def test_the_jacobian_is_a_product_where_lines_are_plain(lines: str, told: bool) -> None:
    """One factor for each draw: else what the lines cost says nothing against them."""
    assert of_runs(TWO, lines, {A: 1, B: 1}).cost_is_told is told


def test_a_selection_that_needs_the_aligned_noise_is_that_of_d() -> None:
    """Unless the run on D' selects something else with this noise: then it has no order."""
    program = """
        for i, x in q:
          eta[i] ~ Lap(1)
        w = argmax(q[i] + eta[i] for i in q)
        best = max(q[i] + eta[i] for i in q where i != w)
        emit chosen(w)
    """
    noise: dict[NoiseKey, int] = {("eta", 0): 5}
    for more, unsettled in (("0", []), ("9", [Condition.ACYCLIC])):
        lines = f"eta[i] += q[i] - q'[i] + best' - best - {more} when i == w"
        alignment = of_runs(program, lines, noise, (0, 0), (0, 2))
        assert alignment.shifts[("eta", 0)] == 2 - F(more)
        assert [broken.condition for broken in alignment.unsettled()] == unsettled


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (F(1), F(1), True),
        (F(1), F(2), False),
        (True, F(1), False),
        ((F(1), F(2)), (F(1), F(2)), True),
        ((F(1),), (F(1), F(2)), False),
        ((F(1),), F(1), False),
    ],
)
def test_inputs_are_the_same_as_wholes(one: Any, other: Any, same: bool) -> None:
    assert same_input(one, other) is same
