"""Selections (`argmax`, `top`, `max`, …) as Python: over arrays where that is the same, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aligncheck.compiler.emit.formatting import Brackets, Item, call
from aligncheck.compiler.emit.precedence import Precedence, Text
from aligncheck.compiler.emit.python_kinds import Kinds, PythonKind
from aligncheck.compiler.emit.vectorise import Lists, is_elementwise, length_of
from aligncheck.language.odds import factor_and_log
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import names_in

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

_ARITHMETIC = {"+": Precedence.SUM, "-": Precedence.SUM, "*": Precedence.PRODUCT, "/": Precedence.PRODUCT}
_EXTREMES = {"min": "minimum", "max": "maximum"}
_BITWISE = {"and": ("&", Precedence.BITS_AND), "or": ("|", Precedence.BITS_OR)}


@dataclass(frozen=True, slots=True)
class Scalars:
    """How what does not depend on the index of the set is written; `used` collects what is to be imported."""

    write: Callable[[nodes.Expr], Text]
    index: Callable[[nodes.Expr], str]
    fraction: Callable[[str], str]
    names: Mapping[str, str]
    kinds: Kinds
    used: set[str] = field(default_factory=set)


def gathered(gather: nodes.Gather, lists: Lists, scalars: Scalars) -> Brackets:
    """The call that a selection is."""
    if gather.function == nodes.LISTING:
        return Brackets("[", _generator(gather, scalars), "]", generator=True)
    if gather.function == "sum":
        generator = _generator(gather, scalars)
        if scalars.kinds.expression(gather.body) is PythonKind.INT:
            return Brackets("sum(", generator, generator=True)
        return call("sum", [Brackets("(", generator, generator=True), scalars.fraction("0")])
    arguments: list[Item] = [] if gather.count is None else [scalars.index(gather.count)]
    if not is_elementwise(gather, scalars.kinds, lists):
        function = _OF_SCORES[gather.function]
        scalars.used.add(function)
        generator = _generator(gather, scalars)
        if not arguments:
            return Brackets(f"{function}(", generator, generator=True)
        return call(function, [*arguments, Brackets("(", generator, generator=True)])
    arrays = _GatherWriter(gather, lists, scalars)
    function = _OF_ARRAYS[gather.function]
    scalars.used.add(function)
    arguments.append(arrays.write(gather.body).text)
    if gather.where is not None:
        arguments.append(f"where={arrays.write(gather.where).text}")
    return call(function, arguments)


def choice(logs: nodes.Gather, scalars: Scalars) -> Brackets:
    """The call that draws an index; the body of `logs` is the logarithm of its weight."""
    factor, log = factor_and_log(logs.body)
    if factor is None:
        return Brackets("noise.choice(", _generator(logs, scalars), generator=True)
    _, *rest = _generator(logs, scalars)
    parts = [scalars.names[logs.index], scalars.write(factor).text]
    parts.append("0" if log is None else scalars.write(log).text)
    return Brackets("noise.weighted_choice(", (f"({', '.join(parts)})", *rest), generator=True)


def _ends(over: nodes.Indices | nodes.OverRange, scalars: Scalars) -> str:
    match over:
        case nodes.Indices(base=base):
            return f"len({scalars.names[base]})"
        case nodes.OverRange(low=nodes.Number(value=low), high=high) if low == 0:
            return scalars.index(high)
        case nodes.OverRange(low=low, high=high):
            return f"{scalars.index(low)}, {scalars.index(high)}"


def _generator(gather: nodes.Gather, scalars: Scalars) -> tuple[str, ...]:
    """Element, `for` and `if` of a generator expression."""
    index = scalars.names[gather.index]
    element = scalars.write(gather.body).text
    if gather.function not in ("max", "min", nodes.LOG_SUM, *_PLAIN):
        element = f"({index}, {element})"
    parts = [element, f"for {index} in range({_ends(gather.over, scalars)})"]
    if gather.where is not None:
        parts.append(f"if {scalars.write(gather.where).at(Precedence.OR)}")
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class _GatherWriter:
    """Writes an expression in the index of a set as one over arrays; see `is_elementwise` for which ones."""

    gather: nodes.Gather
    lists: Lists
    scalars: Scalars

    def write(self, expr: nodes.Expr) -> Text:
        if self.gather.index not in names_in(expr):
            return self.scalars.write(expr)
        match expr:
            case nodes.Name():
                return self._call("indices", self._length())
            case nodes.Index(base=base):
                known = self.lists.lengths[base] == length_of(self.gather.over)
                name = self.scalars.names[base]
                return self._call("vector", name, *([] if known else [self._length()]))
            case nodes.Member(selection=selection):
                return self._call("members", self.scalars.names[selection], self._length())
            case nodes.Unary(op=op, operand=operand):
                sign = "-" if op == "-" else "~"
                return Text(f"{sign}{self.write(operand).at(Precedence.SIGN)}", Precedence.SIGN)
            case nodes.Binary(op=op, left=left, right=right):
                level = _ARITHMETIC[op]
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
        wanted, text = self.scalars.kinds.expression(call_), self.write(expr).text
        given = self.scalars.kinds.expression(expr)
        return self.scalars.fraction(text) if wanted is PythonKind.REAL and given is PythonKind.INT else text

    def _length(self) -> str:
        match self.gather.over:
            case nodes.Indices(base=base):
                return f"len({self.scalars.names[base]})"
            case nodes.OverRange(high=high):
                return self.scalars.index(high)

    def _call(self, function: str, *arguments: str) -> Text:
        self.scalars.used.add(function)
        return Text(f"{function}({', '.join(arguments)})", Precedence.ATOM)
