"""Terms to Z3: the full translation means what the terms mean; the linear one never has fewer models."""

from __future__ import annotations

from fractions import Fraction

import pytest
import z3
from hypothesis import HealthCheck, assume, given, settings
from random_terms import (
    ATOMS,
    A,
    B,
    K,
    M,
    N,
    P,
    Tree,
    UndefinedError,
    World,
    X,
    Y,
    built,
    formulas,
    rational,
    truth,
    worlds,
)

from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.translate import Translator
from aligncheck.search.relational.ir import (
    ONE,
    ZERO,
    Nature,
    Sym,
    Term,
    TermSort,
    add,
    div,
    eq,
    fn,
    iff,
    implies,
    le,
    lt,
    mul,
    not_,
    or_,
    scaled,
)

C = Sym("c", TermSort.REAL, Nature.PARAMETER)


def sign(term: Term) -> int:
    """a, b, k are positive, as `worlds(legal=True)` has them; c is negative; the rest is not known."""
    return 1 if term in (A, B, K) else -1 if term == C else 0


def satisfiable(translator: Translator, *terms: Term, world: World | None = None) -> bool:
    solver = z3.Solver()
    solver.set("rlimit", 500_000)
    for term in terms:
        solver.add(*translator.assertion(canonical(term)))
    for atom, variable in list(translator.variables.items()):
        if world is not None and isinstance(atom, Sym):
            value = world[atom]
            solver.add(variable == (value if isinstance(value, bool) else z3.Q(*_ratio(value))))
    result = solver.check()
    assert result != z3.unknown
    return bool(result == z3.sat)


def _ratio(value: Fraction) -> tuple[int, int]:
    return value.numerator, value.denominator


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(formulas(rational(ATOMS, size=4)), worlds(legal=True))
def test_at_a_point_the_translations_agree_with_the_meaning(tree: Tree, world: World) -> None:
    try:
        expected = truth(tree, world)
        term = built(tree)
        canonical(term)
    except (UndefinedError, ZeroDivisionError):
        assume(False)
    assert satisfiable(Translator(sign, whole=True), term, world=world) is expected
    if expected:
        assert satisfiable(Translator(sign), term, world=world)
        assert satisfiable(Translator(sign, linear=True), term, world=world)


VALID = [
    # strict comparisons of integers are tightened
    implies(lt(N, M), le(add(N, ONE), M)),
    or_((le(N, M), le(add(M, ONE), N))),
    # a denominator over parameters of known sign is multiplied out
    implies(lt(ZERO, X), lt(ZERO, div(X, A))),
    implies(lt(div(X, K), div(Y, K)), lt(X, Y)),
    # an unknown sign leaves the quotient free but defined
    implies(not_(eq(Y, ZERO)), eq(mul(div(X, Y), Y), X)),
    iff(P, P),
    # a negative one turns the comparison, unless its power is even
    implies(lt(ZERO, X), lt(div(X, C), ZERO)),
    implies(lt(ZERO, X), lt(ZERO, div(X, mul(C, C)))),
]
INVALID = [
    implies(lt(ZERO, X), lt(ZERO, div(X, C))),
    implies(lt(ZERO, X), lt(div(X, mul(C, C)), ZERO)),
    # that a quotient occurs does not say that its divisor is not 0
    implies(le(div(X, Y), B), not_(eq(Y, ZERO))),
    implies(eq(div(X, Y), B), not_(eq(Y, ZERO))),
    implies(lt(X, Y), le(add(X, ONE), Y)),
    implies(lt(N, X), le(add(N, ONE), X)),
    implies(lt(ZERO, X), lt(ZERO, div(X, Y))),
    le(div(X, A), X),
    eq(fn("exp", X), fn("exp", Y)),
    P,
    eq(scaled(N, 2), add(M, X)),
]


@pytest.mark.parametrize("term", VALID, ids=str)
def test_full_translation_proves(term: Term) -> None:
    assert not satisfiable(Translator(sign), not_(term))


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("term", INVALID, ids=str)
def test_no_translation_proves_what_is_false(term: Term, linear: bool) -> None:
    assert satisfiable(Translator(sign, linear=linear), not_(term))


def test_linear_products_are_told_apart_by_what_they_are() -> None:
    """A counter and a variable that share a text are two unknowns (once they were one)."""
    twin = Sym(N.name, TermSort.INT, X.kind)
    claim = eq(mul(A, N), mul(A, twin))
    assert satisfiable(Translator(sign, linear=True), not_(claim))
    assert satisfiable(Translator(sign), lt(ZERO, A), not_(claim))


def test_integers_stay_integers_in_a_model() -> None:
    term = eq(scaled(N, 2), ONE)
    assert not satisfiable(Translator(sign, whole=True), term)
