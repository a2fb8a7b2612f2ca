"""Witnesses as JSON text, expressions in the notation of specs with the `$` names of the kernel.

An entry for each field that is not as its class has it without being told, and does not follow from the spec;
records whose fields must all be given are lists. Nothing of this is believed: the kernel looks at what was
read as at anything else.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from aligncheck.kernel import witness as kernel
from aligncheck.kernel.witness import Witness
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import parts_of, with_parts
from aligncheck.language.unparse import unparse_expr

_NAME = re.compile(r"\$[\w$]+")
_NUMBER = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,400})?", re.ASCII)
_NUMBERS = re.compile(r"[0-9]{1,6}( [0-9]{1,6})*", re.ASCII)


class WitnessError(Exception):
    """A text that is no witness."""


def expression(text: str) -> n.Expr:
    """An expression of a witness. Raises SpecError for what is none."""
    names = {f"zz{at}zz": name for at, name in enumerate(sorted(set(_NAME.findall(text))))}
    back = {name: stand_in for stand_in, name in names.items()}
    plain = _NAME.sub(lambda found: back[found.group()], text)
    lines = f"mechanism m\n\nprivacy 0\n\nprogram\n  while true:\n    invariant {plain}\n    pass\n"
    (loop,) = parse(Source("witness", lines)).body
    return _renamed(loop.invariants[0], names) if isinstance(loop, n.While) else n.Boolean(True)


def _renamed(e: n.Expr, names: dict[str, str]) -> n.Expr:
    e = with_parts(e, tuple(_renamed(p, names) for p in parts_of(e)))
    if isinstance(e, n.Name):
        return replace(e, ident=names.get(e.ident, e.ident))
    if isinstance(e, n.Index):
        return replace(e, base=names.get(e.base, e.base))
    return e


def written(witness: Witness, indent: int | None = None) -> str:
    """The witness as JSON: on one line, or, with an `indent`, an entry a line."""
    return json.dumps(_plain(witness), indent=indent)


def _plain(value: Any) -> Any:
    if isinstance(value, n.Node):
        return unparse_expr(typing.cast(n.Expr, value))
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if is_dataclass(value):
        given = [(f, getattr(value, f.name)) for f in fields(value) if f.compare]
        if not any(_may_be_left_out(f) for f, _ in given):
            return [_plain(each) for _, each in given]
        return {f.name: _plain(each) for f, each in given if each != _default(f)}
    if isinstance(value, tuple):
        if value and all(type(e) is int for e in value):
            return " ".join(map(str, value))
        if value and all(isinstance(e, tuple) and len(e) == 2 and isinstance(e[0], str) for e in value):
            return {name: _plain(each) for name, each in value}
        return [_plain(each) for each in value]
    return value


def read(text: str) -> Witness:
    """The witness that `written` wrote. Raises WitnessError for any other text."""
    try:
        whole = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise WitnessError(f"no JSON text: {error}") from None
    made = _made(Witness, whole, "witness")
    if not isinstance(made, Witness):
        raise WitnessError("no witness")
    return made


def _refused(word: str) -> Any:
    raise ValueError(f"`{word}` is no number")


def _made(wanted: Any, value: Any, where: str) -> Any:
    """The value of a field, by the type that its class states."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        if types.NoneType in inner:
            return None if value is None else _made(_without_none(inner), value, where)
        return _expression(_of(str, value, where), where)
    if origin is tuple:
        if inner[0] is int:
            if not _NUMBERS.fullmatch(_of(str, value, where)):
                raise WitnessError(f"`{where}`: no numbers")
            return tuple(map(int, value.split()))
        if inner[-1] is Ellipsis:
            entries = list(value.items()) if isinstance(value, dict) else _of(list, value, where)
            return tuple(_made(inner[0], each, where) for each in entries)
        parts = list(value) if isinstance(value, tuple) else _of(list, value, where)
        if len(parts) != len(inner):
            raise WitnessError(f"`{where}`: {len(inner)} parts are needed")
        return tuple(_made(kind, each, where) for kind, each in zip(inner, parts, strict=True))
    if is_dataclass(wanted):
        return _record(typing.cast(type, wanted), value, where)
    if origin is not None:
        return {name: _made(inner[1], each, name) for name, each in _of(dict, value, where).items()}
    if wanted is Fraction:
        if not _NUMBER.fullmatch(_of(str, value, where)):
            raise WitnessError(f"`{where}`: no number")
        return Fraction(value)
    return _of(wanted, value, where)


def _without_none(choices: tuple[Any, ...]) -> Any:
    left = tuple(choice for choice in choices if choice is not types.NoneType)
    return left[0] if len(left) == 1 else typing.Union[left]  # noqa: UP007 - made of what is not known here


def _record(wanted: type, value: Any, where: str) -> Any:
    hints, known = _types(wanted), {f.name: f for f in fields(wanted) if f.compare}
    if not any(map(_may_be_left_out, known.values())):
        parts = _of(list, value, where)
        if len(parts) != len(known):
            raise WitnessError(f"`{where}`: {len(known)} parts are needed")
        value = dict(zip(known, parts, strict=True))
    odd = next((name for name in _of(dict, value, where) if name not in known), None)
    if odd is not None:
        raise WitnessError(f"`{where}` has no `{odd[:80]}`")
    return wanted(**{name: _made(hints[name], each, name) for name, each in value.items()})


@cache
def _types(wanted: type) -> dict[str, Any]:
    return typing.get_type_hints(wanted, {**vars(n), **vars(kernel)})


def _may_be_left_out(entry: Field[Any]) -> bool:
    return entry.default is not MISSING or entry.default_factory is not MISSING


def _default(entry: Field[Any]) -> Any:
    return entry.default_factory() if entry.default_factory is not MISSING else entry.default


def _of(wanted: type, value: Any, where: str) -> Any:
    if type(value) is not wanted:
        raise WitnessError(f"`{where}`: a {type(value).__name__} where a {wanted.__name__} is needed")
    return value


def _expression(text: str, where: str) -> n.Expr:
    if "\n" in text or "\r" in text:
        raise WitnessError(f"`{where}`: an expression has one line")
    try:
        return expression(text)
    except SpecError as error:
        raise WitnessError(f"`{where}`: {error.diagnostic.message}: {text[:120]}") from None
