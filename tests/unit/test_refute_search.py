"""Parts of the search: certificates, databases on which runs part, moves, growth, and how an event arises."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from pathlib import Path

import pytest
from small_specs import mechanism
from small_specs import named as spec

from aligncheck.effort import Effort, OutOfTime
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation import refuter
from aligncheck.refutation.certify import certified, exceeds, level_of
from aligncheck.refutation.claims import Granted
from aligncheck.refutation.cuts import with_cuts
from aligncheck.refutation.databases import legal, parameter_choices, starting_databases
from aligncheck.refutation.enclosure import Ball
from aligncheck.refutation.events import Between, CompleteOutput, Exactly, Raises, RecordPattern
from aligncheck.refutation.measure import Meter
from aligncheck.refutation.pair_search import Candidate, best_neighbour, grown, score
from aligncheck.refutation.refuter import Aim, refute
from aligncheck.refutation.trace import ends_in, trace_of
from aligncheck.refutation.violation import Ended, NoViolation, Violation

SPECS = Path(__file__).parents[2] / "specs"
ABOVE = """
eta ~ Lap(2/eps)
for i, x in q:
  xi[i] ~ Lap(4/eps)
  if x + xi[i] >= eta:
    emit above
    break
  else:
    emit below
"""


def start(of: Mechanism, length: int) -> Scenario:
    return starting_databases(of, length, parameter_choices(of, length, {})[0])[0]


def exactly(value: Fraction) -> Ball:
    return Ball(value, value)


ANY = Granted(Fraction(1))


def test_a_ratio_exceeds_a_claim_only_if_its_worst_bounds_do() -> None:
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    assert exceeds(exactly(half), exactly(tenth), Granted(Fraction(1)))
    assert not exceeds(exactly(half), exactly(tenth), Granted(Fraction(2)))
    assert not exceeds(Ball(tenth, half), exactly(tenth), Granted(Fraction(1)))
    assert not exceeds(exactly(half), Ball(Fraction(0), half), Granted(Fraction(1)))
    assert not exceeds(exactly(tenth), exactly(tenth), Granted(Fraction(0))), "equal is not more"
    assert exceeds(exactly(tenth), exactly(Fraction(0)), Granted(Fraction(10**6)))
    assert not exceeds(Ball(Fraction(0), half), exactly(Fraction(0)), Granted(Fraction(1)))
    smallest = Fraction(1, 1 << 4000)
    assert exceeds(exactly(3 * smallest), exactly(smallest), Granted(Fraction(1)))
    assert not exceeds(exactly(2 * smallest), exactly(smallest), Granted(Fraction(1)))


def test_a_level_is_a_lower_bound() -> None:
    level = level_of(Ball(Fraction(1, 2), Fraction(3, 4)), Ball(Fraction(1, 8), Fraction(1, 4)), ANY)
    assert level is not None
    assert 0 <= math.log(2) - float(level) < 1e-12
    assert level_of(exactly(Fraction(1, 2)), exactly(Fraction(0)), ANY) is None


def test_only_neighbours_get_a_certificate() -> None:
    of = spec("laplace")
    far = Scenario(
        (("Delta", Fraction(1)), ("eps", Fraction(1))), (("q", (Fraction(0),)),), (("q", (Fraction(2),)),)
    )
    event = CompleteOutput((RecordPattern("value", (("value", Between(None, Fraction(0))),)),))
    effort = Effort(20)
    assert not legal(of, far)
    assert certified(of, Candidate(far, event), effort) is None, (
        "it differs by more than exp(eps), but so do they"
    )


def test_the_best_neighbour_moves_every_answer_its_own_way() -> None:
    of = mechanism(ABOVE, privacy="eps/100")
    meter = Meter(of, Effort(20))
    event = CompleteOutput((RecordPattern("below"), RecordPattern("below"), RecordPattern("above")))
    best = best_neighbour(meter, start(of, 3), event)
    assert best is not None
    scenario = best.candidate.scenario
    (left,), (right,) = (data for _, data in scenario.data), (data for _, data in scenario.data_prime)
    assert isinstance(left, tuple)
    assert isinstance(right, tuple)
    moves = [a - b for a, b in zip(left, right, strict=True)]  # type: ignore[operator]
    assert moves in ([-1, -1, 1], [1, 1, -1])
    assert best.violates


def test_inputs_grow_with_their_records() -> None:
    of = mechanism(ABOVE)
    two = start(of, 2)
    event = CompleteOutput((RecordPattern("below"), RecordPattern("above")))
    events = {candidate.event for candidate in grown(of, Candidate(two, event))}
    assert CompleteOutput((RecordPattern("below"), RecordPattern("below"), RecordPattern("above"))) in events
    assert all(len(dict(c.scenario.data)["q"]) == 3 for c in grown(of, Candidate(two, event)))  # type: ignore[arg-type]


def test_a_trace_ends_in_its_event() -> None:
    of = mechanism(ABOVE)
    event = CompleteOutput((RecordPattern("below"), RecordPattern("above")))
    trace = trace_of(of, start(of, 2), event, Effort(20))
    assert trace is not None
    assert ends_in(trace.on_d, event)
    noise = [draw.value for draw in trace.on_d.draws]
    assert [draw.value for draw in trace.on_d_prime.draws] == noise


def test_whether_a_run_ends_in_an_event() -> None:
    of = mechanism("eta ~ Lap(1/eps)\nemit number(value = eta, whole = 2)")
    trace = trace_of(of, start(of, 1), CompleteOutput((RecordPattern("number"),)), Effort(20))
    assert trace is not None
    run = trace.on_d
    value = dict(run.output[0].fields)["value"]
    assert isinstance(value, Fraction)

    def ends(*fields: tuple[str, Between | Exactly], complete: bool = True) -> bool:
        return ends_in(run, CompleteOutput((RecordPattern("number", fields),), complete))

    assert ends(("value", Exactly(value)), ("whole", Exactly(2)))
    assert ends(("value", Between(value, value)))
    assert not ends(("value", Between(value + 1, None)))
    assert not ends(("whole", Exactly(3)))
    assert not ends(("other", Exactly(3)))
    assert not ends_in(run, CompleteOutput(()))
    assert ends_in(run, CompleteOutput((), complete=False))
    assert not ends_in(run, Raises())


def test_a_search_ends_where_it_should() -> None:
    of = mechanism(ABOVE)
    meter = Meter(of, Effort(20), 1)
    scenario = start(of, 2)
    event = CompleteOutput((RecordPattern("above"),))
    assert meter.log_probability(scenario.parameters, scenario.data, event) is not None
    with pytest.raises(OutOfTime):
        meter.log_probability(scenario.parameters, scenario.data, CompleteOutput((RecordPattern("below"),)))
    begun = time.monotonic()
    found = refute(of, Aim(seconds=0.5))
    assert time.monotonic() - begun < 5
    assert isinstance(found, NoViolation)
    assert found.strongest is not None


def test_steps_count_for_the_whole_too() -> None:
    whole = Effort(steps=5)
    for _ in range(2):
        part = whole.part(steps=2)
        part.step()
        part.step()
        assert part.is_over
        with pytest.raises(OutOfTime):
            part.step()
    assert (whole.steps, whole.is_over) == (4, False)
    last = whole.part()
    last.step()
    assert last.is_over
    with pytest.raises(OutOfTime):
        last.step()
    assert whole.part(seconds=3).is_counted
    assert not Effort(seconds=3).part().is_counted
    assert Effort(seconds=-1).part(steps=3).is_late
    assert not whole.is_late
    assert whole.seconds_left() == math.inf
    assert Effort(0).part().is_over


@pytest.mark.parametrize("name", ["broken/isvt3", "adaptive_svt", "histogram", "noisy_max_discrete"])
def test_a_search_that_counts_does_not_look_at_the_clock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it matter what was searched before, in the same process."""
    aim = Aim(seconds=None, steps=400, any_will_do=True, explain=False)
    found = refute(spec(name), aim)
    assert isinstance(found, Violation) is name.startswith("broken")
    clock = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("aligncheck.effort.time.monotonic", lambda: float(next(clock)))
    refute(spec("svt"), aim)
    assert refute(spec(name), aim) == found


