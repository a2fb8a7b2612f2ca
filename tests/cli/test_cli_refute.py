"""`aligncheck refute` as users run it: what it prints, its JSON, its exit statuses, and `verify --refute`."""

from __future__ import annotations

import importlib.resources
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aligncheck.cli import main
from aligncheck.commands import refuting

HALF_NOISE = """mechanism half_noise
input
  x : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(1/(2*eps))
  emit total(x + eta)
align
  eta += x - x'
expect alignment fails at cost
expect refuted
"""
ENOUGH_NOISE = HALF_NOISE.replace("1/(2*eps)", "1/eps").partition("expect")[0] + "expect verified\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "half.dp").write_text(HALF_NOISE)
    (tmp_path / "enough.dp").write_text(ENOUGH_NOISE)
    return tmp_path


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["refute", "--json", "--timeout", "20", *arguments])
    printed = json.loads(capsys.readouterr().out)
    schema = json.loads(
        importlib.resources.files("aligncheck.report").joinpath("refute.schema.json").read_text()
    )
    jsonschema.Draft202012Validator(schema).validate(printed)
    return status, printed


@pytest.mark.usefixtures("folder")
def test_a_violation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refute", "half.dp", "--timeout", "20"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("REFUTED   half.dp   half_noise   ")
    assert "this mechanism is not `eps`-differentially private" in out
    for part in ("parameters", "D ", "D' ", "E ", "P(M(D) in E)", "P(M(D') in E)", "ratio", "violated"):
        assert f"\n  {part}" in out
    assert "exp(2*eps)" in out
    assert "how E arises" in out
    assert "help: needs `privacy 2*eps`" in out


@pytest.mark.usefixtures("folder")
def test_no_violation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refute", "enough.dp", "--timeout", "4"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("NO VIOLATION FOUND   enough.dp   half_noise   ")
    assert "strongest ratio seen: exp(1), within the exp(1) that `eps` allows" in out
    assert "tight: on these inputs no smaller level holds" in out
    assert "this claims nothing" in out
    assert "searched: " in out
    assert "`--set eps=VALUE` tries one value of `eps`" in out


MANY_ROUNDS = """mechanism many
input
  x : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  for t in range(10000):
    a[t] ~ Lap(5000/eps)
    emit r(x + a[t])
align
  a[t] += x - x'
"""


def test_a_search_that_is_through_does_not_ask_for_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And it says what it could not look at."""
    spec = tmp_path / "many.dp"
    spec.write_text(MANY_ROUNDS, "utf-8")
    assert main(["refute", str(spec)]) == 0
    out = capsys.readouterr().out
    assert "left out: a loop has too many rounds" in out
    assert "nothing was left to try" in out.replace("\n          ", " ")
    assert "--timeout" not in out


@pytest.mark.usefixtures("folder")
def test_by_default_a_search_counts_steps_and_says_what_ended_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for _ in range(2):
        assert main(["refute", "--json", "enough.dp"]) == 0
        (result,) = json.loads(capsys.readouterr().out)["results"]
        seen.append({**result, "seconds": None})
    assert seen[0] == seen[1]
    assert seen[0]["searched"]["ended"] == "through"
    monkeypatch.setattr("aligncheck.commands.refuting.STEPS", 40)
    assert main(["refute", "enough.dp"]) == 0
    assert "there it stopped" in capsys.readouterr().out
    assert main(["refute", "enough.dp", "--timeout", "0.05"]) == 0
    assert "there its time was over" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_json_holds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed = document(capsys, "half.dp", "--eps", "1/2")
    assert status == 1
    (result,) = printed["results"]
    assert (result["verdict"], result["exit"]) == ("REFUTED", 1)
    violation = result["violation"]
    assert violation["parameters"] == {"eps": "1/2"}
    assert violation["claim"] == "1/2"
    assert 0.98 < violation["level"] <= 1
    low, high = map(float, violation["probability"])
    low_prime, high_prime = map(float, violation["probability_prime"])
    assert low <= high
    assert low_prime <= high_prime
    assert low > high_prime * 2.6
    assert violation["formula"]["ratio"] == "exp(2*eps)"
    status, printed = document(capsys, "enough.dp", "--set", "eps=2")
    assert status == 0
    assert printed["results"][0]["violation"] is None
    assert printed["results"][0]["strongest"]["claim"] == "2"


@pytest.mark.usefixtures("folder")
def test_expectations(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert main(["refute", "--expect", ".", "--timeout", "6"]) == 0
    assert "2 of 2 agree" in capsys.readouterr().out
    (folder / "half.dp").write_text(HALF_NOISE.replace("expect refuted\n", ""))
    assert main(["refute", "--expect", "half.dp", "--timeout", "6"]) == 1
    assert "expected no violation found, got refuted" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_verify_suggests_it_and_does_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "half.dp"]) == 1
    assert "`aligncheck refute half.dp` searches for a real violation" in capsys.readouterr().out
    assert main(["verify", "half.dp", "--refute"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("ALIGNMENT FAILS at cost")
    assert "\nREFUTED   half.dp" in out
    assert main(["verify", "enough.dp", "--refute", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["refutation"] is None


def test_a_billion_rounds_are_not_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = "  for t in range(1000000000):\n    a[t] ~ Lap(1/eps)\n    emit r(x + a[t])\n"
    program = f"program\n{drawn}align\n  a[t] += x - x'"
    (folder / "long.dp").write_text(HALF_NOISE.partition("program")[0] + program + "\n")
    assert main(["refute", "long.dp", "--timeout", "4"]) in (0, 1)  # not 3: nothing had to be stopped
    assert "internal error" not in capsys.readouterr().out


def takes_all_memory(job: object) -> object:
    kept: list[bytes] = []
    while True:
        kept.append(b"1" * (1 << 20))


@pytest.mark.skipif(sys.platform != "linux", reason="what is resident is known")
def test_a_search_that_takes_all_memory_is_stopped(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refuting, "_refute", takes_all_memory)
    monkeypatch.setattr(refuting, "MEMORY", 1 << 29)
    assert main(["refute", str(folder / "half.dp"), "--timeout", "60"]) == 3
    assert "the search ran out of memory" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.dp"], "no such file or folder: `absent.dp`"),
        (["half.dp", "--set", "eps"], "`--set eps` is not of the form NAME=VALUE"),
        (["half.dp", "--set", "eps=1", "--eps", "1"], "`eps` is set twice"),
        (["half.dp", "--set", "k=1"], "`half_noise` has no parameter `k` (it has `eps`)"),
        (["half.dp", "--eps", "much"], "`eps` must be a number"),
    ],
)
def test_what_cannot_be_carried_out(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["refute", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.usefixtures("folder")
def test_values_out_of_range_leave_nothing_to_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refute", "half.dp", "--eps", "-1", "--timeout", "3"]) == 2
    assert "no inputs were found that its declarations allow, with eps = -1" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_bad_input_is_told_as_by_verify(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "half.dp").write_text(HALF_NOISE.replace("x + eta", "y + eta"))
    assert main(["refute", "half.dp"]) == 2
    assert "error[unknown-name]" in capsys.readouterr().out
