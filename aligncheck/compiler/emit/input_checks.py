"""The inputs of a mechanism in its class: how answers are read, and what is required of all inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aligncheck.compiler.emit.expressions import Writer
from aligncheck.compiler.emit.formatting import Brackets, Item, bracket_lines, call, quoted
from aligncheck.compiler.emit.python_kinds import KIND_OF, Kinds, PythonKind
from aligncheck.compiler.emit.python_names import fresh
from aligncheck.compiler.forms.clauses import of_lengths
from aligncheck.compiler.forms.directions import undirected
from aligncheck.compiler.forms.lattice import AnswerReading, reading_of
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import lists_per_answer, names_in, subexpressions
from aligncheck.language.unparse import unparse_expr

GIVEN = {nodes.Sort.REAL: "RealLike", nodes.Sort.INT: "IntLike", nodes.Sort.BOOL: "bool"}
"""The type of a parameter as it is given."""
CHECKS = {nodes.Sort.REAL: "real", nodes.Sort.INT: "integer", nodes.Sort.BOOL: "boolean"}
"""What the runtime's readers of each sort begin with."""


@dataclass(frozen=True, slots=True)
class InputWriter:
    """Writes what a generated class does with its inputs; `names` are their Python names.

    Conditions on the number of answers are public, as parameters are: they are required before anything is
    drawn. Conditions on values are looked at by `check` alone.
    """

    mechanism: nodes.Mechanism
    names: Mapping[str, str]
    kinds: Kinds

    @property
    def public(self) -> Iterator[nodes.Parameter | nodes.PublicVector]:
        """The parameters, in the spec's order."""
        for item in self.mechanism.inputs:
            if not isinstance(item, nodes.Queries):
                yield item

    @property
    def queries(self) -> Iterator[nodes.Queries]:
        """The groups of answers, in the spec's order."""
        for item in self.mechanism.inputs:
            if isinstance(item, nodes.Queries):
                yield item

    @property
    def private(self) -> set[str]:
        """The names of all answers and lists of answers."""
        return {name for item in self.queries for name in item.names}

    def attributes(self) -> dict[str, str]:
        """Public inputs as attributes; answers as the arguments that they are."""
        public = {item.name: f"self.{self.names[item.name]}" for item in self.public}
        return {**self.names, **public}

    def writer(self, names: Mapping[str, str]) -> Writer:
        """A writer of expressions with these Python names."""
        return Writer(names, self.kinds)

    def each_query(self) -> Iterator[tuple[nodes.Queries, str]]:
        """Each answer or list of answers by its name, with its group."""
        for item in self.queries:
            for name in item.names:
                yield item, name

    def read_names(self) -> dict[str, str]:
        """The names of answers that were read and cleaned."""
        taken = {**self.names}
        found: dict[str, str] = {}
        for item, name in self.each_query():
            word = f"{self.names[name]}_answer{'s' if item.vector else ''}"
            found[name] = taken[f"{name} as read"] = fresh(word, taken)
        return found

    def given_type(self, item: nodes.Queries) -> str:
        """The type of private answers as they are given."""
        return "Answers" if item.vector else self._answer_type(item)

    def streamed_type(self, item: nodes.Queries) -> str:
        """The type of answers where those of a list come one by one."""
        return f"Iterable[{self._answer_type(item)}]" if item.vector else self._answer_type(item)

    @staticmethod
    def _answer_type(item: nodes.Queries) -> str:
        return "Real" if item.sort is nodes.Sort.REAL else GIVEN[item.sort]

    def held(self, item: nodes.Queries, read: str) -> str:
        """Answers as the noise computes with them; integers and truth values are left as they are."""
        if KIND_OF[item.sort] is not PythonKind.REAL:
            return read
        return f"run.noise.answer{'s' if item.vector else ''}({read}, exact={self.is_exact(item)})"

    def is_exact(self, item: nodes.Queries) -> bool:
        """Whether answers stay as they were read: rounding them down could take neighbours further apart."""
        return item.lattice is not None or reading_of(item, self.mechanism) is AnswerReading.EXACT

    def form_arguments(self, item: nodes.Queries) -> Iterator[Item]:
        """What is demanded of the answers' types, and of the sizes of a table."""
        if reading_of(item, self.mechanism) is AnswerReading.WHOLE:
            yield "whole=True"
        if item.table is not None:
            writer = self.writer(self.attributes())
            yield Brackets("table=(", tuple(map(writer.expression, item.table)), ")")

    def domain_arguments(self, item: nodes.Queries) -> Iterator[Item]:
        """The declared range and lattice, and the lists that must be long enough, as arguments."""
        writer = self.writer({**self.attributes(), "i": "i"})
        low, high = item.range or (None, None)
        for keyword, expr in (("low", low), ("high", high), ("step", item.lattice)):
            if expr is not None:
                each = "lambda i: " if "i" in names_in(expr) else ""
                yield f"{keyword}={each}{writer.expression(expr)}"
        yield from self.form_arguments(item)
        if lists := lists_per_answer(item):
            lengths = [f"{quoted(base)}: len({writer.names[base]})" for base in lists]
            yield Brackets("entries={", tuple(lengths), "}")

    @property
    def defaults(self) -> dict[str, nodes.Expr]:
        """What parameters are that are given no value."""
        found = ((i.name, i.default) for i in self.public if isinstance(i, nodes.Parameter))
        return {name: default for name, default in found if default is not None}

    def parameters(self, writer: Writer, indent: str, of_defaults: bool) -> Iterator[str]:
        """What is declared of parameters alone: of those without a default, or of the others."""
        for item in self.public:
            for condition in _conditions(item.where, self.private):
                names = names_in(condition)
                if not names & self.private and of_defaults is bool(names & self.defaults.keys()):
                    yield from self._require("require", item.name, condition, writer, indent)

    def lengths(self, writer: Writer, indent: str) -> Iterator[str]:
        """What is declared of how many answers there are: checked before anything is drawn."""
        for item in self.mechanism.inputs:
            for condition in _conditions(item.where, self.private):
                if not of_lengths(condition, self.private):
                    continue
                if isinstance(item, nodes.Queries):
                    yield from self._require("require_answers", item.names[0], condition, writer, indent)
                elif names_in(condition) & self.private:
                    yield from self._require("require", item.name, condition, writer, indent)

    def values(self, writer: Writer, indent: str) -> Iterator[str]:
        """What is declared of the answers' values: only `check` looks at that."""
        for item in self.mechanism.inputs:
            for condition in _conditions(item.where, self.private):
                for name in () if of_lengths(condition, self.private) else item.names:
                    yield from self._require("require_answers", name, condition, writer, indent)
            if isinstance(item, nodes.Queries):
                said = ((name, *each) for name in item.names for each in self._domain(item, name, writer))
                for name, holds, text in said:
                    arguments = [holds, quoted(name), quoted(text)]
                    yield from bracket_lines(call("require_answers", arguments), indent)

    def _require(
        self, function: str, name: str, condition: nodes.Expr, writer: Writer, indent: str
    ) -> Iterator[str]:
        """The check of one part of a `where` clause; `require` shows the value of the input, which is public.
        A condition that mentions `i` holds for every index, as it does in a declaration.
        """
        holds = self._at_each(condition, writer, name if "i" in names_in(condition) else None, "all({})")
        shown = [writer.names[name]] if function == "require" else []
        arguments = [holds, quoted(name), *shown, quoted(unparse_expr(undirected(condition)))]
        yield from bracket_lines(call(function, arguments), indent)

    def _domain(self, item: nodes.Queries, name: str, writer: Writer) -> Iterator[tuple[str, str]]:
        """What `range` and `lattice` say of each answer: Python text and the spec's words."""
        python = writer.names[name]
        inner = self.writer({**writer.names, "i": "i"})
        answer = f"{python}[i]" if item.vector else python
        each = f" for i in range(len({python})))" if item.vector else ""
        opening = "all(" if item.vector else ""
        for base in lists_per_answer(item):
            yield f"len({python}) <= len({writer.names[base]})", f"len({name}) <= len({base})"
        if item.range is not None:
            low, high = (inner.operand(e) for e in item.range)
            text = f"{unparse_expr(item.range[0])} <= {name} <= {unparse_expr(item.range[1])}"
            yield f"{opening}{low} <= {answer} <= {high}{each}", text
        if item.lattice is not None:
            step = inner.expression(item.lattice)
            text = f"{name} is a multiple of {unparse_expr(item.lattice)}"
            yield f"{opening}is_multiple({answer}, {step}){each}", text

    def least(self, expr: nodes.Expr, attributes: Writer) -> str:
        """The value of an expression, or the least of its values at all indices."""
        return self._at_each(expr, attributes, self._entries_of(expr), "min({})")

    def unit(self, unit: nodes.Expr, attributes: Writer) -> str:
        """What the step of the lattice must divide: a number, or all entries of a list."""
        value = self._at_each(unit, attributes, self._entries_of(unit), "[{}]")
        return f"{quoted(unparse_expr(unit))}: {value}"

    def _at_each(self, expr: nodes.Expr, writer: Writer, entries: str | None, around: str) -> str:
        """The value of an expression; or what `around` makes of those at all indices of a list."""
        if entries is None:
            return writer.expression(expr)
        inner = self.writer({**writer.names, "i": "i"})
        return around.format(f"{inner.expression(expr)} for i in range(len({writer.names[entries]}))")

    def _entries_of(self, expr: nodes.Expr) -> str | None:
        """A list at whose indices a declaration has its values, if it has several."""
        parts = [e for e in subexpressions(expr) if isinstance(e, nodes.Index)]
        lists = sorted(e.base for e in parts if e.index == nodes.Name("i"))
        return lists[0] if lists else None

    def _clauses_on(self, name: str) -> Iterator[nodes.Expr]:
        clauses = (c for each in self.mechanism.inputs for c in _conditions(each.where, self.private))
        return (c for c in clauses if name in names_in(c))

    def speaks_of(self, item: nodes.Queries, name: str) -> bool:
        """Whether anything is declared of these answers, or of how many there are."""
        bounds = item.range is not None or item.lattice is not None or item.where is not None
        return bounds or bool(lists_per_answer(item)) or any(True for _ in self._clauses_on(name))

    def restricts(self, name: str) -> bool:
        """Whether a `where` clause says something of the values of these answers."""
        return any(not of_lengths(c, self.private) for c in self._clauses_on(name))


def _conditions(where: nodes.Expr | None, private: set[str]) -> tuple[nodes.Expr, ...]:
    """The parts of a `where` clause that are checked one by one.

    That is the whole, unless it mentions answers: then each part of a conjunction, since some must wait.
    """
    if where is None:
        return ()
    if isinstance(where, nodes.Logic) and where.op == "and" and names_in(where) & private:
        return tuple(part for arg in where.args for part in _conditions(arg, private))
    return (where,)
