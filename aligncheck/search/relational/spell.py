"""Terms in the spec's notation, for reports: no symbol of the proof's own bookkeeping reaches a person
unexplained.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from aligncheck.search.relational import labels
from aligncheck.search.relational.ir import (
    Add,
    And,
    App,
    Cmp,
    Const,
    Div,
    Fn,
    IsInt,
    Ite,
    Mul,
    Not,
    Or,
    Sym,
    Term,
    Truth,
    scaled,
)

_SUM, _PRODUCT, _ATOM = 1, 2, 3

_GHOSTS = {
    labels.Ledger.COST: "alignment_cost",
    labels.Ledger.RECORDS: "records so far",
    labels.Ledger.COUNTER: "round",
    labels.Ledger.LOW: "first index",
    labels.Ledger.HIGH: "end of the range",
    labels.Ledger.ROUND: "rounds so far",
}


def spell(term: Term) -> str:
    """The term as a person would write it in a spec."""
    return _at(term, 0)


def _at(term: Term, level: int) -> str:
    text, own = _spelled(term)
    return f"({text})" if own < level else text


def _spelled(term: Term) -> tuple[str, int]:
    match term:
        case Const(value):
            return str(value), _ATOM if value >= 0 and value.denominator == 1 else _PRODUCT
        case Truth(value):
            return ("true" if value else "false"), _ATOM
        case Sym():
            return _symbol(term, ""), _ATOM
        case App(_, args):
            return _symbol(term, ", ".join(spell(a) for a in args)), _ATOM
        case Add():
            return _sum(term), _SUM
        case Mul(args):
            return _product(args), _PRODUCT
        case Div(left, right):
            return _quotient(left, right), _PRODUCT
        case Fn("mod", (a, b)):
            return f"{_at(a, _ATOM)} % {_at(b, _ATOM)}", _PRODUCT
        case Fn(name, args):
            return f"{name}({', '.join(spell(a) for a in args)})", _ATOM
        case Ite(test, then, otherwise):
            return f"({spell(then)} if {spell(test)} else {spell(otherwise)})", _ATOM
        case Cmp(op, left, right):
            return _comparison(op, left, right), 0
        case Not(arg):
            return f"not {_at(arg, _SUM)}", 0
        case And(args):
            return " and ".join(_at(a, _SUM) for a in args), 0
        case Or(args):
            return " or ".join(_at(a, _SUM) for a in args), 0
        case IsInt(arg):
            return f"{spell(arg)} is an integer", 0


def _symbol(symbol: Sym | App, index: str) -> str:
    """A symbol in the spec's words; `index` is its arguments."""
    match symbol.label:
        case str() as name:
            return name if isinstance(symbol, Sym) else f"{name}[{index}]"
        case labels.DrawOnD(name):
            return name if isinstance(symbol, Sym) else f"{name}[{index}]"
        case labels.AtHead(key, _, side):
            return _kept(key, side)
        case labels.Apart(q):
            return f"({q}' - {q})" if isinstance(symbol, Sym) else f"({q}'[{index}] - {q}[{index}])"
        case labels.Unsettled(name):
            return (
                f"({name}' - {name})" if isinstance(symbol, Sym) else f"({name}'[{index}] - {name}[{index}])"
            )
        case labels.ListLength(name) | labels.Size(name):
            return f"len({name})"
        case labels.PublicFunction(name):
            return f"{name}({index})"
        case labels.DifferingIndex(way):
            return way.text
        case labels.Which(way, names):
            return f"which of {way.value} of {','.join(names)}"
        case labels.Direction(way, names):
            return f"{way.value} of {','.join(names)}"
        case labels.Order(q, op):
            return f"{q} {op} {q}'"
        case labels.Total(q):
            return f"total of {q}"
        case labels.Prefix(q):
            return f"sum of |{q}' - {q}| before {index}"
        case labels.RecordIs(tag):
            return f"out[{index}] is {tag}"
        case labels.RecordField(field):
            return f"out[{index}].{field}"
        case labels.RecordCount(tag):
            return "len(out)" if tag is None else f"out.count({tag})"
        case labels.Extremum(of, primed):
            return (of if isinstance(of, str) else f"extremum {of}") + ("'" if primed else "")
        case labels.ExtremalIndex(number):
            return f"extremal index {number}"
        case labels.AttainedAt(inner):
            return f"the index of {_symbol(Sym(inner, symbol.sort, symbol.kind), index)}"
        case labels.SelectedIndex(selection):
            return selection
        case labels.IsSelected(selection):
            return f"({index} in {selection})"
        case labels.Ranked(selection):
            return f"{selection}[{index}]"
        case labels.Below(selection):
            return f"(number of {selection} before {index})"
        case labels.CallRelease() as label:
            return _released(label, index.partition(", ")[2])  # which execution of the call is left out
        case labels.SumForm(number):
            return f"sum number {number} of ({index})"
        case labels.BoundIndex() | labels.Copy():
            return symbol.name


