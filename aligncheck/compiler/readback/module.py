"""The module around a program: imports, records, classes, and what a class does with its inputs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from types import MappingProxyType

from aligncheck import runtime
from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback.number_kinds import KINDS, NumberKind, constant, join, kind_of, kinds_of
from aligncheck.compiler.readback.python_expressions import ARRAY_FUNCTIONS, BUILTINS, Expressions
from aligncheck.compiler.readback.python_patterns import (
    Found,
    ReadError,
    keywords,
    match,
    refuse,
    text,
    without_docstring,
)
from aligncheck.compiler.readback.shown import refuse_labels, refuse_stream
from aligncheck.compiler.readback.statements import (
    STEP,
    Preprocessing,
    Read,
    RecordType,
    Statements,
    said_of_ranks,
    variables_of,
)
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Expr, Sort
from aligncheck.language.syntax.walk import names_in, names_set, statements_in, subexpressions
from aligncheck.language.unparse import unparse_expr
from aligncheck.runtime import rationals
from aligncheck.runtime.refined import common_step

_MODES = {
    "LatticeMechanism": RunMode.LATTICE,
    "RefinedMechanism": RunMode.REFINED,
    "FloatMechanism": RunMode.FLOAT,
}
_NUMBERS = frozenset(rationals.__all__)
_OF_RESULTS = frozenset({"ChoiceGap", "Estimate", "Labelled", "Record"})
"""The runtime's names that no generated file says: records may have them."""
_ABSTRACT = frozenset({"Callable", "Iterable", "Iterator", "Sequence"})
_TYPING = frozenset({"ClassVar", "Never", "TypeAlias"})
_METHODS = ("__init__", "__call__", "stream", "check", "sensitivities", "_bound", "_cost", "_program")
_OPTIONAL = ("gamma", "budget", "testing_seed")
_CHECKS = {Sort.REAL: "real", Sort.INT: "integer", Sort.BOOL: "boolean"}
_TYPES = {"Real": Sort.REAL, "int": Sort.INT, "bool": Sort.BOOL}
_SORTS = {sort.value: sort for sort in Sort}
_INDEX = {"i": "i"}
"""In a declaration, `i` is the index of an answer: no input of a spec has this name."""


def read_module(code: str, on_lattice: bool) -> Read:
    """The class that a module is for, the last one. `on_lattice`: real-valued noise is to be read as noise on
    the lattice. Raises ReadError.
    """
    if not code.startswith('"""'):  # so that no comment above it declares another encoding
        raise ReadError(1, "a generated file begins with its documentation")
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ReadError(getattr(error, "lineno", None) or 1, "this is no Python") from None
    try:
        return _ModuleReader(on_lattice).read(without_docstring(body))
    except RecursionError:
        raise ReadError(1, "nests too deeply") from None


class _ModuleReader:
    """Reads the parts of a module in order; what each defines is known to those after it."""

    def __init__(self, on_lattice: bool) -> None:
        self.on_lattice = on_lattice
        self.imported: dict[str, str] = {}
        self.records: dict[str, RecordType] = {}
        self.waiting: dict[str, RecordType] = {}
        self.classes: dict[str, Read] = {}
        self.defined: set[str] = set()

    def read(self, body: list[ast.stmt]) -> Read:
        for node in body:
            self._refuse_unknown(node)
            match node:
                case ast.Import() | ast.ImportFrom():
                    self._import(node)
                case ast.Expr(value=ast.Constant(value=str())):
                    pass
                case ast.ClassDef(decorator_list=[], bases=[ast.Name(id=base)]) if base in _MODES:
                    self._define(node.name, node)
                    self.classes[node.name] = _Class(self, node, _MODES[base]).read()
                    self.waiting = {}
                case ast.ClassDef():
                    self._define(node.name, node)
                    self.waiting[node.name] = self._record(node)
                case ast.AnnAssign(
                    target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias"), value=ast.expr() as value
                ):
                    self._define(name, node)
                    self.refuse_types(value)
                case ast.stmt():
                    raise refuse(node, "the reader knows nothing like this in a module")
        if not self.classes:
            raise ReadError(1, "there is no mechanism")
        *others, last = self.classes.values()
        called = {name for each in self.classes.values() for name in each.calls}
        for each in others:
            if each.name not in called:
                raise ReadError(each.line, f"nothing calls `{each.name}`")
            if each.mode is not last.mode:
                text = f"`{each.name}` computes in the mode `{each.mode.value}`, `{last.name}` in another"
                raise ReadError(each.line, text)
        wanted = {_NAMES_OF_NUMBERS[last.mode]}
        if not {module for name, module in self.imported.items() if name in _NUMBERS} <= wanted:
            raise ReadError(
                1, f"functions of another kind of numbers than a `{last.mode.value}` mechanism computes with"
            )
        return last

    def _refuse_unknown(self, node: ast.stmt) -> None:
        """Raises ReadError at a name that nothing defines: a run would stop there, which tells something."""
        known = {
            *self.imported,
            *self.defined,
            *BUILTINS,
            *_OTHER_WORDS,
            *(c.name for c in [node] if isinstance(c, ast.ClassDef)),
        }
        for scope in ast.walk(node):
            if isinstance(scope, ast.FunctionDef | ast.Lambda):
                known |= {each.arg for each in ast.walk(scope) if isinstance(each, ast.arg)}
            if isinstance(scope, ast.FunctionDef):
                known |= variables_of(scope).keys()
        known |= {
            each.target.id
            for each in ast.walk(node)
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id not in known:
                raise refuse(each, f"`{each.id}` is not defined")

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            module = "" if isinstance(node, ast.Import) else node.module or ""
            if (
                alias.asname is not None
                or (isinstance(node, ast.ImportFrom) and node.level)
                or alias.name not in _IMPORTED_FROM.get(module, ())
            ):
                raise refuse(node, f"`{alias.name}` is nothing that a generated file imports from there")
            if self.imported.setdefault(alias.name, module) != module or self.defined:
                raise refuse(node, f"`{alias.name}` is imported twice, or too late")

    def _define(self, name: str, node: ast.stmt) -> None:
        self.refuse_names(iter([(name, node)]))
        self.defined.add(name)

    def refuse_types(self, node: ast.AST | None) -> None:
        """Raises ReadError where an annotation, which Python evaluates, is more than a type."""
        for part in ast.walk(node) if node is not None else ():
            known = isinstance(part, ast.Name) and (
                part.id in self.imported or part.id in self.defined or part.id in _PLAIN_TYPES
            )
            plain = isinstance(part, ast.Subscript | ast.List | ast.Tuple | ast.BitOr | ast.Load | ast.Store)
            union = isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr)
            rest = isinstance(part, ast.Constant) and part.value in (None, ...)
            if not (known or plain or union or rest):
                raise refuse(part, "a type was expected here")

    def refuse_names(self, names: Iterator[tuple[str, ast.AST]]) -> None:
        """Raises ReadError where something is given a name of something else, also of what a generated file
        could import and this one does not: the reader knows such words by their names alone.
        """
        for name, node in names:
            if name.startswith("_") or name in self.defined or name in BUILTINS | _OTHER_WORDS | _IMPORTS:
                raise refuse(node, f"`{name}` would have two meanings")

    def _record(self, node: ast.ClassDef) -> RecordType:
        decorators = [match("dataclass(frozen=True, slots=True)", each) for each in node.decorator_list]
        if node.bases or node.keywords or getattr(node, "type_params", []) or decorators != [{}]:
            raise refuse(node, "this class is neither a record nor a mechanism")
        tag, *fields = without_docstring(node.body) or [ast.Pass(lineno=node.lineno)]
        holes = match("tag: ClassVar[str] = _S", tag)
        if holes is None:
            raise refuse(tag, "a record's tag was expected here")
        found = []
        for each in fields:
            match each:
                case ast.AnnAssign(
                    target=ast.Name(id=name),
                    annotation=ast.Name(id="Real" | "int" | "bool"),
                    value=value,
                    simple=1,
                ):
                    named = None if value is None else match('field(metadata={"name": _S})', value)
                    if value is not None and named is None:
                        raise refuse(each, "a field has no default")
                    found.append((name, name if named is None else text(named["S"])))
                case _:
                    raise refuse(each, "a field of a record was expected here")
        if len({name for _, name in found}) != len(found):
            raise refuse(node, "two fields of one name")
        if any(python == "tag" or python.startswith("_") for python, _ in found):
            raise refuse(node, "a field's name means something else to Python")
        _refuse_other_names(found, node)
        _refuse_other_names([(node.name, text(holes["S"]))], node, str.lower)
        return RecordType(text(holes["S"]), tuple(found))


