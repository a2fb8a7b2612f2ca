"""Terms as a person would write them: read back, they mean the same."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from random_terms import A, B, K, N, P, Tree, UndefinedError, World, X, Y, built, number, rational, worlds

from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Expr
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.interpreter import Scope, Stopped, number_of
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.relational.spell import spell
from aligncheck.search.relational.terms import (
    ONE,
    ZERO,
    App,
    IsInt,
    Kind,
    Sort,
    Sym,
    Term,
    add,
    and_,
    const,
    div,
    eq,
    fn,
    ite,
    le,
    lt,
    mul,
    neg,
    not_,
    or_,
    scaled,
    sub,
)


def ghost(name: str, sort: Sort = Sort.INT) -> Sym:
    return Sym(name, sort, Kind.GHOST)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (const(Fraction(-1, 2)), "-1/2"),
        (sub(X, Y), "x - y"),
        (neg(X), "-x"),
        (scaled(X, Fraction(3, 4)), "3*x/4"),
        (scaled(X, Fraction(1, 4)), "x/4"),
        (add(X, const(-1)), "x - 1"),
        (sub(ONE, X), "1 - x"),
        (mul(A, add(X, ONE)), "(x + 1)*a"),
        (div(A, scaled(K, 8)), "a/(8*k)"),
        (div(A, add(K, ONE)), "a/(k + 1)"),
        (fn("abs", sub(X, Y)), "abs(y - x)"),  # as its normal form has it
        (fn("mod", N, K), "n % k"),
        (lt(X, Y), "x < y"),
        (not_(P), "not p"),
        (and_([lt(X, Y), or_([P, le(Y, X)])]), "(x < y) and (p or (y <= x))"),
        (eq(X, ZERO), "x == 0"),
        (ite(P, ONE, ZERO), "(1 if p else 0)"),
        (IsInt(X), "x is an integer"),
        (Sym("s@3", Sort.REAL, Kind.STATE), "s"),
        (Sym("d:s@3", Sort.REAL, Kind.DISTANCE), "(s' - s)"),
        (App("d:q", (N,), Sort.REAL, Kind.DISTANCE), "(q'[n] - q[n])"),
        (App("xi+", (N,), Sort.REAL, Kind.NOISE), "xi[n]"),
        (Sym("eta#", Sort.INT, Kind.NOISE), "eta"),
        (ghost("#cost@1"), "alignment_cost"),
        (ghost("#out@1"), "records so far"),
        (ghost("#latest:xi@2"), "last index of xi"),
        (ghost("#out:count:top@2"), "top records so far"),
        (ghost("place:one:q"), "the differing index"),
        (ghost("place:down:q"), "the index that goes down"),
        (ghost("le:q", Sort.BOOL), "q <= q'"),
        (App("out:is:top", (N,), Sort.BOOL, Kind.OMEGA), "out[n] is top"),
        (App("out:field:gap", (N,), Sort.REAL, Kind.OMEGA), "out[n].gap"),
        (Sym("out:len", Sort.INT, Kind.OMEGA), "len(out)"),
        (Sym("out:count:top", Sort.INT, Kind.OMEGA), "out.count(top)"),
        (App("prefix:q", (N,), Sort.REAL, Kind.GHOST), "sum of |q' - q| before n"),
    ],
)
def test_spelling(term: Term, text: str) -> None:
    assert spell(term) == text


def read_back(text: str) -> Expr:
    inputs = "".join(f"  {name} : real\n" for name in ("a", "b", "k", "x", "y", "n", "m"))
    return parse(Source("t", f"mechanism t\n\ninput\n{inputs}\nprivacy {text}\n\nprogram\n  pass\n")).privacy


@settings(max_examples=80)
@given(rational(size=6), worlds())
def test_what_is_spelt_reads_back_with_the_same_value(tree: Tree, world: World) -> None:
    try:
        term = canonical(built(tree))
        expected = number(tree, world)
    except (ZeroDivisionError, UndefinedError):
        assume(False)
    names = {s.name: v for s, v in world.symbols.items() if isinstance(s, Sym) and s != P}
    for form in (term, built(tree)):
        try:
            assert number_of(read_back(spell(form)), Scope(names)) == expected
        except Stopped:
            assume(False)


def test_no_bookkeeping_shows() -> None:
    for term in (B, ghost("#cost@1"), ghost("#counter"), ghost("#low@1"), ghost("#high@1")):
        assert not set("#@%") & set(spell(term))
