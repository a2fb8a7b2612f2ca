"""The command line: help, versions, bad arguments; as a process, closed pipes and what it imports."""

from __future__ import annotations

import importlib.resources
import io
import json
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import jsonschema
import pytest

from aligncheck import __version__
from aligncheck.cli import main
from aligncheck.language.conditions import Condition

SPEC = str(Path(__file__).parents[2] / "specs" / "svt.dp")
COMMANDS = ("verify", "compile", "run", "test", "show", "explain", "compare")


def aligncheck(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What a process would do, in this one."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd or os.curdir):
        status = main(list(arguments))
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def test_version() -> None:
    done = aligncheck("--version")
    assert (done.returncode, done.stdout) == (0, f"aligncheck {__version__}\n")


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_help_reads_well(command: tuple[str, ...]) -> None:
    done = aligncheck(*command, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "examples:\n  aligncheck" in done.stdout
    assert "exit status:\n  0  " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_without_a_command_the_help_is_shown() -> None:
    done = aligncheck()
    assert done.returncode == 2
    assert done.stdout == aligncheck("--help").stdout


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "aligncheck", "verify", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    ours = {name for name in imported if name.startswith("aligncheck")}
    # `-m` imports the package; nothing of it but the command line, and what prints its messages, may follow.
    line = {"aligncheck", "aligncheck.__main__", "aligncheck.cli", "aligncheck.commands"}
    assert ours <= line | {
        "aligncheck.commands.telling",
        "aligncheck.language",
        "aligncheck.language.printable",
    }
    heavy = {
        "z3",
        "sympy",
        "flint",
        "lark",
        "numpy",
        "pandas",
        "rich",
        "dataclasses",
        "multiprocessing",
        "json",
    }
    assert not heavy & {name.partition(".")[0] for name in imported}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify"], "the following arguments are required: PATH"),
        (["verify", "x", "--timeout", "0"], "argument --timeout: `0` is not a number of seconds"),
        (["verify", "x", "--timeout", "nan"], "argument --timeout: `nan` is not a number of seconds"),
        (["verify", "x", "--timeout", "inf"], "argument --timeout: `inf` is not a number of seconds"),
        (["verify", "x", "--timeout", "soon"], "argument --timeout: `soon` is not a number of seconds"),
        (["verify", "x", "--jobs", "0"], "argument --jobs: `0` is not a number of processes"),
        (["verify", "x", "--jobs", "²"], "argument --jobs: `²` is not a number of processes"),
        (["verify", "no/such/file.dp", "gone"], "no such file or folder: `no/such/file.dp`, `gone`"),
        (["compile", "no/such/file.dp", "-o", "x.py"], "no such file: `no/such/file.dp`"),
        (["show", "no/such/file.dp"], "no such file: `no/such/file.dp`"),
        (["explain", "--html", "out.html"], "which spec?"),
        (["explain", "none.dp"], "no such file: `none.dp`"),
        (["compare", "none.dp", "none.dp"], "no such file: `none.dp`"),
        (["explain", "csot"], "nothing is called `csot`; did you mean `cost`?"),
        (["explain", "zzz"], "nothing is called `zzz`; see `aligncheck explain`"),
        (["prove"], "argument COMMAND: invalid choice: 'prove'"),
    ],
)
def test_bad_arguments_get_a_message_and_status_2(arguments: list[str], message: str) -> None:
    done = aligncheck(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"aligncheck: error: {message}")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "gone.dp"], "no such file or folder: `gone.dp`"),
        (["verify", "--expect", SPEC, "gone.dp"], "no such file or folder: `gone.dp`"),
        (["refute", "gone.dp"], "no such file or folder: `gone.dp`"),
        (["run", "gone.dp"], "no such file: `gone.dp`"),
        (["test", "gone.py:f", "--eps", "1"], "no such file: `gone.py`"),
    ],
)
def test_who_asks_for_json_gets_errors_in_it_too(arguments: list[str], message: str) -> None:
    done = aligncheck(*arguments, "--json")
    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert (document["results"], document["error"]["message"]) == ([], message)
    assert done.stderr.startswith(f"aligncheck: error: {message}")
    if arguments[0] in ("verify", "refute"):
        folder = importlib.resources.files("aligncheck.report")
        schema = json.loads(folder.joinpath(f"{arguments[0]}.schema.json").read_text("utf-8"))
        jsonschema.Draft202012Validator(schema).validate(document)


def test_a_folder_without_specs(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = aligncheck("verify", "empty", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "aligncheck: error: no *.dp files in folder `empty`\n"


def test_a_folder_where_a_file_is_wanted(tmp_path: Path) -> None:
    done = aligncheck("show", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "aligncheck: error: `.` is a folder; this command takes one file\n"


@pytest.mark.skipif(os.name != "posix", reason="shell pipes")
@pytest.mark.parametrize(
    "arguments", [["explain"], ["--help"], ["verify", "--help"], ["show", SPEC], ["verify", SPEC]]
)
def test_a_closed_pipe_is_no_error(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "aligncheck", *arguments], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.skipif(os.name != "posix", reason="sh")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_standard_streams_do_not_change_the_status(closed: str, tmp_path: Path) -> None:
    (tmp_path / "none.dp").write_text("nothing\n")
    command = f"'{sys.executable}' -m aligncheck verify none.dp {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "aligncheck", "explain"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"aligncheck: error: cannot write the output: No space left on device\n"


def test_letters_that_the_terminal_lacks_are_escaped() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "aligncheck", "verify", "ε.dp"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == b"aligncheck: error: no such file or folder: `\\u03b5.dp`\n"


@pytest.mark.parametrize("condition", [condition.id for condition in Condition])
def test_every_condition_is_explained(condition: str) -> None:
    from aligncheck.report.pages import explain_condition

    page = explain_condition(Condition[condition.upper()])
    assert page.startswith(f"{condition}: ")
    assert max(map(len, page.splitlines())) <= 79
    assert all(part in page for part in ("Why: ", "Rule: ", "Typically fails:", "Instead:", "What to do: "))


def test_explain_lists_every_condition() -> None:
    done = aligncheck("explain")
    listed = [line.split()[0] for line in done.stdout.splitlines()[: len(Condition)]]
    assert listed == [condition.id for condition in Condition]


def test_pipes_and_links_to_themselves(tmp_path: Path) -> None:
    """They are there, and what is wrong with them is said; none of them is waited for."""
    os.mkfifo(tmp_path / "pipe.py")
    os.symlink(tmp_path / "loop.py", tmp_path / "loop.py")
    pipe, loop = str(tmp_path / "pipe.py"), str(tmp_path / "loop.py")
    for arguments in (["check"], ["run"], ["verify"], ["compile", "--check", SPEC]):
        done = aligncheck(*arguments, pipe)
        assert done.returncode == 2
        assert "it is a pipe, not a file: reading it might never end" in _said(done)
        assert "Too many levels of symbolic links" in _said(aligncheck(*arguments, loop))


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stdout + done.stderr).split())
