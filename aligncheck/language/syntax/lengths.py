"""A clause of a list that speaks of its entries and, besides, of none of them: read as two clauses.

    h : vector where len(h) == len(q) and h[i] > 0      is      h : vector where h[i] > 0
    eps : real where eps > 0                                    eps : real where eps > 0 and len(h) == len(q)

Trusted: a clause with `i` is required of every entry, and of a list without entries it would require nothing.
What it says of no entry, but of parameters, lengths and sums over a public list, is required all the same.
So less is allowed than otherwise, wherever the clause is read: by the proof, by callers, and by what runs
check. Such a part has a value whatever its names are; another one (`h[0] == 1`) has none of an empty list,
and stays. It is said of the last parameter, or where it is made of parameters only of the last one in it; it
matters not where a clause stands that speaks of no entry. Without parameters all stays as it is written.
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
    names = {x for item in mechanism.inputs for x in item.names}
    if not places or ENTRY in names:
        return mechanism
    inputs, moved = list(mechanism.inputs), dict[int, list[n.Expr]]()
    given = frozenset(item.name for item in inputs if not isinstance(item, n.Queries))
    for at, item in enumerate(inputs):
        parts = () if item.where is None or isinstance(item, n.Parameter) else walk.conjuncts_of(item.where)
        apart = [part for part in parts if _of_no_entry(part, given)]
        kept = [part for part in parts if part not in apart]
        if apart and any(ENTRY in walk.names_in(part) for part in kept):
            inputs[at] = replace(item, where=walk.conjunction(kept))
            for part in apart:
                moved.setdefault(_owner(part, mechanism.inputs, places), []).append(part)
    for at, more in moved.items():
        item = inputs[at]
        inputs[at] = replace(
            item, where=walk.conjunction(more if item.where is None else [item.where, *more])
        )
    return replace(mechanism, inputs=tuple(inputs)) if moved else mechanism


def _owner(part: n.Expr, inputs: tuple[n.Input, ...], places: list[int]) -> int:
    """Which parameter a part is said of, by its place."""
    names = walk.names_in(part)
    named = [at for at in places if set(inputs[at].names) & names]
    parameters = {x for at in places for x in inputs[at].names}
    return named[-1] if named and names <= parameters else places[-1]


def _of_no_entry(e: n.Expr, given: frozenset[str]) -> bool:
    """Whether an expression is made of public inputs (`given`), of lists just lengths and sums, so that it
    always has a value.
    """
    match e:
        case n.Name(ident=ident):
            return ident in given
        case n.Call(function="len"):
            return True
        case n.Gather(function="sum", index=j, over=n.Indices(base=base), where=None):
            return base in given and e.body == n.Index(base, n.Name(j))
        case n.Number() | n.Boolean() | n.Unary() | n.Compare() | n.Logic():
            return all(_of_no_entry(part, given) for part in walk.parts_of(e))
        case n.Binary(op=op):
            return op in ("+", "-", "*") and all(_of_no_entry(part, given) for part in walk.parts_of(e))
        case n.Index() | n.Call() | n.Conditional() | n.OfOutput() | n.Gather() | n.Member():
            return False
