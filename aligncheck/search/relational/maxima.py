"""Maxima and selections over sets of indices, of any size: what a symbol that stands for one means.

`max(E for j in q where C)` becomes a symbol, and so does what `argmax` and `top` select. Their definitions
are kept here with the index left open, and instantiated at the indices that occur in a question: a generic
winner, a generic loser, the witnesses at which the maxima are taken (design, section 2). Nothing has a
quantifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax.nodes import Gather
from aligncheck.search.relational import ir
from aligncheck.search.relational.labels import (
    AttainedAt,
    Below,
    BoundIndex,
    ExtremalIndex,
    Extremum,
    IsSelected,
    OfSelection,
    Ranked,
    SelectedIndex,
    Size,
)
from aligncheck.search.relational.settled import GIVEN, Definition, is_settled

_MOST = 24
_FEW = 5


class UnsupportedError(Exception):
    """The proof has no rule for what stands at `span`: the verdict is UNKNOWN. `advice` says what may do."""

    def __init__(self, span: Span, what: str, advice: str | None = None) -> None:
        self.span, self.advice = span, advice
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Gathered:
    """`function(body for binder in [low, high) where where)`; `where` and `body` speak of `binder`.

    `count` is how many indices `top` selects, None for all else. A minimum is kept as the maximum of the
    negated body (`sign` is -1). With `partial` there may be fewer than `count` (`upto`). `candidates` are
    indices that may be known to be inside.
    """

    count: ir.Term | None
    binder: ir.Sym
    low: ir.Term
    high: ir.Term
    where: ir.Term
    body: ir.Term
    sign: int = 1
    partial: bool = False
    candidates: tuple[ir.Term, ...] = ()

    def inside(self, index: ir.Term) -> ir.Term:
        """That an index belongs to the set."""
        return ir.and_(
            (ir.le(self.low, index), ir.lt(index, self.high), ir.substitute(self.where, {self.binder: index}))
        )

    def value(self, index: ir.Term) -> ir.Term:
        """What is compared, at an index."""
        return ir.substitute(self.body, {self.binder: index})

    def beats(self, one: ir.Term, other: ir.Term) -> ir.Term:
        """That an index comes before another: by a greater value, or an equal one and a lower index (rule
        10).
        """
        a, b = self.value(one), self.value(other)
        return ir.or_((ir.lt(b, a), ir.and_((ir.eq(a, b), ir.le(one, other)))))

    @property
    def free(self) -> list[ir.Sym | ir.App]:
        """The symbols and applications on which the set or its values depend, but for its own index."""
        around = ir.atoms((self.low, self.high, *(() if self.count is None else (self.count,))))
        return [
            *around,
            *(a for a in ir.atoms((self.where, self.body)) if a != self.binder and a not in around),
        ]

    @property
    def parts(self) -> tuple[ir.Term, ...]:
        """What decides the value of a maximum over the set, or an index at which it is taken."""
        return (self.low, self.high, self.where, self.body)

    def tieless(self, definition: Definition) -> bool:
        """Whether equal values at two indices have probability 0.

        Why: the body is a number that no noise enters plus a multiple of one draw (a symbol of kind NOISE is
        nothing else) of continuous noise at the index itself. Draws at two indices are two draws
        (`drawn_once`), so for two indices the difference has a density; and pairs of indices are finitely
        many (rule 10: only for continuous noise).
        """
        if not isinstance(self.body, ir.Add):
            parts: tuple[ir.Term, ...] = (self.body,)
        else:
            parts = tuple(t for t, _ in self.body.parts)
        own = [
            t
            for t in parts
            if isinstance(t, ir.App) and t.kind is ir.Nature.NOISE and t.args == (self.binder,)
        ]
        rest = [t for t in parts if t not in own]
        fixed = all(is_settled(a, definition, free=GIVEN) for a in ir.atoms(rest))
        return len(own) == 1 and own[0].sort is ir.TermSort.REAL and fixed

    def enough(self) -> ir.Term:
        """What is demanded of the set, and under which alone `Registry.facts` says what is taken from it:
        that it has an index; for `top` that `count` is not negative and that it has as many.

        Sound: the set is [low, high) less the indices that its `where` excludes one by one (`j != x`, at most
        one each; `j not in w`, as many as `w` has). Where another condition stands it must be shown of one of
        the `candidates` that it is inside.
        """
        if self.count is not None:
            return ir.and_((ir.le(ir.ZERO, self.count), ir.TRUE if self.partial else self._room_enough()))
        selected = [
            pick(c.label.selection, ir.ZERO)
            for c in (self.where.args if isinstance(self.where, ir.And) else (self.where,))
            if isinstance(c, ir.App) and isinstance(c.label, IsSelected)
        ]
        room = self._room_enough()
        if room != ir.FALSE:
            return room
        return ir.or_(self.inside(c) for c in selected or self.candidates)

    def _room_enough(self) -> ir.Term:
        wanted = ir.ONE if self.count is None else self.count
        room = ir.sub(self.high, self.low)
        for conjunct in self.where.args if isinstance(self.where, ir.And) else (self.where,):
            excluded = self._excluded(conjunct)
            if excluded is None:
                return ir.FALSE
            room = ir.sub(room, excluded)
        return ir.le(wanted, room)

    def _excluded(self, conjunct: ir.Term) -> ir.Term | None:
        if conjunct == ir.TRUE:
            return ir.ZERO
        denied = conjunct.arg if isinstance(conjunct, ir.Not) else None
        if isinstance(denied, ir.Cmp) and denied.op == "==" and self.binder in (denied.left, denied.right):
            other = denied.right if denied.left == self.binder else denied.left
            return ir.ONE if self.binder not in ir.atoms((other,)) else None
        if (
            isinstance(denied, ir.App)
            and isinstance(denied.label, IsSelected)
            and denied.args == (self.binder,)
        ):
            return size_of(denied.label.selection)
        return None


def size_of(name: str) -> ir.Sym:
    """How many indices the selection `name` holds."""
    return ir.Sym(Size(name), ir.TermSort.INT, ir.Nature.OMEGA)


def extremum(name: str, primed: bool) -> ir.Sym:
    """The symbol of a maximum or minimum on D or (`primed`) on D'."""
    return ir.Sym(Extremum(name, primed), ir.TermSort.REAL, ir.Nature.EXTREMUM)


