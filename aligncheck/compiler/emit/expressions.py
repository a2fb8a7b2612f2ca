"""Expressions of a spec as Python text: same operations, same order, same comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from aligncheck.compiler.emit.formatting import Brackets, quoted
from aligncheck.compiler.emit.gathers import Scalars, choice, gathered
from aligncheck.compiler.emit.precedence import Precedence, Text
from aligncheck.compiler.emit.python_kinds import Kinds, PythonKind, literal_power
from aligncheck.compiler.emit.vectorise import Lists
from aligncheck.language.syntax import nodes
from aligncheck.runtime import rationals

_LEVELS = {
    "+": Precedence.SUM,
    "-": Precedence.SUM,
    "*": Precedence.PRODUCT,
    "/": Precedence.PRODUCT,
    "%": Precedence.PRODUCT,
    "and": Precedence.AND,
    "or": Precedence.OR,
}
RUNTIME_FUNCTIONS = frozenset(rationals.__all__)
"""Functions whose values may be irrational: how they are computed depends on the mode."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes expressions with the Python `names` of a spec's identifiers.

    `local` maps a noise variable that lives in one round of a loop to its plain name, used without its index;
    `lists` are the lists that selections may use as arrays.
    `fields` says how the fields of what calls release are read, under `call.field`.
    `used` collects the names of the runtime and of modules that the text needs.
    """

    names: Mapping[str, str]
    kinds: Kinds
    local: Mapping[str, str] = field(default_factory=dict)
    lists: Lists = field(default_factory=Lists)
    fields: Mapping[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def expression(self, expr: nodes.Expr) -> str:
        """Python for an expression, to stand alone or as an argument."""
        return self._write(expr).text

    def operand(self, expr: nodes.Expr) -> str:
        """Python for an expression, to stand beside a comparison."""
        return self._write(expr).at(Precedence.COMPARE.above)

    def of_kind(self, expr: nodes.Expr, kind: PythonKind) -> str:
        """The same, made a `Fraction` where a REAL is wanted and the expression is an int."""
        if kind is PythonKind.REAL and self.kinds.expression(expr) is PythonKind.INT:
            return self._fraction(self.expression(expr))
        return self.expression(expr)

    def chain(self, expr: nodes.Expr) -> tuple[list[str], list[str]]:
        """The operands and operators at an expression's loosest level; no operators where it has none."""
        if isinstance(expr, nodes.Logic):
            above = _LEVELS[expr.op].above
            return [self._write(a).at(above) for a in expr.args], [expr.op] * (len(expr.args) - 1)
        if isinstance(expr, nodes.Binary) and expr.op in _LEVELS and self._special(expr) is None:
            return self._spine(expr, _LEVELS[expr.op])
        return [self.expression(expr)], []

    def _spine(self, expr: nodes.Expr, level: Precedence) -> tuple[list[str], list[str]]:
        if isinstance(expr, nodes.Binary) and _LEVELS.get(expr.op) is level and self._special(expr) is None:
            operands, operators = self._spine(expr.left, level)
            return [*operands, self._write(expr.right).at(level.above)], [*operators, expr.op]
        return [self._write(expr).at(level)], []

    def index(self, expr: nodes.Expr) -> str:
        """An index or a loop's end: an int, whatever the kind of the expression."""
        if self.kinds.expression(expr) is PythonKind.INT:
            return self.expression(expr)
        self.used.add("whole")
        return f"whole({self.expression(expr)})"

    def gathered(self, gather: nodes.Gather) -> Brackets:
        """A selection, as a call."""
        return gathered(gather, self.lists, self._scalars())

    def choice(self, logs: nodes.Gather) -> Brackets:
        """A choice by weights, given by their logarithms."""
        return choice(logs, self._scalars())

    def _scalars(self) -> Scalars:
        return Scalars(self._write, self.index, self._fraction, self.names, self.kinds, self.used)

    def _member(self, index: nodes.Expr, word: str, selection: str) -> Text:
        if self.kinds.expression(index) is PythonKind.INT:
            element = self._write(index).at(Precedence.COMPARE.above)
        else:
            element = self.index(index)
        return Text(f"{element} {word} {self.names[selection]}", Precedence.COMPARE)

    def _fraction(self, *arguments: str) -> str:
        self.used.add("Fraction")
        return f"Fraction({', '.join(arguments)})"

    def _write(self, expr: nodes.Expr) -> Text:
        match expr:
            case nodes.Number(value=value):
                return self._number(value)
            case nodes.Boolean(value=value):
                return Text(str(value), Precedence.ATOM)
            case nodes.Name(ident=ident, primed=False):
                return Text(self.local.get(ident, self.names[ident]), Precedence.ATOM)
            case nodes.Index(base=base, index=index, primed=False):
                if base in self.local:
                    return Text(self.local[base], Precedence.ATOM)
                return Text(f"{self.names[base]}[{self.index(index)}]", Precedence.ATOM)
            case nodes.Call():
                return self._call(expr)
            case nodes.Gather():
                return Text(self.gathered(expr).flat, Precedence.ATOM)
            case nodes.Member(index=index, selection=selection):
                return self._member(index, "in", selection)
            case nodes.Unary(op="not", operand=nodes.Member(index=index, selection=selection)):
                return self._member(index, "not in", selection)
            case nodes.Unary(op="not", operand=operand):
                return Text(f"not {self._write(operand).at(Precedence.NOT)}", Precedence.NOT)
            case nodes.Unary(operand=operand):
                written = self._write(operand)
                # The formatter puts a power in parentheses here.
                least = Precedence.ATOM if written.level is Precedence.POWER else Precedence.SIGN
                return Text(f"-{written.at(least)}", Precedence.SIGN)
            case nodes.Binary():
                return self._binary(expr)
            case nodes.Compare(op=op, left=left, right=right):
                above = Precedence.COMPARE.above
                text = f"{self._write(left).at(above)} {op} {self._write(right).at(above)}"
                return Text(text, Precedence.COMPARE)
            case nodes.Logic(op=op, args=args):
                level = _LEVELS[op]
                return Text(f" {op} ".join(self._write(a).at(level.above) for a in args), level)
            case nodes.Conditional(test=test, then=then, otherwise=otherwise):
                kind = self.kinds.expression(expr)
                arms = [self._arm(then, kind), self._arm(otherwise, kind)]
                condition = self._write(test).at(Precedence.OR)
                return Text(f"{arms[0]} if {condition} else {arms[1]}", Precedence.CONDITIONAL)
            case nodes.OutCount(tag=tag, of=of) if of != "out":
                counted = f'sum(record.tag == "{tag}" for record in {self.names[of]})'
                return Text(counted, Precedence.ATOM)
            case nodes.OutCount(tag=tag):
                return Text(f"release.count({'' if tag is None else quoted(tag)})", Precedence.ATOM)
            case nodes.OutIs(index=index, tag=tag, of=of) if of != "out":
                return self._is_tag(index, tag, of)
            case nodes.OutField(index=index, field=name, of=of) if of != "out":
                read = self.fields[f"{of}.{name}"]
                return Text(read.format(f"{self.names[of]}[{self.index(index)}]"), Precedence.ATOM)
            case nodes.Name() | nodes.Index() | nodes.OutIs() | nodes.OutField():
                raise ValueError("the run on D' and the records have no place in a program")

    def _is_tag(self, index: nodes.Expr, tag: str, of: str) -> Text:
        """That the record is there, with this tag."""
        self.used.add("has_tag")
        return Text(f'has_tag({self.names[of]}, {self.index(index)}, "{tag}")', Precedence.ATOM)

    def _arm(self, expr: nodes.Expr, kind: PythonKind) -> str:
        if kind is PythonKind.REAL and self.kinds.expression(expr) is PythonKind.INT:
            return self._fraction(self.expression(expr))
        return self._write(expr).at(Precedence.OR)

    def _number(self, value: Fraction) -> Text:
        if value.denominator == 1:
            return Text(str(value.numerator), Precedence.SIGN if value < 0 else Precedence.ATOM)
        return Text(self._fraction(str(value.numerator), str(value.denominator)), Precedence.ATOM)

    def _call(self, call: nodes.Call) -> Text:
        kind = self.kinds.expression(call)
        if call.function in self.kinds.functions:
            taken = self.kinds.functions[call.function]
            own = ", ".join(self.of_kind(a, kind) for a, kind in zip(call.args, taken, strict=True))
            return Text(f"{self.names[call.function]}({own})", Precedence.ATOM)
        match call.function:
            case "floor":
                self.used.add("math")
                return Text(f"math.floor({self.expression(call.args[0])})", Precedence.ATOM)
            case "abs" if kind is PythonKind.REAL:
                self.used.add("absolute")
                return Text(f"absolute({self.expression(call.args[0])})", Precedence.ATOM)
            case "abs" | "len":
                return Text(f"{call.function}({self.expression(call.args[0])})", Precedence.ATOM)
            case "min" | "max" | "clip":
                arguments = ", ".join(self.of_kind(a, kind) for a in call.args)
                if call.function == "clip" and kind is PythonKind.INT:
                    x, low, high = (self.expression(a) for a in call.args)
                    return Text(f"max({low}, min({x}, {high}))", Precedence.ATOM)
                if call.function == "clip":
                    self.used.add("clip")
                return Text(f"{call.function}({arguments})", Precedence.ATOM)
            case _:
                function = call.function.replace(" ", "_")
                self.used.add(function)
                arguments = ", ".join(self.expression(a) for a in call.args)
                return Text(f"{function}({arguments})", Precedence.ATOM)

    def _binary(self, expr: nodes.Binary) -> Text:
        special = self._special(expr)
        if special is not None:
            return special
        level = _LEVELS[expr.op]
        right = self._write(expr.right).at(level.above)
        return Text(f"{self._write(expr.left).at(level)} {expr.op} {right}", level)

    def _special(self, expr: nodes.Binary) -> Text | None:
        """Arithmetic that Python's operator does not do as the spec means it."""
        left, right = expr.left, expr.right
        if expr.op == "**":
            return self._power(left, right)
        if expr.op == "-" and left == nodes.Number(Fraction(1)):
            if isinstance(right, nodes.Call) and right.function == "exp":
                # The difference would lose most of its digits for small arguments.
                self.used.add("one_minus_exp")
                return Text(f"one_minus_exp({self.expression(right.args[0])})", Precedence.ATOM)
        elif expr.op == "/" and self._both_int(left, right):
            return Text(self._fraction(self.expression(left), self.expression(right)), Precedence.ATOM)
        return None

    def _both_int(self, left: nodes.Expr, right: nodes.Expr) -> bool:
        return (
            self.kinds.expression(left) is PythonKind.INT and self.kinds.expression(right) is PythonKind.INT
        )

    def _power(self, left: nodes.Expr, right: nodes.Expr) -> Text:
        times = literal_power(right)
        if times is None:
            self.used.add("power")
            return Text(f"power({self.expression(left)}, {self.expression(right)})", Precedence.ATOM)
        base = self._write(left).at(Precedence.ATOM)
        # The formatter's rule: no blanks round `**` between a name and a number.
        simple = isinstance(left, nodes.Name | nodes.Number) and "(" not in base
        return Text(f"{base}**{times}" if simple else f"{base} ** {times}", Precedence.POWER)
