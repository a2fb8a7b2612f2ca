"""Other ways to write the same spec: other names, another order, other forms of the same expressions.

Each function takes a `choose`: `choose(n)` picks one of `n` ways; 0 is the way in which the spec is written.
What may be undefined (a division, a root, an index) stays in the same place relative to the tests before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk

Choose: TypeAlias = Callable[[int], int]
Part = TypeVar("Part")

# --- names --------------------------------------------------------------------------------------------------

AWKWARD = (
    "cost",
    "out1",
    "q_",
    "sum",
    "x",
    "e",
    "d",
    "count",
    "i1",
    "T",
    "eps",
    "zeta",
    "total",
    "seen",
    "prefix",
    "le",
    "up",
    "top",
    "gap",
    "latest",
    "len_",
    "counter",
    "v0",
    "wrong1",
    "D",
    "H",
    "which",
    "place",
    "low",
    "high",
    "xi",
    "nu",
    "lamda",
    "O",
    "abs_",
    "s",
    "t1",
    "a_b",
    "_a",
    "A1",
)
"""Names that the checker might use itself, or confuse."""


def names_of(mechanism: n.Mechanism) -> tuple[list[str], list[str], list[str]]:
    """The names of values (indices and binders too), the tags, and the fields, in order of appearance."""
    values: list[str] = []
    tags: list[str] = []
    released: list[str] = []
    for item in mechanism.inputs:
        values += item.names if isinstance(item, n.Queries) else (item.name,)
    for statement in walk.statements_in(mechanism.body):
        match statement:
            case n.Assign(name) | n.Sample(name) | n.Choose(name) | n.Logistic(name) | n.Invoke(name):
                values.append(name)
            case n.For(index, over):
                values += [index] if index is not None else []
                values += [over.item] if isinstance(over, n.OverQueries) else []
            case n.Emit(tag, parts):
                tags.append(tag)
                released += [part.name for part in parts]
            case _:
                pass
    for expr in walk.align_expressions(mechanism.align):
        values += [e.ident for e in walk.subexpressions(expr) if isinstance(e, n.Name)]
    for expr in walk.expressions_in(mechanism):
        if isinstance(expr, n.Gather):
            values.append(expr.index)
            entry = expr.over.item if isinstance(expr.over, n.Indices) else None
            values += [entry] if entry is not None else []
    return list(dict.fromkeys(values)), list(dict.fromkeys(tags)), list(dict.fromkeys(released))


def renamed(mechanism: n.Mechanism, choose: Choose) -> n.Mechanism:
    """Every name is another one. Values and tags have names of their own, and so have fields, which may be
    called like others. What is called keeps its name, and so do its inputs, tags and fields.

    `i` in the clauses of a list is the index of the answer by definition and stays; so no input becomes `i`.
    """
    values, tags, released = names_of(mechanism)
    table: dict[str, dict[str, str]] = {}
    for kind, names in (("value", values), ("tag", tags), ("field", released)):
        pool = [each for each in AWKWARD if kind != "tag" or each not in table["value"].values()]
        table[kind] = {}
        for name in names:
            table[kind][name] = pool.pop(choose(len(pool)) - 1) if pool else f"{name}_"
    inputs = {name for i in mechanism.inputs for name in (i.names if isinstance(i, n.Queries) else (i.name,))}
    kept = {"i": "i"} if "i" not in inputs else {}
    clauses = {**table["value"], **kept}
    return replace(
        mechanism,
        name="another",
        inputs=tuple(_renamed(item, {**table, "value": clauses}) for item in mechanism.inputs),
        claim=_renamed(mechanism.claim, table),
        body=tuple(_renamed(s, table) for s in mechanism.body),
        align=tuple(_renamed(item, table) for item in mechanism.align),
    )


_KINDS: Mapping[tuple[type, str], str] = {
    (n.Name, "ident"): "value",
    (n.Index, "base"): "value",
    (n.Indices, "base"): "value",
    (n.Indices, "item"): "value",
    (n.Gather, "index"): "value",
    (n.Member, "selection"): "value",
    (n.Choose, "name"): "value",
    (n.Logistic, "name"): "value",
    (n.Parameter, "name"): "value",
    (n.PublicVector, "name"): "value",
    (n.Queries, "names"): "value",
    (n.Assign, "name"): "value",
    (n.Sample, "name"): "value",
    (n.Invoke, "name"): "value",
    (n.OutIs, "of"): "value",
    (n.OutCount, "of"): "value",
    (n.OutField, "of"): "value",
    (n.For, "index"): "value",
    (n.OverQueries, "base"): "value",
    (n.OverQueries, "item"): "value",
    (n.Shift, "name"): "value",
    (n.Emit, "tag"): "tag",
    (n.OutIs, "tag"): "tag",
    (n.OutCount, "tag"): "tag",
    (n.EmitField, "name"): "field",
    (n.OutField, "field"): "field",
}
"""Where names stand in the tree, and of what kind they are."""


def _renamed(node: Any, table: Mapping[str, Mapping[str, str]]) -> Any:
    changes: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        kind = _KINDS.get((type(node), field.name))
        if kind in ("tag", "field") and getattr(node, "of", "out") != "out":
            continue
        if kind is not None and value is not None:
            names = table[kind]
            one = isinstance(value, str)
            changes[field.name] = names.get(value, value) if one else tuple(names[v] for v in value)
        elif isinstance(value, n.Node):
            changes[field.name] = _renamed(value, table)
        elif isinstance(value, tuple):
            changes[field.name] = tuple(
                _renamed(part, table) if isinstance(part, n.Node) else part for part in value
            )
    return replace(node, **changes)


# --- order --------------------------------------------------------------------------------------------------


def reordered(mechanism: n.Mechanism, choose: Choose) -> n.Mechanism:
    """Neighbouring statements that do not depend on each other are exchanged, and lines of the alignment."""
    return replace(
        mechanism,
        body=_sorted_anew(mechanism.body, mechanism.align, choose),
        align=_lines_anew(mechanism.align, choose),
    )


def _sorted_anew(
    body: tuple[n.Stmt, ...], align: tuple[n.AlignItem, ...], choose: Choose
) -> tuple[n.Stmt, ...]:
    placed: list[n.Stmt] = []
    for statement in body:
        match statement:
            case n.If(branches, otherwise):
                arms = tuple(replace(b, body=_sorted_anew(b.body, align, choose)) for b in branches)
                new: n.Stmt = replace(
                    statement, branches=arms, otherwise=_sorted_anew(otherwise, align, choose)
                )
            case n.For() | n.While():
                new = replace(statement, body=_sorted_anew(statement.body, align, choose))
            case _:
                new = statement
        place = len(placed)
        while place > 0 and independent(placed[place - 1], new, align) and choose(2):
            place -= 1
        placed.insert(place, new)
    return tuple(placed)


def _lines_anew(items: tuple[n.AlignItem, ...], choose: Choose) -> tuple[n.AlignItem, ...]:
    """Lines add up in any order; those within the arms of a case split too. Arms keep their order."""
    placed: list[n.AlignItem] = []
    for item in items:
        new = item
        if isinstance(item, n.CaseSplit):
            arms = tuple(replace(c, items=_lines_anew(c.items, choose)) for c in item.cases)
            new = replace(item, cases=arms, otherwise=_lines_anew(item.otherwise, choose))
        place = len(placed)
        while place > 0 and isinstance(new, n.Shift) and isinstance(placed[place - 1], n.Shift) and choose(2):
            place -= 1
        placed.insert(place, new)
    return tuple(placed)


def independent(one: n.Stmt, two: n.Stmt, align: tuple[n.AlignItem, ...] = ()) -> bool:
    """Whether two neighbouring statements may change places.

    Neither writes what the other reads or writes, at most one emits, and neither may leave a loop. Draws
    are independent, so their order does not matter. With `align`, a draw reads what its lines there mention.
    """
    lines = {line.name: frozenset[str]() for line in walk.shifts_in(align)}
    for item in align:
        for line in walk.shifts_in((item,)):
            mentioned = {name for e in walk.align_expressions((item,)) for name in walk.names_in(e)}
            lines[line.name] |= mentioned - {line.name}
    written, read = _effects(one, lines)
    also_written, also_read = _effects(two, lines)
    return not (written & also_written or written & also_read or also_written & read)


_OUTPUT, _ANYTHING = "output", "anything"


def _effects(statement: n.Stmt, lines: Mapping[str, frozenset[str]]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a statement writes and those that it reads; the output counts as a name.

    Every statement reads `_ANYTHING`; one that may leave a loop or never end writes it: nothing moves across.
    """
    written: set[str] = set()
    read = {_ANYTHING}
    for s in walk.statements_in((statement,)):
        read |= {name for e in walk.own_expressions(s) for name in walk.names_in(e)}
        match s:
            case n.Assign(name) | n.Choose(name) | n.Logistic(name) | n.Invoke(name):
                written.add(name)
            case n.Sample(name):
                written.add(name)
                read |= lines.get(name, frozenset())
            case n.For(index, over):
                written |= {index} if index is not None else set()
                if isinstance(over, n.OverQueries):
                    written.add(over.item)
                    read.add(over.base)
            case n.Emit():
                written.add(_OUTPUT)
            case n.Break() | n.While():
                written.add(_ANYTHING)
            case _:
                pass
    return frozenset(written), frozenset(read)


