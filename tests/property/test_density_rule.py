"""No adjacent pair and no output of a verified mechanism has densities further apart than the claim."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from aligncheck import exact
from aligncheck.check import check
from aligncheck.density import weigh
from aligncheck.exact import Number
from aligncheck.interpreter import Input, Scope, number_of
from aligncheck.scenario import Scenario, check_scenario
from aligncheck.syntax import nodes
from aligncheck.syntax.parse import parse, read_source
from aligncheck.syntax.walk import has_densities, statements_in

SPECS = Path(__file__).parents[2] / "specs"
TRIES, WANTED = 4000, 30


def mechanisms(folder: Path) -> list[nodes.Mechanism]:
    sources = [read_source(str(path)) for path in sorted(folder.glob("exponential*.dp"))]
    found = [check(source, parse(source)) for source in sources]
    return [m for m in found if has_densities(m.body)]


def a_scenario(mechanism: nodes.Mechanism, rng: random.Random) -> Scenario:
    """A random pair of small databases; not always one that is declared adjacent."""
    length = rng.randint(2, 3)
    public: dict[str, Input] = {}
    data: dict[str, Input] = {}
    data_prime: dict[str, Input] = {}
    for item in mechanism.inputs:
        match item:
            case nodes.Parameter(name=name, sort=nodes.Sort.INT):
                public[name] = Fraction(rng.randrange(length))
            case nodes.Parameter(name=name):
                public[name] = rng.choice((Fraction(1, 2), Fraction(1), Fraction(2)))
            case nodes.PublicVector(name=name, sort=nodes.Sort.BOOL):
                public[name] = tuple(rng.random() < 0.8 for _ in range(length))
            case nodes.PublicVector(name=name):
                public[name] = tuple(Fraction(rng.randint(1, 3)) for _ in range(length))
            case nodes.Queries(names=names):
                size = public.get("Delta", Fraction(1))
                assert isinstance(size, Fraction)
                signs = rng.choice(((-1, 0, 1), (0, 1), (-1, 0)))
                for name in names:
                    left = [Fraction(rng.randint(-4, 4)) for _ in range(length)]
                    data[name] = tuple(left)
                    data_prime[name] = tuple(x + rng.choice(signs) * size for x in left)
    return Scenario(tuple(public.items()), tuple(data.items()), tuple(data_prime.items()))


def distance(mechanism: nodes.Mechanism, scenario: Scenario, rng: random.Random) -> Number | None:
    """How far apart the logarithms of the densities of some draws are, less the claim; None where the draws
    are impossible on both databases.
    """
    lengths = [len(v) for _, v in scenario.data if isinstance(v, tuple)]
    drawn: dict[str, Number] = {}
    for s in statements_in(mechanism.body):
        match s:
            case nodes.Choose(name=name):
                drawn[name] = Fraction(rng.randrange(max(lengths)))
            case nodes.Logistic(name=name):
                drawn[name] = rng.choice((Fraction(1, 8), Fraction(2), Fraction(9)))
            case _:
                pass
    sides = [
        weigh(mechanism, (*scenario.parameters, *data), drawn).log_density
        for data in (scenario.data, scenario.data_prime)
    ]
    if None in sides:
        assert sides == [None, None], "possible on one side only"
        return None
    left, right = (x for x in sides if x is not None)
    claim = number_of(mechanism.privacy, Scope(dict(scenario.parameters)))
    apart = exact.subtract(left, right)
    return max(
        (exact.subtract(x, claim) for x in (apart, exact.negative(apart))),
        key=lambda x: float(exact.decimal(x, 12)),
    )


@pytest.mark.parametrize("mechanism", mechanisms(SPECS), ids=lambda m: m.name)
def test_verified_mechanisms_keep_within_their_claim(mechanism: nodes.Mechanism) -> None:
    rng = random.Random(mechanism.name)
    looked_at = 0
    for _ in range(TRIES):
        scenario = a_scenario(mechanism, rng)
        if check_scenario(mechanism, scenario):
            continue
        beyond = distance(mechanism, scenario, rng)
        if beyond is None:
            continue
        assert float(exact.decimal(beyond, 12)) <= 1e-9, scenario
        looked_at += 1
        if looked_at == WANTED:
            return
    raise AssertionError(f"only {looked_at} pairs were adjacent")


def test_the_test_can_fail() -> None:
    """The same search finds the broken ones."""
    (mechanism,) = [
        m for m in mechanisms(SPECS / "broken") if m.name == "exponential_mechanism_gap_monotone_all"
    ]
    rng = random.Random(0)
    scenarios = (a_scenario(mechanism, rng) for _ in range(TRIES))
    found = (distance(mechanism, s, rng) for s in scenarios if not check_scenario(mechanism, s))
    assert any(beyond is not None and float(exact.decimal(beyond, 12)) > 0.1 for beyond in found)
