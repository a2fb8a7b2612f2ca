"""`pytest --aligncheck` in a folder with specs: one run of it, with all that may become of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import aligncheck
from aligncheck import pytest_plugin

SPEC = """\
mechanism small
input
  q : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(1/eps)
  emit noisy(q + eta)
align
  eta += q - q'
"""


def test_specs_are_tests_of_what_they_expect(tmp_path: Path) -> None:
    wrong = SPEC.replace("Lap(1/eps)", "Lap(1/(2*eps))")
    specs = {
        "small": SPEC,  # no line: must be VERIFIED
        "as_said": f"{wrong}\nexpect alignment fails at cost\nexpect refuted\n",
        "not_as_said": f"{wrong}\nexpect verified\n",
        "no_line": wrong,
    }
    for name, text in specs.items():
        (tmp_path / f"{name}.dp").write_text(text, "utf-8")
    aligncheck.compile(SPEC.replace("query", "int query"), tmp_path / "small.py")
    command = [sys.executable, "-m", "pytest", "-p", pytest_plugin.__name__, "-v", "-n0", str(tmp_path)]
    done = subprocess.run([*command, "--aligncheck"], capture_output=True, text=True, check=False)
    lines = [line.split() for line in done.stdout.splitlines() if ".dp::" in line and "%" in line]
    found = {words[0].rpartition("/")[2]: words[1] for words in lines}
    assert found == {
        "as_said.dp::verify": "PASSED",
        "as_said.dp::refute": "PASSED",
        "no_line.dp::verify": "FAILED",
        "not_as_said.dp::verify": "FAILED",
        "small.dp::verify": "PASSED",
        "small.dp::compiled": "FAILED",
    }
    assert "failed[cost]: the alignment costs 2, more than 1" in done.stdout
    assert "STALE" in done.stdout
    assert "Traceback" not in done.stdout
    without = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "no tests ran" in without.stdout
