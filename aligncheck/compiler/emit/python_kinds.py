"""Which kind of Python number each name of a spec holds.

The one pitfall is that `int / int` is a float in Python and an exact rational in the language; so what may
hold an int is told apart from what holds a real number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from aligncheck.language.families import Family, Lattice
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.walk import statements_in


class PythonKind(Enum):
    """INT is a Python int, REAL a `Fraction` or float, never an int; BOOL a truth value."""

    INT = "int"
    REAL = "Real"
    BOOL = "bool"


_OF_SORT = {
    nodes.Sort.REAL: PythonKind.REAL,
    nodes.Sort.INT: PythonKind.INT,
    nodes.Sort.BOOL: PythonKind.BOOL,
}


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kind of every name: of a scalar, of a list's entries, of a noise variable."""

    of: Mapping[str, PythonKind]

    def expression(self, expr: nodes.Expr) -> PythonKind:
        """The kind of an expression's value."""
        return _kind(expr, self.of)


def kind_of_sort(sort: nodes.Sort) -> PythonKind:
    """The kind of a declared sort."""
    return _OF_SORT[sort]


def join(kinds: Iterable[PythonKind]) -> PythonKind:
    """The kind that can hold all of these."""
    distinct = set(kinds)
    return distinct.pop() if len(distinct) == 1 else PythonKind.REAL


def kinds_of(mechanism: nodes.Mechanism) -> Kinds:
    """The kinds of all names of a spec: the least ones that hold whatever is assigned to each."""
    declared = _declared(mechanism.inputs)
    of = {**declared, **_of_functions(mechanism), **_of_calls(mechanism)}
    # A name starts at its first assignment's kind and only ever rises to REAL, so this ends.
    changed = True
    while changed:
        changed = False
        for statement in statements_in(mechanism.body):
            for name, kind in _bindings(statement, of):
                joined = join([kind, of.get(name, kind)])
                if of.get(name) is not joined:
                    of[name] = joined
                    changed = True
    return Kinds(of)


def _of_functions(mechanism: nodes.Mechanism) -> dict[str, PythonKind]:
    """The kinds of what public functions give, under their names with brackets, and of what they take."""
    given = {f"{f.name}()": _OF_SORT[f.result] for f in mechanism.functions}
    taken = {f"{f.name}({i})": _OF_SORT[s] for f in mechanism.functions for i, s in enumerate(f.args)}
    return given | taken


def _of_calls(mechanism: nodes.Mechanism) -> dict[str, PythonKind]:
    """The kinds of the fields of what calls release, under `call.field`."""
    found: dict[str, PythonKind] = {}
    uses = {use.name: use for use in mechanism.uses}
    for call in statements_in(mechanism.body):
        if isinstance(call, nodes.Invoke):
            callee = contract_of(uses[call.mechanism]).mechanism
            kinds = kinds_of(callee)
            for emit in statements_in(callee.body):
                for each in emit.fields if isinstance(emit, nodes.Emit) else ():
                    name = f"{call.name}.{each.name}"
                    kind = kinds.expression(each.value)
                    found[name] = join([kind, found.get(name, kind)])
    return found


def drawn_kind(statement: nodes.Sample, kinds: Kinds) -> PythonKind:
    """The kind of what a draw gives."""
    return _drawn(statement.family, statement.args, kinds.of)


def _declared(inputs: tuple[nodes.Input, ...]) -> dict[str, PythonKind]:
    of: dict[str, PythonKind] = {}
    for item in inputs:
        match item:
            case nodes.Parameter(name=name, sort=sort) | nodes.PublicVector(name=name, sort=sort):
                of[name] = _OF_SORT[sort]
            case nodes.Queries(names=names, sort=sort):
                of.update(dict.fromkeys(names, _OF_SORT[sort]))
    return of


def _bindings(statement: nodes.Stmt, of: Mapping[str, PythonKind]) -> list[tuple[str, PythonKind]]:
    match statement:
        case nodes.Assign(name=name, value=value):
            return [(name, _kind(value, of))]
        case nodes.Sample(name=name, family=family, args=args):
            return [(name, _drawn(family, args, of))]
        case nodes.Choose(name=name):
            return [(name, PythonKind.INT)]
        case nodes.Logistic(name=name):
            return [(name, PythonKind.REAL)]
        case nodes.For(index=index, over=over):
            found = [] if index is None else [(index, PythonKind.INT)]
            if isinstance(over, nodes.OverQueries):
                found.append((over.item, of[over.base]))
            return found
        case nodes.Invoke() | nodes.If() | nodes.While() | nodes.Emit() | nodes.Empty():
            return []


def _drawn(family: Family, args: tuple[nodes.Expr, ...], of: Mapping[str, PythonKind]) -> PythonKind:
    match family.row.lattice:
        case Lattice.NONE:
            return PythonKind.REAL
        case Lattice.WHOLE:
            return PythonKind.INT
        case Lattice.STEP:
            return _kind(args[1], of)


def _kind(expr: nodes.Expr, of: Mapping[str, PythonKind]) -> PythonKind:
    match expr:
        case nodes.Number(value=value):
            return PythonKind.INT if value.denominator == 1 else PythonKind.REAL
        case nodes.Boolean() | nodes.Compare() | nodes.Logic() | nodes.OutIs():
            return PythonKind.BOOL
        case nodes.Name(ident=ident) | nodes.Index(base=ident):
            # A name that is read before the walk has met its assignment: the next round corrects it.
            return of.get(ident, PythonKind.INT)
        case nodes.Call(function=function) if f"{function}()" in of:
            return of[f"{function}()"]
        case nodes.Call(function="floor" | "len"):
            return PythonKind.INT
        case nodes.Call(function="abs" | "min" | "max" | "clip", args=args):
            return join(_kind(a, of) for a in args)
        case nodes.Call():
            return PythonKind.REAL
        case nodes.Unary(op=op, operand=operand):
            return PythonKind.BOOL if op == "not" else _kind(operand, of)
        case nodes.Binary(op="/"):
            return PythonKind.REAL
        case nodes.Binary(op="**", left=left, right=right):
            return _kind(left, of) if literal_power(right) is not None else PythonKind.REAL
        case nodes.Binary(left=left, right=right):
            return join((_kind(left, of), _kind(right, of)))
        case nodes.Conditional(then=then, otherwise=otherwise):
            return join((_kind(then, of), _kind(otherwise, of)))
        case nodes.OutField(field=name, of=call):
            return of.get(f"{call}.{name}", PythonKind.REAL)
        case nodes.OutCount():
            return PythonKind.INT
        case nodes.Gather(function="max" | "min" | "sum" | nodes.LISTING, body=body):
            return _kind(body, of)  # the index of the set is an int, as every name is that is not in `of`
        case nodes.Gather(function=nodes.LOG_SUM):
            return PythonKind.REAL
        case nodes.Gather():
            return PythonKind.INT
        case nodes.Member():
            return PythonKind.BOOL


def literal_power(exponent: nodes.Expr) -> int | None:
    """The exponent where it is a small literal, so that Python's `**` does what the spec says; else None."""
    value = exponent.value if isinstance(exponent, nodes.Number) else None
    if value is not None and value.denominator == 1 and 0 <= value <= 64:
        return value.numerator
    return None
