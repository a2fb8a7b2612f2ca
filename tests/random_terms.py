"""Random expressions, built twice: by the checker's constructors, and evaluated here without them.

A tree is a nested tuple such as `("add", left, right)`. `built` makes the term of it, `number` and `truth`
its value in a `World`, and `meaning` the value of a term, by code that shares nothing with the checker.
Values are exact rationals until a root, an exponential or a logarithm makes them floats.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from hypothesis import strategies as st

from aligncheck.language.families import Family
from aligncheck.search.relational import ir as t
from aligncheck.search.relational.ir import Nature, Sym, Term, TermSort
from aligncheck.search.relational.labels import DrawOnD, ListLength

Tree: TypeAlias = tuple[Any, ...]
Value: TypeAlias = Fraction | float | bool

A = Sym("a", TermSort.REAL, Nature.PARAMETER)
B = Sym("b", TermSort.REAL, Nature.PARAMETER)
K = Sym("k", TermSort.INT, Nature.PARAMETER)
X = Sym("x", TermSort.REAL, Nature.STATE)
Y = Sym(DrawOnD("y", Family.LAPLACE), TermSort.REAL, Nature.NOISE)
N = Sym("n", TermSort.INT, Nature.COUNTER)
M = Sym("m", TermSort.INT, Nature.COUNTER)
P = Sym("p", TermSort.BOOL, Nature.STATE)
NUMBERS = (A, B, K, X, Y, N, M)


class UndefinedError(Exception):
    """The expression has no value here, or one too close to a decision for floats."""


@dataclass
class World(Mapping[Term, Fraction | bool]):
    """Values of symbols; `entry` gives those of symbols at an index, a function of the index."""

    symbols: dict[Term, Fraction | bool]
    entry: Callable[[str, tuple[Fraction, ...]], Fraction | bool] = lambda name, index: Fraction(0)

    def __getitem__(self, key: Term) -> Fraction | bool:
        if isinstance(key, t.App):
            index = tuple(meaning(a, self) for a in key.args)
            assert all(isinstance(i, Fraction) for i in index)
            return self.entry(key.name, index)
        return self.symbols[key]

    def __iter__(self) -> Any:
        return iter(self.symbols)

    def __len__(self) -> int:
        return len(self.symbols)


# --- values -----------------------------------------------------------------------------------------------


def _less(a: Any, b: Any, strict: bool) -> bool:
    if not (isinstance(a, Fraction) and isinstance(b, Fraction)) and abs(float(a) - float(b)) < 1e-7:
        raise UndefinedError
    return bool(a < b if strict else a <= b)


def _compared(op: str, a: Value, b: Value) -> bool:
    if op == "==":
        return _less(a, b, False) and _less(b, a, False)
    return _less(a, b, op == "<")


def _function(name: str, args: list[Any]) -> Any:
    x = args[0]
    try:
        match name:
            case "abs":
                return abs(x)
            case "floor":
                if not isinstance(x, Fraction) and abs(x - round(x)) < 1e-7:
                    raise UndefinedError
                return Fraction(math.floor(x))
            case "mod":
                if args[1] <= 0:
                    raise UndefinedError
                return x - args[1] * _function("floor", [x / args[1]])
            case "exp" | "ln" | "log2" | "sqrt":
                if abs(x) > 40:
                    raise UndefinedError
                if name == "sqrt" and isinstance(x, Fraction) and x >= 0:
                    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
                    if root * root == x:
                        return root
                return {"exp": math.exp, "ln": math.log, "log2": math.log2, "sqrt": math.sqrt}[name](float(x))
            case _:
                pass
    except (ValueError, OverflowError):
        raise UndefinedError from None
    raise UndefinedError


def _quotient(a: Any, b: Any) -> Any:
    if abs(b) < 1e-7:
        raise UndefinedError
    return a / b


def number(tree: Tree, world: World) -> Any:
    """The value of a tree. Raises UndefinedError."""
    match tree:
        case ("sym", symbol):
            return world[symbol]
        case ("app", name, index):
            i = number(index, world)
            assert isinstance(i, Fraction)
            return world.entry(name, (i,))
        case ("const", value):
            return Fraction(value)
        case ("add", a, b):
            return number(a, world) + number(b, world)
        case ("sub", a, b):
            return number(a, world) - number(b, world)
        case ("mul", a, b):
            return number(a, world) * number(b, world)
        case ("div", a, b):
            return _quotient(number(a, world), number(b, world))
        case ("ite", test, a, b):
            return number(a if truth(test, world) else b, world)
        case ("fn", name, *args):
            return _function(name, [number(a, world) for a in args])
        case _:
            raise AssertionError(tree)


def truth(tree: Tree, world: World) -> bool:
    """The value of a bool tree. Raises UndefinedError."""
    match tree:
        case ("cmp", op, a, b):
            left, right = number(a, world), number(b, world)
            match op:
                case "!=":
                    return not _compared("==", left, right)
                case ">" | ">=":
                    return _compared("<" if op == ">" else "<=", right, left)
                case _:
                    return _compared(op, left, right)
        case ("flag", symbol):
            return bool(world[symbol])
        case ("not", a):
            return not truth(a, world)
        case ("and", *args):
            every = [truth(a, world) for a in args]  # all are evaluated: each must have a value
            return all(every)
        case ("or", *args):
            every = [truth(a, world) for a in args]
            return any(every)
        case ("iff", a, b):
            return truth(a, world) == truth(b, world)
        case _:
            raise AssertionError(tree)


def meaning(term: Term, world: World) -> Any:
    """The value of a term. Raises UndefinedError."""

    def of(part: Term) -> Any:
        return meaning(part, world)

    match term:
        case t.Const(value):
            return value
        case t.Truth(value):
            return value
        case t.Sym() | t.App():
            return world[term]
        case t.Add(parts, constant):
            return sum((factor * of(part) for part, factor in parts), start=constant)
        case t.Mul(args):
            return math.prod((of(a) for a in args), start=Fraction(1))
        case t.Div(a, b):
            return _quotient(of(a), of(b))
        case t.Fn(name, args):
            return _function(name, [of(a) for a in args])
        case t.Ite(test, then, otherwise):
            return of(then) if of(test) else of(otherwise)
        case t.Cmp(op, a, b):
            return _compared(op, of(a), of(b))
        case t.Not(a):
            return not of(a)
        case t.And(args):
            every = [of(a) for a in args]
            return all(every)
        case t.Or(args):
            every = [of(a) for a in args]
            return any(every)
        case t.IsInt(a):
            value = of(a)
            if not isinstance(value, Fraction):
                raise UndefinedError
            return value.denominator == 1


def agree(a: Value, b: Value) -> bool:
    """Equal; up to rounding where a float is among them."""
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-6)
    return a == b


# --- terms ------------------------------------------------------------------------------------------------


def built(tree: Tree) -> Term:
    """The term of a tree, by the checker's constructors."""
    match tree:
        case ("sym" | "flag", symbol):
            assert isinstance(symbol, Sym)
            return symbol
        case ("app", name, index):
            kind = Nature.DISTANCE if name.startswith("d:") else Nature.DATA
            return t.App(name, (built(index),), TermSort.REAL, kind)
        case ("const", value):
            return t.const(Fraction(value))
        case ("add", a, b):
            return t.add(built(a), built(b))
        case ("sub", a, b):
            return t.sub(built(a), built(b))
        case ("mul", a, b):
            return t.mul(built(a), built(b))
        case ("div", a, b):
            return t.div(built(a), built(b))
        case ("ite", test, a, b):
            return t.ite(built(test), built(a), built(b))
        case ("fn", name, *args):
            return t.fn(name, *(built(a) for a in args))
        case ("cmp", op, a, b):
            return t.compare(op, built(a), built(b))
        case ("not", a):
            return t.not_(built(a))
        case ("and", *args):
            return t.and_(built(a) for a in args)
        case ("or", *args):
            return t.or_(built(a) for a in args)
        case ("iff", a, b):
            return t.iff(built(a), built(b))
        case _:
            raise AssertionError(tree)