def test_inputs_that_do_not_exist_are_told() -> None:
    found = refute(mechanism(ABOVE), Aim((("eps", Fraction(-1)),), seconds=2))
    assert isinstance(found, NoViolation)
    assert found.strongest is None
    assert found.left_out == ("no inputs that the declarations allow were found",)


ONE = "q : queries, sensitivity 1, adjacency one\neps : real where eps > 0"
SINGLE = "q : query, sensitivity 1\neps : real where eps > 0"
NOT_PRIVATE = {
    "the answer that moves a number is not the first": (ONE, "emit p(2*q[1] + eta)"),
    "the answers of a sum cancel where they move by pattern": (
        ONE.replace("one", "moved"),
        "emit p(2*q[0] + 2*q[1] + eta)",
    ),
    "a test far from 0": (SINGLE, "if q >= 1000: emit p(2*q + eta)\nelse: emit p(q + eta)"),
    "a test far from 0, in a loop": (
        ONE,
        "for i, x in q:\n  if x <= -300: emit low\n  else: emit high\nemit p(q[0] + eta)",
    ),
    "a rounded number": (SINGLE, "emit p(floor(2*q + eta))"),
    "a quotient of noisy numbers": (SINGLE, "b ~ Exp(1/eps)\nemit p((2*q + eta)/(1 + b))"),
    "the inverse of a number": (SINGLE, "emit p(1/(1 + abs(2*q + eta)))"),
}


