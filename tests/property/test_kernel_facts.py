"""What the kernel knows of sums, of neighbours, and of logarithms is true of random ones; and neighbours are
what they are to runs.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import exp, floor, isclose, log
from typing import Any, TypeAlias

import pytest
import z3

from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.evaluate import EXP, LN, rest
from aligncheck.kernel.logic import Decider, Fact, Kind
from aligncheck.kernel.state import Mode, Path
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.terms import real
from aligncheck.kernel.witness import Witness
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.interpreter import Inputs
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.search.witness.witness_json import expression

TERMS = (
    "q[j]",
    "clip(q[j], 0, 1)",
    "q[j]*q[j]",
    "min(q[j], 1) - j",
    "floor(q[j]/2)",
    "(1 if q[j] > 0 else 0)",
    "(q[j] if j % 2 == 0 else 0)",
    "max(q[k] for k in range(j + 1))",
    "sum(q[k] for k in range(j))",
    "2/3",
)
CHOSEN = ("", " where q[j] > 0", " where j % 2 == 1", " where q[j] >= q[0]")
RANGES = ("range(len(q))", "range(1, len(q))", "range(len(q), 0)", "range(-1, 3)")
MOVING = {"one": (1,), "two": (1, -1), "moved": (-1, 1), "monotone": (1, 1, 1), "all": (1, -1, 1), "l1": (1,)}
"""Neighbours, of three answers: how far some of them move, in some order."""
ROUNDS = 20
Lists: TypeAlias = dict[str, list[Fraction]]
LINES = (
    "q : queries, sensitivity b[i], adjacency one; "
    "s : queries, sensitivity 2, same index as q, adjacency one",
    "q, p : queries, sensitivity 1, adjacency moved, lattice 1/2; x : query, adjacency any, range [-1, 1]",
    "q : queries, sensitivity 1, adjacency two; s : queries, sensitivity 2, same index as q, adjacency two",
    "q : queries, sensitivity 1, adjacency monotone; x : query, sensitivity 1, same direction as q",
    "q : queries, sensitivity 1, adjacency one; "
    "s : queries, sensitivity 1, adjacency one, same direction as q",
    "q, p : queries, sensitivity 3/2, adjacency l1, range [-1, 2]; x : query, sensitivity 1, lattice 1",
    "q, p : queries, sensitivity 3/2, adjacency l2",
    "q : queries, sensitivity 1, adjacency moved; "
    "s : queries, sensitivity 2, same index as q, adjacency moved",
)
"""Declarations of answers, beside `b : vector where b[i] >= 1`."""


class Known:
    """What the kernel knows of answers, with values of them on D and on D'."""

    def __init__(self, lines: str, data: Lists, data_prime: Lists, public: Lists | None = None) -> None:
        text = f"mechanism m\ninput\n  {lines}\nprivacy 0\nprogram\n  emit done"
        self.kernel = Kernel(parse(Source("m", text)), Witness(), Decider(), Symbols())
        self.path = Path()
        self.kernel.prepare_inputs(self.path)
        self.kernel.prepare_selections(self.path)
        number, public = self.kernel.symbols.integer, public or {}
        given = ({**data, **public}, {**data_prime, **public})
        self.said = [self.kernel.lengths[x] == number(len(values)) for x, values in given[0].items()]
        for run, lists in enumerate(given):
            for x, values in lists.items():
                on = self.kernel.lists[x][run]
                self.said += [real(on(number(at))) == self._rational(v) for at, v in enumerate(values)]

    def _rational(self, value: Fraction) -> Any:
        return self.kernel.symbols.ctx.rational(value)

    def value(self, text: str) -> Any:
        """The value of an expression, of which from now on is known what the kernel says of it."""
        place = self.kernel.spec.span
        scope = self.kernel.scope(Mode.RELATION, self.path, place)
        return real(self.kernel.number(expression(text), scope))

    @property
    def contradicts(self) -> bool:
        """Whether what is known cannot be true of these values."""
        facts = [*self.path.facts, *(Fact(Kind.RUN, each) for each in self.said)]
        false = self.kernel.symbols.true
        return self.kernel.decider.proof(facts, false, ((3, 250_000),)) is not None


