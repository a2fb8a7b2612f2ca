"""Expressions to terms: one evaluator for programs, alignments, invariants and input clauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.search.relational import ir
from aligncheck.search.relational.labels import BoundIndex
from aligncheck.search.relational.maxima import Gathered, UnsupportedError
from aligncheck.search.relational.operations import OPERATIONS


@dataclass(frozen=True, slots=True)
class Partial:
    """An operation that must be defined: `condition` says when it is, `what` names it for the report."""

    condition: ir.Term
    span: Span
    what: str


@dataclass(frozen=True, slots=True)
class Application:
    """A public function where one run applies it: to what, and when that part is evaluated at all."""

    function: str
    args: tuple[ir.Term, ...]
    guard: ir.Term
    span: Span


class TermScope(Protocol):
    """What an expression's names mean. `primed` asks for the value in the run on D'."""

    def name(self, ident: str, primed: bool, span: Span) -> ir.Term: ...

    def entry(self, base: str, index: ir.Term, primed: bool, span: Span) -> tuple[ir.Term, ir.Term]:
        """The entry, and when the index is legal."""
        ...

    def length(self, base: str) -> ir.Term: ...

    def ordered(self, left: str, op: str) -> ir.Term | None:
        """`q <= q'` entry by entry, for a vector of queries; None for anything else."""
        ...

    def omega(
        self, expr: n.OutIs | n.OutField | n.OutCount, index: ir.Term | None
    ) -> tuple[ir.Term, ir.Term]:
        """A part of the output, and when it is there."""
        ...

    def member(self, selection: str, index: ir.Term) -> ir.Term:
        """That an index is among the selected ones."""
        ...

    def applied(self, function: str, args: list[ir.Term]) -> ir.Term:
        """The value of a public function of which nothing is known."""
        ...

    def gathered(self, expr: n.Gather, meaning: Gathered) -> tuple[ir.Term, ir.Term]:
        """The value of a set's maximum, say, and when there is one."""
        ...


