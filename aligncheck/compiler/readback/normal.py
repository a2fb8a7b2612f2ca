"""One way of writing for what means the same: both the proved form and what was read are written so, and then
compared word by word.

Each step keeps the meaning: a number for a quotient of numbers, one sign for two, `max` and `min` for `clip`,
one list for nested `and`s, `range(len(q))` for a loop or set over a list that does not name the entry; a
selection where it stands for a variable that only the record after it reads; and a plain variable for noise
that is drawn and read under the index of one loop, in the same round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from aligncheck.compiler.readback.number_kinds import AS_INT, AS_REAL, constant
from aligncheck.language.odds import factor_and_log, log_odds_of
from aligncheck.language.syntax import nodes, rewrite
from aligncheck.language.syntax.nodes import Expr, Stmt
from aligncheck.language.syntax.walk import expressions_of, names_set, statements_in
from aligncheck.language.syntax.weights import log_of

_ZERO = nodes.Number(Fraction(0))


def normal(expr: Expr) -> Expr:
    """An expression in its one way of writing."""
    return rewrite.bottom_up(expr, _normal)


def _normal(expr: Expr) -> Expr:
    match expr:
        case nodes.Call(function=function, args=(inner,)) if function in (AS_REAL, AS_INT):
            return inner
        case nodes.Call(function="clip", args=(x, low, high)):
            inside = nodes.Call("min", (x, high), span=expr.span)
            return nodes.Call("max", (low, inside), span=expr.span)
        case nodes.Unary(op="-", operand=nodes.Unary(op="-", operand=inner)):
            return inner
        case nodes.Unary(op="-", operand=nodes.Number(value=value)):
            return nodes.Number(-value, span=expr.span)
        case nodes.Binary(op="/", left=nodes.Number(), right=nodes.Number()) if (
            value_ := constant(expr)
        ) is not None:
            return nodes.Number(value_, span=expr.span)
        case nodes.Logic(op=op, args=args):
            return replace(expr, args=tuple(conjuncts(op, args)))
        case nodes.Gather(over=over, index=index):
            if isinstance(over, nodes.Indices):
                over = nodes.OverRange(_ZERO, _len(over.base))
            own = {index: f"{index}~"}  # which no variable of the program is called
            where = None if expr.where is None else _with_names(expr.where, own)
            return replace(expr, index=own[index], body=_with_names(expr.body, own), over=over, where=where)
        case nodes.Literal() | nodes.ByName() | nodes.Call() | nodes.Operator() | nodes.OfOutput():
            pass
    return expr


def _with_names(expr: Expr, names: dict[str, str]) -> Expr:
    """An expression with other names for some that it reads."""

    def one(e: Expr) -> Expr:
        match e:
            case nodes.Name(ident=name) if name in names:
                return replace(e, ident=names[name])
            case nodes.Index(base=name) if name in names:
                return replace(e, base=names[name])
        return e

    return rewrite.bottom_up(expr, one)


def conjuncts(op: str, args: tuple[Expr, ...]) -> Iterator[Expr]:
    """The parts of nested lists of one operator."""
    for each in args:
        if isinstance(each, nodes.Logic) and each.op == op:
            yield from conjuncts(op, each.args)
        else:
            yield each


def _len(name: str) -> Expr:
    return nodes.Call("len", (nodes.Name(name),))


def normal_body(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A program in its one way of writing."""
    body = rewrite.statements(body, _own)
    body = _indices_apart(body)
    body = _without_items(body)
    body = _noise_in_rounds(body)
    return _selections_inside(_without_indices(body))


def _own(statement: Stmt) -> Stmt:
    match statement:
        case nodes.Choose(weights=weights):
            statement = replace(statement, weights=replace(weights, body=_weight(weights.body)))
        case nodes.Sample(family=family, args=(p,)) if family.coin:
            statement = replace(statement, args=(p if (odds := log_odds_of(p)) is None else _chance(odds),))
        case nodes.If(otherwise=(nodes.If() as inner,), branches=branches):
            statement = replace(inner, branches=(*branches, *inner.branches), span=statement.span)
        case (
            nodes.Assign()
            | nodes.Invoke()
            | nodes.Sample()
            | nodes.Logistic()
            | nodes.If()
            | nodes.Repeat()
            | nodes.Emit()
            | nodes.Empty()
        ):
            pass
    statement = rewrite.with_blocks(statement, _without_passes)
    if isinstance(statement, nodes.For | nodes.While):
        statement = replace(statement, invariants=())
    return rewrite.own(statement, normal)


