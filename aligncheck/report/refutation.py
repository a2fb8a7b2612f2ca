"""What a search for a violation found, as text for a terminal and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from rich.console import RenderableType
from rich.text import Text

from aligncheck import __version__
from aligncheck.expect import Comparison
from aligncheck.language.diagnostics import Diagnostic
from aligncheck.language.internal import InternalError
from aligncheck.language.printable import printable
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism, Parameter
from aligncheck.language.unparse import private_as, unparse_claim
from aligncheck.meaning import exact
from aligncheck.meaning.exact import ZERO, Number, decimal
from aligncheck.meaning.interpreter import value_text, variable_text
from aligncheck.meaning.replay import side_by_side
from aligncheck.meaning.scenario import Scenario
from aligncheck.refutation.enclosure import Ball
from aligncheck.refutation.events import describe
from aligncheck.refutation.findings import Outcome, Refutation, Unfinished, exit_status, name_of
from aligncheck.refutation.violation import (
    Ended,
    LossKind,
    NoViolation,
    Searched,
    StrongestSeen,
    Trace,
    Violation,
)
from aligncheck.report.lines import Canvas, Lines, prose
from aligncheck.report.machine import databases_document, diagnostic_document, step_document
from aligncheck.report.numbers import listed
from aligncheck.report.sidebyside import RunsTable, table_lines
from aligncheck.report.terminal import diagnostic_lines

Json: TypeAlias = dict[str, Any]

_STYLES = {"REFUTED": "red", "NO VIOLATION FOUND": "yellow", "UNKNOWN": "yellow", "ERROR": "red"}
_DIGITS = 6

# --- terminal ---------------------------------------------------------------------------------------------


def render_refutation(refutation: Refutation) -> RenderableType:
    """One file's outcome."""
    return Lines(lambda canvas: _lines(canvas, refutation))


def _lines(canvas: Canvas, refutation: Refutation) -> Iterator[Text]:
    outcome = refutation.outcome
    name = name_of(outcome)
    mechanism = refutation.mechanism
    parts = [
        printable(refutation.path),
        *([mechanism.name] if mechanism is not None else []),
        f"{refutation.seconds:.1f} s",
    ]
    yield Text.assemble((name, f"bold {_STYLES[name]}"), "   ", "   ".join(parts))
    source = Source(refutation.path, refutation.text)
    match outcome:
        case Violation():
            if mechanism is None:
                raise InternalError("an outcome without its mechanism")
            yield from _violation(canvas, source, mechanism, outcome)
            yield from canvas.told("help", *refutation.advice)
        case NoViolation():
            if mechanism is None:
                raise InternalError("an outcome without its mechanism")
            yield from _no_violation(canvas, mechanism, outcome)
        case Unfinished(message=message):
            yield from canvas.told("note", message)
        case Diagnostic():
            for one in (outcome, *refutation.further):
                yield from diagnostic_lines(canvas, source, one)
    yield Text()


def _violation(canvas: Canvas, source: Source, mechanism: Mechanism, violation: Violation) -> Iterator[Text]:
    yield Text()
    yield from canvas.hanging(
        Text("refuted: ", style="bold red"), prose(f"this mechanism is not {private_as(mechanism)}")
    )
    yield from canvas.facts((name, prose(text)) for name, text in violation_facts(violation))
    if violation.trace is not None:
        yield Text()
        yield from canvas.told(
            "how E arises", "a run on D that ends in E, and what the same noise does on D'"
        )
        yield from table_lines(canvas, source, trace_table(violation.trace))
    yield Text()
    yield from canvas.told(
        "note",
        "both intervals are rigorous, and D and D' are neighbours as declared: "
        "this is about the mechanism itself",
    )


def trace_table(trace: Trace) -> RunsTable:
    steps = side_by_side(trace.on_d, trace.on_d_prime)
    return RunsTable(steps, "on D", "on D' (the same noise)")


def violation_facts(violation: Violation) -> Iterator[tuple[str, str]]:
    yield from _databases(violation.scenario)
    yield "E", describe(violation.event)
    yield "P(M(D) in E)", interval_text(violation.on_d)
    yield "P(M(D') in E)", interval_text(violation.on_d_prime)
    yield from _ratio(violation)
    yield "violated", _violated(violation)
    if violation.formula is not None:
        formula = violation.formula
        yield "formula", f"P(M(D) in E) / P(M(D') in E) = {formula.ratio}"
        if formula.violated is not None:
            yield "violates for", formula.violated
    if violation.family:
        yield (
            "certified",
            ", ".join(f"{member.what}: {_down(member.level, 4)}" for member in violation.family),
        )
    yield "how far", _HOW_FAR[violation.kind]


