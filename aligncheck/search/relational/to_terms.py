"""Expressions to terms: one evaluator for programs, alignments, invariants and input clauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Span
from aligncheck.language.syntax.nodes import (
    FUNCTIONS,
    Binary,
    Boolean,
    Call,
    Compare,
    Conditional,
    Expr,
    Gather,
    Index,
    Indices,
    Logic,
    Member,
    Name,
    Number,
    OutCount,
    OutField,
    OutIs,
    OverRange,
    Unary,
)
from aligncheck.search.relational.ir import (
    ONE,
    TRUE,
    ZERO,
    Const,
    Nature,
    Sym,
    Term,
    TermSort,
    Truth,
    add,
    and_,
    atoms,
    compare,
    const,
    div,
    fn,
    implies,
    ite,
    le,
    lt,
    mul,
    neg,
    not_,
    or_,
    scaled,
    sub,
)
from aligncheck.search.relational.labels import BoundIndex
from aligncheck.search.relational.maxima import Gathered, UnsupportedError
from aligncheck.search.relational.operations import OPERATIONS


@dataclass(frozen=True, slots=True)
class Partial:
    """An operation that must be defined: `condition` says when it is, `what` names it for the report."""

    condition: Term
    span: Span
    what: str


@dataclass(frozen=True, slots=True)
class Application:
    """A public function where one run applies it: to what, and when that part is evaluated at all."""

    function: str
    args: tuple[Term, ...]
    guard: Term
    span: Span


class TermScope(Protocol):
    """What an expression's names mean. `primed` asks for the value in the run on D'."""

    def name(self, ident: str, primed: bool, span: Span) -> Term: ...

    def entry(self, base: str, index: Term, primed: bool, span: Span) -> tuple[Term, Term]:
        """The entry, and when the index is legal."""
        ...

    def length(self, base: str) -> Term: ...

    def ordered(self, left: str, op: str) -> Term | None:
        """`q <= q'` entry by entry, for a vector of queries; None for anything else."""
        ...

    def omega(self, expr: OutIs | OutField | OutCount, index: Term | None) -> tuple[Term, Term]:
        """A part of the output, and when it is there."""
        ...

    def member(self, selection: str, index: Term) -> Term:
        """That an index is among the selected ones."""
        ...

    def applied(self, function: str, args: list[Term]) -> Term:
        """The value of a public function of which nothing is known."""
        ...

    def gathered(self, expr: Gather, meaning: Gathered) -> tuple[Term, Term]:
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
    _guards: list[Term] = field(default_factory=list)

    def term(self, expr: Expr) -> Term:
        """The value of an expression."""
        match expr:
            case Number(value=value):
                return const(value)
            case Boolean(value=value):
                return Truth(value)
            case Name(ident=ident, primed=primed):
                return self.scope.name(ident, primed, expr.span)
            case Index(base=base, index=index, primed=primed):
                return self._entry(base, self.term(index), primed, expr.span)
            case Call():
                return self._call(expr)
            case Unary(op="-", operand=operand):
                return neg(self.term(operand))
            case Unary(operand=operand):
                return not_(self.term(operand))
            case Binary():
                return self._arithmetic(expr)
            case Compare():
                return self._comparison(expr)
            case Logic(op=op, args=args):
                return self._logic(op, args)
            case Conditional(test=test, then=then, otherwise=otherwise):
                t = self.term(test)
                with self._given(t):
                    a = self.term(then)
                with self._given(not_(t)):
                    b = self.term(otherwise)
                return ite(t, a, b)
            case OutIs(index=index) | OutField(index=index):
                part, there = self.scope.omega(expr, self.term(index))
                self._require(there, expr.span, "there is a record with this field")
                return part
            case OutCount():
                return self.scope.omega(expr, None)[0]
            case Member(index=index, selection=selection):
                return self.scope.member(selection, self.term(index))
            case Gather():
                found, there = self.scope.gathered(expr, self.gathered(expr))
                self._require(there, expr.span, "there are enough indices to choose from")
                return found

    def _ends(self, over: Indices | OverRange) -> tuple[Term, Term]:
        match over:
            case Indices(base=base):
                return ZERO, self.scope.length(base)
            case OverRange(low=start, high=end):
                return self.term(start), self.term(end)

    def gathered(self, expr: Gather) -> Gathered:
        """What a `max`, `argmax` or `top` over a set of indices ranges over, with the index left open."""
        low, high = self._ends(expr.over)
        count = self.term(expr.count) if expr.count is not None else None
        binder = Sym(BoundIndex(expr.index), TermSort.INT, Nature.GHOST)
        if binder in atoms((low, high, *(() if count is None else (count,)))):
            raise UnsupportedError(expr.span, f"a set that brings `{expr.index}` inside one that does so")
        within = and_((le(low, binder), lt(binder, high)))
        inner = TermEvaluator(BoundScope(self.scope, expr.index, binder), _guards=[*self._guards, within])
        where = inner.term(expr.where) if expr.where is not None else TRUE
        with inner._given(where):
            body = inner.term(expr.body)
        self.partial += inner.partial
        self.applied += inner.applied
        sign = -1 if expr.function in ("min", "argmin") else 1
        partial = expr.function == "upto"
        return Gathered(count, binder, low, high, where, scaled(body, sign), sign, partial)

    @contextmanager
    def _given(self, condition: Term) -> Iterator[None]:
        self._guards.append(condition)
        try:
            yield
        finally:
            self._guards.pop()

    def _require(self, condition: Term, span: Span, what: str) -> None:
        needed = implies(and_(self._guards), condition)
        if needed != TRUE:
            self.partial.append(Partial(needed, span, what))

    def _demand(self, operation: str, whole: Expr, parts: tuple[Expr, ...], *args: Term) -> None:
        """What an operation demands of its arguments."""
        row = OPERATIONS[operation]
        culprit = whole if row.culprit is None else parts[row.culprit]
        self._require(row.demand(*args), culprit.span, row.what)

    def _entry(self, base: str, index: Term, primed: bool, span: Span) -> Term:
        value, legal = self.scope.entry(base, index, primed, span)
        self._require(legal, span, "the index is in range")
        return value

    def _comparison(self, expr: Compare) -> Term:
        match expr.left, expr.right:
            case Name(ident=a, primed=False), Name(ident=b, primed=True) if a == b:
                whole = self.scope.ordered(a, expr.op)
            case Name(ident=a, primed=True), Name(ident=b, primed=False) if a == b:
                flipped = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}.get(expr.op, expr.op)
                whole = self.scope.ordered(a, flipped)
            case _:
                whole = None
        if whole is not None:
            return whole
        return compare(expr.op, self.term(expr.left), self.term(expr.right))

    def _logic(self, op: str, args: tuple[Expr, ...]) -> Term:
        values: list[Term] = []
        depth = len(self._guards)
        for arg in args:
            value = self.term(arg)
            values.append(value)
            self._guards.append(value if op == "and" else not_(value))
        del self._guards[depth:]
        return and_(values) if op == "and" else or_(values)

    def _arithmetic(self, expr: Binary) -> Term:
        left, right = self.term(expr.left), self.term(expr.right)
        match expr.op:
            case "+":
                return add(left, right)
            case "-":
                return sub(left, right)
            case "*":
                return mul(left, right)
            case "/":
                self._demand("/", expr, (expr.left, expr.right), left, right)
                return div(left, right)
            case "%":
                self._demand("mod", expr, (expr.left, expr.right), left, right)
                return fn("mod", left, right)
            case _:
                return self._power(left, right)

    def _power(self, base: Term, exponent: Term) -> Term:
        """Syntax admits only small natural exponents."""
        if not isinstance(exponent, Const):
            raise InternalError("`exponent` is no `Const`")
        if exponent.value.denominator != 1:
            raise InternalError("`exponent.value.denominator` is not `1`")
        count = int(exponent.value)
        if count < 0:
            raise InternalError("`count` is below 0")
        return mul(*([base] * count)) if count else ONE

    def _call(self, expr: Call) -> Term:
        if expr.function == "len":
            arg = expr.args[0]
            if not isinstance(arg, Name):
                raise InternalError("the length of what has no name")
            return self.scope.length(arg.ident)
        args = [self.term(a) for a in expr.args]
        if expr.function not in FUNCTIONS:
            guard = and_(self._guards)
            self.applied.append(Application(expr.function, tuple(args), guard, expr.span))
            return self.scope.applied(expr.function, args)
        match expr.function:
            case "min":
                return _fold(args, lambda a, b: ite(le(a, b), a, b))
            case "max":
                return _fold(args, lambda a, b: ite(le(a, b), b, a))
            case _:
                self._demand(expr.function, expr, expr.args, *args)
        if expr.function == "clip":
            x, low, high = args
            return ite(lt(x, low), low, ite(lt(high, x), high, x))
        return fn(expr.function, *args)


@dataclass(frozen=True)
class BoundScope:
    """A scope in which one name stands for an index: that of a draw, or the one that a set ranges over."""

    outer: TermScope
    binder: str
    position: Term

    def name(self, ident: str, primed: bool, span: Span) -> Term:
        return self.position if ident == self.binder else self.outer.name(ident, primed, span)

    def entry(self, base: str, index: Term, primed: bool, span: Span) -> tuple[Term, Term]:
        return self.outer.entry(base, index, primed, span)

    def length(self, base: str) -> Term:
        return self.outer.length(base)

    def ordered(self, left: str, op: str) -> Term | None:
        return self.outer.ordered(left, op)

    def omega(self, expr: OutIs | OutField | OutCount, index: Term | None) -> tuple[Term, Term]:
        return self.outer.omega(expr, index)

    def member(self, selection: str, index: Term) -> Term:
        return self.outer.member(selection, index)

    def applied(self, function: str, args: list[Term]) -> Term:
        return self.outer.applied(function, args)

    def gathered(self, expr: Gather, meaning: Gathered) -> tuple[Term, Term]:
        return self.outer.gathered(expr, meaning)


def _fold(args: list[Term], join: Callable[[Term, Term], Term]) -> Term:
    value = args[0]
    for arg in args[1:]:
        value = join(value, arg)
    return value
