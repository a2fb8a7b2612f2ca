"""What the names of a spec stand for: inputs, noise, program variables, tags of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Never

from aligncheck.language.diagnostics import Faults, Label
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.layout import word_in
from aligncheck.language.syntax.walk import names_in, own_expressions, statements_in

ALIGNMENT_COST = "alignment_cost"
"""In invariants: the cost of the alignment so far."""

ANSWER_INDEX = "i"
"""In `sensitivity` and in a list's `where`: the index of the answer."""

RESERVED_NAMES = {
    **dict.fromkeys((*n.FUNCTIONS, n.CUBE_ROOT, "argmax", "argmin", n.LOG_SUM), "a function"),
    "out": "the output",
    ALIGNMENT_COST: "the cost of the alignment so far",
}
"""Names that nothing else can have, and what they stand for."""


@dataclass(frozen=True, slots=True)
class SymbolTable:
    """What the names of a spec stand for.

    `noise` has the draws of each noise variable, `variables` the place of each program variable's first
    assignment (loop variables included), `tags` the first record with each tag. `selections` has the one
    assignment of each variable that `top` gives. `indices` are the variables that are nothing but the index
    of loops, `looping` those that get their values from loops only. `calls` has the one call that gives each
    name its records, `functions` and `uses` what the lines above the inputs declare. `read` are the
    names that the program reads, `chosen` the variables that `argmax` and `argmin` give.
    """

    inputs: Mapping[str, n.Input]
    noise: Mapping[str, tuple[n.Sample, ...]]
    variables: Mapping[str, Span]
    tags: Mapping[str, n.Emit]
    selections: Mapping[str, n.Assign]
    indices: frozenset[str]
    looping: frozenset[str]
    calls: Mapping[str, n.Invoke] = field(default_factory=dict)
    functions: Mapping[str, n.Function] = field(default_factory=dict)
    uses: Mapping[str, n.Use] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()

    def callee(self, call: str) -> n.Mechanism | None:
        """The mechanism whose output a name holds, if it holds one."""
        invoked = self.calls.get(call)
        use = self.uses.get(invoked.mechanism) if invoked is not None else None
        return use.contract.mechanism if use is not None and use.contract is not None else None

    def released(self, call: str) -> dict[str, n.Emit]:
        """The records that what a call released may have, by their tags."""
        callee = self.callee(call)
        if callee is None:
            return {}
        emits = [each for each in statements_in(callee.body) if isinstance(each, n.Emit)]
        return {each.tag: each for each in emits}

    def is_indexed(self, noise: str) -> bool:
        """Whether this noise variable is drawn with an index."""
        return self.noise[noise][0].index is not None

    def is_public(self, name: str) -> bool:
        """Whether this is a public input."""
        return isinstance(self.inputs.get(name), n.Parameter | n.PublicVector)

    def is_list(self, name: str) -> bool:
        """Whether this is an input with many entries: a list of queries, or a public one."""
        item = self.inputs.get(name)
        return isinstance(item, n.PublicVector) or (isinstance(item, n.Queries) and item.vector)


def symbols_of(source: Source, mechanism: n.Mechanism) -> SymbolTable:
    """Collects the names. Raises SpecError where one name is given two meanings, or a reserved one."""
    collector = _Collector(source)
    for function in mechanism.functions:
        collector.function(function)
    for use in mechanism.uses:
        collector.use(use)
    for item in mechanism.inputs:
        collector.declare(item)
    for statement in statements_in(mechanism.body):
        collector.statement(statement)
    body = tuple(statements_in(mechanism.body))
    read = frozenset(name for s in body for e in own_expressions(s) for name in names_in(e))
    chosen = frozenset(
        s.name
        for s in body
        if isinstance(s, n.Assign) and isinstance(s.value, n.Gather) and s.value.function.startswith("arg")
    )
    return replace(collector.symbols(), read=read, chosen=chosen)


