"""Which mechanisms can answer one query at a time: online ones, that look at each answer once, in order.

Whoever supplies the queries sees more than the records: which of them were released before the next answer
was asked for, and when none was asked for any more. A proof speaks of the records alone. So a stream is
offered only where they tell all of that.
"""

from __future__ import annotations

from aligncheck.compiler.emit.program import loop_locals
from aligncheck.compiler.emit.vectorise import lists_of
from aligncheck.compiler.readback.python_patterns import ReadError
from aligncheck.compiler.readback.shown import stream_of
from aligncheck.language.syntax import nodes, walk


def streamed(mechanism: nodes.Mechanism) -> nodes.For | None:
    """The loop `for i, x in q` that is all that reads the mechanism's only list of answers, if there is one
    and answers may come one by one: where who reads the module back has nothing against it (`stream_of`,
    which says why that is sound).

    Where a draw of each round is kept for longer than the round, memory would grow with the answers, and
    there is no such loop.
    """
    lists = {n for q in mechanism.inputs if isinstance(q, nodes.Queries) and q.vector for n in q.names}
    try:
        loop = stream_of(mechanism, lists, 0)
    except ReadError:
        return None
    local = {*loop_locals(mechanism), *lists_of(mechanism).drawn_at_once()}
    draws = [s for s in walk.statements_in(loop.body) if isinstance(s, nodes.Sample) and s.name not in local]
    kept = loop.index is not None and any(s.index == nodes.Name(loop.index) for s in draws)
    return None if kept else loop
