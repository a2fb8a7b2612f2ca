"""Whether a class that was read runs a proved form, and if not, where it differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import TypeVar, get_args

from aligncheck.compiler.forms.clauses import of_lengths, without_values
from aligncheck.compiler.forms.lattice import AnswerReading, reading_of
from aligncheck.compiler.forms.rational import stands_for
from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback.normal import normal, normal_body
from aligncheck.compiler.readback.python_patterns import ReadError
from aligncheck.compiler.readback.statements import STEP, Preprocessing, Read
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import Expr, Mechanism
from aligncheck.language.syntax.walk import claimed_in, conjuncts_of, lists_per_answer, names_in
from aligncheck.language.unparse import unparse_expr

EXPRESSIONS = get_args(Expr)

_One = TypeVar("_One")
_Other = TypeVar("_Other")

_NAMING: Mapping[type, tuple[str, ...]] = {
    nodes.Name: ("ident",),
    nodes.Index: ("base",),
    nodes.Member: ("selection",),
    nodes.OutIs: ("of",),
    nodes.OutField: ("of",),
    nodes.OutCount: ("of",),
    nodes.Assign: ("name",),
    nodes.Sample: ("name",),
    nodes.Choose: ("name",),
    nodes.Logistic: ("name",),
    nodes.Invoke: ("name", "mechanism"),
    nodes.For: ("index",),
    nodes.OverQueries: ("base", "item"),
    nodes.Gather: ("index",),
}
"""Which fields of a node are names of variables, for which the class may have others."""


def same_program(spec: Mechanism, form: Mechanism, read: Read) -> None:
    """Returns where the class runs this form of a spec: the same inputs, read so that neighbours stay
    neighbours, the same statements, the same claim; and where it says of itself what the spec says. Raises
    ReadError with the line at which it does not.
    """
    wanted = dict(_said(spec))
    for what in sorted(wanted.keys() | read.told.keys()):
        one, other = wanted.get(what), read.told.get(what)
        if one != other:
            raise ReadError(read.line, f"says of `{what}`: {_text(other)}, where the spec has {_text(one)}")
    _Comparison(spec, form if read.mode is not RunMode.FLOAT else without_values(form), read).run()


def _said(spec: Mechanism) -> Iterator[tuple[str, str]]:
    """What a class tells its users of its spec, in the spec's words."""
    first, *more = claimed_in(spec.claim)
    yield "claim", unparse_expr(first)
    match spec.claim:
        case nodes.Pure():
            yield from (("bound", unparse_expr(most)) for most in more)
        case nodes.Approximate(delta=delta):
            yield "currency", "Currency.EPSILON_DELTA"
            yield "delta", unparse_expr(delta)
        case nodes.Concentrated():
            yield "currency", "Currency.RHO"
    private = {n for i in spec.inputs if isinstance(i, nodes.Queries) for n in i.names}
    clauses = [c for i in spec.inputs for c in conjuncts_of(i.where)]
    for item in spec.inputs:
        if not isinstance(item, nodes.Queries):
            if item.where is not None:
                yield f"where of {item.name}", unparse_expr(item.where)
            if isinstance(item, nodes.Parameter) and item.default is not None:
                yield f"default of {item.name}", unparse_expr(item.default)
            continue
        for name in item.names:
            for part in ("sensitivity", "lattice"):
                if (expr := getattr(item, part)) is not None:
                    yield f"{part} of {name}", unparse_expr(expr)
            if any(name in names_in(c) and not of_lengths(c, private) for c in clauses):
                yield f"restricted {name}", "True"
            if item.table is not None:
                yield f"table of {name}", ", ".join(map(unparse_expr, item.table))


