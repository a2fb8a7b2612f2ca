"""What is known of the output beforehand: facts about ω, of which the alignment may speak."""

from __future__ import annotations

from dataclasses import replace

from aligncheck.language.internal import InternalError
from aligncheck.search.relational import ir
from aligncheck.search.relational.labels import Ledger, RecordField, RecordIs
from aligncheck.search.relational.paths import Analysis, Assumed, Cut, Segment


def with_later_records(analysis: Analysis) -> Analysis:
    """The analysis with what a round that goes on tells about the records still to come.

    Claim: if every record with tag t is emitted in rounds of one `for` loop and carries the loop's index i in
    a field f, then after round i any record with tag t at the next place of the output has f >= i + 1.
    Why sound: the places of the output are filled in order, and later records of this loop come from later
    rounds, whose index is greater; no other statement emits t. The fact is about ω, of which the alignment
    may speak; the loop's rounds are executed once each (a loop that is run again starts at a smaller index,
    so a loop inside another is left out).
    Source: ω is a sequence (VLDB paper, section 4.2, where it is read from the left).
    """
    rounds = {
        cut.number: facts
        for cut in analysis.cuts
        if cut.counter is not None and not cut.enclosing and (facts := _indexed_fields(analysis, cut))
    }
    if not rounds:
        return analysis
    return replace(
        analysis,
        paths=tuple(
            _informed(p, analysis.cuts[p.target], rounds[p.target])
            if p.target in rounds and p.origin == p.target
            else p
            for p in analysis.paths
        ),
    )


def with_first_record(analysis: Analysis) -> Analysis:
    """The analysis with the tag of the output's first record, where every run emits one and it is the same;
    and with its fields that are functions of ω (what `argmax` selects) and of public inputs, where they are
    the same, too.

    Why sound: ω is what a complete run on D emits, and the alignment is only applied to such runs.
    """
    reached: set[int] = set()
    queue: list[int] = [0]
    tags: set[str | None] = set()
    fields: set[tuple[tuple[str, ir.Term], ...]] = set()
    while queue:
        here = queue.pop()
        if here in reached:
            continue
        reached.add(here)
        for path in analysis.paths:
            if path.origin == here:
                first = path.emissions()
                if first:
                    tags.add(first[0].tag)
                    fields.add(tuple((name, pair.left) for name, pair, _ in first[0].fields))
                elif path.target is None:
                    tags.add(None)
                else:
                    queue.append(path.target)
    tag = next(iter(tags)) if len(tags) == 1 else None
    if tag is None or RecordIs(tag) not in analysis.omega:
        return analysis
    facts = [Assumed(ir.App(RecordIs(tag), (ir.ZERO,), ir.TermSort.BOOL, ir.Nature.OMEGA))]
    if len(fields) == 1:
        facts += [
            Assumed(ir.eq(ir.App(RecordField(name), (ir.ZERO,), ir.TermSort.REAL, ir.Nature.OMEGA), value))
            for name, value in next(iter(fields))
            if RecordField(name) in analysis.omega and ir.sort_of(value) is not ir.TermSort.BOOL
            if all(a.kind in (ir.Nature.OMEGA, ir.Nature.PARAMETER) for a in ir.atoms((value,)))
        ]
    return replace(analysis, paths=tuple(replace(p, events=(*facts, *p.events)) for p in analysis.paths))


def _indexed_fields(analysis: Analysis, cut: Cut) -> dict[str, set[str]]:
    """For each tag of which the alignment speaks: the fields that carry this loop's index in all its
    records.
    """
    if cut.counter is None:
        raise InternalError("a loop without a counter")
    found: dict[str, set[str]] = {}
    strange: set[str] = set()
    for path in analysis.paths:
        for e in path.emissions():
            carried = {name for name, pair, _ in e.fields if pair == ir.same(cut.counter)}
            if path.origin != cut.number:
                strange.add(e.tag)
            found[e.tag] = found.get(e.tag, carried) & carried
    return {
        tag: fields & {f for f in fields if RecordField(f) in analysis.omega}
        for tag, fields in found.items()
        if tag not in strange and fields
    }


def _informed(path: Segment, cut: Cut, fields: dict[str, set[str]]) -> Segment:
    place = path.env[Ledger.RECORDS].left
    if cut.counter is None:
        raise InternalError("a loop without a counter")
    facts = tuple(
        Assumed(
            ir.implies(
                ir.App(RecordIs(tag), (place,), ir.TermSort.BOOL, ir.Nature.OMEGA),
                ir.le(
                    ir.add(cut.counter, ir.ONE),
                    ir.App(RecordField(f), (place,), ir.TermSort.REAL, ir.Nature.OMEGA),
                ),
            )
        )
        for tag, names in fields.items()
        for f in sorted(names)
    )
    return replace(path, events=(*path.events, *facts))
