"""A lint: sums and comparisons of an answer, a number of things, and a part of the budget with each other.

What `T + k + eta` adds up is inferred from what stands beside what: `T` is compared with answers, `k` bounds
a loop. Numbers, noise and products have whatever unit their place asks for, so that little is said; still, a
mechanism may mean it (a quantile compares answers with a rank), so that nothing rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from aligncheck.language.diagnostics import Diagnostic, Label
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import names_in, own_expressions, parts_of, statements_in, subexpressions


class Measure(Enum):
    """What a unit is known to be, as it is named in a message."""

    ANSWER = "an answer"
    COUNT = "a count"
    BUDGET = "a part of the budget"


@dataclass(eq=False)
class Unit:
    """A unit, perhaps unknown so far; `same` is the one that it was found to be. `why` is where it shows, and
    `beside` the first sum that gave something else this unit.
    """

    kind: Measure | None = None
    why: Span | None = None
    beside: Span | None = None
    same: Unit | None = None

    def root(self) -> Unit:
        return self if self.same is None else self.same.root()


def mixed_units(mechanism: n.Mechanism) -> tuple[Diagnostic, ...]:
    """What a checked mechanism adds up or compares that is not of one unit, in the order of the text."""
    found = _Inference(mechanism).run()
    return tuple(sorted(found, key=lambda each: each.primary.span.start))


@dataclass
class _Inference:
    mechanism: n.Mechanism
    names: dict[str, Unit] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)

    def run(self) -> list[Diagnostic]:
        body = tuple(statements_in(self.mechanism.body))
        self._declared(body)
        for s in body:
            if isinstance(s, n.Assign) and _counts_up(s, body):
                self._known(self._of(s.name), Measure.COUNT, s.span)
        for s in body:
            self._statement(s)
        return self.found

    def _declared(self, body: tuple[n.Stmt, ...]) -> None:
        """Answers and what bounds their moves; the claim, and the whole numbers that it is divided by."""
        claim = self.mechanism.claim
        claimed = frozenset() if isinstance(claim, n.Concentrated) else names_in(claim.epsilon)
        whole, moves = set(), set[str]()
        for item in self.mechanism.inputs:
            match item:
                case n.Queries(names=names):
                    for name in names if item.sensitivity is not None else ():  # else it names something
                        self._known(self._of(name), Measure.ANSWER, item.span)
                    clauses = [e for e in (item.sensitivity, item.lattice, *(item.range or ())) if e]
                    moves |= {name for e in clauses for name in names_in(e)}
                case n.Parameter(name=name, sort=n.Sort.REAL) if name in claimed:
                    self._known(self._of(name), Measure.BUDGET, item.span)
                case n.Parameter(name=name, sort=n.Sort.INT):
                    whole.add(name)
                case n.Parameter() | n.PublicVector():
                    pass
        for e in (e for s in body for top in own_expressions(s) for e in subexpressions(top)):
            if isinstance(e, n.Binary) and e.op in "*/" and names_in(e) & claimed:
                for name in sorted(names_in(e) & (whole - moves)):
                    self._known(self._of(name), Measure.COUNT, e.span)

    def _statement(self, s: n.Stmt) -> None:
        match s:
            case n.Assign(name=name, value=value):
                self._alike(self._of(name), self._unit(value), value)
            case n.For(index=index, over=over):
                if index is not None:
                    self._known(self._of(index), Measure.COUNT, s.span)
                if isinstance(over, n.OverQueries):
                    self._alike(self._of(over.item), self._of(over.base), None)
                else:
                    self._count(over.low)
                    self._count(over.high)
            case n.Logistic(name=name, location=location):
                self._alike(self._of(name), self._unit(location), location)
            case n.Invoke() | n.Sample() | n.Choose() | n.If() | n.While() | n.Emit() | n.Empty():
                for e in own_expressions(s):
                    self._unit(e)

    # --- expressions --------------------------------------------------------------------------------------

    def _unit(self, e: n.Expr) -> Unit:
        match e:
            case n.Name(ident=ident):
                return self._of(ident)
            case n.Index(base=base, index=index):
                self._count(index)
                return self._of(base)
            case n.Binary(op=op) if op in "*/":
                return self._product(e)
            case n.Binary(op="+" | "-" | "%", left=left, right=right) | n.Compare(left=left, right=right):
                return self._alike(self._unit(left), self._unit(right), e)
            case n.Unary(op="-", operand=operand) | n.Call(function="abs" | "floor", args=(operand,)):
                return self._unit(operand)
            case n.Call(function="min" | "max" | "clip", args=(first, *others)):
                unit = self._unit(first)
                for other in others:
                    unit = self._alike(unit, self._unit(other), e)
                return unit
            case n.Call(function="len") | n.OutCount():
                return Unit(Measure.COUNT, e.span)
            case n.Conditional(test=test, then=then, otherwise=otherwise):
                self._unit(test)
                return self._alike(self._unit(then), self._unit(otherwise), e)
            case n.Gather():
                return self._gathered(e)
            case n.Member(index=index):
                self._count(index)
                return Unit()
            case n.Literal() | n.Operator() | n.OfOutput() | n.Call():
                for part in parts_of(e):
                    self._unit(part)
                return Unit()

    def _product(self, e: n.Binary) -> Unit:
        """A number of answers are answers, and a part of the budget is one; of other products nothing is
        known.
        """
        units = [(each, self._unit(each).root()) for each in (e.left, e.right)]
        (left, one), (right, other) = units
        if e.op == "*" and (_is_plain(left) or (one.kind is Measure.COUNT and not _is_plain(right))):
            return other
        return one if _is_plain(right) or other.kind is Measure.COUNT else Unit()

    def _gathered(self, e: n.Gather) -> Unit:
        before = self.names.get(e.index)
        self.names[e.index] = Unit(Measure.COUNT, e.span)
        ends = (e.over.low, e.over.high) if isinstance(e.over, n.OverRange) else ()
        for end in (*ends, *([] if e.count is None else [e.count])):
            self._count(end)
        unit = self._unit(e.body)
        if e.where is not None:
            self._unit(e.where)
        if before is None:
            del self.names[e.index]
        else:
            self.names[e.index] = before
        if e.function in ("max", "min", "sum"):
            return unit
        return Unit(Measure.COUNT, e.span) if e.function in ("argmax", "argmin", *n.SELECTING) else Unit()

    # --- units --------------------------------------------------------------------------------------------

    def _of(self, name: str) -> Unit:
        return self.names.setdefault(name, Unit())

    def _count(self, e: n.Expr) -> None:
        self._alike(self._unit(e), Unit(Measure.COUNT, e.span), e)

    def _known(self, unit: Unit, kind: Measure, why: Span) -> None:
        self._alike(unit, Unit(kind, why), None)

    def _alike(self, one: Unit, other: Unit, at: n.Expr | None) -> Unit:
        """The unit that both are; where they cannot be, that is a fault `at` an expression."""
        one, other = one.root(), other.root()
        if one is other:
            return one
        if one.kind is not None and other.kind is not None and one.kind is not other.kind:
            self.found += () if at is None else [_mixed(at, one, other)]
            return Unit()
        if one.kind is None:
            one, other = other, one
        if isinstance(at, n.Binary) and not (_is_plain(at.left) or _is_plain(at.right)):
            one.beside = one.beside or at.span
        other.same = one
        return one


def _mixed(at: n.Expr, one: Unit, other: Unit) -> Diagnostic:
    kinds = [(unit.kind.value, unit.why, unit.beside) for unit in (one, other) if unit.kind is not None]
    labels = [Label(why, f"{kind}, by this") for kind, why, _ in kinds if why is not None]
    labels += [Label(place, f"{kind}, if this is of one unit") for kind, _, place in kinds if place]
    what = "are added up or compared" if isinstance(at, n.Binary | n.Compare) else "have to be the same here"
    return Diagnostic(
        "units",
        f"{' and '.join(kind for kind, _, _ in kinds)} {what}",
        Label(at.span),
        tuple(each for each in labels if each.span != at.span),
        help="if that is not meant: a count becomes an answer by a factor, as in `k*Delta`",
    )


def _is_plain(e: n.Expr) -> bool:
    """Whether an expression is made of numbers alone."""
    return not any(isinstance(each, n.Name | n.Index | n.OfOutput | n.Gather) for each in subexpressions(e))


def _counts_up(s: n.Assign, body: tuple[n.Stmt, ...]) -> bool:
    """Whether a variable counts: `c = c + 1`, and else it is set to whole numbers."""
    step = n.Binary("+", n.Name(s.name), n.Number(Fraction(1)))
    values = [each.value for each in body if isinstance(each, n.Assign) and each.name == s.name]
    return s.value == step and all(v == step or _is_whole(v) for v in values)


def _is_whole(e: n.Expr) -> bool:
    return isinstance(e, n.Number) and e.value.denominator == 1
