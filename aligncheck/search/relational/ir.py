"""The small intermediate representation: terms over parameters, answers on D, distances to D', and noise.

Terms are frozen, and know no solver. The constructor functions fold constants and collect
like terms, so that equal sums are usually equal values; the trusted normal form is `discharge.algebra`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from typing import TypeAlias

from aligncheck.language.internal import InternalError
from aligncheck.search.relational.interned import Interned
from aligncheck.search.relational.labels import Label, text_of


class TermSort(Enum):
    """What values a term takes."""

    REAL = "real"
    INT = "int"
    BOOL = "bool"


class Nature(Enum):
    """What a symbol is, and so where its value comes from. Whoever asks what a symbol is asks for its kind,
    never for the shape of its arguments or for how its name begins.

    PARAMETER: public input. DATA: an answer on D. DISTANCE: how far an answer is on D' from D. NOISE: a draw
    on D, and nothing else. EXTREMUM: a maximum or minimum over a set. PLACE: an index at which one is taken.
    SUM: a sum over a set that reads answers or noise. STATE: a program variable at a loop head, on D; PRIMED:
    a bool one on D'; DRIFT: how far one is on D' from D. LEDGER: what the proof counts, at a loop head.
    RELEASE: a part of what a call released. UNSETTLED: how far the alignment moves a draw that is not made
    yet. COUNTER: a loop index. GHOST: what the proof names of D and D', and generic indices. OMEGA: a part of
    the output, and a function of public numbers.
    """

    PARAMETER = "parameter"
    DATA = "data"
    DISTANCE = "distance"
    NOISE = "noise"
    EXTREMUM = "extremum"
    PLACE = "place"
    SUM = "sum"
    STATE = "state"
    PRIMED = "primed"
    DRIFT = "drift"
    LEDGER = "ledger"
    RELEASE = "release"
    UNSETTLED = "unsettled"
    COUNTER = "counter"
    GHOST = "ghost"
    OMEGA = "omega"


AT_A_LOOP_HEAD = (
    Nature.STATE,
    Nature.PRIMED,
    Nature.DRIFT,
    Nature.LEDGER,
    Nature.COUNTER,
)
"""Symbols that stand for another number in each round of a loop."""


@dataclass(frozen=True, eq=False)
class Const(metaclass=Interned):
    """A rational number."""

    value: Fraction


@dataclass(frozen=True, eq=False)
class Truth(metaclass=Interned):
    """True or false."""

    value: bool


@dataclass(frozen=True, eq=False)
class Sym(metaclass=Interned):
    """A symbol; its label, and the text of it, is unique within a mechanism's analysis."""

    label: Label
    sort: TermSort
    kind: Nature

    @property
    def name(self) -> str:
        """How solvers call it."""
        return text_of(self.label)


@dataclass(frozen=True, eq=False)
class App(metaclass=Interned):
    """A function symbol at an index: an answer `q(i)`, its distance, a draw `xi(i)`, a record's field."""

    label: Label
    args: tuple[Term, ...]
    sort: TermSort
    kind: Nature

    @property
    def name(self) -> str:
        """How solvers call it."""
        return text_of(self.label)


@dataclass(frozen=True, eq=False)
class Add(metaclass=Interned):
    """A sum of terms with rational coefficients, plus a constant."""

    parts: tuple[tuple[Term, Fraction], ...]
    constant: Fraction


@dataclass(frozen=True, eq=False)
class Mul(metaclass=Interned):
    """A product."""

    args: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Div(metaclass=Interned):
    """A quotient."""

    left: Term
    right: Term


@dataclass(frozen=True, eq=False)
class Fn(metaclass=Interned):
    """A scalar function that is no polynomial: `abs sqrt exp ln log2 floor mod`."""

    name: str
    args: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Ite(metaclass=Interned):
    """`then` where `test` holds, else `otherwise`; numeric or bool."""

    test: Term
    then: Term
    otherwise: Term


@dataclass(frozen=True, eq=False)
class Cmp(metaclass=Interned):
    """A comparison of numbers; `op` is `<`, `<=` or `==`."""

    op: str
    left: Term
    right: Term


@dataclass(frozen=True, eq=False)
class Not(metaclass=Interned):
    """Negation."""

    arg: Term