def chosen(name: str) -> ir.Sym:
    """The index that `argmax` or `argmin` selects: a part of ω."""
    return ir.Sym(SelectedIndex(name), ir.TermSort.INT, ir.Nature.OMEGA)


def member(name: str, index: ir.Term) -> ir.App:
    """That an index is among those that `top` selects."""
    return ir.App(IsSelected(name), (index,), ir.TermSort.BOOL, ir.Nature.OMEGA)


def pick(name: str, rank: ir.Term) -> ir.App:
    """The index that `top` puts at a rank, from 0."""
    return ir.App(Ranked(name), (rank,), ir.TermSort.INT, ir.Nature.OMEGA)


def passed(name: str, index: ir.Term) -> ir.App:
    """How many selected indices are smaller than an index."""
    return ir.App(Below(name), (index,), ir.TermSort.INT, ir.Nature.OMEGA)


def selection_of(atom: ir.Sym | ir.App) -> str | None:
    """The selection of which a symbol tells something, if it does: an index, a member, or how many."""
    label = atom.label
    return label.selection if isinstance(label, OfSelection) else None


def needs_no_arguments(meaning: Gathered, span: Span) -> None:
    """What a set is must be one thing throughout a run wherever a symbol without arguments stands for it.

    Why needed: such a symbol is one number to the proof. An index of a set around it, a generic index, or
    what changes from round to round of a loop would make it several (substitution and renaming cannot reach
    into it). Every symbol of a run that is no index is fixed: parameters, answers, scalar noise, parts of ω.
    Raises UnsupportedError.
    """
    for symbol in (a for a in meaning.free if isinstance(a, ir.Sym)):
        if symbol.kind in ir.AT_A_LOOP_HEAD:
            raise UnsupportedError(span, "a set whose values change from round to round of a loop")
        if isinstance(symbol.label, str | BoundIndex) and symbol.kind is ir.Nature.GHOST:
            index = symbol.label.name if isinstance(symbol.label, BoundIndex) else symbol.label
            raise UnsupportedError(
                span,
                f"a set that depends on the index of a set around it: here on `{index}`",
                "only sums are proved inside other sets; of a maximum say what it is, without a set",
            )