# --- strategies -------------------------------------------------------------------------------------------

SMALL = st.sampled_from([0, 1, 1, 2, 3, -1, -2, Fraction(1, 2), Fraction(-3, 4), Fraction(4, 9)])
ATOMS = st.one_of(st.sampled_from([("sym", s) for s in NUMBERS]), SMALL.map(lambda v: ("const", v)))
ENTRIES = st.tuples(
    st.just("app"),
    st.sampled_from(["q", "d:q"]),
    st.sampled_from([("sym", N), ("sym", M), ("add", ("sym", N), ("const", 1)), ("const", 0)]),
)
OPERATORS = ("<", "<=", "==", "!=", ">", ">=")


def rational(leaf: st.SearchStrategy[Tree] = ATOMS, size: int = 8) -> st.SearchStrategy[Tree]:
    """Sums, products and quotients."""
    return st.recursive(
        leaf,
        lambda inner: st.tuples(st.sampled_from(["add", "sub", "mul", "mul", "div"]), inner, inner),
        max_leaves=size,
    )


def numeric(
    functions: tuple[str, ...] = ("abs", "floor", "mod"),
    leaf: st.SearchStrategy[Tree] = ATOMS,
    size: int = 8,
) -> st.SearchStrategy[Tree]:
    """Numbers with conditionals and functions too."""

    def grown(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        binary = st.tuples(st.sampled_from(["add", "sub", "mul", "div"]), inner, inner)
        test = st.tuples(st.just("cmp"), st.sampled_from(OPERATORS), inner, inner)
        choices = [binary, binary, st.tuples(st.just("ite"), st.one_of(test, FLAG), inner, inner)]
        one = [f for f in functions if f != "mod"]
        if one:
            choices.append(st.tuples(st.just("fn"), st.sampled_from(one), inner))
        if "mod" in functions:
            choices.append(st.tuples(st.just("fn"), st.just("mod"), inner, inner))
        return st.one_of(choices)

    return st.recursive(leaf, grown, max_leaves=size)


FLAG: st.SearchStrategy[Tree] = st.just(("flag", P))


def formulas(numbers: st.SearchStrategy[Tree], size: int = 3) -> st.SearchStrategy[Tree]:
    """Comparisons of numbers, and what `and`, `or`, `not` and `iff` make of them."""
    test = st.tuples(st.just("cmp"), st.sampled_from(OPERATORS), numbers, numbers)
    return st.recursive(
        st.one_of(test, test, FLAG),
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or", "iff"]), inner, inner),
        ),
        max_leaves=size,
    )


