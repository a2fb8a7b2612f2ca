"""How large a spec may be, so that every later stage can recurse over it and multiply it out.

Everything here walks with a stack of its own: the depth of what it measures is not known yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import comb

from aligncheck.language.diagnostics import fault
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk

MAX_STATEMENTS = 500
MAX_LINES = 200
MAX_INPUTS = 64
MAX_FIELDS = 32
MAX_TERMS = 100
MAX_NESTING = 40
MAX_DEPTH = 120
MAX_SETS = 3
MAX_EXPONENT = 16
MAX_DEGREE = 128
MAX_EXPANDED = 5_000

_Size = tuple[int, int]
_ATOM: _Size = (1, 1)
_CHAINS = ({"+", "-"}, {"*", "/", "%"})


def check_limits(source: Source, mechanism: n.Mechanism) -> None:
    """Raises SpecError where something is larger or deeper than this module's limits."""
    statements = list(walk.statements_in(mechanism.body))
    shifts = list(walk.shifts_in(mechanism.align))
    counts: list[tuple[list[n.Node], int, str]] = [
        (list(statements), MAX_STATEMENTS, "statements"),
        (list(shifts), MAX_LINES, "lines in `align`"),
        (list(mechanism.inputs), MAX_INPUTS, "inputs"),
    ]
    counts += [
        (list(each.fields), MAX_FIELDS, "fields in one record")
        for each in statements
        if isinstance(each, n.Emit)
    ]
    for found, most, what in counts:
        if len(found) > most:
            raise fault(source, "too-large", f"more than {most} {what}", found[most].span)
    for expr in _expressions(mechanism, statements):
        _check_shape(source, expr)
    for expr in _expressions(mechanism, []):
        _size_of(source, expr, {})
    _check_growth(source, mechanism.body, {})


def _expressions(mechanism: n.Mechanism, statements: list[n.Stmt]) -> Iterator[n.Expr]:
    for item in mechanism.inputs:
        attributes = [item.where, item.default if isinstance(item, n.Parameter) else None]
        if isinstance(item, n.Queries):
            attributes = [item.sensitivity, item.lattice, *(item.range or ()), item.where]
        yield from (each for each in attributes if each is not None)
    yield from walk.claimed_in(mechanism.claim)
    for statement in statements:
        yield from walk.own_expressions(statement)
    yield from walk.align_expressions(mechanism.align)


def _check_shape(source: Source, expr: n.Expr) -> None:
    """Depth, and the length of sums and products: `a + b + …` nests to the left, but reads as one level.

    `terms` counts the operands of such a chain from its end to the present node.
    """
    pending: list[tuple[n.Expr, int, int, int, int]] = [(expr, 1, 1, 2, 0)]
    while pending:
        node, depth, nesting, terms, sets = pending.pop()
        sets += isinstance(node, n.Gather)
        if sets > MAX_SETS:
            raise fault(
                source, "too-deep", f"sets of indices are nested more than {MAX_SETS} deep", node.span
            )
        parts = walk.parts_of(node)
        if terms > MAX_TERMS or (isinstance(node, n.Logic | n.Call) and len(parts) > MAX_TERMS):
            raise fault(
                source,
                "too-many-terms",
                f"this has more than {MAX_TERMS} terms",
                node.span,
                help="give a part of it a name of its own",
            )
        if nesting > MAX_NESTING or depth > MAX_DEPTH:
            raise fault(
                source,
                "too-deep",
                "this expression is nested too deeply",
                node.span,
                help="give a part of it a name of its own",
            )
        for part in parts:
            if part is parts[0] and _continues(node, part):
                pending.append((part, depth + 1, nesting, terms + 1, sets))
            else:
                pending.append((part, depth + 1, nesting + 1, 2, sets))


def _continues(node: n.Expr, part: n.Expr) -> bool:
    if not (isinstance(node, n.Binary) and isinstance(part, n.Binary)):
        return False
    return any(node.op in chain and part.op in chain for chain in _CHAINS)


