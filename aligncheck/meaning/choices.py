"""Values of the inputs that the declarations allow, for searches: constants of the spec, and models of Z3.

Nothing here is trusted: whoever uses a choice checks it exactly (`check_scenario`). What cannot be put to the
solver (a logarithm in a `where` clause) is left out, so that some choices may not be legal.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Mechanism, Sort
from aligncheck.language.syntax.walk import expressions_of, statements_in, subexpressions

Ground: TypeAlias = Fraction | bool

_SIZES = ((1, 1), (2, 2), (4, 4), (16, 4), (256, 16), (4096, 256), (1 << 20, 1 << 12))
"""Readable values are asked for within these bounds in turn: (greatest size, denominator)."""
_USUAL = (1, 0, 2, -1)
_OTHERS = 3
"""So many values of each public number are looked for besides the plainest."""
_SOLVER_STEPS = 100_000
"""What bounds each question to the solver: its own count, which is the same on every machine."""


def constants_of(mechanism: Mechanism) -> tuple[Fraction, ...]:
    """The numbers that the program compares something with, each once, in the order of the text, but for 0:
    beyond them it may do something else.
    """
    found: dict[Fraction, None] = {}
    for expr in expressions_of(statements_in(mechanism.body)):
        if isinstance(expr, nodes.Compare):
            for side in (expr.left, expr.right):
                found |= {number: None for number in map(_number, subexpressions(side)) if number}
    return tuple(found)


def _number(expr: nodes.Expr) -> Fraction | None:
    if isinstance(expr, nodes.Unary) and expr.op == "-" and isinstance(expr.operand, nodes.Number):
        return -expr.operand.value
    return expr.value if isinstance(expr, nodes.Number) else None


def allowed(
    mechanism: Mechanism, lengths: Mapping[str, int], fixed: Mapping[str, object]
) -> Iterator[dict[str, Ground]]:
    """Values for every input that satisfy the declarations as far as Z3 can tell, the plainest first, then
    some in which one public number is another; entries of a list are all alike. `fixed` are kept.
    """
    try:
        question = _InputQuestion(mechanism, lengths, fixed)
    except _z3().Z3Exception:
        return
    first = question.plainest(True)
    if first is None:
        return
    yield first
    public = {item.name for item in mechanism.inputs if not isinstance(item, nodes.Queries)}
    for name, value in first.items():
        if name in public and name not in fixed and not isinstance(value, bool):
            others: list[Ground] = [value]
            while len(others) <= _OTHERS:
                other = question.plainest(question.none_of(name, others))
                if other is None:
                    break
                yield other
                others.append(other[name])


def _z3() -> Any:
    import z3

    return z3


class _UnsupportedClause(Exception):  # noqa: N818 - it is an answer
    """A clause that is not put to the solver."""


class _InputQuestion:
    """One unknown for each input, and what the declarations say of them; in a context of its own, so that
    answers do not depend on what was asked before.
    """

    def __init__(self, mechanism: Mechanism, lengths: Mapping[str, int], fixed: Mapping[str, object]) -> None:
        self._z3 = _z3()
        self._context = self._z3.Context()
        self._lengths = lengths
        self.variables: dict[str, Any] = {}
        self._open: list[str] = []
        self._clauses: list[Any] = []
        for item in mechanism.inputs:
            for name in item.names:
                self.variables[name] = self._variable(name, item.sort)
                held = fixed.get(name)
                if isinstance(held, bool | Fraction):
                    self._clauses.append(self.variables[name] == self._constant(held))
                elif item.sort is Sort.REAL:
                    self._open.append(name)
        for item in mechanism.inputs:
            self._declared(item)

    def _variable(self, name: str, sort: Sort) -> Any:
        match sort:
            case Sort.BOOL:
                return self._z3.Bool(name, self._context)
            case Sort.INT:
                return self._z3.Int(name, self._context)
            case Sort.REAL:
                return self._z3.Real(name, self._context)

    def _constant(self, value: Ground) -> Any:
        if isinstance(value, bool):
            return self._z3.BoolVal(value, self._context)
        return self._z3.RealVal(str(value), self._context)

    def _declared(self, item: nodes.Parameter | nodes.PublicVector | nodes.Queries) -> None:
        lists = isinstance(item, nodes.PublicVector) or (isinstance(item, nodes.Queries) and item.vector)
        own = item.names
        for index in range(max((self._lengths.get(name, 1) for name in own), default=1)) if lists else (0,):
            if item.where is not None:
                self._clause(item.where, index, lambda held: held)
            if isinstance(item, nodes.Queries):
                for name in item.names:
                    self._answer(item, name, index)

    def _answer(self, item: nodes.Queries, name: str, index: int) -> None:
        answer = self.variables[name]
        if item.range is not None:
            self._clause(item.range[0], index, lambda low: low <= answer)
            self._clause(item.range[1], index, lambda high: answer <= high)
        if item.lattice is not None:
            steps = self._z3.ToReal(self._z3.Int(f"{name} in steps", self._context))
            self._clause(item.lattice, index, lambda step: answer == steps * step)

    def _clause(self, expr: nodes.Expr, index: int, made: Callable[[Any], Any]) -> None:
        try:
            self._clauses.append(made(self._value(expr, index)))
        except (_UnsupportedClause, self._z3.Z3Exception):
            return

    def none_of(self, name: str, values: Iterable[Ground]) -> Any:
        """That an input is none of these."""
        return self._z3.And(*(self.variables[name] != str(value) for value in values))

    def plainest(self, extra: Any) -> dict[str, Ground] | None:
        """Values that are as plain as can be, one input after the other; None where none are found."""
        solver = self._z3.Solver(ctx=self._context)
        solver.set("rlimit", _SOLVER_STEPS)
        solver.add(*self._clauses, extra)
        if solver.check() != self._z3.sat:
            return None
        for name, variable in self.variables.items():
            for plain in self._plain(name, variable):
                solver.push()
                solver.add(plain)
                if solver.check() == self._z3.sat:
                    break
                solver.pop()
        return self._read(solver.model()) if solver.check() == self._z3.sat else None

    def _plain(self, name: str, variable: Any) -> Iterator[Any]:
        """What would make a value easy to read, the easiest first."""
        if self._z3.is_bool(variable):
            return
        for value in _USUAL:
            yield variable == str(value)
        for size, denominator in _SIZES:
            small = self._z3.And(variable <= size, variable >= -size)
            if name not in self._open:
                yield small
            else:
                parts = self._z3.ToReal(self._z3.Int(f"{name} in parts", self._context))
                yield self._z3.And(small, variable * denominator == parts)

    def _read(self, model: Any) -> dict[str, Ground] | None:
        found: dict[str, Ground] = {}
        for name, variable in self.variables.items():
            value = model.eval(variable, model_completion=True)
            if self._z3.is_bool(value):
                found[name] = self._z3.is_true(value)
            elif self._z3.is_rational_value(value) or self._z3.is_int_value(value):
                found[name] = Fraction(str(value.as_fraction() if value.is_real() else value))
            else:
                return None  # an algebraic number
        return found

    # --- expressions ---

    def _value(self, expr: nodes.Expr, index: int) -> Any:
        z3 = self._z3

        def of(part: nodes.Expr) -> Any:
            return self._value(part, index)

        match expr:
            case nodes.Number(value=value) | nodes.Boolean(value=value):
                return self._constant(value)
            case nodes.Name(ident=ident) | nodes.Index(base=ident) if ident in self.variables:
                held = self.variables[ident]
                return z3.ToReal(held) if z3.is_int(held) else held
            case nodes.Name(ident="i"):
                return z3.RealVal(index, self._context)
            case nodes.Unary(op="not", operand=operand):
                return z3.Not(of(operand))
            case nodes.Unary(operand=operand):
                return -of(operand)
            case nodes.Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
                return _ARITHMETIC[op](of(left), of(right))
            case nodes.Compare(op=op, left=left, right=right):
                return _COMPARE[op](of(left), of(right))
            case nodes.Logic(op=op, args=args):
                return (z3.And if op == "and" else z3.Or)(*map(of, args))
            case nodes.Call(function="len", args=(nodes.Name(ident=ident),)):
                return z3.RealVal(self._lengths.get(ident, 1), self._context)
            case nodes.Call(function="abs", args=(arg,)):
                return z3.If(of(arg) < 0, -of(arg), of(arg))
            case nodes.Call(function="min", args=(left, right)):
                return z3.If(of(left) < of(right), of(left), of(right))
            case nodes.Call(function="max", args=(left, right)):
                return z3.If(of(left) > of(right), of(left), of(right))
            case (
                nodes.ByName()
                | nodes.Call()
                | nodes.Binary()
                | nodes.Conditional()
                | nodes.Gather()
                | nodes.OfOutput()
            ):
                raise _UnsupportedClause


_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
