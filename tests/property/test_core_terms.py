"""Constructors and normal forms keep the value of random expressions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_terms import (
    NUMBERS,
    Tree,
    UndefinedError,
    World,
    agree,
    built,
    formulas,
    meaning,
    number,
    numeric,
    truth,
    worlds,
)

from aligncheck.search.discharge.algebra import (
    canonical,
    quotient,
    split_monomials,
)
from aligncheck.search.discharge.values import value_of
from aligncheck.search.relational.ir import (
    Const,
    Nature,
    Sym,
    Term,
    add,
    atoms,
    mul,
    order_key,
    substitute,
)

ALL = ("abs", "floor", "mod", "sqrt", "exp", "ln", "log2")


def constructed(tree: Tree) -> Term:
    """The term; a tree that divides by what is always 0 is none."""
    try:
        term = built(tree)
        canonical(term)
    except ZeroDivisionError:
        assume(False)
        raise AssertionError from None
    return term


def value(tree: Tree, world: World) -> Any:
    try:
        found = number(tree, world)
    except UndefinedError:
        assume(False)
        raise AssertionError from None
    assume(abs(found) < 10**9)
    return found


@settings(max_examples=150)
@given(numeric(), worlds())
def test_constructors_and_normal_forms_keep_the_exact_value(tree: Tree, world: World) -> None:
    term = constructed(tree)
    expected = value(tree, world)
    assert value_of(term, world) == expected
    assert meaning(term, world) == expected
    assert value_of(canonical(term), world) == expected


@settings(max_examples=100)
@given(numeric(ALL), worlds(legal=True))
def test_transcendental_functions_keep_their_value(tree: Tree, world: World) -> None:
    term = constructed(tree)
    expected = value(tree, world)
    assert agree(meaning(term, world), expected)
    assert agree(meaning(canonical(term), world), expected)


@settings(max_examples=100)
@given(formulas(numeric(size=4)), worlds())
def test_formulas_keep_their_truth(tree: Tree, world: World) -> None:
    term = constructed(tree)
    try:
        expected = truth(tree, world)
    except UndefinedError:
        assume(False)
    assert value_of(term, world) is expected
    assert value_of(canonical(term), world) is expected


@settings(max_examples=60)
@given(numeric(ALL))
def test_normal_forms_are_normal(tree: Tree) -> None:
    term = canonical(constructed(tree))
    assert canonical(term) == term


@settings(max_examples=60)
@given(numeric(size=6), worlds())
def test_split_monomials_add_up_to_the_quotient(tree: Tree, world: World) -> None:
    term = constructed(tree)
    expected = value(tree, world)
    form = quotient(term)
    parts = split_monomials(form, lambda a: isinstance(a, Sym) and a.kind is Nature.PARAMETER)
    whole = add(*(mul(Const(f), *(x for x in (c, p) if x is not None)) for f, c, p in parts))
    got = value_of(whole, world)
    assert got is None or got == expected
    for _, coefficient, product in parts:
        if coefficient is not None and form.denominator == 1:
            assert all(a.kind is Nature.PARAMETER for a in atoms((coefficient,)))
        assert product is None or not (isinstance(product, Sym) and product.kind is Nature.PARAMETER)


@settings(max_examples=60)
@given(numeric(size=6), st.sampled_from(NUMBERS), numeric(size=4), worlds())
def test_substitution_is_evaluation(tree: Tree, key: Sym, new: Tree, world: World) -> None:
    inner = value(new, world)
    term = constructed(tree)
    try:
        replaced = substitute(term, {key: built(new)})
    except ZeroDivisionError:
        assume(False)
    there = World({**world.symbols, key: Fraction(inner)})
    try:
        expected = meaning(term, there)
    except UndefinedError:
        assume(False)
    assert meaning(replaced, world) == expected


@settings(max_examples=60)
@given(numeric(ALL, size=4), numeric(ALL, size=4), numeric(size=3))
def test_the_order_of_summands_and_factors_does_not_matter(first: Tree, second: Tree, third: Tree) -> None:
    a, b, c = constructed(first), constructed(second), constructed(third)
    assert add(a, b, c) == add(c, add(b, a))
    assert canonical(mul(a, b, c)) == canonical(mul(c, mul(b, a)))
    assert order_key(add(a, b, c)) == order_key(add(c, b, a))
