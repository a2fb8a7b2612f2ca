"""Rational numbers in place of irrational ones.

The runtime computes a root or a logarithm as a rational number near it, by a rule of its own and from public
numbers alone (`aligncheck.runtime.rationals`). For a constant (`sqrt(2)`) the form holds that very number.
Else it calls a public function of which nothing is known (`fun`), the same on D and D', and takes the nearest
number between two bounds of the root or the logarithm, rational functions of the argument (`enclosed`). So
the proof holds whatever the function gives, and knows signs: that of an exponential or a root, on which side
of 1 an exponential, a root or the argument of a logarithm is. The runtime takes the nearest number between
the same two bounds, and computes so many digits that this changes none.

Where more is more private, or less, a root or a logarithm is rounded that way (`directed`): the number is
the greater one of it and what the function gives, or the lesser one, and a proof knows that it is. So scales
and claims are rounded up, the budgets of calls down, and `where` clauses let no value in that the spec shuts
out. Which way is chosen by how the formula is written, and nothing rests on the choice: what is proved is
that number, whatever it is near to.

A chance of a geometric draw that is a variable for `1 - exp(-x)` is written out in the draw (`with_rates`):
the draw is made by x, and no rational number near the chance has a part in it.

`floor(log2(x))` and `floor(sqrt(x))` are integers, which the runtime computes exactly: they stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from aligncheck.compiler.forms.directions import directed, said_in, with_said
from aligncheck.compiler.forms.equalities import with_equalities
from aligncheck.compiler.forms.shared import IRRATIONAL, NoFormError, constant, fresh, names_of
from aligncheck.language.families import Slope
from aligncheck.language.internal import InternalError
from aligncheck.language.odds import log_odds_of
from aligncheck.language.syntax import nodes, rewrite, walk
from aligncheck.language.syntax.nodes import Expr, Mechanism, Sort
from aligncheck.runtime import rationals
from aligncheck.runtime.errors import NumericError
from aligncheck.runtime.reals import Real

COMPUTED: Mapping[str, Callable[[Real], Fraction]] = {
    "sqrt": rationals.sqrt,
    "exp": rationals.exp,
    "ln": rationals.ln,
    "log2": rationals.log2,
    "sqrt up": rationals.sqrt_up,
    "sqrt down": rationals.sqrt_down,
    "ln up": rationals.ln_up,
    "ln down": rationals.ln_down,
}
"""What computes a number near each: with a direction, one that is not below it, or not above it."""


def as_computed(mechanism: Mechanism) -> Mechanism:
    """The mechanism as exact modes compute it, before numbers near irrational ones take their place."""
    return directed(with_rates(with_equalities(mechanism)))


def with_rates(mechanism: Mechanism) -> Mechanism:
    """The mechanism with `Geo(1 - exp(-x))` for `Geo(p)`, where p is assigned once, on the top level, and is
    `1 - exp(-x)` with an x that never changes: the same value wherever it stands.
    """
    often = Counter(name for s in walk.statements_in(mechanism.body) for name in walk.names_set(s))
    items = [i for i in mechanism.inputs if not isinstance(i, nodes.Queries)]
    fixed = {i.name for i in items}
    chances: dict[str, Expr] = {}
    for s in mechanism.body:
        if isinstance(s, nodes.Assign) and often[s.name] == 1 and set(walk.names_in(s.value)) <= fixed:
            fixed.add(s.name)
            if rate_of(s.value) is not None:
                chances[s.name] = s.value

    def written_out(s: nodes.Stmt) -> nodes.Stmt:
        match s:
            case nodes.Sample(family=family, args=(nodes.Name(ident=name),)) if (
                family.row.slope is Slope.CHANCE and name in chances
            ):
                return replace(s, args=(chances[name],))
        return s

    return replace(mechanism, body=rewrite.statements(mechanism.body, written_out)) if chances else mechanism


def enclosed(function: str, x: Expr, near: Callable[[Expr], Expr]) -> Expr:
    """A number near `function(x)`, given by any public function `near`, kept between two bounds that
    `function(x)` itself has, for all x where it is defined:

    * x + 1 <= exp(x), for x >= 0; and exp(x) = 1/exp(-x);
    * 2 x/(1 + x) <= sqrt(x) <= (1 + x)/2: the harmonic, geometric and arithmetic mean of 1 and x;
    * 1 - 1/x <= ln(x) <= x - 1; and log2(x) = ln(x)/ln(2), where 1 < 1/ln(2) < 2.

    With a direction, the number itself is one of the bounds. Such numbers are computed by
    `aligncheck.runtime.rationals`.
    """
    function, _, direction = function.partition(" ")

    def number(op: str, one: Expr | int, other: Expr | int) -> Expr:
        left, right = (nodes.Number(Fraction(e)) if isinstance(e, int) else e for e in (one, other))
        return nodes.Binary(op, left, right, span=x.span)

    def call(f: str, *args: Expr) -> Expr:
        return nodes.Call(f, args, span=x.span)

    minus = nodes.Unary("-", x, span=x.span)
    least, most = number("-", 1, number("/", 1, x)), number("-", x, 1)
    match function:
        case "exp":
            above = nodes.Compare(">=", x, nodes.Number(Fraction(0)), span=x.span)
            large = call("max", near(x), number("+", 1, x))
            small = number("/", 1, call("max", near(minus), number("-", 1, x)))
            return nodes.Conditional(above, large, small, span=x.span)
        case "sqrt":
            plus = number("+", 1, x)
            least, most = number("/", number("*", 2, x), plus), number("/", plus, 2)
        case "ln":
            pass
        case "log2":
            least = call("min", least, number("*", 2, least))
            most = call("max", most, number("*", 2, most))
        case _:
            raise InternalError(f"`{function}` is not computed by a number near it")
    if direction == "up":
        return call("max", call(function, x), near(x))
    if direction == "down":
        return call("min", call(function, x), call("max", least, near(x)))
    return call("max", least, call("min", most, near(x)))


def refuse_irrational_clauses(mechanism: Mechanism) -> None:
    """Raises NoFormError where a range or a lattice needs an irrational number, or a `where` clause one that
    is not rounded one way: a run compares with one near it, and takes parameters between the two that the
    proof leaves out, or the other way round. So it does where the claim needs one: what a run is charged
    would be a number below it.
    """
    mechanism = directed(mechanism)
    for claimed in walk.claimed_in(mechanism.claim):
        for call in _near(claimed):
            raise NoFormError("the claim needs an irrational number, and what is spent is exact", call.span)
    for item in mechanism.inputs:
        for call in _near(item.where) if item.where is not None else ():
            raise NoFormError("a `where` clause needs an irrational number", call.span)
        if isinstance(item, nodes.Queries):
            for expr in (item.lattice, *(item.range or ())):
                for call in _calls(expr) if expr is not None else ():
                    raise NoFormError("a range or a lattice needs an irrational number", call.span)


def _near(expr: Expr) -> Iterator[nodes.Call]:
    """The irrational numbers without a direction."""
    return (call for call in _calls(expr) if call.function in IRRATIONAL)


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
    if isinstance(expr, nodes.Call) and expr.function in COMPUTED:
        yield expr
    for part in walk.parts_of(expr):
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
        case nodes.Sample(family=family, args=(p,)) if family.coin and (odds := log_odds_of(p)) is not None:
            yield from (e for e in (statement.index, odds) if e is not None)
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
        case nodes.Simple() | nodes.If():
            yield from walk.own_expressions(statement)


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


def fixed(call: nodes.Call) -> Fraction | None:
    """The argument of an irrational number for which the form has the very number that is computed. One that
    is rounded one way stands by its name, so that a proof knows which way.
    """
    return constant(call.args[0]) if call.function in IRRATIONAL else None


def near_functions(every: Iterable[Mechanism]) -> Mapping[str, str]:
    """The public functions that stand for irrational ones in the forms of these mechanisms, by the name of
    that; none of the mechanisms has another thing by this name.
    """
    all_of = tuple(every)
    used = sorted({c.function for m in all_of for c in computed_near(m) if fixed(c) is None})
    taken = frozenset().union(*map(names_of, all_of))
    return {function: fresh(f"near_{function.replace(' ', '_')}", taken) for function in used}


def stands_for(name: str) -> str | None:
    """What a function of a form stands for, by its name; None for one that is the spec's own."""
    kinds = sorted(COMPUTED, reverse=True)
    return next((f for f in kinds if name.startswith(f"near_{f.replace(' ', '_')}")), None)


