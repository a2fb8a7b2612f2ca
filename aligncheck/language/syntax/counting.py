"""A `while` with a counter, read as the `for` that it is.

    i = 0                               for i in range(0, len(q)):
    while i < len(q) and TEST:            if not TEST:
      BODY                      is          break
      i = i + 1                           BODY

Trusted: what is proved, run, compiled and searched is the `for`. It does the same: `i` has the values 0,
1, … at the starts of the rounds, since nothing else in the loop changes it; BODY does not read it after
the step (so the step may come last); the end of the range is made of inputs, which no program changes;
nothing else in the program knows `i`; TEST is evaluated in the same states but for the last one, where
`i` is at its end, so it must be one that has a value in every state. A `break` leaves both alike.
Breaks if: BODY may change `i`, or an end may change while the loop runs.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk

_BELOW = ("<", "<=")
"""How the counter's end is asked for: of whole numbers `i <= E` is `i < E + 1`."""


def counted(mechanism: n.Mechanism) -> n.Mechanism:
    """The mechanism with a `for` in place of each loop that is one, wherever it stands."""
    return replace(mechanism, body=_Counting(mechanism).block(mechanism.body))


class _Counting:
    """Reads the blocks of one mechanism."""

    def __init__(self, mechanism: n.Mechanism) -> None:
        self.fixed: set[str] = set()
        self.whole: set[str] = set()
        for group in mechanism.inputs:
            match group:
                case n.Parameter(name=name, sort=sort):
                    self.fixed.add(name)
                    if sort is n.Sort.INT:
                        self.whole.add(name)
                case n.PublicVector(name=name):
                    self.fixed.add(name)
                case n.Queries(names=names):
                    self.fixed.update(names)
        self.everything = tuple(walk.statements_in(mechanism.body))
        self.drawn = {s.name for s in self.everything if isinstance(s, n.Sampling | n.Invoke)}

    def block(self, body: tuple[n.Stmt, ...]) -> tuple[n.Stmt, ...]:
        """A block with its loops read, inner ones too."""
        for place, stmt in enumerate(body):
            if isinstance(stmt, n.While):
                start = self._start(body, place, stmt)
                loop = None if start is None else self._loop(stmt, body[start])
                if start is not None and loop is not None:
                    return self.block((*body[:start], *body[start + 1 : place], loop, *body[place + 1 :]))
        return tuple(self._inside(stmt) for stmt in body)

    def _inside(self, stmt: n.Stmt) -> n.Stmt:
        match stmt:
            case n.If(branches=branches, otherwise=otherwise):
                arms = tuple(replace(arm, body=self.block(arm.body)) for arm in branches)
                return replace(stmt, branches=arms, otherwise=self.block(otherwise))
            case n.For() | n.While():
                return replace(stmt, body=self.block(stmt.body))
            case n.Simple() | n.Sampling() | n.Empty():
                return stmt

    def _start(self, body: tuple[n.Stmt, ...], place: int, loop: n.While) -> int | None:
        """Where the counter of the loop at `place` is set, if the program has it nowhere else."""
        counter = _counter(loop)
        if counter is None or counter in self.fixed:
            return None
        starts = [
            at for at in range(place) if isinstance(body[at], n.Assign) and counter in _mentioned((body[at],))
        ]
        mine = {id(each) for each in walk.statements_in((loop,))}
        elsewhere = [s for s in self.everything if id(s) not in mine and counter in _own(s)]
        if len(starts) != 1 or elsewhere != [body[starts[0]]]:
            return None
        return starts[0]

    def _loop(self, loop: n.While, start: n.Stmt) -> n.For | None:
        """The `for`, if the loop is one that starts with `start`."""
        counter = _counter(loop)
        tests = loop.test.args if isinstance(loop.test, n.Logic) and loop.test.op == "and" else (loop.test,)
        bounds = [
            test
            for test in tests
            if isinstance(test, n.Compare) and test.op in _BELOW and test.left == n.Name(counter or "")
            if self._is_whole(test.right)
        ]
        steps = [
            at for at, stmt in enumerate(loop.body) if isinstance(stmt, n.Assign) and stmt.name == counter
        ]
        if counter is None or not isinstance(start, n.Assign) or not bounds or len(steps) != 1:
            return None
        bound, others = bounds[0], tuple(t for t in tests if t is not bounds[0])
        after = loop.body[steps[0] + 1 :]
        rest = loop.body[: steps[0]] + after
        if (
            start.name != counter
            or not self._is_whole(start.value)
            or any(counter == _assigned(s) for s in walk.statements_in(rest))
            or counter in _mentioned(after)
            or any(isinstance(s, n.Sampling) for s in walk.statements_in(after))
            or not all(self._has_a_value(t) for t in others)
            or any(counter in walk.names_in(e) for e in loop.invariants)
        ):
            return None
        if others:
            test = others[0] if len(others) == 1 else n.Logic("and", others, span=loop.test.span)
            leave = n.Branch(
                n.Unary("not", test, span=loop.test.span),
                (n.Break(span=loop.test.span),),
                span=loop.test.span,
            )
            rest = (n.If((leave,), (), span=loop.test.span), *rest)
        high = bound.right
        if bound.op == "<=":
            high = n.Binary("+", high, n.Number(Fraction(1), span=bound.span), span=bound.span)
        over = n.OverRange(start.value, high, span=bound.span)
        rest = rest or (n.Pass(span=loop.body[0].span),)
        return n.For(counter, over, rest, loop.invariants, span=loop.span)

    def _is_whole(self, expr: n.Expr) -> bool:
        """Whether it is a whole number made of inputs alone."""
        match expr:
            case n.Number(value=value):
                return value.denominator == 1
            case n.Name(ident=ident, primed=False):
                return ident in self.whole
            case n.Call(function="len", args=(n.Name(ident=ident),)):
                return ident in self.fixed
            case n.Binary(op="+" | "-" | "*", left=left, right=right):
                return self._is_whole(left) and self._is_whole(right)
            case n.Literal() | n.ByName() | n.Call() | n.Operator() | n.OfOutput() | n.Gather():
                return False

    def _has_a_value(self, expr: n.Expr) -> bool:
        """Whether it has a value whatever its variables are: nothing in it is a partial operation, or a draw,
        which need not have been made.
        """
        match expr:
            case n.Name(ident=ident):
                return ident not in self.drawn
            case n.Number() | n.Boolean():
                return True
            case n.Call(function="len"):
                return True
            case n.Call(function="abs"):
                return all(self._has_a_value(part) for part in walk.parts_of(expr))
            case n.Binary(op="+" | "-" | "*") | n.Unary() | n.Compare() | n.Logic():
                return all(self._has_a_value(part) for part in walk.parts_of(expr))
            case n.Binary(op="/", left=left, right=right):
                return self._has_a_value(left) and isinstance(right, n.Number) and right.value != 0
            case n.Index() | n.Call() | n.Binary() | n.Conditional() | n.OfOutput() | n.Gather() | n.Member():
                return False


