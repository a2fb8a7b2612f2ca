"""The choice of a witness's lines for one mechanism.

Nothing here needs to be believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Line
from aligncheck.kernel.symbols import Symbols
from aligncheck.kernel.witness import LoopWitness, Witness, own
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.rewrite import bottom_up
from aligncheck.language.syntax.walk import names_in, statements_in, subexpressions
from aligncheck.search.witness.candidates import Candidates, Group
from aligncheck.search.witness.collect import collected
from aligncheck.search.witness.sieve import LONG, Sieve
from aligncheck.search.witness.stretches import Stretches
from aligncheck.search.witness.totals import COST, ends_of, size_of

SOME, COSTS = 7, 60
"""So many bounds of the cost are tried for a loop: at first, and at all."""
CHUNKS = (0, 1, 3, 7, 15, 31)
"""Where the next ones start of the bounds that are tried together."""

Stages: TypeAlias = tuple[list[Group], list[Group], list[Group]]
"""Lines of one loop: of the program's own values, of what both runs agree on, and of distances."""


@dataclass(frozen=True)
class Found:
    """A witness, and whether the claim follows with it (`paid`)."""

    witness: Witness
    paid: bool


def found_lines(
    spec: n.Mechanism, base: Witness, effort: Effort, hopeless: Callable[[], bool]
) -> Iterator[Found]:
    """`base` with the lines of its loops: first few, and more for those who ask for more, unless it is
    `hopeless`; what seldom helps comes last. Raises TooManyPathsError.
    """
    stretches = Stretches(spec)
    every = [Candidates(spec, stretches, k) for k in range(len(stretches.loops))]
    first: list[Stages] = [([*c.values(), *c.draws()], [*c.same_values()], []) for c in every]
    costs = [_bounds(c.costs()) for c in every]
    some = [lines[:SOME] for lines in costs]  # to evaluate a line takes longer than to decide about it
    found = first_found = _sifted(spec, base, first, some, effort)
    if found.paid or not every:
        yield found
        if not every or hopeless():
            return
    paid = found.paid
    apart: list[Stages] = []
    for c, loop, (_, same, _) in zip(every, found.witness.loops, first, strict=True):
        equal = set(loop.invariants)
        c.variables = [x for x in c.variables if n.Compare("==", n.Name(x, True), n.Name(x)) not in equal]
        apart.append((_again(loop), same, list(c.distances())))
    owed = [[*a, *_bounds(c.owed())] for a, c in zip(costs, every, strict=True)]
    differ, owing = any(lines for *_, lines in apart), owed != costs
    for more in (*([costs] if differ and (paid or not owing) else []), *([owed] if owing else [])):
        other = _sifted(spec, base, apart, more, effort)
        found = other if other.paid >= found.paid else found
        if found.paid:
            break
    if not found.paid and hopeless():  # runs take longer than to look for more lines
        yield first_found
        return
    if owing or differ or not paid:
        yield found
    if not paid and not owing and not differ and some != costs:
        yield _sifted(spec, base, apart, costs, effort)


def _again(loop: LoopWitness) -> list[Group]:
    """What was found of every run, which other lines do not help to show."""
    return [Group(True, (e,)) for e in loop.early]


def shown_lines(spec: n.Mechanism, witness: Witness, effort: Effort) -> Found:
    """The witness with those lines only that the others show, and of bounds of the cost only those that the
    claim needs. Raises TooManyPathsError.
    """
    symbols = Symbols()
    try:
        made = collected(spec, witness, symbols)
        sieve = Sieve(collected=made, effort=effort)
        asked = {line for a in made.arrivals for line in a.goals}
        bounds = {x for x in asked if any(COST in subexpressions(e) for e in _said(witness, x))}
        _add_all(sieve, witness, asked, _chosen_in_rounds(spec))
        paid = [(len(list(subexpressions(*_said(witness, x)))), x) for x in sieve.kept & bounds]
        needed = sieve.needed([x for _, x in sorted(paid)]) if sieve.claims else None
        sieve.kept -= bounds - needed if needed is not None else set()
        false = {line for line in asked | made.senseless if line not in sieve.kept}
        return Found(without(witness, false), needed is not None)
    finally:
        symbols.ctx.forget()


def _add_all(sieve: Sieve, witness: Witness, asked: set[Line], chosen: set[str]) -> None:
    """Adds lines: those that take long come later."""
    slow = {line for line in asked if _takes_long(_said(witness, line), chosen)}
    of_d = {line for line in slow if line[1] == "early"}
    sieve.add(asked - slow)
    sieve.add_slowly(of_d, LONG)
    false = {(line[0], e) for line in of_d - sieve.kept for e in _said(witness, line)}
    left = {x for x in slow - of_d if not any((x[0], _on_d(e)) in false for e in _said(witness, x))}
    sieve.add_slowly(left)


