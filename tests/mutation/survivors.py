"""The table of survivors: mutants that are verified, and why they are private after all."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from classes import class_of
from mutants import Mutant, mutants_of

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.syntax.walk import statements_in

Thing = TypeVar("Thing")

PROJECT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("survivors.toml")


NOT_SURVEYED = {
    "adaptive_svt_geometric_monotone",
    "adaptive_svt_with_measures",
    "count_or_sum",
    "exponential_mechanism_gumbel",
    "exponential_mechanism_masked",
    "exponential_mechanism_repeated",
    "grid_quantile",
    "hybrid_sparse_gap_monotone",
    "hybrid_topk_gap_monotone",
    "noisy_max_random_ties",
    "numeric_sparse_redrawn",
    "online_pmw_redrawn",
    "svt_with_gap_theta",
    "svt_with_measures_split",
    "topk_with_measures_all",
}
"""Specs whose mutants nobody has looked at yet: none of them is judged."""

IN_DELTA = (
    "exponential_mechanism_zcdp",
    "gauss_and_laplace",
    "histogram_gauss",
    "noisy_max_gumbel_zcdp",
    "rho_to_delta",
    "two_gauss_delta",
)
"""Those of `specs/delta` whose mutants are judged: a draw, both kinds of noise, a choice and one by noise, a
conversion, calls with a δ.
"""


@cache
def specs() -> Mapping[str, n.Mechanism]:
    """The specs that are expected to be verified, by name."""
    paths = sorted((PROJECT / "specs").glob("*.dp"))
    paths += [PROJECT / "specs" / "delta" / f"{name}.dp" for name in IN_DELTA]
    found = {path.stem: parse(read_source(str(path))) for path in paths}
    return {
        name: m
        for name, m in found.items()
        if m.expect is not None and m.expect.verdict == "verified" and name not in NOT_SURVEYED
    }


@cache
def mutants() -> Mapping[str, Mapping[str, Mutant]]:
    """Every mutant, by spec and change."""
    return {name: {m.change: m for m in mutants_of(name, whole)} for name, whole in specs().items()}


@dataclass(frozen=True, slots=True)
class Justified:
    """One mutant of the table and the reason that is given for it."""

    spec: str
    change: str
    because: str


@cache
def justified() -> Mapping[tuple[str, str], Justified]:
    """The table. Raises AssertionError where an entry gives no reason or stands there twice."""
    found: dict[tuple[str, str], Justified] = {}
    for spec, entries in tomllib.loads(TABLE.read_text("utf-8")).items():
        for entry in entries:
            assert set(entry) == {"because", "mutants"}, (spec, entry)
            assert entry["because"].strip(), (spec, entry)
            for change in entry["mutants"]:
                assert (spec, change) not in found, f"listed twice: {spec}: {change}"
                found[spec, change] = Justified(spec, change, entry["because"])
    return found


def is_private(mutant: Mutant) -> bool:
    """Whether a class of mutants or the table says why the mutant is private."""
    listed = (mutant.spec, mutant.change) in justified()
    return listed or class_of(specs()[mutant.spec], mutant.mechanism) is not None


SLOW = {
    "adaptive_svt_geometric": 4,
    "adaptive_svt_theta_monotone": 4,
    "dyadic_sums": 4,
    "repeated_histogram": 2,
    "smart_sum": 2,
    "svt_monotone": 2,
    "noisy_max_loop": 3,
    "hybrid_topk_gap": 4,
    "noisy_topk_gap_exp": 9,
    "noisy_topk_gap_exp_monotone": 9,
    "hybrid_topk_gap_exp": 9,
    "exponential_mechanism_gap": 3,
    "exponential_mechanism_gap_monotone": 6,
    "exponential_mechanism_prior": 6,
    "exponential_then_measure": 2,
    **dict.fromkeys(IN_DELTA, 8),
}
"""Specs whose proofs take as long as those of specs so many times as long; in δ and ρ few are enough."""

LEAST, LEAST_OF_SLOW = 4, 2


def sample(effort: int, most: int) -> list[Mutant]:
    """A fixed selection: `most` mutants of specs without loops, whose proofs are quick; of each other spec
    about `effort` over its number of mutants, since long specs take long.

    All rules in turn, each from a place on that the name of the spec decides, not what other specs there are;
    then one mutant of each rule that is left.
    """
    found: list[Mutant] = []
    for name, of_spec in mutants().items():
        turns = _in_turn(of_spec.values(), crc32(name.encode()))
        loops = any(isinstance(s, n.For | n.While) for s in statements_in(specs()[name].body))
        wanted = (effort // len(turns) if loops else most) // SLOW.get(name, 1)
        least = LEAST_OF_SLOW if SLOW.get(name, 1) >= 4 else LEAST
        found += turns[: min(most, max(least, wanted))]
    rules = {mutant.rule for mutant in found}
    for of_spec in mutants().values():
        for mutant in of_spec.values():
            if mutant.rule not in rules:
                rules.add(mutant.rule)
                found.append(mutant)
    return found


def _in_turn(all_of_them: Iterable[Mutant], place: int) -> list[Mutant]:
    """The first mutant of each rule, then the second of each, and so on; each rule begins at `place`."""
    by_rule: dict[str, list[Mutant]] = {}
    for mutant in all_of_them:
        by_rule.setdefault(mutant.rule, []).append(mutant)
    queues = _turned([_turned(of_rule, place) for of_rule in by_rule.values()], place)
    return [mutant for turn in zip_longest(*queues) for mutant in turn if mutant is not None]


def _turned(things: list[Thing], by: int) -> list[Thing]:
    by %= len(things)
    return things[by:] + things[:by]