@dataclass(frozen=True, eq=False)
class And(metaclass=Interned):
    """Conjunction; empty is true."""

    args: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Or(metaclass=Interned):
    """Disjunction; empty is false."""

    args: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class IsInt(metaclass=Interned):
    """The number is an integer."""

    arg: Term


Term: TypeAlias = Const | Truth | Sym | App | Add | Mul | Div | Fn | Ite | Cmp | Not | And | Or | IsInt


ZERO = Const(Fraction(0))
ONE = Const(Fraction(1))
TRUE = Truth(True)
FALSE = Truth(False)


def const(value: int | Fraction) -> Const:
    """A rational number as a term."""
    return Const(Fraction(value))


def sort_of(term: Term) -> TermSort:
    """The sort of a term; INT only where every value is an integer by construction."""
    known: TermSort | None = term.__dict__.get("_s")
    if known is None:
        known = term.__dict__["_s"] = _sort_of(term)
    return known


def _sort_of(term: Term) -> TermSort:
    match term:
        case Const(value):
            return TermSort.INT if value.denominator == 1 else TermSort.REAL
        case Truth() | Cmp() | Not() | And() | Or() | IsInt():
            return TermSort.BOOL
        case Sym(sort=sort) | App(sort=sort):
            return sort
        case Add(parts, constant):
            whole = constant.denominator == 1 and all(
                c.denominator == 1 and sort_of(t) is TermSort.INT for t, c in parts
            )
            return TermSort.INT if whole else TermSort.REAL
        case Mul(args):
            return TermSort.INT if all(sort_of(a) is TermSort.INT for a in args) else TermSort.REAL
        case Div():
            return TermSort.REAL
        case Fn(name, args):
            if name == "floor":
                return TermSort.INT
            whole = name in ("abs", "mod") and all(sort_of(a) is TermSort.INT for a in args)
            return TermSort.INT if whole else TermSort.REAL
        case Ite(_, then, otherwise):
            a, b = sort_of(then), sort_of(otherwise)
            return a if a is b else TermSort.REAL


def is_number(term: Term) -> bool:
    """Whether a term is numeric."""
    return sort_of(term) is not TermSort.BOOL


_NONE, _UNIT = Fraction(0), Fraction(1)

# --- constructors -----------------------------------------------------------------------------------------


def summands(term: Term) -> tuple[tuple[tuple[Term, Fraction], ...], Fraction]:
    """A number as a sum of terms with rational factors, plus a constant."""
    if isinstance(term, Const):
        return (), term.value
    if isinstance(term, Add):
        return term.parts, term.constant
    if isinstance(term, Mul) and isinstance(factor := term.args[0], Const):
        rest = term.args[1:]
        return (((rest[0] if len(rest) == 1 else Mul(rest)), factor.value),), _NONE
    return ((term, _UNIT),), _NONE


_LONG_TEXT, _KEPT_TEXT = 4096, 64


def order_key(term: Term) -> str:
    """A text that is the same for equal terms: a canonical order of summands and factors.

    A term that shares its parts may be exponentially long when it is spelt out, so where a text is long its
    digest stands for it: terms with one text are equal, as sure as nobody knows two texts with one SHA-256.
    """
    key = term.__dict__.get("_k")
    if key is None:
        key = _spelled(term)
        if len(key) > _LONG_TEXT:
            key = f"{key[:_KEPT_TEXT]}...{sha256(key.encode()).hexdigest()}"
        term.__dict__["_k"] = key
    return str(key)


def _spelled(term: Term) -> str:
    match term:
        case Sym():
            return term.name
        case Const(value):
            return str(value)
        case Truth(truth):
            return str(truth)
        case Add(parts, constant):
            return f"(+ {constant}" + "".join(f" {k}*{order_key(t)}" for t, k in parts) + ")"
        case App(_, args):
            return f"{term.name}({','.join(order_key(a) for a in args)})"
        case Fn(name, args):
            return f"{name}!({','.join(order_key(a) for a in args)})"
        case Cmp(op, left, right):
            return f"({op} {order_key(left)} {order_key(right)})"
        case Mul() | Div() | Ite() | Not() | And() | Or() | IsInt():
            return f"({type(term).__name__} {' '.join(order_key(c) for c in children(term))})"


