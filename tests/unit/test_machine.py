"""The JSON document: it satisfies its schema for every kind of verdict, and says what the verdict says."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import aligncheck.report.machine as machine
from aligncheck import __version__
from aligncheck.expect import compare
from aligncheck.kernel.answer import Accepted, Decision, Part
from aligncheck.kernel.witness import LoopWitness, Witness
from aligncheck.language.conditions import Condition
from aligncheck.language.diagnostics import Diagnostic, Label
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.nodes import Compare, Name, Number
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.replay import replay
from aligncheck.meaning.scenario import Scenario
from aligncheck.verdict import (
    AlignmentFails,
    ConditionReport,
    Counterexample,
    Error,
    FileResult,
    ObligationReport,
    Status,
    Unknown,
    Verdict,
    Verified,
)

SCHEMA = json.loads(Path(machine.__file__).with_name("verify.schema.json").read_text("utf-8"))

SPEC = """\
mechanism threshold_once
  "Tells whether a noisy answer is high, and by how much."

input
  q : query, sensitivity 1
  T : real
  b : vector
  eps : real where eps > 0

privacy eps

program
  low = T - sqrt(2)
  eta ~ Lap(1/eps)
  if q + eta - low >= 0:
    emit high(gap = q + eta - low)
  else:
    emit low

align
  eta += 1 when out is high

