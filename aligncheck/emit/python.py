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
from aligncheck.emit.layout import STEP, Brackets, Item, bracket_lines, call, operator_lines, quoted
from aligncheck.emit.names import class_name, fresh, python_names
from aligncheck.emit.positions import answered_queries
from aligncheck.emit.program import Program, loop_locals, names_read
from aligncheck.emit.records import RecordClass, RecordKey, record_classes
from aligncheck.emit.vectors import lists_of
from aligncheck.syntax import nodes
from aligncheck.syntax.contract import contract_of
from aligncheck.syntax.unparse import unparse_expr
from aligncheck.syntax.walk import expressions_in, lists_per_answer, names_in, statements_in
from aligncheck.verdict import NAMES, Proof, Verified

_RUNTIME = (
    RUNTIME_FUNCTIONS
    | SCORE_FUNCTIONS
    | {
        "absolute",
        "Answers",
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
        "booleans",
        "exact_answer",
        "exact_answers",
        "boolean_function",
        "has_tag",
        "integer",
        "integer_answer",
        "integer_function",
        "integer_answers",
        "integers",
        "is_multiple",
        "labels_of",
        "one_minus_exp",
        "power",
        "real",
        "real_answer",
        "real_function",
        "real_answers",
        "reals",
        "require",
        "require_answers",
        "whole",
    }
)
_OWN = frozenset(
    {
        "Callable",
        "ClassVar",
        "Fraction",
        "Never",
        "TypeAlias",
        "dataclass",
        "field",
        "floating_point",
        "math",
        "noise",
        "release",
    }
)
_INHERITED = frozenset({"seed", "self", "spec", "with_noise"})
_RESERVED = _RUNTIME | ARRAY_FUNCTIONS | _OWN | _INHERITED

_GIVEN = {nodes.Sort.REAL: "RealLike", nodes.Sort.INT: "IntLike", nodes.Sort.BOOL: "bool"}
_KEPT = {nodes.Sort.REAL: "Fraction", nodes.Sort.INT: "int", nodes.Sort.BOOL: "bool"}
_CHECKS = {nodes.Sort.REAL: "real", nodes.Sort.INT: "integer", nodes.Sort.BOOL: "boolean"}


def emit_python(verified: Verified) -> str:
    """The text of a Python module with one class that runs the mechanism.

    Takes nothing but a `Verified`, so that nothing unproved can be compiled. The text depends only on the
    spec, the proof's route and this package's version.

    Raises:
        TypeError: the argument is no `Verified`.
    """
    if not isinstance(verified, Verified):
        raise TypeError("only a `Verified` mechanism can be compiled")
    return _Module.of(verified).text()


