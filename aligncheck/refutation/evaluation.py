"""Expressions of a symbolic run. What noise leaves open raises a `Fork`: see `states`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any

from flint import fmpq

from aligncheck.language.internal import InternalError
from aligncheck.language.syntax import nodes
from aligncheck.meaning import exact
from aligncheck.refutation import irrationals, states
from aligncheck.refutation.irrationals import Real, sign
from aligncheck.refutation.selections import differ, first_of, selection_of, value_at
from aligncheck.refutation.symbolic import (
    OPAQUE,
    Affine,
    Contender,
    Deferred,
    Extreme,
    Known,
    Linear,
    Opaque,
    Rank,
    ReturnedRecord,
    Scalar,
    Shaped,
    SymbolicRelease,
    SymbolicSelection,
    minus,
    never,
    plus,
    times,
)


class Evaluation:
    """Evaluates expressions in one state; public functions are 0, or false, everywhere, as in a `Scenario`.

    Where it is lenient, the value of an extreme is left open: whether the expression has a value at all is
    what is asked, and an extreme over a set that is not empty always has one.
    """

    def __init__(self, state: states.PartialPath, step: Callable[[], None]) -> None:
        self.state = state
        self.frame = state.frame
        self._step = step
        self._lenient = False

    def defined(self, expr: nodes.Expr) -> Scalar:
        """A value, in which extremes may be left open (`OPAQUE`). Raises `Fork`, `Faulted`."""
        self._lenient = True
        try:
            return self.value(expr)
        except states.Needed:
            pass
        finally:
            self._lenient = False
        return self.value(expr)

    # --- what names mean -----------------------------------------------------------------------------------

    def _name(self, node: nodes.Name) -> Scalar:
        frame = self.frame
        for held in (frame.bound, frame.variables):
            if node.ident in held:
                value = held[node.ident]
                if isinstance(value, SymbolicSelection | SymbolicRelease):
                    raise states.Faulted
                return value
        if (node.ident, None) in frame.draws:
            return frame.draws[node.ident, None]
        found = frame.inputs.get(node.ident)
        if found is None or isinstance(found, tuple) or node.primed:
            raise states.Faulted
        return found

    def _entry(self, node: nodes.Index) -> Scalar:
        held = self.frame.variables.get(node.base)
        if isinstance(held, SymbolicSelection):
            place = self.integer(node.index)
            length = self.length(held)
            if not 0 <= place < length:
                raise states.Faulted
            return self._rank(held, place)
        index = self.integer(node.index)
        entries = self.frame.inputs.get(node.base)
        if isinstance(entries, tuple):
            if not 0 <= index < len(entries):
                raise states.Faulted
            return entries[index]
        try:
            return self.frame.draws[node.base, index]
        except KeyError:
            raise states.Faulted from None

    def _rank(self, selection: SymbolicSelection, place: int) -> Scalar:
        entries = self.state.pick_of(selection).entries
        return fmpq(entries[place]) if place < len(entries) else Rank(selection, place)

    # --- selections -----------------------------------------------------------------------------------------

    def length(self, selection: SymbolicSelection) -> int:
        """How many entries a selection has. Raises `Fork`."""
        if selection.threshold is None:
            return selection.limit
        found = self.state.pick_of(selection).length
        if found is None:
            raise states.Fork([states.SelectionLength(selection, n) for n in range(selection.limit + 1)])
        return found

    def resolved(self, rank: Rank) -> int:
        """The index itself. Raises `Fork`."""
        entries = self.state.pick_of(rank.selection).entries
        if rank.place < len(entries):
            return entries[rank.place]
        raise states.Fork([states.Pick(rank.selection, index) for index in self._next(rank.selection)])

    def _next(self, selection: SymbolicSelection) -> list[int]:
        """The indices that may come next: of those whose values differ by a constant only the first."""
        entries = self.state.pick_of(selection).entries
        best: dict[object, Contender] = {}
        for candidate in selection.candidates:
            if candidate.index in entries:
                continue
            value = candidate.value
            key = tuple(sorted(value.coefficients.items())) if isinstance(value, Affine) else ()
            other = best.get(key)
            # Of equal values the lower index, which comes first in the list, stays.
            if other is None or sign(minus(value, other.value)) > 0:
                best[key] = candidate
        return sorted(candidate.index for candidate in best.values())

    def _extreme(self, value: Extreme) -> Linear:
        selection = value.selection
        index = self.resolved(Rank(selection, 0))
        return times(value_at(selection, index), selection.sign)

    def _member(self, index: int, selection: SymbolicSelection) -> bool:
        length = self.length(selection)
        # Selections over the same values share what is decided: a longer one may have decided more.
        entries = self.state.pick_of(selection).entries[:length]
        if index in entries:
            return True
        if len(entries) >= length or all(c.index != index for c in selection.candidates):
            return False
        raise states.Fork([states.Pick(selection, other) for other in self._next(selection)])

    def forced(self, value: Scalar) -> Scalar:
        """A value that is decided: bool, number, affine or shaped. Raises `Fork`."""
        while True:
            match value:
                case Extreme() if self._lenient:
                    return OPAQUE
                case Deferred(expression=nodes.Gather(function="max" | "min")) if self._lenient:
                    return OPAQUE
                case Deferred():
                    outer = self.frame
                    self.frame = value.frame
                    try:
                        value = self.value(value.expression)
                    finally:
                        self.frame = outer
                case Rank():
                    value = fmpq(self.resolved(value))
                case Extreme():
                    value = self._extreme(value)
                case _:
                    return value

    # --- numbers and truths ---------------------------------------------------------------------------------

    def number(self, expr: nodes.Expr) -> Any:
        """A number, forced."""
        value = self.forced(self.value(expr))
        if isinstance(value, bool):
            raise states.Faulted
        return value

    def linear(self, expr: nodes.Expr) -> Linear:
        """A constant or an affine number."""
        value = self._told(self.number(expr))
        if isinstance(value, Shaped):
            never(expr, "noise goes through a function that is not linear, and is used further")
        return value

    def constant(self, expr: nodes.Expr, what: str) -> Real:
        """A number without noise."""
        value = self._told(self.number(expr))
        if isinstance(value, Affine | Shaped):
            never(expr, f"{what} depends on noise")
        return value

    def integer(self, expr: nodes.Expr) -> int:
        """An integer without noise."""
        value = self.constant(expr, "an index or a count")
        whole = irrationals.floor(value)
        if sign(value - whole) != 0:
            raise states.Faulted
        return whole

    def _told(self, value: Scalar) -> Scalar:
        if isinstance(value, Opaque):
            raise states.Needed
        return value

    def truth(self, expr: nodes.Expr) -> bool:
        """A test."""
        value = self.forced(self.value(expr))
        if not isinstance(value, bool):
            raise states.Faulted
        return value

    # --- expressions ----------------------------------------------------------------------------------------

    def value(self, expr: nodes.Expr) -> Scalar:
        """The value of an expression. Raises `Fork`, `Faulted`, `NotComputable`."""
        match expr:
            case nodes.Number(value=value):
                return fmpq(value.numerator, value.denominator)
            case nodes.Boolean(value=truth):
                return truth
            case nodes.Name():
                return self._name(expr)
            case nodes.Index():
                return self._entry(expr)
            case nodes.Call():
                return self._call(expr)
            case nodes.Unary(op="not", operand=operand):
                return not self.truth(operand)
            case nodes.Unary(operand=operand):
                return self._scaled(expr, self.number(operand), fmpq(-1))
            case nodes.Binary():
                return self._arithmetic(expr)
            case nodes.Compare():
                return self._compare(expr)
            case nodes.Logic(op=op, args=args):
                decisive = op == "or"
                return decisive if any(self.truth(arg) is decisive for arg in args) else not decisive
            case nodes.Conditional(test=test, then=then, otherwise=otherwise):
                return self.value(then if self.truth(test) else otherwise)
            case nodes.OutIs(index=index, tag=tag):
                record = self._record(expr, index)
                return record is not None and record.tag == tag
            case nodes.OutField(index=index, field=name):
                record = self._record(expr, index)
                fields = dict(record.fields) if record is not None else {}
                if name not in fields:
                    raise states.Faulted
                return fields[name]
            case nodes.OutCount(tag=tag):
                records = self._records(expr)
                return fmpq(len(records) if tag is None else sum(record.tag == tag for record in records))
            case nodes.Gather():
                return self._gather(expr)
            case nodes.Member(index=index, selection=name):
                return self._member(self.integer(index), self._selection(name))

    def _selection(self, name: str) -> SymbolicSelection:
        found = self.frame.variables.get(name)
        if not isinstance(found, SymbolicSelection):
            raise states.Faulted
        return found

    def _records(self, expr: nodes.OutIs | nodes.OutField | nodes.OutCount) -> tuple[ReturnedRecord, ...]:
        found = self.frame.variables.get(expr.of)
        if not isinstance(found, SymbolicRelease):
            raise states.Faulted
        return found.records

    def _record(self, expr: nodes.OutIs | nodes.OutField, index: nodes.Expr) -> ReturnedRecord | None:
        at = self.integer(index)
        records = self._records(expr)
        return records[at] if 0 <= at < len(records) else None

    def _scaled(self, node: nodes.Node, value: Any, factor: Real) -> Scalar:
        if isinstance(value, Opaque):
            return OPAQUE
        if isinstance(value, Shaped):
            if factor == 0:
                return fmpq(0)
            return replace(value, scale=value.scale * factor, offset=value.offset * factor)
        if isinstance(value, Affine) and isinstance(factor, irrationals.Surd):
            never(node, "noise is multiplied by an irrational number")
        return times(value, factor)

    def _arithmetic(self, expr: nodes.Binary) -> Scalar:
        left, right = self.number(expr.left), self.number(expr.right)
        noisy_left, noisy_right = isinstance(left, Affine | Shaped), isinstance(right, Affine | Shaped)
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            if expr.op in "+-*":
                return OPAQUE
            raise states.Needed
        match expr.op:
            case "+" | "-":
                if expr.op == "-":
                    right = self._scaled(expr, right, fmpq(-1))
                if isinstance(left, Shaped) or isinstance(right, Shaped):
                    return _shaped_sum(expr, left, right)
                return plus(left, right)
            case "*":
                if noisy_left and noisy_right:
                    if isinstance(left, Affine) and isinstance(right, Affine) and left.key == right.key:
                        return self._square(left)
                    never(expr, "a product of noise")
                return self._scaled(expr, left, right) if noisy_left else self._scaled(expr, right, left)
            case "/":
                if noisy_right:
                    return self._quotient(expr, left, right, noisy_left)
                if sign(right) == 0:
                    raise states.Faulted
                return self._scaled(expr, left, 1 / right)
            case "**":
                exponent = self.integer(expr.right)
                if not noisy_left:
                    return _power(left, exponent)
                if exponent in (0, 1):
                    return left if exponent else fmpq(1)
                if exponent != 2 or not isinstance(left, Affine):
                    never(expr, "a power of noise")
                return self._square(left)
            case _:
                if noisy_left or noisy_right:
                    never(expr, "a remainder of noise")
                if sign(right) == 0:
                    raise states.Faulted
                return left - right * irrationals.floor(left / right)

    def _square(self, value: Affine) -> Scalar:
        return Shaped("square", value if states.decide(self.state, value, ">=") else times(value, -1))

    def _quotient(self, expr: nodes.Binary, left: Any, right: Any, noisy_left: bool) -> Scalar:
        if isinstance(left, Shaped) or isinstance(right, Shaped):
            never(expr, "a quotient of noise that went through a function that is not linear")
        if states.equal(self.state, right):
            raise states.Faulted
        if not noisy_left and sign(left) == 0:
            return fmpq(0)
        positive = states.decide(self.state, right, ">")
        if noisy_left:
            above, below = (left, right) if positive else (times(left, -1), times(right, -1))
            return Shaped("quotient", above, below=below)
        return Shaped("inverse", right if positive else times(right, -1), -left if positive else left)

    def _compare(self, expr: nodes.Compare) -> bool:
        if isinstance(expr.left, nodes.Name) and isinstance(expr.right, nodes.Name):
            left, right = (self.frame.inputs.get(side.ident) for side in (expr.left, expr.right))
            if isinstance(left, tuple) and isinstance(right, tuple):
                pairs = zip(left, right, strict=False)
                return len(left) == len(right) and all(self._ordered(expr, a, b) for a, b in pairs)
        left_value, right_value = (
            self._told(self.forced(self.value(side))) for side in (expr.left, expr.right)
        )
        return self._ordered(expr, left_value, right_value)

    def _ordered(self, expr: nodes.Compare, left: Scalar, right: Scalar) -> bool:
        op = expr.op
        if isinstance(left, bool) or isinstance(right, bool):
            if op not in ("==", "!="):
                raise states.Faulted
            same = isinstance(left, bool) and isinstance(right, bool) and left == right
            return same is (op == "==")
        if isinstance(left, Shaped) or isinstance(right, Shaped):
            return self._shaped_order(expr, left, right)
        difference = minus(left, right)
        if op == "==":
            return states.equal(self.state, difference)
        if op == "!=":
            return not states.equal(self.state, difference)
        return states.decide(self.state, difference, op)

    def _shaped_order(self, expr: nodes.Compare, left: Any, right: Any) -> bool:
        op = expr.op
        if not isinstance(left, Shaped):
            left, right = right, left
            op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        if isinstance(right, Affine | Shaped):
            never(expr, "noise goes through a function that is not linear, and is compared with noise")
        if op in ("==", "!="):
            same = states.compared(self.state, left, ">=", right) and states.compared(
                self.state, left, "<=", right
            )
            return same is (op == "==")
        return states.compared(self.state, left, op, right)

    # --- functions ------------------------------------------------------------------------------------------

    def _call(self, expr: nodes.Call) -> Scalar:
        if expr.function == "len":
            (argument,) = expr.args
            if not isinstance(argument, nodes.Name):
                raise states.Faulted
            entries = self.frame.inputs.get(argument.ident)
            if isinstance(entries, tuple):
                return fmpq(len(entries))
            held = self.frame.variables.get(argument.ident)
            if isinstance(held, SymbolicSelection):
                return fmpq(self.length(held))
            if isinstance(held, SymbolicRelease):
                return fmpq(len(held.records))
            raise states.Faulted
        if expr.function not in nodes.FUNCTIONS:
            return self._public(expr)
        values = [self.number(argument) for argument in expr.args]
        if any(isinstance(value, Opaque) for value in values):
            if expr.function in ("min", "max", "abs", "exp"):
                return OPAQUE  # they have a value wherever their arguments have one
            raise states.Needed
        if not any(isinstance(value, Affine | Shaped) for value in values):
            return _of_constants(expr.function, values)
        match expr.function, values:
            case (("min" | "max"), _):
                return self._best(expr, values, ">" if expr.function == "max" else "<")
            case "clip", [x, low, high]:
                if not self._ordered_with(expr, low, "<=", high):
                    raise states.Faulted
                return self._best(expr, [self._best(expr, [x, low], ">"), high], "<")
            case "abs", [x]:
                return x if self._ordered_with(expr, x, ">=", fmpq(0)) else self._scaled(expr, x, fmpq(-1))
            case _:
                return self._shaped(expr, values[0])

    def _best(self, expr: nodes.Call, values: list[Any], op: str) -> Scalar:
        best = values[0]
        for value in values[1:]:
            if self._ordered_with(expr, value, op, best):
                best = value
        return best

    def _ordered_with(self, expr: nodes.Call, left: Any, op: str, right: Any) -> bool:
        return self._ordered(nodes.Compare(op, expr, expr, span=expr.span), left, right)

    def _shaped(self, expr: nodes.Call, x: Any) -> Scalar:
        state = self.state
        match expr.function:
            case "sqrt" if not states.compared(state, x, ">=", fmpq(0)):
                raise states.Faulted
            case "ln" | "log2" if not states.compared(state, x, ">", fmpq(0)):
                raise states.Faulted
            case "log2":
                return Shaped("ln", x, 1 / irrationals.apply("ln", fmpq(2)))
            case "floor" if isinstance(x, Affine) and _whole(x, state.known):
                return x
            case _:
                pass
        return Shaped(expr.function, x)

    def _public(self, expr: nodes.Call) -> Scalar:
        declared = next((f for f in self.frame.mechanism.functions if f.name == expr.function), None)
        if declared is None:
            raise states.Faulted
        for argument in expr.args:
            self.value(argument)
        return False if declared.result is nodes.Sort.BOOL else fmpq(0)

    # --- sets -----------------------------------------------------------------------------------------------

    def _indices(self, over: nodes.Indices | nodes.OverRange) -> range:
        match over:
            case nodes.Indices(base=base):
                entries = self.frame.inputs.get(base)
                if not isinstance(entries, tuple):
                    raise states.Faulted
                return range(len(entries))
            case nodes.OverRange(low=low, high=high):
                return range(self.integer(low), self.integer(high))

    def bindings(self, expr: nodes.Gather) -> Iterator[int]:
        """Binds the index of a set to one number after the other."""
        outside = self.frame.bound
        indices = self._indices(expr.over)
        try:
            for index in indices:
                self._step()
                self.frame.bound = {**outside, expr.index: fmpq(index)}
                yield index
        finally:
            self.frame.bound = outside

    def passing(self, expr: nodes.Gather) -> Iterator[int]:
        """The same, where the filter holds."""
        return (index for index in self.bindings(expr) if expr.where is None or self.truth(expr.where))

    def members(self, expr: nodes.Gather) -> list[tuple[int, Any]]:
        """The values over a set, by rising index, forced."""
        return [(index, self._told(self.number(expr.body))) for index in self.passing(expr)]

    def listed(self, expr: nodes.Gather) -> tuple[Scalar, ...]:
        """The values over a set, of any kind."""
        return tuple(self.forced(self.value(expr.body)) for _ in self.passing(expr))

    def _linear_members(self, expr: nodes.Gather) -> list[tuple[int, Linear]]:
        found = self.members(expr)
        if any(isinstance(value, Shaped) for _, value in found):
            never(expr, "noise goes through a function that is not linear, and is used further")
        return found

    def _gather(self, expr: nodes.Gather) -> Scalar:
        if expr.function in nodes.SELECTING:
            raise states.Faulted
        found = self._linear_members(expr)
        if expr.function == "sum":
            return reduce(plus, (value for _, value in found), fmpq(0))
        if not found:
            raise states.Faulted
        if expr.function == nodes.LOG_SUM:
            if any(isinstance(value, Affine) for _, value in found):
                never(expr, "the logarithm of a sum of exponentials of noise")
            return irrationals.log_sum_exp(value for _, value in found)
        direction = 1 if expr.function in ("max", "argmax") else -1
        selection = selection_of(found, None, direction)
        if all(not isinstance(value, Affine) for _, value in found):
            best = first_of(selection)
            return fmpq(best.index) if expr.function.startswith("arg") else times(best.value, direction)
        if expr.function.startswith("arg"):
            return self._rank(selection, 0)
        if len(found) == 1:
            return found[0][1]
        return Extreme(selection)

    def selecting(self, expr: nodes.Gather) -> SymbolicSelection:
        """What `top` or `upto` gives. Raises `Fork` where the set depends on noise otherwise than by a common
        threshold.
        """
        if expr.count is None:
            raise InternalError("a selection without a count")
        wanted = self.integer(expr.count)
        if wanted < 0:
            raise states.Faulted
        selection = self._above(expr, wanted)
        if selection is None:
            selection = selection_of(self._linear_members(expr), wanted, 1)
        elif expr.function == "top" and self.length(selection) < wanted:
            raise states.Faulted
        if expr.function == "top" and len(selection.candidates) < wanted:
            raise states.Faulted
        return selection

    def _above(self, expr: nodes.Gather, wanted: int) -> SymbolicSelection | None:
        """The selection of those above a common threshold; None where the filter is something else.

        Sound because index i passes exactly if d_i >= 0 (or > 0), and value_i - d_i is the same t for all i.
        """
        if not isinstance(expr.where, nodes.Compare) or expr.where.op not in ("<", "<=", ">", ">="):
            return None
        up = expr.where.op in (">", ">=")
        found: list[tuple[int, Linear]] = []
        threshold: Linear | None = None
        for index in self.bindings(expr):
            try:
                left, right, value = map(self.number, (expr.where.left, expr.where.right, expr.body))
            except states.Faulted:
                return None  # of an index that does not pass, the value is not needed
            if any(isinstance(each, Shaped | bool) for each in (left, right, value)):
                return None
            margin = minus(left, right) if up else minus(right, left)
            here = minus(value, margin)
            if threshold is None:
                threshold = here
            elif differ(threshold, here):
                return None
            found.append((index, value))
        if threshold is None or not any(isinstance(minus(v, threshold), Affine) for _, v in found):
            return None
        return selection_of(found, wanted, 1, threshold, expr.where.op in ("<", ">"))


def _shaped_sum(expr: nodes.Binary, left: Any, right: Any) -> Scalar:
    if not isinstance(left, Shaped):
        left, right = right, left
    if isinstance(right, Affine | Shaped):
        never(expr, "noise goes through a function that is not linear, and is used further")
    return replace(left, offset=left.offset + right)


def _power(value: Real, exponent: int) -> Real:
    if exponent < 0:
        if sign(value) == 0:
            raise states.Faulted
        return 1 / _power(value, -exponent)
    if exponent > 1_000:
        raise exact.Undecided("a power is too large")
    return prod([value] * exponent, start=fmpq(1))


def _of_constants(function: str, values: list[Real]) -> Real:
    try:
        match function, values:
            case "min", _:
                return min(values)
            case "max", _:
                return max(values)
            case "clip", [x, low, high]:
                if low > high:
                    raise exact.Undefined("the ends of `clip` are not in order")
                return min(max(x, low), high)
            case "abs", [x]:
                return -x if sign(x) < 0 else x
            case "floor", [x]:
                return fmpq(irrationals.floor(x))
            case _:
                return irrationals.apply(function, values[0])
    except exact.Undefined:
        raise states.Faulted from None


def _whole(value: Affine, known: Known) -> bool:
    """Whether an affine number is always an integer."""
    parts = [value.constant, *value.coefficients.values()]
    return all(known.is_lattice(v) for v in value.coefficients) and all(
        not isinstance(part, irrationals.Surd) and fmpq(part).q == 1 for part in parts
    )
