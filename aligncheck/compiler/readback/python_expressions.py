"""Python expressions as expressions of the language, by what the runtime's functions are defined to give."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from aligncheck.compiler.forms.rational import COMPUTED, enclosed, fixed
from aligncheck.compiler.readback.number_kinds import AS_INT, AS_REAL, constant
from aligncheck.compiler.readback.python_patterns import ReadError, keywords, match, refuse, text
from aligncheck.language.source import Span
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.nodes import Expr
from aligncheck.language.syntax.walk import names_in, subexpressions
from aligncheck.runtime.errors import NumericError

_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.And: "and",
    ast.Or: "or",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
_SCALAR = {
    "abs(_A)": "abs",
    "absolute(_A)": "abs",
    "min(_A, _B, *_C)": "min",
    "max(_A, _B, *_C)": "max",
    "clip(_A, _B, _C)": "clip",
    "sqrt(_A)": "sqrt",
    "exp(_A)": "exp",
    "ln(_A)": "ln",
    "log2(_A)": "log2",
    "sqrt_up(_A)": "sqrt up",
    "sqrt_down(_A)": "sqrt down",
    "ln_up(_A)": "ln up",
    "ln_down(_A)": "ln down",
}
"""Functions of numbers: `absolute` and `abs` give the same on numbers of any kind."""
_ELEMENTWISE = {
    "abs(_A)": "abs",
    "minimum(_A, _B, *_C)": "min",
    "maximum(_A, _B, *_C)": "max",
    "clipped(_A, _B, _C)": "clip",
}
"""The same functions of the numbers at each index."""
_PAIRS = {f"{name}_of": name for name in ("argmax", "argmin", "top", "upto")}
_VALUES = {"max_of": "max", "min_of": "min", "log_sum_exp_of": nodes.LOG_SUM}
_ARRAYS = {n: n for n in ("argmax", "argmin", "top", "upto")} | {"greatest": "max", "least": "min"}
_OF_ARRAYS = frozenset({"vector", "members", "indices"})
ARRAY_FUNCTIONS = _OF_ARRAYS | {*_ARRAYS, "minimum", "maximum", "clipped"}
"""What works on arrays, beside `abs`."""
BUILTINS = frozenset({"abs", "all", "enumerate", "getattr", "len", "max", "min", "range", "sum", "super"})

_fresh = itertools.count()


@dataclass
class Expressions:
    """Reads expressions where `names` are known: text of Python to the identifier of the language.

    `counted` are the parameters that are numbers of steps, whose Python value is that many times `step`.
    `exact`: irrational numbers are rational ones near them. `functions` are the public functions, by their
    Python names; `lengths` says of lists how long they are; `filled` are those that may have one entry more;
    `releases` what the fields of records are called that calls gave, by their Python names. `quotients` and
    `masks` collect the operations that are right for some kinds of numbers only; `passed` what public
    functions are given, which see of what kind it is; `whole` what must be an int: indices, and what
    fractions are made of, since not every number can be made one; `numbers` what `-` would make a number of
    if it were a truth value.
    """

    names: dict[str, str]
    exact: bool
    step: Expr | None = None
    counted: frozenset[str] = frozenset()
    functions: Mapping[str, str] = field(default_factory=dict)
    lengths: dict[str, Expr] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    releases: dict[str, Mapping[str, str]] = field(default_factory=dict)
    quotients: list[nodes.Binary] = field(default_factory=list)
    masks: list[Expr] = field(default_factory=list)
    passed: list[Expr] = field(default_factory=list)
    whole: list[Expr] = field(default_factory=list)
    numbers: list[Expr] = field(default_factory=list)

    # --- names --------------------------------------------------------------------------------------------

    def known(self, node: ast.AST) -> str | None:
        """The identifier that a name, `self.name` or `release.given[...]` stands for."""
        return (
            self.names.get(ast.unparse(node))
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
            else None
        )

    def ident(self, node: ast.AST) -> str:
        """The same, of something that must be known."""
        found = self.known(node)
        if found is None:
            raise refuse(node, f"`{_shown(node)}` is no name that is known here")
        return found

    def _steps(self, ident: str, expr: Expr) -> Expr:
        if ident not in self.counted or self.step is None:
            return expr
        return nodes.Binary("*", expr, self.step, span=expr.span)

    # --- scalars ------------------------------------------------------------------------------------------

    def read(self, node: ast.expr) -> Expr:
        """The expression that Python computes at a node."""
        at = Span(node.lineno, node.lineno)
        ident = self.known(node)
        if ident is not None:
            return self._steps(ident, nodes.Name(ident, span=at))
        match node:
            case ast.Constant(value=bool(value)):
                return nodes.Boolean(value, span=at)
            case ast.Constant(value=int(number)):
                return nodes.Number(Fraction(number), span=at)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self.numbers.append(self.read(operand))
                return nodes.Unary("-", self.numbers[-1], span=at)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return nodes.Unary("not", self.read(operand), span=at)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(times)) as right) if (
                0 <= times <= 64
            ):
                return self.binary("**", self.read(left), self.read(right), at)
            case ast.BinOp(
                left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Mod() as op, right=right
            ):
                return self.binary(_OPERATORS[type(op)], self.read(left), self.read(right), at)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[right]):
                member = nodes.Member(self.index(left), self.ident(right), span=at)
                return member if isinstance(op, ast.In) else nodes.Unary("not", member, span=at)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return nodes.Compare(_OPERATORS[type(op)], self.read(left), self.read(right), span=at)
            case ast.BoolOp(op=op, values=values):
                return nodes.Logic(_OPERATORS[type(op)], tuple(map(self.read, values)), span=at)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return nodes.Conditional(self.read(test), self.read(then), self.read(otherwise), span=at)
            case ast.Subscript(value=base, slice=index):
                ident = self.ident(base)
                return self._steps(ident, nodes.Index(ident, self.index(index), span=at))
            case ast.Attribute(value=ast.Subscript(value=of, slice=index), attr=name):
                return self._field(of, index, name, at)
            case ast.Call():
                return self._call(node, at)
            case ast.expr():
                pass
        raise refuse(node, f"`{_shown(node)}` is no expression that the reader knows")

    def index(self, node: ast.expr) -> Expr:
        """An index, a number of draws or an end of a range. The language has whole numbers there and nowhere
        else makes sure of it: so here alone `whole`, which raises for other numbers, raises nothing. Python
        wants ints there.
        """
        if holes := match("whole(_X)", node):
            return nodes.Call(AS_INT, (self.read(holes["X"]),), span=Span(node.lineno, node.lineno))
        self.whole.append(self.read(node))
        return self.whole[-1]

    def binary(self, op: str, left: Expr, right: Expr, at: Span) -> nodes.Binary:
        """Arithmetic with Python's operator."""
        made = nodes.Binary(op, left, right, span=at)
        if op == "/":
            self.quotients.append(made)
        return made

    def _field(self, of: ast.expr, index: ast.expr, name: str, at: Span) -> Expr:
        call = self.ident(of)
        if call not in self.releases or name not in self.releases[call]:
            raise refuse(of, f"`.{name}` is no field of what a call released")
        return nodes.OutField(self.index(index), self.releases[call][name], call, span=at)

    def _call(self, node: ast.Call, at: Span) -> Expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in self.functions and not node.keywords:
            args = tuple(map(self.read, node.args))
            self.passed += args
            return nodes.Call(self.functions[name], args, span=at)
        if (found := self._gather(node, name, at)) is not None:
            return found
        if (found := self._of_records(node, at)) is not None:
            return found
        for pattern, function in _SCALAR.items():
            if match(pattern, node) is not None:
                return self._function(function, tuple(map(self.read, node.args)), at)
        if holes := match("len(_X)", node):
            return nodes.Call("len", (nodes.Name(self.ident(holes["X"])),), span=at)
        if holes := match("math.floor(_X)", node):
            return self._floor(holes["X"], at)
        if holes := match("one_minus_exp(_X)", node):
            one = nodes.Number(Fraction(1))
            return nodes.Binary("-", one, self._function("exp", (self.read(holes["X"]),), at), span=at)
        if holes := match("Fraction(_X)", node):
            self.whole.append(self.read(holes["X"]))
            return nodes.Call(AS_REAL, (self.whole[-1],), span=at)
        if holes := match("Fraction(_X, _Y)", node):
            quotient = nodes.Binary("/", self.read(holes["X"]), self.read(holes["Y"]), span=at)
            self.whole += [quotient.left, quotient.right]
            return nodes.Call(AS_REAL, (quotient,), span=at)
        raise refuse(
            node, f"`{_shown(node.func)}` is no call that the reader knows, or not with these arguments"
        )

    def _function(self, function: str, args: tuple[Expr, ...], at: Span) -> Expr:
        if function not in COMPUTED or not self.exact:
            return nodes.Call(function, args, span=at)
        value = fixed(nodes.Call(function, args))
        if value is None:
            near = enclosed(function, args[0], lambda x: nodes.Call(f"near {function}", (x,), span=at))
            return nodes.Call(AS_REAL, (near,), span=at)
        try:
            return nodes.Call(AS_REAL, (nodes.Number(COMPUTED[function](value)),), span=at)
        except NumericError as error:
            raise ReadError(at.start, str(error)) from None

    def _floor(self, node: ast.expr, at: Span) -> Expr:
        """Roots and binary logarithms are rounded down exactly."""
        for function in ("sqrt", "log2"):
            if holes := match(f"{function}(_X)", node):
                inner: Expr = nodes.Call(function, (self.read(holes["X"]),), span=at)
                return nodes.Call("floor", (inner,), span=at)
        return nodes.Call("floor", (self.read(node),), span=at)

    def _of_records(self, node: ast.Call, at: Span) -> Expr | None:
        """What is asked of the records that were released, here or by a call."""
        own = self.names.get("release", "")  # known in a claim alone
        if own and match("release.count()", node) is not None:
            return nodes.OutCount(None, own, span=at)
        if own and (holes := match("release.count(_S)", node)):
            return nodes.OutCount(text(holes["S"]), own, span=at)
        if holes := match("sum(record.tag == _S for record in _X)", node):
            return nodes.OutCount(text(holes["S"]), self._released(holes["X"]), span=at)
        if holes := match("has_tag(_X, _I, _S)", node):
            of = self._released(holes["X"])
            return nodes.OutIs(self.index(holes["I"]), text(holes["S"]), of, span=at)
        if holes := match("getattr(_X[_I], _S)", node):
            return self._field(holes["X"], holes["I"], text(holes["S"]), at)
        return None

    def _released(self, node: ast.expr) -> str:
        call = self.ident(node)
        if call not in self.releases:
            raise refuse(node, f"`{_shown(node)}` is not what a call released")
        return call

    # --- sets ---------------------------------------------------------------------------------------------

    def _gather(self, node: ast.Call, name: str, at: Span) -> Expr | None:
        if name in _ARRAYS:
            return self._array_gather(node, _ARRAYS[name], at)
        if name in _PAIRS:
            function = _PAIRS[name]
            holes = match(f"{name}({'_N, ' if function in nodes.SELECTING else ''}_G)", node)
            if holes is None:
                raise refuse(node, f"`{name}` is not called so")
            count = self.index(holes["N"]) if "N" in holes else None
            return self.generator(function, holes["G"], at, first=1, count=count)
        if name in _VALUES and (holes := match(f"{name}(_G)", node)) is not None:
            return self.generator(_VALUES[name], holes["G"], at)
        if name == "sum" and match("sum(record.tag == _S for record in _X)", node) is None:
            if holes := match("sum(_G)", node):
                return self.generator("sum", holes["G"], at)
            if holes := match("sum(_G, Fraction(0))", node):
                return nodes.Call(AS_REAL, (self.generator("sum", holes["G"], at),), span=at)
        return None

    def generator(
        self, function: str, node: ast.expr, at: Span, *, first: int = 0, count: Expr | None = None
    ) -> nodes.Gather:
        """A set that a generator goes through by rising index. Where its elements are tuples, the first one
        is the index, and `first` says how many more there are; a factor and a logarithm give a weight.
        """
        if not isinstance(node, ast.GeneratorExp | ast.ListComp) or len(node.generators) != 1:
            raise refuse(node, "one `for` was expected here")
        (part,) = node.generators
        if part.is_async or not isinstance(part.target, ast.Name) or len(part.ifs) > 1:
            raise refuse(node, "a plain `for` with at most one `if` was expected here")
        over = self.over_range(part.iter)
        python, index = part.target.id, f"{part.target.id}#{next(_fresh)}"
        outer = self.names.get(python)
        self.names[python] = index
        try:
            elements = [node.elt]
            if first:
                if not isinstance(node.elt, ast.Tuple) or len(node.elt.elts) != first + 1:
                    raise refuse(node, "the index and its value were expected here")
                elements = node.elt.elts[1:]
                if self.known(node.elt.elts[0]) != index:
                    raise refuse(node, "the index must come first")
            body = [self.read(each) for each in elements]
            where = self.read(part.ifs[0]) if part.ifs else None
        finally:
            del self.names[python]
            if outer is not None:
                self.names[python] = outer
        weight = body[0] if len(body) == 1 else nodes.Binary("*", body[0], _exp(body[1]), span=at)
        return nodes.Gather(function, count, weight, index, over, where, span=at)

    def over_range(self, node: ast.expr) -> nodes.OverRange:
        """The indices that `range` gives."""
        zero = nodes.Number(Fraction(0))
        if holes := match("range(_H)", node):
            return nodes.OverRange(zero, self.index(holes["H"]))
        if holes := match("range(_L, _H)", node):
            return nodes.OverRange(self.index(holes["L"]), self.index(holes["H"]))
        raise refuse(node, "`range` was expected here")

    def _array_gather(self, node: ast.Call, function: str, at: Span) -> Expr:
        selecting = function in nodes.SELECTING
        holes = match(f"_F({'_N, ' if selecting else ''}_A)", ast.Call(node.func, node.args, []))
        given = keywords(node)
        if holes is None or not set(given) <= {"where"}:
            raise refuse(node, "a selection is not called so")
        index = f"j#{next(_fresh)}"
        # Where something is selected, something is eligible, so that its value was computed in any case.
        length = _ArrayReader(self, index).length(holes["A"], given.get("where"))
        filled = names_of_length(length) in self.filled

        def parts(everywhere: bool) -> tuple[Expr, Expr | None]:
            reading = _ArrayReader(self, index, known=length)
            where = None if "where" not in given else reading.read(given["where"], certain=everywhere)
            return reading.read(holes["A"], certain=everywhere and where is None), where

        body, where = parts(filled or not selecting)
        if selecting and any(e is not None and speaks_of_lists(e, index) for e in (body, where)):
            parts(False)
        count = self.index(holes["N"]) if selecting else None
        over = nodes.OverRange(nodes.Number(Fraction(0)), length)
        return nodes.Gather(function, count, body, index, over, where, span=at)


