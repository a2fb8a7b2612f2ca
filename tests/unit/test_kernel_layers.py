"""The layers of the kernel, each beside plain arithmetic, or beside all cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import z3
from kernel_cases import decide
from small_specs import mechanism

import aligncheck.kernel.decide as deciding
from aligncheck.kernel.answer import Accepted, Reject, Rejected
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.evaluate import Evaluator, divided
from aligncheck.kernel.inputs import Inputs
from aligncheck.kernel.logic import Decider, Fact, Kind
from aligncheck.kernel.sets import Sets
from aligncheck.kernel.state import Mode, Path
from aligncheck.kernel.symbols import Defined, Drawn, Given, Held, Rule, Symbols, Told
from aligncheck.kernel.terms import absolute, both, either, implies, real, subterms
from aligncheck.kernel.witness import Witness
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.number_terms import NumberContext
from aligncheck.search.witness.sorting import kernel_sorts, with_sorts
from aligncheck.search.witness.witness_json import expression

HERE = Span(0, 0)
PROGRAM = "eta ~ Lap(1/eps)\nemit noisy(q[0] + eta)"
NUMBERS = """
    q : queries, sensitivity 1
    a : int
    b : int where b >= 1
    x : real where x > 0
    eps : real where eps > 0
"""


def prepared(inputs: str = NUMBERS) -> tuple[Kernel, Path]:
    """A kernel that knows the inputs, and what is known of them."""
    kernel, path = Kernel(mechanism(PROGRAM, inputs=inputs), Witness(), Decider()), Path()
    kernel.prepare_inputs(path)
    return kernel, path


def number(kernel: Kernel, value: object) -> Any:
    return z3.RealVal(str(Fraction(str(value))), kernel.symbols.ctx)


# --- terms and symbols ------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", list(product((False, True), repeat=2)))
def test_connectives_are_those_of_logic(values: tuple[bool, bool]) -> None:
    ctx = NumberContext()
    one, two = (z3.BoolVal(value, ctx) for value in values)
    for made, truth in (
        (both(one, two), all(values)),
        (either(one, two), any(values)),
        (implies(one, two), not values[0] or values[1]),
        (both(one), values[0]),
        (either(two), values[1]),
    ):
        assert z3.is_true(z3.simplify(made)) is truth


def test_numbers_stay_the_same() -> None:
    ctx = NumberContext()
    for value in (-3, 0, 2):
        number = z3.IntVal(value, ctx)
        assert z3.is_true(z3.simplify(absolute(number) == abs(value)))
        assert z3.is_true(z3.simplify(real(number) == z3.RealVal(value, ctx)))
    x = z3.Int("x", ctx)
    assert {str(part.term) for part in subterms(x + 1 + x)} >= {"x", "1"}


@pytest.mark.parametrize(
    ("role", "free", "inputs"),
    [
        (Given(), True, True),
        (Rule(), True, True),
        (Told(True), True, False),
        (Drawn("eta", 0), False, False),
        (Drawn("eta", 1), False, False),
        (Held(), False, False),
    ],
)
def test_what_is_hidden_in_a_definition_is_seen(role: Any, free: bool, inputs: bool) -> None:
    """However deep: a term depends on whatever its definition is made of."""
    symbols = Symbols()
    inner = symbols.constant("inner", symbols.REAL, role)
    for _ in range(3):
        inner = symbols.constant("set", symbols.REAL, Defined((inner + 1,)))
    assert symbols.noise_free(2 * inner) is free
    assert symbols.inputs_only(2 * inner) is inputs
    assert bool(symbols.draws(inner)) is isinstance(role, Drawn)


def test_a_symbol_from_elsewhere_depends_on_everything() -> None:
    symbols = Symbols()
    assert not symbols.noise_free(z3.Const("eta", symbols.REAL))


def test_two_symbols_are_never_the_same() -> None:
    symbols = Symbols()
    one, two = (symbols.constant("x", symbols.INT, Given()) for _ in range(2))
    assert not z3.eq(one, two)
    assert "!" in str(one)


# --- what follows -----------------------------------------------------------------------------------------


def test_what_follows_and_what_does_not() -> None:
    symbols, decider = Symbols(), Decider()
    x, i = symbols.constant("x", symbols.INT, Given()), symbols.constant("i", symbols.INT, Given())
    f = symbols.function("f", (symbols.INT,), symbols.INT, Given())
    facts = [Fact(Kind.RUN, x >= 2), Fact(Kind.RUN, f(i) == i + 1, (i,))]
    assert decider.follows(facts, x >= 1) is not None
    assert decider.follows(facts, f(x) == x + 1) is not None
    for wrong in (x >= 3, f(x) == x, symbols.false):
        assert decider.follows(facts, wrong) is None
    assert decider.satisfiable(facts, [f(x) == 5], symbols.ctx)
    assert not decider.satisfiable(facts, [f(x) == 2], symbols.ctx)


def test_who_is_asked_last_may_say_no() -> None:
    symbols = Symbols()
    x = symbols.constant("x", symbols.INT, Given())
    decider = Decider(lambda formulas, satisfiable, about: False)
    assert decider.follows([], x == x) is None
    assert decider.follows([Fact(Kind.RUN, x >= 2)], x >= 1) is None


def test_what_followed_before_follows_from_no_less() -> None:
    symbols, decider = Symbols(), Decider()
    x, y = (symbols.constant(name, symbols.INT, Given()) for name in "xy")
    facts = [Fact(Kind.RUN, x >= 2), Fact(Kind.RUN, y >= x)]
    assert decider.follows(facts, y >= 1)
    asked = decider.asked
    assert decider.follows([*facts, Fact(Kind.RUN, x >= 5)], y >= 1) == 0
    assert decider.asked == asked
    for fewer in ([], facts[:1], facts[1:]):
        assert decider.follows(fewer, y >= 1) is None


def test_who_is_asked_last_hears_of_models_too() -> None:
    symbols, heard = Symbols(), list[bool]()
    x = symbols.constant("x", symbols.INT, Given())

    def confirm(formulas: object, satisfiable: bool, about: str) -> bool:
        heard.append(satisfiable)
        return not satisfiable

    decider = Decider(confirm)
    assert not decider.satisfiable([Fact(Kind.RUN, x >= 2)], [x == 3], symbols.ctx)
    assert decider.follows([Fact(Kind.RUN, x >= 2)], x >= 1) is not None
    assert heard == [True, False]


def test_a_copy_of_a_path_goes_its_own_way() -> None:
    symbols, path = Symbols(), Path()
    path.fact(Kind.RUN, symbols.true)
    other = path.copy()
    for _ in range(2):
        other.fact(Kind.RUN, symbols.false)
    other.oblige("cost", HERE, "x", symbols.true)
    assert len(path.facts) == 1
    assert len(other.facts) == 2
    assert not path.pending
    assert other.pending[0].position == 2  # facts that come later are none of its hypotheses


# --- values -----------------------------------------------------------------------------------------------

SOME = list(product((-7, -1, 0, 3), (1, 2, 3), (Fraction(1, 3), Fraction(2), Fraction(7, 2))))
ARITHMETIC: list[tuple[str, Callable[[int, int, Fraction], object]]] = [
    ("a % b", lambda a, b, x: a - b * math.floor(Fraction(a, b))),
    ("floor(x)", lambda a, b, x: math.floor(x)),
    ("floor(a / b)", lambda a, b, x: math.floor(Fraction(a, b))),
    ("abs(a - b)", lambda a, b, x: abs(a - b)),
    ("min(a, b, x)", lambda a, b, x: min(a, b, x)),
    ("max(a, x)", lambda a, b, x: max(a, x)),
    ("clip(x, 1, 2)", lambda a, b, x: max(1, min(x, 2))),
    ("a / b", lambda a, b, x: Fraction(a, b)),
    ("x ** 2", lambda a, b, x: x * x),
    ("-a - b * x", lambda a, b, x: -a - b * x),
    ("a if a > b else x", lambda a, b, x: a if a > b else x),
    ("(1 if a <= b and not b == x else 0)", lambda a, b, x: int(a <= b and b != x)),
    ("(1 if a > b or x != 2 else 0)", lambda a, b, x: int(a > b or x != 2)),
]


@pytest.mark.parametrize(("text", "truth"), ARITHMETIC, ids=[text for text, _ in ARITHMETIC])
def test_expressions_mean_what_arithmetic_says(text: str, truth: Callable[..., object]) -> None:
    kernel, path = prepared()
    assert isinstance(kernel, Evaluator)
    term = real(kernel.number(expression(text), kernel.scope(Mode.PROGRAM, path, HERE)))
    public = [kernel.public[name] for name in ("a", "b", "x")]
    solver = z3.Solver(ctx=kernel.symbols.ctx)
    solver.add(*(f.formula for f in path.facts if not f.variables))
    for values in SOME:
        solver.push()
        solver.add(*(real(p) == number(kernel, v) for p, v in zip(public, values, strict=True)))
        assert solver.check() == z3.sat
        solver.add(term != number(kernel, truth(*values)))
        assert solver.check() == z3.unsat, values
        solver.pop()


@pytest.mark.parametrize("text", ["1 / a", "a % a", "sqrt(a)", "ln(a)", "q[a]", "q[b]", "x + (a < b)"])
def test_what_may_be_undefined_has_no_value(text: str) -> None:
    kernel, path = prepared()
    with pytest.raises(Reject):
        kernel.number(expression(text), kernel.scope(Mode.PROGRAM, path, HERE))


def test_a_guard_makes_defined_what_stands_under_it() -> None:
    kernel, path = prepared()
    scope = kernel.scope(Mode.PROGRAM, path, HERE)
    kernel.number(expression("1 / a if a > 0 else 0"), scope)
    kernel.truth(expression("a != 0 and 1 / a < b"), scope)
    with pytest.raises(Reject, match="defined"):
        kernel.truth(expression("1 / a < b and a != 0"), scope)


def test_division_is_exact() -> None:
    ctx = NumberContext()
    assert z3.is_true(z3.simplify(divided(ctx.integer(1), ctx.integer(3)) * 3 == 1))


def test_a_prime_is_for_who_reads_both_runs() -> None:
    kernel, path = prepared()
    path.fact(Kind.RUN, kernel.lengths["q"] >= 1)
    for mode, may in ((Mode.ALIGN, True), (Mode.RELATION, True), (Mode.PROGRAM, False), (Mode.CLAUSE, False)):
        scope = kernel.scope(mode, path, HERE)
        if may:
            kernel.number(expression("q'[0]"), scope)
        else:
            with pytest.raises(Reject, match="prime"):
                kernel.number(expression("q'[0]"), scope)


# --- sets -------------------------------------------------------------------------------------------------

SETS: list[tuple[str, Callable[[tuple[int, ...]], object]]] = [
    ("max(q[j] for j in q)", max),
    ("min(2 * q[j] for j in q)", lambda q: 2 * min(q)),
    ("argmax(q[j] for j in q)", lambda q: q.index(max(q))),
    ("argmin(q[j] for j in q)", lambda q: q.index(min(q))),
    ("max(q[j] for j in range(1, len(q)))", lambda q: max(q[1:])),
]


@pytest.mark.parametrize("answers", [(0, 2, 1), (1, 1, 0), (-1, -2, -2)])
@pytest.mark.parametrize(("text", "truth"), SETS, ids=[text for text, _ in SETS])
def test_sets_mean_what_counting_says(text: str, truth: Any, answers: tuple[int, ...]) -> None:
    """Of equal values the one at the lowest index is selected."""
    kernel, path = prepared()
    assert isinstance(kernel, Sets)
    path.fact(Kind.RUN, kernel.lengths["q"] == len(answers))
    for at, value in enumerate(answers):
        path.fact(Kind.RUN, kernel.lists["q"][0](at) == value)
    term = kernel.number(expression(text), kernel.scope(Mode.PROGRAM, path, HERE))
    assert kernel.decider.follows(path.facts, term == truth(answers)) is not None
    assert kernel.decider.follows(path.facts, term == truth(answers) + 1) is None


def test_an_empty_set_has_no_greatest_value() -> None:
    kernel, path = prepared()
    with pytest.raises(Reject, match="defined"):
        kernel.number(expression(SETS[0][0]), kernel.scope(Mode.PROGRAM, path, HERE))


# --- inputs -----------------------------------------------------------------------------------------------

Moves = tuple[Fraction, ...]
NEIGHBOURS: dict[str, Callable[[Moves], bool]] = {
    "all": lambda m: True,
    "one": lambda m: sum(x != 0 for x in m) <= 1,
    "two": lambda m: sum(x != 0 for x in m) <= 2,
    "monotone": lambda m: min(m) >= 0 or max(m) <= 0,
    "moved": lambda m: sum(x > 0 for x in m) <= 1 and sum(x < 0 for x in m) <= 1,
    "l1": lambda m: sum(map(abs, m)) <= 1,
    "l2": lambda m: sum(x * x for x in m) <= 1,
}


@pytest.mark.parametrize("word", NEIGHBOURS)
def test_the_facts_about_neighbours_are_true_of_all_neighbours_and_of_nothing_else(word: str) -> None:
    kernel, path = prepared(f"q : queries, sensitivity 1, adjacency {word}\neps : real where eps > 0")
    assert isinstance(kernel, Inputs)
    on_d, on_other, _ = kernel.lists["q"]
    solver = z3.Solver(ctx=kernel.symbols.ctx)
    solver.add(*(z3.ForAll([*f.variables], f.formula) if f.variables else f.formula for f in path.facts))
    solver.add(kernel.lengths["q"] == 3, *(on_d(i) == i for i in range(3)))
    half = Fraction(1, 2)
    none = Fraction(0)
    far = [(4 * half, none, none), (-3 * half, none, none), (half, -half, none)]
    for moves in [*product(map(Fraction, (-1, 0, 1)), repeat=3), *far]:
        solver.push()
        solver.add(*(on_other(i) == i + number(kernel, move) for i, move in enumerate(moves)))
        legal = max(map(abs, moves)) <= 1 and NEIGHBOURS[word](moves)
        assert (solver.check() == z3.sat) is legal, moves
        solver.pop()


@pytest.mark.parametrize("clauses", ["sensitivity -1", "sensitivity 1, range [1, 0]"])
def test_declarations_without_sense_are_refused(clauses: str) -> None:
    with pytest.raises(Reject, match="hypotheses"):
        prepared(f"q : queries, {clauses}\neps : real where eps > 0")


# --- sorts ------------------------------------------------------------------------------------------------


def test_sorts_are_the_least_that_all_assignments_allow() -> None:
    program = "s = 1\nt = 1\nt = 1/2\nu = s % 2\nw = s == t\neta ~ Lap(1/eps)\nemit a(x = eta, n = u)"
    sorts = kernel_sorts(mechanism(program))
    real_, whole, truth = n.Sort.REAL, n.Sort.INT, n.Sort.BOOL
    wanted = {"s": whole, "t": real_, "u": whole, "w": truth, "eta": real_}
    assert {name: sorts[name] for name in wanted} == wanted
    assert sorts["$field_n"] is whole


@pytest.mark.parametrize(
    "lie",
    [
        {"s": n.Sort.INT},
        {"s": n.Sort.BOOL},
        {"w": n.Sort.INT},
        {"$field_x": n.Sort.INT},
        {"$field_x": n.Sort.BOOL},
        {"s": None},
    ],
    ids=str,
)
def test_sorts_are_not_believed(lie: dict[str, Any]) -> None:
    """A loop that starts with a whole number, if that is what it holds, never goes on with a half."""
    spec = mechanism("s = 1\ns = s / 2\nw = s > 1\nemit a(x = s)")
    told = with_sorts(spec, Witness())
    assert isinstance(deciding.decide(spec, told), Accepted)
    sorts = {name: sort for name, sort in {**dict(told.sorts), **lie}.items() if sort is not None}
    answer = deciding.decide(spec, replace(told, sorts=tuple(sorts.items())))
    assert isinstance(answer, Rejected)
    assert answer.condition == "form"


# --- form -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "group", [n.Simple, n.Sampling, n.Empty, n.Repeat, n.Literal, n.Operator, n.OfOutput]
)
def test_what_only_groups_nodes_is_no_node(group: type[n.Node]) -> None:
    spec = mechanism(PROGRAM, "eta += q[0] - q'[0]")
    nothing: Any = group()
    for tree in (replace(spec, body=(nothing, *spec.body)), replace(spec, claim=nothing)):
        answer = decide(tree, Witness())
        assert isinstance(answer, Rejected)
        assert answer.condition == "form"
