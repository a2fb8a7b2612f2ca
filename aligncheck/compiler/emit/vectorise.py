"""What may be done on whole arrays without a change in meaning.

A loop that does nothing but draw becomes one call that draws all of them; a selection becomes an expression
over arrays. An array expression is evaluated at every index, also where a `where` clause or the left side of
an `and` would have kept the program from it: so only operations qualify that are defined at every index, or
that the program evaluates at every index as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aligncheck.compiler.emit.python_kinds import Kinds, PythonKind
from aligncheck.compiler.forms.rational import COMPUTED
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import names_in, names_set, statements_in, subexpressions

_PARTIAL_CALLS = frozenset(COMPUTED)
_ELEMENTWISE_CALLS = frozenset({"abs", "min", "max", "clip"})


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of a program whose length is known.

    `lengths` maps each to an expression that has the same value wherever it is read. `draws` are those of
    them that one loop draws (by the `id` of the `For` node): its draws become one call. `filled` are those
    that may have one entry more: what has a value then, and is not about lists, has one without entries, too.
    """

    lengths: Mapping[str, nodes.Expr] = field(default_factory=dict)
    draws: Mapping[int, nodes.Sample] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()

    def drawn_at_once(self) -> frozenset[str]:
        """The noise variables that are lists."""
        return frozenset(sample.name for sample in self.draws.values())


def lists_of(mechanism: nodes.Mechanism) -> Lists:
    """The input lists, and the noise that is drawn by loops that do nothing else."""
    queries = [item for item in mechanism.inputs if isinstance(item, nodes.Queries) and item.vector]
    answers = {name for item in queries for name in item.names}
    public = {item.name for item in mechanism.inputs if isinstance(item, nodes.PublicVector)}
    draws: dict[int, nodes.Sample] = {}
    lengths: dict[str, nodes.Expr] = {name: len_of(name) for name in (*public, *answers)}
    for loop in _outermost(mechanism.body):
        if not isinstance(loop, nodes.For):
            continue
        sample = _only_draw(loop, mechanism.body)
        length = length_of(loop.over)
        if sample is None or length is None or not _fixed(length, mechanism):
            continue
        # A loop without rounds never evaluates the scale, which has a value with one round more.
        runs = isinstance(length, nodes.Call) and bool(names_in(length) & answers)
        runs = runs and not any(_speaks_of_lists(argument) for argument in sample.args)
        if runs or all(_total(argument) for argument in sample.args):
            draws[id(loop)] = sample
            lengths[sample.name] = length
    return Lists(lengths, draws, frozenset(answers))


def length_of(over: nodes.Indices | nodes.OverQueries | nodes.OverRange) -> nodes.Expr | None:
    """How many indices there are where they count from 0; else None."""
    match over:
        case nodes.Indices(base=base) | nodes.OverQueries(base=base):
            return len_of(base)
        case nodes.OverRange(low=nodes.Number(value=value), high=high) if value == 0:
            return high
        case _:
            return None


def is_elementwise(gather: nodes.Gather, kinds: Kinds, lists: Lists) -> bool:
    """Whether a selection may be done on arrays. Integers are left to Python, which has no largest one."""
    length = length_of(gather.over)
    if gather.function in (nodes.LOG_SUM, "sum", nodes.LISTING) or length is None:
        return False
    if kinds.expression(gather.body) is not PythonKind.REAL:
        return False
    # `top(0, …)` and `upto` are defined, and evaluate nothing, where there are no indices at all.
    filled = isinstance(length, nodes.Call) and bool(names_in(length) & lists.filled)
    parts = [gather.body] if gather.where is None else [gather.body, gather.where]
    filled = filled and not any(_speaks_of_lists(part, gather.index) for part in parts)
    everywhere = gather.function not in nodes.SELECTING or filled
    certainly = _evaluated(gather.where) if everywhere and gather.where is not None else ()
    fits = _Fits(gather.index, length, kinds, lists, frozenset(certainly))
    clauses = [(gather.body, everywhere and gather.where is None)]
    clauses += [(gather.where, everywhere)] if gather.where is not None else []
    return all(gather.index in names_in(e) and fits.at(e, certain) for e, certain in clauses)


