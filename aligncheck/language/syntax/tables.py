"""A table of answers, read as the list of its cells, row by row.

    q : queries[n][m], sensitivity 1          is      q : queries, sensitivity 1
                                                        where len(q) == n*m and n >= 0 and m >= 0
    q[i][j]                                           q[i*m + j], where j is a column
                                                      q[i*m + j if 0 <= j < m else -1], elsewhere
    len(q), len(q[i])                                 n, m
    f(q = q[i])                                       f(q = q[i*m : i*m + m])
    f(q = q[a:b])                                     f(q = q[a*m : b*m])
    for row in q, for j, x in q[i], j in q[i]         over range(n), range(m), range(m)
    xi[i][j] ~ …                                      xi[i*m + j] ~ …        m: the width of the tables

Trusted: what is proved, run, compiled and searched is the list. Rows and columns are public inputs or
numbers, so a place means the same in both runs. Whoever reads a list owes that the place is in it. This says
that the column is one where the column is 0 or m - 1 (with any place there is a row of one cell at least),
where both are numbers, or where nothing but loops and sets over columns give a name its value (that of a line
for `z[j]` has those of the index at which z is drawn); elsewhere -1 stands for no place.
Breaks if: a name stands for a row and for something else, or a place in a table is left as it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from aligncheck.language.diagnostics import SpecError, fault
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite, walk

CELL = "[]"
"""What stands for the two indices of a cell until the table is known: no name in a spec is this one."""


DECLARED = "declare a table as `q : queries[n][m]`; of draws `xi[i][j]` takes the width of the tables"


def cell(row: n.Expr, column: n.Expr, span: Span) -> n.Expr:
    """Two indices as one, until the table is known."""
    return n.Call(CELL, (row, column), span=span)


def flat(mechanism: n.Mechanism, source: Source) -> n.Mechanism:
    """The mechanism with lists for tables. Raises SpecError for what is no place in a table."""
    return _Tables(mechanism, source).read()


def _is_cell(e: n.Expr | None) -> bool:
    return isinstance(e, n.Call) and e.function == CELL


class _Tables:
    def __init__(self, mechanism: n.Mechanism, source: Source) -> None:
        self.mechanism, self.source = mechanism, source
        inputs = mechanism.inputs
        tables = [i for i in inputs if isinstance(i, n.Queries) and i.table is not None]
        self.shapes = {x: item.table for item in tables for x in item.names if item.table is not None}
        self.given = {x for i in inputs for x in i.names}
        self.used = {*self.given, *(x for s in walk.statements_in(mechanism.body) for x in _names(s))}
        self.columns: dict[str, n.Expr | None] = {}
        self.drawn: dict[str, n.OverRange | None] = {}

    def read(self) -> n.Mechanism:
        """Each part of the mechanism."""
        spec = self.mechanism
        inputs = tuple(self._declared(rewrite.declaration(item, self.expr)) for item in spec.inputs)
        body = self._rows(spec.body)
        self._know(body)
        for s in (s for s in walk.statements_in(body) if isinstance(s, n.Sample)):
            end = self.columns.get(s.index.ident) if isinstance(s.index, n.Name) else None
            over = None if end is None else n.OverRange(_number(0), end)
            self.drawn[s.name] = over if self.drawn.setdefault(s.name, over) == over else None
        body = rewrite.statements(body, self._stmt)
        self._know((), spec.align)
        align = self._align(spec.align)
        self.columns = {}
        claim = rewrite.claimed(spec.claim, self.expr)
        return replace(spec, inputs=inputs, body=body, align=align, claim=claim)

    def _declared(self, item: n.Input) -> n.Input:
        if not isinstance(item, n.Queries) or item.table is None:
            return item
        whole = {i.name for i in self.mechanism.inputs if isinstance(i, n.Parameter) and i.sort is n.Sort.INT}
        for size in item.table:
            known = isinstance(size, n.Name) and (size.ident in whole or size.ident not in self.given)
            if not known and not (isinstance(size, n.Number) and size.value.denominator == 1):
                advice = "write `queries[n][m]`, with `n : int` and `m : int` among the inputs"
                raise self._fault(
                    "bad-table", "the sizes of a table are whole inputs or numbers", size, advice
                )
        lists = (n.Call("len", (n.Name(x),), span=item.span) for x in item.names)
        cells = n.Binary("*", *item.table, span=item.span)
        says: list[n.Expr] = [n.Compare("==", each, cells, span=item.span) for each in lists]
        zeros = (_number(0, size.span) for size in item.table)
        says += [n.Compare(">=", e, zero, span=e.span) for e, zero in zip(item.table, zeros, strict=True)]
        says += [] if item.where is None else [item.where]
        return replace(item, where=n.Logic("and", tuple(says), span=item.span))

    def _fault(self, code: str, text: str, at: Span | n.Node, advice: str) -> SpecError:
        return fault(self.source, code, text, at if isinstance(at, Span) else at.span, help=advice)

    # --- places ---

    def _width(self, name: str, span: Span) -> n.Expr:
        """The width by which two indices of a name are read: of draws, that of all tables."""
        if name in self.shapes:
            return replace(self.shapes[name][1], span=span)
        widths = dict.fromkeys(columns for _, columns in self.shapes.values())
        if name in self.given or len(widths) != 1:
            raise self._fault("bad-table", f"`{name}[…][…]`: `{name}` is no table", span, DECLARED)
        return replace(next(iter(widths)), span=span)

    def _place(self, name: str, at: n.Expr) -> n.Expr:
        """The index in the list for one or two indices."""
        if not isinstance(at, n.Call) or at.function != CELL:
            return at
        row, column = at.args
        width = self._width(name, at.span)
        place = n.Binary("+", n.Binary("*", row, width, span=row.span), column, span=at.span)
        if name not in self.shapes or self._is_column(column, width):
            return place
        sides = n.Compare("<=", _number(0, at.span), column), n.Compare("<", column, width)
        inside = n.Logic("and", tuple(replace(side, span=at.span) for side in sides), span=at.span)
        return n.Conditional(inside, place, n.Unary("-", _number(1, at.span), span=at.span), span=at.span)

    def _is_column(self, column: n.Expr, width: n.Expr) -> bool:
        """Whether a place in the list says that this is a column."""
        if isinstance(column, n.Name):
            return self.columns.get(column.ident) == width
        if isinstance(column, n.Number) and isinstance(width, n.Number):
            return 0 <= column.value < width.value
        return column in (_number(0), n.Binary("-", width, _number(1)))

    def _know(self, body: tuple[n.Stmt, ...], align: tuple[n.AlignItem, ...] = ()) -> None:
        """For each name that gets a value, the end of what it runs through from 0 or more on, if it does."""
        ends: list[tuple[str, n.Indices | n.OverRange | None]] = [(name, None) for name in self.given]
        lines = [(line.index, line.name) for line in walk.shifts_in(align)]
        ends += [(at.ident, self.drawn.get(x)) for at, x in lines if isinstance(at, n.Name)]
        expressions = [*walk.align_expressions(align)]
        for stmt in walk.statements_in(body):
            looped = stmt.over if isinstance(stmt, n.For) else None
            ends += [(looped.item, None)] if isinstance(looped, n.OverQueries) else []
            ends += [(name, looped if isinstance(looped, n.OverRange) else None) for name in _names(stmt)]
            expressions += walk.own_expressions(stmt)
        parts = (part for e in expressions for part in walk.subexpressions(e))
        ends += [(part.index, part.over) for part in parts if isinstance(part, n.Gather)]
        self.columns = {}
        for name, over in ends:
            end = None
            if isinstance(over, n.OverRange) and isinstance(over.low, n.Number) and over.low.value >= 0:
                end = self.expr(over.high)
            self.columns[name] = end if self.columns.setdefault(name, end) == end else None

    def _row(self, name: str, low: n.Expr, high: n.Expr | None, span: Span) -> n.Gather:
        """The cells of a row, or of the rows of a range, as a list."""
        width = self._width(name, span)
        first: n.Expr = n.Binary("*", low, width, span=span)
        end = n.Binary("+", first, width) if high is None else n.Binary("*", high, width)
        over = n.OverRange(first, replace(end, span=span), span=span)
        entry = n.Index(name, n.Name("part", span=span), span=span)
        return n.Gather(n.LISTING, None, entry, "part", over, None, span=span)

    # --- expressions ---

    def expr(self, e: n.Expr) -> n.Expr:
        """An expression that is no argument of a call."""
        match e:
            case n.Call(function="len", args=(n.Name(ident=x),)) if x in self.shapes:
                return replace(self.shapes[x][0], span=e.span)
            case n.Call(function="len", args=(n.Index(base=x) as row,)) if not _is_cell(row.index):
                self.expr(row.index)
                return self._width(x, e.span)
            case n.Index(base=x, index=at) if x in self.shapes and not _is_cell(at):
                raise self._fault(
                    "bad-table", f"`{x}[…]` is a row of a table", e, f"read a cell: `{x}[i][j]`"
                )
            case n.Index(base=x, index=at):
                return replace(e, index=self._place(x, self.expr(at)))
            case n.Gather(over=n.Indices(base=x) as over) if x in self.shapes:
                if over.item is not None:
                    raise self._fault(
                        "bad-table", f"`{over.item}` would be a row", e, "name the index alone: `j in q`"
                    )
                e = replace(e, over=_from_zero(self.shapes[x][0], over.span))
        return walk.with_parts(e, tuple(map(self.expr, walk.parts_of(e))))

    def _argument(self, e: n.Expr) -> n.Expr:
        """An argument of a call: a row, and rows, are lists."""
        match e:
            case n.Index(base=x, index=at) if x in self.shapes and not _is_cell(at):
                return self._row(x, self.expr(at), None, e.span)
            case n.Gather(
                function=n.LISTING, body=n.Index(base=x, index=at), index=j, over=n.OverRange() as over
            ) if x in self.shapes and at == n.Name(j) and e.where is None:
                return self._row(x, self.expr(over.low), self.expr(over.high), e.span)
        return self.expr(e)

    # --- statements ---

    def _stmt(self, stmt: n.Stmt) -> n.Stmt:
        match stmt:
            case n.Invoke(arguments=arguments, rounds=rounds):
                given = tuple(replace(a, value=self._argument(a.value)) for a in arguments)
                return replace(stmt, arguments=given, rounds=rewrite.repeated(rounds, self.expr))
            case n.Sample(name=x, index=n.Call(function=n_cell) as at) if n_cell == CELL:
                return rewrite.own(replace(stmt, index=self._place(x, self.expr(at))), self.expr)
        return rewrite.own(stmt, self.expr)

    def _rows(self, body: Iterable[n.Stmt]) -> tuple[n.Stmt, ...]:
        """Loops over the rows of a table."""

        def one(stmt: n.Stmt) -> n.Stmt:
            match stmt:
                case n.For(over=n.OverQueries(base=x, item=row) as over) if x in self.shapes:
                    if row in self.used:
                        raise self._fault(
                            "bad-table", f"`{row}` is a row, and something else", stmt, "give it another name"
                        )
                    at = self._fresh(row) if stmt.index is None else stmt.index
                    inside = rewrite.statements(stmt.body, lambda s: self._in_row(s, row, x, at))
                    rounds = _from_zero(self.shapes[x][0], over.span)
                    return replace(stmt, index=at, over=rounds, body=inside)
            return stmt

        return rewrite.statements(body, one)

    def _fresh(self, name: str) -> str:
        """A name for the place of a row or a cell."""
        while (name := f"{name}_at") in self.used:
            pass
        self.used.add(name)
        return name

    def _in_row(self, stmt: n.Stmt, row: str, table: str, at: str) -> n.Stmt:
        """A statement with the name of a row read as that row."""

        def part(e: n.Expr) -> n.Expr:
            match e:
                case n.Index(base=x, index=j) if x == row:
                    return replace(e, base=table, index=cell(n.Name(at, span=e.span), j, e.span))
                case n.Name(ident=x) if x == row:
                    return n.Index(table, n.Name(at, span=e.span), e.primed, span=e.span)
                case n.Gather(over=n.Indices(base=x) as over) if x == row:
                    whole = n.Call("len", (n.Index(table, n.Name(at)),), span=over.span)
                    return replace(e, over=_from_zero(whole, over.span))
            return e

        match stmt:
            case n.For(over=n.OverQueries(base=x, item=item) as over, index=j) if x == row:
                whole = n.Index(table, n.Name(at, span=over.span), span=over.span)
                j = self._fresh(item) if j is None else j
                stmt = row_loop(j, item, whole, stmt.body, stmt.invariants, stmt.span)
        return rewrite.own(stmt, lambda e: rewrite.bottom_up(e, part))

    # --- alignment ---

    def _align(self, items: tuple[n.AlignItem, ...]) -> tuple[n.AlignItem, ...]:
        return tuple(map(self._item, items))

    def _item(self, item: n.AlignItem) -> n.AlignItem:
        match item:
            case n.CaseSplit(cases=cases, otherwise=otherwise):
                arms = tuple(replace(c, test=self.expr(c.test), items=self._align(c.items)) for c in cases)
                return replace(item, cases=arms, otherwise=self._align(otherwise))
            case n.Shift(name=x, index=n.Call(function=n_cell, args=(row, column)) as at) if n_cell == CELL:
                return self._shift(item, x, at, row, column)
        return rewrite.alignment((item,), self.expr)[0]

    def _shift(self, line: n.Shift, x: str, at: n.Call, row: n.Expr, column: n.Expr) -> n.Shift:
        """A line for `xi[i][j]`: one index c for every cell, where `[i][j]` is what the line speaks of."""
        bound = [e.ident for e in (row, column) if isinstance(e, n.Name) and e.ident not in self.given]
        if not bound:
            line = replace(line, index=self._place(x, self.expr(at)))
            return replace(line, value=self.expr(line.value), guard=line.guard and self.expr(line.guard))
        place = self._place(x, at)
        kept, self.columns = self.columns, {**self.columns, bound[-1]: self._width(x, at.span)}
        one = n.Name("_".join(dict.fromkeys(bound)), span=at.span)

        def changed(e: n.Expr) -> n.Expr:
            e = rewrite.bottom_up(
                self.expr(e), lambda part: replace(one, span=part.span) if part == place else part
            )
            if len({*bound}) < 2 or walk.names_in(e) & {*bound}:
                usage = "each is an index of its own, and both stand together as `[i][j]`"
                raise self._fault("bad-table", f"of `{x}[…][…]` a line speaks as a whole", line, usage)
            return e

        guard = None if line.guard is None else changed(line.guard)
        line = replace(line, index=one, value=changed(line.value), guard=guard)
        self.columns = kept
        return line


def _names(stmt: n.Stmt) -> Iterator[str]:
    """The names that a statement gives a meaning to, but for entries of lists."""
    match stmt:
        case n.Assign(name=x) | n.Sample(name=x) | n.Invoke(name=x) | n.Choose(name=x) | n.Logistic(name=x):
            yield x
        case n.For(index=str(x)):
            yield x
        case n.For() | n.While() | n.If() | n.Emit() | n.Empty():
            pass


def _number(value: int, span: Span = n.NOWHERE) -> n.Number:
    return n.Number(Fraction(value), span=span)


def _from_zero(high: n.Expr, span: Span) -> n.OverRange:
    return n.OverRange(_number(0, span), replace(high, span=span), span=span)


def over_row(row: n.Index) -> n.OverRange:
    """The columns of a row."""
    return _from_zero(n.Call("len", (row,), span=row.span), row.span)


def row_loop(
    index: str, item: str, row: n.Index, body: tuple[n.Stmt, ...], invariants: tuple[n.Expr, ...], span: Span
) -> n.For:
    """A loop over the cells of a row: each round begins with what the cell is."""
    entry = replace(row, index=cell(row.index, n.Name(index, span=row.span), row.span))
    first = n.Assign(item, entry, span=row.span)
    return n.For(index, over_row(row), (first, *body), invariants, span=span)
