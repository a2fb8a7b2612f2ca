"""A verified mechanism as a Python module: readable, typed, and doing exactly what the spec says.

The module imports `aligncheck.runtime` and the standard library. The program keeps the spec's statements, the
order of draws and each comparison as it is written; only what Python spells otherwise is changed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from aligncheck import __version__, runtime
from aligncheck.compiler.emit import describe
from aligncheck.compiler.emit.chosen import chosen_gaps
from aligncheck.compiler.emit.expressions import ARRAY_FUNCTIONS, RUNTIME_FUNCTIONS, Writer
from aligncheck.compiler.emit.formatting import (
    STEP,
    Brackets,
    Item,
    bracket_lines,
    call,
    line,
    operator_lines,
    quoted,
)
from aligncheck.compiler.emit.gaps import released_gaps
from aligncheck.compiler.emit.input_checks import CHECKS, GIVEN, InputWriter
from aligncheck.compiler.emit.positions import answered_queries
from aligncheck.compiler.emit.program import Program, loop_locals, names_read
from aligncheck.compiler.emit.python_kinds import KIND_OF, Kinds, PythonKind, kinds_of
from aligncheck.compiler.emit.python_names import class_name, python_names
from aligncheck.compiler.emit.records import RecordClass, RecordKey, record_classes
from aligncheck.compiler.emit.streams import streamed
from aligncheck.compiler.emit.vectorise import lists_of
from aligncheck.compiler.forms.lattice import units_of
from aligncheck.compiler.forms.rational import as_computed
from aligncheck.compiler.modes import RunMode
from aligncheck.kernel.answer import Accepted
from aligncheck.kernel.witness import Witness
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.walk import claimed_in, expressions_in, names_in, names_set, statements_in
from aligncheck.language.unparse import unparse_expr
from aligncheck.verdict import NAMES, Verified

_BASES = {
    RunMode.LATTICE: "LatticeMechanism",
    RunMode.REFINED: "RefinedMechanism",
    RunMode.FLOAT: "FloatMechanism",
}
_NUMBERS = {
    RunMode.LATTICE: "runtime.rationals",
    RunMode.REFINED: "runtime.rationals",
    RunMode.FLOAT: "runtime.reals",
}
"""Where irrational functions come from."""

_NOT_EMITTED = frozenset({"ChoiceGap", "Estimate", "Labelled", "Record"})
"""Of the runtime's names those that records may have."""
_RUNTIME = frozenset(runtime.__all__) - RUNTIME_FUNCTIONS - _NOT_EMITTED
_STANDARD: Mapping[str, frozenset[str]] = {
    "collections.abc": frozenset({"Callable", "Iterable", "Iterator", "Sequence"}),
    "dataclasses": frozenset({"dataclass", "field"}),
    "fractions": frozenset({"Fraction"}),
    "typing": frozenset({"ClassVar", "Never", "TypeAlias"}),
}
"""What a file may import of Python's own library, beside `math`."""
_OWN = frozenset(
    {"budget", "check", "gamma", "math", "noise", "record", "release", "run", "self", "spec", "stream"}
)
_INHERITED = frozenset(name for name in dir(runtime.LatticeMechanism) if not name.startswith("_"))
_RESERVED = (
    _RUNTIME
    | RUNTIME_FUNCTIONS
    | ARRAY_FUNCTIONS
    | _OWN
    | _INHERITED
    | {"testing_seed"}.union(*_STANDARD.values())
)


def emit_python(verified: Verified, mode: RunMode = RunMode.LATTICE) -> str:
    """The text of a Python module with one class that runs the mechanism.

    Takes nothing but a `Verified`, so that nothing unproved can be compiled; that its form for the mode is
    proved as well (`compiler.forms`) is for the caller to see to. The text depends only on the spec, the
    proof's route, the mode and this package's version. Called mechanisms run in the same mode.

    Raises:
        TypeError: the argument is no `Verified`.
    """
    if not isinstance(verified, Verified):
        raise TypeError("only a `Verified` mechanism can be compiled")
    return _ModuleWriter.of(verified, mode).text()


