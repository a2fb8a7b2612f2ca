"""Which levels are tested, what is concluded from their p-values, and how that is told and drawn."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from aligncheck.report import statistical as report
from aligncheck.statistical import results, tester
from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.curve import check_plot, draw_curve
from aligncheck.statistical.output_events import Entry, Within
from aligncheck.statistical.patterns import InputPair
from aligncheck.statistical.plan import Bar, Plan, Setup
from aligncheck.statistical.probe import Probe
from aligncheck.statistical.reference import Reference
from aligncheck.statistical.results import Level, Randomness
from aligncheck.statistical.tester import run_test

PAIR = InputPair("one above", [1.0, 1.0], [2.0, 1.5])
EVENT = (Within(Entry(0), 1.0, math.inf),)


def level(pvalue: float, eps: float = 1.0, delta: float = 0.0, first: int = 300, second: int = 100) -> Level:
    return Level(eps, delta, math.log(pvalue), PAIR, EVENT, first, second, 1000, True)


def outcome(
    pvalues: dict[Bar, float],
    monkeypatch: pytest.MonkeyPatch,
    claims: Bar | None = None,
    randomness: Randomness = "seeded",
    batched: bool = False,
    plans: list[Plan] | None = None,
    **plan: Any,
) -> results.Tested:
    """The test of a function that says that it `claims` so much, where levels have these p-values: they, and
    no others, are what is to be tested, independence first.
    """

    def levels_of(plan: Plan, bars: Sequence[Bar], *_: Any) -> list[Level]:
        if plans is not None:
            plans.append(plan)
        assert list(bars) == [(0.0, 0.0), *sorted(pvalues.keys() - {(0.0, 0.0)})]
        return [level(pvalues.get((eps, delta), 1e-9), eps, delta) for eps, delta in bars]

    first = Probe("one call per run", batched, 0.001, claims, False, randomness)
    monkeypatch.setattr(tester, "probe", lambda _: first)
    monkeypatch.setattr(tester, "tested_levels", levels_of)
    usual = {"levels": None, "claim": None, "selection": 1000, "runs": 1000, "alpha": 0.01, "seed": 7}
    whole = Plan(Setup(Reference("m", "f")), (PAIR,), **{**usual, "jobs": 1, "timeout": 60.0, **plan})
    return run_test(whole, lambda *_: None)


# --- levels -------------------------------------------------------------------------------------------------


def test_a_level_is_rejected_up_to_alpha_and_its_ratio_is_of_the_counts() -> None:
    assert level(0.05).rejected(0.05)
    assert not level(0.0501).rejected(0.05)
    counts = [(300, 100), (100, 300), (3, 0), (0, 3)]
    assert [level(1, first=a, second=b).ratio for a, b in counts] == [3, 1 / 3, math.inf, 0]
    assert math.isnan(level(1, first=0, second=0).ratio)


@pytest.mark.parametrize(
    ("plan", "claims", "claim", "bars"),
    [
        ({}, (1.0, 0.0), 1, [(1, 0)]),
        ({}, (1.0, 0.25), 1, [(1, 0.25)]),
        ({"delta": 0.5}, (1.0, 0.25), 1, [(1, 0.5)]),
        ({"claim": 2.0}, (1.0, 0.25), 2, [(2, 0.25)]),
        ({"levels": (3.0,)}, (1.0, 0.0), 3, [(3, 0)]),
        ({"levels": (3.0,), "claim": 2.0}, (1.0, 0.0), 2, [(2, 0), (3, 0)]),
        ({"levels": (3.0, 4.0)}, (1.0, 0.0), 1, [(1, 0), (3, 0), (4, 0)]),
        ({"levels": (3.0, 4.0), "claim": 4.0, "delta": 0.5}, None, 4, [(3, 0.5), (4, 0.5)]),
        ({"claim": 0.0}, None, 0, [(0, 0)]),
    ],
)
def test_the_claim_is_what_is_said_or_the_only_level_or_what_the_function_says(
    plan: dict[str, Any], claims: Bar | None, claim: float, bars: list[Bar], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outcome(dict.fromkeys(bars, 0.5), monkeypatch, claims, **plan)
    assert [(each.eps, each.delta) for each in found.levels] == bars
    assert (found.claim, found.claimed.eps) == (claim, claim)


@pytest.mark.parametrize(
    ("plan", "message", "advice"),
    [
        ({}, "it is not said at which level to test", "--eps VALUE"),
        ({"levels": (1.0, 2.0)}, "it is not said which of these levels the function claims", "--claim VALUE"),
        ({"claim": -1.0}, "a claim of -1 is no privacy level", None),
        ({"claim": math.nan}, "a claim of nan is no privacy level", None),
    ],
)
def test_what_is_no_claim(
    plan: dict[str, Any], message: str, advice: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CannotTest) as error:
        outcome({}, monkeypatch, **plan)
    assert (error.value.message, error.value.advice) == (message, advice)


@pytest.mark.parametrize(
    ("claimed", "independence", "finding"),
    [
        (0.01, 1e-9, "evidence"),
        (0.0101, 1e-9, "no evidence"),
        (0.0101, 0.01, "no evidence"),
        (0.5, 0.0101, "no dependence"),
    ],
)
def test_what_is_found(
    claimed: float, independence: float, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outcome({(1, 0): claimed, (0, 0): independence}, monkeypatch, claim=1.0)
    assert found.finding == finding


@pytest.mark.parametrize(
    ("pvalues", "up_to"),
    [((0.5, 0.5, 0.5), None), ((1e-9, 0.01, 0.5), 2), ((0.02, 1e-9, 1e-9), None), ((1e-9, 0.02, 1e-9), 1)],
)
def test_levels_are_rejected_one_after_the_other(
    pvalues: tuple[float, ...], up_to: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not beyond one that is not: only so is the chance of a wrong one at most alpha for all together."""
    bars = dict(zip([(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)], pvalues, strict=True))
    assert outcome(bars, monkeypatch, claim=3.0, levels=(1.0, 2.0)).violated_up_to == up_to


