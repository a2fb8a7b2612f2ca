"""The value of an expression in the run on D (0) or on D' (1), as a Z3 term.

One function gives the value, demands that it is defined, and states the facts that define the symbols in it,
in that order: nothing is assumed of a value before it is shown to exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add, eq, ge, gt, le, lt, mul, ne, sub

import z3

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.logic import Kind
from aligncheck.kernel.state import Mode, Path, RecordList, Scope, Selection
from aligncheck.kernel.symbols import Given, Rule
from aligncheck.kernel.terms import (
    Anatomy,
    Term,
    absolute,
    alike,
    anatomy,
    both,
    either,
    floor,
    implies,
    real,
    same,
    subterms,
)
from aligncheck.kernel.witness import own
from aligncheck.kernel.world import World
from aligncheck.language.syntax import nodes as n

SORTS: dict[n.Sort, tuple[str, Callable[[Term], bool]]] = {
    n.Sort.REAL: ("a number", lambda term: not z3.is_bool(term)),
    n.Sort.INT: ("a whole number", z3.is_int),
    n.Sort.BOOL: ("a truth value", z3.is_bool),
}
"""What a value of each sort is, and how Z3's terms tell."""
OPERATIONS = {"+": add, "-": sub, "*": mul}
COMPARISONS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
"""No tree has other operators: see `form`."""
ROOT, EXP, LN, LOG2 = "sqrt", "exp", "ln", "log2"
QUOTIENT, REST, NAMED = "whole quotient", "rest", "the index"
ABOVE = "ln of the chance of a logistic number to be above 0"
OF_COMPLETE = (Mode.ALIGN, Mode.LEVEL, Mode.TWIN, Mode.RELATION)
"""Who speaks of complete runs on D and on D', and may read either, the output, and what is computed later."""