def add(*terms: Term) -> Term:
    """A sum, like terms collected."""
    total: dict[Term, Fraction] = {}
    constant = _NONE
    for term in terms:
        parts, c = summands(term)
        if c is not _NONE:
            constant = c if constant is _NONE else constant + c
        for t, k in parts:
            known = total.get(t)
            total[t] = k if known is None else known + k
    kept = [(t, k) for t, k in total.items() if k]
    if not kept:
        return Const(constant)
    if len(kept) == 1 and not constant:
        return scaled(kept[0][0], kept[0][1])
    if len(kept) > 1:
        kept.sort(key=lambda pair: order_key(pair[0]))
    return Add(tuple(kept), constant)


def scaled(term: Term, factor: Fraction | int) -> Term:
    """`factor * term` for a rational factor."""
    if not isinstance(factor, Fraction):
        factor = Fraction(factor)
    if not factor:
        return ZERO
    if factor == 1:
        return term
    if isinstance(term, Const):
        return Const(term.value * factor)
    if isinstance(term, Add):
        return Add(tuple((t, k * factor) for t, k in term.parts), term.constant * factor)
    args = term.args if isinstance(term, Mul) else (term,)
    if isinstance(first := args[0], Const):
        return scaled(args[1] if len(args) == 2 else Mul(args[1:]), first.value * factor)
    return Mul((Const(factor), *args))


def neg(term: Term) -> Term:
    """`-term`."""
    return scaled(term, -1)


def sub(left: Term, right: Term) -> Term:
    """`left - right`."""
    return add(left, neg(right))


def mul(*terms: Term) -> Term:
    """A product, rational factors collected."""
    factor = Fraction(1)
    rest: list[Term] = []
    for term in terms:
        for a in term.args if isinstance(term, Mul) else (term,):
            if isinstance(a, Const):
                factor *= a.value
            else:
                rest.append(a)
    if not factor:
        return ZERO
    quotients = [t for t in rest if isinstance(t, Div)]
    if quotients:
        above = mul(Const(factor), *(t for t in rest if not isinstance(t, Div)), *(t.left for t in quotients))
        return div(above, mul(*(t.right for t in quotients)))
    rest = _joined_exponentials(rest)
    if not rest:
        return Const(factor)
    if len(rest) == 1:
        return scaled(rest[0], factor)
    rest.sort(key=order_key)
    return scaled(Mul(tuple(rest)), factor)


def _joined_exponentials(factors: list[Term]) -> list[Term]:
    """exp(a) exp(b) is exp(a + b)."""
    powers = [f.args[0] for f in factors if isinstance(f, Fn) and f.name == "exp"]
    if len(powers) < 2:
        return factors
    rest = [f for f in factors if not (isinstance(f, Fn) and f.name == "exp")]
    joined = fn("exp", add(*powers))
    return rest if joined == ONE else [*rest, joined]


def div(left: Term, right: Term) -> Term:
    """`left / right`; the caller proves that `right` is not 0."""
    if isinstance(right, Fn) and right.name == "exp":
        return mul(left, fn("exp", neg(right.args[0])))
    if isinstance(right, Const):
        # A division by 0 fails its `defined` obligation; here it is a number of which nothing is known.
        return scaled(left, 1 / right.value) if right.value else Fn("undefined", (left,))
    if left == ZERO:
        return ZERO
    if isinstance(right, Div):
        return div(mul(left, right.right), right.left)
    if isinstance(left, Div):
        return div(left.left, mul(left.right, right))
    return _cancelled(left, right)


def _cancelled(left: Term, right: Term) -> Term:
    """A quotient without the factors that both sides have, and without a rational factor below."""
    above, below = _factors(left), _factors(right)
    for factor in list(below):
        if factor in above:
            above.remove(factor)
            below.remove(factor)
    top, bottom = mul(*above), mul(*below)
    if isinstance(bottom, Const):
        return div(top, bottom)
    if isinstance(bottom, Mul) and isinstance(bottom.args[0], Const):
        inverse = 1 / bottom.args[0].value
        return Div(scaled(top, inverse), scaled(bottom, inverse))
    return Div(top, bottom)


def _factors(term: Term) -> list[Term]:
    return list(term.args) if isinstance(term, Mul) else [term]


