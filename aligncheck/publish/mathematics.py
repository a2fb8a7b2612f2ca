r"""Expressions and programs as LaTeX writes them: `eps/(2*k)` is `\frac{\varepsilon}{2k}`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.layout import GREEK
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import claimed_in
from aligncheck.language.unparse import unparse_expr

_LETTERS = {spelt: f"\\{spelt}" for spelt in GREEK.values()} | {
    "eps": "\\varepsilon",
    "lam": "\\lambda",
    "Lam": "\\Lambda",
    "omicron": "o",
}
_COMPARED = {"<=": "\\le", ">=": "\\ge", "==": "=", "!=": "\\ne", "<": "<", ">": ">"}
_GATHERED = {"argmax": "\\arg\\max", "argmin": "\\arg\\min", "max": "\\max", "min": "\\min", "sum": "\\sum"}
_SPECIAL = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "\\textquotedbl{}",
    "'": "'",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "…": "\\ldots{}",
    "→": "$\\to$",
    "∎": "",
}

# How tightly each kind binds, as far as parentheses are concerned.
_LOOSE, _OR, _AND, _COMPARE, _SUM, _PRODUCT, _ATOM = range(7)


def plain(text: str) -> str:
    """Text in which nothing is a command. A letter that TeX has no glyph for is shown by its number."""
    return "".join(_SPECIAL.get(c) or (c if c.isascii() else _foreign(c)) for c in text)


def _foreign(character: str) -> str:
    if character in GREEK:
        return f"${_LETTERS[GREEK[character]]}$"
    base = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain(base) if base else f"\\texttt{{U+{ord(character):04X}}}"


def code(text: str) -> str:
    """Code within a sentence: in mathematics where it is an expression, else as it is written."""
    try:
        read = parse(Source("", f"mechanism m\nprivacy {text}\nprogram\n  pass\nalign\n  pass\n"))
    except SpecError:
        return f"\\texttt{{{plain(text)}}}"
    claim = read.claim
    whole = isinstance(claim, n.Pure) and claim.most is None
    return f"${math(claimed_in(claim)[0])}$" if whole else f"\\texttt{{{plain(text)}}}"


def math(expr: n.Expr) -> str:
    """An expression, for math mode."""
    return _math(expr, _LOOSE)


def name(ident: str, primed: bool = False) -> str:
    """A name: a number or what follows the first underscore at its end is set below it."""
    found = re.fullmatch(r"([A-Za-z]+)_?(\d*)", ident)
    stem, number = (found[1], found[2]) if found else (ident, "")
    if stem in _LETTERS:
        shown = _LETTERS[stem]
    elif len(stem) == 1:
        shown = stem
    else:
        shown = f"\\mathit{{{plain(stem)}}}"
    return shown + "'" * primed + (f"_{{{number}}}" if number else "")


def drawn(ident: str, index: n.Expr | None) -> str:
    """A noise variable."""
    return name(ident) if index is None else _indexed(ident, False, index)


def _indexed(base: str, primed: bool, index: n.Expr) -> str:
    shown = name(base, primed)
    below = re.fullmatch(r"(.+)_\{(\d+)\}", shown)
    return f"{below[1]}_{{{below[2]},{math(index)}}}" if below else f"{shown}_{{{math(index)}}}"


def _math(expr: n.Expr, context: int) -> str:
    shown, binding = _bound(expr)
    return shown if binding >= context else f"\\left({shown}\\right)"


def _bound(expr: n.Expr) -> tuple[str, int]:
    match expr:
        case n.Number(value):
            return (unparse_expr(expr), _ATOM) if value >= 0 else (f"-{unparse_expr(n.Number(-value))}", _SUM)
        case n.Boolean(value):
            return f"\\textbf{{{str(value).lower()}}}", _ATOM
        case n.Name(ident, primed):
            return name(ident, primed), _ATOM
        case n.Index(base, index, primed):
            return _indexed(base, primed, index), _ATOM
        case n.Call(function, args):
            return _call(function, args)
        case n.Unary("not", n.Member(index, selection)):
            return f"{_math(index, _SUM)} \\notin {name(selection)}", _COMPARE
        case n.Unary("not", operand):
            return f"\\lnot {_math(operand, _ATOM)}", _AND
        case n.Unary(_, operand):
            return f"-{_math(operand, _PRODUCT)}", _SUM
        case n.Binary(op, left, right):
            return _binary(op, left, right)
        case n.Compare(op, left, right):
            return f"{_math(left, _SUM)} {_COMPARED[op]} {_math(right, _SUM)}", _COMPARE
        case n.Logic(op, args):
            sign, binding = ("\\land", _AND) if op == "and" else ("\\lor", _OR)
            return f" {sign} ".join(_math(one, binding + 1) for one in args), binding
        case n.Conditional(test, then, otherwise):
            return (
                f"{_math(then, _OR)} \\text{{ if }} {_math(test, _OR)} \\text{{ else }} {math(otherwise)}",
                _LOOSE,
            )
        case n.OutIs(index, tag, of):
            return f"{_indexed(of, False, index)} \\text{{ is }} \\textsf{{{plain(tag)}}}", _COMPARE
        case n.OutField(index, part, of):
            return f"{_indexed(of, False, index)}.\\textsf{{{plain(part)}}}", _ATOM
        case n.OutCount(tag, of):
            what = name(of) if tag is None else f"{name(of)}_{{\\textsf{{{plain(tag)}}}}}"
            return f"|{what}|", _ATOM
        case n.Gather():
            return _gather(expr), _PRODUCT
        case n.Member(index, selection):
            return f"{_math(index, _SUM)} \\in {name(selection)}", _COMPARE


def _call(function: str, args: tuple[n.Expr, ...]) -> tuple[str, int]:
    shown = ", ".join(map(math, args))
    wrapped = {
        "abs": f"\\left|{shown}\\right|",
        "len": f"|{shown}|",
        "sqrt": f"\\sqrt{{{shown}}}",
        "floor": f"\\left\\lfloor {shown} \\right\\rfloor",
    }
    if function in wrapped:
        return wrapped[function], _ATOM
    called = {"log2": "\\log_2", **{f: f"\\{f}" for f in ("min", "max", "exp", "ln")}}
    return f"{called.get(function, name(function))}\\left({shown}\\right)", _ATOM


def _binary(op: str, left: n.Expr, right: n.Expr) -> tuple[str, int]:
    match op:
        case "/":
            return f"\\frac{{{math(left)}}}{{{math(right)}}}", _ATOM
        case "**":
            return f"{_math(left, _ATOM)}^{{{math(right)}}}", _PRODUCT
        case "*":
            first, second = _math(left, _PRODUCT), _math(right, _PRODUCT)
            sign = " \\cdot " if second[0].isdigit() or isinstance(right, n.Call) else " "
            return f"{first}{sign}{second}", _PRODUCT
        case "%":
            return f"{_math(left, _PRODUCT)} \\bmod {_math(right, _ATOM)}", _PRODUCT
        case _:
            return f"{_math(left, _SUM)} {op} {_math(right, _PRODUCT)}", _SUM


def _gather(gather: n.Gather) -> str:
    count = f"^{{{math(gather.count)}}}" if gather.count is not None else ""
    sign = _GATHERED.get(gather.function, f"\\mathrm{{{plain(gather.function)}}}")
    clause = f",\\, {math(gather.where)}" if gather.where is not None else ""
    return f"{sign}{count}_{{{_over(gather.index, gather.over)}{clause}}} {_math(gather.body, _PRODUCT)}"


def _over(index: str | None, over: n.Indices | n.OverQueries | n.OverRange) -> str:
    low, high = (
        ("0", f"|{name(over.base)}|")
        if not isinstance(over, n.OverRange)
        else map(math, (over.low, over.high))
    )
    return f"{low} \\le {name(index or 'i')} < {high}"


# --- programs ---------------------------------------------------------------------------------------------


def algorithm(source: Source, mechanism: n.Mechanism, moved: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines of an `algorithmic` environment; `moved` holds, by the names of draws, how they are moved.
    Before each stands its number in the spec, for the command `specline`, which sets the counter of lines.
    """
    yield from _statements(source, mechanism.body, moved)


