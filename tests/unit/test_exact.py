"""Exact numbers: identities that rounding would get wrong, and limits instead of hangs."""

from __future__ import annotations

import random
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
import sympy

from aligncheck.meaning import exact
from aligncheck.meaning.exact import Irrational, Undecided, Undefined

F = Fraction


def test_rational_arithmetic_loads_no_heavy_library() -> None:
    program = (
        "import sys; from fractions import Fraction as F; from aligncheck.meaning import exact as e, replay; "
        "e.floor(e.divide(e.multiply(F(2), e.sqrt(F(2))), e.add(F(1), e.sqrt(F(8))))); "
        "e.log2(F(1, 8)); e.exp(F(0)); e.modulo(F(7), F(2)); e.power(F(2), F(10)); "
        "print([m for m in ('sympy', 'flint', 'z3', 'lark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_perfect_squares_and_powers_of_two_stay_rational() -> None:
    assert exact.sqrt(F(9, 4)) == F(3, 2)
    assert exact.log2(F(8)) == 3
    assert exact.log2(F(1, 4)) == -2
    assert isinstance(exact.log2(F(6)), Irrational)


def test_numbers_with_one_root_are_those_of_sympy() -> None:
    """Sums, products, quotients, signs and integer parts beside the same in SymPy's expressions."""
    chance = random.Random(1)
    values: list[exact.Number] = [
        exact.add(F(chance.randint(-9, 9), 4), exact.multiply(F(p, 3), exact.sqrt(F(c, 5))))
        for p, c in ((1, 10), (-2, 10), (5, 40), (-7, 3), (1, 27), (4, 1))
    ]
    for a in values:
        for b in values:
            for made, same in (
                (exact.add(a, b), sympify(a) + sympify(b)),
                (exact.multiply(a, b), sympify(a) * sympify(b)),
                (exact.divide(a, b), sympify(a) / sympify(b)),
            ):
                assert sympy.N(sympify(made) - same, 30) == pytest.approx(0, abs=1e-25)
                assert exact.sign(made) == sympy.sign(same.evalf(30))
                assert exact.floor(made) == sympy.floor(same.evalf(30))


def sympify(a: exact.Number) -> Any:
    return a.expr if isinstance(a, Irrational) else sympy.Rational(a.numerator, a.denominator)


def test_an_exponential_and_its_logarithm_cancel() -> None:
    success = exact.subtract(F(1), exact.exp(F(-1, 2)))
    assert exact.ln(exact.subtract(F(1), success)) == F(-1, 2)


def test_equal_algebraic_numbers_are_found_equal() -> None:
    root = exact.sqrt(F(2))
    nested = exact.sqrt(exact.add(F(3), exact.multiply(F(2), root)))
    assert exact.compare(nested, exact.add(F(1), root)) == 0
    assert exact.power(root, F(2)) == 2


def test_the_odds_of_a_coin_have_the_logarithm_of_which_it_was_made() -> None:
    for eps in (F(1, 2), F(1), F(4)):
        chance = exact.divide(exact.exp(eps), exact.add(exact.exp(eps), F(1)))
        odds = exact.divide(exact.subtract(F(1), chance), chance)
        assert exact.compare(exact.ln(odds), -eps) == 0


def test_equal_logarithms_are_found_equal() -> None:
    assert exact.compare(exact.add(exact.ln(F(2)), exact.ln(F(3))), exact.ln(F(6))) == 0
    assert exact.floor(exact.divide(exact.ln(F(8)), exact.ln(F(2)))) == 3


def test_numbers_that_agree_to_seventeen_decimals_are_told_apart() -> None:
    convergent = F(1855077841, 1311738121)  # of the continued fraction of sqrt(2)
    assert float(convergent) == 2**0.5
    assert exact.compare(exact.sqrt(F(2)), convergent) == 1


@pytest.mark.parametrize(
    ("dividend", "divisor", "expected"),
    [(7, 2, 1), (-7, 2, 1), (7, -2, -1), (-7, -2, -1), (F(5, 2), F(3, 4), F(1, 4))],
)
def test_the_remainder_has_the_sign_of_the_divisor(dividend: int, divisor: int, expected: int) -> None:
    assert exact.modulo(F(dividend), F(divisor)) == expected


def test_floor_of_irrational_numbers() -> None:
    assert exact.floor(exact.sqrt(F(2))) == 1
    assert exact.floor(exact.negative(exact.sqrt(F(2)))) == -2
    assert exact.modulo(exact.sqrt(F(10)), F(2)) == exact.subtract(exact.sqrt(F(10)), F(2))


@pytest.mark.parametrize(
    "undefined",
    [
        lambda: exact.divide(F(1), F(0)),
        lambda: exact.divide(F(1), exact.subtract(exact.sqrt(F(2)), exact.sqrt(F(2)))),
        lambda: exact.modulo(F(1), F(0)),
        lambda: exact.power(F(0), F(-1)),
        lambda: exact.power(F(2), F(1, 2)),
        lambda: exact.sqrt(F(-1)),
        lambda: exact.ln(F(0)),
        lambda: exact.log2(F(-1)),
    ],
)
def test_partial_operations_say_so(undefined: object) -> None:
    assert callable(undefined)
    with pytest.raises(Undefined):
        undefined()


def test_numbers_that_would_hang_are_refused() -> None:
    nine = F(9)
    with pytest.raises(Undecided):
        exact.power(nine, exact.power(nine, nine))
    big = F(3) ** 60_000
    with pytest.raises(Undecided):
        exact.multiply(big, big)
    tower: exact.Number = nine
    for _ in range(4):
        tower = exact.exp(tower)
    with pytest.raises(Undecided):
        exact.sign(exact.subtract(tower, F(1)))


def test_truth_values_never_equal_numbers() -> None:
    assert not exact.same(True, F(1))
    assert not exact.same(F(0), False)
    assert exact.same(True, True)


def test_lattice_membership_is_exact() -> None:
    root = exact.sqrt(F(2))
    assert exact.is_multiple(exact.multiply(F(3), root), root)
    assert not exact.is_multiple(F(3), root)
    assert exact.is_multiple(F(3, 4), F(1, 4))
    assert not exact.is_multiple(F(3, 8), F(1, 4))


def test_irrational_numbers_print_in_the_words_of_the_language() -> None:
    assert str(exact.multiply(F(16), exact.sqrt(F(2)))) == "16*sqrt(2)"
    assert str(exact.ln(F(3))) == "ln(3)"