@pytest.mark.parametrize("kind", NOT_PRIVATE)
def test_kinds_of_violations_that_patterns_alone_miss(kind: str) -> None:
    inputs, program = NOT_PRIVATE[kind]
    of = mechanism(f"eta ~ Lap(1/eps)\n{program}", inputs=inputs)
    assert isinstance(refute(of, Aim(seconds=None, steps=1000, any_will_do=True, explain=False)), Violation)


def test_cutting_many_numbers_keeps_what_it_found_when_the_steps_end() -> None:
    of = mechanism("for i in range(60):\n  xi[i] ~ Lap(1/eps)\n  emit p(q + xi[i])", inputs=SINGLE)
    meter = Meter(of, Effort(steps=800))
    at_0, at_1 = ((("q", Fraction(value)),) for value in (0, 1))
    pair = Scenario((("eps", Fraction(1)),), at_0, at_1)
    (event,) = meter.outputs(pair.parameters, pair.data, 10)
    uncut = score(meter, Candidate(pair, event))
    assert uncut is not None
    assert not uncut.violates
    assert with_cuts(meter, uncut).violates
    assert meter.effort.is_over


def test_what_was_searched_is_told() -> None:
    of = mechanism(ABOVE)
    found = [refute(of, Aim(seconds=None, steps=steps)) for steps in (300, 300, 600)]
    searched = [one.searched for one in found if isinstance(one, NoViolation)]
    assert searched[0] == searched[1] != searched[2]
    assert [one.ended for one in searched] == [Ended.STEPS] * 3
    late = refute(of, Aim(seconds=0.01, steps=600))
    assert isinstance(late, NoViolation)
    assert late.searched.ended is Ended.TIME


def test_what_does_not_look_at_the_clock_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def spins(*given: object) -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pass

    monkeypatch.setattr(refuter, "_LATE", 0.05)
    monkeypatch.setattr(refuter._Hunt, "search", spins)
    found = refute(spec("laplace"), Aim(seconds=0.1))
    assert isinstance(found, NoViolation)
    assert found.searched.ended is Ended.TIME
