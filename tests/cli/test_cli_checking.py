"""`verify` around a checker that is not there: whatever becomes of a check ends as a verdict of its file.

The checker here does what the file's first line says, so that crashes and hangs can be had on demand.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aligncheck.cli import main
from aligncheck.commands import checking
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic, Label
from aligncheck.language.source import Span
from aligncheck.language.syntax.nodes import Expectation, Mechanism, Number, Pure
from aligncheck.verdict import AlignmentFails, Error, FileResult, Unknown, Verdict, Verified


def obedient(path: str, options: object, known: object) -> FileResult:
    """Does what the first line says; the rest of the file is only looked at for its `expect` line."""
    text = Path(path).read_text()
    order, _, argument = text.partition("\n")[0].partition(" ")
    match order:
        case "raise":
            raise AssertionError(argument)
        case "die":
            os._exit(3)
        case "memory":
            raise MemoryError
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "slow":
            time.sleep(1000)
        case "hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            while True:
                time.sleep(1000)
        case "interrupt":
            time.sleep(
                0.3
            )  # when the parent waits: a moment earlier it might be where Python drops exceptions
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(1000)
        case _:
            pass
    return FileResult(path, _verdict(order, argument, text), 0.25, text)


def _verdict(order: str, argument: str, text: str) -> Verdict:
    expected = text.partition("expect ")[2].strip()
    verdict, _, at = expected.partition(" at ")
    mechanism = Mechanism(
        "toy",
        "",
        (),
        (),
        Pure(Number(Fraction(1))),
        (),
        (),
        Expectation(verdict, at or None) if verdict else None,
    )
    here = Label(Span(0, len(order)), "here")
    match order:
        case "verified":
            return Verified(mechanism, Witness(), Accepted("acyclic", ()))
        case "fails":
            return AlignmentFails(mechanism, Condition[argument.upper()], "it fails", here, None, ())
        case "unknown":
            return Unknown(mechanism, Condition[argument.upper()], "not decided", here)
        case _:
            return Error(Diagnostic(argument, "no spec", here))


@pytest.fixture(autouse=True)
def toy_checker(install_checker: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    install_checker(obedient)
    monkeypatch.setattr(checking, "GRACE", 0.4)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def verdicts(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status of `verify --json` and the results by path; the document satisfies the schema."""
    status = main(["verify", "--json", *arguments])
    document = json.loads(capsys.readouterr().out)
    resource = importlib.resources.files("aligncheck.report").joinpath("verify.schema.json")
    schema = json.loads(resource.read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    return status, {result["path"]: result for result in document["results"]}


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({"a.dp": "verified"}, 0),
        ({"a.dp": "verified", "b.dp": "unknown cost"}, 3),
        ({"a.dp": "fails cost", "b.dp": "unknown cost", "c.dp": "verified"}, 1),
        ({"a.dp": "fails cost", "b.dp": "error syntax", "c.dp": "unknown cost"}, 2),
    ],
)
def test_the_worst_verdict_is_the_exit_status(
    folder: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], status: int
) -> None:
    write(folder, files)
    assert verdicts(capsys, ".")[0] == status


def test_an_unexpected_exception_is_a_bug_of_ours_in_one_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a.dp": "raise not so", "b.dp": "verified"})
    status, results = verdicts(capsys, "a.dp", "b.dp")
    assert status == 3
    assert results["a.dp"]["undecided"]["message"] == (
        "internal error: AssertionError: not so (this is a bug in aligncheck)"
    )
    assert results["b.dp"]["verdict"] == "VERIFIED"


def test_verbose_tells_where_an_unexpected_exception_came_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a.dp": "raise not so"})
    main(["verify", "--json", "-v", "a.dp"])
    assert "Traceback" in capsys.readouterr().err
    main(["verify", "--json", "a.dp"])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("die", "the process that checked this file died: exit status 3 (this is a bug in aligncheck)"),
        ("memory", "the check ran out of memory (its limit is 3 GiB)"),
        ("killed", "the process that checked this file was killed (SIGKILL)"),
        ("hang", "the check overran its time limit"),
        ("slow", "nothing had been decided when the time was over"),
    ],
)
def test_a_lost_check_is_unknown_and_the_others_go_on(
    folder: Path, capsys: pytest.CaptureFixture[str], order: str, message: str
) -> None:
    write(folder, {"a.dp": order, "b.dp": "verified", "c.dp": "verified"})
    start = time.monotonic()
    status, results = verdicts(capsys, ".", "--timeout", "1")
    assert time.monotonic() - start < 5
    assert status == 3
    assert results["./a.dp"]["undecided"]["message"].endswith(message)
    assert [results[f"./{name}.dp"]["verdict"] for name in "bc"] == ["VERIFIED", "VERIFIED"]


def test_ctrl_c_ends_with_130_and_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"a.dp": "interrupt", "b.dp": "hang"})
    assert main(["verify", "."]) == 130
    assert capsys.readouterr().err == "aligncheck: interrupted\n"


