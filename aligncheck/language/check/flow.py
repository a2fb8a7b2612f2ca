"""Definite assignment: whether a name has a value on every path to the place that reads it.

A loop may run no rounds at all. In the alignment a variable must have a value wherever the noise that a line
moves is drawn, because it is read there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from aligncheck.language.check.names import Place, Reader
from aligncheck.language.check.symbol_table import RESERVED_NAMES, listed
from aligncheck.language.diagnostics import Label
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.layout import word_in
from aligncheck.language.syntax.wording.faults import nearest


@dataclass(frozen=True, slots=True)
class _State:
    """What is known at a point of the program: see `Place.assigned` and `Place.drawn`."""

    assigned: frozenset[str] = frozenset()
    drawn: frozenset[n.Expr] = frozenset()

    def with_name(self, name: str) -> _State:
        """After an assignment: draws whose index mentions the name are no longer known by that index."""
        kept = frozenset(draw for draw in self.drawn if name not in walk.names_in(draw))
        return _State(self.assigned | {name}, kept)


_Point = _State | None
"""None: no path leads here."""


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop around this statement: its variables, the draws that its index tells apart, its breaks."""

    names: frozenset[str]
    local: frozenset[n.Expr]
    breaks: list[_State]


class ProgramFlow:
    """One pass over the program.

    After `check`, `at_draws` has the names with a value before each draw of each noise variable.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._symbols = reader.symbols
        self._indexed = frozenset(name for name in self._symbols.noise if self._symbols.is_indexed(name))
        self._loops: list[_Loop] = []
        self._around: list[tuple[frozenset[str], frozenset[str]]] = []
        self.at_draws: dict[str, list[frozenset[str]]] = {}

    def check(self, body: tuple[n.Stmt, ...]) -> None:
        """Raises SpecError for the first name without a value, or statement out of place."""
        self._block(body, _State())

    def _block(self, body: tuple[n.Stmt, ...], point: _Point) -> _Point:
        for statement in body:
            if point is None:
                self._reader.fail(
                    "unreachable",
                    "this is never reached",
                    statement.span,
                    help="delete it, or the `break` above it",
                )
            point = self._statement(statement, point)
        return point

    def _statement(self, statement: n.Stmt, state: _State) -> _Point:
        match statement:
            case n.Assign(name, value):
                self._reader.read_assigned(value, self._place(state))
                return state.with_name(name)
            case n.Invoke(name, _, arguments, rounds):
                for argument in arguments:
                    self._reader.read_argument(argument.value, self._place(state))
                if rounds is not None:
                    self._read(rounds.test, state.with_name(name))
                    for each in walk.rounds_of(rounds)[1:]:
                        self._read(each, state)
                return state.with_name(name)
            case n.Sample():
                return self._draw(statement, state)
            case n.Choose(name, weights):
                self._reader.read_assigned(weights, self._place(state))
                return state.with_name(name)
            case n.Logistic(name):
                for expr in walk.own_expressions(statement):
                    self._read(expr, state)
                return state.with_name(name)
            case n.Emit(fields=fields):
                for field in fields:
                    self._read(field.value, state)
                return state
            case n.Break():
                if not self._loops:
                    self._reader.fail("misplaced-break", "`break` stands outside of any loop", statement.span)
                self._loops[-1].breaks.append(state)
                return None
            case n.Pass():
                return state
            case n.If(branches, otherwise):
                ends: list[_Point] = []
                for branch in branches:
                    self._read(branch.test, state)
                    ends.append(self._block(branch.body, state))
                ends.append(self._block(otherwise, state))
                return self._joined(ends)
            case n.For():
                return self._for(statement, state)
            case n.While():
                return self._while(statement, state)

    def _draw(self, sample: n.Sample, state: _State) -> _State:
        if sample.index is not None:
            self._read(sample.index, state)
        own = n.Name(sample.name) if sample.index is None else n.Index(sample.name, sample.index)
        for arg in sample.args:
            self._reader.read(arg, replace(self._place(state), own=own))
        self.at_draws.setdefault(sample.name, []).append(state.assigned)
        made: frozenset[n.Expr] = frozenset()
        if sample.index is not None:
            made = frozenset((n.Index(sample.name, sample.index),))
        return _State(state.assigned | {sample.name}, state.drawn | made)

    # --- loops ---

    def _while(self, loop: n.While, state: _State) -> _Point:
        around = self._any_round(state, loop)
        local = self._loops[-1].local if self._loops else frozenset()
        self._around.append((_drawn_in(loop), _telling(loop)))
        self._read(loop.test, around)
        breaks = self._rounds(loop, around, around, _Loop(frozenset(), local, []))
        self._around.pop()
        endless = loop.test == n.Boolean(True)
        return self._joined([*breaks, None if endless else around])

    def _for(self, loop: n.For, state: _State) -> _Point:
        index = frozenset() if loop.index is None else frozenset((loop.index,))
        match loop.over:
            case n.OverQueries(base, item):
                self._list(base, loop.over.span, state)
                names = index | {item}
            case n.OverRange(low, high):
                for end in (low, high):
                    if isinstance(end, n.Name) and self._symbols.is_list(end.ident):
                        message = f"`{end.ident}` is a list, not how many there are"
                        advice = f"write `range(len({end.ident}))`, or `for i, x in {end.ident}:`"
                        self._reader.fail("list-as-value", message, end.span, help=advice)
                self._read(low, state)
                self._read(high, state)
                names = index
            case _:
                assert_never(loop.over)
        for name in sorted(names):
            self._not_looping(name, loop.span)
        around = self._any_round(state, loop)
        inside = around
        for name in sorted(names):
            inside = inside.with_name(name)
        at_head = replace(around, assigned=around.assigned | index)
        self._around.append((_drawn_in(loop), _telling(loop)))
        breaks = self._rounds(loop, at_head, inside, _Loop(names, self._told_apart(loop, names), []))
        self._around.pop()
        return self._joined([around, *breaks])

    def _rounds(self, loop: n.For | n.While, at_head: _State, inside: _State, level: _Loop) -> list[_State]:
        """The invariants and the body; the states at its breaks."""
        head = replace(self._place(at_head), where="at the head of the loop", primes=True, cost=True)
        for invariant in loop.invariants:
            self._reader.read(invariant, head)
        self._loops.append(level)
        self._block(loop.body, inside)
        return self._loops.pop().breaks

    def _any_round(self, state: _State, loop: n.For | n.While) -> _State:
        """At the head in any round: assigned is what was before the loop; earlier rounds may have drawn."""
        body = tuple(walk.statements_in(loop.body))
        noise = _drawn_in(loop)
        changed = frozenset(each.name for each in body if isinstance(each, n.Assign))
        kept = frozenset(draw for draw in state.drawn if not walk.names_in(draw) & changed)
        return _State(state.assigned | noise, kept)

    def _told_apart(self, loop: n.For, names: frozenset[str]) -> frozenset[n.Expr]:
        """The draws that only this loop makes, its variable telling in which round."""
        draws = [
            each
            for each in walk.statements_in(loop.body)
            if isinstance(each, n.Sample) and each.index is not None and walk.names_in(each.index) & names
        ]
        elsewhere = frozenset(
            name
            for name, all_draws in self._symbols.noise.items()
            if len(all_draws) > sum(each.name == name for each in draws)
        )
        return frozenset(
            n.Index(each.name, each.index)
            for each in draws
            if each.index is not None and each.name not in elsewhere
        )

    def _list(self, base: str, span: Span, state: _State) -> None:
        if self._symbols.is_list(base):
            return
        self._reader.unknown_list(base, span, self._place(state))
        self._read(n.Name(base, span=span), state)
        scalar = isinstance(self._symbols.inputs.get(base), n.Parameter)
        if base in self._symbols.selections:
            advice: str | None = f"write `for r in range(len({base})):`, and `{base}[r]` in its body"
        else:
            advice = self._reader.repeated(base, "i") if scalar else None
            if isinstance(self._symbols.inputs.get(base), n.Queries):
                advice = "declare it as `queries` if there are many answers"
        self._reader.fail(
            "not-a-list", f"`{base}` is {self._reader.kind_of(base)}, not a list", span, help=advice
        )

    def _not_looping(self, name: str, span: Span) -> None:
        """No loop takes its variable from one around it."""
        if any(name in loop.names for loop in self._loops):
            self._reader.fail(
                "assigned-loop-variable",
                f"`{name}` belongs to the loop around this: only the loop changes it",
                word_in(self._reader.source, span, name),
                help="use another name",
            )

    # --- states ---

    def _place(self, state: _State) -> Place:
        local = self._loops[-1].local if self._loops else frozenset()
        drawing, telling = (frozenset[str]().union(*(each[at] for each in self._around)) for at in (0, 1))
        return Place(
            "here", assigned=state.assigned, drawn=state.drawn, local=local, drawing=drawing, telling=telling
        )

    def _read(self, expr: n.Expr, state: _State) -> None:
        self._reader.read(expr, self._place(state))

    def _joined(self, points: Iterable[_Point]) -> _Point:
        """Where paths meet. Noise with an index counts as drawn when it may be on any of them."""
        states = [point for point in points if point is not None]
        if not states:
            return None
        somewhere = frozenset[str]().union(*(state.assigned for state in states)) & self._indexed
        everywhere = frozenset[str].intersection(*(state.assigned for state in states))
        drawn = frozenset[n.Expr].intersection(*(state.drawn for state in states))
        return _State(everywhere | somewhere, drawn)


def _drawn_in(loop: n.For | n.While) -> frozenset[str]:
    """The noise with an index that a loop draws."""
    return frozenset(
        each.name
        for each in walk.statements_in(loop.body)
        if isinstance(each, n.Sample) and each.index is not None
    )


def _telling(loop: n.For | n.While) -> frozenset[str]:
    """What tells a round of a loop from others: its index, and the variables that it changes."""
    index = loop.index if isinstance(loop, n.For) else None
    changed = {each.name for each in walk.statements_in(loop.body) if isinstance(each, n.Assign)}
    return frozenset(changed if index is None else {index, *changed})


class AlignmentNames:
    """The names of the alignment: what is moved, and what its lines read where the noise is drawn.

    Some variables may also be read ahead of their assignment: see `gathered_in_full` and `selected_around`.
    """

    def __init__(
        self, reader: Reader, at_draws: Mapping[str, list[frozenset[str]]], body: tuple[n.Stmt, ...]
    ) -> None:
        self._reader = reader
        self._symbols = reader.symbols
        self._at_draws = at_draws
        self._body = body

    def check(self, items: tuple[n.AlignItem, ...]) -> None:
        """Raises SpecError for the first fault."""
        for item in items:
            match item:
                case n.Shift():
                    self._shift(item)
                case n.CaseSplit():
                    self._split(item)

    def _split(self, split: n.CaseSplit) -> None:
        """The tests are evaluated at every draw that some line of the split moves."""
        moved = {shift.name for shift in walk.shifts_in((split,))}
        place = self._place(moved, "where the noise of this case split is drawn")
        for case in split.cases:
            self._reader.read(case.test, place)
            self.check(case.items)
        self.check(split.otherwise)

    def _place(self, moved: Iterable[str], where: str, binders: frozenset[str] = frozenset()) -> Place:
        """Noise may be named anywhere: whether it was drawn earlier is the matter of condition `acyclic`."""
        moved = list(moved)
        states = [state for name in moved for state in self._at_draws.get(name, ())]
        assigned = frozenset[str].intersection(*states) if states else frozenset(self._symbols.variables)
        readable = assigned | frozenset(self._symbols.noise) | walk.gathered_in_full(self._body).keys()
        lists = (walk.selected_around(name, self._body) for name in moved)
        readable |= set(self._symbols.variables).intersection(*lists)
        return Place(where, assigned=readable, binders=binders, primes=True, output=True)

    def _shift(self, shift: n.Shift) -> None:
        self._target(shift)
        place = self._place((shift.name,), f"where `{shift.name}` is drawn", self._binders(shift.index))
        draw = Label(self._symbols.noise[shift.name][0].span, f"`{shift.name}` is drawn here")
        place = replace(place, point=draw)
        self._reader.read(shift.value, place)
        if shift.guard is not None:
            self._reader.read(shift.guard, place)

    def _target(self, shift: n.Shift) -> None:
        name, noise = shift.name, self._symbols.noise
        span = self._reader.word_at(shift.span)
        if name not in noise:
            what = "is not drawn in the program"
            if name in self._symbols.inputs:
                what = "is an input"
            elif name in self._symbols.variables:
                what = "is computed, not drawn"
            advice = (
                self._reader.joined_index(name, shift.index)
                or nearest(name, noise)
                or (
                    f"the noise variables are {listed(noise)}"
                    if noise
                    else f"draw it first: `{name} ~ Lap(…)`"
                )
            )
            self._reader.fail("unknown-noise", f"`{name}` {what}: only noise can be moved", span, help=advice)
        indexed = self._symbols.is_indexed(name)
        if indexed != (shift.index is not None):
            self._reader.fail(
                "noise-index",
                f"`{name}` is drawn {'with' if indexed else 'without'} an index",
                span,
                related=(Label(noise[name][0].span, "drawn here"),),
                help=f"write `{name}[i] …`" if indexed else f"write `{name} …`",
            )

    def _binders(self, index: n.Expr | None) -> frozenset[str]:
        if index is None:
            return frozenset()
        if isinstance(index, n.Name) and index.ident not in self._symbols.inputs and not index.primed:
            if index.ident in RESERVED_NAMES:
                self._reader.fail("reserved-name", f"`{index.ident}` cannot name an index", index.span)
            return frozenset((index.ident,))
        self._reader.read(index, Place("as the index of a line in `align`", public=True))
        return frozenset()
