"""Candidates of a search: parameters in their ranges; pairs that are neighbours as declared, no others."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

import pytest
from small_specs import mechanism

from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.scenario import Scenario, answer
from aligncheck.refutation import databases
from aligncheck.search.failing.counterexamples import INTEGERS, groundings

PROGRAM = """
eta ~ Lap(1/eps)
emit value(eta)
"""


def with_inputs(inputs: str) -> Mechanism:
    return mechanism(PROGRAM, inputs=f"{inputs}\neps : real where eps > 0")


def pair(left: list[Any], right: list[Any], **parameters: Any) -> Scenario:
    public = {"eps": Fraction(1), **parameters}
    return Scenario(
        tuple((name, Fraction(value)) for name, value in public.items()),
        (("q", tuple(map(Fraction, left))),),
        (("q", tuple(map(Fraction, right))),),
    )


@pytest.mark.parametrize(
    ("adjacency", "right", "allowed"),
    [
        ("all", [1, -1, 1], True),
        ("all", [2, 0, 0], False),
        ("all", ["1", "-3/2", "0"], False),
        ("one", [0, 1, 0], True),
        ("one", [1, -1, 0], False),
        ("one", ["1/2", "1/2", "0"], False),
        ("monotone", [1, 1, 0], True),
        ("monotone", [1, -1, 0], False),
        ("moved", [1, -1, 0], True),
        ("moved", [1, 1, 0], False),
        ("l1", ["1/2", "-1/2", "0"], True),
        ("l1", [1, -1, 0], False),
    ],
)
def test_only_neighbours_are_legal(adjacency: str, right: list[Any], allowed: bool) -> None:
    spec = with_inputs(f"q : queries, sensitivity 1, adjacency {adjacency}")
    made = pair([0, 0, 0], right)
    assert databases.legal(spec, made) is allowed
    assert databases.legal(spec, databases.swapped(made)) is allowed


def test_what_else_makes_a_pair_illegal() -> None:
    spec = with_inputs(
        "q : queries, sensitivity k, lattice 1/2, range [0, 5]\nk : int where 1 <= k <= len(q)"
    )
    assert databases.legal(spec, pair([0, 1], ["1/2", "0"], k=2))
    assert not databases.legal(spec, pair([0, 1], ["1/4", "0"], k=2)), "off the lattice"
    assert not databases.legal(spec, pair([0, 5], [0, "11/2"], k=2)), "out of its range"
    assert not databases.legal(spec, pair([0, 1], [0, 0], k=3)), "a `where` clause fails"
    assert not databases.legal(spec, pair([0, 1], [0, 3], k=1)), "moves further than the sensitivity"
    assert not databases.legal(spec, pair([0, 1], [0], k=1)), "different lengths"


def test_sensitivities_by_index_are_kept() -> None:
    spec = with_inputs("b : vector where b[i] > 0\nq : queries, sensitivity b[i]")
    (scenario,) = [
        start
        for start in databases.starting_databases(
            spec, 2, (("b", (Fraction(1), Fraction(2))), ("eps", Fraction(1)))
        )
        if answer(start.data, databases.spots_of(spec, start.data)[0].place) == 0
    ][:1]
    steps = [databases.step_at(spot, scenario.parameters) for spot in databases.spots_of(spec, scenario.data)]
    assert steps == [1, 2]
    assert all(databases.legal(spec, made) for made in databases.neighbours(spec, scenario))
    assert not databases.legal(spec, databases.moved(scenario, {("q", 0): Fraction(2)}))
    assert databases.legal(spec, databases.moved(scenario, {("q", 1): Fraction(2)}))


@pytest.mark.parametrize("adjacency", ["all", "one", "monotone", "moved", "l1"])
def test_patterns_are_legal_and_not_trivial(adjacency: str) -> None:
    spec = with_inputs(f"q : queries, sensitivity 2, adjacency {adjacency}")
    (parameters, *_) = databases.parameter_choices(spec, 5, {})
    for start in databases.starting_databases(spec, 5, parameters):
        found = databases.neighbours(spec, start)
        assert found
        for made in found:
            assert databases.legal(spec, made)
            assert made.data != made.data_prime


def test_the_patterns_of_the_dissertation() -> None:
    """Table 4-1, in moves from D to D'; the X shape is a database of two halves."""
    spec = with_inputs("q : queries, sensitivity 1, adjacency all")
    (parameters, *_) = databases.parameter_choices(spec, 5, {})
    starts = databases.starting_databases(spec, 5, parameters)
    # All answers are 0 on D, so that D' is what moves.
    assert all(
        value == 0 for _, held in starts[0].data for value in (held if isinstance(held, tuple) else ())
    )
    moves = {
        tuple(answer(made.data_prime, spot.place) for spot in databases.spots_of(spec, made.data))
        for made in databases.neighbours(spec, starts[0])
    }
    one_above, one_below = (1, 0, 0, 0, 0), (-1, 0, 0, 0, 0)
    rest_below, rest_above = (1, -1, -1, -1, -1), (-1, 1, 1, 1, 1)
    halves = (-1, -1, -1, 1, 1)
    assert {one_above, one_below, rest_below, rest_above, halves, (1,) * 5, (-1,) * 5} <= moves
    x_shape = {
        tuple(answer(start.data, spot.place) for spot in databases.spots_of(spec, start.data))
        for start in starts
    }
    assert (1, 1, 1, 0, 0) in x_shape