@dataclass
class TermEvaluator:
    """Evaluates in a scope and collects what must be defined, and which public functions are applied.

    Conditions of parts that are evaluated only sometimes (right operands of `and`, `or`, arms of a
    conditional, what stands in a set) hold only where those parts are evaluated. Every part is visited,
    whatever the others come to: two evaluators of one expression find the same applications in one order.
    """

    scope: TermScope
    partial: list[Partial] = field(default_factory=list)
    applied: list[Application] = field(default_factory=list)
    _guards: list[ir.Term] = field(default_factory=list)

    def term(self, expr: n.Expr) -> ir.Term:
        """The value of an expression."""
        match expr:
            case n.Number(value=value):
                return ir.const(value)
            case n.Boolean(value=value):
                return ir.Truth(value)
            case n.Name(ident=ident, primed=primed):
                return self.scope.name(ident, primed, expr.span)
            case n.Index(base=base, index=index, primed=primed):
                return self._entry(base, self.term(index), primed, expr.span)
            case n.Call():
                return self._call(expr)
            case n.Unary(op="-", operand=operand):
                return ir.neg(self.term(operand))
            case n.Unary(operand=operand):
                return ir.not_(self.term(operand))
            case n.Binary():
                return self._arithmetic(expr)
            case n.Compare():
                return self._comparison(expr)
            case n.Logic(op=op, args=args):
                return self._logic(op, args)
            case n.Conditional(test=test, then=then, otherwise=otherwise):
                t = self.term(test)
                with self._given(t):
                    a = self.term(then)
                with self._given(ir.not_(t)):
                    b = self.term(otherwise)
                return ir.ite(t, a, b)
            case n.OutIs(index=index) | n.OutField(index=index):
                part, there = self.scope.omega(expr, self.term(index))
                self._require(there, expr.span, "there is a record with this field")
                return part
            case n.OutCount():
                return self.scope.omega(expr, None)[0]
            case n.Member(index=index, selection=selection):
                return self.scope.member(selection, self.term(index))
            case n.Gather():
                found, there = self.scope.gathered(expr, self.gathered(expr))
                self._require(there, expr.span, "there are enough indices to choose from")
                return found

    def _ends(self, over: n.Indices | n.OverRange) -> tuple[ir.Term, ir.Term]:
        match over:
            case n.Indices(base=base):
                return ir.ZERO, self.scope.length(base)
            case n.OverRange(low=start, high=end):
                return self.term(start), self.term(end)

    def gathered(self, expr: n.Gather) -> Gathered:
        """What a `max`, `argmax` or `top` over a set of indices ranges over, with the index left open."""
        low, high = self._ends(expr.over)
        count = self.term(expr.count) if expr.count is not None else None
        binder = ir.Sym(BoundIndex(expr.index), ir.TermSort.INT, ir.Nature.GHOST)
        if binder in ir.atoms((low, high, *(() if count is None else (count,)))):
            raise UnsupportedError(expr.span, f"a set that brings `{expr.index}` inside one that does so")
        within = ir.and_((ir.le(low, binder), ir.lt(binder, high)))
        inner = TermEvaluator(BoundScope(self.scope, expr.index, binder), _guards=[*self._guards, within])
        where = inner.term(expr.where) if expr.where is not None else ir.TRUE
        with inner._given(where):
            body = inner.term(expr.body)
        self.partial += inner.partial
        self.applied += inner.applied
        sign = -1 if expr.function in ("min", "argmin") else 1
        partial = expr.function == "upto"
        return Gathered(count, binder, low, high, where, ir.scaled(body, sign), sign, partial)

    @contextmanager
    def _given(self, condition: ir.Term) -> Iterator[None]:
        self._guards.append(condition)
        try:
            yield
        finally:
            self._guards.pop()

    def _require(self, condition: ir.Term, span: Span, what: str) -> None:
        needed = ir.implies(ir.and_(self._guards), condition)
        if needed != ir.TRUE:
            self.partial.append(Partial(needed, span, what))

    def _demand(self, operation: str, whole: n.Expr, parts: tuple[n.Expr, ...], *args: ir.Term) -> None:
        """What an operation demands of its arguments."""
        row = OPERATIONS[operation]
        culprit = whole if row.culprit is None else parts[row.culprit]
        self._require(row.demand(*args), culprit.span, row.what)

    def _entry(self, base: str, index: ir.Term, primed: bool, span: Span) -> ir.Term:
        value, legal = self.scope.entry(base, index, primed, span)
        self._require(legal, span, "the index is in range")
        return value

    def _comparison(self, expr: n.Compare) -> ir.Term:
        match expr.left, expr.right:
            case n.Name(ident=a, primed=False), n.Name(ident=b, primed=True) if a == b:
                whole = self.scope.ordered(a, expr.op)
            case n.Name(ident=a, primed=True), n.Name(ident=b, primed=False) if a == b:
                flipped = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}.get(expr.op, expr.op)
                whole = self.scope.ordered(a, flipped)
            case _:
                whole = None
        if whole is not None:
            return whole
        return ir.compare(expr.op, self.term(expr.left), self.term(expr.right))

    def _logic(self, op: str, args: tuple[n.Expr, ...]) -> ir.Term:
        values: list[ir.Term] = []
        depth = len(self._guards)
        for arg in args:
            value = self.term(arg)
            values.append(value)
            self._guards.append(value if op == "and" else ir.not_(value))
        del self._guards[depth:]
        return ir.and_(values) if op == "and" else ir.or_(values)

    def _arithmetic(self, expr: n.Binary) -> ir.Term:
        left, right = self.term(expr.left), self.term(expr.right)
        match expr.op:
            case "+":
                return ir.add(left, right)
            case "-":
                return ir.sub(left, right)
            case "*":
                return ir.mul(left, right)
            case "/":
                self._demand("/", expr, (expr.left, expr.right), left, right)
                return ir.div(left, right)
            case "%":
                self._demand("mod", expr, (expr.left, expr.right), left, right)
                return ir.fn("mod", left, right)
            case _:
                return self._power(left, right)

    def _power(self, base: ir.Term, exponent: ir.Term) -> ir.Term:
        """Syntax admits only small natural exponents."""
        if not isinstance(exponent, ir.Const):
            raise InternalError("`exponent` is no `Const`")
        if exponent.value.denominator != 1:
            raise InternalError("`exponent.value.denominator` is not `1`")
        count = int(exponent.value)
        if count < 0:
            raise InternalError("`count` is below 0")
        return ir.mul(*([base] * count)) if count else ir.ONE

    def _call(self, expr: n.Call) -> ir.Term:
        if expr.function == "len":
            arg = expr.args[0]
            if not isinstance(arg, n.Name):
                raise InternalError("the length of what has no name")
            return self.scope.length(arg.ident)
        args = [self.term(a) for a in expr.args]
        if expr.function not in n.FUNCTIONS:
            guard = ir.and_(self._guards)
            self.applied.append(Application(expr.function, tuple(args), guard, expr.span))
            return self.scope.applied(expr.function, args)
        match expr.function:
            case "min":
                return _fold(args, lambda a, b: ir.ite(ir.le(a, b), a, b))
            case "max":
                return _fold(args, lambda a, b: ir.ite(ir.le(a, b), b, a))
            case _:
                self._demand(expr.function, expr, expr.args, *args)
        if expr.function == "clip":
            x, low, high = args
            return ir.ite(ir.lt(x, low), low, ir.ite(ir.lt(high, x), high, x))
        return ir.fn(expr.function, *args)


@dataclass(frozen=True)
class BoundScope:
    """A scope in which one name stands for an index: that of a draw, or the one that a set ranges over."""

    outer: TermScope
    binder: str
    position: ir.Term

    def name(self, ident: str, primed: bool, span: Span) -> ir.Term:
        return self.position if ident == self.binder else self.outer.name(ident, primed, span)

    def entry(self, base: str, index: ir.Term, primed: bool, span: Span) -> tuple[ir.Term, ir.Term]:
        return self.outer.entry(base, index, primed, span)

    def length(self, base: str) -> ir.Term:
        return self.outer.length(base)

    def ordered(self, left: str, op: str) -> ir.Term | None:
        return self.outer.ordered(left, op)

    def omega(
        self, expr: n.OutIs | n.OutField | n.OutCount, index: ir.Term | None
    ) -> tuple[ir.Term, ir.Term]:
        return self.outer.omega(expr, index)

    def member(self, selection: str, index: ir.Term) -> ir.Term:
        return self.outer.member(selection, index)

    def applied(self, function: str, args: list[ir.Term]) -> ir.Term:
        return self.outer.applied(function, args)

    def gathered(self, expr: n.Gather, meaning: Gathered) -> tuple[ir.Term, ir.Term]:
        return self.outer.gathered(expr, meaning)


def _fold(args: list[ir.Term], join: Callable[[ir.Term, ir.Term], ir.Term]) -> ir.Term:
    value = args[0]
    for arg in args[1:]:
        value = join(value, arg)
    return value