def _known(adjacency: str, values: tuple[list[int], list[int]]) -> Known:
    on_d, on_other = (list(map(Fraction, each)) for each in values)
    return Known(f"q : int queries, sensitivity 1, adjacency {adjacency}", {"q": on_d}, {"q": on_other})


def neighbours(numbers: random.Random, adjacency: str) -> tuple[list[int], list[int]]:
    on_d, moves = [numbers.randint(-2, 2) for _ in range(3)], [0, 0, 0]
    sign = 1 if adjacency == "moved" else numbers.choice((-1, 1))
    for at, move in zip(numbers.sample(range(3), 3), MOVING[adjacency], strict=False):
        moves[at] = sign * move * numbers.randint(0, 1)
    return on_d, [one + move for one, move in zip(on_d, moves, strict=True)]


def computed(text: str, q: list[int]) -> Fraction:
    """The same by Python, where answers outside of the list are 0."""
    answers = {at: Fraction(value) for at, value in enumerate(q)}
    names = {"q": _Answers(answers), "floor": floor, "clip": lambda x, low, high: max(low, min(x, high))}
    python = text.replace(" where ", " if ").replace("2/3", "one*2/3").replace("len(q)", str(len(q)))
    return Fraction(eval(python, names | {"one": Fraction(1)}))


class _Answers(dict[int, Fraction]):
    def __missing__(self, at: int) -> Fraction:
        return Fraction(0)


def some_sum(numbers: random.Random) -> str:
    over = numbers.choice(RANGES)
    inside = " where j >= 0 and j < len(q)" if "-1" in over else numbers.choice(CHOSEN)
    return f"sum({numbers.choice(TERMS)} for j in {over}{inside})"


def sums_of(known: Known, values: tuple[list[int], list[int]], texts: list[str], beside: int = 0) -> None:
    """Sums of both runs, one after the other, with the values that they have, and `beside`."""
    for text in texts:
        for primed, q in zip(("q", "q'"), values, strict=True):
            there = known.value(text.replace("q[", f"{primed}["))
            of = computed(text, q) + beside
            known.said.append(there == known.kernel.symbols.ctx.rational(of))


