"""What the constructors fold, case by case; random terms are under property/."""

from __future__ import annotations

from fractions import Fraction

import pytest
from random_terms import A, B, K, N, P, X, Y

from aligncheck.language.families import Family
from aligncheck.search.discharge.values import value_of
from aligncheck.search.relational.ir import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    And,
    App,
    Cmp,
    Fn,
    Nature,
    Pair,
    Sym,
    Term,
    TermSort,
    add,
    and_,
    atoms,
    children,
    compare,
    const,
    div,
    eq,
    fn,
    iff,
    implies,
    is_number,
    ite,
    le,
    lt,
    mul,
    neg,
    not_,
    or_,
    order_key,
    same,
    scaled,
    sort_of,
    sub,
    substitute,
    subterms,
)
from aligncheck.search.relational.labels import DrawOnD

HALF = const(Fraction(1, 2))


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (add(X, Y, neg(X)), Y),
        (sub(add(X, ONE), add(ONE, X)), ZERO),
        (scaled(scaled(X, Fraction(1, 2)), 2), X),
        (mul(const(2), X, HALF), X),
        (mul(X, ZERO), ZERO),
        (div(mul(A, X), A), X),
        (div(X, const(4)), scaled(X, Fraction(1, 4))),
        (div(div(X, A), B), div(X, mul(B, A))),
        (mul(div(X, A), A), X),
        (fn("exp", ZERO), ONE),
        (fn("ln", fn("exp", X)), X),
        (fn("ln", HALF), neg(fn("ln", const(2)))),
        (fn("sqrt", const(Fraction(9, 4))), const(Fraction(3, 2))),
        (fn("sqrt", const(2)), Fn("sqrt", (const(2),))),
        (fn("sqrt", const(-4)), Fn("sqrt", (const(-4),))),
        (fn("log2", const(Fraction(1, 8))), const(-3)),
        (fn("log2", const(3)), Fn("log2", (const(3),))),
        (fn("floor", const(Fraction(-1, 2))), const(-1)),
        (fn("floor", add(N, ONE)), add(N, ONE)),
        (fn("mod", const(-1), const(3)), const(2)),
        (fn("mod", const(Fraction(7, 2)), const(2)), const(Fraction(3, 2))),
        (fn("mod", ONE, ZERO), Fn("mod", (ONE, ZERO))),
        (fn("abs", const(-3)), const(3)),
        (fn("abs", scaled(X, -2)), scaled(fn("abs", X), 2)),
        (fn("abs", ite(P, const(-2), ONE)), ite(P, const(2), ONE)),
        (compare(">", X, Y), lt(Y, X)),
        (compare("!=", X, X), FALSE),
        (lt(X, X), FALSE),
        (le(X, X), TRUE),
        (lt(ONE, const(2)), TRUE),
        (eq(ONE, const(2)), FALSE),
        (not_(lt(X, Y)), le(Y, X)),
        (not_(le(X, Y)), lt(Y, X)),
        (not_(not_(P)), P),
        (and_([P, TRUE, P]), P),
        (and_([P, FALSE]), FALSE),
        (and_([]), TRUE),
        (or_([]), FALSE),
        (or_([P, TRUE]), TRUE),
        (implies(FALSE, P), TRUE),
        (iff(P, P), TRUE),
        (iff(P, FALSE), not_(P)),
        (ite(TRUE, X, Y), X),
        (ite(P, X, X), X),
        (ite(not_(P), X, Y), ite(P, Y, X)),
        (ite(P, TRUE, FALSE), P),
        (compare("==", P, TRUE), P),
    ],
)
def test_folds_to(built: Term, expected: Term) -> None:
    assert built == expected


def test_nested_conjunctions_are_flat() -> None:
    assert and_([and_([P, lt(X, Y)]), lt(Y, A)]) == And((P, lt(X, Y), lt(Y, A)))


@pytest.mark.parametrize("divisor", [ZERO, sub(X, X)])
def test_a_division_by_zero_is_a_number_of_which_nothing_is_known(divisor: Term) -> None:
    term = div(X, divisor)
    assert term == Fn("undefined", (X,))
    assert is_number(term)


@pytest.mark.parametrize(
    ("term", "sort"),
    [
        (add(N, K, ONE), TermSort.INT),
        (add(N, HALF), TermSort.REAL),
        (scaled(N, Fraction(1, 2)), TermSort.REAL),
        (mul(N, K), TermSort.INT),
        (mul(N, X), TermSort.REAL),
        (div(N, K), TermSort.REAL),
        (fn("floor", X), TermSort.INT),
        (fn("abs", N), TermSort.INT),
        (fn("abs", X), TermSort.REAL),
        (fn("mod", N, K), TermSort.INT),
        (fn("mod", N, HALF), TermSort.REAL),
        (ite(P, N, K), TermSort.INT),
        (ite(P, N, X), TermSort.REAL),
        (lt(X, Y), TermSort.BOOL),
    ],
)
def test_sort_is_whole_only_where_every_value_is(term: Term, sort: TermSort) -> None:
    assert sort_of(term) is sort


def test_substitution_is_simultaneous_and_reaches_indices() -> None:
    entry = App("q", (N,), TermSort.REAL, Nature.DATA)
    assert substitute(add(X, scaled(Y, 2)), {X: Y, Y: X}) == add(Y, scaled(X, 2))
    assert substitute(entry, {N: ZERO}) == App("q", (ZERO,), TermSort.REAL, Nature.DATA)
    assert substitute(add(entry, N), {entry: X}) == add(X, N)
    assert substitute(lt(X, Y), {X: Y}) == FALSE


def test_traversals() -> None:
    term = ite(lt(X, Y), add(X, A), fn("abs", Y))
    assert atoms((term,)) == {X, Y, A}
    listed = list(subterms((term, term)))
    assert listed[0] == term
    assert len(listed) == len(set(listed))
    assert all(child in listed for part in listed for child in children(part))


def test_symbols_with_one_name_and_different_kinds_are_different() -> None:
    other = Sym(DrawOnD("x", Family.LAPLACE), TermSort.REAL, Nature.NOISE)
    assert sub(other, X) != ZERO
    assert isinstance(lt(other, X), Cmp)


def test_pairs() -> None:
    assert Pair(X, add(X, A)).distance == A
    assert same(X).distance == ZERO


def test_what_a_model_leaves_open_has_no_value() -> None:
    open_test = ite(lt(X, Y), A, B)
    model: dict[Term, Fraction | bool] = {X: Fraction(1), A: Fraction(2), B: Fraction(3)}
    assert value_of(open_test, model) is None
    assert value_of(and_([lt(X, Y), lt(A, X)]), model) is False
    assert value_of(or_([lt(X, Y), lt(A, X)]), model) is None
    assert value_of(or_([lt(X, Y), lt(X, A)]), model) is True
    assert value_of(not_(eq(X, Y)), model) is None
    assert value_of(div(X, sub(A, scaled(X, 2))), model) is None
    assert value_of(fn("exp", X), model) is None


def test_the_key_of_a_term_that_shares_its_parts_is_short() -> None:
    """Spelt out, each of these terms is twice as long as the one before."""

    def doubled(times: int) -> Term:
        term: Term = X
        for k in range(times):
            term = ite(lt(term, const(k)), add(term, Y), mul(const(2), term))
        return term

    keys = {order_key(doubled(times)) for times in range(40)}
    assert len(keys) == 40
    assert max(map(len, keys)) < 5000
    assert order_key(doubled(39)) in keys
