"""A verified mechanism as a Python module: readable, typed, and doing exactly what the spec says.

The module imports `aligncheck.runtime` and the standard library. The program keeps the spec's statements, the
order of draws and each comparison as it is written; only what Python spells otherwise is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from aligncheck import __version__, runtime
from aligncheck.compiler.emit import describe
from aligncheck.compiler.emit.chosen import chosen_gaps
from aligncheck.compiler.emit.expressions import RUNTIME_FUNCTIONS
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
from aligncheck.compiler.emit.gathers import ARRAY_FUNCTIONS
from aligncheck.compiler.emit.input_checks import CHECKS, GIVEN, InputWriter
from aligncheck.compiler.emit.positions import answered_queries
from aligncheck.compiler.emit.program import Program, loop_locals, names_read
from aligncheck.compiler.emit.python_kinds import Kinds, PythonKind, kind_of_sort, kinds_of
from aligncheck.compiler.emit.python_names import class_name, python_names
from aligncheck.compiler.emit.ranks import released_ranks
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
        "budget",
        "check",
        "dataclass",
        "field",
        "gamma",
        "math",
        "noise",
        "record",
        "release",
        "run",
        "self",
        "spec",
        "stream",
        "testing_seed",
    }
)
_INHERITED = frozenset(name for name in dir(runtime.LatticeMechanism) if not name.startswith("_"))
_RESERVED = _RUNTIME | RUNTIME_FUNCTIONS | ARRAY_FUNCTIONS | _OWN | _INHERITED


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
    used: set[str]
    """Names that the written text needs to import."""
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
        used: set[str] = set()
        inputs = InputWriter(mechanism, names, kinds, used)
        return cls(verified, mode, names, kinds, classes, own, alias, inputs, callees, used, mechanism, units)

    @property
    def defined(self) -> frozenset[str]:
        """The names that this mechanism and its callees have in the file."""
        own = {self.class_name, self.alias, *(c.name for c in self.classes.values())}
        return frozenset(own).union(*(callee.defined for callee in self.callees.values()))

    def text(self) -> str:
        """The whole file. The imports are written last, when all of the rest has said what it needs."""
        blocks = self._blocks()
        head = describe.docstring(describe.of_module(self.verified, __version__, self.mode), "")
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
                self.used.update({"Real"} if kind is PythonKind.REAL else ())
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
        self.used.update(({"ParameterInfo"} if parameters else set()) | ({"QueryInfo"} if queries else set()))
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
            self.used.add("FunctionInfo")
            arguments.append(Brackets("functions=(", tuple(functions)))
        return call("Spec", arguments)

    def _told_claim(self) -> list[str]:
        match self.verified.mechanism.claim:
            case nodes.Pure(epsilon=epsilon, most=most):
                bound = [] if most is None else [f"bound={quoted(unparse_expr(most))}"]
                return [f"claim={quoted(unparse_expr(epsilon))}", *bound]
            case nodes.Approximate(epsilon=epsilon, delta=delta):
                self.used.add("Currency")
                told = [f"claim={quoted(unparse_expr(epsilon))}", "currency=Currency.EPSILON_DELTA"]
                return [*told, f"delta={quoted(unparse_expr(delta))}"]
            case nodes.Concentrated(rho=rho):
                self.used.add("Currency")
                return [f"claim={quoted(unparse_expr(rho))}", "currency=Currency.RHO"]

    def _info(self, name: str, sort: nodes.Sort, where: nodes.Expr | None) -> list[str]:
        info = [quoted(name), quoted(self.names[name]), quoted(sort.value)]
        return info if where is None else [*info, f"where={quoted(unparse_expr(where))}"]

    def _init(self) -> Iterator[str]:
        inner = STEP * 2
        yield f"{STEP}def __init__("
        yield f"{inner}self,"
        yield f"{inner}*,"
        for item in self.inputs.public:
            given = GIVEN[item.sort]
            self.used.add(given)
            is_list = isinstance(item, nodes.PublicVector)
            self.used.update({"Answers"} if is_list else set())
            typed = "Answers" if is_list else given
            optional = " | None = None" if item.name in self.inputs.defaults else ""
            yield f"{inner}{self.names[item.name]}: {typed}{optional},"
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
        checks = {
            item.name: CHECKS[item.sort] + ("s" if isinstance(item, nodes.PublicVector) else "")
            for item in self.inputs.public
        }
        self.used.update(checks.values())
        for name, check in checks.items():
            if name not in self.inputs.defaults:
                yield from self._kept(name, check, self.names[name])
        for function in self.mechanism.functions:
            check = f"{CHECKS[function.result]}_function"
            self.used.add(check)
            python = self.names[function.name]
            yield from bracket_lines(call(check, [quoted(function.name), python]), f"{inner}self.{python} = ")
        attributes = self.inputs.writer(self.inputs.attributes())
        yield from self.inputs.parameters(attributes, inner, of_defaults=False)
        for name, default in self.inputs.defaults.items():
            self.used.add("or_default")
            otherwise = f"lambda: {attributes.expression(default)}"
            chosen = call("or_default", [quoted(name), self.names[name], otherwise])
            yield from self._kept(name, checks[name], chosen)
        yield from self.inputs.parameters(attributes, inner, of_defaults=True)
        if self.stepped:
            units = tuple(self.inputs.unit(unit, attributes) for unit in self.units)
            self.used.add("resolution")
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
        self.used.add("Result")
        inner, within = STEP * 2, STEP * 3
        read = self.inputs.read_names()
        given = [f"{self.names[n]}: {self.inputs.given_type(item)}" for item, n in self.inputs.each_query()]
        yield from bracket_lines(call("def __call__", ["self", *given]), STEP, f" -> Result[{self.alias}]:")
        yield from describe.docstring(describe.of_call(self.verified.mechanism, self.names, inner), inner)
        attributes = self.inputs.writer({**self.inputs.attributes(), **read})
        passed: list[Item] = ["run.noise", "run.release"]
        for item, name in self.inputs.each_query():
            reader = f"{CHECKS[item.sort]}_answer{'s' if item.vector else ''}"
            self.used.add(reader)
            arguments = [quoted(name), self.names[name], *self.inputs.domain_arguments(item)]
            yield from bracket_lines(call(reader, arguments), f"{inner}{read[name]} = ")
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

    def _stream(self) -> Iterator[str]:
        """For mechanisms that look at one answer after the other."""
        if self._streamed is None:
            return
        self.used.update({"Iterable", "Iterator"})
        inner = STEP * 2
        read = self.inputs.read_names()
        given = [f"{self.names[n]}: {self.inputs.streamed_type(i)}" for i, n in self.inputs.each_query()]
        yield from bracket_lines(call("def stream", ["self", *given]), STEP, f" -> Iterator[{self.alias}]:")
        yield from describe.docstring(describe.of_stream(inner, self.mode), inner)
        passed: list[Item] = ["run.noise", "run.release"]
        for item, name in self.inputs.each_query():
            reader = f"{CHECKS[item.sort]}_{'stream' if item.vector else 'answer'}"
            self.used.add(reader)
            arguments = [quoted(name), self.names[name], *self.inputs.domain_arguments(item)]
            yield from bracket_lines(call(reader, arguments), f"{inner}{read[name]} = ")
            if item.vector and kind_of_sort(item.sort) is PythonKind.REAL:
                exact = self.inputs.is_exact(item)
                each = f"(run.noise.answer(answer, exact={exact}) for answer in {read[name]})"
                passed.append(each)
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
        given = [f"{self.names[n]}: {self.inputs.given_type(item)}" for item, n in self.inputs.each_query()]
        yield from bracket_lines(call("def check", ["self", *given]), STEP, " -> None:")
        yield from describe.docstring(describe.of_check(inner), inner)
        attributes = self.inputs.writer({**self.inputs.attributes(), **read})
        for item, name in self.inputs.each_query():
            reader = f"checked_{CHECKS[item.sort]}{'s' if item.vector else ''}"
            self.used.add(reader)
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
            self.used.add("Real")
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
            self.used.update({"Real", "Release"})
            if place:
                yield ""
            yield f"{STEP}def {method}(self, release: Release[{self.alias}]) -> Real:"
            yield f'{STEP * 2}"""{says}"""'
            yield line(f"return {writer.of_kind(expr, PythonKind.REAL)}", STEP * 2)

    @property
    def _local(self) -> dict[str, str]:
        """Indexed noise that lives in one round of a loop."""
        lists = lists_of(self.mechanism)
        found = loop_locals(self.mechanism)
        return {noise: self.names[noise] for noise in found if noise not in lists.drawn_at_once()}

    @property
    def _streamed(self) -> nodes.For | None:
        """The loop that answers one query after the other."""
        return streamed(self.mechanism)

    def _program(self) -> Iterator[str]:
        self.used.update({"Noise", "Release"})
        inner = STEP * 2
        streams = self._streamed
        yield f"{STEP}def _program("
        yield f"{inner}self,"
        yield f"{inner}noise: Noise,"
        yield f"{inner}release: Release[{self.alias}],"
        for item in self.inputs.queries:
            kind = kind_of_sort(item.sort)
            self.used.update({"Real"} if kind is PythonKind.REAL else ())
            container = "Sequence" if streams is None else "Iterable"
            self.used.update({container} if item.vector else ())
            for name in item.names:
                typed = f"{container}[{kind.value}]" if item.vector else kind.value
                yield f"{inner}{self.names[name]}: {typed},"
        self.used.update({"Iterator"} if streams is not None else ())
        yield f"{STEP}) -> {'None' if streams is None else f'Iterator[{self.alias}]'}:"
        yield f'{inner}"""The program of the spec, statement by statement."""'
        lists = lists_of(self.mechanism)
        writer = replace(self.inputs.writer(self.names), local=self._local, lists=lists)
        declared = frozenset(self.inputs.private | {item.name for item in self.inputs.public})
        writer = replace(writer, fields=self._fields_of_calls())
        answered = answered_queries(self.mechanism)
        gaps, chosen = released_gaps(self.mechanism), chosen_gaps(self.mechanism)
        program = Program(
            self.mechanism,
            writer,
            self.classes,
            answered,
            declared,
            gaps,
            chosen,
            released_ranks(self.mechanism),
            self.callees,
            streams=streams is not None,
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
        assigned = {s.name for s in statements if isinstance(s, nodes.Assign)}
        for function in self.mechanism.functions:
            python = self.names[function.name]
            own = f"self.{python}"
            yield f"{indent}{python} = {f'noise.given({own})' if self.mode is RunMode.REFINED else own}"
        for public in self.inputs.public:
            if public.name in read:
                python = self.names[public.name]
                wide = public.name in assigned and self.kinds.of[public.name] is PythonKind.REAL
                self.used.update({"Real"} if wide else ())
                yield f"{indent}{python}{': Real' if wide else ''} = self.{python}"


def _verified(use: nodes.Use) -> Verified:
    """A callee, which the caller's own check has proved."""
    contract = contract_of(use)
    if contract.verdict != NAMES[Verified]:
        raise TypeError("only a `Verified` mechanism can be compiled")
    return Verified(contract.mechanism, Witness(), Accepted("acyclic", ()))


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
    yield from (function.name for function in mechanism.functions)
    for statement in statements_in(mechanism.body):
        yield from names_set(statement)
    for expr in expressions_in(mechanism):
        if isinstance(expr, nodes.Gather):
            yield expr.index


def _import_order(name: str) -> tuple[bool, str]:
    return not name[0].isupper(), name
