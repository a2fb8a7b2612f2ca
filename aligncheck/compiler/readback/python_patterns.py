"""Pieces of Python with holes, to compare generated code with: `match("noise.laplace(_S)", node)`."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

Found = dict[str, Any]
"""What stands in each hole: an expression, an identifier, or (for `*A`) the rest of a list of arguments."""

_LAYOUT = frozenset({"ctx", "type_comment", "kind", "type_params", "type_ignores"})
"""Fields of Python's syntax tree without a meaning of their own here; they are looked at where they have one
(`expect_plain`)."""


class ReadError(Exception):
    """Something in the file that is not what was proved, or that the reader does not know; `line` counts from
    1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def refuse(node: ast.AST | int, message: str) -> ReadError:
    """The error at a node, or at a line."""
    return ReadError(node if isinstance(node, int) else getattr(node, "lineno", 1), message)


@cache
def _statement(pattern: str) -> ast.stmt:
    (statement,) = ast.parse(pattern).body
    return statement


def match(pattern: str, node: ast.AST) -> Found | None:
    """What stands in the holes of a pattern, its names such as `_A`, found under `A`; None where the node
    is anything else. All the rest must be equal, the types of constants included.
    """
    wanted: ast.AST = _statement(pattern)
    if isinstance(wanted, ast.Expr) and not isinstance(node, ast.Expr):
        wanted = wanted.value
    found: Found = {}
    return found if _fits(wanted, node, found) else None


def _is_hole(name: object) -> bool:
    return isinstance(name, str) and len(name) == 2 and name[0] == "_" and name[1].isupper()


def _bound(name: str, what: Any, found: Found) -> bool:
    hole = name[1:]
    if hole not in found:
        found[hole] = what
        return True
    known = found[hole]
    if isinstance(known, ast.AST) and isinstance(what, ast.AST):
        return ast.dump(known) == ast.dump(what)
    return bool(known == what)


def _fits(wanted: Any, given: Any, found: Found) -> bool:
    if isinstance(wanted, ast.Name) and _is_hole(wanted.id):
        return (
            isinstance(given, ast.expr)
            and not isinstance(given, ast.Starred)
            and _bound(wanted.id, given, found)
        )
    if isinstance(wanted, list):
        rest_hole = (
            getattr(wanted[-1].value, "id", "") if wanted and isinstance(wanted[-1], ast.Starred) else ""
        )
        if _is_hole(rest_hole):
            found[rest_hole[1:]] = given[len(wanted) - 1 :]
            rest = given[: len(wanted) - 1]
            plain = not any(isinstance(each, ast.Starred) for each in given)
            return (
                plain
                and len(rest) == len(wanted) - 1
                and all(map(lambda w, g: _fits(w, g, found), wanted, rest))
            )
        return (
            isinstance(given, list)
            and len(wanted) == len(given)
            and all(_fits(w, g, found) for w, g in zip(wanted, given, strict=True))
        )
    if isinstance(wanted, ast.AST):
        return type(wanted) is type(given) and all(
            _fits(getattr(wanted, name), getattr(given, name), found)
            for name in wanted._fields
            if name not in _LAYOUT
        )
    if _is_hole(wanted) and isinstance(given, str):
        return _bound(wanted, given, found)
    return type(wanted) is type(given) and bool(wanted == given)


def text(node: ast.AST | None) -> str:
    """The string that a literal is."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise refuse(node or 1, "a text was expected here")


def keywords(call: ast.Call) -> dict[str, ast.expr]:
    """The keyword arguments of a call."""
    if any(word.arg is None for word in call.keywords):
        raise refuse(call, "`**` is not read")
    return {word.arg: word.value for word in call.keywords if word.arg is not None}


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements after the documentation."""
    return (
        body[1:]
        if body and isinstance(body[0], ast.Expr) and isinstance(getattr(body[0].value, "value", None), str)
        else body
    )