def fn(name: str, *args: Term) -> Term:
    """A scalar function; `abs`, `exp`, `ln`, `sqrt`, `floor` and `mod` fold where the value is rational."""
    values = [a.value if isinstance(a, Const) else None for a in args]
    if name == "abs":
        return _abs(args[0])
    if all(v is not None for v in values):
        folded = _fold(name, [v for v in values if v is not None])
        if folded is not None:
            return Const(folded)
    if name == "ln" and isinstance(args[0], Fn) and args[0].name == "exp":
        return args[0].args[0]
    if name == "ln" and isinstance(args[0], Const) and 0 < args[0].value < 1:
        return neg(Fn("ln", (Const(1 / args[0].value),)))
    if name == "floor" and sort_of(args[0]) is TermSort.INT:
        return args[0]
    return Fn(name, args)


def _abs(arg: Term) -> Term:
    if isinstance(arg, Const):
        return Const(abs(arg.value))
    if isinstance(arg, Mul) and isinstance(arg.args[0], Const) and abs(arg.args[0].value) != 1:
        return scaled(_abs(scaled(arg, 1 / abs(arg.args[0].value))), abs(arg.args[0].value))
    if isinstance(arg, Ite):
        return ite(arg.test, _abs(arg.then), _abs(arg.otherwise))
    flipped = neg(arg)
    return Fn("abs", (min(arg, flipped, key=order_key),))


def _root(value: Fraction) -> Fraction | None:
    from math import isqrt

    if value < 0:
        return None
    p, q = isqrt(value.numerator), isqrt(value.denominator)
    exact = p * p == value.numerator and q * q == value.denominator
    return Fraction(p, q) if exact else None


