"""What comes with the package: examples, new specs, explanations; and help whose examples run as printed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

import pytest

import aligncheck
from aligncheck.cli import _parser, main
from aligncheck.library import specs

COMMANDS = sorted(_parser()._subparsers._group_actions[0].choices)  # type: ignore[union-attr,arg-type]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(list(arguments)) == status
    out, err = capsys.readouterr()
    return out + err


def test_examples_are_listed_with_what_is_expected_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "examples")
    assert re.search(r"^svt_with_gap +verified$", text, re.M)
    assert re.search(r"^broken/isvt3 +alignment fails at cost; refuted$", text, re.M)
    assert len(specs()) == text.count("\n") - 2


def test_an_example_is_printed_by_any_of_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "examples", "isvt1")
    assert text == specs()["broken/isvt1"].read_text("utf-8")
    assert printed(capsys, "examples", "specs/broken/isvt1.dp") == text
    assert "did you mean `noisy_max`?" in printed(capsys, "examples", "noisy_maxx", status=2)


def test_a_copy_brings_what_it_calls_and_replaces_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    printed(capsys, "examples", "topk_with_measures", "--copy", str(tmp_path))
    assert {p.name for p in tmp_path.iterdir()} == {"topk_with_measures.dp", "noisy_topk_gap_monotone.dp"}
    printed(capsys, "examples", "topk_with_measures", "--copy", str(tmp_path))  # the same again
    (tmp_path / "noisy_topk_gap_monotone.dp").write_text("mine", "utf-8")
    (tmp_path / "topk_with_measures.dp").unlink()
    assert "is there already" in printed(
        capsys, "examples", "topk_with_measures", "--copy", str(tmp_path), status=2
    )
    assert not (tmp_path / "topk_with_measures.dp").exists(), "all or none"
    printed(capsys, "examples", "sparse_delta", "--copy", str(tmp_path))  # it calls one of another folder
    assert 'from "above_threshold.dp"' in (tmp_path / "sparse_delta.dp").read_text("utf-8")


@pytest.mark.parametrize("origin", [(), ("--from", "svt_with_gap")], ids=["own", "from"])
def test_a_new_spec_verifies_and_its_test_passes(
    origin: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    printed(capsys, "new", "mine", *origin, "--python")
    found = aligncheck.verify("mine.dp")
    assert (found.verdict, found.mechanism, found.as_expected) == ("VERIFIED", "mine", True)
    assert "there already" not in printed(capsys, "new", "mine", *origin, "--python")
    if not origin:
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "test_mine.py"], check=False)
        assert done.returncode == 0
    (tmp_path / "mine.dp").write_text("other", "utf-8")
    assert "is there already" in printed(capsys, "new", "mine", *origin, status=2)
    assert "cannot name a mechanism" in printed(capsys, "new", "../mine", status=2)


def test_a_shell_completes_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh"):
        text = printed(capsys, "completion", shell)
        assert all(re.search(rf"\b{command}\b", text) for command in COMMANDS)
        assert "--expect" in text


def help_examples(command: str) -> list[str]:
    """The lines under `examples:` in a command's help, as a reader copies them."""
    parser = _parser()
    if command:
        parser = parser._subparsers._group_actions[0].choices[command]  # type: ignore[union-attr,index]
    (part,) = re.findall(r"^examples:\n((?:  +.+\n)+)", parser.format_help(), re.M)
    lines = part.replace("\\\n", "").splitlines()
    return [re.sub(r" {4,}(?!-).*$", "", " ".join(re.split(r" {2,5}(?=-)", line.strip()))) for line in lines]


BRING = "aligncheck examples --copy ."


def to_run(command: str) -> list[str]:
    """The examples of a command, without those that another line repeats with one more option; of the program
    those that no command has.
    """
    lines = help_examples(command)
    assert lines
    if not command:
        elsewhere = {line for one in COMMANDS for line in help_examples(one)} - {BRING}
        lines = [line for line in lines if line not in elsewhere]
    return [line for line in lines if not any(other.startswith(f"{line} -") for other in lines)]


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `BRING` copies, once for all commands."""
    folder = tmp_path_factory.mktemp("brought")
    assert main(["examples", "--copy", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("command", ["", *COMMANDS], ids=lambda c: c or "aligncheck")
def test_examples_in_help_run_as_printed(
    command: str,
    brought: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """In an empty folder, with nothing but the package; a file that is missing would end with status 2."""
    monkeypatch.chdir(tmp_path)
    for line in to_run(command):
        if line == BRING:
            shutil.copytree(brought, tmp_path, dirs_exist_ok=True)
            continue
        program, *arguments = shlex.split(line.partition(" > ")[0])
        assert program == "aligncheck"
        arguments = [path for each in arguments for path in (sorted(glob(each)) or [each])]
        less = ("--runs", "500", "--selection", "500") if command == "test" else ()
        status = main([*arguments, *less])
        fails = any(word in line for word in ("broken/", "mine.py", "--expect"))
        assert status in ((0, 1) if fails else (0,)), (line, capfd.readouterr())
