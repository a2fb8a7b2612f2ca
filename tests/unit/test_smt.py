"""Questions to Z3: what is proved, what is not, and that limits and doubts never become proofs (rule 1)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from random_terms import A, B, K, M, N, P, X, Y
from small_specs import mechanism

from aligncheck.effort import Effort
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.relational.ir import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    App,
    Nature,
    Term,
    TermSort,
    add,
    const,
    div,
    eq,
    fn,
    ite,
    le,
    lt,
    mul,
    neg,
    or_,
    scaled,
)
from aligncheck.search.relational.labels import Apart
from aligncheck.search.relational.theory import Theory

INPUTS = """
    q : queries, sensitivity a
    a : real where a > 0
    b : real where b > 1
    k : int where k >= 1
"""


def smt(whole: bool = False, effort: Effort | None = None) -> Smt:
    theory = Theory(mechanism("emit done", inputs=INPUTS, privacy="b"))
    return Smt(theory, whole, effort or Effort())


def moved(index: Term) -> Term:
    return App(Apart("q"), (index,), TermSort.REAL, Nature.DISTANCE)


def answer(goal: Term, *hypotheses: Term, milliseconds: int = 400) -> Answer:
    return smt().implied(hypotheses, goal, milliseconds).answer


VALID = [
    (lt(ZERO, A), []),
    (le(div(A, mul(const(2), K)), A), []),
    (lt(div(X, A), div(Y, A)), [lt(X, Y)]),
    (le(fn("abs", moved(N)), A), []),
    (eq(moved(N), moved(M)), [eq(N, M)]),
    (le(add(N, ONE), M), [lt(N, M)]),
    (lt(fn("exp", neg(A)), ONE), []),
    (lt(ZERO, fn("ln", B)), []),
    (eq(mul(fn("sqrt", A), fn("sqrt", A)), A), []),
    (le(ZERO, ite(lt(X, ZERO), neg(X), X)), []),
    (lt(fn("mod", X, A), A), []),
    (le(fn("floor", X), X), []),
    (le(mul(X, Y), mul(A, Y)), [le(X, A), le(ZERO, Y)]),
    (P, [or_((P, lt(X, Y))), le(Y, X)]),
]
NOT_VALID = [
    (lt(ONE, A), []),
    (lt(div(X, Y), ONE), [lt(X, Y)]),
    (le(moved(N), ZERO), []),
    (eq(moved(N), moved(M)), []),
    (le(add(X, ONE), Y), [lt(X, Y)]),
    (lt(fn("exp", X), ONE), []),
    (eq(fn("sqrt", mul(X, X)), X), []),
    (eq(fn("mod", X, A), X), []),
    (le(mul(X, Y), mul(A, Y)), [le(X, A)]),
    (FALSE, []),
    (P, [or_((P, lt(X, Y)))]),
]


@pytest.mark.parametrize(("goal", "hypotheses"), VALID, ids=str)
def test_implied(goal: Term, hypotheses: list[Term]) -> None:
    assert answer(goal, *hypotheses) is Answer.VALID


@pytest.mark.parametrize(("goal", "hypotheses"), NOT_VALID, ids=str)
def test_not_implied(goal: Term, hypotheses: list[Term]) -> None:
    assert answer(goal, *hypotheses) is not Answer.VALID


def test_contradictory_hypotheses_imply_everything() -> None:
    assert answer(FALSE, lt(X, Y), lt(Y, X)) is Answer.VALID
    assert answer(lt(X, Y), FALSE) is Answer.VALID


HARD = le(mul(X, X, X, Y), add(mul(X, X, X, X), scaled(mul(Y, Y, Y, Y), Fraction(27, 256))))
"""True (weighted means), but beyond the linear abstraction and beyond one step."""


def test_a_step_limit_makes_it_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("aligncheck.search.discharge.smt.STEPS_PER_MILLISECOND", 1)
        assert answer(HARD, milliseconds=1) is Answer.UNKNOWN
    assert answer(HARD, milliseconds=3000) is Answer.VALID


def test_a_deadline_in_the_past_makes_it_unknown() -> None:
    late = smt(effort=Effort(seconds=-1))
    assert late.implied((), lt(ZERO, A), 1000).answer is Answer.UNKNOWN
    assert late.satisfiable((lt(ZERO, A),), 1000).answer is Answer.UNKNOWN


def test_a_model_satisfies_what_was_asked() -> None:
    facts = [lt(X, Y), eq(mul(X, Y), A), lt(B, const(3)), eq(scaled(N, 2), add(M, ONE))]
    reply = smt(whole=True).satisfiable(facts, 1000)
    assert reply.answer is Answer.INVALID
    model = reply.model
    assert model is not None
    x, y, a, b, n, m = (Fraction(model[s]) for s in (X, Y, A, B, N, M))
    assert x < y
    assert a > 0
    assert 1 < b < 3
    assert 2 * n == m + 1
    assert n.denominator == m.denominator == 1
    assert abs(x * y - a) < Fraction(1, 10**9)  # algebraic numbers come to twelve digits


def test_a_readable_model_stays_within_its_limits() -> None:
    facts = [lt(const(Fraction(5, 2)), A), lt(X, Y)]
    assert smt(whole=True).satisfiable(facts, 1000, (2, 1)).model is None
    model = smt(whole=True).satisfiable(facts, 1000, (4, 2)).model
    assert model is not None
    assert Fraction(5, 2) < Fraction(model[A]) <= 4
    assert (2 * Fraction(model[A])).denominator == 1


def test_what_cannot_be_met_has_no_model() -> None:
    reply = smt(whole=True).satisfiable([eq(scaled(N, 2), ONE)], 1000)
    assert (reply.answer, reply.model) == (Answer.VALID, None)
    assert smt(whole=True).satisfiable([FALSE], 1000).answer is Answer.VALID
    assert smt(whole=True).satisfiable([TRUE], 1000).model is not None