def worlds(legal: bool = False) -> st.SearchStrategy[World]:
    """Small numbers with many ties; with `legal`, a and b are positive and k at least 1."""
    return st.integers(0, 2**32).map(lambda seed: world_of(seed, legal))


def world_of(seed: int, legal: bool = False) -> World:
    """A world; answers at an index are a function of the index, and |d:q| <= a."""
    chance = random.Random(seed)
    values = [Fraction(n, d) for n, d in ((0, 1), (1, 1), (2, 1), (1, 2), (3, 1), (1, 4), (-1, 1), (-5, 2))]
    length = Sym(ListLength("q"), TermSort.INT, Nature.PARAMETER)
    symbols: dict[Term, Fraction | bool] = {P: chance.random() < 0.5, length: Fraction(5)}
    for s in NUMBERS:
        if s.sort is TermSort.INT:
            low = 1 if legal and s is K else 0 if legal else -2
            symbols[s] = Fraction(chance.randint(low, 3))
        else:
            positive = legal and s.kind is Nature.PARAMETER
            symbols[s] = chance.choice([v for v in values if v > 0] if positive else values)

    def entry(name: str, index: tuple[Fraction, ...]) -> Fraction | bool:
        own = random.Random(f"{seed} {name} {index}")
        if name.startswith("d:"):
            return Fraction(symbols[A]) * own.choice([Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(1)])
        return own.choice(values)

    return World(symbols, entry)