@dataclass
class Registry:
    """The definitions of one mechanism's symbols. A symbol that is given two definitions has none: nothing is
    then assumed of it. No symbol gets a definition that depends on an index (`needs_no_arguments`), but for
    what an assignment at the top level gives a name: it is evaluated once, so that one value is all it has.
    """

    extrema: dict[ir.Sym, Gathered | None] = field(default_factory=dict)
    argmaxima: dict[str, Gathered | None] = field(default_factory=dict)
    selections: dict[str, Gathered | None] = field(default_factory=dict)
    indices: dict[ir.Sym, Gathered | None] = field(default_factory=dict)
    spoken: dict[ir.Sym, Gather] = field(default_factory=dict)
    """What the spec says for a maximum without a name, or for an index of one."""

    def define_extremum(self, symbol: ir.Sym, meaning: Gathered) -> None:
        """What a maximum is the maximum of."""
        known = self.extrema.setdefault(symbol, meaning)
        if known != meaning:
            self.extrema[symbol] = None

    def define_selection(self, name: str, meaning: Gathered) -> None:
        """What `argmax` or `top` selects among, in the run on D."""
        table = self.argmaxima if meaning.count is None else self.selections
        if table.setdefault(name, meaning) != meaning:
            table[name] = None

    def anonymous(self, meaning: Gathered, expr: Gather) -> ir.Sym:
        """The symbol of a maximum that has no name: one for each meaning. Raises UnsupportedError."""
        needs_no_arguments(meaning, expr.span)
        for symbol, known in self.extrema.items():
            if known == meaning:
                return symbol
        symbol = ir.Sym(Extremum(len(self.extrema), False), ir.TermSort.REAL, ir.Nature.EXTREMUM)
        self.extrema[symbol] = meaning
        self.spoken[symbol] = expr
        return symbol

    def anonymous_index(self, meaning: Gathered, expr: Gather) -> ir.Sym:
        """The symbol of an index of a maximum: one for each meaning. Raises UnsupportedError."""
        needs_no_arguments(meaning, expr.span)
        for symbol, known in self.indices.items():
            if known == meaning:
                return symbol
        symbol = ir.Sym(ExtremalIndex(len(self.indices)), ir.TermSort.INT, ir.Nature.PLACE)
        self.indices[symbol] = meaning
        self.spoken[symbol] = expr
        return symbol

    def places(self) -> list[ir.Term]:
        """The indices at which maxima are taken."""
        return [*(witness_of(s) for s in self.extrema), *self.indices]

    def meaning_of(self, symbol: ir.Sym) -> Gathered | None:
        """What a symbol is the maximum of, or an index of, if it is one."""
        return self.extrema.get(symbol) or self.indices.get(symbol)

    def hidden_in(self, symbol: ir.Sym | ir.App) -> tuple[ir.Term, ...] | None:
        """What the value of a maximum's symbol, or of an index of one, is made of; None where no definition
        is kept.
        """
        meaning = self.meaning_of(symbol) if isinstance(symbol, ir.Sym) else None
        return None if meaning is None else meaning.parts

    @property
    def is_empty(self) -> bool:
        """Whether the mechanism has no maximum and no selection."""
        return not (self.extrema or self.argmaxima or self.selections or self.indices)

    def clear(self) -> None:
        """Forgets everything: the program is about to be executed again."""
        self.extrema.clear()
        self.indices.clear()
        self.spoken.clear()
        self.argmaxima.clear()
        self.selections.clear()

    def forget(self, changing: frozenset[ir.Term]) -> None:
        """Drops the definitions that mention symbols whose meaning changes from round to round."""
        for symbols in (self.extrema, self.indices):
            for symbol, meaning in list(symbols.items()):
                if meaning is not None and _speaks_of(meaning, changing):
                    symbols[symbol] = None
        for table in (self.argmaxima, self.selections):
            for name, meaning in list(table.items()):
                if meaning is not None and _speaks_of(meaning, changing):
                    table[name] = None

    # --- facts --------------------------------------------------------------------------------------------

    def facts(self, found: Iterable[ir.Sym | ir.App]) -> Iterator[ir.Term]:
        """What the definitions say of the symbols among `found`, at the indices that occur among them.

        Why sound: each is an instance of the definition of a maximum, an argmax or the k greatest of a finite
        list under the order `Gathered.beats`. Where the set may be empty (`enough`) nothing is said. A
        maximum is taken at some index, its witness, which is a symbol of its own. That ties do not occur is
        said of noise for which they have probability 0; a local alignment may fail on a null set, since the
        proof of Lemma 1 integrates over the noise.
        """
        present = list(found)
        indices = _indices(present)
        for atom in present:
            if isinstance(atom, ir.Sym) and (meaning := self.extrema.get(atom)) is not None:
                yield from self._extremum_facts(atom, meaning, indices)
            if isinstance(atom, ir.Sym) and (meaning := self.indices.get(atom)) is not None:
                yield from self._argmax_facts(atom, meaning, indices)
        labels = {a.label for a in present}
        for name, meaning in self.argmaxima.items():
            if meaning is not None and SelectedIndex(name) in labels:
                yield from self._argmax_facts(chosen(name), meaning, indices)
        for name, meaning in self.selections.items():
            if meaning is not None and labels & {IsSelected(name), Ranked(name), Below(name), Size(name)}:
                yield from _top_facts(name, meaning, meaning.tieless(self.hidden_in), indices, present)

    def _extremum_facts(self, symbol: ir.Sym, meaning: Gathered, indices: list[ir.Term]) -> Iterator[ir.Term]:
        witness = witness_of(symbol)
        top = symbol if meaning.sign > 0 else ir.neg(symbol)
        at_witness = ir.and_((meaning.inside(witness), ir.eq(top, meaning.value(witness))))
        yield ir.implies(meaning.enough(), at_witness)
        for index in indices:
            yield ir.implies(meaning.inside(index), ir.le(meaning.value(index), top))

    def _argmax_facts(self, symbol: ir.Sym, meaning: Gathered, indices: list[ir.Term]) -> Iterator[ir.Term]:
        some, tieless = meaning.enough(), meaning.tieless(self.hidden_in)
        yield ir.implies(some, meaning.inside(symbol))
        for index in indices:
            if index != symbol:
                inside = ir.and_((some, meaning.inside(index)))
                yield ir.implies(inside, meaning.beats(symbol, index))
                if tieless:
                    apart = ir.or_((ir.eq(index, symbol), ir.lt(meaning.value(index), meaning.value(symbol))))
                    yield ir.implies(inside, apart)


