"""Expressions of a spec as Python text: same operations, same order, same comparisons; with parentheses where
they are needed and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction

from aligncheck.compiler.emit.formatting import Brackets, Item, call, quoted
from aligncheck.compiler.emit.python_kinds import Kinds, PythonKind
from aligncheck.compiler.emit.vectorise import Lists, is_elementwise, length_of
from aligncheck.language.odds import factor_and_log
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import names_in
from aligncheck.runtime import rationals


class Precedence(IntEnum):
    """How tightly a piece of Python binds."""

    CONDITIONAL = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARE = 5
    BITS_OR = 6
    BITS_AND = 7
    SUM = 8
    PRODUCT = 9
    SIGN = 10
    POWER = 11
    ATOM = 12

    @property
    def above(self) -> Precedence:
        """The next tighter level."""
        return Precedence(self + 1)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of Python and its level."""

    text: str
    level: Precedence

    def at(self, least: Precedence) -> str:
        """The text, in parentheses where it binds more loosely than `least`."""
        return self.text if self.level >= least else f"({self.text})"


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
_OF_ARRAYS = {name: name for name in ("argmax", "argmin", *nodes.SELECTING)} | {
    "max": "greatest",
    "min": "least",
}
_PLAIN = ("sum", nodes.LISTING)
_OF_SCORES = {
    **{name: f"{name}_of" for name in nodes.GATHERS if name not in _PLAIN},
    nodes.LOG_SUM: "log_sum_exp_of",
}
ARRAY_FUNCTIONS = frozenset(
    {*_OF_ARRAYS.values(), "clipped", "indices", "maximum", "members", "minimum", "vector"}
)

