"""Every spec against its `expect refuted` line, and certified levels against those that are known.

Searches here are bounded by a number of probabilities, so that they go the same way on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from aligncheck.expect import expects_refutation
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.nodes import Mechanism, Pure
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.meaning.interpreter import Inputs
from aligncheck.refutation.certify import exceeds
from aligncheck.refutation.claims import Granted
from aligncheck.refutation.databases import legal
from aligncheck.refutation.pair_search import length_of
from aligncheck.refutation.refuter import Aim, refute
from aligncheck.refutation.trace import ends_in
from aligncheck.refutation.violation import Finding, LossKind, Violation

SPECS = Path(__file__).parents[2] / "specs"
ENOUGH = 700
"""Probabilities: every refutation of the corpus is found with fewer."""
A_FEW = 30
SECONDS = 120.0


def mechanism_in(path: Path) -> Mechanism | None:
    source = read_source(str(path))
    try:
        return check(source, parse(source))
    except SpecError:
        return None


def named(path: Path) -> str:
    return path.relative_to(SPECS).as_posix()


READ = {path: mechanism for path in sorted(SPECS.rglob("*.dp")) if (mechanism := mechanism_in(path))}
REFUTED = [path for path, mechanism in READ.items() if expects_refutation(mechanism)]
PRIVATE = [path for path in READ if path not in REFUTED and isinstance(READ[path].claim, Pure)]


def searched(name: str, probabilities: int, fixed: Inputs = (), any_will_do: bool = False) -> Finding:
    aim = Aim(fixed, seconds=SECONDS, probabilities=probabilities, any_will_do=any_will_do)
    return refute(READ[SPECS / name], aim)


@pytest.mark.parametrize("path", REFUTED, ids=named)
def test_what_is_expected_to_be_refuted_is(path: Path) -> None:
    mechanism = READ[path]
    found = searched(named(path), ENOUGH, any_will_do=True)
    assert isinstance(found, Violation)
    assert legal(mechanism, found.scenario)
    concentrated = found.delta is None
    granted = Granted(found.claim, found.delta or Fraction(0), concentrated)
    assert exceeds(found.on_d, found.on_d_prime, granted)
    assert (found.level is None) is found.on_d_prime.is_zero is (found.kind is LossKind.IMPOSSIBLE)
    if found.trace is not None:
        assert ends_in(found.trace.on_d, found.event)


@pytest.mark.parametrize("path", PRIVATE, ids=named)
def test_nothing_is_found_where_there_is_nothing(path: Path, exhaustive: bool) -> None:
    """Verified specs, and broken proofs of private mechanisms."""
    assert not isinstance(searched(named(path), 1500 if exhaustive else A_FEW), Violation)


# True levels, in units of the claim, by hand and by numeric integration; suprema are approached from below.
LEVELS: tuple[tuple[str, dict[str, int | str], Callable[[int], float], int], ...] = (
    ("isvt2", {}, lambda n: n / 2, 250),
    ("isvt3", {"N": 1}, lambda _: 7 / 4, 250),
    ("isvt3", {"N": 2}, lambda _: 13 / 4, 300),
    ("isvt3", {"N": 3}, lambda _: 19 / 4, 400),
    ("isvt4", {"N": 1}, lambda n: n / 2, 250),
    ("svt_with_gap_noisy_query", {"k": 1}, lambda n: n / 4, 300),
    ("adaptive_svt_noisy_query", {"k": 1}, lambda n: (3 * n - 2) / 8, 400),
    ("svt_monotone_scale_all", {"N": 1}, lambda _: 3 / 2, 200),
    ("histogram_wrong_scale", {"eps": "1/2"}, lambda _: 4.0, 100),
    ("histogram_wrong_scale", {"eps": "9/10"}, lambda _: 100 / 81, 100),
    ("histogram_all", {}, float, 150),
    ("partial_sum_wrong_scale", {}, lambda _: 2.0, 100),
    ("noisy_max_value", {}, lambda n: n / 2, 200),
    ("noisy_max_half_noise", {}, lambda _: 2.0, 100),
    ("noisy_max_runner_up", {}, lambda n: n / 2, 200),
    ("noisy_max_true_gap", {}, lambda n: n - 1.0, 320),
    ("noisy_max_gap_again", {}, lambda _: 2.0, 100),
    ("noisy_min_exp", {}, lambda n: n - 1.0, 100),
    ("noisy_topk_gap_unscaled", {"k": 2}, lambda _: 2.0, 300),
    ("exponential_mechanism_full_weight", {}, lambda _: 2.0, 100),
    ("two_histograms_half", {}, lambda _: 2.0, 100),
)
"""A spec, parameters that are set, the level for n answers, and a number of probabilities that suffices."""
NEAR = 0.98


@pytest.mark.parametrize(("name", "values", "level", "probabilities"), LEVELS)
def test_levels_come_close_to_the_true_ones_and_never_above(
    name: str, values: dict[str, int | str], level: Callable[[int], float], probabilities: int
) -> None:
    fixed = tuple((key, Fraction(value)) for key, value in values.items())
    found = searched(f"broken/{name}.dp", probabilities, fixed)
    assert isinstance(found, Violation)
    assert found.level is not None
    assert isinstance(found.claim, Fraction)
    certified = float(found.level / found.claim)
    true = level(length_of(found.scenario))
    assert certified <= true * (1 + 1e-9), "a certificate above the true level is wrong"
    # Where the level grows with n, a shorter input may be the best one that was found.
    assert certified >= NEAR * min(true, level(length_of(found.scenario) - 1))


@pytest.mark.parametrize(
    "name",
    [
        "broken/isvt1.dp",
        "broken/noisy_max_value_exp.dp",
        "broken/negative_one_sided.dp",
        "broken/smart_sum_no_block_noise.dp",
        "broken/hybrid_sparse_shared_noise.dp",
        "broken/topk_shared_noise.dp",
        "broken/off_lattice.dp",
    ],
)
def test_no_epsilon_suffices_where_an_output_is_impossible(name: str) -> None:
    found = searched(name, ENOUGH)
    assert isinstance(found, Violation)
    assert found.kind is LossKind.IMPOSSIBLE
    assert found.on_d_prime.is_zero


def test_growth_is_told_from_a_bound() -> None:
    grows = searched("broken/noisy_max_value.dp", 250)
    assert isinstance(grows, Violation)
    assert grows.kind is LossKind.GROWS
    levels = [member.level for member in grows.family]
    assert levels == sorted(levels)
    bounded = searched("broken/isvt3.dp", 250, (("N", Fraction(1)),))
    assert isinstance(bounded, Violation)
    assert bounded.kind is LossKind.FINITE


def test_a_tail_without_a_bound_is_told() -> None:
    found = searched("broken/private_scale.dp", ENOUGH)
    assert isinstance(found, Violation)
    assert found.kind is LossKind.RARER
    assert len(found.family) > 2


def test_a_formula_says_for_which_epsilon_the_event_violates_the_claim() -> None:
    found = searched("broken/histogram_wrong_scale.dp", ENOUGH)
    assert isinstance(found, Violation)
    assert found.formula is not None
    assert found.formula.ratio == "exp(1/eps)"
    assert found.formula.violated == "eps < 1"
    assert not isinstance(
        searched("broken/histogram_wrong_scale.dp", 200, (("eps", Fraction(1)),)), Violation
    ), "private from 1 on"
