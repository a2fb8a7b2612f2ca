"""A verified mechanism as a Python module: readable, typed, and doing exactly what the spec says.

The module imports `aligncheck.runtime` and the standard library. The program keeps the spec's statements, the
order of draws and each comparison as it is written; only what Python spells otherwise is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from aligncheck import __version__
from aligncheck.emit import describe
from aligncheck.emit.estimates import released_gaps
from aligncheck.emit.expressions import RUNTIME_FUNCTIONS, Writer
from aligncheck.emit.gathers import ARRAY_FUNCTIONS, SCORE_FUNCTIONS
from aligncheck.emit.kinds import Kind, Kinds, kind_of_sort, kinds_of
from aligncheck.emit.layout import STEP, Brackets, Item, bracket_lines, call, line, operator_lines, quoted
from aligncheck.emit.names import class_name, fresh, python_names
from aligncheck.emit.positions import answered_queries
from aligncheck.emit.program import Program, loop_locals, names_read
from aligncheck.emit.records import RecordClass, RecordKey, record_classes
from aligncheck.emit.streams import streamed
from aligncheck.emit.vectors import lists_of
from aligncheck.forms import rounds, units_of
from aligncheck.modes import Mode
from aligncheck.syntax import nodes
from aligncheck.syntax.contract import contract_of
from aligncheck.syntax.unparse import unparse_expr
from aligncheck.syntax.walk import (
    expressions_in,
    lists_per_answer,
    names_in,
    parts_of,
    statements_in,
    subexpressions,
)
from aligncheck.verdict import NAMES, Proof, Verified

_BASES = {
    Mode.LATTICE: "LatticeMechanism",
    Mode.REFINED: "RefinedMechanism",
    Mode.FLOAT: "FloatMechanism",
}
_NUMBERS = {
    Mode.LATTICE: "runtime.rationals",
    Mode.REFINED: "runtime.rationals",
    Mode.FLOAT: "runtime.reals",
}
"""Where irrational functions come from."""

_RUNTIME = SCORE_FUNCTIONS | {
    "absolute",
    "Answers",
    "Budget",
    "clip",
    *_BASES.values(),
    "IntLike",
    "Mechanism",
    "Noise",
    "ParameterInfo",
    "QueryInfo",
    "Real",
    "RealLike",
    "Release",
    "Result",
    "Spec",
    "FunctionInfo",
    "GapNoise",
    "boolean",
    "boolean_answer",
    "boolean_answers",
    "boolean_stream",
    "checked_boolean",
    "checked_booleans",
    "checked_integer",
    "checked_integers",
    "checked_real",
    "checked_reals",
    "booleans",
    "boolean_function",
    "has_tag",
    "integer",
    "integer_answer",
    "integer_function",
    "integer_answers",
    "integer_stream",
    "integers",
    "is_multiple",
    "real",
    "real_answer",
    "real_function",
    "real_answers",
    "real_stream",
    "reals",
    "require",
    "require_answers",
    "resolution",
    "whole",
}
_OWN = frozenset(
    {
        "Callable",
        "ClassVar",
        "Fraction",
        "Iterable",
        "Iterator",
        "Never",
        "Sequence",
        "TypeAlias",
        "dataclass",
        "field",
        "math",
        "noise",
        "release",
        "run",
    }
)
_INHERITED = frozenset(
    {
        "bound",
        "budget",
        "check",
        "gamma",
        "mode",
        "remaining",
        "self",
        "sensitivities",
        "spec",
        "spent",
        "stream",
        "testing_seed",
        "with_noise",
    }
)
_RESERVED = _RUNTIME | RUNTIME_FUNCTIONS | ARRAY_FUNCTIONS | _OWN | _INHERITED

_GIVEN = {nodes.Sort.REAL: "RealLike", nodes.Sort.INT: "IntLike", nodes.Sort.BOOL: "bool"}
_KEPT = {nodes.Sort.REAL: "Fraction", nodes.Sort.INT: "int", nodes.Sort.BOOL: "bool"}
_CHECKS = {nodes.Sort.REAL: "real", nodes.Sort.INT: "integer", nodes.Sort.BOOL: "boolean"}


def emit_python(verified: Verified, mode: Mode = Mode.LATTICE) -> str:
    """The text of a Python module with one class that runs the mechanism.

    Takes nothing but a `Verified`, so that nothing unproved can be compiled; that its form for the mode is
    proved as well (`aligncheck.forms`) is for the caller to see to. The text depends only on the spec, the
    proof's route, the mode and this package's version. Called mechanisms run in the same mode.

    Raises:
        TypeError: the argument is no `Verified`.
    """
    if not isinstance(verified, Verified):
        raise TypeError("only a `Verified` mechanism can be compiled")
    return _Module.of(verified, mode).text()


@dataclass(frozen=True, slots=True)
class _Module:
    verified: Verified
    mode: Mode
    names: Mapping[str, str]
    kinds: Kinds
    classes: Mapping[RecordKey, RecordClass]
    class_name: str
    alias: str
    callees: Mapping[str, _Module] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    """Names that the written text needs to import."""

    @classmethod
    def of(cls, verified: Verified, mode: Mode, taken: frozenset[str] = frozenset()) -> _Module:
        """`taken` are names that other mechanisms in the same file have."""
        mechanism = verified.mechanism
        kinds = kinds_of(mechanism)
        taken |= _RESERVED
        callees: dict[str, _Module] = {}
        for use in mechanism.uses:
            callees[use.name] = callee = cls.of(_verified(use), mode, taken)
            taken |= callee.defined
        unsafe = "unsafe_" if mode is Mode.FLOAT else ""
        own = class_name(f"{unsafe}{mechanism.name}", taken)
        alias = class_name(f"{own}Record", taken | {own})
        classes = record_classes(mechanism, kinds, taken | {own, alias})
        reserved = taken | {own, alias} | {c.name for c in classes.values()}
        names = python_names(_idents(mechanism), reserved)
        return cls(verified, mode, names, kinds, classes, own, alias, callees)

    @property
    def defined(self) -> frozenset[str]:
        """The names that this mechanism and its callees have in the file."""
        own = {self.class_name, self.alias, *(c.name for c in self.classes.values())}
        return frozenset(own).union(*(callee.defined for callee in self.callees.values()))

    @property
    def mechanism(self) -> nodes.Mechanism:
        return self.verified.mechanism

    def text(self) -> str:
        """The whole file. The imports are written last, when all of the rest has said what it needs."""
        blocks = self._blocks()
        head = describe.docstring(describe.of_module(self.verified, __version__), "")
        opening = [*head, "", "# ruff: noqa", "", *self._imports()]
        return "\n\n\n".join("\n".join(block) for block in (opening, *blocks)) + "\n"

    def _blocks(self) -> list[list[str]]:
        """What the file defines, callees first."""
        blocks: list[list[str]] = []
        for callee in self.callees.values():
            blocks += callee._blocks()
            self.used.update(callee.used)
        return [*blocks, *self._records(), list(self._alias()), list(self._class())]

    def _all_classes(self) -> Iterator[RecordClass]:
        for callee in self.callees.values():
            yield from callee._all_classes()
        yield from self.classes.values()

    def _imports(self) -> Iterator[str]:
        typing = sorted(self.used & {"ClassVar", "Never", "TypeAlias"})
        numbers = _NUMBERS[self.mode]
        if "math" in self.used:
            yield "import math"
        if abstract := sorted(self.used & {"Callable", "Iterable", "Iterator", "Sequence"}):
            yield f"from collections.abc import {', '.join(abstract)}"
        classes = list(self._all_classes())
        if classes:
            renamed = any(spec != python for c in classes for spec, python, _ in c.fields)
            yield f"from dataclasses import dataclass{', field' if renamed else ''}"
        if "Fraction" in self.used:
            yield "from fractions import Fraction"
        yield f"from typing import {', '.join(typing)}"
        yield ""
        known_in = {"runtime": _RUNTIME, "runtime.arrays": ARRAY_FUNCTIONS, numbers: RUNTIME_FUNCTIONS}
        for module, known in known_in.items():
            if self.used & known:
                yield f"from aligncheck.{module} import ("
                for name in sorted(self.used & known, key=_import_order):
                    yield f"{STEP}{name},"
                yield ")"

    # --- records ------------------------------------------------------------------------------------------

    def _records(self) -> Iterator[list[str]]:
        for record in self.classes.values():
            self.used.add("ClassVar")
            lines = ["@dataclass(frozen=True, slots=True)", f"class {record.name}:"]
            lines += describe.docstring([f"A record `{record.tag}` of `{self.mechanism.name}`."], STEP)
            lines += ["", f'{STEP}tag: ClassVar[str] = "{record.tag}"']
            for spec, python, kind in record.fields:
                self.used.update({"Real"} if kind is Kind.REAL else ())
                metadata = "" if spec == python else f' = field(metadata={{"name": "{spec}"}})'
                lines.append(f"{STEP}{python}: {kind.value}{metadata}")
            yield lines

    def _alias(self) -> Iterator[str]:
        self.used.update({"TypeAlias"} if self.classes else {"Never", "TypeAlias"})
        names = [c.name for c in self.classes.values()] or ["Never"]
        yield from operator_lines(f"{self.alias}: TypeAlias = ", names, ["|"] * (len(names) - 1))
        yield from describe.docstring([f"What `{self.class_name}` releases."], "")

    # --- the class ----------------------------------------------------------------------------------------

    def _class(self) -> Iterator[str]:
        base = _BASES[self.mode]
        self.used.update({base, "ClassVar", "Spec"})
        yield f"class {self.class_name}({base}):"
        described = describe.of_class(self.verified, self.names, STEP, self.mode)
        yield from describe.docstring(described, STEP)
        yield ""
        yield from bracket_lines(self._spec(), f"{STEP}spec: ClassVar[Spec] = ")
        if self.callees:
            names = ", ".join(callee.class_name for callee in self.callees.values())
            self.used.add("Mechanism")
            yield f"{STEP}callees: ClassVar[tuple[type[Mechanism], ...]] = ({names},)"
        parts = (
            self._init,
            self._call,
            self._stream,
            self._check,
            self._sensitivities,
            self._claims,
            self._program,
        )
        for part in parts:
            if lines := list(part()):
                yield from ["", *lines]

    def _spec(self) -> Brackets:
        parameters: list[Item] = []
        queries: list[Item] = []
        for item in self.mechanism.inputs:
            match item:
                case nodes.Parameter(name=name, sort=sort, where=where):
                    parameters.append(call("ParameterInfo", self._info(name, sort, where)))
                case nodes.PublicVector(name=name, sort=sort, where=where):
                    info = self._info(name, sort, where)
                    parameters.append(call("ParameterInfo", [*info[:3], "vector=True", *info[3:]]))
                case nodes.Queries(names=names, sort=sort, vector=vector):
                    differs = [f"vector={vector}", f"adjacency={quoted(item.adjacency.value)}"]
                    if item.sensitivity is not None:
                        differs.append(f"sensitivity={quoted(unparse_expr(item.sensitivity))}")
                    if item.lattice is not None:
                        differs.append(f"lattice={quoted(unparse_expr(item.lattice))}")
                    if any(self._speaks_of(name) for name in names):
                        differs.append("restricted=True")
                    queries += [
                        call("QueryInfo", [*self._info(name, sort, None), *differs]) for name in names
                    ]
                case _:
                    assert_never(item)
        self.used.update(({"ParameterInfo"} if parameters else set()) | ({"QueryInfo"} if queries else set()))
        arguments: list[Item] = [
            f"name={quoted(self.mechanism.name)}",
            f"claim={quoted(unparse_expr(self.mechanism.privacy))}",
            *([] if self.mechanism.most is None else [f"bound={quoted(unparse_expr(self.mechanism.most))}"]),
            Brackets("parameters=(", tuple(parameters)),
            Brackets("queries=(", tuple(queries)),
        ]
        functions: list[Item] = [
            call("FunctionInfo", [quoted(f.name), quoted(self.names[f.name])])
            for f in self.mechanism.functions
        ]
        if functions:
            self.used.add("FunctionInfo")
            arguments.append(Brackets("functions=(", tuple(functions)))
        return call("Spec", arguments)

    def _info(self, name: str, sort: nodes.Sort, where: nodes.Expr | None) -> list[str]:
        info = [quoted(name), quoted(self.names[name]), quoted(sort.value)]
        return info if where is None else [*info, f"where={quoted(unparse_expr(where))}"]

    def _init(self) -> Iterator[str]:
        inner = STEP * 2
        yield f"{STEP}def __init__("
        yield f"{inner}self,"
        yield f"{inner}*,"
        for item in self.public:
            given = _GIVEN[item.sort]
            self.used.add(given)
            is_list = isinstance(item, nodes.PublicVector)
            self.used.update({"Answers"} if is_list else set())
            yield f"{inner}{self.names[item.name]}: {'Answers' if is_list else given},"
        for function in self.mechanism.functions:
            self.used.add("Callable")
            kinds = [_passed(sort) for sort in function.args]
            result = _passed(function.result)
            self.used.update({"Real"} & {*kinds, result})
            yield f"{inner}{self.names[function.name]}: Callable[[{', '.join(kinds)}], {result}],"
        self.used.update({"Budget"} | ({"RealLike"} if self.stepped else set()))
        if self.stepped:
            yield f"{inner}gamma: RealLike | None = None,"
        yield f"{inner}budget: Budget | None = None,"
        yield f"{inner}testing_seed: int | None = None,"
        yield f"{STEP}) -> None:"
        yield f"{inner}super().__init__(budget=budget, testing_seed=testing_seed)"
        for item in self.public:
            check = _CHECKS[item.sort] + ("s" if isinstance(item, nodes.PublicVector) else "")
            self.used.add(check)
            python = self.names[item.name]
            yield from bracket_lines(call(check, [quoted(item.name), python]), f"{inner}self.{python} = ")
        for function in self.mechanism.functions:
            check = f"{_CHECKS[function.result]}_function"
            self.used.add(check)
            python = self.names[function.name]
            yield from bracket_lines(call(check, [quoted(function.name), python]), f"{inner}self.{python} = ")
        attributes = self._writer(self._attributes())
        for item in self.public:
            for condition in _conditions(item.where, self.private):
                if not names_in(condition) & self.private:
                    yield from self._require(item.name, condition, attributes, inner)
        if self.stepped:
            units = tuple(self._unit(unit, attributes) for unit in units_of(self.mechanism))
            self.used.add("resolution")
            step = call("resolution", ["gamma", Brackets("{", units, "}")])
            yield from bracket_lines(step, f"{inner}self.gamma = ")
        bound = self._most
        if not names_in(bound) & self.private:
            yield line(f"self.bound = {attributes.of_kind(bound, Kind.REAL)}", inner)

    @property
    def stepped(self) -> bool:
        """Whether it computes on a lattice, or rounds what it releases to one."""
        return self.mode is not Mode.FLOAT

    @property
    def _most(self) -> nodes.Expr:
        """The most that an output costs."""
        return self.mechanism.privacy if self.mechanism.most is None else self.mechanism.most

    def _unit(self, unit: nodes.Expr, attributes: Writer) -> str:
        """What the step of the lattice must divide: a number, or all entries of a list."""
        text = quoted(unparse_expr(unit))
        entries = self._entries_of(unit)
        if entries is None:
            return f"{text}: {attributes.expression(unit)}"
        inner = self._writer({**attributes.names, "i": "i"})
        return f"{text}: [{inner.expression(unit)} for i in range(len({attributes.names[entries]}))]"

    def _require(self, name: str, condition: nodes.Expr, writer: Writer, indent: str) -> Iterator[str]:
        """The check of one part of a public input's `where` clause."""
        self.used.add("require")
        written = self._for_every_entry(condition, writer, writer.names[name])
        arguments = [written, quoted(name), writer.names[name], quoted(unparse_expr(condition))]
        yield from bracket_lines(call("require", arguments), indent)

    def _for_every_entry(self, condition: nodes.Expr, writer: Writer, entries: str) -> str:
        """A condition that mentions `i` holds for every index, as it does in a declaration."""
        if "i" not in names_in(condition) or self.declared("i"):
            return writer.expression(condition)
        inner = self._writer({**writer.names, "i": "i"})
        return f"all({inner.expression(condition)} for i in range(len({entries})))"

    def _call(self) -> Iterator[str]:
        self.used.add("Result")
        inner, within = STEP * 2, STEP * 3
        read = self._read_names()
        given = [f"{self.names[n]}: {self._given(item)}" for item, n in self._each_query()]
        yield from bracket_lines(call("def __call__", ["self", *given]), STEP, f" -> Result[{self.alias}]:")
        yield from describe.docstring(describe.of_call(self.mechanism, self.names, inner), inner)
        attributes = self._writer({**self._attributes(), **read})
        passed: list[Item] = ["run.noise", "run.release"]
        for item, name in self._each_query():
            reader = f"{_CHECKS[item.sort]}_answer{'s' if item.vector else ''}"
            self.used.add(reader)
            arguments = [quoted(name), self.names[name], *self._domain_of(item)]
            yield from bracket_lines(call(reader, arguments), f"{inner}{read[name]} = ")
            passed.append(self._held(item, f"{read[name]}.values" if item.vector else read[name]))
        yield from self._lengths(attributes, inner)
        lists = tuple(f"{quoted(n)}: {read[n]}" for item, n in self._each_query() if item.vector)
        begun = call("self._run", [Brackets("{", lists, "}")] if lists else [])
        yield from bracket_lines(begun, f"{inner}with ", " as run:")
        program = call("self._program", passed)
        if self._streamed is None:
            yield from bracket_lines(program, within)
        else:
            yield from bracket_lines(program, f"{within}for _ in ", ":")
            yield f"{within}{STEP}pass"
        yield f"{inner}return run.result()"

    def _stream(self) -> Iterator[str]:
        """For mechanisms that look at one answer after the other."""
        if self._streamed is None:
            return
        self.used.update({"Iterable", "Iterator"})
        inner = STEP * 2
        read = self._read_names()
        given = [
            f"{self.names[n]}: {self._streamed_answers(item) if item.vector else self._given(item)}"
            for item, n in self._each_query()
        ]
        yield from bracket_lines(call("def stream", ["self", *given]), STEP, f" -> Iterator[{self.alias}]:")
        yield from describe.docstring(describe.of_stream(self.mechanism, self.names, inner), inner)
        passed: list[Item] = ["run.noise", "run.release"]
        for item, name in self._each_query():
            reader = f"{_CHECKS[item.sort]}_{'stream' if item.vector else 'answer'}"
            self.used.add(reader)
            arguments = [quoted(name), self.names[name], *self._domain_of(item)]
            yield from bracket_lines(call(reader, arguments), f"{inner}{read[name]} = ")
            if item.vector and kind_of_sort(item.sort) is Kind.REAL:
                each = f"(run.noise.answer(answer, exact={_exact(item)}) for answer in {read[name]})"
                passed.append(each)
            else:
                passed.append(self._held(item, read[name]))
        yield f"{inner}run = self._run()"
        yield from bracket_lines(call("run.stream", [call("self._program", passed)]), f"{inner}return ")

    def _check(self) -> Iterator[str]:
        """What is declared of the answers, and of parameters together with answers."""
        if not self.private:
            return
        inner = STEP * 2
        read = self._read_names()
        given = [f"{self.names[n]}: {self._given(item)}" for item, n in self._each_query()]
        yield from bracket_lines(call("def check", ["self", *given]), STEP, " -> None:")
        yield from describe.docstring(describe.of_check(inner), inner)
        attributes = self._writer({**self._attributes(), **read})
        for item, name in self._each_query():
            reader = f"checked_{_CHECKS[item.sort]}{'s' if item.vector else ''}"
            self.used.add(reader)
            needed = item.where is not None or any(True for _ in self._domain(item, name, attributes))
            needed = needed or any(name in names_in(c) for c in self._conditions_of_answers())
            prefix = f"{inner}{read[name]} = " if needed else inner
            yield from bracket_lines(call(reader, [quoted(name), self.names[name]]), prefix)
        yield from self._lengths(attributes, inner)
        yield from self._values(attributes, inner)

    def _sensitivities(self) -> Iterator[str]:
        """Δ of each list of answers, as numbers: the spec has expressions."""
        attributes = self._writer(self._attributes())
        found: list[Item] = []
        for item, name in self._each_query():
            if item.sensitivity is not None:
                least = self._least(item.sensitivity, attributes)
                found.append(f"{quoted(name)}: {least}")
        if found:
            self.used.add("Real")
            yield f"{STEP}def sensitivities(self) -> dict[str, Real]:"
            yield from describe.docstring(["How far one answer may move, by private input."], STEP * 2)
            yield from bracket_lines(Brackets("{", tuple(found), "}"), f"{STEP * 2}return ")

    def _least(self, expr: nodes.Expr, attributes: Writer) -> str:
        """The value of an expression, or the least of its values at all indices."""
        entries = self._entries_of(expr)
        if entries is None:
            return attributes.expression(expr)
        inner = self._writer({**attributes.names, "i": "i"})
        return f"min({inner.expression(expr)} for i in range(len({attributes.names[entries]})))"

    def _entries_of(self, expr: nodes.Expr) -> str | None:
        """A list at whose indices a declaration has its values, if it has several."""
        parts = [e for e in subexpressions(expr) if isinstance(e, nodes.Index)]
        lists = sorted(e.base for e in parts if e.index == nodes.Name("i"))
        return lists[0] if lists and not self.declared("i") else None

    def _speaks_of(self, name: str) -> bool:
        """Whether a `where` clause says something of the values of these answers."""
        conditions = self._conditions_of_answers()
        return any(name in names_in(c) and not _of_lengths(c, self.private) for c in conditions)

    def _conditions_of_answers(self) -> Iterator[nodes.Expr]:
        for item in self.mechanism.inputs:
            yield from (c for c in _conditions(item.where, self.private) if names_in(c) & self.private)

    def _claims(self) -> Iterator[str]:
        """What is spent, where that depends on the output, and its bound, where the answers' number does."""
        given = {name: f'release.given["{name}"]' for name in self.private}
        writer = self._writer({**self._attributes(), **given})
        bound, cost = self._most, self.mechanism.privacy
        methods = []
        if names_in(bound) & self.private:
            methods.append(("_bound", "The most that a run on these answers spends.", bound))
        if self.mechanism.most is not None:
            methods.append(("_cost", "What the output so far costs.", cost))
        for place, (method, says, expr) in enumerate(methods):
            self.used.update({"Real", "Release"})
            if place:
                yield ""
            yield f"{STEP}def {method}(self, release: Release[{self.alias}]) -> Real:"
            yield f'{STEP * 2}"""{says}"""'
            yield line(f"return {writer.of_kind(expr, Kind.REAL)}", STEP * 2)

    def _each_query(self) -> Iterator[tuple[nodes.Queries, str]]:
        for item in self.queries:
            for name in item.names:
                yield item, name

    def _read_names(self) -> dict[str, str]:
        """The names of answers that were read and cleaned."""
        taken = {**self.names}
        found: dict[str, str] = {}
        for item, name in self._each_query():
            word = f"{self.names[name]}_answer{'s' if item.vector else ''}"
            found[name] = taken[f"{name} as read"] = fresh(word, taken)
        return found

    def _given(self, item: nodes.Queries) -> str:
        """The type of private answers as they are given."""
        if item.vector:
            return self._imported("Answers")
        return self._imported("Real" if item.sort is nodes.Sort.REAL else _GIVEN[item.sort])

    def _streamed_answers(self, item: nodes.Queries) -> str:
        """The type of answers that come one by one."""
        each = {nodes.Sort.REAL: "Real", nodes.Sort.INT: "IntLike", nodes.Sort.BOOL: "bool"}[item.sort]
        return f"Iterable[{self._imported(each)}]"

    def _imported(self, name: str) -> str:
        self.used.add(name)
        return name

    def _held(self, item: nodes.Queries, read: str) -> str:
        """Answers as the noise computes with them; integers and truth values are left as they are."""
        if kind_of_sort(item.sort) is not Kind.REAL:
            return read
        return f"run.noise.answer{'s' if item.vector else ''}({read}, exact={_exact(item)})"

    def _domain_of(self, item: nodes.Queries) -> Iterator[Item]:
        """The declared range and lattice, and the lists that must be long enough, as arguments."""
        writer = self._writer({**self._attributes(), **({} if self.declared("i") else {"i": "i"})})
        low, high = item.range or (None, None)
        for keyword, expr in (("low", low), ("high", high), ("step", item.lattice)):
            if expr is not None:
                each = "i" in names_in(expr) and not self.declared("i")
                yield f"{keyword}={'lambda i: ' if each else ''}{writer.expression(expr)}"
        lists = lists_per_answer(item, self.names if self.declared("i") else ())
        if lists:
            lengths = [f"{quoted(base)}: len({writer.names[base]})" for base in lists]
            yield Brackets("entries={", tuple(lengths), "}")

    def _lengths(self, writer: Writer, indent: str) -> Iterator[str]:
        """What is declared of how many answers there are: checked before anything is drawn."""
        for item in self.mechanism.inputs:
            for condition in _conditions(item.where, self.private):
                if not names_in(condition) & self.private or not _of_lengths(condition, self.private):
                    continue
                if isinstance(item, nodes.Queries):
                    yield from self._require_answers(item.names[0], condition, writer, indent)
                else:
                    yield from self._require(item.name, condition, writer, indent)

    def _values(self, writer: Writer, indent: str) -> Iterator[str]:
        """What is declared of the answers' values: only `check` looks at that."""
        for item in self.mechanism.inputs:
            for condition in _conditions(item.where, self.private):
                if names_in(condition) & self.private and not _of_lengths(condition, self.private):
                    names = item.names if isinstance(item, nodes.Queries) else (item.name,)
                    for name in names:
                        yield from self._require_answers(name, condition, writer, indent)
            for name in item.names if isinstance(item, nodes.Queries) else ():
                assert isinstance(item, nodes.Queries)
                for holds, text in self._domain(item, name, writer):
                    self.used.add("require_answers")
                    arguments = [holds, quoted(name), quoted(text)]
                    yield from bracket_lines(call("require_answers", arguments), indent)

    def _require_answers(
        self, name: str, condition: nodes.Expr, writer: Writer, indent: str
    ) -> Iterator[str]:
        self.used.add("require_answers")
        holds = self._for_every_entry(condition, writer, writer.names[name])
        arguments = [holds, quoted(name), quoted(unparse_expr(condition))]
        yield from bracket_lines(call("require_answers", arguments), indent)

    @property
    def _local(self) -> dict[str, str]:
        """Indexed noise that lives in one round of a loop."""
        lists = lists_of(self.mechanism)
        found = loop_locals(self.mechanism, self.names).items()
        return {noise: name for noise, name in found if noise not in lists.drawn_at_once()}

    @property
    def _streamed(self) -> nodes.For | None:
        """The loop that answers one query after the other."""
        lists = lists_of(self.mechanism)
        return streamed(self.mechanism, frozenset(self._local) | lists.drawn_at_once())

    def _program(self) -> Iterator[str]:
        self.used.update({"Noise", "Release"})
        inner = STEP * 2
        streams = self._streamed
        yield f"{STEP}def _program("
        yield f"{inner}self,"
        yield f"{inner}noise: Noise,"
        yield f"{inner}release: Release[{self.alias}],"
        for item in self.queries:
            kind = kind_of_sort(item.sort)
            self.used.update({"Real"} if kind is Kind.REAL else ())
            container = "Sequence" if streams is None else "Iterable"
            self.used.update({container} if item.vector else ())
            for name in item.names:
                typed = f"{container}[{kind.value}]" if item.vector else kind.value
                yield f"{inner}{self.names[name]}: {typed},"
        self.used.update({"Iterator"} if streams is not None else ())
        yield f"{STEP}) -> {'None' if streams is None else f'Iterator[{self.alias}]'}:"
        yield f'{inner}"""The program of the spec, statement by statement."""'
        lists = lists_of(self.mechanism)
        writer = replace(self._writer(self.names), local=self._local, lists=lists)
        declared = frozenset(self.private | {item.name for item in self.public})
        writer = replace(writer, fields=self._fields_of_calls())
        answered = answered_queries(self.mechanism)
        gaps = released_gaps(self.mechanism)
        program = Program(
            self.mechanism,
            writer,
            self.classes,
            answered,
            declared,
            gaps,
            self.callees,
            streams=streams is not None,
            stepped=self.stepped,
        )
        opening = list(self._bindings(inner))
        yield from [*opening, ""] if opening else []
        yield from program.lines(inner)

    def _fields_of_calls(self) -> dict[str, str]:
        """How the fields of what calls release are read in Python: `{}` stands for the record."""
        found: dict[str, str] = {}
        for invoked in statements_in(self.mechanism.body):
            if isinstance(invoked, nodes.Invoke):
                classes = self.callees[invoked.mechanism].classes.values()
                for spec, python, _ in (each for record in classes for each in record.fields):
                    everywhere = all(spec in [name for name, _, _ in record.fields] for record in classes)
                    read = f"{{}}.{python}" if everywhere else f'getattr({{}}, "{python}")'
                    found[f"{invoked.name}.{spec}"] = read
        return found

    def _bindings(self, indent: str) -> Iterator[str]:
        """Parameters as local names, so that the program reads as the spec does."""
        statements = list(statements_in(self.mechanism.body))
        read = {name for statement in statements for name in names_read(statement)}
        assigned = {s.name for s in statements if isinstance(s, nodes.Assign)}
        for function in self.mechanism.functions:
            python = self.names[function.name]
            yield f"{indent}{python} = self.{python}"
        for public in self.public:
            if public.name in read:
                python = self.names[public.name]
                wide = public.name in assigned and self.kinds.of[public.name] is Kind.REAL
                self.used.update({"Real"} if wide else ())
                yield f"{indent}{python}{': Real' if wide else ''} = self.{python}"

    def _domain(self, item: nodes.Queries, name: str, writer: Writer) -> Iterator[tuple[str, str]]:
        """What `range` and `lattice` say of each answer: Python text and the spec's words."""
        python = writer.names[name]
        index = fresh("i", self.names) if self.declared("i") else "i"
        inner = writer if self.declared("i") else self._writer({**writer.names, "i": "i"})
        answer = f"{python}[{index}]" if item.vector else python
        each = f" for {index} in range(len({python})))" if item.vector else ""
        opening = "all(" if item.vector else ""
        for base in lists_per_answer(item, self.names if self.declared("i") else ()):
            yield f"len({python}) <= len({writer.names[base]})", f"len({name}) <= len({base})"
        if item.range is not None:
            low, high = (inner.operand(e) for e in item.range)
            text = f"{unparse_expr(item.range[0])} <= {name} <= {unparse_expr(item.range[1])}"
            yield f"{opening}{low} <= {answer} <= {high}{each}", text
        if item.lattice is not None:
            self.used.add("is_multiple")
            step = inner.expression(item.lattice)
            text = f"{name} is a multiple of {unparse_expr(item.lattice)}"
            yield f"{opening}is_multiple({answer}, {step}){each}", text

    # --- inputs -------------------------------------------------------------------------------------------

    def _attributes(self) -> dict[str, str]:
        """Public inputs as attributes; answers as the arguments that they are."""
        public = {item.name: f"self.{self.names[item.name]}" for item in self.public}
        return {**self.names, **public}

    def _writer(self, names: Mapping[str, str]) -> Writer:
        return Writer(names, self.kinds, used=self.used)

    @property
    def public(self) -> Iterator[nodes.Parameter | nodes.PublicVector]:
        for item in self.mechanism.inputs:
            if not isinstance(item, nodes.Queries):
                yield item

    @property
    def queries(self) -> Iterator[nodes.Queries]:
        for item in self.mechanism.inputs:
            if isinstance(item, nodes.Queries):
                yield item

    @property
    def private(self) -> set[str]:
        return {name for item in self.queries for name in item.names}

    def declared(self, name: str) -> bool:
        return name in self.private or any(item.name == name for item in self.public)


