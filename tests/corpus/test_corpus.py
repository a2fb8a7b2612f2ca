"""Every spec against its own `expect` line, the failing condition included, by the command that users run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aligncheck.diagnostics import SpecError
from aligncheck.expect import expectation_in
from aligncheck.syntax.parse import parse, read_source

PROJECT = Path(__file__).parents[2]
SPECS = sorted(path.relative_to(PROJECT).as_posix() for path in (PROJECT / "specs").rglob("*.dp"))
BROKEN = [spec for spec in SPECS if spec.startswith("specs/broken/")]


@cache
def document(jobs: int) -> dict[str, Any]:
    """What one run over all specs prints."""
    command = ["verify", "--expect", "--json", "--timeout", "60", "--jobs", str(jobs), "specs"]
    done = subprocess.run(
        [sys.executable, "-m", "aligncheck", *command],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.stdout, done.stderr
    printed = json.loads(done.stdout)
    assert isinstance(printed, dict)
    return printed


def corpus(jobs: int) -> dict[str, dict[str, Any]]:
    """Its results by path."""
    return {result["path"]: result for result in document(jobs)["results"]}


def test_the_document_satisfies_its_schema() -> None:
    schema = json.loads((PROJECT / "aligncheck" / "report" / "verify.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document(2))


def test_every_spec_is_checked() -> None:
    assert list(corpus(2)) == SPECS


@pytest.mark.parametrize("spec", SPECS)
def test_spec_does_what_it_expects(spec: str) -> None:
    result = corpus(2)[spec]
    explanation = result["failure"] or result["undecided"] or result["diagnostic"] or {}
    assert result["expected"]["agrees"], (result["expected"], explanation.get("message"))


@pytest.mark.parametrize("spec", SPECS)
def test_what_fails_is_shown_by_a_run_or_pointed_at(spec: str) -> None:
    result = corpus(2)[spec]
    for part in ("failure", "diagnostic"):
        if result[part] is not None:
            assert result[part]["line"] is not None
            assert result[part]["text"].strip()


def test_the_verdicts_do_not_depend_on_the_order_of_the_work() -> None:
    assert without_times(corpus(1)) == without_times(corpus(2))


def without_times(value: Any) -> Any:
    match value:
        case dict():
            return {key: without_times(item) for key, item in value.items() if key != "seconds"}
        case list():
            return [without_times(item) for item in value]
        case _:
            return value


@pytest.mark.parametrize("spec", SPECS)
def test_the_expect_line_is_found_in_the_text_as_in_the_tree(spec: str) -> None:
    """`verify --expect` needs it also of files that do not parse."""
    source = read_source(str(PROJECT / spec))
    found = expectation_in(source.text)
    assert found is not None
    try:
        assert parse(source).expect == found
    except SpecError:
        assert found.verdict == "error"


@pytest.mark.parametrize("spec", BROKEN)
def test_a_broken_spec_says_what_to_read_it_beside(spec: str) -> None:
    text = (PROJECT / spec).read_text("utf-8")
    beside = re.findall(r"Read beside: (specs/\w+\.dp)", text)
    assert beside
    assert set(beside) <= set(SPECS) - set(BROKEN)


@pytest.mark.parametrize("spec", BROKEN)
def test_a_broken_spec_is_not_expected_to_verify(spec: str) -> None:
    expected = expectation_in((PROJECT / spec).read_text("utf-8"))
    assert expected is not None
    assert expected.verdict != "verified"
    assert expected.at is not None
