"""A clause of a list that speaks of its entries and, besides, of none of them: read as two clauses.

    h : vector where len(h) == len(q) and h[i] > 0      is      h : vector where h[i] > 0
    eps : real where eps > 0                                    eps : real where eps > 0 and len(h) == len(q)

Trusted: a clause with `i` is required of every entry, and of a list without entries it would require nothing.
What it says of no entry is required all the same. So less is allowed than otherwise, wherever the clause is
read: by the proof, by callers, and by what runs check. It is said of the last parameter; it matters not
where a clause stands that speaks of no entry. Without parameters all stays as it is written.
Breaks if: a part that speaks of an entry is taken out, or a part is lost.
"""

from __future__ import annotations

from dataclasses import replace

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk

ENTRY = "i"


def with_lengths_apart(mechanism: n.Mechanism) -> n.Mechanism:
    """The mechanism with such clauses in two."""
    places = [at for at, item in enumerate(mechanism.inputs) if isinstance(item, n.Parameter)]
    names = {x for item in mechanism.inputs for x in _names(item)}
    if not places or ENTRY in names:
        return mechanism
    inputs, moved = list(mechanism.inputs), list[n.Expr]()
    for at, item in enumerate(inputs):
        parts = () if item.where is None or isinstance(item, n.Parameter) else _parts(item.where)
        kept = [part for part in parts if ENTRY in walk.names_in(part)]
        if kept and len(kept) < len(parts):
            inputs[at] = replace(item, where=_all_of(kept))
            moved += [part for part in parts if ENTRY not in walk.names_in(part)]
    last = inputs[places[-1]]
    if moved:
        own = [] if last.where is None else [last.where]
        inputs[places[-1]] = replace(last, where=_all_of([*own, *moved]))
    return replace(mechanism, inputs=tuple(inputs)) if moved else mechanism


def _names(item: n.Input) -> tuple[str, ...]:
    return item.names if isinstance(item, n.Queries) else (item.name,)


def _parts(e: n.Expr) -> tuple[n.Expr, ...]:
    if isinstance(e, n.Logic) and e.op == "and":
        return tuple(part for arg in e.args for part in _parts(arg))
    return (e,)


def _all_of(parts: list[n.Expr]) -> n.Expr:
    if len(parts) == 1:
        return parts[0]
    flat = [each for part in parts for each in _parts(part)]
    return n.Logic("and", tuple(flat), span=parts[0].span)
