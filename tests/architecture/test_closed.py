"""What is closed is matched without a catch-all, and nothing rests on `assert`.

mypy (`exhaustive-match`) points at every `match` that lacks a new member of an enumeration or of a union of
classes, but only where no catch-all swallows it: that there is none is what this file shows.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from aligncheck.compiler.modes import RunMode
from aligncheck.language.families import Family

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "aligncheck"
OPEN = {"str", "int", "float", "bool", "tuple", "Fraction", "None"}


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes() -> list[tuple[str, ast.AST]]:
    """Every piece of the package's source, with its file: walked once, and only where a test asks."""
    return [
        (path.relative_to(PACKAGE).as_posix(), node)
        for path, tree in trees().items()
        for node in ast.walk(tree)
    ]


def _classes() -> Iterator[ast.ClassDef]:
    return (node for _, node in nodes() if isinstance(node, ast.ClassDef))


@cache
def enumerations() -> frozenset[str]:
    return frozenset(
        c.name for c in _classes() if any(ast.unparse(base).endswith("Enum") for base in c.bases)
    )


def _members(union: ast.expr) -> Iterator[str]:
    match union:
        case ast.BinOp(left=left, right=right):
            yield from _members(left)
            yield from _members(right)
        case ast.Subscript(value=value):
            yield from _members(value)
        case _:
            yield ast.unparse(union).rpartition(".")[2]


def _members_of_unions() -> Iterator[str]:
    """The classes that a named union (`Expr`, `Stmt`, `Term`, …) is made of."""
    for _, node in nodes():
        match node:
            case ast.AnnAssign(annotation=ast.Name(id="TypeAlias"), value=ast.BinOp() as union):
                yield from _members(union)
            case _:
                pass


def _bases(names: frozenset[str]) -> Iterator[str]:
    """What several members are called together: `Simple`, of the statements."""
    for each in _classes():
        if each.name in names:
            yield from (ast.unparse(base).rpartition(".")[2] for base in each.bases)


@cache
def closed() -> frozenset[str]:
    """The members of unions, and what they are called together."""
    members = frozenset(_members_of_unions()) - OPEN
    groups = frozenset(_bases(members)) - {"Enum"}
    return members | groups | frozenset(_bases(groups))


