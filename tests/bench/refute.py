"""How far and how fast `aligncheck refute` gets on each spec: a table in Markdown.

    python tests/bench/refute.py [--jobs N] [--timeout S] [PATH...]

The default are the broken specs, one at a time, five seconds each. Levels are in units of the claim,
certified from below; seconds are of wall clock, from reading the file to the outcome.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", default=["specs/broken"])
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--timeout", default="5")
    args = parser.parse_args()
    command = [sys.executable, "-m", "aligncheck", "refute", "--json"]
    command += ["--jobs", args.jobs, "--timeout", args.timeout, *args.paths]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    for line in table(json.loads(done.stdout)["results"]):
        print(line)


def table(results: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each spec that could be read."""
    yield "| spec | outcome | level | answers | seconds |"
    yield "|---|---|---|---|---|"
    for result in results:
        if result["verdict"] == "ERROR":
            continue
        name = Path(result["path"]).stem
        outcome, level, length = _found(result)
        yield f"| {name} | {outcome} | {level} | {length} | {result['seconds']:.1f} |"
    seconds = [result["seconds"] for result in results]
    yield ""
    yield f"{len(results)} specs, {sum(seconds):.0f} s, at most {max(seconds):.1f} s"


def _found(result: dict[str, Any]) -> tuple[str, str, str]:
    violation = result["violation"]
    if violation is None:
        strongest = result["strongest"]
        level = "" if strongest is None else f"({_share(strongest['level'], strongest['claim'])})"
        return "none found", level, "" if strongest is None else _length(strongest)
    if violation["level"] is None:
        return "REFUTED, impossible on D'", "∞", _length(violation)
    kind = {"finite": "", "rarer": ", unbounded", "grows": ", grows with n"}[violation["kind"]]
    return f"REFUTED{kind}", _share(violation["level"], violation["claim"]), _length(violation)


def _share(level: float, claim: str) -> str:
    unit = float(Fraction(claim)) if claim.replace("/", "").lstrip("-").isdecimal() else 0.0
    return f"{level / unit:.3f}" if unit else f"{level:.3f} beside 0"


def _length(found: dict[str, Any]) -> str:
    lists = [value for value in found["data"].values() if isinstance(value, list)]
    return str(max(map(len, lists))) if lists else "-"


if __name__ == "__main__":
    main()
