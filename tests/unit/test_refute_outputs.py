"""Outputs that a search looks at, and what is claimed for an event."""

from __future__ import annotations

from fractions import Fraction

from small_specs import mechanism

from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.claims import claim_for
from aligncheck.refutation.events import Between, CompleteOutput, Exactly, Raises, RecordPattern
from aligncheck.refutation.trial_outputs import outputs_of

ONE = Fraction(1)


def on(*answers: int, k: int = 1) -> Scenario:
    data = (("q", tuple(map(Fraction, answers))),)
    return Scenario((("k", Fraction(k)), ("eps", ONE)), data, data)


def test_discrete_parts_are_told_from_continuous_ones() -> None:
    spec = mechanism(
        """
        for i, x in q:
          eta[i] ~ Lap(1/eps)
        winner = argmax(q[i] + eta[i] for i in q)
        emit chosen(index = winner, value = q[winner] + eta[winner], positive = eta[winner] > 0)
        xi ~ DLap(1/eps)
        emit count(q[0] + xi)
        """
    )
    seen = outputs_of(spec, on(0, 5), runs=40)
    assert len(seen) > 4
    for output in seen:
        assert output.continuous == {(0, "value")}
        event = output.around(Fraction(1, 8))
        assert isinstance(event, CompleteOutput)
        fields = dict(event.records[0].fields)
        assert isinstance(fields["index"], Exactly)
        assert isinstance(fields["value"], Between)
        assert isinstance(fields["positive"], Exactly)
        free = output.free()
        assert isinstance(free, CompleteOutput)
        assert "value" not in dict(free.records[0].fields)
        assert isinstance(dict(free.records[1].fields)["value"], Exactly)
    assert {dict(output.records[0].fields)["index"] for output in seen} == {0, 1}


def test_a_run_that_stops_is_an_outcome_of_its_own() -> None:
    spec = mechanism("eta ~ Lap(1/eps)\nif eta > 0:\n  emit odds(1/q[0])\nelse:\n  emit none")
    seen = outputs_of(spec, on(0), runs=20)
    assert Raises() in [output.free() for output in seen]
    assert all(output.free() != Raises() for output in outputs_of(spec, on(2), runs=20))


def test_the_same_outputs_every_time() -> None:
    spec = mechanism("eta ~ Lap(1/eps)\nfor x in q:\n  if x > eta:\n    emit above\n  else:\n    emit below")
    first, second = (outputs_of(spec, on(0, 1, 2), runs=20) for _ in range(2))
    assert [output.shape for output in first] == [output.shape for output in second]


def test_the_claim_for_an_event() -> None:
    spec = mechanism("emit top", privacy="eps/2")
    assert claim_for(spec, on(0), Raises()) == Fraction(1, 2)


def test_a_claim_that_depends_on_the_output_needs_all_of_it() -> None:
    spec = mechanism("emit top\nemit bottom", privacy="eps*out.count(top)/(2*k) at most eps*k")
    records = (RecordPattern("top"), RecordPattern("bottom"))
    assert claim_for(spec, on(0, k=2), CompleteOutput(records)) == Fraction(1, 4)
    assert claim_for(spec, on(0, k=2), CompleteOutput(records, complete=False)) == 2
    assert claim_for(spec, on(0, k=2), Raises()) == 2
    assert claim_for(spec, on(0, k=1), CompleteOutput(records * 5)) == 1, "the bound counts for every output"
