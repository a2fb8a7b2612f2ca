"""Sorts: bool, int and real. Whole numbers are inferred where arithmetic keeps them whole.

A program variable has one sort throughout: the least that holds all its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from aligncheck.language.check.symbol_table import ALIGNMENT_COST, ANSWER_INDEX, SymbolTable
from aligncheck.language.diagnostics import Faults, Label
from aligncheck.language.families import Family, Lattice
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.nodes import Sort
from aligncheck.language.syntax.walk import claimed_in, names_in, own_expressions, statements_in
from aligncheck.language.unparse import unparse_expr

_WHOLE = ("abs", "min", "max", "clip")
_NOUN = {Sort.REAL: "a number", Sort.INT: "a whole number", Sort.BOOL: "a truth value"}


@dataclass(frozen=True, slots=True)
class Sorts:
    """The sorts of a spec's names (of a list: of its entries) and of its records' fields; `mixed` fields hold
    truths in some records and numbers in others.
    """

    names: Mapping[str, Sort]
    fields: Mapping[str, Sort]
    mixed: frozenset[str] = frozenset()


def sorts_of(mechanism: n.Mechanism) -> Sorts:
    """The least sorts that hold every value. Says nothing about mistakes: see `check_sorts`."""
    table = SortTable(mechanism)
    known = {name: sort for name, sort in table.names.items() if sort is not None}
    return Sorts(known, dict(table.fields), frozenset(table.mixed))


def check_sorts(source: Source, mechanism: n.Mechanism, symbols: SymbolTable) -> Sorts:
    """The sorts of a spec. Raises SpecError for the first expression of the wrong sort."""
    sorts = sorts_of(mechanism)
    _Checker(source, symbols, sorts).mechanism(mechanism)
    return sorts


def called_fields(symbols: SymbolTable, call: str) -> Mapping[str, Sort]:
    """The sorts of the fields of the records that a call released."""
    callee = symbols.callee(call)
    return sorts_of(callee).fields if callee is not None else {}


def _join(one: Sort | None, other: Sort | None) -> Sort | None:
    """The least sort with the values of both; the first one where there is none."""
    if one is None or other is None:
        return one or other
    if Sort.BOOL in (one, other):
        return one
    return Sort.REAL if Sort.REAL in (one, other) else Sort.INT


# --- inference ----------------------------------------------------------------------------------------------


class SortTable:
    """The sorts of a spec's names and of its records' fields: None where nothing is known."""

    def __init__(self, mechanism: n.Mechanism) -> None:
        self.names: dict[str, Sort | None] = {ALIGNMENT_COST: Sort.REAL}
        self.fields: dict[str, Sort] = {}
        self.mixed: set[str] = set()
        self.functions = {each.name: each.result for each in mechanism.functions}
        for item in mechanism.inputs:
            self.names |= dict.fromkeys(item.names, item.sort)
        body = tuple(statements_in(mechanism.body))
        callees = {use.name: use.contract.mechanism for use in mechanism.uses if use.contract is not None}
        self.called = {
            s.name: type(self)(callees[s.mechanism]).fields
            for s in body
            if isinstance(s, n.Invoke) and s.mechanism in callees
        }
        while self._widen(body):
            pass

    def _widen(self, body: tuple[n.Stmt, ...]) -> bool:
        """One pass over the program; whether anything has changed."""
        before = (dict(self.names), dict(self.fields))
        for statement in body:
            match statement:
                case n.Assign(name, value):
                    self._meet(name, self.sort(value))
                case n.Invoke():
                    pass
                case n.Sample(name, _, family, args):
                    self._meet(name, self.drawn(family, args))
                case n.Choose(name):
                    self._meet(name, Sort.INT)
                case n.Logistic(name):
                    self._meet(name, Sort.REAL)
                case n.For(index, over):
                    if index is not None:
                        self._meet(index, Sort.INT)
                    if isinstance(over, n.OverQueries):
                        self._meet(over.item, self.names.get(over.base))
                case n.Emit(fields=fields):
                    for each in fields:
                        known, own = self.fields.get(each.name), self.sort(each.value)
                        if known and own and (known is Sort.BOOL) != (own is Sort.BOOL):
                            self.mixed.add(each.name)
                        joined = _join(known, own)
                        if joined is not None:
                            self.fields[each.name] = joined
                case n.If() | n.While() | n.Empty():
                    pass
        return before != (self.names, self.fields)

    def _meet(self, name: str, sort: Sort | None) -> None:
        self.names[name] = _join(self.names.get(name), sort)

    def drawn(self, family: Family, args: tuple[n.Expr, ...]) -> Sort | None:
        """The sort of a draw: discrete noise is a multiple of its step."""
        match family.row.lattice:
            case Lattice.WHOLE:
                return Sort.INT
            case Lattice.STEP:
                return self.sort(args[1])
            case Lattice.NONE:
                return Sort.REAL

    def sort(self, expr: n.Expr, indices: frozenset[str] = frozenset()) -> Sort | None:
        """The sort of an expression inside sets with these indices."""
        match expr:
            case n.Name(name) if name in indices:
                return Sort.INT
            case n.Number(value):
                return Sort.INT if value.denominator == 1 else Sort.REAL
            case n.Name(name) | n.Index(base=name):
                return self.names.get(name)
            case n.Boolean() | n.Compare() | n.Logic() | n.OutIs() | n.Unary("not") | n.Member():
                return Sort.BOOL
            case n.Call(function, args):
                if function in self.functions:
                    return self.functions[function]
                if function in ("floor", "len"):
                    return Sort.INT
                return self._all(args, indices) if function in _WHOLE else Sort.REAL
            case n.Unary(operand=operand):
                return self.sort(operand, indices)
            case n.Binary("/"):
                return Sort.REAL
            case n.Binary(left=left, right=right):
                return self._all((left, right), indices)
            case n.Conditional(_, then, otherwise):
                return self._all((then, otherwise), indices)
            case n.Gather("max" | "min" | "sum" | n.LISTING, _, body, index):
                return self.sort(body, indices | {index})
            case n.Gather("logsumexp"):
                return Sort.REAL
            case n.Gather():
                return Sort.INT
            case n.OutField(field=name, of=of) if of in self.called:
                return self.called[of].get(name)
            case n.OutField(field=name):
                return self.fields.get(name)
            case n.OutCount():
                return Sort.INT

    def _all(self, exprs: tuple[n.Expr, ...], indices: frozenset[str]) -> Sort | None:
        joined: Sort | None = None
        for expr in exprs:
            joined = _join(joined, self.sort(expr, indices))
        return joined


# --- checking -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scope:
    """Names that a place brings, with their sorts, and whether lists of answers may be compared there."""

    binders: Mapping[str, Sort] = field(default_factory=dict)
    compares_lists: bool = False


class _Checker(Faults):
    def __init__(self, source: Source, symbols: SymbolTable, sorts: Sorts) -> None:
        super().__init__(source)
        self._symbols = symbols
        self._sorts = sorts
        self._body: tuple[n.Stmt, ...] = ()

    # --- places ---

    def mechanism(self, mechanism: n.Mechanism) -> None:
        self._body = mechanism.body
        for item in mechanism.inputs:
            self._declaration(item)
        for each in claimed_in(mechanism.claim):
            self._number(each, _Scope(), "the claimed privacy")
        for statement in statements_in(mechanism.body):
            self._statement(statement)
        self._alignment(mechanism.align)

    def _declaration(self, item: n.Input) -> None:
        indexed = _Scope({ANSWER_INDEX: Sort.INT})
        match item:
            case n.Parameter(where=where, sort=sort, default=default):
                self._optional_test(where, _Scope())
                if default is not None:
                    self._of_sort(sort, default, _Scope(), "this default")
            case n.PublicVector(where=where):
                self._optional_test(where, indexed)
            case n.Queries(where=where):
                for name, value in _attributes(item):
                    self._number(value, indexed, f"`{name}`", _alone(name, value))
                if item.sort is Sort.INT and item.lattice is not None:
                    self._int(item.lattice, indexed, "the lattice of integer answers")
                self._optional_test(where, _Scope({ANSWER_INDEX: Sort.INT}, compares_lists=True))

    def _optional_test(self, where: n.Expr | None, scope: _Scope) -> None:
        if where is not None:
            self._test(where, scope, "`where`")

    def _statement(self, statement: n.Stmt) -> None:
        scope = _Scope()
        match statement:
            case n.Assign(name, value):
                self._assigned(name, value, statement.span)
            case n.Invoke():
                self._arguments(statement)
            case n.Sample(_, index, family, args):
                if index is not None:
                    self._int(index, scope, "an index")
                for arg in args:
                    self._number(arg, scope, f"what `{family.value}` takes")
            case n.Choose(weights=weights):
                self._gather(weights, scope)
            case n.Logistic():
                for arg in own_expressions(statement):
                    self._number(arg, scope, "what `Logistic` takes")
            case n.Emit(fields=fields):
                for each in fields:
                    self._check(each.value, scope)
            case n.If(branches):
                for branch in branches:
                    self._test(branch.test, scope, "a condition")
            case n.While(test, _, invariants):
                self._test(test, scope, "a condition")
                self._invariants(invariants)
            case n.For(_, over, _, invariants):
                if isinstance(over, n.OverRange):
                    self._int(over.low, scope, "a bound of `range`")
                    self._int(over.high, scope, "a bound of `range`")
                self._invariants(invariants)
            case n.Break() | n.Pass():
                pass

    def _arguments(self, call: n.Invoke) -> None:
        """Whether each argument is of the kind of its input (`check_calls` has matched them)."""
        callee = self._symbols.callee(call.name)
        if callee is None:
            raise InternalError("the called file has not been read")
        declared = {name: item for item in callee.inputs for name in item.names}
        for argument in call.arguments:
            value, item = argument.value, declared[argument.name]
            if isinstance(item, n.PublicVector) or (isinstance(item, n.Queries) and item.vector):
                self._list_argument(argument, item)
            else:
                self._of_sort(item.sort, value, _Scope(), f"`{argument.name}`")
        if call.rounds is not None:
            self._test(call.rounds.test, _Scope(), "what ends the rounds")
            self._number(call.rounds.chance, _Scope(), "the chance to stop")
            if call.rounds.most is not None:
                self._int(call.rounds.most, _Scope(), "the number of rounds")

    def _list_argument(self, argument: n.Argument, item: n.PublicVector | n.Queries) -> None:
        value = argument.value
        found: Sort | None = None
        if isinstance(value, n.Gather) and value.function == n.LISTING:
            if value.where is not None:
                self.fail(
                    "bad-arguments",
                    "`list` gives a value for each index: it cannot leave out any by `where`",
                    value.where.span,
                    help="leave the `where` out; what is left out can be told by a public list of truths",
                )
            found = self._gather(value, _Scope())
        if isinstance(value, n.Name) and self._symbols.is_list(value.ident):
            given = self._symbols.inputs[value.ident]
            if isinstance(given, n.PublicVector) is isinstance(item, n.PublicVector):
                found = given.sort
        wanted = "a list of queries" if isinstance(item, n.Queries) else "a public list"
        if found is None:
            self.fail(
                "bad-arguments",
                f"`{argument.name}` must be {wanted}",
                value.span,
                help=f"give the name of {wanted}, or `list(… for j in q)`",
            )
        if found is not item.sort and not (found is Sort.INT and item.sort is Sort.REAL):
            message = f"`{argument.name}` must be {wanted} of sort {item.sort.value}, not {found.value}"
            self.fail("mismatched-sorts", message, value.span)

    def _invariants(self, invariants: tuple[n.Expr, ...]) -> None:
        for invariant in invariants:
            self._test(invariant, _Scope(), "an invariant")

    def _assigned(self, name: str, value: n.Expr, span: Span) -> None:
        found, wanted = self._check(value, _Scope()), self._sorts.names[name]
        if (found is Sort.BOOL) != (wanted is Sort.BOOL):
            self.fail(
                "mismatched-sorts",
                f"`{name}` is {_NOUN[wanted]} elsewhere, but {_NOUN[found]} here",
                span,
                related=(Label(self._symbols.variables[name], f"{_NOUN[wanted]} here"),),
                help="use two names",
            )

    def _alignment(self, items: tuple[n.AlignItem, ...]) -> None:
        for item in items:
            match item:
                case n.Shift():
                    self._shift(item)
                case n.CaseSplit(cases, otherwise):
                    for case in cases:
                        self._test(case.test, _Scope(compares_lists=True), "a case")
                        self._alignment(case.items)
                    self._alignment(otherwise)

    def _shift(self, shift: n.Shift) -> None:
        binders: dict[str, Sort] = {}
        if isinstance(shift.index, n.Name) and shift.index.ident not in self._symbols.inputs:
            binders[shift.index.ident] = Sort.INT
        scope = _Scope(binders, compares_lists=True)
        if shift.index is not None:
            self._int(shift.index, scope, "an index")
        self._number(shift.value, scope, "a shift")
        if shift.guard is not None:
            self._test(shift.guard, scope, "a guard")

    # --- what is wanted ---

    def _of_sort(self, wanted: Sort, expr: n.Expr, scope: _Scope, what: str) -> None:
        match wanted:
            case Sort.INT:
                self._int(expr, scope, what)
            case Sort.REAL:
                self._number(expr, scope, what)
            case Sort.BOOL:
                self._test(expr, scope, what)

    def _number(self, expr: n.Expr, scope: _Scope, what: str, advice: str | None = None) -> Sort:
        found = self._check(expr, scope)
        if found is Sort.BOOL:
            message = f"{what} must be a number, and this is a truth value"
            advice = advice or "write `1 if CONDITION else 0`"
            self.fail("mismatched-sorts", message, expr.span, help=advice)
        return found

    def _int(self, expr: n.Expr, scope: _Scope, what: str) -> None:
        if self._number(expr, scope, what) is not Sort.INT:
            self.fail(
                "mismatched-sorts",
                f"{what} must be a whole number, and this may not be one",
                expr.span,
                help=self._item_for_index(expr, scope)
                or "write `floor(…)`, or declare the parameter as `int`",
            )

    def _item_for_index(self, expr: n.Expr, scope: _Scope) -> str | None:
        """Help for who takes the entries of a list for its indices."""
        for stmt in statements_in(self._body):
            if isinstance(stmt, n.For) and isinstance(stmt.over, n.OverQueries) and isinstance(expr, n.Name):
                item, base = stmt.over.item, stmt.over.base
                if expr.ident == item and stmt.index is None:
                    return f"`{item}` is an entry of `{base}`: for its index write `for {item}, x in {base}:`"
                if expr.ident == item:
                    return f"the index is the first of two names: write `for {item}, {stmt.index} in {base}:`"
        if isinstance(expr, n.Index) and isinstance(expr.index, n.Name):
            written = self.source.text_of(expr.span)
            if written.isidentifier():  # the second name of a set, which is read as the entry
                first = expr.index.ident
                return f"`{written}` is an entry of `{expr.base}`: the index is the first name, `{first}`"
        if isinstance(expr, n.Name) and expr.ident in scope.binders:
            return "the index is the first of two names: write `for j, x in q`"
        return None

    def _test(self, expr: n.Expr, scope: _Scope, what: str, advice: str | None = None) -> None:
        if self._check(expr, scope) is not Sort.BOOL:
            self.fail(
                "mismatched-sorts",
                f"{what} must be true or false, and this is a number",
                expr.span,
                help=advice or f"compare it with something, as in `{self._compared(expr, scope)}`",
            )

    def _compared(self, expr: n.Expr, scope: _Scope) -> str:
        """A test of a number."""
        shown = unparse_expr(expr)
        index = next(iter(sorted(scope.binders)), "i")
        chosen = isinstance(expr, n.Name) and expr.ident in self._symbols.chosen
        return f"{index} == {shown}" if chosen else f"{shown} >= 1"

    # --- expressions ---

    def _check(self, expr: n.Expr, scope: _Scope) -> Sort:
        """The sort of an expression, all of its parts being checked."""
        match expr:
            case n.Number(value):
                return Sort.INT if value.denominator == 1 else Sort.REAL
            case n.Boolean():
                return Sort.BOOL
            case n.Name(ident):
                return self._scalar(ident, expr.span, scope)
            case n.Index():
                return self._entry(expr, scope)
            case n.Call("len", args):
                self._length(args[0])
                return Sort.INT
            case n.Call(function, args) if function in self._symbols.functions:
                return self._applied(expr, self._symbols.functions[function], scope)
            case n.Call(function, args):
                sorts = [self._number(arg, scope, f"what `{function}` takes") for arg in args]
                if function == "floor" or (function in _WHOLE and Sort.REAL not in sorts):
                    return Sort.INT
                return Sort.REAL
            case n.Unary("not", operand):
                zero = unparse_expr(n.Compare("==", operand, n.Number(Fraction(0))))
                self._test(operand, scope, "what `not` negates", f"write `{zero}` in place of `not …`")
                return Sort.BOOL
            case n.Unary(_, operand):
                return self._number(operand, scope, "what `-` negates")
            case n.Binary(op, left, right):
                sides = [self._number(side, scope, f"a side of `{op}`") for side in (left, right)]
                return Sort.REAL if op == "/" or Sort.REAL in sides else Sort.INT
            case n.Compare():
                self._comparison(expr, scope)
                return Sort.BOOL
            case n.Logic(op, args):
                for arg in args:
                    self._test(arg, scope, f"a side of `{op}`")
                return Sort.BOOL
            case n.Conditional(test, then, otherwise):
                one = self._check(then, scope)
                self._test(test, scope, "a condition")
                return self._same(one, self._check(otherwise, scope), otherwise.span, "the other choice")
            case n.OutIs(index):
                self._int(index, scope, "an index")
                return Sort.BOOL
            case n.OutField(index, name, of) if of in self._symbols.calls:
                self._int(index, scope, "an index")
                return called_fields(self._symbols, of).get(name, Sort.REAL)
            case n.OutField(index, name):
                self._int(index, scope, "an index")
                if name in self._sorts.mixed:
                    self.fail(
                        "mismatched-sorts",
                        f"`{name}` is a truth value in some records and a number in others",
                        expr.span,
                        help="give the fields two names",
                    )
                return self._sorts.fields.get(name, Sort.REAL)
            case n.OutCount():
                return Sort.INT
            case n.Member(index):
                self._int(index, scope, "an index")
                return Sort.BOOL
            case n.Gather():
                return self._gather(expr, scope)

    def _applied(self, call: n.Call, declared: n.Function, scope: _Scope) -> Sort:
        """A public function of the spec: its arguments have the sorts that it declares."""
        for arg, sort in zip(call.args, declared.args, strict=True):
            self._of_sort(sort, arg, scope, f"what `{call.function}` takes")
        return declared.result

    def _gather(self, gather: n.Gather, scope: _Scope) -> Sort:
        binders = {**scope.binders, gather.index: Sort.INT}
        if isinstance(gather.over, n.Indices):
            if gather.over.item is not None:
                binders[gather.over.item] = self._sorts.names.get(gather.over.base, Sort.REAL)
        else:
            for end in (gather.over.low, gather.over.high):
                if isinstance(end, n.Name) and self._symbols.is_list(end.ident):
                    message, advice = (
                        f"`{end.ident}` is a list, not one value",
                        f"write `range(len({end.ident}))`",
                    )
                    self.fail("list-as-value", message, end.span, help=advice)
                self._int(end, scope, "a bound of `range`")
        if gather.count is not None:
            self._int(gather.count, scope, f"how many `{gather.function}` selects")
        inside = replace(scope, binders=binders)
        does = {"Choose": "weighs", "logsumexp": "adds up"}.get(gather.function, "compares")
        if gather.function == n.LISTING:
            found = self._check(gather.body, inside)
        else:
            found = self._number(gather.body, inside, f"what `{gather.function}` {does}")
        if gather.where is not None:
            self._test(gather.where, inside, "`where`")
        if gather.function == n.LOG_SUM:
            return Sort.REAL
        return found if gather.function in ("max", "min", "sum", n.LISTING) else Sort.INT

    def _scalar(self, name: str, span: Span, scope: _Scope) -> Sort:
        if name in scope.binders:
            return scope.binders[name]
        if self._symbols.is_list(name):
            self.fail("list-as-value", f"`{name}` is a list, not one value", span, help=f"write `{name}[i]`")
        if name in self._symbols.calls:
            self.fail(
                "list-as-value",
                f"`{name}` is what a mechanism released, not one value",
                span,
                help=f"write `{name}[r].FIELD`, `{name}[r] is TAG`, `{name}.count(TAG)` or `len({name})`",
            )
        if name in self._symbols.selections:
            self.fail(
                "list-as-value",
                f"`{name}` is a list of indices, not one value",
                span,
                help=f"write `{name}[r]`, `j in {name}` or `len({name})`",
            )
        return self._sorts.names.get(name, Sort.REAL)

    def _entry(self, expr: n.Index, scope: _Scope) -> Sort:
        base = expr.base
        lists = self._symbols.noise.keys() | self._symbols.selections.keys()
        if base in scope.binders or not (self._symbols.is_list(base) or base in lists):
            self.fail(
                "not-a-list",
                f"`{base}` is one value, not a list",
                expr.span,
                help=f"write `{base}` without an index",
            )
        self._int(expr.index, scope, "an index")
        return self._sorts.names.get(base, Sort.REAL)

    def _length(self, arg: n.Expr) -> None:
        if isinstance(arg, n.Name) and (
            self._symbols.is_list(arg.ident)
            or arg.ident in self._symbols.selections
            or arg.ident in self._symbols.calls
        ):
            return
        self.fail(
            "not-a-list",
            "`len` takes a list: of queries, a public one, or a selection",
            arg.span,
            help="write the name of a list, as in `len(q)`",
        )

    def _comparison(self, expr: n.Compare, scope: _Scope) -> None:
        left, right = expr.left, expr.right
        if scope.compares_lists and self._is_answers(left) and self._is_answers(right):
            self._lists(expr)
            return
        one, other = self._check(left, scope), self._check(right, scope)
        if isinstance(right, n.Boolean) and expr.op == "==" and one is not Sort.BOOL:
            shown = unparse_expr(left)
            advice = f"`{shown}` is a number: compare it with one, as in `{self._compared(left, scope)}`"
            message = f"the left-hand side is {_NOUN[_widest(one)]}, and this is {_NOUN[Sort.BOOL]}"
            self.fail("mismatched-sorts", message, right.span, help=advice)
        self._same(one, other, right.span, "the left-hand side")
        if one is Sort.BOOL and expr.op not in ("==", "!="):
            self.fail(
                "mismatched-sorts",
                f"`{expr.op}` compares numbers, not truth values",
                expr.span,
                help="truth values are compared by `==` and `!=`",
            )

    def _is_answers(self, expr: n.Expr) -> bool:
        if not isinstance(expr, n.Name):
            return False
        item = self._symbols.inputs.get(expr.ident)
        return isinstance(item, n.Queries) and item.vector

    def _lists(self, expr: n.Compare) -> None:
        """`q <= q'`: the same list on D and on D'."""
        if not (isinstance(expr.left, n.Name) and isinstance(expr.right, n.Name)):
            raise InternalError("lists are compared by their names")
        same = expr.left.ident == expr.right.ident and expr.left.primed != expr.right.primed
        if not same or expr.op not in ("<=", ">="):
            name = expr.left.ident
            self.fail(
                "list-as-value",
                "lists are compared between D and D' only, every answer by `<=` or `>=`",
                expr.span,
                help=f"write `{name} <= {name}'` or `{name} >= {name}'`",
            )

    def _same(self, one: Sort, other: Sort, span: Span, what: str) -> Sort:
        if (one is Sort.BOOL) != (other is Sort.BOOL):
            message = f"{what} is {_NOUN[_widest(one)]}, and this is {_NOUN[_widest(other)]}"
            advice = "both sides are numbers, or both are truth values"
            self.fail("mismatched-sorts", message, span, help=advice)
        return Sort.REAL if Sort.REAL in (one, other) else one


def _alone(attribute: str, value: n.Expr) -> str | None:
    """Help for who writes a test, the same one for every answer, where a sensitivity stands."""
    if attribute != "sensitivity" or ANSWER_INDEX in names_in(value):
        return None
    if isinstance(value, n.Compare) and value.op in ("<", "<=", ">", ">="):
        most = value.right if value.op[0] == "<" else value.left
        return f"write the largest move alone: `sensitivity {unparse_expr(most)}`"
    return "write the largest move alone, as in `sensitivity 1`"


def _widest(sort: Sort) -> Sort:
    return Sort.REAL if sort is Sort.INT else sort


def _attributes(item: n.Queries) -> Iterator[tuple[str, n.Expr]]:
    if item.sensitivity is not None:
        yield "sensitivity", item.sensitivity
    if item.lattice is not None:
        yield "lattice", item.lattice
    for bound in item.range or ():
        yield "range", bound
