"""Terms as a person would write them: read back, they mean the same."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from random_terms import A, K, N, P, Tree, UndefinedError, World, X, Y, built, number, rational, worlds

from aligncheck.language.families import Family
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Expr
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.interpreter import RunScope, Stopped, number_of
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.relational.ir import (
    ONE,
    ZERO,
    App,
    IsInt,
    Nature,
    Sym,
    Term,
    TermSort,
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
from aligncheck.search.relational.labels import (
    Apart,
    AtHead,
    Calls,
    Counted,
    DifferingIndex,
    DrawOnD,
    Each,
    Key,
    Label,
    LastDraw,
    Latest,
    Ledger,
    Order,
    Prefix,
    RecordCount,
    RecordField,
    RecordIs,
    Side,
    Stretch,
    Way,
)
from aligncheck.search.relational.spell import spell


def ghost(label: Label, sort: TermSort = TermSort.INT) -> Sym:
    return Sym(label, sort, Nature.GHOST)


def at_head(key: Key, side: Side = Side.ON_D) -> AtHead:
    return AtHead(key, 2, side)


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
        (Sym(AtHead("s", 3, Side.ON_D), TermSort.REAL, Nature.STATE), "s"),
        (Sym(AtHead("s", 3, Side.APART), TermSort.REAL, Nature.DISTANCE), "(s' - s)"),
        (App(Apart("q"), (N,), TermSort.REAL, Nature.DISTANCE), "(q'[n] - q[n])"),
        (App(DrawOnD("xi", Family.EXPONENTIAL), (N,), TermSort.REAL, Nature.NOISE), "xi[n]"),
        (Sym(DrawOnD("eta", Family.DISCRETE_LAPLACE), TermSort.INT, Nature.NOISE), "eta"),
        (ghost(at_head(Ledger.COST)), "alignment_cost"),
        (ghost(at_head(Ledger.RECORDS)), "records so far"),
        (ghost(at_head(Latest("xi"))), "last index of xi"),
        (ghost(at_head(Counted("top"))), "top records so far"),
        (ghost(DifferingIndex(Way.ONE, ("q",))), "the differing index"),
        (ghost(DifferingIndex(Way.DOWN, ("q",))), "the index that goes down"),
        (ghost(Order("q", "<="), TermSort.BOOL), "q <= q'"),
        (App(RecordIs("top"), (N,), TermSort.BOOL, Nature.OMEGA), "out[n] is top"),
        (App(RecordField("gap"), (N,), TermSort.REAL, Nature.OMEGA), "out[n].gap"),
        (Sym(RecordCount(None), TermSort.INT, Nature.OMEGA), "len(out)"),
        (Sym(RecordCount("top"), TermSort.INT, Nature.OMEGA), "out.count(top)"),
        (App(Prefix("q"), (N,), TermSort.REAL, Nature.GHOST), "sum of |q' - q| before n"),
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
            assert number_of(read_back(spell(form)), RunScope(names)) == expected
        except Stopped:
            assume(False)


def test_no_bookkeeping_shows() -> None:
    for key in ("x", *Ledger, Counted("t"), LastDraw("x"), Latest("x"), Each("x"), Stretch("x"), Calls("c")):
        for side in Side:
            assert not set("#@%") & set(spell(ghost(at_head(key, side))))
