"""Counterexamples with calls: the callees are executed, on D and on D', or nothing is claimed.

Most callers here ask something of what a call releases that the callee's theorem does not say. Where no noise
makes the callee release what would break it, the verdict may be UNKNOWN but no failure.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from small_specs import checked as checked_file

from aligncheck.language.check import check
from aligncheck.language.conditions import Condition
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.interpreter import Inputs, Invoked, StepLimit, run
from aligncheck.meaning.replay import Replay, replay
from aligncheck.meaning.scenario import CallNoise, Scenario, ScenarioError, check_scenario, numbers_of
from aligncheck.pipeline import Options, verify_file, verify_source
from aligncheck.refutation.events import CompleteOutput, RecordPattern
from aligncheck.refutation.probability import probability
from aligncheck.verdict import AlignmentFails, Unknown, Verdict, Verified

F = Fraction
SPECS = Path(__file__).parents[2] / "specs"

TWO_TAGS = """mechanism callee
input
  k : int where k >= 1
privacy 0
program
  for r in range(k):
    if r < k - 1:
      emit pick(gap = 1)
    else:
      emit last
"""
ONE_VALUE = """mechanism callee
input
  x : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(1/eps)
  if x + eta >= 0:
    emit got(size = 2)
  else:
    emit got(size = 1)
align
  eta += x - x'
"""
ABOVE = """mechanism callee
input
  x : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(1/eps)
  if x + eta >= 1:
    emit over(gap = x + eta)
align
  eta += x - x'
"""
AROUND = """mechanism callee
use inner from "inner.dp"
input
  x : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  s = inner(x = x, eps = eps)
  emit twice(size = 2*s.size)
"""
CHOSEN = """mechanism callee
input
  q : queries, sensitivity 1
  eps : real where eps > 0 and len(q) >= 2
privacy eps
program
  best ~ Choose(exp(eps*q[i]/4) for i in q)
  emit chosen(index = best, other = 2)
"""
SELECTED = """mechanism callee
input
  q : queries, sensitivity 1
  eps : real where eps > 0 and len(q) >= 1
privacy eps
program
  for i in range(len(q)):
    eta[i] ~ Lap(2/eps)
  best = argmax(q[i] + eta[i] for i in q)
  emit chosen(index = best)