def listed(names: Iterable[str]) -> str:
    """Names as they are listed in a message; empty for none."""
    return ", ".join(f"`{name}`" for name in names)


class _Collector(Faults):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._inputs: dict[str, n.Input] = {}
        self._noise: dict[str, list[n.Sample]] = {}
        self._variables: dict[str, Span] = {}
        self._tags: dict[str, n.Emit] = {}
        self._selections: dict[str, n.Assign] = {}
        self._assigned: set[str] = set()
        self._loops: dict[str, Span] = {}
        self._calls: dict[str, n.Invoke] = {}
        self._functions: dict[str, n.Function] = {}
        self.uses: dict[str, n.Use] = {}
        self._densities: dict[str, n.Stmt] = {}
        self._items: set[str] = set()

    def symbols(self) -> SymbolTable:
        for tag, emit in self._tags.items():
            if not emit.fields and (tag in self._inputs or tag in self._noise or tag in self._variables):
                self.fail(
                    "missing-tag",
                    f"`{tag}` is a value, and a record that is a tag alone releases none",
                    emit.span,
                    help=f"write `emit TAG({tag})`, with a tag of your own",
                )
        noise = {name: tuple(draws) for name, draws in self._noise.items()}
        looping = frozenset(self._variables) - self._assigned
        return SymbolTable(
            self._inputs,
            noise,
            self._variables,
            self._tags,
            self._selections,
            looping - self._items,
            looping,
            self._calls,
            self._functions,
            self.uses,
        )

    def declare(self, item: n.Input) -> None:
        for name in item.names:
            self._is_free(name, item.span)
            if name == ANSWER_INDEX:
                self.fail(
                    "reserved-name",
                    "`i` is the index of an answer in `sensitivity`: no input can have this name",
                    word_in(self.source, item.span, name),
                    help="choose another name",
                )
            if name in self._inputs:
                self._twice(name, item.span, self._inputs[name].span)
            self._inputs[name] = item

    def function(self, function: n.Function) -> None:
        self._is_free(function.name, function.span)
        self._functions[function.name] = function

    def use(self, use: n.Use) -> None:
        """A mechanism that is called: its name is no public function's."""
        if use.name in self._functions:
            self._twice(use.name, use.span, self._functions[use.name].span)
        self.uses[use.name] = use

    def statement(self, statement: n.Stmt) -> None:
        match statement:
            case n.Invoke(name):
                self._once(name, statement)
                self._calls[name] = statement
            case n.Assign():
                self._assign(statement)
            case n.Sample():
                self._draw(statement)
            case n.Choose(name) | n.Logistic(name):
                self._once(name, statement)
                self._densities[name] = statement
            case n.For():
                self._loop(statement)
            case n.Emit():
                self._record(statement)
            case n.If() | n.While() | n.Empty():
                pass

    def _assign(self, assign: n.Assign) -> None:
        name = assign.name
        selects = isinstance(assign.value, n.Gather) and assign.value.function in n.SELECTING
        if selects and name in self._variables and name not in self._selections:
            self._only_selected(name, assign.span, self._variables[name])
        self._variable(name, assign.span)
        if name in self._loops:
            self.fail(
                "assigned-loop-variable",
                f"`{name}` belongs to a loop: only the loop changes it",
                word_in(self.source, assign.span, name),
                related=(Label(self._loops[name], "the loop"),),
                help="use another name",
            )
        self._assigned.add(name)
        if selects:
            self._selections[name] = assign

    def _once(self, name: str, stmt: n.Stmt) -> None:
        """A name that holds records gets them in one place, so that they are those of one call; and what is
        drawn by a density is drawn once.
        """
        if name in self._variables:
            self._twice(name, stmt.span, self._variables[name])
        self._variable(name, stmt.span)
        self._assigned.add(name)

    def _only_selected(self, name: str, span: Span, other: Span) -> Never:
        self.fail(
            "bad-selection",
            f"`{name}` is a selection, which gets its value in one place only",
            word_in(self.source, span, name),
            related=(Label(other, "it gets a value here, too"),),
            help="use another name",
        )

    def _loop(self, loop: n.For) -> None:
        item = loop.over.item if isinstance(loop.over, n.OverQueries) else None
        for name in (item, loop.index):
            if name is not None:
                self._looped(name, loop.span)
        if item is not None:
            self._items.add(item)
        if item == loop.index:
            self.fail("duplicate-name", f"`{item}` is both the index and the answer", loop.span)

    def _looped(self, name: str, span: Span) -> None:
        """A loop's variable is gone after the loop, so it cannot be one that has a value elsewhere."""
        self._variable(name, span)
        self._loops.setdefault(name, word_in(self.source, span, name))
        if name in self._assigned:
            self.fail(
                "assigned-loop-variable",
                f"`{name}` has a value already, which the loop would take away",
                word_in(self.source, span, name),
                related=(Label(self._variables[name], "it gets its value here"),),
                help="use another name",
            )

    def _variable(self, name: str, span: Span) -> None:
        self._is_free(name, span)
        if name in self._inputs:
            self.fail(
                "assigned-input",
                f"`{name}` is an input and keeps its value",
                word_in(self.source, span, name),
                related=(Label(self._inputs[name].span, "declared here"),),
                help="use another name",
            )
        drawn = self._noise[name][0] if name in self._noise else self._densities.get(name)
        if drawn is not None:
            self.fail(
                "assigned-noise",
                f"`{name}` is a noise variable: it gets its value from its draw",
                word_in(self.source, span, name),
                related=(Label(drawn.span, "drawn here"),),
                help="use another name for what is computed from it",
            )
        if name in self._selections:
            self._only_selected(name, span, self._selections[name].span)
        if name in self._calls:
            self._twice(name, span, self._calls[name].span)
        self._variables.setdefault(name, span)

    def _draw(self, sample: n.Sample) -> None:
        name = sample.name
        self._is_free(name, sample.span)
        if name in self._inputs:
            self._twice(name, sample.span, self._inputs[name].span)
        if name in self._variables:
            self._twice(name, sample.span, self._variables[name])
        draws = self._noise.setdefault(name, [])
        draws.append(sample)
        if (draws[0].index is None) != (sample.index is None):
            self.fail(
                "noise-index",
                f"`{name}` is drawn both with an index and without one",
                sample.span,
                related=(Label(draws[0].span, "first drawn here"),),
                help="use two names",
            )

    def _record(self, emit: n.Emit) -> None:
        first = self._tags.setdefault(emit.tag, emit)
        wanted = [each.name for each in first.fields]
        names = {*wanted, *(each.name for each in emit.fields)}
        if [each.name for each in emit.fields] != wanted:
            self.fail(
                "emit-fields",
                f"records `{emit.tag}` do not all have the same fields in the same order",
                emit.span,
                related=(Label(first.span, f"first emitted here, with {listed(wanted) or 'no fields'}"),),
                help=f"name the field in every record: `emit {emit.tag}({(names - {'value'}).pop()} = …)`"
                if len(names) == 2 and "value" in names and len(wanted) == len(emit.fields) == 1
                else f"write `emit {emit.tag}({', '.join(f'{each} = …' for each in wanted)})`, or give this "
                "record another tag",
            )

    def _is_free(self, name: str, span: Span) -> None:
        """Nothing has a name that is reserved, or that of a public function."""
        if name in self._functions:
            self._twice(name, span, self._functions[name].span)
        if name in RESERVED_NAMES:
            self.fail(
                "reserved-name",
                f"`{name}` is {RESERVED_NAMES[name]}: nothing else can have this name",
                word_in(self.source, span, name),
                help="choose another name",
            )

    def _twice(self, name: str, span: Span, first: Span) -> Never:
        self.fail(
            "duplicate-name",
            f"`{name}` has a meaning already",
            word_in(self.source, span, name),
            related=(Label(first, "first here"),),
            help="choose another name",
        )