def test_parameters_keep_their_ranges() -> None:
    spec = with_inputs(
        "q : queries, sensitivity 1\nk : int where 1 <= k <= len(q) - 1\n"
        "low : real\nhigh : real where high > low"
    )
    choices = [dict(choice) for choice in databases.parameter_choices(spec, 3, {})]
    assert choices
    for choice in choices:
        assert 1 <= choice["k"] <= 2  # type: ignore[operator]
        assert choice["high"] > choice["low"]  # type: ignore[operator]
        assert choice["eps"] > 0  # type: ignore[operator]
    assert choices[0]["eps"] == 1
    assert not databases.parameter_choices(spec, 1, {}), "one answer leaves no k"


def test_ranges_without_a_usual_value_give_several() -> None:
    spec = with_inputs("q : query, sensitivity -Gap\nGap : int where Gap < -3\nT : real where 100 < T < 101")
    choices = [dict(choice) for choice in databases.parameter_choices(spec, 1, {})]
    assert len({choice["Gap"] for choice in choices}) > 2
    assert len({(choice["Gap"], choice["T"]) for choice in choices}) > 5
    grounds = list(islice(groundings(spec, {}, INTEGERS), 8))
    assert {ground["Gap"] < -3 and 100 < ground["T"] < 101 for ground in grounds} == {True}
    assert len({ground["Gap"] for ground in grounds}) > 1


def test_what_is_fixed_stays() -> None:
    spec = with_inputs("q : queries, sensitivity 1\nk : int where k >= 1")
    choices = databases.parameter_choices(spec, 2, {"k": Fraction(3), "eps": Fraction(1, 7)})
    assert [dict(choice) for choice in choices] == [{"k": 3, "eps": Fraction(1, 7)}]
    assert not databases.parameter_choices(spec, 2, {"k": Fraction(0)})


def test_the_local_model_moves_from_end_to_end() -> None:
    spec = with_inputs("x : query, adjacency any, range [-2, 3]")
    (parameters, *_) = databases.parameter_choices(spec, 1, {})
    (start,) = databases.starting_databases(spec, 1, parameters)
    ends = {(dict(made.data)["x"], dict(made.data_prime)["x"]) for made in databases.neighbours(spec, start)}
    assert (Fraction(-2), Fraction(3)) in ends


@pytest.mark.parametrize(
    "inputs",
    [
        "T : real where 1/2 < T < 1\nx : query, sensitivity 1",
        "T : real where T > 100\nx : query, sensitivity 1",
        "T : int where T < -50\nx : query, sensitivity 1",
        "a : real where a > 10\nb : real where a < b < a + 1/10\nx : query, sensitivity 1",
        "w : vector where 5 < w[i] < 6\nq : queries, sensitivity 1",
        "x : query, sensitivity 1 where x >= 9",
        "x : query, sensitivity 1, range [20, 30]",
        "c : real where c > 3\nx : query, sensitivity 1, lattice c/8 where x > c",
    ],
)
def test_where_the_usual_values_are_not_allowed_others_are_found(inputs: str) -> None:
    spec = with_inputs(inputs)
    starts = [
        start
        for parameters in databases.parameter_choices(spec, 2, {})
        for start in databases.starting_databases(spec, 2, parameters)
    ]
    assert starts
    assert any(databases.neighbours(spec, start) for start in starts)


def test_numbers_of_the_program_are_tried_as_parameters() -> None:
    program = "eta ~ Lap(1/eps)\nif T >= 1000: emit high(x + eta)\nelse: emit low(x + eta)"
    spec = mechanism(program, inputs="T : real\nx : query, sensitivity 1\neps : real where eps > 0")
    assert 1000 in [dict(choice)["T"] for choice in databases.parameter_choices(spec, 1, {})]
