"""What the output determines.

Lemma 1, condition ii, and design rule 6 ask that the number of draws and the noise scales be functions of the
output ω. Reading ω from the left, one must be able to tell at every cut point which path the run took. Two
paths are told apart by a test that itself is known (public, or a function of what was released), by the tags
or constant fields of their next records, or by records that carry the loop's own index. Variables whose every
update is known on every path, and the same on paths that ω does not tell apart, are known too.

Sound also without this analysis: the proof keeps the two runs on the same visible path, so it proves privacy
even of the mechanism that also releases the path. Here we check the lemma's own condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from aligncheck.language.internal import InternalError
from aligncheck.search.relational.calls import Called
from aligncheck.search.relational.labels import (
    AtHead,
    Calls,
    Counted,
    Key,
    Latest,
    Ledger,
    RecordField,
    RecordIs,
)
from aligncheck.search.relational.paths import Analysis, Assumed, Cut, Drawing, Emission, Path
from aligncheck.search.relational.selection import selection_of, size_of
from aligncheck.search.relational.shown import shown_selections
from aligncheck.search.relational.terms import (
    ONE,
    ZERO,
    Add,
    App,
    Const,
    Kind,
    Sort,
    Sym,
    Term,
    Truth,
    add,
    atoms,
    children,
    eq,
    implies,
    le,
    same,
    scaled,
    sort_of,
)


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
    fields: set[tuple[tuple[str, Term], ...]] = set()
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
    facts = [Assumed(App(RecordIs(tag), (ZERO,), Sort.BOOL, Kind.OMEGA))]
    if len(fields) == 1:
        facts += [
            Assumed(eq(App(RecordField(name), (ZERO,), Sort.REAL, Kind.OMEGA), value))
            for name, value in next(iter(fields))
            if RecordField(name) in analysis.omega and sort_of(value) is not Sort.BOOL
            if all(a.kind in (Kind.OMEGA, Kind.PARAMETER) for a in atoms((value,)))
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
            carried = {name for name, pair, _ in e.fields if pair == same(cut.counter)}
            if path.origin != cut.number:
                strange.add(e.tag)
            found[e.tag] = found.get(e.tag, carried) & carried
    return {
        tag: fields & {f for f in fields if RecordField(f) in analysis.omega}
        for tag, fields in found.items()
        if tag not in strange and fields
    }


def _informed(path: Path, cut: Cut, fields: dict[str, set[str]]) -> Path:
    place = path.env[Ledger.RECORDS].left
    if cut.counter is None:
        raise InternalError("a loop without a counter")
    facts = tuple(
        Assumed(
            implies(
                App(RecordIs(tag), (place,), Sort.BOOL, Kind.OMEGA),
                le(add(cut.counter, ONE), App(RecordField(f), (place,), Sort.REAL, Kind.OMEGA)),
            )
        )
        for tag, names in fields.items()
        for f in sorted(names)
    )
    return replace(path, events=(*path.events, *facts))


@dataclass(frozen=True)
class Visible:
    """The analysis of one mechanism's paths."""

    analysis: Analysis

    @cached_property
    def known(self) -> frozenset[Sym]:
        """The loop-head symbols that are functions of ω: the greatest set that is closed under every path.
        With them the sizes of the selections that ω shows.
        """
        known = {size_of(name) for name in shown_selections(self.analysis)}
        known |= {
            s
            for cut in self.analysis.cuts
            for pair in cut.fresh.values()
            for s in (pair.left,)
            if isinstance(s, Sym) and not _is_kept(s, Ledger.COST)
        }
        while True:
            lost = {s for s in known if not self._closed(s, known)}
            if not lost:
                return frozenset(known)
            known -= lost

    def _closed(self, symbol: Sym, known: set[Sym]) -> bool:
        for cut in self.analysis.cuts:
            for name, pair in cut.fresh.items():
                if pair.left != symbol:
                    continue
                into = [p for p in self.analysis.paths if p.target == cut.number]
                for path in into:
                    if not is_known(path.env[name].left, known, released(path)):
                        return False
                return all(
                    p.env[name].left == q.env[name].left
                    and is_known(p.env[name].left, known, released_alike(p, q))
                    for p, q in _pairs(into)
                    if not self._apart(p, q, known)
                )
        return True

    def unknown_in(self, term: Term, path: Path) -> frozenset[Term]:
        """The symbols of a term that ω does not determine; empty if it determines the whole term."""
        found: set[Term] = set()
        shown = released(path)

        def go(t: Term) -> None:
            if t in shown or isinstance(t, Const | Truth):
                return
            if isinstance(t, Sym | App) and not _is_known_atom(t, self.known):
                found.add(t)
                return
            for child in children(t):
                go(child)

        go(term)
        return frozenset(found)

    def confusable(self) -> list[tuple[Path, Path, str]]:
        """Pairs of paths that ω does not tell apart although they draw differently, with the reason."""
        found: list[tuple[Path, Path, str]] = []
        for p, q in _pairs(self.analysis.paths):
            if self._apart(p, q, set(self.known)):
                continue
            if _draws(p) != _draws(q):
                found.append((p, q, "one draws where the other does not"))
            elif p.target != q.target and (self.draws_after(p) or self.draws_after(q)):
                found.append((p, q, "one goes on drawing where the other stops"))
        return found

    def rescaled(self) -> list[tuple[Path, Path, Drawing]]:
        """Pairs of paths that ω does not tell apart and that draw a variable from different distributions."""
        found: list[tuple[Path, Path, Drawing]] = []
        for p, q in _pairs(self.analysis.paths):
            if _draws(p) != _draws(q) or self._apart(p, q, set(self.known)):
                continue
            for a, b in zip(p.drawings(), q.drawings(), strict=True):
                if (a.family, [x.left for x in a.args]) != (b.family, [x.left for x in b.args]):
                    found.append((p, q, a))
        return found

    def draws_after(self, path: Path) -> bool:
        """Whether a run may draw after a path."""
        reached: set[int | None] = set()
        queue = [path.target]
        while queue:
            cut = queue.pop()
            if cut in reached or cut is None:
                continue
            reached.add(cut)
            for p in self.analysis.paths:
                if p.origin == cut:
                    if p.drawings():
                        return True
                    queue.append(p.target)
        return False

    def _apart(self, p: Path, q: Path, known: set[Sym]) -> bool:
        """Whether ω tells two paths from one cut point apart."""
        for here, there in zip(p.decisions(), q.decisions(), strict=False):
            if here.span == there.span and here.taken != there.taken:
                if is_known(here.test.left, known, released_alike(p, q)):
                    return True
                break
        first, second = p.emissions(), q.emissions()
        for a, b in zip(first, second, strict=False):
            if _differ(a, b):
                return True
        shared = min(len(first), len(second))
        ahead = self._next(p, first[shared:])
        behind = self._next(q, second[shared:])
        if len(first) == len(second) and p.target == q.target:
            return False
        return all(
            a is not b if a is None or b is None else _differ(a, b) or self._indexed(p, a, q, b)
            for a in ahead
            for b in behind
        )

    def _next(self, path: Path, rest: tuple[Emission, ...]) -> list[Emission | None]:
        """The records that may come next in ω; None for the end of the output."""
        if rest:
            return [rest[0]]
        found: list[Emission | None] = []
        reached: set[int | None] = set()
        queue = [path.target]
        while queue:
            cut = queue.pop()
            if cut in reached:
                continue
            reached.add(cut)
            if cut is None:
                found.append(None)
                continue
            for p in self.analysis.paths:
                if p.origin == cut:
                    if p.emissions():
                        found.append(p.emissions()[0])
                    else:
                        queue.append(p.target)
        return found

    def _indexed(self, p: Path, a: Emission, q: Path, b: Emission) -> bool:
        """One path emits a record with the loop's index; the other's next record carries a later index.

        Not in a loop inside another: there the index starts anew.
        """
        cut = self.analysis.cuts[p.origin]
        counter = cut.counter
        if p.origin != q.origin or counter is None or cut.enclosing:
            return False
        here_p, here_q = a in p.emissions(), b in q.emissions()
        if here_p == here_q:
            return False
        silent = q if here_p else p
        if silent.target != p.origin:
            return False
        fields = {name: pair.left for name, pair, _ in b.fields}
        return any(pair.left == counter and fields.get(name) == counter for name, pair, _ in a.fields)


