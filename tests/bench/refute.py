"""How far and how fast the search for violations gets on each spec that expects one: a table in Markdown.

    python tests/bench/refute.py [--seconds S] [PATH...]

Seconds are of processor time, so that a busy machine matters less: those to the first violation, and those of
the whole search, which makes it stronger until nothing is gained or the time is over. Levels are in units of
the claim, certified from below.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

time.monotonic = time.process_time

from aligncheck.expect import expects_refutation  # noqa: E402
from aligncheck.language.check import check  # noqa: E402 - deadlines are on the clock of the line above
from aligncheck.language.diagnostics import SpecError  # noqa: E402
from aligncheck.language.syntax.nodes import Mechanism  # noqa: E402
from aligncheck.language.syntax.parse import parse, read_source  # noqa: E402
from aligncheck.refutation.pair_search import length_of  # noqa: E402
from aligncheck.refutation.refuter import Aim, load, refute  # noqa: E402
from aligncheck.refutation.violation import Finding, LossKind, Violation  # noqa: E402

SPECS = Path(__file__).parents[2] / "specs"
KINDS = {
    LossKind.FINITE: "",
    LossKind.IMPOSSIBLE: "impossible on D'",
    LossKind.RARER: "tails",
    LossKind.GROWS: "grows with n",
}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, default=sorted((SPECS / "broken").glob("*.dp")))
    parser.add_argument("--seconds", type=float, default=4.0)
    args = parser.parse_args()
    load()
    print("| spec | level | answers | how | first violation, s | whole search, s |")
    print("|---|---|---|---|---|---|")
    for name, mechanism in _expecting(args.paths):
        first, soon = _timed(mechanism, Aim(seconds=args.seconds, any_will_do=True))
        whole, later = _timed(mechanism, Aim(seconds=args.seconds))
        began = f"{soon:.2f}" if isinstance(first, Violation) else f"not in {soon:.2f}"
        print(f"| {name} | {_row(whole)} | {began} | {later:.2f} |", flush=True)


def _expecting(paths: list[Path]) -> Iterator[tuple[str, Mechanism]]:
    for path in paths:
        source = read_source(str(path))
        try:
            mechanism = check(source, parse(source))
        except SpecError:
            continue
        if expects_refutation(mechanism):
            yield path.stem, mechanism


def _timed(mechanism: Mechanism, aim: Aim) -> tuple[Finding, float]:
    start = time.process_time()
    found = refute(mechanism, replace(aim))
    return found, time.process_time() - start


def _row(found: Finding) -> str:
    if not isinstance(found, Violation):
        strongest = 0.0 if found.strongest is None else found.strongest.level
        return f"none found (ratio exp({strongest:.3g})) | |"
    length = length_of(found.scenario)
    return f"{_level(found)} | {length or '-'} | {KINDS[found.kind]}"


def _level(found: Violation) -> str:
    if found.level is None:
        return "∞"
    if isinstance(found.claim, Fraction) and found.claim > 0:
        return f"{float(found.level / found.claim):.3f}"
    return f"{float(found.level):.3f}, claim 0"


if __name__ == "__main__":
    main()