# --- forms --------------------------------------------------------------------------------------------------

_TURNED = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}
_NEGATED = {">=": "<", "<": ">=", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
ZERO, ONE, TWO = (n.Number(Fraction(i)) for i in range(3))


def rewritten(mechanism: n.Mechanism, choose: Choose) -> n.Mechanism:
    """Equivalent forms of expressions, tests, branches, definitions and lines of the alignment."""
    return _Rewriter(mechanism, choose).mechanism()


class _Rewriter:
    def __init__(self, mechanism: n.Mechanism, choose: Choose) -> None:
        self._whole = mechanism
        self._choose = choose
        self._lists = {
            name
            for item in mechanism.inputs
            for name in (item.names if isinstance(item, n.Queries) and item.vector else ())
        }
        self._lets = 0
        self._inlined = self._definitions()

    def mechanism(self) -> n.Mechanism:
        """The whole spec anew."""
        whole = self._whole
        return replace(
            whole,
            inputs=tuple(self._input(item) for item in whole.inputs),
            claim=rewrite.claimed(whole.claim, self._expr),
            body=self._block(whole.body),
            align=tuple(new for item in whole.align for new in self._item(item)),
        )

    def _pick(self, *ways: Part) -> Part:
        return ways[self._choose(len(ways))]

    def _definitions(self) -> dict[str, n.Expr]:
        """Names that are defined once, from public inputs only: some are inlined wherever they stand."""
        public = {
            i.name for i in self._whole.inputs if isinstance(i, n.Parameter) and i.sort is not n.Sort.BOOL
        }
        assigned = [s.name for s in walk.statements_in(self._whole.body) if isinstance(s, n.Assign)]
        return {
            s.name: s.value
            for s in self._whole.body
            if isinstance(s, n.Assign)
            and assigned.count(s.name) == 1
            and walk.names_in(s.value) <= public
            and not isinstance(s.value, n.Gather)
            and self._choose(2)
        }

    def _input(self, item: n.Input) -> n.Input:
        where = self._expr(item.where) if item.where is not None else None
        match item:
            case n.Queries(sensitivity=sensitivity):
                anew = self._expr(sensitivity) if sensitivity is not None else None
                return replace(item, where=where, sensitivity=anew)
            case _:
                return replace(item, where=where)

    # --- program ---

    def _block(self, body: Iterable[n.Stmt]) -> tuple[n.Stmt, ...]:
        return tuple(new for statement in body for new in self._statement(statement))

    def _statement(self, statement: n.Stmt) -> Iterator[n.Stmt]:
        match statement:
            case n.Assign(name, value):
                yield from self._defined(value, lambda v: n.Assign(name, v))
            case n.Sample(args=args) if len(args) == 1:
                yield from self._defined(args[0], lambda v: replace(statement, args=(v,)))
            case n.Choose(weights=weights):
                anew = self._inline(self._expr(weights))
                assert isinstance(anew, n.Gather)
                yield replace(statement, weights=anew)
            case n.Logistic(location=location):
                yield from self._defined(location, lambda v: replace(statement, location=v))
            case n.Sample():
                yield statement
            case n.Emit(tag, released):
                yield n.Emit(
                    tag, tuple(replace(f, value=self._inline(self._expr(f.value))) for f in released)
                )
            case n.If():
                yield from self._if(statement)
            case n.For(body=body):
                yield replace(statement, body=self._block(body))
            case n.While(test=test, body=body):
                yield replace(statement, test=self._inline(self._expr(test)), body=self._block(body))
            case _:
                yield statement

    def _defined(self, value: n.Expr, use: Callable[[n.Expr], n.Stmt]) -> Iterator[n.Stmt]:
        """The statement itself, or its value under a new name first."""
        anew = self._inline(self._expr(value))
        # A set that is the whole value stays there: `top` must, and `align` may read it ahead.
        if not isinstance(value, n.Name | n.Number | n.Boolean | n.Gather) and self._choose(2):
            self._lets += 1
            name = f"let{self._lets}"
            yield n.Assign(name, anew)
            anew = n.Name(name)
        yield use(anew)

    def _inline(self, expr: n.Expr) -> n.Expr:
        if isinstance(expr, n.Name) and not expr.primed:
            return self._inlined.get(expr.ident, expr)
        return _map_parts(expr, self._inline)

    def _if(self, statement: n.If) -> Iterator[n.Stmt]:
        first, *later = (
            replace(b, test=self._inline(self._expr(b.test)), body=self._block(b.body))
            for b in statement.branches
        )
        otherwise = self._block(statement.otherwise)
        if later and self._choose(2):
            otherwise = (n.If(tuple(later), otherwise),)
            later = []
        if not later and otherwise and self._choose(2):
            yield n.If((n.Branch(_negation(first.test), otherwise),), first.body)
        else:
            yield n.If((first, *later), otherwise)

    # --- alignment ---

    def _item(self, item: n.AlignItem) -> Iterator[n.AlignItem]:
        match item:
            case n.Shift():
                yield from self._line(item)
            case n.CaseSplit(cases, otherwise):
                arms = tuple(
                    replace(c, items=tuple(new for i in c.items for new in self._item(i))) for c in cases
                )
                yield n.CaseSplit(arms, tuple(new for i in otherwise for new in self._item(i)))

    def _line(self, line: n.Shift) -> Iterator[n.Shift]:
        value = self._expr(line.value)
        guard = self._expr(line.guard) if line.guard is not None else None
        plain = replace(line, value=value, guard=guard)
        own: n.Expr = n.Name(line.name) if line.index is None else n.Index(line.name, line.index)
        match line.op, value:
            case "+=" | "-=", n.Binary("+", left, right) if self._choose(2):
                yield replace(plain, value=left)
                yield replace(plain, value=right)
            case "+=", _:
                yield self._pick(
                    plain,
                    replace(plain, op="-=", value=n.Unary("-", value)),
                    replace(plain, op="=", value=n.Binary("+", own, value)),
                )
            case "-=", _:
                yield self._pick(plain, replace(plain, op="+=", value=n.Unary("-", value)))
            case _:
                yield plain

    # --- expressions ---

    def _expr(self, expr: n.Expr) -> n.Expr:
        if self._is_order(expr):
            return expr
        inner = _map_parts(expr, self._expr)
        return self._pick(*_forms(inner))

    def _is_order(self, expr: n.Expr) -> bool:
        """`q <= q'` of lists, which has a meaning of its own; and indices, which name draws by their form."""
        match expr:
            case n.Compare(left=n.Name(a), right=n.Name(b)):
                return a == b and a in self._lists
            case n.Index() | n.OutIs() | n.OutField():
                return True
            case _:
                return False


def _forms(expr: n.Expr) -> Iterator[n.Expr]:
    yield expr
    match expr:
        case n.Binary("+", left, right):
            yield n.Binary("+", right, left)
            yield n.Binary("-", left, n.Unary("-", right))
        case n.Binary("-", left, right):
            yield n.Binary("+", left, n.Unary("-", right))
            yield n.Unary("-", n.Binary("-", right, left))
        case n.Binary("*", left, right):
            yield n.Binary("*", right, left)
            if left == TWO:
                yield n.Binary("+", right, right)
        case n.Binary("/", left, n.Binary("/", top, n.Number(bottom))) if bottom != 0:
            yield n.Binary("/", n.Binary("*", left, n.Number(bottom)), top)
        case n.Binary("/", left, n.Number(bottom)) if bottom in (2, 4, 8):
            yield n.Binary("*", n.Number(1 / bottom), left)
        case n.Binary("/", left, right):
            yield n.Binary("*", left, n.Binary("/", ONE, right))
        case n.Compare(op, left, right):
            yield n.Compare(_TURNED[op], right, left)
            yield n.Unary("not", n.Compare(_NEGATED[op], left, right))
            if op[0] in "<>":
                yield n.Compare(op, n.Binary("-", left, right), ZERO)
        case n.Logic(op, args) if all(not _may_be_undefined(a) for a in args):
            yield n.Logic(op, tuple(reversed(args)))
        case n.Conditional(test, then, otherwise):
            yield n.Conditional(_negation(test), otherwise, then)
        case n.Call("max" | "min" as function, args):
            yield n.Call(function, tuple(reversed(args)))
        case n.Gather("argmax" | "argmin" as function):
            other = "argmin" if function == "argmax" else "argmax"
            yield replace(expr, function=other, body=n.Unary("-", expr.body))
        case _:
            pass


def _may_be_undefined(expr: n.Expr) -> bool:
    return any(
        isinstance(e, n.Index | n.Gather)
        or (isinstance(e, n.Binary) and e.op in ("/", "%"))
        or (isinstance(e, n.Call) and e.function in ("sqrt", "ln", "log2", "clip"))
        for e in walk.subexpressions(expr)
    )


def _negation(test: n.Expr) -> n.Expr:
    match test:
        case n.Compare(op, left, right):
            return n.Compare(_NEGATED[op], left, right)
        case n.Unary("not", operand):
            return operand
        case _:
            return n.Unary("not", test)


def _map_parts(expr: n.Expr, change: Callable[[n.Expr], n.Expr]) -> n.Expr:
    """The expression with its direct subexpressions changed; what stands for a list in `len(q)` stays."""
    if isinstance(expr, n.Call) and expr.function == "len":
        return expr
    return walk.with_parts(expr, tuple(change(part) for part in walk.parts_of(expr)))
