"""Scenarios at random: repeatable, small, mostly legal; and the steps that make one simpler."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from random import Random

from small_specs import mechanism

from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.search.discharge.sample import scenarios, simpler_scenarios

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


def test_steps_make_one_number_simpler_at_a_time() -> None:
    scenario = Scenario(
        (),
        (("q", (Fraction(2), Fraction(1))),),
        (("q", (Fraction(3), Fraction(1))),),
        ((("eta", 0), Fraction(1)),),
    )
    simpler = [step(scenario) for step in simpler_scenarios(scenario)]
    assert simpler[0].noise == ()
    assert [(s.data[0][1], s.data_prime[0][1]) for s in simpler[1:]] == [
        ((2, 1), (2, 1)),
        ((0, 1), (1, 1)),
        ((2, 1), (3, 1)),
        ((2, 0), (3, 0)),
    ]
