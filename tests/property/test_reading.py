"""How answers are read: neighbours by the numbers as they are read are neighbours in what a run gets.

The judge is `check_scenario`, which knows nothing of reading: it is asked about the numbers as read, under
the bare adjacency, and about what the mechanism got, under everything that its spec declares.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import compiled

from aligncheck.compiler.forms import NoFormError, form_of
from aligncheck.compiler.forms.lattice import AnswerReading, reading_of
from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.interpreter import RunScope
from aligncheck.meaning.interpreter import number_of as value_of
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.runtime.decimals import LARGEST, as_read, step_below
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise
from aligncheck.runtime.rounding import steps_below

F = Fraction
PAIRS = [(0.7, 0.8), (0.3, 0.4), (1099511627775.037, 1099511627776.037)]
MOVES = [F(1), F(1, 10), F(13, 64), F(1, 3), F(1000), F(10**290)]
FINER = [F(1), F(1, 2), F(1, 1024), F(1, 100), F(1, 7), F(1, 3 * 2**40)]
SIZES = st.integers(-320, 300).map(lambda e: float(f"1e{e}"))
FLOATS = st.one_of(
    st.builds(lambda m, size: m * size, st.floats(-10, 10), SIZES),
    st.integers(-(10**7), 10**7).map(lambda n: n / 10),
    st.integers(-(2**60), 2**60).map(lambda n: n / 1024),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(FLOATS, st.sampled_from(MOVES), st.sampled_from(FINER), st.floats(-1, 1), st.integers(-2, 2))
def test_steps_differ_by_no_more_than_numbers_do(
    x: float, delta: Fraction, finer: Fraction, share: float, ulps: int
) -> None:
    """At all sizes, one by one, in lists, and in arrays."""
    moved = as_read(x) + delta * F(share)
    y = float(max(F(-LARGEST), min(moved, F(LARGEST))))
    for _ in range(abs(ulps)):
        y = math.nextafter(y, math.copysign(math.inf, ulps))
    if math.isinf(y) or abs(as_read(x) - as_read(y)) > delta:
        y = x
    judge(x, y, delta, delta * finer)


@pytest.mark.parametrize(("x", "y"), PAIRS)
@pytest.mark.parametrize("finer", FINER)
def test_pairs_that_binary_fractions_part(x: float, y: float, finer: Fraction) -> None:
    delta = as_read(y) - as_read(x)
    assert delta in (1, F(1, 10))
    assert abs(F(y) - F(x)) > delta or F(y) - F(x) == 1
    judge(x, y, delta, delta * finer)


def judge(x: float, y: float, delta: Fraction, gamma: Fraction) -> None:
    exact = [math.floor(as_read(v) / gamma) for v in (x, y)]
    assert abs(exact[0] - exact[1]) <= delta / gamma
    pair = [x, y]
    # 2^30 keeps the fast way of arrays busy where it can be taken at all.
    for form in (pair, np.array(pair), np.array([*pair, 2.0**30, 0.1]), [*pair, 7]):
        assert steps_below(form, gamma).tolist()[:2] == exact
    assert [step_below(v, gamma) for v in pair] == exact
    assert [n.answer(v) for n in (LatticeNoise(gamma), RefinedNoise(gamma)) for v in pair] == [
        s * gamma for s in (*exact, *exact)
    ]
    assert list(RefinedNoise(gamma).answers(np.array(pair), exact=True)) == [as_read(v) for v in pair]


PROGRAM = """
mechanism given
input
  D : real where D > 0
  m : int where m >= 1
  b : int vector where b[i] >= 1 and len(b) == 3
  q : {}
  eps : real where eps > 0
privacy eps
program
  for i, x in q:
    emit got(x)
