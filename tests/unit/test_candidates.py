"""Candidates for invariants: what the papers' proofs need is offered, in terms of the loop head."""

from __future__ import annotations

from fractions import Fraction

import pytest
from small_specs import paths_of, symbol

from aligncheck.language.families import Family
from aligncheck.search.discharge.algebra import canonical, equal
from aligncheck.search.relational.candidate_costs import LIMIT
from aligncheck.search.relational.candidates import Pool
from aligncheck.search.relational.ir import (
    ZERO,
    App,
    Cmp,
    Nature,
    Sym,
    Term,
    TermSort,
    atoms,
    const,
    div,
    eq,
    iff,
    le,
    lt,
    mul,
    scaled,
    sub,
)
from aligncheck.search.relational.labels import DrawOnD, Ledger, ListLength
from aligncheck.search.relational.paths import Analysis

EPS = Sym("eps", TermSort.REAL, Nature.PARAMETER)
K = Sym("k", TermSort.INT, Nature.PARAMETER)


def offered(analysis: Analysis, stage: str, number: int = 1) -> set[Term]:
    pool = Pool(analysis, analysis.cuts[number])
    found = getattr(pool, stage)(*([[]] if stage in ("bounded_distances", "further_costs") else []))
    return {canonical(term) for term in found}


def test_counters_that_go_together() -> None:
    analysis = paths_of("n = 3; m = 0\nfor i, x in q:\n  n = n + 2\n  if x > 0: m = m + 1\nemit done")
    n, m, i = (symbol(analysis, f"{v}@1") for v in ("n", "m", "i"))
    values = offered(analysis, "values")
    two_per_round = sub(sub(n, const(3)), mul(const(2), i))
    assert any(isinstance(t, Cmp) and t.op == "==" and _multiple(t, two_per_round) for t in values)
    assert canonical(le(ZERO, m)) in values
    assert canonical(le(ZERO, i)) in values
    assert canonical(le(i, Sym(ListLength("q"), TermSort.INT, Nature.PARAMETER))) in values


def _multiple(equation: Cmp, form: Term) -> bool:
    """Whether an equation says that the form is 0."""
    gap = sub(equation.left, equation.right)
    return any(equal(gap, scaled(form, c)) for c in (1, -1, Fraction(1, 2), Fraction(-1, 2)))


def test_tests_of_the_program() -> None:
    analysis = paths_of("n = 0\nwhile n < k:\n  n = n + 1\n  m = n\nemit done")
    n = symbol(analysis, "n@1")
    values = offered(analysis, "values")
    assert {lt(n, K), le(n, K), le(ZERO, n)} <= values


def test_truths_that_both_runs_may_share() -> None:
    analysis = paths_of("go = true\nfor i, x in q:\n  if x > 0: go = false\nemit done")
    pair = analysis.cuts[1].fresh["go"]
    assert canonical(iff(pair.left, pair.right)) in offered(analysis, "values")


def test_distances_of_sums() -> None:
    one = "q : queries, sensitivity 1, adjacency {}\nk : int\neps : real where eps > 0"
    program = "s = 0\nfor i, x in q:\n  s = s + x\nemit done"
    analysis = paths_of(program, "", one.format("one"))
    d = symbol(analysis, "d:s@1")
    assert canonical(eq(d, ZERO)) in offered(analysis, "equal_distances")
    bounds = offered(analysis, "bounded_distances")
    assert {canonical(le(d, const(1))), canonical(le(const(-1), d))} <= bounds
    assert any("place:one:q" in {a.name for a in atoms((t,))} for t in bounds)
    l1 = paths_of(program, "", one.format("l1"))
    assert any("prefix:q" in {a.name for a in atoms((t,))} for t in offered(l1, "bounded_distances"))


def test_costs_by_the_programs_own_counters() -> None:
    analysis = paths_of(
        """
        count = 0
        for i, x in q:
          xi[i] ~ Lap(2*k/eps)
          if x + xi[i] > 0:
            emit top
            count = count + 1
            if count >= k: break
          else: emit below
        """,
        "xi[i] += 1 + q[i] - q'[i] when out[i] is top",
    )
    cost = analysis.cuts[1].fresh[Ledger.COST].left
    count = symbol(analysis, "count@1")
    expected = canonical(le(cost, div(mul(count, EPS), K)))
    assert expected in offered(analysis, "costs")


@pytest.mark.parametrize("draws", [1, 4, 8])
def test_costs_of_a_round_with_many_draws(draws: int) -> None:
    analysis = paths_of(
        "for i, x in q:\n" + "\n".join(f"  xi{n}[i] ~ Lap(1/eps)" for n in range(draws)) + "\n  emit done",
        "\n".join(f"xi{n}[i] += 1" for n in range(draws)),
    )
    cost, i = analysis.cuts[1].fresh[Ledger.COST].left, symbol(analysis, "i@1")
    assert canonical(le(cost, mul(const(draws), EPS, i))) in offered(analysis, "costs")


@pytest.mark.parametrize("stage", ["values", "equal_distances", "bounded_distances", "costs"])
def test_candidates_speak_of_the_loop_head_alone(stage: str) -> None:
    """No noise, no answer of a round: those are other numbers in the next round."""
    analysis = paths_of(
        """
        eta ~ Lap(2/eps)
        s = 0; n = 0
        for i, x in q:
          xi[i] ~ Lap(4/eps)
          s = s + x
          if x + xi[i] >= eta:
            emit top
            n = n + 1
            if n > k: break
        """,
        "eta += 1\nxi[i] += 1 + q[i] - q'[i] when out[n] is top",
    )
    inside = App(DrawOnD("xi", Family.LAPLACE), (symbol(analysis, "i@1"),), TermSort.REAL, Nature.NOISE)
    for term in offered(analysis, stage):
        assert inside not in atoms((term,))
        assert not any(a.kind is Nature.DATA for a in atoms((term,)))


def test_there_are_not_too_many() -> None:
    program = "\n".join(f"v{n} = 0" for n in range(8)) + "\nfor i, x in q:\n"
    program += "\n".join(f"  if x > {n}: v{n} = v{n} + {n + 1}" for n in range(8)) + "\n  emit tick"
    analysis = paths_of(program)
    pool = Pool(analysis, analysis.cuts[1])
    assert 0 < len(pool.values()) <= 4 * LIMIT


def test_a_bound_on_a_shift_covers_its_cases() -> None:
    analysis = paths_of(
        "for i, x in q:\n  xi[i] ~ Lap(1/eps)\n  if x + xi[i] > 0: emit top\n  else: emit below",
        "xi[i] += 1 + q[i] - q'[i] when out[i] is top",
    )
    (path,) = [p for p in analysis.paths if p.origin == 1 and [e.tag for e in p.emissions()] == ["top"]]
    pool = Pool(analysis, analysis.cuts[1])
    (draw,) = path.drawings()
    sizes = pool.shift_sizes(draw.shift, path)
    assert const(2) in sizes
