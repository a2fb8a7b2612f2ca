"""What a proof may assume of D and D' holds of every concrete pair of neighbours, under the ghosts' meaning.

Were a fact too strong for some pair, a proof would say nothing about that pair.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest
from random_terms import World, meaning
from small_specs import mechanism

from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.search.discharge.facts import Facts
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.relational.ir import (
    ZERO,
    App,
    Nature,
    Sym,
    Term,
    TermSort,
    add,
    and_,
    const,
    eq,
    le,
    lt,
    neg,
    not_,
    or_,
)
from aligncheck.search.relational.labels import (
    Apart,
    DifferingIndex,
    Direction,
    ListLength,
    Order,
    RecordCount,
    RecordIs,
    Total,
    Way,
    Which,
)
from aligncheck.search.relational.theory import Theory

FIRST, SECOND = (Sym(name, TermSort.INT, Nature.COUNTER) for name in ("i1", "i2"))
ADJACENCIES = ["all", "one", "monotone", "moved", "l1"]
STEP = Fraction(1, 2)
PAIRS = 30


def declared(adjacency: str, vector: bool) -> Mechanism:
    """Two groups members under one adjacency, on a lattice; the alignment compares one of them as a whole."""
    sensitivity = "b[i]" if vector and adjacency != "l1" else "s"
    kind = "queries" if vector else "query"
    inputs = f"""
        q, r : {kind}, sensitivity {sensitivity}, adjacency {adjacency}
        z : {kind}, sensitivity s, adjacency {adjacency}, lattice g
        b : vector where b[i] > 0
        s : real where s > 0
        g : real where g > 0
    """
    return mechanism("eta ~ Lap(1)", "eta += 1 when q <= q'" if vector else "", inputs, "1")


@dataclass(frozen=True)
class Neighbours:
    """Answers on D, moves to D', bounds, and where answers go down and up."""

    answers: dict[str, list[Fraction]]
    moves: dict[str, list[Fraction]]
    b: list[Fraction]
    s: Fraction
    places: dict[str, tuple[str, int]]


def neighbours(adjacency: str, vector: bool, chance: random.Random) -> Neighbours:
    """A legal pair by construction, the extreme moves often among it."""
    size = chance.randint(0, 4) if vector else 1
    b = [chance.choice([STEP, Fraction(1), Fraction(2)]) for _ in range(size)]
    s = chance.choice([STEP, Fraction(1), Fraction(3)])
    names = ["q", "r", "z"]
    answers = {n: [STEP * chance.randint(-4, 4) for _ in range(size)] for n in names}
    moves: dict[str, list[Fraction]] = {n: [Fraction(0)] * size for n in names}
    places: dict[str, tuple[str, int]] = {}

    def bound(name: str, index: int) -> Fraction:
        return b[index] if vector and name != "z" and adjacency != "l1" else s

    for group in (["q", "r"], ["z"]):
        slots = [(n, i) for n in group for i in range(size)]
        nowhere = [(group[0], 90), (group[-1], 91)] if vector else slots
        match adjacency:
            case "all" | "monotone":
                direction = chance.choice([1, -1])
                for n, i in slots:
                    sign = direction if adjacency == "monotone" else chance.choice([1, -1])
                    moves[n][i] = sign * chance.choice([Fraction(0), STEP, bound(n, i)])
            case "one":
                place = chance.choice(slots or nowhere)
                if slots:
                    moves[place[0]][place[1]] = chance.choice([-1, 0, 1]) * bound(*place)
                places[f"one:{','.join(group)}"] = place
            case "moved":
                chosen = chance.sample(slots, 2) if len(slots) > 1 else [*slots, *nowhere][:2]
                for (n, i), label, sign in zip(chosen, ("down", "up"), (-1, 1), strict=False):
                    if (n, i) in slots:
                        moves[n][i] = sign * chance.choice([Fraction(0), STEP, bound(n, i)])
                    places[f"{label}:{','.join(group)}"] = (n, i)
            case "l1":
                left = s
                for n, i in chance.sample(slots, len(slots)):
                    size_here = min(left, chance.choice([Fraction(0), STEP, s]))
                    moves[n][i] = chance.choice([1, -1]) * size_here
                    left -= size_here
            case _:
                raise ValueError(adjacency)
    return Neighbours(answers, moves, b, s, places)


