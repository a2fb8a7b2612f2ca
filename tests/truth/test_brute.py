"""Random specs: what is VERIFIED is contradicted by nothing. And brute force itself: it finds what is wrong,
and what it says is so.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
from brute import ROUTES, Judged, all_judged, checked, table, these_judged, with_parts
from contradiction import UNDEFINED, Outcome, Unsupported, contradiction, distribution, settings
from draft import CONSTRUCTS, Draft, Part
from flint import arb
from generated import LATER, Spec, generated, written
from lemma_one import first_fault
from masses import ALL, FROM_ZERO, Shape, halves, law_at, law_of, law_on_stairs, mass
from meaning import Program
from parts_calling import called_with_answers, called_with_clauses
from parts_deceptive import careless, carried, crossed, exact_difference, lied, merged, tied, top_of_some
from parts_written import repeated_by_private

from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.meaning.interpreter import Input
from aligncheck.refutation.enclosure import NotComputable
from aligncheck.refutation.events import Between, CompleteOutput, Constraint, Exactly, RecordPattern
from aligncheck.refutation.probability import probability

SAMPLE, ALL_OF_THEM = 16, 100_000
ENOUGH = 500
"""Specs that each construct has VERIFIED among all of them, not trivially."""


def test_what_is_verified_is_not_contradicted(exhaustive: bool, capsys: pytest.CaptureFixture[str]) -> None:
    found: list[Judged] = []
    for one in all_judged(0, ALL_OF_THEM if exhaustive else SAMPLE, jobs=2 if exhaustive else 1):
        assert not one.wrong, f"number {one.seed}\n{one.spec}\n{one.wrong}"
        found.append(one)
    proved = [one for one in found if one.verdict == "VERIFIED" and not one.trivial]
    if not exhaustive:
        assert len(proved) >= SAMPLE / 4
        return
    with capsys.disabled():
        print("\n" + table(found))
    for construct in (*CONSTRUCTS, *ROUTES.values()):
        assert sum(construct in one.constructs for one in proved) >= ENOUGH, construct


def test_lists_in_rounds_are_not_contradicted() -> None:
    found = list(these_judged(with_parts(["rounds"], LATER, 8), jobs=1))
    assert not [f"number {one.seed}\n{one.spec}\n{one.wrong}" for one in found if one.wrong]
    assert sum(one.verdict == "VERIFIED" and not one.trivial for one in found) >= 2


# --- brute force finds what it should -----------------------------------------------------------------------

DECEPTIVE: tuple[tuple[Part, int], ...] = (
    (merged, 12),
    (crossed, 12),
    (carried, 6),
    (tied, 9),
    (exact_difference, 3),
    (top_of_some, 5),
    (careless, 6),
    (lied, 6),
    (called_with_clauses, 3),
    (called_with_answers, 2),
    (repeated_by_private, 2),
)
"""Of 12 specs so many are not private; the others of their kind may be."""


def made_of(part: Part, seed: int) -> Spec:
    draft = Draft(Random(seed))
    part(draft)
    return written(draft)


@pytest.mark.parametrize(("part", "least"), DECEPTIVE, ids=lambda x: getattr(x, "__name__", str(x)))
def test_brute_force_contradicts_what_is_made_to_deceive(part: Part, least: int) -> None:
    found = 0
    for seed in range(12):
        try:
            mechanism = checked(made_of(part, seed))
        except SpecError:
            continue
        found += contradiction(mechanism, seed) is not None
    assert found >= least


CLAIMS = (
    ("n ~ DLap(1/eps)", "eps**2/2 zcdp", False),
    ("n ~ DLap(1/eps)", "eps**2/4 zcdp", True),
    ("n ~ DLap(1/eps)", "eps/2 delta 3/10", False),
    ("n ~ DLap(1/eps)", "eps/2 delta 1/1000", True),
    ("n ~ DGauss(2)", "1/8 zcdp", False),
    ("n ~ DGauss(2)", "1/9 zcdp", True),
    ("n ~ Gumbel(1/eps)", "eps**2/8 zcdp", True),
    ("n ~ Gauss(1)", "eps delta 1/1000", True),
    ("n ~ Gauss(1)", "1/4 zcdp", True),
    ("n ~ Bernoulli(3/4 if a == 1 else 1/4)", "ln(3)", False),
    ("n ~ Bernoulli(3/4 if a == 1 else 1/4)", "ln(2)", True),
)


@pytest.mark.parametrize(("noise", "claim", "too_little"), CLAIMS)
def test_brute_force_knows_what_noise_costs(noise: str, claim: str, too_little: bool) -> None:
    inputs = "  a : query, sensitivity 1, range [0, 1], lattice 1\n  eps : real where eps > 0\n"
    value = "n" if "Bernoulli" in noise else "a + n"
    text = f"mechanism m\ninput\n{inputs}privacy {claim}\nprogram\n  {noise}\n  emit v({value})\n"
    found = contradiction(checked(Spec(text, (), frozenset())))
    assert (found is not None) is too_little


SOUNDNESS = Path(__file__).parents[1] / "specs" / "soundness"
FOOLED = (
    *("cancelled_look_ahead", "cancelled_look_ahead_symbolic"),
    *(
        "busiest_window",
        "exact_difference_of_maxima",
        "own_answers_as_sets",
        "prefix_maxima",
        "top_of_ranges",
    ),
    *("maximum_in_both_vectors", "anonymous_maximum_in_both_vectors", "laundered_as_monotone"),
    *("top_of_any_k", "top_of_negative_k"),
    *("sums_taken_for_draws", "sums_on_a_lattice_tie", "sums_of_clipped_noise_tie"),
    *("caller_with_empty_list", "caller_with_no_answers"),
    *("own_draw_by_another_distance", "own_draw_by_a_distance_many"),
    *("noise_hidden_in_a_state", "noise_hidden_in_truths"),
)
"""Specs that were VERIFIED once, by the kind of the fault."""


@pytest.mark.parametrize("name", FOOLED)
def test_what_fooled_the_checker_fools_neither_brute_force_nor_replays(name: str) -> None:
    source = read_source(str(SOUNDNESS / f"{name}.dp"))
    mechanism = check(source, parse(source))
    assert first_fault(mechanism, 1, effort=4) is not None or contradiction(mechanism) is not None


# --- and what it says is so ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", Shape)
def test_the_masses_of_all_parts_sum_to_1(shape: Shape) -> None:
    chance = Random(0)
    law = law_of(shape, Fraction(7, 3), Fraction(1, 2))
    if shape is Shape.LOCATED:
        law = law_at(Fraction(5, 3), Fraction(2), Fraction(1), Fraction(1, 4))
    if shape is Shape.STAIRS:
        law = law_on_stairs(Fraction(2, 3), Fraction(7, 3), Fraction(1, 4), Fraction(1, 2))
    cells = [shape.whole]
    for _ in range(40):
        cell = cells.pop(chance.randrange(len(cells)))
        cells += halves(law, cell, Fraction(chance.randint(-9, 9), 4)) if cell[0] < cell[1] else [cell]
    assert sum((mass(law, cell)[0] for cell in cells), arb(0)).overlaps(arb(1))
    assert mass(law, shape.whole)[0].overlaps(arb(1))
    assert law.shape.whole in (ALL, FROM_ZERO)
    assert min(low for low, _ in cells) == (-inf if shape.whole == ALL else 0)


def test_probabilities_agree_with_those_that_refute_encloses() -> None:
    """Two evaluators that share no code, on the outcomes of random specs."""
    compared = 0
    for seed in range(60):
        try:
            mechanism = checked(generated(seed))
            program = Program(mechanism)
            public, groups = next(settings(program, Random(seed), 1))
            inputs = {**public, **groups[0][-1]}
            found = distribution(program, inputs, 300)
        except (SpecError, Unsupported, StopIteration):
            continue
        for outcome in list(found.known)[:3]:
            if outcome == UNDEFINED:
                continue
            try:
                ball = probability(mechanism, {k: _exact(v) for k, v in inputs.items()}, _event(outcome))
            except NotComputable:
                continue
            least, most = float(found.known[outcome]), float(found.at_most(outcome))
            assert least <= float(ball.upper) * (1 + 1e-9), (seed, outcome)
            assert most >= float(ball.lower) * (1 - 1e-9), (seed, outcome)
            compared += 1
    assert compared >= 60


def _exact(value: Any) -> Input:
    if isinstance(value, tuple):
        return tuple(v if isinstance(v, bool) else Fraction(v) for v in value)
    return value if isinstance(value, bool) else Fraction(value)


def _event(outcome: Outcome) -> CompleteOutput:
    assert not isinstance(outcome, str), "it ends"
    return CompleteOutput(
        tuple(
            RecordPattern(tag, tuple((name, _constraint(value)) for name, value in fields))
            for tag, *fields in outcome
        )
    )


def _constraint(value: Any) -> Constraint:
    if isinstance(value, tuple):
        return Between(Fraction(value[1]), Fraction(value[1] + 1))
    return Exactly(value if isinstance(value, bool) else Fraction(value))
