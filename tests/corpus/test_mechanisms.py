"""`mechanisms/` holds what is compiled from `specs/`: today's code of today's specs, and nothing else."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from compile_all import HEAD, MECHANISMS, ROW, SPECS, verified_specs

from aligncheck.compiler.certificate.check import check_file
from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.modes import Mode
from aligncheck.runtime import Mechanism

NAMES = verified_specs()
README = (MECHANISMS / "README.md").read_text("utf-8")
ROWS = {row[1]: row for row in ROW.finditer(README)}


def test_every_verified_spec_is_there_and_nothing_else() -> None:
    assert sorted(path.stem for path in MECHANISMS.glob("*.py")) == NAMES
    assert sorted(ROWS) == NAMES
    assert README.startswith(HEAD)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_in_step_with_its_spec(name: str) -> None:
    """Everything in it is derived again and compared; deciding its scripts is the solvers' test."""
    text = (MECHANISMS / f"{name}.py").read_text("utf-8")
    spec = (SPECS / f"{name}.dp").read_text("utf-8").rstrip("\n").split("\n")
    embedded = text.partition(f"\n#: spec {name}.dp sha256 ")[2].split("\n")[1:]
    assert [line.removeprefix("#|").removeprefix(" ") for line in embedded[: len(spec)]] == spec
    checked = check_file(text, [], emit_python)
    assert checked.faults == ()
    assert checked.mode is not None
    assert checked.mode.value == ROWS[name][2]


@pytest.mark.parametrize("name", NAMES)
def test_a_module_has_a_class_that_says_how_it_computes(name: str) -> None:
    place = importlib.util.spec_from_file_location(f"mechanisms_{name}", MECHANISMS / f"{name}.py")
    assert place is not None
    assert place.loader is not None
    module = importlib.util.module_from_spec(place)
    sys.modules[place.name] = module  # dataclasses look their module up
    place.loader.exec_module(module)
    found = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Mechanism) and each.__module__ == place.name
    ]
    unsafe = ROWS[name][2] == Mode.FLOAT.value
    assert found
    assert all(each.__name__.startswith("Unsafe") is unsafe for each in found)


def test_what_is_not_on_a_lattice_says_why() -> None:
    for name, row in ROWS.items():
        assert bool(row[3]) is (row[2] != Mode.LATTICE.value), name


def test_the_reason_is_no_accident_of_time() -> None:
    assert not re.search(r"time|stopped|limit", " ".join(row[3] for row in ROWS.values()))


def test_no_module_holds_a_path_of_a_machine() -> None:
    for path in sorted(MECHANISMS.glob("*.py")):
        assert str(Path.home()) not in path.read_text("utf-8")
