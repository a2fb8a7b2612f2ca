"""Every mutant, not only the sample: which are verified, and which of those nobody has justified.

    python tests/mutation/survey.py [--seconds 5] [--jobs 2] [SPEC...]

Prints what survivors.toml lacks in the form that stands there, then what is listed but was not verified.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from judging import OPEN, VERIFIED, Task, judgements
from mutants import Mutant
from survivors import is_private, justified, mutants, specs

from aligncheck.language.unparse import unparse


def main() -> int:
    """0 if the table is complete and nothing in it is stale."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="names of specs (default: all)")
    parser.add_argument("--seconds", type=float, default=5.0, help="for the proof of one mutant (default: 5)")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default: 2)")
    options = parser.parse_args()
    chosen = [m for name in options.specs or specs() for m in mutants()[name].values()]
    tasks = [Task(unparse(m.mechanism), options.seconds) for m in chosen]
    found = judgements(tasks, options.jobs)
    survivors = [m for place, m in enumerate(chosen) if found[place] == VERIFIED]
    missing = [m for m in survivors if not is_private(m)]
    print("\n".join(_as_entries(missing)))
    alive = {(m.spec, m.change) for m in survivors}
    gone = [m for m in chosen if (m.spec, m.change) in justified() and (m.spec, m.change) not in alive]
    for mutant in gone:
        print(f"# listed, but not verified: {mutant.spec}: {mutant.change}")
    proved = sum(outcome in (OPEN, VERIFIED) for outcome in found.values())
    print(f"# {len(chosen)} mutants, {proved} make sense, {len(survivors)} verified, {len(missing)} missing")
    return 1 if missing or gone else 0


def _as_entries(missing: list[Mutant]) -> Iterator[str]:
    for spec, of_spec in groupby(missing, key=lambda mutant: mutant.spec):
        yield from (f"[[{spec}]]", 'because = ""', "mutants = [")
        yield from (f"  '{mutant.change}',  # {mutant.rule}" for mutant in of_spec)
        yield "]\n"


if __name__ == "__main__":
    sys.exit(main())