def scenario(pair: Neighbours, vector: bool) -> Scenario:
    def value(numbers: list[Fraction]) -> object:
        return tuple(numbers) if vector else numbers[0]

    prime = {n: [a + d for a, d in zip(pair.answers[n], pair.moves[n], strict=True)] for n in pair.answers}
    return Scenario(
        (("b", tuple(pair.b)), ("s", pair.s), ("g", STEP)),
        tuple((n, value(a)) for n, a in pair.answers.items()),  # type: ignore[misc]
        tuple((n, value(a)) for n, a in prime.items()),  # type: ignore[misc]
    )


def ghosts(pair: Neighbours) -> dict[Term, Fraction | bool]:
    """The intended meaning of every ghost symbol."""
    found: dict[Term, Fraction | bool] = {}
    for group in (["q", "r"], ["z"]):
        moved = [d for n in group for d in pair.moves[n]]
        up, down = (
            Sym(Direction(way, tuple(group)), TermSort.BOOL, Nature.GHOST) for way in (Way.UP, Way.DOWN)
        )
        found[up] = all(d >= 0 for d in moved)
        found[down] = all(d <= 0 for d in moved)
        for n in group:
            found[Sym(Total(n), TermSort.REAL, Nature.GHOST)] = sum(map(abs, pair.moves[n]), Fraction(0))
            found[Sym(Order(n, "<="), TermSort.BOOL, Nature.GHOST)] = all(d >= 0 for d in pair.moves[n])
            found[Sym(Order(n, ">="), TermSort.BOOL, Nature.GHOST)] = all(d <= 0 for d in pair.moves[n])
    for label, (name, index) in pair.places.items():
        way, of = label.split(":")
        names = tuple(of.split(","))
        found[Sym(DifferingIndex(Way(way), names), TermSort.INT, Nature.GHOST)] = Fraction(index)
        found[Sym(Which(Way(way), names), TermSort.INT, Nature.GHOST)] = Fraction(names.index(name))
    return found


def world(pair: Neighbours, i: int, j: int) -> World:
    """Symbols at an index as functions of the index; beyond the lists nothing moves."""

    def entry(name: str, index: tuple[Fraction, ...]) -> Fraction:
        at = int(index[0])
        if name == "b":
            return pair.b[at] if 0 <= at < len(pair.b) else Fraction(1)
        base = name.split(":")[-1]
        if name.startswith("prefix:"):
            return sum(map(abs, pair.moves[base][: max(at, 0)]), Fraction(0))
        table = pair.moves if name.startswith("d:") else pair.answers
        value = table[base][at] if 0 <= at < len(table[base]) else Fraction(0)
        return value / STEP if base == "z" else value

    symbols: dict[Term, Fraction | bool] = {
        **ghosts(pair),
        FIRST: Fraction(i),
        SECOND: Fraction(j),
        Sym("s", TermSort.REAL, Nature.PARAMETER): pair.s,
        Sym("g", TermSort.REAL, Nature.PARAMETER): STEP,
    }
    for name in ("q", "r", "z"):
        sort = TermSort.INT if name == "z" else TermSort.REAL
        symbols[Sym(ListLength(name), TermSort.INT, Nature.PARAMETER)] = Fraction(len(pair.answers[name]))
        if len(pair.answers[name]) == 1:
            for symbol in (Sym(name, sort, Nature.DATA), Sym(Apart(name), sort, Nature.DISTANCE)):
                symbols[symbol] = entry(symbol.name, (Fraction(0),))
    symbols[Sym(ListLength("b"), TermSort.INT, Nature.PARAMETER)] = Fraction(len(pair.b))
    return World(symbols, entry)


