"""Budgets are split as the dissertation does (section 5.4.1), from the program alone."""

from __future__ import annotations

import random
import statistics
from fractions import Fraction
from pathlib import Path

import pytest

from aligncheck.cli import main
from aligncheck.commands.improve import STEPS
from aligncheck.effort import Effort
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.pipeline import Options, verify_source
from aligncheck.synthesis.formulas import NoFormulaError
from aligncheck.synthesis.reading import ProgramReading
from aligncheck.synthesis.tune import best_scales, best_split, variance_of
from aligncheck.verdict import Verified

PROJECT = Path(__file__).parents[2]
ADAPTIVE, MONOTONE = "specs/adaptive_svt_theta.dp", "specs/adaptive_svt_theta_monotone.dp"


@pytest.mark.parametrize(
    ("path", "field", "inside"),
    [
        (ADAPTIVE, "top", (16, 2)),
        (ADAPTIVE, "mid", (4, 2)),
        (MONOTONE, "top", (4, 2)),
        (MONOTONE, "mid", (1, 2)),
        ("tests/bench/specs/svt_with_gap_theta.dp", "top", (4, 2)),
        ("tests/bench/specs/svt_with_gap_theta_monotone.dp", "top", (1, 2)),
    ],
)
def test_the_published_splits_come_out(path: str, field: str, inside: tuple[int, int]) -> None:
    """theta = 1/(1 + (16 k^2)^(1/3)), …: to 10 digits for k = 1 to 7."""
    found = best_split(parse(read_source(str(PROJECT / path))), field, "gap", "theta")
    for k in range(1, 8):
        value = eval(found.value, {"k": k})
        assert value == pytest.approx(1 / (1 + (inside[0] * k ** inside[1]) ** (1 / 3)), rel=1e-10)


SPEC = """mechanism split

input
  x : query, sensitivity {size}
  share : real where 0 < share < 1
  eps : real where eps > 0

privacy eps

program
  a ~ Lap({size}/(share*eps))
  b ~ Exp({times}*{size}/((1 - share)*eps))
  emit r(y = x + a, z = x + 2*a - {times}*b, w = max(a, b))
"""


def test_other_names_and_scales_get_their_own_optimum() -> None:
    found = best_split(parse(Source("m", SPEC.format(size=3, times=2))), "r", "z", "share")
    # 4*2*9/share^2 + 4*36/(1 - share)^2: the shares are as the cube roots of 72 and 144
    assert eval(found.value, {}) == pytest.approx(1 / (1 + 2 ** (1 / 3)), rel=1e-10)


def test_the_variance_is_that_of_samples() -> None:
    reading = ProgramReading(parse(Source("m", SPEC.format(size=1, times=1))))
    formula = variance_of(reading, "r", "z")
    values = {"share": 0.5, "eps": 1}
    expected = float(formula.subs({symbol: values[symbol.name] for symbol in formula.free_symbols}))
    chance = random.Random(1)

    def laplace() -> float:
        return chance.expovariate(1 / 2) - chance.expovariate(1 / 2)

    drawn = [2 * laplace() - chance.expovariate(1 / 2) for _ in range(40_000)]
    assert statistics.variance(drawn) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("field", "parameter", "why"),
    [
        ("w", "share", "no linear expression"),
        ("v", "share", "has a field"),
        ("z", "eps", "must be declared"),
        ("y", "share", "no minimum"),
    ],
)
def test_what_has_no_best_split_is_refused(field: str, parameter: str, why: str) -> None:
    with pytest.raises(NoFormulaError, match=why):
        best_split(parse(Source("m", SPEC.format(size=1, times=1))), "r", field, parameter)


THRESHOLD = """mechanism found
input
  answers : queries, sensitivity 3
  level : real
  budget : real where budget > 0
privacy budget
program
  low ~ Exp(6/budget)
  for j, x in answers:
    high[j] ~ Lap(12/budget)
    if x + high[j] >= level + low:
      emit seen(by = x + high[j] - low)
      break
    else:
      emit not_seen
align
  low += 3
  high[j] += 3 + answers[j] - answers'[j]   when out[j] is seen
"""


def test_free_scales_are_those_of_a_numeric_minimum() -> None:
    """Under `3/a + 6/b = budget` the variance `a^2 + 2 b^2`, which is computed here by hand, is least."""
    found = best_scales(Source("m", THRESHOLD), Effort(steps=STEPS), "seen", "by")

    def variance(share: float) -> float:
        return (3 / share) ** 2 + 2 * (6 / (1 - share)) ** 2

    assert float(Fraction(eval(found.variance, {"budget": 1}))) == pytest.approx(
        min(variance(share / 10_000) for share in range(1, 10_000)), rel=1e-6
    )
    assert "low ~ Exp(" in found.source.text
    assert isinstance(verify_source(found.source, Options(explain=False)), Verified)


def test_free_scales_split_the_sparse_vector_as_the_dissertation_does(exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("the splits by theta are the same")
    path = str(PROJECT / "specs/svt_with_gap.dp")
    found = best_scales(read_source(path), Effort(steps=STEPS), "top", "gap")
    for k in (1, 2, 7):
        y = (1 / (4 * k**2)) ** (1 / 3)
        scale = eval(dict(found.scales)["eta"], {"k": k, "eps": 1, "y_eta": y})
        assert 1 / scale == pytest.approx(1 / (1 + (4 * k**2) ** (1 / 3)), rel=1e-10)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(PROJECT / "tests/bench/specs/svt_with_gap_theta_monotone.dp")
    assert main(["tune", path, "--minimise", "top.gap", "--over", "theta"]) == 0
    assert capsys.readouterr().out.startswith("theta = 1/(k**(2/3) + 1)\n")
    wrong = tmp_path / "m.dp"
    wrong.write_text(SPEC.format(size=1, times=1))
    assert main(["tune", str(wrong), "--minimise", "r.z", "--over", "share"]) == 1
    assert main(["tune", path, "--minimise", "top", "--over", "theta"]) == 2
