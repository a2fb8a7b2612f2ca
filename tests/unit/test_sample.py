"""Scenarios at random: repeatable, small, mostly legal; and the steps that make one simpler."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from random import Random

from small_specs import mechanism

from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.search.failing.sample import scenarios, simpler_scenarios

INPUTS = """
    q : queries, sensitivity 1, adjacency all
    x : query, sensitivity 1
    b : bool vector
    k : int where k >= 1
    eps : real where eps > 0
"""
SMALL = mechanism("xi ~ Exp(1)\nfor i, y in q: eta[i] ~ Lap(1)\nemit v(x)", "", INPUTS)


def some(count: int, seed: int = 0) -> list[Scenario]:
    parameters: dict[str, Fraction | bool] = {"k": Fraction(1), "eps": Fraction(1)}
    return list(islice(scenarios(SMALL, parameters, {"q": 3, "b": 2}, Random(seed)), count))


def test_the_same_each_time() -> None:
    assert some(5) == some(5)
    assert some(5) != some(5, seed=1)


def test_legal_and_of_the_lengths_asked_for() -> None:
    for scenario in some(50):
        assert check_scenario(SMALL, scenario) == []
        assert [len(v) for _, v in scenario.data if isinstance(v, tuple)] == [3]
        assert len(dict(scenario.parameters)["b"]) == 2  # type: ignore[arg-type]


def test_one_sided_noise_is_not_negative() -> None:
    drawn = [dict(s.noise)["xi", None] for s in some(50)]
    assert min(drawn) == 0  # type: ignore[type-var]
    assert max(drawn) > 0  # type: ignore[type-var, operator]


HALF = Fraction(1, 2)


def test_steps_make_one_number_simpler_at_a_time() -> None:
    scenario = Scenario(
        (), (("q", (Fraction(2), HALF)),), (("q", (Fraction(3), HALF)),), ((("eta", 0), Fraction(5)),)
    )
    simpler = [step(scenario) for step in simpler_scenarios(scenario)]
    assert [dict(s.noise).get(("eta", 0)) for s in simpler[:4]] == [None, 1, 2, 4]
    assert [(s.data[0][1], s.data_prime[0][1]) for s in simpler[4:]] == [
        ((2, HALF), (2, HALF)),
        ((0, HALF), (1, HALF)),
        ((2, HALF), (3, HALF)),
        ((2, HALF), (3, HALF)),
        ((2, 0), (3, 0)),
        ((2, 0), (3, 0)),
    ]


def test_answers_move_as_far_as_their_declaration_says() -> None:
    """By the sensitivity at the index, on the lattice, within the range, as many as the adjacency lets."""
    declared = """
        q : queries, sensitivity i + 1, adjacency one
        c : query, sensitivity 3, lattice 2
        r : query, adjacency any, range [0, 5]
        eps : real where eps > 0
    """
    several = mechanism("emit v(1)", "", declared)
    some_pairs = list(islice(scenarios(several, {"eps": Fraction(1)}, {"q": 3}, Random(0)), 40))
    assert not [reason for s in some_pairs for reason in check_scenario(several, s)]
    moves = {(name, before, after) for s in some_pairs for name, before, after in _numbers(s)}
    assert {abs(after - before) for name, before, after in moves if name == "c"} == {0, 2}
    assert {(0, 5), (5, 0)} <= {(before, after) for name, before, after in moves if name == "r"}
    assert {after - before for name, before, after in moves if name == "q"} == {-3, -2, -1, 0, 1, 2, 3}


def _numbers(scenario: Scenario) -> Iterator[tuple[str, Fraction, Fraction]]:
    for (name, left), (_, right) in zip(scenario.data, scenario.data_prime, strict=True):
        both = zip(left, right, strict=True) if isinstance(left, tuple) else [(left, right)]  # type: ignore[arg-type]
        for before, after in both:
            assert isinstance(before, Fraction)
            assert isinstance(after, Fraction)
            yield name, before, after
