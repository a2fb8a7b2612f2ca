"""Symbols for sets: none stands for several numbers, and sums are functions of all that they depend on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from aligncheck.language.families import Family
from aligncheck.language.source import Span
from aligncheck.language.syntax.nodes import Gather, Indices, Number
from aligncheck.search.relational.ir import (
    ONE,
    TRUE,
    ZERO,
    App,
    Nature,
    Sym,
    Term,
    TermSort,
    add,
    const,
    le,
    mul,
    substitute,
)
from aligncheck.search.relational.labels import (
    AtHead,
    BoundIndex,
    DifferingIndex,
    DrawOnD,
    ListLength,
    Side,
    Way,
)
from aligncheck.search.relational.maxima import Gathered, Registry, UnsupportedError
from aligncheck.search.relational.sums import Sums

HERE = Span(0, 1)
OWN = Sym(BoundIndex("j"), TermSort.INT, Nature.GHOST)
AROUND = Sym(BoundIndex("i"), TermSort.INT, Nature.GHOST)
N = Sym(ListLength("q"), TermSort.INT, Nature.PARAMETER)


def answer(index: Term) -> App:
    return App("q", (index,), TermSort.REAL, Nature.DATA)


SAID = Gather("max", None, Number(Fraction(0)), "j", Indices("q"), None)
PLAIN = Gathered(None, OWN, ZERO, N, TRUE, answer(OWN))
OPEN = [
    AROUND,
    Sym("one", TermSort.INT, Nature.GHOST),
    Sym("entry", TermSort.INT, Nature.GHOST),
    Sym(AtHead("i", 1, Side.ON_D), TermSort.INT, Nature.COUNTER),
    Sym(AtHead("s", 2, Side.ON_D), TermSort.REAL, Nature.STATE),
    App(
        "eta",
        (Sym(AtHead("i", 1, Side.ON_D), TermSort.INT, Nature.COUNTER),),
        TermSort.REAL,
        Nature.NOISE,
    ),
    answer(AROUND),
]


def with_(symbol: Term) -> dict[str, Gathered]:
    """The plain set with a symbol in each of its parts."""
    return {
        "low": replace(PLAIN, low=symbol),
        "high": replace(PLAIN, high=add(symbol, ONE)),
        "where": replace(PLAIN, where=le(OWN, symbol)),
        "body": replace(PLAIN, body=mul(symbol, answer(OWN))),
        "count": replace(PLAIN, count=symbol),
    }


@pytest.mark.parametrize("part", ["low", "high", "where", "body", "count"])
@pytest.mark.parametrize("symbol", OPEN, ids=str)
def test_no_symbol_without_arguments_depends_on_an_index_or_a_round(symbol: Term, part: str) -> None:
    meaning = with_(symbol)[part]
    with pytest.raises(UnsupportedError):
        Registry().anonymous(meaning, SAID)
    with pytest.raises(UnsupportedError):
        Registry().anonymous_index(meaning, SAID)


def test_its_own_index_and_what_is_fixed_throughout_a_run_may_stand_in_a_set() -> None:
    fixed: list[Term] = [
        N,
        Sym("a", TermSort.REAL, Nature.DATA),
        Sym(DrawOnD("eta", Family.LAPLACE), TermSort.REAL, Nature.NOISE),
        Sym(DifferingIndex(Way.ONE, ("q",)), TermSort.INT, Nature.GHOST),
        answer(ONE),
    ]
    for symbol in fixed:
        for meaning in with_(symbol).values():
            registry = Registry()
            assert registry.meaning_of(registry.anonymous(meaning, SAID)) == meaning


@pytest.mark.parametrize("part", ["low", "high", "where", "body"])
def test_a_sum_at_an_index_is_the_sum_with_the_index_put_into_it(part: str) -> None:
    for symbol in (AROUND, answer(AROUND)):
        sums = Sums()
        for other in (
            ZERO,
            const(3),
            add(N, ONE),
            Sym(AtHead("i", 1, Side.ON_D), TermSort.INT, Nature.COUNTER),
        ):
            outside = substitute(sums.symbol(with_(symbol)[part]), {AROUND: other})
            assert isinstance(outside, App)
            assert other in outside.args or answer(other) in outside.args
            assert len(outside.args) == len(sums.symbol(with_(symbol)[part]).args)  # type: ignore[union-attr]


def test_two_sums_of_one_form_take_as_many_arguments() -> None:
    sums = Sums()
    inner = sums.symbol(with_(answer(AROUND))["body"])
    other = sums.symbol(with_(answer(const(3)))["body"])
    assert isinstance(inner, App)
    assert isinstance(other, App)
    assert inner.name == other.name
    assert len(inner.args) == len(other.args)
    assert substitute(inner, {AROUND: const(3)}) == other