def _without_passes(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(s for s in body if not isinstance(s, nodes.Pass))


def _chance(log_odds: Expr) -> Expr:
    """A chance by the logarithm of its odds, as it is drawn: another number than that logarithm."""
    one = nodes.Number(Fraction(1))
    power = nodes.Call("exp", (nodes.Unary("-", log_odds, span=log_odds.span),), span=log_odds.span)
    below = nodes.Binary("+", one, power, span=log_odds.span)
    return nodes.Binary("/", one, below, span=log_odds.span)


def _weight(weight: Expr) -> Expr:
    """A weight as a factor times an exponential, as it is drawn and as the proof takes it."""
    factor, log = factor_and_log(log_of(weight))
    power = nodes.Call("exp", (_ZERO if log is None else log,), span=weight.span)
    return power if factor is None else nodes.Binary("*", factor, power, span=weight.span)


def occurrences(body: tuple[Stmt, ...]) -> Counter[str]:
    """How often each identifier is read or set."""
    found: Counter[str] = Counter()
    for statement in statements_in(body):
        found.update(names_set(statement))
        if isinstance(statement, nodes.For) and isinstance(statement.over, nodes.OverQueries):
            found[statement.over.base] += 1
        found.update(n for e in expressions_of((statement,)) for n in _own_names(e))
    return found


def _own_names(expr: Expr) -> Iterator[str]:
    match expr:
        case nodes.Name(ident=name) | nodes.Index(base=name) | nodes.Member(selection=name):
            yield name
        case nodes.OutIs(of=name) | nodes.OutField(of=name) | nodes.OutCount(of=name):
            yield name
        case nodes.Literal() | nodes.Call() | nodes.Operator() | nodes.Gather():
            pass


def _without_items(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A loop over a list whose entries nothing reads is one over its indices."""
    often = occurrences(body)

    def one(statement: Stmt) -> Stmt:
        match statement:
            case nodes.For(over=nodes.OverQueries(base=base, item=item)) if often[item] == 1:
                return replace(statement, over=nodes.OverRange(_ZERO, _len(base)))
        return statement

    return rewrite.statements(body, one)


def _indices_apart(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Each loop with an index and an entry of its own, where nothing outside of it reads them."""
    numbers = iter(range(1, 1 << 30))
    often = occurrences(body)

    def loops(name: str) -> Iterator[nodes.For]:
        for s in statements_in(body):
            if isinstance(s, nodes.For) and name in _bound(s):
                yield s

    def is_own(name: str) -> bool:
        return sum(occurrences((loop,))[name] for loop in loops(name)) == often[name]

    own = {
        name for s in statements_in(body) if isinstance(s, nodes.For) for name in _bound(s) if is_own(name)
    }

    def one(statement: Stmt) -> Stmt:
        if not isinstance(statement, nodes.For):
            return statement
        names = {name: f"{name}@{next(numbers)}" for name in _bound(statement) if name in own}
        inner = renamed(statement.body, names)
        index = None if statement.index is None else names.get(statement.index, statement.index)
        over = statement.over
        if isinstance(over, nodes.OverQueries):
            over = replace(over, item=names.get(over.item, over.item))
        return replace(statement, index=index, over=over, body=inner)

    return rewrite.statements(body, one)


def _without_indices(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A loop has no index where nothing at all reads it: it may be a variable that is read after the loop."""
    often = occurrences(body)

    def one(statement: Stmt) -> Stmt:
        if isinstance(statement, nodes.For) and often[statement.index or ""] == 1:
            return replace(statement, index=None)
        return statement

    return rewrite.statements(body, one)


def _bound(loop: Stmt) -> tuple[str, ...]:
    return names_set(loop) if isinstance(loop, nodes.For) else ()


def renamed(body: tuple[Stmt, ...], names: dict[str, str]) -> tuple[Stmt, ...]:
    """A block with other names for some that it reads, and does not set."""
    return rewrite.statements(body, lambda s: rewrite.own(s, lambda top: _with_names(top, names)))


def _noise_in_rounds(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Noise whose index is everywhere that of one loop around it."""
    drawn = {s.name for s in statements_in(body) if isinstance(s, nodes.Sample) and s.index is not None}
    often = occurrences(body)
    plain = set()
    for loop in (s for s in statements_in(body) if isinstance(s, nodes.For) and s.index is not None):
        at = nodes.Name(loop.index or "")
        for name in drawn:
            indices = list(_indices(loop.body, name))
            if indices and len(indices) == often[name] and all(each == at for each in indices):
                plain.add(name)

    def expr(e: Expr) -> Expr:
        if isinstance(e, nodes.Index) and e.base in plain:
            return nodes.Name(e.base, span=e.span)
        return e

    def one(statement: Stmt) -> Stmt:
        if isinstance(statement, nodes.Sample) and statement.name in plain:
            statement = replace(statement, index=None)
        return rewrite.own(statement, lambda top: rewrite.bottom_up(top, expr))

    return rewrite.statements(body, one)


def _indices(body: tuple[Stmt, ...], name: str) -> Iterator[Expr]:
    for s in statements_in(body):
        if isinstance(s, nodes.Sample) and s.name == name and s.index is not None:
            yield s.index
        yield from (e.index for e in expressions_of((s,)) if isinstance(e, nodes.Index) and e.base == name)


def _selections_inside(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    often = occurrences(body)

    def block(some: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for statement in (rewrite.with_blocks(each, block) for each in some):
            before = found[-1] if found else None
            if (
                isinstance(statement, nodes.Emit)
                and isinstance(before, nodes.Assign)
                and isinstance(before.value, nodes.Gather)
                and often[before.name] == occurrences((before, statement))[before.name]
            ):
                inside = _put(statement, before.name, before.value)
                if not occurrences((inside,))[before.name]:  # as there are where it is read by an index
                    found.pop()
                    statement = inside
            found.append(statement)
        return tuple(found)

    return block(body)


def _put(emit: nodes.Emit, name: str, value: Expr) -> Stmt:
    return rewrite.own(emit, lambda top: rewrite.with_other(top, nodes.Name(name), value))
