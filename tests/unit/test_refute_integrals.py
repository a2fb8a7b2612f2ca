"""Integrals that certify, beside volumes, counts and densities that are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import sympy
from flint import fmpq
from small_specs import mechanism

from aligncheck.meaning.interpreter import Input
from aligncheck.refutation import integration
from aligncheck.refutation.cells import Cells
from aligncheck.refutation.cuts import profiles
from aligncheck.refutation.events import Between, CompleteOutput, RecordPattern
from aligncheck.refutation.execution import Execution
from aligncheck.refutation.piecewise import Calculus, indicator
from aligncheck.refutation.ratio import closed_form

Form = dict[int, int]


def nothing() -> None:
    """No limit."""


def integral(size: int, forms: list[tuple[Form, Any, Any]], continuous: bool) -> Any:
    """Of 1 over where each form lies between its ends."""
    cells = Cells(Calculus(), size, continuous, nothing)
    return cells.integral([(form, indicator(low, high, continuous)) for form, low, high in forms])


def positive(size: int) -> list[tuple[Form, Any, Any]]:
    return [({i: 1}, fmpq(0), None) for i in range(size)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_volume_of_a_simplex(size: int) -> None:
    total = dict.fromkeys(range(size), 1)
    volume = integral(size, [*positive(size), (total, None, fmpq(1))], True)
    assert volume.contains(fmpq(1, math.factorial(size)))
    assert volume.rad() < 1e-12


@pytest.mark.parametrize(
    ("forms", "inside"),
    [
        ([({0: 1}, 0, 3), ({1: 1}, 0, 4), ({0: 1, 1: -1}, 0, None)], lambda x, y: x >= y),
        ([({0: 1}, 0, 3), ({1: 1}, 0, 4), ({0: 1, 1: 1}, 2, 5)], lambda x, y: 2 <= x + y <= 5),
        ([({0: 1}, 0, 3), ({1: 1}, 0, 4), ({0: 1, 1: -1}, -1, 1)], lambda x, y: abs(x - y) <= 1),
    ],
)
def test_sums_over_whole_numbers_count_points(
    forms: list[tuple[Form, Any, Any]], inside: Callable[[int, int], bool]
) -> None:
    exact = [(f, fmpq(low), None if high is None else fmpq(high)) for f, low, high in forms]
    count = sum(inside(x, y) for x, y in product(range(4), range(5)))
    assert integral(2, exact, False).contains(count)


INPUTS: dict[str, Any] = {"q": (Fraction(3),), "k": Fraction(1), "eps": Fraction(1)}


@pytest.mark.parametrize(
    ("program", "log_density", "kinks"),
    [
        ("x ~ Lap(2)\nemit a(q[0] + x)", lambda v: -abs(v - 3) / 2 - math.log(4), {3}),
        ("x ~ Lap(2)\nemit a(2*x - q[0])", lambda v: -abs(v + 3) / 4 - math.log(8), {-3}),
        ("x ~ Exp(2)\nemit a(q[0] + x)", lambda v: -(v - 3) / 2 - math.log(2) if v > 3 else -math.inf, {3}),
    ],
)
def test_the_density_of_a_released_number(
    program: str, log_density: Callable[[float], float], kinks: set[int]
) -> None:
    spec = mechanism(program)
    shape = CompleteOutput((RecordPattern("a", ()),))
    (profile,) = profiles(spec, INPUTS, shape, nothing).values()
    assert set(profile.points) == kinks
    assert profile.known
    assert not profile.atoms
    for v in (-4.5, 0.0, 2.5, 3.5, 10.0):
        assert profile.log_density(Fraction(v)) == pytest.approx(log_density(v))


@pytest.mark.parametrize(
    ("program", "low", "expected"),
    [
        ("x ~ Lap(1/eps)\nemit a(x)", 1, "exp(-eps)/2"),
        ("x ~ Exp(2/eps)\nemit a(x)", 3, "exp(-3*eps/2)"),
        ("x ~ Exp(1/eps)\ny ~ Exp(1/eps)\nemit a(x - y)", 2, "exp(-2*eps)/2"),
    ],
)
def test_a_probability_as_a_function_of_eps(program: str, low: int, expected: str) -> None:
    event = CompleteOutput((RecordPattern("a", (("value", Between(Fraction(low), None)),)),))
    found = closed_form(mechanism(program), INPUTS, event)
    assert found is not None
    eps = next(iter(found.free_symbols))
    assert sympy.simplify(found - sympy.sympify(expected).subs(sympy.Symbol("eps"), eps)) == 0


def test_tables_of_a_question_that_was_broken_off_are_not_used_again() -> None:
    inputs: dict[str, Input] = {"q": (Fraction(0), Fraction(1)), "k": Fraction(1), "eps": Fraction(1)}
    event = CompleteOutput((RecordPattern("x", (("v", Between(Fraction(1), None)),)),))
    program = mechanism("eta ~ Lap(1/eps)\nnu ~ Lap(2/eps)\nemit x(v = max(eta, nu))")
    ways = list(Execution(program, inputs, event, nothing).ways())

    def broken_off() -> None:
        raise KeyboardInterrupt

    whole = integration.enclosed(ways, 64, nothing)
    assert 64 in integration._KEPT
    with pytest.raises(KeyboardInterrupt):
        integration.enclosed(ways, 64, broken_off)
    assert 64 not in integration._KEPT
    assert integration.enclosed(ways, 64, nothing) == whole