def _check_growth(source: Source, body: tuple[n.Stmt, ...], sizes: dict[str, _Size]) -> dict[str, _Size]:
    """Follows sizes through assignments, as `y = x**16; z = y**16` would go on for ever.

    What a loop assigns is one term there and afterwards: loops are never unrolled.
    """
    for statement in body:
        match statement:
            case n.Assign(name, value):
                sizes = {**sizes, name: _size_of(source, value, sizes)}
            case n.If():
                for expr in walk.own_expressions(statement):
                    _size_of(source, expr, sizes)
                ends = [_check_growth(source, arm, sizes) for arm in statement.arms]
                sizes = {name: max(end.get(name, _ATOM) for end in ends) for end in ends for name in end}
            case n.For(body=inner) | n.While(body=inner):
                changed = {each.name for each in walk.statements_in(inner) if isinstance(each, n.Assign)}
                sizes = {name: size for name, size in sizes.items() if name not in changed}
                for expr in walk.own_expressions(statement):
                    _size_of(source, expr, sizes)
                _check_growth(source, inner, sizes)
            case n.Invoke() | n.Sampling() | n.Emit() | n.Empty():
                for expr in walk.own_expressions(statement):
                    _size_of(source, expr, sizes)
    return sizes


def _size_of(source: Source, expr: n.Expr, sizes: dict[str, _Size]) -> _Size:
    """How many terms of which degree there are once everything is multiplied out."""
    measured: list[_Size] = []
    pending: list[tuple[n.Expr, bool]] = [(expr, False)]
    while pending:
        node, ready = pending.pop()
        parts = walk.parts_of(node)
        if not ready:
            pending.append((node, True))
            pending.extend((part, False) for part in reversed(parts))
            continue
        inner = measured[len(measured) - len(parts) :]
        del measured[len(measured) - len(parts) :]
        terms, degree = _multiplied_out(source, node, inner, sizes)
        if degree > MAX_DEGREE or terms > MAX_EXPANDED:
            raise fault(
                source,
                "too-large-power",
                "this is too large once it is multiplied out",
                node.span,
                help="use smaller exponents, and fewer products of sums",
            )
        measured.append((terms, degree))
    return measured[0]


def _multiplied_out(source: Source, node: n.Expr, inner: list[_Size], sizes: dict[str, _Size]) -> _Size:
    """Terms and degree of an expression from those of its parts."""
    match node, inner:
        case n.Name(name), _:
            return sizes.get(name, _ATOM)
        case n.Binary("**", base, exponent), [(terms, degree), _]:
            power = _exponent(source, base, exponent)
            return comb(terms + power - 1, power), degree * max(power, 1)
        case n.Binary("+" | "-"), [(one, low), (other, high)]:
            return one + other, max(low, high)
        case n.Binary("*" | "/"), [(one, low), (other, high)]:
            return one * other, low + high
        case n.Unary("-"), [size]:
            return size
        case _:
            return _ATOM


def _exponent(source: Source, base: n.Expr, exponent: n.Expr) -> int:
    if isinstance(exponent, n.Number) and exponent.value.denominator == 1 and exponent.value <= MAX_EXPONENT:
        return int(exponent.value)
    raise fault(
        source,
        "bad-exponent",
        f"an exponent is a whole number from 0 to {MAX_EXPONENT}, or a positive fraction, written out",
        exponent.span,
        help=f"write `{_exp(source.text_of(exponent.span))}`"
        if isinstance(base, n.Name) and base.ident == "e"
        else "for other powers write `1/x**2` or `exp(y * ln(x))`",
    )


def _exp(exponent: str) -> str:
    """A power of e, without brackets around the brackets."""
    whole = re.fullmatch(r"\((?:[^()]|\([^()]*\))*\)", exponent)
    return f"exp{exponent}" if whole else f"exp({exponent})"
