"""What is known of an operation never contradicts itself, whether its demand is met or not (rule 16)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from small_specs import mechanism

from aligncheck.language.syntax.nodes import FUNCTIONS
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.relational.analysis import analyse
from aligncheck.search.relational.ir import (
    Const,
    Fn,
    Nature,
    Sym,
    Term,
    TermSort,
    const,
    eq,
    iff,
    not_,
    sort_of,
)
from aligncheck.search.relational.maxima import chosen, member, passed, pick, size_of
from aligncheck.search.relational.operations import OPERATIONS
from aligncheck.search.relational.theory import Theory

INPUTS = """
    q : queries, sensitivity 1, range [0, 5]
    b : vector where b[i] > 0
    c : queries, sensitivity b[i], adjacency one, lattice b[i]
    up : queries, sensitivity 1, adjacency monotone
    moved : queries, sensitivity 1, adjacency moved
    all : queries, sensitivity 1, adjacency l1
    ok : bool vector
    k : int
    m : int
    x : real
    y : real
"""
POINTS = [Fraction(n) for n in (-2, -1, 0, 1, 3)] + [Fraction(1, 2)]


def small(program: str = "emit done") -> Theory:
    theory = Theory(mechanism(program, inputs=INPUTS, privacy="1"))
    analyse(theory)
    return theory


def possible(smt: Smt, mentioned: list[Term], *terms: Term) -> bool:
    """Whether some numbers satisfy the terms and all that is known of what occurs or is mentioned."""
    named = [_named(place, term) for place, term in enumerate(mentioned)]
    reply = smt.satisfiable([*named, *terms], 10_000)
    assert reply.answer is not Answer.UNKNOWN, terms
    return reply.model is not None


def _named(place: int, term: Term) -> Term:
    """That a number with a name of its own is the term's value."""
    symbol = Sym(f"value:{place}", sort_of(term), Nature.GHOST)
    return iff(symbol, term) if sort_of(term) is TermSort.BOOL else eq(symbol, term)


X, Y = (Sym(name, TermSort.REAL, Nature.PARAMETER) for name in "xy")


def test_every_function_of_the_language_has_a_row() -> None:
    assert {*FUNCTIONS} - {"min", "max", "len"} <= OPERATIONS.keys()


@pytest.mark.parametrize("name", [n for n in OPERATIONS if n not in ("/", "clip")])
def test_facts_of_a_function_can_be_met_at_every_argument(name: str) -> None:
    args = 2 if name == "mod" else 1
    values: list[Term] = [Fn(name, (X, Y)[:args]), Fn(name, (Y, X)[:args])]
    demand = OPERATIONS[name].demand(*(X, Y)[:args])
    smt = Smt(small(), whole=True)
    for x, y in product(POINTS, repeat=2):
        assert possible(smt, values, eq(X, Const(x)), eq(Y, Const(y))), (x, y)
    assert possible(smt, values, demand)
    assert possible(smt, values, not_(demand)) or name in ("abs", "exp", "floor", "undefined")


SETS = {
    "max": "s = max(q[j] for j in range(k, m))",
    "min": "s = min(q[j] + j for j in range(k, m) where ok[j])",
    "max of the others": "s = max(b[j] for j in range(k, m) where j != 1)",
    "max without a name": "s = max(q[j] for j in range(k, m)) + 1",
    "argmax": "w = argmax(q[j] for j in range(k, m))",
    "argmin": "w = argmin(q[j] for j in range(k, m) where j != 0)",
    "argmax of noise": "for i in range(3): eta[i] ~ Lap(1)\nw = argmax(q[j] + eta[j] for j in range(k, m))",
    "top": "w = top(k, q[j] for j in range(m))",
    "top of few": "w = top(k, q[j] for j in range(m) where ok[j])",
    "top of the others": "w = top(k, q[j] for j in range(m) where j != 1)",
    "top of noise": "for i in range(3): eta[i] ~ Lap(1)\nw = top(k, q[j] + eta[j] for j in range(m))",
    "upto": "w = upto(k, q[j] for j in range(m) where ok[j])",
    "the rest": "w = top(k, q[j] for j in range(m))\ns = max(q[j] for j in range(m) where j not in w)",
}


@pytest.mark.parametrize("name", SETS)
def test_facts_of_a_set_can_be_met_at_every_count_and_range(name: str) -> None:
    """With every symbol that tells something of the set, at several indices and ranks."""
    theory = small(SETS[name])
    smt = Smt(theory, whole=True)
    said = list(_symbols(theory))
    k, m = theory.parameter("k"), theory.parameter("m")
    assert said
    for a, b in product((-1, 0, 2), repeat=2):
        assert possible(smt, said, eq(k, const(a)), eq(m, const(b))), (a, b)
    meanings = [*theory.registry.extrema.values(), *theory.registry.argmaxima.values()]
    for meaning in [*meanings, *theory.registry.selections.values()]:
        assert meaning is not None
        assert possible(smt, said, meaning.enough()) or "few" in name
        assert possible(smt, said, not_(meaning.enough()))


def _symbols(theory: Theory) -> Iterator[Term]:
    registry = theory.registry
    yield from [*registry.extrema, *registry.places()]
    for name in registry.argmaxima:
        yield chosen(name)
    for name in registry.selections:
        yield size_of(name)
        for place in (const(0), const(1), theory.parameter("m"), pick(name, const(0))):
            yield from (pick(name, place), passed(name, place), member(name, place))


@pytest.mark.parametrize("name", ["q", "b", "c", "up", "moved", "all", "ok"])
def test_facts_of_entries_can_be_met_at_every_index_of_lists_of_every_length(name: str) -> None:
    theory = small()
    places = [const(n) for n in (-1, 0, 1, 2)]
    entries = [theory.entry(name, place, primed) for place in places for primed in (False, True)]
    for length in range(3):
        assert possible(Smt(theory, whole=True), entries, eq(theory.length(name), const(length)))
