"""Pieces of the search for failing runs: near numbers, ways and their models, outputs, noise of callees."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import z3
from small_specs import mechanism, spec

from aligncheck.effort import Effort
from aligncheck.kernel.witness import Witness
from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import Contract, with_contract
from aligncheck.language.syntax.nodes import Emit, Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.alignment import run_on_d
from aligncheck.meaning.exact_density import weigh
from aligncheck.meaning.interpreter import EmittedRecord, Invoked
from aligncheck.meaning.replay import replay
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.search.failing.exceeding import find_exceeding
from aligncheck.search.failing.models import Models, Wish
from aligncheck.search.failing.near import Near
from aligncheck.search.failing.realise import Unrealised, realised
from aligncheck.search.failing.trial import SURE, Trial, trial
from aligncheck.search.witness.sorting import with_sorts

F = Fraction
ONE = "x : query, sensitivity 1\nk : int\neps : real where eps > 0"
NUMBERS = {"k": F(2), "eps": F(1)}


def tried(of: Mechanism, most: int = 2, size: int = 2) -> Trial:
    lists = {name: size for item in of.inputs for name in item.names if getattr(item, "vector", False)}
    return trial(of, with_sorts(of, Witness()), NUMBERS, lists, most, Effort(steps=50_000))


# --- near numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "value", "near"),
    [
        ("sqrt", F(2), math.sqrt(2)),
        ("exp", F(1, 2), math.exp(0.5)),
        ("ln", F(5), math.log(5)),
        ("log2", F(3), math.log2(3)),
        ("sqrt", F(-1), None),
        ("ln", F(0), None),
        ("exp", F(10**6), None),
    ],
)
def test_a_number_near_a_root_stands_for_it(rule: str, value: Fraction, near: float | None) -> None:
    """Inside of others, too; what has no value, or none of a usual size, is left."""
    kernel = tried(mechanism("emit done", "", ONE))
    term = kernel.rules[rule](kernel.symbols.ctx.rational(value))
    found = Near(kernel.rules).formula(1 + term)
    if near is None:
        assert z3.eq(found, 1 + term)
        return
    assert float(found.as_fraction()) == pytest.approx(1 + near, abs=1e-6)
    nested = Near(kernel.rules).formula(kernel.rules["exp"](term))
    assert float(nested.as_fraction()) == pytest.approx(math.exp(near), rel=1e-5)


# --- ways and models ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "ways"),
    [
        ("emit a", [["a"]]),
        ("z ~ Lap(1)\nif x + z > 0: emit a\nelse: emit b", [["a"], ["b"]]),
        ("z ~ Lap(1)\nif z > 1: emit a\nif z > 0: emit b", [["a", "b"], ["b"], []]),
        ("if k > 1: emit a\nelse: emit b", [["a"]]),
        ("for i in range(k):\n  z[i] ~ Lap(1)\n  if z[i] > i: break\n  emit a", [[], ["a"], ["a", "a"]]),
        ("i = 0\nwhile i < k + 1:\n  i = i + 2\n  emit a", [["a", "a"]]),
        ("i = 0\nwhile i < 2 and x > i:\n  i = i + 1\n  emit a", [[], ["a"], ["a", "a"]]),
        ("w = argmax(q[j] for j in q)\nif w > 0: emit a\nelse: emit b", [["a"], ["b"]]),
        ("s = sum(q[j] for j in q)\nif s > q[0] + q[1]: emit a\nelse: emit b", [["b"]]),
        ("z ~ Exp(1)\nif z < 0: emit a\nelse: emit b", [["b"]]),
        ("z ~ DLap(1)\nif z > 0 and z < 1: emit a\nelse: emit b", [["b"]]),
    ],
)
def test_a_model_of_a_way_is_a_run_that_goes_it(program: str, ways: list[list[str]]) -> None:
    """All ways are found that inputs of these sizes go, each with one of its runs; impossible ones have
    none.
    """
    of = mechanism(program, "", f"q : queries, sensitivity 1\n{ONE} and len(q) >= 1")
    models = Models(tried(of, most=3))
    gone = []
    for way in models.trial.complete:
        model = models.model(models.facts([f for f in way.facts if f.kind in SURE]))
        if model is not None:
            scenario = models.scenario(model, way)
            assert scenario is not None
            assert check_scenario(of, scenario) == []
            run, _ = run_on_d(of, scenario, 1_000)
            assert [record.tag for record in run.output] == way.tags
            gone.append(way.tags)
    assert sorted(gone) == sorted(ways)


@pytest.mark.parametrize(
    ("program", "lines", "conditions"),
    [
        ("z ~ Lap(1/eps)\nemit a(x + z)", "z += x - x'", set()),
        ("z ~ Lap(1/eps)\nemit a(x + z)", "z += 0", {"output"}),
        ("z ~ Lap(1/eps)\nemit a(x + z)", "z += 2*(x - x')", {"output", "cost"}),
        ("z ~ Lap(1/(2*eps))\nemit a(x + z)", "z += x - x'", {"cost"}),
        ("z ~ Exp(1/eps)\nemit a", "z += x - x'", {"support"}),
        ("z ~ Lap(k)\nemit a(1/z if z > k else 1/x)", "", {"defined", "output"}),
    ],
)
def test_a_model_in_which_a_goal_fails_is_a_run_that_violates_it(
    program: str, lines: str, conditions: set[str]
) -> None:
    of = mechanism(program, lines, ONE)
    models, found = Models(tried(of)), set()
    for asked in models.trial.questions:
        for known, goal in asked.goals:
            formulas = models.facts([*asked.facts, *known])
            model = models.model([*formulas, z3.Not(models.formula(goal))])
            scenario = None if model is None else models.scenario(model, asked.way)
            if scenario is not None:
                assert asked.condition in {v.condition.id for v in replay(of, scenario).violations}
                found.add(asked.condition)
    assert found == conditions


@pytest.mark.parametrize(
    ("wish", "granted"),
    [
        (Wish("a", ()), True),
        (Wish(None, (("v", F(1)),)), True),
        (Wish("a", (("v", F(1)), ("w", True))), True),
        (Wish("b", ()), False),
        (Wish("a", (("v", F(2)),)), False),
        (Wish("a", (("u", F(1)),)), False),
    ],
)
def test_a_wish_is_granted_by_a_record_that_has_all_of_it(wish: Wish, granted: bool) -> None:
    record = EmittedRecord("a", (("v", F(1)), ("w", True)), Emit("a", ()))
    assert wish.granted(record) is granted


# --- densities ----------------------------------------------------------------------------------------------

SCORES = """
    u : queries, sensitivity 1
    v : queries, sensitivity 1, adjacency one where len(v) == len(u)
    eps : real where eps > 0 and len(u) >= 1