def _verified(use: nodes.Use) -> Verified:
    """A callee, which the caller's own check has proved."""
    contract = contract_of(use)
    if contract.verdict != NAMES[Verified]:
        raise TypeError("only a `Verified` mechanism can be compiled")
    return Verified(contract.mechanism, (), Proof("acyclic", (), ""))


def _passed(sort: nodes.Sort) -> str:
    """The type of what a public function takes or gives: numbers are passed as reals."""
    return {nodes.Sort.REAL: "Real", nodes.Sort.INT: "int", nodes.Sort.BOOL: "bool"}[sort]


# --- names ------------------------------------------------------------------------------------------------


def _idents(mechanism: nodes.Mechanism) -> Iterator[str]:
    """Every identifier that a spec declares or binds, in source order."""
    for item in mechanism.inputs:
        match item:
            case nodes.Parameter(name=name) | nodes.PublicVector(name=name):
                yield name
            case nodes.Queries(names=names):
                yield from names
            case _:
                assert_never(item)
    yield from (function.name for function in mechanism.functions)
    for statement in statements_in(mechanism.body):
        match statement:
            case (
                nodes.Assign(name=name)
                | nodes.Invoke(name=name)
                | nodes.Sample(name=name)
                | nodes.Choose(name=name)
                | nodes.Logistic(name=name)
            ):
                yield name
            case nodes.For(index=index, over=over):
                if index is not None:
                    yield index
                if isinstance(over, nodes.OverQueries):
                    yield over.item
            case _:
                pass
    for expr in expressions_in(mechanism):
        if isinstance(expr, nodes.Gather):
            yield expr.index


def _exact(item: nodes.Queries) -> bool:
    """Whether answers must stay as they are: rounding them down could take neighbours further apart."""
    return item.lattice is not None or not rounds(item)


def _of_lengths(condition: nodes.Expr, private: set[str]) -> bool:
    """Whether a condition speaks of answers by their number only."""
    lengths = {nodes.Call("len", (nodes.Name(name),)) for name in private}
    if condition in lengths:
        return True
    match condition:
        case nodes.Name(ident=name) | nodes.Index(base=name) if name in private:
            return False
        case nodes.Gather(over=nodes.Indices(base=name)) if name in private:
            return False
        case _:
            return all(_of_lengths(part, private) for part in parts_of(condition))


def _import_order(name: str) -> tuple[bool, str]:
    return not name[0].isupper(), name


def _conditions(where: nodes.Expr | None, private: set[str]) -> tuple[nodes.Expr, ...]:
    """The parts of a `where` clause that are checked one by one.

    That is the whole, unless it mentions answers: then each part of a conjunction, since some must wait.
    """
    match where:
        case None:
            return ()
        case nodes.Logic(op="and", args=args) if names_in(where) & private:
            return tuple(part for arg in args for part in _conditions(arg, private))
        case _:
            return (where,)
