"""Terms in the spec's notation, for reports: no symbol of the proof's own bookkeeping reaches a person
unexplained.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from aligncheck.search.relational.terms import (
    Add,
    And,
    App,
    Cmp,
    Const,
    Div,
    Fn,
    IsInt,
    Ite,
    Kind,
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
    "#cost": "alignment_cost",
    "#out": "records so far",
    "#counter": "round",
    "#low": "first index",
    "#high": "end of the range",
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
        case Sym(name, _, kind):
            return _symbol(name, kind), _ATOM
        case App(name, args):
            if name.startswith("call:"):
                return _released(name, tuple(spell(a) for a in args)), _ATOM
            return _application(name, ", ".join(spell(a) for a in args)), _ATOM
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


def _chosen(name: str) -> str | None:
    """A symbol of a maximum or a selection, in the spec's words."""
    label, _, rest = name.partition(":")
    place = rest.endswith("~where")
    rest = rest.removesuffix("~where")
    words = {
        "val": rest if "#" not in rest else f"extremum {rest[1:]}",
        "idx": f"extremal index {rest[1:]}",
        "sel": rest,
        "size": f"len({rest})",
    }
    text = words.get(label)
    return f"the index of {text}" if place and text is not None else text


def _symbol(name: str, kind: Kind) -> str:
    chosen = _chosen(name)
    if chosen is not None:
        return chosen
    base = name.split("@", 1)[0]
    primed = name.endswith("'")
    if base.startswith("d:"):
        return f"({base[2:]}' - {base[2:]})"
    if base.startswith("#last:"):
        return f"last {base[6:]}"
    if base.startswith("#latest:"):
        return f"last index of {base[8:]}"
    if base.startswith("#call:"):
        return f"calls of {base[6:]} before the last one"
    if base.startswith("#out:count:"):
        return f"{base[11:]} records so far"
    if base == "#round":
        return "rounds so far"
    if base in _GHOSTS:
        return _GHOSTS[base]
    if base.startswith("place:"):
        label = base.split(":")[1]
        return "the differing index" if label == "one" else f"the index that goes {label}"
    if base.startswith(("le:", "ge:")):
        return f"{base[3:]} {'<=' if base[0] == 'l' else '>='} {base[3:]}'"
    if base in ("out:len",):
        return "len(out)"
    if base.startswith("out:count:"):
        return f"out.count({base[10:]})"
    if kind is Kind.GHOST and ":" in base:
        return base.replace(":", " of ")
    return base.rstrip("#%+") + ("'" if primed else "")


def _released(name: str, args: tuple[str, ...]) -> str:
    """A part of what a call released; which execution of the call is left out."""
    _, call, part, *rest = name.split(":")
    place = ", ".join(args[1:])
    match part:
        case "made":
            return f"{call} was called"
        case "is":
            return f"{call}[{place}] is {rest[0]}"
        case "field":
            return f"{call}[{place}].{rest[0]}"
        case "count":
            return f"{call}.count({rest[0]})"
        case _:
            return f"len({call})"


def _application(name: str, index: str) -> str:
    if name.startswith("fun:"):
        return f"{name[4:]}({index})"
    if name.startswith("sum:"):
        return f"sum number {name[4:]} of ({index})"
    if name.startswith("d:"):
        return f"({name[2:]}'[{index}] - {name[2:]}[{index}])"
    if name.startswith("prefix:"):
        q = name[7:]
        return f"sum of |{q}' - {q}| before {index}"
    if name.startswith("in:"):
        return f"({index} in {name[3:]})"
    if name.startswith("at:"):
        return f"{name[3:]}[{index}]"
    if name.startswith("passed:"):
        return f"(number of {name[7:]} before {index})"
    if name.startswith("out:is:"):
        return f"out[{index}] is {name[7:]}"
    if name.startswith("out:field:"):
        return f"out[{index}].{name[10:]}"
    return f"{name.rstrip('#%+')}[{index}]"


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
