"""Invariants: what is returned is inductive, what is false is dropped, and the author is not trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
from random_pairs import replays
from small_specs import mechanism, paths_of, symbol

from aligncheck.effort import Effort
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.houdini import Houdini
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.obligations.inductive import fixed_ones
from aligncheck.search.obligations.obligation import Invariants, known_at, run_on_d, run_on_d_prime
from aligncheck.search.relational import candidates
from aligncheck.search.relational.analysis import analyse
from aligncheck.search.relational.ir import ZERO, Sym, Term, add, atoms, const, eq, le, lt, substitute
from aligncheck.search.relational.paths import Analysis
from aligncheck.search.relational.theory import Theory

SPECS = Path(__file__).parents[2] / "specs"
NAMES = ["histogram_moved", "prefix_sum", "deviation"]


def inferred(analysis: Analysis, given: dict[int, list[Term]] | None = None) -> Invariants:
    return Houdini(analysis, Smt(analysis.theory)).run(given or {}, lambda found: None)


def check_inductive(analysis: Analysis, found: Invariants) -> None:
    """Every way into a loop establishes each of its invariants, by questions of their own."""
    smt = Smt(Theory(analysis.theory.mechanism))
    for path in analysis.paths:
        if path.target is None:
            continue
        table: dict[Term, Term] = {}
        for name, pair in analysis.cuts[path.target].fresh.items():
            value = path.env[name]
            if isinstance(pair.left, Sym):
                table[pair.left] = value.left
            if pair.right != pair.left:
                moved = pair.right if isinstance(pair.right, Sym) else pair.distance
                table[moved] = value.right if isinstance(pair.right, Sym) else value.distance
        hypotheses = [
            *known_at(analysis, analysis.cuts[path.origin], found),
            *run_on_d(path),
            *run_on_d_prime(path),
        ]
        for term in found[path.target]:
            goal = canonical(substitute(term, table))
            assert smt.implied(hypotheses, goal, 2000).answer is Answer.VALID, (term, path.origin)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_returned_is_inductive(name: str) -> None:
    analysis = analyse(Theory(parse(read_source(str(SPECS / f"{name}.dp")))))
    found = inferred(analysis)
    assert all(found[cut.number] for cut in analysis.cuts if cut.loop is not None)
    check_inductive(analysis, found)


COUNTING = """
n = 0; m = 0
for i, x in q:
  n = n + 1
  if x > 0: m = m + 2
emit done
"""


def test_finds_what_holds_and_drops_what_does_not() -> None:
    analysis = paths_of(COUNTING)
    n, m, i = (symbol(analysis, f"{v}@1") for v in ("n", "m", "i"))
    given: list[Term] = [eq(n, i), le(m, add(n, n)), le(n, const(3)), le(m, n), lt(n, ZERO), eq(m, ZERO)]
    found = inferred(analysis, {1: given})
    kept = set(found[1])
    assert {canonical(t) for t in given[:2]} <= kept
    assert not {canonical(t) for t in given[2:]} & kept
    check_inductive(analysis, found)


def test_an_invariant_that_holds_but_is_not_inductive_is_not_kept() -> None:
    """(a, b) turns by a quarter each round: a + b <= 1 always holds, but no round shows it alone."""
    analysis = paths_of("a = 1; b = 0\nfor i, x in q:\n  c = b\n  b = -a\n  a = c\nemit done")
    wanted = le(add(symbol(analysis, "a@1"), symbol(analysis, "b@1")), const(1))
    assert canonical(wanted) not in inferred(analysis, {1: [wanted]})[1]


def test_one_false_invariant_does_not_carry_another() -> None:
    """Each would follow from the other; neither holds after the first round."""
    analysis = paths_of("a = 0; b = 0\nfor i, x in q:\n  c = a\n  a = b + 1\n  b = c + 1\nemit done")
    a, b = symbol(analysis, "a@1"), symbol(analysis, "b@1")
    given: list[Term] = [le(a, ZERO), le(b, ZERO), eq(add(a, b), ZERO)]
    found = inferred(analysis, {1: given})
    assert not {canonical(t) for t in given} & set(found[1])
    check_inductive(analysis, found)


def test_an_inner_loop_may_use_what_holds_around_it() -> None:
    analysis = paths_of(
        "n = 0\nfor i, x in q:\n  n = n + 1\n  m = 0\n  for j in range(k):\n    m = m + n\nemit done"
    )
    found = inferred(analysis)
    n, m = symbol(analysis, "n@1"), symbol(analysis, "m@2")
    assert any(n in atoms((t,)) for t in found[1])
    assert canonical(le(ZERO, m)) in found[2]
    check_inductive(analysis, found)


def test_too_little_time_keeps_nothing_that_needs_the_solver() -> None:
    analysis = paths_of(COUNTING)
    late = Smt(analysis.theory, effort=Effort(seconds=-1))
    n, m = symbol(analysis, "n@1"), symbol(analysis, "m@1")
    wanted = le(m, add(n, n))
    found = Houdini(analysis, late).run({1: [wanted]}, lambda found: None)
    assert canonical(wanted) not in found[1]


def test_candidates_are_only_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong templates cost time, never soundness."""
    analysis = paths_of(COUNTING)
    n = symbol(analysis, "n@1")
    wrong = [lt(n, ZERO), le(n, const(2)), eq(n, const(0))]
    monkeypatch.setattr(candidates.Pool, "values", lambda self: wrong)
    assert not {canonical(t) for t in wrong} & set(inferred(analysis)[1])


def test_invariants_hold_on_concrete_runs() -> None:
    """The author's lines of a verified spec hold in every round of every replayed pair."""
    sums = mechanism(
        """
        n = 0; s = 0
        for i, x in q:
          invariant n == i and abs(s' - s) <= i
          n = n + 1
          s = s + x
        emit done(n)
        """
    )
    assert all(done.violations == () for done in replays(sums, seed=3))


def test_a_loop_s_invariant_speaks_of_no_loop_inside_it() -> None:
    """What a loop inside has at its head is another number in each round: shown of one, used of the next."""
    analysis = paths_of("m = 0\nfor i, x in q:\n  for j in range(k):\n    m = m + 1\nemit done")
    around, inside = symbol(analysis, "m@1"), symbol(analysis, "m@2")
    lines = (le(ZERO, around), eq(around, inside))
    assert fixed_ones(analysis, 1, lines) == [lines[0]]
    assert fixed_ones(analysis, 2, lines) == list(lines)
