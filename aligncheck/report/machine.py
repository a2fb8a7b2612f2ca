"""Results as one JSON document, described by `verify.schema.json` beside this module.

Every key is always there (null or empty where it says nothing) and in a fixed order. Numbers of the mechanism
are exact, so they are strings: `1/2`, `3`, `sqrt(2)`; only seconds, positions and statuses are JSON numbers.
Lines and columns count characters from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, TypeAlias

from aligncheck import __version__
from aligncheck.expect import Comparison
from aligncheck.language.diagnostics import Diagnostic, Label
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.nodes import Approximate, Claim, Concentrated, Pure
from aligncheck.language.unparse import unparse_expr
from aligncheck.meaning.exact import Value
from aligncheck.meaning.interpreter import (
    Assigned,
    Draw,
    Emitted,
    EmittedRecord,
    Inputs,
    Invoked,
    Step,
    TakenTest,
    value_text,
    variable_text,
)
from aligncheck.meaning.replay import PairedStep
from aligncheck.meaning.scenario import Scenario
from aligncheck.report.cost import cost_parts, invariants_of, limit_of
from aligncheck.verdict import (
    AlignmentFails,
    ConditionReport,
    Counterexample,
    DearestRun,
    DensityExample,
    Error,
    FileResult,
    Unknown,
    Verified,
    exit_status,
    name_of,
)

Json: TypeAlias = dict[str, Any]


def document(results: Sequence[FileResult], comparisons: Sequence[Comparison] | None = None) -> Json:
    """The document for some results; `comparisons`, one for each, where their expectations were checked."""
    pairs = zip(results, repeat(None) if comparisons is None else comparisons, strict=False)
    return {"version": __version__, "results": [_result(*pair) for pair in pairs]}


def _result(result: FileResult, comparison: Comparison | None) -> Json:
    source = Source(result.path, result.text)
    verdict = result.verdict
    verified = verdict if isinstance(verdict, Verified) else None
    mechanism = None if isinstance(verdict, Error) else verdict.mechanism
    return {
        "path": result.path,
        "mechanism": result.mechanism,
        "verdict": name_of(result.verdict),
        "exit": exit_status(result.verdict),
        "seconds": round(result.seconds, 4),
        "claim": None if mechanism is None else _claim(mechanism.claim),
        "route": verified.accepted.route if verified else None,
        "conditions": [_condition(source, each) for each in _conditions(result)],
        "cost": _cost(source, verified) if verified else None,
        "invariants": _invariants(result),
        "failure": _failure(source, verdict) if isinstance(verdict, AlignmentFails) else None,
        "undecided": _undecided(source, verdict) if isinstance(verdict, Unknown) else None,
        "diagnostic": _error(source, verdict) if isinstance(verdict, Error) else None,
        "expected": _comparison(comparison) if comparison else None,
        "refutation": None,  # who searches for a violation fills it in
        "units": [],  # and these, who is asked for them
    }


def _conditions(result: FileResult) -> tuple[ConditionReport, ...]:
    return () if isinstance(result.verdict, Error) else result.verdict.conditions


def _invariants(result: FileResult) -> list[str]:
    match result.verdict:
        case Verified() as verified:
            return list(invariants_of(verified))
        case AlignmentFails(invariants=invariants) | Unknown(invariants=invariants):
            return list(invariants)
        case Error():
            return []


def _condition(source: Source, report: ConditionReport) -> Json:
    return {
        "id": report.condition.id,
        "lemma": report.condition.lemma,
        "status": report.status.value,
        "how": report.how,
        "obligations": [
            {
                "goal": obligation.text,
                **_place(source, obligation.span),
                "status": obligation.status.value,
                "how": obligation.how,
                "steps": obligation.steps,
                "seconds": None,  # the kernel counts steps
            }
            for obligation in report.obligations
        ],
    }


def _claim(claim: Claim) -> Json:
    kind = {Pure: "pure", Approximate: "approximate", Concentrated: "concentrated"}[type(claim)]
    told: Json = {"kind": kind, "epsilon": None, "delta": None, "rho": None}
    match claim:
        case Pure(epsilon=epsilon):
            return {**told, "epsilon": unparse_expr(epsilon)}
        case Approximate(epsilon=epsilon, delta=delta):
            return {**told, "epsilon": unparse_expr(epsilon), "delta": unparse_expr(delta)}
        case Concentrated(rho=rho):
            return {**told, "rho": unparse_expr(rho)}


def _cost(source: Source, verified: Verified) -> Json:
    claim = verified.mechanism.claim
    most = claim.most if isinstance(claim, Pure) else None
    return {
        "bound": unparse_expr(claim.epsilon if isinstance(claim, Pure) else limit_of(verified)),
        "most": None if most is None else unparse_expr(most),
        "dearest": None if verified.dearest is None else _dearest(verified.dearest),
        "smaller": verified.smaller,
        "parts": [
            {
                "name": part.name,
                "amount": part.amount,
                "share": part.share,
                "times": part.times,
                **_place(source, part.span),
            }
            for part in cost_parts(verified)
        ],
    }


def _dearest(run: DearestRun) -> Json:
    return {"scenario": _scenario(run.scenario), "share": float(run.share)}


def _failure(source: Source, verdict: AlignmentFails) -> Json:
    example = verdict.counterexample
    return {
        "condition": verdict.condition.id,
        "message": verdict.message,
        **_place(source, verdict.primary.span),
        "remark": verdict.primary.text,
        "counterexample": _counterexample(source, example) if example else None,
        "densities": _densities(verdict.densities) if verdict.densities else None,
        "advice": list(verdict.advice),
    }


def _undecided(source: Source, verdict: Unknown) -> Json:
    return {
        "condition": verdict.condition.id if verdict.condition else None,
        "message": verdict.message,
        **_place(source, verdict.primary.span if verdict.primary else None),
        "remark": verdict.primary.text if verdict.primary else "",
        "help": verdict.help,
    }


def _error(source: Source, verdict: Error) -> Json:
    return {
        **diagnostic_document(source, verdict.diagnostic),
        "further": [diagnostic_document(source, other) for other in verdict.further],
    }


def diagnostic_document(source: Source, diagnostic: Diagnostic) -> Json:
    return {
        "code": diagnostic.code,
        "message": diagnostic.message,
        **_place(source, diagnostic.primary.span),
        "remark": diagnostic.primary.text,
        "related": _labels(source, diagnostic.related),
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
    }


def _comparison(comparison: Comparison) -> Json:
    return {"wanted": comparison.wanted, "got": comparison.got, "agrees": comparison.agrees}


# --- counterexamples --------------------------------------------------------------------------------------


def _counterexample(source: Source, example: Counterexample) -> Json:
    replay = example.replay
    return {
        **_scenario(example.scenario),
        "second": _scenario(example.second) if example.second else None,
        "steps": [step_document(source, step) for step in replay.steps],
        "parted": replay.parted,
        "output": [_record(record) for record in replay.run_d.output],
        "output_prime": [_record(record) for record in replay.run_d_prime.output],
        "cost": value_text(replay.cost),
        "claim": _optional(replay.claim),
        "most": _optional(replay.most),
    }


def _densities(example: DensityExample) -> Json:
    return {
        **databases_document(example.scenario),
        "drawn": {name: value_text(value) for name, value in example.drawn},
        "output": [_record(record) for record in example.on_d.output],
        "output_prime": [_record(record) for record in example.on_d_prime.output],
        "log_density": _optional(example.on_d.log_density),
        "log_density_prime": _optional(example.on_d_prime.log_density),
        "claim": value_text(example.claim),
    }


def _optional(value: Value | None) -> str | None:
    return None if value is None else value_text(value)


def _scenario(scenario: Scenario) -> Json:
    noise = {name: value_text(value) for name, value in scenario.all_noise()}
    return {**databases_document(scenario), "noise": noise}


def databases_document(scenario: Scenario) -> Json:
    return {
        "parameters": _inputs(scenario.parameters),
        "data": _inputs(scenario.data),
        "data_prime": _inputs(scenario.data_prime),
    }


def _inputs(inputs: Inputs) -> Json:
    return {name: _texts(value) if isinstance(value, tuple) else value_text(value) for name, value in inputs}


def step_document(source: Source, step: PairedStep) -> Json:
    either = step.on_d if step.on_d is not None else step.on_d_prime
    if either is None:
        raise InternalError("a step of neither run")
    return {
        "kind": _KINDS[type(either)],
        **_place(source, either.span),
        "on_d": _side(source, step.on_d) if step.on_d else None,
        "on_d_prime": _side(source, step.on_d_prime) if step.on_d_prime else None,
        "shift": _optional(step.shift),
        "cost": _optional(step.cost),
    }


_KINDS: dict[type, str] = {
    Draw: "draw",
    TakenTest: "test",
    Assigned: "assign",
    Invoked: "call",
    Emitted: "emit",
}


def _side(source: Source, step: Step) -> Json:
    """What one run does in a step."""
    match step:
        case Draw():
            return {
                "variable": variable_text(step.key),
                "value": value_text(step.value),
                "arguments": _texts(step.args),
            }
        case TakenTest():
            return {
                "holds": step.holds,
                "compared": [
                    {
                        "text": source.text_of(compared.expression.span),
                        "left": value_text(compared.left),
                        "right": value_text(compared.right),
                        "holds": compared.holds,
                    }
                    for compared in step.compared
                ],
            }
        case Assigned():
            return {"variable": step.name, "value": value_text(step.value)}
        case Invoked():
            return {
                "variable": step.name,
                "mechanism": step.mechanism,
                "released": [_record(record) for record in step.returned.records],
                "dropped": [[_record(record) for record in each.records] for each in step.dropped],
                "spent": value_text(step.spent),
            }
        case Emitted():
            return _record(step.record)


def _record(record: EmittedRecord) -> Json:
    return {"tag": record.tag, "fields": {name: value_text(value) for name, value in record.fields}}


# --- small parts ------------------------------------------------------------------------------------------


def _place(source: Source, span: Span | None) -> Json:
    """Where a span begins and what it covers; nulls where there is nothing to point at."""
    if span is None:
        return {"line": None, "column": None, "text": None}
    line, column = source.position(span.start)
    return {"line": line, "column": column, "text": source.text_of(span)}


def _labels(source: Source, labels: Iterable[Label]) -> list[Json]:
    return [{**_place(source, label.span), "remark": label.text} for label in labels]


def _texts(values: Iterable[Value]) -> list[str]:
    return [value_text(value) for value in values]