def witness_of(symbol: ir.Sym) -> ir.Sym:
    """An index at which a maximum is taken."""
    return ir.Sym(AttainedAt(symbol.label), ir.TermSort.INT, ir.Nature.PLACE)


def _speaks_of(meaning: Gathered, changing: frozenset[ir.Term]) -> bool:
    return any(
        a in changing for a in ir.atoms([*meaning.parts, *([] if meaning.count is None else [meaning.count])])
    )


def _indices(found: list[ir.Sym | ir.App]) -> list[ir.Term]:
    """The indices at which noise is read, and the indices that are selected; not indices of indices, and a
    limited number, since a body may read noise at yet other indices.
    """
    kept: dict[ir.Term, None] = {}
    for atom in found:
        if isinstance(atom, ir.App) and (atom.kind is ir.Nature.NOISE or isinstance(atom.label, IsSelected)):
            kept[atom.args[0]] = None
        elif isinstance(atom.label, Ranked | SelectedIndex | ExtremalIndex):
            kept[atom] = None
    simple = [t for t in kept if ir.sort_of(t) is ir.TermSort.INT and _depth(t) <= 1]
    return sorted(simple, key=lambda t: len(ir.order_key(t)))[:_MOST]


def _depth(term: ir.Term) -> int:
    inner = [a for a in ir.atoms((term,)) if isinstance(a, ir.App)]
    return max((1 + _depth(a.args[0]) for a in inner), default=0)


def _top_facts(
    name: str, meaning: Gathered, tieless: bool, indices: list[ir.Term], present: list[ir.Sym | ir.App]
) -> Iterator[ir.Term]:
    if meaning.count is None:
        raise InternalError("a selection without a count")
    count, some = meaning.count, meaning.enough()
    size = size_of(name)
    if meaning.partial:
        yield ir.implies(some, ir.and_((ir.le(ir.ZERO, size), ir.le(size, count))))
    else:
        yield ir.implies(some, ir.eq(size, count))
    for index in indices:
        yield ir.implies(ir.and_((some, member(name, index))), meaning.inside(index))
        if meaning.partial:
            room = ir.and_((some, ir.lt(size, count), meaning.inside(index)))
            yield ir.implies(room, member(name, index))
    picked = {t for t in indices if isinstance(t, ir.App) and t.label == Ranked(name)}
    for one in indices:
        if isinstance(one, ir.Sym) and isinstance(one.label, AttainedAt):
            continue  # the maxima that matter are those of the indices outside
        for other in indices:
            if one != other and other not in picked:
                divided = ir.and_(
                    (some, member(name, one), meaning.inside(other), ir.not_(member(name, other)))
                )
                order = (
                    ir.lt(meaning.value(other), meaning.value(one)) if tieless else meaning.beats(one, other)
                )
                yield ir.implies(divided, order)
    ranks = [a.args[0] for a in present if a.label == Ranked(name) and isinstance(a, ir.App)]
    for rank in ranks:
        legal = ir.and_((some, ir.le(ir.ZERO, rank), ir.lt(rank, size)))
        yield ir.implies(legal, member(name, pick(name, rank)))
        for later in ranks:
            if rank != later:
                ordered = ir.and_((some, ir.le(ir.ZERO, rank), ir.lt(rank, later), ir.lt(later, size)))
                one, other = pick(name, rank), pick(name, later)
                before = (
                    ir.lt(meaning.value(other), meaning.value(one))
                    if tieless
                    else ir.and_((meaning.beats(one, other), ir.not_(ir.eq(one, other))))
                )
                yield ir.implies(ordered, before)
    for place in [a.args[0] for a in present if a.label in (Below(name), IsSelected(name))]:  # type: ignore[union-attr]
        before, after = passed(name, place), passed(name, ir.add(place, ir.ONE))
        yield ir.implies(ir.and_((some, ir.le(place, meaning.low))), ir.eq(before, ir.ZERO))
        yield ir.implies(some, ir.and_((ir.le(ir.ZERO, before), ir.le(before, size))))
        if member(name, place) in present:
            yield ir.implies(some, ir.eq(after, ir.add(before, ir.ite(member(name, place), ir.ONE, ir.ZERO))))
            yield ir.implies(some, ir.le(after, size))