def _kept(key: labels.Key, side: labels.Side) -> str:
    """What the environment keeps, at a loop head."""
    match key:
        case str() | labels.DrawAt():
            name = key if isinstance(key, str) else f"{key.name}[{key.index}]"
            return (
                f"({name}' - {name})"
                if side is labels.Side.APART
                else f"{name}'"
                if side is labels.Side.ON_D_PRIME
                else name
            )
        case labels.Ledger():
            return _GHOSTS[key]
        case labels.Counted(tag):
            return f"{tag} records so far"
        case labels.LastDraw(name):
            return f"last {name}"
        case labels.Latest(name):
            return f"last index of {name}"
        case labels.Calls(call):
            return f"calls of {call} before the last one"
        case labels.Each(name) | labels.Stretch(name):
            return f"the draws of {name}"
        case labels.CalleeInput(call, argument):
            return f"what {call} got for {argument}"


def _released(label: labels.CallRelease, place: str) -> str:
    """A part of what a call released."""
    match label.part:
        case labels.ReleaseAspect.MADE:
            return f"{label.call} was called"
        case labels.ReleaseAspect.LENGTH:
            return f"len({label.call})"
        case labels.ReleaseAspect.COUNT:
            return f"{label.call}.count({label.name})"
        case labels.ReleaseAspect.IS:
            return f"{label.call}[{place}] is {label.name}"
        case labels.ReleaseAspect.FIELD:
            return f"{label.call}[{place}].{label.name}"


def _sum(term: Add) -> str:
    positive = [(t, k) for t, k in term.parts if k > 0]
    negative = [(t, k) for t, k in term.parts if k < 0]
    pieces: list[str] = []
    if term.constant > 0 and not positive:
        pieces.append(str(term.constant))
    for t, k in positive:
        pieces.append(("+ " if pieces else "") + _scaled(t, k))
    if term.constant > 0 and positive:
        pieces.append(f"+ {term.constant}")
    for t, k in negative:
        pieces.append(("- " if pieces else "-") + _scaled(t, -k))
    if term.constant < 0:
        pieces.append(f"- {-term.constant}" if pieces else str(term.constant))
    return " ".join(pieces)


def _scaled(term: Term, factor: Fraction) -> str:
    if factor == 1:
        return _at(term, _PRODUCT)
    if factor.numerator == 1:
        return f"{_at(term, _PRODUCT)}/{factor.denominator}"
    text = f"{factor.numerator}*{_at(term, _PRODUCT)}"
    return text if factor.denominator == 1 else f"{text}/{factor.denominator}"


def _product(args: tuple[Term, ...]) -> str:
    first = args[0]
    if isinstance(first, Const):
        rest = args[1] if len(args) == 2 else Mul(args[1:])
        if first.value < 0:
            return "-" + _scaled(rest, -first.value)
        return _scaled(rest, first.value)
    return "*".join(_at(a, _ATOM) for a in args)


def _quotient(left: Term, right: Term) -> str:
    """Rational factors are gathered: eps/4 over k is eps/(4*k)."""
    factor, top = _factored(left)
    below, bottom = _factored(right)
    factor /= below
    numerator = (
        str(abs(factor.numerator)) if top is None else _at(scaled(top, abs(factor.numerator)), _PRODUCT)
    )
    parts = [str(factor.denominator)] if factor.denominator != 1 else []
    if bottom is not None:
        parts += [_at(b, _ATOM) for b in (bottom.args if isinstance(bottom, Mul) else (bottom,))]
    if not parts:
        return numerator
    denominator = parts[0] if len(parts) == 1 else f"({'*'.join(parts)})"
    return ("-" if factor < 0 else "") + f"{numerator}/{denominator}"


def _factored(term: Term) -> tuple[Fraction, Term | None]:
    """A rational factor and the rest (None for a number)."""
    match term:
        case Const(value):
            return value, None
        case Mul(args) if isinstance(args[0], Const):
            return args[0].value, args[1] if len(args) == 2 else Mul(args[1:])
        case Add(parts, constant):
            common = lcm(*(k.denominator for _, k in parts), constant.denominator)
            return Fraction(1, common), scaled(term, common)
        case Truth() | Sym() | App() | Mul() | Div() | Fn() | Ite() | Cmp() | Not() | And() | Or() | IsInt():
            return Fraction(1), term


def _comparison(op: str, left: Term, right: Term) -> str:
    return f"{_at(left, _SUM)} {op} {_at(right, _SUM)}"