def _chosen_in_rounds(spec: n.Mechanism) -> set[str]:
    """Variables that keep for the next round what a set selects in this one."""
    made = [s for s in inside(spec) if isinstance(s, n.Assign)]
    sets = {s.name for s in made if isinstance(s.value, n.Gather)}
    return {s.name for s in made if sets & names_in(s.value)}


def _said(witness: Witness, line: Line) -> tuple[n.Expr, ...]:
    """What a line of a loop says; nothing for other lines."""
    k, kind, at = line
    loop = witness.loops[k] if 0 <= k < len(witness.loops) else LoopWitness()
    lines = loop.later if kind == "later" else (*loop.early, *loop.invariants)
    return lines[at : at + 1]


def _takes_long(lines: tuple[n.Expr, ...], chosen: set[str]) -> bool:
    """Whether a set is in one, or a remainder, or what a set selects."""
    return any(
        isinstance(e, n.Gather)
        or (isinstance(e, n.Binary) and e.op == "%")
        or (isinstance(e, n.Name) and e.primed and e.ident in chosen)
        for line in lines
        for e in subexpressions(line)
    )


def _on_d(line: n.Expr) -> n.Expr:
    """The same of the run on D. Where that was not shown, the same of the run on D' is not, either."""

    def bare(e: n.Expr) -> n.Expr:
        return replace(e, primed=False) if isinstance(e, n.Name | n.Index) else e

    return bottom_up(line, bare)


def without(witness: Witness, lines: set[Line]) -> Witness:
    """The witness without some lines."""
    loops = []
    for k, loop in enumerate(witness.loops):
        early = [e for at, e in enumerate(loop.early) if (k, "early", at) not in lines]
        start = len(loop.early)
        both = [e for at, e in enumerate(loop.invariants) if (k, "invariants", start + at) not in lines]
        later = [e for at, e in enumerate(loop.later) if (k, "later", at) not in lines]
        loops.append(replace(loop, early=tuple(early), invariants=tuple(both), later=tuple(later)))
    kept = tuple(e for at, e in enumerate(witness.promises) if (-1, "later", at) not in lines)
    return replace(witness, loops=tuple(loops), promises=kept)


def with_promises(spec: n.Mechanism, witness: Witness, effort: Effort) -> Witness:
    """The witness with what callers may want to know of the records: how many, and between which numbers."""
    stretches = Stretches(spec)
    records = list(dict.fromkeys(w.value("$records") for w in stretches.ends))
    length = _length(stretches, records[0]) if len(records) == 1 else None
    ends: list[tuple[n.Expr | None, n.Expr | None]] = [(n.Number(Fraction(0)), None)]
    ends += [(None, end) for end in _numbers(spec)]
    emits = [s for s in statements_in(spec.body) if isinstance(s, n.Emit)]
    counts = dict.fromkeys(("$records", *(f"$count_{s.tag}" for s in emits)))
    fields = [*sorted({f.name for s in emits for f in s.fields}), *(counts if length is None else ())]
    most = [(None, n.Binary("+", end, n.Number(Fraction(1)))) for end in _numbers(spec)]
    within = tuple((f, low, high) for f in fields for low, high in (most if f.startswith("$") else ends))
    witness, old = _counting(spec, witness, list(counts)), witness
    symbols = Symbols()
    try:
        made = collected(spec, replace(witness, within=within, length=None), symbols)
        sieve = Sieve(collected=made, effort=effort)
        wanted = [(-1, "within", at) for at in range(len(within))]
        asked = {line for a in made.arrivals for line in a.goals}
        new = {line for line in asked if line[1] == "early" and line[2] >= len(old.loops[line[0]].early)}
        sieve.kept = {line for line in asked if line[1] != "within"} - new
        sieve.add(new)
        sieve.add(line for line in wanted if line in asked)
        if spec.uses:  # what is known of the records of a call takes more than one instance
            sieve.add_slowly((line for line in wanted if line in asked), LONG)
        witness = without(witness, new - sieve.kept)
        shown = [b for at, b in enumerate(within) if (-1, "within", at) in sieve.kept]
    finally:
        symbols.ctx.forget()
    found: list[tuple[str, n.Expr | None, n.Expr | None]] = [b for b in shown if b[0].startswith("$")]
    for f in (f for f in fields if not f.startswith("$")):
        low = next((lo for name, lo, _ in shown if name == f and lo is not None), None)
        high = next((hi for name, _, hi in shown if name == f and hi is not None), None)
        if low is not None or high is not None:
            found.append((f, low, high))
    return replace(witness, within=tuple(found), length=length)


