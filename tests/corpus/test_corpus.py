"""Every spec against its own `expect` line, the failing condition included, by the command that users run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aligncheck.expect import expectation_in
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.parse import parse, read_source

PROJECT = Path(__file__).parents[2]
SPECS = sorted(path.relative_to(PROJECT).as_posix() for path in (PROJECT / "specs").rglob("*.dp"))
BROKEN = [spec for spec in SPECS if spec.startswith("specs/broken/")]


def printed(*arguments: str) -> str:
    """What `aligncheck verify` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "aligncheck", "verify", "--json", "--timeout", "60", *arguments],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1200,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one run over all specs prints; test processes that run side by side share it."""
    shared = "PYTEST_XDIST_WORKER" in os.environ
    folder = tmp_path_factory.getbasetemp().parent if shared else tmp_path_factory.getbasetemp()
    result = folder / "corpus.json"
    try:
        (folder / "corpus.lock").mkdir()
    except FileExistsError:
        end = time.monotonic() + 1200
        while not result.exists() and time.monotonic() < end:
            time.sleep(0.2)
    else:
        unfinished = folder / "corpus.part"
        unfinished.write_text(printed("--expect", "specs"), "utf-8")
        unfinished.rename(result)
    document = json.loads(result.read_text("utf-8"))
    assert isinstance(document, dict)
    return document


@pytest.fixture(scope="session")
def corpus(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Its results by path."""
    return {result["path"]: result for result in document["results"]}


def test_the_document_satisfies_its_schema(document: dict[str, Any]) -> None:
    schema = json.loads((PROJECT / "aligncheck" / "report" / "verify.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_every_spec_is_checked(corpus: dict[str, dict[str, Any]]) -> None:
    assert list(corpus) == SPECS


@pytest.mark.parametrize("spec", SPECS)
def test_spec_does_what_it_expects(corpus: dict[str, dict[str, Any]], spec: str) -> None:
    result = corpus[spec]
    explanation = result["failure"] or result["undecided"] or result["diagnostic"] or {}
    assert result["expected"]["agrees"], (result["expected"], explanation.get("message"))


def test_the_kernel_accepts_all_that_the_search_proves(corpus: dict[str, dict[str, Any]]) -> None:
    undecided = {spec: (result["undecided"] or {}).get("message", "") for spec, result in corpus.items()}
    assert not {s: text for s, text in undecided.items() if "kernel" in text}


@pytest.mark.parametrize("spec", SPECS)
def test_what_fails_is_shown_by_a_run_or_pointed_at(corpus: dict[str, dict[str, Any]], spec: str) -> None:
    result = corpus[spec]
    for part in ("failure", "diagnostic"):
        if result[part] is not None:
            assert result[part]["line"] is not None
            assert result[part]["text"].strip()


@pytest.mark.parametrize("spec", SPECS[::19])
def test_a_spec_alone_gets_the_same_document_as_among_others(
    corpus: dict[str, dict[str, Any]], spec: str
) -> None:
    """Solvers and caches carry nothing from one file to the next."""
    (alone,) = json.loads(printed("--expect", spec))["results"]
    assert comparable(alone) == comparable(corpus[spec])


def comparable(result: dict[str, Any]) -> Any:
    """All but times, and but the numbers of a violation: how small they get depends on the time there was."""
    failure = result["failure"] and {key: result["failure"][key] for key in ("condition", "line", "column")}
    return without_times({**result, "failure": failure})


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