@pytest.mark.parametrize(
    ("randomness", "how"), [("seeded", (8, True)), ("fresh", (8, False)), ("kept", (1, False))]
)
def test_processes_share_only_what_is_seeded(
    randomness: Randomness, how: tuple[int, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two would draw the same from a generator that is kept: all runs are made in one. And one that the
    system seeds, when a module is imported, would be the same in those that have the import in common.
    """
    made = []

    class Processes:
        def __init__(self, plan: Plan, _progress: Any, *, shared: bool) -> None:
            made.append((plan.jobs, shared))

        def __call__(self, function: Callable[[Any], Any], items: Sequence[Any], *_: Any) -> list[Any]:
            (item,) = items
            return [function(item)]

    monkeypatch.setattr(tester, "Processes", Processes)
    outcome({(1, 0): 0.5}, monkeypatch, (1.0, 0.0), randomness, jobs=8)
    assert made == [how]


@pytest.mark.parametrize(("batched", "patience"), [(False, 60), (True, 20 * 0.001 * 25_000)])
def test_a_call_for_many_runs_has_the_time_that_they_seem_to_take(
    batched: bool, patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[Plan] = []
    outcome({(1, 0): 0.5}, monkeypatch, (1.0, 0.0), batched=batched, plans=plans)
    assert [plan.setup.patience for plan in plans] == [patience]


# --- what is told -------------------------------------------------------------------------------------------


def shown(found: results.Tested) -> str:
    console = Console(file=StringIO(), width=300, highlight=False)
    console.print(report.render_tested(found))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("bars", "plan", "texts", "absent"),
    [
        (
            {(1, 0): 0.01, (0, 0): 1e-9},
            {"claim": 1.0},
            [
                "EVIDENCE AGAINST eps = 1 ",
                "300 times in 1,000 runs",
                "ratio      3, beside e^eps = 2.718",
                "p-value    0.01 for",
                "a function that is 1-private is accused so with probability at most 0.01",
            ],
            ["NO EVIDENCE", "claims nothing", "rejected"],
        ),
        (
            {(1, 0.25): 0.5, (0, 0): 1e-9},
            {"claim": 1.0, "delta": 0.25},
            [
                "NO EVIDENCE AGAINST eps = 1, delta = 0.25 ",
                "on D as on D', and 0.25 more",
                "with 99 % confidence, at delta 0.25",
                "this claims nothing",
            ],
            ["accused"],
        ),
        (
            {(1, 0): 0.9, (0, 0): 0.5},
            {"claim": 1.0},
            ["NO DEPENDENCE ON THE INPUT SEEN", "beside e^eps = 1\n", "this is not shown to be private"],
            ["loss", "claims nothing"],
        ),
        (
            {(1, 0): 1e-9, (2, 0): 0.3, (0, 0): 1e-9},
            {"claim": 2.0, "levels": (1.0, 2.0)},
            [
                "NO EVIDENCE AGAINST eps = 2 ",
                "1    1e-09    rejected     3      output[0] >= 1",
                "2    0.3      (the claim)  3      as above",
                "levels are rejected one after the other, up to eps = 1",
            ],
            [],
        ),
    ],
)
def test_a_report_says_what_was_found_and_no_more(
    bars: dict[Bar, float],
    plan: dict[str, Any],
    texts: list[str],
    absent: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = shown(outcome(bars, monkeypatch, **plan))
    assert [each for each in texts if each not in text] == []
    assert [each for each in absent if each in text] == []
    assert "REFUTED" not in text


@pytest.mark.parametrize(
    ("randomness", "note"),
    [
        ("seeded", "`--seed 7` repeats this"),
        ("fresh", "its randomness cannot be seeded"),
        ("kept", "all was run in one process"),
    ],
)
def test_only_what_is_seeded_can_be_repeated(
    randomness: Randomness, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tester, "_tested", lambda *_: [level(1, 0), level(0.5)])
    text = shown(outcome({(1, 0): 0.5}, monkeypatch, (1.0, 0.0), randomness))
    assert note in text
    assert ("repeats this" in text) == (randomness == "seeded")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([1.0, 2.5, 1e20], "[1, 2.5, 1e+20]"),
        ([[0.0], True], "[[0], true]"),
        ({"age": 30.0, "name": "Zoë", "job": None}, '{"age": 30, "name": "Zoë", "job": null}'),
    ],
)
def test_an_input_is_shown_as_it_can_be_given_again(
    data: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = InputPair("given pair 1", data, [], (("T", "1/2"),), (("k", "3"),))
    found = outcome({(1, 0): 0.5}, monkeypatch, claim=1.0)
    text_shown = shown(replace(found, claimed=replace(found.claimed, pair=pair)))
    lines = [" ".join(line.split()) for line in text_shown.split("\n")]
    assert f"D {text} (given pair 1)" in lines
    assert json.loads(text) == data
    assert {"T 1/2 (chosen among those given)", "k 3 (chosen by the spec)"} <= set(lines)


def test_pvalues_that_are_no_float(monkeypatch: pytest.MonkeyPatch) -> None:
    least = Level(1, 0, -5e4, PAIR, EVENT, 9, 0, 10, True)
    none = Level(2, 0, 0.0, None, None, 0, 0, 10, False)
    found = outcome({(2, 0): 0.5}, monkeypatch, claim=2.0)
    found = replace(found, claimed=none, levels=(least, none), independence=least)
    text = shown(found)
    assert "no event is frequent enough for a test at this level" in text
    assert "1    < 1e-300  rejected     infinite" in text
    document = json.loads(json.dumps(report.tested_document(found), allow_nan=False))
    first, second = document["levels"]
    assert (first["p_value"], first["rejected"], first["event"]) == (0, True, "output[0] >= 1")
    assert first["log10_p_value"] == pytest.approx(-5e4 / math.log(10))
    assert (second["p_value"], second["rejected"], second["event"], second["D"]) == (1, False, None, None)


# --- the plot -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("curve.txt", "is no name of a plot"),
        ("svg", "is no name of a plot"),
        ("none/curve.svg", "no such folder"),
        ("curve.svg", "needs matplotlib"),
    ],
)
def test_a_plot_that_could_not_be_written_is_refused_before_the_runs(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CannotTest, match=message):
        check_plot(str(tmp_path / name))


def test_a_plot_has_the_pvalues_over_their_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure
    found = outcome({(1, 0): 0.001, (2, 0): 0.25}, monkeypatch, claim=2.0, levels=(1.0, 2.0))
    drawn: list[list[float]] = []

    def savefig(self: Any, path: str, *, metadata: Any, **_: Any) -> None:
        (axes,) = self.axes
        drawn.extend(list(data) for line in axes.get_lines() for data in (line.get_xdata(), line.get_ydata()))
        assert metadata == {"Date": None}  # the same file from the same result

    monkeypatch.setattr(figure, "savefig", savefig)
    check_plot(str(tmp_path / "Curve.SVG"))
    draw_curve(found, str(tmp_path / "Curve.SVG"))
    claim, _, _, alpha, levels, pvalues = drawn
    assert (claim, alpha, levels) == ([2, 2], [0.01, 0.01], [1, 2])
    assert pvalues == pytest.approx([0.001, 0.25])
