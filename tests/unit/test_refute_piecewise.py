"""Piecewise exponential polynomials, continuous and on the integers, against sums and integrals by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from flint import arb, fmpq

from aligncheck.refutation.elimination import on_integers, scaled
from aligncheck.refutation.irrationals import apply, simple
from aligncheck.refutation.piecewise import Calculus, Diverges, Piece, Piecewise, indicator, merged, shifted

K = Calculus()


def laplace(rate: Any, continuous: bool = True) -> Piecewise:
    """Its density (masses), kink at 0."""
    up, down = K.rate(rate), K.rate(-rate)
    fall = K.exp(down, fmpq(1))
    height = K.number(rate / 2) if continuous else (1 - fall) / (1 + fall)
    zero: Any = fmpq(0) if continuous else 0
    sides = tuple(Piece(zero, {(side, 0): height}) for side in (up, down))
    return Piecewise((zero,), sides, continuous)


def value(function: Piecewise, x: Any) -> float:
    """The function at a point beside its cuts."""
    piece = function.pieces[sum(cut <= x for cut in function.cuts)]
    return 0.0 if piece is None else float(arb(1) * K.at(piece.terms, x - piece.anchor))


def mass(rate: float, k: int) -> float:
    return math.exp(-rate * abs(k)) * (1 - math.exp(-rate)) / (1 + math.exp(-rate))


def test_a_rate_that_was_broken_off_changes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_off(value: Any) -> Any:
        raise KeyboardInterrupt

    calculus, root = Calculus(), apply("sqrt", fmpq(2))
    for place in ("to_ball", "sign"):
        with monkeypatch.context() as patch:
            patch.setattr(f"aligncheck.refutation.piecewise.{place}", broken_off)
            with pytest.raises(KeyboardInterrupt):
                calculus.rate(fmpq(5))
    rate = calculus.rate(-root)
    assert calculus.value(rate) == -root
    assert calculus.sign(rate) == -1
    assert float(calculus.exp(rate, fmpq(1))) == pytest.approx(math.exp(-math.sqrt(2)))


@pytest.mark.parametrize("continuous", [True, False])
def test_densities_have_total_one(continuous: bool) -> None:
    assert K.total(laplace(fmpq(2, 3), continuous)).contains(1)


@pytest.mark.parametrize("ends", [(None, fmpq(1)), (fmpq(-2), None), (fmpq(-1), fmpq(3, 2))])
def test_windows_are_integrals_from_end_to_end(ends: tuple[Any, Any]) -> None:
    def below(x: float) -> float:
        return math.exp(x / 2) / 2 if x < 0 else 1 - math.exp(-x / 2) / 2

    low, high = ends
    window = K.window(laplace(fmpq(1, 2)), low, high)
    for t in (fmpq(-7, 3), fmpq(-1, 4), fmpq(1, 3), fmpq(5)):
        upper = 1.0 if high is None else below(float(t + high))
        lower = 0.0 if low is None else below(float(t + low))
        assert value(window, t) == pytest.approx(upper - lower, abs=1e-14)


def test_windows_on_integers_are_sums() -> None:
    window = K.window(laplace(fmpq(1, 2), continuous=False), -1, 3)
    for t in range(-5, 6):
        assert value(window, t) == pytest.approx(sum(mass(0.5, t + k) for k in (-1, 0, 1, 2)), abs=1e-14)


def test_a_window_that_is_narrow_and_far_out_keeps_its_digits() -> None:
    window = K.window(laplace(fmpq(1)), fmpq(0), fmpq(1, 1000))
    assert value(window, fmpq(60)) == pytest.approx(math.exp(-60) * -math.expm1(-0.001) / 2, rel=1e-12)


def test_sweeping_gives_the_density_of_a_sum() -> None:
    """Of two Laplace variables with the scale 1: (1 + |v|) exp(-|v|) / 4."""
    density = laplace(fmpq(1))
    # The integral over u of f(u) f(v - u): the second factor is a function of u - v, f being even.
    found = K.swept([(0, density), (1, density)])
    for v in (fmpq(-3), fmpq(-1, 7), fmpq(2)):
        x = abs(float(v))
        assert value(found, v) == pytest.approx((1 + x) * math.exp(-x) / 4, abs=1e-14)
    assert K.total(found).contains(1)


def test_sweeping_on_integers_gives_the_masses_of_a_sum() -> None:
    found = K.swept([(0, laplace(fmpq(1), continuous=False)), (1, laplace(fmpq(1, 3), continuous=False))])
    for v in (-4, 0, 1, 3):
        expected = sum(mass(1, k) * mass(1 / 3, v - k) for k in range(-80, 80))
        assert value(found, v) == pytest.approx(expected, abs=1e-12)


def test_sweeping_three_directions() -> None:
    """An interval of u, cut by u - v and u + v: the length of what is left."""
    bands = [
        (0, indicator(fmpq(-1), fmpq(1))),
        (1, indicator(fmpq(-1), None)),
        (-1, indicator(None, fmpq(1, 2))),
    ]
    found = K.swept(bands)
    for v in (fmpq(-3), fmpq(-1, 3), fmpq(1, 5), fmpq(2, 3), fmpq(9, 10)):
        low, high = max(-1.0, float(v) - 1), min(1.0, 0.5 - float(v))
        assert value(found, v) == pytest.approx(max(high - low, 0), abs=1e-14)


def test_products_of_many_factors() -> None:
    factors = [shifted(K.window(laplace(fmpq(n, 4)), None, fmpq(0)), fmpq(-n, 2)) for n in range(1, 6)]
    product = K.product(factors)
    for x in (fmpq(-1), fmpq(1, 3), fmpq(7, 5), fmpq(9)):
        assert value(product, x) == pytest.approx(math.prod(value(f, x) for f in factors), rel=1e-13)


def test_stretching_turns_around() -> None:
    function = K.product([laplace(fmpq(1)), indicator(fmpq(-1), fmpq(2))])
    turned = K.stretched(function, fmpq(-2))
    assert value(turned, fmpq(-3, 4)) == pytest.approx(value(function, fmpq(3, 2)))
    assert value(turned, fmpq(-5, 4)) == 0
    whole = K.stretched(indicator(-1, 2, continuous=False), -1)
    assert [value(whole, x) for x in range(-3, 3)] == [0, 1, 1, 1, 1, 0]


def test_an_integral_that_does_not_exist_is_told() -> None:
    with pytest.raises(Diverges):
        K.total(indicator(fmpq(0), None))


def test_continuous_functions_on_integers() -> None:
    restricted = on_integers(indicator(fmpq(1, 2), fmpq(5, 2)))
    assert [value(restricted, x) for x in range(4)] == [0, 1, 1, 0]


def test_cuts_are_told_apart_exactly() -> None:
    root = apply("sqrt", fmpq(2))
    assert len(merged([(root, fmpq(1)), (root + 0, apply("sqrt", fmpq(8)) / fmpq(2), fmpq(1))])) == 2
    close = root + fmpq(1, 10**60)
    assert len(merged([(root, close)])) == 2


def test_canonical_forms() -> None:
    real, whole = (lambda _: False), (lambda _: True)
    assert scaled({3: -2, 1: 4}, real) == (((1, 1), (3, simple(fmpq(-1, 2)))), fmpq(1, 4))
    assert scaled({1: fmpq(-1, 2), 2: fmpq(3, 4)}, whole) == (((1, 2), (2, -3)), -4)
