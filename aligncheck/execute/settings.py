"""Values of inputs, written on a command line: `k=5`, `eps=1/2`, `b=1,2,3`, `b=[1,2,3]`, `strict=true`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aligncheck.execute.cannot_run import RunError
from aligncheck.language.syntax.wording.faults import closest
from aligncheck.runtime import ArgumentError, ParameterInfo, QueryInfo, Spec, integer, real

_TRUTH = {"true": True, "false": False}


def check_names(spec: Spec, settings: Mapping[str, str]) -> None:
    """Every setting names an input, and every parameter has a setting.

    Raises:
        RunError: listing what the mechanism needs.
    """
    names = [p.name for p in spec.parameters] + [q.name for q in spec.queries]
    for name in settings:
        if name not in names:
            advice = f"{closest(name, names)} {needed(spec)}".strip()
            raise RunError(f"`{spec.name}` has no parameter `{name}`", advice)
    missing = [p.name for p in spec.parameters if p.name not in settings and p.default is None]
    if missing:
        raise RunError(f"no value for {', '.join(f'`{name}`' for name in missing)}", needed(spec))


def needed(spec: Spec) -> str:
    """What must be set, in one line."""
    if not spec.parameters:
        return f"`{spec.name}` has no parameters"
    return f"`{spec.name}` needs {', '.join(map(_described, spec.parameters))}: --set NAME=VALUE for each"


def value_of(info: ParameterInfo | QueryInfo, text: str) -> Any:
    """The value that a text stands for; a list's entries are separated by commas, and may stand in brackets.

    Raises:
        RunError: the text is no value of the declared type.
    """
    if not info.vector:
        return _entry(info.name, info.sort, text)
    inside = text.strip()
    if inside[:1] + inside[-1:] in ("[]", "()"):
        inside = inside[1:-1].strip()
    if not inside:
        return []
    return [_entry(f"{info.name}[{i}]", info.sort, part) for i, part in enumerate(inside.split(","))]


def _entry(name: str, sort: str, text: str) -> Any:
    try:
        match sort:
            case "int":
                return integer(name, text)
            case "bool":
                return _truth(name, text)
            case _:
                return real(name, text)
    except ArgumentError as error:
        raise RunError(str(error)) from None


def _truth(name: str, text: str) -> bool:
    truth = _TRUTH.get(text.strip().lower())
    if truth is None:
        raise RunError(f"`{name}` must be `true` or `false`, not `{text[:40]}`")
    return truth


def _described(info: ParameterInfo) -> str:
    sort = f"list of {info.sort}" if info.vector else info.sort
    clause = f" where {info.where}" if info.where else ""
    return f"{info.name} ({sort}{clause}{f', by default {info.default}' if info.default else ''})"
