"""Z3 and cvc5 give every question of the kernel the same answer.

The questions are those about two of the compiled mechanisms in `mechanisms/`. With `--exhaustive` every spec
that is verified is compiled in each mode, and all of those are asked, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from compile_all import MECHANISMS, NotCompiledError, compiled

from aligncheck.compiler.certificate.checker import check_file
from aligncheck.compiler.certificate.solvers import Solver
from aligncheck.compiler.modes import RunMode

ROOT = Path(__file__).parents[2]
SPECS = [*sorted((ROOT / "specs").glob("*.dp")), *sorted((ROOT / "tests" / "specs").rglob("*.dp"))]


def decided_by_both(text: str) -> None:
    """Every decision of the kernel about the module, by each of the solvers."""
    pytest.importorskip("cvc5")
    found = check_file(text, [Solver.Z3, Solver.CVC5])
    assert found.disagreement == ()
    assert found.faults == ()
    assert found.accepted is not None
    assert len(found.accepted.decisions) > 5


@pytest.mark.parametrize("name", ["adaptive_svt", "exponential_mechanism"])
def test_two_solvers_agree_on_the_compiled_mechanisms(name: str) -> None:
    decided_by_both((MECHANISMS / f"{name}.py").read_text("utf-8"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every spec in every mode, where there is time for that."""
    if "spec" in metafunc.fixturenames:
        every = [(spec, mode) for spec in SPECS for mode in RunMode]
        asked = every if metafunc.config.getoption("--exhaustive") else []
        metafunc.parametrize(("spec", "mode"), asked, ids=[f"{s.stem}-{m.value}" for s, m in asked])


def test_two_solvers_agree_on_all_that_can_be_compiled(spec: Path, mode: RunMode) -> None:
    try:
        text = compiled(spec, mode)
    except NotCompiledError as error:
        pytest.skip(f"not compiled: {error}")
    decided_by_both(text)
