"""What is verified of other projects' programs, restated as they are written, and how long it takes.

`python tests/bench/peers.py [suites...]` prints two tables in Markdown: how many of each suite are
verified, and for each program its verdict and processor seconds, imports apart.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from aligncheck.expect import expectation_in
from aligncheck.judge import judge
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.verdict import name_of

PEERS = Path(__file__).parents[1] / "specs" / "peers"


def verdict_on(path: Path) -> tuple[bool, str, float]:
    """Whether it is meant to be verified, the verdict, and processor seconds."""
    wanted = expectation_in(path.read_text("utf-8"))
    start = time.process_time()
    try:
        source = read_source(str(path))
        mechanism = check(source, parse(source))
        told = name_of(judge(mechanism, source, time.monotonic() + 60, explain=False, search=False))
    except SpecError as error:
        told = f"ERROR ({error.diagnostic.code})"
    return wanted is not None and wanted.verdict == "verified", told, time.process_time() - start


def main(suites: Sequence[str]) -> None:
    """Prints both tables."""
    rows = []
    totals = []
    for suite in suites or sorted(path.name for path in PEERS.iterdir() if path.is_dir()):
        results = [(path.stem, *verdict_on(path)) for path in sorted((PEERS / suite).glob("*.dp"))]
        right = [result for result in results if result[1]]
        verified = sum(told == "VERIFIED" for _, _, told, _ in right)
        wrong = sum(told == "VERIFIED" for _, meant, told, _ in results if not meant)
        times = [seconds for *_, seconds in results]
        totals.append(
            f"| {suite} | {verified} of {len(right)} | {wrong} of {len(results) - len(right)} "
            f"| {statistics.median(times):.2f} | {max(times):.2f} |"
        )
        for name, meant, told, seconds in results:
            truth = "private" if meant else "not private"
            rows.append(f"| {suite} | {name} | {truth} | {told} | {seconds:.2f} |")
    print(
        "| suite | private: verified | not private: verified | median, s | most, s |\n|---|---|---|---|---|"
    )
    print("\n".join(totals))
    print("\n| suite | program | truth | verdict | s |\n|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