@dataclass
class _Comparison:
    spec: Mechanism
    form: Mechanism
    read: Read
    names: dict[str, str] = field(default_factory=dict)
    """The class's names by the form's."""
    taken: set[str] = field(default_factory=set)
    line: int = 1

    @property
    def on_lattice(self) -> bool:
        """Whether the class computes on a lattice whose step is an input of its tree."""
        return bool(self.read.tree.inputs) and getattr(self.read.tree.inputs[0], "name", "") == STEP

    def run(self) -> None:
        form, tree = self.form, self.read.tree
        self.line = self.read.line
        if form.name != tree.name:
            raise self._differs(f"`{tree.name}`", f"`{form.name}`")
        public = [i for i in form.inputs if not isinstance(i, nodes.Queries)]
        own = [i for i in tree.inputs if not isinstance(i, nodes.Queries)]
        for one, other in self._paired(public, own, "parameters"):
            if not (self.on_lattice and one is public[0]) and one.name != other.name:
                raise self._differs(f"`{other.name}`", f"`{one.name}`")
            self._bind(one.name, other.name)
            self._node(type(one), type(other))
            self._node(one.sort, other.sort)
        for item in self.spec.inputs:
            if isinstance(item, nodes.Parameter) and item.default is not None:
                self._node(normal(item.default), normal(self.read.defaults[item.name]))
        every = [(i, n) for i in form.inputs if isinstance(i, nodes.Queries) for n in i.names]
        answers = [i for i in tree.inputs if isinstance(i, nodes.Queries)]
        for (_, name), other_ in self._paired(every, answers, "private inputs"):
            if (name,) != other_.names:
                raise self._differs(f"`{other_.names[0]}`", f"`{name}`")
            self._bind(name, name)
        self._functions()
        self.names["i"] = "i"  # the index of an answer, in a declaration: no input is called so
        for one, other in zip(public, own, strict=True):
            self._where(one.where, other.where)
        for (item, _), other_, read in zip(every, answers, self.read.answers, strict=True):
            self.line = read.line
            self._queries(item, other_)
            self._reading(item, read)
        self._conditions(every, answers)
        del self.names["i"]
        self.line = self.read.line
        claims = [claimed_in(each.claim) for each in (form, tree)]
        if type(form.claim) is not type(tree.claim) or len(claims[0]) != len(claims[1]):
            raise self._differs("another claim", "the claim of the spec")
        for one, other_ in zip(*claims, strict=True):
            self._node(normal(one), normal(other_))
        self._node(normal_body(form.body), normal_body(tree.body))
        self._callees()

    def _paired(self, one: list[_One], other: list[_Other], what: str) -> Iterable[tuple[_One, _Other]]:
        if len(one) != len(other):
            raise self._differs(f"{len(other)} {what}", str(len(one)))
        return zip(one, other, strict=True)

    # --- inputs -------------------------------------------------------------------------------------------

    def _functions(self) -> None:
        declared = {f.name: f for f in self.form.functions}
        for function in self.read.tree.functions:
            if declared.pop(function.name, None) != function:
                raise self._differs(f"the function `{function.name}`", "another one, or none")
            self._bind(f"{function.name}()", function.name)
        own = {f.name for f in self.spec.functions}
        for name in declared:
            if name in own or (near := stands_for(name)) is None:
                raise self._differs("no such function", f"the function `{name}`")
            self._bind(f"{name}()", f"near {near}")

    def _where(self, form: Expr | None, read: Expr | None) -> None:
        """The same conditions, in any order."""
        wanted, given = (list(conjuncts_of(e and normal(e))) for e in (form, read))
        for each in wanted:
            same = next((g for g in given if self._equal(each, g)), None)
            if same is None:
                raise self._differs("no such condition", _text(each))
            given.remove(same)
        if given:
            raise self._differs(_text(given[0]), "no such condition")

    def _equal(self, one: object, other: object) -> bool:
        try:
            self._node(one, other)
        except ReadError:
            return False
        return True

    def _queries(self, form: nodes.Queries, read: nodes.Queries) -> None:
        for part in ("vector", "sort", "adjacency"):
            self._node(getattr(form, part), getattr(read, part))
        for part in ("sensitivity", "lattice"):
            one, other = getattr(form, part), getattr(read, part)
            self._node(one and normal(one), other and normal(other))
        ends = [None if i.range is None else tuple(map(normal, i.range)) for i in (form, read)]
        self._node(*ends)

    def _conditions(self, every: list[tuple[nodes.Queries, str]], answers: list[nodes.Queries]) -> None:
        """What is declared of a group of answers stands with the first of them."""
        of = {name: other.where for (_, name), other in zip(every, answers, strict=True)}
        for group in {id(item): item for item, _ in every}.values():
            parts = [w for name in group.names if (w := of[name]) is not None]
            self._where(group.where, nodes.Logic("and", tuple(parts)) if parts else None)

    def _reading(self, item: nodes.Queries, read: Preprocessing) -> None:
        """Answers are rounded only where that takes no neighbours further apart, lists are long enough."""
        if self.read.mode is RunMode.FLOAT:
            return
        if set(lists_per_answer(item)) != set(read.entries):
            raise self._differs("lists that may be too short", "an entry for every answer")
        moved = read.rounded and item.sort is not nodes.Sort.BOOL
        if moved and reading_of(item, self.form) is not AnswerReading.ROUNDED:
            raise self._differs("answers that are rounded", "answers that must not be")
        parts = (item.sensitivity, item.lattice if read.rounded else None, *(item.range or ()))
        divided = [normal(unit) for unit in self.read.units]
        moves = (e for e in parts if e is not None and not any(self._equal(normal(e), u) for u in divided))
        if read.to_step and (item.adjacency.together or any(True for _ in moves)):
            raise self._differs("a step that may divide no distance", "answers that move by whole steps")

    # --- trees --------------------------------------------------------------------------------------------

    def _bind(self, form: str, read: str) -> bool:
        if form in self.names or read in self.taken:
            return self.names.get(form) == read
        self.names[form] = read
        self.taken.add(read)
        return True

    def _node(self, form: object, read: object) -> None:
        """Raises ReadError at the first difference."""
        if isinstance(read, nodes.Node) and read.span != nodes.NOWHERE:
            self.line = read.span.start
        if type(form) is not type(read):
            raise self._differs(_text(read), _text(form))
        if isinstance(form, tuple) and isinstance(read, tuple):
            for one, other in zip(form, read, strict=False):
                self._node(one, other)
            if len(form) != len(read):
                raise self._differs(*(_text(e[min(len(form), len(read)) :][:1]) for e in (read, form)))
            return
        if not is_dataclass(form) or isinstance(form, type | Span | Enum):
            if form != read:
                raise self._differs(_text(read), _text(form))
            return
        if isinstance(form, nodes.Gather) and isinstance(read, nodes.Gather):
            self._gather(form, read)
            return
        if isinstance(form, nodes.Call) and isinstance(read, nodes.Call):
            wanted = self.names.get(f"{form.function}()", form.function)
            if wanted != read.function:
                raise self._differs(_text(read), _text(form))
            self._node(form.args, read.args)
            return
        if isinstance(form, nodes.Invoke) and isinstance(read, nodes.Invoke):
            step = {self.form.inputs[0].name: STEP} if self.on_lattice else {}  # type: ignore[union-attr]
            passed = {step.get(a.name, a.name): a.value for a in form.arguments}
            given = {a.name: a.value for a in read.arguments}
            if passed.keys() != given.keys():
                raise self._differs(f"the arguments {', '.join(given)}", ", ".join(passed))
            for name in passed:
                self._node(normal(passed[name]), normal(given[name]))
            form, read = replace(form, arguments=()), replace(read, arguments=())
        naming = _NAMING.get(type(form), ())
        for each in fields(form):
            if each.name == "span" or not each.compare:
                continue
            one, other = getattr(form, each.name), getattr(read, each.name)
            if each.name in naming and one is not None and other is not None:
                if not self._bind(one, other):
                    raise self._differs(_text(read), _text(form))
            else:
                self._node(one, other)

    def _gather(self, form: nodes.Gather, read: nodes.Gather) -> None:
        """The index of a set has a meaning inside of it only."""
        self._node(form.function, read.function)
        self._node(form.count, read.count)
        self._node(form.over, read.over)
        before = self.names.get(form.index)
        self.names[form.index] = read.index
        try:
            self._node(form.body, read.body)
            self._node(form.where, read.where)
        finally:
            del self.names[form.index]
            if before is not None:
                self.names[form.index] = before

    def _callees(self) -> None:
        for use, source in zip(self.form.uses, self.spec.uses, strict=True):
            name = self.names.get(use.name)
            if name is not None:
                original, form = contract_of(source).mechanism, contract_of(use).mechanism
                same_program(original, form, self.read.callees[name])

    def _differs(self, read: str, form: str) -> ReadError:
        return ReadError(self.line, f"{read} here, where the proved form has {form}")


def _text(part: object) -> str:
    if part is None or part == ():
        return "nothing more"
    if isinstance(part, tuple):
        return _text(part[0])
    if isinstance(part, nodes.Assign):
        return f"`{part.name} = {_text(part.value).strip('`')}`"
    if isinstance(part, nodes.Sample):
        return f"`{part.name} ~ {part.family.value}({', '.join(_text(a).strip('`') for a in part.args)})`"
    if isinstance(part, EXPRESSIONS):
        try:
            return f"`{unparse_expr(part)}`"
        except (AttributeError, KeyError, TypeError, ValueError):
            return f"`{type(part).__name__}`"
    if isinstance(part, Enum):
        return f"`{part.value}`"
    return f"`{type(part).__name__}`" if isinstance(part, nodes.Node) else f"`{part}`"
