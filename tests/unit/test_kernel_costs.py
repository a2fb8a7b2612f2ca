"""What the kernel counts beside theory: a claim is accepted where it is enough, and rejected just below."""

from __future__ import annotations

from fractions import Fraction

import pytest
from kernel_cases import decide
from kernel_pairs import CALLEE, drawn, loop
from small_specs import mechanism

from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.logic import Decider
from aligncheck.kernel.symbols import Held
from aligncheck.kernel.witness import Witness
from aligncheck.kernel.world import World
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.contract import Contract, with_contract
from aligncheck.language.syntax.parse import parse
from aligncheck.search.witness.witness_json import expression

ONE = "q : query, sensitivity {}\nk : int where k >= 1\neps : real where eps > 0"
WHOLE = ONE.replace("q : query", "q : int query")
MANY = "u : queries, sensitivity 1, adjacency {}\neps : real where eps > 0 and len(u) >= 1"
SHIFT = "x += q - q'"

COSTS: list[tuple[str, str, str, Fraction]] = [
    ("x ~ Lap(2/eps)\nemit a(q + x)", SHIFT, ONE.format(1), Fraction(1, 2)),
    ("x ~ Lap(2/eps)\nemit a(q + x)", SHIFT, ONE.format(3), Fraction(3, 2)),
    ("x ~ Lap(2/eps)\nemit a(2*q + x)", "x += 2*q - 2*q'", ONE.format(1), Fraction(1)),
    (
        "x ~ Lap(2/eps)\nemit a(q + x)\ny ~ Lap(3/eps)\nemit b(q + y)",
        f"{SHIFT}\ny += q - q'",
        ONE.format(1),
        Fraction(5, 6),
    ),
    ("x ~ DLap(2/eps, 1)\nemit a(q + x)", SHIFT, WHOLE.format(1), Fraction(1, 2)),
    ("x ~ Logistic(q, 2/eps)\nemit a(x)", "", ONE.format(1), Fraction(1, 2)),
    ("j ~ Choose(exp(eps*u[i]/2) for i in u)\nemit a(j)", "", MANY.format("all"), Fraction(1)),
    ("j ~ Choose(exp(eps*u[i]/2) for i in u)\nemit a(j)", "", MANY.format("monotone"), Fraction(1, 2)),
]


@pytest.mark.parametrize(("program", "align", "inputs", "needed"), COSTS)
def test_a_cost_is_what_theory_says(program: str, align: str, inputs: str, needed: Fraction) -> None:
    """Each move times the slope of the log-density; for weights twice the greatest move of an exponent, or
    once where all move the same way: the sum of all weights then moves that way, too (McSherry, Talwar 2007).
    """
    right, low = (
        mechanism(program, align, inputs, privacy=f"eps*{part.numerator}/{part.denominator}")
        for part in (needed, needed * Fraction(99, 100))
    )
    assert isinstance(decide(right, Witness()), Accepted)
    answer = decide(low, Witness())
    assert isinstance(answer, Rejected)
    assert answer.condition == "cost"


@pytest.mark.parametrize(
    ("program", "align", "condition"),
    [
        ("emit a(q)", "", "output"),
        ("x ~ Lap(2/eps)\nemit a(q + x)", "", "output"),
        ("x ~ Lap(2/eps)\nemit a(q + x)", "x += q' - q", "output"),
        ("x ~ Exp(2/eps)\nemit a(q + x)", SHIFT, "support"),
        ("x ~ DLap(2/eps, 1)\nemit a(q + x)", SHIFT, "support"),
        ("x ~ Lap(abs(q) + 1)\nemit a(x)", "", "scales"),
        ("x ~ Lap(2/eps)\nx ~ Lap(2/eps)\nemit a(q + x)", SHIFT, "fresh"),
        ("x ~ Lap(2/eps)\nemit a(q + x)", "x += x - q'", "acyclic"),
        ("x ~ Lap(2/eps)\nemit a(1 / x)", "", "defined"),
    ],
)
def test_no_claim_is_large_enough_for_what_is_not_private(program: str, align: str, condition: str) -> None:
    answer = decide(mechanism(program, align, ONE.format(1), privacy="1000*eps"), Witness())
    assert isinstance(answer, Rejected)
    assert answer.condition == condition


@pytest.mark.parametrize(
    ("step", "measure", "ends"),
    [
        ("n - 1", "n", True),
        ("n - 1", "2*n", True),
        ("n - 1", "k", False),
        ("n + 1", "n", False),
        ("n", "n", False),
    ],
)
def test_a_loop_ends_where_a_whole_number_falls(step: str, measure: str, ends: bool) -> None:
    spec = mechanism(f"n = k\nwhile n > 0:\n  n = {step}\nemit done", "", ONE.format(1), privacy="0")
    answer = decide(spec, Witness((loop("n == n'", measure=measure),)))
    assert isinstance(answer, Accepted) is ends
    assert ends or (isinstance(answer, Rejected) and answer.condition == "terminates")


@pytest.mark.parametrize(("claim", "right"), [("eps", True), ("eps*99/100", False)])
def test_a_loop_costs_what_its_rounds_cost(claim: str, right: bool) -> None:
    """k draws of scale k/eps, by an invariant that says i/k of it is spent before round i; a false one, that
    less is spent, is not believed.
    """
    spec = mechanism(
        "for i in range(k):\n  x[i] ~ Lap(k/eps)\n  emit a(q + x[i])", "x[i] += q - q'", ONE.format(1), claim
    )
    for spent, true in (("i*eps/k", True), ("i*eps/(2*k)", False)):
        answer = decide(spec, Witness((drawn("x", f"alignment_cost <= {spent}"),)))
        assert isinstance(answer, Accepted) is (right and true)


@pytest.mark.parametrize(("claim", "right"), [("eps*5/6", True), ("eps*4/5", False)])
def test_calls_cost_what_they_claim(claim: str, right: bool) -> None:
    text = (
        'mechanism m\nuse c from "c.dp"\ninput\n  q : query, sensitivity 1\n  eps : real where eps > 0\n'
        f"privacy {claim}\nprogram\n"
        "  one = c(y = q, k = 1, d = eps/2)\n  two = c(y = q, k = 1, d = eps/3)\n  emit a(1)\n"
    )
    source = Source("c.dp", CALLEE)
    tree = with_contract(parse(Source("m.dp", text)), "c", Contract(parse(source), source))
    assert isinstance(decide(tree, Witness()), Accepted) is right


def test_the_records_of_a_mechanism() -> None:
    spec = mechanism("if k > 1:\n  emit a(x = 1, y = 2)\nelse:\n  emit b(x = 3)", "", ONE.format(1), "0")
    made = World(spec, Witness(), Decider()).records("c", spec, {}, lambda _: Held())
    assert set(made.tags) == {"a", "b"}
    assert {field: set(tags) for field, tags in made.having.items()} == {"x": {"a", "b"}, "y": {"a"}}


def test_a_witness_is_for_the_loops_that_there_are() -> None:
    tree: n.Mechanism = mechanism("emit a(1)", "", ONE.format(1), "0")
    assert isinstance(decide(tree, Witness()), Accepted)
    assert isinstance(decide(tree, Witness(promises=(expression("false"),))), Rejected)
