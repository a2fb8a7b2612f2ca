"""AST to text: `parse(unparse(m)) == m`. Expressions get no parentheses that they do not need.

Comments inside the sections are not part of the AST and are lost; `remarks` come back above the head.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import assert_never

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.tables import CELL
from aligncheck.language.syntax.walk import has_densities

_STEP = "  "
_WIDTH = 100

# How tightly each kind of expression binds, loosest first.
_CONDITIONAL, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _MINUS, _POWER, _ATOM = range(10)
_BINARY = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT, "**": _POWER}
_SPACED = {"+", "-"}


def unparse_claim(mechanism: n.Mechanism) -> str:
    """The claim as it stands in the `privacy` line."""
    match mechanism.claim:
        case n.Pure(epsilon=epsilon, most=most):
            bound = "" if most is None else f" at most {unparse_expr(most)}"
            return unparse_expr(epsilon) + bound
        case n.Approximate(epsilon=epsilon, delta=delta):
            return f"{unparse_expr(epsilon)} delta {unparse_expr(delta)}"
        case n.Concentrated(rho=rho):
            return f"{unparse_expr(rho)} zcdp"


def claimed(mechanism: n.Mechanism) -> str:
    """What a run costs, in a sentence."""
    match mechanism.claim:
        case n.Pure(epsilon=epsilon, most=most):
            return f"`{unparse_expr(epsilon)}`" + (
                "" if most is None else f", at most `{unparse_expr(most)}`"
            )
        case n.Approximate(epsilon=epsilon, delta=delta):
            return f"`{unparse_expr(epsilon)}` with δ = `{unparse_expr(delta)}`"
        case n.Concentrated(rho=rho):
            return f"ρ = `{unparse_expr(rho)}` (zCDP)"


def private_as(mechanism: n.Mechanism) -> str:
    """What it is by its claim, as the end of a sentence."""
    match mechanism.claim:
        case n.Pure():
            return f"`{unparse_claim(mechanism)}`-differentially private"
        case n.Approximate(epsilon=epsilon, delta=delta):
            return f"(`{unparse_expr(epsilon)}`, `{unparse_expr(delta)}`)-differentially private"
        case n.Concentrated(rho=rho):
            return f"`{unparse_expr(rho)}`-zero-concentrated differentially private"


def unparse(mechanism: n.Mechanism) -> str:
    """The text of a spec, with a final line end."""
    lines = [f"# {remark}".rstrip() for remark in mechanism.remarks]
    lines.append(f"mechanism {mechanism.name}")
    if mechanism.doc:
        quoted = textwrap.wrap(mechanism.doc, _WIDTH, break_long_words=False, break_on_hyphens=False)
        lines += [f'{_STEP}"{line}"' for line in quoted]
    if mechanism.uses or mechanism.functions:
        lines.append("")
    lines += [f'use {use.name} from "{use.path}"' for use in mechanism.uses]
    for function in mechanism.functions:
        kinds = ", ".join(sort.value for sort in function.args)
        lines.append(f"fun {function.name}({kinds}) : {function.result.value}")
    if mechanism.inputs:
        lines += ["", "input", *(_STEP + unparse_input(each) for each in mechanism.inputs)]
    lines += ["", f"privacy {unparse_claim(mechanism)}"]
    lines += ["", "program", *_indented(_statements(mechanism.body))]
    if mechanism.align or not has_densities(mechanism.body):
        lines += ["", "align", *_indented(_align_items(mechanism.align))]
    if mechanism.expect is not None:
        at = f" at {mechanism.expect.at}" if mechanism.expect.at else ""
        lines += ["", f"expect {mechanism.expect.verdict}{at}"]
        lines += ["expect refuted"] if mechanism.also_refuted else []
    return "\n".join(lines) + "\n"


def unparse_input(declaration: n.Input) -> str:
    """One line of the `input` section."""
    attributes: list[str] = []
    match declaration:
        case n.Parameter(name, sort, where, default):
            head = f"{name} : {sort.value}"
            if default is not None:
                attributes.append(f"default {unparse_expr(default)}")
        case n.PublicVector(name, sort, where):
            prefix = "" if sort is n.Sort.REAL else f"{sort.value} "
            head = f"{name} : {prefix}vector"
        case n.Queries(
            names, vector, sort, adjacency, sensitivity, lattice, interval, where, index, direction
        ):
            prefix = "" if sort is n.Sort.REAL else f"{sort.value} "
            head = f"{', '.join(names)} : {prefix}{'queries' if vector else 'query'}"
            if sensitivity is not None:
                attributes.append(f"sensitivity {unparse_expr(sensitivity)}")
            attributes.append(f"adjacency {adjacency.value}")
            attributes += [f"same index as {index.ident}"] if index is not None else []
            attributes += [f"same direction as {direction.ident}"] if direction is not None else []
            if lattice is not None:
                attributes.append(f"lattice {unparse_expr(lattice)}")
            if interval is not None:
                attributes.append(f"range [{unparse_expr(interval[0])}, {unparse_expr(interval[1])}]")
        case _:
            assert_never(declaration)
    clause = f" where {unparse_expr(where)}" if where is not None else ""
    return ", ".join([head, *attributes]) + clause


def unparse_shift(shift: n.Shift) -> str:
    """One line of an alignment."""
    index = _place(shift.index) if shift.index is not None else ""
    guard = f" when {unparse_expr(shift.guard)}" if shift.guard is not None else ""
    return f"{shift.name}{index} {shift.op} {unparse_expr(shift.value)}{guard}"


def unparse_alignment(items: tuple[n.AlignItem, ...]) -> str:
    """The lines of an `align` section, without indentation or a final line end."""
    return "\n".join(_align_items(items))


# --- lines --------------------------------------------------------------------------------------------------


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (_STEP + line for line in lines)


def _statements(body: tuple[n.Stmt, ...]) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement)


def _statement(statement: n.Stmt) -> Iterator[str]:
    match statement:
        case n.Assign(name, value):
            yield f"{name} = {unparse_expr(value)}"
        case n.Invoke(name, callee, given, rounds):
            named = ", ".join(f"{each.name} = {unparse_expr(each.value)}" for each in given)
            before, after = ("", "") if rounds is None else ("repeat ", f" {_rounds(rounds)}")
            yield f"{name} = {before}{callee}({named}){after}"
        case n.Sample(name, index, family, args):
            place = f"[{unparse_expr(index)}]" if index is not None else ""
            shown = args
            if family.stepped and args[1:] == (n.Number(Fraction(1)),):
                shown = args[:1]
            yield f"{name}{place} ~ {family.value}({_listed(shown)})"
        case n.Choose(name, weights):
            yield f"{name} ~ {_gather(weights)}"
        case n.Logistic(name, location, scale, low):
            arguments = (
                (location,) if low is not None and scale == n.Number(Fraction(1)) else (location, scale)
            )
            clause = f" where {name} > {_text(low, _SUM)}" if low is not None else ""
            yield f"{name} ~ Logistic({_listed(arguments)}){clause}"
        case n.If(branches, otherwise):
            for word, branch in zip(_words("if", "elif"), branches, strict=False):
                yield f"{word} {unparse_expr(branch.test)}:"
                yield from _indented(_statements(branch.body))
            if otherwise:
                yield "else:"
                yield from _indented(_statements(otherwise))
        case n.For(index, over, body, invariants):
            yield f"for {_loop_header(index, over)}:"
            yield from _indented(_loop_body(body, invariants))
        case n.While(test, body, invariants):
            yield f"while {unparse_expr(test)}:"
            yield from _indented(_loop_body(body, invariants))
        case n.Emit(tag, fields):
            shown_fields = ", ".join(f"{each.name} = {unparse_expr(each.value)}" for each in fields)
            yield f"emit {tag}({shown_fields})" if fields else f"emit {tag}"
        case n.Break():
            yield "break"
        case n.Pass():
            yield "pass"


def _rounds(rounds: n.Rounds) -> str:
    most = "" if rounds.most is None else f" at most {unparse_expr(rounds.most)} rounds"
    test, chance = unparse_expr(rounds.test), unparse_expr(rounds.chance)
    return f"until {test} stop with probability {chance}{most}"


def _words(first: str, later: str) -> Iterator[str]:
    yield first
    while True:
        yield later


def _loop_header(index: str | None, over: n.OverQueries | n.OverRange | n.Indices) -> str:
    match over:
        case n.Indices(base):
            return f"{index} in {base}"
        case n.OverQueries(base, item):
            return f"{index}, {item} in {base}" if index is not None else f"{item} in {base}"
        case n.OverRange(low, high):
            bounds = (high,) if low == n.Number(Fraction(0)) else (low, high)
            return f"{index} in range({_listed(bounds)})"


def _loop_body(body: tuple[n.Stmt, ...], invariants: tuple[n.Expr, ...]) -> Iterator[str]:
    for invariant in invariants:
        yield f"invariant {unparse_expr(invariant)}"
    yield from _statements(body)


def _align_items(items: tuple[n.AlignItem, ...]) -> Iterator[str]:
    for position, item in enumerate(items):
        match item:
            case n.Shift():
                yield unparse_shift(item)
            case n.CaseSplit(cases, otherwise):
                for each in cases:
                    yield f"case {unparse_expr(each.test)}:"
                    yield from _indented(_arm(each.items))
                # Without an `otherwise` the next case split would become part of this one.
                if otherwise or _splits_next(items, position):
                    yield "otherwise:"
                    yield from _indented(_arm(otherwise))


def _splits_next(items: tuple[n.AlignItem, ...], position: int) -> bool:
    return position + 1 < len(items) and isinstance(items[position + 1], n.CaseSplit)


def _arm(items: tuple[n.AlignItem, ...]) -> Iterator[str]:
    return _align_items(items) if items else iter(("pass",))


# --- expressions --------------------------------------------------------------------------------------------


def unparse_expr(expr: n.Expr) -> str:
    """The text of an expression."""
    return _text(expr, _CONDITIONAL)


def _listed(exprs: Iterable[n.Expr]) -> str:
    return ", ".join(unparse_expr(each) for each in exprs)


def _text(expr: n.Expr, context: int) -> str:
    """The expression as an operand: in parentheses where it binds less tightly than `context` wants."""
    text, binding = _bound(expr)
    return text if binding >= context else f"({text})"


def _place(index: n.Expr) -> str:
    if isinstance(index, n.Call) and index.function == CELL:
        return "".join(f"[{unparse_expr(each)}]" for each in index.args)
    return f"[{unparse_expr(index)}]"


def _bound(expr: n.Expr) -> tuple[str, int]:
    """The text of an expression and how tightly it binds."""
    match expr:
        case n.Number(value):
            return _number(value)
        case n.Boolean(value):
            return ("true" if value else "false"), _ATOM
        case n.Name(ident, primed):
            return ident + "'" * primed, _ATOM
        case n.Index(base, index, primed):
            return f"{base}{chr(39) * primed}{_place(index)}", _ATOM
        case n.Call("exp", (n.Binary("*", third, n.Call("ln", args)),)) if third == n.THIRD:
            return f"{n.CUBE_ROOT}({_listed(args)})", _ATOM
        case n.Call(function, args):
            return f"{function}({_listed(args)})", _ATOM
        case n.Unary("not", n.OutIs(index, tag, of)):
            return f"{_record(index, of)} is not {tag}", _COMPARE
        case n.Unary("not", n.Member(index, selection)):
            return f"{_text(index, _SUM)} not in {selection}", _COMPARE
        case n.Unary("not", operand):
            return f"not {_text(operand, _NOT)}", _NOT
        case n.Unary(op, operand):
            return f"{op}{_text(operand, _MINUS)}", _MINUS
        case n.Binary(op, left, right):
            return _binary(op, left, right)
        case n.Compare(op, left, right):
            return f"{_text(left, _SUM)} {op} {_text(right, _SUM)}", _COMPARE
        case n.Logic(op, args):
            chain = _chain(op, args)
            if chain is not None:
                return chain, _COMPARE
            inner, binding = (_NOT, _AND) if op == "and" else (_AND, _OR)
            return f" {op} ".join(_text(arg, inner) for arg in args), binding
        case n.Conditional(test, then, otherwise):
            return (
                f"{_text(then, _OR)} if {_text(test, _OR)} else {_text(otherwise, _CONDITIONAL)}",
                _CONDITIONAL,
            )
        case n.Member(index, selection):
            return f"{_text(index, _SUM)} in {selection}", _COMPARE
        case n.Gather():
            return _gather(expr), _ATOM
        case n.OutIs(index, tag, of):
            return f"{_record(index, of)} is {tag}", _COMPARE
        case n.OutField(index, field, of):
            return f"{of}[{unparse_expr(index)}].{field}", _ATOM
        case n.OutCount(tag, of):
            return (f"len({of})" if tag is None else f"{of}.count({tag})"), _ATOM


def _record(index: n.Expr, of: str) -> str:
    return of if index == n.Number(Fraction(0)) else f"{of}[{unparse_expr(index)}]"


def _gather(gather: n.Gather) -> str:
    elements = _listed(each for each in (gather.count, gather.body) if each is not None)
    clause = f" where {unparse_expr(gather.where)}" if gather.where is not None else ""
    return f"{gather.function}({elements} for {_loop_header(gather.index, gather.over)}{clause})"


def _binary(op: str, left: n.Expr, right: n.Expr) -> tuple[str, int]:
    binding = _BINARY[op]
    if op == "**":
        return f"{_text(left, _ATOM)}**{_text(right, _MINUS)}", binding
    sign = f" {op} " if op in _SPACED else op
    return f"{_text(left, binding)}{sign}{_text(right, binding + 1)}", binding


def _chain(op: str, args: tuple[n.Expr, ...]) -> str | None:
    """`a < b <= c` for the conjunction that a chained comparison stands for; None for any other."""
    links = [arg for arg in args if isinstance(arg, n.Compare)]
    if op != "and" or len(links) != len(args) or len(links) < 2:
        return None
    directions = {link.op[0] for link in links}
    if directions not in ({"<"}, {">"}):
        return None
    if any(one.right != other.left for one, other in pairwise(links)):
        return None
    first = _text(links[0].left, _SUM)
    return first + "".join(f" {link.op} {_text(link.right, _SUM)}" for link in links)


def _number(value: Fraction) -> tuple[str, int]:
    """A decimal where it is finite, a quotient otherwise (which the parser never makes)."""
    if value < 0:
        return f"-{_number(-value)[0]}", _MINUS
    rest, places = value.denominator, 0
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
            places += 1
    if rest != 1:
        return f"{value.numerator}/{value.denominator}", _PRODUCT
    if value.denominator == 1:
        return str(value.numerator), _ATOM
    digits = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:].rstrip('0')}", _ATOM