class Evaluator(World):
    """Values of expressions; sets of indices come in the next layer."""

    read_draw: Callable[[n.Expr, str, Term, Scope], Term]
    """A draw that is read: in the layer of the alignment, since the order of draws is a matter of it."""

    gathered: Callable[[n.Gather, Scope], Term]
    """The value of a set expression: in the next layer."""

    added: Callable[[str, tuple[n.Gather, n.Gather], Scope], Term]
    """Two sums over one range, added or subtracted."""

    def prepare_symbols(self) -> None:
        """The symbols that expressions may need."""
        s = self.symbols
        for f in (ROOT, EXP, LN, LOG2, ABOVE):
            self.rules.setdefault(f, s.function(f, (s.REAL,), s.REAL, Rule()))
        self.applied: dict[int, tuple[Term, list[Term]]] = {}
        self.out = self.output()

    def demand(self, scope: Scope, condition: Term, sentence: str) -> None:
        """That an operation is defined.

        A program's operation on D is decided at once, from what is true of every run so far (RUN): so it
        holds of every run on every input, and of the run on D' too, which is one of them while it goes the
        same way; there it is a fact. A line of the alignment is evaluated for complete runs, and owes it like
        any other obligation. Invariants are formulas; the functions in them are total in the logic, and what
        is shown is what is used.
        """
        goal = implies(scope.guard, condition)
        match scope.mode:
            case Mode.TWIN | Mode.PROGRAM if scope.run:  # a run like those for which it is shown
                self.state(self.kind(scope), scope, condition)
            case Mode.PROGRAM | Mode.CLAUSE:
                self.prove(scope.path, "defined", scope.place, sentence, goal)
            case Mode.ALIGN:
                scope.path.oblige("defined", scope.place, sentence, goal)
            case Mode.TWIN | Mode.LEVEL | Mode.EARLY | Mode.RELATION:
                pass

    def kind(self, scope: Scope) -> Kind:
        """Of which kind a definition is that is made where the scope is."""
        if scope.run == 2 or scope.mode is Mode.TWIN:
            return Kind.TWIN
        if scope.run == 1 and scope.mode is not Mode.CLAUSE:
            return Kind.PRIME
        return Kind.WHOLE if scope.mode in OF_COMPLETE else Kind.RUN

    def program(self, node: n.Node, path: Path) -> Scope:
        """The scope of a statement's own expressions."""
        return self.scope(Mode.PROGRAM, path, node.span)

    def in_runs(self, node: n.Node, path: Path) -> list[Scope]:
        """The same in every run."""
        return [self.program(node, path).of(run) for run in self.runs]

    # --- expressions --------------------------------------------------------------------------------------

    def number(self, e: n.Expr, scope: Scope) -> Term:
        """The value of an expression that is a number, whole or not."""
        return self._fits(e, self.value(e, scope), n.Sort.REAL)

    def whole_number(self, e: n.Expr, scope: Scope) -> Term:
        """The value of an expression that is a whole number."""
        return self._fits(e, self.value(e, scope), n.Sort.INT)

    def truth(self, e: n.Expr, scope: Scope) -> Term:
        """The value of an expression that is a truth value."""
        return self._fits(e, self.value(e, scope), n.Sort.BOOL)

    def as_sort(self, e: n.Node, term: Term, sort: n.Sort) -> Term:
        """The value as one of a declared sort."""
        term = self._fits(e, term, sort)
        return real(term) if sort is n.Sort.REAL else term

    def _fits(self, e: n.Node, term: Term, sort: n.Sort) -> Term:
        what, fits = SORTS[sort]
        if not fits(term):
            raise Reject("form", e.span, f"{what} is needed here")
        return term

    def value(self, e: n.Expr, scope: Scope) -> Term:
        """The value of any expression. Raises Reject for what has no value here."""
        s = self.symbols
        match e:
            case n.Number(value=v):
                return s.integer(v.numerator) if v.denominator == 1 else s.ctx.rational(v)
            case n.Boolean(value=v):
                return s.true if v else s.false
            case n.Name(ident=x, primed=primed):
                return self._name(e, x, primed, scope)
            case n.Index(base=x, index=i, primed=primed):
                return self._index(e, x, self.whole_number(i, scope), primed, scope)
            case n.Call(function="len", args=args):
                return self._length(e, args, scope)
            case n.Call(function=f, args=args):
                scope = replace(scope, testing=scope.testing or f == "floor")
                return self._call(e, f, [self.value(a, scope) for a in args], scope)
            case n.Unary(op="-", operand=x):
                return -self.number(x, scope)
            case n.Unary(operand=x):
                return z3.Not(self.truth(x, scope))
            case n.Binary(op="**", left=x, right=power):
                return self._power(e, self.number(x, scope), power)
            case n.Binary(
                op="+" | "-" as op, left=n.Gather(function="sum") as x, right=n.Gather(function="sum") as y
            ) if x.over == y.over and x.count is y.count is None and scope.mode is not Mode.LEVEL:
                return self.added(op, (x, y), scope)
            case n.Binary(op=op, left=x, right=y):
                return self._arithmetic(e, op, self.number(x, scope), self.number(y, scope), scope)
            case n.Compare(op=op, left=x, right=y):
                return self._compare(e, op, x, y, scope)
            case n.Logic(op=op, args=args):
                return self._logic(op, args, scope)
            case n.Conditional(test=test, then=x, otherwise=y):
                on = self.truth(test, replace(scope, testing=True))
                one = self.value(x, scope.under(on))
                return self.choice(e, on, one, self.value(y, scope.under(z3.Not(on))))
            case n.OutIs(index=i, tag=tag, of=of):
                return self._records(e, of, scope).tagged(self.whole_number(i, scope), (tag,))
            case n.OutField(index=i, field=f, of=of):
                return self._field(e, self.whole_number(i, scope), f, of, scope)
            case n.OutCount(tag=tag, of=of):
                return self._count(e, tag, of, scope)
            case n.Member(index=i, selection=w):
                return self.selection(e, w, scope).member(self.whole_number(i, scope))
            case n.Gather():
                return self.gathered(e, scope)

    def choice(self, e: n.Node, test: Term, one: Term, other: Term) -> Term:
        """One of two values of one sort."""
        if z3.is_bool(one) != z3.is_bool(other):
            raise Reject("form", e.span, "a number or a truth value, not both")
        one, other = alike(one, other)
        return one if same(one, other) else z3.If(test, one, other)

    def _logic(self, op: str, args: tuple[n.Expr, ...], scope: Scope) -> Term:
        """Each operand is evaluated only where those before it have not decided."""
        terms = []
        for arg in args:
            terms.append(self.truth(arg, scope))
            scope = scope.under(terms[-1] if op == "and" else z3.Not(terms[-1]))
        s = self.symbols
        return both(s.true, *terms) if op == "and" else either(s.false, *terms)

    # --- names --------------------------------------------------------------------------------------------

    def _primed(self, e: n.Expr, primed: bool, scope: Scope, data: bool) -> Scope:
        """The run that a name speaks of."""
        if primed and scope.mode not in OF_COMPLETE and not (data and scope.mode is Mode.EARLY):
            raise Reject("form", e.span, "a prime has no meaning here")
        return scope.of(1) if primed else scope

    def _name(self, e: n.Expr, x: str, primed: bool, scope: Scope) -> Term:
        scope = self._primed(e, primed, scope, x in self.lists)
        for name, term in reversed(scope.bound):
            if name == x:
                return term
        if x in self.public:
            return self.public[x]
        if x in self.lists and x in self.single:
            return self.lists[x][scope.run](self.symbols.zero)
        mode, of_program = scope.mode, scope.mode is not Mode.CLAUSE
        if of_program and x in scope.path.values and (mode is not Mode.LEVEL or x in self.settled):
            return scope.path.values[x][scope.run]
        if of_program and x in self.noise:
            return self.read_draw(e, x, self.symbols.zero, scope)
        if mode in OF_COMPLETE and x in scope.path.selections and scope.path.selections[x].single:
            return scope.path.selections[x].at(self.symbols.zero)
        if mode in OF_COMPLETE and x in scope.path.late:
            return scope.path.late[x][scope.run]
        if mode is Mode.LEVEL and x in self.sorts:
            return self.held(x, self.sort(self.sorts[x]))
        if mode in (Mode.EARLY, Mode.RELATION):  # only these speak of it; of the cost, which is of both runs,
            of_both = mode is Mode.EARLY and x.endswith("alignment_cost")  # only the latter
            if x in self.marks or (x in scope.path.ghosts and not of_both):
                return (self.marks if x in self.marks else scope.path.ghosts)[x]
        raise Reject("defined", e.span, f"`{x}` has no value here")

    def _index(self, e: n.Expr, x: str, at: Term, primed: bool, scope: Scope) -> Term:
        scope = self._primed(e, primed, scope, x in self.lists)
        if x in self.lists and x not in self.single:
            inside = both(at >= 0, at < self.lengths[x])
            self.demand(scope, inside, f"the index of {x} is within its length")
            return self.lists[x][scope.run](at)
        if x in self.noise and scope.mode is not Mode.CLAUSE:
            return self.read_draw(e, x, at, scope)
        if x in scope.path.selections and not primed:
            w = self.selection(e, x, scope)
            self.demand(scope, both(at >= 0, at < w.count), f"the place in {x} is within its length")
            return w.at(at)
        if scope.mode in (Mode.EARLY, Mode.RELATION):
            if x in self.moved:
                return self.moved[x](at)
            for name in (name for name in scope.path.selections if x == own("below", name)):
                return self.selection(e, name, scope).below(at)
        raise Reject("defined", e.span, f"`{x}[…]` has no value here")

    def selection(self, e: n.Expr, x: str, scope: Scope) -> Selection:
        """A selection that is read: by the program after it was made, by the alignment anywhere (that of a
        round for draws of this round only); never by a claim, which speaks of the output.
        """
        w, mode = scope.path.selections.get(x), scope.mode
        here = w is not None and (mode in OF_COMPLETE or (w.made and mode is not Mode.CLAUSE))
        if w is None or not here or (w.since and mode is Mode.LEVEL):
            raise Reject("defined", e.span, f"`{x}` is no selection that was made before")
        return w

    def _length(self, e: n.Expr, args: tuple[n.Expr, ...], scope: Scope) -> Term:
        match args:
            case (n.Name(ident=x, primed=False),) if x in scope.path.selections:
                return self.selection(e, x, scope).count
            case (n.Name(ident=x, primed=False),) if x in scope.path.calls:
                return self._records(e, x, scope).length
            case (n.Name(ident=x),) if x in self.lengths and x not in self.single:
                return self.lengths[x]
            case _:
                raise Reject("form", e.span, "`len` takes the name of a list, a selection or a call")

    # --- released records ---------------------------------------------------------------------------------

    def _records(self, e: n.Expr, of: str, scope: Scope) -> RecordList:
        """The records of the output, for the alignment; or of a call that was made before."""
        if of == "out":
            if scope.mode not in OF_COMPLETE:
                raise Reject("form", e.span, "the output is read in `align` only")
            return self.out
        fixed = self.once(of) or scope.mode is not Mode.LEVEL
        if of in scope.path.calls and fixed and scope.mode is not Mode.CLAUSE:
            return scope.path.calls[of]
        raise Reject("defined", e.span, f"nothing was released by `{of}` yet")

    def once(self, call: str) -> bool:
        """Whether a call is made once, at the top level: what it released stays the same."""
        return any(isinstance(s, n.Invoke) and s.name == call for s in self.spec.body)

    def _field(self, e: n.Expr, at: Term, f: str, of: str, scope: Scope) -> Term:
        records = self._records(e, of, scope)
        if f not in records.fields:
            raise Reject("form", e.span, f"no record has a field `{f}`")
        there = records.tagged(at, records.having[f])
        self.demand(scope, there, f"there is a record with the field {f}")
        return records.fields[f](at)

    def _count(self, e: n.Expr, tag: str | None, of: str, scope: Scope) -> Term:
        claimed = of == "out" and scope.mode is Mode.CLAUSE and scope.path.ghosts  # at the end of a run
        records = self.out if claimed else self._records(e, of, scope)
        if tag is None:
            return records.length
        if (counted := own("count", tag)) in records.counts:
            return records.counts[counted]
        zero, one = (n.Number(Fraction(x), span=e.span) for x in (0, 1))
        is_tag = n.Conditional(n.OutIs(n.Name(own("at")), tag, of), one, zero, span=e.span)
        over = n.OverRange(zero, n.Call("len", (n.Name(of),), span=e.span), span=e.span)
        total = self.gathered(n.Gather("sum", None, is_tag, own("at"), over, None, span=e.span), scope)
        return total.arg(0) if z3.is_app_of(total, z3.Z3_OP_TO_REAL) else total

    # --- operations ---------------------------------------------------------------------------------------

    def _power(self, e: n.Expr, base: Term, power: n.Expr) -> Term:
        if not isinstance(power, n.Number) or power.value.denominator != 1 or not 0 <= power.value <= 16:
            raise Reject("form", e.span, "an exponent is a whole number from 0 to 16")
        return reduce(mul, [base] * int(power.value)) if power.value else self.symbols.integer(1)

    def _arithmetic(self, e: n.Expr, op: str, x: Term, y: Term, scope: Scope) -> Term:
        if op == "/":
            self.demand(scope, y != 0, "the divisor is not 0")
            return divided(real(x), real(y))
        if op == "%":
            if not (z3.is_int(x) and z3.is_int(y)):
                raise Reject("language", e.span, "% of numbers that are not whole")
            self.demand(scope, y > 0, "the modulus is positive")
            inside, level = set(subterms(x)), scope.mode is Mode.LEVEL  # of all draws: a symbol tells which
            rounds = [t for t in self.quotients if level or inside & {anatomy(t * y), anatomy(y * t)}]
            rest = self.whole_rule(REST, x, y) if level else x % y
            if level:
                self._always(scope, rest == x % y)
            # Of a row's place, `t*y + j`, the round may be the quotient: then what is left is the remainder.
            for t in (*self.apart, *rounds):
                self._always(scope, implies(both(t * y <= x, x < t * y + y), rest == x - t * y))
            return rest
        return OPERATIONS[op](*alike(x, y))

    def _compare(self, e: n.Expr, op: str, left: n.Expr, right: n.Expr, scope: Scope) -> Term:
        match left, right:
            case n.Name(ident=a), n.Name(ident=b) if a == b and a in self.lists and a not in self.single:
                return self._entrywise(e, op, left, right, scope)
        x, y = (self.value(side, replace(scope, testing=True)) for side in (left, right))
        if z3.is_bool(x) != z3.is_bool(y) or (z3.is_bool(x) and op not in ("==", "!=")):
            raise Reject("form", e.span, "these cannot be compared")
        return COMPARISONS[op](*alike(x, y))

    def _entrywise(self, e: n.Expr, op: str, left: n.Name, right: n.Name, scope: Scope) -> Term:
        """`q <= q'`, true or false for all entries together: a truth value that depends on D and D' alone. If
        it is true the comparison holds at every index, and if not it fails at one.
        """
        if scope.mode not in OF_COMPLETE or op not in ("<=", ">=") or left.primed == right.primed:
            raise Reject("form", e.span, "lists are compared as `q <= q'` or `q >= q'`, in `align`")
        x, s = left.ident, self.symbols
        rising = (op == "<=") != left.primed
        truth = self.kept(("all", x, rising), lambda: s.constant(f"all of {x}", s.BOOL, Given()))
        fails, j = (self.kept((word, x, rising), lambda: self.index("j")) for word in ("fails", "any"))
        on_d, on_other = (real(f(j)) for f in self.lists[x][:2])
        holds = on_d <= on_other if rising else on_d >= on_other
        inside = both(j >= 0, j < self.lengths[x])
        scope.path.fact(Kind.RUN, implies(both(truth, inside), holds), (j,))
        scope.path.fact(Kind.RUN, either(truth, z3.substitute(both(inside, z3.Not(holds)), (j, fails))))
        return truth

    def _call(self, e: n.Expr, f: str, args: list[Term], scope: Scope) -> Term:
        if f in self.functions:
            return self._public(e, f, args, scope)
        if any(z3.is_bool(a) for a in args):
            raise Reject("form", e.span, f"`{f}` takes numbers")
        match f, args:
            case "abs", [x]:
                return absolute(x)
            case (("min" | "max"), [_, _, *_]):
                beats = le if f == "min" else ge
                return reduce(lambda best, x: z3.If(beats(x, best), x, best), alike(*args))
            case "clip", [x, low, high]:
                x, low, high = real(x), real(low), real(high)
                self.demand(scope, low <= high, "the bounds of clip are in order")
                return z3.If(x < low, low, z3.If(x > high, high, x))
            case "floor", [x]:
                return x if z3.is_int(x) else self._floor(x, scope)
            case "sqrt", [x]:
                self.demand(scope, x >= 0, "a root of no negative number")
                root = self.rules[ROOT](real(x))
                self._always(scope, implies(x >= 0, both(root >= 0, root * root == real(x))))
                return root
            case (("ln" | "log2" | "exp"), [x]):
                if f != EXP:
                    self.demand(scope, x > 0, "a logarithm of a positive number")
                value = self.log(real(x)) if f == LN else self.rules[f](real(x))
                if f == LN and scope.mode in (Mode.EARLY, Mode.RELATION):  # where x may be 0: see `divided`
                    value = self.choice(e, x != 0, value, self.rules[LN](self.symbols.none))
                log, of = (x, value) if f == EXP else (value, x)
                for sign, side in ((log > 0, of > 1), (log == 0, of == 1), (log < 0, both(of > 0, of < 1))):
                    self._always(scope, implies(sign, side) if f == EXP else implies(side, sign))
                return value
            case _:
                raise Reject("form", e.span, f"`{f}` is no function of {len(args)} numbers")

    def whole_rule(self, name: str, *args: Term) -> Term:
        """A fixed function of whole numbers."""
        if name not in self.rules:
            domain = (self.symbols.INT,) * len(args)
            self.rules[name] = self.symbols.function(name, domain, self.symbols.INT, Rule())
        return self.rules[name](*args)

    def _floor(self, x: Term, scope: Scope) -> Term:
        """The whole number below. Of a quotient x/y of whole numbers, where y is positive: the whole number k
        with k*y <= x < k*y + y, which leaves x % y; where it is negative these turn round. (Of all y, since a
        declaration that is false of all inputs must have no model.)
        """
        parts = [t.arg(0) for t in x.children() if z3.is_to_real(t)]
        parts += [t.arg(1).arg(0) for t in x.children() if z3.is_div(t) and z3.is_to_real(t.arg(1))]
        if len(parts) != 2 or not same(x, divided(real(parts[0]), real(parts[1]))):
            return floor(x)
        x, y = parts
        k = self.whole_rule(QUOTIENT, x, y)
        self._always(scope, implies(y > 0, both(k * y <= x, x < k * y + y, x % y == x - k * y)))
        self._always(scope, implies(y < 0, both(k * y >= x, x > k * y + y)))
        self.moduli[anatomy(y)] = y
        for t in self.quotients:
            self.may_be_quotient(t, y, scope.path)
        return k

    def may_be_quotient(self, t: Term, y: Term, path: Path) -> None:
        """What the quotient by y is where it is t."""
        [x] = self.arbitrary("x")
        there = both(t * y <= x, x < t * y + y)
        path.fact(Kind.RUN, implies(there, self.whole_rule(QUOTIENT, x, y) == t), tuple(self.indices))

    def log(self, x: Term) -> Term:
        """ln |x| of an x that is not 0: by its factors, and of exp(y) it is y."""
        parts = x.children()
        match anatomy(x).kind:
            case z3.Z3_OP_ITE:
                return z3.If(parts[0], self.log(parts[1]), self.log(parts[2]))
            case z3.Z3_OP_MUL:
                return z3.Sum(*map(self.log, parts))
            case z3.Z3_OP_DIV:
                return self.log(parts[0]) - self.log(parts[1])
            case z3.Z3_OP_ADD | z3.Z3_OP_SUB:  # a number times a sum, the first coefficient of which is 1
                x = z3.simplify(x, som=True, sort_sums=True)
                if not z3.is_add(x):
                    return self.log(x)
                c = next((f.term for f in factors((x.arg(0), 1))[0] if z3.is_rational_value(f.term)), None)
                if c is not None:
                    return self.log(c) + self.rules[LN](z3.simplify(x / c, som=True, sort_sums=True))
            case z3.Z3_OP_ANUM if abs(x.as_fraction()) == 1:
                return self.symbols.none
            case z3.Z3_OP_ANUM if x.denominator_as_long() > 1:
                return sub(*(self.log(x.ctx.rational(i)) for i in x.as_fraction().as_integer_ratio()))
        return x.arg(0) if x.decl().eq(self.rules[EXP]) else self.rules[LN](x)

    def square(self, term: Term) -> Term:
        """The square of a number that is defined, factor by factor; of a root, what that is the root of."""
        if z3.is_mul(term):
            return z3.Product(*map(self.square, term.children()))
        if z3.is_app_of(term, z3.Z3_OP_DIV):
            return divided(self.square(term.arg(0)), self.square(term.arg(1)))
        return term.arg(0) if term.decl().eq(self.rules[ROOT]) else term * term

    def _always(self, scope: Scope, formula: Term) -> None:
        """A truth of arithmetic, for every value of the indices around it."""
        scope.path.fact(Kind.RUN, formula, scope.generic)

    def _public(self, e: n.Expr, f: str, args: list[Term], scope: Scope) -> Term:
        """A public function: of its values nothing is known but that equal arguments give equal ones."""
        declared, symbol = self.functions[f]
        if len(args) != len(declared.args):
            raise Reject("form", e.span, f"`{f}` takes {len(declared.args)} arguments")
        given = [self.as_sort(e, a, sort) for a, sort in zip(args, declared.args, strict=True)]
        if scope.mode is Mode.PROGRAM:
            self._apply(e, f, given, scope)
        return symbol(*given)

    def _apply(self, e: n.Expr, f: str, given: list[Term], scope: Scope) -> None:
        """A program applies a public function on D exactly where it does on D', to the same arguments: what
        else the function does (raise an error, print) depends on how it is called.

        Each expression of a program is evaluated for the run on D before it is for the run on D'. Indices of
        sets are arbitrary in both.
        """
        if scope.run == 0:
            self.applied[id(e)] = (scope.guard, given)
        elif scope.run == 1:
            if id(e) not in self.applied:
                raise Reject("calls", e.span, f"`{f}` is applied on D' alone")
            guard, on_d = self.applied.pop(id(e))
            apart = [one == other for one, other in zip(on_d, given, strict=True) if not same(one, other)]
            if apart or not same(guard, scope.guard):
                goal = both(guard == scope.guard, implies(guard, both(self.symbols.true, *apart)))
                scope.path.oblige("calls", e.span, f"`{f}` is given the same on D'", goal)


