"""The cost table: every aligned draw and every call, parts that add up, one line for what is not told apart.

Each table is compared with replays as well, by code that knows nothing of how it was found.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cost_tables import agrees, lines_of
from random_pairs import replays

from aligncheck.language.source import Source
from aligncheck.language.syntax.read import read_source
from aligncheck.language.syntax.walk import has_densities
from aligncheck.pipeline import Options, verify_source
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

TABLES = {
    "moved in one round": (
        file("tests/specs/statements/quantile_by_svt.dp"),
        [("eta", "eps/2", "once"), ("xi[i]", "eps/2", "at most once")],
    ),
    "a quotient": (file("tests/specs/statements/sensitivity_over_r.dp"), [("eta", "eps", "once")]),
    "some of the records": (
        file("specs/svt_with_gap_untagged.dp"),
        [("eta", "eps/2", "once"), ("xi[i]", "eps/(2*k)", "when `out[i].gap >= 0`")],
    ),
    "after a loop": (file("specs/partial_sum.dp"), [("eta", "eps", "once")]),
    "one answer moves": (file("specs/histogram.dp"), [("eta[i]", "eps", "at most once")]),
    "two answers move": (file("specs/histogram_moved.dp"), [("eta[i]", "eps/2", "when moved")]),
    "moves of one sum": (file("specs/two_histograms.dp"), [("xi[i], zeta[i]", "eps", "together")]),
    "some of it together": (
        file("specs/smart_sum.dp"),
        [("eta2[i]", "eps", "at most once"), ("eta1[i]", "the rest", "together")],
    ),
    "two amounts": (
        file("specs/earlier_noise_shift.dp"),
        [("eta", "eps/2", "once"), ("xi", "eps/2", "once")],
    ),
    "no more than the claim": (file("specs/local_report.dp"), [("eta", "eps", "once")]),
    "a variable amount": (file("specs/halving_budget.dp"), [("xi[t]", "left/2", "per `value`")]),
    "a claim about the output": (
        file("specs/hybrid_topk_gap.dp"),
        [("eta[i]", "eps/k", "for each of `winners`")],
    ),
    "one arm or the other": (
        spec(
            ONE + "\nwide : bool",
            "if wide:\n  eta ~ Lap(1/eps)\n  emit v(x + eta)\nelse:\n  xi ~ Lap(1/eps)\n  emit v(x + xi)",
            "eta += x - x'\nxi += x - x'",
        ),
        [("eta", "eps", "at most once"), ("xi", "eps", "at most once")],
    ),
    "one of two answers moves": (
        spec(
            "q, r : query, sensitivity 1, adjacency one",
            "eta ~ Lap(1/eps)\nxi ~ Lap(1/eps)\nemit v(a = q + eta, b = r + xi)",
            "eta += q - q'\nxi += r - r'",
        ),
        [("eta", "eps", "when moved"), ("xi", "eps", "when moved")],
    ),
    "loops in loops": (
        spec(
            MANY.format("one") + "\nn : int where n >= 1",
            "j = 0\nfor t in range(n):\n  for i, x in q:\n    xi[j] ~ Lap(n/eps)\n"
            "    emit v(x + xi[j])\n    j = j + 1",
            "xi[j] += q[i] - q'[i]",
        ),
        [("xi[j]", "eps/n", "when moved")],
    ),
    "an index that the program counts": (
        file("specs/sparse.dp"),
        [
            ("eta[0]", "eps/(2*c)", "at most once"),
            ("nu[i]", "eps/(2*c)", "per `top`"),
            ("eta[count + 1]", "eps/(2*c)", "when `j < c`"),
        ],
    ),
    "a while loop": (
        spec(
            ONE + "\nn : int where n >= 1",
            "t = 0\nwhile t < n:\n  xi[t] ~ Lap(n/eps)\n  emit v(x + xi[t])\n  t = t + 1",
            "xi[t] += x - x'",
        ),
        [("xi[t]", "eps/n", "per `v`")],
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
    table = [(part.name, part.amount, part.times) for part in verdict.proof.cost]
    assert table == expected
    assert told(verdict, source, 3) >= 5


def told(verdict: Verified, source: Source, seeds: int) -> int:
    """How many runs the table was compared with."""
    lines = lines_of(verdict.proof.cost, source)
    runs = (done for seed in range(seeds) for done in replays(verdict.mechanism, seed))
    return sum(agrees(lines, source, done) for done in runs)


def verified(path: Path) -> tuple[Source, Verified]:
    source = read_source(str(path))
    verdict = verify_source(source, Options())
    assert isinstance(verdict, Verified), verdict
    return source, verdict


@pytest.mark.parametrize("path", [*CORPUS[1::6], *STYLES[3::20]], ids=lambda path: path.stem)
def test_tables_of_the_corpus_are_what_runs_pay(path: Path) -> None:
    source, verdict = verified(path)
    if not has_densities(verdict.mechanism.body):
        assert told(verdict, source, 2) >= 1


def test_tables_of_the_whole_corpus_are_what_runs_pay(exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("with --exhaustive")
    for path in [*CORPUS, *STYLES]:
        source, verdict = verified(path)
        if not has_densities(verdict.mechanism.body):
            assert told(verdict, source, 5) >= 1, path
