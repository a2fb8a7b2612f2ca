"""Calls that are repeated: exact probabilities, runs, and compiled programs beside laws counted by hand."""

from __future__ import annotations

import random
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from oracle import as_if_verified, load
from simulation import simulated

from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.forms import NoFormError, form_of
from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback import ReadError, program_runs
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse
from aligncheck.meaning.interpreter import STEP_LIMIT, Invoked, Machine
from aligncheck.meaning.replay import side_by_side
from aligncheck.refutation.probability import shapes
from aligncheck.refutation.ratio import closed_form
from aligncheck.report.sidebyside import RunsTable, rows_of
from aligncheck.runtime import FloatingNoise

sys.path.insert(0, str(Path(__file__).parents[1] / "truth"))

from repeated import drawn

CALLEE = Source(
    "m.dp",
    """mechanism m
input
  x : query, sensitivity 1
  eps : real where eps > 0
privacy eps
program
  eta ~ Lap(1/eps)
  emit w(v = x + eta)
align
  eta += x - x'
""",
)
STOP = "stop with probability gamma at most n rounds"
CALLER = """mechanism r
use m from "m.dp"
input
  x : query, sensitivity 1
  gamma : real where 0 < gamma <= 1
  n : int where n >= 1
  eps : real where eps > 0
privacy {}
program
  b = m(x = 0, eps = eps)
  a = repeat m(x = x, eps = eps) {}
  if len(a) > 0:
    emit yes(v = a.v)
  else:
    emit no
"""


def calling(rest: str = f"until a.v >= 0 {STOP}", claim: str = "2*eps + 2/(n*gamma*(2 + n*gamma))") -> Source:
    return Source("r.dp", CALLER.format(claim, rest))


def linked(source: Source, callee: Source = CALLEE) -> Mechanism:
    return check(source, parse(source), lambda _: callee)


# --- probabilities and runs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [7, 10, 138])
def test_probabilities_and_runs_are_those_that_are_counted(seed: int) -> None:
    """Also where the test holds of everything, so that no second round has a chance."""
    made = drawn(random.Random(seed))
    mechanism = linked(Source("r.dp", made.text), Source("m.dp", made.callee))
    cls: Any = load(emit_python(as_if_verified(mechanism), RunMode.LATTICE))
    noise, runs = FloatingNoise(seed), 400
    for x, y in product((0, 1), repeat=2):
        law = {event: mass for event, mass in made.law(x, y).items() if mass}
        inputs = {"x": Fraction(x), "y": Fraction(y)}
        balls = sorted(float(ball) for _, ball in shapes(mechanism, inputs))
        assert balls == pytest.approx(sorted(map(float, law.values())), abs=1e-12)
        ran = Counter(len(one.output) for one in simulated(mechanism, inputs, runs, seed))
        compiled = Counter(cls().with_noise(noise)(x, y).records for _ in range(runs))
        assert sum(ran.values()) == runs
        found = sorted((n / runs for n in compiled.values()), reverse=True)
        wanted = sorted(map(float, law.values()), reverse=True)
        assert found == pytest.approx(wanted[: len(found)], abs=0.13)


def test_a_probability_has_a_formula() -> None:
    source = calling("until a.v >= 0 stop with probability 1/2", "2*eps")
    mechanism = linked(source)
    inputs = {"x": Fraction(0), "gamma": Fraction(1), "n": Fraction(1), "eps": Fraction(1)}
    (gave_up, _), *_ = [each for each in shapes(mechanism, inputs) if "no" in str(each[0])]
    found = closed_form(mechanism, inputs, gave_up)
    assert found is not None
    assert found == pytest.approx(1 / 3)


def test_a_run_tells_of_every_round() -> None:
    mechanism = linked(calling("until a.v >= 0 stop with probability 1/2"))
    inputs = {"x": Fraction(0), "gamma": Fraction(1), "n": Fraction(1), "eps": Fraction(1)}
    noise = iter(map(Fraction, (5, -1, -2, 3)))
    done = Machine(mechanism, inputs, lambda _: next(noise), STEP_LIMIT, goes_on=lambda _: True).run()
    step = next(s for s in done.steps if isinstance(s, Invoked) and s.rounds)
    assert [each.records[0].fields[0][1] for each in step.dropped] == [-1, -2]
    table = RunsTable(side_by_side(done, done), "", "")
    cells = [row.left for row in rows_of(None, table, 60) if row.step == "a ="]
    assert cells == ["w(v = -1) dropped; w(v = -2) dropped; w(v = 3)  (spends 0)"]


# --- text and compiled text ---------------------------------------------------------------------------------


def test_a_repeated_call_is_written_as_it_is_read() -> None:
    mechanism = linked(calling())
    again = linked(Source("r.dp", unparse(mechanism)))
    assert again == mechanism
    assert f"repeat m(x = x, eps = eps) until a[0].v >= 0 {STOP}" in unparse(mechanism)


@cache
def generated(mode: RunMode) -> tuple[str, Mechanism, Mechanism]:
    source = calling()
    mechanism = linked(source)
    return emit_python(as_if_verified(mechanism), mode), mechanism, form_of(mechanism, source, mode).mechanism


@pytest.mark.parametrize("mode", RunMode)
def test_it_is_read_back(mode: RunMode) -> None:
    program_runs(*generated(mode), mode)


ATTACKS = {
    "more rounds": ("min(1 + noise", "min(2 + noise"),
    "no cap": ("min(1 + noise.geometric(gamma_), n)", "1 + noise.geometric(gamma_)"),
    "another chance": ("noise.geometric(gamma_)", "noise.geometric(gamma_ / 2)"),
    "another test": ("if a[0].v >= 0:", "if a[0].v > 0:"),
    "what failed is kept": ("        else:\n            a = ()\n", "        else:\n            pass\n"),
    "no end": ("                break\n", "                pass\n"),
    "one round": ("for a_round in range(min(1 + noise.geometric(gamma_), n)):", "for a_round in range(1):"),
    "the round is released": ("Yes(v=a[0].v)", "Yes(v=a_round)"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_another_program_is_refused(name: str) -> None:
    text, mechanism, form = generated(RunMode.LATTICE)
    old, new = ATTACKS[name]
    assert text.count(old) == 1
    with pytest.raises(ReadError):
        program_runs(text.replace(old, new), mechanism, form, RunMode.LATTICE)


def test_a_chance_that_is_noisy_has_no_exact_form() -> None:
    source = calling("until a.v >= 0 stop with probability clip(b.v, 1/2, 1)", "2*eps")
    with pytest.raises(NoFormError):
        form_of(linked(source), source, RunMode.REFINED)


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        (f"until a.u >= 0 {STOP}", "unknown-field"),
        (f"until a.v {STOP}", "mismatched-sorts"),
        ("until a.v >= 0 stop with probability a.v", "maybe-unassigned"),
        ("until a.v >= 0 stop with probability x", "private-argument"),
        ("until a.v >= 0 stop with probability 1/2 at most eps rounds", "mismatched-sorts"),
    ],
)
def test_what_ends_the_rounds_is_checked(rest: str, code: str) -> None:
    with pytest.raises(SpecError) as caught:
        linked(calling(rest))
    assert caught.value.diagnostic.code == code