def _ratio(violation: Violation) -> Iterator[tuple[str, str]]:
    """What is compared with the claim."""
    claim = decimal(violation.claim, _DIGITS)
    if violation.delta is None:
        shown = "unbounded" if violation.level is None else f"at least {_down(violation.level)}"
        yield "divergence", f"{shown} times its order α, of whether E happened (claim: ρ = {claim})"
        return
    factor = f"exp(claim) is {_exp_text(violation.claim)} (claim = {claim})"
    less = violation.delta != 0
    if less:
        yield "δ", f"{decimal(violation.delta, _DIGITS)}, of which the first probability has more"
    name = "ratio without δ" if less else "ratio"
    shown = "unbounded" if violation.level is None else f"at least {_down(_least_ratio(violation))}"
    yield name, f"{shown}, where {factor}"


def _least_ratio(violation: Violation) -> Fraction:
    """At most (P - δ)/P'."""
    less = exact.rational_above(violation.delta or ZERO)
    return (violation.on_d.lower - less) / violation.on_d_prime.upper


def _violated(violation: Violation) -> str:
    sign = "ρ" if violation.delta is None else "ε"
    beside = " beside this δ" if violation.delta else ""
    if violation.level is None:
        return f"every {sign}, however large{beside}"
    times = ""
    if isinstance(violation.claim, Fraction) and violation.claim > 0:
        times = f" ({_down(violation.level / violation.claim, 4)} times the claim)"
    return f"every {sign} up to {_down(violation.level)}{beside}{times}"


_HOW_FAR = {
    LossKind.FINITE: "the level at these inputs; others may be worse",
    LossKind.IMPOSSIBLE: "no ε suffices: E is possible on D and impossible on D'",
    LossKind.RARER: "no ε suffices: as the number moves on, the tail on D' falls faster than that on D",
    LossKind.GROWS: "so far as it was tried, each further answer adds about as much: no bound is in sight",
}


def _databases(scenario: Scenario) -> Iterator[tuple[str, str]]:
    if scenario.parameters:
        yield "parameters", ", ".join(f"{name} = {listed(value)}" for name, value in scenario.parameters)
    for title, data in (("D", scenario.data), ("D'", scenario.data_prime)):
        yield title, ", ".join(f"{name} = {listed(value)}" for name, value in data)


def _no_violation(canvas: Canvas, mechanism: Mechanism, outcome: NoViolation) -> Iterator[Text]:
    yield Text()
    strongest = outcome.strongest
    if strongest is not None:
        yield from canvas.told(
            "strongest ratio seen", f"{_strength(strongest)} that `{unparse_claim(mechanism)}` allows"
        )
        facts = [*_databases(strongest.scenario), ("E", describe(strongest.event))]
        yield from canvas.facts((name, prose(text)) for name, text in facts)
        if _is_tight(strongest):
            yield from canvas.told(
                "tight", "on these inputs no smaller level holds (by rigorous bounds, to nine digits)"
            )
    yield from canvas.told("left out", *outcome.left_out[:3])
    yield from canvas.told("note", "this claims nothing; `aligncheck verify` proves")
    if not outcome.looked:
        return
    yield from canvas.told("searched", _searched(outcome))
    public = next((i.name for i in mechanism.inputs if isinstance(i, Parameter)), None)
    more = [] if outcome.searched.ended is Ended.THROUGH else ["`--timeout 60` searches for a minute"]
    more += [f"`--set {public}=VALUE` tries one value of `{public}`"] if public is not None else []
    if more:
        yield from canvas.told("help", ", and ".join(more))


def _strength(strongest: StrongestSeen) -> str:
    level, claim = f"{strongest.level:.4g}", decimal(strongest.claim, 4)
    if strongest.delta is None:
        return f"a divergence of {level} times its order, within the {claim}"
    return f"exp({level}){' without δ' if strongest.delta else ''}, within the exp({claim})"


_TIGHT = Fraction(1, 10**9)


def _is_tight(strongest: StrongestSeen) -> bool:
    """Whether the level that is certified is the claim, but for a part in 10^9."""
    sure, claim = strongest.certified, strongest.claim
    return sure is not None and sure > 0 and exact.compare(exact.multiply(claim, 1 - _TIGHT), sure) <= 0


def _searched(outcome: NoViolation) -> str:
    searched = outcome.searched
    choices = _counted(searched.choices, "choice")
    lists = f", of up to {_counted(searched.longest, 'answer')}" if searched.longest else ""
    databases = _counted(searched.databases, "pair")
    work = f"{_counted(outcome.tried, 'probability', 'probabilities')} in {_counted(searched.steps, 'step')}"
    return (
        f"{choices} of the parameters, {databases} of databases to start from{lists}; "
        f"{work}: {_ENDED[searched.ended]}"
    )


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_ENDED = {
    Ended.THROUGH: "then nothing was left to try",
    Ended.STEPS: "there it stopped",
    Ended.TIME: "there its time was over, on this machine",
}


def interval_text(ball: Ball) -> str:
    """An enclosure in decimals, rounded outwards: `[0.1234567, 0.1234568]`; `0` where that is proved."""
    if ball.is_zero:
        return "0, exactly"
    return f"[{_down(ball.lower, 9)}, {_up(ball.upper, 9)}]"


