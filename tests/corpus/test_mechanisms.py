"""`mechanisms/` holds today's code of some of today's specs; others are compiled here: a sample, or all."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest
from compile_all import GOLDENS, HEAD, MECHANISMS, ROW, SPECS, Made, made, verified_specs

from aligncheck.compiler.certificate.checker import check_file
from aligncheck.compiler.certificate.solvers import Solver
from aligncheck.compiler.modes import RunMode
from aligncheck.runtime import Mechanism

SAMPLE = ("laplace_discrete", "sum_all")
"""Of the others, one on a lattice and one that is not: with `--exhaustive` all are compiled."""
README = (MECHANISMS / "README.md").read_text("utf-8")
ROWS = {row[1]: row for row in ROW.finditer(README)}


def test_the_goldens_are_there_and_nothing_else() -> None:
    assert sorted(path.stem for path in MECHANISMS.glob("*.py")) == sorted(GOLDENS) == sorted(ROWS)
    assert README.startswith(HEAD)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Of the specs beside the goldens a sample, or all where there is time."""
    if "other" in metafunc.fixturenames:
        every = [name for name in verified_specs() if name not in GOLDENS]
        metafunc.parametrize("other", every if metafunc.config.getoption("--exhaustive") else SAMPLE)


@pytest.mark.parametrize("name", GOLDENS)
def test_a_module_is_in_step_with_its_spec(name: str) -> None:
    text = (MECHANISMS / f"{name}.py").read_text("utf-8")
    spec = (SPECS / f"{name}.dp").read_text("utf-8").rstrip("\n").split("\n")
    embedded = text.partition(f"\n#: spec {name}.dp sha256 ")[2].split("\n")[1:]
    assert [line.removeprefix("#|").removeprefix(" ") for line in embedded[: len(spec)]] == spec
    accepted(Made(name, RunMode(ROWS[name][2]), text, ()))


def test_what_is_compiled_anew_is_accepted(other: str) -> None:
    compiled = made(other)
    assert bool(compiled.problems) is (compiled.mode is not RunMode.LATTICE)
    assert not re.search(r"time|stopped|limit", " ".join(compiled.problems)), "no accident of time"
    accepted(compiled)
    has_a_class_that_says_how_it_computes(compiled)


def accepted(compiled: Made) -> None:
    """By the kernel; the second solver has a test of its own."""
    checked = check_file(compiled.text, [Solver.Z3])
    assert checked.faults == ()
    assert checked.mode is compiled.mode
    assert str(Path.home()) not in compiled.text


@pytest.mark.parametrize("name", GOLDENS)
def test_a_module_has_a_class_that_says_how_it_computes(name: str) -> None:
    text = (MECHANISMS / f"{name}.py").read_text("utf-8")
    has_a_class_that_says_how_it_computes(Made(name, RunMode(ROWS[name][2]), text, ()))


def has_a_class_that_says_how_it_computes(compiled: Made) -> None:
    """Executes the module."""
    module = types.ModuleType(f"mechanisms_{compiled.name}")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(compiled.text, compiled.name, "exec"), vars(module))
    found = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Mechanism) and each.__module__ == module.__name__
    ]
    assert found
    assert all(each.__name__.startswith("Unsafe") is (compiled.mode is RunMode.FLOAT) for each in found)


def test_what_is_not_on_a_lattice_says_why() -> None:
    for name, row in ROWS.items():
        assert bool(row[3]) is (row[2] != RunMode.LATTICE.value), name


def test_the_reason_is_no_accident_of_time() -> None:
    assert not re.search(r"time|stopped|limit", " ".join(row[3] for row in ROWS.values()))
