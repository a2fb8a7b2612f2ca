"""Which mechanisms can answer one query at a time: online ones, that look at each answer once, in order."""

from __future__ import annotations

import math
from collections.abc import Collection

from aligncheck.emit.program import names_read
from aligncheck.syntax import nodes
from aligncheck.syntax.walk import names_in, statements_in, subexpressions


def streamed(mechanism: nodes.Mechanism, local: Collection[str]) -> nodes.For | None:
    """The loop `for i, x in q` that is all that reads the mechanism's only list of answers, if there is one.

    Then what is released in a round depends on this answer, on earlier ones and on noise alone. So for any
    output the released records are those of a run on the answers that they led to, and the proof covers
    queries that are chosen by what was released: for each output ω, they are the fixed queries that ω leads
    to. Stopped early, the output is that of a run on fewer answers; where the claim depends on the output, it
    is that output's, so then no records may come outside of the loop, and at most one in a round.

    `local` names indexed noise that is not kept for longer than a round. Where a draw of each round is kept,
    memory would grow with the answers, and there is no such loop.
    """
    lists = [n for q in mechanism.inputs if isinstance(q, nodes.Queries) and q.vector for n in q.names]
    loops = [s for s in mechanism.body if isinstance(s, nodes.For) and _runs_over(s, lists)]
    if len(lists) != 1 or len(loops) != 1:
        return None
    (name,), (loop,) = lists, loops
    if any(_is_kept(s, loop, local) for s in statements_in(loop.body)):
        return None
    if _read_elsewhere(mechanism, name, loop) or not _emits(loop.body):
        return None
    if mechanism.most is not None:
        around = [s for s in mechanism.body if s is not loop]
        if _emits(tuple(around)) or _most_records(loop.body) > 1:
            return None
    return loop


def _runs_over(loop: nodes.For, lists: Collection[str]) -> bool:
    return isinstance(loop.over, nodes.OverQueries) and loop.over.base in lists


def _is_kept(statement: nodes.Stmt, loop: nodes.For, local: Collection[str]) -> bool:
    """Whether it draws noise for each answer that is not forgotten."""
    if not isinstance(statement, nodes.Sample) or loop.index is None:
        return False
    return statement.index == nodes.Name(loop.index) and statement.name not in local


def _read_elsewhere(mechanism: nodes.Mechanism, name: str, loop: nodes.For) -> bool:
    """Whether anything but the loop's header reads the list, or asks for its length."""
    if any(name in names_read(s) for s in statements_in(mechanism.body) if s is not loop):
        return True
    said = [mechanism.privacy, mechanism.most]
    said += [i.where for i in mechanism.inputs if not isinstance(i, nodes.Queries) or _sized(i.where, name)]
    return any(e is not None and name in names_in(e) for e in said)


def _sized(where: nodes.Expr | None, name: str) -> bool:
    length = nodes.Call("len", (nodes.Name(name),))
    return where is not None and length in subexpressions(where)


def _emits(body: tuple[nodes.Stmt, ...]) -> bool:
    return any(isinstance(s, nodes.Emit) for s in statements_in(body))


def _most_records(body: tuple[nodes.Stmt, ...]) -> float:
    """How many records one run of a block releases at most."""
    return sum(map(_most_of, body))


def _most_of(statement: nodes.Stmt) -> float:
    match statement:
        case nodes.Emit():
            return 1
        case nodes.If(branches=branches, otherwise=otherwise):
            return max(_most_records(body) for body in (*(b.body for b in branches), otherwise))
        case nodes.For(body=inner) | nodes.While(body=inner):
            return math.inf if _emits(inner) else 0
        case _:
            return 0
