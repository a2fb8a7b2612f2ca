"""Lines of an alignment as they are written for a table: the list of its cells has no name in a spec.

Nothing here needs to be believed: what is written is read and verified like any other text.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk
from aligncheck.language.syntax.tables import cell


def as_cells(mechanism: n.Mechanism, item: n.Shift) -> n.Shift:
    """`z[i][j] += q[i][j] - q'[i][j]` for `z[j] += q[j] - q'[j]`, where q is a table; what reads cells of
    other places has no such form.
    """
    tables = {x for i in mechanism.inputs if isinstance(i, n.Queries) and i.table for x in i.names}
    told = (item.value, *(() if item.guard is None else (item.guard,)))
    parts = [e for whole in told for e in walk.subexpressions(whole)]
    read = any(isinstance(e, n.Index) and e.base in tables for e in parts)
    if not read or not isinstance(item.index, n.Name):
        return item
    taken = {x for i in mechanism.inputs for x in i.names} | {x for e in told for x in walk.names_in(e)}
    names = chain("ij", (f"j{at}" for at in count(2)))
    free = (x for x in names if x not in taken - {item.index.ident})
    place = cell(n.Name(next(free)), n.Name(next(free)), item.span)

    def at_cell(e: n.Expr) -> n.Expr:
        return replace(e, index=place) if isinstance(e, n.Index) and e.index == item.index else e

    guard = None if item.guard is None else rewrite.bottom_up(item.guard, at_cell)
    return replace(item, index=place, value=rewrite.bottom_up(item.value, at_cell), guard=guard)


def all_as_cells(mechanism: n.Mechanism, items: tuple[n.AlignItem, ...]) -> tuple[n.AlignItem, ...]:
    """The same of all lines of an alignment."""

    def one(item: n.AlignItem) -> n.AlignItem:
        match item:
            case n.Shift():
                return as_cells(mechanism, item)
            case n.CaseSplit(cases=cases, otherwise=otherwise):
                arms = tuple(replace(c, items=all_as_cells(mechanism, c.items)) for c in cases)
                return replace(item, cases=arms, otherwise=all_as_cells(mechanism, otherwise))

    return tuple(map(one, items))
