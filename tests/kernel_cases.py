"""Specs with their witnesses, for the tests of the kernel."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import aligncheck.kernel.decide as kernel
from aligncheck.judge import judge
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.logic import Confirm
from aligncheck.kernel.witness import Witness
from aligncheck.language.check import check
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.search.witness.enough import with_needs
from aligncheck.search.witness.sorting import with_sorts
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


def decide(spec: Mechanism, witness: Witness, confirm: Confirm | None = None) -> Accepted | Rejected:
    """What the kernel says, when it is told the sorts as well. (Of what is no tree there are none.)"""
    with suppress(AttributeError, TypeError, KeyError):
        witness = with_sorts(spec, witness)
    return kernel.decide(spec, witness, confirm)


def search(path: Path, folder: str) -> bool:
    """Finds a witness anew and keeps it; whether the kernel accepts it."""
    source = read_source(str(path))
    verdict = judge(check(source, parse(source)), source, time.monotonic() + 60, explain=False)
    if not isinstance(verdict, Verified):
        return False
    name = path.stem.removesuffix("_ok")
    text = written(with_needs(verdict.mechanism, verdict.witness))
    (WITNESSES / folder / f"{name}.json").write_text(text + "\n", "utf-8")
    return isinstance(verdict.accepted, Accepted)
