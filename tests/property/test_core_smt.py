"""Soundness of the questions to Z3: nothing that a concrete assignment refutes is ever called proved.

Every example is built around one assignment at which all hypotheses hold and the goal does not.
Completeness is not asked for here.
"""

from __future__ import annotations

from functools import cache

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_terms import (
    ATOMS,
    ENTRIES,
    Tree,
    UndefinedError,
    World,
    built,
    formulas,
    meaning,
    numeric,
    rational,
    truth,
    worlds,
)
from small_specs import mechanism

from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.facts import Facts
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.relational.ir import Term
from aligncheck.search.relational.theory import Theory

INPUTS = """
    q : queries, sensitivity a
    a : real where a > 0
    b : real where b > 0
    k : int where k >= 1
"""
"""What `worlds(legal=True)` satisfies."""

MILLISECONDS = 10
SETTINGS = settings(
    max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@cache
def theory() -> Theory:
    return Theory(mechanism("emit done", inputs=INPUTS, privacy="b"))


def true_here(tree: Tree, world: World) -> Tree:
    """The formula or its negation, whichever holds."""
    try:
        return tree if truth(tree, world) else ("not", tree)
    except UndefinedError:
        assume(False)
        raise AssertionError from None


def term_of(tree: Tree) -> Term:
    try:
        term = built(tree)
        canonical(term)
    except ZeroDivisionError:
        assume(False)
        raise AssertionError from None
    return term


def check_never_valid(hypotheses: list[Tree], goal: Tree, world: World) -> None:
    assumed = [term_of(true_here(h, world)) for h in hypotheses]
    wrong = term_of(("not", true_here(goal, world)))
    reply = Smt(theory()).implied(assumed, wrong, MILLISECONDS)
    assert reply.answer is not Answer.VALID


LEAF = st.one_of(ATOMS, ATOMS, ENTRIES)
POLYNOMIAL = formulas(rational(LEAF, size=4))
FUNCTIONS = formulas(numeric(("abs", "floor", "mod", "sqrt"), LEAF, size=4))
TRANSCENDENTAL = formulas(numeric(("exp", "ln", "log2", "sqrt"), LEAF, size=4))


@SETTINGS
@given(st.lists(POLYNOMIAL, max_size=3), POLYNOMIAL, worlds(legal=True))
def test_no_false_proof_with_quotients(hypotheses: list[Tree], goal: Tree, world: World) -> None:
    check_never_valid(hypotheses, goal, world)


@SETTINGS
@given(st.lists(FUNCTIONS, max_size=3), FUNCTIONS, worlds(legal=True))
def test_no_false_proof_with_functions(hypotheses: list[Tree], goal: Tree, world: World) -> None:
    check_never_valid(hypotheses, goal, world)


@SETTINGS
@given(st.lists(TRANSCENDENTAL, max_size=3), TRANSCENDENTAL, worlds(legal=True))
def test_no_false_proof_with_exponentials(hypotheses: list[Tree], goal: Tree, world: World) -> None:
    check_never_valid(hypotheses, goal, world)


@SETTINGS
@given(st.lists(st.one_of(FUNCTIONS, TRANSCENDENTAL), min_size=1, max_size=3), worlds(legal=True))
def test_every_fact_that_is_added_holds(trees: list[Tree], world: World) -> None:
    for fact in Facts(theory()).about([canonical(term_of(tree)) for tree in trees]):
        try:
            assert meaning(fact, world), fact
        except UndefinedError:
            continue


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.lists(FUNCTIONS, max_size=3), worlds(legal=True))
def test_what_holds_somewhere_is_satisfiable(facts: list[Tree], world: World) -> None:
    terms = [term_of(true_here(f, world)) for f in facts]
    reply = Smt(theory(), whole=True).satisfiable(terms, MILLISECONDS)
    assert reply.answer is not Answer.VALID
