"""Z3 and cvc5 give every question of every certificate the same answer.

The certificates are those of the compiled mechanisms in `mechanisms/`. With `--exhaustive` every spec that is
verified is certified anew in each mode, and all of those are asked, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from aligncheck.compiler.certificate.scripts import Script
from aligncheck.compiler.certificate.solvers import Solver, answers
from aligncheck.compiler.certificate.text import SCRIPT, Section, detached
from aligncheck.compiler.modes import Mode
from aligncheck.pipeline import Options, certify_file

ROOT = Path(__file__).parents[2]
COMPILED = sorted((ROOT / "mechanisms").rglob("*.py"))
SPECS = [*sorted((ROOT / "specs").glob("*.dp")), *sorted((ROOT / "tests" / "specs").rglob("*.dp"))]

UNDECIDED: dict[str, int] = {}
"""How many questions of a script cvc5 leaves open, by the script's title."""


def scripts_in(sections: Iterable[Section]) -> list[Script]:
    """The scripts of a certificate. Their titles end with `: COUNT x ANSWER`."""
    found = []
    for section in sections:
        if section.title.startswith(SCRIPT):
            title, _, expected = section.title.rpartition(": ")
            count, _, answer = expected.partition(" x ")
            names = tuple(f"question {n}" for n in range(1, int(count) + 1))
            found.append(Script(title, section.lines, names, answer))
    return found


def decided_alike(scripts: Iterable[Script]) -> int:
    """How many questions both solvers answer as expected; fails where they do not."""
    agreed = 0
    for script in scripts:
        by_z3, by_cvc5 = (answers(script, solver) for solver in (Solver.Z3, Solver.CVC5))
        open_ = 0
        for one, other in zip(by_z3, by_cvc5, strict=True):
            assert one.answer == script.expected, (script.title, one)
            assert other.answer in (script.expected, "unknown"), (script.title, other)
            open_ += other.answer == "unknown"
        assert open_ == UNDECIDED.get(script.title, 0), script.title
        agreed += len(by_z3) - open_
    return agreed


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_two_solvers_agree_on_the_compiled_mechanisms(path: Path) -> None:
    pytest.importorskip("cvc5")
    scripts = scripts_in(detached(path.read_text(encoding="utf-8")).sections)
    assert decided_alike(scripts) > 1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every spec in every mode, where there is time for that."""
    if "spec" in metafunc.fixturenames:
        every = [(spec, mode) for spec in SPECS for mode in Mode]
        asked = every if metafunc.config.getoption("--exhaustive") else []
        metafunc.parametrize(("spec", "mode"), asked, ids=[f"{s.stem}-{m.value}" for s, m in asked])


def test_two_solvers_agree_on_all_that_can_be_compiled(spec: Path, mode: Mode) -> None:
    pytest.importorskip("cvc5")
    done = certify_file(str(spec), Options(explain=False), mode)
    if done.form is None:
        pytest.skip(f"not compiled: {done.problem or done.result.verdict}")
    assert decided_alike(scripts_in(done.sections)) > 1


def test_a_script_on_which_the_solvers_differ_is_noticed() -> None:
    pytest.importorskip("cvc5")
    lines = ("(set-logic QF_LRA)", "(declare-const x Real)", "(assert (< x 0)) (check-sat)")
    assert decided_alike([Script("true", lines, ("a question",), "sat")]) == 1
    with pytest.raises(AssertionError, match="false"):
        decided_alike([Script("false", lines, ("a question",), "unsat")])
