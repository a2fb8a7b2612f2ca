"""Whether a tree is a spec at all: classes, types of fields, names. Nothing is taken from the checks of the
front end.

Sorts are not judged here but where each expression is given its value.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import repeat
from typing import Any

from aligncheck.kernel.answer import Reject
from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.source import Span
from aligncheck.language.syntax import contract
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import expressions_in, names_in, statements_in

LEVELS = 90
"""How deep a tree may be."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
RESERVED = {"out", "alignment_cost", *n.FUNCTIONS}
INDEX = "i"
"""What declarations call the index of an answer, or of an entry."""
AGAIN = (n.Assign, n.Sample, n.For)
"""What may give a name again that such a thing has given."""
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
    mechanism = typing.cast(n.Mechanism, spec)
    _names(mechanism)
    return mechanism


def well_formed_witness(witness: object) -> Witness:
    """The same witness, if it is made as its classes say."""
    _check(witness, Witness, 0)
    return typing.cast(Witness, witness)


@cache
def _made_of(wanted: Any) -> tuple[Any, tuple[Any, ...]]:
    """What a type is made by, and of which ones."""
    return typing.get_origin(wanted), typing.get_args(wanted)


@cache
def _types(kind: Any) -> dict[str, Any]:
    """The types that a class of the tree, or of a witness, states for its fields."""
    return typing.get_type_hints(kind, None, {"Contract": contract.Contract, "Span": Span})


def _check(value: object, wanted: Any, level: int) -> None:
    """That a value has a type, all the way down."""
    origin, parts = _made_of(wanted)
    if level > LEVELS:
        raise Reject("form", n.NOWHERE, "the tree is too deep")
    if origin in (typing.Union, types.UnionType):
        _check(value, next((c for c in parts if type(value) is (_made_of(c)[0] or c)), parts), level)
    elif origin is Mapping and isinstance(value, Mapping):
        pass  # of witnesses: each is looked at where its callee is
    elif type(value) is not (origin or wanted):
        raise _ill(value, wanted)
    elif isinstance(value, tuple):
        if parts[-1] is not Ellipsis and len(value) != len(parts):
            raise _ill(value, wanted)
        for one, kind in zip(value, repeat(parts[0]) if parts[-1] is Ellipsis else parts, strict=False):
            _check(one, kind, level + 1)
    elif isinstance(value, contract.Contract):  # the rest is looked at where what is called is judged
        if type(value.mechanism) is not n.Mechanism:
            raise _ill(value.mechanism, n.Mechanism)
        _check(value.mechanism.inputs, _types(n.Mechanism)["inputs"], level + 1)
    elif isinstance(value, n.Node | Span | Chance | LoopWitness | Witness):
        for name, hint in _types(wanted).items():
            _check(getattr(value, name), hint, level + 1)
        if isinstance(value, n.Node):
            _check_words(value)


def _check_words(node: n.Node) -> None:
    allowed = OPERATORS.get(type(node))
    if allowed is not None and getattr(node, "op") not in allowed:  # noqa: B009 - only these classes have one
        raise Reject("form", node.span, "an operator that does not exist")
    if isinstance(node, n.Sample) and len(node.args) != len(node.family.arguments):
        raise Reject("form", node.span, f"{node.family.value} takes {len(node.family.arguments)} arguments")
    for text in _identifiers(node):
        if not NAME.match(text):
            raise Reject("form", node.span, f"{text!r} is no name")


def _ill(value: object, wanted: object) -> Reject:
    place = value.span if isinstance(value, n.Node) and type(value.span) is Span else n.NOWHERE
    known = getattr(wanted, "__name__", wanted)
    return Reject("form", place, f"a {type(value).__name__} where the tree has {known}")


def _identifiers(node: n.Node) -> Iterator[str]:
    """The names that a node gives to something (or, a line of the alignment, has)."""
    if isinstance(node, n.Queries):
        yield from node.names or ("",)
    elif isinstance(node, n.For):
        item = (node.over.item,) if isinstance(node.over, n.OverQueries) else ()
        yield from item if node.index is None else (node.index, *item)
    elif isinstance(node, n.Gather | n.Emit):
        yield node.index if isinstance(node, n.Gather) else node.tag
    elif (name := getattr(node, "name", None)) is not None:
        yield name


def _names(spec: n.Mechanism) -> None:
    """A name means one thing: no two of inputs, variables, noise, calls, functions and loop indices share
    one, and none is one of the witness. Records of one tag have the same fields.
    """
    owners: dict[str, type] = {}
    shapes: dict[str, set[str]] = {}
    for node in (*spec.inputs, *spec.uses, *spec.functions, *statements_in(spec.body)):
        if isinstance(node, n.Emit):
            names = {f.name for f in node.fields}
            if len(names) != len(node.fields) or shapes.setdefault(node.tag, names) != names:
                raise Reject("form", node.span, "records of one tag have the same fields, each once")
            continue
        given = list(_identifiers(node))
        for name in given:
            if name == INDEX and isinstance(node, n.Input):
                raise Reject("form", node.span, f"`{name}` is the index of an answer in declarations")
            other = name in owners and not (isinstance(node, AGAIN) and owners[name] is type(node))
            if other or name in RESERVED or given.count(name) > 1:
                raise Reject("form", node.span, f"`{name}` has another meaning already")
            owners[name] = type(node)
    for e in (each for each in expressions_in(spec) if isinstance(each, n.Name | n.Index | n.Member)):
        if not all(map(NAME.match, names_in(e))):
            raise Reject("form", e.span, "a name that no spec can contain")
