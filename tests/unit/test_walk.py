"""Traversals of the tree: parts, names, and what is gathered in full."""

from __future__ import annotations

import pytest

from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import walk
from aligncheck.language.syntax.parse import parse


def body(*lines: str) -> tuple[n.Stmt, ...]:
    text = "mechanism m\nprivacy 1\nprogram\n" + "".join(f"  {line}\n" for line in lines)
    return parse(Source("m.dp", text)).body


def expression(text: str) -> n.Expr:
    (assigned,) = body(f"x = {text}")
    assert isinstance(assigned, n.Assign)
    return assigned.value


EXPRESSIONS = (
    "1",
    "a",
    "a[b + 1]",
    "max(a, b, c) - len(q)",
    "-a < b and not c",
    "a if b else c",
    "a in w",
    "max(q[j] for j in q)",
    "max(q[j] + a for j in q where j not in w)",
    "top(k, q[j] for j in range(a, b) where c)",
)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_parts_and_what_is_made_of_them(text: str) -> None:
    """Every part is visited and can be replaced: no child of a node is forgotten."""
    for expr in walk.subexpressions(expression(text)):
        assert walk.with_parts(expr, walk.parts_of(expr)) == expr
        for place, part in enumerate(walk.parts_of(expr)):
            anew = walk.with_part(expr, part, n.Name("other"))
            assert walk.parts_of(anew)[place] == n.Name("other")
            assert walk.parts_of(anew)[:place] == walk.parts_of(expr)[:place]
            assert walk.parts_of(anew)[place + 1 :] == walk.parts_of(expr)[place + 1 :]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a[b] + abs(c)", "a b c"),
        ("max(q[j] + a for j in q)", "q a"),
        ("max(x + y for j, x in q)", "q y"),
        ("max(1 for j in q where j not in w)", "q w"),
        ("top(k, b[j] for j in range(m, n) where j > l)", "k b m n l"),
        ("max(max(q[j] + r[l] for l in r) for j in q)", "q r"),
        ("a in w or w[0] == 1", "a w"),
    ],
)
def test_names_without_the_indices_of_sets(text: str, names: str) -> None:
    assert walk.names_in(expression(text)) == frozenset(names.split())


def test_what_is_gathered_in_full() -> None:
    statements = body(
        "a = max(q[j] for j in q)",
        "b = 1 + max(q[j] for j in q)",
        "c = max(q[j] for j in q)",
        "d = top(2, q[j] for j in q)",
        "for i, e in q:",
        "  c = 1",
        "  f = max(q[j] for j in q)",
        "e = max(q[j] for j in q)",
        "if a > 1:",
        "  g = max(q[j] for j in q)",
    )
    found = walk.gathered_in_full(statements)
    assert list(found) == ["a", "d"]
    assert all(isinstance(each, n.Gather) for each in found.values())