def _stop(rounds: n.Rounds) -> str:
    most = "" if rounds.most is None else f", at most ${math(rounds.most)}$ times"
    return f"or else stopped with probability ${math(rounds.chance)}$ each time{most}"


def _statements(
    source: Source, body: tuple[n.Stmt, ...], moved: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    for stmt in body:
        yield _line(source, stmt)
        yield from _statement(source, stmt, moved)


def _line(source: Source, node: n.Node) -> str:
    return f"\\specline{{{source.position(node.span.start)[0]}}}"


def _statement(source: Source, stmt: n.Stmt, moved: Mapping[str, Sequence[str]]) -> Iterator[str]:
    match stmt:
        case n.Assign(ident, value):
            yield f"\\State ${name(ident)} \\gets {math(value)}$"
        case n.Sample(ident, index, family, args):
            kept = args[:1] if args[1:] == (n.Number(Fraction(1)),) else args
            law = f"\\mathrm{{{family.value}}}\\left({', '.join(map(math, kept))}\\right)"
            told = "; ".join(moved.get(ident, ()))
            yield f"\\State ${drawn(ident, index)} \\sim {law}$" + (f" \\Comment{{{told}}}" if told else "")
        case n.Choose(ident, weights):
            yield f"\\State ${name(ident)} \\sim {_gather(weights)}$"
        case n.Logistic(ident, location, scale, low):
            clause = f" \\mid {name(ident)} > {math(low)}" if low is not None else ""
            law = f"\\mathrm{{Logistic}}\\left({math(location)}, {math(scale)}\\right)"
            yield f"\\State ${name(ident)} \\sim {law}{clause}$"
        case n.Invoke(ident, callee, given, rounds):
            shown = ", ".join(f"{name(a.name)} = {math(a.value)}" for a in given)
            again = "" if rounds is None else f" repeated until ${math(rounds.test)}$, {_stop(rounds)}"
            yield f"\\State ${name(ident)} \\gets \\textsc{{{plain(callee)}}}({shown})${again}"
        case n.If(branches, otherwise):
            for at, branch in enumerate(branches):
                yield _line(source, branch.test)
                yield f"\\{'ElsIf' if at else 'If'}{{${math(branch.test)}$}}"
                yield from _statements(source, branch.body, moved)
            if otherwise:
                yield "\\Else"
                yield from _statements(source, otherwise, moved)
            yield "\\EndIf"
        case n.For(index, over, body):
            item = (
                f" with ${name(over.item)} = {name(over.base)}_{{{name(index or 'i')}}}$"
                if isinstance(over, n.OverQueries)
                else ""
            )
            yield f"\\For{{${_over(index, over)}${item}}}"
            yield from _statements(source, body, moved)
            yield "\\EndFor"
        case n.While(test, body):
            yield f"\\While{{${math(test)}$}}"
            yield from _statements(source, body, moved)
            yield "\\EndWhile"
        case n.Emit(tag, fields):
            shown = ", ".join(f"\\textsf{{{plain(f.name)}}} = {math(f.value)}" for f in fields)
            yield f"\\State \\textbf{{output}} \\textsf{{{plain(tag)}}}" + (f"$({shown})$" if fields else "")
        case n.Break():
            yield "\\State \\textbf{break}"
        case n.Pass():
            yield "\\State \\textbf{pass}"
