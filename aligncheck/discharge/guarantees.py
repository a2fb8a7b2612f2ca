"""What is proved of a verified mechanism's output besides privacy, for those that call it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from aligncheck.conditions import Condition
from aligncheck.discharge.density import DensityFindings
from aligncheck.discharge.establish import Findings
from aligncheck.discharge.prove import Proved, decide
from aligncheck.discharge.smt import Smt
from aligncheck.obligations.obligation import Obligation, context, run_on_d
from aligncheck.relational.paths import OUT, Path
from aligncheck.relational.terms import Sort, Term, eq, le, lt, sort_of
from aligncheck.relational.theory import Theory
from aligncheck.syntax import nodes
from aligncheck.syntax.contract import Bound
from aligncheck.syntax.nodes import Call, Expr, Name, Number, Parameter, PublicVector, Queries


def length_of_output(findings: Findings) -> Expr | None:
    """How many records every complete run releases, if that is one of the numbers that the inputs name."""
    ends = [p for p in findings.analysis.paths if p.target is None]
    for candidate in (Number(Fraction(1)), *_numbers(findings.theory)):
        term = findings.theory.input_term(candidate, None)
        if ends and all(_holds(findings, p, None, eq(p.env[OUT].left, term)) for p in ends):
            return candidate
    return None


def bounds_of_fields(findings: Findings) -> tuple[Bound, ...]:
    """Bounds of the whole numbers in the records, from 0 up to a number that the inputs name."""
    found = []
    for name in sorted({n for p in findings.analysis.paths for e in p.emissions() for n, _, _ in e.fields}):
        places = list(_released(findings, name))
        if any(sort_of(value) is not Sort.INT for _, _, value in places):
            continue
        zero: Expr = Number(Fraction(0))
        low = zero if _everywhere(findings, places, zero, lambda bound, value: le(bound, value)) else None
        high = next(
            (c for c in _numbers(findings.theory) if _everywhere(findings, places, c, lambda b, v: lt(v, b))),
            None,
        )
        if low is not None or high is not None:
            found.append(Bound(name, low, high))
    return tuple(found)


def _numbers(theory: Theory) -> Iterator[Expr]:
    """The whole numbers that the inputs name: lengths of lists, then parameters."""
    inputs = theory.mechanism.inputs
    for item in inputs:
        match item:
            case Queries(vector=True, names=names):
                yield from (Call("len", (Name(n),)) for n in names)
            case PublicVector(name=name):
                yield Call("len", (Name(name),))
            case _:
                pass
    yield from (Name(i.name) for i in inputs if isinstance(i, Parameter) and i.sort is nodes.Sort.INT)


def _released(findings: Findings, name: str) -> Iterator[tuple[Path, int, Term]]:
    for path in findings.analysis.paths:
        for place, event in enumerate(path.events):
            for field, pair, _ in getattr(event, "fields", ()):
                if field == name:
                    yield path, place, pair.left


def _everywhere(
    findings: Findings,
    places: list[tuple[Path, int, Term]],
    bound: Expr,
    claim: Callable[[Term, Term], Term],
) -> bool:
    term = findings.theory.input_term(bound, None)
    return all(_holds(findings, path, place, claim(term, value)) for path, place, value in places)


def _holds(findings: Findings, path: Path, place: int | None, goal: Term) -> bool:
    """Whether something holds whenever the run on D comes to a place of a path (None: to its end)."""
    known = (*context(findings.analysis, path, findings.invariants), *run_on_d(path, place))
    return _follows(findings.theory, findings.smt, known, goal)


def _follows(theory: Theory, smt: Smt, known: tuple[Term, ...], goal: Term) -> bool:
    span = theory.mechanism.span
    wanted = Obligation(Condition.CALLS, known, goal, "a bound of what is released", span, "guarantees")
    return isinstance(decide(wanted, smt), Proved)


# --- draws by densities -----------------------------------------------------------------------------------


def length_by_densities(findings: DensityFindings) -> Expr | None:
    """How many records every run releases, where no branch decides that."""
    records = findings.densities.records
    return Number(Fraction(len(records))) if all(record.always for record in records) else None


def bounds_by_densities(findings: DensityFindings) -> tuple[Bound, ...]:
    """Bounds of the whole numbers in the records, as `bounds_of_fields` gives them."""
    theory = findings.theory
    places: dict[str, list[tuple[tuple[Term, ...], Term]]] = {}
    for record in findings.densities.records:
        for name, value in record.fields:
            places.setdefault(name, []).append((record.given, value.left))
    found = []
    for name, values in sorted(places.items()):
        if any(sort_of(value) is not Sort.INT for _, value in values):
            continue

        def everywhere(
            bound: Expr,
            claim: Callable[[Term, Term], Term],
            values: list[tuple[tuple[Term, ...], Term]] = values,
        ) -> bool:
            term = theory.input_term(bound, None)
            return all(_follows(theory, findings.smt, known, claim(term, v)) for known, v in values)

        zero: Expr = Number(Fraction(0))
        low = zero if everywhere(zero, le) else None
        high = next((c for c in _numbers(theory) if everywhere(c, lambda b, v: lt(v, b))), None)
        if low is not None or high is not None:
            found.append(Bound(name, low, high))
    return tuple(found)
