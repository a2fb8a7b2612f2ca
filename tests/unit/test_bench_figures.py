"""The benchmarks of hybrids and p-values: their formulas, and runs on a small scale."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import gaps
import hybrids
import pvalues
import pytest
import synthetic
from oracle import as_if_verified

from aligncheck.compiler.modes import RunMode
from aligncheck.execute.load import CheckedSpec, load
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.runtime import FloatingNoise, ParameterError, choice_p_value, expected_choice_gap


def _loaded(path: object) -> Any:
    """Compiled as if it were verified: the proof takes longer than all the rest."""

    def checked(text: str) -> CheckedSpec:
        source = read_source(text)
        return CheckedSpec(as_if_verified(check(source, parse(source))), RunMode.LATTICE)

    return load(str(path), checked)


def test_the_expected_gap_is_that_of_the_cut_logistic_distribution() -> None:
    for theta in (-3.0, 0.0, 2.5):
        step, total, mass = 1e-3, 0.0, 0.0
        for i in range(40_000):
            x = (i + 0.5) * step
            weight = math.exp(-(x - theta)) / (1 + math.exp(-(x - theta))) ** 2
            total, mass = total + x * weight, mass + weight
        assert expected_choice_gap(theta) == pytest.approx(total / mass, rel=1e-5)


def test_gaps_are_taken_in_their_unit() -> None:
    assert choice_p_value(0) == 1
    assert (
        choice_p_value(Fraction(9, 2), Fraction(3, 2))
        == choice_p_value(3)
        == pytest.approx(2 / (1 + math.e**3))
    )
    assert 0 < choice_p_value(10**9) < 1e-300  # at most so likely, and never impossible
    assert expected_choice_gap(8, 2) == pytest.approx(2 * expected_choice_gap(4))
    assert expected_choice_gap(-(10**6), 3) == 3
    assert expected_choice_gap(10**6) == pytest.approx(10**6)
    for wrong in ((-1, 1), (1, 0)):
        with pytest.raises(ParameterError):
            choice_p_value(*wrong)


def test_a_gap_beside_a_wrong_choice_seldom_has_a_small_p_value() -> None:
    assert choice_p_value(math.log(2 / 0.05 - 1)) == pytest.approx(0.05)
    row = pvalues.measure(_loaded(pvalues.SPEC), [8, 7, 7, 1, 0], 0.5, 800, FloatingNoise(1))
    assert 100 < row.missed < 800
    for share, level in zip(row.wrong, pvalues.LEVELS, strict=True):
        assert share <= level + 4 * math.sqrt(level / row.missed)
    assert abs(row.gap - row.theory) < 4 * row.error < 0.3


def test_hybrids_leave_what_they_leave_without_noise_where_answers_are_far_apart() -> None:
    counts = [10_000 * (30 - i) for i in range(30)]
    counts[11] += 5_000  # no answer is at the threshold
    for k in (6, 20):
        rows = [
            hybrids.measure(side, _loaded(side.spec), [*counts[:11], *counts[12:]], k, 3, FloatingNoise(1))
            for side in hybrids.SIDES
        ]
        assert rows[2].left == 0
        if k == 6:
            assert rows[0].answer == rows[1].answer == rows[2].answer == 10_000 * 27.5
        else:
            assert rows[0].left <= hybrids.noiseless(k)[0] + 1 / k
            assert rows[1].left <= hybrids.noiseless(k)[1] + 1 / k
            assert rows[0].answer > rows[2].answer
    assert gaps.ranked(counts, hybrids.RANK) == counts[11]


def test_synthetic_counts_have_the_papers_sizes() -> None:
    for shape in synthetic.SHAPES:
        counts = shape.counts()
        assert len(counts) == shape.items
        assert max(counts) == int(shape.share * shape.transactions)
        assert min(counts) >= 0
        assert counts == shape.counts()
