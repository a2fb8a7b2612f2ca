"""A mechanism on a lattice: discrete noise, and answers that are multiples of the same step γ.

Laplace and exponential noise become `DLap` and `DExp` with step γ; real answers become multiples of γ. All
that answers are measured in (`units_of`) must be a multiple of γ: a constant c is c/γ steps, an integer
number, so γ is written c/`resolution`; a parameter D stands for an integer number of steps, and D·γ takes its
place. The runtime refuses a γ that does not divide the value of a unit.

Rounding answers down to multiples of γ is sound where γ divides the sensitivity Δ: ⌊x⌋ rises with x and
⌊x + Δ⌋ = ⌊x⌋ + Δ, so answers that differ by at most Δ, or not at all, or upwards, still do. So neighbours
stay neighbours under `all`, `one`, `monotone` and `moved`, and under `any` where γ divides the ends of the
range. Under `l1` many small differences could each become a whole step: there real answers have no lattice
form. The same holds where Δ is a root or a logarithm, which no γ divides: the runtime knows a number near it
only. (`where` clauses about answers are left out: see `clauses`.) Source: Lemma 4.2 of the
secure-implementation paper; design, section 7.

In every mode answers are rounded down to what the spec itself declares, integers or a `lattice`, and for the
same reason only where its step divides Δ for all parameters and the adjacency is not `l1` (`reading_of`).
Elsewhere a run takes integers alone, by their type; a `lattice` has no type, so that there is no form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import reduce

from aligncheck.compiler.forms.shared import IRRATIONAL, NoFormError, chain, constant, fresh, names_of
from aligncheck.compiler.modes import RunMode
from aligncheck.language.families import Family
from aligncheck.language.syntax import nodes, rewrite
from aligncheck.language.syntax.nodes import Expr, Mechanism, Sort
from aligncheck.language.syntax.walk import names_in, parts_of, statements_in, subexpressions, with_parts
from aligncheck.language.unparse import unparse_expr
from aligncheck.runtime.refined import common_step


def units_of(mechanism: Mechanism) -> tuple[Expr, ...]:
    """What γ must divide: the sensitivities, declared lattices and ends of ranges of all answers, those of
    the mechanisms that are called included where they are constants; 1 for integer answers; and every real
    parameter or list that these mention (a list's name stands for all its entries), which the form counts in
    steps. Each once, in source order.
    """
    found: dict[str, Expr] = {}
    for each in chain(mechanism):
        for expr in _units(each):
            if each is mechanism or not names_in(expr):
                found.setdefault(unparse_expr(expr), expr)
    return tuple(found.values())


class AnswerReading(Enum):
    """What a run does with answers, so that neighbours stay neighbours.

    ROUNDED: they are rounded down to a step that divides how far they may move; to γ where none is declared.
    WHOLE: they are integers by their type. EXACT: they stay as they are.
    """

    ROUNDED = "rounded"
    WHOLE = "whole"
    EXACT = "exact"


def reading_of(item: nodes.Queries, mechanism: Mechanism) -> AnswerReading:
    """How answers of a mechanism are read."""
    if _why_not_rounded(item, mechanism) is None:
        return AnswerReading.ROUNDED
    return AnswerReading.WHOLE if item.sort is Sort.INT and item.lattice is None else AnswerReading.EXACT


def _why_not_rounded(item: nodes.Queries, mechanism: Mechanism) -> str | None:
    """Why rounding answers might part neighbours; None where it cannot."""
    if item.adjacency.together:
        return "rounding many answers may multiply their distance in the L1 or L2 norm"
    if item.sensitivity is None:
        return None
    whole = frozenset(
        i.name for i in mechanism.inputs if not isinstance(i, nodes.Queries) and i.sort is Sort.INT
    )
    step = nodes.Number(Fraction(1)) if item.sort is Sort.INT and item.lattice is None else item.lattice
    if step is None:
        irrational = (e for e in subexpressions(item.sensitivity) if isinstance(e, nodes.Call))
        if any(e.function in IRRATIONAL for e in irrational):
            return "no step of a lattice divides an irrational sensitivity"
        return None
    if _is_multiple(item.sensitivity, step, whole):
        return None
    return f"answers are rounded to `{unparse_expr(step)}`, which may not divide the sensitivity"


def _is_multiple(expr: Expr, step: Expr, whole: frozenset[str]) -> bool:
    """Whether a number is an integer times the step for all values of the parameters; `whole` are those that
    are integers. False where that does not follow from how the number is written.
    """
    value, unit = constant(expr), constant(step)
    if value is not None and unit:
        return (value / unit).denominator == 1
    if expr == step or value == 0 or (unit == 1 and _is_whole(expr, whole)):
        return True
    if isinstance(step, nodes.Binary) and step.op == "/" and _is_whole(step.right, whole):
        return _is_multiple(expr, step.left, whole)
    if isinstance(expr, nodes.Unary) and expr.op == "-":
        return _is_multiple(expr.operand, step, whole)
    if isinstance(expr, nodes.Binary) and expr.op in ("+", "-"):
        return _is_multiple(expr.left, step, whole) and _is_multiple(expr.right, step, whole)
    if isinstance(expr, nodes.Binary) and expr.op == "*":
        pairs = ((expr.left, expr.right), (expr.right, expr.left))
        return any(_is_whole(a, whole) and _is_multiple(b, step, whole) for a, b in pairs)
    return False


def _is_whole(expr: Expr, whole: frozenset[str]) -> bool:
    """Whether a number is an integer for all values of the parameters, by how it is written."""
    if isinstance(expr, nodes.Number):
        return expr.value.denominator == 1
    if isinstance(expr, nodes.Name):
        return expr.ident in whole
    if isinstance(expr, nodes.Index):
        return expr.base in whole
    if isinstance(expr, nodes.Call) and expr.function in ("len", "floor"):
        return True
    keeps = (isinstance(expr, nodes.Unary | nodes.Binary) and expr.op in ("+", "-", "*")) or (
        isinstance(expr, nodes.Call) and expr.function in ("abs", "min", "max", "clip")
    )
    return keeps and all(_is_whole(part, whole) for part in parts_of(expr))


def refuse_answers_that_cannot_be_rounded(mechanism: Mechanism, mode: RunMode) -> None:
    """Raises NoFormError at the first such input. On a lattice all answers are rounded, also those of a
    mechanism whose noise is discrete already; in every mode those with a declared lattice are.
    """
    for item in _queries(mechanism):
        rounded = mode is RunMode.LATTICE or item.lattice is not None
        if rounded and reading_of(item, mechanism) is AnswerReading.EXACT:
            raise NoFormError(_why_not_rounded(item, mechanism) or "", item.span)


def _queries(mechanism: Mechanism) -> Iterator[nodes.Queries]:
    for item in mechanism.inputs:
        if isinstance(item, nodes.Queries):
            yield item


def _units(mechanism: Mechanism) -> Iterator[Expr]:
    sorts = {i.name: i.sort for i in mechanism.inputs if not isinstance(i, nodes.Queries)}
    for item in _queries(mechanism):
        if item.sort is Sort.INT:
            yield nodes.Number(Fraction(1))
        for expr in (item.sensitivity, item.lattice, *(item.range or ())):
            if expr is None:
                continue
            yield expr
            for name in sorted(names_in(expr) & sorts.keys()):
                real = sorts[name] is Sort.REAL
                yield nodes.Name(name, span=expr.span) if real else nodes.Number(Fraction(1))


@dataclass(frozen=True, slots=True)
class LatticeForm:
    """`step` is γ; `parameter` the input that it is made of; `counted` are the inputs that count steps."""

    step: Expr
    parameter: nodes.Parameter
    counted: frozenset[str]

    @classmethod
    def of(cls, mechanism: Mechanism) -> LatticeForm:
        """One lattice for a mechanism and all that it calls."""
        every = tuple(chain(mechanism))
        units = [unit for each in every for unit in _units(each)]
        constants = [abs(value) for value in map(constant, units) if value]
        counted = frozenset(u.ident for u in units if isinstance(u, nodes.Name))
        if counted and len(every) > 1:
            raise NoFormError("a mechanism with calls has a sensitivity that is no constant", mechanism.span)
        taken = frozenset().union(*(names_of(each) for each in every))
        name = fresh("resolution" if constants else "gamma", taken)
        if not constants:
            where = nodes.Compare(">", nodes.Name(name), nodes.Number(Fraction(0)))
            return cls(nodes.Name(name), nodes.Parameter(name, Sort.REAL, where), counted)
        where = nodes.Compare(">=", nodes.Name(name), nodes.Number(Fraction(1)))
        step = nodes.Binary("/", nodes.Number(reduce(common_step, constants)), nodes.Name(name))
        return cls(step, nodes.Parameter(name, Sort.INT, where), counted)

    def in_steps(self, expr: Expr) -> Expr:
        """The expression with D·γ for each parameter D that counts steps; `len(D)` stays."""
        if isinstance(expr, nodes.Call) and expr.function == "len":
            return expr
        if isinstance(expr, nodes.Name) and expr.ident in self.counted:
            return nodes.Binary("*", expr, self.step, span=expr.span)
        inner = with_parts(expr, tuple(self.in_steps(part) for part in parts_of(expr)))
        if isinstance(inner, nodes.Index) and inner.base in self.counted:
            return nodes.Binary("*", inner, self.step, span=expr.span)
        return inner

    def declared(self, item: nodes.Input) -> nodes.Input:
        """The declaration: answers as multiples of γ, units as numbers of steps."""
        changed = rewrite.declaration(item, self.in_steps)
        match changed:
            case nodes.Queries(sort=Sort.REAL, lattice=None):
                return replace(changed, lattice=self.step)
            case nodes.Parameter(name=name) | nodes.PublicVector(name=name) if name in self.counted:
                return replace(changed, sort=Sort.INT)
            case nodes.Parameter() | nodes.PublicVector() | nodes.Queries():
                return changed

    def drawn(self, statement: nodes.Stmt) -> nodes.Stmt:
        """The statement with discrete noise in place of continuous noise."""
        if isinstance(statement, nodes.Sample):
            family = _on_lattice(statement)
            args = statement.args if family is statement.family else (*statement.args, self.step)
            return replace(statement, family=family, args=args)
        if isinstance(statement, nodes.Invoke):
            name = self.parameter.name
            passed = nodes.Argument(name, nodes.Name(name, span=statement.span), span=statement.span)
            return replace(statement, arguments=(*statement.arguments, passed))
        return statement


def _on_lattice(statement: nodes.Sample) -> Family:
    """The family on a lattice: the step is one argument more."""
    family = statement.family.on_lattice
    if family is None:
        raise NoFormError(f"`{statement.family.value}` noise has no discrete form", statement.span)
    return family


def refuse_noise_without_a_lattice(mechanism: Mechanism) -> None:
    """Raises NoFormError at the first draw that has no form on a lattice."""
    for statement in statements_in(mechanism.body):
        if isinstance(statement, nodes.Logistic):
            raise NoFormError("logistic noise has no form on a lattice", statement.span)
        if isinstance(statement, nodes.Sample):
            _on_lattice(statement)


def on_lattice(mechanism: Mechanism, lattice: LatticeForm) -> Mechanism:
    """The mechanism with its noise and its answers on the lattice.

    Raises NoFormError where something in it has no form there.
    """
    for statement in statements_in(mechanism.body):
        name = statement.name if isinstance(statement, nodes.Assign) else None
        if isinstance(statement, nodes.For) and isinstance(statement.over, nodes.OverQueries):
            name = statement.over.base
        if name in lattice.counted:
            raise NoFormError(f"`{name}` counts steps, but is assigned or iterated", statement.span)
    moved = rewrite.everywhere(mechanism, lattice.in_steps)
    return replace(
        moved,
        inputs=(lattice.parameter, *(lattice.declared(item) for item in mechanism.inputs)),
        body=rewrite.statements(moved.body, lattice.drawn),
    )