def _run(verified: Verified, mode: RunMode) -> nodes.Mechanism:
    """The spec as it is written in a mode: in exact ones as they compute it."""
    return verified.mechanism if mode is RunMode.FLOAT else as_computed(verified.mechanism)


@dataclass(frozen=True, slots=True)
class _ModuleWriter:
    verified: Verified
    mode: RunMode
    names: Mapping[str, str]
    kinds: Kinds
    classes: Mapping[RecordKey, RecordClass]
    class_name: str
    alias: str
    inputs: InputWriter
    callees: Mapping[str, _ModuleWriter]
    mechanism: nodes.Mechanism
    """The spec as it is written in the mode, of which statements are told apart by what they are."""
    units: tuple[nodes.Expr, ...]
    """What the step divides: on a lattice, which a mechanism and all that it calls share, all that any of
    them needs.
    """

    @classmethod
    def of(
        cls,
        verified: Verified,
        mode: RunMode,
        taken: frozenset[str] = frozenset(),
        units: tuple[nodes.Expr, ...] = (),
    ) -> _ModuleWriter:
        """`taken` are names that other mechanisms in the same file have; `units` those of what calls this."""
        mechanism = _run(verified, mode)
        kinds = kinds_of(mechanism)
        units = tuple(dict.fromkeys((*units_of(mechanism), *units)))
        taken |= _RESERVED
        callees: dict[str, _ModuleWriter] = {}
        for use in mechanism.uses:
            shared = tuple(e for e in units if not names_in(e)) if mode is RunMode.LATTICE else ()
            callees[use.name] = callee = cls.of(_verified(use), mode, taken, shared)
            taken |= callee.defined
        unsafe = "unsafe_" if mode is RunMode.FLOAT else ""
        own = class_name(f"{unsafe}{mechanism.name}", taken)
        alias = class_name(f"{own}Record", taken | {own})
        classes = record_classes(mechanism, kinds, taken | {own, alias})
        reserved = taken | {own, alias} | {c.name for c in classes.values()}
        names = python_names(_idents(mechanism), reserved)
        inputs = InputWriter(mechanism, names, kinds)
        return cls(verified, mode, names, kinds, classes, own, alias, inputs, callees, mechanism, units)

    @property
    def defined(self) -> frozenset[str]:
        """The names that this mechanism and its callees have in the file."""
        own = {self.class_name, self.alias, *(c.name for c in self.classes.values())}
        return frozenset(own).union(*(callee.defined for callee in self.callees.values()))

    def text(self) -> str:
        """The whole file. The imports are written last: they follow from the rest."""
        code = "\n\n\n".join("\n".join(block) for block in self._blocks())
        head = describe.docstring(describe.of_module(self.verified, __version__, self.mode), "")
        opening = [*head, "", "# ruff: noqa", "", *_imports(code, self.mode)]
        return "\n".join(opening) + f"\n\n\n{code}\n"

    def _blocks(self) -> list[list[str]]:
        """What the file defines, callees first."""
        blocks: list[list[str]] = []
        for callee in self.callees.values():
            blocks += callee._blocks()
        return [*blocks, *self._records(), list(self._alias()), list(self._class())]

    # --- records ------------------------------------------------------------------------------------------

    def _records(self) -> Iterator[list[str]]:
        for record in self.classes.values():
            lines = ["@dataclass(frozen=True, slots=True)", f"class {record.name}:"]
            lines += describe.docstring([f"A record `{record.tag}` of `{self.mechanism.name}`."], STEP)
            lines += ["", f'{STEP}tag: ClassVar[str] = "{record.tag}"']
            for spec, python, kind in record.fields:
                metadata = "" if spec == python else f' = field(metadata={{"name": "{spec}"}})'
                lines.append(f"{STEP}{python}: {kind.value}{metadata}")
            yield lines

    def _alias(self) -> Iterator[str]:
        names = [c.name for c in self.classes.values()] or ["Never"]
        yield from operator_lines(f"{self.alias}: TypeAlias = ", names, ["|"] * (len(names) - 1))
        yield from describe.docstring([f"What `{self.class_name}` releases."], "")

    # --- the class ----------------------------------------------------------------------------------------

    def _class(self) -> Iterator[str]:
        base = _BASES[self.mode]
        yield f"class {self.class_name}({base}):"
        described = describe.of_class(self.verified, self.names, STEP, self.mode)
        yield from describe.docstring(described, STEP)
        yield ""
        yield from bracket_lines(self._spec(), f"{STEP}spec: ClassVar[Spec] = ")
        if self.callees:
            names = ", ".join(callee.class_name for callee in self.callees.values())
            names += "," if len(self.callees) == 1 else ""
            yield f"{STEP}callees: ClassVar[tuple[type[Mechanism], ...]] = ({names})"
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
        for item in self.verified.mechanism.inputs:
            match item:
                case nodes.Parameter(name=name, sort=sort, where=where, default=default):
                    said = [] if default is None else [f"default={quoted(unparse_expr(default))}"]
                    parameters.append(call("ParameterInfo", [*self._info(name, sort, where), *said]))
                case nodes.PublicVector(name=name, sort=sort, where=where):
                    info = self._info(name, sort, where)
                    parameters.append(call("ParameterInfo", [*info[:3], "vector=True", *info[3:]]))
                case nodes.Queries(names=names, sort=sort, vector=vector):
                    differs = [f"vector={vector}", f"adjacency={quoted(item.adjacency.value)}"]
                    if item.sensitivity is not None:
                        differs.append(f"sensitivity={quoted(unparse_expr(item.sensitivity))}")
                    if item.lattice is not None:
                        differs.append(f"lattice={quoted(unparse_expr(item.lattice))}")
                    if any(map(self.inputs.restricts, names)):
                        differs.append("restricted=True")
                    if item.table is not None:
                        differs.append(f"table={quoted(', '.join(map(unparse_expr, item.table)))}")
                    queries += [
                        call("QueryInfo", [*self._info(name, sort, None), *differs]) for name in names
                    ]
        arguments: list[Item] = [
            f"name={quoted(self.mechanism.name)}",
            *self._told_claim(),
            Brackets("parameters=(", tuple(parameters)),
            Brackets("queries=(", tuple(queries)),
        ]
        functions: list[Item] = [
            call("FunctionInfo", [quoted(f.name), quoted(self.names[f.name])])
            for f in self.mechanism.functions
        ]
        if functions:
            arguments.append(Brackets("functions=(", tuple(functions)))
        return call("Spec", arguments)

    def _told_claim(self) -> list[str]:
        claim = self.verified.mechanism.claim
        first, *more = (quoted(unparse_expr(each)) for each in claimed_in(claim))
        match claim:
            case nodes.Pure():
                return [f"claim={first}", *(f"bound={most}" for most in more)]
            case nodes.Approximate():
                return [f"claim={first}", "currency=Currency.EPSILON_DELTA", f"delta={more[0]}"]
            case nodes.Concentrated():
                return [f"claim={first}", "currency=Currency.RHO"]

    def _info(self, name: str, sort: nodes.Sort, where: nodes.Expr | None) -> list[str]:
        info = [quoted(name), quoted(self.names[name]), quoted(sort.value)]
        return info if where is None else [*info, f"where={quoted(unparse_expr(where))}"]

    def _init(self) -> Iterator[str]:
        inner = STEP * 2
        yield f"{STEP}def __init__("
        yield f"{inner}self,"
        yield f"{inner}*,"
        for item in self.inputs.public:
            typed = "Answers" if isinstance(item, nodes.PublicVector) else GIVEN[item.sort]
            optional = " | None = None" if item.name in self.inputs.defaults else ""
            yield f"{inner}{self.names[item.name]}: {typed}{optional},"
        for function in self.mechanism.functions:
            kinds = ", ".join(KIND_OF[sort].value for sort in function.args)
            result = KIND_OF[function.result].value
            yield f"{inner}{self.names[function.name]}: Callable[[{kinds}], {result}],"
        if self.stepped:
            yield f"{inner}gamma: RealLike | None = None,"
        yield f"{inner}budget: Budget | None = None,"
        yield f"{inner}testing_seed: int | None = None,"
        yield f"{STEP}) -> None:"
        yield f"{inner}super().__init__(budget=budget, testing_seed=testing_seed)"
        checks = {
            item.name: CHECKS[item.sort] + ("s" if isinstance(item, nodes.PublicVector) else "")
            for item in self.inputs.public
        }
        for name, check in checks.items():
            if name not in self.inputs.defaults:
                yield from self._kept(name, check, self.names[name])
        for function in self.mechanism.functions:
            yield from self._kept(
                function.name, f"{CHECKS[function.result]}_function", self.names[function.name]
            )
        attributes = self.inputs.writer(self.inputs.attributes())
        yield from self.inputs.parameters(attributes, inner, of_defaults=False)
        for name, default in self.inputs.defaults.items():
            otherwise = f"lambda: {attributes.expression(default)}"
            chosen = call("or_default", [quoted(name), self.names[name], otherwise])
            yield from self._kept(name, checks[name], chosen)
        yield from self.inputs.parameters(attributes, inner, of_defaults=True)
        if self.stepped:
            units = tuple(self.inputs.unit(unit, attributes) for unit in self.units)
            step = call("resolution", ["gamma", Brackets("{", units, "}")])
            yield from bracket_lines(step, f"{inner}self.gamma = ")
        bound = self._most
        if not names_in(bound) & self.inputs.private:
            yield line(f"self.bound = {attributes.of_kind(bound, PythonKind.REAL)}", inner)
        if isinstance(claim := self.mechanism.claim, nodes.Approximate):
            yield line(f"self.bound_delta = {attributes.of_kind(claim.delta, PythonKind.REAL)}", inner)

    def _kept(self, name: str, check: str, given: Item) -> Iterator[str]:
        yield from bracket_lines(call(check, [quoted(name), given]), f"{STEP * 2}self.{self.names[name]} = ")

    @property
    def stepped(self) -> bool:
        """Whether it computes on a lattice, or rounds what it releases to one."""
        return self.mode is not RunMode.FLOAT

    @property
    def _most(self) -> nodes.Expr:
        """The most that an output costs, in ε or ρ."""
        claim = self.mechanism.claim
        most = claim.most if isinstance(claim, nodes.Pure) else None
        return most or claimed_in(claim)[0]

    def _call(self) -> Iterator[str]:
        inner, within = STEP * 2, STEP * 3
        read = self.inputs.read_names()
        yield from self._on_answers("__call__", self.inputs.given_type, f"Result[{self.alias}]")
        yield from describe.docstring(describe.of_call(self.verified.mechanism, self.names, inner), inner)
        attributes = self.inputs.writer({**self.inputs.attributes(), **read})
        passed: list[Item] = ["run.noise", "run.release"]
        for item, name in self.inputs.each_query():
            yield from self._read(item, name, "answers" if item.vector else "answer")
            passed.append(self.inputs.held(item, f"{read[name]}.values" if item.vector else read[name]))
        yield from self.inputs.lengths(attributes, inner)
        lists = tuple(f"{quoted(n)}: {read[n]}" for item, n in self.inputs.each_query() if item.vector)
        begun = call("self._run", [Brackets("{", lists, "}")] if lists else [])
        yield from bracket_lines(begun, f"{inner}with ", " as run:")
        program = call("self._program", passed)
        if self._streamed is None:
            yield from bracket_lines(program, within)
        else:
            yield from bracket_lines(program, f"{within}for _ in ", ":")
            yield f"{within}{STEP}pass"
        yield f"{inner}return run.result()"

    def _on_answers(self, method: str, type_of: Callable[[nodes.Queries], str], result: str) -> Iterator[str]:
        """The head of a method that takes the private answers."""
        given = [f"{self.names[name]}: {type_of(item)}" for item, name in self.inputs.each_query()]
        yield from bracket_lines(call(f"def {method}", ["self", *given]), STEP, f" -> {result}:")

    def _read(self, item: nodes.Queries, name: str, what: str) -> Iterator[str]:
        """Answers, read and cleaned."""
        arguments = [quoted(name), self.names[name], *self.inputs.domain_arguments(item)]
        reader = call(f"{CHECKS[item.sort]}_{what}", arguments)
        yield from bracket_lines(reader, f"{STEP * 2}{self.inputs.read_names()[name]} = ")

    def _stream(self) -> Iterator[str]:
        """For mechanisms that look at one answer after the other."""
        if self._streamed is None:
            return
        inner = STEP * 2
        read = self.inputs.read_names()
        yield from self._on_answers("stream", self.inputs.streamed_type, f"Iterator[{self.alias}]")
        yield from describe.docstring(describe.of_stream(inner, self.mode), inner)
        passed: list[Item] = ["run.noise", "run.release"]
        for item, name in self.inputs.each_query():
            yield from self._read(item, name, "stream" if item.vector else "answer")
            if item.vector and KIND_OF[item.sort] is PythonKind.REAL:
                exact = self.inputs.is_exact(item)
                passed.append(f"(run.noise.answer(answer, exact={exact}) for answer in {read[name]})")
            else:
                passed.append(self.inputs.held(item, read[name]))
        yield f"{inner}run = self._run()"
        yield from bracket_lines(call("run.stream", [call("self._program", passed)]), f"{inner}return ")

    def _check(self) -> Iterator[str]:
        """What is declared of the answers, and of parameters together with answers."""
        if not self.inputs.private:
            return
        inner = STEP * 2
        read = self.inputs.read_names()
        yield from self._on_answers("check", self.inputs.given_type, "None")
        yield from describe.docstring(describe.of_check(inner), inner)
        attributes = self.inputs.writer({**self.inputs.attributes(), **read})
        for item, name in self.inputs.each_query():
            reader = f"checked_{CHECKS[item.sort]}{'s' if item.vector else ''}"
            prefix = f"{inner}{read[name]} = " if self.inputs.speaks_of(item, name) else inner
            arguments = [quoted(name), self.names[name], *self.inputs.form_arguments(item)]
            yield from bracket_lines(call(reader, arguments), prefix)
        yield from self.inputs.lengths(attributes, inner)
        yield from self.inputs.values(attributes, inner)

    def _sensitivities(self) -> Iterator[str]:
        """Δ of each list of answers, as numbers: the spec has expressions."""
        attributes = self.inputs.writer(self.inputs.attributes())
        found: list[Item] = []
        for item, name in self.inputs.each_query():
            if item.sensitivity is not None:
                least = self.inputs.least(item.sensitivity, attributes)
                found.append(f"{quoted(name)}: {least}")
        if found:
            yield f"{STEP}def sensitivities(self) -> dict[str, Real]:"
            yield from describe.docstring(["How far one answer may move, by private input."], STEP * 2)
            yield from bracket_lines(Brackets("{", tuple(found), "}"), f"{STEP * 2}return ")

    def _claims(self) -> Iterator[str]:
        """What is spent, where that depends on the output, and its bound, where the answers' number does."""
        given = {name: f'release.given["{name}"]' for name in self.inputs.private}
        writer = self.inputs.writer({**self.inputs.attributes(), **given})
        bound, claim = self._most, self.mechanism.claim
        methods = []
        if names_in(bound) & self.inputs.private:
            methods.append(("_bound", "The most that a run on these answers spends.", bound))
        if isinstance(claim, nodes.Pure) and claim.most is not None:
            methods.append(("_cost", "What the output so far costs.", claim.epsilon))
        for place, (method, says, expr) in enumerate(methods):
            if place:
                yield ""
            yield f"{STEP}def {method}(self, release: Release[{self.alias}]) -> Real:"
            yield f'{STEP * 2}"""{says}"""'
            yield line(f"return {writer.of_kind(expr, PythonKind.REAL)}", STEP * 2)

    @property
    def _streamed(self) -> nodes.For | None:
        """The loop that answers one query after the other."""
        return streamed(self.mechanism)

    def _program(self) -> Iterator[str]:
        inner = STEP * 2
        container, result = (
            ("Sequence", "None") if self._streamed is None else ("Iterable", f"Iterator[{self.alias}]")
        )
        yield f"{STEP}def _program("
        yield f"{inner}self,"
        yield f"{inner}noise: Noise,"
        yield f"{inner}release: Release[{self.alias}],"
        for item in self.inputs.queries:
            kind = KIND_OF[item.sort].value
            for name in item.names:
                yield f"{inner}{self.names[name]}: {f'{container}[{kind}]' if item.vector else kind},"
        yield f"{STEP}) -> {result}:"
        yield f'{inner}"""The program of the spec, statement by statement."""'
        lists = lists_of(self.mechanism)
        noise = loop_locals(self.mechanism)
        local = {name: self.names[name] for name in noise if name not in lists.drawn_at_once()}
        writer = Writer(self.names, self.kinds, local, lists, self._fields_of_calls())
        callees = {name: (callee.class_name, callee.inputs) for name, callee in self.callees.items()}
        program = Program(
            self.mechanism,
            writer,
            self.classes,
            callees,
            answered_queries(self.mechanism),
            released_gaps(self.mechanism),
            chosen_gaps(self.mechanism),
            streams=self._streamed is not None,
            on_lattice=self.mode is RunMode.LATTICE,
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
        for function in self.mechanism.functions:
            python = self.names[function.name]
            own = f"self.{python}"
            yield f"{indent}{python} = {f'noise.given({own})' if self.mode is RunMode.REFINED else own}"
        for public in self.inputs.public:
            if public.name in read:
                python = self.names[public.name]
                yield f"{indent}{python} = self.{python}"


def _verified(use: nodes.Use) -> Verified:
    """A callee, which the caller's own check has proved."""
    contract = contract_of(use)
    if contract.verdict != NAMES[Verified]:
        raise TypeError("only a `Verified` mechanism can be compiled")
    return Verified(contract.mechanism, Witness(), Accepted("acyclic", ()))


# --- names ------------------------------------------------------------------------------------------------


def _imports(code: str, mode: RunMode) -> Iterator[str]:
    """What the code mentions, and no more: nothing in it has a name of these that is something else."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    if "math" in used:
        yield "import math"
    for module, known in _STANDARD.items():
        if used & known:
            yield f"from {module} import {', '.join(sorted(used & known))}"
    yield ""
    known_in = {"runtime": _RUNTIME, "runtime.arrays": ARRAY_FUNCTIONS, _NUMBERS[mode]: RUNTIME_FUNCTIONS}
    for module, known in known_in.items():
        if used & known:
            yield f"from aligncheck.{module} import ("
            for name in sorted(used & known, key=lambda name: (not name[0].isupper(), name)):
                yield f"{STEP}{name},"
            yield ")"


def _idents(mechanism: nodes.Mechanism) -> Iterator[str]:
    """Every identifier that a spec declares or binds, in source order."""
    for item in mechanism.inputs:
        yield from item.names
    yield from (function.name for function in mechanism.functions)
    for statement in statements_in(mechanism.body):
        yield from names_set(statement)
    for expr in expressions_in(mechanism):
        if isinstance(expr, nodes.Gather):
            yield expr.index