align
  eta[i] += 1 - (q'[i] - q[i])   when i == best
"""


def caller(inputs: str, program: str, privacy: str = "eps") -> str:
    declared = "".join(f"  {line}\n" for line in inputs.split("; "))
    body = "".join(f"  {line}\n" for line in program.split("\n"))
    return (
        f'mechanism caller\nuse callee from "callee.dp"\ninput\n{declared}privacy {privacy}\nprogram\n{body}'
    )


QUERY = "x : query, sensitivity 1; eps : real where eps > 0"
QUERIES = "q : queries, sensitivity 1; eps : real where eps > 0 and len(q) >= 2"
INTEGER = "k : int where k >= 2"
CALL = "s = callee(x = x, eps = eps)\n"

HARMLESS = {
    "two_tags": (TWO_TAGS, caller(INTEGER, "s = callee(k = k)\nemit r(s[0].gap)", "0")),
    "two_tags_last": (TWO_TAGS, caller(INTEGER, "s = callee(k = k)\nemit r(1/s.count(last))", "0")),
    "two_tags_many": (TWO_TAGS, caller(INTEGER, "s = callee(k = k)\nemit r(1/s[1 - 1].gap)", "0")),
    "values": (ONE_VALUE, caller(QUERY, CALL + "emit r(1/s.size)")),
    "values_root": (ONE_VALUE, caller(QUERY, CALL + "emit r(sqrt(2 - s.size))")),
    "counts": (ABOVE, caller(QUERY, CALL + "emit r(1/(2 - len(s)))")),
    "fields": (ABOVE, caller(QUERY, CALL + "if len(s) > 0:\n  emit r(1/s[0].gap)\nelse:\n  emit none")),
    "nested": (AROUND, caller(QUERY, CALL + "emit r(1/(s.size - 3))")),
    "densities": (CHOSEN, caller(QUERIES, "s = callee(q = q, eps = eps)\nemit r(1/s.other)")),
    "selected": (
        SELECTED,
        caller(QUERIES, "s = callee(q = q, eps = eps)\nemit r(sqrt(len(q) - 1 - s.index))"),
    ),
    "in_a_loop": (
        ONE_VALUE,
        caller(
            "x : query, sensitivity 1; n : int where n >= 1; eps : real where eps > 0",
            "for i in range(n):\n  s = callee(x = x, eps = eps/n)\n  emit r(1/s.size)",
        ),
    ),
    "in_a_branch": (
        ONE_VALUE,
        caller(
            "x : query, sensitivity 1; n : int; eps : real where eps > 0",
            "if n > 3:\n  s = callee(x = x, eps = eps)\n  emit r(1/s.size)\nelse:\n  emit none",
        ),
    ),
}
BROKEN = {
    "two_tags": (
        TWO_TAGS,
        caller(INTEGER, "s = callee(k = k)\nemit r(s[k - 1].gap)", "0"),
        Condition.DEFINED,
    ),
    "values": (ONE_VALUE, caller(QUERY, CALL + "emit r(1/(2 - s.size))"), Condition.DEFINED),
    "counts": (ABOVE, caller(QUERY, CALL + "emit r(1/(1 - len(s)))"), Condition.DEFINED),
    "no_records": (ABOVE, caller(QUERY, CALL + "emit r(s[0].gap)"), Condition.DEFINED),
    "fields": (
        ABOVE,
        caller(QUERY, CALL + "if len(s) > 0:\n  emit r(1/(s[0].gap - 7))\nelse:\n  emit none"),
        Condition.DEFINED,
    ),
    "nested": (AROUND, caller(QUERY, CALL + "emit r(1/(s.size - 4))"), Condition.DEFINED),
    "densities": (
        CHOSEN,
        caller(QUERIES, "s = callee(q = q, eps = eps)\nemit r(1/(1 - s.index))"),
        Condition.DEFINED,
    ),
    "index": (
        SELECTED,
        caller(QUERIES, "s = callee(q = q, eps = eps)\nemit r(q[s.index])"),
        Condition.OUTPUT,
    ),
    "in_a_loop": (
        ONE_VALUE,
        caller(
            "x : query, sensitivity 1; n : int where n >= 1; eps : real where eps > 0",
            "for i in range(n):\n  s = callee(x = x, eps = eps/n)\n  emit r(1/(s.size - i))",
        ),
        Condition.DEFINED,
    ),
    "in_a_branch": (
        ONE_VALUE,
        caller(
            "x : query, sensitivity 1; n : int; eps : real where eps > 0",
            "if n > 2:\n  s = callee(x = x, eps = eps)\n  emit r(1/(s.size - 2))\nelse:\n  emit none",
        ),
        Condition.DEFINED,
    ),
    "overspent": (
        ONE_VALUE,
        caller(QUERY, CALL + "t = callee(x = x, eps = eps)\nemit r(s.size + t.size)"),
        Condition.COST,
    ),
    "moved_twice": (
        ONE_VALUE,
        caller(QUERY, "s = callee(x = 2*x, eps = eps)\nemit r(s.size)"),
        Condition.CALLS,
    ),
}


def verdict(folder: Path, callee: str, text: str) -> Verdict:
    (folder / "inner.dp").write_text(ONE_VALUE.replace("mechanism callee", "mechanism inner"))
    (folder / "callee.dp").write_text(callee)
    assert isinstance(verify_file(str(folder / "callee.dp"), Options(explain=False)).verdict, Verified)
    return verify_source(Source(str(folder / "caller.dp"), text), Options(explain=False))


def callees(mechanism: Mechanism) -> dict[str, Mechanism]:
    return {use.name: use.contract.mechanism for use in mechanism.uses if use.contract is not None}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_no_callee_releases_is_no_counterexample(name: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, *HARMLESS[name])
    assert isinstance(found, Verified | Unknown), found


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_callee_can_release_is_shown_with_its_noise(name: str, tmp_path: Path) -> None:
    callee, text, condition = BROKEN[name]
    found = verdict(tmp_path, callee, text)
    assert isinstance(found, AlignmentFails), found
    assert found.condition is condition
    shown = found.counterexample
    assert shown is not None
    again = replay(found.mechanism, shown.scenario)
    assert condition in {violation.condition for violation in again.violations}
    assert calls_happen(found.mechanism, shown.scenario, again)


def calls_happen(mechanism: Mechanism, scenario: Scenario, done: Replay) -> int:
    """How many calls of the run on D release what their callees do with the noise of the scenario."""
    noise = dict(scenario.calls)
    known = callees(mechanism)
    for step in (calls := [step for step in done.run_d.steps if isinstance(step, Invoked)]):
        callee, own = known[step.mechanism], noise.get(step.key, CallNoise())
        if own.drawn or callee.uses:
            continue
        table = numbers_of(own.noise)
        records = run(callee, step.given, (), lambda site: table.get(site.key, F(0))).output  # noqa: B023
        assert records == step.returned.records
    return len(calls)


# --- the replay itself ------------------------------------------------------------------------------------


def checked(folder: Path, callee: str, text: str) -> Mechanism:
    (folder / "callee.dp").write_text(callee)
    source = Source(str(folder / "caller.dp"), text)
    return check(source, parse(source))


def pair(calls: tuple[tuple[tuple[str, int], CallNoise], ...], moved: int = 1) -> Scenario:
    return Scenario((("eps", F(1)),), (("x", F(0)),), (("x", F(moved)),), calls=calls)


def test_the_callee_runs_with_its_noise_on_d_and_with_its_aligned_noise_on_d_prime(tmp_path: Path) -> None:
    mechanism = checked(tmp_path, ABOVE, caller(QUERY, CALL + "emit r(s[0].gap)"))
    done = replay(mechanism, pair(((("s", 0), CallNoise(((("eta", None), F(3)),))),)))
    assert done.violations == ()
    assert [record.fields for record in done.run_d.output] == [(("value", F(3)),)]
    assert done.run_d.output == done.run_d_prime.output


def test_noise_that_a_callee_cannot_draw_is_no_scenario(tmp_path: Path) -> None:
    callee = ABOVE.replace("Lap(", "Exp(").replace("x' =", "x'")
    mechanism = checked(tmp_path, callee, caller(QUERY, CALL + "emit r(len(s))"))
    with pytest.raises(ScenarioError, match=r"is negative"):
        replay(mechanism, pair(((("s", 0), CallNoise(((("eta", None), F(-3)),))),)))


def test_a_callee_that_draws_by_densities_keeps_what_it_drew(tmp_path: Path) -> None:
    mechanism = checked(tmp_path, CHOSEN, caller(QUERIES, "s = callee(q = q, eps = eps)\nemit r(s.index)"))
    noise = CallNoise(drawn=(("best", F(1)),))
    q, moved = (F(0), F(0)), (F(1), F(0))
    scenario = Scenario((("eps", F(1)),), (("q", q),), (("q", moved),), calls=((("s", 0), noise),))
    done = replay(mechanism, scenario)
    assert done.violations == ()
    assert done.run_d_prime.output[0].fields == (("value", F(1)),)
    with pytest.raises(ScenarioError, match="cannot be 2"):
        replay(mechanism, replace(scenario, calls=((("s", 0), CallNoise(drawn=(("best", F(2)),))),)))


def test_a_callee_that_takes_too_long_cuts_the_run_off(tmp_path: Path) -> None:
    callee = "mechanism callee\ninput\n  k : int\nprivacy 0\nprogram\n  for r in range(k):\n    emit one\n"
    mechanism = checked(tmp_path, callee, caller("k : int", "s = callee(k = k)\nemit r(len(s))", "0"))
    done = replay(mechanism, Scenario((("k", F(1000)),), (), ()), limit=100)
    assert isinstance(done.run_d.ended, StepLimit)
    assert done.violations == ()


def test_a_public_function_gives_one_value_of_its_sort(tmp_path: Path) -> None:
    text = "mechanism f\nfun next(int) : int\nprivacy 0\nprogram\n  emit r(next(1))\n"
    source = Source(str(tmp_path / "f.dp"), text)
    mechanism = check(source, parse(source))
    assert not check_scenario(mechanism, Scenario((), (), (), functions=(("next", (F(1),), F(2)),)))
    halves = Scenario((), (), (), functions=(("next", (F(1),), F(1, 2)),))
    assert check_scenario(mechanism, halves) == ["`next(...)` holds 1/2, which is no integer"]
    twice = Scenario((), (), (), functions=(("next", (F(1),), F(2)), ("next", (F(1),), F(3))))
    assert check_scenario(mechanism, twice) == ["`next` has two values for the same arguments"]


# --- public functions ---------------------------------------------------------------------------------------

FUNCTION = (
    "fun f(int) : real\ninput\n  x : query, sensitivity 1\n  eps : real where eps > 0\nprivacy eps\nprogram\n"
)


@pytest.mark.parametrize(
    ("body", "output"),
    [
        ("  if x > 0:\n    a = inner(x = x, eps = eps)\n  emit done\n", ()),
        ("  a = inner(x = x, eps = eps)\n  emit done(v = a.v)\n", (("v", F(10)),)),
    ],
)
def test_a_callee_applies_the_functions_of_its_caller(
    tmp_path: Path, body: str, output: tuple[tuple[str, Fraction], ...]
) -> None:
    draws = "  eta ~ Lap(1/eps)\n  emit r(v = x + eta + f(1))\nalign\n  eta += x - x'\n"
    inner = f"mechanism inner\n{FUNCTION}{draws}"
    (tmp_path / "inner.dp").write_text(inner)
    path = tmp_path / "outer.dp"
    path.write_text(f'mechanism outer\nuse inner from "inner.dp"\n{FUNCTION}{body}')
    mechanism = checked_file(path)
    parameters: Inputs = (("eps", F(1)),)
    data: Inputs = (("x", F(1)),)
    surely = CompleteOutput((RecordPattern("done"),))
    found = probability(mechanism, dict((*parameters, *data)), surely)
    assert found.lower <= 1 <= found.upper
    pair = Scenario(parameters, data, data, functions=(("f", (F(1),), F(9)),))
    done = replay(mechanism, pair)
    assert done.run_d.output == done.run_d_prime.output
    assert done.run_d.output[0].fields == output
    assert not isinstance(verify_file(str(path), Options(timeout=20)).verdict, AlignmentFails)
