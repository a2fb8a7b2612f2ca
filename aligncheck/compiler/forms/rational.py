"""Rational numbers in place of irrational ones.

The runtime computes a root or a logarithm as a rational number near it, by a rule of its own and from public
numbers alone (`aligncheck.runtime.rationals`). For a constant (`sqrt(2)`) the form holds that very number.
Else it calls a public function of which nothing is known (`fun`), the same on D and D', so that its proof
holds whatever the number is; so it may not be a noise scale, whose sign must be known, unless the mechanism
itself sees to that.

`floor(log2(x))` and `floor(sqrt(x))` are integers, which the runtime computes exactly: they stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from aligncheck.compiler.forms.shared import NoFormError, constant, fresh, names_of
from aligncheck.language.families import Slope
from aligncheck.language.syntax import nodes, rewrite
from aligncheck.language.syntax.nodes import (
    Expr,
    Mechanism,
    Sort,
)
from aligncheck.language.syntax.walk import own_expressions, parts_of, statements_in, with_parts
from aligncheck.runtime import rationals
from aligncheck.runtime.errors import NumericError

IRRATIONAL = ("sqrt", "exp", "ln", "log2")
"""Functions whose values are irrational for most rational arguments."""


_COMPUTED = {"sqrt": rationals.sqrt, "exp": rationals.exp, "ln": rationals.ln, "log2": rationals.log2}


def irrational_calls(mechanism: Mechanism) -> tuple[nodes.Call, ...]:
    """The irrational numbers that a run computes with."""
    return tuple(
        call
        for statement in statements_in(mechanism.body)
        for expr in _evaluated(statement)
        for call in _calls(expr)
    )


def refuse_irrational_clauses(mechanism: Mechanism) -> None:
    """Raises NoFormError where a `where` clause, a range or a lattice needs an irrational number: a run
    compares with one near it, and takes parameters between the two that the proof leaves out, or the other
    way round.
    """
    for item in mechanism.inputs:
        for call in _calls(item.where) if item.where is not None else ():
            raise NoFormError("a `where` clause needs an irrational number", call.span)
        if isinstance(item, nodes.Queries):
            for expr in (item.lattice, *(item.range or ())):
                for call in _calls(expr) if expr is not None else ():
                    raise NoFormError("a range or a lattice needs an irrational number", call.span)


def rounded_down(expr: Expr) -> tuple[str, Expr] | None:
    """The function and its argument, for `floor(log2(x))` and `floor(sqrt(x))`: computed exactly."""
    inner = expr.args[0] if isinstance(expr, nodes.Call) and expr.function == "floor" else None
    if isinstance(inner, nodes.Call) and inner.function in ("log2", "sqrt"):
        return inner.function, inner.args[0]
    return None


def _calls(expr: Expr) -> Iterator[nodes.Call]:
    if (exact := rounded_down(expr)) is not None:
        yield from _calls(exact[1])
        return
    if isinstance(expr, nodes.Call) and expr.function in IRRATIONAL:
        yield expr
    for part in parts_of(expr):
        yield from _calls(part)


def _evaluated(statement: nodes.Stmt) -> Iterator[Expr]:
    """What a statement evaluates to numbers: not the rate of a geometric draw that is written as one, nor the
    weights of a choice, of which only the exponents and factors are used.
    """
    match statement:
        case nodes.Sample(family=family, args=(p,)) if (
            family.row.slope is Slope.CHANCE and (rate := rate_of(p)) is not None
        ):
            yield from (e for e in (statement.index, rate) if e is not None)
        case nodes.Choose(weights=weights):
            yield from (e for e in (weights.where,) if e is not None)
            for part in _factors(weights.body):
                yield part.args[0] if isinstance(part, nodes.Call) and part.function == "exp" else part
        case nodes.For(over=nodes.OverRange(low=low, high=high)):
            yield from (low, high)
        case nodes.For():
            pass
        case nodes.While(test=test):
            yield test
        case (
            nodes.Assign()
            | nodes.Invoke()
            | nodes.Sample()
            | nodes.Logistic()
            | nodes.If()
            | nodes.Emit()
            | nodes.Empty()
        ):
            yield from own_expressions(statement)


def rate_of(p: Expr) -> Expr | None:
    """x, for a success probability that is written `1 - exp(-x)`."""
    if not (isinstance(p, nodes.Binary) and p.op == "-" and p.left == nodes.Number(Fraction(1))):
        return None
    power = p.right
    if not (isinstance(power, nodes.Call) and power.function == "exp"):
        return None
    (x,) = power.args
    return x.operand if isinstance(x, nodes.Unary) and x.op == "-" else nodes.Unary("-", x, span=x.span)


def _factors(weight: Expr) -> Iterator[Expr]:
    """The factors and divisors of a weight."""
    if isinstance(weight, nodes.Binary) and weight.op in ("*", "/"):
        yield from _factors(weight.left)
        yield from _factors(weight.right)
    elif isinstance(weight, nodes.Conditional):
        yield weight.test
        yield from _factors(weight.then)
        yield from _factors(weight.otherwise)
    else:
        yield weight


def with_rational_numbers(mechanism: Mechanism) -> Mechanism:
    """The mechanism with public functions in place of irrational ones, in what it computes."""
    used = sorted({c.function for c in irrational_calls(mechanism) if constant(c.args[0]) is None})
    taken = names_of(mechanism)
    names = {function: fresh(f"near_{function}", taken) for function in used}

    def near(expr: Expr) -> Expr:
        if not isinstance(expr, nodes.Call):
            return expr
        argument = constant(expr.args[0])
        if argument is None:
            return replace(expr, function=names[expr.function])
        try:
            value = _COMPUTED[expr.function](argument)
        except NumericError as error:
            raise NoFormError(str(error), expr.span) from None
        top, bottom = nodes.Number(Fraction(value.numerator)), nodes.Number(Fraction(value.denominator))
        return nodes.Binary("/", top, bottom, span=expr.span)

    def statement(s: nodes.Stmt) -> nodes.Stmt:
        evaluated = {id(e) for part in _evaluated(s) for e in _calls(part)}

        def changed(expr: Expr) -> Expr:
            parts = tuple(changed(part) for part in parts_of(expr))
            inner = with_parts(expr, parts)
            return near(inner) if id(expr) in evaluated else inner

        return rewrite.own(s, changed)

    functions = tuple(nodes.Function(names[f], (Sort.REAL,), Sort.REAL) for f in used)
    return replace(
        mechanism,
        body=rewrite.statements(mechanism.body, statement),
        functions=(*mechanism.functions, *functions),
    )