_NAMES_OF_NUMBERS = {
    RunMode.LATTICE: "aligncheck.runtime.rationals",
    RunMode.REFINED: "aligncheck.runtime.rationals",
    RunMode.FLOAT: "aligncheck.runtime.reals",
}
_PLAIN_TYPES = frozenset({"int", "bool", "str", "dict", "tuple", "type"})
_OTHER_WORDS = _PLAIN_TYPES | {"noise", "release", "run", "record", "self"}
_PASSING = frozenset({"_", "record", "run"})
"""Those of them that methods set: a run, each record that a call released, what nothing reads."""


_IMPORTED_FROM: Mapping[str, frozenset[str]] = {
    "": frozenset({"math"}),
    "collections.abc": _ABSTRACT,
    "dataclasses": frozenset({"dataclass", "field"}),
    "fractions": frozenset({"Fraction"}),
    "typing": _TYPING,
    "aligncheck.runtime": frozenset(runtime.__all__) - _NUMBERS - _OF_RESULTS,
    "aligncheck.runtime.arrays": ARRAY_FUNCTIONS,
    **dict.fromkeys(_NAMES_OF_NUMBERS.values(), _NUMBERS),
}
"""What a generated file may import."""

_IMPORTS = frozenset().union(*_IMPORTED_FROM.values())


