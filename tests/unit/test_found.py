"""The search for a witness: what it reads off the text, and which lines it keeps."""

from __future__ import annotations

import pytest
from small_specs import mechanism

from aligncheck.effort import Effort
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.syntax.nodes import While
from aligncheck.language.unparse import unparse_expr
from aligncheck.search.witness.candidates import Candidates
from aligncheck.search.witness.collect import collected
from aligncheck.search.witness.composed import promised
from aligncheck.search.witness.found import found_lines, shown_lines
from aligncheck.search.witness.guess import guessed, measures
from aligncheck.search.witness.sieve import Sieve
from aligncheck.search.witness.sorting import with_sorts
from aligncheck.search.witness.stretches import Stretches, read_from
from aligncheck.search.witness.totals import total
from aligncheck.search.witness.witness_json import expression

COUNTING = """
    eta ~ Lap(2/eps)
    n = 0
    for i, x in q:
      if n < k:
        xi[i] ~ Lap(4*k/eps)
        if x + xi[i] >= eta:
          emit yes
          n = n + 1
        else: emit no
"""
ALIGN = "eta += 1\nxi[i] += 1 + q[i] - q'[i] when out[i] is yes"


def text(lines: tuple[object, ...]) -> set[str]:
    return {unparse_expr(e) for e in lines}  # type: ignore[arg-type]


def test_sums_cancel() -> None:
    assert total(expression("2*a + b/2 - a - b/2")).expression() == expression("a")
    assert total(expression("a*b/b")).number is None
    assert total(expression("(1 + 2)/4")).number is not None


def test_a_round_is_followed_through_its_branches_and_choices() -> None:
    found = Stretches(mechanism(COUNTING, ALIGN))
    steps = {unparse_expr(way.value("n")) for way in found.rounds[0]}
    assert steps == {"n", "n + 1"}
    chosen = Stretches(mechanism("n = 0\nfor i in range(k):\n  n = n + (1 if i > 2 else 0)\nemit done"))
    assert {total(way.value("n")).expression() for way in chosen.rounds[0]} >= {expression("n")}
    assert len(chosen.rounds[0]) == 2


def test_lines_that_follow_are_kept() -> None:
    spec = mechanism(COUNTING, ALIGN)
    found = next(found_lines(spec, with_sorts(spec, guessed(spec)), Effort(), lambda: False))
    assert found.paid
    (loop,) = found.witness.loops
    assert {"n <= k", "0 <= n"} <= text(loop.early)
    assert any("alignment_cost" in line for line in text(loop.invariants))


def test_what_is_false_is_left_out() -> None:
    spec = mechanism(COUNTING, ALIGN)
    lines = LoopWitness(
        (expression("n <= k"), expression("n <= 1")), (expression("n' == n"), expression("false"))
    )
    (kept,) = shown_lines(spec, with_sorts(spec, Witness((lines,))), Effort()).witness.loops
    assert text(kept.early) == {"n <= k"}
    assert text(kept.invariants) == {"n' == n"}


def test_of_bounds_the_shortest_stays_that_the_claim_needs() -> None:
    spec = mechanism(COUNTING, ALIGN)
    bound = "alignment_cost <= eps/2 + n*eps/(2*k)"
    lines = ("n' == n", f"{bound} + 0*n", f"{bound} + n*eps", bound)
    early = ("0 <= n", "n <= k", "$drawn_xi <= i", "$records <= i", "not n < k or $records == i")
    loop = LoopWitness(tuple(map(expression, early)), tuple(map(expression, lines)))
    (kept,) = shown_lines(spec, with_sorts(spec, Witness((loop,))), Effort()).witness.loops
    assert text(kept.invariants) == {"n' == n", bound}


def test_what_a_round_overwrites_is_not_read_from_its_head() -> None:
    spec = mechanism(
        "eta ~ Lap(1)\nn = 0\nup = false\nlast = 0\nfor i in range(k):\n  up = i > n\n"
        "  if up: n = n + 1\n  else: last = i\nemit done(last)"
    )
    (read,) = read_from(spec)
    assert {"n", "last"} <= read
    assert "up" not in read
    assert Candidates(spec, Stretches(spec), 0).variables == ["n", "last"]


def test_what_a_break_leaves_with_is_read_from_the_head() -> None:
    spec = mechanism("eta ~ Lap(1)\nn = 0\nfor i in range(k):\n  if i > 3: break\n  n = i\nemit done(n)")
    (read,) = read_from(spec)
    assert "n" in read


def test_nothing_is_kept_without_effort() -> None:
    spec = mechanism(COUNTING, ALIGN)
    symbols = Symbols()
    witness = with_sorts(spec, Witness((LoopWitness((expression("n <= k"),)),)))
    made = collected(spec, witness, symbols)
    sieve = Sieve(collected=made, effort=Effort(steps=0))
    sieve.add({line for a in made.arrivals for line in a.goals})
    assert not sieve.kept


def test_candidates_speak_of_what_the_loop_changes() -> None:
    spec = mechanism(COUNTING, ALIGN)
    found = Candidates(spec, Stretches(spec), 0)
    assert found.variables == ["n"]
    assert expression("n <= k") in {e for group in found.values() for e in group.lines}


@pytest.mark.parametrize(
    ("step", "first"),
    [
        ("n = n + 2", "k - n"),
        ("if q[n] > 2: up = true\n  else: n = n + 2", "k - n + (0 if up else 1)"),
    ],
)
def test_a_while_loop_is_measured_by_its_test(step: str, first: str) -> None:
    spec = mechanism(f"eta ~ Lap(1)\nn = 0\nup = false\nwhile n < k and not up:\n  {step}\nemit done")
    loop = next(s for s in spec.body if isinstance(s, While))
    assert expression(first) == measures(loop)[0]
    assert expression("k - n") in measures(loop)


def test_how_many_records_there_are_without_a_branch() -> None:
    length = promised(mechanism("emit one\nemit two"), Witness()).length
    assert length == expression("1 + 1")
    branched = promised(mechanism("if k > 1: emit one\nelse: emit two\nemit three"), Witness())
    assert branched.length is None