"""


@pytest.mark.parametrize(
    ("program", "condition"),
    [
        ("w ~ Choose(exp(eps*u[i]) for i in u)\nemit a(w)", Condition.COST),
        ("w ~ Choose(exp(2*eps*v[i]) for i in u)\nemit a(w)", Condition.COST),
        ("w ~ Choose(1 for i in u where i == 0 or u[i] > u[0])\nemit a(w)", Condition.SUPPORT),
        ("w ~ Choose(exp(eps*u[i]/2) for i in u)\nemit a(u[w])", Condition.OUTPUT),
        ("g ~ Logistic(u[0], 1/eps)\nemit a(g)", None),
        ("g ~ Logistic(2*u[0], 1/eps)\nemit a(g)", Condition.COST),
        ("g ~ Logistic(u[0], 1/eps) where g > u[0]\nemit a(g)", Condition.SUPPORT),
    ],
)
def test_an_output_that_a_claim_does_not_allow(program: str, condition: Condition | None) -> None:
    """It is one of neighbours, and its densities are as they are told."""
    of = mechanism(program, "", SCORES)
    found = find_exceeding(of, condition, Effort(steps=50_000))
    assert (None if found is None else found.condition) is condition
    if found is not None:
        scenario = found.example.scenario
        assert check_scenario(of, scenario) == []
        weighed = weigh(of, (*scenario.parameters, *scenario.data), dict(found.example.drawn))
        assert weighed.log_density is not None


def test_what_the_kernel_stopped_at_comes_before_all_else() -> None:
    of = mechanism("w ~ Choose(exp(3*eps*u[i]) for i in u)\nemit a(v[w])", "", SCORES)
    for first in (Condition.COST, Condition.OUTPUT):
        found = find_exceeding(of, first, Effort(steps=50_000))
        assert found is not None
        assert found.condition is first


# --- callees ------------------------------------------------------------------------------------------------

CALLEE = """mechanism c
input
  y : query, sensitivity 1
privacy 1
program
  z ~ Lap(1)
  if y + z > 5: emit above(v = y + z)
  else: emit below
align
  z += 1
"""


@pytest.mark.parametrize(
    ("wanted", "released"),
    [
        (None, ["below"]),
        ((Wish("above", ()),), ["above"]),
        ((Wish("below", ()),), ["below"]),
        ((Wish(None, (("v", F(9)),)),), ["above"]),
        ((Wish("above", (("v", F(1)),)),), ["above"]),  # if not with this value, then with another
        ((Wish("other", ()),), None),
        ((), None),
    ],
)
def test_callees_get_noise_with_which_they_release_what_is_wanted(
    wanted: tuple[Wish, ...] | None, released: list[str] | None
) -> None:
    source, called = spec("a = c(y = x)\nemit done", "", ONE), Source("c.dp", CALLEE)
    source = Source(source.path, source.text.replace("input", 'use c from "c.dp"\ninput', 1))
    of = with_contract(parse(source), "c", Contract(parse(called), called))
    scenario = Scenario((("k", F(2)), ("eps", F(1))), (("x", F(0)),), (("x", F(1)),))
    wishes = {("a", 0): wanted}
    if released is None:
        with pytest.raises(Unrealised):
            realised(of, scenario, wishes, Effort(steps=50_000), {})
        return
    found = realised(of, scenario, wishes, Effort(steps=50_000), {})
    run, _ = run_on_d(of, found, 1_000)
    (call,) = (step for step in run.steps if isinstance(step, Invoked))
    assert [record.tag for record in call.returned.records] == released
    if wanted is not None and wanted[0].fields == (("v", F(9)),):
        assert dict(call.returned.records[0].fields) == {"v": F(9)}