def _counting(spec: n.Mechanism, witness: Witness, counts: list[str]) -> Witness:
    """The witness with more early lines: how records are counted by the variables of loops."""
    loops = []
    stmts = (s for s in statements_in(spec.body) if isinstance(s, n.For | n.While))
    for stmt, loop in zip(stmts, witness.loops, strict=True):
        index = stmt.index if isinstance(stmt, n.For) else None
        inside = (s.name for s in statements_in(stmt.body) if isinstance(s, n.Assign))
        names = [n.Name(x) for x in dict.fromkeys((*([index] if index else ()), *inside))]
        lines = (n.Compare(op, n.Name(c), x) for c in counts for x in names for op in ("==", "<="))
        more = tuple(e for e in lines if e not in loop.early)
        loops.append(replace(loop, early=(*loop.early, *more)))
    return replace(witness, loops=tuple(loops))


def _length(stretches: Stretches, records: n.Expr) -> n.Expr | None:
    """How many records there are in the end: so many, or one for each round of a loop."""
    if isinstance(records, n.Number):
        return records
    for k, stmt in enumerate(stretches.loops):
        if records == n.Name(own("head", k, "$records")) and isinstance(stmt, n.For):
            return ends_of(stmt.over)[1]
    return None


def _numbers(spec: n.Mechanism) -> Iterator[n.Expr]:
    """The whole numbers that the inputs name: lengths of lists, then parameters."""
    for item in spec.inputs:
        match item:
            case n.Queries(vector=True, names=names):
                yield from map(size_of, names)
            case n.PublicVector(name=name):
                yield size_of(name)
            case n.Parameter() | n.Queries():
                pass
    yield from (n.Name(i.name) for i in spec.inputs if isinstance(i, n.Parameter) and i.sort is n.Sort.INT)


def _bounds(found: Iterable[n.Expr]) -> list[n.Expr]:
    """The first that differ: no more are made, of which there may be thousands."""
    first: dict[n.Expr, None] = {}
    for bound in found:
        first[bound] = None
        if len(first) == COSTS:
            break
    return list(first)


def _sifted(
    spec: n.Mechanism,
    base: Witness,
    stages: list[Stages],
    costs: list[list[n.Expr]],
    effort: Effort,
) -> Found:
    loops: list[LoopWitness] = []
    groups: list[list[Line]] = []
    wanted: list[list[Line]] = [[], [], [], []]
    of: list[list[Line]] = []
    for k, (parts, bounds) in enumerate(zip(stages, costs, strict=True)):
        early: dict[n.Expr, Line] = {}
        both: dict[n.Expr, Line] = {}
        for group in (g for part in parts for g in part if g.early):
            for e in group.lines:
                early.setdefault(e, (k, "early", len(early)))
        for group in (g for part in parts for g in part if not g.early):
            for e in group.lines:
                both.setdefault(e, (k, "invariants", len(early) + len(both)))
        for at, part in enumerate(parts):
            mine = [[(early if g.early else both)[e] for e in g.lines] for g in part]
            groups += mine
            wanted[at] += [line for group in mine for line in group]
        count = len(early) + len(both)
        of.append([(k, "invariants", count + at) for at in range(len(bounds))])
        wanted[3] += of[k]
        loops.append(replace(base.loops[k], early=tuple(early), invariants=(*both, *bounds)))
    witness = replace(base, loops=tuple(loops))
    inner = inner_loops(spec)
    symbols = Symbols()
    try:
        sieve = Sieve(collected=collected(spec, witness, symbols), effort=effort)
        refused = sieve.collected.rejected
        if refused is not None and refused.answer.condition == "acyclic" and witness.route == "acyclic":
            return _sifted(spec, replace(base, route="injective"), stages, costs, effort)
        authors = {line for a in sieve.collected.arrivals for line in a.goals} - {
            x for w in wanted for x in w
        }
        for stage in wanted[:3]:
            sieve.add([*authors, *stage])
        best = {next((x for x in g if x in sieve.kept), None) for g in groups}
        sieve.kept &= authors | best
        draws = any(isinstance(s, n.Sample | n.Invoke) for s in inside(spec))
        needed = None if draws else set[Line]()  # loops that cost nothing need no bound
        if needed is None:
            sieve.add([b for k in inner for b in of[k]], one_by_one=True)
        for at in CHUNKS:
            some = [b for k in range(len(loops)) if k not in inner for b in of[k][at : 2 * at + 1]]
            if needed is None and (some or not at):
                sieve.add(some, one_by_one=True)
                needed = sieve.needed([b for b in wanted[3] if b in sieve.kept])
        kept = {next((x for x in g if x in sieve.kept), None) for g in groups}
        kept |= needed if needed is not None else set(wanted[3]) & sieve.kept
        return Found(without(witness, {x for w in wanted for x in w} - kept), needed is not None)
    finally:
        symbols.ctx.forget()


def inside(spec: n.Mechanism) -> list[n.Stmt]:
    """What stands in loops."""
    loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    return [s for loop in loops for s in statements_in(loop.body)]


def inner_loops(spec: n.Mechanism) -> set[int]:
    """The numbers of loops inside of others."""
    loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    inside = {id(s) for loop in loops for s in statements_in(loop.body)}
    return {k for k, loop in enumerate(loops) if id(loop) in inside}
