"""Values of inputs that the declarations allow, and the numbers that a program compares with."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest
from small_specs import spec

from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.choices import Ground, allowed, constants_of

F = Fraction


def choices(
    declared: str, lengths: Mapping[str, int], fixed: Mapping[str, object]
) -> list[dict[str, Ground]]:
    return list(allowed(parse(spec("emit done", "", declared)), lengths, fixed))


@pytest.mark.parametrize(
    ("declared", "plainest"),
    [
        ("k : int where k >= 1", {"k": 1}),
        ("k : int where k != 1", {"k": 0}),
        ("k : int where k >= 1000", {"k": 1000}),
        ("e : real where 0 < e < 1", {"e": F(1, 2)}),
        ("e : real where 0 < e < 1/3", {"e": F(1, 4)}),
        ("e : real where 3*e == 1", {"e": F(1, 3)}),
        ("k : int where k > 1\nn : int where n > k", {"k": 2, "n": 3}),
        ("n : int where n < k\nk : int where k > 1", {"n": 1, "k": 2}),
        ("b : bool\nk : int where not b and k > 2", {"b": False, "k": 3}),
        ("x : query, range [3, 5], lattice 2, sensitivity 9", {"x": 4}),
        ("x : query, lattice e, sensitivity 9, range [2, 2]\ne : real where e > 1", {"x": 2, "e": 2}),
        ("v : int vector where i < v[i] and v[i] < i + 4", {"v": 3}),
        ("v : vector where len(v) == 3 and v[i] == len(v)", {"v": 3}),
        ("v : vector where max(v[i], 4) == abs(v[i]) and min(v[i], 0) == v[i]", {"v": -4}),
        ("e : real where exp(e) > 9", {"e": 1}),  # not put to the solver: whoever uses it checks it
        ("e : real where 0 < e < 0", None),
        ("e : real where e*e == 2", None),
    ],
)
def test_the_plainest_values_come_first(declared: str, plainest: dict[str, object] | None) -> None:
    """1, 0, 2 or -1 where it may be; else a small number, with a small denominator. Of a list of three
    entries all are alike.
    """
    assert next(iter(choices(declared, {"v": 3}, {})), None) == plainest


def test_one_public_number_is_another_one_then() -> None:
    """Three others at most, each once, all of them allowed; what is fixed stays."""
    declared = "k : int where 1 <= k <= 3\nn : int where n >= k\nq : query, sensitivity 1"
    first, *others = choices(declared, {}, {"k": F(2)})
    assert (first["k"], first["n"]) == (2, 2)
    assert [other["k"] for other in others] == [2, 2, 2]
    assert len({other["n"] for other in (first, *others)}) == 4
    assert all(F(other["n"]) >= 2 for other in others)
    assert sorted({found["k"] for found in choices(declared, {}, {"n": F(9)})}) == [1, 2, 3]
    assert choices(declared, {}, {"n": F(0)}) == []


@pytest.mark.parametrize(
    ("program", "numbers"),
    [
        ("emit done(v = 7)", []),
        ("if q[0] > 7: emit done", [7]),
        ("if -3 < q[0]: emit done", [-3, 3]),
        ("if q[0] > 2*5 + 1/4 or q[0] < 5: emit done", [2, 5, 1, 4]),
        ("s = 1 if q[0] >= 0 else 9\nemit done", []),
        ("for i, x in q:\n  while x > 8:\n    x2 = 4", [8]),
    ],
)
def test_the_numbers_that_a_program_compares_with(program: str, numbers: list[int]) -> None:
    """Each once, in the order of the text; 0 is tried anyway."""
    assert list(constants_of(parse(spec(program)))) == numbers
