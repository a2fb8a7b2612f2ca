"""Small changes of a spec that mend a failing proof: each is verified before it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from aligncheck.language.conditions import Condition
from aligncheck.language.families import Slope
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite
from aligncheck.language.syntax.walk import expressions_of, names_in, statements_in, subexpressions, with_part
from aligncheck.language.unparse import unparse_expr, unparse_shift
from aligncheck.search.table_lines import as_cells


@dataclass(frozen=True, slots=True)
class SmallChange:
    """Another spec, and what is changed in it: what follows "verified …"."""

    changed: n.Mechanism
    text: str


def small_changes(mechanism: n.Mechanism, condition: Condition, place: Span) -> Iterator[SmallChange]:
    """What may mend a spec that fails a condition at a place, likelier changes first."""
    match condition:
        case Condition.INVARIANT:
            yield from _without_invariant(mechanism, place)
        case Condition.SCALES:
            yield from _public_scales(mechanism)
        case Condition.COST:
            yield from _other_tests(mechanism)
            yield from _wider_scales(mechanism)
        case Condition.OUTPUT | Condition.SUPPORT | Condition.COUNTABLE:
            yield from _other_shifts(mechanism)
            if condition is Condition.OUTPUT:
                yield from _other_draws(mechanism)
                yield from _without_field(mechanism, place)
                yield from _public_inputs(mechanism)
        case Condition.DEFINED:
            yield from _records_there(mechanism)
        case (
            Condition.TERMINATES
            | Condition.DRAWS
            | Condition.FRESH
            | Condition.ACYCLIC
            | Condition.INJECTIVE
            | Condition.HYPOTHESES
            | Condition.CALLS
        ):
            return


def _meets(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _without_invariant(mechanism: n.Mechanism, place: Span) -> Iterator[SmallChange]:
    """A loop without the line at fault."""

    def other(s: n.Stmt) -> n.Stmt:
        if not isinstance(s, n.For | n.While):
            return s
        return replace(s, invariants=tuple(e for e in s.invariants if not _meets(e.span, place)))

    yield SmallChange(_with(mechanism, other), "without this `invariant`: leave it out")


def _with(mechanism: n.Mechanism, change: rewrite.OnStmt) -> n.Mechanism:
    return replace(mechanism, body=rewrite.statements(mechanism.body, change))


def _public_scales(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """A scale that is made of private answers, with their sensitivity in their place."""
    for name, item in _answers(mechanism):
        moved = item.sensitivity

        def public(e: n.Expr, name: str = name, moved: n.Expr | None = moved) -> n.Expr:
            if isinstance(e, n.Call) and e.function == "abs" and isinstance(e.args[0], n.Number):
                return n.Number(abs(e.args[0].value))
            at = e.ident if isinstance(e, n.Name) else e.base if isinstance(e, n.Index) else ""
            return moved if at == name and moved is not None else e

        for sample in _samples(mechanism):
            if name in {each for e in sample.args for each in names_in(e)}:
                args = tuple(rewrite.bottom_up(e, public) for e in sample.args)
                yield _with_args(mechanism, sample, args, f": `{name}` is private")


def _with_args(
    mechanism: n.Mechanism, sample: n.Sample, args: tuple[n.Expr, ...], why: str = ""
) -> SmallChange:
    changed = _with(mechanism, lambda s: replace(sample, args=args) if s is sample else s)
    shown, before = (unparse_expr(each[0]) for each in (args, sample.args))
    return SmallChange(changed, f"with the scale `{shown}` of `{sample.name}` in place of `{before}`{why}")


def other_scales(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """A scale that was written upside down, or whose divisor lacks its brackets: `eps` for `1/eps`, `1/2*eps`
    for `1/(2*eps)`.
    """
    for sample in _samples(mechanism):
        for other in _meant(sample.args[0]) if sample.family.row.slope is Slope.SCALE else ():
            yield _with_args(mechanism, sample, (other, *sample.args[1:]))


def _meant(scale: n.Expr) -> Iterator[n.Expr]:
    if isinstance(scale, n.Name):
        yield n.Binary("/", n.Number(Fraction(1)), scale)
    if not isinstance(scale, n.Binary):
        return
    left, right = scale.left, scale.right
    if scale.op == "/":
        yield n.Binary("/", right, left)
    if scale.op == "*" and isinstance(left, n.Binary) and left.op == "/":
        yield n.Binary("/", left.left, n.Binary("*", left.right, right))
    if scale.op == "*" and isinstance(left, n.Number):
        yield n.Binary("/", left, right)


def other_lines(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """A line of the alignment with the other sign, or that adds what it gives."""
    for line in mechanism.align:
        if isinstance(line, n.Shift):
            op = "-=" if line.op == "+=" else "+="
            yield _with_line(mechanism, line, replace(line, op=op))


def _with_line(mechanism: n.Mechanism, line: n.Shift, other: n.Shift) -> SmallChange:
    changed = replace(mechanism, align=tuple(other if each is line else each for each in mechanism.align))
    shown, before = (unparse_shift(as_cells(mechanism, each)) for each in (other, line))
    return SmallChange(changed, f"with `{shown}` in place of `{before}`")


def _samples(mechanism: n.Mechanism) -> list[n.Sample]:
    return [s for s in statements_in(mechanism.body) if isinstance(s, n.Sample)]


def _answers(mechanism: n.Mechanism) -> list[tuple[str, n.Queries]]:
    """The private inputs by their names."""
    return [(name, item) for item in mechanism.inputs if isinstance(item, n.Queries) for name in item.names]


def _other_tests(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """A loop that is left one round earlier: `>=` for `>`."""
    for s in statements_in(mechanism.body):
        if not isinstance(s, n.If):
            continue
        for branch in s.branches:
            test = branch.test
            leaves = any(isinstance(each, n.Break) for each in branch.body)
            if not leaves or not isinstance(test, n.Compare) or test.op not in ("<", ">"):
                continue
            other = replace(test, op=f"{test.op}=")
            yield _with_part(mechanism, test, other)


def _with_part(mechanism: n.Mechanism, part: n.Expr, other: n.Expr) -> SmallChange:
    """The program with another expression in the place of one."""
    changed = _with(mechanism, lambda s: rewrite.own(s, lambda e: with_part(e, part, other)))
    return SmallChange(changed, f"with `{unparse_expr(other)}` in place of `{unparse_expr(part)}`")


def _wider_scales(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """Twice the scale, of one draw."""
    for sample in _samples(mechanism):
        if sample.family.row.slope is Slope.SCALE:
            scale = sample.args[0]
            double: n.Expr = n.Binary("*", n.Number(Fraction(2)), scale)
            if isinstance(scale, n.Binary) and scale.op == "/":
                double = _half_of(scale.right, scale.left)
            yield _with_args(mechanism, sample, (double, *sample.args[1:]))


def _half_of(divisor: n.Expr, numerator: n.Expr) -> n.Expr:
    """Twice `numerator / divisor`, as it would be written."""
    two = n.Number(Fraction(2))
    if isinstance(divisor, n.Binary) and divisor.op == "*" and divisor.left == two:
        return n.Binary("/", numerator, divisor.right)
    double: n.Expr = n.Binary("*", two, numerator)
    if isinstance(numerator, n.Number):
        double = n.Number(2 * numerator.value)
    elif isinstance(numerator, n.Binary) and numerator.op == "*" and isinstance(numerator.left, n.Number):
        double = n.Binary("*", n.Number(2 * numerator.left.value), numerator.right)
    return n.Binary("/", double, divisor)


def _other_shifts(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """Lines that are left out, without their guards, moved by what the data moves, or added."""
    lines = mechanism.align
    for number, line in enumerate(lines):
        if not isinstance(line, n.Shift):
            continue
        rest = (*lines[:number], *lines[number + 1 :])
        if len(lines) > 1:
            text = f"without the line `{unparse_shift(as_cells(mechanism, line))}`"
            yield SmallChange(replace(mechanism, align=rest), text)
        others = [replace(line, value=value) for value in _toggled(line.value)]
        others += [replace(line, op="+=", value=each) for each in _moves(mechanism, line.name, line.index)]
        if line.guard is not None:
            others.append(replace(line, guard=None))
        yield from (_with_line(mechanism, line, other) for other in others if other != line)
    moved = {line.name for line in lines if isinstance(line, n.Shift)}
    for sample in _samples(mechanism):
        if sample.name not in moved and len(moved) == sum(isinstance(line, n.Shift) for line in lines):
            for value in _moves(mechanism, sample.name, sample.index):
                added = n.Shift(sample.name, sample.index, "+=", value)
                text = f"with the line `{unparse_shift(as_cells(mechanism, added))}` added"
                yield SmallChange(replace(mechanism, align=(added, *lines)), text)


def _records_there(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """A guard that asks first whether the record is there of which it reads a field."""
    emits = [s for s in statements_in(mechanism.body) if isinstance(s, n.Emit)]
    for line in mechanism.align:
        if not isinstance(line, n.Shift) or line.guard is None:
            continue
        parts = tuple(subexpressions(line.guard))
        for read in dict.fromkeys(e for e in parts if isinstance(e, n.OutField) and e.of == "out"):
            for tag in dict.fromkeys(s.tag for s in emits if read.field in [f.name for f in s.fields]):
                there = n.OutIs(read.index, tag)
                if there not in parts:
                    yield _with_line(
                        mechanism, line, replace(line, guard=n.Logic("and", (there, line.guard)))
                    )


def _toggled(value: n.Expr) -> Iterator[n.Expr]:
    """The value in the other run of one name."""
    for part in subexpressions(value):
        if isinstance(part, n.Name | n.Index):
            other = replace(part, primed=not part.primed)

            def changed(e: n.Expr, span: Span = part.span, other: n.Expr = other) -> n.Expr:
                return other if e.span == span else e

            yield rewrite.bottom_up(value, changed)


def _moves(mechanism: n.Mechanism, name: str, index: n.Expr | None) -> Iterator[n.Expr]:
    """How far a draw may have to move: by what an answer moves, by its sensitivity, or by both."""
    for answer, item in _answers(mechanism)[:2]:
        by: n.Expr | None = None
        if not item.vector:
            by = n.Binary("-", n.Name(answer), n.Name(answer, primed=True))
        elif index is not None:
            by = n.Binary("-", n.Index(answer, index), n.Index(answer, index, primed=True))
        most = (
            item.sensitivity
            if item.sensitivity is not None and not names_in(item.sensitivity) & {"i"}
            else None
        )
        if by is not None:
            yield by
        if most is not None:
            yield most
        if by is not None and isinstance(by, n.Binary) and most is not None:
            yield n.Binary("-", n.Binary("+", most, by.left), by.right)


def _other_draws(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """The draw of the round in place of another one, where the round reads it."""
    loops = [s for s in statements_in(mechanism.body) if isinstance(s, n.For | n.While)]
    for sample in _samples(mechanism):
        rounds = [inside for loop in loops if sample in (inside := list(statements_in(loop.body)))]
        if sample.index is None or not rounds:
            continue
        drawn = n.Index(sample.name, sample.index)
        read = expressions_of(s for s in rounds[-1] if isinstance(s, n.Assign | n.Emit))
        others = [e for e in read if isinstance(e, n.Index) and e.base == sample.name and e != drawn]
        yield from (_with_part(mechanism, e, drawn) for e in others)


def _without_field(mechanism: n.Mechanism, place: Span) -> Iterator[SmallChange]:
    """Records without the field at fault."""
    for s in statements_in(mechanism.body):
        if not isinstance(s, n.Emit):
            continue
        for field in s.fields:
            if len(s.fields) == 1 or not _meets(field.value.span, place):
                continue

            def without(each: n.Stmt, tag: str = s.tag, name: str = field.name) -> n.Stmt:
                if not isinstance(each, n.Emit) or each.tag != tag:
                    return each
                return replace(each, fields=tuple(f for f in each.fields if f.name != name))

            yield SmallChange(
                _with(mechanism, without),
                f"without the field `{field.name}`: leave it out, or release it with noise of its own that a "
                "line of `align` moves",
            )


def _public_inputs(mechanism: n.Mechanism) -> Iterator[SmallChange]:
    """One answer that no line of the alignment speaks of, as a public parameter."""
    said = {name for line in mechanism.align if isinstance(line, n.Shift) for name in names_in(line.value)}
    for item in mechanism.inputs:
        if isinstance(item, n.Queries) and not item.vector and len(item.names) == 1 and item.range is None:
            (name,) = item.names
            if name not in said:
                public = n.Parameter(name, item.sort, item.where)
                text = f"where `{name}` is public: `{name} : {item.sort.value}`"
                yield SmallChange(with_input(mechanism, item, public), text)


def with_input(mechanism: n.Mechanism, item: n.Input, other: n.Input) -> n.Mechanism:
    """The mechanism with one input declared in another way."""
    return replace(mechanism, inputs=tuple(other if each is item else each for each in mechanism.inputs))
