"""How many alignments are found of specs that are verified, theirs being taken away, and how long it takes.

`python tests/bench/alignments.py [--every N] [--variants plain,other,…] [--log FILE] [PATH…]` prints tables
in Markdown. Each search has a process of its own; its time is processor seconds, imports apart. `--log` keeps
a line of JSON for each search, and what is in it is not searched for again.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rewriting import renamed, reordered

from aligncheck.commands.improve import STEPS
from aligncheck.effort import Effort
from aligncheck.expect import expectation_in
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.syntax.rewrite import statements
from aligncheck.language.syntax.walk import has_densities, statements_in
from aligncheck.language.unparse import unparse
from aligncheck.pipeline import Options, verify_source
from aligncheck.synthesis.find import FULL, NoAlignment, SearchTally, find_alignment
from aligncheck.verdict import name_of
from aligncheck.workers import Done, Supervision

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "specs": "specs/*.dp",
    "styles": "tests/specs/styles/*.dp",
    "written": "tests/specs/written/*.dp",
    "private": "tests/specs/private/*.dp",
    "rules": "tests/specs/rules/*.dp",
    "statements": "tests/specs/statements/*.dp",
    "bench": "tests/bench/specs/*.dp",
    "peers": "tests/specs/peers/*/*.dp",
    "literature": "tests/specs/literature/*.dp",
}
VARIANTS = {
    "plain": FULL,
    "other": FULL,
    "without replays": replace(FULL, pairs=0),
    "without counterexamples": replace(FULL, learns=False),
}
"""`other`: without `invariant` lines, titles and comments, too, with other names and in another order."""
SECONDS = 20
"""Of the processor, for one search."""


@dataclass(frozen=True)
class SearchRow:
    """What became of one search. `told`: why none was found, and the verdict with its own."""

    path: str
    variant: str
    found: bool
    seconds: float
    alignments: int
    proofs: int
    told: str


def paths_in(folder: str) -> list[Path]:
    """The files that are to be verified by an alignment."""
    return [path for path in sorted(ROOT.glob(FOLDERS[folder])) if _wanted(path)]


def _wanted(path: Path) -> bool:
    expected = expectation_in(path.read_text("utf-8"))
    if expected is None or expected.verdict != "verified":
        return False
    try:
        body = parse(read_source(str(path))).body
    except SpecError:
        return False
    return not has_densities(body) and any(isinstance(s, n.Sample) for s in statements_in(body))


def otherwise_written(mechanism: n.Mechanism) -> n.Mechanism:
    """The same without invariants, titles and comments, with other names and in another order."""

    def plain(s: n.Stmt) -> n.Stmt:
        return replace(s, invariants=()) if isinstance(s, n.For | n.While) else s

    chance = random.Random(mechanism.name)
    bare = replace(mechanism, doc="", remarks=(), body=statements(mechanism.body, plain))
    return renamed(reordered(bare, chance.randrange), chance.randrange)


def source_of(path: Path, variant: str) -> Source:
    """The text that is searched; it has the alignment that the search takes away."""
    source = read_source(str(path))
    if variant != "other":
        return source
    return Source(source.path, unparse(otherwise_written(parse(source))))


def searched(job: tuple[str, str]) -> SearchRow:
    """In a process of its own."""
    path, variant = job
    source = source_of(ROOT / path, variant)
    check(source, parse(source))
    start = time.process_time()
    signal.signal(signal.SIGPROF, _late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        found = find_alignment(source, Effort(20 * SECONDS, STEPS), VARIANTS[variant])
    except TimeoutError:
        found = NoAlignment(SearchTally(), "the time was over")
    signal.setitimer(signal.ITIMER_PROF, 0)
    seconds, t = time.process_time() - start, found.tally
    told = ""
    if isinstance(found, NoAlignment):
        own = verify_source(source, Options(timeout=10 * SECONDS, explain=False))
        told = f"{found.ended or 'all were tried'}; with its own: {name_of(own)}"
    return SearchRow(path, variant, not told, seconds, t.alignments, t.proofs, told)


def _late(*_: object) -> None:
    raise TimeoutError


def rows_of(jobs: Sequence[tuple[str, str]], log: Path | None) -> Iterator[SearchRow]:
    """One row for each, those in the log first."""
    known = {}
    if log is not None and log.exists():
        for line in log.read_text("utf-8").splitlines():
            row = SearchRow(**json.loads(line))
            known[row.path, row.variant] = row
    yield from (known[job] for job in jobs if job in known)
    left = [job for job in jobs if job not in known]
    with Supervision(searched, left, deadline=60 * SECONDS, jobs=1, memory=4 << 30) as work:
        for at, outcome in work:
            lost = SearchRow(*left[at], False, SECONDS, 0, 0, type(outcome).__name__)
            row = outcome.value if isinstance(outcome, Done) else lost
            if log is not None:
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
            yield row


def table(rows: Sequence[SearchRow], groups: dict[str, list[str]]) -> Iterator[str]:
    """A line for each folder and variant, and one for each miss."""
    yield "| folder | variant | found | median, s | most, s | tried, median | put to proof, median |"
    yield "|---|---|---|---|---|---|---|"
    for variant in dict.fromkeys(row.variant for row in rows):
        for folder, paths in [*groups.items(), ("all", [p for each in groups.values() for p in each])]:
            here = [row for row in rows if row.variant == variant and row.path in paths]
            if not here:
                continue
            right = [row for row in here if row.found]
            seconds = [row.seconds for row in right] or [0.0]
            tried = statistics.median([row.alignments for row in right] or [0])
            proofs = statistics.median([row.proofs for row in right] or [0])
            yield (
                f"| {folder} | {variant} | {len(right)} of {len(here)} | {statistics.median(seconds):.1f} "
                f"| {max(seconds):.1f} | {tried:.0f} | {proofs:.0f} |"
            )
    yield "\n| not found | variant | s | tried | put to proof | why |\n|---|---|---|---|---|---|"
    for row in rows:
        if not row.found:
            cells = f"{row.seconds:.1f} | {row.alignments:,} | {row.proofs}"
            yield f"| {row.path} | {row.variant} | {cells} | {row.told} |"


def main(arguments: Sequence[str]) -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--variants", default="plain,other")
    parser.add_argument("--log", type=Path)
    parser.add_argument("paths", nargs="*", type=Path)
    given = parser.parse_args(arguments)
    chosen = {path.resolve() for path in given.paths}
    groups = {
        folder: [
            str(path.relative_to(ROOT))
            for path in paths_in(folder)[:: given.every]
            if not chosen or path.resolve() in chosen
        ]
        for folder in FOLDERS
    }
    jobs = [
        (path, variant) for variant in given.variants.split(",") for each in groups.values() for path in each
    ]
    print("\n".join(table(list(rows_of(jobs, given.log)), groups)))


if __name__ == "__main__":
    main(sys.argv[1:])
