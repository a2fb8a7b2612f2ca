"""Terms as texts that can be read back: `(<= (+ 1 |len(q)|) i@1)`.

Unlike `relational.spell`, which is for people, every symbol has its own unique name here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

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
    Mul,
    Not,
    Or,
    Sym,
    Term,
    Truth,
    add,
    and_,
    atoms,
    compare,
    div,
    fn,
    is_number,
    ite,
    mul,
    not_,
    or_,
)

Names: TypeAlias = Mapping[str, Sym | App]
"""Each name with the symbol, or with one application of the function symbol, that bears it."""

_FUNCTIONS = ("abs", "sqrt", "exp", "ln", "log2", "floor", "mod", "undefined")
_COMPARISONS = ("<", "<=", "==")
_PLAIN = re.compile(r"[A-Za-z_#][A-Za-z0-9_#@:.'~!%+-]*")
_TOKEN = re.compile(r"\s*(?:([()])|\|([^|]*)\||([^\s()|]+))")
_DEPTH = 60

Parsed: TypeAlias = "str | _Name | list[Parsed]"


class _Name(str):
    """A quoted symbol, which is no number and no word of the notation."""

    __slots__ = ()


class NotationError(Exception):
    """A text that is no term of this mechanism; the message says why."""


def names_of(terms: Iterable[Term]) -> dict[str, Sym | App]:
    """The symbols that occur, by name; one name has one meaning within a mechanism's analysis."""
    return {atom.name: atom for atom in atoms(terms)}


def write(term: Term) -> str:
    """The text of a term."""
    match term:
        case Const(value):
            return str(value)
        case Truth(value):
            return "true" if value else "false"
        case Sym():
            return _name(term.name)
        case App(_, args):
            return _list("@", _name(term.name), *map(write, args))
        case Add(parts, constant):
            shown = [write(t) if k == 1 else _list("*", str(k), write(t)) for t, k in parts]
            return _list("+", *([str(constant)] if constant else []), *shown)
        case Mul(args):
            return _list("*", *map(write, args))
        case Div(left, right):
            return _list("/", write(left), write(right))
        case Fn(name, args):
            return _list(name, *map(write, args))
        case Ite(test, then, otherwise):
            return _list("if", write(test), write(then), write(otherwise))
        case Cmp(op, left, right):
            return _list(op, write(left), write(right))
        case Not(arg):
            return _list("not", write(arg))
        case And(args):
            return _list("and", *map(write, args))
        case Or(args):
            return _list("or", *map(write, args))
        case IsInt(arg):
            return _list("int", write(arg))


def _list(*parts: str) -> str:
    return f"({' '.join(parts)})"


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name not in ("true", "false") else f"|{name}|"


def read(text: str, names: Names) -> Term:
    """The term that a text stands for. Raises NotationError."""
    found = _parsed(text)
    if len(found) != 1:
        raise NotationError(f"one term is wanted, not {len(found)}")
    return _term(found[0], names)


def _parsed(text: str) -> list[Parsed]:
    """The text's lists, nested as its parentheses are."""
    stack: list[list[Parsed]] = [[]]
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise NotationError(f"cannot be read from `{text[place : place + 10]}` on")
        place = match.end()
        parenthesis, quoted, plain = match.groups()
        if parenthesis == "(":
            stack.append([])
            if len(stack) > _DEPTH:
                raise NotationError("nests too deeply")
        elif parenthesis == ")":
            if len(stack) == 1:
                raise NotationError("has a `)` too many")
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(plain if quoted is None else _Name(quoted))
    if len(stack) > 1:
        raise NotationError("lacks a `)`")
    return stack[0]


def _term(found: Parsed, names: Names) -> Term:
    if isinstance(found, str):
        return _leaf(found, names)
    if not found or not isinstance(found[0], str):
        raise NotationError("a list must begin with a word")
    word, rest = found[0], found[1:]
    if word == "@":
        return _application(rest, names)
    args = [_term(each, names) for each in rest]
    numbers = bool(args) and all(is_number(a) for a in args)
    truths = not any(is_number(a) for a in args)
    match word, args:
        case "+", _ if numbers:
            return add(*args)
        case "*", _ if numbers:
            return mul(*args)
        case "/", [left, right] if numbers:
            return div(left, right)
        case (("and" | "or"), _) if truths:
            return and_(args) if word == "and" else or_(args)
        case "not", [arg] if truths:
            return not_(arg)
        case "int", [arg] if numbers:
            return IsInt(arg)
        case "if", [test, then, otherwise] if not is_number(test) and is_number(then) is is_number(otherwise):
            return ite(test, then, otherwise)
        case _, [left, right] if word in _COMPARISONS and numbers:
            return compare(word, left, right)
        case _ if word in _FUNCTIONS and numbers and len(args) == (2 if word == "mod" else 1):
            return fn(word, *args)
    raise NotationError(f"`{word}` does not go with its arguments")


def _leaf(found: str, names: Names) -> Term:
    if not isinstance(found, _Name):
        if found in ("true", "false"):
            return Truth(found == "true")
        if re.fullmatch(r"-?[0-9]{1,400}(/[1-9][0-9]{0,400})?", found, re.ASCII):
            return Const(Fraction(found))
    known = names.get(found)
    if not isinstance(known, Sym):
        raise NotationError(f"this mechanism has no symbol `{found}`")
    return known


def _application(rest: list[Parsed], names: Names) -> Term:
    name = rest[0] if rest and isinstance(rest[0], str) else ""
    known = names.get(name)
    args = tuple(_term(each, names) for each in rest[1:])
    if not isinstance(known, App) or len(known.args) != len(args):
        raise NotationError(f"this mechanism has no function `{name}` of {len(args)} arguments")
    if any(is_number(a) is not is_number(b) for a, b in zip(args, known.args, strict=True)):
        raise NotationError(f"`{name}` does not go with its arguments")
    return App(known.label, args, known.sort, known.kind)
