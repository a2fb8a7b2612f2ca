"""Loops that count, read as `for`: which ones are, and that nothing else changes. Clauses on lengths, too."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import parse as parsing
from aligncheck.language.syntax.counting import counted
from aligncheck.language.syntax.lengths import with_lengths_apart
from aligncheck.language.syntax.walk import statements_in
from aligncheck.meaning.interpreter import Finished, run

HEAD = """mechanism counting
input
  q : queries, sensitivity 1
  k : int where k >= 1
  T : real
  eps : real where eps > 0
privacy eps
program
"""
ROUND = "    eta[i] ~ Lap(1/eps)\n    emit value(q[i] + eta[i])\n"
PLAIN = "  i = 0\n  while i < len(q):\n" + ROUND
STEP = "    i = i + 1\n"
INNER = "".join(f"  {line}\n" for line in (PLAIN + STEP).splitlines())

COUNTS = {
    "plain": PLAIN + STEP,
    "from 1": PLAIN.replace("= 0", "= 1") + STEP,
    "up to its end": PLAIN.replace("= 0", "= 1").replace("i < ", "i <= ").replace("q[i]", "q[i - 1]") + STEP,
    "guard": "  c = 0\n  i = 0\n  while c < k and i < len(q):\n" + ROUND + "    c = c + 2\n" + STEP,
    "guard of the counter": PLAIN.replace("len(q)", "len(q) and i <= T") + STEP,
    "break": "  c = 0\n" + PLAIN + STEP + "    c = c + 1\n    if c >= k: break\n",
    "inner": "  for r in range(1):\n" + INNER,
    "nothing but its counter": "  i = 0\n  while i < len(q) and abs(T) < k:\n" + STEP,
}
DOES_NOT = {
    "read afterwards": PLAIN + STEP + "  emit last(i)\n",
    "read after the step": PLAIN + STEP + "    emit at(i)\n",
    "steps by two": PLAIN + "    i = i + 2\n",
    "steps at times": "  i = 0\n  while i < len(q):\n    if T > 0:\n      i = i + 1\n",
    "steps twice": PLAIN + STEP + STEP,
    "changed in an arm": PLAIN + STEP + "    if T > 0:\n      i = len(q)\n",
    "an end that moves": "  c = k\n  i = 0\n  while i < c:\n    c = c - 1\n" + STEP,
    "an end that is no whole number": "  i = 0\n  while i < T:\n" + STEP,
    "a start that is no whole number": "  i = T\n  while i < len(q):\n" + STEP,
    "two starts": "  i = 0\n" + PLAIN + STEP,
    "a guard whose size has no value": PLAIN.replace("len(q)", "len(q) and abs(1/(len(q) - i)) > T") + STEP,
    "a guard that reads a draw": PLAIN.replace("i < len(q)", "(i == 0 or z > T) and i < len(q)")
    + "    if q[i] > T and i == 0:\n      z ~ Lap(1)\n"
    + STEP,
    "a guard without a value": PLAIN.replace("len(q)", "len(q) and 1/(len(q) - i) > T") + STEP,
}


def _read(program: str) -> n.Mechanism:
    return parsing.parse(Source("counting.dp", HEAD + program))


def _has_while(mechanism: n.Mechanism) -> bool:
    return any(isinstance(stmt, n.While) for stmt in statements_in(mechanism.body))


@pytest.mark.parametrize("program", COUNTS.values(), ids=COUNTS)
def test_a_counting_loop_is_a_for(program: str) -> None:
    assert not _has_while(_read(program))


@pytest.mark.parametrize("program", DOES_NOT.values(), ids=DOES_NOT)
def test_other_loops_stay(program: str) -> None:
    assert _has_while(_read(program))


@pytest.mark.parametrize("program", COUNTS.values(), ids=COUNTS)
def test_both_readings_run_alike(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "counted", lambda mechanism: mechanism)
    written = _read(program)
    assert _has_while(written)
    for seed in range(12):
        assert _told(counted(written), seed) == _told(written, seed)


def _told(mechanism: n.Mechanism, seed: int) -> tuple[object, ...]:
    chance = random.Random(seed)
    q = tuple(Fraction(chance.randint(-2, 2)) for _ in range(chance.randint(0, 4)))
    inputs = {"k": Fraction(chance.randint(1, 3)), "T": Fraction(chance.randint(-1, 3)), "eps": Fraction(1)}
    made = run(mechanism, inputs, {"q": q}, lambda site: Fraction(chance.randint(-3, 3)))
    assert isinstance(made.ended, Finished)
    return made.output, tuple((draw.key, draw.value) for draw in made.draws)


def test_what_a_clause_says_of_no_entry_is_said_of_empty_lists_too() -> None:
    head = HEAD.replace("  eps :", "  h : vector where {}h[i] > 0{}\n  eps :").replace(
        "eps > 0\n", "eps > 0{}\n"
    )

    def clauses(*parts: str) -> list[n.Expr | None]:
        read = parsing.parse(Source("lengths.dp", head.format(*parts) + "  emit done\n"))
        return [item.where for item in read.inputs]

    length = "len(h) == len(q)"
    apart = clauses("", "", f" and {length}")
    assert clauses(f"{length} and ", "", "") == clauses("", f" and {length}", "") == apart
    total = "sum(h[j] for j in h) == 1"
    assert clauses("", f" and {total}", "") == clauses("", "", f" and {total}")
    assert clauses("", " and h[0] == 1", "") != clauses("", "", " and h[0] == 1")
    assert clauses("", " or k > 2", "") != clauses("", "", " or k > 2")
    one = parsing.parse(
        Source(
            "lengths.dp",
            "mechanism m\ninput\n  h : vector where h[i] > 0 and 1 > 0\nprivacy 1\nprogram\n  emit done\n",
        )
    )
    assert isinstance(one.inputs[0].where, n.Logic)
    assert with_lengths_apart(one) is one
