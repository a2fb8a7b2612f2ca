"""What is proved of a verified mechanism's output besides privacy, for those that call it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from aligncheck.language.conditions import Condition
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import Bound
from aligncheck.language.syntax.nodes import Call, Expr, Name, Number, Parameter, PublicVector, Queries
from aligncheck.search.discharge.density import ChosenDensities
from aligncheck.search.discharge.establish import Chosen
from aligncheck.search.discharge.prove import Proved, decide
from aligncheck.search.discharge.smt import Smt
from aligncheck.search.obligations.obligation import Impossible, Invariants, Obligation, context, run_on_d
from aligncheck.search.relational.density import Densities
from aligncheck.search.relational.labels import Ledger
from aligncheck.search.relational.paths import Analysis
from aligncheck.search.relational.terms import Sort, Term, eq, le, lt, sort_of
from aligncheck.search.relational.theory import Theory

RULE = "guarantees"
ZERO: Expr = Number(Fraction(0))


def length_of_output(findings: Chosen) -> Expr | None:
    """How many records every complete run releases, if that is one of the numbers that the inputs name."""
    for candidate in lengths(findings.theory):
        if _proved(length_holds(findings.analysis, findings.invariants, candidate), findings.smt):
            return candidate
    return None


def bounds_of_fields(findings: Chosen) -> tuple[Bound, ...]:
    """Bounds of the whole numbers in the records, from 0 up to a number that the inputs name."""
    names = {n for p in findings.analysis.paths for e in p.emissions() for n, _, _ in e.fields}
    return _bounds(
        names,
        findings.theory,
        lambda bound: _proved(bound_holds(findings.analysis, findings.invariants, bound), findings.smt),
    )


def length_by_densities(findings: ChosenDensities) -> Expr | None:
    """How many records every run releases, where no branch decides that."""
    length = Number(Fraction(len(findings.densities.records)))
    return length if _proved(length_is_fixed(findings.densities, length), findings.smt) else None


def bounds_by_densities(findings: ChosenDensities) -> tuple[Bound, ...]:
    """Bounds of the whole numbers in the records, as `bounds_of_fields` gives them."""
    names = {name for record in findings.densities.records for name, _ in record.fields}
    return _bounds(
        names,
        findings.theory,
        lambda bound: _proved(bound_is_fixed(findings.densities, bound), findings.smt),
    )


def _bounds(names: Iterable[str], theory: Theory, holds: Callable[[Bound], bool]) -> tuple[Bound, ...]:
    """The bounds that hold, of each field that has any."""
    found = []
    for name in sorted(names):
        low = ZERO if holds(Bound(name, ZERO, None)) else None
        high = next((c for c in numbers(theory) if holds(Bound(name, None, c))), None)
        if low is not None or high is not None:
            found.append(Bound(name, low, high))
    return tuple(found)


def lengths(theory: Theory) -> Iterator[Expr]:
    """What the number of records may be."""
    yield Number(Fraction(1))
    yield from numbers(theory)


def numbers(theory: Theory) -> Iterator[Expr]:
    """The whole numbers that the inputs name: lengths of lists, then parameters."""
    inputs = theory.mechanism.inputs
    for item in inputs:
        match item:
            case Queries(vector=True, names=names):
                yield from (Call("len", (Name(n),)) for n in names)
            case PublicVector(name=name):
                yield Call("len", (Name(name),))
            case Parameter() | Queries():
                pass
    yield from (Name(i.name) for i in inputs if isinstance(i, Parameter) and i.sort is nodes.Sort.INT)


def _proved(obligations: list[Obligation], smt: Smt) -> bool:
    return bool(obligations) and all(isinstance(decide(o, smt), Proved) for o in obligations)


# --- obligations ------------------------------------------------------------------------------------------


def length_holds(analysis: Analysis, invariants: Invariants, length: Expr) -> list[Obligation]:
    """That every complete run releases so many records; nothing is to be shown if no run is complete."""
    term = analysis.theory.input_term(length, None)
    return [
        _wanted(
            analysis.theory,
            (*context(analysis, path, invariants), *run_on_d(path)),
            eq(path.env[Ledger.RECORDS].left, term),
            "every run releases as many records as is said",
        )
        for path in analysis.paths
        if path.target is None
    ]


def bound_holds(analysis: Analysis, invariants: Invariants, bound: Bound) -> list[Obligation]:
    """That a field of whole numbers lies within its bounds wherever it is released; empty if it holds other
    numbers.
    """
    places: list[tuple[tuple[Term, ...], Term]] = []
    for path in analysis.paths:
        for place, event in enumerate(path.events):
            for field, pair, _ in getattr(event, "fields", ()):
                if field == bound.field:
                    known = (*context(analysis, path, invariants), *run_on_d(path, place))
                    places.append((known, pair.left))
    return _within(analysis.theory, bound, places)


def length_is_fixed(densities: Densities, length: Expr) -> list[Obligation]:
    """`length_holds` for a program without loops whose draws have stated densities: by its form."""
    count = Number(Fraction(len(densities.records)))
    holds = length == count and all(record.always for record in densities.records)
    goal = Impossible(holds, "no branch decides what is released")
    text = "every run releases as many records as is said"
    return [Obligation(Condition.CALLS, (), goal, text, densities.theory.mechanism.span, RULE)]


def bound_is_fixed(densities: Densities, bound: Bound) -> list[Obligation]:
    """`bound_holds` for such a program."""
    places = [
        (record.given, value.left)
        for record in densities.records
        for name, value in record.fields
        if name == bound.field
    ]
    return _within(densities.theory, bound, places)


def _within(theory: Theory, bound: Bound, places: list[tuple[tuple[Term, ...], Term]]) -> list[Obligation]:
    if any(sort_of(value) is not Sort.INT for _, value in places):
        return []
    found = []
    for known, value in places:
        if bound.low is not None:
            least = theory.input_term(bound.low, None)
            found.append(_wanted(theory, known, le(least, value), f"`{bound.field}` is not too small"))
        if bound.high is not None:
            most = theory.input_term(bound.high, None)
            found.append(_wanted(theory, known, lt(value, most), f"`{bound.field}` is not too large"))
    return found


def _wanted(theory: Theory, known: tuple[Term, ...], goal: Term, text: str) -> Obligation:
    return Obligation(Condition.CALLS, known, goal, text, theory.mechanism.span, RULE)