def names_a_member(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchOr(patterns=patterns):
            return any(map(names_a_member, patterns))
        case ast.MatchAs(pattern=inner) if inner is not None:
            return names_a_member(inner)
        case ast.MatchValue(value=ast.Attribute(value=owner)):
            return ast.unparse(owner).rpartition(".")[2] in enumerations()
        case ast.MatchClass(cls=cls):
            return ast.unparse(cls).rpartition(".")[2] in closed()
        case _:
            return False


def takes_anything(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchAs(pattern=inner):
            return inner is None or takes_anything(inner)
        case ast.MatchOr(patterns=patterns):
            return any(map(takes_anything, patterns))
        case _:
            return False


def swallowing(tree: ast.Module) -> Iterator[int]:
    """The lines of catch-alls beside arms that name members of a closed type. `assert_never` is none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Match) and any(names_a_member(case.pattern) for case in node.cases):
            for case in node.cases:
                never = ast.unparse(case.body[0]).startswith("assert_never(")
                if case.guard is None and takes_anything(case.pattern) and not never:
                    yield case.pattern.lineno


def test_the_closed_types_are_found() -> None:
    assert {"Family", "Adjacency", "Mode", "Condition", "Kind"} <= enumerations()
    assert {"Assign", "Gather", "Queries", "Shift", "Verified"} <= closed()
    assert {"Operator", "Sampling", "Simple"} <= closed()


@pytest.mark.parametrize(
    ("arm", "found"),
    [
        ("case _:\n  pass", True),
        ("case other:\n  print(other)", True),
        ("case (Name() | _):\n  pass", True),
        ("case _:\n  raise ValueError", True),
        ("case _:\n  assert_never(x)", False),
        ("case n.Number():\n  pass", False),
        ("case _ if x:\n  pass", False),
    ],
)
def test_a_catch_all_is_seen(arm: str, found: bool) -> None:
    for first in ("n.Index()", "Family.LAPLACE", "n.Sort.INT | n.Sort.REAL", "Shift(name)"):
        text = "\n ".join(["match x:", f"case {first}:", " pass", *arm.splitlines()])
        assert bool(list(swallowing(ast.parse(text)))) is found


def test_no_catch_all_beside_members_of_a_closed_type() -> None:
    found = [
        f"{path.relative_to(PROJECT)}:{line}" for path, tree in trees().items() for line in swallowing(tree)
    ]
    assert not found, "name what is left, so that mypy points here when something is added"


def test_a_noise_family_is_one_row() -> None:
    """Nothing else asks which family it has: the row says what there is to know of it."""
    asking = {
        f"{path}:{node.lineno}"
        for path, node in nodes()
        if isinstance(node, ast.Attribute) and node.attr in Family.__members__
    }
    assert not asking


def test_an_adjacency_is_one_row() -> None:
    """Nothing else asks which adjacency it has, but for the one that is meant where none is written."""
    asking = {
        f"{path}:{node.attr}"
        for path, node in nodes()
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).rpartition(".")[2] == "Adjacency"
    }
    assert asking == {"language/syntax/build.py:ALL", "statistical/compiled.py:ALL"}


RAISING = {"fail", "fault", "scope_fault", "Diagnostic"}
CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def _codes() -> Iterator[str]:
    """The codes of errors, where they are written out beside what raises them."""
    for call in (node for _, node in nodes() if isinstance(node, ast.Call)):
        if ast.unparse(call.func).rpartition(".")[2].lstrip("_") in RAISING:
            first = (a.value for a in call.args[:2] if isinstance(a, ast.Constant))
            yield from (code for code in first if isinstance(code, str) and " " not in code)


def test_an_error_code_is_a_name_and_some_test_asks_for_it() -> None:
    codes = set(_codes())
    assert len(codes) > 100
    assert not [code for code in codes if not CODE.fullmatch(code)]
    tests = [path for folder in ("tests", "specs") for path in (PROJECT / folder).rglob("*.*")]
    texts = (path.read_text("utf-8") for path in tests if path.suffix in (".py", ".dp", ".toml"))
    assert codes <= {word for text in texts for word in CODE.findall(text)}


def test_a_table_of_the_modes_has_all_of_them() -> None:
    """But for those of the two that are proved."""
    modes = {f"RunMode.{mode}" for mode in RunMode.__members__}
    found = {}
    for path, table in nodes():
        if isinstance(table, ast.Dict):
            for side in (table.keys, table.values):
                named = {ast.unparse(end) for end in side if end is not None} & modes
                if len(named) > 2:
                    found[f"{path}:{table.lineno}"] = named
    assert len(found) >= 7
    assert all(named == modes for named in found.values()), found


def test_mypy_looks_for_what_is_left_out() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    assert settings["tool"]["mypy"]["enable_error_code"] == ["exhaustive-match", "possibly-undefined"]


def test_nothing_rests_on_an_assert() -> None:
    """`python -O` drops them."""
    found = [f"{path}:{node.lineno}" for path, node in nodes() if isinstance(node, ast.Assert)]
    assert not found, "raise InternalError"


def test_verdicts_without_asserts() -> None:
    files = [f"specs/{name}.dp" for name in ("svt", "noisy_max", "broken/isvt1", "broken/isvt2")]
    command = [sys.executable, "-O", "-m", "aligncheck", "verify", "--expect", *files]
    done = subprocess.run(
        command,
        cwd=PROJECT,
        env={**os.environ, "PYTHONOPTIMIZE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(f"{len(files)} of {len(files)} agree")
