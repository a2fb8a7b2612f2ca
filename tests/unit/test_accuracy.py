"""Bounds on errors hold by exact tails, agree with the lecture's theorems, and are close to what happens."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from small_specs import named

from aligncheck.cli import main
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.synthesis.accuracy import Accuracy, accuracy_of
from aligncheck.synthesis.formulas import NoFormulaError

SPECS = Path(__file__).parents[2] / "specs"


def accuracy(name: str) -> Accuracy:
    return accuracy_of(named(name))


def value(alpha: str, length: int, **given: float) -> float:
    """The formula as a number."""
    text = alpha.replace("len(f)", "length").replace("len(q)", "length")
    return float(eval(text, {"ln": math.log, "Max": max, "length": length, **given}))


def test_above_threshold_is_within_theorem_2_of_the_lecture() -> None:
    """All draws keep their bounds with probability 1 - beta by the exact tails, which are independent."""
    (bound,) = accuracy("above_threshold").bounds
    for length in (1, 10, 1000):
        for beta in (0.5, 0.05, 1e-6):
            alpha = value(bound.alpha, length, eps=0.5, beta=beta)
            assert alpha <= 8 * (math.log(length) + math.log(2 / beta)) / 0.5
            kept = math.log1p(-beta / 2) + length * math.log1p(-beta / (2 * length))
            assert kept >= math.log1p(-beta)


@pytest.mark.parametrize(("name", "factor"), [("above_threshold", 1.6), ("noisy_max", 2.2)])
def test_errors_that_happen(name: str, factor: float) -> None:
    """The greatest error of a run exceeds the bound in at most a share beta of the runs, and the bound is at
    most `factor` times the quantile.
    """
    rng = np.random.default_rng(5)
    runs, length, eps, beta = 20_000, 50, 1.0, 0.05
    (bound,) = accuracy(name).bounds
    if name == "noisy_max":
        noise = rng.laplace(scale=2 / eps, size=(runs, length))
        errors = noise.max(axis=1) - noise.min(axis=1)
    else:
        errors = np.abs(
            rng.laplace(scale=4 / eps, size=(runs, length)) - rng.laplace(scale=2 / eps, size=(runs, 1))
        )
        errors = errors.max(axis=1)
    alpha = value(bound.alpha, length, eps=eps, beta=beta)
    assert (errors > alpha).mean() < beta
    assert alpha < factor * np.quantile(errors, 1 - beta)


def test_a_threshold_that_is_drawn_again() -> None:
    (bound,) = accuracy("sparse").bounds
    assert bound.alpha == "4*c*ln(2*len(f)/beta)/eps + 2*c*ln((2*len(f) + 2)/beta)/eps"


def test_selections_with_noise_of_one_sign_are_off_by_half_as_much() -> None:
    (both,), (one,) = accuracy("noisy_max").bounds, accuracy("noisy_max_exp").bounds
    assert (both.alpha, one.alpha) == ("4*ln(len(q)/beta)/eps", "2*ln(len(q)/beta)/eps")


def test_noise_that_hides_in_a_state_has_no_bound() -> None:
    source = Source(
        "sums.dp",
        """mechanism sums
input
  q : queries, sensitivity 1, adjacency one
  eps : real where eps > 0
privacy eps
program
  s = 0
  for i, x in q:
    a[i] ~ Lap(1/eps)
    s = s + x + a[i]
    emit v(n = s)
    emit w(n = a[i])
""",
    )
    found = accuracy_of(check(source, parse(source)))
    assert [bound.place for bound in found.bounds] == ["w.n"]
    assert found.left_out == ("v.n",)


@pytest.mark.parametrize("name", ["ask_until_above", "cauchy", "exponential_mechanism", "topk_with_measures"])
def test_there_is_no_formula(name: str) -> None:
    with pytest.raises(NoFormulaError):
        accuracy(name)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim", "--accuracy", str(SPECS / "noisy_max.dp")]) == 0
    assert "is chosen within this of the best: 4*ln(len(q)/beta)/eps" in capsys.readouterr().out
    assert main(["claim", "--accuracy", str(SPECS / "cauchy.dp")]) == 2
