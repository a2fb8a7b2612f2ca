"""Bad input of any kind, end to end: exit status 2, a caret in the right place, no traceback, no hang."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from aligncheck.cli import main

HEAD = "mechanism m\ninput\n  eps : real where eps > 0\nprivacy eps\nprogram\n"


def assigned(value: str) -> bytes:
    return f"{HEAD}  x = {value}\n".encode()


# By name: what is in the file, the code, and the line and column of the fault.
BAD: dict[str, tuple[bytes, str, int, int]] = {
    "utf16": ((HEAD + "  pass\n").encode("utf-16"), "not-utf8", 1, 1),
    "utf16_without_mark": ((HEAD + "  pass\n").encode("utf-16-be"), "not-utf8", 1, 1),
    "windows_1252": ((HEAD + "  pass # déjà\n").encode("cp1252"), "not-utf8", 6, 11),
    "windows_1253": ((HEAD + "\tx = 1 # ε\n").replace("\n", "\r\n").encode("cp1253"), "not-utf8", 6, 10),
    "binary": (bytes(range(256)) * 10, "binary-file", 1, 1),
    "a_zero_byte": ((HEAD + "  x = 1\0\n").encode(), "binary-file", 6, 8),
    "empty": (b"", "empty-file", 1, 1),
    "mixed_indentation": ((HEAD + "  x = 1\n\ty = 2\n").encode(), "mixed-indentation", 7, 1),
    "after_a_tab": ((HEAD.replace("  ", "\t") + "\tx = yy\n").encode(), "unknown-name", 6, 6),
    "after_greek": ((HEAD + "  ε₁ = ε ≥ ζζ\n").encode(), "unknown-name", 6, 12),
    "a_wide_letter": ((HEAD + "  x = (eps + 漢字)\n").encode(), "unexpected-character", 6, 14),
    "a_combining_letter": ((HEAD + "  x = e\u0301 + 1\n").encode(), "unexpected-character", 6, 8),
    "an_invisible_space": ((HEAD + "  x =\u00a01\n").encode(), "unexpected-character", 6, 6),
    "nested_parentheses": (assigned("(" * 10_000 + "1" + ")" * 10_000), "too-deep", 6, 47),
    "terms": (assigned(" + ".join(["1"] * 10_000)), "too-many-terms", 6, 4001),
    "elif": (
        (HEAD + "  if eps > 1: pass\n" + "  elif eps > 2: pass\n" * 5_000).encode(),
        "too-many-branches",
        70,
        3,
    ),
    "tower_of_powers": (assigned("9**9**9"), "bad-exponent", 6, 10),
    "power_of_a_power": (assigned("((eps + 1)**16)**16"), "too-large-power", 6, 7),
    "huge_exponent": (assigned("1e400"), "bad-number", 6, 7),
    "many_digits": (assigned("1" * 5_000), "bad-number", 6, 7),
    "huge_file": (b"# " + b"x" * 300_000, "too-large", 1, 1),
    "unknown_name": (assigned("eps + epps"), "unknown-name", 6, 13),
    "wrong_sort": (assigned("1 if eps else 2"), "mismatched-sorts", 6, 12),
    "no_else": (assigned("1 if eps > 1"), "missing-else", 6, 19),
    "gauss": ((HEAD + "  eta ~ Normal(0, 1)\n").encode(), "scope", 6, 9),
    "delta": (HEAD.replace("privacy eps", "privacy eps, δ").encode(), "misplaced-delta", 4, 14),
    "redraw": (
        (HEAD + "  eta ~ Lap(1)\n  while eta < 0: eta ~ Lap(1)\n  emit t(eta)\n").encode(), "scope", 7, 3
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, (data, *_) in BAD.items():
        (tmp_path / f"{name}.dp").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["verify", "--json", *arguments])
    results = json.loads(capsys.readouterr().out)["results"]
    return status, {Path(each["path"]).stem: each for each in results}


def test_every_kind_of_bad_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, results = document_of(capsys, ".")
    assert status == 2
    assert results.keys() == BAD.keys()
    for name, (_, code, line, column) in BAD.items():
        result = results[name]
        assert result["verdict"] == "ERROR", name
        diagnostic = result["diagnostic"]
        assert (diagnostic["code"], diagnostic["line"], diagnostic["column"]) == (code, line, column), name


@pytest.mark.parametrize(
    ("name", "marked"),
    [("after_a_tab", "yy"), ("after_greek", "ζζ"), ("a_wide_letter", "漢"), ("unknown_name", "epps")],
)
def test_the_caret_stands_under_the_fault(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, marked: str
) -> None:
    """Wide letters take two cells and tabs as many as they take: the marks begin and end with the fault."""
    from rich.cells import cell_len

    assert main(["verify", f"{name}.dp"]) == 2
    lines = capsys.readouterr().out.splitlines()
    (at,) = [i for i, line in enumerate(lines) if "^" in line]
    shown, marks = lines[at - 1], lines[at]
    assert cell_len(shown.partition(marked)[0]) == marks.index("^")
    assert marks.count("^") == cell_len(marked)


def test_a_fresh_process_ends_within_a_second_or_two(folder: Path) -> None:
    """Alone, with the start of the interpreter; no traceback on either stream."""
    for name in ("nested_parentheses", "tower_of_powers", "utf16"):
        run = subprocess.run(
            [sys.executable, "-m", "aligncheck", "verify", f"{name}.dp"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert run.returncode == 2
        assert f"error[{BAD[name][1]}]" in run.stdout
        assert "Traceback" not in run.stdout + run.stderr


def test_one_bad_file_does_not_hide_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("good.dp").write_text(HEAD + "  eta ~ Lap(1/eps)\n  emit t(eta)\nexpect verified\n")
    status, results = document_of(capsys, "empty.dp", "good.dp")
    assert status == 2
    assert results["empty"]["verdict"] == "ERROR"
    assert results["good"]["verdict"] == "VERIFIED"


def test_show_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "tower_of_powers.dp"]) == 2
    assert "error[bad-exponent]" in capsys.readouterr().err


CONTRADICTIONS = [
    (["k : int where 0 < k < 1"], ["0 < k < 1"]),
    (["x : query, sensitivity -1"], ["-1"]),
    (["x : query, sensitivity -d", "d : real where d > 0 and d < 9"], ["-d", "d > 0"]),
    (["p, q : queries, sensitivity -1, adjacency l1"], ["-1"]),
    (["x : query, adjacency any, range [2, 1]", "a : real where a > 0"], ["2, 1"]),
    (["x : query, sensitivity 1, lattice 1/2, range [1/8, 1/4]"], ["1/2", "1/8, 1/4"]),
    (["k : int where k >= 1", "T : real where T > 3", "n : int where k + n < 2 and n > 0"],
     ["k >= 1", "k + n < 2 and n > 0"]),
    (["b : vector where b[i] > 0", "q : queries, sensitivity -b[i]"], ["b[i] > 0", "-b[i]"]),
    (["q : queries, sensitivity 1, adjacency all, where q[i] > T", "T : real where T > 3",
      "m : real where m > 5 and (m < 4 or m < T) and 0 < T < 4"],
     ["m > 5", "(m < 4 or m < T)", "T < 4"]),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "marked"), CONTRADICTIONS)
def test_clauses_that_contradict_each_other_are_marked_and_no_others(
    declared: list[str], marked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        "  a_first : real where a_first > 0",
        *(f"  {each}" for each in declared),
        "  z : int where z < 7",
    ]
    path = tmp_path / "m.dp"
    path.write_text(
        "\n".join([HEAD.partition("  eps")[0].rstrip(), *lines, "privacy 1", "program", "  emit r"])
    )
    status = main(["verify", "--json", str(path)])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    diagnostic = result["diagnostic"]
    assert (status, diagnostic["code"]) == (2, "contradictory-where")
    assert [place["text"] for place in (diagnostic, *diagnostic["related"])] == marked


MANY_TESTS = "\n".join(f"    if y + eta > {i}: x = x + 1" for i in range(12))
DOUBLED = "\n".join(f"  if x > p: x = x + {i} + p\n  else: x = x*2" for i in range(20))
LONG = {
    "private_tests_in_a_loop": (f"  x = 0\n  for i, y in q:\n{MANY_TESTS}\n  emit r(x + eta)", "", {1}),
    "values_that_occur_twice_in_the_next": (f"  x = 0\n{DOUBLED}\n  emit r(x + eta)", "  eta += p - p'", {1}),
    "feedback": (
        "  y = 1\n  for t in range(10000):\n    a[t] ~ Lap(1/y)\n    y = clip(y*(p + a[t]), 1, 2)\n  emit r",
        "  a[t] += p - p'",
        {1, 3},
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_long_runs_and_nested_tests_keep_their_limits(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, align, statuses = LONG[name]
    inputs = (
        "  q : queries, sensitivity 1, adjacency all\n  p : query, sensitivity 1\n  eps : real where eps > 0"
    )
    head = f"mechanism m\ninput\n{inputs}\nprivacy eps\nprogram\n  eta ~ Lap(1/eps)\n"
    text = f"{head}{program}\nalign\n{align or '  eta += 0'}\n"
    path = tmp_path / "m.dp"
    path.write_text(text)
    start = time.monotonic()
    timeout = "2" if statuses == {1, 3} else "30"
    assert main(["verify", str(path), "--timeout", timeout]) in statuses
    assert "memory" not in capsys.readouterr().out
    assert time.monotonic() - start < float(timeout) + 8
