"""The shift of one draw: the alignment's lines for it, as a term in the environment of the draw."""

from __future__ import annotations

from aligncheck.language.source import Span
from aligncheck.language.syntax.nodes import AlignItem, CaseSplit, Expr, Name, Shift
from aligncheck.search.relational.ir import TRUE, ZERO, Term, add, and_, eq, implies, ite, neg, not_, sub
from aligncheck.search.relational.theory import Theory
from aligncheck.search.relational.to_terms import BoundScope, Partial, TermEvaluator, TermScope


def shift_of(
    items: tuple[AlignItem, ...], name: str, position: Term, scope: TermScope, theory: Theory
) -> tuple[Term, tuple[Span, ...], tuple[Partial, ...]]:
    """How far the alignment moves the draw `name[position]`: the sum of its lines whose guards hold.

    Also the spans of those lines, and what must be defined for the shift to be.
    """
    total: Term = ZERO
    spans: list[Span] = []
    partial: list[Partial] = []
    for condition, line, binder in _lines(items, name, position, scope, theory, TRUE, partial):
        evaluator = TermEvaluator(binder)
        guard = and_((condition, evaluator.term(line.guard))) if line.guard is not None else condition
        inner = TermEvaluator(binder)
        value = inner.term(line.value)
        partial += [Partial(implies(condition, p.condition), p.span, p.what) for p in evaluator.partial]
        partial += [Partial(implies(guard, p.condition), p.span, p.what) for p in inner.partial]
        total = add(total, ite(guard, _amount(line, value, scope, position), ZERO))
        spans.append(line.span)
    return total, tuple(spans), tuple(partial)


def _amount(line: Shift, value: Term, scope: TermScope, position: Term) -> Term:
    match line.op:
        case "+=":
            return value
        case "-=":
            return neg(value)
        case _:
            if line.index is None:
                own = scope.name(line.name, False, line.span)
            else:
                own, _ = scope.entry(line.name, position, False, line.span)
            return sub(value, own)


def _lines(
    items: tuple[AlignItem, ...],
    name: str,
    position: Term,
    scope: TermScope,
    theory: Theory,
    condition: Term,
    partial: list[Partial],
) -> list[tuple[Term, Shift, TermScope]]:
    """The lines for `name`, each with the condition of the case that it stands in and its scope."""
    found: list[tuple[Term, Shift, TermScope]] = []
    for item in items:
        match item:
            case Shift() if item.name == name:
                here, binder = _bound(item, position, scope, theory)
                found.append((and_((condition, here)), item, binder))
            case Shift():
                pass
            case CaseSplit(cases=cases, otherwise=otherwise):
                rest = condition
                for case in cases:
                    if not _moves(case.items, name):
                        rest = and_((rest, not_(_test(case.test, scope, rest, partial))))
                        continue
                    test = _test(case.test, scope, rest, partial)
                    found += _lines(case.items, name, position, scope, theory, and_((rest, test)), partial)
                    rest = and_((rest, not_(test)))
                found += _lines(otherwise, name, position, scope, theory, rest, partial)
    return found


def _moves(items: tuple[AlignItem, ...], name: str) -> bool:
    return any(
        item.name == name
        if isinstance(item, Shift)
        else any(_moves(c.items, name) for c in item.cases) or _moves(item.otherwise, name)
        for item in items
    )


def _test(test: Expr, scope: TermScope, condition: Term, partial: list[Partial]) -> Term:
    evaluator = TermEvaluator(scope)
    value = evaluator.term(test)
    partial += [Partial(implies(condition, p.condition), p.span, p.what) for p in evaluator.partial]
    return value


def _bound(line: Shift, position: Term, scope: TermScope, theory: Theory) -> tuple[Term, TermScope]:
    """A `Name` that is no parameter binds the index; any other index restricts the line to it."""
    if line.index is None:
        return TRUE, scope
    if isinstance(line.index, Name) and line.index.ident not in theory.inputs:
        return TRUE, BoundScope(scope, line.index.ident, position)
    return eq(position, TermEvaluator(scope).term(line.index)), scope
