"""Every verified selection, compiled and run on real counts by the commands that users run."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from aligncheck.cli import main
from aligncheck.expect import expectation_in
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.verdict import FileResult, Verified

PROJECT = Path(__file__).parents[2]
TEXTS = {
    path: path.read_text("utf-8")
    for pattern in ("noisy_*.dp", "hybrid_*.dp")
    for path in sorted((PROJECT / "specs").glob(pattern))
}
SPECS = [
    path
    for path, text in TEXTS.items()
    if "\nuse " not in text
    and " : queries" in text
    and not re.search(r"\n {4,}\w+ = argmax", text)
    and (found := expectation_in(text))
    and found.verdict == "verified"
]
"""But those that call another, of rows or columns of a table, of one answer, and those that choose anew in
each round.
"""
DATA = {"T10I4D100K_counts.csv": 870, "groceries_counts.csv": 169}
K = 5
ABOVE = 3
"""So many answers lie above the threshold, where there is one."""
SLACK = 1.0
"""How far off a noisy number may be at an ε at which all noise is tiny."""


@cache
def table(data: str) -> dict[str, int]:
    """The counts by item, in the file's order."""
    with open(PROJECT / "tests" / "data" / data, encoding="utf-8", newline="") as file:
        return {row["item"]: int(row["count"]) for row in csv.DictReader(file)}


def settings(counts: list[int]) -> dict[str, str]:
    """A value for every parameter of every selection, by its name; those of the noise are added."""
    falling = sorted(counts, reverse=True)
    return {
        "k": str(K),
        "T": str((falling[ABOVE - 1] + falling[ABOVE]) / 2),
        "theta": "1/4",
        "m": "1",
        "g": "1",
        "R": str(falling[0]),
        "b": str(falling[0]),
        "centre": ",".join(["0"] * len(counts)),
        "ok": ",".join("true" if i % 3 else "false" for i in range(len(counts))),
        "someone": "1",
    }


def numbered_before(spec: Path) -> int:
    """How many other things are numbered before the answers (the threshold); such records name no items."""
    return int("range(len(q) + 1)" in TEXTS[spec])


def eligible(name: str, i: int) -> bool:
    """Whether item number i competes, under the settings above."""
    return i % 3 > 0 or "ok : bool vector" not in TEXTS[PROJECT / "specs" / f"{name}.dp"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def modules(folder: Path, install_checker: Callable[[Any], None]) -> Callable[[Path], Path]:
    """Specs, compiled once each. That they are verified is what `tests/corpus` tests."""

    def verified(path: str, options: object) -> FileResult:
        source = read_source(path)
        return FileResult(
            path, Verified(check(source, parse(source)), Witness(), Accepted("acyclic", ())), 0.1, source.text
        )

    def module(spec: Path) -> Path:
        out = folder / f"{spec.stem}.py"
        if not out.exists():
            install_checker(verified)
            assert main(["compile", str(spec), "-o", str(out)]) == 0
        return out

    return module


def run(module: Path, data: str, eps: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    names = re.findall(r'ParameterInfo\(\s*"(\w+)"', module.read_text("utf-8"))
    values = {**settings(list(table(data).values())), "eps": eps}
    options = [part for name in names for part in ("--set", f"{name}={values[name]}")]
    path = str(PROJECT / "tests" / "data" / data)
    assert main(["run", str(module), "--data", path, *options, "--seed", "11", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def test_all_selections_are_here() -> None:
    assert {"noisy_max", "noisy_topk_gap", "hybrid_topk_gap", "hybrid_sparse_gap"} <= {p.stem for p in SPECS}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_selections_find_the_greatest_counts(
    spec: Path, modules: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for data, size in DATA.items():
        document = run(modules(spec), data, "1000000", capsys)
        assert set(document["answers"].values()) == {size}
        counts = table(data)
        items = [item for i, item in enumerate(counts) if eligible(spec.stem, i)]
        ranked = sorted(items, key=lambda item: -counts[item])
        places = [index - numbered_before(spec) for index in indices(document)]
        found = [list(counts.values())[place] for place in places if place >= 0]
        wanted = [counts[item] for item in ranked[: len(found)]]
        assert found == pytest.approx(wanted, abs=SLACK)  # counts that differ by less may trade places
        given = document["parameters"]
        assert len(found) == (ABOVE if "T" in given else K if "k" in given else 1)
        check_gaps(spec, document, [counts[item] for item in ranked], settings(list(counts.values()))["T"])


def indices(document: dict[str, Any]) -> list[int]:
    """The number that each record releases beside its gap."""
    fields = [list(record["fields"].items()) for record in document["records"]]
    return [value for of_record in fields for name, value in of_record if name != "gap"]


def gaps_in(document: dict[str, Any]) -> list[Fraction]:
    """The gaps that were released; JSON has rational numbers as text."""
    fields = [record["fields"] for record in document["records"]]
    return [Fraction(of_record["gap"]) for of_record in fields if "gap" in of_record]


def check_gaps(spec: Path, document: dict[str, Any], ranked: list[int], threshold: str) -> None:
    """Each gap is how far an answer is above the next, or above the threshold."""
    gaps = gaps_in(document)
    assert bool(gaps) == ("gap =" in TEXTS[spec])
    sparse = "gap to it" in TEXTS[spec]
    values: list[float] = [*ranked]
    if "T" in document["parameters"]:
        values = sorted([*ranked, float(threshold)], reverse=True)
    for place, gap in enumerate(gaps):
        below = float(threshold) if sparse else values[place + 1]
        assert float(gap) == pytest.approx(values[place] - below, abs=2 * SLACK)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_records_name_the_items_they_index(
    spec: Path, modules: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """At an ε at which noise decides."""
    for data, size in DATA.items():
        document = run(modules(spec), data, "1/10", capsys)
        items = list(table(data))
        found = indices(document)
        assert len(set(found)) == len(found) == len(document["records"])
        assert all(gap >= 0 for gap in gaps_in(document))
        names = [record["item"] for record in document["records"]]
        numbered = [None] * numbered_before(spec) + items  # a threshold that competes has no name
        assert len(numbered) == size + numbered_before(spec)
        assert names == [numbered[index] for index in found]