def divided(x: Term, y: Term) -> Term:
    """x / y: x times the inverse of each factor of y. Nothing cancels: of an invariant y may be 0, and then
    this must follow from the values of x and y, however they are written. With 1/0 == 0, which Z3 leaves
    open, it does.
    """
    return x * quotient((y, -1), cancelled=False)


def rest(p: Term) -> Term:
    """1 - p, where p is defined: of a quotient a/b it is (b - a)/b."""
    if z3.is_app_of(p, z3.Z3_OP_ITE):
        return z3.If(p.arg(0), rest(p.arg(1)), rest(p.arg(2)))
    above, below = (z3.Product(p.ctx.rational(1), *(f.term for f in c.elements())) for c in factors((p, 1)))
    return divided(below - above, below)


def quotient(*powers: tuple[Term, int], cancelled: bool = True) -> Term:
    """A product of terms to the power 1 or -1, where it is defined, without the factors that cancel. Each
    factor below that is no number has an inverse of its own, the same wherever it stands.
    """
    one, (above, below) = powers[0][0].ctx.rational(1), factors(*powers)
    above, below = (above - below, below - above) if cancelled else (above, below)
    under = ((f.term, z3.is_rational_value(f.term) and f.term.as_fraction()) for f in below.elements())
    inverses = [one.ctx.rational(1 / k) if k else one / f for f, k in under]
    first, *more = (*(f.term for f in above.elements()), *inverses) or (one,)
    return z3.Product(first, *more) if more else first


def factors(*stack: tuple[Term, int]) -> list[Counter[Anatomy]]:
    """Of a product of terms to the power 1 or -1 the factors above, and those below, as often as they
    occur.
    """
    found, open_ = [Counter[Anatomy](), Counter[Anatomy]()], [*stack]
    while open_:
        term, power = open_.pop()
        kind, parts = anatomy(term).kind, term.children()
        if kind == z3.Z3_OP_TO_REAL and z3.is_mul(parts[0]):
            kind, parts = z3.Z3_OP_MUL, [real(p) for p in parts[0].children()]
        if kind == z3.Z3_OP_MUL:
            open_ += [(p, power) for p in reversed(parts)]
        elif kind == z3.Z3_OP_DIV:
            open_ += [(parts[1], -power), (parts[0], power)]
        else:
            found[power < 0][anatomy(term)] += 1
    return found
