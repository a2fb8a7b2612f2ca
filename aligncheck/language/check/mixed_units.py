"""A lint: sums and comparisons of an answer, a number of things, and a part of the budget with each other.

What `T + k + eta` adds up is inferred from what stands beside what: `T` is compared with answers, `k` bounds
a loop. Numbers, noise and products have whatever unit their place asks for, so that little is said; still, a
mechanism may mean it (a quantile compares answers with a rank), so that nothing rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from aligncheck.language.diagnostics import Diagnostic, Label
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk


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


@dataclass(frozen=True, slots=True)
class Units:
    """What the names of a checked mechanism are measured in, as far as that is known."""

    of: Mapping[str, Unit]
    answers: tuple[str, ...]

    @classmethod
    def in_(cls, mechanism: n.Mechanism) -> Units:
        inference = _Inference(mechanism)
        inference.run()
        answers = (x for item in mechanism.inputs if isinstance(item, n.Queries) for x in item.names)
        return cls(inference.names, tuple(answers))

    def answered_by(self, name: str) -> str | None:
        """The private input whose unit `name` is measured in, if that is known."""
        unit = self.of[name].root() if name in self.of else None
        return next((q for q in self.answers if q in self.of and self.of[q].root() is unit), None)

    def is_budget(self, name: str) -> bool:
        """Whether `name` is a privacy loss."""
        return name in self.of and self.of[name].root().kind is Measure.BUDGET


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
        body = tuple(walk.statements_in(self.mechanism.body))
        self._declared(body)
        for s in body:
            if isinstance(s, n.Assign) and _counts_up(s, body):
                self._known(self._of(s.name), Measure.COUNT, s.span)
        for s in body:
            self._statement(s)
        for item in self.mechanism.inputs:
            if isinstance(item, n.Queries):
                first, *others = item.names
                for unit in (*map(self._of, others), *map(self._unit, _bounds_of(item))):
                    self._alike(self._of(first), unit, None)
        return self.found

    def _declared(self, body: tuple[n.Stmt, ...]) -> None:
        """Answers and what bounds their moves; the claim, and the whole numbers that it is divided by."""
        claim = self.mechanism.claim
        claims = walk.claimed_in(claim) if isinstance(claim, n.Pure) else ()
        claims = (claim.epsilon,) if isinstance(claim, n.Approximate) else claims
        claimed = frozenset(name for each in claims for name in walk.names_in(each))
        whole, moves = set(), set[str]()
        for item in self.mechanism.inputs:
            match item:
                case n.Queries(names=names):
                    for name in names if item.sensitivity is not None else ():  # else it names something
                        self._known(self._of(name), Measure.ANSWER, item.span)
                    moves |= {name for e in _bounds_of(item) for name in walk.names_in(e)}
                case n.Parameter(name=name, sort=n.Sort.INT):
                    whole.add(name)
                case n.Parameter() | n.PublicVector():
                    pass
        for e in walk.expressions_of(body):
            if isinstance(e, n.Binary) and e.op in "*/" and walk.names_in(e) & claimed:
                for name in sorted(walk.names_in(e) & (whole - moves)):
                    self._known(self._of(name), Measure.COUNT, e.span)
        for e in (e for each in claims for e in _losses_in(each, whole)):
            self._known(self._of(e.ident), Measure.BUDGET, e.span)

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
                for e in walk.own_expressions(s):
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
                for part in walk.parts_of(e):
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


def _bounds_of(item: n.Queries) -> list[n.Expr]:
    return [e for e in (item.sensitivity, item.lattice, *(item.range or ())) if e is not None]


def _losses_in(claim: n.Expr, whole: set[str]) -> Iterator[n.Name]:
    """The names that a claim adds up, or so many times: a name of whole numbers is no loss."""
    if isinstance(claim, n.Name) and claim.ident not in whole:
        yield claim
    sums = isinstance(claim, n.Binary) and claim.op in "+-"
    if sums or (isinstance(claim, n.Call) and claim.function in ("min", "max")):
        for part in walk.parts_of(claim):
            yield from _losses_in(part, whole)
    elif isinstance(claim, n.Binary) and claim.op in "*/":
        if _is_number(claim.right, whole):
            yield from _losses_in(claim.left, whole)
        elif claim.op == "*" and _is_number(claim.left, whole):
            yield from _losses_in(claim.right, whole)


def _is_number(e: n.Expr, whole: set[str]) -> bool:
    """Whether an expression is made of whole numbers, and counts of what was released."""
    if isinstance(e, n.Name):
        return e.ident in whole
    return isinstance(e, n.OutCount | n.Number | n.Binary) and all(
        _is_number(p, whole) for p in walk.parts_of(e)
    )


def _is_plain(e: n.Expr) -> bool:
    """Whether an expression is made of numbers alone."""
    return not any(
        isinstance(each, n.Name | n.Index | n.OfOutput | n.Gather) for each in walk.subexpressions(e)
    )


def _counts_up(s: n.Assign, body: tuple[n.Stmt, ...]) -> bool:
    """Whether a variable counts: `c = c + 1`, and else it is set to whole numbers."""
    step = n.Binary("+", n.Name(s.name), n.Number(Fraction(1)))
    values = [each.value for each in body if isinstance(each, n.Assign) and each.name == s.name]
    return s.value == step and all(v == step or _is_whole(v) for v in values)


def _is_whole(e: n.Expr) -> bool:
    return isinstance(e, n.Number) and e.value.denominator == 1
