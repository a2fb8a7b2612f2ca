"""How likely ties are on a lattice: the bound that is printed, against sums of probabilities."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from aligncheck.cli import main
from aligncheck.commands.ties import tie_bound
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.unparse import unparse_expr

SPECS = Path(__file__).parents[2] / "specs"
BOUNDS = {
    "noisy_max_gap": "len(q)**2*gamma/(2/eps)",
    "noisy_max_gap_monotone": "len(q)**2*gamma/(2/eps)",
    "noisy_topk_gap": "len(q)**2*gamma/(2*k/eps)",
    "noisy_topk_gap_exp": "len(q)**2*gamma/(2*k/eps)",
    "noisy_topk_gap_exp_monotone": "len(q)**2*gamma/(2*k/eps)",
    "noisy_topk_gap_monotone": "len(q)**2*gamma/(2*k/eps)",
}


def bound(name: str) -> str | None:
    found = tie_bound(parse(read_source(str(SPECS / f"{name}.dp"))))
    return None if found is None else unparse_expr(found)


def test_the_bound_is_given_for_selections_with_gaps_under_laplace_and_exponential_noise() -> None:
    named = {path.stem: bound(path.stem) for path in SPECS.glob("*.dp")}
    assert {name: text for name, text in named.items() if text is not None} == BOUNDS


@pytest.mark.parametrize("apart", [0, 1, 5, 40])
@pytest.mark.parametrize("rate", [0.01, 0.3, 2.0])
def test_two_noisy_answers_tie_with_less_than_this_probability(rate: float, apart: int) -> None:
    """`rate` is gamma/scale; two answers are so many steps apart."""
    steps = range(-3000, 3001)
    tie = sum(math.exp(-rate * (abs(x) + abs(x + apart))) for x in steps) * math.tanh(rate / 2) ** 2
    assert tie <= 2**2 * rate
    assert tie <= (1 + 1 / math.e) * rate
    one_sided = sum(math.exp(-rate * (2 * x + apart)) for x in range(3000)) * (1 - math.exp(-rate)) ** 2
    assert one_sided <= rate


def test_a_lattice_that_is_refused_because_of_ties(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "--mode", "lattice", str(SPECS / "noisy_max_gap.dp")]) == 3
    said = capsys.readouterr().err
    assert (
        f"two noisy answers are equal with a probability of at most δ = `{BOUNDS['noisy_max_gap']}`" in said
    )
