"""Names: what each one stands for, and whether it has a value where it is read.

A program variable must have a value on every path to the place that reads it; a loop may run no rounds at all. In
the alignment, a variable must have a value wherever the noise that is moved is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Never, assert_never

from aligncheck.diagnostics import Label, fault
from aligncheck.source import Source, Span
from aligncheck.syntax import nodes as n
from aligncheck.syntax.faults import nearest
from aligncheck.syntax.refused import REFUSED_FUNCTIONS, scope_fault
from aligncheck.syntax.walk import names_in, shifts_in, statements_in

ALIGNMENT_COST = "alignment_cost"
"""In invariants: the cost of the alignment so far."""

ANSWER_INDEX = "i"
"""In `sensitivity` and in a list's `where`: the index of the answer."""

_RESERVED = frozenset((*n.FUNCTIONS, "out", ALIGNMENT_COST))
_FOREIGN_FUNCTIONS = {
    "log": "write `ln` for the natural logarithm, `log2` for base 2",
    "log10": "write `ln(x)/ln(10)`",
    "pow": "write `x**2`",
    "round": "write `floor(x + 1/2)`",
    "ceil": "write `-floor(-x)`",
    "int": "write `floor(x)`",
    "mod": "write `a % b`",
    "clamp": "write `clip(x, low, high)`",
    "size": "write `len(q)`",
    "length": "write `len(q)`",
    "sum": "add up in a loop",
    "range": "`range` stands in `for i in range(…)` only",
}


@dataclass(frozen=True, slots=True)
class Symbols:
    """What the names of a spec stand for.

    `noise` has the draws of each noise variable, `variables` the place of each program variable's first assignment
    (loop variables included), `tags` the first record with each tag.
    """

    inputs: Mapping[str, n.Input]
    noise: Mapping[str, tuple[n.Sample, ...]]
    variables: Mapping[str, Span]
    tags: Mapping[str, n.Emit]

    def is_indexed(self, noise: str) -> bool:
        """Whether this noise variable is drawn with an index."""
        return self.noise[noise][0].index is not None

    def is_public(self, name: str) -> bool:
        """Whether this is a public input."""
        return isinstance(self.inputs.get(name), n.Parameter | n.PublicVector)


def symbols_of(source: Source, mechanism: n.Mechanism) -> Symbols:
    """Collects the names. Raises SpecError where one name is given two meanings, or a reserved one."""
    return _Collector(source).collect(mechanism)


def check_names(source: Source, mechanism: n.Mechanism, symbols: Symbols) -> None:
    """Raises SpecError for the first name that is unknown, has no value, or stands where it may not."""
    reader = _Reader(source, symbols)
    for item in mechanism.inputs:
        reader.declaration(item)
    reader.read(mechanism.privacy, _Place("in `privacy`", public=True))
    flow = _Flow(reader)
    flow.check(mechanism.body)
    _Alignment(reader, flow.at_draws).check(mechanism.align)


# --- meanings -----------------------------------------------------------------------------------------------


