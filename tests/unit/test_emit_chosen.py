"""What compiled mechanisms say about choices beside which a gap is released."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle import as_if_verified, load

from aligncheck.compiler.emit.chosen import chosen_gaps
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.runtime import ChoiceGap, Result

SPECS = Path(__file__).parents[2] / "specs"
NAMES = ("exponential_mechanism_gap", "exponential_mechanism_gap_monotone", "exponential_mechanism_gumbel")


def text(name: str) -> str:
    return (SPECS / f"{name}.dp").read_text("utf-8")


def gaps(spec: str) -> int:
    return len(chosen_gaps(parse(Source("m.dp", spec))))


def test_these_specs_release_a_gap_beside_a_choice_and_no_others() -> None:
    assert {path.stem for path in SPECS.glob("*.dp") if gaps(path.read_text("utf-8"))} == set(NAMES)


@pytest.mark.parametrize(
    ("name", "part", "other"),
    [
        (NAMES[0], "where gap > 0", ""),  # Theorem 5.14 is about numbers that are cut off at 0
        (NAMES[0], "where gap > 0", "where gap > 1"),
        (NAMES[0], "where j != winner", ""),
        (NAMES[0], "where j != winner", "where j < winner"),
        (NAMES[0], "eps*u[winner]/(2*Delta) -", "eps*u[winner]/Delta -"),
        (NAMES[0], "Logistic(theta, 1)", "Logistic(theta, 2)"),
        (NAMES[0], "index = winner, ", ""),  # which answer is not said
        (NAMES[1], "unit*logsumexp", "2*logsumexp"),
        (NAMES[1], "u[winner] -", "eps*u[winner] -"),
        (NAMES[2], "Gumbel(2*Delta/eps)", "Exp(2*Delta/eps)"),
        (NAMES[2], "+ eta[winner]", "+ 2*eta[winner]"),
        (NAMES[2], "where i != winner", ""),
        (NAMES[2], "argmax(u[i] + eta[i]", "argmax(u[i] + 2*eta[i]"),
    ],
)
def test_of_other_gaps_nothing_is_said(name: str, part: str, other: str) -> None:
    program = text(name).partition("program")
    assert part in program[2]
    assert gaps("".join((*program[:2], program[2].replace(part, other)))) == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_run_says_how_likely_the_gap_is_beside_a_choice_that_is_not_the_best(name: str) -> None:
    source = Source(f"{name}.dp", text(name))
    module = emit_python(as_if_verified(check(source, parse(source))), RunMode.REFINED)
    cls: Any = load(module)
    result = cls(Delta=1, eps=Fraction(1, 2), testing_seed=3)([0, 1, 40])
    (record,), (choice,) = result.records, result.choices
    unit = 2 if name == NAMES[1] else 1
    assert choice == ChoiceGap(record.gap, unit)
    assert choice.p_value == pytest.approx(2 / (1 + math.exp(float(record.gap) / unit)))
    assert choice.expected_gap(0) == pytest.approx(2 * math.log(2) * unit)
    assert json.loads(result.to_json())["choices"][0]["p_value"] == choice.p_value
    assert f"the returned answer is the best one, p = {choice.p_value:.3g}" in result._repr_html_()
    assert Result.from_json(result.to_json(), type(record)) == result