def _pairs(paths: Iterable[Path]) -> Iterable[tuple[Path, Path]]:
    listed = list(paths)
    for i, p in enumerate(listed):
        for q in listed[i + 1 :]:
            if p.origin == q.origin:
                yield p, q


def _draws(path: Path) -> tuple[tuple[str, Term], ...]:
    drawn = tuple((d.name, d.position) for d in path.events if isinstance(d, Drawing))
    return (*drawn, *((c.name, c.number) for c in path.events if isinstance(c, Called)))


def _differ(a: Emission, b: Emission) -> bool:
    """Two records that are certainly not equal: other tags, or constants that differ."""
    if a.tag != b.tag:
        return True
    other = {name: pair.left for name, pair, _ in b.fields}
    for name, pair, _ in a.fields:
        value = other.get(name)
        if isinstance(pair.left, Const | Truth) and isinstance(value, Const | Truth) and pair.left != value:
            return True
    return False


def released(path: Path) -> frozenset[Term]:
    """The values that the path puts into ω."""
    return frozenset(pair.left for e in path.emissions() for _, pair, _ in e.fields)


def released_alike(p: Path, q: Path) -> frozenset[Term]:
    """The values that both paths put into ω at the same place: the same record, tag and field.

    A value that one path releases here and the other there is not read off ω without knowing the path.
    """
    return frozenset(
        pair.left
        for a, b in zip(p.emissions(), q.emissions(), strict=False)
        if a.tag == b.tag
        for (name, pair, _), (other, value, _) in zip(a.fields, b.fields, strict=False)
        if name == other and pair.left == value.left
    )