expect alignment fails at output
"""
SOURCE = Source("some/spec.dp", SPEC)
MECHANISM = parse(SOURCE)


def at(text: str) -> Span:
    start = SPEC.index(text)
    return Span(start, start + len(text))


def scenario(noise: int) -> Scenario:
    return Scenario(
        (("T", Fraction(1, 2)), ("b", (Fraction(1), Fraction(2, 3))), ("eps", Fraction(1))),
        (("q", Fraction(1)),),
        (("q", Fraction(1, 2)),),
        ((("eta", None), Fraction(noise)),),
    )


CONDITIONS = tuple(
    ConditionReport(
        condition,
        Status.PROVED,
        "by inspection",
        (ObligationReport(condition, "1 >= 0", at("privacy eps"), Status.PROVED, "arithmetic"),),
    )
    for condition in Condition
)
ACCEPTED = Accepted(
    "acyclic",
    tuple(Decision(condition.id, at("privacy eps"), "1 >= 0", 12) for condition in Condition),
    (Part("eta", at("eta += 1 when out is high"), Name("eps")),),
)
WITNESS = Witness((LoopWitness((Compare("<=", Number(Fraction(0)), Name("cost")),)),))


def failing(noise: int = 0) -> AlignmentFails:
    found = replay(MECHANISM, scenario(noise))
    return AlignmentFails(
        MECHANISM,
        Condition.OUTPUT,
        "the gap differs",
        Label(at("gap = q + eta - low"), "released here"),
        Counterexample(scenario(noise), found, scenario(noise + 1)),
        CONDITIONS,
        ("0 <= cost",),
        ("verified for `1 + q - q'`",),
    )


VERDICTS: dict[str, Verdict] = {
    "verified": Verified(MECHANISM, WITNESS, ACCEPTED),
    "fails": failing(),
    "fails-without-a-run": AlignmentFails(
        MECHANISM, Condition.FRESH, "drawn twice", Label(at("eta")), None, ()
    ),
    "unknown": Unknown(MECHANISM, Condition.COST, "not decided", Label(at("privacy eps")), CONDITIONS),
    "stopped": Unknown(None, None, "stopped", None, help="more time"),
    "error": Error(
        Diagnostic("syntax", "no spec", Label(Span(0, 9), "here"), (Label(Span(1, 2)),), ("n",), "h")
    ),
}


def document_of(verdict: Verdict, *, compared: bool = False) -> dict[str, Any]:
    result = FileResult("some/spec.dp", verdict, 0.5, SPEC)
    document = machine.document([result], [compare(result)] if compared else None)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert json.loads(json.dumps(document)) == document
    return document


def result_of(verdict: Verdict, *, compared: bool = False) -> dict[str, Any]:
    (result,) = document_of(verdict, compared=compared)["results"]
    assert isinstance(result, dict)
    return result


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_knows_every_condition() -> None:
    assert SCHEMA["$defs"]["condition_id"]["enum"] == [condition.id for condition in Condition]


def test_the_schema_describes_itself() -> None:
    """Every key of a result says what it holds."""
    properties = SCHEMA["$defs"]["result"]["properties"]
    undescribed = {name for name, value in properties.items() if "description" not in value}
    assert undescribed == {"verdict"}


@pytest.mark.parametrize("kind", VERDICTS)
@pytest.mark.parametrize("compared", [False, True])
def test_every_verdict_satisfies_the_schema(kind: str, compared: bool) -> None:
    document = document_of(VERDICTS[kind], compared=compared)
    assert document["version"] == __version__


@pytest.mark.parametrize("kind", VERDICTS)
def test_keys_are_the_schema_s_and_in_its_order(kind: str) -> None:
    assert list(result_of(VERDICTS[kind])) == list(SCHEMA["$defs"]["result"]["properties"])


def test_the_schema_refuses_what_it_does_not_describe() -> None:
    document = document_of(VERDICTS["verified"])
    document["results"][0]["more"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_verified() -> None:
    result = result_of(VERDICTS["verified"])
    assert (result["verdict"], result["exit"], result["mechanism"]) == ("VERIFIED", 0, "threshold_once")
    assert result["route"] == "acyclic"
    assert result["claim"] == {"kind": "pure", "epsilon": "eps", "delta": None, "rho": None}
    first = result["conditions"][0]
    assert (first["id"], first["lemma"], first["status"], first["how"]) == (
        "terminates",
        "i",
        "proved",
        "1 >= 0",
    )
    decision = first["obligations"][0]
    assert (decision["line"], decision["goal"], decision["steps"], decision["seconds"]) == (
        10,
        "1 >= 0",
        12,
        None,
    )
    assert result["invariants"] == ["loop 1: 0 <= cost"]
    part = result["cost"]["parts"][0]
    assert (part["line"], part["column"], part["text"]) == (21, 3, "eta += 1 when out is high")
    assert (part["name"], part["amount"], part["share"], part["times"]) == (
        "eta",
        "eps",
        "1",
        "when `out is high`",
    )
    assert (result["cost"]["bound"], result["cost"]["most"]) == ("eps", None)
    assert (result["failure"], result["undecided"], result["diagnostic"]) == (None, None, None)


def test_failure_with_its_counterexample() -> None:
    result = result_of(VERDICTS["fails"])
    failure = result["failure"]
    assert (result["exit"], failure["condition"]) == (1, "output")
    assert (failure["line"], failure["column"], failure["text"]) == (16, 15, "gap = q + eta - low")
    example = failure["counterexample"]
    assert example["parameters"] == {"T": "1/2", "b": ["1", "2/3"], "eps": "1"}
    assert (example["data"], example["data_prime"], example["noise"]) == (
        {"q": "1"},
        {"q": "1/2"},
        {"eta": "0"},
    )
    assert example["second"]["noise"] == {"eta": "1"}
    assert (example["cost"], example["claim"], example["most"], example["parted"]) == ("1", "1", None, None)
    draw = next(step for step in example["steps"] if step["kind"] == "draw")
    assert draw["on_d"] == {"variable": "eta", "value": "0", "arguments": ["1"]}
    assert (draw["on_d_prime"]["value"], draw["shift"], draw["cost"]) == ("1", "1", "1")
    test = next(step for step in example["steps"] if step["kind"] == "test")
    assert test["on_d"]["holds"] is True
    assert test["on_d"]["compared"][0]["text"] == "q + eta - low >= 0"
    assert test["on_d"]["compared"][0]["right"] == "0"
    assert "sqrt(2)" in test["on_d"]["compared"][0]["left"]
    assert example["output"][0]["tag"] == "high"
    assert example["output"] != example["output_prime"]


def test_unknown() -> None:
    result = result_of(VERDICTS["unknown"])
    assert result["exit"] == 3
    assert result["undecided"]["condition"] == "cost"
    stopped = result_of(VERDICTS["stopped"])
    assert stopped["mechanism"] is None
    assert stopped["undecided"] == {
        "condition": None,
        "message": "stopped",
        "line": None,
        "column": None,
        "text": None,
        "remark": "",
        "help": "more time",
    }


def test_error() -> None:
    result = result_of(VERDICTS["error"])
    assert (result["exit"], result["mechanism"], result["conditions"]) == (2, None, [])
    diagnostic = result["diagnostic"]
    assert (diagnostic["code"], diagnostic["line"], diagnostic["column"]) == ("syntax", 1, 1)
    assert diagnostic["text"] == "mechanism"


def test_expectation() -> None:
    assert result_of(VERDICTS["fails"])["expected"] is None
    assert result_of(VERDICTS["fails"], compared=True)["expected"] == {
        "wanted": "alignment fails at output",
        "got": "alignment fails at output",
        "agrees": True,
    }
