"""Many files in one process: what was checked before changes nothing."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from aligncheck.commands.checking import checking
from aligncheck.language.check.further import checked
from aligncheck.language.syntax.read import read_source
from aligncheck.search.failing.counterexamples import few_runs, simplified
from aligncheck.verdict import Verdict

SPECS = Path(__file__).parents[2] / "specs"


def verdicts(files: list[str]) -> dict[str, Verdict]:
    with checking(files, timeout=60, jobs=1, explain=False) as results:
        return {result.path: result.verdict for result in results}


def test_a_result_is_the_same_whichever_files_came_before() -> None:
    """The witness, the failing run, and what is said: forwards and backwards, by one process each time."""
    names = ("svt", "broken/zero_scale", "noisy_max", "broken/off_lattice", "broken/hidden_draw_count")
    files = [str(SPECS / f"{name}.dp") for name in names]
    assert verdicts(files) == verdicts(files[::-1])


BROKEN = (
    "histogram_all",
    "isvt1",
    "isvt2",
    "leader_left_out",
    "noisy_max_half_noise",
    "noisy_max_runner_up",
    "noisy_max_true_gap",
    "sign_slip",
    "smart_sum_no_block_noise",
    "svt_monotone_one_direction",
)


@pytest.mark.parametrize("name", BROKEN)
def test_a_failing_run_has_few_entries_and_small_numbers(name: str) -> None:
    made = checked(read_source(str(SPECS / "broken" / f"{name}.dp")))
    for found in few_runs(made).violating.values():
        scenario = simplified(made, found).counterexample.scenario
        drawn = [value for _, value in scenario.noise if value]
        given = [v for _, values in (*scenario.data, *scenario.data_prime) for v in values]  # type: ignore[union-attr]
        assert len(drawn) <= 2
        assert len(given) <= 6
        assert all(
            isinstance(v, Fraction) and 2 * v == round(2 * v) and abs(v) <= 3 for v in (*drawn, *given)
        )
