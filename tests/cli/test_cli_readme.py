"""The sessions in README and docs are real: each command is run, and its output is what stands there."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
README = PROJECT / "README.md"
PAGES = (README, *(PROJECT / "docs" / f"{name}.md" for name in ("guide", "statistics")))
FIRST_HOUR = PROJECT / "docs" / "first-hour.md"
TEXTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), PROJECT / "specs" / "README.md"])
SESSION = re.compile(r"^```console\n\$ (?P<command>[^\n]+)\n(?P<output>.*?)^```$", re.M | re.S)
COMMANDS = [
    (page, number, match["command"])
    for page in PAGES
    for number, match in enumerate(SESSION.finditer(page.read_text("utf-8")))
]
TIME = re.compile(r" *\b(\d+(\.\d+)? m?s|[\d,]+ steps)\b")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an `aligncheck` that is this checkout's."""
    folder = tmp_path_factory.mktemp("bin")
    for name, module in (("aligncheck", "-m aligncheck "), ("python", "")):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module}"$@"\n')
        program.chmod(0o755)
    return folder


def output_of(command: str, programs: Path, folder: Path) -> str:
    """What the command prints in a terminal of 100 columns, without the colours."""
    environment = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"}
    environment.update(COLUMNS="100", PYTHONIOENCODING="utf-8")
    environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.rstrip().split("\n"))


@pytest.mark.skipif(os.name != "posix", reason="sh")
@pytest.mark.parametrize(
    ("page", "number", "command"), COMMANDS, ids=[f"{p.stem}: {c}" for p, _, c in COMMANDS]
)
def test_session_is_real(page: Path, number: int, command: str, programs: Path, update_golden: bool) -> None:
    check_session(page, number, programs, PROJECT, update_golden)


@pytest.mark.skipif(os.name != "posix", reason="sh")
def test_the_first_hour_is_spent_in_an_empty_folder(
    programs: Path, tmp_path: Path, update_golden: bool
) -> None:
    """One command after another: each finds what those before it left."""
    for number in range(len(SESSION.findall(FIRST_HOUR.read_text("utf-8")))):
        check_session(FIRST_HOUR, number, programs, tmp_path, update_golden)


def check_session(page: Path, number: int, programs: Path, folder: Path, update: bool) -> None:
    text = page.read_text("utf-8")
    block = list(SESSION.finditer(text))[number]
    real = output_of(block["command"], programs, folder)
    if update:
        page.write_text(text[: block.start("output")] + real + text[block.end("output") :], "utf-8")
    else:
        assert TIME.sub("TIME", block["output"]) == TIME.sub("TIME", real), block["command"]


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks one after another, with specs beside; what stands behind an expression is its value."""
    (tmp_path / "specs").symlink_to(PROJECT / "specs")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    shown = 0
    for block in re.findall(
        r"^```python\n(.*?)^```$", (PROJECT / "docs" / "python.md").read_text("utf-8"), re.M | re.S
    ):
        for line in block.splitlines():
            code, _, remark = line.partition("  # ")
            if code.startswith("%"):
                continue  # for notebooks
            try:
                wanted = ast.literal_eval(remark)
            except (SyntaxError, ValueError):
                exec(code, names)
                continue
            assert eval(code, names) == wanted, code
            shown += 1
    assert shown > 5


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) <= 9_000


def test_there_is_a_session() -> None:
    assert len(COMMANDS) >= 4


def test_ci_runs_the_readme_s_test_command() -> None:
    lines = README.read_text("utf-8").splitlines()
    (command,) = (line for line in lines if "pip install -q '.[test]'" in line)
    steps = command.split(" && ")[3:]
    script = (PROJECT / ".ci" / "run").read_text("utf-8")
    run = re.findall(r"^within \d+ (.+)$", script, re.M)[2:]
    assert run == steps


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_json_keys_are_those_of_the_schema() -> None:
    import json

    schema = json.loads((PROJECT / "aligncheck" / "report" / "verify.schema.json").read_text("utf-8"))
    text = (PROJECT / "docs" / "json.md").read_text("utf-8")
    listed = re.search(r'"results": \[\{([^}]+)\}', text)
    assert listed is not None
    assert re.findall(r'"(\w+)"', listed[1]) == list(schema["$defs"]["result"]["properties"])
