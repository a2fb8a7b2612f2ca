"""Declarations that contradict each other: which of them do.

This explains an error and proves nothing: the kernel asks for inputs itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from aligncheck.language.source import Span
from aligncheck.language.syntax.nodes import Expr, Input, Logic, Mechanism, Name, Parameter, Queries, Sort
from aligncheck.search.discharge.algebra import canonical
from aligncheck.search.discharge.smt import Answer, Smt
from aligncheck.search.discharge.values import near, value_of
from aligncheck.search.relational.ir import Const, Term, Truth, substitute
from aligncheck.search.relational.theory import Theory

_ANY_NUMBER = "#number"
MILLISECONDS = 2_000
"""How long the solver may think about one question."""


def contradiction(mechanism: Mechanism) -> tuple[Span, ...]:
    """The places of clauses that cannot be met together (rule 2), so few that without any one of them the
    rest can; none if no contradiction is known. Where the solver does not decide, a clause is marked as well.
    """
    if satisfiable(Theory(mechanism)) is not False:
        return ()
    kept = [clause for item in mechanism.inputs for clause in _clauses(item)]
    for clause in tuple(kept):
        rest = [other for other in kept if other is not clause]
        if satisfiable(Theory(_with_clauses(mechanism, rest))) is False:
            kept = rest
    found = [span for item in mechanism.inputs for span in _places(item, kept)]
    return tuple(found or _impossible(mechanism)) or (mechanism.span,)


def satisfiable(theory: Theory) -> bool | None:
    """Whether the declarations can be met: parameters, lengths, and one entry of every list on D and on D';
    None if that was not decided.

    Z3 knows exp, ln and log2 by bounds only, so its inputs must satisfy the `where` clauses as numbers, too.
    """
    reply = Smt(theory, whole=True).satisfiable(theory.generic_entries(), 2_000)
    if reply.model is None:
        return False if reply.answer is Answer.VALID else None
    values = {a: Const(Fraction(v)) for a, v in reply.model.items() if not isinstance(v, bool)}
    truths: dict[Term, Term] = {a: Truth(v) for a, v in reply.model.items() if isinstance(v, bool)}
    met = [value_of(near(canonical(substitute(b, {**truths, **values}))), reply.model) for b in theory.base]
    return True if False not in met else None


def senseless(mechanism: Mechanism) -> tuple[str, Span] | None:
    """What a clause of the inputs demands and not all parameters give: a sensitivity that is not negative, a
    positive step of a lattice, a range that is not empty. What is not decided counts as not given.

    Nothing is assumed of D and D': these clauses say what D ~ D' means.
    """
    public = Theory(mechanism, public_only=True)
    smt = Smt(public)
    for legal, goal, text, span in public.sensible:
        if smt.implied((*public.base, *legal), goal, MILLISECONDS).answer is not Answer.VALID:
            return text, span
    return None


def _impossible(mechanism: Mechanism) -> list[Span]:
    """The inputs whose adjacency alone cannot be met: one answer cannot be moved to another."""
    alone = [(item, _with_clauses(replace(mechanism, inputs=(item,)), [])) for item in mechanism.inputs]
    return [item.span for item, declared in alone if satisfiable(Theory(declared)) is False]


def _clauses(item: Input) -> list[Expr]:
    """What an input declares, in parts that can be left out; a range stands for both of its ends."""
    found = _conjuncts(item.where)
    if isinstance(item, Queries):
        found += [e for e in (item.sensitivity, item.lattice) if e is not None]
        found += [item.range[0]] if item.range is not None else []
    return found


def _conjuncts(where: Expr | None) -> list[Expr]:
    if isinstance(where, Logic) and where.op == "and":
        return [part for arg in where.args for part in _conjuncts(arg)]
    return [] if where is None else [where]


def _places(item: Input, kept: list[Expr]) -> Iterator[Span]:
    """Where those of an input's clauses stand that are kept; a `where` of which all is kept is one place."""
    here = [clause for clause in _clauses(item) if _among(clause, kept)]
    parts = _conjuncts(item.where)
    if item.where is not None and all(_among(part, here) for part in parts):
        yield item.where.span
        here = [clause for clause in here if not _among(clause, parts)]
    for clause in here:
        ends = item.range if isinstance(item, Queries) else None
        yield clause.span.to(ends[1].span) if ends is not None and clause is ends[0] else clause.span


def _with_clauses(mechanism: Mechanism, kept: list[Expr]) -> Mechanism:
    """The mechanism with these clauses only. A sensitivity that is left out may be any number."""
    inputs: list[Input] = [Parameter(_ANY_NUMBER, Sort.REAL, None, span=mechanism.span)]
    for item in mechanism.inputs:
        parts = tuple(part for part in _conjuncts(item.where) if _among(part, kept))
        where = None if not parts else parts[0] if len(parts) == 1 else Logic("and", parts)
        if isinstance(item, Queries):
            if item.sensitivity is not None and not _among(item.sensitivity, kept):
                item = replace(item, sensitivity=Name(_ANY_NUMBER))
            if item.lattice is not None and not _among(item.lattice, kept):
                item = replace(item, lattice=None)
            if item.range is not None and not _among(item.range[0], kept):
                item = replace(item, range=None)
        inputs.append(replace(item, where=where))
    return replace(mechanism, inputs=tuple(inputs))


def _among(clause: Expr, clauses: list[Expr]) -> bool:
    return any(clause is other for other in clauses)
