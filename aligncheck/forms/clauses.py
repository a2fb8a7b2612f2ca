"""`where` clauses about the values of answers, which nobody checks when a mechanism runs.

A run may not depend on whether answers are as declared: that it fails would tell something of them. So the
form leaves such clauses out, and its proof holds for all answers. Ranges and lattices stay: a run sees to
them, by taking the nearest value.
"""

from __future__ import annotations

from dataclasses import replace

from aligncheck.syntax import nodes
from aligncheck.syntax.nodes import Expr, Mechanism
from aligncheck.syntax.walk import subexpressions


def speaks_of_values(mechanism: Mechanism) -> bool:
    """Whether a clause says something of the answers' values, not only of how many there are."""
    return any(len(_public(each.where, mechanism)) < len(_parts(each.where)) for each in mechanism.inputs)


def without_values(mechanism: Mechanism) -> Mechanism:
    """The mechanism without such clauses, or such parts of a conjunction."""
    inputs = tuple(replace(each, where=_all_of(_public(each.where, mechanism))) for each in mechanism.inputs)
    return replace(mechanism, inputs=inputs)


def _parts(where: Expr | None) -> tuple[Expr, ...]:
    match where:
        case None:
            return ()
        case nodes.Logic(op="and", args=args):
            return tuple(part for arg in args for part in _parts(arg))
        case _:
            return (where,)


def _public(where: Expr | None, mechanism: Mechanism) -> tuple[Expr, ...]:
    """The parts of a clause that speak of public things alone."""
    answers = {n for each in mechanism.inputs if isinstance(each, nodes.Queries) for n in each.names}
    return tuple(part for part in _parts(where) if not _reads(part, answers))


def _reads(expr: Expr, answers: set[str]) -> bool:
    sizes = {
        id(part)
        for e in subexpressions(expr)
        if isinstance(e, nodes.Call) and e.function == "len"
        for part in e.args
    }
    return any(
        isinstance(e, nodes.Name | nodes.Index)
        and id(e) not in sizes
        and (e.ident if isinstance(e, nodes.Name) else e.base) in answers
        for e in subexpressions(expr)
    )


def _all_of(parts: tuple[Expr, ...]) -> Expr | None:
    if len(parts) <= 1:
        return parts[0] if parts else None
    return nodes.Logic("and", parts, span=parts[0].span)
