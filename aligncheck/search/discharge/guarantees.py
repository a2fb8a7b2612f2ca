"""What a verified mechanism's output may be promised to satisfy, for those that call it: proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from aligncheck.language.conditions import Condition
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import FieldBound
from aligncheck.language.syntax.nodes import Call, Expr, Name, Number, Parameter, PublicVector, Queries
from aligncheck.language.syntax.walk import statements_in
from aligncheck.search.discharge.choose import Chosen, holds
from aligncheck.search.obligations.obligation import Sequent, context, run_on_d
from aligncheck.search.relational.ir import Term, TermSort, eq, le, lt, sort_of
from aligncheck.search.relational.labels import Ledger

ZERO: Expr = Number(Fraction(0))


def length_of_output(found: Chosen) -> Expr | None:
    """How many records every complete run releases, if that is one of the numbers that the inputs name."""
    return next((c for c in _lengths(found.theory.mechanism) if holds(found.smt, _length(found, c))), None)


def bounds_of_fields(found: Chosen) -> tuple[FieldBound, ...]:
    """Bounds of the whole numbers in the records, from 0 up to a number that the inputs name."""
    names = {n for p in found.analysis.paths for e in p.emissions() for n, _, _ in e.fields}

    def keeps(bound: FieldBound) -> bool:
        wanted = _bound(found, bound)
        return bool(wanted) and holds(found.smt, wanted)

    return _bounds(names, found.theory.mechanism, keeps)


def length_by_densities(spec: nodes.Mechanism) -> Expr | None:
    """How many records every run releases, where no branch decides that and there is no loop."""
    everywhere = sum(isinstance(s, nodes.Emit) for s in spec.body)
    anywhere = sum(isinstance(s, nodes.Emit) for s in statements_in(spec.body))
    return Number(Fraction(everywhere)) if everywhere == anywhere else None


def bounds_by_densities(spec: nodes.Mechanism) -> tuple[FieldBound, ...]:
    """Bounds of the chosen indices in the records."""
    chosen = {s.name: s for s in statements_in(spec.body) if isinstance(s, nodes.Choose)}
    released = {
        f.name: chosen[f.value.ident]
        for s in statements_in(spec.body)
        if isinstance(s, nodes.Emit)
        for f in s.fields
        if isinstance(f.value, Name) and f.value.ident in chosen
    }
    return tuple(FieldBound(name, ZERO, _count(choice)) for name, choice in sorted(released.items()))


def _count(choice: nodes.Choose) -> Expr:
    """The number below which an index is chosen."""
    over = choice.weights.over
    return Call("len", (Name(over.base),)) if isinstance(over, nodes.Indices) else over.high


def _bounds(
    names: Iterable[str], spec: nodes.Mechanism, holds: Callable[[FieldBound], bool]
) -> tuple[FieldBound, ...]:
    """The bounds that hold, of each field that has any."""
    found = []
    for name in sorted(names):
        low = ZERO if holds(FieldBound(name, ZERO, None)) else None
        high = next((c for c in _numbers(spec) if holds(FieldBound(name, None, c))), None)
        if low is not None or high is not None:
            found.append(FieldBound(name, low, high))
    return tuple(found)


def _lengths(spec: nodes.Mechanism) -> Iterator[Expr]:
    """What the number of records may be."""
    yield Number(Fraction(1))
    yield from _numbers(spec)


def _numbers(spec: nodes.Mechanism) -> Iterator[Expr]:
    """The whole numbers that the inputs name: lengths of lists, then parameters."""
    inputs = spec.inputs
    for item in inputs:
        match item:
            case Queries(vector=True, names=names):
                yield from (Call("len", (Name(n),)) for n in names)
            case PublicVector(name=name):
                yield Call("len", (Name(name),))
            case Parameter() | Queries():
                pass
    yield from (Name(i.name) for i in inputs if isinstance(i, Parameter) and i.sort is nodes.Sort.INT)


def _length(found: Chosen, length: Expr) -> Iterator[Sequent]:
    """That every complete run releases so many records."""
    term = found.theory.input_term(length, None)
    for path in found.analysis.paths:
        if path.target is None:
            known = (*context(found.analysis, path, found.invariants), *run_on_d(path))
            yield Sequent(Condition.CALLS, known, eq(path.env[Ledger.RECORDS].left, term))


def _bound(found: Chosen, bound: FieldBound) -> list[Sequent]:
    """That a field of whole numbers lies within its bounds wherever it is released; empty if it holds other
    numbers.
    """
    places: list[tuple[tuple[Term, ...], Term]] = []
    for path in found.analysis.paths:
        for place, event in enumerate(path.events):
            for field, pair, _ in getattr(event, "fields", ()):
                if field == bound.field:
                    known = (*context(found.analysis, path, found.invariants), *run_on_d(path, place))
                    places.append((known, pair.left))
    if any(sort_of(value) is not TermSort.INT for _, value in places):
        return []
    wanted = []
    for known, value in places:
        if bound.low is not None:
            least = found.theory.input_term(bound.low, None)
            wanted.append(Sequent(Condition.CALLS, known, le(least, value)))
        if bound.high is not None:
            most = found.theory.input_term(bound.high, None)
            wanted.append(Sequent(Condition.CALLS, known, lt(value, most)))
    return wanted
