"""Which records are ranks: an index of a selection, and how far its noisy answer is ahead of the next one's.

What such gaps add up to is known to the last draw: the noise between two ranks is that of two draws, and what
is ahead of a public threshold that takes part is known itself (`aligncheck.runtime.result.Ahead`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from aligncheck.compiler.emit.gaps import Summands
from aligncheck.compiler.emit.positions import records_of_round
from aligncheck.language.syntax import nodes, rewrite
from aligncheck.language.syntax.nodes import Expr
from aligncheck.language.syntax.walk import signed_terms, statements_in

_Terms = Counter[tuple[Expr, bool]]
"""Summands, and whether they are added."""


@dataclass(frozen=True, slots=True)
class PublicThreshold:
    """The index at which a public value takes part, and the record's field that holds the index."""

    field: str
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class ReleasedRanks:
    """The field of a record that is the noisy answer at its rank less that at the next. Each noisy answer has
    one draw of its own, all with this scale.
    """

    field: str
    scale: Expr
    one_sided: bool
    step: Expr | None
    threshold: PublicThreshold | None


def released_ranks(mechanism: nodes.Mechanism) -> ReleasedRanks | None:
    """What all records of a mechanism are, if they are ranks; in terms of its parameters.

    They are released in the order of the ranks where one loop counts from 0, releases one record in each
    round, and nothing else is released.
    """
    emits = [s for s in statements_in(mechanism.body) if isinstance(s, nodes.Emit)]
    selections = [
        s for s in mechanism.body if isinstance(s, nodes.Assign) and isinstance(s.value, nodes.Gather)
    ]
    for selection in selections:
        reader = _Ranks.of(mechanism, selection)
        if reader is not None and (at := _counted(mechanism, emits, selection)) is not None:
            found = {reader.rank(emit, at) for emit in emits}
            if len(found) == 1:
                return found.pop()
    return None


def _counted(
    mechanism: nodes.Mechanism, emits: list[nodes.Emit], selection: nodes.Assign
) -> tuple[Expr, Expr] | None:
    """The index of the rank that a record is about, and that of the next one."""
    name, zero, one = selection.name, nodes.Number(Fraction(0)), nodes.Number(Fraction(1))
    function = getattr(selection.value, "function", "")
    if function == "argmax" and len(emits) == 1 and emits[0] in mechanism.body:
        return nodes.Name(name), nodes.Name("")  # there is no next but the best of the others
    for loop in mechanism.body if function in nodes.SELECTING else ():
        if isinstance(loop, nodes.For) and isinstance(loop.over, nodes.OverRange):
            inside = [s for s in statements_in(loop.body) if isinstance(s, nodes.Emit)]
            if loop.over.low == zero and inside == emits and records_of_round(loop.body) == 1:
                r = nodes.Name(loop.index or "")
                return nodes.Index(name, r), nodes.Index(name, nodes.Binary("+", r, one))
    return None


@dataclass(frozen=True, slots=True)
class _Ranks:
    """What a selection selects by: `body` at each `index`, which is `draw` and an answer, or a threshold."""

    summands: Summands
    selection: nodes.Assign
    body: Expr
    index: str
    draw: nodes.Sample
    threshold: tuple[Expr, Expr] | None

    @classmethod
    def of(cls, mechanism: nodes.Mechanism, selection: nodes.Assign) -> _Ranks | None:
        summands, gather = Summands.of(mechanism), selection.value
        if not isinstance(gather, nodes.Gather):
            return None
        at = nodes.Name(gather.index)
        draws: list[nodes.Sample] = []
        thresholds: list[tuple[Expr, Expr] | None] = []
        for term, plus in signed_terms(gather.body):
            base = term.base if isinstance(term, nodes.Index) and plus else ""
            if base in summands.draws and isinstance(term, nodes.Index) and term.index == at:
                draws.append(summands.draws[base])
            elif base in summands.answers:
                thresholds.append(None)
            elif plus and (threshold := _threshold_among(term, at, summands)) is not None:
                thresholds.append(threshold)
            elif not summands.is_public(term):
                return None
        if len(draws) != 1 or len(thresholds) != 1:
            return None
        return cls(summands, selection, gather.body, gather.index, draws[0], thresholds[0])

    def rank(self, emit: nodes.Emit, at: tuple[Expr, Expr]) -> ReleasedRanks | None:
        """The first field that is a gap to the next rank, or to the best that is not selected."""
        noise = self.summands.noise_of(self.draw)
        if noise is None:
            return None
        scale, step = self._resolved(noise[0]), None if noise[1] is None else self._resolved(noise[1])
        own = self._scored(at[0])
        for field in emit.fields:
            gap = Counter(signed_terms(self._resolved(field.value)))
            if gap == own + _negative(self._scored(at[1])) or any(
                gap == own + Counter({(best, False): 1}) for best in self._best_of_the_others()
            ):
                threshold = self._threshold(emit, at[0])
                return ReleasedRanks(field.name, scale, self.draw.family.one_sided, step, threshold)
        return None

    def _threshold(self, emit: nodes.Emit, at: Expr) -> PublicThreshold | None:
        if self.threshold is None:
            return None
        holding = (f.name for f in emit.fields if self._resolved(f.value) == at)
        index, value = self.threshold
        return next((PublicThreshold(name, index, self._resolved(value)) for name in holding), None)

    def _scored(self, at: Expr) -> _Terms:
        """The noisy answer at an index."""
        placed = rewrite.with_other(self.body, nodes.Name(self.index), at)
        return Counter(signed_terms(self._resolved(placed)))

    def _best_of_the_others(self) -> Iterator[Expr]:
        """The variables that hold the greatest noisy answer that was not selected."""
        selected = self.selection.value
        if not isinstance(selected, nodes.Gather):
            return
        index = nodes.Name(selected.index)
        left_out: Expr = nodes.Unary("not", nodes.Member(index, self.selection.name))
        if selected.function == "argmax":
            left_out = nodes.Compare("!=", index, nodes.Name(self.selection.name))
        wanted = replace(selected, function="max", count=None, where=left_out)
        for name, value in self.summands.values.items():
            if isinstance(value, nodes.Gather) and _renamed(value, selected.index) == wanted:
                yield nodes.Name(name)

    def _resolved(self, expr: Expr) -> Expr:
        """The expression with what its variables stand for, but for what is selected."""

        def looked_through(e: Expr) -> Expr:
            value = self.summands.values.get(e.ident) if isinstance(e, nodes.Name) else None
            return e if value is None or isinstance(value, nodes.Gather) else self._resolved(value)

        return rewrite.bottom_up(expr, looked_through)


def _renamed(gather: nodes.Gather, index: str) -> nodes.Gather:
    """The set with another name for its index."""
    names = nodes.Name(gather.index), nodes.Name(index)
    where = None if gather.where is None else rewrite.with_other(gather.where, *names)
    return replace(gather, body=rewrite.with_other(gather.body, *names), index=index, where=where)


def _threshold_among(term: Expr, at: Expr, summands: Summands) -> tuple[Expr, Expr] | None:
    """The index and the value of a threshold, for `T if i == 0 else q[i - 1]`."""
    if not isinstance(term, nodes.Conditional) or not isinstance(term.test, nodes.Compare):
        return None
    test, answer = term.test, term.otherwise
    among = isinstance(answer, nodes.Index) and answer.base in summands.answers
    there = test.op == "==" and test.left == at and isinstance(test.right, nodes.Number)
    return (test.right, term.then) if among and there and summands.is_public(term.then) else None


def _negative(terms: _Terms) -> _Terms:
    return Counter({(expr, not plus): count for (expr, plus), count in terms.items()})