class _Class:
    """Reads one class."""

    def __init__(self, module: _ModuleReader, node: ast.ClassDef, mode: RunMode) -> None:
        self.module, self.node, self.mode = module, node, mode
        self.parameters: list[tuple[str, str, Sort, bool, int]] = []
        self.answers: list[Preprocessing] = []
        self.functions: dict[str, nodes.Function] = {}
        self.where: dict[str, list[Expr]] = {}
        self.units: list[Expr] = []
        self.counted: set[str] = set()
        self.step: Expr | None = None
        self.names: dict[str, str] = {}
        self.claims: dict[str, Expr] = {}
        self.defaults: dict[str, Expr] = {}
        self.told: dict[str, str] = {}
        self.called: list[str] = []
        self.late: list[ast.stmt] = []

    @property
    def stepped(self) -> bool:
        """Whether it computes exactly, with a step."""
        return self.mode is not RunMode.FLOAT

    @property
    def on_lattice(self) -> bool:
        return self.mode is RunMode.LATTICE and self.module.on_lattice

    def read(self) -> Read:
        methods = self._methods()
        self._init(methods["__init__"])
        self._call(methods["__call__"])
        if "sensitivities" in methods:
            self._sensitivities(methods["sensitivities"])
        for method, claim in (("_bound", "most"), ("_cost", "cost")):
            if method in methods:
                self._claim(methods[method], claim)
        if "check" in methods:
            self._check(methods["check"])
        return self._program(methods["_program"], methods.get("stream"))

    # --- the class itself ---------------------------------------------------------------------------------

    def _methods(self) -> dict[str, ast.FunctionDef]:
        node = self.node
        if node.keywords or getattr(node, "type_params", []):
            raise refuse(node, "a mechanism has one base")
        spec, *rest = without_docstring(node.body) or [node]
        holes = match("spec: ClassVar[Spec] = _S", spec)
        if holes is None or not isinstance(holes["S"], ast.Call):
            raise refuse(spec, "the description of the spec was expected here")
        self._spec(holes["S"])
        if (
            rest
            and (holes := match("callees: ClassVar[tuple[type[Mechanism], ...]] = _C", rest[0])) is not None
        ):
            rest = rest[1:]
            names = holes["C"].elts if isinstance(holes["C"], ast.Tuple) else [holes["C"]]
            if [getattr(n, "id", "") for n in names] != list(
                dict.fromkeys(getattr(n, "id", "") for n in names)
            ):
                raise refuse(holes["C"], "a class is named twice")
            for name in names:
                if not isinstance(name, ast.Name) or name.id not in self.module.classes:
                    raise refuse(name, "a class of this file was expected here")
                self.called.append(name.id)
        found: dict[str, ast.FunctionDef] = {}
        for each in rest:
            if not isinstance(each, ast.FunctionDef) or each.name not in _METHODS or each.name in found:
                raise refuse(each, "the reader knows no such part of a class")
            if each.decorator_list or getattr(each, "type_params", []):
                raise refuse(each, "a method has no decorators")
            self.module.refuse_types(each.returns)
            self.module.refuse_names((name, at) for name, at in _set_in(each) if name not in _PASSING)
            found[each.name] = each
        for name in ("__init__", "__call__", "_program"):
            if name not in found:
                raise refuse(node, f"`{name}` is missing")
        return found

    def _spec(self, node: ast.Call) -> None:
        given = keywords(node)
        if (
            match("Spec", node.func) is None
            or node.args
            or not set(given)
            <= {"name", "claim", "bound", "currency", "delta", "parameters", "queries", "functions"}
        ):
            raise refuse(node, "the description of the spec was expected here")
        self.spec_name = text(given.get("name"))
        unsafe = "unsafe_" if self.mode is RunMode.FLOAT else ""
        _refuse_other_names([(self.node.name, f"{unsafe}{self.spec_name}")], node, str.lower)
        self.told.update((part, text(given[part])) for part in ("claim", "bound", "delta") if part in given)
        if "currency" in given:
            self.told["currency"] = ast.unparse(given["currency"])
        for each in self._tuple(given, "parameters"):
            name, keyword, sort, more = self._info("ParameterInfo", each, 3)
            vector = "vector" in more
            if not set(more) <= {"vector", "where", "default"} or (
                vector and match("True", more["vector"]) is None
            ):
                raise refuse(each, "a parameter is not described so")
            self.told.update((f"{part} of {name}", text(more[part])) for part in more.keys() - {"vector"})
            self.parameters.append((name, keyword, _SORTS[sort], vector, each.lineno))
        for each in self._tuple(given, "queries"):
            name, keyword, sort, more = self._info("QueryInfo", each, 3)
            if (
                not set(more) <= {"vector", "adjacency", "sensitivity", "lattice", "restricted", "table"}
                or "adjacency" not in more
            ):
                raise refuse(each, "answers are not described so")
            vector = match("True", more.get("vector", each)) is not None
            adjacency = {a.value: a for a in nodes.Adjacency}.get(text(more["adjacency"]))
            if adjacency is None or (not vector and match("False", more.get("vector", each)) is None):
                raise refuse(each, "answers are not described so")
            self.answers.append(Preprocessing(name, keyword, _SORTS[sort], vector, adjacency, each.lineno))
            for part in more.keys() & {"sensitivity", "lattice", "table"}:
                self.told[f"{part} of {name}"] = text(more[part])
            if "restricted" in more:
                self.told[f"restricted {name}"] = ast.unparse(more["restricted"])
        for each in self._tuple(given, "functions"):
            holes = match("FunctionInfo(_S, _T)", each)
            if holes is None:
                raise refuse(each, "a function is not described so")
            self.functions[text(holes["T"])] = nodes.Function(text(holes["S"]), (), Sort.REAL)
        called = [(k, n) for n, k, *_ in self.parameters] + [(a.keyword, a.name) for a in self.answers]
        called += [(keyword, function.name) for keyword, function in self.functions.items()]
        _refuse_other_names(called, node)
        every = [keyword for keyword, _ in called]
        self.module.refuse_names((name, node) for name in every)
        taken = {name for base in runtime.Mechanism.__mro__ for name in vars(base)} | {*_METHODS, *_OPTIONAL}
        taken |= _INDEX.keys()
        if len(set(every)) != len(every) or set(every) & taken:
            raise refuse(node, "two inputs, or an input and a part of the class, have one name")

    @staticmethod
    def _tuple(given: Mapping[str, ast.expr], part: str) -> list[ast.expr]:
        node = given.get(part)
        if node is not None and not isinstance(node, ast.Tuple):
            raise refuse(node, "a tuple was expected here")
        return [] if node is None else list(node.elts)

    @staticmethod
    def _info(kind: str, node: ast.expr, count: int) -> tuple[str, str, str, dict[str, ast.expr]]:
        if not isinstance(node, ast.Call) or match(kind, node.func) is None or len(node.args) != count:
            raise refuse(node, f"`{kind}` was expected here")
        name, keyword, sort = map(text, node.args)
        if sort not in _SORTS:
            raise refuse(node, "there is no such sort")
        return name, keyword, sort, keywords(node)

    # --- making an object ---------------------------------------------------------------------------------

    def _arguments(
        self, node: ast.FunctionDef, positional: list[str], named: Mapping[str, bool] = MappingProxyType({})
    ) -> None:
        """Raises ReadError where a method has other arguments; `named` says which may be left out."""
        given = node.args
        for each in [*given.args, *given.kwonlyargs]:
            self.module.refuse_types(each.annotation)
        defaults = [d if d is None else ast.unparse(d) for d in given.kw_defaults]
        if (
            given.posonlyargs
            or given.vararg is not None
            or given.kwarg is not None
            or given.defaults
            or [a.arg for a in given.args] != ["self", *positional]
            or [a.arg for a in given.kwonlyargs] != list(named)
            or defaults != ["None" if optional else None for optional in named.values()]
        ):
            raise refuse(node, f"`{node.name}` has other arguments")

    def _init(self, node: ast.FunctionDef) -> None:
        named = {keyword: self._has_default(name) for name, keyword, *_ in self.parameters}
        named |= dict.fromkeys(self.functions, False)
        optional = _OPTIONAL if self.stepped else _OPTIONAL[1:]
        self._arguments(node, [], named | dict.fromkeys(optional, True))
        first, *body = without_docstring(node.body)
        if match("super().__init__(budget=budget, testing_seed=testing_seed)", first) is None:
            raise refuse(first, "`super().__init__` was expected here")
        for name, keyword, sort, vector, _ in self.parameters:
            self.names[f"self.{keyword}"] = name
            if not self._has_default(name):
                reader = _CHECKS[sort] + "s" * vector
                self._expect(f"self.{keyword} = {reader}({name!r}, {keyword})", body)
        types = {each.arg: each.annotation for each in node.args.kwonlyargs}
        for keyword, function in self.functions.items():
            self._function(keyword, function, types[keyword], body)
        self._resolution(node)
        early = {python: name for python, name in self.names.items() if not self._has_default(name)}
        self._requirements(self._scope(early), body)
        self._defaults(early, body)
        scope = self._scope(self.names)
        self._requirements(scope, body)
        if self.stepped:
            holes = match("self.gamma = resolution(gamma, _D)", body[0]) if body else None
            if holes is None:
                raise refuse(body[0] if body else node, "the step of the lattice was expected here")
            body.pop(0)
        for attribute, claim in (("bound", "most"), ("bound_delta", "delta")):
            if body and (holes := match(f"self.{attribute} = _E", body[0])) is not None:
                self.claims[claim] = scope.read(holes["E"])
                body.pop(0)
        if body:
            raise refuse(body[0], "the reader knows no such statement here")
        self._settle(scope, ())

    def _requirements(self, scope: Expressions, body: list[ast.stmt]) -> None:
        """Takes what is required of parameters that have a value by now."""
        while body and (holes := match("require(_C, _S, _V, _W)", body[0])) is not None:
            self._require(holes, scope)
            body.pop(0)
        self._settle(scope, ())

    def _defaults(self, known: dict[str, str], body: list[ast.stmt]) -> None:
        plain = Expressions(known, exact=False)
        for name, keyword, sort, *_ in self.parameters:
            if self._has_default(name):
                given = f"or_default({name!r}, {keyword}, lambda: _E)"
                found = self._expect(f"self.{keyword} = {_CHECKS[sort]}({name!r}, {given})", body)
                self.defaults[name] = plain.read(found["E"])
        self._settle(plain, ())

    def _has_default(self, name: str) -> bool:
        return f"default of {name}" in self.told

    def _expect(self, pattern: str, body: list[ast.stmt]) -> Found:
        """Takes the next statement, which must be this one."""
        found = match(pattern, body[0]) if body else None
        if found is None:
            raise refuse(body[0] if body else self.node, f"`{pattern}` was expected here")
        body.pop(0)
        return found

    def _function(
        self, keyword: str, function: nodes.Function, typed: ast.expr | None, body: list[ast.stmt]
    ) -> None:
        holes = None if typed is None else match("Callable[_T, _R]", typed)
        if holes is None or not isinstance(holes["T"], ast.List):
            raise refuse(typed or self.node, "the type of a function was expected here")
        every = [getattr(each, "id", "") for each in [*holes["T"].elts, holes["R"]]]
        if not set(every) <= _TYPES.keys():
            raise refuse(typed or self.node, "the type of a function was expected here")
        *sorts, result = (_TYPES[each] for each in every)
        self._expect(f"self.{keyword} = {_CHECKS[result]}_function({function.name!r}, {keyword})", body)
        self.functions[keyword] = nodes.Function(function.name, tuple(sorts), result)

    def _resolution(self, node: ast.FunctionDef) -> None:
        """What the step divides. On a lattice it is a fraction of what all constants among these are
        multiples of, and real parameters among them are numbers of steps.
        """
        found = [
            holes["D"] for each in node.body if (holes := match("self.gamma = resolution(gamma, _D)", each))
        ]
        if len(found) != 1 or not isinstance(found[0], ast.Dict):
            if self.stepped:
                raise refuse(node, "the step of the lattice was expected here")
            return
        sorts = {keyword: (name, sort) for name, keyword, sort, *_ in self.parameters}
        parts: list[ast.expr] = []
        if len(set(map(text, found[0].keys))) != len(found[0].keys):
            raise refuse(found[0], "two units of one name, of which Python keeps the last")
        for value in found[0].values:
            parts.append(value.elt if isinstance(value, ast.ListComp) else value)
            one, each = match("self._X", value), match("[self._X[i] for i in range(len(self._X))]", value)
            name, sort = sorts.get((one or each or {"X": ""})["X"], ("", None))
            if self.on_lattice and name and (each or sort is Sort.REAL):
                self.counted.add(name)
        plain = Expressions(self.names | _INDEX, self.stepped)
        values = [constant(plain.read(part)) for part in parts]
        known = [value for value in values if value]
        if self.on_lattice:
            made = nodes.Name(STEP)
            whole = nodes.Number(reduce(common_step, known)) if known else None
            self.step = made if whole is None else nodes.Binary("/", whole, made)
        for value in found[0].values:
            self.units.append(self._everywhere("[_E for i in range(len(_X))]", value, self.stepped))

    def _everywhere(self, pattern: str, node: ast.expr, exact: bool) -> Expr:
        """A number of a declaration, or what it is at each index of a list that it reads there."""
        holes = match(pattern, node)
        names = self.names if holes is None else self.names | _INDEX
        scope = replace(self._scope(names), exact=exact)
        read = scope.read(node if holes is None else holes["E"])
        if holes is not None:
            entry = nodes.Index(scope.ident(holes["X"]), nodes.Name("i"))
            if entry not in subexpressions(read):
                raise refuse(node, "the length of another list was expected here")
        self._settle(scope, ())
        return read

    def _scope(self, names: Mapping[str, str]) -> Expressions:
        return Expressions(
            dict(names),
            self.stepped,
            self.step,
            frozenset(self.counted),
            {keyword: function.name for keyword, function in self.functions.items()},
        )

    def _settle(
        self, scope: Expressions, more: tuple[tuple[str, NumberKind | Expr], ...]
    ) -> dict[str, NumberKind]:
        """Raises ReadError at the first operation that another kind of numbers would make another one."""
        given: list[tuple[str, NumberKind | Expr]] = [
            (name, KINDS[sort]) for name, _, sort, *_ in self.parameters
        ]
        given += [(a.name, KINDS[a.sort]) for a in self.answers]
        given += [(f"{f.name}()", KINDS[f.result]) for f in self.functions.values()]
        index = [] if more else [("i", NumberKind.INT)]
        of = kinds_of([*given, *index, (STEP, NumberKind.REAL), *more])
        for quotient in scope.quotients:
            if NumberKind.REAL not in (kind_of(quotient.left, of), kind_of(quotient.right, of)):
                raise ReadError(
                    quotient.span.start, "`/` of what may be two ints is a float: `Fraction` is needed"
                )
        for mask in scope.masks:
            if kind_of(mask, of) is not NumberKind.BOOL:
                raise ReadError(mask.span.start, "`~`, `&` and `|` are for truth values")
        for given_ in scope.passed:
            if kind_of(given_, of) in (None, NumberKind.NUMBER):
                raise ReadError(given_.span.start, "a function may be given an int or a fraction")
        for number in scope.whole:
            if kind_of(number, of) is not NumberKind.INT:
                raise ReadError(number.span.start, "an index, or what a fraction is made of, may be no int")
        for number in scope.numbers:
            if kind_of(number, of) is NumberKind.BOOL:
                raise ReadError(number.span.start, "`-` makes a number of a truth value")
        return of

    def _require(self, holes: Found, scope: Expressions) -> None:
        name = text(holes["S"])
        text(holes["W"])
        if name not in {p[0] for p in self.parameters} | {a.name for a in self.answers}:
            raise refuse(holes["S"], "the name of an input was expected here")
        if "V" in holes and scope.known(holes["V"]) not in {p[0] for p in self.parameters}:
            raise refuse(holes["V"], "a message shows a parameter, and nothing else")
        self.where.setdefault(name, []).append(self._condition(holes["C"], scope, name))

    def _condition(self, node: ast.expr, scope: Expressions, name: str) -> Expr:
        """A condition; `all(... for i in range(len(list)))` says it of every index of the list that is
        declared there, as a declaration does that mentions `i`.
        """
        if (holes := match("all(_G)", node)) is None:
            return scope.read(node)
        inner = holes["G"]
        part = (
            inner.generators[0]
            if isinstance(inner, ast.GeneratorExp) and len(inner.generators) == 1
            else None
        )
        found = None if part is None or part.ifs or part.is_async else match("range(len(_X))", part.iter)
        if (
            part is None
            or found is None
            or match("i", part.target) is None
            or scope.known(found["X"]) != name
        ):
            raise refuse(node, "a condition at every index was expected here")
        within = self._scope({**scope.names, **_INDEX})
        read = within.read(inner.elt)
        self._settle(within, ())
        return read

    # --- running it ---------------------------------------------------------------------------------------

    def _call(self, node: ast.FunctionDef) -> None:
        self._arguments(node, [a.keyword for a in self.answers])
        body = without_docstring(node.body)
        names = dict(self.names)
        passed: list[str] = ["run.noise", "run.release"]
        for each in self.answers:
            reader = f"{_CHECKS[each.sort]}_answer" + "s" * each.vector
            read = self._read_answers(body, reader, each, each, names)
            passed.append(self._held(each, f"{read}.values" if each.vector else read, each.vector))
        scope = self._scope(names)
        while body and (required := _required(body[0])) is not None:
            self._require(required, scope)
            self.late.append(body.pop(0))
        lists = ", ".join(
            f"{a.name!r}: {n}" for n, i in names.items() for a in self.answers if a.vector and a.name == i
        )
        begun, run = (
            f"self._run({{{lists}}})" if lists else "self._run()",
            f"self._program({', '.join(passed)})",
        )
        plain = [
            f"with {begun} as run:\n    {run}",
            f"with {begun} as run:\n    for _ in {run}:\n        pass",
        ]
        if not body or all(self._match_held(pattern, body[0]) is None for pattern in plain):
            raise refuse(body[0] if body else node, "one run of the program on the answers was expected here")
        self.hands_out = self._match_held(plain[1], body[0]) is not None
        body.pop(0)
        self._expect("return run.result()", body)
        if body:
            raise refuse(body[0], "the reader knows no such statement here")
        self._settle(scope, ())

    def _match_held(self, pattern: str, node: ast.stmt) -> Found | None:
        """Compares with a pattern in which `exact=E` stands for how each answer is held."""
        found = match(pattern, node)
        if found is None:
            return None
        for place, each in enumerate(a for a in self.answers if a.sort is Sort.REAL):
            exact = found[_HOLES[place]]
            if match("True", exact) is None and match("False", exact) is None:
                return None
            each.to_step = self.mode is RunMode.LATTICE or match("False", exact) is not None
            if match("False", exact) is not None and self.on_lattice and each.lattice is None:
                each.lattice = self.step
        return found

    def _held(self, each: Preprocessing, read: str, vector: bool) -> str:
        if each.sort is not Sort.REAL:
            return read
        place = [a for a in self.answers if a.sort is Sort.REAL].index(each)
        if place >= len(_HOLES):
            raise ReadError(each.line, "too many private inputs")
        return f"run.noise.answer{'s' if vector else ''}({read}, exact=_{_HOLES[place]})"

    def _read_answers(
        self,
        body: list[ast.stmt],
        reader: str,
        each: Preprocessing,
        into: Preprocessing,
        names: dict[str, str],
    ) -> str:
        """Takes `V = reader("name", keyword, ...)`, whose other arguments go `into` what is done with the
        answers, and gives V, a name of its own.
        """
        node = body.pop(0) if body else self.node
        match node:
            case ast.Assign(
                targets=[ast.Name(id=read) as target], value=ast.Call(func=func, args=args) as call
            ):
                first = ast.Call(func, args, [])
                if match(f"{reader}({each.name!r}, {each.keyword})", first) is not None:
                    if read in names or read in _PASSING or read in {a.keyword for a in self.answers}:
                        raise refuse(target, f"`{read}` has two meanings")
                    names[read] = each.name
                    self._domain(into, keywords(call))
                    return read
            case ast.AST():
                pass
        raise refuse(node, f"the answers `{each.name}` must be read by `{reader}`")

    def _domain(self, each: Preprocessing, given: Mapping[str, ast.expr]) -> None:
        """The declared range and lattice, and the lists that must be long enough."""
        if not set(given) <= {"low", "high", "step", "whole", "entries", "table"}:
            raise ReadError(each.line, f"`{each.name}` is not read so")
        scope, inner = self._scope(self.names), self._scope(self.names | _INDEX)
        bounds: dict[str, Expr] = {}
        for part in given.keys() & {"low", "high", "step"}:
            at_each = match("lambda i: _E", given[part])
            bounds[part] = scope.read(given[part]) if at_each is None else inner.read(at_each["E"])
        self._settle(inner, ())
        sizes = given.get("table", ast.Tuple([]))
        parts = (
            sizes.elts if isinstance(sizes, ast.Tuple) and (sizes.elts or "table" not in given) else [sizes]
        )
        if self.told.get(f"table of {each.name}", "") != ", ".join(
            unparse_expr(scope.read(e)) for e in parts
        ):
            raise ReadError(each.line, f"`{each.name}` is read as a table of other sizes")
        each.sizes = f", table={ast.unparse(sizes)}" if "table" in given else ""
        self._settle(scope, ())
        each.low, each.high, each.lattice = bounds.get("low"), bounds.get("high"), bounds.get("step")
        each.whole = "whole" in given and match("True", given["whole"]) is not None
        if "whole" in given and (not each.whole or each.sort is not Sort.INT):
            raise refuse(given["whole"], "`whole=True` was expected here")
        each.rounded = each.lattice is not None or (each.sort is Sort.INT and not each.whole)
        if "entries" in given:
            each.entries = tuple(self._entries(given["entries"], scope))

    def _entries(self, node: ast.expr, scope: Expressions) -> Iterator[str]:
        if not isinstance(node, ast.Dict):
            raise refuse(node, "the lengths of lists were expected here")
        for key, value in zip(node.keys, node.values, strict=True):
            holes = match("len(_X)", value)
            if key is None or holes is None or scope.ident(holes["X"]) != text(key):
                raise refuse(value, "the length of a list was expected here")
            yield text(key)

    def _sensitivities(self, node: ast.FunctionDef) -> None:
        self._arguments(node, [])
        body = without_docstring(node.body)
        holes = match("return _D", body[0]) if len(body) == 1 else None
        if holes is None or not isinstance(holes["D"], ast.Dict):
            raise refuse(node, "one dictionary was expected here")
        answers = {a.name: a for a in self.answers}
        for key, value in zip(holes["D"].keys, holes["D"].values, strict=True):
            name = text(key)
            if name not in answers or answers[name].sensitivity is not None:
                raise refuse(value, "a private input was expected here")
            # No run depends on what is told here: of an irrational distance it is a number near it.
            told = self._everywhere("min(_E for i in range(len(_X)))", value, exact=False)
            answers[name].sensitivity = told

    def _claim(self, node: ast.FunctionDef, claim: str) -> None:
        self._arguments(node, ["release"])
        given = {f"release.given['{a.name}']": a.name for a in self.answers}
        scope = self._scope({**self.names, **given, "release": "out"})
        body = without_docstring(node.body)
        holes = match("return _E", body[0]) if len(body) == 1 else None
        if holes is None or claim in self.claims:
            raise refuse(node, "one claim was expected here")
        self.claims[claim] = scope.read(holes["E"])
        self._settle(scope, ())

    def _check(self, node: ast.FunctionDef) -> None:
        """Computes nothing but conditions, which no run depends on."""
        self._arguments(node, [a.keyword for a in self.answers])
        body = without_docstring(node.body)
        names = dict(self.names)
        for each in self.answers:
            reader = f"checked_{_CHECKS[each.sort]}" + "s" * each.vector
            call = (
                f"{reader}({each.name!r}, {each.keyword}{', whole=True' if each.whole else ''}{each.sizes})"
            )
            if not body or match(call, body[0]) is None:
                target = self._expect(f"_V = {call}", body)["V"]
                if not isinstance(target, ast.Name):
                    raise refuse(target, "a variable was expected here")
                names[target.id] = each.name
            else:
                body.pop(0)
        where, self.where = self.where, {}
        functions = {keyword: function.name for keyword, function in self.functions.items()}
        scope = _Checks(names, self.stepped, None, frozenset(), functions)
        for each_ in body:
            holes = _required(each_)
            if holes is None:
                raise refuse(each_, "the reader knows no such statement here")
            scope.condition(holes["C"])
            text(holes["S"]), text(holes["W"])
            scope.ident(holes["V"]) if "V" in holes else None
        self.where = where

    # --- the program --------------------------------------------------------------------------------------

    def _program(self, node: ast.FunctionDef, stream: ast.FunctionDef | None) -> Read:
        self._arguments(node, ["noise", "release", *(a.keyword for a in self.answers)])
        body, names = without_docstring(node.body), {a.keyword: a.name for a in self.answers}
        variables = variables_of(node)
        bound = {keyword for _, keyword, *_ in self.parameters} | set(self.functions)
        later = [said_of_ranks(statement) for statement in body]
        for each in ast.walk(node):
            new = isinstance(each, ast.NamedExpr | ast.Lambda | ast.Await | ast.YieldFrom | ast.Starred)
            if new and each not in later:
                raise refuse(each, "the reader knows nothing like this in a program")
        functions: dict[str, str] = {}
        while body and (holes := self._binding(body[0])) is not None and holes in bound:
            if holes in self.functions:
                self._given(holes, body[0])
                functions[holes] = self.functions[holes].name
            else:
                names[holes] = self.names[f"self.{holes}"]
            variables[holes] -= 1
            body.pop(0)
        inputs = {p[0] for p in self.parameters} | {a.name for a in self.answers}
        own = {name for name, count in variables.items() if count and name not in names}
        if own & (set(functions) | bound):
            raise refuse(node, "a function, or a parameter that is not read, is set")
        names.update((name, f"{name}'" if name in inputs else name) for name in own)
        lists = {p[0] for p in self.parameters if p[3]} | {a.name for a in self.answers if a.vector}
        scope = self._scope(names)
        scope.functions, scope.lengths = (
            functions,
            {n: nodes.Call("len", (nodes.Name(n),)) for n in sorted(lists)},
        )
        scope.filled = frozenset(a.name for a in self.answers if a.vector)
        statements = Statements(
            scope,
            lattice=self.on_lattice,
            noisy=self.mode is not RunMode.LATTICE or self.on_lattice,
            passes_step=self.mode is RunMode.LATTICE,
            records=self.module.waiting,
            callees=self.module.classes,
            streams=self.hands_out,
            variables=frozenset(names),
            set_once=frozenset(names[name] for name in own if variables[name] == 1),
            inputs=frozenset(ident for name, ident in names.items() if not variables[name]),
        )
        tree = self._tree(statements.program(body, own))
        if any(variables[name] != count or name not in own for name, count in statements.passing.items()):
            raise refuse(node, "a variable of the program is set to what is called, or to its result")
        kinds = self._settle(scope, tuple(statements.given))
        refuse_labels(statements.labels, {a.name for a in self.answers if a.vector}, tree)
        for estimate in statements.estimates:
            _refuse_private(estimate, tree, {p[0] for p in self.parameters})
        if stream is not None:
            self._stream(stream, tree)
        elif self.hands_out:
            raise refuse(node, "a program that hands out its records has a `stream`")
        return self._whole(tree, kinds, stream is not None)

    def _given(self, keyword: str, node: ast.stmt) -> None:
        """With real-valued noise, what functions are given is rounded."""
        rounded = match("_A = noise.given(self._B)", node) is not None
        if rounded is not (self.mode is RunMode.REFINED):
            raise refuse(node, f"`{keyword}` is not given what this mode rounds")

    @staticmethod
    def _binding(node: ast.stmt) -> str | None:
        """`name = self.name`; `name = noise.given(self.name)`."""
        patterns = "_A = self._B", "_A = noise.given(self._B)"
        holes = next((found for each in patterns if (found := match(each, node)) is not None), None)
        return None if holes is None or ast.unparse(holes["A"]) != holes["B"] else str(holes["B"])

    def _tree(self, body: tuple[nodes.Stmt, ...]) -> nodes.Mechanism:
        inputs: list[nodes.Input] = []
        if self.on_lattice:
            sort, op, low = (Sort.REAL, ">", 0) if isinstance(self.step, nodes.Name) else (Sort.INT, ">=", 1)
            where = nodes.Compare(op, nodes.Name(STEP), nodes.Number(Fraction(low)))
            inputs.append(nodes.Parameter(STEP, sort, where))
        for name, _, sort, vector, _ in self.parameters:
            kind = nodes.PublicVector if vector else nodes.Parameter
            inputs.append(kind(name, Sort.INT if name in self.counted else sort, self._where(name)))
        for a in self.answers:
            ends = None if a.low is None or a.high is None else (a.low, a.high)
            inputs.append(
                nodes.Queries(
                    (a.name,),
                    a.vector,
                    a.sort,
                    a.adjacency,
                    a.sensitivity,
                    a.lattice,
                    ends,
                    self._where(a.name),
                )
            )
        claim = self.claims.get("most")
        if claim is None:
            raise refuse(self.node, "the class does not say what a run spends")
        cost = self.claims.get("cost")
        return nodes.Mechanism(
            self.spec_name,
            "",
            (),
            tuple(inputs),
            self._whole_claim(claim, cost, self.claims.get("delta")),
            body,
            (),
            functions=tuple(self.functions.values()),
        )

    def _whole_claim(self, claim: Expr, cost: Expr | None, delta: Expr | None) -> nodes.Claim:
        """The claim, in what the class says that it adds up."""
        currency = self.told.get("currency")
        if currency is None and delta is None:
            return nodes.Pure(claim) if cost is None else nodes.Pure(cost, claim)
        if currency == "Currency.EPSILON_DELTA" and cost is None and delta is not None:
            return nodes.Approximate(claim, delta)
        if currency == "Currency.RHO" and cost is None and delta is None:
            return nodes.Concentrated(claim)
        raise refuse(self.node, "the class does not say what it adds up")

    def _where(self, name: str) -> Expr | None:
        parts = self.where.get(name, [])
        return nodes.Logic("and", tuple(parts)) if parts else None

    def _stream(self, node: ast.FunctionDef, tree: nodes.Mechanism) -> None:
        self._arguments(node, [a.keyword for a in self.answers])
        if not self.hands_out:
            raise refuse(node, "only a program that hands out its records can be streamed")
        if self.late:
            raise refuse(self.late[0], "a stream would not look at this condition")
        body = without_docstring(node.body)
        passed: list[str] = ["run.noise", "run.release"]
        names: dict[str, str] = {}
        for each in self.answers:
            exact = "False" if each.to_step and each.lattice in (None, self.step) else "True"
            reader = f"{_CHECKS[each.sort]}_{'stream' if each.vector else 'answer'}"
            copy = Preprocessing(each.name, each.keyword, each.sort, each.vector, each.adjacency, each.line)
            read = self._read_answers(body, reader, each, copy, names)
            domains = [(one.low, one.high, one.whole, one.entries) for one in (copy, each)]
            if domains[0] != domains[1] or (copy.lattice != each.lattice and each.lattice is not self.step):
                raise refuse(node, f"`{each.name}` is not read as in a run")
            if copy.lattice is not None and each.lattice is not None:
                exact = "True"
            if each.sort is not Sort.REAL:
                passed.append(read)
            elif each.vector:
                passed.append(f"(run.noise.answer(answer, exact={exact}) for answer in {read})")
            else:
                passed.append(f"run.noise.answer({read}, exact={exact})")
        self._expect("run = self._run()", body)
        self._expect(f"return run.stream(self._program({', '.join(passed)}))", body)
        if body:
            raise refuse(body[0], "the reader knows no such statement here")
        refuse_stream(tree, {a.name for a in self.answers if a.vector}, node.lineno)

    def _whole(self, tree: nodes.Mechanism, kinds: Mapping[str, NumberKind], streams: bool) -> Read:
        runs = {s.mechanism for s in statements_in(tree.body) if isinstance(s, nodes.Invoke)}
        if runs != set(self.called):
            raise refuse(self.node, "`callees` does not name the classes that are called")
        fields: dict[str, str] = {}
        for record in self.module.waiting.values():
            for python, name in record.fields:
                if fields.setdefault(python, name) != name:
                    raise refuse(self.node, f"the field `{python}` has two meanings")
        emitted: dict[str, list[NumberKind | None]] = {}
        for each in statements_in(tree.body):
            for part in each.fields if isinstance(each, nodes.Emit) else ():
                kind = kind_of(part.value, kinds)
                if kind in (None, NumberKind.NUMBER):
                    raise ReadError(each.span.start, f"`{part.name}` may be shown as an int or as a fraction")
                emitted.setdefault(part.name, []).append(kind)
        return Read(
            self.node.name,
            self.mode,
            self.node.lineno,
            tree,
            {**{k: n for n, k, *_ in self.parameters}, **{a.keyword: a.name for a in self.answers}},
            fields,
            {name: join(some) for name, some in emitted.items()},
            tuple(self.answers),
            tuple(self.units),
            self.told,
            self.spec_name,
            streams,
            self.defaults,
            tuple(self.called),
            dict(self.module.classes),
        )