def names_of_length(length: Expr) -> str | None:
    """The list whose length an expression is."""
    if isinstance(length, nodes.Call) and length.function == "len" and len(length.args) == 1:
        (base,) = length.args
        return base.ident if isinstance(base, nodes.Name) and not base.primed else None
    return None


@dataclass
class _ArrayReader:
    """Reads an array as the expression whose value at each `index` it holds.

    The whole array is computed, at indices too where the language computes nothing. So what might have no
    value there is taken only where it is `certain` that the language computes it at all indices.
    """

    scalars: Expressions
    index: str
    lasting: set[Expr] = field(default_factory=set)
    known: Expr | None = None

    def length(self, *arrays: ast.expr | None) -> Expr:
        """How many indices there are: all parts of the arrays must say the same."""
        found: list[Expr] = []
        for node in (each for array in arrays if array is not None for each in ast.walk(array)):
            if holes := match("vector(_X)", node):
                ident = self.scalars.ident(holes["X"])
                if ident not in self.scalars.lengths:
                    raise refuse(node, f"the length of `{ident}` is not known")
                found.append(self.scalars.lengths[ident])
            elif holes := (
                match("vector(_X, _N)", node) or match("members(_X, _N)", node) or match("indices(_N)", node)
            ):
                found.append(self.scalars.index(holes["N"]))
        if not found or any(each != found[0] for each in found):
            raise refuse(next(a for a in arrays if a is not None), "arrays of different or no lengths")
        self.known = found[0]
        return found[0]

    def read(self, node: ast.expr, *, certain: bool) -> Expr:
        at = Span(node.lineno, node.lineno)
        if not _is_array(node):
            expr = self.scalars.read(node)
            if not (certain or is_total(expr) or expr in self.lasting):
                raise refuse(node, f"`{_shown(node)}` may have no value")
            if certain:
                self.lasting.add(expr)
            return expr
        index = nodes.Name(self.index, span=at)
        if holes := (match("vector(_X)", node) or match("vector(_X, _N)", node)):
            ident = self.scalars.ident(holes["X"])
            if ident not in self.scalars.lengths:
                raise refuse(node, f"`{ident}` may be no list")
            if not certain and self.scalars.lengths.get(ident) != self.known:
                raise refuse(node, f"`{ident}` may be too short")
            return self.scalars._steps(ident, nodes.Index(ident, index, span=at))
        if holes := match("members(_X, _N)", node):
            return nodes.Member(index, self.scalars.ident(holes["X"]), span=at)
        for pattern, function in _ELEMENTWISE.items():
            if isinstance(node, ast.Call) and match(pattern, node) is not None:
                arguments = tuple(self.read(each, certain=certain) for each in node.args)
                return nodes.Call(function, arguments, span=at)
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self.scalars.numbers.append(self.read(operand, certain=certain))
                return nodes.Unary("-", self.scalars.numbers[-1], span=at)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return nodes.Unary("not", self._mask(operand, certain), span=at)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right):
                args = (self._mask(left, certain), self._mask(right, False))
                return nodes.Logic(_OPERATORS[type(op)], args, span=at)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
                if isinstance(op, ast.Div) and not _is_divisor(self.scalars, right):
                    raise refuse(node, "arrays are divided by numbers other than 0 alone")
                parts_ = self.read(left, certain=certain), self.read(right, certain=certain)
                return self.scalars.binary(_OPERATORS[type(op)], *parts_, at)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                # Indices are of 64 bits, and arithmetic may leave these: so they are compared alone.
                pair = (
                    index if match("indices(_N)", each) is not None else self.read(each, certain=certain)
                    for each in (left, right)
                )
                return nodes.Compare(_OPERATORS[type(op)], *pair, span=at)
        raise refuse(node, f"`{_shown(node)}` is nothing on arrays that the reader knows")

    def _mask(self, node: ast.expr, certain: bool) -> Expr:
        read = self.read(node, certain=certain)
        self.scalars.masks.append(read)
        return read