"""
PARAMETERS: dict[str, Any] = {"D": F(3, 10), "m": 2, "b": (1, 2, 3), "eps": 1}


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_a_mechanism_takes_these_pairs_for_neighbours(x: float, y: float, mode: RunMode) -> None:
    """With its default step: in lists, arrays, columns and streams; read exactly, where it does not round."""
    delta = as_read(y) - as_read(x)
    for adjacency in ("one", "l1") if mode is RunMode.REFINED else ("one",):
        source = Source("given.dp", PROGRAM.format(f"queries, sensitivity {delta}, adjacency {adjacency}"))
        made: Any = compiled(check(source, parse(source)), mode)
        streamed = [next(made(**PARAMETERS).stream(iter([v]))).value for v in (x, y)]
        assert 0 <= streamed[1] - streamed[0] <= delta
        for form in (list, np.array, pd.Series, lambda v: np.array([*v, 0.5], dtype=object)[:1]):
            assert [made(**PARAMETERS)(form([v])).records[0].value for v in (x, y)] == streamed


DECLARED = [
    "queries, sensitivity D",
    "queries, sensitivity D, range [-2*D, 5/2]",
    "queries, sensitivity b[i], adjacency one",
    "queries, sensitivity 2, adjacency monotone, range [-1/3, 10]",
    "queries, sensitivity 1, adjacency moved",
    "queries, sensitivity 3/2, adjacency l1",
    "queries, sensitivity 3/2, adjacency l1, range [-1/3, 10]",
    "queries, adjacency any, range [-1/3, 5/2]",
    "queries, lattice D, sensitivity m*D",
    "queries, lattice D, sensitivity m*D, adjacency moved, range [-1, 1]",
    "queries, lattice 1/4, adjacency any, range [-1/3, 1]",
    "int queries, sensitivity b[i]",
    "int queries, sensitivity 2, adjacency moved, range [-5/2, 5/2]",
    "int queries, lattice 2, sensitivity 4, adjacency monotone",
    "int queries, adjacency any, range [-1, 5/2]",
    "int queries, sensitivity 3/2",
    "int queries, sensitivity 2, adjacency l1, range [-5/2, 5/2]",
    "int queries, sensitivity 5*D, adjacency one",
]
L1 = nodes.Adjacency.L1


@pytest.mark.parametrize("mode", [RunMode.LATTICE, RunMode.REFINED])
@pytest.mark.parametrize("declared", DECLARED)
def test_neighbours_stay_neighbours(declared: str, mode: RunMode) -> None:
    source = Source("given.dp", PROGRAM.format(declared))
    own = check(source, parse(source))
    (queries,) = (item for item in own.inputs if isinstance(item, nodes.Queries))
    bare = replace(queries, sort=nodes.Sort.REAL, lattice=None, range=None)
    as_numbers = replace(own, inputs=tuple(bare if i is queries else i for i in own.inputs))
    by_type = reading_of(queries, own) is AnswerReading.WHOLE
    if (
        mode is RunMode.LATTICE
        and queries.lattice is None
        and reading_of(queries, own) is AnswerReading.EXACT
    ):
        with pytest.raises(NoFormError):
            form_of(own, source, mode)
        return
    made: Any = compiled(own, mode)

    def got(answers: Any) -> tuple[Fraction, ...]:
        return tuple(F(record.value) for record in made(**PARAMETERS)(answers).records)

    def scenario(*data: tuple[Any, ...]) -> Scenario:
        on_d, on_d_prime = ((("q", tuple(map(F, values))),) for values in data)
        return Scenario(tuple((n, numbers_of(v)) for n, v in PARAMETERS.items()), on_d, on_d_prime)

    declared_size = queries.sensitivity or nodes.Number(F(2))
    scopes = [RunScope({n: numbers_of(v) for n, v in {**PARAMETERS, "i": i}.items()}) for i in range(3)]
    most = [F(str(value_of(declared_size, scope))) for scope in scopes]
    chance, tried, moved = random.Random(declared), 0, 0
    while tried < 60:
        pair = databases(chance, queries.adjacency, most, by_type)
        if check_scenario(as_numbers, scenario(*(tuple(map(number_of, values)) for values in pair))):
            continue
        tried += 1
        read = [got(values) for values in pair]
        arrays = [np.array(values) for values in pair]
        if {array.dtype.kind for array in arrays} <= set("if"):
            assert [got(array) for array in arrays] == read
        moved += read[0] != read[1]
        if queries.sort is nodes.Sort.REAL and queries.lattice is None and queries.adjacency is not L1:
            assert all(v % made(**PARAMETERS).gamma == 0 for values in read for v in values)
        assert check_scenario(own, scenario(*read)) == []
    assert moved > 10


def databases(
    chance: random.Random, adjacency: nodes.Adjacency, most: list[Fraction], by_type: bool
) -> tuple[list[Any], list[Any]]:
    """Three answers, and where they might move to: mostly as far as they may."""
    first = [chance.choice(ANSWERS)(chance) for _ in range(3)]
    movers = {nodes.Adjacency.ONE: 1, nodes.Adjacency.MOVED: 2}.get(adjacency, 3)
    moving = chance.sample(range(3), movers)
    signs = {nodes.Adjacency.MONOTONE: [chance.choice([-1, 1])] * 3, nodes.Adjacency.MOVED: [-1, 1]}.get(
        adjacency, chance.choices([-1, 1], k=3)
    )
    shares = [chance.choice([F(1), F(1), F(chance.randint(0, 10), 10)]) for _ in moving]
    if adjacency is L1:
        parts = [chance.randint(0, 4) for _ in moving]
        shares = [F(part, sum(parts) or 1) for part in parts]
    second = list(first)
    for place, sign, share in zip(moving, signs, shares, strict=False):
        second[place] = like(first[place], number_of(first[place]) + sign * share * most[place])
    if by_type:
        return [whole(v) for v in first], [whole(v) for v in second]
    return first, second


ANSWERS: list[Callable[[random.Random], Any]] = [
    lambda r: r.randint(-30, 30) / 10,
    lambda r: r.gauss(0, 3),
    lambda r: r.randint(-3, 3),
    lambda r: float(r.randint(-3, 3)),
    lambda r: F(r.randint(-30, 30), 7),
    lambda r: math.nextafter(r.randint(-30, 30) / 10, math.inf),
    lambda r: r.choice([10**15, 10**300, -(10**308), 1e15, 1099511627775.037]),
    lambda r: r.choice([None, math.nan, math.inf, -math.inf]),
]


def number_of(value: Any) -> Fraction:
    """The number that an answer is read as."""
    if value is None or value != value:
        return F(0)
    return F(LARGEST) * (1 if value > 0 else -1) if value in (math.inf, -math.inf) else as_read(value)


def like(value: Any, number: Fraction) -> Any:
    """The number as something that might have stood in place of the other answer."""
    if isinstance(value, float) and abs(number) < LARGEST:
        return float(number)
    return number


def whole(value: Any) -> int | None:
    return None if value is None or value != value else math.floor(number_of(value))


def numbers_of(value: Any) -> Any:
    return tuple(map(F, value)) if isinstance(value, tuple) else F(value)
