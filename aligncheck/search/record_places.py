"""Which record of the output a round of a loop releases, where every round releases as many.

It words advice and decides nothing: a line that is advised is verified like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.rewrite import bottom_up
from aligncheck.language.syntax.walk import statements_in, subexpressions

RunOfTags: TypeAlias = tuple[tuple[str, ...], bool]
"""What a run releases, and whether it leaves its loop."""
_MOST = 1_000
"""Of a block with more runs nothing is known."""


def misplaced(mechanism: n.Mechanism) -> Iterator[tuple[n.Shift, n.Shift, str]]:
    """The lines of the alignment whose guards ask for a record `out[i]`, where a record with such a tag that
    the round of the draw releases is another one: each with a line that asks for that, and the tag.
    """
    for line in mechanism.align:
        if isinstance(line, n.Shift) and line.guard is not None and isinstance(line.index, n.Name):
            asked = [e for e in subexpressions(line.guard) if isinstance(e, n.OutIs) and e.of == "out"]
            loop = _loop_of(mechanism, line.name)
            if asked and loop is not None:
                tag, index = asked[0].tag, asked[0].index
                place = _place(mechanism, loop, tag, line.index)
                if place is not None and place != index:
                    yield line, replace(line, guard=_with_place(line.guard, index, place)), tag


def uneven_rounds(mechanism: n.Mechanism) -> Iterator[n.OutIs]:
    """What guards of draws in a loop ask for by the round's number, where some rounds release more records
    than others.
    """
    for line in mechanism.align:
        loop = _loop_of(mechanism, line.name) if isinstance(line, n.Shift) else None
        if isinstance(line, n.Shift) and line.guard is not None and loop is not None:
            asked = [e for e in subexpressions(line.guard) if isinstance(e, n.OutIs) and e.of == "out"]
            uneven = _released(loop.body) is None
            yield from (e for e in asked if uneven and line.index is not None and line.index == e.index)


def _with_place(guard: n.Expr, index: n.Expr, place: n.Expr) -> n.Expr:
    def change(e: n.Expr) -> n.Expr:
        if isinstance(e, n.OutIs | n.OutField) and e.of == "out" and e.index == index:
            return replace(e, index=place)
        return e

    return bottom_up(guard, change)


def _loop_of(mechanism: n.Mechanism, name: str) -> n.For | None:
    """The loop at the top level in each round of which a variable is drawn once, at the loop's own index that
    counts from 0.
    """
    for s in mechanism.body:
        if isinstance(s, n.For) and s.index is not None:
            drawn = [d for d in statements_in(s.body) if isinstance(d, n.Sample) and d.name == name]
            starts = isinstance(s.over, n.OverQueries) or s.over.low == n.Number(Fraction(0))
            if starts and drawn and all(d.index == n.Name(s.index) for d in drawn):
                return s
    return None


def _place(mechanism: n.Mechanism, loop: n.For, tag: str, index: n.Expr) -> n.Expr | None:
    """The number of the record with this tag that the round at an index releases, if every round releases as
    many records, and this one at one place among them.
    """
    each = _released(loop.body)
    before = _before(mechanism.body, loop)
    within = set(_ahead(loop.body, tag))
    if each is None or before is None or len(within) != 1:
        return None
    lists, number = before
    place: n.Expr = index if each == 1 else n.Binary("*", n.Number(Fraction(each)), index)
    for one in lists:
        place = n.Binary("+", one, place)
    number += within.pop()
    return place if not number else n.Binary("+", place, n.Number(Fraction(number)))


def _before(body: tuple[n.Stmt, ...], loop: n.For) -> tuple[list[n.Expr], int] | None:
    """How many records stand before those of a loop: the lengths of lists, and a number."""
    lists: list[n.Expr] = []
    number = 0
    for s in body:
        if s is loop:
            return lists, number
        if isinstance(s, n.For) and isinstance(s.over, n.OverQueries) and not _breaks(s.body):
            each = _released(s.body)
            length = n.Call("len", (n.Name(s.over.base),))
            lists += (
                [] if not each else [length if each == 1 else n.Binary("*", n.Number(Fraction(each)), length)]
            )
        else:
            each = _released((s,))
            number += each or 0
        if each is None:
            return None
    return None


def _released(body: tuple[n.Stmt, ...]) -> int | None:
    """How many records every run of a block that goes on to its end releases, if all release as many."""
    counts = {len(tags) for tags, ends in _runs(body) if not ends}
    return counts.pop() if len(counts) == 1 else None


def _ahead(body: tuple[n.Stmt, ...], tag: str) -> Iterator[int]:
    """How many records may stand ahead of one with a tag, in a block."""
    for tags, _ in _runs(body):
        yield from (place for place, each in enumerate(tags) if each == tag)


def _runs(body: tuple[n.Stmt, ...]) -> set[RunOfTags]:
    """The tags that runs of a block may release, and whether it is left by `break`. What a loop inside
    releases is of no known number.
    """
    found: set[RunOfTags] = {((), False)}
    for s in body:
        parts: set[RunOfTags]
        match s:
            case n.Emit(tag=tag):
                parts = {((tag,), False)}
            case n.Break():
                parts = {((), True)}
            case n.If():
                parts = {run for arm in s.arms for run in _runs(arm)}
            case n.Repeat():
                emits = any(isinstance(each, n.Emit) for each in statements_in((s,)))
                parts = {((), False), (("",), False)} if emits else {((), False)}
            case n.Simple():
                continue
        found = {
            (tags + more, ends) if not left else (tags, left) for tags, left in found for more, ends in parts
        }
        if len(found) > _MOST:
            return {((), False), (("",), False)}
    return found


def _breaks(body: tuple[n.Stmt, ...]) -> bool:
    return any(isinstance(s, n.Break) for s in statements_in(body))
