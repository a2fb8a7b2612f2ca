"""Tables: each place in one is a place in the list of its cells."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Input, Queries
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.tables import flat as flattened
from aligncheck.language.unparse import unparse
from aligncheck.meaning.interpreter import run

HEAD = 'mechanism t\nuse c from "c.dp"\ninput\n  n : int\n  m : int\n'
REST = "  eps : real where eps > 0\nprivacy eps\nprogram\n  "
TABLE = HEAD + "  q : queries[n][m], sensitivity 1, adjacency one{}\n" + REST
LIST = (
    HEAD + "  q : queries, sensitivity 1, adjacency one where len(q) == n*m and n >= 0 and m >= 0{}\n" + REST
)


def rows(*lines: str) -> str:
    return "\n  ".join(lines) + "\n"


@pytest.mark.parametrize(
    ("table", "flat"),
    [
        ("emit v(q[n - 1][0])", "emit v(q[(n - 1)*m + 0])"),
        ("emit v(len(q) + len(q[0]))", "emit v(n + m)"),
        ("x = max(q[i][j] for j in q[i - 1])", "x = max(q[i*m + j] for j in range(m))"),
        (
            "x = max(y for j, y in q[2] where y > 0)",
            "x = max(q[2*m + j] for j in range(m) where q[2*m + j] > 0)",
        ),
        ("x = argmax(q[i][0] for i in q)", "x = argmax(q[i*m + 0] for i in range(n))"),
        (
            "while i < m:\n    emit v(q[i][m - 1] + q[0][i + 1])",
            "while i < m:\n    emit v(q[i*m + (m - 1)] + q[0*m + (i + 1) if 0 <= i + 1 < m else -1])",
        ),
        (
            "for j in range(m):\n    x = q[i][j]\n  for k in range(n):\n    x = q[k][k]",
            "for j in range(m):\n    x = q[i*m + j]\n  for k in range(n):\n    x = "
            "q[k*m + k if 0 <= k < m else -1]",
        ),
        (
            "for j in range(m):\n    x = q[i][j]\n  x = max(q[i][j] for j in q)",
            "for j in range(m):\n    x = q[i*m + j if 0 <= j < m else -1]\n"
            "  x = max(q[i*m + j if 0 <= j < m else -1] for j in range(n))",
        ),
        (
            "for j, x in s:\n    y = q[0][j]\nalign\n  xi[j] += q[0][j]\n  xi[i][j] += q[i][j]",
            "for j, x in s:\n    y = q[0*m + j if 0 <= j < m else -1]\n"
            "align\n  xi[j] += q[0*m + j if 0 <= j < m else -1]\n  xi[i_j] += q[i_j]",
        ),
        (
            "for c in range(m):\n    z[c] ~ Lap(1)\n  y[0] ~ Lap(1)\n"
            "align\n  z[j] += q[0][j]\n  y[k] += q[0][k]",
            "for c in range(m):\n    z[c] ~ Lap(1)\n  y[0] ~ Lap(1)\n"
            "align\n  z[j] += q[0*m + j]\n  y[k] += q[0*m + k if 0 <= k < m else -1]",
        ),
        (
            "c = 0\n  while c < m:\n    x = q[0][c]\n    c = c + 1",
            "for c in range(m):\n    x = q[0*m + c]",
        ),
        ("a = c(q = q)", "a = c(q = q)"),
        ("a = c(q = q[1])", "a = c(q = q[1*m:1*m + m])"),
        ("a = c(q = q[1:n])", "a = c(q = q[1*m:n*m])"),
        ("a = c(q = q[2:])", "a = c(q = q[2*m:n*m])"),
        ("a = c(q = q[0][1:])", "a = c(q = list(q[0*m + part] for part in range(1, m)))"),
        (
            "for i, row in q:\n    for j, x in row:\n      emit v(x + row[0])",
            "for i in range(n):\n    for j in range(m):\n      x = q[i*m + j]\n      emit v(x + q[i*m + 0])",
        ),
        (
            "for row in q:\n    a = c(q = row)\n    emit v(len(row))",
            "for row_at in range(n):\n    a = c(q = q[row_at*m:row_at*m + m])\n    emit v(m)",
        ),
        (
            "for j, x in q[1]:\n    xi[0][j] ~ Lap(1)\n    emit v(x + xi[0][j])\n"
            "align\n  xi[i][j] += q[i][j] - q'[i][j]",
            "for j in range(m):\n    x = q[1*m + j]\n    xi[0*m + j] ~ Lap(1)\n    emit v(x + xi[0*m + j])\n"
            "align\n  xi[i_j] += q[i_j] - q'[i_j]",
        ),
    ],
)
def test_a_table_is_the_list_of_its_cells(table: str, flat: str) -> None:
    tree = parse(Source("t", TABLE.replace("{}", "") + table + "\n"))
    assert tree == parse(Source("t", LIST.replace("{}", "") + flat + "\n"))
    assert parse(Source("t", unparse(tree))) == tree
    without = replace(tree, inputs=tuple(_no_table(item) for item in tree.inputs))
    assert flattened(without, Source("t", "")) == tree


def _no_table(item: Input) -> Input:
    return replace(item, table=None) if isinstance(item, Queries) else item


def test_its_clause_stands_beside_the_size_of_its_list() -> None:
    table, flat = (
        parse(Source("t", text.replace("{}", more) + "emit v(0)\n"))
        for text, more in ((TABLE, " where n <= len(q)"), (LIST, " and n <= n"))
    )
    assert table == flat
    sized = TABLE.replace("{}", "").replace("[n][m]", "[2][3]")
    written = unparse(parse(Source("t", sized + "emit v(q[1][2] + q[1][3])\n")))
    assert "len(q) == 2*3" in written
    assert "q[1*3 + 2] + q[1*3 + 3 if 0 <= 3 < 3 else -1]" in written


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("emit v(q[0])", "q[0]"),
        ("emit v(s[0][1])", "[0][1]"),
        ("x = max(r for j, r in q)", "max(r for j, r in q)"),
        ("for row in q:\n    emit v(row)", "row"),
        ("row = 1\n  for row in q:\n    emit v(1)", "for row in q"),
        ("xi[0][0] ~ Lap(1)\nalign\n  xi[i][j] += i", "xi[i][j] += i"),
        ("xi[0][0] ~ Lap(1)\nalign\n  xi[i][i] += 0", "xi[i][i] += 0"),
        ("xi[0][0] ~ Lap(1)\nalign\n  xi[i][0] += q[i][0]", "xi[i][0] += q[i][0]"),
    ],
)
def test_what_is_no_place_in_a_table_is_refused_there(line: str, place: str) -> None:
    text = TABLE.replace("{}", "\n  s : queries, sensitivity 1") + line + "\n"
    with pytest.raises(SpecError) as refused:
        parse(Source("t", text))
    told = refused.value.diagnostic
    assert told.code == "bad-table"
    assert text[told.primary.span.start : told.primary.span.end] == place


@pytest.mark.parametrize("sizes", ["[n][m + 1]", "[eps][m]", "[n][1/2]", "[n][0.5]", "[q][m]"])
def test_sizes_are_whole_inputs_or_numbers(sizes: str) -> None:
    text = TABLE.replace("{}", "").replace("[n][m]", sizes) + "emit v(0)\n"
    with pytest.raises(SpecError, match="the sizes of a table are whole inputs or numbers"):
        parse(Source("t", text))


def test_a_cell_has_the_value_of_its_row_and_column() -> None:
    text = TABLE.replace("{}", "").replace('use c from "c.dp"\n', "") + rows(
        "for i in range(n):", "  for j, x in q[i]:", "    emit v(i, x, q[n - 1 - i][m - 1 - j])"
    ).replace("v(i, x, ", "v(row = i, x = x, y = ")
    source = Source("t", text)
    tree = check(source, parse(source))
    values = [[1, 2, 3], [4, 5, 6]]
    cells = tuple(Fraction(x) for row in values for x in row)
    public = {"n": Fraction(2), "m": Fraction(3), "eps": Fraction(1)}
    made = run(tree, public, {"q": cells}, lambda _: Fraction(0), 100)
    told = [tuple(value for _, value in record.fields) for record in made.output]
    assert told == [(i, values[i][j], values[1 - i][2 - j]) for i in range(2) for j in range(3)]
