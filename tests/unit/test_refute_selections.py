"""What selections and comparisons of noise mean, beside all small cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import pytest
from flint import fmpq

from aligncheck.language.families import Family
from aligncheck.refutation.parts import IntegralPart, components
from aligncheck.refutation.selections import differ, edges, first_of, reduced, selection_of, value_at
from aligncheck.refutation.states import condition
from aligncheck.refutation.symbolic import Affine, Known, NoiseLaw, Shaped

VALUES = (fmpq(0), fmpq(1, 2), fmpq(1))


def holds(difference: Any, strict: bool) -> bool:
    return bool(difference > 0 if strict else difference >= 0)


def truly(values: tuple[Any, ...], most: int | None, at_least: Any, strict: bool) -> tuple[int, ...]:
    """What `top` or `upto` gives: the greatest first, of equal ones the lower index."""
    eligible = [i for i, v in enumerate(values) if at_least is None or holds(v - at_least, strict)]
    return tuple(sorted(eligible, key=lambda i: (-values[i], i))[:most])


@pytest.mark.parametrize("values", list(product(VALUES, repeat=3)))
def test_a_selection_begins_with_entries_just_where_the_edges_hold(values: tuple[Any, ...]) -> None:
    found = list(enumerate(values))
    for most, bound, strict in product((1, 2), (None, fmpq(1, 2)), (False, True)):
        selection = selection_of(found, most, 1, bound, strict)
        right = truly(values, most, bound, strict)
        for count in range(most + 1):
            for entries in permutations(range(3), count):
                length = None if bound is None else count
                if bound is None and not entries:
                    continue
                said = all(holds(e.above - e.below, e.strict) for e in edges(selection, entries, length))
                assert said is (right[:count] == entries if bound is None else right == entries)


@pytest.mark.parametrize("values", list(product(VALUES, repeat=3)))
def test_the_least_is_the_greatest_of_the_negated(values: tuple[Any, ...]) -> None:
    selection = selection_of(list(enumerate(values)), 1, -1)
    first = first_of(selection)
    assert first.index == values.index(min(values))
    assert value_at(selection, first.index) == -min(values)
    assert differ(values[0], values[1]) is (values[0] != values[1])


@pytest.mark.parametrize("family", [Family.LAPLACE, Family.GEOMETRIC], ids=str)
def test_what_is_left_out_follows_from_what_stays(family: Family) -> None:
    """Whatever the noise, ties of lattice noise among it."""
    known = Known()
    known.noises += [NoiseLaw("eta", i, family, fmpq(1), None) for i in range(4)]
    selection = selection_of([(i, Affine({i: 1}, fmpq(0))) for i in range(4)], 3, 1)
    whole = [e for entries in ((2, 0, 3), (2, 0), (2,)) for e in edges(selection, entries, None)]
    kept = list(reduced(whole, known))
    assert len(kept) < len(whole)

    def all_hold(some: list[Any], noise: tuple[int, ...]) -> bool:
        return all(holds(_at(e.above, noise) - _at(e.below, noise), e.strict) for e in some)

    continuous = not family.discrete
    for noise in product(range(4), repeat=4):
        if not continuous or len(set(noise)) == 4:  # ties of continuous noise have probability 0
            assert all_hold(kept, noise) is all_hold(whole, noise)


def _at(value: Affine, noise: tuple[int, ...]) -> Any:
    return sum((c * noise[v] for v, c in value.coefficients.items()), value.constant)


SHAPES: list[tuple[str, Callable[[Fraction], Fraction], tuple[Fraction, ...]]] = [
    ("floor", lambda x: Fraction(math.floor(x)), tuple(Fraction(i, 2) for i in range(-4, 5))),
    ("square", lambda x: x * x, tuple(Fraction(i, 2) for i in range(5))),
    (
        "sqrt",
        lambda x: Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator)),
        (Fraction(0), Fraction(1, 4), Fraction(4)),
    ),
    ("inverse", lambda x: -1 / x, (Fraction(1, 2), Fraction(1), Fraction(3))),
]


@pytest.mark.parametrize(("name", "function", "points"), SHAPES, ids=[name for name, _, _ in SHAPES])
@pytest.mark.parametrize("scale", [2, -1])
def test_a_comparison_of_a_function_is_one_of_its_argument(
    name: str, function: Callable[[Fraction], Fraction], points: tuple[Fraction, ...], scale: int
) -> None:
    shaped = Shaped(name, Affine({0: 1}, fmpq(0)), fmpq(scale), fmpq(1))
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    limits = [1 + scale * b for b in (Fraction(-1), Fraction(0), Fraction(1, 4), Fraction(1), Fraction(9, 4))]
    for (op, test), limit, x in product(tests.items(), limits, points):
        said = condition(shaped, op, fmpq(limit.numerator, limit.denominator))
        if not isinstance(said, bool):
            form, sign = said
            at = form.constant + sum(c * fmpq(x.numerator, x.denominator) for c in form.coefficients.values())
            said = tests[sign](at, 0)
        assert said is test(1 + scale * function(x), limit), (op, limit, x)


def test_what_shares_no_variable_is_apart() -> None:
    density: Any = object()
    forms: Any = {((0, 1), (2, -1)): (None, 0), ((3, 1),): (0, None)}
    parts = list(components(IntegralPart(dict.fromkeys(range(4), density), forms)))
    assert sorted(sorted(part.densities) for part in parts) == [[0, 2], [1], [3]]
    assert sorted(len(part.restricted) for part in parts) == [0, 1, 1]
