"""Random pairs of small databases and draws, for mechanisms that draw by densities."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning import exact
from aligncheck.meaning.exact import Number
from aligncheck.meaning.exact_density import weigh
from aligncheck.meaning.interpreter import Input, RunScope, Stopped, number_of
from aligncheck.meaning.scenario import Scenario, check_scenario

TRIES = 4000


def beyond_the_claim(mechanism: nodes.Mechanism, seed: str, wanted: int) -> Iterator[tuple[float, Scenario]]:
    """For so many adjacent pairs and possible draws: how much further apart the logarithms of the densities
    are than the claim allows; at most 0 for a private mechanism. Fewer where few pairs are adjacent.
    """
    rng = random.Random(seed)
    for _ in range(TRIES):
        scenario = a_scenario(mechanism, rng)
        if check_scenario(mechanism, scenario):
            continue
        try:
            beyond = distance(mechanism, scenario, rng)
        except Stopped:
            continue
        if beyond is not None:
            yield float(exact.decimal(beyond, 12)), scenario
            wanted -= 1
            if wanted == 0:
                return


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
    lengths = lengths or [ceil(v) for _, v in scenario.parameters if isinstance(v, Fraction)]
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
    claim = number_of(mechanism.privacy, RunScope(dict(scenario.parameters)))
    apart = exact.subtract(left, right)
    return max(
        (exact.subtract(x, claim) for x in (apart, exact.negative(apart))),
        key=lambda x: float(exact.decimal(x, 12)),
    )