@dataclass(frozen=True, slots=True)
class _Fits:
    """`certain`: the program evaluates the expression at every index of the set; so it does `evaluated`."""

    index: str
    length: nodes.Expr
    kinds: Kinds
    lists: Lists
    evaluated: frozenset[nodes.Expr]

    def at(self, expr: nodes.Expr, certain: bool) -> bool:
        if self.index not in names_in(expr):
            return certain or _total(expr) or expr in self.evaluated
        match expr:
            case nodes.Index(base=base, index=nodes.Name(ident=self.index), primed=False):
                known = self.lists.lengths.get(base)
                return known is not None and (certain or known == self.length)
            case nodes.Member(index=nodes.Name(ident=self.index)):
                return True
            case nodes.Unary(operand=operand):
                return self.at(operand, certain)
            case nodes.Binary(op="+" | "-" | "*", left=left, right=right):
                return self.at(left, certain) and self.at(right, certain)
            case nodes.Binary(op="/", left=left, right=nodes.Number(value=value)):
                # Two integers would give a float.
                real = self.kinds.expression(left) is PythonKind.REAL
                return value != 0 and real and self.at(left, certain)
            case nodes.Call(function=function, args=args) if function in _ELEMENTWISE_CALLS:
                return all(self._argument(a, self.kinds.expression(expr), certain) for a in args)
            case nodes.Compare(left=left, right=right):
                return all(e == nodes.Name(self.index) or self.at(e, certain) for e in (left, right))
            case nodes.Logic(args=(first, *rest)):
                return self.at(first, certain) and all(self.at(e, False) for e in rest)
            case (
                nodes.Literal()
                | nodes.ByName()
                | nodes.Call()
                | nodes.Operator()
                | nodes.Gather()
                | nodes.OfOutput()
            ):
                return False

    def _argument(self, expr: nodes.Expr, kind: PythonKind, certain: bool) -> bool:
        same = self.kinds.expression(expr) is kind or self.index not in names_in(expr)
        return same and self.at(expr, certain)


def _evaluated(expr: nodes.Expr) -> Iterator[nodes.Expr]:
    """The parts of an expression that are evaluated whenever it is."""
    yield expr
    match expr:
        case nodes.Unary(operand=part) | nodes.Logic(args=(part, *_)) | nodes.Conditional(test=part):
            yield from _evaluated(part)
        case nodes.Binary(left=left, right=right) | nodes.Compare(left=left, right=right):
            yield from _evaluated(left)
            yield from _evaluated(right)
        case nodes.Call(args=args):
            for part in args:
                yield from _evaluated(part)
        case nodes.Literal() | nodes.ByName() | nodes.Logic() | nodes.Gather() | nodes.OfOutput():
            pass


def _only_draw(loop: nodes.For, body: tuple[nodes.Stmt, ...]) -> nodes.Sample | None:
    """The draw, if that is all that the loop does and all draws have the same arguments."""
    match loop.body:
        case (nodes.Sample(index=nodes.Name(ident=ident)) as sample,) if ident == loop.index:
            pass
        case _:
            return None
    once = sum(isinstance(s, nodes.Sample) and s.name == sample.name for s in statements_in(body)) == 1
    changing = {n for argument in sample.args for n in names_in(argument)} & {*names_set(loop), sample.name}
    return sample if once and not changing else None


def _fixed(expr: nodes.Expr, mechanism: nodes.Mechanism) -> bool:
    """Whether an expression has the same value wherever it is read: it mentions inputs, and variables that
    are set once.
    """
    inputs = {name for item in mechanism.inputs for name in item.names}
    set_at = [name for s in statements_in(mechanism.body) for name in names_set(s)]
    once = {s.name for s in _outermost(mechanism.body) if isinstance(s, nodes.Assign)}
    return all(name in inputs or (name in once and set_at.count(name) == 1) for name in names_in(expr))


def _outermost(body: tuple[nodes.Stmt, ...]) -> Iterator[nodes.Stmt]:
    """The statements that are part of no loop, so that each runs at most once."""
    for statement in body:
        yield statement
        if isinstance(statement, nodes.If):
            for block in statement.arms:
                yield from _outermost(block)


def _speaks_of_lists(expr: nodes.Expr, index: str | None = None) -> bool:
    """Whether an expression reads a length, or an entry that is not at this index."""
    return any(
        (isinstance(e, nodes.Index) and index not in names_in(e.index))
        or (isinstance(e, nodes.Call) and e.function == "len")
        for e in subexpressions(expr)
    )


def _total(expr: nodes.Expr) -> bool:
    """Whether an expression has a value whatever the values of its names."""
    return all(map(_has_value, subexpressions(expr)))


def _has_value(expr: nodes.Expr) -> bool:
    match expr:
        case nodes.Index() | nodes.Gather():
            return False
        case nodes.Call(function=function):
            return function not in _PARTIAL_CALLS
        case nodes.Binary(op="/", right=right):
            return isinstance(right, nodes.Number) and right.value != 0
        case nodes.Binary(op="%"):
            return False
        case nodes.Literal() | nodes.Name() | nodes.Operator() | nodes.Member() | nodes.OfOutput():
            return True


def len_of(name: str) -> nodes.Expr:
    """How many entries a list has."""
    return nodes.Call("len", (nodes.Name(name),))
