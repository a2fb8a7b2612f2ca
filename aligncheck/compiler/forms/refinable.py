"""Whether noise can be drawn, and real-valued noise as finely as decisions need: sums of it with rational
weights can be compared, rounded, released and given to public functions (rounded); products of two noisy
numbers cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from aligncheck.compiler.forms.shared import NoFormError
from aligncheck.compiler.modes import RunMode
from aligncheck.language.families import Family
from aligncheck.language.syntax import nodes, walk
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import LISTING, LOG_SUM, Expr, Mechanism
from aligncheck.runtime.exact_noise import LatticeNoise, RefinedNoise
from aligncheck.runtime.noise import FloatingNoise, Noise

_SUMS = ("abs", "min", "max", "clip")
_SOURCES: dict[RunMode, type[Noise]] = {
    RunMode.LATTICE: LatticeNoise,
    RunMode.REFINED: RefinedNoise,
    RunMode.FLOAT: FloatingNoise,
}


def refuse_what_cannot_be_refined(mechanism: Mechanism, mode: RunMode) -> None:
    """Raises NoFormError at the first thing that a run with such noise could not do. On a lattice that is
    only noise which stays as it is, and has no steps.
    """
    noisy = _Noisy.of(mechanism, mode)
    for statement in walk.statements_in(mechanism.body):
        for expr in walk.own_expressions(statement):
            noisy.check(expr)
        for expr in _public(statement):
            if noisy.carries(expr):
                raise NoFormError(
                    "a scale, a weight, a chance or an argument of a call is a noisy number", expr.span
                )


def refuse_noise_that_is_not_drawn(mechanism: Mechanism, mode: RunMode) -> None:
    """Raises NoFormError at the first draw of a family for which the mode has no sampler, or none of many."""
    for statement in walk.statements_in(mechanism.body):
        if isinstance(statement, nodes.Sample):
            family = statement.family.on_lattice if mode is RunMode.LATTICE else statement.family
            one = (family or statement.family).row.sampler
            if not all(hasattr(_SOURCES[mode], sampler) for sampler in (one, f"{one}s")):
                raise NoFormError(f"`{statement.family.value}` noise has no sampler", statement.span)


def refuse_logarithms_of_sums(mechanism: Mechanism) -> None:
    """Raises NoFormError where such a logarithm (`logsumexp`) is more than a part of the location of logistic
    noise. It is irrational, and a run knows as many digits as are asked for; whether two are equal, no number
    of digits tells.
    """
    names: set[str] = set()

    def carries(expr: Expr | None) -> bool:
        return expr is not None and any(
            (isinstance(e, nodes.Gather) and e.function == LOG_SUM)
            or (isinstance(e, nodes.Name | nodes.Index) and _base(e) in names)
            for e in walk.subexpressions(expr)
        )

    def linear(expr: Expr) -> bool:
        match expr:
            case nodes.Gather(function=function, body=body, where=where) if function == LOG_SUM:
                return not carries(body) and not carries(where)
            case nodes.Name():
                return True
            case nodes.Unary(op="-", operand=operand):
                return linear(operand)
            case nodes.Binary(op=("+" | "-"), left=left, right=right):
                return linear(left) and linear(right)
            case nodes.Binary(op=("*" | "/"), left=left, right=right) if not carries(right):
                return linear(left)
            case nodes.Binary(op="*", left=left, right=right) if not carries(left):
                return linear(right)
            case nodes.Conditional(test=test, then=then, otherwise=otherwise):
                return not carries(test) and linear(then) and linear(otherwise)
            case (
                nodes.Literal()
                | nodes.ByName()
                | nodes.Call()
                | nodes.Operator()
                | nodes.Gather()
                | nodes.OfOutput()
            ):
                return not carries(expr)

    statements = list(walk.statements_in(mechanism.body))
    for _ in statements:  # a variable may be read before, in the text, it is assigned
        names.update(s.name for s in statements if isinstance(s, nodes.Assign) and carries(s.value))
    for statement in statements:
        for expr in walk.own_expressions(statement):
            located = isinstance(statement, nodes.Logistic) and expr is statement.location
            if not (linear(expr) if located or isinstance(statement, nodes.Assign) else not carries(expr)):
                raise NoFormError("the logarithm of a sum is compared, released or drawn by", expr.span)


def _base(expr: nodes.Name | nodes.Index) -> str:
    return expr.ident if isinstance(expr, nodes.Name) else expr.base


def _public(statement: nodes.Stmt) -> Iterator[Expr]:
    """What must be a rational number when a statement runs."""
    match statement:
        case nodes.Sample(args=args):
            yield from args
        case nodes.Choose(weights=weights):
            yield weights.body
        case nodes.Logistic(scale=scale, low=low):
            yield from (e for e in (scale, low) if e is not None)
        case nodes.Invoke(arguments=arguments, rounds=rounds):
            yield from (each.value for each in arguments)
            yield from walk.rounds_of(rounds)[1:]
        case nodes.Assign() | nodes.If() | nodes.Repeat() | nodes.Emit() | nodes.Empty():
            pass


@dataclass(frozen=True, slots=True)
class _Noisy:
    """Names whose values carry real-valued noise, or may; fields of calls under `call.field`."""

    names: set[str] = field(default_factory=set)
    functions: frozenset[str] = frozenset()
    """Public functions, which are given rounded numbers."""

    @classmethod
    def of(cls, mechanism: Mechanism, mode: RunMode) -> _Noisy:
        refined = mode is RunMode.REFINED
        noisy = cls(functions=frozenset(f.name for f in mechanism.functions if refined))
        callees = {use.name: contract_of(use).mechanism for use in mechanism.uses}
        for statement in walk.statements_in(mechanism.body):
            if isinstance(statement, nodes.Sample) and _has_digits(statement.family, mode):
                noisy.names.add(statement.name)
            if isinstance(statement, nodes.Logistic):
                noisy.names.add(statement.name)
            if isinstance(statement, nodes.Invoke):
                released = _released(callees[statement.mechanism], mode)
                noisy.names.update(f"{statement.name}.{each}" for each in released)
        known = -1
        while known < len(noisy.names):  # a variable may be read before, in the text, it is assigned
            known = len(noisy.names)
            for statement in walk.statements_in(mechanism.body):
                if isinstance(statement, nodes.Assign) and noisy.carries(statement.value):
                    noisy.names.add(statement.name)
        return noisy

    def carries(self, expr: Expr) -> bool:
        """Whether the value of an expression carries noise, or may."""
        match expr:
            case nodes.Name(ident=name) | nodes.Index(base=name):
                return name in self.names
            case nodes.OutField(field=name, of=of):
                return f"{of}.{name}" in self.names
            case nodes.Call(function=function, args=args):
                return function in _SUMS and any(map(self.carries, args))
            case nodes.Unary(op="-") | nodes.Binary():
                return any(map(self.carries, walk.parts_of(expr)))
            case nodes.Conditional(then=then, otherwise=otherwise):
                return self.carries(then) or self.carries(otherwise)
            case nodes.Gather(function=function, body=body) if function in ("max", "min", "sum", LISTING):
                return self.carries(body)
            case (
                nodes.Literal()
                | nodes.Unary()
                | nodes.Compare()
                | nodes.Logic()
                | nodes.Gather()
                | nodes.Member()
                | nodes.OutIs()
                | nodes.OutCount()
            ):
                return False

    def _needs_all(self, expr: Expr) -> bool:
        match expr:
            case nodes.Binary(op="*", left=left, right=right):
                return self.carries(left) and self.carries(right)
            case nodes.Binary(op="/", right=right):
                return self.carries(right)
            case nodes.Binary(op=op):
                return op not in ("+", "-") and self.carries(expr)
            case nodes.Call(function=function, args=args):
                exact = function in (*_SUMS, "floor", "len") or function in self.functions
                return not exact and any(map(self.carries, args))
            case nodes.Gather(function=function, body=body):
                return function == LOG_SUM and self.carries(body)
            case (
                nodes.Literal()
                | nodes.Name()
                | nodes.Index()
                | nodes.Unary()
                | nodes.Compare()
                | nodes.Logic()
                | nodes.Conditional()
                | nodes.Member()
                | nodes.OfOutput()
            ):
                return False

    def check(self, expr: Expr) -> None:
        """Raises NoFormError at the first operation that needs the whole value of a noisy number."""
        for part in walk.parts_of(expr):
            self.check(part)
        if self._needs_all(expr):
            raise NoFormError("noisy numbers are multiplied, or given to a function", expr.span)


def _has_digits(family: Family, mode: RunMode) -> bool:
    """Whether draws have digits that nobody has drawn yet."""
    return not family.discrete and (mode is RunMode.REFINED or family.on_lattice is family)


def _released(mechanism: Mechanism, mode: RunMode) -> set[str]:
    """The fields that a mechanism releases as numbers with noise."""
    noisy = _Noisy.of(mechanism, mode)
    return {
        each.name
        for statement in walk.statements_in(mechanism.body)
        if isinstance(statement, nodes.Emit)
        for each in statement.fields
        if noisy.carries(each.value)
    }
