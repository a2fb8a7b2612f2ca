"""Which values of a program are indices of answers: of loops, of selections, of what a call released."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from aligncheck.compiler.emit.vectorise import len_of
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.walk import expressions_of, names_set, statements_in, subexpressions

Over = tuple[str, int]
"""A query vector, and what must be added to a value to be the index of an answer in it."""


@dataclass(frozen=True, slots=True)
class IndicesOf:
    """The variables of a program that hold, less `shift`, an index of the query vector `base` wherever they
    are read. With a shift, some values may be no index (query 0 may stand for a public threshold).

    `selections` hold a list of such indices; `returned` are fields of what calls released, (call, field).
    """

    base: str
    shift: int
    variables: frozenset[str]
    selections: frozenset[str]
    returned: frozenset[tuple[str, str]]

    @classmethod
    def all_of(cls, mechanism: nodes.Mechanism) -> tuple[IndicesOf, ...]:
        """The analysis for every query vector and every shift that a set has."""
        vectors = {n for q in mechanism.inputs if isinstance(q, nodes.Queries) and q.vector for n in q.names}
        returned = dict(_returned(mechanism, vectors))
        parts = expressions_of(statements_in(mechanism.body))
        sets = [part for part in parts if isinstance(part, nodes.Gather)]
        shifted = {over for g in sets for v in vectors if (over := about(g, v))}
        wanted = {(vector, 0) for vector in vectors} | shifted | set(returned.values())
        return tuple(cls._of(over, mechanism.body, returned) for over in sorted(wanted))

    @classmethod
    def _of(
        cls, over: Over, body: tuple[nodes.Stmt, ...], returned: Mapping[tuple[str, str], Over]
    ) -> IndicesOf:
        """Every way in which a variable is set must give an index.

        The literal 0 is one: without answers it has no label. What is only ever 0 is a number like any other.
        """
        base, shift = over
        values: dict[str, list[nodes.Expr | bool]] = {}
        selections: set[str] = set()
        for statement in statements_in(body):
            match statement:
                case nodes.Assign(name=name, value=nodes.Gather(function="top" | "upto") as gather):
                    selections |= {name} if about(gather, base) == over else set()
                case nodes.Assign(name=name, value=value):
                    values.setdefault(name, []).append(value)
                case nodes.Choose(name=name, weights=weights):
                    values.setdefault(name, []).append(about(weights, base) == over)
                case nodes.For():
                    whole = shift == 0 and vector_of(statement, {base}) is not None
                    for name in names_set(statement):
                        values.setdefault(name, []).append(whole and name == statement.index)
                case (
                    nodes.Invoke()
                    | nodes.Sample()
                    | nodes.Logistic()
                    | nodes.If()
                    | nodes.While()
                    | nodes.Emit()
                    | nodes.Empty()
                ):
                    pass
        fields = frozenset(place for place, held in returned.items() if held == over)
        kept = cls(base, shift, frozenset(values), frozenset(selections), fields)
        while (fewer := kept._restricted(values, all, zero=True)) != kept.variables:
            kept = cls(base, shift, fewer, kept.selections, fields)
        sourced = cls(base, shift, frozenset(), kept.selections, fields)
        while (more := sourced._restricted(values, any, zero=False) & kept.variables) != sourced.variables:
            sourced = cls(base, shift, more, kept.selections, fields)
        return sourced

    def holds(self, expr: nodes.Expr, *, zero: bool = False) -> bool:
        """Whether the value of an expression is such an index; `zero`: 0 counts as one."""
        match expr:
            case nodes.Number(value=value):
                return zero and value == 0
            case nodes.Name(ident=ident):
                return ident in self.variables
            case nodes.Index(base=selection):
                return selection in self.selections
            case nodes.OutField(field=field, of=call):
                return (call, field) in self.returned
            case nodes.Gather(function="argmax" | "argmin"):
                return about(expr, self.base) == (self.base, self.shift)
            case nodes.Conditional(then=then, otherwise=otherwise):
                return self.holds(then, zero=zero) and self.holds(otherwise, zero=zero)
            case (
                nodes.Boolean()
                | nodes.Call()
                | nodes.Operator()
                | nodes.OfOutput()
                | nodes.Gather()
                | nodes.Member()
            ):
                return False

    def _restricted(
        self,
        values: Mapping[str, Iterable[nodes.Expr | bool]],
        quantifier: Callable[[Iterable[bool]], bool],
        *,
        zero: bool,
    ) -> frozenset[str]:
        """The variables of which all (or any) values are indices, if those of `variables` are."""
        return frozenset(
            name
            for name, given in values.items()
            if quantifier(v if isinstance(v, bool) else self.holds(v, zero=zero) for v in given)
        )


def about(gather: nodes.Gather, base: str) -> Over | None:
    """Which answers of `base` the indices of a set stand for: those that it runs over, or those that it reads
    at a fixed distance from its own index (`q[i - 1] for i in range(len(q) + 1)`).
    """
    match gather.over:
        case nodes.Indices(base=name):
            return (base, 0) if name == base else None
        case nodes.OverRange(low=low, high=high):
            parts = (gather.body,) if gather.where is None else (gather.body, gather.where)
            reads = {
                _distance(read.index, gather.index)
                for part in parts
                for read in subexpressions(part)
                if isinstance(read, nodes.Index) and read.base == base
            }
            if not reads:
                return (base, 0) if _from_zero(low) and high == len_of(base) else None
            distance = reads.pop() if len(reads) == 1 else None
            return None if distance is None else (base, distance)


def vector_of(loop: nodes.For, vectors: set[str]) -> str | None:
    """The query vector that the loop runs over from its first answer on."""
    match loop.over:
        case nodes.OverQueries(base=base) if base in vectors:
            return base
        case nodes.OverRange(low=nodes.Number(value=0), high=nodes.Call("len", (nodes.Name(ident=base),))):
            return base if base in vectors else None
        case _:
            return None


def _returned(mechanism: nodes.Mechanism, vectors: set[str]) -> Iterator[tuple[tuple[str, str], Over]]:
    """The fields of what calls release that are indices of a query vector of this mechanism."""
    uses = {use.name: use for use in mechanism.uses}
    for call in statements_in(mechanism.body):
        if not isinstance(call, nodes.Invoke):
            continue
        given = {argument.name: argument.value for argument in call.arguments}
        for field, (list_given, shift) in _released(contract_of(uses[call.mechanism]).mechanism):
            passed = _passed(given[list_given], vectors)
            if passed is not None:
                yield (call.name, field), (passed[0], passed[1] + shift)


def _released(callee: nodes.Mechanism) -> Iterator[tuple[str, Over]]:
    """The fields that hold an index of one of the callee's query vectors in every record that has them."""
    emits = [s for s in statements_in(callee.body) if isinstance(s, nodes.Emit)]
    analyses = IndicesOf.all_of(callee)
    for field in sorted({f.name for emit in emits for f in emit.fields}):
        values = [f.value for emit in emits for f in emit.fields if f.name == field]
        for each in analyses:
            if all(map(each.holds, values)):
                yield field, (each.base, each.shift)
                break


def _passed(argument: nodes.Expr, vectors: set[str]) -> Over | None:
    """The query vector that a list stands for, whole or entry by entry."""
    if isinstance(argument, nodes.Name) and argument.ident in vectors:
        return argument.ident, 0
    if not (isinstance(argument, nodes.Gather) and argument.function == nodes.LISTING):
        return None
    match argument.over:
        case nodes.Indices(base=base):
            return (base, 0) if base in vectors else None
        case nodes.OverRange(low=low):
            if not _from_zero(low):
                return None
            overs = [over for base in sorted(vectors) if (over := about(argument, base)) is not None]
            return overs[0] if len(overs) == 1 else None


def _distance(index: nodes.Expr, binder: str) -> int | None:
    """How far an index is from the binder, where it is a fixed whole number."""
    if index == nodes.Name(binder):
        return 0
    if not (isinstance(index, nodes.Binary) and index.op in ("+", "-") and index.left == nodes.Name(binder)):
        return None
    step = index.right
    if not isinstance(step, nodes.Number) or step.value.denominator != 1:
        return None
    return int(step.value) if index.op == "+" else -int(step.value)


def _from_zero(low: nodes.Expr) -> bool:
    return isinstance(low, nodes.Number) and low.value == 0
