"""Numbers that know their sort are the terms that Z3's library makes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import z3

from aligncheck.kernel.terms import anatomy, both
from aligncheck.number_terms import FunctionSymbol, NumberContext, NumberTerm, wrapped

OPERATORS = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.mod,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)


def ours() -> dict[str, Any]:
    ctx = NumberContext()
    whole, real = (FunctionSymbol(z3.Function(f"x{s}", s), ())() for s in reversed(ctx.sorts))
    numerals = {"two": ctx.integer(2), "half": ctx.rational(Fraction(1, 2))}
    return {"whole": whole, "real": real, "int": 3, "truth": z3.Bool("b", ctx), **numerals}


def librarys() -> dict[str, Any]:
    ctx = z3.Context()
    numerals = {"two": z3.IntVal(2, ctx), "half": z3.RealVal("1/2", ctx)}
    whole, real = z3.Int("xInt", ctx), z3.Real("xReal", ctx)
    return {"whole": whole, "real": real, "int": 3, "truth": z3.Bool("b", ctx), **numerals}


@pytest.mark.parametrize("operation", OPERATORS)
def test_operators_make_what_the_library_makes(operation: Callable[[Any, Any], Any]) -> None:
    """The order of the sides included, with which comparisons with a numeral are turned round."""
    mine, theirs = ours(), librarys()
    asked = 0
    for one, other in product(mine, repeat=2):
        if {one, other} <= {"int", "truth"} or (
            operation is operator.mod and {"real", "half"} & {one, other}
        ):
            continue
        if "truth" in (one, other) and operation not in (operator.eq, operator.ne):
            continue
        made, expected = operation(mine[one], mine[other]), operation(theirs[one], theirs[other])
        assert made.sexpr() == expected.sexpr(), (one, other)
        assert made.sort().name() == expected.sort().name(), (one, other)
        assert z3.is_int(made) == z3.is_int(expected), (one, other)
        asked += 1
    assert asked >= 8


def test_functions_take_and_give_what_the_library_says() -> None:
    mine, theirs = ours(), librarys()
    domain = mine["whole"].ctx.sorts
    f = FunctionSymbol(z3.Function("f", *domain, domain[0]), domain)
    with pytest.raises(z3.Z3Exception):
        f(mine["real"])
    for gives in (z3.BoolSort, z3.IntSort, z3.RealSort):
        f = FunctionSymbol(z3.Function("f", *domain, gives(mine["whole"].ctx)), domain)
        g_domain = z3.RealSort(theirs["whole"].ctx), z3.IntSort(theirs["whole"].ctx)
        g = z3.Function("f", *g_domain, gives(theirs["whole"].ctx))
        for first, second in (("real", "whole"), ("whole", "two"), ("half", "int"), ("int", "int")):
            made, expected = f(mine[first], mine[second]), g(theirs[first], theirs[second])
            assert (made.sexpr(), made.sort().name()) == (expected.sexpr(), expected.sort().name())


def test_what_the_library_gives_back_knows_its_sort_too() -> None:
    mine = ours()
    term = mine["real"] * mine["half"] + mine["real"]
    parts = [*term.children(), z3.simplify(term), z3.substitute(term, (mine["real"], mine["half"]))]
    assert all(isinstance(part, NumberTerm) and part.is_real() for part in parts)
    assert z3.simplify(z3.substitute(term, (mine["real"], mine["half"]))).as_fraction() == Fraction(3, 4)
    assert mine["half"].as_fraction() == Fraction(1, 2)
    assert mine["two"].as_long() == 2
    bound = z3.Var(0, mine["whole"].sort())
    assert z3.is_int(wrapped(bound.ast, bound.ctx))
    assert not isinstance(z3.Int("x") + 1, NumberTerm)


def test_each_term_is_one_object_whoever_makes_it() -> None:
    mine = ours()
    x, half, truth = mine["real"], mine["half"], mine["truth"]
    assert x + half is x + half
    assert x.ctx.integer(2) is mine["two"]
    assert (x <= half) is (x <= half)
    assert anatomy(z3.Not(truth)) is anatomy(z3.Not(truth))
    assert (x * half + x).arg(0) is x * half
    assert [part.term for part in anatomy(x * half).parts][1] is half


def test_what_is_ill_sorted_is_refused() -> None:
    mine = ours()
    for _ in range(2):
        with pytest.raises(z3.Z3Exception):
            both(mine["real"], mine["truth"])


def test_bound_variables_and_quantifiers_have_an_anatomy() -> None:
    mine = ours()
    x = mine["whole"]
    general = z3.ForAll([x], x > 0)
    for term in (general, general.body(), general.body().arg(0)):
        assert anatomy(term) is anatomy(term)
    assert anatomy(general.body().arg(0)).parts == ()
    x.ctx.forget()
    assert anatomy(x).symbol