# --- in a concrete run ------------------------------------------------------------------------------------


def expanded(meaning: Gathered) -> tuple[list[int], list[ir.Term], list[ir.Term]]:
    """The indices, that each is inside, and the value at each.

    Where a bound is no constant (it differs from arm to arm on D') only a few indices are tried.
    """
    places = list(_places(meaning))
    inside = [meaning.inside(ir.const(p)) for p in places]
    return places, inside, [meaning.value(ir.const(p)) for p in places]


def _places(meaning: Gathered) -> range:
    low = int(meaning.low.value) if isinstance(meaning.low, ir.Const) else 0
    return range(low, int(meaning.high.value) if isinstance(meaning.high, ir.Const) else low + _FEW)


def concrete_extremum(meaning: Gathered) -> tuple[ir.Term, ir.Term]:
    """The extremum of a concrete set, and that the set is not empty."""
    _, inside, values = expanded(meaning)
    best: ir.Term = ir.ZERO
    some: ir.Term = ir.FALSE
    for here, value in zip(inside, values, strict=True):
        best = ir.ite(ir.and_((here, ir.or_((ir.not_(some), ir.lt(best, value))))), value, best)
        some = ir.or_((some, here))
    return (best if meaning.sign > 0 else ir.neg(best)), some


def concrete_ranks(meaning: Gathered, count: int) -> tuple[list[ir.Term], ir.Term]:
    """The indices of a concrete set at the first `count` ranks, and that there are as many."""
    places, inside, values = expanded(meaning)
    left = list(inside)
    ranks: list[ir.Term] = []
    enough: ir.Term = ir.TRUE
    for _ in range(count):
        index: ir.Term = ir.const(-1)
        best: ir.Term = ir.ZERO
        some: ir.Term = ir.FALSE
        for place, here, value in zip(places, left, values, strict=True):
            better = ir.and_((here, ir.or_((ir.not_(some), ir.lt(best, value)))))
            index, best = ir.ite(better, ir.const(place), index), ir.ite(better, value, best)
            some = ir.or_((some, here))
        ranks.append(index)
        enough = ir.and_((enough, some))
        left = [
            ir.and_((here, ir.not_(ir.eq(index, ir.const(p))))) for p, here in zip(places, left, strict=True)
        ]
    return ranks, enough


def concrete_count(meaning: Gathered) -> int:
    """How many indices are selected in a concrete run, or may be."""
    if meaning.count is None:
        return 1
    wanted = max(0, int(meaning.count.value)) if isinstance(meaning.count, ir.Const) else 0
    return min(wanted, len(_places(meaning))) if meaning.partial else wanted


def concrete_facts(name: str, meaning: Gathered, ranks: list[ir.Term], size: int) -> Iterator[ir.Term]:
    """What the symbols of a selection of `size` indices stand for in a concrete run."""
    if meaning.count is None:
        yield ir.eq(chosen(name), ranks[0])
        return
    if meaning.partial:
        yield ir.eq(size_of(name), ir.const(size))
        yield from (
            ir.le(ir.ZERO, rank) if place < size else ir.lt(rank, ir.ZERO) for place, rank in enumerate(ranks)
        )
    else:
        yield ir.eq(size_of(name), ir.add(*(ir.ite(ir.le(ir.ZERO, rank), ir.ONE, ir.ZERO) for rank in ranks)))
    ranks = ranks[:size]
    for place, rank in enumerate(ranks):
        yield ir.eq(pick(name, ir.const(place)), rank)
    for place in _places(meaning):
        here = ir.or_(ir.eq(rank, ir.const(place)) for rank in ranks)
        yield ir.iff(member(name, ir.const(place)), here)