def _fold(name: str, values: list[Fraction]) -> Fraction | None:
    match name, values:
        case "sqrt", [v]:
            return _root(v)
        case "exp", [v] if v == 0:
            return Fraction(1)
        case "ln", [v] if v == 1:
            return Fraction(0)
        case "log2", [v] if v > 0:
            return _log2(v)
        case "floor", [v]:
            return Fraction(v.numerator // v.denominator)
        case "mod", [a, b] if b != 0:
            return a - b * ((a / b).numerator // (a / b).denominator)
        case _:
            return None


def _log2(value: Fraction) -> Fraction | None:
    p, q = value.numerator, value.denominator
    if p & (p - 1) or q & (q - 1):
        return None
    return Fraction(p.bit_length() - q.bit_length())


def ite(test: Term, then: Term, otherwise: Term) -> Term:
    """`then if test else otherwise`."""
    if isinstance(test, Truth):
        return then if test.value else otherwise
    if then == otherwise:
        return then
    if isinstance(test, Not):
        return ite(test.arg, otherwise, then)
    if then == TRUE and otherwise == FALSE:
        return test
    return Ite(test, then, otherwise)


def compare(op: str, left: Term, right: Term) -> Term:
    """One of `== != < <= > >=` between numbers; `==` and `!=` also between truths."""
    if op in (">", ">="):
        return compare("<" if op == ">" else "<=", right, left)
    if op == "!=":
        return not_(compare("==", left, right))
    if is_number(left) != is_number(right):
        raise InternalError("a truth is compared with a number")
    if not is_number(left):
        return iff(left, right)
    if left == right:
        return Truth(op != "<")
    if isinstance(left, Const) and isinstance(right, Const):
        return Truth(left.value < right.value if op == "<" else op == "<=" and left.value <= right.value)
    return Cmp(op, left, right)


def lt(left: Term, right: Term) -> Term:
    """`left < right`."""
    return compare("<", left, right)


def le(left: Term, right: Term) -> Term:
    """`left <= right`."""
    return compare("<=", left, right)


def eq(left: Term, right: Term) -> Term:
    """`left == right`."""
    return compare("==", left, right)


def not_(arg: Term) -> Term:
    """Negation."""
    if isinstance(arg, Truth):
        return Truth(not arg.value)
    if isinstance(arg, Not):
        return arg.arg
    if isinstance(arg, Cmp) and arg.op != "==":
        return compare("<=" if arg.op == "<" else "<", arg.right, arg.left)
    return Not(arg)


def and_(args: Iterable[Term]) -> Term:
    """Conjunction."""
    kept: list[Term] = []
    for a in args:
        if isinstance(a, Truth):
            if not a.value:
                return FALSE
        elif isinstance(a, And):
            kept.extend(a.args)
        else:
            kept.append(a)
    kept = list(dict.fromkeys(kept))
    return TRUE if not kept else kept[0] if len(kept) == 1 else And(tuple(kept))


def or_(args: Iterable[Term]) -> Term:
    """Disjunction."""
    kept: list[Term] = []
    for a in args:
        if isinstance(a, Truth):
            if a.value:
                return TRUE
        elif isinstance(a, Or):
            kept.extend(a.args)
        else:
            kept.append(a)
    kept = list(dict.fromkeys(kept))
    return FALSE if not kept else kept[0] if len(kept) == 1 else Or(tuple(kept))


def implies(left: Term, right: Term) -> Term:
    """`left` implies `right`."""
    return or_((not_(left), right))


def iff(left: Term, right: Term) -> Term:
    """Both or neither."""
    if left == right:
        return TRUE
    if isinstance(left, Truth):
        return right if left.value else not_(right)
    if isinstance(right, Truth):
        return left if right.value else not_(left)
    return and_((implies(left, right), implies(right, left)))


# --- traversal --------------------------------------------------------------------------------------------


def children(term: Term) -> tuple[Term, ...]:
    """The direct subterms."""
    match term:
        case Const() | Truth() | Sym():
            return ()
        case App(args=args) | Mul(args) | Fn(_, args) | And(args) | Or(args):
            return args
        case Add(parts, _):
            return tuple(t for t, _ in parts)
        case Div(a, b) | Cmp(_, a, b):
            return (a, b)
        case Ite(a, b, c):
            return (a, b, c)
        case Not(a) | IsInt(a):
            return (a,)


def rebuilt(term: Term, change: Callable[[Term], Term]) -> Term:
    """The term with `change` applied to its direct subterms, folded anew."""
    match term:
        case Const() | Truth() | Sym():
            return term
        case App(label, args, sort, kind):
            return App(label, tuple(change(a) for a in args), sort, kind)
        case Add(parts, constant):
            return add(Const(constant), *(scaled(change(t), k) for t, k in parts))
        case Mul(args):
            return mul(*(change(a) for a in args))
        case Div(a, b):
            return div(change(a), change(b))
        case Fn(name, args):
            return fn(name, *(change(a) for a in args))
        case Ite(a, b, c):
            return ite(change(a), change(b), change(c))
        case Cmp(op, a, b):
            return compare(op, change(a), change(b))
        case Not(a):
            return not_(change(a))
        case And(args):
            return and_(change(a) for a in args)
        case Or(args):
            return or_(change(a) for a in args)
        case IsInt(a):
            return IsInt(change(a))


def substitute(term: Term, table: dict[Term, Term]) -> Term:
    """Every occurrence of a key of `table` (a symbol or an application) replaced, once."""
    if not table:
        return term
    memo: dict[Term, Term] = {}

    def go(t: Term) -> Term:
        done = memo.get(t)
        if done is None:
            done = table[t] if t in table else rebuilt(t, go)
            memo[t] = done
        return done

    return go(term)


def subterms(terms: Iterable[Term]) -> Iterator[Term]:
    """Every subterm of the terms, each once, parents before children."""
    seen: set[Term] = set()
    stack = list(terms)
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        yield term
        stack.extend(children(term))


def atoms(terms: Iterable[Term]) -> KeysView[Sym | App]:
    """The symbols and applications that occur, always in the same order."""
    return dict.fromkeys(t for t in subterms(terms) if isinstance(t, Sym | App)).keys()


@dataclass(frozen=True, slots=True)
class Pair:
    """A value in both runs: on D and, with the aligned noise, on D'."""

    left: Term
    right: Term

    @property
    def distance(self) -> Term:
        """How far the value on D' is from the value on D (numbers only)."""
        return sub(self.right, self.left)


def same(term: Term) -> Pair:
    """A value that both runs share."""
    return Pair(term, term)


def same_value(pair: Pair) -> Term:
    """That both runs have the same value."""
    return (iff if sort_of(pair.left) is TermSort.BOOL else eq)(pair.left, pair.right)
