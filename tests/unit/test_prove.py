"""Deciding obligations: each kind of goal, alone and together."""

from __future__ import annotations

import time

import pytest
from random_terms import A, B, K, N, P, X, Y
from small_specs import mechanism

from aligncheck.language.conditions import Condition
from aligncheck.language.source import Span
from aligncheck.search.discharge.prove import Open, Proved, decide, decide_all
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.obligations.obligation import Goal, Impossible, Independent, Integral, Obligation
from aligncheck.search.relational.terms import (
    ONE,
    TRUE,
    ZERO,
    Term,
    add,
    const,
    div,
    eq,
    fn,
    ite,
    le,
    lt,
    mul,
    scaled,
    sub,
)
from aligncheck.search.relational.theory import Theory


def smt(deadline: float | None = None) -> Smt:
    inputs = "x : query, sensitivity 1\na : real where a > 0\nb : real where b > 1\nk : int where k >= 1"
    return Smt(Theory(mechanism("emit done", inputs=inputs, privacy="b")), deadline=deadline)


def wanted(goal: Goal, *hypotheses: Term, shared: int = 0, text: str = "") -> Obligation:
    return Obligation(Condition.COST, hypotheses, goal, text, Span(0, 0), "rule", shared)


PROVED: list[tuple[Goal, tuple[Term, ...]]] = [
    (TRUE, ()),
    (lt(ZERO, A), ()),
    (lt(X, B), (lt(X, ONE),)),
    (Impossible(True, "by form"), ()),
    (Independent(add(X, mul(Y, sub(A, A))), frozenset({Y})), ()),
    (Independent(ite(lt(Y, X), A, B), frozenset({Y}), value_only=True), ()),
    (Integral(add(N, mul(N, K))), ()),
    (Integral(ite(P, N, div(N, const(2)))), (P,)),
    (Integral(ite(lt(A, ZERO), X, N)), ()),
]
OPEN: list[tuple[Goal, tuple[Term, ...]]] = [
    (lt(ONE, A), ()),
    (lt(X, B), ()),
    (Impossible(False, "by form"), ()),
    (Independent(fn("abs", Y), frozenset({Y})), ()),
    (Independent(ite(lt(Y, X), A, B), frozenset({Y})), ()),
    (Independent(ite(P, Y, B), frozenset({Y}), value_only=True), ()),
    (Integral(div(N, const(2))), ()),
    (Integral(ite(P, N, div(N, const(2)))), ()),
    (Integral(X), (eq(X, ONE),)),
]


@pytest.mark.parametrize(("goal", "hypotheses"), PROVED, ids=str)
def test_proved(goal: Goal, hypotheses: tuple[Term, ...]) -> None:
    assert isinstance(decide(wanted(goal, *hypotheses), smt()), Proved)


@pytest.mark.parametrize(("goal", "hypotheses"), OPEN, ids=str)
def test_open(goal: Goal, hypotheses: tuple[Term, ...]) -> None:
    assert isinstance(decide(wanted(goal, *hypotheses), smt()), Open)


def test_together_and_alone_decide_alike() -> None:
    asked = [wanted(goal, *hypotheses, text=str(n)) for n, (goal, hypotheses) in enumerate(PROVED + OPEN)]
    outcomes = decide_all(asked, smt())
    assert [o.obligation for o in outcomes] == asked
    assert [isinstance(o, Proved) for o in outcomes] == [True] * len(PROVED) + [False] * len(OPEN)


def test_hypotheses_of_one_obligation_do_not_help_another() -> None:
    shared = le(ZERO, X)
    asked = [
        wanted(le(ZERO, Y), shared, le(X, Y), shared=1, text="follows"),
        wanted(le(Y, ZERO), shared, le(Y, X), shared=1, text="does not"),
        wanted(lt(Y, ZERO), shared, lt(Y, scaled(X, -1)), shared=1, text="follows, too"),
        wanted(lt(X, ZERO), shared, shared=1, text="contradicts"),
    ]
    assert [isinstance(o, Proved) for o in decide_all(asked, smt())] == [True, False, True, False]


def test_a_contradiction_of_one_obligation_stays_its_own() -> None:
    asked = [
        wanted(lt(ONE, A), lt(A, ZERO), shared=0, text="vacuous"),
        wanted(lt(ONE, A), text="false"),
    ]
    assert [isinstance(o, Proved) for o in decide_all(asked, smt())] == [True, False]


def test_after_the_deadline_nothing_that_needs_the_solver_is_proved() -> None:
    late = smt(time.monotonic() - 1)
    asked = [wanted(lt(ZERO, A)), wanted(lt(ONE, B)), wanted(Impossible(True, "by form"))]
    outcomes = decide_all(asked, late)
    assert [isinstance(o, Proved) for o in outcomes] == [False, False, True]
    assert not any(o.refuted for o in outcomes if isinstance(o, Open))
