"""Z3 and cvc5 give every question of the kernel the same answer.

The questions are those about two of the compiled mechanisms in `mechanisms/`. With `--exhaustive` so are
those about every spec under `specs/`, one by one, and about all that can be compiled, in each mode.
"""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import pytest
from compile_all import MECHANISMS, NotCompiledError, compiled
from kernel_cases import decide, spec_of, witness_of

from aligncheck.compiler.certificate.checker import check_file
from aligncheck.compiler.certificate.questions import Kept, Question
from aligncheck.compiler.certificate.solvers import Solver, by_cvc5
from aligncheck.compiler.modes import RunMode
from aligncheck.kernel.answer import Accepted

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


LIMIT = 15
"""Seconds for one question: cvc5 does not always keep to the limits that it is given."""


def within(seconds: float, question: Question) -> str:
    """What cvc5 says, in a process of its own that can be ended."""
    fork = get_context("fork")
    here, there = fork.Pipe(False)
    process = fork.Process(target=lambda: there.send(by_cvc5(question.text, question.expected)))
    process.start()
    answer: str = here.recv() if here.poll(seconds) else "unknown"
    process.kill()
    process.join()
    return answer


class Asked(Kept):
    """Has cvc5 answer every question, too; what it says to each is kept, and nothing rests on it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, str, str]] = []

    def agrees(self, question: Question) -> bool:
        self.said.append((question.about, question.expected, within(LIMIT, question)))
        return True


OPEN = {
    "adaptive_svt_geometric": 1,
    "dyadic_sums": 2,
    "exponential_mechanism_gap": 1,
    "exponential_mechanism_gap_monotone": 1,
    "hybrid_sparse_gap": 1,
    "hybrid_topk_gap_exp": 1,
    "noisy_topk_gap": 1,
    "noisy_topk_gap_monotone": 1,
    "rounded_count": 1,
    "svt_discrete": 1,
    "svt_monotone": 1,
    "topk_with_measures": 1,
    "windowed_sum": 1,
}
"""How many questions about a spec cvc5 leaves open within its limits, where it does."""


def test_two_solvers_agree_on_every_question(name: str) -> None:
    pytest.importorskip("cvc5")
    asked = Asked()
    answer = decide(spec_of(ROOT / "specs" / f"{name}.dp"), witness_of("specs", name), asked)
    assert isinstance(answer, Accepted)
    assert {said for _, expected, said in asked.said if said != expected} <= {"unknown"}
    still_open = [about for about, _, said in asked.said if said == "unknown"]
    print(f"{name}: {len(asked.said)} questions, {len(still_open)} open: {still_open}")
    assert len(still_open) <= OPEN.get(name, 0)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every spec, and every one in every mode, where there is time for that."""
    if "name" in metafunc.fixturenames and "compiled" not in metafunc.function.__name__:
        named = sorted(path.stem for path in (ROOT / "specs").glob("*.dp"))
        metafunc.parametrize("name", named if metafunc.config.getoption("--exhaustive") else [])
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