def _is_array(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id in _OF_ARRAYS for n in ast.walk(node))


def _is_divisor(scalars: Expressions, node: ast.expr) -> bool:
    return not _is_array(node) and bool(constant(scalars.read(node)))


def _exp(log: Expr) -> Expr:
    return nodes.Call("exp", (log,), span=log.span)


def speaks_of_lists(expr: Expr, index: str | None = None) -> bool:
    """Whether an expression reads a length, or an entry that is not at this index: all else that has a value
    where a list has entries has one where it has none.
    """
    return any(
        (isinstance(e, nodes.Index) and index not in names_in(e.index))
        or (isinstance(e, nodes.Call) and e.function == "len")
        for e in subexpressions(expr)
    )


def is_total(expr: Expr) -> bool:
    """Whether an expression has a value whatever the values of its names."""
    return all(map(_has_value, subexpressions(expr)))


def _has_value(expr: Expr) -> bool:
    match expr:
        case nodes.Binary(op="/", right=right):
            return bool(constant(right))
        case nodes.Binary(op="+" | "-" | "*" | "**"):  # an exponent is written out, from 0 on
            return True
        case nodes.Number() | nodes.Boolean() | nodes.Name() | nodes.Unary():
            return True
        case nodes.Compare() | nodes.Logic() | nodes.Conditional() | nodes.Member() | nodes.OutCount():
            return True
        case nodes.Call(function=function):
            return function in ("abs", "min", "max", "clip", "floor", "len", AS_REAL)
        case nodes.Index() | nodes.Binary() | nodes.OutIs() | nodes.OutField() | nodes.Gather():
            pass
    return False


def _shown(node: ast.AST) -> str:
    shown = ast.unparse(node)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