@dataclass(frozen=True, slots=True)
class _Module:
    verified: Verified
    names: Mapping[str, str]
    kinds: Kinds
    classes: Mapping[RecordKey, RecordClass]
    class_name: str
    alias: str
    callees: Mapping[str, _Module] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    """Names that the written text needs to import."""

    @classmethod
    def of(cls, verified: Verified, taken: frozenset[str] = frozenset()) -> _Module:
        """`taken` are names that other mechanisms in the same file have."""
        mechanism = verified.mechanism
        kinds = kinds_of(mechanism)
        taken |= _RESERVED
        callees: dict[str, _Module] = {}
        for use in mechanism.uses:
            callees[use.name] = callee = cls.of(_verified(use), taken)
            taken |= callee.defined
        own = class_name(mechanism.name, taken)
        alias = class_name(f"{own}Record", taken | {own})
        classes = record_classes(mechanism, kinds, taken | {own, alias})
        reserved = taken | {own, alias} | {c.name for c in classes.values()}
        names = python_names(_idents(mechanism), reserved)
        return cls(verified, names, kinds, classes, own, alias, callees)

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
        if "math" in self.used:
            yield "import math"
        if "Callable" in self.used:
            yield "from collections.abc import Callable"
        classes = list(self._all_classes())
        if classes:
            renamed = any(spec != python for c in classes for spec, python, _ in c.fields)
            yield f"from dataclasses import dataclass{', field' if renamed else ''}"
        if "Fraction" in self.used:
            yield "from fractions import Fraction"
        yield f"from typing import {', '.join(typing)}"
        yield ""
        for module, known in (("runtime", _RUNTIME), ("runtime.arrays", ARRAY_FUNCTIONS)):
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
        self.used.update({"Mechanism", "ClassVar", "Spec"})
        yield f"class {self.class_name}(Mechanism):"
        yield from describe.docstring(describe.of_class(self.verified, self.names, STEP), STEP)
        yield ""
        yield from bracket_lines(self._spec(), f"{STEP}spec: ClassVar[Spec] = ")
        if self.callees:
            names = ", ".join(callee.class_name for callee in self.callees.values())
            yield f"{STEP}callees: ClassVar[tuple[type[Mechanism], ...]] = ({names},)"
        yield ""
        yield from self._init()
        yield ""
        yield from self._call()
        yield ""
        yield from self._program()

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
        yield f"{inner}seed: int | None = None,"
        yield f"{STEP}) -> None:"
        yield f"{inner}super().__init__(seed=seed)"
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
        self.used.update({"Result", "Release"})
        inner = STEP * 2
        given: list[str] = []
        passed: list[Item] = ["noise", "release"]
        labels: list[str] = []
        for item in self.queries:
            for name in item.names:
                python = self.names[name]
                check = f"{_reader(item)}_answer{'s' if item.vector else ''}"
                arguments = [quoted(name), python, *(["noise"] if check.startswith("real") else [])]
                passed.append(call(check, arguments))
                given.append(f"{python}: {'Answers' if item.vector else _scalar_answer(item.sort)}")
                labels += [f"{quoted(name)}: labels_of({python})"] if item.vector else []
                self.used.update({check, "Answers" if item.vector else _scalar_answer(item.sort)})
        self.used.update({"labels_of"} if labels else set())
        if given:
            signature = call("def __call__", ["self", *given])
            yield from bracket_lines(signature, STEP, f" -> Result[{self.alias}]:")
        else:
            yield f"{STEP}def __call__(self) -> Result[{self.alias}]:"
        yield from describe.docstring(describe.of_call(self.mechanism, self.names, inner), inner)
        yield f"{inner}noise = self._noise"
        mapping = call("Release", [Brackets("{", tuple(labels), "}")])
        yield from bracket_lines(mapping, f"{inner}release: Release[{self.alias}] = ")
        yield from bracket_lines(call("self._program", passed), inner)
        attributes = self._writer(self._attributes())
        spent = attributes.of_kind(self.mechanism.privacy, Kind.REAL)
        arguments = ["self.spec.name", spent, "self.floating_point", "noise"]
        if self.mechanism.most is not None:
            arguments.append(f"bound={attributes.of_kind(self.mechanism.most, Kind.REAL)}")
        yield from bracket_lines(call("release.result", arguments), f"{inner}return ")

    def _program(self) -> Iterator[str]:
        self.used.update({"Noise", "Release"})
        inner = STEP * 2
        yield f"{STEP}def _program("
        yield f"{inner}self,"
        yield f"{inner}noise: Noise,"
        yield f"{inner}release: Release[{self.alias}],"
        for item in self.queries:
            kind = kind_of_sort(item.sort)
            self.used.update({"Real"} if kind is Kind.REAL else ())
            for name in item.names:
                yield f"{inner}{self.names[name]}: {f'list[{kind.value}]' if item.vector else kind.value},"
        yield f"{STEP}) -> None:"
        yield f'{inner}"""The program of the spec, statement by statement."""'
        prelude = list(self._declarations_of_answers(inner))
        lists = lists_of(self.mechanism)
        local = {
            noise: name
            for noise, name in loop_locals(self.mechanism, self.names).items()
            if noise not in lists.drawn_at_once()
        }
        writer = replace(self._writer(self.names), local=local, lists=lists)
        declared = frozenset(self.private | {item.name for item in self.public})
        writer = replace(writer, fields=self._fields_of_calls())
        answered = answered_queries(self.mechanism)
        gaps = released_gaps(self.mechanism)
        program = Program(self.mechanism, writer, self.classes, answered, declared, gaps, self.callees)
        opening = [*self._bindings(inner), *prelude]
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
        for item in self.mechanism.inputs:
            parts = [c for c in _conditions(item.where, self.private) if names_in(c) & self.private]
            if isinstance(item, nodes.Queries):
                parts += [e for e in (item.lattice, *(item.range or ())) if e is not None]
            elif parts:
                read.add(item.name)
            read.update(name for part in parts for name in names_in(part))
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

    def _declarations_of_answers(self, indent: str) -> Iterator[str]:
        """Checks of what is declared of the answers, and of parameters together with answers."""
        writer = self._writer(self.names)
        for item in self.mechanism.inputs:
            if not isinstance(item, nodes.Queries):
                for condition in _conditions(item.where, self.private):
                    if names_in(condition) & self.private:
                        yield from self._require(item.name, condition, writer, indent)
                continue
            for name in item.names:
                python = self.names[name]
                checks = [
                    (self._for_every_entry(c, writer, python), unparse_expr(c))
                    for c in _conditions(item.where, self.private)
                ]
                for holds, text in (*checks, *self._domain(item, name, writer)):
                    self.used.add("require_answers")
                    arguments = [holds, quoted(name), quoted(text)]
                    yield from bracket_lines(call("require_answers", arguments), indent)

    def _domain(self, item: nodes.Queries, name: str, writer: Writer) -> Iterator[tuple[str, str]]:
        """What `range` and `lattice` say of each answer: Python text and the spec's words."""
        python = self.names[name]
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


def _reader(item: nodes.Queries) -> str:
    """How answers are read: reals as the noise computes with them, exactly where they lie on a lattice."""
    return "exact" if item.lattice is not None and item.sort is nodes.Sort.REAL else _CHECKS[item.sort]


def _scalar_answer(sort: nodes.Sort) -> str:
    return "Real" if sort is nodes.Sort.REAL else _GIVEN[sort]


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