_EXTREMES = {"min": "minimum", "max": "maximum"}
_BITWISE = {"and": ("&", Precedence.BITS_AND), "or": ("|", Precedence.BITS_OR)}


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes expressions with the Python `names` of a spec's identifiers.

    `local` maps a noise variable that lives in one round of a loop to its plain name, used without its index;
    `lists` are the lists that selections may use as arrays.
    `fields` says how the fields of what calls release are read, under `call.field`.
    """

    names: Mapping[str, str]
    kinds: Kinds
    local: Mapping[str, str] = field(default_factory=dict)
    lists: Lists = field(default_factory=Lists)
    fields: Mapping[str, str] = field(default_factory=dict)

    def expression(self, expr: nodes.Expr) -> str:
        """Python for an expression, to stand alone or as an argument."""
        return self._write(expr).text

    def operand(self, expr: nodes.Expr) -> str:
        """Python for an expression, to stand beside a comparison."""
        return self._write(expr).at(Precedence.COMPARE.above)

    def of_kind(self, expr: nodes.Expr, kind: PythonKind) -> str:
        """The same, made a `Fraction` where a REAL is wanted and the expression is an int."""
        if kind is PythonKind.REAL and self.kinds.expression(expr) is PythonKind.INT:
            return _fraction(self.expression(expr))
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
        return f"whole({self.expression(expr)})"

    def gathered(self, gather: nodes.Gather) -> Brackets:
        """A selection, as a call: over arrays where that is the same, else one by one."""
        if gather.function == nodes.LISTING:
            return Brackets("[", self._generator(gather), "]", generator=True)
        if gather.function == "sum":
            generator = self._generator(gather)
            if self.kinds.expression(gather.body) is PythonKind.INT:
                return Brackets("sum(", generator, generator=True)
            return call("sum", [Brackets("(", generator, generator=True), _fraction("0")])
        arguments: list[Item] = [] if gather.count is None else [self.index(gather.count)]
        length = length_of(gather.over)
        if length is None or not is_elementwise(gather, self.kinds, self.lists):
            function, generator = _OF_SCORES[gather.function], self._generator(gather)
            if not arguments:
                return Brackets(f"{function}(", generator, generator=True)
            return call(function, [*arguments, Brackets("(", generator, generator=True)])
        arrays = _GatherWriter(gather.index, length, self)
        arguments.append(arrays.write(gather.body).text)
        if gather.where is not None:
            arguments.append(f"where={arrays.write(gather.where).text}")
        return call(_OF_ARRAYS[gather.function], arguments)

    def choice(self, logs: nodes.Gather) -> Brackets:
        """The call that draws an index; the body of `logs` is the logarithm of its weight."""
        factor, log = factor_and_log(logs.body)
        if factor is None:
            return Brackets("noise.choice(", self._generator(logs), generator=True)
        _, *rest = self._generator(logs)
        exponent = "0" if log is None else self.expression(log)
        weight = f"({self.names[logs.index]}, {self.expression(factor)}, {exponent})"
        return Brackets("noise.weighted_choice(", (weight, *rest), generator=True)

    def _generator(self, gather: nodes.Gather) -> tuple[str, ...]:
        """Element, `for` and `if` of a generator expression."""
        index, element = self.names[gather.index], self.expression(gather.body)
        if gather.function not in ("max", "min", nodes.LOG_SUM, *_PLAIN):
            element = f"({index}, {element})"
        parts = [element, f"for {index} in range({self._ends(gather.over)})"]
        if gather.where is not None:
            parts.append(f"if {self._write(gather.where).at(Precedence.OR)}")
        return tuple(parts)

    def _ends(self, over: nodes.Indices | nodes.OverRange) -> str:
        match over:
            case nodes.Indices(base=base):
                return f"len({self.names[base]})"
            case nodes.OverRange(low=nodes.Number(value=low), high=high) if low == 0:
                return self.index(high)
            case nodes.OverRange(low=low, high=high):
                return f"{self.index(low)}, {self.index(high)}"

    def _member(self, index: nodes.Expr, word: str, selection: str) -> Text:
        if self.kinds.expression(index) is PythonKind.INT:
            element = self._write(index).at(Precedence.COMPARE.above)
        else:
            element = self.index(index)
        return Text(f"{element} {word} {self.names[selection]}", Precedence.COMPARE)

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
                found = f'has_tag({self.names[of]}, {self.index(index)}, "{tag}")'
                return Text(found, Precedence.ATOM)
            case nodes.OutField(index=index, field=name, of=of) if of != "out":
                read = self.fields[f"{of}.{name}"]
                return Text(read.format(f"{self.names[of]}[{self.index(index)}]"), Precedence.ATOM)
            case nodes.Name() | nodes.Index() | nodes.OutIs() | nodes.OutField():
                raise ValueError("the run on D' and the records have no place in a program")

    def _arm(self, expr: nodes.Expr, kind: PythonKind) -> str:
        if kind is PythonKind.REAL and self.kinds.expression(expr) is PythonKind.INT:
            return _fraction(self.expression(expr))
        return self._write(expr).at(Precedence.OR)

    def _number(self, value: Fraction) -> Text:
        if value.denominator == 1:
            return Text(str(value.numerator), Precedence.SIGN if value < 0 else Precedence.ATOM)
        return Text(_fraction(str(value.numerator), str(value.denominator)), Precedence.ATOM)

    def _call(self, call: nodes.Call) -> Text:
        kind = self.kinds.expression(call)
        if call.function in self.kinds.functions:
            taken = self.kinds.functions[call.function]
            own = ", ".join(self.of_kind(a, kind) for a, kind in zip(call.args, taken, strict=True))
            return Text(f"{self.names[call.function]}({own})", Precedence.ATOM)
        match call.function:
            case "floor":
                return Text(f"math.floor({self.expression(call.args[0])})", Precedence.ATOM)
            case "abs" if kind is PythonKind.REAL:
                return Text(f"absolute({self.expression(call.args[0])})", Precedence.ATOM)
            case "abs" | "len":
                return Text(f"{call.function}({self.expression(call.args[0])})", Precedence.ATOM)
            case "min" | "max" | "clip":
                arguments = ", ".join(self.of_kind(a, kind) for a in call.args)
                if call.function == "clip" and kind is PythonKind.INT:
                    x, low, high = (self.expression(a) for a in call.args)
                    return Text(f"max({low}, min({x}, {high}))", Precedence.ATOM)
                return Text(f"{call.function}({arguments})", Precedence.ATOM)
            case _:
                arguments = ", ".join(self.expression(a) for a in call.args)
                return Text(f"{call.function.replace(' ', '_')}({arguments})", Precedence.ATOM)

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
                return Text(f"one_minus_exp({self.expression(right.args[0])})", Precedence.ATOM)
        elif expr.op == "/" and {self.kinds.expression(e) for e in (left, right)} == {PythonKind.INT}:
            return Text(_fraction(self.expression(left), self.expression(right)), Precedence.ATOM)
        return None

    def _power(self, left: nodes.Expr, right: nodes.Expr) -> Text:
        base, times = self._write(left).at(Precedence.ATOM), self.expression(right)
        # The formatter's rule: no blanks round `**` between a name and a number.
        simple = isinstance(left, nodes.Name | nodes.Number) and "(" not in base
        return Text(f"{base}**{times}" if simple else f"{base} ** {times}", Precedence.POWER)


def _fraction(*arguments: str) -> str:
    return f"Fraction({', '.join(arguments)})"


@dataclass(frozen=True, slots=True)
class _GatherWriter:
    """Writes an expression in the index of a set as one over arrays; see `is_elementwise` for which ones."""

    index: str
    length: nodes.Expr
    writer: Writer

    def write(self, expr: nodes.Expr) -> Text:
        if self.index not in names_in(expr):
            return self.writer._write(expr)
        match expr:
            case nodes.Name():
                return self._call("indices", self._length())
            case nodes.Index(base=base):
                known = self.writer.lists.lengths[base] == self.length
                name = self.writer.names[base]
                return self._call("vector", name, *([] if known else [self._length()]))
            case nodes.Member(selection=selection):
                return self._call("members", self.writer.names[selection], self._length())
            case nodes.Unary(op=op, operand=operand):
                sign = "-" if op == "-" else "~"
                return Text(f"{sign}{self.write(operand).at(Precedence.SIGN)}", Precedence.SIGN)
            case nodes.Binary(op=op, left=left, right=right):
                level = _LEVELS[op]
                return Text(f"{self.write(left).at(level)} {op} {self.write(right).at(level.above)}", level)
            case nodes.Compare(op=op, left=left, right=right):
                above = Precedence.COMPARE.above
                return Text(
                    f"{self.write(left).at(above)} {op} {self.write(right).at(above)}", Precedence.COMPARE
                )
            case nodes.Logic(op=op, args=args):
                sign, level = _BITWISE[op]
                return Text(f" {sign} ".join(self.write(a).at(level.above) for a in args), level)
            case nodes.Call(function="abs", args=(argument,)):
                return Text(f"abs({self.write(argument).text})", Precedence.ATOM)
            case nodes.Call(function="clip", args=(x, low, high)):
                return self._call("clipped", *(self._argument(a, expr) for a in (x, low, high)))
            case nodes.Call(function=function, args=args):
                return self._call(_EXTREMES[function], *(self._argument(a, expr) for a in args))
            case nodes.Literal() | nodes.Conditional() | nodes.Gather() | nodes.OfOutput():
                raise ValueError("no expression over arrays")

    def _argument(self, expr: nodes.Expr, call_: nodes.Call) -> str:
        """An argument of the call's kind, as `Writer.of_kind` makes it."""
        wanted, text = self.writer.kinds.expression(call_), self.write(expr).text
        given = self.writer.kinds.expression(expr)
        return _fraction(text) if wanted is PythonKind.REAL and given is PythonKind.INT else text

    def _length(self) -> str:
        return self.writer.index(self.length)

    def _call(self, function: str, *arguments: str) -> Text:
        return Text(f"{function}({', '.join(arguments)})", Precedence.ATOM)