def is_known(term: Term, known: set[Sym] | frozenset[Sym], shown: frozenset[Term]) -> bool:
    """Whether a term is a function of public inputs, known symbols and released values."""
    if term in shown or isinstance(term, Const | Truth):
        return True
    if isinstance(term, Sym | App) and not _is_known_atom(term, known):
        return False
    if all(is_known(c, known, shown) for c in children(term)):
        return True
    return isinstance(term, Add) and any(is_known(rest, known, shown) for rest in _less_released(term, shown))


def _less_released(term: Add, shown: frozenset[Term]) -> Iterator[Term]:
    """The sum without a multiple of a released sum, which is known: `(q + xi) - last` is `q + xi` less
    `last`.
    """
    for released_sum in shown:
        if isinstance(released_sum, Add):
            atom, factor = released_sum.parts[0]
            own = dict(term.parts).get(atom)
            if own is not None:
                rest = add(term, scaled(released_sum, -own / factor))
                if len(atoms((rest,))) < len(atoms((term,))):
                    yield rest


def _is_known_atom(atom: Sym | App, known: set[Sym] | frozenset[Sym]) -> bool:
    selection = selection_of(atom)
    if selection is not None:
        return size_of(selection) in known
    if atom.kind in (Kind.PARAMETER, Kind.OMEGA, Kind.RELEASE):
        return True
    return isinstance(atom, Sym) and (atom in known or _is_public(atom))


def _is_kept(symbol: Sym, key: Key) -> bool:
    return isinstance(symbol.label, AtHead) and symbol.label.key is key


def _is_public(symbol: Sym) -> bool:
    """Whether it counts records, draws or calls."""
    kept = symbol.label.key if isinstance(symbol.label, AtHead) else None
    return kept is Ledger.RECORDS or isinstance(kept, Counted | Latest | Calls)