def computed_near(mechanism: Mechanism) -> Iterator[nodes.Call]:
    """The irrational numbers that a run computes with, in declarations and in the claim as well."""
    evaluated = (expr for s in walk.statements_in(mechanism.body) for expr in _evaluated(s))
    for expr in (*evaluated, *said_in(mechanism)):
        yield from _calls(expr)


def with_rational_numbers(mechanism: Mechanism, names: Mapping[str, str]) -> Mechanism:
    """The mechanism with public functions, by `names`, in place of irrational ones, in what it computes."""

    def near(expr: Expr) -> Expr:
        if not isinstance(expr, nodes.Call):
            return expr
        argument = fixed(expr)
        if argument is None:
            return enclosed(
                expr.function, expr.args[0], lambda x: replace(expr, function=names[expr.function], args=(x,))
            )
        try:
            value = COMPUTED[expr.function](argument)
        except NumericError as error:
            raise NoFormError(str(error), expr.span) from None
        top, bottom = nodes.Number(Fraction(value.numerator)), nodes.Number(Fraction(value.denominator))
        return nodes.Binary("/", top, bottom, span=expr.span)

    def computed(evaluated: Iterable[Expr]) -> Callable[[Expr], Expr]:
        here = {id(e) for part in evaluated for e in _calls(part)}

        def changed(expr: Expr) -> Expr:
            parts = tuple(changed(part) for part in walk.parts_of(expr))
            inner = walk.with_parts(expr, parts)
            return near(inner) if id(expr) in here else inner

        return changed

    functions = tuple(nodes.Function(name, (Sort.REAL,), Sort.REAL) for name in names.values())
    return replace(
        with_said(mechanism, computed(said_in(mechanism))),
        body=rewrite.statements(mechanism.body, lambda s: rewrite.own(s, computed(tuple(_evaluated(s))))),
        functions=(*mechanism.functions, *functions),
    )
