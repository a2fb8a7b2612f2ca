"""Other expressions and statements in the same places: in every one of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from small_specs import SPECS, checked

from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax import rewrite
from aligncheck.language.syntax.walk import expressions_in, statements_in

SOME = sorted(SPECS.glob("*.dp"))[::6]


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_a_change_comes_to_every_expression(path: Path) -> None:
    spec = checked(path)

    def marked(top: n.Expr) -> n.Expr:
        return rewrite.bottom_up(
            top, lambda e: replace(e, value=e.value + 7) if isinstance(e, n.Number) else e
        )

    def numbers(mechanism: n.Mechanism) -> list[Fraction]:
        return [e.value for e in expressions_in(mechanism) if isinstance(e, n.Number)]

    changed = rewrite.everywhere(spec, marked)
    assert numbers(changed) == [value + 7 for value in numbers(spec)]
    assert rewrite.everywhere(spec, lambda e: e) == spec


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_a_change_comes_to_every_statement_the_innermost_first(path: Path) -> None:
    body, seen = checked(path).body, list[n.Stmt]()

    def change(statement: n.Stmt) -> n.Stmt:
        seen.append(statement)
        return n.Pass(span=statement.span) if isinstance(statement, n.Emit) else statement

    changed = rewrite.statements(body, change)
    kinds = [type(s) for s in statements_in(body)]
    assert sorted(map(str, map(type, seen))) == sorted(map(str, kinds))
    assert [type(s) for s in statements_in(changed)] == [n.Pass if k is n.Emit else k for k in kinds]
