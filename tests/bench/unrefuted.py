"""What the default `aligncheck refute` says of every spec that is not VERIFIED: a table in Markdown.

    python tests/bench/unrefuted.py [--reasons FILE] [PATH...]

Why a spec is not refuted stands in `unrefuted.toml`, by hand; what has no violation and no reason is marked.
Nothing in the table depends on how busy the machine is: two runs print the same.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator
from pathlib import Path

from aligncheck.commands.refuting import Job, refuting
from aligncheck.language.diagnostics import Diagnostic
from aligncheck.meaning.exact import decimal
from aligncheck.pipeline import Options, verify_file
from aligncheck.refutation.findings import name_of
from aligncheck.refutation.refuter import load
from aligncheck.refutation.violation import Violation
from aligncheck.verdict import Verified
from aligncheck.verdict import name_of as verdict_of

ROOT = Path(__file__).parents[2]
REASONS = Path(__file__).with_suffix(".toml")
FOLDERS = (ROOT / "specs", ROOT / "tests" / "specs")


def main() -> None:
    """Prints the table, and how many there are of each kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--reasons", type=Path, default=REASONS)
    args = parser.parse_args()
    files = args.paths or sorted(file for folder in FOLDERS for file in folder.rglob("*.dp"))
    reasons = reasons_in(args.reasons)
    load()
    count = {"verified": 0, "refuted": 0, "no spec": 0, "explained": 0, "open": 0}
    print("| spec | verify says | refute says | level, or why not |\n|---|---|---|---|")
    for file, verdict in _not_verified(files, count):
        with refuting([Job(str(file), {}, None)], jobs=1) as work:
            outcome = next(iter(work)).outcome
        name = _named(file)
        match outcome:
            case Violation():
                kind, why = "refuted", _level(outcome)
            case Diagnostic(message=message):
                kind, why = "no spec", message
            case _:
                kind = "explained" if name in reasons else "open"
                why = reasons.get(name, "**no reason given**")
        count[kind] += 1
        print(f"| {name} | {verdict} | {name_of(outcome)} | {why} |", flush=True)
    print("\n" + ", ".join(f"{number} {what}" for what, number in count.items()))


def reasons_in(path: Path) -> dict[str, str]:
    """The reason for each spec that is listed."""
    kinds = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    return {spec: kind["why"] for kind in kinds.values() for spec in kind["specs"]}


def _named(file: Path) -> str:
    path = file.resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def _not_verified(files: list[Path], count: dict[str, int]) -> Iterator[tuple[Path, str]]:
    for file in files:
        verdict = verify_file(str(file), Options(explain=False)).verdict
        if isinstance(verdict, Verified):
            count["verified"] += 1
        else:
            at = getattr(verdict, "condition", None)
            yield file, verdict_of(verdict) + ("" if at is None else f" at {at.id}")


def _level(found: Violation) -> str:
    if found.level is None:
        return "impossible on D'"
    return f"level {float(found.level):.3f}, claim {decimal(found.claim, 4)}"


if __name__ == "__main__":
    main()