_HOLES = "ABDEFGHIJKL"


class _Checks(Expressions):
    """Conditions that are computed and thrown away: all that matters is that they are nothing else."""

    def condition(self, node: ast.expr) -> None:
        """Raises ReadError where this is more than a condition on what is known."""
        holes = match("all(_G)", node)
        if holes is not None and isinstance(holes["G"], ast.GeneratorExp):
            self.generator("all", holes["G"], nodes.NOWHERE)
        else:
            self.read(node)

    def read(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.Compare) and len(node.ops) == 2:
            parts = [node.left, *node.comparators]
        elif (found := match("is_multiple(_X, _Y)", node)) is not None:
            parts = [found["X"], found["Y"]]
        else:
            return super().read(node)
        for part in parts:
            self.read(part)
        return nodes.Boolean(True)


def _required(node: ast.stmt) -> Found | None:
    return match("require(_C, _S, _V, _W)", node) or match("require_answers(_C, _S, _W)", node)


def _set_in(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Name]]:
    """The names that a function sets, those of its sets' indices included."""
    for each in ast.walk(function):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id, each


def _refuse_other_names(
    called: list[tuple[str, str]], node: ast.AST, fold: Callable[[str], str] = str
) -> None:
    """Raises ReadError where something has another name in Python than in the spec, as who calls the class
    would not notice: only underscores, and what `fold` takes away, may differ, where Python needs that. None
    has a name that the spec gives to another one; and no two have others that differ from each other in no
    more.
    """
    names, told = {name for _, name in called}, set[str]()
    for python, name in called:
        one, other = (fold(each.replace("_", "")) for each in (python, name))
        taken = python != name and (python in names or one in told)
        if one != (other if other[:1].isalpha() else f"v{other}") or taken:
            raise refuse(node, f"`{name}` of the spec is called `{python}`")
        told |= {one} if python != name else set()


def _refuse_private(expr: Expr, tree: nodes.Mechanism, parameters: set[str]) -> None:
    """Raises ReadError where a number that is shown beside a record is made of more than parameters."""
    once = {s.name: s.value for s in tree.body if isinstance(s, nodes.Assign)}
    often = [name for s in statements_in(tree.body) for name in names_set(s)]
    for name in names_in(expr):
        if name in parameters and name not in often:
            continue
        if often.count(name) != 1 or name not in once:
            raise ReadError(expr.span.start, f"`{name}`, which is shown beside a record, may not be public")
        _refuse_private(once[name], tree, parameters)
    for part in subexpressions(expr):
        if isinstance(part, nodes.Gather | nodes.OutField | nodes.OutIs | nodes.OutCount | nodes.Member):
            raise ReadError(expr.span.start, "what is shown beside a record is no plain number")