@pytest.mark.parametrize("adjacency", MOVING)
def test_what_is_known_of_sums_is_true(adjacency: str) -> None:
    numbers = random.Random(adjacency)
    for _ in range(ROUNDS // len(MOVING)):
        values = neighbours(numbers, adjacency)
        one, other = some_sum(numbers), some_sum(numbers)
        known = _known(adjacency, values)
        sums_of(known, values, [one, other, f"{one} + {other}", f"{one} - {other}"])
        assert not known.contradicts, (values, one, other)


def test_the_test_can_fail() -> None:
    """Other values are contradicted, and so are lists that are no neighbours."""
    values = [1, 2, 3], [1, 3, 3]
    known = _known("one", values)
    sums_of(known, values, ["sum(q[j] for j in range(len(q)))"], beside=1)
    assert known.contradicts
    known = _known("one", ([1, 2, 3], [2, 3, 3]))
    known.value("q[0] + q[1] + q'[0] + q'[1]")
    assert known.contradicts


def _pair(numbers: random.Random, groups: list[n.Queries]) -> tuple[Lists, Lists]:
    """Answers, of which a few are others on D'."""
    many = {x: 3 if group.vector else 1 for group in groups for x in group.names}
    data = {
        x: [Fraction(numbers.randint(-2, 3), numbers.choice((1, 1, 2))) for _ in range(many[x])] for x in many
    }
    prime = {x: list(values) for x, values in data.items()}
    for _ in range(numbers.randint(0, 3)):
        values = prime[numbers.choice(list(many))]
        values[numbers.randrange(len(values))] += Fraction(numbers.choice((-2, -1, 1, 2, 3)), 2)
    return data, prime


def _given(lists: Lists, single: set[str]) -> Inputs:
    return tuple((x, values[0] if x in single else tuple(values)) for x, values in lists.items())


@pytest.mark.parametrize("lines", LINES, ids=map(str, range(len(LINES))))
def test_neighbours_are_what_they_are_to_runs(lines: str) -> None:
    """What the kernel assumes is true of just the pairs that may be replayed, and be refuted with."""
    numbers, seen = random.Random(lines), set[bool]()
    text = "b : vector where b[i] >= 1\n  " + lines.replace("; ", "\n  ")
    spec = parse(Source("m", f"mechanism m\ninput\n  {text}\nprivacy 0\nprogram\n  emit done"))
    groups = [item for item in spec.inputs if isinstance(item, n.Queries)]
    public, single = (
        {"b": [Fraction(x) for x in (1, 2, 1)]},
        {x for g in groups if not g.vector for x in g.names},
    )
    for _ in range(ROUNDS):
        data, prime = _pair(numbers, groups)
        pair = Scenario(_given(public, set()), _given(data, single), _given(prime, single))
        legal = not check_scenario(spec, pair)
        assert Known(text, data, prime, public).contradicts is not legal, pair
        seen.add(legal)
    assert seen == {True, False}


OPERATIONS: dict[int, Callable[..., float]] = {
    z3.Z3_OP_ADD: operator.add,
    z3.Z3_OP_SUB: operator.sub,
    z3.Z3_OP_MUL: operator.mul,
    z3.Z3_OP_DIV: operator.truediv,
    z3.Z3_OP_TO_REAL: float,
}
VALUES = {"a": 0.7, "b": -1.3, "c": 2.9}
"""Numbers for three parameters."""


def some_number(numbers: random.Random, depth: int) -> str:
    if depth == 0:
        return numbers.choice(("a", "b", "c", "1", "2", "3/2", "(0 - 1)", "exp(a)", "exp(b - c)"))
    parts = [some_number(numbers, depth - 1) for _ in range(2)]
    return f"({numbers.choice([' + ', ' - ', '*', '/']).join(parts)})"


def in_floats(term: Any, rules: dict[str, Any]) -> float:
    """The value of a term; a logarithm is that of a number without its sign."""
    parts = [in_floats(part, rules) for part in term.children()]
    if z3.is_rational_value(term) or z3.is_int_value(term):
        return float(Fraction(str(term)))
    if (operation := OPERATIONS.get(term.decl().kind())) is not None:
        return reduce(operation, parts)
    if term.decl().eq(rules[LN]):
        return log(abs(*parts))
    return exp(*parts) if term.decl().eq(rules[EXP]) else VALUES[term.decl().name().split("!")[0]]


def test_a_logarithm_is_that_of_its_factors() -> None:
    """However a number is written, its logarithm is written with those of its parts; so is 1 - p for a p."""
    text = "mechanism m\ninput\n  a : real\n  b : real\n  c : real\nprivacy 0\nprogram\n  emit done"
    kernel, path = Kernel(parse(Source("m", text)), Witness(), Decider(), Symbols()), Path()
    kernel.prepare_inputs(path)
    scope, numbers, seen = kernel.scope(Mode.RELATION, path, kernel.spec.span), random.Random(0), 0
    for _ in range(10 * ROUNDS):
        term = real(kernel.number(expression(some_number(numbers, 3)), scope))
        try:
            value = in_floats(term, kernel.rules)
        except ZeroDivisionError:
            continue
        left = in_floats(rest(term), kernel.rules)
        assert isclose(left, 1 - value, abs_tol=1e-6 * max(1, abs(value))), term
        if abs(value) > 1e-6:
            seen += 1
            assert isclose(in_floats(kernel.log(term), kernel.rules), log(abs(value)), abs_tol=1e-6), term
    assert seen > 5 * ROUNDS
