"""Specs with their witnesses, for the tests of the kernel."""

from __future__ import annotations

import time
from pathlib import Path

from aligncheck.judge import judge
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.search.witness.witness_json import read, written
from aligncheck.verdict import Verified

PROJECT = Path(__file__).parents[1]
WITNESSES = PROJECT / "tests" / "data" / "kernel"


def spec_of(path: Path) -> Mechanism:
    """The tree of a spec: parsed, and its callees read."""
    source = read_source(str(path))
    tree = parse(source)
    return check(source, tree) if tree.uses else tree


def witness_of(folder: str, name: str) -> Witness:
    """The witness that is kept for a spec."""
    return read((WITNESSES / folder / f"{name}.json").read_text("utf-8"))


def search(path: Path, folder: str) -> bool:
    """Finds a witness anew and keeps it; whether the kernel accepts it."""
    source = read_source(str(path))
    verdict = judge(check(source, parse(source)), source, time.monotonic() + 60, explain=False)
    if not isinstance(verdict, Verified):
        return False
    name = path.stem.removesuffix("_ok")
    (WITNESSES / folder / f"{name}.json").write_text(written(verdict.witness) + "\n", "utf-8")
    return isinstance(verdict.accepted, Accepted)