def _down(value: Fraction, digits: int = _DIGITS) -> str:
    return _rounded(value, digits, ROUND_FLOOR)


def _up(value: Fraction, digits: int) -> str:
    return _rounded(value, digits, ROUND_CEILING)


def _rounded(value: Fraction, digits: int, rounding: str) -> str:
    """A decimal on the given side of a number that is not negative, with so many digits."""
    side = Context(digits, rounding, MIN_EMIN, MAX_EMAX)
    number = side.divide(Decimal(value.numerator), Decimal(value.denominator))
    number = number.normalize(side)
    if Fraction(1, 10**5) <= value < 10 ** (digits + 3) or not value:
        return f"{number:f}"
    mantissa, _, _ = f"{number:e}".partition("e")
    return f"{mantissa}e{number.adjusted():+03d}"


def _exp_text(number: Number) -> str:
    """exp of a number, for people."""
    value = float(decimal(number, 17))
    return f"{math.exp(value):.6g}" if value < 700 else f"exp({value:.6g})"


# --- JSON -------------------------------------------------------------------------------------------------


def refutation_document(
    refutations: Sequence[Refutation], comparisons: Sequence[Comparison] | None = None
) -> Json:
    """The one document for some files. Exact numbers are texts (`1/2`); bounds of probabilities are decimals,
    rounded outwards.
    """
    results = []
    for number, refutation in enumerate(refutations):
        one = None if comparisons is None else comparisons[number]
        expected = None if one is None else {"verdict": one.wanted, "agrees": one.agrees}
        results.append({**_result(refutation), "expected": expected})
    return {"version": __version__, "results": results}


def _result(refutation: Refutation) -> Json:
    outcome = refutation.outcome
    source = Source(refutation.path, refutation.text)
    return {
        "path": refutation.path,
        "mechanism": refutation.mechanism.name if refutation.mechanism else None,
        "verdict": name_of(outcome),
        "exit": exit_status(outcome),
        "seconds": round(refutation.seconds, 4),
        "violation": _violation_document(source, outcome) if isinstance(outcome, Violation) else None,
        "strongest": _strongest_document(outcome) if isinstance(outcome, NoViolation) else None,
        "tried": outcome.tried if isinstance(outcome, NoViolation) else None,
        "searched": _searched_document(outcome.searched) if isinstance(outcome, NoViolation) else None,
        "left_out": list(outcome.left_out) if isinstance(outcome, NoViolation) else [],
        "message": outcome.message if isinstance(outcome, Unfinished) else None,
        "diagnostic": _diagnostics_document(source, outcome, refutation.further),
        "advice": list(refutation.advice),
    }


def _diagnostics_document(source: Source, outcome: Outcome, further: tuple[Diagnostic, ...]) -> Json | None:
    if not isinstance(outcome, Diagnostic):
        return None
    others = [diagnostic_document(source, other) for other in further]
    return {**diagnostic_document(source, outcome), "further": others}


def _searched_document(searched: Searched) -> Json:
    return {
        "choices": searched.choices,
        "databases": searched.databases,
        "longest": searched.longest,
        "steps": searched.steps,
        "ended": searched.ended.value,
    }


def _violation_document(source: Source, violation: Violation) -> Json:
    return {
        **databases_document(violation.scenario),
        "event": describe(violation.event),
        "probability": _interval_document(violation.on_d),
        "probability_prime": _interval_document(violation.on_d_prime),
        "claim": value_text(violation.claim),
        "delta": None if violation.delta is None else value_text(violation.delta),
        "level": None if violation.level is None else _float_below(violation.level),
        "kind": violation.kind.value,
        "family": [{"what": one.what, "level": _float_below(one.level)} for one in violation.family],
        "formula": None
        if violation.formula is None
        else {
            "of": violation.formula.name,
            "ratio": violation.formula.ratio,
            "violated": violation.formula.violated,
        },
        "trace": None if violation.trace is None else _trace_document(source, violation.trace),
    }


def _float_below(value: Fraction) -> float:
    """The greatest float that is at most this."""
    close = float(value)
    return close if Fraction(close) <= value else math.nextafter(close, -math.inf)


def _interval_document(ball: Ball) -> list[str]:
    return [_down(ball.lower, 17), _up(ball.upper, 17)]


def _trace_document(source: Source, trace: Trace) -> Json:
    steps = side_by_side(trace.on_d, trace.on_d_prime)
    return {
        "noise": {variable_text(draw.key): value_text(draw.value) for draw in trace.on_d.draws},
        "steps": [step_document(source, step) for step in steps],
    }


def _strongest_document(outcome: NoViolation) -> Json | None:
    strongest = outcome.strongest
    if strongest is None:
        return None
    return {
        **databases_document(strongest.scenario),
        "event": describe(strongest.event),
        "level": strongest.level,
        "claim": value_text(strongest.claim),
        "delta": None if strongest.delta is None else value_text(strongest.delta),
        "certified": None if strongest.certified is None else _float_below(strongest.certified),
    }