def test_folders_are_searched_sorted_and_each_file_is_checked_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["b/a.dp", "a.dp", "b/c/z.dp", "b/note.txt", ".hidden/x.dp"]
    write(folder, dict.fromkeys(names, "verified"))
    _, results = verdicts(capsys, ".", "b/a.dp", "./a.dp")
    assert list(results) == ["./a.dp", "./b/a.dp", "./b/c/z.dp"]


@pytest.mark.parametrize("jobs", ["1", "2", "5"])
def test_results_keep_the_order_of_the_files(
    folder: Path, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    names = [f"{letter}.dp" for letter in "fbdace"]
    write(folder, dict.fromkeys(names, "verified"))
    _, results = verdicts(capsys, *names, "--jobs", jobs)
    assert list(results) == names


def test_json_is_the_same_in_every_run_but_for_the_seconds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        folder, {"a.dp": "fails cost", "b.dp": "error syntax", "c.dp": "unknown output", "d.dp": "verified"}
    )
    texts = []
    for _ in range(2):
        main(["verify", "--json", "."])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


_ON_A_TERMINAL = """
import os, sys, types
from dataclasses import dataclass

@dataclass(frozen=True)
class Options:
    timeout: float
    verbose: bool

def verify_file(path, options):
    from aligncheck.verdict import Result, Unknown
    return Result(path, Unknown(None, None, "not decided", None), 0.1)

checker = types.ModuleType("aligncheck.pipeline")
checker.Options, checker.verify_file, checker.load_stages = Options, verify_file, lambda: None
sys.modules["aligncheck.pipeline"] = checker
from aligncheck.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
@pytest.mark.parametrize(("files", "bar"), [(["a.dp", "b.dp", "c.dp"], True), (["a.dp"], False)])
def test_a_progress_bar_is_for_several_files_on_a_terminal(folder: Path, files: list[str], bar: bool) -> None:
    import pty

    write(folder, dict.fromkeys(files, "unknown"))
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", _ON_A_TERMINAL, "verify", *files],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        check=False,
    )
    os.close(theirs)
    drawn = b""
    with contextlib.suppress(OSError):  # how Linux says that the other side is closed
        while chunk := os.read(ours, 4096):
            drawn += chunk
    os.close(ours)
    assert (b"checking" in drawn) is bar
    assert (b"3/3" in drawn) is bar
    assert b"checking" not in done.stdout
    assert done.stdout.count(b"UNKNOWN") == len(files) + bar  # the count of verdicts comes with several files


# --- expectations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("verified", "verified"),
        ("fails cost", "alignment fails at cost"),
        ("fails cost", "alignment fails"),
        ("unknown terminates", "unknown at terminates"),
        ("error unknown-name", "error at unknown-name"),
        ("error unknown-name", "error at unknown-name   # since nobody declared it"),
        ("error unknown-name", "error"),
    ],
)
def test_a_file_that_does_what_it_expects(
    folder: Path, capsys: pytest.CaptureFixture[str], order: str, expected: str
) -> None:
    write(folder, {"a.dp": f"{order}\nexpect {expected}\n"})
    assert main(["verify", "--expect", "a.dp"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("agrees     a.dp: ")
    assert out[1].startswith("1 of 1 agree (")


@pytest.mark.parametrize(
    ("order", "expected", "line"),
    [
        ("fails cost", "expect verified", "expected verified, got alignment fails at cost"),
        (
            "fails cost",
            "expect alignment fails at output",
            "expected alignment fails at output, got alignment fails at cost",
        ),
        (
            "unknown cost",
            "expect alignment fails at cost",
            "expected alignment fails at cost, got unknown at cost",
        ),
        ("error syntax", "expect error at encoding", "expected error at encoding, got error at syntax"),
        ("verified", "expect refuted", "expected refuted, got verified"),
        ("verified", "", "expected nothing (the file has no `expect` line), got verified"),
        ("raise", "expect unknown at cost", "expected unknown at cost, got unknown"),
    ],
)
def test_a_file_that_does_not(
    folder: Path, capsys: pytest.CaptureFixture[str], order: str, expected: str, line: str
) -> None:
    write(folder, {"a.dp": f"{order}\n{expected}\n", "b.dp": "verified\nexpect verified\n"})
    assert main(["verify", "--expect", "."]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"DISAGREES  ./a.dp: {line}"
    assert out[-1].startswith("1 of 2 agree (")


@pytest.mark.parametrize("order", ["fails cost", "unknown cost"])
def test_how_the_proof_of_a_refuted_mechanism_fails_may_be_left_open(
    folder: Path, capsys: pytest.CaptureFixture[str], order: str
) -> None:
    write(folder, {"a.dp": f"{order}\nexpect refuted\n"})
    assert main(["verify", "--expect", "a.dp"]) == 0
    assert capsys.readouterr().out.startswith("agrees     a.dp: ")


def test_expectations_in_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"a.dp": "fails cost\nexpect verified\n", "b.dp": "verified\nexpect verified\n"})
    status, results = verdicts(capsys, ".", "--expect")
    assert status == 1
    assert results["./a.dp"]["expected"] == {
        "wanted": "verified",
        "got": "alignment fails at cost",
        "agrees": False,
    }
    assert results["./b.dp"]["expected"]["agrees"] is True