class _Collector:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._inputs: dict[str, n.Input] = {}
        self._noise: dict[str, list[n.Sample]] = {}
        self._variables: dict[str, Span] = {}
        self._tags: dict[str, n.Emit] = {}

    def collect(self, mechanism: n.Mechanism) -> Symbols:
        for item in mechanism.inputs:
            self._declare(item)
        for statement in statements_in(mechanism.body):
            self._statement(statement)
        return Symbols(
            self._inputs,
            {name: tuple(draws) for name, draws in self._noise.items()},
            self._variables,
            self._tags,
        )

    def _raise(self, code: str, message: str, span: Span, **more: Any) -> Never:
        raise fault(self._source, code, message, span, **more)

    def _declare(self, item: n.Input) -> None:
        for name in item.names if isinstance(item, n.Queries) else (item.name,):
            self._not_reserved(name, item.span)
            if name == ANSWER_INDEX:
                self._raise(
                    "reserved-name",
                    "`i` is the index of an answer, in `sensitivity` and `where`: no input can have this name",
                    item.span,
                    help="choose another name",
                )
            if name in self._inputs:
                self._twice(name, item.span, self._inputs[name].span)
            self._inputs[name] = item

    def _statement(self, statement: n.Stmt) -> None:
        match statement:
            case n.Assign(name):
                self._variable(name, statement.span)
            case n.Sample(name):
                self._draw(statement)
            case n.For(index, over):
                if isinstance(over, n.OverQueries):
                    self._variable(over.item, statement.span)
                    if over.item == index:
                        self._raise(
                            "duplicate-name", f"`{index}` is both the index and the answer", statement.span
                        )
                if index is not None:
                    self._variable(index, statement.span)
            case n.Emit(tag):
                self._record(statement)
            case n.If() | n.While() | n.Break() | n.Pass():
                pass
            case _:
                assert_never(statement)

    def _variable(self, name: str, span: Span) -> None:
        self._not_reserved(name, span)
        if name in self._inputs:
            self._raise(
                "assigned-input",
                f"`{name}` is an input and keeps its value",
                span,
                related=(Label(self._inputs[name].span, "declared here"),),
                help="use another name",
            )
        if name in self._noise:
            self._raise(
                "assigned-noise",
                f"`{name}` is a noise variable: it gets its value from its draw",
                span,
                related=(Label(self._noise[name][0].span, "drawn here"),),
                help="use another name for what is computed from it",
            )
        self._variables.setdefault(name, span)

    def _draw(self, sample: n.Sample) -> None:
        name = sample.name
        self._not_reserved(name, sample.span)
        if name in self._inputs:
            self._twice(name, sample.span, self._inputs[name].span)
        if name in self._variables:
            self._twice(name, sample.span, self._variables[name])
        draws = self._noise.setdefault(name, [])
        draws.append(sample)
        if (draws[0].index is None) != (sample.index is None):
            self._raise(
                "noise-index",
                f"`{name}` is drawn both with an index and without one",
                sample.span,
                related=(Label(draws[0].span, "first drawn here"),),
                help="use two names",
            )

    def _record(self, emit: n.Emit) -> None:
        first = self._tags.setdefault(emit.tag, emit)
        fields, wanted = [each.name for each in emit.fields], [each.name for each in first.fields]
        if fields != wanted:
            self._raise(
                "emit-fields",
                f"records `{emit.tag}` do not all have the same fields in the same order",
                emit.span,
                related=(Label(first.span, f"first emitted here, with {_listed(wanted) or 'no fields'}"),),
                help="give a record with other fields another tag",
            )

    def _not_reserved(self, name: str, span: Span) -> None:
        if name in _RESERVED:
            what = {"out": "the output", ALIGNMENT_COST: "the cost of the alignment so far"}
            self._raise(
                "reserved-name",
                f"`{name}` is {what.get(name, 'a function')}: nothing else can have this name",
                span,
                help="choose another name",
            )

    def _twice(self, name: str, span: Span, first: Span) -> Never:
        self._raise(
            "duplicate-name",
            f"`{name}` has a meaning already",
            span,
            related=(Label(first, "first here"),),
            help="choose another name",
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# --- reading ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an expression stands, and what it may read there.

    `assigned` are the program variables and noise variables with a value (None: all of them). `drawn` are the indexed
    draws that every path has made; `enclosing` the indexed draws inside the loop whose variable is their index.
    `binders` are names that the place itself brings. `public` allows only public inputs; `program` forbids the
    program's names altogether.
    """

    where: str
    public: bool = False
    program: bool = False
    primes: bool = False
    output: bool = False
    cost: bool = False
    assigned: frozenset[str] | None = frozenset()
    drawn: frozenset[n.Expr] = frozenset()
    local: frozenset[n.Expr] = frozenset()
    binders: frozenset[str] = frozenset()


class _Reader:
    """Checks the names of an expression against the place where it stands."""

    def __init__(self, source: Source, symbols: Symbols) -> None:
        self.source = source
        self.symbols = symbols

    def raise_(self, code: str, message: str, span: Span, **more: Any) -> Never:
        raise fault(self.source, code, message, span, **more)

    def declaration(self, item: n.Input) -> None:
        match item:
            case n.Parameter(where=where):
                self._optional(where, _Place("in `where` of a public input", public=True))
            case n.PublicVector(where=where):
                place = _Place(
                    "in `where` of a public input", public=True, binders=frozenset((ANSWER_INDEX,))
                )
                self._optional(where, place)
            case n.Queries(sensitivity=sensitivity, lattice=lattice, range=interval, where=where):
                indexed = frozenset((ANSWER_INDEX,)) if item.vector else frozenset()
                self._optional(sensitivity, _Place("in `sensitivity`", public=True, binders=indexed))
                self._optional(lattice, _Place("in `lattice`", public=True, binders=indexed))
                for bound in interval or ():
                    self.read(bound, _Place("in `range`", public=True, binders=indexed))
                self._optional(where, _Place("in `where` of queries", primes=True, binders=indexed))
            case _:
                assert_never(item)

    def _optional(self, expr: n.Expr | None, place: _Place) -> None:
        if expr is not None:
            self.read(expr, place)

    def read(self, expr: n.Expr, place: _Place) -> None:
        """Raises SpecError for the first fault in `expr`, from left to right."""
        match expr:
            case n.Number() | n.Boolean():
                pass
            case n.Name(ident, primed):
                self._name(ident, expr.span, place, primed=primed)
                if (
                    ident in self.symbols.noise
                    and ident not in place.binders
                    and self.symbols.is_indexed(ident)
                ):
                    self.raise_(
                        "noise-index",
                        f"`{ident}` is drawn with an index",
                        expr.span,
                        related=(Label(self.symbols.noise[ident][0].span, "drawn here"),),
                        help=f"write `{ident}[i]`",
                    )
            case n.Index(base, index, primed):
                self._indexed(expr, place)
                self.read(index, place)
            case n.Call(function, args):
                self._function(expr)
                for arg in args:
                    self.read(arg, place)
            case n.Unary(operand=operand):
                self.read(operand, place)
            case n.Binary(left=left, right=right) | n.Compare(left=left, right=right):
                self.read(left, place)
                self.read(right, place)
            case n.Logic(args=args):
                for arg in args:
                    self.read(arg, place)
            case n.Conditional(test, then, otherwise):
                for part in (then, test, otherwise):
                    self.read(part, place)
            case n.OutIs(index, tag):
                self._output(expr, place)
                self.read(index, place)
                self._tag(tag, expr.span)
            case n.OutField(index, field):
                self._output(expr, place)
                self.read(index, place)
                self._field(field, expr.span)
            case n.OutCount(tag):
                self._output(expr, place)
                if tag is not None:
                    self._tag(tag, expr.span)
            case _:
                assert_never(expr)

    # --- names ---

    def _name(self, name: str, span: Span, place: _Place, *, primed: bool = False) -> None:
        if name in place.binders:
            if primed:
                self.raise_(
                    "bad-prime", f"`{name}` is an index, the same on D and D'", span, help=f"write `{name}`"
                )
            return
        if name == ALIGNMENT_COST and place.cost:
            return
        self._prime(name, span, place, primed=primed)
        if name in self.symbols.inputs:
            if place.public and not self.symbols.is_public(name):
                self.raise_(
                    "not-public",
                    f"`{name}` is private: only public inputs may stand {place.where}",
                    span,
                    related=(Label(self.symbols.inputs[name].span, "declared here"),),
                )
            return
        if name in self.symbols.variables or name in self.symbols.noise:
            self._has_value(name, span, place)
            return
        self._unknown(name, span, place)

    def _prime(self, name: str, span: Span, place: _Place, *, primed: bool) -> None:
        if not primed:
            return
        if not place.primes:
            self.raise_(
                "bad-prime",
                f"`{name}'` is a value in the run on D': it may not stand {place.where}",
                span,
                help="primes stand in `align`, in `invariant` lines and in `where` of queries",
            )
        if self.symbols.is_public(name):
            self.raise_(
                "bad-prime", f"`{name}` is public, the same on D and D'", span, help=f"write `{name}`"
            )

    def _has_value(self, name: str, span: Span, place: _Place) -> None:
        if place.public or place.assigned == frozenset() and not place.program:
            self.raise_(
                "not-public",
                f"`{name}` is a variable of the program: it has no value {place.where}",
                span,
                help="only inputs may stand here",
            )
        if place.assigned is None or name in place.assigned:
            return
        if name in self.symbols.noise and self.symbols.is_indexed(name):
            return
        first = self.symbols.variables.get(name) or self.symbols.noise[name][0].span
        later = first.start >= span.start
        self.raise_(
            "maybe-unassigned",
            f"`{name}` may have no value {place.where}",
            span,
            related=(Label(first, "first assigned here" if later else "not every path comes through here"),),
            help=f"give `{name}` a value on every path that leads here",
        )

    def _unknown(self, name: str, span: Span, place: _Place) -> Never:
        if name == "out":
            self.raise_(
                "bad-output",
                "`out` is the whole output; this is no part of it",
                span,
                help="write `out[i] is TAG`, `out[i].FIELD`, `out.count(TAG)` or `len(out)`",
            )
        if name == ALIGNMENT_COST:
            self.raise_("bad-output", "the cost of the alignment has a name in `invariant` lines only", span)
        if name in ("True", "False"):
            self.raise_("unknown-name", f"unknown name `{name}`", span, help=f"write `{name.lower()}`")
        if name in ("inf", "infinity"):
            self.raise_("unknown-name", f"unknown name `{name}`", span, help="leave an infinite bound out")
        known: list[str] = [*place.binders, *self.symbols.inputs]
        if not place.public:
            known += [*self.symbols.variables, *self.symbols.noise]
        tag = name in self.symbols.tags
        self.raise_(
            "unknown-name",
            f"unknown name `{name}`" + (": it is the tag of a record" if tag else ""),
            span,
            help=nearest(name, known) or (f"for a test write `out[i] is {name}`" if tag else None),
        )

    # --- lists and draws ---

    def _indexed(self, expr: n.Index, place: _Place) -> None:
        base = expr.base
        span = self.word_at(expr.span)
        self._name(base, span, place, primed=expr.primed)
        if base in place.binders or base not in self.symbols.noise:
            return
        if not self.symbols.is_indexed(base):
            self.raise_(
                "noise-index",
                f"`{base}` is drawn without an index",
                expr.span,
                related=(Label(self.symbols.noise[base][0].span, "drawn here"),),
                help=f"write `{base}`",
            )
        self._drawn(expr, place)

    def _drawn(self, expr: n.Index, place: _Place) -> None:
        """A draw that is read must have been made: by some path at least; by all, where the index shows which draw it is."""
        if place.assigned is None:
            return
        draw = n.Index(expr.base, expr.index)
        if expr.base not in place.assigned or (draw in place.local and draw not in place.drawn):
            first = self.symbols.noise[expr.base][0].span
            self.raise_(
                "maybe-unassigned",
                f"`{self.source.text_of(expr.span)}` may not have been drawn {place.where}",
                expr.span,
                related=(Label(first, "drawn here"),),
                help="draw it on every path that leads here",
            )

    def word_at(self, span: Span) -> Span:
        """The first word of a span: what the source has up to a prime or a bracket."""
        text = self.source.text_of(span)
        length = next(
            (i for i, character in enumerate(text) if not (character.isalnum() or character == "_")), 0
        )
        return Span(span.start, span.start + length) if length else span

    # --- functions and the output ---

    def _function(self, call: n.Call) -> None:
        name = call.function
        span = self.word_at(call.span)
        if name not in n.FUNCTIONS:
            refused = REFUSED_FUNCTIONS.get(name.lower())
            if refused is not None:
                raise scope_fault(self.source, name, refused, span)
            self.raise_(
                "unknown-function",
                f"unknown function `{name}`",
                span,
                help=_FOREIGN_FUNCTIONS.get(name) or nearest(name, n.FUNCTIONS),
                notes=("calls of other mechanisms and functions of one's own are not supported yet",),
            )
        low, high = n.FUNCTIONS[name]
        if not low <= len(call.args) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            plural = "" if wanted == "1" else "s"
            self.raise_(
                "bad-arguments",
                f"`{name}` takes {wanted} argument{plural}, not {len(call.args)}",
                call.span,
            )

    def _output(self, expr: n.Expr, place: _Place) -> None:
        if not place.output:
            self.raise_(
                "bad-output",
                f"the output may not be read {place.where}",
                expr.span,
                help="`out` stands in `align` only; a program keeps what it needs in variables",
            )

    def _tag(self, tag: str, span: Span) -> None:
        if tag not in self.symbols.tags:
            self.raise_(
                "unknown-tag",
                f"no record has the tag `{tag}`",
                span,
                help=nearest(tag, self.symbols.tags)
                or f"the program emits {_listed(self.symbols.tags) or 'nothing'}",
            )

    def _field(self, field: str, span: Span) -> None:
        fields = {each.name: None for emit in self.symbols.tags.values() for each in emit.fields}
        if field not in fields:
            self.raise_(
                "unknown-field",
                f"no record has a field `{field}`",
                span,
                help=nearest(field, fields) or f"the fields are {_listed(fields) or 'none'}",
            )


# --- the program --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _State:
    """At a point of the program: names with a value on every path to it, and indexed draws that every path has made.

    For noise with an index, `assigned` has its name as soon as some path may have drawn it at some index.
    """

    assigned: frozenset[str] = frozenset()
    drawn: frozenset[n.Expr] = frozenset()

    def with_name(self, name: str) -> _State:
        """After an assignment: draws whose index mentions the name are no longer known by that index."""
        kept = frozenset(draw for draw in self.drawn if name not in names_in(draw))
        return _State(self.assigned | {name}, kept)


_Point = _State | None
"""None: no path leads here."""


def _joined(points: Iterable[_Point], indexed: frozenset[str]) -> _Point:
    """Where paths meet. `indexed` noise counts as drawn when it is on any of them."""
    states = [point for point in points if point is not None]
    if not states:
        return None
    somewhere = frozenset().union(*(state.assigned for state in states)) & indexed
    everywhere = frozenset.intersection(*(state.assigned for state in states))
    return _State(everywhere | somewhere, frozenset.intersection(*(state.drawn for state in states)))


class _Flow:
    """Definite assignment: one pass over the program."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._symbols = reader.symbols
        self._indexed = frozenset(name for name in self._symbols.noise if self._symbols.is_indexed(name))
        self._breaks: list[list[_State]] = []
        self._loop_names: list[frozenset[str]] = []
        self._local: list[frozenset[n.Expr]] = []
        self.at_draws: dict[str, list[frozenset[str]]] = {}

    def check(self, body: tuple[n.Stmt, ...]) -> None:
        self._block(body, _State())

    def _place(self, state: _State, where: str = "here") -> _Place:
        local = self._local[-1] if self._local else frozenset()
        return _Place(where, program=True, assigned=state.assigned, drawn=state.drawn, local=local)

    def _read(self, expr: n.Expr, state: _State) -> None:
        self._reader.read(expr, self._place(state))

    def _block(self, body: tuple[n.Stmt, ...], point: _Point) -> _Point:
        for statement in body:
            if point is None:
                self._reader.raise_(
                    "unreachable",
                    "this is never reached",
                    statement.span,
                    help="delete it, or the `break` above",
                )
            point = self._statement(statement, point)
        return point

    def _statement(self, statement: n.Stmt, state: _State) -> _Point:
        match statement:
            case n.Assign(name, value):
                self._read(value, state)
                self._not_looping(name, statement.span)
                return state.with_name(name)
            case n.Sample(name, index, _, args):
                for each in (*((index,) if index is not None else ()), *args):
                    self._read(each, state)
                self.at_draws.setdefault(name, []).append(state.assigned)
                drawn = frozenset() if index is None else frozenset((n.Index(name, index),))
                return _State(state.assigned | {name}, state.drawn | drawn)
            case n.Emit(fields=fields):
                for field in fields:
                    self._read(field.value, state)
                return state
            case n.Break():
                if not self._breaks:
                    self._reader.raise_(
                        "misplaced-break", "`break` stands outside of any loop", statement.span
                    )
                self._breaks[-1].append(state)
                return None
            case n.Pass():
                return state
            case n.If(branches, otherwise):
                ends: list[_Point] = []
                for branch in branches:
                    self._read(branch.test, state)
                    ends.append(self._block(branch.body, state))
                ends.append(self._block(otherwise, state))
                return _joined(ends, self._indexed)
            case n.For():
                return self._for(statement, state)
            case n.While(test, body, invariants):
                inside = self._entering(state, statement)
                self._reader.read(test, self._place(inside))
                self._loop(body, invariants, inside, inside, frozenset(), local=None)
                endless = test == n.Boolean(True)
                ends = [*self._breaks.pop(), *(() if endless else (inside,))]
                return _joined(ends, self._indexed)
            case _:
                assert_never(statement)

    def _for(self, loop: n.For, state: _State) -> _Point:
        match loop.over:
            case n.OverQueries(base, item):
                self._list(base, loop.over.span, state)
                brought = frozenset((item,) if loop.index is None else (loop.index, item))
            case n.OverRange(low, high):
                self._read(low, state)
                self._read(high, state)
                brought = frozenset((loop.index,) if loop.index is not None else ())
            case _:
                assert_never(loop.over)
        for name in sorted(brought):
            self._not_looping(name, loop.span)
        around = self._entering(state, loop)
        inside = around
        for name in sorted(brought):
            inside = inside.with_name(name)
        at_head = replace(around, assigned=around.assigned | (frozenset((loop.index,)) & brought))
        local = frozenset(
            n.Index(each.name, each.index)
            for each in statements_in(loop.body)
            if isinstance(each, n.Sample) and each.index is not None and names_in(each.index) & brought
        )
        elsewhere = self._drawn_outside(loop)
        local = frozenset(draw for draw in local if isinstance(draw, n.Index) and draw.base not in elsewhere)
        self._loop(loop.body, loop.invariants, at_head, inside, brought, local=local)
        return _joined([around, *self._breaks.pop()], self._indexed)

    def _drawn_outside(self, loop: n.For) -> frozenset[str]:
        inside = {id(each) for each in statements_in(loop.body)}
        return frozenset(
            name
            for name, draws in self._symbols.noise.items()
            if any(id(draw) not in inside for draw in draws)
        )

    def _entering(self, state: _State, loop: n.For | n.While) -> _State:
        """At the head of a loop, in any round: what was assigned before it. Earlier rounds may have drawn at other indices."""
        drawn = frozenset(
            each.name
            for each in statements_in(loop.body)
            if isinstance(each, n.Sample) and each.index is not None
        )
        entered = _State(state.assigned, state.drawn)
        for each in statements_in(loop.body):
            if isinstance(each, n.Assign):
                entered = replace(
                    entered, drawn=frozenset(d for d in entered.drawn if each.name not in names_in(d))
                )
        return replace(entered, assigned=entered.assigned | drawn)

    def _loop(
        self,
        body: tuple[n.Stmt, ...],
        invariants: tuple[n.Expr, ...],
        at_head: _State,
        inside: _State,
        brought: frozenset[str],
        *,
        local: frozenset[n.Expr] | None,
    ) -> None:
        place = replace(self._place(at_head, "at the head of the loop"), primes=True, cost=True)
        for invariant in invariants:
            self._reader.read(invariant, place)
        self._breaks.append([])
        self._loop_names.append(brought)
        self._local.append(local if local is not None else (self._local[-1] if self._local else frozenset()))
        self._block(body, inside)
        self._local.pop()
        self._loop_names.pop()

    def _list(self, base: str, span: Span, state: _State) -> None:
        """What a loop goes over must be a list: of queries, or public."""
        item = self._symbols.inputs.get(base)
        if isinstance(item, n.PublicVector) or (isinstance(item, n.Queries) and item.vector):
            return
        self._read(n.Name(base, span=span), state)
        self._reader.raise_(
            "not-a-list",
            f"`{base}` is one value, not a list",
            span,
            help=f"to repeat something, write `for i in range({base}):`" if item is not None else None,
        )

    def _not_looping(self, name: str, span: Span) -> None:
        if any(name in names for names in self._loop_names):
            self._reader.raise_(
                "assigned-loop-variable",
                f"`{name}` belongs to the loop around this: only the loop changes it",
                span,
                help="use another name",
            )


# --- the alignment ------------------------------------------------------------------------------------------


class _Alignment:
    def __init__(self, reader: _Reader, at_draws: Mapping[str, list[frozenset[str]]]) -> None:
        self._reader = reader
        self._symbols = reader.symbols
        self._at_draws = at_draws

    def check(self, items: tuple[n.AlignItem, ...]) -> None:
        for item in items:
            match item:
                case n.Shift():
                    self._shift(item)
                case n.CaseSplit(cases, otherwise):
                    for case in cases:
                        self._case(case)
                    self.check(otherwise)
                case _:
                    assert_never(item)

    def _case(self, case: n.Case) -> None:
        """The test of a case is evaluated where the lines below it are: at the draws that they move."""
        moved = {shift.name for shift in shifts_in(case.items) if shift.name in self._symbols.noise}
        self._reader.read(case.test, self._place(moved, "where the noise below is drawn"))
        self.check(case.items)

    def _place(self, moved: Iterable[str], where: str, binders: frozenset[str] = frozenset()) -> _Place:
        """Noise may be named anywhere: whether it was drawn earlier is the matter of condition `acyclic`."""
        states = [state for name in moved for state in self._at_draws.get(name, ())]
        assigned = (
            frozenset.intersection(*states) if states else frozenset(self._symbols.variables)
        ) | frozenset(self._symbols.noise)
        return _Place(where, program=True, primes=True, output=True, assigned=assigned, binders=binders)

    def _shift(self, shift: n.Shift) -> None:
        name = shift.name
        reader = self._reader
        span = reader.word_at(shift.span)
        if name not in self._symbols.noise:
            known = _listed(self._symbols.noise)
            what = (
                "is an input" if name in self._symbols.inputs
                else "is computed, not drawn" if name in self._symbols.variables
                else "is not drawn in the program"
            )  # fmt: skip
            reader.raise_(
                "unknown-noise",
                f"`{name}` {what}: only noise can be moved",
                span,
                help=nearest(name, self._symbols.noise) or f"the noise variables are {known or 'none'}",
            )
        draw = Label(self._symbols.noise[name][0].span, "drawn here")
        if self._symbols.is_indexed(name) != (shift.index is not None):
            indexed = self._symbols.is_indexed(name)
            reader.raise_(
                "noise-index",
                f"`{name}` is drawn {'with' if indexed else 'without'} an index",
                span,
                related=(draw,),
                help=f"write `{name}[i] …`" if indexed else f"write `{name} …`",
            )
        binders = self._binders(shift.index)
        place = self._place((name,), f"where `{name}` is drawn", binders)
        reader.read(shift.value, place)
        if shift.guard is not None:
            reader.read(shift.guard, place)

    def _binders(self, index: n.Expr | None) -> frozenset[str]:
        if index is None:
            return frozenset()
        if isinstance(index, n.Name) and index.ident not in self._symbols.inputs and not index.primed:
            if index.ident in _RESERVED:
                self._reader.raise_("reserved-name", f"`{index.ident}` cannot name an index", index.span)
            return frozenset((index.ident,))
        self._reader.read(index, _Place("as the index of a line in `align`", public=True))
        return frozenset()