@pytest.mark.parametrize("vector", [False, True], ids=["query", "queries"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_fact_is_too_strong(adjacency: str, vector: bool) -> None:
    if adjacency == "moved" and not vector:
        pytest.skip("a single answer cannot move both ways: `z` alone has no neighbours")
    spec = declared(adjacency, vector)
    theory = Theory(spec)
    terms: list[Term] = []
    for name in ("q", "r", "z"):
        places = theory.place(name) if vector else ()
        for index in (FIRST, SECOND, add(FIRST, const(1)), ZERO, *places) if vector else (None,):
            terms.append(theory.answer(name, index, True))
    if vector:
        terms += [f for op in ("<=", ">=") if (f := theory.ordered("q", op)) is not None]
    facts = Facts(theory).about(terms)
    assert len(facts) > 4
    chance = random.Random(adjacency + str(vector))
    for _ in range(PAIRS):
        pair = neighbours(adjacency, vector, chance)
        assert check_scenario(spec, scenario(pair, vector)) == []
        size = len(pair.b)
        here = world(pair, chance.randrange(size) if size else 0, chance.randrange(size) if size else 0)
        for fact in facts:
            assert meaning(fact, here) is True, (fact, pair)


@pytest.mark.parametrize(
    ("adjacency", "claim", "follows"),
    [
        ("all", lambda d: le(d(FIRST), const(1)), True),
        ("all", lambda d: le(d(FIRST), ZERO), False),
        ("all", lambda d: le(neg(d(FIRST)), const(Fraction(1, 2))), False),
        (
            "one",
            lambda d: or_((eq(d(FIRST), ZERO), eq(d(SECOND), ZERO), le(SECOND, FIRST))),
            True,
        ),
        ("one", lambda d: eq(d(FIRST), ZERO), False),
        ("monotone", lambda d: not_(and_((lt(d(FIRST), ZERO), lt(ZERO, d(SECOND))))), True),
        ("monotone", lambda d: le(ZERO, d(FIRST)), False),
        ("moved", lambda d: not_(and_((lt(ZERO, d(FIRST)), lt(ZERO, d(SECOND)), lt(FIRST, SECOND)))), True),
        ("moved", lambda d: not_(and_((lt(ZERO, d(FIRST)), lt(d(SECOND), ZERO)))), False),
        ("l1", lambda d: not_(and_((lt(ZERO, d(FIRST)), eq(d(SECOND), const(1)), lt(FIRST, SECOND)))), True),
        ("l1", lambda d: le(d(FIRST), const(Fraction(1, 2))), False),
    ],
)
def test_facts_say_what_the_adjacency_means(adjacency: str, claim: object, follows: bool) -> None:
    inputs = f"q : queries, sensitivity 1, adjacency {adjacency}\neps : real where eps > 0"
    theory = Theory(mechanism("emit done", inputs=inputs))
    goal = claim(lambda index: theory.distance("q", index))  # type: ignore[operator]
    reply = Smt(theory).implied([], goal, 1000)
    assert (reply.answer is Answer.VALID) is follows


def test_any_gives_the_range_and_nothing_else() -> None:
    inputs = "x : query, adjacency any, range [0, w]\nw : real where w > 0\neps : real where eps > 0"
    theory = Theory(mechanism("emit done", inputs=inputs))
    x, d = theory.answer("x", None, False), theory.distance("x", None)
    w = theory.parameter("w")

    def valid(goal: Term) -> bool:
        return Smt(theory).implied([], goal, 500).answer is Answer.VALID

    assert valid(le(d, w))
    assert valid(le(x, w))
    assert not valid(le(d, ZERO))
    assert not valid(lt(d, w))


def test_where_clauses_hold_on_both_sides() -> None:
    inputs = "x : query, sensitivity 1, where x >= 2\neps : real where eps > 0"
    theory = Theory(mechanism("emit done", inputs=inputs))
    for primed in (False, True):
        goal = le(const(2), theory.answer("x", None, primed))
        assert Smt(theory).implied([], goal, 500).answer is Answer.VALID


def test_clauses_are_judged_without_the_adjacency() -> None:
    inputs = "q : queries, sensitivity s, adjacency l1\ns : real\neps : real where eps > 0"
    spec = mechanism("emit done", inputs=inputs)
    (wanted,) = [goal for _, goal, _, _ in Theory(spec).sensible]
    assert Smt(Theory(spec, public_only=True)).implied([], wanted, 500).answer is not Answer.VALID


def test_a_record_with_a_tag_is_within_the_output() -> None:
    theory = Theory(mechanism("eta ~ Lap(1)\nemit above", "eta += 0 when out[k] is above"))
    here = App(RecordIs("above"), (FIRST,), TermSort.BOOL, Nature.OMEGA)
    length = Sym(RecordCount(None), TermSort.INT, Nature.OMEGA)
    assert Smt(theory).implied([here], lt(FIRST, length), 500).answer is Answer.VALID
    assert Smt(theory).implied([], here, 500).answer is not Answer.VALID
