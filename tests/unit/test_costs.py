"""The cost table: what each line of an alignment and each call costs, as the kernel decided.

Each table is compared with replays as well, by code that knows nothing of how it was found.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cost_tables import agrees
from random_pairs import replays

from aligncheck.language.source import Source
from aligncheck.language.syntax.read import read_source
from aligncheck.language.syntax.walk import has_densities
from aligncheck.pipeline import Options, verify_source
from aligncheck.report.cost import EXACT, cost_parts
from aligncheck.verdict import Verified

PROJECT = Path(__file__).parents[2]
CORPUS = sorted((PROJECT / "specs").glob("*.dp"))
STYLES = sorted((PROJECT / "tests" / "specs" / "styles").glob("*.dp"))


def file(path: str) -> str:
    return (PROJECT / path).read_text("utf-8")


def spec(inputs: str, program: str, align: str, uses: str = "") -> str:
    def block(title: str, text: str) -> str:
        return title + "".join(f"\n  {line}" for line in text.split("\n")) + "\n" if text else ""

    declared = block("input", f"{inputs}\neps : real where eps > 0")
    return f"mechanism m\n{uses}{declared}privacy eps\n" + block("program", program) + block("align", align)


ONE = "x : query, sensitivity 1"
MANY = "q : queries, sensitivity 1, adjacency {}"

THEOREM = "VLDB paper, Theorem 4"

TABLES = {
    "a quotient": (file("tests/specs/statements/sensitivity_over_r.dp"), [("eta", "eps", "once")]),
    "some of the records": (
        file("specs/svt_with_gap_untagged.dp"),
        [("eta", "eps/2", "once"), ("xi[i]", "eps/(2*k)", "when `out[i].gap >= 0`")],
    ),
    "after a loop": (file("specs/partial_sum.dp"), [("eta", "eps", "once")]),
    "a draw that is divided": (
        file("tests/specs/rules/halved_ok.dp")
        .replace("eta/2", "eta/2 + 1")
        .replace("ln(2)\n", "ln(2) + eps\n")
        .replace("eta > 0", "eta > 2"),
        [("eta", "ln(2)", f"once, for dividing ({THEOREM})"), ("eta", "eps", "once")],
    ),
    "draws that are exchanged": (
        file("tests/specs/rules/exchanged_ok.dp"),
        [
            ("eta", "0", f"once, in the place of `xi` ({THEOREM})"),
            ("eta", "abs(x - x')*eps", "once"),
            ("xi", "0", f"once, in the place of `eta` ({THEOREM})"),
        ],
    ),
    "draws of a list that are exchanged": (
        file("tests/specs/rules/exchanged_list_ok.dp"),
        [
            ("xi", "0", f"per draw, in the place of `xi[1]` ({THEOREM})"),
            ("xi", "abs(q[0] - q'[0])*eps/2", "per draw"),
            ("xi", "0", f"per draw, in the place of `xi[0]` ({THEOREM})"),
            ("xi", "abs(q[1] - q'[1])*eps/2", "per draw"),
        ],
    ),
    "one answer moves": (file("specs/histogram.dp"), [("eta[i]", EXACT, "when moved")]),
    "a variable amount": (file("specs/halving_budget.dp"), [("xi[t]", "use", "per draw")]),
    "a claim about the output": (
        file("specs/hybrid_sparse_gap.dp"),
        [("eta", "theta*eps", "once"), ("xi[i]", "(1 - theta)*eps/k", "when `i in winners`")],
    ),
    "one arm or the other": (
        spec(
            ONE + "\nwide : bool",
            "if wide:\n  eta ~ Lap(1/eps)\n  emit v(x + eta)\nelse:\n  xi ~ Lap(1/eps)\n  emit v(x + xi)",
            "eta += x - x'\nxi += x - x'",
        ),
        [("eta", "eps", "at most once"), ("xi", "eps", "at most once")],
    ),
    "cases": (
        spec(
            ONE,
            "eta ~ Lap(1/eps)\nemit v(x + eta)",
            "case x <= x':\n  eta += x - x'\notherwise:\n  eta += x - x'",
        ),
        [("eta", "eps", "in case `x <= x'`"), ("eta", "eps", "otherwise")],
    ),
    "calls in a loop": (
        spec(
            MANY.format("all") + "\nn : int where n >= 1 and len(q) >= 1",
            "for t in range(n):\n  s = noisy_max(q = q, eps = eps/n)\n  if s.index > 0:\n    emit v(s.index)",
            "",
            uses='use noisy_max from "noisy_max.dp"\n',
        ),
        [("s = noisy_max(...)", "eps/n", "per call")],
    ),
    "nothing moves": (spec("n : int", "eta ~ Lap(1/eps)\nemit v(n + eta)", ""), []),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_what_runs_pay(name: str) -> None:
    text, expected = TABLES[name]
    source = Source(str(PROJECT / "specs" / "m.dp"), text)
    verdict = verify_source(source, Options())
    assert isinstance(verdict, Verified), verdict
    table = [(part.name, part.amount, part.times) for part in cost_parts(verdict)]
    assert table == expected
    assert told(verdict, 3) >= 5


def told(verdict: Verified, seeds: int) -> int:
    """How many runs the table was compared with."""
    runs = (done for seed in range(seeds) for done in replays(verdict.mechanism, seed))
    return sum(agrees(cost_parts(verdict), done) for done in runs)


def verified(path: Path) -> Verified:
    verdict = verify_source(read_source(str(path)), Options())
    assert isinstance(verdict, Verified), verdict
    return verdict


@pytest.mark.parametrize("path", [*CORPUS[1::6], *STYLES[3::20]], ids=lambda path: path.stem)
def test_tables_of_the_corpus_are_what_runs_pay(path: Path) -> None:
    verdict = verified(path)
    if not has_densities(verdict.mechanism.body):
        assert told(verdict, 2) >= 1


def test_tables_of_the_whole_corpus_are_what_runs_pay(exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("with --exhaustive")
    for path in [*CORPUS, *STYLES]:
        verdict = verified(path)
        if not has_densities(verdict.mechanism.body):
            assert told(verdict, 5) >= 1, path
