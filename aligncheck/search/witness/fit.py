"""A witness without the lines that the kernel does not accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aligncheck.kernel.answer import Line, Rejected
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import has_densities, names_in, statements_in
from aligncheck.search.discharge.choose import Chosen
from aligncheck.search.discharge.guarantees import (
    bounds_by_densities,
    bounds_of_fields,
    length_by_densities,
    length_of_output,
)
from aligncheck.search.witness.guess import guessed, measures
from aligncheck.search.witness.line_costs import costs_of


def refined(spec: n.Mechanism, witness: Witness, answer: Rejected) -> Witness | None:
    """Another witness to try: on the general route, with other parts of the cost, without the line that was
    not shown, with fewer promises to callers, or without values of inputs.
    """
    if answer.condition == "acyclic" and witness.route == "acyclic":
        return replace(witness, route="injective")
    if witness.costs and _about_cost(witness, answer):
        cautious = costs_of(spec, cautious=True)
        return replace(witness, costs=() if witness.costs == cautious else cautious)
    if answer.condition == "terminates":
        return _other_measure(spec, witness, answer)
    if answer.condition == "hypotheses" and witness.sample:
        return replace(witness, sample=())
    if answer.line is not None:
        smaller = without(witness, {answer.line})
        return None if smaller == witness else smaller
    if answer.condition != "output":
        return None
    if witness.length is not None and "how many records" in answer.reason:
        return replace(witness, length=None)
    return replace(witness, within=()) if witness.within and "bounds" in answer.reason else None


def _other_measure(spec: n.Mechanism, witness: Witness, answer: Rejected) -> Witness | None:
    """The witness with the next measure of the loop that was not shown to end."""
    stmts = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    for k, (stmt, loop) in enumerate(zip(stmts, witness.loops, strict=True)):
        if isinstance(stmt, n.While) and stmt.span == answer.place and loop.measure is not None:
            others = measures(stmt)
            others = others[others.index(loop.measure) + 1 :]
            changed = replace(loop, measure=others[0] if others else None)
            return (
                replace(witness, loops=(*witness.loops[:k], changed, *witness.loops[k + 1 :]))
                if others
                else None
            )
    return None


def _about_cost(witness: Witness, answer: Rejected) -> bool:
    """Whether an answer may be due to how the cost is counted."""
    if answer.line is None:
        return answer.condition in ("cost", "form", "language")
    k, kind, at = answer.line
    if kind != "invariants":
        return False
    loop = witness.loops[k]
    return any("alignment_cost" in names_in(line) for line in loop.invariants[at - len(loop.early) :][:1])


def without(witness: Witness, lines: set[Line]) -> Witness:
    """The witness without some lines; an early one that is no fact of every run may still be one of both
    runs.
    """
    loops = []
    for k, loop in enumerate(witness.loops):
        early = [e for at, e in enumerate(loop.early) if (k, "early", at) not in lines]
        start = len(loop.early)
        both = [e for at, e in enumerate(loop.invariants) if (k, "invariants", start + at) not in lines]
        later = [e for at, e in enumerate(loop.later) if (k, "later", at) not in lines]
        loops.append(replace(loop, early=tuple(early), invariants=tuple(both), later=tuple(later)))
    return replace(witness, loops=tuple(loops))


def guess(
    spec: n.Mechanism,
    chosen: Chosen | None,
    callees: Mapping[str, Witness],
    called: bool = False,
) -> Witness:
    """The first witness to try, with those of what it calls; if it is `called` itself, with promises of the
    records to its callers.
    """
    witness = guessed(spec, chosen)
    named = {x for loop in witness.loops for e in loop.invariants for x in names_in(e)}
    moves = any(x.startswith(("$differing_", "$moved_", "$down_", "$up_")) for x in named)
    # What a line costs at most does not tell how far the answers moved.
    witness = replace(witness, callees=callees, costs=() if moves else costs_of(spec))
    return _with_promises(spec, chosen, witness) if called else witness


def _with_promises(spec: n.Mechanism, chosen: Chosen | None, witness: Witness) -> Witness:
    """The witness with what callers may want to know of the records."""
    if chosen is not None:
        length, bounds = length_of_output(chosen), bounds_of_fields(chosen)
    elif has_densities(spec.body):
        length, bounds = length_by_densities(spec), bounds_by_densities(spec)
    else:
        return witness
    loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    made = []
    for loop, kept in zip(loops, witness.loops, strict=True):
        index = loop.index if isinstance(loop, n.For) else None
        more = [n.Compare("==", n.Name("$records"), n.Name(index))] if index is not None else []
        made.append(replace(kept, early=(*kept.early, *more)))
    within = tuple((b.field, b.low, b.high) for b in bounds)
    return replace(witness, loops=tuple(made), length=length, within=within)
