"""Every fact about a function holds at random numbers; facts meet what they are about."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from random_terms import A, B, K, N, P, UndefinedError, World, X, Y, meaning, world_of
from small_specs import mechanism

from aligncheck.search.discharge.facts import Facts
from aligncheck.search.relational.ir import (
    ONE,
    ZERO,
    And,
    App,
    Const,
    Fn,
    Nature,
    Term,
    TermSort,
    add,
    atoms,
    eq,
    fn,
    iff,
    implies,
    ite,
    lt,
    substitute,
    subterms,
)
from aligncheck.search.relational.operations import function_facts
from aligncheck.search.relational.theory import Theory

FUNCTIONS = [
    *(Fn(name, (X,)) for name in ("abs", "sqrt", "exp", "ln", "log2", "floor")),
    Fn("mod", (X, Y)),
]
POINTS = [Fraction(n, d) for n in range(-12, 13) for d in (1, 2, 3)]
POINTS += [p * p for p in POINTS]


def theory() -> Theory:
    inputs = """
        q : queries, sensitivity a
        a : real where a > 0
        b : real where b > 0
        k : int where k >= 1
    """
    return Theory(mechanism("emit done", inputs=inputs, privacy="b"))


@pytest.mark.parametrize("atom", FUNCTIONS, ids=lambda f: f.name)
def test_facts_of_a_function_hold(atom: Fn) -> None:
    chance = random.Random(atom.name)
    facts = function_facts(atom)
    assert facts
    tried = 0
    for x in POINTS:
        world = World({X: x, Y: chance.choice(POINTS)})
        for fact in facts:
            try:
                assert meaning(fact, world), (fact, x)
                tried += 1
            except UndefinedError:
                continue  # outside of the domain, or a tie that floats do not decide
    assert tried > 20


@pytest.mark.parametrize("name", ["abs", "sqrt", "floor", "mod"])
def test_facts_that_define_a_function_leave_no_other_value(name: str) -> None:
    """With another value in the function's place, some fact fails."""
    atom = Fn(name, (X, Y)) if name == "mod" else Fn(name, (X,))
    y = Fraction(3)
    for x in (Fraction(0), Fraction(1), Fraction(9, 4)):
        right = meaning(atom, World({X: x, Y: y}))
        assert isinstance(right, Fraction | float)
        for wrong in (right + 1, right - 1, -right - 2):
            facts = [_with_value(f, atom, Fraction(wrong)) for f in function_facts(atom)]
            assert not all(meaning(f, World({X: x, Y: y})) for f in facts), (x, wrong)


def _with_value(term: Term, atom: Term, value: Fraction) -> Term:
    return substitute(term, {atom: Const(value)})


def test_a_question_gets_the_facts_of_all_its_atoms_and_no_more() -> None:
    found = Facts(theory()).about([lt(fn("abs", X), fn("exp", A))])
    about = atoms(found)
    assert {X, A} <= about
    assert not {N, Y} & about
    assert any(fn("abs", X) in _parts(f) for f in found)
    assert any(fn("exp", A) in _parts(f) for f in found)


def _parts(term: Term) -> set[Term]:
    return set(subterms((term,)))


def test_the_terms_themselves_are_not_assumed() -> None:
    """`not (a and b)` must not bring in a or b."""
    claim = And((lt(X, ZERO), lt(ZERO, X)))
    found = Facts(theory()).about([claim])
    assert not any(X in atoms((f,)) for f in found)


def test_equal_indices_give_equal_values() -> None:
    q, r = (App("q", (i,), TermSort.REAL, Nature.DATA) for i in (N, add(N, K)))
    found = Facts(theory()).about([lt(q, r)])
    (link,) = [f for f in found if {q, r} <= atoms((f,))]
    for seed in range(20):
        world = world_of(seed, legal=True)
        assert meaning(link, world)
    # It is no more than that: different indices leave both values free.
    apart = World({N: Fraction(0), K: Fraction(1)}, lambda name, index: index[0] * 7)
    assert meaning(link, apart)
    together = implies(eq(N, add(N, K)), eq(q, r))
    assert meaning(together, apart)


def test_exp_is_increasing_in_pairs() -> None:
    a, b = fn("exp", A), fn("exp", B)
    found = Facts(theory()).about([lt(a, b)])
    links = [f for f in found if {a, b} <= _parts(f)]
    assert links
    for seed in range(30):
        for link in links:
            try:
                assert meaning(link, world_of(seed, legal=True))
            except UndefinedError:
                continue
    assert not all(meaning(_swapped(f, a, b), World({A: ONE.value, B: Fraction(2)})) for f in links)


def _swapped(term: Term, a: Term, b: Term) -> Term:
    return substitute(term, {a: b, b: a})


def test_a_conditional_is_defined_by_its_facts() -> None:
    atom = ite(P, X, Y)
    facts = Facts(theory()).of(atom)
    for truth in (True, False):
        world = World({P: truth, X: Fraction(1), Y: Fraction(2)})
        assert all(meaning(f, world) for f in facts)
        wrong = [_with_value(f, atom, Fraction(2 if truth else 1)) for f in facts]
        assert not all(meaning(f, world) for f in wrong)
    assert Facts(theory()).of(iff(P, lt(X, Y))) == ()