def _counter(loop: n.While) -> str | None:
    """The variable that grows by 1 in each round, in the body itself; a test of the loop bounds it."""
    for stmt in loop.body:
        name = _assigned(stmt)
        if name is not None and stmt == _step(name) and _bounded(loop.test, name):
            return name
    return None


def _step(name: str) -> n.Assign:
    """`name = name + 1`."""
    return n.Assign(name, n.Binary("+", n.Name(name), n.Number(Fraction(1))))


def _bounded(test: n.Expr, name: str) -> bool:
    tests = test.args if isinstance(test, n.Logic) and test.op == "and" else (test,)
    return any(isinstance(t, n.Compare) and t.op in _BELOW and t.left == n.Name(name) for t in tests)


def _assigned(stmt: n.Stmt) -> str | None:
    return stmt.name if isinstance(stmt, n.Assign) else None


def _own(stmt: n.Stmt) -> frozenset[str]:
    """What one statement itself mentions, but for the blocks in it."""
    names = {name for e in walk.own_expressions(stmt) for name in walk.names_in(e)}
    if isinstance(stmt, n.For) and isinstance(stmt.over, n.OverQueries):
        names.add(stmt.over.base)
    return frozenset(names.union(walk.names_set(stmt)))


def _mentioned(body: tuple[n.Stmt, ...]) -> frozenset[str]:
    return frozenset(name for stmt in walk.statements_in(body) for name in _own(stmt))
