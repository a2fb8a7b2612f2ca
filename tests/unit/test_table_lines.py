"""Lines of an alignment for the cells of a table: what is printed is read as the line that it was made of."""

from __future__ import annotations

import pytest

from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.unparse import unparse_alignment
from aligncheck.search.table_lines import all_as_cells
from aligncheck.synthesis.put_in import with_alignment

SPEC = """\
mechanism m

input
  t : queries[n][m], sensitivity 1, adjacency one
  n, m : int
  eps : real where eps > 0

privacy eps

program
  for r in range(n):
    for c in range(m):
      z[r][c] ~ Lap(1/eps)
      emit cell(t[r][c] + z[r][c])

align
"""


@pytest.mark.parametrize(
    "lines",
    [
        "  z[i][j] += t[i][j] - t'[i][j] when out is cell",
        "  case t <= t':\n    z[i][j] += t[i][j] - t'[i][j]\n  otherwise:\n    z[i][j] -= t'[i][j] - t[i][j]",
    ],
)
def test_a_line_is_written_with_rows_and_columns(lines: str) -> None:
    source = Source("m.dp", SPEC + lines + "\n")
    mechanism = check(source, parse(source))
    written = all_as_cells(mechanism, mechanism.align)
    assert [f"  {line}" for line in unparse_alignment(written).split("\n")] == lines.split("\n")
    assert parse(with_alignment(source, written)) == mechanism


def test_what_reads_no_cell_at_its_own_index_stays() -> None:
    source = Source("m.dp", SPEC + "  z[k] += 1 when out[k] is cell\n")
    mechanism = check(source, parse(source))
    assert all_as_cells(mechanism, mechanism.align) == mechanism.align
    assert isinstance(mechanism.align[0], n.Shift)
