"""Whether a tree is a spec at all: classes, types of fields, names. Nothing is taken from the checks of the
front end.

Sorts are not judged here but where each expression is given its value.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.source import Span
from aligncheck.language.syntax import contract
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in

LEVELS = 90
"""How deep a tree may be."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
RESERVED = {"out", "alignment_cost", *n.FUNCTIONS}
INDEX = "i"
"""What declarations call the index of an answer, or of an entry."""
NAMED = (
    *(n.Parameter, n.PublicVector, n.Assign, n.Sample, n.Choose, n.Logistic, n.Invoke, n.Use, n.Function),
    *(n.Mechanism, n.EmitField, n.Argument),
)
OPERATORS: dict[type, tuple[str, ...]] = {
    n.Unary: ("-", "not"),
    n.Binary: ("+", "-", "*", "/", "%", "**"),
    n.Compare: ("==", "!=", "<", "<=", ">", ">="),
    n.Logic: ("and", "or"),
    n.Shift: ("+=", "-=", "="),
}


def well_formed(spec: object) -> n.Mechanism:
    """The same tree, every field of which has the type that its class states; names mean one thing."""
    _check(spec, n.Mechanism, 0)
    if not isinstance(spec, n.Mechanism):
        raise Reject("form", n.NOWHERE, "this is no mechanism")
    _names(spec)
    return spec


def well_formed_witness(witness: object) -> Witness:
    """The same witness, if it is made as its classes say."""
    _check(witness, Witness, 0)
    if not isinstance(witness, Witness):
        raise _ill(witness, Witness)
    return witness


@cache
def _types(kind: Any) -> dict[str, Any]:
    """The types that a class of the tree, or of a witness, states for its fields."""
    return typing.get_type_hints(kind, None, {"Contract": contract.Contract, "Span": Span})


def _check(value: object, wanted: Any, level: int) -> None:
    """That a value has a type, all the way down."""
    if level > LEVELS:
        raise Reject("form", n.NOWHERE, "the tree is too deep")
    kind: Any = wanted
    origin = typing.get_origin(wanted)
    if origin in (typing.Union, types.UnionType):
        choices = typing.get_args(wanted)
        exact = [c for c in choices if type(value) is (types.NoneType if c is None else c)]
        tuples = [c for c in choices if typing.get_origin(c) is tuple and isinstance(value, tuple)]
        if not exact and not tuples:
            raise _ill(value, wanted)
        _check(value, (exact or tuples)[0], level)
    elif origin is tuple:
        _check_tuple(value, typing.get_args(wanted), level)
    elif origin is Mapping:  # of witnesses: each is looked at where its callee is
        if not isinstance(value, Mapping):
            raise _ill(value, Mapping)
    elif type(value) is not wanted:
        raise _ill(value, wanted)
    elif isinstance(value, n.Node):
        _check_node(value, _types(kind), level)
    elif isinstance(value, Chance | LoopWitness | Witness):
        for name, hint in _types(kind).items():
            _check(getattr(value, name), hint, level)
    elif isinstance(value, Span) and not (type(value.start) is int and type(value.end) is int):
        raise _ill(value, wanted)


def _check_tuple(value: object, parts: tuple[Any, ...], level: int) -> None:
    if type(value) is not tuple:
        raise _ill(value, tuple)
    inner = [parts[0]] * len(value) if parts[-1] is Ellipsis else list(parts)
    if len(inner) != len(value):
        raise _ill(value, tuple)
    for one, kind in zip(value, inner, strict=True):
        _check(one, kind, level + 1)


def _check_node(node: n.Node, hints: dict[str, Any], level: int) -> None:
    for each in fields(node):
        value = getattr(node, each.name)
        if each.name == "contract":
            if value is not None:
                if type(value) is not contract.Contract:
                    raise _ill(value, contract.Contract)
                well_formed(value.mechanism)
        else:
            _check(value, hints[each.name], level + 1)
    allowed = OPERATORS.get(type(node))
    if allowed is not None and getattr(node, "op") not in allowed:  # noqa: B009 - only these classes have one
        raise Reject("form", node.span, "an operator that does not exist")
    for text in _identifiers(node):
        if not NAME.match(text):
            raise Reject("form", node.span, f"{text!r} is no name")


def _ill(value: object, wanted: object) -> Reject:
    place = value.span if isinstance(value, n.Node) and type(value.span) is Span else n.NOWHERE
    return Reject(
        "form", place, f"a {type(value).__name__} where the tree has {getattr(wanted, '__name__', wanted)}"
    )


def _identifiers(node: n.Node) -> Iterator[str]:
    """The names that a node gives to something."""
    if isinstance(node, NAMED):
        yield node.name
    elif isinstance(node, n.Queries):
        yield from node.names
    elif isinstance(node, n.For):
        yield from [node.index] if node.index is not None else []
        yield from [node.over.item] if isinstance(node.over, n.OverQueries) else []
    elif isinstance(node, n.Gather):
        yield node.index
    elif isinstance(node, n.Emit):
        yield node.tag


def _names(spec: n.Mechanism) -> None:
    """A name means one thing: no two of inputs, variables, noise, calls, functions and loop indices share
    one. Records of one tag have the same fields.
    """
    owners: dict[str, str] = {}
    shapes: dict[str, set[str]] = {}

    def claim(name: str, kind: str, place: Span, again: bool) -> None:
        known = owners.get(name)
        if name in RESERVED or (known is not None and (known != kind or not again)):
            raise Reject("form", place, f"`{name}` has another meaning already")
        owners[name] = kind

    for item in spec.inputs:
        for name in item.names if isinstance(item, n.Queries) else (item.name,):
            if name == INDEX:
                raise Reject("form", item.span, f"`{name}` is the index of an answer in declarations")
            claim(name, "input", item.span, False)
    for use in spec.uses:
        claim(use.name, "use", use.span, False)
    for function in spec.functions:
        claim(function.name, "function", function.span, False)
    for stmt in statements_in(spec.body):
        match stmt:
            case n.Assign(name=name):
                claim(name, "variable", stmt.span, True)
            case n.Sample(name=name) | n.Choose(name=name) | n.Logistic(name=name):
                claim(name, type(stmt).__name__, stmt.span, isinstance(stmt, n.Sample))
            case n.Invoke(name=name):
                claim(name, "call", stmt.span, False)
            case n.For(index=index, over=over):
                for each in (index, over.item if isinstance(over, n.OverQueries) else None):
                    if each is not None:
                        claim(each, "loop", stmt.span, True)
            case n.Emit(tag=tag, fields=given):
                names = {f.name for f in given}
                if len(names) != len(given) or shapes.setdefault(tag, names) != names:
                    raise Reject("form", stmt.span, "records of one tag have the same fields, each once")
            case n.If() | n.While() | n.Break() | n.Pass():
                pass
