"""The README's session is real: each command is run, and its output is what stands there, times excepted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
README = PROJECT / "README.md"
SESSION = re.compile(r"^```console\n\$ (?P<command>[^\n]+)\n(?P<output>.*?)^```$", re.M | re.S)
COMMANDS = [match["command"] for match in SESSION.finditer(README.read_text("utf-8"))]
TIME = re.compile(r" *\b(\d+(\.\d+)? m?s|[\d,]+ steps)\b")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an `aligncheck` that is this checkout's."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "aligncheck"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aligncheck "$@"\n')
    program.chmod(0o755)
    return folder


def output_of(command: str, programs: Path) -> str:
    """What the command prints in a terminal of 100 columns, without the colours."""
    environment = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"}
    environment.update(COLUMNS="100", PYTHONIOENCODING="utf-8")
    environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.rstrip().split("\n"))


@pytest.mark.skipif(os.name != "posix", reason="sh")
@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=COMMANDS)
def test_session_is_real(number: int, programs: Path, update_golden: bool) -> None:
    text = README.read_text("utf-8")
    block = list(SESSION.finditer(text))[number]
    real = output_of(block["command"], programs)
    if update_golden:
        README.write_text(text[: block.start("output")] + real + text[block.end("output") :], "utf-8")
        return
    assert TIME.sub("TIME", block["output"]) == TIME.sub("TIME", real)


def test_there_is_a_session() -> None:
    assert len(COMMANDS) >= 4


def test_ci_runs_the_readme_s_test_command() -> None:
    lines = README.read_text("utf-8").splitlines()
    (command,) = (line for line in lines if "pip install -q '.[test]'" in line)
    steps = command.split(" && ")[3:]
    script = (PROJECT / ".ci" / "run").read_text("utf-8")
    run = re.findall(r"^within \d+ (.+)$", script, re.M)[2:]
    assert run == steps


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text("utf-8")):
        assert (PROJECT / target).exists(), target


def test_json_keys_are_those_of_the_schema() -> None:
    import json

    schema = json.loads((PROJECT / "aligncheck" / "report" / "verify.schema.json").read_text("utf-8"))
    text = README.read_text("utf-8")
    listed = re.search(r'"results": \[\{([^}]+)\}', text)
    assert listed is not None
    assert re.findall(r'"(\w+)"', listed[1]) == list(schema["$defs"]["result"]["properties"])
